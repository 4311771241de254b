//! Functional bootstrapping prepared for one parameter set.

use super::exponential::Exponential;
use super::{FbtSpec, PeriodicFunction, RealSeries};
use crate::approx::{Accuracy, Function};
use crate::bootstrap::Raising;
use crate::bootstrap::raising::RaisingSpec;
use crate::error;
#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{Interval, KeyLevels, KeySizes, Params, Result};

/// The largest share of the circle for a domain.
const LARGEST_SHARE: f64 = 0.75;

/// The relative difference of scales that passes for rounding.
const SCALE_TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

/// Functional bootstrapping without its keys, prepared for one parameter set.
#[derive(Debug, Clone)]
pub struct FunctionalBootstrapper {
    raising: Raising,
    spec: FbtSpec,
    pub(crate) exponential: Exponential,
}

/// The values in the slots of an operand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FbtInput {
    /// The range of the values.
    pub range: Interval,
    /// Whether the imaginary parts hold values too, two in each slot.
    pub both: bool,
}

impl FunctionalBootstrapper {
    /// Prepares the matrices and the exponential.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] when the chain is too short or has levels of other sizes than the
    /// specification, or a field of the specification is out of its range; security errors for the
    /// sparse secret; those of the parts.
    pub fn new(params: &Params, spec: FbtSpec) -> Result<Self> {
        spec.check()?;

        // Step 1: the chain must have the levels of the specification.
        let exponential = spec.exponential()?;
        let top = params.max_level();
        let taken = spec.s2c.len() + spec.series.len() + exponential.depth() + spec.c2s.len();
        if top < taken {
            let reason = format!(
                "functional bootstrapping takes {} levels for S2C, {} for the series, {} for the \
                 exponential and {} for C2S; the chain has {top}: take that of FbtSpec::chain",
                spec.s2c.len(),
                spec.series.len(),
                exponential.depth(),
                spec.c2s.len()
            );
            return Err(error::params(reason));
        }
        // Step 2: with their sizes, from the highest level down and from the lowest prime up.
        let above = spec.c2s.iter().chain(&spec.exponential).chain(&spec.series);
        let below = std::iter::once(&spec.q0_bits).chain(&spec.s2c);
        for (level, &bits) in (0..=top).rev().zip(above).chain((0..=top).zip(below)) {
            let found = params.divisor(level).log2();
            if (found - f64::from(bits)).abs() > 0.5 {
                let reason = format!(
                    "level {level} has {found:.1} bits where functional bootstrapping needs \
                     {bits}: take the chain of FbtSpec::chain"
                );
                return Err(error::params(reason));
            }
        }
        // Step 3: the matrices. The slots hold x / bound: the argument of the exponential.
        let raising = RaisingSpec {
            slots: spec.slots,
            weight: spec.weight,
            s2c_levels: spec.s2c.len(),
            s2c_scale: params.divisor(0) * (-f64::from(spec.log_enlargement())).exp2(),
            modular: true,
            c2s_levels: spec.c2s.len(),
            babies: spec.babies,
            encode_ahead: spec.encode_ahead,
            width: exponential.bound,
            reach: exponential.bound,
        };
        Ok(Self { raising: Raising::new(params, raising)?, exponential, spec })
    }

    /// The same with the diagonals of S2C kept encoded, as by [`FbtSpec::encode_ahead`]. All else
    /// is shared.
    pub fn encoded(&self) -> Result<Self> {
        let spec = FbtSpec { encode_ahead: true, ..self.spec.clone() };
        Ok(Self { raising: self.raising.encoded()?, exponential: self.exponential.clone(), spec })
    }

    /// The specification.
    pub fn spec(&self) -> &FbtSpec {
        &self.spec
    }

    /// S2C, the mod raise and C2S.
    pub fn raising(&self) -> &Raising {
        &self.raising
    }

    pub(crate) fn params(&self) -> &Params {
        &self.raising.params
    }

    /// The lowest level of an operand.
    pub fn input_level(&self) -> usize {
        self.raising.input_level()
    }

    /// The level of the result of a function.
    pub fn output_level(&self, function: &PeriodicFunction) -> usize {
        self.series_level().saturating_sub(function.levels())
    }

    /// The level of the results of the deepest series that fits the chain.
    pub fn least_output_level(&self) -> usize {
        self.series_level() - self.spec.series.len()
    }

    /// The level of `E`, where every series starts.
    pub(crate) fn series_level(&self) -> usize {
        self.raising.output_level() - self.exponential.depth()
    }

    /// The scale of `E` for which `E^(2^k)`, after `k` levels of the deepest series, reaches the
    /// size of its lowest level: the scale before `s` at level `l` is `sqrt(s divisor(l))`.
    pub(crate) fn series_scale(&self) -> f64 {
        let params = self.params();
        let lowest = self.least_output_level() + 1;
        let before = |after: f64, level| (after * params.divisor(level)).sqrt();
        (lowest..=self.series_level()).fold(params.divisor(lowest), before)
    }

    /// The least scale from which integers modulo `entries` reach the circle by an integer factor.
    pub(crate) fn integer_scale(&self, entries: usize) -> f64 {
        let whole = self.circle_scale() / entries as f64;
        whole / (whole / self.params().scale()).floor().max(1.0)
    }

    /// The scale at S2C, per revolution.
    pub(super) fn circle_scale(&self) -> f64 {
        self.params().scale() * f64::from(self.spec.log_enlargement()).exp2()
    }

    /// The largest share of the circle, up to `share`, of a domain of a width that the default
    /// scale reaches by an integer factor.
    pub(crate) fn share(&self, width: f64, share: f64) -> Result<f64> {
        let whole = self.circle_scale() / self.params().scale();
        let (factor, largest) = ((share * whole / width).floor(), (1u64 << 40) as f64);
        if !(1.0..=largest).contains(&factor) {
            let (least, most) = (share * whole / largest, share * whole);
            return Err(error::domain_width(width, least, most));
        }
        Ok(factor * width / whole)
    }

    /// A function of the reals of a domain, to an accuracy. The domain takes the largest share of
    /// the circle, up to 3/4, that the default scale reaches without a level.
    ///
    /// # Errors
    /// Those of [`RealSeries::for_error`]; [`ErrorKind::Domain`] for a domain that is too wide or
    /// too narrow.
    pub fn real_function(
        &self,
        f: &Function,
        lo: f64,
        hi: f64,
        accuracy: Accuracy,
    ) -> Result<PeriodicFunction> {
        let share = self.share(hi - lo, LARGEST_SHARE)?;
        Ok(PeriodicFunction::real(&RealSeries::for_error(f, lo, hi, share, accuracy)?))
    }

    /// The evaluation keys besides [`BootstrapKeys`](crate::bootstrap::BootstrapKeys), each at the
    /// level of its use.
    pub fn keys(&self) -> KeyLevels {
        self.raising.keys().multiply(self.raising.output_level())
    }

    /// Key switches for functions of one vector, with values in both parts or in one.
    pub(crate) fn key_switches(&self, functions: &[&PeriodicFunction], both: bool) -> usize {
        let parts = if both { 2 } else { 1 };
        let series: usize = functions.iter().map(|f| f.plan.relinearizations).sum();
        let shared = powers(functions);
        let own: usize = functions.iter().map(|f| f.plan.powers.len()).sum();
        self.raising.key_switches()
            + parts * (self.exponential.key_switches() + series + shared - own)
            + functions.len()
    }

    /// Sizes of the keys for functional bootstrapping only.
    pub fn own_key_sizes(&self) -> KeySizes {
        self.raising.own_key_sizes()
    }

    /// The smallest security of its keys in bits.
    pub fn security_bits(&self) -> f64 {
        self.raising.security_bits()
    }

    pub(crate) fn reserve(&self) {
        self.raising.reserve(2 * self.exponential.width());
    }
}

/// The integer factor from a scale to that of the circle, if there is one.
pub(crate) fn fitting_factor(circle_scale: f64, period: f64, scale: f64) -> Option<i64> {
    let exact = circle_scale / (period * scale);
    let factor = exact.round();
    let fits = factor >= 1.0 && (exact / factor - 1.0).abs() <= SCALE_TOLERANCE;
    fits.then_some(factor as i64)
}

/// Number of powers of `E` for some functions, each counted once.
fn powers(functions: &[&PeriodicFunction]) -> usize {
    let indices: std::collections::BTreeSet<usize> =
        functions.iter().flat_map(|f| f.plan.powers.iter().map(|p| p.index())).collect();
    indices.len()
}
