//! Vectors that a table or a store of others holds: what they state is checked.

use std::fs::File;

use bellerophon::{Ciphertext, Declaration, ckks::SeededCiphertext, format, prelude::*};
use bellerophon_datafusion::{Hash, TableWriter, Values};
use datafusion::arrow::array::AsArray;
use rand::{SeedableRng, rngs::StdRng};

use crate::world::{RANGE, World, close, forged, forged_as, numbers};

/// Values of a full vector.
const SLOTS: usize = 1024;

fn fresh(world: &World, range: [f64; 2]) -> SeededCiphertext {
    world.client.encrypt_seeded(&[0.5; SLOTS], range[0]..=range[1]).unwrap()
}

fn bytes(world: &World, x: &SeededCiphertext) -> Vec<u8> {
    format::to_bytes(world.client.params(), x).unwrap()
}

#[tokio::test]
async fn an_unpublished_vector_is_no_value_of_a_table() {
    let world = World::new();
    let session = world.session().await;
    // An intermediate result with a range and noise of the provider's choice.
    let params = world.client.params();
    let x = fresh(&world, RANGE).expand(params.ckks()).unwrap();
    let x = format::to_bytes(params, &x).unwrap();
    let good = bytes(&world, &fresh(&world, RANGE));
    forged(&session, vec![good, x.clone()]).await;
    for call in ["x", "he_scale(x, 0.5)", "he_sum(x)", "he_count(x)", "he_publish(x, -2.0, 2.0)"] {
        let refusal = world.refusal(&session, &format!("SELECT {call} FROM forged")).await;
        assert!(refusal.contains("the table, row 1 of its batch"), "{call}: {refusal}");
        assert!(refusal.contains("unpublished") && refusal.contains("he_publish"), "{refusal}");
    }
    // Nor an object of the store, put there or written by whoever can.
    let keys = world.node.keys();
    keys.params(world.params).unwrap();
    let refused = keys.put(&x).unwrap_err().to_string();
    assert!(refused.contains("unpublished"), "{refused}");
    let name = Hash::of(&x);
    std::fs::write(world.folder.path().join("keys").join(name.to_string()), &x).unwrap();
    let sql = format!("SELECT he_scale(he_object('{name}'), 0.5)");
    world.refuses(&session, &sql, "unpublished").await;
    // Published, a result becomes a table and an object.
    let sql =
        "CREATE TABLE m AS SELECT g, he_publish(he_mean(x), -2.0, 2.0, 3) AS m FROM t GROUP BY g";
    session.sql(sql).await.unwrap().collect().await.unwrap();
    let found = world.query(&session, "SELECT he_sum_slots(m) AS s FROM m", Values::First).await;
    assert_eq!(found.num_rows(), 2);
    let batches = session.sql("SELECT m FROM m").await.unwrap().collect().await.unwrap();
    let name = keys.put(batches[0].column(0).as_binary::<i32>().value(0)).unwrap();
    let sql = format!("SELECT he_scale(he_object('{name}'), 0.5) AS h");
    world.query(&session, &sql, Values::First).await;
    let sql = "CREATE TABLE u AS SELECT he_mean(x) AS m FROM t";
    session.sql(sql).await.unwrap().collect().await.unwrap();
    world.refuses(&session, "SELECT m FROM u", "unpublished").await;
}

#[tokio::test]
async fn a_vector_states_what_its_column_does() {
    let world = World::new();
    let session = world.session().await;
    let changed = |change: fn(&mut SeededCiphertext)| {
        let mut x = fresh(&world, RANGE);
        change(&mut x);
        bytes(&world, &x)
    };
    let params = world.client.params();
    let level = params.levels() - 1;
    let mut rng = StdRng::seed_from_u64(7);
    let low = world.client.encrypt_seeded_with(&[0.5; SLOTS], -2.0..=2.0, level, &mut rng).unwrap();
    let few = world.client.encrypt_seeded(&[0.5; 16], -2.0..=2.0).unwrap();
    let stranger = ClientKey::generate(params).unwrap();
    let foreign = bytes(&world, &stranger.encrypt_seeded(&[0.5; SLOTS], -2.0..=2.0).unwrap());
    for (bad, expected) in [
        (bytes(&world, &fresh(&world, [-2.0, 3.0])), "the range [-2, 3], its column [-2, 2]"),
        (bytes(&world, &fresh(&world, [-1.0, 1.5])), "the range [-1, 1.5], its column [-2, 2]"),
        (bytes(&world, &low), "states level"),
        (bytes(&world, &few), "slots 16, its column 1024"),
        (changed(|x| x.meta.noise.total *= 4.0), "a deviation of the error of"),
        (changed(|x| x.meta.noise.excess *= 4.0), "a deviation of the error of"),
        (changed(|x| x.meta.noise.peak *= 4.0), "a deviation of the error of"),
        (changed(|x| x.meta.noise.bound *= 4.0), "a deviation of the error of"),
        (changed(|x| x.meta.noise.total /= 4.0), "less noise than an encryption has"),
        (changed(|x| x.meta.noise.peak /= 4.0), "less noise than an encryption has"),
        (changed(|x| x.meta.noise.bound /= 4.0), "less noise than an encryption has"),
        (changed(|x| x.meta.noise.excess /= 4.0), "less noise than an encryption has"),
        (changed(|x| x.meta.scale *= 1.01), "the scale 2^"),
        (foreign, "it belongs to the owner"),
        (
            changed(|x| {
                x.meta.len = 1000;
            }),
            "its padding has another range",
        ),
    ] {
        let good = bytes(&world, &fresh(&world, RANGE));
        forged(&session, vec![good, bad]).await;
        for call in ["x", "he_sum(x)", "he_map(x, 'tanh', -2.0, 2.0)"] {
            let refusal = world.refusal(&session, &format!("SELECT {call} FROM forged")).await;
            assert!(refusal.contains("the table, row 1 of its batch"), "{call}: {refusal}");
            assert!(refusal.contains(expected), "{call}: {refusal}");
        }
    }
    forged(&session, vec![bytes(&world, &fresh(&world, RANGE))]).await;
    let found = world.query(&session, "SELECT he_scale(x, 2) AS d FROM forged", Values::All).await;
    close(&numbers(&found, "d"), &[1.0; SLOTS], 1e-4);
    // An object states the noise of an encryption, too.
    let keys = world.node.keys();
    keys.params(world.params).unwrap();
    let name = keys.put(&changed(|x| x.meta.noise.total /= 4.0)).unwrap();
    let sql = format!("SELECT he_scale(he_object('{name}'), 2)");
    world.refuses(&session, &sql, "less noise than an encryption has").await;
}

#[tokio::test]
async fn maps_and_publications_are_checked_when_they_are_planned() {
    let world = World::of(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map());
    let session = world.session().await;
    for (call, expected) in [
        ("he_map(x, 'sigmoid', -1.0, 1.0)", "anywhere in [-2, 2], and the polynomial of its plan"),
        ("he_map(x, 'sqrt', 1.0, 100.0)", "beyond the domain [1, 100]"),
        ("he_map(x, '0;1', -1.0, 1.0)", "the table of its plan wraps around"),
        ("he_map(x, 'v -> v * v', -2.0, 1.5)", "widen the domain"),
        ("he_publish(x, 0.0, 10.0)", "anywhere in [-2, 2]"),
        ("he_publish(he_mean(x), -1.0, 1.0)", "anywhere in [-2, 2]"),
        ("he_publish(he_assume_error(x, 1.0), -2.0, 2.0)", "deviation of 1.000e0"),
    ] {
        let sql = format!("SELECT {call} FROM t");
        for sql in [format!("EXPLAIN {sql}"), sql] {
            world.refuses(&session, &sql, "cannot be planned").await;
            world.refuses(&session, &sql, expected).await;
        }
    }
    assert!(world.node.calls().is_empty(), "nothing was evaluated");
    // A promise of the query serves.
    let sql = "SELECT he_map(he_assume_range(x, -1.9, 1.9), 'tanh', -1.95, 1.95) AS r FROM t";
    session.sql(sql).await.unwrap().collect().await.unwrap();
}

#[tokio::test]
async fn a_mean_lies_in_the_range_of_its_column() {
    let world = World::new();
    let session = world.session().await;
    let file = File::create(world.folder.path().join("ages.parquet")).unwrap();
    let mut options = world.options();
    options.columns.iter_mut().for_each(|column| column.range = 0.0..=100.0);
    // Far more vectors than the file has.
    let options = bellerophon_datafusion::TableOptions { most_vectors: 60, ..options };
    let mut writer = TableWriter::new(&world.client, options, file).unwrap();
    let mut csv = String::from("g,x,y\n");
    (0..1500).for_each(|i| csv += &format!("a,{},{}\n", i % 100, 100 - i % 100));
    writer.write_csv(csv.as_bytes(), |_| {}).unwrap();
    writer.finish().unwrap();
    world.register(&session, "ages", "ages.parquet").await;
    let sql = "SELECT he_publish(he_mean(x), 0.0, 100.0) AS m, \
               he_publish(he_map(he_mean(y), 'x -> x / 100', 0.0, 100.0), -0.1, 1.1) AS r \
               FROM ages";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "m"), &[49.5], 1e-3);
    close(&numbers(&found, "r"), &[0.505], 1e-3);
    // Another quotient has the range of its operands.
    let sql = "SELECT he_publish(he_divide(he_sum_slots(he_sum(x)), 2), 0.0, 100.0) FROM ages";
    world.refuses(&session, sql, "he_publish cannot be planned").await;
    // The part of a mean that states that range takes a sum and its count alone.
    for (call, from) in [
        ("he_mean_of(he_sum_slots(he_sum(x)), 1)", "ages"),
        ("he_mean_of(he_sum(x), sum(he_count(x)))", "ages"),
        ("he_mean_of(he_sum_slots(he_sum(x)), sum(he_count(x)) FILTER (WHERE g = 'b'))", "ages"),
        ("he_mean_of(he_sum_slots(he_sum(x)), sum(DISTINCT he_count(x)))", "ages"),
        ("he_mean_of(he_sum_slots(he_sum(x)), sum(he_count(y)))", "ages"),
        ("he_mean_of(s, n)", "(SELECT he_sum_slots(he_sum(x)) AS s, 1 AS n FROM ages) AS sums"),
    ] {
        let sql = format!("SELECT he_publish({call}, 0.0, 100.0) FROM {from}");
        world.refuses(&session, &sql, "he_mean_of cannot be planned: its operands").await;
    }
    let sql = "SELECT g, he_mean(x) AS m FROM ages GROUP BY g HAVING count(*) > 1 ORDER BY g";
    close(&numbers(&world.query(&session, sql, Values::First).await, "m"), &[49.5], 1e-3);
}

#[tokio::test]
async fn an_expression_is_as_good_as_the_function_that_it_writes() {
    let world = World::new();
    let session = world.session().await;
    let sql = |function: &str| format!("SELECT he_map(x, '{function}', -10.0, 10.0) AS f FROM t");
    let expression = session.sql(&sql("v -> 1 / (1 + exp(-v))")).await.unwrap();
    let named = session.sql(&sql("sigmoid")).await.unwrap();
    // The same engine at the same level, with the same accuracy.
    let described = [&expression, &named].map(|frame| {
        let shape: serde_json::Value =
            serde_json::from_str(&frame.schema().field(0).metadata()["bellerophon"]).unwrap();
        let noise = shape["meta"]["noise"]["total"].as_f64().unwrap();
        (shape["level"].clone(), shape["seconds"].clone(), noise)
    });
    let [expression, named] = described;
    assert_eq!((expression.0, expression.1), (named.0, named.1));
    // Variances, which include the error of the approximation.
    assert!(expression.2 <= 1.5 * named.2, "{:e} {:e}", expression.2, named.2);
    let rows = async |function: &str| {
        let sql = format!("{} WHERE g = 'b'", sql(function));
        numbers(&world.query(&session, &sql, Values::All).await, "f")
    };
    close(&rows("v -> 1 / (1 + exp(-v))").await, &rows("sigmoid").await, 2f64.powi(-12));
}

#[tokio::test]
async fn a_published_vector_has_the_scale_of_its_column() {
    let world = World::new();
    let session = world.session().await;
    let params = world.client.params();
    let (level, scale) = (params.levels() - 1, params.ckks().scale());
    let sql = format!("CREATE TABLE m AS SELECT g, he_publish(x, -2.0, 2.0, {level}) AS x FROM t");
    session.sql(&sql).await.unwrap().collect().await.unwrap();
    let server = Evaluator::new(world.client.evaluation_keys(&Needs::new()).unwrap()).unwrap();
    let x = fresh(&world, RANGE).expand(params.ckks()).unwrap();
    let published = |scale: f64| {
        let declared = Declaration::from(-2.0..=2.0).with_level(level).with_scale(scale);
        format::to_bytes(params, &server.publish(&x, declared).unwrap()).unwrap()
    };
    forged_as(&session, "m", vec![published(scale), published(2.0 * scale)]).await;
    let refusal = world.refusal(&session, "SELECT he_sum(x) FROM forged").await;
    assert!(refusal.contains("row 1 of its batch: it states the scale 2^"), "{refusal}");
    forged_as(&session, "m", vec![published(scale)]).await;
    let found = world.query(&session, "SELECT he_sum(x) AS s FROM forged", Values::All).await;
    close(&numbers(&found, "s"), &[0.5; SLOTS], 1e-3);
}

#[tokio::test]
async fn a_query_declares_what_it_takes_of_others() {
    let world = World::new();
    let session = world.session().await;
    let (params, keys) = (world.client.params(), world.node.keys());
    keys.params(world.params).unwrap();
    let object = |range| keys.put(&bytes(&world, &fresh(&world, range))).unwrap();
    let [narrow, wide, beyond] = [[-1.0, 1.0], RANGE, [-3.0, 3.0]].map(object);
    let admitted = |name: Hash| format!("he_admit(he_object('{name}'), -2.0, 2.0)");
    let stated = async |name: Hash| {
        let sql = format!("SELECT {} AS a", admitted(name));
        let batches = session.sql(&sql).await.unwrap().collect().await.unwrap();
        let described = batches[0].schema().field(0).metadata()["bellerophon"].clone();
        let found = batches[0].column(0).as_binary::<i32>().value(0);
        let found: Ciphertext = format::from_bytes(params, found).unwrap();
        (described, found.metadata())
    };
    assert_eq!(stated(narrow).await, stated(wide).await);
    // Both are refused alike, where the narrower one tells by itself that it is.
    let doubled = |x: String| format!("SELECT he_publish(he_scale({x}, 2), -3.0, 3.0) AS p");
    for name in [narrow, wide] {
        world.refuses(&session, &doubled(admitted(name)), "anywhere in [-4").await;
    }
    let alone = doubled(format!("he_object('{narrow}')"));
    close(&numbers(&world.query(&session, &alone, Values::All).await, "p"), &[1.0; SLOTS], 1e-3);
    let sql = format!("SELECT {}", admitted(beyond));
    world.refuses(&session, &sql, "he_admit cannot be planned: its values may lie").await;
    let sql = "SELECT he_sum_slots(he_sum(he_admit(x, -2.5, 2.5))) AS s FROM t";
    let found = world.query(&session, sql, Values::First).await;
    close(&numbers(&found, "s"), &[world.x.iter().sum::<f64>()], 1e-2);
}
