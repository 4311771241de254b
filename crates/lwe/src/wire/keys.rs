//! Serialized forms of key-switching keys and of all keys of programmable bootstrapping.

use bellerophon_mlwe::KeyId;
use bellerophon_ring::{sample::Seed, wire::Packed, wire_form};

use super::{RotationForm, kind};
use crate::blind_rotate::SeededBlindRotationKey;
use crate::error;
use crate::keys::SeededLookupKeys;
use crate::keyswitch::SeededKeySwitchKey;
use crate::params::Params;

wire_form! {
    /// The serialized form of a [`SeededKeySwitchKey`].
    pub struct KeySwitchForm<'a> for SeededKeySwitchKey:
        kind::KEY_SWITCH_KEY, "LWE key-switching key"
    {
        /// The dimension of the source secret.
        source: u32 = self.source_dimension() as u32,
        /// The dimension of the target secret, and the modulus.
        dimension: u32 = params.spec().dimension as u32,
        modulus: u64 = params.modulus().value(),
        base_log: u32 = gadget.base_log(),
        digits: u32 = gadget.digits() as u32,
        seed: Seed = *self.seed(),
        /// The bodies. Layout, outermost first: block of the source, digit.
        bodies: Packed<'a> = Packed::polys(params.lwe_ring(), self.bodies().iter()),
    }
    fn write(&self, params: &Params) {
        self.check(params)?;
        let gadget = params.key_switch_gadget();
    }
    fn read(params, form) {
        // Step 1: dimension, modulus and digits are those of the parameters.
        let gadget = params.key_switch_gadget();
        let (found, needed) = (form.dimension as usize, params.spec().dimension);
        if found != needed {
            let remedy = "use the key of these parameters";
            return Err(error::dimension(found, needed, remedy));
        }
        let (found, needed) = (form.modulus, params.modulus().value());
        if found != needed {
            return Err(error::modulus(found, needed));
        }
        let own = (gadget.base_log(), gadget.digits() as u32);
        if (form.base_log, form.digits) != own {
            let print = |(bits, count)| format!("{count} digits of {bits} bits");
            let found = format!("{} in the key", print((form.base_log, form.digits)));
            let needed = format!("the key of these parameters, {}", print(own));
            return Err(error::parameter("key_switch_digits", found, needed));
        }
        // Step 2: the bodies, whose number follows from the source dimension.
        let source = form.source as usize;
        let bodies = form.bodies.unpack_polys(params.lwe_ring(), Self::rows(params, source))?;
        Self::from_parts(params, source, form.seed, bodies)
    }
}

wire_form! {
    /// The serialized form of [`SeededLookupKeys`].
    pub struct LookupKeysForm<'a> for SeededLookupKeys: kind::LOOKUP_KEYS, "look-up keys" {
        key: KeyId = self.key,
        switch: KeySwitchForm<'a> = self.switch.to_form(params)?,
        rotation: RotationForm<'a> = self.rotation.to_form(params)?,
    }
    fn write(&self, params: &Params) {}
    fn read(params, form) {
        let (found, needed) = (form.switch.source as usize, params.spec().ring_degree);
        if found != needed {
            let remedy = "use a key switch from the coefficients of the ring secret";
            return Err(
                error::dimension(found, needed, remedy)
            );
        }
        // The small key first, so that an invalid one fails before the large one is read.
        let switch = SeededKeySwitchKey::from_form(params, form.switch)?;
        let rotation = SeededBlindRotationKey::from_form(params, form.rotation)?;
        Ok(Self { rotation, switch, key: form.key })
    }
}
