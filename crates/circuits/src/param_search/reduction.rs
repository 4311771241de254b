//! The choice of EvalMod: the gap, the arcsine and the error of the sine.
//!
//! Let `2^-b` be the error that the approximation may make: half of the standard deviation that the
//! program allows.
//! 1. *Arcsine.* Degrees `2^k - 1` are tried: a lower degree takes as many levels.
//! 2. *Gap.* A gap that is larger by one bit costs one bit of precision against noise, and one bit
//!    of every level. The search takes the least gap for which the polynomial of the arcsine has an
//!    error of at most `2^-(b + 1)`.
//! 3. *Sine.* Its error is at most `2^-(b + 1)`, too, in units of the values. The bound on the
//!    multiples of `q_0` follows from the failure probability
//!    ([`overflow_bound`](crate::eval_mod::overflow_bound)). [`Mod1::new`] finds degree, double
//!    angles and offset.
//!
//! Each of these plans is predicted at a reference scale: noise from the argument that a bootstrap
//! of that ring has there, and work. Those that need one level more or less need other primes; the
//! search takes the one with the least predicted time among those that meet the requirements.

use bellerophon_ckks::{Bounds, CiphertextMeta, Interval, Metadata, Params, Result, cost::Work};

use super::bounds::LOG2_FAILURE;
use crate::bootstrap::{BootstrapSpec, Bootstrapper};
use crate::eval_mod::{Arcsine, Mod1, Mod1Output};

/// Degrees of the arcsine.
const ARCSINES: [usize; 4] = [1, 3, 7, 15];

/// Gaps, in bits.
const GAPS: std::ops::RangeInclusive<u32> = 3..=9;

/// `-log2` of the smallest and the largest error of the sine.
const SINE_BITS: (f64, f64) = (10.0, 44.0);

/// An EvalMod that a parameter search found to meet the requirements of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReductionChoice {
    /// `log2` of the ratio of `q_0` to the largest message.
    pub log_gap: f64,
    /// Degree of the polynomial of the cosine.
    pub degree: usize,
    /// Double angles.
    pub double_angles: usize,
    /// Degree of the arcsine.
    pub arcsine: usize,
    /// Largest distance of an argument from zero, in units of `q_0`.
    pub bound: f64,
    /// Levels of EvalMod.
    pub levels: usize,
    /// Bits of the modulus that these levels take.
    pub modulus_bits: f64,
    /// `log2` of the default scale with which the set meets the requirements.
    pub log_scale: u32,
    /// Predicted bits of the result in the worst slot.
    pub bits: f64,
    /// Predicted seconds of a bootstrap of complex numbers on one thread.
    pub seconds: f64,
}

/// A plan of EvalMod and its prediction at the reference scale.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    /// The bootstrap with this EvalMod; its levels are those of the reference.
    pub spec: BootstrapSpec,
    pub mod1: Mod1,
    /// Noise variance of a bootstrapped vector, in coefficients of the phase.
    pub variance: f64,
    /// Number of standard deviations that bounds the error of the worst slot.
    pub worst: f64,
    /// Approximation error, for values up to 1.
    pub bias: f64,
}

/// A bootstrap at the reference scale, with levels for every EvalMod.
pub(super) struct Reference {
    bootstrapper: Bootstrapper,
    /// The argument of EvalMod.
    argument: Metadata,
    /// Seconds of everything else, and of one key switch at the highest level.
    others: f64,
    switch: f64,
}

impl Reference {
    /// A bootstrap of an operand.
    pub(super) fn new(bootstrapper: Bootstrapper, x: &Metadata) -> Result<Self> {
        let params = bootstrapper.params();
        let argument = bootstrapper.argument(x)?;
        let others = bootstrapper.work(0).seconds();
        let switch = Work::of_switches(params, params.max_level(), 1).seconds();
        Ok(Self { bootstrapper, argument, others, switch })
    }

    /// The plans with an error of at most `2^-bits`, one for each degree of the arcsine.
    pub(super) fn variants(&self, bits: f64) -> Vec<Variant> {
        ARCSINES.iter().filter_map(|&arcsine| self.variant(arcsine, bits)).collect()
    }

    fn variant(&self, arcsine: usize, bits: f64) -> Option<Variant> {
        let (base, params) = (self.bootstrapper.spec(), self.bootstrapper.params());
        // Step 1: the least gap; a value of 1 is 2^-gap in units of q_0, 2 pi 2^-gap as an angle.
        let amplitude = |gap: f64| gap.exp2() / std::f64::consts::TAU;
        let share = (-bits - 1.0).exp2();
        let gap = GAPS.map(f64::from).find(|&gap| {
            let of = Arcsine { degree: arcsine, message: (-gap).exp2() };
            of.error().is_ok_and(|error| amplitude(gap) * error <= share)
        })?;
        // Step 2: the sine.
        let (least, most) = SINE_BITS;
        let sine_bits = bits + 1.0 + amplitude(gap).log2();
        let log2_error = -Some(sine_bits.max(least)).filter(|&b| b <= most)?;
        let log_reduction = base.log_reduction;
        let spec =
            BootstrapSpec { log_gap: gap, arcsine, log2_error, log_reduction, ..base.clone() };
        let mod1 = spec.reduction().ok()?;
        // Step 3: the noise, for the range of this EvalMod.
        let reach = mod1.bound() / mod1.width();
        let bounds = Bounds::all(Interval::real(-reach, reach).ok()?);
        let meta = CiphertextMeta { bounds, ..self.argument.meta };
        let output = Mod1Output { amplitude: amplitude(gap), scale: params.scale() };
        let argument = Metadata { meta, ..self.argument };
        let noise = mod1.meta(params, &argument, output).ok()?.result.meta.noise;
        let variance = noise.total;
        let worst = noise.worst(spec.slots, LOG2_FAILURE) / variance.sqrt();
        let bias = amplitude(gap) * mod1.approximation_error();
        Some(Variant { variance, worst, bias, spec, mod1 })
    }

    /// Predicted seconds of a bootstrap of complex numbers under other parameters with a variant.
    /// Its linear transforms take time in proportion to a key switch.
    pub(super) fn seconds(&self, params: &Params, variant: &Variant) -> f64 {
        let top = params.max_level();
        let switch = Work::of_switches(params, top, 1).seconds();
        let mod1 = &variant.mod1.work(params, top - variant.spec.c2s_levels).seconds();
        self.others * switch / self.switch + 2.0 * mod1
    }
}

impl Variant {
    /// The report of a set with this EvalMod.
    pub(super) fn report(
        &self,
        params: &Params,
        log_scale: u32,
        bits: f64,
        seconds: f64,
    ) -> ReductionChoice {
        let Self { spec, mod1, .. } = self;
        let top = params.max_level() - spec.c2s_levels;
        let levels = mod1.depth();
        ReductionChoice {
            log_gap: spec.log_gap,
            degree: mod1.degree(),
            double_angles: mod1.doublings,
            arcsine: spec.arcsine,
            bound: mod1.bound(),
            levels,
            modulus_bits: (top + 1 - levels..=top).map(|l| params.divisor(l).log2()).sum(),
            log_scale,
            bits,
            seconds,
        }
    }
}
