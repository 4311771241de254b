//! The byte format of everything that programs exchange.
//!
//! An object is written in an envelope: a [`Header`] with a magic word, the version of the format,
//! the type of the object, the fingerprint of its parameters and its length; the object; and a
//! BLAKE3 hash of everything before, which also names the object ([`ContentHash`]). Uniform parts
//! of keys and fresh ciphertexts are seeds; residues are packed to the bits of their primes.
//! `docs/FORMAT.md` describes every field.
//!
//! The reader already has the parameters: it reads them first ([`Params::from_bytes`]), or they are
//! agreed upon by name. Type, version, fingerprint, length and hash are checked before decoding;
//! then every count, range and residue, before memory is allocated for it. The result is a valid
//! object, or an [`Error`] that names the fault.
//!
//! [`Encoded`] holds such bytes in structs that derive `serde`'s traits.

mod codec;
mod content_hash;
mod encoded;
mod envelope;
pub(crate) mod foreign;
mod hex;
mod keys;
pub(crate) mod kinds;
mod needs;
mod params;
mod passphrase;
mod secret;
mod store;

use std::io::{Read, Write};

use bellerophon_ckks as ckks;
use bellerophon_mlwe as mlwe;
#[cfg(doc)]
use bellerophon_ring::Error;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::wire::{Fingerprinted, Wire};

pub use bellerophon_ring::wire::Fingerprint;
pub use content_hash::ContentHash;
pub use encoded::Encoded;
pub use envelope::Header;
pub use kinds::{kind, kinds};
pub use passphrase::PassphraseCost;
pub use secret::SecretBytes;

#[cfg(doc)]
use crate::error;
use crate::params::Params;

/// A source of the parameters of an object: the parameters themselves, or a set that contains them.
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
        self.ckks()
    }
}

impl Context<mlwe::Params> for Params {
    fn context(&self) -> &mlwe::Params {
        self.ckks().lattice()
    }
}

/// Writes an object in its envelope to bytes.
pub fn to_bytes<T: Wire>(params: &impl Context<T::Params>, object: &T) -> Result<Vec<u8>> {
    let params = params.context();
    let header = Header::new(T::KIND, params.fingerprint());
    envelope::seal(header, &object.to_form(params)?)
}

/// Reads an object from the bytes of its envelope.
///
/// # Errors
/// [`ErrorKind::Bytes`] for bytes that are damaged, truncated or too long, or of another version,
/// type or parameter set.
pub fn from_bytes<T: Wire>(params: &impl Context<T::Params>, bytes: &[u8]) -> Result<T> {
    let params = params.context();
    let payload = envelope::open(bytes, T::NAME, T::KIND, params.fingerprint())?;
    T::from_form(params, codec::decode(T::NAME, payload)?)
}

/// Writes an object in its envelope, and returns its content hash.
pub fn write_to<T: Wire>(
    params: &impl Context<T::Params>,
    object: &T,
    writer: &mut impl Write,
) -> Result<ContentHash> {
    let bytes = to_bytes(params, object)?;
    writer.write_all(&bytes)?;
    Ok(ContentHash::of_sealed(&bytes))
}

/// Reads one envelope of at most `limit` bytes, and nothing behind it. Memory use is at most twice
/// the number of received bytes until the envelope is complete and its hash is right.
///
/// # Errors
/// As [`from_bytes`], as soon as the header is read.
pub fn read_from<T: Wire>(
    params: &impl Context<T::Params>,
    reader: &mut impl Read,
    limit: u64,
) -> Result<T> {
    let target = params.context();
    let bytes = envelope::receive(reader, T::NAME, T::KIND, target.fingerprint(), limit)?;
    from_bytes(params, &bytes)
}

#[cfg(test)]
mod tests;
