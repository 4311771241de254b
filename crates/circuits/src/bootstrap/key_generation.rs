//! Generation and assembly of the keys that only bootstrapping needs.

use bellerophon_ckks::{EvaluationKeys, Result};
use bellerophon_mlwe::{KeySwitchKey, RaiseTransformKey, SecretKey};
use rand::CryptoRng;

use super::{BootstrapKeys, Raising};
use crate::error;

impl BootstrapKeys {
    /// Generates the keys of S2C; samples a sparse secret, generates the keys to it and back, and
    /// drops it.
    pub fn generate<R: CryptoRng + ?Sized>(
        raising: &Raising,
        secret: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let (params, low) = (&raising.params, &raising.low);
        params.check(secret.params().fingerprint())?;
        // Step 1: the rotations of S2C, under the parameters of the lowest levels.
        let lowest = &raising.s2c.params;
        let lowered = secret.under(lowest.lattice())?;
        let s2c = EvaluationKeys::generate(lowest, &lowered, &raising.s2c.keys(), rng)?;
        // Step 2: to the sparse secret and back.
        let sparse = SecretKey::generate(low, rng)?;
        let to_sparse = KeySwitchKey::between(&lowered, &sparse, 1, rng)?;
        let raise = RaiseTransformKey::generate(&raising.first.transform, &sparse, secret, rng)?;
        Self::from_parts(raising, s2c, to_sparse, raise)
    }

    /// Assembles keys that were generated or stored separately.
    pub(crate) fn from_parts(
        raising: &Raising,
        s2c: EvaluationKeys,
        to_sparse: KeySwitchKey,
        raise: RaiseTransformKey,
    ) -> Result<Self> {
        // Step 1: the keys must belong to the parameters of the slots, of their lowest levels, and
        // of the sparse secret.
        let (params, low) = (&raising.params, &raising.low);
        let lowest = &raising.s2c.params;
        let shape = to_sparse.shape();
        for (found, needed) in [
            (s2c.fingerprint(), lowest.lattice().fingerprint()),
            (shape.from.fingerprint, lowest.lattice().fingerprint()),
            (shape.to.fingerprint, low.fingerprint()),
            (raise.from().fingerprint, low.fingerprint()),
            (raise.to().fingerprint, params.lattice().fingerprint()),
            (raise.matrix(), raising.first.transform.fingerprint()),
        ] {
            if found != needed {
                return Err(bellerophon_mlwe::error::params_mismatch(found, needed));
            }
        }
        // Step 2: one key must start at the secret where the other one ends.
        let own = raise.to().key;
        let ends =
            [(own, s2c.secret_id()), (own, shape.from.key), (shape.to.key, raise.from().key)];
        for (needed, found) in ends {
            if needed != found {
                return Err(bellerophon_mlwe::error::key_mismatch(found, needed));
            }
        }
        // Step 3: the rank.
        if shape.from_rank != params.lattice().spec().rank {
            let key = "key of the sparse secret";
            return Err(error::missing_key(key, false));
        }
        // Step 4: the rotations of S2C, no more and no less.
        raising.check_s2c(&s2c)?;
        let raised = raise.seeded_byte_len(&raising.first.transform);
        let byte_len = s2c.byte_len() + to_sparse.seeded_byte_len(low) + raised;
        Ok(Self::new(s2c, to_sparse, raise, byte_len))
    }
}
