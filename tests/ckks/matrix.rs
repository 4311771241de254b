//! Products with encrypted vectors and matrices against the same in the clear.

use crate::common;
use bellerophon_circuits::CircuitOps;

use crate::common::{World, refusal};
use bellerophon_circuits::{
    diagonals::Diagonals,
    lintrans::{LinearOptions, LinearTransform},
    matrix::{Matrix, MatrixProduct, MatrixVector, Packing, transpose},
};
use bellerophon_ckks::{Ciphertext, CkksOps, Complex64, ErrorKind, KeyLevels, Params, SlotValue};

type Rows = Vec<Vec<Complex64>>;

fn random(world: &World, rows: usize, columns: usize, real: bool) -> Rows {
    let row = |_| match real {
        true => world.reals(columns).iter().map(|x| x.to_complex()).collect(),
        false => world.complex(columns),
    };
    (0..rows).map(row).collect()
}

fn product(a: &Rows, b: &Rows) -> Rows {
    let entry = |row: &Vec<Complex64>, j: usize| row.iter().zip(b).map(|(x, b)| x * b[j]).sum();
    a.iter().map(|row| (0..b[0].len()).map(|j| entry(row, j)).collect()).collect()
}

fn column(v: &[Complex64]) -> Rows {
    v.iter().map(|&x| vec![x]).collect()
}

/// Row by row at a stride, in so many rows.
fn slots(m: &Rows, rows: usize, stride: usize) -> Vec<Complex64> {
    let mut out = vec![Complex64::ZERO; rows * stride];
    for (i, row) in m.iter().enumerate() {
        out[i * stride..][..row.len()].copy_from_slice(row);
    }
    out
}

fn check(world: &World, ct: &Ciphertext, expected: &[Complex64]) {
    let ct = world.evaluator().with_len(ct.clone(), expected.len()).unwrap();
    world.check_complex(&ct, expected);
}

#[test]
fn plain_matrices_of_any_shape_times_vectors() {
    let scratch = World::new(9, 3, KeyLevels::default());
    for (rows, columns) in [(3, 5), (5, 3), (8, 8), (2, 60), (60, 2), (1, 16), (7, 1), (1, 1)] {
        for real in [true, false] {
            let m = random(&scratch, rows, columns, real);
            let matrix = Matrix::from_rows(&m).unwrap();
            let prepared =
                MatrixVector::new(&scratch.params, &matrix, 2, LinearOptions::default()).unwrap();
            let world = World::of(scratch.params.clone(), prepared.keys(), 2);
            let eval = world.evaluator();
            let x = random(&world, 1, columns, real).remove(0);
            // What stands in the padding counts for nothing.
            let width = columns.next_power_of_two();
            let mut padded = x.clone();
            padded.resize(width, Complex64::ONE);
            let ct = prepared.apply(&eval, &world.encrypt_span(&padded)).unwrap();
            assert_eq!(
                (ct.level(), ct.len(), ct.metadata().meta.scale),
                (1, rows, world.params.scale())
            );
            let expected: Vec<Complex64> = product(&m, &column(&x)).concat();
            world.check_complex(&ct, &expected);
            let error =
                prepared.apply(&eval, &world.encrypt_span(&vec![0.5; 2 * width])).unwrap_err();
            assert!(error.is(&ErrorKind::Shape, "slots: need"), "{error}");
        }
    }
}

#[test]
fn encrypted_matrices_times_encrypted_vectors() {
    let params = common::params(9, 4);
    for (rows, columns, next) in [(5, 3, 6), (4, 16, 4), (1, 7, 3), (8, 1, 2)] {
        let (first, second) =
            (Packing::new(rows, columns).unwrap(), Packing::new(next, rows).unwrap());
        let keys =
            first.keys_by_rows(4).and(&second.keys_by_columns(2)).and(&first.keys_by_columns(4));
        let world = World::of(params.clone(), keys, 3);
        let eval = world.evaluator();
        let a = random(&world, rows, columns, false);
        let v = random(&world, 1, columns, false).remove(0);
        let expected = product(&a, &column(&v));
        let vector = world.encrypt_span(&slots(&vec![v.clone()], 1, columns.next_power_of_two()));

        // By rows: every entry fills its block.
        let by_rows = world.encrypt_span(&first.by_rows(&a).unwrap());
        let spread = first.times_by_rows(&eval, &by_rows, &vector).unwrap();
        assert_eq!(spread.level(), 2);
        let block = columns.next_power_of_two();
        let filled: Vec<Complex64> = expected.iter().flat_map(|y| vec![y[0]; block]).collect();
        check(&world, &spread, &filled);

        // By columns, from a spread vector.
        let by_columns = world.encrypt_span(&first.by_columns(&a).unwrap());
        let spread = world.encrypt_span(&first.spread(&v).unwrap());
        let y = first.times_by_columns(&eval, &by_columns, &spread).unwrap();
        assert_eq!((y.level(), y.len()), (3, rows));
        world.check_complex(&y, &expected.concat());
    }
}

#[test]
fn chained_matrices_alternate_by_rows_and_columns() {
    // 4 x 4 by rows leaves entries spread over blocks of 4: what 4 x 4 by columns takes.
    let shape = Packing::new(4, 4).unwrap();
    let keys = shape.keys_by_rows(4).and(&shape.keys_by_columns(2));
    let world = World::of(common::params(9, 4), keys, 4);
    let eval = world.evaluator();
    let (a, b) = (random(&world, 4, 4, true), random(&world, 4, 4, true));
    let v = random(&world, 1, 4, true).remove(0);
    let ca = world.encrypt_span(&shape.by_rows(&a).unwrap());
    let cb = world.encrypt_span(&shape.by_columns(&b).unwrap());
    let between = shape.times_by_rows(&eval, &ca, &world.encrypt_span(&v)).unwrap();
    let result = shape.times_by_columns(&eval, &cb, &between).unwrap();
    assert_eq!(result.level(), 1);
    world.check_complex(&result, &product(&b, &product(&a, &column(&v))).concat());
}

#[test]
fn encrypted_square_matrices() {
    let params = common::params(8, 3);
    for d in [1, 2, 4, 8] {
        let prepared = MatrixProduct::new(&params, d, 3).unwrap();
        let world = World::of(params.clone(), prepared.keys(), 5);
        let eval = world.evaluator();
        for real in [true, false] {
            let (a, b) = (random(&world, d, d, real), random(&world, d, d, real));
            let (ca, cb) =
                (world.encrypt_span(&slots(&a, d, d)), world.encrypt_span(&slots(&b, d, d)));
            let found = prepared.apply(&eval, &ca, &cb).unwrap();
            assert_eq!(found.level(), 0);
            world.check_complex(&found, &product(&a, &b).concat());
        }
    }
    assert!(matches!(refusal(&MatrixProduct::new(&params, 3, 3)).kind(), ErrorKind::Shape));
    assert!(matches!(
        refusal(&MatrixProduct::new(&params, 4, 2)).kind(),
        ErrorKind::OutOfLevels { .. }
    ));
    assert!(matches!(
        refusal(&MatrixProduct::new(&params, 16, 3)).kind(),
        ErrorKind::TooManyValues { .. }
    ));
}

fn transformed(params: &Params, m: &LinearTransform, x: &[Complex64]) -> (World, Ciphertext) {
    let world = World::of(params.clone(), m.keys(), 6);
    let ct = world.evaluator().transform(&world.encrypt_span(x), m).unwrap();
    (world, ct)
}

#[test]
fn plain_matrices_times_encrypted_ones_and_transposes() {
    let scratch = World::new(9, 2, KeyLevels::default());
    let prepare = |m: &Diagonals| {
        LinearTransform::new(&scratch.params, m, 2, LinearOptions::default()).unwrap()
    };
    for (rows, inner, columns) in [(3, 5, 2), (4, 4, 4), (1, 3, 6), (6, 2, 1)] {
        let m = random(&scratch, rows, inner, false);
        let x = random(&scratch, inner, columns, false);
        let matrix = Matrix::from_rows(&m).unwrap();
        let stride = columns.next_power_of_two();
        let tall = rows.max(inner).next_power_of_two();
        let left = prepare(&matrix.times_left(columns).unwrap());
        let (world, ct) = transformed(&scratch.params, &left, &slots(&x, tall, stride));
        check(&world, &ct, &slots(&product(&m, &x), tall, stride));

        let x = random(&scratch, columns, rows, false);
        let stride = rows.max(inner).next_power_of_two();
        let tall = columns.next_power_of_two();
        let right = prepare(&matrix.times_right(columns).unwrap());
        let (world, ct) = transformed(&scratch.params, &right, &slots(&x, tall, stride));
        check(&world, &ct, &slots(&product(&x, &m), tall, stride));
    }
    for d in [1, 2, 8] {
        let x = random(&scratch, d, d, false);
        let diagonals = transpose(d).unwrap();
        let (world, ct) = transformed(&scratch.params, &prepare(&diagonals), &slots(&x, d, d));
        let expected: Rows = (0..d).map(|i| x.iter().map(|row| row[i]).collect()).collect();
        check(&world, &ct, &expected.concat());
    }
    assert!(transpose(6).is_err() && transpose(1 << 31).is_err());
    // A matrix of zeros is a matrix.
    let zero = Matrix::from_rows(&vec![vec![0.0; 2]; 2]).unwrap();
    assert!(zero.times_left(usize::MAX).is_err() && zero.times_right(1 << 40).is_err());
    let (world, ct) =
        transformed(&scratch.params, &prepare(&zero.times_left(2).unwrap()), &[Complex64::ONE; 4]);
    check(&world, &ct, &[Complex64::ZERO; 4]);
}

#[test]
fn what_is_no_matrix_is_refused() {
    assert!(
        refusal(&Matrix::from_rows::<f64>(&[]))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    assert!(
        refusal(&Matrix::from_rows::<f64>(&[vec![]]))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    let ragged = Matrix::from_rows(&[vec![1.0], vec![1.0, 2.0]]);
    assert!(matches!(refusal(&ragged).kind(), ErrorKind::Shape));
    assert!(
        refusal(&Matrix::from_rows(&[vec![f64::NAN]]))
            .is(&ErrorKind::NotFinite, "is NaN or infinite: need finite numbers")
    );
    assert!(Packing::new(0, 1).is_err() && Packing::new(usize::MAX, 1).is_err());
    let shape = Packing::new(2, 3).unwrap();
    assert!(shape.by_rows(&vec![vec![1.0; 3]; 3]).is_err());
    assert!(shape.by_columns(&vec![vec![1.0; 2]; 2]).is_err());
    assert!(shape.spread(&[1.0; 2]).is_err());
    let world = World::new(9, 2, KeyLevels::default().multiply(2));
    let eval = world.evaluator();
    let (a, v) = (world.encrypt_span(&[0.5; 8]), world.encrypt_span(&[0.5; 4]));
    let error = shape.times_by_rows(&eval, &a, &v).unwrap_err();
    assert!(
        error.op() == "multiply a vector by rows"
            && error.is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"),
        "{error}"
    );
    assert!(refusal(&shape.times_by_rows(&eval, &v, &v)).is(&ErrorKind::Shape, "slots: need"));
    assert!(refusal(&shape.times_by_columns(&eval, &a, &v)).is(&ErrorKind::Shape, "slots: need"));
}
