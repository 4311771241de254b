//! Operations on one vector that need no key: negation, constants, the rescale, levels and scales.

use std::borrow::Cow;

use bellerophon_ring::Result;
use num_complex::Complex64;

use crate::ciphertext::Ciphertext;
use crate::cost::Trace;
use crate::encode::check_scale;
use crate::eval::Evaluator;
use crate::metadata::route::Route;
use crate::refresh;
use crate::vectors::{Fused, Operand, Operands, Phases, Planned, Scope, State, Vectors, map};

/// A negation, a constant or the rescale.
#[derive(Debug, Clone, Copy)]
pub enum Unary {
    /// `-x`.
    Neg,
    /// `x + c` in every slot.
    AddScalar(f64),
    /// `k x` for an integer: exact, without a level.
    MulInteger(i64),
    /// `i x`.
    MulI,
    /// `c x` for a real constant, rescaled.
    MulScalar(f64),
    /// The rescale: division by the primes of the level.
    Rescale,
}

impl Unary {
    fn rescales(self) -> bool {
        matches!(self, Self::MulScalar(_) | Self::Rescale)
    }
}

impl Fused for Unary {
    /// The constant as an integer at its scale; 0 without one.
    type Plan = i128;

    fn name(&self) -> &'static str {
        match self {
            Self::Neg => "neg",
            Self::AddScalar(_) => "add_scalar",
            Self::MulInteger(_) => "mul_integer",
            Self::MulI => "mul_i",
            Self::MulScalar(_) => "mul_scalar",
            Self::Rescale => "rescale",
        }
    }

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        Ok(vec![match self {
            Self::MulScalar(_) => refresh::replenished(a, x[0], 1)?,
            _ => Operand::Given(x[0]),
        }])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<i128>> {
        let (rules, State { metadata, origins }) = (scope.rules(), &x[0]);
        let (result, integer) = match *self {
            Self::Neg => (rules.negative(metadata), 0),
            Self::AddScalar(c) => rules.add_scalar(metadata, c)?,
            Self::MulInteger(k) => (rules.mul_integer(metadata, k)?, k.into()),
            Self::MulI => (rules.mul_i(metadata), 0),
            Self::MulScalar(c) => {
                rules.check_levels(1, metadata.level)?;
                // The rescale divides by the scale of the constant: that of the vector stays.
                let scale = rules.params().divisor(metadata.level);
                let (product, integer) = rules.mul_scalar(metadata, c, scale)?;
                (rules.rescaled(&product)?, integer)
            }
            Self::Rescale => (rules.rescaled(metadata)?, 0),
        };
        Ok(Planned::one(integer, result, origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], &integer: &i128) -> Result<Phases> {
        let mut result = x[0].inner.clone();
        match self {
            Self::Neg => result.neg_assign(e.params().lattice())?,
            Self::AddScalar(_) => e.add_integer(&mut result, integer),
            Self::MulInteger(_) | Self::MulScalar(_) => e.mul_integer_assign(&mut result, integer),
            Self::MulI => e.mul_i_assign(&mut result),
            Self::Rescale => {}
        }
        Ok(vec![if self.rescales() { e.divided(result)? } else { result }])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        let value = |a: Complex64| match *self {
            Self::Neg => -a,
            Self::AddScalar(c) => a + c,
            Self::MulInteger(k) => a * k as f64,
            Self::MulI => a * Complex64::I,
            Self::MulScalar(c) => a * c,
            Self::Rescale => a,
        };
        Ok(vec![map(x[0], value)])
    }

    fn trace(&self, x: &[State], _: &i128, trace: &mut Trace<'_>) {
        let level = x[0].metadata.level;
        if let Self::MulScalar(_) = self {
            trace.count.terms(level, 1.0);
        }
        if self.rescales() {
            trace.count.rescaling(level);
        }
    }
}

/// The vector at a level at most its own, and at a scale: a product with a constant and a rescale
/// if the scales differ.
#[derive(Debug, Clone, Copy)]
pub struct MatchScale {
    /// By default that of the vector.
    pub scale: Option<f64>,
    pub level: usize,
}

impl Fused for MatchScale {
    type Plan = Route;

    fn name(&self) -> &'static str {
        if self.scale.is_some() { "match_scale" } else { "drop_to_level" }
    }

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        let Some(scale) = self.scale else { return Ok(vec![Operand::Given(x[0])]) };
        check_scale(scale)?;
        let metadata = a.metadata(x[0]);
        let route = a.params().rules().match_scale(&metadata, scale, self.level);
        // Too few levels for the constant: a bootstrap gives the scale directly.
        Ok(vec![match refresh::is_stuck(a, metadata.level, self.level, &route) {
            true => Operand::made(a.refreshed(x[0], scale)?),
            false => Operand::Given(x[0]),
        }])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Route>> {
        let (rules, State { metadata, origins }) = (scope.rules(), &x[0]);
        let scale = self.scale.unwrap_or(metadata.meta.scale);
        let route = rules.match_scale(metadata, scale, self.level)?;
        Ok(Planned::one(route, rules.follow(metadata, &route)?, origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], to: &Route) -> Result<Phases> {
        Ok(vec![e.routed(x[0], to).map(Cow::into_owned)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![x[0].to_vec()])
    }
}
