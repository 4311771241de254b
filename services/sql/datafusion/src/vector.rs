//! One value of an encrypted column: a vector in the byte format of the library.

use std::sync::Arc;

use bellerophon::{
    Ciphertext, Params, Provided, Published, Result,
    ckks::{CiphertextMeta, Metadata, SeededCiphertext, simulator::Simulator, wire::kind},
    format::{self, Header},
    mlwe::KeyId,
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

/// What a vector that somebody hands in states about itself.
pub(crate) enum Stated {
    /// Its metadata, and its owner.
    Admitted(Metadata, KeyId),
    /// Not admitted, for this reason.
    Refused(&'static str),
}

/// The types of vectors that are handed in: fresh ones of the owner, those of providers, and
/// published results. Their noise is that of an encryption, or a declared one.
pub(crate) const ADMITTED: [u16; 3] = [kind::SEEDED_CIPHERTEXT, kind::PROVIDED, kind::PUBLISHED];

/// The relative difference of numbers that operations derive in another order.
pub(crate) const ROUNDING: f64 = 1e-6;

/// Why an intermediate result is refused.
pub(crate) const UNPUBLISHED: &str = "it is an unpublished result, whose stated range and noise \
                                      nobody vouches for: publish it (`he_publish`), or encrypt \
                                      the values";

/// Reads what a vector states that a table or a store of others holds.
pub(crate) fn stated(params: &Params, bytes: &[u8]) -> Result<Stated> {
    let of = |x: &Ciphertext| Stated::Admitted(x.metadata(), x.lattice().ident().key);
    Ok(match Header::parse(bytes)?.kind {
        kind::SEEDED_CIPHERTEXT => {
            let x: SeededCiphertext = format::from_bytes(params, bytes)?;
            let (params, limbs) = (params.ckks(), x.inner.b().limbs());
            let mut levels = 0..=params.max_level();
            let level = levels.find(|&level| params.limbs_at(level) == limbs).unwrap_or_default();
            // It states its noise: at least that of an encryption under the secret key.
            let range = x.meta.bounds.slots();
            let values = vec![0f64.clamp(range.lo(), range.hi()); x.meta.slots];
            let fresh = Simulator::new(params).encrypt(&values, range, level)?;
            let least = variances(&fresh.metadata().meta);
            let enough = |(found, least): (f64, f64)| found >= least * (1.0 - ROUNDING);
            match variances(&x.meta).into_iter().zip(least).all(enough) {
                true => Stated::Admitted(Metadata { level, meta: x.meta }, x.inner.ident().key),
                false => Stated::Refused("it states less noise than an encryption has"),
            }
        }
        kind::PROVIDED => of(format::from_bytes::<Provided>(params, bytes)?.as_ref()),
        kind::PUBLISHED => of(format::from_bytes::<Published>(params, bytes)?.as_ref()),
        // Any other type is refused with its name.
        _ => {
            format::from_bytes::<Ciphertext>(params, bytes)?;
            Stated::Refused(UNPUBLISHED)
        }
    })
}

/// The variances of the error that a vector states, of a coefficient.
pub(crate) fn variances(meta: &CiphertextMeta) -> [f64; 4] {
    let noise = meta.noise;
    [noise.total, noise.peak, noise.bound, noise.excess]
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
