//! Public keys: others encrypt for the owner of a secret key.

use std::{fmt, sync::Arc};

use bellerophon_mlwe::{self as mlwe, KeyId};
use bellerophon_ring::{Result, error::operation};
use rand::CryptoRng;

use crate::client::{ClientKey, system_rng};
use crate::format;
use crate::message::ProvidedMessage;
use crate::params::Params;

/// The public key of one owner: whoever has it encrypts, only the owner decrypts.
///
/// A provider who is given decrypted results of its own crafted ciphertexts can learn the secret
/// key; [flooded decryption](ClientKey::decrypt_flooded) does not cover crafted inputs.
///
/// ```
/// use bellerophon::{format, prelude::*};
///
/// # fn main() -> bellerophon::Result<()> {
/// let params = Params::preset(Preset::Insecure(Toy::Functions))?;
/// let owner = ClientKey::generate(&params)?;
/// let public = owner.public_key()?.to_bytes()?;
/// let server = Evaluator::new(owner.evaluation_keys(&Needs::new().multiply())?)?;
///
/// // The providers.
/// let provide = |values: &[f64]| {
///     let key = PublicKey::from_bytes(&params, &public)?;
///     format::to_bytes(&params, &key.encrypt(values, 0.0..=10.0)?)
/// };
/// let sent = [provide(&[1.0, 5.0, 2.5])?, provide(&[9.0, 0.0, 7.5])?];
///
/// let read = |bytes| format::from_bytes::<Provided>(&params, bytes);
/// let (a, b) = (read(&sent[0])?, read(&sent[1])?);
/// let sum = server.add(&a, &b)?;
/// let found = owner.decrypt(&server.publish(&sum, 0.0..=20.0)?)?;
/// assert!(found.iter().zip([10.0, 5.0, 10.0]).all(|(a, b)| (a - b).abs() < 1e-3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PublicKey {
    params: Params,
    inner: Arc<mlwe::PublicKey>,
}

impl ClientKey {
    /// Generates a public key with a generator that the operating system seeds. Every call gives
    /// another public key of the same secret; all of them may be used.
    pub fn public_key(&self) -> Result<PublicKey> {
        self.public_key_with(&mut system_rng())
    }

    /// As [`public_key`](Self::public_key), from a generator of [`rand`](crate::rand).
    pub fn public_key_with<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Result<PublicKey> {
        let inner = mlwe::PublicKey::generate(&self.slots, rng);
        Ok(PublicKey::of(self.params(), inner))
    }
}

impl PublicKey {
    fn of(params: &Params, inner: mlwe::PublicKey) -> Self {
        Self { params: params.clone(), inner: Arc::new(inner) }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public identity of the owner's key: that of [`ClientKey::id`].
    pub fn id(&self) -> KeyId {
        self.inner.key()
    }

    /// Encrypts a vector at the highest level for programs, [`Params::levels`], as
    /// [`ClientKey::encrypt`] does: reals of a declared range or integers below a modulus
    /// ([`ProvidedMessage`]). The result is used like any encrypted vector. Its noise is about that
    /// of one rounding, slightly more than under the secret key. The server derives the noise, and
    /// the range of integers, from the parameters: a provider cannot misstate them.
    ///
    /// Declare a range that everybody may know, and that is the same for all providers: that of the
    /// measured quantity, not of the actual data.
    pub fn encrypt<M: ProvidedMessage>(
        &self,
        values: &[M::Value],
        message: M,
    ) -> Result<M::Provided> {
        self.encrypt_with(values, message, self.params.levels(), &mut system_rng())
    }

    /// As [`encrypt`](Self::encrypt), at a level and from a generator of [`rand`](crate::rand).
    pub fn encrypt_with<M: ProvidedMessage, R: CryptoRng + ?Sized>(
        &self,
        values: &[M::Value],
        message: M,
        level: usize,
        rng: &mut R,
    ) -> Result<M::Provided> {
        operation("encrypt", || {
            let plain = message.encode(&self.params, values, level)?;
            message.provide(&self.params, &plain, values.len(), &self.inner, rng)
        })
    }

    /// The key in its envelope (type `0x0103` of `docs/FORMAT.md`), for the providers.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        format::to_bytes(&self.params, &*self.inner)
    }

    /// Reads a key from the bytes of its envelope. The bytes do not prove whose key it is: take
    /// them over an authenticated channel.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self> {
        operation("from_bytes", || Ok(Self::of(params, format::from_bytes(params, bytes)?)))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({:?}, {})", self.id(), self.params.name())
    }
}
