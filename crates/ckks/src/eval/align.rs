//! Bringing two operands to one level and one scale.

use std::borrow::Cow;

use super::Evaluator;
use crate::{Ciphertext, Error, Result, encode::check_scale, error::Standing};

/// Scales that differ by less than this, relatively, are one scale.
const TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

/// However small two scales are, this relative difference never passes for none.
const LOOSEST: f64 = 1.0 / (1u64 << 10) as f64;

/// The relative difference of two scales that may pass for none: `2^-40`, or one unit of an
/// encoded 1 where scales are smaller than that, down to `2^10`.
fn tolerance(a: f64, b: f64) -> f64 {
    (1.0 / a.min(b)).clamp(TOLERANCE, LOOSEST)
}

/// Whether two scales may pass for one.
pub(crate) fn same_scale(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() <= tolerance(a, b)
}

impl Evaluator {
    /// Drops the ciphertext to `level`: the same message modulo fewer primes. Free of noise.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`] when the ciphertext is below that level already;
    /// [`Error::RangeOverflow`] when the message does not fit there.
    pub fn drop_to_level(&self, ct: &Ciphertext, level: usize) -> Result<Ciphertext> {
        let op = "drop levels";
        self.check(op, ct)?;
        if level > ct.level() {
            return Err(Error::LevelTooHigh { op, wanted: level, highest: ct.level() });
        }
        Ok(self.dropped(op, ct, level + 1)?.into_owned())
    }

    /// Brings the ciphertext to the given level and scale, by a multiplication with a constant and
    /// rescaling where the scales differ (which takes a level).
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`], [`Error::ScaleMismatch`] when no level is to spare,
    /// [`Error::RangeOverflow`].
    pub fn match_scale(&self, ct: &Ciphertext, scale: f64, level: usize) -> Result<Ciphertext> {
        let op = "match a scale";
        self.check(op, ct)?;
        check_scale(op, scale)?;
        if level > ct.level() {
            return Err(Error::LevelTooHigh { op, wanted: level, highest: ct.level() });
        }
        if same_scale(ct.scale(), scale) {
            return Ok(self.dropped(op, ct, level + 1)?.into_owned());
        }
        match self.adjusted(op, ct, scale, level + 1)? {
            Some(adjusted) => Ok(adjusted),
            None => Err(Error::ScaleMismatch {
                op,
                left: ct.standing(),
                right: Standing { level, log2_scale: scale.log2() },
            }),
        }
    }

    /// The ciphertext at `limbs` limbs, at most as many as it has.
    pub(super) fn dropped<'c>(
        &self,
        op: &'static str,
        ct: &'c Ciphertext,
        limbs: usize,
    ) -> Result<Cow<'c, Ciphertext>> {
        if limbs == ct.limbs() {
            return Ok(Cow::Borrowed(ct));
        }
        self.check_range(op, &ct.meta.bounds, ct.scale(), limbs)?;
        let b = ct.inner.b().limb_range(0..limbs);
        let a = ct.inner.masks().iter().map(|mask| mask.limb_range(0..limbs)).collect();
        let inner = bellerophon_mlwe::Ciphertext::new(self.params().lattice(), b, a, ct.key())?;
        Ok(Cow::Owned(Ciphertext { inner, meta: ct.meta }))
    }

    /// The ciphertext at `limbs` limbs and the given scale, or nothing when it has too few limbs
    /// above that for a constant that matches the scale well.
    fn adjusted(
        &self,
        op: &'static str,
        ct: &Ciphertext,
        scale: f64,
        limbs: usize,
    ) -> Result<Option<Ciphertext>> {
        let mut factor = scale / ct.scale();
        for from in limbs + 1..=ct.limbs() {
            factor *= self.params().prime(from - 1);
            if factor >= 2f64.powi(120) {
                break;
            }
            if 0.5 / factor <= tolerance(scale, ct.scale()) {
                let mut adjusted = self.dropped(op, ct, from)?.into_owned();
                self.mul_integer_assign(op, &mut adjusted, factor.round() as i128)?;
                // The message stays; the scale takes the factor.
                let factor = factor.round();
                adjusted.meta.bounds = ct.meta.bounds;
                adjusted.meta.scale = ct.scale() * factor;
                while adjusted.limbs() > limbs {
                    adjusted = self.rescale(&adjusted)?;
                }
                return Ok(Some(adjusted));
            }
        }
        Ok(None)
    }

    /// Two operands at one level and one scale. A difference of scales costs a level of the one
    /// that has more of them; of both, when they stand at one level.
    pub(super) fn align<'c>(
        &self,
        op: &'static str,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>)> {
        self.check(op, x)?;
        self.check(op, y)?;
        let limbs = x.limbs().min(y.limbs());
        if same_scale(x.scale(), y.scale()) {
            return Ok((self.dropped(op, x, limbs)?, self.dropped(op, y, limbs)?));
        }
        for limbs in (1..=limbs).rev().take(2) {
            if let Some(x) = self.adjusted(op, x, y.scale(), limbs)? {
                return Ok((Cow::Owned(x), self.dropped(op, y, limbs)?));
            }
            if let Some(y) = self.adjusted(op, y, x.scale(), limbs)? {
                return Ok((self.dropped(op, x, limbs)?, Cow::Owned(y)));
            }
        }
        Err(Error::ScaleMismatch { op, left: x.standing(), right: y.standing() })
    }

    /// Two factors at one level. Scales need not agree; where one factor has levels to spare, it
    /// is brought to the scale of the other for nothing more than a rescaling, so that products
    /// at one level have one scale.
    pub(super) fn align_factors<'c>(
        &self,
        op: &'static str,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>)> {
        self.check(op, x)?;
        self.check(op, y)?;
        let limbs = x.limbs().min(y.limbs());
        let bring = |high: &'c Ciphertext, low: &Ciphertext| -> Result<Cow<'c, Ciphertext>> {
            if high.limbs() > limbs
                && !same_scale(high.scale(), low.scale())
                && let Some(adjusted) = self.adjusted(op, high, low.scale(), limbs)?
            {
                return Ok(Cow::Owned(adjusted));
            }
            self.dropped(op, high, limbs)
        };
        Ok((bring(x, y)?, bring(y, x)?))
    }
}
