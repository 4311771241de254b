//! The contenders: an engine at a size.

use bellerophon::lwe::{Engine, NtruRotation, NtruSet, NtruSpec, ParamsSpec, Result, RgswGadget};
use bellerophon::mlwe::SecretKind;
use bellerophon::ring::prime;

/// Automorphism keys of the general rotation.
const WINDOW: usize = 16;

/// An engine at a size.
#[derive(Debug, Clone)]
pub struct Contender {
    /// The engine, the degree of its tables, and its distinguishing feature.
    pub name: &'static str,
    pub spec: ParamsSpec,
    /// Returns from NTRU by the paper's table of LWE ciphertexts.
    pub by_table: bool,
}

impl Contender {
    /// All contenders. Those of one degree have the same LWE secret and noise, except the wide one
    /// and the paper's.
    pub fn all() -> Result<Vec<Self>> {
        let digits = RgswGadget::Digits { base_log: 16, count: 2 };
        let new = |name, spec| Self { name, spec, by_table: false };
        Ok(vec![
            new("rgsw-2048", rgsw(NtruSet::N2048, digits)?),
            new("ntru-2048", NtruSet::N2048.spec()?),
            new("rgsw-4096", rgsw(NtruSet::N4096, digits)?),
            new("rgsw-4096-special", rgsw(NtruSet::N4096, special(4096)?)?),
            new("ntru-4096", NtruSet::N4096.spec()?),
            new("ntru-4096-one-digit", NtruSet::N4096OneDigit.spec()?),
            new("ntru-4096-any", any(NtruSet::N4096)?),
            new("ntru-4096-any-wide", wide(any(NtruSet::N4096)?)),
            new("rgsw-8192", rgsw(NtruSet::N8192, digits)?),
            new("ntru-8192", NtruSet::N8192.spec()?),
            new("ntru-8192-one-digit", NtruSet::N8192OneDigit.spec()?),
            Self { name: "paper-ntru128", spec: NtruSet::Paper128.spec()?, by_table: true },
        ])
    }

    /// The degree of the tables.
    pub fn degree(&self) -> usize {
        self.spec.ring_degree
    }
}

/// A set with RGSW ciphertexts instead of NTRU.
fn rgsw(set: NtruSet, gadget: RgswGadget) -> Result<ParamsSpec> {
    Ok(ParamsSpec { engine: Engine::Rgsw(gadget), ..set.spec()? })
}

fn special(degree: usize) -> Result<RgswGadget> {
    let modulus = prime::ntt_primes_below(degree, 50, 1, &[])?[0].value();
    Ok(RgswGadget::SpecialModulus { modulus })
}

/// A set whose LWE secret is uniform in -2 to 2, with the noise of a dense secret.
fn wide(spec: ParamsSpec) -> ParamsSpec {
    ParamsSpec { secret: SecretKind::Bounded(2), sigma: 12.0, ..spec }
}

/// A set with the general rotation.
fn any(set: NtruSet) -> Result<ParamsSpec> {
    let spec = set.spec()?;
    let ntru = spec.engine.ntru().copied().map(|ntru| {
        Engine::Ntru(NtruSpec { rotation: NtruRotation::Any { window: WINDOW }, ..ntru })
    });
    Ok(ParamsSpec { engine: ntru.unwrap_or(spec.engine), ..spec })
}
