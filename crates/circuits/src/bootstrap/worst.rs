//! Worst-case noise of a bootstrap: a bound for arbitrarily correlated errors.
//!
//! **Noise.** Lengths are `|e|_2 / sqrt(N)`.
//! 1. S2C and the switch to the sparse secret leave errors `e` at the coefficients of the values
//!    ([`SlotsToCoeffs`](crate::dft::SlotsToCoeffs)). The phase modulo `q_0` under the sparse
//!    secret is exactly the message with `e`, plus `q_0` times integers. The error of a coefficient
//!    is that of its value: the `n` slots have the length `|e| / sqrt(n)`, in units of the
//!    coefficient of a slot of 1.
//! 2. Everything from the mod raise on is an error of the argument of EvalMod: the mod raise with
//!    the first matrix (`FirstMatrix::bounded`), the trace, which doubles the error and adds a key
//!    switch in each step, C2S, the sum with the conjugate. EvalMod multiplies it by the largest
//!    slope in its interval and adds its own errors ([`eval_mod`](crate::eval_mod)).
//! 3. The approximation error is a function of the argument, and so of the key: it counts at its
//!    largest magnitude in every slot.
//!
//! **Failure.** The bound holds while the argument stays in the interval of EvalMod: except with
//! the probability `2^log2_failure` of [`BootstrapSpec`](super::BootstrapSpec), that of the
//! bootstrap itself.
//!
//! **The operand of C2S** is a random polynomial, `b + a s` with `a` and `b` uniform modulo `q_0`
//! and the sparse secret `s`. A slot of a polynomial of `2 n` uniform coefficients exceeds
//! `q_0 sqrt(2n / 12) sqrt(2 (x + ln 4N))` with probability below `e^-x / N`. A slot of `s` exceeds
//! `sqrt(h (x + ln N))` with that probability, and never the weight `h`. No slot is larger than
//! `sqrt(2) n` times the largest coefficient; the smaller bound is used. The first bound holds for
//! every sum of slots with fixed weights, of squares with the sum 1: it is a linear form of the
//! uniform coefficients, whose squared length is that of one slot. Unitary matrices make such sums,
//! and so do the roundings of their diagonals, which are fixed.

use bellerophon_ckks::{
    CiphertextMeta, Interval, Metadata, Result, metadata::rules::MetadataRules, noise::Noise,
    noise_model::SOURCE_BITS, origins::Relation, simulator::one_key,
};
use bellerophon_mlwe as mlwe;

use super::Bootstrapper;
use super::evaluate::NOISE_SLACK;
use super::raising::Raising;
use crate::error::{self, rounded_up};
use crate::eval_mod::Mod1Output;

/// S2C, raise and C2S in the worst case.
pub(crate) struct BoundedRaising {
    /// The coefficients modulo `q_0`.
    pub lowered: Metadata,
    /// Their noise under the sparse secret.
    pub before: Noise,
    /// The real or the imaginary parts in the slots, with the noise of the steps from the mod raise
    /// on.
    pub part: Metadata,
}

/// A bootstrap in the worst case.
pub(crate) struct Bounded {
    /// The bootstrapped vector.
    pub result: Metadata,
    /// The part of its noise from the steps from the mod raise on. It includes errors outside the
    /// values: imaginary parts of real vectors, and differences between the copies of a repeated
    /// vector.
    pub added: Noise,
}

impl Bootstrapper {
    /// The worst case of [`meta`](Self::meta) at a scale, with a key for every rotation.
    pub(crate) fn bounded(
        &self,
        rules: MetadataRules<'_>,
        x: &Metadata,
        scale: f64,
    ) -> Result<Bounded> {
        let (params, errors) = (self.params(), rules.errors());
        self.raising.check_level(x)?;
        self.raising.check_slots(x)?;

        // Steps 1 to 4 of the bootstrap: enlargement, S2C, mod raise, C2S.
        let low = rules.drop_to_level(x, self.input_level())?;
        let (factor, per_value) = self.enlargement(&silent(&low))?;
        let enlarged = rules.mul_integer(&low, factor)?;
        let BoundedRaising { lowered, before, part } = self.raising.bounded(rules, &enlarged)?;
        let distance = self.distance(&lowered, before)?;

        // Step 5: EvalMod, whose approximation error counts in every slot.
        let message = per_value * factor as f64;
        let amplitude = params.divisor(0) / (message * std::f64::consts::TAU);
        let output = Mod1Output { amplitude, scale };
        let mut result = self.mod1.bounded(rules, &part, output, distance)?;
        let mut off = amplitude * self.mod1.certified_error(distance) * scale;
        // Step 6: both parts of complex vectors.
        if !x.meta.bounds.values.is_real() {
            result = rules.sum(&result, &rules.mul_i(&result), Relation::Related, Interval::add)?;
            off *= 2f64.sqrt();
        }

        // The noise: of the value itself (1 of the list), of the steps from the mod raise on (2),
        // and of the approximation (3).
        let per_slot = scale / message / (self.spec.slots as f64).sqrt();
        let added = result.meta.noise;
        let noise = errors.sum(added, before * per_slot.powi(2), Relation::Related);
        let noise = errors.with(noise, errors.mismatch(params.lattice().spec().degree, off));
        result.meta = CiphertextMeta { scale, noise, ..x.meta.with_zero_padding() };
        rules.check_range(&result)?;
        Ok(Bounded { result, added })
    }

    /// The largest distance of a coefficient from a multiple of `q_0`, in units of `q_0`.
    fn distance(&self, lowered: &Metadata, noise: Noise) -> Result<f64> {
        let CiphertextMeta { scale, bounds, .. } = lowered.meta;
        let error = (self.params().lattice().spec().degree as f64 * noise.excess).sqrt();
        let reach = bounds.slots().bound() * scale + error;
        let largest = self.params().divisor(0) * (-self.spec.log_gap).exp2();
        if reach > largest * NOISE_SLACK {
            return Err(error::bootstrap_range(rounded_up(reach / scale), largest / scale));
        }
        Ok(reach / self.params().divisor(0))
    }
}

impl Raising {
    pub(crate) fn bounded(&self, rules: MetadataRules<'_>, x: &Metadata) -> Result<BoundedRaising> {
        let (params, errors) = (&self.params, rules.errors());
        let lattice = params.lattice();
        // Step 2: S2C; the switch to the sparse secret.
        let lowest = self.s2c.params.rules().with_errors(errors);
        let lowered = self.s2c.bounded(lowest, x)?;
        let switched = mlwe::noise::key_switch(&self.low, lattice.spec().rank, 1);
        let before = errors.with(lowered.meta.noise, rules.source(switched));

        // Step 3: mod raise with the first matrix, and the trace, which doubles errors.
        let mut raised = self.raised(&silent(&lowered), &one_key)?;
        let mut noise = self.first.bounded(rules, self.largest_slot() * raised.meta.scale);
        let rotation = rules.source(mlwe::noise::automorphism(lattice, params.limbs()));
        for _ in self.trace_steps() {
            noise = errors.with(noise * 4.0, rotation);
        }
        raised.meta.noise = noise;
        // Step 4: C2S; the sum with the conjugate.
        let slots = self.c2s.bounded(rules, &raised, self.largest_slot())?;
        let mut part = self.part(&silent(&slots))?;
        let switch = mlwe::noise::automorphism(lattice, params.limbs_at(slots.level));
        part.meta.noise = errors.with(slots.meta.noise * 4.0, rules.source(switch));
        Ok(BoundedRaising { lowered, before, part })
    }

    /// A bound on a sum of slots of the operand of C2S with weights of length 1, over the width.
    fn largest_slot(&self) -> f64 {
        let (n, slots) = (self.params.lattice().spec().degree as f64, self.slots as f64);
        let (x, weight) = (SOURCE_BITS * std::f64::consts::LN_2, self.weight as f64);
        let uniform = (2.0 * slots / 12.0 * 2.0 * (x + (4.0 * n).ln())).sqrt();
        let secret = (weight * (x + n.ln())).sqrt().min(weight);
        let random = uniform * (1.0 + secret);
        random.min(2f64.sqrt() * slots * self.reach) / self.width
    }
}

/// The metadata without noise.
pub(crate) fn silent(x: &Metadata) -> Metadata {
    Metadata { meta: CiphertextMeta { noise: Noise::NONE, ..x.meta }, ..*x }
}
