//! The keys of the ring bridge that are no keys of arithmetic on slots.

use bellerophon_lwe as lwe;
use bellerophon_mlwe::{
    self as mlwe, GaloisKeys, KeyEnd, KeyId, KeySwitchKey, RaiseKey, SecretKey,
};
use bellerophon_ring::Modulus;
use rand::CryptoRng;

use super::RingBridge;
use crate::{Result, row_packing_exponents, row_packing_keys};

/// Bytes of the seed that stands for the masks of a key.
const SEED: usize = 32;

/// `Y^(n'/2)` and its odd multiples are left without meaning by the packing: they become imaginary
/// parts of slots.
pub(super) const PACKING_N: usize = 2;

/// Down to `z`, packing under `z`, `z` to `z'`, and `z'` to the secret of the slots.
#[derive(Debug)]
pub struct RingBridgeKeys {
    pub(crate) down: KeySwitchKey,
    pub(crate) packing: GaloisKeys,
    pub(crate) to_sparse: KeySwitchKey,
    pub(crate) raise: RaiseKey,
    /// The public identity of the client: `z` goes by that of the slots' secret.
    pub(super) id: KeyId,
    byte_len: usize,
}

impl RingBridgeKeys {
    /// Keys between the secret of the slots and `z`, given by its coefficients; draws `z'`, which is
    /// forgotten at once.
    ///
    /// # Errors
    /// Those of the lattice layer, for secrets of other parameters.
    pub fn generate<R: CryptoRng + ?Sized>(
        bridge: &RingBridge,
        slots: &SecretKey,
        ring: &lwe::SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let id = slots.id();
        let dense = SecretKey::restore(&bridge.dense, ring.coefficients(), id)?;
        let sparse = SecretKey::generate(&bridge.sparse, rng)?;
        let module = bridge.module.extract_secret(slots)?;
        let low = bridge.lifted(&sparse)?;
        let down = KeySwitchKey::between(&module, &dense, 1, rng)?;
        let packing = row_packing_keys(&dense, PACKING_N, 1, rng)?;
        let to_sparse = KeySwitchKey::between(&dense, &sparse, 1, rng)?;
        let raise = RaiseKey::generate(&low, slots, bridge.params.limbs(), rng)?;
        Self::from_parts(bridge, id, down, packing, to_sparse, raise)
    }

    /// Puts keys together that were made or stored apart.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn from_parts(
        bridge: &RingBridge,
        id: KeyId,
        down: KeySwitchKey,
        packing: GaloisKeys,
        to_sparse: KeySwitchKey,
        raise: RaiseKey,
    ) -> Result<Self> {
        let byte_len = down.seeded_byte_len(&bridge.dense)
            + packing.byte_len(&bridge.dense)
            + to_sparse.seeded_byte_len(&bridge.sparse)
            + raise.seeded_byte_len(bridge.params.lattice());
        let keys = Self { down, packing, to_sparse, raise, id, byte_len };
        keys.check(bridge)?;
        Ok(keys)
    }

    /// Fails unless every key leads from the secret and the ring to those of the bridge that it is for.
    ///
    /// # Errors
    /// [`mlwe::Error::ParamsMismatch`] and [`mlwe::Error::KeyMismatch`] for other ends,
    /// [`mlwe::Error::Rank`] and [`mlwe::Error::Limbs`] for another number of components or too short
    /// a chain, [`mlwe::Error::MissingGaloisKey`] for a stage without key.
    pub(crate) fn check(&self, bridge: &RingBridge) -> Result<()> {
        let op = "assemble the keys of a ring bridge";
        let end = |params: &mlwe::Params, key| KeyEnd { fingerprint: params.fingerprint(), key };
        let (slots, module) = (bridge.params.lattice(), bridge.module.small());
        // Drawn with the keys: whatever it is, it is the same on both sides.
        let sparse = self.to_sparse.shape().to.key;
        let own = end(&bridge.dense, self.id);
        let (down, to_sparse) = (self.down.shape(), self.to_sparse.shape());
        for (found, needed) in [
            (down.from, end(module, self.id)),
            (down.to, own),
            (to_sparse.from, own),
            (to_sparse.to, end(&bridge.sparse, sparse)),
            (self.raise.from(), end(&bridge.low, sparse)),
            (self.raise.to(), end(slots, self.id)),
        ] {
            check_end(op, found, needed)?;
        }
        for (found, needed) in
            [(down.from_rank, module.rank()), (to_sparse.from_rank, 1), (self.raise.rows(), 1)]
        {
            if found != needed {
                return Err(mlwe::Error::Rank { op, found, needed }.into());
            }
        }
        let (found, needed) = (self.raise.limbs(), bridge.params.limbs());
        if found != needed {
            return Err(mlwe::Error::Limbs { op, found, needed: needed.to_string() }.into());
        }
        for exponent in bridge.packing_exponents()? {
            check_end(op, self.packing.get(op, exponent)?.key().shape().from, own)?;
        }
        Ok(())
    }

    /// Bytes in the form in which they travel: masks as seeds, residues packed to the bits of their
    /// primes.
    pub fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// The public identity of the client.
    pub fn id(&self) -> KeyId {
        self.id
    }
}

fn check_end(op: &'static str, found: KeyEnd, needed: KeyEnd) -> Result<()> {
    let (found_key, needed_key) = (found.key, needed.key);
    let (found, needed) = (found.fingerprint, needed.fingerprint);
    if found != needed {
        return Err(mlwe::Error::ParamsMismatch { op, found, needed }.into());
    }
    if found_key != needed_key {
        return Err(mlwe::Error::KeyMismatch { op, found: found_key, needed: needed_key }.into());
    }
    Ok(())
}

impl RingBridge {
    /// The automorphisms of the packing, stage by stage.
    pub(crate) fn packing_exponents(&self) -> Result<Vec<usize>> {
        row_packing_exponents(self.spec.degree, PACKING_N)
    }

    /// What [`RingBridgeKeys::byte_len`] will be.
    pub fn key_bytes(&self) -> usize {
        fn row<'a>(degree: usize, primes: impl Iterator<Item = &'a Modulus>) -> usize {
            primes.map(|q| (degree * q.bits() as usize).div_ceil(8)).sum()
        }
        let (degree, lattice) = (self.spec.degree, self.params.lattice());
        let dense = row(degree, self.dense.gadget().ring(1).moduli());
        let sparse = row(degree, self.sparse.gadget().ring(1).moduli());
        let top = row(self.params.degree(), lattice.gadget().ring(self.params.limbs()).moduli());
        let packing = (degree / PACKING_N).trailing_zeros() as usize;
        (SEED + self.module.factor() * dense)
            + packing * (SEED + dense)
            + (SEED + sparse)
            + (SEED + top)
    }
}
