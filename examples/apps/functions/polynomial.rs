//! The functions as polynomials in CKKS.

use bellerophon::Params;
use bellerophon::circuits::approx::{self, Accuracy, Approximation};

use common::function::Function;

/// Exponents of the errors that are tried in turn: beyond the first the noise of the slots
/// dominates.
const ERRORS: std::ops::RangeInclusive<i32> = 6..=22;

/// Levels that a result keeps, so that values above 1 fit its modulus.
pub const SPARE: usize = 1;

/// Degree of the best polynomial for functions with a kink.
const KINKED_DEGREE: usize = 511;

/// Whether the function is smooth on the whole range, so that polynomials converge fast.
pub fn is_smooth(function: Function, [lo, hi]: [f64; 2]) -> bool {
    match function {
        Function::Sigmoid | Function::Tanh | Function::Exp | Function::Sin => true,
        Function::Sqrt => lo > 0.0 || hi < 0.0,
        Function::Reciprocal => true,
        Function::Relu | Function::Abs | Function::Sign => false,
    }
}

/// The polynomial of smallest error that the levels of the parameters allow.
pub fn best(function: Function, range: [f64; 2], params: &Params) -> Result<Approximation, String> {
    let [lo, hi] = range;
    let known = approximated(function, range)?;
    let fits = |plan: &Approximation| plan.levels() + SPARE <= params.levels();
    let plan = if is_smooth(function, range) {
        let of = |bits: i32| Approximation::new(&known, lo, hi, Accuracy::bits(f64::from(bits)));
        let tried = ERRORS.rev().map(of);
        tried.flatten().find(fits)
    } else {
        Approximation::of_degree(&known, lo, hi, KINKED_DEGREE).ok().filter(fits)
    };
    plan.ok_or_else(|| {
        let name = function.name();
        format!(
            "no polynomial within {} levels approximates {name} on [{lo:?}, {hi:?}]: take --engine \
             rgsw, or another --range",
            params.levels() - SPARE
        )
    })
}

/// The function with its known properties; only its values if nothing certifies an error.
pub fn known(function: Function, range: [f64; 2]) -> approx::Function {
    let name = format!("{}(v)", function.name());
    approximated(function, range)
        .unwrap_or_else(|_| approx::Function::sampled(&name, move |v| function.value(v)))
}

/// The function with the property that certifies its polynomials.
fn approximated(function: Function, [lo, hi]: [f64; 2]) -> Result<approx::Function, String> {
    Ok(match function {
        Function::Sigmoid => approx::Known::Sigmoid.into(),
        Function::Tanh => approx::Known::Tanh.into(),
        Function::Exp => approx::Known::Exp.into(),
        Function::Sin => approx::Known::Sin.into(),
        Function::Reciprocal => approx::Known::Inverse.into(),
        Function::Sqrt if lo > 0.0 => approx::Known::Sqrt.into(),
        Function::Sqrt if hi < 0.0 => {
            // The square root of |v| is even: its values left of zero are those to the right.
            let bound = |e: &approx::Ellipse| (e.right() < 0.0).then(|| (-e.left()).sqrt());
            approx::Function::analytic("sqrt|v|", |v| v.abs().sqrt(), bound)
        }
        Function::Relu | Function::Abs => {
            let name = format!("{}(v)", function.name());
            approx::Function::lipschitz(&name, move |v| function.value(v), 1.0)
        }
        Function::Sign | Function::Sqrt => {
            return Err(format!(
                "{} on [{lo:?}, {hi:?}] is too steep at 0 for polynomials: take --engine rgsw",
                function.name()
            ));
        }
    })
}
