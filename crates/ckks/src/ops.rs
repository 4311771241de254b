//! [`CkksOps`]: one interface for programs on ciphertexts and, as a dry run, on plain vectors.

#[cfg(doc)]
use crate::ErrorKind;
use std::sync::Arc;

#[cfg(doc)]
use crate::{Ciphertext, Evaluator};
use crate::{
    CiphertextMeta, Complex64, During, Interval, Metadata, Origins, Params, Result, SlotValue,
    bootstrap::{Bootstrapper, iterated},
    error,
    fbt::{FbtInput, FunctionalBootstrapper, Integers, PairedVec, PeriodicFunction, paired},
    lintrans::LinearTransform,
    polynomial::{Monomial, Polynomial, PowerBasis},
};
#[cfg(doc)]
use bellerophon_mlwe as mlwe;

/// Arithmetic on vectors of slots, by an [`Evaluator`] or by the
/// [`Simulator`](crate::simulator::Simulator), which predicts the results of a program without
/// keys. A [`Debugger`](crate::debugging::Debugger) decrypts every step of the program.
///
/// Every operation has the meaning and the errors of the evaluator's operation of that name;
/// levels, scales, ranges and predicted noise are equal. Sums, masks, functions and comparison are
/// composed of these operations: [`ComposedOps`](crate::ComposedOps).
pub trait CkksOps: Sized {
    /// The vectors: ciphertexts, or plain vectors in their place.
    type Ciphertext: Clone;

    /// The powers in a [`PowerBasis`].
    type Powers;

    /// The parameters.
    fn params(&self) -> &Params;

    /// Level, scale, ranges and predicted noise.
    fn metadata(&self, x: &Self::Ciphertext) -> Metadata;

    /// `x + y`, slot by slot.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] for vectors of unequal length,
    /// [`mlwe::ErrorKind::KeyMismatch`], [`mlwe::ErrorKind::ParamsMismatch`],
    /// [`ErrorKind::Scale`], [`ErrorKind::Range`].
    fn add(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// `x - y`, slot by slot. Errors as for [`add`](Self::add).
    fn sub(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// `-x`.
    ///
    /// # Errors
    /// [`mlwe::ErrorKind::KeyMismatch`], [`mlwe::ErrorKind::ParamsMismatch`].
    fn neg(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// `x + v`, the values encoded at the ciphertext's own scale and level. Padding stays as it is.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless there are as many values as `x` has, and those of
    /// [`add`](Self::add) and of [`Encoder::encode`](crate::Encoder::encode).
    fn add_values<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
    ) -> Result<Self::Ciphertext>;

    /// `x + c` in every slot. Takes no level.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`], [`ErrorKind::Range`] and those of [`add`](Self::add).
    fn add_scalar(&self, x: &Self::Ciphertext, c: f64) -> Result<Self::Ciphertext>;

    /// `x y` relinearized but not rescaled, at the product of the scales: for sums of products with
    /// one rescale.
    ///
    /// # Errors
    /// As for [`mul`](Self::mul), levels apart.
    fn mul_no_rescale(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Result<Self::Ciphertext>;

    /// `x^2` relinearized but not rescaled.
    ///
    /// # Errors
    /// As for [`mul`](Self::mul), levels apart.
    fn square_no_rescale(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// `x y`, slot by slot: multiplied, relinearized, rescaled. Takes one level. With the same
    /// ciphertext twice (`mul(&x, &x)`) it is [`square`](Self::square).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfLevels`], [`ErrorKind::Length`] for vectors of unequal length,
    /// [`ErrorKind::MissingKey`] without a relinearization key, [`ErrorKind::Range`],
    /// [`mlwe::ErrorKind::KeyMismatch`], [`mlwe::ErrorKind::ParamsMismatch`].
    fn mul(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// `x^2`; its range is not negative for a real `x`. Takes one level.
    ///
    /// # Errors
    /// As for [`mul`](Self::mul).
    fn square(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// The rescale (Full-RNS HEAAN, section 4, RS): divides the phase by the primes of the level,
    /// with rounding, and drops them. The result is one level lower, its scale is divided by
    /// exactly their product ([`Params::divisor`](crate::Params::divisor)), and the message is
    /// unchanged.
    ///
    /// The noise is one rounding, also for a level of several primes.
    ///
    /// # Errors
    /// [`OutOfLevels`](crate::ErrorKind::OutOfLevels) at level 0, and those of
    /// [`add`](Self::add).
    fn rescale(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// `x v`, the values encoded so that the scale stays, rescaled. Takes one level. Padding
    /// becomes zero. One value for all slots: [`mul_scalar`](Self::mul_scalar).
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless there are as many values as `x` has, and those of
    /// [`mul_plain`](Evaluator::mul_plain) and [`Encoder::encode`](crate::Encoder::encode).
    fn mul_values<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
    ) -> Result<Self::Ciphertext>;

    /// `x v` as [`mul_values`](Self::mul_values), with a result at the given scale.
    ///
    /// # Errors
    /// As for [`mul_values`](Self::mul_values).
    fn mul_values_to<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
        scale: f64,
    ) -> Result<Self::Ciphertext>;

    /// `c x` for a real constant, rescaled; the scale stays. Takes one level.
    ///
    /// The constant is rounded to a multiple of one over the divisor of the level
    /// ([`Params::divisor`](crate::Params::divisor)).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfLevels`], [`ErrorKind::Argument`], [`ErrorKind::Range`] and
    /// mismatches.
    fn mul_scalar(&self, x: &Self::Ciphertext, c: f64) -> Result<Self::Ciphertext>;

    /// Multiplies by a complex constant (see [`mul_values`](Self::mul_values)). Takes one level.
    ///
    /// # Errors
    /// As for [`mul_values`](Self::mul_values).
    fn mul_complex(&self, x: &Self::Ciphertext, c: Complex64) -> Result<Self::Ciphertext>;

    /// `k x` for an integer: exact, no level, the scale stays.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] and mismatches.
    fn mul_integer(&self, x: &Self::Ciphertext, k: i64) -> Result<Self::Ciphertext>;

    /// `i x`: a multiplication by `X^{N/2}`, exact and without a level. The slots become complex.
    ///
    /// # Errors
    /// [`mlwe::ErrorKind::KeyMismatch`], [`mlwe::ErrorKind::ParamsMismatch`].
    fn mul_i(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// `sum_j x_j y_j + sum_i c_i z_i + constant` with one relinearization and one rescale, one
    /// level below the lowest operand.
    ///
    /// Products of other scales are matched to the one with the fewest spare levels, or to `scale`,
    /// which the result then has exactly: one of the factors takes a level of its own for that. If
    /// a product has none to spare, the sum takes one level more. Constants are encoded to fit.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`] for products of different scales at level 1,
    /// [`ErrorKind::Scale`] for a term that was not rescaled, [`ErrorKind::Length`] for an
    /// empty sum, otherwise as for [`mul`](Self::mul).
    fn mul_add_many(
        &self,
        products: &[(&Self::Ciphertext, &Self::Ciphertext)],
        terms: &[(&Self::Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// `sum_i c_i x_i + constant` with one rescaling: the terms are brought to the lowest level
    /// among them, and each constant is encoded at the scale that makes all products agree, so the
    /// `x_i` may have different levels and scales. The result has exactly `scale` (the default
    /// scale if none is given). Takes one level from the lowest operand.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] without terms, [`ErrorKind::OutOfLevels`], [`ErrorKind::Argument`],
    /// [`ErrorKind::Scale`] for a term whose scale leaves its constant less than 8 bits
    /// (one that was not rescaled), [`ErrorKind::Range`] and mismatches.
    fn linear_combination(
        &self,
        terms: &[(&Self::Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext> {
        let scale = Some(scale.unwrap_or(self.params().scale()));
        self.composed("linear_combination", || self.mul_add_many(&[], terms, constant, scale))
    }

    /// Rotates the slots to the left: slot `j` of the result is slot `j + step` of `x`, modulo the
    /// slots of `x`. Negative steps rotate to the right. Takes no level.
    ///
    /// Without a key for the step itself, the rotation is composed: of the powers of two of its
    /// non-adjacent form at a temporary rank
    /// ([`KeyLevels::rotate_hoisted`](crate::KeyLevels::rotate_hoisted)), or, without keys for
    /// that, of the shortest sequence of rotations with keys. With keys for the powers of two and
    /// their negatives that sequence is the non-adjacent form as well.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`], [`mlwe::ErrorKind::KeyMismatch`],
    /// [`mlwe::ErrorKind::ParamsMismatch`].
    fn rotate(&self, x: &Self::Ciphertext, step: i64) -> Result<Self::Ciphertext>;

    /// Several rotations of one ciphertext, in the order of `steps`, with hoisting: all rotations
    /// with a key of their own share the decomposition, the larger part of the work.
    ///
    /// # Errors
    /// As for [`rotate`](Self::rotate).
    fn rotate_many(&self, x: &Self::Ciphertext, steps: &[i64]) -> Result<Vec<Self::Ciphertext>>;

    /// Conjugates every slot. Takes no level.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`], [`mlwe::ErrorKind::KeyMismatch`],
    /// [`mlwe::ErrorKind::ParamsMismatch`].
    fn conjugate(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// `p(x)` in every slot, at the given scale (by default [`Params::scale`]).
    ///
    /// Takes [`p.levels()`](Polynomial::levels) levels when the scale of `x` is near the divisor of
    /// its level, one more otherwise.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] when the carried range of the values is not in the domain of
    /// `p`; [`ErrorKind::Length`] when that of the padding is neither in it nor narrow enough to be
    /// moved there, and no level is left to clear it; [`ErrorKind::OutOfLevels`],
    /// [`ErrorKind::MissingKey`] without a relinearization key, [`ErrorKind::Range`] and
    /// mismatches.
    fn polynomial(
        &self,
        x: &Self::Ciphertext,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// `M x`. Takes one level from the transform's own.
    ///
    /// The matrix acts on all slots: its columns multiply padding as well as values. The result has
    /// as many values as `x`.
    ///
    /// # Errors
    /// [`ErrorKind::Level`] when the operand is below the transform's level,
    /// [`ErrorKind::Length`] when it has fewer slots than the matrix (see
    /// [`broadcast`](Self::broadcast) and [`repeated`](Self::repeated)),
    /// [`ErrorKind::Shape`] when it has more, [`ErrorKind::MissingKey`],
    /// [`ErrorKind::Range`] and mismatches.
    fn transform(&self, x: &Self::Ciphertext, m: &LinearTransform) -> Result<Self::Ciphertext>;

    /// Drops the ciphertext to `level`: the same message modulo fewer primes, without noise.
    ///
    /// # Errors
    /// [`ErrorKind::Level`](crate::ErrorKind::Level) when the ciphertext is below
    /// that level; [`ErrorKind::Range`](crate::ErrorKind::Range) when the message
    /// does not fit its modulus.
    fn drop_to_level(&self, x: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// The ciphertext at the given level and scale. If the scales differ, a product with a constant
    /// and a rescale match them, which takes a level.
    ///
    /// # Errors
    /// [`ErrorKind::Level`](crate::ErrorKind::Level),
    /// [`ErrorKind::Scale`](crate::ErrorKind::Scale) without a spare level,
    /// [`ErrorKind::Range`](crate::ErrorKind::Range).
    fn match_scale(
        &self,
        x: &Self::Ciphertext,
        scale: f64,
        level: usize,
    ) -> Result<Self::Ciphertext>;

    /// Multiplies the message by a positive constant without a change of the phase: the scale is
    /// divided by the constant. This is exact and free, but the scale then differs from that of
    /// other ciphertexts.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`] if the factor or the resulting scale is not positive and finite.
    fn reinterpret_scale(&self, x: Self::Ciphertext, factor: f64) -> Result<Self::Ciphertext>;

    /// Reads the vector as one of more slots that repeats its slots, padding included. The number
    /// of values is unchanged, and the repetitions are nonzero padding, which a bootstrap clears:
    /// for programs that lay out slots themselves ([`with_len`](Self::with_len) makes them values).
    /// [`broadcast`](Self::broadcast) repeats values. Free.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] unless `slots` is a power of two from the current count to `N / 2`.
    fn repeated(&self, x: Self::Ciphertext, slots: usize) -> Result<Self::Ciphertext>;

    /// Repeats a vector without padding to `len` values; a vector of one value becomes that value
    /// `len` times. Free.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a vector with padding, which would repeat its padding too;
    /// [`ErrorKind::Argument`] if `len` is below its number of values or above `N / 2`.
    fn broadcast(&self, x: Self::Ciphertext, len: usize) -> Result<Self::Ciphertext>;

    /// Overrides the tracked metadata where the caller knows more than the rules: bounds, noise,
    /// number of values, or a scale that differs by roundings of `f64`.
    ///
    /// Wrong metadata make later checks and noise estimates invalid.
    fn with_metadata(&self, x: Self::Ciphertext, meta: CiphertextMeta) -> Self::Ciphertext;

    /// The encryptions whose errors a vector carries.
    fn origins(&self, x: &Self::Ciphertext) -> Origins;

    /// States whose errors a vector carries, and how, where the caller knows more than the rules:
    /// see [`Origins`]. Wrong statements make later noise estimates too small.
    fn with_origins(&self, x: Self::Ciphertext, origins: Origins) -> Self::Ciphertext;

    /// Several operations as one, whose name their errors get.
    ///
    /// # Errors
    /// Those of `work`.
    fn composed<T>(&self, op: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().during(op)
    }

    /// The sum of several rotations (to the left) of several ciphertexts: one decomposition for
    /// each ciphertext, one mod-down for all. Steps without a key of their own are composed. Takes
    /// no level; different scales are aligned as in a sum.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] for no rotation at all, [`ErrorKind::Scale`],
    /// [`ErrorKind::Shape`] and [`ErrorKind::Length`] unless the ciphertexts are alike,
    /// and as for [`rotate`](Self::rotate) and [`add`](Self::add).
    fn sum_of_rotations(&self, terms: &[(&Self::Ciphertext, &[i64])]) -> Result<Self::Ciphertext>;

    /// Whether a rotation of `x` by `step` has a key of its own, or needs none.
    fn rotates_by(&self, x: &Self::Ciphertext, step: i64) -> bool;

    /// `sum_i x_i v_i` at the scale of the first operand, with one rescale. Takes one level from
    /// the lowest operand. Padding becomes zero.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`] for an operand that was not rescaled, and as for
    /// [`dot_plain`](Evaluator::dot_plain) and [`Encoder::encode`](crate::Encoder::encode).
    fn dot_values<T: SlotValue>(
        &self,
        x: &[&Self::Ciphertext],
        values: &[Vec<T>],
    ) -> Result<Self::Ciphertext>;

    /// The bootstrapper, if there is one.
    fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>>;

    /// Whether operands are bootstrapped when their levels run out.
    fn auto_bootstraps(&self) -> bool;

    /// Bootstraps `x`: the same values at [`Bootstrapper::output_level`], at the given scale. The
    /// operand needs [`Bootstrapper::input_level`] levels; higher levels are dropped.
    /// [`CkksOps::bootstrap`] takes the default scale; a smaller one costs precision.
    ///
    /// Real vectors (by their carried range) take about half the time of complex ones.
    ///
    /// The carried range of the values and the [excess](Metadata::excess) together must not wrap.
    /// The error against the exact program ([`Metadata::noise`](crate::Metadata::noise)) may have
    /// any size: a loop that states its range in every step ([`assume_range`](Self::assume_range))
    /// can bootstrap without end. Padding becomes zero.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`] for an evaluator without
    /// [`with_bootstrapping`](Evaluator::with_bootstrapping) or without keys of
    /// [`Bootstrapper::keys`], [`ErrorKind::OutOfLevels`] below the input level,
    /// [`ErrorKind::Shape`] for too many slots, [`ErrorKind::Range`] for values whose
    /// magnitude and excess exceed [`BootstrapSpec::bound`](crate::bootstrap::BootstrapSpec::bound)
    /// (in proportion to the scale), [`ErrorKind::Scale`], [`ErrorKind::Cancelled`] by the callback
    /// of [`watching`](Evaluator::watching), and mismatches.
    fn bootstrap_to(&self, x: &Self::Ciphertext, scale: f64) -> Result<Self::Ciphertext>;

    /// Bootstraps `x` to the default scale: the same values at [`Bootstrapper::output_level`]. The
    /// operand needs [`Bootstrapper::input_level`] levels.
    ///
    /// # Errors
    /// Those of [`bootstrap_to`](Self::bootstrap_to).
    fn bootstrap(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.composed("bootstrap", || self.bootstrap_to(x, self.params().scale()))
    }

    /// As [`bootstrap_to`](Self::bootstrap_to), where an operation bootstraps an operand
    /// ([`auto_bootstraps`](Self::auto_bootstraps)).
    ///
    /// # Errors
    /// Those of [`bootstrap_to`](Self::bootstrap_to).
    fn bootstrap_automatically(
        &self,
        x: &Self::Ciphertext,
        scale: f64,
    ) -> Result<Self::Ciphertext> {
        self.composed("bootstrap", || self.bootstrap_to(x, scale))
    }

    /// Meta-BTS: as [`bootstrap`](Self::bootstrap), with about `rounds` times the bits of
    /// precision. Every round bootstraps the enlarged error of the round before. The result has the
    /// scale of the operand; `rounds = 1` is an ordinary bootstrap.
    ///
    /// The precision is limited by that of the operand and by one rounding at its scale.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] unless `rounds` is from 1 to 8; as for
    /// [`bootstrap`](Self::bootstrap).
    fn bootstrap_iterated(&self, x: &Self::Ciphertext, rounds: usize) -> Result<Self::Ciphertext> {
        self.composed("bootstrap_iterated", || iterated::bootstrapped(self, x, rounds))
    }

    /// The functional bootstrapper, if there is one.
    fn functional_bootstrapper(&self) -> Option<&Arc<FunctionalBootstrapper>>;

    /// Functional bootstrapping: functions of every value of `x`, each with the scale of its
    /// result, at [`FunctionalBootstrapper::output_level`]. All share the exponential and its
    /// powers: another function costs its sums only. The operand needs
    /// [`FunctionalBootstrapper::input_level`] levels, one more if no integer multiple of its scale
    /// is the scale of the circle.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`] for an evaluator without
    /// [`with_functional`](Evaluator::with_functional) or keys of [`FunctionalBootstrapper::keys`],
    /// [`ErrorKind::OutOfLevels`] below the input level, [`ErrorKind::OutOfLevels`] for too
    /// many entries, [`ErrorKind::Shape`], [`ErrorKind::Noise`] for integers whose noise a
    /// table might not remove, [`ErrorKind::Domain`] for reals that may leave the domain,
    /// [`ErrorKind::Shape`] for functions of different periods, [`ErrorKind::Cancelled`] by the
    /// callback of [`watching`](Evaluator::watching), and mismatches.
    fn functional_bootstrap(
        &self,
        x: &Self::Ciphertext,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<Self::Ciphertext>>;

    /// Functional bootstrapping: functions of the values of a vector, each at the default scale.
    /// All share the exponential and its powers.
    ///
    /// # Errors
    /// Those of [`CkksOps::functional_bootstrap`].
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

    /// The powers of `x` for the given polynomials, each at its optimal depth.
    ///
    /// ```no_run
    /// # use bellerophon_ckks::{CkksOps, Ciphertext, Evaluator, Result, polynomial::Monomial};
    /// # fn f(evaluator: &Evaluator, x: Ciphertext) -> Result<()> {
    /// let p = Monomial::new(&[1.0, 1.0, 0.5, 1.0 / 6.0])?;
    /// let q = Monomial::new(&[0.0, 1.0, 0.0, -1.0 / 6.0])?;
    /// let powers = evaluator.power_basis(&x, &[&p, &q])?;
    /// let exp = evaluator.monomial_in(&powers, &p, None)?;
    /// let sin = evaluator.monomial_in(&powers, &q, None)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::OutOfLevels`], [`ErrorKind::MissingKey`] without a relinearization key,
    /// [`ErrorKind::Range`] when a power could wrap, and mismatches.
    fn power_basis(
        &self,
        x: &Self::Ciphertext,
        polynomials: &[&Monomial],
    ) -> Result<PowerBasis<Self::Powers>>;

    /// The Chebyshev polynomials of `x`, mapped from the common domain onto `[-1, 1]`, for the
    /// given polynomials.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] without polynomials, [`ErrorKind::Domain`] when the carried
    /// range of `x` leaves the domain of any of them, [`ErrorKind::Shape`] when their domains
    /// differ, and as for [`power_basis`](Self::power_basis).
    fn chebyshev_basis(
        &self,
        x: &Self::Ciphertext,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis<Self::Powers>>;

    /// As [`monomial`](crate::ComposedOps::monomial), from computed powers.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] when a power that `p` needs is missing, and as for
    /// [`monomial`](crate::ComposedOps::monomial).
    fn monomial_in(
        &self,
        powers: &PowerBasis<Self::Powers>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// As [`polynomial`](Self::polynomial), from computed Chebyshev polynomials.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] when `p` needs another domain or a missing power, and as for
    /// [`polynomial`](Self::polynomial).
    fn polynomial_in(
        &self,
        powers: &PowerBasis<Self::Powers>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// States a range of the values that the caller can prove and interval arithmetic cannot.
    /// Padding, the slots after the values, keeps its range, and rotations make it values:
    /// [`assume_range_with_padding`](Self::assume_range_with_padding) covers it as well.
    ///
    /// The range includes the error of the values, as for
    /// [`Ciphertext::assume_range_with_padding`]: afterwards [`excess`](Metadata::excess) is zero
    /// for vectors without padding. The error of padding stays in the excess, or in the range of
    /// padding once it is above `2^-14` of the width of the range.
    ///
    /// A wrong range makes later overflow checks and noise bounds invalid.
    fn assume_range(&self, x: Self::Ciphertext, range: Interval) -> Self::Ciphertext {
        let meta = self.metadata(&x).meta.assume_range(range);
        self.with_metadata(x, meta)
    }

    /// [`Ciphertext::assume_range_with_padding`]: as [`assume_range`](Self::assume_range) of every
    /// slot, padding included, and of its error.
    fn assume_range_with_padding(&self, x: Self::Ciphertext, range: Interval) -> Self::Ciphertext {
        let meta = self.metadata(&x).meta.assume_range_with_padding(range);
        self.with_metadata(x, meta)
    }

    /// States that every slot is real, where interval arithmetic cannot tell. Magnitudes and the
    /// [`excess`](Metadata::excess) are unchanged.
    ///
    /// If the statement is false, later checks and noise estimates are meaningless.
    fn assume_real(&self, x: Self::Ciphertext) -> Self::Ciphertext {
        let meta = self.metadata(&x).meta.assume_real();
        self.with_metadata(x, meta)
    }

    /// States the standard deviation of a slot's error, where the caller knows more than worst-case
    /// derivatives tell: see [`Ciphertext::assume_noise`].
    ///
    /// # Errors
    /// Those of [`Ciphertext::assume_noise`].
    fn assume_noise(&self, x: Self::Ciphertext, deviation: f64) -> Result<Self::Ciphertext> {
        let meta = self.metadata(&x).meta.assume_noise(deviation)?;
        Ok(self.with_metadata(x, meta))
    }

    /// Sets the number of slots that hold values.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] or [`ErrorKind::TooManyValues`].
    fn with_len(&self, x: Self::Ciphertext, len: usize) -> Result<Self::Ciphertext> {
        let meta = self.metadata(&x).meta;
        self.composed("with_len", || Ok(self.with_metadata(x, meta.with_len(len)?)))
    }

    /// The sum of many vectors.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] for none of them; those of [`CkksOps::add`].
    fn add_many(&self, terms: &[&Self::Ciphertext]) -> Result<Self::Ciphertext> {
        self.composed("add_many", || {
            let (first, rest) = terms.split_first().ok_or_else(error::no_values)?;
            rest.iter().try_fold((*first).clone(), |sum, term| self.add(&sum, term))
        })
    }

    /// The real parts, `(x + conj(x)) / 2`, halved through the scale.
    ///
    /// # Errors
    /// As for [`CkksOps::conjugate`].
    fn real_part(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.composed("real_part", || {
            // The errors of both terms have one origin, and equal real parts: their amplitudes add
            // up.
            let sum = self.add(x, &self.conjugate(x)?)?;
            // The scale halves the sum, without a level.
            let half = self.reinterpret_scale(sum, 0.5)?;
            Ok(self.assume_real(half))
        })
    }
}
