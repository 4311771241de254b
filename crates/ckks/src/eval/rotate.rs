//! Rotations and conjugation.

use bellerophon_mlwe::{self as mlwe, HoistedDigits};
use bellerophon_ring::try_map;

use super::Evaluator;
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Ciphertext, During, Metadata, Result,
    rotation_plan::{RotationCost, RotationPath},
};

impl Evaluator {
    /// Computes [`CkksOps::rotate`](crate::CkksOps::rotate).
    pub(crate) fn rotate(&self, x: &Ciphertext, step: i64) -> Result<Ciphertext> {
        let op = "rotate";
        self.check(x).during(op)?;
        let step = step.rem_euclid(x.meta().slots as i64) as usize;
        // The path decides between one key, a composed rotation and none at all; its cost is the
        // noise.
        let path = self.rotation_path(&x.metadata(), step).during(op)?;
        let inner = path.apply(self.params(), &x.inner)?.into_owned();
        Ok(self.after_rotation(
            inner,
            x,
            step as i64,
            path.cost(self.params(), x.lattice().limbs()),
        ))
    }

    /// Computes [`CkksOps::rotate_many`](crate::CkksOps::rotate_many).
    pub(crate) fn rotate_many(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>> {
        let op = "rotate";
        self.check(x).during(op)?;
        let lattice = self.params().lattice();
        let exponents = self.keys().rotations(x.meta().slots, x.lattice().limbs());
        let exponent =
            |step: i64| exponents.get(&(step.rem_euclid(x.meta().slots as i64) as usize)).copied();
        // Step 1: the digits that the rotations by keys of their own share.
        let digits = match steps.iter().any(|&step| exponent(step).is_some()) {
            true => Some(HoistedDigits::new(lattice, x.inner.masks())?),
            false => None,
        };
        // Step 2: the rotations, which are independent.
        try_map(steps, |&step| {
            // Without a key of its own the rotation is composed, and not hoisted.
            let (Some(exponent), Some(digits)) = (exponent(step), &digits) else {
                return self.rotate(x, step);
            };
            let key = self.keys().galois_keys().get(exponent).during(op)?;
            let inner = key.apply_decomposed(lattice, &x.inner, digits)?;
            Ok(self.after_rotation(inner, x, step, RotationCost::Keys(1)))
        })
    }

    /// Computes [`CkksOps::conjugate`](crate::CkksOps::conjugate).
    pub(crate) fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "conjugate";
        self.check(x).during(op)?;
        let key = self.keys().conjugation(x.lattice().limbs()).during(op)?;
        let lattice = self.params().lattice();
        // Slots follow powers of 5: the automorphism X -> X^-1 conjugates them.
        let inner = key.apply(lattice, &x.inner)?;
        let metadata = self.rules().conjugated(&x.metadata());
        Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, x.origins.clone()))
    }

    /// The rotation of a vector with this metadata by `step` in `[0, slots)`.
    pub(crate) fn rotation_path(&self, x: &Metadata, step: usize) -> Result<RotationPath<'_>> {
        self.keys().rotation_path(self.params(), x, step)
    }

    /// The effect of a rotation by `step` on the metadata of a vector.
    pub(crate) fn rotation_cost(&self, x: &Metadata, step: usize) -> Result<RotationCost> {
        Ok(self.rotation_path(x, step)?.cost(self.params(), self.params().limbs_at(x.level)))
    }

    /// The rotation of `x` by `step` with its metadata.
    fn after_rotation(
        &self,
        inner: mlwe::Ciphertext,
        x: &Ciphertext,
        step: i64,
        cost: RotationCost,
    ) -> Ciphertext {
        let metadata = self.rules().rotated(&x.metadata(), cost);
        let origins = x.origins.rotated(step, x.meta.slots);
        Ciphertext::at_level(self.params(), inner, metadata.meta, origins)
    }
}
