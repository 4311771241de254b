//! The operations on slots of a debugger: those of the evaluator, in the same ranges.

use std::ops::Range;

use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::{
    approx::{Accuracy, Approximation, Function, Sign},
    lintrans::LinearTransform,
    polynomial::{Monomial, Polynomial},
};
use bellerophon_ckks::{CkksOps, Complex64, ComposedOps, SlotValue, debugging::Watched};
use bellerophon_ring::Result;

use super::Debugger;
#[cfg(doc)]
use crate::evaluator::Evaluator;

/// # Operations on slots
/// Each has the meaning, the errors and the range of the evaluator's operation of its name.
impl Debugger<'_> {
    /// As [`Evaluator::add`].
    pub fn add(&self, x: &Watched, y: &Watched) -> Result<Watched> {
        self.stated(CkksOps::add(&*self.steps, x, y))
    }

    /// As [`Evaluator::sub`].
    pub fn sub(&self, x: &Watched, y: &Watched) -> Result<Watched> {
        self.stated(CkksOps::sub(&*self.steps, x, y))
    }

    /// As [`Evaluator::neg`].
    pub fn neg(&self, x: &Watched) -> Result<Watched> {
        self.stated(CkksOps::neg(&*self.steps, x))
    }

    /// As [`Evaluator::add_scalar`].
    pub fn add_scalar(&self, x: &Watched, c: f64) -> Result<Watched> {
        self.stated(CkksOps::add_scalar(&*self.steps, x, c))
    }

    /// As [`Evaluator::add_values`].
    pub fn add_values<T: SlotValue>(&self, x: &Watched, values: &[T]) -> Result<Watched> {
        self.stated(CkksOps::add_values(&*self.steps, x, values))
    }

    /// As [`Evaluator::mul`].
    pub fn mul(&self, x: &Watched, y: &Watched) -> Result<Watched> {
        self.stated(CkksOps::mul(&*self.steps, x, y))
    }

    /// As [`Evaluator::square`].
    pub fn square(&self, x: &Watched) -> Result<Watched> {
        self.stated(CkksOps::square(&*self.steps, x))
    }

    /// As [`Evaluator::dot`].
    pub fn dot(&self, x: &[&Watched], y: &[&Watched]) -> Result<Watched> {
        self.stated(ComposedOps::dot(&*self.steps, x, y))
    }

    /// As [`Evaluator::mul_scalar`].
    pub fn mul_scalar(&self, x: &Watched, c: f64) -> Result<Watched> {
        self.stated(CkksOps::mul_scalar(&*self.steps, x, c))
    }

    /// As [`Evaluator::mul_complex`].
    pub fn mul_complex(&self, x: &Watched, c: Complex64) -> Result<Watched> {
        self.stated(CkksOps::mul_complex(&*self.steps, x, c))
    }

    /// As [`Evaluator::mul_integer`].
    pub fn mul_integer(&self, x: &Watched, k: i64) -> Result<Watched> {
        self.stated(CkksOps::mul_integer(&*self.steps, x, k))
    }

    /// As [`Evaluator::mul_i`].
    pub fn mul_i(&self, x: &Watched) -> Result<Watched> {
        self.stated(CkksOps::mul_i(&*self.steps, x))
    }

    /// As [`Evaluator::mul_values`].
    pub fn mul_values<T: SlotValue>(&self, x: &Watched, values: &[T]) -> Result<Watched> {
        self.stated(CkksOps::mul_values(&*self.steps, x, values))
    }

    /// As [`Evaluator::dot_values`].
    pub fn dot_values<T: SlotValue>(&self, x: &[&Watched], values: &[Vec<T>]) -> Result<Watched> {
        self.stated(CkksOps::dot_values(&*self.steps, x, values))
    }

    /// As [`Evaluator::linear_combination`].
    pub fn linear_combination(
        &self,
        terms: &[(&Watched, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Watched> {
        self.stated(CkksOps::linear_combination(&*self.steps, terms, constant, scale))
    }

    /// As [`Evaluator::add_many`].
    pub fn add_many(&self, terms: &[&Watched]) -> Result<Watched> {
        self.stated(CkksOps::add_many(&*self.steps, terms))
    }

    /// As [`Evaluator::rotate`].
    pub fn rotate(&self, x: &Watched, step: i64) -> Result<Watched> {
        self.stated(CkksOps::rotate(&*self.steps, x, step))
    }

    /// As [`Evaluator::rotate_many`].
    pub fn rotate_many(&self, x: &Watched, steps: &[i64]) -> Result<Vec<Watched>> {
        self.all_stated(CkksOps::rotate_many(&*self.steps, x, steps))
    }

    /// As [`Evaluator::sum_of_rotations`].
    pub fn sum_of_rotations(&self, terms: &[(&Watched, &[i64])]) -> Result<Watched> {
        self.stated(CkksOps::sum_of_rotations(&*self.steps, terms))
    }

    /// As [`Evaluator::conjugate`].
    pub fn conjugate(&self, x: &Watched) -> Result<Watched> {
        self.stated(CkksOps::conjugate(&*self.steps, x))
    }

    /// As [`Evaluator::real_part`].
    pub fn real_part(&self, x: &Watched) -> Result<Watched> {
        self.stated(CkksOps::real_part(&*self.steps, x))
    }

    /// As [`Evaluator::sum_slots`].
    pub fn sum_slots(&self, x: &Watched) -> Result<Watched> {
        self.stated(ComposedOps::sum_slots(&*self.steps, x))
    }

    /// As [`Evaluator::inner_sum`].
    pub fn inner_sum(&self, x: &Watched, count: usize, stride: i64) -> Result<Watched> {
        self.stated(ComposedOps::inner_sum(&*self.steps, x, count, stride))
    }

    /// As [`Evaluator::replicate`].
    pub fn replicate(&self, x: &Watched, count: usize, stride: i64) -> Result<Watched> {
        self.stated(ComposedOps::replicate(&*self.steps, x, count, stride))
    }

    /// As [`Evaluator::replicate_slot`].
    pub fn replicate_slot(&self, x: &Watched, slot: usize) -> Result<Watched> {
        self.stated(ComposedOps::replicate_slot(&*self.steps, x, slot))
    }

    /// As [`Evaluator::mask`].
    pub fn mask(&self, x: &Watched, range: Range<usize>) -> Result<Watched> {
        self.stated(ComposedOps::mask(&*self.steps, x, range))
    }

    /// As [`Evaluator::mask_slots`].
    pub fn mask_slots(&self, x: &Watched, slots: &[usize]) -> Result<Watched> {
        self.stated(ComposedOps::mask_slots(&*self.steps, x, slots))
    }

    /// As [`Evaluator::clear_padding`].
    pub fn clear_padding(&self, x: &Watched) -> Result<Watched> {
        self.stated(ComposedOps::clear_padding(&*self.steps, x))
    }

    /// As [`Evaluator::move_padding`].
    pub fn move_padding(&self, x: &Watched, to: f64) -> Result<Watched> {
        self.stated(ComposedOps::move_padding(&*self.steps, x, to))
    }

    /// As [`Evaluator::transform`].
    pub fn transform(&self, x: &Watched, m: &LinearTransform) -> Result<Watched> {
        self.stated(CircuitOps::transform(&*self.steps, x, m))
    }

    /// As [`Evaluator::polynomial`].
    pub fn polynomial(&self, x: &Watched, p: &Polynomial, scale: Option<f64>) -> Result<Watched> {
        self.stated(CircuitOps::polynomial(&*self.steps, x, p, scale))
    }

    /// As [`Evaluator::polynomials`].
    pub fn polynomials(
        &self,
        x: &Watched,
        polynomials: &[(&Polynomial, Option<f64>)],
    ) -> Result<Vec<Watched>> {
        self.all_stated(CircuitOps::polynomials(&*self.steps, x, polynomials))
    }

    /// As [`Evaluator::monomial`].
    pub fn monomial(&self, x: &Watched, p: &Monomial, scale: Option<f64>) -> Result<Watched> {
        self.stated(CircuitOps::monomial(&*self.steps, x, p, scale))
    }

    /// As [`Evaluator::apply`].
    pub fn apply(&self, x: &Watched, f: &Approximation) -> Result<Watched> {
        self.stated(CircuitOps::apply(&*self.steps, x, f))
    }

    /// As [`Evaluator::function`].
    pub fn function(&self, x: &Watched, f: &Function, accuracy: Accuracy) -> Result<Watched> {
        self.stated(CircuitOps::function(&*self.steps, x, f, accuracy))
    }

    /// As [`Evaluator::sign`].
    pub fn sign(&self, x: &Watched, sign: &Sign) -> Result<Watched> {
        self.stated(CircuitOps::sign(&*self.steps, x, sign))
    }

    /// As [`Evaluator::step`].
    pub fn step(&self, x: &Watched, sign: &Sign) -> Result<Watched> {
        self.stated(CircuitOps::step(&*self.steps, x, sign))
    }

    /// As [`Evaluator::greater`].
    pub fn greater(&self, x: &Watched, y: &Watched, sign: &Sign) -> Result<Watched> {
        self.stated(CircuitOps::greater(&*self.steps, x, y, sign))
    }

    /// As [`Evaluator::max`].
    pub fn max(&self, x: &Watched, y: &Watched, sign: &Sign) -> Result<Watched> {
        self.stated(CircuitOps::max(&*self.steps, x, y, sign))
    }

    /// As [`Evaluator::min`].
    pub fn min(&self, x: &Watched, y: &Watched, sign: &Sign) -> Result<Watched> {
        self.stated(CircuitOps::min(&*self.steps, x, y, sign))
    }

    /// As [`Evaluator::abs`].
    pub fn abs(&self, x: &Watched, sign: &Sign) -> Result<Watched> {
        self.stated(CircuitOps::abs(&*self.steps, x, sign))
    }

    /// As [`Evaluator::relu`].
    pub fn relu(&self, x: &Watched, sign: &Sign) -> Result<Watched> {
        self.stated(CircuitOps::relu(&*self.steps, x, sign))
    }

    /// As [`Evaluator::drop_to_level`].
    pub fn drop_to_level(&self, x: &Watched, level: usize) -> Result<Watched> {
        self.stated(CkksOps::drop_to_level(&*self.steps, x, level))
    }

    /// As [`Evaluator::bootstrap`].
    pub fn bootstrap(&self, x: &Watched) -> Result<Watched> {
        self.stated(CircuitOps::bootstrap(&*self.steps, x))
    }

    /// As [`Evaluator::bootstrap_iterated`].
    pub fn bootstrap_iterated(&self, x: &Watched, rounds: usize) -> Result<Watched> {
        self.stated(CircuitOps::bootstrap_iterated(&*self.steps, x, rounds))
    }
}
