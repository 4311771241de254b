//! The checked set with everything that follows from it.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use bellerophon_ckks::{
    self as ckks, FailureProbability,
    bootstrap::{BootstrapSpec, Bootstrapper},
    choose::{Choice, Requirements},
};
use bellerophon_lwe as lwe;
use bellerophon_ring::wire::Fingerprint;

use crate::{Error, Needs, Preset, Result, keys, lookups::Lookups, promises};

/// Everything that a parameter set is made of; [`Params::new`] checks it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamsSpec {
    /// A name for reports.
    pub name: String,
    /// Arithmetic on slots: ring, modulus chain, scale.
    pub slots: ckks::ParamsSpec,
    /// Look-ups, if there are any: the LWE secret, its key switches, the ring of the tables. Its
    /// ring modulus must be the first prime of the slots' chain.
    pub lookup: Option<lwe::ParamsSpec>,
    /// `log2` of the probability that one value of one look-up comes back as garbage.
    pub log2_failure: f64,
    /// Nonzero coefficients of the sparse secret of the ring bridge
    /// ([`repack::RingBridge`](crate::repack::RingBridge)): it stands in the ring of the tables, under
    /// the lowest prime and a special one of 47 bits alone. Without it, look-ups go over the linear
    /// bridge.
    pub ring_bridge: Option<usize>,
    /// How vectors are refreshed, if they are. It has its own
    /// [failure probability](BootstrapSpec::log2_failure), for a whole vector.
    pub refresh: Option<BootstrapSpec>,
}

impl ParamsSpec {
    /// Arithmetic alone, neither look-ups nor refreshing.
    pub fn arithmetic(name: impl Into<String>, slots: ckks::ParamsSpec) -> Self {
        Self {
            name: name.into(),
            slots,
            lookup: None,
            log2_failure: -60.0,
            ring_bridge: None,
            refresh: None,
        }
    }
}

/// A checked parameter set. Cheap to clone: the contents stand behind an `Arc`.
#[derive(Clone)]
pub struct Params(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    name: String,
    slots: ckks::Params,
    lookups: Option<Lookups>,
    /// Its matrices not encoded: that is for the server.
    bootstrapper: Option<Arc<Bootstrapper>>,
    choice: Option<Choice>,
    /// Computed when it is asked for first.
    pub(crate) fingerprint: OnceLock<Fingerprint>,
}

impl Params {
    /// A preset.
    ///
    /// # Errors
    /// None for the presets of this version.
    pub fn preset(preset: Preset) -> Result<Self> {
        Self::new(preset.spec()?)
    }

    /// The smallest secure set for arithmetic that meets the requirements, with refreshing if they
    /// ask for it; no look-ups. [`choice`](Self::choice) explains it.
    ///
    /// # Errors
    /// Those of [`Requirements::choose`], which name the nearest that can be had.
    pub fn choose(requirements: &Requirements) -> Result<Self> {
        let choice = requirements.choose()?;
        let bootstrapper = choice.refreshing().map(|refreshing| refreshing.bootstrapper().clone());
        Self::checked("chosen".into(), choice.params().clone(), None, bootstrapper, Some(choice))
    }

    /// Checks a specification: sizes, primes, security of every key, room for the bridge and for
    /// refreshing. What it promises when printed is tried on the simulator: as many products in a row as
    /// there are levels, a refresh of what they leave, a look-up on `[-1, 1]` over every bridge.
    ///
    /// Look-ups and refreshing go together on the chain of
    /// [`BootstrapSpec::chain`](bellerophon_ckks::bootstrap::BootstrapSpec::chain): results of tables come
    /// up at the levels for programs, below those of the refresh.
    ///
    /// # Errors
    /// Those of the layers below, which name what falls short; [`Error::Bridge`] when slots, look-ups and
    /// refreshing do not fit together, or a promise cannot be kept.
    pub fn new(spec: ParamsSpec) -> Result<Self> {
        let slots = ckks::Params::new(spec.slots)?;
        let bootstrapper = match spec.refresh {
            Some(refresh) => {
                let plain = BootstrapSpec { encode_ahead: false, ..refresh };
                Some(Arc::new(Bootstrapper::new(&slots, plain)?))
            }
            None => None,
        };
        let highest = levels(&slots, bootstrapper.as_deref());
        let (failure, ring) = (spec.log2_failure, spec.ring_bridge);
        let lookups =
            spec.lookup.map(|lookup| Lookups::new(&slots, lookup, failure, ring, highest));
        let lookups = lookups.transpose()?;
        Self::checked(spec.name, slots, lookups, bootstrapper, None)
    }

    pub(crate) fn checked(
        name: String,
        slots: ckks::Params,
        lookups: Option<Lookups>,
        bootstrapper: Option<Arc<Bootstrapper>>,
        choice: Option<Choice>,
    ) -> Result<Self> {
        let fingerprint = OnceLock::new();
        let inner = Inner { name, slots, lookups, bootstrapper, choice, fingerprint };
        let params = Self(Arc::new(inner));
        promises::check(&params)?;
        Ok(params)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How these parameters were chosen, if [`choose`](Self::choose) chose them: reasons, precision,
    /// sizes and times, in words when printed.
    pub fn choice(&self) -> Option<&Choice> {
        self.0.choice.as_ref()
    }

    /// Number of values in one ciphertext, at most.
    pub fn slots(&self) -> usize {
        self.0.slots.max_slots()
    }

    /// Multiplications in a row that a fresh ciphertext allows, whose results stay below what the lowest
    /// level holds ([`ckks::Params::capacity`] of one limb, about 1 for the presets with look-ups): with
    /// refreshing, those that a refreshed one allows, since the levels above are the refresh's own.
    pub fn levels(&self) -> usize {
        levels(&self.0.slots, self.0.bootstrapper.as_deref())
    }

    /// Estimated classical security in bits, default model of the lattice estimator: the smallest over
    /// all keys that the set can publish. These are the keys for arithmetic, for products, for look-ups
    /// on every engine with their bridges and for refreshing, those at the temporary rank of
    /// [`Needs::rotate_any`](crate::Needs::rotate_any), and those at the smaller ranks of
    /// [`ClientKey::reducing_keys`](crate::ClientKey::reducing_keys). Zero where nothing is known of one
    /// of them.
    ///
    /// The estimate is of single keys. That keys encrypt functions of the secrets under which they
    /// are made, in cycles, is an assumption on top (circular security), and so is what
    /// [`MapEngine::Ntru`](crate::MapEngine::Ntru) adds where it is named.
    pub fn security_bits(&self) -> f64 {
        let slots = self.0.slots.security_bits();
        let lookups = self.0.lookups.iter().map(|l| {
            let ring = l.ring().map_or(f64::INFINITY, |ring| ring.security_bits());
            l.security_bits().min(ring)
        });
        let refresh = self.0.bootstrapper.iter().map(|b| b.security_bits());
        lookups.chain(refresh).fold(slots, f64::min)
    }

    /// `log2` of the probability that one value of one look-up, or some value of one refreshed
    /// vector, comes back as garbage: the larger of the two. Arithmetic never fails like that:
    /// without either it is minus infinity.
    pub fn log2_failure(&self) -> f64 {
        let lookups = self.0.lookups.iter().map(Lookups::log2_failure);
        let refresh = self.0.bootstrapper.iter().map(|b| b.spec().log2_failure);
        lookups.chain(refresh).fold(f64::NEG_INFINITY, f64::max)
    }

    /// A bound on the probability that anything in a program comes back as garbage: the sum over its
    /// look-ups and refreshes, each as often as it happens. An evaluator adds up by itself what it does
    /// ([`Evaluator::failures`](crate::Evaluator::failures)).
    ///
    /// A value of [`map`](crate::Evaluator::map), of each function of [`maps`](crate::Evaluator::maps)
    /// and of each table and packing on LWE values counts once; one of
    /// [`map_to`](crate::Evaluator::map_to) `(order + 4) / 2` times, rounded up. A vector counts as
    /// refreshed in each round of `refresh_precisely`, and each time that an evaluator refreshes by
    /// itself: a [`Shadow`](bellerophon_ckks::shadow::Shadow) counts those
    /// ([`Report::refreshes`](bellerophon_ckks::shadow::Report::refreshes)).
    ///
    /// # Errors
    /// [`Error::NoLookUps`] and [`Error::NoRefresh`] for a program that the parameters do not serve.
    pub fn program_failure(
        &self,
        values_looked_up: u64,
        vectors_refreshed: u64,
    ) -> Result<FailureProbability> {
        let mut sum = FailureProbability::NONE;
        if values_looked_up > 0 {
            sum = sum.and(self.lookups()?.log2_failure(), values_looked_up);
        }
        if vectors_refreshed > 0 {
            sum = sum.and(self.bootstrapper()?.spec().log2_failure, vectors_refreshed);
        }
        Ok(sum)
    }

    /// What [`EvaluationKeys::byte_len`](crate::EvaluationKeys::byte_len) of the keys for a
    /// program will be, before they are made.
    ///
    /// # Errors
    /// As [`ClientKey::evaluation_keys`](crate::ClientKey::evaluation_keys) for needs that the parameters do
    /// not serve.
    pub fn evaluation_key_bytes(&self, needs: &Needs) -> Result<usize> {
        keys::predicted_byte_len(self, needs)
    }

    /// The parameters of the arithmetic on slots.
    pub fn arithmetic(&self) -> &ckks::Params {
        &self.0.slots
    }

    /// What look-ups take.
    ///
    /// # Errors
    /// [`Error::NoLookUps`] for parameters without them.
    pub fn lookups(&self) -> Result<&Lookups> {
        self.lookups_for("look-ups")
    }

    pub(crate) fn lookups_for(&self, op: &'static str) -> Result<&Lookups> {
        self.optional_lookups().ok_or_else(|| Error::NoLookUps { op, params: self.0.name.clone() })
    }

    pub(crate) fn optional_lookups(&self) -> Option<&Lookups> {
        self.0.lookups.as_ref()
    }

    /// How vectors are refreshed: levels, precision, security, keys. Its matrices are not encoded.
    ///
    /// # Errors
    /// [`Error::NoRefresh`] for parameters without refreshing.
    pub fn bootstrapper(&self) -> Result<&Arc<Bootstrapper>> {
        let bootstrapper = self.0.bootstrapper.as_ref();
        bootstrapper.ok_or_else(|| Error::NoRefresh { params: self.0.name.clone() })
    }
}

/// The highest level for programs.
pub(crate) fn levels(slots: &ckks::Params, bootstrapper: Option<&Bootstrapper>) -> usize {
    bootstrapper.map_or(slots.max_level(), Bootstrapper::output_level)
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        let refresh = |p: &Self| p.0.bootstrapper.as_ref().map(|b| b.spec().clone());
        self.0.slots == other.0.slots
            && self.0.lookups == other.0.lookups
            && refresh(self) == refresh(other)
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Params({self})")
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lattice = self.0.slots.lattice();
        write!(
            f,
            "{}: {} slots, {} levels, {:.0}-bit security; N = {}, log2 QP = {:.0}",
            self.name(),
            self.slots(),
            self.levels(),
            self.security_bits().floor(),
            lattice.degree(),
            lattice.log2_modulus(),
        )?;
        if lattice.rank() > 1 {
            let (rank, route) = (lattice.rank(), self.0.slots.route());
            write!(f, "; module rank {rank}, products relinearised {route}")?;
        }
        if let Some(lookups) = &self.0.lookups {
            let lwe = lookups.lattice();
            write!(
                f,
                "; look-ups: {} levels after one, which takes {}, n = {}, secret {}, tables of \
                 degree {}, failure probability 2^{:.0} per value looked up",
                lookups.level_after(),
                lookups.levels(),
                lwe.dimension(),
                lwe.spec().secret,
                lwe.ring_degree(),
                lookups.log2_failure(),
            )?;
            if let Some(ring) = lookups.ring() {
                let weight = ring.spec().weight;
                write!(f, "; ring bridge by way of a sparse secret of weight {weight}")?;
            }
        }
        if let Some(bootstrapper) = &self.0.bootstrapper {
            write!(
                f,
                "; refreshing: {} levels between two, from level {}, failure probability 2^{:.0} \
                 per vector",
                bootstrapper.levels(),
                bootstrapper.input_level(),
                bootstrapper.spec().log2_failure,
            )?;
        }
        Ok(())
    }
}
