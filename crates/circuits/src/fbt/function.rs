//! Functions of a value modulo a period, prepared for evaluation.

use std::f64::consts::TAU;
use std::fmt;

use super::exponential::{CircleNoise, slot_rounding};
use super::extension::Domain;
use super::roundings::{Effect, Effects};
use super::series::Gain;
use super::{RealSeries, Series, Table};
use crate::error;
use crate::polynomial::{Plan, Steps};
use bellerophon_ckks::noise::{Noise, sure_factor};
use bellerophon_ckks::{Complex64, Interval, Params, Result};

/// Sample points of a domain for the mean noise of an evaluation.
const SAMPLES: usize = 64;

/// A function of the angle `2 pi (v - centre) / period` of a value `v`, with the plan of its
/// evaluation as a power series of `E`: the function of a functional bootstrap.
///
/// It has equal values at arguments that differ by the period.
#[derive(Clone)]
pub struct PeriodicFunction {
    series: Series,
    pub(crate) plan: Plan,
    period: f64,
    /// The value at the angle zero.
    pub(crate) centre: f64,
    input: Input,
    effects: Effects,
}

#[derive(Clone, Debug)]
enum Input {
    /// Integers: small errors of the input are removed.
    Integers(Table),
    Reals {
        domain: Interval,
        /// Bound on the error of the series over the domain.
        error: f64,
        /// The derivative by the value in revolutions.
        slope: Gain,
        /// The derivative by the relative error of `|E|`.
        radial: Gain,
    },
}

/// What a series starts from: `E`, and the errors that enter the series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    /// Variances of the error of `E`.
    pub circle: CircleNoise,
    /// Variances of the error of the argument, in revolutions squared.
    pub angle: Noise,
    /// Bounds on the error of the exponential, along the circle and across it.
    pub off: [f64; 2],
    /// The level of `E`.
    pub level: usize,
    /// The scale of `E`.
    pub scale: f64,
    /// Number of values.
    pub values: usize,
    /// `log2` of the failure probability of all values together.
    pub log2_failure: f64,
}

/// Leaves out the coefficients, which may be secret.
impl fmt::Debug for PeriodicFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeriodicFunction")
            .field("period", &self.period)
            .field("degree", &self.series.degree())
            .field("levels", &self.levels())
            .finish_non_exhaustive()
    }
}

impl PeriodicFunction {
    /// A table over the integers modulo its size.
    pub(crate) fn table(table: Table) -> Self {
        let series = table.series.clone();
        let plan = Plan::monomial(&series.coefficients);
        Self {
            plan,
            period: table.size as f64,
            centre: 0.0,
            input: Input::Integers(table),
            series,
            effects: Effects::default(),
        }
    }

    /// A function of the reals of a domain, which is centred at the angle zero.
    pub(crate) fn real(real: &RealSeries) -> Self {
        let Domain { lo, hi, share } = real.domain;
        let series = real.series.clone();
        let plan = Plan::monomial(&series.coefficients);
        let (period, centre) = ((hi - lo) / share, 0.5 * (lo + hi));
        let input = Input::Reals {
            domain: Interval::between(lo, hi),
            error: real.error().value(),
            slope: real.along,
            radial: real.across,
        };
        Self { series, plan, period, centre, input, effects: Effects::default() }
    }

    /// The series.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The period.
    pub fn period(&self) -> f64 {
        self.period
    }

    /// Levels of the series.
    pub fn levels(&self) -> usize {
        self.plan.depth()
    }

    pub(crate) fn as_table(&self) -> Option<&Table> {
        match &self.input {
            Input::Integers(table) => Some(table),
            Input::Reals { .. } => None,
        }
    }

    /// Bounds over the circle on the derivatives by the value in revolutions and by `E`.
    pub(super) fn largest_slopes(&self) -> [f64; 2] {
        let gain: f64 =
            self.series.coefficients.iter().enumerate().map(|(j, a)| j as f64 * a.norm()).sum();
        [TAU * gain, gain]
    }

    /// Bound on the error of the series on exact input.
    pub fn approximation_error(&self) -> f64 {
        match &self.input {
            Input::Integers(table) => table.error(0.0),
            Input::Reals { error, .. } => *error,
        }
    }

    /// The range of the results without noise.
    pub(crate) fn range(&self) -> Interval {
        self.series.range.widened(self.approximation_error())
    }

    /// The value at `v`, in the clear.
    pub fn eval(&self, v: f64) -> f64 {
        self.series.eval((v - self.centre) / self.period)
    }

    /// Refuses values outside the domain, and errors beyond the tolerance or the gap.
    pub(super) fn check_input(&self, range: &Interval, argument: &Argument) -> Result<()> {
        let Argument { circle, angle, off, values, log2_failure, .. } = *argument;
        // Integers are exact by their error against the exact program; reals may leave their domain
        // by what no stated range includes.
        let exact = self.as_table().map_or(0.0, |_| angle.bound);
        let tangential = circle.tangential.bound / TAU.powi(2);
        let deviation = (exact.max(angle.excess) + tangential).sqrt() * self.period;
        let off = off[0] / TAU * self.period;
        let worst = sure_factor(values, log2_failure) * deviation + off;
        // Written so that NaN is refused.
        let within = |most: f64| worst <= most;
        match &self.input {
            Input::Integers(table) => {
                if !within(table.tolerance()) {
                    return Err(error::table_noise(
                        table.size,
                        worst,
                        table.tolerance(),
                        log2_failure,
                    ));
                }
            }
            Input::Reals { domain, .. } => {
                let slack = 1e-9 * (domain.hi() - domain.lo());
                if !domain.widened(slack).contains(range) || !within(self.gap()) {
                    let found = range.widened(worst).in_words();
                    return Err(error::outside_domain("values", found, domain.lo(), domain.hi()));
                }
            }
        }
        Ok(())
    }

    /// The largest error of a real beyond the domain: a quarter of the rest of the circle.
    fn gap(&self) -> f64 {
        match &self.input {
            Input::Integers(_) => 0.0,
            Input::Reals { domain, .. } => 0.25 * (self.period - (domain.hi() - domain.lo())),
        }
    }

    /// The range of results; outside the domain of a real function, the series has any value.
    pub(crate) fn range_with_padding(&self, padding: Option<&Interval>) -> Interval {
        let outside = padding.is_some_and(|padding| match &self.input {
            Input::Integers(table) => table.order != 1,
            Input::Reals { domain, .. } => !domain.contains(padding),
        });
        match outside {
            true => {
                let most = self.series.magnitude();
                Interval::between(-most, most)
            }
            false => self.range(),
        }
    }

    /// Variances of the error of a result in one slot.
    ///
    /// An error across the circle is multiplied by [`Series::radial`]. An error along it is
    /// multiplied by [`Series::derivative`] for reals; a table reduces it to [`Table::error`]. Each
    /// rounding of the series, which is computed at half the scale of its real part, is multiplied
    /// by its derivative.
    pub(super) fn noise(&self, params: &Params, argument: &Argument, result_scale: f64) -> Noise {
        let Argument { circle, angle, off, level, scale, values, log2_failure } = *argument;
        // Step 1: the roundings of the series, averaged over the values, and at their largest.
        let steps = Steps::new(params, &self.plan, level, scale, 0.5 * result_scale);
        let (mean, largest) = match &self.input {
            Input::Integers(table) => {
                let Effect { mean, largest } = self.effects.of(&self.plan, &steps, table.size);
                (mean, largest)
            }
            Input::Reals { domain, .. } => {
                let width = (domain.hi() - domain.lo()) / self.period;
                let point = |i: usize| width * (i as f64 / (SAMPLES - 1) as f64 - 0.5);
                let at = |t: f64| self.plan.derivatives_by(Complex64::cis(TAU * t), &steps).1;
                let mean = (0..SAMPLES).map(|i| at(point(i))).sum::<f64>() / SAMPLES as f64;
                (mean, self.plan.largest_steps(&steps))
            }
        };

        // Step 2: the error along the circle, through the function.
        let rounding = slot_rounding(params);
        let along = angle + circle.tangential * (TAU * TAU).recip();
        let worst = sure_factor(values, log2_failure);
        let (across, input) = match &self.input {
            Input::Integers(table) => {
                let cells = |variance: f64| variance.sqrt() * table.size as f64;
                // The mean of e^4 of a normal error is three times its squared variance.
                let typical = 3.0 * table.error(cells(along.total)).powi(2);
                let reach = worst * cells(along.bound.max(along.excess));
                let reach = reach + off[0] / TAU * self.period;
                let most = (table.error(reach) / worst).powi(2);
                (table.radial, Noise::varying(typical, most))
            }
            Input::Reals { error, slope, radial, .. } => {
                let shift = (slope.most * off[0] / TAU / worst).powi(2);
                let most = along * slope.most.powi(2) + (error * error + shift);
                (*radial, most.with_mean(slope.mean.powi(2) * along.total))
            }
        };

        // Step 3: the error across the circle, and the sum.
        let [typical, most] = [across.mean, across.most].map(|gain| circle.radial * (gain * gain));
        let shift = (across.most * off[1] / worst).powi(2);
        let most = input + most + (shift + rounding * largest);
        most.with_mean(input.total + typical.total + rounding * mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approx::{Function, Known};
    use bellerophon_ckks::{LevelGroup, ModulusChain, ParamsSpec, Security};

    /// No argument exceeds the largest effect of the roundings: an entry of a table or a real of
    /// the domain.
    #[test]
    fn no_argument_exceeds_the_noise_of_the_series() {
        let levels = vec![LevelGroup::single(45, 12)];
        let chain = ModulusChain { degree: 1 << 9, first_bits: 55, levels, special: (50, 2) };
        let spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
        let params = Params::new(spec).unwrap();
        let entries =
            |p: usize| (0..p).map(|k| (k * k * 37 % 101) as f64 / 100.0).collect::<Vec<_>>();
        let table = |p: usize| PeriodicFunction::table(Table::new(&entries(p), 1).unwrap());
        let sigmoid = Function::from(Known::Sigmoid);
        let real = |degree| {
            let series = RealSeries::of_degree(&sigmoid, -8.0, 8.0, 0.75, degree).unwrap();
            PeriodicFunction::real(&series)
        };
        let (level, scale) = (12, params.scale());
        let silent = CircleNoise { tangential: Noise::NONE, radial: Noise::NONE };
        for (f, most) in [
            (table(16), 1.1),
            (table(256), 1.1),
            (table(2048), 1.1),
            (PeriodicFunction::table(Table::new(&entries(37), 3).unwrap()), 1.1),
            (real(15), 2.0),
            (real(63), 2.0),
        ] {
            let argument = Argument {
                circle: silent,
                angle: Noise::NONE,
                off: [0.0, 0.0],
                level,
                scale,
                values: 256,
                log2_failure: -40.0,
            };
            let noise = f.noise(&params, &argument, scale);
            let rounding = slot_rounding(&params);
            let steps = Steps::new(&params, &f.plan, level, scale, 0.5 * scale);
            let points: Vec<f64> = match &f.input {
                Input::Integers(table) => (0..table.size).map(|k| k as f64 / f.period).collect(),
                Input::Reals { domain, .. } => {
                    let width = domain.hi() - domain.lo();
                    let at = |i: i32| width / f.period * (f64::from(i) / 1e5 - 0.5);
                    (0..=100_000).map(at).collect()
                }
            };
            let at = |t: f64| f.plan.derivatives_by(Complex64::cis(TAU * t), &steps).1;
            let own = rounding * points.into_iter().map(at).fold(0.0, f64::max);
            let bound = noise.bound - f.approximation_error().powi(2);
            assert!(own <= noise.bound && bound <= most * own, "{f:?}: {own:e} {bound:e}");
        }
    }
}
