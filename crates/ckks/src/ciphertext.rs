//! An encrypted vector: a lattice ciphertext and what is publicly known of its message.

use bellerophon_mlwe as mlwe;
use bellerophon_mlwe::KeyId;

use crate::{
    Bounds, Error, Interval, Params, Result,
    encode::{check_scale, magnitude},
    noise::{self, Noise},
};

/// What is publicly known of an encrypted vector. The library keeps it exact through every
/// operation; only code that builds ciphertexts from other schemes writes it by hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meta {
    /// The phase is the message times this. Relative error of the bookkeeping: one rounding of
    /// `f64` an operation.
    pub scale: f64,
    /// Slots of one period, a power of two; the `N / 2` slots of the ring repeat them.
    pub slots: usize,
    /// How many of them hold values that somebody put there; the rest is padding.
    pub len: usize,
    /// Ranges of the values and of the padding.
    pub bounds: Bounds,
    /// Predicted variances of the noise in one coefficient of the phase (see [`crate::noise`]).
    pub noise: Noise,
}

/// `log2` of the probability with which the error of padding may leave the range that it is given
/// where the range of the values is stated.
const LOG2_PADDING_FAILURE: f64 = -64.0;

/// Padding whose error stays below this part of a stated range keeps its range.
const SMALL_EXCESS: f64 = 1.0 / (1u64 << 10) as f64;

const ASSEMBLE: &str = "assemble a ciphertext";

impl Meta {
    /// Refuses what cannot be known of a ciphertext of so many limbs.
    ///
    /// # Errors
    /// As [`Ciphertext::from_parts`].
    pub fn check(&self, params: &Params, limbs: usize) -> Result<()> {
        let op = ASSEMBLE;
        check_scale(op, self.scale)?;
        let most = params.max_slots();
        if !self.slots.is_power_of_two() || self.slots > most {
            return Err(Error::SlotCount { op, found: self.slots, least: 1, most });
        }
        if self.len == 0 {
            return Err(Error::NoValues { op });
        }
        if self.len > self.slots {
            return Err(Error::TooManyValues { op, found: self.len, slots: self.slots });
        }
        let Noise { total, excess } = self.noise;
        // The error against the exact program may be unbounded; what departs from the range may not.
        if !(0.0..=f64::INFINITY).contains(&total) {
            return Err(Error::Variance { op, found: total });
        }
        if !(0.0..f64::INFINITY).contains(&excess) {
            return Err(Error::Variance { op, found: excess });
        }
        params.check_limbs(op, limbs)?;
        let largest = magnitude(self.bounds.slots().bound() * self.scale, excess);
        params.check_range(op, largest / self.scale, self.scale, limbs)
    }

    /// Standard deviation of a slot, in units of the message, for noise of a variance.
    pub(crate) fn slot_std(&self, variance: f64) -> f64 {
        noise::slot_std(variance, self.slots, self.scale, self.bounds.values.is_real())
    }

    /// The ends of the ranges, and points beyond by as much as the slots may depart.
    pub(crate) fn ends(&self) -> [f64; 8] {
        let Bounds { values, padding } = self.bounds;
        let beyond = noise::LARGEST * self.slot_std(self.noise.excess);
        let around =
            |range: Interval| [range.lo(), range.lo() - beyond, range.hi(), range.hi() + beyond];
        let ([a, b, c, d], [e, f, g, h]) = (around(values), around(padding));
        [a, b, c, d, e, f, g, h]
    }

    /// After the statement that every slot, error included, lies in a range; see
    /// [`Ciphertext::assume_range`].
    #[must_use]
    pub fn assume_all(self, range: Interval) -> Self {
        let stated = self.within(range);
        Self { noise: self.noise.included(), ..stated }
    }

    /// After the statement that the values, error included, lie in a range; see
    /// [`Arithmetic::assume_range`](crate::Arithmetic::assume_range).
    ///
    /// The statement does not speak of padding. Its range is widened by its error, which the excess
    /// then no longer counts, where the error is above `2^-10` of the stated range; a smaller error
    /// stays in the excess, and the range of padding as it is.
    #[must_use]
    pub fn assume_range(self, range: Interval) -> Self {
        if self.len == self.slots {
            return self.assume_all(range);
        }
        let deviations = noise::worst_factor(self.slots, LOG2_PADDING_FAILURE);
        let error = deviations * self.slot_std(self.noise.excess);
        let bounds = Bounds { values: range, ..self.bounds };
        if error <= SMALL_EXCESS * range.bound() {
            return Self { bounds, ..self };
        }
        let padding = bounds.padding.widened(error);
        Self { bounds: Bounds { padding, ..bounds }, noise: self.noise.included(), ..self }
    }

    /// After a statement of the standard deviation of a slot; see [`Ciphertext::assume_noise`].
    ///
    /// # Errors
    /// [`Error::Variance`] unless it is a finite number that is not negative.
    pub fn assume_noise(self, deviation: f64) -> Result<Self> {
        let per_unit = self.slot_std(1.0);
        let total = (deviation / per_unit).powi(2);
        if !(deviation >= 0.0 && total.is_finite()) {
            return Err(Error::Variance { op: "state the noise", found: total });
        }
        Ok(Self { noise: Noise { total, ..self.noise }, ..self })
    }
}

/// An encrypted vector of real or complex numbers.
///
/// Decryption yields `phase / scale` in the slots.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    pub(crate) inner: mlwe::Ciphertext,
    pub(crate) meta: Meta,
    /// The level that has as many limbs.
    level: usize,
}

impl Ciphertext {
    /// Joins a lattice ciphertext with what is known of its message: for schemes that end in CKKS
    /// and for readers of stored ciphertexts.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::Scale`], [`Error::SlotCount`] for a slot count or
    /// length that the ring does not have, [`Error::LevelLimbs`] for limbs that no level has,
    /// [`Error::RangeOverflow`] when the stated range does not fit the modulus, [`Error::Variance`] for
    /// a variance that is none.
    pub fn from_parts(params: &Params, inner: mlwe::Ciphertext, meta: Meta) -> Result<Self> {
        params.check(ASSEMBLE, inner.fingerprint())?;
        meta.check(params, inner.limbs())?;
        Ok(Self::at_level(params, inner, meta))
    }

    /// The result of an operation, which has the limbs of a level.
    pub(crate) fn at_level(params: &Params, inner: mlwe::Ciphertext, meta: Meta) -> Self {
        let level = params.level_at(inner.limbs());
        debug_assert_eq!(params.limbs_at(level), inner.limbs(), "limbs between two levels");
        Self { inner, meta, level }
    }

    /// The lattice ciphertext.
    pub fn lattice(&self) -> &mlwe::Ciphertext {
        &self.inner
    }

    /// The lattice ciphertext and what is known of its message.
    pub fn into_parts(self) -> (mlwe::Ciphertext, Meta) {
        (self.inner, self.meta)
    }

    /// What is known of the message.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The scale.
    pub fn scale(&self) -> f64 {
        self.meta.scale
    }

    /// Slots of one period, a power of two.
    pub fn slots(&self) -> usize {
        self.meta.slots
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.meta.len
    }

    /// Whether there are no values: never, by construction.
    pub fn is_empty(&self) -> bool {
        self.meta.len == 0
    }

    /// Number of limbs.
    pub fn limbs(&self) -> usize {
        self.inner.limbs()
    }

    /// How many rescalings are left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The range of the values.
    pub fn range(&self) -> &Interval {
        &self.meta.bounds.values
    }

    /// Public identity of the secret key.
    pub fn key(&self) -> KeyId {
        self.inner.key()
    }

    /// Predicted standard deviation of the error of a slot against the exact program, in units of the
    /// message: of the real part for real messages, of the modulus for complex ones. See
    /// [`Account::noise`](crate::Account::noise).
    pub fn noise(&self) -> f64 {
        self.account().noise()
    }

    /// Predicted standard deviation of the departure of a slot from the carried range, in the same
    /// units. See [`Account::excess`](crate::Account::excess).
    pub fn excess(&self) -> f64 {
        self.account().excess()
    }

    /// States a range that the caller can prove where interval arithmetic cannot (the value of a
    /// polynomial, a sum of products that cancel): for values and padding alike. Padding that is known
    /// to be zero stays so where the range contains 0.
    ///
    /// The statement includes the error: the range holds for the slots of the exact program and for
    /// those of this ciphertext, as they would be decrypted. So [`excess`](Self::excess) is zero after
    /// it, and a loop that states a range in every step may run without end;
    /// [`noise`](Self::noise) still counts the error of all steps.
    ///
    /// For a real range the statement covers the imaginary part of the error, too: a refresh and a look-up
    /// take it away, products alone do not.
    ///
    /// A range that does not hold makes later overflow checks worthless.
    #[must_use]
    pub fn assume_range(mut self, range: Interval) -> Self {
        self.meta = self.meta.assume_all(range);
        self
    }

    /// States the standard deviation of the error of a slot against the exact program, in the units of
    /// [`noise`](Self::noise), where the caller knows it better than worst-case derivatives: of a map
    /// that contracts, of sums that cancel. The [`excess`](Self::excess) stays what it is.
    ///
    /// # Errors
    /// [`Error::Variance`] unless it is a finite number that is not negative.
    pub fn assume_noise(mut self, deviation: f64) -> Result<Self> {
        self.meta = self.meta.assume_noise(deviation)?;
        Ok(self)
    }

    /// States that every slot is real, where the operations could not tell. It says nothing of
    /// magnitudes, so [`excess`](Self::excess) stays what it is.
    ///
    /// A statement that does not hold makes later checks and noise estimates worthless.
    #[must_use]
    pub fn assume_real(mut self) -> Self {
        self.meta = self.meta.assume_real();
        self
    }

    /// Multiplies the message by a positive constant without touching the phase: the scale is
    /// divided by it. Exact and free; the price is a scale unlike that of other ciphertexts.
    ///
    /// # Errors
    /// [`Error::Scale`] when the factor, or the scale that results, is not positive and finite.
    pub fn times_free(mut self, factor: f64) -> Result<Self> {
        self.meta = self.meta.times_free(factor)?;
        Ok(self)
    }

    /// Declares how many of the slots hold values.
    ///
    /// # Errors
    /// [`Error::NoValues`] or [`Error::TooManyValues`].
    pub fn with_len(mut self, len: usize) -> Result<Self> {
        self.meta = self.meta.with_len(len)?;
        Ok(self)
    }

    /// Repeats a vector without padding to `len` values: a vector of one value, the value `len` times.
    /// Free.
    ///
    /// # Errors
    /// [`Error::Shape`] for a vector with padding, whose values alone cannot repeat;
    /// [`Error::SlotCount`] for fewer values than it has, or more than `N / 2`.
    pub fn broadcast(mut self, len: usize) -> Result<Self> {
        self.meta = self.meta.broadcast(len, self.inner.degree() / 2)?;
        Ok(self)
    }

    /// Reads the vector as one of more slots, which it fills by repeating itself, padding included. The
    /// number of values stays, and the repetitions are padding that is not zero: for programs that lay
    /// out slots. [`broadcast`](Self::broadcast) repeats values. Free.
    ///
    /// # Errors
    /// [`Error::SlotCount`] unless `slots` is a power of two from the present count to `N / 2`.
    pub fn repeated(mut self, slots: usize) -> Result<Self> {
        self.meta = self.meta.repeated(slots, self.inner.degree() / 2)?;
        Ok(self)
    }
}
