//! Polynomials of ciphertexts against the same polynomials of `f64`.

use crate::chebyshev::Chebyshev;
use crate::circuit_ops::CircuitOps;
use crate::polynomial::Polynomial;
use crate::tests::common::{World, max_error};
use bellerophon_ckks::{Bounds, CiphertextMeta, CkksOps, ErrorKind, Interval, KeyLevels};

fn dense(lo: f64, hi: f64, degree: usize) -> Polynomial {
    let c = (0..=degree).map(|k| (1.7 * k as f64 + 0.3).sin() / (1 + k) as f64).collect();
    Polynomial::new(Chebyshev::new(lo, hi, c))
}

#[test]
fn every_degree_in_its_depth_with_its_noise() {
    let world = World::new(10, 6, KeyLevels::default().multiply(6));
    let eval = world.evaluator();
    let x = world.reals(512);
    let cx = world.encrypt_span(&x);
    for degree in (0..=17).chain([30, 31, 32, 47, 63]) {
        let p = dense(-1.0, 1.0, degree);
        let expected: Vec<f64> = x.iter().map(|&x| p.chebyshev.eval(x)).collect();
        let y = eval.polynomial(&cx, &p, None).unwrap();
        assert_eq!(y.scale(), world.params.scale());
        let depth = ((degree + 1) as f64).log2().ceil() as usize;
        assert_eq!(y.level(), cx.level() - depth, "degree {degree}");
        world.check(&y, &expected);
        // The prediction is not idle either: the mean square error is near it.
        let found: Vec<f64> = world.decrypt(&y);
        let square: f64 = found.iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).sum();
        let rms = (square / 512.0).sqrt();
        if degree > 1 {
            let noise = y.metadata().noise();
            assert!(rms < 2.0 * noise && noise < 4.0 * rms, "degree {degree}: {rms:e}, {noise:e}");
        }
    }
}

#[test]
fn functions_over_any_domain() {
    let world = World::new(10, 6, KeyLevels::default().multiply(6));
    let eval = world.evaluator();
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let p = Polynomial::new(Chebyshev::interpolate(sigmoid, -8.0, 8.0, 31));
    let x: Vec<f64> = world.reals(300).iter().map(|x| 8.0 * x).collect();
    let y = eval.polynomial(&world.encrypt_span(&x), &p, None).unwrap();
    assert_eq!(y.level(), 0);
    let certified = p.chebyshev.certified_error(sigmoid, 0.25, 1 << 16);
    let expected: Vec<f64> = x.iter().map(|&x| sigmoid(x)).collect();
    assert!(max_error(&world.decrypt(&y), &expected) < certified + 1e-6);

    // Padding outside the domain is moved into it where it is narrow, and cleared at one level
    // where it is not.
    let log = Polynomial::new(Chebyshev::interpolate(f64::ln, 1.0, 4.0, 15));
    let x: Vec<f64> = world.reals(300).iter().map(|x| 2.5 + 1.4 * x).collect();
    let cx = world.encrypt_span(&x);
    let expected: Vec<f64> = x.iter().map(|x| x.ln()).collect();
    let meta = *cx.meta();
    let padding = Interval::real(-9.0, 9.0).unwrap();
    let wide = CiphertextMeta { bounds: Bounds { padding, ..meta.bounds }, ..meta };
    let wide = eval.with_metadata(cx.clone(), wide);
    for (x, cleared) in [(&cx, 0), (&wide, 1)] {
        let y = eval.polynomial(x, &log, None).unwrap();
        assert_eq!(y.level(), cx.level() - log.levels() - cleared);
        assert!(max_error(&world.decrypt(&y), &expected) < 1e-6);
    }
    let low = eval.drop_to_level(&wide, log.levels()).unwrap();
    let error = eval.polynomial(&low, &log, None).unwrap_err();
    assert!(error.is(&ErrorKind::Length, "slots may be nonzero, clearing it takes one"), "{error}");
    let filled: Vec<f64> = x.iter().copied().chain(std::iter::repeat_n(2.0, 212)).collect();
    let y = eval.polynomial(&world.encrypt_span(&filled), &log, None).unwrap();
    let expected: Vec<f64> = filled.iter().map(|x| x.ln()).collect();
    assert!(max_error(&world.decrypt(&y), &expected) < 1e-6);
    assert!(y.range().lo() > -0.2 && y.range().hi() < 1.6);
}

#[test]
fn scales_far_from_the_primes_are_matched_first() {
    let world = World::new(9, 5, KeyLevels::default().multiply(5));
    let eval = world.evaluator();
    let x = world.reals(64);
    let cx = world.encrypt_span(&x);
    let low = eval.match_scale(&cx, 2f64.powi(40), 4).unwrap();
    let p = dense(-1.0, 1.0, 7);
    let expected: Vec<f64> = x.iter().map(|&x| p.chebyshev.eval(x)).collect();
    let y = eval.polynomial(&low, &p, Some(2f64.powi(43))).unwrap();
    assert_eq!((y.level(), y.scale()), (0, 2f64.powi(43)));
    world.check(&y, &expected);
}

#[test]
fn what_cannot_be_evaluated_is_refused() {
    let world = World::new(9, 3, KeyLevels::default().multiply(2));
    let eval = world.evaluator();
    let x = world.encrypt_span(&[0.5, -0.5]);
    let p = dense(-1.0, 1.0, 7);
    let error = eval.polynomial(&x, &p, None).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::MissingKey { .. }), "{error}");
    let low = eval.drop_to_level(&x, 2).unwrap();
    let error = eval.polynomial(&low, &p, None).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OutOfLevels { needed: 3 | 4, left: 2 }), "{error}");
    let wide = x.clone().assume_range_with_padding(Interval::real(-2.0, 1.0).unwrap());
    let error = eval.polynomial(&wide, &p, None).unwrap_err();
    assert!(error.is(&ErrorKind::Domain, "the values may lie in ["), "{error}");
    let complex = x.assume_range_with_padding(Interval::complex(0.5).unwrap());
    let error = eval.polynomial(&complex, &p, None).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Domain), "{error}");
}
