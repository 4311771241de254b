//! Byte form of the keys that bootstrap vectors of a rank.

use std::sync::Arc;

use bellerophon_ckks::{Params, wire::EvaluationKeysForm};
use bellerophon_mlwe::{RingConversion, wire as lattice};
use bellerophon_ring::wire_form;

use super::{BootstrapKeysForm, kind};
use crate::bootstrap::{BootstrapKeys, Bootstrapper};
use crate::rank_bootstrap::RankBootstrap;

wire_form! {
    /// The plain form of a [`RankBootstrap`].
    ///
    /// Read with the parameters of the vectors and the bootstrapper over the larger ring.
    pub struct RankBootstrapForm<'a> for RankBootstrap:
        kind::RANK_BOOTSTRAP, "keys to bootstrap a rank"
    {
        rings: lattice::RingConversionForm<'a> =
            rings.to_form(&(large.lattice().clone(), small.lattice().clone()))?,
        keys: EvaluationKeysForm<'a> = EvaluationKeysForm::new(large, keys)?,
        own: BootstrapKeysForm<'a> = own.to_form(bootstrapper.raising())?,
    }
    fn write(&self, (small, bootstrapper): &(Params, Arc<Bootstrapper>)) {
        let large = bootstrapper.params();
        let (rings, keys, own) = self.parts();
    }
    fn read((small, bootstrapper), form) {
        let large = bootstrapper.params();
        let both = (large.lattice().clone(), small.lattice().clone());
        let rings = RingConversion::from_form(&both, form.rings)?;
        let keys = form.keys.into_keys(large)?;
        let own = BootstrapKeys::from_form(bootstrapper.raising(), form.own)?;
        Self::from_parts(small, bootstrapper.clone(), rings, &keys, own)
    }
}
