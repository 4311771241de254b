//! Products of two vectors, and squares.

use bellerophon_ring::Result;
use num_complex::Complex64;

use crate::ciphertext::Ciphertext;
use crate::cost::Trace;
use crate::eval::Evaluator;
use crate::metadata::route::Route;
use crate::refresh;
use crate::vectors::{Fused, Operands, Phases, Planned, Scope, State, Vectors, map, zip};

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

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
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
    fn run(&self, e: &Evaluator, x: &[&Ciphertext], plan: &ProductPlan) -> Result<Phases> {
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
