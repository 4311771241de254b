//! The keys of programmable bootstrapping: the blind-rotation key, and the key-switching key from
//! the ring secret to the LWE secret.

use bellerophon_mlwe::KeyId;
use bellerophon_ring::Result;
use rand::CryptoRng;

use crate::blind_rotate::{BlindRotationKey, SeededBlindRotationKey};
use crate::keyswitch::{KeySwitchKey, SeededKeySwitchKey};
use crate::params::Params;
use crate::secret::SecretKey;

/// The compressed keys of programmable bootstrapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededLookupKeys {
    /// The blind-rotation key: the coordinates of the LWE secret under the ring secret.
    pub rotation: SeededBlindRotationKey,
    /// The key switch from the coefficients of the ring secret to the LWE secret.
    pub switch: SeededKeySwitchKey,
    /// The client's key to which the secrets belong.
    pub key: KeyId,
}

impl SeededLookupKeys {
    /// Generates both keys. Look-ups accept only [`LweVec`](crate::LweVec) of the client's key
    /// `key`.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        lwe: &SecretKey,
        ring: &SecretKey,
        key: KeyId,
        rng: &mut R,
    ) -> Result<Self> {
        Ok(Self {
            // LWE secret -> ring secret, during blind rotation.
            rotation: SeededBlindRotationKey::generate(params, lwe, ring, rng)?,
            // Ring secret -> LWE secret, before the next one.
            switch: SeededKeySwitchKey::generate(params, ring, lwe, rng)?,
            key,
        })
    }

    /// Expands both keys.
    pub fn expand(&self, params: &Params) -> Result<LookupKeys> {
        Ok(LookupKeys {
            rotation: self.rotation.expand(params)?,
            switch: self.switch.expand(params)?,
            key: self.key,
        })
    }

    /// Serialized bytes.
    pub fn byte_len(&self, params: &Params) -> usize {
        SeededBlindRotationKey::byte_len(params) + self.switch.byte_len(params)
    }
}

/// The expanded keys of programmable bootstrapping.
#[derive(Debug, Clone)]
pub struct LookupKeys {
    /// The blind-rotation key: the coordinates of the LWE secret under the ring secret.
    pub rotation: BlindRotationKey,
    /// The key switch from the coefficients of the ring secret to the LWE secret.
    pub switch: KeySwitchKey,
    /// The client's key to which the secrets belong.
    pub key: KeyId,
}

impl LookupKeys {
    /// The compressed keys.
    pub fn compress(&self, params: &Params) -> Result<SeededLookupKeys> {
        Ok(SeededLookupKeys {
            rotation: self.rotation.compress(params)?,
            switch: self.switch.compress(),
            key: self.key,
        })
    }
}
