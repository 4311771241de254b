//! The pointwise kernels besides products: for any [`Arithmetic`] with [`Integers`], or [`Sums`].

use super::{
    Column, Part, Term, WeightedRows,
    integers::{Integers, Sums, block_at, load_terms},
    pointwise::{lines, lines_mut},
    simd::{Arithmetic, Line, V, Wide},
};
use crate::gadget::DigitGadget;
use crate::modulus::Modulus;

#[inline(always)]
pub(super) fn add_assign<A: Arithmetic>(f: A, a: &mut [u64], b: &[u64]) {
    let w = f.wide();
    for (x, y) in lines_mut(a).iter_mut().zip(lines(b)) {
        w.store(f.add(w.load(x), w.load(y)), x);
    }
}

#[inline(always)]
pub(super) fn sub_assign<A: Arithmetic>(f: A, a: &mut [u64], b: &[u64]) {
    let w = f.wide();
    for (x, y) in lines_mut(a).iter_mut().zip(lines(b)) {
        w.store(f.sub(w.load(x), w.load(y)), x);
    }
}

/// Lines of the sums computed at a time, so that their dependent additions overlap.
const BLOCK: usize = 4;

#[inline(always)]
pub(super) fn sum_of_products<A: Sums>(f: A, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
    let whole = Part { before: 0, all: pairs.len() };
    sums::<A, 1, false>(f, [out], pairs.iter().map(|&(a, b)| (a, [b])), whole);
}

/// Two columns at a time, which share the reads of the rows.
#[inline(always)]
pub(super) fn columns_of_products<A: Sums>(
    f: A,
    rows: &[&[u64]],
    columns: &mut [Column],
    part: Part,
) {
    // Two columns share each load of a row.
    let (pairs, rest) = columns.as_chunks_mut::<2>();
    for [x, y] in pairs {
        let terms = rows.iter().zip(x.factors).zip(y.factors).map(|((&a, &b), &c)| (a, [b, c]));
        sums::<A, 2, true>(f, [&mut *x.out, &mut *y.out], terms, part);
    }
    for x in rest {
        let terms = rows.iter().zip(x.factors).map(|(&a, &b)| (a, [b]));
        sums::<A, 1, true>(f, [&mut *x.out], terms, part);
    }
}

/// Parts of sums of products. Each term is a factor of all sums, then one factor per sum, possibly
/// `PACKED`.
#[inline(always)]
fn sums<'a, A: Sums, const C: usize, const PACKED: bool>(
    f: A,
    mut out: [&mut [u64]; C],
    terms: impl ExactSizeIterator<Item = (&'a [u64], [&'a [u64]; C])> + Clone,
    part: Part,
) {
    // Blocks of several lines, then the rest line by line.
    let lines = out[0].len() / 8;
    let done = lines / BLOCK * BLOCK;
    for first in (0..done).step_by(BLOCK) {
        sum_block::<A, BLOCK, C, PACKED>(f, &mut out, first, terms.clone(), part);
    }
    for first in done..lines {
        sum_block::<A, 1, C, PACKED>(f, &mut out, first, terms.clone(), part);
    }
}

/// Parts of sums of products on `B` lines.
#[inline(always)]
fn sum_block<'a, A: Sums, const B: usize, const C: usize, const PACKED: bool>(
    f: A,
    out: &mut [&mut [u64]; C],
    first: usize,
    mut terms: impl ExactSizeIterator<Item = (&'a [u64], [&'a [u64]; C])> + Clone,
    part: Part,
) {
    let w = f.wide();
    let mut totals = [[w.splat(0); B]; C];
    let ends = part.before + terms.len() == part.all;
    // Step 1: resume the sums of earlier parts.
    if part.before > 0 {
        for c in 0..C {
            let lines = block_at::<B>(out[c], first);
            for i in 0..B {
                totals[c][i] = w.load(&lines[i]);
            }
        }
    }
    // Step 2: as many products per reduction as an accumulator holds.
    while terms.len() > 0 {
        // The last reduction leaves residues; the others leave a form to resume from.
        let last = ends && terms.len() <= f.products();
        let mut sums = [[f.no_products(); B]; C];
        for c in 0..C {
            for i in 0..B {
                sums[c][i] = f.resume(totals[c][i], last);
            }
        }
        // One load of the row serves all columns.
        for (a, factors) in terms.by_ref().take(f.products()) {
            let a = load_terms::<A, B>(f, a, first);
            for c in 0..C {
                let b = match PACKED {
                    true => f.packed(factors[c], first),
                    false => load_terms::<A, B>(f, factors[c], first),
                };
                for i in 0..B {
                    sums[c][i] = f.accumulate(sums[c][i], a[i], b[i]);
                }
            }
        }
        for c in 0..C {
            for i in 0..B {
                totals[c][i] = if last { f.reduce_sum(sums[c][i]) } else { f.pause(sums[c][i]) };
            }
        }
    }
    // Step 3: store the residues, or the paused sums.
    for c in 0..C {
        for (line, total) in lines_mut(out[c])[first..first + B].iter_mut().zip(totals[c]) {
            w.store(total, line);
        }
    }
}

/// `out` is at the positions from `first` on.
#[inline(always)]
pub(super) fn sum_of_terms<A: Sums>(f: A, out: &mut [u64], first: usize, terms: &[Term]) {
    // Whole tiles, then the rest line by line.
    let (tiles, rest) = lines_mut(out).as_chunks_mut::<TILE>();
    let (first, done) = (first / 8, TILE * tiles.len());
    for (i, tile) in tiles.iter_mut().enumerate() {
        term_block(f, tile, first + TILE * i, terms);
    }
    for (i, line) in rest.iter_mut().enumerate() {
        term_block(f, std::array::from_mut(line), first + done + i, terms);
    }
}

/// Lines of a tile.
const TILE: usize = 8;

/// [`sum_of_terms`] on `B` lines.
#[inline(always)]
fn term_block<A: Sums, const B: usize>(f: A, out: &mut [Line; B], first: usize, terms: &[Term]) {
    let w = f.wide();
    let mut totals = [w.splat(0); B];
    // The total of the earlier chunks starts the sum of the next.
    for terms in terms.chunks(f.products()) {
        let mut sums = [f.no_products(); B];
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum = f.sum_of(total);
        }
        for term in terms {
            let row = load_terms::<A, B>(f, term.row, first);
            // One line is the factor of all lines of the tile.
            if term.is_by_tile() {
                let factor = f.term(w.load(&lines(term.factor)[first / TILE]));
                for i in 0..B {
                    sums[i] = f.accumulate(sums[i], row[i], factor);
                }
            } else {
                let factor = load_terms::<A, B>(f, term.factor, first);
                for i in 0..B {
                    sums[i] = f.accumulate(sums[i], row[i], factor[i]);
                }
            }
        }
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = f.reduce_sum(sum);
        }
    }
    for (total, line) in totals.into_iter().zip(out) {
        w.store(total, line);
    }
}

/// Eight bytes per line. The slices are as long as the polynomial.
#[inline(always)]
fn bytes(a: &[u8]) -> &[[u8; 8]] {
    a.as_chunks().0
}

#[inline(always)]
pub(super) fn weighted_sum<A: Sums>(f: A, out: &mut [u64], sum: WeightedRows) {
    // Blocks of several lines, then the rest line by line.
    let (blocks, rest) = lines_mut(out).as_chunks_mut::<BLOCK>();
    let done = BLOCK * blocks.len();
    for (i, block) in blocks.iter_mut().enumerate() {
        weighted_block(f, block, BLOCK * i, sum);
    }
    for (i, line) in rest.iter_mut().enumerate() {
        weighted_block(f, std::array::from_mut(line), done + i, sum);
    }
}

/// [`weighted_sum`] on `B` lines.
#[inline(always)]
fn weighted_block<A: Sums, const B: usize>(
    f: A,
    out: &mut [Line; B],
    first: usize,
    sum: WeightedRows,
) {
    let w = f.wide();
    let mut totals = [w.splat(0); B];
    let most = f.products() - 1;
    let mut multiples = sum.multiples;
    // One product less than fits, for the quotients.
    for (rows, weights) in sum.rows.chunks(most).zip(sum.weights.chunks(most)) {
        let mut sums = [f.no_products(); B];
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum = f.sum_of(total);
        }
        for (row, &weight) in rows.iter().zip(weights) {
            let weight = f.term(w.splat(weight));
            let row = load_terms::<A, B>(f, row, first);
            for i in 0..B {
                sums[i] = f.accumulate(sums[i], row[i], weight);
            }
        }
        // The quotients enter the first accumulator, which has one product left for them.
        if let Some((multiples, weight)) = multiples.take() {
            let weight = f.term(w.splat(weight));
            for (sum, multiples) in sums.iter_mut().zip(&bytes(multiples)[first..]) {
                *sum = f.accumulate(*sum, f.term(w.load_bytes(multiples)), weight);
            }
        }
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = f.reduce_sum(sum);
        }
    }
    for (total, line) in totals.into_iter().zip(out) {
        w.store(total, line);
    }
}

#[inline(always)]
pub(super) fn reduce_centered<A: Sums>(f: A, q: &Modulus, out: &mut [u64], a: &[u64], p: u64) {
    let w = f.wide();
    // Residues above (p - 1) / 2 represent negative integers: subtract p.
    let (half, p_residue) = (w.splat(p / 2), w.splat(q.reduce(p)));
    for (x, y) in lines_mut(out).iter_mut().zip(lines(a)) {
        w.store(centered(f, w.load(y), half, p_residue), x);
    }
}

/// `y` modulo `p`, centred, modulo `q`.
#[inline(always)]
fn centered<A: Sums>(f: A, y: V<A>, half: V<A>, p_residue: V<A>) -> V<A> {
    f.sub(f.reduce(y), f.wide().keep_if_greater(y, half, p_residue))
}

#[inline(always)]
pub(super) fn add_scaled_difference<A: Sums>(
    f: A,
    q: &Modulus,
    acc: &mut [u64],
    a: &[u64],
    b: &[u64],
    p: &Modulus,
    factor: u64,
) {
    let w = f.wide();
    let (half, p_residue) = (w.splat(p.value() / 2), w.splat(q.reduce(p.value())));
    let factor = f.root(f.companion(factor));
    for ((x, a), b) in lines_mut(acc).iter_mut().zip(lines(a)).zip(lines(b)) {
        // b represents a centred integer modulo p.
        let b = centered(f, w.load(b), half, p_residue);
        let difference = f.sub(w.load(a), b);
        w.store(f.add(w.load(x), f.mul_root(difference, factor)), x);
    }
}

/// As [`DigitGadget::decompose`]. A coefficient plus `2^(drop + w d)`, which exceeds `q / 2`, is
/// not negative, so all shifts are logical. Only the last digit depends on this offset.
#[inline(always)]
pub(super) fn signed_digits<A: Arithmetic<W: Integers>>(
    f: A,
    q: &Modulus,
    gadget: &DigitGadget,
    out: &mut [u64],
    a: &[u64],
) {
    let w = f.wide();
    let (base_log, drop, count) = (gadget.base_log(), gadget.dropped_bits(), gadget.digits());
    let lift = 1u64 << (drop + base_log * count as u32);
    let (half_q, q, start) = (q.value() / 2, q.value(), lift + ((1u64 << drop) >> 1));
    let (half_q, q, start) = (w.splat(half_q), w.splat(q), w.splat(start));
    let half = w.splat(1 << (base_log - 1));
    let mask = w.splat((1 << base_log) - 1);
    let (drop, base_bits) = (w.splat(drop as u64), w.splat(base_log as u64));
    let top = w.splat(1 << base_log);
    let lines = a.len() / 8;
    let out = lines_mut(out);
    for (i, x) in self::lines(a).iter().enumerate() {
        let x = w.load(x);
        // Centre and add the offset and the rounding term.
        let centered = w.sub(x, w.keep_if_greater(x, half_q, q));
        let mut rest = w.shift_right(w.add(centered, start), drop);
        // Digits in [-2^(w-1), 2^(w-1)), lifted to [0, q).
        for j in 0..count - 1 {
            let shifted = w.add(rest, half);
            let digit = w.sub(w.add(w.and(shifted, mask), q), half);
            w.store(w.subtract_if_large(digit, q), &mut out[j * lines + i]);
            rest = w.shift_right(shifted, base_bits);
        }
        // The last digit, with the offset removed.
        let digit = w.sub(w.add(rest, q), top);
        w.store(w.subtract_if_large(digit, q), &mut out[(count - 1) * lines + i]);
    }
}

#[inline(always)]
pub(super) fn permute_signed<A: Arithmetic<W: Integers>>(f: A, out: &mut [u64], a: &[u64], h: u32) {
    let (w, n) = (f.wide(), a.len() as u32);
    let zero = w.splat(0);
    // Multiples of h for the lanes of a line.
    let offsets: [u32; 8] = std::array::from_fn(|lane| h.wrapping_mul(lane as u32));
    for (i, x) in lines_mut(out).iter_mut().enumerate() {
        let first = h.wrapping_mul(8 * i as u32);
        let index = offsets.map(|offset| first.wrapping_add(offset));
        let value = w.gather(a, &index);
        // A negated value is chosen where bit N of the index is set.
        let wrapped = w.load(&index.map(|i| u64::from(i & n)));
        let change = w.sub(f.sub(zero, value), value);
        w.store(w.add(value, w.keep_if_greater(wrapped, zero, change)), x);
    }
}

#[inline(always)]
pub(super) fn permute<W: Integers>(w: W, out: &mut [u64], a: &[u64], map: &[u32]) {
    for (x, index) in lines_mut(out).iter_mut().zip(map.as_chunks().0) {
        w.store(w.gather(a, index), x);
    }
}

/// As `scalar::ranks`. The sign of a difference is its top bit.
#[inline(always)]
pub(super) fn ranks<W: Integers>(
    w: W,
    thresholds: &[[u64; 2]],
    [high, low]: [&[u64]; 2],
    out: &mut [i64],
) {
    // Two lines at a time, so that their dependent subtractions overlap.
    let sign = w.splat(63);
    let lines = lines(high).as_chunks::<2>().0.iter().zip(lines(low).as_chunks::<2>().0);
    let out = lines_mut(bytemuck::cast_slice_mut(out)).as_chunks_mut::<2>().0;
    for (out, (high, low)) in out.iter_mut().zip(lines) {
        let (high, low) = (high.each_ref().map(|x| w.load(x)), low.each_ref().map(|x| w.load(x)));
        let mut ranks = [w.splat(thresholds.len() as u64); 2];
        for [threshold_high, threshold_low] in thresholds {
            let (threshold_high, threshold_low) =
                (w.splat(*threshold_high), w.splat(*threshold_low));
            // The borrow of the low word enters the difference of the high words.
            for i in 0..2 {
                let borrow = w.shift_right(w.sub(low[i], threshold_low), sign);
                let difference = w.sub(w.sub(high[i], threshold_high), borrow);
                ranks[i] = w.sub(ranks[i], w.shift_right(difference, sign));
            }
        }
        for (x, rank) in out.iter_mut().zip(ranks) {
            w.store(rank, x);
        }
    }
}
