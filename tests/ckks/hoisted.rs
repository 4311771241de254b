//! Rotations by any step at a temporary rank (DPad-HE, Algorithm 2).

use crate::common::{World, refusal, rotated};
use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::{
    diagonals::Diagonals,
    lintrans::{Giants, Hoisting, LinearOptions, LinearTransform},
};
use bellerophon_ckks::{
    CkksOps, Complex64, ComposedOps, ErrorKind, EvaluationKeys, Evaluator, KeyLevels, LevelGroup,
    ModulusChain, Params, ParamsSpec, SecretKey, Security,
};
use bellerophon_mlwe::{GaloisKeys, RankHoistedKeys};

/// `n = 2^9` at a rank: `q_0` of 55 bits, five primes of 45, a special one of 56.
fn params(rank: usize) -> Params {
    let chain = ModulusChain {
        degree: 1 << 9,
        first_bits: 55,
        levels: vec![LevelGroup::single(45, 5)],
        special: (56, 1),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    spec.lattice.rank = rank;
    Params::new(spec).unwrap()
}

/// The root mean square of the errors is what the account says, from both sides.
#[track_caller]
fn assert_noise(found: &[f64], expected: &[f64], predicted: f64) {
    let squares: f64 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    let rms = (squares / found.len() as f64).sqrt();
    assert!(rms < 1.5 * predicted && predicted < 1.5 * rms, "{rms:e}, predicted {predicted:e}");
}

#[test]
fn any_step_without_a_key_of_its_own() {
    for rank in [1, 2, 4] {
        let params = params(rank);
        let top = params.max_level();
        let world = World::of(params.clone(), KeyLevels::default().rotate_hoisted(top), 1);
        let hoisted = world.keys.hoisted_keys().unwrap();
        assert!((rank + 1..=2 * rank).contains(&hoisted.raised().spec().rank));
        assert!(world.keys.galois_keys().exponents().len() == 0);
        let eval = world.evaluator();
        let x = world.reals(256);
        for level in [top, 2] {
            let ct = world.encrypt_span_at(&x, level);
            for step in [0, 1, -1, 128, 77, -86, 255, 1000] {
                let image = eval.rotate(&ct, step).unwrap();
                assert_eq!(image.level(), level);
                let expected = rotated(&x, step);
                world.check(&image, &expected);
                assert_noise(&world.decrypt::<f64>(&image), &expected, image.metadata().noise());
            }
            let steps = [3, 0, -7];
            for (image, step) in eval.rotate_many(&ct, &steps).unwrap().iter().zip(steps) {
                world.check(image, &rotated(&x, step));
            }
        }
        // The longest way adds visibly to the noise, and the account says so.
        let ct = world.encrypt_span(&x);
        let far = eval.rotate(&ct, 0b101_0101).unwrap();
        assert!(far.metadata().noise() > eval.rotate(&ct, 1).unwrap().metadata().noise());
        // Few slots: steps count modulo their number.
        let few = world.reals(8);
        let ct = world.encrypt_span(&few);
        for step in [3, 4, -3] {
            world.check(&eval.rotate(&ct, step).unwrap(), &rotated(&few, step));
        }
    }
}

/// The first rotation is one at the temporary rank: bit by bit what mlwe makes of it.
#[test]
fn rotations_are_those_of_the_lattice() {
    let world = World::of(params(2), KeyLevels::default().rotate_hoisted(5), 1);
    let ct = world.encrypt_span(&world.reals(256));
    let found = world.evaluator().rotate(&ct, 11).unwrap();
    let expected = world.keys.hoisted_keys().unwrap().rotate(ct.lattice(), 11).unwrap();
    assert_eq!(*found.lattice(), expected);
}

#[test]
fn steps_with_keys_of_their_own_take_those() {
    let spec = KeyLevels::default().rotate_hoisted(5).rotate([5], 5);
    let world = World::of(params(1), spec, 1);
    let direct = World::of(params(1), KeyLevels::default(), 1);
    let x = world.reals(256);
    let ct = world.encrypt_span(&x);
    let image = world.evaluator().rotate(&ct, 5).unwrap();
    let key = world.keys.galois_keys().iter().next().unwrap();
    let expected = key.apply(direct.params.lattice(), ct.lattice()).unwrap();
    assert_eq!(*image.lattice(), expected);
    // Conjugation is no rotation.
    assert!(matches!(
        refusal(&world.evaluator().conjugate(&ct)).kind(),
        ErrorKind::MissingKey { .. }
    ));
}

#[test]
fn sums_and_transforms_fall_back_to_temporary_ranks() {
    for rank in [1, 2] {
        let params = params(rank);
        let top = params.max_level();
        let spec = KeyLevels::default().rotate_hoisted(top).rotate([1, 4], top);
        let world = World::of(params.clone(), spec, 3);
        let eval = world.evaluator();
        let x = world.reals(256);
        let ct = world.encrypt_span(&x);
        let total: f64 = x.iter().sum();
        world.check(&eval.sum_slots(&ct).unwrap(), &[total; 256]);
        let sum = eval.sum_of_rotations(&[(&ct, &[0, 1, 7])]).unwrap();
        let parts = [x.clone(), rotated(&x, 1), rotated(&x, 7)];
        let expected: Vec<f64> = (0..256).map(|j| parts.iter().map(|p| p[j]).sum()).collect();
        world.check(&sum, &expected);
        assert_noise(&world.decrypt::<f64>(&sum), &expected, sum.metadata().noise());
        let steps = [0usize, 1, 2, 3, 5, 9, 77];
        let mut matrix = Diagonals::zero(256);
        for k in steps {
            let value = |j: usize| Complex64::new(((7 * j + k) % 11) as f64 / 11.0 - 0.4, 0.0);
            matrix.add_diagonal(k, (0..256).map(value).collect());
        }
        let expected: Vec<f64> = (0..256)
            .map(|j| {
                let value = |k: usize| ((7 * j + k) % 11) as f64 / 11.0 - 0.4;
                steps.iter().map(|&k| value(k) * x[(j + k) % 256]).sum()
            })
            .collect();
        for hoisting in [Hoisting::Single, Hoisting::Double] {
            for giants in [Giants::Direct, Giants::Horner] {
                let options = LinearOptions { giants, hoisting, ..LinearOptions::default() };
                let m = LinearTransform::new(&params, &matrix, top, options).unwrap();
                world.check(&eval.transform(&ct, &m).unwrap(), &expected);
            }
        }
    }
}

#[test]
fn sizes_are_known_before_the_keys_are_made() {
    for rank in [1, 3] {
        let spec = KeyLevels::default().rotate_hoisted(3).rotate([2], 4);
        assert_eq!(
            spec,
            KeyLevels::default().rotate([2], 4).and(&KeyLevels::default().rotate_hoisted(3))
        );
        let world = World::of(params(rank), spec.clone(), 1);
        let sizes = spec.sizes(&world.params).unwrap();
        assert_eq!(sizes.transit, world.keys.byte_len());
        let hoisted = world.keys.hoisted_keys().unwrap();
        let own = world.keys.galois_keys().iter().chain(hoisted.galois().iter());
        let galois: usize = own.map(|key| key.key().memory_len()).sum();
        assert_eq!(sizes.memory, galois + hoisted.down().key().memory_len());
    }
}

#[test]
fn missing_keys_are_named_with_the_remedy() {
    let params = params(1);
    let world = World::of(params.clone(), KeyLevels::default().rotate_hoisted(2), 1);
    let ct = world.encrypt_span(&[0.5, 1.0, 2.0, -1.0]);
    // The keys stop at level 2.
    let error = world.evaluator().rotate(&ct, 1).unwrap_err();
    assert!(error.is(&ErrorKind::MissingKey { need: "rotate" }, "slots by 1"), "{error}");
    assert!(error.to_string().contains("`Needs::rotate_any` for every step"), "{error}");
    let eval = world.evaluator();
    let low = eval.drop_to_level(&ct, 2).unwrap();
    world.check(&eval.rotate(&low, 1).unwrap(), &[1.0, 2.0, -1.0, 0.5]);
    let rng = &mut *world.rng.borrow_mut();
    let spec = KeyLevels::default().rotate_hoisted(6);
    let refused = EvaluationKeys::generate(&params, &world.secret, &spec, rng).unwrap_err();
    assert!(
        refused.is(
            &ErrorKind::Level,
            "level 6 was requested, and the highest one here is 5: choose a lower level, or"
        ),
        "{refused}"
    );
    // Keys by hand: every power of two, the parameters, the secret.
    let hoisted = world.keys.hoisted_keys().unwrap();
    let mut keys = EvaluationKeys::none(&params, world.secret.id());
    let some = RankHoistedKeys::from_parts(
        params.lattice(),
        hoisted.raised(),
        GaloisKeys::default(),
        Some(hoisted.down().clone()),
    );
    let refused = keys.insert_hoisted(some.unwrap()).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::MissingKey { .. }), "{refused}");
    keys.insert_hoisted(hoisted.clone()).unwrap();
    let eval = Evaluator::new(&params, &keys).unwrap();
    assert_eq!(eval.rotate(&low, 3).unwrap(), world.evaluator().rotate(&low, 3).unwrap());
    let stranger = SecretKey::generate(params.lattice(), rng).unwrap();
    let mut keys = EvaluationKeys::none(&params, stranger.id());
    let refused = keys.insert_hoisted(hoisted.clone()).unwrap_err();
    assert!(
        refused.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or"),
        "{refused}"
    );
    let other = self::params(2);
    let mut keys = EvaluationKeys::none(&other, world.secret.id());
    let refused = keys.insert_hoisted(hoisted.clone()).unwrap_err();
    assert!(
        refused.is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set"),
        "{refused}"
    );
}

/// Where the tables leave no room above the rank, nothing is generated.
#[test]
fn ranks_beyond_the_tables_are_refused() {
    let of_degree = |degree| {
        let chain = ModulusChain { degree, first_bits: 55, levels: vec![], special: (50, 1) };
        Params::new(ParamsSpec::from_chain(&chain, 45, Security::Bits128).unwrap()).unwrap()
    };
    let needs = KeyLevels::default().rotate_hoisted(0);
    // A chain of one prime is no hindrance.
    assert!(needs.sizes(&of_degree(1 << 12)).is_ok());
    let refused = needs.sizes(&of_degree(1 << 17)).unwrap_err();
    assert!(refused.to_string().contains("temporary rank"), "{refused}");
}
