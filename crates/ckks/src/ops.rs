//! [`CkksOps`]: one interface for programs on ciphertexts and, as a dry run, on plain vectors.
//!
//! | module | contents |
//! | --- | --- |
//! | `sum` | sums of vectors |
//! | `unary` | negation, constants, the rescale, levels and scales of one vector |
//! | `product` | products of vectors, squares |
//! | `plain` | sums and products with plain vectors |
//! | `combination` | sums of products and multiples with one rescale |
//! | `rotation` | rotations, sums of rotations, conjugation |

mod combination;
pub mod plain;
mod product;
pub mod rotation;
pub mod sum;
mod unary;

use std::{borrow::Borrow, ptr};

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use num_complex::Complex64;

#[cfg(doc)]
use crate::ciphertext::Ciphertext;
use crate::ciphertext::CiphertextMeta;
#[cfg(doc)]
use crate::eval::Evaluator;
use crate::interval::Interval;
use crate::slot_value::SlotValue;
#[cfg(doc)]
use crate::vectors::Fused;
use crate::vectors::{Statement, Vectors};
use combination::MulAddMany;
use plain::{AddValues, DotValues, MulValues};
use product::Product;
use rotation::{Conjugate, Rotations, SumOfRotations};
use sum::{AddMany, Sum};
use unary::{MatchScale, Unary};

/// Arithmetic on vectors of slots, by an [`Evaluator`] or by the
/// [`Simulator`](crate::simulator::Simulator), which predicts the results of a program without
/// keys. A [`Debugger`](crate::debugging::Debugger) decrypts every step of the program.
///
/// Every operation is a [`Fused`] one of [`Vectors`]: levels, scales, ranges and predicted noise
/// are equal everywhere. [`ComposedOps`](crate::ComposedOps) are composed of them.
///
/// Operations that change metadata alone (`with_len`, `broadcast`, `assume_noise`, ..) take the
/// vector by value, all others by reference.
///
/// # Errors
/// Every operation refuses vectors of other parameters ([`ErrorKind::ParamsMismatch`]) or of
/// another key ([`ErrorKind::KeyMismatch`]), two vectors of unequal numbers of values
/// ([`ErrorKind::Length`]), a result that could wrap around its modulus ([`ErrorKind::Range`]), and
/// work without its key ([`ErrorKind::MissingKey`]). Operations that take a level refuse level 0
/// ([`ErrorKind::OutOfLevels`]).
pub trait CkksOps: Vectors {
    /// Overrides the tracked metadata where the caller knows more than the rules: bounds, noise,
    /// number of values, or a scale that differs by roundings of `f64`.
    ///
    /// Wrong metadata make later checks and noise estimates invalid.
    fn with_metadata(&self, x: Self::Ciphertext, meta: CiphertextMeta) -> Self::Ciphertext {
        self.stated(Statement::Metadata, x, meta)
    }

    /// `x + y`, slot by slot.
    fn add(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.single(&Sum::Plus, &[x, y])
    }

    /// `x - y`, slot by slot.
    fn sub(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.single(&Sum::Minus, &[x, y])
    }

    /// `-x`.
    fn neg(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.single(&Unary::Neg, &[x])
    }

    /// `x + v`, the values encoded at the ciphertext's own scale and level. Padding stays as it is.
    fn add_values<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
    ) -> Result<Self::Ciphertext> {
        self.single(&AddValues { values }, &[x])
    }

    /// `x + c` in every slot. Takes no level.
    fn add_scalar(&self, x: &Self::Ciphertext, c: f64) -> Result<Self::Ciphertext> {
        self.single(&Unary::AddScalar(c), &[x])
    }

    /// `x y` relinearized but not rescaled, at the product of the scales: for sums of products with
    /// one rescale. Takes no level.
    fn mul_no_rescale(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Result<Self::Ciphertext> {
        product(self, Product { name: "mul_no_rescale", rescaled: false }, x, y)
    }

    /// `x^2` relinearized but not rescaled.
    fn square_no_rescale(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.single(&Product { name: "square_no_rescale", rescaled: false }, &[x])
    }

    /// `x y`, slot by slot: multiplied, relinearized, rescaled. Takes one level. With the same
    /// ciphertext twice (`mul(&x, &x)`) it is [`square`](Self::square).
    fn mul(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        product(self, Product { name: "mul", rescaled: true }, x, y)
    }

    /// `x^2`; its range is not negative for a real `x`. Takes one level.
    fn square(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.single(&Product { name: "square", rescaled: true }, &[x])
    }

    /// The rescale (Full-RNS HEAAN, section 4, RS): divides the phase by the primes of the level,
    /// with rounding, and drops them. The result is one level lower, its scale is divided by
    /// exactly their product ([`Params::divisor`](crate::Params::divisor)), and the message is
    /// unchanged.
    ///
    /// The noise is one rounding, also for a level of several primes.
    fn rescale(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.single(&Unary::Rescale, &[x])
    }

    /// `x v`, the values encoded so that the scale stays, rescaled. Takes one level. Padding
    /// becomes zero. One value for all slots: [`mul_scalar`](Self::mul_scalar).
    fn mul_values<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
    ) -> Result<Self::Ciphertext> {
        let product = MulValues { name: "mul_values", values, constant: false, scale: None };
        self.single(&product, &[x])
    }

    /// `x v` as [`mul_values`](Self::mul_values), with a result at the given scale.
    fn mul_values_to<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
        scale: f64,
    ) -> Result<Self::Ciphertext> {
        let (name, scale) = ("mul_values_to", Some(scale));
        self.single(&MulValues { name, values, constant: false, scale }, &[x])
    }

    /// `c x` for a real constant, rescaled; the scale stays. Takes one level.
    ///
    /// It is rounded to a multiple of one over the [divisor](crate::Params::divisor) of the level.
    fn mul_scalar(&self, x: &Self::Ciphertext, c: f64) -> Result<Self::Ciphertext> {
        self.single(&Unary::MulScalar(c), &[x])
    }

    /// Multiplies by a complex constant (see [`mul_values`](Self::mul_values)). Takes one level.
    fn mul_complex(&self, x: &Self::Ciphertext, c: Complex64) -> Result<Self::Ciphertext> {
        let (name, values) = ("mul_complex", &[c]);
        self.single(&MulValues { name, values, constant: true, scale: None }, &[x])
    }

    /// `k x` for an integer: exact, no level, the scale stays.
    fn mul_integer(&self, x: &Self::Ciphertext, k: i64) -> Result<Self::Ciphertext> {
        self.single(&Unary::MulInteger(k), &[x])
    }

    /// `i x`: a multiplication by `X^{N/2}`, exact and without a level. The slots become complex.
    fn mul_i(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.single(&Unary::MulI, &[x])
    }

    /// `sum_j x_j y_j + sum_i c_i z_i + constant` with one relinearization and one rescale, one
    /// level below the lowest operand.
    ///
    /// Products of other scales are matched to the one with the fewest spare levels, or to `scale`,
    /// which the result then has exactly: one of the factors takes a level of its own for that. If
    /// a product has none to spare, the sum takes one level more. Constants are encoded to fit.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`] for products of different scales at level 1, and for a term that was
    /// not rescaled.
    fn mul_add_many(
        &self,
        products: &[(&Self::Ciphertext, &Self::Ciphertext)],
        terms: &[(&Self::Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext> {
        let factors: Vec<f64> = terms.iter().map(|&(_, c)| c).collect();
        let pairs = products.iter().flat_map(|&(x, y)| [x, y]);
        let operands: Vec<_> = pairs.chain(terms.iter().map(|&(x, _)| x)).collect();
        self.single(&MulAddMany { factors: &factors, constant, scale }, &operands)
    }

    /// `sum_i c_i x_i + constant` of vectors of any levels and scales, with one rescale. The result
    /// has exactly `scale` (by default that of the parameters). Takes one level from the lowest
    /// operand.
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
    /// that, of the shortest sequence of rotations with keys.
    fn rotate(&self, x: &Self::Ciphertext, step: i64) -> Result<Self::Ciphertext> {
        self.single(&Rotations { name: "rotate", steps: &[step] }, &[x])
    }

    /// Several rotations of one ciphertext, in the order of `steps`, with hoisting: all rotations
    /// with a key of their own share the decomposition, the larger part of the work.
    fn rotate_many(&self, x: &Self::Ciphertext, steps: &[i64]) -> Result<Vec<Self::Ciphertext>> {
        self.fused(&Rotations { name: "rotate_many", steps }, &[x])
    }

    /// Conjugates every slot. Takes no level.
    fn conjugate(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.single(&Conjugate, &[x])
    }

    /// Drops the ciphertext to `level`: the same message modulo fewer primes, without noise.
    fn drop_to_level(&self, x: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext> {
        self.single(&MatchScale { scale: None, level }, &[x])
    }

    /// The ciphertext at the given level and scale. If the scales differ, a product with a constant
    /// and a rescale match them, which takes a level.
    fn match_scale(
        &self,
        x: &Self::Ciphertext,
        scale: f64,
        level: usize,
    ) -> Result<Self::Ciphertext> {
        self.single(&MatchScale { scale: Some(scale), level }, &[x])
    }

    /// The sum of several rotations (to the left) of several ciphertexts: one decomposition for
    /// each ciphertext, one mod-down for all. Steps without a key of their own are composed. Takes
    /// no level; different scales are aligned as in a sum.
    fn sum_of_rotations(&self, terms: &[(&Self::Ciphertext, &[i64])]) -> Result<Self::Ciphertext> {
        let (x, steps): (Vec<_>, Vec<_>) = terms.iter().copied().unzip();
        self.single(&SumOfRotations { steps: &steps }, &x)
    }

    /// `sum_i x_i v_i` at the scale of the first operand, with one rescale. Takes one level from
    /// the lowest operand. Padding becomes zero.
    fn dot_values<T: SlotValue>(
        &self,
        x: &[&Self::Ciphertext],
        values: &[Vec<T>],
    ) -> Result<Self::Ciphertext> {
        self.single(&DotValues { values }, x)
    }

    /// Overrides the range of the values, error included, with one that the caller can prove and
    /// interval arithmetic cannot. Nothing is checked; programs call
    /// [`assume_range`](crate::ComposedOps::assume_range). Padding, the slots after the values,
    /// keeps its range, and rotations make it values:
    /// [`assume_range_with_padding`](Self::assume_range_with_padding) covers it as well.
    ///
    /// Afterwards [`excess`](crate::Metadata::excess) is zero for vectors without padding. The
    /// error of padding stays in the excess, or in the range of padding once it is above `2^-14` of
    /// the width of the range.
    fn with_range(&self, x: Self::Ciphertext, range: Interval) -> Self::Ciphertext {
        let meta = self.metadata(&x).meta.assume_range(range);
        self.stated(Statement::Range, x, meta)
    }

    /// [`Ciphertext::assume_range_with_padding`]: as [`with_range`](Self::with_range) of every
    /// slot, padding included, and of its error.
    fn assume_range_with_padding(&self, x: Self::Ciphertext, range: Interval) -> Self::Ciphertext {
        let meta = self.metadata(&x).meta.assume_range_with_padding(range);
        self.stated(Statement::RangeWithPadding, x, meta)
    }

    /// States that every slot is real, where interval arithmetic cannot tell. Magnitudes and the
    /// [`excess`](crate::Metadata::excess) are unchanged.
    fn assume_real(&self, x: Self::Ciphertext) -> Self::Ciphertext {
        let meta = self.metadata(&x).meta.assume_real();
        self.stated(Statement::Real, x, meta)
    }

    /// Promises the standard deviation of a slot's error, where the caller knows more than the
    /// prediction, which adds up all steps: see [`Ciphertext::assume_noise`]. A promise in every
    /// step of a loop that contracts keeps what decides by predicted noise working: look-ups to an
    /// accuracy, comparisons, publishing.
    fn assume_noise(&self, x: Self::Ciphertext, deviation: f64) -> Result<Self::Ciphertext> {
        let meta = self.metadata(&x).meta.assume_noise(deviation)?;
        Ok(self.stated(Statement::Noise, x, meta))
    }

    /// Sets the number of slots that hold values.
    fn with_len(&self, x: Self::Ciphertext, len: usize) -> Result<Self::Ciphertext> {
        let meta = self.metadata(&x).meta;
        self.composed("with_len", || Ok(self.stated(Statement::Len, x, meta.with_len(len)?)))
    }

    /// The sum of many vectors, given themselves or by reference. Takes no level.
    fn add_many<T: Borrow<Self::Ciphertext>>(&self, terms: &[T]) -> Result<Self::Ciphertext> {
        let terms: Vec<&Self::Ciphertext> = terms.iter().map(Borrow::borrow).collect();
        self.single(&AddMany, &terms)
    }

    /// The real parts, `(x + conj(x)) / 2`, halved through the scale.
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

/// A product; a square if both factors are one vector.
fn product<A: CkksOps>(
    a: &A,
    product: Product,
    x: &A::Ciphertext,
    y: &A::Ciphertext,
) -> Result<A::Ciphertext> {
    if ptr::eq(x, y) { a.single(&product, &[x]) } else { a.single(&product, &[x, y]) }
}

impl<A: Vectors> CkksOps for A {}
