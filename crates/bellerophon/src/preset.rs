//! Parameter sets by name.

use bellerophon_ckks::{
    self as ckks, LevelGroup, ModulusChain, bootstrap::BootstrapSpec, fbt::FbtSpec,
};
use bellerophon_lwe::{self as lwe, Engine, RgswGadget};
use bellerophon_mlwe::{SecretKind, Security};
use bellerophon_ring::prime;

use crate::{Result, spec::ParamsSpec};

/// Declares the presets, each with its name.
macro_rules! presets {
    ($($(#[$doc:meta])* $preset:ident = $name:literal,)*) => {
        /// A named parameter set.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Preset {
            $($(#[$doc])* $preset,)*
        }

        impl Preset {
            /// All presets.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$preset),*];

            /// The name on command lines and in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$preset => $name,)*
                }
            }
        }
    };
}

presets! {
    /// Arithmetic and arbitrary functions, 128-bit security, 2^14 slots. Look-up tables have degree
    /// 4096; the LWE secret has dimension 1024 and weight 192. Its small norm halves the error of a
    /// look-up compared with a dense secret. On the domain [-8, 8] the mean error of a look-up is
    /// 2^-10.3 for the sigmoid, 2^-9.2 for tanh, 2^-7.3 for ReLU. The keys of a program with
    /// products and look-ups take 574 MB in transit, or 460 MB with the linear bridge
    /// ([`Bridge::Linear`](crate::Bridge)); with NTRU ([`LutEngine::Ntru`](crate::LutEngine)), 478
    /// MB and 363 MB.
    Functions = "functions",
    /// [`Functions`](Self::Functions) with tables of degree 2^13, the largest for NTRU. A look-up
    /// takes two to three times as long, and its error is half. On the domain [-8, 8] the mean
    /// error is 2^-11.2 for the sigmoid, 2^-10.1 for tanh, 2^-8.2 for ReLU; NTRU loses a tenth of a
    /// bit.
    FunctionsFine = "functions-fine",
    /// [`Functions`](Self::Functions) with tables of degree 2^14, without NTRU. A look-up takes
    /// four to five times as long, and its error is about a third. On [-8, 8] the largest of 1024
    /// errors is below 2^-5.5 for tanh and for ReLU, as predicted. The keys of a program with
    /// products and look-ups take 1144 MB in transit.
    FunctionsPrecise = "functions-precise",
    /// [`Functions`](Self::Functions) with dense secrets only, for users who distrust security
    /// estimates of sparse secrets. On [-8, 8] the mean error of a look-up is 2^-9.3 for the
    /// sigmoid, 2^-8.3 for tanh, 2^-6.3 for ReLU. Without a ring bridge it supports
    /// [`Evaluator::map`](crate::Evaluator::map) and no other call for tables.
    FunctionsDense = "functions-dense",
    /// [`FunctionsFine`](Self::FunctionsFine) with dense secrets only. On [-8, 8] the mean error of
    /// a look-up is 2^-10.3 for the sigmoid, 2^-9.3 for tanh, 2^-7.3 for ReLU. Like
    /// [`FunctionsDense`](Self::FunctionsDense), it has no ring bridge.
    FunctionsFineDense = "functions-fine-dense",
    /// [`FunctionsPrecise`](Self::FunctionsPrecise) with dense secrets only. On [-8, 8] the mean
    /// error of a look-up is 2^-11.2 for the sigmoid, 2^-10.1 for tanh, 2^-8.2 for ReLU. Like
    /// [`FunctionsDense`](Self::FunctionsDense), it has no ring bridge.
    FunctionsPreciseDense = "functions-precise-dense",
    /// Arithmetic with bootstrapping, 128-bit security, no look-ups: 2^15 slots and 11 levels
    /// between two bootstraps of values in [-1, 1]. A bootstrapped vector has 25 correct bits in
    /// the worst slot; the bootstrap of a vector fails with probability 2^-60. Both
    /// secrets are sparse: one of weight 1024, and one of weight 32 under the lowest modulus only.
    /// The keys of a program with products and bootstraps take about 0.95 GB in transit and 2.8 GB
    /// in memory (2.1 GB where AVX-512 IFMA allows a denser layout); the server also keeps encoded
    /// matrices.
    Bootstrapping = "bootstrapping",
    /// [`Bootstrapping`](Self::Bootstrapping) with a dense secret, except for the one of weight 32
    /// under the lowest modulus only: 12 levels between two bootstraps, and 22.6 correct bits in
    /// the worst slot (measured), about 3 bits less.
    BootstrappingDense = "bootstrapping-dense",
    /// Everything from one key set, 128-bit security, 2^15 slots: arithmetic, functions by look-up,
    /// look-ups of single values ([`Evaluator::tables`](crate::Evaluator::tables)), bootstrapping
    /// of values in [-1, 1], and functional bootstrapping of whole vectors. A program can use all
    /// of them in turns without end.
    ///
    /// Eleven levels lie between two bootstraps, and as many between two look-ups. The slots are
    /// those of [`Bootstrapping`](Self::Bootstrapping), the tables those of
    /// [`Functions`](Self::Functions) with the same accuracy. Functional bootstrapping
    /// ([`Needs::functional`](crate::Needs::functional)) uses the levels of the bootstrap: ten of
    /// EvalMod for the exponential, one more and seven of the program for the series. It takes
    /// operands from level 2 on. A smooth function of degree up to 31 returns with 7 levels above
    /// that, one of degree up to 63 with 6; an exact table of 256 entries with 4, of 16 entries
    /// with 8. The sigmoid on [-8, 8] is predicted to 2^-25 in the worst slot. Tables of up to 256
    /// entries follow each other without end at a failure probability of 2^-128 for a vector; for
    /// larger tables take [`Tables12`](Self::Tables12) or [`Tables16`](Self::Tables16).
    ///
    /// `log2(QP)` is 1675 of the 1679 bits that the security table allows for weight 1024. The keys
    /// of a program with products, look-ups and bootstraps take about 1.57 GB in transit.
    /// Functional bootstrapping adds none: its sparse secret, its rotations and its first matrix
    /// are those of the bootstrap. The server encodes a second set of matrices.
    Full = "full",
    /// Exact tables of two entries on up to 65536 bits per vector, 128-bit security, 4 levels
    /// between two tables. As in all presets for tables, the secret has weight 1024 and the one
    /// under the lowest modulus weight 32; a table fails on a vector with a probability below
    /// 2^-128.
    Tables1 = "tables-1",
    /// Exact tables of up to 16 entries on up to 65536 integers per vector, 3 levels between two
    /// tables; otherwise as [`Tables1`](Self::Tables1).
    Tables4 = "tables-4",
    /// Exact tables of up to 256 entries on up to 65536 integers per vector, 3 levels between two
    /// tables; otherwise as [`Tables1`](Self::Tables1). The number of tables in a row is unlimited;
    /// of tables that differ from a constant in a single entry, up to 15 can follow each other.
    /// Real results have about 22 correct bits relative to the spread of the entries in the worst
    /// slot.
    Tables8 = "tables-8",
    /// Exact tables of up to 4096 entries on up to 65536 integers per vector, 3 levels between two
    /// tables; otherwise as [`Tables1`](Self::Tables1). Results are not precise enough for another
    /// table of as many entries at that failure probability.
    Tables12 = "tables-12",
    /// Exact tables of up to 65536 entries on up to 65536 integers per vector, 1 level between two
    /// tables; otherwise as [`Tables1`](Self::Tables1). Results are not precise enough for another
    /// table of as many entries.
    Tables16 = "tables-16",
    /// Smooth functions of up to 65536 reals per vector by functional bootstrapping, 128-bit
    /// security. The sigmoid on [-8, 8] has about 26 correct bits in the worst slot, with 4 levels
    /// between two functions.
    Smooth = "smooth",
    /// [`Functions`](Self::Functions) in toy dimensions, for tests and experiments. Insecure.
    ToyInsecure = "toy-insecure",
    /// [`Bootstrapping`](Self::Bootstrapping) in toy dimensions: 512 slots, 3 levels between two
    /// bootstraps. Insecure.
    ToyBootstrapping = "toy-bootstrapping",
    /// [`Full`](Self::Full) in toy dimensions, for the tests of its users: the same operations,
    /// levels and refusals, 1024 slots. Look-ups have larger errors. Insecure.
    ToyFull = "toy-full",
    /// [`Tables8`](Self::Tables8) in toy dimensions: up to 1024 integers per vector. Insecure.
    ToyTables = "toy-tables",
    /// [`Smooth`](Self::Smooth) in toy dimensions: up to 1024 reals per vector. Insecure.
    ToySmooth = "toy-smooth",
}

impl Preset {
    /// The specification of the preset.
    ///
    /// # Errors
    /// None for the presets of this version; prime search can fail in principle.
    pub fn spec(self) -> Result<ParamsSpec> {
        match self {
            // Look-ups: one modulus chain for all sizes of tables; the toy set has a smaller ring.
            Self::Functions
            | Self::FunctionsFine
            | Self::FunctionsPrecise
            | Self::FunctionsDense
            | Self::FunctionsFineDense
            | Self::FunctionsPreciseDense
            | Self::ToyInsecure => self.functions(),
            // The chains of `ckks`, with a bootstrap of all slots.
            Self::Bootstrapping | Self::BootstrappingDense => {
                let slots = match self {
                    Self::Bootstrapping => ckks::ParamsSpec::bootstrapping()?,
                    _ => ckks::ParamsSpec::bootstrapping_dense()?,
                };
                let bootstrap = Some(BootstrapSpec::new(slots.lattice.degree / 2));
                Ok(ParamsSpec { bootstrap, ..ParamsSpec::arithmetic(self.name(), slots) })
            }
            // The slots of one, with the tables of the other, and functions of whole vectors on the
            // levels of the bootstrap.
            Self::Full => self.full(Self::Bootstrapping.spec()?),
            Self::ToyFull => self.full(self.toy_bootstrapping(1 << 11, 11)?),
            // Entries of the tables, then bits and number of the levels and of the special primes.
            Self::Tables1 => self.functional(Some(2), (42, 4), (50, 10)),
            Self::Tables4 => self.functional(Some(16), (42, 3), (50, 11)),
            Self::Tables8 => self.functional(Some(256), (42, 3), (50, 9)),
            Self::Tables12 => self.functional(Some(4096), (40, 3), (50, 7)),
            Self::Tables16 => self.functional(Some(65536), (42, 1), (51, 4)),
            // No entries: Fourier series of reals instead of tables.
            Self::Smooth => self.functional(None, (45, 4), (50, 9)),
            // Toy sets: a ring of degree 2^10, and fewer special primes.
            Self::ToyTables => self.functional(Some(256), (42, 2), (50, 6)),
            Self::ToySmooth => self.functional(None, (45, 2), (50, 6)),
            Self::ToyBootstrapping => self.toy_bootstrapping(1 << 10, 3),
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
    /// for smooth functions of degree up to 63. The pairs give bits and number of the levels for
    /// programs, and of the special primes.
    fn functional(
        self,
        entries: Option<usize>,
        (log_scale, levels): (u32, usize),
        special: (u32, usize),
    ) -> Result<ParamsSpec> {
        // Step 1: the circuit: tables of integers, or Fourier series of reals.
        let toy = matches!(self, Self::ToyTables | Self::ToySmooth);
        let slots = if toy { 1 << 9 } else { 1 << 15 };
        let spec = match entries {
            Some(entries) => FbtSpec::table(slots, entries)?,
            None => FbtSpec::reals(slots, 63),
        };
        // Step 2: the modulus chain of the circuit. Toy sets take the same chain in a small ring.
        let set = match toy {
            false => ckks::ParamsSpec::functional(&spec, log_scale, levels, special)?,
            true => {
                let chain = spec.chain(1 << 10, log_scale, levels, special);
                let mut set = ckks::ParamsSpec::from_chain(&chain, log_scale, Security::Insecure)?;
                set.lattice.secret = SecretKind::Sparse(64);
                set
            }
        };
        Ok(ParamsSpec { functional: Some(spec), ..ParamsSpec::arithmetic(self.name(), set) })
    }

    /// The presets with look-ups.
    fn functions(self) -> Result<ParamsSpec> {
        // Step 1: the modulus chain. One prime of 45 bits is shared with the ring of the tables; 15
        // primes have the 44 bits of the scale; three special primes lie below 2^50. For N = 2^15
        // this is 855 of the 868 bits that 128-bit security allows.
        let toy = self == Self::ToyInsecure;
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
            Self::ToyInsecure | Self::ToyFull => Security::Insecure,
            _ => Security::Bits128,
        };
        let (dimension, ring_degree) = match self {
            Self::ToyInsecure | Self::ToyFull => (64, 1 << 10),
            Self::FunctionsFine | Self::FunctionsFineDense => (1 << 10, 1 << 13),
            Self::FunctionsPrecise | Self::FunctionsPreciseDense => (1 << 10, 1 << 14),
            _ => (1 << 10, 1 << 12),
        };
        // Step 1: the LWE noise. It keeps log2(q / sigma) a bit below the bound of the security
        // table: 23.3 for weight 192, 25.0 for a dense secret, at q just below 2^28. The weight of
        // the ring bridge: at degree 4096 the security table allows it for q0 and 39 bits more,
        // with a margin. The dense sets have no ring bridge.
        let (secret, sigma, ring_bridge) = match self {
            Self::Functions | Self::FunctionsFine | Self::FunctionsPrecise | Self::Full => {
                (SecretKind::Sparse(192), 54.0, Some(128))
            }
            Self::FunctionsDense | Self::FunctionsFineDense | Self::FunctionsPreciseDense => {
                (SecretKind::Ternary, 16.0, None)
            }
            _ => (SecretKind::Sparse(16), 3.2, Some(16)),
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
