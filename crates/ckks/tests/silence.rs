//! Neither errors nor `Debug` repeat plaintext values.

mod common;

use std::fmt::{Debug, Display};

use bellerophon_ckks::{
    Arithmetic, Complex64, Encoder, Interval, KeySpec,
    chebyshev::Chebyshev,
    diagonals::Diagonals,
    linear::{Hoisting, LinearOptions, LinearTransform},
    matrix::{Matrix, MatrixVector},
    polynomial::{Monomial, Polynomial},
    shadow::Shadow,
};
use common::{World, span};

/// Values with digits that nothing else has.
const SECRETS: [f64; 2] = [1234.56789, 987654.0];

/// The text has none of the digits of the secrets, wherever the point stands.
#[track_caller]
fn assert_silent(text: &str) {
    let digits = text.replace(['.', ',', '_'], "");
    assert!(!digits.contains("12345") && !digits.contains("98765"), "{text}");
}

#[track_caller]
fn silent(x: &impl Debug) {
    assert_silent(&format!("{x:?} {x:#?}"));
}

#[track_caller]
fn refused<T, E: Debug + Display>(result: Result<T, E>) {
    let error = result.err().expect("an error");
    assert_silent(&format!("{error} {error:?} {error:#?}"));
}

#[test]
fn errors_repeat_no_value() {
    let world = World::new(10, 2, KeySpec::new().multiply(2));
    let eval = world.evaluator();
    let encoder = Encoder::new(&world.params);
    let scale = world.params.scale();
    let x = world.encrypt(&[0.5, 0.25]).assume_range(Interval::real(-1.0, 1.0).unwrap());
    let range = Interval::real(-1e6, 1e6).unwrap();
    let disc = Interval::complex(1e6).unwrap();
    for secret in SECRETS {
        let beside = [secret, f64::NAN];
        refused(encoder.encode(&beside, range, scale, 1));
        refused(encoder.encode(&[Complex64::new(secret, f64::INFINITY)], disc, scale, 1));
        refused(encoder.encode(&[secret], Interval::real(-1.0, 1.0).unwrap(), scale, 1));
        refused(encoder.encode(&[secret], range, scale, 100));
        refused(encoder.encode(&[secret], range, -1.0, 1));
        refused(encoder.encode(&[secret; 2000], range, scale, 1));
        refused(encoder.encode_in(&[secret; 3], range, 2, scale, 1));
        // Beyond the modulus, and beyond 126 bits.
        refused(encoder.encode(&[secret], range, 1e15, 1));
        refused(encoder.encode(&[secret * 1e30], Interval::real(-1e38, 1e38).unwrap(), scale, 3));
        for factor in [secret * 1e30, secret * 1e300, f64::NAN] {
            refused(eval.mul_scalar(&x, factor));
            refused(eval.add_scalar(&x, factor));
            refused(eval.add_values(&x, &[secret, factor]));
            refused(eval.mul_values(&x, &[secret, factor]));
        }
        refused(Matrix::from_rows(&[beside.to_vec()]));
        refused(Matrix::from_rows(&[vec![secret], vec![secret; 2]]));
        refused(Monomial::new(&beside));
        let mut matrix = Diagonals::zero(2);
        matrix.add_diagonal(0, vec![Complex64::new(secret * 1e20, 0.0); 2]);
        for hoisting in [Hoisting::Single, Hoisting::Double] {
            let options = LinearOptions::at_level(1).encode_ahead(true).hoisting(hoisting);
            refused(LinearTransform::new(&world.params, &matrix, options));
        }
    }
}

#[test]
fn debug_repeats_no_value() {
    let world = World::new(10, 2, KeySpec::new());
    let params = &world.params;
    for secret in SECRETS {
        let mut matrix = Diagonals::zero(2);
        matrix.add_diagonal(1, vec![Complex64::new(secret, 0.0); 2]);
        silent(&matrix);
        for hoisting in [Hoisting::Single, Hoisting::Double] {
            for ahead in [false, true] {
                let options = LinearOptions::at_level(1).encode_ahead(ahead).hoisting(hoisting);
                silent(&LinearTransform::new(params, &matrix, options).unwrap());
            }
        }
        let matrix = Matrix::from_rows(&[vec![secret, -secret]]).unwrap();
        silent(&matrix);
        silent(&MatrixVector::new(params, &matrix, LinearOptions::at_level(1)).unwrap());
        let polynomial = Chebyshev::new(-1.0, 1.0, vec![secret; 6]);
        silent(&polynomial);
        silent(&Polynomial::new(polynomial));
        silent(&Monomial::new(&[secret; 6]).unwrap());
        silent(&world.secret);
        let encoder = Encoder::new(params);
        silent(
            &encoder.encode(&[secret], span(&[secret]), params.scale(), params.limbs()).unwrap(),
        );
        let shadow = Shadow::new(params);
        let range = Interval::real(-1e6, 1e6).unwrap();
        let vector = shadow.encrypt(&[secret], span(&[secret]), 2).unwrap();
        silent(&shadow.assume_range(vector, range));
    }
}
