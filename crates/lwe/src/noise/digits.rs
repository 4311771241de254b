//! The noise of a gadget: of the digits that multiply a key, and of the bits that they drop.

use bellerophon_ring::DigitGadget;

/// The sum of the mean squares of the digits of a uniform coefficient. A digit of range `R` has the
/// mean square `R^2 / 12 + 1 / 6`. The range is the base for all digits but the last, and the
/// remaining part of the modulus for the last.
pub(super) fn digit_squares(gadget: &DigitGadget, modulus: u64) -> f64 {
    let lower = gadget.base_log() * (gadget.digits() as u32 - 1);
    let last = modulus as f64 / 2f64.powi((gadget.dropped_bits() + lower) as i32);
    let square = |range: f64| range * range / 12.0 + 1.0 / 6.0;
    (gadget.digits() - 1) as f64 * square(2f64.powi(gadget.base_log() as i32)) + square(last)
}

/// The variance of rounding a coefficient to the bits that the digits keep.
pub(super) fn dropped(gadget: &DigitGadget) -> f64 {
    let unit = 2f64.powi(gadget.dropped_bits() as i32);
    (unit * unit - 1.0).max(0.0) / 12.0
}
