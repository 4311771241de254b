//! Vectors of numbers to plaintext polynomials and back.
//!
//! Encoding (Full-RNS HEAAN, section 2.1): pad to a power of two `n`, apply the inverse of the
//! canonical embedding ([`crate::embedding`]), multiply by the scale, round, and place the `2n`
//! coefficients at the multiples of `N / 2n`, so that the slots repeat themselves `N / 2n` times.

use bellerophon_ring::{Ntt, Poly, Ring, wire::Fingerprint};
use zeroize::Zeroize;

use crate::{Bounds, Complex64, Error, Interval, Params, Result, sparse::Coefficients};

/// A number that a slot holds: `f64` or [`Complex64`].
pub trait SlotValue: Copy + Send + Sync + sealed::Sealed {
    /// Whether it is a real number.
    const REAL: bool;
    /// As a complex number.
    fn to_complex(self) -> Complex64;
    /// The real part where only reals are wanted.
    fn from_complex(value: Complex64) -> Self;
    /// Whether it lies in a range. A real number lies in a disc by its magnitude; a complex one lies in no
    /// real range, whatever its imaginary part.
    fn lies_in(self, range: &Interval) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for num_complex::Complex64 {}
}

impl SlotValue for f64 {
    const REAL: bool = true;

    fn to_complex(self) -> Complex64 {
        Complex64::new(self, 0.0)
    }

    fn from_complex(value: Complex64) -> Self {
        value.re
    }

    fn lies_in(self, range: &Interval) -> bool {
        (range.lo()..=range.hi()).contains(&self)
    }
}

impl SlotValue for Complex64 {
    const REAL: bool = false;

    fn to_complex(self) -> Complex64 {
        self
    }

    fn from_complex(value: Complex64) -> Self {
        value
    }

    fn lies_in(self, range: &Interval) -> bool {
        !range.is_real() && self.norm() <= range.bound()
    }
}

/// An encoded vector: a polynomial in NTT form with the scale that it was encoded at.
#[derive(Clone, PartialEq)]
pub struct Plaintext {
    pub(crate) poly: Poly<Ntt>,
    pub(crate) scale: f64,
    pub(crate) slots: usize,
    pub(crate) len: usize,
    pub(crate) level: usize,
    pub(crate) bounds: Bounds,
    /// No coefficient is larger, up to a negligible probability: message and noise together.
    pub(crate) magnitude: f64,
    pub(crate) fingerprint: Fingerprint,
    /// Whether whoever encoded it declared the range.
    pub(crate) declared: bool,
}

impl Plaintext {
    /// The polynomial.
    pub fn poly(&self) -> &Poly<Ntt> {
        &self.poly
    }

    /// The scale that the message is multiplied by.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Number of slots of one period, a power of two.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of values put in, at most [`slots`](Self::slots).
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values: never, by construction.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of limbs.
    pub fn limbs(&self) -> usize {
        self.poly.limbs()
    }

    /// The level of ciphertexts with as many limbs.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The ranges of the values and of the padding.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }
}

/// Shape only: a plaintext may be secret.
impl std::fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { len, slots, .. } = self;
        write!(f, "Plaintext({len} of {slots} slots, {} limbs)", self.limbs())
    }
}

impl Drop for Plaintext {
    fn drop(&mut self) {
        self.poly.zeroize();
    }
}

/// Encodes and decodes vectors for one parameter set.
#[derive(Debug, Clone)]
pub struct Encoder {
    params: Params,
}

impl Encoder {
    /// An encoder; cheap, the tables belong to the parameters.
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone() }
    }

    /// Encodes `values` of a declared range at the given scale over the first `limbs` primes (those of a
    /// level, [`Params::limbs_at`]), in the smallest power of two of slots that holds them; the rest is
    /// padded with zeros.
    ///
    /// The range is public: ciphertexts carry it, and everything that is predicted of them follows from
    /// it. It must not depend on the values; nothing else of the values becomes public but their number.
    ///
    /// The rounding to integers costs at most `sqrt(2 n) / (2 scale)` in a slot of `n`, typically
    /// `sqrt(n / 6) / scale`.
    ///
    /// # Errors
    /// [`Error::NoValues`], [`Error::TooManyValues`], [`Error::NonFinite`], [`Error::OutsideRange`],
    /// [`Error::Scale`], [`Error::LevelLimbs`], and [`Error::RangeOverflow`] when the range times the
    /// scale reaches `Q / 2` or `2^126`.
    pub fn encode<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        scale: f64,
        limbs: usize,
    ) -> Result<Plaintext> {
        self.encode_in(values, range, values.len().next_power_of_two(), scale, limbs)
    }

    /// As [`encode`](Self::encode) in a given number of slots.
    ///
    /// # Errors
    /// [`Error::SlotCount`] besides those of [`encode`](Self::encode).
    pub fn encode_in<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        slots: usize,
        scale: f64,
        limbs: usize,
    ) -> Result<Plaintext> {
        let op = "encode";
        let level = self.params.check_limbs(op, limbs)?;
        let account = self.params.books().encoded(op, (values, range), slots, scale, level)?;
        let bounds = account.meta.bounds;
        let bound = bounds.values.bound() * scale;
        let coefficients = self.coefficients(values, slots, scale, bound);
        let poly = self.params.sparse().forward(&coefficients, limbs);
        Ok(Plaintext {
            poly,
            scale,
            slots,
            len: values.len(),
            level,
            bounds,
            magnitude: magnitude(bound, crate::noise::ENCODING),
            fingerprint: self.params.fingerprint(),
            declared: true,
        })
    }

    /// Encodes a factor for a ciphertext at `level`: at the scale that the rescaling after the
    /// product divides by ([`Params::divisor`]), so that the ciphertext's scale stays what it is.
    ///
    /// What the product is said to be (its range, its noise) follows from the declared range and not
    /// from the values: a factor that is a secret of whoever computes is encoded here.
    ///
    /// # Errors
    /// As for [`encode_in`](Self::encode_in); [`Error::LevelTooHigh`].
    pub fn encode_factor<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        slots: usize,
        level: usize,
    ) -> Result<Plaintext> {
        self.params.check_level("encode a factor", level)?;
        let limbs = self.params.limbs_at(level);
        self.encode_in(values, range, slots, self.params.divisor(level), limbs)
    }

    /// Constants of a program, whose range follows from themselves: results leave a server only as
    /// declared ([`Evaluator::publish`](crate::Evaluator::publish)).
    pub(crate) fn encode_constants<T: SlotValue>(
        &self,
        op: &'static str,
        constants: &[T],
        slots: usize,
        scale: f64,
        limbs: usize,
    ) -> Result<Plaintext> {
        let range = constants_range(op, constants, self.params.max_slots())?;
        self.encode_in(constants, range, slots, scale, limbs)
    }

    /// As [`encode_constants`](Self::encode_constants) for a factor at `level`.
    pub(crate) fn constant_factor<T: SlotValue>(
        &self,
        op: &'static str,
        constants: &[T],
        slots: usize,
        level: usize,
    ) -> Result<Plaintext> {
        self.params.check_level(op, level)?;
        let (divisor, limbs) = (self.params.divisor(level), self.params.limbs_at(level));
        self.encode_constants(op, constants, slots, divisor, limbs)
    }

    /// The polynomial of as many values as slots at the given scale, modulo the first `limbs`
    /// primes and then the special ones.
    pub(crate) fn encode_extended(
        &self,
        values: &[Complex64],
        scale: f64,
        limbs: usize,
    ) -> Poly<Ntt> {
        let coefficients = self.factor_coefficients(values, scale);
        self.params.sparse().forward_extended(self.params.sparse_special(), coefficients, limbs)
    }

    /// What [`encode_extended`](Self::encode_extended) transforms.
    pub(crate) fn factor_coefficients(&self, values: &[Complex64], scale: f64) -> Coefficients {
        let bound = values.iter().map(|z| z.norm()).fold(0.0, f64::max) * scale;
        self.coefficients(values, values.len(), scale, bound)
    }

    /// The `2n` integer coefficients at the multiples of `N / 2n`, none larger than `bound`.
    fn coefficients<T: SlotValue>(
        &self,
        values: &[T],
        slots: usize,
        scale: f64,
        bound: f64,
    ) -> Coefficients {
        let mut spectrum: Vec<Complex64> = Vec::with_capacity(slots);
        spectrum.extend(values.iter().map(|v| v.to_complex()));
        spectrum.resize(slots, Complex64::ZERO);
        self.params.embedding().to_coefficients(&mut spectrum);
        let parts = spectrum.iter().map(|c| c.re).chain(spectrum.iter().map(|c| c.im));
        let rounded = parts.map(|x| round_ties_even(x * scale));
        let coefficients = if bound < 2f64.powi(61) {
            Coefficients::Narrow(rounded.map(|x| x as i64).collect::<Vec<_>>().into())
        } else {
            Coefficients::Wide(rounded.map(|x| x as i128).collect::<Vec<_>>().into())
        };
        wipe(&mut spectrum);
        coefficients
    }

    /// Decodes the values: reals (the imaginary parts are dropped) or complex numbers.
    ///
    /// Only as many limbs are read as the message and its noise need.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    pub fn decode<T: SlotValue>(&self, plaintext: &Plaintext) -> Result<Vec<T>> {
        let mut slots = self.decode_slots(plaintext)?;
        let values = slots[..plaintext.len].iter().map(|&z| T::from_complex(z)).collect();
        wipe(&mut slots);
        Ok(values)
    }

    /// As [`decode`](Self::decode) for all slots of the period, padding included.
    pub fn decode_slots(&self, plaintext: &Plaintext) -> Result<Vec<Complex64>> {
        self.params.check("decode", plaintext.fingerprint)?;
        let level = level_for(&self.params, plaintext.magnitude);
        let limbs = self.params.limbs_at(level).min(plaintext.limbs());
        let ring = self.params.ring(limbs);
        let mut poly = ring.inverse(plaintext.poly_at(limbs));
        let slots = plaintext.slots;
        let gap = self.params.degree() / (2 * slots);
        let residues: Vec<&[u64]> = (0..limbs).map(|i| poly.limb(i)).collect();
        let centred = Centred::new(ring);
        let mut digits = vec![0; limbs];
        let mut at = |i: usize| centred.value(&residues, i * gap, &mut digits) / plaintext.scale;
        let mut values: Vec<Complex64> =
            (0..slots).map(|i| Complex64::new(at(i), at(i + slots))).collect();
        poly.zeroize();
        digits.zeroize();
        self.params.embedding().to_slots(&mut values);
        Ok(values)
    }
}

/// A bound on the coefficients of a phase: those of a message are at most its largest slot times
/// the scale; those of the noise stay within 16 deviations.
pub(crate) fn magnitude(message: f64, variance: f64) -> f64 {
    message + crate::noise::LARGEST * variance.sqrt()
}

/// The lowest level that holds integers up to `magnitude` in either sign, with a bit to spare.
pub(crate) fn level_for(params: &Params, magnitude: f64) -> usize {
    let need = magnitude.log2() + 2.0;
    let fits = |&level: &usize| params.log2_modulus(params.limbs_at(level)) >= need;
    let top = params.max_level();
    (0..top).find(fits).unwrap_or(top)
}

/// Reads centred residues as floating-point numbers: mixed radix with centred digits (Garner), so
/// that a small number has all its high digits zero and no multi-precision arithmetic is needed.
struct Centred<'r> {
    ring: &'r Ring,
    /// `inverses[i][j] = q_j^-1 mod q_i` for `j < i`.
    inverses: Vec<Vec<u64>>,
}

impl<'r> Centred<'r> {
    fn new(ring: &'r Ring) -> Self {
        let inverse = |i: usize, j: usize| {
            let (q, p) = (ring.modulus(i), ring.modulus(j).value());
            q.pow(q.reduce(p), q.value() - 2)
        };
        let inverses = (0..ring.limbs()).map(|i| (0..i).map(|j| inverse(i, j)).collect()).collect();
        Self { ring, inverses }
    }

    /// The representative in `(-Q/2, Q/2)` of coefficient `k`, correct to about `2^-52`; `digits`
    /// is scratch, one word for each limb.
    fn value(&self, residues: &[&[u64]], k: usize, digits: &mut [i64]) -> f64 {
        let (mut sum, mut weight) = (0.0, 1.0);
        for (i, limb) in residues.iter().enumerate() {
            let q = self.ring.modulus(i);
            let mut x = limb[k];
            for (&digit, &inverse) in digits[..i].iter().zip(&self.inverses[i]) {
                x = q.mul(q.sub(x, q.from_i64(digit)), inverse);
            }
            digits[i] = q.center(x);
            sum += weight * digits[i] as f64;
            weight *= q.value() as f64;
        }
        sum
    }
}

/// [`f64::round_ties_even`], which is a call where the CPU that is compiled for has no instruction
/// for it. Between `2^52` and `2^53` the floating-point numbers are the integers.
fn round_ties_even(x: f64) -> f64 {
    let large = 2f64.powi(52);
    let shift = large.copysign(x);
    if x.abs() < large { x + shift - shift } else { x }
}

/// Overwrites values that may be secret, in a way that is not optimised out.
fn wipe(values: &mut [Complex64]) {
    for v in values {
        v.re.zeroize();
        v.im.zeroize();
    }
}

/// Refuses empty vectors, vectors above `slots`, and values that are not finite.
pub(crate) fn check_values<T: SlotValue>(
    op: &'static str,
    values: &[T],
    slots: usize,
) -> Result<()> {
    if values.is_empty() {
        return Err(Error::NoValues { op });
    }
    if values.len() > slots {
        return Err(Error::TooManyValues { op, found: values.len(), slots });
    }
    for (index, v) in values.iter().enumerate() {
        if !v.to_complex().is_finite() {
            return Err(Error::NonFinite { op, index });
        }
    }
    Ok(())
}

/// Refuses values outside a range, without repeating them.
pub(crate) fn check_range<T: SlotValue>(
    op: &'static str,
    values: &[T],
    range: &Interval,
) -> Result<()> {
    match values.iter().position(|value| !value.lies_in(range)) {
        Some(index) => Err(Error::OutsideRange { op, index, lo: range.lo(), hi: range.hi() }),
        None => Ok(()),
    }
}

/// The smallest range that holds some constants of a program: never of values that are to be encrypted.
pub(crate) fn constants_range<T: SlotValue>(
    op: &'static str,
    constants: &[T],
    slots: usize,
) -> Result<Interval> {
    check_values(op, constants, slots)?;
    let complex = constants.iter().map(|c| c.to_complex());
    if T::REAL {
        let (lo, hi) = complex
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), c| (lo.min(c.re), hi.max(c.re)));
        return Interval::real(lo, hi);
    }
    Interval::complex(complex.map(|c| c.norm()).fold(0.0, f64::max))
}

/// Refuses scales that are not positive and finite.
pub(crate) fn check_scale(op: &'static str, scale: f64) -> Result<()> {
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(Error::Scale { op, scale });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn rounds_as_the_standard_library() {
        let large = 2f64.powi(52);
        let mut cases: Vec<f64> = (-40..=40).map(|i| i as f64 / 8.0).collect();
        for x in [0.49999999999999994, 1e9 + 0.5, large - 0.5, large - 1.5, large, large + 1.0] {
            cases.extend([x, 1.5 * x, 3.0 * x, 1e60 * x]);
        }
        for x in cases.into_iter().flat_map(|x| [x, -x]) {
            assert_eq!(super::round_ties_even(x), x.round_ties_even());
        }
    }
}
