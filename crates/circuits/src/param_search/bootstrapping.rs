//! Parameter search with bootstrapping: from a precision to level sizes.
//!
//! The error of a bootstrap has two parts: roundings, which the scale divides
//! ([`Bootstrapper::bootstrapped`] adds them up), and the approximation error of EvalMod, which no
//! scale changes ([`Bootstrapper::approximation_error`]). With levels larger by `k` bits, the first
//! part is smaller by `2^-k`. One bootstrap predicted at a reference scale, without keys, therefore
//! gives the precision at every scale of that ring, with every EvalMod ([`reduction`](super)). The
//! chosen set is then predicted again exactly.

use std::sync::Arc;

use bellerophon_ckks::{Interval, Metadata, ModulusChain, Params, ParamsSpec, Result, noise};
use bellerophon_mlwe::security::{self, Model};
use bellerophon_mlwe::{self as mlwe, SecretKind, Security};

use super::bounds::{
    LOG2_FAILURE, MOST_LEVELS, ProgramBounds, bound, by_product, log2_size, squared,
};
use super::reduction::{ReductionChoice, Reference, Variant};
use super::selected::{SelectedBootstrap, SelectedParams};
use crate::bootstrap::{BootstrapSpec, Bootstrapper};

/// `log2` of the reference scale at which a bootstrap is predicted first.
const REFERENCE: u32 = 42;

/// Bits of an EvalMod level above the scale and the gap between `q_0` and the message: the period
/// of the sine (a factor of `2 pi`).
const PERIOD: u32 = 2;

/// Levels of the reference beyond the EvalMod of the default: of an arcsine of twice the degree,
/// and of a sine of a smaller error.
const SPARE: usize = 2;

/// `log2` of the ratio of the approximation error to the standard deviation that the requirements
/// allow.
const BIAS: f64 = -1.0;

/// `log2` of the scales tried. Below, large rings have too few primes.
const LOG_SCALES: std::ops::RangeInclusive<u32> = 28..=50;

/// Scales tried above the predicted one: drifting scales may cost a bit.
const RETRIES: u32 = 3;

/// Bits of the special primes, and their largest number.
const SPECIAL: (u32, usize) = (50, 16);

/// Weight of the sparse secret: the largest that the security tables cover.
const WEIGHT: usize = 1024;

/// A ring and a secret kind, with a bootstrap there.
pub(super) struct Candidate {
    degree: usize,
    secret: SecretKind,
    slots: usize,
    security: Security,
    reference: Reference,
}

impl Candidate {
    /// A bootstrap at the reference scale; `None` without a secure one in this ring.
    pub(crate) fn new(
        requirements: &ProgramBounds,
        degree: usize,
        secret: SecretKind,
    ) -> Option<Self> {
        // Step 1: the security tables must cover both secrets.
        let ProgramBounds { security, slots, .. } = *requirements;
        let most = bound(security, degree, secret)?;
        let spec =
            BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(slots.next_power_of_two()) };
        let sparse = SecretKind::Sparse(spec.weight);
        security::max_log2_modulus(degree, sparse, Model::Bits128)?;

        // Step 2: even a chain with half the levels of the default EvalMod, at the least scale,
        // must fit. This check is cheaper than the prediction.
        let reduction = spec.reduction().ok()?.depth();
        let (log_scale, levels) = (*LOG_SCALES.start(), requirements.depth.max(1));
        let spec_there = at_scale(&spec, log_scale);
        let least = ModulusChain {
            degree,
            first_bits: spec_there.q0_bits(log_scale),
            levels: spec_there.levels_around(reduction / 2, log_scale, levels),
            special: (SPECIAL.0, 1),
        };
        if log2_size(&least) > most {
            return None;
        }

        // Step 3: a bootstrap at the reference scale.
        let prepared = || -> Result<Reference> {
            let spec = at_scale(&spec, REFERENCE);
            let chain = ModulusChain {
                degree,
                first_bits: spec.q0_bits(REFERENCE),
                levels: spec.levels_around(reduction + SPARE, REFERENCE, 1),
                special: (SPECIAL.0, 4),
            };
            let params = with_secret(&chain, REFERENCE, secret, Security::Insecure)?;
            let bootstrapper = Bootstrapper::new(&params, spec)?;
            let x = operand(&bootstrapper)?;
            Reference::new(bootstrapper, &x)
        };
        let reference = prepared().ok()?;
        Some(Self { degree, secret, slots: slots.next_power_of_two(), security, reference })
    }

    /// The secret kinds that a set may have, the one with the smaller noise first.
    pub(crate) fn secrets() -> [SecretKind; 2] {
        [SecretKind::Sparse(WEIGHT), SecretKind::Ternary]
    }

    /// The chain with the fastest products among all chains within the security bound.
    fn chain(&self, variant: &Variant, log_scale: u32, depth: usize) -> Option<ModulusChain> {
        let bound = bound(self.security, self.degree, self.secret)?;
        // At least one level for the program, or bootstrapping would be pointless.
        let levels = Some(depth.max(1)).filter(|&levels| levels <= MOST_LEVELS)?;
        let spec = at_scale(&variant.spec, log_scale);
        let (degree, first_bits) = (self.degree, spec.q0_bits(log_scale));
        let levels = spec.levels_around(variant.mod1.depth(), log_scale, levels);
        (1..=SPECIAL.1)
            .map(|count| (SPECIAL.0, count))
            .map(|special| ModulusChain { degree, first_bits, levels: levels.clone(), special })
            .filter(|chain| log2_size(chain) <= bound)
            .min_by(by_product)
    }

    /// Predicted bits in the worst slot after a bootstrap and `depth` squarings at this scale. The
    /// approximation error counts as a standard deviation, as in [`Bootstrapper::bootstrapped`].
    fn bits(&self, variant: &Variant, log_scale: u32, depth: usize) -> f64 {
        let rounding = (self.secret.expected_norm2(self.degree) + 1.0) / 12.0;
        let variance = (0..depth).fold(variant.variance, |v, _| 4.0 * v + rounding);
        let slots = self.slots;
        let std = noise::slot_std(variance, slots, f64::from(log_scale).exp2(), true);
        let bias = variant.bias * (depth as f64).exp2();
        -(variant.worst * std.hypot(bias)).log2()
    }

    pub(crate) fn choose(&self, requirements: &ProgramBounds) -> Option<SelectedParams> {
        let (depth, wanted) = (requirements.depth, requirements.bits());
        // Step 1: for every EvalMod the least scale by the prediction at the reference scale, and
        // the predicted time there.
        let worst = noise::worst_factor(self.slots, LOG2_FAILURE);
        let variants = self.reference.variants(wanted + depth as f64 + worst.log2() - BIAS);
        let reported = |variant: Variant| {
            let log_scale = LOG_SCALES.into_iter().find(|&s| {
                self.bits(&variant, s, depth) >= wanted && self.chain(&variant, s, depth).is_some()
            })?;
            let chain = self.chain(&variant, log_scale, depth)?;
            let params = with_secret(&chain, log_scale, self.secret, Security::Insecure).ok()?;
            let seconds = self.reference.seconds(&params, &variant);
            let bits = self.bits(&variant, log_scale, depth);
            let report = variant.report(&params, log_scale, bits, seconds);
            Some((variant, report))
        };
        let mut reported: Vec<_> = variants.into_iter().filter_map(reported).collect();
        reported.sort_by(|(_, x), (_, y)| x.seconds.total_cmp(&y.seconds));

        // Step 2: the fastest one that meets the requirements with the actual primes. Its exact
        // time may exceed the estimate: the next ones are tried as long as theirs is less.
        let (mut best, mut others) = (None::<SelectedParams>, vec![]);
        for (variant, report) in reported {
            if best.as_ref().is_some_and(|best| chosen(best).seconds <= report.seconds) {
                others.push(report);
                continue;
            }
            let Some(mut found) = self.exact(requirements, &variant, report) else { continue };
            if let Some(before) = &mut best {
                if chosen(before).seconds > chosen(&found).seconds {
                    std::mem::swap(before, &mut found);
                }
                others.push(chosen(&found));
            } else {
                best = Some(found);
            }
        }
        others.sort_by(|x, y| x.seconds.total_cmp(&y.seconds));
        let mut best = best?;
        best.bootstrap.as_mut()?.reductions.extend(others);
        Some(best)
    }

    /// The set at the least scale at which the exact prediction meets the requirements.
    fn exact(
        &self,
        requirements: &ProgramBounds,
        variant: &Variant,
        report: ReductionChoice,
    ) -> Option<SelectedParams> {
        let ProgramBounds { depth, security, .. } = *requirements;
        let wanted = requirements.bits();
        let least = report.log_scale;
        (least..=least + RETRIES).find_map(|log_scale| {
            // Step 1: the actual primes and the actual bootstrap.
            let chain = self.chain(variant, log_scale, depth)?;
            let params = with_secret(&chain, log_scale, self.secret, security).ok()?;
            let spec = at_scale(&variant.spec, log_scale);
            let bootstrapper = Bootstrapper::new(&params, spec).ok()?;
            let operand = operand(&bootstrapper).ok()?;
            let fresh = bootstrapper.bootstrapped(&operand).ok()?;
            let bits = |x: &Metadata| -x.worst(LOG2_FAILURE).log2();

            // Step 2: precision after `depth` squarings. The result must be bootstrappable again,
            // which scales that drift too far prevent.
            let after = squared(&params, fresh, depth).ok()?;
            bootstrapper.bootstrapped(&after).ok()?;
            let last = bits(&after);
            let seconds = bootstrapper.work(2).seconds();
            let bootstrap = SelectedBootstrap {
                bits: bits(&fresh),
                bootstrapper: Arc::new(bootstrapper),
                reductions: vec![variant.report(&params, log_scale, last, seconds)],
            };
            (last >= wanted).then_some(SelectedParams {
                requirements: *requirements,
                params,
                chain,
                log_scale,
                bits: last,
                bootstrap: Some(bootstrap),
            })
        })
    }
}

fn chosen(set: &SelectedParams) -> ReductionChoice {
    set.bootstrap.as_ref().expect("the set has a bootstrap").reductions[0]
}

/// A bootstrap with the levels of a scale.
fn at_scale(spec: &BootstrapSpec, log_scale: u32) -> BootstrapSpec {
    let log_reduction = log_scale + spec.log_gap.ceil() as u32 + PERIOD;
    BootstrapSpec { log_reduction, ..spec.clone() }
}

/// The parameters of a chain with a kind of secret.
fn with_secret(
    chain: &ModulusChain,
    log_scale: u32,
    secret: SecretKind,
    security: Security,
) -> Result<Params> {
    let mut spec = ParamsSpec::from_chain(chain, log_scale, Security::Insecure)?;
    (spec.lattice.secret, spec.lattice.security) = (secret, security);
    Params::new(spec)
}

/// The metadata of a public-key encryption of numbers of `[-1, 1]` that fill the slots.
fn operand(bootstrapper: &Bootstrapper) -> Result<Metadata> {
    let (params, slots) = (bootstrapper.params(), bootstrapper.spec().slots);
    let ends = [-1.0, 1.0];
    let (values, level) = (&ends[..slots.min(2)], bootstrapper.input_level());
    let range = Interval::real(-1.0, 1.0)?;
    let mut metadata = params.rules().encoded(values, range, slots, params.scale(), level)?;
    metadata.meta.noise += mlwe::noise::fresh_public(params.lattice());
    Ok(metadata)
}
