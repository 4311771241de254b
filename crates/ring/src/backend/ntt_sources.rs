//! The residues that the first pass of a transform starts from, computed in registers.

use super::{
    Target, WeightedRows,
    integers::{Integers, Sums},
    ntt_first_pass::{Residues, Source},
    ntt_layout::{self, BURST},
    pointwise::lines,
    simd::{Arithmetic, V, Wide},
};
use crate::ntt::NttTable;

/// Sums that a kernel computes and reduces, for rows of any size.
pub(super) struct Reduced<'a, K, const T: usize> {
    targets: [(&'a NttTable, &'a [u64]); T],
    bits: &'a [u32],
    kernel: K,
}

impl<'a, K: Fn(&NttTable, &mut [u64], WeightedRows), const T: usize> Reduced<'a, K, T> {
    pub(super) fn new(targets: &[Target<'a>; T], bits: &'a [u32], kernel: K) -> Self {
        Self {
            targets: targets.each_ref().map(|target| (target.table, target.weights)),
            bits,
            kernel,
        }
    }
}

impl<K: Fn(&NttTable, &mut [u64], WeightedRows), const T: usize> Source<T> for Reduced<'_, K, T> {
    fn write(&self, block: &[u64], _: &[u64], r: usize, out: &mut [Residues; T]) {
        for ((table, weights), out) in self.targets.iter().zip(out) {
            let out = out[r].as_flattened_mut();
            ntt_layout::weighted_sum(block, out.len(), self.bits, weights, |sum| {
                (self.kernel)(table, out, sum)
            });
        }
    }
}

/// Sums of rows times weights, one weight per row and prime, plus the quotients times one more
/// weight. With `WORDS` some rows are arbitrary words instead of residues of the arithmetic.
/// `LINES` lines are processed together, as many as fit in registers.
pub(super) struct Sum<'a, A, const WORDS: bool, const T: usize, const LINES: usize> {
    f: [A; T],
    rows: usize,
    bits: &'a [u32],
    /// Whether a quotient times a weight is below `2^52`. A quotient is at most the number of rows.
    small: bool,
    /// By row, then prime. With `WORDS`, also the third factor of [`Sums::accumulate_word`].
    weights: Vec<[[u64; 2]; T]>,
}

impl<'a, A: Sums, const WORDS: bool, const T: usize, const LINES: usize>
    Sum<'a, A, WORDS, T, LINES>
{
    #[inline(always)]
    pub(super) fn new(f: [A; T], targets: &[Target; T], bits: &'a [u32]) -> Self {
        let rows = bits.len();
        let mut weights = Vec::with_capacity(rows + 1);
        for row in 0..rows + 1 {
            let mut pairs = [[0; 2]; T];
            for t in 0..T {
                let (q, weight) = (targets[t].table.modulus(), targets[t].weights[row]);
                pairs[t][0] = f[t].weight(weight);
                if WORDS {
                    pairs[t][1] = f[t].weight(q.mul(weight, q.reduce(1 << 52)));
                }
            }
            weights.push(pairs);
        }
        // A quotient is at most `rows`, and a weight is below q.
        let small = |target: &Target| target.table.modulus().value() <= (1 << 52) / rows as u64;
        Self { f, rows, bits, small: targets.iter().all(small), weights }
    }
}

impl<A: Sums, const WORDS: bool, const T: usize, const LINES: usize> Source<T>
    for Sum<'_, A, WORDS, T, LINES>
{
    #[inline(always)]
    fn write(&self, block: &[u64], ahead: &[u64], r: usize, out: &mut [Residues; T]) {
        let w = self.f[0].wide();
        let (rows, quotients) = block.split_at(8 * BURST * self.rows);
        let quotients: &[[u8; 8]; BURST] =
            bytemuck::cast_slice(quotients).first_chunk().expect("a byte for each place");
        let (ahead, last) = lines(ahead).as_chunks::<BURST>();
        for line in last {
            w.fetch(line);
        }
        for part in 0..BURST / LINES {
            // Step 1: the sums of the weighted rows, while lines of a later block are prefetched.
            let mut ahead = ahead.iter();
            let mut sums = [[self.f[0].no_rows(); LINES]; T];
            let most = self.f[0].rows();
            let rows = lines(rows).as_chunks::<BURST>().0;
            for (j, ((row, weights), &bits)) in
                rows.iter().zip(&self.weights).zip(self.bits).enumerate()
            {
                // One product is left for the quotients.
                if most < usize::MAX && j > 0 && j.is_multiple_of(most - 1) {
                    self.f.iter().zip(&mut sums).for_each(|(&f, sums)| pause(f, sums));
                }
                let words = WORDS && bits > A::RESIDUE_BITS;
                if let Some(row) = ahead.next() {
                    for i in 0..LINES {
                        w.fetch(&row[LINES * part + i]);
                    }
                }
                for i in 0..LINES {
                    let x = w.load(&row[LINES * part + i]);
                    for t in 0..T {
                        let [weight, high] = weights[t];
                        sums[t][i] = match words {
                            true => {
                                let (weight, high) = (w.splat(weight), w.splat(high));
                                self.f[t].accumulate_word(sums[t][i], x, weight, high)
                            }
                            false => {
                                let f = self.f[t];
                                f.accumulate(sums[t][i], f.term(x), w.splat(weight))
                            }
                        };
                    }
                }
            }
            // Step 2: the weighted quotients, then one reduction.
            for i in 0..LINES {
                let x = self.f[0].term(w.load_bytes(&quotients[LINES * part + i]));
                for t in 0..T {
                    let weight = w.splat(self.weights[self.rows][t][0]);
                    let sum = match self.small {
                        true => self.f[t].accumulate_small(sums[t][i], x, weight),
                        false => self.f[t].accumulate(sums[t][i], x, weight),
                    };
                    w.store(self.f[t].reduce_weighted(sum), &mut out[t][r][LINES * part + i]);
                }
            }
        }
    }
}

/// Makes room for further products in some sums.
#[inline(always)]
fn pause<A: Sums>(f: A, sums: &mut [A::Sum]) {
    for sum in sums {
        *sum = f.resume(f.pause(*sum), false);
    }
}

/// Residues modulo a number `p`, centred, modulo several primes. With `WORDS`, residues may be any
/// words.
pub(super) struct Centered<A: Arithmetic, const WORDS: bool, const T: usize> {
    f: [A; T],
    half: V<A>,
    /// `-p` modulo the primes.
    negative: [V<A>; T],
}

impl<A: Sums, const WORDS: bool, const T: usize> Centered<A, WORDS, T> {
    #[inline(always)]
    pub(super) fn new(f: [A; T], targets: &[Target; T], p: u64) -> Self {
        let w = f[0].wide();
        let mut negative = [w.splat(0); T];
        for t in 0..T {
            let q = targets[t].table.modulus();
            negative[t] = w.splat(q.neg(q.reduce(p)));
        }
        Self { f, half: w.splat(p / 2), negative }
    }
}

impl<A: Sums, const WORDS: bool, const T: usize> Source<T> for Centered<A, WORDS, T> {
    #[inline(always)]
    fn write(&self, block: &[u64], ahead: &[u64], r: usize, out: &mut [Residues; T]) {
        let w = self.f[0].wide();
        for line in lines(ahead) {
            w.fetch(line);
        }
        for (i, line) in lines(block).iter().enumerate() {
            let x = w.load(line);
            for (t, out) in out.iter_mut().enumerate() {
                let f = self.f[t];
                let residue = if WORDS { f.reduce_word(x) } else { f.reduce_lazy(x) };
                let residue = w.add(residue, w.keep_if_greater(x, self.half, self.negative[t]));
                w.store(residue, &mut out[r][i]);
            }
        }
    }
}
