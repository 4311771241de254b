//! Hostile queries and files: an error that says why, or the right result.

use std::{fs, sync::Arc};

use bellerophon::prelude::*;
use bellerophon_datafusion::{TableOptions, TableWriter, Values, decrypt};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BinaryArray, Int64Array},
        datatypes::{DataType, Field, Int64Type, Schema},
        record_batch::RecordBatch,
    },
    datasource::MemTable,
    prelude::SessionContext,
};

use crate::world::{ROWS, World, close, numbers};

/// The metadata of a field that describes an encrypted column.
const FIELD: &str = "bellerophon";

/// The values of a column in the rows of a group.
fn of(world: &World, values: &[f64], group: &str) -> Vec<f64> {
    let rows = values.iter().zip(&world.groups);
    rows.filter(|(_, g)| **g == group).map(|(value, _)| *value).collect()
}

/// Registers a table of one batch.
fn table(session: &SessionContext, name: &str, columns: Vec<(Field, ArrayRef)>) {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
    let table = MemTable::try_new(schema, vec![vec![batch]]).unwrap();
    session.deregister_table(name).unwrap();
    session.register_table(name, Arc::new(table)).unwrap();
}

/// The field of the column `x` of the real table, and its vectors.
async fn real(session: &SessionContext) -> (Field, Vec<Vec<u8>>) {
    let batches = session.sql("SELECT x FROM t").await.unwrap().collect().await.unwrap();
    let field = batches[0].schema().field(0).clone().with_nullable(true);
    let columns = batches.iter().map(|batch| batch.column(0).as_binary::<i32>());
    (field, columns.flat_map(|column| column.iter().flatten().map(<[u8]>::to_vec)).collect())
}

#[tokio::test]
async fn ciphertexts_are_not_compared() {
    let world = World::new();
    let session = world.session().await;
    for sql in [
        "SELECT * FROM t WHERE x = y",
        "SELECT g FROM t WHERE x IS DISTINCT FROM y",
        "SELECT g FROM t WHERE he_scale(x, 2) < y",
        "SELECT g FROM t WHERE x BETWEEN y AND y",
        "SELECT g FROM t WHERE x IN (y)",
        "SELECT g FROM t WHERE x IN (SELECT y FROM t)",
        "SELECT CASE x WHEN y THEN 1 ELSE 0 END FROM t",
        "SELECT g FROM t ORDER BY x",
        "SELECT x FROM t GROUP BY x",
        "SELECT DISTINCT x FROM t",
        "SELECT DISTINCT ON (x) g FROM t",
        "SELECT count(DISTINCT x) FROM t",
        "SELECT min(x) FROM t",
        "SELECT min(x) OVER (PARTITION BY g) FROM t",
        "SELECT max(x) OVER () FROM t",
        "SELECT count(DISTINCT x) OVER () FROM t",
        "SELECT x FROM t GROUP BY ROLLUP(x)",
        "SELECT x FROM t GROUP BY CUBE(g, x)",
        "SELECT g FROM t GROUP BY GROUPING SETS ((g), (g, x))",
        "SELECT DISTINCT ON (g) g, x FROM t ORDER BY g, x",
        "SELECT g FROM t WHERE x = ANY (SELECT y FROM t)",
        "SELECT g FROM t WHERE x <> ALL (SELECT y FROM t)",
        "SELECT g FROM t WHERE 'a'::BYTEA BETWEEN 'a'::BYTEA AND x",
        "SELECT g FROM t WHERE 'a'::BYTEA IN (x)",
        "SELECT g FROM t WHERE 'a'::BYTEA IN (SELECT x FROM t)",
        "SELECT CASE 'a'::BYTEA WHEN x THEN 1 ELSE 0 END FROM t",
        "SELECT nullif(x, y) FROM t",
        "SELECT greatest(x, y) FROM t",
        "SELECT least(x, y) FROM t",
        "SELECT count(*) FROM t GROUP BY coalesce(x, y)",
        "SELECT min(coalesce(x, x)) FROM t",
        "SELECT g FROM t ORDER BY encode(x, 'hex')",
        "SELECT g FROM t WHERE coalesce(x, y) = coalesce(y, x)",
        "SELECT DISTINCT coalesce(x, y) FROM t",
        "SELECT DISTINCT v FROM (SELECT coalesce(x, y) AS v FROM t) AS s",
        "SELECT coalesce(x, y) AS v FROM t ORDER BY v",
        "SELECT max(v) FROM (SELECT g, coalesce(x, y) AS v FROM t WHERE g = 'a') AS s",
        "WITH s AS (SELECT coalesce(x, y) AS v FROM t) \
         SELECT a.v FROM s AS a JOIN s AS b ON a.v = b.v",
        "SELECT x FROM t UNION SELECT he_scale(x, 2) FROM t",
        "SELECT DISTINCT x FROM (SELECT x FROM t UNION ALL SELECT he_scale(x, 2) FROM t)",
        "SELECT x FROM (SELECT x FROM t UNION ALL SELECT he_scale(x, 2) FROM t) ORDER BY x",
        "SELECT coalesce(x, y) FROM t UNION SELECT coalesce(y, x) FROM t",
        "WITH RECURSIVE r AS (SELECT x FROM t UNION SELECT x FROM r) SELECT x FROM r",
        "SELECT x FROM t UNION SELECT x FROM t",
        "SELECT x FROM t INTERSECT SELECT x FROM t",
        "SELECT a.g FROM t AS a JOIN t AS b ON a.x = b.x",
        "SELECT a.g FROM t AS a JOIN t AS b USING (x)",
        "SELECT row_number() OVER (ORDER BY x) FROM t",
        "SELECT count(*) OVER (PARTITION BY x) FROM t",
        "SELECT g FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.x = t.x)",
        "SELECT g FROM t WHERE (SELECT coalesce(x, y) FROM t LIMIT 1) = 'a'::BYTEA",
        "SELECT g FROM t WHERE encode(x, 'hex') LIKE 'a%'",
        "SELECT g FROM t WHERE 'a' LIKE encode(x, 'hex')",
        "SELECT g FROM t WHERE encode(x, 'hex') SIMILAR TO 'a'",
        "SELECT g FROM t WHERE encode(x, 'hex') ~ '^a'",
        "SELECT g FROM t WHERE encode(x, 'hex') !~ '^a'",
        "SELECT g FROM t WHERE encode(x, 'hex') ~* '^a'",
        "SELECT g FROM t WHERE encode(x, 'hex') !~* '^a'",
        "SELECT g FROM t WHERE encode(x, 'hex') ~~ 'a%'",
        "SELECT g FROM t WHERE encode(x, 'hex') !~~* 'a%'",
        "SELECT g FROM t WHERE 'a' ~ encode(x, 'hex')",
        "SELECT starts_with(encode(x, 'hex'), 'a') FROM t",
        "SELECT [x] @> [y] FROM t",
        "SELECT array_distinct([x, y]) FROM t",
        "SELECT DISTINCT v FROM (SELECT unnest([x, y]) AS v FROM t)",
        // Results without a description could be compared later.
        "SELECT array_agg(x) FROM t",
        "SELECT nth_value(x, 1 ORDER BY g) FROM t",
        "SELECT array_agg(coalesce(x, y)) OVER () FROM t",
        "SELECT first_value(coalesce(x, y)) FROM t",
        // Those of these functions have one.
        "SELECT g FROM t GROUP BY g ORDER BY first_value(x)",
        "SELECT g FROM t GROUP BY g ORDER BY any_value(x)",
        "SELECT v FROM (SELECT last_value(x) AS v FROM t) ORDER BY v",
        "SELECT DISTINCT v FROM (SELECT nth_value(x, 1) OVER () AS v FROM t)",
        "SELECT g FROM (SELECT g, lag(x) OVER (ORDER BY g) AS v FROM t) AS s WHERE v = v",
    ] {
        world.refuses(&session, sql, "it compares ciphertexts").await;
    }
    // Clauses over columns in the clear, and presence, are none of these.
    for sql in [
        "SELECT g FROM t WHERE he_count(x) > 5.5 ORDER BY he_count(x) + 1, x IS NULL",
        "SELECT DISTINCT n FROM (SELECT he_count(x) + 1 AS n, coalesce(x, y) AS v FROM t) AS s",
        "SELECT count(*) FROM t GROUP BY ROLLUP(g, he_count(x))",
        "SELECT greatest(he_count(x), he_count(y)) FROM t",
        "SELECT g, count(x) FROM t WHERE x IS NOT NULL AND g = 'a' GROUP BY g ORDER BY g",
        "SELECT DISTINCT g FROM t",
        "SELECT x FROM t UNION ALL SELECT x FROM t",
        "SELECT x FROM t UNION ALL SELECT he_scale(x, 2) FROM t",
        "SELECT a.x FROM t AS a JOIN t AS b ON a.g = b.g",
        "SELECT he_scale(first_value(x), 2), last_value(x) FROM t GROUP BY g",
        "SELECT he_scale(any_value(x), 2) FROM t",
        "SELECT g FROM t WHERE starts_with(g, 'a') AND g ~ 'a' AND [g] @> ['a']",
    ] {
        session.sql(sql).await.unwrap().collect().await.unwrap();
    }
}

#[tokio::test]
async fn aggregates_are_no_window_functions() {
    let world = World::new();
    let session = world.session().await;
    for call in ["he_sum(x)", "he_mean(x)", "he_variance(x)", "he_covariance(x, y)"] {
        world
            .refuses(&session, &format!("SELECT {call} OVER () FROM t"), "it is no window function")
            .await;
    }
}

#[tokio::test]
async fn missing_vectors_give_missing_results() {
    let world = World::new();
    let session = world.session().await;
    let (field, vectors) = real(&session).await;
    let vectors: Vec<Option<&[u8]>> = vec![None, Some(&vectors[0]), None];
    let counts: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(3)]));
    let columns = vec![
        (field, Arc::new(BinaryArray::from(vectors)) as ArrayRef),
        (Field::new("n", DataType::Int64, true), counts),
        (Field::new("z", DataType::Int64, true), Arc::new(Int64Array::from(vec![0, 2, -1]))),
    ];
    table(&session, "gaps", columns);
    let sql = "SELECT he_scale(x, 0.5) AS a, he_mul(x, x) AS b, he_divide(x, n) AS c, \
               he_add(x, he_scale(x, 2)) AS d, he_count(x) AS e, he_divide(x, z) AS f FROM gaps";
    let batches = session.sql(sql).await.unwrap().collect().await.unwrap();
    let nulls = |column: usize| {
        let column = batches[0].column(column);
        (0..3).map(|row| column.is_null(row)).collect::<Vec<_>>()
    };
    assert_eq!([0, 1, 3, 4, 5].map(nulls), [0; 5].map(|_| vec![true, false, true]));
    assert_eq!(nulls(2), [true; 3]);
    // Sums leave them out, and a sum of none is none.
    let sql = "SELECT he_mean(x) AS m, he_variance(x) AS v FROM gaps";
    let found = world.query(&session, sql, Values::First).await;
    let of_a = of(&world, &world.x, "a");
    let (first, count) = (&of_a[..1024], 1024.0);
    let mean = first.iter().sum::<f64>() / count;
    close(&numbers(&found, "m"), &[mean], 1e-5);
    let variance = first.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    close(&numbers(&found, "v"), &[variance], 1e-4);
    for condition in ["g = 'nobody'", "false", "x IS NULL"] {
        let sql = format!(
            "SELECT he_sum(x) AS s, he_mean(x) AS m, he_variance(x) AS v, \
             he_covariance(x, y) AS c, sum(he_count(x)) AS n FROM t WHERE {condition}"
        );
        let batches = session.sql(&sql).await.unwrap().collect().await.unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1, "{condition}");
        assert!(batches[0].columns().iter().all(|column| column.is_null(0)), "{condition}");
        let sql = format!("SELECT g, he_mean(x) AS m FROM t WHERE {condition} GROUP BY g");
        let batches = session.sql(&sql).await.unwrap().collect().await.unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 0, "{condition}");
    }
}

#[test]
fn a_table_has_a_column_to_encrypt() {
    let world = World::new();
    let options = TableOptions { columns: vec![], ..world.options() };
    let refusal = TableWriter::new(&world.client, options, Vec::new()).unwrap_err().to_string();
    assert!(refusal.contains("no column to encrypt"), "{refusal}");
}

#[test]
fn cells_are_separated_by_commas() {
    let world = World::new();
    for (text, reason) in [
        ("g;x;y\na;0,5;1\n", "the cells are separated by semicolons"),
        ("g\tx\ty\na\t0.5\t1\n", "the cells are separated by tabs"),
        // Separators in quotes are part of a name.
        ("\"g,a,b\";x;y\na;0,5;1\n", "the cells are separated by semicolons"),
    ] {
        let mut writer = TableWriter::new(&world.client, world.options(), Vec::new()).unwrap();
        let refusal = writer.write_csv(text.as_bytes(), |_| {}).unwrap_err().to_string();
        assert!(refusal.contains(reason), "{refusal}");
    }
}

#[tokio::test]
async fn divisors_count_something() {
    let world = World::new();
    let session = world.session().await;
    for divisor in ["0", "-3"] {
        let refusal =
            world.refusal(&session, &format!("SELECT he_divide(x, {divisor}) FROM t")).await;
        let expected = format!("he_divide, row 0 of its batch: division by {divisor}");
        assert!(refusal.contains(&expected), "{refusal}");
    }
    // A literal one is known when the query is planned, as a factor is.
    let sql = "SELECT he_divide(x, 2) AS a, he_scale(x, 0.5) AS b FROM t";
    let frame = session.sql(sql).await.unwrap();
    let [a, b] = [0, 1].map(|i| frame.schema().field(i).metadata()[FIELD].clone());
    assert_eq!(a, b);
}

#[tokio::test]
async fn unusual_queries_have_the_right_result() {
    let world = World::new();
    let session = world.session().await;
    let [a, b] = ["a", "b"].map(|group| of(&world, &world.x, group));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    // A group with one vector, a function named twice, conditions around functions.
    let sql = "SELECT g, he_mean(x) AS m, he_mean(x) AS again, \
               CASE WHEN g = 'a' THEN he_mean(x) ELSE he_sum_slots(he_sum(x)) END AS c \
               FROM t GROUP BY g ORDER BY g";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "m"), &[mean(&a), mean(&b)], 1e-5);
    assert_eq!(numbers(&found, "m"), numbers(&found, "again"));
    close(&numbers(&found, "c"), &[mean(&a), b.iter().sum()], 1e-2);
    // Aggregates of a part of the rows, of functions, of subqueries.
    let sql = "SELECT he_sum_slots(he_sum(x) FILTER (WHERE g = 'b')) AS s FROM t";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "s"), &[b.iter().sum()], 1e-2);
    let sql = "SELECT he_mean(he_scale(h, 2)) AS m FROM (SELECT he_scale(x, 0.5) AS h FROM t)";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "m"), &[mean(&world.x)], 1e-5);
    let sql = "WITH s AS (SELECT he_mean(x) AS m FROM t) \
               SELECT he_variance(he_sub(t.x, s.m)) AS v FROM t, s";
    let found = world.query(&session, sql, Values::First).await;
    let m = mean(&world.x);
    let variance = mean(&world.x.iter().map(|x| (x - m).powi(2)).collect::<Vec<_>>());
    close(&numbers(&found, "v"), &[variance], 1e-3);
    // The same vectors twice.
    let sql = "SELECT he_mean(x) AS m FROM (SELECT x FROM t UNION ALL SELECT x FROM t)";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "m"), &[m], 1e-5);
    let sql = "SELECT he_sum_slots(he_sum(x)) AS s FROM t HAVING count(*) > 2500";
    let batches = session.sql(sql).await.unwrap().collect().await.unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
}

#[tokio::test]
async fn arguments_of_wrong_types_are_refused() {
    let world = World::new();
    let session = world.session().await;
    for (query, expected) in [
        ("SELECT he_add(x, NULL) FROM t", "need Vector"),
        ("SELECT he_scale(x, NULL) FROM t", "need Number"),
        ("SELECT he_scale(x, 'NaN'::DOUBLE) FROM t", "must be a literal"),
        ("SELECT he_scale(x, 1e308 * 10) FROM t", "must be a literal"),
        ("SELECT he_scale(x, 1 - 3) FROM t", "must be a literal"),
        ("SELECT he_scale(x, count(*)) FROM t", "argument 2 must be a literal"),
        ("SELECT he_rotate(x, 1e30) FROM t", "must be an integer"),
        ("SELECT he_add(x, 1) FROM t", "need Vector"),
        ("SELECT x + y FROM t", "he_add"),
        ("SELECT he_map(x, NULL, 0.0, 1.0) FROM t", "need Text"),
        ("SELECT he_map(x, '', 0.0, 1.0) FROM t", "no function has this name"),
        ("SELECT he_map(x, ';', 0.0, 1.0) FROM t", "no function has this name"),
        ("SELECT he_map(x, '0;inf', 0.0, 1.0) FROM t", "no function has this name"),
        ("SELECT he_map(x, '->', 0.0, 1.0) FROM t", "no name of a variable"),
        ("SELECT he_map(x, 'x -> (SELECT 1)', 0.0, 1.0) FROM t", "is no function"),
        ("SELECT he_map(x, 'sigmoid', 0.0, 0.0) FROM t", "he_map cannot be planned"),
        ("SELECT he_map(x, 'sigmoid', -2.0, 2.0, 1e9) FROM t", "he_map cannot be planned"),
        ("SELECT he_polynomial(x, '') FROM t", "is no polynomial"),
        ("SELECT he_polynomial(x, '1,NaN') FROM t", "he_polynomial cannot be planned"),
        ("SELECT he_publish(x, 1.0, -1.0) FROM t", "he_publish cannot be planned"),
        ("SELECT he_assume_range(x, 1.0, -1.0) FROM t", "he_assume_range cannot be planned"),
        ("SELECT he_assume_error(x, -1.0) FROM t", "he_assume_error cannot be planned"),
        ("SELECT he_sum(g) FROM t", "he_sum"),
        ("SELECT he_sum(x, y) FROM t", "he_sum"),
        ("SELECT he_sum() FROM t", "he_sum"),
        ("SELECT he_mean() FROM t", "he_mean"),
        ("SELECT he_sum(he_sum(x)) FROM t", "he_sum"),
        ("SELECT he_mean(he_mean(x)) FROM t", "cannot be nested"),
        ("SELECT he_scale(CASE WHEN g = 'a' THEN x ELSE y END, 2) FROM t", "no encrypted column"),
        ("SELECT he_scale(coalesce(x, y), 2) FROM t", "no encrypted column"),
        ("SELECT he_object(g) FROM t", "argument 1 must be a literal"),
        ("SELECT he_object(NULL)", "need Text"),
        ("SELECT he_nothing(x) FROM t", "he_nothing"),
    ] {
        let refusal = world.refusal(&session, query).await;
        assert!(refusal.contains(expected), "{query}: {refusal}");
        assert!(!refusal.contains("panicked"), "{query}: {refusal}");
    }
    // The right literals, in the forms that the parser gives them.
    for call in ["he_scale(x, -0.5)", "he_scale(x, 5e-1)", "he_rotate(x, +1)"] {
        world.query(&session, &format!("SELECT {call} AS r FROM t"), Values::All).await;
    }
}

#[tokio::test]
async fn owners_do_not_meet_in_any_part_of_a_query() {
    let world = World::new();
    let stranger = ClientKey::generate(world.client.params()).unwrap();
    world.write(&stranger, "strange.parquet");
    let session = world.session().await;
    world.register(&session, "strange", "strange.parquet").await;
    for (sql, expected) in [
        ("SELECT he_covariance(t.x, strange.x) FROM t, strange", "belong to the owners"),
        (
            "SELECT he_sub(a.m, b.m) FROM (SELECT he_mean(x) AS m FROM t) AS a, \
             (SELECT he_sum(x) AS m FROM strange) AS b",
            "belong to the owners",
        ),
        (
            "SELECT he_sum(x) FROM (SELECT x FROM t UNION ALL SELECT x FROM strange)",
            "no encrypted column",
        ),
    ] {
        world.refuses(&session, sql, expected).await;
    }
    // A file that gives itself another owner.
    let (field, _) = real(&session).await;
    let batches = session.sql("SELECT x FROM strange").await.unwrap().collect().await.unwrap();
    table(&session, "forged", vec![(field, batches[0].column(0).clone())]);
    for call in ["he_add(x, x)", "he_sum(x)", "he_mul(x, x)", "he_publish(x, -2.0, 2.0)"] {
        world.refuses(&session, &format!("SELECT {call} FROM forged"), "row 0 of its batch").await;
    }
}

#[tokio::test]
async fn forged_descriptions_of_columns_are_refused() {
    let world = World::new();
    let session = world.session().await;
    let (field, vectors) = real(&session).await;
    let good = field.metadata()[FIELD].clone();
    let changed = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}: {good}");
        changed
    };
    let level = world.client.params().levels();
    let slots = world.client.params().ckks().max_slots();
    let level = |to: &str| changed(&format!("\"level\":{level}"), &format!("\"level\":{to}"));
    let slots = |to: &str| changed(&format!("\"slots\":{slots}"), &format!("\"slots\":{to}"));
    let cases = [
        String::new(),
        "{".into(),
        "null".into(),
        "[1e999]".into(),
        level("1000"),
        level("18446744073709551615"),
        level("-1"),
        slots("0"),
        slots("4294967295"),
        slots("2147483648"),
        slots("3"),
        changed("\"len\":1023", "\"len\":0"),
        changed("\"len\":1023", "\"len\":4294967295"),
        changed("\"scale\":", "\"scale\":-1"),
        changed("\"scale\":", "\"scale\":1e300,\"unused\":"),
        changed("\"scale\":", "\"scale\":0,\"unused\":"),
        changed("\"Real\":[-2.0,2.0]", "\"Real\":[2.0,-2.0]"),
        changed("\"Real\":[-2.0,2.0]", "\"Real\":[-1e300,1e300]"),
        changed("\"Real\":[-2.0,2.0]", "\"Real\":[null,2.0]"),
        changed("\"total\":", "\"total\":-1,\"unused\":"),
        changed("\"excess\":", "\"excess\":1e300,\"unused\":"),
        changed("\"params\":\"", "\"params\":\"00"),
        changed("\"params\":\"", "\"params\":\"../../"),
        changed(&world.params.to_string(), &world.keys.to_string()),
        changed("\"owner\":\"", "\"owner\":\"zz"),
        changed("\"owner\":\"", "\"owner\":\"0"),
        changed("\"vectors\":6", "\"vectors\":18446744073709551615"),
    ];
    for text in cases {
        let described = field.clone().with_metadata([(FIELD.to_string(), text.clone())].into());
        let column: ArrayRef = Arc::new(BinaryArray::from_iter_values(&vectors));
        table(&session, "forged", vec![(described, column)]);
        for call in ["he_sum(x)", "he_mean(x)", "he_mul(x, x)", "he_map(x, 'sigmoid', -2.0, 2.0)"] {
            let sql = format!("SELECT {call} AS r FROM forged");
            let result = async { session.sql(&sql).await?.collect().await };
            // Vectors carry their own description: a query may also have the right result.
            match result.await {
                Ok(batches) => {
                    let values = decrypt(&world.client, &batches, Values::First).unwrap();
                    assert!(numbers(&values, "r")[0].abs() < 1e4, "{text}: {call}");
                }
                Err(refusal) => {
                    let refusal = refusal.to_string();
                    assert!(!refusal.contains("panicked"), "{text}: {call}: {refusal}");
                }
            }
            let explained = async { session.sql(&format!("EXPLAIN {sql}")).await?.collect().await };
            if let Err(refusal) = explained.await {
                assert!(!refusal.to_string().contains("panicked"), "{text}: {call}: {refusal}");
            }
        }
    }
}

#[tokio::test]
async fn damaged_files_are_refused() {
    let world = World::new();
    let whole = fs::read(world.folder.path().join("table.parquet")).unwrap();
    let session = world.session().await;
    let count = async |bytes: &[u8]| {
        fs::write(world.folder.path().join("bad.parquet"), bytes).unwrap();
        session.deregister_table("bad").unwrap();
        let path = world.folder.path().join("bad.parquet");
        let options = datafusion::prelude::ParquetReadOptions::default();
        session.register_parquet("bad", path.to_str().unwrap(), options).await?;
        let sql = "SELECT he_sum(x) AS s, sum(he_count(x)) AS n, he_sum(y) AS t FROM bad";
        session.sql(sql).await?.collect().await
    };
    // The file itself, so that the others fail for what is wrong with them.
    let batches = count(&whole).await.unwrap();
    let found = batches[0].column(1).as_primitive::<Int64Type>().value(0);
    assert_eq!(found as usize, ROWS);
    // Ends in the middle, in the footer and in front of it.
    for len in [0, 3, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        assert!(count(&whole[..len]).await.is_err(), "{len} bytes");
    }
    // A changed byte anywhere: an error, or a byte that nothing depends on.
    let expected = |batches: &[RecordBatch]| {
        let count = batches[0].column(1).as_primitive::<Int64Type>().value(0);
        count as usize == ROWS
    };
    let mut refused = 0;
    for i in 0..60 {
        let at = (whole.len() - 1) * i / 59;
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        match count(&bytes).await {
            Ok(batches) => assert!(expected(&batches), "byte {at}"),
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().contains("panicked"), "byte {at}: {error}");
            }
        }
    }
    assert!(refused > 50, "{refused}");
}
