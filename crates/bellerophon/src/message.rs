//! What an encrypted vector holds: reals, complex numbers, reals in pairs, or integers.

use std::ops::RangeInclusive;

use bellerophon_circuits::fbt::EncoderExt;
use bellerophon_circuits::fbt::{IntVec, PairedVec, SeededIntVec, SeededPairedVec};
use bellerophon_ckks::{
    Ciphertext, Complex64, Encoder, Interval, Plaintext, Provided, SeededCiphertext,
};
use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;
use rand::CryptoRng;

use crate::params::Params;

/// The kind of the values of a vector, with their range: the second argument of
/// [`ClientKey::encrypt`](crate::ClientKey::encrypt). It is public, the values are not.
///
/// - A range `-1.0..=1.0`: reals of that range, one in each slot.
/// - [`Disc`]: complex numbers up to a modulus, one in each slot.
/// - [`Paired`]: reals of a range, two in each slot.
/// - [`Modulo`]: integers below a modulus, two in each slot.
pub trait Message {
    /// One value.
    type Value;
    /// The encrypted vector.
    type Vector;
    /// The wire form of a fresh vector, with a seed for the mask.
    type Seeded;

    /// The plaintext of values at a level.
    fn encode(&self, params: &Params, values: &[Self::Value], level: usize) -> Result<Plaintext>;

    /// The vector of `len` values in a ciphertext.
    fn vector(&self, inner: Ciphertext, len: usize) -> Result<Self::Vector>;

    /// The fresh vector of `len` values in a ciphertext with a seed.
    fn seeded(&self, inner: SeededCiphertext, len: usize) -> Result<Self::Seeded>;
}

/// The kinds of values that others encrypt for the owner of a key: a range, [`Disc`] or [`Modulo`],
/// the second argument of [`PublicKey::encrypt`](crate::PublicKey::encrypt).
pub trait ProvidedMessage: Message {
    /// The encrypted vector, whose range and noise the server derives from the parameters.
    type Provided;

    /// Encrypts a plaintext of `len` values.
    fn provide<R: CryptoRng + ?Sized>(
        &self,
        params: &Params,
        plaintext: &Plaintext,
        len: usize,
        key: &mlwe::PublicKey,
        rng: &mut R,
    ) -> Result<Self::Provided>;
}

/// Reals of a range, one in each slot. Levels above those for programs are allowed: they are the
/// levels of a bootstrap.
impl Message for RangeInclusive<f64> {
    type Value = f64;
    type Vector = Ciphertext;
    type Seeded = SeededCiphertext;

    fn encode(&self, params: &Params, values: &[f64], level: usize) -> Result<Plaintext> {
        let (params, range) = (params.ckks(), real(self)?);
        Encoder::new(params).encode(values, range, params.scale(), params.limbs_of(level)?)
    }

    fn vector(&self, inner: Ciphertext, _len: usize) -> Result<Ciphertext> {
        Ok(inner)
    }

    fn seeded(&self, inner: SeededCiphertext, _len: usize) -> Result<SeededCiphertext> {
        Ok(inner)
    }
}

/// Vectors of one value in each slot.
impl<M: Message<Vector = Ciphertext>> ProvidedMessage for M {
    type Provided = Provided;

    fn provide<R: CryptoRng + ?Sized>(
        &self,
        params: &Params,
        plaintext: &Plaintext,
        _len: usize,
        key: &mlwe::PublicKey,
        rng: &mut R,
    ) -> Result<Provided> {
        Provided::encrypt(params.ckks(), plaintext, key, rng)
    }
}

/// Complex numbers of at most this modulus, one in each slot
/// ([`decrypt_complex`](crate::ClientKey::decrypt_complex)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disc(pub f64);

impl Message for Disc {
    type Value = Complex64;
    type Vector = Ciphertext;
    type Seeded = SeededCiphertext;

    fn encode(&self, params: &Params, values: &[Complex64], level: usize) -> Result<Plaintext> {
        let (params, range) = (params.ckks(), Interval::complex(self.0)?);
        Encoder::new(params).encode(values, range, params.scale(), params.limbs_of(level)?)
    }

    fn vector(&self, inner: Ciphertext, _len: usize) -> Result<Ciphertext> {
        Ok(inner)
    }

    fn seeded(&self, inner: SeededCiphertext, _len: usize) -> Result<SeededCiphertext> {
        Ok(inner)
    }
}

/// Reals of a range, up to twice as many as there are slots, for functions of whole vectors
/// ([`functions_of`](crate::circuits::CircuitOps::functions_of)).
#[derive(Debug, Clone, PartialEq)]
pub struct Paired(pub RangeInclusive<f64>);

impl Message for Paired {
    type Value = f64;
    type Vector = PairedVec;
    type Seeded = SeededPairedVec;

    fn encode(&self, params: &Params, values: &[f64], level: usize) -> Result<Plaintext> {
        let (params, range) = (params.ckks(), real(&self.0)?);
        let limbs = params.limbs_of(level)?;
        Encoder::new(params).encode_paired(values, range, params.scale(), limbs)
    }

    fn vector(&self, inner: Ciphertext, len: usize) -> Result<PairedVec> {
        PairedVec::new(inner, real(&self.0)?, len)
    }

    fn seeded(&self, inner: SeededCiphertext, len: usize) -> Result<SeededPairedVec> {
        SeededPairedVec::seeded(inner, real(&self.0)?, len)
    }
}

/// Integers below a modulus, up to twice as many as there are slots, for exact tables
/// ([`CircuitOps::integers`](crate::circuits::CircuitOps::integers)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulo(pub usize);

impl Message for Modulo {
    type Value = usize;
    type Vector = IntVec;
    type Seeded = SeededIntVec;

    fn encode(&self, params: &Params, values: &[usize], level: usize) -> Result<Plaintext> {
        // The encoding of integers depends on the scale of the functional bootstrap.
        let encoder = Encoder::new(params.ckks());
        encoder.encode_integers(params.functional()?, values, self.0, level)
    }

    fn vector(&self, inner: Ciphertext, len: usize) -> Result<IntVec> {
        IntVec::new(inner, self.0, len)
    }

    fn seeded(&self, inner: SeededCiphertext, len: usize) -> Result<SeededIntVec> {
        SeededIntVec::seeded(inner, self.0, len)
    }
}

impl ProvidedMessage for Modulo {
    type Provided = Provided<IntVec>;

    fn provide<R: CryptoRng + ?Sized>(
        &self,
        params: &Params,
        plaintext: &Plaintext,
        len: usize,
        key: &mlwe::PublicKey,
        rng: &mut R,
    ) -> Result<Provided<IntVec>> {
        IntVec::provide(params.ckks(), plaintext, self.0, len, key, rng)
    }
}

/// The interval of a declared range.
pub(crate) fn real(range: &RangeInclusive<f64>) -> Result<Interval> {
    Interval::real(*range.start(), *range.end())
}
