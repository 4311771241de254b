//! The keys of look-ups: those of the tables and of the linear bridge. The ring bridge has its own
//! ([`RingBridgeKeys`](crate::RingBridgeKeys)).

use bellerophon_ckks::KeyLevels;
use bellerophon_lwe::{
    self as lwe, KeySwitchKey, LookupKeys, SeededBlindRotationKey, SeededKeySwitchKey,
    SeededLookupKeys,
};
use bellerophon_mlwe::{KeyId, SecretKey};
use rand::CryptoRng;

use super::{bridge_choice::BridgePath, params::LutParams, table_packing::Blocks};
use crate::{RepackKey, Result, SeededRepackKey, rotation_steps};

/// Rotations of the LWE secret in the repacking key (baby steps): about the square root of its
/// dimension.
const BABY_STEPS: usize = 32;

/// Bytes of the seed from which the masks of a key are expanded.
const SEED: usize = 32;

/// The secrets that only look-ups use.
pub struct LookupSecrets {
    /// The secret of LWE ciphertexts.
    pub lwe: lwe::SecretKey,
    /// The secret of the ring of the tables.
    pub ring: lwe::SecretKey,
}

/// The keys of the tables (PEGASUS Fig. 6, steps 5 and 6): blind rotation, and the key switch from
/// the ring of the tables to the LWE secret.
pub struct TableKeys {
    /// Their parameters.
    pub lattice: lwe::Params,
    /// The keys.
    pub lookup: LookupKeys,
}

/// The keys of the linear bridge.
pub struct LinearKeys {
    /// The key switch from the secret of the slots to the LWE secret (PEGASUS Fig. 6, step 4).
    pub down: KeySwitchKey,
    /// The LWE secret, encrypted under the secret of the slots (step 9).
    pub repack: RepackKey,
    byte_len: usize,
}

impl LookupSecrets {
    /// Generates secrets, independent of that of the slots.
    ///
    /// # Errors
    /// None for checked parameters.
    pub fn generate<R: CryptoRng + ?Sized>(lookups: &LutParams, rng: &mut R) -> Result<Self> {
        Ok(Self {
            lwe: lwe::SecretKey::generate_lwe(lookups.lattice(), rng)?,
            ring: lwe::SecretKey::generate_ring(lookups.lattice(), rng)?,
        })
    }
}

impl TableKeys {
    /// Generates the keys of tables with the parameters `lattice`. They carry the identity `key` of
    /// the client.
    ///
    /// # Errors
    /// For secrets of other parameters.
    pub fn generate<R: CryptoRng + ?Sized>(
        lattice: &lwe::Params,
        secrets: &LookupSecrets,
        key: KeyId,
        rng: &mut R,
    ) -> Result<Self> {
        let tables = SeededLookupKeys::generate(lattice, &secrets.lwe, &secrets.ring, key, rng)?;
        Ok(Self::new(lattice, tables.expand(lattice)?))
    }

    /// Wraps keys that were made for these parameters.
    pub fn new(lattice: &lwe::Params, lookup: LookupKeys) -> Self {
        Self { lattice: lattice.clone(), lookup }
    }

    /// Bytes of the keys in their wire form.
    pub fn byte_len(&self) -> usize {
        let switch = self.lookup.switch.seeded_byte_len(&self.lattice);
        SeededBlindRotationKey::byte_len(&self.lattice) + switch
    }
}

impl LinearKeys {
    /// Generates the keys from the secret of the slots and the LWE secret.
    ///
    /// # Errors
    /// For secrets of other parameters.
    pub fn generate<R: CryptoRng + ?Sized>(
        lookups: &LutParams,
        slots: &SecretKey,
        secrets: &LookupSecrets,
        rng: &mut R,
    ) -> Result<Self> {
        let (params, lookup) = (lookups.slots(), lookups.lattice());
        // The key switch to the LWE secret, and the LWE secret under the key of the slots at the
        // highest level.
        let source = lwe::SecretKey::from_coefficients(slots.all_coefficients().to_vec().into())?;
        let down = SeededKeySwitchKey::generate(lookup, &source, &secrets.lwe, rng)?;
        let up = SeededRepackKey::generate(
            params,
            secrets.lwe.coefficients(),
            slots,
            baby_steps(lookups),
            params.limbs(),
            rng,
        )?;
        Self::new(lookups, &down, &up)
    }

    /// Expands the seeded keys.
    ///
    /// # Errors
    /// For keys of other parameters.
    pub fn new(
        lookups: &LutParams,
        down: &SeededKeySwitchKey,
        up: &SeededRepackKey,
    ) -> Result<Self> {
        let (params, lookup) = (lookups.slots(), lookups.lattice());
        Ok(Self {
            byte_len: down.byte_len(lookup) + up.byte_len(params),
            down: down.expand(lookup)?,
            repack: up.expand(params)?,
        })
    }

    /// Bytes of the keys in their wire form.
    pub fn byte_len(&self) -> usize {
        self.byte_len
    }
}

impl LutParams {
    /// The relinearization and Galois keys of look-ups with a bridge, each at the level at which it
    /// is used: SlotsToCoeffs, and the return to the slots. `corrected` adds those of
    /// corrected look-ups.
    ///
    /// # Errors
    /// None for checked parameters.
    pub fn key_levels(&self, path: BridgePath, corrected: bool) -> Result<KeyLevels> {
        let (slots, top) = (self.slots(), self.slots().max_level());
        let keys = self.to_coefficients().keys();
        Ok(match (path, self.ring()) {
            (BridgePath::Ring, Some(ring)) if corrected => {
                let blocks = Blocks::keys(ring, slots, self.level_after());
                keys.and(&ring.keys()).and(&blocks)
            }
            (BridgePath::Ring, Some(ring)) => keys.and(&ring.keys()),
            _ => {
                // The linear transform starts at the top of the chain and takes a level; the
                // reduction multiplies below.
                let giants = rotation_steps(self.lattice().spec().dimension, baby_steps(self))?;
                keys.multiply(top - 1).rotate(giants, top)
            }
        })
    }

    /// Predicts the bytes of the keys of tables with the parameters `lattice` and of their bridges,
    /// in wire form, without the keys of [`key_levels`](Self::key_levels).
    pub fn key_bytes(
        &self,
        lattice: &lwe::Params,
        paths: impl IntoIterator<Item = BridgePath>,
    ) -> usize {
        // Step 1: the blind-rotation key and the key switch back to the LWE secret.
        let slots = self.slots().lattice();
        let (n, digits) = (lattice.spec().dimension, lattice.key_switch_gadget().digits());
        let switch = |source: usize| {
            let words = source.div_ceil(n) * n * digits;
            SEED + (words * lattice.modulus().bits() as usize).div_ceil(8)
        };
        let tables = switch(lattice.spec().ring_degree) + SeededBlindRotationKey::byte_len(lattice);
        // Step 2: the bridges.
        let bridges = paths.into_iter().map(|path| match (path, self.ring()) {
            (BridgePath::Ring, Some(ring)) => ring.key_bytes(),
            _ => {
                let bits: u32 = slots.q().moduli().map(|q| q.bits()).sum();
                let rotation = SEED + slots.degree() * bits as usize / 8;
                switch(slots.dimension()) + baby_steps(self) * rotation
            }
        });
        tables + bridges.sum::<usize>()
    }
}

fn baby_steps(lookups: &LutParams) -> usize {
    BABY_STEPS.min(lookups.lattice().spec().dimension)
}
