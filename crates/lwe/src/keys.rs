//! Everything that a look-up needs: the blind-rotation key, and the key that brings its result
//! back to the LWE secret.

use bellerophon_mlwe::KeyId;
use rand::CryptoRng;

use crate::{
    BlindRotationKey, KeySwitchKey, Params, Result, SecretKey, SeededBlindRotationKey,
    SeededKeySwitchKey,
};

/// The keys of a look-up as they travel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededLookupKeys {
    /// LWE coordinates under the ring secret.
    pub rotation: SeededBlindRotationKey,
    /// From the coefficients of the ring secret to the LWE secret.
    pub switch: SeededKeySwitchKey,
    /// The client's key to which the secrets belong.
    pub key: KeyId,
}

impl SeededLookupKeys {
    /// Generates both keys. Tables take the [`Values`](crate::Values) of the client's key that `key`
    /// names, and no others.
    ///
    /// # Errors
    /// If one of the secrets is not of these parameters.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        lwe: &SecretKey,
        ring: &SecretKey,
        key: KeyId,
        rng: &mut R,
    ) -> Result<Self> {
        Ok(Self {
            rotation: SeededBlindRotationKey::generate(params, lwe, ring, rng)?,
            switch: SeededKeySwitchKey::generate(params, ring, lwe, rng)?,
            key,
        })
    }

    /// Both keys ready for use.
    ///
    /// # Errors
    /// If the parameters are not those of the keys.
    pub fn expand(&self, params: &Params) -> Result<LookupKeys> {
        Ok(LookupKeys {
            rotation: self.rotation.expand(params)?,
            switch: self.switch.expand(params)?,
            key: self.key,
        })
    }

    /// Bytes on the wire.
    pub fn byte_len(&self, params: &Params) -> usize {
        SeededBlindRotationKey::byte_len(params) + self.switch.byte_len(params)
    }
}

/// The keys of a look-up ready for use.
#[derive(Debug, Clone)]
pub struct LookupKeys {
    /// LWE coordinates under the ring secret.
    pub rotation: BlindRotationKey,
    /// From the coefficients of the ring secret to the LWE secret.
    pub switch: KeySwitchKey,
    /// The client's key to which the secrets belong.
    pub key: KeyId,
}

impl LookupKeys {
    /// The form that travels.
    ///
    /// # Errors
    /// If the parameters are not those of the keys.
    pub fn compress(&self, params: &Params) -> Result<SeededLookupKeys> {
        Ok(SeededLookupKeys {
            rotation: self.rotation.compress(params)?,
            switch: self.switch.compress(),
            key: self.key,
        })
    }
}
