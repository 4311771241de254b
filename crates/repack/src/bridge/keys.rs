//! The keys of the ring bridge that are no keys of arithmetic on slots.

use bellerophon_lwe as lwe;
use bellerophon_mlwe::{GaloisKeys, KeyId, KeySwitchKey, RaiseKey, SecretKey};
use bellerophon_ring::Modulus;
use rand::CryptoRng;

use super::RingBridge;
use crate::{Result, row_packing_keys};

/// Bytes of the seed that stands for the masks of a key.
const SEED: usize = 32;

/// `Y^(n'/2)` and its odd multiples are left without meaning by the packing: they become imaginary
/// parts of slots.
pub(super) const PACKING_N: usize = 2;

/// Down to `z`, packing under `z`, `z` to `z'`, and `z'` to the secret of the slots.
#[derive(Debug)]
pub struct RingBridgeKeys {
    pub(super) down: KeySwitchKey,
    pub(super) packing: GaloisKeys,
    pub(super) to_sparse: KeySwitchKey,
    pub(super) raise: RaiseKey,
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
        let (id, lattice) = (slots.id(), bridge.params.lattice());
        let dense = SecretKey::restore(&bridge.dense, ring.coefficients(), id)?;
        let sparse = SecretKey::generate(&bridge.sparse, rng)?;
        let module = bridge.module.extract_secret(slots)?;
        let low = bridge.subring.subring_secret(&sparse)?;
        let down = KeySwitchKey::between(&module, &dense, 1, rng)?;
        let packing = row_packing_keys(&dense, PACKING_N, 1, rng)?;
        let to_sparse = KeySwitchKey::between(&dense, &sparse, 1, rng)?;
        let raise = RaiseKey::generate(&low, slots, bridge.params.limbs(), rng)?;
        let byte_len = down.seeded_byte_len(&bridge.dense)
            + packing.byte_len(&bridge.dense)
            + to_sparse.seeded_byte_len(&bridge.sparse)
            + raise.seeded_byte_len(lattice);
        Ok(Self { down, packing, to_sparse, raise, id, byte_len })
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

impl RingBridge {
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
