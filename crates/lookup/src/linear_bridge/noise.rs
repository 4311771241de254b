//! Noise model of the linear bridge.
//!
//! As in [`bellerophon_mlwe::noise`], a *variance* is that of one coefficient of the noise
//! polynomial, at the scale of its ciphertext. The error of the real part of each of the `N / 2`
//! slots of the ring has `N / 2` times this variance, divided by the square of the scale. A
//! nonlinear function such as EvalMod is applied to slots with that error. Decoding `2^k` slots
//! averages over their repetitions, which leaves `2^k` times the variance of a coefficient
//! ([`bellerophon_ckks::noise::slot_std`]).

use bellerophon_ckks::{
    CiphertextMeta, Params,
    noise::{ENCODING, Noise},
};
use bellerophon_mlwe::noise;

use super::tall_diagonals::Tiling;

/// Noise of a product with a plain vector of the given mean square, encoded at `scale`, before
/// rescaling. It is the noise of the ciphertext times the values, plus its message times the
/// rounding error of the encoding. It holds for the coefficients that hold the message; the others
/// have less.
pub(crate) fn product(mean_square: f64, scale: f64, ct: &CiphertextMeta) -> Noise {
    let message = (ct.bounds.slots().bound() * ct.scale).powi(2);
    ct.noise * (mean_square * scale.powi(2)) + message * ENCODING
}

/// Noise of the result of a linear transform at `level`:
///
/// ```text
/// R V  +  (n / 12) (B D / q)^2  +  ((g - 1) c + c - 1) V_ks / q^2  +  V_rs
/// ```
///
/// `R` is the mean, over the slots of the result, of the sum of squares of the row in the slot. `V`
/// is the variance of the input, `D` its scale and `B` a bound on its slots. `q` is the divisor of
/// the rescale, `g` the number of giant steps, and `c = max(1, n / l)` the number of columns that
/// are summed up. `V_ks` is the noise of a rotation and `V_rs = (|s|^2 + 1) / 12` that of
/// rescaling. The noise of the input enters once for each entry, since every product multiplies
/// other slots.
pub fn linear_transform(
    params: &Params,
    tiling: &Tiling,
    mean_row_square: f64,
    input: &CiphertextMeta,
    level: usize,
) -> Noise {
    let lattice = params.lattice();
    let limbs = params.limbs_at(level + 1);
    let squared_divisor = params.divisor(level + 1).powi(2);
    let columns = tiling.columns() as f64;
    let summed = 2f64.powi(tiling.column_sums().count() as i32);
    // Every column sum doubles the variance before it, that of rotations included.
    let switches = (tiling.giant_steps() as f64 - 1.0) * summed + summed - 1.0;
    let message = (input.bounds.slots().bound() * input.scale).powi(2) / squared_divisor;
    let added = columns * ENCODING * message
        + switches * noise::automorphism(lattice, limbs) / squared_divisor
        + noise::rounding(lattice);
    input.noise * mean_row_square + added
}

/// The `R` of [`linear_transform`] for LWE masks modulo `q`, centred and multiplied by
/// `factor / q`: `n factor^2 / 12` for each of `rows` rows in `slots` slots.
#[cfg(test)]
pub(crate) fn mask_row_square(dimension: usize, factor: f64, rows: usize, slots: usize) -> f64 {
    dimension as f64 * factor * factor / 12.0 * rows as f64 / slots as f64
}
