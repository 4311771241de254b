//! Variances of the NTRU engine: modulo `Q` under `f` unless said. `g` and `f` are uniform
//! ternary; `|f|^2` counts as its expectation `2 N / 3`.

use super::{digit_squares, dropped};
use crate::{NtruRotation, Params, ntru::NtruContext};

/// Variance of a uniform ternary coefficient.
const TERNARY: f64 = 2.0 / 3.0;

fn f_norm2(context: &NtruContext) -> f64 {
    TERNARY * context.ring().degree() as f64
}

/// `sum_t h_t g_t`: what the rows of one NTRU' ciphertext add.
fn fresh(context: &NtruContext) -> f64 {
    let digits = digit_squares(context.gadget(), context.gadget().modulus().value());
    context.ring().degree() as f64 * digits * TERNARY
}

/// `e f`: what the bits that the digits drop come to.
fn lost(context: &NtruContext) -> f64 {
    dropped(context.gadget()) * f_norm2(context)
}

/// What an external product of phases below `Q / 2` with a monomial adds, and an automorphism
/// with its key switch.
pub fn ntru_product(context: &NtruContext) -> f64 {
    fresh(context) + lost(context)
}

/// What the way out adds, modulo `q0` under `z`: the rounding of scaling `Q` to `q0`, and the ring
/// key switch.
pub fn ntru_ring_switch(params: &Params, context: &NtruContext) -> f64 {
    let gadget = context.switch_gadget();
    let digits = digit_squares(gadget, params.ring_modulus().value());
    let sigma2 = params.spec().ring_sigma.powi(2);
    let rounded = (1.0 / 12.0 + dropped(gadget)) * f_norm2(context);
    context.ring().degree() as f64 * digits * sigma2 + rounded
}

/// How many automorphisms a rotation of the general form takes, expected for uniform exponents:
/// of the `N` exponents `+-5^l` a share `p = 1 - exp(-n / N)` is visited; the gaps between them
/// are geometric, and each takes one for every window begun. One more changes the sign.
pub fn ntru_automorphisms(dimension: usize, degree: usize, window: usize) -> f64 {
    let empty = (-(dimension as f64) / degree as f64).exp();
    degree as f64 * (1.0 - empty) / (1.0 - empty.powi(window as i32)) + 1.0
}

/// What a whole blind rotation adds, modulo `q0` under the ring secret.
///
/// The table enters by one product whose digits drop bits of the table alone. A ternary step
/// multiplies the digits with `X^a - 1` times the noise of `EK+` and `X^-a - 1` times that of
/// `EK-`, four times the noise of one NTRU' ciphertext, and drops bits where the coordinate
/// is not zero, `X^(a s) - 1` doubling them. The general form has a product for each coordinate, for the
/// sum of them and for each automorphism.
pub(super) fn blind_rotation(params: &Params, context: &NtruContext, lwe_norm2: f64) -> f64 {
    let steps = params.dimension() as f64;
    // The rounding of the table to Q, and the bits that the digits drop of it.
    let entry = fresh(context) + dropped(context.gadget()) + 1.0 / 12.0;
    let turned = match context.spec().rotation {
        NtruRotation::Ternary => steps * 4.0 * fresh(context) + 2.0 * lwe_norm2 * lost(context),
        NtruRotation::Any { window } => {
            let degree = context.ring().degree();
            let automorphisms = ntru_automorphisms(params.dimension(), degree, window);
            (steps + 1.0 + automorphisms) * ntru_product(context)
        }
    };
    let scale = params.ring_modulus().value() as f64 / context.ring().modulus(0).value() as f64;
    (entry + turned) * scale * scale + ntru_ring_switch(params, context)
}
