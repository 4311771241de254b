//! What a refresh makes of the account of a vector, and with which constants it does it.

use std::f64::consts::TAU;

use bellerophon_mlwe as mlwe;

use super::Bootstrapper;
use crate::error::power_of_two_above;
use crate::linear::Turns;
use crate::mod1::Mod1Output;
use crate::{Account, Bounds, Error, Interval, Meta, Result, noise, turn::Turn};

/// Largest integer by which a small message is enlarged.
const MAX_ENLARGEMENT: f64 = (1u64 << 40) as f64;

/// By how much noise and a scale that drifted may take a message beyond the gap. The inverse sine, of degree 7 or more, then
/// errs less than twice as much as stated; nothing wraps below a factor of `2^(gap - 1)`.
const NOISE_SLACK: f64 = 1.0 + 1.0 / 16.0;

/// A refresh worked out for one vector. See the [module](super) for the steps.
pub(crate) struct Course {
    /// The integer by which the message is enlarged at the lowest levels.
    pub factor: i64,
    /// The coefficients modulo `Q`, in units of the width of the reduction.
    pub raised: Account,
    /// The real or the imaginary parts in the slots.
    pub part: Account,
    /// How they are reduced.
    pub output: Mod1Output,
    /// The vector again.
    pub result: Account,
}

impl Bootstrapper {
    /// What is known of a vector after it is refreshed, from what is known of it before: level, scale
    /// (the default one), ranges, noise. The error of the approximation comes on top of the noise
    /// ([`approximation_error`](Self::approximation_error)); the [excess](Account::excess) counts it.
    ///
    /// ```
    /// use bellerophon_ckks::bootstrap::{BootstrapSpec, Bootstrapper};
    /// use bellerophon_ckks::{Interval, Params, ParamsSpec, Security, shadow::Shadow};
    ///
    /// # fn main() -> bellerophon_ckks::Result<()> {
    /// // A toy ring; `ParamsSpec::bootstrapping()` is a set of 128 bits.
    /// let spec = BootstrapSpec::new(1 << 9);
    /// let chain = spec.chain(1 << 10, 42, 3, (49, 6))?;
    /// let params = Params::new(ParamsSpec::from_chain(&chain, 42, Security::Insecure)?)?;
    /// let bootstrapper = Bootstrapper::new(&params, spec)?;
    /// let unit = Interval::real(-1.0, 1.0)?;
    /// let x = Shadow::new(&params).encrypt(&[0.5, -1.0], unit, bootstrapper.input_level())?;
    /// let refreshed = bootstrapper.refreshed(x.account())?;
    /// assert_eq!(refreshed.level, bootstrapper.output_level());
    /// assert!(refreshed.estimate(&params, -20.0).bits() > 20.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Evaluator::refresh`](crate::Evaluator::refresh), keys apart.
    pub fn refreshed(&self, x: &Account) -> Result<Account> {
        let one_key = |_: &Account, step| Ok(Turn::one_key(step));
        Ok(self.course("refresh", x, self.params.scale(), &one_key)?.result)
    }

    /// As [`refreshed`](Self::refreshed) to any scale, with everything that is decided on the way.
    pub(crate) fn course(
        &self,
        op: &'static str,
        x: &Account,
        scale: f64,
        turns: Turns<'_>,
    ) -> Result<Course> {
        let books = self.params.books();
        books.check_levels(op, self.input_level(), x.level)?;
        if x.meta.slots > self.spec.slots {
            let most = self.spec.slots;
            return Err(Error::SlotCount { op, found: x.meta.slots, least: 1, most });
        }
        let low = books.drop_to_level(op, x, self.input_level())?;
        let (factor, per_value) = self.enlargement(op, &low)?;
        let enlarged = books.mul_integer(op, &low, factor)?;
        let lowered = self.s2c.course(op, &enlarged, turns)?.result;
        let raised = self.raised(op, &lowered, turns)?;
        let slots = self.c2s.course(op, &raised, turns)?.result;
        let part = self.part(op, &slots)?;
        // What a unit of a value is in the coefficients modulo q_0.
        let message = per_value * factor as f64;
        let output = Mod1Output { amplitude: self.params.divisor(0) / (message * TAU), scale };
        let mut result = self.mod1.course(op, &self.params, &part, output)?.result;
        if !x.meta.bounds.slots().is_real() {
            result = books.sum(op, &result, &books.mul_i(&result), Interval::add)?;
        }
        result.meta = Meta { scale, noise: result.meta.noise, ..x.meta };
        // The range of the operand does not include what the approximation is off by.
        let off = output.amplitude * self.mod1.approximation_error() * scale;
        result.meta.noise.excess += off * off / result.meta.slots as f64;
        books.check_range(op, &result)?;
        Ok(Course { factor, raised, part, output, result })
    }

    /// By how much a message is enlarged so that it is as large as the gap allows, and what a unit of
    /// a value is in the coefficients modulo `q_0` without that.
    fn enlargement(&self, op: &'static str, x: &Account) -> Result<(i64, f64)> {
        let bound = x.meta.bounds.slots().bound();
        let per_value = x.meta.scale * (self.s2c.options().scale / self.params.scale());
        let largest = self.params.divisor(0) * (-self.spec.log_gap).exp2();
        // Rounding of the bookkeeping alone does not make a message too large.
        let room = largest / (bound * per_value) * (1.0 + 1e-9);
        // Scales drift a little from product to product, and the noise that the range does not include
        // is enlarged with the message.
        let reach = bound + noise::worst_factor(x.meta.slots, self.spec.log2_failure) * x.excess();
        let factor = room.floor().clamp(1.0, MAX_ENLARGEMENT);
        if reach * per_value * factor > largest * NOISE_SLACK {
            return Err(Error::RangeOverflow {
                op,
                bound: power_of_two_above(reach),
                log2_scale: per_value.log2(),
                log2_modulus: largest.log2() + 1.0,
                level: 0,
            });
        }
        Ok((factor as i64, per_value))
    }

    /// The coefficients modulo `Q`, projected onto the slots of the matrices.
    fn raised(&self, op: &'static str, x: &Account, turns: Turns<'_>) -> Result<Account> {
        let (books, lattice) = (self.params.books(), self.params.lattice());
        let noise = x.meta.noise
            + mlwe::noise::key_switch(&self.low, lattice.rank(), 1)
            + mlwe::noise::raise(lattice, self.low.rank(), 1);
        // The slots of this polynomial mean nothing; its coefficients are what must not wrap.
        let bound = self.mod1.bound() / self.mod1.width();
        let most = self.params.max_slots();
        let meta = Meta {
            scale: self.params.divisor(0) * self.mod1.width(),
            slots: most,
            len: most,
            bounds: Bounds::all(Interval::complex(bound)?),
            noise,
        };
        let mut sum = Account { level: self.params.max_level(), meta };
        for step in self.trace_steps() {
            let before = sum.meta.noise;
            let rotated = books.rotated(&sum, turns(&sum, step)?);
            sum = books.sum(op, &sum, &rotated, Interval::add)?;
            // What is in the subring doubles, message and multiples of q_0; the rest vanishes.
            sum.meta.scale *= 2.0;
            sum.meta.bounds = meta.bounds;
            sum.meta.noise += before * 2.0;
        }
        sum.meta.slots = x.meta.slots;
        sum.meta.len = x.meta.len;
        Ok(sum)
    }

    /// The real or the imaginary parts of the slots.
    fn part(&self, op: &'static str, slots: &Account) -> Result<Account> {
        let books = self.params.books();
        let conjugate = books.conjugated(slots);
        let mut part = books.sum(op, slots, &conjugate, Interval::add)?;
        part.meta = part.meta.times_free(0.5)?;
        let bound = self.mod1.bound() / self.mod1.width();
        part.meta.bounds = Bounds::all(Interval::real(-bound, bound)?);
        // The sum with the conjugate doubles the noise of one part of a slot and takes that of the
        // other away; the conjugation's own noise is in both parts.
        let lattice = self.params.lattice();
        let switched = mlwe::noise::automorphism(lattice, self.params.limbs_at(slots.level));
        part.meta.noise = slots.meta.noise * 4.0 + switched;
        Ok(part)
    }
}
