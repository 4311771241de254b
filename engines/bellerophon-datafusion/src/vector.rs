//! One value of an encrypted column: a vector in the byte format of the library.

use std::sync::Arc;

use bellerophon::{
    Ciphertext, Params, Provided, Published, Result,
    ckks::{SeededCiphertext, wire::kind},
    format::{self, Header},
};
use datafusion::arrow::array::{ArrayRef, BinaryBuilder};

use crate::Error;

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

/// A column of vectors, from their bytes.
///
/// # Errors
/// [`Error::Column`] for more than a column of this type holds.
pub(crate) fn column(name: &str, vectors: &[Option<Vec<u8>>]) -> crate::Result<ArrayRef> {
    let bytes: usize = vectors.iter().flatten().map(Vec::len).sum();
    if i32::try_from(bytes).is_err() {
        let reason = format!(
            "{} vectors of {bytes} bytes: a column of a batch holds 2 GiB: fewer vectors in a \
             batch, or fewer groups",
            vectors.len()
        );
        return Err(Error::Column { column: name.into(), reason });
    }
    // Vectors are megabytes: a buffer that grows would copy them several times.
    let mut column = BinaryBuilder::with_capacity(vectors.len(), bytes);
    vectors.iter().for_each(|vector| column.append_option(vector.as_deref()));
    Ok(Arc::new(column.finish()))
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
