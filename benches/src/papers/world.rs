//! A client and its server at a parameter set of the paper.

use bellerophon_ckks::{
    Ciphertext, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, LevelGroup, ModulusChain,
    Params, ParamsSpec, PublicKey, Result, SecretKey, SecretKind, Security, decrypt_values,
    encrypt_public,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use common::program::Failure;

/// A client and its server.
pub struct World {
    pub params: Params,
    pub secret: SecretKey,
    pub public: PublicKey,
    pub evaluator: Evaluator,
    pub rng: ChaCha20Rng,
}

/// The sets of Tables 2 and 3, made as those of Table 1
/// ([`FullRnsHeaan`](bellerophon_ckks::paper::FullRnsHeaan)): `q_0` of 61 bits, `levels` primes of
/// 55, one digit, `h = 64`.
pub fn params(log_degree: u32, levels: usize) -> std::result::Result<Params, Failure> {
    let chain = ModulusChain {
        degree: 1 << log_degree,
        first_bits: 61,
        levels: vec![LevelGroup::single(55, levels)],
        special: (60, levels + 1),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 55, Security::Insecure)?;
    spec.lattice.secret = SecretKind::Sparse(64);
    Params::new(spec).map_err(Failure::run)
}

impl World {
    /// Keys for what a program needs.
    pub fn new(params: &Params, keys: &KeyLevels) -> std::result::Result<Self, Failure> {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let secret = SecretKey::generate(params.lattice(), &mut rng)?;
        let public = PublicKey::generate(&secret, &mut rng);
        let keys = EvaluationKeys::generate(params, &secret, keys, &mut rng);
        let evaluator = Evaluator::new(params, &keys?)?;
        Ok(Self { params: params.clone(), secret, public, evaluator, rng })
    }

    /// Encodes and encrypts values of an interval at the highest level, under the public key.
    pub fn encrypt(&mut self, values: &[f64], [lo, hi]: [f64; 2]) -> Result<Ciphertext> {
        let params = &self.params;
        let range = Interval::real(lo, hi)?;
        let plain = Encoder::new(params).encode(values, range, params.scale(), params.limbs())?;
        encrypt_public(params, &plain, &self.public, &mut self.rng)
    }

    /// Decrypts and decodes.
    pub fn decrypt(&self, ct: &Ciphertext) -> Result<Vec<f64>> {
        decrypt_values(&self.params, ct, &self.secret)
    }

    /// Random values of an interval, one for every slot.
    pub fn values(&mut self, lo: f64, hi: f64) -> Vec<f64> {
        (0..self.params.max_slots()).map(|_| self.rng.random_range(lo..hi)).collect()
    }

    /// `log2 Q`, as the tables have it.
    pub fn log2_q(&self) -> String {
        format!("{:.0}", self.params.lattice().q().log2_modulus())
    }
}
