//! Origins of errors: which vectors may have errors in common.
//!
//! The error of a fresh encryption is independent of all others. A vector computed from several
//! encryptions carries the errors of all of them, and two vectors with one encryption in common may
//! have equal errors. A sum then adds amplitudes, otherwise variances
//! ([`Noise`](crate::noise::Noise)).
//!
//! The errors of different slots of one encryption are independent, too. [`Origins`] therefore keep
//! by how far slots have moved: `x` and its rotation by one slot have independent errors in each
//! slot, and their sum has the error of two encryptions.
//!
//! A circuit that knows more states it ([`CkksOps::with_origins`](crate::CkksOps::with_origins)): for
//! the sum of a vector with its permutations, whose errors come from different slots.
//!
//! Vectors carry the set of their encryptions and one interval of distances. Affine forms, a
//! coefficient for each encryption, would also see errors that cancel; they grow with the program
//! in the same way, and predictions need to be upper bounds only.

use std::sync::Arc;

use bellerophon_mlwe as mlwe;

use crate::{ErrorKind, Result};

/// Whether two errors may have an origin in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// They are independent.
    Independent,
    /// They may be equal.
    Related,
}

/// The encryptions that the errors of a vector stem from, and by how far their slots have moved.
#[derive(Debug, Clone)]
pub struct Origins {
    /// The sorted identities of the encryptions; `None` if they are unknown.
    known: Option<Arc<[u64]>>,
    /// The error of slot `i` stems from slots `i + from ..= i + to` of the encryptions.
    from: i64,
    to: i64,
}

/// Vectors of equal programs are equal: the identity of an encryption is no property of a vector.
impl PartialEq for Origins {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origins {
    /// The most encryptions that are told apart; a vector of more shares its errors with all others.
    pub(crate) const MOST: usize = 1 << 14;

    /// Unknown origins: a vector that may share its errors with every other.
    pub const UNKNOWN: Self = Self { known: None, from: 0, to: i64::MAX };

    /// No encryption: the origins of a plaintext, whose rounding follows from its values.
    pub(crate) fn none() -> Self {
        Self { known: Some(Arc::new([])), from: 0, to: 0 }
    }

    /// One encryption of this identity.
    pub(crate) fn one(identity: u64) -> Self {
        Self { known: Some(Arc::new([identity])), from: 0, to: 0 }
    }

    /// A fresh encryption. Its mask is random and public: two coefficients of it identify the
    /// encryption, in this program and in every other that reads it.
    pub(crate) fn fresh(x: &mlwe::Ciphertext) -> Self {
        let mask = x.masks().first().map(|mask| mask.limb(0));
        let [a, b] = mask.map_or([0, 0], |mask| [mask[0], mask[mask.len() - 1]]);
        Self::one(a ^ b.rotate_left(32))
    }

    /// Origins as they were stored.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] unless identities and distances are in increasing order.
    pub(crate) fn stored(known: Option<Vec<u64>>, from: i64, to: i64) -> Result<Self> {
        let ordered = known.iter().all(|known| known.windows(2).all(|pair| pair[0] < pair[1]));
        let few = known.as_ref().is_none_or(|known| known.len() <= Self::MOST);
        if !ordered || !few || from > to {
            let reason = "origins of a vector: need identities and distances in increasing order";
            return Err(ErrorKind::Shape { reason: reason.into() }.into());
        }
        Ok(Self { known: known.map(Into::into), from, to })
    }

    /// The identities, if they are known, and the distances.
    pub(crate) fn parts(&self) -> (Option<&[u64]>, i64, i64) {
        (self.known.as_deref(), self.from, self.to)
    }

    /// The origins after a rotation of all slots to the left, one of `slots`.
    #[must_use]
    pub(crate) fn rotated(&self, step: i64, slots: usize) -> Self {
        let slots = slots as i64;
        // The shorter of the two ways.
        let step = step.rem_euclid(slots);
        let step = if 2 * step > slots { step - slots } else { step };
        let (from, to) = (self.from.saturating_add(step), self.to.saturating_add(step));
        Self { known: self.known.clone(), from, to }
    }

    /// The origins after an operation that lets every slot depend on every other.
    #[must_use]
    pub(crate) fn mixed(&self) -> Self {
        Self { known: self.known.clone(), from: 0, to: i64::MAX }
    }

    /// The origins of a vector of a period of `own` slots beside vectors of `slots` slots. A rotation
    /// that is one by 7 there may be one by -1 of 8 slots, so distances count from zero alone.
    ///
    /// The copies of a slot have independent errors: their mean is the error of the slot.
    #[must_use]
    pub(crate) fn repeated(&self, own: usize, slots: usize) -> Self {
        let moved = (self.from, self.to) != (0, 0);
        if own < slots && moved { self.mixed() } else { self.clone() }
    }

    /// A statement: the errors of different slots are independent.
    #[must_use]
    pub(crate) fn separate(&self) -> Self {
        Self { known: self.known.clone(), from: 0, to: 0 }
    }

    /// A statement: the errors of different slots are independent, and in each slot also those of
    /// vectors with other labels. It lasts until [`mixed`](Self::mixed) origins replace it.
    #[must_use]
    pub(crate) fn labelled(&self, label: usize) -> Self {
        // The permutation of SplitMix64 (Steele, Lea and Flood, 2014) of the identity and the label.
        let relabel = |identity: &u64| {
            let z = identity ^ (label as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        };
        let known = self.known.as_ref().map(|known| {
            let mut known: Vec<u64> = known.iter().map(relabel).collect();
            known.sort_unstable();
            known.into()
        });
        Self { known, from: 0, to: 0 }
    }

    /// The origins of a result in which every slot depends on all slots of both operands.
    pub(crate) fn mixed_with(&self, other: &Self) -> Self {
        self.with(other, 1).1.mixed()
    }

    /// Whether the errors of two slots of the vector may stem from one slot of an encryption.
    pub(crate) fn is_mixed(&self) -> bool {
        self.from != self.to
    }

    /// Whether a product of both vectors slot by slot may have the error of one slot of an encryption
    /// in several slots.
    pub(crate) fn mixes_with(&self, other: &Self) -> bool {
        let moved = self.from != other.from && self.meets(other);
        self.is_mixed() || other.is_mixed() || moved
    }

    /// The origins of a result of both operands, and whether these share one. The vectors have a
    /// period of `slots` slots.
    pub(crate) fn with(&self, other: &Self, slots: usize) -> (Relation, Self) {
        // A plaintext has no distances. Its rounding follows from its values, and a sum may have
        // that of the same values already.
        if other.is_none() {
            return (Relation::Related, self.clone());
        }
        if self.is_none() {
            return (Relation::Related, other.clone());
        }
        let both = Self {
            known: union(self.known.as_ref(), other.known.as_ref()),
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        };
        let related = self.meets(other) && self.overlaps(other, slots);
        (if related { Relation::Related } else { Relation::Independent }, both)
    }

    /// Whether there are no errors.
    fn is_none(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_empty())
    }

    /// Whether an encryption may be in both.
    fn meets(&self, other: &Self) -> bool {
        let (Some(x), Some(y)) = (&self.known, &other.known) else { return true };
        let (few, many) = if x.len() < y.len() { (x, y) } else { (y, x) };
        few.iter().any(|identity| many.binary_search(identity).is_ok())
    }

    /// Whether the distances of both have one in common, modulo `slots`.
    fn overlaps(&self, other: &Self, slots: usize) -> bool {
        let slots = slots as i128;
        let width = |x: &Self| i128::from(x.to) - i128::from(x.from);
        // The start of the other one from the start of this one, to the right.
        let ahead = (i128::from(other.from) - i128::from(self.from)).rem_euclid(slots);
        ahead <= width(self) || slots - ahead <= width(other)
    }
}

/// The union of two sorted sets; `None` if one is unknown, or if it has too many.
fn union(x: Option<&Arc<[u64]>>, y: Option<&Arc<[u64]>>) -> Option<Arc<[u64]>> {
    let (x, y) = (x?, y?);
    if Arc::ptr_eq(x, y) {
        return Some(x.clone());
    }
    let mut all: Vec<u64> = x.iter().chain(y.iter()).copied().collect();
    all.sort_unstable();
    all.dedup();
    (all.len() <= Origins::MOST).then(|| all.into())
}

/// The relations of the operands of a sum of products.
#[derive(Debug, Clone)]
pub(crate) struct Relations {
    /// Of the factors of each product.
    pub factors: Vec<Relation>,
    /// Of each summand to the sum of those before it; the first one is independent.
    pub summands: Vec<Relation>,
    /// The origins of the sum.
    pub sum: Origins,
}

impl Relations {
    /// The relations of `sum_j x_j y_j + sum_i z_i` for vectors of these origins and periods.
    pub(crate) fn new<'a>(
        products: &[[(&'a Origins, usize); 2]],
        terms: &[(&'a Origins, usize)],
    ) -> Self {
        let periods = products.iter().flatten().chain(terms).map(|&(_, period)| period);
        let slots = periods.max().unwrap_or(1);
        let mut all = Self::default();
        for factors in products {
            let [x, y] = factors.map(|(x, period)| x.repeated(period, slots));
            let (relation, product) = x.with(&y, slots);
            all.factors.push(relation);
            all.join(&product, slots);
        }
        for (term, period) in terms {
            all.join(&term.repeated(*period, slots), slots);
        }
        all
    }

    /// One more summand.
    pub(crate) fn join(&mut self, term: &Origins, slots: usize) {
        let first = self.summands.is_empty();
        let (relation, sum) = self.sum.with(term, slots);
        self.summands.push(if first { Relation::Independent } else { relation });
        self.sum = sum;
    }
}

/// The empty sum.
impl Default for Relations {
    fn default() -> Self {
        Self { factors: vec![], summands: vec![], sum: Origins::none() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: usize = 16;

    fn related(x: &Origins, y: &Origins) -> bool {
        x.with(y, SLOTS).0 == Relation::Related
    }

    #[test]
    fn vectors_share_what_they_come_from() {
        let [x, y, z] = [1, 2, 3].map(Origins::one);
        assert!(related(&x, &x) && !related(&x, &y));
        let (_, sum) = x.with(&y, SLOTS);
        assert!(related(&sum, &x) && related(&y, &sum) && !related(&sum, &z));
        // Unknown origins are related to all, and so are roundings of plaintexts: a sum may have
        // that of the same values already.
        assert!(related(&Origins::UNKNOWN, &x) && related(&x.with(&Origins::UNKNOWN, SLOTS).1, &z));
        assert!(related(&Origins::UNKNOWN, &Origins::none()) && related(&x, &Origins::none()));
    }

    #[test]
    fn rotations_have_errors_of_their_own() {
        let x = Origins::one(1);
        let turned = |step| x.rotated(step, SLOTS);
        assert!(!related(&x, &turned(1)) && !related(&turned(3), &turned(-4)));
        // One period is no distance, also after several rotations.
        assert!(related(&x, &turned(16)) && related(&turned(9).rotated(7, SLOTS), &x));
        // Windows of a sum that do not overlap, and windows that do.
        let window = x.with(&turned(1), SLOTS).1;
        assert!(!related(&window, &window.rotated(2, SLOTS)));
        assert!(related(&window, &window.rotated(1, SLOTS)));
        assert!(related(&window.rotated(1, SLOTS), &window));
        assert!(related(&window, &window.rotated(15, SLOTS)));
        assert!(related(&x.mixed(), &turned(5)) && !related(&x.mixed(), &Origins::one(2)));
    }

    /// A rotation by 7 of 8 slots is one by -1; of 16 slots it is one by 7.
    #[test]
    fn distances_of_other_periods_say_nothing() {
        let x = Origins::one(1);
        let (turned, copies) = (x.rotated(7, 8), x.repeated(8, 16));
        assert!(related(&turned.repeated(8, 16), &copies.rotated(7, 16)));
        assert!(related(&turned.repeated(8, 16), &copies));
        assert!(!related(&turned.repeated(8, 16), &Origins::one(2)));
        assert!(!related(&copies, &copies.rotated(8, 16)) && related(&copies, &x));
        // In sums of vectors of 8 and 16 slots, too.
        let all = Relations::new(&[], &[(&turned, 8), (&x.rotated(7, 16), 16)]);
        assert_eq!(all.summands, [Relation::Independent, Relation::Related]);
    }

    #[test]
    fn products_of_a_vector_and_its_rotation_are_mixed() {
        let [x, y] = [1, 2].map(Origins::one);
        assert!(x.mixes_with(&x.rotated(1, SLOTS)) && x.mixes_with(&y.mixed()));
        assert!(!x.mixes_with(&x) && !x.mixes_with(&y.rotated(1, SLOTS)));
    }

    #[test]
    fn more_encryptions_than_are_told_apart_are_unknown() {
        let many = Origins::stored(Some((0..Origins::MOST as u64).collect()), 0, 0).unwrap();
        assert!(!related(&many, &Origins::one(Origins::MOST as u64)));
        let (_, all) = many.with(&Origins::one(Origins::MOST as u64), SLOTS);
        assert!(related(&all, &Origins::one(u64::MAX)));
        // Stored origins are checked: too many, twice the same, and distances in the wrong order.
        assert!(Origins::stored(Some((0..=Origins::MOST as u64).collect()), 0, 0).is_err());
        assert!(Origins::stored(Some(vec![1, 1]), 0, 0).is_err());
        assert!(Origins::stored(Some(vec![1]), 1, 0).is_err());
        let unknown = Origins::stored(None, 0, 0).unwrap();
        assert!(related(&unknown, &Origins::one(3)));
    }
}
