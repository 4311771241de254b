//! Every operation of the evaluator against the same operation on `f64`.

use bellerophon_ckks::vectors::Vectors;
use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ComposedOps, Error, ErrorKind, EvaluationKeys, Evaluator,
    Interval, KeyLevels, LevelGroup, ModulusChain, Params, ParamsSpec, Plaintext, Security,
};

use crate::lintrans::LinearTransform;
use crate::tests::common;
use crate::tests::common::{World, mul_scalar_no_rescale, refusal, rotated, span};

fn zip(x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    x.iter().zip(y).map(|(&a, &b)| f(a, b)).collect()
}

fn map(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().map(|&a| f(a)).collect()
}

/// Random values with the edges among them.
fn values(world: &World, n: usize) -> Vec<f64> {
    let mut x = world.reals(n);
    for (slot, edge) in x.iter_mut().zip([0.0, 1.0, -1.0, 1e-12, -0.0]) {
        *slot = edge;
    }
    x
}

#[test]
fn sums_and_constants() {
    let world = World::new(10, 3, KeyLevels::default());
    let eval = world.evaluator();
    for n in [1, 3, 64, 512] {
        let (x, y) = (values(&world, n), world.reals(n));
        let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
        world.check(&eval.add(&cx, &cy).unwrap(), &zip(&x, &y, |a, b| a + b));
        world.check(&eval.sub(&cx, &cy).unwrap(), &zip(&x, &y, |a, b| a - b));
        world.check(&eval.neg(&cx).unwrap(), &map(&x, |a| -a));
        world.check(&eval.add_scalar(&cx, 0.3).unwrap(), &map(&x, |a| a + 0.3));
        world.check(&eval.add_values(&cx, &y).unwrap(), &zip(&x, &y, |a, b| a + b));
        world.check(&eval.mul_scalar(&cx, -2.7).unwrap(), &map(&x, |a| a * -2.7));
        world.check(&eval.mul_scalar(&cx, 0.0).unwrap(), &map(&x, |_| 0.0));
        world.check(&eval.mul_integer(&cx, -3).unwrap(), &map(&x, |a| a * -3.0));
        world.check(&eval.mul_values(&cx, &y).unwrap(), &zip(&x, &y, |a, b| a * b));
        world.check(&cx.clone().reinterpret_scale(0.25).unwrap(), &map(&x, |a| a * 0.25));
        let many = eval.add_many(&[&cx, &cy, &cx]).unwrap();
        world.check(&many, &zip(&x, &y, |a, b| 2.0 * a + b));
        let mut sum = cx.clone();
        eval.add_assign(&mut sum, &cy).unwrap();
        assert_eq!(sum, eval.add(&cx, &cy).unwrap());
        eval.add_assign(&mut sum, &eval.neg(&eval.drop_to_level(&cy, 1).unwrap()).unwrap())
            .unwrap();
        assert_eq!(sum.level(), 1);
        world.check(&sum, &x);
    }
}

#[test]
fn a_message_of_zero_decrypts_whatever_its_noise() {
    // The range says that there is nothing, the noise is larger than one limb.
    let world = World::new(10, 3, KeyLevels::default().multiply(3));
    let eval = world.evaluator();
    let range = Interval::real(0.0, 0.0).unwrap();
    let zero = world.encrypt_in(&[0.0; 512], range, world.params.max_level());
    let step = |x| mul_scalar_no_rescale(&eval, x, 1.0, 2f64.powi(35)).unwrap();
    let noisy = step(&step(&zero));
    assert_eq!(noisy.range().bound(), 0.0);
    assert!(noisy.meta().noise.total.log2() > 140.0);
    world.check(&noisy, &[0.0; 512]);
    assert!(world.decrypt::<f64>(&noisy).iter().any(|&x| x != 0.0));
}

#[test]
fn factors_keep_the_scale_exactly() {
    let world = World::new(10, 3, KeyLevels::default());
    let eval = world.evaluator();
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let x = world.encrypt_in(&[0.5, -0.25], unit, 3);
    let scale = x.scale();
    assert_eq!(eval.mul_scalar(&x, 0.3).unwrap().scale(), scale);
    assert_eq!(eval.mul_values(&x, &[0.3, 0.1]).unwrap().scale(), scale);
    let low = eval.drop_to_level(&x, 1).unwrap();
    assert_eq!(eval.mul_scalar(&low, 0.3).unwrap().scale(), scale);
    assert_eq!(eval.mul_scalar(&low, 0.3).unwrap().level(), 0);
}

#[test]
fn products_down_the_whole_chain() {
    let world = World::new(10, 5, KeyLevels::default().multiply(5));
    let eval = world.evaluator();
    let (mut x, mut y) = (values(&world, 512), world.reals(512));
    let (mut cx, mut cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
    for level in (0..5).rev() {
        let product = eval.mul(&cx, &cy).unwrap();
        let square = eval.square(&cx).unwrap();
        assert_eq!((product.level(), square.level()), (level, level));
        assert_eq!(product.scale(), cx.scale() * cy.scale() / world.params.divisor(level + 1));
        (x, y) = (zip(&x, &y, |a, b| a * b), map(&x, |a| a * a));
        world.check(&product, &x);
        world.check(&square, &y);
        assert!(square.range().lo() >= 0.0);
        assert_eq!(eval.mul(&cx, &cx).unwrap(), square, "x times itself is a square");
        (cx, cy) = (product, square);
    }
}

#[test]
fn rescaling_can_wait() {
    let world = World::new(10, 3, KeyLevels::default().multiply(3));
    let eval = world.evaluator();
    let (x, y) = (world.reals(512), world.reals(512));
    let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
    let sum = eval
        .add(&eval.mul_no_rescale(&cx, &cy).unwrap(), &eval.square_no_rescale(&cx).unwrap())
        .unwrap();
    assert_eq!(sum.level(), 3);
    let sum = eval.rescale(&sum).unwrap();
    assert_eq!(sum.level(), 2);
    world.check(&sum, &zip(&x, &y, |a, b| a * b + a * a));
    let plain = eval.encoder().encode_factor(&y, span(&y), 512, 3).unwrap();
    let product = eval.mul_plain_no_rescale(&cx, &plain).unwrap();
    world.check(&eval.rescale(&product).unwrap(), &zip(&x, &y, |a, b| a * b));
}

#[test]
fn operands_are_aligned_in_level_and_scale() {
    let world = World::new(10, 5, KeyLevels::default().multiply(5));
    let eval = world.evaluator();
    let (x, y) = (world.reals(512), world.reals(512));
    let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y).reinterpret_scale(0.7).unwrap());
    let y = map(&y, |b| 0.7 * b);
    let deep = eval.square(&eval.square(&cx).unwrap()).unwrap();
    let quartic = map(&x, |a| a.powi(4));
    assert!((deep.scale() / cy.scale() - 1.0).abs() > 0.1);
    for (a, b) in [(&deep, &cy), (&cy, &deep)] {
        let sum = eval.add(a, b).unwrap();
        // The higher operand pays for the difference of scales.
        assert_eq!(sum.level(), deep.level());
        world.check(&sum, &zip(&quartic, &y, |a, b| a + b));
    }
    let product = eval.mul(&deep, &cy).unwrap();
    world.check(&product, &zip(&quartic, &y, |a, b| a * b));
    // At one level it costs both of them one.
    let low = eval.drop_to_level(&cy, deep.level()).unwrap();
    let difference = eval.sub(&deep, &low).unwrap();
    assert_eq!(difference.level(), deep.level() - 1);
    world.check(&difference, &zip(&quartic, &y, |a, b| a - b));
    // A product that was not rescaled against one operand that was never multiplied.
    let raw = eval.mul_no_rescale(&cx, &cy).unwrap();
    world.check(&eval.add(&raw, &cx).unwrap(), &zip(&x, &y, |a, b| a * b + a));
    let matched = eval.match_scale(&cy, deep.scale(), deep.level()).unwrap();
    world.check(&matched, &y);
    assert!((matched.scale() / deep.scale() - 1.0).abs() < 2f64.powi(-40));
}

#[test]
fn combinations_share_one_rescaling() {
    let world = World::new(10, 5, KeyLevels::default().multiply(5));
    let eval = world.evaluator();
    let (x, y) = (world.reals(512), world.reals(512));
    let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
    let square = eval.square(&cx).unwrap();
    let sum = eval.linear_combination(&[(&square, 0.5), (&cy, -1.5)], 0.125, None).unwrap();
    assert_eq!((sum.level(), sum.scale()), (3, world.params.scale()));
    world.check(&sum, &zip(&x, &y, |a, b| 0.5 * a * a - 1.5 * b + 0.125));
    let products = [(&cx, &cy), (&cy, &cy)];
    let sum = eval.mul_add_many(&products, &[(&cx, 2.0)], -1.0, None).unwrap();
    assert_eq!(sum.level(), 4);
    world.check(&sum, &zip(&x, &y, |a, b| a * b + b * b + 2.0 * a - 1.0));
}

#[test]
fn rotations_of_every_kind() {
    let spec = KeyLevels::default().rotate([1, 5, -2, 8], 3).rotate([64, 128, 256], 1);
    let world = World::new(10, 3, spec);
    let eval = world.evaluator();
    for n in [512, 16, 2, 1] {
        let x = world.reals(n);
        let cx = world.encrypt_span(&x);
        for step in [0, 1, 5, -2, 8, 13, -1, 511, -513] {
            let result = eval.rotate(&cx, step).unwrap();
            world.check(&result, &rotated(&x, step));
            assert_eq!(result.scale(), cx.scale());
        }
        let steps = [1, 0, 5, 6, 8];
        let results = eval.rotate_many(&cx, &steps).unwrap();
        for (step, result) in steps.into_iter().zip(&results) {
            world.check(result, &rotated(&x, step));
        }
    }
    // Keys that live lower serve lower ciphertexts only.
    let x = world.reals(512);
    let low = world.encrypt_span_at(&x, 1);
    world.check(&eval.rotate(&low, 64 + 256).unwrap(), &rotated(&x, 320));
}

#[test]
fn powers_of_two_compose_to_every_rotation() {
    let params = common::params(7, 1);
    let world =
        World::of(params.clone(), KeyLevels::default().rotate_by_powers_of_two(&params, 1), 3);
    let eval = world.evaluator();
    let x = world.reals(64);
    let cx = world.encrypt_span(&x);
    for step in 0..64 {
        world.check(&eval.rotate(&cx, step).unwrap(), &rotated(&x, step));
    }
    let sum = eval.inner_sum(&cx, 64, 1).unwrap();
    world.check(&sum, &[x.iter().sum::<f64>(); 64]);
    let strided = eval.inner_sum(&cx, 4, 16).unwrap();
    let expected: Vec<f64> = (0..64).map(|j| (0..4).map(|k| x[(j + 16 * k) % 64]).sum()).collect();
    world.check(&strided, &expected);
}

#[test]
fn complex_slots() {
    let world = World::new(10, 3, KeyLevels::default().multiply(3).conjugate(3).rotate([1], 3));
    let eval = world.evaluator();
    for n in [1, 2, 8, 512] {
        let (x, y) = (world.complex(n), world.complex(n));
        let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
        let pairs = |f: &dyn Fn(Complex64, Complex64) -> Complex64| -> Vec<Complex64> {
            x.iter().zip(&y).map(|(&a, &b)| f(a, b)).collect()
        };
        world.check_complex(&eval.add(&cx, &cy).unwrap(), &pairs(&|a, b| a + b));
        world.check_complex(&eval.mul(&cx, &cy).unwrap(), &pairs(&|a, b| a * b));
        world.check_complex(&eval.square(&cx).unwrap(), &pairs(&|a, _| a * a));
        world.check_complex(&eval.conjugate(&cx).unwrap(), &pairs(&|a, _| a.conj()));
        world.check_complex(&eval.mul_i(&cx).unwrap(), &pairs(&|a, _| a * Complex64::I));
        world.check_complex(&eval.mul_values(&cx, &y).unwrap(), &pairs(&|a, b| a * b));
        world.check_complex(&eval.rotate(&cx, 1).unwrap(), &rotated(&x, 1));
        let c = Complex64::new(0.5, -1.5);
        world.check_complex(&eval.mul_complex(&cx, c).unwrap(), &pairs(&|a, _| a * c));
        let real = eval.real_part(&cx).unwrap();
        assert!(real.range().is_real());
        world.check(&real, &x.iter().map(|z| z.re).collect::<Vec<_>>());
    }
}

#[test]
fn short_vectors_repeat_under_long_ones_on_request() {
    let world = World::new(10, 3, KeyLevels::default().multiply(3));
    let eval = world.evaluator();
    let (x, y) = (world.reals(64), world.reals(3));
    let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
    let padded = [y[0], y[1], y[2], 0.0];
    let expected = |f: fn(f64, f64) -> f64| -> Vec<f64> {
        x.iter().enumerate().map(|(j, &a)| f(a, padded[j % 4])).collect()
    };
    assert!(
        refusal(&eval.add(&cx, &cy))
            .is(&ErrorKind::Length, "64 values against 3: need equally many")
    );
    let many = eval.broadcast(eval.with_len(cy.clone(), 4).unwrap(), 64).unwrap();
    world.check(&eval.add(&cx, &many).unwrap(), &expected(|a, b| a + b));
    world.check(&eval.mul(&many, &cx).unwrap(), &expected(|a, b| a * b));
    let twice = eval.with_len(eval.repeated(cy.clone(), 8).unwrap(), 8).unwrap();
    world.check(&twice, &[padded, padded].concat());
}

#[test]
fn ranges_follow_values_apart_from_padding() {
    let world = World::new(10, 3, KeyLevels::default().multiply(3).rotate([1], 3));
    let eval = world.evaluator();
    let range = Interval::real(2.0, 3.0).unwrap();
    let cx = world.encrypt_in(&[2.0, 3.0, 2.5], range, 3);
    assert_eq!(*cx.range(), range);
    let moved = eval.add_scalar(&cx, -2.5).unwrap();
    assert_eq!(*moved.range(), Interval::real(-0.5, 0.5).unwrap());
    assert_eq!(moved.meta().bounds.slots(), Interval::real(-2.5, 0.5).unwrap());
    let squared = eval.square(&moved).unwrap();
    assert_eq!(*squared.range(), Interval::real(0.0, 0.25).unwrap());
    let turned = eval.rotate(&moved, 1).unwrap();
    assert_eq!(*turned.range(), Interval::real(-2.5, 0.5).unwrap());
    let stated = turned.assume_range_with_padding(Interval::real(-0.5, 0.5).unwrap());
    assert_eq!(stated.range().bound(), 0.5);
}

/// Rank two: a module of two polynomials under masks, the same arithmetic.
#[test]
fn ciphertexts_of_higher_rank() {
    let chain = ModulusChain {
        degree: 1 << 9,
        first_bits: 55,
        levels: vec![LevelGroup::single(45, 3)],
        special: (50, 2),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    spec.lattice.rank = 2;
    let keys = KeyLevels::default().multiply(3).rotate([1, 2], 3).conjugate(3);
    let world = World::of(Params::new(spec).unwrap(), keys, 11);
    let eval = world.evaluator();
    let (x, y) = (world.reals(256), world.reals(256));
    let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
    let product = eval.mul(&cx, &cy).unwrap();
    assert_eq!(product.lattice().rank(), 2);
    world.check(&product, &zip(&x, &y, |a, b| a * b));
    world.check(&eval.square(&product).unwrap(), &zip(&x, &y, |a, b| (a * b).powi(2)));
    world.check(&eval.rotate(&cx, 3).unwrap(), &rotated(&x, 3));
    world.check(&eval.conjugate(&cx).unwrap(), &x);
    world.check(&eval.sub(&cx, &product).unwrap(), &zip(&x, &y, |a, b| a - a * b));
}

#[test]
fn everything_may_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Params>();
    shared::<Evaluator>();
    shared::<Ciphertext>();
    shared::<Plaintext>();
    shared::<EvaluationKeys>();
    shared::<LinearTransform>();
    shared::<Error>();
}
