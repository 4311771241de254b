//! One value of an encrypted column: a vector in the byte format of the library.

use bellerophon::{
    Ciphertext, Params, Provided, Published, Result,
    ckks::{SeededCiphertext, wire::kind},
    format::{self, Header},
};

/// Reads a vector that a client, a provider or a function of this crate wrote.
pub(crate) fn read(params: &Params, bytes: &[u8]) -> Result<Ciphertext> {
    match Header::parse(bytes)?.kind {
        kind::SEEDED_CIPHERTEXT => {
            let fresh: SeededCiphertext = format::from_bytes(params, bytes)?;
            Ok(fresh.expand(params.ckks())?)
        }
        kind::PROVIDED => Ok(format::from_bytes::<Provided>(params, bytes)?.into_ciphertext()),
        kind::PUBLISHED => Ok(format::from_bytes::<Published>(params, bytes)?.into_ciphertext()),
        // Any other type is refused with its name.
        _ => format::from_bytes(params, bytes),
    }
}

/// The number of values of a vector, without its mask where that is a seed.
pub(crate) fn len(params: &Params, bytes: &[u8]) -> Result<usize> {
    match Header::parse(bytes)?.kind {
        kind::SEEDED_CIPHERTEXT => {
            Ok(format::from_bytes::<SeededCiphertext>(params, bytes)?.meta.len)
        }
        _ => Ok(read(params, bytes)?.len()),
    }
}
