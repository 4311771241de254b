//! The reduction carried out on ciphertexts.

use bellerophon_mlwe as mlwe;

use super::Mod1;
use crate::noise::Noise;
use crate::polynomial::{Sensitivity, check_domain, drift};
use crate::{
    Account, Bounds, Ciphertext, Error, Evaluator, Interval, KeySpec, Meta, Params, Result,
};

/// Scales of intermediate results may drift by this many bits.
const MAX_DRIFT: f64 = 8.0;

/// How the result is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mod1Output {
    /// The result is this times `sin(2 pi x)` (or times the reduced `2 pi x`, with an arcsine).
    /// Free: it goes into the scale.
    pub amplitude: f64,
    /// Scale of the result; `amplitude * scale` should be near what the levels divide by, for what
    /// is lost there is lost in precision.
    pub scale: f64,
}

impl Mod1 {
    /// The keys that it takes on ciphertexts at `level`.
    pub fn keys(&self, level: usize) -> KeySpec {
        KeySpec::new().multiply(level)
    }

    /// The highest level, at most `most`, from which the reduction keeps its scales on an operand at the
    /// scale that the level divides by: the levels below divide by about the same. None if the chain has
    /// no such level.
    pub fn highest_level(&self, params: &Params, most: usize) -> Option<usize> {
        (self.depth()..=most.min(params.max_level()))
            .rev()
            .find(|&level| self.starts(params, level))
    }

    /// As [`highest_level`](Self::highest_level), the lowest level from `least` on.
    pub fn lowest_level(&self, params: &Params, least: usize) -> Option<usize> {
        (least.max(self.depth())..=params.max_level()).find(|&level| self.starts(params, level))
    }

    fn starts(&self, params: &Params, level: usize) -> bool {
        drift(params, self.cosine(), level, params.divisor(level)) <= MAX_DRIFT
    }

    /// Reduces every slot: from `t = x / width()` to `amplitude * sin(2 pi x)`, `depth()` levels
    /// lower.
    ///
    /// The range of the result is the one that the sine can have; where more is known (a message
    /// well within 1/4), state it with [`Ciphertext::assume_range`].
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] when the carried range of `t` leaves `bound() / width()`,
    /// [`Error::OutOfLevels`], [`Error::Drift`] when the scale of the operand is far from what its level
    /// divides by, or the levels below divide by other amounts, [`Error::MissingKey`], [`Error::Scale`] and mismatches.
    pub fn apply(
        &self,
        evaluator: &Evaluator,
        t: &Ciphertext,
        output: Mod1Output,
    ) -> Result<Ciphertext> {
        let op = "reduce modulo 1";
        evaluator.check(op, t)?;
        let Course { mut scales, sine, result } =
            self.course(op, evaluator.params(), &t.account(), output)?;
        let first = scales.pop().expect("it starts with one");
        let u = evaluator.add_scalar(t, -self.shift())?;
        let mut inner = evaluator.carry_out(op, &u, self.cosine(), first)?;
        while let Some(scale) = scales.pop() {
            inner = doubled(op, evaluator, &inner, scale)?;
        }
        if let Some(plan) = self.arcsine() {
            let of_sine = Ciphertext::at_level(evaluator.params(), inner, sine);
            let scale = output.scale * output.amplitude;
            inner = evaluator.carry_out(op, &of_sine, plan, scale)?;
        }
        Ok(Ciphertext::at_level(evaluator.params(), inner, result.meta))
    }

    /// What is known of the result, and the scales on the way.
    pub(crate) fn course(
        &self,
        op: &'static str,
        params: &Params,
        t: &Account,
        output: Mod1Output,
    ) -> Result<Course> {
        let books = params.books();
        let Account { level, meta } = *t;
        books.check_levels(op, self.depth(), level)?;
        let bound = self.bound() / self.width();
        check_domain(op, &meta.bounds, -bound, bound)?;
        crate::encode::check_scale(op, output.amplitude)?;
        crate::encode::check_scale(op, output.scale)?;
        let scale = output.scale * output.amplitude;
        let drift = drift(params, self.cosine(), level, meta.scale);
        if drift > MAX_DRIFT {
            let [log2_scale, log2_divisor] = [meta.scale, params.divisor(level)].map(f64::log2);
            return Err(Error::Drift {
                op,
                level,
                log2_scale,
                log2_divisor,
                drift,
                most: MAX_DRIFT,
            });
        }

        // Each step's result is wanted at the scale from which the next one reaches its own.
        let sine_level = level - self.cosine().depth() - self.doublings();
        // The powers in the arcsine would drift from any other scale.
        let sine_scale = if self.arcsine().is_some() { params.divisor(sine_level) } else { scale };
        let mut scales = vec![sine_scale];
        for level in (sine_level + 1..).take(self.doublings()) {
            let after = scales.last().expect("it starts with one");
            scales.push((after * params.divisor(level)).sqrt());
        }

        let rounding = mlwe::noise::rounding(params.lattice());
        let Sensitivity { input, steps } = self.mean_sensitivity();
        let input_error = meta.noise * (input / meta.scale).powi(2);
        // Steps round at a scale between those of their argument and of their result.
        let last = self.mean_arcsine();
        let step_error = (steps * steps - last * last).max(0.0) * rounding
            / meta.scale.min(sine_scale).powi(2)
            + last * last * rounding / sine_scale.min(scale).powi(2);
        let unit = Bounds::all(Interval::real(-1.0, 1.0)?);
        let sine = Meta { scale: sine_scale, bounds: unit, noise: Noise::new(rounding), ..meta };
        let largest = self.magnitude() * output.amplitude;
        let result = Account {
            level: level - self.depth(),
            meta: Meta {
                scale: output.scale,
                bounds: Bounds::all(Interval::real(-largest, largest)?),
                noise: (input_error + step_error) * (scale * scale),
                ..meta
            },
        };
        books.check_range(op, &result)?;
        Ok(Course { scales, sine, result })
    }
}

/// A reduction worked out for one operand.
pub(crate) struct Course {
    /// Scales of the sine, of the angle before the last doubling, and so on; at least one.
    scales: Vec<f64>,
    /// What is known of the sine.
    sine: Meta,
    /// The result.
    pub result: Account,
}

/// `2 c^2 - 1`, to the given scale.
fn doubled(
    op: &'static str,
    evaluator: &Evaluator,
    c: &mlwe::Ciphertext,
    scale: f64,
) -> Result<mlwe::Ciphertext> {
    let lattice = evaluator.params().lattice();
    let mut square = mlwe::Tensor::square(lattice, c)?;
    square.double_assign(lattice)?;
    let mut double = evaluator.relinearised_divided(op, square)?;
    evaluator.add_constant(op, &mut double, -scale)?;
    Ok(double)
}
