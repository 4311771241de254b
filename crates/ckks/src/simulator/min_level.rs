//! The number of levels that a program needs, found by trial.

use bellerophon_mlwe::{RelinStrategy, Security};
use bellerophon_ring::{ErrorKind, Modulus, Result};

use super::Simulator;
use crate::modulus_chain::LevelGroup;
use crate::params::{Params, ParamsSpec};

/// Number of levels tried beyond those of the parameters.
const BEYOND: usize = 32;

/// The lowest level at which a program succeeds if its inputs are encrypted there. Tries levels 0,
/// 1, .. of the parameters with a fresh [`Simulator`] each, then up to 32 additional levels like
/// the highest one, which the parameters do not have. A result above
/// [`max_level`](Params::max_level) is the length of a sufficient chain, without regard to its
/// security.
///
/// The program must encrypt its inputs at the level that it is given. Linear transforms prepared in
/// advance fit the given parameters only: programs that use them fail at the additional levels.
///
/// # Errors
/// The error at the highest level of the parameters if no level suffices.
pub fn min_level<T>(
    params: &Params,
    program: impl Fn(&Simulator, usize) -> Result<T>,
) -> Result<usize> {
    // Step 1: the levels of the parameters.
    let top = params.max_level();
    let succeeds = |params: &Params, level: usize| program(&Simulator::new(params), level).is_ok();
    if let Some(level) = (0..top).find(|&level| succeeds(params, level)) {
        return Ok(level);
    }
    let Err(refused) = program(&Simulator::new(params), top) else { return Ok(top) };

    // Step 2: a longer chain, for errors that more levels can fix.
    let short = matches!(
        refused.kind(),
        ErrorKind::OutOfLevels { .. } | ErrorKind::Range | ErrorKind::Scale | ErrorKind::Level
    );
    if short && let Ok(longer) = lengthened(params) {
        let mut beyond = top + 1..=longer.max_level();
        return beyond.find(|&level| succeeds(&longer, level)).ok_or(refused);
    }
    Err(refused)
}

/// The parameters with more levels like the highest one and the same relinearization strategy,
/// without regard to security.
fn lengthened(params: &Params) -> Result<Params> {
    // Step 1: more primes of the size of the highest level, none of them in use.
    let top = params.max_level();
    let mut lattice = params.lattice().spec().clone();
    let mut widths: Vec<usize> = params.widths(top).collect();
    let bits = params.divisor(top).log2().round() as u32;
    let primes = widths.last().copied().unwrap_or(1);
    let strategy = params.relin_strategy();
    // The primes must suit the ring in which products are relinearized, and its special primes
    // differ.
    let (work, raised) = (strategy.work(), strategy.raised().p());
    let own = work.q().moduli().chain(work.p().moduli());
    let used: Vec<Modulus> = own.chain(raised.moduli()).copied().collect();
    for group in (LevelGroup { bits, primes, count: BEYOND }).choose(work.spec().degree, &used)? {
        widths.push(group.len());
        lattice.q.extend(group.iter().map(|q| q.value()));
    }

    // Step 2: the longer chain with the same relinearization strategy.
    lattice.security = Security::Insecure;
    let log_scale = params.scale().log2().round() as u32;
    let longer = Params::new(ParamsSpec { lattice, widths, log_scale })?;
    let special = raised.moduli().map(Modulus::value).collect();
    let temporary = strategy.is_raised().then(|| (strategy.raised().spec().rank, special));
    let strategy = RelinStrategy::new(longer.lattice(), strategy.factor(), temporary)?;
    longer.relinearizing(strategy)
}
