//! [`CircuitOps`]: polynomials, functions, transforms and bootstraps, for every [`CkksOps`].

use std::sync::Arc;

use bellerophon_ckks::{CkksOps, Result, noise_model::NoiseModel};
#[cfg(doc)]
use bellerophon_ckks::{ComposedOps, ErrorKind, Metadata, Params};

use crate::approx::{Accuracy, Approximation, Function, Sign, apply, compare};
#[cfg(doc)]
use crate::bootstrap::EvaluatorExt;
use crate::bootstrap::{Bootstrapper, bootstrapped, iterated};
use crate::fbt::{
    FbtInput, FunctionalBootstrapper, Integers, PairedVec, PeriodicFunction, evaluate, paired,
};
use crate::lintrans::LinearTransform;
use crate::polynomial::eval::OfPolynomial;
use crate::polynomial::shared_powers::{Monomials, Polynomials};
use crate::polynomial::{Monomial, Polynomial};

/// Circuits as operations on vectors, for every implementation of [`CkksOps`]: levels, keys, ranges
/// and predicted noise of a dry run are those of the evaluator.
///
/// # Errors
/// Those of [`CkksOps`]; [`ErrorKind::Domain`] where the carried range of the values leaves the
/// domain of a polynomial or a function: prepare it over a wider one, or promise a tighter range
/// ([`assume_range`](ComposedOps::assume_range)). [`ErrorKind::Length`] when the range of the
/// padding is neither in the domain nor narrow enough to be moved there, and no level is left to
/// clear it.
pub trait CircuitOps: CkksOps {
    /// `M x`. Takes one level from the transform's own.
    ///
    /// The matrix acts on all slots: its columns multiply padding as well as values. The result has
    /// as many values as `x`.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] when the operand has fewer slots than the matrix:
    /// [`repeated`](bellerophon_ckks::vectors::Vectors::repeated) gives it more.
    fn transform(&self, x: &Self::Ciphertext, m: &LinearTransform) -> Result<Self::Ciphertext> {
        self.single(m, &[x])
    }

    /// `p(x)` in every slot, at the given scale (by default [`Params::scale`]).
    ///
    /// Takes [`p.levels()`](Polynomial::levels) levels when the scale of `x` is near the divisor of
    /// its level, one more otherwise.
    fn polynomial(
        &self,
        x: &Self::Ciphertext,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext> {
        self.single(&OfPolynomial { p, scale }, &[x])
    }

    /// Several polynomials of one vector over one domain, with shared powers, each at a scale (by
    /// default [`Params::scale`]).
    fn polynomials(
        &self,
        x: &Self::Ciphertext,
        polynomials: &[(&Polynomial, Option<f64>)],
    ) -> Result<Vec<Self::Ciphertext>> {
        self.fused(&Polynomials(polynomials), &[x])
    }

    /// `p(x)` in every slot, real or complex, at the given scale (by default [`Params::scale`]).
    /// Takes [`Monomial::levels`] levels, and one more if the scale of `x` is far from the divisor
    /// of its level.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] when a term could wrap: state a tighter range, or use the
    /// [Chebyshev basis](Monomial::to_chebyshev).
    fn monomial(
        &self,
        x: &Self::Ciphertext,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext> {
        self.single(&Monomials { name: "monomial", list: &[(p, scale)] }, &[x])
    }

    /// Several polynomials in the monomial basis with shared powers, each at its optimal depth and
    /// at a scale (by default [`Params::scale`]).
    fn monomials(
        &self,
        x: &Self::Ciphertext,
        polynomials: &[(&Monomial, Option<f64>)],
    ) -> Result<Vec<Self::Ciphertext>> {
        self.fused(&Monomials { name: "monomials", list: polynomials }, &[x])
    }

    /// The bootstrapper, if there is one.
    fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        self.attached()
    }

    /// Bootstraps `x`: the same values at [`Bootstrapper::output_level`], at the given scale. The
    /// operand needs [`Bootstrapper::input_level`] levels; higher levels are dropped.
    /// [`bootstrap`](Self::bootstrap) takes the default scale; a smaller one costs precision.
    ///
    /// Real vectors (by their carried range) take about half the time of complex ones.
    ///
    /// The carried range of the values and the [excess](Metadata::excess) together must not wrap.
    /// The error against the exact program ([`Metadata::noise`](Metadata::noise)) may have
    /// any size: a loop that promises its range in every step
    /// ([`keep_within`](ComposedOps::keep_within)) can bootstrap without end. Padding becomes zero.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`] without [`with_bootstrapping`](EvaluatorExt::with_bootstrapping)
    /// or a key of [`Bootstrapper::keys`]; [`ErrorKind::Range`] for values whose magnitude and
    /// excess exceed [`BootstrapSpec::bound`](crate::bootstrap::BootstrapSpec::bound), in
    /// proportion to the scale; [`ErrorKind::Cancelled`] by the callback of
    /// [`watching`](EvaluatorExt::watching).
    fn bootstrap_to(&self, x: &Self::Ciphertext, scale: f64) -> Result<Self::Ciphertext> {
        self.composed("bootstrap_to", || bootstrapped(self, x, scale))
    }

    /// Bootstraps `x` to the default scale: the same values at [`Bootstrapper::output_level`]. The
    /// operand needs [`Bootstrapper::input_level`] levels.
    fn bootstrap(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.composed("bootstrap", || self.bootstrap_to(x, self.params().scale()))
    }

    /// Meta-BTS: as [`bootstrap`](Self::bootstrap), with about `rounds` times the bits of
    /// precision. Every round bootstraps the enlarged error of the round before. The result has the
    /// scale of the operand; `rounds = 1` is an ordinary bootstrap.
    ///
    /// The precision is limited by that of the operand and by one rounding at its scale.
    fn bootstrap_iterated(&self, x: &Self::Ciphertext, rounds: usize) -> Result<Self::Ciphertext> {
        self.composed("bootstrap_iterated", || match self.noise_model() {
            NoiseModel::Average => iterated::bootstrapped(self, x, rounds),
            NoiseModel::Worst => iterated::bounded(self, x, rounds),
        })
    }

    /// The functional bootstrapper, if there is one.
    fn functional_bootstrapper(&self) -> Option<&Arc<FunctionalBootstrapper>> {
        self.attached()
    }

    /// Functional bootstrapping: functions of every value of `x`, each with the scale of its
    /// result, at [`FunctionalBootstrapper::output_level`]. All share the exponential and its
    /// powers: another function costs its sums only. The operand needs
    /// [`FunctionalBootstrapper::input_level`] levels, one more if no integer multiple of its scale
    /// is the scale of the circle.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`] without [`with_functional`](EvaluatorExt::with_functional) or a
    /// key of [`FunctionalBootstrapper::keys`]; [`ErrorKind::OutOfLevels`] for too many entries;
    /// [`ErrorKind::Noise`] for integers whose noise a table might not remove;
    /// [`ErrorKind::Domain`] for reals that may leave the domain; [`ErrorKind::Shape`] for
    /// functions of different periods; [`ErrorKind::Cancelled`] by the callback of
    /// [`watching`](EvaluatorExt::watching).
    fn functional_bootstrap(
        &self,
        x: &Self::Ciphertext,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<Self::Ciphertext>> {
        self.composed("functional_bootstrap", || evaluate::functions(self, x, input, functions))
    }

    /// Functional bootstrapping: functions of the values of a vector, each at the default scale.
    /// All share the exponential and its powers.
    fn functions_of(
        &self,
        x: &PairedVec<Self::Ciphertext>,
        functions: &[&PeriodicFunction],
    ) -> Result<Vec<PairedVec<Self::Ciphertext>>> {
        self.composed("functions_of", || paired::functions_of(self, x, functions))
    }

    /// Exact sums, multiples and tables of integers.
    fn integers(&self) -> Integers<'_, Self> {
        Integers(self)
    }

    /// `f(x)` in every slot for a prepared function. Takes [`Approximation::levels`] levels (one
    /// more if the scale of `x` is far from the primes of its level).
    ///
    /// The result is at the default scale, or, for roots by Newton's iteration, near it.
    fn apply(&self, x: &Self::Ciphertext, f: &Approximation) -> Result<Self::Ciphertext> {
        self.composed("apply", || apply::apply(self, x, f))
    }

    /// `f(x)` of every value, to an accuracy over the carried range of the values:
    /// [`Approximation::new`] and [`apply`](Self::apply) at once. For many vectors over one domain,
    /// prepare once.
    fn function(
        &self,
        x: &Self::Ciphertext,
        f: &Function,
        accuracy: Accuracy,
    ) -> Result<Self::Ciphertext> {
        self.composed("function", || apply::function(self, x, f, accuracy))
    }

    /// The sign of every slot: within [`Sign::error`] of -1 or 1 for `margin <= |x|`, between them
    /// for smaller `|x|`. Takes [`Sign::levels`] levels.
    fn sign(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        self.composed("sign", || compare::sign(self, x, sign))
    }

    /// 1 where `x >= margin`, 0 where `x <= -margin`, within half of [`Sign::error`], at the cost
    /// of [`sign`](Self::sign).
    fn step(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        self.composed("step", || compare::step(self, x, sign))
    }

    /// 1 where `x > y`, 0 where `x < y`, within half of [`Sign::error`] if the two differ by at
    /// least the margin: the [`step`](Self::step) of `x - y`, whose range must be within the radius
    /// (1 for numbers of `[0, 1]`).
    fn greater(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
        sign: &Sign,
    ) -> Result<Self::Ciphertext> {
        self.composed("greater", || self.step(&self.sub(x, y)?, sign))
    }

    /// The larger of the two, slot by slot, as `y + (x - y) step(x - y)`, within half of
    /// [`Sign::magnitude_error`] for all `x` and `y` that differ by at most the radius. Takes one
    /// level more than [`sign`](Self::sign).
    fn max(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
        sign: &Sign,
    ) -> Result<Self::Ciphertext> {
        self.composed("max", || compare::max(self, x, y, sign))
    }

    /// The smaller of the two, slot by slot, as `-max(-x, -y)`; see [`max`](Self::max).
    fn min(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
        sign: &Sign,
    ) -> Result<Self::Ciphertext> {
        self.composed("min", || self.neg(&self.max(&self.neg(x)?, &self.neg(y)?, sign)?))
    }

    /// `|x|` as `x sign(x)`, within [`Sign::magnitude_error`] everywhere, best with
    /// [`Sign::for_magnitudes`]. Takes one level more than [`sign`](Self::sign).
    fn abs(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        self.composed("abs", || compare::abs(self, x, sign))
    }

    /// `max(x, 0)` as `x step(x)`, within half of [`Sign::magnitude_error`] everywhere, best with
    /// [`Sign::for_magnitudes`]. Takes one level more than [`sign`](Self::sign).
    fn relu(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        self.composed("relu", || compare::relu(self, x, sign))
    }
}

impl<A: CkksOps> CircuitOps for A {}
