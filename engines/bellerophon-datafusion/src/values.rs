//! LWE vectors as values of a column: results of tables that have not returned to the slots.

use bellerophon::{
    Evaluator, Params, Result,
    ckks::Interval,
    format::{self, Header},
    lwe::{LweVec, PublishedValues, wire::kind},
};
use datafusion::arrow::{
    array::ArrayRef,
    datatypes::{DataType, Field},
};

use crate::{Error, Hash, shape::Shape, vector};

/// A column of LWE vectors, which a program has from [`Evaluator::extract`] and
/// [`Evaluator::tables`]: the field, and its values in the byte format of the library. `he_pack`
/// makes encrypted vectors of them, and `decrypt` opens them.
///
/// `params` is the name of the parameters in the key store. One of the vectors is packed, for the
/// description that queries are planned with.
///
/// The column is for queries. What leaves a server whose constants are secret is published:
/// `he_publish(he_pack(w), lo, hi)`.
///
/// # Errors
/// [`Error::Column`] for no vectors, for vectors of unequal numbers of values, encodings or owners,
/// and for more than 2 GiB of them; those of [`Evaluator::pack`].
pub fn values_column(
    server: &Evaluator,
    params: Hash,
    name: &str,
    vectors: &[LweVec],
) -> crate::Result<(Field, ArrayRef)> {
    let failed = |reason: &str| Error::Column { column: name.into(), reason: reason.into() };
    // Step 1: vectors that one description holds for: that of the noisiest, over all ranges.
    let error = |x: &LweVec| x.meta().deviation.hypot(x.meta().index.sqrt());
    let noisiest = vectors.iter().max_by(|x, y| error(x).total_cmp(&error(y)));
    let noisiest = noisiest.ok_or_else(|| failed("no vector: need one or more"))?;
    let place = |x: &LweVec| (x.len(), x.meta().encoding.width(), x.meta().key);
    if vectors.iter().any(|x| place(x) != place(noisiest)) {
        let reason = "vectors of unequal numbers of values, encodings or owners: extract them \
                      together, with `Evaluator::extract_all`";
        return Err(failed(reason));
    }
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let (lo, hi) = vectors
        .iter()
        .fold(ends, |(lo, hi), x| (f64::min(lo, x.meta().lo), f64::max(hi, x.meta().hi)));
    let mut packed = server.pack(noisiest)?.metadata();
    packed.meta.bounds.values = Interval::real(lo, hi).map_err(bellerophon::Error::from)?;
    if packed.meta.len == packed.meta.slots {
        packed.meta.bounds.padding = packed.meta.bounds.values;
    }
    let shape = Shape::new(params, noisiest.meta().key, vectors.len(), &packed).unpacked();
    let field = shape.on("values_column", Field::new(name, DataType::Binary, false))?;
    // Step 2: their bytes.
    let lattice = server.params().lookups()?.lwe_params();
    let bytes = vectors.iter().map(|x| format::to_bytes(lattice, x).map(Some));
    let bytes: Result<Vec<_>> = bytes.collect();
    Ok((field, vector::column(name, &bytes?)?))
}

/// Whether bytes begin as those of an LWE vector.
pub(crate) fn are_values(bytes: &[u8]) -> bool {
    let kind = Header::parse(bytes).map(|header| header.kind);
    matches!(kind, Ok(kind::VALUES | kind::PUBLISHED_VALUES))
}

/// Reads an LWE vector.
pub(crate) fn read(params: &Params, bytes: &[u8]) -> Result<LweVec> {
    let header = Header::parse(bytes)?;
    let lookups = params.lookups()?;
    // Tables of several engines have parameters of their own.
    let lattice = lookups.with_fingerprint(header.fingerprint).unwrap_or(lookups.lwe_params());
    match header.kind {
        kind::PUBLISHED_VALUES => {
            Ok(format::from_bytes::<PublishedValues>(lattice, bytes)?.as_ref().clone())
        }
        // Any other type is refused with its name.
        _ => format::from_bytes(lattice, bytes),
    }
}
