//! Byte forms of encrypted integers and paired vectors.

use bellerophon_ring::wire_form;
use serde::{Deserialize, Serialize};

use super::kind;
use crate::fbt::{IntVec, PairedVec, SeededIntVec, SeededPairedVec};
use bellerophon_ckks::wire::{CiphertextForm, SeededCiphertextForm};
use bellerophon_ckks::{Ciphertext, Interval, Params, Result, SeededCiphertext};

/// The plain form of a [`PairedVec`]: the range of its values, their number, and the ciphertext.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairedForm<F> {
    lo: f64,
    hi: f64,
    len: u32,
    inner: F,
}

impl<F> PairedForm<F> {
    fn new<C>(values: &PairedVec<C>, inner: F) -> Self {
        let range = values.range();
        Self { lo: range.lo(), hi: range.hi(), len: values.len() as u32, inner }
    }

    fn range(&self) -> Result<Interval> {
        Interval::real(self.lo, self.hi)
    }
}

wire_form! {
    // For the server's own use only. Results leave a server as `Published<PairedVec>`.
    for PairedVec: kind::PAIRED, "unpublished paired vector" as PairedForm<CiphertextForm<'a>>;
    fn write(&self, params: &Params) {
        Ok(PairedForm::new(self, self.inner().to_form(params)?))
    }
    fn read(params, form) {
        // The ciphertext form checks the metadata; `of_shape` checks range and length against it.
        let (range, len) = (form.range()?, form.len as usize);
        let inner = Ciphertext::from_form(params, form.inner)?;
        let meta = *inner.meta();
        Self::of_shape(inner, &meta, range, len, params.max_slots())
    }
}

wire_form! {
    for SeededPairedVec: kind::SEEDED_PAIRED, "fresh paired vector"
        as PairedForm<SeededCiphertextForm<'a>>;
    fn write(&self, params: &Params) {
        Ok(PairedForm::new(self, self.inner().to_form(params)?))
    }
    fn read(params, form) {
        let (range, len) = (form.range()?, form.len as usize);
        Self::seeded(SeededCiphertext::from_form(params, form.inner)?, range, len)
    }
}

/// The plain form of an [`IntVec`]: the modulus, and the integers before reduction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntegersForm<F> {
    modulus: u32,
    /// Whether they come from reals that no table has reduced.
    of_reals: bool,
    values: PairedForm<F>,
}

wire_form! {
    // For the server's own use only. Results leave a server as `Published<IntVec>`.
    for IntVec: kind::INTEGERS, "unpublished encrypted integers"
        as IntegersForm<CiphertextForm<'a>>;
    fn write(&self, params: &Params) {
        let modulus = self.modulus() as u32;
        let of_reals = self.is_of_reals();
        Ok(IntegersForm { modulus, of_reals, values: self.values().to_form(params)? })
    }
    fn read(params, form) {
        let values = PairedVec::from_form(params, form.values)?;
        Self::of_values(values, form.modulus as usize, form.of_reals)
    }
}

wire_form! {
    /// The plain form of a [`SeededIntVec`]. The modulus determines its range.
    pub struct SeededIntegersForm<'a> for SeededIntVec:
        kind::SEEDED_INTEGERS, "fresh encrypted integers"
    {
        modulus: u32 = self.modulus() as u32,
        len: u32 = self.len() as u32,
        inner: SeededCiphertextForm<'a> = self.values().inner().to_form(params)?,
    }
    fn write(&self, params: &Params) {
        // No range: the modulus determines it.
    }
    fn read(params, form) {
        let inner = SeededCiphertext::from_form(params, form.inner)?;
        Self::stated(inner, form.modulus as usize, form.len as usize)
    }
}
