//! Operations without a level: sums, negation, constants that are added, integers, `i`.

use std::borrow::Cow;

use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;
use num_complex::Complex64;

use crate::ciphertext::Ciphertext;
use crate::cost::Trace;
use crate::eval::Evaluator;
use crate::interval::Interval;
use crate::metadata::route::Route;
use crate::vectors::{Fused, Operand, Planned, Scope, State, Vectors, map, zip};
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

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        // A bootstrap changes level and scale, so it comes before the routes are planned.
        Ok(refresh::aligned(a, x[0], x[1])?.into())
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Self::Plan>> {
        let (rules, [x, y]) = (scope.rules(), [&x[0], &x[1]]);
        let (to_x, to_y) = rules.align(&x.metadata, &y.metadata)?;
        let (left, right) = (rules.follow(&x.metadata, &to_x)?, rules.follow(&y.metadata, &to_y)?);
        let (relation, origins) = x.joint_origins(y);
        let metadata = rules.sum(&left, &right, relation, self.of_ranges())?;
        Ok(Planned::one([to_x, to_y], metadata, origins))
    }

    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        [to_x, to_y]: &Self::Plan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
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

    fn trace(&self, _: &[State], _: &Self::Plan, _: &mut Trace<'_>) {}
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

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        refresh::all_aligned(a, x)
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Self::Plan>> {
        let rules = scope.rules();
        let metadata: Vec<_> = x.iter().map(|x| x.metadata).collect();
        let routes = rules.align_all(&metadata)?;
        let mut sum: Option<State> = None;
        for (x, to) in x.iter().zip(&routes) {
            let metadata = rules.follow(&x.metadata, to)?;
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
    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        routes: &Self::Plan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
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

    fn trace(&self, _: &[State], _: &Self::Plan, _: &mut Trace<'_>) {}
}

/// `-x`.
#[derive(Debug, Clone, Copy)]
pub struct Neg;

impl Fused for Neg {
    type Plan = ();

    fn name(&self) -> &'static str {
        "neg"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        Ok(Planned::one((), scope.rules().negative(&x[0].metadata), x[0].origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], (): &()) -> Result<Vec<mlwe::Ciphertext>> {
        let mut negative = x[0].inner.clone();
        negative.neg_assign(e.params().lattice())?;
        Ok(vec![negative])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![map(x[0], |a| -a)])
    }

    fn trace(&self, _: &[State], (): &(), _: &mut Trace<'_>) {}
}

/// `x + c` in every slot.
#[derive(Debug, Clone, Copy)]
pub struct AddScalar(pub f64);

impl Fused for AddScalar {
    /// The constant at the scale of the vector.
    type Plan = i128;

    fn name(&self) -> &'static str {
        "add_scalar"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<i128>> {
        let (metadata, integer) = scope.rules().add_scalar(&x[0].metadata, self.0)?;
        Ok(Planned::one(integer, metadata, x[0].origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], c: &i128) -> Result<Vec<mlwe::Ciphertext>> {
        let mut sum = x[0].inner.clone();
        e.add_integer(&mut sum, *c);
        Ok(vec![sum])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![map(x[0], |a| a + self.0)])
    }

    fn trace(&self, _: &[State], _: &i128, _: &mut Trace<'_>) {}
}

/// `k x` for an integer.
#[derive(Debug, Clone, Copy)]
pub struct MulInteger(pub i64);

impl Fused for MulInteger {
    type Plan = ();

    fn name(&self) -> &'static str {
        "mul_integer"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        let metadata = scope.rules().mul_integer(&x[0].metadata, self.0)?;
        Ok(Planned::one((), metadata, x[0].origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], (): &()) -> Result<Vec<mlwe::Ciphertext>> {
        // No scale and no level: the integer multiplies the residues.
        let mut product = x[0].inner.clone();
        e.mul_integer_assign(&mut product, self.0.into());
        Ok(vec![product])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![map(x[0], |a| a * self.0 as f64)])
    }

    fn trace(&self, _: &[State], (): &(), _: &mut Trace<'_>) {}
}

/// `i x`.
#[derive(Debug, Clone, Copy)]
pub struct MulI;

impl Fused for MulI {
    type Plan = ();

    fn name(&self) -> &'static str {
        "mul_i"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        Ok(Planned::one((), scope.rules().mul_i(&x[0].metadata), x[0].origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], (): &()) -> Result<Vec<mlwe::Ciphertext>> {
        let mut product = x[0].inner.clone();
        e.mul_i_assign(&mut product);
        Ok(vec![product])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![map(x[0], |a| a * Complex64::I)])
    }

    fn trace(&self, _: &[State], (): &(), _: &mut Trace<'_>) {}
}

/// The vector at a lower level: the same message modulo fewer primes.
#[derive(Debug, Clone, Copy)]
pub struct DropToLevel(pub usize);

impl Fused for DropToLevel {
    type Plan = ();

    fn name(&self) -> &'static str {
        "drop_to_level"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        let metadata = scope.rules().drop_to_level(&x[0].metadata, self.0)?;
        Ok(Planned::one((), metadata, x[0].origins.clone()))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], (): &()) -> Result<Vec<mlwe::Ciphertext>> {
        Ok(vec![e.routed(x[0], &Route::drop_to(self.0)).map(Cow::into_owned)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![x[0].to_vec()])
    }

    fn trace(&self, _: &[State], (): &(), _: &mut Trace<'_>) {}
}
