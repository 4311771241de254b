//! The keys of the ring bridge.

use bellerophon_mlwe::{
    GaloisKey, GaloisKeys, KeyId, KeyIdent, KeySwitchKey, ModRaiseKey, SeededKeySwitchKey,
    SwitchKeyInfo, wire::KeySwitchKeyForm,
};
use bellerophon_repack::Seeds;
use bellerophon_ring::{
    Ntt, Poly, Result,
    wire::{Fingerprint, Fingerprinted, Packed},
    wire_form,
};

use super::kind;
use crate::ring_bridge::{bridge::RingBridge, keys::RingBridgeKeys};

wire_form! {
    /// The plain form of [`RingBridgeKeys`].
    pub struct RingBridgeKeysForm<'a> for RingBridgeKeys:
        kind::RING_BRIDGE_KEYS, "keys of the ring bridge"
    {
        /// The client.
        key: u128 = self.id().0,
        /// From the secret of the slots, as a module over the small ring, to that of the tables.
        down: KeySwitchKeyForm<'a> = self.down.to_form(bridge.ring())?,
        /// From the secret of the tables to the sparse one.
        to_sparse: KeySwitchKeyForm<'a> = self.to_sparse.to_form(bridge.sparse_ring())?,
        /// From the sparse secret to that of the slots.
        raise: KeySwitchKeyForm<'a> = self.raise.to_form(bridge.slots().lattice())?,
        /// One for each stage of the packing, in order.
        packing_seeds: Seeds<'a> = Seeds::of(keys.iter().map(SeededKeySwitchKey::seed)),
        /// The bodies of the packing, stage by stage.
        packing: Packed<'a> = Packed::polys(bridge.ring().gadget().ring(1), bodies.into_iter()),
    }
    fn write(&self, bridge: &RingBridge) {
        // The packing keys share one run of residues, in the order of the stages.
        self.check(bridge)?;
        let keys: Vec<SeededKeySwitchKey> = bridge
            .packing_exponents()?
            .into_iter()
            .map(|exponent| Ok(self.packing.get(exponent)?.key().compress()))
            .collect::<Result<_>>()?;
        let bodies: Vec<&Poly<Ntt>> = keys.iter().flat_map(SeededKeySwitchKey::bodies).collect();
    }
    fn read(bridge, form) {
        // Step 1: the packing keys, one automorphism for each stage.
        let (ring, exponents) = (bridge.ring(), bridge.packing_exponents()?);
        let rows = ring.gadget().digits(1);
        let seeds = form.packing_seeds.unpack(exponents.len())?;
        let bodies = form.packing.unpack_polys(ring.gadget().ring(1), exponents.len() * rows)?;
        let end = KeyIdent { fingerprint: ring.fingerprint(), key: KeyId(form.key) };
        let shape = SwitchKeyInfo { from: end, to: end, limbs: 1, from_rank: 1, to_rank: 1 };
        let (mut packing, mut bodies) = (GaloisKeys::default(), bodies.into_iter());
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

impl Fingerprinted for RingBridge {
    fn fingerprint(&self) -> Fingerprint {
        let rings = [self.ring(), self.sparse_ring()].map(|ring| ring.fingerprint());
        let prints = [self.slots().fingerprint(), rings[0], rings[1]];
        let bytes = prints.map(|print| *print.as_bytes()).concat();
        Fingerprint::of_bytes("bellerophon 2026-11-24 parameters of a ring bridge", &bytes)
    }
}
