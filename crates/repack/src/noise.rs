//! Predicted noise of repacking.
//!
//! As in [`bellerophon_mlwe::noise`] a *variance* is that of one coefficient of the noise
//! polynomial, at the scale of the ciphertext it belongs to. The real part of each of the `N / 2`
//! slots of the ring errs by `N / 2` times that, divided by the square of the scale: this is what a
//! nonlinear function such as F_mod sees. Decoding `2^k` slots averages over their repetitions and
//! leaves `2^k` times the variance ([`bellerophon_ckks::noise::slot_std`]).

use bellerophon_ckks::{
    Meta, Params,
    noise::{ENCODING, Noise},
};
use bellerophon_mlwe::noise;

use crate::Tiling;

/// Variances of a product with a plain vector of the given mean square, encoded at `scale`, before
/// rescaling: the ciphertext's noise times the values, and its message times the rounding of the
/// encoding, in the coefficients that hold the message (the others have less).
pub(crate) fn product(mean_square: f64, scale: f64, ct: &Meta) -> Noise {
    let message = (ct.bounds.slots().bound() * ct.scale).powi(2);
    ct.noise * (mean_square * scale.powi(2)) + message * ENCODING
}

/// Variances of the result of a linear transform at `level`:
///
/// ```text
/// R V  +  (n / 12) (B D / q)^2  +  ((g - 1) c + c - 1) V_ks / q^2  +  V_rs
/// ```
///
/// with `R` the mean, over the slots of the result, of the sum of squares of the row that stands
/// there, `V` the variance and `D` the scale of the input, `B` a bound on its slots, `q` what the
/// rescaling divides by, `g` the giant steps, `c = max(1, n / l)` the columns that are summed up,
/// `V_ks` a rotation's noise, `V_rs = (|s|^2 + 1) / 12` that of rescaling. Input noise enters once
/// for each entry: every product meets other slots of it.
pub fn linear_transform(
    params: &Params,
    tiling: &Tiling,
    mean_row_square: f64,
    input: &Meta,
    level: usize,
) -> Noise {
    let lattice = params.lattice();
    let limbs = params.limbs_at(level + 1);
    let squared_divisor = params.divisor(level + 1).powi(2);
    let columns = tiling.columns() as f64;
    let summed = 2f64.powi(tiling.column_sums().count() as i32);
    let switches = (tiling.giant_steps() as f64 - 1.0) * summed + summed - 1.0;
    let message = (input.bounds.slots().bound() * input.scale).powi(2) / squared_divisor;
    let added = columns * ENCODING * message
        + switches * noise::automorphism(lattice, limbs) / squared_divisor
        + noise::rounding(lattice);
    input.noise * mean_row_square + added
}

/// The `R` of [`linear_transform`] for LWE masks modulo `q`, centred and multiplied by
/// `factor / q`: `n factor^2 / 12` for each of `rows` rows in `slots` slots.
pub fn mask_row_square(dimension: usize, factor: f64, rows: usize, slots: usize) -> f64 {
    dimension as f64 * factor * factor / 12.0 * rows as f64 / slots as f64
}
