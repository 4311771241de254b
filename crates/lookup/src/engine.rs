//! The engines that apply functions, and the parameters of tables on them.

use std::{fmt, str::FromStr};

use bellerophon_lwe::{self as lwe, NtruSpec, RgswGadget};
use bellerophon_ring::{ErrorKind, Result, prime};
use serde::{Deserialize, Serialize};

/// A method to apply a function to every value of a vector.
///
/// The tables of RGSW and of NTRU return the same values from the same secrets. They differ in
/// time, in the size of their keys, in their security assumptions, and in the noise of an entry.
/// That noise matters only if it is of the size of the effect of the index error
/// (`Params::map_plan` predicts both).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Engine {
    /// A polynomial: Chebyshev series, minimax, iterations, and compositions for sign, ReLU and
    /// magnitude. Takes levels of the operand, and products.
    Poly,
    /// Functional bootstrapping of the whole vector: results have fresh levels.
    Fbt,
    /// A look-up table for each value by blind rotation with RGSW keys ([`lwe::rgsw`]), whose
    /// security rests on (ring) LWE alone.
    Rgsw,
    /// Several look-up tables for each value, which correct the error of their common index: a
    /// table of the identity and tables of local polynomials of the function.
    Corrected,
    /// A look-up table for each value by blind rotation with NTRU keys ([`lwe::NtruSpec`]): half
    /// the transforms and a quarter of the key memory, for tables of degree up to 8192. Each
    /// function takes a blind rotation of its own.
    ///
    /// It assumes decision NTRU with moduli far beyond the fatigue points: 28.6 bits (fatigue at
    /// 19.4) at degree 2048, 44 bits (21.8) at 4096, 46 to 50 bits (24.3) at 8192. It assumes this
    /// also for thousands of rows under one `f`, and for rows that encrypt functions of `f` and of
    /// the LWE secret. Nothing else in the library does, so it is used only if it is named.
    /// `docs/ntru.md` has the details.
    Ntru,
}

impl Engine {
    /// All engines.
    pub const ALL: [Self; 5] = [Self::Poly, Self::Fbt, Self::Rgsw, Self::Corrected, Self::Ntru];

    /// The engines whose security rests on LWE alone. They are allowed by default.
    pub const DEFAULT: [Self; 4] = [Self::Poly, Self::Fbt, Self::Rgsw, Self::Corrected];

    /// The name on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poly => "poly",
            Self::Fbt => "fbt",
            Self::Rgsw => "rgsw",
            Self::Corrected => "corrected",
            Self::Ntru => "ntru",
        }
    }

    /// The engine of the blind rotation of a parameter set: [`Rgsw`](Self::Rgsw) or
    /// [`Ntru`](Self::Ntru).
    pub fn of(lwe_params: &lwe::Params) -> Self {
        match lwe_params.spec().engine {
            lwe::Engine::Rgsw(_) => Self::Rgsw,
            lwe::Engine::Ntru(_) => Self::Ntru,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL.into_iter().find(|engine| engine.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no engine {name:?}: take one of {names}")
        })
    }
}

/// Bits of the special modulus of corrected look-ups.
const SPECIAL_BITS: u32 = 50;

/// The gadget of plain tables: two digits over one prime, six transforms per step.
const DIGITS: RgswGadget = RgswGadget::Digits { base_log: 16, count: 2 };

/// A parameter set in its variants for all engines that it allows.
pub(crate) struct Engines {
    /// Plain tables; the engine of the specification comes first.
    plain: Vec<lwe::Params>,
    /// RGSW with the gadget of lowest noise, for corrected tables.
    special: Option<lwe::Params>,
}

impl Engines {
    pub(crate) fn new(lwe_params: &lwe::Params) -> Result<Self> {
        // Step 1: plain tables, on the engine of the specification and on the other one.
        let (spec, degree) = (lwe_params.spec(), lwe_params.spec().ring_degree);
        let q0 = *lwe_params.ring_modulus();
        let mut plain = vec![lwe_params.clone()];
        let other = match spec.engine {
            lwe::Engine::Rgsw(_) => match NtruSpec::for_degree(degree, spec.security)? {
                // The prime of NTRU must differ from that of the tables.
                Some(ntru) if ntru.modulus == q0.value() => {
                    let modulus = prime::ntt_primes_below(degree, q0.bits(), 1, &[q0])?[0].value();
                    Some(lwe::Engine::Ntru(NtruSpec { modulus, ..ntru }))
                }
                ntru => ntru.map(lwe::Engine::Ntru),
            },
            lwe::Engine::Ntru(_) => Some(lwe::Engine::Rgsw(DIGITS)),
        };
        if let Some(other) = other {
            plain.extend(variant(lwe_params, other)?);
        }
        // Step 2: corrected tables on RGSW, with a special modulus next to the prime of the tables.
        let special = match spec.engine {
            lwe::Engine::Rgsw(RgswGadget::SpecialModulus { .. }) => Some(lwe_params.clone()),
            _ => {
                let modulus = prime::ntt_primes_below(degree, SPECIAL_BITS, 1, &[q0])?[0].value();
                variant(lwe_params, lwe::Engine::Rgsw(RgswGadget::SpecialModulus { modulus }))?
            }
        };
        Ok(Self { plain, special })
    }

    /// The parameters of plain tables on an engine.
    pub(crate) fn plain(&self, engine: Engine) -> Option<&lwe::Params> {
        self.plain.iter().find(|lwe_params| Engine::of(lwe_params) == engine)
    }

    /// The parameters of corrected tables on RGSW.
    pub(crate) fn special(&self) -> Option<&lwe::Params> {
        self.special.as_ref()
    }

    /// The smallest estimate in bits over the keys of all engines.
    pub(crate) fn security_bits(&self) -> f64 {
        self.all().map(lwe::Params::security_bits).fold(f64::INFINITY, f64::min)
    }

    /// All variants.
    pub(crate) fn all(&self) -> impl Iterator<Item = &lwe::Params> {
        self.plain.iter().chain(&self.special)
    }
}

/// The set with another engine, if it is secure.
fn variant(lwe_params: &lwe::Params, engine: lwe::Engine) -> Result<Option<lwe::Params>> {
    match lwe::Params::new(lwe::ParamsSpec { engine, ..lwe_params.spec().clone() }) {
        Ok(params) => Ok(Some(params)),
        Err(e) if e.is(&ErrorKind::Insecure, "take a wider error, a smaller modulus, a") => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// If the set has the very prime that NTRU would take, NTRU takes another one.
    #[test]
    fn ntru_takes_a_prime_of_its_own() {
        let spec = testing::toy().lwe_params().spec().clone();
        let ntru = NtruSpec::for_degree(spec.ring_degree, spec.security).unwrap().unwrap();
        let same = lwe::ParamsSpec { ring_modulus: ntru.modulus, ..spec };
        let engines = Engines::new(&lwe::Params::new(same).unwrap()).unwrap();
        let found = engines.plain(Engine::Ntru).unwrap().spec().engine;
        let modulus = found.ntru().unwrap().modulus;
        assert!(modulus < ntru.modulus && modulus > ntru.modulus / 2, "{modulus}");
    }

    /// A set that is specified with NTRU has tables on RGSW, too.
    #[test]
    fn rgsw_serves_a_set_specified_with_ntru() {
        let lookups = testing::toy_with(|spec| {
            let ntru = NtruSpec::for_degree(spec.ring_degree, spec.security).unwrap().unwrap();
            spec.engine = lwe::Engine::Ntru(ntru);
        });
        assert!(lookups.lwe_params().spec().engine.ntru().is_some());
        assert!(lookups.on(Engine::Ntru).unwrap().spec().engine.ntru().is_some());
        assert_eq!(lookups.on(Engine::Rgsw).unwrap().spec().engine, lwe::Engine::Rgsw(DIGITS));
        assert!(lookups.on(Engine::Corrected).unwrap().one_rotation_for_several());
    }
}
