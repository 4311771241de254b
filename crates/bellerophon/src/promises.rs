//! What a parameter set promises, tried on the simulator before anybody gets the set: a chain whose primes
//! do not go with the scale, or a prime that is too small for the tables, is refused here and not by the
//! first operation.

use bellerophon_ckks::{Account, Arithmetic, Bounds, Interval, shadow::Shadow};

use crate::{Bridge, Error, MapEngine, Params, Result, map::Map};

/// `log2` of the probability with which the bound on the error of a vector may fail.
const LOG2_FAILURE: f64 = -20.0;

/// Bits after the binary point that every promise leaves.
const LEAST_BITS: f64 = 1.0;

/// How far values stay below what the lowest level holds.
const INSIDE: f64 = 0.99;

/// Refuses sets that cannot do what [`Params`] says of itself when printed.
pub(crate) fn check(params: &Params) -> Result<()> {
    let used = products(params)?;
    refresh(params, used)?;
    look_ups(params)
}

fn refuse(reason: String) -> Error {
    Error::Bridge { reason }
}

/// As many products in a row as there are levels, of a vector that fills the slots; with refreshing, of one
/// that fills those of a refresh, down to the level that it takes. What is then known of the vector.
fn products(params: &Params) -> Result<Account> {
    let (slots, levels) = (params.arithmetic(), params.levels());
    let least = params.bootstrapper().map_or(0, |bootstrapper| bootstrapper.input_level());
    let shadow = Shadow::new(slots);
    // A refresh may take fewer slots than there are.
    let count = params.bootstrapper().map_or(slots.max_slots(), |b| b.spec().slots);
    let largest = INSIDE * slots.capacity(1, slots.scale()).min(1.0);
    let ends = [largest, -largest];
    let range = Interval::real(-largest, largest)?;
    let x = shadow.encrypt(&ends[..count.min(2)], range, levels)?;
    let x = shadow.repeated(x, count)?;
    let mut product = x.clone();
    let advice = "take levels of about the size of the scale, and a scale well above the noise";
    for done in 1..=levels - least {
        product = shadow.mul(&product, &x).map_err(|error| {
            refuse(format!("product {done} of {levels} in a row fails ({error}): {advice}"))
        })?;
        let bits = product.account().estimate(slots, LOG2_FAILURE).bits();
        // Written so that a number that is none is refused.
        let left = bits >= LEAST_BITS;
        if !left {
            return Err(refuse(format!(
                "{done} of {levels} products in a row leave {bits:.1} bits after the binary point: {advice}"
            )));
        }
    }
    Ok(*product.account())
}

/// A refresh of a vector whose levels are used up, its values as large as they may be.
fn refresh(params: &Params, used: Account) -> Result<()> {
    let Ok(bootstrapper) = params.bootstrapper() else { return Ok(()) };
    let bound = bootstrapper.spec().bound;
    let mut x = used;
    x.meta.bounds = Bounds::all(Interval::real(-bound, bound)?);
    let refreshed = bootstrapper.refreshed(&x).map_err(|error| {
        refuse(format!(
            "a vector whose levels are used up cannot be refreshed ({error}): take the chain of \
             BootstrapSpec::chain, whose levels have the size of the scale"
        ))
    })?;
    let worst = refreshed.estimate(params.arithmetic(), LOG2_FAILURE).log2_worst.exp2();
    let error = worst + bootstrapper.approximation_error();
    if error < bound / 2.0 {
        return Ok(());
    }
    Err(refuse(format!(
        "a refresh errs by up to {error:.1e} where values reach {bound:.1e}: take a larger scale and a \
         larger BootstrapSpec::log_reduction"
    )))
}

/// A look-up on the domain `[-1, 1]` over every bridge.
fn look_ups(params: &Params) -> Result<()> {
    let Some(lookups) = params.optional_lookups() else { return Ok(()) };
    let (op, lattice) = ("look up", params.tables_on("look up", MapEngine::Auto)?);
    for bridge in [Bridge::Ring, Bridge::Linear] {
        let Ok(way) = lookups.way(op, bridge) else { continue };
        Map::new(params, lookups, lattice, way, &(-1.0..=1.0)).map_err(|error| {
            refuse(format!(
                "no look-up over the {} bridge covers the domain [-1, 1] ({error}): take a larger lowest \
                 prime, or larger tables",
                bridge.name()
            ))
        })?;
    }
    Ok(())
}
