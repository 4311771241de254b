//! Parameter sets by name.

use bellerophon_ckks::{self as ckks, Chain, Levels, bootstrap::BootstrapSpec};
use bellerophon_lwe::{self as lwe, Engine, RgswGadget};
use bellerophon_mlwe::{SecretKind, Security};
use bellerophon_ring::prime;

use crate::{ParamsSpec, Result};

/// A named parameter set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// Arithmetic and any function, 128 bits: 2^14 slots, look-up tables of degree 4096 read with
    /// an LWE secret of dimension 1024 and weight 192, whose small norm halves the error of a
    /// look-up against a dense one. On the domain [-8, 8] the mean error of a look-up is 2^-10.3
    /// for the sigmoid, 2^-9.2 for tanh, 2^-7.3 for ReLU; the keys of a program with products and
    /// look-ups take 580 MB in transit, over the linear bridge ([`Bridge::Linear`](crate::Bridge))
    /// 470 MB; with tables on NTRU ([`MapEngine::Ntru`](crate::MapEngine)) 484 and 374 MB.
    Functions,
    /// [`Functions`](Self::Functions) with tables of degree 2^13, the largest that NTRU reads: a look-up
    /// takes two to three times as long, and its error is half. On the domain [-8, 8] the mean error is
    /// 2^-11.2 for the sigmoid, 2^-10.1 for tanh, 2^-8.2 for ReLU, and a tenth of a bit less with tables on
    /// NTRU.
    FunctionsFine,
    /// [`Functions`](Self::Functions) with tables of degree 2^14, for which there is no NTRU: a look-up
    /// takes four to five times as long, and its error is about a third. On [-8, 8] the largest of 1024
    /// errors stays below 2^-5.5 for
    /// tanh and for ReLU, as predicted. The keys of a program with products and look-ups take 1150 MB in
    /// transit.
    FunctionsPrecise,
    /// The twin of [`Functions`](Self::Functions) whose secrets are all dense: for those who
    /// distrust estimates of sparse ones. On [-8, 8] the mean error of a look-up is 2^-9.3 for the
    /// sigmoid, 2^-8.3 for tanh, 2^-6.3 for ReLU. It has no ring bridge, so it has
    /// [`Evaluator::map`](crate::Evaluator::map) and none of the other calls for tables.
    FunctionsDense,
    /// The twin of [`FunctionsFine`](Self::FunctionsFine) whose secrets are all dense. On [-8, 8] the
    /// mean error of a look-up is 2^-10.3 for the sigmoid, 2^-9.3 for tanh, 2^-7.3 for ReLU. As
    /// [`FunctionsDense`](Self::FunctionsDense) it has no ring bridge.
    FunctionsFineDense,
    /// The twin of [`FunctionsPrecise`](Self::FunctionsPrecise) whose secrets are all dense. On [-8, 8]
    /// the mean error of a look-up is 2^-11.2 for the sigmoid, 2^-10.1 for tanh, 2^-8.2 for ReLU. As
    /// [`FunctionsDense`](Self::FunctionsDense) it has no ring bridge.
    FunctionsPreciseDense,
    /// Arithmetic without end, 128 bits, no look-ups: 2^15 slots and 9 levels between two refreshes
    /// of values in [-1, 1]. A refreshed vector is right to about 25 bits in the worst slot, as
    /// measured; some value of it is garbage with probability 2^-60. Both secrets are sparse: of
    /// weight 256, and of weight 32 under the lowest modulus alone. The keys of a program with
    /// products and refreshes take about 1.25 GB in transit and 3.5 GB in memory, 2.9 GB where
    /// AVX-512 IFMA reads them in fewer bytes; the server keeps encoded matrices beside them.
    Bootstrapping,
    /// The twin of [`Bootstrapping`](Self::Bootstrapping) whose secret is dense (but for the one of
    /// weight 32 under the lowest modulus alone): 11 levels between two refreshes, which are right to
    /// 21.8 bits in the worst slot, as measured, about 3.5 bits less.
    BootstrappingDense,
    /// The shape of [`Functions`](Self::Functions) in tiny dimensions, for tests and for trying
    /// the interface. It protects nothing.
    ToyInsecure,
    /// The shape of [`Bootstrapping`](Self::Bootstrapping) in tiny dimensions: 512 slots, 3 levels
    /// between two refreshes. It protects nothing.
    ToyBootstrapping,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 10] = [
        Self::Functions,
        Self::FunctionsFine,
        Self::FunctionsPrecise,
        Self::FunctionsDense,
        Self::FunctionsFineDense,
        Self::FunctionsPreciseDense,
        Self::Bootstrapping,
        Self::BootstrappingDense,
        Self::ToyInsecure,
        Self::ToyBootstrapping,
    ];

    /// The name on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::FunctionsFine => "functions-fine",
            Self::FunctionsPrecise => "functions-precise",
            Self::FunctionsDense => "functions-dense",
            Self::FunctionsFineDense => "functions-fine-dense",
            Self::FunctionsPreciseDense => "functions-precise-dense",
            Self::Bootstrapping => "bootstrapping",
            Self::BootstrappingDense => "bootstrapping-dense",
            Self::ToyInsecure => "toy-insecure",
            Self::ToyBootstrapping => "toy-bootstrapping",
        }
    }

    /// The specification behind the name.
    ///
    /// # Errors
    /// None for the presets of this version; prime search can fail in principle.
    pub fn spec(self) -> Result<ParamsSpec> {
        match self {
            Self::Functions
            | Self::FunctionsFine
            | Self::FunctionsPrecise
            | Self::FunctionsDense
            | Self::FunctionsFineDense
            | Self::FunctionsPreciseDense
            | Self::ToyInsecure => self.functions(),
            Self::Bootstrapping | Self::BootstrappingDense => {
                let slots = match self {
                    Self::Bootstrapping => ckks::ParamsSpec::bootstrapping()?,
                    _ => ckks::ParamsSpec::bootstrapping_dense()?,
                };
                let refresh = Some(BootstrapSpec::new(slots.lattice.degree / 2));
                Ok(ParamsSpec { refresh, ..ParamsSpec::arithmetic(self.name(), slots) })
            }
            Self::ToyBootstrapping => {
                let refresh = BootstrapSpec::new(1 << 9);
                let chain = refresh.chain(1 << 10, 42, 3, (49, 6))?;
                let mut slots = ckks::ParamsSpec::from_chain(&chain, 42, Security::Insecure)?;
                slots.lattice.secret = SecretKind::Sparse(64);
                Ok(ParamsSpec {
                    refresh: Some(refresh),
                    ..ParamsSpec::arithmetic(self.name(), slots)
                })
            }
        }
    }

    /// The presets with look-ups.
    fn functions(self) -> Result<ParamsSpec> {
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
        let (dimension, ring_degree) = match self {
            Self::ToyInsecure => (64, 1 << 10),
            Self::FunctionsFine | Self::FunctionsFineDense => (1 << 10, 1 << 13),
            Self::FunctionsPrecise | Self::FunctionsPreciseDense => (1 << 10, 1 << 14),
            _ => (1 << 10, 1 << 12),
        };
        // The noise that keeps log2(q / sigma) a bit below the bound of the security table:
        // 23.3 for weight 192, 25.0 for a dense secret, at q just below 2^28.
        let (secret, sigma) = match self {
            Self::Functions | Self::FunctionsFine | Self::FunctionsPrecise => {
                (SecretKind::Sparse(192), 54.0)
            }
            Self::FunctionsDense | Self::FunctionsFineDense | Self::FunctionsPreciseDense => {
                (SecretKind::Ternary, 16.0)
            }
            _ => (SecretKind::Sparse(16), 3.2),
        };
        // More coordinates to switch, smaller cells: smaller digits.
        let (base_log, digits) = if ring_degree > 1 << 12 { (1, 28) } else { (2, 14) };
        let lookup = lwe::ParamsSpec {
            dimension,
            modulus: prime::ntt_primes_below(dimension, 28, 1, &[])?[0].value(),
            secret,
            sigma,
            key_switch_base_log: base_log,
            key_switch_digits: digits,
            ring_degree,
            ring_modulus: slots.lattice.q[0],
            // Plain tables: two digits over one prime, six transforms a step.
            engine: Engine::Rgsw(RgswGadget::Digits { base_log: 16, count: 2 }),
            ring_secret: SecretKind::Ternary,
            ring_sigma: 3.2,
            security,
        };
        // The weight that the security table allows q0 and 47 bits more at degree 4096, with a margin.
        // The dense twins do without.
        let ring_bridge = match self {
            Self::Functions | Self::FunctionsFine | Self::FunctionsPrecise => Some(128),
            Self::ToyInsecure => Some(16),
            _ => None,
        };
        let lookup = Some(lookup);
        Ok(ParamsSpec { lookup, ring_bridge, ..ParamsSpec::arithmetic(self.name(), slots) })
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
