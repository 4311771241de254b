//! LWE vectors as values of a column: results of tables that have not returned to the slots.

use std::ops::RangeInclusive;

use bellerophon::{
    Evaluator, Params, Result,
    ckks::{CiphertextMeta, Interval},
    format::{self, Header},
    lwe::{LweMeta, LweVec, PublishedValues, wire::kind},
    mlwe::KeyId,
};
use datafusion::arrow::{
    array::ArrayRef,
    datatypes::{DataType, Field},
};

use crate::{
    Error, Hash,
    admission::{foreign, is_near, is_same},
    shape::{LweForm, Shape},
    vector::{self, ROUNDING},
};

/// A column of LWE vectors, which a program has from [`Evaluator::extract`] and
/// [`Evaluator::tables`]: the field, and its values in the byte format of the library. `he_pack`
/// makes encrypted vectors of them, and `decrypt` opens them.
///
/// `params` is the name of the parameters in the key store. One of the vectors is packed, for the
/// description that queries are planned with. The vectors are published with the declared `range`
/// and the noise of the noisiest of them: a table holds no unpublished ones.
///
/// # Errors
/// [`Error::Column`] for no vectors, for vectors of unequal numbers of values, encodings or owners,
/// and for more than 2 GiB of them; those of [`Evaluator::pack`] and of [`LweVec::publish`].
pub fn values_column(
    server: &Evaluator,
    params: Hash,
    name: &str,
    vectors: &[LweVec],
    range: RangeInclusive<f64>,
) -> crate::Result<(Field, ArrayRef)> {
    let failed = |reason: &str| Error::Column { column: name.into(), reason: reason.into() };
    // Step 1: vectors that one description holds for: that of the noisiest, over all ranges.
    let error = LweVec::variance;
    let noisiest = vectors.iter().max_by(|x, y| error(x).total_cmp(&error(y)));
    let noisiest = noisiest.ok_or_else(|| failed("no vector: need one or more"))?;
    let place = |x: &LweVec| (x.len(), x.meta().encoding.width(), x.meta().key);
    if vectors.iter().any(|x| place(x) != place(noisiest)) {
        let reason = "vectors of unequal numbers of values, encodings or owners: extract them \
                      together, with `Evaluator::extract_all`";
        return Err(failed(reason));
    }
    let deviation = vectors.iter().map(|x| x.meta().noise.bound).fold(0.0, f64::max);
    let mut packed = server.pack(noisiest)?.metadata();
    packed.meta.bounds.values = Interval::real(*range.start(), *range.end())?;
    if packed.meta.len == packed.meta.slots {
        packed.meta.bounds.padding = packed.meta.bounds.values;
    }
    // Step 2: their bytes.
    let lattice = server.params().lookups()?.lwe_params();
    let published = vectors.iter().map(|x| x.publish(range.clone(), deviation));
    let published = published.collect::<Result<Vec<_>>>()?;
    let bytes = published.iter().map(|x| format::to_bytes(lattice, x).map(Some));
    let bytes = bytes.collect::<Result<Vec<_>>>()?;
    // Step 3: the description. The declared noise is one for all.
    let LweMeta { noise, encoding, key, .. } = *published[0].as_ref().meta();
    let form = LweForm { deviation: noise.bound, width: encoding.width() };
    let shape = Shape::new(params, key, vectors.len(), &packed).unpacked(form);
    let field = shape.on("values_column", Field::new(name, DataType::Binary, false))?;
    Ok((field, vector::column(name, &bytes)?))
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

/// Why LWE values are not admitted to a column of an owner, whose packed vectors have this
/// description.
pub(crate) fn refusal(
    params: &Params,
    column: &CiphertextMeta,
    form: LweForm,
    owner: KeyId,
    bytes: &[u8],
) -> Result<Option<String>> {
    let x = read(params, bytes)?;
    if Header::parse(bytes)?.kind != kind::PUBLISHED_VALUES {
        let reason = "they are unpublished values, whose stated range and noise nobody vouches \
                      for: publish them (`values_column`)";
        return Ok(Some(reason.into()));
    }
    let LweMeta { lo, hi, noise, encoding, key, .. } = *x.meta();
    if key != owner {
        return Ok(Some(foreign(key, owner)));
    }
    let (range, declared) = (Interval::real(lo, hi)?, column.bounds.values);
    if !is_same(&range, &declared) || x.len() != column.len {
        return Ok(Some(format!(
            "it states {} values in [{lo}, {hi}], its column {} in [{}, {}]",
            x.len(),
            column.len,
            declared.lo(),
            declared.hi()
        )));
    }
    let (found, width) = (encoding.width(), form.width);
    if !is_near(found, width, width) {
        return Ok(Some(format!("it states an encoding of width {found}, its column {width}")));
    }
    let deviation = noise.bound;
    Ok((deviation > form.deviation * (1.0 + ROUNDING)).then(|| {
        format!("it states a deviation of {deviation:.3e}, its column {:.3e}", form.deviation)
    }))
}
