//! One value of an encrypted column: a vector in the byte format of the library.

use std::sync::Arc;

use bellerophon::{
    Ciphertext, Params, Provided, Published, Result,
    ckks::{SeededCiphertext, wire::kind},
    format::{self, Header},
};
use datafusion::arrow::{
    array::{ArrayRef, BinaryArray},
    buffer::OffsetBuffer,
};
use rayon::prelude::*;

use crate::Error;

/// Reads a vector that a client, a provider or a function of this crate wrote.
pub(crate) fn read(params: &Params, bytes: &[u8]) -> Result<Ciphertext> {
    match Header::parse(bytes)?.kind {
        kind::SEEDED_CIPHERTEXT => {
            let fresh: SeededCiphertext = format::from_bytes(params, bytes)?;
            Ok(fresh.expand(params.ckks())?)
        }
        kind::PROVIDED => Ok(format::from_bytes::<Provided>(params, bytes)?.into()),
        kind::PUBLISHED => Ok(format::from_bytes::<Published>(params, bytes)?.into()),
        // Any other type is refused with its name.
        _ => format::from_bytes(params, bytes),
    }
}

/// A column of vectors, from their bytes, which the threads of the active pool copy.
///
/// # Errors
/// [`Error::Column`] for more than a column of this type holds.
pub(crate) fn column(name: &str, vectors: &[Option<Vec<u8>>]) -> crate::Result<ArrayRef> {
    let lengths = vectors.iter().map(|vector| vector.as_ref().map_or(0, Vec::len));
    let bytes: usize = lengths.clone().sum();
    if i32::try_from(bytes).is_err() {
        let reason = format!(
            "{} vectors of {bytes} bytes: a column of a batch holds 2 GiB: fewer vectors in a \
             batch, or fewer groups",
            vectors.len()
        );
        return Err(Error::Column { column: name.into(), reason });
    }
    let (mut values, offsets) = (vec![0; bytes], OffsetBuffer::from_lengths(lengths));
    let (mut rest, mut places) = (&mut values[..], Vec::new());
    for vector in vectors.iter().flatten() {
        let (place, behind) = rest.split_at_mut(vector.len());
        places.push((place, vector));
        rest = behind;
    }
    places.into_par_iter().for_each(|(place, vector)| place.copy_from_slice(vector));
    let valid = vectors.iter().map(Option::is_some).collect();
    Ok(Arc::new(BinaryArray::new(offsets, values.into(), Some(valid))))
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
