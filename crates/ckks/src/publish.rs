//! Results as they leave a server: what is said of them is what their program declares.
//!
//! A ciphertext carries a range and a predicted noise that follow every operation, constants of the
//! server among them: `w x + b` of a known `x` has a range that tells `w` and `b`. That is a server's own
//! book-keeping. What leaves it is a [`Published`] result, whose range and noise a program states
//! ([`Declaration`]) before it sees any data, from nothing that is secret; [`Evaluator::publish`] refuses
//! results that may exceed them. Level, scale, number of slots and of values follow from the operations
//! of the program, which are public.

use std::ops::RangeInclusive;

use bellerophon_mlwe::noise::{DECLARED_LOG2, declared_log2};

use crate::{
    Account, Bounds, Ciphertext, Error, Evaluator, Interval, Meta, Params, Result,
    noise::{self, Noise},
    shadow::Vector,
};

/// What covers a noise.
const NOISE: &str =
    "at least the predicted noise, from 2^-300 to 2^300 (`Declaration::with_noise`)";

/// `-log2` of the noise that a range alone declares, relative to its largest magnitude.
const UNSTATED_BITS: i32 = 4;

/// What a program declares of a result: the range of its values, and the standard deviation of the error
/// of a slot, rounded up to a power of two (its variance, to a power of four).
///
/// Client and server can both know it: from the text of the program, or from a
/// [`Shadow`](crate::shadow::Shadow) that runs the program on the declared ranges of its inputs
/// (`Declaration::from(&vector)`). Constants that are secret to the server must not enter the shadow by
/// their values.
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
    /// Nothing where what was given is no noise: refused where it is used.
    log2_noise: Option<i32>,
}

impl Declaration {
    /// Values of a disc `|z| <= bound`, with noise of `2^-4` of the bound.
    pub fn complex(bound: f64) -> Self {
        Self { complex: true, ..Self::from(-bound..=bound) }
    }

    /// The same range with a stated noise: the standard deviation of the error of a slot, in units of the
    /// message, of the real part for real messages and of the modulus for complex ones. It is rounded up to
    /// a power of two.
    #[must_use]
    pub fn with_noise(self, noise: f64) -> Self {
        Self { log2_noise: declared_log2(noise), ..self }
    }

    /// Standard deviation of the error of a slot, a power of two; no number for what is no noise.
    pub fn noise(&self) -> f64 {
        self.log2_noise.map_or(f64::NAN, |log2| f64::from(log2).exp2())
    }

    /// The range of the values.
    ///
    /// # Errors
    /// [`Error::Interval`] for one that is none.
    pub fn range(&self) -> Result<Interval> {
        if self.complex { Interval::complex(self.hi) } else { Interval::real(self.lo, self.hi) }
    }
}

/// A real range, with noise of `2^-4` of its largest magnitude, rounded up to a power of two. The range that
/// holds 0 alone has no such noise: state one ([`Declaration::with_noise`]).
impl From<RangeInclusive<f64>> for Declaration {
    fn from(range: RangeInclusive<f64>) -> Self {
        let (lo, hi) = range.into_inner();
        let bound = lo.abs().max(hi.abs());
        let log2_noise = declared_log2(bound * f64::from(-UNSTATED_BITS).exp2());
        Self { lo, hi, complex: false, log2_noise }
    }
}

/// What a shadow foresees of a result, of declared inputs.
impl From<&Vector> for Declaration {
    fn from(foreseen: &Vector) -> Self {
        let account = foreseen.account();
        let range = account.meta.bounds.values;
        let (lo, hi, complex) = (range.lo(), range.hi(), !range.is_real());
        Self { lo, hi, complex, log2_noise: declared_log2(account.noise()) }
    }
}

/// A result that may leave its server: a ciphertext of which no more is said than its program declares.
///
/// Servers read it again as an input by [`into_ciphertext`](Self::into_ciphertext).
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    ciphertext: Ciphertext,
    log2_noise: i32,
}

impl Published {
    /// The ciphertext, with the declared range and noise.
    pub fn into_ciphertext(self) -> Ciphertext {
        self.ciphertext
    }

    /// `log2` of the declared standard deviation of the error of a slot.
    pub fn log2_noise(&self) -> i32 {
        self.log2_noise
    }

    /// A lattice ciphertext whose message is as declared.
    pub(crate) fn of(
        params: &Params,
        ciphertext: Ciphertext,
        range: Interval,
        log2_noise: i32,
    ) -> Result<Self> {
        let op = "publish";
        if !DECLARED_LOG2.contains(&log2_noise) {
            return Err(Error::Declaration { op, what: "noise", needed: NOISE });
        }
        let (lattice, meta) = ciphertext.into_parts();
        let Meta { scale, slots, len, .. } = meta;
        // What may stand in the padding follows from range and shape alone.
        let bound = range.bound();
        let all = if range.is_real() { Interval::real(-bound, bound)? } else { range };
        let bounds = Bounds { values: range, padding: if len < slots { all } else { range } };
        let unit = noise::slot_std(1.0, slots, scale, range.is_real());
        let variance = (f64::from(log2_noise).exp2() / unit).powi(2);
        let meta = Meta { scale, slots, len, bounds, noise: Noise::new(variance) };
        let ciphertext = Ciphertext::from_parts(params, lattice, meta)?;
        Ok(Self { ciphertext, log2_noise })
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
    /// `x` as it may leave the server: what is said of it is what the program declares, a range
    /// (`lo..=hi`) or a [`Declaration`]. Takes no level.
    ///
    /// ```
    /// # use bellerophon_ckks::{Ciphertext, Declaration, Evaluator, Published, Result};
    /// # fn f(evaluator: &Evaluator, x: &Ciphertext) -> Result<Published> {
    /// let score = evaluator.add_scalar(&evaluator.mul_scalar(x, 0.37)?, -0.2)?; // secrets of the server
    /// evaluator.publish(&score, Declaration::from(-1.0..=1.0).with_noise(1e-6))
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Declaration`] where values may leave the declared range, padding may be larger than it, or
    /// noise may exceed what is declared; it does not say by how much. [`Error::Interval`] for a range that
    /// is none, and mismatches.
    pub fn publish(
        &self,
        x: &Ciphertext,
        declaration: impl Into<Declaration>,
    ) -> Result<Published> {
        let (op, declaration) = ("publish", declaration.into());
        self.check(op, x)?;
        let range = declaration.range()?;
        declaration.admits(op, &range, &x.account())?;
        let no_noise = Error::Declaration { op, what: "noise", needed: NOISE };
        let log2_noise = declaration.log2_noise.ok_or(no_noise)?;
        Published::of(self.params(), x.clone(), range, log2_noise)
    }
}

impl Declaration {
    /// Refuses results that may exceed what is declared.
    fn admits(&self, op: &'static str, range: &Interval, x: &Account) -> Result<()> {
        let Bounds { values, padding } = x.meta.bounds;
        // Interval arithmetic rounds.
        let slack = 1e-9 * range.bound();
        let wide = Interval::between(range.lo() - slack, range.hi() + slack);
        let wide = if range.is_real() { wide } else { wide.to_complex() };
        let refused = |what, needed| Err(Error::Declaration { op, what, needed });
        if !wide.contains(&values) {
            return refused("range", "one that holds every value that the operations allow");
        }
        if padding.bound() > wide.bound() {
            return refused("range", "no smaller magnitude than the padding has (`clear_padding`)");
        }
        if range.is_real() && !padding.is_real() {
            return refused(
                "range",
                "complex numbers: the padding may hold some (`clear_padding`)",
            );
        }
        // In the units of the declaration; what is no number is not below it.
        let Meta { noise, slots, scale, .. } = x.meta;
        let largest = noise.total.max(noise.excess);
        let found = noise::slot_std(largest, slots, scale, range.is_real());
        if found <= self.noise() { Ok(()) } else { refused("noise", NOISE) }
    }
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
