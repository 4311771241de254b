//! The ring bridge of a parameter set: its rings, its reductions, its work.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bellerophon_circuits::{
    dft::{C2sSpec, CoeffsToSlots},
    eval_mod::{Arcsine, Mod1, Mod1Spec},
};
use bellerophon_ckks as ckks;
use bellerophon_ckks::{KeyLevels, cost::Work};
use bellerophon_mlwe::{self as mlwe, ModuleMap, SecretKind};
use bellerophon_ring::{Result, prime};

use super::reduction::Reduction;
use crate::error;

/// Bits of the special prime of keys under `z`. Key switches then add little to their rounding, and
/// the kernels are fastest up to this size.
const DENSE_BITS: u32 = 50;

/// Bits of the special prime of keys under `z'`. With `q0` of 45 bits they keep within the security
/// table for weight 128 at degree 4096, and key switches add an error of 2^-33 of `q0`.
const SPARSE_BITS: u32 = 39;

/// Matrices of CoeffsToSlots, one level each.
pub(super) const C2S_LEVELS: usize = 2;

/// Stages of CoeffsToSlots in its second matrix: 63 diagonals, in 8 baby and 8 giant steps.
const SHORT_STAGES: u32 = 5;

/// Baby steps of a matrix of CoeffsToSlots. Each needs a key at the highest level.
const BABY_STEPS: usize = 8;

/// Number of cached CoeffsToSlots transforms: one slot count at two levels, with either reduction.
pub(super) const KEPT: usize = 4;

/// Largest magnitude of a phase, as a fraction of `q0`, for [`Reduction::Identity`].
const REACH: f64 = 0.127;

/// The specification of a ring bridge.
#[derive(Debug, Clone, PartialEq)]
pub struct RingBridgeSpec {
    /// Degree `n'` of the small ring, that of the tables.
    pub degree: usize,
    /// The distribution of its secret `z`.
    pub secret: SecretKind,
    /// Nonzero coefficients of the sparse secret `z'`.
    pub weight: usize,
    /// `log2` of the probability that a value is wrong because its overflow exceeds the reduction.
    pub log2_failure: f64,
}

/// The ring bridge of one parameter set, prepared, without keys.
#[derive(Debug)]
pub struct RingBridge {
    pub(super) spec: RingBridgeSpec,
    pub(super) params: ckks::Params,
    /// The small ring under `z`.
    pub(super) dense: mlwe::Params,
    /// The small ring under `z'`.
    pub(super) sparse: mlwe::Params,
    /// The large ring under `z'(X^(N/n'))`.
    pub(super) low: mlwe::Params,
    /// The large ring as a module over the small one.
    pub(super) module: ModuleMap,
    /// The small ring in the large one.
    pub(super) subring: ModuleMap,
    sine: Mod1,
    identity: Mod1,
    /// The CoeffsToSlots transforms that were used last, the latest first.
    pub(super) to_slots: Mutex<VecDeque<(ToSlots, Arc<CoeffsToSlots>)>>,
}

/// What a cached CoeffsToSlots transform is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToSlots {
    slots: usize,
    /// That of the operand.
    level: usize,
    /// The reduction after the transform.
    reduction: Reduction,
}

impl RingBridge {
    /// Prepares the rings and plans the reductions.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a chain that is too short; security errors for either secret of the
    /// small ring.
    pub fn new(params: &ckks::Params, spec: RingBridgeSpec) -> Result<Self> {
        // Step 1: rank and degrees.
        let lattice = params.lattice();
        if lattice.spec().rank != 1 {
            let needed = "1: pad or reduce the module".into();
            return Err(error::shape("module rank", lattice.spec().rank, needed));
        }
        let degree = spec.degree;
        if !degree.is_power_of_two() || degree < 64 || degree > params.lattice().spec().degree {
            let needed = format!("a power of two from 64 to {}", params.lattice().spec().degree);
            return Err(error::shape("degree of the small ring", degree, needed));
        }
        // Step 2: the small ring under either secret, the large one under the sparse secret, and
        // the maps between them.
        let factor = params.lattice().spec().degree / degree;
        let q0 = *params.lattice().q().modulus(0);
        let ring = |degree, secret, bits| -> Result<mlwe::Params> {
            let p = prime::ntt_primes_below(params.lattice().spec().degree, bits, 1, &[q0])?[0];
            mlwe::Params::new(mlwe::ParamsSpec {
                degree,
                rank: 1,
                q: vec![q0.value()],
                p: vec![p.value()],
                secret,
                ..lattice.spec().clone()
            })
        };
        let sparse_secret = SecretKind::Sparse(spec.weight);
        let dense = ring(degree, spec.secret, DENSE_BITS)?;
        let sparse = ring(degree, sparse_secret, SPARSE_BITS)?;
        let low = ring(params.lattice().spec().degree, sparse_secret, SPARSE_BITS)?;
        let module = ModuleMap::new(lattice, &lattice.module_view(factor)?, 1)?;
        let subring = ModuleMap::new(&low, &sparse, 1)?;
        // Step 3: both reductions, which the modulus chain must hold.
        let reduction = |arcsine| {
            Mod1::new(&Mod1Spec {
                weight: spec.weight,
                log2_failure: spec.log2_failure,
                log2_error: -24.0,
                arcsine,
                spare: 0,
                early_bits: [0; 2],
            })
        };
        let sine = reduction(None)?;
        let identity = reduction(Some(Arcsine { degree: 7, message: REACH }))?;
        let (found, needed) = (params.max_level(), C2S_LEVELS + sine.depth());
        if found < needed {
            let needed = format!("at least {needed}, for CoeffsToSlots and the reduction");
            return Err(error::shape("highest level", found, needed));
        }
        if sine.highest_level(params, found - C2S_LEVELS).is_none() {
            let depth = sine.depth();
            let needed =
                format!("{depth} consecutive levels of about one size below it, for the reduction");
            return Err(error::shape("highest level", found, needed));
        }
        let (params, to_slots) = (params.clone(), Mutex::default());
        Ok(Self { spec, params, dense, sparse, low, module, subring, sine, identity, to_slots })
    }

    /// The specification.
    pub fn spec(&self) -> &RingBridgeSpec {
        &self.spec
    }

    /// The small ring under `z`: the parameters of the packing.
    pub(crate) fn ring(&self) -> &mlwe::Params {
        &self.dense
    }

    /// The small ring under `z'`.
    pub(crate) fn sparse_ring(&self) -> &mlwe::Params {
        &self.sparse
    }

    /// `z'` as a secret of the large ring, whose messages are those of the small one.
    pub(crate) fn lifted(&self, sparse: &mlwe::SecretKey) -> Result<mlwe::SecretKey> {
        self.subring.subring_secret(sparse)
    }

    /// The parameters of the slots.
    pub(crate) fn slots(&self) -> &ckks::Params {
        &self.params
    }

    /// The smaller estimate of security, in bits, of the keys under `z` and of those under `z'`.
    pub fn security_bits(&self) -> f64 {
        self.dense.security_bits().min(self.sparse.security_bits())
    }

    /// The plan of a reduction after CoeffsToSlots.
    pub(crate) fn reduction(&self, reduction: Reduction) -> &Mod1 {
        match reduction {
            Reduction::Sine => &self.sine,
            Reduction::Identity => &self.identity,
        }
    }

    /// The highest level of a result of [`lwe_to_slots`](Self::lwe_to_slots); `None` if the chain
    /// is too short, or the primes of its levels differ too much in size for the reduction.
    pub fn highest_level(&self, reduction: Reduction) -> Option<usize> {
        Some(self.highest_start(reduction)? - self.reduction(reduction).depth())
    }

    /// The highest level at which the reduction can start, where CoeffsToSlots ends.
    fn highest_start(&self, reduction: Reduction) -> Option<usize> {
        let most = self.params.max_level().checked_sub(C2S_LEVELS)?;
        self.reduction(reduction).highest_level(&self.params, most)
    }

    /// The lowest level from which the reduction can start for results at `level`.
    pub(super) fn start(&self, reduction: Reduction, level: usize) -> Result<usize> {
        let mod1 = self.reduction(reduction);
        let highest = self.highest_start(reduction);
        // The lowest start that keeps scales, unless CoeffsToSlots does not fit above it.
        let start = mod1.lowest_level(&self.params, level + mod1.depth());
        let fits = start.filter(|start| highest.is_some_and(|highest| *start <= highest));
        let highest = self.highest_level(reduction);
        fits.ok_or_else(|| error::level(level, highest))
    }

    /// Largest magnitude of a phase, as a fraction of `q0`, for [`Reduction::Identity`].
    pub(crate) fn reach(&self) -> f64 {
        REACH
    }

    /// The evaluation keys that [`lwe_to_slots`](Self::lwe_to_slots) needs besides
    /// [`RingBridgeKeys`](crate::RingBridgeKeys), each at the level of its use, for vectors of any
    /// number of slots. The caller adds those of SlotsToCoeffs before
    /// [`slots_to_lwe`](Self::slots_to_lwe).
    pub fn keys(&self) -> KeyLevels {
        let starts = [Reduction::Sine, Reduction::Identity].map(|r| self.highest_start(r));
        let start = starts.into_iter().flatten().max().expect("the sine was found to fit");
        let (top, most) = (start + C2S_LEVELS, self.params.max_slots() as i64);
        let steps = |unit: i64| {
            let steps = (1..=BABY_STEPS as i64).map(move |step| step * unit);
            steps.filter(move |&step| step < most)
        };
        // The two matrices of CoeffsToSlots, the conjugation that separates real parts, the
        // reduction.
        KeyLevels::default()
            .rotate(steps(1 << SHORT_STAGES), top)
            .rotate(steps(1), top - 1)
            .conjugate(start)
            .and(&self.sine.keys(start))
    }

    /// Work of [`lwe_to_slots`](Self::lwe_to_slots) in the large ring, for a layout of `slots`
    /// slots and results at `level`: mod raise, CoeffsToSlots and the reduction.
    pub(crate) fn work(&self, slots: usize, reduction: Reduction, level: usize) -> Result<Work> {
        // Mod raise, the two matrices of CoeffsToSlots, the reduction.
        let start = self.start(reduction, level)?;
        let slots = slots.max(self.spec.degree / 2);
        let (params, top) = (&self.params, start + C2S_LEVELS);
        let mut work = Work::of_switches(params, start, 1);
        let long = slots >> SHORT_STAGES;
        work += Work::of_matrix(params, top, long, BABY_STEPS, slots);
        let (short, period) = (2 << SHORT_STAGES, slots.min(2 << SHORT_STAGES));
        work += Work::of_matrix(params, top - 1, short - 1, BABY_STEPS, period);
        work += self.reduction(reduction).work(params, start);
        Ok(work)
    }

    /// Work of [`lwe_to_slots`](Self::lwe_to_slots) in the small ring for `values` values: one key
    /// switch for each value and one for every stage of the packing.
    pub(crate) fn packing_work(&self, values: usize) -> Work {
        let (ring, digits) = (&self.dense, self.dense.gadget().digits(1) as f64);
        let stages = ring.spec().degree.trailing_zeros() as f64;
        let switches = values as f64 + stages;
        Work {
            degree: ring.spec().degree,
            transforms: switches * (2.0 * digits + 4.0),
            multiplications: switches * (4.0 * digits + 4.0),
            width: 1.0,
        }
    }

    /// CoeffsToSlots for `slots` slots from `level`, prepared unless it is cached.
    pub(super) fn to_slots(
        &self,
        slots: usize,
        level: usize,
        reduction: Reduction,
    ) -> Result<Arc<CoeffsToSlots>> {
        let mut kept = self.to_slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let wanted = ToSlots { slots, level, reduction };
        let cached = kept.iter().position(|(of, _)| *of == wanted);
        let c2s = match cached.and_then(|index| kept.remove(index)) {
            Some((_, c2s)) => c2s,
            None => self.make_to_slots(wanted)?.into(),
        };
        kept.push_front((wanted, c2s.clone()));
        kept.truncate(KEPT);
        Ok(c2s)
    }

    fn make_to_slots(&self, wanted: ToSlots) -> Result<CoeffsToSlots> {
        let ToSlots { slots, level, reduction } = wanted;
        // The reduction takes p / q0 divided by its width, at the scale that it keeps.
        let width = self.params.divisor(0) * self.reduction(reduction).width();
        let options = C2sSpec {
            levels: C2S_LEVELS,
            input_level: level,
            // Halved, since the sum with the conjugate doubles.
            factor: self.params.divisor(level - C2S_LEVELS) / 2.0 / width,
            babies: BABY_STEPS,
            encode_ahead: false,
        };
        CoeffsToSlots::in_two(&self.params, slots, SHORT_STAGES, options)
    }
}

impl PartialEq for RingBridge {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec && self.params == other.params
    }
}
