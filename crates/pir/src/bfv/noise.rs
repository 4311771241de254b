//! Predicted noise of exact ciphertexts: the variance of one coefficient of
//! `phase - round(Q m / t)`, and the probability that it is too large.

use bellerophon_mlwe::noise as lattice;
use bellerophon_repack::row_packing_noise;
use bellerophon_ring::{DigitGadget, Result};

use super::Params;
use super::params::Switching;

/// A fresh ciphertext: `sigma^2`.
pub(crate) fn fresh(params: &Params) -> f64 {
    params.sigma().powi(2)
}

/// An encryption of zero under the public key: `sigma^2 (2/3 N + 1 + |s|^2)`.
pub(crate) fn public_zero(params: &Params) -> f64 {
    let n = params.degree() as f64;
    params.sigma().powi(2) * (n * 2.0 / 3.0 + 1.0 + params.secret_norm2())
}

/// A product with a plaintext: the variance of the input times `norm2`, the sum of the squares of
/// the factor's coefficients of least magnitude. `norm2` is at most `N (t / 2)^2`.
///
/// The rounding error of the encryption, at most one half, also grows: to at most half the sum of
/// the magnitudes of the factor's coefficients, which is up to `N t / 4`.
/// [`NoiseBound`](super::NoiseBound) subtracts it from the threshold.
pub(crate) fn product(variance: f64, norm2: f64) -> f64 {
    variance * norm2
}

/// The variance that an automorphism adds at `limbs` limbs.
///
/// With `d` digits of base `2^w` that drop the lowest `r` bits it is
/// `N sigma^2 sum_j E[digit_j^2] + |s|^2 2^(2r) / 12`. All digits except the last have a mean
/// square of `2^(2w) / 12 + 1/6`; the last has `(q / 2^(r + w (d - 1)))^2 / 12 + 1/6`. With special
/// primes it is [`bellerophon_mlwe::noise::automorphism`].
pub(crate) fn automorphism(params: &Params, limbs: usize) -> f64 {
    match params.switching() {
        Switching::Special(inner) => lattice::automorphism(inner, limbs),
        Switching::Digits(gadget) => {
            products_of_digits(params, gadget) + dropped_bits(params, gadget)
        }
    }
}

/// `N sigma^2 sum_j E[digit_j^2]`.
pub(crate) fn products_of_digits(params: &Params, gadget: &DigitGadget) -> f64 {
    let (w, d) = (f64::from(gadget.base_log()), gadget.digits() as f64);
    // All digits but the last are uniform in [-2^(w-1), 2^(w-1)).
    let low = (2.0 * w).exp2() / 12.0 + 1.0 / 6.0;
    // The last digit holds the bits that remain of the modulus.
    let last = gadget.modulus().log2() - f64::from(gadget.dropped_bits()) - w * (d - 1.0);
    let digits = (d - 1.0) * low + (2.0 * last).exp2() / 12.0 + 1.0 / 6.0;
    params.degree() as f64 * params.sigma().powi(2) * digits
}

/// The variance of the bits that digits drop: `|s|^2 2^(2r) / 12`.
pub(crate) fn dropped_bits(params: &Params, gadget: &DigitGadget) -> f64 {
    match gadget.dropped_bits() {
        0 => 0.0,
        dropped => params.secret_norm2() * (2.0 * f64::from(dropped)).exp2() / 12.0,
    }
}

/// Inputs of variance `input`, packed with `n` coefficients each:
/// `input + ((N / n)^2 - 1) / 3 automorphism`. (Lemma 5 of the paper is about magnitudes; a
/// variance quadruples where a magnitude doubles.)
pub(crate) fn packed(params: &Params, limbs: usize, n: usize, input: f64) -> Result<f64> {
    row_packing_noise(params.degree(), n, input, automorphism(params, limbs))
}

/// A ciphertext of `limbs` limbs, at most those of the parameters, rescaled to the first prime:
/// `variance (q_0 / Q)^2 + (|s|^2 + 1) / 12`.
pub(crate) fn to_one_limb(params: &Params, limbs: usize, variance: f64) -> f64 {
    match share_of_one_limb(params, limbs) {
        1.0 => variance,
        share => variance * share * share + (params.secret_norm2() + 1.0) / 12.0,
    }
}

/// `q_0 / Q` for a ciphertext of `limbs` limbs, at most those of the parameters.
pub(crate) fn share_of_one_limb(params: &Params, limbs: usize) -> f64 {
    // Limbs beyond those of the parameters can come from a peer.
    match limbs.min(params.limbs()) {
        0 | 1 => 1.0,
        limbs => (-params.ring().slice(1..limbs).log2_modulus()).exp2(),
    }
}

/// Bodies rounded to multiples of `2^body`, masks to multiples of `2^mask`:
/// `(2^(2 body) + |s|^2 2^(2 mask)) / 12`.
pub(crate) fn truncation(params: &Params, body: u32, mask: u32) -> f64 {
    // Nothing is rounded for zero bits.
    let square = |bits: u32| if bits == 0 { 0.0 } else { (2.0 * f64::from(bits)).exp2() / 12.0 };
    square(body) + params.secret_norm2() * square(mask)
}

/// The largest noise with which decryption modulo the first prime is exact: `q_0 / 2t`, less one
/// half for the rounding error of the encryption.
pub(crate) fn threshold(params: &Params) -> f64 {
    params.ring().modulus(0).value() as f64 / (2.0 * params.plain() as f64) - 0.5
}

/// `log2` of a bound on the probability that normal noise of this variance, modulo the first prime,
/// makes one coefficient wrong: `erfc(x) < e^(-x^2) / (x sqrt(pi))` with `x` the threshold in
/// standard deviations, divided by `sqrt(2)`.
pub(crate) fn log2_failure(params: &Params, variance: f64) -> f64 {
    log2_tail(threshold(params), variance)
}

/// `log2` of a bound on the probability that the magnitude of normal noise exceeds `threshold`; 0
/// where the bound is void.
pub(crate) fn log2_tail(threshold: f64, variance: f64) -> f64 {
    let x = threshold / (2.0 * variance).sqrt();
    if x < 1.0 {
        return 0.0;
    }
    -(x * x) * std::f64::consts::LOG2_E - (x * std::f64::consts::PI.sqrt()).log2()
}
