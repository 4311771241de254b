//! Masks: some slots stay, the others become zero.

use std::{iter::once, ops::Range};

use super::Evaluator;
use crate::{Ciphertext, Error, Interval, Result};

impl Evaluator {
    /// Keeps the slots of the range and makes the others zero, by a product with ones and zeros.
    /// Takes one level; the scale stays.
    ///
    /// # Errors
    /// [`Error::SlotOutOfRange`] for a slot that the vector does not have, [`Error::OutOfLevels`],
    /// and mismatches.
    pub fn keep(&self, x: &Ciphertext, range: Range<usize>) -> Result<Ciphertext> {
        self.masked("keep slots", x, once(range))
    }

    /// Keeps the listed slots and makes the others zero, as [`keep`](Self::keep).
    ///
    /// # Errors
    /// As for [`keep`](Self::keep).
    pub fn keep_slots(&self, x: &Ciphertext, slots: &[usize]) -> Result<Ciphertext> {
        self.masked("keep slots", x, slots.iter().map(|&slot| slot..slot.saturating_add(1)))
    }

    /// Makes the padding zero, whatever the computation left there, as [`keep`](Self::keep) of the
    /// first [`len`](Ciphertext::len) slots. Takes one level also where there is no padding.
    ///
    /// # Errors
    /// As for [`keep`](Self::keep).
    pub fn clear_padding(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let mut cleared = self.masked("clear the padding", x, once(0..x.len()))?;
        cleared.meta.bounds.values = x.meta.bounds.values;
        Ok(cleared)
    }

    pub(crate) fn masked(
        &self,
        op: &'static str,
        x: &Ciphertext,
        ranges: impl IntoIterator<Item = Range<usize>>,
    ) -> Result<Ciphertext> {
        self.check(op, x)?;
        self.check_levels(op, 1, x.level())?;
        let slots = x.slots();
        let mut mask = vec![0.0; slots];
        for range in ranges {
            let found = range.end.max(range.start);
            let kept = mask.get_mut(range).ok_or(Error::SlotOutOfRange { op, found, slots })?;
            kept.fill(1.0);
        }
        let factor = self.factor_for(x, &mask)?;
        let mut kept = self.mul_plain(x, &factor).map_err(|error| error.named(op))?;
        kept.meta.len = x.len();
        kept.meta.bounds = x.meta.bounds.map(|range| range.hull(&Interval::ZERO));
        Ok(kept)
    }
}
