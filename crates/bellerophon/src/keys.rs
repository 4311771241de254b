//! The public evaluation keys of a program.

use std::{fmt, ops::ControlFlow, sync::Arc};

use bellerophon_ckks::{self as ckks, KeyLevels, bootstrap::BootstrapKeys, statistics::Table};
use bellerophon_lwe as lwe;
use bellerophon_mlwe::{KeyId, RankHoistedKeys, SecretKey};
use bellerophon_repack::{
    RingBridgeKeys,
    lookup::{BridgePath, LinearKeys, LookupSecrets, TableKeys, Watch},
};
use rand::CryptoRng;

use crate::{During, ErrorKind, Needs, Params, Progress, Result, Stage};

/// All public keys that a server needs for a program. Cheap to clone: the keys are shared.
#[derive(Clone)]
pub struct EvaluationKeys {
    pub(crate) params: Params,
    pub(crate) arithmetic: ckks::EvaluationKeys,
    pub(crate) tables: Option<Arc<TableKeys>>,
    pub(crate) ring: Option<Arc<RingBridgeKeys>>,
    pub(crate) linear: Option<Arc<LinearKeys>>,
    pub(crate) bootstrap: Option<BootstrapKeys>,
    pub(crate) functional: Option<BootstrapKeys>,
}

/// The keys of a set beside those of the arithmetic on slots.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) tables: Option<Arc<TableKeys>>,
    pub(crate) ring: Option<Arc<RingBridgeKeys>>,
    pub(crate) linear: Option<Arc<LinearKeys>>,
    pub(crate) bootstrap: Option<BootstrapKeys>,
    pub(crate) functional: Option<BootstrapKeys>,
}

impl EvaluationKeys {
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        slots: &SecretKey,
        lookups: Option<&LookupSecrets>,
        needs: &Needs,
        watch: Option<&Watch>,
        rng: &mut R,
    ) -> Result<Self> {
        // Step 1: the levels of all keys. Needs that the parameters cannot serve are refused here.
        let needs = &needs.resolved(params);
        let spec = key_spec(params, needs)?;
        let paths = paths(params, needs)?;
        let tables = if paths.is_empty() { 0 } else { 1 + paths.len() };
        let shared = needs.bootstrap && needs.functional && params.bootstraps_share_keys();
        let bootstraps = usize::from(needs.bootstrap) + usize::from(needs.functional && !shared);
        let total = spec.count(params.ckks()) + tables + bootstraps;
        let mut progress = KeyProgress { watch, done: 0, total };
        progress.tell()?;
        // Step 2: the keys of look-ups and of their bridges.
        let mut parts = Parts::default();
        if let Some(secrets) = lookups.filter(|_| !paths.is_empty()) {
            let lattice = table_lattice(params, needs)?;
            parts.tables = Some(TableKeys::generate(lattice, secrets, slots.id(), rng)?.into());
            progress.advance()?;
            if paths.contains(&BridgePath::Linear) {
                let keys = LinearKeys::generate(params.lookups()?, slots, secrets, rng)?;
                parts.linear = Some(keys.into());
                progress.advance()?;
            }
            if let Some(bridge) =
                params.lookups()?.ring().filter(|_| paths.contains(&BridgePath::Ring))
            {
                parts.ring =
                    Some(RingBridgeKeys::generate(bridge, slots, &secrets.ring, rng)?.into());
                progress.advance()?;
            }
        }
        // Step 3: the keys of bootstrapping that have secrets of their own (sparse encapsulation).
        if needs.bootstrap {
            parts.bootstrap =
                Some(BootstrapKeys::generate(params.bootstrapper()?.raising(), slots, rng)?);
            progress.advance()?;
        }
        if shared {
            parts.functional = parts.bootstrap.clone();
        } else if needs.functional {
            let raising = params.functional()?.raising();
            parts.functional = Some(BootstrapKeys::generate(raising, slots, rng)?);
            progress.advance()?;
        }
        // Step 4: relinearization and Galois keys of the slots.
        let made = || progress.advance();
        let ckks = params.ckks();
        let arithmetic = ckks::EvaluationKeys::generate_observed(ckks, slots, &spec, rng, made)?;
        Self::assemble(params, arithmetic, parts)
    }

    /// Assembles keys that were generated or read one by one.
    ///
    /// # Errors
    /// [`mlwe::ErrorKind::KeyMismatch`] for keys of different clients.
    pub(crate) fn assemble(
        params: &Params,
        arithmetic: ckks::EvaluationKeys,
        parts: Parts,
    ) -> Result<Self> {
        // Every key carries the identity of its client; all must agree.
        let Parts { tables, ring, linear, bootstrap, functional } = parts;
        let left = arithmetic.secret_id();
        let tables_id = tables.iter().map(|keys| keys.lookup.key);
        let ring_id = ring.iter().map(|keys| keys.id());
        let linear_id = linear.iter().map(|keys| keys.repack.secret_id());
        let bootstrap_id = bootstrap.iter().chain(&functional).map(BootstrapKeys::secret_id);
        let mut all = tables_id.chain(ring_id).chain(linear_id).chain(bootstrap_id);
        if let Some(found) = all.find(|&id| id != left) {
            let op = "read evaluation keys";
            return Err(
                bellerophon_mlwe::ErrorKind::KeyMismatch { found, needed: left }.during(op)
            )?;
        }
        Ok(Self { params: params.clone(), arithmetic, tables, ring, linear, bootstrap, functional })
    }

    /// Whether the key set has both kinds of bootstrapping with the same keys of the sparse secret.
    pub(crate) fn bootstraps_share_keys(&self) -> bool {
        let both = self.bootstrap.is_some() && self.functional.is_some();
        both && self.params.bootstraps_share_keys()
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public identity of the client that made the keys.
    pub fn id(&self) -> KeyId {
        self.arithmetic.secret_id()
    }

    /// Bytes of all keys in their wire form: masks as seeds, residues packed to the bits of their
    /// primes.
    pub fn byte_len(&self) -> usize {
        let tables = self.tables.as_ref().map_or(0, |keys| keys.byte_len());
        let ring = self.ring.as_ref().map_or(0, |keys| keys.byte_len());
        let linear = self.linear.as_ref().map_or(0, |keys| keys.byte_len());
        let own = self.functional.iter().filter(|_| !self.bootstraps_share_keys());
        let bootstraps: usize = self.bootstrap.iter().chain(own).map(BootstrapKeys::byte_len).sum();
        self.arithmetic.byte_len() + tables + ring + linear + bootstraps
    }
}

/// The progress of a generation of keys.
struct KeyProgress<'w> {
    watch: Option<&'w Watch>,
    done: usize,
    total: usize,
}

impl KeyProgress<'_> {
    /// Reports one more key. An error if the callback stops the generation.
    fn advance(&mut self) -> Result<()> {
        self.done += 1;
        self.tell()
    }

    fn tell(&self) -> Result<()> {
        let (stage, done, total) = (Stage::Keys, self.done, self.total);
        match self.watch.map(|watch| watch.tell(Progress { stage, done, total })) {
            None | Some(ControlFlow::Continue(())) => Ok(()),
            Some(ControlFlow::Break(())) => {
                Err(ErrorKind::Cancelled { stage, done, total }.during("evaluation_keys"))
            }
        }
    }
}

/// The relinearization and Galois keys of a program, each at the level at which it is used.
pub(crate) fn key_spec(params: &Params, needs: &Needs) -> Result<KeyLevels> {
    let needs = &needs.resolved(params);
    let top = params.levels();
    let mut spec = needs.keys.clone().rotate(needs.rotations.iter().copied(), top);
    let unserved = |need: &'static str, reason: String| {
        Err(ErrorKind::Unserved { need, params: params.name().into(), reason }.into())
    };
    // Step 1: the keys that the program asks for by name.
    if needs.multiply {
        if top == 0 {
            let reason =
                "they have no level for the rescale of a product: take a longer modulus chain";
            return unserved("multiply", reason.into());
        }
        spec = spec.multiply(top);
    }
    if needs.rotate_any {
        // Refused here, before any key is made.
        let limbs = params.ckks().limbs_at(top);
        if let Err(error) = RankHoistedKeys::choose(params.ckks().lattice(), limbs) {
            let remedy = "call `Needs::rotate` with the steps that the program uses";
            return unserved("rotate_any", format!("{error}: {remedy}"));
        }
        spec = spec.rotate_hoisted(top);
    }
    if needs.conjugate {
        spec = spec.conjugate(top);
    }
    let slots = params.ckks().max_slots();
    if let Some(most) = needs.sums {
        if most == 0 || most > slots {
            let reason = format!("a sum over {most} values: vectors have from 1 to {slots}");
            return unserved("sums", reason);
        }
        spec = spec.sum_slots(most.next_power_of_two(), top);
    }
    for &(rows, columns) in &needs.tables {
        let table = Table::new(rows, columns).map_err(|error| error.to_string());
        match table {
            Ok(table) if table.slots() <= slots => spec = spec.and(&table.keys(top)),
            Ok(table) => {
                let reason = format!(
                    "{rows} rows of {columns} column(s) take {} slots: vectors have {slots}",
                    table.slots()
                );
                return unserved("statistics", reason);
            }
            Err(reason) => return unserved("statistics", reason),
        }
    }
    // Step 2: the keys of look-ups: SlotsToCoeffs, and packing with each bridge.
    for path in paths(params, needs)? {
        spec = spec.and(&params.lookups_for().during("map")?.key_levels(path, needs.corrected)?);
    }
    // Step 3: the keys of the bootstrapping circuits.
    if needs.bootstrap {
        spec = spec.and(&params.bootstrapper()?.keys());
    }
    if needs.functional {
        spec = spec.and(&params.functional()?.keys());
    }
    Ok(spec)
}

/// The bridges that a program asks for, without repetition.
fn paths(params: &Params, needs: &Needs) -> Result<Vec<BridgePath>> {
    let mut paths = Vec::new();
    for bridge in needs.bridges() {
        let path = params.lookups_for().during("map")?.path(bridge).during("map")?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// The parameters of the tables that a program asks for.
fn table_lattice<'p>(params: &'p Params, needs: &Needs) -> Result<&'p lwe::Params> {
    match needs.corrected {
        true => params.corrected_on(needs.engine).during("map_with"),
        false => params.tables_on(needs.engine).during("map"),
    }
}

/// Predicts [`EvaluationKeys::byte_len`] of the keys for a program.
pub(crate) fn predicted_byte_len(params: &Params, needs: &Needs) -> Result<usize> {
    // Step 1: keys of the slots and of bootstrapping.
    let needs = &needs.resolved(params);
    let mut bytes = key_spec(params, needs)?.sizes(params.ckks())?.transit;
    if needs.bootstrap {
        bytes += params.bootstrapper()?.own_key_sizes().transit;
    }
    if needs.functional && !(needs.bootstrap && params.bootstraps_share_keys()) {
        bytes += params.functional()?.own_key_sizes().transit;
    }
    let paths = paths(params, needs)?;
    if paths.is_empty() {
        return Ok(bytes);
    }
    // Step 2: the keys of the tables and of the bridges.
    let lookups = params.lookups_for().during("map")?;
    Ok(bytes + lookups.key_bytes(table_lattice(params, needs)?, paths))
}

impl fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvaluationKeys")
            .field("params", &self.params.name())
            .field("arithmetic", &self.arithmetic)
            .field("ring_bridge", &self.ring.is_some())
            .field("linear_bridge", &self.linear.is_some())
            .field("bootstrap", &self.bootstrap.is_some())
            .field("functional", &self.functional.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientKey, Engine, LutEngine, Preset};

    /// A set that is specified with NTRU still uses RGSW unless NTRU is named.
    #[test]
    fn keys_are_rgsw_for_a_set_specified_with_ntru() {
        let mut spec = Preset::ToyInsecure.spec().unwrap();
        let lookup = spec.lookup.as_mut().unwrap();
        let ntru = lwe::NtruSpec::for_degree(lookup.ring_degree, lookup.security).unwrap().unwrap();
        lookup.engine = lwe::Engine::Ntru(ntru);
        let client = ClientKey::generate(&Params::new(spec).unwrap()).unwrap();
        for (needs, name) in [
            (Needs::new().map(), "rgsw"),
            (Needs::new().map_with([Engine::Corrected]), "rgsw"),
            (Needs::new().map_with([Engine::Ntru]), "ntru"),
        ] {
            let keys = client.evaluation_keys(&needs).unwrap();
            assert_eq!(LutEngine::of(&keys.tables.unwrap().lattice).name(), name);
        }
    }
}
