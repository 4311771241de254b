//! The keys of look-ups: those of the tables, of the linear bridge, and of the ring bridge
//! ([`RingBridgeKeys`]).

use std::sync::Arc;

use bellerophon_ckks::KeyLevels;
use bellerophon_lwe::{
    self as lwe, KeySwitchKey, LookupKeys, SeededBlindRotationKey, SeededKeySwitchKey,
    SeededLookupKeys,
};
use bellerophon_mlwe::{KeyId, SecretKey};
use bellerophon_ring::{Result, wire::SecretWords};
use rand::CryptoRng;

use crate::{
    bridge_choice::Bridge,
    error,
    linear_bridge::repack_key::{RepackKey, SeededRepackKey, rotation_steps},
    params::LutParams,
    progress::KeyProgress,
    ring_bridge::keys::RingBridgeKeys,
    table_packing::Blocks,
};

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
    pub lwe_params: lwe::Params,
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

/// The keys of look-ups of one client. A set has the keys of one bridge or of both, or none of
/// these keys. Cheap to clone: the keys are shared.
#[derive(Clone, Default)]
pub struct LutKeys {
    /// The keys of the tables.
    pub tables: Option<Arc<TableKeys>>,
    /// The keys of the ring bridge.
    pub ring: Option<Arc<RingBridgeKeys>>,
    /// The keys of the linear bridge.
    pub linear: Option<Arc<LinearKeys>>,
}

impl LutKeys {
    /// Generates the keys of tables with the parameters `lwe_params` and those of the bridges in
    /// `bridges`. `progress` counts the tables as one key, and each bridge as one.
    pub fn generate<R: CryptoRng + ?Sized>(
        lookups: &LutParams,
        lwe_params: &lwe::Params,
        bridges: &[Bridge],
        slots: &SecretKey,
        secrets: &LookupSecrets,
        progress: &mut KeyProgress<'_>,
        rng: &mut R,
    ) -> Result<Self> {
        let tables = TableKeys::generate(lwe_params, secrets, slots.id(), rng)?;
        let mut keys = Self { tables: Some(tables.into()), ..Self::default() };
        progress.advance()?;
        if bridges.contains(&Bridge::Linear) {
            keys.linear = Some(LinearKeys::generate(lookups, slots, secrets, rng)?.into());
            progress.advance()?;
        }
        if let Some(bridge) = lookups.ring().filter(|_| bridges.contains(&Bridge::Ring)) {
            let ring = RingBridgeKeys::generate(bridge, slots, &secrets.ring, rng)?;
            keys.ring = Some(ring.into());
            progress.advance()?;
        }
        Ok(keys)
    }

    /// The identity of the client, once for each key that carries it.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        let tables = self.tables.iter().map(|keys| keys.lookup.key);
        let ring = self.ring.iter().map(|keys| keys.id());
        let linear = self.linear.iter().map(|keys| keys.repack.secret_id());
        tables.chain(ring).chain(linear)
    }

    /// Bytes of the keys in their wire form.
    pub fn byte_len(&self) -> usize {
        let tables = self.tables.as_ref().map_or(0, |keys| keys.byte_len());
        let ring = self.ring.as_ref().map_or(0, |keys| keys.byte_len());
        let linear = self.linear.as_ref().map_or(0, |keys| keys.byte_len());
        tables + ring + linear
    }
}

impl LookupSecrets {
    /// Generates secrets, independent of that of the slots.
    pub fn generate<R: CryptoRng + ?Sized>(lookups: &LutParams, rng: &mut R) -> Result<Self> {
        Ok(Self {
            lwe: lwe::SecretKey::generate_lwe(lookups.lwe_params(), rng)?,
            ring: lwe::SecretKey::generate_ring(lookups.lwe_params(), rng)?,
        })
    }

    /// The coefficients of both secrets, for storage.
    pub fn to_words(&self) -> Result<[SecretWords; 2]> {
        let [lwe, ring] = [&self.lwe, &self.ring]
            .map(|secret| SecretWords::of_coefficients(secret.coefficients()));
        Ok([lwe?, ring?])
    }

    /// Restores stored secrets.
    pub fn from_words(lookups: &LutParams, [lwe, ring]: [SecretWords; 2]) -> Result<Self> {
        let lwe_params = lookups.lwe_params();
        let lwe = lwe.coefficients(lwe_params.spec().dimension)?;
        let ring = ring.coefficients(lwe_params.spec().ring_degree)?;
        Ok(Self {
            lwe: lwe::SecretKey::restore_lwe(lwe_params, lwe)?,
            ring: lwe::SecretKey::restore_ring(lwe_params, ring)?,
        })
    }
}

impl TableKeys {
    /// Generates the keys of tables with the parameters `lwe_params`. They carry the identity `key`
    /// of the client.
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        lwe_params: &lwe::Params,
        secrets: &LookupSecrets,
        key: KeyId,
        rng: &mut R,
    ) -> Result<Self> {
        let tables = SeededLookupKeys::generate(lwe_params, &secrets.lwe, &secrets.ring, key, rng)?;
        let lookup = tables.expand(lwe_params)?;
        Ok(Self { lwe_params: lwe_params.clone(), lookup })
    }

    /// Bytes of the keys in their wire form.
    pub(crate) fn byte_len(&self) -> usize {
        let switch = self.lookup.switch.seeded_byte_len(&self.lwe_params);
        SeededBlindRotationKey::byte_len(&self.lwe_params) + switch
    }
}

impl LinearKeys {
    /// Generates the keys from the secret of the slots and the LWE secret.
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        lookups: &LutParams,
        slots: &SecretKey,
        secrets: &LookupSecrets,
        rng: &mut R,
    ) -> Result<Self> {
        let (params, lookup) = (lookups.slots(), lookups.lwe_params());
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
    pub fn new(
        lookups: &LutParams,
        down: &SeededKeySwitchKey,
        up: &SeededRepackKey,
    ) -> Result<Self> {
        let (params, lookup) = (lookups.slots(), lookups.lwe_params());
        let switched = ("dimension of the switched secret", down.source_dimension());
        let packed = ("dimension of the packed secret", up.dimension());
        let needed = [params.lattice().dimension(), lookup.spec().dimension];
        for ((what, found), needed) in [switched, packed].into_iter().zip(needed) {
            if found != needed {
                return Err(error::shape(what, found, needed.to_string()));
            }
        }
        Ok(Self {
            byte_len: down.byte_len(lookup) + up.byte_len(params),
            down: down.expand(lookup)?,
            repack: up.expand(params)?,
        })
    }

    /// Bytes of the keys in their wire form.
    pub(crate) fn byte_len(&self) -> usize {
        self.byte_len
    }
}

impl LutParams {
    /// The relinearization and Galois keys of look-ups with a bridge, each at the level at which it
    /// is used: SlotsToCoeffs, and the return to the slots. `corrected` adds those of
    /// corrected look-ups.
    pub fn key_levels(&self, bridge: Bridge, corrected: bool) -> Result<KeyLevels> {
        let (slots, top) = (self.slots(), self.slots().max_level());
        let keys = self.to_coefficients().keys();
        Ok(match (bridge, self.ring()) {
            (Bridge::Ring, Some(ring)) if corrected => {
                let blocks = Blocks::keys(ring, slots, self.level_after());
                keys.and(&ring.keys()).and(&blocks)
            }
            (Bridge::Ring, Some(ring)) => keys.and(&ring.keys()),
            _ => {
                // The linear transform starts at the top of the chain and takes a level; the
                // reduction multiplies below.
                let giants = rotation_steps(self.lwe_params().spec().dimension, baby_steps(self))?;
                keys.multiply(top - 1).rotate(giants, top)
            }
        })
    }

    /// Predicts the bytes of the keys of tables with the parameters `lwe_params` and of their
    /// bridges, in wire form, without the keys of [`key_levels`](Self::key_levels).
    pub fn key_bytes(
        &self,
        lwe_params: &lwe::Params,
        bridges: impl IntoIterator<Item = Bridge>,
    ) -> usize {
        // Step 1: the blind-rotation key and the key switch back to the LWE secret.
        let slots = self.slots().lattice();
        let (n, digits) = (lwe_params.spec().dimension, lwe_params.key_switch_gadget().digits());
        let switch = |source: usize| {
            let words = source.div_ceil(n) * n * digits;
            SEED + (words * lwe_params.modulus().bits() as usize).div_ceil(8)
        };
        let tables =
            switch(lwe_params.spec().ring_degree) + SeededBlindRotationKey::byte_len(lwe_params);
        // Step 2: the bridges.
        let bridges = bridges.into_iter().map(|bridge| match (bridge, self.ring()) {
            (Bridge::Ring, Some(ring)) => ring.key_bytes(),
            _ => {
                let bits: u32 = slots.q().moduli().map(|q| q.bits()).sum();
                let rotation = SEED + slots.spec().degree * bits as usize / 8;
                switch(slots.dimension()) + baby_steps(self) * rotation
            }
        });
        tables + bridges.sum::<usize>()
    }
}

fn baby_steps(lookups: &LutParams) -> usize {
    BABY_STEPS.min(lookups.lwe_params().spec().dimension)
}
