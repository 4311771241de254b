//! Publication of results: a result leaves a server with a declared range and noise.
//!
//! The range and predicted noise of a ciphertext follow every operation, with constants of the
//! server among the operands: the range of `w x + b` for a known `x` reveals `w` and `b`. This
//! metadata is therefore internal to the server. A [`Published`] result carries instead the range
//! and noise that the program declares ([`Declaration`]) before it sees any data, derived from
//! nothing secret. [`Evaluator::publish`] refuses a result that may exceed its declaration. Level,
//! scale, slots and number of values follow from the operations of the program, which are public.

use std::ops::RangeInclusive;

use bellerophon_mlwe::noise::{DECLARED_LOG2, declared_log2};

use crate::{
    Bounds, Ciphertext, CiphertextMeta, During, ErrorKind, Evaluator, Interval, Metadata, Params,
    Result,
    noise::{self, Noise},
    simulator::SimCiphertext,
};

/// The remedy in [`ErrorKind::Declaration`] for noise.
pub(crate) const NOISE: &str =
    "at least the predicted noise, from 2^-300 to 2^300 (`Declaration::with_noise`)";

/// `-log2` of the default noise of a declared range, relative to its largest magnitude.
const UNSTATED_BITS: i32 = 4;

/// A program's declaration of a result: the range of its values, and the standard deviation of a
/// slot's error, rounded up to a power of two (the variance: to a power of four).
///
/// Both client and server can know it: from the source of the program, or from a
/// [`Simulator`](crate::simulator::Simulator) that runs the program on the declared ranges of its
/// inputs (`Declaration::from(&vector)`). Do not enter secret constants of the server into the
/// simulator by their values.
///
/// ```
/// use bellerophon_ckks::Declaration;
///
/// let declared = Declaration::from(-8.0..=8.0); // noise of 2^-4 of the largest magnitude: 0.5
/// assert_eq!(declared.noise(), 0.5);
/// assert_eq!(declared.with_noise(1e-3).noise(), 2f64.powi(-9));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declaration {
    lo: f64,
    hi: f64,
    complex: bool,
    /// `None` for an invalid noise, which is refused on use.
    log2_noise: Option<i32>,
}

impl Declaration {
    /// Values in the disc `|z| <= bound`, with noise of `2^-4` of the bound.
    pub fn complex(bound: f64) -> Self {
        Self { complex: true, ..Self::from(-bound..=bound) }
    }

    /// The same range with a stated noise: the standard deviation of a slot's error in units of the
    /// message, of the real part for real messages and of the absolute value for complex ones. It
    /// is rounded up to a power of two.
    #[must_use]
    pub fn with_noise(self, noise: f64) -> Self {
        Self { log2_noise: declared_log2(noise), ..self }
    }

    /// Standard deviation of a slot's error, a power of two; NaN if the stated noise was invalid.
    pub fn noise(&self) -> f64 {
        self.log2_noise.map_or(f64::NAN, |log2| f64::from(log2).exp2())
    }

    /// The range of the values.
    ///
    /// # Errors
    /// [`ErrorKind::Interval`] for an invalid range.
    pub(crate) fn range(&self) -> Result<Interval> {
        if self.complex { Interval::complex(self.hi) } else { Interval::real(self.lo, self.hi) }
    }
}

/// A real range, with noise of `2^-4` of its largest magnitude, rounded up to a power of two. The
/// range `[0, 0]` has no such noise: state one ([`Declaration::with_noise`]).
impl From<RangeInclusive<f64>> for Declaration {
    fn from(range: RangeInclusive<f64>) -> Self {
        let (lo, hi) = range.into_inner();
        let bound = lo.abs().max(hi.abs());
        let log2_noise = declared_log2(bound * f64::from(-UNSTATED_BITS).exp2());
        Self { lo, hi, complex: false, log2_noise }
    }
}

/// The range and noise that a simulator predicts for a result of declared inputs.
impl From<&SimCiphertext> for Declaration {
    fn from(foreseen: &SimCiphertext) -> Self {
        let metadata = foreseen.metadata();
        let range = metadata.meta.bounds.values;
        let (lo, hi, complex) = (range.lo(), range.hi(), !range.is_real());
        Self { lo, hi, complex, log2_noise: declared_log2(metadata.noise()) }
    }
}

/// A result that may leave its server: a ciphertext with the declared range and noise instead of
/// the computed ones.
///
/// A server can use it as an input again: it converts into a [`Ciphertext`].
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    ciphertext: Ciphertext,
    log2_noise: i32,
}

impl Published {
    /// `log2` of the declared standard deviation of a slot's error.
    pub fn log2_noise(&self) -> i32 {
        self.log2_noise
    }

    /// A published result from a ciphertext, a declared range and `log2` of the declared noise.
    pub(crate) fn of(
        params: &Params,
        ciphertext: Ciphertext,
        range: Interval,
        log2_noise: i32,
    ) -> Result<Self> {
        let op = "publish";
        // Step 1: the noise must be a declarable power of two.
        if !DECLARED_LOG2.contains(&log2_noise) {
            return Err(ErrorKind::Declaration { what: "noise", needed: NOISE }.during(op));
        }
        let CiphertextMeta { slots, len, .. } = *ciphertext.meta();
        // Step 2: bounds. The range of the padding must follow from declared range and shape alone.
        let bound = range.bound();
        let all = if range.is_real() { Interval::real(-bound, bound)? } else { range };
        let bounds = Bounds { values: range, padding: if len < slots { all } else { range } };
        // Step 3: replace the computed metadata by the declared one.
        let noise = (f64::from(log2_noise).exp2(), range.is_real());
        let ciphertext = with_metadata(params, ciphertext, bounds, noise)?;
        Ok(Self { ciphertext, log2_noise })
    }
}

/// The ciphertext with new bounds and a new standard deviation of a slot's error: that of one part
/// if `of_part`, else that of the absolute value. Keeps level, scale, slots and number of values.
pub(crate) fn with_metadata(
    params: &Params,
    ciphertext: Ciphertext,
    bounds: Bounds,
    (deviation, of_part): (f64, bool),
) -> Result<Ciphertext> {
    let (lattice, CiphertextMeta { scale, slots, len, .. }) = ciphertext.into_parts();
    // The inverse of `slot_std`: from the deviation of a slot to the variance of a coefficient.
    let variance = (deviation / noise::slot_std(1.0, slots, scale, of_part)).powi(2);
    let meta = CiphertextMeta { scale, slots, len, bounds, noise: Noise::new(variance) };
    Ciphertext::from_parts(params, lattice, meta)
}

/// The ciphertext, with the declared range and noise.
impl From<Published> for Ciphertext {
    fn from(x: Published) -> Self {
        x.ciphertext
    }
}

impl AsRef<Ciphertext> for Published {
    fn as_ref(&self) -> &Ciphertext {
        &self.ciphertext
    }
}

impl AsRef<Ciphertext> for Ciphertext {
    fn as_ref(&self) -> &Ciphertext {
        self
    }
}

impl Evaluator {
    /// The result `x` in the form that may leave the server: with the range (`lo..=hi`) or
    /// [`Declaration`] of the program. Takes no level.
    ///
    /// ```
    /// # use bellerophon_ckks::{Ciphertext, CkksOps, Declaration, Evaluator, Published, Result};
    /// # fn f(evaluator: &Evaluator, x: &Ciphertext) -> Result<Published> {
    /// // The constants are secrets of the server.
    /// let score = evaluator.add_scalar(&evaluator.mul_scalar(x, 0.37)?, -0.2)?;
    /// evaluator.publish(&score, Declaration::from(-1.0..=1.0).with_noise(1e-6))
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Declaration`] if values may leave the declared range, if padding may exceed its
    /// magnitude, or if the noise may exceed the declared noise; the error does not say by how
    /// much. [`ErrorKind::Interval`] for an invalid range, and mismatches.
    pub fn publish(
        &self,
        x: &Ciphertext,
        declaration: impl Into<Declaration>,
    ) -> Result<Published> {
        let (op, declaration) = ("publish", declaration.into());
        // Refuse what the declaration does not cover, then forget the computed metadata.
        self.check(x).during(op)?;
        let range = declaration.range().during(op)?;
        let log2_noise = declaration.admits(&range, &x.metadata()).during(op)?;
        Published::of(self.params(), x.clone(), range, log2_noise)
    }
}

impl Declaration {
    /// Refuses results that may exceed the declaration. Returns `log2` of the declared noise.
    fn admits(&self, range: &Interval, x: &Metadata) -> Result<i32> {
        // Step 1: the values.
        let Bounds { values, padding } = x.meta.bounds;
        self.admits_range(range, &values)?;
        // Step 2: the padding, by its magnitude and by whether it is real.
        let wide = widened(range);
        let refused = |needed| Err(ErrorKind::Declaration { what: "range", needed }.into());
        if padding.bound() > wide.bound() {
            return refused("at least the magnitude of the padding, or clear it (`clear_padding`)");
        }
        if range.is_real() && !padding.is_real() {
            return refused(
                "complex numbers, which the padding may hold, or clear it (`clear_padding`)",
            );
        }
        // Step 3: the noise.
        self.admits_noise(range.is_real(), x)
    }

    /// Refuses values that may leave the declared range.
    pub(crate) fn admits_range(&self, range: &Interval, values: &Interval) -> Result<()> {
        if widened(range).contains(values) {
            return Ok(());
        }
        let needed = "a range that contains every value that the operations allow";
        Err(ErrorKind::Declaration { what: "range", needed }.into())
    }

    /// Refuses noise above the declared one, of a part of a slot or of its absolute value. Returns
    /// `log2` of the declared noise.
    pub(crate) fn admits_noise(&self, of_part: bool, x: &Metadata) -> Result<i32> {
        // NaN fails the comparison and is refused.
        // The declared noise becomes both total and excess, so it must cover both.
        let CiphertextMeta { noise, slots, scale, .. } = x.meta;
        let found = noise::slot_std(noise.total.max(noise.excess), slots, scale, of_part);
        let covered = self.log2_noise.filter(|&log2| found <= f64::from(log2).exp2());
        covered.ok_or_else(|| ErrorKind::Declaration { what: "noise", needed: NOISE }.into())
    }
}

/// A range widened by the roundings of interval arithmetic.
pub(crate) fn widened(range: &Interval) -> Interval {
    let slack = 1e-9 * range.bound();
    let wide = Interval::between(range.lo() - slack, range.hi() + slack);
    if range.is_real() { wide } else { wide.as_complex() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_rounded_up_to_powers_of_two() {
        let unit = Declaration::from(-1.0..=1.0);
        for (noise, rounded) in [(1.0, 1.0), (1.0 + 1e-12, 2.0), (0.3, 0.5), (1e-3, 2f64.powi(-9))]
        {
            assert_eq!(unit.with_noise(noise).noise(), rounded);
        }
        for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e200, 1e-200] {
            assert!(unit.with_noise(bad).noise().is_nan());
        }
        assert_eq!(Declaration::from(-3.0..=1.0).noise(), 0.25);
        assert_eq!(Declaration::complex(1.0).noise(), 0.0625);
        assert!(Declaration::from(2.0..=1.0).range().is_err());
        assert!(Declaration::complex(f64::NAN).range().is_err());
    }
}
