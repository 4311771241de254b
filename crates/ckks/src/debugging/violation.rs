//! Whether the slots of a vector are what its metadata state.

use std::{fmt, ops::Range};

use num_complex::Complex64;

use super::step::Step;
use crate::ciphertext::CiphertextMeta;
use crate::interval::{Bounds, Interval};
use crate::metadata::Metadata;
use crate::noise::sure_factor;

/// `log2` of the probability that a slot leaves a range that is true.
const LOG2_FAILURE: f64 = -40.0;

/// The error that may leave a range which includes it, as a part of the width of the range.
const SMALL_ERROR: f64 = 1.0 / (1u64 << 14) as f64;

/// The relative error of exact arithmetic, which is `f64`.
const ROUNDING: f64 = 1.0 / (1u64 << 40) as f64;

/// A measured error above this multiple of the stated one breaks the statement.
const MOST_NOISE: f64 = 6.0;

/// What is false in a statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Violation {
    /// A value lies outside the range of the values.
    Value(Outside),
    /// A slot of the padding lies outside the range of the padding.
    Padding(Outside),
    /// The error of the values exceeds the stated one.
    Noise {
        /// Root mean square of the errors.
        measured: f64,
        /// The stated standard deviation.
        stated: f64,
    },
}

/// The slot that leaves its range the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outside {
    /// The slot.
    pub slot: usize,
    /// The number of values, or of slots for padding.
    pub of: usize,
    /// The stated range.
    pub range: Interval,
    /// The distance of the slot from the range.
    pub by: f64,
    /// Whether the slot of the exact program is in the range, and only the decrypted one is not.
    pub decrypted: bool,
}

/// The slots of a vector, exact and decrypted.
pub(super) struct Seen<'a> {
    pub metadata: Metadata,
    pub exact: &'a [Complex64],
    pub decrypted: &'a [Complex64],
}

impl Seen<'_> {
    /// The step whose result this is.
    pub fn step(&self, operation: &'static str) -> Step {
        let CiphertextMeta { len, slots, bounds, .. } = self.metadata.meta;
        let largest = |slots: &[Complex64]| slots.iter().map(|z| z.norm()).fold(0.0, f64::max);
        Step {
            operation,
            level: self.metadata.level,
            range: bounds.values,
            padding: (len < slots).then_some(bounds.padding),
            predicted_noise: self.metadata.noise(),
            measured_noise: self.measured(),
            largest_value: largest(&self.exact[..len]),
            largest_padding: largest(&self.decrypted[len..]),
        }
    }

    /// Root mean square of the errors of the values: of the real parts of real ones.
    fn measured(&self) -> f64 {
        let CiphertextMeta { len, bounds, .. } = self.metadata.meta;
        let square = |(found, exact): (&Complex64, &Complex64)| {
            let off = found - exact;
            if bounds.values.is_real() { off.re * off.re } else { off.norm_sqr() }
        };
        let squares: f64 = self.decrypted.iter().zip(self.exact).take(len).map(square).sum();
        (squares / len as f64).sqrt()
    }

    /// The slot that makes the ranges false, if there is one: a value before padding, an exact slot
    /// before a decrypted one.
    pub fn outside(&self) -> Option<Violation> {
        let CiphertextMeta { len, slots, bounds, .. } = self.metadata.meta;
        let Bounds { values, padding } = bounds;
        let value = || self.worst(0..len, len, values).map(Violation::Value);
        let of_padding = || self.worst(len..slots, slots, padding).map(Violation::Padding);
        value().or_else(of_padding)
    }

    /// The violation of a statement of the noise.
    pub fn noisy(&self) -> Option<Violation> {
        let (measured, stated) = (self.measured(), self.metadata.noise());
        (measured > MOST_NOISE * stated).then_some(Violation::Noise { measured, stated })
    }

    /// The slot that leaves a range the most, if it is one too far.
    fn worst(&self, slots: Range<usize>, of: usize, range: Interval) -> Option<Outside> {
        let slack = self.slack();
        [(self.exact, false), (self.decrypted, true)].into_iter().find_map(|(all, decrypted)| {
            let mut worst = Outside { slot: 0, of, range, by: slack, decrypted };
            // The imaginary part of an error harms nothing while it is small: bootstraps remove it.
            let imaginary = if decrypted { range.hi() - range.lo() } else { 0.0 };
            for slot in slots.clone() {
                let by = departure(&range, all[slot], imaginary);
                if by > worst.by {
                    worst = Outside { slot, by, ..worst };
                }
            }
            (worst.by > slack).then_some(worst)
        })
    }

    /// The distance from a true range that noise explains (see [`debugging`](super)).
    fn slack(&self) -> f64 {
        let CiphertextMeta { slots, bounds, .. } = self.metadata.meta;
        let range = bounds.slots();
        let beyond = sure_factor(slots, LOG2_FAILURE) * self.metadata.excess();
        let small = SMALL_ERROR * (range.hi() - range.lo());
        beyond.max(self.metadata.surely(LOG2_FAILURE).min(small)) + ROUNDING * range.bound()
    }
}

/// The distance of a slot from a range; for reals, no less than its imaginary part beyond the one
/// that is allowed.
fn departure(range: &Interval, z: Complex64, imaginary: f64) -> f64 {
    match range.is_real() {
        true => (range.lo() - z.re).max(z.re - range.hi()).max(z.im.abs() - imaginary),
        false => z.norm() - range.hi(),
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Outside { slot, of, range, by, decrypted }, what) = match self {
            Self::Value(outside) => (outside, "value at position"),
            Self::Padding(outside) => (outside, "padding at slot"),
            Self::Noise { measured, stated } => {
                let (measured, stated) = (figures(*measured), figures(*stated));
                return write!(f, "the measured noise is {measured}, and {stated} was stated");
            }
        };
        let seen = if *decrypted { "decrypted " } else { "" };
        let (range, by) = (interval(range), figures(*by));
        write!(f, "the {seen}{what} {slot} of {of} is outside {range}, by {by}")
    }
}

/// A range, in a few digits.
pub(super) fn interval(range: &Interval) -> String {
    match range.is_real() {
        true => format!("[{}, {}]", figures(range.lo()), figures(range.hi())),
        false => format!("|z| <= {}", figures(range.hi())),
    }
}

/// A number in three digits.
pub(super) fn figures(x: f64) -> String {
    let short = format!("{x:.2e}");
    match short.parse::<f64>() {
        Ok(rounded) if rounded == 0.0 || (1e-3..1e6).contains(&rounded.abs()) => {
            rounded.to_string()
        }
        _ => short,
    }
}
