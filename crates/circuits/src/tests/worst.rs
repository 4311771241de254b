//! Bounds on the noise of whole programs: polynomials, transforms, bootstraps.
//!
//! A bound is tested from both sides: no run comes near it from above, and it says something,
//! within a factor of what is measured.

use std::sync::Arc;

use bellerophon_ckks::noise_flooding::{Flooding, Predicted, decrypt_flooded};
use bellerophon_ckks::simulator::{SimCiphertext, Simulator};
use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, Encoder, ErrorKind, Evaluator, Interval, KeyLevels, Params,
    ParamsSpec, Result, SecretKind, Security, SlotValue, decrypt,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::approx::{Accuracy, Function, Known};
use crate::bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper, EvaluatorExt, SimulatorExt};
use crate::chebyshev::Chebyshev;
use crate::circuit_ops::CircuitOps;
use crate::diagonals::Diagonals;
use crate::fbt::{FbtInput, FbtSpec, PeriodicFunction, Table};
use crate::lintrans::{Giants, Hoisting, LinearOptions, LinearTransform};
use crate::polynomial::{Monomial, Polynomial};
use crate::tests::common;
use crate::tests::common::functional::functional;
use crate::tests::common::{World, refusal};

/// The length of the noise polynomial, that is scale times root mean square of the errors of all
/// slots of the ring, over the bound on it.
fn part(world: &World, found: &Ciphertext, expected: &SimCiphertext, simulator: &Simulator) -> f64 {
    let plain = decrypt(&world.params, found, &world.secret).unwrap();
    let slots = Encoder::new(&world.params).decode_slots(&plain).unwrap();
    let values = expected.values();
    let off = |(i, z): (usize, &Complex64)| (z - values[i % values.len()]).norm_sqr();
    let square: f64 = slots.iter().enumerate().map(off).sum();
    let bound = simulator.noise_bound(expected).unwrap();
    bound.check(&world.params, found).unwrap();
    found.scale() * (square / slots.len() as f64).sqrt() / bound.length()
}

/// Programs on ciphertexts and on a simulator in the worst case, for vectors in a range.
struct Programs {
    world: World,
    simulator: Simulator,
    eval: Evaluator,
    level: usize,
}

impl Programs {
    fn new(log_degree: u32, levels: usize, keys: KeyLevels) -> Self {
        let world = World::new(log_degree, levels, keys);
        let simulator = Simulator::new(&world.params).worst_case();
        let eval = world.evaluator();
        Self { level: levels, world, simulator, eval }
    }

    /// Able to bootstrap; vectors are encrypted at the lowest level that can be.
    fn bootstrapping(log_degree: u32, spec: BootstrapSpec) -> Self {
        let chain =
            BootstrapSpec::new(1 << (log_degree - 1)).chain(1 << log_degree, 42, 3, (49, 6));
        let mut params = ParamsSpec::from_chain(&chain.unwrap(), 42, Security::Insecure).unwrap();
        params.lattice.secret = SecretKind::Sparse(64);
        let bootstrapper =
            Arc::new(Bootstrapper::new(&Params::new(params).unwrap(), spec).unwrap());
        let keys = bootstrapper.keys().multiply(bootstrapper.output_level());
        let world = World::of(bootstrapper.params().clone(), keys, 1);
        let keys = BootstrapKeys::generate(
            bootstrapper.raising(),
            &world.secret,
            &mut *world.rng.borrow_mut(),
        );
        let eval =
            world.evaluator().with_bootstrapping(bootstrapper.clone(), keys.unwrap()).unwrap();
        let simulator =
            Simulator::new(&world.params).worst_case().with_bootstrapping(bootstrapper.clone());
        Self { level: bootstrapper.input_level(), world, simulator: simulator.unwrap(), eval }
    }

    /// The part that the measured noise is of its bound, the largest of several results.
    fn parts<T: SlotValue, const M: usize>(
        &self,
        values: &[T],
        range: Interval,
        on_ciphertexts: impl Fn(&Evaluator, &Ciphertext) -> Result<[Ciphertext; M]>,
        on_vectors: impl Fn(&Simulator, &SimCiphertext) -> Result<[SimCiphertext; M]>,
    ) -> [f64; M] {
        let x = self.simulator.encrypt(values, range, self.level).unwrap();
        let expected = on_vectors(&self.simulator, &x).unwrap();
        let x = self.world.encrypt_span_at(values, self.level).assume_range_with_padding(range);
        let found = on_ciphertexts(&self.eval, &x).unwrap();
        std::array::from_fn(|i| part(&self.world, &found[i], &expected[i], &self.simulator))
    }
}

#[track_caller]
fn check(what: &str, part: f64, factor: f64) {
    println!("{what}: 2^{:.1} of its bound", part.log2());
    assert!(part < 1.0, "{what}: {part}");
    assert!(part * factor > 1.0, "{what}: {part:e} of a bound is less than 1 / {factor}");
}

fn dense(lo: f64, hi: f64, degree: usize) -> Polynomial {
    let c = (0..=degree).map(|k| (1.7 * k as f64 + 0.3).sin() / (1 + k) as f64).collect();
    Polynomial::new(Chebyshev::new(lo, hi, c))
}

fn real(lo: f64, hi: f64) -> Interval {
    Interval::real(lo, hi).unwrap()
}

/// A bound is less than `2^7` times what is measured: sources are taken for up to `2^2.4` times as
/// long as they are on average in this ring, and a sum of some ten steps for as long as all of them
/// together.
#[test]
fn polynomials_stay_below_their_bounds() {
    let programs = Programs::new(10, 6, KeyLevels::default().multiply(6));
    let n = programs.world.params.max_slots();
    let random = programs.world.reals(n);
    // At the ends of the domain, where the slopes are largest.
    let ends: Vec<f64> = random.iter().map(|x| x.signum()).collect();
    for degree in [0, 1, 2, 3, 5, 8, 15, 16, 23, 31, 63] {
        let p = dense(-1.0, 1.0, degree);
        for (at, values) in [("random", &random), ("ends", &ends)] {
            let [part] = programs.parts(
                values,
                real(-1.0, 1.0),
                |a, x| Ok([a.polynomial(x, &p, None)?]),
                |a, x| Ok([a.polynomial(x, &p, None)?]),
            );
            check(
                &format!("degree {degree} at {at}"),
                part,
                if degree == 0 { 512.0 } else { 128.0 },
            );
        }
    }
}

fn of_one<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<[A::Ciphertext; 4]> {
    // A domain that takes a level for its map, one that takes an integer, and shared powers.
    let wide = Polynomial::new(Chebyshev::interpolate(|x| 1.0 / (1.0 + (-x).exp()), -8.0, 8.0, 15));
    let narrow = Polynomial::new(Chebyshev::interpolate(f64::exp, -0.25, 0.25, 5));
    let small = a.with_range(a.mul_scalar(x, 0.25)?, Interval::real(-0.25, 0.25)?);
    let [p, q] = [dense(-1.0, 1.0, 9), dense(-1.0, 1.0, 12)];
    let mut shared = a.polynomials(x, &[(&p, None), (&q, None)])?.into_iter();
    let mut shared = || shared.next().expect("two polynomials");
    Ok([
        a.polynomial(x, &wide, None)?,
        a.polynomial(&small, &narrow, Some(0.5 * a.params().scale()))?,
        shared(),
        shared(),
    ])
}

/// Domains that are mapped onto the unit interval, and powers that several polynomials share.
#[test]
fn domains_and_shared_powers() {
    let programs = Programs::new(10, 6, KeyLevels::default().multiply(6));
    let values = programs.world.reals(256);
    let parts = programs.parts(&values, real(-1.0, 1.0), of_one, of_one);
    for (what, part) in ["wide", "narrow", "shared 9", "shared 12"].into_iter().zip(parts) {
        check(what, part, 128.0);
    }
}

fn monomials<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<[A::Ciphertext; 4]> {
    let real: Vec<f64> = (0..=13).map(|k| (1.3 * k as f64).cos()).collect();
    let complex: Vec<Complex64> =
        (0..=9).map(|k| Complex64::from_polar(1.0 / (1 + k) as f64, 2.1 * k as f64)).collect();
    let [p, q] = [Monomial::new(&real)?, Monomial::complex(&complex)?];
    let imaginary = Monomial::complex(&[Complex64::ZERO, Complex64::I])?;
    let mut shared = a.monomials(x, &[(&p, None), (&q, None)])?.into_iter();
    let mut shared = || shared.next().expect("two polynomials");
    let constant = Monomial::new(&[0.3])?;
    Ok([shared(), shared(), a.monomial(x, &imaginary, None)?, a.monomial(x, &constant, None)?])
}

#[test]
fn monomials_of_real_and_complex_slots() {
    let programs = Programs::new(10, 6, KeyLevels::default().multiply(6));
    let n = programs.world.params.max_slots();
    let names = ["real", "complex", "imaginary", "constant"];
    let parts = programs.parts(&programs.world.reals(n), real(-1.0, 1.0), monomials, monomials);
    names.into_iter().zip(parts).for_each(|(what, part)| check(what, part, 128.0));
    let z: Vec<Complex64> =
        programs.world.reals(n).iter().map(|x| Complex64::from_polar(1.1, 3.0 * x)).collect();
    let parts = programs.parts(&z, Interval::complex(1.1 + 1e-9).unwrap(), monomials, monomials);
    names.into_iter().zip(parts).for_each(|(what, part)| check(what, part, 128.0));
}

/// A polynomial that is fed an error far above rounding: the bound follows the largest slope, and
/// counts errors of second order.
#[test]
fn slopes_and_second_orders_are_counted() {
    let programs = Programs::new(10, 5, KeyLevels::default().multiply(5));
    let values = vec![1.0; 512];
    fn program<A: CkksOps>(a: &A, x: &A::Ciphertext, doublings: usize) -> Result<A::Ciphertext> {
        // The error of x many times over, on top of it.
        let zero = a.with_range(a.sub(x, &a.mul_integer(x, 2)?)?, Interval::real(-1.0, 1.0)?);
        let zero = a.add_scalar(&zero, 1.0)?;
        let zero = a.with_range(zero, Interval::real(0.0, 0.0)?);
        let x = a.add(x, &a.mul_integer(&zero, 1 << doublings)?)?;
        a.polynomial(
            &x,
            &Polynomial::new(Chebyshev::new(-1.0, 1.0, vec![0.0, 0.0, 0.0, 0.0, 1.0])),
            None,
        )
    }
    for (doublings, factor) in [(10, 64.0), (20, 64.0), (30, 4096.0)] {
        let [part] = programs.parts(
            &values,
            real(1.0, 1.0),
            |a, x| Ok([program(a, x, doublings)?]),
            |a, x| Ok([program(a, x, doublings)?]),
        );
        check(&format!("an error of 2^{doublings} encryptions"), part, factor);
    }
}

/// A matrix of some diagonals, one of them periodic, whose entries have the modulus 1: rows and
/// columns alike lengthen by no more than the number of diagonals.
fn matrix(slots: usize, steps: &[usize]) -> Diagonals {
    let mut m = Diagonals::zero(slots);
    for (i, &step) in steps.iter().enumerate() {
        let period = if i == 1 { (slots / 4).max(1) } else { slots };
        let entry = |j: usize| Complex64::from_polar(1.0, (3 * i + 1) as f64 * (j * j) as f64);
        m.add_diagonal(step, (0..period).map(entry).collect());
    }
    m
}

/// In every form of the product, on vectors of all slots and of a few: within `2^5` of what is
/// measured, and within `2^8` for a dense matrix, whose norm is taken for that of its moduli.
#[test]
fn transforms_stay_below_their_bounds() {
    for (slots, steps) in [(512, vec![0, 1, 2, 9, 64, 65]), (16, (0..16).collect()), (512, vec![0])]
    {
        let m = matrix(slots, &steps);
        for (giants, hoisting, halved) in [
            (Giants::Direct, Hoisting::Single, false),
            (Giants::Horner, Hoisting::Single, false),
            (Giants::Direct, Hoisting::Double, false),
            (Giants::Horner, Hoisting::Double, false),
            (Giants::Horner, Hoisting::Double, true),
        ] {
            let options = LinearOptions { giants, hoisting, halved, ..LinearOptions::default() };
            let transform = LinearTransform::new(&common::params(10, 3), &m, 2, options).unwrap();
            let steps = transform.rotation_steps().into_iter().map(|step| step as i64);
            let programs = Programs::new(10, 3, KeyLevels::default().rotate(steps, 2));
            let x: Vec<f64> = programs.world.reals(slots).iter().map(|x| x.signum()).collect();
            let [part] = programs.parts(
                &x,
                real(-1.0, 1.0),
                |a, x| Ok([a.transform(x, &transform)?]),
                |a, x| Ok([a.transform(x, &transform)?]),
            );
            check(
                &format!("{slots} slots, {giants:?}, {hoisting:?}, halved: {halved}"),
                part,
                if slots == 16 { 256.0 } else { 32.0 },
            );
        }
    }
}

/// The error of an operand that is parallel to a singular vector is as long as the bound says but
/// for the length of its source.
#[test]
fn transforms_lengthen_as_far_as_the_norm() {
    let slots = 512;
    let mut ones = Diagonals::zero(slots);
    (0..4).for_each(|step| ones.add_diagonal(step, vec![Complex64::ONE]));
    let programs = Programs::new(10, 2, KeyLevels::default().rotate(1..4, 2));
    let transform =
        LinearTransform::new(&programs.world.params, &ones, 2, LinearOptions::default()).unwrap();
    // The same error in every slot: constants that are rounded to nothing, many times over.
    fn program<A: CkksOps>(a: &A, x: &A::Ciphertext, m: &LinearTransform) -> Result<A::Ciphertext> {
        let lost = 0.49 / a.params().scale();
        a.transform(&(0..1 << 14).try_fold(x.clone(), |x, _| a.add_scalar(&x, lost))?, m)
    }
    let x = vec![0.0; slots];
    let [part] = programs.parts(
        &x,
        real(0.0, 0.0),
        |a, x| Ok([program(a, x, &transform)?]),
        |a, x| Ok([program(a, x, &transform)?]),
    );
    check("2^14 roundings of one sign", part, 2.0);
}

/// A bootstrapped vector under flooding noise, as far as the toy scale has room for it.
#[test]
fn bootstrapped_vectors_are_shared() {
    let programs = Programs::bootstrapping(10, BootstrapSpec::new(16));
    let Programs { world, simulator, eval, level } = &programs;
    let x = simulator.encrypt(&[0.0; 16], real(-1.0, 1.0), *level).unwrap();
    let bound = simulator.noise_bound(&simulator.bootstrap(&x).unwrap()).unwrap();
    assert_eq!(simulator.report().bootstraps, 1);
    let values = world.reals(16);
    let x = world.encrypt_span_at(&values, *level).assume_range_with_padding(real(-1.0, 1.0));
    let fresh = eval.bootstrap(&x).unwrap();
    let terms = Flooding::new(1, 8.0).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let shared =
        decrypt_flooded(&world.params, &fresh, &world.secret, &bound, &terms, &mut rng).unwrap();
    let found: Vec<f64> = Encoder::new(&world.params).decode(&shared).unwrap();
    let worst = Predicted::new(&bound, &terms).worst(-20.0);
    let error = common::max_error(&found, &values);
    assert!(error < worst && 100.0 * error > worst, "{error:e} {worst:e}");
    assert!(worst < 2f64.powi(-8), "{worst:e}");
}

/// Vectors of all slots and of a few, real and complex, and a product after the bootstrap.
#[test]
fn bootstraps_stay_below_their_bounds() {
    fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<[A::Ciphertext; 2]> {
        let fresh = a.bootstrap(x)?;
        Ok([a.square(&fresh)?, fresh])
    }
    for slots in [512, 16] {
        let programs = Programs::bootstrapping(10, BootstrapSpec::new(slots));
        let x = programs.world.reals(slots);
        let parts = programs.parts(&x, real(-1.0, 1.0), program, program);
        parts.into_iter().for_each(|part| check(&format!("{slots} real slots"), part, 512.0));
        let x: Vec<Complex64> =
            x.iter().map(|&x| Complex64::from_polar(1.0 - 1e-9, 3.0 * x)).collect();
        let parts = programs.parts(&x, Interval::complex(1.0).unwrap(), program, program);
        parts.into_iter().for_each(|part| check(&format!("{slots} complex slots"), part, 512.0));
    }
}

/// Rounds make a vector of all complex slots more precise, and its bound, too. Of other vectors
/// parts of the noise polynomial stay that no value shows, and their bound loses no more than the
/// error of the approximation. The slots of what a round leaves are taken for as large as its
/// length allows, which a round that is off by its approximation pays for with half of `log2 N`
/// bits.
#[test]
fn repeated_bootstraps_stay_below_their_bounds() {
    fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<[A::Ciphertext; 3]> {
        Ok([a.bootstrap_iterated(x, 1)?, a.bootstrap_iterated(x, 2)?, a.bootstrap_iterated(x, 3)?])
    }
    // A gap that the arcsine is not made for: the first round is off by far more than noise.
    let coarse = |slots| BootstrapSpec { log_gap: 4.0, arcsine: 3, ..BootstrapSpec::new(slots) };
    let programs = Programs::bootstrapping(10, coarse(512));
    let x = programs.world.reals(512);
    let z: Vec<Complex64> = x.iter().map(|&x| Complex64::from_polar(1.0 - 1e-9, 3.0 * x)).collect();
    let parts = programs.parts(&z, Interval::complex(1.0).unwrap(), program, program);
    for (rounds, part) in (1..).zip(parts) {
        check(&format!("complex, {rounds} rounds"), part, 2f64.powi(14));
    }
    let bound = |range, rounds| {
        let x = programs.simulator.encrypt(&[0.0; 512], range, programs.level).unwrap();
        let x = programs.simulator.bootstrap_iterated(&x, rounds).unwrap();
        programs.simulator.noise_bound(&x).unwrap().length()
    };
    let complex = [1, 2, 3, 5].map(|rounds| bound(Interval::complex(1.0).unwrap(), rounds));
    assert!(8.0 * complex[1] < complex[0], "{complex:?}");
    assert!(complex[2] <= complex[1], "{complex:?}");
    let reals = [1, 2, 3, 5].map(|rounds| bound(real(-1.0, 1.0), rounds));
    assert!(8.0 * reals[1] < reals[0] && reals[3] > 2.0 * complex[3], "{reals:?} {complex:?}");
    let parts = programs.parts(&x, real(-1.0, 1.0), program, program);
    for (rounds, part) in (1..).zip(parts) {
        check(&format!("real, {rounds} rounds"), part, 2f64.powi(14));
    }
    let few = Programs::bootstrapping(10, coarse(16));
    let parts = few.parts(&z[..16], Interval::complex(1.0).unwrap(), program, program);
    for (rounds, part) in (1..).zip(parts) {
        check(&format!("few, {rounds} rounds"), part, 2f64.powi(14));
    }
}

/// A program that bootstraps when its levels run out, on either side.
#[test]
fn automatic_bootstraps_stay_below_their_bounds() {
    let programs = Programs::bootstrapping(10, BootstrapSpec::new(512));
    let Programs { world, simulator, eval, level } = programs;
    let programs = Programs {
        simulator: simulator.with_auto_bootstrap().unwrap(),
        eval: eval.with_auto_bootstrap().unwrap(),
        world,
        level,
    };
    fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<[A::Ciphertext; 1]> {
        let p = Polynomial::new(Chebyshev::new(-1.0, 1.0, vec![0.1, 0.5, 0.0, 0.4]));
        let mut x = x.clone();
        for _ in 0..3 {
            x = a.polynomial(&x, &p, None)?;
            x = a.with_range(a.square(&x)?, Interval::real(0.0, 1.0)?);
        }
        Ok([x])
    }
    // A fixed point, where the slope is largest.
    let [part] = programs.parts(&[1.0; 512], real(-1.0, 1.0), program, program);
    assert!(programs.simulator.report().bootstraps > 1);
    check("a loop", part, 512.0);
}

/// Functions of reals by functional bootstrapping, in one part of the slots and in both, by plain
/// and by normalised exponentials; tables are refused, since integers are shared without a bound.
#[test]
fn functions_of_reals_stay_below_their_bounds() {
    for spec in [FbtSpec::reals(1 << 9, 31), FbtSpec::table(1 << 9, 64).unwrap()] {
        let normalised = spec.normalised;
        let f = functional(10, spec, 6);
        let simulator = f.simulator().worst_case();
        let level = f.bootstrapper.input_level();
        let sigmoid = f
            .bootstrapper
            .real_function(&Function::from(Known::Sigmoid), -8.0, 8.0, Accuracy::bits(16.0))
            .unwrap();
        let wanted = [(&sigmoid, f.world.params.scale())];
        let range = real(-8.0, 8.0);
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let mut value = || rng.random_range(-8.0..8.0);
        let reals: Vec<f64> = (0..512).map(|_| value()).collect();
        let pairs: Vec<Complex64> = (0..512).map(|_| Complex64::new(value(), value())).collect();
        let disc = Interval::complex(8.0 * 2f64.sqrt()).unwrap();
        let one = |both: bool| {
            let input = FbtInput { range, both };
            let (ct, plain) = match both {
                false => (
                    f.world.encrypt_in(&reals, range, level),
                    simulator.encrypt(&reals, range, level).unwrap(),
                ),
                true => (
                    f.world.encrypt_in(&pairs, disc, level),
                    simulator.encrypt(&pairs, disc, level).unwrap(),
                ),
            };
            let y = f.eval.functional_bootstrap(&ct, input, &wanted).unwrap().pop().unwrap();
            let bounded =
                simulator.functional_bootstrap(&plain, input, &wanted).unwrap().pop().unwrap();
            assert_eq!(
                (y.level(), y.scale()),
                (bounded.metadata().level, bounded.metadata().meta.scale)
            );
            part(&f.world, &y, &bounded, &simulator)
        };
        for both in [false, true] {
            check(
                &format!("sigmoid, both {both}, normalised {normalised}"),
                one(both),
                2f64.powi(14),
            );
        }
        let table = PeriodicFunction::table(Table::new(&[0.0, 1.0, 2.0, 3.0], 1).unwrap());
        let x = simulator.encrypt(&[0.0, 1.0], real(0.0, 3.0), level).unwrap();
        let input = FbtInput { range: real(0.0, 3.0), both: false };
        let refused = simulator.functional_bootstrap(&x, input, &[(&table, 2f64.powi(42))]);
        assert!(
            refusal(&refused).is(&ErrorKind::Request, "averages and worst-case bounds of noise do")
        );
    }
}
