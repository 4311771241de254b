//! What is public about an encrypted column, as metadata of its Arrow field.
//!
//! The writer of a file describes a column; every function derives the description of its result
//! from those of its operands with the library's simulator, when the query is planned. A plan that
//! runs out of levels, or in which values could wrap around, is therefore refused before it starts.

use bellerophon::{
    Params,
    circuits::bootstrap::SimulatorExt,
    ckks::{
        CiphertextMeta, CkksOps, Metadata,
        simulator::{SimCiphertext, Simulator},
        wire::MetaForm,
    },
    mlwe::KeyId,
};
use datafusion::{arrow::datatypes::Field, common::DFSchema, logical_expr::LogicalPlan};
use serde::{Deserialize, Serialize};

use crate::{Error, Hash, Result, gaps::Gaps};

/// The key of the description in the metadata of a field.
pub(crate) const FIELD: &str = "bellerophon";

/// The function that takes LWE vectors.
pub(crate) const PACK: &str = "he_pack";

/// The key of the name of a table in the metadata of a field.
pub(crate) const TABLE: &str = "bellerophon.table";

/// The description of an encrypted column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// The name of the parameters in the key store.
    params: String,
    /// The identity of the owner's key.
    owner: String,
    /// The vectors of the column, at most.
    pub(crate) vectors: usize,
    pub(crate) level: usize,
    meta: MetaForm,
    /// Predicted seconds for all vectors, of the last function alone.
    pub(crate) seconds: f64,
    /// The column holds LWE vectors, and the rest describes what `he_pack` makes of them.
    #[serde(default)]
    pub(crate) lwe: Option<LweForm>,
    /// A vector holds values of rows, not one value in every slot.
    #[serde(default = "is_true")]
    pub(crate) rows: bool,
    /// What the slots of missing values hold.
    #[serde(default)]
    pub(crate) gaps: Gaps,
    /// What a sum is of.
    #[serde(default)]
    pub(crate) terms: Option<Terms>,
}

/// What is public about the LWE vectors of a column, beside their range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct LweForm {
    /// The declared standard deviation of their noise.
    pub(crate) deviation: f64,
    /// The width of their encoding.
    pub(crate) width: f64,
}

/// The values whose sum a vector is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    /// The mask, if some were missing.
    pub(crate) mask: Option<String>,
}

/// Columns of files hold rows.
fn is_true() -> bool {
    true
}

impl Shape {
    /// A column as a client writes it.
    pub(crate) fn new(params: Hash, owner: KeyId, vectors: usize, x: &Metadata) -> Self {
        Self {
            params: params.to_string(),
            owner: format!("{:032x}", owner.0),
            vectors,
            level: x.level,
            meta: (&x.meta).into(),
            seconds: 0.0,
            lwe: None,
            rows: true,
            gaps: Gaps::None,
            terms: None,
        }
    }

    /// A column of LWE vectors that `he_pack` makes vectors like these of.
    pub(crate) fn unpacked(self, form: LweForm) -> Self {
        Self { lwe: Some(form), ..self }
    }

    /// The result of a function of columns like this one.
    pub(crate) fn with(&self, x: &Metadata, vectors: usize, seconds: f64) -> Self {
        let (level, meta, gaps) = (x.level, (&x.meta).into(), Gaps::None);
        let (params, owner) = (self.params.clone(), self.owner.clone());
        let (lwe, rows, terms) = (None, self.rows, None);
        Self { params, owner, vectors, level, meta, seconds, lwe, rows, gaps, terms }
    }

    /// Reads the description of argument `argument`, counted from 1.
    pub(crate) fn of(function: &'static str, argument: usize, field: &Field) -> Result<Self> {
        let not_encrypted = || Error::NotEncrypted { function, argument };
        let shape = Self::on_field(field).ok_or_else(not_encrypted)?;
        let reason = match (shape.lwe.is_some(), function == PACK) {
            (true, false) => "holds LWE vectors: take `he_pack` of it",
            (false, true) => "holds vectors in slots: need LWE vectors",
            _ => return Ok(shape),
        };
        Err(Error::plan(function, format!("argument {argument} {reason}")))
    }

    /// The description on the field of a column or of a result.
    pub(crate) fn on_field(field: &Field) -> Option<Self> {
        serde_json::from_str(field.metadata().get(FIELD)?).ok()
    }

    /// Reads a description that [`Describe`](crate::Describe) wrote into a call.
    pub(crate) fn parse(function: &'static str, text: &str) -> Result<Self> {
        let malformed = |error| Error::plan(function, format!("a malformed description: {error}"));
        serde_json::from_str(text).map_err(malformed)
    }

    /// The field with this description.
    pub(crate) fn on(&self, function: &'static str, field: Field) -> Result<Field> {
        // Infinite noise has no JSON form, and no use.
        if !self.meta()?.noise.total.is_finite() {
            return Err(Error::plan(function, "the predicted error of its result is unbounded"));
        }
        let text = serde_json::to_string(self).map_err(|error| Error::plan(function, error))?;
        Ok(field.with_metadata([(FIELD.to_string(), text)].into()))
    }

    /// The common parameters and owner of the operands of a function.
    pub(crate) fn common<'s>(function: &'static str, shapes: &'s [Self]) -> Result<&'s Self> {
        let [first, rest @ ..] = shapes else {
            return Err(Error::NotEncrypted { function, argument: 1 });
        };
        for other in rest {
            if other.owner != first.owner {
                let (left, right) = (first.owner.clone(), other.owner.clone());
                return Err(Error::Owners { function, left, right });
            }
            if other.params != first.params {
                let reason = format!(
                    "its operands have the parameters {} and {}",
                    first.params, other.params
                );
                return Err(Error::plan(function, reason));
            }
        }
        Ok(first)
    }

    pub(crate) fn params(&self, function: &'static str) -> Result<Hash> {
        self.params.parse().map_err(|reason| Error::plan(function, reason))
    }

    pub(crate) fn owner(&self, function: &'static str) -> Result<KeyId> {
        let malformed = |_| Error::plan(function, format!("{:?} is no owner", self.owner));
        u128::from_str_radix(&self.owner, 16).map(KeyId).map_err(malformed)
    }

    /// The metadata of a vector of the column.
    pub(crate) fn meta(&self) -> bellerophon::Result<CiphertextMeta> {
        CiphertextMeta::try_from(self.meta)
    }

    /// Bytes of memory of a vector: two polynomials of 64-bit residues.
    pub(crate) fn memory(&self, params: &Params) -> usize {
        let params = params.ckks();
        params.limbs_at(self.level.min(params.max_level())) * params.lattice().spec().degree * 16
    }

    /// A vector of the column on a simulator of these parameters. The description may come from a
    /// file of anybody: it is checked as that of a vector.
    pub(crate) fn simulated(
        &self,
        function: &'static str,
        params: &Params,
        simulator: &Simulator,
    ) -> Result<SimCiphertext> {
        let (params, meta) = (params.ckks(), self.meta()?);
        let most = params.max_level();
        if self.level > most {
            let reason = format!("a column of level {}: its parameters have {most}", self.level);
            return Err(Error::plan(function, reason));
        }
        let refused = |error| Error::plan(function, error);
        meta.check(params, params.limbs_at(self.level)).map_err(refused)?;
        // A value of the range: the values of a simulated vector decide nothing.
        let range = meta.bounds.slots();
        let value = 0f64.clamp(range.lo(), range.hi());
        let x = simulator.encrypt(&vec![value; meta.slots], range, self.level);
        Ok(simulator.with_metadata(x.map_err(refused)?, meta))
    }
}

/// The columns that the expressions of a node of a plan are over.
pub(crate) fn inputs(node: &LogicalPlan) -> DFSchema {
    let inputs = node.inputs();
    // A scan has no input: its filters are over its own columns.
    if inputs.is_empty() {
        return node.schema().as_ref().clone();
    }
    let mut schema = DFSchema::empty();
    inputs.iter().for_each(|input| schema.merge(input.schema()));
    schema
}

/// A simulator of the operations that these parameters have.
pub(crate) fn simulator(params: &Params) -> Result<Simulator> {
    let simulator = Simulator::new(params.ckks());
    match params.bootstrapper() {
        Ok(bootstrapper) => Ok(simulator.with_bootstrapping(bootstrapper.clone())?),
        Err(_) => Ok(simulator),
    }
}
