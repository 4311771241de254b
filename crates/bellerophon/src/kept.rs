//! Ranges that a program states: of one vector, or of every result of an evaluator.

use std::ops::RangeInclusive;

use bellerophon_ckks::{Bounds, Ciphertext, CiphertextMeta, ComposedOps, Interval};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};

use crate::error;
use crate::evaluator::Evaluator;
use crate::message::real;

/// Results whose range an evaluator can state: a vector, or several.
pub(crate) trait Kept: Sized {
    /// The same with a stated range.
    fn within(self, server: &Evaluator, range: Interval) -> Result<Self>;
}

impl Kept for Ciphertext {
    fn within(self, server: &Evaluator, range: Interval) -> Result<Self> {
        server.stated_in(self, range)
    }
}

impl Kept for Vec<Ciphertext> {
    fn within(self, server: &Evaluator, range: Interval) -> Result<Self> {
        self.into_iter().map(|x| server.stated_in(x, range)).collect()
    }
}

impl Evaluator {
    /// This evaluator with a range in which all results of its operations on slots are stated to
    /// lie, as by [`assume_range`](Self::assume_range): sums, products, rotations, polynomials and
    /// bootstraps, not maps, look-ups and circuits, nor operations of a generic program, which are
    /// those of `CkksOps`. A loop whose values keep a range then runs any number of times, with
    /// bootstraps where levels run out ([`with_auto_bootstrap`](Self::with_auto_bootstrap)). A
    /// tighter range that follows from an operation is kept. Cheap: a clone without the range
    /// serves the steps that leave it.
    ///
    /// The statement is a promise: it must hold for every result, also between the steps of a loop.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, insecure.
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Bootstrapping))?)?;
    /// let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap())?;
    /// let server = Evaluator::new(keys)?.with_auto_bootstrap()?.keep_within(-1.0..=1.0)?;
    /// let x = client.encrypt(&[1.0, -1.0, 0.9], -1.0..=1.0)?;
    /// let mut y = x.clone();
    /// for _ in 0..8 {
    ///     y = server.mul(&y, &x)?;
    /// }
    /// assert_eq!(*y.range(), *x.range());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Operations of the result refuse a range that has no value in common with the one that they
    /// derive ([`ErrorKind::Declaration`]).
    pub fn keep_within(mut self, range: RangeInclusive<f64>) -> Result<Self> {
        self.kept = Some(real(&range)?);
        Ok(self)
    }

    /// Declares a range of the values that interval arithmetic cannot derive: the range of a
    /// polynomial, of a sum that cancels, of data that the caller knows.
    ///
    /// The declaration is a promise: a value outside the range invalidates later checks and
    /// results. It includes the error: the range must hold for the values of the exact program and
    /// for those that decryption would return. A loop that declares a range in every step can
    /// therefore run indefinitely ([`keep_within`](Self::keep_within) does so), and
    /// [`Metadata::noise`](bellerophon_ckks::Metadata::noise) accumulates the error of all its
    /// steps.
    ///
    /// The declaration speaks of the values alone. Padding, the slots behind them, has a range of
    /// its own: where that is narrow and leaves the declared range, the padding is moved into it,
    /// and bootstraps clear it.
    ///
    /// # Errors
    /// [`ErrorKind::Declaration`] if the range has no value in common with the carried range.
    pub fn assume_range(&self, x: &Ciphertext, range: RangeInclusive<f64>) -> Result<Ciphertext> {
        operation("assume_range", || {
            let stated = real(&range)?;
            check_common(x.range(), &stated)?;
            self.with_stated(x.clone(), stated)
        })
    }

    /// A result in the range of [`keep_within`](Self::keep_within), if there is one.
    pub(crate) fn stated<T: Kept>(&self, result: T) -> Result<T> {
        match self.kept {
            Some(range) => result.within(self, range),
            None => Ok(result),
        }
    }

    /// `x` stated to lie in the part of a range that its carried range leaves.
    fn stated_in(&self, x: Ciphertext, range: Interval) -> Result<Ciphertext> {
        let known = *x.range();
        check_common(&known, &range)?;
        if !known.is_real() {
            // A statement of reals would be false of complex slots.
            return Ok(x);
        }
        let (lo, hi) = (known.lo().max(range.lo()), known.hi().min(range.hi()));
        self.with_stated(x, Interval::real(lo, hi)?)
    }

    /// `x` with a stated range, its padding moved into it where that takes no level.
    fn with_stated(&self, x: Ciphertext, range: Interval) -> Result<Ciphertext> {
        // Only the metadata change. `from_parts` checks that the range fits the modulus.
        let origins = x.origins().clone();
        let (lattice, meta) = x.into_parts();
        let meta = meta.assume_range(range);
        let x = Ciphertext::from_parts(self.arithmetic.params(), lattice, meta)?.of(origins);
        let CiphertextMeta { len, slots, bounds: Bounds { values, padding }, .. } = meta;
        let narrow = padding.is_real() && padding.hi() - padding.lo() <= values.hi() - values.lo();
        if len == slots || !narrow || padding.bound() <= values.bound() {
            return Ok(x);
        }
        // Without room for the constant at this level the padding stays.
        let zero = values.lo() <= 0.0 && 0.0 <= values.hi();
        let to = if zero { 0.0 } else { 0.5 * values.lo() + 0.5 * values.hi() };
        Ok(self.arithmetic.move_padding(&x, to).unwrap_or(x))
    }
}

/// Refuses a statement that contradicts the carried range.
fn check_common(known: &Interval, stated: &Interval) -> Result<()> {
    if stated.hi() < known.lo() || stated.lo() > known.hi() {
        let (known, stated) = (known.lo()..=known.hi(), stated.lo()..=stated.hi());
        return Err(error::contradiction(known, stated));
    }
    Ok(())
}
