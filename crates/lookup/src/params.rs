//! The look-up part of a parameter set.

use bellerophon_ckks::vectors::Vectors;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::sync::OnceLock;

use bellerophon_circuits::{
    dft::{S2cSpec, SlotsToCoeffs},
    eval_mod::{Mod1, Mod1Spec},
    lintrans::Giants,
};
use bellerophon_ckks as ckks;
use bellerophon_ckks::{Interval, simulator::Simulator};
use bellerophon_lwe as lwe;
use bellerophon_ring::{Result, wire::Fingerprint};

use crate::{
    bridge_choice::{Bridge, cheapest},
    engine::{Engine, Engines},
    error,
    local_poly::MAX_ORDER,
    ring_bridge::{
        bridge::{RingBridge, RingBridgeSpec},
        reduction::Reduction,
    },
};

/// Levels of SlotsToCoeffs.
const S2C_LEVELS: usize = 2;

/// `log2` of the output scale of SlotsToCoeffs: far enough below the scale of the tables that an
/// integer factor bridges the difference for any domain, and far enough above the noise.
pub(crate) const LOG_S2C_SCALE: i32 = 28;

/// The same for flooded values. Their noise hardly grows with the scale, so at a larger scale the
/// flooding noise is smaller relative to the values.
const LOG_FLOODED_S2C_SCALE: i32 = 36;

/// `log2` of the output scale of SlotsToCoeffs, for flooded values or others.
pub(crate) fn log_s2c_scale(flooded: bool) -> i32 {
    if flooded { LOG_FLOODED_S2C_SCALE } else { LOG_S2C_SCALE }
}

/// SlotsToCoeffs of full vectors. It serves shorter vectors, too, because their slots repeat.
fn slots_to_coeffs(
    slots: &ckks::Params,
    encode_ahead: bool,
    log_scale: i32,
) -> Result<SlotsToCoeffs> {
    let options = S2cSpec {
        levels: S2C_LEVELS,
        output_level: 0,
        scale: 2f64.powi(log_scale),
        modular: false,
        encode_ahead,
        giants: Giants::Horner,
    };
    SlotsToCoeffs::new(slots, slots.max_slots(), options)
}

/// A squared norm that the LWE secret exceeds with probability below `2^-60`.
pub(crate) fn largest_weight(lookup: &lwe::Params) -> usize {
    lwe::noise::largest_norm2(lookup.spec().secret, lookup.spec().dimension) as usize
}

/// The largest squared norm of an LWE secret. The search for a reduction takes time proportional to
/// its root, and a parameter set may come from an untrusted sender.
const MOST_WEIGHT: usize = 1 << 16;

/// The level of results: `reached` by the return to the slots, at most `highest`. It must suffice
/// for the next look-up; otherwise the error says what the chain lacks.
fn result_level(reached: Option<usize>, highest: usize) -> std::result::Result<usize, String> {
    match reached.map(|reached| reached.min(highest)) {
        Some(level) if level >= S2C_LEVELS => Ok(level),
        Some(level) => Err(format!("leaves results at level {level}")),
        None => Err("has no such levels".into()),
    }
}

/// The level of results with the linear bridge, at most `highest`.
fn level_after_linear(slots: &ckks::Params, reduction: &Mod1, highest: usize) -> Result<usize> {
    // The linear transform takes a level above the reduction.
    let top = slots.max_level();
    let start = top.checked_sub(1).and_then(|most| reduction.highest_level(slots, most));
    let reached = start.map(|start| start - reduction.depth());
    result_level(reached, highest).map_err(|found| {
        let depth = reduction.depth();
        error::bridge(format!(
            "a look-up needs {S2C_LEVELS} levels for SlotsToCoeffs, and the return with the linear \
             bridge 1 level and then {depth} levels of about the same size, but the chain of {top} \
             levels {found}: add primes, or take primes of the same size"
        ))
    })
}

/// The level of results with the ring bridge, at most `highest`.
fn level_after_ring(slots: &ckks::Params, ring: &RingBridge, highest: usize) -> Result<usize> {
    result_level(ring.highest_level(Reduction::Sine), highest).map_err(|found| {
        let (top, depth) = (slots.max_level(), ring.reduction(Reduction::Sine).depth());
        error::bridge(format!(
            "a look-up needs {S2C_LEVELS} levels for SlotsToCoeffs, and the return with the ring \
             bridge 2 levels and then {depth} levels of about the same size, but the chain of \
             {top} levels {found}: add primes, take primes of the same size, or leave out the \
             ring bridge"
        ))
    })
}

/// Refuses slots and tables without a common modulus or a path between them.
fn check_shared(slots: &ckks::Params, lwe_params: &lwe::Params, log2_failure: f64) -> Result<()> {
    let refuse = |reason: String| Err(error::bridge(reason));
    let first = slots.lattice().q().modulus(0);
    if first != lwe_params.ring_modulus() {
        return refuse(format!(
            "the tables have the modulus {}, the lowest level of the slots {}: set \
             `lookup.ring_modulus` to the first prime of the chain",
            lwe_params.ring_modulus().value(),
            first.value()
        ));
    }
    let rank = slots.lattice().spec().rank;
    if rank != 1 {
        return refuse(format!(
            "slots over a module of rank {rank}: the path from slots to LWE needs rank 1"
        ));
    }
    if !(-500.0..0.0).contains(&log2_failure) {
        return refuse(format!(
            "failure probability 2^{log2_failure}: need an exponent from -500 to below 0"
        ));
    }
    Ok(())
}

/// The reduction modulo `q0` of the linear bridge.
fn linear_reduction(lwe_params: &lwe::Params, log2_failure: f64) -> Result<Mod1> {
    let weight = largest_weight(lwe_params);
    if weight > MOST_WEIGHT {
        return Err(error::bridge(format!(
            "an LWE secret with a squared norm of up to {weight}: need at most {MOST_WEIGHT}: take \
             a smaller dimension or a smaller bound on the coefficients"
        )));
    }
    Mod1::new(&Mod1Spec {
        weight,
        // Half of the failure probability; the other half is for the guard band of the tables.
        log2_failure: log2_failure - 1.0,
        log2_error: -22.0,
        arcsine: None,
        spare: 0,
        early_bits: [0; 2],
    })
}

/// The specification of the look-up part of a parameter set; [`LutParams::new`] checks it.
#[derive(Debug, Clone, PartialEq)]
pub struct LutSpec {
    /// The LWE secret, its key switches, the ring of the tables. The ring modulus must be the first
    /// prime of the modulus chain of the slots.
    pub tables: lwe::ParamsSpec,
    /// `log2` of the probability that the look-up of one value fails and returns garbage.
    pub log2_failure: f64,
    /// Hamming weight of the sparse secret of the ring bridge. Without it, look-ups take the linear
    /// bridge.
    pub ring_bridge: Option<usize>,
    /// The highest level for programs, and so the highest level of results.
    pub highest_level: usize,
}

/// The look-up part of a parameter set: the tables with their engines, and both bridges.
pub struct LutParams {
    spec: LutSpec,
    slots: ckks::Params,
    lwe_params: lwe::Params,
    engines: Engines,
    level_after: usize,
    /// Whether the LWE secret fits the slots, as the linear bridge requires.
    linear: bool,
    to_coefficients: SlotsToCoeffs,
    /// Computed on first use.
    flooded: OnceLock<SlotsToCoeffs>,
    reduction: Mod1,
    ring: Option<RingBridge>,
}

impl LutParams {
    /// Checks that slots and look-ups fit together.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] gives the reason and a remedy.
    pub fn new(slots: &ckks::Params, spec: LutSpec) -> Result<Self> {
        let LutSpec { log2_failure, ring_bridge, highest_level: highest, .. } = spec;
        // Step 1: the parameters of the tables and what they share with the slots.
        let lwe_params = lwe::Params::new(spec.tables.clone())?;
        let engines = Engines::new(&lwe_params)?;
        check_shared(slots, &lwe_params, log2_failure)?;

        // Step 2: the reduction modulo q0 of the linear bridge, by the norm of the LWE secret.
        let reduction = linear_reduction(&lwe_params, log2_failure)?;

        // Step 3: the level of results with the linear bridge.
        let linear = lwe_params.spec().dimension <= slots.max_slots();
        if !linear && ring_bridge.is_none() {
            return Err(error::bridge(format!(
                "an LWE secret of {} coordinates does not fit the {} slots, as the linear bridge \
                 requires: take a smaller dimension, a larger ring, or a ring bridge",
                lwe_params.spec().dimension,
                slots.max_slots()
            )));
        }
        let mut level_after = highest;
        if linear {
            level_after = level_after_linear(slots, &reduction, highest)?;
        }

        // Step 4: the ring bridge, and the level of results with it; the lower of the two counts.
        let mut ring = None;
        if let Some(weight) = ring_bridge {
            let (degree, secret) = (lwe_params.spec().ring_degree, lwe_params.spec().ring_secret);
            // The same half of the failure probability.
            let log2_failure = log2_failure - 1.0;
            let bridge = RingBridgeSpec { degree, secret, weight, log2_failure };
            let bridge = RingBridge::new(slots, bridge)?;
            level_after = level_after.min(level_after_ring(slots, &bridge, highest)?);
            ring = Some(bridge);
        }
        let to_coefficients = slots_to_coeffs(slots, false, LOG_S2C_SCALE)?;
        Ok(Self {
            spec,
            slots: slots.clone(),
            lwe_params,
            engines,
            level_after,
            linear,
            to_coefficients,
            flooded: OnceLock::new(),
            reduction,
            ring,
        })
    }

    /// The specification.
    pub fn spec(&self) -> &LutSpec {
        &self.spec
    }

    /// The parameters of the slots.
    pub(crate) fn slots(&self) -> &ckks::Params {
        &self.slots
    }

    /// The parameters of LWE values and tables, with the engine of the specification.
    pub fn lwe_params(&self) -> &lwe::Params {
        &self.lwe_params
    }

    /// The parameters of the tables of an engine: those of [`lwe_params`](Self::lwe_params) except
    /// for the blind rotation. [`Engine::Corrected`] takes RGSW with a special modulus in place of
    /// digits; its low noise allows several tables from one blind rotation.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for engines without tables, and if the ring is too small for the
    /// engine or for a secure special modulus.
    pub fn on(&self, engine: Engine) -> Result<&lwe::Params> {
        let plain = |engine: Engine| {
            self.engines.plain(engine).ok_or_else(|| error::no_engine(engine.name()))
        };
        match engine {
            Engine::Corrected => {
                // If RGSW itself is missing, that is the error.
                plain(Engine::Rgsw)?;
                self.engines.special().ok_or_else(error::no_correction)
            }
            engine => plain(engine),
        }
    }

    /// The parameters of corrected tables with the blind rotation of an engine. The plain tables of
    /// NTRU serve as they are, with one blind rotation for each.
    pub(crate) fn corrected(&self, rotation: Engine) -> Result<&lwe::Params> {
        match rotation {
            Engine::Ntru => self.on(Engine::Ntru),
            _ => self.on(Engine::Corrected),
        }
    }

    /// The parameters of tables with this fingerprint, on any of the engines.
    pub fn with_fingerprint(&self, fingerprint: Fingerprint) -> Option<&lwe::Params> {
        self.engines.all().find(|lwe_params| lwe_params.fingerprint() == fingerprint)
    }

    /// Whether tables of these parameters, with their engine, serve corrected look-ups.
    pub(crate) fn corrects(&self, lwe_params: &lwe::Params) -> bool {
        let corrected = self.corrected(Engine::of(lwe_params));
        corrected.is_ok_and(|corrected| corrected.spec() == lwe_params.spec())
    }

    /// The smallest estimate in bits over the keys of all engines and of the ring bridge.
    pub fn security_bits(&self) -> f64 {
        let ring = self.ring.iter().map(|ring| ring.security_bits());
        ring.fold(self.engines.security_bits(), f64::min)
    }

    /// `log2` of half the failure probability, the share of the guard bands of tables. The
    /// reductions have the other half.
    pub(crate) fn log2_table_failure(&self) -> f64 {
        self.spec.log2_failure - 1.0
    }

    /// The ring bridge, if the parameters have one.
    pub fn ring(&self) -> Option<&RingBridge> {
        self.ring.as_ref()
    }

    /// The level of the result of a look-up with either bridge, at most the highest level for
    /// programs. The next look-up needs [`levels`](Self::levels) of its levels; the rest is free
    /// for arithmetic in between.
    pub fn level_after(&self) -> usize {
        self.level_after
    }

    /// The highest level of values that return with the ring bridge and a reduction, at most the
    /// highest level for programs; none without the bridge.
    pub(crate) fn highest_level(&self, reduction: Reduction) -> Option<usize> {
        let highest = self.ring.as_ref()?.highest_level(reduction)?;
        Some(highest.min(self.spec.highest_level))
    }

    /// Levels that the operand of a look-up must have.
    pub fn levels(&self) -> usize {
        S2C_LEVELS
    }

    /// The plan of the reduction modulo 1 after the linear transform (step 10 of PEGASUS, Fig. 6).
    pub fn reduction(&self) -> &Mod1 {
        &self.reduction
    }

    /// Variance of the noise after SlotsToCoeffs, in units of the phase modulo `q0`, for a fresh
    /// vector of values up to `bound` in magnitude. Flooding noise is not included.
    pub(crate) fn s2c_variance(&self, bound: f64, flooded: bool) -> Result<f64> {
        let slots = &self.slots;
        // The simulator tracks the noise of a fresh vector through SlotsToCoeffs.
        let simulator = Simulator::new(slots);
        let range = Interval::real(-bound, bound)?;
        let fresh = simulator.encrypt(&[bound, -bound], range, S2C_LEVELS)?;
        let full = simulator.repeated(fresh, slots.max_slots())?;
        let s2c = match flooded {
            true => self.flooded_to_coefficients()?,
            false => &self.to_coefficients,
        };
        Ok(s2c.lowered(full.metadata())?.meta.noise.total)
    }

    /// SlotsToCoeffs for flooded values, its matrices not encoded.
    pub(crate) fn flooded_to_coefficients(&self) -> Result<&SlotsToCoeffs> {
        // `OnceLock::get_or_try_init` is not stable; two threads may compute the same plan.
        if let Some(made) = self.flooded.get() {
            return Ok(made);
        }
        let made = slots_to_coeffs(&self.slots, false, LOG_FLOODED_S2C_SCALE)?;
        Ok(self.flooded.get_or_init(|| made))
    }

    /// The plan of SlotsToCoeffs, its matrices not encoded.
    pub(crate) fn to_coefficients(&self) -> &SlotsToCoeffs {
        &self.to_coefficients
    }

    /// SlotsToCoeffs with encoded matrices, for a server.
    pub fn encoded_to_coefficients(&self) -> Result<SlotsToCoeffs> {
        slots_to_coeffs(&self.slots, true, LOG_S2C_SCALE)
    }

    /// The bridge that is asked for, if these parameters have it; by default the one that is
    /// cheaper for as many values as the ring of the tables packs at once.
    pub fn bridge(&self, asked: Option<Bridge>) -> Result<Bridge> {
        match (asked, &self.ring) {
            (Some(Bridge::Linear), _) if !self.linear => {
                Err(error::no_linear_bridge(self.lwe_params.spec().dimension))
            }
            (Some(Bridge::Ring), None) => Err(error::no_ring_bridge()),
            (Some(asked), _) => Ok(asked),
            (None, ring) => {
                let count = self.lwe_params.spec().ring_degree / 2;
                Ok(cheapest(count, ring.is_some(), self.linear).unwrap_or(Bridge::Linear))
            }
        }
    }

    /// The lowest level at which a corrected look-up computes the distance to the cells from the
    /// operand itself: [`level_after`](Self::level_after), or the levels of SlotsToCoeffs plus the
    /// largest order if that is more. A lower operand is packed together with its tables.
    pub fn level_to_correct(&self) -> usize {
        self.level_after.max(S2C_LEVELS + MAX_ORDER)
    }
}

impl PartialEq for LutParams {
    fn eq(&self, other: &Self) -> bool {
        // Everything else follows from the specification and from the slots.
        self.spec == other.spec
    }
}
