//! Polynomials given by coefficients, and powers shared by several polynomials.

use crate::chebyshev::Chebyshev;
use crate::circuit_ops::CircuitOps;
use crate::polynomial::{Monomial, Polynomial};
use crate::tests::common::{World, refusal};
use bellerophon_ckks::{Complex64, ErrorKind, Interval, KeyLevels};

fn coefficients(degree: usize) -> Vec<f64> {
    (0..=degree).map(|k| (1.7 * k as f64 + 0.3).sin() / (1 + k) as f64).collect()
}

#[test]
fn real_coefficients_on_real_and_complex_slots() {
    let world = World::new(10, 5, KeyLevels::default().multiply(5));
    let eval = world.evaluator();
    let (x, z) = (world.reals(512), world.complex(512));
    let z: Vec<Complex64> = z.into_iter().map(|z| z * 0.7).collect();
    let (cx, cz) = (world.encrypt_span(&x), world.encrypt_span(&z));
    for degree in [0, 1, 2, 3, 5, 8, 15, 16, 31] {
        let p = Monomial::new(&coefficients(degree)).unwrap();
        let depth = ((degree + 1) as f64).log2().ceil() as usize;
        assert_eq!(p.levels(), depth);

        let y = eval.monomial(&cx, &p, None).unwrap();
        assert_eq!((y.level(), y.scale()), (cx.level() - depth, world.params.scale()));
        let expected: Vec<f64> = x.iter().map(|&x| p.eval(x.into()).re).collect();
        world.check(&y, &expected);
        let found: Vec<f64> = world.decrypt(&y);
        let square: f64 = found.iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).sum();
        let (rms, noise) = ((square / 512.0).sqrt(), y.metadata().noise());
        if degree > 1 {
            assert!(rms < 2.0 * noise && noise < 4.0 * rms, "degree {degree}: {rms:e}, {noise:e}");
        }

        let y = eval.monomial(&cz, &p, None).unwrap();
        let expected: Vec<Complex64> = z.iter().map(|&z| p.eval(z)).collect();
        world.check_complex(&y, &expected);
    }
}

#[test]
fn complex_coefficients() {
    let world = World::new(10, 4, KeyLevels::default().multiply(4));
    let eval = world.evaluator();
    let x = world.reals(512);
    let cx = world.encrypt_span(&x);
    for (p, len) in [(1, 1), (0, 2), (2, 9), (3, 15)] {
        // Purely imaginary ones, and mixed ones.
        let c: Vec<Complex64> = (0..=len)
            .map(|k| Complex64::new(if p == 1 { 0.0 } else { 0.3 }, 1.0 / (k + p) as f64))
            .map(|c| if c.is_finite() { c } else { Complex64::I })
            .collect();
        let p = Monomial::complex(&c).unwrap();
        let y = eval.monomial(&cx, &p, None).unwrap();
        assert_eq!(y.level(), cx.level() - p.levels());
        let expected: Vec<Complex64> = x.iter().map(|&x| p.eval(x.into())).collect();
        world.check_complex(&y, &expected);
    }
}

#[test]
fn large_arguments_without_a_level_for_the_domain() {
    // The least squares sigmoid of degree 7 on [-8, 8], in three levels instead of four.
    let c = [0.5, 1.73496, 0.0, -4.19407, 0.0, 5.43402, 0.0, -2.50739];
    let c: Vec<f64> = c.iter().enumerate().map(|(k, c)| c / 8f64.powi(k as i32)).collect();
    let p = Monomial::new(&c).unwrap();
    let world = World::new(10, 3, KeyLevels::default().multiply(3));
    let x: Vec<f64> = world.reals(512).iter().map(|x| 8.0 * x).collect();
    let y = world.evaluator().monomial(&world.encrypt_span(&x), &p, None).unwrap();
    assert_eq!(y.level(), 0);
    let expected: Vec<f64> = x.iter().map(|&x| p.eval(x.into()).re).collect();
    world.check(&y, &expected);
    assert!(y.range().lo() > -0.1 && y.range().hi() < 1.1);
    // Terms that would wrap although their sum would not are refused.
    let high = Monomial::new(&[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0]).unwrap();
    let wide = world.encrypt_span(&x).assume_range_with_padding(Interval::real(-9.0, 9.0).unwrap());
    let error = world.evaluator().monomial(&wide, &high, None).unwrap_err();
    assert!(error.is(&ErrorKind::Range, "may reach at most"), "{error}");
}

#[test]
fn shared_powers_give_the_same_results_once() {
    let world = World::new(9, 6, KeyLevels::default().multiply(6));
    let eval = world.evaluator();
    let x: Vec<f64> = world.reals(256).iter().map(|x| 3.0 * x).collect();
    let cx = world.encrypt_span(&x);
    let p = Polynomial::new(Chebyshev::interpolate(f64::exp, -3.0, 3.0, 15));
    let q = Polynomial::new(Chebyshev::interpolate(f64::sin, -3.0, 3.0, 11));
    let both = eval.polynomials(&cx, &[(&p, None), (&q, None)]).unwrap();
    for (y, p) in both.iter().zip([&p, &q]) {
        let alone = eval.polynomial(&cx, p, None).unwrap();
        assert_eq!(
            (y.level(), y.scale(), y.range()),
            (alone.level(), alone.scale(), alone.range())
        );
        assert!((y.metadata().noise() / alone.metadata().noise() - 1.0).abs() < 1e-9);
        world.check(y, &x.iter().map(|&x| p.eval(x)).collect::<Vec<f64>>());
    }

    let a = Monomial::new(&[1.0, 1.0, 0.5, 0.0, 0.01]).unwrap();
    let b = Monomial::new(&[0.0, 1.0, 0.0, -0.1, 0.0, 0.01]).unwrap();
    let scale = 0.5 * world.params.scale();
    let both = eval.monomials(&cx, &[(&a, None), (&b, Some(scale))]).unwrap();
    assert_eq!(both[0].scale(), world.params.scale());
    assert_eq!((both[1].scale(), both[1].level()), (scale, cx.level() - 3));
    for (y, p) in both.iter().zip([&a, &b]) {
        world.check(y, &x.iter().map(|&x| p.eval(x.into()).re).collect::<Vec<f64>>());
    }
    // What cannot share its powers is refused.
    let narrow = Polynomial::new(Chebyshev::interpolate(f64::exp, -3.5, 3.0, 7));
    let error = eval.polynomials(&cx, &[(&p, None), (&narrow, None)]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
    assert!(
        refusal(&eval.polynomials(&cx, &[]))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    assert!(
        refusal(&eval.monomials(&cx, &[]))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    let outside = cx.assume_range_with_padding(Interval::real(-4.0, 3.0).unwrap());
    let error = eval.polynomials(&outside, &[(&p, None)]).unwrap_err();
    assert!(error.is(&ErrorKind::Domain, "outside the domain ["), "{error}");
}
