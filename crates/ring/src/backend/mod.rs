//! The kernels in several instruction sets, chosen once when a table is built.
//!
//! Every kernel works on the residues of one limb. `scalar.rs` is the reference; the other files
//! hold the same functions in the same order. This folder is the only place in the workspace
//! where `unsafe` may stand.

mod scalar;

use crate::{Modulus, NttTable, Result};

/// An instruction set that the kernels are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Portable Rust on 64-bit words; every modulus.
    Scalar,
}

impl Backend {
    /// All back ends, slowest first.
    pub const ALL: [Backend; 1] = [Backend::Scalar];

    /// The fastest back end that this CPU has for `modulus`.
    pub fn fastest(modulus: &Modulus) -> Self {
        *Self::ALL.iter().rev().find(|b| b.check(modulus).is_ok()).unwrap_or(&Backend::Scalar)
    }

    /// Whether this CPU runs the back end and the back end takes the modulus.
    pub fn check(self, _modulus: &Modulus) -> Result<()> {
        match self {
            Backend::Scalar => Ok(()),
        }
    }

    /// A short name for tables, benchmark ids and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Scalar => "scalar",
        }
    }
}

/// Forward transform, `[0, 4q) -> [0, q)`.
pub(crate) fn forward_ntt(table: &NttTable, a: &mut [u64]) {
    match table.backend() {
        Backend::Scalar => scalar::forward_ntt(table, a),
    }
}

/// Inverse transform, `[0, 2q) -> [0, q)`.
pub(crate) fn inverse_ntt(table: &NttTable, a: &mut [u64]) {
    match table.backend() {
        Backend::Scalar => scalar::inverse_ntt(table, a),
    }
}

/// `a += b`, all in `[0, q)`.
pub(crate) fn add_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    match table.backend() {
        Backend::Scalar => scalar::add_assign(table, a, b),
    }
}

/// `a -= b`, all in `[0, q)`.
pub(crate) fn sub_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    match table.backend() {
        Backend::Scalar => scalar::sub_assign(table, a, b),
    }
}

/// `a *= b` position by position, all in `[0, q)`.
pub(crate) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    match table.backend() {
        Backend::Scalar => scalar::mul_assign(table, a, b),
    }
}

/// `acc += a b` position by position, all in `[0, q)`.
pub(crate) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
    match table.backend() {
        Backend::Scalar => scalar::mul_add_assign(table, acc, a, b),
    }
}

/// `out = sum_i a_i b_i` position by position, with one reduction at the end; all in `[0, q)`.
/// Takes up to [`MAX_PRODUCTS`] pairs.
pub(crate) fn sum_of_products(table: &NttTable, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
    match table.backend() {
        Backend::Scalar => scalar::sum_of_products(table, out, pairs),
    }
}

/// How many products of residues below `2^61` fit a 128-bit accumulator.
pub(crate) const MAX_PRODUCTS: usize = 63;

/// `a *= w` by a constant in `[0, q)`; `[0, 2^64) -> [0, q)`.
pub(crate) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
    match table.backend() {
        Backend::Scalar => scalar::mul_constant(table, a, w),
    }
}

/// `a = (a - b) * w`, all in `[0, q)`.
pub(crate) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
    match table.backend() {
        Backend::Scalar => scalar::sub_mul_constant(table, a, b, w),
    }
}

/// `out = sum_i rows_i * weights_i mod q`, rows of any residues below `2^61`, weights in `[0, q)`:
/// the inner loop of base conversion. Takes up to [`MAX_PRODUCTS`] rows.
pub(crate) fn weighted_sum(table: &NttTable, out: &mut [u64], rows: &[&[u64]], weights: &[u64]) {
    match table.backend() {
        Backend::Scalar => scalar::weighted_sum(table, out, rows, weights),
    }
}

/// `out = a mod q` for residues of another prime, centred there first: `a` in `[0, p)` stands for
/// the integer in `[-(p-1)/2, (p-1)/2]`.
pub(crate) fn reduce_centered(table: &NttTable, out: &mut [u64], a: &[u64], p: &Modulus) {
    match table.backend() {
        Backend::Scalar => scalar::reduce_centered(table, out, a, p),
    }
}

/// `out[i] = a[map[i]]`: an automorphism in NTT form. All entries of `map` are below `a.len()`.
pub(crate) fn permute(table: &NttTable, out: &mut [u64], a: &[u64], map: &[u32]) {
    match table.backend() {
        Backend::Scalar => scalar::permute(out, a, map),
    }
}
