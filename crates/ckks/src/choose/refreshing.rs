//! Sets that refresh: from a precision to the sizes of levels.
//!
//! A refresh whose levels are `k` bits larger errs by `2^-k` as much: its noise is made of roundings,
//! which the scale divides ([`Bootstrapper::refreshed`] adds them up), down to the error of the
//! approximation, which no scale changes ([`Bootstrapper::approximation_error`]). So one refresh worked
//! out in a ring, without keys, tells what all scales give there, and the set that is chosen is worked
//! out again to the letter.

use std::sync::Arc;

use bellerophon_mlwe::{
    self as mlwe, SecretKind, Security,
    security::{self, Model},
};

use super::{LOG2_FAILURE, MOST_LEVELS, Requirements, Work, bound, log2_size, squared};
use crate::bootstrap::{BootstrapSpec, Bootstrapper};
use crate::{Account, Chain, Interval, Params, ParamsSpec, Result, noise};

/// The scale at which a ring is worked out.
const REFERENCE: u32 = 42;

/// Bits of a level of the reduction above the scale: the gap, and a turn of the circle.
const REDUCTION: u32 = 7;

/// Scales that are tried. Those below leave too few primes in large rings.
const LOG_SCALES: std::ops::RangeInclusive<u32> = 28..=50;

/// Scales tried above the one that should do: drifting scales may cost a bit.
const RETRIES: u32 = 3;

/// Bits of the special primes, and how many there are at most.
const SPECIAL: (u32, usize) = (50, 16);

/// Weight of the sparse secret where the tables know one: their largest.
const WEIGHT: usize = 256;

/// What a chosen set has for refreshing.
#[derive(Debug, Clone)]
pub struct Refreshing {
    bootstrapper: Arc<Bootstrapper>,
    bits: f64,
}

impl Refreshing {
    /// Levels, keys, prediction; its matrices are not encoded.
    pub fn bootstrapper(&self) -> &Arc<Bootstrapper> {
        &self.bootstrapper
    }

    /// Bits after the binary point that are right in the worst slot of a refreshed vector of numbers of
    /// `[-1, 1]`, but for a chance of [`LOG2_FAILURE`].
    pub fn bits(&self) -> f64 {
        self.bits
    }
}

/// A set that meets the requirements.
pub(super) struct Found {
    pub params: Params,
    pub chain: Chain,
    pub log_scale: u32,
    pub bits: f64,
    pub refreshing: Refreshing,
}

/// A ring and a secret, with the error of a refresh there.
pub(super) struct Candidate {
    degree: usize,
    secret: SecretKind,
    spec: BootstrapSpec,
    security: Security,
    /// Levels of the reduction.
    reduction: usize,
    /// Variance of the noise of a refreshed vector, in units of the last place.
    variance: f64,
    /// Error of the approximation.
    bias: f64,
}

impl Candidate {
    /// Works a refresh out; nothing where a ring has none, or none that is secure.
    pub fn new(requirements: &Requirements, degree: usize, secret: SecretKind) -> Option<Self> {
        let Requirements { security, slots, .. } = *requirements;
        bound(security, degree, secret)?;
        let spec =
            BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(slots.next_power_of_two()) };
        let sparse = SecretKind::Sparse(spec.weight);
        security::max_log2_modulus(degree, sparse, Model::Bits128)?;
        let reduction = spec.reduction().ok()?.depth();
        let (variance, bias) = (0.0, 0.0);
        let mut candidate = Self { degree, secret, spec, security, reduction, variance, bias };
        // Whether it fits at all is cheaper to know.
        candidate.chain(*LOG_SCALES.start(), requirements.depth)?;
        let prepared = || -> Result<Bootstrapper> {
            let spec = candidate.spec_at(REFERENCE);
            let chain = spec.chain_around(reduction, degree, (REFERENCE, 1), (SPECIAL.0, 4));
            Bootstrapper::new(&candidate.params(&chain, REFERENCE, Security::Insecure)?, spec)
        };
        let bootstrapper = prepared().ok()?;
        candidate.variance = refreshed(&bootstrapper).ok()?.meta.noise.total;
        candidate.bias = bootstrapper.approximation_error();
        Some(candidate)
    }

    /// The secrets that a set may have, the one with the smaller noise first.
    pub fn secrets() -> [SecretKind; 2] {
        [SecretKind::Sparse(WEIGHT), SecretKind::Ternary]
    }

    fn spec_at(&self, log_scale: u32) -> BootstrapSpec {
        BootstrapSpec { log_reduction: log_scale + REDUCTION, ..self.spec.clone() }
    }

    /// Of all chains within the security bound, the one with the fastest products.
    fn chain(&self, log_scale: u32, depth: usize) -> Option<Chain> {
        let bound = bound(self.security, self.degree, self.secret)?;
        // Without levels for the user there is nothing to refresh for.
        let levels = Some(depth.max(1)).filter(|&levels| levels <= MOST_LEVELS)?;
        let user = (log_scale, levels);
        let chain =
            self.spec_at(log_scale).chain_around(self.reduction, self.degree, user, SPECIAL);
        (1..=SPECIAL.1)
            .map(|count| Chain { special: (SPECIAL.0, count), ..chain.clone() })
            .filter(|chain| log2_size(chain) <= bound)
            .min_by(|x, y| Work::of_product(x).seconds().total_cmp(&Work::of_product(y).seconds()))
    }

    fn params(&self, chain: &Chain, log_scale: u32, security: Security) -> Result<Params> {
        let mut spec = ParamsSpec::from_chain(chain, log_scale, Security::Insecure)?;
        spec.lattice.secret = self.secret;
        spec.lattice.security = security;
        Params::new(spec)
    }

    /// Bits left in the worst slot after a refresh and `depth` squarings, at this scale.
    fn bits(&self, log_scale: u32, depth: usize) -> f64 {
        let rounding = (self.secret.expected_norm2(self.degree) + 1.0) / 12.0;
        let variance = (0..depth).fold(self.variance, |v, _| 4.0 * v + rounding);
        let slots = self.spec.slots;
        let std = noise::slot_std(variance, slots, f64::from(log_scale).exp2(), true);
        let bias = self.bias * (depth as f64).exp2();
        -(noise::worst_factor(slots, LOG2_FAILURE) * std + bias).log2()
    }

    /// The least scale that should do.
    fn log_scale(&self, bits: f64, depth: usize) -> Option<u32> {
        let mut scales = LOG_SCALES;
        scales.find(|&s| self.bits(s, depth) >= bits && self.chain(s, depth).is_some())
    }

    /// The set, worked out to the letter.
    pub fn choose(&self, requirements: &Requirements) -> Option<Found> {
        let Requirements { depth, bits: wanted, security, .. } = *requirements;
        let least = self.log_scale(wanted, depth)?;
        (least..=least + RETRIES).find_map(|log_scale| {
            let chain = self.chain(log_scale, depth)?;
            let params = self.params(&chain, log_scale, security).ok()?;
            let bootstrapper = Bootstrapper::new(&params, self.spec_at(log_scale)).ok()?;
            let fresh = refreshed(&bootstrapper).ok()?;
            let bias = bootstrapper.approximation_error();
            let bits = |x: &Account, bias: f64| {
                -(x.estimate(&params, LOG2_FAILURE).log2_worst.exp2() + bias).log2()
            };
            let after = squared(&params, fresh, depth).ok()?;
            // Scales that drift far leave no room for the next refresh.
            bootstrapper.refreshed(&after).ok()?;
            let last = bits(&after, bias * (depth as f64).exp2());
            let refreshing =
                Refreshing { bits: bits(&fresh, bias), bootstrapper: Arc::new(bootstrapper) };
            (last >= wanted).then_some(Found { params, chain, log_scale, bits: last, refreshing })
        })
    }
}

/// What a refresh makes of a public-key encryption of numbers of `[-1, 1]` that fill the slots.
fn refreshed(bootstrapper: &Bootstrapper) -> Result<Account> {
    let (op, params, slots) =
        ("predict a refresh", bootstrapper.params(), bootstrapper.spec().slots);
    let ends = [-1.0, 1.0];
    let (values, level) = (&ends[..slots.min(2)], bootstrapper.input_level());
    let books = params.books();
    let mut account =
        books.encoded(op, (values, Interval::real(-1.0, 1.0)?), slots, params.scale(), level)?;
    account.meta.noise += mlwe::noise::fresh_public(params.lattice());
    bootstrapper.refreshed(&account)
}
