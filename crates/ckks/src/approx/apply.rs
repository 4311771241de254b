//! Prepared functions carried out.

use super::function::Function;
use super::iterate::{Goldschmidt, Newton, Squarings};
use super::prepare::{Approximation, Program};
use crate::books::same_scale;
use crate::bootstrap::automatic;
use crate::polynomial::check_domain;
use crate::{Account, Arithmetic, Meta, Result};

/// `f(x)`; see [`Arithmetic::apply`].
pub(crate) fn apply<A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &A::Ciphertext,
    f: &Approximation,
) -> Result<A::Ciphertext> {
    let (books, Account { meta, .. }) = (a.params().books(), a.account(x));
    check_domain(op, &meta.bounds, f.lo(), f.hi())?;
    let refreshed = automatic::ready(a, op, x, f.levels())?;
    let x = refreshed.as_deref().unwrap_or(x);
    let y = match f.program() {
        Program::Polynomial(p) => return a.polynomial(x, p, None),
        Program::Inverse(g) => goldschmidt(a, x, g)?,
        Program::Root(n) => newton(a, x, n)?,
        Program::Exponential(s) => squarings(a, x, s)?,
    };
    let mut account = a.account(&y);
    account.meta.bounds = meta.bounds.map(|range| f.range(range));
    books.check_range(op, &account)?;
    Ok(a.restated(y, account.meta))
}

/// [`apply`] of what is prepared over the range of `x`; see [`Arithmetic::function`].
pub(crate) fn function<A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &A::Ciphertext,
    f: &Function,
    log2_error: f64,
) -> Result<A::Ciphertext> {
    let Meta { bounds, .. } = a.account(x).meta;
    let around = |lo: f64, hi: f64| {
        // A range of one point, or nearly one, is no domain.
        let room = (1e-3 * (lo.abs() + hi.abs())).max(1e-6);
        if hi - lo < room { (lo - room, hi + room) } else { (lo, hi) }
    };
    let (lo, hi) = around(bounds.slots().lo(), bounds.slots().hi());
    let prepared = Approximation::new(f, lo, hi, log2_error).or_else(|error| {
        let (lo, hi) = around(bounds.values.lo(), bounds.values.hi());
        Approximation::new(f, lo, hi, log2_error).map_err(|_| error)
    })?;
    apply(a, op, x, &prepared)
}

/// `y_k`, the last one at the default scale.
fn goldschmidt<A: Arithmetic>(a: &A, x: &A::Ciphertext, g: &Goldschmidt) -> Result<A::Ciphertext> {
    let params = a.params();
    let powers = a.chebyshev_basis(x, &[&g.residue, &g.start])?;
    let mut e = a.polynomial_in(&powers, &g.residue, None)?;
    let top = a.account(&e).level;
    let mut residue_scales = vec![a.account(&e).meta.scale];
    for step in 1..g.steps {
        let last = residue_scales[step - 1];
        residue_scales.push(last * last / params.divisor(top + 1 - step));
    }
    // From the scale of the last product back to that of the first factor.
    let scale = (0..g.steps).rev().fold(params.scale(), |scale, step| {
        scale * params.divisor(top - step) / residue_scales[step]
    });
    let start = a.polynomial_in(&powers, &g.start, Some(scale))?;
    let mut y = a.drop_to_level(&start, top)?;
    for step in 0..g.steps {
        y = a.mul(&y, &a.add_scalar(&e, 1.0)?)?;
        if step + 1 < g.steps {
            e = a.square(&e)?;
        }
    }
    Ok(at_default_scale(a, y))
}

/// Takes the default scale for that of `y` where they differ by rounding alone. An operand that was
/// refreshed on the way stands at other primes than planned, and keeps its scale.
pub(super) fn at_default_scale<A: Arithmetic>(a: &A, y: A::Ciphertext) -> A::Ciphertext {
    let (meta, scale) = (a.account(&y).meta, a.params().scale());
    if same_scale(meta.scale, scale) { a.restated(y, Meta { scale, ..meta }) } else { y }
}

/// `3/2 y - 1/2 (x y) y^2`, as often as asked.
fn newton<A: Arithmetic>(a: &A, x: &A::Ciphertext, n: &Newton) -> Result<A::Ciphertext> {
    let mut y = a.polynomial(x, &n.start, None)?;
    for step in 0..n.steps {
        // -1/2 y^2: the half goes into the scale.
        let half = a.times_free(a.neg(&a.square(&y)?)?, 0.5)?;
        let product = a.mul(x, &y)?;
        let root = n.root && step + 1 == n.steps;
        y = if root {
            let cube = a.mul(&a.square(x)?, &y)?;
            a.combination(&[(&cube, &half)], &[(&product, 1.5)], 0.0, None)?
        } else {
            a.combination(&[(&product, &half)], &[(&y, 1.5)], 0.0, None)?
        };
    }
    Ok(y)
}

/// The last square at the default scale.
fn squarings<A: Arithmetic>(a: &A, x: &A::Ciphertext, s: &Squarings) -> Result<A::Ciphertext> {
    let params = a.params();
    let account = a.account(x);
    let levels = params.books().polynomial_levels(&account, &s.root) + s.steps;
    let refreshed = automatic::ready(a, "apply a function", x, levels)?;
    let scale = refreshed.as_deref().map(|x| {
        let account = a.account(x);
        let levels = params.books().polynomial_levels(&account, &s.root) + s.steps;
        let last = account.level - levels;
        (1..=s.steps)
            .fold(params.scale(), |scale, step| (scale * params.divisor(last + step)).sqrt())
    });
    let mut y = a.polynomial(refreshed.as_deref().unwrap_or(x), &s.root, scale)?;
    for _ in 0..s.steps {
        y = a.square(&y)?;
    }
    Ok(at_default_scale(a, y))
}
