//! Double hoisting: linear transforms whose sums stay modulo `P Q` (Bossuat, Mouchet,
//! Troncoso-Pastoriza and Hubaux, "Efficient bootstrapping for approximate homomorphic encryption
//! with non-sparse keys", eprint 2020/1203, section 4).
//!
//! - Rotations by baby steps are multiplied by diagonals and summed before their mod-down.
//! - A giant step divides the mask, which it must decompose, but not the body.
//! - One mod-down of the whole comes last.
//!
//! For `n_1` baby and `n_2` giant steps that is `n_2 + 2` divisions of a polynomial by `P` instead
//! of `2 (n_1 + n_2)`, and two more with a far step.
//!
//! With [`LinearOptions::halved`](super::LinearOptions::halved), the operand rotated by a power of
//! two, the far step, is a second operand. Baby steps from the far step on are rotations of this
//! operand.
//!
//! **Noise.** Let `V_d` be the noise of a key switch without its rounding, `V_r` one rounding. A
//! baby step adds `V_d`, and a far step `V_d + V_r` before it; a product with a diagonal adds the
//! noise of a product; a giant step adds `V_d` and the rounding of the mask; the final mod-down
//! adds `V_r`. The rescale divides all of it by the prime.

use std::borrow::Cow;

use bellerophon_ckks::rotation_plan::RotationPath;
use bellerophon_ckks::sparse_slots::Coefficients;
use bellerophon_ckks::{Ciphertext, Evaluator, Result};
use bellerophon_mlwe::{self as mlwe, CiphertextQP, Rotation};

use super::{Giants, LinearTransform};

/// Steps 2 to 4 of a transform for an operand at the transform's level and
/// slot count: `M x`, not rescaled.
pub(super) fn transform_extended(
    e: &Evaluator,
    x: &Ciphertext,
    m: &LinearTransform,
) -> Result<mlwe::Ciphertext> {
    // Steps 2 and 3: the sums of all giant steps, modulo P Q.
    let mut sums = row_sums(e, x, m)?;

    // Step 4: from the largest giant step down.
    let mut total: Option<CiphertextQP> = None;
    let mut at = m.rows.last().map_or(0, |row| row.step);
    for row in m.rows.iter().rev() {
        let sum = sums.pop().expect("a sum of every row");
        total = Some(match (m.options.giants, total) {
            (Giants::Direct, total) => extended_rotated(e, x, sum, row.step, total)?,
            (Giants::Horner, None) => sum,
            (Giants::Horner, Some(total)) => {
                rotated_by_stride(e, x, m, total, at - row.step, Some(sum))?
            }
        });
        at = row.step;
    }
    // Horner: the smallest giant step need not be 0.
    let whole = total.expect("a transform has rows");
    let whole = match m.options.giants {
        Giants::Direct => whole,
        Giants::Horner => rotated_by_stride(e, x, m, whole, at, None)?,
    };
    // The only division of the body by P.
    whole.mod_down(e.params().lattice())
}

/// Steps 2 and 3: `sum_b d_b . x_b` of every giant step, all rows prime by prime.
fn row_sums(e: &Evaluator, x: &Ciphertext, m: &LinearTransform) -> Result<Vec<CiphertextQP>> {
    let (params, lattice, like) = (e.params(), e.params().lattice(), x.metadata());
    // The operand, and the operand rotated by the far step.
    let rotated = |x, step| e.rotation_path(&like, step)?.apply(params, x);
    let mut operands = vec![Cow::Borrowed(x.lattice())];
    if let Some(far) = m.far() {
        operands.push(rotated(x.lattice(), far)?);
    }
    // The rotation of each baby step: a key for the hoisted kernel, or a finished ciphertext.
    let exponents = e.keys().rotations(x.meta().slots, x.lattice().limbs());
    let baby = |&step: &usize| {
        let (far, near) = m.split(step);
        let operand = usize::from(far != 0);
        if let Some(&exponent) = exponents.get(&near) {
            return Ok(Rotation::Key(operand, e.keys().galois_keys().get(exponent)?));
        }
        // Step 0, or a rotation by several keys.
        Ok(Rotation::Done(rotated(&operands[operand], near)?))
    };
    let babies: Vec<Rotation> = m.babies.iter().map(baby).collect::<Result<_>>()?;

    let (plain, special) = (params.sparse(), params.sparse_special());
    let sums = m.weighted(&m.rows, |coefficients| plain.prepare_extended(special, coefficients));

    // One decomposition of each operand; products and sums modulo P Q.
    let write = |coefficients: &Coefficients, i: usize, limb: &mut [u64]| {
        plain.write_extended(special, coefficients, x.lattice().limbs(), i, limb);
    };
    let operands: Vec<&mlwe::Ciphertext> = operands.iter().map(|operand| &**operand).collect();
    CiphertextQP::sums_of_rotations(lattice, &operands, &babies, &sums, write)
}

/// `sum + next`.
fn extended_added(
    e: &Evaluator,
    sum: Option<CiphertextQP>,
    next: CiphertextQP,
) -> Result<CiphertextQP> {
    let Some(mut sum) = sum else { return Ok(next) };
    sum.add_assign(e.params().lattice(), &next)?;
    Ok(sum)
}

/// `next` plus the sum rotated by `step`, a multiple of the stride, with one key switch for
/// each stride.
fn rotated_by_stride(
    e: &Evaluator,
    like: &Ciphertext,
    m: &LinearTransform,
    mut sum: CiphertextQP,
    step: usize,
    next: Option<CiphertextQP>,
) -> Result<CiphertextQP> {
    let strides = step.checked_div(m.stride).unwrap_or(0);
    for _ in 1..strides {
        sum = extended_rotated(e, like, sum, m.stride, None)?;
    }
    // The last rotation is fused with the addition.
    match strides {
        0 => extended_added(e, next, sum),
        _ => extended_rotated(e, like, sum, m.stride, next),
    }
}

/// `onto` plus a sum rotated by a giant step. `like` has the shape of the vector.
fn extended_rotated(
    e: &Evaluator,
    like: &Ciphertext,
    mut sum: CiphertextQP,
    step: usize,
    onto: Option<CiphertextQP>,
) -> Result<CiphertextQP> {
    let lattice = e.params().lattice();
    match e.rotation_path(&like.metadata(), step)? {
        RotationPath::Keys(keys, exponents) => {
            let Some((&last, others)) = exponents.split_last() else {
                return extended_added(e, onto, sum);
            };
            for &exponent in others {
                sum = keys.get(exponent)?.rotate_extended(lattice, sum, None)?;
            }
            Ok(keys.get(last)?.rotate_extended(lattice, sum, onto)?)
        }
        // The temporary rank takes ciphertexts modulo Q: divide by P and multiply it back.
        RotationPath::Raised(keys, exponents) => {
            let rotated = keys.apply(&sum.mod_down(lattice)?, &exponents)?;
            extended_added(e, onto, CiphertextQP::lift(lattice, &rotated)?)
        }
    }
}
