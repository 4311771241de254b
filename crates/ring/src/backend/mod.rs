//! The kernels for several instruction sets. The back end is chosen once, when a table is built.
//!
//! Every kernel works on the residues of one limb. `scalar.rs` is the reference. The file of each
//! instruction set offers the same functions; `neon.rs` offers some of them. Each function is an
//! instance of the generic code in `ntt.rs`, `pointwise.rs`, `pointwise_words.rs` and `cmux.rs` for
//! the arithmetic in `shoup64.rs`, `ifma.rs` or `double.rs`. All results are equal bit for bit.
//! This folder is the only place in the workspace that may contain `unsafe`.
//!
//! | module | contents |
//! | --- | --- |
//! | `choice`, `prime_sizes` | the instruction sets and the choice between them; limits on primes |
//! | `scalar` | the reference kernels |
//! | `avx2`, `avx2_fma`, `avx512`, `avx512_fma`, `ifma`, `neon` | the instruction sets |
//! | `simd`, `integers`, `floats` | traits: all registers; integer products; floating point |
//! | `double`, `double_sums`, `double_kernels` | arithmetic in floating point; sums; its kernels |
//! | `shoup64`, `shoup64_kernels` | Shoup arithmetic in 64-bit words; its vector kernels |
//! | `ntt`, `ntt_layout` | the transform and its memory layout |
//! | `ntt_first_pass`, `ntt_sources` | its fusion with base conversion |
//! | `pointwise`, `pointwise_words` | pointwise products; the other pointwise kernels |
//! | `operands` | what the kernels take: rows, columns, terms, targets, pieces |
//! | `permutation` | automorphisms in NTT form |
//! | `cmux` | the inner loop of blind rotation |
//! | `subring` | maps between a ring and a subring |
//! | `chacha20` | the keystream of seeds |
//! | `memcheck` | marks for valgrind; with the feature `memcheck` alone |

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_floats;
#[cfg(target_arch = "x86_64")]
mod avx2_fma;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_fma;
pub(crate) mod chacha20;
pub(crate) mod choice;
#[cfg(target_arch = "x86_64")]
mod cmux;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod double;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod double_kernels;
#[cfg(target_arch = "x86_64")]
mod double_sums;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod floats;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod integers;
#[cfg(feature = "memcheck")]
pub mod memcheck;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod ntt;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod ntt_first_pass;
mod ntt_layout;
#[cfg(target_arch = "x86_64")]
mod ntt_sources;
mod operands;
mod permutation;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod pointwise;
#[cfg(target_arch = "x86_64")]
mod pointwise_words;
mod prime_sizes;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod shoup64;
#[cfg(target_arch = "x86_64")]
mod shoup64_kernels;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod simd;
#[cfg(target_arch = "x86_64")]
mod subring;
#[cfg(test)]
mod tests;

pub use choice::Backend;
pub(crate) use choice::MIN_WIDE_DEGREE;
pub(crate) use ntt_layout::{Blocks, Layout, copy_to_bursts};
pub(crate) use operands::{
    Column, MAX_PRODUCTS, Part, Piece, QuotientTerms, RowKind, SubringTask, Target, Term,
    WeightedRows,
};
pub(crate) use permutation::Permutation;

use crate::gadget::DigitGadget;
use crate::modulus::Modulus;
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;
use choice::of_transform;

/// Calls a kernel on the back end of the table, or on a given back end. The word `neon` says that
/// NEON has this kernel too; it runs all others in portable Rust.
macro_rules! dispatch {
    ($backend:expr, $table:ident . $kernel:ident ($($argument:expr),*), neon) => {
        match $backend {
            // SAFETY: as below.
            #[cfg(target_arch = "aarch64")]
            Backend::Neon => unsafe { neon::$kernel($table, $($argument),*) },
            backend => dispatch!(backend, $table.$kernel($($argument),*)),
        }
    };
    ($table:ident . $kernel:ident ($($argument:expr),*), neon) => {
        dispatch!($table.backend(), $table.$kernel($($argument),*), neon)
    };
    ($table:ident . $kernel:ident ($($argument:expr),*)) => {
        dispatch!($table.backend(), $table.$kernel($($argument),*))
    };
    ($backend:expr, $table:ident . $kernel:ident ($($argument:expr),*)) => {
        match $backend {
            // SAFETY: no table is built for a back end that `Backend::check` refuses, and that
            // checks for the target features of the kernels in its file.
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 => unsafe { avx2::$kernel($table, $($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2Fma => unsafe { avx2_fma::$kernel($table, $($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => unsafe { avx512::$kernel($table, $($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Fma => unsafe { avx512_fma::$kernel($table, $($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Backend::Ifma => unsafe { ifma::$kernel($table, $($argument),*) },
            _ => scalar::$kernel($table, $($argument),*),
        }
    };
}

/// The back end of the transforms of this table.
fn of_table(table: &NttTable) -> Backend {
    of_transform(table.backend(), table.degree())
}

/// Forward transform, `[0, 4q) -> [0, q)`.
pub(crate) fn forward_ntt(table: &NttTable, a: &mut [u64]) {
    let words = piece_words(table);
    if words < a.len() {
        dispatch!(of_table(table), table.forward_over_pieces(a, 0), neon);
    }
    finish_forward(table, a);
}

/// Inverse transform, `[0, q) -> [0, q)`.
pub(crate) fn inverse_ntt(table: &NttTable, a: &mut [u64]) {
    let (words, last) = (piece_words(table), table.last_factors);
    for (i, piece) in a.chunks_exact_mut(words).enumerate() {
        dispatch!(of_table(table), table.inverse_piece(last, None, i, piece), neon);
    }
    if words < a.len() {
        dispatch!(of_table(table), table.inverse_over_pieces(last, a), neon);
    }
}

/// Inverse transform of a polynomial in `[0, q)`, times a constant in `[0, q)`, into the
/// [bursts](Layout::bursts_of_rows) of a row in blocks, in `[0, q)`. `buffer` holds one row.
pub(crate) fn inverse_to_bursts(
    table: &NttTable,
    from: &[u64],
    w: u64,
    buffer: &mut [u64],
    bursts: &mut [&mut [u64]],
) {
    let last = table.last_factors.map(|[factor, _]| table.factor(table.modulus().mul(factor, w)));
    for (i, piece) in buffer.chunks_exact_mut(piece_words(table)).enumerate() {
        dispatch!(of_table(table), table.inverse_piece(last, Some(from), i, piece), neon);
    }
    dispatch!(of_table(table), table.inverse_to_blocks(last, buffer, bursts), neon);
}

/// `a += b`, all in `[0, q)`.
pub(crate) fn add_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    dispatch!(table.add_assign(a, b));
}

/// `a -= b`, all in `[0, q)`.
pub(crate) fn sub_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    dispatch!(table.sub_assign(a, b));
}

/// `a = -a`, in `[0, q)`; any number of words.
pub(crate) fn neg_assign(table: &NttTable, a: &mut [u64]) {
    dispatch!(table.neg_assign(a));
}

/// `a *= b` pointwise, all in `[0, q)`.
pub(crate) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    dispatch!(table.mul_assign(a, b), neon);
}

/// `acc += a b` pointwise, all in `[0, q)`.
pub(crate) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
    dispatch!(table.mul_add_assign(acc, a, b), neon);
}

/// `out = sum_i a_i b_i` pointwise, all in `[0, q)`. There is one reduction for as many products as
/// an accumulator of the back end holds: 15 in 52-bit words, otherwise all. At most
/// [`MAX_PRODUCTS`] pairs.
pub(crate) fn sum_of_products(table: &NttTable, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
    debug_assert!(pairs.len() <= MAX_PRODUCTS);
    dispatch!(table.sum_of_products(out, pairs));
}

/// Parts of sums of products of rows with the factors of each column, as [`sum_of_products`]. There
/// are fewer than [`MAX_PRODUCTS`] rows, in `[0, q)` or as [`forward_piece`] leaves them for this
/// kernel.
pub(crate) fn columns_of_products(
    table: &NttTable,
    rows: &[&[u64]],
    columns: &mut [Column],
    part: Part,
) {
    debug_assert!((1..MAX_PRODUCTS).contains(&rows.len()));
    debug_assert!(part.before + rows.len() <= part.all, "a part of the sum");
    debug_assert!(columns.iter().all(|Column { out, factors }| {
        let words = out.len() / 8 * table.packed_bytes();
        factors.len() == rows.len() && factors.iter().all(|factor| factor.len() == words)
    }));
    dispatch!(table.columns_of_products(rows, columns, part));
}

/// `out = sum_t factor_t row_t` at the positions from `first` on, a multiple of 64. Any number of
/// terms, all in `[0, q)`.
pub(crate) fn sum_of_terms(table: &NttTable, out: &mut [u64], first: usize, terms: &[Term]) {
    dispatch!(table.sum_of_terms(out, first, terms));
}

/// `a *= w` by a constant in `[0, q)`; `[0, 4q) -> [0, q)`.
pub(crate) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
    dispatch!(table.mul_constant(a, w), neon);
}

/// `a = (a - b) * w`, all in `[0, q)`.
pub(crate) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
    dispatch!(table.sub_mul_constant(a, b, w), neon);
}

/// `acc += a w` by a constant in `[0, q)`, all in `[0, q)`.
pub(crate) fn add_multiple(table: &NttTable, acc: &mut [u64], a: &[u64], w: u64) {
    dispatch!(table.add_multiple(acc, a, w), neon);
}

/// `out = sum_i rows_i * weights_i mod q`.
pub(crate) fn weighted_sum(table: &NttTable, out: &mut [u64], sum: WeightedRows) {
    debug_assert!(sum.rows.len() < MAX_PRODUCTS && sum.row_bits() <= 61);
    dispatch!(table.weighted_sum(out, sum));
}

/// Words of the pieces in which [`forward_piece`] finishes a transform.
pub(crate) fn piece_words(table: &NttTable) -> usize {
    match of_table(table) {
        Backend::Scalar => table.degree(),
        _ => ntt_layout::piece_words(table.degree()),
    }
}

/// The number of times that rows are read for some targets. IFMA reads them once for two targets.
fn readers(targets: &[Target]) -> usize {
    let groups = targets.chunk_by(|a, b| a.table.backend() == b.table.backend());
    let readers = groups.map(|group| match group[0].table.backend() {
        Backend::Ifma => group.len().div_ceil(2),
        _ => group.len(),
    });
    readers.sum()
}

/// Converts rows to the primes of some targets, and computes the first half of the forward
/// transforms.
pub(crate) fn forward_outer(targets: &mut [Target], blocks: Blocks, rows: RowKind) {
    if let RowKind::Several(bits) = rows {
        debug_assert!((2..MAX_PRODUCTS).contains(&bits.len()));
        debug_assert!(bits.iter().all(|&bits| bits <= 61));
    }
    // The first pass reads the blocks once per target; a batch of them stays in cache meanwhile.
    for steps in blocks.layout.step_batches(readers(targets)) {
        for targets in targets.chunk_by_mut(|a, b| a.table.backend() == b.table.backend()) {
            dispatch!(of_table(targets[0].table), targets.first_pass(blocks, &steps, rows), neon);
        }
    }
    // The remaining passes over the whole polynomial.
    let done = blocks.layout.first_stages();
    for Target { table, out, .. } in targets {
        dispatch!(of_table(table), table.forward_over_pieces(out, done), neon);
    }
}

/// The second half of a forward transform, for one piece.
pub(crate) fn forward_piece(table: &NttTable, a: &mut [u64], piece: Piece) {
    debug_assert!(piece.ahead.iter().all(|row| row.len() <= a.len()));
    debug_assert!((piece.index + 1) * a.len() <= table.degree(), "a piece of the transform");
    dispatch!(of_table(table), table.forward_piece(a, piece), neon);
}

/// The second half of a forward transform, reduced to `[0, q)`.
pub(crate) fn finish_forward(table: &NttTable, a: &mut [u64]) {
    for (i, piece) in a.chunks_exact_mut(piece_words(table)).enumerate() {
        forward_piece(table, piece, Piece::reduced(i));
    }
}

/// `out = (dividend - remainder) w + addend v` for factors `[w, v]`, all in `[0, q)`: a quotient.
pub(crate) fn quotient(table: &NttTable, out: &mut [u64], terms: QuotientTerms, factors: [u64; 2]) {
    dispatch!(table.quotient(out, terms, factors), neon);
}

/// `out = a mod q` for residues modulo an odd `p < 2^63`, centred first: `a` in `[0, p)` represents
/// the integer in `[-(p-1)/2, (p-1)/2]`.
pub(crate) fn reduce_centered(table: &NttTable, out: &mut [u64], a: &[u64], p: u64) {
    dispatch!(table.reduce_centered(out, a, p));
}

/// `acc += (a - [b]) w` with `b` modulo another prime `p`, centred. All others are in `[0, q)`.
pub(crate) fn add_scaled_difference(
    table: &NttTable,
    acc: &mut [u64],
    a: &[u64],
    b: &[u64],
    p: &Modulus,
    w: u64,
) {
    dispatch!(table.add_scaled_difference(acc, a, b, p, w));
}

/// The inner loop of blind rotation: [`MonomialTable::ternary_product`].
pub(crate) fn ternary_product(
    table: &NttTable,
    monomials: &MonomialTable,
    k: usize,
    digits: &[u64],
    key: &[u64],
    out: &mut [u64],
) {
    dispatch!(of_table(table), table.ternary_product(monomials, k, digits, key, out));
}

/// [`DigitGadget::decompose`] for a gadget of the table's prime.
pub(crate) fn signed_digits(table: &NttTable, gadget: &DigitGadget, out: &mut [u64], a: &[u64]) {
    // The vector kernels work on words of at most 63 bits.
    let wide = gadget.dropped_bits() + gadget.base_log() * (gadget.digits() as u32) < 63;
    let backend = if wide { table.backend() } else { Backend::Scalar };
    dispatch!(backend, table.signed_digits(gadget, out, a));
}

/// `out = round(sum_i rows_i * reciprocals_i)` in floating point: the number of multiples of the
/// modulus by which a base conversion exceeds the centred representative. There are fewer than
/// [`MAX_PRODUCTS`] rows, one after the other, with values below `2^61`.
pub(crate) fn quotients(table: &NttTable, out: &mut [u8], rows: &[u64], reciprocals: &[f64]) {
    dispatch!(table.quotients(out, rows, reciprocals));
}

/// `out[i] = a[i h]` with indices modulo `2N` and `a[N + j] = -a[j]`: the automorphism
/// `X -> X^(1/h)` on coefficients in `[0, q)`.
pub(crate) fn permute_signed(table: &NttTable, out: &mut [u64], a: &[u64], h: u32) {
    dispatch!(table.permute_signed(out, a, h));
}

/// `out[i] = a[places[i]]`: an automorphism in NTT form.
pub(crate) fn permute(table: &NttTable, out: &mut [u64], a: &[u64], places: &Permutation) {
    assert!(
        places.len() == out.len() && a.len() == out.len(),
        "the automorphism must have this degree"
    );
    dispatch!(table.permute(out, a, places));
}

/// Whether there are kernels for maps from the degree of a table to a degree that is `factor` times
/// smaller.
pub(crate) fn subring_kernels(table: &NttTable, factor: usize) -> bool {
    let tiled = table.degree() >= MIN_WIDE_DEGREE * factor;
    let wide = !matches!(table.backend(), Backend::Scalar | Backend::Neon);
    wide && tiled && matches!(factor, 2 | 4 | 8)
}

/// Runs a task with kernels on the back end of the table of degree `N`.
#[cfg(target_arch = "x86_64")]
pub(crate) fn map_subring(table: &NttTable, factor: usize, task: SubringTask) {
    debug_assert!(subring_kernels(table, factor));
    subring::run(table, factor, task);
}

/// Runs a task with kernels. There are none on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn map_subring(_: &NttTable, _: usize, _: SubringTask) {
    unreachable!("`subring_kernels` says that there are none");
}

/// Maps random words to uniform residues, as [`crate::sample::fill_uniform`] defines it. Returns
/// the number of residues; the words behind them in `out` are meaningless. Stops when `out` is
/// full.
pub(crate) fn residues(backend: Backend, q: &Modulus, words: &[u64], out: &mut [u64]) -> usize {
    assert!(backend.check(q).is_ok(), "the CPU must support the back end for this modulus");
    match backend {
        // SAFETY: asserted above.
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 | Backend::Avx512Fma => unsafe { avx512::residues(q, words, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Backend::Ifma => unsafe { ifma::residues(q, words, out) },
        _ => scalar::residues(q, words, out),
    }
}

/// The number of thresholds that are not above each draw, in constant time. Draws and thresholds
/// have 126 bits, in a high and a low word of 63 bits. The number of draws is a multiple of
/// sixteen.
pub(crate) fn ranks(
    backend: Backend,
    thresholds: &[[u64; 2]],
    draws: [&[u64]; 2],
    out: &mut [i64],
) {
    debug_assert!(draws.iter().all(|words| words.len() == out.len()));
    debug_assert!(out.len().is_multiple_of(16));
    assert!(backend.is_detected(), "the CPU must support the back end");
    match backend {
        // SAFETY: asserted above.
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 | Backend::Avx2Fma => unsafe { avx2::ranks(thresholds, draws, out) },
        // SAFETY: as above; IFMA comes with AVX-512.
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 | Backend::Avx512Fma | Backend::Ifma => unsafe {
            avx512::ranks(thresholds, draws, out)
        },
        _ => scalar::ranks(thresholds, draws, out),
    }
}
