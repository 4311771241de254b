//! The parts of the program: sizes, server code, the same on plain numbers, and error bounds.

use std::fmt;

use bellerophon::circuits::ordering::{Comparator, OrderTask, SortOrder};
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
pub struct Task {
    part: Part,
    /// The number of operand values.
    pub values: usize,
    /// The number of results of [`Part::Top`], or of bins.
    count: usize,
}

/// The name in reports, with the number of values.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, values, count } = self;
        match part {
            Part::Sort => write!(f, "sort_{values}"),
            Part::Median => write!(f, "median_{values}"),
            Part::Top => write!(f, "top{count}_{values}"),
            Part::Histogram => write!(f, "histogram_{values}"),
        }
    }
}

impl Task {
    /// A part in its full or its small size.
    pub fn of(part: Part, small: bool) -> Self {
        let (values, count) = match (part, small) {
            (Part::Sort | Part::Top, false) => (4096, 16),
            (Part::Median | Part::Histogram, false) => (1 << 15, 16),
            (Part::Histogram, true) => (4, 2),
            (_, true) => (2, 1),
        };
        Self { part, values, count }
    }

    pub fn name(self) -> &'static str {
        match self.part {
            Part::Sort => "sort",
            Part::Median => "median",
            Part::Top => "largest values",
            Part::Histogram => "histogram",
        }
    }

    pub fn declaration(self) -> Declaration {
        let n = self.values as f64;
        Declaration::from(if self.part == Part::Histogram { -n..=2.0 * n } else { PUBLISHED })
    }

    /// The unit of its errors: for counts, the number of values.
    pub fn unit(self) -> f64 {
        if self.part == Part::Histogram { self.values as f64 } else { 1.0 }
    }

    /// The keys of the part, up to the level of fresh vectors.
    pub fn keys(self, level: usize) -> KeyLevels {
        let task = match self.part {
            Part::Sort | Part::Top => OrderTask::Sort { len: self.values },
            _ => OrderTask::Count { slots: self.values.next_power_of_two() },
        };
        task.keys(level)
    }

    pub fn evaluate(
        self,
        comparator: &Comparator,
        server: &Evaluator,
        x: &Ciphertext,
    ) -> bellerophon::Result<Ciphertext> {
        match self.part {
            Part::Sort => comparator.sort(server, x, SortOrder::Ascending),
            Part::Median => comparator.median(server, x),
            Part::Top => comparator.top_k(server, x, self.count),
            Part::Histogram => comparator.histogram(server, x, &self.edges()),
        }
    }

    /// The same on plain numbers, as many as the result has.
    pub fn expected(self, values: &[f64]) -> Vec<f64> {
        let (n, sorted) = (self.values, sorted(values));
        match self.part {
            Part::Sort => sorted,
            Part::Median => vec![0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]); n],
            Part::Top => sorted.into_iter().rev().take(self.count).collect(),
            Part::Histogram => {
                let mut counts = vec![0.0; self.count];
                for x in values {
                    let bin = ((x + 1.0) / 2.0 * self.count as f64) as usize;
                    counts[bin.min(self.count - 1)] += 1.0;
                }
                counts
            }
        }
    }

    /// The bound that the library states for the error. For counts it depends on the number of
    /// values near each edge.
    pub fn bound(self, comparator: &Comparator, values: &[f64]) -> f64 {
        let (n, width) = (self.values, RANGE.end() - RANGE.start());
        let slots = n.next_power_of_two();
        match self.part {
            Part::Sort => width * comparator.error(OrderTask::Sort { len: n }),
            Part::Top => width * comparator.error(OrderTask::TopK { len: n, k: self.count }),
            Part::Median => {
                // The distance from the middle to the ranks that the comparator may return.
                let sorted = sorted(values);
                let (off, middle) = (comparator.quantile_rank_error() * n as f64, 0.5 * n as f64);
                let place = |rank: f64| sorted[(rank.max(0.0) as usize).min(n - 1)];
                let truth = self.expected(values)[0];
                let low = truth - place((middle - off).ceil() - 1.0);
                let high = place((middle + off).floor()) - truth;
                width * comparator.error(OrderTask::Quantile { slots }) + low.max(high)
            }
            Part::Histogram => {
                let reach = width * comparator.margin() * 1.001;
                let near = |edge: f64| values.iter().filter(|x| (**x - edge).abs() < reach).count();
                let most = self.edges().windows(2).map(|e| near(e[0]) + near(e[1])).max();
                let missed = 2.0 * n as f64 * comparator.error(OrderTask::Count { slots });
                0.5 * most.unwrap_or(0) as f64 + missed
            }
        }
    }

    /// Ends of bins of equal width.
    fn edges(self) -> Vec<f64> {
        (0..=self.count).map(|i| -1.0 + 2.0 * i as f64 / self.count as f64).collect()
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
