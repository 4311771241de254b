//! Small insecure parameter sets and comparisons for the tests of the CKKS crate, here and
//! in `crates/circuits/src/tests`.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod functional;

use bellerophon_circuits::eval_mod::Mod1Spec;
use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels,
    LevelGroup, ModulusChain, Params, ParamsSpec, SecretKey, Security, SlotValue, decrypt, encrypt,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// A client and its server in one.
pub struct World {
    pub params: Params,
    pub secret: SecretKey,
    pub keys: EvaluationKeys,
    pub rng: std::cell::RefCell<ChaCha20Rng>,
}

/// The reason why a call was refused.
#[track_caller]
pub fn refusal<T>(result: &Result<T, bellerophon_ckks::Error>) -> &bellerophon_ckks::Error {
    match result {
        Err(error) => error,
        Ok(_) => panic!("not refused"),
    }
}

/// `N = 2^log_degree`, `q_0` of 55 bits, `levels` primes of 45 bits, two special primes of 50 bits.
pub fn params(log_degree: u32, levels: usize) -> Params {
    let chain = ModulusChain {
        degree: 1 << log_degree,
        first_bits: 55,
        levels: vec![LevelGroup::single(45, levels)],
        special: (50, 2),
    };
    Params::new(ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap()).unwrap()
}

impl World {
    pub fn new(log_degree: u32, levels: usize, spec: KeyLevels) -> Self {
        Self::of(params(log_degree, levels), spec, 1)
    }

    pub fn of(params: Params, spec: KeyLevels, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
        let keys = EvaluationKeys::generate(&params, &secret, &spec, &mut rng).unwrap();
        Self { params, secret, keys, rng: rng.into() }
    }

    pub fn evaluator(&self) -> Evaluator {
        Evaluator::new(&self.params, &self.keys).unwrap()
    }

    /// Values of the test itself, which are no secret: the declared range is their [`span`].
    pub fn encrypt_span<T: SlotValue>(&self, values: &[T]) -> Ciphertext {
        self.encrypt_span_at(values, self.params.max_level())
    }

    /// As [`encrypt_span`](Self::encrypt_span), at a level.
    pub fn encrypt_span_at<T: SlotValue>(&self, values: &[T], level: usize) -> Ciphertext {
        self.encrypt_in(values, span(values), level)
    }

    /// Values of a declared range.
    pub fn encrypt_in<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Ciphertext {
        let encoder = Encoder::new(&self.params);
        let plain = encoder
            .encode(values, range, self.params.scale(), self.params.limbs_at(level))
            .unwrap();
        encrypt(&self.params, &plain, &self.secret, &mut *self.rng.borrow_mut()).unwrap()
    }

    /// The slots, whatever their noise, and the real parts of complex ones.
    pub fn decrypt<T: SlotValue>(&self, ct: &Ciphertext) -> Vec<T> {
        let plain = decrypt(&self.params, ct, &self.secret).unwrap();
        Encoder::new(&self.params).decode(&plain).unwrap()
    }

    pub fn reals(&self, n: usize) -> Vec<f64> {
        let mut rng = self.rng.borrow_mut();
        (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    pub fn complex(&self, n: usize) -> Vec<Complex64> {
        self.reals(n).into_iter().zip(self.reals(n)).map(|(a, b)| Complex64::new(a, b)).collect()
    }

    /// The ciphertext decrypts to `expected` within 16 predicted standard deviations (the bound of
    /// Full-RNS HEAAN, appendix A.2, for products of two Gaussians, such as roundings times the
    /// secret, in a slot) and a rounding of `f64`; its range contains what is expected.
    #[track_caller]
    pub fn check(&self, ct: &Ciphertext, expected: &[f64]) {
        let found: Vec<f64> = self.decrypt(ct);
        assert_eq!(found.len(), expected.len());
        let size = expected.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let allowed = 16.0 * ct.metadata().noise() + 1e-12 * size;
        assert!(allowed < 1e-4 * size, "the prediction {allowed:e} allows anything");
        let error = max_error(&found, expected);
        assert!(error <= allowed, "error {error:e}, allowed {allowed:e}");
        for &x in expected {
            let slack = 1e-9 * size;
            assert!(ct.range().lo() - slack <= x && x <= ct.range().hi() + slack, "{x} outside");
        }
    }

    #[track_caller]
    pub fn check_complex(&self, ct: &Ciphertext, expected: &[Complex64]) {
        let found: Vec<Complex64> = self.decrypt(ct);
        assert_eq!(found.len(), expected.len());
        let error = found.iter().zip(expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(
            error <= 16.0 * ct.metadata().noise() + 1e-12,
            "error {error:e}, predicted {:e}",
            ct.metadata().noise()
        );
        assert!(expected.iter().all(|z| z.norm() <= ct.range().bound() + 1e-9));
    }
}

/// A range as tight as tests of predictions need. Tests know their values; programs declare a range
/// that does not depend on them.
pub fn span<T: SlotValue>(values: &[T]) -> Interval {
    let values = values.iter().map(|v| v.to_complex());
    if !T::REAL {
        return Interval::complex(values.map(|z| z.norm()).fold(0.0, f64::max)).unwrap();
    }
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let (lo, hi) = values.fold(ends, |(lo, hi), z| (lo.min(z.re), hi.max(z.re)));
    Interval::real(lo, hi).unwrap()
}

/// A reduction modulo 1 for a secret of `weight` coefficients, to 24 bits, without an arcsine.
pub fn mod1_spec(weight: usize) -> Mod1Spec {
    Mod1Spec {
        weight,
        log2_failure: -60.0,
        log2_error: -24.0,
        arcsine: None,
        spare: 0,
        early_bits: [0; 2],
    }
}

pub fn max_error(found: &[f64], expected: &[f64]) -> f64 {
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

pub fn rotated<T: Copy>(values: &[T], step: i64) -> Vec<T> {
    let n = values.len() as i64;
    (0..n).map(|j| values[(j + step).rem_euclid(n) as usize]).collect()
}

/// `c x` at the scale of `x` times `scale`, not rescaled: `c` is rounded to a multiple of
/// `1 / scale`.
pub fn mul_scalar_no_rescale<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    c: f64,
    scale: f64,
) -> bellerophon_ckks::Result<A::Ciphertext> {
    a.reinterpret_scale(a.mul_integer(x, (c * scale).round() as i64)?, 1.0 / scale)
}
