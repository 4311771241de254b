//! Maximum, minimum and argmax of a vector.

use bellerophon_ckks::{Bounds, CiphertextMeta, CkksOps, Interval, Result};

use super::Comparator;
use super::task::distances;
use super::unit::{Unit, joined, opened};
use crate::approx::{Accuracy, Sign};

/// Largest error of an index from the comparisons of all rounds.
const INDEX_ERROR: f64 = 1.0 / 8.0;

impl Comparator {
    /// The largest value of a vector, in the slot of every value, by `log2(slots)` rounds: in each,
    /// every slot takes the larger of its value and that of a slot twice as far away as in the
    /// round before.
    ///
    /// Takes [`levels`](Self::levels) levels for each round, and two more. The result is within
    /// its [`error`](Self::error).
    pub fn max<A: CkksOps>(&self, a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        a.composed("maximum of a vector", || self.extreme(a, x, 1.0))
    }

    /// The smallest value of a vector; see [`max`](Self::max).
    pub fn min<A: CkksOps>(&self, a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        a.composed("minimum of a vector", || self.extreme(a, x, -1.0))
    }

    /// Argmax: the index of the largest value of a vector, counted from 0, as a vector of one
    /// number to be rounded. Of equal largest values the first one wins.
    ///
    /// The indices follow the values through the rounds of [`max`](Self::max). A comparison tests
    /// whether a value is above that of a later slot minus one margin, so that equal values are
    /// distinguished. The result is within 1/4 of the index if the largest value exceeds all
    /// different values by three margins of the declared range; if one is closer, the result lies
    /// between indices. The sign has the margin of this comparator and an error that depends on the
    /// number of slots, so that it moves an index by at most 1/8.
    ///
    /// Takes the levels of that comparator for each of `log2(slots)` rounds, and two more.
    ///
    /// # Errors
    /// Those of all functions here ([module](super)), and
    /// [`ErrorKind::Accuracy`](bellerophon_ckks::ErrorKind::Accuracy) if no sign is exact enough.
    pub fn arg_max<A: CkksOps>(&self, a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        a.composed("index of the maximum", || {
            let CiphertextMeta { len, slots, bounds, .. } = a.metadata(x).meta;
            let comparator = self.arg_max_comparator(slots)?;
            let unit = Unit::of(bounds.values, &comparator.sign)?;
            let mut u = unit.entered(a, x, unit.place(bounds.values.lo()))?;
            // Indices as parts of the number of slots: numbers of [0, 1].
            let numbers: Vec<f64> = (0..slots).map(|i| i as f64 / slots as f64).collect();
            let mut places = a.add_values(&a.mul_integer(&u, 0)?, &numbers)?;
            let (all, ones) = (Interval::real(0.0, 1.0)?, vec![1.0; slots]);
            for distance in distances(slots) {
                let (of_u, of_places);
                ((of_u, u), (of_places, places)) = (opened(a, u), opened(a, places));
                (u, places) = (comparator.ready(a, u)?, comparator.ready(a, places)?);
                // Step 1: signs of the differences to a later slot, which wins by more than the
                // margin only.
                let d = a.sub(&u, &a.rotate(&u, distance)?)?;
                let signs = comparator.signs(a, &a.add_scalar(&d, self.sign.threshold())?)?;
                // Step 2: values and indices of the later slot replace the own ones where the signs
                // are -1.
                let gain = comparator.gain(a, &d, &signs, &ones)?;
                u = unit.settled(a, a.add(&u, &gain)?, &of_u)?;
                let d = a.sub(&places, &a.rotate(&places, distance)?)?;
                let gain = comparator.correction(a, &d, &signs, &ones)?;
                places = joined(a, a.add(&places, &gain)?, &of_places, all);
            }
            // Step 3: the first slot has seen all slots in order; the others started elsewhere.
            let place = a.mul_values(&a.with_len(places, 1)?, &[slots as f64])?;
            let meta = a.metadata(&place).meta;
            let bounds = Bounds::padded(Interval::real(0.0, len as f64 - 1.0)?, slots > 1);
            Ok(a.with_metadata(
                place,
                CiphertextMeta { bounds, noise: meta.noise.unstated(), ..meta },
            ))
        })
    }

    /// The comparator with an error of the sign that moves an index by at most 1/8.
    fn arg_max_comparator(&self, slots: usize) -> Result<Self> {
        // A round is off by at most the error of the sign, of the distance of two places.
        let all = slots as f64 * f64::from(slots.ilog2().max(1));
        let needed = INDEX_ERROR / all;
        match self.sign.error() <= needed {
            true => Ok(self.clone()),
            false => {
                let accuracy = Accuracy::absolute(needed);
                Self::of(Sign::new(1.0, self.sign.threshold(), accuracy)?)
            }
        }
    }

    /// The largest value, or the smallest one for the weight -1.
    fn extreme<A: CkksOps>(&self, a: &A, x: &A::Ciphertext, weight: f64) -> Result<A::Ciphertext> {
        let CiphertextMeta { len, slots, bounds, .. } = a.metadata(x).meta;
        let unit = Unit::of(bounds.values, &self.sign)?;
        let least = if weight > 0.0 { bounds.values.lo() } else { bounds.values.hi() };
        let mut u = unit.entered(a, x, unit.place(least))?;
        let weights = vec![weight; slots];
        for distance in distances(slots) {
            let before;
            (before, u) = opened(a, u);
            u = self.ready(a, u)?;
            let d = a.sub(&u, &a.rotate(&u, distance)?)?;
            let signs = self.signs(a, &d)?;
            let gain = self.gain(a, &d, &signs, &weights)?;
            u = unit.settled(a, a.add(&u, &gain)?, &before)?;
        }
        unit.left(a, &u, len)
    }
}
