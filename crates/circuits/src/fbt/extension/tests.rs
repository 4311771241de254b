//! Series of real functions against the figures that they are chosen for.

use super::*;
use crate::approx::Known;
use bellerophon_ckks::ErrorKind;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// `0.5 / x`, bounded like `1 / x` outside of zero.
fn half_inverse() -> Function {
    Function::analytic("0.5/x", |x| 0.5 / x, |e| (e.left() > 0.0).then(|| 0.5 / e.left()))
}

/// The largest difference at random points, ends and middle.
fn seen(f: &Function, series: &RealSeries) -> f64 {
    let Domain { lo, hi, .. } = series.domain;
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let random = (0..20_000).map(|_| lo + (hi - lo) * rng.random_range(0.0..1.0));
    // Denser at the ends, where the error is largest as a rule.
    let ends = (0..2000).map(|i| lo + (hi - lo) * 0.5 * (1.0 - (PI * f64::from(i) / 1999.0).cos()));
    let points = random.chain(ends).map(|x| x.clamp(lo, hi));
    points.map(|x| (series.eval(x) - f.value(x)).abs()).fold(0.0, f64::max)
}

/// Smooth functions with the largest magnitude that they reach.
fn smooth() -> Vec<(Function, f64, f64, f64)> {
    vec![
        (Function::from(Known::Sigmoid), -8.0, 8.0, 1.0),
        (Function::from(Known::Tanh), -4.0, 4.0, 1.0),
        (Function::from(Known::Exp), -8.0, 0.0, 1.0),
        (Function::from(Known::Exp), -4.0, 4.0, 55.0),
        (Function::from(Known::Sin), -8.0, 8.0, 1.0),
        (Function::from(Known::Gelu), -4.0, 4.0, 4.0),
        (Function::from(Known::Gelu), -8.0, 8.0, 8.0),
    ]
}

#[test]
fn smooth_functions_reach_their_figures() {
    for (f, lo, hi, size) in smooth() {
        for (degree, share, bits) in [(31, 0.5, 31.0), (31, 0.75, 34.0), (63, 0.75, 36.0)] {
            let series = RealSeries::of_degree(&f, lo, hi, share, degree).unwrap();
            let relative = series.error().value() / size;
            assert!(series.error().is_certified() && relative.log2() <= -bits, "{series}");
            let gain = series.amplification() / size;
            assert!(gain < 2.0, "{series}: amplification {gain}");
        }
    }
    for (degree, bits) in [(63, 11.0), (127, 15.0), (255, 20.0)] {
        let series = RealSeries::of_degree(&half_inverse(), 0.5, 100.0, 0.75, degree).unwrap();
        assert!(
            series.error().is_certified() && series.error().value().log2() <= -bits,
            "{series}"
        );
    }
}

#[test]
fn certificates_are_above_the_truth_and_near_it() {
    let others = [
        (half_inverse(), 0.5, 100.0, 1.0),
        (Function::from(Known::Sqrt), 0.01, 8.0, 3.0),
        (Function::from(Known::Ln), 0.5, 6.0, 2.0),
        (Function::from(Known::Sin), 1e6, 1e6 + 6.0, 1.0),
        (Function::lipschitz("relu", |x| x.max(0.0), 1.0), -8.0, 8.0, 8.0),
        (Function::lipschitz("hat", |x| 3.0 - (2.0 * x).abs(), 2.0), -1.0, 2.0, 3.0),
    ];
    for (f, lo, hi, size) in smooth().into_iter().chain(others) {
        for (degree, share) in [(7, 0.5), (15, 0.75), (31, 0.5), (63, 0.75), (127, 0.625)] {
            let series = RealSeries::of_degree(&f, lo, hi, share, degree).unwrap();
            let (seen, bound) = (seen(&f, &series), series.error().value());
            assert!(series.error().is_certified() && seen <= bound, "{series}: {seen:e}");
            // The certificate ends at about 2^-40 of the values, farther up beside a large offset.
            let floor = size * 2f64.powi(-39) + 2.0 * f64::EPSILON * lo.abs().max(hi.abs());
            assert!(bound < 4.0 * seen.max(floor), "{series}: {seen:e}");
        }
    }
}

#[test]
fn a_range_contains_the_function() {
    let names = [
        Function::from(Known::Sigmoid),
        Function::from(Known::Sin),
        Function::lipschitz("abs", f64::abs, 1.0),
    ];
    for f in names {
        let series = RealSeries::of_degree(&f, -2.0, 5.0, 0.75, 31).unwrap();
        let values = (0..=5000).map(|i| f.value(-2.0 + 7.0 * f64::from(i) / 5000.0));
        let (least, most) = extremes(&values.collect::<Vec<f64>>());
        let range = series.series.range;
        assert!(range.lo() <= least && most <= range.hi());
        assert!(least - range.lo() < 1e-3 && range.hi() - most < 1e-3, "{f:?} {range:?}");
    }
}

#[test]
fn functions_known_by_their_slope_or_values() {
    let value = |x: f64| 1.0 / (1.0 + (-x).exp());
    let by_slope = Function::lipschitz("sigmoid", value, 0.25);
    let series = RealSeries::for_error(&by_slope, -8.0, 8.0, 0.75, Accuracy::bits(15.0)).unwrap();
    assert!(series.error().is_certified() && series.error().value() < 2f64.powi(-15));
    // What the slope leaves open between samples: no series gets below.
    let error =
        RealSeries::for_error(&by_slope, -8.0, 8.0, 0.75, Accuracy::bits(24.0)).unwrap_err();
    let ErrorKind::Accuracy { log2_reached: Some(log2_reached) } = error.kind() else {
        panic!("{error}")
    };
    assert!((-17.0..-15.0).contains(log2_reached), "{log2_reached}");

    let by_values = Function::sampled("sigmoid", value);
    let series = RealSeries::for_error(&by_values, -8.0, 8.0, 0.75, Accuracy::bits(24.0)).unwrap();
    let ErrorBound::Measured(error) = series.error() else { panic!("{series}") };
    assert!(error <= 2f64.powi(-24) && error > 0.9 * seen(&by_values, &series));
    assert!(series.to_string().ends_with("measured"));
    assert!(crate::approx::Approximation::new(&by_values, -8.0, 8.0, Accuracy::bits(8.0)).is_err());
    // Singular at the end of the domain: no certificate, and none is claimed.
    let root = RealSeries::of_degree(&Function::from(Known::Sqrt), 0.0, 4.0, 0.75, 63).unwrap();
    assert!(!root.error().is_certified() && root.error().value() > 2f64.powi(-8));
}

#[test]
fn the_least_degree_reaches_an_error() {
    for (bits, degree) in [(10.0, 15), (20.0, 15), (30.0, 31), (36.0, 31), (39.5, 63)] {
        let series = RealSeries::for_error(
            &Function::from(Known::Sigmoid),
            -8.0,
            8.0,
            0.75,
            Accuracy::bits(bits),
        )
        .unwrap();
        assert!(series.error().value().log2() <= -bits);
        assert_eq!(series.series.degree(), degree, "{series}");
    }
    // Degree 127 reaches 2^-18 too, at a gain of 2^17 that no noise allows.
    let inverse = |bits: f64| {
        RealSeries::for_error(&half_inverse(), 0.5, 100.0, 0.75, Accuracy::bits(bits)).unwrap()
    };
    let (rough, middle, fine) = (inverse(15.0), inverse(18.0), inverse(24.0));
    assert_eq!((rough.series.degree(), middle.series.degree()), (127, 255));
    for series in [&rough, &middle] {
        let gain = series.amplification() + series.across.most;
        assert!(gain * NOISE <= series.error().value(), "{series}: gain {gain}");
    }
    // At the same degree a larger error takes less gain.
    assert!(middle.amplification() < fine.amplification());
    assert!(middle.across.most < fine.across.most);
}

#[test]
fn kinks_and_jumps_are_refused_with_reachable_errors() {
    let relu = Function::lipschitz("relu", |x| x.max(0.0), 1.0);
    let step = Function::sampled("step", |x| f64::from(x > 0.3));
    for (f, reach) in [(relu, -9.0..-7.0), (step, -2.0..0.0)] {
        let error = RealSeries::for_error(&f, -8.0, 8.0, 0.75, Accuracy::bits(20.0)).unwrap_err();
        let text = error.to_string();
        let ErrorKind::Accuracy { log2_reached: Some(log2_reached) } = error.kind() else {
            panic!("{error}")
        };
        assert!(text.contains(f.name()) && reach.contains(log2_reached), "{error}");
        assert!(
            text.contains("degree 255 reaches")
                && text.contains("1 kink(s) or jump(s)")
                && text.contains("error is 9.54e-7"),
            "{text}"
        );
        // What can be reached is reached.
        let reached = Accuracy::bits(-log2_reached - 0.1);
        assert!(RealSeries::for_error(&f, -8.0, 8.0, 0.75, reached).is_ok());
    }
}

#[test]
fn constants_odd_and_even_functions() {
    for f in [
        Function::lipschitz("7.5", |_| 7.5, 0.0),
        Function::sampled("7.5", |_| 7.5),
        Function::analytic("7.5", |_| 7.5, |_| Some(7.5)),
    ] {
        let series = RealSeries::for_error(&f, -3.0, 5.0, 0.5, Accuracy::bits(36.0)).unwrap();
        assert_eq!((series.series.degree(), series.eval(1.0)), (0, 7.5));
        assert_eq!((series.along.most, series.across.most), (0.0, 0.0));
        assert_eq!(series.amplification(), 0.0);
    }
    let zero = Function::lipschitz("zero", |_| 0.0, 0.0);
    assert_eq!(RealSeries::of_degree(&zero, 0.0, 1.0, 0.75, 0).unwrap().error().value(), 0.0);

    let odd = RealSeries::of_degree(&Function::from(Known::Sin), -4.0, 4.0, 0.75, 31).unwrap();
    assert!(odd.series.coefficients.iter().all(|a| a.re == 0.0));
    let even = RealSeries::of_degree(&Function::from(Known::Cos), -4.0, 4.0, 0.75, 31).unwrap();
    assert!(even.series.coefficients.iter().all(|a| a.im == 0.0));
}

#[test]
fn tiny_and_huge_domains() {
    for (lo, hi) in [(1.0, 1.0 + 1e-9), (-1e-200, 1e-200), (-1e100, 1e100), (1e90, 1e100)] {
        let width = hi - lo;
        let f = Function::lipschitz("line", move |x| 2.0 * ((x - lo) / width), 2.0 / width);
        let series = RealSeries::for_error(&f, lo, hi, 0.75, Accuracy::bits(15.0)).unwrap();
        assert!(seen(&f, &series) <= series.error().value(), "{series}");
    }
    let exp = RealSeries::for_error(
        &Function::from(Known::Exp),
        1.0,
        1.0 + 1e-9,
        0.75,
        Accuracy::bits(36.0),
    )
    .unwrap();
    assert!(exp.error().is_certified() && exp.series.degree() <= 15);
    let large = Function::lipschitz("large", |x| 1e200 * x, 1e200);
    let series = RealSeries::of_degree(&large, -1.0, 1.0, 0.75, 31).unwrap();
    assert!(series.error().value() < 1e196 && series.error().value() > 1e180);
}

#[test]
fn gains_are_those_of_the_series() {
    let series =
        RealSeries::of_degree(&Function::from(Known::Sigmoid), -8.0, 8.0, 0.75, 63).unwrap();
    // The slope 1/4 in the middle, per revolution.
    assert!((series.along.most / (0.25 * 16.0 / 0.75) - 1.0).abs() < 1e-3);
    let places = (0..=4000).map(|i| series.angle(-8.0 + 16.0 * f64::from(i) / 4000.0));
    let (mut most, mut sum) = (0.0f64, 0.0);
    for t in places {
        let gain = series.series.radial(t);
        most = most.max(gain.abs());
        sum += gain * gain / 4001.0;
    }
    assert!((series.across.most / most - 1.0).abs() < 1e-3);
    assert!((series.across.mean / sum.sqrt() - 1.0).abs() < 0.01);
    assert!(series.along.mean < series.along.most);
    let squares: f64 = series.series.coefficients[1..].iter().map(|a| a.norm_sqr()).sum();
    assert_eq!(series.amplification(), squares.sqrt());
}

/// No place of the domain exceeds the largest gains, which are near.
#[test]
fn largest_gains_are_bounds() {
    for (f, lo, hi, _) in smooth() {
        for degree in [7, 31, 63] {
            let series = RealSeries::of_degree(&f, lo, hi, 0.75, degree).unwrap();
            let (mut along, mut across) = (0.0f64, 0.0f64);
            for i in 0..=100_000 {
                let t = series.angle(lo + (hi - lo) * f64::from(i) / 1e5);
                along = along.max(series.series.derivative(t).abs());
                across = across.max(series.series.radial(t).abs());
            }
            for (seen, bound) in [(along, series.along.most), (across, series.across.most)] {
                assert!(seen <= bound && bound <= 1.1 * seen, "{series}: {seen:e} {bound:e}");
            }
        }
    }
}

#[test]
fn impossible_series_are_refused() {
    let sigmoid = Function::from(Known::Sigmoid);
    let refused = |f: &Function, lo: f64, hi: f64, share: f64, degree: usize| {
        RealSeries::of_degree(f, lo, hi, share, degree).unwrap_err()
    };
    for (lo, hi) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (-f64::MAX, f64::MAX)] {
        let error = refused(&sigmoid, lo, hi, 0.75, 31);
        assert!(error.is(&ErrorKind::Domain, "interval ["), "{error}");
    }
    for (share, degree) in [(0.0, 31), (1.0, 31), (-0.5, 31), (f64::NAN, 31), (0.75, 256)] {
        let error = refused(&sigmoid, -1.0, 1.0, share, degree);
        assert!(
            error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"),
            "{error}"
        );
    }
    for bits in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5000.0, -5000.0] {
        let error =
            RealSeries::for_error(&sigmoid, -1.0, 1.0, 0.75, Accuracy::bits(-bits)).unwrap_err();
        assert!(
            error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"),
            "{error}"
        );
    }
    // Values that are no numbers, infinite or too large; the error repeats none of them.
    let nowhere: [fn(f64) -> f64; 3] =
        [|x| (x - 0.9).sqrt(), |x| if x > 0.5 { f64::INFINITY } else { 1.0 }, |x| 1.2345e290 * x];
    for value in nowhere {
        for f in [Function::sampled("f", value), Function::lipschitz("f", value, 1.0)] {
            let error = refused(&f, -1.0, 1.0, 0.75, 31);
            assert!(
                error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"),
                "{error}"
            );
            assert!(error.to_string().contains("no value") && !error.to_string().contains("2345"));
        }
    }
    // A slope that does not hold, or is none.
    for slope in [0.5, -1.0, f64::NAN, f64::INFINITY] {
        let error = refused(&Function::lipschitz("line", |x| x, slope), -1.0, 1.0, 0.75, 31);
        assert!(error.to_string().contains("slope"), "{error}");
    }
}

#[test]
fn printing_shows_no_coefficient() {
    let f = Function::sampled("secret", |x| 1234.5 + 4321.5 * x);
    let series = RealSeries::of_degree(&f, 0.0, 1.0, 0.75, 7).unwrap();
    let text = format!("{series:?}");
    assert!(text.contains("secret") && !text.contains("1234") && !text.contains("4321"), "{text}");
}
