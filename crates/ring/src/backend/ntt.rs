//! The negacyclic transform on lines of eight words, for any [`Arithmetic`].
//!
//! Three stages at a time run in registers. A polynomial that exceeds the first-level cache is
//! first split into pieces that fit, by passes over the whole. Each piece is then finished in one
//! go. Its last six stages work on tiles of 64 words: three stages between lines, a transposition
//! of the 8 x 8 tile, and three more stages between lines. The tile stays transposed, which is why
//! [`NttTable::exponents`] is not plain bit reversal.

use super::{
    Piece,
    ntt_layout::{BURST, copy_to_bursts, first_step, outer_stages},
    pointwise::lines_mut,
    simd::{Arithmetic, Line, V, Wide},
};
use crate::ntt::NttTable;
use crate::ntt::roots::Roots;

/// `log2` of the words of a tile.
const LOG_TILE: u32 = 6;

/// The number of stages that are passes over the whole polynomial, and of stages of a piece before
/// its tiles.
fn split(words: usize) -> (u32, u32) {
    // Tiles take six stages; passes over the whole take those beyond a piece.
    let outer = outer_stages(words);
    (outer, words.trailing_zeros() - outer - LOG_TILE)
}

/// The first half of a forward transform for `N >= 128`, decimation in time: the passes over all
/// pieces. `done` stages are already complete.
#[inline(always)]
pub(super) fn forward_over_pieces<A: Arithmetic>(f: A, table: &NttTable, a: &mut [u64], done: u32) {
    let (outer, _) = split(a.len());
    let lines = lines_mut(a);
    // Each block of the done stages continues with its own subtree of factors.
    for (i, block) in lines.chunks_exact_mut(lines.len() >> done).enumerate() {
        forward_passes(f, &table.forward_roots, block, (1 << done) + i, outer - done, |_| ());
    }
}

/// The second half of a forward transform: finishes a piece.
#[inline(always)]
pub(super) fn forward_piece<A: Arithmetic, const LINES: usize>(
    f: A,
    table: &NttTable,
    a: &mut [u64],
    Piece { index, ahead, reduced }: Piece,
) {
    let (outer, inner) = split(table.degree());
    let lines = lines_mut(a);
    // Prefetch: with at least two passes, full rows take all steps, four lines each. Shorter rows
    // take as many eighths of the steps as their share.
    let eighths = ahead.first().map_or(0, |row| row.len() / lines.len());
    let due = |step: usize| {
        let (before, after) = (step * eighths / 8, (step + 1) * eighths / 8);
        (before < after).then_some(before)
    };
    // With two passes before the tiles, half of the rows are fetched early.
    let early = if inner > 3 { ahead.len() / 2 } else { 0 };
    let (early, ahead) = ahead.split_at(early);
    // Step 1: the stages of the piece before its tiles.
    forward_passes(f, &table.forward_roots, lines, (1 << outer) + index, inner, |step| {
        if let Some(chunk) = due(step) {
            for row in early {
                fetch::<A, 4>(f, row.as_chunks().0.as_chunks().0.get(chunk));
            }
        }
    });
    // Step 2: the tiles, reduced if the arithmetic or the caller needs it.
    let each = |step| {
        if let Some(chunk) = due(step) {
            for row in ahead {
                fetch::<A, 8>(f, row.as_chunks().0.as_chunks().0.get(chunk));
            }
        }
    };
    if A::MULTIPLIES_FORWARD && !reduced {
        forward_tiles::<A, LINES, false>(f, table, lines, index, each);
    } else {
        forward_tiles::<A, LINES, true>(f, table, lines, index, each);
    }
}

/// The tiles of a piece. Calls `each` at every step.
#[inline(always)]
fn forward_tiles<A: Arithmetic, const LINES: usize, const REDUCED: bool>(
    f: A,
    table: &NttTable,
    lines: &mut [Line],
    index: usize,
    each: impl Fn(usize),
) {
    let roots = &table.forward_roots;
    let tiles = lines.as_chunks_mut().0;
    let (first, all_tiles) = (index * tiles.len(), table.degree() / 64);
    let records = &roots.records::<LINES>()[..all_tiles];
    for (j, tile) in tiles.iter_mut().enumerate() {
        // Prefetch the factors of a later tile.
        fetch(f, records.get(first + j + TILES_AHEAD));
        each(j);
        let head = roots.head[all_tiles + first + j];
        forward_tile::<A, LINES, REDUCED>(f, head, &records[first + j], tile);
    }
}

/// Number of tiles by which the factors of a transform, and the input of an inverse one, are
/// prefetched.
const TILES_AHEAD: usize = 8;

/// Prefetches some lines.
#[inline(always)]
fn fetch<A: Arithmetic, const LINES: usize>(f: A, lines: Option<&[Line; LINES]>) {
    if let Some(lines) = lines {
        for line in lines {
            f.wide().fetch(line);
        }
    }
}

/// The first half of an inverse transform for `N >= 128`, decimation in frequency: one piece, read
/// in place or from another polynomial. `last` holds the factors of the very last stage.
#[inline(always)]
pub(super) fn inverse_piece<A: Arithmetic, const LINES: usize>(
    f: A,
    table: &NttTable,
    last: [[u64; 2]; 2],
    from: Option<&[u64]>,
    index: usize,
    a: &mut [u64],
) {
    let roots = &table.inverse_roots;
    let (outer, inner) = split(table.degree());
    let lines = lines_mut(a);
    let tiles = lines.as_chunks_mut().0;
    let (first, all_tiles) = (index * tiles.len(), table.degree() / 64);
    let records = &roots.records::<LINES>()[..all_tiles];
    let from = from.map(|from| from.as_chunks().0.as_chunks().0);
    // Step 1: the tiles.
    for (j, tile) in (first..).zip(tiles) {
        // Prefetch the factors, and the input if it is elsewhere.
        fetch(f, records.get(j + TILES_AHEAD));
        let x = match from {
            Some(tiles) => {
                fetch(f, tiles.get(j + TILES_AHEAD));
                load(f, &tiles[j])
            }
            None => load(f, tile),
        };
        inverse_tile::<A, LINES>(f, roots.head[all_tiles + j], &records[j], x, tile);
    }
    // Step 2: the stages of the piece above its tiles.
    inverse_passes(f, table, last, lines, (1 << outer) + index, inner);
}

/// The second half of an inverse transform: the passes over all pieces.
#[inline(always)]
pub(super) fn inverse_over_pieces<A: Arithmetic>(
    f: A,
    table: &NttTable,
    last: [[u64; 2]; 2],
    a: &mut [u64],
) {
    let (outer, _) = split(a.len());
    inverse_passes(f, table, last, lines_mut(a), 1, outer);
}

/// As [`inverse_over_pieces`], into the bursts of a row in [blocks](super::Layout).
#[inline(always)]
pub(super) fn inverse_to_blocks<A: Arithmetic>(
    f: A,
    table: &NttTable,
    last: [[u64; 2]; 2],
    a: &mut [u64],
    bursts: &mut [&mut [u64]],
) {
    let (outer, _) = split(a.len());
    // A polynomial of one piece is complete: only the copy remains.
    if outer == 0 {
        return copy_to_bursts(a, bursts);
    }
    // All passes but the last in place, then the last one into the blocks.
    let step = first_step(outer);
    let lines = lines_mut(a);
    for (i, block) in lines.chunks_exact_mut(lines.len() >> step).enumerate() {
        inverse_passes(f, table, last, block, (1 << step) + i, outer - step);
    }
    match step {
        1 => last_pass::<A, 2>(f, table, last, lines, bursts),
        2 => last_pass::<A, 4>(f, table, last, lines, bursts),
        _ => last_pass::<A, 8>(f, table, last, lines, bursts),
    }
}

/// The very last pass, into the bursts of a row in blocks.
#[inline(always)]
fn last_pass<A: Arithmetic, const R: usize>(
    f: A,
    table: &NttTable,
    last: [[u64; 2]; 2],
    lines: &mut [Line],
    bursts: &mut [&mut [u64]],
) {
    debug_assert_eq!(bursts.len() * BURST, lines.len(), "bursts of whole lines");
    let factors = below::<R>(&table.inverse_roots, 1);
    let rows = split_rows::<R>(lines);
    // One burst of lines at a time, as the blocks hold them.
    for (k, bursts) in bursts.as_chunks_mut::<R>().0.iter_mut().enumerate() {
        for i in 0..BURST {
            for part in 0..A::PARTS {
                // Load R rows, run the last stages in registers, store to the blocks.
                let f = f.part(part);
                let mut x = [f.wide().splat(0); R];
                for r in 0..R {
                    x[r] = f.wide().load(&rows[r][BURST * k + i]);
                }
                last_stages(f, &mut x, last, &factors);
                for r in 0..R {
                    f.wide().store(x[r], &mut lines_mut(bursts[r])[i]);
                }
            }
        }
    }
}

/// The first `stages` stages under `node` of the tree of factors, at most three per pass. Calls
/// `each` at every step of the passes, counted from 0.
#[inline(always)]
pub(super) fn forward_passes<A: Arithmetic>(
    f: A,
    roots: &Roots,
    lines: &mut [Line],
    node: usize,
    stages: u32,
    each: impl Fn(usize),
) {
    let mut done = 0;
    let mut steps = 0;
    while done < stages {
        // The first step takes the remainder modulo three, all others take three stages.
        let step = first_step(stages - done);
        for (i, block) in lines.chunks_exact_mut(lines.len() >> done).enumerate() {
            let node = (node << done) + i;
            let each = |i| each(steps + i);
            let count = block.len() >> step;
            match step {
                1 => forward_block::<A, 2>(f, roots, block, node, each),
                2 => forward_block::<A, 4>(f, roots, block, node, each),
                _ => forward_block::<A, 8>(f, roots, block, node, each),
            }
            steps += count;
        }
        done += step;
    }
}

/// The inverse of [`forward_passes`]. `last` holds the factors of the very last stage.
#[inline(always)]
fn inverse_passes<A: Arithmetic>(
    f: A,
    table: &NttTable,
    last: [[u64; 2]; 2],
    lines: &mut [Line],
    node: usize,
    stages: u32,
) {
    let mut left = stages;
    while left > 0 {
        // The steps of `forward_passes` in reverse: all but the first are 3.
        let step = left.min(3);
        left -= step;
        // Each block is a subtree; its node is the index of its root.
        for (i, block) in lines.chunks_exact_mut(lines.len() >> left).enumerate() {
            let node = (node << left) + i;
            match step {
                1 => inverse_block::<A, 2>(f, table, last, block, node),
                2 => inverse_block::<A, 4>(f, table, last, block, node),
                _ => inverse_block::<A, 8>(f, table, last, block, node),
            }
        }
    }
}

/// `log2(R)` stages on a block with root `node`: `R` rows, `1 / R` of the block apart.
#[inline(always)]
fn forward_block<A: Arithmetic, const R: usize>(
    f: A,
    roots: &Roots,
    block: &mut [Line],
    node: usize,
    each: impl Fn(usize),
) {
    let factors = below::<R>(roots, node);
    let rows = split_rows::<R>(block);
    for i in 0..rows[0].len() {
        each(i);
        // Load R rows, run log2(R) stages in registers, store.
        let mut x = [f.wide().splat(0); R];
        for r in 0..R {
            x[r] = f.wide().load(&rows[r][i]);
        }
        // Node 1 is the very first stage; other nodes continue a transform.
        if node == 1 {
            start(f, &mut x);
        } else {
            go_on(f, &mut x);
        }
        forward_stages(f, &mut x, 1, &factors);
        for r in 0..R {
            f.wide().store(x[r], &mut rows[r][i]);
        }
    }
}

/// Prepares the input of the very first stage. Only the `x` of its butterflies are reduced.
#[inline(always)]
pub(super) fn start<A: Arithmetic, const R: usize>(f: A, x: &mut [V<A>; R]) {
    enter(f, x);
    for x in &mut x[..R / 2] {
        *x = f.start_forward(*x);
    }
}

/// Brings words into the form in which stages hold numbers.
#[inline(always)]
pub(super) fn enter<A: Arithmetic, const R: usize>(f: A, x: &mut [V<A>; R]) {
    for x in x {
        *x = f.enter(*x);
    }
}

/// Prepares the input of the first of at most three stages that follow others.
#[inline(always)]
fn go_on<A: Arithmetic, const R: usize>(f: A, x: &mut [V<A>; R]) {
    for x in &mut x[..R / 2] {
        *x = f.continue_forward(*x);
    }
}

/// The inverse of [`forward_block`].
#[inline(always)]
fn inverse_block<A: Arithmetic, const R: usize>(
    f: A,
    table: &NttTable,
    last: [[u64; 2]; 2],
    block: &mut [Line],
    node: usize,
) {
    let factors = below::<R>(&table.inverse_roots, node);
    let rows = split_rows::<R>(block);
    for i in 0..rows[0].len() {
        for part in 0..A::PARTS {
            // Load R rows, run log2(R) stages in registers, store.
            let f = f.part(part);
            let mut x = [f.wide().splat(0); R];
            for r in 0..R {
                x[r] = f.wide().load(&rows[r][i]);
            }
            // Node 1 is the very last stage, with the factor 1 / N.
            if node == 1 {
                last_stages(f, &mut x, last, &factors);
            } else {
                inverse_stages(f, &mut x, 1, &factors);
            }
            for r in 0..R {
                f.wide().store(x[r], &mut rows[r][i]);
            }
        }
    }
}

/// The last stages of the inverse transform. `last` holds the factors of the very last one.
#[inline(always)]
fn last_stages<A: Arithmetic, const R: usize>(
    f: A,
    x: &mut [V<A>; R],
    [scale, last]: [[u64; 2]; 2],
    factors: &[[u64; 2]; R],
) {
    // All stages but the last, then the last one with its scaled factors.
    inverse_stages(f, x, 2, factors);
    for r in 0..R / 2 {
        let (low, high) = x.split_at_mut(R / 2);
        f.last_butterfly(&mut low[r], &mut high[r], f.root(scale), f.root(last));
    }
}

/// The last six stages on one tile; `REDUCED` reduces the result to `[0, q)`. Each of the first
/// three stages is followed by one of the three exchanges of row and lane bits that form the
/// transposition.
#[inline(always)]
fn forward_tile<A: Arithmetic, const LINES: usize, const REDUCED: bool>(
    f: A,
    first: [u64; 2],
    roots: &[Line; LINES],
    tile: &mut [Line; 8],
) {
    let w = f.wide();
    let mut x = load(f, tile);
    go_on(f, &mut x);
    // Step 1: three stages between rows, each followed by an exchange with a lane bit.
    let root = f.root(first);
    forward_rows::<A, 2>(f, &mut x, root);
    exchange::<A, 2>(f, &mut x);
    let root = f.roots(roots, 0);
    forward_rows::<A, 1>(f, &mut x, root);
    exchange::<A, 1>(f, &mut x);
    let root = f.roots(roots, 1);
    forward_rows::<A, 0>(f, &mut x, root);
    exchange::<A, 0>(f, &mut x);
    // Step 2: three stages between the transposed rows, with one tree of factors per lane.
    go_on(f, &mut x);
    forward_stages(f, &mut x, 1, roots);
    for (x, line) in x.into_iter().zip(tile) {
        w.store(if REDUCED { f.finish_forward(x) } else { x }, line);
    }
}

/// The inverse of [`forward_tile`], on `x`.
#[inline(always)]
fn inverse_tile<A: Arithmetic, const LINES: usize>(
    f: A,
    first: [u64; 2],
    roots: &[Line; LINES],
    mut x: [V<A>; 8],
    tile: &mut [Line; 8],
) {
    // The steps of `forward_tile` in reverse, on residues.
    for part in 0..A::PARTS {
        let f = f.part(part);
        let mut y = [f.wide().splat(0); 8];
        for r in 0..8 {
            y[r] = A::parts_of(&mut x[r])[part];
        }
        enter(f, &mut y);
        inverse_stages(f, &mut y, 1, roots);
        exchange::<A::Part, 0>(f, &mut y);
        let root = f.roots(roots, 1);
        inverse_rows::<A::Part, 0>(f, &mut y, root);
        exchange::<A::Part, 1>(f, &mut y);
        let root = f.roots(roots, 0);
        inverse_rows::<A::Part, 1>(f, &mut y, root);
        for r in 0..8 {
            A::parts_of(&mut x[r])[part] = y[r];
        }
    }
    exchange::<A, 2>(f, &mut x);
    let root = f.root(first);
    inverse_rows::<A, 2>(f, &mut x, root);
    for (x, line) in x.into_iter().zip(tile) {
        f.wide().store(x, line);
    }
}

/// Loads a tile.
#[inline(always)]
pub(super) fn load<A: Arithmetic>(f: A, tile: &[Line; 8]) -> [V<A>; 8] {
    let mut x = [f.wide().splat(0); 8];
    for (x, line) in x.iter_mut().zip(tile) {
        *x = f.wide().load(line);
    }
    x
}

/// One stage between the rows of a tile whose indices differ in one bit.
#[inline(always)]
fn forward_rows<A: Arithmetic, const BIT: usize>(f: A, x: &mut [V<A>; 8], root: A::Root) {
    for block in x.chunks_exact_mut(2 << BIT) {
        let (low, high) = block.split_at_mut(1 << BIT);
        for (x, y) in low.iter_mut().zip(high) {
            f.forward_butterfly(x, y, root);
        }
    }
}

/// The inverse of [`forward_rows`].
#[inline(always)]
fn inverse_rows<A: Arithmetic, const BIT: usize>(f: A, x: &mut [V<A>; 8], root: A::Root) {
    for block in x.chunks_exact_mut(2 << BIT) {
        let (low, high) = block.split_at_mut(1 << BIT);
        for (x, y) in low.iter_mut().zip(high) {
            f.inverse_butterfly(x, y, root);
        }
    }
    settle(f, x, 1 << BIT, BIT == 2);
}

/// Exchanges a bit of the row index with the same bit of the lane index.
#[inline(always)]
fn exchange<A: Arithmetic, const BIT: u32>(f: A, x: &mut [V<A>; 8]) {
    for block in x.chunks_exact_mut(2 << BIT) {
        let (low, high) = block.split_at_mut(1 << BIT);
        for (x, y) in low.iter_mut().zip(high) {
            f.wide().exchange::<BIT>(x, y);
        }
    }
}

/// The source of the factors of a small tree. Node 1 is its root.
pub(super) trait Factors<A: Arithmetic> {
    fn factor(self, f: A, node: usize) -> A::Root;
}

/// One tree for all lanes.
impl<A: Arithmetic, const R: usize> Factors<A> for &[[u64; 2]; R] {
    #[inline(always)]
    fn factor(self, f: A, node: usize) -> A::Root {
        f.root(self[node])
    }
}

/// One tree per lane, in the record of a tile.
impl<A: Arithmetic, const LINES: usize> Factors<A> for &[Line; LINES] {
    #[inline(always)]
    fn factor(self, f: A, node: usize) -> A::Root {
        f.roots(self, 1 + node)
    }
}

/// The stages of a small tree in registers, starting with the stage of `first` nodes.
#[inline(always)]
pub(super) fn forward_stages<A: Arithmetic, const R: usize>(
    f: A,
    x: &mut [V<A>; R],
    first: usize,
    roots: impl Factors<A> + Copy,
) {
    let mut nodes = first;
    while nodes < R {
        let half = R / 2 / nodes;
        for (node, block) in x.chunks_exact_mut(2 * half).enumerate() {
            let w = roots.factor(f, nodes + node);
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                f.forward_butterfly(x, y, w);
            }
        }
        nodes *= 2;
    }
}

/// The stages of a small tree in registers, down to the stage of `last` nodes.
#[inline(always)]
pub(super) fn inverse_stages<A: Arithmetic, const R: usize>(
    f: A,
    x: &mut [V<A>; R],
    last: usize,
    roots: impl Factors<A> + Copy,
) {
    let mut nodes = R / 2;
    while nodes >= last {
        let half = R / 2 / nodes;
        for (node, block) in x.chunks_exact_mut(2 * half).enumerate() {
            let w = roots.factor(f, nodes + node);
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                f.inverse_butterfly(x, y, w);
            }
        }
        settle(f, x, half, nodes == 1);
        nodes /= 2;
    }
}

/// Bounds the sums of a stage between rows whose indices differ by `half`, where the arithmetic
/// needs it.
#[inline(always)]
fn settle<A: Arithmetic, const R: usize>(f: A, x: &mut [V<A>; R], half: usize, last: bool) {
    for (r, x) in x.iter_mut().enumerate() {
        if r & half == 0 && A::settles(half, r, last) {
            *x = f.settle(*x);
        }
    }
}

/// The tree of `R - 1` nodes under `node`, numbered from 1 like the whole tree.
#[inline(always)]
pub(super) fn below<const R: usize>(roots: &Roots, node: usize) -> [[u64; 2]; R] {
    let mut factors = [[0; 2]; R];
    for (i, factor) in factors.iter_mut().enumerate().skip(1) {
        let level = i.ilog2();
        *factor = roots.head[(node << level) + i - (1 << level)];
    }
    factors
}

/// `R` equal parts, then empty ones. (With an array of `R` slices the compiler would fill it by a
/// call and check the lengths at every line.)
#[inline(always)]
pub(super) fn split_rows<const R: usize>(block: &mut [Line]) -> [&mut [Line]; 8] {
    let stride = block.len() / R;
    let mut rest = block;
    let mut rows: [&mut [Line]; 8] = Default::default();
    for row in &mut rows[..R] {
        (*row, rest) = std::mem::take(&mut rest).split_at_mut(stride);
    }
    rows
}
