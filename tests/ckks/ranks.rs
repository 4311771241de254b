//! The evaluator at module ranks above 1, products relinearized by every strategy (DPad-HE).

use crate::common;
use bellerophon_circuits::CircuitOps;
use bellerophon_ckks::vectors::Vectors;

use crate::common::{World, refusal, rotated, span};
use bellerophon_circuits::{
    chebyshev::Chebyshev,
    diagonals::Diagonals,
    lintrans::{LinearOptions, LinearTransform},
    polynomial::Polynomial,
};
use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, Encoder, ErrorKind, EvaluationKeys, Evaluator, Interval,
    KeyLevels, LevelGroup, ModulusChain, Params, ParamsSpec, PublicKey, RankConversion,
    RankReduction, Security, encrypt, encrypt_public,
    simulator::{Simulator, min_level},
};
use bellerophon_mlwe::{RelinKeys, RelinStrategy, noise::measured, rank_schedule};
use bellerophon_ring::{Modulus, prime};

/// `n = 2^9` at a rank: `q_0` of 55 bits, five primes of 45, one special prime of 56, all of them
/// primes for degree `4 n` too.
fn params(rank: usize) -> Params {
    params_with(rank, 5)
}

fn params_with(rank: usize, levels: usize) -> Params {
    let chain = ModulusChain {
        degree: 1 << 11,
        first_bits: 55,
        levels: vec![LevelGroup::single(45, levels)],
        special: (56, 1),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    spec.lattice.degree = 1 << 9;
    spec.lattice.rank = rank;
    Params::new(spec).unwrap()
}

/// The set with every route of relinearization.
fn sets(rank: usize) -> Vec<Params> {
    let params = params(rank);
    let lattice = params.lattice();
    let direct = params.clone().relinearizing(RelinStrategy::direct(lattice)).unwrap();
    let q: Vec<Modulus> = lattice.q().moduli().cloned().collect();
    let p: Vec<u64> =
        prime::ntt_primes_below(1 << 11, 50, 3, &q).unwrap().iter().map(Modulus::value).collect();
    let mut routes = vec![RelinStrategy::new(lattice, 1, Some((rank + 1, p.clone()))).unwrap()];
    if rank.is_multiple_of(2) {
        routes.push(RelinStrategy::new(lattice, rank, None).unwrap());
        routes.push(RelinStrategy::new(lattice, 2, Some((rank / 2 + 1, p))).unwrap());
    }
    let other = routes.into_iter().map(|route| params.clone().relinearizing(route).unwrap());
    other.chain([params.clone(), direct]).collect()
}

/// Without a word the cheapest route, direct at rank 1.
#[test]
fn routes_are_chosen_by_their_work() {
    for rank in 1..=4 {
        let params = params(rank);
        let (lattice, limbs) = (params.lattice(), params.limbs());
        let chosen = RelinStrategy::choose(lattice, limbs).unwrap();
        let direct = RelinStrategy::direct(lattice);
        let expected = if rank == 1 { &direct } else { &chosen };
        assert_eq!(params.relin_strategy(), expected);
        let work = |route: &RelinStrategy| route.cost(limbs).unwrap().nanoseconds();
        assert!(work(&chosen) <= work(&direct));
        if rank == 4 {
            assert_ne!(chosen, direct);
        }
        assert_eq!(params, params_with(rank, 5));
    }
}

#[test]
fn every_operation_at_every_rank() {
    for rank in [1, 2, 3, 4] {
        for params in sets(rank) {
            let top = params.max_level();
            let slots = params.max_slots();
            let diagonal = |k: usize, j: usize| ((7 * j + k) % 11) as f64 / 11.0;
            let mut matrix = Diagonals::zero(slots);
            for k in [0, 1, 5] {
                let values = (0..slots).map(|j| Complex64::new(diagonal(k, j), 0.0));
                matrix.add_diagonal(k, values.collect());
            }
            let transform =
                LinearTransform::new(&params, &matrix, top, LinearOptions::default()).unwrap();
            let simulator = Simulator::new(&params);
            let any = simulator.encrypt(&[1.0], Interval::real(0.0, 1.0).unwrap(), top).unwrap();
            let any = simulator.repeated(any, slots).unwrap();
            simulator.transform(&any, &transform).unwrap();
            let spec = simulator.report().keys.multiply(top).conjugate(top).rotate([1, -3], top);
            let world = World::of(params.clone(), spec, 3);
            let eval = world.evaluator();
            let (x, y) = (world.reals(slots), world.reals(slots));
            let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
            let zip = |f: fn(f64, f64) -> f64| -> Vec<f64> {
                x.iter().zip(&y).map(|(&a, &b)| f(a, b)).collect()
            };
            world.check(&eval.add(&cx, &cy).unwrap(), &zip(|a, b| a + b));
            let product = eval.mul(&cx, &cy).unwrap();
            assert_eq!(product.level(), top - 1);
            world.check(&product, &zip(|a, b| a * b));
            world.check(&eval.square(&cx).unwrap(), &zip(|a, _| a * a));
            let late = eval.rescale(&eval.mul_no_rescale(&cx, &cy).unwrap()).unwrap();
            world.check(&late, &zip(|a, b| a * b));
            world.check(&eval.mul_values(&cx, &y).unwrap(), &zip(|a, b| a * b));
            world.check(&eval.rotate(&cx, 1).unwrap(), &rotated(&x, 1));
            world.check(&eval.rotate(&cx, -3).unwrap(), &rotated(&x, -3));
            world.check(&eval.conjugate(&cx).unwrap(), &x);
            let image: Vec<f64> = (0..slots)
                .map(|j| [0, 1, 5].map(|k| diagonal(k, j) * x[(j + k) % slots]).iter().sum())
                .collect();
            world.check(&eval.transform(&cx, &transform).unwrap(), &image);
            let cubic = Chebyshev::interpolate(|t| t * t * t - 0.5 * t, -1.0, 1.0, 3);
            let value = eval.polynomial(&cx, &Polynomial::new(cubic), None).unwrap();
            world.check(&value, &zip(|a, _| a * a * a - 0.5 * a));
            // Down to the last level.
            let mut power = (cx.clone(), x.clone());
            for _ in 0..top {
                power.0 = eval.square(&power.0).unwrap();
                power.1.iter_mut().for_each(|x| *x *= *x);
            }
            world.check(&power.0, &power.1);
            // Under a public key (section 2.2.3).
            let rng = &mut *world.rng.borrow_mut();
            let public = PublicKey::generate(&world.secret, rng);
            let plain =
                Encoder::new(&params).encode(&x, span(&x), params.scale(), params.limbs()).unwrap();
            let public = encrypt_public(&params, &plain, &public, rng).unwrap();
            let found: Vec<f64> = world.decrypt(&eval.mul(&public, &cy).unwrap());
            assert!(common::max_error(&found, &zip(|a, b| a * b)) < 1e-8);
        }
    }
}

#[test]
fn products_add_the_noise_that_their_route_predicts() {
    for params in [1, 2, 3, 4].into_iter().flat_map(sets) {
        let (route, top) = (params.relin_strategy(), params.max_level());
        let world = World::of(params.clone(), KeyLevels::default().multiply(top), 4);
        let eval = world.evaluator();
        for level in [1, top] {
            let limbs = params.limbs_at(level);
            let ring = params.ring(limbs);
            let values = world.reals(params.max_slots());
            let (x, y) =
                (world.encrypt_span_at(&values, level), world.encrypt_span_at(&values, level));
            let mut expected = (*x.lattice().phase(&world.secret).unwrap()).clone();
            ring.mul_assign(&mut expected, &y.lattice().phase(&world.secret).unwrap());
            let product = eval.mul_no_rescale(&x, &y).unwrap();
            let measured = measured::noise(&world.secret, product.lattice(), &expected).unwrap();
            let predicted = route.noise(limbs).unwrap();
            let ratio = measured.variance / predicted;
            assert!((0.7..1.4).contains(&ratio), "{params:?}: {ratio} of {predicted}");
            // With the rescaling in the same division.
            let product = eval.mul(&x, &y).unwrap();
            let divided = bellerophon_ring::rescale(ring, expected, 1);
            let measured = measured::noise(&world.secret, product.lattice(), &divided).unwrap();
            // The quotient that it is compared with is rounded too.
            let predicted = route.noise_rescaled(limbs, 1, 0.0).unwrap() + 1.0 / 12.0;
            let ratio = measured.variance / predicted;
            assert!((0.7..1.4).contains(&ratio), "{params:?}: {ratio} of {predicted}, rescaled");
        }
    }
}

#[test]
fn sizes_of_keys_are_known_before_they_are_made() {
    for params in sets(4) {
        let spec = KeyLevels::default().multiply(3).rotate([2], 2);
        let world = World::of(params.clone(), spec.clone(), 1);
        let sizes = spec.sizes(&params).unwrap();
        assert_eq!(sizes.transit, world.keys.byte_len());
        let galois: usize = world.keys.galois_keys().iter().map(|key| key.key().memory_len()).sum();
        let relinearization = world.keys.relinearization_keys().unwrap();
        assert_eq!(sizes.memory, galois + relinearization.memory_len());
        assert_eq!(relinearization.strategy(), params.relin_strategy());
        let shown = format!("{params:?}");
        assert!(shown.contains(&params.relin_strategy().to_string()), "{shown}");
    }
}

#[test]
fn keys_of_another_route_are_refused() {
    let sets = sets(2);
    let (dpad, direct) = (&sets[0], sets.last().unwrap());
    let world = World::of(dpad.clone(), KeyLevels::default().multiply(2), 1);
    let error = Evaluator::new(direct, &world.keys).unwrap_err();
    assert!(
        error.is(&ErrorKind::ParamsMismatch, "make the keys or the bootstrapper from"),
        "{error}"
    );
    assert!(error.to_string().contains("by way of rank 3"), "{error}");
    let mut keys = EvaluationKeys::none(dpad, world.secret.id());
    let rng = &mut *world.rng.borrow_mut();
    let own = RelinKeys::generate(direct.relin_strategy(), &world.secret, 2, rng).unwrap();
    assert!(
        refusal(&keys.insert_relinearization(own))
            .is(&ErrorKind::ParamsMismatch, "make the keys or the bootstrapper from")
    );
    let other = params(2);
    let stranger = bellerophon_ckks::SecretKey::generate(other.lattice(), rng).unwrap();
    let strange = RelinKeys::generate(dpad.relin_strategy(), &stranger, 2, rng).unwrap();
    assert!(
        refusal(&keys.insert_relinearization(strange))
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    let refused = params(3).relinearizing(dpad.relin_strategy().clone());
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    assert!(dpad == &dpad.clone() && dpad != direct);
}

#[test]
fn levels_beyond_the_chain_take_the_same_route() {
    for params in sets(4) {
        let route = |params: &Params| {
            let route = params.relin_strategy();
            let special = route.raised().p().moduli().map(Modulus::value).collect::<Vec<_>>();
            (route.factor(), route.raised().spec().rank, special)
        };
        let top = params.max_level();
        let squares = |simulator: &Simulator, level: usize| {
            assert_eq!(route(simulator.params()), route(&params));
            let mut x = simulator.encrypt(&[1.0], span(&[1.0]), level)?;
            for _ in 0..top + 2 {
                x = simulator.square(&x)?;
            }
            Ok(x)
        };
        assert_eq!(min_level(&params, squares), Ok(top + 2));
    }
}

#[test]
fn a_circuit_goes_down_in_rank() {
    let top = params_with(4, 12);
    let world = World::of(top.clone(), KeyLevels::default().multiply(12), 1);
    let x = world.reals(256);
    let mut ct = world.encrypt_span(&x);
    let mut expected = x;
    let mut square = |ct: &mut Ciphertext, eval: &Evaluator| {
        *ct = eval.square(ct).unwrap();
        expected.iter_mut().for_each(|x| *x *= *x);
    };
    let rng = &mut *world.rng.borrow_mut();
    let (mut params, mut secret, mut eval) = (top.clone(), world.secret.clone(), world.evaluator());
    let schedule = rank_schedule(top.lattice(), Security::Insecure);
    assert_eq!(schedule.iter().map(|step| step.rank).collect::<Vec<_>>(), [4, 2, 1]);
    for step in &schedule[1..] {
        let spec = ParamsSpec { lattice: step.spec.clone(), widths: vec![], log_scale: 45 };
        let lower = Params::new(spec).unwrap();
        while ct.lattice().limbs() > step.limbs {
            square(&mut ct, &eval);
        }
        let (reduction, part) = RankReduction::generate(&params, &secret, &lower, rng).unwrap();
        ct = reduction.apply(&ct).unwrap();
        let spec = KeyLevels::default().multiply(lower.max_level());
        let keys = EvaluationKeys::generate(&lower, &part, &spec, rng).unwrap();
        eval = Evaluator::new(&lower, &keys).unwrap();
        (params, secret) = (lower, part);
        assert_eq!(ct.lattice().rank(), step.rank);
    }
    while ct.level() > 0 {
        square(&mut ct, &eval);
    }
    let found: Vec<f64> = bellerophon_ckks::decrypt_values(&params, &ct, &secret).unwrap();
    let error = common::max_error(&found, &expected);
    assert!(
        error < 16.0 * ct.metadata().noise() && ct.metadata().noise() < 1e-6,
        "{error:e}, {:e}",
        ct.metadata().noise()
    );
}

#[test]
fn vectors_go_to_rlwe_and_back() {
    for rank in [2, 4] {
        let small = params(rank);
        let large = ParamsSpec {
            lattice: bellerophon_mlwe::ParamsSpec {
                degree: small.lattice().spec().degree * rank,
                rank: 1,
                ..small.lattice().spec().clone()
            },
            widths: vec![],
            log_scale: 45,
        };
        let large = Params::new(large).unwrap();
        let world = World::of(large.clone(), KeyLevels::default().multiply(3), 1);
        let rng = &mut *world.rng.borrow_mut();
        let (conversion, module) =
            RankConversion::generate(&large, &world.secret, &small, rng).unwrap();
        let encoder = Encoder::new(&small);
        for slots in [small.max_slots(), 4] {
            let x: Vec<f64> = (0..slots).map(|j| ((j * 37) % 19) as f64 / 19.0 - 0.5).collect();
            let plain = encoder.encode(&x, span(&x), small.scale(), small.limbs_at(3)).unwrap();
            let ct = encrypt(&small, &plain, &module, rng).unwrap();
            // Up, a product of RLWE, and down again.
            let up = conversion.from_rank(&ct).unwrap();
            assert_eq!((up.meta().slots, up.level(), up.lattice().rank()), (slots, 3, 1));
            world.check(&up, &x);
            let squared = world.evaluator().square(&up).unwrap();
            let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
            world.check(&squared, &squares);
            let down = conversion.to_rank(&squared).unwrap();
            let found: Vec<f64> = bellerophon_ckks::decrypt_values(&small, &down, &module).unwrap();
            assert!(common::max_error(&found, &squares) <= 16.0 * down.metadata().noise());
            // Down and up without noise, but for the automorphisms.
            let down = conversion.to_rank(&up).unwrap();
            assert!(down.metadata().noise() <= up.metadata().noise());
            world.check(&conversion.from_rank(&down).unwrap(), &x);
            assert!(
                refusal(&conversion.from_rank(&up))
                    .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
            );
            assert!(
                refusal(&conversion.to_rank(&down))
                    .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
            );
        }
        // More slots than the small ring has.
        let x = vec![0.5; large.max_slots()];
        let plain = Encoder::new(&large).encode(&x, span(&x), large.scale(), 2).unwrap();
        let wide = encrypt(&large, &plain, &world.secret, rng).unwrap();
        assert!(refusal(&conversion.to_rank(&wide)).is(&ErrorKind::Shape, "slots: need"));
    }
}
