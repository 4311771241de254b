//! Values of a declared range brought onto an interval of width below 1, and back.
//!
//! **Noise.** Values in the unit interval are convex combinations of the operand's values: their
//! range holds throughout, with a margin of `2^-9` of it for noise. The predicted noise is the sum
//! of the noise of the stages. A stage does not amplify the noise of its operands in the mean
//! square over its domain; the noise of two values closer than the margin may grow by a factor
//! below 1.6.

use bellerophon_ckks::noise::{self, Noise};
use bellerophon_ckks::origins::Relation;
use bellerophon_ckks::{Bounds, CiphertextMeta, CkksOps, Interval, Metadata, Result};

use crate::{approx::Sign, error};

/// Room for noise on either side of the declared range, in units of differences: the rest of the
/// width 1.
pub(super) const SLACK: f64 = 1.0 / (1u64 << 9) as f64;

/// `log2` of the probability with which noise may leave the slack.
const LOG2_FAILURE: f64 = -60.0;

/// The map `u = (x - centre) / width` of a declared range onto `[-half + slack, half - slack]`.
///
/// Differences of numbers of `[-half, half]`, shifted by a margin, stay within `[-1, 1]`, the
/// domain of the signs.
pub(super) struct Unit {
    centre: f64,
    width: f64,
    half: f64,
    /// The declared range.
    range: Interval,
}

impl Unit {
    /// The unit of vectors of one range, whose differences this sign compares.
    pub(crate) fn of(range: Interval, sign: &Sign) -> Result<Self> {
        if !range.is_real() {
            let reason = "the values may be complex, and only real numbers have an order: take \
                          the real parts first (`real_part`), or state that they are real \
                          (`assume_real`)";
            return Err(error::shape(reason.into()));
        }
        let width = range.hi() - range.lo();
        // A range of one point orders nothing, and any unit serves.
        let width = if width > 0.0 { width } else { 1.0 };
        let half = Self::half(sign);
        Ok(Self {
            centre: 0.5 * (range.lo() + range.hi()),
            width: width * Self::widening(sign),
            half,
            range,
        })
    }

    fn half(sign: &Sign) -> f64 {
        0.5 * (1.0 - sign.threshold())
    }

    /// The end of the declared range in the unit of a sign of this margin.
    pub(crate) fn reach(margin: f64) -> f64 {
        0.5 * (1.0 - margin) - SLACK
    }

    /// The width of the unit over that of the declared range.
    pub(crate) fn widening(sign: &Sign) -> f64 {
        0.5 / Self::reach(sign.threshold())
    }

    /// A number of the range of the values in this unit.
    pub(crate) fn place(&self, x: f64) -> f64 {
        (x - self.centre) / self.width
    }

    /// A vector after a step that keeps the hull of its values: every slot lies in `[-half, half]`,
    /// error included, and the noise is that of the step and from before ([`joined`]).
    pub(crate) fn settled<A: CkksOps>(
        &self,
        a: &A,
        y: A::Ciphertext,
        before: &Metadata,
    ) -> Result<A::Ciphertext> {
        let y = joined(a, y, before, Interval::between(-self.half, self.half));
        check_noise(&a.metadata(&y).meta)?;
        Ok(y)
    }

    /// `x` in this unit, its padding filled with `padding`; all slots are values. Takes one level.
    pub(crate) fn entered<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        padding: f64,
    ) -> Result<A::Ciphertext> {
        let CiphertextMeta { len, slots, .. } = a.metadata(x).meta;
        let scaled = a.mul_values_to(x, &vec![1.0 / self.width; len], a.params().scale())?;
        let scaled = a.with_len(scaled, slots)?;
        let shift = -self.centre / self.width;
        let shifts: Vec<f64> = (0..slots).map(|i| if i < len { shift } else { padding }).collect();
        let u = a.add_values(&scaled, &shifts)?;
        let (before, u) = opened(a, u);
        let u = self.settled(a, u, &before)?;
        // Nothing steep came before: the bound for errors of any correlation holds the slack, too.
        check_error(surest_error(&a.metadata(&u).meta))?;
        Ok(u)
    }

    /// The first `len` slots in the units of the caller, with zeros behind. Takes one level.
    pub(crate) fn left<A: CkksOps>(
        &self,
        a: &A,
        u: &A::Ciphertext,
        len: usize,
    ) -> Result<A::Ciphertext> {
        let values = a.with_len(u.clone(), len)?;
        let scaled = a.mul_values(&values, &vec![self.width; len])?;
        let x = a.add_values(&scaled, &vec![self.centre; len])?;
        let meta = a.metadata(&x).meta;
        let bounds = Bounds::padded(self.range, len < meta.slots);
        let noise = meta.noise.unstated();
        Ok(a.with_metadata(x, CiphertextMeta { bounds, noise, ..meta }))
    }
}

/// Refuses noise that may leave the slack.
pub(super) fn check_noise(meta: &CiphertextMeta) -> Result<()> {
    check_error(largest_error(meta))
}

fn check_error(worst: f64) -> Result<()> {
    // Whatever is no number is too large.
    if worst <= SLACK {
        return Ok(());
    }
    Err(error::too_noisy(worst.log2(), SLACK.log2()))
}

/// The largest predicted error of a slot. The bound for errors of any correlation counts the
/// steepest slope of a sign, which the arguments outside its margin do not meet.
pub(super) fn largest_error(meta: &CiphertextMeta) -> f64 {
    meta.slot_std(1.0) * meta.noise.worst(meta.slots, LOG2_FAILURE)
}

/// The largest error of a slot for errors of any correlation.
pub(super) fn surest_error(meta: &CiphertextMeta) -> f64 {
    meta.slot_std(1.0) * meta.noise.surely(meta.slots, LOG2_FAILURE)
}

/// The largest departure of a slot from its range.
pub(super) fn largest_excess(meta: &CiphertextMeta) -> f64 {
    noise::sure_factor(meta.slots, LOG2_FAILURE) * meta.slot_std(meta.noise.excess)
}

/// The metadata of `x`, and `x` without noise: separates the noise that the next step adds.
pub(super) fn opened<A: CkksOps>(a: &A, x: A::Ciphertext) -> (Metadata, A::Ciphertext) {
    let metadata = a.metadata(&x);
    (metadata, a.with_metadata(x, CiphertextMeta { noise: Noise::NONE, ..metadata.meta }))
}

/// A vector with the noise of its last step, after [`opened`], plus that from before.
pub(super) fn joined<A: CkksOps>(
    a: &A,
    y: A::Ciphertext,
    before: &Metadata,
    range: Interval,
) -> A::Ciphertext {
    let meta = a.metadata(&y).meta;
    let relative = meta.scale / before.meta.scale;
    let noise = (before.meta.noise * (relative * relative)).sum(meta.noise, Relation::Independent);
    let (noise, bounds) = (noise.included(), Bounds::all(range));
    a.with_metadata(y, CiphertextMeta { noise, bounds, ..meta })
}
