//! Test polynomials: the table of a function on a real interval, as the coefficients that blind
//! rotation selects from.
//!
//! A look-up rounds the phase of its input to an index `k` in `[-N, N)`, where
//! `phase / q = k / 2N`, and returns the constant coefficient of `f X^k` (PEGASUS, Fig. 2). The
//! table covers the indices in `[-N/2, N/2)`. Past either end `X^N = -1` returns the negated entry
//! of the other end. The index carries noise ([`noise::index_error`](crate::noise::index_error)),
//! so [`TableDomain`] keeps a guard band between the domain and both ends. In the guard band the
//! table repeats the function's value at the end of the domain.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Modulus, Result};

use crate::error;
use crate::params::Params;

/// The map between the reals of a closed interval and the indices of a table.
///
/// Index `k` represents `center + k step`. The encoding of a value `v` is the phase
/// `(v - center) / step * q / 2N`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TableDomain {
    lo: f64,
    hi: f64,
    center: f64,
    step: f64,
    degree: usize,
}

impl TableDomain {
    /// Spreads `[lo, hi]` as widely as a table of `degree` coefficients allows: the ends have the
    /// indices `-(N/2 - guard)` and `N/2 - guard`.
    ///
    /// # Errors
    /// If the guard leaves no step.
    pub fn fit(lo: f64, hi: f64, degree: usize, guard: usize) -> Result<Self> {
        let available = (degree / 2) as f64 - guard as f64;
        let step = (hi - lo) / (2.0 * available.max(1.0));
        Self::with_step(lo, hi, lo + (hi - lo) / 2.0, step, degree, guard)
    }

    /// A domain with a given value at index 0 and a given step, for inputs whose encoding is
    /// already fixed.
    ///
    /// # Errors
    /// If an end is nearer than `guard` steps to index `-N/2` or `N/2`. A single point is a valid
    /// interval.
    pub fn with_step(
        lo: f64,
        hi: f64,
        center: f64,
        step: f64,
        degree: usize,
        guard: usize,
    ) -> Result<Self> {
        let finite = lo.is_finite() && hi.is_finite() && center.is_finite();
        if !(finite && lo <= hi && (hi - lo).is_finite() && step.is_finite() && step > 0.0) {
            return Err(error::domain(lo, hi));
        }
        // The farther end must stay `guard` indices inside the table. The tolerance absorbs the
        // rounding of `fit`, which places the ends exactly on the limit.
        let available = (degree / 2) as f64 - guard as f64;
        let reach = (hi - center).max(center - lo) / step;
        if available < 1.0 || reach > available * (1.0 + 1e-12) {
            return Err(error::table_too_small(lo, hi, reach, guard, available, degree));
        }
        Ok(Self { lo, hi, center, step, degree })
    }

    /// The lower end.
    #[cfg(test)]
    pub(crate) fn lo(&self) -> f64 {
        self.lo
    }

    /// The upper end.
    #[cfg(test)]
    pub(crate) fn hi(&self) -> f64 {
        self.hi
    }

    /// The value at index 0, which is phase 0.
    pub fn center(&self) -> f64 {
        self.center
    }

    /// The difference between the values at neighbouring indices.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The number of coefficients of the table.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The scale of the input encoding: `phase / q = (v - center) * phase_per_unit`.
    pub fn phase_per_unit(&self) -> f64 {
        1.0 / (self.step * 2.0 * self.degree as f64)
    }

    /// The phase modulo `q` that encodes `value`.
    pub fn encode(&self, value: f64, q: &Modulus) -> i64 {
        ((value - self.center) * self.phase_per_unit() * q.value() as f64).round() as i64
    }

    /// The argument at index `k`, clamped to the domain.
    pub fn argument(&self, k: i64) -> f64 {
        (self.center + k as f64 * self.step).clamp(self.lo, self.hi)
    }
}

/// A test polynomial modulo `q0`.
#[derive(Clone, PartialEq)]
pub struct TestPolynomial {
    modulus: Modulus,
    domain: TableDomain,
    coefficients: Vec<u64>,
}

/// Modulus and domain only: the function may be secret.
impl std::fmt::Debug for TestPolynomial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestPolynomial")
            .field("modulus", &self.modulus)
            .field("domain", &self.domain)
            .finish_non_exhaustive()
    }
}

impl TestPolynomial {
    /// Tabulates `f` on the domain. `encode` maps each value to an integer modulo `q0`, for example
    /// `|y| (y * scale).round() as i64`.
    ///
    /// `f` is called once for each of the `N` indices, with arguments inside the domain only.
    ///
    /// # Errors
    /// [`ErrorKind::NotFinite`] or [`ErrorKind::Range`] with the first argument whose value
    /// is not finite or whose encoding exceeds `q0 / 2` in magnitude.
    pub fn new(
        modulus: Modulus,
        domain: TableDomain,
        f: impl Fn(f64) -> f64,
        encode: impl Fn(f64) -> i64,
    ) -> Result<Self> {
        let limit = modulus.value() / 2;
        Self::from_entries(modulus, domain, |k| {
            let argument = domain.argument(k);
            let value = f(argument);
            if !value.is_finite() {
                return Err(error::not_finite(argument));
            }
            let encoded = encode(value);
            if encoded.unsigned_abs() > limit {
                return Err(error::output_range(argument, limit));
            }
            Ok(encoded)
        })
    }

    /// A test polynomial from its entries at the indices in `[-N/2, N/2)` (Fig. 2, line 1).
    pub(crate) fn from_entries(
        modulus: Modulus,
        domain: TableDomain,
        entry: impl Fn(i64) -> Result<i64>,
    ) -> Result<Self> {
        let n = domain.degree;
        let mut coefficients = vec![0; n];
        // The constant coefficient of f X^k is f_(-k) for k <= 0, and -f_(N - k) for k > 0, because
        // X^N = -1.
        for k in -(n as i64 / 2)..n as i64 / 2 {
            let encoded = entry(k)?;
            if k <= 0 {
                coefficients[k.unsigned_abs() as usize] = modulus.from_i64(encoded);
            } else {
                coefficients[n - k as usize] = modulus.from_i64(-encoded);
            }
        }
        Ok(Self { modulus, domain, coefficients })
    }

    /// The modulus `q0`.
    pub(crate) fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// The map between reals and indices.
    #[cfg(test)]
    pub(crate) fn domain(&self) -> &TableDomain {
        &self.domain
    }

    /// The number of coefficients.
    pub(crate) fn degree(&self) -> usize {
        self.coefficients.len()
    }

    /// Fails with the operation's name unless the test polynomial belongs to these parameters.
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        let (found, needed) = (self.degree(), params.spec().ring_degree);
        if found != needed {
            let remedy = "create the test polynomial with the ring degree of the parameters";
            return Err(error::dimension(found, needed, remedy));
        }
        let (found, needed) = (self.modulus.value(), params.ring_modulus().value());
        if found != needed {
            return Err(error::modulus(found, needed));
        }
        Ok(())
    }

    /// The coefficients of `f X^k` for `k` in `[0, 2N)`: the body of the initial accumulator.
    pub(crate) fn rotated(&self, k: usize) -> Vec<u64> {
        let n = self.degree();
        let mut out = vec![0; n];
        for (j, &x) in self.coefficients.iter().enumerate() {
            // The sign changes for exponents from N on, because X^N = -1.
            let exponent = (j + k) & (2 * n - 1);
            out[exponent & (n - 1)] = if exponent < n { x } else { self.modulus.neg(x) };
        }
        out
    }

    /// The entry at an index in `[-N, N)` as a centred integer: the result of a look-up without
    /// noise, including the change of sign past the ends.
    #[cfg(test)]
    pub(crate) fn entry(&self, k: i64) -> i64 {
        let order = 2 * self.degree() as i64;
        self.modulus.center(self.rotated(k.rem_euclid(order) as usize)[0])
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;

    const Q0: u64 = (1 << 45) - 229;

    fn modulus() -> Modulus {
        Modulus::new(Q0).unwrap()
    }

    #[test]
    fn entries_are_the_function_at_every_index() {
        let domain = TableDomain::fit(-3.0, 5.0, 64, 4).unwrap();
        assert_eq!(domain.center(), 1.0);
        assert_eq!(domain.step(), 8.0 / 56.0);
        let table =
            TestPolynomial::new(modulus(), domain, |x| x * x * x, |y| (y * 1e6).round() as i64);
        let table = table.unwrap();
        for k in -32i64..32 {
            let x = (1.0 + k as f64 / 7.0).clamp(-3.0, 5.0);
            let expected = (domain.argument(k).powi(3) * 1e6).round() as i64;
            assert!((domain.argument(k) - x).abs() < 1e-12);
            assert_eq!(table.entry(k), expected, "{k}");
        }
        assert!((domain.argument(-28) + 3.0).abs() < 1e-12 && domain.argument(-32) == -3.0);
        assert!((domain.argument(28) - 5.0).abs() < 1e-12 && domain.argument(31) == 5.0);
        // Past the ends: the negated entry of the other end.
        for k in 32i64..64 {
            assert_eq!(table.entry(k), -table.entry(k - 64), "{k}");
            assert_eq!(table.entry(-k - 1), -table.entry(63 - k), "{k}");
        }
    }

    #[test]
    fn encoding_and_argument_are_inverse() {
        let q = Modulus::new((1 << 28) - 57).unwrap();
        for domain in [
            TableDomain::fit(-8.0, 8.0, 4096, 48).unwrap(),
            TableDomain::fit(0.5, 100.0, 4096, 0).unwrap(),
            TableDomain::with_step(-1.0, 3.0, 0.0, 0.01, 4096, 100).unwrap(),
        ] {
            for k in [-300, -100, 0, 1, 77, 300] {
                let value = domain.center() + k as f64 * domain.step();
                let phase = domain.encode(value, &q);
                let exact = k as f64 * q.value() as f64 / (2.0 * domain.degree() as f64);
                assert!((phase as f64 - exact).abs() <= 0.5 + 1e-6);
                if (domain.lo()..=domain.hi()).contains(&value) {
                    assert_eq!(domain.argument(k), value);
                }
            }
        }
    }

    #[test]
    fn the_function_is_called_inside_its_domain_only() {
        let domain = TableDomain::fit(0.0, 2.0, 256, 20).unwrap();
        let table =
            TestPolynomial::new(modulus(), domain, f64::sqrt, |y| (y * 1e9) as i64).unwrap();
        assert_eq!(table.entry(-127), 0);
        let log = TestPolynomial::new(modulus(), domain, f64::ln, |y| (y * 1e9) as i64);
        let error = log.unwrap_err();
        assert_eq!(error, error::not_finite(0.0));
        let large = TestPolynomial::new(modulus(), domain, |x| x, |y| (y * 1e13) as i64);
        assert!(
            refusal(&large).is(&ErrorKind::Range, "does not fit the modulus: its encoding must")
        );
        let lowest = TestPolynomial::new(modulus(), domain, |x| x, |_| i64::MIN);
        assert!(
            refusal(&lowest).is(&ErrorKind::Range, "does not fit the modulus: its encoding must")
        );
    }

    #[test]
    fn domains_that_do_not_fit_are_refused() {
        for (lo, hi) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(
                refusal(&TableDomain::fit(lo, hi, 64, 4))
                    .is(&ErrorKind::Domain, "]: need finite ends, the lower end first")
            );
        }
        assert!(TableDomain::fit(f64::MIN, f64::MAX, 64, 4).is_err());
        let full = TableDomain::fit(0.0, 1.0, 64, 32);
        assert!(refusal(&full).is(&ErrorKind::Domain, "leaves 0.0 at degree 64"));
        let coarse = TableDomain::with_step(-1.0, 3.0, 0.0, 0.1, 64, 2).unwrap();
        assert_eq!(coarse.step(), 0.1);
        let fine = TableDomain::with_step(-1.0, 3.0, 0.0, 0.09, 64, 2);
        assert!(refusal(&fine).is(&ErrorKind::Domain, "a guard band of 2 steps leaves"));
        assert!(TableDomain::with_step(-1.0, 3.0, 0.0, 0.0, 64, 2).is_err());
    }
}
