//! The keys of the ring bridge.

use bellerophon_mlwe::{
    GaloisKey, GaloisKeys, KeyId, KeyIdent, KeySwitchKey, ModRaiseKey, SeededKeySwitchKey,
    SwitchKeyInfo, wire::KeySwitchKeyForm,
};
use bellerophon_ring::{
    Ntt, Poly,
    wire::{Packed, Wire},
};
use serde::{Deserialize, Serialize};

use super::{Seeds, kind};
use crate::{During, Error, Result, RingBridge, RingBridgeKeys};

/// The plain form of [`RingBridgeKeys`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RingBridgeKeysForm<'a> {
    /// The client.
    key: u128,
    /// From the secret of the slots, as a module over the small ring, to that of the tables.
    #[serde(borrow)]
    down: KeySwitchKeyForm<'a>,
    /// From the secret of the tables to the sparse one.
    #[serde(borrow)]
    to_sparse: KeySwitchKeyForm<'a>,
    /// From the sparse secret to that of the slots.
    #[serde(borrow)]
    raise: KeySwitchKeyForm<'a>,
    /// One for each stage of the packing, in order.
    #[serde(borrow)]
    packing_seeds: Seeds<'a>,
    /// The bodies of the packing, stage by stage.
    #[serde(borrow)]
    packing: Packed<'a>,
}

impl Wire for RingBridgeKeys {
    const KIND: u16 = kind::RING_BRIDGE_KEYS;
    const NAME: &'static str = "keys of the ring bridge";
    type Params = RingBridge;
    type Form<'a> = RingBridgeKeysForm<'a>;
    type Error = Error;

    fn to_form(&self, bridge: &RingBridge) -> Result<RingBridgeKeysForm<'_>> {
        // The packing keys share one run of residues, in the order of the stages.
        self.check(bridge)?;
        let keys: Vec<SeededKeySwitchKey> = bridge
            .packing_exponents()?
            .into_iter()
            .map(|exponent| {
                Ok(self.packing.get(exponent).during("write packing keys")?.key().compress())
            })
            .collect::<Result<_>>()?;
        let bodies: Vec<&Poly<Ntt>> = keys.iter().flat_map(SeededKeySwitchKey::bodies).collect();
        Ok(RingBridgeKeysForm {
            key: self.id().0,
            down: self.down.to_form(bridge.ring())?,
            to_sparse: self.to_sparse.to_form(bridge.sparse_ring())?,
            raise: self.raise.to_form(bridge.slots().lattice())?,
            packing_seeds: Seeds::of(keys.iter().map(SeededKeySwitchKey::seed)),
            packing: Packed::polys(bridge.ring().gadget().ring(1), bodies.into_iter()),
        })
    }

    fn from_form(bridge: &RingBridge, form: RingBridgeKeysForm) -> Result<Self> {
        // Step 1: the packing keys, one automorphism for each stage.
        let (ring, exponents) = (bridge.ring(), bridge.packing_exponents()?);
        let rows = ring.gadget().digits(1);
        let seeds = form.packing_seeds.unpack(exponents.len())?;
        let bodies = form.packing.unpack_polys(ring.gadget().ring(1), exponents.len() * rows)?;
        let end = KeyIdent { fingerprint: ring.fingerprint(), key: KeyId(form.key) };
        let shape = SwitchKeyInfo { from: end, to: end, limbs: 1, from_rank: 1, to_rank: 1 };
        let (mut packing, mut bodies) = (GaloisKeys::new(), bodies.into_iter());
        for (exponent, seed) in exponents.into_iter().zip(seeds) {
            let bodies = bodies.by_ref().take(rows).collect();
            let key = SeededKeySwitchKey::from_parts(ring, shape, seed, bodies)?;
            packing.insert(GaloisKey::from_parts(ring, exponent, key)?);
        }
        // Step 2: the other keys, and a check that all belong together.
        let down = KeySwitchKey::from_form(ring, form.down)?;
        let to_sparse = KeySwitchKey::from_form(bridge.sparse_ring(), form.to_sparse)?;
        let raise = ModRaiseKey::from_form(bridge.slots().lattice(), form.raise)?;
        Self::from_parts(bridge, KeyId(form.key), down, packing, to_sparse, raise)
    }
}
