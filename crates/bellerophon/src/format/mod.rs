//! Bytes: everything that travels between programs, in one format.
//!
//! An object travels in an envelope: a [`Header`] with a magic word, the version of the format, the
//! type of the object, the fingerprint of its parameters and its length; the object; and a BLAKE3
//! hash of all of that, which also names it ([`ContentHash`]). Uniform parts of keys and fresh
//! ciphertexts are seeds, residues are packed to the bits of their primes. `docs/FORMAT.md` has
//! every field.
//!
//! Whoever reads has the parameters already: they are read first ([`Params::from_bytes`]), or agreed
//! upon by name. Type, version, fingerprint, length and hash are checked before anything is taken
//! apart; then every count, every range and every residue, before memory is taken for it. What
//! follows is an object like one made here, or an [`Error`] that says what was wrong.
//!
//! ```
//! use bellerophon::{ckks::SeededCiphertext, format, mlwe::Security, prelude::*};
//!
//! # fn main() -> bellerophon::Result<()> {
//! // The client. Its parameters protect nothing: programs ask for `Security::Bits128` below.
//! let params = Params::preset(Preset::ToyInsecure)?;
//! let client = ClientKey::generate(&params)?;
//! let mut keys = Vec::new();
//! client.evaluation_keys(&Needs::new().multiply())?.write_to(&mut keys)?;
//! let fresh = client.encrypt_seeded(&[-1.5, 0.25, 3.0], -4.0..=4.0)?;
//! let (params, fresh) = (params.to_bytes()?, format::to_bytes(&params, &fresh)?);
//!
//! // The server has bytes alone.
//! let params = Params::from_bytes(&params, Security::Insecure)?;
//! let keys = EvaluationKeys::read_from(&params, &mut &keys[..], 1 << 30)?;
//! let fresh: SeededCiphertext = format::from_bytes(&params, &fresh)?;
//! let x = fresh.expand(params.arithmetic())?;
//! let server = Evaluator::new(keys)?;
//! let y = server.publish(&server.square(&x)?, 0.0..=16.0)?; // all that is said of the result
//! let answer = format::to_bytes(&params, &y)?;
//!
//! // The client again.
//! let y: Published = format::from_bytes(client.params(), &answer)?;
//! let found = client.decrypt(&y)?;
//! assert!(found.iter().zip([2.25, 0.0625, 9.0]).all(|(a, b)| (a - b).abs() < 1e-3));
//! # Ok(())
//! # }
//! ```

mod codec;
mod envelope;
mod error;
mod keys;
mod params;
mod secret;
mod store;

use std::io::{Read, Write};

use bellerophon_ckks as ckks;
use bellerophon_mlwe as mlwe;
use bellerophon_ring::wire::{Fingerprinted, Wire};

pub use bellerophon_ring::wire::Fingerprint;
pub use envelope::{ContentHash, Header};
pub use error::FormatError;
pub use secret::SecretBytes;

use crate::{Error, Params, Result};

/// Numbers of the types of objects of this crate; see [`Wire::KIND`].
pub mod kind {
    /// [`Params`](crate::Params).
    pub const PARAMS: u16 = 0x0500;
    /// The secrets of a [`ClientKey`](crate::ClientKey).
    pub const SECRET_KEY: u16 = 0x0501;
    /// The list of keys of [`EvaluationKeys`](crate::EvaluationKeys), which the keys follow.
    pub const KEY_LIST: u16 = 0x0502;
    /// The key that leads back from the temporary rank of hoisted rotations.
    pub const HOISTED_KEY: u16 = 0x0503;
}

/// What has the parameters that an object is checked against: these themselves, or a set that
/// contains them.
pub trait Context<P> {
    /// The parameters.
    fn context(&self) -> &P;
}

impl<P> Context<P> for P {
    fn context(&self) -> &P {
        self
    }
}

impl Context<ckks::Params> for Params {
    fn context(&self) -> &ckks::Params {
        self.arithmetic()
    }
}

impl Context<mlwe::Params> for Params {
    fn context(&self) -> &mlwe::Params {
        self.arithmetic().lattice()
    }
}

/// An object in its envelope.
///
/// # Errors
/// If it is not of these parameters.
pub fn to_bytes<T>(params: &impl Context<T::Params>, object: &T) -> Result<Vec<u8>>
where
    T: Wire,
    Error: From<T::Error>,
{
    let params = params.context();
    let header = Header::new(T::KIND, params.fingerprint());
    envelope::seal(header, &object.to_form(params)?)
}

/// The object of an envelope.
///
/// # Errors
/// [`Error::Format`] for bytes that are damaged, cut short, too long, of another version, type or
/// parameter set; those of the crate of the object for what is not allowed of it.
pub fn from_bytes<T>(params: &impl Context<T::Params>, bytes: &[u8]) -> Result<T>
where
    T: Wire,
    Error: From<T::Error>,
{
    let params = params.context();
    let payload = envelope::open(bytes, T::NAME, T::KIND, params.fingerprint())?;
    Ok(T::from_form(params, codec::decode(T::NAME, payload)?)?)
}

/// Writes an object in its envelope, and returns its name.
///
/// # Errors
/// As [`to_bytes`]; those of the writer.
pub fn write_to<T>(
    params: &impl Context<T::Params>,
    object: &T,
    writer: &mut impl Write,
) -> Result<ContentHash>
where
    T: Wire,
    Error: From<T::Error>,
{
    let bytes = to_bytes(params, object)?;
    writer.write_all(&bytes).map_err(FormatError::Io)?;
    Ok(ContentHash::of_sealed(&bytes))
}

/// Reads one envelope of at most `limit` bytes, and nothing behind it. Until all of it has arrived and its
/// hash is right, no more memory is taken than twice what has arrived.
///
/// # Errors
/// As [`from_bytes`]; [`FormatError::TooLong`] as soon as the header is read; those of the reader.
pub fn read_from<T>(
    params: &impl Context<T::Params>,
    reader: &mut impl Read,
    limit: u64,
) -> Result<T>
where
    T: Wire,
    Error: From<T::Error>,
{
    let target = params.context();
    let bytes = envelope::receive(reader, T::NAME, T::KIND, target.fingerprint(), limit)?;
    from_bytes(params, &bytes)
}

#[cfg(test)]
mod tests;
