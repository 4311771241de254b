//! Products of two vectors, squares, the rescale, and products with a real constant.

use std::borrow::Cow;

use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;
use num_complex::Complex64;

use crate::ciphertext::Ciphertext;
use crate::cost::Trace;
use crate::encode::check_scale;
use crate::eval::Evaluator;
use crate::metadata::route::Route;
use crate::refresh;
use crate::vectors::{Fused, Operand, Planned, Scope, State, Vectors, map, zip};

/// The product of two operands, or the square of one.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    pub name: &'static str,
    /// Whether a rescale follows, in the mod-down of the relinearization.
    pub rescaled: bool,
}

/// How a product is computed.
#[derive(Debug, Clone, Copy)]
pub struct ProductPlan {
    /// The routes of two factors to one level; none for a square.
    routes: Option<[Route; 2]>,
    /// The level of the product.
    level: usize,
}

impl Fused for Product {
    type Plan = ProductPlan;

    fn name(&self) -> &'static str {
        self.name
    }

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        match x {
            [x, y] => Ok(refresh::factors(a, x, y)?.into()),
            _ => Ok(vec![refresh::replenished(a, x[0], 1)?]),
        }
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<ProductPlan>> {
        let rules = scope.rules();
        let lowest = x.iter().map(|x| x.metadata.level).min().unwrap_or(0);
        if self.rescaled {
            // Refuse a missing level before the product: a failed operation records no key.
            rules.check_levels(1, lowest)?;
        }
        let (routes, product, origins) = match x {
            [x, y] => {
                let (to_x, to_y) = rules.align_factors(&x.metadata, &y.metadata);
                let left = rules.follow(&x.metadata, &to_x)?;
                let right = rules.follow(&y.metadata, &to_y)?;
                let (relation, origins) = x.joint_origins(y);
                (Some([to_x, to_y]), rules.product(&left, &right, relation)?, origins)
            }
            _ => (None, rules.square(&x[0].metadata), x[0].origins.clone()),
        };
        // The metadata count one rounding more (divided by the dropped primes) than the fused
        // operation has.
        let mut result = rules.relinearized(&product)?;
        if self.rescaled {
            result = rules.rescaled(&result)?;
        }
        Ok(Planned::one(ProductPlan { routes, level: product.level }, result, origins))
    }

    /// `(c_0 .. c_2) = x y`, and the key switch of `c_2`; its mod-down divides by `P` and by the
    /// primes of the level at once.
    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        plan: &ProductPlan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        let params = e.params();
        let limbs = params.limbs_at(plan.level);
        let dropped = match self.rescaled {
            true => limbs - params.limbs_at(plan.level - 1),
            false => 0,
        };
        let key = e.keys().relinearization(limbs)?;
        Ok(vec![match &plan.routes {
            Some([to_x, to_y]) => {
                let (x, y) = (e.routed(x[0], to_x)?, e.routed(x[1], to_y)?);
                key.multiply(&x, &y, dropped)?
            }
            None => key.multiply(&x[0].inner, &x[0].inner, dropped)?,
        }])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![match x {
            [x, y] => zip(x, y, |a, b| a * b),
            _ => map(x[0], |a| a * a),
        }])
    }

    fn trace(&self, _: &[State], plan: &ProductPlan, trace: &mut Trace<'_>) {
        trace.needs(1, |keys| keys.multiply(plan.level));
        trace.count.relinearized(plan.level, 1.0);
        if self.rescaled {
            trace.count.rescaling(plan.level);
        }
    }
}

/// The rescale: division by the primes of the level.
#[derive(Debug, Clone, Copy)]
pub struct Rescale;

impl Fused for Rescale {
    type Plan = ();

    fn name(&self) -> &'static str {
        "rescale"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        Ok(Planned::one((), scope.rules().rescaled(&x[0].metadata)?, x[0].origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], (): &()) -> Result<Vec<mlwe::Ciphertext>> {
        Ok(vec![e.divided(x[0].inner.clone())?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![x[0].to_vec()])
    }

    fn trace(&self, x: &[State], (): &(), trace: &mut Trace<'_>) {
        trace.count.rescaling(x[0].metadata.level);
    }
}

/// `c x` for a real constant, rescaled.
#[derive(Debug, Clone, Copy)]
pub struct MulScalar(pub f64);

impl Fused for MulScalar {
    /// The constant at the divisor of the level as its scale: the scale of the vector stays.
    type Plan = i128;

    fn name(&self) -> &'static str {
        "mul_scalar"
    }

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        Ok(vec![refresh::replenished(a, x[0], 1)?])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<i128>> {
        let (rules, level) = (scope.rules(), x[0].metadata.level);
        rules.check_levels(1, level)?;
        let scale = rules.params().divisor(level);
        let (product, integer) = rules.mul_scalar(&x[0].metadata, self.0, scale)?;
        Ok(Planned::one(integer, rules.rescaled(&product)?, x[0].origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], c: &i128) -> Result<Vec<mlwe::Ciphertext>> {
        let mut product = x[0].inner.clone();
        e.mul_integer_assign(&mut product, *c);
        Ok(vec![e.divided(product)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![map(x[0], |a| a * self.0)])
    }

    fn trace(&self, x: &[State], _: &i128, trace: &mut Trace<'_>) {
        trace.count.terms(x[0].metadata.level, 1.0);
        trace.count.rescaling(x[0].metadata.level);
    }
}

/// The vector at a level and a scale: a product with a constant and a rescale if the scales differ.
#[derive(Debug, Clone, Copy)]
pub struct MatchScale {
    pub scale: f64,
    pub level: usize,
}

impl Fused for MatchScale {
    type Plan = Route;

    fn name(&self) -> &'static str {
        "match_scale"
    }

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        check_scale(self.scale)?;
        let metadata = a.metadata(x[0]);
        let route = a.params().rules().match_scale(&metadata, self.scale, self.level);
        // Too few levels for the constant: a bootstrap gives the scale directly.
        Ok(vec![match refresh::is_stuck(a, metadata.level, self.level, &route) {
            true => Operand::made(a.refreshed(x[0], self.scale)?),
            false => Operand::Given(x[0]),
        }])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Route>> {
        let route = scope.rules().match_scale(&x[0].metadata, self.scale, self.level)?;
        let metadata = scope.rules().follow(&x[0].metadata, &route)?;
        Ok(Planned::one(route, metadata, x[0].origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], to: &Route) -> Result<Vec<mlwe::Ciphertext>> {
        Ok(vec![e.routed(x[0], to).map(Cow::into_owned)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![x[0].to_vec()])
    }

    fn trace(&self, _: &[State], _: &Route, _: &mut Trace<'_>) {}
}
