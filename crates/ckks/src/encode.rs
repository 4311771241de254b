//! Encoding: vectors of numbers to plaintext polynomials and back.
//!
//! The steps of encoding (Full-RNS HEAAN, section 2.1):
//! 1. pad the vector to a power of two `n` of slots;
//! 2. apply the inverse of the canonical embedding ([`crate::embedding`]);
//! 3. multiply by the scale and round;
//! 4. place the `2n` coefficients at the multiples of `N / 2n`: the slots then repeat `N / 2n`
//!    times.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::error::operation;
use bellerophon_ring::{Ntt, Poly, Result, Ring, wire::Fingerprint};
use num_complex::Complex64;
use zeroize::Zeroize;

use crate::error;
use crate::interval::{Bounds, Interval};
use crate::of_integers::OfIntegers;
use crate::origins::identity;
use crate::params::Params;
use crate::slot_value::SlotValue;
use crate::sparse_slots::Coefficients;

/// An encoded vector: a polynomial in NTT form with its scale.
#[derive(Clone, PartialEq)]
pub struct Plaintext {
    pub(crate) poly: Poly<Ntt>,
    pub(crate) scale: f64,
    pub(crate) slots: usize,
    pub(crate) len: usize,
    pub(crate) level: usize,
    pub(crate) bounds: Bounds,
    /// A bound on the coefficients, message and noise together, up to a negligible probability.
    pub(crate) magnitude: f64,
    pub(crate) fingerprint: Fingerprint,
    /// Whether the range was declared at encoding.
    pub(crate) declared: bool,
    /// Whether the values are integers.
    pub(crate) integers: OfIntegers,
    /// Two words that are the same for the same values at the same scale.
    pub(crate) identity: [u64; 2],
}

impl Plaintext {
    /// The plaintext as an encoding of integers below a modulus.
    #[doc(hidden)]
    pub fn of_integers(mut self, modulus: usize) -> Self {
        self.integers = OfIntegers(Some(modulus));
        self
    }

    /// The polynomial.
    pub fn poly(&self) -> &Poly<Ntt> {
        &self.poly
    }

    /// The scale: the factor of the message.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Number of limbs.
    pub fn limbs(&self) -> usize {
        self.poly.limbs()
    }

    /// The level of ciphertexts with this number of limbs.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Number of values.
    #[expect(clippy::len_without_is_empty, reason = "a plaintext has at least one value")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of slots that the vector fills, a power of two.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The ranges of the values and of the padding.
    #[doc(hidden)]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }
}

/// Prints the shape only: a plaintext may be secret.
impl std::fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { len, slots, .. } = self;
        write!(f, "Plaintext({len} of {slots} slots, {} limbs)", self.limbs())
    }
}

impl Drop for Plaintext {
    fn drop(&mut self) {
        self.poly.zeroize();
        self.identity.zeroize();
    }
}

/// Encodes and decodes vectors for one parameter set.
#[derive(Debug, Clone)]
pub struct Encoder {
    params: Params,
}

impl Encoder {
    /// An encoder for these parameters. Cheap: the tables belong to the parameters.
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone() }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Encodes `values` of a declared range at the given scale over the first `limbs` primes (those
    /// of a level, [`Params::limbs_at`]). The vector gets the smallest power of two of slots that
    /// holds the values; the other slots are zero.
    ///
    /// Range and number of values are public: ciphertexts carry them. The range must not depend on
    /// the values.
    ///
    /// The rounding to integers adds an error of at most `sqrt(2 n) / (2 scale)` to each of `n`
    /// slots, typically `sqrt(n / 6) / scale`.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] for values outside the range, and if the range times the scale reaches
    /// `Q / 2` or `2^126`.
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
    pub fn encode_in<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        slots: usize,
        scale: f64,
        limbs: usize,
    ) -> Result<Plaintext> {
        operation("encode_in", || {
            // Check range, slots, scale and level. The metadata depends on the range, not on the
            // values.
            let level = self.params.check_limbs(limbs)?;
            let metadata = self.params.rules().encoded(values, range, slots, scale, level)?;
            let bounds = metadata.meta.bounds;
            let bound = bounds.values.bound() * scale;
            // Steps 1 to 3: integer coefficients of the slots.
            let coefficients = self.coefficients(values, slots, scale, bound);
            // Step 4: place them and transform: a small NTT, replicated.
            let poly = self.params.sparse().forward(&coefficients, limbs);
            Ok(Plaintext {
                poly,
                identity: identity(values, slots, scale),
                scale,
                slots,
                len: values.len(),
                level,
                bounds,
                magnitude: magnitude(bound, crate::noise::ENCODING),
                fingerprint: self.params.lattice().fingerprint(),
                declared: true,
                integers: OfIntegers(None),
            })
        })
    }

    /// Encodes a factor for a ciphertext at `level`, at the scale that the rescale after the
    /// product divides by ([`Params::divisor`]). Range and noise of the product follow from the
    /// declared range: use this for factors that are secrets of the server.
    pub fn encode_factor<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        slots: usize,
        level: usize,
    ) -> Result<Plaintext> {
        operation("encode_factor", || {
            self.params.check_level(level)?;
            let limbs = self.params.limbs_at(level);
            self.encode_in(values, range, slots, self.params.divisor(level), limbs)
        })
    }

    /// Encodes constants of a program. Their range follows from the constants themselves, which
    /// reveals nothing as long as results leave the server only as declared
    /// ([`Evaluator::publish`](crate::Evaluator::publish)).
    pub fn encode_constants<T: SlotValue>(
        &self,
        constants: &[T],
        slots: usize,
        scale: f64,
        limbs: usize,
    ) -> Result<Plaintext> {
        // The smallest range gives the tightest bounds of products.
        let range = constants_range(constants, self.params.max_slots())?;
        self.encode_in(constants, range, slots, scale, limbs)
    }

    /// As [`encode_constants`](Self::encode_constants) for a factor at `level`.
    pub fn constant_factor<T: SlotValue>(
        &self,
        constants: &[T],
        slots: usize,
        level: usize,
    ) -> Result<Plaintext> {
        self.params.check_level(level)?;
        let (divisor, limbs) = (self.params.divisor(level), self.params.limbs_at(level));
        self.encode_constants(constants, slots, divisor, limbs)
    }

    /// The polynomial of one value per slot at the given scale, modulo the first `limbs` primes and
    /// then the special primes.
    pub fn encode_extended(&self, values: &[Complex64], scale: f64, limbs: usize) -> Poly<Ntt> {
        let coefficients = self.factor_coefficients(values, scale);
        self.params.sparse().forward_extended(self.params.sparse_special(), coefficients, limbs)
    }

    /// The coefficients that [`encode_extended`](Self::encode_extended) transforms.
    pub fn factor_coefficients(&self, values: &[Complex64], scale: f64) -> Coefficients {
        let bound = values.iter().map(|z| z.norm()).fold(0.0, f64::max) * scale;
        self.coefficients(values, values.len(), scale, bound)
    }

    /// The `2n` integer coefficients of `n` slots, of magnitude at most `bound`.
    fn coefficients<T: SlotValue>(
        &self,
        values: &[T],
        slots: usize,
        scale: f64,
        bound: f64,
    ) -> Coefficients {
        // Step 1: pad with zeros. The capacity is exact, so no copy is left behind by a
        // reallocation.
        let mut spectrum: Vec<Complex64> = Vec::with_capacity(slots);
        spectrum.extend(values.iter().map(|v| v.to_complex()));
        spectrum.resize(slots, Complex64::ZERO);
        // Step 2: the inverse embedding. Real parts are m_0 .. m_{n-1}, imaginary parts m_n ..
        // m_{2n-1}.
        self.params.embedding().to_coefficients(&mut spectrum);
        // Step 3: scale and round.
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

    /// Decodes the values: real or complex numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Complex`] for reals from values that may be complex.
    pub fn decode<T: SlotValue>(&self, plaintext: &Plaintext) -> Result<Vec<T>> {
        operation("decode", || {
            check_type::<T>(&plaintext.bounds)?;
            let mut slots = self.decode_slots(plaintext)?;
            let values = slots[..plaintext.len].iter().map(|&z| T::from_complex(z)).collect();
            wipe(&mut slots);
            Ok(values)
        })
    }

    /// As [`decode`](Self::decode) for all slots of the period, padding included.
    pub fn decode_slots(&self, plaintext: &Plaintext) -> Result<Vec<Complex64>> {
        self.params.check(plaintext.fingerprint)?;
        // Step 1: the inverse NTT over the lowest level that holds the coefficients.
        let level = level_for(&self.params, plaintext.magnitude);
        let limbs = self.params.limbs_at(level).min(plaintext.limbs());
        let ring = self.params.ring(limbs);
        let mut poly = ring.inverse(plaintext.poly_at(limbs));
        // Step 2: the 2n coefficients at the multiples of the gap, centred and divided by the
        // scale.
        let slots = plaintext.slots;
        let gap = self.params.lattice().spec().degree / (2 * slots);
        let residues: Vec<&[u64]> = (0..limbs).map(|i| poly.limb(i)).collect();
        let centred = Centred::new(ring);
        let mut digits = vec![0; limbs];
        // The time of a division may depend on a secret dividend.
        let unit = plaintext.scale.recip();
        let mut at = |i: usize| centred.value(&residues, i * gap, &mut digits) * unit;
        let mut values: Vec<Complex64> =
            (0..slots).map(|i| Complex64::new(at(i), at(i + slots))).collect();
        poly.zeroize();
        digits.zeroize();
        // Step 3: the embedding.
        self.params.embedding().to_slots(&mut values);
        Ok(values)
    }
}

/// A bound on the coefficients of a phase. Coefficients of a message are at most its largest slot
/// times the scale, coefficients of the noise stay within 16 standard deviations.
pub fn magnitude(message: f64, variance: f64) -> f64 {
    message + crate::noise::LARGEST * variance.sqrt()
}

/// The lowest level that holds integers up to `magnitude` of either sign, with one spare bit.
pub fn level_for(params: &Params, magnitude: f64) -> usize {
    // One bit for the sign, one to spare.
    let need = magnitude.log2() + 2.0;
    let fits = |&level: &usize| params.log2_modulus(params.limbs_at(level)) >= need;
    let top = params.max_level();
    (0..top).find(fits).unwrap_or(top)
}

/// Reads centred residues as floating-point numbers by Garner's algorithm: mixed radix with centred
/// digits. A small number has only zeros as high digits, so no multi-precision arithmetic is
/// needed.
struct Centred<'r> {
    ring: &'r Ring,
    /// `inverses[i][j] = q_j^-1 mod q_i` for `j < i`.
    inverses: Vec<Vec<u64>>,
}

impl<'r> Centred<'r> {
    fn new(ring: &'r Ring) -> Self {
        // Fermat: q_j^(q_i - 2) is the inverse modulo the prime q_i.
        let inverse = |i: usize, j: usize| {
            let (q, p) = (ring.modulus(i), ring.modulus(j).value());
            q.pow(q.reduce(p), q.value() - 2)
        };
        let inverses = (0..ring.limbs()).map(|i| (0..i).map(|j| inverse(i, j)).collect()).collect();
        Self { ring, inverses }
    }

    /// The representative in `(-Q/2, Q/2)` of coefficient `k`, with a relative error of about
    /// `2^-52`. `digits` is scratch of one word per limb.
    fn value(&self, residues: &[&[u64]], k: usize, digits: &mut [i64]) -> f64 {
        let (mut sum, mut weight) = (0.0, 1.0);
        for (i, limb) in residues.iter().enumerate() {
            let q = self.ring.modulus(i);
            // Digit i of x = d_0 + d_1 q_0 + d_2 q_0 q_1 + ..: subtract each lower digit modulo q_i
            // and divide by its prime.
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

/// [`f64::round_ties_even`] without a library call, which the standard function is on targets that
/// have no rounding instruction. Between `2^52` and `2^53` the floating-point numbers are the
/// integers, so the addition rounds.
pub fn round_ties_even(x: f64) -> f64 {
    let large = 2f64.powi(52);
    let shift = large.copysign(x);
    if x.abs() < large { x + shift - shift } else { x }
}

/// Overwrites values that may be secret. The compiler does not remove the writes.
fn wipe(values: &mut [Complex64]) {
    // `Complex64` does not implement `Zeroize`, its parts do.
    for v in values {
        v.re.zeroize();
        v.im.zeroize();
    }
}

/// Refuses empty vectors, vectors above `slots`, and values that are not finite.
pub fn check_values<T: SlotValue>(values: &[T], slots: usize) -> Result<()> {
    ensure(!values.is_empty(), error::no_values)?;
    ensure(values.len() <= slots, || error::too_many_values(values.len(), slots))?;
    for (index, v) in values.iter().enumerate() {
        ensure(v.to_complex().is_finite(), || error::non_finite("value", index, values.len()))?;
    }
    Ok(())
}

/// Refuses reals where values may be complex; `f64` would drop their imaginary parts.
pub fn check_type<T: SlotValue>(bounds: &Bounds) -> Result<()> {
    ensure(!T::REAL || bounds.values.is_real(), error::complex_values)
}

/// Refuses a number that is NaN or infinite, without repeating it.
pub fn check_number<T: SlotValue>(what: &'static str, number: T) -> Result<()> {
    match number.to_complex().is_finite() {
        true => Ok(()),
        false => Err(error::not_a_number(what)),
    }
}

/// Refuses values outside a range, without repeating them.
pub fn check_range<T: SlotValue>(values: &[T], range: &Interval) -> Result<()> {
    match values.iter().position(|value| !value.lies_in(range)) {
        Some(index) => {
            let (count, lo, hi) = (values.len(), range.lo(), range.hi());
            Err(error::outside_range(index, count, lo, hi))
        }
        None => Ok(()),
    }
}

/// The smallest range that contains some constants of a program. Not for values to be encrypted:
/// the range would reveal them.
pub fn constants_range<T: SlotValue>(constants: &[T], slots: usize) -> Result<Interval> {
    check_values(constants, slots)?;
    let complex = constants.iter().map(|c| c.to_complex());
    if T::REAL {
        let (lo, hi) = complex
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), c| (lo.min(c.re), hi.max(c.re)));
        return Interval::real(lo, hi);
    }
    Interval::complex(complex.map(|c| c.norm()).fold(0.0, f64::max))
}

/// Refuses scales that are not positive and finite.
pub fn check_scale(scale: f64) -> Result<()> {
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(error::scale(scale));
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
