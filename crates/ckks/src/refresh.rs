//! Automatic bootstrapping of operands.
//!
//! An operation that takes levels passes its operands through this module first. An operand is
//! bootstrapped if the operation would leave fewer levels than a bootstrap needs
//! ([`Span::least`]). An operand already below that level cannot be bootstrapped: it is
//! used as it is if it has the levels, and refused otherwise ([`ErrorKind::OutOfLevels`]), as are
//! operations of more levels than a bootstrapped operand has. Evaluator and simulator share these
//! rules.

use std::sync::Arc;

use bellerophon_ring::{Error, ErrorKind, Result};

use crate::error;
use crate::hook::Span;
use crate::metadata::Metadata;
use crate::metadata::route::{Route, same_scale};
use crate::vectors::{Operand, Vectors};

/// Scales that differ by at most this many bits have drifted; a larger difference is intended.
const MAX_DRIFT: f64 = 16.0;

/// The lowest level of an operand of a bootstrap and the level of its result, if bootstrapping is
/// automatic.
pub fn span<A: Vectors>(a: &A) -> Option<(usize, usize)> {
    a.refreshes().map(|Span { least, fresh }| (least, fresh))
}

/// Whether a vector at this level is bootstrapped before it loses `needed` levels.
pub fn is_short<A: Vectors>(a: &A, level: usize, needed: usize) -> bool {
    span(a).is_some_and(|(least, fresh)| {
        level < fresh && (least..least.saturating_add(needed)).contains(&level)
    })
}

/// Refuses vectors with too few levels for an operation that an automatic bootstrap does not
/// provide.
fn check_provided<A: Vectors>(a: &A, left: usize, needed: usize) -> Result<()> {
    match span(a) {
        Some((least, fresh)) if left < needed && (left < least || fresh < needed) => {
            Err(error::beyond_bootstrap(needed, left, least, fresh))
        }
        _ => Ok(()),
    }
}

/// `x`, bootstrapped if `needed` levels would leave too few.
///
/// # Errors
/// [`ErrorKind::OutOfLevels`] if a bootstrap does not provide them.
pub fn replenished<'c, A: Vectors>(
    a: &A,
    x: &'c A::Ciphertext,
    needed: usize,
) -> Result<Operand<'c, A::Ciphertext>> {
    let level = a.metadata(x).level;
    check_provided(a, level, needed)?;
    match is_short(a, level, needed) {
        true => a.refreshed(x, a.params().scale()).map(Operand::made),
        false => Ok(Operand::Given(x)),
    }
}

/// `x`, bootstrapped if it is below `level` and a bootstrap brings it there.
pub fn raised<'c, A: Vectors>(
    a: &A,
    x: &'c A::Ciphertext,
    level: usize,
) -> Result<Operand<'c, A::Ciphertext>> {
    let below = a.metadata(x).level;
    let helps = below < level && span(a).is_some_and(|(_, fresh)| level <= fresh);
    match helps && is_short(a, below, usize::MAX) {
        true => a.refreshed(x, a.params().scale()).map(Operand::made),
        false => Ok(Operand::Given(x)),
    }
}

/// As [`replenished`] for two factors of a product.
pub fn factors<'c, A: Vectors>(
    a: &A,
    x: &'c A::Ciphertext,
    y: &'c A::Ciphertext,
) -> Result<[Operand<'c, A::Ciphertext>; 2]> {
    // Bootstrapping one is useless if the other is too low to be bootstrapped.
    let lower = a.metadata(x).level.min(a.metadata(y).level);
    check_provided(a, lower, 1)?;
    if !is_short(a, lower, 1) {
        return Ok([Operand::Given(x), Operand::Given(y)]);
    }
    Ok([replenished(a, x, 1)?, replenished(a, y, 1)?])
}

/// The bootstrapped operands of one sum: each reference is bootstrapped once to a scale.
struct Bootstraps<'c, T> {
    made: Vec<(&'c T, f64, Arc<T>)>,
}

impl<'c, T> Bootstraps<'c, T> {
    fn new() -> Self {
        Self { made: vec![] }
    }

    /// `x` bootstrapped to a scale, from an earlier request if there is one.
    fn to<A>(&mut self, a: &A, x: &'c T, scale: f64) -> Result<Operand<'c, T>>
    where
        A: Vectors<Ciphertext = T>,
    {
        // Equal scales may be computed by different roundings.
        let close = |s: f64| (s / scale - 1.0).abs() <= 4.0 * f64::EPSILON;
        let made = self.made.iter().find(|(y, s, _)| std::ptr::eq(*y, x) && close(*s));
        if let Some((.., made)) = made {
            return Ok(Operand::Made(made.clone()));
        }
        let made = Arc::new(a.refreshed(x, scale)?);
        self.made.push((x, scale, made.clone()));
        Ok(Operand::Made(made))
    }
}

/// As [`replenished`] for the vectors of one sum with factors of their own, which keep their
/// scales.
pub fn alike<'c, A: Vectors>(
    a: &A,
    x: &[&'c A::Ciphertext],
) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
    let lowest = x.iter().map(|x| a.metadata(x).level).min();
    lowest.map_or(Ok(()), |level| check_provided(a, level, 1))?;
    let short = lowest.is_some_and(|level| is_short(a, level, 1));
    let mut bootstraps = Bootstraps::new();
    let one = |x: &&'c A::Ciphertext| {
        let Metadata { level, meta } = a.metadata(x);
        match short && is_short(a, level, 1) {
            true => bootstraps.to(a, x, meta.scale),
            false => Ok(Operand::Given(*x)),
        }
    };
    x.iter().map(one).collect()
}

/// As [`replenished`] for a sum of products and terms with one rescale, after the alignment of the
/// products. All products have one scale: `scale` times the divisor of the level, if it is given.
/// Bootstrapped factors get the scales with which they agree at the new level.
pub fn mul_add_many<'c, A: Vectors>(
    a: &A,
    products: &[(&'c A::Ciphertext, &'c A::Ciphertext)],
    terms: &[&'c A::Ciphertext],
    scale: Option<f64>,
) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
    // Step 1: nothing to do unless the lowest operand is short of levels.
    let level = |x: &A::Ciphertext| a.metadata(x).level;
    let pairs = products.iter().flat_map(|&(x, y)| [level(x), level(y)]);
    let levels: Vec<usize> = pairs.chain(terms.iter().map(|x| level(x))).collect();
    let lowest = levels.iter().copied().min();
    lowest.map_or(Ok(()), |level| check_provided(a, level, 1))?;
    let lowest = lowest.unwrap_or(0);
    // Products whose alignment takes a level leave one level fewer.
    let aligned = || {
        let of = |x: &A::Ciphertext| a.metadata(x);
        let pairs: Vec<_> = products.iter().map(|&(x, y)| (of(x), of(y))).collect();
        a.params().rules().align_products(&pairs, lowest, scale).map_or(lowest, |to| to.level)
    };
    let needed = span(a).map_or(1, |_| 1 + lowest - aligned());
    let Some((_, fresh)) = span(a).filter(|_| is_short(a, lowest, needed)) else {
        let factors = products.iter().flat_map(|&(x, y)| [x, y]);
        return Ok(factors.chain(terms.iter().copied()).map(Operand::Given).collect());
    };
    // Step 2: the level after the bootstraps, and the scale of the products there.
    let after = levels.iter().map(|&l| if is_short(a, l, needed) { fresh } else { l }).min();
    let divisor = a.params().divisor(after.unwrap_or(fresh));
    let target = scale.map(|scale| scale * divisor).or_else(|| {
        products.first().map(|(x, y)| a.metadata(x).meta.scale * a.metadata(y).meta.scale)
    });
    // Step 3: bootstrap the factors that are short to complementary scales, and the terms to the
    // default.
    let mut bootstraps = Bootstraps::new();
    let mut pair = |&(x, y): &(&'c A::Ciphertext, &'c A::Ciphertext)| {
        let own = |x: &A::Ciphertext| a.metadata(x).meta.scale;
        let target = target.unwrap_or(own(x) * own(y));
        Ok::<_, Error>(match (is_short(a, level(x), needed), is_short(a, level(y), needed)) {
            (false, false) => [Operand::Given(x), Operand::Given(y)],
            (true, false) => [bootstraps.to(a, x, target / own(y))?, Operand::Given(y)],
            (false, true) => [Operand::Given(x), bootstraps.to(a, y, target / own(x))?],
            (true, true) => {
                let y = bootstraps.to(a, y, target / own(x))?;
                [bootstraps.to(a, x, own(x))?, y]
            }
        })
    };
    let mut operands = Vec::with_capacity(2 * products.len() + terms.len());
    for product in products {
        operands.extend(pair(product)?);
    }
    for &x in terms {
        operands.push(match is_short(a, level(x), needed) {
            true => bootstraps.to(a, x, a.params().scale())?,
            false => Operand::Given(x),
        });
    }
    Ok(operands)
}

/// The vectors of a sum before they are matched to one scale. If that would take levels that a
/// bootstrap needs, those that can are bootstrapped to the scale of the highest one.
pub fn all_aligned<'c, A: Vectors>(
    a: &A,
    x: &[&'c A::Ciphertext],
) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
    let given = || x.iter().map(|&x| Operand::Given(x)).collect();
    let Some((least, _)) = span(a) else { return Ok(given()) };
    let of: Vec<_> = x.iter().map(|x| a.metadata(x)).collect();
    let lowest = of.iter().map(|x| x.level).min().unwrap_or(0);
    let ends = a.params().rules().align_all(&of).map(|routes| routes.iter().map(|to| to.to).min());
    if !is_short(a, lowest, usize::MAX) || ends.is_ok_and(|level| level >= Some(least)) {
        return Ok(given());
    }
    let scale = of.iter().max_by_key(|x| x.level).map_or(1.0, |x| x.meta.scale);
    let mut bootstraps = Bootstraps::new();
    let one = |(&x, of): (&&'c A::Ciphertext, &Metadata)| {
        let own = of.meta.scale;
        let drifted = !same_scale(own, scale) && (own / scale).log2().abs() <= MAX_DRIFT;
        match drifted && is_short(a, of.level, usize::MAX) {
            true => bootstraps.to(a, x, scale),
            false => Ok(Operand::Given(x)),
        }
    };
    x.iter().zip(&of).map(one).collect()
}

/// Whether a vector at this level lacks a level for another scale at the level `to`, and a
/// bootstrap provides it.
pub fn is_stuck<A: Vectors>(a: &A, level: usize, to: usize, route: &Result<Route>) -> bool {
    let reached = span(a).is_some_and(|(_, fresh)| to <= fresh);
    reached
        && is_short(a, level, usize::MAX)
        && matches!(&route, Err(e) if matches!(e.kind(), ErrorKind::Scale | ErrorKind::Level))
}

/// Refuses vectors with too few levels for several operations, unless a bootstrap in between helps.
pub fn check_levels<A: Vectors>(a: &A, needed: usize, level: usize) -> Result<()> {
    if is_short(a, level, needed) {
        return Ok(());
    }
    check_provided(a, level, needed)?;
    a.params().rules().check_levels(needed, level)
}

/// `x`, possibly bootstrapped, with `levels` levels for several operations; `None` if a bootstrap
/// provides fewer: the operations then bootstrap in between.
pub fn ready<'c, A: Vectors>(
    a: &A,
    x: &'c A::Ciphertext,
    levels: usize,
) -> Result<Option<Operand<'c, A::Ciphertext>>> {
    let level = a.metadata(x).level;
    if let Some((least, fresh)) = span(a)
        && level >= least
        && level < least.saturating_add(levels)
        && levels > fresh - least
    {
        return Ok(None);
    }
    let x = replenished(a, x, levels)?;
    a.params().rules().check_levels(levels, a.metadata(&x).level)?;
    Ok(Some(x))
}
