//! Noise model of the NTRU engine. Variances are modulo `Q` under `f` unless stated otherwise. `g`
//! and `f` are uniform ternary, and `|f|^2` counts as its expectation `2 N / 3`.

use super::digits::{digit_squares, dropped};
use crate::engine::NtruRotation;
use crate::ntru::NtruContext;
use crate::params::{Params, expected_automorphisms};

/// The variance of a uniform ternary coefficient.
const TERNARY: f64 = 2.0 / 3.0;

/// The expected `|f|^2`.
fn f_norm2(context: &NtruContext) -> f64 {
    TERNARY * context.ring().degree() as f64
}

/// The variance of `sum_t h_t g_t`: the noise of the rows of one NTRU' ciphertext.
fn fresh(context: &NtruContext) -> f64 {
    let digits = digit_squares(context.gadget(), context.gadget().modulus().value());
    context.ring().degree() as f64 * digits * TERNARY
}

/// The variance of `e f`: the effect of the bits that the digits drop.
fn lost(context: &NtruContext) -> f64 {
    dropped(context.gadget()) * f_norm2(context)
}

/// The variance that an external product adds, of a phase below `Q / 2` with a monomial. An
/// automorphism with its key switch adds the same.
pub(crate) fn ntru_product(context: &NtruContext) -> f64 {
    fresh(context) + lost(context)
}

/// The variance that the key switch from NTRU to the ring secret adds, modulo `q0` under `z`. It
/// consists of the rounding of the modulus switch from `Q` to `q0`, and of the ring key switch.
pub(crate) fn ntru_ring_switch(params: &Params, context: &NtruContext) -> f64 {
    let gadget = context.switch_gadget();
    let digits = digit_squares(gadget, params.ring_modulus().value());
    let sigma2 = params.spec().ring_sigma.powi(2);
    let rounded = (1.0 / 12.0 + dropped(gadget)) * f_norm2(context);
    context.ring().degree() as f64 * digits * sigma2 + rounded
}

/// The variance that a whole blind rotation adds, modulo `q0` under the ring secret.
///
/// One product encrypts the test polynomial; its digits drop bits of the test polynomial alone. A
/// ternary step multiplies the digits by `X^a - 1` times the noise of `EK+` and by `X^-a - 1` times
/// the noise of `EK-`, which gives four times the noise of one NTRU' ciphertext. The dropped bits
/// matter where the coordinate is not zero, and the factor `X^(a s) - 1` doubles their variance.
/// The general rotation has one product for each coordinate, for `evk_n` and for each automorphism.
pub(super) fn blind_rotation(params: &Params, context: &NtruContext, lwe_norm2: f64) -> f64 {
    let steps = params.spec().dimension as f64;
    // Step 1: the initial accumulator, with the rounding of the test polynomial to Q and the bits
    // that its digits drop.
    let entry = fresh(context) + dropped(context.gadget()) + 1.0 / 12.0;
    // Step 2: the products of all coordinates.
    let rotated = match context.spec().rotation {
        NtruRotation::Ternary => steps * 4.0 * fresh(context) + 2.0 * lwe_norm2 * lost(context),
        NtruRotation::Any { window } => {
            let degree = context.ring().degree();
            let automorphisms = expected_automorphisms(params.spec().dimension, degree, window);
            (steps + 1.0 + automorphisms) * ntru_product(context)
        }
    };
    // Step 3: the modulus switch to q0, and the key switch to the ring secret.
    let scale = params.ring_modulus().value() as f64 / context.ring().modulus(0).value() as f64;
    (entry + rotated) * scale * scale + ntru_ring_switch(params, context)
}
