//! Rotation plans: which of the available keys perform a rotation, and the noise that they add.

use std::{borrow::Cow, collections::BTreeMap};

use bellerophon_mlwe::{self as mlwe, GaloisKeys, RankHoistedKeys, non_adjacent_form};
use bellerophon_ring::Result;

use crate::error;
use crate::keys::EvaluationKeys;
use crate::metadata::Metadata;
use crate::params::Params;

/// The largest number of keys applied in sequence for one rotation: the powers of two reach any of
/// `2^32` steps.
const MOST_KEYS: usize = 32;

/// The cost of a rotation, as far as the metadata of the result depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RotationCost {
    /// Step zero: the vector is unchanged.
    Still,
    /// A number of key switches in sequence at the vector's own rank, at least one.
    Keys(usize),
    /// A rotation at a temporary rank, with the noise variance that it adds.
    Raised(f64),
}

impl RotationCost {
    /// The cost with one key for each step: none for step zero.
    pub fn one_key(step: usize) -> Self {
        if step == 0 { Self::Still } else { Self::Keys(1) }
    }

    /// The noise variance that the rotation adds at `limbs` limbs.
    pub fn noise(self, params: &Params, limbs: usize) -> f64 {
        match self {
            Self::Still => 0.0,
            Self::Keys(count) => count as f64 * mlwe::noise::automorphism(params.lattice(), limbs),
            Self::Raised(variance) => variance,
        }
    }
}

/// The effect of a rotation by a step on the metadata of a vector; none for step 0.
pub type RotationCosts<'s> = &'s dyn Fn(&Metadata, usize) -> Result<RotationCost>;

/// The keys that rotate a vector by one step.
pub enum RotationPath<'k> {
    /// Automorphisms of these exponents in sequence, by keys of the vector's own rank; none for
    /// step zero.
    Keys(&'k GaloisKeys, Vec<usize>),
    /// Automorphisms of these exponents at a temporary rank (DPad-HE, Algorithm 2).
    Raised(&'k RankHoistedKeys, Vec<usize>),
}

impl RotationPath<'_> {
    /// The cost at `limbs` limbs.
    pub fn cost(&self, params: &Params, limbs: usize) -> RotationCost {
        match self {
            Self::Keys(_, exponents) if exponents.is_empty() => RotationCost::Still,
            Self::Keys(_, exponents) => RotationCost::Keys(exponents.len()),
            Self::Raised(keys, exponents) => RotationCost::Raised(mlwe::noise::hoisted_rotations(
                params.lattice(),
                keys.raised(),
                exponents.len(),
                limbs,
            )),
        }
    }

    /// Rotates `x` with these keys.
    pub fn apply<'x>(
        &self,
        params: &Params,
        x: &'x mlwe::Ciphertext,
    ) -> Result<Cow<'x, mlwe::Ciphertext>> {
        let mut rotated = Cow::Borrowed(x);
        match self {
            Self::Keys(keys, exponents) => {
                for &exponent in exponents {
                    let key = keys.get(exponent)?;
                    rotated = Cow::Owned(key.apply(params.lattice(), &rotated)?);
                }
            }
            Self::Raised(keys, exponents) => rotated = Cow::Owned(keys.apply(x, exponents)?),
        }
        Ok(rotated)
    }
}

impl EvaluationKeys {
    /// The keys that rotate a vector with this metadata by `step` in `[0, slots)`: the key of the
    /// step if there is one, else the temporary rank, else the fewest keys whose steps add up to
    /// it.
    ///
    /// The search is bounded by `MOST_KEYS`, so a client cannot make a rotation arbitrarily slow
    /// by sending few keys.
    pub fn rotation_path(
        &self,
        params: &Params,
        x: &Metadata,
        step: usize,
    ) -> Result<RotationPath<'_>> {
        if step == 0 {
            return Ok(RotationPath::Keys(self.galois_keys(), vec![]));
        }
        let (slots, limbs) = (x.meta.slots, params.limbs_at(x.level));

        // Step 1: a key of this step.
        let steps = self.rotations(slots, limbs);
        if let Some(&exponent) = steps.get(&step) {
            return Ok(RotationPath::Keys(self.galois_keys(), vec![exponent]));
        }

        // Step 2: the temporary rank, by signed powers of two.
        if let Some(hoisted) =
            self.hoisted_keys().filter(|keys| keys.down().key().shape().limbs >= limbs)
        {
            // Vectors of fewer slots repeat: their steps count modulo their number of slots.
            let powers = non_adjacent_form(2 * slots, step as i64);
            let exponents = powers.into_iter().map(|power| params.rotation_exponent(power));
            return Ok(RotationPath::Raised(hoisted, exponents.collect()));
        }

        // Step 3: several keys in sequence.
        let path = shortest_path(&steps, slots, step).ok_or_else(|| {
            error::missing_rotation_key(step, slots, steps.keys().copied().collect())
        })?;
        let exponents = path.into_iter().map(|step| steps[&step]).collect();
        Ok(RotationPath::Keys(self.galois_keys(), exponents))
    }
}

/// The fewest steps of `keys`, at most [`MOST_KEYS`], whose sum modulo `slots` is `target`: a
/// breadth-first search.
fn shortest_path<K>(keys: &BTreeMap<usize, K>, slots: usize, target: usize) -> Option<Vec<usize>> {
    // last[t] is the last step of a shortest path to t; 0 if t has not been reached.
    let mut last = vec![0; slots];
    let mut reached = vec![0];
    for _ in 0..MOST_KEYS {
        let mut next = Vec::new();
        for (from, &step) in reached.iter().flat_map(|from| keys.keys().map(move |k| (from, k))) {
            let to = (from + step) % slots;
            if to == 0 || last[to] != 0 {
                continue;
            }
            last[to] = step;
            if to == target {
                // Walk back from the target to step 0.
                let mut path = Vec::new();
                let mut at = target;
                while at != 0 {
                    path.push(last[at]);
                    at = (at + slots - last[at]) % slots;
                }
                return Some(path);
            }
            next.push(to);
        }
        reached = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_as_short_as_the_non_adjacent_form() {
        let slots = 256;
        let powers = (0..8).flat_map(|k| [1usize << k, slots - (1 << k)]);
        let keys: BTreeMap<usize, ()> = powers.map(|step| (step, ())).collect();
        for target in 1..slots {
            let path = shortest_path(&keys, slots, target).unwrap();
            assert_eq!(path.iter().sum::<usize>() % slots, target);
            // Weight of the non-adjacent form of the nearer of t and t - slots.
            let weight = |t: i64| ((3 * t) ^ t).unsigned_abs().count_ones() as usize;
            let naf = weight(target as i64).min(weight((slots - target) as i64));
            assert!(path.len() <= naf, "{target}: {path:?}");
        }
        let even: BTreeMap<usize, ()> = [(2, ()), (254, ())].into();
        assert_eq!(shortest_path(&even, slots, 3), None);
        assert_eq!(shortest_path(&even, slots, 6), Some(vec![2, 2, 2]));
        // A single key, applied repeatedly.
        let one: BTreeMap<usize, ()> = [(1, ())].into();
        assert_eq!(shortest_path(&one, slots, MOST_KEYS), Some(vec![1; MOST_KEYS]));
        assert_eq!(shortest_path(&one, slots, MOST_KEYS + 1), None);
    }
}
