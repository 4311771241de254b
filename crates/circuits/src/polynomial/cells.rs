//! The largest value of a function of plans over an interval, by branch and bound.
//!
//! A polynomial of degree `n` at `u = cos(a)` is a cosine sum of `a`, whose second derivative is at
//! most `n^2 M` for a bound `M` on the polynomial over `[-1, 1]` (Bernstein). Over a cell of the
//! width `w` in `a` it stays within `n^2 M w^2 / 8` of the line between its values at the ends.
//!
//! 1. A cell has a bound by its ends. A bound near the largest value seen at any end is accepted.
//! 2. Any other cell is halved, and its middle seen.
//!
//! The largest accepted bound holds for every argument. Halving ends at cells so small that their
//! bounds are near their values, or when the work is spent: the bound is then farther off.

use super::{Plan, Polynomial, Sensitivity, worst::formal_degree};

/// The factor by which a bound may exceed the largest value seen.
const EXCESS: f64 = 1.1;

/// The number of cells after which no cell is halved.
const MAX_CELLS: usize = 1 << 14;

/// A part of the interval `[-1, 1]`.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) ends: [f64; 2],
    /// `w^2 / 8`.
    room: f64,
}

impl Cell {
    /// From `lo` to `hi`, as far as within `[-1, 1]`.
    pub(crate) fn new(lo: f64, hi: f64) -> Self {
        let ends = [lo, hi].map(|u| u.clamp(-1.0, 1.0));
        let width = ends[0].acos() - ends[1].acos();
        Self { ends, room: width * width / 8.0 }
    }

    /// A bound on a polynomial from its values at the ends and its bound over `[-1, 1]`.
    pub(crate) fn most(&self, degree: usize, bound: f64, [x, y]: [f64; 2]) -> f64 {
        (x.abs().max(y.abs()) + self.room * (degree * degree) as f64 * bound).min(bound)
    }

    /// As [`most`](Self::most), an interval that contains the values.
    pub(crate) fn range(&self, degree: usize, bound: f64, [x, y]: [f64; 2]) -> [f64; 2] {
        let beyond = self.room * (degree * degree) as f64 * bound;
        [(x.min(y) - beyond).max(-bound), (x.max(y) + beyond).min(bound)]
    }

    /// A bound on a sum of squared derivatives of a plan by intermediate results.
    pub(crate) fn most_squares(&self, plan: &Plan, bound: f64, ends: [f64; 2]) -> f64 {
        self.most(2 * formal_degree(&plan.root), bound, ends)
    }
}

impl Polynomial {
    /// The interval of the values over a cell, and a bound on the sensitivity there.
    pub(crate) fn over(&self, cell: &Cell) -> ([f64; 2], Sensitivity) {
        let degree = formal_degree(&self.plan.root);
        let values = cell.ends.map(|u| self.plan.eval(u).re);
        let [x, y] = cell.ends.map(|u| self.plan.sensitivity(u));
        let squares = [x, y].map(|s| s.steps * s.steps);
        let most = cell.most_squares(&self.plan, self.largest.steps.powi(2), squares);
        let slope = cell.most(degree, self.largest.input, [x.input, y.input]);
        let range = cell.range(degree, self.chebyshev.bound(), values);
        (range, Sensitivity { input: slope, steps: most.sqrt() })
    }
}

/// A bound on the largest sensitivity over cells.
pub(crate) fn largest(
    cells: impl IntoIterator<Item = [f64; 2]>,
    at: impl Fn(f64) -> Sensitivity,
    over: impl Fn([f64; 2]) -> Sensitivity,
) -> Sensitivity {
    let none = Sensitivity { input: 0.0, steps: 0.0 };
    let mut open: Vec<[f64; 2]> = cells.into_iter().collect();
    let mut seen = open.iter().flatten().map(|&x| at(x)).fold(none, Sensitivity::max);
    let (mut bound, mut count) = (seen, 0);
    while !open.is_empty() {
        count += open.len();
        let spent = count > MAX_CELLS;
        let mut halves = vec![];
        for [lo, hi] in open {
            // Step 1: a bound by the ends.
            let here = over([lo, hi]);
            let near = here.input <= EXCESS * seen.input && here.steps <= EXCESS * seen.steps;
            let middle = 0.5 * (lo + hi);
            if near || spent || middle <= lo || middle >= hi {
                bound = bound.max(here);
                continue;
            }
            // Step 2: two halves.
            seen = seen.max(at(middle));
            halves.extend([[lo, middle], [middle, hi]]);
        }
        open = halves;
    }
    bound
}
