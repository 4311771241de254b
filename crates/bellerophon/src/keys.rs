//! The public keys of a program.

use std::{fmt, sync::Arc};

use bellerophon_ckks::{self as ckks, KeySpec};
use bellerophon_lwe::{
    self as lwe, KeySwitchKey, LookupKeys, SeededKeySwitchKey, SeededLookupKeys,
};
use bellerophon_mlwe::{KeyId, SecretKey};
use bellerophon_repack::{self as repack, RepackKey, SeededRepackKey};
use bellerophon_ring::Ring;
use rand::CryptoRng;

use crate::{Needs, Params, Result};

/// Rotations of the LWE secret in the repacking key: about the square root of its dimension.
const BABY_STEPS: usize = 32;

/// Bytes of the seed that stands for the masks of a key.
const SEED: usize = 32;

/// Everything that a server needs for a program and nothing secret. Cheap to clone: the keys are
/// shared.
#[derive(Clone)]
pub struct EvaluationKeys {
    pub(crate) params: Params,
    pub(crate) arithmetic: ckks::EvaluationKeys,
    pub(crate) bridge: Option<Arc<BridgeKeys>>,
}

/// The keys of a look-up: down to LWE, through the table, and up again.
pub(crate) struct BridgeKeys {
    /// From the slots' secret to the LWE secret (PEGASUS Fig. 6, step 4).
    pub(crate) down: KeySwitchKey,
    /// Blind rotation, and from the tables' ring back to the LWE secret (steps 5 and 6).
    pub(crate) lookup: LookupKeys,
    /// The LWE secret under the slots' secret (step 9).
    pub(crate) repack: RepackKey,
    byte_len: usize,
}

impl EvaluationKeys {
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        slots: &SecretKey,
        lwe_secret: &lwe::SecretKey,
        ring: &lwe::SecretKey,
        needs: &Needs,
        rng: &mut R,
    ) -> Result<Self> {
        let spec = key_spec(params, needs)?;
        let bridge = match needs.map {
            true => Some(BridgeKeys::generate(params, slots, lwe_secret, ring, rng)?.into()),
            false => None,
        };
        let arithmetic = ckks::EvaluationKeys::generate(params.arithmetic(), slots, &spec, rng)?;
        Ok(Self { params: params.clone(), arithmetic, bridge })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public identity of the client that made them.
    pub fn id(&self) -> KeyId {
        self.arithmetic.secret_id()
    }

    /// Bytes of all keys in the form in which they travel: masks as seeds, residues packed to the
    /// bits of their primes.
    pub fn byte_len(&self) -> usize {
        self.arithmetic.byte_len() + self.bridge.as_ref().map_or(0, |bridge| bridge.byte_len)
    }
}

/// The keys of the slots for a program, each at the level at which it is used.
fn key_spec(params: &Params, needs: &Needs) -> Result<KeySpec> {
    let top = params.levels();
    let mut spec = needs.keys.clone().rotate(needs.rotations.iter().copied(), top);
    if needs.multiply {
        spec = spec.multiply(top);
    }
    if needs.conjugate {
        spec = spec.conjugate(top);
    }
    if needs.map {
        // Repacking starts at the top and takes a level; the reduction multiplies below it.
        let giants = repack::rotation_steps(params.lookup().dimension(), baby_steps(params))?;
        spec = spec.multiply(top - 1).rotate(giants, top).and(&params.to_coefficients().keys());
    }
    Ok(spec)
}

/// What [`EvaluationKeys::byte_len`] of the keys for a program will be.
pub(crate) fn predicted_byte_len(params: &Params, needs: &Needs) -> Result<usize> {
    let lattice = params.arithmetic().lattice();
    let packed = |ring: &Ring| -> usize {
        ring.moduli().map(|q| (ring.degree() * q.bits() as usize).div_ceil(8)).sum()
    };
    let switching = |level: usize| {
        let (gadget, limbs) = (lattice.gadget(), params.arithmetic().limbs_at(level));
        SEED + gadget.digits(limbs) * packed(gadget.ring(limbs))
    };
    let spec = key_spec(params, needs)?;
    let levels = spec.relinearisation().into_iter();
    let levels = levels.chain(spec.automorphisms(params.arithmetic()).into_values());
    let mut bytes = levels.map(switching).sum();
    if needs.map {
        let lookup = params.lookup();
        let (n, digits) = (lookup.dimension(), lookup.key_switch_gadget().digits());
        let switch = |source: usize| {
            let words = source.div_ceil(n) * n * digits;
            SEED + (words * lookup.modulus().bits() as usize).div_ceil(8)
        };
        // Two signs, two components, each with its digits, for every coordinate.
        let rows = n * 4 * lookup.rgsw().digits();
        let bits: u32 = lookup.rgsw().ring().moduli().map(|q| q.bits()).sum();
        bytes += switch(lattice.dimension()) + switch(lookup.ring_degree());
        bytes += SEED + (rows * lookup.ring_degree() * bits as usize).div_ceil(8);
        bytes += baby_steps(params) * (SEED + packed(lattice.q()));
    }
    Ok(bytes)
}

fn baby_steps(params: &Params) -> usize {
    BABY_STEPS.min(params.lookup().dimension())
}

impl BridgeKeys {
    fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        slots: &SecretKey,
        lwe_secret: &lwe::SecretKey,
        ring: &lwe::SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let lookup = params.lookup();
        let source = lwe::SecretKey::from_coefficients(slots.all_coefficients().to_vec().into())?;
        let down = SeededKeySwitchKey::generate(lookup, &source, lwe_secret, rng)?;
        let tables = SeededLookupKeys::generate(lookup, lwe_secret, ring, rng)?;
        let up = SeededRepackKey::generate(
            params.arithmetic(),
            lwe_secret.coefficients(),
            slots,
            baby_steps(params),
            params.arithmetic().limbs(),
            rng,
        )?;
        Ok(Self {
            byte_len: down.byte_len(lookup)
                + tables.byte_len(lookup)
                + up.byte_len(params.arithmetic()),
            down: down.expand(lookup),
            lookup: tables.expand(lookup),
            repack: up.expand(params.arithmetic())?,
        })
    }
}

impl fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvaluationKeys")
            .field("params", &self.params.name())
            .field("arithmetic", &self.arithmetic)
            .field("map", &self.bridge.is_some())
            .finish()
    }
}
