//! The statistic: Wilcoxon's signed ranks, with a bound on false alarms that holds on any machine.
//!
//! A measurement is a pair: both classes, one after the other, in an order drawn at random. If time
//! does not depend on the class, the drawn order alone decides the sign of a difference, whatever
//! else the machine does, how long it takes and how its speed drifts. The statistic is then a sum
//! of ranks with independent fair signs, and by Hoeffding's inequality it exceeds `z` standard
//! deviations on one side with a probability of at most `exp(-z^2 / 2)`.

use crate::measure::median;

/// The number of standard deviations from which on classes differ.
pub const THRESHOLD: f64 = 4.5;

/// The sum of signed ranks of the differences, in standard deviations.
pub fn signed_ranks(differences: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    sorted.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
    let (mut sum, mut squares, mut below) = (0.0, 0.0, 0);
    // Equal magnitudes share the mean of their ranks.
    for equal in sorted.chunk_by(|x, y| x.abs() == y.abs()) {
        let rank = below as f64 + (equal.len() as f64 + 1.0) / 2.0;
        sum += rank * equal.iter().map(|d| d.signum()).sum::<f64>();
        squares += rank * rank * equal.len() as f64;
        below += equal.len();
    }
    if squares > 0.0 { sum / f64::sqrt(squares) } else { 0.0 }
}

/// The smallest constant difference between the classes that these measurements would have shown.
pub fn smallest_shift(differences: &[f64]) -> f64 {
    let middle = median(differences.iter().copied());
    let centred: Vec<f64> = differences.iter().map(|d| d - middle).collect();
    let shows = |shift: f64| {
        let shifted: Vec<f64> = centred.iter().map(|d| d + shift).collect();
        signed_ranks(&shifted) > THRESHOLD
    };
    // Double until it shows, then bisect, to a hundredth of a nanosecond: where most differences
    // are equal, any shift shows. With a few pairs nothing shows.
    let mut high = 1.0;
    while !shows(high) {
        high *= 2.0;
        if high > 1e12 {
            return f64::INFINITY;
        }
    }
    let mut low = 0.0;
    while high - low > 0.01 * high.max(1.0) {
        let middle = (low + high) / 2.0;
        match shows(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// `log2` of a bound on the probability that any of `cases` cases differs, and differs in the same
/// direction when it is measured again, although no time depends on the class.
pub fn log2_false_alarm(cases: usize) -> f64 {
    // exp(-z^2 / 2) on either side, then on the same one.
    (2.0 * cases as f64).log2() - THRESHOLD * THRESHOLD * std::f64::consts::LOG2_E
}
