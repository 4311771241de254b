//! Secrets under a passphrase: bytes that may lie on a disk that others read.
//!
//! Argon2id (RFC 9106) derives a key from passphrase and salt, and XChaCha20-Poly1305 encrypts the
//! envelope of the secret with it. `docs/FORMAT.md` has the layout. Everything in front of the
//! encrypted part is authenticated with it.

use std::ops::RangeInclusive;

use argon2::{Algorithm, Argon2, Block, Version};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use rand::{CryptoRng, RngExt};
use zeroize::Zeroizing;

use super::SecretBytes;
use crate::client::{ClientKey, system_rng};
use crate::error;
use crate::params::Params;

/// The first bytes.
const MAGIC: [u8; 8] = *b"BELLLOCK";

/// The version: Argon2id 0x13 with one lane, XChaCha20-Poly1305.
const VERSION: u16 = 1;

/// Bytes in front of the encrypted part.
const HEAD: usize = 60;

/// Allowed memory of Argon2 in KiB, and allowed passes: whoever wrote a file decides within them
/// what its reader spends.
const MEMORY_KIB: RangeInclusive<u32> = 64 << 10..=256 << 10;
const PASSES: RangeInclusive<u32> = 3..=16;

/// What a guess of a passphrase costs: memory and passes of Argon2id.
///
/// The default is the least that is allowed: 64 MiB and 3 passes, the second recommendation of RFC
/// 9106 with one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassphraseCost {
    /// Memory in KiB, from `65536` to `262144`.
    pub memory_kib: u32,
    /// Passes over it, from 3 to 16.
    pub passes: u32,
}

impl Default for PassphraseCost {
    fn default() -> Self {
        Self { memory_kib: *MEMORY_KIB.start(), passes: *PASSES.start() }
    }
}

impl PassphraseCost {
    fn check(self) -> Result<()> {
        if MEMORY_KIB.contains(&self.memory_kib) && PASSES.contains(&self.passes) {
            return Ok(());
        }
        let Self { memory_kib, passes } = self;
        Err(error::passphrase_cost(memory_kib, passes))
    }
}

/// The key of passphrase and salt. The memory of Argon2 is overwritten.
fn derived(passphrase: &[u8], cost: PassphraseCost, salt: &[u8]) -> Result<Zeroizing<[u8; 32]>> {
    // Bounded before memory is allocated.
    cost.check()?;
    let malformed = |e: argon2::Error| error::malformed("a passphrase", e.to_string());
    let mut key = Zeroizing::new([0; 32]);
    let params = argon2::Params::new(cost.memory_kib, cost.passes, 1, Some(key.len()));
    let params = params.map_err(malformed)?;
    let mut memory = Zeroizing::new(vec![Block::new(); params.block_count()]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hashed =
        argon2.hash_password_into_with_memory(passphrase, salt, &mut *key, &mut memory[..]);
    hashed.map_err(malformed)?;
    Ok(key)
}

impl SecretBytes {
    /// Whether bytes begin as those of a secret under a passphrase.
    pub fn is_encrypted(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Encrypts the secret under a passphrase, with salt and nonce from `rng`. The result may be
    /// stored where others read: each guess of the passphrase costs them `cost`, so a passphrase
    /// that is easily guessed protects nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for an empty passphrase, or a cost outside the allowed one.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        &self,
        passphrase: impl AsRef<[u8]>,
        cost: PassphraseCost,
        rng: &mut R,
    ) -> Result<Vec<u8>> {
        let passphrase = passphrase.as_ref();
        if passphrase.is_empty() {
            return Err(error::empty_passphrase());
        }
        // Step 1: the head: costs, salt, nonce.
        let (salt, nonce): ([u8; 16], [u8; 24]) = (rng.random(), rng.random());
        let mut bytes = Vec::with_capacity(HEAD);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&cost.memory_kib.to_le_bytes());
        bytes.extend_from_slice(&cost.passes.to_le_bytes());
        bytes.extend_from_slice(&salt);
        bytes.extend_from_slice(&nonce);
        // Step 2: the secret, authenticated together with the head.
        let key = derived(passphrase, cost, &salt)?;
        let payload = Payload { msg: self.expose(), aad: &bytes };
        let sealed = XChaCha20Poly1305::new((&*key).into()).encrypt(&XNonce::from(nonce), payload);
        bytes.extend_from_slice(&sealed.map_err(|_| error::locked())?);
        Ok(bytes)
    }

    /// Decrypts a secret that [`encrypt`](Self::encrypt) wrote. Takes up to 256 MiB of memory, as
    /// the bytes state.
    ///
    /// # Errors
    /// [`ErrorKind::Bytes`] for another passphrase and for bytes that were changed, without a
    /// distinction; [`ErrorKind::Argument`] for their cost.
    pub fn decrypt(bytes: &[u8], passphrase: impl AsRef<[u8]>) -> Result<Self> {
        // Step 1: the head.
        let whole = bytes.split_first_chunk::<HEAD>().filter(|(head, _)| head[..8] == MAGIC);
        let Some((head, sealed)) = whole else {
            return Err(error::no_object(bytes, &MAGIC, HEAD));
        };
        let two = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let four = |at: usize| u32::from(two(at)) | u32::from(two(at + 2)) << 16;
        if two(8) != VERSION {
            return Err(error::format_version(two(8), VERSION));
        }
        if two(10) != 0 {
            return Err(error::reserved_bits(two(10).into()));
        }
        let cost = PassphraseCost { memory_kib: four(12), passes: four(16) };
        // Step 2: the secret.
        let key = derived(passphrase.as_ref(), cost, &head[20..36])?;
        let nonce: [u8; 24] = *head.last_chunk().expect("24 bytes");
        let payload = Payload { msg: sealed, aad: head };
        let opened = XChaCha20Poly1305::new((&*key).into()).decrypt(&XNonce::from(nonce), payload);
        // Bytes that became text on the way open with no passphrase.
        Ok(Self::new(opened.map_err(|_| error::or_decoded(error::locked(), bytes, &MAGIC))?))
    }
}

impl ClientKey {
    /// The secret key encrypted under a passphrase, at the default [`PassphraseCost`]. It may be
    /// stored where others read, as far as the passphrase cannot be guessed.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// let params = Params::preset(Preset::Insecure(Toy::Functions))?;
    /// let client = ClientKey::generate(&params)?;
    /// let passphrase = "correct horse battery staple";
    /// let stored = client.to_encrypted_bytes(passphrase)?;
    /// let back = ClientKey::from_encrypted_bytes(&params, &stored, passphrase)?;
    /// assert_eq!(back.id(), client.id());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for an empty passphrase.
    pub fn to_encrypted_bytes(&self, passphrase: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        let cost = PassphraseCost::default();
        self.to_encrypted_bytes_with(passphrase, cost, &mut system_rng())
    }

    /// As [`to_encrypted_bytes`](Self::to_encrypted_bytes) at a given cost and from a given
    /// generator of `rand` 0.10 ([`bellerophon::rand`](crate::rand)).
    pub fn to_encrypted_bytes_with<R: CryptoRng + ?Sized>(
        &self,
        passphrase: impl AsRef<[u8]>,
        cost: PassphraseCost,
        rng: &mut R,
    ) -> Result<Vec<u8>> {
        operation("to_encrypted_bytes", || {
            let secret = self.to_secret_bytes()?;
            secret.encrypt(passphrase, cost, rng)
        })
    }

    /// The key that [`to_encrypted_bytes`](Self::to_encrypted_bytes) wrote.
    pub fn from_encrypted_bytes(
        params: &Params,
        bytes: &[u8],
        passphrase: impl AsRef<[u8]>,
    ) -> Result<Self> {
        operation("from_encrypted_bytes", || SecretBytes::decrypt(bytes, passphrase)?.read(params))
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::error::refusal;
    use crate::preset::{Preset, Toy};

    fn locked<T>(read: &Result<T>) -> bool {
        refusal(read).is(&ErrorKind::Bytes, "the secret cannot be decrypted: the")
    }

    /// One refusal, of one text, for each wrong passphrase and each changed byte.
    #[test]
    fn wrong_passphrases_and_changed_bytes_are_one_error() {
        let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
        let client = ClientKey::generate(&params).unwrap();
        let bytes = client.to_encrypted_bytes("passphrase").unwrap();
        let read = |bytes: &[u8], passphrase: &str| {
            ClientKey::from_encrypted_bytes(&params, bytes, passphrase)
        };
        let back = read(&bytes, "passphrase").unwrap();
        let [own, again] = [&client, &back].map(|key| key.to_secret_bytes().unwrap());
        assert_eq!(own.expose(), again.expose());
        let refused = read(&bytes, "Passphrase");
        assert!(locked(&refused));
        let text = refused.unwrap_err().to_string();
        // Passes, salt, nonce, secret, tag.
        for at in [16, 20, 35, 36, 59, 60, 61, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            let refused = read(&changed, "passphrase");
            assert!(locked(&refused), "byte {at}");
            assert_eq!(refused.unwrap_err().to_string(), text);
        }
        for len in [HEAD, HEAD + 15, bytes.len() - 1] {
            assert!(locked(&read(&bytes[..len], "passphrase")), "{len} bytes");
        }
        // Nothing of the secret stands in the clear, not even its envelope.
        let secret = own.expose();
        assert!(!bytes.windows(16).any(|part| secret.windows(16).any(|other| part == other)));
        // Another salt and nonce each time.
        let other = client.to_encrypted_bytes("passphrase").unwrap();
        assert!((20..36).any(|i| bytes[i] != other[i]) && (36..60).any(|i| bytes[i] != other[i]));
    }

    /// A hostile file demands neither gigabytes nor hours, and no write is cheaper than the
    /// default.
    #[test]
    fn costs_are_bounded_before_they_are_paid() {
        let secret = SecretBytes::new(vec![7; 100]);
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let default = PassphraseCost::default();
        assert_eq!((default.memory_kib, default.passes), (64 << 10, 3));
        let bytes = secret.encrypt("p", default, rng).unwrap();
        assert_eq!(bytes.len(), HEAD + 100 + 16);
        let refused = |read: Result<SecretBytes>| {
            refusal(&read).is(&ErrorKind::Argument, "passes: 65536 to 262144 KiB and 3 to 16")
        };
        for (memory_kib, passes) in [
            (0, 3),
            ((64 << 10) - 1, 3),
            ((256 << 10) + 1, 3),
            (u32::MAX, 3),
            (64 << 10, 0),
            (64 << 10, 2),
            (64 << 10, 17),
            (64 << 10, u32::MAX),
        ] {
            let cost = PassphraseCost { memory_kib, passes };
            assert!(refused(secret.encrypt("p", cost, rng).map(SecretBytes::new)), "{cost:?}");
            let mut hostile = bytes.clone();
            hostile[12..16].copy_from_slice(&memory_kib.to_le_bytes());
            hostile[16..20].copy_from_slice(&passes.to_le_bytes());
            assert!(refused(SecretBytes::decrypt(&hostile, "p")), "{cost:?}");
        }
        // No head, another magic word, version and reserved bytes.
        for len in [1, HEAD - 1] {
            let refused = SecretBytes::decrypt(&bytes[..len], "p");
            assert!(refusal(&refused).is(&ErrorKind::Bytes, "bytes, and an object has at least"));
        }
        for (at, text) in [(0, "magic"), (8, "version"), (10, "reserved")] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let error = SecretBytes::decrypt(&changed, "p").unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        let empty = secret.encrypt("", default, rng);
        assert!(
            refusal(&empty).is(&ErrorKind::Argument, "an empty passphrase encrypts nothing: give")
        );
    }

    /// Bytes of version 1 stay readable. Another program wrote these, after `docs/FORMAT.md`.
    #[test]
    fn the_layout_is_that_of_the_format() {
        let sealed = "ee97fa092eabbd934c0cdc65e9e69d0991039677bb675abfcea45c736f7cdb4add1d1074\
            8e2b63294b2c84658b5e9005cb51bf9b0e0a6eec";
        let digit = |i: usize| u8::from_str_radix(&sealed[i..i + 2], 16).unwrap();
        let mut bytes = b"BELLLOCK\x01\0\0\0\0\0\x01\0\x03\0\0\0".to_vec();
        bytes.extend(0..16);
        bytes.extend(100..124);
        bytes.extend((0..sealed.len()).step_by(2).map(digit));
        let back = SecretBytes::decrypt(&bytes, "pass").unwrap();
        assert_eq!(back.expose(), (0..40).collect::<Vec<u8>>());
    }
}
