//! The client, who owns the data: secret keys, encryption, decryption.

use std::{fmt, ops::ControlFlow, sync::Arc};

use bellerophon_ckks::{self as ckks, Ciphertext, Complex64};
use bellerophon_lookup::{LookupSecrets, Progress, Watch};
use bellerophon_lwe::{self as lwe, LweVec};
use bellerophon_mlwe::{KeyId, SecretKey};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng, rngs::SysRng};

use crate::error;
use crate::keys::{EvaluationKeys, key_spec};
use crate::message::Message;
use crate::needs::Needs;
use crate::params::Params;

/// The secret keys of one client.
///
/// They never leave the client. They have no wire form; only
/// [`to_secret_bytes`](Self::to_secret_bytes) serialises them. The contents are overwritten on
/// drop, and `Debug` shows the public identity only.
///
/// There is one secret for the slots and, for parameters with look-ups, one for LWE ciphertexts and
/// one for the ring of the tables.
pub struct ClientKey {
    params: Params,
    pub(crate) slots: SecretKey,
    pub(crate) lookups: Option<LookupSecrets>,
    /// The progress callback of key generation.
    watch: Option<Watch>,
}

/// A random number generator seeded by the operating system.
pub(crate) fn system_rng() -> ChaCha20Rng {
    ChaCha20Rng::try_from_rng(&mut SysRng).expect("the operating system provides random bytes")
}

impl ClientKey {
    /// Generates secrets with a generator that the operating system seeds.
    pub fn generate(params: &Params) -> Result<Self> {
        Self::generate_with(params, &mut system_rng())
    }

    /// As [`generate`](Self::generate) from a given generator of `rand` 0.10
    /// ([`bellerophon::rand`](crate::rand)); a generator of another version does not implement
    /// `CryptoRng`.
    pub fn generate_with<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        let slots = SecretKey::generate(params.ckks().lattice(), rng)?;
        // The LWE secret and the ring secret are independent of the secret of the slots.
        let lookups = match params.optional_lookups() {
            Some(lookups) => Some(LookupSecrets::generate(lookups, rng)?),
            None => None,
        };
        Ok(Self::from_secrets(params, slots, lookups))
    }

    /// The key made of secrets of the same parameters.
    pub(crate) fn from_secrets(
        params: &Params,
        slots: SecretKey,
        lookups: Option<LookupSecrets>,
    ) -> Self {
        Self { params: params.clone(), slots, lookups, watch: None }
    }

    /// Returns this client with a progress callback for the generation of
    /// [evaluation keys](Self::evaluation_keys): a report at the beginning and after every key
    /// ([`Stage::Keys`](crate::Stage::Keys)). The blind-rotation key of look-ups counts as one key,
    /// and so do the keys of a bridge. [`ControlFlow::Break`] stops the generation with
    /// [`ErrorKind::Cancelled`]. The callback may be that of
    /// [`Evaluator::with_progress`](crate::Evaluator::with_progress), which has an example.
    pub fn with_progress(
        mut self,
        callback: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.watch = Some(Watch::new(Arc::new(callback)));
        self
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public identity that ciphertexts and keys of this client carry.
    pub fn id(&self) -> KeyId {
        self.slots.id()
    }

    /// Generates the public keys for a program: send them to the server.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for needs that the parameters cannot serve;
    /// [`ErrorKind::Request`] for needs that were read from bytes and choose NTRU or temporary
    /// ranks.
    pub fn evaluation_keys(&self, needs: &Needs) -> Result<EvaluationKeys> {
        self.evaluation_keys_with(needs, &mut system_rng())
    }

    /// As [`evaluation_keys`](Self::evaluation_keys), from a generator of [`rand`](crate::rand).
    pub fn evaluation_keys_with<R: CryptoRng + ?Sized>(
        &self,
        needs: &Needs,
        rng: &mut R,
    ) -> Result<EvaluationKeys> {
        operation("evaluation_keys", || {
            needs.allowed()?;
            let (lookups, watch) = (self.lookups.as_ref(), self.watch.as_ref());
            EvaluationKeys::generate(&self.params, &self.slots, lookups, needs, watch, rng)
        })
    }

    /// Generates the public keys for a program that reduces the module rank automatically as its
    /// levels are used up ([`ckks::ReducingEvaluator`]): the keys for arithmetic on slots at each
    /// of [`ckks::Params::ranks`]. Results must be [padded](ckks::ReducingEvaluator::padded) before
    /// decryption. Look-ups and bootstrapping take [`evaluation_keys`](Self::evaluation_keys):
    /// requested here, they add rotation keys that nothing uses.
    pub fn reducing_keys(&self, needs: &Needs) -> Result<ckks::ReducingKeys> {
        operation("reducing_keys", || {
            needs.allowed()?;
            let spec = key_spec(&self.params, needs)?;
            let rng = &mut system_rng();
            ckks::ReducingKeys::generate(self.params.ckks(), &self.slots, &spec, rng)
        })
    }

    /// Encrypts a vector at the highest level for programs, [`Params::levels`]: reals of a declared
    /// range, or another [`Message`].
    ///
    /// The ciphertext carries the number of values and the [`Message`] in the clear, and nothing
    /// else that depends on the values. Declare a range that everybody may know: that of the
    /// measured quantity, not of the actual data. A narrow range makes the tables of functions more
    /// precise; an operation whose result could overflow is refused on the basis of the range.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Tables))?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().functional())?)?;
    /// let reals = client.encrypt(&[0.5, -1.0], -1.0..=1.0)?;
    /// let x = client.encrypt(&[3, 250, 7], Modulo(256))?;
    /// let y = server.integers().table(&x, |k| k * k % 256)?; // any table, exact, refreshed
    /// let sum = server.integers().add(&x, &y)?; // modulo 256
    /// assert_eq!(client.decrypt_integers(&sum)?, [12, 30, 56]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Range`] for a value outside the range (the error does not repeat the value),
    /// [`ErrorKind::NotFinite`], [`ErrorKind::Length`] without values,
    /// [`ErrorKind::TooManyValues`]; [`ErrorKind::Noise`] for a range whose half is below the
    /// noise; [`ErrorKind::Shape`] for a modulus outside `2..=65536`.
    pub fn encrypt<M: Message>(&self, values: &[M::Value], message: M) -> Result<M::Vector> {
        self.encrypt_with(values, message, self.params.levels(), &mut system_rng())
    }

    /// As [`encrypt`](Self::encrypt), at a level and from a generator of [`rand`](crate::rand). A
    /// lower level makes a smaller ciphertext that allows fewer multiplications.
    pub fn encrypt_with<M: Message, R: CryptoRng + ?Sized>(
        &self,
        values: &[M::Value],
        message: M,
        level: usize,
        rng: &mut R,
    ) -> Result<M::Vector> {
        operation("encrypt", || {
            let plaintext = message.encode(&self.params, values, level)?;
            let inner = ckks::encrypt(self.params.ckks(), &plaintext, &self.slots, rng)?;
            message.vector(inner, values.len())
        })
    }

    /// As [`encrypt`](Self::encrypt), in the wire form of a fresh vector: a seed replaces the mask,
    /// which halves the size. The server expands it ([`SeededCiphertext::expand`],
    /// [`IntVec::expand`](crate::circuits::fbt::IntVec::expand),
    /// [`PairedVec::expand`](crate::circuits::fbt::PairedVec::expand)).
    ///
    /// [`SeededCiphertext::expand`]: ckks::SeededCiphertext::expand
    pub fn encrypt_seeded<M: Message>(&self, values: &[M::Value], message: M) -> Result<M::Seeded> {
        self.encrypt_seeded_with(values, message, self.params.levels(), &mut system_rng())
    }

    /// As [`encrypt_with`](Self::encrypt_with), in the wire form of a fresh vector.
    pub fn encrypt_seeded_with<M: Message, R: CryptoRng + ?Sized>(
        &self,
        values: &[M::Value],
        message: M,
        level: usize,
        rng: &mut R,
    ) -> Result<M::Seeded> {
        operation("encrypt_seeded", || {
            let plaintext = message.encode(&self.params, values, level)?;
            let inner = ckks::encrypt_seeded(self.params.ckks(), &plaintext, &self.slots, rng)?;
            message.seeded(inner, values.len())
        })
    }

    /// Decrypts a vector: as many values as the vector has.
    ///
    /// They carry the noise of the computation, and that noise depends on the secret key (Li and
    /// Micciancio, EUROCRYPT 2021): show them to the owner of the key only.
    /// [`decrypt_flooded`](Self::decrypt_flooded) is for everyone else.
    ///
    /// Accepts a [published](ckks::Evaluator::publish) result, and within one process any
    /// ciphertext. The byte form of a result is read as [`Published`](ckks::Published) only.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] if the predicted error since the range was last stated exceeds half of
    /// the [extent](ckks::Interval::extent) of the range of the values
    /// ([`decrypt_noisy`](Self::decrypt_noisy) returns them all the same); [`ErrorKind::Complex`]
    /// for values that may be complex.
    pub fn decrypt(&self, ciphertext: &impl AsRef<Ciphertext>) -> Result<Vec<f64>> {
        operation("decrypt", || {
            ckks::decrypt_values(self.params.ckks(), ciphertext.as_ref(), &self.slots)
        })
    }

    /// As [`decrypt`](Self::decrypt), of values that may be lost in the noise: zeros with an error
    /// of [`Metadata::noise`](ckks::Metadata::noise), such as the last steps of an iteration that
    /// converges to zero. Reals, or [`Complex64`] for any vector: paired values are the real and
    /// the imaginary parts of the slots of
    /// [`PairedVec::inner`](crate::circuits::fbt::PairedVec::inner).
    pub fn decrypt_noisy<T: ckks::SlotValue>(
        &self,
        ciphertext: &impl AsRef<Ciphertext>,
    ) -> Result<Vec<T>> {
        operation("decrypt_noisy", || {
            ckks::decrypt_noisy(self.params.ckks(), ciphertext.as_ref(), &self.slots)
        })
    }

    /// As [`decrypt`](Self::decrypt), of complex numbers ([`Disc`](crate::Disc)).
    ///
    /// ```
    /// use bellerophon::{ckks::Complex64, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().multiply())?)?;
    /// let x = client.encrypt(&[Complex64::new(0.6, -0.8)], Disc(1.0))?;
    /// let square = client.decrypt_complex(&server.square(&x)?)?;
    /// assert!((square[0] - Complex64::new(-0.28, -0.96)).norm() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    pub fn decrypt_complex(&self, ciphertext: &impl AsRef<Ciphertext>) -> Result<Vec<Complex64>> {
        operation("decrypt_complex", || {
            ckks::decrypt_values(self.params.ckks(), ciphertext.as_ref(), &self.slots)
        })
    }

    /// Decrypts LWE values that a server sends without packing them into slots
    /// ([`Evaluator::tables`](crate::Evaluator::tables)). The warning about noise at
    /// [`decrypt`](Self::decrypt) applies.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] if the bound on the [noise](lwe::LweMeta::noise) exceeds half of the
    /// [extent](ckks::Interval::extent) of their range.
    pub fn decrypt_lwe(&self, values: &impl AsRef<LweVec>) -> Result<Vec<f64>> {
        operation("decrypt_lwe", || {
            let values = values.as_ref();
            let Some(lookups) = &self.lookups else {
                return Err(error::no_look_ups(self.params.name().to_string()));
            };
            // Another client's secret would decrypt to noise.
            let lwe::LweMeta { key, lo, hi, noise, .. } = *values.meta();
            if key != self.id() {
                return Err(bellerophon_mlwe::error::key_mismatch(key, self.id()));
            }
            let width = ckks::Interval::real(lo, hi)?.extent();
            if width > 0.0 && noise.bound > 0.5 * width {
                return Err(lwe::error::lost_in_noise(noise.bound, width));
            }
            values.decrypt(&lookups.ring)
        })
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({:?}, {})", self.id(), self.params.name())
    }
}
