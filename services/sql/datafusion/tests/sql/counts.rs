//! Queries that count rows: a value of an encrypted column is a vector of them.

use bellerophon_datafusion::Values;
use datafusion::{
    arrow::{array::AsArray, datatypes::Int64Type},
    prelude::SessionContext,
};

use crate::world::{ROWS, World, close, numbers};

/// Rows of the groups `a` and `b`.
const GROUPS: [i64; 2] = [2000, 500];

/// The integers of the last column of a result, sorted by the others.
async fn counts(session: &SessionContext, sql: &str) -> Vec<Option<i64>> {
    let batches = session.sql(sql).await.unwrap().collect().await.unwrap();
    let columns = batches.iter().map(|batch| batch.columns().last().unwrap());
    columns.flat_map(|column| column.as_primitive::<Int64Type>().iter()).collect()
}

#[tokio::test]
async fn a_count_is_one_of_rows() {
    let world = World::new();
    let session = world.session().await;
    let (all, [a, b]) = (ROWS as i64, GROUPS);
    assert_eq!(all, a + b);
    let one = |sql: &'static str| async { counts(&session, sql).await };
    for (sql, expected) in [
        ("SELECT count(*) FROM t", vec![all]),
        ("SELECT count(1) FROM t", vec![all]),
        ("SELECT count(x) FROM t", vec![all]),
        ("SELECT count(g) FROM t", vec![all]),
        ("SELECT count(he_scale(x, 2)) FROM t", vec![all]),
        ("SELECT count(NULLIF(g, 'a')) FROM t", vec![b]),
        ("SELECT count(*) FROM t WHERE g = 'b'", vec![b]),
        ("SELECT count(*) FILTER (WHERE g = 'a') FROM t", vec![a]),
        ("SELECT count(*) + 1 FROM t HAVING count(*) > 100", vec![all + 1]),
        ("SELECT g, count(*) FROM t GROUP BY g ORDER BY g", vec![a, b]),
        ("SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY n", vec![b, a]),
        ("SELECT g, count(*) AS n FROM t GROUP BY ROLLUP(g) ORDER BY n", vec![b, a, all]),
        ("SELECT count(*) FROM (SELECT he_mul(x, y) AS p FROM t) AS s", vec![all]),
        ("SELECT count(*) FROM (SELECT x FROM t UNION ALL SELECT x FROM t) AS s", vec![2 * all]),
        // Nothing is no row.
        ("SELECT count(*) FROM t WHERE false", vec![0]),
        ("SELECT count(x) FROM t WHERE g = 'nobody'", vec![0]),
        ("SELECT g, count(*) FROM t WHERE g = 'nobody' GROUP BY g", vec![]),
        // Rows that are rows: groups, and values of them.
        ("SELECT count(*) FROM (SELECT g, he_mean(x) AS m FROM t GROUP BY g) AS s", vec![2]),
        ("SELECT count(*) FROM (SELECT DISTINCT g FROM t) AS s", vec![2]),
        ("SELECT count(DISTINCT g) FROM t", vec![2]),
        ("SELECT count(*) FROM (VALUES (1), (2)) AS v", vec![2]),
        // Vectors, by their name.
        ("SELECT count(he_count(x)) FROM t", vec![3]),
        ("SELECT sum(he_count(x)) FROM t", vec![all]),
        ("SELECT sum(n) FROM (SELECT he_count(x) AS n FROM t) AS s", vec![all]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(Some).collect();
        assert_eq!(one(sql).await, expected, "{sql}");
    }
    // Also of a frame, whose statistics the engine could take for an answer.
    assert_eq!(session.table("t").await.unwrap().count().await.unwrap(), ROWS);
    // Beside aggregates of the values, and in a join with a row for all.
    let sql = "SELECT he_mean(x) AS m, count(*) AS n FROM t";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "m"), &[world.x.iter().sum::<f64>() / all as f64], 1e-4);
    assert_eq!(found.column(1).as_primitive::<Int64Type>().value(0), all);
    let sql = "SELECT count(*) FROM t, (SELECT he_mean(x) AS m FROM t) AS s";
    assert_eq!(counts(&session, sql).await, [Some(all)]);
}

#[tokio::test]
async fn what_counts_vectors_is_refused_with_what_serves() {
    let world = World::new();
    let session = world.session().await;
    for (sql, expected) in [
        ("SELECT x FROM t LIMIT 1", "take all rows, those of some groups"),
        ("SELECT g FROM t LIMIT 1", "vectors of rows"),
        ("SELECT g, x FROM t ORDER BY g LIMIT 2", "vectors of rows"),
        ("SELECT x FROM t OFFSET 1", "vectors of rows"),
        ("SELECT * FROM (SELECT x FROM t LIMIT 2) AS s", "vectors of rows"),
        ("SELECT DISTINCT ON (g) g, x FROM t ORDER BY g", "vectors of rows"),
        ("SELECT row_number() OVER (ORDER BY g) FROM t", "take aggregates with GROUP BY"),
        ("SELECT rank() OVER (ORDER BY g) FROM t", "vectors of rows"),
        ("SELECT ntile(4) OVER (ORDER BY g) FROM t", "vectors of rows"),
        ("SELECT lag(x) OVER (ORDER BY g) FROM t", "he_rotate(x, k)"),
        ("SELECT lead(g) OVER (ORDER BY g) FROM t", "vectors of rows"),
        ("SELECT nth_value(x, 1) OVER (PARTITION BY g) FROM t", "vectors of rows"),
        ("SELECT count(*) OVER (PARTITION BY g) FROM t", "sum(he_count(x)) OVER"),
        ("SELECT count(x) OVER () FROM t", "sum(he_count(x)) OVER"),
        ("SELECT sum(1) FROM t", "sum(n * he_count(x))"),
        ("SELECT avg(length(g)) FROM t", "weight a vector by he_count(x)"),
        ("SELECT array_agg(g) FROM t", "weight a vector by he_count(x)"),
        ("SELECT count(*) FROM (SELECT g FROM t) AS s", "take sum(he_count(x))"),
        ("SELECT count(*) FROM (SELECT he_sum_slots(x) AS s FROM t) AS s", "sum(he_count(x))"),
        ("SELECT count(*) FROM t AS a JOIN t AS b ON a.g = b.g", "vectors of two tables"),
        ("SELECT count(*) FROM (SELECT 'c' AS g) AS u LEFT JOIN t ON t.g = u.g", "no column here"),
    ] {
        world.refuses(&session, sql, expected).await;
    }
    // A row of these is a row, or they take none, or all.
    for sql in [
        "SELECT g, he_mean(x) FROM t GROUP BY g ORDER BY g LIMIT 1",
        "SELECT x FROM t LIMIT 0",
        "SELECT g, row_number() OVER (ORDER BY g) FROM (SELECT g, he_sum(x) FROM t GROUP BY g)",
        "SELECT g, sum(he_count(x)) OVER (PARTITION BY g) FROM t",
        "SELECT min(g), max(g), first_value(g) FROM t",
        "SELECT g FROM t WHERE EXISTS (SELECT 1 FROM (VALUES (1), (2)) AS v LIMIT 1)",
    ] {
        session.sql(sql).await.unwrap().collect().await.unwrap();
    }
}

#[tokio::test]
async fn functions_of_the_engine_name_those_of_encrypted_columns() {
    let world = World::new();
    let session = world.session().await;
    for (call, expected) in [
        ("avg(x)", "avg takes no encrypted column: take he_mean(x)"),
        ("mean(x)", "take he_mean(x)"),
        ("sum(x)", "take he_sum(x)"),
        ("sum(x) OVER ()", "take he_sum(x)"),
        ("median(x)", "no order statistics"),
        ("stddev(x)", "he_variance(x)"),
        ("var_pop(x)", "he_variance(x)"),
        ("covar_samp(x, y)", "he_covariance(x, y)"),
        ("corr(x, y)", "he_covariance(x, y)"),
        ("x + y", "take he_add(x, y)"),
        ("x - 1", "take he_sub(x, y)"),
        ("2 * x", "he_scale(x, c)"),
        ("x / 2", "he_scale(x, c)"),
        ("he_mul(x, y) + x", "take he_add(x, y)"),
        ("sqrt(x)", "he_map(x, 'sqrt', lo, hi)"),
        ("abs(x)", "he_map(x, 'abs', lo, hi)"),
        ("round(x)", "he_map(x, 'x -> round(x)', lo, hi)"),
        ("power(x, 2)", "he_mul(x, x)"),
        ("octet_length(x)", "he_count(x)"),
        ("he_mean(g)", "he_mean cannot be planned: an argument of type Utf8"),
        ("he_variance(g)", "he_mul cannot be planned: an argument of type Utf8"),
        ("he_mean(x) OVER ()", "he_mean cannot be planned: it is no window function"),
    ] {
        let refusal = world.refusal(&session, &format!("SELECT {call} FROM t")).await;
        assert!(refusal.contains(expected), "{call}: {refusal}");
        assert!(!refusal.contains("CAST"), "{call}: {refusal}");
    }
    // Their errors on other columns, and their results, are those of the engine.
    world.refuses(&session, "SELECT avg(g) FROM t", "avg").await;
    let sql = "SELECT avg(v) AS a, sqrt(sum(v)) AS s, mean(v), round(stddev(v)) AS d, \
               sum(v) OVER () FROM (VALUES (1.0), (3.0)) AS w(v) GROUP BY v ORDER BY a";
    let found = session.sql(sql).await.unwrap().collect().await.unwrap();
    assert_eq!(found[0].num_rows(), 2);
    assert_eq!(found[0].schema().field(2).name(), "mean(w.v)");
    let sql = "SELECT octet_length(g) AS n, coalesce(g, 'c') AS c FROM t WHERE g = 'a'";
    session.sql(sql).await.unwrap().collect().await.unwrap();
}

#[tokio::test]
async fn a_filter_is_one_of_means_too() {
    let world = World::new();
    let session = world.session().await;
    let sql = "SELECT he_mean(x) FILTER (WHERE g = 'b') AS m, \
               he_covariance(x, y) FILTER (WHERE g = 'b') AS c, he_mean(x) AS all FROM t";
    let found = world.query(&session, sql, Values::First).await;
    let of = |values: &[f64]| -> Vec<f64> {
        (0..ROWS).filter(|&i| world.groups[i] == "b").map(|i| values[i]).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (x, y) = (of(&world.x), of(&world.y));
    let products: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
    close(&numbers(&found, "m"), &[mean(&x)], 1e-4);
    close(&numbers(&found, "c"), &[mean(&products) - mean(&x) * mean(&y)], 1e-3);
    close(&numbers(&found, "all"), &[mean(&world.x)], 1e-4);
    world.refuses(&session, "SELECT he_mean(DISTINCT x) FROM t", "no clauses but FILTER").await;
}
