//! [`Vectors`] and [`Fused`]: vectors of slots, and the one way on which everything is computed.
//!
//! Sums and rotations are [`Fused`] operations, and so are polynomials, linear transforms and
//! bootstraps. Each has everything that is known of it in one place, and every implementation of
//! [`Vectors`] has one method for all of them:
//!
//! | | steps |
//! | --- | --- |
//! | [`Evaluator`] | operands, plan, [`run`](Fused::run) |
//! | `Simulator` | operands, plan, [`trace`](Fused::trace), [`exact`](Fused::exact) |
//! | `Debugger` | both, and a comparison of their results |
//! | `ReducingEvaluator` | the evaluator of the rank at which the operands meet |

use std::{any::Any, ops::Deref, sync::Arc};

use bellerophon_mlwe as mlwe;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{During, Result};
use num_complex::Complex64;

use crate::ciphertext::{Ciphertext, CiphertextMeta, Reading};
use crate::cost::Trace;
use crate::encode::Plaintext;
use crate::error::no_bootstrapping;
use crate::eval::Evaluator;
use crate::hook::Span;
use crate::metadata::Metadata;
use crate::metadata::rules::MetadataRules;
use crate::noise_model::NoiseModel;
use crate::origins::{Origins, Relation};
use crate::params::Params;
use crate::rotation_plan::{RotationCost, RotationCosts};

/// What a caller states of a vector, in place of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// All metadata.
    Metadata,
    /// The number of values.
    Len,
    /// The range of the values.
    Range,
    /// A range of the values, as far as it is tighter.
    Within,
    /// The range of every slot.
    RangeWithPadding,
    /// That every slot is real.
    Real,
    /// The error of a slot.
    Noise,
}

impl Statement {
    /// The operation that states it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Metadata => "with_metadata",
            Self::Len => "with_len",
            Self::Range => "assume_range",
            Self::Within => "keep_within",
            Self::RangeWithPadding => "assume_range_with_padding",
            Self::Real => "assume_real",
            Self::Noise => "assume_noise",
        }
    }
}

/// Vectors of slots: ciphertexts of an [`Evaluator`], or plain vectors of a simulator in their
/// place. [`CkksOps`](crate::CkksOps) has the operations on them.
pub trait Vectors: Sized {
    /// The vectors: ciphertexts, or plain vectors in their place.
    type Ciphertext: Clone;

    /// The parameters.
    fn params(&self) -> &Params;

    /// Level, scale, ranges and predicted noise.
    fn metadata(&self, x: &Self::Ciphertext) -> Metadata;

    /// `x` with metadata that a caller states.
    #[doc(hidden)]
    fn stated(
        &self,
        statement: Statement,
        x: Self::Ciphertext,
        meta: CiphertextMeta,
    ) -> Self::Ciphertext;

    /// The vector as a message of its own: its error is part of the message, and the metadata start
    /// anew.
    #[doc(hidden)]
    fn as_message(&self, x: Self::Ciphertext, meta: CiphertextMeta) -> Self::Ciphertext {
        self.stated(Statement::Metadata, x, meta)
    }

    /// The encryptions whose errors a vector carries.
    fn origins(&self, x: &Self::Ciphertext) -> Origins;

    /// States whose errors a vector carries, and how, where the caller knows more than the rules:
    /// see [`Origins`]. Wrong statements make later noise estimates too small.
    fn with_origins(&self, x: Self::Ciphertext, origins: Origins) -> Self::Ciphertext;

    /// The same phase in another reading.
    #[doc(hidden)]
    fn read_as(&self, x: Self::Ciphertext, reading: Reading) -> Result<Self::Ciphertext>;

    /// Multiplies the message by a positive constant: the scale is divided by the constant. This is
    /// exact and free, but the scale then differs from that of other ciphertexts.
    fn reinterpret_scale(&self, x: Self::Ciphertext, factor: f64) -> Result<Self::Ciphertext> {
        self.read_as(x, Reading::Multiplied(factor))
    }

    /// Reads the vector as one of more slots that repeats its slots, padding included. The
    /// repetitions are nonzero padding, which a bootstrap clears, until
    /// [`with_len`](crate::CkksOps::with_len) makes them values. Free.
    fn repeated(&self, x: Self::Ciphertext, slots: usize) -> Result<Self::Ciphertext> {
        self.read_as(x, Reading::Repeated(slots))
    }

    /// Repeats a vector without padding to `len` values; a vector of one value becomes that value
    /// `len` times. Free.
    ///
    /// ```
    /// use bellerophon_ckks::{CkksOps, ErrorKind, Interval, Vectors, simulator::Simulator};
    /// # use bellerophon_ckks::{LevelGroup, ModulusChain, Params, ParamsSpec, Security};
    /// # let levels = vec![LevelGroup::single(40, 2)];
    /// # let chain = ModulusChain { degree: 1 << 8, first_bits: 50, levels, special: (50, 1) };
    /// # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
    /// let (a, range) = (Simulator::new(&params), Interval::real(0.0, 4.0)?);
    /// let (x, two) = (a.encrypt(&[1.0, 2.0, 3.0], range, 2)?, a.encrypt(&[2.0], range, 2)?);
    /// let refused = a.mul(&x, &two).unwrap_err();
    /// assert!(refused.is(&ErrorKind::Length, "3 values against 1"));
    /// assert_eq!(a.mul(&x, &a.broadcast(two, 3)?)?.reals(), [2.0, 4.0, 6.0]);
    /// # Ok::<(), bellerophon_ckks::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a vector with padding, which would repeat its padding too.
    fn broadcast(&self, x: Self::Ciphertext, len: usize) -> Result<Self::Ciphertext> {
        self.read_as(x, Reading::Broadcast(len))
    }

    /// An operation on vectors: the one way on which everything is computed.
    fn fused<F: Fused>(
        &self,
        operation: &F,
        x: &[&Self::Ciphertext],
    ) -> Result<Vec<Self::Ciphertext>>;

    /// Whether a rotation of `x` by `step` has a key of its own, or needs none.
    fn rotates_by(&self, x: &Self::Ciphertext, step: i64) -> bool;

    /// The levels of the bootstraps of operands whose levels run out, if they are automatic.
    fn refreshes(&self) -> Option<Span> {
        None
    }

    /// An operand whose levels run out, bootstrapped.
    #[doc(hidden)]
    fn refreshed(&self, _x: &Self::Ciphertext, _scale: f64) -> Result<Self::Ciphertext> {
        Err(no_bootstrapping())
    }

    /// What a circuit keeps with its evaluator, such as a prepared bootstrap.
    fn attached<T: Any>(&self) -> Option<&T> {
        None
    }

    /// How errors add up.
    #[doc(hidden)]
    fn noise_model(&self) -> NoiseModel {
        NoiseModel::Average
    }

    /// Several operations as one, whose name their errors get.
    fn composed<T>(&self, op: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().during(op)
    }

    /// An operation with one result.
    fn single<F: Fused>(&self, operation: &F, x: &[&Self::Ciphertext]) -> Result<Self::Ciphertext> {
        Ok(self.fused(operation, x)?.pop().expect("one result"))
    }
}

/// An operand, possibly bootstrapped. It may occur in a sum several times.
#[derive(Debug)]
pub enum Operand<'c, T> {
    /// The operand as it was given.
    Given(&'c T),
    /// What was made of it.
    Made(Arc<T>),
}

impl<T> Operand<'_, T> {
    /// A vector that was made of an operand.
    pub fn made(x: T) -> Self {
        Self::Made(Arc::new(x))
    }
}

impl<T> Deref for Operand<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Given(x) => x,
            Self::Made(x) => x,
        }
    }
}

/// Operands as an operation takes them.
pub type Operands<'c, A> = Vec<Operand<'c, <A as Vectors>::Ciphertext>>;

/// The phases of the results of an operation.
pub type Phases = Vec<mlwe::Ciphertext>;

/// All that is known of a vector without keys.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Level, scale, ranges, noise.
    pub metadata: Metadata,
    /// The encryptions whose errors it carries.
    pub origins: Origins,
}

impl State {
    /// The origins of the errors, and the period of the slots.
    pub fn periodic(&self) -> (&Origins, usize) {
        (&self.origins, self.metadata.meta.slots)
    }

    /// Whether two operands share errors, and the origins of a result of both.
    pub fn joint_origins(&self, other: &Self) -> (Relation, Origins) {
        let slots = self.metadata.meta.slots.max(other.metadata.meta.slots);
        let [x, y] = [self, other].map(|v| v.origins.repeated(v.metadata.meta.slots, slots));
        x.with(&y, slots)
    }
}

impl Ciphertext {
    /// All that is known of it without keys.
    pub fn state(&self) -> State {
        State { metadata: self.metadata(), origins: self.origins.clone() }
    }
}

impl Plaintext {
    /// The plaintext as a vector whose noise is its rounding.
    pub fn state(&self) -> State {
        State { metadata: self.metadata(), origins: self.origins() }
    }
}

/// What is known of an operation before it is computed.
#[derive(Debug, Clone)]
pub struct Planned<P> {
    /// What the computation follows, such as routes and scales.
    pub plan: P,
    /// The results.
    pub results: Vec<State>,
}

impl<P> Planned<P> {
    /// An operation with one result.
    pub fn one(plan: P, metadata: Metadata, origins: Origins) -> Self {
        Self { plan, results: vec![State { metadata, origins }] }
    }
}

/// The rules by which metadata follow from metadata, and the cost of rotations.
#[derive(Clone, Copy)]
pub struct Scope<'s> {
    rules: MetadataRules<'s>,
    costs: RotationCosts<'s>,
}

impl<'s> Scope<'s> {
    /// Rules with the rotations of some keys.
    pub fn new(rules: MetadataRules<'s>, costs: RotationCosts<'s>) -> Self {
        Self { rules, costs }
    }

    /// The rules.
    pub fn rules(&self) -> MetadataRules<'s> {
        self.rules
    }

    /// The effect of rotations by a step of `[0, slots)`.
    pub fn costs(&self) -> RotationCosts<'s> {
        self.costs
    }

    /// The effect of one rotation.
    pub fn cost(&self, x: &Metadata, step: usize) -> Result<RotationCost> {
        (self.costs)(x, step)
    }
}

/// An operation: its metadata, its computation, its plain values and its cost.
pub trait Fused {
    /// What the metadata decide for the computation.
    type Plan;

    /// The name in errors and reports.
    fn name(&self) -> &'static str;

    /// The parameters that the operation was prepared for, if no others fit.
    fn prepared_for(&self) -> Option<&Params> {
        None
    }

    /// The operands as the operation needs them: bootstrapped where levels run out, with padding in
    /// its domain.
    fn operands<'c, A: Vectors>(&self, _: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        Ok(x.iter().map(|&x| Operand::Given(x)).collect())
    }

    /// The metadata of the results. Nothing is computed if it is refused here.
    ///
    /// # Errors
    /// Everything but missing keys of products.
    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Self::Plan>>;

    /// The phases of the results.
    ///
    /// # Errors
    /// Missing keys.
    fn run(&self, evaluator: &Evaluator, x: &[&Ciphertext], plan: &Self::Plan) -> Result<Phases>;

    /// The values of the results in exact arithmetic, all slots of one period.
    fn exact(&self, x: &[&[Complex64]], results: &[State]) -> Result<Vec<Vec<Complex64>>>;

    /// Keys, key switches and work, from the operands and the plan: none by default.
    fn trace(&self, _x: &[State], _plan: &Self::Plan, _trace: &mut Trace<'_>) {}
}

/// `f` slot by slot.
pub fn map(x: &[Complex64], f: impl Fn(Complex64) -> Complex64) -> Vec<Complex64> {
    x.iter().map(|&a| f(a)).collect()
}

/// `f` slot by slot; the shorter vector repeats.
pub fn zip(
    x: &[Complex64],
    y: &[Complex64],
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Vec<Complex64> {
    // Slot counts are powers of two, so the mask is the index modulo the slots.
    let at = |v: &[Complex64], i: usize| v[i & (v.len() - 1)];
    (0..x.len().max(y.len())).map(|i| f(at(x, i), at(y, i))).collect()
}
