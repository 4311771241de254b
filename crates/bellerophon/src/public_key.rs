//! Public keys: others encrypt for the owner of a secret key.

use std::{fmt, sync::Arc};

use bellerophon_mlwe::{self as mlwe, KeyId};
use rand::CryptoRng;

use crate::{ClientKey, During, Params, ProvidedMessage, Result, client::system_rng, format};

/// The public key of one owner: whoever has it encrypts, only the owner decrypts.
///
/// Many providers encrypt under one public key. A server computes on their vectors together, with
/// the evaluation keys of the owner, and the owner decrypts the results.
///
/// # Who may see the results
///
/// A provider who is also given decrypted results of its own ciphertexts can learn the secret key:
/// it may send crafted ciphertexts, whose values show their noise and with it the key. Give results
/// to others only through [flooded decryption](ClientKey::decrypt_flooded), and never results of
/// crafted inputs, which flooding does not cover.
///
/// # Example
///
/// ```
/// use bellerophon::{format, prelude::*};
///
/// # fn main() -> bellerophon::Result<()> {
/// // The owner. Toy dimensions, which protect nothing.
/// let params = Params::preset(Preset::ToyInsecure)?;
/// let owner = ClientKey::generate(&params)?;
/// let public = owner.public_key()?.to_bytes()?;
/// let server = Evaluator::new(owner.evaluation_keys(&Needs::new().multiply())?)?;
///
/// // Each provider has the parameters and the bytes of the public key.
/// let provide = |values: &[f64]| {
///     let key = PublicKey::from_bytes(&params, &public)?;
///     format::to_bytes(&params, &key.encrypt(values, 0.0..=10.0)?)
/// };
/// let sent = [provide(&[1.0, 5.0, 2.5])?, provide(&[9.0, 0.0, 7.5])?];
///
/// // The server reads what they sent, and computes.
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
    ///
    /// # Errors
    /// None for parameters that [`Params`] accepts.
    pub fn public_key(&self) -> Result<PublicKey> {
        self.public_key_with(&mut system_rng())
    }

    /// As [`public_key`](Self::public_key) from a given generator of `rand` 0.10
    /// ([`bellerophon::rand`](crate::rand)).
    ///
    /// # Errors
    /// As [`public_key`](Self::public_key).
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
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let owner = ClientKey::generate(&Params::preset(Preset::ToyTables)?)?;
    /// let server = Evaluator::new(owner.evaluation_keys(&Needs::new().functional())?)?;
    /// let x = owner.public_key()?.encrypt(&[3, 250, 7], Modulo(256))?;
    /// let y = server.integers().table(&x, |k| k * k % 256)?;
    /// assert_eq!(owner.decrypt_integers(&y)?, [9, 36, 49]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt<M: ProvidedMessage>(
        &self,
        values: &[M::Value],
        message: M,
    ) -> Result<M::Provided> {
        self.encrypt_with(values, message, self.params.levels(), &mut system_rng())
    }

    /// As [`encrypt`](Self::encrypt), at a given level and from a given generator of `rand` 0.10
    /// ([`bellerophon::rand`](crate::rand)).
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_with`].
    pub fn encrypt_with<M: ProvidedMessage, R: CryptoRng + ?Sized>(
        &self,
        values: &[M::Value],
        message: M,
        level: usize,
        rng: &mut R,
    ) -> Result<M::Provided> {
        let plain = message.encode(&self.params, values, level).during("encrypt")?;
        message.provide(&self.params, (&plain, values.len()), &self.inner, rng)
    }

    /// The key in its envelope (type `0x0103` of `docs/FORMAT.md`), for the providers.
    ///
    /// # Errors
    /// None for keys of this library.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        format::to_bytes(&self.params, &*self.inner)
    }

    /// Reads a key from the bytes of its envelope. The bytes do not prove whose key it is: take
    /// them over an authenticated channel.
    ///
    /// # Errors
    /// As [`format::from_bytes`].
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self> {
        Ok(Self::of(params, format::from_bytes(params, bytes).during("from_bytes")?))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({:?}, {})", self.id(), self.params.name())
    }
}
