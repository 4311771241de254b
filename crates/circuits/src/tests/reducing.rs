//! Circuits that go down in rank by themselves (DPad-HE, section 2.2 and RQ4).

use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ComposedOps, Encoder, ErrorKind, Interval, KeyLevels,
    LevelGroup, ModulusChain, Params, ParamsSpec, PublicKey, ReducingEvaluator, ReducingKeys,
    Result, SecretKey, Security, decrypt_values, encrypt, encrypt_public,
};
use bellerophon_mlwe::rank_schedule;

use crate::approx::{Accuracy, Approximation, Function, Known};
use crate::chebyshev::Chebyshev;
use crate::circuit_ops::CircuitOps;
use crate::diagonals::Diagonals;
use crate::lintrans::{LinearOptions, LinearTransform};
use crate::polynomial::Polynomial;
use crate::tests::common::{World, max_error, rotated, span};

/// `n = 2^9` at a rank: `q_0` of 55 bits, `levels` primes of 45, a special one of 56, all of them
/// primes for degree `4 n` too.
fn params(rank: usize, levels: usize, security: Security) -> Result<Params> {
    let chain = ModulusChain {
        degree: 1 << 11,
        first_bits: 55,
        levels: vec![LevelGroup::single(45, levels)],
        special: (56, 1),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure)?;
    spec.lattice.degree = 1 << 9;
    spec.lattice.rank = rank;
    spec.lattice.security = security;
    Params::new(spec)
}

/// Client and server of a rank that is reduced.
struct Reducing {
    world: World,
    keys: ReducingKeys,
    eval: ReducingEvaluator,
}

impl Reducing {
    fn new(rank: usize, levels: usize, spec: &KeyLevels) -> Self {
        let params = params(rank, levels, Security::Insecure).unwrap();
        let world = World::of(params, spec.clone(), 1);
        let rng = &mut world.rng.borrow_mut().clone();
        let keys = ReducingKeys::generate(&world.params, &world.secret, spec, rng).unwrap();
        let eval = ReducingEvaluator::new(&keys).unwrap();
        Self { keys, eval, world }
    }

    /// Decrypted under the client's own secret, within what the account predicts.
    #[track_caller]
    fn check(&self, ct: &Ciphertext, expected: &[f64]) {
        self.world.check(&self.eval.padded(ct).unwrap(), expected);
    }
}

#[test]
fn sets_are_those_of_the_schedule() {
    let params = params(4, 12, Security::Insecure).unwrap();
    let sets = params.ranks().unwrap();
    let schedule = rank_schedule(params.lattice(), Security::Insecure);
    let found: Vec<_> = sets.iter().map(|set| (set.lattice().spec().rank, set.limbs())).collect();
    let expected: Vec<_> = schedule.iter().map(|step| (step.rank, step.limbs)).collect();
    assert_eq!(found, expected);
    assert_eq!(sets[0], params);
    // 128 bits at every rank, and no level more: degree 2^12 at rank 4. Levels of two primes are
    // not cut.
    let chain = ModulusChain {
        degree: 1 << 12,
        first_bits: 50,
        levels: vec![LevelGroup { bits: 45, primes: 2, count: 3 }],
        special: (50, 1),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 80, Security::Insecure).unwrap();
    (spec.lattice.rank, spec.lattice.security) = (4, Security::Bits128);
    let params = Params::new(spec).unwrap();
    let sets = params.ranks().unwrap();
    let limbs = rank_schedule(params.lattice(), Security::Bits128)[1].limbs;
    assert!(params.limbs_at(params.level_at(limbs)) < limbs);
    let found: Vec<_> =
        sets.iter().map(|set| (set.lattice().spec().rank, set.max_level())).collect();
    assert_eq!(found, [(4, 3), (2, 2), (1, 0)]);
    for set in &sets {
        assert!(set.lattice().security_bits() >= 128.0);
        assert!(set.relin_strategy().raised().security_bits() >= 128.0);
    }
    // Nothing to halve.
    assert_eq!(self::params(3, 2, Security::Insecure).unwrap().ranks().unwrap().len(), 1);
}

#[test]
fn deep_circuits_pass_through_every_rank() {
    for rank in [2, 4] {
        let Reducing { world, keys, eval } =
            &Reducing::new(rank, 12, &KeyLevels::default().multiply(12));
        let x = world.reals(256);
        let (mut ct, mut expected) = (world.encrypt_span(&x), x);
        let plain = world.evaluator();
        let mut unreduced = ct.clone();
        let mut ranks = vec![rank];
        while ct.level() > 0 {
            ct = eval.square(&ct).unwrap();
            unreduced = plain.square(&unreduced).unwrap();
            expected.iter_mut().for_each(|x| *x *= *x);
            // The smallest rank that its level allows, at the level and scale of a plain evaluator.
            let set = eval.params_at(ct.level());
            assert_eq!(ct.lattice().ident().fingerprint, set.lattice().fingerprint());
            assert_eq!((ct.level(), ct.scale()), (unreduced.level(), unreduced.scale()));
            assert_eq!(ct.range(), unreduced.range());
            ranks.push(ct.lattice().rank());
            world.check(&eval.padded(&ct).unwrap(), &expected);
        }
        assert!(ranks.is_sorted_by(|a, b| a >= b), "{ranks:?}");
        ranks.dedup();
        assert_eq!(ranks, if rank == 4 { vec![4, 2, 1] } else { vec![2, 1] });
        assert_eq!(keys.ranks().len(), ranks.len());
        let own: usize = keys.ranks().map(|(_, keys)| keys.byte_len()).sum();
        assert!(keys.byte_len() > own);
    }
}

/// A reduction adds the noise that the account says, from both sides.
#[test]
fn noise_of_reductions_is_predicted() {
    let reducing = Reducing::new(4, 12, &KeyLevels::default());
    let (world, eval) = (&reducing.world, &reducing.eval);
    let x = world.reals(256);
    for level in [0, 2] {
        let ct = world.encrypt_span_at(&x, level);
        let reduced = eval.add_scalar(&ct, 0.0).unwrap();
        assert_eq!(reduced.lattice().rank(), if level == 0 { 1 } else { 2 });
        assert!(reduced.metadata().noise() > ct.metadata().noise());
        let found: Vec<f64> = world.decrypt(&eval.padded(&reduced).unwrap());
        let squares: f64 = found.iter().zip(&x).map(|(a, b)| (a - b).powi(2)).sum();
        let rms = (squares / 256.0).sqrt();
        let predicted = reduced.metadata().noise();
        assert!(rms < 1.5 * predicted && predicted < 1.5 * rms, "{rms:e}, {predicted:e}");
    }
}

/// One program, for any arithmetic.
fn program<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    y: &A::Ciphertext,
    f: &Approximation,
) -> Result<Vec<A::Ciphertext>> {
    let square = a.square(x)?;
    let product = a.mul(&square, y)?;
    let sum = a.add(&product, x)?; // of two levels
    let rotated = a.rotate(&a.mul_scalar(&sum, 0.5)?, 3)?;
    let total = a.inner_sum(&rotated, 8, 1)?;
    let scaled = a.mul_scalar(&total, 0.05)?;
    let value = a.apply(&a.with_range(scaled, Interval::real(-1.0, 1.0)?), f)?;
    let late = a.mul(&value, x)?; // of very different levels
    let dot = a.dot(&[&value, &late], &[&late, &value])?;
    let real = a.real_part(&dot)?;
    Ok(vec![square, sum, rotated, total, value, late, real])
}

#[test]
fn programs_run_unchanged() {
    let spec = KeyLevels::default().multiply(12).rotate([1, 2, 3, 4, 6], 12).conjugate(12);
    let reducing = Reducing::new(4, 12, &spec);
    let (world, eval) = (&reducing.world, &reducing.eval);
    let (x, y) = (world.reals(256), world.reals(256));
    let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
    let f = Approximation::new(&Function::from(Known::Sigmoid), -1.0, 1.0, Accuracy::bits(15.0))
        .unwrap();
    let reduced = program(eval, &cx, &cy, &f).unwrap();
    let plain = program(&world.evaluator(), &cx, &cy, &f).unwrap();
    for (at, (reduced, plain)) in reduced.iter().zip(&plain).enumerate() {
        assert_eq!(
            (reduced.level(), reduced.meta().slots),
            (plain.level(), plain.meta().slots),
            "{at}"
        );
        assert!((reduced.scale() / plain.scale() - 1.0).abs() < 1e-9, "{at}");
        let expected: Vec<f64> = world.decrypt(plain);
        let found: Vec<f64> = world.decrypt(&eval.padded(reduced).unwrap());
        let noise = 16.0 * (plain.metadata().noise() + reduced.metadata().noise());
        assert!(max_error(&found, &expected) < noise, "{at}");
        assert!(noise < 1e-6, "{at}: {noise:e}");
    }
    let ranks: Vec<usize> = reduced.iter().map(|ct| ct.lattice().rank()).collect();
    assert_eq!((ranks[0], ranks[ranks.len() - 1]), (4, 2), "{ranks:?}");
}

#[test]
fn polynomials_transforms_and_sums_keep_to_the_ranks() {
    let spec = KeyLevels::default().multiply(12).rotate_hoisted(12);
    let reducing = Reducing::new(4, 12, &spec);
    let (world, eval) = (&reducing.world, &reducing.eval);
    let x = world.reals(256);
    let cubic = Polynomial::new(Chebyshev::interpolate(|t| t * t * t - 0.5 * t, -1.0, 1.0, 3));
    let mut matrix = Diagonals::zero(256);
    for k in [0, 5] {
        matrix.add_diagonal(k, vec![Complex64::new(0.5 - 0.05 * k as f64, 0.0); 256]);
    }
    let image: Vec<f64> = x.iter().zip(rotated(&x, 5)).map(|(a, b)| 0.5 * a + 0.25 * b).collect();
    for level in [12, 6, 4, 2] {
        let ct = world.encrypt_span_at(&x, level);
        let value = eval.polynomial(&ct, &cubic, None).unwrap();
        let expected: Vec<f64> = x.iter().map(|t| t * t * t - 0.5 * t).collect();
        reducing.check(&value, &expected);
        let values = eval.polynomials(&ct, &[(&cubic, None)]).unwrap();
        reducing.check(&values[0], &expected);
        // Prepared for the largest rank, or for that of the level.
        for params in [&world.params, eval.params_at(level)] {
            let m = LinearTransform::new(params, &matrix, level, LinearOptions::default()).unwrap();
            let transformed = eval.transform(&ct, &m).unwrap();
            reducing.check(&transformed, &image);
            let set = eval.params_at(level - 1);
            assert_eq!(transformed.lattice().ident().fingerprint, set.lattice().fingerprint());
        }
        let sum = eval.sum_of_rotations(&[(&ct, &[0, 9]), (&ct, &[-4])]).unwrap();
        let parts = [x.clone(), rotated(&x, 9), rotated(&x, -4)];
        let sums: Vec<f64> = (0..256).map(|j| parts.iter().map(|p| p[j]).sum()).collect();
        reducing.check(&sum, &sums);
        for (ct, step) in eval.rotate_many(&ct, &[0, 17]).unwrap().iter().zip([0, 17]) {
            reducing.check(ct, &rotated(&x, step));
        }
        let dot = eval.dot_values(&[&ct, &ct], &[vec![0.5; 256], vec![-0.25; 256]]).unwrap();
        reducing.check(&dot, &x.iter().map(|x| 0.25 * x).collect::<Vec<_>>());
        reducing.check(
            &eval.mul_values(&ct, &[0.5; 256]).unwrap(),
            &x.iter().map(|x| 0.5 * x).collect::<Vec<_>>(),
        );
        // The same vector twice.
        reducing.check(&eval.mul(&ct, &ct).unwrap(), &x.iter().map(|x| x * x).collect::<Vec<_>>());
    }
}

#[test]
fn padded_results_are_those_of_the_client() {
    let reducing = Reducing::new(2, 12, &KeyLevels::default().multiply(12));
    let (world, eval) = (&reducing.world, &reducing.eval);
    let rng = &mut *world.rng.borrow_mut();
    let public = PublicKey::generate(&world.secret, rng);
    let plain = Encoder::new(&world.params)
        .encode(&[0.5, -2.0], span(&[0.5, -2.0]), world.params.scale(), 3)
        .unwrap();
    let ct = encrypt_public(&world.params, &plain, &public, rng).unwrap();
    let square = eval.square(&ct).unwrap();
    assert_eq!(square.lattice().rank(), 1);
    let padded = eval.padded(&square).unwrap();
    assert_eq!((padded.lattice().rank(), padded.meta()), (2, square.meta()));
    let found: Vec<f64> = decrypt_values(&world.params, &padded, &world.secret).unwrap();
    assert!(max_error(&found, &[0.25, 4.0]) < 1e-6);
    // What is padded may go on.
    assert_eq!(eval.square(&padded).unwrap().lattice(), eval.square(&square).unwrap().lattice());
}

#[test]
fn misfits_are_named() {
    let reducing = Reducing::new(2, 12, &KeyLevels::default().multiply(12));
    let (world, eval) = (&reducing.world, &reducing.eval);
    let ct = world.encrypt_span(&[0.5]);
    let error = eval.rotate(&world.encrypt_span(&[0.5, 1.0]), 1).unwrap_err();
    assert!(
        error.op() == "rotate"
            && error.is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"),
        "{error}"
    );
    let error = eval.bootstrap(&ct).unwrap_err();
    assert!(
        error.op() == "bootstrap" && matches!(error.kind(), ErrorKind::MissingKey { .. }),
        "{error}"
    );
    // Another set, another key.
    let other = params(3, 12, Security::Insecure).unwrap();
    let rng = &mut *world.rng.borrow_mut();
    let stranger = SecretKey::generate(other.lattice(), rng).unwrap();
    let plain = Encoder::new(&other).encode(&[0.5], span(&[0.5]), other.scale(), 2).unwrap();
    let foreign = encrypt(&other, &plain, &stranger, rng).unwrap();
    let error = eval.square(&foreign).unwrap_err();
    assert!(
        error.is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set"),
        "{error}"
    );
    let stranger = SecretKey::generate(world.params.lattice(), rng).unwrap();
    let plain =
        Encoder::new(&world.params).encode(&[0.5], span(&[0.5]), world.params.scale(), 2).unwrap();
    let foreign = encrypt(&world.params, &plain, &stranger, rng).unwrap();
    let error = eval.add(&ct, &foreign).unwrap_err();
    assert!(
        error.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or"),
        "{error}"
    );
    let refused =
        ReducingKeys::generate(&other, &world.secret, &KeyLevels::default(), rng).unwrap_err();
    assert!(
        refused.is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set"),
        "{refused}"
    );
}
