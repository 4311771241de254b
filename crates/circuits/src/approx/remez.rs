//! Minimax approximation by Remez' exchange algorithm.
//!
//! Consider the sums `p = sum_k c_k T_k` over a set of indices that satisfies Haar's condition on
//! the intervals: all indices up to a degree on any union; the odd, or the even, ones on a union on
//! one side of the middle of the domain. The best sum is the one whose error attains its maximum
//! with alternating signs in one point more than there are coefficients (Chebyshev). The exchange
//! (Remez 1934; on unions of intervals Lee, Lee, No and Kim, eprint 2020/552, section 3):
//!
//! ```text
//! Step 1:  solve for the polynomial whose error alternates in the reference points
//! Step 2:  find the extremes of its error
//! Step 3:  stop if the largest agrees with the error in the reference points
//! Step 4:  make alternating extremes, the largest among them, the new reference points
//! ```

use crate::chebyshev::Chebyshev;

/// Largest number of exchanges: convergence is quadratic.
const MAX_EXCHANGES: usize = 60;

/// The relative agreement of the largest error and the error in the reference points.
const AGREEMENT: f64 = 1e-8;

/// Grid points between two neighbouring reference points in the search for extremes.
const GRID: usize = 12;

/// The basis polynomials in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// All of them.
    Any,
    /// The odd ones.
    Odd,
    /// The even ones.
    Even,
}

impl Parity {
    fn indices(self, degree: usize) -> Vec<usize> {
        match self {
            Self::Any => (0..=degree).collect(),
            Self::Odd => (1..=degree).step_by(2).collect(),
            Self::Even => (0..=degree).step_by(2).collect(),
        }
    }
}

/// A best approximation.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimax {
    /// The polynomial, in the Chebyshev basis of the whole domain.
    pub polynomial: Chebyshev,
    /// The error in the reference points: no polynomial of this degree and parity has a smaller
    /// maximum (de la Vallee Poussin).
    pub least: f64,
    /// The largest error seen, above `least` by at most the disagreement that ends the exchange.
    pub seen: f64,
}

/// The minimax polynomial for `f` over a union of disjoint intervals in ascending order: of this
/// degree and parity, in the Chebyshev basis of `domain`. `None` when the exchange does not
/// converge (for degrees beyond the precision of `f64`), when zero is the only such polynomial
/// (odd, of degree 0), and when there is no interval, or one is empty, out of order or outside the
/// domain.
///
/// With a parity other than [`Any`](Parity::Any) the intervals must lie on one side of the middle
/// of the domain; the other side follows by symmetry.
///
/// ```
/// use bellerophon_circuits::approx::{Parity, remez};
///
/// // The sign on [-1, -1/8] and [1/8, 1], by an odd polynomial of degree 7.
/// let best = remez(|_| 1.0, &[[0.125, 1.0]], [-1.0, 1.0], 7, Parity::Odd).unwrap();
/// assert!((best.polynomial.eval(0.5) - 1.0).abs() <= best.seen);
/// assert!(best.seen < 1.0001 * best.least);
/// ```
pub fn remez(
    f: impl Fn(f64) -> f64,
    intervals: &[[f64; 2]],
    domain: [f64; 2],
    degree: usize,
    parity: Parity,
) -> Option<Minimax> {
    let ascending = intervals.windows(2).all(|w| w[0][1] < w[1][0]);
    let inside = intervals.iter().all(|[a, b]| domain[0] <= *a && a < b && *b <= domain[1]);
    let finite = domain.iter().all(|end| end.is_finite());
    let indices = parity.indices(degree);
    if intervals.is_empty() || !ascending || !inside || !finite || indices.is_empty() {
        return None;
    }
    let mut reference = first_reference(intervals, indices.len() + 1);
    let mut last: Option<Minimax> = None;
    for _ in 0..MAX_EXCHANGES {
        // Step 1: the polynomial whose error alternates in the reference points.
        let (polynomial, level) = alternating(&f, &reference, domain, &indices)?;
        let error = |x: f64| f(x) - polynomial.eval(x);
        // Step 2: the extremes of its error.
        let extremes = extremes(&error, intervals, &reference);
        let seen = extremes.iter().map(|e| e.1.abs()).fold(level, f64::max);
        let found = Minimax { polynomial, least: level, seen };
        // Step 3: agreement, or an error at the level of rounding.
        let floor = 64.0 * f64::EPSILON * found.polynomial.bound();
        if seen - level <= AGREEMENT * seen + floor {
            return Some(found);
        }
        // Step 4: the new reference points.
        let enough = pick(extremes, reference.len());
        last = Some(found);
        match enough {
            Some(next) => reference = next,
            None => break,
        }
    }
    last.filter(|best| best.seen <= 1.05 * best.least)
}

/// Chebyshev nodes of one interval as long as all intervals together, distributed over them.
fn first_reference(intervals: &[[f64; 2]], count: usize) -> Vec<f64> {
    let total: f64 = intervals.iter().map(|[a, b]| b - a).sum();
    let nodes = (0..count).map(|i| {
        let angle = std::f64::consts::PI * (i as f64 + 0.5) / count as f64;
        0.5 * total * (1.0 - angle.cos())
    });
    nodes
        .map(|mut t| {
            for [a, b] in intervals {
                if t <= b - a {
                    return a + t;
                }
                t -= b - a;
            }
            intervals[intervals.len() - 1][1]
        })
        .collect()
}

/// The polynomial with `f - p = +-level` alternating in the reference points, and `|level|`.
fn alternating(
    f: &impl Fn(f64) -> f64,
    reference: &[f64],
    domain: [f64; 2],
    indices: &[usize],
) -> Option<(Chebyshev, f64)> {
    let size = reference.len();
    let radius = 0.5 * (domain[1] - domain[0]);
    let middle = 0.5 * (domain[0] + domain[1]);
    // Step 1: one row for each reference point: the basis, the sign of the level, and f.
    let mut rows: Vec<Vec<f64>> = reference
        .iter()
        .enumerate()
        .map(|(i, &x)| {
            let angle = ((x - middle) / radius).clamp(-1.0, 1.0).acos();
            let basis = indices.iter().map(|&k| (k as f64 * angle).cos());
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            basis.chain([sign, f(x)]).collect()
        })
        .collect();
    // Step 2: the unknowns are the coefficients of the indices, then the level.
    let solution = solve(&mut rows)?;
    // A system so close to singular that the elimination did not see it.
    if solution.iter().any(|c| !c.is_finite()) {
        return None;
    }
    let mut coefficients = vec![0.0; indices[indices.len() - 1] + 1];
    for (&k, &c) in indices.iter().zip(&solution) {
        coefficients[k] = c;
    }
    Some((Chebyshev::new(domain[0], domain[1], coefficients), solution[size - 1].abs()))
}

/// The solution of a linear system, its right side in the last column, by Gaussian elimination with
/// the largest pivots. `None` for a pivot of zero.
pub(crate) fn solve(rows: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    let size = rows.len();
    for column in 0..size {
        let magnitude = |row: &[f64]| row[column].abs();
        let pivot =
            (column..size).max_by(|&i, &j| magnitude(&rows[i]).total_cmp(&magnitude(&rows[j])))?;
        rows.swap(column, pivot);
        let (above, below) = rows.split_at_mut(column + 1);
        let leading = &above[column];
        if leading[column] == 0.0 {
            return None;
        }
        for row in below {
            let factor = row[column] / leading[column];
            for (r, l) in row[column..].iter_mut().zip(&leading[column..]) {
                *r -= factor * l;
            }
        }
    }
    // Back substitution.
    let mut solution = vec![0.0; size];
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|j| rows[i][j] * solution[j]).sum();
        solution[i] = (rows[i][size] - known) / rows[i][i];
    }
    Some(solution)
}

/// The extremes of the error in ascending order, with alternating signs. Of adjacent extremes with
/// the same sign, only the largest is kept.
fn extremes(
    error: &impl Fn(f64) -> f64,
    intervals: &[[f64; 2]],
    reference: &[f64],
) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = vec![];
    for &[a, b] in intervals {
        // The grid: the ends, the reference points inside, and points between them.
        let inside = reference.iter().copied().filter(|&x| a < x && x < b);
        let marks: Vec<f64> = [a].into_iter().chain(inside).chain([b]).collect();
        let mut grid = vec![a];
        for pair in marks.windows(2) {
            let steps = (1..=GRID).map(|i| pair[0] + (pair[1] - pair[0]) * i as f64 / GRID as f64);
            grid.extend(steps);
        }
        let values: Vec<f64> = grid.iter().map(|&x| error(x)).collect();
        // Local extremes on the grid, refined.
        for i in 0..grid.len() {
            let here = values[i].abs();
            let rises = |j: usize| values[j] * values[i] > 0.0 && values[j].abs() > here;
            if (i > 0 && rises(i - 1)) || (i + 1 < grid.len() && rises(i + 1)) {
                continue;
            }
            let left = grid[i.saturating_sub(1)];
            let right = grid[(i + 1).min(grid.len() - 1)];
            let point = refined(error, left, grid[i], right, values[i]);
            // Two consecutive extrema with the same sign: only the larger one is kept.
            match kept.last_mut() {
                Some(last) if last.1 * point.1 > 0.0 => {
                    if point.1.abs() > last.1.abs() {
                        *last = point;
                    }
                }
                _ => kept.push(point),
            }
        }
    }
    kept
}

/// Refines the position of an extreme of the error in an interval, by parabolic interpolation.
fn refined(
    error: &impl Fn(f64) -> f64,
    mut left: f64,
    mut x: f64,
    mut right: f64,
    mut value: f64,
) -> (f64, f64) {
    let sign = value.signum();
    let (mut below, mut above) = (sign * error(left), sign * error(right));
    value *= sign;
    for _ in 0..3 {
        // The vertex of the parabola through the three points.
        let (p, q) = ((x - left) * (value - above), (x - right) * (value - below));
        let next = x - 0.5 * ((x - left) * p - (x - right) * q) / (p - q);
        // A vertex outside the bracket, or where it was: no progress.
        if !(next > left && next < right) || next == x {
            break;
        }
        // The larger value becomes the middle of the bracket.
        let there = sign * error(next);
        let (old, old_value) = (x, value);
        if there >= value {
            (x, value) = (next, there);
            if next > old {
                (left, below) = (old, old_value)
            } else {
                (right, above) = (old, old_value)
            }
        } else if next > x {
            (right, above) = (next, there);
        } else {
            (left, below) = (next, there);
        }
    }
    (x, sign * value)
}

/// `count` alternating extremes, the largest among them; `None` when there are too few.
fn pick(mut extremes: Vec<(f64, f64)>, count: usize) -> Option<Vec<f64>> {
    while extremes.len() > count {
        let size = |i: usize| extremes[i].1.abs();
        let last = extremes.len() - 1;
        if extremes.len() == count + 1 {
            extremes.remove(if size(0) < size(last) { 0 } else { last });
            continue;
        }
        // Removing a neighbouring pair keeps the alternation: the pair whose larger member is
        // least.
        let weakest = (0..last)
            .min_by(|&i, &j| size(i).max(size(i + 1)).total_cmp(&size(j).max(size(j + 1))))?;
        extremes.drain(weakest..weakest + 2);
    }
    (extremes.len() == count).then(|| extremes.into_iter().map(|e| e.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(p: &Chebyshev, f: impl Fn(f64) -> f64, [a, b]: [f64; 2]) -> f64 {
        (0..=20_000)
            .map(|i| a + (b - a) * i as f64 / 20_000.0)
            .map(|x| (f(x) - p.eval(x)).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn known_best_approximations() {
        // x^n by lower degrees: the error is that of T_n, 2^(1 - n).
        for n in [3, 6, 11] {
            let f = |x: f64| x.powi(n);
            let best = remez(f, &[[-1.0, 1.0]], [-1.0, 1.0], n as usize - 1, Parity::Any).unwrap();
            let truth = 2f64.powi(1 - n);
            assert!((best.least / truth - 1.0).abs() < 1e-6, "x^{n}: {}", best.least);
            assert!(largest(&best.polynomial, f, [-1.0, 1.0]) < 1.0001 * truth);
        }
        // 1/x on [a, b] by degree d, Chebyshev's closed form: the best relative-free error is
        // rho^-d / ((rho^2 - 1) / 2 rho)^2 / radius with rho = u + sqrt(u^2 - 1), u = middle /
        // radius.
        let (a, b) = (1.0, 3.0);
        let (middle, radius) = (0.5 * (a + b), 0.5 * (b - a));
        let u: f64 = middle / radius;
        let rho = u + (u * u - 1.0).sqrt();
        for d in [1, 4, 9] {
            let best = remez(|x| 1.0 / x, &[[a, b]], [a, b], d, Parity::Any).unwrap();
            let truth = rho.powi(-(d as i32)) / (radius * (u * u - 1.0));
            assert!((best.least / truth - 1.0).abs() < 1e-5, "degree {d}: {} {truth}", best.least);
        }
        // |x| by the even degree 2: x^2 + 1/8.
        let best = remez(f64::abs, &[[-1.0, 1.0]], [-1.0, 1.0], 2, Parity::Any).unwrap();
        assert!(
            (best.least - 0.125).abs() < 1e-6 && (best.polynomial.eval(0.0) - 0.125).abs() < 1e-6
        );
    }

    #[test]
    fn odd_polynomials_for_the_sign() {
        for margin in [0.5, 0.1, 0.01, 2f64.powi(-12), 2f64.powi(-20)] {
            for degree in [1, 3, 7, 15, 31] {
                let best = remez(|_| 1.0, &[[margin, 1.0]], [-1.0, 1.0], degree, Parity::Odd);
                let best = best.unwrap_or_else(|| panic!("margin {margin}, degree {degree}"));
                assert!(best.polynomial.is_odd());
                let found = largest(&best.polynomial, |_| 1.0, [margin, 1.0]);
                assert!(found <= best.seen * (1.0 + 1e-9) + 1e-14, "{margin} {degree}");
                assert!(best.seen <= best.least * 1.0001 + 1e-13, "{margin} {degree}");
            }
        }
        // Degree 1: c x with c = 2 / (1 + margin), error (1 - margin) / (1 + margin).
        let best = remez(|_| 1.0, &[[0.25, 1.0]], [-1.0, 1.0], 1, Parity::Odd).unwrap();
        assert!((best.least - 0.6).abs() < 1e-12);
    }

    #[test]
    fn malformed_intervals_have_no_best_approximation() {
        let best = |parts: &[[f64; 2]], domain| remez(|_| 1.0, parts, domain, 3, Parity::Any);
        assert!(best(&[[0.1, 0.5]], [0.0, 1.0]).is_some());
        for (parts, domain) in [
            (&[][..], [0.0, 1.0]),
            (&[[0.5, 0.5]], [0.0, 1.0]),
            (&[[0.5, 0.7], [0.1, 0.2]], [0.0, 1.0]),
            (&[[0.1, 1.5]], [0.0, 1.0]),
            (&[[0.1, f64::NAN]], [0.0, 1.0]),
            (&[[0.1, 0.5]], [0.0, f64::INFINITY]),
        ] {
            assert!(best(parts, domain).is_none(), "{parts:?} in {domain:?}");
        }
    }

    #[test]
    fn unions_of_intervals_leave_the_gaps_free() {
        let step = |x: f64| if x < 0.0 { 0.0 } else { 1.0 };
        let parts = [[-1.0, -0.2], [0.1, 0.4], [0.7, 1.0]];
        let best = remez(step, &parts, [-1.0, 1.0], 11, Parity::Any).unwrap();
        for part in parts {
            assert!(largest(&best.polynomial, step, part) <= best.seen * 1.0001);
        }
        let whole = remez(step, &[[-1.0, -0.2], [0.1, 1.0]], [-1.0, 1.0], 11, Parity::Any).unwrap();
        assert!(best.least <= whole.least);
    }
}
