//! Ways to rotate: by the keys that there are.

use std::{borrow::Cow, collections::BTreeMap};

use bellerophon_mlwe::{self as mlwe, GaloisKeys, RankHoistedKeys, non_adjacent_form};

use crate::{Account, Error, EvaluationKeys, Params, Result};

/// The most keys that one rotation takes, one after the other: powers of two reach any of `2^32` steps.
const MOST_KEYS: usize = 32;

/// What a rotation does to a vector, as far as its account depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Turn {
    /// Slots stay where they are.
    Still,
    /// So many keys of the vector's own rank, one after the other, at least one.
    Keys(usize),
    /// A temporary rank, and the variance that it adds.
    Raised(f64),
}

impl Turn {
    /// By a key of its own, unless the step is zero.
    pub fn one_key(step: usize) -> Self {
        if step == 0 { Self::Still } else { Self::Keys(1) }
    }

    /// The variance that it adds at so many limbs.
    pub fn noise(self, params: &Params, limbs: usize) -> f64 {
        match self {
            Self::Still => 0.0,
            Self::Keys(count) => count as f64 * mlwe::noise::automorphism(params.lattice(), limbs),
            Self::Raised(variance) => variance,
        }
    }
}

/// How a vector is rotated by one step.
pub(crate) enum Way<'k> {
    /// Automorphisms of these exponents by keys of the vector's own rank, one after the other; none
    /// for step zero.
    Keys(&'k GaloisKeys, Vec<usize>),
    /// Automorphisms of these exponents at a temporary rank (DPad-HE, Algorithm 2).
    Raised(&'k RankHoistedKeys, Vec<usize>),
}

impl Way<'_> {
    /// What it does to accounts of so many limbs.
    pub fn turn(&self, params: &Params, limbs: usize) -> Turn {
        match self {
            Self::Keys(_, exponents) if exponents.is_empty() => Turn::Still,
            Self::Keys(_, exponents) => Turn::Keys(exponents.len()),
            Self::Raised(keys, exponents) => Turn::Raised(mlwe::noise::hoisted_rotations(
                params.lattice(),
                keys.raised(),
                exponents.len(),
                limbs,
            )),
        }
    }

    /// The rotation.
    pub fn apply<'x>(
        &self,
        params: &Params,
        x: &'x mlwe::Ciphertext,
    ) -> Result<Cow<'x, mlwe::Ciphertext>> {
        let mut rotated = Cow::Borrowed(x);
        match self {
            Self::Keys(keys, exponents) => {
                for &exponent in exponents {
                    let key = keys.get("rotate", exponent)?;
                    rotated = Cow::Owned(key.apply(params.lattice(), &rotated)?);
                }
            }
            Self::Raised(keys, exponents) => rotated = Cow::Owned(keys.apply(x, exponents)?),
        }
        Ok(rotated)
    }
}

impl EvaluationKeys {
    /// How to rotate a vector with this account by `step` in `[0, slots)`: by a key of its own, else
    /// at the temporary rank, else by the fewest keys that compose to it, found breadth first: a client
    /// that sends few keys does not make a rotation as long as it likes.
    pub(crate) fn way(
        &self,
        op: &'static str,
        params: &Params,
        x: &Account,
        step: usize,
    ) -> Result<Way<'_>> {
        if step == 0 {
            return Ok(Way::Keys(self.galois_keys(), vec![]));
        }
        let (slots, limbs) = (x.meta.slots, params.limbs_at(x.level));
        let steps = self.rotations(slots, limbs);
        if let Some(&exponent) = steps.get(&step) {
            return Ok(Way::Keys(self.galois_keys(), vec![exponent]));
        }
        if let Some(hoisted) = self.hoisted_keys().filter(|keys| keys.limbs() >= limbs) {
            // Vectors of fewer slots repeat themselves: their steps count modulo their slots.
            let powers = non_adjacent_form(2 * slots, step as i64);
            let exponents = powers.into_iter().map(|power| params.rotation_exponent(power));
            return Ok(Way::Raised(hoisted, exponents.collect()));
        }
        let path = shortest_path(&steps, slots, step).ok_or_else(|| Error::MissingRotationKey {
            op,
            step,
            slots,
            level: x.level,
            have: steps.keys().copied().collect(),
        })?;
        let exponents = path.into_iter().map(|step| steps[&step]).collect();
        Ok(Way::Keys(self.galois_keys(), exponents))
    }
}

/// The fewest of the steps in `keys` whose sum modulo `slots` is `target`, [`MOST_KEYS`] at most.
fn shortest_path<K>(keys: &BTreeMap<usize, K>, slots: usize, target: usize) -> Option<Vec<usize>> {
    // last[t]: the step by which t was reached first; 0 for not yet.
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
        // One step alone, again and again.
        let one: BTreeMap<usize, ()> = [(1, ())].into();
        assert_eq!(shortest_path(&one, slots, MOST_KEYS), Some(vec![1; MOST_KEYS]));
        assert_eq!(shortest_path(&one, slots, MOST_KEYS + 1), None);
    }
}
