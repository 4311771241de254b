//! The refresh itself, and the evaluator's access to it.

use std::{borrow::Cow, sync::Arc};

use super::{BootstrapKeys, Bootstrapper, course::Course};
use crate::dft::Coefficients;
use crate::{Account, Ciphertext, Error, Evaluator, Interval, Meta, Result, noise};

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
        let switches = |x: &Account, step| self.switches(op, x, step);
        let course = bootstrapper.course(op, &x.account(), scale, &switches)?;
        let low = self.drop_to_level(x, bootstrapper.input_level())?;
        let enlarged = self.mul_integer(&low, course.factor)?;
        let lowered = bootstrapper.s2c.apply(self, &enlarged)?;
        let raised = bootstrapper.raise(op, self, keys, lowered, &course)?;
        let slots = bootstrapper.c2s.apply(self, &raised)?;
        let real = x.meta().bounds.slots.is_real();
        let mut result = bootstrapper.reduce(self, &slots, real, &course)?;
        result.meta = course.result.meta;
        Ok(result)
    }
}

impl Bootstrapper {
    /// The coefficients modulo `Q`: `I` and the message over `q_0` in one.
    fn raise(
        &self,
        op: &'static str,
        evaluator: &Evaluator,
        keys: &BootstrapKeys,
        x: Coefficients,
        course: &Course,
    ) -> Result<Coefficients> {
        let lattice = self.params.lattice();
        let low = keys.to_sparse().switch(&self.low, &x.into_lattice())?;
        let mut sum = keys.raise().raise(lattice, &low, 1)?;
        let all = Meta { slots: self.params.max_slots(), ..course.raised.meta };
        let like = Account { meta: all, ..course.raised };
        for step in self.trace_steps() {
            let mut rotated = Cow::Borrowed(&sum);
            for key in evaluator.rotation_path(op, &like, step)? {
                rotated = Cow::Owned(key.apply(lattice, &rotated)?);
            }
            let rotated = rotated.into_owned();
            sum.add_assign(lattice, &rotated)?;
        }
        Coefficients::from_parts(&self.params, sum, course.raised.meta)
    }

    /// F_mod of real and imaginary parts: the values again.
    fn reduce(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        real: bool,
        course: &Course,
    ) -> Result<Ciphertext> {
        let conjugate = evaluator.conjugate(x)?;
        let part = |mut sum: Ciphertext| -> Result<Ciphertext> {
            sum.meta = course.part.meta;
            self.mod1.apply(evaluator, &sum, course.output)
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
