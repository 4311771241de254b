//! The values of a function at every index of a table, before the output encoding is fixed.

use std::ops::RangeInclusive;

use bellerophon_ring::Result;

use crate::encoding::Encoding;
use crate::lwe_vec::Deviation;
use crate::params::Params;
use crate::test_polynomial::{TableDomain, TestPolynomial};
use crate::{error, noise};

/// The values of a function at the indices `-N/2..N/2`, and their range.
pub(crate) struct Samples {
    domain: TableDomain,
    values: Vec<f64>,
    lo: f64,
    hi: f64,
}

impl Samples {
    /// Calls `f` once for each index, with arguments inside the domain only.
    pub(crate) fn new(domain: TableDomain, f: impl Fn(f64) -> f64) -> Result<Self> {
        let half = domain.degree() as i64 / 2;
        let values = (-half..half)
            .map(|k| {
                let argument = domain.argument(k);
                let value = f(argument);
                if value.is_finite() {
                    return Ok(value);
                }
                Err(error::not_finite(argument))
            })
            .collect::<Result<Vec<_>>>()?;
        // All values are finite here, so `min` and `max` are well defined.
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok(Self { domain, values, lo, hi })
    }

    /// The smallest and the largest value of several functions.
    pub(crate) fn range(all: &[Self]) -> RangeInclusive<f64> {
        let lo = all.iter().fold(f64::INFINITY, |lo, samples| lo.min(samples.lo));
        let hi = all.iter().fold(f64::NEG_INFINITY, |hi, samples| hi.max(samples.hi));
        lo..=hi
    }

    /// The values at the indices from `-N/2` on.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The sum of the squared differences of neighbouring values.
    pub(crate) fn steps2(&self) -> f64 {
        self.values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum()
    }

    /// The largest error over all values of several functions, caused by errors of the index and of
    /// the operand. Both are standard deviations in cells ([`noise::table_error`]), as predicted
    /// and as bounds.
    pub(crate) fn error(all: &[Self], [expected, most]: [[f64; 2]; 2]) -> Deviation {
        let of = |[index, operand]: [f64; 2]| {
            let errors = all.iter().map(|s| noise::table_error(&s.values, index, operand));
            errors.fold(0.0, f64::max).sqrt()
        };
        let predicted = of(expected);
        let bound = if most == expected { predicted } else { of(most).max(predicted) };
        Deviation { predicted, bound }
    }

    /// The function as a test polynomial.
    pub(crate) fn table(&self, params: &Params, encoding: &Encoding) -> Result<TestPolynomial> {
        let q0 = params.ring_modulus();
        let half = self.values.len() as i64 / 2;
        // Entry k belongs to the value at position k + N/2.
        let entry = |k: i64| Ok(encoding.encode(self.values[(k + half) as usize], q0));
        TestPolynomial::from_entries(*q0, self.domain, entry)
    }
}
