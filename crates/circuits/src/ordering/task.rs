//! The tasks of a comparator: their keys, stages and errors.

use bellerophon_ckks::KeyLevels;

use super::network::{selection, sorting};
use super::{Comparator, SortOrder};

/// A task of a [`Comparator`] and the size of its vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderTask {
    /// [`sort`](Comparator::sort) of `len` values.
    Sort {
        /// Number of values.
        len: usize,
    },
    /// [`top_k`](Comparator::top_k) of `len` values.
    TopK {
        /// Number of values.
        len: usize,
        /// Number of largest values.
        k: usize,
    },
    /// [`max`](Comparator::max), [`min`](Comparator::min) and [`arg_max`](Comparator::arg_max) of a
    /// vector.
    Max {
        /// Slots of the vector.
        slots: usize,
    },
    /// [`count_below`](Comparator::count_below), [`rank`](Comparator::rank) and
    /// [`histogram`](Comparator::histogram) of a vector.
    Count {
        /// Slots of the vector.
        slots: usize,
    },
    /// [`quantile`](Comparator::quantile) and [`median`](Comparator::median) of a vector.
    Quantile {
        /// Slots of the vector.
        slots: usize,
    },
}

impl OrderTask {
    /// The keys of the task up to `level`: the level of the operand or, with bootstrapping, the
    /// level after a bootstrap, whichever is higher.
    pub fn keys(self, level: usize) -> KeyLevels {
        let products = Comparator::products(level);
        match self {
            Self::Sort { len } | Self::TopK { len, .. } => {
                let distances = (0..len.next_power_of_two().ilog2()).map(|i| 1i64 << i);
                products.rotate(distances.flat_map(|d| [d, -d]), level)
            }
            Self::Max { slots } => products.rotate(distances(slots), level),
            Self::Count { slots } | Self::Quantile { slots } => products.sum_slots(slots, level),
        }
    }
}

impl Comparator {
    /// Comparisons in a row. Sorting takes `r (r + 1) / 2` for up to `2^r` values, selection of up
    /// to `2^s` of them `s (s + 1) / 2 + (r - s) (s + 1)`, a maximum one for each doubling, a count
    /// one. Each step of a quantile takes two: it halves what is left of the declared range, to a
    /// quarter of the margin or less.
    pub fn stages(&self, task: OrderTask) -> usize {
        match task {
            OrderTask::Sort { len } => sorting(len.next_power_of_two(), SortOrder::Ascending).len(),
            OrderTask::TopK { len, k } => {
                let wires = len.next_power_of_two();
                selection(k.next_power_of_two().min(wires), wires).len()
            }
            OrderTask::Max { slots } => slots.ilog2() as usize,
            OrderTask::Count { .. } => 1,
            OrderTask::Quantile { .. } => 2 * self.quantile_steps(),
        }
    }

    /// Bound on the error of the result.
    ///
    /// For sorted values, largest values, maximum and minimum it is a part of the width of the
    /// declared range: that of one exchange for each stage, since an exact network enlarges no
    /// error of its operands. One exchange, a sort of two values, is off by half of
    /// `max |d| - d s(d) / (1 + e)` over all differences `d`, for the sign `s` of error `e`. A
    /// maximum is never too large and a minimum never too small.
    ///
    /// For a count it is the error of one value: half of the error of the sign where the value is
    /// at least one margin from the threshold. Nearer values count by a number between 0 and 1.
    ///
    /// For a quantile it bounds the distance from a value of a rank within
    /// [`quantile_rank_error`](Self::quantile_rank_error), as a part of the width of the declared
    /// range: the margin, the last step and the error of the sign.
    pub fn error(&self, task: OrderTask) -> f64 {
        match task {
            OrderTask::Sort { .. } | OrderTask::TopK { .. } | OrderTask::Max { .. } => {
                self.stages(task) as f64 * self.exchange_error()
            }
            OrderTask::Count { .. } => self.count_error(),
            OrderTask::Quantile { .. } => self.quantile_error(),
        }
    }
}

/// Distances of the rounds of a maximum: 1, 2, 4, .. below the number of slots.
pub(super) fn distances(slots: usize) -> impl Iterator<Item = i64> {
    (0..slots.ilog2()).map(|i| 1i64 << i)
}
