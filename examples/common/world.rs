//! A client and its server on the CKKS scheme alone, for programs with parameter sets of their own.

use bellerophon::ckks::{
    Ciphertext, Declaration, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, Params,
    SecretKey, decrypt_values, encrypt,
};
use rand_chacha::ChaCha20Rng;

use super::console::Stages;
use super::output::KEY_GENERATION;

/// A client with its secret, and the server that holds its public keys.
pub struct World {
    pub secret: SecretKey,
    pub evaluator: Evaluator,
    pub rng: ChaCha20Rng,
}

impl World {
    /// Generates the keys of a program, as a stage.
    pub fn open(
        params: &Params,
        needs: &KeyLevels,
        mut rng: ChaCha20Rng,
        stages: &mut Stages,
    ) -> bellerophon::Result<Self> {
        stages.run(KEY_GENERATION, || {
            let secret = SecretKey::generate(params.lattice(), &mut rng)?;
            let keys = EvaluationKeys::generate(params, &secret, needs, &mut rng)?;
            Ok(Self { secret, evaluator: Evaluator::new(params, &keys)?, rng })
        })
    }

    /// The parameters of both.
    pub fn params(&self) -> &Params {
        self.evaluator.params()
    }

    /// Bytes of the public keys.
    pub fn key_bytes(&self) -> u64 {
        self.evaluator.keys().byte_len() as u64
    }

    /// Bytes of a ciphertext in memory.
    pub fn byte_len(&self, x: &Ciphertext) -> u64 {
        x.lattice().byte_len(self.params().lattice()) as u64
    }

    /// The client encrypts values of a range at a level.
    pub fn encrypt(
        &mut self,
        values: &[f64],
        [lo, hi]: [f64; 2],
        level: usize,
    ) -> bellerophon::Result<Ciphertext> {
        let params = self.evaluator.params();
        let (range, limbs) = (Interval::real(lo, hi)?, params.limbs_at(level));
        let plain = Encoder::new(params).encode(values, range, params.scale(), limbs)?;
        encrypt(params, &plain, &self.secret, &mut self.rng)
    }

    /// The server publishes a result as the program declares it, and the client decrypts it.
    pub fn read(
        &self,
        result: &Ciphertext,
        declared: impl Into<Declaration>,
    ) -> bellerophon::Result<Vec<f64>> {
        let published = self.evaluator.publish(result, declared)?;
        decrypt_values(self.params(), published.as_ref(), &self.secret)
    }
}
