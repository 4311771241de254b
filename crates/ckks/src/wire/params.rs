//! Byte form of parameter sets: lattice, levels, scale and relinearization strategy.

use bellerophon_mlwe::{self as mlwe, MOST_PRIMES, RelinStrategy, Security};
use bellerophon_ring::{wire::List, wire_form};
use serde::{Deserialize, Serialize};

use crate::error;
use crate::params::Params;

/// The plain form of a parameter set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParamsForm {
    lattice: mlwe::wire::ParamsForm,
    /// Number of primes of level `1, 2, ..`.
    widths: List<u32, MOST_PRIMES>,
    log_scale: u32,
    relin_strategy: RelinStrategyForm,
}

/// The plain form of a [`RelinStrategy`]. It is part of the bytes, since another version of the
/// library may choose another strategy for the same lattice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RelinStrategyForm {
    /// How many polynomials one polynomial of the larger ring holds.
    factor: u32,
    /// A temporary rank with its special primes.
    temporary: Option<(u32, List<u64, MOST_PRIMES>)>,
}

wire_form! {
    // The reader states the security that the set must have been checked for;
    // [`Security::Insecure`] accepts any set.
    for Params: super::kind::PARAMS, "parameters of arithmetic" as ParamsForm;
    fn write(&self, _: &Security) {
        let strategy = self.relin_strategy();
        let special = || List(strategy.raised().spec().p.clone());
        let widths = self.widths(self.max_level());
        Ok(ParamsForm {
            lattice: self.lattice().spec().into(),
            widths: List(widths.map(|width| width as u32).collect()),
            log_scale: self.scale().log2().round() as u32,
            relin_strategy: RelinStrategyForm {
                factor: strategy.factor() as u32,
                temporary: strategy
                    .is_raised()
                    .then(|| (strategy.raised().spec().rank as u32, special())),
            },
        })
    }
    fn read(wanted, form) {
        // Step 1: the lattice, checked for the security that the reader wants.
        let ParamsForm { lattice, widths, log_scale, relin_strategy } = form;
        let lattice = mlwe::Params::new(lattice.into_spec(*wanted)?)?;
        // Step 2: the levels. Empty widths mean one level per prime in a specification, but not in
        // bytes.
        let levels = lattice.q().limbs() - 1;
        if widths.0.is_empty() && levels > 0 {
            let reason = format!(
                "no level above the lowest: need 1 to {levels} levels for the primes after q_0"
            );
            return Err(error::params(reason));
        }
        let widths: Vec<usize> = widths.0.into_iter().map(|width| width as usize).collect();
        // Step 3: the relinearization strategy as sent, without a search.
        let temporary = relin_strategy.temporary.map(|(rank, primes)| (rank as usize, primes.0));
        let strategy = RelinStrategy::new(&lattice, relin_strategy.factor as usize, temporary)?;
        Self::with_relin_strategy(strategy, &widths, log_scale)
    }
}
