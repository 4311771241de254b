//! Queries and tables that are refused, each with its reason.

use std::{
    fs::File,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bellerophon::{lwe, prelude::*};
use bellerophon_datafusion::{
    EncryptedColumn, Functions, KEYS, TableOptions, TableWriter, Values, decrypt,
};
use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, Float64Array},
        record_batch::RecordBatch,
    },
    physical_plan::collect,
    prelude::{ParquetReadOptions, SessionContext, col},
};

use crate::world::{World, close, forged, numbers};

#[tokio::test]
async fn a_query_does_not_mix_owners() {
    let world = World::new();
    let stranger = ClientKey::generate(world.client.params()).unwrap();
    world.write(&stranger, "strange.parquet");
    let session = world.session().await;
    world.register(&session, "strange", "strange.parquet").await;
    let sql = "SELECT he_add(t.x, strange.x) FROM t, strange";
    let refusal = world.refusal(&session, sql).await;
    let owners = [world.client.id(), stranger.id()].map(|id| format!("{:032x}", id.0));
    assert!(owners.iter().all(|owner| refusal.contains(owner)), "{refusal}");

    // The keys of one owner do not serve the columns of another.
    world.refuses(&session, "SELECT he_mul(x, x) FROM strange", "he_mul, row 0").await;
    // And its results are no results of this client.
    let batches = session.sql("SELECT x FROM strange").await.unwrap().collect().await.unwrap();
    assert!(decrypt(&world.client, &batches, Values::All).is_err());
}

#[tokio::test]
async fn missing_settings_are_named() {
    let world = World::new();
    let session = world.session_on(&world.node, None, 1).await;
    world
        .refuses(
            &session,
            "SELECT he_mul(x, y) FROM t",
            "he_mul needs the setting `bellerophon.keys`",
        )
        .await;
    // Sums need none.
    world.query(&session, "SELECT he_sum(x) AS s FROM t", Values::All).await;
    // A setting in SQL serves later queries; unknown and malformed ones are errors.
    let set = format!("SET {KEYS} = '{}'", world.keys);
    session.sql(&set).await.unwrap().collect().await.unwrap();
    world.query(&session, "SELECT he_mul(x, y) AS p FROM t", Values::All).await;
    world.refuses(&session, "SET bellerophon.key = 'x'", "key").await;
    session.sql("SET bellerophon.keys = 'x'").await.unwrap().collect().await.unwrap();
    world.refuses(&session, "SELECT he_mul(x, y) FROM t", "need 64 hexadecimal digits").await;
}

#[tokio::test]
async fn functions_refuse_sessions_with_other_settings() {
    let world = World::new();
    let session = world.session().await;
    for (setting, value) in [
        ("datafusion.execution.batch_size", "8192"),
        ("datafusion.execution.parquet.skip_metadata", "true"),
    ] {
        let session = SessionContext::new_with_state(session.state());
        session.sql(&format!("SET {setting} = {value}")).await.unwrap();
        world.refuses(&session, "SELECT he_scale(x, 0.5) FROM t", setting).await;
    }
    // A session of the engine without this crate's settings.
    let plain = SessionContext::new();
    let options = ParquetReadOptions::default().skip_metadata(false);
    let path = world.folder.path().join("table.parquet");
    let frame = plain.read_parquet(path.to_str().unwrap(), options).await.unwrap();
    let frame = frame.select(vec![Functions::new(&world.node).scale(col("x"), 0.5)]);
    let refusal = frame.unwrap().collect().await.unwrap_err().to_string();
    assert!(refusal.contains("bellerophon") || refusal.contains("batch_size"), "{refusal}");
}

#[tokio::test]
async fn a_panic_fails_its_query_only() {
    let world = World::new();
    let armed = Arc::new(AtomicBool::new(true));
    let flag = armed.clone();
    let panicking = MapFunction::closure("panicking", move |x| {
        assert!(!flag.load(Ordering::Relaxed), "as the test wants");
        x
    });
    let session = world.session().await;
    world.node.define("panicking", panicking);
    let sql = "SELECT he_map(x, 'panicking', -2.0, 2.0) FROM t";
    // The function panics when the query is planned.
    let refusal = world.refusal(&session, sql).await;
    assert!(refusal.contains("cannot be planned: the function panicked"), "{refusal}");
    assert!(refusal.contains("as the test wants"), "{refusal}");
    // It panics when it is evaluated.
    armed.store(false, Ordering::Relaxed);
    let frame = session.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    armed.store(true, Ordering::Relaxed);
    let refusal = collect(plan, session.task_ctx()).await.unwrap_err().to_string();
    assert!(refusal.contains("he_map, row 0 of its batch: the function panicked"), "{refusal}");
    // The session lives on, and so does the function.
    armed.store(false, Ordering::Relaxed);
    let sql = format!("{sql} WHERE g = 'b'");
    session.sql(&sql).await.unwrap().collect().await.unwrap();
}

#[tokio::test]
async fn foreign_and_damaged_vectors_are_refused_with_their_row() {
    let world = World::new();
    let session = world.session().await;
    let batches = session.sql("SELECT x FROM t").await.unwrap().collect().await.unwrap();
    let good = batches[0].column(0).as_binary::<i32>().value(0).to_vec();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let foreign = Params::preset(Preset::Insecure(Toy::Bootstrapping)).unwrap();
    let foreign = ClientKey::generate(&foreign).unwrap();
    let other = foreign.encrypt_seeded(&[0.5], -2.0..=2.0).unwrap();
    let other = bellerophon::format::to_bytes(foreign.params(), &other).unwrap();
    let public = world.client.public_key().unwrap().to_bytes().unwrap();
    let cases = [
        (flipped, "damaged"),
        (good[..good.len() - 7].to_vec(), "truncated"),
        (vec![], "no bytes"),
        (other, "parameters"),
        (public, "the reader expects"),
    ];
    for (bad, expected) in cases {
        forged(&session, vec![good.clone(), good.clone(), bad]).await;
        for sql in ["SELECT he_scale(x, 0.5) FROM forged", "SELECT he_sum(x) FROM forged"] {
            let refusal = world.refusal(&session, sql).await;
            assert!(refusal.contains(expected), "{refusal}");
            assert!(refusal.contains("row 2 of its batch"), "{refusal}");
        }
    }
    // A column without a description.
    world
        .refuses(&session, "SELECT he_scale(X'00', 0.5)", "argument 1 is no encrypted column")
        .await;
}

#[tokio::test]
async fn vectors_of_look_ups_are_no_values_of_a_column() {
    let world = World::of(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map());
    let session = world.session().await;
    let keys = world.client.evaluation_keys(&Needs::new().multiply().map()).unwrap();
    let server = Evaluator::new(keys).unwrap();
    let x = world.client.encrypt(&world.x[..16], -2.0..=2.0).unwrap();
    let headroom = lwe::Headroom { terms: 2, levels: 0 };
    let extracted = server.extract_for(&x, -2.0..=2.0, headroom).unwrap();
    let lattice = world.client.params().lookups().unwrap().lwe_params();
    let bytes = bellerophon::format::to_bytes(lattice, &extracted).unwrap();
    forged(&session, vec![bytes.clone()]).await;
    for call in ["he_scale(x, 0.5)", "he_sum(x)", "he_count(x)", "he_publish(x, -2.0, 2.0)"] {
        let refusal = world.refusal(&session, &format!("SELECT {call} FROM forged")).await;
        assert!(refusal.contains("row 0 of its batch"), "{refusal}");
        assert!(refusal.contains("hold unpublished values of tables"), "{refusal}");
    }
    // Nor are they objects of a store.
    let refused = world.node.keys().put(&bytes).unwrap_err().to_string();
    assert!(refused.contains("need parameters, public keys, an encrypted vector"), "{refused}");
    // Packed, they are intermediate results.
    let packed = server.pack(&extracted).unwrap();
    let packed = bellerophon::format::to_bytes(world.client.params(), &packed).unwrap();
    forged(&session, vec![packed]).await;
    world.refuses(&session, "SELECT he_scale(x, 0.5) FROM forged", "an unpublished result").await;
}

#[tokio::test]
async fn arguments_are_checked_when_a_query_is_planned() {
    let world = World::new();
    let session = world.session().await;
    for (call, expected) in [
        ("he_scale(x)", "argument(s): need 2"),
        ("he_scale(x, 'a')", "need Number"),
        ("he_scale(g, 2)", "need Vector"),
        ("he_scale(x, CAST(g AS BIGINT))", "argument 2 must be a literal"),
        ("he_rotate(x, 0.5)", "must be an integer"),
        ("he_polynomial(x, '1,a')", "coefficients such as"),
        ("he_map(x, 'nothing', -2.0, 2.0)", "no function has this name"),
        ("he_map(x, 'sigmoid', 2.0, -2.0)", "domain"),
        // Bits, not an exponent: an error of 2^14 leaves nothing of the function.
        ("he_map(x, 'sigmoid', -2.0, 2.0, -14.0)", "differ by"),
        ("he_map(x, 'x -> x + y', -2.0, 2.0)", "is no function"),
        ("he_map(x, 'x -> x +', -2.0, 2.0)", "is no function"),
        ("he_map(x, 'X -> x', -2.0, 2.0)", "no name of a variable"),
        ("he_map(x, 'x -> x + random()', -2.0, 2.0)", "not the same for every evaluation"),
        ("he_map(x, 'x -> ln(x)', -2.0, 2.0)", "he_map cannot be planned"),
        ("he_mean(x, y)", "1"),
        ("he_sum(DISTINCT x)", "DISTINCT"),
        ("he_mean(DISTINCT x)", "no clauses"),
        ("he_refresh(x)", "he_refresh"),
        ("he_object('12')", "64 hexadecimal digits"),
    ] {
        world.refuses(&session, &format!("SELECT {call} FROM t"), expected).await;
    }
}

#[test]
fn tables_unlike_their_declaration_are_refused() {
    let world = World::new();
    let batch = |values: Vec<Option<f64>>| {
        let values: ArrayRef = Arc::new(Float64Array::from(values));
        RecordBatch::try_from_iter([("x", values)]).unwrap()
    };
    let writer = |most_vectors, path: &str| {
        let column = EncryptedColumn::new("x", 10.0..=20.0);
        let (params, columns) = (world.params, vec![column]);
        let options = TableOptions { params, columns, group: None, most_vectors };
        let file = File::create(world.folder.path().join(path)).unwrap();
        TableWriter::new(&world.client, options, file).unwrap()
    };
    for bad in [Some(25.0), Some(f64::NAN), None] {
        let refused = writer(1, "bad").write(&batch(vec![Some(12.0), bad]));
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("row 2") && !message.contains("25"), "{message}");
    }
    let mut few = writer(1, "few");
    few.write(&batch(vec![Some(12.0); 1025])).unwrap();
    assert!(few.finish().unwrap_err().to_string().contains("more than 1 vectors"));

    // A range without zero, and a vector that is not full.
    let mut good = writer(2, "good.parquet");
    good.write(&batch((0..1300).map(|i| Some(10.0 + (i % 10) as f64)).collect())).unwrap();
    good.finish().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let session = world.session().await;
        world.register(&session, "good", "good.parquet").await;
        let sql = "SELECT he_mean(x) AS m FROM good";
        let found = world.query(&session, sql, Values::First).await;
        close(&numbers(&found, "m"), &[14.5], 1e-4);
        let sql = "SELECT he_map(x, 'sqrt', 10.0, 20.0) AS r FROM good";
        let found = world.query(&session, sql, Values::All).await;
        let roots: Vec<f64> = (0..1300).map(|i| (10.0 + (i % 10) as f64).sqrt()).collect();
        close(&numbers(&found, "r"), &roots, 1e-3);
    });
}
