//! Metadata and computation of every circuit agree: `Simulator` and `Evaluator` return equal
//! `Metadata`, the keys that the simulator reports suffice, and the decrypted values lie within the
//! noise that both predict.
//!
//! | circuit | test |
//! | --- | --- |
//! | linear transforms, polynomials, power bases, traces, functions | [`circuits_of_one_vector`] |
//! | SlotsToCoeffs | [`slots_to_coefficients`] |
//! | bootstrapping: S2C, mod raise, trace, C2S, EvalMod | [`bootstraps`] |
//! | functional bootstrapping | [`functional_bootstraps`] |
//!
//! C2S, the trace of the mod raise and EvalMod on their own: unit tests of `circuits`, beside the
//! code.

use crate::common::{self, World, functional::functional, span};
use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_circuits::bootstrap::SimulatorExt;
use bellerophon_circuits::{
    approx::{Accuracy, Approximation, Function, Known, Sign},
    bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper},
    chebyshev::Chebyshev,
    dft::{S2cSpec, SlotsToCoeffs},
    diagonals::Diagonals,
    fbt::{FbtInput, FbtSpec, PairedVec},
    lintrans::{Giants, Hoisting, LinearOptions, LinearTransform},
    polynomial::{Monomial, Polynomial},
};
use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ComposedOps, Evaluator, Interval, KeyLevels, Params,
    ParamsSpec, Result, Security,
    simulator::{SimCiphertext, Simulator},
};

const LEVELS: usize = 6;

/// One circuit on a simulated and on an encrypted vector.
struct Circuit {
    name: &'static str,
    simulated: fn(&Simulator, &SimCiphertext) -> Result<Vec<SimCiphertext>>,
    encrypted: fn(&Evaluator, &Ciphertext) -> Result<Vec<Ciphertext>>,
}

/// The circuits of some generic functions, under their names.
macro_rules! circuits {
    ($($circuit:ident),+ $(,)?) => {
        [$(Circuit {
            name: stringify!($circuit),
            simulated: $circuit::<Simulator>,
            encrypted: $circuit::<Evaluator>,
        }),+]
    };
}

/// Equal metadata, and values within `allowed` predicted deviations and `bias`.
#[track_caller]
fn check(world: &World, name: &str, found: &[Ciphertext], expected: &[SimCiphertext], bias: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.metadata(), *expected.metadata(), "{name}, result {i}");
        let values: Vec<Complex64> = world.decrypt(found);
        assert_eq!(values.len(), expected.values().len(), "{name}, result {i}");
        let size = expected.values().iter().fold(1.0f64, |m, z| m.max(z.norm()));
        let allowed = 16.0 * found.metadata().noise() + bias + 1e-10 * size;
        assert!(allowed < 1e-2 * size, "{name}, result {i}: {allowed:e} allows anything");
        for (a, b) in values.iter().zip(expected.values()) {
            let error = (a - b).norm();
            assert!(error <= allowed, "{name}, result {i}: {error:e}, allowed {allowed:e}");
        }
    }
}

/// A matrix of 128 slots whose diagonals need baby and giant steps.
fn matrix() -> Diagonals {
    let mut matrix = Diagonals::zero(128);
    for k in [0, 1, 2, 9, 18, 19, 40] {
        let value = |i: usize| Complex64::from(((i + 3 * k) as f64).sin() / 7.0);
        matrix.add_diagonal(k, (0..128).map(value).collect());
    }
    matrix
}

fn linear_transforms<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    let mut results = vec![];
    for giants in [Giants::Direct, Giants::Horner] {
        for hoisting in [Hoisting::Single, Hoisting::Double] {
            for (encode_ahead, halved) in [(false, true), (true, false)] {
                let options = LinearOptions { encode_ahead, giants, hoisting, halved };
                let transform = LinearTransform::new(a.params(), &matrix(), 4, options)?;
                results.push(a.transform(x, &transform)?);
            }
        }
    }
    Ok(results)
}

fn polynomial<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    // The identity map, an integer slope, and a map that takes a level; a constant; another scale.
    let domains = [(-1.0, 1.0), (-1.5, 1.5), (-1.25, 2.0)];
    let p = |degree, (lo, hi)| {
        Polynomial::new(Chebyshev::interpolate(|t| (2.0 * t).sin() + 0.25, lo, hi, degree))
    };
    let mut results = vec![a.polynomial(x, &p(0, domains[0]), None)?];
    for domain in domains {
        for degree in [1, 4, 11] {
            results.push(a.polynomial(x, &p(degree, domain), None)?);
        }
    }
    results.push(a.polynomial(x, &p(7, domains[0]), Some(a.params().scale() / 8.0))?);
    // The scale of a product that was not rescaled to the default scale is far from the primes.
    let far = a.reinterpret_scale(a.mul_integer(x, 3000)?, 1.0 / 3000.0)?;
    results.push(a.polynomial(&far, &p(7, domains[0]), None)?);
    Ok(results)
}

fn monomials<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    let p = Monomial::new(&[1.0, 1.0, 0.5, 0.125, 0.0, 0.25])?;
    let q = Monomial::complex(&[Complex64::I, Complex64::new(0.5, -0.5), Complex64::ONE])?;
    let mut results = a.monomials(x, &[(&p, None), (&q, Some(a.params().scale() / 2.0))])?;
    results.push(a.monomial(x, &p, None)?);
    Ok(results)
}

fn polynomials<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    let p =
        |f: fn(f64) -> f64, degree| Polynomial::new(Chebyshev::interpolate(f, -1.25, 2.0, degree));
    let (p, q) = (p(f64::sin, 9), p(f64::exp, 6));
    let mut results = a.polynomials(x, &[(&p, None), (&q, Some(a.params().scale() / 4.0))])?;
    results.extend(a.polynomials(x, &[(&q, None)])?);
    Ok(results)
}

fn trace<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    Ok(vec![
        a.sum_slots(x)?,
        a.inner_sum(x, 8, 16)?,
        a.inner_sum(x, 11, 3)?,
        a.replicate(&a.mask(x, 0..1)?, 8, 1)?,
    ])
}

fn functions<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    let sigmoid =
        Approximation::new(&Function::from(Known::Sigmoid), -1.0, 1.0, Accuracy::bits(9.0))?;
    let sign = Sign::of_degrees(1.0, 0.25, &[3, 3])?;
    Ok(vec![a.apply(x, &sigmoid)?, a.sign(x, &sign)?, a.relu(x, &sign)?])
}

#[test]
fn circuits_of_one_vector() {
    let params = common::params(8, LEVELS);
    let x: Vec<f64> = (0..128).map(|i| (0.7 * i as f64).sin()).collect();
    let circuits =
        circuits![linear_transforms, polynomial, monomials, polynomials, trace, functions];
    for Circuit { name, simulated, encrypted } in circuits {
        let simulator = Simulator::new(&params);
        let sx = simulator.encrypt(&x, span(&x), LEVELS).unwrap();
        let expected = simulated(&simulator, &sx).unwrap_or_else(|e| panic!("{name}: {e}"));
        // Exactly the reported keys.
        let world = World::of(params.clone(), simulator.report().keys, 2);
        let found = encrypted(&world.evaluator(), &world.encrypt_span(&x));
        let found = found.unwrap_or_else(|e| panic!("{name}: {e}"));
        check(&world, name, &found, &expected, 0.0);
    }
}

#[test]
fn slots_to_coefficients() {
    let params = common::params(8, LEVELS);
    for (slots, modular, giants) in
        [(128, false, Giants::Horner), (16, false, Giants::Direct), (128, true, Giants::Horner)]
    {
        let options = S2cSpec {
            levels: 2,
            output_level: 1,
            scale: 2f64.powi(40),
            modular,
            encode_ahead: true,
            giants,
        };
        let s2c = SlotsToCoeffs::new(&params, slots, options).unwrap();
        let world = World::of(params.clone(), s2c.keys(), 3);
        let simulator = Simulator::new(&params);
        let x = world.reals(slots);
        let expected = simulator.encrypt(&x, span(&x), LEVELS).unwrap();
        let expected = s2c.lowered(expected.metadata()).unwrap();
        let found = s2c.apply(&world.evaluator(), &world.encrypt_span(&x)).unwrap();
        assert_eq!(*found.meta(), expected.meta);
        let limbs = found.lattice().limbs();
        assert_eq!(limbs, params.limbs_at(expected.level));
        // The values, in their coefficients.
        let ring = found.lattice().ring(params.lattice());
        let phase = found.lattice().phase(&world.secret).unwrap();
        let centered = ring.centered(&ring.inverse((*phase).clone()));
        let signed: Vec<f64> =
            centered.iter().map(|c| c.to_string().parse().expect("an integer")).collect();
        let noise = found.meta().noise.total.sqrt() / options.scale;
        for (i, x) in x.iter().enumerate() {
            let error = (signed[found.place(i)] / options.scale - x).abs();
            assert!(error <= 16.0 * noise, "{error:e}, predicted {noise:e}");
        }
    }
}

/// Bootstraps of few and of many slots: with and without a trace, real and complex.
fn bootstrap<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    Ok(vec![
        a.bootstrap(x)?,
        a.bootstrap(&a.mul_i(x)?)?,
        a.bootstrap_to(x, a.params().scale() / 4.0)?,
        a.bootstrap_iterated(x, 2)?,
    ])
}

#[test]
fn bootstraps() {
    for slots in [1 << 4, 1 << 7] {
        let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(slots) };
        let chain = spec.chain(1 << 8, 42, 1, (49, 6)).unwrap();
        let params = ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
        let params = Params::new(params).unwrap();
        let bootstrapper = Bootstrapper::new(&params, spec).unwrap();
        let x: Vec<f64> = (0..slots).map(|i| 0.9 * (0.7 * i as f64).sin()).collect();
        let level = bootstrapper.input_level();

        let simulator = Simulator::new(&params).with_bootstrapping(bootstrapper.clone()).unwrap();
        let sx = simulator.encrypt(&x, span(&x), level).unwrap();
        let expected = bootstrap(&simulator, &sx).unwrap();
        assert_eq!(*expected[0].metadata(), bootstrapper.bootstrapped(sx.metadata()).unwrap());

        let world = World::of(params, simulator.report().keys, 5);
        let keys = {
            let rng = &mut *world.rng.borrow_mut();
            BootstrapKeys::generate(bootstrapper.raising(), &world.secret, rng).unwrap()
        };
        let eval = world.evaluator().with_bootstrapping(bootstrapper.clone(), keys).unwrap();
        let found = bootstrap(&eval, &world.encrypt_span_at(&x, level)).unwrap();
        let bias = 6.0 * bootstrapper.approximation_error();
        check(&world, &format!("bootstrap of {slots} slots"), &found, &expected, bias);
    }
}

#[test]
fn functional_bootstraps() {
    let f = functional(9, FbtSpec::table(1 << 8, 16).unwrap(), 6);
    let function = |f64_function: Function| {
        f.bootstrapper.real_function(&f64_function, -1.0, 1.0, Accuracy::bits(8.0)).unwrap()
    };
    let (tanh, sigmoid) =
        (function(Function::from(Known::Tanh)), function(Function::from(Known::Sigmoid)));
    let scale = f.world.params.scale();
    let functions = [(&tanh, scale), (&sigmoid, 0.5 * scale)];
    let x: Vec<f64> = (0..256).map(|i| 0.9 * (0.7 * i as f64).sin()).collect();
    let input = FbtInput { range: Interval::real(-1.0, 1.0).unwrap(), both: false };
    // At the input level, and one level above it.
    for level in [f.bootstrapper.input_level(), f.bootstrapper.input_level() + 1] {
        let simulator = f.simulator();
        let sx = simulator.encrypt(&x, span(&x), level).unwrap();
        let expected = simulator.functional_bootstrap(&sx, input, &functions).unwrap();
        let both = PairedVec::of_reals(&simulator, sx).unwrap();
        let expected_both = simulator.functions_of(&both, &[&tanh]).unwrap();
        let reported = simulator.report().keys;
        assert!(covers(&f.world.params, &f.bootstrapper.keys(), &reported));

        let cx = f.world.encrypt_span_at(&x, level);
        let found = f.eval.functional_bootstrap(&cx, input, &functions).unwrap();
        // The series of a function has an error of at most 2^-8.
        check(&f.world, "functional bootstrap", &found, &expected, 2f64.powi(-7));
        let both = PairedVec::of_reals(&f.eval, cx).unwrap();
        let found_both = f.eval.functions_of(&both, &[&tanh]).unwrap();
        for (found, expected) in found_both.into_iter().zip(expected_both) {
            let (found, expected) = (found.into_inner(), expected.into_inner());
            assert_eq!(found.metadata(), *expected.metadata());
        }
    }
}

/// Whether some keys include others, each at its level.
fn covers(params: &Params, keys: &KeyLevels, needed: &KeyLevels) -> bool {
    let automorphisms = keys.automorphisms(params);
    let needed = needed.automorphisms(params);
    needed.iter().all(|(exponent, level)| automorphisms.get(exponent).is_some_and(|l| l >= level))
}
