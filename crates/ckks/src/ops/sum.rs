//! Sums of vectors.

use bellerophon_ring::Result;
use num_complex::Complex64;

use crate::ciphertext::Ciphertext;
use crate::eval::Evaluator;
use crate::interval::Interval;
use crate::metadata::route::Route;
use crate::vectors::{Fused, Operands, Phases, Planned, Scope, State, Vectors, zip};
use crate::{error, refresh};

/// `x + y` or `x - y`.
#[derive(Debug, Clone, Copy)]
pub enum Sum {
    /// `x + y`.
    Plus,
    /// `x - y`.
    Minus,
}

impl Sum {
    /// The rule for ranges.
    pub fn of_ranges(self) -> fn(&Interval, &Interval) -> Interval {
        match self {
            Self::Plus => Interval::add,
            Self::Minus => Interval::sub,
        }
    }
}

impl Fused for Sum {
    /// The routes of both operands to one level and one scale.
    type Plan = [Route; 2];

    fn name(&self) -> &'static str {
        match self {
            Self::Plus => "add",
            Self::Minus => "sub",
        }
    }

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        // A bootstrap changes level and scale, so it comes before the routes are planned.
        refresh::all_aligned(a, x)
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Self::Plan>> {
        let (rules, [x, y]) = (scope.rules(), [&x[0], &x[1]]);
        let (to_x, to_y) = rules.align(&x.metadata, &y.metadata)?;
        let (left, right) = (rules.follow(&x.metadata, &to_x)?, rules.follow(&y.metadata, &to_y)?);
        let (relation, origins) = x.joint_origins(y);
        let metadata = rules.sum(&left, &right, relation, self.of_ranges())?;
        Ok(Planned::one([to_x, to_y], metadata, origins))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], [to_x, to_y]: &Self::Plan) -> Result<Phases> {
        let lattice = e.params().lattice();
        let (mut sum, y) = (e.routed(x[0], to_x)?.into_owned(), e.routed(x[1], to_y)?);
        match self {
            Self::Plus => sum.add_assign(lattice, &y)?,
            Self::Minus => sum.sub_assign(lattice, &y)?,
        }
        Ok(vec![sum])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![match self {
            Self::Plus => zip(x[0], x[1], |a, b| a + b),
            Self::Minus => zip(x[0], x[1], |a, b| a - b),
        }])
    }
}

/// The sum of many vectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddMany;

impl Fused for AddMany {
    /// The routes of the vectors to one level and one scale.
    type Plan = Vec<Route>;

    fn name(&self) -> &'static str {
        "add_many"
    }

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        refresh::all_aligned(a, x)
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Self::Plan>> {
        let rules = scope.rules();
        let (routes, aligned) = rules.aligned(x.iter().map(|x| x.metadata).collect())?;
        let mut sum: Option<State> = None;
        for (x, metadata) in x.iter().zip(aligned) {
            sum = Some(match sum {
                None => State { metadata, origins: x.origins.clone() },
                Some(sum) => {
                    let (relation, origins) = sum.joint_origins(x);
                    let metadata = rules.sum(&sum.metadata, &metadata, relation, Interval::add)?;
                    State { metadata, origins }
                }
            });
        }
        Ok(Planned { plan: routes, results: vec![sum.ok_or_else(error::no_values)?] })
    }

    /// In place, which saves a copy for every term.
    fn run(&self, e: &Evaluator, x: &[&Ciphertext], routes: &Self::Plan) -> Result<Phases> {
        let mut terms = x.iter().zip(routes);
        let (first, to) = terms.next().ok_or_else(error::no_values)?;
        let mut sum = e.routed(first, to)?.into_owned();
        for (x, to) in terms {
            sum.add_assign(e.params().lattice(), &*e.routed(x, to)?)?;
        }
        Ok(vec![sum])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        let first = x[0].to_vec();
        Ok(vec![x[1..].iter().fold(first, |sum, x| zip(&sum, x, |a, b| a + b))])
    }
}
