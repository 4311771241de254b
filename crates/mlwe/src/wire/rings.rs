//! Serialized forms of conversions between rings. They are read with the parameters of both rings.

use bellerophon_ring::wire_form;

use super::{Ends, GaloisKeysForm, KeySwitchKeyForm, kind};
use crate::dpad::{RingConversion, RingSwitchKeys};
use crate::error;
use crate::module_map::ModuleMap;
use crate::params::Params;
use crate::rank_reduction::RankReduceKey;

wire_form! {
    /// The plain form of a [`RingConversion`].
    ///
    /// Read with the parameters of the large ring and of the small one.
    pub struct RingConversionForm<'a> for RingConversion:
        kind::RING_CONVERSION, "keys of a conversion of rings"
    {
        /// The largest number of limbs of an input.
        limbs: u32 = map.limbs() as u32,
        /// The Galois keys of the trace.
        galois: GaloisKeysForm<'a> = GaloisKeysForm::new(large, self.galois())?,
    }
    fn write(&self, (large, small): &Ends<Params>) {
        let map = self.map();
        large.check(map.large().fingerprint())?;
        small.check(map.small().fingerprint())?;
    }
    fn read((large, small), form) {
        let map = ModuleMap::new(large, small, form.limbs as usize)?;
        Self::from_parts(large, small, map, form.galois.into_keys(large)?)
    }
}

wire_form! {
    /// The plain form of [`RingSwitchKeys`].
    ///
    /// Read with the parameters of the source and of the target.
    pub struct RingSwitchKeysForm<'a> for RingSwitchKeys:
        kind::RING_SWITCH_KEYS, "keys of a ring switch"
    {
        /// The degree of the smallest ring, in whose slots the messages are.
        degree: u32 = module.degree() as u32,
        reduce: KeySwitchKeyForm<'a> = KeySwitchKeyForm::new(module, self.reduce().key())?,
        up: RingConversionForm<'a> = self.up().to_form(&(target.clone(), module.clone()))?,
    }
    fn write(&self, (source, target): &Ends<Params>) {
        source.check(self.source().fingerprint())?;
        let module = self.module();
    }
    fn read((source, target), form) {
        let degree = form.degree as usize;
        // The module of the target is known before any key is read.
        if degree == 0 || !target.degree().is_multiple_of(degree) {
            let kind = error::degree(degree, target.degree());
            return Err(kind);
        }
        let module = target.module_view(target.degree() / degree)?;
        let reduce = RankReduceKey::from_form(&module, form.reduce)?;
        let up = RingConversion::from_form(&(target.clone(), module), form.up)?;
        Self::from_parts(source, reduce, up)
    }
}
