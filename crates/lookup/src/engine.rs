//! The engines of the blind rotation of look-ups.

use bellerophon_lwe::{self as lwe, Engine, NtruSpec, RgswGadget};
use bellerophon_ring::{ErrorKind, Result, prime};
use serde::{Deserialize, Serialize};

/// The engine of the blind rotation of look-ups. Its parameters are an
/// [`lwe::Engine`].
///
/// Both engines return the same values from the same secrets. They differ in time, in the size of
/// their keys, in their security assumptions, and in the noise of an entry. That noise matters
/// only if it is of the size of the effect of the index error
/// (`Params::map_plan` predicts both).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LutEngine {
    /// The engine whose security rests on (ring) LWE alone: [`Rgsw`](Self::Rgsw), even if the set
    /// was specified with NTRU.
    #[default]
    Auto,
    /// RGSW ciphertexts ([`lwe::rgsw`]). Several functions of a value, and look-ups to a requested
    /// accuracy, take one blind rotation per value.
    Rgsw,
    /// NTRU ciphertexts ([`lwe::NtruSpec`]): half the transforms and a quarter of the key memory,
    /// for tables of degree up to 8192. Each function takes a blind rotation of its own.
    ///
    /// It assumes decision NTRU with moduli far beyond the fatigue points: 28.6 bits (fatigue at
    /// 19.4) at degree 2048, 44 bits (21.8) at 4096, 46 to 50 bits (24.3) at 8192. It assumes this
    /// also for thousands of rows under one `f`, and for rows that encrypt functions of `f` and of
    /// the LWE secret. Nothing else in the library does, so it is never a default. `docs/ntru.md`
    /// has the details.
    Ntru,
}

impl LutEngine {
    /// The name in reports and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Rgsw => "rgsw",
            Self::Ntru => "ntru",
        }
    }

    /// Resolves [`Auto`](Self::Auto).
    fn resolved(self) -> Self {
        match self {
            Self::Auto => Self::Rgsw,
            named => named,
        }
    }

    /// The engine of a parameter set.
    pub fn of(lwe_params: &lwe::Params) -> Self {
        match lwe_params.spec().engine {
            Engine::Rgsw(_) => Self::Rgsw,
            Engine::Ntru(_) => Self::Ntru,
        }
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
            Engine::Rgsw(_) => match NtruSpec::for_degree(degree, spec.security)? {
                // The prime of NTRU must differ from that of the tables.
                Some(ntru) if ntru.modulus == q0.value() => {
                    let modulus = prime::ntt_primes_below(degree, q0.bits(), 1, &[q0])?[0].value();
                    Some(Engine::Ntru(NtruSpec { modulus, ..ntru }))
                }
                ntru => ntru.map(Engine::Ntru),
            },
            Engine::Ntru(_) => Some(Engine::Rgsw(DIGITS)),
        };
        if let Some(other) = other {
            plain.extend(variant(lwe_params, other)?);
        }
        // Step 2: corrected tables on RGSW, with a special modulus next to the prime of the tables.
        let special = match spec.engine {
            Engine::Rgsw(RgswGadget::SpecialModulus { .. }) => Some(lwe_params.clone()),
            _ => {
                let modulus = prime::ntt_primes_below(degree, SPECIAL_BITS, 1, &[q0])?[0].value();
                variant(lwe_params, Engine::Rgsw(RgswGadget::SpecialModulus { modulus }))?
            }
        };
        Ok(Self { plain, special })
    }

    /// The parameters of plain tables on an engine.
    pub(crate) fn plain(&self, engine: LutEngine) -> Option<&lwe::Params> {
        let engine = engine.resolved();
        self.plain.iter().find(|lwe_params| LutEngine::of(lwe_params) == engine)
    }

    /// The parameters of corrected tables: RGSW with the special modulus takes one blind rotation,
    /// NTRU one for each table.
    pub(crate) fn corrected(&self, engine: LutEngine) -> Option<&lwe::Params> {
        match engine {
            LutEngine::Auto | LutEngine::Rgsw => self.special.as_ref(),
            LutEngine::Ntru => self.plain(LutEngine::Ntru),
        }
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
fn variant(lwe_params: &lwe::Params, engine: Engine) -> Result<Option<lwe::Params>> {
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
        let found = engines.plain(LutEngine::Ntru).unwrap().spec().engine;
        let modulus = found.ntru().unwrap().modulus;
        assert!(modulus < ntru.modulus && modulus > ntru.modulus / 2, "{modulus}");
    }

    /// A set that is specified with NTRU still uses RGSW unless NTRU is named.
    #[test]
    fn auto_is_rgsw_for_a_set_specified_with_ntru() {
        let lookups = testing::toy_with(|spec| {
            let ntru = NtruSpec::for_degree(spec.ring_degree, spec.security).unwrap().unwrap();
            spec.engine = Engine::Ntru(ntru);
        });
        assert!(lookups.lwe_params().spec().engine.ntru().is_some());
        assert!(lookups.on(LutEngine::Ntru).unwrap().spec().engine.ntru().is_some());
        for engine in [LutEngine::Auto, LutEngine::Rgsw] {
            assert_eq!(lookups.on(engine).unwrap().spec().engine, Engine::Rgsw(DIGITS));
            assert!(lookups.corrected_on(engine).unwrap().one_rotation_for_several());
        }
    }
}
