//! One interface for programs that run on ciphertexts and, beforehand, on plain vectors.

use crate::{
    Account, Ciphertext, Complex64, Error, Evaluator, Interval, Params, Result, SlotValue,
    linear::LinearTransform, polynomial::Polynomial,
};

/// Arithmetic on vectors of slots: what a program needs of an [`Evaluator`], or of the
/// [`Shadow`](crate::shadow::Shadow) that tells beforehand what would become of it.
///
/// Every operation means what the evaluator's operation of that name means and meets the same
/// errors; levels, scales, ranges and predicted noise come out the same.
///
/// ```
/// use bellerophon_ckks::{Arithmetic, Result};
///
/// /// `x^2 - 0.5 x`, summed over all slots.
/// fn energy<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
///     let y = a.sub(&a.square(x)?, &a.mul_scalar(x, 0.5)?)?;
///     a.rotate_and_sum(&y, 1, a.account(&y).meta.slots)
/// }
/// ```
pub trait Arithmetic {
    /// What is computed with: ciphertexts, or plain vectors in their place.
    type Ciphertext: Clone;

    /// The parameters.
    fn params(&self) -> &Params;

    /// Level, scale, ranges and predicted noise.
    fn account(&self, x: &Self::Ciphertext) -> Account;

    /// [`Evaluator::add`].
    fn add(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::sub`].
    fn sub(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::neg`].
    fn neg(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::add_values`].
    fn add_values<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::add_scalar`].
    fn add_scalar(&self, x: &Self::Ciphertext, c: f64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_unscaled`].
    fn mul_unscaled(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::square_unscaled`].
    fn square_unscaled(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul`].
    fn mul(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::square`].
    fn square(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::rescale`].
    fn rescale(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_values`].
    fn mul_values<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_scalar`].
    fn mul_scalar(&self, x: &Self::Ciphertext, c: f64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_complex`].
    fn mul_complex(&self, x: &Self::Ciphertext, c: Complex64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_integer`].
    fn mul_integer(&self, x: &Self::Ciphertext, k: i64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_i`].
    fn mul_i(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::combination`].
    fn combination(
        &self,
        products: &[(&Self::Ciphertext, &Self::Ciphertext)],
        terms: &[(&Self::Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::linear_combination`].
    fn linear_combination(
        &self,
        terms: &[(&Self::Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext> {
        self.combination(&[], terms, constant, Some(scale.unwrap_or(self.params().scale())))
    }

    /// [`Evaluator::rotate`].
    fn rotate(&self, x: &Self::Ciphertext, step: i64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::rotate_many`].
    fn rotate_many(&self, x: &Self::Ciphertext, steps: &[i64]) -> Result<Vec<Self::Ciphertext>>;

    /// [`Evaluator::conjugate`].
    fn conjugate(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::polynomial`].
    fn polynomial(
        &self,
        x: &Self::Ciphertext,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::transform`].
    fn transform(&self, x: &Self::Ciphertext, m: &LinearTransform) -> Result<Self::Ciphertext>;

    /// [`Evaluator::drop_to_level`].
    fn drop_to_level(&self, x: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// [`Evaluator::match_scale`].
    fn match_scale(
        &self,
        x: &Self::Ciphertext,
        scale: f64,
        level: usize,
    ) -> Result<Self::Ciphertext>;

    /// [`Ciphertext::times_free`].
    fn times_free(&self, x: Self::Ciphertext, factor: f64) -> Result<Self::Ciphertext>;

    /// [`Ciphertext::assume_range`].
    fn assume_range(&self, x: Self::Ciphertext, range: Interval) -> Self::Ciphertext;

    /// [`Ciphertext::assume_real`].
    fn assume_real(&self, x: Self::Ciphertext) -> Self::Ciphertext;

    /// [`Ciphertext::with_len`].
    fn with_len(&self, x: Self::Ciphertext, len: usize) -> Result<Self::Ciphertext>;

    /// [`Ciphertext::repeated`].
    fn repeated(&self, x: Self::Ciphertext, slots: usize) -> Result<Self::Ciphertext>;

    /// The sum of many vectors.
    ///
    /// # Errors
    /// [`Error::NoValues`] for none of them; those of [`Evaluator::add`].
    fn add_many(&self, terms: &[&Self::Ciphertext]) -> Result<Self::Ciphertext> {
        let (first, rest) = terms.split_first().ok_or(Error::NoValues { op: "add many" })?;
        rest.iter().try_fold((*first).clone(), |sum, term| self.add(&sum, term))
    }

    /// The sum of `count` rotations by `0, stride, 2 stride, ..`, by doubling: slot `j` of the
    /// result is `sum_k x[j + k stride]`. With `count * stride` the number of slots, every slot
    /// holds the sum of its residue class.
    ///
    /// # Errors
    /// [`Error::SlotCount`] when `count` is not a power of two up to the slots; those of
    /// [`Evaluator::rotate`] and [`Evaluator::add`].
    fn rotate_and_sum(
        &self,
        x: &Self::Ciphertext,
        stride: usize,
        count: usize,
    ) -> Result<Self::Ciphertext> {
        let slots = self.account(x).meta.slots;
        if !count.is_power_of_two() || count > slots {
            let op = "rotate and sum";
            return Err(Error::SlotCount { op, found: count, least: 1, most: slots });
        }
        (0..count.trailing_zeros()).try_fold(x.clone(), |sum, k| {
            let rotated = self.rotate(&sum, (stride << k) as i64)?;
            self.add(&sum, &rotated)
        })
    }

    /// The real parts, `(x + conj(x)) / 2`; the halving is one of scale.
    ///
    /// # Errors
    /// As for [`Evaluator::conjugate`].
    fn real_part(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        let sum = self.add(x, &self.conjugate(x)?)?;
        Ok(self.assume_real(self.times_free(sum, 0.5)?))
    }
}

/// On ciphertexts.
impl Arithmetic for Evaluator {
    type Ciphertext = Ciphertext;

    fn params(&self) -> &Params {
        self.params()
    }

    fn account(&self, x: &Ciphertext) -> Account {
        x.account()
    }

    fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.add(x, y)
    }

    fn sub(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.sub(x, y)
    }

    fn neg(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.neg(x)
    }

    fn add_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        self.add_values(x, values)
    }

    fn add_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        self.add_scalar(x, c)
    }

    fn mul_unscaled(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.mul_unscaled(x, y)
    }

    fn square_unscaled(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.square_unscaled(x)
    }

    fn mul(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.mul(x, y)
    }

    fn square(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.square(x)
    }

    fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.rescale(x)
    }

    fn mul_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        self.mul_values(x, values)
    }

    fn mul_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        self.mul_scalar(x, c)
    }

    fn mul_complex(&self, x: &Ciphertext, c: Complex64) -> Result<Ciphertext> {
        self.mul_complex(x, c)
    }

    fn mul_integer(&self, x: &Ciphertext, k: i64) -> Result<Ciphertext> {
        self.mul_integer(x, k)
    }

    fn mul_i(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.mul_i(x)
    }

    fn combination(
        &self,
        products: &[(&Ciphertext, &Ciphertext)],
        terms: &[(&Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        self.combination(products, terms, constant, scale)
    }

    fn rotate(&self, x: &Ciphertext, step: i64) -> Result<Ciphertext> {
        self.rotate(x, step)
    }

    fn rotate_many(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>> {
        self.rotate_many(x, steps)
    }

    fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.conjugate(x)
    }

    fn polynomial(&self, x: &Ciphertext, p: &Polynomial, scale: Option<f64>) -> Result<Ciphertext> {
        self.polynomial(x, p, scale)
    }

    fn transform(&self, x: &Ciphertext, m: &LinearTransform) -> Result<Ciphertext> {
        self.transform(x, m)
    }

    fn drop_to_level(&self, x: &Ciphertext, level: usize) -> Result<Ciphertext> {
        self.drop_to_level(x, level)
    }

    fn match_scale(&self, x: &Ciphertext, scale: f64, level: usize) -> Result<Ciphertext> {
        self.match_scale(x, scale, level)
    }

    fn times_free(&self, x: Ciphertext, factor: f64) -> Result<Ciphertext> {
        x.times_free(factor)
    }

    fn assume_range(&self, x: Ciphertext, range: Interval) -> Ciphertext {
        x.assume_range(range)
    }

    fn assume_real(&self, x: Ciphertext) -> Ciphertext {
        x.assume_real()
    }

    fn with_len(&self, x: Ciphertext, len: usize) -> Result<Ciphertext> {
        x.with_len(len)
    }

    fn repeated(&self, x: Ciphertext, slots: usize) -> Result<Ciphertext> {
        x.repeated(slots)
    }
}
