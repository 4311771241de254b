//! Blind rotation: multiplying tables by `X^(b + <a, s>)` with `s` encrypted (PEGASUS, Fig. 2,
//! lines 3 to 6), on either engine.

mod cggi;
mod ntru;
mod ntru_cmux;
mod parts;
mod xiang;

use rand::CryptoRng;

use cggi::{RgswRotationKey, SeededRgswRotationKey};
pub(crate) use ntru::UnderF;
use ntru::{NtruRotationKey, SeededNtruRotationKey};
pub use parts::RotationPart;
pub(crate) use parts::{Layout, Shared};

use crate::{
    Engine, Error, Exponents, LookupTable, Params, Result, SecretKey, par, params::EngineContext,
    rgsw::Accumulator,
};

/// How many accumulators walk the key together on one thread: with the key element (half a
/// megabyte at degree 4096 and two primes) they stay within a cache of two megabytes.
const GROUP: usize = 16;

/// What a blind-rotation key is made for. It serves all parameter sets that agree in this, and no
/// others: with another gadget or modulus its rows would stand for other constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MadeFor {
    dimension: usize,
    degree: usize,
    ring_modulus: u64,
    engine: Engine,
}

impl MadeFor {
    fn of(params: &Params) -> Self {
        let spec = params.spec();
        Self {
            dimension: spec.dimension,
            degree: spec.ring_degree,
            ring_modulus: spec.ring_modulus,
            engine: spec.engine,
        }
    }

    fn check(&self, op: &'static str, params: &Params) -> Result<()> {
        let needed = Self::of(params);
        for (found, needed) in [(self.dimension, needed.dimension), (self.degree, needed.degree)] {
            if found != needed {
                let remedy = "use the key of these parameters";
                return Err(Error::Dimension { op, found, needed, remedy });
            }
        }
        if *self != needed {
            let print = |of: &Self| format!("{:?} with q0 = {}", of.engine, of.ring_modulus);
            return Err(Error::Parameter {
                field: "engine",
                found: format!("{op} with a key for {}", print(self)),
                needed: format!("the key of these parameters, {}", print(&needed)),
            });
        }
        Ok(())
    }
}

/// The blind-rotation key as it travels, of the engine of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededBlindRotationKey {
    made_for: MadeFor,
    rows: SeededRows,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SeededRows {
    Rgsw(SeededRgswRotationKey),
    Ntru(SeededNtruRotationKey),
}

impl SeededBlindRotationKey {
    /// Encrypts the coordinates of an LWE secret under a ring secret, or under an NTRU secret that
    /// is made here and reaches no further than a key switch to the ring secret.
    ///
    /// # Errors
    /// If one of the secrets is not of these parameters: the ring's must be ternary, and so must that of
    /// LWE but for the NTRU rotation of any secret.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        lwe: &SecretKey,
        ring: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        lwe.check("blind-rotation key", params.dimension())?;
        ring.check_ternary("a ternary secret for the ring of the tables")?;
        if !params.spec().engine.turns_any() {
            lwe.check_ternary("a ternary LWE secret for this engine, or NtruRotation::Any")?;
        }
        let sigma = params.spec().ring_sigma;
        let rows = match params.engine() {
            EngineContext::Rgsw(context) => {
                SeededRows::Rgsw(SeededRgswRotationKey::generate(context, sigma, lwe, ring, rng)?)
            }
            EngineContext::Ntru(context) => SeededRows::Ntru(SeededNtruRotationKey::generate(
                context,
                sigma,
                lwe.coefficients(),
                ring,
                rng,
            )?),
        };
        Ok(Self { made_for: MadeFor::of(params), rows })
    }

    /// The key in the order in which a rotation reads it.
    ///
    /// # Errors
    /// If the parameters are not those of the key.
    pub fn expand(&self, params: &Params) -> Result<BlindRotationKey> {
        let made_for = self.made_for;
        made_for.check("expanding a blind-rotation key", params)?;
        let rows = match (&self.rows, params.engine()) {
            (SeededRows::Rgsw(key), EngineContext::Rgsw(context)) => {
                Rows::Rgsw(key.expand(context))
            }
            (SeededRows::Ntru(key), EngineContext::Ntru(context)) => {
                Rows::Ntru(key.expand(context))
            }
            _ => unreachable!("the key fits the parameters"),
        };
        Ok(BlindRotationKey { made_for, rows })
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
pub struct BlindRotationKey {
    made_for: MadeFor,
    rows: Rows,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rows {
    Rgsw(RgswRotationKey),
    Ntru(NtruRotationKey),
}

impl BlindRotationKey {
    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.made_for.dimension
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        8 * match &self.rows {
            Rows::Rgsw(key) => key.words(),
            Rows::Ntru(key) => key.words(),
        }
    }

    /// Tables rotated by the exponents of their values; the key must fit.
    fn rotate(&self, params: &Params, group: &[(&LookupTable, &Exponents)]) -> Vec<Accumulator> {
        match (&self.rows, params.engine()) {
            (Rows::Rgsw(key), EngineContext::Rgsw(context)) => key.rotate(context, group),
            (Rows::Ntru(key), EngineContext::Ntru(context)) => key.rotate(context, group),
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
/// If exponents, tables or the key are not of this parameter set, or there are neither one nor as
/// many tables as values.
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
    key.made_for.check(op, params)?;
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
