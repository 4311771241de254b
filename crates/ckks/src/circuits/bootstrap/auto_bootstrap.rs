//! Automatic bootstrapping of operands.
//!
//! An operation that takes levels passes its operands through this module first. An operand is
//! bootstrapped if the operation would leave fewer levels than a bootstrap needs
//! ([`Bootstrapper::input_level`](super::Bootstrapper::input_level)). An operand already below that
//! level cannot be bootstrapped: it is used as it is if it has the levels, and refused otherwise
//! ([`ErrorKind::OutOfLevels`]), as are operations of more levels than a bootstrapped operand
//! has. Evaluator and simulator share these rules.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use crate::{
    CkksOps, ErrorKind, Metadata, Result, error,
    metadata::alignment::{Route, same_scale},
};

/// Scales that differ by at most this many bits have drifted; a larger difference is intended.
const MAX_DRIFT: f64 = 16.0;

/// An operand, possibly bootstrapped.
type Operand<'c, A> = Cow<'c, <A as CkksOps>::Ciphertext>;

/// Input and output level of a bootstrap, if bootstrapping is automatic.
fn span<A: CkksOps>(a: &A) -> Option<(usize, usize)> {
    let bootstrapper = a.bootstrapper().filter(|_| a.auto_bootstraps())?;
    Some((bootstrapper.input_level(), bootstrapper.output_level()))
}

/// Whether a vector at this level is bootstrapped before it loses `needed` levels.
pub(crate) fn is_short<A: CkksOps>(a: &A, level: usize, needed: usize) -> bool {
    span(a).is_some_and(|(least, fresh)| {
        level < fresh && (least..least.saturating_add(needed)).contains(&level)
    })
}

/// Refuses vectors with too few levels for an operation that an automatic bootstrap does not
/// provide.
fn check_provided<A: CkksOps>(a: &A, left: usize, needed: usize) -> Result<()> {
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
pub(crate) fn replenished<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    needed: usize,
) -> Result<Operand<'c, A>> {
    let level = a.metadata(x).level;
    check_provided(a, level, needed)?;
    match is_short(a, level, needed) {
        true => a.bootstrap_automatically(x, a.params().scale()).map(Cow::Owned),
        false => Ok(Cow::Borrowed(x)),
    }
}

/// `x`, bootstrapped if it is below `level` and a bootstrap brings it there.
pub(crate) fn raised<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    level: usize,
) -> Result<Operand<'c, A>> {
    let below = a.metadata(x).level;
    let helps = below < level && span(a).is_some_and(|(_, fresh)| level <= fresh);
    match helps && is_short(a, below, usize::MAX) {
        true => a.bootstrap_automatically(x, a.params().scale()).map(Cow::Owned),
        false => Ok(Cow::Borrowed(x)),
    }
}

/// As [`replenished`] for two factors of a product.
pub(crate) fn factors<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    y: &'c A::Ciphertext,
) -> Result<(Operand<'c, A>, Operand<'c, A>)> {
    // Bootstrapping one is useless if the other is too low to be bootstrapped.
    let lower = a.metadata(x).level.min(a.metadata(y).level);
    check_provided(a, lower, 1)?;
    if !is_short(a, lower, 1) {
        return Ok((Cow::Borrowed(x), Cow::Borrowed(y)));
    }
    Ok((replenished(a, x, 1)?, replenished(a, y, 1)?))
}

/// An operand of a sum, possibly bootstrapped, which may occur in it several times.
pub(crate) enum Shared<'c, T> {
    Given(&'c T),
    Bootstrapped(Arc<T>),
}

impl<T> Deref for Shared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Given(x) => x,
            Self::Bootstrapped(x) => x,
        }
    }
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
    fn to<A>(&mut self, a: &A, x: &'c T, scale: f64) -> Result<Shared<'c, T>>
    where
        A: CkksOps<Ciphertext = T>,
    {
        // Equal scales may be computed by different roundings.
        let close = |s: f64| (s / scale - 1.0).abs() <= 4.0 * f64::EPSILON;
        let made = self.made.iter().find(|(y, s, _)| std::ptr::eq(*y, x) && close(*s));
        if let Some((.., made)) = made {
            return Ok(Shared::Bootstrapped(made.clone()));
        }
        let made = Arc::new(a.bootstrap_automatically(x, scale)?);
        self.made.push((x, scale, made.clone()));
        Ok(Shared::Bootstrapped(made))
    }
}

/// As [`replenished`] for the vectors of one sum with factors of their own, which keep their
/// scales.
pub(crate) fn alike<'c, A: CkksOps>(
    a: &A,
    x: &[&'c A::Ciphertext],
) -> Result<Vec<Shared<'c, A::Ciphertext>>> {
    let lowest = x.iter().map(|x| a.metadata(x).level).min();
    lowest.map_or(Ok(()), |level| check_provided(a, level, 1))?;
    let short = lowest.is_some_and(|level| is_short(a, level, 1));
    let mut bootstraps = Bootstraps::new();
    let one = |x: &&'c A::Ciphertext| {
        let Metadata { level, meta } = a.metadata(x);
        match short && is_short(a, level, 1) {
            true => bootstraps.to(a, x, meta.scale),
            false => Ok(Shared::Given(*x)),
        }
    };
    x.iter().map(one).collect()
}

/// The operands of a sum of products and terms.
pub(crate) struct Operands<'c, T> {
    pub products: Vec<(Shared<'c, T>, Shared<'c, T>)>,
    pub terms: Vec<(Shared<'c, T>, f64)>,
}

/// As [`replenished`] for a sum of products and terms with one rescale, after the alignment of the
/// products. All products have one scale: `scale` times the divisor of the level, if it is given.
/// Bootstrapped factors get the scales with which they agree at the new level.
pub(crate) fn mul_add_many<'c, A: CkksOps>(
    a: &A,
    products: &[(&'c A::Ciphertext, &'c A::Ciphertext)],
    terms: &[(&'c A::Ciphertext, f64)],
    scale: Option<f64>,
) -> Result<Operands<'c, A::Ciphertext>> {
    // Step 1: nothing to do unless the lowest operand is short of levels.
    let level = |x: &A::Ciphertext| a.metadata(x).level;
    let pairs = products.iter().flat_map(|&(x, y)| [level(x), level(y)]);
    let levels: Vec<usize> = pairs.chain(terms.iter().map(|(x, _)| level(x))).collect();
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
        let products = products.iter().map(|&(x, y)| (Shared::Given(x), Shared::Given(y)));
        let terms = terms.iter().map(|&(x, c)| (Shared::Given(x), c));
        return Ok(Operands { products: products.collect(), terms: terms.collect() });
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
    let pair = |&(x, y): &(&'c A::Ciphertext, &'c A::Ciphertext)| {
        let own = |x: &A::Ciphertext| a.metadata(x).meta.scale;
        let target = target.unwrap_or(own(x) * own(y));
        Ok(match (is_short(a, level(x), needed), is_short(a, level(y), needed)) {
            (false, false) => (Shared::Given(x), Shared::Given(y)),
            (true, false) => (bootstraps.to(a, x, target / own(y))?, Shared::Given(y)),
            (false, true) => (Shared::Given(x), bootstraps.to(a, y, target / own(x))?),
            (true, true) => {
                let y = bootstraps.to(a, y, target / own(x))?;
                (bootstraps.to(a, x, own(x))?, y)
            }
        })
    };
    let products = products.iter().map(pair).collect::<Result<_>>()?;
    let term = |&(x, c): &(&'c A::Ciphertext, f64)| {
        Ok(match is_short(a, level(x), needed) {
            true => (bootstraps.to(a, x, a.params().scale())?, c),
            false => (Shared::Given(x), c),
        })
    };
    Ok(Operands { products, terms: terms.iter().map(term).collect::<Result<_>>()? })
}

/// Two vectors before they are matched to one scale. If that would take levels that a bootstrap
/// needs, the lower one is bootstrapped to the scale of the other.
pub(crate) fn aligned<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    y: &'c A::Ciphertext,
) -> Result<(Operand<'c, A>, Operand<'c, A>)> {
    let (of_x, of_y) = (a.metadata(x), a.metadata(y));
    let (level, scales) = (of_x.level.min(of_y.level), [of_x.meta.scale, of_y.meta.scale]);
    let drifted =
        !same_scale(scales[0], scales[1]) && (scales[0] / scales[1]).log2().abs() <= MAX_DRIFT;
    let kept = Ok((Cow::Borrowed(x), Cow::Borrowed(y)));
    let Some((least, _)) = span(a).filter(|_| drifted && is_short(a, level, usize::MAX)) else {
        return kept;
    };
    let ends = a.params().rules().align(&of_x, &of_y).map(|(x, y)| x.to.min(y.to));
    if ends.is_ok_and(|level| level >= least) {
        return kept;
    }
    Ok(match of_x.level <= of_y.level {
        true => (Cow::Owned(a.bootstrap_automatically(x, scales[1])?), Cow::Borrowed(y)),
        false => (Cow::Borrowed(x), Cow::Owned(a.bootstrap_automatically(y, scales[0])?)),
    })
}

/// As [`aligned`] for the vectors of one sum: to the scale of the highest one.
pub(crate) fn all_aligned<'c, A: CkksOps>(
    a: &A,
    x: &[&'c A::Ciphertext],
) -> Result<Vec<Shared<'c, A::Ciphertext>>> {
    let given = || x.iter().map(|&x| Shared::Given(x)).collect();
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
            false => Ok(Shared::Given(x)),
        }
    };
    x.iter().zip(&of).map(one).collect()
}

/// Whether a vector at this level lacks a level for another scale at the level `to`, and a
/// bootstrap provides it.
pub(crate) fn is_stuck<A: CkksOps>(a: &A, level: usize, to: usize, route: &Result<Route>) -> bool {
    let reached = span(a).is_some_and(|(_, fresh)| to <= fresh);
    reached
        && is_short(a, level, usize::MAX)
        && matches!(&route, Err(e) if matches!(e.kind(), ErrorKind::Scale | ErrorKind::Level))
}

/// Refuses vectors with too few levels for several operations, unless a bootstrap in between helps.
pub(crate) fn check_levels<A: CkksOps>(a: &A, needed: usize, level: usize) -> Result<()> {
    if is_short(a, level, needed) {
        return Ok(());
    }
    check_provided(a, level, needed)?;
    a.params().rules().check_levels(needed, level)
}

/// `x`, possibly bootstrapped, with `levels` levels for several operations; `None` if a bootstrap
/// provides fewer: the operations then bootstrap in between.
pub(crate) fn ready<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    levels: usize,
) -> Result<Option<Cow<'c, A::Ciphertext>>> {
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
