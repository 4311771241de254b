//! The linear bridge from LWE ciphertexts to CKKS: partial decryption and reduction modulo `q`
//! (PEGASUS Fig. 6, steps 8 to 10).

use bellerophon_circuits::eval_mod::{Mod1, Mod1Output};
use bellerophon_ckks::{Ciphertext, CkksOps, Evaluator, Interval};
use bellerophon_lwe as lwe;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Modulus, Result};

use super::{
    layout::Layout,
    repack_key::RepackKey,
    tall_diagonals::Matrix,
    transform::{Product, Transform},
};
use crate::error;

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
/// [`ErrorKind::Level`] if the primes of the levels of the reduction differ too much in size.
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
    let params = evaluator.params();
    let Some(above) = reduction.lowest_level(params, level + reduction.depth()) else {
        let highest = reduction.highest_level(params, params.max_level());
        let highest = highest.map(|above| above - reduction.depth());
        return Err(error::level(level, highest));
    };
    // Steps 8 and 9 of Fig. 6: A s + b = m + q k, at the scale that the reduction keeps.
    let phases = Phases { factor, bound, level: above, scale: params.divisor(above) };
    let phases = phases.of(evaluator, key, values, layout)?;
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
/// This takes one level. Keys for the rotations by
/// [`rotation_steps`](crate::linear_bridge::rotation_steps) are needed at `level + 1`. The time is
/// that of `n` products of ciphertext and plaintext and of `n / G - 1` rotations (fewer below `n`
/// slots), nearly independent of the number of values (PEGASUS section III.C).
///
/// # Errors
/// [`ErrorKind::Argument`] if the moduli of the values differ or exceed 53 bits.
pub fn partial_decryption(
    evaluator: &Evaluator,
    key: &RepackKey,
    values: &[lwe::Ciphertext],
    layout: &Layout,
    factor: f64,
    bound: f64,
    level: usize,
) -> Result<Ciphertext> {
    let phases = Phases { factor, bound, level, scale: evaluator.params().scale() };
    phases.of(evaluator, key, values, layout)
}

/// The form in which phases are wanted.
struct Phases {
    /// What multiplies `p / q + k`.
    factor: f64,
    /// A bound on `|p / q + k|`.
    bound: f64,
    level: usize,
    scale: f64,
}

impl Phases {
    /// The phases of these values, as by [`partial_decryption`].
    fn of(
        &self,
        evaluator: &Evaluator,
        key: &RepackKey,
        values: &[lwe::Ciphertext],
        layout: &Layout,
    ) -> Result<Ciphertext> {
        let Self { factor, bound, level, scale } = *self;
        // Step 1: all values have the dimension of the key and one modulus.
        let first = values.first().ok_or_else(error::no_rows)?;
        for value in values {
            if value.a().len() != key.dimension() {
                let needed = format!("that of the repacking key, {}", key.dimension());
                let found = value.a().len();
                return Err(error::shape("LWE dimension", found, needed));
            }
            if value.modulus() != first.modulus() {
                let found = value.modulus().value().to_string();
                let needed = "one modulus for all values";
                return Err(error::value("LWE modulus", found, needed));
            }
        }
        let modulus = *first.modulus();
        if modulus.bits() > 53 {
            let (found, needed) = (modulus.value().to_string(), "at most 53 bits");
            return Err(error::value("LWE modulus", found, needed));
        }
        for (what, number) in [("factor", factor), ("bound", bound)] {
            if !(number > 0.0 && number.is_finite()) {
                let (found, needed) = (number.to_string(), "a positive finite number");
                return Err(error::value(what, found, needed));
            }
        }
        // Step 2: the linear transform A s + b, with every row multiplied by factor / q.
        let factor = factor / modulus.value() as f64;
        let range = bound * factor * modulus.value() as f64;
        let range = Interval::real(-range, range)?;
        let matrix = Masks { values, modulus, factor };
        let offsets: Vec<f64> =
            values.iter().map(|value| modulus.center(value.b()) as f64 * factor).collect();
        let product = Product { level, scale, range };
        let transform = Transform::new(evaluator, key.babies(), &matrix, layout, product)?;
        Ok(transform.apply(&offsets)?.assume_range_with_padding(range))
    }
}
