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

use bellerophon_mlwe::{self as mlwe, ExtendedCiphertext, Rotation};
use bellerophon_ring::{Factor, Weighted};

use super::{Diagonal, Giants, LinearTransform, Term, each};
use crate::{Ciphertext, Encoder, Evaluator, Result, sparse::Coefficients, turn::Way};

impl Evaluator {
    /// `M x` for an operand at the transform's level and slot count, unscaled.
    pub(super) fn transform_extended(
        &self,
        op: &'static str,
        x: &Ciphertext,
        m: &LinearTransform,
    ) -> Result<mlwe::Ciphertext> {
        let mut sums = self.row_sums(op, x, m)?;
        let mut total: Option<ExtendedCiphertext> = None;
        let mut at = m.rows.last().map_or(0, |row| row.step);
        for row in m.rows.iter().rev() {
            let sum = sums.pop().expect("a sum of every row");
            total = Some(match (m.options.giants, total) {
                (Giants::Direct, total) => self.extended_rotated(op, x, sum, row.step, total)?,
                (Giants::Horner, None) => sum,
                (Giants::Horner, Some(total)) => {
                    self.extended_turned(op, x, m, total, at - row.step, Some(sum))?
                }
            });
            at = row.step;
        }
        let whole = total.expect("a transform has rows");
        let whole = match m.options.giants {
            Giants::Direct => whole,
            Giants::Horner => self.extended_turned(op, x, m, whole, at, None)?,
        };
        Ok(whole.mod_down(self.params().lattice())?)
    }

    /// `sum_b d_b . x_b` of every giant step: all rows, prime by prime.
    fn row_sums(
        &self,
        op: &'static str,
        x: &Ciphertext,
        m: &LinearTransform,
    ) -> Result<Vec<ExtendedCiphertext>> {
        let (params, lattice) = (self.params(), self.params().lattice());
        let exponents = self.keys().rotations(x.slots(), x.limbs());
        let baby = |step: &usize| {
            if let Some(&exponent) = exponents.get(step) {
                return Ok(Rotation::Key(self.keys().galois_keys().get(op, exponent)?));
            }
            // No rotation, or one that takes several keys.
            Ok(Rotation::Done(self.way(op, &x.account(), *step)?.apply(params, &x.inner)?))
        };
        let babies: Vec<Rotation> = m.babies.iter().map(baby).collect::<Result<_>>()?;
        let (plain, special) = (params.sparse(), params.sparse_special());
        let (encoder, scale) = (Encoder::new(params), params.divisor(m.level()));
        let weighted = |term: &Term| -> Result<Option<Coefficients>> {
            Ok(match &term.diagonal {
                Diagonal::Values(values) => {
                    let coefficients = encoder.factor_coefficients(values, scale);
                    Some(plain.prepare_extended(special, coefficients))
                }
                _ => None,
            })
        };
        let sums = m
            .rows
            .iter()
            .map(|row| {
                let coefficients = each(&row.terms, weighted)?;
                let terms = row.terms.iter().zip(coefficients).map(|(term, coefficients)| {
                    let rotated = m.babies.binary_search(&term.baby);
                    let factor = match (&term.diagonal, coefficients) {
                        (Diagonal::Extended { poly, .. }, _) => Factor::Stored(poly),
                        (_, Some(coefficients)) => {
                            match Factor::<()>::is_by_tile(params.degree(), coefficients.len()) {
                                true => Factor::ByTile(coefficients),
                                false => Factor::Written(coefficients),
                            }
                        }
                        _ => unreachable!("made for single hoisting only"),
                    };
                    Weighted { rotated: rotated.expect("rows use the baby steps"), factor }
                });
                Ok(terms.collect())
            })
            .collect::<Result<Vec<Vec<_>>>>()?;
        let write = |coefficients: &Coefficients, i: usize, limb: &mut [u64]| {
            plain.write_extended(special, coefficients, (x.limbs(), i), limb);
        };
        Ok(ExtendedCiphertext::sums_of_rotations(lattice, &x.inner, &babies, &sums, write)?)
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

    /// A sum rotated by a multiple of the stride, added to `next`.
    fn extended_turned(
        &self,
        op: &'static str,
        like: &Ciphertext,
        m: &LinearTransform,
        mut sum: ExtendedCiphertext,
        step: usize,
        next: Option<ExtendedCiphertext>,
    ) -> Result<ExtendedCiphertext> {
        let turns = step.checked_div(m.stride).unwrap_or(0);
        for _ in 1..turns {
            sum = self.extended_rotated(op, like, sum, m.stride, None)?;
        }
        match turns {
            0 => self.extended_added(next, sum),
            _ => self.extended_rotated(op, like, sum, m.stride, next),
        }
    }

    /// A sum rotated by a giant step, added to `onto`. `like` tells the shape of the vector.
    fn extended_rotated(
        &self,
        op: &'static str,
        like: &Ciphertext,
        mut sum: ExtendedCiphertext,
        step: usize,
        onto: Option<ExtendedCiphertext>,
    ) -> Result<ExtendedCiphertext> {
        let lattice = self.params().lattice();
        match self.way(op, &like.account(), step)? {
            Way::Keys(keys, exponents) => {
                let Some((&last, others)) = exponents.split_last() else {
                    return self.extended_added(onto, sum);
                };
                for &exponent in others {
                    sum = keys.get(op, exponent)?.rotate_extended(lattice, sum, None)?;
                }
                Ok(keys.get(op, last)?.rotate_extended(lattice, sum, onto)?)
            }
            Way::Raised(keys, exponents) => {
                let rotated = keys.apply(&sum.mod_down(lattice)?, &exponents)?;
                self.extended_added(onto, ExtendedCiphertext::lift(lattice, &rotated)?)
            }
        }
    }
}
