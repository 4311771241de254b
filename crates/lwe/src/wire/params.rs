//! The serialized form of parameters of programmable bootstrapping, as a part of larger forms.

use bellerophon_mlwe::{
    Security,
    wire::{SecretForm, SecurityForm},
};
use bellerophon_ring::Result;
use serde::{Deserialize, Serialize};

use super::EngineForm;
use crate::params::ParamsSpec;

/// The serialized form of [`ParamsSpec`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParamsForm {
    dimension: u32,
    modulus: u64,
    secret: SecretForm,
    sigma: f64,
    key_switch_base_log: u32,
    key_switch_digits: u32,
    ring_degree: u32,
    ring_modulus: u64,
    engine: EngineForm,
    ring_secret: SecretForm,
    ring_sigma: f64,
    security: SecurityForm,
}

impl From<&ParamsSpec> for ParamsForm {
    fn from(spec: &ParamsSpec) -> Self {
        Self {
            dimension: spec.dimension as u32,
            modulus: spec.modulus,
            secret: spec.secret.into(),
            sigma: spec.sigma,
            key_switch_base_log: spec.key_switch_base_log,
            key_switch_digits: spec.key_switch_digits as u32,
            ring_degree: spec.ring_degree as u32,
            ring_modulus: spec.ring_modulus,
            engine: (&spec.engine).into(),
            ring_secret: spec.ring_secret.into(),
            ring_sigma: spec.ring_sigma,
            security: spec.security.into(),
        }
    }
}

impl ParamsForm {
    /// The specification, which must state the security level `wanted`;
    /// [`Security::Insecure`] accepts any.
    pub fn into_spec(self, wanted: Security) -> Result<ParamsSpec> {
        Ok(ParamsSpec {
            dimension: self.dimension as usize,
            modulus: self.modulus,
            secret: self.secret.into(),
            sigma: self.sigma,
            key_switch_base_log: self.key_switch_base_log,
            key_switch_digits: self.key_switch_digits as usize,
            ring_degree: self.ring_degree as usize,
            ring_modulus: self.ring_modulus,
            engine: self.engine.into(),
            ring_secret: self.ring_secret.into(),
            ring_sigma: self.ring_sigma,
            security: self.security.checked(wanted)?,
        })
    }
}
