//! Private look-up in tables in the clear, in shards.

use std::sync::Arc;

use bellerophon::{
    bfv::{self, KeyGadget, ParamsSpec},
    mlwe::Security,
    pir::{Client, Pending, QueryLayout},
    ring::prime,
};
use bellerophon_datafusion::{
    Error, Functions, Lookup, Node, NodeOptions, Predictions, SessionOptions, read_lookup, session,
};
use datafusion::{
    arrow::{
        array::{ArrayRef, Int64Array},
        record_batch::RecordBatch,
    },
    datasource::MemTable,
    object_store::local::LocalFileSystem,
    prelude::{SessionContext, col},
};
use rand::{SeedableRng, rngs::StdRng};
use tempfile::TempDir;

use crate::world::node;

const DOMAIN: usize = 200;

/// Values are modulo this number.
const PLAIN: u64 = 257;

/// Shards that end inside blocks of 64 points, at their ends, and one of a single point.
const BORDERS: [usize; 6] = [0, 10, 64, 128, 129, DOMAIN];

struct Parties {
    folder: TempDir,
    node: Arc<Node>,
    params: bfv::Params,
    client: Client,
    rng: StdRng,
    table: Vec<u64>,
}

impl Parties {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = node(folder.path(), "cache", 1 << 30);
        let q = prime::ntt_primes_below(64, 50, 1, &[]).unwrap();
        // A toy set, insecure.
        let params = bfv::Params::new(ParamsSpec {
            degree: 64,
            q: vec![q[0].value()],
            plain: PLAIN,
            gadget: KeyGadget::Digits { base_log: 9, count: 4 },
            sigma: 3.2,
            security: Security::Insecure,
        });
        let params = params.unwrap();
        let mut rng = StdRng::seed_from_u64(5);
        let client = Client::generate(&params, &mut rng).unwrap();
        let table = (0..DOMAIN as u64).map(|x| (x * x * 31 + 7) % PLAIN).collect();
        Self { folder, node, params, client, rng, table }
    }

    /// Stores a query and the keys of its client.
    fn ask(&mut self, points: &[usize], form: QueryLayout) -> (Lookup, Pending) {
        let Self { client, rng, params, .. } = self;
        let (query, pending) = client.query(DOMAIN, points, form, rng).unwrap();
        let keys = client.server_keys(rng).unwrap();
        (Lookup::put(self.node.keys(), params, &keys, &query).unwrap(), pending)
    }

    /// A session with the rows of each shard as a partition of the table `prices`.
    fn session(&self, partitions: usize, shards: &[Vec<(i64, i64)>]) -> SessionContext {
        let options = SessionOptions { partitions, ..Default::default() };
        let session = session(&self.node, &options).unwrap();
        let batch = |rows: &Vec<(i64, i64)>| {
            let column = |f: fn(&(i64, i64)) -> i64| -> ArrayRef {
                Arc::new(Int64Array::from_iter_values(rows.iter().map(f)))
            };
            let columns = [("point", column(|row| row.0)), ("value", column(|row| row.1))];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        let partitions: Vec<_> = shards.iter().map(|rows| vec![batch(rows)]).collect();
        let table = MemTable::try_new(partitions[0][0].schema(), partitions).unwrap();
        session.register_table("prices", Arc::new(table)).unwrap();
        session
    }

    /// The rows of all shards.
    fn shards(&self) -> Vec<Vec<(i64, i64)>> {
        let row = |point: usize| (point as i64, self.table[point] as i64);
        BORDERS.windows(2).map(|ends| (ends[0]..ends[1]).map(row).collect()).collect()
    }
}

fn sql(lookup: &Lookup) -> String {
    let Lookup { params, keys, query } = lookup;
    format!("SELECT he_lookup(point, value, '{params}', '{keys}', '{query}') AS r FROM prices")
}

async fn run(session: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>, String> {
    let result = async { session.sql(sql).await?.collect().await };
    result.await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn every_point_of_a_table_in_shards_is_found() {
    let mut parties = Parties::new();
    let all: Vec<usize> = (0..DOMAIN).collect();
    let ends = [DOMAIN - 1, 0, 128, 127, 64, 63, 0];
    let shards = parties.shards();
    let mut reversed = shards.clone();
    reversed.reverse();
    reversed.iter_mut().for_each(|rows| rows.reverse());
    for form in [QueryLayout::Paper, QueryLayout::Compact] {
        for points in [&all[..], &ends] {
            let expected: Vec<u64> = points.iter().map(|&point| parties.table[point]).collect();
            let (lookup, pending) = parties.ask(points, form);
            // Five shards, one, and five with their rows in another order.
            for shards in [&shards, &vec![shards.concat()], &reversed] {
                let session = parties.session(shards.len(), shards);
                let before = parties.node.calls().get("he_lookup").copied().unwrap_or(0);
                let found = run(&session, &sql(&lookup)).await.unwrap();
                let found = read_lookup(&parties.client, &pending, &found, "r").unwrap();
                assert_eq!(found, expected, "{form}");
                let evaluated = parties.node.calls()["he_lookup"] - before;
                assert_eq!(evaluated, shards.len() as u64);
            }
        }
    }
}

#[tokio::test]
async fn points_without_a_row_are_zero() {
    let mut parties = Parties::new();
    let (lookup, pending) = parties.ask(&[0, 5, 9, 199], QueryLayout::Compact);
    let session = parties.session(1, &[vec![(9, 256), (5, 1)]]);
    let he = Functions::new(&parties.node);
    let prices = session.table("prices").await.unwrap();
    let call = he.lookup(col("point"), col("value"), &lookup).alias("r");
    let found = prices.aggregate(vec![], vec![call]).unwrap().collect().await.unwrap();
    let found = read_lookup(&parties.client, &pending, &found, "r").unwrap();
    assert_eq!(found, [0, 1, 256, 0]);
    // No rows, no response.
    let none = run(&session, &format!("{} WHERE point > 100", sql(&lookup))).await.unwrap();
    let refused = read_lookup(&parties.client, &pending, &none, "r").unwrap_err().to_string();
    assert!(refused.contains("no row with a response"), "{refused}");
    // A response to another query.
    let (_, later) = parties.ask(&[0, 5, 9, 199], QueryLayout::Compact);
    let found = run(&session, &sql(&lookup)).await.unwrap();
    let refused = read_lookup(&parties.client, &later, &found, "r").unwrap_err();
    assert!(matches!(refused, Error::Column { .. }), "{refused}");
}

#[tokio::test]
async fn tables_and_queries_that_do_not_fit_are_refused() {
    let mut parties = Parties::new();
    let (lookup, _) = parties.ask(&[1, 2], QueryLayout::Paper);
    for (shards, expected) in [
        (vec![vec![(3, 1), (3, 1)]], "two rows of the table have the point 3"),
        (vec![vec![(70, 1)], vec![(70, 2)]], "two rows of the table have the point 70"),
        (vec![vec![(1, 1), (200, 1)]], "he_lookup, row 1 of its batch: the point is not in 0.."),
        (vec![vec![(-1, 1)]], "he_lookup, row 0 of its batch: the point is not in 0.."),
        (vec![vec![(0, 257)]], "row 0 of its batch: the value is not in 0..257"),
        (vec![vec![(0, -1)]], "row 0 of its batch: the value is not in 0..257"),
    ] {
        let session = parties.session(shards.len(), &shards);
        let refused = run(&session, &sql(&lookup)).await.unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    // The rest is refused when the query is planned.
    let session = parties.session(1, &parties.shards());
    let planned = async |call: String| {
        let refused = session.sql(&format!("SELECT {call} AS r FROM prices")).await;
        refused.expect_err("the query is refused").to_string()
    };
    let Lookup { params, keys, query } = lookup;
    let mut stranger = Parties::new();
    stranger.client = Client::generate(&stranger.params, &mut stranger.rng).unwrap();
    stranger.node = parties.node.clone();
    let (other, _) = stranger.ask(&[1, 2], QueryLayout::Paper);
    let ids = [&parties, &stranger].map(|of| {
        let keys = of.client.server_keys(&mut StdRng::seed_from_u64(1)).unwrap();
        format!("{:032x}", keys.key().0)
    });
    let refused =
        planned(format!("he_lookup(point, value, '{params}', '{}', '{query}')", other.keys)).await;
    assert!(ids.iter().all(|id| refused.contains(id)), "{refused}");
    for (call, expected) in [
        (format!("he_lookup(point, value, '{params}', '{query}', '{keys}')"), "need keys"),
        (format!("he_lookup(point, value, 'x', '{keys}', '{query}')"), "64 hexadecimal digits"),
        (format!("he_lookup(DISTINCT point, value, '{params}', '{keys}', '{query}')"), "DISTINCT"),
    ] {
        let refused = planned(call).await;
        assert!(refused.contains(expected), "{refused}");
    }

    // A node that demands 128 bits of security takes no toy parameters.
    let store = LocalFileSystem::new_with_prefix(parties.folder.path()).unwrap();
    let options = NodeOptions::new(parties.folder.path().join("secure"));
    let secure = Node::new(Arc::new(store), options).unwrap();
    parties.node = secure;
    let session = parties.session(1, &parties.shards());
    let refused = run(&session, &sql(&lookup)).await.unwrap_err();
    assert!(refused.contains("security"), "{refused}");
}

#[tokio::test]
async fn explain_predicts_a_look_up() {
    let mut parties = Parties::new();
    let (few, _) = parties.ask(&[1, 2], QueryLayout::Paper);
    let (many, _) = parties.ask(&[7; 100], QueryLayout::Paper);
    let session = parties.session(1, &parties.shards());
    let mut seconds = Vec::new();
    for (lookup, ciphertexts) in [(few, 1), (many, 2)] {
        let plan = session.sql(&sql(&lookup)).await.unwrap().into_optimized_plan().unwrap();
        let Predictions(nodes) = Predictions::of(&plan).unwrap();
        assert_eq!((nodes.len(), nodes[0].vectors, nodes[0].error), (1, ciphertexts, 0.0));
        assert!(nodes[0].expression.starts_with("he_lookup("), "{}", nodes[0].expression);
        seconds.push(nodes[0].seconds);
        let explained = run(&session, &format!("EXPLAIN {}", sql(&lookup))).await.unwrap();
        let text = datafusion::arrow::util::pretty::pretty_format_batches(&explained);
        let text = text.unwrap().to_string();
        assert!(text.contains("seconds on one thread") && text.contains("none"), "{text}");
    }
    // Each point takes its products and its automorphism.
    assert!(seconds[0] > 0.0 && seconds[1] > 20.0 * seconds[0], "{seconds:?}");
    assert!(!parties.node.calls().contains_key("he_lookup"), "nothing was evaluated");
}
