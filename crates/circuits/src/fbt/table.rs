//! Tables over `Z_p` as series that remove noise of their input: Hermite interpolants in closed
//! form.
//!
//! Entry `y_k` belongs to `t = k / p`. Let `c_j = (1/p) sum_k y_k exp(-2 pi i j k / p)` be the
//! Fourier coefficients of the entries, continued with period `p`. Every interpolant that is
//! independent of the start of the circle is
//!
//! ```text
//! R(t) = sum_n phi(n / p) c_n exp(2 pi i n t),       sum_l phi(u + l) = 1 for every u.
//! ```
//!
//! An input error of `e` cells multiplies the part of frequency `u = j / p` by
//! `sum_l phi(u + l) exp(2 pi i (u + l) e)`. The derivatives in the nodes up to the order `m`
//! vanish if `sum_l phi(u + l) (u + l)^r = 0` for `r = 1 .. m`. Lagrange's weights at zero over
//! `m + 1` aliases `u + l` satisfy this. With the aliases nearest to zero, and `x = |n| / p`:
//!
//! | order | weight `phi(x)` | degree |
//! | --- | --- | --- |
//! | 0 | `1` below 1/2, `1/2` at 1/2 | `p / 2` |
//! | 1 | `1 - x` below 1: the Fejer mean | `p - 1` |
//! | 2 | `1 - x^2` below 1/2, `(1 - x)(2 - x) / 2` below 3/2; at 1/2 and 3/2 that of order 3 | `3 p / 2` |
//! | 3 | `(1 - x)(2 - x)(1 + x) / 2` below 1, `(1 - x)(2 - x)(3 - x) / 6` below 2 | `2 p - 1` |
//!
//! Real entries have `c_{-n} = conj c_n`, so the coefficient of `E^n` is `2 phi(n / p) c_n` for
//! `n > 0` (orders 0 and 1: eprint 2024/1623).

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use std::{f64::consts::TAU, fmt};

use num_complex::Complex64;

use super::{Series, fourier::transform, series::Gain};
use crate::error;
use bellerophon_ckks::Result;

const MAX_ENTRIES: usize = 1 << 16;

/// Largest magnitude of an entry: derivatives of larger ones could overflow.
const LARGEST_ENTRY: f64 = 1e100;

/// Coefficients below this are rounding errors, in units of `f64::EPSILON` times the Euclidean norm
/// of the entries over their number.
const ROUNDING: f64 = 16.0;

/// Largest input error, in cells: half of the distance of two nodes.
const HALF_CELL: f64 = 0.5;

/// A table over `Z_p` as a [`Series`]: input `k / p` revolutions gives entry `k`.
///
/// An input with an error of `e` *cells* (`e / p` revolutions) gives the entry up to
/// `error(e)`, which falls like `e^(order + 1)`.
///
/// **Noise.** An error of `E` along the circle is an error of the angle. An error across it is one
/// of the modulus, and the series is made for modulus 1. Table entries `y_k` have zero derivatives
/// along the circle only; an error of `E` across it is multiplied by `Re sum_j j a_j E^j`, up to
/// `p / 4` times the spread of the entries. Tables of many entries therefore take a normalised
/// exponential.
#[derive(Clone)]
pub struct Table {
    /// The number `p` of entries.
    pub(crate) size: usize,
    /// The order up to which derivatives vanish in the nodes.
    pub(crate) order: usize,
    pub(crate) series: Series,
    /// Bounds on the error per `e^(order + 1)`, `e^(order + 2)` and `e^(order + 3)`.
    taylor: [f64; 3],
    /// Largest rounding error of an entry at its node.
    rounding: f64,
    /// `Re sum_j j a_j E^j` over the nodes: the output error per relative error of `|E|`.
    pub(super) radial: Gain,
}

/// Prints size, order and degree only: the entries may be secret.
impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("size", &self.size)
            .field("order", &self.order)
            .field("degree", &self.series.degree())
            .finish_non_exhaustive()
    }
}

impl Table {
    /// The table with `p = entries.len()` real entries, interpolated with derivatives that vanish
    /// up to `order` in every node. Takes `O(p log p)` operations.
    ///
    /// Orders 1 to 3 remove noise: the output error is smaller than the input error, for entries of
    /// the spread of a cell. Order 0 is the interpolant of half the degree, without noise removal.
    pub(crate) fn new(entries: &[f64], order: usize) -> Result<Self> {
        check(entries, order)?;
        let p = entries.len();
        let (least, most) = entries
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &y| (a.min(y), b.max(y)));

        // Step 1: Fourier coefficients of the entries about the middle of their range, which are
        // zero for equal entries. Coefficients at the level of rounding become zero.
        let middle = least + 0.5 * (most - least);
        let mut c: Vec<Complex64> = entries.iter().map(|y| Complex64::from(y - middle)).collect();
        let norm = c.iter().map(|y| y.norm_sqr()).sum::<f64>().sqrt() / p as f64;
        transform(&mut c);
        for c in &mut c {
            *c = c.conj() / p as f64;
            if c.norm() <= ROUNDING * f64::EPSILON * norm {
                *c = Complex64::ZERO;
            }
        }

        // Step 2: the weights of the aliases.
        let coefficient = |n: usize| match n {
            0 => c[0] + middle,
            _ => c[n % p] * (2.0 * weight(n, p, order)),
        };
        let coefficients = (0..=(order + 1) * p / 2).map(coefficient).collect();
        let series = Series::new(coefficients, least, most)?;

        // Step 3: Taylor's theorem about every node: the first two terms that do not vanish, and
        // the remainder from the largest derivative on the circle.
        let taylor = [
            at_nodes(&series, p, order + 1) / factorial(order + 1),
            at_nodes(&series, p, order + 2) / factorial(order + 2),
            anywhere(&series, p, order + 3) / factorial(order + 3),
        ];
        let values = series.eval_nodes(p);
        let rounding = values.iter().zip(entries).map(|(r, y)| (r - y).abs()).fold(0.0, f64::max);
        let gains = series.radial_nodes(p);
        let radial = Gain {
            most: gains.iter().map(|g| g.abs()).fold(0.0, f64::max),
            mean: (gains.iter().map(|g| g * g).sum::<f64>() / p as f64).sqrt(),
        };
        Ok(Self { size: p, order, series, taylor, rounding, radial })
    }

    /// Largest entry less least entry.
    pub(crate) fn spread(&self) -> f64 {
        self.series.range.hi() - self.series.range.lo()
    }

    /// A bound on the output error for input errors of at most `e` cells along the circle:
    /// `A e^(m+1) + B e^(m+2) + C e^(m+3)` for order `m`, plus the rounding of the coefficients.
    ///
    /// `A` and `B` are the largest `|R^(m+1)(k)| / (m+1)!` and `|R^(m+2)(k)| / (m+2)!` over the
    /// nodes, `C` is a bound on `|R^(m+3)| / (m+3)!` over the circle, derivatives by cells. Entries
    /// of spread 1 that alternate have `A = 2.47` at order 1 and 18.3 at order 3; a single entry
    /// that differs from all others has 3.29 and 23.8.
    pub(crate) fn error(&self, e: f64) -> f64 {
        let [a, b, c] = self.taylor;
        let e = e.abs();
        e.powi(self.order as i32 + 1) * (a + e * (b + e * c)) + self.rounding
    }

    /// A bound on the output error per `e^(order + 1)` for input errors `e` up to
    /// [`tolerance`](Self::tolerance) cells: at order 1 half of the largest second derivative, plus
    /// the higher terms.
    #[cfg(test)]
    pub(crate) fn curvature(&self) -> f64 {
        let [a, b, c] = self.taylor;
        let e = self.tolerance();
        a + e * (b + e * c)
    }

    /// The largest input error in cells, up to 1/2, for which the output still distinguishes `p`
    /// equally spaced values over the spread of the entries: `error <= spread / (2 (p - 1))`. About
    /// `0.45 / sqrt(p - 1)` at order 1 for alternating entries; 1/2 for equal entries.
    pub(crate) fn tolerance(&self) -> f64 {
        let allowed = 0.5 * self.spread() / (self.size - 1) as f64;
        self.largest(|_| allowed)
    }

    /// The largest input error in cells, up to 1/2, that does not grow in a chain of such tables,
    /// whose entries fill the `p` cells of the next: `error <= e spread / (p - 1)`. About
    /// `0.41 / (p - 1)` at order 1 for alternating entries; usually zero at order 0.
    #[cfg(test)]
    pub(crate) fn chain_tolerance(&self) -> f64 {
        let cell = self.spread() / (self.size - 1) as f64;
        self.largest(|e| e * cell)
    }

    /// The largest `e` up to half a cell with an error of at most `allowed(e)`, a linear function.
    /// The error is convex: halving finds a point below the crossing, bisection the crossing.
    fn largest(&self, allowed: impl Fn(f64) -> f64) -> f64 {
        let fits = |e: f64| self.error(e) <= allowed(e);
        if fits(HALF_CELL) {
            return HALF_CELL;
        }
        let halves = (1..60).map(|i| HALF_CELL * 0.5f64.powi(i));
        let Some(mut low) = halves.into_iter().find(|&e| fits(e)) else { return 0.0 };
        let mut high = 2.0 * low;
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }
}

fn check(entries: &[f64], order: usize) -> Result<()> {
    let p = entries.len();
    if !(2..=MAX_ENTRIES).contains(&p) {
        return Err(error::shape(format!("{p} entries: need 2 to {MAX_ENTRIES}")));
    }
    if order > 3 {
        return Err(error::shape(format!("order {order}: need 0 (no cleaning), 1, 2 or 3")));
    }
    if let Some(index) = entries.iter().position(|y| !y.is_finite()) {
        return Err(error::non_finite("entry", index, p));
    }
    if let Some(index) = entries.iter().position(|y| y.abs() > LARGEST_ENTRY) {
        let reason = format!(
            "the entry at position {index} of {p} is larger than 1e100: scale the entries down"
        );
        return Err(error::shape(reason));
    }
    Ok(())
}

/// `phi(n / p)` of an order: Lagrange's weight at zero of the alias `n` among the `order + 1`
/// aliases `n + l p` nearest to zero. If two are equally near, both choices are averaged, which
/// gives the next order.
fn weight(n: usize, p: usize, order: usize) -> f64 {
    // Twice the frequency, in units of 1 / p, against twice the reach.
    let (twice, reach) = (2 * n, (order + 1) * p);
    let centred = order % 2 == 1;
    if twice > reach || (twice == reach && centred) {
        return 0.0;
    }
    if !centred && (twice + reach).is_multiple_of(2 * p) {
        return if order == 0 { 0.5 } else { weight(n, p, order + 1) };
    }
    let x = n as f64 / p as f64;
    let reach = 0.5 * (order + 1) as f64;
    let shifts = -(order as i64 + 1)..=order as i64 + 1;
    let others = shifts.filter(|&l| l != 0 && (x + l as f64).abs() < reach);
    others.map(|l| (x + l as f64) / l as f64).product()
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

/// The weight of `a_j` in the derivative of an order by cells.
fn derivative(p: usize, order: usize) -> impl Fn(f64) -> Complex64 {
    let phase = Complex64::I.powu(order as u32);
    move |j| phase * (TAU * j / p as f64).powi(order as i32)
}

/// The largest derivative of an order over the nodes.
fn at_nodes(series: &Series, p: usize, order: usize) -> f64 {
    let values = series.weighted_nodes(p, derivative(p, order));
    values.iter().fold(0.0, |m: f64, d| m.max(d.abs()))
}

/// A bound on the derivative of an order over the circle.
fn anywhere(series: &Series, p: usize, order: usize) -> f64 {
    series.largest(derivative(p, order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellerophon_ckks::ErrorKind;
    use std::f64::consts::PI;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    fn random(p: usize) -> Vec<f64> {
        let mut rng = ChaCha20Rng::seed_from_u64(p as u64);
        (0..p).map(|_| rng.random_range(0.0..1.0)).collect()
    }

    /// Tables of spread 1: random, alternating, a step, a single entry that differs.
    fn shapes(p: usize) -> [(&'static str, Vec<f64>); 4] {
        let of = |f: &dyn Fn(usize) -> bool| (0..p).map(|k| f64::from(f(k))).collect();
        [
            ("random", random(p)),
            ("alternating", of(&|k| k % 2 == 1)),
            ("step", of(&|k| 2 * k >= p)),
            ("spike", of(&|k| k == p / 3)),
        ]
    }

    #[test]
    fn weights_have_their_closed_forms() {
        for p in [2, 3, 16, 37, 100] {
            for n in 0..=2 * p {
                let x = n as f64 / p as f64;
                let third = match x {
                    x if x < 1.0 => (1.0 - x) * (2.0 - x) * (1.0 + x) / 2.0,
                    _ => (1.0 - x) * (2.0 - x) * (3.0 - x) / 6.0,
                };
                let second = match x {
                    0.5 | 1.5 => third,
                    x if x < 0.5 => 1.0 - x * x,
                    x if x < 1.5 => (1.0 - x) * (2.0 - x) / 2.0,
                    _ => 0.0,
                };
                let none = match x {
                    0.5 => 0.5,
                    x => f64::from(x < 0.5),
                };
                let expected = [none, (1.0 - x).max(0.0), second, third];
                for (order, expected) in expected.into_iter().enumerate() {
                    assert!((weight(n, p, order) - expected).abs() < 1e-14, "{order}: {n}/{p}");
                }
            }
        }
    }

    #[test]
    fn first_order_is_the_fejer_mean() {
        let entries = random(11);
        let table = Table::new(&entries, 1).unwrap();
        let c = |j: usize| -> Complex64 {
            let terms = entries.iter().enumerate();
            terms.map(|(k, y)| Complex64::cis(-TAU * (j * k) as f64 / 11.0) * y / 11.0).sum()
        };
        for t in [0.0, 0.123, 0.77] {
            let sum: f64 = (1..11)
                .map(|j| {
                    let share = 1.0 - j as f64 / 11.0;
                    2.0 * share * (c(j) * Complex64::cis(TAU * j as f64 * t)).re
                })
                .sum();
            assert!((table.series.eval(t) - c(0).re - sum).abs() < 1e-14);
        }
    }

    #[test]
    fn nodes_return_entries_with_vanishing_derivatives() {
        for p in [2, 3, 5, 10, 16, 100, 256, 1000, 4096] {
            for (name, entries) in shapes(p) {
                for order in 0..4 {
                    let table = Table::new(&entries, order).unwrap();
                    let series = &table.series;
                    let most = [p / 2, p - 1, 3 * p / 2, 2 * p - 1][order];
                    assert!(series.degree() <= most, "{p} {name} {order}: {}", series.degree());
                    for k in (0..p).step_by(p / 64 + 1) {
                        let found = series.eval(k as f64 / p as f64);
                        assert!((found - entries[k]).abs() < 1e-12, "{p} {name} {order}: {k}");
                    }
                    assert!(table.error(0.0) < 1e-13, "{p} {name} {order}");
                    for derivative in 1..=order {
                        let left = at_nodes(series, p, derivative);
                        assert!(left < 1e-10, "{p} {name} {order}: derivative {derivative} {left}");
                    }
                    if order == 1 {
                        assert!(series.derivative(1.0 / p as f64).abs() < 1e-11 * p as f64);
                    }
                }
            }
        }
    }

    #[test]
    fn large_tables_are_exact() {
        for (p, order) in [(1 << 16, 1), (1 << 16, 3), (65_521, 1)] {
            let entries = random(p);
            let table = Table::new(&entries, order).unwrap();
            assert!(table.error(0.0) < 1e-10, "{p}: {}", table.error(0.0));
            assert_eq!(table.series.degree(), (order + 1) * p / 2 - 1);
            for k in [0, 1, 4321, p / 2, p - 1] {
                let found = table.series.eval(k as f64 / p as f64);
                assert!((found - entries[k]).abs() < 1e-9, "{p}: {k}");
            }
        }
    }

    /// The largest error over all nodes and input errors up to `e` cells.
    fn worst(table: &Table, entries: &[f64], e: f64) -> f64 {
        let p = entries.len() as f64;
        let errors = (-8..=8).map(|i| e * f64::from(i) / 8.0).flat_map(|e| {
            let nodes = entries.iter().enumerate();
            nodes.map(move |(k, y)| (table.series.eval((k as f64 + e) / p) - y).abs())
        });
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn error_bound_holds_and_is_near() {
        for p in [2, 3, 5, 16, 100, 256] {
            for (name, entries) in shapes(p) {
                for order in 0..4 {
                    let table = Table::new(&entries, order).unwrap();
                    for e in [0.3 * table.tolerance(), table.tolerance()] {
                        let (found, bound) = (worst(&table, &entries, e), table.error(e));
                        assert!(
                            found <= bound + 1e-13 && bound < 3.0 * found + 1e-12,
                            "{p} {name} {order} {e}: {found} {bound}"
                        );
                        let power = e.powi(order as i32 + 1);
                        assert!(found <= table.curvature() * power + 1e-13);
                    }
                }
            }
        }
    }

    #[test]
    fn random_errors_stay_within_the_bound() {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let entries = random(4096);
        for order in 0..4 {
            let table = Table::new(&entries, order).unwrap();
            for _ in 0..300 {
                let k = rng.random_range(0..4096);
                let e: f64 = rng.random_range(-0.5..0.5);
                let found = table.series.eval((k as f64 + e) / 4096.0) - entries[k];
                assert!(found.abs() <= table.error(e));
            }
        }
    }

    #[test]
    fn figures_of_known_tables() {
        let of = |shape: usize, order| Table::new(&shapes(256)[shape].1, order).unwrap();
        // Spread 1 at p = 256: the gain across the circle, at most p / 4.
        let (random, alternating, spike) = (of(0, 1), of(1, 1), of(3, 1));
        assert!((alternating.radial.most - 64.0).abs() < 1e-10);
        assert!((alternating.radial.mean - 64.0).abs() < 1e-10);
        assert!((45.0..64.0).contains(&random.radial.most), "{}", random.radial.most);
        assert!(random.radial.mean < 0.6 * random.radial.most);
        // Error per squared cell: pi^2/4 for alternating entries, pi^2/3 for a single one.
        assert!((alternating.taylor[0] - PI * PI / 4.0).abs() < 1e-10);
        assert!((spike.taylor[0] - PI * PI / 3.0).abs() < 1e-3);
        // Half of a cell of output is reached at 0.45 / sqrt(p - 1) cells of input.
        let figure = 0.45 / 255f64.sqrt();
        assert!((alternating.tolerance() / figure - 1.0).abs() < 0.02);
        assert!((alternating.chain_tolerance() * 255.0 * 2.467 - 1.0).abs() < 0.02);
        // Order 3: per fourth power 9/32 (2 pi)^4 / 4! for alternating entries, 11/30 (2 pi)^4 / 4!
        // for a single one, and 0.10 of a cell.
        let third = of(1, 3);
        let unit = TAU.powi(4) / 24.0;
        assert!((third.taylor[0] - 9.0 / 32.0 * unit).abs() < 1e-8);
        assert!((of(3, 3).taylor[0] - 11.0 / 30.0 * unit).abs() < 1e-3);
        assert!((third.tolerance() - 0.1).abs() < 0.01, "{}", third.tolerance());
        assert!(third.chain_tolerance() > 10.0 * alternating.chain_tolerance());
        // Without cleaning the error is linear, and chains do not contract.
        assert_eq!(of(0, 0).chain_tolerance(), 0.0);
    }

    #[test]
    fn two_entries_are_a_cosine() {
        let table = Table::new(&[3.0, -1.0], 1).unwrap();
        assert_eq!(table.series.degree(), 1);
        for t in [0.0f64, 0.1, 0.25, 0.6] {
            assert!((table.series.eval(t) - 1.0 - 2.0 * (TAU * t).cos()).abs() < 1e-14);
        }
        assert_eq!(table.spread(), 4.0);
    }

    #[test]
    fn equal_entries_are_a_constant() {
        for order in 0..4 {
            let table = Table::new(&[2.5; 17], order).unwrap();
            assert_eq!((table.series.degree(), table.series.eval(0.3)), (0, 2.5));
            assert_eq!((table.error(0.5), table.radial.most), (0.0, 0.0));
            assert_eq!((table.tolerance(), table.chain_tolerance()), (0.5, 0.5));
        }
    }

    #[test]
    fn impossible_tables_are_refused() {
        let shape = |entries: &[f64], order| {
            let error = Table::new(entries, order).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
            error.to_string()
        };
        shape(&[], 1);
        shape(&[1.0], 1);
        shape(&vec![0.0; MAX_ENTRIES + 1], 1);
        shape(&[1.0, 2.0], 4);
        assert!(!shape(&[1.0, 1.2345e150], 1).contains("2345"));
        for bad in [f64::NAN, f64::INFINITY] {
            let error = Table::new(&[0.0, 1.0, bad], 1).unwrap_err();
            let kind = error::non_finite("entry", 2, 3);
            assert_eq!(error, kind);
        }
        let debug = format!("{:?}", Table::new(&[1234.5, 4321.5, 0.0], 1).unwrap());
        assert!(debug.contains("degree: 2") && !debug.contains("1234") && !debug.contains("4321"));
    }
}
