//! The memory layout of rows of coefficients, in the order in which the first pass of a transform
//! reads them.
//!
//! The first pass works on `R` coefficients at a time, `N / R` apart, and the coefficients of a
//! conversion come from several rows. In natural order it would read `R` streams in every row, at
//! power-of-two distances. This layout makes them one stream: eight lines of every row for each of
//! the `R` places in order, then the next eight lines.

use std::ops::Range;

use super::{MAX_PRODUCTS, WeightedRows};
use crate::par::{self, CHEAP};

/// `log2` of the words of a transform that fit the first-level cache: 32 KiB.
const LOG_PIECE: u32 = 12;

/// Lines of one row in a block.
pub(super) const BURST: usize = 8;

/// The layout of rows in blocks. A block holds the words of each row at some places, then one byte
/// per place, the [quotients](super::quotients). A single row has no quotients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    degree: usize,
    rows: usize,
}

impl Layout {
    pub(crate) fn new(degree: usize, rows: usize) -> Self {
        Self { degree, rows }
    }

    /// Words of one row in a block.
    pub(crate) fn words(self) -> usize {
        burst_words(self.degree)
    }

    /// Words of a block.
    pub(crate) fn stride(self) -> usize {
        // One byte per place for the quotients of several rows.
        let bytes = if self.rows > 1 { self.words() } else { 0 };
        self.rows * self.words() + bytes.div_ceil(size_of::<u64>())
    }

    /// Words of all blocks.
    pub(crate) fn len(self) -> usize {
        self.degree / self.words() * self.stride()
    }

    /// The number of stages of the first pass.
    pub(super) fn first_stages(self) -> u32 {
        strands(self.degree).trailing_zeros()
    }

    /// The number of steps of the first pass. Each step reads one block per strand.
    pub(super) fn steps(self) -> usize {
        self.degree / self.words() / strands(self.degree)
    }

    /// The steps in batches, each small enough to stay in cache while it is read `readers` times. A
    /// single batch if there is one reader.
    pub(super) fn step_batches(self, readers: usize) -> impl Iterator<Item = Range<usize>> {
        // A batch is read by all readers before the next one, so it has to stay in cache.
        let steps = self.steps();
        let size = match readers {
            0 | 1 => steps,
            _ => (BATCH_WORDS / (strands(self.degree) * self.stride())).clamp(1, steps),
        };
        (0..steps).step_by(size).map(move |first| first..steps.min(first + size))
    }

    /// The words of each row, by row, then block.
    pub(crate) fn bursts_of_rows(self, out: &mut [u64]) -> Vec<Vec<&mut [u64]>> {
        let mut rows: Vec<_> =
            (0..self.rows).map(|_| Vec::with_capacity(self.degree / self.words())).collect();
        // Collect the burst of each row in every block.
        for block in out.chunks_exact_mut(self.stride()) {
            rows.iter_mut()
                .zip(block.chunks_exact_mut(self.words()))
                .for_each(|(row, burst)| row.push(burst));
        }
        rows
    }

    /// Writes the quotients after all rows are written. `kernel` computes those of one block.
    pub(crate) fn write_quotients(
        self,
        kernel: impl Fn(&[u64], &mut [u8]) + Sync + Send,
        out: &mut [u64],
    ) {
        let (words, stride) = (self.words(), self.stride());
        par::each_limb(out, TOGETHER * stride, CHEAP, |_, blocks| {
            for block in blocks.chunks_exact_mut(stride) {
                // The bytes of a block follow its rows.
                let (values, bytes) = block.split_at_mut(self.rows * words);
                kernel(values, &mut bytemuck::cast_slice_mut(bytes)[..words]);
            }
        });
    }
}

/// Words of blocks that all readers read before the next ones: 128 KiB.
const BATCH_WORDS: usize = 1 << 14;

/// Blocks that one thread writes at a time.
const TOGETHER: usize = 64;

/// Some rows in blocks, see [`Layout`].
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) data: &'a [u64],
    pub(crate) layout: Layout,
}

impl Blocks<'_> {
    /// The blocks of some steps, each with its offset in the rows.
    pub(super) fn iter(&self, steps: &Range<usize>) -> impl Iterator<Item = (usize, &[u64])> {
        let (stride, strands) = (self.layout.stride(), strands(self.layout.degree));
        (steps.start * strands..steps.end * strands).map(move |i| {
            (row_offset(self.layout.degree, i), &self.data[i * stride..(i + 1) * stride])
        })
    }
}

/// Calls a kernel with the rows in a block, `words` of each, with their bits and weights, and with
/// the weight of the quotients.
pub(super) fn weighted_sum(
    block: &[u64],
    words: usize,
    bits: &[u32],
    weights: &[u64],
    kernel: impl FnOnce(WeightedRows),
) {
    let count = bits.len();
    let (values, bytes) = block.split_at(count * words);
    // A fixed array instead of a vector: this runs for every block.
    let mut rows = [&[][..]; MAX_PRODUCTS];
    values.chunks_exact(words).zip(&mut rows).for_each(|(row, slice)| *slice = row);
    let multiples = Some((&bytemuck::cast_slice(bytes)[..words], weights[count]));
    kernel(WeightedRows { rows: &rows[..count], bits, weights: &weights[..count], multiples });
}

/// Copies a row into its [bursts](Layout::bursts_of_rows).
pub(crate) fn copy_to_bursts(row: &[u64], bursts: &mut [&mut [u64]]) {
    for (i, burst) in bursts.iter_mut().enumerate() {
        burst.copy_from_slice(&row[row_offset(row.len(), i)..][..burst.len()]);
    }
}

/// Where the burst of the block with this index begins in a row.
fn row_offset(degree: usize, index: usize) -> usize {
    let strands = strands(degree);
    // Blocks alternate between the strands, then move on by one burst.
    index % strands * (degree / strands) + index / strands * burst_words(degree)
}

/// Words of one row in a block.
fn burst_words(degree: usize) -> usize {
    (8 * BURST).min(degree / strands(degree))
}

/// Words of the pieces that are finished one after the other.
pub(super) fn piece_words(degree: usize) -> usize {
    degree.min(1 << LOG_PIECE)
}

/// The number of stages of a transform that are passes over the whole polynomial.
pub(super) fn outer_stages(degree: usize) -> u32 {
    degree.trailing_zeros().saturating_sub(LOG_PIECE)
}

/// The number of stages of the first of several passes: one, two or three, so that a multiple of
/// three remains.
pub(super) fn first_step(stages: u32) -> u32 {
    (stages - 1) % 3 + 1
}

/// The number of strands of a row.
pub(super) fn strands(degree: usize) -> usize {
    match outer_stages(degree) {
        // The first pass takes 2^stages rows at a time.
        0 => 1,
        outer => 1 << first_step(outer),
    }
}
