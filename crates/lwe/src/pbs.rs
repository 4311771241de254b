//! Programmable bootstrapping (PBS, PEGASUS.LUT, Fig. 2): modulus switch to `2N`, blind rotation,
//! sample extraction, and optionally the key switch back to the LWE secret.

use std::sync::atomic::AtomicU64;

use bellerophon_ring::{Result, error::operation, try_map};

use crate::ciphertext::Ciphertext;
use crate::keys::LookupKeys;
use crate::modulus_switching::switch_modulus;
use crate::noise;
use crate::params::Params;
use crate::progress::{LookupProgress, Observer};
use crate::test_polynomial::TestPolynomial;

/// Default `log2` of the probability that the index of a look-up falls outside its table.
const LOG2_FAILURE: f64 = -60.0;

/// Programmable bootstrapping of LWE ciphertexts, and the operations on
/// [`LweVec`](crate::LweVec) that are built on it.
#[derive(Clone, Copy)]
pub struct Evaluator<'k> {
    pub(crate) params: &'k Params,
    pub(crate) keys: &'k LookupKeys,
    pub(crate) log2_failure: f64,
    observer: Option<&'k Observer<'k>>,
    counter: Option<&'k AtomicU64>,
}

impl<'k> Evaluator<'k> {
    /// An evaluator for the keys of a parameter set. Its guard bands limit the probability that a
    /// look-up on [`LweVec`](crate::LweVec) falls outside its table to `2^-60`.
    pub fn new(params: &'k Params, keys: &'k LookupKeys) -> Self {
        Self { params, keys, log2_failure: LOG2_FAILURE, observer: None, counter: None }
    }

    /// Returns the evaluator with guard bands for another failure probability, given as its `log2`.
    pub fn with_failure(self, log2_failure: f64) -> Result<Self> {
        noise::check_failure(log2_failure)?;
        Ok(Self { log2_failure, ..self })
    }

    /// Returns the evaluator with an observer, which receives the progress of every operation that
    /// looks up and can cancel it.
    pub fn observed(self, observer: &'k Observer<'k>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Returns the evaluator with a counter of the look-ups that its operations perform. Each
    /// look-up can fail with the probability of the guard band, so a program bounds its total
    /// failure probability by the count.
    pub fn counted(self, counter: &'k AtomicU64) -> Self {
        Self { counter: Some(counter), ..self }
    }

    /// Begins an operation of `look_ups` look-ups.
    pub(crate) fn begin(&self, look_ups: usize) -> Result<LookupProgress<'k>> {
        LookupProgress::begin(self.observer, self.counter, look_ups)
    }

    /// Runs an operation of `look_ups` look-ups.
    pub(crate) fn with_progress<T>(
        &self,
        look_ups: usize,
        run: impl FnOnce(&mut LookupProgress<'k>) -> Result<T>,
    ) -> Result<T> {
        self.begin(look_ups).and_then(|mut work| run(&mut work))
    }

    /// Programmable bootstrapping (PBS): applies a test polynomial to every value (PEGASUS.LUT,
    /// Fig. 2).
    ///
    /// Inputs have dimension `n` and modulus `q`. Outputs have modulus `q0` and the dimension `n'`
    /// of the ring secret, under its coefficients. `tables` holds one test polynomial for all
    /// values, or one for each.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) if the observer cancels.
    pub fn look_up(
        &self,
        values: &[Ciphertext],
        tables: &[&TestPolynomial],
    ) -> Result<Vec<Ciphertext>> {
        operation("look_up", || {
            let work = self.begin(values.len())?;
            // Line 2 of Fig. 2: modulus switch to 2N.
            let exponents = try_map(values, |value| {
                value.check(self.params.spec().dimension, self.params.modulus())?;
                self.params.exponents(value)
            })?;
            // Lines 3 to 6: blind rotation of the test polynomials.
            let accumulators = self.blind_rotate(&work, &exponents, tables)?;
            // Line 7: sample extraction of the constant coefficient.
            try_map(&accumulators, |accumulator| accumulator.sample_extract(0))
        })
    }

    /// [`look_up`](Self::look_up), followed by the modulus switch to `q` and the key switch to
    /// dimension `n`: the input form of the next programmable bootstrapping and of repacking.
    pub fn look_up_and_switch(
        &self,
        values: &[Ciphertext],
        tables: &[&TestPolynomial],
    ) -> Result<Vec<Ciphertext>> {
        // Step 1: programmable bootstrapping. Step 2: the switches to q and n.
        let values = self.look_up(values, tables)?;
        try_map(&values, |value| {
            // The modulus switch comes first: the key-switching key is defined modulo q.
            let value = switch_modulus(value, self.params.modulus());
            self.keys.switch.apply(self.params, &value)
        })
    }
}

/// Parameters and options only: the keys take hundreds of megabytes.
impl std::fmt::Debug for Evaluator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluator")
            .field("spec", self.params.spec())
            .field("log2_failure", &self.log2_failure)
            .field("observed", &self.observer.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_mlwe::KeyId;
    use bellerophon_ring::ErrorKind;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::blind_rotate::SeededBlindRotationKey;
    use crate::keys::SeededLookupKeys;
    use crate::params::tests::*;
    use crate::secret::SecretKey;
    use crate::test_polynomial::TableDomain;

    #[test]
    fn values_of_other_dimensions_are_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let params = Params::new(insecure(8, 64, false)).unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
        let keys = SeededLookupKeys::generate(&params, &lwe, &ring, KeyId(7), &mut rng).unwrap();
        assert!(keys.byte_len(&params) > SeededBlindRotationKey::byte_len(&params));
        let keys = keys.expand(&params).unwrap();
        let evaluator = Evaluator::new(&params, &keys);
        let domain = TableDomain::fit(-1.0, 1.0, 64, 0).unwrap();
        let table = TestPolynomial::new(*params.ring_modulus(), domain, |x| x, |_| 0).unwrap();
        let value = Ciphertext::trivial(*params.modulus(), 8, 0);
        let out = evaluator.look_up(&[value], &[&table]).unwrap().remove(0);
        assert_eq!((out.dimension(), out.modulus()), (64, params.ring_modulus()));
        let long = Ciphertext::trivial(*params.modulus(), 16, 0);
        let error = evaluator.look_up(&[long], &[&table]).unwrap_err();
        assert!(
            error.op() == "look_up"
                && error.is(&ErrorKind::Shape, "dimension 16 where 8 is needed")
        );
        let wide = Ciphertext::trivial(*params.ring_modulus(), 8, 0);
        let error = evaluator.look_up_and_switch(&[wide], &[&table]).unwrap_err();
        assert!(
            error.op() == "look_up"
                && error.is(&ErrorKind::ParamsMismatch, "is needed; switch the modulus first")
        );
    }
}
