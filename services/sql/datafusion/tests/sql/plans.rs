//! Predictions of plans, and plans that are refused before they start.

use bellerophon_datafusion::{Predictions, Values};
use datafusion::arrow::array::AsArray;

use crate::world::World;

#[tokio::test]
async fn explain_shows_levels_errors_and_seconds() {
    let world = World::new();
    let session = world.session().await;
    let sql = "SELECT he_sum_slots(he_sum(he_mul(x, y))) AS s FROM t";
    let batches = session.sql(&format!("EXPLAIN {sql}")).await.unwrap().collect().await.unwrap();
    let plans = batches[0].column(1).as_string::<i32>();
    let text: Vec<_> = plans.iter().flatten().collect();
    let text = text.join("\n");
    assert!(text.contains("seconds on one thread") && text.contains("AggregateExec"), "{text}");
    assert!(world.node.calls().is_empty(), "nothing was evaluated");

    // The predicted level is that of the result, and its error covers the measured one.
    let frame = session.sql(sql).await.unwrap();
    let plan = frame.clone().into_optimized_plan().unwrap();
    let predicted = Predictions::of(&plan).unwrap();
    let names: Vec<_> = predicted.0.iter().map(|node| node.expression.as_str()).collect();
    for function in ["he_mul(", "he_sum(", "he_sum_slots("] {
        assert!(names.iter().any(|name| name.starts_with(function)), "{names:?}");
    }
    // Products and sums over slots take time; additions count as free.
    let slow = predicted.0.iter().filter(|node| node.seconds > 0.0).count();
    assert_eq!((slow, predicted.0.len()), (2, 3), "{predicted}");
    let last =
        predicted.0.iter().find(|node| node.expression.starts_with("he_sum_slots(")).unwrap();
    let batches = frame.collect().await.unwrap();
    let bytes = batches[0].column(0).as_binary::<i32>().value(0);
    let params = world.client.params();
    let x: bellerophon::Ciphertext = bellerophon::format::from_bytes(params, bytes).unwrap();
    assert_eq!(x.level(), last.level);
    let expected: f64 = world.x.iter().zip(&world.y).map(|(x, y)| x * y).sum();
    let error = (world.client.decrypt(&x).unwrap()[0] - expected).abs();
    assert!(error < 6.0 * last.error, "{error} {}", last.error);
    // Three vectors were added, whose errors are independent. The plan allows six, of errors that
    // it cannot tell to be independent: 6 / sqrt(3) = 3.46 times the deviation.
    assert!(
        last.error < 4.0 * x.metadata().noise() && x.metadata().noise() <= last.error * 1.01,
        "{}",
        x.metadata().noise()
    );
}

#[tokio::test]
async fn a_plan_that_runs_out_of_levels_does_not_start() {
    let world = World::new();
    let session = world.session().await;
    let levels = world.client.params().levels();
    let power = |count: usize| {
        (0..count).fold("he_scale(x, 0.5)".to_string(), |x, _| format!("he_scale({x}, 0.5)"))
    };
    let refusal = world.refusal(&session, &format!("SELECT {} FROM t", power(levels))).await;
    assert!(refusal.contains("he_scale cannot be planned"), "{refusal}");
    assert!(world.node.calls().is_empty(), "nothing was evaluated");
    let sql = format!("SELECT {} AS y FROM t", power(levels - 1));
    world.query(&session, &sql, Values::All).await;

    // Values that would wrap around.
    let refusal = world.refusal(&session, "SELECT he_scale(he_scale(x, 1e30), 1e30) FROM t").await;
    assert!(refusal.contains("he_scale cannot be planned"), "{refusal}");
}
