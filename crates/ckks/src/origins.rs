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
//! The rounding of a plaintext is a source of its own: `p x` and `p y` have it in common, whatever
//! the encryptions, and `p x + q y` has two independent ones. It moves with the slots of the
//! product, not with those of `x`. Vectors therefore keep two sets with their distances, of
//! encryptions and of plaintexts. Roundings of constants need none: they are in all slots and add
//! up as amplitudes.
//!
//! A circuit that knows more states it
//! ([`Vectors::with_origins`](crate::vectors::Vectors::with_origins)): for the sum of a vector with
//! its permutations, whose errors come from different slots.

use std::{fmt, sync::Arc};

use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;
use num_complex::Complex64;

use crate::error;
use crate::slot_value::SlotValue;

/// Which errors two vectors may have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// None but the roundings of constants.
    Independent,
    /// The roundings of plaintexts.
    Rounded,
    /// All.
    Related,
}

/// The encryptions and plaintexts that the errors of a vector stem from, and by how far their slots
/// have moved.
#[derive(Debug, Clone)]
pub struct Origins {
    errors: Sources,
    roundings: Sources,
}

/// Sources of errors, and by how far their slots have moved.
#[derive(Clone)]
pub struct Sources {
    /// The sorted identities; `None` if they are unknown.
    known: Option<Arc<[u64]>>,
    /// The error of slot `i` stems from slots `i + from ..= i + to` of the sources.
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
    /// Unknown origins: a vector that may share its errors with every other.
    pub const UNKNOWN: Self = Self { errors: Sources::UNKNOWN, roundings: Sources::UNKNOWN };

    /// No source of errors.
    pub fn none() -> Self {
        Self { errors: Sources::of([]), roundings: Sources::of([]) }
    }

    /// One encryption of this identity.
    pub fn one(identity: u64) -> Self {
        Self { errors: Sources::of([identity]), ..Self::none() }
    }

    /// A plaintext with these two words, which are the same for the same plaintext.
    pub fn plain([a, b]: [u64; 2]) -> Self {
        Self { roundings: Sources::of([permuted(a ^ permuted(b))]), ..Self::none() }
    }

    /// A fresh encryption. Its mask is random and public: two coefficients of it identify the
    /// encryption, in this program and in every other that reads it.
    pub fn fresh(x: &mlwe::Ciphertext) -> Self {
        let mask = x.masks().first().map(|mask| mask.limb(0));
        let [a, b] = mask.map_or([0, 0], |mask| [mask[0], mask[mask.len() - 1]]);
        Self::one(a ^ b.rotate_left(32))
    }

    /// Origins of these encryptions and plaintexts.
    pub fn new(errors: Sources, roundings: Sources) -> Self {
        Self { errors, roundings }
    }

    /// The encryptions and the plaintexts.
    pub fn parts(&self) -> [&Sources; 2] {
        [&self.errors, &self.roundings]
    }

    /// One rule for encryptions and plaintexts.
    fn map(&self, rule: impl Fn(&Sources) -> Sources) -> Self {
        Self { errors: rule(&self.errors), roundings: rule(&self.roundings) }
    }

    /// The origins after a rotation of all slots to the left, one of `slots`.
    #[must_use]
    pub fn rotated(&self, step: i64, slots: usize) -> Self {
        let slots = slots as i64;
        // The shorter of the two ways.
        let step = step.rem_euclid(slots);
        let step = if 2 * step > slots { step - slots } else { step };
        self.map(|x| x.at(x.from.saturating_add(step), x.to.saturating_add(step)))
    }

    /// The origins after an operation that lets every slot depend on every other.
    #[must_use]
    pub fn mixed(&self) -> Self {
        self.map(|x| x.at(0, i64::MAX))
    }

    /// The origins of a vector of a period of `own` slots beside vectors of `slots` slots. A
    /// rotation that is one by 7 there may be one by -1 of 8 slots, so distances count from zero
    /// alone.
    ///
    /// The copies of a slot have independent errors: their mean is the error of the slot.
    #[must_use]
    pub fn repeated(&self, own: usize, slots: usize) -> Self {
        let moved = |x: &Sources| own < slots && (x.from, x.to) != (0, 0);
        self.map(|x| if moved(x) { x.at(0, i64::MAX) } else { x.clone() })
    }

    /// A statement: the errors of different slots are independent.
    #[must_use]
    pub fn separate(&self) -> Self {
        self.map(|x| x.at(0, 0))
    }

    /// A statement: the errors of different slots are independent, and in each slot also those of
    /// the encryptions in vectors with other labels. It lasts until [`mixed`](Self::mixed) origins
    /// replace it.
    #[must_use]
    pub fn labelled(&self, label: usize) -> Self {
        let relabel = |&identity: &u64| permuted(identity ^ (label as u64).wrapping_mul(STEP));
        let known = self.errors.known.as_ref().map(|known| {
            let mut known: Vec<u64> = known.iter().map(relabel).collect();
            known.sort_unstable();
            known.into()
        });
        Self { errors: Sources { known, from: 0, to: 0 }, roundings: self.roundings.at(0, 0) }
    }

    /// The origins of a result in which every slot depends on all slots of both operands.
    pub fn mixed_with(&self, other: &Self) -> Self {
        self.with(other, 1).1.mixed()
    }

    /// Whether the errors of two slots of the vector may stem from one slot of an encryption.
    pub fn is_mixed(&self) -> bool {
        self.errors.is_mixed()
    }

    /// Which errors two slots of the vector may have in common.
    pub fn within(&self) -> Relation {
        match (self.errors.is_mixed(), self.roundings.is_mixed()) {
            (true, _) => Relation::Related,
            (false, true) => Relation::Rounded,
            (false, false) => Relation::Independent,
        }
    }

    /// Whether a product of both vectors slot by slot may have the error of one slot of an
    /// encryption in several slots.
    pub fn mixes_with(&self, other: &Self) -> bool {
        let moved = self.errors.from != other.errors.from && self.errors.meets(&other.errors);
        self.is_mixed() || other.is_mixed() || moved
    }

    /// The origins of a result of both operands, and which they share. The vectors have a period of
    /// `slots` slots.
    pub fn with(&self, other: &Self, slots: usize) -> (Relation, Self) {
        let (related, errors) = self.errors.with(&other.errors, slots);
        let (rounded, roundings) = self.roundings.with(&other.roundings, slots);
        let relation = match (related, rounded) {
            (true, _) => Relation::Related,
            (false, true) => Relation::Rounded,
            (false, false) => Relation::Independent,
        };
        (relation, Self { errors, roundings })
    }
}

/// Without the identities, which are fingerprints of plaintexts.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

impl Sources {
    /// The most sources that are told apart; a vector of more shares its errors with all others.
    pub const MOST: usize = 1 << 14;

    const UNKNOWN: Self = Self { known: None, from: 0, to: i64::MAX };

    /// These sources, of which no slot has moved.
    fn of<const COUNT: usize>(identities: [u64; COUNT]) -> Self {
        Self { known: Some(Arc::new(identities)), from: 0, to: 0 }
    }

    /// Sources as they were stored.
    pub fn stored(known: Option<Vec<u64>>, from: i64, to: i64) -> Result<Self> {
        let ordered = known.iter().all(|known| known.windows(2).all(|pair| pair[0] < pair[1]));
        let few = known.as_ref().is_none_or(|known| known.len() <= Self::MOST);
        if !ordered || !few || from > to {
            let reason = "origins of a vector: need identities and distances in increasing order";
            return Err(error::shape(reason.into()));
        }
        Ok(Self { known: known.map(Into::into), from, to })
    }

    /// The identities, if they are known, and the distances.
    pub fn parts(&self) -> (Option<&[u64]>, i64, i64) {
        (self.known.as_deref(), self.from, self.to)
    }

    /// The same sources at other distances.
    fn at(&self, from: i64, to: i64) -> Self {
        Self { known: self.known.clone(), from, to }
    }

    fn is_mixed(&self) -> bool {
        self.from != self.to && !self.is_none()
    }

    /// The sources of a result of both operands, and whether these share one.
    fn with(&self, other: &Self, slots: usize) -> (bool, Self) {
        let related = self.meets(other) && self.overlaps(other, slots);
        // No source has no distance either.
        let both = match (self.is_none(), other.is_none()) {
            (_, true) => self.clone(),
            (true, false) => other.clone(),
            (false, false) => Self {
                known: union(self.known.as_ref(), other.known.as_ref()),
                from: self.from.min(other.from),
                to: self.to.max(other.to),
            },
        };
        (related, both)
    }

    /// Whether there are no sources.
    fn is_none(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_empty())
    }

    /// Whether a source may be in both.
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
    (all.len() <= Sources::MOST).then(|| all.into())
}

/// The step of SplitMix64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The permutation of SplitMix64 (Steele, Lea and Flood, 2014) after one step.
fn permuted(word: u64) -> u64 {
    let z = word ^ STEP;
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Two words of the plaintext that encodes numbers at a scale, for [`Origins::plain`].
pub fn encoding(values: &[Complex64], scale: f64) -> [u64; 2] {
    identity(values, values.len(), scale)
}

/// As [`encoding`], of values that zeros follow up to a number of slots. Only their shortest period
/// counts, times the scale, and zeros have no sign.
pub fn identity<T: SlotValue>(values: &[T], slots: usize, scale: f64) -> [u64; 2] {
    // Adding zero takes its sign away.
    let scaled = |v: &T| {
        let z = v.to_complex() * scale;
        [z.re + 0.0, z.im + 0.0]
    };
    let number = |i: usize| values.get(i).map_or([0.0; 2], scaled);
    let mut period = slots.max(values.len()).max(1);
    while period.is_multiple_of(2) && (0..period / 2).all(|i| number(i) == number(i + period / 2)) {
        period /= 2;
    }
    let words = (0..period).flat_map(number).map(f64::to_bits);
    words.fold([period as u64, STEP], |all, word| all.map(|all| permuted(all ^ word)))
}

/// The relations of the operands of a sum of products.
#[derive(Debug, Clone)]
pub struct Relations {
    /// Of the factors of each product.
    pub factors: Vec<Relation>,
    /// Of each summand to the sum of those before it; the first one is independent.
    pub summands: Vec<Relation>,
    /// The origins of the sum.
    pub sum: Origins,
}

impl Relations {
    /// The relations of `sum_j x_j y_j + sum_i z_i` for vectors of these origins and periods.
    pub fn new<'a>(products: &[[(&'a Origins, usize); 2]], terms: &[(&'a Origins, usize)]) -> Self {
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

    /// The relation of a summand to those before it; related if it is not known.
    pub fn of_summand(&self, index: usize) -> Relation {
        self.summands.get(index).copied().unwrap_or(Relation::Related)
    }

    /// One more summand.
    pub fn join(&mut self, term: &Origins, slots: usize) {
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
    fn equal_plaintexts_have_equal_words() {
        let of = |values: &[f64], slots| identity(values, slots, 8.0);
        assert_eq!(of(&[0.3], 1), of(&[0.3; 4], 4));
        assert_eq!(of(&[1.0, 2.0], 2), of(&[1.0, 2.0, 1.0, 2.0], 4));
        assert_eq!(of(&[-0.0, 2.0], 2), of(&[0.0, 2.0], 2));
        assert_eq!(of(&[1.0, 2.0], 2), identity(&[0.5, 1.0], 2, 16.0));
        // Zeros behind the values are slots, too.
        let others = [of(&[1.0], 1), of(&[1.0], 2), of(&[1.0, 1.0, 1.0], 4), of(&[2.0], 1)];
        for (i, x) in others.iter().enumerate() {
            assert!(others[..i].iter().all(|y| x[0] != y[0] && x[1] != y[1]), "{i}");
        }
    }

    #[test]
    fn vectors_share_what_they_come_from() {
        let [x, y, z] = [1, 2, 3].map(Origins::one);
        assert!(related(&x, &x) && !related(&x, &y));
        let (_, sum) = x.with(&y, SLOTS);
        assert!(related(&sum, &x) && related(&y, &sum) && !related(&sum, &z));
        // Unknown origins are related to all.
        assert!(related(&Origins::UNKNOWN, &x) && related(&x.with(&Origins::UNKNOWN, SLOTS).1, &z));
        assert!(related(&Origins::UNKNOWN, &Origins::plain([1, 2])));
    }

    /// Products with one plaintext share its rounding, wherever their operands have moved; the
    /// rotations of a product have roundings of different slots.
    #[test]
    fn roundings_are_sources_of_their_own() {
        let [p, q] = [1, 2].map(|word| Origins::plain([word, 0]));
        let times = |x: &Origins, p: &Origins| x.with(p, SLOTS).1;
        let relation = |x: &Origins, y: &Origins| x.with(y, SLOTS).0;
        let [x, y] = [1, 2].map(Origins::one);
        assert_eq!(relation(&times(&x, &p), &times(&y, &p)), Relation::Rounded);
        assert_eq!(relation(&times(&x, &p), &times(&y, &q)), Relation::Independent);
        assert_eq!(relation(&times(&x, &p), &times(&x, &q)), Relation::Related);
        let [turned, product] = [&x, &times(&x, &p)].map(|x| x.rotated(1, SLOTS));
        assert_eq!(relation(&times(&x, &p), &times(&turned, &p)), Relation::Rounded);
        assert_eq!(relation(&times(&x, &p), &product), Relation::Independent);
        assert_eq!(times(&product, &q).within(), Relation::Rounded);
        assert_eq!(product.within(), Relation::Independent);
        assert_eq!(product.mixed().within(), Relation::Related);
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
        let of = |known| Origins::new(Sources::stored(known, 0, 0).unwrap(), Sources::of([]));
        let many = of(Some((0..Sources::MOST as u64).collect()));
        assert!(!related(&many, &Origins::one(Sources::MOST as u64)));
        let (_, all) = many.with(&Origins::one(Sources::MOST as u64), SLOTS);
        assert!(related(&all, &Origins::one(u64::MAX)));
        // Stored origins are checked: too many, twice the same, and distances in the wrong order.
        assert!(Sources::stored(Some((0..=Sources::MOST as u64).collect()), 0, 0).is_err());
        assert!(Sources::stored(Some(vec![1, 1]), 0, 0).is_err());
        assert!(Sources::stored(Some(vec![1]), 1, 0).is_err());
        assert!(related(&of(None), &Origins::one(3)));
    }
}
