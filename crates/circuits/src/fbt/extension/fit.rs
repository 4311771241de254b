//! Least squares over cosines or sines on a part of the circle.
//!
//! On `|t| <= s / 2` the columns `cos(2 pi j t)`, `j <= n`, are nearly dependent: many combinations
//! differ outside the domain alone. A penalty on the coefficients picks one that is small and
//! smooth there (Tikhonov), and Householder's reflections solve the problem to the rounding of
//! `f64`, which normal equations would not.

use std::f64::consts::{FRAC_PI_2, TAU};

/// Sample points per coefficient, on half of the domain.
const OVERSAMPLING: usize = 2;

/// Least number of sample points on half of the domain.
const LEAST_SAMPLES: usize = 64;

/// Half of a function: its even part by cosines, or its odd part by sines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Even,
    Odd,
}

impl Half {
    /// The frequencies of this half, up to a degree.
    fn frequencies(self, degree: usize) -> std::ops::RangeInclusive<usize> {
        match self {
            Self::Even => 0..=degree,
            Self::Odd => 1..=degree,
        }
    }

    fn basis(self, frequency: usize, t: f64) -> f64 {
        let angle = TAU * frequency as f64 * t;
        match self {
            Self::Even => angle.cos(),
            Self::Odd => angle.sin(),
        }
    }
}

/// The sample points of a degree, in units of half of the domain: positive Chebyshev nodes.
pub(super) fn samples(degree: usize) -> Vec<f64> {
    let count = (OVERSAMPLING * (degree + 1)).max(LEAST_SAMPLES);
    (0..count).map(|i| (FRAC_PI_2 * (i as f64 + 0.5) / count as f64).cos()).collect()
}

/// The coefficients `c_0 .. c_degree` (`c_0 = 0` for sines) that minimise
///
/// ```text
/// mean_i (sum_j c_j basis_j(share u_i / 2) - values_i)^2 + sum_j (penalty j c_j)^2
/// ```
///
/// over the points `u_i` of [`tabulate`].
pub(super) fn fit(half: Half, degree: usize, share: f64, penalty: f64, values: &[f64]) -> Vec<f64> {
    let points = samples(degree);
    let frequencies = half.frequencies(degree);
    let scale = 1.0 / (points.len() as f64).sqrt();
    let count = frequencies.clone().count();
    let columns = frequencies.clone().enumerate().map(|(index, j)| {
        let basis = points.iter().map(|u| half.basis(j, 0.5 * share * u) * scale);
        let penalties = (0..count).map(|i| if i == index { penalty * j as f64 } else { 0.0 });
        basis.chain(penalties).collect()
    });
    let right = values.iter().map(|v| v * scale).chain((0..count).map(|_| 0.0)).collect();
    let solution = least_squares(columns.collect(), right);
    let mut coefficients = vec![0.0; *frequencies.start()];
    coefficients.extend(solution);
    coefficients
}

/// Minimises `|A x - b|` for a matrix of full rank with at least as many rows as columns, by its
/// columns (Householder 1958; Golub and Van Loan, "Matrix computations", section 5.3).
fn least_squares(mut columns: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let n = columns.len();
    let mut diagonal = Vec::with_capacity(n);
    for k in 0..n {
        // Step 1: the reflection I - v v^T / h that maps column k, from row k on, to a multiple of
        // the first unit vector; no cancellation for the sign chosen.
        let (done, rest) = columns.split_at_mut(k + 1);
        let v = &mut done[k][k..];
        let norm = dot(v, v).sqrt();
        let alpha = if v[0] > 0.0 { -norm } else { norm };
        v[0] -= alpha;
        let h = -alpha * v[0];
        diagonal.push(alpha);
        // Step 2: the same reflection of all columns behind and of the right side.
        if h > 0.0 {
            for column in rest.iter_mut().chain([&mut right]) {
                let factor = dot(v, &column[k..]) / h;
                column[k..].iter_mut().zip(&*v).for_each(|(x, v)| *x -= factor * v);
            }
        }
    }
    // Step 3: back substitution.
    for k in (0..n).rev() {
        let x = if diagonal[k] == 0.0 { 0.0 } else { right[k] / diagonal[k] };
        right[k] = x;
        for (i, above) in columns[k][..k].iter().enumerate() {
            right[i] -= above * x;
        }
    }
    right.truncate(n);
    right
}

/// The scalar product in eight sums, which the compiler keeps in vector registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    rest + sums.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_satisfies_the_normal_equations() {
        // Six rows, three columns, the first entry zero: a sign has to be chosen.
        let columns = vec![
            vec![0.0, 1.0, 2.0, -1.0, 0.5, 3.0],
            vec![1.0, 1.0, -4.0, 0.0, 2.0, 1.0],
            vec![-2.0, 0.3, 0.0, 5.0, 1.0, 1.0],
        ];
        let right = vec![1.0, 2.0, 3.0, -1.0, 0.0, 4.0];
        let x = least_squares(columns.clone(), right.clone());
        let residual: Vec<f64> = (0..6)
            .map(|i| right[i] - columns.iter().zip(&x).map(|(c, x)| c[i] * x).sum::<f64>())
            .collect();
        assert!(columns.iter().all(|c| dot(c, &residual).abs() < 1e-13));
        assert!(dot(&residual, &residual) > 0.1);
        assert!(least_squares(vec![], vec![1.0]).is_empty());
        assert_eq!(least_squares(vec![vec![0.0, 0.0]], vec![1.0, 1.0]), [0.0]);
    }

    #[test]
    fn functions_of_the_span_are_found_again() {
        for (half, degree, share) in [(Half::Even, 9, 0.75), (Half::Odd, 12, 0.5)] {
            let target = |t: f64| half.basis(3, t) - 0.25 * half.basis(7, t);
            let values: Vec<f64> =
                samples(degree).iter().map(|u| target(0.5 * share * u)).collect();
            let found = fit(half, degree, share, 2f64.powi(-50), &values);
            assert_eq!(found.len(), degree + 1);
            for i in 0..=100 {
                let t = share * i as f64 / 200.0;
                let value: f64 = found.iter().enumerate().map(|(j, c)| c * half.basis(j, t)).sum();
                assert!((value - target(t)).abs() < 1e-13, "{half:?} {t}");
            }
        }
    }

    #[test]
    fn a_penalty_keeps_coefficients_small() {
        let values: Vec<f64> = samples(63).iter().map(|u| u.abs()).collect();
        let size = |log: i32| {
            let found = fit(Half::Even, 63, 0.5, 2f64.powi(log), &values);
            dot(&found, &found).sqrt()
        };
        assert!(size(-20) < 16.0 && size(-44) > 1000.0, "{} {}", size(-20), size(-44));
    }
}
