//! Byte forms of encrypted vectors: the lattice ciphertext and its public metadata.

use bellerophon_mlwe::{self as mlwe, wire as lattice};
use bellerophon_ring::{
    Error, Result,
    wire::{List, Wire},
    wire_form,
};
use serde::{Deserialize, Serialize};

use crate::ciphertext::{Ciphertext, CiphertextMeta};
use crate::encrypt::SeededCiphertext;
use crate::interval::{Bounds, Interval};
use crate::noise::Noise;
use crate::origins::{Origins, Sources};
use crate::params::Params;
use crate::stated::{Payload, Stated};

/// The plain form of a [`CiphertextMeta`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MetaForm {
    scale: f64,
    slots: u32,
    len: u32,
    /// Range of the values.
    values: RangeForm,
    /// Range of the padding.
    padding: RangeForm,
    noise: NoiseForm,
}

/// The plain form of a [`Noise`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct NoiseForm {
    /// Variance of the error against the exact program, averaged over the slots; infinite if
    /// unbounded.
    total: f64,
    /// The same variance where it is largest.
    peak: f64,
    /// The largest variance for errors of any correlation.
    bound: f64,
    /// Variance of the departure from the ranges.
    excess: f64,
}

/// The plain form of an [`Interval`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum RangeForm {
    /// Real numbers from the first to the second.
    Real(f64, f64),
    /// Complex numbers of at most this magnitude.
    Complex(f64),
}

impl From<&Interval> for RangeForm {
    fn from(range: &Interval) -> Self {
        match range.is_real() {
            true => Self::Real(range.lo(), range.hi()),
            false => Self::Complex(range.hi()),
        }
    }
}

impl TryFrom<RangeForm> for Interval {
    type Error = Error;

    fn try_from(form: RangeForm) -> Result<Self> {
        match form {
            RangeForm::Real(lo, hi) => Self::real(lo, hi),
            RangeForm::Complex(bound) => Self::complex(bound),
        }
    }
}

impl From<&CiphertextMeta> for MetaForm {
    fn from(meta: &CiphertextMeta) -> Self {
        Self {
            scale: meta.scale,
            slots: meta.slots as u32,
            len: meta.len as u32,
            values: (&meta.bounds.values).into(),
            padding: (&meta.bounds.padding).into(),
            noise: (&meta.noise).into(),
        }
    }
}

impl TryFrom<MetaForm> for CiphertextMeta {
    type Error = Error;

    fn try_from(form: MetaForm) -> Result<Self> {
        let bounds = Bounds { values: form.values.try_into()?, padding: form.padding.try_into()? };
        let (slots, len) = (form.slots as usize, form.len as usize);
        Ok(Self { scale: form.scale, slots, len, bounds, noise: form.noise.into() })
    }
}

impl From<&Noise> for NoiseForm {
    fn from(&Noise { total, peak, bound, excess, .. }: &Noise) -> Self {
        Self { total, peak, bound, excess }
    }
}

impl From<NoiseForm> for Noise {
    fn from(NoiseForm { total, peak, bound, excess }: NoiseForm) -> Self {
        Self { peak, bound, excess, ..Self::new(total) }
    }
}

/// The plain form of one kind of sources of [`Origins`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourcesForm {
    /// The identities, in order; none if they are unknown.
    known: Option<List<u64, { Sources::MOST }>>,
    /// The distances by which slots have moved.
    from: i64,
    to: i64,
}

impl From<&Sources> for SourcesForm {
    fn from(sources: &Sources) -> Self {
        let (known, from, to) = sources.parts();
        Self { known: known.map(|known| List(known.to_vec())), from, to }
    }
}

impl TryFrom<SourcesForm> for Sources {
    type Error = Error;

    fn try_from(SourcesForm { known, from, to }: SourcesForm) -> Result<Self> {
        Self::stored(known.map(|known| known.0), from, to)
    }
}

/// The plain form of what a vector may share with others: its [`Origins`], and the parts of its
/// variance that are roundings of plaintexts and of constants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedForm {
    encryptions: SourcesForm,
    plaintexts: SourcesForm,
    plain: f64,
    constant: f64,
}

impl From<&Ciphertext> for SharedForm {
    fn from(x: &Ciphertext) -> Self {
        let [encryptions, plaintexts] = x.origins.parts().map(SourcesForm::from);
        let Noise { plain, constant, .. } = x.meta.noise;
        Self { encryptions, plaintexts, plain, constant }
    }
}

wire_form! {
    /// The plain form of a [`Ciphertext`].
    ///
    /// The ciphertext with all metadata of the server, for the server's own use only. Results leave
    /// a server as [`Published`](crate::Published).
    pub struct CiphertextForm<'a> for Ciphertext:
        super::kind::CIPHERTEXT, "unpublished encrypted vector"
    {
        meta: MetaForm = self.meta().into(),
        shared: SharedForm = self.into(),
        lattice: lattice::CiphertextForm<'a> = self.lattice().to_form(params.lattice())?,
    }
    fn write(&self, params: &Params) {}
    fn read(params, form) {
        // `from_parts` checks the metadata against the parameters.
        let SharedForm { encryptions, plaintexts, plain, constant } = form.shared;
        let mut meta: CiphertextMeta = form.meta.try_into()?;
        (meta.noise.plain, meta.noise.constant) = (plain, constant);
        let lattice = mlwe::Ciphertext::from_form(params.lattice(), form.lattice)?;
        let origins = Origins::new(encryptions.try_into()?, plaintexts.try_into()?);
        Ok(Self::from_parts(params, lattice, meta)?.of(origins))
    }
}

/// The plain form of a [`Stated`] vector: the statement and the lattice ciphertext.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a, S: Deserialize<'de>"))]
pub struct StatedForm<'a, S> {
    statement: S,
    lattice: lattice::CiphertextForm<'a>,
}

impl<T: Payload<By>, By> Wire for Stated<T, By> {
    const KIND: u16 = T::KIND;
    const NAME: &'static str = T::NAME;
    type Params = Params;
    type Form<'a> = StatedForm<'a, T::Statement>;

    fn to_form(&self, params: &Params) -> Result<Self::Form<'_>> {
        let lattice = self.vector.ciphertext().lattice().to_form(params.lattice())?;
        Ok(StatedForm { statement: self.statement().clone(), lattice })
    }

    fn from_form(params: &Params, form: Self::Form<'_>) -> Result<Self> {
        let lattice = mlwe::Ciphertext::from_form(params.lattice(), form.lattice)?;
        Self::of(params, lattice, form.statement)
    }
}

wire_form! {
    /// The plain form of a [`SeededCiphertext`].
    pub struct SeededCiphertextForm<'a> for SeededCiphertext:
        super::kind::SEEDED_CIPHERTEXT, "fresh encrypted vector"
    {
        meta: MetaForm = (&self.meta).into(),
        lattice: lattice::SeededCiphertextForm<'a> = lattice,
    }
    fn write(&self, params: &Params) {
        let lattice = self.inner.to_form(params.lattice())?;
    }
    fn read(params, form) {
        let meta: CiphertextMeta = form.meta.try_into()?;
        let inner = mlwe::SeededCiphertext::from_form(params.lattice(), form.lattice)?;
        // The mask is still a seed, so the body gives the number of limbs.
        meta.check(params, inner.b().limbs())?;
        Ok(Self::new(inner, meta))
    }
}
