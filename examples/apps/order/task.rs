//! The parts of the program: sizes, server code, the same on plain numbers, and error bounds.

use std::fmt;

use bellerophon::Result as Computed;
use bellerophon::circuits::ordering::{Comparator, Order, OrderTask};
use bellerophon::ckks::KeyLevels;
use bellerophon::prelude::*;
use clap::ValueEnum;

/// The declared range of all numbers.
pub const RANGE: std::ops::RangeInclusive<f64> = -1.0..=1.0;

/// The declared range of sorted numbers: noise may leave the range.
const PUBLISHED: std::ops::RangeInclusive<f64> = -1.01..=1.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// All numbers, the smallest first
    Sort,
    /// The median
    Median,
    /// The largest numbers
    Top,
    /// Counts of the numbers in bins of equal width
    Histogram,
}

/// A part and its size.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    /// Sort this many numbers.
    Sort { values: usize },
    /// Their median.
    Median { values: usize },
    /// The largest of them.
    Top { count: usize, values: usize },
    /// Counts in bins of equal width.
    Histogram { bins: usize, values: usize },
}

/// The name in reports, with the number of values.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sort { values } => write!(f, "sort_{values}"),
            Self::Median { values } => write!(f, "median_{values}"),
            Self::Top { count, values } => write!(f, "top{count}_{values}"),
            Self::Histogram { values, .. } => write!(f, "histogram_{values}"),
        }
    }
}

impl Part {
    /// The size of the part.
    pub fn task(self, small: bool) -> Task {
        match (self, small) {
            (Self::Sort, false) => Task::Sort { values: 4096 },
            (Self::Sort, true) => Task::Sort { values: 2 },
            (Self::Median, false) => Task::Median { values: 1 << 15 },
            (Self::Median, true) => Task::Median { values: 2 },
            (Self::Top, false) => Task::Top { count: 16, values: 4096 },
            (Self::Top, true) => Task::Top { count: 1, values: 2 },
            (Self::Histogram, false) => Task::Histogram { bins: 16, values: 1 << 15 },
            (Self::Histogram, true) => Task::Histogram { bins: 2, values: 4 },
        }
    }
}

impl Task {
    /// The number of operand values.
    pub fn values(self) -> usize {
        match self {
            Self::Sort { values }
            | Self::Median { values }
            | Self::Top { values, .. }
            | Self::Histogram { values, .. } => values,
        }
    }

    /// The name among the stages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sort { .. } => "sort",
            Self::Median { .. } => "median",
            Self::Top { .. } => "largest values",
            Self::Histogram { .. } => "histogram",
        }
    }

    /// The declaration of the result.
    pub fn declaration(self) -> Declaration {
        match self {
            Self::Histogram { values, .. } => {
                Declaration::from(-(values as f64)..=2.0 * values as f64)
            }
            _ => Declaration::from(PUBLISHED),
        }
    }

    /// The unit of its errors: for counts, the number of values.
    pub fn unit(self) -> f64 {
        match self {
            Self::Histogram { values, .. } => values as f64,
            _ => 1.0,
        }
    }

    /// The keys of the part, up to the level of fresh vectors.
    pub fn keys(self, level: usize) -> KeyLevels {
        match self {
            Self::Sort { values } | Self::Top { values, .. } => {
                OrderTask::Sort { len: values }.keys(level)
            }
            Self::Median { values } | Self::Histogram { values, .. } => {
                OrderTask::Count { slots: values.next_power_of_two() }.keys(level)
            }
        }
    }

    /// The code of the server.
    pub fn evaluate(
        self,
        comparator: &Comparator,
        server: &Evaluator,
        x: &Ciphertext,
    ) -> Computed<Ciphertext> {
        Ok(match self {
            Self::Sort { .. } => comparator.sort(server, x, Order::Ascending)?,
            Self::Median { .. } => comparator.median(server, x)?,
            Self::Top { count, .. } => comparator.top_k(server, x, count)?,
            Self::Histogram { bins, .. } => comparator.histogram(server, x, &edges(bins))?,
        })
    }

    /// The same on plain numbers, as many as the result has.
    pub fn expected(self, values: &[f64]) -> Vec<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        match self {
            Self::Sort { .. } => sorted,
            Self::Median { values: n } => {
                vec![0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]); n]
            }
            Self::Top { count, .. } => sorted.into_iter().rev().take(count).collect(),
            Self::Histogram { bins, .. } => {
                let mut counts = vec![0.0; bins];
                for x in values {
                    let bin = ((x + 1.0) / 2.0 * bins as f64) as usize;
                    counts[bin.min(bins - 1)] += 1.0;
                }
                counts
            }
        }
    }

    /// The bound that the library states for the error. For counts it depends on the number of
    /// values near each edge.
    pub fn bound(self, comparator: &Comparator, values: &[f64]) -> f64 {
        let width = RANGE.end() - RANGE.start();
        let slots = values.len().next_power_of_two();
        let near =
            |edge: f64, reach: f64| values.iter().filter(|x| (**x - edge).abs() < reach).count();
        match self {
            Self::Sort { values } => width * comparator.error(OrderTask::Sort { len: values }),
            Self::Top { count, values } => {
                width * comparator.error(OrderTask::TopK { len: values, k: count })
            }
            Self::Median { values: n } => {
                // The distance from the middle to the ranks that the comparator may return.
                let mut sorted = values.to_vec();
                sorted.sort_by(f64::total_cmp);
                let (off, middle) = (comparator.quantile_rank_error() * n as f64, 0.5 * n as f64);
                let place = |rank: f64| sorted[(rank.max(0.0) as usize).min(n - 1)];
                let truth = self.expected(values)[0];
                let low = truth - place((middle - off).ceil() - 1.0);
                let high = place((middle + off).floor()) - truth;
                width * comparator.error(OrderTask::Quantile { slots }) + low.max(high)
            }
            Self::Histogram { bins, values: n } => {
                let reach = width * comparator.margin() * 1.001;
                let most =
                    edges(bins).windows(2).map(|e| near(e[0], reach) + near(e[1], reach)).max();
                0.5 * most.unwrap_or(0) as f64
                    + 2.0 * n as f64 * comparator.error(OrderTask::Count { slots })
            }
        }
    }
}

/// Ends of bins of equal width.
fn edges(bins: usize) -> Vec<f64> {
    (0..=bins).map(|i| -1.0 + 2.0 * i as f64 / bins as f64).collect()
}
