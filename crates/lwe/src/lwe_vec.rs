//! Vectors of LWE ciphertexts under the ring secret, with metadata: encoding, range and noise.

mod deviation;

use std::borrow::Cow;

use bellerophon_mlwe::{self as mlwe, KeyId};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use rand::CryptoRng;

pub use deviation::Deviation;

use crate::ciphertext::Ciphertext;
use crate::encoding::{Encoding, check_period};
use crate::encrypt::{encrypt, phase};
use crate::error;
use crate::params::Params;
use crate::secret::SecretKey;

/// A vector of LWE ciphertexts of one encoding, of dimension `n'` (the coefficients of the ring
/// secret of the tables) and modulus `q0`. It is the result of table look-ups and of the transition
/// from slots to LWE, and the input of table look-ups and of the transition to slots.
///
/// `lo..=hi` bounds the messages without their noise. The error of a value against the exact
/// function of the exact messages has two parts:
///
/// * The noise of the phase ([`noise`](LweMeta::noise)) moves a value out of the
///   range.
/// * The index errors of earlier tables ([`index`](LweMeta::index)) do not, because
///   the entry that a table returns lies in the range of its function.
///
/// Both are [deviations](Deviation) that add up in sums, since two values may share errors. Sums
/// and multiples are exact up to the noise. An operation fails if its result does not fit one
/// period of the phase: `hi - lo` plus nine deviations of the noise on either side must be below
/// the width of the encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct LweVec {
    items: Vec<Ciphertext>,
    meta: LweMeta,
}

/// The metadata of an [`LweVec`]: all that is public about its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LweMeta {
    /// The map between phases and values.
    pub encoding: Encoding,
    /// The smallest possible message.
    pub lo: f64,
    /// The largest possible message.
    pub hi: f64,
    /// The noise of the phase: that of encryption, of blind rotations, and of comparators, whose
    /// functions have slope 1 (maximum, sorting and the like). It moves values out of their range.
    /// Its bound determines the guard bands.
    pub noise: Deviation,
    /// The index errors of earlier tables: the root of `max E[(f(x + e) - f(x))^2]` over all `x` of
    /// the range, for an error `e` of the argument with the standard deviation
    /// [`index_std`](crate::Evaluator::index_std). It is an upper estimate for any values of the
    /// range: at a jump of `f` its square is about half that of the jump, no matter how few values
    /// lie near the jump.
    pub index: Deviation,
    /// The identifier of the client's key.
    pub key: KeyId,
}

impl LweMeta {
    /// The mean square of noise and index errors together, of any correlation, beyond that of the
    /// noise: `(n + i)^2 - n^2` for both of its deviations.
    pub fn beyond_noise(&self) -> [f64; 2] {
        let beyond = |noise: f64, index: f64| index * (index + 2.0 * noise);
        let (noise, index) = (self.noise, self.index);
        [beyond(noise.predicted, index.predicted), beyond(noise.bound, index.bound)]
    }
}

impl LweVec {
    /// A vector from its ciphertexts, at least one.
    ///
    /// `variance` is the variance of the noise of the phase, in squared units of the values. `key`
    /// identifies the client's key that the ring secret of the tables belongs to.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] if the values do not fit one period.
    pub fn new(
        params: &Params,
        items: Vec<Ciphertext>,
        encoding: Encoding,
        range: std::ops::RangeInclusive<f64>,
        variance: f64,
        key: KeyId,
    ) -> Result<Self> {
        let (lo, hi) = range.into_inner();
        let (noise, index) = (Deviation::of_variance(variance), Deviation::NONE);
        Self::from_parts(params, items, LweMeta { encoding, lo, hi, noise, index, key })
    }

    /// A vector from its ciphertexts, at least one, with all metadata given.
    ///
    /// # Errors
    /// If the bound on errors is not finite or below the prediction.
    pub fn from_parts(params: &Params, items: Vec<Ciphertext>, meta: LweMeta) -> Result<Self> {
        let LweMeta { lo, hi, noise, index, .. } = meta;
        for item in &items {
            item.check(params.spec().ring_degree, params.ring_modulus())?;
        }
        let vector = Self { items, meta }.with_noise(lo..=hi, noise)?;
        index.check("index errors of values")?;
        Ok(vector)
    }

    /// Encrypts values under the ring secret, with the noise that the keys of the tables have.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: &SecretKey,
        key: KeyId,
        values: &[f64],
        encoding: Encoding,
        range: std::ops::RangeInclusive<f64>,
        rng: &mut R,
    ) -> Result<Self> {
        let (q0, sigma) = (params.ring_modulus(), params.spec().ring_sigma);
        if let Some(index) = values.iter().position(|value| !range.contains(value)) {
            let (count, (lo, hi)) = (values.len(), range.into_inner());
            return Err(error::outside_range(index, count, lo, hi));
        }
        let items: Result<_> = values
            .iter()
            .map(|&value| encrypt(q0, secret, encoding.encode(value, q0), sigma, rng))
            .collect();
        // The noise of encryption, and the rounding of the phase to an integer.
        let unit = encoding.width() / q0.value() as f64;
        let variance = (sigma * sigma + 1.0 / 12.0) * unit * unit;
        Self::new(params, items?, encoding, range, variance, key)
    }

    /// Decrypts the values, with their noise, under the ring secret.
    pub fn decrypt(&self, secret: &SecretKey) -> Result<Vec<f64>> {
        let decode = |item: &Ciphertext| {
            let phase = phase(item, secret)?;
            Ok(self.meta.encoding.decode(phase, item.modulus(), self.middle()))
        };
        self.items.iter().map(decode).collect()
    }

    /// The number of values, at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a value")]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The ciphertexts.
    pub fn items(&self) -> &[Ciphertext] {
        &self.items
    }

    /// The metadata.
    pub fn meta(&self) -> &LweMeta {
        &self.meta
    }

    /// The predicted variance of the error against the exact function of the exact messages, in
    /// squared units of the values: of the noise of the phase and the index errors together. It
    /// holds for errors of any correlation, among terms that share noise (`x + x`, a position that
    /// is selected twice, minimum and maximum of one pair), and of noise and index errors.
    pub fn variance(&self) -> f64 {
        (self.meta.noise.predicted + self.meta.index.predicted).powi(2)
    }

    /// Replaces the index errors, which keep values within their range.
    pub(crate) fn with_index(self, index: Deviation) -> Self {
        Self { meta: LweMeta { index, ..self.meta }, ..self }
    }

    /// Replaces the range and the noise of the phase, without a check against the tracked ones.
    pub(crate) fn with_noise(
        mut self,
        range: std::ops::RangeInclusive<f64>,
        noise: Deviation,
    ) -> Result<Self> {
        let (lo, hi) = range.into_inner();
        (self.meta.lo, self.meta.hi, self.meta.noise) = (lo, hi, noise);
        if !(lo.is_finite() && hi.is_finite() && lo <= hi && noise.predicted >= 0.0) {
            let variance = noise.predicted.powi(2);
            return Err(error::value_range(lo, hi, variance));
        }
        self.checked()
    }

    /// Replaces the range, without a check against the tracked one. The errors stay as they are.
    pub fn within(self, range: std::ops::RangeInclusive<f64>) -> Result<Self> {
        let noise = self.meta.noise;
        self.with_noise(range, noise)
    }

    /// The middle of the range.
    pub(crate) fn middle(&self) -> f64 {
        self.meta.lo + (self.meta.hi - self.meta.lo) / 2.0
    }

    /// A deviation in units of the values as a variance in squared units of the phase.
    pub(crate) fn in_phase(&self, deviation: f64) -> f64 {
        (deviation * self.modulus() / self.meta.encoding.width()).powi(2)
    }

    /// A bound on the variance of the noise, in squared units of the phase.
    pub(crate) fn largest_phase_variance(&self) -> f64 {
        self.in_phase(self.meta.noise.bound)
    }

    fn modulus(&self) -> f64 {
        self.items[0].modulus().value() as f64
    }

    /// Shifts the phases so that the middle of the range has phase 0, as table look-ups and
    /// published values need it.
    pub fn centred(&self) -> Self {
        self.at_center(self.middle())
    }

    /// Shifts the phases so that the value `center` has phase 0, up to the rounding to a unit of
    /// phase.
    fn at_center(&self, center: f64) -> Self {
        let periods = (self.meta.encoding.center() - center) / self.meta.encoding.width();
        let shift = ((periods - periods.round()) * self.modulus()).round() as i64;
        let mut out = self.clone();
        out.items.iter_mut().for_each(|item| item.add_constant(shift));
        out.meta.encoding =
            Encoding::new(center, self.meta.encoding.width()).expect("finite values");
        out
    }

    /// The values at the given positions, in that order. A position may occur more than once.
    pub fn select(&self, positions: &[usize]) -> Result<Self> {
        if let Some(&place) = positions.iter().find(|&&place| place >= self.len()) {
            return Err(error::place(place, self.len()));
        }
        let items = positions.iter().map(|&place| self.items[place].clone()).collect();
        Self { items, ..self.bare() }.checked()
    }

    /// Each value as a vector of its own.
    pub fn singles(&self) -> Vec<Self> {
        let single = |item: &Ciphertext| Self { items: vec![item.clone()], ..self.bare() };
        self.items.iter().map(single).collect()
    }

    /// Parts of `size` values each. The last may have fewer.
    pub(crate) fn split(&self, size: usize) -> Vec<Self> {
        let part = |items: &[Ciphertext]| Self { items: items.to_vec(), ..self.bare() };
        self.items.chunks(size).map(part).collect()
    }

    /// Overwrites the values at the given positions, and converts them to the encoding of `self`.
    pub(crate) fn replace(&mut self, positions: &[usize], by: &Self) {
        // Equal widths: a shift of the center aligns both encodings.
        debug_assert_eq!(self.meta.encoding.width(), by.meta.encoding.width());
        let by = by.at_center(self.meta.encoding.center());
        for (&place, item) in positions.iter().zip(by.items) {
            self.items[place] = item;
        }
        (self.meta.lo, self.meta.hi) = (self.meta.lo.min(by.meta.lo), self.meta.hi.max(by.meta.hi));
        self.meta.noise = self.meta.noise.max(by.meta.noise);
        self.meta.index = self.meta.index.max(by.meta.index);
    }

    /// All values of all parts, in order, at a common encoding and with the union of the ranges.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`] if two encodings cannot be aligned.
    pub fn concat(parts: &[Self]) -> Result<Self> {
        // Step 1: the common encoding is that of the smallest width.
        let width = |part: &&Self| part.meta.encoding.width();
        let finest = parts.iter().min_by(|x, y| width(x).total_cmp(&width(y)));
        let finest = finest.ok_or_else(error::no_values)?;
        // Step 2: convert each part, and take the largest range and errors.
        let mut all = finest.bare();
        for part in parts {
            let (part, _) = part.aligned(finest)?;
            all.items.extend(part.at_center(finest.meta.encoding.center()).items);
            (all.meta.lo, all.meta.hi) =
                (all.meta.lo.min(part.meta.lo), all.meta.hi.max(part.meta.hi));
            all.meta.noise = all.meta.noise.max(part.meta.noise);
            all.meta.index = all.meta.index.max(part.meta.index);
        }
        all.checked()
    }

    /// `x + y` for each pair. Errors add up as if they were equal, which holds for errors of any
    /// correlation.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`] if neither width is an integer multiple of the other;
    /// [`ErrorKind::Range`] if the sum may not fit one period.
    pub fn add(&self, other: &Self) -> Result<Self> {
        self.combine(other, |x, y| x + y)
    }

    /// `x + y` for each pair, of errors that the caller knows to be independent, for example those
    /// of look-ups with one blind rotation each. Within each operand errors count as they did.
    pub fn add_independent(&self, other: &Self) -> Result<Self> {
        self.combine(other, Deviation::hypot)
    }

    /// `x - y` for each pair, with errors as of [`add`](Self::add).
    pub fn sub(&self, other: &Self) -> Result<Self> {
        self.combine(&other.neg(), |x, y| x + y)
    }

    /// `x + y` for each pair, with the errors joined by `errors`.
    fn combine(
        &self,
        other: &Self,
        errors: impl Fn(Deviation, Deviation) -> Deviation,
    ) -> Result<Self> {
        if self.len() != other.len() {
            return Err(error::lengths(self.len(), other.len()));
        }
        // Step 1: a common width.
        let (left, right) = self.aligned(other)?;
        let mut out = left.into_owned();
        out.items.iter_mut().zip(&right.items).try_for_each(|(x, y)| x.add_assign(y))?;
        // Step 2: the metadata.
        let LweMeta { encoding, lo, hi, noise, index, .. } = right.meta;
        let center = out.meta.encoding.center() + encoding.center();
        out.meta.encoding = Encoding::new(center, out.meta.encoding.width())?;
        (out.meta.lo, out.meta.hi) = (self.meta.lo + lo, self.meta.hi + hi);
        out.meta.noise = errors(out.meta.noise, noise);
        out.meta.index = errors(out.meta.index, index);
        out.checked()
    }

    /// The sum of all values, as one value.
    ///
    /// # Errors
    /// If it may not fit one period.
    pub fn sum(&self) -> Result<Self> {
        let count = self.len() as f64;
        let mut total = self.items[0].clone();
        self.items[1..].iter().try_for_each(|item| total.add_assign(item))?;
        // The center adds up too, and errors as if they were equal.
        let encoding =
            Encoding::new(self.meta.encoding.center() * count, self.meta.encoding.width())?;
        let (lo, hi) = (self.meta.lo * count, self.meta.hi * count);
        let (noise, index) = (self.meta.noise * count, self.meta.index * count);
        let meta = LweMeta { encoding, lo, hi, noise, index, ..self.meta };
        Self { items: vec![total], meta }.checked()
    }

    /// `x + constant`, which changes the encoding only.
    ///
    /// # Errors
    /// If the constant is not finite, or so large that floating-point numbers cannot distinguish
    /// the results ([`ErrorKind::Range`]).
    pub fn add_constant(&self, constant: f64) -> Result<Self> {
        let encoding =
            Encoding::new(self.meta.encoding.center() + constant, self.meta.encoding.width())?;
        let (lo, hi) = (self.meta.lo + constant, self.meta.hi + constant);
        let meta = LweMeta { encoding, lo, hi, ..self.meta };
        Self { meta, ..self.clone() }.checked()
    }

    /// `-x`.
    pub(crate) fn neg(&self) -> Self {
        // Center and range change sign; the errors do not change.
        let encoding = Encoding::new(-self.meta.encoding.center(), self.meta.encoding.width());
        let mut out = self.clone();
        out.items.iter_mut().for_each(Ciphertext::neg_assign);
        out.meta.encoding = encoding.expect("as finite as before");
        (out.meta.lo, out.meta.hi) = (-self.meta.hi, -self.meta.lo);
        out
    }

    /// `factor x`, which changes the encoding only: range, noise and width grow alike.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if width, variance or deviation would overflow or underflow.
    pub fn scale(&self, factor: f64) -> Result<Self> {
        // Step 1: the sign, on the ciphertexts.
        let signed = if factor < 0.0 { self.neg() } else { self.clone() };
        // Step 2: the magnitude, on the metadata, which must stay representable.
        let size = factor.abs();
        let width = signed.meta.encoding.width() * size;
        let (noise, index) = (signed.meta.noise * size, signed.meta.index * size);
        let kept = |before: Deviation, after: Deviation| {
            let pairs = [(before.predicted, after.predicted), (before.bound, after.bound)];
            pairs.iter().all(|&(before, after)| before == 0.0 || after.powi(2).is_normal())
        };
        if !(width.is_normal() && kept(signed.meta.noise, noise) && kept(signed.meta.index, index))
        {
            let (what, index) = ("factor", None);
            let needed = "a nonzero number that keeps width and variance within the range of f64";
            return Err(error::constant(what, index, 1, needed));
        }
        let encoding = Encoding::new(signed.meta.encoding.center() * size, width)?;
        let (lo, hi) = (signed.meta.lo * size, signed.meta.hi * size);
        let meta = LweMeta { encoding, lo, hi, noise, index, ..signed.meta };
        Self { meta, ..signed }.checked()
    }

    /// `factor x` for an integer, at the same width: the phase is multiplied. It serves sums with
    /// integer weights. [`scale`](Self::scale) is free but changes the width.
    ///
    /// # Errors
    /// If the product may not fit one period.
    pub fn times(&self, factor: i64) -> Result<Self> {
        let real = factor as f64;
        // Phase, center and range are multiplied. The width stays, so less of a period is left.
        let mut out = self.clone();
        out.items.iter_mut().for_each(|item| item.mul_assign(factor));
        out.meta.encoding =
            Encoding::new(self.meta.encoding.center() * real, self.meta.encoding.width())?;
        let (x, y) = (self.meta.lo * real, self.meta.hi * real);
        (out.meta.lo, out.meta.hi) = (x.min(y), x.max(y));
        (out.meta.noise, out.meta.index) = (self.meta.noise * real, self.meta.index * real);
        out.checked()
    }

    /// Both operands at the smaller of their widths. The larger must be an integer multiple of it.
    fn aligned<'a>(&'a self, other: &'a Self) -> Result<(Cow<'a, Self>, Cow<'a, Self>)> {
        if self.meta.key != other.meta.key {
            return Err(mlwe::error::key_mismatch(other.meta.key, self.meta.key));
        }
        // Step 1: the integer quotient of the widths.
        let ratio = self.meta.encoding.width() / other.meta.encoding.width();
        let factor = ratio.max(1.0 / ratio).round();
        if (ratio.max(1.0 / ratio) / factor - 1.0).abs() > 1e-9 || factor > 2f64.powi(40) {
            let (left, right) = (self.meta.encoding.to_string(), other.meta.encoding.to_string());
            return Err(error::encodings(left, right));
        }
        // Step 2: multiply the phase of the wider operand by it, which keeps its values.
        let finer = |x: &Self| x.times(factor as i64)?.scale(1.0 / factor);
        Ok(match (factor > 1.0, ratio > 1.0) {
            (false, _) => (Cow::Borrowed(self), Cow::Borrowed(other)),
            (true, true) => (Cow::Owned(finer(self)?), Cow::Borrowed(other)),
            (true, false) => (Cow::Borrowed(self), Cow::Owned(finer(other)?)),
        })
    }

    /// The metadata without the ciphertexts.
    fn bare(&self) -> Self {
        Self { items: Vec::new(), meta: self.meta }
    }

    /// Fails unless there is at least one value and all of them fit one period.
    fn checked(self) -> Result<Self> {
        if self.items.is_empty() {
            return Err(error::no_values());
        }
        let LweMeta { lo, hi, noise, encoding, .. } = self.meta;
        check_period(lo, hi, noise.bound, &encoding)?;
        noise.check("noise of values")?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests;
