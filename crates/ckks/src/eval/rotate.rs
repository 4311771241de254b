//! Rotations and conjugation.

use bellerophon_mlwe::{self as mlwe, Decomposed};

use super::Evaluator;
#[cfg(doc)]
use crate::Error;
use crate::{
    Account, Ciphertext, Complex64, Result,
    bootstrap::automatic,
    turn::{Turn, Way},
};

impl Evaluator {
    /// Rotates the slots to the left: slot `j` of the result is slot `j + step` of `x`, modulo the
    /// slots of `x`. Negative steps rotate to the right. Takes no level.
    ///
    /// With no key for the step itself, the powers of two of its non-adjacent form are done one after
    /// the other at a temporary rank ([`KeySpec::rotate_hoisted`](crate::KeySpec::rotate_hoisted)),
    /// or, without keys for that, the shortest sequence of rotations that there are keys for: with the
    /// powers of two and their negatives that is the non-adjacent form too.
    ///
    /// # Errors
    /// [`Error::MissingRotationKey`], [`Error::KeyMismatch`], [`Error::ParamsMismatch`].
    pub fn rotate(&self, x: &Ciphertext, step: i64) -> Result<Ciphertext> {
        let op = "rotate";
        self.check(op, x)?;
        let step = step.rem_euclid(x.slots() as i64) as usize;
        let way = self.way(op, &x.account(), step)?;
        let inner = way.apply(self.params(), &x.inner)?.into_owned();
        Ok(self.after_rotation(inner, x, way.turn(self.params(), x.limbs())))
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
        let exponents = self.keys().rotations(x.slots(), x.limbs());
        let mut digits = None;
        let mut results = Vec::with_capacity(steps.len());
        for &step in steps {
            let normal = step.rem_euclid(x.slots() as i64) as usize;
            let Some(&exponent) = exponents.get(&normal) else {
                results.push(self.rotate(x, step)?);
                continue;
            };
            let key = self.keys().galois_keys().get(op, exponent)?;
            let digits = match &digits {
                Some(digits) => digits,
                None => digits.insert(Decomposed::new(lattice, x.inner.masks())?),
            };
            let inner = key.apply_decomposed(lattice, &x.inner, digits)?;
            results.push(self.after_rotation(inner, x, Turn::Keys(1)));
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
        let factor = self.encoder().constant_factor(op, &[c], 1, x.level())?;
        self.mul_plain(&x, &factor.in_all_slots(x.slots(), x.len()))
    }

    /// How to rotate a vector with this account by `step` in `[0, slots)`.
    pub(crate) fn way(&self, op: &'static str, x: &Account, step: usize) -> Result<Way<'_>> {
        self.keys().way(op, self.params(), x, step)
    }

    /// What a rotation by `step` does to a vector with this account.
    pub(crate) fn turn(&self, op: &'static str, x: &Account, step: usize) -> Result<Turn> {
        Ok(self.way(op, x, step)?.turn(self.params(), self.params().limbs_at(x.level)))
    }

    /// `x` rotated, with what is known of it.
    fn after_rotation(&self, inner: mlwe::Ciphertext, x: &Ciphertext, turn: Turn) -> Ciphertext {
        let account = self.books().rotated(&x.account(), turn);
        Ciphertext::at_level(self.params(), inner, account.meta)
    }
}
