//! The refresh itself, and the evaluator's access to it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bellerophon_mlwe as mlwe;

use super::{BootstrapKeys, Bootstrapper, course::Course, precise};
use crate::dft::Coefficients;
use crate::{Account, Ciphertext, Error, Evaluator, FailureProbability, Meta, Result};

/// What an evaluator refreshes with.
#[derive(Debug, Clone)]
pub(crate) struct Refresher {
    pub bootstrapper: Arc<Bootstrapper>,
    pub keys: BootstrapKeys,
    /// Whether operands are refreshed when their levels run out.
    pub automatic: bool,
    /// Refreshes begun, by all evaluators that share it.
    begun: Arc<AtomicU64>,
}

impl Evaluator {
    /// The same evaluator, able to refresh. The memory in which a refresh works is fetched now.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RouteMismatch`] or [`Error::KeyMismatch`] when the parts do
    /// not belong together, keys for a sparse secret of another weight among them.
    pub fn with_refresh(
        mut self,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
        keys: BootstrapKeys,
    ) -> Result<Self> {
        let op = "add refreshing to an evaluator";
        let bootstrapper = bootstrapper.into();
        self.params().check_chain(op, &bootstrapper.params)?;
        self.params().check_route(op, bootstrapper.params.route())?;
        let (found, needed) =
            (keys.to_sparse().shape().to.fingerprint, bootstrapper.low.fingerprint());
        if found != needed {
            return Err(mlwe::Error::ParamsMismatch { op, found, needed })?;
        }
        if keys.secret_id() != self.keys().secret_id() {
            let (left, right) = (self.keys().secret_id(), keys.secret_id());
            return Err(Error::KeyMismatch { op, left, right });
        }
        bootstrapper.reserve();
        self.refresher =
            Some(Refresher { bootstrapper, keys, automatic: false, begun: Arc::default() });
        Ok(self)
    }

    /// What it refreshes with, if it can.
    pub fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        self.refresher.as_ref().map(|refresher| &refresher.bootstrapper)
    }

    /// A bound on the probability that any value of any vector that was refreshed came back as garbage: the
    /// sum of [`BootstrapSpec::log2_failure`](super::BootstrapSpec::log2_failure) over all refreshes so far,
    /// those that [`refreshing_by_itself`](Self::refreshing_by_itself) made included. Copies of an evaluator
    /// add up into one sum; [`counting_anew`](Self::counting_anew) begins another. Nothing else fails.
    pub fn failures(&self) -> FailureProbability {
        let none = FailureProbability::NONE;
        self.refresher.as_ref().map_or(none, |Refresher { bootstrapper, begun, .. }| {
            none.and(bootstrapper.spec().log2_failure, begun.load(Ordering::Relaxed))
        })
    }

    /// The same evaluator with a sum of [`failures`](Self::failures) of its own, of nothing so far: for one
    /// program of several.
    pub fn counting_anew(mut self) -> Self {
        if let Some(refresher) = &mut self.refresher {
            refresher.begun = Arc::default();
        }
        self
    }

    /// The same vector with new levels: [`Bootstrapper::output_level`], at the default scale. The
    /// operand needs no more than [`Bootstrapper::input_level`] levels; those above are given up.
    ///
    /// Real vectors (by their carried range) take about half the time of complex ones.
    ///
    /// What must not wrap is the carried range and the [excess](Ciphertext::excess) together. The error
    /// against the exact program ([`Ciphertext::noise`]) may be any: a loop that states its range in
    /// every step ([`Ciphertext::assume_range`]) refreshes without end.
    ///
    /// # Errors
    /// [`Error::MissingKey`] for an evaluator without [`with_refresh`](Self::with_refresh) or keys
    /// of [`Bootstrapper::keys`], [`Error::OutOfLevels`] below the input level,
    /// [`Error::SlotCount`] for too many slots, [`Error::RangeOverflow`] for values above
    /// [`BootstrapSpec::bound`](super::BootstrapSpec::bound) (in proportion to the scale), their excess
    /// included, and mismatches.
    pub fn refresh(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.refresh_to(x, self.params().scale())
    }

    /// As [`refresh`](Self::refresh) to the given scale, which costs precision where it is smaller than
    /// the default one.
    ///
    /// # Errors
    /// [`Error::Scale`], and as for [`refresh`](Self::refresh).
    pub fn refresh_to(&self, x: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        let op = "refresh";
        let level = self.params().max_level();
        let missing = Error::MissingKey { op, key: "bootstrapping key", level };
        let Refresher { bootstrapper, keys, begun, .. } = self.refresher.as_ref().ok_or(missing)?;
        self.check(op, x)?;
        let turns = |x: &Account, step| self.turn(op, x, step);
        let course = bootstrapper.course(op, &x.account(), scale, &turns)?;
        begun.fetch_add(1, Ordering::Relaxed);
        let low = self.drop_to_level(x, bootstrapper.input_level())?;
        let enlarged = self.mul_integer(&low, course.factor)?;
        let lowered = bootstrapper.s2c.apply(self, &enlarged)?;
        let raised = bootstrapper.raise(op, self, keys, lowered, &course)?;
        let slots = bootstrapper.c2s.apply(self, &raised)?;
        let real = x.meta().bounds.slots().is_real();
        let mut result = bootstrapper.reduce(self, &slots, real, &course)?;
        result.meta = course.result.meta;
        Ok(result)
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
        precise::refreshed(self, x, rounds).map_err(|error| error.named("refresh precisely"))
    }

    /// The same evaluator, refreshing by itself: whatever takes levels refreshes its operands first
    /// where it would otherwise leave less than a refresh needs ([`Bootstrapper::input_level`]).
    /// Operands below that level already are taken as they are.
    ///
    /// That holds for products (also those that are left unscaled, since a rescaling is to come),
    /// constants, plaintexts, sums of products, polynomials and powers, transforms, scales that are
    /// matched, and what is made of them. Functions and comparisons of more levels than there are
    /// between two refreshes ([`Bootstrapper::levels`]) refresh on the way; a single polynomial
    /// cannot.
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

    /// Whether operands are refreshed when their levels run out.
    pub fn refreshes_by_itself(&self) -> bool {
        self.refresher.as_ref().is_some_and(|refresher| refresher.automatic)
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
            let rotated =
                evaluator.way(op, &like, step)?.apply(evaluator.params(), &sum)?.into_owned();
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
