//! What a look-up will err by, before it runs.
//!
//! A table of `2n` cells over the torus is read at an index that is off by a rounding and by noise
//! of a few cells (PEGASUS, appendix C.2): the value `f(x)` comes back as `f(x + e)` plus the noise
//! of the way back. The law of `e` is known, so the law of the error is a sum over cells.

use std::ops::RangeInclusive;

use bellerophon_lwe::{TableDomain, noise};

/// Points at which the domain is sampled.
const POINTS: usize = 1024;

/// Places at which a standard normal variable is sampled, to either side of 0, and their distance: as
/// far as the quantiles of thousands of values go.
const NODES: i32 = 6;
const NODE_STEP: f64 = 0.8;

/// The predicted law of `|got - f(x)|` for values uniform in the domain of a look-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    mean: f64,
    rms: f64,
    /// The rms of the error at the worst of the places that were sampled.
    worst_rms: f64,
    /// Errors in falling order, each with the probability of an error at least as large.
    tail: Vec<(f64, f64)>,
}

impl Accuracy {
    /// The law when a value `x`, uniform in `range`, that is read from cell `k` of the table comes back
    /// with the error and the standard deviation of noise that `errors_of(x)` says of `k`. The index is off by a normal
    /// variable of standard deviation `index_std` cells before it is rounded to a cell.
    pub(crate) fn law<E: Fn(i64) -> (f64, f64)>(
        range: &RangeInclusive<f64>,
        table: &TableDomain,
        index_std: f64,
        errors_of: impl Fn(f64) -> E,
    ) -> Self {
        let (lo, hi) = (*range.start(), *range.end());
        let normal = |t: f64| 0.5 * libm::erfc(-t / (index_std * std::f64::consts::SQRT_2));
        let reach = (6.0 * index_std).ceil() as i64 + 1;
        let nodes: Vec<f64> = (-NODES..=NODES).map(|i| f64::from(i) * NODE_STEP).collect();
        let total: f64 = nodes.iter().map(|z| (-0.5 * z * z).exp()).sum();
        let half = table.degree() as i64 / 2;
        let (mut errors, mut worst) = (Vec::new(), 0f64);
        for i in 0..POINTS {
            let x = lo + (hi - lo) * (i as f64 + 0.5) / POINTS as f64;
            let place = (x - table.center()) / table.step();
            let nearest = place.round() as i64;
            let error = errors_of(x);
            let mut mean_square = 0.0;
            for k in (nearest - reach).max(-half)..=(nearest + reach).min(half - 1) {
                let offset = k as f64 - place;
                let probability = normal(offset + 0.5) - normal(offset - 0.5);
                let (error, noise) = error(k);
                mean_square += probability * (error * error + noise * noise);
                for z in &nodes {
                    let weight = (-0.5 * z * z).exp() / total;
                    errors.push(((error + noise * z).abs(), probability * weight / POINTS as f64));
                }
            }
            worst = worst.max(mean_square);
        }
        errors.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mean = errors.iter().map(|(e, p)| e * p).sum();
        let rms = errors.iter().map(|(e, p)| e * e * p).sum::<f64>().sqrt();
        let mut cumulative = 0.0;
        for (_, probability) in &mut errors {
            cumulative += *probability;
            *probability = cumulative;
        }
        Self { mean, rms, worst_rms: worst.sqrt(), tail: errors }
    }

    /// The mean of `|got - f(x)|`.
    pub fn mean_abs(&self) -> f64 {
        self.mean
    }

    /// `-log2` of [`mean_abs`](Self::mean_abs).
    pub fn mean_bits(&self) -> f64 {
        -self.mean.log2()
    }

    /// The root of the mean square of the error.
    pub fn rms(&self) -> f64 {
        self.rms
    }

    /// The root of the mean square of the error of a value at the worst place of the range: what
    /// [`Ciphertext::noise`](crate::Ciphertext::noise) of the result states, for an operand without
    /// noise. Places between the 1024 that are sampled may be slightly worse.
    pub fn worst_rms(&self) -> f64 {
        self.worst_rms
    }

    /// The error that the largest of `count` values stays below with probability 95%.
    pub fn max_abs(&self, count: usize) -> f64 {
        // 1 - 0.95^(1 / count), without cancellation.
        let each = -(0.95f64.ln() / count.max(1) as f64).exp_m1();
        let place = self.tail.partition_point(|&(_, probability)| probability < each);
        self.tail.get(place).or(self.tail.last()).map_or(0.0, |&(error, _)| error)
    }
}

/// The cells of a table and the error of the index at which it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// The argument of index 0, and the distance of neighbouring cells.
    pub(crate) center: f64,
    pub(crate) step: f64,
    /// Number of cells.
    pub(crate) degree: usize,
    /// Standard deviation of the index in cells, before it is rounded to a cell.
    pub(crate) index_std: f64,
    /// Standard deviation of errors of the values that leave them within their range, in cells.
    pub(crate) error_std: f64,
}

impl Grid {
    /// The mean square of the error of a look-up of `f` at the worst place of a range
    /// ([`noise::table_error`]). `f` is called in the range only.
    pub(crate) fn error(&self, range: &RangeInclusive<f64>, f: impl Fn(f64) -> f64) -> f64 {
        noise::table_error(&self.entries(range, f), self.index_std, self.error_std)
    }

    /// What the error of the values alone does to `f` ([`noise::operand_error`]).
    pub(crate) fn operand_error(&self, range: &RangeInclusive<f64>, f: impl Fn(f64) -> f64) -> f64 {
        noise::operand_error(&self.entries(range, f), self.error_std)
    }

    fn entries(&self, range: &RangeInclusive<f64>, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let half = self.degree as i64 / 2;
        let argument = |k: i64| self.center + k as f64 * self.step;
        (-half..half).map(|k| f(argument(k).clamp(*range.start(), *range.end()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For the identity the error is normal: mean `sigma sqrt(2 / pi)`.
    #[test]
    fn identity_has_the_error_of_its_index() {
        let (step, index, output) = (1.0 / 64.0, 4.0, 0.05);
        let table = TableDomain::with_step(-1000.0, 1000.0, 0.0, step, 1 << 18, 48).unwrap();
        let law = Accuracy::law(&(-1000.0..=1000.0), &table, index, |x| {
            move |k| (k as f64 * step - x, output)
        });
        let sigma = (step * step * (index * index + 1.0 / 12.0) + output * output).sqrt();
        assert!((law.rms() / sigma - 1.0).abs() < 0.01, "{} {sigma}", law.rms());
        assert!((law.worst_rms() / sigma - 1.0).abs() < 0.02, "{} {sigma}", law.worst_rms());
        let mean = sigma * (2.0 / std::f64::consts::PI).sqrt();
        assert!((law.mean_abs() / mean - 1.0).abs() < 0.02, "{} {mean}", law.mean_abs());
        // P(|Z| > 1.96) = 5%.
        assert!((law.max_abs(1) / (1.96 * sigma) - 1.0).abs() < 0.05);
        assert!(law.max_abs(1000) > law.max_abs(10));
        // The largest of 1024 errors stays below 4.06 deviations with probability 95%, whether they come
        // from the index or from noise.
        assert!((law.max_abs(1024) / (4.06 * sigma) - 1.0).abs() < 0.06);
        let noise = Accuracy::law(&(-1.0..=1.0), &table, index, |_| |_| (0.0, 1.0));
        assert!((3.9..5.0).contains(&noise.max_abs(1024)), "{}", noise.max_abs(1024));
    }

    /// An independent simulation of a dense secret of dimension 1024 (7.5 cells of index error) at
    /// degree 4096 on [-8, 8] gave these: -log2 of the mean, and of the 95% quantile of the largest
    /// of 1024 errors.
    #[test]
    fn agrees_with_simulated_figures() {
        type Row = (&'static str, fn(f64) -> f64, f64, f64);
        let rows: [Row; 4] = [
            ("sigmoid", |x| 1.0 / (1.0 + (-x).exp()), 9.3, 5.3),
            ("tanh", f64::tanh, 8.3, 3.4),
            ("relu", |x| x.max(0.0), 6.3, 3.1),
            ("sqrt", |x| x.abs().sqrt(), 6.9, 2.2),
        ];
        for (name, f, mean, max) in rows {
            let table = TableDomain::with_step(-8.0, 8.0, 0.0, 16.0 / 4096.0, 4096, 0).unwrap();
            let table = &table;
            let law = Accuracy::law(&(-8.0..=8.0), table, 7.5, |x| {
                move |k| (f(table.argument(k)) - f(x), 0.0)
            });
            assert!((law.mean_bits() - mean).abs() < 0.25, "{name}: {}", law.mean_bits());
            let worst = -law.max_abs(1024).log2();
            assert!((worst - max).abs() < 0.4, "{name}: {worst}");
        }
    }
}
