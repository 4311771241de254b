//! Kinks and jumps of functions that are known by their values alone.

/// Cells of the grid from which the search starts.
const CELLS: usize = 512;

/// Halvings of a window.
const HALVINGS: usize = 14;

/// The last halvings, over which the decay of the second differences is measured.
const JUDGED: usize = 6;

/// Second differences fall by a factor of 4 a halving where the second derivative is continuous, by
/// 2 at a kink, not at all at a jump: the limit between the first two, `log2` per halving.
const SMOOTH: f64 = 1.5;

/// Second differences below this are rounding, in units of `f64::EPSILON` times the largest value.
const ROUNDING: f64 = 64.0;

/// The places in `[lo, hi]` where `f` looks as if it had a kink, a jump or an infinite slope, in
/// ascending order, each to about `(hi - lo) 2^-20`.
///
/// A series over such a place converges slowly: approximate the pieces apart and join them by a
/// step. **This warns and proves nothing**: features narrower than `(hi - lo) 2^-17` look like
/// breaks, a kink whose slopes differ by less than about `2^-24` of the largest value over the
/// width is missed, and so are jumps of the second derivative. Places without a finite value are
/// passed over. Calls `f` about 65000 times; nothing is found unless `lo < hi`, both finite.
///
/// ```
/// use bellerophon_circuits::fbt::detect_breaks;
///
/// let breaks = detect_breaks(|x: f64| x.clamp(0.3, 1.5), -1.0, 2.0);
/// assert_eq!(breaks.len(), 2);
/// assert!((breaks[0] - 0.3).abs() < 1e-5 && (breaks[1] - 1.5).abs() < 1e-5);
/// assert!(detect_breaks(f64::tanh, -8.0, 8.0).is_empty());
/// ```
pub fn detect_breaks(f: impl Fn(f64) -> f64, lo: f64, hi: f64) -> Vec<f64> {
    let width = hi - lo;
    if !(width.is_finite() && width > 0.0) {
        return vec![];
    }
    let at = |u: f64| f((lo + width * u).clamp(lo, hi));
    let second = |u: f64, h: f64| (at(u - h) - 2.0 * at(u) + at(u + h)).abs();
    // Rounding of values, and of points, which the slope enlarges.
    let most = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|v| v.is_finite()).fold(0.0, |most: f64, v| most.max(v.abs()))
    };
    let grid: Vec<f64> = (0..=CELLS).map(|i| at(i as f64 / CELLS as f64)).collect();
    let largest = most(&mut grid.iter().copied());
    let slope = most(&mut grid.windows(2).map(|pair| pair[1] - pair[0])) * CELLS as f64;
    let floor = ROUNDING * f64::EPSILON * (largest + slope * lo.abs().max(hi.abs()) / width);

    let mut places: Vec<f64> = vec![];
    for cell in 0..CELLS {
        // Windows of two cells overlap: every place lies in the inside of one, but for the ends.
        let mut h = 1.0 / CELLS as f64;
        let mut u = (cell as f64 + 0.5).clamp(1.0, (CELLS - 1) as f64) * h;
        let mut differences = vec![];
        for _ in 0..HALVINGS {
            // Step 1: of the windows of half the width, the one that bends most.
            h *= 0.5;
            let windows = [u - h, u, u + h].map(|u| (u, second(u, h)));
            let (place, most) = windows
                .into_iter()
                .fold((u, 0.0), |best, window| if window.1 > best.1 { window } else { best });
            u = place;
            differences.push(most);
        }
        // Step 2: how fast the last ones fall.
        let (first, last) = (differences[HALVINGS - JUDGED - 1], differences[HALVINGS - 1]);
        let broken = last > floor && (first / last).log2() < SMOOTH * JUDGED as f64;
        if broken {
            places.push(u);
        }
    }
    // Step 3: windows that overlap find the same place.
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| (*a - *b).abs() <= 8.0 / (CELLS << HALVINGS) as f64);
    places.into_iter().map(|u| lo + width * u).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(f: impl Fn(f64) -> f64, lo: f64, hi: f64, expected: &[f64]) {
        let found = detect_breaks(f, lo, hi);
        assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < (hi - lo) * 2e-6, "{found} {expected}");
        }
    }

    #[test]
    fn kinks_and_jumps_are_found() {
        check(|x| x.max(0.0), -8.0, 8.0, &[0.0]);
        check(|x| (x - 0.1234).abs(), -1.0, 3.0, &[0.1234]);
        check(|x| f64::from(x > 1.0 / 3.0), 0.0, 1.0, &[1.0 / 3.0]);
        check(|x| x.floor(), 0.5, 4.5, &[1.0, 2.0, 3.0, 4.0]);
        check(|x| x.exp().clamp(1.0, 2.0), -2.0, 3.0, &[0.0, 2f64.ln()]);
        check(f64::sqrt, 0.0, 4.0, &[0.0]);
        check(|x| x.cbrt(), -1.0, 2.0, &[0.0]);
        check(|x| 1e-3 * x.abs() + x.sin(), -1.0, 2.0, &[0.0]);
    }

    #[test]
    fn smooth_functions_have_no_breaks() {
        for (lo, hi) in [(-8.0, 8.0), (0.5, 1.5), (-3e3, 1e3), (1e-9, 3e-9), (1e6, 1e6 + 10.0)] {
            check(|x| 3.0 * x + 1.0, lo, hi, &[]);
            check(|_| 7.0, lo, hi, &[]);
            check(f64::tanh, lo, hi, &[]);
            check(|x| (2.0 * x / hi).exp(), lo, hi, &[]);
            check(|x| (40.0 * x / (hi - lo)).sin(), lo, hi, &[]);
            check(|x| x * x * x, lo, hi, &[]);
        }
        check(|x| 1.0 / x, 0.5, 100.0, &[]);
        check(|x| (1000.0 * x).tanh(), -1.0, 1.0, &[]);
    }

    #[test]
    fn bad_domains_and_values_are_passed_over() {
        check(f64::abs, 1.0, 1.0, &[]);
        check(f64::abs, 1.0, -1.0, &[]);
        check(f64::abs, f64::NAN, 1.0, &[]);
        check(f64::abs, f64::NEG_INFINITY, 1.0, &[]);
        check(|_| f64::NAN, 0.0, 1.0, &[]);
        let found = detect_breaks(|x: f64| x.ln().abs(), -1.0, 2.0);
        assert!(found.iter().any(|x| (x - 1.0).abs() < 1e-5));
    }
}
