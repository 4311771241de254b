//! Functional bootstrapping of whole vectors: exact tables of integers, and functions of reals.

use std::ops::RangeInclusive;

use bellerophon_ckks::{
    self as ckks, Interval, Plaintext,
    fbt::{IntVec, Integers, PairedVec, PublishedIntegers, SeededIntVec, SeededPairedVec},
};
use rand::CryptoRng;

#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    ClientKey, During, Evaluator, Result,
    client::{real, system_rng},
};

impl ClientKey {
    /// Encrypts integers of `0 .. modulus` at the highest level for programs, for exact tables
    /// ([`Evaluator::integers`]). A vector holds up to twice as many integers as there are slots.
    /// The modulus is public, the integers are not.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyTables)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().functional())?)?;
    /// let x = client.encrypt_integers(&[3, 250, 7], 256)?;
    /// let y = server.integers().table(&x, |k| k * k % 256)?; // any table, exact, refreshed
    /// let sum = server.integers().add(&x, &y)?; // modulo 256
    /// assert_eq!(client.decrypt_integers(&sum)?, [12, 30, 56]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoFunctional`] for parameters without functional bootstrapping; for no integers
    /// or too many; for an integer that is not below the modulus (the error names its index); for a
    /// modulus outside `2..=65536`.
    pub fn encrypt_integers(&self, integers: &[usize], modulus: usize) -> Result<IntVec> {
        self.encrypt_integers_with(integers, modulus, self.params().levels(), &mut system_rng())
    }

    /// As [`encrypt_integers`](Self::encrypt_integers), at a given level and from a given
    /// generator of `rand` 0.10 ([`bellerophon::rand`](crate::rand)).
    ///
    /// # Errors
    /// As [`encrypt_integers`](Self::encrypt_integers), and for a level that the parameters do not
    /// have.
    pub fn encrypt_integers_with<R: CryptoRng + ?Sized>(
        &self,
        integers: &[usize],
        modulus: usize,
        level: usize,
        rng: &mut R,
    ) -> Result<IntVec> {
        let plain = self.encode_integers(integers, modulus, level).during("encrypt_integers")?;
        let inner = ckks::encrypt(self.params().ckks(), &plain, &self.slots, rng)?;
        Ok(IntVec::new(inner, modulus, integers.len())?)
    }

    /// As [`encrypt_integers`](Self::encrypt_integers), in the wire form of fresh integers: a seed
    /// replaces the mask, which halves the size. The server expands it
    /// ([`SeededIntVec::expand`]).
    ///
    /// # Errors
    /// As [`encrypt_integers`](Self::encrypt_integers).
    pub fn encrypt_integers_seeded(
        &self,
        integers: &[usize],
        modulus: usize,
    ) -> Result<SeededIntVec> {
        let (level, rng) = (self.params().levels(), &mut system_rng());
        self.encrypt_integers_seeded_with(integers, modulus, level, rng)
    }

    /// As [`encrypt_integers_with`](Self::encrypt_integers_with), also from a generator of
    /// `rand` 0.10 ([`bellerophon::rand`](crate::rand)), in the wire form of fresh integers.
    ///
    /// # Errors
    /// As [`encrypt_integers_with`](Self::encrypt_integers_with).
    pub fn encrypt_integers_seeded_with<R: CryptoRng + ?Sized>(
        &self,
        integers: &[usize],
        modulus: usize,
        level: usize,
        rng: &mut R,
    ) -> Result<SeededIntVec> {
        let op = "encrypt_integers_seeded";
        let plain = self.encode_integers(integers, modulus, level).during(op)?;
        let inner = ckks::encrypt_seeded(self.params().ckks(), &plain, &self.slots, rng)?;
        Ok(SeededIntVec::seeded(inner, modulus, integers.len())?)
    }

    fn encode_integers(
        &self,
        integers: &[usize],
        modulus: usize,
        level: usize,
    ) -> Result<Plaintext> {
        // The encoding of integers depends on the scale of the functional bootstrap.
        let functional = self.params().functional()?;
        Ok(self.encoder.encode_integers(functional, integers, modulus, level)?)
    }

    /// Decrypts integers modulo their modulus. Accepts a [published](Evaluator::publish_integers)
    /// result, and within one process any vector of integers.
    ///
    /// Rounding removes the noise, so the result may be shown to anyone. It is that of the program
    /// on the integers in the clear, except with the failure probability of the parameters and
    /// those of the preceding functional bootstraps ([`Evaluator::failures`]). This assumes a
    /// server that runs the program, and noise as predicted: `SECURITY.md`, "Exact integers",
    /// states the assumptions. [`decrypt_paired`](Self::decrypt_paired) of the same vector is for
    /// the owner of the key only.
    ///
    /// # Errors
    /// [`ckks::ErrorKind::TableNoise`] if noise may have changed an integer with more than the
    /// failure probability of the parameters; for a vector of another key or other parameters.
    pub fn decrypt_integers(&self, integers: &impl AsRef<IntVec>) -> Result<Vec<usize>> {
        let op = "decrypt_integers";
        let log2_failure = self.params().functional().during(op)?.spec().log2_failure;
        let (params, integers) = (self.params().ckks(), integers.as_ref());
        Ok(integers.decrypt(params, &self.slots, log2_failure).during(op)?)
    }

    /// Encrypts reals of a declared range at the highest level for programs, for functions of whole
    /// vectors ([`functions_of`](ckks::CkksOps::functions_of)). A vector holds up to twice as many
    /// reals as there are slots.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    pub fn encrypt_paired(&self, values: &[f64], range: RangeInclusive<f64>) -> Result<PairedVec> {
        self.encrypt_paired_with(values, range, self.params().levels(), &mut system_rng())
    }

    /// As [`encrypt_paired`](Self::encrypt_paired), at a given level and from a given
    /// generator of `rand` 0.10 ([`bellerophon::rand`](crate::rand)).
    ///
    /// # Errors
    /// As [`encrypt_with`](Self::encrypt_with).
    pub fn encrypt_paired_with<R: CryptoRng + ?Sized>(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
        rng: &mut R,
    ) -> Result<PairedVec> {
        let op = "encrypt_paired";
        let (plain, range) = self.encode_paired(values, range, level).during(op)?;
        let inner = ckks::encrypt(self.params().ckks(), &plain, &self.slots, rng)?;
        Ok(PairedVec::new(inner, range, values.len())?)
    }

    /// As [`encrypt_paired`](Self::encrypt_paired), in the wire form of a fresh vector: a seed
    /// replaces the mask, which halves the size. The server expands it
    /// ([`SeededPairedVec::expand`]).
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    pub fn encrypt_paired_seeded(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
    ) -> Result<SeededPairedVec> {
        self.encrypt_paired_seeded_with(values, range, self.params().levels(), &mut system_rng())
    }

    /// As [`encrypt_paired_with`](Self::encrypt_paired_with), also from a generator of `rand` 0.10
    /// ([`bellerophon::rand`](crate::rand)), in the wire form of a fresh vector.
    ///
    /// # Errors
    /// As [`encrypt_with`](Self::encrypt_with).
    pub fn encrypt_paired_seeded_with<R: CryptoRng + ?Sized>(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
        rng: &mut R,
    ) -> Result<SeededPairedVec> {
        let op = "encrypt_paired_seeded";
        let (plain, range) = self.encode_paired(values, range, level).during(op)?;
        let inner = ckks::encrypt_seeded(self.params().ckks(), &plain, &self.slots, rng)?;
        Ok(SeededPairedVec::seeded(inner, range, values.len())?)
    }

    fn encode_paired(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
    ) -> Result<(Plaintext, Interval)> {
        let (params, range) = (self.params().ckks(), real(range)?);
        let limbs = params.limbs_of(level)?;
        let plain = self.encoder.encode_paired(values, range, params.scale(), limbs)?;
        Ok((plain, range))
    }

    /// Decrypts a paired vector. The warning about noise at [`decrypt`](Self::decrypt) applies.
    /// Accepts a [published](ckks::Evaluator::publish_paired) result, and within one process any
    /// paired vector.
    ///
    /// # Errors
    /// For a vector of another key or other parameters.
    pub fn decrypt_paired(&self, values: &impl AsRef<PairedVec>) -> Result<Vec<f64>> {
        let (params, values) = (self.params().ckks(), values.as_ref());
        Ok(values.decrypt(params, &self.slots).during("decrypt_paired")?)
    }
}

impl Evaluator {
    /// Exact sums, multiples and tables of encrypted integers ([`ClientKey::encrypt_integers`]).
    pub fn integers(&self) -> Integers<'_, ckks::Evaluator> {
        ckks::CkksOps::integers(&self.arithmetic)
    }

    /// Publishes integers: the form in which they leave the server. Their metadata states the
    /// modulus and the number of integers, and that they decrypt exactly except with the failure
    /// probability of the parameters ([`ckks::Evaluator::publish_integers`]). So the metadata does
    /// not depend on the table. Takes no level.
    ///
    /// ```
    /// use bellerophon::{PublishedIntegers, format, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyTables)?;
    /// let client = ClientKey::generate(&params)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().functional())?)?;
    /// let fresh = client.encrypt_integers_seeded(&[3, 250, 7], 256)?; // half the bytes
    /// let x = fresh.expand(params.ckks())?;
    /// let sum = server.integers().add_constant(&x, 77)?; // 0 to 331 before its reduction
    /// assert!(server.publish_integers(&sum).is_err());
    /// let y = server.integers().table(&sum, |k| k)?;
    /// let answer = format::to_bytes(&params, &server.publish_integers(&y)?)?;
    /// let y: PublishedIntegers = format::from_bytes(&params, &answer)?;
    /// assert_eq!(client.decrypt_integers(&y)?, [80, 71, 84]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoFunctional`] for parameters without functional bootstrapping, and those of
    /// [`ckks::Evaluator::publish_integers`]: [`ckks::ErrorKind::Unreduced`] for integers that an
    /// identity table must reduce first.
    pub fn publish_integers(&self, x: &IntVec) -> Result<PublishedIntegers> {
        // Integers that would decrypt wrongly more often than this are refused.
        let op = "publish_integers";
        let log2_failure = self.params().functional().during(op)?.spec().log2_failure;
        Ok(self.arithmetic.publish_integers(x, log2_failure)?)
    }
}
