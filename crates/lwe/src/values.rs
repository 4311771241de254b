//! Values between tables: LWE ciphertexts with all that is known about what they hold.

use std::borrow::Cow;

use bellerophon_mlwe::KeyId;
use rand::CryptoRng;

use crate::{Ciphertext, Encoding, Error, Params, Result, SecretKey, encrypt, phase};

/// Standard deviations of noise that must fit beside the range: 9 leave a value with probability
/// `2^-61`.
const TAIL: f64 = 9.0;

/// How many widths values may lie from 0: their bounds are then right to `2^-27` of a turn, a small part
/// of a step of any table.
const FARTHEST: f64 = (1u64 << 26) as f64;

/// LWE ciphertexts of one encoding: dimension `n'` (the coefficients of the ring secret of the
/// tables) and modulus `q0`. What tables and the way down from the slots leave; what tables and
/// the way up take.
///
/// `lo..=hi` bounds the messages, not their noise. The error of a value against the exact function of
/// the exact messages has two parts. The noise of the phase ([`noise_variance`](Self::noise_variance))
/// moves a value out of the range. The index errors of earlier tables
/// ([`index_variance`](Self::index_variance)) do not: the entry that a table returns lies in the range
/// of its function. Their sum is the [`variance`](Self::variance) if what is added is independent; the
/// [`deviation`](Self::deviation) bounds the noise of the phase if it is not. Sums and multiples are
/// exact up to the noise; what could leave the turn (`hi - lo` and nine deviations on either side
/// against the width) is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    items: Vec<Ciphertext>,
    encoding: Encoding,
    lo: f64,
    hi: f64,
    /// Variance of the noise of the phase.
    noise: f64,
    /// Variance of the index errors of tables.
    index: f64,
    deviation: f64,
    key: KeyId,
}

impl Values {
    /// Values from their ciphertexts, at least one.
    ///
    /// `variance` is that of the noise of the phase, in units of the values, squared; `key` names the
    /// client's key under which the ring secret of the tables was made.
    ///
    /// # Errors
    /// If there are no ciphertexts, one is not of dimension `n'` and modulus `q0`, the range is
    /// none, the variance is not a number from 0 on, or the values do not fit in a turn.
    pub fn new(
        params: &Params,
        items: Vec<Ciphertext>,
        encoding: Encoding,
        range: std::ops::RangeInclusive<f64>,
        variance: f64,
        key: KeyId,
    ) -> Result<Self> {
        let (lo, hi) = range.into_inner();
        if !(lo.is_finite() && hi.is_finite() && lo <= hi && variance >= 0.0) {
            return Err(Error::ValueRange { lo, hi, variance });
        }
        for item in &items {
            item.check("values of tables", params.ring_degree(), params.ring_modulus())?;
        }
        let (noise, index, deviation) = (variance, 0.0, variance.sqrt());
        Self { items, encoding, lo, hi, noise, index, deviation, key }.checked("values")
    }

    /// Encrypts values under the ring secret with the noise of the tables' keys.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if a value lies outside the range.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: (&SecretKey, KeyId),
        values: &[f64],
        encoding: Encoding,
        range: std::ops::RangeInclusive<f64>,
        rng: &mut R,
    ) -> Result<Self> {
        let (q0, sigma) = (params.ring_modulus(), params.spec().ring_sigma);
        if let Some(index) = values.iter().position(|value| !range.contains(value)) {
            let (lo, hi) = range.into_inner();
            return Err(Error::OutsideRange { index, lo, hi });
        }
        let items: Result<_> = values
            .iter()
            .map(|&value| encrypt(q0, secret.0, encoding.encode(value, q0), sigma, rng))
            .collect();
        let unit = encoding.width() / q0.value() as f64;
        let variance = (sigma * sigma + 1.0 / 12.0) * unit * unit;
        Self::new(params, items?, encoding, range, variance, secret.1)
    }

    /// The values, noise included, under the ring secret.
    ///
    /// # Errors
    /// If the secret has another dimension.
    pub fn decrypt(&self, secret: &SecretKey) -> Result<Vec<f64>> {
        let decode = |item: &Ciphertext| {
            let phase = phase(item, secret)?;
            Ok(self.encoding.decode(phase, item.modulus(), self.middle()))
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

    /// How phases stand for values.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// The smallest message possible.
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// The largest message possible.
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// The variance of the error against the exact function of the exact messages, in units of the
    /// values, squared: [`noise_variance`](Self::noise_variance) plus
    /// [`index_variance`](Self::index_variance), if the errors of operands are independent.
    ///
    /// Operands share errors where one is used twice (`x + x`, a place selected twice), where they
    /// are the minimum and the maximum of one pair or other results of one network, and where they
    /// come from one call of [`maps`](crate::Evaluator::maps). A sum of such has a larger error.
    pub fn variance(&self) -> f64 {
        self.noise + self.index
    }

    /// The variance of the noise of the phase, in units of the values, squared: of encryption, of
    /// rotations, and of the comparators of functions that are as steep as their arguments (maximum,
    /// sorting and the like). Such noise moves values out of their range.
    pub fn noise_variance(&self) -> f64 {
        self.noise
    }

    /// The variance of the index errors of earlier tables, in units of the values, squared:
    /// `max E[(f(x + e) - f(x))^2]` over the places `x` of the range, for an error `e` of the argument
    /// of deviation [`index_std`](crate::Evaluator::index_std). It is an upper estimate for any values
    /// of the range: at the jump of a sign it is about half the square of the jump, however few values
    /// lie there.
    pub fn index_variance(&self) -> f64 {
        self.index
    }

    /// The same values with the variance of an error that leaves them within their range, in units of
    /// the values, squared.
    ///
    /// # Errors
    /// [`Error::Number`] unless the variance is finite and not negative.
    pub fn with_index_variance(self, variance: f64) -> Result<Self> {
        if !(0.0..f64::INFINITY).contains(&variance) {
            let (what, needed) = ("index variance of values", "a finite number from 0 on");
            return Err(Error::Number { what, found: variance, needed });
        }
        Ok(Self { index: variance, ..self })
    }

    /// A standard deviation of the noise of the phase that holds whatever operands share: those of the
    /// terms of a sum add up. Guard bands are laid for it. Where the terms' noises are known to be independent,
    /// [`independent`](Self::independent) says so, and takes less.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The client's key.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// The same ciphertexts, with a tighter bound or another variance of the noise of the phase known
    /// from elsewhere; its root becomes the [`deviation`](Self::deviation).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn assume(self, range: std::ops::RangeInclusive<f64>, variance: f64) -> Result<Self> {
        self.known(range, variance, variance.sqrt())
    }

    /// Values of which all is given, [`deviation`](Self::deviation) too.
    ///
    /// # Errors
    /// As [`new`](Self::new), and for a deviation below the root of the variance.
    pub(crate) fn restore(
        params: &Params,
        items: Vec<Ciphertext>,
        encoding: Encoding,
        range: std::ops::RangeInclusive<f64>,
        [noise, index, deviation]: [f64; 3],
        key: KeyId,
    ) -> Result<Self> {
        // Both are sums of the same terms, each rounded.
        let enough = deviation >= noise.sqrt() * (1.0 - 1e-9);
        if !enough {
            let (what, needed) = ("deviation of values", "at least the root of the noise variance");
            return Err(Error::Number { what, found: deviation, needed });
        }
        Self::new(params, items, encoding, range.clone(), noise, key)?
            .known(range, noise, deviation)?
            .with_index_variance(index)
    }

    /// [`assume`](Self::assume) with a deviation that holds whatever operands share.
    pub(crate) fn known(
        mut self,
        range: std::ops::RangeInclusive<f64>,
        noise: f64,
        deviation: f64,
    ) -> Result<Self> {
        (self.lo, self.hi) = range.into_inner();
        (self.noise, self.deviation) = (noise, deviation);
        if !(self.lo.is_finite() && self.hi.is_finite() && self.lo <= self.hi && noise >= 0.0) {
            return Err(Error::ValueRange { lo: self.lo, hi: self.hi, variance: noise });
        }
        self.checked("values")
    }

    /// The same ciphertexts and errors, with a tighter bound known from elsewhere.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn within(self, range: std::ops::RangeInclusive<f64>) -> Result<Self> {
        let (noise, deviation) = (self.noise, self.deviation);
        self.known(range, noise, deviation)
    }

    /// The same, the noises of all that was added up known to be independent, as those of look-ups
    /// of which each took a rotation of its own: the root of the
    /// [`noise_variance`](Self::noise_variance) becomes the [`deviation`](Self::deviation).
    pub fn independent(self) -> Self {
        Self { deviation: self.noise.sqrt(), ..self }
    }

    /// The middle of the range.
    pub(crate) fn middle(&self) -> f64 {
        self.lo + (self.hi - self.lo) / 2.0
    }

    /// [`variance`](Self::variance) in units of the phase, squared.
    pub fn phase_variance(&self) -> f64 {
        self.variance() * (self.modulus() / self.encoding.width()).powi(2)
    }

    /// [`noise_variance`](Self::noise_variance) in units of the phase, squared.
    pub(crate) fn noise_phase_variance(&self) -> f64 {
        self.noise * (self.modulus() / self.encoding.width()).powi(2)
    }

    /// [`deviation`](Self::deviation) in units of the phase, squared.
    pub(crate) fn largest_phase_variance(&self) -> f64 {
        (self.deviation * self.modulus() / self.encoding.width()).powi(2)
    }

    fn modulus(&self) -> f64 {
        self.items[0].modulus().value() as f64
    }

    /// The same values with the middle of their range at phase 0: the form in which their
    /// ciphertexts leave for elsewhere.
    pub fn centred(&self) -> Self {
        self.at_center(self.middle())
    }

    /// The same values with `center` at phase 0, up to the rounding to a unit of phase.
    fn at_center(&self, center: f64) -> Self {
        let turns = (self.encoding.center() - center) / self.encoding.width();
        let shift = ((turns - turns.round()) * self.modulus()).round() as i64;
        let mut out = self.clone();
        out.items.iter_mut().for_each(|item| item.add_constant(shift));
        out.encoding = Encoding::new(center, self.encoding.width()).expect("finite values");
        out
    }

    /// The values at the given places, in that order; a place may occur more than once.
    ///
    /// # Errors
    /// If a place does not exist, or none is given.
    pub fn select(&self, places: &[usize]) -> Result<Self> {
        if let Some(&place) = places.iter().find(|&&place| place >= self.len()) {
            return Err(Error::Place { place, len: self.len() });
        }
        let items = places.iter().map(|&place| self.items[place].clone()).collect();
        Self { items, ..self.bare() }.checked("selection of values")
    }

    /// Each value for itself.
    pub fn singles(&self) -> Vec<Self> {
        let single = |item: &Ciphertext| Self { items: vec![item.clone()], ..self.bare() };
        self.items.iter().map(single).collect()
    }

    /// Parts of `size` values each.
    pub(crate) fn split(&self, size: usize) -> Vec<Self> {
        let part = |items: &[Ciphertext]| Self { items: items.to_vec(), ..self.bare() };
        self.items.chunks(size).map(part).collect()
    }

    /// Puts values at the given places, at this encoding.
    pub(crate) fn replace(&mut self, places: &[usize], by: &Self) {
        debug_assert_eq!(self.encoding.width(), by.encoding.width());
        let by = by.at_center(self.encoding.center());
        for (&place, item) in places.iter().zip(by.items) {
            self.items[place] = item;
        }
        (self.lo, self.hi) = (self.lo.min(by.lo), self.hi.max(by.hi));
        self.noise = self.noise.max(by.noise);
        self.index = self.index.max(by.index);
        self.deviation = self.deviation.max(by.deviation);
    }

    /// All values of all parts, in order, at a common encoding and with the widest range.
    ///
    /// # Errors
    /// If there are no parts, or two are not of one key and of encodings that can be aligned.
    pub fn concat(parts: &[Self]) -> Result<Self> {
        let op = "concatenation of values";
        let width = |part: &&Self| part.encoding.width();
        let finest = parts.iter().min_by(|x, y| width(x).total_cmp(&width(y)));
        let finest = finest.ok_or(Error::NoValues { op })?;
        let mut all = finest.bare();
        for part in parts {
            let (part, _) = part.aligned(op, finest)?;
            all.items.extend(part.at_center(finest.encoding.center()).items);
            (all.lo, all.hi) = (all.lo.min(part.lo), all.hi.max(part.hi));
            all.noise = all.noise.max(part.noise);
            all.index = all.index.max(part.index);
            all.deviation = all.deviation.max(part.deviation);
        }
        all.checked(op)
    }

    /// `x + y` for each pair: variances add, and so do deviations.
    ///
    /// # Errors
    /// If lengths or keys differ, if the widths are not integer multiples of each other, or if
    /// the sum could leave the turn.
    pub fn add(&self, other: &Self) -> Result<Self> {
        let (lo, hi) = (self.lo + other.lo, self.hi + other.hi);
        self.combine(
            "addition of values",
            other,
            lo,
            hi,
            |center, other| center + other,
            |x, y| x.add_assign(y),
        )
    }

    /// `x - y` for each pair.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn sub(&self, other: &Self) -> Result<Self> {
        let (lo, hi) = (self.lo - other.hi, self.hi - other.lo);
        let op = "subtraction of values";
        self.combine(op, other, lo, hi, |center, other| center - other, |x, y| x.sub_assign(y))
    }

    fn combine(
        &self,
        op: &'static str,
        other: &Self,
        lo: f64,
        hi: f64,
        centers: impl Fn(f64, f64) -> f64,
        phases: impl Fn(&mut Ciphertext, &Ciphertext) -> Result<()>,
    ) -> Result<Self> {
        if self.len() != other.len() {
            return Err(Error::Lengths { op, left: self.len(), right: other.len() });
        }
        let (left, right) = self.aligned(op, other)?;
        let mut out = left.into_owned();
        out.items.iter_mut().zip(&right.items).try_for_each(|(x, y)| phases(x, y))?;
        let center = centers(out.encoding.center(), right.encoding.center());
        out.encoding = Encoding::new(center, out.encoding.width())?;
        (out.lo, out.hi) = (lo, hi);
        out.noise += right.noise;
        out.index += right.index;
        out.deviation += right.deviation;
        out.checked(op)
    }

    /// The sum of all values, as one value.
    ///
    /// # Errors
    /// If it could leave the turn.
    pub fn sum(&self) -> Result<Self> {
        let count = self.len() as f64;
        let mut total = self.items[0].clone();
        self.items[1..].iter().try_for_each(|item| total.add_assign(item))?;
        let encoding = Encoding::new(self.encoding.center() * count, self.encoding.width())?;
        let (lo, hi) = (self.lo * count, self.hi * count);
        let (noise, index) = (self.noise * count, self.index * count);
        let (items, deviation) = (vec![total], self.deviation * count);
        let sum = Self { items, encoding, lo, hi, noise, index, deviation, key: self.key };
        sum.checked("sum of values")
    }

    /// `x + constant`, which changes the encoding only.
    ///
    /// # Errors
    /// If the constant is not finite, or so large that floating-point numbers cannot tell the
    /// results apart ([`Error::Distant`]).
    pub fn add_constant(&self, constant: f64) -> Result<Self> {
        let encoding = Encoding::new(self.encoding.center() + constant, self.encoding.width())?;
        let (lo, hi) = (self.lo + constant, self.hi + constant);
        Self { encoding, lo, hi, ..self.clone() }.checked("addition of a constant")
    }

    /// `-x`.
    pub fn neg(&self) -> Self {
        let encoding = Encoding::new(-self.encoding.center(), self.encoding.width());
        let mut out = self.clone();
        out.items.iter_mut().for_each(Ciphertext::neg_assign);
        out.encoding = encoding.expect("as finite as before");
        (out.lo, out.hi) = (-self.hi, -self.lo);
        out
    }

    /// `factor x`, which changes the encoding only: range, noise and width grow alike.
    ///
    /// # Errors
    /// [`Error::Constant`] if the factor is zero or not finite, or if width, variance or deviation would
    /// leave the range of `f64`, to either side.
    pub fn scale(&self, factor: f64) -> Result<Self> {
        let signed = if factor < 0.0 { self.neg() } else { self.clone() };
        let size = factor.abs();
        let (width, deviation) = (signed.encoding.width() * size, signed.deviation * size);
        let [noise, index] = [signed.noise, signed.index].map(|part| part * size * size);
        let kept = |before: f64, after: f64| after.is_normal() || before == 0.0;
        if !(width.is_normal()
            && kept(signed.noise, noise)
            && kept(signed.index, index)
            && kept(signed.deviation, deviation))
        {
            let (op, what, index) = ("scaling of values", "factor", None);
            let needed = "a number that leaves width and variance within the range of f64, not 0";
            return Err(Error::Constant { op, what, index, needed });
        }
        let encoding = Encoding::new(signed.encoding.center() * size, width)?;
        let (lo, hi) = (signed.lo * size, signed.hi * size);
        Self { encoding, lo, hi, noise, index, deviation, ..signed }.checked("scaling of values")
    }

    /// `factor x` for an integer, at the same width: the phase is multiplied. For sums of values
    /// with integer weights; [`scale`](Self::scale) costs nothing but changes the width.
    ///
    /// # Errors
    /// If the product could leave the turn.
    pub fn times(&self, factor: i64) -> Result<Self> {
        let real = factor as f64;
        let mut out = self.clone();
        out.items.iter_mut().for_each(|item| item.mul_assign(factor));
        out.encoding = Encoding::new(self.encoding.center() * real, self.encoding.width())?;
        let (x, y) = (self.lo * real, self.hi * real);
        (out.lo, out.hi) = (x.min(y), x.max(y));
        out.noise *= real * real;
        out.index *= real * real;
        out.deviation *= real.abs();
        out.checked("integer multiple of values")
    }

    /// Both operands at the smaller of their widths.
    fn aligned<'a>(
        &'a self,
        op: &'static str,
        other: &'a Self,
    ) -> Result<(Cow<'a, Self>, Cow<'a, Self>)> {
        if self.key != other.key {
            return Err(Error::Keys { op, left: self.key, right: other.key });
        }
        let ratio = self.encoding.width() / other.encoding.width();
        let factor = ratio.max(1.0 / ratio).round();
        if (ratio.max(1.0 / ratio) / factor - 1.0).abs() > 1e-9 || factor > 2f64.powi(40) {
            return Err(Error::Encodings { op, left: self.encoding, right: other.encoding });
        }
        let finer = |x: &Self| x.times(factor as i64)?.scale(1.0 / factor);
        Ok(match (factor > 1.0, ratio > 1.0) {
            (false, _) => (Cow::Borrowed(self), Cow::Borrowed(other)),
            (true, true) => (Cow::Owned(finer(self)?), Cow::Borrowed(other)),
            (true, false) => (Cow::Borrowed(self), Cow::Owned(finer(other)?)),
        })
    }

    /// Everything but the ciphertexts.
    fn bare(&self) -> Self {
        Self { items: Vec::new(), ..*self }
    }

    /// Fails unless there are values and they fit in a turn.
    fn checked(self, op: &'static str) -> Result<Self> {
        if self.items.is_empty() {
            return Err(Error::NoValues { op });
        }
        check_turn(op, self.lo, self.hi, self.deviation, &self.encoding)?;
        Ok(self)
    }
}

/// Fails unless values of a range, with noise of a deviation, fit in a turn of an encoding.
pub(crate) fn check_turn(
    op: &'static str,
    lo: f64,
    hi: f64,
    deviation: f64,
    encoding: &Encoding,
) -> Result<()> {
    let (center, width) = (encoding.center(), encoding.width());
    // Written so that an infinite bound, too, is refused.
    let fits = hi - lo + 2.0 * TAIL * deviation < width;
    if !fits {
        return Err(Error::Wraps { op, lo, hi, deviation, width });
    }
    if lo.abs().max(hi.abs()).max(center.abs()) > FARTHEST * width {
        return Err(Error::Distant { op, lo, hi, center, width });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
