//! The serializable form of a switching key: bodies, and the seed of the masks.

use bellerophon_ring::error::ensure;
use bellerophon_ring::{Ntt, PackedPoly, Poly, Result, sample::Seed};

use super::{KeySwitchKey, SwitchKeyInfo};
use crate::ciphertext::packed_len;
use crate::encrypt::{SEED_BYTES, check_extended, check_residues};
use crate::error;
use crate::params::Params;

/// A switching key in serializable form: the masks are replaced by their seed, which more than
/// halves the size.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededKeySwitchKey {
    shape: SwitchKeyInfo,
    seed: Seed,
    /// `b_ji` at `j * r1 + i`.
    b: Vec<Poly<Ntt>>,
}

impl KeySwitchKey {
    /// The serializable form.
    pub fn compress(&self) -> SeededKeySwitchKey {
        let b = self.b.iter().map(PackedPoly::unpack).collect();
        SeededKeySwitchKey { shape: self.shape, seed: self.seed, b }
    }

    /// Size in bytes of the seeded form, bit-packed.
    pub fn seeded_byte_len(&self, params: &Params) -> usize {
        SEED_BYTES + self.b.len() * packed_len(params.gadget().ring(self.shape.limbs))
    }
}

impl SeededKeySwitchKey {
    /// Expands the masks from the seed; `params` are those of the output.
    pub fn expand(&self, params: &Params) -> Result<KeySwitchKey> {
        KeySwitchKey::expanded(params, self.shape, self.seed, self.b.iter().collect())
    }

    /// As [`expand`](Self::expand). Each body is dropped once it is packed, so that the
    /// bodies are not held twice.
    pub(crate) fn into_expanded(self, params: &Params) -> Result<KeySwitchKey> {
        KeySwitchKey::expanded(params, self.shape, self.seed, self.b)
    }

    /// Ranks, limbs and identities.
    pub(crate) fn shape(&self) -> &SwitchKeyInfo {
        &self.shape
    }

    /// The seed of the masks.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The bodies `b_ji` at `j * r1 + i`, over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    pub fn bodies(&self) -> &[Poly<Ntt>] {
        &self.b
    }

    /// Size in bytes with residues bit-packed to the width of their primes, seed included.
    pub fn byte_len(&self, params: &Params) -> usize {
        SEED_BYTES + self.b.len() * packed_len(params.gadget().ring(self.shape.limbs))
    }

    /// Assembles a key from stored parts.
    pub fn from_parts(
        params: &Params,
        shape: SwitchKeyInfo,
        seed: Seed,
        b: Vec<Poly<Ntt>>,
    ) -> Result<Self> {
        // A row for every digit and component, none of them missing.
        params.check(shape.to.fingerprint)?;
        params.check_limbs(shape.limbs)?;
        let rows = params.gadget().digits(shape.limbs).saturating_mul(shape.from_rank);
        ensure(shape.to_rank == params.rank(), || error::rank(shape.to_rank, params.rank()))?;
        ensure(b.len() == rows && rows != 0, || error::rank(b.len(), rows.max(1)))?;
        // Degree, limbs and residues: the parts may come from untrusted input.
        for poly in &b {
            check_extended(params, shape.limbs, poly)?;
            check_residues(params.gadget().ring(shape.limbs), poly)?;
        }
        Ok(Self { shape, seed, b })
    }
}
