//! Blind rotation: multiplying tables by `X^(b + <a, s>)` with `s` encrypted (PEGASUS, Fig. 2,
//! lines 3 to 6), on either engine.

mod cggi;
mod ntru;
mod ntru_cmux;
mod xiang;

use rand::CryptoRng;

pub use cggi::{RgswRotationKey, SeededRgswRotationKey};
pub(crate) use ntru::UnderF;
pub use ntru::{NtruRotationKey, SeededNtruRotationKey};

use crate::{
    Error, Exponents, LookupTable, Params, Result, SecretKey, par, params::EngineContext,
    rgsw::Accumulator,
};

/// How many accumulators walk the key together on one thread: with the key element (half a
/// megabyte at degree 4096 and two primes) they stay within a cache of two megabytes.
const GROUP: usize = 16;

/// The blind-rotation key as it travels, of the engine of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeededBlindRotationKey {
    /// For [`Engine::Rgsw`](crate::Engine::Rgsw).
    Rgsw(SeededRgswRotationKey),
    /// For [`Engine::Ntru`](crate::Engine::Ntru).
    Ntru(SeededNtruRotationKey),
}

impl SeededBlindRotationKey {
    /// Encrypts the coordinates of an LWE secret under a ring secret, or under an NTRU secret that
    /// is made here and reaches no further than a key switch to the ring secret.
    ///
    /// # Errors
    /// If one of the secrets is not of these parameters.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        lwe: &SecretKey,
        ring: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        lwe.check("blind-rotation key", params.dimension())?;
        match params.engine() {
            EngineContext::Rgsw(context) => {
                let sigma = params.spec().ring_sigma;
                SeededRgswRotationKey::generate(context, sigma, lwe, ring, rng).map(Self::Rgsw)
            }
            EngineContext::Ntru(context) => {
                let lwe = lwe.coefficients();
                SeededNtruRotationKey::generate(params, context, lwe, ring, rng).map(Self::Ntru)
            }
        }
    }

    /// The key in the order in which a rotation reads it.
    ///
    /// # Panics
    /// If the parameters are of the other engine.
    pub fn expand(&self, params: &Params) -> BlindRotationKey {
        match (self, params.engine()) {
            (Self::Rgsw(key), EngineContext::Rgsw(context)) => {
                BlindRotationKey::Rgsw(key.expand(context))
            }
            (Self::Ntru(key), EngineContext::Ntru(context)) => {
                BlindRotationKey::Ntru(key.expand(context))
            }
            _ => panic!("a blind-rotation key and parameters of one engine"),
        }
    }

    /// Bytes on the wire of the key of a parameter set: residues packed to the bits of their primes,
    /// seeds for masks.
    pub fn byte_len(params: &Params) -> usize {
        match params.engine() {
            EngineContext::Rgsw(context) => {
                SeededRgswRotationKey::wire_bytes(params.dimension(), context)
            }
            EngineContext::Ntru(context) => NtruRotationKey::wire_bytes(params, context),
        }
    }
}

/// A blind-rotation key ready for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlindRotationKey {
    /// For [`Engine::Rgsw`](crate::Engine::Rgsw).
    Rgsw(RgswRotationKey),
    /// For [`Engine::Ntru`](crate::Engine::Ntru).
    Ntru(NtruRotationKey),
}

impl BlindRotationKey {
    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        match self {
            Self::Rgsw(key) => key.dimension(),
            Self::Ntru(key) => key.dimension(),
        }
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        8 * match self {
            Self::Rgsw(key) => key.words(),
            Self::Ntru(key) => key.words(),
        }
    }

    /// Whether the key is of the engine and the sizes of these parameters.
    fn fits(&self, params: &Params) -> bool {
        self.dimension() == params.dimension()
            && match (self, params.engine()) {
                (Self::Rgsw(key), EngineContext::Rgsw(context)) => key.fits(context),
                (Self::Ntru(key), EngineContext::Ntru(context)) => key.fits(params, context),
                _ => false,
            }
    }

    /// Tables rotated by the exponents of their values; the key must fit.
    fn rotate(&self, params: &Params, group: &[(&LookupTable, &Exponents)]) -> Vec<Accumulator> {
        match (self, params.engine()) {
            (Self::Rgsw(key), EngineContext::Rgsw(context)) => key.rotate(context, group),
            (Self::Ntru(key), EngineContext::Ntru(context)) => key.rotate(context, group),
            _ => unreachable!("the key fits the parameters"),
        }
    }
}

/// How many look-ups an operation starts together: a few groups for each thread, so that it can
/// report, and be stopped, every few seconds.
pub(crate) fn batch() -> usize {
    64.max(GROUP * par::threads())
}

/// Rotates one table, or one for each value, by the exponents of each value.
///
/// The accumulators of a group walk the key together, one key element after the other; groups
/// run on the threads of the active pool. Coefficient 0 of an accumulator that comes out has the
/// phase of the table's entry at the index of its value.
///
/// # Errors
/// If exponents or tables are not of this parameter set, or there are neither one nor as many
/// tables as values.
pub fn blind_rotate_batch(
    params: &Params,
    values: &[Exponents],
    tables: &[&LookupTable],
    key: &BlindRotationKey,
) -> Result<Vec<Accumulator>> {
    if tables.len() != 1 && tables.len() != values.len() {
        return Err(Error::TableCount { tables: tables.len(), values: values.len() });
    }
    let n = params.ring_degree();
    let op = "blind rotation";
    let dimension = |found, needed, remedy| Err(Error::Dimension { op, found, needed, remedy });
    if key.dimension() != params.dimension() {
        let remedy = "use the key of these parameters";
        return dimension(key.dimension(), params.dimension(), remedy);
    }
    if !key.fits(params) {
        return Err(Error::Parameter {
            field: "engine",
            found: "a blind-rotation key of another engine or gadget".into(),
            needed: "the key of these parameters".into(),
        });
    }
    tables.iter().try_for_each(|table| table.check(op, params))?;
    for value in values {
        if value.a().len() != params.dimension() {
            return dimension(value.a().len(), params.dimension(), "switch the key first");
        }
        if value.order() != 2 * n {
            return dimension(value.order() / 2, n, "round to the degree of the tables");
        }
        if params.even_exponents() && value.a().iter().any(|a| a % 2 == 1) {
            return Err(Error::Parameter {
                field: "exponents",
                found: "an odd one in the mask".into(),
                needed: "even ones, as Params::exponents rounds for this engine".into(),
            });
        }
    }
    let items: Vec<(&LookupTable, &Exponents)> = values
        .iter()
        .enumerate()
        .map(|(i, value)| (tables[if tables.len() == 1 { 0 } else { i }], value))
        .collect();
    let group = values.len().div_ceil(par::threads()).clamp(1, GROUP);
    let groups: Vec<_> = items.chunks(group).collect();
    let rotated = par::try_map(&groups, |group| Ok(key.rotate(params, group)))?;
    Ok(rotated.into_iter().flatten().collect())
}

#[cfg(test)]
pub(crate) mod tests;
