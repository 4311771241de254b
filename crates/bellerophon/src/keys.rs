//! The public evaluation keys of a program.

use std::fmt;

use bellerophon_circuits::{bootstrap::BootstrapKeys, statistics::DataTable};
use bellerophon_ckks as ckks;
use bellerophon_ckks::KeyLevels;
use bellerophon_lookup::{Bridge, Engine, KeyProgress, LookupSecrets, LutKeys, Watch};
use bellerophon_lwe as lwe;
use bellerophon_mlwe::{self as mlwe, KeyId, RankHoistedKeys, SecretKey};
use bellerophon_ring::{Result, error::operation};
use rand::CryptoRng;

use crate::error;
use crate::needs::Needs;
use crate::params::Params;

/// All public keys that a server needs for a program. Cheap to clone: the keys are shared.
#[derive(Clone)]
pub struct EvaluationKeys {
    pub(crate) params: Params,
    pub(crate) arithmetic: ckks::EvaluationKeys,
    pub(crate) lookups: LutKeys,
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
        let bridges = bridges(params, needs)?;
        let tables = if bridges.is_empty() { 0 } else { 1 + bridges.len() };
        let shared = needs.bootstrap && needs.functional && params.bootstraps_share_keys();
        let bootstraps = usize::from(needs.bootstrap) + usize::from(needs.functional && !shared);
        let total = spec.count(params.ckks()) + tables + bootstraps;
        let mut progress = KeyProgress::begin(watch, total)?;
        // Step 2: the keys of look-ups and of their bridges.
        let mut keys = Self::none(params, slots.id());
        if let Some(secrets) = lookups.filter(|_| !bridges.is_empty()) {
            let (lookups, lattice) = (params.lookups()?, table_lattice(params, needs)?);
            keys.lookups =
                LutKeys::generate(lookups, lattice, &bridges, slots, secrets, &mut progress, rng)?;
        }
        // Step 3: the keys that only bootstrapping needs: of S2C, and of the sparse secret.
        if needs.bootstrap {
            let raising = params.bootstrapper()?.raising();
            keys.bootstrap = Some(BootstrapKeys::generate(raising, slots, rng)?);
            progress.advance()?;
        }
        if shared {
            keys.functional = keys.bootstrap.clone();
        } else if needs.functional {
            let raising = params.functional()?.raising();
            keys.functional = Some(BootstrapKeys::generate(raising, slots, rng)?);
            progress.advance()?;
        }
        // Step 4: relinearization and Galois keys of the slots.
        let made = || -> Result<()> { progress.advance() };
        let ckks = params.ckks();
        keys.arithmetic = ckks::EvaluationKeys::generate_observed(ckks, slots, &spec, rng, made)?;
        keys.of_one_client()
    }

    /// The keys of a client, of which there are none yet.
    pub(crate) fn none(params: &Params, key: KeyId) -> Self {
        let arithmetic = ckks::EvaluationKeys::none(params.ckks(), key);
        let (bootstrap, functional) = (None, None);
        Self {
            params: params.clone(),
            arithmetic,
            lookups: LutKeys::default(),
            bootstrap,
            functional,
        }
    }

    /// Checks keys that were generated or read one by one.
    pub(crate) fn of_one_client(self) -> Result<Self> {
        // Every key carries the identity of its client; all must agree.
        let needed = self.id();
        let bootstraps = self.bootstrap.iter().chain(&self.functional);
        let bootstraps = bootstraps.map(BootstrapKeys::secret_id);
        let foreign = self.lookups.ids().chain(bootstraps).find(|&id| id != needed);
        match foreign {
            Some(found) => Err(mlwe::error::key_mismatch(found, needed))?,
            None => Ok(self),
        }
    }

    /// Whether the key set has both kinds of bootstrapping with the same keys.
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
        let own = self.functional.iter().filter(|_| !self.bootstraps_share_keys());
        let bootstraps: usize = self.bootstrap.iter().chain(own).map(BootstrapKeys::byte_len).sum();
        self.arithmetic.byte_len() + self.lookups.byte_len() + bootstraps
    }
}

/// The relinearization and Galois keys of a program, each at the level at which it is used.
pub(crate) fn key_spec(params: &Params, needs: &Needs) -> Result<KeyLevels> {
    let needs = &needs.resolved(params);
    let top = params.levels();
    let mut spec = needs.keys.clone().rotate(needs.rotations.iter().copied(), top);
    let unserved = |need: &'static str, reason: String| {
        Err(error::unserved(need, params.name().into(), reason))
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
        let table = DataTable::new(rows, columns).and_then(|table| match table.slots() {
            found if found > slots => Err(ckks::error::too_many_values(found, slots)),
            _ => Ok(table),
        });
        match table {
            Ok(table) => spec = spec.and(&table.keys(top)),
            Err(error) => return unserved("statistics", error.to_string()),
        }
    }
    // Step 2: the keys of look-ups: SlotsToCoeffs, and packing with each bridge.
    for bridge in bridges(params, needs)? {
        spec = spec.and(&params.lookups()?.key_levels(bridge, needs.corrected)?);
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

/// The bridges that a program asks for.
fn bridges(params: &Params, needs: &Needs) -> Result<Vec<Bridge>> {
    needs.bridges().into_iter().map(|asked| params.lookups()?.bridge(asked)).collect()
}

/// The parameters of the tables that a program asks for.
fn table_lattice<'p>(params: &'p Params, needs: &Needs) -> Result<&'p lwe::Params> {
    let lookups = params.lookups()?;
    // Those of NTRU serve corrected look-ups as they are.
    lookups.on(match needs.engine {
        Some(Engine::Ntru) => Engine::Ntru,
        _ if needs.corrected => Engine::Corrected,
        _ => Engine::Rgsw,
    })
}

impl Params {
    /// Predicts [`EvaluationKeys::byte_len`](crate::EvaluationKeys::byte_len) of the keys for a
    /// program, before they are made.
    pub fn evaluation_key_bytes(&self, needs: &Needs) -> Result<usize> {
        operation("evaluation_key_bytes", || self.key_bytes(needs))
    }

    fn key_bytes(&self, needs: &Needs) -> Result<usize> {
        // Step 1: keys of the slots and of bootstrapping.
        let needs = &needs.resolved(self);
        let mut bytes = key_spec(self, needs)?.sizes(self.ckks())?.transit;
        if needs.bootstrap {
            bytes += self.bootstrapper()?.own_key_sizes().transit;
        }
        if needs.functional && !(needs.bootstrap && self.bootstraps_share_keys()) {
            bytes += self.functional()?.own_key_sizes().transit;
        }
        let bridges = bridges(self, needs)?;
        if bridges.is_empty() {
            return Ok(bytes);
        }
        // Step 2: the keys of the tables and of the bridges.
        let lookups = self.lookups()?;
        Ok(bytes + lookups.key_bytes(table_lattice(self, needs)?, bridges))
    }
}

impl fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvaluationKeys")
            .field("params", &self.params.name())
            .field("arithmetic", &self.arithmetic)
            .field("ring_bridge", &self.lookups.ring.is_some())
            .field("linear_bridge", &self.lookups.linear.is_some())
            .field("bootstrap", &self.bootstrap.is_some())
            .field("functional", &self.functional.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientKey;
    use crate::preset::{Preset, Toy};

    /// A set that is specified with NTRU still uses RGSW unless NTRU is named.
    #[test]
    fn keys_are_rgsw_for_a_set_specified_with_ntru() {
        let mut spec = Preset::Insecure(Toy::Functions).spec().unwrap();
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
            assert_eq!(Engine::of(&keys.lookups.tables.unwrap().lwe_params).name(), name);
        }
    }
}
