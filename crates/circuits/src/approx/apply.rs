//! Evaluation of prepared functions.

use bellerophon_ckks::eval::padding::inside;
use bellerophon_ckks::interval::check_domain;
use bellerophon_ckks::metadata::route::same_scale;
use bellerophon_ckks::{Bounds, CiphertextMeta, CkksOps, Result, refresh};

use super::accuracy::Accuracy;
use super::function::Function;
use super::iterate::Program;
use super::prepare::Approximation;
use crate::polynomial::Polynomial;
use crate::polynomial::eval::{polynomial, polynomial_levels};
use crate::polynomial::shared_powers::Polynomials;

pub(crate) fn apply<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    f: &Approximation,
) -> Result<A::Ciphertext> {
    let rules = a.params().rules();
    let domain = f.domain();
    let values = Bounds::all(a.metadata(x).meta.bounds.values);
    check_domain(&values, domain.lo(), domain.hi())?;
    let bootstrapped = refresh::ready(a, x, f.levels())?;
    // A bootstrap has cleared the padding: move it after that.
    let needed = if bootstrapped.is_some() { f.levels() } else { 1 };
    let x = &*inside(a, bootstrapped.as_deref().unwrap_or(x), &domain, needed)?;
    let y = match &f.program {
        Program::Polynomial(p) => return polynomial(a, x, p, None),
        Program::Inverse { start, residue, steps } => goldschmidt(a, x, start, residue, *steps)?,
        Program::Root { start, steps, root } => newton(a, x, start, *steps, *root)?,
        Program::Exponential { root, steps } => squarings(a, x, root, *steps)?,
    };
    let mut metadata = a.metadata(&y);
    let mut bounds = a.metadata(x).meta.bounds.map(|range| f.range(range));
    if bootstrapped.is_none() {
        // Bootstraps in between clear the padding of some factors: no value of the function.
        bounds.padding = bounds.padding.hull(&metadata.meta.bounds.padding);
    }
    metadata.meta.bounds = bounds;
    rules.check_range(&metadata)?;
    Ok(a.with_metadata(y, metadata.meta))
}

/// [`apply`] of what is prepared over the range of `x`; see [`CircuitOps::function`].
pub(crate) fn function<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    f: &Function,
    accuracy: Accuracy,
) -> Result<A::Ciphertext> {
    let CiphertextMeta { bounds, .. } = a.metadata(x).meta;
    let around = |lo: f64, hi: f64| {
        // A range of one point, or nearly one, is widened to a domain.
        let least = (1e-3 * (lo.abs() + hi.abs())).max(1e-6);
        if hi - lo < least { (lo - least, hi + least) } else { (lo, hi) }
    };
    let (lo, hi) = (bounds.values.lo(), bounds.values.hi());
    accuracy.within_spread(f.name(), |x| f.value(x), lo, hi)?;
    let (lo, hi) = around(lo, hi);
    apply(a, x, &Approximation::of_accuracy(f, lo, hi, accuracy)?)
}

/// Goldschmidt's products: `y_k`, at the default scale.
fn goldschmidt<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    start: &Polynomial,
    residue: &Polynomial,
    steps: usize,
) -> Result<A::Ciphertext> {
    let params = a.params();
    // Step 1: e_0 and y_0 share their powers, at the level of the argument.
    let shared = [(residue, None), (start, None)];
    let x = &*Polynomials(&shared).operand(a, x)?;
    let level = Polynomials(&shared).level(params.rules(), &a.metadata(x))?;
    let top = level - residue.plan.depth();
    // Step 2: the scale of y_0, so that y_k has the default scale: first the scales of all e_j.
    let mut residue_scales = vec![params.scale()];
    for step in 1..steps {
        let last = residue_scales[step - 1];
        residue_scales.push(last * last / params.divisor(top + 1 - step));
    }
    // Then from the scale of the last product back to that of the first factor.
    let scale = (0..steps).rev().fold(params.scale(), |scale, step| {
        scale * params.divisor(top - step) / residue_scales[step]
    });
    let [mut e, first] =
        pair(a.fused(&Polynomials(&[(residue, None), (start, Some(scale))]), &[x])?);
    let mut y = a.drop_to_level(&first, top)?;

    // Step 3: y_{j+1} = y_j (1 + e_j), e_{j+1} = e_j^2.
    for step in 0..steps {
        y = a.mul(&y, &a.add_scalar(&e, 1.0)?)?;
        if step + 1 < steps {
            e = a.square(&e)?;
        }
    }
    Ok(at_default_scale(a, y))
}

fn pair<T>(results: Vec<T>) -> [T; 2] {
    results.try_into().ok().expect("two polynomials")
}

/// `y` at exactly the default scale if it differs by rounding only, as without a bootstrap.
pub(super) fn at_default_scale<A: CkksOps>(a: &A, y: A::Ciphertext) -> A::Ciphertext {
    let (meta, scale) = (a.metadata(&y).meta, a.params().scale());
    if same_scale(meta.scale, scale) {
        a.with_metadata(y, CiphertextMeta { scale, ..meta })
    } else {
        y
    }
}

/// Newton's iteration: `3/2 y - 1/2 (x y) y^2` in every step.
fn newton<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    start: &Polynomial,
    steps: usize,
    root: bool,
) -> Result<A::Ciphertext> {
    let mut y = polynomial(a, x, start, None)?;
    for step in 0..steps {
        // -1/2 y^2: the factor 1/2 goes into the scale.
        let half = a.reinterpret_scale(a.neg(&a.square(&y)?)?, 0.5)?;
        let product = a.mul(x, &y)?;
        // The last step of a square root multiplies by x: 3/2 (x y) - 1/2 (x^2 y) y^2.
        let last = root && step + 1 == steps;
        y = if last {
            let cube = a.mul(&a.square(x)?, &y)?;
            a.mul_add_many(&[(&cube, &half)], &[(&product, 1.5)], 0.0, None)?
        } else {
            a.mul_add_many(&[(&product, &half)], &[(&y, 1.5)], 0.0, None)?
        };
    }
    Ok(y)
}

/// Squarings of a root of the exponential: the last square at the default scale.
fn squarings<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    root: &Polynomial,
    steps: usize,
) -> Result<A::Ciphertext> {
    let params = a.params();
    let metadata = a.metadata(x);
    let levels = polynomial_levels(params.rules(), &metadata, root) + steps;
    let bootstrapped = refresh::ready(a, x, levels)?;
    // The scale of the root, so that the last square has the default scale.
    let scale = bootstrapped.as_deref().map(|x| {
        let metadata = a.metadata(x);
        let levels = polynomial_levels(params.rules(), &metadata, root) + steps;
        let last = metadata.level - levels;
        (1..=steps).fold(params.scale(), |scale, step| (scale * params.divisor(last + step)).sqrt())
    });
    let mut y = polynomial(a, bootstrapped.as_deref().unwrap_or(x), root, scale)?;
    for _ in 0..steps {
        y = a.square(&y)?;
    }
    Ok(at_default_scale(a, y))
}
