//! Encrypted vectors of integers modulo `p`: encoding, encryption, decryption.

use super::paired::{slot_range, slots_of};
use super::{FunctionalBootstrapper, PairedVec, SeededPairedVec};
use crate::noise::worst_factor;
use crate::{
    Ciphertext, Complex64, During, Encoder, ErrorKind, Interval, Metadata, Params, Plaintext,
    Result, SecretKey, SeededCiphertext,
};

/// Largest modulus.
const MAX_MODULUS: usize = 1 << 16;

/// An encrypted vector of up to `N` integers modulo `p`.
///
/// Sums and multiples are those modulo `p`: the ciphertext holds the integers before their
/// reduction, in a range that grows (that of [`values`](Self::values)), and a
/// [table](crate::fbt::Integers::table) or a decryption reads them modulo `p`. Noise grows with
/// them; a table makes it small again, or is refused if it might not ([`ErrorKind::TableNoise`]).
///
/// The predicted noise of a sum assumes equal errors of both terms, since tables of the same
/// integers share most of their errors.
#[derive(Clone, Debug, PartialEq)]
pub struct IntVec<C = Ciphertext> {
    pub(super) values: PairedVec<C>,
    pub(super) modulus: usize,
}

/// Fresh integers with a seed for the mask: half the bytes.
pub type SeededIntVec = IntVec<SeededCiphertext>;

/// The error 1/2 that changes an integer, with a margin for rounding in f64.
const HALF: f64 = 0.5 * (1.0 + 1e-9);

impl<C> IntVec<C> {
    /// The modulus `p`.
    pub fn modulus(&self) -> usize {
        self.modulus
    }

    /// Number of integers.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The integers before their reduction, as reals of a range.
    pub fn values(&self) -> &PairedVec<C> {
        &self.values
    }

    /// Integers with a range of their own before their reduction.
    pub(crate) fn of_values(values: PairedVec<C>, modulus: usize) -> Result<Self> {
        check_modulus(modulus).during(ASSEMBLE)?;
        Ok(Self { values, modulus })
    }

    pub(super) fn with(&self, inner: C, range: Interval) -> Self {
        Self { values: self.values.with(inner, range), modulus: self.modulus }
    }

    /// Integers of `0 .. p`, their slots encrypted by `encrypt` with the range of a slot.
    pub(crate) fn assembled(
        integers: &[usize],
        modulus: usize,
        slots: usize,
        encrypt: impl FnOnce(&[Complex64], Interval) -> Result<C>,
    ) -> Result<Self> {
        let op = "encrypt_integers";
        let (values, range) = reals(integers, modulus).during(op)?;
        let both = values.len() > slots;
        let inner =
            encrypt(&slots_of(&values, &range, slots).during(op)?, slot_range(&range, both)?)?;
        Ok(Self { values: PairedVec::from_parts(inner, range, values.len(), slots), modulus })
    }
}

const ASSEMBLE: &str = "assemble integers";

/// The integers modulo `p` as a range of reals.
pub(crate) fn reduced(modulus: usize) -> Result<Interval> {
    check_modulus(modulus).during(ASSEMBLE)?;
    Interval::real(0.0, (modulus - 1) as f64)
}

/// Integers of `0 .. p` as reals, and their range.
fn reals(integers: &[usize], modulus: usize) -> Result<(Vec<f64>, Interval)> {
    let range = reduced(modulus)?;
    match integers.iter().position(|&k| k >= modulus) {
        Some(index) => Err(ErrorKind::NotBelowModulus { index, modulus }.into()),
        None => Ok((integers.iter().map(|&k| k as f64).collect(), range)),
    }
}

pub(super) fn check_modulus(modulus: usize) -> Result<()> {
    if !(2..=MAX_MODULUS).contains(&modulus) {
        let reason = format!("modulus {modulus}: need 2 to {MAX_MODULUS}");
        return Err(ErrorKind::Shape { reason }.into());
    }
    Ok(())
}

/// Refuses integers that may be outside `0 .. p` before their reduction.
pub(super) fn check_reduced<C>(x: &IntVec<C>) -> Result<()> {
    let (lo, hi) = (x.values.range().lo(), x.values.range().hi());
    if lo < 0.0 || hi > (x.modulus - 1) as f64 {
        let reason = format!(
            "integers before their reduction in [{lo}, {hi}]: need 0 to {}; apply an identity table first",
            x.modulus - 1
        );
        return Err(ErrorKind::Shape { reason }.into());
    }
    Ok(())
}

/// A bound on the standard deviation of one integer of a vector: exactness depends on the worst
/// entry of a table, not on the average.
fn deviation(metadata: &Metadata, both: bool) -> f64 {
    let parts = if both { 2f64.sqrt() } else { 1.0 };
    metadata.noise().max(metadata.excess()) / parts
}

/// `log2` of the probability of an error of 1/2 or more: Laplace's tail, summed over the values
/// ([`worst_factor`]).
pub(super) fn log2_failure<C>(metadata: &Metadata, values: &PairedVec<C>) -> f64 {
    let deviation = deviation(metadata, values.is_both());
    // The tail exp(-sqrt(2) t) at t = 0.5 / deviation, for each of the values.
    let log = (values.len() as f64).ln() - 2f64.sqrt() * 0.5 / deviation;
    (log / std::f64::consts::LN_2).min(0.0)
}

impl Encoder {
    /// Encodes integers of `0 .. p` for functional bootstraps of these parameters, at a scale that
    /// takes no level there. Its encryption becomes an [`IntVec`].
    ///
    /// # Errors
    /// [`ErrorKind::NotBelowModulus`] for an integer that is not below `p`, by its place;
    /// [`ErrorKind::Shape`] for a modulus that is not in `2..=65536`; those of
    /// [`encode_paired`](Self::encode_paired).
    pub fn encode_integers(
        &self,
        bootstrapper: &FunctionalBootstrapper,
        integers: &[usize],
        modulus: usize,
        level: usize,
    ) -> Result<Plaintext> {
        let op = "encrypt_integers";
        let (values, range) = reals(integers, modulus).during(op)?;
        let limbs = bootstrapper.params().limbs_of(level).during(op)?;
        let scale = bootstrapper.integer_scale(modulus);
        self.encode_paired(&values, range, scale, limbs).during(op)
    }
}

impl IntVec {
    /// An encryption of [`Encoder::encode_integers`], with modulus and number of its integers.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a modulus that is not in `2..=65536`, and as for
    /// [`PairedVec::new`].
    pub fn new(inner: Ciphertext, modulus: usize, len: usize) -> Result<Self> {
        Ok(Self { values: PairedVec::new(inner, reduced(modulus)?, len)?, modulus })
    }

    /// The integers modulo `p`, rounded: the noise of the vector does not reach the result, except
    /// with the probability `2^log2_failure` under the predicted noise.
    ///
    /// # Errors
    /// [`ErrorKind::TableNoise`] if the predicted noise changes an integer with a larger
    /// probability than `2^log2_failure`, and those of [`PairedVec::decrypt`].
    pub fn decrypt(
        &self,
        params: &Params,
        secret: &SecretKey,
        log2_failure: f64,
    ) -> Result<Vec<usize>> {
        let deviation = deviation(&self.values.inner().metadata(), self.values.is_both());
        let worst = worst_factor(self.len(), log2_failure) * deviation;
        // Written so that NaN is refused.
        let exact = worst <= HALF;
        if !exact {
            return Err(ErrorKind::TableNoise {
                entries: self.modulus,
                log2_noise: worst.log2(),
                log2_tolerance: -1.0,
                log2_failure,
            }
            .during("decrypt_integers"));
        }
        // Rounding, then reduction: the integers may have grown beyond 0 .. p.
        let p = self.modulus as f64;
        let values = self.values.decrypt(params, secret)?;
        Ok(values.into_iter().map(|v| v.round().rem_euclid(p) as usize % self.modulus).collect())
    }
}

impl SeededIntVec {
    /// As [`IntVec::new`], of an encryption with a seed for its mask.
    ///
    /// # Errors
    /// As for [`IntVec::new`].
    pub fn seeded(inner: SeededCiphertext, modulus: usize, len: usize) -> Result<Self> {
        Ok(Self { values: SeededPairedVec::seeded(inner, reduced(modulus)?, len)?, modulus })
    }

    /// The plain form.
    ///
    /// # Errors
    /// Those of [`SeededCiphertext::expand`].
    pub fn expand(&self, params: &Params) -> Result<IntVec> {
        Ok(IntVec { values: self.values.expand(params)?, modulus: self.modulus })
    }
}

impl AsRef<IntVec> for IntVec {
    fn as_ref(&self) -> &IntVec {
        self
    }
}
