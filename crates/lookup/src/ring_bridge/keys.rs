//! The keys of the ring bridge, apart from the evaluation keys of the slots.

use bellerophon_lwe as lwe;
use bellerophon_mlwe::{
    self as mlwe, GaloisKeys, KeyId, KeyIdent, KeySwitchKey, ModRaiseKey, SecretKey,
};
use bellerophon_repack::{row_packing_exponents, row_packing_keys};
use bellerophon_ring::{Modulus, Result};
use rand::CryptoRng;

use super::bridge::RingBridge;

/// Bytes of the seed of the masks of a key.
const SEED: usize = 32;

/// Coefficients per input of the packing. The upper half of the coefficients in `Y` carries no
/// message: it becomes imaginary parts of slots, which are dropped.
pub(super) const PACKING_N: usize = 2;

/// The keys from the secret of the slots to `z`, of the packing under `z`, from `z` to `z'`, and
/// from `z'` to the secret of the slots.
#[derive(Debug)]
pub struct RingBridgeKeys {
    pub(crate) down: KeySwitchKey,
    pub(crate) packing: GaloisKeys,
    pub(crate) to_sparse: KeySwitchKey,
    pub(crate) raise: ModRaiseKey,
    /// The public identity of the client: that of the secret of the slots, which `z` shares.
    pub(super) id: KeyId,
    byte_len: usize,
}

impl RingBridgeKeys {
    /// Generates the keys between the secret of the slots and `z`, given by its coefficients. `z'`
    /// is drawn here and dropped.
    pub fn generate<R: CryptoRng + ?Sized>(
        bridge: &RingBridge,
        slots: &SecretKey,
        ring: &lwe::SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        // Step 1: the secrets in every ring in which they occur.
        let id = slots.id();
        let dense = SecretKey::restore(&bridge.dense, ring.coefficients(), id)?;
        let sparse = SecretKey::generate(&bridge.sparse, rng)?;
        let module = bridge.module.extract_secret(slots)?;
        let low = bridge.lifted(&sparse)?;
        // Step 2: the keys, from the slots to the small ring and back.
        let down = KeySwitchKey::between(&module, &dense, 1, rng)?;
        let packing = row_packing_keys(&dense, PACKING_N, 1, rng)?;
        let to_sparse = KeySwitchKey::between(&dense, &sparse, 1, rng)?;
        let raise = ModRaiseKey::generate(&low, slots, bridge.params.limbs(), rng)?;
        Self::from_parts(bridge, id, down, packing, to_sparse, raise)
    }

    /// Assembles keys that were generated or stored separately.
    pub(crate) fn from_parts(
        bridge: &RingBridge,
        id: KeyId,
        down: KeySwitchKey,
        packing: GaloisKeys,
        to_sparse: KeySwitchKey,
        raise: ModRaiseKey,
    ) -> Result<Self> {
        let byte_len = down.seeded_byte_len(&bridge.dense)
            + packing.byte_len(&bridge.dense)
            + to_sparse.seeded_byte_len(&bridge.sparse)
            + raise.seeded_byte_len(bridge.params.lattice());
        let keys = Self { down, packing, to_sparse, raise, id, byte_len };
        keys.check(bridge)?;
        Ok(keys)
    }

    /// Checks that every key switches between the secrets and rings for which the bridge needs it.
    pub(crate) fn check(&self, bridge: &RingBridge) -> Result<()> {
        let end = |params: &mlwe::Params, key| KeyIdent { fingerprint: params.fingerprint(), key };
        let (slots, module) = (bridge.params.lattice(), bridge.module.small());
        // The identity of z' is random, but the same in both keys that contain it.
        let sparse = self.to_sparse.shape().to.key;
        // Step 1: the ends of every key switch.
        let own = end(&bridge.dense, self.id);
        let (down, to_sparse) = (self.down.shape(), self.to_sparse.shape());
        for (found, needed) in [
            (down.from, end(module, self.id)),
            (down.to, own),
            (to_sparse.from, own),
            (to_sparse.to, end(&bridge.sparse, sparse)),
            (self.raise.shape().from, end(&bridge.low, sparse)),
            (self.raise.shape().to, end(slots, self.id)),
        ] {
            check_end(found, needed)?;
        }
        // Step 2: ranks and limbs.
        for (found, needed) in [
            (down.from_rank, module.spec().rank),
            (to_sparse.from_rank, 1),
            (self.raise.shape().from_rank, 1),
        ] {
            if found != needed {
                return Err(mlwe::error::rank(found, needed));
            }
        }
        let (found, needed) = (self.raise.shape().limbs, bridge.params.limbs());
        if found != needed {
            return Err(mlwe::error::limbs(found, needed.to_string()));
        }
        // Step 3: a key for every stage of the packing.
        for exponent in bridge.packing_exponents()? {
            check_end(self.packing.get(exponent)?.key().shape().from, own)?;
        }
        Ok(())
    }

    /// Bytes of the form to send: masks as seeds, residues packed to the bits of their primes.
    pub fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// The public identity of the client.
    pub(crate) fn id(&self) -> KeyId {
        self.id
    }
}

fn check_end(found: KeyIdent, needed: KeyIdent) -> Result<()> {
    let (found_key, needed_key) = (found.key, needed.key);
    let (found, needed) = (found.fingerprint, needed.fingerprint);
    if found != needed {
        return Err(mlwe::error::params_mismatch(found, needed));
    }
    if found_key != needed_key {
        return Err(mlwe::error::key_mismatch(found_key, needed_key));
    }
    Ok(())
}

impl RingBridge {
    /// The automorphisms of the packing, stage by stage.
    pub(crate) fn packing_exponents(&self) -> Result<Vec<usize>> {
        row_packing_exponents(self.spec.degree, PACKING_N)
    }

    /// The [`RingBridgeKeys::byte_len`] of the keys of this bridge, without the keys.
    pub(crate) fn key_bytes(&self) -> usize {
        fn row<'a>(degree: usize, primes: impl Iterator<Item = &'a Modulus>) -> usize {
            primes.map(|q| (degree * q.bits() as usize).div_ceil(8)).sum()
        }
        let (degree, lattice) = (self.spec.degree, self.params.lattice());
        let dense = row(degree, self.dense.gadget().ring(1).moduli());
        let sparse = row(degree, self.sparse.gadget().ring(1).moduli());
        let top = row(
            self.params.lattice().spec().degree,
            lattice.gadget().ring(self.params.limbs()).moduli(),
        );
        let packing = (degree / PACKING_N).trailing_zeros() as usize;
        (SEED + self.module.factor() * dense)
            + packing * (SEED + dense)
            + (SEED + sparse)
            + (SEED + top)
    }
}
