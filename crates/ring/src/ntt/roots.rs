//! Roots of unity and their powers in the order in which the transforms use them.

use crate::{Error, Modulus, Result};

/// `x^((q-1) / order)` for the smallest quadratic non-residue `x`: a primitive `order`-th root of
/// unity modulo `q`; `order` is a power of two.
///
/// Roots of different orders fit together: that of `order / 2` is the square of that of `order`.
pub(crate) fn primitive_root(q: &Modulus, order: u64, degree: usize) -> Result<u64> {
    let no_root = Error::NoRoot { modulus: q.value(), order, degree };
    if q.value() % order != 1 {
        return Err(no_root);
    }
    // x^((q-1)/order) has order dividing `order`; it is primitive if its half power is -1.
    (2..q.value())
        .map(|x| q.pow(x, (q.value() - 1) / order))
        .find(|&r| q.pow(r, order / 2) == q.value() - 1)
        .ok_or(no_root)
}

/// Reverses the lowest `bits` bits of `i`.
pub(crate) fn bit_reverse(i: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) }
}

/// `[root^bit_reverse(0), root^bit_reverse(1), ...]`, `degree` powers.
pub(crate) fn bit_reversed_powers(q: &Modulus, root: u64, degree: usize) -> Vec<u64> {
    let bits = degree.trailing_zeros();
    let mut powers = vec![0; degree];
    let mut power = 1;
    for i in 0..degree {
        powers[bit_reverse(i, bits)] = power;
        power = q.mul(power, root);
    }
    powers
}
