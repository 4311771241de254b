//! Comparison of encrypted numbers, with its error bounds.

use std::fmt;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{CiphertextMeta, CkksOps, Interval, KeyLevels, Result, refresh};

use super::unit::{Unit, largest_excess, surest_error};
use crate::approx::compare::{signed, signed_where, step_variance};
use crate::approx::{Accuracy, Kind, Sign};
#[cfg(doc)]
use crate::circuit_ops::CircuitOps;
use crate::error;
use crate::polynomial::Sensitivity;

/// The error of the sign of [`Comparator::new`], as a part of its margin.
const ERROR_SHARE: f64 = 1.0 / 16.0;

/// Largest margin: a quarter of the declared range.
const LARGEST_MARGIN: f64 = 0.25;

/// Compares numbers of one declared range by a composite [`Sign`] of their difference; its methods
/// order, select and count the values of a vector. The [module](super) lists them and their errors.
///
/// **Margin.** A sign has its stated error where two values differ by at least the *margin*, a part
/// of the width of the declared range ([`MARGIN`](Self::MARGIN)). Closer values are mixed, and the
/// maximum loses at most its [`error`](Self::error), less than a sixth of the margin with the signs
/// of [`new`](Self::new); ties lose nothing. Half the margin takes about one level more. Counts of
/// declared integers ([`of_integers`](Self::of_integers)) are exact.
///
/// **Levels.** A comparison and the product after it take [`levels`](Self::levels). Longer programs
/// need [automatic bootstrapping](crate::bootstrap::EvaluatorExt::with_auto_bootstrap), also within
/// a sign of more levels than there are between two bootstraps. Values must then be in the range of
/// a bootstrap, usually `[-1, 1]`, unless the vector has a level for the map to the unit interval.
///
/// ```
/// use bellerophon_circuits::ordering::{Comparator, OrderTask};
///
/// # fn main() -> bellerophon_ckks::Result<()> {
/// // Numbers of [-1, 1]: compared to one part in 2^8 of that range.
/// let comparator = Comparator::new(1.0 / 256.0)?;
/// assert!(comparator.margin() < 1.01 * 2f64.powi(-8));
/// // A maximum of two is wrong by less than a sixth of that part.
/// assert!(comparator.error(OrderTask::Sort { len: 2 }) < comparator.margin() / 6.0);
/// println!("{comparator}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Comparator {
    /// The sign of differences, in units of the width of the declared range.
    pub(crate) sign: Sign,
    loss: f64,
    /// A bound on the sensitivity of products of differences with their signs.
    sensitivity: Sensitivity,
    pub(super) slope: f64,
    integers: bool,
}

impl Comparator {
    /// The usual margin, as a part of the width of the declared range.
    pub const MARGIN: f64 = 1.0 / 1024.0;

    /// Distinguishes numbers that differ by `margin`, as a part of the width of their declared
    /// range, with a sign whose error is a sixteenth of the margin.
    ///
    /// # Errors
    /// [`ErrorKind::Accuracy`] unless the margin is from `2^-24` to 1/4.
    pub fn new(margin: f64) -> Result<Self> {
        Self::of(Sign::new(1.0, margin, Accuracy::absolute(ERROR_SHARE * margin))?)
    }

    /// Compares with a given sign, whose radius 1 is the width of the declared range.
    ///
    /// # Errors
    /// [`ErrorKind::Accuracy`] for another radius than 1, a margin above 1/4, or an error of
    /// 1/4 or more.
    pub fn of(sign: Sign) -> Result<Self> {
        let possible = sign.radius == 1.0 && sign.threshold() <= LARGEST_MARGIN;
        if !possible || sign.error() >= 0.25 {
            return Err(error::approximation(
                "comparison".into(),
                format!("{sign}: need radius 1, a margin up to 1/4, an error below 1/4"),
            ));
        }
        let (loss, sensitivity) = (loss(&sign), sign.product);
        let slope = sign.slope;
        Ok(Self { sign, loss, sensitivity, slope, integers: false })
    }

    /// States that the values are integers. [`count_below`](Self::count_below),
    /// [`rank`](Self::rank) and [`histogram`](Self::histogram) then compare with numbers half way
    /// between two integers, and are exact: rounded, their results are those of the plain integers,
    /// whether these lie on thresholds and edges or not. They refuse a margin that does not tell
    /// neighbouring integers apart, and errors that add up to 1/4. No other function changes.
    pub fn of_integers(self) -> Self {
        Self { integers: true, ..self }
    }

    /// The number with which values are compared to tell those below `edge` from the others.
    pub(super) fn boundary(&self, edge: f64) -> f64 {
        if self.integers { edge.ceil() - 0.5 } else { edge }
    }

    /// What the padding is filled with in the unit: an integer among integers, so that the sign is
    /// not taken inside its margin.
    pub(super) fn filler(&self, unit: &Unit, range: Interval) -> f64 {
        if self.integers { unit.place(range.lo().ceil().min(range.hi())) } else { 0.0 }
    }

    /// Differences of two vectors of the unit, less one margin where the values are integers: those
    /// of equal integers are negative. The slack beside the declared range keeps them in `[-1, 1]`.
    pub(super) fn untied<A: CkksOps>(&self, a: &A, d: A::Ciphertext) -> Result<A::Ciphertext> {
        if !self.integers {
            return Ok(d);
        }
        let d = a.add_scalar(&d, -self.sign.threshold())?;
        Ok(a.assume_range_with_padding(d, Interval::real(-1.0, 1.0)?))
    }

    /// Refuses integers of a range that this comparator does not tell apart, and counts of `len` of
    /// them whose errors add up to 1/4.
    pub(super) fn check_integers(&self, range: Interval, len: usize) -> Result<()> {
        // Half the distance of two integers, as a part of the width of the range.
        let half = 0.5 / (range.hi() - range.lo()).max(1.0);
        // The margin of a sign for which `margin` is `half`, and the error for which `len` errors
        // of a bin, each up to that of the sign, are 1/4.
        let needed = half / (1.0 + half) * 2.0 * Unit::reach(0.0);
        let most = 0.25 / len as f64;
        if !self.integers || (self.sign.threshold() <= needed && self.sign.error() <= most) {
            return Ok(());
        }
        let margin = self.sign.threshold().min(needed).log2().floor().exp2();
        let bits = -self.sign.error().min(most).log2().floor();
        let reason = format!(
            "{}: {len} integers of [{:?}, {:?}] need a margin up to {needed:.3e} and an error up \
             to {most:.3e}: take `Comparator::of(Sign::new(1.0, {margin:?}, \
             Accuracy::bits({bits:?}))?)`",
            self.sign,
            range.lo(),
            range.hi()
        );
        Err(error::approximation("counts of integers".into(), reason))
    }

    /// Refuses counts of `len` integers whose noise may reach 1/4, by a bound for errors of any
    /// correlation ([`counted`](Self::counted)).
    pub(super) fn check_count(&self, meta: &CiphertextMeta, len: usize) -> Result<()> {
        let (error, most) = (surest_error(meta), 0.25);
        if !self.integers || error < most {
            return Ok(());
        }
        let [log2_error, log2_most] = [error, most].map(|noise| (noise / len as f64).log2());
        Err(error::too_noisy(log2_error, log2_most))
    }

    /// The least distinguished difference, as a part of the width of the declared range: the margin
    /// of the sign polynomial, increased by 1/256 and by that margin of itself, since the
    /// range is widened for noise and for a shift.
    pub fn margin(&self) -> f64 {
        self.sign.threshold() * Unit::widening(&self.sign)
    }

    /// Bound on the error of one maximum or minimum of two values, as a part of the width of the
    /// declared range: half of `max |d| - d s(d) / (1 + e)` over all differences `d`, for the sign
    /// `s` of error `e`. The maximum is never too large and the minimum never too small.
    pub(super) fn exchange_error(&self) -> f64 {
        0.5 * self.loss * Unit::widening(&self.sign)
    }

    /// Levels of one comparison with the product after it.
    pub fn levels(&self) -> usize {
        self.sign.levels() + 1
    }

    /// The keys of a comparison up to `level`: products.
    pub(super) fn products(level: usize) -> KeyLevels {
        KeyLevels::default().multiply(level)
    }

    /// `x` with levels for a comparison: bootstrapped first if that saves a bootstrap in between,
    /// or if the product after the comparison would have too few levels.
    pub(super) fn ready<A: CkksOps>(&self, a: &A, x: A::Ciphertext) -> Result<A::Ciphertext> {
        let Some((least, fresh)) = refresh::span(a) else { return Ok(x) };
        let bootstraps = |mut level: usize| {
            let polynomials = self.sign.polynomials(Kind::Sign).map(|p| p.levels());
            polynomials.chain([1]).fold(0, |count, depth| {
                let short = level < least + depth;
                level = if short { fresh } else { level }.saturating_sub(depth);
                count + usize::from(short)
            })
        };
        let level = a.metadata(&x).level;
        let enough = level >= least + 2 && bootstraps(level) <= bootstraps(fresh);
        match enough || level < least {
            true => Ok(x),
            false => a.refreshed(&x, a.params().scale()),
        }
    }

    /// The sign of differences, at the default scale.
    pub(super) fn signs<A: CkksOps>(&self, a: &A, d: &A::Ciphertext) -> Result<A::Ciphertext> {
        signed(a, &enclosed(a, d)?, &self.sign, Kind::Sign, a.params().scale())
    }

    /// 1 where a difference is positive, 0 where it is negative, at the default scale.
    pub(super) fn steps<A: CkksOps>(&self, a: &A, d: &A::Ciphertext) -> Result<A::Ciphertext> {
        signed(a, &enclosed(a, d)?, &self.sign, Kind::Step, a.params().scale())
    }

    /// [`steps`](Self::steps) of differences that are counted. Differences of integers lie outside
    /// the margin, or are `padding`, so the bound on their noise takes the slopes there; the margin
    /// has steeper ones.
    pub(super) fn counted<A: CkksOps>(
        &self,
        a: &A,
        d: &A::Ciphertext,
        padding: Option<f64>,
    ) -> Result<A::Ciphertext> {
        if !self.integers {
            return self.steps(a, d);
        }
        let of_padding = padding.map(|d| self.sign.sensitivity_at(Kind::Step, d.abs()));
        let steepest = of_padding.into_iter().fold(self.sign.peak(Kind::Step), Sensitivity::max);
        let (d, scale) = (enclosed(a, d)?, a.params().scale());
        signed_where(a, &d, &self.sign, Kind::Step, scale, Some(steepest))
    }

    /// [`correction`](Self::correction) with the signs of `d` itself. Their noise is that of the
    /// product, `max |d| sigma(d)` over all differences: where signs are sensitive, `d` is small.
    /// With automatic bootstrapping every step of the polynomials may add the noise of a bootstrap.
    pub(super) fn gain<A: CkksOps>(
        &self,
        a: &A,
        d: &A::Ciphertext,
        signs: &A::Ciphertext,
        weights: &[f64],
    ) -> Result<A::Ciphertext> {
        let (of_d, mut meta) = (a.metadata(d).meta, a.metadata(signs).meta);
        let input = of_d.noise.total / of_d.scale.powi(2);
        let variance = self.sensitivity.variance(input, step_variance(a, &of_d)?);
        meta.noise = meta.noise.stated(variance * meta.scale.powi(2));
        self.correction(a, d, &a.with_metadata(signs.clone(), meta), weights)
    }

    /// The correction of `x` to the larger of `x` and `y` where a weight is 1, to the smaller one
    /// where it is -1, and zero where it is 0, from `d = x - y` and the signs `s`:
    /// `(w d s / (1 + e) - |w| d) / 2`.
    ///
    /// The sum `x + correction` is a convex combination of `x` and `y`, since `|s| <= 1 + e`, and
    /// stays in their range. Takes one level of `d` and one of the signs.
    pub(super) fn correction<A: CkksOps>(
        &self,
        a: &A,
        d: &A::Ciphertext,
        signs: &A::Ciphertext,
        weights: &[f64],
    ) -> Result<A::Ciphertext> {
        let params = a.params();
        let (scale, of_d, of_s) = (params.scale(), a.metadata(d), a.metadata(signs));
        // Step 1: the masks multiply d, which has more levels than the signs; the first one is
        // encoded at the scale for which the product has the default scale.
        let level = of_d.level.saturating_sub(1).min(of_s.level);
        let factor = scale * params.divisor(level) / of_s.meta.scale;
        let half = 0.5 / (1.0 + self.sign.error());
        let weighted: Vec<f64> = weights.iter().map(|w| half * w).collect();
        let kept: Vec<f64> = weights.iter().map(|w| 0.5 * w.abs()).collect();
        let weighted = a.mul_values_to(d, &weighted, factor)?;
        let kept = a.mul_values_to(d, &kept, scale)?;
        // Step 2: the product and the difference with one rescale.
        a.mul_add_many(&[(&weighted, signs)], &[(&kept, -1.0)], 0.0, Some(scale))
    }
}

impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "comparison to 2^{:.1} of the range, a maximum to 2^{:.1}: {}",
            self.margin().log2(),
            self.exchange_error().log2(),
            self.sign
        )
    }
}

/// A difference in `[-1, 1]`, error included, if the margin covers the error.
fn enclosed<A: CkksOps>(a: &A, d: &A::Ciphertext) -> Result<A::Ciphertext> {
    let meta = a.metadata(d).meta;
    let reach = meta.bounds.slots().bound() + largest_excess(&meta);
    match reach <= 1.0 {
        true => Ok(a.assume_range_with_padding(d.clone(), Interval::real(-1.0, 1.0)?)),
        false => Ok(d.clone()),
    }
}

/// `max |d| - d s(d) / (1 + e)` for `|d| <= 1`. Outside the margin it is at most `2 e / (1 + e)`.
fn loss(sign: &Sign) -> f64 {
    let largest = 1.0 + sign.error();
    sign.lost_within(largest).max(2.0 * sign.error() / largest)
}

#[cfg(test)]
mod tests {
    use bellerophon_ckks::Bounds;
    use bellerophon_ckks::noise::Noise;

    use super::*;

    fn comparators() -> impl Iterator<Item = Comparator> {
        let degrees: [(f64, &[usize]); 4] =
            [(-2.0, &[7]), (-4.0, &[7, 27]), (-10.0, &[15, 31, 7, 7]), (-12.0, &[15, 31, 15, 15])];
        let signs = degrees.map(|(log2_margin, degrees)| {
            Comparator::of(Sign::of_degrees(1.0, log2_margin.exp2(), degrees).unwrap()).unwrap()
        });
        let parts = [1.0 / 16.0, 1.0 / 256.0];
        signs.into_iter().chain(parts.map(|margin| Comparator::new(margin).unwrap()))
    }

    #[test]
    fn the_loss_is_certified_and_tight() {
        for comparator in comparators() {
            let Comparator { sign, loss, .. } = &comparator;
            let lost = |d: f64| d - d * sign.eval(d) / (1.0 + sign.error());
            let near = (1..=20_000).map(|i| sign.threshold() * f64::from(i) / 10_000.0);
            let far = (1..=20_000).map(|i| f64::from(i) / 20_000.0);
            let (least, most) = near
                .chain(far)
                .map(lost)
                .fold((0.0f64, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
            assert!(most <= *loss && *loss < 1.02 * most, "{comparator}: {most:e} {loss:e}");
            assert!(least > -1e-12, "{comparator}: {least:e}");
        }
    }

    /// The derivative of `d s(d)` is below 2 near zero, so that the variance of the noise of two
    /// values grows less than `(1 + 2^2) / 2` times.
    #[test]
    fn near_ties_do_not_blow_up_noise() {
        for comparator in comparators() {
            let sign = &comparator.sign;
            let step = sign.threshold() / 10_000.0;
            let product = |i: i32| f64::from(i) * step * sign.eval(f64::from(i) * step);
            let slope = |i: i32| (product(i + 1) - product(i)) / step;
            let steepest = (0..20_000).map(slope).fold(0.0, f64::max);
            assert!(steepest < 2.0 && steepest > 1.0, "{comparator}: {steepest}");
        }
    }

    /// Exact counts stand on the bound for errors of any correlation, whatever is predicted.
    #[test]
    fn counts_are_refused_by_the_bound() {
        let comparator = comparators().next().unwrap();
        let bounds = Bounds::all(Interval::between(0.0, 16.0));
        let meta = |bound: f64| {
            let noise = Noise { bound, ..Noise::new(1.0) };
            CiphertextMeta { scale: 2f64.powi(20), slots: 16, len: 16, bounds, noise }
        };
        let refused = |x: &Comparator, bound| x.check_count(&meta(bound), 16).is_err();
        // A deviation of 1/4 in a slot, and one of 2^-10.
        let (large, small) = (2f64.powi(32), 2f64.powi(16));
        assert!(!refused(&comparator, large));
        let integers = comparator.of_integers();
        assert!(refused(&integers, large) && !refused(&integers, small));
        assert!(refused(&integers, f64::NAN) && refused(&integers, f64::INFINITY));
    }

    #[test]
    fn an_exchange_is_off_by_a_part_of_the_margin() {
        for margin in [1.0 / 16.0, 1.0 / 64.0, Comparator::MARGIN] {
            let comparator = Comparator::new(margin).unwrap();
            let part = comparator.exchange_error() / comparator.margin();
            assert!(part < 1.0 / 6.0 && part > 1.0 / 40.0, "{comparator}: {part}");
        }
    }
}
