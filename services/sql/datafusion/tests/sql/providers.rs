//! Columns that others encrypt with the public key of the owner.

use std::{
    fs::{self, File},
    sync::Arc,
};

use bellerophon::prelude::*;
use bellerophon_datafusion::{TableOptions, TableWriter, Values};
use datafusion::{
    arrow::{
        array::{AsArray, BinaryArray, StringArray},
        datatypes::Int64Type,
        record_batch::RecordBatch,
    },
    prelude::{ParquetReadOptions, SessionContext},
};

use crate::world::{RANGE, ROWS, World, close, forged, numbers};

/// Where the rows of the second provider begin.
const MIDDLE: usize = 1700;

/// The options that all files have in common: no file has more than six vectors.
fn options(world: &World) -> TableOptions {
    TableOptions { most_vectors: 18, ..world.options() }
}

/// The table as two files of a folder, each of a provider who has the public key: one from record
/// batches, one from comma-separated values.
fn provide(world: &World, owner: &ClientKey) -> String {
    let folder = world.folder.path().join("provided");
    fs::create_dir_all(&folder).unwrap();
    let public = owner.public_key().unwrap().to_bytes().unwrap();
    let key = || PublicKey::from_bytes(owner.params(), &public).unwrap();
    let (first, second) = (key(), key());
    let begin = |key, name| {
        let file = File::create(folder.join(name)).unwrap();
        TableWriter::provided(key, options(world), file).unwrap()
    };
    let mut writer = begin(&first, "1.parquet");
    writer.write(&world.plain().slice(0, MIDDLE)).unwrap();
    assert_eq!(writer.finish().unwrap().rows, MIDDLE);
    let mut csv = String::from("g,y,x\n");
    for i in MIDDLE..ROWS {
        csv += &format!("{},{},{}\n", world.groups[i], world.y[i], world.x[i]);
    }
    let mut writer = begin(&second, "2.parquet");
    writer.write_csv(csv.as_bytes(), |_| {}).unwrap();
    assert_eq!(writer.finish().unwrap().rows, ROWS - MIDDLE);
    folder.to_string_lossy().into_owned()
}

async fn register(session: &SessionContext, folder: &str) {
    session.register_parquet("p", folder, ParquetReadOptions::default()).await.unwrap();
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[tokio::test]
async fn a_table_of_providers_is_one_of_the_owner() {
    let world = World::new();
    let folder = provide(&world, &world.client);
    let session = world.session().await;
    register(&session, &folder).await;
    // Statistics over all providers, of groups too.
    let sql = "SELECT he_mean(x) AS m, he_covariance(x, y) AS c, sum(he_count(x)) AS n FROM p";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "m"), &[mean(&world.x)], 1e-4);
    let products: Vec<f64> = world.x.iter().zip(&world.y).map(|(x, y)| x * y).collect();
    let covariance = mean(&products) - mean(&world.x) * mean(&world.y);
    close(&numbers(&found, "c"), &[covariance], 1e-3);
    let count = found.column_by_name("n").unwrap().as_primitive::<Int64Type>().value(0);
    assert_eq!(count, ROWS as i64);
    let sql = "SELECT g, he_mean(x) AS m FROM p GROUP BY g ORDER BY g";
    let found = world.query(&session, sql, Values::First).await;
    let means = ["a", "b"].map(|group| {
        let rows = (0..ROWS).filter(|&i| world.groups[i] == group);
        mean(&rows.map(|i| world.x[i]).collect::<Vec<_>>())
    });
    close(&numbers(&found, "m"), &means, 1e-4);
    // Functions of single values, beside each other in a row.
    let sql = "SELECT he_map(he_mul(x, y), 'tanh', -4.0, 4.0) AS t, he_dot(x, y) AS d FROM p";
    let found = world.query(&session, sql, Values::First).await;
    assert_eq!(found.num_rows(), 5);
    let sql = "SELECT he_map(he_mul(x, y), 'tanh', -4.0, 4.0) AS t FROM p";
    let mut found = numbers(&world.query(&session, sql, Values::All).await, "t");
    let mut expected: Vec<f64> = products.iter().map(|p| p.tanh()).collect();
    // The rows of groups, and of files, come in any order.
    found.sort_by(f64::total_cmp);
    expected.sort_by(f64::total_cmp);
    close(&found, &expected, 1e-3);
    // With a file that the owner provides.
    let file = File::create(format!("{folder}/3.parquet")).unwrap();
    let key = world.client.public_key().unwrap();
    let mut writer = TableWriter::provided(&key, options(&world), file).unwrap();
    writer.write(&world.plain()).unwrap();
    writer.finish().unwrap();
    let session = world.session().await;
    register(&session, &folder).await;
    let sql = "SELECT he_sum_slots(he_sum(x)) AS s FROM p";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "s"), &[2.0 * world.x.iter().sum::<f64>()], 1e-2);
}

#[tokio::test]
async fn the_columns_of_providers_have_one_owner() {
    let world = World::new();
    let other = ClientKey::generate(world.client.params()).unwrap();
    let folder = provide(&world, &other);
    let session = world.session().await;
    register(&session, &folder).await;
    world.refuses(&session, "SELECT he_add(p.x, t.x) FROM p, t", "owners").await;
    // The keys are those of the owner of `t`.
    let refusal = world.refusal(&session, "SELECT he_mul(x, x) FROM p").await;
    assert!(refusal.contains("he_mul"), "{refusal}");
    // Half a vector, another object, and a vector for another owner are named by row.
    let public = world.client.public_key().unwrap();
    let good = world.client.encrypt_seeded(&world.x[..1024], RANGE[0]..=RANGE[1]).unwrap();
    let good = bellerophon::format::to_bytes(world.client.params(), &good).unwrap();
    let theirs = other.encrypt_seeded(&world.x[..1024], RANGE[0]..=RANGE[1]).unwrap();
    let theirs = bellerophon::format::to_bytes(other.params(), &theirs).unwrap();
    let half = good[..good.len() / 2].to_vec();
    let key = public.to_bytes().unwrap();
    for (bad, expected) in
        [(half, "truncated"), (key, "the reader expects"), (theirs, "to the owner")]
    {
        forged(&session, vec![good.clone(), bad]).await;
        for sql in ["SELECT he_mul(x, x) FROM forged", "SELECT he_sum(x) FROM forged"] {
            let refusal = world.refusal(&session, sql).await;
            assert!(refusal.contains("row 1 of its batch"), "{refusal}");
            assert!(refusal.contains(expected), "{refusal}");
        }
    }
}

#[test]
fn a_provider_writes_what_the_declaration_says() {
    let world = World::new();
    let public = world.client.public_key().unwrap();
    let file = File::create(world.folder.path().join("wrong.parquet")).unwrap();
    let mut writer = TableWriter::provided(&public, world.options(), file).unwrap();
    let csv = "g,y,x\na,0.5,0.5\na,0.5,17.25\n";
    let refused = writer.write_csv(csv.as_bytes(), |_| {}).unwrap_err().to_string();
    assert!(refused.contains("row 2") && !refused.contains("17.25"), "{refused}");
    // A column of vectors is no column of numbers.
    let vectors = BinaryArray::from_iter_values([[0u8; 4]]);
    let batch = RecordBatch::try_from_iter([
        ("g", Arc::new(StringArray::from(vec!["a"])) as _),
        ("x", Arc::new(vectors) as _),
    ]);
    let refused = writer.write(&batch.unwrap()).unwrap_err().to_string();
    assert!(refused.contains("column") && refused.contains('x'), "{refused}");
}
