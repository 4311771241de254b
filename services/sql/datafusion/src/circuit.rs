//! What the functions compute: one description for encrypted vectors and for the simulator.

use std::num::NonZeroUsize;

use bellerophon::{
    circuits::{CircuitOps, polynomial::Monomial},
    ckks::{Bounds, CiphertextMeta, CkksOps, ComposedOps, Interval, Result},
};

/// A function of vectors that consists of operations on slots.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Circuit {
    Add,
    Sub,
    Mul,
    Dot,
    Scale(f64),
    Rotate(i64),
    Polynomial(Monomial),
    SumSlots,
    Bootstrap,
    /// The quotient by a number of values, and its range if it is a mean of values in one.
    Divide(NonZeroUsize, Option<[f64; 2]>),
    /// A range that the caller promises.
    AssumeRange(f64, f64),
    /// A standard deviation of the error that the caller promises.
    AssumeError(f64),
}

impl Circuit {
    /// Evaluates the circuit on its operands: two for the first four circuits, else one.
    pub(crate) fn evaluate<E: CkksOps>(
        &self,
        on: &E,
        operands: &[&E::Ciphertext],
    ) -> Result<E::Ciphertext> {
        if let [x, y] = operands
            && !std::ptr::eq(*x, *y)
        {
            let (x, y) = cut(on, x, y)?;
            return self.of_two(on, &x, &y);
        }
        let x = operands[0];
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Dot => self.of_two(on, x, x),
            Self::Scale(factor) => on.mul_scalar(x, *factor),
            Self::Rotate(step) => on.rotate(x, *step),
            Self::Polynomial(p) => on.monomial(x, p, None),
            Self::SumSlots => sum_slots(on, x),
            Self::Bootstrap => on.bootstrap(x),
            Self::Divide(count, range) => {
                let quotient = on.mul_scalar(x, 1.0 / count.get() as f64)?;
                let Some([lo, hi]) = *range else { return Ok(quotient) };
                // A mean lies in the range of the values, its error does not.
                let bounds = Bounds::all(Interval::real(lo, hi)?);
                let meta = CiphertextMeta { bounds, ..on.metadata(&quotient).meta };
                Ok(on.with_metadata(quotient, meta))
            }
            Self::AssumeError(error) => {
                let meta = on.metadata(x).meta.assume_noise(*error)?;
                Ok(on.with_metadata(x.clone(), meta))
            }
            Self::AssumeRange(lo, hi) => Ok(on.with_range(x.clone(), Interval::real(*lo, *hi)?)),
        }
    }

    /// One of the circuits of two vectors, which may be one.
    fn of_two<E: CkksOps>(
        &self,
        on: &E,
        x: &E::Ciphertext,
        y: &E::Ciphertext,
    ) -> Result<E::Ciphertext> {
        match self {
            Self::Add => on.add(x, y),
            Self::Sub => on.sub(x, y),
            Self::Dot => sum_slots(on, &product(on, x, y)?),
            _ => product(on, x, y),
        }
    }
}

/// Two vectors of unequal numbers of values: one that has a value in every slot, as sums and
/// weights have, is cut to the values of the other.
fn cut<E: CkksOps>(
    on: &E,
    x: &E::Ciphertext,
    y: &E::Ciphertext,
) -> Result<(E::Ciphertext, E::Ciphertext)> {
    let [mx, my] = [x, y].map(|z| on.metadata(z).meta);
    let (mut x, mut y) = (x.clone(), y.clone());
    if mx.slots == my.slots && mx.len != my.len {
        if mx.len == mx.slots {
            x = on.with_len(x, my.len)?;
        } else if my.len == my.slots {
            y = on.with_len(y, mx.len)?;
        }
    }
    Ok((x, y))
}

/// A product; a square, which is cheaper, for one vector twice.
fn product<E: CkksOps>(on: &E, x: &E::Ciphertext, y: &E::Ciphertext) -> Result<E::Ciphertext> {
    match std::ptr::eq(x, y) {
        true => on.square(x),
        false => on.mul(x, y),
    }
}

/// The sum of the values in every slot, each of which is a value of the result.
fn sum_slots<E: CkksOps>(on: &E, x: &E::Ciphertext) -> Result<E::Ciphertext> {
    let slots = on.metadata(x).meta.slots;
    on.with_len(on.sum_slots(x)?, slots)
}

/// Makes vectors of a group addable: the last one may have fewer values, and counts zeros for the
/// rest. Takes a level if the padding is not known to be zero.
pub(crate) fn summand<E: CkksOps>(on: &E, x: &E::Ciphertext) -> Result<E::Ciphertext> {
    let meta = on.metadata(x).meta;
    if meta.len == meta.slots {
        return Ok(x.clone());
    }
    match meta.is_clear() {
        true => on.with_len(x.clone(), meta.slots),
        false => on.with_len(on.clear_padding(x)?, meta.slots),
    }
}
