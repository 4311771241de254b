//! Tables in the clear as objects of the store.

use std::fs;

use bellerophon::prelude::*;
use bellerophon_datafusion::{Functions, Hash, Values, decrypt};
use datafusion::prelude::{col, lit};

use crate::world::{ROWS, World, node, numbers};

const ENTRIES: [f64; 4] = [-1.0, 0.0, 1.0, 3.0];

#[tokio::test]
async fn a_table_of_the_store_is_looked_up_as_a_literal_one() {
    let world = World::of(Preset::Insecure(Toy::Functions), &Needs::new().map());
    let name = world.node.keys().put_table(&ENTRIES).unwrap();
    // A process that did not store the table.
    let node = node(world.folder.path(), "another cache", 1 << 30);
    let session = world.session_on(&node, Some(world.keys), 1).await;
    let query = async |table: &str| {
        let sql = format!("SELECT he_map(x, {table}, -3.0, 3.0) AS r FROM t WHERE g = 'b'");
        numbers(&world.query(&session, &sql, Values::All).await, "r")
    };
    let literal = query("'-1;0;1;3'").await;
    assert_eq!(query(&format!("he_object('{name}')")).await, literal);
    assert_eq!(query(&format!("'{name}'")).await, literal);
    let frame = session.table("t").await.unwrap();
    let mapped = Functions::new(&node).map(col("x"), &name.to_string(), -3.0, 3.0).alias("r");
    let frame = frame.filter(col("g").eq(lit("b"))).unwrap().select(vec![mapped]).unwrap();
    let batches = frame.collect().await.unwrap();
    let found = decrypt(&world.client, &batches, Values::All).unwrap();
    assert_eq!(numbers(&found, "r"), literal);

    // The values are those of the table, away from the middle of two places.
    let rows = (0..ROWS).filter(|&i| world.groups[i] == "b");
    let near = |x: f64| [-2.0, 0.0, 2.0].iter().any(|middle| (x - middle).abs() < 0.25);
    let mut checked = 0;
    for (i, found) in rows.zip(&literal).filter(|(i, _)| !near(world.x[*i])) {
        let expected = ENTRIES[((world.x[i] + 3.0) / 2.0).round() as usize];
        assert!((found - expected).abs() < 0.1, "{}: {found}", world.x[i]);
        checked += 1;
    }
    assert!(checked > 300, "{checked}");
}

#[tokio::test]
async fn a_copy_of_a_table_that_was_damaged_is_refused() {
    let world = World::new();
    let name = world.node.keys().put_table(&ENTRIES).unwrap();
    let session = world.session().await;
    let sql = format!("SELECT he_map(x, he_object('{name}'), -3.0, 3.0) FROM t");
    let copy = world.folder.path().join("cache").join(name.to_string());
    for bytes in [b"-1;0;1;4".to_vec(), [&b"0;1;".repeat(100)[..], &[0xff]].concat()] {
        fs::write(&copy, bytes).unwrap();
        let refusal = world.refusal(&session, &sql).await;
        let expected = format!("object {name}: the SHA-256 of its bytes is");
        assert!(refusal.contains(&expected), "{refusal}");
    }
}

#[tokio::test]
async fn tables_vectors_and_secrets_are_not_taken_for_each_other() {
    let world = World::new();
    let session = world.session().await;
    let keys = world.node.keys();
    keys.params(world.params).unwrap();
    let table = keys.put_table(&ENTRIES).unwrap();
    let params = world.client.params();
    let vector = world.client.encrypt_seeded(&[0.5], -1.0..=1.0).unwrap();
    let vector = keys.put_vector(params, &vector).unwrap();
    let stored = |bytes: &[u8]| {
        let name = Hash::of(bytes);
        fs::write(world.folder.path().join("keys").join(name.to_string()), bytes).unwrap();
        name
    };
    let secret = stored(world.client.to_secret_bytes().unwrap().expose());
    let alone = stored(b"12345");
    let gap = stored(b"0;;1");
    let words = stored(b"0;nan;1");
    let long = stored(&b"0;".repeat(9 << 20));
    let map = |table: Hash| format!("he_map(x, he_object('{table}'), -2.0, 2.0)");
    for (call, expected) in [
        (map(vector), "or a table of the key store"),
        (map(world.keys), "need an encrypted vector or a table"),
        (map(secret), "it holds a secret of a client"),
        (map(alone), "it is no table"),
        (map(gap), "it is no table"),
        (map(words), "fewer than a header"),
        (map(long), "it is no table"),
        (map(Hash::of(b"nothing")), "not found"),
        ("he_map(x, y, -2.0, 2.0)".into(), "argument 2 must be a literal, or a table"),
        (format!("he_scale(he_object('{table}'), 2)"), "argument 1 is no encrypted column"),
        (format!("he_object('{table}')"), "only `he_map` takes"),
        (format!("he_object('{secret}')"), "it holds a secret of a client"),
    ] {
        world.refuses(&session, &format!("SELECT {call} FROM t"), expected).await;
    }
    // Its copy ended where a table does.
    assert!(!world.folder.path().join("cache").join(long.to_string()).exists());
    for entries in [&[1.0][..], &[], &[0.0, f64::NAN], &[0.0, f64::INFINITY]] {
        let refused = keys.put_table(entries).unwrap_err().to_string();
        assert!(refused.contains("it is no table"), "{refused}");
    }
    // Another table under the name of this one.
    let place = world.folder.path().join("keys").join(table.to_string());
    fs::write(place, b"0;0;0;0").unwrap();
    let fresh = node(world.folder.path(), "fresh cache", 1 << 30);
    let session = world.session_on(&fresh, Some(world.keys), 1).await;
    world
        .refuses(&session, &format!("SELECT {} FROM t", map(table)), "the SHA-256 of its bytes")
        .await;
}
