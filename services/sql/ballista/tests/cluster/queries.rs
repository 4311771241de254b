//! The same queries on a cluster and in this process.

use std::{fs::File, sync::Arc};

use bellerophon::{
    bfv::{self, KeyGadget, ParamsSpec},
    mlwe::Security,
    pir::{Client, QueryLayout},
    prelude::*,
    ring::prime,
};
use bellerophon_ballista::TlsOptions;
use bellerophon_datafusion::{
    Iteration, Lookup, Values, decrypt, logistic_regression, read_lookup,
};
use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, Int64Array},
        datatypes::Float64Type,
        record_batch::RecordBatch,
    },
    parquet::arrow::ArrowWriter,
};
use rand::{SeedableRng, rngs::StdRng};

use crate::world::{ROWS, World, bits, refusal, rows};

const QUERIES: [&str; 6] = [
    "SELECT 'all' AS g, he_mean(x) AS r FROM t",
    "SELECT 'all' AS g, he_variance(x) AS r FROM t",
    "SELECT g, he_sum_slots(he_sum(x)) AS r FROM t GROUP BY g",
    "SELECT g, he_map(he_scale(x, 0.5), 'sigmoid', -1.0, 1.0, 10.0) AS r FROM t",
    "SELECT g, he_polynomial(he_mul(x, x), '0.5,-1') AS r FROM t WHERE g = 'b'",
    "SELECT g, he_sub(he_mul(x, x), m) AS r FROM t, (SELECT he_mean(x) AS m FROM t) s",
];

#[tokio::test(flavor = "multi_thread")]
async fn results_have_the_bits_of_those_in_one_process() {
    let world = World::new();
    let cluster = world.cluster(&TlsOptions::default(), |_| {});
    let (here, there) = (world.here().await, world.on(&cluster).await);
    for sql in QUERIES {
        let (expected, found) = (
            rows(world.client.params(), &here, sql).await,
            rows(world.client.params(), &there, sql).await,
        );
        assert_eq!(expected.len(), found.len(), "{sql}");
        assert!(expected == found, "{sql}: other bits");
    }
    // One of them is right, too.
    let batches = there.sql(QUERIES[0]).await.unwrap().collect().await.unwrap();
    let found = decrypt(&world.client, &batches, Values::First).unwrap();
    let mean = World::values().iter().sum::<f64>() / ROWS as f64;
    assert!((found.column(1).as_primitive::<Float64Type>().value(0) - mean).abs() < 1e-4);

    // A table of a stranger: refused before it leaves.
    let stranger = ClientKey::generate(world.client.params()).unwrap();
    world.write(&stranger, "strange");
    world.register(&there, "strange", "strange").await;
    let refused = refusal(&there, "SELECT he_add(t.x, strange.x) FROM t, strange").await;
    assert!(refused.contains("its operands belong to the owners"), "{refused}");
    // Predictions of the library.
    let explained = there.sql("EXPLAIN SELECT he_mean(x) FROM t").await.unwrap();
    let explained = format!("{:?}", explained.collect().await.unwrap());
    assert!(explained.contains("seconds on one thread"), "{explained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_run_on_a_cluster() {
    let world = World::new();
    let cluster = world.cluster(&TlsOptions::default(), |_| {});
    world.node.keys().params(world.params).unwrap();
    let params = world.client.params();
    let weight = vec![0.25; params.ckks().max_slots()];
    let weight = world.client.encrypt_seeded(&weight, -1.0..=1.0).unwrap();
    let first = [world.node.keys().put_vector(params, &weight).unwrap()];
    let mut last = vec![];
    for (name, session) in [("here", world.here().await), ("there", world.on(&cluster).await)] {
        let program = Iteration::new(&world.node, name);
        let mut state = program.resume(&first).unwrap();
        for _ in 0..2 {
            let sql = logistic_regression("t", &["x"], "x", (1.0, ROWS), &state);
            state = program.step(&session, &state, &sql).await.unwrap();
        }
        let object =
            std::fs::read(world.path("vectors").join(state.vectors[0].to_string())).unwrap();
        last.push(bits(params, &object));
    }
    assert_eq!(last[0], last[1]);
}

/// A private look-up in a table of three files: each task evaluates a shard, and responses add up.
#[tokio::test(flavor = "multi_thread")]
async fn look_ups_run_on_a_cluster() {
    const DOMAIN: usize = 200;
    const PLAIN: u64 = 257;
    let world = World::new();
    // A toy set, insecure.
    let q = prime::ntt_primes_below(64, 50, 1, &[]).unwrap();
    let params = bfv::Params::new(ParamsSpec {
        degree: 64,
        q: vec![q[0].value()],
        plain: PLAIN,
        gadget: KeyGadget::Digits { base_log: 9, count: 4 },
        sigma: 3.2,
        security: Security::Insecure,
    })
    .unwrap();
    let mut rng = StdRng::seed_from_u64(7);
    let client = Client::generate(&params, &mut rng).unwrap();
    let points = [0, 66, 67, 131, 199, 0];
    let (query, pending) = client.query(DOMAIN, &points, QueryLayout::Paper, &mut rng).unwrap();
    let keys = client.server_keys(&mut rng).unwrap();
    let lookup = Lookup::put(world.node.keys(), &params, &keys, &query).unwrap();
    // The table, by three files.
    let value = |point: usize| ((point * point * 31 + 7) % PLAIN as usize) as i64;
    std::fs::create_dir(world.path("prices")).unwrap();
    for (i, shard) in [0..67, 67..131, 131..DOMAIN].into_iter().enumerate() {
        let column = |of: &dyn Fn(usize) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(shard.clone().map(of)))
        };
        let columns = [("point", column(&|point| point as i64)), ("value", column(&value))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = File::create(world.path("prices").join(format!("{i}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    let cluster = world.cluster(&TlsOptions::default(), |_| {});
    let session = world.on(&cluster).await;
    world.register(&session, "prices", "prices").await;
    let Lookup { params, keys, query } = lookup;
    let sql =
        format!("SELECT he_lookup(point, value, '{params}', '{keys}', '{query}') AS r FROM prices");
    let found = session.sql(&sql).await.unwrap().collect().await.unwrap();
    let found = read_lookup(&client, &pending, &found, "r").unwrap();
    assert_eq!(found, points.map(|point| value(point) as u64));
    // A point in two shards: the query fails, and the executors go on.
    let both = "(SELECT * FROM prices UNION ALL SELECT * FROM prices)";
    let refused = refusal(&session, &sql.replace("FROM prices", &format!("FROM {both}"))).await;
    assert!(refused.contains("point"), "{refused}");
    let found = session.sql(&sql).await.unwrap().collect().await.unwrap();
    assert!(read_lookup(&client, &pending, &found, "r").is_ok());
}
