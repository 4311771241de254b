//! Sums over slots, copies, masks, dot products and operations in place against the same on `f64`.

use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ComposedOps, ErrorKind, KeyLevels, LevelGroup, ModulusChain,
    Params, ParamsSpec, Security,
};

use crate::tests::common;
use crate::tests::common::{World, refusal, span};

/// A toy set of the given rank.
fn params(rank: usize) -> Params {
    let chain = ModulusChain {
        degree: 1 << (9 - rank),
        first_bits: 55,
        levels: vec![LevelGroup::single(45, 3)],
        special: (50, 2),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    spec.lattice.rank = rank;
    Params::new(spec).unwrap()
}

fn window_sums<T: Copy + std::iter::Sum>(x: &[T], count: usize, stride: i64) -> Vec<T> {
    let n = x.len() as i64;
    let at = |j: i64, k: usize| x[(j + k as i64 * stride).rem_euclid(n) as usize];
    (0..n).map(|j| (0..count).map(|k| at(j, k)).sum()).collect()
}

#[test]
fn sums_over_slots_at_any_rank_count_and_stride() {
    for rank in [1, 2] {
        let params = params(rank);
        let cases = [(1, 1), (2, 1), (3, 1), (7, 2), (16, 4), (13, -3), (64, 1), (9, 5)];
        let spec = cases.iter().fold(KeyLevels::default(), |spec, &(n, s)| spec.inner_sum(n, s, 3));
        let world = World::of(params.clone(), spec, 1);
        let eval = world.evaluator();
        let (x, z) = (world.reals(64), world.complex(64));
        let (cx, cz) = (world.encrypt_span(&x), world.encrypt_span(&z));
        for (count, stride) in cases {
            let sum = eval.inner_sum(&cx, count, stride).unwrap();
            assert_eq!((sum.level(), sum.scale()), (3, cx.scale()));
            world.check(&sum, &window_sums(&x, count, stride));
            let sum = eval.inner_sum(&cz, count, stride).unwrap();
            world.check_complex(&sum, &window_sums(&z, count, stride));
        }
    }
}

#[test]
fn keys_of_any_rotation_serve_every_sum() {
    let params = params(1);
    let world =
        World::of(params.clone(), KeyLevels::default().rotate_by_powers_of_two(&params, 3), 2);
    let eval = world.evaluator();
    let x = world.reals(128);
    let cx = world.encrypt_span(&x);
    for (count, stride) in [(128, 1), (5, 7), (11, -1)] {
        let sum = eval.inner_sum(&cx, count, stride).unwrap();
        world.check(&sum, &window_sums(&x, count, stride));
    }
    world.check(&eval.sum_slots(&cx).unwrap(), &[x.iter().sum::<f64>(); 128]);
}

#[test]
fn the_noise_of_a_sum_is_predicted_from_both_sides() {
    let params = params(1);
    let world = World::of(params.clone(), KeyLevels::default().sum_slots(128, 3), 3);
    let eval = world.evaluator();
    let mut worst: f64 = 0.0;
    let mut noise = 0.0;
    for _ in 0..8 {
        let x = world.reals(128);
        let sum = eval.sum_slots(&world.encrypt_span(&x)).unwrap();
        noise = sum.metadata().noise();
        let found: Vec<f64> = world.decrypt(&sum);
        worst = worst.max(common::max_error(&found, &[x.iter().sum::<f64>(); 128]));
    }
    // All slots hold one number, so the worst of eight is about 1.4 deviations.
    assert!(worst < 4.0 * noise && worst > noise / 8.0, "{worst:e} against {noise:e}");
}

#[test]
fn ragged_lengths_count_their_padding_as_zeros() {
    let world = World::of(params(1), KeyLevels::default().sum_slots(64, 3).inner_sum(3, 1, 3), 4);
    let eval = world.evaluator();
    let x = world.reals(37);
    let cx = world.encrypt_span(&x);
    assert_eq!((cx.meta().slots, cx.len()), (64, 37));
    world.check(&eval.sum_slots(&cx).unwrap(), &[x.iter().sum::<f64>(); 37]);
    let padded: Vec<f64> = x.iter().copied().chain([0.0; 27]).collect();
    let sum = eval.inner_sum(&cx, 3, 1).unwrap();
    world.check(&sum, &window_sums(&padded, 3, 1)[..37]);
    // What was added to the padding does not count: it is cleared first.
    let moved = eval.add_scalar(&cx, 1.0).unwrap();
    let expected = x.iter().sum::<f64>() + 37.0;
    world.check(&eval.sum_slots(&moved).unwrap(), &[expected; 37]);
    let cleared = eval.clear_padding(&moved).unwrap();
    assert_eq!(cleared.range(), moved.range());
    world.check(&eval.sum_slots(&cleared).unwrap(), &[expected; 37]);
    assert_eq!(
        eval.sum_slots(&cleared).unwrap().metadata(),
        eval.sum_slots(&moved).unwrap().metadata()
    );
}

#[test]
fn masks_and_copies() {
    for rank in [1, 2] {
        let spec = KeyLevels::default().sum_slots(64, 3).replicate(8, 1, 3).replicate(4, 16, 3);
        let world = World::of(params(rank), spec, 5);
        let eval = world.evaluator();
        let x = world.reals(64);
        let cx = world.encrypt_span(&x);
        let kept = eval.mask_slots(&cx, &[0, 1, 2, 10, 63]).unwrap();
        assert_eq!((kept.level(), kept.scale()), (2, cx.scale()));
        let inside = |j: usize| j < 3 || j == 10 || j == 63;
        let expected: Vec<f64> = (0..64).map(|j| if inside(j) { x[j] } else { 0.0 }).collect();
        world.check(&kept, &expected);
        let kept = eval.mask(&cx, 5..9).unwrap();
        let inside = |j: usize| (5..9).contains(&j);
        let expected: Vec<f64> = (0..64).map(|j| if inside(j) { x[j] } else { 0.0 }).collect();
        world.check(&kept, &expected);

        world.check(&eval.replicate_slot(&cx, 17).unwrap(), &[x[17]; 64]);
        // One slot of each block of eight fills its block.
        let heads: Vec<usize> = (0..8).map(|block| 8 * block).collect();
        let filled = eval.replicate(&eval.mask_slots(&cx, &heads).unwrap(), 8, 1).unwrap();
        world.check(&filled, &(0..64).map(|j| x[j / 8 * 8]).collect::<Vec<_>>());
        // The first block fills all blocks.
        let block = eval.mask(&cx, 0..16).unwrap();
        let filled = eval.replicate(&block, 4, 16).unwrap();
        world.check(&filled, &(0..64).map(|j| x[j % 16]).collect::<Vec<_>>());
    }
}

#[test]
fn dot_products_relinearize_and_rescale_once() {
    for rank in [1, 2] {
        let world = World::of(params(rank), KeyLevels::default().multiply(3), 6);
        let eval = world.evaluator();
        let x: Vec<Vec<f64>> = (0..5).map(|_| world.reals(64)).collect();
        let y: Vec<Vec<f64>> = (0..5).map(|_| world.reals(64)).collect();
        let encrypt = |v: &[Vec<f64>]| v.iter().map(|v| world.encrypt_span(v)).collect::<Vec<_>>();
        let (cx, cy) = (encrypt(&x), encrypt(&y));
        let (cx, cy): (Vec<_>, Vec<_>) = (cx.iter().collect(), cy.iter().collect());
        let expected: Vec<f64> =
            (0..64).map(|j| x.iter().zip(&y).map(|(x, y)| x[j] * y[j]).sum()).collect();
        let sum = eval.dot(&cx, &cy).unwrap();
        assert_eq!(sum.level(), 2);
        world.check(&sum, &expected);
        // One relinearization: less noise than five products added.
        let one_by_one: Vec<Ciphertext> =
            cx.iter().zip(&cy).map(|(x, y)| eval.mul(x, y).unwrap()).collect();
        let added = eval.add_many(&one_by_one.iter().collect::<Vec<_>>()).unwrap();
        assert!(sum.metadata().noise() < added.metadata().noise());

        let encoded: Vec<_> =
            y.iter().map(|y| eval.encoder().encode_factor(y, span(y), 64, 3).unwrap()).collect();
        let encoded: Vec<_> = encoded.iter().collect();
        let sum = eval.dot_plain(&cx, &encoded).unwrap();
        assert_eq!((sum.level(), sum.scale()), (2, cx[0].scale()));
        world.check(&sum, &expected);
        // A lower operand brings the others down.
        let low = eval.drop_to_level(cx[0], 2).unwrap();
        let encoded: Vec<_> =
            y.iter().map(|y| eval.encoder().encode_factor(y, span(y), 64, 2).unwrap()).collect();
        let lowered: Vec<_> = std::iter::once(&low).chain(cx[1..].iter().copied()).collect();
        let sum = eval.dot_plain(&lowered, &encoded.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(sum.level(), 1);
        world.check(&sum, &expected);

        let error = eval.dot(&cx, &cy[1..]).unwrap_err();
        assert!(
            error.is(&ErrorKind::Length, "5 operands against 4: need two lists of one"),
            "{error}"
        );
        assert!(matches!(
            eval.dot(&[], &[]),
            Err(e)
                if e.op() == "dot"
                    && e.is(&ErrorKind::Length, "no operands or values: need at least one")
        ));
        assert!(
            refusal(&eval.dot_plain(&[], &[]))
                .is(&ErrorKind::Length, "no operands or values: need at least one")
        );
        let mixed = [
            &encoded[0].clone(),
            &eval.encoder().encode(&y[1], span(&y[1]), 2f64.powi(30), 3).unwrap(),
        ];
        let error = eval.dot_plain(&cx[..2], &mixed).unwrap_err();
        assert!(error.is(&ErrorKind::Scale, "has another scale than the one needed ("), "{error}");
    }
}

#[test]
fn constants_and_plaintexts_at_any_level() {
    let world = World::of(params(1), KeyLevels::default(), 7);
    let eval = world.evaluator();
    let (x, y) = (world.complex(64), world.complex(64));
    let cx = world.encrypt_span(&x);
    let plain = |limbs| eval.encoder().encode(&y, span(&y), world.params.scale(), limbs).unwrap();
    let z = eval.add_scalar(&eval.neg(&cx).unwrap(), 0.25).unwrap();
    let expected: Vec<Complex64> = x.iter().map(|x| 0.25 - x).collect();
    world.check_complex(&z, &expected);
    let zip = |f: fn(Complex64, Complex64) -> Complex64| -> Vec<Complex64> {
        x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect()
    };
    for (level, limbs) in [(3, 4), (1, 4), (3, 2)] {
        let x = eval.drop_to_level(&cx, level).unwrap();
        world.check_complex(&eval.add_plain(&x, &plain(limbs)).unwrap(), &zip(|x, y| x + y));
        let product = eval.mul_plain_no_rescale(&x, &plain(limbs)).unwrap();
        world.check_complex(&product, &zip(|x, y| x * y));
    }
    assert!(eval.add_scalar(&cx, f64::NAN).is_err());
    assert!(eval.add_scalar(&cx, 2f64.powi(150)).is_err());
}

#[test]
fn errors_name_the_operation_that_was_called() {
    let world = World::of(params(1), KeyLevels::default().rotate([2], 3), 8);
    let eval = world.evaluator();
    let x = world.encrypt_span(&world.reals(64));
    let named = |result: bellerophon_ckks::Result<Ciphertext>, op: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with(&format!("{op}: ")), "{message}");
    };
    named(eval.mul(&x, &x), "mul");
    named(eval.dot(&[&x], &[&x]), "dot");
    named(eval.inner_sum(&x, 0, 1), "inner_sum");
    named(eval.inner_sum(&x, 65, 1), "inner_sum");
    named(eval.inner_sum(&x, 2, 1), "inner_sum");
    named(eval.replicate(&x, 4, 1), "replicate");
    named(eval.replicate_slot(&x, 64), "replicate_slot");
    named(eval.mask(&x, 3..65), "mask");
    #[expect(clippy::reversed_empty_ranges, reason = "what a caller may get wrong")]
    let backwards = eval.mask(&x, 5..3);
    named(backwards, "mask");
    named(eval.mask_slots(&x, &[64]), "mask_slots");
    let low = eval.drop_to_level(&x, 0).unwrap();
    named(eval.mask(&low, 0..1), "mask");
    named(eval.clear_padding(&eval.with_len(low, 60).unwrap()), "clear_padding");
    // The rotation that is missing is named with the steps that there are.
    let error = eval.sum_slots(&x).unwrap_err();
    assert_eq!(error.op(), "sum_slots");
    let steps = "no key has this step, and the steps [2] do not compose to it";
    assert!(error.is(&ErrorKind::MissingKey { need: "rotate" }, steps), "{error}");
}

#[test]
fn strides_of_any_size_count_modulo_the_slots() {
    let spec = KeyLevels::default().inner_sum(4, i64::MAX, 1).replicate(4, i64::MIN, 1);
    let world = World::of(params(1), spec, 1);
    let eval = world.evaluator();
    let x = world.reals(8);
    let ct = world.encrypt_span(&x);
    // 2^63 is a multiple of the slots, and 2^63 - 1 one less than such.
    let fourfold: Vec<f64> = x.iter().map(|x| 4.0 * x).collect();
    world.check(&eval.replicate(&ct, 4, i64::MIN).unwrap(), &fourfold);
    let ct = eval.drop_to_level(&ct, 1).unwrap();
    world.check(&eval.inner_sum(&ct, 4, i64::MAX).unwrap(), &window_sums(&x, 4, -1));
}
