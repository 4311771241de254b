//! Serialized forms of conversions between rings. They are read with the parameters of both rings.

use bellerophon_ring::wire::Wire;
use serde::{Deserialize, Serialize};

use super::{GaloisKeysForm, KeySwitchKeyForm, kind};
use crate::{
    During, Error, ErrorKind, ModuleMap, Params, RankReduceKey, Result, RingConversion,
    RingSwitchKeys,
};

/// The plain form of a [`RingConversion`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RingConversionForm<'a> {
    /// The largest number of limbs of an input.
    limbs: u32,
    /// The Galois keys of the trace.
    #[serde(borrow)]
    galois: GaloisKeysForm<'a>,
}

/// Read with the parameters of the large ring and of the small one.
impl Wire for RingConversion {
    const KIND: u16 = kind::RING_CONVERSION;
    const NAME: &'static str = "keys of a conversion of rings";
    type Params = (Params, Params);
    type Form<'a> = RingConversionForm<'a>;
    type Error = Error;

    fn to_form(&self, (large, small): &(Params, Params)) -> Result<RingConversionForm<'_>> {
        let (op, map) = ("write keys of a conversion of rings", self.map());
        large.check(map.large().fingerprint()).during(op)?;
        small.check(map.small().fingerprint()).during(op)?;
        let galois = GaloisKeysForm::new(large, self.galois())?;
        Ok(RingConversionForm { limbs: map.limbs() as u32, galois })
    }

    fn from_form((large, small): &(Params, Params), form: RingConversionForm) -> Result<Self> {
        let map = ModuleMap::new(large, small, form.limbs as usize)?;
        Self::from_parts(large, small, map, form.galois.into_keys(large)?)
    }
}

/// The plain form of [`RingSwitchKeys`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RingSwitchKeysForm<'a> {
    /// The degree of the smallest ring, in whose slots the messages are.
    degree: u32,
    #[serde(borrow)]
    reduce: KeySwitchKeyForm<'a>,
    #[serde(borrow)]
    up: RingConversionForm<'a>,
}

/// Read with the parameters of the source and of the target.
impl Wire for RingSwitchKeys {
    const KIND: u16 = kind::RING_SWITCH_KEYS;
    const NAME: &'static str = "keys of a ring switch";
    type Params = (Params, Params);
    type Form<'a> = RingSwitchKeysForm<'a>;
    type Error = Error;

    fn to_form(&self, (source, target): &(Params, Params)) -> Result<RingSwitchKeysForm<'_>> {
        source.check(self.source().fingerprint()).during("write keys of a ring switch")?;
        let module = self.module();
        let reduce = KeySwitchKeyForm::new(module, self.reduce().key())?;
        let up = self.up().to_form(&(target.clone(), module.clone()))?;
        Ok(RingSwitchKeysForm { degree: module.degree() as u32, reduce, up })
    }

    fn from_form((source, target): &(Params, Params), form: RingSwitchKeysForm) -> Result<Self> {
        let degree = form.degree as usize;
        // The module of the target is known before any key is read.
        if degree == 0 || !target.degree().is_multiple_of(degree) {
            let kind = ErrorKind::Degree { found: degree, needed: target.degree() };
            return Err(kind.during("read keys of a ring switch"));
        }
        let module = target.module_view(target.degree() / degree)?;
        let reduce = RankReduceKey::from_form(&module, form.reduce)?;
        let up = RingConversion::from_form(&(target.clone(), module), form.up)?;
        Self::from_parts(source, reduce, up)
    }
}
