//! The owner of the data: secret keys, encryption, decryption.

use std::{fmt, ops::RangeInclusive};

use bellerophon_ckks::{self as ckks, Ciphertext, Encoder, Interval, Plaintext, SeededCiphertext};
use bellerophon_lwe::{self as lwe, Values};
use bellerophon_mlwe::{KeyId, SecretKey};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng, rngs::SysRng};

use crate::{Error, EvaluationKeys, Needs, Params, Result, keys::key_spec};

/// The secret keys of one client. It never leaves the client: it has no wire form, and becomes bytes
/// only by a step of its own ([`to_secret_bytes`](Self::to_secret_bytes)); its contents are overwritten
/// on drop, and `Debug` shows its public identity only.
///
/// It holds one secret for the slots and, where the parameters have look-ups, one for LWE values
/// and one for the ring of the tables.
pub struct ClientKey {
    params: Params,
    encoder: Encoder,
    pub(crate) slots: SecretKey,
    pub(crate) lookups: Option<LookupSecrets>,
}

/// The secrets that only look-ups take.
pub(crate) struct LookupSecrets {
    pub(crate) lwe: lwe::SecretKey,
    pub(crate) ring: lwe::SecretKey,
}

/// A generator seeded by the operating system.
pub(crate) fn system_rng() -> ChaCha20Rng {
    ChaCha20Rng::try_from_rng(&mut SysRng).expect("the operating system gives random bytes")
}

impl ClientKey {
    /// Fresh secrets from a generator that the operating system seeds.
    ///
    /// # Errors
    /// None for parameters that [`Params`] accepts.
    pub fn generate(params: &Params) -> Result<Self> {
        Self::generate_with(params, &mut system_rng())
    }

    /// As [`generate`](Self::generate) from a given generator.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub fn generate_with<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        let slots = SecretKey::generate(params.arithmetic().lattice(), rng)?;
        let lookups = match params.optional_lookups() {
            Some(lookups) => Some(LookupSecrets {
                lwe: lwe::SecretKey::generate_lwe(lookups.lattice(), rng)?,
                ring: lwe::SecretKey::generate_ring(lookups.lattice(), rng)?,
            }),
            None => None,
        };
        Ok(Self::from_secrets(params, slots, lookups))
    }

    /// The key of these secrets, which are of these parameters.
    pub(crate) fn from_secrets(
        params: &Params,
        slots: SecretKey,
        lookups: Option<LookupSecrets>,
    ) -> Self {
        let encoder = Encoder::new(params.arithmetic());
        Self { params: params.clone(), encoder, slots, lookups }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public identity that ciphertexts and keys of this client carry.
    pub fn id(&self) -> KeyId {
        self.slots.id()
    }

    /// The secret of the slots.
    pub(crate) fn slots(&self) -> &SecretKey {
        &self.slots
    }

    /// What decodes its vectors.
    pub(crate) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The public keys for a program: send them to whoever computes.
    ///
    /// # Errors
    /// For needs that the parameters do not serve, which name the reason: [`Error::NoLookUps`],
    /// [`Error::NoRingBridge`], [`Error::NoLinearBridge`], [`Error::NoEngine`], [`Error::NoCorrection`],
    /// [`Error::NoRefresh`], [`Error::Unserved`].
    pub fn evaluation_keys(&self, needs: &Needs) -> Result<EvaluationKeys> {
        self.evaluation_keys_with(needs, &mut system_rng())
    }

    /// As [`evaluation_keys`](Self::evaluation_keys) from a given generator.
    ///
    /// # Errors
    /// As [`evaluation_keys`](Self::evaluation_keys).
    pub fn evaluation_keys_with<R: CryptoRng + ?Sized>(
        &self,
        needs: &Needs,
        rng: &mut R,
    ) -> Result<EvaluationKeys> {
        EvaluationKeys::generate(&self.params, &self.slots, self.lookups.as_ref(), needs, rng)
    }

    /// The public keys for a program that goes down in module rank by itself as its levels are used up
    /// ([`ckks::ReducingEvaluator`]): those of the slots' arithmetic at every one of
    /// [`ckks::Params::ranks`]. What it computes is decrypted once
    /// [padded](ckks::ReducingEvaluator::padded). Look-ups and refreshing take
    /// [`evaluation_keys`](Self::evaluation_keys): asked for here, they add rotation keys that nothing
    /// uses.
    ///
    /// # Errors
    /// [`Error::NoLookUps`] and [`Error::NoRefresh`] for needs that the parameters do not serve.
    pub fn reducing_keys(&self, needs: &Needs) -> Result<ckks::ReducingKeys> {
        self.reducing_keys_with(needs, &mut system_rng())
    }

    /// As [`reducing_keys`](Self::reducing_keys) from a given generator.
    ///
    /// # Errors
    /// As [`reducing_keys`](Self::reducing_keys).
    pub fn reducing_keys_with<R: CryptoRng + ?Sized>(
        &self,
        needs: &Needs,
        rng: &mut R,
    ) -> Result<ckks::ReducingKeys> {
        let spec = key_spec(&self.params, needs)?;
        Ok(ckks::ReducingKeys::generate(self.params.arithmetic(), &self.slots, &spec, rng)?)
    }

    /// Encrypts a vector of a declared range at the highest level for programs, [`Params::levels`].
    ///
    /// The ciphertext carries, readable by everyone, the number of values and the range, and nothing
    /// else that depends on the values. Declare a range that everybody may know: of the quantity that is
    /// measured, not of the data at hand. A table of a function is as fine as the range is narrow, and
    /// an operation whose result could overflow is refused by the range.
    ///
    /// # Errors
    /// For no values, more than there are slots, one that is not finite or lies outside the range (the
    /// error does not repeat it), and a range that is none or too wide for the parameters.
    pub fn encrypt(&self, values: &[f64], range: RangeInclusive<f64>) -> Result<Ciphertext> {
        self.encrypt_with(values, range, self.params.levels(), &mut system_rng())
    }

    /// Encrypts at a given level from a given generator. A lower level makes a smaller ciphertext
    /// that allows fewer multiplications.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt), and for a level that the parameters do not have.
    pub fn encrypt_with<R: CryptoRng + ?Sized>(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
        rng: &mut R,
    ) -> Result<Ciphertext> {
        let plaintext = self.encode(values, range, level)?;
        Ok(ckks::encrypt(self.params.arithmetic(), &plaintext, &self.slots, rng)?)
    }

    /// As [`encrypt`](Self::encrypt) in the form in which a fresh vector travels: half the bytes, with
    /// a seed for the mask. The server expands it ([`SeededCiphertext::expand`]).
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    pub fn encrypt_seeded(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
    ) -> Result<SeededCiphertext> {
        self.encrypt_seeded_with(values, range, self.params.levels(), &mut system_rng())
    }

    /// As [`encrypt_with`](Self::encrypt_with) in the form in which a fresh vector travels.
    ///
    /// # Errors
    /// As [`encrypt_with`](Self::encrypt_with).
    pub fn encrypt_seeded_with<R: CryptoRng + ?Sized>(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
        rng: &mut R,
    ) -> Result<SeededCiphertext> {
        let plaintext = self.encode(values, range, level)?;
        Ok(ckks::encrypt_seeded(self.params.arithmetic(), &plaintext, &self.slots, rng)?)
    }

    /// Values of a declared range as a plaintext of a level.
    fn encode(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
    ) -> Result<Plaintext> {
        let (op, arithmetic) = ("encrypt", self.params.arithmetic());
        let highest = arithmetic.max_level();
        if level > highest {
            Err(ckks::Error::LevelTooHigh { op, wanted: level, highest })?;
        }
        let range = Interval::real(*range.start(), *range.end())?;
        let (scale, limbs) = (arithmetic.scale(), arithmetic.limbs_at(level));
        Ok(self.encoder.encode(values, range, scale, limbs).map_err(|error| error.named(op))?)
    }

    /// The values of a vector, as many as were encrypted.
    ///
    /// They carry the noise of the computation, and that noise depends on the secret key (Li and
    /// Micciancio, EUROCRYPT 2021): do not show them to anyone but the owner of the key.
    /// [`decrypt_for_sharing`](Self::decrypt_for_sharing) is for others.
    ///
    /// Takes what a server [publishes](ckks::Evaluator::publish), and in one process any ciphertext. Bytes
    /// of results are read as [`Published`](ckks::Published) alone.
    ///
    /// # Errors
    /// For a ciphertext of another key or other parameters.
    pub fn decrypt(&self, ciphertext: &impl AsRef<Ciphertext>) -> Result<Vec<f64>> {
        Ok(ckks::decrypt_values(self.params.arithmetic(), ciphertext.as_ref(), &self.slots)?)
    }

    /// LWE values that a server sends as they are, without packing them into slots
    /// ([`Evaluator::tables`](crate::Evaluator::tables)). What [`decrypt`](Self::decrypt) says of
    /// noise holds for them, too.
    ///
    /// # Errors
    /// [`Error::NoLookUps`] for parameters without them; for values of another key.
    pub fn decrypt_values(&self, values: &impl AsRef<Values>) -> Result<Vec<f64>> {
        let (op, values) = ("decrypt values", values.as_ref());
        let Some(lookups) = &self.lookups else {
            return Err(Error::NoLookUps { op, params: self.params.name().to_string() });
        };
        if values.key() != self.id() {
            let (left, right) = (values.key(), self.id());
            return Err(ckks::Error::KeyMismatch { op, left, right })?;
        }
        Ok(values.decrypt(&lookups.ring)?)
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({:?}, {})", self.id(), self.params.name())
    }
}
