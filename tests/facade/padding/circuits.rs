//! Circuits over whole tables: their operands may have dirty padding of their own.

use bellerophon::circuits::learning::{LogisticRegression, LogisticSpec};
use bellerophon::circuits::matrix::{Matrix, MatrixVector};
use bellerophon::circuits::ordering::{Comparator, SortOrder};
use bellerophon::circuits::statistics::DataTable;
use bellerophon::prelude::*;

use super::{dirty, needs};
use crate::common::{Party, errors, party, spread};

/// Numbers far above all ranges: they would ruin every slot in a cube.
const DIRT: f64 = 1e6;

fn server(seed: u64) -> Party {
    party(Preset::Insecure(Toy::Full), &needs(Preset::Insecure(Toy::Full)), seed)
}

/// An encrypted vector of which the last values became padding, and hold dirt.
fn cut(Party { client, server }: &Party, values: &[f64], len: usize) -> Ciphertext {
    let x = client.encrypt(values, -1.0..=1.0).unwrap();
    dirty(server, &server.with_len(x, len).unwrap(), DIRT)
}

#[track_caller]
fn close(client: &ClientKey, result: &Ciphertext, expected: &[f64], tolerance: f64) {
    let found = client.decrypt(result).unwrap();
    let (_, worst) = errors(&found[..expected.len()], expected.iter().copied());
    assert!(worst < tolerance, "{worst:e}");
}

#[test]
fn statistics_and_matrices_take_the_values() {
    let both = server(41);
    let Party { client, server } = &both;
    let rows = [[0.5, -0.25, 1.0], [0.25, 0.75, -1.0], [-0.75, 0.5, 0.5]].map(|row| row.to_vec());
    let table = DataTable::new(3, 3).unwrap();
    let x = cut(&both, &table.pack(&rows).unwrap(), 11);
    let column = |j: usize| rows.iter().map(move |row| row[j]);
    let mean = |j: usize| column(j).sum::<f64>() / 3.0;
    let variance = |j: usize| column(j).map(|v| (v - mean(j)).powi(2)).sum::<f64>() / 3.0;
    close(client, &table.sums(server, &x).unwrap(), &[0, 1, 2].map(|j| 3.0 * mean(j)), 1e-4);
    close(client, &table.means(server, &x).unwrap(), &[0, 1, 2].map(mean), 1e-4);
    close(client, &table.variances(server, &x).unwrap(), &[0, 1, 2].map(variance), 1e-4);
    let matrix = Matrix::from_rows(&rows).unwrap();
    let level = client.params().levels();
    let matrix = MatrixVector::new(server.params().ckks(), &matrix, level - 1, Default::default());
    let vector = [0.5, -1.0, 0.75];
    let product = matrix.unwrap().apply(server, &cut(&both, &vector, 3)).unwrap();
    let row = |i: usize| rows[i].iter().zip(vector).map(|(a, b)| a * b).sum::<f64>();
    close(client, &product, &[0, 1, 2].map(row), 1e-4);
}

/// A column that the slots do not hold without padding, and a range without zero, which the padding
/// leaves.
#[test]
fn statistics_of_a_long_column_take_the_values() {
    let Party { client, server } = &server(44);
    let (values, others) = (spread(199, 0.25, 1.0), spread(199, 0.3, 0.9));
    let table = DataTable::new(199, 1).unwrap();
    let encrypt = |values: &[f64]| client.encrypt(values, 0.25..=1.0).unwrap();
    let mean = |of: &dyn Fn(usize) -> f64| (0..199).map(of).sum::<f64>() / 199.0;
    let means = [&values, &others].map(|column| mean(&|i| column[i]));
    let variance = mean(&|i| (values[i] - means[0]).powi(2));
    let covariance = mean(&|i| (values[i] - means[0]) * (others[i] - means[1]));
    let (x, y) = (encrypt(&values), encrypt(&others));
    for (x, y) in [(&x, &y), (&dirty(server, &x, DIRT), &dirty(server, &y, DIRT))] {
        close(client, &table.sums(server, x).unwrap(), &[199.0 * means[0]], 1e-3);
        close(client, &table.means(server, x).unwrap(), &[means[0]], 1e-4);
        close(client, &table.variances(server, x).unwrap(), &[variance], 1e-4);
        close(client, &table.covariances(server, x, y).unwrap(), &[covariance], 1e-4);
    }
}

#[test]
fn logistic_regression_takes_the_rows() {
    let both = server(42);
    let Party { client, server } = &both;
    let spec = LogisticSpec { iterations: 2, ..LogisticSpec::new(3, 1) };
    let fit = LogisticRegression::new(spec).unwrap();
    let (rows, labels) = ([vec![0.5], vec![-0.25], vec![-1.0]], [true, true, false]);
    // The fourth row of the last feature is padding.
    let table = cut(&both, &fit.pack_training(&rows, &labels).unwrap(), 7);
    let model = fit.train(server, &table, |_| {}).unwrap();
    let weights = fit.train_clear(&rows, &labels).unwrap();
    let found = fit.weights(&client.decrypt(&model).unwrap()).unwrap();
    let (_, worst) = errors(&found, weights.iter().copied());
    assert!(worst < 1e-4, "{worst:e}");
    let queries = cut(&both, &fit.pack(&rows).unwrap(), 7);
    let scores = fit.scores(server, &model, &queries).unwrap();
    let score = |i: usize| weights[0] + weights[1] * rows[i][0];
    close(client, &scores, &[0, 1, 2].map(score), 1e-3);
    // Scores as far as there are rows, the others padding with dirt in it, at the lowest level.
    let slots: Vec<f64> = (0..fit.slots()).map(|i| score(i % 3)).collect();
    let few = client.encrypt(&slots, -8.0..=8.0).unwrap();
    let few = dirty(server, &server.with_len(few, 3).unwrap(), DIRT);
    let few = server.drop_to_level(&few, fit.probability_levels()).unwrap();
    let probabilities = fit.probabilities(server, &few).unwrap();
    let expected = [0, 1, 2].map(|i| fit.sigmoid().eval(score(i)));
    close(client, &probabilities, &expected, 1e-3);
}

/// Order statistics read the values alone.
#[test]
fn ordering_takes_the_values() {
    let both = server(43);
    let server = both.server.clone().with_auto_bootstrap().unwrap();
    let values = [0.5, -1.0, 0.75];
    let x = cut(&both, &values, 3);
    let comparator = Comparator::new(1.0 / 16.0).unwrap();
    let sorted = comparator.sort(&server, &x, SortOrder::Ascending).unwrap();
    close(&both.client, &sorted, &[-1.0, 0.5, 0.75], 0.1);
    let most = comparator.max(&server, &x).unwrap();
    close(&both.client, &most, &[0.75; 3], 0.1);
    let below = comparator.count_below(&server, &x, 0.0).unwrap();
    close(&both.client, &below, &[1.0; 3], 0.1);
}
