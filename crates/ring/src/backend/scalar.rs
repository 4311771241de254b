//! Portable kernels: Harvey's lazy butterflies with Shoup products on 64-bit words.
//!
//! D. Harvey, "Faster arithmetic for number-theoretic transforms", J. Symb. Comp. 60 (2014):
//! values stay in `[0, 4q)` in the forward and in `[0, 2q)` in the inverse transform.

use std::ops::Range;

use super::{
    Blocks, Column, MAX_PRODUCTS, Part, Permutation, Piece, QuotientTerms, RowKind, Target, Term,
    WeightedRows, copy_to_bursts, ntt_layout,
};
use crate::gadget::DigitGadget;
use crate::modulus::{self, Modulus};
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;
use crate::ntt::roots::{Line, RECORD};

/// The whole polynomial is one piece, so there are no passes over several pieces.
pub(super) fn forward_over_pieces(_: &NttTable, _: &mut [u64], _: u32) {}

/// Decimation in time: `log2(N)` stages of `(x, y) -> (x + w y, x - w y)`. For degrees with tiles,
/// the last six stages run tile by tile, the last three of them after a transposition.
pub(super) fn forward_piece(table: &NttTable, a: &mut [u64], _: Piece) {
    let q = table.modulus();
    let two_q = 2 * q.value();
    // Step 1: the stages above the tiles, or all stages for small degrees.
    let roots = &table.forward_roots;
    let mut half = a.len() / 2;
    let mut nodes = 1;
    let stop = if roots.is_tiled() { a.len() / 64 } else { a.len() };
    while nodes < stop {
        for (node, block) in a.chunks_exact_mut(2 * half).enumerate() {
            let w = roots.head[nodes + node];
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                forward_butterfly(q, x, y, w);
            }
        }
        nodes *= 2;
        half /= 2;
    }
    // Step 2: the last six stages, tile by tile.
    if roots.is_tiled() {
        let first_tile = a.len() / 64;
        let records = roots.records::<{ 2 * RECORD }>();
        let tiles = a.as_chunks_mut::<64>().0.iter_mut();
        for (index, (tile, factors)) in tiles.zip(records).enumerate() {
            forward_tile(q, roots.head[first_tile + index], factors, tile);
        }
    }
    // Step 3: [0, 4q) -> [0, q).
    for x in a {
        *x = subtract_if_large(subtract_if_large(*x, two_q), q.value());
    }
}

/// Decimation in frequency: `log2(N)` stages of `(x, y) -> (x + y, (x - y) w)`, the last one with
/// the factor `1 / N`.
pub(super) fn inverse_piece(
    table: &NttTable,
    last: [[u64; 2]; 2],
    from: Option<&[u64]>,
    _index: usize,
    a: &mut [u64],
) {
    if let Some(from) = from {
        a.copy_from_slice(from);
    }
    // The stages of `forward_piece` in reverse.
    let q = table.modulus();
    let two_q = 2 * q.value();
    let roots = &table.inverse_roots;
    let mut half = if roots.is_tiled() { 64 } else { 1 };
    let mut nodes = a.len() / 2 / half;
    // Step 1: the first six stages, tile by tile.
    if roots.is_tiled() {
        let first_tile = a.len() / 64;
        let records = roots.records::<{ 2 * RECORD }>();
        let tiles = a.as_chunks_mut::<64>().0.iter_mut();
        for (index, (tile, factors)) in tiles.zip(records).enumerate() {
            inverse_tile(q, roots.head[first_tile + index], factors, tile);
        }
    }
    // Step 2: the stages above the tiles, except the last one.
    while nodes > 1 {
        for (node, block) in a.chunks_exact_mut(2 * half).enumerate() {
            let w = roots.head[nodes + node];
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                inverse_butterfly(q, x, y, w);
            }
        }
        nodes /= 2;
        half *= 2;
    }
    // Step 3: the last stage, with the factor 1 / N.
    let [[scale, scale_companion], [last, last_companion]] = last;
    let (low, high) = a.split_at_mut(half);
    for (x, y) in low.iter_mut().zip(high) {
        let (u, v) = (*x, *y);
        *x = q.mul_shoup(u + v, scale, scale_companion);
        *y = q.mul_shoup(u + two_q - v, last, last_companion);
    }
}

/// As [`forward_over_pieces`].
pub(super) fn inverse_over_pieces(_: &NttTable, _: [[u64; 2]; 2], _: &mut [u64]) {}

pub(super) fn inverse_to_blocks(
    _: &NttTable,
    _: [[u64; 2]; 2],
    a: &mut [u64],
    bursts: &mut [&mut [u64]],
) {
    copy_to_bursts(a, bursts);
}

/// `(x + w y, x - w y)`, `[0, 4q) -> [0, 4q)`.
#[inline(always)]
fn forward_butterfly(q: &Modulus, x: &mut u64, y: &mut u64, [w, companion]: [u64; 2]) {
    // x is reduced to [0, 2q), and w y is in [0, 2q) for every word y.
    let u = subtract_if_large(*x, 2 * q.value());
    let v = q.mul_shoup_lazy(*y, w, companion);
    *x = u + v;
    *y = u + 2 * q.value() - v;
}

/// `(x + y, (x - y) w)`, `[0, 2q) -> [0, 2q)`.
#[inline(always)]
fn inverse_butterfly(q: &Modulus, x: &mut u64, y: &mut u64, [w, companion]: [u64; 2]) {
    // The difference is offset by 2q to stay nonnegative.
    let (u, v) = (*x, *y);
    *x = subtract_if_large(u + v, 2 * q.value());
    *y = q.mul_shoup_lazy(u + 2 * q.value() - v, w, companion);
}

/// The three stages between the lines of a tile: the lines of each butterfly and its node.
const TILE_PAIRS: [[(usize, usize, usize); 4]; 3] = [
    [(0, 4, 1), (1, 5, 1), (2, 6, 1), (3, 7, 1)],
    [(0, 2, 2), (1, 3, 2), (4, 6, 3), (5, 7, 3)],
    [(0, 1, 4), (2, 3, 5), (4, 5, 6), (6, 7, 7)],
];

/// The last six forward stages of a tile. `first` is the factor of the first one.
#[inline(always)]
fn forward_tile(q: &Modulus, first: [u64; 2], factors: &[Line; 2 * RECORD], tile: &mut [u64; 64]) {
    let butterfly = |x: &mut u64, y: &mut u64, w| forward_butterfly(q, x, y, w);
    // Three stages between the lines of the tile; all lanes share the factors of a node.
    tile_stage(tile, &TILE_PAIRS[0], |_, _| first, butterfly);
    tile_stage(tile, &TILE_PAIRS[1], |node, _| lane(factors, 0, 4 * node - 8), butterfly);
    tile_stage(tile, &TILE_PAIRS[2], |node, _| lane(factors, 1, 2 * node - 8), butterfly);
    // After the transposition, each lane has its own tree of factors.
    transpose(tile);
    for pairs in &TILE_PAIRS {
        tile_stage(tile, pairs, |node, i| lane(factors, 1 + node, i), butterfly);
    }
}

/// The first six inverse stages of a tile: those of [`forward_tile`] in reverse.
#[inline(always)]
fn inverse_tile(q: &Modulus, last: [u64; 2], factors: &[Line; 2 * RECORD], tile: &mut [u64; 64]) {
    let butterfly = |x: &mut u64, y: &mut u64, w| inverse_butterfly(q, x, y, w);
    // Each lane has its own tree of factors until the transposition.
    for pairs in TILE_PAIRS.iter().rev() {
        tile_stage(tile, pairs, |node, i| lane(factors, 1 + node, i), butterfly);
    }
    transpose(tile);
    tile_stage(tile, &TILE_PAIRS[2], |node, _| lane(factors, 1, 2 * node - 8), butterfly);
    tile_stage(tile, &TILE_PAIRS[1], |node, _| lane(factors, 0, 4 * node - 8), butterfly);
    tile_stage(tile, &TILE_PAIRS[0], |_, _| last, butterfly);
}

/// One stage between the lines of a tile, with factors by node and lane.
#[inline(always)]
fn tile_stage(
    tile: &mut [u64; 64],
    pairs: &[(usize, usize, usize)],
    factor: impl Fn(usize, usize) -> [u64; 2],
    butterfly: impl Fn(&mut u64, &mut u64, [u64; 2]),
) {
    for &(first, second, node) in pairs {
        let (low, high) = tile.split_at_mut(8 * second);
        for lane in 0..8 {
            butterfly(&mut low[8 * first + lane], &mut high[lane], factor(node, lane));
        }
    }
}

/// The factor in one lane of a line, with its companion.
fn lane(factors: &[Line; 2 * RECORD], line: usize, lane: usize) -> [u64; 2] {
    [factors[RECORD + line][lane], factors[line][lane]]
}

/// The transposition of an 8 x 8 tile.
fn transpose(tile: &mut [u64; 64]) {
    for row in 0..8 {
        for column in 0..row {
            tile.swap(8 * row + column, 8 * column + row);
        }
    }
}

pub(super) fn add_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    let q = table.modulus();
    for (x, &y) in a.iter_mut().zip(b) {
        *x = q.add(*x, y);
    }
}

pub(super) fn sub_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    let q = table.modulus();
    for (x, &y) in a.iter_mut().zip(b) {
        *x = q.sub(*x, y);
    }
}

/// Also the code of the other back ends, compiled for their instructions.
#[inline(always)]
pub(super) fn neg_assign(table: &NttTable, a: &mut [u64]) {
    let q = table.modulus().value();
    for x in a {
        // q - 0 = q is reduced to 0.
        *x = subtract_if_large(q - *x, q);
    }
}

pub(super) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    let q = table.modulus();
    for (x, &y) in a.iter_mut().zip(b) {
        *x = q.mul(*x, y);
    }
}

pub(super) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let q = table.modulus();
    for ((x, &a), &b) in acc.iter_mut().zip(a).zip(b) {
        *x = q.mul_add(a, b, *x);
    }
}

pub(super) fn sum_of_products(table: &NttTable, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
    let q = table.modulus();
    for (i, x) in out.iter_mut().enumerate() {
        // At most 63 products below 2^122 fit 128 bits.
        let sum: u128 = pairs.iter().map(|(a, b)| a[i] as u128 * b[i] as u128).sum();
        *x = q.reduce_u128(sum);
    }
}

pub(super) fn columns_of_products(
    table: &NttTable,
    rows: &[&[u64]],
    columns: &mut [Column],
    part: Part,
) {
    let q = table.modulus();
    for Column { out, factors } in columns {
        for (i, x) in out.iter_mut().enumerate() {
            let products = rows.iter().zip(*factors).map(|(a, b)| a[i] as u128 * b[i] as u128);
            // The sum of the earlier parts is a residue: it needs no special form here.
            let start = if part.before == 0 { 0 } else { *x as u128 };
            *x = q.reduce_u128(products.fold(start, |sum, product| sum + product));
        }
    }
}

pub(super) fn sum_of_terms(table: &NttTable, out: &mut [u64], first: usize, terms: &[Term]) {
    let q = table.modulus();
    let product = |i: usize, term: &Term| {
        // A factor by tile has one line for all eight lines of the tile.
        let place = if term.is_by_tile() { i / 64 * 8 + i % 8 } else { i };
        term.factor[place] as u128 * term.row[i] as u128
    };
    for (i, x) in (first..).zip(out) {
        // One reduction per accumulator of products.
        let sums = terms
            .chunks(MAX_PRODUCTS)
            .map(|terms| q.reduce_u128(terms.iter().map(|term| product(i, term)).sum()));
        *x = sums.fold(0, |sum, next| q.add(sum, next));
    }
}

pub(super) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
    let q = table.modulus();
    let w_shoup = q.shoup(w);
    for x in a {
        *x = q.mul_shoup(*x, w, w_shoup);
    }
}

pub(super) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
    let q = table.modulus();
    let w_shoup = q.shoup(w);
    for (x, &y) in a.iter_mut().zip(b) {
        *x = q.mul_shoup(*x + q.value() - y, w, w_shoup);
    }
}

pub(super) fn add_multiple(table: &NttTable, acc: &mut [u64], a: &[u64], w: u64) {
    let q = table.modulus();
    let w_shoup = q.shoup(w);
    for (x, &y) in acc.iter_mut().zip(a) {
        *x = q.add(*x, q.mul_shoup(y, w, w_shoup));
    }
}

pub(super) fn weighted_sum(table: &NttTable, out: &mut [u64], sum: WeightedRows) {
    let q = table.modulus();
    let (multiples, weight) = sum.multiples.unzip();
    for (i, x) in out.iter_mut().enumerate() {
        let rows = sum.rows.iter().zip(sum.weights);
        // Rows below 2^61 and weights below 2^61; the multiples are single bytes.
        let mut total: u128 = rows.map(|(r, &w)| r[i] as u128 * w as u128).sum();
        if let (Some(multiples), Some(weight)) = (multiples, weight) {
            total += multiples[i] as u128 * weight as u128;
        }
        *x = q.reduce_u128(total);
    }
}

/// The conversion without any stage: [`forward_piece`] computes the whole transform.
pub(super) fn first_pass(
    targets: &mut [Target],
    blocks: Blocks,
    steps: &Range<usize>,
    rows: RowKind,
) {
    for Target { table, weights, out } in targets {
        // Each block holds the words of all rows at one offset.
        for (first, block) in blocks.iter(steps) {
            let words = blocks.layout.words();
            convert(table, weights, rows, block, &mut out[first..first + words]);
        }
    }
}

/// The residues of a block.
pub(super) fn convert(
    table: &NttTable,
    weights: &[u64],
    rows: RowKind,
    block: &[u64],
    out: &mut [u64],
) {
    match rows {
        RowKind::Several(bits) => {
            ntt_layout::weighted_sum(block, out.len(), bits, weights, |sum| {
                weighted_sum(table, out, sum)
            })
        }
        RowKind::One(p) => reduce_centered(table, out, block, p),
    }
}

pub(super) fn quotient(table: &NttTable, out: &mut [u64], terms: QuotientTerms, factors: [u64; 2]) {
    let QuotientTerms { dividend, remainder, addend } = terms;
    let q = table.modulus();
    let [factor, multiple] = factors.map(|w| (w, q.shoup(w)));
    for (i, x) in out.iter_mut().enumerate() {
        // dividend - remainder, offset by q to stay nonnegative.
        *x = q.mul_shoup(dividend[i] + q.value() - remainder[i], factor.0, factor.1);
        if let Some(d) = addend {
            *x = q.add(*x, q.mul_shoup(d[i], multiple.0, multiple.1));
        }
    }
}

pub(super) fn reduce_centered(table: &NttTable, out: &mut [u64], a: &[u64], p: u64) {
    let q = table.modulus();
    for (x, &y) in out.iter_mut().zip(a) {
        // The centred integer, reduced modulo q.
        *x = q.from_i64(modulus::center(p, y));
    }
}

pub(super) fn add_scaled_difference(
    table: &NttTable,
    acc: &mut [u64],
    a: &[u64],
    b: &[u64],
    p: &Modulus,
    w: u64,
) {
    let q = table.modulus();
    let w_shoup = q.shoup(w);
    for ((x, &a), &b) in acc.iter_mut().zip(a).zip(b) {
        // a - [b] with [b] centred modulo p.
        let difference = a + q.value() - q.from_i64(p.center(b));
        *x = q.add(*x, q.mul_shoup(difference, w, w_shoup));
    }
}

pub(super) fn ternary_product(
    table: &NttTable,
    monomials: &MonomialTable,
    k: usize,
    digits: &[u64],
    key: &[u64],
    out: &mut [u64],
) {
    let (q, n) = (table.modulus(), table.degree());
    let (rows, columns) = (digits.len() / n, out.len() / n);
    for (i, &e) in table.exponents().iter().enumerate() {
        // X^k - 1 and X^-k - 1 at this position.
        let [plus, minus] =
            monomials.powers((e as usize).wrapping_mul(k)).map(|power| q.sub(power, 1));
        // Lines of eight words by position, then (row, sign, column).
        let key = &key[i / 8 * 16 * columns * rows + i % 8..];
        for c in 0..columns {
            // The sums over the digits for both signs.
            let [x, y] = [c, columns + c].map(|c| {
                let products =
                    (0..rows).map(|r| (digits[r * n + i], key[(2 * columns * r + c) * 8]));
                q.reduce_u128(products.map(|(x, y)| x as u128 * y as u128).sum())
            });
            out[c * n + i] = q.reduce_u128(plus as u128 * x as u128 + minus as u128 * y as u128);
        }
    }
}

pub(super) fn signed_digits(_table: &NttTable, gadget: &DigitGadget, out: &mut [u64], a: &[u64]) {
    gadget.decompose(a, out);
}

/// Also the code of the other back ends, compiled for their instructions.
#[inline(always)]
pub(super) fn quotients(_: &NttTable, out: &mut [u8], rows: &[u64], reciprocals: &[f64]) {
    let len = out.len();
    debug_assert_eq!(rows.len(), len * reciprocals.len(), "a reciprocal for each row");
    // Blocks of fixed size, so that the compiler can vectorize.
    let (many, rest) = out.as_chunks_mut::<32>();
    let done = 32 * many.len();
    for (i, out) in many.iter_mut().enumerate() {
        quotients_at(out, 32 * i, len, rows, reciprocals);
    }
    for (i, out) in rest.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        quotients_at(out, done + 8 * i, len, rows, reciprocals);
    }
}

/// `2^52`: adding it rounds a number to an integer, which is in the low bits of the sum.
const UNITS: f64 = 4503599627370496.0;

#[inline(always)]
fn quotients_at<const C: usize>(
    out: &mut [u8; C],
    first: usize,
    len: usize,
    rows: &[u64],
    reciprocals: &[f64],
) {
    // The sum of y_i / q_i in floating point.
    let mut sums = [0.0; C];
    for (row, reciprocal) in rows.chunks_exact(len).zip(reciprocals) {
        let row: &[u64; C] = row[first..].first_chunk().expect("rows as long as the output");
        for (sum, &y) in sums.iter_mut().zip(row) {
            *sum += y as i64 as f64 * reciprocal;
        }
    }
    for (x, sum) in out.iter_mut().zip(sums) {
        *x = (sum + UNITS).to_bits() as u8;
    }
}

pub(super) fn permute(_table: &NttTable, out: &mut [u64], a: &[u64], places: &Permutation) {
    for (x, &i) in out.iter_mut().zip(places.map()) {
        *x = a[i as usize];
    }
}

pub(super) fn permute_signed(table: &NttTable, out: &mut [u64], a: &[u64], h: u32) {
    let (q, n) = (table.modulus(), a.len());
    for (i, x) in (0u32..).zip(out) {
        // Index i h modulo 2N: bit N of the index is the sign.
        let index = i.wrapping_mul(h) as usize;
        let value = a[index & (n - 1)];
        *x = if index & n == 0 { value } else { q.neg(value) };
    }
}

pub(super) fn residues(q: &Modulus, words: &[u64], out: &mut [u64]) -> usize {
    if q.bits() <= 50 {
        // Lemire's method: the high bits of word times q, with a rejection on the low bits.
        let mask = (1 << 52) - 1;
        let lost = (1 << 52) % q.value();
        keep(words, out, |word| {
            let product = u128::from(word & mask) * u128::from(q.value());
            ((product >> 52) as u64, product as u64 & mask >= lost)
        })
    } else {
        // Rejection: the lowest bits of the word if they are below q.
        let mask = u64::MAX >> (64 - q.bits());
        keep(words, out, |word| (word & mask, word & mask < q.value()))
    }
}

pub(super) fn ranks(thresholds: &[[u64; 2]], [high, low]: [&[u64]; 2], out: &mut [i64]) {
    for ((rank, high), low) in out.iter_mut().zip(high).zip(low) {
        // Subtract one for each threshold above the draw: the borrow of a two-word difference.
        *rank = thresholds.len() as i64;
        for [threshold_high, threshold_low] in thresholds {
            let borrow = low.wrapping_sub(*threshold_low) >> 63;
            *rank -= (high.wrapping_sub(*threshold_high).wrapping_sub(borrow) >> 63) as i64;
        }
    }
}

/// Collects the accepted residues until `out` is full.
#[inline(always)]
fn keep(words: &[u64], out: &mut [u64], residue: impl Fn(u64) -> (u64, bool)) -> usize {
    let mut count = 0;
    for &word in words {
        let Some(place) = out.get_mut(count) else { break };
        // The next residue overwrites a rejected one.
        let (x, kept) = residue(word);
        *place = x;
        count += usize::from(kept);
    }
    count
}

/// `x` or `x - bound`, whichever is smaller and not negative; `[0, 2 bound) -> [0, bound)`.
#[inline(always)]
fn subtract_if_large(x: u64, bound: u64) -> u64 {
    // x - bound wraps to a large number if x is smaller.
    x.min(x.wrapping_sub(bound))
}
