//! Errors of approximate results, and standardisation.

/// The largest and the mean absolute difference between results and exact values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Largest absolute error; infinite if any result is not a number.
    pub max: f64,
    /// Mean absolute error; infinite if any result is not a number.
    pub mean: f64,
}

impl Errors {
    /// Compares `got` with `expected`, value by value.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn between(expected: &[f64], got: &[f64]) -> Self {
        assert_eq!(expected.len(), got.len(), "one result per expected value");
        let mut max = 0.0f64;
        let mut sum = 0.0;
        for (e, g) in expected.iter().zip(got) {
            let error = (e - g).abs();
            let error = if error.is_nan() { f64::INFINITY } else { error };
            max = max.max(error);
            sum += error;
        }
        Self { max, mean: sum / expected.len().max(1) as f64 }
    }

    /// `-log2` of the largest error: correct bits after the binary point in the worst result.
    pub fn max_bits(&self) -> f64 {
        -self.max.log2()
    }

    /// `-log2` of the mean error.
    pub fn mean_bits(&self) -> f64 {
        -self.mean.log2()
    }
}

/// The share of results within a distance of the exact values.
pub fn close(expected: &[f64], got: &[f64], distance: f64) -> f64 {
    let close = expected.iter().zip(got).filter(|(e, g)| (*e - *g).abs() <= distance);
    close.count() as f64 / got.len() as f64
}

/// The share of equal results.
pub fn equal<T: PartialEq>(one: &[T], other: &[T]) -> f64 {
    one.iter().zip(other).filter(|(a, b)| a == b).count() as f64 / one.len() as f64
}

/// Integers as real numbers.
pub fn reals(integers: &[usize]) -> Vec<f64> {
    integers.iter().map(|&k| k as f64).collect()
}

/// The right answer of a search for the value at `best` that returned the place `found`: `found` if
/// the two values differ by at most `close`, since tied values have no order.
pub fn right_place(values: &[f64], best: usize, found: usize, close: f64) -> usize {
    if (values[found] - values[best]).abs() <= close { found } else { best }
}

/// The default number of standard deviations in which standardised columns are declared: a
/// constant, which does not depend on a column.
pub const DEVIATIONS: f64 = 4.0;

/// A column shifted and scaled to mean 0 and (population) standard deviation 1.
#[derive(Debug, Clone)]
pub struct Standardised {
    /// `(value - mean) / deviation`.
    pub values: Vec<f64>,
    /// The mean of the column.
    pub mean: f64,
    /// The divisor: the standard deviation, or 1 for a column without spread.
    pub deviation: f64,
}

/// Standardises `values`; a column without spread is only shifted. `None` if it is empty, or if the
/// sums overflow or the squares of its differences vanish.
pub fn standardise(values: &[f64]) -> Option<Standardised> {
    let n = values.len() as f64;
    // Differences from the first value keep the digits in which values far from zero differ.
    let first = *values.first()?;
    let shifted: Vec<f64> = values.iter().map(|x| x - first).collect();
    let mean = shifted.iter().sum::<f64>() / n;
    let variance = shifted.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    if !mean.is_finite() || !variance.is_finite() {
        return None;
    }
    let constant = shifted.iter().all(|x| *x == 0.0);
    let deviation = if constant { 1.0 } else { variance.sqrt() };
    if deviation == 0.0 {
        return None;
    }
    let values = shifted.iter().map(|x| (x - mean) / deviation).collect();
    Some(Standardised { values, mean: first + mean, deviation })
}
