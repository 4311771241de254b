//! What a look-up will err by, before it runs.
//!
//! A table of `2n` cells over the torus is read at an index that is off by a rounding and by noise
//! of a few cells (PEGASUS, appendix C.2): the value `f(x)` comes back as `f(x + e)` plus the noise
//! of the way back. The law of `e` is known, so the law of the error is a sum over cells.

use std::ops::RangeInclusive;

/// Points at which the domain is sampled.
const POINTS: usize = 1024;

/// Five-point Gauss-Hermite rule for a standard normal variable: nodes and weights.
const NORMAL_RULE: [(f64, f64); 5] = [
    (-2.856_970_013_872_806, 0.011_257_411_327_720_7),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (2.856_970_013_872_806, 0.011_257_411_327_720_7),
];

/// The predicted law of `|got - f(x)|` for values uniform in the domain of a look-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    mean: f64,
    rms: f64,
    /// Errors in falling order, each with the probability of an error at least as large.
    tail: Vec<(f64, f64)>,
}

impl Accuracy {
    /// The law for a table of `f` over `domain` with cells of width `step`, an index error of
    /// standard deviation `index_std` cells (rounding to the cell excluded) and output noise of
    /// standard deviation `output_std`.
    pub(crate) fn predict(
        f: impl Fn(f64) -> f64,
        domain: &RangeInclusive<f64>,
        step: f64,
        index_std: f64,
        output_std: f64,
    ) -> Self {
        let (lo, hi) = (*domain.start(), *domain.end());
        let center = (lo + hi) / 2.0;
        Self::law(domain, step, index_std, |x, k| {
            (f((center + k as f64 * step).clamp(lo, hi)) - f(x), output_std)
        })
    }

    /// The law when a value `x` that is read from cell `k` of the table (the one of index 0 stands for
    /// the middle of the domain) comes back with the error and the standard deviation of noise that
    /// `error` says.
    pub(crate) fn law(
        domain: &RangeInclusive<f64>,
        step: f64,
        index_std: f64,
        error: impl Fn(f64, i64) -> (f64, f64),
    ) -> Self {
        let (lo, hi) = (*domain.start(), *domain.end());
        let center = (lo + hi) / 2.0;
        let normal = |t: f64| 0.5 * libm::erfc(-t / (index_std * std::f64::consts::SQRT_2));
        let reach = (6.0 * index_std).ceil() as i64 + 1;
        let mut errors = Vec::new();
        for i in 0..POINTS {
            let x = lo + (hi - lo) * (i as f64 + 0.5) / POINTS as f64;
            let place = (x - center) / step;
            let nearest = place.round() as i64;
            for k in nearest - reach..=nearest + reach {
                let offset = k as f64 - place;
                let probability = normal(offset + 0.5) - normal(offset - 0.5);
                let (error, noise) = error(x, k);
                for (node, weight) in NORMAL_RULE {
                    let magnitude = (error + noise * node).abs();
                    errors.push((magnitude, probability * weight / POINTS as f64));
                }
            }
        }
        errors.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mean = errors.iter().map(|(e, p)| e * p).sum();
        let rms = errors.iter().map(|(e, p)| e * e * p).sum::<f64>().sqrt();
        let mut cumulative = 0.0;
        for (_, probability) in &mut errors {
            cumulative += *probability;
            *probability = cumulative;
        }
        Self { mean, rms, tail: errors }
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

    /// The largest error that was looked at.
    pub(crate) fn largest(&self) -> f64 {
        self.tail.first().map_or(0.0, |&(error, _)| error)
    }

    /// The error that the largest of `count` values stays below with probability 95%.
    pub fn max_abs(&self, count: usize) -> f64 {
        // 1 - 0.95^(1 / count), without cancellation.
        let each = -(0.95f64.ln() / count.max(1) as f64).exp_m1();
        let place = self.tail.partition_point(|&(_, probability)| probability < each);
        self.tail.get(place).or(self.tail.last()).map_or(0.0, |&(error, _)| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For the identity the error is normal: mean `sigma sqrt(2 / pi)`.
    #[test]
    fn identity_has_the_error_of_its_index() {
        let (step, index, output) = (1.0 / 64.0, 4.0, 0.05);
        let law = Accuracy::predict(|x| x, &(-1000.0..=1000.0), step, index, output);
        let sigma = (step * step * (index * index + 1.0 / 12.0) + output * output).sqrt();
        assert!((law.rms() / sigma - 1.0).abs() < 0.01, "{} {sigma}", law.rms());
        let mean = sigma * (2.0 / std::f64::consts::PI).sqrt();
        assert!((law.mean_abs() / mean - 1.0).abs() < 0.02, "{} {mean}", law.mean_abs());
        // P(|Z| > 1.96) = 5%.
        assert!((law.max_abs(1) / (1.96 * sigma) - 1.0).abs() < 0.05);
        assert!(law.max_abs(1000) > law.max_abs(10));
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
            let law = Accuracy::predict(f, &(-8.0..=8.0), 16.0 / 4096.0, 7.5, 0.0);
            assert!((law.mean_bits() - mean).abs() < 0.25, "{name}: {}", law.mean_bits());
            let worst = -law.max_abs(1024).log2();
            assert!((worst - max).abs() < 0.4, "{name}: {worst}");
        }
    }
}
