//! Encryption and decryption of encoded vectors.

use bellerophon_mlwe::{self as mlwe, PublicKey, SecretKey};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use rand::CryptoRng;

use crate::ciphertext::{Ciphertext, CiphertextMeta};
use crate::encode::{Encoder, Plaintext, check_type, level_for, magnitude};
use crate::error;
use crate::interval::Bounds;
use crate::metadata::Metadata;
use crate::of_integers::OfIntegers;
use crate::params::Params;
use crate::slot_value::SlotValue;

/// A secret-key encryption with its mask as a seed: half the serialized size.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededCiphertext {
    /// The lattice ciphertext.
    pub inner: mlwe::SeededCiphertext,
    /// The metadata of the message.
    pub meta: CiphertextMeta,
    /// Whether the values are integers below a modulus.
    pub integers: OfIntegers,
}

impl SeededCiphertext {
    /// Joins a lattice ciphertext with the metadata of its message.
    pub fn new(inner: mlwe::SeededCiphertext, meta: CiphertextMeta) -> Self {
        Self { inner, meta, integers: OfIntegers(None) }
    }

    /// The ciphertext with its mask expanded from the seed.
    pub fn expand(&self, params: &Params) -> Result<Ciphertext> {
        let fresh = Ciphertext::fresh(params, self.inner.expand(params.lattice())?, self.meta)?;
        Ok(fresh.of_integers(self.integers))
    }
}

/// Refuses plaintexts of other parameters, and plaintexts from a decryption: their range follows
/// from the operations of a server and was not declared by the client.
fn check(params: &Params, plaintext: &Plaintext) -> Result<()> {
    params.check(plaintext.fingerprint)?;
    if plaintext.declared {
        return Ok(());
    }
    let needed = "a range of your own: decode the plaintext and encode its values in that range";
    Err(error::declaration("range", needed))
}

/// The metadata of an encryption. Its noise may not exceed half of the width of the declared range:
/// the middle of the range is then nearer to the values than their decryption. A range of one point
/// is public.
fn checked(fresh: Metadata) -> Result<CiphertextMeta> {
    let Bounds { values, .. } = fresh.meta.bounds;
    let (noise, width) = (fresh.noise(), values.hi() - values.lo());
    if width > 0.0 && noise > 0.5 * width {
        let what = "the declared range has a width of";
        return Err(error::lost_in_noise(what, noise, width));
    }
    Ok(fresh.meta)
}

/// Refuses to return values whose error, since their range was last stated, exceeds half of the
/// [extent](crate::Interval::extent) of their range.
fn check_noise(x: &Metadata) -> Result<()> {
    // The excess bounds the worst slot; the noise of a loop counts all of its steps.
    let (noise, range) = (x.excess().min(x.noise()), x.meta.bounds.values);
    let width = range.extent();
    if width > 0.0 && noise > 0.5 * width {
        let reach = width == range.bound();
        let what = if reach { "the values reach only" } else { "the values differ only by" };
        return Err(error::lost_in_noise(what, noise, width));
    }
    Ok(())
}

/// Encrypts under the secret key, at the level of the plaintext. The noise variance is `sigma^2`.
///
/// # Errors
/// [`mlwe::ErrorKind::ParamsMismatch`] if plaintext, parameters and key do not belong together,
/// [`ErrorKind::Declaration`] for a plaintext from a decryption, [`ErrorKind::Noise`] if the
/// noise exceeds half of the width of the declared range.
pub fn encrypt<R: CryptoRng + ?Sized>(
    params: &Params,
    plaintext: &Plaintext,
    key: &SecretKey,
    rng: &mut R,
) -> Result<Ciphertext> {
    check(params, plaintext)?;
    params.check(key.params().fingerprint())?;
    let meta = checked(params.rules().encrypted_secret(&plaintext.metadata()))?;
    let fresh = Ciphertext::fresh(params, key.encrypt(&plaintext.poly, rng)?, meta)?;
    Ok(fresh.of_integers(plaintext.integers))
}

/// As [`encrypt`], with the mask stored as a seed.
pub fn encrypt_seeded<R: CryptoRng + ?Sized>(
    params: &Params,
    plaintext: &Plaintext,
    key: &SecretKey,
    rng: &mut R,
) -> Result<SeededCiphertext> {
    check(params, plaintext)?;
    params.check(key.params().fingerprint())?;
    let meta = checked(params.rules().encrypted_secret(&plaintext.metadata()))?;
    let inner = key.encrypt_seeded(&plaintext.poly, rng)?;
    Ok(SeededCiphertext { inner, meta, integers: plaintext.integers })
}

/// Encrypts under the public key, modulo `Q` times a special prime that is then divided out
/// ([`encryption_primes`](mlwe::Params::encryption_primes)). The noise is therefore little more
/// than that of one rounding.
pub fn encrypt_public<R: CryptoRng + ?Sized>(
    params: &Params,
    plaintext: &Plaintext,
    key: &PublicKey,
    rng: &mut R,
) -> Result<Ciphertext> {
    // The public key carries a fingerprint of its own, which the lattice layer checks.
    check(params, plaintext)?;
    let meta = checked(params.rules().encrypted_public(&plaintext.metadata()))?;
    let inner = key.encrypt(params.lattice(), &plaintext.poly, rng)?;
    Ok(Ciphertext::fresh(params, inner, meta)?.of_integers(plaintext.integers))
}

/// Decrypts to an encoded vector. Reads only as many limbs as message and noise need.
///
/// The secret key can be recovered from the noise of the result (Li and Micciancio, EUROCRYPT
/// 2021); [`decrypt_flooded`](crate::noise_flooding::decrypt_flooded) gives results for others.
pub fn decrypt(params: &Params, ciphertext: &Ciphertext, key: &SecretKey) -> Result<Plaintext> {
    let CiphertextMeta { scale, bounds, noise, .. } = ciphertext.meta;
    // The excess and not the total noise: the carried range already includes earlier errors.
    let magnitude = magnitude(bounds.slots().bound() * scale, noise.excess);
    decrypt_up_to(params, ciphertext, magnitude, key)
}

/// The phase as an encoded vector, for coefficients of at most `magnitude`.
pub fn decrypt_up_to(
    params: &Params,
    ciphertext: &Ciphertext,
    magnitude: f64,
    key: &SecretKey,
) -> Result<Plaintext> {
    params.check(ciphertext.inner.ident().fingerprint)?;
    let CiphertextMeta { scale, slots, len, bounds, .. } = ciphertext.meta;
    // The lowest level that holds the phase suffices: drop the other limbs before the inner
    // product.
    let level = level_for(params, magnitude).min(ciphertext.level());
    let phase = if level < ciphertext.level() {
        truncated(&ciphertext.inner, params.limbs_at(level), params)?.phase(key)?
    } else {
        ciphertext.inner.phase(key)?
    };
    let fingerprint = params.lattice().fingerprint();
    let poly = (*phase).clone();
    // Nobody declared this range: it must not be encrypted again as if it were public.
    let (declared, integers) = (false, OfIntegers(None));
    let limb = poly.limb(0);
    let identity = [limb[0], limb[limb.len() - 1]];
    Ok(Plaintext {
        poly,
        scale,
        slots,
        len,
        level,
        bounds,
        magnitude,
        fingerprint,
        declared,
        integers,
        identity,
    })
}

/// [`decrypt`] and [`Encoder::decode`] in one, of values that the noise leaves.
///
/// # Errors
/// [`ErrorKind::Noise`] if the predicted error since the range was last stated
/// ([`Metadata::excess`]) exceeds half of the [extent](crate::Interval::extent) of their range,
/// [`ErrorKind::Complex`] for reals from complex values, and those of [`decrypt`].
pub fn decrypt_values<T: SlotValue>(
    params: &Params,
    ciphertext: &Ciphertext,
    key: &SecretKey,
) -> Result<Vec<T>> {
    check_noise(&ciphertext.metadata())?;
    decrypt_noisy(params, ciphertext, key)
}

/// As [`decrypt_values`], whatever the noise.
pub fn decrypt_noisy<T: SlotValue>(
    params: &Params,
    ciphertext: &Ciphertext,
    key: &SecretKey,
) -> Result<Vec<T>> {
    check_type::<T>(&ciphertext.meta.bounds)?;
    Encoder::new(params).decode(&decrypt(params, ciphertext, key)?)
}

/// A copy of the first `limbs` limbs.
fn truncated(
    ciphertext: &mlwe::Ciphertext,
    limbs: usize,
    params: &Params,
) -> Result<mlwe::Ciphertext> {
    // Lower limbs are residues of the same integers: no arithmetic is needed.
    let b = ciphertext.b().limb_range(0..limbs);
    let a = ciphertext.masks().iter().map(|mask| mask.limb_range(0..limbs)).collect();
    mlwe::Ciphertext::new(params.lattice(), b, a, ciphertext.ident().key)
}
