//! The promises of a parameter set, tried on the simulator when the set is made. A modulus chain
//! whose primes do not match the scale, or a prime that is too small for the tables, is refused
//! here and not by the first operation.

use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::SimulatorExt;
use bellerophon_circuits::fbt::IntTable;
use bellerophon_ckks::vectors::Vectors;
use bellerophon_ckks::{Bounds, CkksOps, Interval, Metadata, simulator::Simulator};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Error, Result};

use super::subject::PlanSubject;
use crate::{bridge_choice::Bridge, engine::Engine, error};

/// `log2` of the probability that the error of a vector exceeds its bound.
const LOG2_FAILURE: f64 = -20.0;

/// Correct bits after the binary point that every promise must leave.
const LEAST_BITS: f64 = 1.0;

/// The size of the tried values, as a part of the capacity of the lowest level.
const INSIDE: f64 = 0.99;

/// Refuses sets that cannot do what their levels, bootstrappers and look-ups state.
///
/// # Errors
/// [`ErrorKind::Parameters`] names the part that fails and the remedy.
pub fn check_promises<P: PlanSubject>(params: &P) -> Result<()> {
    let used = products(params)?;
    bootstrap(params, used)?;
    tables(params)?;
    look_ups(params)
}

fn refuse(reason: String) -> Error {
    error::bridge(reason)
}

/// As many products in a row as there are levels, of a vector that fills the slots. With
/// bootstrapping, the vector fills the slots of a bootstrap, and the products stop at its input
/// level. Returns the metadata of the last product.
fn products<P: PlanSubject>(params: &P) -> Result<Metadata> {
    let (slots, levels) = (params.slots(), params.levels());
    let bootstrap = params.bootstrapper().map_or(0, |bootstrapper| bootstrapper.input_level());
    let functional = params.functional().map_or(0, |functional| functional.input_level());
    let least = bootstrap.max(functional);
    let simulator = Simulator::new(slots);
    // Step 1: the operand. A bootstrap may take fewer slots than there are.
    let count = params.bootstrapper().map_or(slots.max_slots(), |b| b.spec().slots);
    let largest = INSIDE * slots.capacity(1, slots.scale()).min(1.0);
    let ends = [largest, -largest];
    let range = Interval::real(-largest, largest)?;
    let x = simulator.encrypt(&ends[..count.min(2)], range, levels)?;
    let x = simulator.repeated(x, count)?;
    let mut product = x.clone();
    let Some(count_of_products) = levels.checked_sub(least) else {
        return Err(refuse(format!(
            "programs start at level {levels}, below the input level {least} of a bootstrap: take \
             the modulus chain of a single bootstrap, or a longer one"
        )));
    };
    // Step 2: the products, each of which must leave some correct bits.
    let advice = "take primes of about the size of the scale, and a scale well above the noise";
    for done in 1..=count_of_products {
        product = simulator.mul(&product, &x).map_err(|error| {
            refuse(format!("product {done} of {levels} in a row fails ({error}): {advice}"))
        })?;
        let bits = product.metadata().estimate(slots, LOG2_FAILURE).bits();
        // Written so that NaN is refused.
        let left = bits >= LEAST_BITS;
        if !left {
            return Err(refuse(format!(
                "{done} of {levels} products in a row leave {bits:.1} correct bits after the \
                 binary point: {advice}"
            )));
        }
    }
    Ok(*product.metadata())
}

/// A bootstrap of a vector whose levels are used up, with the largest values allowed.
fn bootstrap<P: PlanSubject>(params: &P, used: Metadata) -> Result<()> {
    let Ok(bootstrapper) = params.bootstrapper() else { return Ok(()) };
    let bound = bootstrapper.spec().bound;
    // Step 1: the operand, whose values fill the range of the bootstrap.
    let mut x = used;
    x.meta.bounds = Bounds::all(Interval::real(-bound, bound)?);
    let refreshed = bootstrapper.bootstrapped(&x).map_err(|error| {
        refuse(format!(
            "a vector whose levels are used up cannot be bootstrapped ({error}): take the chain of \
             `BootstrapSpec::chain`, whose primes have the size of the scale"
        ))
    })?;
    // Step 2: the error of the worst value must leave at least one bit. The predicted noise
    // includes the approximation error.
    let error = refreshed.estimate(params.slots(), LOG2_FAILURE).log2_worst.exp2();
    if error < bound / 2.0 {
        return Ok(());
    }
    Err(refuse(format!(
        "a bootstrap has an error of up to {error:.1e} for values up to {bound:.1e}: take a larger \
         scale and a larger `BootstrapSpec::log_reduction`"
    )))
}

/// Two tables in a row, with as many entries as the levels of the series allow, up to 256.
fn tables<P: PlanSubject>(params: &P) -> Result<()> {
    let Ok(functional) = params.functional() else { return Ok(()) };
    // Step 1: as many entries as the series has levels for, at most 256.
    let entries = 1usize << functional.spec().series.len().clamp(1, 8);
    let simulator = Simulator::new(params.slots()).with_functional(functional.clone())?;
    let table = IntTable::new(entries, entries, |k| entries - 1 - k)?;
    let x = simulator.encrypt_integers(&[0, 1], entries, functional.input_level())?;
    // Step 2: two tables in a row: the second one reads the noisy result of the first.
    let twice = simulator.integers().tables(&x, &[&table]).and_then(|results| {
        let integers = simulator.integers();
        integers.tables(&results[0], &[&table])
    });
    twice.map_err(|error| {
        refuse(format!(
            "two tables of {entries} entries in a row fail ({error}): take the chain of \
             `FbtSpec::chain`"
        ))
    })?;
    Ok(())
}

/// A look-up on the domain `[-1, 1]` with every bridge.
fn look_ups<P: PlanSubject>(params: &P) -> Result<()> {
    let Ok(lookups) = params.lookups() else { return Ok(()) };
    let lwe_params = lookups.on(Engine::Rgsw)?;
    for bridge in [Bridge::Ring, Bridge::Linear] {
        // A set without this bridge promises nothing about it.
        let Ok(bridge) = lookups.bridge(Some(bridge)) else { continue };
        lookups.check_covers(lwe_params, bridge, &(-1.0..=1.0)).map_err(|error| {
            refuse(format!(
                "no look-up with the {} bridge covers the domain [-1, 1] ({error}): take a larger \
                 lowest prime, or larger tables",
                bridge.name()
            ))
        })?;
    }
    Ok(())
}
