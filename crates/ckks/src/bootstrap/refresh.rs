//! The refresh itself, and the evaluator's access to it.

use std::{borrow::Cow, f64::consts::TAU, sync::Arc};

use bellerophon_mlwe as mlwe;

use super::{BootstrapKeys, Bootstrapper};
use crate::dft::Coefficients;
use crate::mod1::Mod1Output;
use crate::{Bounds, Ciphertext, Error, Evaluator, Interval, Meta, Result, noise};

/// Largest integer by which a small message is enlarged.
const MAX_ENLARGEMENT: f64 = (1u64 << 40) as f64;

/// Most rounds of a repeated refresh: the scale ends the precision long before.
const MAX_ROUNDS: usize = 8;

/// `log2` of the probability with which the error of a refresh may exceed what the next round of
/// a repeated refresh takes for its bound.
const LOG2_ROUND_FAILURE: f64 = -64.0;

/// What an evaluator refreshes with.
#[derive(Debug, Clone)]
pub(crate) struct Refresher {
    pub bootstrapper: Arc<Bootstrapper>,
    pub keys: BootstrapKeys,
    /// Whether operands are refreshed when their levels run out.
    pub automatic: bool,
}

impl Evaluator {
    /// The same evaluator, able to refresh.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::KeyMismatch`] when the parts do not belong together.
    pub fn with_refresh(
        mut self,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
        keys: BootstrapKeys,
    ) -> Result<Self> {
        let op = "add refreshing to an evaluator";
        let bootstrapper = bootstrapper.into();
        self.params().check_chain(op, &bootstrapper.params)?;
        if keys.secret_id() != self.keys().secret_id() {
            let (left, right) = (self.keys().secret_id(), keys.secret_id());
            return Err(Error::KeyMismatch { op, left, right });
        }
        self.refresher = Some(Refresher { bootstrapper, keys, automatic: false });
        Ok(self)
    }

    /// What it refreshes with, if it can.
    pub fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        self.refresher.as_ref().map(|refresher| &refresher.bootstrapper)
    }

    /// The same vector with new levels: [`Bootstrapper::output_level`], at the default scale. The
    /// operand needs no more than [`Bootstrapper::input_level`] levels; those above are given up.
    ///
    /// Real vectors (by their carried range) take about half the time of complex ones.
    ///
    /// # Errors
    /// [`Error::MissingKey`] for an evaluator without [`with_refresh`](Self::with_refresh) or keys
    /// of [`Bootstrapper::keys`], [`Error::OutOfLevels`] below the input level,
    /// [`Error::SlotCount`] for too many slots, [`Error::RangeOverflow`] for values above
    /// [`BootstrapSpec::bound`](super::BootstrapSpec::bound) (in proportion to the scale), and
    /// mismatches.
    pub fn refresh(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.refreshed("refresh", x, self.params().scale())
    }

    /// As [`refresh`](Self::refresh), `rounds` times as precise (in bits) as long as scale and
    /// operand are: what a round is off by is enlarged and refreshed again. The result has the scale
    /// of the operand; `rounds = 1` is an ordinary refresh.
    ///
    /// The precision of the result ends at that of the operand and at one rounding at its scale.
    ///
    /// # Errors
    /// [`Error::Params`] unless `rounds` is from 1 to 8; as for [`refresh`](Self::refresh).
    pub fn refresh_precisely(&self, x: &Ciphertext, rounds: usize) -> Result<Ciphertext> {
        let op = "refresh precisely";
        if !(1..=MAX_ROUNDS).contains(&rounds) {
            let reason = format!("{op}: {rounds} rounds: need 1 to {MAX_ROUNDS}");
            return Err(Error::Params { reason });
        }
        let mut result = self.refreshed(op, x, x.scale())?;
        for _ in 1..rounds {
            let known = self.drop_to_level(&result, x.level())?;
            let rest = self.sub(x, &known)?;
            // Stated for messages at the default scale; at a smaller one a value is less of `q_0`.
            let off = self.refresher(op)?.bootstrapper.approximation_error()
                * self.params().scale()
                / x.scale()
                + noise::worst_factor(x.slots(), LOG2_ROUND_FAILURE) * rest.noise();
            let range = match x.meta().bounds.slots.is_real() {
                true => Interval::real(-off, off)?,
                false => Interval::complex(off)?,
            };
            let rest = self.refreshed(op, &rest.assume_range(range), x.scale())?;
            let variance = rest.meta.variance + x.meta.variance;
            result = self.add(&result, &rest)?;
            result.meta.bounds = x.meta.bounds;
            result.meta.variance = variance;
        }
        Ok(result)
    }

    /// The same evaluator, refreshing by itself: products, constants and polynomials refresh an
    /// operand first when they would otherwise leave less than a refresh needs
    /// ([`Bootstrapper::input_level`]). Operands below that level already are taken as they are.
    ///
    /// # Errors
    /// [`Error::MissingKey`] for an evaluator without [`with_refresh`](Self::with_refresh).
    pub fn refreshing_by_itself(mut self) -> Result<Self> {
        let op = "refresh automatically";
        let level = self.params().max_level();
        let missing = Error::MissingKey { op, key: "bootstrapping key", level };
        self.refresher.as_mut().ok_or(missing)?.automatic = true;
        Ok(self)
    }

    /// The operand, refreshed where that is wanted and `needed` levels would bring it too low.
    pub(crate) fn replenished<'c>(
        &self,
        x: &'c Ciphertext,
        needed: usize,
    ) -> Result<Cow<'c, Ciphertext>> {
        if let Some(Refresher { bootstrapper, automatic: true, .. }) = &self.refresher {
            let least = bootstrapper.input_level();
            if (least..least + needed).contains(&x.level()) {
                return self.refresh(x).map(Cow::Owned);
            }
        }
        Ok(Cow::Borrowed(x))
    }

    fn refresher(&self, op: &'static str) -> Result<&Refresher> {
        let level = self.params().max_level();
        self.refresher.as_ref().ok_or(Error::MissingKey { op, key: "bootstrapping key", level })
    }

    fn refreshed(&self, op: &'static str, x: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        let Refresher { bootstrapper, keys, .. } = self.refresher(op)?;
        self.check(op, x)?;
        self.check_levels(op, bootstrapper.input_level(), x.level())?;
        if x.slots() > bootstrapper.spec.slots {
            let most = bootstrapper.spec.slots;
            return Err(Error::SlotCount { op, found: x.slots(), least: 1, most });
        }
        let low = self.drop_to_level(x, bootstrapper.input_level())?;
        let (lowered, message) = bootstrapper.lowered(op, self, &low)?;
        let raised = bootstrapper.raised(self, keys, lowered)?;
        let slots = bootstrapper.c2s.apply(self, &raised)?;
        let real = x.meta().bounds.slots.is_real();
        let mut result = bootstrapper.reduced(self, &slots, message, real, scale)?;
        let variance = result.meta.variance;
        result.meta = Meta { scale: result.scale(), variance, ..*x.meta() };
        self.check_range(op, &result.meta.bounds, scale, result.limbs())?;
        Ok(result)
    }
}

impl Bootstrapper {
    /// The values in coefficients modulo `q_0`, as large as the gap allows, and how much a unit of the
    /// operand's values is there.
    fn lowered(
        &self,
        op: &'static str,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<(Coefficients, f64)> {
        let bound = x.meta().bounds.slots.bound();
        let per_value = x.scale() * self.s2c.options().scale / self.params.scale();
        let largest = self.params.divisor(0) * (-self.spec.log_gap).exp2();
        // Rounding of the bookkeeping alone does not make a message too large.
        let room = largest / (bound * per_value) * (1.0 + 1e-9);
        if room < 1.0 {
            return Err(Error::RangeOverflow {
                op,
                bound,
                log2_scale: per_value.log2(),
                log2_modulus: largest.log2() + 1.0,
                level: 0,
            });
        }
        let factor = room.floor().clamp(1.0, MAX_ENLARGEMENT);
        let enlarged = evaluator.mul_integer(x, factor as i64)?;
        let lowered = self.s2c.apply(evaluator, &enlarged)?;
        let message = lowered.scale() * factor;
        Ok((lowered, message))
    }

    /// The coefficients modulo `Q`, in units of the width of the reduction: `I` and the message
    /// over `q_0` in one.
    fn raised(
        &self,
        evaluator: &Evaluator,
        keys: &BootstrapKeys,
        x: Coefficients,
    ) -> Result<Coefficients> {
        let lattice = self.params.lattice();
        let (slots, len) = (x.slots(), x.len());
        let mut variance = x.variance() + mlwe::noise::key_switch(&self.low, lattice.rank(), 1);
        let low = keys.to_sparse().switch(&self.low, &x.into_lattice())?;
        let inner = keys.raise().raise(lattice, &low, 1)?;
        variance += keys.raise().noise(lattice, 1);
        let bound = self.mod1.bound() / self.mod1.width();
        let scale = self.params.divisor(0) * self.mod1.width();
        let meta = Meta {
            scale,
            slots: self.params.max_slots(),
            len: self.params.max_slots(),
            // The slots of this polynomial mean nothing; its coefficients are what must not wrap.
            bounds: Bounds::all(Interval::complex(bound)?),
            variance,
        };
        let mut sum = Ciphertext::from_parts(&self.params, inner, meta)?;
        for step in self.trace_steps() {
            let before = sum.meta.variance;
            let rotated = evaluator.rotate(&sum, step as i64)?;
            sum = evaluator.add(&sum, &rotated)?;
            // What is in the subring doubles, message and multiples of q_0; the rest vanishes.
            sum.meta.scale *= 2.0;
            sum.meta.bounds = meta.bounds;
            sum.meta.variance += 2.0 * before;
        }
        let (inner, meta) = sum.into_parts();
        Coefficients::from_parts(&self.params, inner, Meta { slots, len, ..meta })
    }

    /// F_mod of real and imaginary parts: the values again, at the given scale. `message` is what a
    /// unit of them was in the coefficients modulo `q_0`.
    fn reduced(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        message: f64,
        real: bool,
        scale: f64,
    ) -> Result<Ciphertext> {
        let amplitude = self.params.divisor(0) / (message * TAU);
        let bound = self.mod1.bound() / self.mod1.width();
        let conjugate = evaluator.conjugate(x)?;
        let switched = conjugate.meta.variance - x.meta.variance;
        let part = |sum: Ciphertext| -> Result<Ciphertext> {
            let mut sum = sum.times_free(0.5)?;
            sum.meta.bounds = Bounds::all(Interval::real(-bound, bound)?);
            // The sum with the conjugate doubles the noise of one part of a slot and takes that of
            // the other away; the conjugation's own noise is in both parts.
            sum.meta.variance = 4.0 * x.meta.variance + switched;
            self.mod1.apply(evaluator, &sum, Mod1Output { amplitude, scale })
        };
        let re = part(evaluator.add(x, &conjugate)?)?;
        if real {
            return Ok(re);
        }
        // i (conj z - z) is twice the imaginary part.
        let im = part(evaluator.mul_i(&evaluator.sub(&conjugate, x)?)?)?;
        evaluator.add(&re, &evaluator.mul_i(&im)?)
    }
}
