//! Local polynomials of a function, one for each cell of a table: what a corrected look-up
//! tabulates.
//!
//! A look-up of `x` reads the cell `c` that its noisy index names. The distance `d = x - c` is
//! close to normal, and the slots know it afterwards: they hold `x`, and a table of the identity,
//! read at the same index, returns `c`. So `f(x)` is recovered as `p_c(d)` for a polynomial `p_c`
//! of small degree, whose coefficients are tables, too.
//!
//! If the slots hold `g(x)` for a smooth and increasing `g`, a table of `g` replaces the identity,
//! and `d = g(x) - g(c)`.
//!
//! Taylor polynomials serve if derivatives are given. Otherwise the polynomial minimises the mean
//! square of `f(c + d) - p_c(d)` over the normal distribution of `d`. This fit needs no
//! derivatives, is slightly more precise, and is optimal at a kink of `f`.

use std::ops::RangeInclusive;

use bellerophon_lwe::{self as lwe, TableDomain};
use bellerophon_ring::Result;

/// The highest degree.
pub(crate) const MAX_ORDER: usize = 3;

/// Half the width of the interval of a fit, in standard deviations of `d`.
const REACH: f64 = 4.5;

/// Intervals between the points of a fit.
const INTERVALS: usize = 64;

/// Coefficients of a polynomial in `d`, the constant first.
pub(crate) type Coefficients = [f64; MAX_ORDER + 1];

/// A function with those of its first derivatives that are known.
#[derive(Clone, Copy)]
pub(crate) struct Smooth<'f> {
    f: &'f dyn Fn(f64) -> f64,
    derivatives: &'f [&'f dyn Fn(f64) -> f64],
}

impl<'f> Smooth<'f> {
    /// A function and its derivatives, the first one first. Those beyond the third are not used.
    pub(crate) fn new(
        f: &'f dyn Fn(f64) -> f64,
        derivatives: &'f [&'f dyn Fn(f64) -> f64],
    ) -> Self {
        Self { f, derivatives: &derivatives[..derivatives.len().min(MAX_ORDER)] }
    }

    /// The same derivatives of another form of the function.
    pub(crate) fn of<'g>(&self, f: &'g dyn Fn(f64) -> f64) -> Smooth<'g>
    where
        'f: 'g,
    {
        Smooth { f, derivatives: self.derivatives }
    }

    /// The function itself.
    pub(crate) fn value(&self, x: f64) -> f64 {
        (self.f)(x)
    }

    /// The largest degree of a local polynomial.
    pub(crate) fn highest_order(&self) -> usize {
        if self.derivatives.is_empty() { MAX_ORDER } else { self.derivatives.len() }
    }

    /// The [`polynomial`] at `c`: fitted to the function, or to its Taylor polynomial of the same
    /// degree if derivatives are known.
    pub(crate) fn polynomial(
        &self,
        g: &impl Fn(f64) -> f64,
        c: f64,
        range: &RangeInclusive<f64>,
        deviation: f64,
        order: usize,
    ) -> Coefficients {
        if self.derivatives.is_empty() {
            return polynomial(&self.f, g, c, range, deviation, order);
        }
        // The Taylor polynomial at c, then its fit in terms of g(x) - g(c).
        let mut taylor = Coefficients::default();
        taylor[0] = self.value(c);
        let mut factorial = 1.0;
        for (k, derivative) in self.derivatives[..order].iter().enumerate() {
            factorial *= (k + 1) as f64;
            taylor[k + 1] = derivative(c) / factorial;
        }
        polynomial(&|x| evaluate(&taylor, x - c), g, c, range, deviation, order)
    }
}

/// The polynomials of all cells of a table.
pub(crate) struct LocalPolynomials {
    cells: Vec<Coefficients>,
}

impl LocalPolynomials {
    /// Fits polynomials of degree `order` in `g(x) - g(c)` to `f`, for a distance `x - c` of
    /// standard deviation `deviation` cells. `f` is called only on `range`, where values can lie.
    pub(crate) fn fit(
        f: &Smooth<'_>,
        g: &impl Fn(f64) -> f64,
        table: &TableDomain,
        range: &RangeInclusive<f64>,
        deviation: f64,
        order: usize,
    ) -> Result<Self> {
        let half = table.degree() as i64 / 2;
        let deviation = deviation * table.step();
        let (lo, hi) = (*range.start(), *range.end());
        // Cells beyond the range take the polynomial at its nearer end.
        let cell = |k| -> Result<Coefficients> {
            let argument = table.argument(k).clamp(lo, hi);
            let found = f.polynomial(g, argument, range, deviation, order);
            if found.iter().any(|x| !x.is_finite()) {
                return Err(lwe::error::not_finite(argument));
            }
            Ok(found)
        };
        Ok(Self { cells: (-half..half).map(cell).collect::<Result<_>>()? })
    }

    /// The polynomials of all cells, starting at index `-N/2`.
    pub(crate) fn cells(&self) -> &[Coefficients] {
        &self.cells
    }

    /// The polynomial of the cell of index `k`, `-N/2 <= k < N/2`.
    pub(crate) fn at(&self, k: i64) -> &Coefficients {
        let half = self.cells.len() as i64 / 2;
        &self.cells[(k + half) as usize]
    }
}

/// The polynomial `p` of degree `order` that minimises the mean square of
/// `f(c + d) - p(g(c + d) - g(c))` for normal `d` of standard deviation `deviation`, conditioned on
/// `c + d` in `range`. `c` lies in `range`.
pub(crate) fn polynomial(
    f: &impl Fn(f64) -> f64,
    g: &impl Fn(f64) -> f64,
    c: f64,
    range: &RangeInclusive<f64>,
    deviation: f64,
    order: usize,
) -> Coefficients {
    // Step 1: sample points with normal weights, in units of the deviation.
    let start = ((range.start() - c) / deviation).max(-REACH);
    let end = ((range.end() - c) / deviation).min(REACH);
    let points: Vec<(f64, f64, f64)> = (0..=INTERVALS)
        .map(|i| {
            let z = start + (end - start) * i as f64 / INTERVALS as f64;
            let x = (c + z * deviation).clamp(*range.start(), *range.end());
            ((g(x) - g(c)) / deviation, (-0.5 * z * z).exp(), f(x))
        })
        .collect();
    // Step 2: least squares by Gram-Schmidt: project f on orthonormal polynomials of rising degree.
    let weight: f64 = points.iter().map(|&(_, w, _)| w).sum();
    let mut basis: Vec<Coefficients> = Vec::new();
    let mut sum = Coefficients::default();
    for k in 0..=order {
        // The next power, orthogonal to the lower ones.
        let mut next = Coefficients::default();
        next[k] = 1.0;
        for q in &basis {
            let product = points.iter().map(|&(z, w, _)| w * evaluate(&next, z) * evaluate(q, z));
            let product = product.sum::<f64>() / weight;
            add_scaled(&mut next, q, -product);
        }
        let square = points.iter().map(|&(z, w, _)| w * evaluate(&next, z).powi(2)).sum::<f64>();
        let norm = (square / weight).sqrt();
        if norm <= 1e-6 {
            // The range is so narrow that a lower degree serves as well.
            break;
        }
        next.iter_mut().for_each(|x| *x /= norm);
        let along = points.iter().map(|&(z, w, y)| w * y * evaluate(&next, z)).sum::<f64>();
        add_scaled(&mut sum, &next, along / weight);
        basis.push(next);
    }
    // Step 3: back from units of the deviation.
    for (k, x) in sum.iter_mut().enumerate() {
        *x /= deviation.powi(k as i32);
    }
    sum
}

/// The value of a polynomial.
pub(crate) fn evaluate(polynomial: &Coefficients, d: f64) -> f64 {
    polynomial.iter().rev().fold(0.0, |sum, x| sum * d + x)
}

/// The derivative of a polynomial.
pub(crate) fn slope(polynomial: &Coefficients, d: f64) -> f64 {
    (1..polynomial.len()).rev().fold(0.0, |sum, j| sum * d + j as f64 * polynomial[j])
}

fn add_scaled(sum: &mut Coefficients, other: &Coefficients, factor: f64) {
    sum.iter_mut().zip(other).for_each(|(x, y)| *x += factor * y);
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;

    fn identity(x: f64) -> f64 {
        x
    }

    /// A function that is a polynomial in `g` is found exactly.
    #[test]
    fn other_measures_of_the_distance_serve() {
        let (f, g) = (|x: f64| x.sin().powi(2), f64::sin);
        let found = polynomial(&f, &g, 0.3, &(-1.0..=1.0), 0.01, 2);
        let s = 0.3f64.sin();
        for (k, (x, y)) in found.iter().zip([s * s, 2.0 * s, 1.0, 0.0]).enumerate() {
            assert!((x - y).abs() * 0.01f64.powi(k as i32) < 1e-12, "{k}: {x} {y}");
        }
    }

    #[test]
    fn polynomials_are_found_again() {
        let f = |x: f64| 2.0 - x + 0.5 * x * x - 0.25 * x * x * x;
        // In the middle of the range, near its end, at its end, and in a narrow one.
        for (c, range) in
            [(0.5, -8.0..=8.0), (7.99, -8.0..=8.0), (-8.0, -8.0..=8.0), (1.0, 1.0..=1.1)]
        {
            let found = polynomial(&f, &identity, c, &range, 0.02, MAX_ORDER);
            let expected = [f(c), -1.0 + c - 0.75 * c * c, 0.5 - 0.75 * c, -0.25];
            for (k, (x, y)) in found.iter().zip(expected).enumerate() {
                let error = (x - y).abs() * 0.02f64.powi(k as i32);
                assert!(error < 1e-10, "{c} {range:?} {k}: {x} {y}");
            }
        }
    }

    /// The residual of degree `k` is at most that of the Taylor polynomial.
    #[test]
    fn the_mean_error_is_below_taylors() {
        let (c, deviation) = (0.7f64, 0.05);
        let (value, slope) = (c.tanh(), 1.0 - c.tanh().powi(2));
        let taylor: [Coefficients; 3] =
            [[value, 0.0, 0.0, 0.0], [value, slope, 0.0, 0.0], [value, slope, -value * slope, 0.0]];
        for (order, taylor) in taylor.iter().enumerate() {
            let fit = polynomial(&f64::tanh, &identity, c, &(-8.0..=8.0), deviation, order);
            let mean_square = |p: &Coefficients| {
                let points = (-400..=400).map(|i| i as f64 / 100.0);
                points
                    .map(|z| {
                        let error = (c + z * deviation).tanh() - evaluate(p, z * deviation);
                        (-0.5 * z * z).exp() * error * error
                    })
                    .sum::<f64>()
            };
            let ratio = mean_square(&fit) / mean_square(taylor);
            assert!((0.05..1.0).contains(&ratio), "{order}: {ratio}");
        }
    }

    #[test]
    fn a_single_point_is_a_constant() {
        let table = TableDomain::fit(-1.0, 1.0, 64, 8).unwrap();
        let f = |x: f64| x + 2.0;
        let smooth = Smooth::new(&f, &[]);
        let fit = LocalPolynomials::fit(&smooth, &identity, &table, &(0.5..=0.5), 4.0, 2).unwrap();
        for k in -32..32 {
            assert_eq!(fit.at(k), &[2.5, 0.0, 0.0, 0.0]);
        }
    }

    /// With derivatives the polynomial is Taylor's, in terms of the known distance. Its degree is
    /// at most the number of derivatives and at most the highest degree.
    #[test]
    fn given_derivatives_make_taylors_polynomial() {
        let slope = |x: f64| 1.0 - x.tanh().powi(2);
        let bend = |x: f64| -2.0 * x.tanh() * slope(x);
        let none = |_: f64| f64::NAN;
        let (range, c) = (-4.0..=4.0, 0.7f64);
        let two: [&dyn Fn(f64) -> f64; 2] = [&slope, &bend];
        let smooth = Smooth::new(&f64::tanh, &two);
        assert_eq!(smooth.highest_order(), 2);
        let found = smooth.polynomial(&identity, c, &range, 0.05, 2);
        for (k, x) in [c.tanh(), slope(c), bend(c) / 2.0, 0.0].into_iter().enumerate() {
            assert!((found[k] - x).abs() * 0.05f64.powi(k as i32) < 1e-12, "{k}: {}", found[k]);
        }
        // With g a sine: the fit and the Taylor polynomial agree.
        let g = |x: f64| x.sin();
        let fitted = polynomial(&f64::tanh, &g, c, &range, 0.02, 2);
        let found = smooth.polynomial(&g, c, &range, 0.02, 2);
        for z in [-3.0, -1.0, 0.5, 2.0] {
            let d = g(c + 0.02 * z) - g(c);
            let error = (evaluate(&fitted, d) - evaluate(&found, d)).abs();
            assert!(error < 1e-4, "{z}: {error}");
        }
        let five: [&dyn Fn(f64) -> f64; 5] = [&slope, &bend, &none, &none, &none];
        let smooth = Smooth::new(&f64::tanh, &five);
        assert_eq!(smooth.highest_order(), MAX_ORDER);
        let table = TableDomain::fit(-4.0, 4.0, 64, 8).unwrap();
        let fit = |order| {
            LocalPolynomials::fit(&smooth, &identity, &table, &range, 2.0, order).map(|_| ())
        };
        fit(2).unwrap();
        assert_eq!(*fit(3).unwrap_err().kind(), ErrorKind::NotFinite);
    }
}
