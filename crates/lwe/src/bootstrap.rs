//! A look-up from end to end: round, rotate, extract, and back to the LWE secret.

use std::sync::atomic::AtomicU64;

use crate::{
    Ciphertext, LookupKeys, LookupTable, Observer, Params, Result, blind_rotate_batch, noise, par,
    progress::Work, switch_modulus,
};

/// `log2` of the probability that a look-up leaves its table, unless told otherwise.
const LOG2_FAILURE: f64 = -60.0;

/// Applies tables to LWE values.
#[derive(Clone, Copy)]
pub struct Evaluator<'k> {
    pub(crate) params: &'k Params,
    pub(crate) keys: &'k LookupKeys,
    pub(crate) log2_failure: f64,
    observer: Option<&'k Observer<'k>>,
    counter: Option<&'k AtomicU64>,
}

impl<'k> Evaluator<'k> {
    /// An evaluator for the keys of a parameter set. Its guard bands leave a look-up of
    /// [`Values`](crate::Values) a probability of `2^-60` to leave its table.
    pub fn new(params: &'k Params, keys: &'k LookupKeys) -> Self {
        Self { params, keys, log2_failure: LOG2_FAILURE, observer: None, counter: None }
    }

    /// The same with guard bands for another probability, given as its `log2`.
    ///
    /// # Errors
    /// [`Error::Number`](crate::Error::Number) unless it is finite and below 0.
    pub fn with_failure(self, log2_failure: f64) -> Result<Self> {
        noise::check_failure(log2_failure)?;
        Ok(Self { log2_failure, ..self })
    }

    /// The same, with somebody to tell how far operations on [`Values`](crate::Values) have come,
    /// who can stop them.
    pub fn observed(self, observer: &'k Observer<'k>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The same, adding the look-ups of operations on [`Values`](crate::Values) to a counter: each may leave
    /// its table, and a program that wants to know how likely anything did adds them up.
    pub fn counted(self, counter: &'k AtomicU64) -> Self {
        Self { counter: Some(counter), ..self }
    }

    /// Begins an operation of so many look-ups.
    pub(crate) fn begin(&self, op: &'static str, look_ups: usize) -> Result<Work<'k>> {
        Work::begin(op, self.observer, self.counter, look_ups)
    }

    /// PEGASUS.LUT (Fig. 2) of every value: dimension `n` and modulus `q` in, dimension `n'`
    /// (the coefficients of the ring secret) and modulus `q0` out. `tables` holds one table for
    /// all, or one for each value.
    ///
    /// # Errors
    /// If a value or a table is not of these parameters.
    pub fn look_up(
        &self,
        values: &[Ciphertext],
        tables: &[&LookupTable],
    ) -> Result<Vec<Ciphertext>> {
        let exponents = par::try_map(values, |value| {
            value.check("look-up", self.params.dimension(), self.params.modulus())?;
            self.params.exponents(value)
        })?;
        let accumulators =
            blind_rotate_batch(self.params, &exponents, tables, &self.keys.rotation)?;
        par::try_map(&accumulators, |accumulator| accumulator.extract(0))
    }

    /// As [`look_up`](Self::look_up), then down to modulus `q` and switched to dimension `n`: the
    /// form in which the next look-up or the repacking takes values.
    ///
    /// # Errors
    /// As [`look_up`](Self::look_up).
    pub fn look_up_and_switch(
        &self,
        values: &[Ciphertext],
        tables: &[&LookupTable],
    ) -> Result<Vec<Ciphertext>> {
        let values = self.look_up(values, tables)?;
        par::try_map(&values, |value| {
            let value = switch_modulus(value, self.params.modulus());
            self.keys.switch.apply(self.params, &value)
        })
    }
}

/// The parameters and who is told: the keys are hundreds of megabytes long.
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
    use super::*;
    use crate::{
        Error, SecretKey, SeededBlindRotationKey, SeededLookupKeys, TableDomain, encrypt,
        params::tests::*, phase,
    };
    use bellerophon_mlwe::KeyId;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    /// The real sizes: values on a grid, sigmoid, errors within the predicted index error.
    #[test]
    fn sigmoid_at_real_sizes() {
        for digits in [false, true] {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let params = Params::new(real(digits)).unwrap();
            let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
            let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
            let seeded =
                SeededLookupKeys::generate(&params, &lwe, &ring, KeyId(7), &mut rng).unwrap();
            let keys = seeded.expand(&params).unwrap();
            let domain = TableDomain::fit(-8.0, 8.0, 4096, 48).unwrap();
            let scale = 2f64.powi(40);
            let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
            let encode = |y: f64| (y * scale).round() as i64;
            let table = LookupTable::new(*params.ring_modulus(), domain, sigmoid, encode).unwrap();
            let inputs = [-8.0, -2.5, 0.0, 0.3, 8.0];
            let values: Vec<_> = inputs
                .iter()
                .map(|&x| {
                    let message = domain.encode(x, params.modulus());
                    encrypt(params.modulus(), &lwe, message, 3.2, &mut rng).unwrap()
                })
                .collect();
            let evaluator = Evaluator::new(&params, &keys);
            let out = evaluator.look_up(&values, &[&table]).unwrap();
            let error = 6.0 * noise::index_error(&params, lwe.norm2(), 3.2 * 3.2).sqrt();
            let slope = 0.25 * domain.step();
            let blind = 6.0 * noise::blind_rotation(&params, lwe.norm2(), ring.norm2()).sqrt();
            for (x, value) in inputs.iter().zip(&out) {
                assert_eq!((value.dimension(), value.modulus()), (4096, params.ring_modulus()));
                let got = phase(value, &ring).unwrap() as f64 / scale;
                let bound = (error + 0.5) * slope + blind / scale;
                assert!((got - sigmoid(*x)).abs() < bound, "{digits} {x}: {got} {bound}");
            }
            let switched = evaluator.look_up_and_switch(&values[2..3], &[&table]).unwrap();
            let q = params.modulus();
            let scale = scale * q.value() as f64 / params.ring_modulus().value() as f64;
            let got = phase(&switched[0], &lwe).unwrap() as f64 / scale;
            let more = 6.0 * noise::key_switch(&params, ring.norm2(), 4096).sqrt() / scale;
            let bound = (error + 0.5) * slope + more + 0.001;
            assert!((got - 0.5).abs() < bound, "{got} {bound}");
        }
    }

    #[test]
    fn values_of_other_parameters_are_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let params = Params::new(insecure(8, 64, false)).unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
        let keys = SeededLookupKeys::generate(&params, &lwe, &ring, KeyId(7), &mut rng).unwrap();
        assert!(keys.byte_len(&params) > SeededBlindRotationKey::byte_len(&params));
        let keys = keys.expand(&params).unwrap();
        let evaluator = Evaluator::new(&params, &keys);
        let domain = TableDomain::fit(-1.0, 1.0, 64, 0).unwrap();
        let table = LookupTable::new(*params.ring_modulus(), domain, |x| x, |_| 0).unwrap();
        let long = Ciphertext::trivial(*params.modulus(), 16, 0);
        let error = evaluator.look_up(&[long], &[&table]).unwrap_err();
        assert!(matches!(error, Error::Dimension { op: "look-up", found: 16, needed: 8, .. }));
        let wide = Ciphertext::trivial(*params.ring_modulus(), 8, 0);
        let error = evaluator.look_up_and_switch(&[wide], &[&table]).unwrap_err();
        assert!(matches!(error, Error::Modulus { op: "look-up", .. }));
    }
}
