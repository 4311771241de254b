//! Objects of the store and keys in memory.

use std::{fs, thread};

use bellerophon::{bfv, pir};
use bellerophon_datafusion::{Error, Hash, Values};

use crate::world::{World, close, needs, node, numbers};

const QUERY: &str = "SELECT he_sum_slots(he_sum(he_mul(x, x))) AS s FROM t";

fn square_sum(world: &World) -> f64 {
    world.x.iter().map(|x| x * x).sum()
}

#[tokio::test]
async fn processes_of_a_machine_copy_an_object_once() {
    let world = World::new();
    // Two nodes with one folder, as two executors of a machine have, and two queries each.
    let nodes = [0, 1].map(|_| node(world.folder.path(), "shared cache", 1 << 30));
    let sessions = [
        world.session_on(&nodes[0], Some(world.keys), 1).await,
        world.session_on(&nodes[1], Some(world.keys), 1).await,
    ];
    let runs = sessions.each_ref().map(|session| world.query(session, QUERY, Values::First));
    let [one, two] = runs;
    let (one, two) = tokio::join!(one, two);
    close(&numbers(&one, "s"), &[square_sum(&world)], 1e-2);
    close(&numbers(&two, "s"), &[square_sum(&world)], 1e-2);
    // The parameters and the keys.
    assert_eq!(nodes[0].keys().downloads() + nodes[1].keys().downloads(), 2);
}

#[test]
fn threads_that_want_keys_at_once_load_them_once() {
    let world = World::new();
    let world = &world;
    let session = tokio::runtime::Runtime::new().unwrap().block_on(world.session());
    thread::scope(|scope| {
        for _ in 0..3 {
            let session = session.clone();
            scope.spawn(move || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                let found = runtime.block_on(world.query(&session, QUERY, Values::First));
                close(&numbers(&found, "s"), &[square_sum(world)], 1e-2);
            });
        }
    });
    assert_eq!(world.node.keys().downloads(), 2);
}

#[tokio::test]
async fn least_recently_used_keys_leave_the_memory() {
    let world = World::new();
    let store = world.node.keys();
    let keys = |_| store.put_keys(&world.client.evaluation_keys(&needs()).unwrap()).unwrap();
    let sets = [0, 1].map(keys);
    let bytes = fs::metadata(world.folder.path().join("keys").join(sets[0].to_string()));
    let bytes = bytes.unwrap().len();

    // Two sets fit: the third one takes the place of the one that was used first.
    let small = node(world.folder.path(), "small cache", 2 * bytes + bytes / 2);
    for keys in [world.keys, sets[0], sets[1], sets[0]] {
        let session = world.session_on(&small, Some(keys), 1).await;
        world.query(&session, QUERY, Values::First).await;
        assert!(small.keys().loaded_bytes() <= 2 * bytes + bytes / 2);
    }
    assert_eq!(small.keys().loaded_bytes(), 2 * bytes);
    assert!(small.memory().reserved() as u64 >= 2 * bytes);

    // None fits: an error with all numbers.
    let none = node(world.folder.path(), "no cache", bytes / 2);
    let session = world.session_on(&none, Some(world.keys), 1).await;
    let refusal = world.refusal(&session, QUERY).await;
    assert!(refusal.contains(&format!("keys of {bytes} bytes")), "{refusal}");
    assert_eq!(none.keys().loaded_bytes(), 0);
}

#[tokio::test]
async fn damaged_objects_are_refused() {
    let world = World::new();
    let place = world.folder.path().join("keys").join(world.keys.to_string());
    let whole = fs::read(&place).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let other = fs::read(world.folder.path().join("keys").join(world.params.to_string())).unwrap();
    let cases = [
        (flipped, "the SHA-256 of its bytes is"),
        (whole[..whole.len() - 1].to_vec(), "the SHA-256 of its bytes is"),
        (whole[..20].to_vec(), "fewer than a header"),
        (b"x".repeat(200), "not an object of Bellerophon"),
        (other, "need evaluation keys"),
        (
            world.client.to_secret_bytes().unwrap().expose().to_vec(),
            "it holds a secret of a client",
        ),
    ];
    for (i, (bytes, expected)) in cases.into_iter().enumerate() {
        fs::write(&place, bytes).unwrap();
        let fresh = node(world.folder.path(), &format!("cache {i}"), 1 << 30);
        let session = world.session_on(&fresh, Some(world.keys), 1).await;
        let refusal = world.refusal(&session, QUERY).await;
        assert!(refusal.contains(expected), "{refusal}");
        assert!(refusal.contains(&world.keys.to_string()), "{refusal}");
    }

    // The object is whole again, and the same node goes on.
    let fresh = node(world.folder.path(), "cache 0", 1 << 30);
    fs::write(&place, whole).unwrap();
    let session = world.session_on(&fresh, Some(world.keys), 1).await;
    close(
        &numbers(&world.query(&session, QUERY, Values::First).await, "s"),
        &[square_sum(&world)],
        1e-2,
    );

    // A store that fails is another kind of error, which engines repeat.
    fs::remove_file(&place).unwrap();
    let empty = node(world.folder.path(), "empty cache", 1 << 30);
    let session = world.session_on(&empty, Some(world.keys), 1).await;
    let refusal = world.refusal(&session, QUERY).await;
    assert!(refusal.contains("Object Store error"), "{refusal}");
}

#[test]
fn secrets_do_not_enter_a_store() {
    let world = World::new();
    let secret = world.client.to_secret_bytes().unwrap();
    let refused = world.node.keys().put(secret.expose());
    assert!(matches!(refused, Err(Error::Secret(_))), "{refused:?}");
    let mut header = secret.expose()[..56].to_vec();
    for (kind, name) in [
        (bfv_secret(), "secret"),
        (<pir::Client as bellerophon::ring::wire::SecretWire>::KIND, "client"),
    ] {
        header[10..12].copy_from_slice(&kind.to_le_bytes());
        let refused = world.node.keys().put(&header);
        assert!(matches!(refused, Err(Error::Secret(_))), "{name}: {refused:?}");
    }
    // What no function reads is refused, too.
    let public = world.client.public_key().unwrap().to_bytes().unwrap();
    let refused = world.node.keys().put(&public);
    assert!(matches!(refused, Err(Error::Object { .. })), "{refused:?}");
    let stored = fs::read_dir(world.folder.path().join("keys")).unwrap().count();
    assert_eq!(stored, 2, "parameters and evaluation keys");
}

fn bfv_secret() -> u16 {
    <bfv::SecretKey as bellerophon::ring::wire::SecretWire>::KIND
}

#[test]
fn hashes_are_those_of_sha_256() {
    // FIPS 180-4, the digest of "abc".
    let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(Hash::of(b"abc").to_string(), digits);
    assert_eq!(digits.parse(), Ok(Hash::of(b"abc")));
    assert!(digits[1..].parse::<Hash>().is_err() && "g".repeat(64).parse::<Hash>().is_err());
}
