//! Serialized forms of LWE ciphertexts, vectors and published values.

use bellerophon_mlwe::KeyId;
use bellerophon_ring::{Result, wire::Packed, wire_form};

use super::kind;
use crate::ciphertext::Ciphertext;
use crate::encoding::Encoding;
use crate::error;
use crate::lwe_vec::{Deviation, LweMeta, LweVec};
use crate::params::Params;
use crate::publish::PublishedValues;

wire_form! {
    /// The serialized form of a [`Ciphertext`].
    ///
    /// An input (dimension `n`, modulus `q`) or a result (`n'` and `q0`) of programmable
    /// bootstrapping.
    pub struct CiphertextForm<'a> for Ciphertext: kind::CIPHERTEXT, "LWE value" {
        modulus: u64 = q.value(),
        dimension: u32 = dimension as u32,
        /// The body, then the mask.
        words: Packed<'a> = Packed::words(q, &words),
    }
    fn write(&self, params: &Params) {
        let (q, dimension) = side(params, self.modulus().value(), self.dimension())?;
        let words: Vec<u64> = std::iter::once(self.b()).chain(self.a().iter().copied()).collect();
    }
    fn read(params, form) {
        let (q, dimension) = side(params, form.modulus, form.dimension as usize)?;
        let mut a = form.words.unpack_words(q, dimension + 1)?;
        let b = a.remove(0);
        Self::new(*q, b, a)
    }
}

/// Checks that modulus and dimension are those of an input or of a result of programmable
/// bootstrapping. Both may have the same modulus.
fn side(
    params: &Params,
    modulus: u64,
    dimension: usize,
) -> Result<(&bellerophon_ring::Modulus, usize)> {
    // (q, n) of inputs, and (q0, n') of results.
    let sides = [
        (params.modulus(), params.spec().dimension),
        (params.ring_modulus(), params.spec().ring_degree),
    ];
    let of_modulus = || sides.into_iter().filter(|(q, _)| q.value() == modulus);
    let Some((_, needed)) = of_modulus().next() else {
        return Err(error::modulus(modulus, params.modulus().value()));
    };
    of_modulus().find(|&(_, n)| n == dimension).ok_or({
        let remedy = "use the parameters that it was created with";
        error::dimension(dimension, needed, remedy)
    })
}

wire_form! {
    /// The serialized form of [`LweVec`].
    pub struct ValuesForm<'a> for LweVec: kind::VALUES, "unpublished values of tables" {
        key: KeyId = self.meta().key,
        count: u32 = count,
        /// The value at phase 0, and the width of a period.
        center: f64 = self.meta().encoding.center(),
        width: f64 = self.meta().encoding.width(),
        lo: f64 = self.meta().lo,
        hi: f64 = self.meta().hi,
        /// The standard deviation of the noise of the phase, as predicted and a bound.
        noise: [f64; 2] = pair(self.meta().noise),
        /// That of the index errors of tables.
        index: [f64; 2] = pair(self.meta().index),
        /// The bodies of all values modulo `q0`, then the mask of each.
        words: Packed<'a> = words,
    }
    fn write(&self, params: &Params) {
        let (count, words) = pack(params, self)?;
    }
    fn read(params, form) {
        let encoding = Encoding::new(form.center, form.width)?;
        let items = unpack(params, form.count, &form.words)?;
        let deviation = |[predicted, bound]: [f64; 2]| Deviation { predicted, bound };
        let [noise, index] = [form.noise, form.index].map(deviation);
        let (lo, hi, key) = (form.lo, form.hi, form.key);
        Self::from_parts(params, items, LweMeta { encoding, lo, hi, noise, index, key })
    }
}

fn pair(deviation: Deviation) -> [f64; 2] {
    [deviation.predicted, deviation.bound]
}

/// The number of values and their words: all bodies modulo `q0`, then the mask of each.
fn pack(params: &Params, values: &LweVec) -> Result<(u32, Packed<'static>)> {
    let (q, n) = (params.ring_modulus(), params.spec().ring_degree);
    // Every run of residues modulo one prime starts at a whole byte.
    values.items().iter().try_for_each(|item| item.check(n, q))?;
    let bodies: Vec<u64> = values.items().iter().map(Ciphertext::b).collect();
    let masks = values.items().iter().map(|item| (q, item.a()));
    let count = u32::try_from(values.len()).map_err(|_| {
        let (what, needed) = ("number of values in one form", "less than 2^32");
        error::number(what, values.len() as f64, needed)
    })?;
    Ok((count, Packed::limbs(std::iter::once((q, &bodies[..])).chain(masks))))
}

/// The ciphertexts of `count` values.
fn unpack(params: &Params, count: u32, words: &Packed) -> Result<Vec<Ciphertext>> {
    let (q, n, count) = (params.ring_modulus(), params.spec().ring_degree, count as usize);
    // Step 1: check the length before allocating. Saturation makes an overflow fail the check.
    let masks = count.saturating_mul(Packed::words_len(q, n));
    words.check(Packed::words_len(q, count).saturating_add(masks))?;
    // Step 2: all bodies, then the mask of each value.
    let mut bodies = vec![0; count];
    let mut masks = vec![vec![0; n]; count];
    let runs = masks.iter_mut().map(|mask| (q, &mut mask[..]));
    words.unpack_limbs(std::iter::once((q, &mut bodies[..])).chain(runs))?;
    bodies.into_iter().zip(masks).map(|(b, a)| Ciphertext::new(*q, b, a)).collect()
}

wire_form! {
    /// The serialized form of [`PublishedValues`]: only the declared metadata, and the width of a
    /// period.
    pub struct PublishedValuesForm<'a> for PublishedValues:
        kind::PUBLISHED_VALUES, "published values of tables"
    {
        key: KeyId = values.meta().key,
        count: u32 = count,
        /// The width of a period. The middle of the range is at phase 0.
        width: f64 = values.meta().encoding.width(),
        lo: f64 = values.meta().lo,
        hi: f64 = values.meta().hi,
        /// `log2` of the declared standard deviation of the noise.
        log2_noise: i32 = self.log2_noise(),
        words: Packed<'a> = words,
    }
    fn write(&self, params: &Params) {
        let values: &LweVec = self.as_ref();
        // The center and the deviations follow from the declared metadata.
        let (count, words) = pack(params, values)?;
    }
    fn read(params, form) {
        let encoding = Encoding::new(form.lo + (form.hi - form.lo) / 2.0, form.width)?;
        let items = unpack(params, form.count, &form.words)?;
        let (range, key) = (form.lo..=form.hi, form.key);
        let values = LweVec::new(params, items, encoding, range, 0.0, key)?;
        PublishedValues::restore(values, form.log2_noise)
    }
}
