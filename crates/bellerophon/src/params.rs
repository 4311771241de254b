//! Checked parameter sets with everything derived from them.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use bellerophon_circuits::{
    bootstrap::{BootstrapSpec, Bootstrapper},
    fbt::{FbtSpec, FunctionalBootstrapper},
    param_search::{ProgramBounds, SelectedParams},
};
use bellerophon_ckks as ckks;
use bellerophon_ckks::FailureProbability;
use bellerophon_lookup::planner::check_promises;
use bellerophon_lookup::{LutParams, LutSpec};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::wire::Fingerprint;

use crate::error;
use crate::preset::Preset;
use crate::spec::ParamsSpec;

/// A checked parameter set. Cheap to clone: the contents are behind an `Arc`.
#[derive(Clone)]
pub struct Params(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    name: String,
    slots: ckks::Params,
    lookups: Option<LutParams>,
    bootstraps: Bootstraps,
    choice: Option<SelectedParams>,
    /// Computed on first use.
    pub(crate) fingerprint: OnceLock<Fingerprint>,
}

/// The bootstrappers of a set. Their matrices are not encoded: the server encodes its own.
#[derive(Default)]
struct Bootstraps {
    bootstrap: Option<Arc<Bootstrapper>>,
    functional: Option<Arc<FunctionalBootstrapper>>,
}

impl Params {
    /// The parameter set of a preset.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for tables of more than 16 bits, and no other.
    pub fn preset(preset: Preset) -> Result<Self> {
        Self::new(preset.spec()?)
    }

    /// Searches the smallest secure set for arithmetic that meets the requirements, with
    /// bootstrapping if they ask for it, and without look-ups. [`choice`](Self::choice) explains
    /// the result.
    ///
    /// # Errors
    /// Those of [`ProgramBounds::choose`], which name the nearest requirements that can be met.
    pub fn choose(requirements: &ProgramBounds) -> Result<Self> {
        let choice = requirements.choose()?;
        // The search has already built the bootstrapper.
        let bootstrap = choice.bootstrap.as_ref().map(|selected| selected.bootstrapper.clone());
        let bootstraps = Bootstraps { bootstrap, functional: None };
        Self::checked("chosen".into(), choice.params.clone(), None, bootstraps, Some(choice))
    }

    /// Checks a specification: sizes, primes, security of every key, levels for the bridge and for
    /// bootstrapping. The simulator tries what the set promises when printed: as many products in a
    /// row as there are levels, a bootstrap of the result, and a look-up on `[-1, 1]` with each
    /// bridge.
    ///
    /// Look-ups and bootstrapping fit together on the modulus chain of
    /// [`BootstrapSpec::chain`](bellerophon_circuits::bootstrap::BootstrapSpec::chain): results of
    /// tables return at the levels for programs, below those of the bootstrap.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] if slots, look-ups and bootstrapping do not fit together, or if a
    /// promise cannot be kept; [`ErrorKind::Insecure`] for a key below the stated security.
    pub fn new(spec: ParamsSpec) -> Result<Self> {
        let (log2_failure, ring_bridge) = (spec.log2_failure, spec.ring_bridge);
        let lookup = spec.lookup.map(|tables| LutSpec {
            tables,
            log2_failure,
            ring_bridge,
            highest_level: usize::MAX,
        });
        let slots = ckks::Params::new(spec.slots)?;
        Self::over(spec.name, slots, lookup, spec.bootstrap, spec.functional)
    }

    /// Checks a specification over checked CKKS parameters, as [`new`](Self::new). The highest
    /// level of the look-ups is that of the whole set.
    pub(crate) fn over(
        name: String,
        slots: ckks::Params,
        lookup: Option<LutSpec>,
        bootstrap: Option<BootstrapSpec>,
        functional: Option<FbtSpec>,
    ) -> Result<Self> {
        // Step 1: the bootstrappers, without encoded matrices.
        let mut bootstraps = Bootstraps::default();
        if let Some(spec) = bootstrap {
            let plain = BootstrapSpec { encode_ahead: false, ..spec };
            bootstraps.bootstrap = Some(Arc::new(Bootstrapper::new(&slots, plain)?));
        }
        if let Some(spec) = functional {
            let plain = FbtSpec { encode_ahead: false, ..spec };
            bootstraps.functional = Some(Arc::new(FunctionalBootstrapper::new(&slots, plain)?));
        }
        // Step 2: look-ups, whose results return at most at the highest level for programs.
        let highest_level = bootstraps.levels(&slots);
        let lookups = lookup
            .map(|spec| LutParams::new(&slots, LutSpec { highest_level, ..spec }))
            .transpose()?;
        // Step 3: the promises, on the simulator.
        Self::checked(name, slots, lookups, bootstraps, None)
    }

    fn checked(
        name: String,
        slots: ckks::Params,
        lookups: Option<LutParams>,
        bootstraps: Bootstraps,
        choice: Option<SelectedParams>,
    ) -> Result<Self> {
        let fingerprint = OnceLock::new();
        let inner = Inner { name, slots, lookups, bootstraps, choice, fingerprint };
        let params = Self(Arc::new(inner));
        check_promises(&params)?;
        Ok(params)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The report of the parameter search if [`choose`](Self::choose) made this set: reasons,
    /// precision, sizes and times, in words when printed.
    pub fn choice(&self) -> Option<&SelectedParams> {
        self.0.choice.as_ref()
    }

    /// The largest number of values in one ciphertext. Vectors of integers and paired vectors
    /// ([`Modulo`](crate::Modulo)) hold twice as many.
    pub fn slots(&self) -> usize {
        self.0.slots.max_slots()
    }

    /// Multiplications in a row that a fresh ciphertext allows if its results stay below the
    /// capacity of the lowest level ([`ckks::Params::capacity`] of one limb, about 1 for the
    /// presets with look-ups). With bootstrapping, this is the number that a bootstrapped
    /// ciphertext allows: the levels above are reserved for the bootstrap. With functional
    /// bootstrapping alone, it is that of the result of the deepest series; the levels below its
    /// [input level](FunctionalBootstrapper::input_level) have primes too small for products of
    /// values near 1.
    pub fn levels(&self) -> usize {
        self.0.bootstraps.levels(&self.0.slots)
    }

    /// Estimated classical security in bits (default model of the lattice estimator): the minimum
    /// over all keys that the set can publish. These are the keys for arithmetic, for products, for
    /// look-ups with every engine and bridge, for bootstrapping, those at the temporary rank of
    /// [`Needs::rotate_any`](crate::Needs::rotate_any), and those at the smaller ranks of
    /// [`ClientKey::reducing_keys`](crate::ClientKey::reducing_keys). Zero if there is no estimate
    /// for one of them.
    ///
    /// The estimate covers single keys. Circular security is an additional assumption: keys encrypt
    /// functions of the secrets under which they are made, in cycles.
    /// [`Engine::Ntru`](crate::Engine::Ntru) adds its own assumptions where it is named.
    pub fn security_bits(&self) -> f64 {
        // The minimum over the keys of the slots, of look-ups, and of both kinds of bootstrapping.
        let slots = self.0.slots.security_bits();
        let lookups = self.0.lookups.iter().map(|lookups| lookups.security_bits());
        let bootstrap = self.0.bootstraps.bootstrap.iter().map(|b| b.security_bits());
        let functional = self.0.bootstraps.functional.iter().map(|b| b.security_bits());
        lookups.chain(bootstrap).chain(functional).fold(slots, f64::min)
    }

    /// `log2` of the failure probability of one value of one look-up, or of one bootstrapped
    /// vector, whichever is larger. A failure returns garbage. Arithmetic never fails like that:
    /// without look-ups and bootstrapping this is minus infinity.
    pub fn log2_failure(&self) -> f64 {
        let lookups = self.0.lookups.iter().map(|lookups| lookups.spec().log2_failure);
        let bootstrap = self.0.bootstraps.bootstrap.iter().map(|b| b.spec().log2_failure);
        let functional = self.0.bootstraps.functional.iter().map(|b| b.spec().log2_failure);
        lookups.chain(bootstrap).chain(functional).fold(f64::NEG_INFINITY, f64::max)
    }

    /// A bound on the probability that any operation of a program fails and returns garbage: the
    /// sum over its look-ups and bootstraps. An evaluator counts its own, functional bootstraps
    /// included ([`Evaluator::failures`](crate::Evaluator::failures)).
    ///
    /// A value counts once for a plain table, for each function of
    /// [`map_many`](crate::Evaluator::map_many), and for each table and packing of LWE values;
    /// `(order + 4) / 2` times, rounded up, for a corrected look-up
    /// ([`MapRequest::typical`](crate::MapRequest::typical)). A vector counts in each round of
    /// `bootstrap_iterated` and at each automatic bootstrap, of which a simulator counts the
    /// [number](bellerophon_ckks::simulator::Report::bootstraps).
    pub fn program_failure(
        &self,
        values_looked_up: u64,
        vectors_bootstrapped: u64,
    ) -> Result<FailureProbability> {
        let mut sum = FailureProbability::NONE;
        if values_looked_up > 0 {
            sum = sum.and(self.lookups()?.spec().log2_failure, values_looked_up);
        }
        if vectors_bootstrapped > 0 {
            sum = sum.and(self.bootstrapper()?.spec().log2_failure, vectors_bootstrapped);
        }
        Ok(sum)
    }

    /// The CKKS parameters: arithmetic on slots.
    pub fn ckks(&self) -> &ckks::Params {
        &self.0.slots
    }

    /// The look-up part of the set.
    pub fn lookups(&self) -> Result<&LutParams> {
        self.optional_lookups().ok_or_else(|| error::no_look_ups(self.0.name.clone()))
    }

    pub(crate) fn optional_lookups(&self) -> Option<&LutParams> {
        self.0.lookups.as_ref()
    }

    /// The bootstrapper: levels, precision, security, keys. Its matrices are not encoded.
    pub fn bootstrapper(&self) -> Result<&Arc<Bootstrapper>> {
        let bootstrapper = self.0.bootstraps.bootstrap.as_ref();
        bootstrapper.ok_or_else(|| error::no_bootstrap(self.0.name.clone()))
    }

    /// The functional bootstrapper: levels, scales, keys. Its matrices are not encoded.
    pub fn functional(&self) -> Result<&Arc<FunctionalBootstrapper>> {
        let functional = self.0.bootstraps.functional.as_ref();
        functional.ok_or_else(|| error::no_functional(self.0.name.clone()))
    }

    /// Whether both kinds of bootstrapping take the same keys, as on the chain of
    /// [`FbtSpec::beside`].
    pub(crate) fn bootstraps_share_keys(&self) -> bool {
        let Bootstraps { bootstrap, functional } = &self.0.bootstraps;
        let both = bootstrap.as_ref().zip(functional.as_ref());
        both.is_some_and(|(b, f)| b.raising().shares_keys(f.raising()))
    }
}

impl Bootstraps {
    /// The highest level for programs: the output level of a bootstrap, if there is one.
    fn levels(&self, slots: &ckks::Params) -> usize {
        // Keys for products serve every level, so the higher output level counts.
        let bootstrap = self.bootstrap.iter().map(|b| b.output_level());
        let functional = self.functional.iter().map(|f| f.least_output_level());
        bootstrap.chain(functional).max().unwrap_or(slots.max_level())
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        // Names and reports do not count: equal sets have equal specifications.
        let bootstrap = |p: &Self| p.0.bootstraps.bootstrap.as_ref().map(|b| b.spec().clone());
        let functional = |p: &Self| p.0.bootstraps.functional.as_ref().map(|b| b.spec().clone());
        self.0.slots == other.0.slots
            && self.0.lookups == other.0.lookups
            && bootstrap(self) == bootstrap(other)
            && functional(self) == functional(other)
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Params({self})")
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arithmetic on slots, of every set.
        let lattice = self.0.slots.lattice();
        write!(
            f,
            "{}: {} slots, {} levels, {:.0}-bit security; N = {}, log2 QP = {:.0}",
            self.name(),
            self.slots(),
            self.levels(),
            self.security_bits().floor(),
            lattice.spec().degree,
            lattice.log2_modulus(),
        )?;
        // Rank and route are printed for module ranks above 1 only.
        if lattice.spec().rank > 1 {
            let (rank, route) = (lattice.spec().rank, self.0.slots.relin_strategy());
            write!(f, "; module rank {rank}, products relinearized {route}")?;
        }
        if let Some(lookups) = &self.0.lookups {
            write_lookups(f, lookups)?;
        }
        self.0.bootstraps.fmt(f)
    }
}

/// Look-ups, with the ring bridge if there is one.
fn write_lookups(f: &mut fmt::Formatter<'_>, lookups: &LutParams) -> fmt::Result {
    let lwe = lookups.lwe_params();
    write!(
        f,
        "; look-ups: {} levels after one, which takes {}, n = {}, secret {}, tables of \
                 degree {}, failure probability 2^{:.0} per value",
        lookups.level_after(),
        lookups.levels(),
        lwe.spec().dimension,
        lwe.spec().secret,
        lwe.spec().ring_degree,
        lookups.spec().log2_failure,
    )?;
    if let Some(ring) = lookups.ring() {
        let weight = ring.spec().weight;
        write!(f, "; ring bridge with a sparse secret of weight {weight}")?;
    }
    Ok(())
}

/// Both kinds of bootstrapping.
impl fmt::Display for Bootstraps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(functional) = &self.functional {
            write!(
                f,
                "; functional bootstrapping: series of up to {} levels, {} levels between two \
                 bootstraps, from level {}, failure probability 2^{:.0} per vector and function",
                functional.spec().series.len(),
                functional.least_output_level() - functional.input_level(),
                functional.input_level(),
                functional.spec().log2_failure,
            )?;
        }
        if let Some(bootstrapper) = &self.bootstrap {
            write!(
                f,
                "; bootstrapping: {} levels between two bootstraps, from level {}, failure \
                 probability 2^{:.0} per vector",
                bootstrapper.levels(),
                bootstrapper.input_level(),
                bootstrapper.spec().log2_failure,
            )?;
        }
        Ok(())
    }
}
