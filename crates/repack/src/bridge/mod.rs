//! The ring bridge: from the slots to LWE values under a small ring, and back, without a key switch
//! per value and without a product per coordinate.
//!
//! ```text
//! down:  S2C -> coefficients modulo q0 -> module of rank N/n' over the small ring -> rank 1
//!        -> one LWE value per coefficient
//! up:    row packing -> sparse secret -> Y = X^(N/n') in the large ring -> modulus raised
//!        -> C2S -> F_mod -> slots
//! ```
//!
//! Which secret stands where, `q0` the prime that all share:
//!
//! | secret | ring | largest modulus of a key under it |
//! | --- | --- | --- |
//! | that of the slots, `s` | `N` | `Q P`, the chain |
//! | that of the tables, `z` | `n'` | `q0` and a special prime of 50 bits |
//! | sparse, `z'`, drawn with the keys and forgotten | `n'` | `q0` and a special prime of 47 bits |
//!
//! Read over the integers, a phase modulo `q0` under a secret of weight `h` is off by multiples of
//! `q0` of standard deviation `sqrt((h + 1) / 12)`: 15 under a dense `z` of degree 4096, 3.3 under
//! `z'` of weight 128. Therefore the modulus is raised under `z'`. The switch to it happens in the
//! small ring: one in the large ring would leave the subring of `Y`, and projecting back onto it
//! takes rotations at the highest level. `z'(X^(N/n'))` has the security of the small ring, and
//! stands under no larger modulus than there: where the modulus is raised, it is the message of a
//! key under `s` ([`RaiseKey`]).

mod down;
mod keys;
mod up;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bellerophon_ckks::{
    self as ckks, KeySpec,
    dft::{C2sOptions, CoeffsToSlots},
    mod1::{Arcsine, Mod1, Mod1Spec},
};
use bellerophon_mlwe::{self as mlwe, ModuleMap, SecretKind};
use bellerophon_ring::prime;

pub use keys::RingBridgeKeys;
pub use up::Reduction;

use crate::{Error, Result};

/// Bits of the special prime beside `z`: key switches then add little to their rounding, and the
/// kernels are fastest up to here.
const DENSE_BITS: u32 = 50;

/// Bits of the special prime beside `z'`.
const SPARSE_BITS: u32 = 47;

/// Matrices of C2S, a level each.
const C2S_LEVELS: usize = 2;

/// Stages of C2S in its second matrix: with `2^5` its 63 diagonals take 8 baby and 8 giant steps.
const SHORT_STAGES: u32 = 5;

/// Baby steps of a matrix of C2S: a key each at the highest level.
const BABY_STEPS: usize = 8;

/// Transforms to slots that are kept: those of one slot count to two levels, with either reduction.
const KEPT: usize = 4;

/// Half the part of the turn that values may fill where the sine is undone after it.
const REACH: f64 = 0.127;

/// What a ring bridge is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct RingBridgeSpec {
    /// Degree `n'` of the small ring, that of the tables.
    pub degree: usize,
    /// The distribution of its secret `z`.
    pub secret: SecretKind,
    /// Nonzero coefficients of the sparse secret `z'`.
    pub weight: usize,
    /// `log2` of the probability that a value comes back as garbage.
    pub log2_failure: f64,
}

/// The ring bridge of one parameter set, prepared, without keys.
#[derive(Debug)]
pub struct RingBridge {
    spec: RingBridgeSpec,
    params: ckks::Params,
    /// The small ring under `z`.
    dense: mlwe::Params,
    /// The small ring under `z'`.
    sparse: mlwe::Params,
    /// The large ring under `z'(X^(N/n'))`.
    low: mlwe::Params,
    /// The large ring as a module over the small one.
    module: ModuleMap,
    /// The small ring in the large one.
    subring: ModuleMap,
    sine: Mod1,
    identity: Mod1,
    /// C2S by slot count, level of its operand and the reduction after it: the last few that were used,
    /// the latest first.
    to_slots: Mutex<VecDeque<(ToSlots, Arc<CoeffsToSlots>)>>,
}

/// Slot count, level of the operand, and the reduction after it.
type ToSlots = (usize, usize, Reduction);

impl RingBridge {
    /// Prepares the rings and plans the reductions.
    ///
    /// # Errors
    /// [`Error::Shape`] for a degree that does not divide that of the slots or a chain that is too
    /// short, security errors for either secret of the small ring, [`Error::Ckks`] when no reduction
    /// meets the specification.
    pub fn new(params: &ckks::Params, spec: RingBridgeSpec) -> Result<Self> {
        let op = "prepare a ring bridge";
        let lattice = params.lattice();
        if lattice.rank() != 1 {
            let needed = "1: pad or reduce the module".into();
            return Err(Error::Shape { op, what: "module rank", found: lattice.rank(), needed });
        }
        let degree = spec.degree;
        if !degree.is_power_of_two() || degree < 64 || degree > params.degree() {
            let needed = format!("a power of two from 64 to {}", params.degree());
            return Err(Error::Shape {
                op,
                what: "degree of the small ring",
                found: degree,
                needed,
            });
        }
        let factor = params.degree() / degree;
        let q0 = *params.modulus(0);
        let ring = |degree, secret, bits| -> Result<mlwe::Params> {
            let p = prime::ntt_primes_below(params.degree(), bits, 1, &[q0])?[0];
            Ok(mlwe::Params::new(mlwe::ParamsSpec {
                degree,
                rank: 1,
                q: vec![q0.value()],
                p: vec![p.value()],
                secret,
                ..lattice.spec().clone()
            })?)
        };
        let sparse_secret = SecretKind::Sparse(spec.weight);
        let dense = ring(degree, spec.secret, DENSE_BITS)?;
        let sparse = ring(degree, sparse_secret, SPARSE_BITS)?;
        let low = ring(params.degree(), sparse_secret, SPARSE_BITS)?;
        let module = ModuleMap::new(lattice, &lattice.module_view(factor)?, 1)?;
        let subring = ModuleMap::new(&low, &sparse, 1)?;
        let reduction = |arcsine| {
            Mod1::new(&Mod1Spec {
                weight: spec.weight,
                log2_failure: spec.log2_failure,
                log2_error: -24.0,
                arcsine,
                spare: 0,
            })
        };
        let sine = reduction(None)?;
        let identity = reduction(Some(Arcsine { degree: 7, message: REACH }))?;
        let (found, needed) = (params.max_level(), C2S_LEVELS + sine.depth());
        if found < needed {
            let needed = format!("at least {needed}, for C2S and the reduction");
            return Err(Error::Shape { op, what: "highest level", found, needed });
        }
        if sine.highest_level(params, found - C2S_LEVELS).is_none() {
            let depth = sine.depth();
            let needed =
                format!("{depth} levels of about one size in a row below it, for the reduction");
            return Err(Error::Shape { op, what: "highest level", found, needed });
        }
        let (params, to_slots) = (params.clone(), Mutex::default());
        Ok(Self { spec, params, dense, sparse, low, module, subring, sine, identity, to_slots })
    }

    /// What it was made of.
    pub fn spec(&self) -> &RingBridgeSpec {
        &self.spec
    }

    /// The small ring under `z`: the parameters of the packing.
    pub fn ring(&self) -> &mlwe::Params {
        &self.dense
    }

    /// The small ring under `z'`.
    pub(crate) fn sparse_ring(&self) -> &mlwe::Params {
        &self.sparse
    }

    /// `z'` as a secret of the large ring, whose messages are those of the small one.
    pub(crate) fn lifted(&self, sparse: &mlwe::SecretKey) -> Result<mlwe::SecretKey> {
        Ok(self.subring.subring_secret(sparse)?)
    }

    /// The parameters of the slots.
    pub(crate) fn slots(&self) -> &ckks::Params {
        &self.params
    }

    /// The smaller estimate of security, in bits, of the keys under `z` and of those under `z'`.
    pub fn security_bits(&self) -> f64 {
        self.dense.security_bits().min(self.sparse.security_bits())
    }

    /// The plan of a reduction on the way up.
    pub fn reduction(&self, reduction: Reduction) -> &Mod1 {
        match reduction {
            Reduction::Sine => &self.sine,
            Reduction::Identity => &self.identity,
        }
    }

    /// The highest level at which vectors come up; none if the chain is too short, or its levels divide
    /// by amounts that are too different for the reduction.
    pub fn highest_level(&self, reduction: Reduction) -> Option<usize> {
        Some(self.highest_start(reduction)? - self.reduction(reduction).depth())
    }

    /// The highest level at which the reduction starts: C2S ends there.
    fn highest_start(&self, reduction: Reduction) -> Option<usize> {
        let most = self.params.max_level().checked_sub(C2S_LEVELS)?;
        self.reduction(reduction).highest_level(&self.params, most)
    }

    /// The level at which the reduction starts for results at a level: the lowest that will do.
    fn start(&self, op: &'static str, reduction: Reduction, level: usize) -> Result<usize> {
        let mod1 = self.reduction(reduction);
        let highest = self.highest_start(reduction);
        let start = mod1.lowest_level(&self.params, level + mod1.depth());
        let fits = start.filter(|start| highest.is_some_and(|highest| *start <= highest));
        let highest = self.highest_level(reduction);
        fits.ok_or(Error::Level { op, wanted: level, highest })
    }

    /// Largest part of a turn by which a phase may differ from that of the middle for
    /// [`Reduction::Identity`].
    pub fn reach(&self) -> f64 {
        REACH
    }

    /// The keys for arithmetic that it takes beside [`RingBridgeKeys`], each at the level at which
    /// it is used, for vectors of any number of slots; those of the homomorphic decoding before it
    /// are the caller's.
    pub fn keys(&self) -> KeySpec {
        let starts = [Reduction::Sine, Reduction::Identity].map(|r| self.highest_start(r));
        let start = starts.into_iter().flatten().max().expect("the sine was found to fit");
        let (top, most) = (start + C2S_LEVELS, self.params.max_slots() as i64);
        let steps = |unit: i64| {
            let steps = (1..=BABY_STEPS as i64).map(move |step| step * unit);
            steps.filter(move |&step| step < most)
        };
        KeySpec::new()
            .rotate(steps(1 << SHORT_STAGES), top)
            .rotate(steps(1), top - 1)
            .conjugate(start)
            .and(&self.sine.keys(start))
    }

    /// C2S of so many slots from a level, made unless it is one of the last that were used.
    fn to_slots(
        &self,
        slots: usize,
        level: usize,
        reduction: Reduction,
    ) -> Result<Arc<CoeffsToSlots>> {
        let mut kept = self.to_slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let wanted = (slots, level, reduction);
        let place = kept.iter().position(|(of, _)| *of == wanted);
        let c2s = match place.and_then(|place| kept.remove(place)) {
            Some((_, c2s)) => c2s,
            None => self.make_to_slots(wanted)?.into(),
        };
        kept.push_front((wanted, c2s.clone()));
        kept.truncate(KEPT);
        Ok(c2s)
    }

    fn make_to_slots(&self, (slots, level, reduction): ToSlots) -> Result<CoeffsToSlots> {
        let width = self.params.divisor(0) * self.reduction(reduction).width();
        let options = C2sOptions {
            levels: C2S_LEVELS,
            input_level: level,
            // The sum with the conjugate doubles.
            factor: self.params.divisor(level - C2S_LEVELS) / 2.0 / width,
            babies: BABY_STEPS,
            encode_ahead: false,
        };
        Ok(CoeffsToSlots::in_two(&self.params, slots, SHORT_STAGES, options)?)
    }
}

impl PartialEq for RingBridge {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec && self.params == other.params
    }
}

#[cfg(test)]
mod tests;
