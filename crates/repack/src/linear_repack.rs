//! The linear bridge from LWE ciphertexts to CKKS: partial decryption and reduction modulo `q`
//! (PEGASUS Fig. 6, steps 8 to 10).

#[cfg(doc)]
use crate::ErrorKind;
use bellerophon_ckks::{
    Ciphertext, CkksOps, Evaluator, Interval,
    eval_mod::{Mod1, Mod1Output},
};
use bellerophon_lwe as lwe;
use bellerophon_ring::Modulus;

use crate::{During, Layout, Matrix, RepackKey, Result, error, transform::Transform};

/// Masks of LWE ciphertexts as a matrix: the row of a ciphertext is `a factor / q`, `a` centred.
struct Masks<'a> {
    values: &'a [lwe::Ciphertext],
    modulus: Modulus,
    /// `factor / q`.
    factor: f64,
}

impl Matrix for Masks<'_> {
    fn rows(&self) -> usize {
        self.values.len()
    }

    fn columns(&self) -> usize {
        self.values[0].a().len()
    }

    fn entry(&self, row: usize, column: usize) -> f64 {
        self.modulus.center(self.values[row].a()[column]) as f64 * self.factor
    }
}

/// The values of LWE ciphertexts in the slots of one CKKS ciphertext: `amplitude * sin(2 pi p / q)`
/// of phases `p` (the amplitude is that of `output`; a reduction planned with an arcsine gives
/// `2 pi p / q` instead).
///
/// This is [`partial_decryption`] for the width of the reduction, then [`Mod1::apply`]. The
/// reduction starts at the lowest level that is at least `reduction.depth()` above `level` and that
/// keeps scales ([`Mod1::lowest_level`]). The result is dropped to `level`. The key must have the
/// limbs of one level above the start. Slots without a value hold zero.
///
/// The result carries the full range of the reduction. If a tighter range of the values is known,
/// state it with [`Ciphertext::assume_range_with_padding`].
///
/// The reduction must have been planned for the weight of the LWE secret: an `|<a, s> / q|` beyond
/// [`Mod1::bound`] gives a wrong value in that slot, with the probability stated in the plan.
///
/// # Errors
/// As for [`partial_decryption`] and [`Mod1::apply`]; [`ErrorKind::Level`] if the primes of the
/// levels of the reduction differ too much in size.
pub fn repack(
    evaluator: &Evaluator,
    key: &RepackKey,
    values: &[lwe::Ciphertext],
    layout: &Layout,
    reduction: &Mod1,
    output: Mod1Output,
    level: usize,
) -> Result<Ciphertext> {
    // Step 1: the level at which the reduction starts.
    let (factor, bound) = (1.0 / reduction.width(), reduction.bound());
    let (op, params) = ("repack", evaluator.params());
    let Some(above) = reduction.lowest_level(params, level + reduction.depth()) else {
        let highest = reduction.highest_level(params, params.max_level());
        let highest = highest.map(|above| above - reduction.depth());
        return Err(error::level(level, highest).during(op));
    };
    // Steps 8 and 9 of Fig. 6: A s + b = m + q k, at the scale that the reduction keeps.
    let at = (above, params.divisor(above));
    let phases = decrypted(evaluator, key, values, layout, (factor, bound), at)?;
    // Step 10: EvalMod removes q k.
    let reduced = reduction.apply(evaluator, &phases, output)?;
    evaluator.drop_to_level(&reduced, level)
}

/// `factor (b + <a, s>) / q` of LWE ciphertexts, over the integers: a phase `p` in `[-q/2, q/2)`
/// becomes `factor (p / q + k)` with an integer `k` that is still to be removed.
///
/// All ciphertexts are modulo one odd `q` of at most 53 bits, under the secret of the key. Value
/// `i` goes to slot `layout.positions()[i]`; the other slots hold encryptions of zero. The result
/// is at `level` with the default scale.
///
/// `b` and the coordinates of `a` are taken in `(-q/2, q/2)`, so that the standard deviation of `k`
/// under a secret of weight `h` is about `sqrt((h + 1) / 12)`. The caller chooses `bound`, a bound
/// on `|p / q + k|`, accordingly. The result carries the range `factor * [-bound, bound]`.
///
/// This takes one level. Keys for the rotations by [`rotation_steps`](crate::rotation_steps) are
/// needed at `level + 1`. The time is that of `n` products of ciphertext and plaintext and of
/// `n / G - 1` rotations (fewer below `n` slots), nearly independent of the number of values
/// (PEGASUS section III.C).
///
/// # Errors
/// [`ErrorKind::Length`] for no values; [`ErrorKind::Shape`] if a value has another dimension than
/// the key or the layout is for another number of values; [`ErrorKind::Argument`] if moduli differ
/// or exceed 53 bits, or `factor` or `bound` is not positive and finite; [`ErrorKind::Level`];
/// those of CKKS, including missing rotation keys.
pub fn partial_decryption(
    evaluator: &Evaluator,
    key: &RepackKey,
    values: &[lwe::Ciphertext],
    layout: &Layout,
    factor: f64,
    bound: f64,
    level: usize,
) -> Result<Ciphertext> {
    let at = (level, evaluator.params().scale());
    decrypted(evaluator, key, values, layout, (factor, bound), at)
}

/// As [`partial_decryption`], at the given level and scale.
fn decrypted(
    evaluator: &Evaluator,
    key: &RepackKey,
    values: &[lwe::Ciphertext],
    layout: &Layout,
    (factor, bound): (f64, f64),
    at: (usize, f64),
) -> Result<Ciphertext> {
    // Step 1: all values have the dimension of the key and one modulus.
    let op = "repack";
    let first = values.first().ok_or_else(error::no_rows).during(op)?;
    for value in values {
        if value.a().len() != key.dimension() {
            let needed = format!("that of the repacking key, {}", key.dimension());
            let found = value.a().len();
            return Err(error::shape("LWE dimension", found, needed).during(op));
        }
        if value.modulus() != first.modulus() {
            let found = value.modulus().value().to_string();
            let needed = "one modulus for all values";
            return Err(error::value("LWE modulus", found, needed).during(op));
        }
    }
    let modulus = *first.modulus();
    if modulus.bits() > 53 {
        let (found, needed) = (modulus.value().to_string(), "at most 53 bits");
        return Err(error::value("LWE modulus", found, needed).during(op));
    }
    for (what, number) in [("factor", factor), ("bound", bound)] {
        if !(number > 0.0 && number.is_finite()) {
            let (found, needed) = (number.to_string(), "a positive finite number");
            return Err(error::value(what, found, needed).during(op));
        }
    }
    // Step 2: the linear transform A s + b, with every row multiplied by factor / q.
    let factor = factor / modulus.value() as f64;
    let range = bound * factor * modulus.value() as f64;
    let range = Interval::real(-range, range)?;
    let matrix = Masks { values, modulus, factor };
    let offsets: Vec<f64> =
        values.iter().map(|value| modulus.center(value.b()) as f64 * factor).collect();
    let transform = Transform::new(evaluator, key.babies(), &matrix, layout, at, range)?;
    Ok(transform.apply(&offsets)?.assume_range_with_padding(range))
}
