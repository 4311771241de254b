//! The keys that only bootstrapping needs: of S2C, and of the sparse-secret encapsulation.

use std::{fmt, sync::Arc};

use bellerophon_ckks::EvaluationKeys;
use bellerophon_mlwe::{KeyId, KeySwitchKey, RaiseTransformKey};

/// The keys for bootstrapping only: the rotations of S2C, under parameters of the lowest levels
/// alone; to the sparse secret at `q_0`; and back at the top of the chain with the first matrix of
/// C2S. Clones share the keys. Keys for other rotations and for products, listed by
/// [`Bootstrapper::keys`](super::Bootstrapper::keys), are in
/// [`EvaluationKeys`](bellerophon_ckks::EvaluationKeys).
#[derive(Clone)]
pub struct BootstrapKeys(Arc<Inner>);

struct Inner {
    s2c: EvaluationKeys,
    to_sparse: KeySwitchKey,
    raise: RaiseTransformKey,
    byte_len: usize,
}

impl BootstrapKeys {
    /// Keys that have been checked to fit each other.
    pub(super) fn new(
        s2c: EvaluationKeys,
        to_sparse: KeySwitchKey,
        raise: RaiseTransformKey,
        byte_len: usize,
    ) -> Self {
        Self(Arc::new(Inner { s2c, to_sparse, raise, byte_len }))
    }

    /// Bytes in seeded, packed form.
    pub fn byte_len(&self) -> usize {
        self.0.byte_len
    }

    /// Public id of the secret key.
    pub fn secret_id(&self) -> KeyId {
        self.0.raise.to().key
    }

    /// The rotations of S2C, under the parameters of the lowest levels.
    pub(crate) fn s2c(&self) -> &EvaluationKeys {
        &self.0.s2c
    }

    pub(crate) fn to_sparse(&self) -> &KeySwitchKey {
        &self.0.to_sparse
    }

    pub(crate) fn raise(&self) -> &RaiseTransformKey {
        &self.0.raise
    }
}

impl fmt::Debug for BootstrapKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootstrapKeys").field("secret", &self.secret_id()).finish_non_exhaustive()
    }
}
