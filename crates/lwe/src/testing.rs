//! Keys and encrypted values for the tests.

use std::{
    ops::{ControlFlow, RangeInclusive},
    sync::atomic::{AtomicUsize, Ordering},
};

use bellerophon_mlwe::KeyId;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::encoding::{Encoding, Headroom};
use crate::encrypt::encrypt;
use crate::keys::{LookupKeys, SeededLookupKeys};
use crate::lwe_vec::LweVec;
use crate::modulus_switching::Mod2NCiphertext;
use crate::params::{Params, ParamsSpec};
use crate::pbs::Evaluator;
use crate::secret::SecretKey;

pub(crate) struct Setup {
    pub(crate) params: Params,
    pub(crate) keys: LookupKeys,
    pub(crate) lwe: SecretKey,
    pub(crate) ring: SecretKey,
    pub(crate) key: KeyId,
    pub(crate) rng: ChaCha20Rng,
}

/// The last progress report to an observer, and the number of reports.
#[derive(Default)]
pub(crate) struct Count {
    done: AtomicUsize,
    total: AtomicUsize,
    calls: AtomicUsize,
}

impl Count {
    pub(crate) fn tell(&self, done: usize, total: usize) -> ControlFlow<()> {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    }

    /// Completed look-ups and their total.
    pub(crate) fn told(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Setup {
    pub(crate) fn new(spec: ParamsSpec) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let params = Params::new(spec).unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
        let keys = SeededLookupKeys::generate(&params, &lwe, &ring, KeyId(7), &mut rng).unwrap();
        let keys = keys.expand(&params).unwrap();
        Self { params, keys, lwe, ring, key: KeyId(7), rng }
    }

    pub(crate) fn evaluator(&self) -> Evaluator<'_> {
        Evaluator::new(&self.params, &self.keys)
    }

    /// The indices of a rotation by given exponents.
    pub(crate) fn indices(&self, exponents: &[Mod2NCiphertext]) -> Vec<i64> {
        let index = |value: &Mod2NCiphertext| {
            let mask = value.a().iter().zip(self.lwe.coefficients());
            let sum = value.b() as i64 + mask.map(|(&a, &s)| a as i64 * s).sum::<i64>();
            let n = value.order() as i64 / 2;
            (sum + n).rem_euclid(2 * n) - n
        };
        exponents.iter().map(index).collect()
    }

    pub(crate) fn fit(
        &self,
        range: RangeInclusive<f64>,
        phase_variance: f64,
        room: Headroom,
    ) -> Encoding {
        let (lo, hi) = range.into_inner();
        Encoding::fit(&self.params, lo, hi, phase_variance, room, -60.0).unwrap()
    }

    pub(crate) fn encrypt(
        &mut self,
        values: &[f64],
        range: RangeInclusive<f64>,
        encoding: Encoding,
    ) -> LweVec {
        let Self { params, ring, key, rng, .. } = self;
        LweVec::encrypt(params, ring, *key, values, encoding, range, rng).unwrap()
    }

    /// Encrypts with uniform noise of a given standard deviation, in units of the phase.
    pub(crate) fn encrypt_with(
        &mut self,
        values: &[f64],
        range: RangeInclusive<f64>,
        encoding: Encoding,
        sigma: f64,
    ) -> LweVec {
        let q0 = self.params.ring_modulus();
        let bound = 3f64.sqrt() * sigma;
        let items = values.iter().map(|&value| {
            let noise = self.rng.random_range(-bound..=bound) as i64;
            let message = encoding.encode(value, q0) + noise;
            encrypt(q0, &self.ring, message, 3.2, &mut self.rng).unwrap()
        });
        let variance = (sigma * encoding.width() / q0.value() as f64).powi(2);
        LweVec::new(&self.params, items.collect(), encoding, range, variance, self.key).unwrap()
    }
}
