//! The common part of bootstrapping and functional bootstrapping: S2C, mod raise, C2S. Metadata
//! ([`Raising::meta`]) beside computation ([`Raising::apply`]), in the same steps. They are steps 2
//! to 4 of a bootstrap.
//!
//! ```text
//! Step 2:  SlotsToCoeffs                             the lowest levels
//! Step 3a: switch to the sparse secret, mod raise    from q_0 to all primes, with the first matrix
//!                                                    of CoeffsToSlots, at no level
//! Step 3b: trace onto the subring of the slots       for vectors of very few slots
//! Step 4:  CoeffsToSlots, real and imaginary parts   the highest levels
//! ```
//!
//! Each slot of the result holds `(m + q_0 I) / (width q_0)`: the coefficient `m` modulo `q_0` and
//! an unknown integer `I`. [`eval_mod`](crate::eval_mod) then restores the vector;
//! [`fbt`](crate::fbt) evaluates a function of it.

use bellerophon_ckks::cost::{Count, Steps};
use bellerophon_ckks::origins::Relation;
use bellerophon_ckks::rotation_plan::RotationCosts;
use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, EvaluationKeys, Evaluator, Interval, KeyLevels,
    KeySizes, Metadata, Params, Result,
};
use bellerophon_mlwe::{self as mlwe, SecretKind, Security};
use bellerophon_ring::prime;

use super::first_matrix::{FirstMatrix, Share};
use super::{BootstrapKeys, BootstrapStage};
use crate::bootstrap::tell;
use crate::dft::{C2sSpec, Coefficients, CoeffsToSlots, S2cSpec, SlotsToCoeffs};
use crate::error;
use crate::lintrans::{Giants, LinearTransform};

/// Bits of the special prime of the sparse secret above those of `q_0`: the switch to that secret
/// is then exact up to one rounding.
const MARGIN_BITS: u32 = 8;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RaisingSpec {
    /// Most slots of the vectors.
    pub slots: usize,
    /// Nonzero coefficients of the sparse secret.
    pub weight: usize,
    /// Matrices of S2C.
    pub s2c_levels: usize,
    /// The coefficient of a value of 1 at the default scale.
    pub s2c_scale: f64,
    /// Whether coefficients may wrap around modulo `q_0`.
    pub modular: bool,
    /// Levels of C2S: its matrices but the first.
    pub c2s_levels: usize,
    /// Baby steps of each matrix of C2S.
    pub babies: usize,
    /// Whether diagonals without a period are kept encoded.
    pub encode_ahead: bool,
    /// The slots hold the coefficients divided by this times `q_0`.
    pub width: f64,
    /// The largest coefficient after the mod raise, as a multiple of `q_0`.
    pub reach: f64,
}

/// The standard deviation of `b + a s` after the mod raise, in units of `q_0`.
fn deviation(weight: usize) -> f64 {
    ((weight as f64 + 1.0) / 12.0).sqrt()
}

/// S2C, mod raise and C2S, prepared for one parameter set.
///
/// | step | levels | cost |
/// | --- | --- | --- |
/// | S2C ([`dft`](crate::dft)) | the lowest | one level for each matrix |
/// | encapsulation | `q_0` | a key switch of one digit |
/// | mod raise, first matrix, trace | from `q_0` to all primes | a row of a key for each diagonal |
/// | what the trace exceeds | all primes | a rotation for each halving of the slots |
/// | C2S ([`dft`](crate::dft)) | the highest | one level for each further matrix |
///
/// **The lowest levels.** S2C works under parameters of its own: the primes of its levels, with as
/// few special primes as its key switches need ([`mlwe::Params::lowest`]). Its keys are smaller
/// than keys for the same levels under all special primes, and it takes fewer transforms.
///
/// **The first matrix** ([`mlwe::RaiseTransform`]). After the mod raise the coefficients are
/// integers of the size of `q_0`: the matrix needs no prime of the chain to round its entries, and
/// its products with the key need no digits. The switch from the sparse secret, the rotations, the
/// trace for vectors of few slots and the matrix are rows of one key (level-conserving rescaling
/// and aggregated key switch, eprint 2025/1403).
///
/// **The secret.** The largest multiple `I` of `q_0` depends on the weight of the secret during the
/// mod raise. That secret is sparse, and its only modulus is `q_0` times a special prime of its own
/// (sparse-secret encapsulation, Bossuat, Troncoso-Pastoriza and Hubaux, eprint 2022/024), where a
/// weight of 32 is safe.
#[derive(Debug, Clone)]
pub struct Raising {
    pub(crate) params: Params,
    /// The parameters of the sparse secret: `q_0` and a special prime.
    pub(crate) low: mlwe::Params,
    pub(super) slots: usize,
    pub(super) weight: usize,
    pub(crate) s2c: SlotsToCoeffs,
    pub(crate) first: FirstMatrix,
    /// C2S after the first matrix.
    pub(crate) c2s: CoeffsToSlots,
    pub(super) width: f64,
    pub(super) reach: f64,
}

/// The metadata of [`Raising::apply`] of one vector.
#[derive(Debug)]
pub(crate) struct RaisingMeta {
    /// The first matrix times the coefficients modulo `Q`, in units of the width. The range is that
    /// of the coefficients: the matrix is unitary.
    pub raised: Metadata,
    /// The real or the imaginary parts in the slots.
    pub part: Metadata,
}

impl Raising {
    pub(crate) fn new(params: &Params, spec: RaisingSpec) -> Result<Self> {
        let most = params.max_slots();
        error::check_slot_count(params, spec.slots)?;
        let top = params.max_level();
        // Step 2: SlotsToCoeffs, which ends at level 0.
        let s2c = S2cSpec {
            levels: spec.s2c_levels,
            output_level: 0,
            scale: spec.s2c_scale,
            modular: spec.modular,
            encode_ahead: spec.encode_ahead,
            giants: Giants::Horner,
        };
        // Step 3: the trace multiplies by the number of copies of a slot; the sum with the
        // conjugate doubles.
        let repeated = (most / spec.slots) as f64;
        let wanted = params.divisor(top - spec.c2s_levels) / 2.0;
        let c2s = C2sSpec {
            levels: spec.c2s_levels,
            input_level: top,
            factor: wanted / (params.divisor(0) * spec.width * repeated),
            babies: spec.babies,
            encode_ahead: spec.encode_ahead,
        };
        // The lattice of the sparse secret, and the matrices.
        let share = Share::new(params, spec.slots, spec.c2s_levels);
        let typical = deviation(spec.weight) / spec.reach;
        let (first, c2s) =
            CoeffsToSlots::after_first(params, spec.slots, share.stages, c2s, typical)?;
        Ok(Self {
            low: low_params(params, spec.weight)?,
            s2c: SlotsToCoeffs::new(&params.lowest_levels(spec.s2c_levels)?, spec.slots, s2c)?,
            first: FirstMatrix::new(params, &first, share)?,
            c2s,
            params: params.clone(),
            slots: spec.slots,
            weight: spec.weight,
            width: spec.width,
            reach: spec.reach,
        })
    }

    /// The same with the diagonals of S2C kept encoded. All else is shared.
    pub(crate) fn encoded(&self) -> Result<Self> {
        let spec = S2cSpec { encode_ahead: true, ..self.s2c.spec };
        let s2c = SlotsToCoeffs::new(&self.s2c.params, self.slots, spec)?;
        Ok(Self { s2c, ..self.clone() })
    }

    /// The coefficient of a value of 1 at the default scale.
    pub(crate) fn s2c_scale(&self) -> f64 {
        self.s2c.spec.scale
    }

    /// The lowest level of an operand.
    pub(crate) fn input_level(&self) -> usize {
        self.s2c.level()
    }

    /// The level of the slots after C2S.
    pub(crate) fn output_level(&self) -> usize {
        self.c2s.output_level()
    }

    /// The rotation and conjugation keys besides [`BootstrapKeys`], each at the level of its use.
    pub(crate) fn keys(&self) -> KeyLevels {
        KeyLevels::default()
            .and(&self.c2s.keys())
            .conjugate(self.output_level())
            .rotate(self.trace_steps().map(|step| step as i64), self.params.max_level())
    }

    /// Key switches, one for each row of the first matrix.
    pub(crate) fn key_switches(&self) -> usize {
        let first = self.first.transform.terms();
        1 + self.s2c.rotations() + first + self.trace() + self.c2s.rotations() + 1
    }

    pub(crate) fn own_key_sizes(&self) -> KeySizes {
        let (low, rank) = (&self.low, self.params.lattice().spec().rank);
        let s2c = self.s2c.keys().sizes(&self.s2c.params);
        let from = low.gadget();
        let to_sparse = KeySizes::of_rows(rank * from.digits(1), 1, from.ring(1));
        s2c.expect("its levels are those of its parameters") + to_sparse + self.raise_key_sizes()
    }

    pub(crate) fn raise_key_sizes(&self) -> KeySizes {
        let first = &self.first.transform;
        KeySizes::of_rows(first.terms(), self.params.lattice().spec().rank, first.ring())
    }

    pub(crate) fn security_bits(&self) -> f64 {
        self.params.lattice().security_bits().min(self.low.security_bits())
    }

    /// The matrices of the two linear transforms, those of S2C first, without the first of C2S.
    pub(crate) fn transforms(&self) -> impl Iterator<Item = &LinearTransform> {
        self.s2c.transforms.iter().chain(&self.c2s.transforms)
    }

    /// Whether [`BootstrapKeys`] of one serve the other: the sparse secret and the lowest levels
    /// have the same parameters, S2C has the same rotations, and the first matrix is the same.
    pub fn shares_keys(&self, other: &Self) -> bool {
        let keys = |x: &Self| {
            let lowest = x.s2c.params.lattice().fingerprint();
            let first = x.first.transform.fingerprint();
            (lowest, x.s2c.keys(), x.low.fingerprint(), first)
        };
        keys(self) == keys(other)
    }

    /// Refuses other keys, by exponents and limbs, than those of the rotations of S2C.
    pub(crate) fn check_rotations(
        &self,
        found: impl Iterator<Item = (usize, usize)>,
    ) -> Result<()> {
        let lowest = &self.s2c.params;
        let needed = self.s2c.keys().automorphisms(lowest);
        let needed = needed.into_iter().map(|(exponent, level)| (exponent, lowest.limbs_at(level)));
        if found.eq(needed) {
            return Ok(());
        }
        let found = "other Galois keys for SlotsToCoeffs".into();
        let needed = "one for each of its rotations, with the primes of its level".into();
        Err(error::key_list(found, needed))
    }

    /// Refuses keys under other parameters, or of other rotations, than those of S2C.
    pub(super) fn check_s2c(&self, keys: &EvaluationKeys) -> Result<()> {
        self.s2c.params.check(keys.fingerprint())?;
        self.check_rotations(
            keys.galois_keys().iter().map(|key| (key.exponent(), key.key().shape().limbs)),
        )
    }

    /// Refuses keys of other parameters or of another secret than that of the evaluator.
    pub(crate) fn check_keys(&self, evaluator: &Evaluator, keys: &BootstrapKeys) -> Result<()> {
        evaluator.params().check_same(&self.params)?;
        let (found, needed) = (keys.to_sparse().shape().to.fingerprint, self.low.fingerprint());
        if found != needed {
            return Err(mlwe::error::params_mismatch(found, needed))?;
        }
        self.check_s2c(keys.s2c())?;
        let (found, needed) = (keys.raise().matrix(), self.first.transform.fingerprint());
        if found != needed {
            return Err(mlwe::error::params_mismatch(found, needed))?;
        }
        if keys.secret_id() != evaluator.keys().secret_id() {
            let (needed, found) = (evaluator.keys().secret_id(), keys.secret_id());
            return Err(mlwe::error::key_mismatch(found, needed));
        }
        Ok(())
    }

    /// Reserves memory for the matrices and for ciphertexts at the level after C2S.
    pub(crate) fn reserve(&self, ciphertexts: usize) {
        self.transforms().for_each(LinearTransform::reserve);
        let lattice = self.params.lattice();
        let highest = self.params.limbs_at(self.output_level());
        let columns = lattice.spec().rank + 1;
        // The smaller buffers first: a request for them would otherwise take the larger ones.
        lattice.q().at_limbs(highest.div_ceil(2)).reserve(columns * (ciphertexts / 4 + 2));
        lattice.q().at_limbs(highest).reserve(columns * ciphertexts);
    }

    /// Number of rotations of the trace.
    pub(crate) fn trace(&self) -> usize {
        self.trace_steps().count()
    }

    /// Rotations that project vectors after the first matrix onto polynomials of `slots` slots.
    pub(super) fn trace_steps(&self) -> impl Iterator<Item = usize> {
        let (slots, most) = (self.slots, self.first.traced);
        std::iter::successors(Some(slots), |step| Some(2 * step)).take_while(move |&s| s < most)
    }

    /// Refuses vectors below the input level, which no bootstrap can help.
    pub(crate) fn check_level(&self, x: &Metadata) -> Result<()> {
        let least = self.input_level();
        self.params.check_level(x.level)?;
        match x.level < least {
            true => Err(error::too_low_to_bootstrap(least, x.level)),
            false => Ok(()),
        }
    }

    /// Refuses vectors of more slots than the matrices have.
    pub(crate) fn check_slots(&self, x: &Metadata) -> Result<()> {
        if x.meta.slots > self.slots {
            return Err(error::slot_count(x.meta.slots, 1, self.slots));
        }
        Ok(())
    }

    pub(crate) fn meta(&self, x: &Metadata, costs: RotationCosts<'_>) -> Result<RaisingMeta> {
        // Step 2: SlotsToCoeffs, with a key for each rotation.
        let lowered = self.s2c.lowered(x)?;
        // Step 3: mod raise with the first matrix, and trace.
        let raised = self.raised(&lowered, costs)?;
        // Step 4: CoeffsToSlots, and one part of the slots.
        let slots = self.c2s.meta(&raised, costs)?.result;
        let part = self.part(&slots)?;
        Ok(RaisingMeta { raised, part })
    }

    /// The real parts after S2C, mod raise and C2S, and the imaginary ones unless `real`.
    pub(crate) fn apply(
        &self,
        evaluator: &Evaluator,
        keys: &BootstrapKeys,
        x: &Ciphertext,
        meta: &RaisingMeta,
        real: bool,
    ) -> Result<(Ciphertext, Option<Ciphertext>)> {
        let tell = |stage| tell(evaluator, stage, 1, 1);
        let coefficients = self.to_coefficients(keys, x)?;
        tell(BootstrapStage::SlotsToCoefficients)?;
        let raised = self.raise(evaluator, keys, coefficients, meta)?;
        tell(BootstrapStage::Raise)?;
        let parts = self.to_slots(evaluator, &raised, meta, real)?;
        tell(BootstrapStage::CoefficientsToSlots)?;
        Ok(parts)
    }

    /// Step 2: SlotsToCoeffs under parameters of the lowest levels alone, with few special primes.
    pub(crate) fn to_coefficients(
        &self,
        keys: &BootstrapKeys,
        x: &Ciphertext,
    ) -> Result<Coefficients> {
        let (inner, meta) = x.clone().into_parts();
        let lowest = &self.s2c.params;
        let inner = inner.under(self.params.lattice(), lowest.lattice())?;
        let evaluator = Evaluator::new(lowest, keys.s2c())?;
        self.s2c.apply(&evaluator, &Ciphertext::from_parts(lowest, inner, meta)?)
    }

    /// The metadata of step 3, projected onto the slots of the matrices.
    pub(super) fn raised(&self, x: &Metadata, costs: RotationCosts<'_>) -> Result<Metadata> {
        let (rules, lattice) = (self.params.rules(), self.params.lattice());
        // Step 3a: the switch to the sparse secret, and the mod raise with the first matrix.
        let noise = x.meta.noise + mlwe::noise::key_switch(&self.low, lattice.spec().rank, 1);
        // The slots of this polynomial have no meaning; its coefficients must not wrap.
        let bound = self.reach / self.width;
        let most = self.params.max_slots();
        let meta = CiphertextMeta {
            scale: self.params.divisor(0) * self.width,
            slots: most,
            len: most,
            bounds: Bounds::all(Interval::complex(bound)?),
            noise,
        };
        let mut sum = self.first.meta(meta, deviation(self.weight) / self.width);
        // Step 3b: the trace. The message and the multiples of q_0 in the subring double, the rest
        // vanishes.
        for step in self.trace_steps() {
            let before = sum.meta.noise;
            let rotated = rules.rotated(&sum, costs(&sum, step)?);
            sum = rules.sum(&sum, &rotated, Relation::Independent, Interval::add)?;
            sum.meta.scale *= 2.0;
            sum.meta.bounds = meta.bounds;
            // The two terms have the same error in the subring: 4 times the variance, not 2.
            sum.meta.noise += before * 2.0;
        }
        sum.meta.slots = x.meta.slots;
        sum.meta.len = x.meta.len;
        Ok(sum)
    }

    /// Step 3: mod raise with the first matrix of C2S, and trace onto the subring of the slots.
    pub(crate) fn raise(
        &self,
        evaluator: &Evaluator,
        keys: &BootstrapKeys,
        x: Coefficients,
        meta: &RaisingMeta,
    ) -> Result<Coefficients> {
        let lattice = self.params.lattice();
        // Step 3a: the switch to the sparse secret at q_0; the mod raise with the first matrix and
        // the switch back.
        let low = keys.to_sparse().switch(&self.low, &x.into_lattice())?;
        let mut sum = self.first.transform.apply(keys.raise(), &low)?;
        // Step 3b: the trace.
        let all = CiphertextMeta { slots: self.params.max_slots(), ..meta.raised.meta };
        let like = Metadata { meta: all, ..meta.raised };
        for step in self.trace_steps() {
            let rotated =
                evaluator.rotation_path(&like, step)?.apply(evaluator.params(), &sum)?.into_owned();
            sum.add_assign(lattice, &rotated)?;
        }
        Coefficients::from_parts(&self.params, sum, meta.raised.meta)
    }

    /// The metadata of step 4 after C2S: the real or the imaginary parts of the slots.
    pub(super) fn part(&self, slots: &Metadata) -> Result<Metadata> {
        let rules = self.params.rules();
        let conjugate = rules.conjugated(slots);
        let mut part = rules.sum(slots, &conjugate, Relation::Independent, Interval::add)?;
        part.meta = part.meta.reinterpret_scale(0.5)?;
        let bound = self.reach / self.width;
        part.meta.bounds = Bounds::all(Interval::real(-bound, bound)?);
        // The sum with the conjugate doubles the error of one part of a slot and cancels that of
        // the other; the noise of the conjugation's key switch is in both parts.
        let lattice = self.params.lattice();
        let switched = mlwe::noise::automorphism(lattice, self.params.limbs_at(slots.level));
        part.meta.noise = slots.meta.noise * 4.0 + switched;
        Ok(part)
    }

    /// Step 4: CoeffsToSlots; the real parts of the slots, and the imaginary ones unless `real`.
    pub(crate) fn to_slots(
        &self,
        evaluator: &Evaluator,
        raised: &Coefficients,
        meta: &RaisingMeta,
        real: bool,
    ) -> Result<(Ciphertext, Option<Ciphertext>)> {
        let slots = self.c2s.apply(evaluator, raised)?;
        // Twice the real parts, z + conj(z), and twice the imaginary ones, i (conj(z) - z). The
        // scale absorbs the 2.
        let conjugate = evaluator.conjugate(&slots)?;
        let part = |sum: Ciphertext| sum.changed(meta.part.meta);
        let re = part(evaluator.add(&slots, &conjugate)?);
        let im = match real {
            true => None,
            false => Some(part(evaluator.mul_i(&evaluator.sub(&conjugate, &slots)?)?)),
        };
        Ok((re, im))
    }
}

impl Raising {
    /// Counts S2C. Servers keep the diagonals without a period encoded.
    pub(super) fn count_slots_to_coeffs(&self, count: &mut Count<'_>) {
        self.s2c.transforms.iter().for_each(|m| m.count(0.0, count));
    }

    /// Counts C2S, and the conjugation that separates the parts of the slots.
    pub(super) fn count_coeffs_to_slots(&self, count: &mut Count<'_>) {
        self.c2s.transforms.iter().for_each(|m| m.count(0.0, count));
        count.switch(self.output_level());
    }

    /// Counts encapsulation, mod raise with the first matrix of C2S, and trace.
    pub(super) fn count_raise(&self, count: &mut Count<'_>) {
        let top = count.at(self.params.max_level());
        // Mod raise with the first matrix: a mask and a body are raised to all primes, multiplied
        // by the rows of the key, and divided by the few special primes of the rows.
        let first = &self.first.transform;
        let (all, l, rows) = (first.ring().limbs() as f64, top.limbs, first.terms() as f64);
        count.add(Steps {
            conversions: all + 2.0 * l,
            key_bytes: self.raise_key_sizes().memory as f64,
            ..Steps::new(2.0 * all + 2.0 * all, 2.0 * rows * all + 2.0 * (all - l) * l)
        });
        // The trace to the subring of sparse slots.
        (0..self.trace()).for_each(|_| count.add(top.whole()));
    }

    /// Counts the steps from S2C to C2S.
    pub(crate) fn count(&self, count: &mut Count<'_>) {
        self.count_slots_to_coeffs(count);
        self.count_raise(count);
        self.count_coeffs_to_slots(count);
    }
}

/// The lattice of the sparse secret.
fn low_params(params: &Params, weight: usize) -> Result<mlwe::Params> {
    let lattice = params.lattice().spec();
    let q0 = *params.lattice().q().modulus(0);
    let bits = (q0.bits() + MARGIN_BITS).min(60);
    let p = prime::ntt_primes_below(lattice.degree, bits, 1, &[q0])?;
    // The security tables have sparse secrets under the default model only.
    let security = match lattice.security {
        Security::Insecure => Security::Insecure,
        Security::Bits128 | Security::Bits128Classical => Security::Bits128,
    };
    mlwe::Params::new(mlwe::ParamsSpec {
        rank: 1,
        security,
        q: vec![q0.value()],
        p: p.iter().map(|p| p.value()).collect(),
        secret: SecretKind::Sparse(weight),
        ..lattice.clone()
    })
}
