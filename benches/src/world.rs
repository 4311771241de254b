//! A client and its server on the CKKS scheme alone, with keys from a fixed seed.

use bellerophon::Result;
use bellerophon::ckks::{
    Ciphertext, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, Params, Plaintext,
    PublicKey, SecretKey, decrypt_values, encrypt_public, simulator::SimCiphertext,
    simulator::Simulator,
};
use common::random::seeded;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

/// A client and its server.
pub struct World {
    pub params: Params,
    pub secret: SecretKey,
    pub public: PublicKey,
    pub evaluator: Evaluator,
    pub rng: ChaCha20Rng,
}

impl World {
    /// Keys for what a program needs.
    pub fn new(params: &Params, keys: &KeyLevels) -> Result<Self> {
        let mut rng = seeded(1);
        let secret = SecretKey::generate(params.lattice(), &mut rng)?;
        let public = PublicKey::generate(&secret, &mut rng);
        let keys = EvaluationKeys::generate(params, &secret, keys, &mut rng);
        let evaluator = Evaluator::new(params, &keys?)?;
        Ok(Self { params: params.clone(), secret, public, evaluator, rng })
    }

    /// The keys of a program on a vector of an interval, found on the simulator before any key is
    /// generated.
    pub fn needs(
        params: &Params,
        values: &[f64],
        [lo, hi]: [f64; 2],
        program: impl Fn(&Simulator, &SimCiphertext) -> Result<SimCiphertext>,
    ) -> Result<KeyLevels> {
        let (simulator, range) = (Simulator::new(params), Interval::real(lo, hi)?);
        program(&simulator, &simulator.encrypt_public(values, range, params.max_level())?)?;
        Ok(simulator.report().keys)
    }

    /// Encodes values of an interval at the highest level.
    pub fn encode(&self, values: &[f64], [lo, hi]: [f64; 2]) -> Result<Plaintext> {
        let (params, range) = (&self.params, Interval::real(lo, hi)?);
        Encoder::new(params).encode(values, range, params.scale(), params.limbs())
    }

    /// Encodes and encrypts values of an interval at the highest level, under the public key.
    pub fn encrypt(&mut self, values: &[f64], range: [f64; 2]) -> Result<Ciphertext> {
        let plain = self.encode(values, range)?;
        encrypt_public(&self.params, &plain, &self.public, &mut self.rng)
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
