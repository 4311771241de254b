//! Neither errors nor `Debug` repeat plaintext values.

use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::fbt::EncoderExt;
use bellerophon_circuits::fbt::PublishExt;
use bellerophon_testing::silence::{SECRETS, refused, silent};

use crate::common::{World, functional::functional, span};
use bellerophon_circuits::{
    chebyshev::Chebyshev,
    diagonals::Diagonals,
    fbt::{FbtSpec, IntTable, IntVec, PairedVec, PeriodicFunction, SeededIntVec, SeededPairedVec},
    lintrans::{Hoisting, LinearOptions, LinearTransform},
    matrix::{Matrix, MatrixVector},
    polynomial::{Monomial, Polynomial},
};
use bellerophon_ckks::{
    CkksOps, Complex64, Encoder, Interval, KeyLevels, encrypt, encrypt_seeded, simulator::Simulator,
};

#[test]
fn errors_repeat_no_value() {
    let world = World::new(10, 2, KeyLevels::default().multiply(2));
    let eval = world.evaluator();
    let encoder = Encoder::new(&world.params);
    let scale = world.params.scale();
    let x = world
        .encrypt_span(&[0.5, 0.25])
        .assume_range_with_padding(Interval::real(-1.0, 1.0).unwrap());
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
            let options =
                LinearOptions { encode_ahead: true, hoisting, ..LinearOptions::default() };
            refused(LinearTransform::new(&world.params, &matrix, 1, options));
        }
    }
}

#[test]
fn debug_repeats_no_value() {
    let world = World::new(10, 2, KeyLevels::default());
    let params = &world.params;
    for secret in SECRETS {
        let mut matrix = Diagonals::zero(2);
        matrix.add_diagonal(1, vec![Complex64::new(secret, 0.0); 2]);
        silent(&matrix);
        for hoisting in [Hoisting::Single, Hoisting::Double] {
            for ahead in [false, true] {
                let options =
                    LinearOptions { encode_ahead: ahead, hoisting, ..LinearOptions::default() };
                silent(&LinearTransform::new(params, &matrix, 1, options).unwrap());
            }
        }
        let matrix = Matrix::from_rows(&[vec![secret, -secret]]).unwrap();
        silent(&matrix);
        silent(&MatrixVector::new(params, &matrix, 1, LinearOptions::default()).unwrap());
        let polynomial = Chebyshev::new(-1.0, 1.0, vec![secret; 6]);
        silent(&polynomial);
        silent(&Polynomial::new(polynomial));
        silent(&Monomial::new(&[secret; 6]).unwrap());
        silent(&world.secret);
        let encoder = Encoder::new(params);
        silent(
            &encoder.encode(&[secret], span(&[secret]), params.scale(), params.limbs()).unwrap(),
        );
        let simulator = Simulator::new(params);
        let range = Interval::real(-1e6, 1e6).unwrap();
        let vector = simulator.encrypt(&[secret], span(&[secret]), 2).unwrap();
        silent(&simulator.with_range(vector, range));
    }
}

/// Integers with digits that nothing else has, below the largest modulus and far above it.
const INTEGERS: [usize; 3] = [12345, 1234567, 98765];

#[test]
fn integers_and_paired_vectors_are_silent() {
    let f = functional(10, FbtSpec::table(1 << 9, 16).unwrap(), 6);
    let (world, on) = (&f.world, f.eval.integers());
    let (params, scale) = (&world.params, world.params.scale());
    let encoder = Encoder::new(params);
    for secret in INTEGERS {
        for integers in [vec![secret], vec![1, secret], vec![secret; 700], vec![secret; 1025]] {
            refused(encoder.encode_integers(&f.bootstrapper, &integers, 16, 2));
        }
        // Entries of tables are secrets of a server.
        refused(IntTable::new(16, 16, |_| secret));
        let table = IntTable::real(16, |k| (k * secret) as f64).unwrap();
        silent(&table);
        silent(&PeriodicFunction::clone(table.function()));
        refused(on.real_tables(&f.integers(&[1, 2], 4), &[&table]));
        refused(IntTable::real(16, |k| if k == 3 { f64::NAN } else { secret as f64 }));
    }
    for secret in SECRETS {
        let (narrow, wide) = (span(&[1.0, 2.0]), Interval::real(-1e6, 1e6).unwrap());
        for count in [1, 700, 1025] {
            refused(encoder.encode_paired(&vec![secret; count], narrow, scale, 3));
        }
        let mut values = vec![secret; 700];
        values[650] = f64::NAN;
        refused(encoder.encode_paired(&values, wide, scale, 3));
        // Paired vectors, fresh, as they are, and published.
        let plain = encoder.encode_paired(&vec![secret; 700], wide, scale, 3).unwrap();
        let rng = &mut *world.rng.borrow_mut();
        let whole = encrypt(params, &plain, &world.secret, rng).unwrap();
        let fresh = encrypt_seeded(params, &plain, &world.secret, rng).unwrap();
        silent(&SeededPairedVec::seeded(fresh, wide, 700).unwrap());
        let whole = PairedVec::new(whole, wide, 700).unwrap();
        silent(&whole);
        silent(&f.eval.publish_paired(&whole, -1e6..=1e6).unwrap());
        refused(f.eval.publish_paired(&whole, -1e3..=1e3));
    }
    // The same of integers below the modulus.
    for count in [3, 700] {
        let plain = encoder.encode_integers(&f.bootstrapper, &vec![12345; count], 1 << 14, 2);
        let (plain, rng) = (plain.unwrap(), &mut *world.rng.borrow_mut());
        let whole = encrypt(params, &plain, &world.secret, rng).unwrap();
        let fresh = encrypt_seeded(params, &plain, &world.secret, rng).unwrap();
        silent(&SeededIntVec::seeded(fresh, 1 << 14, count).unwrap());
        let whole = IntVec::new(whole, 1 << 14, count).unwrap();
        silent(&whole);
        silent(&f.eval.publish_integers(&whole, -64.0).unwrap());
        // A constant of the server.
        refused(f.eval.publish_integers(&on.add_constant(&whole, 12345).unwrap(), -64.0));
        refused(on.table(&whole, |k| k));
    }
}
