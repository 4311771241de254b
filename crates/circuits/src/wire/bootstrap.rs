//! Byte forms of the keys that only bootstrapping needs.

use bellerophon_ckks::EvaluationKeys;
use bellerophon_mlwe::{KeySwitchKey, RaiseTransformKey, wire as lattice};
use bellerophon_ring::wire_form;

use crate::bootstrap::{BootstrapKeys, Raising};

wire_form! {
    /// The plain form of [`BootstrapKeys`].
    pub struct BootstrapKeysForm<'a> for BootstrapKeys:
        super::kind::BOOTSTRAP_KEYS, "bootstrapping keys"
    {
        s2c: lattice::GaloisKeysForm<'a> = lattice::GaloisKeysForm::new(
            raising.s2c.params.lattice(),
            self.s2c().galois_keys(),
        )?,
        to_sparse: lattice::KeySwitchKeyForm<'a> = self.to_sparse().to_form(&raising.low)?,
        raise: lattice::RaiseTransformKeyForm<'a> =
            self.raise().to_form(&raising.first.transform)?,
    }
    fn write(&self, raising: &Raising) {
        // The keys of S2C work at the lowest levels, that to the sparse secret at the lowest
        // modulus, the last one at the full modulus with its matrix.
    }
    fn read(raising, form) {
        // The rotations of S2C are checked before any mask is expanded.
        raising.check_rotations(form.s2c.rotations())?;
        // Each key is checked for its own parameters, and all together for this bootstrap.
        let to_sparse = KeySwitchKey::from_form(&raising.low, form.to_sparse)?;
        let raise = RaiseTransformKey::from_form(&raising.first.transform, form.raise)?;
        let lowest = &raising.s2c.params;
        let mut s2c = EvaluationKeys::none(lowest, to_sparse.shape().from.key);
        for key in form.s2c.into_keys(lowest.lattice())?.iter() {
            s2c.insert_galois(key.clone())?;
        }
        Self::from_parts(raising, s2c, to_sparse, raise)
    }
}
