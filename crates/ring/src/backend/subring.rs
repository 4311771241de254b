//! The maps between a transform of degree `N` and the `f` transforms of degree `n = N / f` of its
//! components, `f = 2, 4, 8`, on lines of eight words for any [`Arithmetic`].
//!
//! `a(X) = sum_j X^j a_j(X^f)`. At a root `y_k` of `Y^n + 1` the values `a_j(y_k)` are the
//! coefficients of `a` modulo `X^f - y_k`. The last `log2(f)` stages of the large transform thus
//! map one to the other. These are stages between the rows of a tile.
//!
//! Let `u, k, v` be parts of an index with `log2(f)`, `3 - log2(f)` and `3 - log2(f)` bits. Row
//! `k f + j` and lane `v f + u` of large tile `T f + t` hold component `j`. Small tile `T` of that
//! component holds it in row `u (8/f) + k` and lane `t (8/f) + v`. [`to_small`] moves eight rows
//! there by three exchanges of a bit of the row index with a bit of the lane index.

use super::{
    Backend, SubringTask, avx2, avx2_fma, avx512, avx512_fma, ifma, ntt, shoup64,
    simd::{Arithmetic, Line, V, Wide},
};
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;

/// Runs a task between degrees that are `factor` apart. `table` is the large one.
pub(super) fn run(table: &NttTable, factor: usize, task: SubringTask) {
    match table.backend() {
        // SAFETY: no table is built for a back end that `Backend::check` refuses.
        Backend::Avx2 => unsafe { run_avx2(table, factor, task) },
        // SAFETY: as above.
        Backend::Avx2Fma => unsafe { run_avx2_fma(table, factor, task) },
        // SAFETY: as above.
        Backend::Avx512 => unsafe { run_avx512(table, factor, task) },
        // SAFETY: as above.
        Backend::Avx512Fma => unsafe { run_avx512_fma(table, factor, task) },
        // SAFETY: as above.
        Backend::Ifma => unsafe { run_ifma(table, factor, task) },
        Backend::Scalar | Backend::Neon => {
            unreachable!("`subring_kernels` says that there are none")
        }
    }
}

#[target_feature(enable = "avx2")]
fn run_avx2(table: &NttTable, factor: usize, task: SubringTask) {
    // SAFETY: this function has the target features.
    unsafe {
        // `LAZY` primes use the code of `NARROW` ones here.
        if shoup64::headroom(table.modulus()) == shoup64::WHOLE {
            let f = avx2::arithmetic::<{ shoup64::WHOLE }>(table);
            by_factor::<_, { 2 * RECORD }>(f, table, factor, task);
        } else {
            let f = avx2::arithmetic::<{ shoup64::NARROW }>(table);
            by_factor::<_, { 2 * RECORD }>(f, table, factor, task);
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn run_avx512(table: &NttTable, factor: usize, task: SubringTask) {
    // SAFETY: this function has the target features.
    unsafe {
        if shoup64::headroom(table.modulus()) == shoup64::WHOLE {
            let f = avx512::arithmetic::<{ shoup64::WHOLE }>(table);
            by_factor::<_, { 2 * RECORD }>(f, table, factor, task);
        } else {
            let f = avx512::arithmetic::<{ shoup64::NARROW }>(table);
            by_factor::<_, { 2 * RECORD }>(f, table, factor, task);
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn run_avx2_fma(table: &NttTable, factor: usize, task: SubringTask) {
    // SAFETY: this function has the target features. Primes that are not lazy reduce here too.
    let f = unsafe { avx2_fma::arithmetic::<false>(table) };
    by_factor::<_, RECORD>(f, table, factor, task);
}

#[target_feature(enable = "avx512f,avx512dq")]
fn run_avx512_fma(table: &NttTable, factor: usize, task: SubringTask) {
    // SAFETY: this function has the target features.
    let f = unsafe { avx512_fma::arithmetic::<false>(table) };
    by_factor::<_, RECORD>(f, table, factor, task);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
fn run_ifma(table: &NttTable, factor: usize, task: SubringTask) {
    let q = table.modulus();
    // SAFETY: this function has the target features.
    unsafe {
        // Primes that are not lazy reduce at every stage here.
        if ifma::is_lazy(table) {
            by_factor::<_, RECORD>(ifma::Ifma::<{ ifma::NEVER }>::new(q), table, factor, task);
        } else {
            by_factor::<_, RECORD>(ifma::Ifma::<1>::new(q), table, factor, task);
        }
    }
}

#[inline(always)]
fn by_factor<A: Arithmetic, const LINES: usize>(
    f: A,
    table: &NttTable,
    factor: usize,
    task: SubringTask,
) {
    // The number of stages is a constant in the kernels.
    match factor {
        2 => by_log::<A, LINES, 1>(f, table, task),
        4 => by_log::<A, LINES, 2>(f, table, task),
        _ => by_log::<A, LINES, 3>(f, table, task),
    }
}

#[inline(always)]
fn by_log<A: Arithmetic, const LINES: usize, const LOG: usize>(
    f: A,
    table: &NttTable,
    task: SubringTask,
) {
    match task {
        SubringTask::Split(a, components, inverse) => {
            split::<A, LINES, LOG>(f, table, a, components, inverse)
        }
        SubringTask::Constant(a, component, inverse) => {
            constant::<A, LOG>(f, a, component, inverse)
        }
        SubringTask::Join(components, a) => join::<A, LINES, LOG>(f, table, components, a),
        SubringTask::Lift(component, a) => lift::<A, LOG>(f, component, a),
    }
}

type Tile = [Line; 8];

fn tiles(a: &[u64]) -> &[Tile] {
    a.as_chunks().0.as_chunks().0
}

fn tiles_mut(a: &mut [u64]) -> &mut [Tile] {
    a.as_chunks_mut().0.as_chunks_mut().0
}

/// [`SubringTask::Split`]: inverse stages on each large tile, then the rows of each component to
/// its tile.
#[inline(always)]
fn split<A: Arithmetic, const LINES: usize, const LOG: usize>(
    f: A,
    table: &NttTable,
    a: &[u64],
    components: &mut [&mut [u64]],
    inverse: u64,
) {
    let scale = f.root(f.companion(inverse));
    let mut block = [[[0; 8]; 8]; 8];
    for (i, from) in tiles(a).chunks_exact(1 << LOG).enumerate() {
        // Step 1: the last log2(f) inverse stages on each of the f large tiles.
        for (t, (from, rows)) in from.iter().zip(&mut block).enumerate() {
            let mut x = ntt::load(f, from);
            let roots = &table.inverse_roots.records::<LINES>()[(i << LOG) + t];
            ntt::enter(f, &mut x);
            ntt::inverse_stages(f, &mut x, 8 >> LOG, roots);
            for (x, row) in x.into_iter().zip(rows) {
                f.wide().store(f.finish_inverse(x, scale), row);
            }
        }
        // Step 2: the rows of each component, rearranged to its small tile.
        for (j, component) in components.iter_mut().enumerate() {
            let mut x = [f.wide().splat(0); 8];
            for (at, x) in x.iter_mut().enumerate() {
                let (t, k) = place::<LOG>(at);
                *x = f.wide().load(&block[t][k << LOG | j]);
            }
            to_small::<A, LOG>(f, &mut x);
            store(f, x, &mut tiles_mut(component)[i]);
        }
    }
}

/// [`SubringTask::Constant`]: one sum per value.
#[inline(always)]
fn constant<A: Arithmetic, const LOG: usize>(f: A, a: &[u64], component: &mut [u64], inverse: u64) {
    let scale = f.root(f.companion(inverse));
    for (from, to) in tiles(a).chunks_exact(1 << LOG).zip(tiles_mut(component)) {
        let mut x = [f.wide().splat(0); 8];
        // Sum the f values above each root, then rearrange.
        for (at, x) in x.iter_mut().enumerate() {
            let (t, k) = place::<LOG>(at);
            let rows = &from[t][k << LOG..(k + 1) << LOG];
            let first = f.wide().load(&rows[0]);
            let sum = rows[1..].iter().fold(first, |sum, row| f.add(sum, f.wide().load(row)));
            *x = f.mul_root(sum, scale);
        }
        to_small::<A, LOG>(f, &mut x);
        store(f, x, to);
    }
}

/// [`SubringTask::Join`]: the inverse of [`split`].
#[inline(always)]
fn join<A: Arithmetic, const LINES: usize, const LOG: usize>(
    f: A,
    table: &NttTable,
    components: &[&[u64]],
    a: &mut [u64],
) {
    let mut block = [[[0; 8]; 8]; 8];
    for (i, to) in tiles_mut(a).chunks_exact_mut(1 << LOG).enumerate() {
        // Step 1: each component's tile, rearranged to the rows of the large tiles.
        for (j, component) in components.iter().enumerate() {
            let mut x = ntt::load(f, &tiles(component)[i]);
            from_small::<A, LOG>(f, &mut x);
            for (at, x) in x.into_iter().enumerate() {
                let (t, k) = place::<LOG>(at);
                f.wide().store(x, &mut block[t][k << LOG | j]);
            }
        }
        // Step 2: the last log2(f) forward stages on each large tile.
        for (t, (to, rows)) in to.iter_mut().zip(&block).enumerate() {
            let mut x = ntt::load(f, rows);
            let roots = &table.forward_roots.records::<LINES>()[(i << LOG) + t];
            ntt::enter(f, &mut x);
            for x in &mut x {
                *x = f.start_forward(*x);
            }
            ntt::forward_stages(f, &mut x, 8 >> LOG, roots);
            for x in &mut x {
                *x = f.finish_forward(*x);
            }
            store(f, x, to);
        }
    }
}

/// [`SubringTask::Lift`]: copies each value `f` times.
#[inline(always)]
fn lift<A: Arithmetic, const LOG: usize>(f: A, component: &[u64], a: &mut [u64]) {
    for (from, to) in tiles(component).iter().zip(tiles_mut(a).chunks_exact_mut(1 << LOG)) {
        let mut x = ntt::load(f, from);
        from_small::<A, LOG>(f, &mut x);
        // A value of the small ring appears at all f roots above it.
        for (at, x) in x.into_iter().enumerate() {
            let (t, k) = place::<LOG>(at);
            to[t][k << LOG..(k + 1) << LOG].iter_mut().for_each(|row| f.wide().store(x, row));
        }
    }
}

/// The large tile `t` of a group and the index `k` at one of eight places.
#[inline(always)]
fn place<const LOG: usize>(at: usize) -> (usize, usize) {
    (at >> (3 - LOG), at & ((8 >> LOG) - 1))
}

/// From rows `(t, k)` with lanes `(v, u)` to rows `(u, k)` with lanes `(t, v)`.
#[inline(always)]
fn to_small<A: Arithmetic, const LOG: usize>(f: A, x: &mut [V<A>; 8]) {
    match LOG {
        1 => {
            exchange::<A, 4, 2>(f, x);
            exchange::<A, 4, 1>(f, x);
            exchange::<A, 4, 0>(f, x);
        }
        2 => {
            exchange::<A, 4, 2>(f, x);
            exchange::<A, 4, 0>(f, x);
            exchange::<A, 2, 1>(f, x);
            x.swap(2, 4);
            x.swap(3, 5);
        }
        _ => transpose(f, x),
    }
}

/// The inverse of [`to_small`].
#[inline(always)]
fn from_small<A: Arithmetic, const LOG: usize>(f: A, x: &mut [V<A>; 8]) {
    match LOG {
        1 => {
            exchange::<A, 4, 0>(f, x);
            exchange::<A, 4, 1>(f, x);
            exchange::<A, 4, 2>(f, x);
        }
        2 => {
            x.swap(2, 4);
            x.swap(3, 5);
            exchange::<A, 2, 1>(f, x);
            exchange::<A, 4, 0>(f, x);
            exchange::<A, 4, 2>(f, x);
        }
        _ => transpose(f, x),
    }
}

/// The transposition of an 8 x 8 tile.
#[inline(always)]
fn transpose<A: Arithmetic>(f: A, x: &mut [V<A>; 8]) {
    exchange::<A, 4, 2>(f, x);
    exchange::<A, 2, 1>(f, x);
    exchange::<A, 1, 0>(f, x);
}

/// Exchanges the bit `STRIDE` of the row index with bit `BIT` of the lane index.
#[inline(always)]
fn exchange<A: Arithmetic, const STRIDE: usize, const BIT: u32>(f: A, x: &mut [V<A>; 8]) {
    for block in x.chunks_exact_mut(2 * STRIDE) {
        let (low, high) = block.split_at_mut(STRIDE);
        for (x, y) in low.iter_mut().zip(high) {
            f.wide().exchange::<BIT>(x, y);
        }
    }
}

#[inline(always)]
fn store<A: Arithmetic>(f: A, x: [V<A>; 8], tile: &mut Tile) {
    for (x, row) in x.into_iter().zip(tile) {
        f.wide().store(x, row);
    }
}
