//! How many levels a program needs, by trying.

use super::Shadow;
use crate::{Params, Result};

/// The lowest level at which the inputs of a program may be encrypted for it to succeed: tries
/// level 0, 1, .. of the parameters, a fresh [`Shadow`] each. The program encrypts its inputs at
/// the level that it is given.
///
/// # Errors
/// The error at the highest level when no level suffices.
pub fn least_level<T>(
    params: &Params,
    program: impl Fn(&Shadow, usize) -> Result<T>,
) -> Result<usize> {
    let top = params.max_level();
    let succeeds = |level: &usize| program(&Shadow::new(params), *level).is_ok();
    match (0..top).find(succeeds) {
        Some(level) => Ok(level),
        None => program(&Shadow::new(params), top).map(|_| top),
    }
}
