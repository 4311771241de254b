//! Parameters: presets by name, and the checked set with everything that follows from it.

use std::{fmt, ops::RangeInclusive, sync::Arc};

use bellerophon_ckks::{
    self as ckks, Chain, Levels,
    dft::{S2cOptions, SlotsToCoeffs},
    linear::Giants,
    mod1::{Mod1, Mod1Spec},
};
use bellerophon_lwe::{self as lwe, RgswGadget};
use bellerophon_mlwe::{SecretKind, Security};
use bellerophon_ring::prime;

use crate::{Accuracy, Error, Needs, Result, bridge::Bridge, keys};

/// A named parameter set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// Arithmetic and any function, 128 bits: 2^14 slots, look-up tables of degree 4096 read with
    /// an LWE secret of dimension 1024 and weight 192, whose small norm halves the error of a
    /// look-up against a dense one. On the domain [-8, 8] the mean error of a look-up is 2^-10.1
    /// for the sigmoid, 2^-9.0 for tanh, 2^-7.1 for ReLU; the keys of a program with products and
    /// look-ups take 469 MB in transit.
    Functions,
    /// The twin of [`Functions`](Self::Functions) whose secrets are all dense: for those who
    /// distrust estimates of sparse ones. On [-8, 8] the mean error of a look-up is 2^-9.3 for the
    /// sigmoid, 2^-8.3 for tanh, 2^-6.3 for ReLU.
    FunctionsDense,
    /// The shape of [`Functions`](Self::Functions) in tiny dimensions, for tests and for trying
    /// the interface. It protects nothing.
    ToyInsecure,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 3] = [Self::Functions, Self::FunctionsDense, Self::ToyInsecure];

    /// The name on command lines and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::FunctionsDense => "functions-dense",
            Self::ToyInsecure => "toy-insecure",
        }
    }

    /// The specification behind the name.
    ///
    /// # Errors
    /// None for the presets of this version; prime search can fail in principle.
    pub fn spec(self) -> Result<ParamsSpec> {
        // One prime of 45 bits, which the look-up ring shares; 15 primes of 44 bits, the scale;
        // three special primes below 2^50. For N = 2^15 that is 855 of 868 bits.
        let toy = self == Self::ToyInsecure;
        let security = if toy { Security::Insecure } else { Security::Bits128 };
        let chain = Chain {
            degree: if toy { 1 << 11 } else { 1 << 15 },
            first_bits: 45,
            levels: vec![Levels::single(44, 15)],
            special: (50, 3),
        };
        let slots = ckks::ParamsSpec::from_chain(&chain, 44, security)?;
        let (dimension, ring_degree) = if toy { (64, 1 << 10) } else { (1 << 10, 1 << 12) };
        // The noise that keeps log2(q / sigma) a bit below the bound of the security table:
        // 23.3 for weight 192, 25.0 for a dense secret, at q just below 2^28.
        let (secret, sigma) = match self {
            Self::Functions => (SecretKind::Sparse(192), 54.0),
            Self::FunctionsDense => (SecretKind::Ternary, 16.0),
            Self::ToyInsecure => (SecretKind::Sparse(16), 3.2),
        };
        let lookup = lwe::ParamsSpec {
            dimension,
            modulus: prime::ntt_primes_below(dimension, 28, 1, &[])?[0].value(),
            secret,
            sigma,
            key_switch_base_log: 2,
            key_switch_digits: 14,
            ring_degree,
            ring_modulus: slots.lattice.q[0],
            // Plain tables: two digits over one prime, six transforms a step.
            gadget: RgswGadget::Digits { base_log: 16, count: 2 },
            ring_secret: SecretKind::Ternary,
            ring_sigma: 3.2,
            security,
        };
        Ok(ParamsSpec { name: self.name().into(), slots, lookup, log2_failure: -60.0 })
    }
}

impl std::str::FromStr for Preset {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|p| p.name()).collect();
            format!("no preset {name:?}: there are {}", names.join(", "))
        })
    }
}

/// Everything that a parameter set is made of; [`Params::new`] checks it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamsSpec {
    /// A name for reports.
    pub name: String,
    /// Arithmetic on slots: ring, modulus chain, scale.
    pub slots: ckks::ParamsSpec,
    /// Look-ups: the LWE secret, its key switches, the ring of the tables. Its ring modulus must
    /// be the first prime of the slots' chain.
    pub lookup: lwe::ParamsSpec,
    /// `log2` of the probability that one value of one look-up comes back as garbage.
    pub log2_failure: f64,
}

/// Levels that the homomorphic decoding takes.
const LOWERING_LEVELS: usize = 2;

/// `log2` of the scale at which it leaves the values: far enough below the table's that an
/// integer factor makes up the difference for any domain, far enough above the noise.
pub(crate) const LOG_LOWERED_SCALE: i32 = 28;

/// The homomorphic decoding of full vectors, which serves shorter ones too, since these repeat.
pub(crate) fn lowering(slots: &ckks::Params, encode_ahead: bool) -> Result<SlotsToCoeffs> {
    let options = S2cOptions {
        levels: LOWERING_LEVELS,
        output_level: 0,
        scale: 2f64.powi(LOG_LOWERED_SCALE),
        encode_ahead,
        giants: Giants::Direct,
    };
    Ok(SlotsToCoeffs::new(slots, slots.max_slots(), options)?)
}

/// A weight that the LWE secret exceeds with probability below `2^-60`.
pub(crate) fn largest_weight(lookup: &lwe::Params) -> usize {
    let n = lookup.dimension();
    match lookup.spec().secret {
        SecretKind::Sparse(weight) => weight,
        // Binomial with p = 2/3: nine standard deviations above the mean.
        _ => (2.0 / 3.0 * n as f64 + 9.0 * (2.0 / 9.0 * n as f64).sqrt()).min(n as f64) as usize,
    }
}

/// A checked parameter set. Cheap to clone: the contents stand behind an `Arc`.
#[derive(Clone)]
pub struct Params(Arc<Inner>);

struct Inner {
    name: String,
    slots: ckks::Params,
    lookup: lwe::Params,
    log2_failure: f64,
    to_coefficients: SlotsToCoeffs,
    reduction: Mod1,
}

impl Params {
    /// A preset.
    ///
    /// # Errors
    /// None for the presets of this version.
    pub fn preset(preset: Preset) -> Result<Self> {
        Self::new(preset.spec()?)
    }

    /// Checks a specification: sizes, primes, security of every key, room for the bridge.
    ///
    /// # Errors
    /// Those of the layers below, which name what falls short; [`Error::Bridge`] when slots and
    /// look-ups do not fit together.
    pub fn new(spec: ParamsSpec) -> Result<Self> {
        let slots = ckks::Params::new(spec.slots)?;
        let lookup = lwe::Params::new(spec.lookup)?;
        let first = slots.lattice().q().modulus(0);
        if first != lookup.ring_modulus() {
            return Err(Error::Bridge {
                reason: format!(
                    "the tables stand modulo {}, the lowest level of the slots modulo {}: need \
                     one prime for both",
                    lookup.ring_modulus().value(),
                    first.value()
                ),
            });
        }
        let rank = slots.lattice().rank();
        if rank != 1 {
            let reason = format!("slots over a module of rank {rank}: the way down needs rank 1");
            return Err(Error::Bridge { reason });
        }
        if !(-500.0..0.0).contains(&spec.log2_failure) {
            let reason = format!(
                "failure probability 2^{}: need an exponent from -500 to below 0",
                spec.log2_failure
            );
            return Err(Error::Bridge { reason });
        }
        let reduction = Mod1::new(&Mod1Spec {
            weight: largest_weight(&lookup),
            // Half of it; the other half is the guard band of the tables.
            log2_failure: spec.log2_failure - 1.0,
            log2_error: -22.0,
            arcsine: None,
            spare: 0,
        })?;
        let top = slots.max_level();
        let least = LOWERING_LEVELS + 1 + reduction.depth();
        if top < least {
            return Err(Error::Bridge {
                reason: format!(
                    "a look-up takes {} levels on the way down and {} on the way back, the chain \
                     has {top}: add primes",
                    LOWERING_LEVELS,
                    1 + reduction.depth()
                ),
            });
        }
        Ok(Self(Arc::new(Inner {
            to_coefficients: lowering(&slots, false)?,
            name: spec.name,
            slots,
            lookup,
            log2_failure: spec.log2_failure,
            reduction,
        })))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Number of values in one ciphertext, at most.
    pub fn slots(&self) -> usize {
        self.0.slots.max_slots()
    }

    /// Multiplications in a row that a fresh ciphertext allows.
    pub fn levels(&self) -> usize {
        self.0.slots.max_level()
    }

    /// The level at which the result of a look-up comes out. [`map_levels`](Self::map_levels) of
    /// it are needed for the next look-up, the rest is free for arithmetic in between.
    pub fn level_after_map(&self) -> usize {
        self.levels() - 1 - self.0.reduction.depth()
    }

    /// Levels that a ciphertext must have left when it enters a look-up.
    pub fn map_levels(&self) -> usize {
        LOWERING_LEVELS
    }

    /// Estimated classical security in bits: the smallest over all published keys, default model
    /// of the lattice estimator.
    pub fn security_bits(&self) -> f64 {
        self.0.slots.lattice().security_bits().min(self.0.lookup.security_bits())
    }

    /// `log2` of the probability that one value of one look-up comes back as garbage.
    pub fn log2_failure(&self) -> f64 {
        self.0.log2_failure
    }

    /// The predicted law of the error of [`Evaluator::map`](crate::Evaluator::map), for values
    /// uniform in the domain.
    ///
    /// # Errors
    /// [`Error::Domain`] and [`Error::DomainScale`] for domains that no look-up takes, or an error
    /// that names the argument at which `f` is not finite.
    pub fn map_accuracy(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<Accuracy> {
        Bridge::new(self, &domain)?.accuracy(f)
    }

    /// What [`EvaluationKeys::byte_len`](crate::EvaluationKeys::byte_len) of the keys for a
    /// program will be, before they are made.
    ///
    /// # Errors
    /// None for parameters that [`Params::new`] accepts.
    pub fn evaluation_key_bytes(&self, needs: &Needs) -> Result<usize> {
        keys::predicted_byte_len(self, needs)
    }

    /// The parameters of the arithmetic on slots.
    pub fn arithmetic(&self) -> &ckks::Params {
        &self.0.slots
    }

    /// The parameters of the look-ups.
    pub fn lookup(&self) -> &lwe::Params {
        &self.0.lookup
    }

    /// The plan of the homomorphic decoding on the way down, its matrices not yet encoded.
    pub(crate) fn to_coefficients(&self) -> &SlotsToCoeffs {
        &self.0.to_coefficients
    }

    /// The plan of the reduction modulo 1 on the way back (step 10 of PEGASUS, Fig. 6).
    pub fn reduction(&self) -> &Mod1 {
        &self.0.reduction
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.0.slots.fingerprint() == other.0.slots.fingerprint()
            && self.0.lookup.spec() == other.0.lookup.spec()
            && self.0.log2_failure == other.0.log2_failure
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
            "{}: {} slots, {} levels ({} after a look-up, which takes {}), {:.0}-bit security \
             (slots: N = {}, log2 QP = {:.0}; look-ups: n = {}, {} secret, tables of degree {}), \
             failure probability 2^{:.0} per value looked up",
            self.name(),
            self.slots(),
            self.levels(),
            self.level_after_map(),
            self.map_levels(),
            self.security_bits().floor(),
            lattice.degree(),
            lattice.log2_modulus(),
            self.0.lookup.dimension(),
            self.0.lookup.spec().secret,
            self.0.lookup.ring_degree(),
            self.log2_failure(),
        )
    }
}
