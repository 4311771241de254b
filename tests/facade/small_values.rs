//! Values far below 1: bootstraps take them, and what the noise covers is refused.

use bellerophon::{ErrorKind, prelude::*};
use bellerophon::{
    circuits::{diagonals::Diagonals, lintrans::LinearTransform, statistics::DataTable},
    ckks::{Complex64, Declaration},
};

use crate::common::{Party, encrypt, errors, party, refusal};

fn needs() -> Needs {
    Needs::new().multiply().bootstrap().rotate_any()
}

fn lost<T>(result: &bellerophon::Result<T>) -> bool {
    matches!(refusal(result).kind(), ErrorKind::Noise)
}

fn rounded<T>(result: &bellerophon::Result<T>) -> bool {
    refusal(result).is(&ErrorKind::Argument, "multiply by fewer and larger constants (by")
}

/// Few values of every small range pass through a bootstrap with the stated error. The ranges are
/// those of encryptions and of their powers: the error lies outside.
#[test]
fn bootstraps_take_small_values() {
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs(), 41);
    for len in [1, 3, 64, client.params().slots()] {
        for (log2, squares) in [(-17, 3), (-20, 1)] {
            let bound = 2f64.powi(log2);
            let mut x = client.encrypt(&vec![0.0; len], -bound..=bound).unwrap();
            for _ in 0..=squares {
                let log2 = x.range().bound().log2();
                let y = server.bootstrap(&x);
                let y = y.unwrap_or_else(|e| panic!("{len} values up to 2^{log2}: {e}"));
                let found = client.decrypt_noisy(&y).unwrap();
                let (_, worst) = errors(&found, std::iter::repeat_n(0.0, len));
                let allowed = 16.0 * y.metadata().noise().max(y.metadata().excess());
                assert!(worst < allowed, "{len} values up to 2^{log2}: {worst:e}, {allowed:e}");
                x = server.square(&x).unwrap();
            }
            // Noise beyond the range.
            assert!(x.metadata().noise() > x.range().bound());
        }
    }
    let zero = client.encrypt(&[0.0], 0.0..=0.0).unwrap();
    assert!(server.bootstrap(&zero).is_ok());
}

/// What is stated of the noise of a bootstrap is enough to declare it, for any number of values.
#[test]
fn published_bootstraps_have_the_stated_noise() {
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs(), 45);
    for len in [1, 16, 128, client.params().slots()] {
        let values: Vec<f64> = (0..len).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let y = server.bootstrap(&encrypt(&client, &values, -1.0..=1.0)).unwrap();
        let noise = y.metadata().noise();
        let declared = Declaration::from(-1.0..=1.0).with_noise(noise);
        let published = server.publish(&y, declared).unwrap_or_else(|e| panic!("{len}: {e}"));
        let found = client.decrypt(published.as_ref()).unwrap();
        let squares = found.iter().zip(&values).map(|(a, b)| (a - b).powi(2));
        let rms = (squares.sum::<f64>() / len as f64).sqrt();
        assert!(rms <= 1.5 * noise || len == 1 && rms <= 4.0 * noise, "{len}: {rms:e}, {noise:e}");
    }
}

/// An iteration that converges to zero.
#[test]
fn products_that_vanish_are_bootstrapped() {
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs(), 42);
    let server = server.with_auto_bootstrap().unwrap();
    let values = [0.5, -0.5, 0.25];
    let x = client.encrypt(&values, -0.5..=0.5).unwrap();
    let mut y = x.clone();
    for i in 0..60 {
        y = server.mul(&y, &x).unwrap_or_else(|e| panic!("product {i}: {e}"));
    }
    assert!(lost(&client.decrypt(&y)));
    let (_, worst) = errors(&client.decrypt_noisy(&y).unwrap(), values.map(|_| 0.0).into_iter());
    assert!(worst < 1e-5, "{worst:e}");
}

/// A range that a bootstrap does not take: both bounds, as they are, and what helps.
#[test]
fn values_above_a_bootstrap_are_told_both_bounds() {
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs(), 49);
    let x = client.encrypt(&[1.0, -1.0], -1.0..=1.0).unwrap();
    let refused = server.bootstrap(&server.mul_integer(&x, 3).unwrap());
    assert_eq!(*refusal(&refused).kind(), ErrorKind::Range);
    let text = refused.unwrap_err().to_string();
    let bounds = "a bootstrap takes values up to 1, and these may reach at most 3";
    for part in [bounds, "`assume_range`", "`keep_within`"] {
        assert!(text.starts_with("bootstrap: ") && text.contains(part), "{part:?}: {text}");
    }
}

#[test]
fn constants_that_rounding_destroys_are_refused() {
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs(), 43);
    let x = client.encrypt(&[0.5, -0.25], -1.0..=1.0).unwrap();
    assert!(rounded(&server.mul_scalar(&x, 1e-14)));
    assert!(rounded(&server.mul_scalar(&x, -1e-11)));
    assert!(rounded(&server.mul_complex(&x, Complex64::new(0.0, 1e-14))));
    assert!(rounded(&server.mul_values(&x, &[1e-14, 2e-14])));
    assert!(rounded(&server.dot_values(&[&x, &x], &[vec![1e-14; 2], vec![0.0; 2]])));
    assert!(rounded(&server.linear_combination(&[(&x, 1e-14), (&x, 1e-15)], 0.0, None)));
    let mut tiny = Diagonals::zero(2);
    tiny.add_diagonal(1, vec![Complex64::new(1e-14, 0.0)]);
    let tiny = LinearTransform::new(client.params().ckks(), &tiny, x.level(), Default::default());
    assert!(
        tiny.unwrap_err().is(&ErrorKind::Argument, "multiply by fewer and larger constants (by")
    );
    // Zeros are exact, and small constants beside large ones lose no more than the noise.
    assert!(server.mul_scalar(&x, 0.0).is_ok());
    let sum = server.linear_combination(&[(&x, 1.0), (&x, 1e-14)], 0.0, None).unwrap();
    let (_, worst) = errors(&client.decrypt(&sum).unwrap(), [0.5, -0.25].into_iter());
    assert!(worst < 1e-9, "{worst:e}");
    // In two steps with room in between the product is right.
    let small = server.mul_scalar(&x, 1e-5).unwrap();
    let back = client.decrypt(&server.mul_scalar(&small, 1e5).unwrap()).unwrap();
    let (_, worst) = errors(&back, [0.5, -0.25].into_iter());
    assert!(worst < 1e-4, "{worst:e}");
}

#[test]
fn values_below_the_noise_are_refused() {
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs(), 44);
    assert!(lost(&client.encrypt(&[1e-14, 2e-14], 0.0..=1e-13)));
    assert!(lost(&client.encrypt_seeded(&[1e-14, 2e-14], 0.0..=1e-13)));
    assert!(lost(&client.public_key().unwrap().encrypt(&[1e-14], 0.0..=1e-13)));
    // The variance of prices near 1e-7: products that fall below the noise.
    let x = client.encrypt(&[1e-7, 2e-7], 0.0..=2e-7).unwrap();
    let square = server.square(&x).unwrap();
    assert!(lost(&client.decrypt(&square)));
    let found: Vec<f64> = client.decrypt_noisy(&square).unwrap();
    assert!(found.iter().all(|v| v.abs() < 1e-9), "{found:?}");
    // The remedy: larger units.
    let x = client.encrypt(&[1.0, 2.0], 0.0..=2.0).unwrap();
    let (_, worst) =
        errors(&client.decrypt(&server.square(&x).unwrap()).unwrap(), [1.0, 4.0].into_iter());
    assert!(worst < 1e-8, "{worst:e}");
    // What 1 hides: the values differ by less than the noise.
    let near = server.add_scalar(&server.mul_scalar(&square, 0.5).unwrap(), 1.0).unwrap();
    assert!(near.range().lo() == 1.0 && near.range().hi() < 1.0 + 1e-13);
    assert!(lost(&client.decrypt(&near)));
    assert!(client.decrypt_noisy::<f64>(&near).is_ok());
    // One point is no range: ones, and what a program computes from them.
    let one = client.encrypt(&[1.0; 3], 1.0..=1.0).unwrap();
    let tenth = server.mul_scalar(&one, 0.1).unwrap();
    let sum = server.add_many(&[&tenth, &tenth, &tenth]).unwrap();
    let sum = server.sub(&server.add(&sum, &one).unwrap(), &one).unwrap();
    let (_, worst) = errors(&client.decrypt(&sum).unwrap(), [0.3; 3].into_iter());
    assert!(worst < 1e-7, "{worst:e}");
    // A stated range includes the error.
    let stated = server.assume_range(&square, 0.0..=4e-14).unwrap();
    assert!(client.decrypt(&stated).is_ok());
}

/// Variances of prices near 1e-6 are below the noise; in larger units they are right.
#[test]
fn variances_of_small_prices_are_refused() {
    let table = DataTable::new(4, 2).unwrap();
    let needs = Needs::new().statistics(4, 2);
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs, 46);
    let rows = [[1.0, 2.0], [2.0, 1.0], [3.0, 2.0], [2.0, 3.0]];
    for (unit, small) in [(1e-6, true), (1.0, false)] {
        let rows: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().map(|v| v * unit).collect()).collect();
        let x = client.encrypt(&table.pack(&rows).unwrap(), 0.0..=4.0 * unit).unwrap();
        let variances = client.decrypt(&table.variances(&server, &x).unwrap());
        if small {
            assert!(lost(&variances), "{variances:?}");
            continue;
        }
        let (_, worst) = errors(&variances.unwrap()[..2], [0.5, 0.5].into_iter());
        assert!(worst < 1e-6, "{worst:e}");
    }
}

/// Results of functions far below the noise are refused at decryption.
#[test]
fn functions_with_tiny_results_are_refused() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 47);
    let x = client.encrypt(&[0.5, -0.25], -1.0..=1.0).unwrap();
    let y = server.map(&x, |v| 1e-12 * v);
    assert!(y.is_err() || lost(&client.decrypt(&y.unwrap())));
}

/// LWE values whose noise is larger than their range.
#[test]
fn lwe_values_below_the_noise_are_refused() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 48);
    let x = client.encrypt(&[1e-9, 2e-9], -1.0..=1.0).unwrap();
    let values = server.extract(&x, -1.0..=1.0).unwrap().within(0.0..=2e-9).unwrap();
    assert!(values.meta().noise.bound > 2e-9);
    let refused = client.decrypt_lwe(&values);
    assert!(
        refusal(&refused).is(&ErrorKind::Noise, "compute them in larger units, by tables"),
        "{refused:?}"
    );
    let values = server.extract(&x, -1.0..=1.0).unwrap().within(-1.0..=1.0).unwrap();
    assert!(client.decrypt_lwe(&values).is_ok());
}

#[test]
fn complex_values_are_complex() {
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs(), 45);
    let values = [Complex64::new(0.6, -0.8), Complex64::new(0.0, 0.5), Complex64::new(-1.0, 0.0)];
    let seeded = client.encrypt_seeded(&values, Disc(1.0)).unwrap();
    let provided = client.public_key().unwrap().encrypt(&values, Disc(1.0)).unwrap();
    let own = client.encrypt(&values, Disc(1.0)).unwrap();
    for x in [own, seeded.expand(client.params().ckks()).unwrap(), provided.into()] {
        let found = client.decrypt_complex(&server.square(&x).unwrap()).unwrap();
        assert!(found.iter().zip(values).all(|(z, v)| (z - v * v).norm() < 1e-6), "{found:?}");
        let refused = client.decrypt(&x);
        assert!(
            refusal(&refused).is(&ErrorKind::Complex, "the values may be complex: decrypt them as"),
            "{refused:?}"
        );
    }
    // Below the noise: the refusal names the method that returns them, for complex values too.
    let small = client.encrypt(&values.map(|v| 1e-7 * v), Disc(1e-7)).unwrap();
    let square = server.square(&small).unwrap();
    let refused = client.decrypt_complex(&square);
    assert!(refusal(&refused).is(&ErrorKind::Noise, "`decrypt_noisy` returns"), "{refused:?}");
    let found: Vec<Complex64> = client.decrypt_noisy(&square).unwrap();
    assert!(found.len() == 3 && found.iter().all(|z| z.norm() < 1e-9), "{found:?}");
    assert!(refusal(&client.decrypt_noisy::<f64>(&square)).is(&ErrorKind::Complex, "may be"));
    assert!(client.encrypt(&[Complex64::new(0.8, 0.8)], Disc(1.0)).is_err());
}
