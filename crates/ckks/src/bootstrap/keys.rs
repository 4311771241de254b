//! The keys of the encapsulation.

use std::{fmt, sync::Arc};

use bellerophon_mlwe::{KeyId, KeySwitchKey, RaiseKey, SecretKey};
use rand::CryptoRng;

use super::Bootstrapper;
use crate::{Error, Result};

/// The keys that only refreshing takes: to the sparse secret at `q_0`, and back at the top. Cheap to
/// clone: the keys are shared. Rotations and products are in
/// [`EvaluationKeys`](crate::EvaluationKeys), those that [`Bootstrapper::keys`] names.
#[derive(Clone)]
pub struct BootstrapKeys(Arc<Inner>);

struct Inner {
    to_sparse: KeySwitchKey,
    raise: RaiseKey,
    byte_len: usize,
}

impl BootstrapKeys {
    /// Draws a sparse secret, which is forgotten at once, and generates the two keys.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch) when the secret belongs to other
    /// parameters.
    pub fn generate<R: CryptoRng + ?Sized>(
        bootstrapper: &Bootstrapper,
        secret: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let Bootstrapper { params, low, .. } = bootstrapper;
        params.check("generate bootstrapping keys", secret.fingerprint())?;
        let sparse = SecretKey::generate(low, rng)?;
        let to_sparse = KeySwitchKey::between(secret, &sparse, 1, rng)?;
        let raise = RaiseKey::generate(&sparse, secret, params.limbs(), rng)?;
        Self::from_parts(bootstrapper, to_sparse, raise)
    }

    /// Puts keys together that were made or stored apart.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch) and
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch) unless they lead from the secret of the
    /// slots to the sparse one and back, [`Error::MissingKey`](crate::Error::MissingKey) if not to
    /// the top of the chain.
    pub(crate) fn from_parts(
        bootstrapper: &Bootstrapper,
        to_sparse: KeySwitchKey,
        raise: RaiseKey,
    ) -> Result<Self> {
        let op = "assemble refreshing keys";
        let Bootstrapper { params, low, .. } = bootstrapper;
        let shape = to_sparse.shape();
        for (found, needed) in [
            (shape.from.fingerprint, params.fingerprint()),
            (shape.to.fingerprint, low.fingerprint()),
            (raise.from().fingerprint, low.fingerprint()),
            (raise.to().fingerprint, params.fingerprint()),
        ] {
            if found != needed {
                return Err(Error::ParamsMismatch { op, left: needed, right: found });
            }
        }
        for (left, right) in [(shape.from, raise.to()), (shape.to, raise.from())] {
            if left.key != right.key {
                return Err(Error::KeyMismatch { op, left: left.key, right: right.key });
            }
        }
        let (rank, low_rank) = (params.lattice().rank(), low.rank());
        if shape.from_rank != rank || raise.rows() != low_rank || raise.limbs() < params.limbs() {
            let level = params.max_level();
            return Err(Error::MissingKey { op, key: "key of the sparse secret", level });
        }
        let byte_len = to_sparse.seeded_byte_len(low) + raise.seeded_byte_len(params.lattice());
        Ok(Self(Arc::new(Inner { to_sparse, raise, byte_len })))
    }

    /// Bytes in seeded, packed form.
    pub fn byte_len(&self) -> usize {
        self.0.byte_len
    }

    /// Public id of the secret key.
    pub fn secret_id(&self) -> KeyId {
        self.0.raise.to().key
    }

    pub(crate) fn to_sparse(&self) -> &KeySwitchKey {
        &self.0.to_sparse
    }

    pub(crate) fn raise(&self) -> &RaiseKey {
        &self.0.raise
    }
}

impl fmt::Debug for BootstrapKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootstrapKeys").field("secret", &self.secret_id()).finish_non_exhaustive()
    }
}
