//! Operands that are refreshed by themselves.
//!
//! An operation that takes levels asks here for its operands first. One that would end below what a
//! refresh takes ([`Bootstrapper::input_level`](super::Bootstrapper::input_level)) is refreshed;
//! one that stands below already cannot be, and is taken as it is. The rules are those of the
//! evaluator and of its shadow alike.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use crate::{
    Account, Arithmetic, Error, Result,
    books::{Route, same_scale},
};

/// Scales this many bits apart drifted; scales farther apart are meant to differ.
const MAX_DRIFT: f64 = 16.0;

/// An operand, perhaps refreshed.
type Operand<'c, A> = Cow<'c, <A as Arithmetic>::Ciphertext>;

/// The level that a refresh takes and the one that it gives, where operands are refreshed.
fn span<A: Arithmetic>(a: &A) -> Option<(usize, usize)> {
    let bootstrapper = a.bootstrapper().filter(|_| a.refreshes_by_itself())?;
    Some((bootstrapper.input_level(), bootstrapper.output_level()))
}

/// Whether a vector at this level is to be refreshed before it loses `needed` levels.
pub(crate) fn is_short<A: Arithmetic>(a: &A, level: usize, needed: usize) -> bool {
    span(a).is_some_and(|(least, fresh)| {
        level < fresh && (least..least.saturating_add(needed)).contains(&level)
    })
}

/// `x`, refreshed where `needed` levels would bring it too low.
pub(crate) fn replenished<'c, A: Arithmetic>(
    a: &A,
    x: &'c A::Ciphertext,
    needed: usize,
) -> Result<Operand<'c, A>> {
    match is_short(a, a.account(x).level, needed) {
        true => a.refresh(x).map(Cow::Owned),
        false => Ok(Cow::Borrowed(x)),
    }
}

/// `x`, refreshed where it stands below `level` and a refresh brings it there.
pub(crate) fn raised<'c, A: Arithmetic>(
    a: &A,
    x: &'c A::Ciphertext,
    level: usize,
) -> Result<Operand<'c, A>> {
    let below = a.account(x).level;
    let helps = below < level && span(a).is_some_and(|(_, fresh)| level <= fresh);
    match helps && is_short(a, below, usize::MAX) {
        true => a.refresh(x).map(Cow::Owned),
        false => Ok(Cow::Borrowed(x)),
    }
}

/// As [`replenished`] for two factors of a product.
pub(crate) fn factors<'c, A: Arithmetic>(
    a: &A,
    x: &'c A::Ciphertext,
    y: &'c A::Ciphertext,
) -> Result<(Operand<'c, A>, Operand<'c, A>)> {
    // No use for the one if the other stands too low for good.
    if !is_short(a, a.account(x).level.min(a.account(y).level), 1) {
        return Ok((Cow::Borrowed(x), Cow::Borrowed(y)));
    }
    Ok((replenished(a, x, 1)?, replenished(a, y, 1)?))
}

/// An operand of a sum, perhaps refreshed, which may occur in it several times.
pub(crate) enum Shared<'c, T> {
    Given(&'c T),
    Refreshed(Arc<T>),
}

impl<T> Deref for Shared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Given(x) => x,
            Self::Refreshed(x) => x,
        }
    }
}

/// The operands of one sum, each refreshed once to a scale however often it occurs by the same
/// reference.
struct Refreshes<'c, T> {
    made: Vec<(&'c T, f64, Arc<T>)>,
}

impl<'c, T> Refreshes<'c, T> {
    fn new() -> Self {
        Self { made: vec![] }
    }

    fn to<A>(&mut self, a: &A, x: &'c T, scale: f64) -> Result<Shared<'c, T>>
    where
        A: Arithmetic<Ciphertext = T>,
    {
        // Quotients of products of scales, but for their rounding.
        let close = |s: f64| (s / scale - 1.0).abs() <= 4.0 * f64::EPSILON;
        let made = self.made.iter().find(|(y, s, _)| std::ptr::eq(*y, x) && close(*s));
        if let Some((.., made)) = made {
            return Ok(Shared::Refreshed(made.clone()));
        }
        let made = Arc::new(a.refresh_to(x, scale)?);
        self.made.push((x, scale, made.clone()));
        Ok(Shared::Refreshed(made))
    }
}

/// As [`replenished`] for vectors that enter one sum with factors of their own and keep their scales.
pub(crate) fn alike<'c, A: Arithmetic>(
    a: &A,
    x: &[&'c A::Ciphertext],
) -> Result<Vec<Shared<'c, A::Ciphertext>>> {
    let lowest = x.iter().map(|x| a.account(x).level).min();
    let short = lowest.is_some_and(|level| is_short(a, level, 1));
    let mut refreshes = Refreshes::new();
    let one = |x: &&'c A::Ciphertext| {
        let Account { level, meta } = a.account(x);
        match short && is_short(a, level, 1) {
            true => refreshes.to(a, x, meta.scale),
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

/// As [`replenished`] for a sum of products and terms under one rescaling, whose products agree in
/// scale: with `scale` times what the level divides by, where it is given. Refreshed factors get
/// the scales with which they agree at the new level.
pub(crate) fn combination<'c, A: Arithmetic>(
    a: &A,
    products: &[(&'c A::Ciphertext, &'c A::Ciphertext)],
    terms: &[(&'c A::Ciphertext, f64)],
    scale: Option<f64>,
) -> Result<Operands<'c, A::Ciphertext>> {
    let level = |x: &A::Ciphertext| a.account(x).level;
    let pairs = products.iter().flat_map(|&(x, y)| [level(x), level(y)]);
    let levels: Vec<usize> = pairs.chain(terms.iter().map(|(x, _)| level(x))).collect();
    let lowest = levels.iter().copied().min().unwrap_or(0);
    let Some((_, fresh)) = span(a).filter(|_| is_short(a, lowest, 1)) else {
        let products = products.iter().map(|&(x, y)| (Shared::Given(x), Shared::Given(y)));
        let terms = terms.iter().map(|&(x, c)| (Shared::Given(x), c));
        return Ok(Operands { products: products.collect(), terms: terms.collect() });
    };
    let after = levels.iter().map(|&l| if is_short(a, l, 1) { fresh } else { l }).min();
    let divisor = a.params().divisor(after.unwrap_or(fresh));
    let target = scale.map(|scale| scale * divisor).or_else(|| {
        products.first().map(|(x, y)| a.account(x).meta.scale * a.account(y).meta.scale)
    });
    let mut refreshes = Refreshes::new();
    let pair = |&(x, y): &(&'c A::Ciphertext, &'c A::Ciphertext)| {
        let own = |x: &A::Ciphertext| a.account(x).meta.scale;
        let target = target.unwrap_or(own(x) * own(y));
        Ok(match (is_short(a, level(x), 1), is_short(a, level(y), 1)) {
            (false, false) => (Shared::Given(x), Shared::Given(y)),
            (true, false) => (refreshes.to(a, x, target / own(y))?, Shared::Given(y)),
            (false, true) => (Shared::Given(x), refreshes.to(a, y, target / own(x))?),
            (true, true) => {
                let y = refreshes.to(a, y, target / own(x))?;
                (refreshes.to(a, x, own(x))?, y)
            }
        })
    };
    let products = products.iter().map(pair).collect::<Result<_>>()?;
    let term = |&(x, c): &(&'c A::Ciphertext, f64)| {
        Ok(match is_short(a, level(x), 1) {
            true => (refreshes.to(a, x, a.params().scale())?, c),
            false => (Shared::Given(x), c),
        })
    };
    Ok(Operands { products, terms: terms.iter().map(term).collect::<Result<_>>()? })
}

/// Two vectors to be brought to one scale. Where that would take levels that a refresh needs, the
/// lower one is refreshed to the scale of the other.
pub(crate) fn aligned<'c, A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &'c A::Ciphertext,
    y: &'c A::Ciphertext,
) -> Result<(Operand<'c, A>, Operand<'c, A>)> {
    let (of_x, of_y) = (a.account(x), a.account(y));
    let (level, scales) = (of_x.level.min(of_y.level), [of_x.meta.scale, of_y.meta.scale]);
    let drifted =
        !same_scale(scales[0], scales[1]) && (scales[0] / scales[1]).log2().abs() <= MAX_DRIFT;
    let kept = Ok((Cow::Borrowed(x), Cow::Borrowed(y)));
    let Some((least, _)) = span(a).filter(|_| drifted && is_short(a, level, usize::MAX)) else {
        return kept;
    };
    let ends = a.params().books().align(op, &of_x, &of_y).map(|(x, y)| x.to.min(y.to));
    if ends.is_ok_and(|level| level >= least) {
        return kept;
    }
    Ok(match of_x.level <= of_y.level {
        true => (Cow::Owned(a.refresh_to(x, scales[1])?), Cow::Borrowed(y)),
        false => (Cow::Borrowed(x), Cow::Owned(a.refresh_to(y, scales[0])?)),
    })
}

/// Whether a vector at this level has none to spare for the way to another scale at the level `to`,
/// and a refresh gives it some.
pub(crate) fn is_stuck<A: Arithmetic>(
    a: &A,
    level: usize,
    to: usize,
    route: &Result<Route>,
) -> bool {
    let reached = span(a).is_some_and(|(_, fresh)| to <= fresh);
    reached
        && is_short(a, level, usize::MAX)
        && matches!(route, Err(Error::ScaleMismatch { .. } | Error::LevelTooHigh { .. }))
}

/// Refuses vectors with too few levels for several operations, unless refreshing on the way helps.
pub(crate) fn check_levels<A: Arithmetic>(
    a: &A,
    op: &'static str,
    needed: usize,
    level: usize,
) -> Result<()> {
    if is_short(a, level, needed) {
        return Ok(());
    }
    a.params().books().check_levels(op, needed, level)
}

/// `x`, perhaps refreshed, with `levels` levels to spare for operations that share them; nothing
/// where those are more than a refresh gives: then the operations refresh on the way.
pub(crate) fn ready<'c, A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &'c A::Ciphertext,
    levels: usize,
) -> Result<Option<Cow<'c, A::Ciphertext>>> {
    let level = a.account(x).level;
    if let Some((least, fresh)) = span(a)
        && level >= least
        && level < least.saturating_add(levels)
        && levels > fresh - least
    {
        return Ok(None);
    }
    let x = replenished(a, x, levels)?;
    a.params().books().check_levels(op, levels, a.account(&x).level)?;
    Ok(Some(x))
}
