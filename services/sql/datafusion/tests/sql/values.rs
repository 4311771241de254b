//! Columns of LWE vectors.

use std::sync::Arc;

use bellerophon::{
    format,
    lwe::{Headroom, LweVec, OutputEncoding},
    prelude::*,
};
use bellerophon_datafusion::{Values, decrypt, values_column};
use datafusion::{
    arrow::{
        array::{ArrayRef, BinaryArray},
        datatypes::{Field, Schema},
        record_batch::RecordBatch,
    },
    datasource::MemTable,
    prelude::SessionContext,
};

use crate::world::{World, close, numbers};

/// Values of a vector.
const COUNT: usize = 16;

/// The declared range of squares: packing inverts the sine up to 0.127 of the width of the
/// encoding.
const SQUARES: std::ops::RangeInclusive<f64> = -0.05..=4.05;

fn needs() -> Needs {
    Needs::new().multiply().map().sums(1024)
}

fn server(client: &ClientKey) -> Evaluator {
    Evaluator::new(client.evaluation_keys(&needs()).unwrap()).unwrap()
}

/// Three vectors on the server, looked up in a table: squares.
fn squares(world: &World, client: &ClientKey, server: &Evaluator) -> Vec<LweVec> {
    // Packing needs as much room as a sum of two.
    squares_at(world, client, server, Headroom { terms: 2, levels: 0 })
}

/// The same in another encoding.
fn squares_at(
    world: &World,
    client: &ClientKey,
    server: &Evaluator,
    headroom: Headroom,
) -> Vec<LweVec> {
    let vectors: Vec<_> = (0..3)
        .map(|i| client.encrypt(&world.x[i * COUNT..][..COUNT], -2.0..=2.0).unwrap())
        .collect();
    let operands: Vec<_> = vectors.iter().collect();
    let extracted = server.extract_all(&operands, -2.0..=2.0, Headroom::TABLE).unwrap();
    let encoding = OutputEncoding::Fit(headroom);
    let tables = server.tables().unwrap();
    extracted.iter().map(|x| tables.map(x, |x| x * x, encoding).unwrap()).collect()
}

fn register(session: &SessionContext, field: Field, column: ArrayRef) {
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
    let table = MemTable::try_new(schema, vec![vec![batch]]).unwrap();
    session.deregister_table("w").unwrap();
    session.register_table("w", Arc::new(table)).unwrap();
}

#[tokio::test]
async fn lwe_vectors_are_packed_and_decrypted() {
    let world = World::of(Preset::Insecure(Toy::Functions), &needs());
    let session = world.session().await;
    let server = server(&world.client);
    let vectors = squares(&world, &world.client, &server);
    let (field, column) = values_column(&server, world.params, "w", &vectors, SQUARES).unwrap();
    register(&session, field, column);
    let expected: Vec<f64> = world.x[..3 * COUNT].iter().map(|x| x * x).collect();
    // The client opens the column as it is.
    let batches = session.sql("SELECT w FROM w").await.unwrap().collect().await.unwrap();
    let found = decrypt(&world.client, &batches, Values::All).unwrap();
    close(&numbers(&found, "w"), &expected, 0.3);
    // Packed, its vectors are those of any column.
    let sql = "SELECT he_scale(he_pack(w), 0.5) AS h FROM w";
    let found = numbers(&world.query(&session, sql, Values::All).await, "h");
    close(&found, &expected.iter().map(|x| x / 2.0).collect::<Vec<_>>(), 0.2);
    let sql = "SELECT he_mean(p) AS m FROM (SELECT he_pack(w) AS p FROM w)";
    let found = numbers(&world.query(&session, sql, Values::First).await, "m");
    close(&found, &[expected.iter().sum::<f64>() / expected.len() as f64], 0.1);
}

#[tokio::test]
async fn lwe_vectors_and_vectors_in_slots_are_not_taken_for_each_other() {
    let world = World::of(Preset::Insecure(Toy::Functions), &needs());
    let session = world.session().await;
    let server = server(&world.client);
    let vectors = squares(&world, &world.client, &server);
    let (field, column) = values_column(&server, world.params, "w", &vectors, SQUARES).unwrap();
    register(&session, field.clone(), column);
    for (sql, expected) in [
        ("SELECT he_scale(w, 0.5) FROM w", "argument 1 holds LWE vectors: take `he_pack`"),
        ("SELECT he_sum(w) FROM w", "argument 1 holds LWE vectors"),
        ("SELECT he_mul(x, w) FROM t, w", "argument 2 holds LWE vectors"),
        ("SELECT he_pack(x) FROM t", "argument 1 holds vectors in slots"),
        ("SELECT he_pack(he_pack(w)) FROM w", "argument 1 holds vectors in slots"),
        ("SELECT he_pack(g) FROM t", "need Vector"),
        ("SELECT w FROM w ORDER BY w", "ORDER BY"),
    ] {
        world.refuses(&session, sql, expected).await;
    }
    // Damaged values, and those of another type, are refused with their row.
    let params = world.client.params();
    let lattice = params.lookups().unwrap().lwe_params();
    let deviation = vectors[0].meta().noise.bound;
    let good = vectors[0].publish(SQUARES, deviation).unwrap();
    let good = format::to_bytes(lattice, &good).unwrap();
    let unpublished = format::to_bytes(lattice, &vectors[0]).unwrap();
    let wide = vectors[0].publish(-0.5..=4.75, deviation).unwrap();
    let wide = format::to_bytes(lattice, &wide).unwrap();
    let noisy = vectors[0].publish(SQUARES, 8.0 * deviation).unwrap();
    let noisy = format::to_bytes(lattice, &noisy).unwrap();
    let stranger = ClientKey::generate(params).unwrap();
    let theirs = self::server(&stranger);
    let foreign = squares(&world, &stranger, &theirs);
    let strange = foreign[0].publish(SQUARES, foreign[0].meta().noise.bound).unwrap();
    let strange = format::to_bytes(lattice, &strange).unwrap();
    let finer = squares_at(&world, &world.client, &server, Headroom { terms: 4, levels: 0 });
    let finer = finer[0].publish(SQUARES, finer[0].meta().noise.bound).unwrap();
    let finer = format::to_bytes(lattice, &finer).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let slots = world.client.encrypt_seeded(&world.x[..COUNT], -2.0..=2.0).unwrap();
    let slots = format::to_bytes(params, &slots).unwrap();
    for (bad, expected) in [
        (good[..good.len() - 7].to_vec(), "truncated"),
        (flipped, "damaged"),
        (slots, "the reader expects"),
        (vec![], "no bytes"),
        (unpublished, "unpublished values"),
        (wide, "16 values in [-0.5, 4.75], its column 16 in [-0.05, 4.05]"),
        (noisy, "it states a deviation of"),
        (finer, "it states an encoding of width"),
        (strange, "it belongs to the owner"),
    ] {
        let column = Arc::new(BinaryArray::from_iter_values([good.clone(), bad]));
        register(&session, field.clone(), column);
        let refusal = world.refusal(&session, "SELECT he_pack(w) FROM w").await;
        assert!(refusal.contains("the table, row 1 of its batch"), "{refusal}");
        assert!(refusal.contains(expected), "{refusal}");
    }
    // Another owner: refused by plan, or by the keys.
    let (field, column) = values_column(&theirs, world.params, "w", &foreign, SQUARES).unwrap();
    register(&session, field, column);
    world.refuses(&session, "SELECT he_add(he_pack(w), x) FROM w, t", "owners").await;
    world.refuses(&session, "SELECT he_pack(w) FROM w", "he_pack, row 0 of its batch").await;
    let batches = session.sql("SELECT w FROM w").await.unwrap().collect().await.unwrap();
    let refused = decrypt(&world.client, &batches, Values::All).unwrap_err().to_string();
    assert!(refused.contains("row 1") && refused.contains("key"), "{refused}");
    // A column has vectors of one form.
    let shorter = [vectors[0].clone(), vectors[1].select(&[0, 1]).unwrap()];
    for (vectors, expected) in [(&shorter[..], "unequal numbers of values"), (&[], "no vector")] {
        let refused = values_column(&server, world.params, "w", vectors, SQUARES);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}
