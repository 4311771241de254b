//! Rows of coefficients in the order in which the first pass of a transform reads them.
//!
//! That pass works on coefficients `N / R` apart, `R` of them at a time, and those of a conversion
//! come from several rows. In natural order it would follow `R` streams in every row, at powers of
//! two from each other. Here all of them are one stream: eight lines of every row, for each of the
//! `R` places in turn, then the eight lines that come next.

use std::ops::Range;

use super::{MAX_PRODUCTS, WeightedRows};
use crate::par::{self, CHEAP};

/// `log2` of the words of a transform that stay in the first-level cache: 32 KiB.
pub(super) const LOG_PIECE: u32 = 12;

/// Lines of one row in a block.
pub(super) const BURST: usize = 8;

/// How some rows are cut into blocks. A block has the words of each row at some places, then a byte
/// for each place, the [quotients](super::quotients), unless there is only one row.
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
        part_words(self.degree)
    }

    /// Words of a block.
    pub(crate) fn stride(self) -> usize {
        let bytes = if self.rows > 1 { self.words() } else { 0 };
        self.rows * self.words() + bytes.div_ceil(size_of::<u64>())
    }

    /// Words of all blocks.
    pub(crate) fn len(self) -> usize {
        self.degree / self.words() * self.stride()
    }

    /// The stages of the first pass.
    pub(super) fn first_stages(self) -> u32 {
        strands(self.degree).trailing_zeros()
    }

    /// The steps of the first pass: in each it takes one block for each strand.
    pub(super) fn steps(self) -> usize {
        self.degree / self.words() / strands(self.degree)
    }

    /// The steps in parts, of which each stays in cache while it is read so many times; all of them at
    /// once if it is read but once.
    pub(super) fn parts(self, readers: usize) -> impl Iterator<Item = Range<usize>> {
        let steps = self.steps();
        let size = match readers {
            0 | 1 => steps,
            _ => (PART_WORDS / (strands(self.degree) * self.stride())).clamp(1, steps),
        };
        (0..steps).step_by(size).map(move |first| first..steps.min(first + size))
    }

    /// By row, then block: where the words of the rows go.
    pub(crate) fn parts_of_rows(self, out: &mut [u64]) -> Vec<Vec<&mut [u64]>> {
        let mut rows: Vec<_> =
            (0..self.rows).map(|_| Vec::with_capacity(self.degree / self.words())).collect();
        for block in out.chunks_exact_mut(self.stride()) {
            rows.iter_mut()
                .zip(block.chunks_exact_mut(self.words()))
                .for_each(|(row, part)| row.push(part));
        }
        rows
    }

    /// Writes the quotients, once all rows of several are there: those of each block by `kernel`.
    pub(crate) fn write_quotients(
        self,
        kernel: impl Fn(&[u64], &mut [u8]) + Sync + Send,
        out: &mut [u64],
    ) {
        let (words, stride) = (self.words(), self.stride());
        par::each_limb(out, TOGETHER * stride, CHEAP, |_, blocks| {
            for block in blocks.chunks_exact_mut(stride) {
                let (values, bytes) = block.split_at_mut(self.rows * words);
                kernel(values, &mut bytemuck::cast_slice_mut(bytes)[..words]);
            }
        });
    }
}

/// Words of blocks that are read by all before the next ones: 128 KiB.
const PART_WORDS: usize = 1 << 14;

/// Blocks that one thread writes at a time.
const TOGETHER: usize = 64;

/// Some rows in blocks, see [`Layout`].
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) data: &'a [u64],
    pub(crate) layout: Layout,
}

impl Blocks<'_> {
    /// The blocks of some steps with their places in the rows.
    pub(super) fn iter(&self, steps: &Range<usize>) -> impl Iterator<Item = (usize, &[u64])> {
        let (stride, strands) = (self.layout.stride(), strands(self.layout.degree));
        (steps.start * strands..steps.end * strands)
            .map(move |i| (place(self.layout.degree, i), &self.data[i * stride..(i + 1) * stride]))
    }
}

/// Gives a kernel the rows in a block, `words` of each, of so many bits, with their weights and that of the
/// quotients.
pub(super) fn weighted_sum(
    (block, words): (&[u64], usize),
    bits: &[u32],
    weights: &[u64],
    kernel: impl FnOnce(WeightedRows),
) {
    let count = bits.len();
    let (values, bytes) = block.split_at(count * words);
    let mut rows = [&[][..]; MAX_PRODUCTS];
    values.chunks_exact(words).zip(&mut rows).for_each(|(row, slice)| *slice = row);
    let multiples = Some((&bytemuck::cast_slice(bytes)[..words], weights[count]));
    kernel(WeightedRows { rows: &rows[..count], bits, weights: &weights[..count], multiples });
}

/// Copies a row to its [parts](Layout::parts_of_rows).
pub(crate) fn copy_to_parts(row: &[u64], parts: &mut [&mut [u64]]) {
    for (i, part) in parts.iter_mut().enumerate() {
        part.copy_from_slice(&row[place(row.len(), i)..][..part.len()]);
    }
}

/// The place in a row of the block of this index.
fn place(degree: usize, index: usize) -> usize {
    let strands = strands(degree);
    index % strands * (degree / strands) + index / strands * part_words(degree)
}

/// Words of one row in a block.
fn part_words(degree: usize) -> usize {
    (8 * BURST).min(degree / strands(degree))
}

/// The stages of a transform that are passes over the whole polynomial.
pub(super) fn outer_stages(degree: usize) -> u32 {
    degree.trailing_zeros().saturating_sub(LOG_PIECE)
}

/// The stages of the first of several passes: one, two or three, so that a multiple of three is left.
pub(super) fn first_step(stages: u32) -> u32 {
    (stages - 1) % 3 + 1
}

/// In how many equal parts the first pass over the whole reads a row.
pub(super) fn strands(degree: usize) -> usize {
    match outer_stages(degree) {
        0 => 1,
        outer => 1 << first_step(outer),
    }
}
