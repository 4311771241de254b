//! Faults of objects, settings, functions and tables: a clear error each, and the cluster lives.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bellerophon::prelude::*;
use bellerophon_ballista::{ClientOptions, TlsOptions};
use datafusion::arrow::array::AsArray;

use crate::world::{World, refusal, rows};

const QUERY: &str = "SELECT g, he_sum_slots(he_sum(he_mul(x, x))) AS r FROM t GROUP BY g";

#[tokio::test(flavor = "multi_thread")]
async fn damaged_and_wrong_objects_are_refused() {
    let world = World::new();
    let cluster = world.cluster(&TlsOptions::default(), |_| {});
    let session = world.on(&cluster).await;
    let place = world.path("keys").join(world.keys.to_string());
    let whole = fs::read(&place).unwrap();
    // Tasks of a failed job may still read the object.
    let replace = |bytes: &[u8]| {
        let other = place.with_extension("new");
        fs::write(&other, bytes).unwrap();
        fs::rename(&other, &place).unwrap();
    };
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let other = fs::read(world.path("keys").join(world.params.to_string())).unwrap();
    let secret = world.client.to_secret_bytes().unwrap();
    for (bytes, expected) in [
        (&flipped[..], "the SHA-256 of its bytes is"),
        (&whole[..whole.len() - 1], "the SHA-256 of its bytes is"),
        (&other[..], "need evaluation keys"),
        (secret.expose(), "it holds a secret of a client"),
    ] {
        replace(bytes);
        let refused = refusal(&session, QUERY).await;
        assert!(refused.contains(expected), "{refused}");
        assert!(refused.contains(&world.keys.to_string()), "{refused}");
    }
    // A store that fails.
    fs::remove_file(&place).unwrap();
    let refused = refusal(&session, QUERY).await;
    assert!(refused.contains("Object Store error"), "{refused}");
    // The object is whole again: the same executors go on.
    replace(&whole);
    assert!(
        rows(world.client.params(), &session, QUERY).await
            == rows(world.client.params(), &world.here().await, QUERY).await
    );
    // Parameters and keys came once for both executors.
    let copies = fs::read_dir(world.path("node")).unwrap().flatten();
    assert_eq!(copies.filter(|entry| entry.path().extension().is_none()).count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_checked_where_functions_run() {
    let world = World::new();
    let cluster = world.cluster(&TlsOptions::default(), |_| {});
    let without = world.with(&cluster, ClientOptions::default(), None).await;
    let refused = refusal(&without, QUERY).await;
    assert!(refused.contains("he_mul needs the setting `bellerophon.keys`"), "{refused}");
    let session = world.on(&cluster).await;
    let refused = refusal(&session, "SET bellerophon.key = 'x'").await;
    assert!(refused.contains("key"), "{refused}");
    for (setting, value) in [
        ("bellerophon.version", "0.0.9"),
        ("datafusion.execution.batch_size", "8192"),
        ("ballista.planner.adaptive.enabled", "true"),
        ("ballista.shuffle.compression.codec", "zstd"),
        ("ballista.shuffle.sort_based.batch_size", "8192"),
    ] {
        let session = world.on(&cluster).await;
        session.sql(&format!("SET {setting} = '{value}'")).await.unwrap();
        let refused = refusal(&session, QUERY).await;
        assert!(refused.contains(setting) && refused.contains(value), "{refused}");
    }
    assert_eq!(rows(world.client.params(), &session, QUERY).await.len(), 2, "the executors live");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_fails_its_job_only() {
    let world = World::new();
    let armed = Arc::new(AtomicBool::new(true));
    let flag = armed.clone();
    let cluster = world.cluster(&TlsOptions::default(), move |node| {
        let flag = flag.clone();
        node.define(
            "fragile",
            MapFunction::closure("fragile", move |x| {
                assert!(!flag.load(Ordering::Relaxed), "as the test wants");
                x
            }),
        );
    });
    // The client plans with a function that does not panic.
    world.node.define("fragile", MapFunction::closure("fragile", |x| x));
    let session = world.on(&cluster).await;
    let sql = "SELECT g, he_map(x, 'fragile', -2.0, 2.0) AS r FROM t WHERE g = 'b'";
    let refused = refusal(&session, sql).await;
    assert!(refused.contains("he_map, row"), "{refused}");
    assert!(refused.contains("the function panicked: as the test wants"), "{refused}");
    armed.store(false, Ordering::Relaxed);
    assert_eq!(rows(world.client.params(), &session, sql).await.len(), 2, "the executors live");
    // A function that an executor does not know.
    world.node.define("unknown", MapFunction::closure("unknown", |x| x));
    let refused = refusal(&session, "SELECT he_map(x, 'unknown', -2.0, 2.0) FROM t").await;
    assert!(refused.contains("no function has this name"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_and_truncated_vectors_are_refused_with_their_row() {
    let world = World::new();
    let cluster = world.cluster(&TlsOptions::default(), |_| {});
    let (here, session) = (world.here().await, world.on(&cluster).await);
    let batches = here.sql("SELECT x FROM t").await.unwrap().collect().await.unwrap();
    let good = batches[0].column(0).as_binary::<i32>().value(0).to_vec();
    let stranger = ClientKey::generate(world.client.params()).unwrap();
    let foreign = stranger.encrypt_seeded(&[0.5; 1024], -2.0..=2.0).unwrap();
    let foreign = bellerophon::format::to_bytes(stranger.params(), &foreign).unwrap();
    let params = world.client.params();
    let loose = world.client.encrypt_seeded(&[0.5; 1024], -2.0..=2.0).unwrap();
    let loose = loose.expand(params.ckks()).unwrap();
    let loose = bellerophon::format::to_bytes(params, &loose).unwrap();
    let cases = [
        (good[..good.len() - 7].to_vec(), "the table", "truncated"),
        (loose, "the table", "unpublished"),
        (foreign, "the table", "it belongs to the owner"),
    ];
    for (i, (bad, place, expected)) in cases.into_iter().enumerate() {
        let name = format!("forged_{i}");
        world.forge(&here, &name, vec![good.clone(), bad]).await;
        world.register(&session, &name, &name).await;
        let refused = refusal(&session, &format!("SELECT he_mul(x, x) FROM {name}")).await;
        assert!(refused.contains(&format!("{place}, row 1 of its batch")), "{refused}");
        assert!(refused.contains(expected), "{refused}");
    }
    // A column without a description is refused before it leaves.
    let refused = refusal(&session, "SELECT he_scale(X'00', 0.5)").await;
    assert!(refused.contains("argument 1 is no encrypted column"), "{refused}");
    assert_eq!(rows(world.client.params(), &session, QUERY).await.len(), 2, "the executors live");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_outside_the_roots_are_refused() {
    let world = World::new();
    let cluster = world.cluster(&TlsOptions::default(), |_| {});
    let session = world.on(&cluster).await;
    // A table beside the root: of the same bytes, and of anybody.
    let outside = tempfile::tempdir().unwrap();
    let place = outside.path().join("0.parquet");
    fs::copy(world.path("table").join("0.parquet"), &place).unwrap();
    let options = datafusion::prelude::ParquetReadOptions::default();
    session.register_parquet("outside", place.to_string_lossy(), options).await.unwrap();
    let refused = refusal(&session, "SELECT g, he_sum(x) FROM outside GROUP BY g").await;
    assert!(refused.contains("outside the roots of this process"), "{refused}");
    assert!(refused.contains("--root"), "{refused}");
    // Nor is one written there.
    let written = outside.path().join("copy.parquet");
    let sql = format!("COPY (SELECT g, x FROM t) TO '{}' STORED AS PARQUET", written.display());
    let refused = refusal(&session, &sql).await;
    assert!(refused.contains("outside the roots of this process"), "{refused}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(rows(world.client.params(), &session, QUERY).await.len(), 2, "the executors live");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_that_does_not_answer_is_named() {
    let world = World::new();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    // It takes a connection, and dies.
    let dying = std::thread::spawn(move || drop(nobody.accept().unwrap()));
    for _ in 0..2 {
        let session = world.on(&address).await;
        let refused = refusal(&session, QUERY).await;
        let expected = format!("the scheduler at {address} does not answer, or has died");
        assert!(refused.contains(&expected), "{refused}");
    }
    dying.join().unwrap();
    // Elsewhere, it has TLS, or the client asks for a connection without.
    let node = &world.node;
    let connect = |options| bellerophon_ballista::connect("10.0.0.1:50050", node, &options);
    let refused = connect(ClientOptions::default()).err().unwrap().to_string();
    assert!(refused.contains("10.0.0.1") && refused.contains("plaintext"), "{refused}");
    connect(ClientOptions { plaintext: true, ..Default::default() }).unwrap();
}
