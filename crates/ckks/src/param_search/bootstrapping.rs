//! Parameter search with bootstrapping: from a precision to level sizes.
//!
//! The error of a bootstrap has two parts: roundings, which the scale divides
//! ([`Bootstrapper::bootstrapped`] adds them up), and the approximation error of EvalMod, which no
//! scale changes ([`Bootstrapper::approximation_error`]). With levels larger by `k` bits, the first
//! part is smaller by `2^-k`. One bootstrap predicted at a reference scale, without keys, therefore
//! gives the precision at every scale of that ring. The chosen set is then predicted again exactly.

use std::sync::Arc;

use bellerophon_mlwe::{
    self as mlwe, SecretKind, Security,
    security::{self, Model},
};

use super::{LOG2_FAILURE, MOST_LEVELS, ProgramBounds, Work, bound, log2_size, squared};
use crate::bootstrap::{BootstrapSpec, Bootstrapper};
use crate::{During, Interval, Metadata, ModulusChain, Params, ParamsSpec, Result, noise};

/// `log2` of the reference scale at which a bootstrap is predicted first.
const REFERENCE: u32 = 42;

/// Bits of an EvalMod level above the scale: the gap between `q_0` and the message, and the period
/// of the sine (a factor of `2 pi`).
const REDUCTION: u32 = 7;

/// `log2` of the scales tried. Below, large rings have too few primes.
const LOG_SCALES: std::ops::RangeInclusive<u32> = 28..=50;

/// Scales tried above the predicted one: drifting scales may cost a bit.
const RETRIES: u32 = 3;

/// Bits of the special primes, and their largest number.
const SPECIAL: (u32, usize) = (50, 16);

/// Weight of the sparse secret: the largest that the security tables cover.
const WEIGHT: usize = 256;

/// The bootstrapping part of a selected set.
#[derive(Debug, Clone)]
pub struct SelectedBootstrap {
    /// The bootstrapper, with levels, keys and predictions. Its matrices are not encoded in
    /// advance.
    pub bootstrapper: Arc<Bootstrapper>,
    /// Correct bits after the binary point in the worst slot of a bootstrapped vector of numbers of
    /// `[-1, 1]`, except with probability `2^`[`LOG2_FAILURE`].
    pub bits: f64,
}

/// A set that meets the requirements.
pub(super) struct Found {
    pub params: Params,
    pub chain: ModulusChain,
    pub log_scale: u32,
    pub bits: f64,
    pub bootstrap: SelectedBootstrap,
}

/// A ring and a secret kind, with the error of a bootstrap there.
pub(super) struct Candidate {
    degree: usize,
    secret: SecretKind,
    spec: BootstrapSpec,
    security: Security,
    /// Levels of EvalMod.
    reduction: usize,
    /// Noise variance of a bootstrapped vector, in coefficients of the phase.
    variance: f64,
    /// Approximation error of EvalMod.
    bias: f64,
}

impl Candidate {
    /// Predicts a bootstrap at the reference scale; `None` if the ring has no bootstrap or no
    /// secure one.
    pub(crate) fn new(
        requirements: &ProgramBounds,
        degree: usize,
        secret: SecretKind,
    ) -> Option<Self> {
        // Step 1: the security tables must cover both secrets.
        let ProgramBounds { security, slots, .. } = *requirements;
        bound(security, degree, secret)?;
        let spec =
            BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(slots.next_power_of_two()) };
        let sparse = SecretKind::Sparse(spec.weight);
        security::max_log2_modulus(degree, sparse, Model::Bits128)?;

        // Step 2: even the smallest chain must fit. This check is cheaper than the prediction.
        let reduction = spec.reduction().ok()?.depth();
        let (variance, bias) = (0.0, 0.0);
        let mut candidate = Self { degree, secret, spec, security, reduction, variance, bias };
        candidate.chain(*LOG_SCALES.start(), requirements.depth)?;

        // Step 3: noise and approximation error at the reference scale.
        let prepared = || -> Result<Bootstrapper> {
            let spec = candidate.spec_at(REFERENCE);
            let chain = spec.chain_around(reduction, degree, (REFERENCE, 1), (SPECIAL.0, 4));
            Bootstrapper::new(&candidate.params(&chain, REFERENCE, Security::Insecure)?, spec)
        };
        let bootstrapper = prepared().ok()?;
        candidate.variance = bootstrapped(&bootstrapper).ok()?.meta.noise.total;
        candidate.bias = bootstrapper.approximation_error();
        Some(candidate)
    }

    /// The secret kinds that a set may have, the one with the smaller noise first.
    pub(crate) fn secrets() -> [SecretKind; 2] {
        [SecretKind::Sparse(WEIGHT), SecretKind::Ternary]
    }

    fn spec_at(&self, log_scale: u32) -> BootstrapSpec {
        BootstrapSpec { log_reduction: log_scale + REDUCTION, ..self.spec.clone() }
    }

    /// The chain with the fastest products among all chains within the security bound.
    fn chain(&self, log_scale: u32, depth: usize) -> Option<ModulusChain> {
        let bound = bound(self.security, self.degree, self.secret)?;
        // At least one level for the program, or bootstrapping would be pointless.
        let levels = Some(depth.max(1)).filter(|&levels| levels <= MOST_LEVELS)?;
        let user = (log_scale, levels);
        let chain =
            self.spec_at(log_scale).chain_around(self.reduction, self.degree, user, SPECIAL);
        (1..=SPECIAL.1)
            .map(|count| ModulusChain { special: (SPECIAL.0, count), ..chain.clone() })
            .filter(|chain| log2_size(chain) <= bound)
            .min_by(|x, y| Work::of_product(x).seconds().total_cmp(&Work::of_product(y).seconds()))
    }

    fn params(&self, chain: &ModulusChain, log_scale: u32, security: Security) -> Result<Params> {
        let mut spec = ParamsSpec::from_chain(chain, log_scale, Security::Insecure)?;
        spec.lattice.secret = self.secret;
        spec.lattice.security = security;
        Params::new(spec)
    }

    /// Predicted bits in the worst slot after a bootstrap and `depth` squarings at this scale.
    fn bits(&self, log_scale: u32, depth: usize) -> f64 {
        let rounding = (self.secret.expected_norm2(self.degree) + 1.0) / 12.0;
        let variance = (0..depth).fold(self.variance, |v, _| 4.0 * v + rounding);
        let slots = self.spec.slots;
        let std = noise::slot_std(variance, slots, f64::from(log_scale).exp2(), true);
        let bias = self.bias * (depth as f64).exp2();
        -(noise::worst_factor(slots, LOG2_FAILURE) * std + bias).log2()
    }

    /// The least scale that should be enough.
    fn log_scale(&self, bits: f64, depth: usize) -> Option<u32> {
        let mut scales = LOG_SCALES;
        scales.find(|&s| self.bits(s, depth) >= bits && self.chain(s, depth).is_some())
    }

    /// The set, predicted exactly.
    pub(crate) fn choose(&self, requirements: &ProgramBounds) -> Option<Found> {
        let ProgramBounds { depth, bits: wanted, security, .. } = *requirements;
        // Step 1: the least scale by the prediction at the reference scale.
        let least = self.log_scale(wanted, depth)?;
        (least..=least + RETRIES).find_map(|log_scale| {
            // Step 2: the actual primes and the actual bootstrap.
            let chain = self.chain(log_scale, depth)?;
            let params = self.params(&chain, log_scale, security).ok()?;
            let bootstrapper = Bootstrapper::new(&params, self.spec_at(log_scale)).ok()?;
            let fresh = bootstrapped(&bootstrapper).ok()?;
            let bias = bootstrapper.approximation_error();
            let bits = |x: &Metadata, bias: f64| {
                -(x.estimate(&params, LOG2_FAILURE).log2_worst.exp2() + bias).log2()
            };

            // Step 3: precision after `depth` squarings. The result must be bootstrappable again,
            // which scales that drift too far prevent.
            let after = squared(&params, fresh, depth).ok()?;
            bootstrapper.bootstrapped(&after).ok()?;
            let last = bits(&after, bias * (depth as f64).exp2());
            let bootstrap = SelectedBootstrap {
                bits: bits(&fresh, bias),
                bootstrapper: Arc::new(bootstrapper),
            };
            (last >= wanted).then_some(Found { params, chain, log_scale, bits: last, bootstrap })
        })
    }
}

/// The metadata after a bootstrap of a public-key encryption of numbers of `[-1, 1]` that fill the
/// slots.
fn bootstrapped(bootstrapper: &Bootstrapper) -> Result<Metadata> {
    let (op, params, slots) =
        ("predict a bootstrap", bootstrapper.params(), bootstrapper.spec().slots);
    let ends = [-1.0, 1.0];
    let (values, level) = (&ends[..slots.min(2)], bootstrapper.input_level());
    let rules = params.rules();
    let mut metadata = rules
        .encoded((values, Interval::real(-1.0, 1.0)?), slots, params.scale(), level)
        .during(op)?;
    metadata.meta.noise += mlwe::noise::fresh_public(params.lattice());
    bootstrapper.bootstrapped(&metadata)
}
