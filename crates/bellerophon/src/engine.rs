//! What reads the tables of look-ups: the engines of a parameter set, and which one is taken.

use bellerophon_lwe::{self as lwe, Engine, NtruSpec, RgswGadget, noise};
use bellerophon_ring::prime;

use crate::Result;

/// What reads the tables of look-ups.
///
/// Both engines return the same values from the same secrets: they differ in time, in the size of
/// their keys, and in the noise of an entry, which counts only where it comes near the error of the
/// index ([`Params::map_accuracy_over`](crate::Params::map_accuracy_over)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MapEngine {
    /// The faster one, of those whose noise is lost beside the error of the index, or where it is of
    /// none, what the set was specified with.
    #[default]
    Auto,
    /// RGSW ciphertexts ([`lwe::rgsw`]): several functions, and look-ups to a wanted accuracy, take
    /// one rotation a value.
    Rgsw,
    /// NTRU ciphertexts ([`lwe::ntru`]): half the transforms and a quarter of the keys in memory, for
    /// tables of degree up to 8192; one rotation for each function.
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

/// The noise of an entry is lost beside the error of the index if it stays below this part of it, both
/// as parts of a turn: there it adds some two hundredths to the error of a function that is as steep as
/// its range is wide.
const LOST: f64 = 1.0 / 8.0;

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
        match engine {
            MapEngine::Auto => Some(self.fastest()),
            _ => self.plain.iter().find(|lattice| MapEngine::of(lattice) == engine),
        }
    }

    /// The parameters of tables whose index error is corrected: one rotation with the special modulus,
    /// which is the faster way, or one for each table on NTRU.
    pub(crate) fn corrected(&self, engine: MapEngine) -> Option<&lwe::Params> {
        let ntru = || self.plain(MapEngine::Ntru);
        match engine {
            MapEngine::Rgsw => self.special.as_ref(),
            MapEngine::Ntru => ntru(),
            MapEngine::Auto => self.special.as_ref().or_else(ntru),
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

    fn fastest(&self) -> &lwe::Params {
        let exact = self.plain.iter().filter(|lattice| {
            let turn = lattice.ring_modulus().value() as f64;
            let index = noise::expected_index_error(lattice, 0.0).sqrt();
            noise::look_up(lattice).sqrt() / turn
                < LOST * index / (2 * lattice.ring_degree()) as f64
        });
        let fastest = exact.min_by(|a, b| a.transforms().total_cmp(&b.transforms()));
        fastest.unwrap_or(&self.plain[0])
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
}
