//! Encryption and decryption of encoded vectors.

use bellerophon_mlwe::{self as mlwe, PublicKey, SecretKey};
use rand::CryptoRng;

use crate::{
    Ciphertext, Encoder, Error, Meta, Params, Plaintext, Result, SlotValue,
    encode::{level_for, magnitude},
};

/// A symmetric encryption with its mask as a seed: half the size on the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededCiphertext {
    /// The lattice ciphertext.
    pub inner: mlwe::SeededCiphertext,
    /// What is known of the message.
    pub meta: Meta,
}

impl SeededCiphertext {
    /// The plain form.
    ///
    /// # Errors
    /// As [`Ciphertext::from_parts`].
    pub fn expand(&self, params: &Params) -> Result<Ciphertext> {
        Ciphertext::from_parts(params, self.inner.expand(params.lattice())?, self.meta)
    }
}

/// Refuses plaintexts of other parameters, and those that came from a decryption: their range followed the
/// operations of a server and is nobody's declaration.
fn check(params: &Params, plaintext: &Plaintext) -> Result<()> {
    let op = "encrypt";
    params.check(op, plaintext.fingerprint)?;
    if plaintext.declared {
        return Ok(());
    }
    let needed = "it anew: decode the plaintext, and encode its values in a range";
    Err(Error::Declaration { op, what: "range", needed })
}

/// Encrypts under the secret key, at the plaintext's level; noise variance `sigma^2`.
///
/// # Errors
/// [`Error::ParamsMismatch`] when plaintext, parameters and key do not belong together,
/// [`Error::Declaration`] for a plaintext that came from a decryption.
pub fn encrypt<R: CryptoRng + ?Sized>(
    params: &Params,
    plaintext: &Plaintext,
    key: &SecretKey,
    rng: &mut R,
) -> Result<Ciphertext> {
    check(params, plaintext)?;
    params.check("encrypt", key.fingerprint())?;
    let inner = key.encrypt(&plaintext.poly, rng)?;
    Ciphertext::from_parts(
        params,
        inner,
        params.books().encrypted_secret(&plaintext.account()).meta,
    )
}

/// As [`encrypt`], with the mask as a seed.
pub fn encrypt_seeded<R: CryptoRng + ?Sized>(
    params: &Params,
    plaintext: &Plaintext,
    key: &SecretKey,
    rng: &mut R,
) -> Result<SeededCiphertext> {
    check(params, plaintext)?;
    params.check("encrypt", key.fingerprint())?;
    let inner = key.encrypt_seeded(&plaintext.poly, rng)?;
    let meta = params.books().encrypted_secret(&plaintext.account()).meta;
    Ok(SeededCiphertext { inner, meta })
}

/// Encrypts under the public key, modulo `Q` and a special prime that is divided out
/// ([`encryption_primes`](mlwe::Params::encryption_primes)), so that the noise is little more than one
/// rounding.
///
/// # Errors
/// As [`encrypt`].
pub fn encrypt_public<R: CryptoRng + ?Sized>(
    params: &Params,
    plaintext: &Plaintext,
    key: &PublicKey,
    rng: &mut R,
) -> Result<Ciphertext> {
    check(params, plaintext)?;
    let inner = key.encrypt(params.lattice(), &plaintext.poly, rng)?;
    let meta = params.books().encrypted_public(&plaintext.account()).meta;
    Ciphertext::from_parts(params, inner, meta)
}

/// Decrypts to an encoded vector, reading only as many limbs as message and noise need.
///
/// The result carries the noise of the ciphertext, from which the secret key can be recovered
/// (Li and Micciancio, EUROCRYPT 2021): it is for the owner of the key.
///
/// # Errors
/// [`mlwe::Error::KeyMismatch`] or a parameter mismatch under another key.
pub fn decrypt(params: &Params, ciphertext: &Ciphertext, key: &SecretKey) -> Result<Plaintext> {
    let Meta { scale, bounds, noise, .. } = ciphertext.meta;
    let magnitude = magnitude(bounds.slots().bound() * scale, noise.excess);
    decrypt_up_to(params, ciphertext, magnitude, key)
}

/// The phase, of coefficients of at most some magnitude, as an encoded vector.
pub(crate) fn decrypt_up_to(
    params: &Params,
    ciphertext: &Ciphertext,
    magnitude: f64,
    key: &SecretKey,
) -> Result<Plaintext> {
    params.check("decrypt", ciphertext.inner.fingerprint())?;
    let Meta { scale, slots, len, bounds, .. } = ciphertext.meta;
    let level = level_for(params, magnitude).min(ciphertext.level());
    let phase = if level < ciphertext.level() {
        truncated(&ciphertext.inner, params.limbs_at(level), params)?.phase(key)?
    } else {
        ciphertext.inner.phase(key)?
    };
    let fingerprint = params.fingerprint();
    let poly = (*phase).clone();
    let declared = false;
    Ok(Plaintext { poly, scale, slots, len, level, bounds, magnitude, fingerprint, declared })
}

/// [`decrypt`] and [`Encoder::decode`] in one.
pub fn decrypt_values<T: SlotValue>(
    params: &Params,
    ciphertext: &Ciphertext,
    key: &SecretKey,
) -> Result<Vec<T>> {
    Encoder::new(params).decode(&decrypt(params, ciphertext, key)?)
}

/// A copy of the first limbs alone.
fn truncated(
    ciphertext: &mlwe::Ciphertext,
    limbs: usize,
    params: &Params,
) -> Result<mlwe::Ciphertext> {
    let b = ciphertext.b().limb_range(0..limbs);
    let a = ciphertext.masks().iter().map(|mask| mask.limb_range(0..limbs)).collect();
    Ok(mlwe::Ciphertext::new(params.lattice(), b, a, ciphertext.key())?)
}
