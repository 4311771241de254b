//! What reads the tables of look-ups: the engines of a parameter set, and which one is taken.

use bellerophon_lwe::{self as lwe, Engine, NtruSpec, RgswGadget};
use bellerophon_ring::prime;

use crate::Result;

/// What reads the tables of look-ups.
///
/// Both engines return the same values from the same secrets. They differ in time, in the size of
/// their keys, in the noise of an entry, which counts only where it comes near the error of the
/// index ([`Params::map_accuracy_over`](crate::Params::map_accuracy_over)), and in what their security
/// rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MapEngine {
    /// The engine that rests on (ring) LWE alone: [`Rgsw`](Self::Rgsw), also where the set was
    /// specified with NTRU.
    #[default]
    Auto,
    /// RGSW ciphertexts ([`lwe::rgsw`]). Several functions, and look-ups to a wanted accuracy, take
    /// one rotation a value.
    Rgsw,
    /// NTRU ciphertexts ([`lwe::ntru`]): half the transforms and a quarter of the keys in memory, for
    /// tables of degree up to 8192; one rotation for each function.
    ///
    /// It adds assumptions that nothing else in the library makes, and is therefore never a default:
    /// decision NTRU with a modulus of 28.6, 44 and 46 to 50 bits at degree 2048, 4096 and 8192, far
    /// beyond the fatigue points of 19.4, 21.8 and 24.3 bits; with thousands of rows under one `f`; and
    /// with rows that encrypt functions of `f` itself and of the LWE secret. The page `docs/ntru.md`
    /// has the details.
    Ntru,
}

impl MapEngine {
    /// A word for reports and command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Rgsw => "rgsw",
            Self::Ntru => "ntru",
        }
    }

    /// The engine that [`Auto`](Self::Auto) means.
    fn resolved(self) -> Self {
        match self {
            Self::Auto => Self::Rgsw,
            named => named,
        }
    }

    /// What a parameter set rotates with.
    pub(crate) fn of(lattice: &lwe::Params) -> Self {
        match lattice.spec().engine {
            Engine::Rgsw(_) => Self::Rgsw,
            Engine::Ntru(_) => Self::Ntru,
        }
    }
}

/// Bits of the special modulus of corrected look-ups.
const SPECIAL_BITS: u32 = 50;

/// Two digits over one prime: six transforms a step, for plain tables.
const DIGITS: RgswGadget = RgswGadget::Digits { base_log: 16, count: 2 };

/// One parameter set on all engines that it allows.
pub(crate) struct Engines {
    /// The one that it was specified with first.
    plain: Vec<lwe::Params>,
    /// RGSW with the gadget of least noise.
    special: Option<lwe::Params>,
}

impl Engines {
    pub(crate) fn new(lattice: &lwe::Params) -> Result<Self> {
        let (spec, degree) = (lattice.spec(), lattice.ring_degree());
        let q0 = *lattice.ring_modulus();
        let mut plain = vec![lattice.clone()];
        let other = match spec.engine {
            Engine::Rgsw(_) => match NtruSpec::for_degree(degree, spec.security)? {
                // Its prime must not be the one that the set itself has.
                Some(ntru) if ntru.modulus == q0.value() => {
                    let modulus = prime::ntt_primes_below(degree, q0.bits(), 1, &[q0])?[0].value();
                    Some(Engine::Ntru(NtruSpec { modulus, ..ntru }))
                }
                ntru => ntru.map(Engine::Ntru),
            },
            Engine::Ntru(_) => Some(Engine::Rgsw(DIGITS)),
        };
        if let Some(other) = other {
            plain.extend(variant(lattice, other)?);
        }
        let special = match spec.engine {
            Engine::Rgsw(RgswGadget::SpecialModulus { .. }) => Some(lattice.clone()),
            _ => {
                let modulus = prime::ntt_primes_below(degree, SPECIAL_BITS, 1, &[q0])?[0].value();
                variant(lattice, Engine::Rgsw(RgswGadget::SpecialModulus { modulus }))?
            }
        };
        Ok(Self { plain, special })
    }

    /// The parameters of plain tables.
    pub(crate) fn plain(&self, engine: MapEngine) -> Option<&lwe::Params> {
        let engine = engine.resolved();
        self.plain.iter().find(|lattice| MapEngine::of(lattice) == engine)
    }

    /// The parameters of tables whose index error is corrected: one rotation with the special modulus,
    /// or one for each table on NTRU.
    pub(crate) fn corrected(&self, engine: MapEngine) -> Option<&lwe::Params> {
        match engine {
            MapEngine::Auto | MapEngine::Rgsw => self.special.as_ref(),
            MapEngine::Ntru => self.plain(MapEngine::Ntru),
        }
    }

    /// The smallest estimate in bits over the keys of all engines.
    pub(crate) fn security_bits(&self) -> f64 {
        self.all().map(lwe::Params::security_bits).fold(f64::INFINITY, f64::min)
    }

    /// The set on every engine.
    pub(crate) fn all(&self) -> impl Iterator<Item = &lwe::Params> {
        self.plain.iter().chain(&self.special)
    }
}

/// The set with another engine, if that is secure.
fn variant(lattice: &lwe::Params, engine: Engine) -> Result<Option<lwe::Params>> {
    match lwe::Params::new(lwe::ParamsSpec { engine, ..lattice.spec().clone() }) {
        Ok(params) => Ok(Some(params)),
        Err(lwe::Error::Insecure { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Preset};

    /// A set whose own prime is the one that NTRU would take has that engine too, modulo another.
    #[test]
    fn ntru_takes_a_prime_of_its_own() {
        let params = Params::preset(Preset::ToyInsecure).unwrap();
        let spec = params.lookups().unwrap().lattice().spec().clone();
        let ntru = NtruSpec::for_degree(spec.ring_degree, spec.security).unwrap().unwrap();
        let same = lwe::ParamsSpec { ring_modulus: ntru.modulus, ..spec };
        let engines = Engines::new(&lwe::Params::new(same).unwrap()).unwrap();
        let found = engines.plain(MapEngine::Ntru).unwrap().spec().engine;
        let modulus = found.ntru().unwrap().modulus;
        assert!(modulus < ntru.modulus && modulus > ntru.modulus / 2, "{modulus}");
    }

    /// A set that is specified with NTRU is read on RGSW all the same, unless NTRU is named.
    #[test]
    fn auto_is_rgsw_for_a_set_specified_with_ntru() {
        let mut spec = Preset::ToyInsecure.spec().unwrap();
        let lookup = spec.lookup.as_mut().unwrap();
        let ntru = NtruSpec::for_degree(lookup.ring_degree, lookup.security).unwrap().unwrap();
        lookup.engine = Engine::Ntru(ntru);
        let params = Params::new(spec).unwrap();
        let lookups = params.lookups().unwrap();
        assert!(lookups.lattice().ntru().is_some());
        assert!(lookups.on(MapEngine::Ntru).unwrap().ntru().is_some());
        for engine in [MapEngine::Auto, MapEngine::Rgsw] {
            assert_eq!(lookups.on(engine).unwrap().spec().engine, Engine::Rgsw(DIGITS));
            assert!(lookups.corrected_on(engine).unwrap().one_rotation_for_several());
        }
        let client = crate::ClientKey::generate(&params).unwrap();
        for (needs, name) in [
            (crate::Needs::new().map(), "rgsw"),
            (crate::Needs::new().map_to(), "rgsw"),
            (crate::Needs::new().map().engine(MapEngine::Ntru), "ntru"),
        ] {
            let keys = client.evaluation_keys(&needs).unwrap();
            assert_eq!(MapEngine::of(&keys.tables.unwrap().lattice).name(), name);
        }
    }
}
