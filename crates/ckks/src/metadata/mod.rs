//! Metadata of a vector: level, scale, ranges and noise, and the precision that follows from them.

mod alignment;
pub mod route;
pub mod rules;
mod sums;

use std::fmt;

use crate::ciphertext::{Ciphertext, CiphertextMeta};
use crate::error::LevelScale;
use crate::interval::Interval;
use crate::noise;
use crate::params::Params;

/// The public metadata of a ciphertext: everything but the phase.
///
/// The evaluator derives the metadata of a result from those of the operands only: a program can be
/// predicted without ciphertexts and without keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metadata {
    /// The remaining rescales.
    pub level: usize,
    /// Scale, slots, ranges, noise.
    pub meta: CiphertextMeta,
}

impl Metadata {
    /// Predicted standard deviation of the error of a slot against the exact program, in units of
    /// the message: of the real part for real messages, of the modulus for complex ones.
    ///
    /// Products multiply it by the largest derivative over the carried range, polynomials by the
    /// root mean square over their domain. In a loop it may grow to infinity although the true
    /// error converges. Operations are refused by the [`excess`](Self::excess) alone.
    pub fn noise(&self) -> f64 {
        self.meta.slot_std(self.meta.noise.total)
    }

    /// A bound on the error of the worst slot against the exact program, except with probability
    /// `2^log2_failure`, by the predicted noise ([`Noise::worst`](crate::noise::Noise::worst)); in
    /// units of the message.
    pub fn worst(&self, log2_failure: f64) -> f64 {
        let CiphertextMeta { noise, slots, .. } = self.meta;
        self.meta.slot_std(1.0) * noise.worst(slots, log2_failure)
    }

    /// As [`worst`](Self::worst), for operands of any correlation
    /// ([`Noise::surely`](crate::noise::Noise::surely)).
    pub fn surely(&self, log2_failure: f64) -> f64 {
        let CiphertextMeta { noise, slots, .. } = self.meta;
        self.meta.slot_std(1.0) * noise.surely(slots, log2_failure)
    }

    /// Predicted standard deviation of the excess of a slot over the carried range, in units of the
    /// message: the error since the range was last stated
    /// ([`Ciphertext::assume_range_with_padding`]), or all error if it never was, plus the
    /// approximation error of bootstraps.
    ///
    /// Operations refuse operands whose range and excess together may wrap.
    pub fn excess(&self) -> f64 {
        self.meta.slot_std(self.meta.noise.excess)
    }

    /// The remaining precision, range and levels under the parameters of the vector (under others
    /// the headroom is meaningless). `log2_failure` is `log2` of the failure probability of the
    /// error bound for the [worst](Self::worst) slot, such as -20.
    pub fn estimate(&self, params: &Params, log2_failure: f64) -> Estimate {
        let CiphertextMeta { scale, slots, len, bounds, .. } = self.meta;
        let std = self.noise();
        let limbs = params.limbs_at(self.level.min(params.max_level()));
        let capacity = params.capacity(limbs, scale);
        Estimate {
            levels: self.level,
            log2_scale: scale.log2(),
            slots,
            len,
            range: bounds.values,
            headroom: (capacity / bounds.slots().bound()).log2(),
            log2_std: std.log2(),
            log2_worst: self.worst(log2_failure).log2(),
            log2_failure,
        }
    }

    /// Level and scale, for errors.
    pub fn level_scale(&self) -> LevelScale {
        LevelScale::new(self.level, self.meta.scale)
    }

    /// The operand of a noise formula for products.
    pub fn operand(&self) -> noise::Operand {
        self.meta.operand()
    }
}

/// The remaining precision, range and levels of an encrypted vector. [`Display`](fmt::Display)
/// prints a sentence.
///
/// The error is that of the scheme (encryption, rescale, key switch) against the exact results of
/// the operations, without the approximation error of polynomials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The remaining rescales.
    pub levels: usize,
    /// `log2` of the scale.
    pub log2_scale: f64,
    /// Slots of one period.
    pub slots: usize,
    /// Slots with values.
    pub len: usize,
    /// Range of the values.
    pub range: Interval,
    /// Bits by which the largest slot may grow before it could wrap around the modulus of this
    /// level; infinite for a message of zeros.
    pub headroom: f64,
    /// `log2` of the standard deviation of the error of one slot.
    pub log2_std: f64,
    /// `log2` of a bound on the error of all slots together.
    pub log2_worst: f64,
    /// `log2` of the probability that some slot exceeds that bound.
    pub log2_failure: f64,
}

impl Estimate {
    /// Correct bits after the binary point in the worst slot: the error relative to 1.
    pub fn bits(&self) -> f64 {
        -self.log2_worst
    }

    /// Correct bits in the worst slot relative to the largest magnitude of the range.
    pub fn bits_of_range(&self) -> f64 {
        self.range.bound().log2() - self.log2_worst
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { levels, log2_scale, len, slots, range, headroom, log2_std, .. } = self;
        let bound = range.bound();
        let values = if range.is_real() {
            format!("within [{}, {}]", range.lo(), range.hi())
        } else {
            format!("of modulus up to {bound}")
        };
        write!(
            f,
            "{levels} level(s) left at scale 2^{log2_scale:.2}; {len} values in {slots} slots, \
             {values}, room for {headroom:.1} bits more; error of a slot "
        )?;
        if *log2_std == f64::INFINITY {
            return write!(f, "unbounded");
        }
        write!(
            f,
            "2^{log2_std:.1} (standard deviation), of the worst slot below 2^{:.1} but for a \
             chance of 2^{:.0}: {:.1} bits after the point, {:.1} bits of the range",
            self.log2_worst,
            self.log2_failure,
            self.bits(),
            self.bits_of_range(),
        )
    }
}

impl Ciphertext {
    /// Its metadata.
    pub fn metadata(&self) -> Metadata {
        Metadata { level: self.level(), meta: self.meta }
    }
}
