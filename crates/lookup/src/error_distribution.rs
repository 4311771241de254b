//! The predicted distribution of the error of a look-up.
//!
//! A table of `2n` cells over the torus is read at an index with an error of a few cells, from
//! noise and rounding (PEGASUS, appendix C.2): the result is `f(x + e)` plus the noise of blind
//! rotation and packing. The distribution of `e` is known, so that of the error is a sum over
//! cells.

use std::ops::RangeInclusive;

use bellerophon_ckks::{
    Metadata,
    noise::{Noise, slot_std},
};
use bellerophon_lwe::{TableDomain, noise};

/// Points at which the domain is sampled.
const POINTS: usize = 1024;

/// Sample points of a standard normal variable on either side of 0, and their distance. They reach
/// the quantiles of thousands of values.
const NODES: i32 = 6;
const NODE_STEP: f64 = 0.8;

/// [`ErrorDistribution::worst_abs`] counts vectors of this many values, and this probability (as
/// `log2`) for the index errors and again for the noise.
const VALUES: usize = 1 << 16;
const LOG2_FAILURE: f64 = -20.0;

/// The factor for errors between two sample points.
const ROOM: f64 = 1.25;

/// Errors are counted in classes of a relative width of `2^-9`.
const CLASS_BITS: u32 = 9;

/// The predicted distribution of the error `|result - f(x)|` for values uniform in the domain of a
/// look-up.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorDistribution {
    /// The mean of the absolute error.
    pub mean_abs: f64,
    /// The root mean square of the error.
    pub rms: f64,
    /// The root mean square of the error of a value at the worst point of the range: the
    /// [`Metadata::noise`](bellerophon_ckks::Metadata::noise) of the result for an operand
    /// without noise. Points between the 1024 sample points may be slightly worse.
    pub worst_rms: f64,
    /// Mean squares at the worst sample point, with the mean and the largest noise.
    worst: Noise,
    /// The largest error at the worst sample point, with room for those between.
    worst_abs: f64,
    /// Upper ends of classes of errors in descending order, each with the probability of an error
    /// in its class or a larger one.
    tail: Vec<(f64, f64)>,
}

/// The probabilities of errors, by class.
#[derive(Default)]
struct Classes(Vec<f64>);

impl Classes {
    /// The bits of a positive float without these are its class: its exponent and the first bits of
    /// its mantissa.
    const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - CLASS_BITS;

    /// The class of `2^-128`, which stands for all smaller errors. The exponent of 1 is 1023.
    const LOWEST: u64 = (1023 - 128) << CLASS_BITS;

    fn add(&mut self, error: f64, probability: f64) {
        let class = (error.abs().to_bits() >> Self::SHIFT).saturating_sub(Self::LOWEST) as usize;
        if class >= self.0.len() {
            self.0.resize(class + 1, 0.0);
        }
        self.0[class] += probability;
    }

    /// Upper ends in descending order, with cumulative probabilities.
    fn tail(&self) -> Vec<(f64, f64)> {
        let (mut sum, most) = (0.0, f64::INFINITY.to_bits());
        let classes = self.0.iter().enumerate().rev().filter(|(_, p)| **p > 0.0);
        let tail = classes.map(|(class, probability)| {
            sum += probability;
            let end = (Self::LOWEST + class as u64 + 1) << Self::SHIFT;
            (f64::from_bits(end.min(most)), sum)
        });
        tail.collect()
    }
}

impl ErrorDistribution {
    /// The distribution for values `x` uniform in `range`. `errors_of(x)` maps the cell `k` that is
    /// read to the error of the result and the variances of its noise. The index error is
    /// normal with standard deviation `index_std` cells, before rounding to a cell.
    pub(crate) fn law<E: Fn(i64) -> (f64, Noise)>(
        range: &RangeInclusive<f64>,
        table: &TableDomain,
        index_std: f64,
        errors_of: impl Fn(f64) -> E,
    ) -> Self {
        // Step 1: the distribution of the index error, and sample points of the noise.
        let (lo, hi) = (*range.start(), *range.end());
        let normal = |t: f64| 0.5 * libm::erfc(-t / (index_std * std::f64::consts::SQRT_2));
        let deviations = noise::deviations(LOG2_FAILURE - (VALUES as f64).log2());
        let reach = (deviations * index_std).ceil() as i64 + 1;
        let nodes = (-NODES..=NODES).map(|i| f64::from(i) * NODE_STEP);
        let nodes: Vec<_> = nodes.map(|z| (z, (-0.5 * z * z).exp())).collect();
        let total: f64 = nodes.iter().map(|(_, weight)| weight).sum();
        let half = table.degree() as i64 / 2;
        // Step 2: at every sample point of the domain, the errors of all cells within reach,
        // weighted with their probability: their moments and their classes.
        let mut classes = Classes::default();
        let (mut mean_abs, mut all_squares) = (0.0, 0.0);
        let (mut worst, mut bound) = (Noise::NONE, 0f64);
        for i in 0..POINTS {
            let x = lo + (hi - lo) * (i as f64 + 0.5) / POINTS as f64;
            let place = (x - table.center()) / table.step();
            let nearest = place.round() as i64;
            let error = errors_of(x);
            let mut squares = Noise::NONE;
            // The cells that the index reaches, within the table.
            for k in (nearest - reach).max(-half)..=(nearest + reach).min(half - 1) {
                let offset = k as f64 - place;
                let probability = normal(offset + 0.5) - normal(offset - 0.5);
                let (error, noise) = error(k);
                squares += noise.map(|v| probability * (error * error + v));
                bound = bound.max(error.abs() + noise.worst(VALUES, LOG2_FAILURE));
                let noise = noise.total.sqrt();
                for (z, weight) in &nodes {
                    let (error, weight) = (error + noise * z, probability * weight / total);
                    mean_abs += weight * error.abs();
                    all_squares += weight * error * error;
                    classes.add(error, weight / POINTS as f64);
                }
            }
            worst = worst.max(squares);
        }
        Self {
            mean_abs: mean_abs / POINTS as f64,
            rms: (all_squares / POINTS as f64).sqrt(),
            worst_rms: worst.total.sqrt(),
            worst,
            worst_abs: ROOM * bound,
            tail: classes.tail(),
        }
    }

    /// `-log2` of [`mean_abs`](Self::mean_abs).
    pub fn mean_bits(&self) -> f64 {
        -self.mean_abs.log2()
    }

    /// The variances of a result at the worst sample point, for an operand without noise.
    pub(crate) fn worst(&self) -> Noise {
        self.worst
    }

    /// The largest error of `2^16` values at 1024 points, times 5/4, for an operand without noise;
    /// except with probability `2^-20` for an index error, and `2^-20` for noise. It is measured:
    /// a function known by its values may have a larger error between the points, so that what
    /// stands on it is not certified.
    pub(crate) fn worst_abs(&self) -> f64 {
        self.worst_abs
    }

    /// The 95% quantile of the largest error of `count` values, rounded up by at most one part in
    /// 512. Errors below `2^-128` count as `2^-128`.
    pub fn max_abs(&self, count: usize) -> f64 {
        // 1 - 0.95^(1 / count), without cancellation.
        let each = -(0.95f64.ln() / count.max(1) as f64).exp_m1();
        let place = self.tail.partition_point(|&(_, probability)| probability < each);
        self.tail.get(place).or(self.tail.last()).map_or(0.0, |&(error, _)| error)
    }
}

/// The cells of a table, and the error of the index at which it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// The argument of index 0.
    pub(crate) center: f64,
    /// The distance of neighbouring cells.
    pub(crate) step: f64,
    /// Number of cells.
    pub(crate) degree: usize,
    /// Standard deviation of the index error in cells, before rounding to a cell.
    pub(crate) index_std: f64,
    /// Variances, in squared cells, of errors of the values that keep them within their range.
    pub(crate) operand: Noise,
}

impl Grid {
    /// The grid for all of the error of a vector, also that which leaves its range.
    pub(crate) fn with_error_of(self, x: &Metadata) -> Self {
        let cells = |v: f64| slot_std(v, x.meta.slots, x.meta.scale, true) / self.step;
        Self { operand: x.meta.noise.map(|v| cells(v).powi(2)), ..self }
    }

    /// The mean squares of the error of a look-up of `f` at the worst point of a range
    /// ([`noise::table_error`]), one for each variance of the operand. `f` is called only on the
    /// range.
    pub(crate) fn error(&self, range: &RangeInclusive<f64>, f: impl Fn(f64) -> f64) -> Noise {
        let entries = self.entries(range, f);
        self.operand.map(|v| noise::table_error(&entries, self.index_std, v.sqrt()))
    }

    /// The effect on `f` of the error of the values alone ([`noise::operand_error`]).
    pub(crate) fn operand_error(
        &self,
        range: &RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Noise {
        let entries = self.entries(range, f);
        self.operand.map(|v| noise::operand_error(&entries, v.sqrt()))
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

    /// Quantiles of classes are those of sorted errors, rounded up by at most the width of a class.
    #[test]
    fn classes_are_sorted_errors_rounded_up() {
        let width = 1.0 + f64::from(CLASS_BITS).exp2().recip();
        let mut errors: Vec<f64> = (1..4000).map(|i| f64::from(i * 2503 % 4001) / 64.0).collect();
        errors.extend([-1.0, 1.0, -3e-20, 1e30, f64::MAX]);
        let each = 1.0 / errors.len() as f64;
        let mut classes = Classes::default();
        errors.iter().for_each(|&error| classes.add(error, each));
        let tail = classes.tail();
        assert!(tail.is_sorted_by(|a, b| a.0 > b.0 && a.1 < b.1));
        errors.iter_mut().for_each(|error| *error = error.abs());
        errors.sort_by(|a, b| b.total_cmp(a));
        for (i, error) in errors.iter().enumerate() {
            let before = i as f64 * each + each / 2.0;
            let (end, _) = tail[tail.partition_point(|&(_, sum)| sum < before)];
            assert!(*error < end && end <= error * width, "{error} {end}");
        }
        assert!((tail.last().unwrap().1 - 1.0).abs() < 1e-9);
        // What has no class of its own.
        for (error, end) in [(0.0, 2f64.powi(-128) * width), (f64::NAN, f64::INFINITY)] {
            let mut classes = Classes::default();
            classes.add(error, 1.0);
            assert_eq!(classes.tail(), [(end, 1.0)]);
        }
    }

    /// For the identity the error is normal: mean `sigma sqrt(2 / pi)`.
    #[test]
    fn identity_has_the_error_of_its_index() {
        let (step, index, output) = (1.0 / 64.0, 4.0, 0.05);
        let table = TableDomain::with_step(-1000.0, 1000.0, 0.0, step, 1 << 18, 48).unwrap();
        let law = ErrorDistribution::law(&(-1000.0..=1000.0), &table, index, |x| {
            move |k| (k as f64 * step - x, Noise::new(output * output))
        });
        let sigma = (step * step * (index * index + 1.0 / 12.0) + output * output).sqrt();
        assert!((law.rms / sigma - 1.0).abs() < 0.01, "{} {sigma}", law.rms);
        assert!((law.worst_rms / sigma - 1.0).abs() < 0.02, "{} {sigma}", law.worst_rms);
        let mean = sigma * (2.0 / std::f64::consts::PI).sqrt();
        assert!((law.mean_abs / mean - 1.0).abs() < 0.02, "{} {mean}", law.mean_abs);
        // The bound is at most some 20 deviations, and the largest of thousands stays below it.
        let bound = law.worst_abs() / sigma;
        assert!((7.0..25.0).contains(&bound) && law.max_abs(1 << 16) < law.worst_abs(), "{bound}");
        // P(|Z| > 1.96) = 5%.
        assert!((law.max_abs(1) / (1.96 * sigma) - 1.0).abs() < 0.05);
        assert!(law.max_abs(1000) > law.max_abs(10));
        // The largest of 1024 errors stays below 4.06 deviations with probability 95%, both for
        // errors of the index and for noise.
        assert!((law.max_abs(1024) / (4.06 * sigma) - 1.0).abs() < 0.06);
        let noise =
            ErrorDistribution::law(&(-1.0..=1.0), &table, index, |_| |_| (0.0, Noise::new(1.0)));
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
            let law = ErrorDistribution::law(&(-8.0..=8.0), table, 7.5, |x| {
                move |k| (f(table.argument(k)) - f(x), Noise::NONE)
            });
            assert!((law.mean_bits() - mean).abs() < 0.25, "{name}: {}", law.mean_bits());
            let worst = -law.max_abs(1024).log2();
            assert!((worst - max).abs() < 0.4, "{name}: {worst}");
        }
    }
}
