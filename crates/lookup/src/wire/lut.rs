//! The serialized form of the look-up part of a parameter set, as a part of the form of the set.

use bellerophon_lwe::wire::ParamsForm;
use bellerophon_mlwe::Security;
use bellerophon_ring::Result;
use serde::{Deserialize, Serialize};

use crate::params::{LutParams, LutSpec};

/// The serialized form of [`LutSpec`], without the highest level: it follows from the rest of the
/// set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LutForm {
    tables: ParamsForm,
    log2_failure: f64,
    ring_bridge: Option<u32>,
}

impl From<&LutParams> for LutForm {
    fn from(lookups: &LutParams) -> Self {
        // The parameters of the specification; those of the other engines are derived from them.
        Self {
            tables: lookups.lwe_params().spec().into(),
            log2_failure: lookups.spec().log2_failure,
            ring_bridge: lookups.ring().map(|ring| ring.spec().weight as u32),
        }
    }
}

impl LutForm {
    /// The specification, with [`usize::MAX`] as highest level. It must state the security level
    /// `wanted`; [`Security::Insecure`] accepts any.
    pub fn into_spec(self, wanted: Security) -> Result<LutSpec> {
        Ok(LutSpec {
            tables: self.tables.into_spec(wanted)?,
            log2_failure: self.log2_failure,
            ring_bridge: self.ring_bridge.map(|weight| weight as usize),
            highest_level: usize::MAX,
        })
    }
}
