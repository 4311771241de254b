//! Encrypted vectors: a lattice ciphertext with the public metadata of its message.

use bellerophon_mlwe as mlwe;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use crate::encode::{check_scale, magnitude};
use crate::error;
use crate::interval::{Bounds, Interval};
use crate::noise::{self, Noise};
use crate::of_integers::OfIntegers;
use crate::origins::Origins;
use crate::params::Params;

/// Public metadata of an encrypted vector. Every operation updates it. Only code that builds
/// ciphertexts from other schemes writes it by hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CiphertextMeta {
    /// The phase is the message times the scale. Each operation adds one `f64` rounding to the
    /// relative error of this number.
    pub scale: f64,
    /// Slots of one period, a power of two; the `N / 2` slots of the ring repeat them.
    pub slots: usize,
    /// Number of slots that hold values; the slots after them are padding.
    pub len: usize,
    /// Ranges of the values and of the padding.
    pub bounds: Bounds,
    /// Predicted variances of the noise in one coefficient of the phase (see [`crate::noise`]).
    pub noise: Noise,
}

/// `log2` of the probability that the error of padding leaves the widened range that
/// [`CiphertextMeta::assume_range`] gives it.
const LOG2_PADDING_FAILURE: f64 = -64.0;

/// Padding keeps its range if its error is at most this fraction of the width of a stated range.
const SMALL_EXCESS: f64 = 1.0 / (1u64 << 14) as f64;

impl CiphertextMeta {
    /// Refuses metadata that a ciphertext of `limbs` limbs cannot have.
    pub fn check(&self, params: &Params, limbs: usize) -> Result<()> {
        // Step 1: scale, slots and number of values.
        check_scale(self.scale)?;
        let most = params.max_slots();
        if !self.slots.is_power_of_two() || self.slots > most {
            return Err(error::slot_count(self.slots, 1, most));
        }
        ensure(self.len != 0, error::no_values)?;
        ensure(self.len <= self.slots, || error::too_many_values(self.len, self.slots))?;
        // Step 2: the noise. A NaN lies in neither range.
        let Noise { total, peak, bound, excess, plain, constant } = self.noise;
        // The error against the exact program may be unbounded, the departure from the range may
        // not.
        for found in [total, peak, bound, plain, constant] {
            ensure((0.0..=f64::INFINITY).contains(&found), || error::variance(found))?;
        }
        ensure((0.0..f64::INFINITY).contains(&excess), || error::variance(excess))?;
        // Step 3: message and noise must fit half of the modulus.
        params.check_limbs(limbs)?;
        let largest = magnitude(self.bounds.slots().bound() * self.scale, excess);
        params.check_range(largest / self.scale, self.scale, limbs)
    }

    /// Standard deviation of a slot, in units of the message, for noise of this variance.
    pub fn slot_std(&self, variance: f64) -> f64 {
        noise::slot_std(variance, self.slots, self.scale, self.bounds.values.is_real())
    }

    /// The ends of both ranges, and the same ends moved outwards by the largest departure of a
    /// slot.
    pub fn ends(&self) -> [f64; 8] {
        let Bounds { values, padding } = self.bounds;
        let beyond = noise::LARGEST * self.slot_std(self.noise.excess);
        let around =
            |range: Interval| [range.lo(), range.lo() - beyond, range.hi(), range.hi() + beyond];
        let ([a, b, c, d], [e, f, g, h]) = (around(values), around(padding));
        [a, b, c, d, e, f, g, h]
    }

    /// The metadata after the statement that every slot, error included, lies in `range`; see
    /// [`Ciphertext::assume_range_with_padding`].
    #[must_use]
    pub fn assume_range_with_padding(self, range: Interval) -> Self {
        let stated = self.within(range);
        Self { noise: self.noise.included(), ..stated }
    }

    /// The metadata after the statement that the values, error included, lie in `range`; see
    /// [`CkksOps::with_range`](crate::CkksOps::with_range).
    ///
    /// The statement does not cover padding. If the error of the padding exceeds `2^-14` of the
    /// width of the stated range, the range of the padding is widened by that error and the excess
    /// becomes zero. A smaller error stays in the excess, and the range of the padding is
    /// unchanged.
    #[must_use]
    pub fn assume_range(self, range: Interval) -> Self {
        // Without padding, the statement covers every slot.
        if self.len == self.slots {
            return self.assume_range_with_padding(range);
        }
        let deviations = noise::sure_factor(self.slots, LOG2_PADDING_FAILURE);
        let error = deviations * self.slot_std(self.noise.excess);
        let bounds = Bounds { values: range, ..self.bounds };
        // Zero padding thus stays known to be zero, and reductions need not clear it.
        if error <= SMALL_EXCESS * (range.hi() - range.lo()) {
            return Self { bounds, ..self };
        }
        let padding = bounds.padding.widened(error);
        Self { bounds: Bounds { padding, ..bounds }, noise: self.noise.included(), ..self }
    }

    /// The metadata after a statement of the standard deviation of a slot's error; see
    /// [`Ciphertext::assume_noise`].
    pub fn assume_noise(self, deviation: f64) -> Result<Self> {
        // The deviation of a slot is proportional to that of a coefficient.
        let per_unit = self.slot_std(1.0);
        let total = (deviation / per_unit).powi(2);
        if !(deviation >= 0.0 && total.is_finite()) {
            return Err(error::deviation(deviation));
        }
        Ok(Self { noise: self.noise.stated(total), ..self })
    }
}

/// Another reading of a phase, exact and free.
#[derive(Debug, Clone, Copy)]
pub enum Reading {
    /// The message times a positive constant, through the scale.
    Multiplied(f64),
    /// A vector of this number of slots that repeats its slots.
    Repeated(usize),
    /// A vector of this number of values that repeats its values.
    Broadcast(usize),
}

impl Reading {
    /// The operation that reads so.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multiplied(_) => "reinterpret_scale",
            Self::Repeated(_) => "repeated",
            Self::Broadcast(_) => "broadcast",
        }
    }

    /// The metadata of the reading, of at most `most` slots.
    pub fn metadata(self, x: CiphertextMeta, most: usize) -> Result<CiphertextMeta> {
        match self {
            Self::Multiplied(factor) => x.reinterpret_scale(factor),
            Self::Repeated(slots) => x.repeated(slots, most),
            Self::Broadcast(len) => x.broadcast(len, most),
        }
    }
}

/// An encrypted vector of real or complex numbers.
///
/// Decryption yields `phase / scale` in the slots.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    pub(crate) inner: mlwe::Ciphertext,
    pub(crate) meta: CiphertextMeta,
    /// The encryptions whose errors it carries.
    pub(crate) origins: Origins,
    /// The level of the number of limbs.
    level: usize,
    integers: OfIntegers,
}

impl Ciphertext {
    /// Joins a lattice ciphertext with the metadata of its message: for conversions from other
    /// schemes and for readers of stored ciphertexts. Its [`Origins`] are unknown;
    /// [`of`](Self::of) states them.
    ///
    /// # Errors
    /// [`ErrorKind::Level`] for a number of limbs that no level has, [`ErrorKind::Range`] if the
    /// range does not fit the modulus, and others for metadata that no vector of the set has.
    pub fn from_parts(
        params: &Params,
        inner: mlwe::Ciphertext,
        meta: CiphertextMeta,
    ) -> Result<Self> {
        // Bytes of a stranger may come here: check everything before the parts are joined.
        params.check(inner.ident().fingerprint)?;
        meta.check(params, inner.limbs())?;
        Ok(Self::at_level(params, inner, meta, Origins::UNKNOWN))
    }

    /// As [`from_parts`](Self::from_parts), for a fresh encryption.
    pub fn fresh(params: &Params, inner: mlwe::Ciphertext, meta: CiphertextMeta) -> Result<Self> {
        let origins = Origins::fresh(&inner);
        Ok(Self::from_parts(params, inner, meta)?.of(origins))
    }

    /// The result of an operation; its number of limbs is that of a level.
    pub fn at_level(
        params: &Params,
        inner: mlwe::Ciphertext,
        meta: CiphertextMeta,
        origins: Origins,
    ) -> Self {
        let level = params.level_at(inner.limbs());
        debug_assert_eq!(params.limbs_at(level), inner.limbs(), "limbs between two levels");
        Self { inner, meta, origins, level, integers: OfIntegers(None) }
    }

    /// The vector as an encryption of integers.
    pub fn of_integers(self, integers: OfIntegers) -> Self {
        Self { integers, ..self }
    }

    /// The modulus, if it is an encryption of integers that nothing has changed.
    pub fn integers(&self) -> Option<usize> {
        self.integers.0
    }

    /// The same vector with changed contents or metadata.
    #[must_use]
    pub fn changed(self, meta: CiphertextMeta) -> Self {
        Self { meta, integers: OfIntegers(None), ..self }
    }

    /// Sets the metadata and origins of a result in place.
    pub fn set(&mut self, meta: CiphertextMeta, origins: Origins) {
        (self.meta, self.origins, self.integers) = (meta, origins, OfIntegers(None));
    }

    /// States whose errors the vector carries: those of the vector that it was computed from.
    #[must_use]
    pub fn of(mut self, origins: Origins) -> Self {
        self.origins = origins;
        self
    }

    /// The encryptions whose errors the vector carries.
    pub fn origins(&self) -> &Origins {
        &self.origins
    }

    /// The lattice ciphertext.
    pub fn lattice(&self) -> &mlwe::Ciphertext {
        &self.inner
    }

    /// The lattice ciphertext and the metadata of its message.
    pub fn into_parts(self) -> (mlwe::Ciphertext, CiphertextMeta) {
        (self.inner, self.meta)
    }

    /// The metadata of the message.
    pub fn meta(&self) -> &CiphertextMeta {
        &self.meta
    }

    /// The scale.
    pub fn scale(&self) -> f64 {
        self.meta.scale
    }

    /// Number of values, at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a value")]
    pub fn len(&self) -> usize {
        self.meta.len
    }

    /// The level: the number of rescalings left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The range of the values.
    pub fn range(&self) -> &Interval {
        &self.meta.bounds.values
    }

    /// States a range of all slots, padding included, that the caller can prove where interval
    /// arithmetic cannot (the value of a polynomial, a sum of products that cancel). Padding that
    /// is known to be zero stays known to be zero if the range contains 0.
    /// [`CkksOps::with_range`](crate::CkksOps::with_range) states the range of the values
    /// alone.
    ///
    /// The range holds for the slots of the exact program and for those of this ciphertext, as they
    /// would be decrypted. Therefore [`Metadata::excess`](crate::Metadata::excess) is zero
    /// afterwards, and a loop that states a range in every step can run any number of times.
    /// [`Metadata::noise`](crate::Metadata::noise) still counts the error of all steps.
    ///
    /// For a real range the statement also covers the imaginary part of the error, which products
    /// keep. If it is false, later overflow checks are meaningless.
    #[must_use]
    pub fn assume_range_with_padding(self, range: Interval) -> Self {
        let meta = self.meta.assume_range_with_padding(range);
        self.changed(meta)
    }

    /// States the standard deviation of a slot's error against the exact program, in the units of
    /// [`Metadata::noise`](crate::Metadata::noise), where the caller knows more than worst-case
    /// derivatives tell: for a map that contracts, or for sums that cancel.
    /// [`Metadata::excess`](crate::Metadata::excess) is unchanged.
    pub fn assume_noise(self, deviation: f64) -> Result<Self> {
        let meta = self.meta.assume_noise(deviation)?;
        Ok(self.changed(meta))
    }

    /// States that every slot is real, where interval arithmetic cannot tell. Magnitudes and the
    /// excess are unchanged.
    ///
    /// If the statement is false, later checks and noise estimates are meaningless.
    #[must_use]
    #[cfg(test)]
    pub fn assume_real(self) -> Self {
        let meta = self.meta.assume_real();
        self.changed(meta)
    }

    /// The same phase in another reading.
    pub fn read_as(mut self, reading: Reading) -> Result<Self> {
        let meta = reading.metadata(self.meta, self.inner.b().degree() / 2)?;
        self.origins = self.origins.repeated(self.meta.slots, meta.slots);
        Ok(self.changed(meta))
    }

    /// Computes [`Vectors::reinterpret_scale`](crate::vectors::Vectors::reinterpret_scale).
    pub fn reinterpret_scale(self, factor: f64) -> Result<Self> {
        self.read_as(Reading::Multiplied(factor))
    }

    /// Computes [`Vectors::broadcast`](crate::vectors::Vectors::broadcast).
    pub fn broadcast(self, len: usize) -> Result<Self> {
        self.read_as(Reading::Broadcast(len))
    }

    /// Computes [`Vectors::repeated`](crate::vectors::Vectors::repeated).
    pub fn repeated(self, slots: usize) -> Result<Self> {
        self.read_as(Reading::Repeated(slots))
    }
}
