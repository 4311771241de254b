//! Encrypted vectors of integers modulo `p`: encoding, encryption, decryption.

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{
    Ciphertext, Complex64, Interval, Metadata, Params, Result, SecretKey, SeededCiphertext,
    encode::round_ties_even, noise::sure_factor,
};

use super::paired::{slot_range, slots_of};
use super::{PairedVec, SeededPairedVec};
use crate::error;

const MAX_MODULUS: usize = 1 << 16;

/// An encrypted vector of up to `N` integers modulo `p`.
///
/// Sums and multiples are those modulo `p`: the ciphertext holds the integers before their
/// reduction, in a range that grows (that of [`values`](Self::values)), and a
/// [table](crate::fbt::Integers::table) or a decryption reads them modulo `p`. Noise grows with
/// them; a table makes it small again, or is refused if it might not ([`ErrorKind::Noise`]).
///
/// Integers [from reals](crate::fbt::Integers::from_reals), and what is computed from them, are
/// integers by the word of the program alone. They are neither decrypted nor published until a
/// table has reduced them: rounding a real that is no integer shows its noise. That the reals are
/// integers remains the word of the program: a table of reals half way between two integers, such
/// as 0.5, shows their noise too.
///
/// Whether integers are exact is decided by a bound for errors of any correlation
/// ([`Noise::bound`](bellerophon_ckks::noise::Noise::bound)).
#[derive(Clone, Debug, PartialEq)]
pub struct IntVec<C = Ciphertext> {
    pub(super) values: PairedVec<C>,
    pub(super) modulus: usize,
    /// Whether they come from reals that no table has reduced.
    pub(super) of_reals: bool,
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

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The integers before their reduction, as reals of a range.
    pub fn values(&self) -> &PairedVec<C> {
        &self.values
    }

    /// Whether they come from [reals](crate::fbt::Integers::from_reals) that no table has reduced.
    pub fn is_of_reals(&self) -> bool {
        self.of_reals
    }

    /// Integers with a range of their own before their reduction.
    pub(crate) fn of_values(values: PairedVec<C>, modulus: usize, of_reals: bool) -> Result<Self> {
        check_modulus(modulus)?;
        Ok(Self { values, modulus, of_reals })
    }

    pub(super) fn with(&self, inner: C, range: Interval) -> Self {
        let Self { modulus, of_reals, .. } = *self;
        Self { values: self.values.with(inner, range), modulus, of_reals }
    }

    /// Refuses integers from reals that no table has reduced.
    pub(super) fn check_source(&self) -> Result<()> {
        match self.of_reals {
            false => Ok(()),
            true => Err(error::unreduced("the source", SOURCE)),
        }
    }

    /// Integers of `0 .. p`, their slots encrypted by `encrypt` with the range of a slot.
    pub(crate) fn assembled(
        integers: &[usize],
        modulus: usize,
        slots: usize,
        encrypt: impl FnOnce(&[Complex64], Interval) -> Result<C>,
    ) -> Result<Self> {
        let (values, range) = reals(integers, modulus)?;
        let both = values.len() > slots;
        let inner = encrypt(&slots_of(&values, &range, slots)?, slot_range(&range, both)?)?;
        let values = PairedVec::from_parts(inner, range, values.len(), slots);
        Ok(Self { values, modulus, of_reals: false })
    }
}

/// The remedy for integers from reals.
const SOURCE: &str = "integers that were encrypted as such or come from a table (an identity table \
                      reduces integers from reals; their owner reads them as reals, `to_reals`)";

/// The integers modulo `p` as a range of reals.
pub(crate) fn reduced(modulus: usize) -> Result<Interval> {
    check_modulus(modulus)?;
    Interval::real(0.0, (modulus - 1) as f64)
}

/// Integers of `0 .. p` as reals, and their range.
pub(super) fn reals(integers: &[usize], modulus: usize) -> Result<(Vec<f64>, Interval)> {
    let range = reduced(modulus)?;
    match integers.iter().position(|&k| k >= modulus) {
        Some(index) => {
            let count = integers.len();
            Err(error::not_below_modulus(index, count, modulus))
        }
        None => Ok((integers.iter().map(|&k| k as f64).collect(), range)),
    }
}

pub(super) fn check_modulus(modulus: usize) -> Result<()> {
    if !(2..=MAX_MODULUS).contains(&modulus) {
        return Err(error::shape(format!("modulus {modulus}: need 2 to {MAX_MODULUS}")));
    }
    Ok(())
}

/// Refuses integers that may be outside `0 .. p` before their reduction.
pub(super) fn check_reduced<C>(x: &IntVec<C>) -> Result<()> {
    let (lo, hi) = (x.values.range().lo(), x.values.range().hi());
    if lo < 0.0 || hi > (x.modulus - 1) as f64 {
        let reason = format!(
            "integers before their reduction in [{lo}, {hi}]: need 0 to {}; apply an identity \
             table first",
            x.modulus - 1
        );
        return Err(error::shape(reason));
    }
    Ok(())
}

/// A bound on the standard deviation of the worst integer, for errors of any correlation.
fn deviation(metadata: &Metadata, both: bool) -> f64 {
    let noise = metadata.meta.noise;
    let variance = noise.bound.max(noise.excess);
    let parts = if both { 2f64.sqrt() } else { 1.0 };
    metadata.meta.slot_std(variance) / parts
}

/// `log2` of the probability of an error of 1/2 or more: the tail of errors of any correlation,
/// summed over the values ([`Noise::surely`](bellerophon_ckks::noise::Noise::surely)).
pub(super) fn log2_failure<C>(metadata: &Metadata, values: &PairedVec<C>) -> f64 {
    let deviation = deviation(metadata, values.is_both());
    // The tail exp(1 - sqrt(2) t) at t = 0.5 / deviation, for each of the values.
    let log = (values.len() as f64).ln() + 1.0 - 2f64.sqrt() * 0.5 / deviation;
    (log / std::f64::consts::LN_2).min(0.0)
}

impl IntVec {
    /// An encryption of [`EncoderExt::encode_integers`](crate::fbt::EncoderExt::encode_integers),
    /// with modulus and number of its integers.
    ///
    /// Any other vector need not hold integers: one of another encoding, one that an operation has
    /// computed, or one that was read from bytes. It counts as one
    /// [from reals](Self::is_of_reals).
    pub fn new(inner: Ciphertext, modulus: usize, len: usize) -> Result<Self> {
        let of_reals = inner.integers() != Some(modulus);
        let values = PairedVec::new(inner, reduced(modulus)?, len)?;
        Ok(Self { values, modulus, of_reals })
    }

    /// The integers modulo `p`, rounded: the noise of the vector does not reach the result, except
    /// with the probability `2^log2_failure` under a bound on the noise.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] for integers from reals that no table has reduced.
    /// [`ErrorKind::Noise`] if the noise may change an integer with a larger
    /// probability than `2^log2_failure`, and those of [`PairedVec::decrypt`].
    pub fn decrypt(
        &self,
        params: &Params,
        secret: &SecretKey,
        log2_failure: f64,
    ) -> Result<Vec<usize>> {
        self.check_source()?;
        let deviation = deviation(&self.values.inner().metadata(), self.values.is_both());
        let worst = sure_factor(self.len(), log2_failure) * deviation;
        // Written so that NaN is refused.
        let exact = worst <= HALF;
        if !exact {
            return Err(error::table_noise(self.modulus, worst, HALF, log2_failure));
        }
        // Rounding, then reduction: the integers may have grown beyond 0 .. p.
        let values = self.values.decrypt(params, secret)?;
        Ok(values.into_iter().map(|v| residue(v, self.modulus)).collect())
    }
}

/// The nearest integer modulo `p`, without a branch and without a division, whose time may depend
/// on a secret dividend. Exact below `2^51`; beyond, some number below `p`.
fn residue(v: f64, modulus: usize) -> usize {
    let (integer, p) = (round_ties_even(v), modulus as i64);
    // The nearest multiple leaves a remainder of at most p / 2 of either sign.
    let multiple = round_ties_even(integer * (modulus as f64).recip());
    let rest = (integer as i64).wrapping_sub((multiple as i64).wrapping_mul(p));
    rest.wrapping_add(p & (rest >> 63)).clamp(0, p - 1) as usize
}

impl SeededIntVec {
    /// As [`IntVec::new`], of an encryption with a seed for its mask.
    pub fn seeded(inner: SeededCiphertext, modulus: usize, len: usize) -> Result<Self> {
        let of_reals = inner.integers.0 != Some(modulus);
        let values = SeededPairedVec::seeded(inner, reduced(modulus)?, len)?;
        Ok(Self { values, modulus, of_reals })
    }

    /// Integers by the word of their owner, whose bytes these are.
    pub(crate) fn stated(inner: SeededCiphertext, modulus: usize, len: usize) -> Result<Self> {
        Ok(Self { of_reals: false, ..Self::seeded(inner, modulus, len)? })
    }

    /// The plain form.
    pub fn expand(&self, params: &Params) -> Result<IntVec> {
        let Self { modulus, of_reals, .. } = *self;
        Ok(IntVec { values: self.values.expand(params)?, modulus, of_reals })
    }
}

impl AsRef<IntVec> for IntVec {
    fn as_ref(&self) -> &IntVec {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_are_those_of_a_division() {
        for modulus in [2, 3, 7, 256, 1000, 65536] {
            let p = modulus as f64;
            for integer in (-3 * modulus as i64..=3 * modulus as i64).step_by(1 + modulus / 100) {
                for far in [0.0, 1e9, -1e9, 2f64.powi(40)] {
                    let v = integer as f64 + (far / p).round() * p;
                    let expected = integer.rem_euclid(modulus as i64) as usize;
                    assert!([-0.49, 0.0, 0.49].iter().all(|e| residue(v + e, modulus) == expected));
                }
            }
            for v in [f64::MAX, f64::MIN, f64::INFINITY, f64::NAN, 2f64.powi(63), -1e18] {
                assert!(residue(v, modulus) < modulus, "{v} modulo {modulus}");
            }
        }
    }
}
