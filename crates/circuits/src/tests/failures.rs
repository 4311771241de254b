//! Every way to go wrong has its own error, and errors say what was found, what is needed and what
//! to do.

use bellerophon_ckks::noise::Heaan;
use bellerophon_ckks::simulator::{SimCiphertext, Simulator};
use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Complex64, ComposedOps, Encoder, Error, ErrorKind,
    EvaluationKeys, Evaluator, Interval, KeyLevels, Params, ParamsSpec, PublicKey, Result,
    SecretKey, decrypt, encrypt, encrypt_public, encrypt_seeded,
};

use crate::approx::{Accuracy, Approximation, Function, Known, Sign};
use crate::chebyshev::Chebyshev;
use crate::circuit_ops::CircuitOps;
use crate::error;
use crate::polynomial::{Monomial, Polynomial};
use crate::tests::common;
use crate::tests::common::{World, mul_scalar_no_rescale, refusal, span};

#[test]
fn levels_run_out() {
    let world = World::new(10, 1, KeyLevels::default().multiply(1));
    let eval = world.evaluator();
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let low = eval.square(&world.encrypt_in(&[0.5], unit, 1)).unwrap();
    let plain = eval.encoder().encode(&[0.5], unit, world.params.scale(), 1).unwrap();
    let out = |result: bellerophon_ckks::Result<Ciphertext>| {
        assert!(
            refusal(&result).is(
                &ErrorKind::OutOfLevels { needed: 1, left: 0 },
                "needs 1 level(s), 0 left: encrypt at a"
            ),
            "{result:?}"
        );
    };
    out(eval.mul(&low, &low));
    out(eval.square(&low));
    out(eval.mul_scalar(&low, 0.5));
    out(eval.mul_values(&low, &[0.5]));
    out(eval.mul_plain(&low, &plain));
    out(eval.mul_complex(&low, 0.5.into()));
    out(eval.rescale(&low));
    out(eval.linear_combination(&[(&low, 1.0)], 0.0, None));
    let message = eval.square(&low).unwrap_err().to_string();
    assert!(message.contains("square: needs 1 level(s), 0 left"), "{message}");
}

#[test]
fn missing_keys_are_named() {
    let world = World::new(10, 2, KeyLevels::default().multiply(1).rotate([2, 4], 1));
    let eval = world.evaluator();
    let x = world.encrypt_span(&world.reals(512));
    let error = eval.square(&x).unwrap_err();
    let key = "contain no relinearization key that serves this vector: call `Needs::multiply`";
    assert!(error.is(&ErrorKind::MissingKey { need: "multiply" }, key), "{error}");
    let error = eval.conjugate(&x).unwrap_err();
    assert!(error.is(&ErrorKind::MissingKey { need: "conjugate" }, "contain no conjugation key"));
    // The keys live one level lower.
    let error = eval.rotate(&x, 2).unwrap_err();
    assert!(error.is(&ErrorKind::MissingKey { need: "rotate" }, "slots by 2"), "{error}");
    let low = eval.drop_to_level(&x, 1).unwrap();
    assert!(eval.rotate(&low, 2).is_ok() && eval.square(&low).is_ok());
    let error = eval.rotate(&low, 3).unwrap_err();
    let found = "rotation of 512 slots by 3: no key has this step, and the steps [2, 4]";
    assert!(error.is(&ErrorKind::MissingKey { need: "rotate" }, found), "{error}");
    assert!(eval.rotate_many(&low, &[2, 3]).is_err());
}

#[test]
fn messages_that_could_wrap_are_refused() {
    let world = World::new(10, 2, KeyLevels::default().multiply(2));
    let eval = world.evaluator();
    let capacity = world.params.capacity(1, world.params.scale());
    let wraps = |result: bellerophon_ckks::Result<Ciphertext>| {
        assert!(refusal(&result).is(&ErrorKind::Range, "may reach at most"), "{result:?}");
    };
    let x = world.encrypt_span_at(&[0.6 * capacity], 0);
    wraps(eval.add(&x, &x));
    wraps(eval.add_many(&[&x, &x]));
    wraps(eval.add_scalar(&x, 0.5 * capacity));
    wraps(eval.add_values(&x, &[0.5 * capacity]));
    wraps(eval.mul_integer(&x, 2));
    // The difference of equal ranges could be twice as large, whatever the values are.
    let wide = x
        .clone()
        .assume_range_with_padding(Interval::real(-capacity * 0.6, capacity * 0.6).unwrap());
    wraps(eval.sub(&wide, &wide));
    assert!(eval.sub(&x, &x).is_ok());
    // What fits above does not fit below.
    let wide = Interval::real(0.0, 2.0 * capacity).unwrap();
    let high = world.encrypt_in(&[2.0 * capacity], wide, 2);
    wraps(eval.drop_to_level(&high, 0));
    let at_one = eval.drop_to_level(&high, 1).unwrap();
    wraps(eval.mul_scalar(&at_one, 1.0));
    wraps(eval.square(&at_one));
    wraps(eval.mul_values(&at_one, &[1.0]));
    let error = eval.drop_to_level(&high, 0).unwrap_err().to_string();
    assert!(error.contains("level 0") && error.contains("scale 2^45.0"), "{error}");
    // Nearly the whole modulus is usable.
    let y = world.encrypt_span_at(&[0.49 * capacity, -0.49 * capacity], 0);
    let sum = eval.add(&y, &y).unwrap();
    world.check(&sum, &[0.98 * capacity, -0.98 * capacity]);
}

#[test]
fn unalignable_scales_are_refused_with_both_named() {
    let world = World::new(10, 1, KeyLevels::default());
    let eval = world.evaluator();
    let x = world.encrypt_span_at(&[0.5], 0);
    let y = x.clone().reinterpret_scale(0.9).unwrap();
    let error = eval.add(&x, &y).unwrap_err();
    let [left, right] = [&x, &y].map(|v| v.metadata().level_scale().to_string());
    let both = error.message().find(&left).zip(error.message().find(&right));
    assert!(both.is_some_and(|(left, right)| left < right), "{error}");
    assert_eq!(*error.kind(), ErrorKind::Scale);
    assert!(
        refusal(&eval.sub(&y, &x)).is(&ErrorKind::Scale, "and neither has a level left for the")
    );
    let plain = eval.encoder().encode(&[0.5], span(&[0.5]), 2f64.powi(40), 1).unwrap();
    assert!(
        refusal(&eval.add_plain(&x, &plain))
            .is(&ErrorKind::Scale, "and neither has a level left for the")
    );
    assert!(
        refusal(&eval.match_scale(&x, y.scale(), 0))
            .is(&ErrorKind::Scale, "the vector has another scale than the one")
    );
    assert!(
        refusal(&eval.match_scale(&x, y.scale(), 1))
            .is(&ErrorKind::Level, "choose a lower level, or take parameters")
    );
    assert!(
        refusal(&eval.drop_to_level(&x, 1))
            .is(&ErrorKind::Level, "level 1 was requested, and the highest one")
    );
    let high = world.encrypt_span(&[0.5]);
    let last = world.encrypt_span_at(&[0.5], 1);
    let products = [(&last, &last)];
    let mismatch = eval.mul_add_many(&products, &[], 0.0, Some(1e9));
    assert!(refusal(&mismatch).is(&ErrorKind::Scale, "and neither has a level left for the"));
    for bad in [0.0, -2.0, f64::NAN, f64::MIN_POSITIVE] {
        assert!(
            refusal(&x.clone().reinterpret_scale(bad))
                .is(&ErrorKind::Scale, "need a finite number above zero; the")
        );
    }
    assert!(
        refusal(&eval.match_scale(&high, -1.0, 0))
            .is(&ErrorKind::Scale, "need a finite number above zero; the")
    );
}

#[test]
fn scales_near_one_are_told_apart() {
    let world = World::new(10, 1, KeyLevels::default());
    let x = world.encrypt_span_at(&[0.5], 0).reinterpret_scale(world.params.scale()).unwrap();
    let y = x.clone().reinterpret_scale(0.6).unwrap();
    assert_eq!(x.scale(), 1.0);
    let sum = world.evaluator().add(&x, &y);
    assert!(refusal(&sum).is(&ErrorKind::Scale, "and neither has a level left for the"), "{sum:?}");
}

/// Two scales that are printed alike come with what tells them apart.
#[test]
fn no_message_says_that_a_number_differs_from_itself() {
    let world = World::new(10, 1, KeyLevels::default());
    let x = world.encrypt_span_at(&[0.5], 0);
    let y = x.clone().reinterpret_scale(1.0 + 2f64.powi(-36)).unwrap();
    let error = world.evaluator().add(&x, &y).unwrap_err();
    let [left, right] = [&x, &y].map(|v| v.metadata().level_scale().to_string());
    assert_eq!(left, right);
    assert!(error.is(&ErrorKind::Scale, "(their quotient is 1 +1.5e-11)"), "{error}");
}

#[test]
fn terms_without_bits_for_constants_are_refused() {
    let world = World::new(10, 1, KeyLevels::default());
    let (eval, scale) = (world.evaluator(), world.params.scale());
    let unscaled = mul_scalar_no_rescale(&eval, &world.encrypt_span(&[0.5]), 1.0, scale).unwrap();
    let sum = eval.linear_combination(&[(&unscaled, 0.3)], 0.0, None);
    assert!(
        refusal(&sum).is(&ErrorKind::Scale, "has another scale than the one needed ("),
        "{sum:?}"
    );
    let fresh = world.encrypt_span(&[0.5]);
    let sum = eval.dot_values(&[&fresh, &unscaled], &[vec![0.5], vec![0.5]]).unwrap_err();
    assert!(sum.to_string().contains("not rescaled, `rescale` it first"), "{sum}");
}

#[test]
fn other_keys_and_other_parameters_are_refused() {
    let world = World::new(10, 1, KeyLevels::default().multiply(1).rotate([1], 1).conjugate(1));
    let other = World::of(world.params.clone(), KeyLevels::default(), 2);
    let eval = world.evaluator();
    let (x, foreign) = (world.encrypt_span(&[0.5]), other.encrypt_span(&[0.5]));
    let plain = eval.encoder().encode(&[0.5], span(&[0.5]), world.params.scale(), 2).unwrap();
    for result in [
        eval.add(&x, &foreign),
        eval.sub(&foreign, &x),
        eval.mul(&x, &foreign),
        eval.neg(&foreign),
        eval.square(&foreign),
        eval.rotate(&foreign, 1),
        eval.conjugate(&foreign),
        eval.rescale(&foreign),
        eval.mul_scalar(&foreign, 1.0),
        eval.add_scalar(&foreign, 1.0),
        eval.mul_plain(&foreign, &plain),
        eval.add_plain(&foreign, &plain),
        eval.mul_integer(&foreign, 2),
        eval.mul_i(&foreign),
        eval.drop_to_level(&foreign, 0),
    ] {
        let error = result.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::KeyMismatch, "{error}");
    }
    let error = decrypt(&world.params, &foreign, &world.secret).unwrap_err();
    assert!(error.to_string().contains("key"), "{error}");

    let strange = World::of(common::params(9, 1), KeyLevels::default(), 3);
    let y = strange.encrypt_span(&[0.5]);
    let strange_plain = Encoder::new(&strange.params)
        .encode(&[0.5], span(&[0.5]), world.params.scale(), 2)
        .unwrap();
    let rng = &mut *world.rng.borrow_mut();
    for result in [
        eval.add(&x, &y),
        eval.mul(&y, &x),
        eval.mul_plain(&x, &strange_plain),
        eval.add_plain(&x, &strange_plain),
        eval.trivial(&strange_plain),
        encrypt(&world.params, &strange_plain, &world.secret, rng),
        encrypt(&world.params, &plain, &strange.secret, rng),
    ] {
        assert!(
            refusal(&result)
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set"),
            "{result:?}"
        );
    }
    assert!(decrypt(&world.params, &y, &strange.secret).is_err());
    assert!(Evaluator::new(&world.params, &strange.keys).is_err());
    let keys = EvaluationKeys::generate(&world.params, &strange.secret, &KeyLevels::default(), rng);
    assert!(
        refusal(&keys).is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let spec = KeyLevels::default().rotate([1], usize::MAX);
    let keys = EvaluationKeys::generate(&world.params, &world.secret, &spec, rng);
    assert!(refusal(&keys).is(&ErrorKind::Level, "choose a lower level, or take parameters"));
    let spec = KeyLevels::default().multiply(7);
    let keys = EvaluationKeys::generate(&world.params, &world.secret, &spec, rng);
    assert!(refusal(&keys).is(
        &ErrorKind::Level,
        "level 7 was requested, and the highest one here is 1: choose a lower level, or"
    ));
    let mut mixed = EvaluationKeys::none(&world.params, other.secret.id());
    let galois = world.keys.galois_keys().iter().next().unwrap().clone();
    assert!(
        refusal(&mixed.insert_galois(galois))
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
}

#[test]
fn bad_constants_and_counts_are_refused() {
    let world = World::new(10, 2, KeyLevels::default());
    let eval = world.evaluator();
    let x = world.encrypt_span(&[0.5, 0.25, 0.125]);
    for bad in [f64::NAN, f64::INFINITY] {
        let turned = Complex64::new(0.0, bad);
        for refused in [
            eval.mul_scalar(&x, bad),
            eval.add_scalar(&x, bad),
            eval.mul_complex(&x, turned),
            eval.move_padding(&x, bad),
        ] {
            assert_eq!(*refusal(&refused).kind(), ErrorKind::NotFinite);
        }
        assert!(
            refusal(&eval.add_values(&x, &[0.0, bad]))
                .is(&ErrorKind::NotFinite, "the value at position 1 of 2 is NaN or")
        );
        assert!(
            refusal(&eval.mul_values(&x, &[bad])).is(&ErrorKind::NotFinite, "at position 0 of")
        );
    }
    assert!(
        refusal(&eval.add_values::<f64>(&x, &[]))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    assert!(matches!(
        refusal(&eval.mul_values(&x, &[0.0; 600])).kind(),
        ErrorKind::TooManyValues { .. }
    ));
    assert!(
        refusal(&eval.add_many::<Ciphertext>(&[]))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    assert!(
        refusal(&eval.linear_combination(&[], 1.0, None))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    assert!(
        refusal(&eval.with_len(x.clone(), 0))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    assert!(matches!(
        refusal(&eval.with_len(x.clone(), 5)).kind(),
        ErrorKind::TooManyValues { most: 4, .. }
    ));
    for bad in [0, 2, 6, 1024] {
        assert!(refusal(&x.clone().repeated(bad)).is(&ErrorKind::Shape, "slots: need"));
    }
    for (range, word) in [
        (Interval::real(2.0, 1.0), "the lower end first"),
        (Interval::real(f64::NAN, 1.0), "finite ends"),
        (Interval::complex(f64::NAN), "radius NaN"),
        (Interval::complex(-1.0), "radius -1.0"),
    ] {
        let text = range.unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
    }
    let slots = x.meta().slots;
    for (start, end) in [(3, 1), (2, slots + 1)] {
        let refused = eval.mask(&x, start..end);
        assert_eq!(refusal(&refused).message(), error::slot_range(start, end, slots).message());
    }
    let refused = eval.mask_slots(&x, &[0, usize::MAX]);
    assert_eq!(refusal(&refused).message(), error::position("slots", usize::MAX, slots).message());
    for refused in [eval.inner_sum(&x, 0, 1), eval.replicate(&x, 5, 1)] {
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("to add up: need 1 to 4"), "{text}");
    }
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = x.clone().assume_noise(bad);
        let text = refused.unwrap_err().to_string();
        assert!(text.contains(&format!("standard deviation of {bad:?}")), "{text}");
    }
}

#[test]
fn assembled_ciphertexts_are_checked() {
    let world = World::new(10, 2, KeyLevels::default());
    let (inner, meta) = world.encrypt_span(&[0.5, 0.25, 0.125]).into_parts();
    let assemble = |meta| Ciphertext::from_parts(&world.params, inner.clone(), meta);
    assert_eq!(assemble(meta).unwrap().into_parts(), (inner.clone(), meta));
    let huge = Bounds::all(Interval::real(0.0, 1e60).unwrap());
    assert!(
        refusal(&assemble(CiphertextMeta { scale: 0.0, ..meta }))
            .is(&ErrorKind::Scale, "need a finite number above zero; the")
    );
    assert!(
        refusal(&assemble(CiphertextMeta { slots: 3, ..meta }))
            .is(&ErrorKind::Shape, "slots: need")
    );
    assert!(matches!(
        refusal(&assemble(CiphertextMeta { len: 5, ..meta })).kind(),
        ErrorKind::TooManyValues { .. }
    ));
    assert!(
        refusal(&assemble(CiphertextMeta { len: 0, ..meta }))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    assert!(
        refusal(&assemble(CiphertextMeta { bounds: huge, ..meta }))
            .is(&ErrorKind::Range, "may reach at most")
    );
    let other = common::params(9, 2);
    let strange = Ciphertext::from_parts(&other, inner.clone(), meta);
    assert!(
        refusal(&strange)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
}

#[test]
fn parameters_are_checked() {
    let spec = ParamsSpec::w1().unwrap();
    for log_scale in [0, 9, 101] {
        let refused = Params::new(ParamsSpec { log_scale, ..spec.clone() });
        assert!(refusal(&refused).is(&ErrorKind::Parameters, "parameters"));
    }
    let mut weak = spec.clone();
    weak.lattice.degree /= 2;
    let error = Params::new(weak).unwrap_err();
    assert!(error.is(&ErrorKind::Insecure, "bits; take fewer or smaller primes, a"), "{error}");
    let params = Params::new(spec).unwrap();
    assert!(params.lattice().security_bits() >= 128.0);
    assert_eq!((params.limbs(), params.max_level(), params.max_slots()), (14, 13, 1 << 14));
    for step in [0, 1, 7, 1 << 13, (1 << 14) - 1] {
        let exponent = params.rotation_exponent(step);
        assert_eq!(params.rotation_step(exponent), Some(step as usize));
    }
    assert_eq!(params.rotation_step(params.conjugation_exponent()), None);
    assert!(format!("{params:?}").contains("degree: 32768"));
}

#[test]
fn the_three_ways_to_encrypt_agree() {
    let world = World::new(10, 2, KeyLevels::default());
    let x = world.reals(300);
    let plain = Encoder::new(&world.params).encode(&x, span(&x), world.params.scale(), 2).unwrap();
    let rng = &mut *world.rng.borrow_mut();
    let public = PublicKey::generate(&world.secret, rng);
    let seeded = encrypt_seeded(&world.params, &plain, &world.secret, rng).unwrap();
    let by_seed = seeded.expand(&world.params).unwrap();
    let by_public = encrypt_public(&world.params, &plain, &public, rng).unwrap();
    let by_secret = encrypt(&world.params, &plain, &world.secret, rng).unwrap();
    for ct in [by_seed, by_public, by_secret] {
        assert_eq!((ct.level(), ct.len(), ct.meta().slots), (1, 300, 512));
        world.check(&ct, &x);
    }
    let trivial = world.evaluator().trivial(&plain).unwrap();
    world.check(&trivial, &x);
    let other = SecretKey::generate(world.params.lattice(), rng).unwrap();
    assert!(decrypt(&world.params, &trivial, &other).is_err());
}

/// What comes of every operation on `x`, a vector of a longer chain than that of `a`.
fn every_operation<A: CkksOps>(
    a: &A,
    own: &A::Ciphertext,
    x: &A::Ciphertext,
) -> Vec<Result<A::Ciphertext>> {
    let line = Polynomial::new(Chebyshev::interpolate(|t| t, -1.0, 1.0, 1));
    let cube = Polynomial::new(Chebyshev::interpolate(|t| t * t * t, -3.0, 3.0, 3));
    let power = Monomial::new(&[0.0, 0.0, 1.0]).unwrap();
    let sign = Sign::of_degrees(2.0, 0.25, &[3, 3]).unwrap();
    let mut results = vec![
        a.add_values(x, &[0.5; 2]),
        a.mul_values(x, &[0.5; 2]),
        a.mul_values_to(x, &[0.5; 2], 1e9),
        a.mul_scalar(x, 0.5),
        a.mul_complex(x, 0.5.into()),
        a.mul_integer(x, 2),
        a.mul(own, x),
        a.square(x),
        a.rescale(x),
        a.mul_add_many(&[(x, own)], &[], 0.0, None),
        a.linear_combination(&[(own, 1.0), (x, 1.0)], 0.0, None),
        a.dot(&[own], &[x]),
        a.dot_values(&[x], &[vec![0.5; 2]]),
        a.sum_of_rotations(&[(x, &[0])]),
        a.inner_sum(x, 2, 1),
        a.mask(x, 0..1),
        a.replicate_slot(x, 0),
        a.polynomial(x, &line, None),
        a.polynomial(x, &cube, None),
        a.monomial(x, &power, None),
        a.polynomials(x, &[(&line, None), (&line, None)]).map(|_| x.clone()),
        a.sign(x, &sign),
        a.abs(x, &sign),
        a.greater(own, x, &sign),
        a.relu(x, &sign),
        a.function(x, &Function::from(Known::Exp), Accuracy::bits(6.0)),
    ];
    for (f, lo) in [
        (Function::from(Known::Inverse), 0.01),
        (Function::from(Known::Sqrt), 0.01),
        (Function::from(Known::Exp), -9.0),
        (Function::from(Known::Sigmoid), -1.0),
    ] {
        let x = a.with_range(x.clone(), Interval::real(0.25, 0.5).unwrap());
        results.push(a.apply(&x, &Approximation::new(&f, lo, 0.75, Accuracy::bits(6.0)).unwrap()));
    }
    results
}

/// Vectors of a larger ring and a longer chain are refused by every operation.
#[test]
fn vectors_of_a_longer_chain_are_refused() {
    let world = World::new(9, 2, KeyLevels::default().multiply(2).rotate([1], 2).conjugate(2));
    let longer = World::of(common::params(10, 9), KeyLevels::default().multiply(9), 3);
    let eval = world.evaluator();
    let (own, x) = (world.encrypt_span(&[0.5, 0.25]), longer.encrypt_span(&[0.5, 0.25]));
    let power = Monomial::new(&[0.0, 0.0, 1.0]).unwrap();
    let mut results = every_operation(&eval, &own, &x);
    results.extend([
        mul_scalar_no_rescale(&eval, &x, 0.5, 1e9),
        eval.mul_no_rescale(&own, &x),
        eval.square_no_rescale(&x),
        eval.mul_i(&x),
        eval.real_part(&x),
        eval.rotate_many(&x, &[0]).map(|mut all| all.remove(0)),
        eval.match_scale(&x, 1e9, 0),
        eval.drop_to_level(&x, 0),
        eval.monomials(&x, &[(&power, None)]).map(|mut all| all.remove(0)),
    ]);
    let foreign =
        |error: &Error| matches!(error.kind(), ErrorKind::ParamsMismatch | ErrorKind::Level);
    for (i, result) in results.into_iter().enumerate() {
        assert!(result.as_ref().is_err_and(foreign), "{i}: {result:?}");
    }
    let (simulator, theirs) = (Simulator::new(&world.params), Simulator::new(&longer.params));
    let own = simulator.encrypt(&[0.5, 0.25], span(&[0.5, 0.25]), 2).unwrap();
    let vector = theirs.encrypt(&[0.5, 0.25], span(&[0.5, 0.25]), 9).unwrap();
    // Plain vectors do not say whose they are: beside one of its own, a simulator takes them at the
    // levels that it has.
    for (i, result) in every_operation(&simulator, &own, &vector).into_iter().enumerate() {
        let fits = |result: &SimCiphertext| result.metadata().level < 2;
        assert!(result.is_err() || result.as_ref().is_ok_and(fits), "{i}: {result:?}");
    }
    // A report names what is known of it all the same.
    assert_eq!(x.metadata().estimate(&world.params, -20.0).levels, 9);
    let fresh = Heaan::fresh(&longer.params, 1.0);
    assert!(
        refusal(&fresh.mul(&world.params, &fresh))
            .is(&ErrorKind::Level, "choose a lower level, or take parameters")
    );
}
