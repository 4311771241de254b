use bellerophon_ring::ErrorKind;

use super::*;
use crate::error::refusal;
use crate::{params::tests::insecure, testing::Setup};

fn setup() -> Setup {
    Setup::new(insecure(8, 64, false))
}

fn assert_close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (x, y) in got.iter().zip(expected) {
        assert!((x - y).abs() < 1e-6, "{got:?} {expected:?}");
    }
}

#[test]
fn linear_operations_are_those_of_the_reals() {
    let mut s = setup();
    let encoding = Encoding::new(1.0, 64.0).unwrap();
    let x = s.encrypt(&[-3.0, 0.5, 5.0], -3.0..=5.0, encoding);
    let y = s.encrypt(&[2.0, -1.0, 0.25], -1.0..=2.0, Encoding::new(-7.0, 64.0).unwrap());
    let open = |x: &LweVec| x.decrypt(&s.ring).unwrap();
    assert_close(&open(&x), &[-3.0, 0.5, 5.0]);
    let sum = x.add(&y).unwrap();
    assert_close(&open(&sum), &[-1.0, -0.5, 5.25]);
    assert_eq!((sum.meta().lo, sum.meta().hi), (-4.0, 7.0));
    assert_eq!(sum.meta().noise, x.meta().noise + y.meta().noise);
    let independent = x.add_independent(&y).unwrap();
    assert_close(&open(&independent), &[-1.0, -0.5, 5.25]);
    assert!((independent.variance() / (x.variance() + y.variance()) - 1.0).abs() < 1e-12);
    assert_eq!(x.sum().unwrap().meta().noise, x.meta().noise * 3.0);
    assert_eq!(x.times(-3).unwrap().meta().noise, x.meta().noise * 3.0);
    let difference = x.sub(&y).unwrap();
    assert_close(&open(&difference), &[-5.0, 1.5, 4.75]);
    assert_eq!((difference.meta().lo, difference.meta().hi), (-5.0, 6.0));
    assert_close(&open(&x.neg()), &[3.0, -0.5, -5.0]);
    assert_eq!((x.neg().meta().lo, x.neg().meta().hi), (-5.0, 3.0));
    let scaled = x.scale(-0.125).unwrap();
    assert_close(&open(&scaled), &[0.375, -0.0625, -0.625]);
    assert_eq!(
        (scaled.meta().lo, scaled.meta().hi, scaled.meta().encoding.width()),
        (-0.625, 0.375, 8.0)
    );
    assert_close(&open(&x.times(-3).unwrap()), &[9.0, -1.5, -15.0]);
    assert_close(&open(&x.add_constant(100.0).unwrap()), &[97.0, 100.5, 105.0]);
    assert_close(&open(&x.sum().unwrap()), &[2.5]);
    assert_close(&open(&x.select(&[2, 0, 2]).unwrap()), &[5.0, -3.0, 5.0]);
    let centred = x.centred();
    assert_eq!(centred.meta().encoding.center(), 1.0);
    assert_eq!(y.centred().meta().encoding.center(), 0.5);
    assert_close(&open(&y.centred()), &[2.0, -1.0, 0.25]);
    // Widths of 64 and 8 are aligned at 8.
    let mixed = scaled.add(&y).unwrap();
    assert_close(&open(&mixed), &[2.375, -1.0625, -0.375]);
    assert_eq!(mixed.meta().encoding.width(), 8.0);
    let all = LweVec::concat(&[y.clone(), scaled.clone()]).unwrap();
    assert_close(&open(&all), &[2.0, -1.0, 0.25, 0.375, -0.0625, -0.625]);
    assert_eq!((all.meta().lo, all.meta().hi), (-1.0, 2.0));
    let again = LweVec::concat(&all.singles()).unwrap();
    assert_close(&open(&again), &open(&all));
}

#[test]
fn wrapping_values_are_refused_and_fitting_ones_right() {
    let mut s = setup();
    let encoding = Encoding::new(0.0, 8.0).unwrap();
    let x = s.encrypt(&[-1.9, 1.9], -1.9..=1.9, encoding);
    let twice = x.add(&x).unwrap();
    assert_close(&twice.decrypt(&s.ring).unwrap(), &[-3.8, 3.8]);
    assert!(matches!(
        twice.add(&x),
        Err(e) if e.is(&ErrorKind::Range, "encode the inputs with headroom for more")
    ));
    assert!(
        refusal(&x.sub(&twice)).is(&ErrorKind::Range, "encode the inputs with headroom for more")
    );
    assert!(refusal(&x.times(3)).is(&ErrorKind::Range, "encode the inputs with headroom for more"));
    assert!(
        refusal(&x.select(&[0; 3]).unwrap().sum())
            .is(&ErrorKind::Range, "encode the inputs with headroom for more")
    );
    // Away from the centre only the width matters.
    let off = x.add_constant(1e3).unwrap();
    assert_close(&off.add(&off).unwrap().decrypt(&s.ring).unwrap(), &[1996.2, 2003.8]);
    let noise = Deviation::of_variance;
    let noisy = x.clone().with_noise(-1.9..=1.9, noise(0.3)).unwrap_err();
    assert!(noisy.is(&ErrorKind::Range, "encode the inputs with headroom for more"), "{noisy}");
    let tight = x.with_noise(-1.9..=1.9, noise(0.01)).unwrap();
    assert!(tight.add(&tight).is_err());
}

/// Constants and factors beyond the precision of `f64` shrink neither the bounds nor the noise.
#[test]
fn extreme_constants_and_factors_are_refused() {
    let mut s = setup();
    let x = s.encrypt(&[0.0, 1.0], 0.0..=1.0, Encoding::new(0.0, 8.0).unwrap());
    for constant in [1e17, -1e300, f64::MAX] {
        let error = x.add_constant(constant).unwrap_err();
        assert!(error.is(&ErrorKind::Range, "per period are too far from 0 for"), "{error}");
    }
    for constant in [f64::NAN, f64::INFINITY] {
        assert!(x.add_constant(constant).is_err());
    }
    let there_and_back = x.add_constant(1e8).unwrap().add_constant(-1e8).unwrap();
    assert!(there_and_back.meta().lo.abs() < 1e-7 && (there_and_back.meta().hi - 1.0).abs() < 1e-7);
    for factor in [1e170, 1e-170, -1e170, 1e308, 0.0, f64::NAN, f64::NEG_INFINITY] {
        let error = x.scale(factor).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Argument), "{error}");
    }
    let tiny = x.scale(1e-100).unwrap();
    assert_close(&tiny.scale(1e100).unwrap().decrypt(&s.ring).unwrap(), &[0.0, 1.0]);
    assert!(x.times(i64::MIN).is_err());
}

/// A value added to itself has twice the noise, not its square root.
#[test]
fn shared_noise_is_predicted() {
    let mut s = setup();
    let encoding = Encoding::new(0.0, 8.0).unwrap();
    let zeros = vec![0.0; 400];
    let mut encrypt = || s.encrypt_with(&zeros, 0.0..=0.0, encoding, 1e10);
    let (x, y) = (encrypt(), encrypt());
    let mean_square = |x: &LweVec| {
        let got = x.decrypt(&s.ring).unwrap();
        got.iter().map(|e| e * e).sum::<f64>() / got.len() as f64
    };
    let twice = x.add(&x).unwrap();
    let ratio = mean_square(&twice) / twice.variance();
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    // Noises of different encryptions.
    let both = x.add_independent(&y).unwrap();
    let ratio = mean_square(&both) / both.variance();
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
    let repeated = x.select(&[3; 50]).unwrap().sum().unwrap();
    let alone = mean_square(&x.select(&[3]).unwrap());
    assert!((mean_square(&repeated) / alone / 2500.0 - 1.0).abs() < 1e-3);
    assert!((repeated.meta().noise.bound / x.meta().noise.bound - 50.0).abs() < 1e-9);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let mut s = setup();
    let encoding = Encoding::new(0.0, 8.0).unwrap();
    let x = s.encrypt(&[1.0, 0.0], -1.0..=1.0, encoding);
    let short = x.select(&[0]).unwrap();
    assert!(refusal(&x.add(&short)).is(
        &ErrorKind::Length,
        "one operand has 2 value(s) and another one 1: take operands of one"
    ));
    let other = s.encrypt(&[1.0, 0.0], -1.0..=1.0, Encoding::new(0.0, 8.5).unwrap());
    assert!(
        refusal(&x.add(&other)).is(&ErrorKind::Scale, "cannot be aligned: use the same width for")
    );
    assert!(
        refusal(&LweVec::concat(&[x.clone(), other]))
            .is(&ErrorKind::Scale, "cannot be aligned: use the same width for")
    );
    s.key.0 += 1;
    let foreign = s.encrypt(&[1.0, 0.0], -1.0..=1.0, encoding);
    assert!(
        refusal(&x.sub(&foreign))
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    let refused = x.select(&[2]);
    assert!(
        refusal(&refused).is(&ErrorKind::Argument, "selection of the value at position 2 of 2")
    );
    assert!(refused.unwrap_err().to_string().contains("the value at position 2 of 2 (from 0)"));
    assert!(refusal(&x.select(&[])).is(&ErrorKind::Length, "no values; need at least one"));
    assert!(refusal(&LweVec::concat(&[])).is(&ErrorKind::Length, "no values; need at least one"));
    assert!(x.scale(0.0).is_err() && x.scale(f64::NAN).is_err());
    let new = |items, range, variance| {
        LweVec::new(&s.params, items, encoding, range, variance, s.key).unwrap_err()
    };
    let items = x.items().to_vec();
    assert!(
        new(items.clone(), 1.0..=0.0, 0.0)
            .is(&ErrorKind::Argument, "need finite ends, the lower end first, and")
    );
    assert!(
        new(items.clone(), 0.0..=1.0, f64::NAN)
            .is(&ErrorKind::Argument, "need finite ends, the lower end first, and")
    );
    assert!(new(vec![], 0.0..=1.0, 0.0).is(&ErrorKind::Length, "no values; need at least one"));
    let wrong = vec![Ciphertext::trivial(*s.params.modulus(), 64, 0)];
    assert!(
        new(wrong, 0.0..=1.0, 0.0)
            .is(&ErrorKind::ParamsMismatch, "is needed; switch the modulus first")
    );
    let (ring, rng) = (&s.ring, &mut s.rng);
    let outside = LweVec::encrypt(&s.params, ring, s.key, &[2.0], encoding, -1.0..=1.0, rng);
    assert!(refusal(&outside).is(&ErrorKind::Range, "the value at position 0 of"));
}
