//! What is known of a vector apart from its phase, and what that says of its precision.

use std::fmt;

use crate::{Ciphertext, Interval, Meta, Params, Standing, noise};

/// Everything that is publicly known of a ciphertext: all of it but the phase.
///
/// The evaluator derives the account of a result from those of the operands alone, so a program can
/// be followed without ciphertexts and without keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// How many rescalings are left.
    pub level: usize,
    /// Scale, slots, ranges, noise.
    pub meta: Meta,
}

impl Account {
    /// Predicted standard deviation of the error of a slot against the exact program, in units of the
    /// message: of the real part for real messages, of the modulus for complex ones.
    ///
    /// Products enlarge it by the largest derivative over the carried range, polynomials by the root mean
    /// square over their domain: in a loop it may grow without end, up to infinity, even where the true
    /// error settles. It refuses nothing; [`excess`](Self::excess) does.
    pub fn noise(&self) -> f64 {
        self.meta.slot_std(self.meta.noise.total)
    }

    /// Predicted standard deviation of the departure of a slot from the carried range, in units of the
    /// message: at most the error since the range was last stated ([`Ciphertext::assume_range`]), or
    /// all error where it never was, beside what the approximation of a refresh is off by.
    ///
    /// Operations refuse operands whose range and excess together may wrap.
    pub fn excess(&self) -> f64 {
        self.meta.slot_std(self.meta.noise.excess)
    }

    /// What is left of precision, range and levels under the parameters of the vector (under others
    /// the headroom means nothing); `log2_failure` is `log2` of the probability with which the error
    /// bound of the worst slot may fail, such as -20.
    pub fn estimate(&self, params: &Params, log2_failure: f64) -> Estimate {
        let Meta { scale, slots, len, bounds, .. } = self.meta;
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
            log2_worst: (noise::worst_factor(slots, log2_failure) * std).log2(),
            log2_failure,
        }
    }

    /// Level and scale, for errors.
    pub(crate) fn standing(&self) -> Standing {
        Standing { level: self.level, log2_scale: self.meta.scale.log2() }
    }

    /// What the noise of a product needs to know.
    pub(crate) fn operand(&self) -> noise::Operand {
        self.meta.operand()
    }
}

/// What is left of an encrypted vector: precision, range, levels. [`Display`](fmt::Display) puts it
/// in a sentence.
///
/// The error is that of the scheme (encryption, rescaling, key switching) against the exact results
/// of the operations; what an approximating polynomial is off by comes on top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// How many rescalings are left.
    pub levels: usize,
    /// `log2` of the scale.
    pub log2_scale: f64,
    /// Slots of one period.
    pub slots: usize,
    /// How many of them hold values.
    pub len: usize,
    /// Range of the values.
    pub range: Interval,
    /// How many bits the largest slot may still grow by before it could wrap around the modulus of
    /// this level; infinite for a message of zeros.
    pub headroom: f64,
    /// `log2` of the standard deviation of the error of one slot.
    pub log2_std: f64,
    /// `log2` of a bound on the error of all slots together.
    pub log2_worst: f64,
    /// `log2` of the probability that some slot exceeds that bound.
    pub log2_failure: f64,
}

impl Estimate {
    /// Bits after the binary point that are right in the worst slot: the error relative to 1.
    pub fn bits(&self) -> f64 {
        -self.log2_worst
    }

    /// Bits that are right in the worst slot relative to the largest magnitude that the range
    /// allows.
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
            "2^{log2_std:.1} (standard deviation), of the worst slot below 2^{:.1} but for a chance of \
             2^{:.0}: {:.1} bits after the point, {:.1} bits of the range",
            self.log2_worst,
            self.log2_failure,
            self.bits(),
            self.bits_of_range(),
        )
    }
}

impl Ciphertext {
    /// What is known of it apart from the phase.
    pub fn account(&self) -> Account {
        Account { level: self.level(), meta: self.meta }
    }

    /// Level and scale, for errors.
    pub(crate) fn standing(&self) -> Standing {
        self.account().standing()
    }

    /// [`Account::estimate`] of this ciphertext.
    pub fn estimate(&self, params: &Params, log2_failure: f64) -> Estimate {
        self.account().estimate(params, log2_failure)
    }
}
