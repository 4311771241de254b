//! Results that leave the server.

use bellerophon::{Published, ckks::Metadata, format};
use bellerophon_datafusion::Values;
use datafusion::{arrow::array::AsArray, prelude::SessionContext};

use crate::world::{World, close, numbers};

/// Bytes of the first vector of a query, what they state, and what its field says.
async fn stated(world: &World, session: &SessionContext, call: &str) -> (usize, Metadata, String) {
    let sql = format!("SELECT {call} AS p FROM t WHERE g = 'b'");
    let batches = session.sql(&sql).await.unwrap().collect().await.unwrap();
    let bytes = batches[0].column(0).as_binary::<i32>().value(0);
    let x: Published = format::from_bytes(world.client.params(), bytes).unwrap();
    let described = batches[0].schema().field(0).metadata()["bellerophon"].clone();
    (bytes.len(), x.as_ref().metadata(), described)
}

#[tokio::test]
async fn a_published_result_says_nothing_of_degree_and_constants() {
    let world = World::new();
    let session = world.session().await;
    let mut all = Vec::new();
    for (text, value) in [
        ("1,0.5", (|x| 1.0 + 0.5 * x) as fn(f64) -> f64),
        ("0.1,0,0,-3", |x| 0.1 - 3.0 * x.powi(3)),
        ("2,1,0,0.25,0,0,0,0.01", |x| 2.0 + x + 0.25 * x.powi(3) + 0.01 * x.powi(7)),
    ] {
        let call = format!("he_publish(he_polynomial(x, '{text}'), -300.0, 300.0)");
        let found = stated(&world, &session, &call).await;
        // The plan is that of the vector.
        assert!(found.2.contains(&format!("\"level\":{},", found.1.level)), "{}", found.2);
        all.push(found);
        let sql = format!("SELECT {call} AS p FROM t WHERE g = 'b'");
        let found = numbers(&world.query(&session, &sql, Values::All).await, "p");
        let rows = world.x.iter().zip(&world.groups).filter(|(_, group)| **group == "b");
        close(&found, &rows.map(|(x, _)| value(*x)).collect::<Vec<_>>(), 1e-2);
    }
    assert!(all.iter().all(|found| *found == all[0]), "{all:?}");
    // The query may declare a level, for results that are operands again.
    let call = "he_publish(he_polynomial(x, '1,0.5'), -300.0, 300.0, 2)";
    assert_eq!(stated(&world, &session, call).await.1.level, 2);
    for (call, expected) in [
        ("he_publish(x, -2.0, 2.0, 1000)", "he_publish cannot be planned"),
        ("he_publish(x, -2.0, 2.0, 0.5)", "argument 4 must be a level"),
    ] {
        world.refuses(&session, &format!("SELECT {call} FROM t"), expected).await;
    }
}
