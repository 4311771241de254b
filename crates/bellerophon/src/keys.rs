//! The public keys of a program.

use std::{fmt, sync::Arc};

use bellerophon_ckks::{self as ckks, KeySpec, bootstrap::BootstrapKeys};
use bellerophon_lwe::{
    self as lwe, KeySwitchKey, LookupKeys, SeededBlindRotationKey, SeededKeySwitchKey,
    SeededLookupKeys,
};
use bellerophon_mlwe::{KeyId, RankHoistedKeys, SecretKey};
use bellerophon_repack::{self as repack, RepackKey, RingBridgeKeys, SeededRepackKey};
use rand::CryptoRng;

use crate::{
    Error, Needs, Params, Result, blocks::Blocks, client::LookupSecrets, lookups::Lookups,
    plan::Way,
};

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
    pub(crate) tables: Option<Arc<TableKeys>>,
    pub(crate) ring: Option<Arc<RingBridgeKeys>>,
    pub(crate) linear: Option<Arc<LinearKeys>>,
    pub(crate) refresh: Option<BootstrapKeys>,
}

/// The keys of the tables (PEGASUS Fig. 6, steps 5 and 6): blind rotation, and from the tables' ring
/// to the LWE secret.
pub(crate) struct TableKeys {
    /// The parameters for which they were made.
    pub(crate) lattice: lwe::Params,
    pub(crate) lookup: LookupKeys,
}

/// The keys of the linear bridge.
pub(crate) struct LinearKeys {
    /// From the slots' secret to the LWE secret (PEGASUS Fig. 6, step 4).
    pub(crate) down: KeySwitchKey,
    /// The LWE secret under the slots' secret (step 9).
    pub(crate) repack: RepackKey,
    byte_len: usize,
}

/// What a set of keys has beside those of the slots' arithmetic.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) tables: Option<Arc<TableKeys>>,
    pub(crate) ring: Option<Arc<RingBridgeKeys>>,
    pub(crate) linear: Option<Arc<LinearKeys>>,
    pub(crate) refresh: Option<BootstrapKeys>,
}

impl EvaluationKeys {
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        slots: &SecretKey,
        lookups: Option<&LookupSecrets>,
        needs: &Needs,
        rng: &mut R,
    ) -> Result<Self> {
        let spec = key_spec(params, needs)?;
        let ways = ways(params, needs)?;
        let mut parts = Parts::default();
        if let Some(secrets) = lookups.filter(|_| !ways.is_empty()) {
            let lattice = table_lattice(params, needs)?;
            parts.tables = Some(TableKeys::generate(lattice, secrets, slots.id(), rng)?.into());
            if ways.contains(&Way::Linear) {
                parts.linear = Some(LinearKeys::generate(params, slots, secrets, rng)?.into());
            }
            if let Some(bridge) = params.lookups()?.ring().filter(|_| ways.contains(&Way::Ring)) {
                parts.ring =
                    Some(RingBridgeKeys::generate(bridge, slots, &secrets.ring, rng)?.into());
            }
        }
        if needs.refresh {
            parts.refresh = Some(BootstrapKeys::generate(params.bootstrapper()?, slots, rng)?);
        }
        let arithmetic = ckks::EvaluationKeys::generate(params.arithmetic(), slots, &spec, rng)?;
        Self::assemble(params, arithmetic, parts)
    }

    /// Puts keys together that were read one by one.
    ///
    /// # Errors
    /// [`ckks::Error::KeyMismatch`] for keys of different clients.
    pub(crate) fn assemble(
        params: &Params,
        arithmetic: ckks::EvaluationKeys,
        parts: Parts,
    ) -> Result<Self> {
        let Parts { tables, ring, linear, refresh } = parts;
        let left = arithmetic.secret_id();
        let tables_id = tables.iter().map(|keys| keys.lookup.key);
        let ring_id = ring.iter().map(|keys| keys.id());
        let linear_id = linear.iter().map(|keys| keys.repack.secret_id());
        let refresh_id = refresh.iter().map(BootstrapKeys::secret_id);
        let mut all = tables_id.chain(ring_id).chain(linear_id).chain(refresh_id);
        if let Some(right) = all.find(|&id| id != left) {
            let op = "assemble evaluation keys";
            return Err(ckks::Error::KeyMismatch { op, left, right })?;
        }
        Ok(Self { params: params.clone(), arithmetic, tables, ring, linear, refresh })
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
        let tables = self.tables.as_ref().map_or(0, |keys| keys.byte_len());
        let ring = self.ring.as_ref().map_or(0, |keys| keys.byte_len());
        let linear = self.linear.as_ref().map_or(0, |keys| keys.byte_len);
        let refresh = self.refresh.as_ref().map_or(0, BootstrapKeys::byte_len);
        self.arithmetic.byte_len() + tables + ring + linear + refresh
    }
}

/// The keys of the slots for a program, each at the level at which it is used.
pub(crate) fn key_spec(params: &Params, needs: &Needs) -> Result<KeySpec> {
    let top = params.levels();
    let mut spec = needs.keys.clone().rotate(needs.rotations.iter().copied(), top);
    let unserved = |need: &'static str, reason: String| {
        Err(Error::Unserved { need, params: params.name().into(), reason })
    };
    if needs.multiply {
        if top == 0 {
            let reason = "they have no level for the rescaling of a product: take a longer chain";
            return unserved("multiply", reason.into());
        }
        spec = spec.multiply(top);
    }
    if needs.rotate_any {
        // Before any key is made.
        let limbs = params.arithmetic().limbs_at(top);
        if let Err(error) = RankHoistedKeys::choose(params.arithmetic().lattice(), limbs) {
            let remedy = "ask for `Needs::rotate` by the steps that the program takes";
            return unserved("rotate_any", format!("{error}: {remedy}"));
        }
        spec = spec.rotate_hoisted(top);
    }
    if needs.conjugate {
        spec = spec.conjugate(top);
    }
    for way in ways(params, needs)? {
        let (lookups, top) = (params.lookups_for("map")?, params.arithmetic().max_level());
        spec = spec.and(&lookups.to_coefficients().keys());
        spec = match (way, lookups.ring()) {
            (Way::Ring, Some(ring)) if needs.corrected => {
                let level = lookups.level_after();
                spec.and(&ring.keys()).and(&Blocks::keys(ring, params.arithmetic(), level))
            }
            (Way::Ring, Some(ring)) => spec.and(&ring.keys()),
            _ => {
                // Repacking starts at the top of the chain and takes a level; the reduction
                // multiplies below.
                let (dimension, baby) = (lookups.lattice().dimension(), baby_steps(lookups));
                let giants = repack::rotation_steps(dimension, baby)?;
                spec.multiply(top - 1).rotate(giants, top)
            }
        };
    }
    if needs.refresh {
        spec = spec.and(&params.bootstrapper()?.keys());
    }
    Ok(spec)
}

/// The bridges that a program is to have, each once.
fn ways(params: &Params, needs: &Needs) -> Result<Vec<Way>> {
    let mut ways = Vec::new();
    for &bridge in &needs.bridges {
        let way = params.lookups_for("map")?.way("map", bridge)?;
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    Ok(ways)
}

/// The parameters of the tables that a program takes.
fn table_lattice<'p>(params: &'p Params, needs: &Needs) -> Result<&'p lwe::Params> {
    match needs.corrected {
        true => params.corrected_on("map_to", needs.engine),
        false => params.tables_on("map", needs.engine),
    }
}

/// What [`EvaluationKeys::byte_len`] of the keys for a program will be.
pub(crate) fn predicted_byte_len(params: &Params, needs: &Needs) -> Result<usize> {
    let mut bytes = key_spec(params, needs)?.sizes(params.arithmetic())?.transit;
    if needs.refresh {
        bytes += params.bootstrapper()?.own_key_sizes().transit;
    }
    let ways = ways(params, needs)?;
    if ways.is_empty() {
        return Ok(bytes);
    }
    let lookups = params.lookups_for("map")?;
    let (lookup, lattice) = (table_lattice(params, needs)?, params.arithmetic().lattice());
    let (n, digits) = (lookup.dimension(), lookup.key_switch_gadget().digits());
    let switch = |source: usize| {
        let words = source.div_ceil(n) * n * digits;
        SEED + (words * lookup.modulus().bits() as usize).div_ceil(8)
    };
    bytes += switch(lookup.ring_degree());
    bytes += SeededBlindRotationKey::byte_len(lookup);
    for way in ways {
        bytes += match (way, lookups.ring()) {
            (Way::Ring, Some(ring)) => ring.key_bytes(),
            _ => {
                let bits: u32 = lattice.q().moduli().map(|q| q.bits()).sum();
                let rotation = SEED + lattice.degree() * bits as usize / 8;
                switch(lattice.dimension()) + baby_steps(lookups) * rotation
            }
        };
    }
    Ok(bytes)
}

fn baby_steps(lookups: &Lookups) -> usize {
    BABY_STEPS.min(lookups.lattice().dimension())
}

impl TableKeys {
    fn generate<R: CryptoRng + ?Sized>(
        lookup: &lwe::Params,
        LookupSecrets { lwe, ring }: &LookupSecrets,
        key: KeyId,
        rng: &mut R,
    ) -> Result<Self> {
        let tables = SeededLookupKeys::generate(lookup, lwe, ring, key, rng)?;
        Ok(Self::new(lookup, tables.expand(lookup)?))
    }

    /// Keys made for these parameters.
    pub(crate) fn new(lattice: &lwe::Params, lookup: LookupKeys) -> Self {
        Self { lattice: lattice.clone(), lookup }
    }

    fn byte_len(&self) -> usize {
        let switch = self.lookup.switch.seeded_byte_len(&self.lattice);
        SeededBlindRotationKey::byte_len(&self.lattice) + switch
    }
}

impl LinearKeys {
    fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        slots: &SecretKey,
        LookupSecrets { lwe: lwe_secret, .. }: &LookupSecrets,
        rng: &mut R,
    ) -> Result<Self> {
        let lookups = params.lookups_for("map")?;
        let lookup = lookups.lattice();
        let source = lwe::SecretKey::from_coefficients(slots.all_coefficients().to_vec().into())?;
        let down = SeededKeySwitchKey::generate(lookup, &source, lwe_secret, rng)?;
        let up = SeededRepackKey::generate(
            params.arithmetic(),
            lwe_secret.coefficients(),
            slots,
            baby_steps(lookups),
            params.arithmetic().limbs(),
            rng,
        )?;
        Self::new(params, &down, &up)
    }

    /// The keys made ready for use.
    pub(crate) fn new(
        params: &Params,
        down: &SeededKeySwitchKey,
        up: &SeededRepackKey,
    ) -> Result<Self> {
        let lookup = params.lookups_for("map")?.lattice();
        Ok(Self {
            byte_len: down.byte_len(lookup) + up.byte_len(params.arithmetic()),
            down: down.expand(lookup)?,
            repack: up.expand(params.arithmetic())?,
        })
    }
}

impl fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvaluationKeys")
            .field("params", &self.params.name())
            .field("arithmetic", &self.arithmetic)
            .field("ring_bridge", &self.ring.is_some())
            .field("linear_bridge", &self.linear.is_some())
            .field("refresh", &self.refresh.is_some())
            .finish()
    }
}
