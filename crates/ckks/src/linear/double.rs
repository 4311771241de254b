//! Transforms whose sums stay modulo `P Q`: double hoisting (Bossuat, Mouchet, Troncoso-Pastoriza
//! and Hubaux, "Efficient bootstrapping for approximate homomorphic encryption with non-sparse
//! keys", eprint 2020/1203, section 4).
//!
//! The rotations by baby steps are not divided by `P` before they are multiplied by diagonals and
//! added up; a giant step divides the mask, which it must decompose, and not the body. One division
//! of the whole comes last. For `n_1` baby and `n_2` giant steps that is `n_2 + 2` divisions of a
//! polynomial instead of `2 (n_1 + n_2)`.
//!
//! **Noise.** With `V_d` the noise of a key switch without its rounding and `V_r` one rounding: a
//! baby step adds `V_d`, a product with a diagonal what products do, a giant step `V_d` and the
//! rounding of the mask, the end `V_r`; the rescaling divides all of it by the prime.

use std::borrow::Cow;

use bellerophon_mlwe::{self as mlwe, Decomposed, ExtendedCiphertext};

use super::{BATCH, Giants, LinearTransform, Row, each};
use crate::{Ciphertext, Evaluator, Result};

impl Evaluator {
    /// `M x` for an operand at the transform's level and slot count, unscaled.
    pub(super) fn transform_extended(
        &self,
        op: &'static str,
        x: &Ciphertext,
        m: &LinearTransform,
    ) -> Result<mlwe::Ciphertext> {
        let babies = self.extended_babies(op, x, m)?;
        let mut total: Option<ExtendedCiphertext> = None;
        let mut rows = m.rows.iter().rev().peekable();
        while let Some(row) = rows.next() {
            let sum = self.extended_row(&babies, m, row)?;
            total = Some(match m.options.giants {
                Giants::Direct => {
                    let sum = self.extended_rotated(op, x, sum, row.step)?;
                    self.extended_added(total, sum)?
                }
                Giants::Horner => {
                    let mut sum = self.extended_added(total, sum)?;
                    let next = rows.peek().map_or(0, |next| next.step);
                    for _ in 0..(row.step - next).checked_div(m.stride).unwrap_or(0) {
                        sum = self.extended_rotated(op, x, sum, m.stride)?;
                    }
                    sum
                }
            });
        }
        Ok(total.expect("a transform has rows").mod_down(self.params().lattice())?)
    }

    /// The operand rotated by every baby step, in their order.
    fn extended_babies(
        &self,
        op: &'static str,
        x: &Ciphertext,
        m: &LinearTransform,
    ) -> Result<Vec<ExtendedCiphertext>> {
        let lattice = self.params().lattice();
        let keys = self.keys().rotations(x.slots(), x.limbs())?;
        let digits = Decomposed::new(lattice, x.inner.masks())?;
        let baby = |step: &usize| {
            if let Some(key) = keys.get(step) {
                return Ok(key.apply_extended(lattice, &x.inner, &digits)?);
            }
            // No rotation, or one that takes several keys.
            let mut rotated = Cow::Borrowed(&x.inner);
            for key in self.rotation_path(op, x, *step)? {
                rotated = Cow::Owned(key.apply(lattice, &rotated)?);
            }
            Ok(ExtendedCiphertext::lift(lattice, &rotated)?)
        };
        m.babies.iter().map(baby).collect()
    }

    /// `sum_b d_b . x_b` of one giant step.
    fn extended_row(
        &self,
        babies: &[ExtendedCiphertext],
        m: &LinearTransform,
        row: &Row,
    ) -> Result<ExtendedCiphertext> {
        let mut total: Option<ExtendedCiphertext> = None;
        for batch in row.terms.chunks(BATCH) {
            let encoded = each(batch, |term| Ok(m.encoded_extended(&term.diagonal)))?;
            let terms: Vec<_> = batch
                .iter()
                .zip(&encoded)
                .map(|(term, plain)| {
                    let baby = m.babies.binary_search(&term.baby);
                    (&**plain, &babies[baby.expect("rows use the baby steps")])
                })
                .collect();
            let sum = ExtendedCiphertext::sum_of_products(self.params().lattice(), &terms)?;
            total = Some(self.extended_added(total, sum)?);
        }
        Ok(total.expect("a row has terms"))
    }

    fn extended_added(
        &self,
        sum: Option<ExtendedCiphertext>,
        next: ExtendedCiphertext,
    ) -> Result<ExtendedCiphertext> {
        let Some(mut sum) = sum else { return Ok(next) };
        sum.add_assign(self.params().lattice(), &next)?;
        Ok(sum)
    }

    /// A sum rotated by a giant step. `like` tells the shape of the vector.
    fn extended_rotated(
        &self,
        op: &'static str,
        like: &Ciphertext,
        mut sum: ExtendedCiphertext,
        step: usize,
    ) -> Result<ExtendedCiphertext> {
        for key in self.rotation_path(op, like, step)? {
            sum = key.rotate_extended(self.params().lattice(), sum)?;
        }
        Ok(sum)
    }
}
