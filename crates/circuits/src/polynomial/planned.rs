//! [`Polynomial`]: a Chebyshev series with the plan of its evaluation.

use bellerophon_ckks::{CiphertextMeta, Interval};

use super::plan::{Plan, Response, Sensitivity};
use crate::chebyshev::Chebyshev;

/// Sample points for a range or a mean over the domain.
pub(super) const SAMPLES: usize = 512;

/// Largest integer slope of a map onto `[-1, 1]` that takes no level.
const MAX_SLOPE: f64 = 65536.0;

/// A polynomial with the plan of its evaluation.
#[derive(Clone, PartialEq)]
pub struct Polynomial {
    pub(crate) chebyshev: Chebyshev,
    pub(crate) plan: Plan,
    sensitivity: Sensitivity,
    /// Bounds on the derivative and on [`Sensitivity::steps`] over the domain.
    pub(super) largest: Sensitivity,
}

/// Leaves out the sensitivity: it depends on coefficients that may be secret.
impl std::fmt::Debug for Polynomial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Polynomial")
            .field("chebyshev", &self.chebyshev)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Polynomial {
    /// Plans the evaluation: the least cost at the least depth.
    pub fn new(chebyshev: Chebyshev) -> Self {
        let plan = Plan::new(&chebyshev);
        // Over an even grid of [-1, 1].
        let at = |i: usize| plan.sensitivity(2.0 * i as f64 / SAMPLES as f64 - 1.0);
        let sensitivity = Sensitivity::mean((0..SAMPLES + 1).map(at));
        let most = plan.largest_over(|a| a.cos().into(), |u| plan.derivatives(u).1.powi(2));
        let largest = Sensitivity { input: chebyshev.largest_slope(), steps: most.sqrt() };
        Self { chebyshev, plan, sensitivity, largest }
    }

    pub(crate) fn domain(&self) -> (f64, f64) {
        (self.chebyshev.lo, self.chebyshev.hi)
    }

    /// The slope of the map onto `[-1, 1]` if it is an integer: the map then takes no level.
    pub(crate) fn integer_slope(&self) -> Option<i64> {
        let slope = 2.0 / (self.chebyshev.hi - self.chebyshev.lo);
        let integer = slope.round();
        let exact = (slope - integer).abs() <= 4.0 * f64::EPSILON * slope;
        (exact && (1.0..=MAX_SLOPE).contains(&integer)).then_some(integer as i64)
    }

    /// Levels of the evaluation on a ciphertext whose scale is near the primes of its level: those
    /// of the plan, and one for the map of the domain onto `[-1, 1]` unless the width of the domain
    /// is `2 / k` for an integer `k`.
    pub fn levels(&self) -> usize {
        let mapped = self.plan.depth() > 0 && self.integer_slope().is_none();
        self.plan.depth() + usize::from(mapped)
    }

    pub(crate) fn response(&self, x: &CiphertextMeta) -> Response {
        let none = Sensitivity { input: 0.0, ..self.largest };
        let at =
            |x: f64| Sensitivity { steps: 0.0, ..self.plan.sensitivity(self.chebyshev.to_unit(x)) };
        let excess = x.ends().into_iter().map(at).fold(none, Sensitivity::max);
        Response { total: self.sensitivity, peak: self.largest, bound: self.largest, excess }
    }

    /// The value of the plan at `x`, in the clear.
    pub fn eval(&self, x: f64) -> f64 {
        self.plan.eval(self.chebyshev.to_unit(x)).re
    }

    /// An interval that contains the values over a part of the domain ([`Chebyshev::extremes`]).
    pub(crate) fn range(&self, of: &Interval) -> Interval {
        let (least, most) = self.chebyshev.extremes(of.lo(), of.hi(), SAMPLES);
        Interval::between(least, most)
    }
}
