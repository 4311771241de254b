//! Parameter sets by name.

use bellerophon_circuits::{bootstrap::BootstrapSpec, fbt::FbtSpec};
use bellerophon_ckks as ckks;
use bellerophon_ckks::{LevelGroup, ModulusChain};
use bellerophon_lwe::{self as lwe, Engine, RgswGadget};
use bellerophon_mlwe::{SecretKind, Security};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, prime};

use crate::error;
use crate::spec::ParamsSpec;

/// A named parameter set. Two values are equal if they name one set.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Preset {
    /// Arithmetic and arbitrary functions, 128-bit security, 2^14 slots. Look-up tables have degree
    /// 4096; the LWE secret has dimension 1024 and weight 192. Its small norm halves the error of a
    /// look-up compared with a dense secret.
    Functions,
    /// [`Functions`](Self::Functions) with tables of degree 2^13, the largest for NTRU
    /// ([`Engine::Ntru`](crate::Engine)): slower look-ups with half the error.
    FunctionsFine,
    /// [`Functions`](Self::Functions) with tables of degree 2^14, without NTRU: still slower
    /// look-ups with about a third of the error.
    FunctionsPrecise,
    /// Arithmetic with bootstrapping, 128-bit security, no look-ups: 2^15 slots and 11 levels
    /// between two bootstraps of values in [-1, 1]. The bootstrap of a vector fails with
    /// probability 2^-60. Both secrets are sparse: one of weight 1024, and one of weight 32 under
    /// the lowest modulus only. The server also keeps encoded matrices.
    Bootstrapping,
    /// Everything from one key set, 128-bit security, 2^15 slots: arithmetic, functions by look-up,
    /// look-ups of single values ([`Evaluator::tables`](crate::Evaluator::tables)), bootstrapping
    /// of values in [-1, 1], and functional bootstrapping of whole vectors
    /// ([`Needs::functional`](crate::Needs::functional), which adds no keys to those of the
    /// bootstrap). A program can use all of them in turns without end.
    ///
    /// Eleven levels lie between two bootstraps, and as many between two look-ups. Tables of
    /// [`Functions`](Self::Functions) have the same accuracy. A smooth function of degree up to 31
    /// takes operands from level 2 on and returns with 7 levels above that, one of degree up to 63
    /// with 6; an exact table of 256 entries with 4, of 16 entries with 8. Larger tables take
    /// [`Tables`](Self::Tables).
    Full,
    /// Exact tables of up to 2^bits entries on up to 65536 integers per vector, 128-bit security:
    /// the smallest of five sets, for 1, 4, 8, 12 and 16 bits, with 4, 3, 3, 3 and 1 levels between
    /// two tables. A table fails on a vector with a probability below 2^-128.
    ///
    /// Tables of up to 8 bits follow each other without end, except for tables that differ from a
    /// constant in a single entry: at 8 bits, up to 15 of those. Results of 12 and 16 bits are not
    /// precise enough for another table of as many entries at that failure probability.
    Tables(u32),
    /// Exact tables of up to 2^bits entries, at most 16, on up to 32768 integers per vector,
    /// 128-bit security: [`Tables`](Self::Tables) in a ring of half the degree, faster, with
    /// smaller keys. There are two sets, for 1 and 4 bits, with 4 and 2 levels between two tables.
    /// [`tables_for`](Self::tables_for) chooses.
    ///
    /// A table fails on a vector with a probability below 2^-128, and tables follow each other
    /// without end. Small scales limit what else is possible: sums of many vectors, and results
    /// modulo a number far larger than that of the entries, are refused sooner than in the larger
    /// ring.
    SmallTables(u32),
    /// Smooth functions of up to 65536 reals per vector by functional bootstrapping, 128-bit
    /// security, with 4 levels between two functions.
    Smooth,
    /// A set with dense secrets, for users who distrust security estimates of sparse secrets.
    Dense(Dense),
    /// A set in toy dimensions, for tests and experiments. It protects nothing.
    Insecure(Toy),
}

/// The sets in toy dimensions ([`Preset::Insecure`]): the operations and refusals of the preset of
/// the same name, within seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toy {
    /// [`Preset::Functions`] with 1024 slots. Look-ups have larger errors.
    Functions,
    /// [`Preset::Bootstrapping`] with 512 slots and 3 levels between two bootstraps.
    Bootstrapping,
    /// [`Preset::Full`] with 1024 slots and the same levels. Look-ups have larger errors.
    Full,
    /// [`Preset::Tables(8)`](Preset::Tables) with up to 1024 integers per vector.
    Tables,
    /// [`Preset::Smooth`] with up to 1024 reals per vector.
    Smooth,
}

/// The sets that exist with dense secrets ([`Preset::Dense`]).
///
/// Those with look-ups have no ring bridge: they support
/// [`Evaluator::map`](crate::Evaluator::map) and no other call for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dense {
    /// [`Preset::Functions`] with dense secrets only: look-ups have twice the error.
    Functions,
    /// [`Preset::FunctionsFine`] with dense secrets only.
    FunctionsFine,
    /// [`Preset::FunctionsPrecise`] with dense secrets only.
    FunctionsPrecise,
    /// [`Preset::Bootstrapping`] with a dense secret, except for the one of weight 32 under the
    /// lowest modulus only: 12 levels between two bootstraps, and about 3 bits less precision.
    Bootstrapping,
    /// [`Preset::SmallTables`] with a dense secret, except for the one of weight 32 under the
    /// lowest modulus only: larger scales, and slower tables.
    SmallTables(u32),
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 24] = [
        Self::Functions,
        Self::FunctionsFine,
        Self::FunctionsPrecise,
        Self::Dense(Dense::Functions),
        Self::Dense(Dense::FunctionsFine),
        Self::Dense(Dense::FunctionsPrecise),
        Self::Bootstrapping,
        Self::Dense(Dense::Bootstrapping),
        Self::Full,
        Self::Tables(1),
        Self::Tables(4),
        Self::Tables(8),
        Self::Tables(12),
        Self::Tables(16),
        Self::SmallTables(1),
        Self::SmallTables(4),
        Self::Dense(Dense::SmallTables(1)),
        Self::Dense(Dense::SmallTables(4)),
        Self::Smooth,
        Self::Insecure(Toy::Functions),
        Self::Insecure(Toy::Bootstrapping),
        Self::Insecure(Toy::Full),
        Self::Insecure(Toy::Tables),
        Self::Insecure(Toy::Smooth),
    ];

    /// The smallest set for tables of 2^bits entries on vectors of `count` integers.
    pub const fn tables_for(bits: u32, count: usize) -> Self {
        match bits <= 4 && count <= 2 * SMALL_SLOTS {
            true => Self::SmallTables(bits),
            false => Self::Tables(bits),
        }
    }

    /// The name on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::FunctionsFine => "functions-fine",
            Self::FunctionsPrecise => "functions-precise",
            Self::Dense(Dense::Functions) => "functions-dense",
            Self::Dense(Dense::FunctionsFine) => "functions-fine-dense",
            Self::Dense(Dense::FunctionsPrecise) => "functions-precise-dense",
            Self::Bootstrapping => "bootstrapping",
            Self::Dense(Dense::Bootstrapping) => "bootstrapping-dense",
            Self::Full => "full",
            Self::Tables(bits) => match set_of_bits(bits) {
                1 => "tables-1",
                4 => "tables-4",
                8 => "tables-8",
                12 => "tables-12",
                _ => "tables-16",
            },
            Self::SmallTables(0 | 1) => "small-tables-1",
            Self::SmallTables(_) => "small-tables-4",
            Self::Dense(Dense::SmallTables(0 | 1)) => "small-tables-1-dense",
            Self::Dense(Dense::SmallTables(_)) => "small-tables-4-dense",
            Self::Smooth => "smooth",
            Self::Insecure(Toy::Functions) => "toy-insecure",
            Self::Insecure(Toy::Bootstrapping) => "toy-bootstrapping",
            Self::Insecure(Toy::Full) => "toy-full",
            Self::Insecure(Toy::Tables) => "toy-tables",
            Self::Insecure(Toy::Smooth) => "toy-smooth",
        }
    }
}

/// The bits of the smallest set with tables of 2^bits entries; as given if there is none.
const fn set_of_bits(bits: u32) -> u32 {
    match bits {
        0..=1 => 1,
        2..=4 => 4,
        5..=8 => 8,
        9..=12 => 12,
        13..=16 => 16,
        more => more,
    }
}

impl PartialEq for Preset {
    fn eq(&self, other: &Self) -> bool {
        // Tables that no set has share the name of the largest set.
        let bits = |preset: &Self| match *preset {
            Self::Tables(bits) | Self::SmallTables(bits) => set_of_bits(bits),
            Self::Dense(Dense::SmallTables(bits)) => set_of_bits(bits),
            _ => 0,
        };
        self.name() == other.name() && bits(self) == bits(other)
    }
}

impl Eq for Preset {}

/// Slots of the sets for small tables.
const SMALL_SLOTS: usize = 1 << 14;

/// The modulus chain of a set with functional bootstrapping.
struct FunctionalChain {
    /// Bits of the levels for programs.
    log_scale: u32,
    levels: usize,
    /// Bits and number of the special primes.
    special: (u32, usize),
}

impl Preset {
    /// The specification of the preset.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for tables of more than 16 bits, small ones of more than 4.
    pub fn spec(self) -> Result<ParamsSpec> {
        let chain = |log_scale, levels, special| FunctionalChain { log_scale, levels, special };
        match self {
            // Look-ups: one modulus chain for all sizes of tables; the toy set has a smaller ring.
            Self::Functions
            | Self::FunctionsFine
            | Self::FunctionsPrecise
            | Self::Dense(Dense::Functions | Dense::FunctionsFine | Dense::FunctionsPrecise)
            | Self::Insecure(Toy::Functions) => self.functions(),
            // The chains of `ckks`, with a bootstrap of all slots.
            Self::Bootstrapping | Self::Dense(Dense::Bootstrapping) => {
                let slots = match self {
                    Self::Bootstrapping => BootstrapSpec::full_size()?,
                    _ => BootstrapSpec::full_size_dense()?,
                };
                let bootstrap = Some(BootstrapSpec::new(slots.lattice.degree / 2));
                Ok(ParamsSpec { bootstrap, ..ParamsSpec::arithmetic(self.name(), slots) })
            }
            // The slots of one, with the tables of the other, and functions of whole vectors on the
            // levels of the bootstrap.
            Self::Full => self.full(Self::Bootstrapping.spec()?),
            Self::Insecure(Toy::Full) => self.full(self.toy_bootstrapping(1 << 11, 11)?),
            Self::Tables(bits) => match set_of_bits(bits) {
                1 => self.functional(Some(2), chain(42, 4, (50, 10))),
                4 => self.functional(Some(16), chain(42, 3, (50, 11))),
                8 => self.functional(Some(256), chain(42, 3, (50, 9))),
                12 => self.functional(Some(4096), chain(40, 3, (50, 7))),
                16 => self.functional(Some(65536), chain(42, 1, (51, 4))),
                bits => Err(error::no_tables(bits)),
            },
            Self::SmallTables(bits) | Self::Dense(Dense::SmallTables(bits)) => {
                self.small_tables(bits)
            }
            // No entries: Fourier series of reals instead of tables.
            Self::Smooth => self.functional(None, chain(45, 4, (50, 9))),
            // Toy sets: a ring of degree 2^10, and fewer special primes.
            Self::Insecure(Toy::Tables) => self.functional(Some(256), chain(42, 2, (50, 6))),
            Self::Insecure(Toy::Smooth) => self.functional(None, chain(45, 2, (50, 6))),
            Self::Insecure(Toy::Bootstrapping) => self.toy_bootstrapping(1 << 10, 3),
        }
    }

    /// The chain of a bootstrap of all slots with `levels` levels for programs, in a ring of a
    /// degree far too small to be secure.
    fn toy_bootstrapping(self, degree: usize, levels: usize) -> Result<ParamsSpec> {
        let bootstrap = BootstrapSpec::new(degree / 2);
        let chain = bootstrap.chain(degree, 42, levels, (49, 6))?;
        let mut slots = ckks::ParamsSpec::from_chain(&chain, 42, Security::Insecure)?;
        slots.lattice.secret = SecretKind::Sparse(64);
        let bootstrap = Some(bootstrap);
        Ok(ParamsSpec { bootstrap, ..ParamsSpec::arithmetic(self.name(), slots) })
    }

    /// The presets with look-ups and both kinds of bootstrapping, on the slots of a set for
    /// bootstrapping.
    fn full(self, spec: ParamsSpec) -> Result<ParamsSpec> {
        let (lookup, ring_bridge) = self.tables(spec.slots.lattice.q[0])?;
        let log_scale = spec.slots.log_scale;
        let bootstrap = spec.bootstrap.as_ref();
        let functional = bootstrap.map(|b| FbtSpec::beside(b, log_scale)).transpose()?;
        let (name, lookup) = (self.name().into(), Some(lookup));
        Ok(ParamsSpec { name, lookup, ring_bridge, functional, ..spec })
    }

    /// The presets with functional bootstrapping. `entries` is the size of their tables, or none
    /// for smooth functions of degree up to 63.
    fn functional(self, entries: Option<usize>, chain: FunctionalChain) -> Result<ParamsSpec> {
        let FunctionalChain { log_scale, levels, special } = chain;
        // Step 1: the circuit: tables of integers, or Fourier series of reals.
        let toy = matches!(self, Self::Insecure(Toy::Tables | Toy::Smooth));
        let slots = if toy { 1 << 9 } else { 1 << 15 };
        let spec = match entries {
            Some(entries) => FbtSpec::table(slots, entries)?,
            None => FbtSpec::reals(slots, 63),
        };
        // Step 2: the modulus chain of the circuit. Toy sets take the same chain in a small ring.
        let set = match toy {
            false => spec.full_size(log_scale, levels, special)?,
            true => {
                let chain = spec.chain(1 << 10, log_scale, levels, special);
                let mut set = ckks::ParamsSpec::from_chain(&chain, log_scale, Security::Insecure)?;
                set.lattice.secret = SecretKind::Sparse(64);
                set
            }
        };
        Ok(ParamsSpec { functional: Some(spec), ..ParamsSpec::arithmetic(self.name(), set) })
    }

    /// The presets with small tables. Their scales are just large enough: the chain fits a ring of
    /// degree 2^15. A weight of 256 would cost 55 bits of the modulus there, one of 1024 half a bit
    /// of every scale.
    fn small_tables(self, bits: u32) -> Result<ParamsSpec> {
        let (dense, degree) = (matches!(self, Self::Dense(_)), 2 * SMALL_SLOTS);
        // Step 1: bits of the scale, levels for programs, special primes. Every digit of a key
        // switch is at least 11 bits below their product.
        let entries = set_of_bits(bits);
        let (scale, levels, special) = match (entries, dense) {
            (1, false) => (28, 4, (48, 4)),
            (1, true) => (30, 4, (50, 4)),
            (4, false) => (30, 2, (46, 4)),
            (4, true) => (33, 2, (41, 4)),
            _ => return Err(error::no_small_tables(bits)),
        };
        // Step 2: the modulus chain of the circuit, and the secret.
        let spec = FbtSpec::small_table(SMALL_SLOTS, 1 << entries, scale)?;
        let chain = spec.chain(degree, scale, levels, special);
        let mut set = ckks::ParamsSpec::from_chain(&chain, scale, Security::Bits128)?;
        if !dense {
            set.lattice.secret = SecretKind::Sparse(512);
        }
        Ok(ParamsSpec { functional: Some(spec), ..ParamsSpec::arithmetic(self.name(), set) })
    }

    /// The presets with look-ups.
    fn functions(self) -> Result<ParamsSpec> {
        // Step 1: the modulus chain. One prime of 45 bits is shared with the ring of the tables; 15
        // primes have the 44 bits of the scale; three special primes lie below 2^50. For N = 2^15
        // this is 855 of the 868 bits that 128-bit security allows.
        let toy = self == Self::Insecure(Toy::Functions);
        let security = if toy { Security::Insecure } else { Security::Bits128 };
        let chain = ModulusChain {
            degree: if toy { 1 << 11 } else { 1 << 15 },
            first_bits: 45,
            levels: vec![LevelGroup::single(44, 15)],
            special: (50, 3),
        };
        let slots = ckks::ParamsSpec::from_chain(&chain, 44, security)?;
        // Step 2: the tables.
        let (lookup, ring_bridge) = self.tables(slots.lattice.q[0])?;
        let lookup = Some(lookup);
        Ok(ParamsSpec { lookup, ring_bridge, ..ParamsSpec::arithmetic(self.name(), slots) })
    }

    /// The tables of the presets with look-ups, modulo the lowest prime of the slots, and the
    /// weight of the sparse secret of the ring bridge.
    fn tables(self, ring_modulus: u64) -> Result<(lwe::ParamsSpec, Option<usize>)> {
        let security = match self {
            Self::Insecure(Toy::Functions | Toy::Full) => Security::Insecure,
            _ => Security::Bits128,
        };
        let (dimension, ring_degree) = match self {
            Self::Insecure(Toy::Functions | Toy::Full) => (64, 1 << 10),
            Self::FunctionsFine | Self::Dense(Dense::FunctionsFine) => (1 << 10, 1 << 13),
            Self::FunctionsPrecise | Self::Dense(Dense::FunctionsPrecise) => (1 << 10, 1 << 14),
            _ => (1 << 10, 1 << 12),
        };
        // Step 1: the LWE noise. It keeps log2(q / sigma) a bit below the bound of the security
        // table: 23.3 for weight 192, 25.0 for a dense secret, at q just below 2^28. The weight of
        // the ring bridge: at degree 4096 the security table allows it for q0 and 39 bits more,
        // with a margin. The dense sets have no ring bridge.
        let (secret, sigma, ring_bridge) = match self {
            Self::Dense(_) => (SecretKind::Ternary, 16.0, None),
            Self::Insecure(_) => (SecretKind::Sparse(16), 3.2, Some(16)),
            _ => (SecretKind::Sparse(192), 54.0, Some(128)),
        };
        // Step 2: the key switch. Larger tables have more coordinates to switch and smaller cells,
        // so they take smaller digits.
        let (base_log, digits) = if ring_degree > 1 << 12 { (1, 28) } else { (2, 14) };
        let lookup = lwe::ParamsSpec {
            dimension,
            modulus: prime::ntt_primes_below(dimension, 28, 1, &[])?[0].value(),
            secret,
            sigma,
            key_switch_base_log: base_log,
            key_switch_digits: digits,
            ring_degree,
            ring_modulus,
            // Plain tables: two digits over one prime, six transforms a step.
            engine: Engine::Rgsw(RgswGadget::Digits { base_log: 16, count: 2 }),
            ring_secret: SecretKind::Ternary,
            ring_sigma: 3.2,
            security,
        };
        Ok((lookup, ring_bridge))
    }
}

impl std::str::FromStr for Preset {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|p| p.name()).collect();
            format!("no preset {name:?}: take one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_one_set_are_equal() {
        for (bits, set) in [(0, 1), (2, 4), (5, 8), (9, 12), (13, 16)] {
            assert_eq!(Preset::Tables(bits), Preset::Tables(set));
            assert_eq!(Preset::Tables(bits).spec().unwrap(), Preset::Tables(set).spec().unwrap());
            assert_ne!(Preset::Tables(set), Preset::Tables(set + 1));
        }
        assert!(Preset::Tables(17).spec().is_err());
    }

    #[test]
    fn small_tables_are_chosen_where_they_fit() {
        for (bits, count, preset) in [
            (1, 1, Preset::SmallTables(1)),
            (3, 1 << 15, Preset::SmallTables(4)),
            (4, (1 << 15) + 1, Preset::Tables(4)),
            (5, 1, Preset::Tables(8)),
        ] {
            assert_eq!(Preset::tables_for(bits, count), preset);
            assert!(preset.spec().unwrap().functional.is_some());
        }
        for preset in [Preset::SmallTables, |bits| Preset::Dense(Dense::SmallTables(bits))] {
            assert_eq!(preset(2), preset(4));
            assert_ne!(preset(4), preset(5));
            let refused = preset(5).spec().unwrap_err().to_string();
            assert!(refused.contains("tables of 5-bit integers"), "{refused}");
            assert!(refused.contains("or `Preset::Tables`"), "{refused}");
        }
    }
}
