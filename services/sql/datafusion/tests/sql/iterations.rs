//! Programs of many queries.

use std::sync::Arc;

use bellerophon::prelude::*;
use bellerophon_datafusion::{
    Hash, Iteration, Node, State, Values, decrypt, k_means, logistic_regression,
};
use datafusion::prelude::SessionContext;

use crate::world::{RANGE, ROWS, World, close, node, numbers};

const RATE: f64 = 1.0;

/// Steps of gradient ascent in the clear, with the same polynomial.
fn trained(world: &World, iterations: usize) -> [f64; 2] {
    let mut w = [0.25, -0.25];
    for _ in 0..iterations {
        let mut gradient = [0.0; 2];
        for (x, y) in world.x.iter().zip(&world.y) {
            // The label of the test is y itself: the gradient takes any number.
            let z = w[0] * x + w[1] * y;
            let error = y - (0.5 + 0.15012 * z - 0.001593 * z.powi(3));
            gradient[0] += error * x;
            gradient[1] += error * y;
        }
        w = [0, 1].map(|j| w[j] + RATE / ROWS as f64 * gradient[j]);
    }
    w
}

async fn step(iteration: &Iteration, session: &SessionContext, state: &State) -> State {
    let sql = logistic_regression("t", &["x", "y"], "y", (RATE, ROWS), state);
    iteration.step(session, state, &sql).await.unwrap()
}

fn first(world: &World, node: &Arc<Node>) -> Vec<Hash> {
    let params = world.client.params();
    let weights = [0.25, -0.25].map(|w| {
        let w = vec![w; params.ckks().max_slots()];
        let w = world.client.encrypt_seeded(&w, -1.0..=1.0).unwrap();
        node.keys().put_vector(params, &w).unwrap()
    });
    weights.to_vec()
}

#[tokio::test]
async fn logistic_regression_goes_on_where_a_process_ended() {
    let world = World::new();
    let first = first(&world, &world.node);
    let session = world.session().await;
    world.node.keys().params(world.params).unwrap();

    // One process for both iterations.
    let whole = Iteration::new(&world.node, "whole");
    let mut state = whole.resume(&first).unwrap();
    for _ in 0..2 {
        state = step(&whole, &session, &state).await;
    }
    let [a, b] = [0, 1].map(|i| format!("he_object('{}') AS w{i}", state.vectors[i]));
    let batches = session.sql(&format!("SELECT {a}, {b}")).await.unwrap().collect().await.unwrap();
    let found = decrypt(&world.client, &batches, Values::First).unwrap();
    let expected = trained(&world, 2);
    close(&numbers(&found, "w0"), &expected[..1], 1e-4);
    close(&numbers(&found, "w1"), &expected[1..], 1e-4);

    // One process for the first iteration, and another one, with an empty cache, for the second.
    let cut = Iteration::new(&world.node, "cut");
    let begun = cut.resume(&first).unwrap();
    assert_eq!(begun.iteration, 0);
    step(&cut, &session, &begun).await;
    drop((cut, session));
    let fresh = node(world.folder.path(), "fresh cache", 1 << 30);
    fresh.keys().params(world.params).unwrap();
    let session = world.session_on(&fresh, Some(world.keys), 1).await;
    let again = Iteration::new(&fresh, "cut");
    let resumed = again.resume(&first).unwrap();
    assert_eq!(resumed.iteration, 1);
    let last = step(&again, &session, &resumed).await;
    assert_eq!(last, state, "the same bits");
}

/// Three clusters around these centres: each coordinate of a row differs by at most 1/2.
const AROUND: [[f64; 2]; 3] = [[-1.25, -1.0], [0.0, 1.25], [1.25, -0.75]];

fn row_of_a_cluster(i: usize) -> [f64; 2] {
    let [x, y] = AROUND[i % 3];
    [x + 0.5 * (i as f64 * 0.37).sin(), y + 0.5 * (i as f64 * 0.11).cos()]
}

/// Squared distances that differ by less may compare either way: ten cells of the table of signs,
/// which has 1024 cells over a range of 100.
const TIE: f64 = 1.0;

/// An iteration of K-means in the clear, over the rows of the group `b`.
fn clustered(world: &World, centres: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sums = vec![([0.0; 2], 0.0); centres.len()];
    for i in (0..ROWS).filter(|&i| world.groups[i] == "b") {
        let (x, y) = (world.x[i], world.y[i]);
        let distances = centres.iter().map(|c| (x - c[0]).powi(2) + (y - c[1]).powi(2)).enumerate();
        let mut distances: Vec<_> = distances.collect();
        distances.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert!(distances[1].1 - distances[0].1 > TIE, "no row lies between two centres");
        let (sum, count) = &mut sums[distances[0].0];
        (sum[0], sum[1], *count) = (sum[0] + x, sum[1] + y, *count + 1.0);
    }
    sums.into_iter().map(|(sum, count)| sum.map(|sum| sum / count)).collect()
}

#[tokio::test]
async fn k_means_goes_on_where_a_process_ended() {
    let needs = Needs::new().multiply().sums(1024).map();
    let world = World::with_rows(Preset::Insecure(Toy::Functions), &needs, row_of_a_cluster);
    let features = [("x", RANGE[0]..=RANGE[1]), ("y", RANGE[0]..=RANGE[1])];
    let query = |state: &State| {
        k_means("(SELECT x, y FROM t WHERE g = 'b') AS b", &features, 500, state).unwrap()
    };
    let start = vec![[-1.0, -0.75], [0.0, 1.0], [1.0, -0.5]];
    let params = world.client.params();
    let vectors = start.iter().flatten().map(|&c| {
        let c = vec![c; params.ckks().max_slots()];
        let c = world.client.encrypt_seeded(&c, RANGE[0]..=RANGE[1]).unwrap();
        world.node.keys().put_vector(params, &c).unwrap()
    });
    let first: Vec<Hash> = vectors.collect();
    let session = world.session().await;
    world.node.keys().params(world.params).unwrap();

    // One process for both iterations.
    let whole = Iteration::new(&world.node, "whole");
    let begun = whole.resume(&first).unwrap();
    let middle = whole.step(&session, &begun, &query(&begun)).await.unwrap();
    // A look-up for every sign, every indicator and every reciprocal.
    let calls = world.node.calls();
    assert_eq!((calls["he_map"], calls["he_sum"]), (3 + 3 + 3, 3 + 6), "{calls:?}");
    let last = whole.step(&session, &middle, &query(&middle)).await.unwrap();
    let mut expected = start;
    for state in [&middle, &last] {
        expected = clustered(&world, &expected);
        let vectors = state.vectors.iter().enumerate();
        let vectors: Vec<_> = vectors.map(|(i, v)| format!("he_object('{v}') AS c{i}")).collect();
        let sql = format!("SELECT {}", vectors.join(", "));
        let found = world.query(&session, &sql, Values::First).await;
        let found: Vec<f64> = (0..6).map(|i| numbers(&found, &format!("c{i}"))[0]).collect();
        // The error of the table of reciprocals. One row in another cluster moves a mean by less.
        close(&found, &expected.concat(), 0.05);
    }

    // Another process, with an empty cache, after the first iteration.
    let cut = Iteration::new(&world.node, "cut");
    cut.keep(&middle).unwrap();
    drop((cut, session));
    let fresh = node(world.folder.path(), "fresh cache", 1 << 30);
    fresh.keys().params(world.params).unwrap();
    let session = world.session_on(&fresh, Some(world.keys), 1).await;
    let again = Iteration::new(&fresh, "cut");
    let resumed = again.resume(&first).unwrap();
    assert_eq!(resumed, middle);
    let end = again.step(&session, &resumed, &query(&resumed)).await.unwrap();
    assert_eq!(end, last, "the same bits");

    // A state that is no whole number of centres, or one centre.
    for vectors in [2, 3] {
        let state = State { iteration: 0, vectors: first[..vectors].to_vec() };
        let refused = k_means("t", &features, 500, &state).unwrap_err().to_string();
        assert!(refused.contains("need 2 centres or more"), "{refused}");
    }
}

/// Indicators have the error that the query of K-means promises.
#[tokio::test]
async fn looked_up_indicators_are_zero_or_one() {
    let world =
        World::of(Preset::Insecure(Toy::Functions), &Needs::new().multiply().sums(1024).map());
    let session = world.session().await;
    let table =
        "(SELECT g, x, he_assume_error(he_map(x, '0;1', -2.0, 2.0), 0.000244140625) AS i FROM t)";
    let sql = format!("SELECT g, i AS i FROM {table} WHERE g = 'b'");
    let found = world.query(&session, &sql, Values::All).await;
    let errors: Vec<f64> = numbers(&found, "i").iter().map(|i| i - i.round()).collect();
    let deviation = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
    assert!((1e-7..1.0 / 4096.0).contains(&deviation), "{deviation}");
    // Vectors of few values have few slots after a look-up, and are added to others.
    let sql = format!("SELECT he_sum_slots(he_sum(i)) AS n FROM {table}");
    let found = world.query(&session, &sql, Values::First).await;
    let above = world.x.iter().filter(|&&x| x > 0.0).count() as f64;
    // The index of a look-up is off by some cells of 2^-8.
    let near = world.x.iter().filter(|x| x.abs() < 0.05).count() as f64;
    close(&numbers(&found, "n"), &[above], near + 1.0);
}

#[tokio::test]
async fn a_step_needs_a_row_of_vectors() {
    let world = World::new();
    let first = first(&world, &world.node);
    let session = world.session().await;
    let iteration = Iteration::new(&world.node, "bad");
    let state = iteration.resume(&first).unwrap();
    for (sql, expected) in [
        ("SELECT x, y FROM t", "3 row(s), 2 column(s): need 1, 2"),
        ("SELECT he_sum(x) FROM t", "1 row(s), 1 column(s)"),
        ("SELECT 1, 2", "without an encrypted vector"),
        ("SELECT he_sum(x), he_sum(y) FROM t WHERE g = 'c'", "without an encrypted vector"),
    ] {
        let refused = iteration.step(&session, &state, sql).await.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!(iteration.resume(&first).unwrap(), state, "nothing was stored");
    // The note of so many vectors would have more than 64 KiB: the query does not even run.
    let many = State { iteration: 0, vectors: vec![first[0]; 1009] };
    let refused = iteration.step(&session, &many, "no query").await.unwrap_err().to_string();
    assert!(refused.contains("1009 vectors: a state has at most 65536 bytes"), "{refused}");
}

#[tokio::test]
async fn sums_and_weights_meet_vectors_that_are_not_full() {
    let world = World::new();
    let session = world.session().await;
    let sql = "SELECT he_sub(t.x, s.m) AS d FROM t, (SELECT he_mean(x) AS m FROM t) s \
               WHERE t.g = 'b'";
    let found = world.query(&session, sql, Values::All).await;
    let mean = world.x.iter().sum::<f64>() / ROWS as f64;
    let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
    close(&numbers(&found, "d"), &rows.map(|i| world.x[i] - mean).collect::<Vec<_>>(), 1e-4);
    // A promise about the range serves later functions.
    let sql = "SELECT he_map(he_assume_range(he_mul(x, y), -4.0, 4.0), 'sigmoid', -4.0, 4.0) AS f \
               FROM t WHERE g = 'b'";
    let found = world.query(&session, sql, Values::All).await;
    let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
    let expected: Vec<f64> = rows.map(|i| 1.0 / (1.0 + (-world.x[i] * world.y[i]).exp())).collect();
    close(&numbers(&found, "f"), &expected, 1e-3);
}
