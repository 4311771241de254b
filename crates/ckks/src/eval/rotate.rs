//! Rotations and conjugation.

use std::collections::{BTreeMap, VecDeque};

use bellerophon_mlwe::{self as mlwe, Decomposed, GaloisKey};

use super::Evaluator;
use crate::{Account, Ciphertext, Complex64, Error, Result, bootstrap::automatic};

impl Evaluator {
    /// Rotates the slots to the left: slot `j` of the result is slot `j + step` of `x`, modulo the
    /// slots of `x`. Negative steps rotate to the right. Takes no level.
    ///
    /// With no key for the step itself, the shortest sequence of rotations that there are keys for
    /// is performed: with the powers of two and their negatives that is the non-adjacent form.
    ///
    /// # Errors
    /// [`Error::MissingRotationKey`], [`Error::KeyMismatch`], [`Error::ParamsMismatch`].
    pub fn rotate(&self, x: &Ciphertext, step: i64) -> Result<Ciphertext> {
        let op = "rotate";
        self.check(op, x)?;
        let step = step.rem_euclid(x.slots() as i64) as usize;
        let mut result: Option<Ciphertext> = None;
        for key in self.rotation_path(op, &x.account(), step)? {
            let from = result.as_ref().unwrap_or(x);
            let inner = key.apply(self.params().lattice(), &from.inner)?;
            result = Some(self.after_rotation(inner, from));
        }
        Ok(result.unwrap_or_else(|| x.clone()))
    }

    /// Several rotations of one ciphertext, in the order of `steps`: the decomposition, the larger
    /// part of the work, is shared by all that have a key of their own (hoisting).
    ///
    /// # Errors
    /// As for [`rotate`](Self::rotate).
    pub fn rotate_many(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>> {
        let op = "rotate";
        self.check(op, x)?;
        let lattice = self.params().lattice();
        let keys = self.keys().rotations(x.slots(), x.limbs())?;
        let mut digits = None;
        let mut results = Vec::with_capacity(steps.len());
        for &step in steps {
            let normal = step.rem_euclid(x.slots() as i64) as usize;
            let Some(key) = keys.get(&normal) else {
                results.push(self.rotate(x, step)?);
                continue;
            };
            let digits = match &digits {
                Some(digits) => digits,
                None => digits.insert(Decomposed::new(lattice, x.inner.masks())?),
            };
            let inner = key.apply_decomposed(lattice, &x.inner, digits)?;
            results.push(self.after_rotation(inner, x));
        }
        Ok(results)
    }

    /// Conjugates every slot. Takes no level.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::KeyMismatch`], [`Error::ParamsMismatch`].
    pub fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "conjugate";
        self.check(op, x)?;
        let key = self.keys().conjugation(op, x.limbs())?;
        let lattice = self.params().lattice();
        let inner = key.apply(lattice, &x.inner)?;
        let account = self.books().conjugated(&x.account());
        Ok(Ciphertext::at_level(self.params(), inner, account.meta))
    }

    /// Multiplies by a complex constant (see [`mul_values`](Self::mul_values)). Takes one level.
    ///
    /// # Errors
    /// As for [`mul_values`](Self::mul_values).
    pub fn mul_complex(&self, x: &Ciphertext, c: Complex64) -> Result<Ciphertext> {
        let op = "multiply by a constant";
        self.check(op, x)?;
        let x = automatic::replenished(self, x, 1)?;
        self.check_levels(op, 1, x.level())?;
        let factor = self.encoder().encode_factor(&[c], 1, x.level())?;
        self.mul_plain(&x, &factor)
    }

    /// Keys whose rotations, one after the other, rotate by `step` in `[0, slots)`: the shortest
    /// such sequence, found breadth first.
    pub(crate) fn rotation_path(
        &self,
        op: &'static str,
        x: &Account,
        step: usize,
    ) -> Result<Vec<&GaloisKey>> {
        let slots = x.meta.slots;
        let keys = self.keys().rotations(slots, self.params().limbs_at(x.level))?;
        if step == 0 {
            return Ok(vec![]);
        }
        if let Some(key) = keys.get(&step) {
            return Ok(vec![key]);
        }
        let path = shortest_path(&keys, slots, step).ok_or_else(|| Error::MissingRotationKey {
            op,
            step,
            slots,
            level: x.level,
            have: keys.keys().copied().collect(),
        })?;
        Ok(path.into_iter().map(|step| keys[&step]).collect())
    }

    /// How many keys, one after the other, rotate a vector with this account by `step`.
    pub(crate) fn switches(&self, op: &'static str, x: &Account, step: usize) -> Result<usize> {
        Ok(self.rotation_path(op, x, step)?.len())
    }

    /// One rotation of `x`, with what is known of it.
    fn after_rotation(&self, inner: mlwe::Ciphertext, x: &Ciphertext) -> Ciphertext {
        let account = self.books().rotated(&x.account(), 1);
        Ciphertext::at_level(self.params(), inner, account.meta)
    }
}

/// The fewest of the steps in `keys` whose sum modulo `slots` is `target`.
fn shortest_path<K>(keys: &BTreeMap<usize, K>, slots: usize, target: usize) -> Option<Vec<usize>> {
    // last[t]: the step by which t was reached first; 0 for not yet.
    let mut last = vec![0; slots];
    let mut queue = VecDeque::from([0]);
    while let Some(from) = queue.pop_front() {
        for &step in keys.keys() {
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
            queue.push_back(to);
        }
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
    }
}
