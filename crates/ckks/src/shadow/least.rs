//! How many levels a program needs, by trying.

use bellerophon_mlwe::{RelinRoute, Security};
use bellerophon_ring::Modulus;

use super::Shadow;
use crate::{Error, Levels, Params, ParamsSpec, Result};

/// Levels beyond those of the parameters that are tried.
const BEYOND: usize = 32;

/// The lowest level at which the inputs of a program may be encrypted for it to succeed: tries
/// level 0, 1, .. of the parameters, a fresh [`Shadow`] each, and then up to 32 levels more, like the
/// highest one, that the parameters do not have. A result above
/// [`max_level`](Params::max_level) says how long a chain would do, whatever its security.
///
/// The program encrypts its inputs at the level that it is given. What it has prepared for the
/// parameters (linear transforms) fits those alone: programs that do so in advance are not tried
/// beyond.
///
/// # Errors
/// The error at the highest level of the parameters when no level suffices.
pub fn least_level<T>(
    params: &Params,
    program: impl Fn(&Shadow, usize) -> Result<T>,
) -> Result<usize> {
    let top = params.max_level();
    let succeeds = |params: &Params, level: usize| program(&Shadow::new(params), level).is_ok();
    if let Some(level) = (0..top).find(|&level| succeeds(params, level)) {
        return Ok(level);
    }
    let Err(refused) = program(&Shadow::new(params), top) else { return Ok(top) };
    let short = matches!(
        refused,
        Error::OutOfLevels { .. } | Error::RangeOverflow { .. } | Error::ScaleMismatch { .. }
    );
    if short && let Ok(longer) = lengthened(params) {
        let mut beyond = top + 1..=longer.max_level();
        return beyond.find(|&level| succeeds(&longer, level)).ok_or(refused);
    }
    Err(refused)
}

/// The parameters with more levels like the highest one, relinearising as they do, and no regard to
/// security.
fn lengthened(params: &Params) -> Result<Params> {
    let top = params.max_level();
    let mut lattice = params.lattice().spec().clone();
    let mut widths: Vec<usize> =
        (1..=top).map(|level| params.limbs_at(level) - params.limbs_at(level - 1)).collect();
    let bits = params.divisor(top).log2().round() as u32;
    let primes = widths.last().copied().unwrap_or(1);
    let route = params.route();
    // For the ring in which products are relinearised, and not among its special primes.
    let (work, raised) = (route.work(), route.raised().p());
    let own = work.q().moduli().chain(work.p().moduli());
    let used: Vec<Modulus> = own.chain(raised.moduli()).copied().collect();
    for group in (Levels { bits, primes, count: BEYOND }).choose(work.degree(), &used)? {
        widths.push(group.len());
        lattice.q.extend(group.iter().map(|q| q.value()));
    }
    lattice.security = Security::Insecure;
    let log_scale = params.scale().log2().round() as u32;
    let longer = Params::new(ParamsSpec { lattice, widths, log_scale })?;
    let special = raised.moduli().map(Modulus::value).collect();
    let temporary = route.is_raised().then(|| (route.raised().rank(), special));
    let route = RelinRoute::new(longer.lattice(), route.factor(), temporary)?;
    longer.relinearising(route)
}
