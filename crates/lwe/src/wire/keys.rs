//! Serialized forms of key-switching keys and of all keys of programmable bootstrapping.

use bellerophon_mlwe::KeyId;
use bellerophon_ring::{
    sample::Seed,
    wire::{Packed, Wire},
};
use serde::{Deserialize, Serialize};

use super::{RotationForm, kind};
use crate::{
    During, Error, ErrorKind, Params, Result, SeededBlindRotationKey, SeededKeySwitchKey,
    SeededLookupKeys,
};

/// The serialized form of a [`SeededKeySwitchKey`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeySwitchForm<'a> {
    /// The dimension of the source secret.
    source: u32,
    /// The dimension of the target secret, and the modulus.
    dimension: u32,
    modulus: u64,
    base_log: u32,
    digits: u32,
    seed: Seed,
    /// The bodies. Layout, outermost first: block of the source, digit.
    #[serde(borrow)]
    bodies: Packed<'a>,
}

impl Wire for SeededKeySwitchKey {
    const KIND: u16 = kind::KEY_SWITCH_KEY;
    const NAME: &'static str = "LWE key-switching key";
    type Params = Params;
    type Form<'a> = KeySwitchForm<'a>;
    type Error = Error;

    fn to_form(&self, params: &Params) -> Result<KeySwitchForm<'static>> {
        self.check(params)?;
        let gadget = params.key_switch_gadget();
        Ok(KeySwitchForm {
            source: self.source_dimension() as u32,
            dimension: params.spec().dimension as u32,
            modulus: params.modulus().value(),
            base_log: gadget.base_log(),
            digits: gadget.digits() as u32,
            seed: *self.seed(),
            bodies: Packed::polys(params.lwe_ring(), self.bodies().iter()),
        })
    }

    fn from_form(params: &Params, form: KeySwitchForm) -> Result<Self> {
        // Step 1: dimension, modulus and digits are those of the parameters.
        let (op, gadget) = ("reading an LWE key-switching key", params.key_switch_gadget());
        let (found, needed) = (form.dimension as usize, params.spec().dimension);
        if found != needed {
            let remedy = "use the key of these parameters";
            return Err(ErrorKind::Dimension { found, needed, remedy }.during(op));
        }
        let (found, needed) = (form.modulus, params.modulus().value());
        if found != needed {
            return Err(ErrorKind::Modulus { found, needed }.during(op));
        }
        let own = (gadget.base_log(), gadget.digits() as u32);
        if (form.base_log, form.digits) != own {
            let print = |(bits, count)| format!("{count} digits of {bits} bits");
            return Err(ErrorKind::Parameter {
                field: "key_switch_digits",
                found: format!("{} in the key", print((form.base_log, form.digits))),
                needed: format!("the key of these parameters, {}", print(own)),
            }
            .into());
        }
        // Step 2: the bodies, whose number follows from the source dimension.
        let source = form.source as usize;
        let bodies = form.bodies.unpack_polys(params.lwe_ring(), Self::rows(params, source))?;
        Self::from_parts(params, source, form.seed, bodies)
    }
}

/// The serialized form of [`SeededLookupKeys`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookupKeysForm<'a> {
    key: KeyId,
    #[serde(borrow)]
    switch: KeySwitchForm<'a>,
    #[serde(borrow)]
    rotation: RotationForm<'a>,
}

impl Wire for SeededLookupKeys {
    const KIND: u16 = kind::LOOKUP_KEYS;
    const NAME: &'static str = "look-up keys";
    type Params = Params;
    type Form<'a> = LookupKeysForm<'a>;
    type Error = Error;

    fn to_form(&self, params: &Params) -> Result<LookupKeysForm<'_>> {
        let (switch, rotation) = (self.switch.to_form(params)?, self.rotation.to_form(params)?);
        Ok(LookupKeysForm { key: self.key, switch, rotation })
    }

    fn from_form(params: &Params, form: LookupKeysForm) -> Result<Self> {
        let (found, needed) = (form.switch.source as usize, params.spec().ring_degree);
        if found != needed {
            let remedy = "use a key switch from the coefficients of the ring secret";
            return Err(
                ErrorKind::Dimension { found, needed, remedy }.during("reading look-up keys")
            );
        }
        // The small key first, so that an invalid one fails before the large one is read.
        let switch = SeededKeySwitchKey::from_form(params, form.switch)?;
        let rotation = SeededBlindRotationKey::from_form(params, form.rotation)?;
        Ok(Self { rotation, switch, key: form.key })
    }
}
