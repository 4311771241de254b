//! Noise of operations through a temporary rank.

use super::{automorphism, key_switch, log2_divisor, rounding, switched_digits};
use crate::params::Params;

/// Noise added by relinearization through a temporary rank (Algorithm 1 of DPad-HE): a key switch
/// of `components` polynomials to the rank `r^` of `raised`, with a rounding there, and a key
/// switch of `r^ - r` polynomials back to the rank `r` of `params`:
///
/// `c N sigma^2 sum_j (Q''_j / P^)^2 / 12 + (|s^|^2 + 1) / 12`
/// `+ (r^ - r) N sigma^2 sum_j (Q'_j / P)^2 / 12 + (|s|^2 + 1) / 12`.
///
/// `components` is `r (r + 1) / 2`. It is a fraction if packed polynomials are only partly filled.
pub(crate) fn dpad_relinearize(
    params: &Params,
    raised: &Params,
    components: f64,
    limbs: usize,
) -> f64 {
    first_switch(params, raised, components, limbs) + rounding(params)
}

/// As [`dpad_relinearize`], with a rescale by the last `primes` of `limbs` primes fused into the
/// last division. `D` is the product of these primes. The noise `variance` of the product, the
/// first switch and the digits of the second switch are divided by `D^2`. One rounding is added.
pub(crate) fn dpad_relinearize_rescale(
    params: &Params,
    raised: &Params,
    components: f64,
    limbs: usize,
    primes: usize,
    variance: f64,
) -> f64 {
    let before = variance + first_switch(params, raised, components, limbs);
    before * (-2.0 * log2_divisor(params, limbs, primes)).exp2() + rounding(params)
}

/// Noise added by `rotations` automorphisms at the rank `r^` of `raised` and the rank-down to the
/// rank `r` of `params` (Algorithm 2 of DPad-HE). The first automorphism switches `r` masks, the
/// others switch `r^`.
pub fn hoisted_rotations(params: &Params, raised: &Params, rotations: usize, limbs: usize) -> f64 {
    if rotations == 0 {
        return 0.0;
    }
    let down = key_switch(params, raised.rank().saturating_sub(params.rank()), limbs);
    let further = (rotations - 1) as f64 * key_switch(raised, raised.rank(), limbs);
    key_switch(raised, params.rank(), limbs) + further + down
}

/// Noise at every `factor`-th coefficient after `log2(factor)` automorphisms and additions that
/// multiply these coefficients by `f = factor` (Algorithm 5 of DPad-HE), for an input of variance
/// `V`: `f^2 V + (f^2 - 1) / 3 V_automorphism`. Each round doubles the noise of the previous
/// rounds. The other coefficients have less noise.
pub fn trace(params: &Params, factor: usize, limbs: usize, variance: f64) -> f64 {
    let square = (factor as f64).powi(2);
    square * variance + (square - 1.0) / 3.0 * automorphism(params, limbs)
}

/// [`dpad_relinearize`] without the last rounding.
fn first_switch(params: &Params, raised: &Params, components: f64, limbs: usize) -> f64 {
    let dropped = raised.rank().saturating_sub(params.rank()) as f64;
    switched_digits(raised, components, limbs)
        + rounding(raised)
        + switched_digits(params, dropped, limbs)
}
