//! Vectors of up to `N` reals: two in each slot if there are more values than slots.

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, Interval, Params, Result, SecretKey,
    SeededCiphertext, decrypt_values, encode::check_range,
};

use super::{FbtInput, PeriodicFunction};
use crate::error;

/// A vector of up to `N` reals in the `N / 2` slots of one ciphertext: values `0 .. N / 2` in the
/// real parts and any others in the imaginary parts.
///
/// Functional bootstrapping separates the parts: both share one S2C and one C2S. Sums and real
/// multiples of such vectors are those of their values; products are not.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedVec<C = Ciphertext> {
    inner: C,
    range: Interval,
    len: usize,
    slots: usize,
}

/// A fresh vector with a seed for the mask: half the bytes.
pub type SeededPairedVec = PairedVec<SeededCiphertext>;

impl<C> PairedVec<C> {
    /// Values of a range in `slots` slots, or in as many as there are values.
    pub(crate) fn from_parts(inner: C, range: Interval, len: usize, slots: usize) -> Self {
        Self { inner, range, len, slots }
    }

    /// The same; refuses a ciphertext whose metadata do not fit `len` values.
    pub(crate) fn of_shape(
        inner: C,
        meta: &CiphertextMeta,
        range: Interval,
        len: usize,
        slots: usize,
    ) -> Result<Self> {
        let real = meta.bounds.slots().is_real();
        let fits = match len > slots {
            true => len <= 2 * slots && meta.len == slots && !real,
            false => meta.len == len && real,
        };
        if !fits || !range.is_real() {
            let kind = if real { "real" } else { "complex" };
            let reason = format!(
                "{len} values in {} {kind} slots of {slots}: need as many real slots as values, or \
                 all slots, complex ones, for up to twice as many, and a real range",
                meta.len
            );
            return Err(error::shape(reason));
        }
        Ok(Self { inner, range, len, slots })
    }

    /// The same; also refuses a declared range beyond that of the ciphertext.
    pub(crate) fn declared(
        inner: C,
        meta: &CiphertextMeta,
        range: Interval,
        len: usize,
        slots: usize,
    ) -> Result<Self> {
        let values = Self::of_shape(inner, meta, range, len, slots)?;
        let bound = meta.bounds.values.bound() * (1.0 + 1e-9);
        let fits = slot_range(&range, values.is_both())?.bound() <= bound;
        if !fits {
            return Err(error::shape("slots of a smaller range than that of the values".into()));
        }
        Ok(values)
    }

    /// The ciphertext.
    pub fn inner(&self) -> &C {
        &self.inner
    }

    /// The ciphertext, by value.
    pub fn into_inner(self) -> C {
        self.inner
    }

    /// The range of the values.
    pub fn range(&self) -> &Interval {
        &self.range
    }

    /// Number of values, at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a value")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the imaginary parts hold values.
    pub fn is_both(&self) -> bool {
        self.len > self.slots
    }

    pub(crate) fn input(&self) -> FbtInput {
        FbtInput { range: self.range, both: self.is_both() }
    }

    /// A vector of reals, without values in its imaginary parts.
    pub fn of_reals<A: CkksOps<Ciphertext = C>>(a: &A, x: C) -> Result<Self> {
        let meta = a.metadata(&x).meta;
        if !meta.bounds.slots().is_real() {
            return Err(error::shape("complex values: need reals".into()));
        }
        let slots = a.params().max_slots();
        Ok(Self { inner: x, range: meta.bounds.values, len: meta.len, slots })
    }

    /// The same vector with another ciphertext and range.
    pub(crate) fn with(&self, inner: C, range: Interval) -> Self {
        Self { inner, range, ..*self }
    }

    pub(crate) fn check_shape(&self, other: &Self) -> Result<()> {
        if self.len != other.len {
            return Err(error::length_mismatch(self.len, other.len));
        }
        Ok(())
    }
}

pub(crate) fn functions_of<A: CkksOps>(
    a: &A,
    x: &PairedVec<A::Ciphertext>,
    functions: &[&PeriodicFunction],
) -> Result<Vec<PairedVec<A::Ciphertext>>> {
    let scale = a.params().scale();
    let wanted: Vec<_> = functions.iter().map(|&f| (f, scale)).collect();
    let results = super::evaluate::functions(a, x.inner(), x.input(), &wanted)?;
    let pairs = results.into_iter().zip(functions);
    Ok(pairs.map(|(y, f)| x.with(y, f.range())).collect())
}

/// The range of a slot that holds values of a range in both parts.
pub(crate) fn slot_range(range: &Interval, both: bool) -> Result<Interval> {
    match both {
        true => Interval::complex(2f64.sqrt() * range.bound()),
        false => Ok(*range),
    }
}

/// Values of a declared range in the slots.
pub(crate) fn slots_of(values: &[f64], range: &Interval, slots: usize) -> Result<Vec<Complex64>> {
    if values.len() > 2 * slots {
        return Err(error::too_many_values(values.len(), 2 * slots));
    }
    if !range.is_real() {
        return Err(error::complex_range(range.bound()));
    }
    if let Some(index) = values.iter().position(|v| !v.is_finite()) {
        let count = values.len();
        return Err(error::non_finite("value", index, count));
    }
    check_range(values, range)?;
    let (re, im) = values.split_at(values.len().min(slots));
    let im = im.iter().copied().chain(std::iter::repeat(0.0));
    Ok(re.iter().zip(im).map(|(&re, im)| Complex64::new(re, im)).collect())
}

impl PairedVec {
    /// The encryption of [`EncoderExt::encode_paired`](crate::fbt::EncoderExt::encode_paired) with
    /// what it encodes.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] unless the ciphertext has the slots of `len` values, or its bound is
    /// below that of the range.
    pub fn new(inner: Ciphertext, range: Interval, len: usize) -> Result<Self> {
        let (meta, slots) = (*inner.meta(), inner.lattice().b().degree() / 2);
        Self::declared(inner, &meta, range, len, slots)
    }

    /// The values.
    pub fn decrypt(&self, params: &Params, secret: &SecretKey) -> Result<Vec<f64>> {
        if !self.is_both() {
            return decrypt_values(params, &self.inner, secret);
        }
        let slots: Vec<Complex64> = decrypt_values(params, &self.inner, secret)?;
        let (re, im) = (slots.iter().map(|z| z.re), slots.iter().map(|z| z.im));
        Ok(re.chain(im).take(self.len).collect())
    }
}

impl SeededPairedVec {
    /// As [`PairedVec::new`], of an encryption with a seed for its mask.
    pub fn seeded(inner: SeededCiphertext, range: Interval, len: usize) -> Result<Self> {
        let (meta, slots) = (inner.meta, inner.inner.b().degree() / 2);
        Self::declared(inner, &meta, range, len, slots)
    }

    /// The plain form.
    pub fn expand(&self, params: &Params) -> Result<PairedVec> {
        let Self { ref inner, range, len, slots } = *self;
        Ok(PairedVec::from_parts(inner.expand(params)?, range, len, slots))
    }
}

impl AsRef<PairedVec> for PairedVec {
    fn as_ref(&self) -> &PairedVec {
        self
    }
}
