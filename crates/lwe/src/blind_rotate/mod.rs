//! Blind rotation: test polynomials times `X^(b + <a, s>)` with `s` encrypted (PEGASUS, Fig. 2,
//! lines 3 to 6), on either engine.

mod cggi;
mod key_chunks;
mod ntru;
mod ntru_automorphism;
mod ntru_cmux;
mod ntru_parts;

use bellerophon_ring::{Result, threads, try_map};
use rand::CryptoRng;

pub use key_chunks::RotationPart;
pub(crate) use key_chunks::{Layout, Shared};
pub(crate) use ntru::NtruKeyMaterial;

use crate::engine::Engine;
use crate::error;
use crate::external_product::Accumulator;
use crate::modulus_switching::Mod2NCiphertext;
use crate::params::{EngineContext, Params};
use crate::secret::SecretKey;
use crate::test_polynomial::TestPolynomial;
use cggi::{RgswRotationKey, SeededRgswRotationKey};
use ntru::{NtruRotationKey, SeededNtruRotationKey};

/// Accumulators that one thread rotates together. With one key element (half a megabyte at degree
/// 4096 and two primes) they fit a cache of two megabytes.
const GROUP: usize = 16;

/// The parameters that a blind-rotation key depends on. The key serves exactly the parameter sets
/// that agree in them: another gadget or modulus gives the rows other constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyParams {
    dimension: usize,
    degree: usize,
    ring_modulus: u64,
    engine: Engine,
}

impl KeyParams {
    fn of(params: &Params) -> Self {
        let spec = params.spec();
        Self {
            dimension: spec.dimension,
            degree: spec.ring_degree,
            ring_modulus: spec.ring_modulus,
            engine: spec.engine,
        }
    }

    fn check(&self, params: &Params) -> Result<()> {
        // Dimension and degree first, which have clearer errors than the engine.
        let needed = Self::of(params);
        for (found, needed) in [(self.dimension, needed.dimension), (self.degree, needed.degree)] {
            if found != needed {
                let remedy = "use the key of these parameters";
                return Err(error::dimension(found, needed, remedy));
            }
        }
        if *self != needed {
            let print = |of: &Self| format!("{:?} with q0 = {}", of.engine, of.ring_modulus);
            return Err(error::parameter(
                "engine",
                format!("a key for {}", print(self)),
                format!("the key of these parameters, {}", print(&needed)),
            ));
        }
        Ok(())
    }
}

/// The compressed blind-rotation key of the engine of its parameters: seeds replace masks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededBlindRotationKey {
    key_params: KeyParams,
    rows: SeededRows,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SeededRows {
    Rgsw(SeededRgswRotationKey),
    Ntru(SeededNtruRotationKey),
}

impl SeededBlindRotationKey {
    /// Encrypts the coordinates of an LWE secret: under the ring secret with the RGSW engine, under
    /// a temporary NTRU secret with the NTRU engine. In the second case the key contains a key
    /// switch from the NTRU secret to the ring secret.
    ///
    /// # Errors
    /// The ring secret must be ternary. The LWE secret must be ternary too, except for
    /// [`NtruRotation::Any`](crate::NtruRotation).
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        lwe: &SecretKey,
        ring: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        lwe.check(params.spec().dimension)?;
        ring.check_ternary("a ternary secret for the ring of the tables")?;
        if !params.spec().engine.allows_any_secret() {
            lwe.check_ternary("a ternary LWE secret for this engine, or NtruRotation::Any")?;
        }
        // The NTRU engine samples its own secret; `sigma` is the noise of its ring key switch.
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
        Ok(Self { key_params: KeyParams::of(params), rows })
    }

    /// Expands the key to the memory layout that a rotation reads.
    pub fn expand(&self, params: &Params) -> Result<BlindRotationKey> {
        let key_params = self.key_params;
        key_params.check(params)?;
        let rows = match (&self.rows, params.engine()) {
            (SeededRows::Rgsw(key), EngineContext::Rgsw(context)) => {
                Rows::Rgsw(key.expand(context))
            }
            (SeededRows::Ntru(key), EngineContext::Ntru(context)) => {
                Rows::Ntru(key.expand(context))
            }
            _ => unreachable!("the key fits the parameters"),
        };
        Ok(BlindRotationKey { key_params, rows })
    }

    /// Serialized bytes of the key of a parameter set: residues packed to the bits of their
    /// primes, seeds instead of masks.
    pub fn byte_len(params: &Params) -> usize {
        match params.engine() {
            EngineContext::Rgsw(context) => {
                SeededRgswRotationKey::wire_bytes(params.spec().dimension, context)
            }
            EngineContext::Ntru(context) => NtruRotationKey::wire_bytes(params, context),
        }
    }
}

/// A blind-rotation key ready for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlindRotationKey {
    key_params: KeyParams,
    rows: Rows,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rows {
    Rgsw(RgswRotationKey),
    Ntru(NtruRotationKey),
}

impl BlindRotationKey {
    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        8 * match &self.rows {
            Rows::Rgsw(key) => key.words(),
            Rows::Ntru(key) => key.words(),
        }
    }

    /// Rotates test polynomials by the exponents of their values. The caller has checked the key.
    fn rotate(
        &self,
        params: &Params,
        group: &[(&TestPolynomial, &Mod2NCiphertext)],
    ) -> Vec<Accumulator> {
        match (&self.rows, params.engine()) {
            (Rows::Rgsw(key), EngineContext::Rgsw(context)) => key.rotate(context, group),
            (Rows::Ntru(key), EngineContext::Ntru(context)) => key.rotate(context, group),
            _ => unreachable!("the key fits the parameters"),
        }
    }
}

/// Look-ups that an operation starts together: a few groups for each thread. Progress is reported
/// after every group.
pub(crate) fn batch() -> usize {
    64.max(GROUP * threads())
}

/// Rotates one test polynomial, or one for each value, by the exponents of each value.
///
/// The accumulators of a group read the key together, one key element after the other. Groups run
/// on the threads of the active pool. Coefficient 0 of each returned accumulator encrypts the
/// table entry at the index of its value.
pub fn blind_rotate_batch(
    params: &Params,
    values: &[Mod2NCiphertext],
    tables: &[&TestPolynomial],
    key: &BlindRotationKey,
) -> Result<Vec<Accumulator>> {
    blind_rotate_groups(params, values, tables, key, |_| Ok(()))
}

/// As [`blind_rotate_batch`], calling `rotated` with the size of every completed group, on the
/// thread that rotated it. An error that it returns ends the operation: groups that have not begun
/// are left out.
pub(crate) fn blind_rotate_groups(
    params: &Params,
    values: &[Mod2NCiphertext],
    tables: &[&TestPolynomial],
    key: &BlindRotationKey,
    rotated: impl Fn(usize) -> Result<()> + Sync + Send,
) -> Result<Vec<Accumulator>> {
    if tables.len() != 1 && tables.len() != values.len() {
        return Err(error::table_count(tables.len(), values.len()));
    }
    // Step 1: check key, test polynomials and exponents, so that the rotation cannot fail.
    let n = params.spec().ring_degree;
    let dimension = |found, needed, remedy| Err(error::dimension(found, needed, remedy));
    key.key_params.check(params)?;
    tables.iter().try_for_each(|table| table.check(params))?;
    for value in values {
        if value.a().len() != params.spec().dimension {
            return dimension(value.a().len(), params.spec().dimension, "switch the key first");
        }
        if value.order() != 2 * n {
            return dimension(value.order() / 2, n, "round to the degree of the tables");
        }
        if params.even_exponents() && value.a().iter().any(|a| a % 2 == 1) {
            return Err(error::parameter(
                "exponents",
                "an odd one in the mask".into(),
                "even ones, as Params::exponents rounds for this engine".into(),
            ));
        }
    }
    // Step 2: pair each value with its test polynomial.
    let items: Vec<(&TestPolynomial, &Mod2NCiphertext)> = values
        .iter()
        .enumerate()
        .map(|(i, value)| (tables[if tables.len() == 1 { 0 } else { i }], value))
        .collect();
    // Step 3: rotate in groups. A group reads the key once, but every thread needs a group first.
    // Small batches are split evenly over the threads.
    let group = values.len().div_ceil(threads()).clamp(1, GROUP);
    let groups: Vec<_> = items.chunks(group).collect();
    let accumulators: Result<Vec<_>> = try_map(&groups, |group| {
        let accumulators = key.rotate(params, group);
        rotated(group.len())?;
        Ok(accumulators)
    });
    Ok(accumulators?.into_iter().flatten().collect())
}

#[cfg(test)]
pub(crate) mod tests;
