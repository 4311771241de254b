//! Byte forms of bootstrap specifications and of the keys that only bootstrapping needs.

use bellerophon_mlwe::{KeySwitchKey, RaiseTransformKey, wire as lattice};
use bellerophon_ring::wire_form;
use serde::{Deserialize, Serialize};

use crate::bootstrap::{BootstrapKeys, BootstrapSpec, Raising};
use bellerophon_ckks::EvaluationKeys;

/// The plain form of a [`BootstrapSpec`] without `encode_ahead`, which the reader chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BootstrapForm {
    slots: u32,
    bound: f64,
    log_gap: f64,
    weight: u32,
    log2_failure: f64,
    log2_error: f64,
    arcsine: u32,
    log_reduction: u32,
    s2c_levels: u32,
    c2s_levels: u32,
    babies: u32,
}

impl From<&BootstrapSpec> for BootstrapForm {
    fn from(spec: &BootstrapSpec) -> Self {
        Self {
            slots: spec.slots as u32,
            bound: spec.bound,
            log_gap: spec.log_gap,
            weight: spec.weight as u32,
            log2_failure: spec.log2_failure,
            log2_error: spec.log2_error,
            arcsine: spec.arcsine as u32,
            log_reduction: spec.log_reduction,
            s2c_levels: spec.s2c_levels as u32,
            c2s_levels: spec.c2s_levels as u32,
            babies: spec.babies as u32,
        }
    }
}

impl From<BootstrapForm> for BootstrapSpec {
    fn from(form: BootstrapForm) -> Self {
        Self {
            slots: form.slots as usize,
            bound: form.bound,
            log_gap: form.log_gap,
            weight: form.weight as usize,
            log2_failure: form.log2_failure,
            log2_error: form.log2_error,
            arcsine: form.arcsine as usize,
            log_reduction: form.log_reduction,
            s2c_levels: form.s2c_levels as usize,
            c2s_levels: form.c2s_levels as usize,
            babies: form.babies as usize,
            encode_ahead: false,
        }
    }
}

wire_form! {
    /// The plain form of [`BootstrapKeys`].
    pub struct BootstrapKeysForm<'a> for BootstrapKeys:
        super::kind::BOOTSTRAP_KEYS, "bootstrapping keys"
    {
        s2c: lattice::GaloisKeysForm<'a> = lattice::GaloisKeysForm::new(
            raising.s2c().params().lattice(),
            self.s2c().galois_keys(),
        )?,
        to_sparse: lattice::KeySwitchKeyForm<'a> = self.to_sparse().to_form(raising.low())?,
        raise: lattice::RaiseTransformKeyForm<'a> =
            self.raise().to_form(raising.first().transform())?,
    }
    fn write(&self, raising: &Raising) {
        // The keys of S2C work at the lowest levels, that to the sparse secret at the lowest
        // modulus, the last one at the full modulus with its matrix.
    }
    fn read(raising, form) {
        // The rotations of S2C are checked before any mask is expanded.
        raising.check_rotations(form.s2c.rotations())?;
        // Each key is checked for its own parameters, and all together for this bootstrap.
        let to_sparse = KeySwitchKey::from_form(raising.low(), form.to_sparse)?;
        let raise = RaiseTransformKey::from_form(raising.first().transform(), form.raise)?;
        let lowest = raising.s2c().params();
        let mut s2c = EvaluationKeys::none(lowest, to_sparse.shape().from.key);
        for key in form.s2c.into_keys(lowest.lattice())?.iter() {
            s2c.insert_galois(key.clone())?;
        }
        Self::from_parts(raising, s2c, to_sparse, raise)
    }
}
