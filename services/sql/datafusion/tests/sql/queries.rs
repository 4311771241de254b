//! Results of queries against the same functions in the clear.

use std::sync::{Arc, Once};

use bellerophon::prelude::*;
use bellerophon_datafusion::{
    Functions, TableProgress, TableWriter, Values, decrypt, sql, write_csv,
};
use datafusion::{
    arrow::{array::AsArray, datatypes::Int64Type, util::pretty::pretty_format_batches},
    execution::memory_pool::MemoryConsumer,
    prelude::col,
};

use crate::world::{MEMORY, RANGE, ROWS, World, close, forged, node, numbers};

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn covariance(x: &[f64], y: &[f64]) -> f64 {
    let products: Vec<f64> = x.iter().zip(y).map(|(x, y)| x * y).collect();
    mean(&products) - mean(x) * mean(y)
}

#[tokio::test]
async fn statistics_in_sql_equal_those_of_the_clear_table() {
    let world = World::new();
    let session = world.session().await;
    let sql = "SELECT he_mean(x) AS m, he_variance(x) AS v, he_covariance(x, y) AS c, \
               he_sum_slots(he_sum(x)) AS s FROM t";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "m"), &[mean(&world.x)], 1e-5);
    close(&numbers(&found, "v"), &[covariance(&world.x, &world.x)], 1e-4);
    close(&numbers(&found, "c"), &[covariance(&world.x, &world.y)], 1e-4);
    close(&numbers(&found, "s"), &[world.x.iter().sum()], 1e-2);

    // Three vectors: each expression is evaluated once on each, also where it stands three times.
    let calls = world.node.calls();
    assert_eq!(calls["he_mul"], 2 * 3 + 2, "{calls:?}");
    assert_eq!(calls["he_sum"], 4 * 3, "{calls:?}");
    assert_eq!(calls["he_count"], 2 * 3, "{calls:?}");
}

#[tokio::test]
async fn a_group_has_vectors_of_its_own() {
    let world = World::new();
    let written = world.write(&world.client, "again.parquet");
    assert_eq!(written, TableProgress { rows: ROWS, vectors: 3 });
    let session = world.session().await;
    let sql =
        "SELECT g, he_sum_slots(he_sum(x)) AS s, he_mean(y) AS m FROM t GROUP BY g ORDER BY g";
    let found = world.query(&session, sql, Values::First).await;
    let names = found.column_by_name("g").unwrap().as_string::<i32>();
    assert_eq!(names.iter().flatten().collect::<Vec<_>>(), ["a", "b"]);
    let of = |values: &[f64], group: &str| -> Vec<f64> {
        let both = values.iter().zip(&world.groups);
        both.filter(|(_, g)| **g == group).map(|(value, _)| *value).collect()
    };
    let sums: Vec<f64> = ["a", "b"].map(|g| of(&world.x, g).iter().sum()).to_vec();
    let means: Vec<f64> = ["a", "b"].map(|g| mean(&of(&world.y, g))).to_vec();
    close(&numbers(&found, "s"), &sums, 1e-2);
    close(&numbers(&found, "m"), &means, 1e-5);
}

#[tokio::test]
async fn functions_of_single_values_keep_the_rows() {
    let world = World::new();
    let session = world.session().await;
    let sql = "SELECT he_polynomial(x, '1,0,-0.5') AS p, he_scale(he_sub(x, y), 2) AS d, \
               he_map(x, 'sigmoid', -2.0, 2.0) AS f FROM t WHERE g = 'b'";
    let found = world.query(&session, sql, Values::All).await;
    let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
    let rows: Vec<(f64, f64)> = rows.map(|i| (world.x[i], world.y[i])).collect();
    let expect =
        |f: &dyn Fn(f64, f64) -> f64| rows.iter().map(|&(x, y)| f(x, y)).collect::<Vec<_>>();
    close(&numbers(&found, "p"), &expect(&|x, _| 1.0 - x * x / 2.0), 1e-4);
    close(&numbers(&found, "d"), &expect(&|x, y| 2.0 * (x - y)), 1e-4);
    close(&numbers(&found, "f"), &expect(&|x, _| 1.0 / (1.0 + (-x).exp())), 1e-3);
    let sql = "SELECT he_rotate(x, 1) AS r, he_add(he_mul(x, y), y) AS q FROM t WHERE g = 'b'";
    let found = world.query(&session, sql, Values::All).await;
    close(&numbers(&found, "r")[..rows.len() - 1], &expect(&|x, _| x)[1..], 1e-4);
    close(&numbers(&found, "q"), &expect(&|x, y| x * y + y), 1e-4);
}

#[tokio::test]
async fn the_data_frame_api_has_the_same_functions() {
    let world = World::new();
    let session = world.session().await;
    let he = Functions::new(&world.node);
    let frame = session.table("t").await.unwrap();
    let results = vec![he.variance(col("x")).alias("v"), he.mean(col("y")).alias("m")];
    let frame = frame.aggregate(vec![], results).unwrap();
    let batches = frame.collect().await.unwrap();
    let found = decrypt(&world.client, &batches, Values::First).unwrap();
    close(&numbers(&found, "v"), &[covariance(&world.x, &world.x)], 1e-4);
    close(&numbers(&found, "m"), &[mean(&world.y)], 1e-5);
}

#[tokio::test]
async fn partitions_and_nodes_give_the_same_sums() {
    let world = World::new();
    let other = node(world.folder.path(), "another cache", 1 << 30);
    let sql = "SELECT he_sum(x) AS s FROM t";
    let one = world.query(&world.session().await, sql, Values::All).await;
    let session = world.session_on(&other, Some(world.keys), 3).await;
    let three = world.query(&session, sql, Values::All).await;
    close(&numbers(&one, "s"), &numbers(&three, "s"), 1e-9);
}

#[tokio::test]
async fn a_state_of_the_store_enters_a_query_by_its_hash() {
    let world = World::new();
    let session = world.session().await;
    let slots = world.client.params().ckks().max_slots();
    let weights = world.client.encrypt_seeded(&vec![0.25; slots], -1.0..=1.0).unwrap();
    let weights = world.node.keys().put_vector(world.client.params(), &weights).unwrap();
    let sql = format!("SELECT he_sum_slots(he_mul(he_sum(x), he_object('{weights}'))) AS s FROM t");
    let found = world.query(&session, &sql, Values::First).await;
    close(&numbers(&found, "s"), &[0.25 * world.x.iter().sum::<f64>()], 1e-2);
}

#[tokio::test]
async fn a_published_result_carries_the_declared_range_alone() {
    let world = World::new();
    let session = world.session().await;
    let sql = "SELECT he_publish(he_mean(x), -4.0, 4.0) AS m FROM t";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "m"), &[mean(&world.x)], 1e-5);
}

#[tokio::test]
async fn a_dot_product_is_that_of_its_vectors() {
    let world = World::new();
    let session = world.session().await;
    let sql = "SELECT he_dot(x, y) AS d FROM t WHERE g = 'b'";
    let found = world.query(&session, sql, Values::First).await;
    let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
    let expected = rows.map(|i| world.x[i] * world.y[i]).sum();
    close(&numbers(&found, "d"), &[expected], 1e-3);
}

#[tokio::test]
async fn a_table_is_looked_up_at_the_nearest_place() {
    let world = World::of(Preset::Insecure(Toy::Functions), &Needs::new().map());
    let session = world.session().await;
    let sql = "SELECT he_map(x, '-1;0;1;3', -3.0, 3.0) AS r FROM t WHERE g = 'b'";
    let found = world.query(&session, sql, Values::All).await;
    // Places at -3, -1, 1, 3. The index of a look-up is off by some cells: values near the middle
    // of two places may take either.
    let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
    let near = |x: f64| [-2.0, 0.0, 2.0].iter().any(|middle| (x - middle).abs() < 0.25);
    let (mut checked, found) = (0, numbers(&found, "r"));
    for (i, found) in rows.zip(found) {
        let x = world.x[i];
        let expected = [-1.0, 0.0, 1.0, 3.0][((x + 3.0) / 2.0).round() as usize];
        if !near(x) {
            assert!((found - expected).abs() < 0.1, "{x}: {found}");
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}

#[tokio::test]
async fn an_expression_of_a_query_is_a_function() {
    let world = World::new();
    let session = world.session().await;
    for (function, f) in [
        ("x -> 1 / (1 + exp(-x))", (|x| 1.0 / (1.0 + (-x).exp())) as fn(f64) -> f64),
        // Integers in the expression, and another name.
        ("v -> ln(v + 4) / 2", |x| (x + 4.0).ln() / 2.0),
    ] {
        let sql = format!("SELECT he_map(x, '{function}', -2.0, 2.0) AS f FROM t WHERE g = 'b'");
        let found = world.query(&session, &sql, Values::All).await;
        let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
        let expected: Vec<f64> = rows.map(|i| f(world.x[i])).collect();
        close(&numbers(&found, "f"), &expected, 1e-3);
    }
}

#[tokio::test]
async fn a_lambda_of_a_query_is_a_function() {
    let world = World::new();
    let session = world.session().await;
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    for (call, f) in [
        ("he_map(x, x -> 1 / (1 + exp(-x)), -2.0, 2.0)", logistic as fn(f64) -> f64),
        ("HE_MAP(x, V -> ln(v + 4) / 2, -2.0, 2.0, 10)", |x| (x + 4.0).ln() / 2.0),
        ("he_add(x, he_map(x, (v) -> CASE WHEN v > 9 THEN 0 ELSE cos(v) END, -2.0, 2.0, 9))", {
            |x| x + x.cos()
        }),
        ("he_map(x, x1 -> 1 / 2 * x1 + 3 / 4, -2.0, 2.0)", |x| 0.5 * x + 0.75),
        ("he_map(x, 'tanh', -2.0, 2.0)", f64::tanh),
    ] {
        let query = format!("SELECT {call} AS f FROM (SELECT * FROM t WHERE g = 'b')");
        let batches = sql(&session, &query).await.unwrap().collect().await.unwrap();
        let found = decrypt(&world.client, &batches, Values::All).unwrap();
        let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
        let expected: Vec<f64> = rows.map(|i| f(world.x[i])).collect();
        close(&numbers(&found, "f"), &expected, 2f64.powi(-9));
    }
    // The text of a lambda is a function of its own, and predicted as such.
    let explained = "EXPLAIN SELECT he_map(x, v -> ln(v + 4), -2.0, 2.0) FROM t";
    let batches = sql(&session, explained).await.unwrap().collect().await.unwrap();
    let text = pretty_format_batches(&batches).unwrap().to_string();
    assert!(text.contains("predictions") && text.contains("v -> ln(v + 4)"), "{text}");
    // What the language of functions lacks is refused when the query is planned.
    for (call, expected) in [
        ("he_map(x, v -> v + y, -2.0, 2.0)", "No field named y"),
        ("he_map(x, (v, w) -> v + w, -2.0, 2.0)", "no function of one variable"),
        ("he_map(x, v -> v + random(), -2.0, 2.0)", "not the same for every evaluation"),
        ("he_map(x, v -> sum(v), -2.0, 2.0)", "is no function"),
        ("he_map(x, v -> ln(v), -2.0, 2.0)", "he_map cannot be planned"),
        ("he_map(x, v -> he_scale(v, 2), -2.0, 2.0)", "is no function"),
        ("he_map(x, v INT -> v / 2, -2.0, 2.0)", "declares a type"),
        (r#"he_map(x, "x -> 2 * x --" -> 5, -2.0, 2.0)"#, "quotes its variable"),
        ("he_map(x, v -> - -v, -2.0, 2.0)", "begin a comment"),
        ("he_scale(x, v -> v)", "ambda"),
    ] {
        let refusal = sql(&session, &format!("SELECT {call} FROM t")).await.unwrap_err();
        assert!(refusal.to_string().contains(expected), "{call}: {refusal}");
    }
}

#[tokio::test]
async fn a_bootstrap_returns_levels() {
    let world =
        World::of(Preset::Insecure(Toy::Bootstrapping), &Needs::new().multiply().bootstrap());
    let session = world.session().await;
    // One product more than there are levels.
    let products = world.client.params().levels() + 1;
    let squares =
        |x: &str, count: usize| (0..count).fold(x.to_string(), |x, _| format!("he_mul({x}, {x})"));
    let deep = squares("he_scale(x, 0.5)", products);
    let refusal = world.refusal(&session, &format!("SELECT {deep} FROM t")).await;
    assert!(refusal.contains("he_mul cannot be planned"), "{refusal}");
    let first = squares("he_scale(x, 0.5)", 2);
    let deep = squares(&format!("he_refresh({first})"), products - 2);
    let sql = format!("SELECT {deep} AS p FROM t WHERE g = 'b'");
    let found = world.query(&session, &sql, Values::All).await;
    let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
    let expected: Vec<f64> = rows.map(|i| (world.x[i] / 2.0).powi(1 << products)).collect();
    close(&numbers(&found, "p"), &expected, 1e-3);
}

#[tokio::test]
async fn vectors_of_providers_are_columns_of_the_owner() {
    let world = World::new();
    let session = world.session().await;
    let params = world.client.params();
    let public = world.client.public_key().unwrap();
    let given = public.encrypt(&world.x[..1024], RANGE[0]..=RANGE[1]).unwrap();
    let object = world.node.keys().put_vector(params, &given).unwrap();
    let own = world.client.encrypt_seeded(&world.y[..1024], RANGE[0]..=RANGE[1]).unwrap();
    let [given, own] = [
        bellerophon::format::to_bytes(params, &given).unwrap(),
        bellerophon::format::to_bytes(params, &own).unwrap(),
    ];
    // A vector of the owner beside one of a provider, in a column that describes both.
    let file = std::fs::File::create(world.folder.path().join("provided.parquet")).unwrap();
    TableWriter::provided(&public, world.options(), file).unwrap().finish().unwrap();
    session.deregister_table("t").unwrap();
    world.register(&session, "t", "provided.parquet").await;
    forged(&session, vec![given, own]).await;
    let values: Vec<f64> = world.x[..1024].iter().chain(&world.y[..1024]).copied().collect();
    let sql = "SELECT he_mul(x, x) AS p FROM forged";
    let found = world.query(&session, sql, Values::All).await;
    close(&numbers(&found, "p"), &values.iter().map(|x| x * x).collect::<Vec<_>>(), 1e-3);
    let sql = "SELECT he_sum_slots(he_sum(x)) AS s, sum(he_count(x)) AS n FROM forged";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "s"), &[values.iter().sum()], 1e-2);
    let count = found.column_by_name("n").unwrap().as_primitive::<Int64Type>().value(0);
    assert_eq!(count, 2048);
    // An object of the store.
    let sql = format!("SELECT he_scale(he_object('{object}'), 2) AS d");
    let found = world.query(&session, &sql, Values::All).await;
    close(&numbers(&found, "d"), &values[..1024].iter().map(|x| 2.0 * x).collect::<Vec<_>>(), 1e-3);
}

#[tokio::test]
async fn results_become_comma_separated_values() {
    let world = World::new();
    let session = world.session().await;
    let run = async |sql: &str| session.sql(sql).await.unwrap().collect().await.unwrap();
    let written = |batches: &[_], values| {
        let mut text = Vec::new();
        let rows = write_csv(&world.client, batches, values, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_string).collect();
        assert_eq!(lines.len(), rows + usize::from(rows > 0), "{text}");
        lines
    };
    let sql = "SELECT g, he_mean(x) AS m, CASE WHEN g = 'a' THEN he_sum(y) END AS s FROM t \
               GROUP BY g ORDER BY g";
    let lines = written(&run(sql).await, Values::First);
    assert_eq!(lines[0], "g,m,s");
    let of = |group: &str| -> Vec<f64> {
        (0..ROWS).filter(|&i| world.groups[i] == group).map(|i| world.x[i]).collect()
    };
    for (line, group) in lines[1..].iter().zip(["a", "b"]) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!((fields.len(), fields[0]), (3, group));
        close(&[fields[1].parse().unwrap()], &[mean(&of(group))], 1e-5);
        assert_eq!(fields[2].is_empty(), group == "b", "{line}");
    }
    // A line for each value, in many batches; the same digits as the columns of Arrow.
    let batches = run("SELECT g, x FROM t").await;
    let lines = written(&batches, Values::All);
    let clear = decrypt(&world.client, &batches, Values::All).unwrap();
    assert_eq!((lines.len(), clear.num_rows()), (ROWS + 1, ROWS));
    for (line, x) in lines[1..].iter().zip(numbers(&clear, "x")) {
        assert_eq!(line.split(',').nth(1).unwrap().parse(), Ok(x));
    }
    assert!(written(&[], Values::All).is_empty());
}

#[tokio::test]
async fn a_table_of_comma_separated_values_is_encrypted_as_it_is_read() {
    let world = World::new();
    let mut csv = String::from("g,unused,y,\"x\"\n");
    for i in 0..ROWS {
        csv += &format!("{},\"a, b\",{},{}\n", world.groups[i], world.y[i], world.x[i]);
    }
    let write = |csv: &str| {
        let file = std::fs::File::create(world.folder.path().join("csv.parquet")).unwrap();
        let mut writer = TableWriter::new(&world.client, world.options(), file).unwrap();
        let mut heard = vec![];
        writer.write_csv(csv.as_bytes(), |progress| heard.push(progress.rows))?;
        writer.finish().map(|_| heard)
    };
    // Once in every few thousand rows.
    assert_eq!(write(&csv).unwrap(), [ROWS]);
    let session = world.session().await;
    world.register(&session, "c", "csv.parquet").await;
    for column in ["x", "y"] {
        let query = |table| format!("SELECT {column} AS v FROM {table}");
        let [read, direct] = [query("c"), query("t")];
        let read = numbers(&world.query(&session, &read, Values::All).await, "v");
        let direct = numbers(&world.query(&session, &direct, Values::All).await, "v");
        close(&read, &direct, 1e-6);
    }
    // What is no number, missing, or too much is refused with its row, and not repeated.
    let lines: Vec<&str> = csv.lines().collect();
    for (bad, expected) in [
        ("a,u,0.5,secret", "row 2 has no number"),
        ("a,u,0.5,", "row 2 has no number"),
        ("a,u,0.5,17.25", "row 2 has no number"),
        (",u,0.5,0.5", "a group has no name"),
        ("a,u,0.5,0.5,0.5", "fields"),
        ("a,u", "fields"),
    ] {
        let refused = write(&[lines[0], lines[1], bad].join("\n")).unwrap_err().to_string();
        assert!(refused.contains(expected), "{bad}: {refused}");
        assert!(!refused.contains("secret") && !refused.contains("17.25"), "{refused}");
    }
    assert!(write("x,y\n1,1\n").unwrap_err().to_string().contains("there is none"));
    assert!(write("").unwrap().is_empty());
}

#[tokio::test]
async fn a_function_that_is_defined_while_a_query_is_planned_has_plans_of_its_own() {
    let world = World::new();
    let session = world.session().await;
    let mirrored = || MapFunction::closure("mirrored", |x| 1.0 - x);
    let (node, once) = (Arc::downgrade(&world.node), Once::new());
    let first = MapFunction::closure("first", move |x| {
        once.call_once(|| node.upgrade().unwrap().define("f", mirrored()));
        x / 2.0
    });
    world.node.define("f", first);
    world.node.define("mirrored", mirrored());
    let described = async |function: &str| {
        let sql = format!("SELECT he_map(x, '{function}', -2.0, 2.0) AS r FROM t");
        let frame = session.sql(&sql).await.unwrap();
        (frame.schema().field(0).metadata().clone(), sql)
    };
    described("f").await;
    let (found, sql) = described("f").await;
    assert_eq!(found, described("mirrored").await.0);
    let found = world.query(&session, &format!("{sql} WHERE g = 'b'"), Values::All).await;
    let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
    let expected: Vec<_> = rows.map(|i| 1.0 - world.x[i]).collect();
    close(&numbers(&found, "r"), &expected, 1e-3);
}

#[tokio::test]
async fn vectors_in_work_count_in_the_memory_of_the_node() {
    let world = World::new();
    let session = world.session().await;
    let taken = MemoryConsumer::new("test").register(world.node.memory());
    taken.try_grow(MEMORY - (1 << 16)).unwrap();
    let refusal = world.refusal(&session, "SELECT he_scale(x, 0.5) FROM t").await;
    assert!(refusal.contains("Resources exhausted") && refusal.contains("he_scale"), "{refusal}");
    let refusal = world.refusal(&session, "SELECT he_sum(x) FROM t").await;
    assert!(refusal.contains("Resources exhausted") && refusal.contains("he_sum"), "{refusal}");
    taken.free();
    world.query(&session, "SELECT he_scale(x, 0.5) AS s FROM t", Values::All).await;
}
