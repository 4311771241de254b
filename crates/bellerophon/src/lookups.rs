//! What a parameter set has for look-ups, beside its slots.

use std::{ops::RangeInclusive, sync::OnceLock};

use bellerophon_ckks::{
    self as ckks, Arithmetic, Interval,
    dft::{S2cOptions, SlotsToCoeffs},
    linear::Giants,
    mod1::{Mod1, Mod1Spec},
    shadow::Shadow,
};
use bellerophon_lwe as lwe;
use bellerophon_repack::{Reduction, RingBridge, RingBridgeSpec};
use bellerophon_ring::wire::Fingerprint;

use crate::{Accuracy, Bridge, Error, MapEngine, Params, Result, engine::Engines, map::Map};

/// Levels that the homomorphic decoding takes.
const LOWERING_LEVELS: usize = 2;

/// `log2` of the scale at which it leaves the values: far enough below the table's that an
/// integer factor makes up the difference for any domain, far enough above the noise.
pub(crate) const LOG_LOWERED_SCALE: i32 = 28;

/// The same for values that are flooded on the way: their noise hardly grows with the scale, and what
/// hides it is small beside the values.
const LOG_FLOODED_SCALE: i32 = 36;

pub(crate) fn log_lowered_scale(flooded: bool) -> i32 {
    if flooded { LOG_FLOODED_SCALE } else { LOG_LOWERED_SCALE }
}

/// The homomorphic decoding of full vectors, which serves shorter ones too, since these repeat.
pub(crate) fn lowering(slots: &ckks::Params, encode_ahead: bool) -> Result<SlotsToCoeffs> {
    lowering_to(slots, encode_ahead, LOG_LOWERED_SCALE)
}

fn lowering_to(slots: &ckks::Params, encode_ahead: bool, log_scale: i32) -> Result<SlotsToCoeffs> {
    let options = S2cOptions {
        levels: LOWERING_LEVELS,
        output_level: 0,
        scale: 2f64.powi(log_scale),
        encode_ahead,
        giants: Giants::Direct,
    };
    Ok(SlotsToCoeffs::new(slots, slots.max_slots(), options)?)
}

/// A weight that the LWE secret exceeds with probability below `2^-60`.
pub(crate) fn largest_weight(lookup: &lwe::Params) -> usize {
    lwe::noise::largest_norm2(lookup.spec().secret, lookup.dimension()) as usize
}

/// The largest sum of squares of an LWE secret: the search for a reduction takes time with its root, and
/// whoever reads a set may have it from somebody else.
const MOST_WEIGHT: usize = 1 << 16;

/// The level of results whose way back leaves them at most at `way`, at most `highest`; or what is wrong
/// with the chain.
fn room(way: Option<usize>, highest: usize) -> std::result::Result<usize, String> {
    match way.map(|way| way.min(highest)) {
        Some(level) if level >= LOWERING_LEVELS => Ok(level),
        Some(level) => Err(format!("leaves results at level {level}")),
        None => Err("has no such levels".into()),
    }
}

/// The part of a parameter set that look-ups take: from [`Params::lookups`].
pub struct Lookups {
    lattice: lwe::Params,
    engines: Engines,
    log2_failure: f64,
    level_after: usize,
    highest: usize,
    /// Whether the LWE secret fits the slots.
    linear: bool,
    to_coefficients: SlotsToCoeffs,
    /// Made when it is first asked for.
    flooded: OnceLock<SlotsToCoeffs>,
    reduction: Mod1,
    ring: Option<RingBridge>,
}

impl Lookups {
    /// Checks that slots and look-ups fit together. `highest` is the highest level for programs, above
    /// which no result may stand.
    pub(crate) fn new(
        slots: &ckks::Params,
        spec: lwe::ParamsSpec,
        log2_failure: f64,
        ring_bridge: Option<usize>,
        highest: usize,
    ) -> Result<Self> {
        let refuse = |reason: String| Err(Error::Bridge { reason });
        let lattice = lwe::Params::new(spec)?;
        let engines = Engines::new(&lattice)?;
        let first = slots.lattice().q().modulus(0);
        if first != lattice.ring_modulus() {
            return refuse(format!(
                "the tables stand modulo {}, the lowest level of the slots modulo {}: need one \
                 prime for both",
                lattice.ring_modulus().value(),
                first.value()
            ));
        }
        let rank = slots.lattice().rank();
        if rank != 1 {
            return refuse(format!(
                "slots over a module of rank {rank}: the way down needs rank 1"
            ));
        }
        if !(-500.0..0.0).contains(&log2_failure) {
            return refuse(format!(
                "failure probability 2^{log2_failure}: need an exponent from -500 to below 0"
            ));
        }
        let weight = largest_weight(&lattice);
        if weight > MOST_WEIGHT {
            return refuse(format!(
                "an LWE secret whose coefficients have a sum of squares of up to {weight}: need at most \
                 {MOST_WEIGHT}; take a smaller dimension or bound"
            ));
        }
        let reduction = Mod1::new(&Mod1Spec {
            weight,
            // Half of it; the other half is the guard band of the tables.
            log2_failure: log2_failure - 1.0,
            log2_error: -22.0,
            arcsine: None,
            spare: 0,
        })?;
        let linear = lattice.dimension() <= slots.max_slots();
        if !linear && ring_bridge.is_none() {
            return refuse(format!(
                "an LWE secret of {} coordinates: the linear bridge takes one in the {} slots; take a \
                 smaller dimension, a larger ring, or a ring bridge",
                lattice.dimension(),
                slots.max_slots()
            ));
        }
        let (top, mut level_after) = (slots.max_level(), highest);
        if linear {
            // The repacking takes a level above the reduction.
            let start = top.checked_sub(1).and_then(|most| reduction.highest_level(slots, most));
            let way = start.map(|start| start - reduction.depth());
            level_after = room(way, highest).map_err(|found| {
                let depth = reduction.depth();
                let reason = format!(
                    "a look-up takes {LOWERING_LEVELS} levels for the extraction; the return over the \
                     linear bridge it takes 1 and then {depth} levels of about one size, and the chain \
                     of {top} levels {found}: add primes, or take primes of one size"
                );
                Error::Bridge { reason }
            })?;
        }
        let ring = match ring_bridge {
            None => None,
            Some(weight) => {
                let (degree, secret) = (lattice.ring_degree(), lattice.spec().ring_secret);
                // The same half of the failures.
                let log2_failure = log2_failure - 1.0;
                let spec = RingBridgeSpec { degree, secret, weight, log2_failure };
                let ring = RingBridge::new(slots, spec)?;
                let depth = ring.reduction(Reduction::Sine).depth();
                let way = ring.highest_level(Reduction::Sine);
                let after = room(way, highest).map_err(|found| {
                    let reason = format!(
                        "the next extraction takes {LOWERING_LEVELS} levels; the return over the ring \
                         bridge takes 2 and then {depth} levels of about one size, and the chain of \
                         {top} levels {found}: add primes, take primes of one size, or do without the \
                         ring bridge"
                    );
                    Error::Bridge { reason }
                })?;
                level_after = level_after.min(after);
                Some(ring)
            }
        };
        let to_coefficients = lowering(slots, false)?;
        Ok(Self {
            lattice,
            engines,
            log2_failure,
            level_after,
            highest,
            linear,
            to_coefficients,
            flooded: OnceLock::new(),
            reduction,
            ring,
        })
    }

    /// The parameters of LWE values and tables, with the engine that the set was specified with.
    pub fn lattice(&self) -> &lwe::Params {
        &self.lattice
    }

    /// The parameters of plain tables on an engine: those of [`lattice`](Self::lattice) but for what
    /// rotates. None where the set does not have the engine.
    pub fn on(&self, engine: MapEngine) -> Option<&lwe::Params> {
        self.engines.plain(engine)
    }

    /// The parameters of tables for [`Evaluator::map_to`](crate::Evaluator::map_to) on an engine: for
    /// RGSW with a special modulus in place of digits, whose low noise leaves room for several tables
    /// from one rotation. None where the set does not have the engine, or the ring is too small for
    /// the special modulus to be secure.
    pub fn corrected_on(&self, engine: MapEngine) -> Option<&lwe::Params> {
        self.engines.corrected(engine)
    }

    /// The parameters of tables, on one of the engines, that have this fingerprint.
    pub(crate) fn with_fingerprint(&self, fingerprint: Fingerprint) -> Option<&lwe::Params> {
        self.engines.all().find(|lattice| lattice.fingerprint() == fingerprint)
    }

    /// Whether tables of these parameters, with their engine, serve
    /// [`Evaluator::map_to`](crate::Evaluator::map_to).
    pub(crate) fn corrects(&self, lattice: &lwe::Params) -> bool {
        let corrected = self.corrected_on(MapEngine::of(lattice));
        corrected.is_some_and(|corrected| corrected.spec() == lattice.spec())
    }

    /// The smallest estimate in bits over the keys of all engines.
    pub(crate) fn security_bits(&self) -> f64 {
        self.engines.security_bits()
    }

    /// `log2` of the probability that one value of one look-up comes back as garbage.
    pub fn log2_failure(&self) -> f64 {
        self.log2_failure
    }

    /// Its half that is left to the guard bands of tables; the other half is for the reductions.
    pub(crate) fn log2_table_failure(&self) -> f64 {
        self.log2_failure - 1.0
    }

    /// The bridge over the small ring, if the parameters have one.
    pub fn ring(&self) -> Option<&RingBridge> {
        self.ring.as_ref()
    }

    /// The level at which the result of a look-up comes out, whichever bridge it takes: at most
    /// [`Params::levels`]. [`levels`](Self::levels) of it are needed for the next look-up, the rest is free
    /// for arithmetic in between.
    pub fn level_after(&self) -> usize {
        self.level_after
    }

    /// Whether there is a linear bridge: the LWE secret fits the slots.
    pub(crate) fn linear(&self) -> bool {
        self.linear
    }

    /// The highest level at which values come up over the ring bridge after a reduction, at most the
    /// highest for programs; none without the bridge.
    pub(crate) fn highest_level(&self, reduction: Reduction) -> Option<usize> {
        let highest = self.ring.as_ref()?.highest_level(reduction)?;
        Some(highest.min(self.highest))
    }

    /// Levels that a ciphertext must have left when it enters a look-up.
    pub fn levels(&self) -> usize {
        LOWERING_LEVELS
    }

    /// The plan of the reduction modulo 1 on the way back (step 10 of PEGASUS, Fig. 6).
    pub fn reduction(&self) -> &Mod1 {
        &self.reduction
    }

    /// Variance of the noise of lowered values, in units of the phase modulo `q0`, for a fresh vector
    /// of values up to `bound` in magnitude; without the flooding of those that are flooded.
    pub(crate) fn lowered_variance(
        &self,
        params: &Params,
        bound: f64,
        flooded: bool,
    ) -> Result<f64> {
        let slots = params.arithmetic();
        let shadow = Shadow::new(slots);
        let range = Interval::real(-bound, bound)?;
        let fresh = shadow.encrypt(&[bound, -bound], range, LOWERING_LEVELS)?;
        let full = shadow.repeated(fresh, slots.max_slots())?;
        let lowering = match flooded {
            true => self.flooded_to_coefficients(slots)?,
            false => &self.to_coefficients,
        };
        Ok(lowering.lowered(full.account())?.meta.noise.total)
    }

    /// The homomorphic decoding of values that are flooded, its matrices not encoded.
    pub(crate) fn flooded_to_coefficients(&self, slots: &ckks::Params) -> Result<&SlotsToCoeffs> {
        if let Some(made) = self.flooded.get() {
            return Ok(made);
        }
        let made = lowering_to(slots, false, LOG_FLOODED_SCALE)?;
        Ok(self.flooded.get_or_init(|| made))
    }

    /// The plan of the homomorphic decoding on the way down, its matrices not yet encoded.
    pub(crate) fn to_coefficients(&self) -> &SlotsToCoeffs {
        &self.to_coefficients
    }
}

impl PartialEq for Lookups {
    fn eq(&self, other: &Self) -> bool {
        let weight = |lookups: &Self| lookups.ring.as_ref().map(|ring| ring.spec().weight);
        self.lattice.spec() == other.lattice.spec()
            && self.log2_failure == other.log2_failure
            && weight(self) == weight(other)
    }
}

impl Params {
    /// The predicted law of the error of [`Evaluator::map`](crate::Evaluator::map), for values
    /// uniform in the domain, over the bridge and on the engine that
    /// [`Needs::map`](crate::Needs::map) asks for.
    ///
    /// # Errors
    /// [`Error::Domain`] and [`Error::DomainScale`] for domains that no look-up takes,
    /// [`Error::NoLookUps`] for parameters without them, or an error that names the argument at which
    /// `f` is not finite.
    pub fn map_accuracy(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<Accuracy> {
        self.map_accuracy_over(Bridge::Auto, MapEngine::Auto, domain, f)
    }

    /// As [`map_accuracy`](Self::map_accuracy) over a given bridge and on a given engine.
    ///
    /// # Errors
    /// As [`map_accuracy`](Self::map_accuracy), [`Error::NoRingBridge`] and [`Error::NoEngine`].
    pub fn map_accuracy_over(
        &self,
        bridge: Bridge,
        engine: MapEngine,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<Accuracy> {
        let op = "map_accuracy";
        let lookups = self.lookups_for(op)?;
        let lattice = self.tables_on(op, engine)?;
        Map::new(self, lookups, lattice, lookups.way(op, bridge)?, &domain)?.accuracy(&domain, f)
    }

    /// The parameters of plain tables on an engine.
    pub(crate) fn tables_on(&self, op: &'static str, engine: MapEngine) -> Result<&lwe::Params> {
        let params = || self.name().into();
        let lattice = self.lookups_for(op)?.on(engine);
        lattice.ok_or_else(|| Error::NoEngine { op, engine: engine.name(), params: params() })
    }
}
