//! Generation and assembly of the keys of the sparse-secret encapsulation.

use bellerophon_mlwe::{KeySwitchKey, RaiseTransformKey, SecretKey};
use rand::CryptoRng;

use super::{BootstrapKeys, Raising};
use crate::{During, ErrorKind, Result};

impl BootstrapKeys {
    /// Samples a sparse secret, generates the two keys and drops the secret.
    ///
    /// # Errors
    /// `mlwe::ErrorKind::ParamsMismatch` when the secret belongs to other
    /// parameters.
    pub fn generate<R: CryptoRng + ?Sized>(
        raising: &Raising,
        secret: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let (params, low) = (raising.params(), raising.low());
        params.check(secret.params().fingerprint()).during("generate bootstrapping keys")?;
        let sparse = SecretKey::generate(low, rng)?;
        let to_sparse = KeySwitchKey::between(secret, &sparse, 1, rng)?;
        let raise = RaiseTransformKey::generate(raising.first().transform(), &sparse, secret, rng)?;
        Self::from_parts(raising, to_sparse, raise)
    }

    /// Assembles keys that were generated or stored separately.
    ///
    /// # Errors
    /// `mlwe::ErrorKind::ParamsMismatch` and
    /// `mlwe::ErrorKind::KeyMismatch` unless they switch from the secret of the
    /// parameters to the sparse secret and back by the first matrix;
    /// [`ErrorKind::MissingKey`](crate::ErrorKind::MissingKey) for a switch from another rank.
    pub(crate) fn from_parts(
        raising: &Raising,
        to_sparse: KeySwitchKey,
        raise: RaiseTransformKey,
    ) -> Result<Self> {
        let op = "assemble bootstrapping keys";
        // Step 1: both keys must belong to the parameters of the slots and of the sparse secret.
        let (params, low) = (raising.params(), raising.low());
        let shape = to_sparse.shape();
        for (found, needed) in [
            (shape.from.fingerprint, params.lattice().fingerprint()),
            (shape.to.fingerprint, low.fingerprint()),
            (raise.from().fingerprint, low.fingerprint()),
            (raise.to().fingerprint, params.lattice().fingerprint()),
            (raise.matrix(), raising.first().transform().fingerprint()),
        ] {
            if found != needed {
                return Err(bellerophon_mlwe::ErrorKind::ParamsMismatch { found, needed }
                    .during(op)
                    .into());
            }
        }
        // Step 2: one key must start at the secret where the other one ends.
        for (needed, found) in [(shape.from, raise.to()), (shape.to, raise.from())] {
            let (needed, found) = (needed.key, found.key);
            if needed != found {
                return Err(bellerophon_mlwe::ErrorKind::KeyMismatch { found, needed }
                    .during(op)
                    .into());
            }
        }
        // Step 3: the rank.
        if shape.from_rank != params.lattice().spec().rank {
            let level = params.max_level();
            return Err(ErrorKind::MissingKey { key: "key of the sparse secret", level }.during(op));
        }
        let raised = raise.seeded_byte_len(raising.first().transform());
        let byte_len = to_sparse.seeded_byte_len(low) + raised;
        Ok(Self::new(to_sparse, raise, byte_len))
    }
}
