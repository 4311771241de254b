//! `map` without a stated accuracy: the fastest engine for which keys exist, with at most the error
//! of a table.

use crate::common::{Party, encrypt, errors, party, refusal, relu, spread};
use bellerophon::circuits::approx::Known;
use bellerophon::prelude::*;
use bellerophon::{CostModel, Engine, ErrorKind, MapPlan, Prediction, PriceOrigin};

/// Prices that are the same on every machine.
const MODEL: CostModel = CostModel::SERVER;

fn of(f: impl Fn(f64) -> f64 + 'static) -> MapRequest<'static> {
    MapRequest::new(f).prices(&MODEL)
}

fn predicted(plan: &MapPlan, engine: Engine) -> &Prediction {
    plan.row(engine).unwrap().prediction.as_ref().unwrap()
}

/// The worst error of the values of a result.
fn worst(party: &Party, y: &Ciphertext, values: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    errors(&party.client.decrypt(y).unwrap(), values.iter().map(|&v| f(v))).1
}

/// A polynomial of all slots takes the time of a few table values and has a smaller error.
#[test]
fn a_polynomial_replaces_a_slower_and_coarser_table() {
    let party = party(Preset::Insecure(Toy::Full), &Needs::new().map().multiply(), 301);
    let Party { client, server } = &party;
    let values = spread(client.params().slots(), -1.0, 1.0);
    let x = encrypt(client, &values, -1.0..=1.0);
    for request in [of(relu), MapRequest::of(MapFunction::relu()).prices(&MODEL)] {
        let plan = server.map_plan(&x, &request).unwrap();
        let [poly, table] = [Engine::Poly, Engine::Rgsw].map(|engine| predicted(&plan, engine));
        assert!(poly.seconds < 0.1 * table.seconds && poly.log2_error < table.log2_error, "{plan}");
        assert_eq!((plan.chosen, plan.faster), (Some(Engine::Poly), None), "{plan}");
        let y = server.map_with(&x, &request).unwrap();
        let off = worst(&party, &y, &values, relu);
        println!("{off:e}\n{plan}");
        assert!(off.log2() <= poly.log2_error && y.level() == poly.output_level, "{off:e} {plan}");
        // The noise of the result is that against the function.
        let found = client.decrypt(&y).unwrap();
        let squares = found.iter().zip(&values).map(|(y, &v)| (y - relu(v)).powi(2)).sum::<f64>();
        let rms = (squares / values.len() as f64).sqrt();
        assert!(rms < 1.2 * y.metadata().noise(), "{rms:e} {:e}", y.metadata().noise());
    }
    let y = server.map(&x, relu).unwrap();
    assert!(worst(&party, &y, &values, relu) < 2f64.powi(-8));
}

/// The choice never has a larger error than the table, nor takes longer.
#[test]
fn no_choice_is_worse_than_the_table() {
    let needs = Needs::new().map().multiply().functional();
    let party = party(Preset::Insecure(Toy::Full), &needs, 302);
    let Party { client, server } = &party;
    let wave = |v: f64| (9.0 * v).sin();
    let step = |v: f64| if v < 0.3 { 0.0 } else { 1.0 };
    let known = |known: Known| MapRequest::of(known).prices(&MODEL);
    let sign = || MapRequest::of(MapFunction::sign(0.25)).prices(&MODEL);
    let table = || MapRequest::table(vec![0.0, 3.0, 1.0, 2.0]).prices(&MODEL);
    type Case = (&'static str, MapRequest<'static>, (f64, f64), Option<Engine>);
    let cases: [Case; 8] = [
        ("affine", of(|v| 1.0 - 2.0 * v), (-1.0, 1.0), Some(Engine::Poly)),
        ("constant", of(|_| 3.0), (-1.0, 1.0), Some(Engine::Poly)),
        ("wave", of(wave), (-1.0, 1.0), None),
        ("sigmoid", known(Known::Sigmoid), (-8.0, 8.0), None),
        ("inverse", known(Known::Inverse), (0.5, 8.0), None),
        // A jump has no polynomial and no series; only tables serve.
        ("step", of(step), (-1.0, 1.0), Some(Engine::Rgsw)),
        ("sign", sign(), (-1.0, 1.0), None),
        ("table", table(), (0.0, 3.0), None),
    ];
    for (name, request, (lo, hi), expected) in cases {
        for count in [3, 500] {
            let values = match name {
                "table" => (0..count).map(|i| (i % 4) as f64).collect(),
                _ => spread(count, lo, hi),
            };
            let x = encrypt(client, &values, lo..=hi);
            let plan = server.map_plan(&x, &request).unwrap();
            let alone = server.map_plan(&x, &request.clone().engines([Engine::Rgsw])).unwrap();
            let (chosen, table) = (plan.prediction().unwrap(), alone.prediction().unwrap());
            assert_eq!(predicted(&plan, Engine::Rgsw), table, "{name}: {plan}");
            println!("{name}: {plan}");
            assert!(chosen.log2_error <= table.log2_error, "{name}: {plan}");
            assert!(chosen.seconds <= table.seconds, "{name}: {plan}");
            assert!(
                plan.chosen == Some(Engine::Rgsw) || Some(chosen.log2_error) <= plan.log2_error
            );
            assert!(expected.is_none_or(|engine| plan.chosen == Some(engine)), "{name}: {plan}");
        }
    }
}

/// Keys of tables alone: results and errors are those of the tables.
#[test]
fn tables_alone_serve_as_they_are() {
    let party = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 303);
    let Party { client, server } = &party;
    let x = encrypt(client, &spread(20, -2.0, 2.0), -2.0..=2.0);
    let tables = |request: MapRequest<'static>| request.engines([Engine::Rgsw]);
    let tanh = || of(f64::tanh);
    let plan = server.map_plan(&x, &tanh()).unwrap();
    assert_eq!((plan.rows.len(), plan.chosen), (5, Some(Engine::Rgsw)), "{plan}");
    assert!(plan.row(Engine::Poly).unwrap().refusal.as_ref().unwrap().contains("Needs::multiply"));
    let alone = server.map_plan(&x, &tables(tanh())).unwrap();
    assert_eq!((alone.rows.len(), alone.log2_error), (1, None));
    assert_eq!(plan.prediction(), alone.prediction());
    assert_eq!(
        server.map_with(&x, &tanh()).unwrap(),
        server.map_with(&x, &tables(tanh())).unwrap()
    );
    // A function without a value at a point between the cells of the table.
    let hole = |v: f64| if v == -1.0 { f64::NAN } else { v.cos() };
    assert_eq!(server.map_plan(&x, &of(hole)).unwrap().chosen, Some(Engine::Rgsw));
    assert!(server.map_with(&x, &of(hole)).is_ok());
    // What tables refuse.
    let low = server.drop_to_level(&x, 1).unwrap();
    for (x, request) in
        [(&low, tanh()), (&x, of(f64::sqrt)), (&x, tanh().over(-1e7..=1e7)), (&x, tanh())]
    {
        let [own, of_tables] = [request.clone(), tables(request)]
            .map(|request| server.map_with(x, &request).map_err(|error| error.to_string()));
        assert_eq!(own, of_tables);
    }
    // Keys of products alone: a polynomial, and where it cannot serve, the keys of tables.
    let party =
        crate::common::party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 303);
    let x = encrypt(&party.client, &[0.5, -1.0], -2.0..=2.0);
    let y = party.server.map(&x, f64::tanh).unwrap();
    assert!(worst(&party, &y, &[0.5, -1.0], f64::tanh) < 2f64.powi(-7));
    let refused = party.server.map(&x, f64::signum);
    assert_eq!(*refusal(&refused).kind(), ErrorKind::MissingKey { need: "map" }, "{refused:?}");
}

/// The plan that is shown is what runs, also one that was read from bytes.
#[test]
fn what_is_planned_runs() {
    let needs = Needs::new().map().multiply().bootstrap();
    let party = party(Preset::Insecure(Toy::Full), &needs, 304);
    let Party { client, server } = &party;
    let after = client.params().lookups().unwrap().level_after();
    let values = spread(6, -1.0, 1.0);
    let x = encrypt(client, &values, -1.0..=1.0);
    let step = |v: f64| if v < 0.3 { 0.0 } else { 1.0 };
    let automatic = server.clone().with_auto_bootstrap().unwrap();
    let low = server.drop_to_level(&x, 1).unwrap();
    let least = client.params().bootstrapper().unwrap().input_level();
    let short = server.drop_to_level(&x, least).unwrap();
    for (server, x, request, chosen) in [
        (server, &x, of(f64::tanh), Engine::Poly),
        // A level that a polynomial does not leave.
        (server, &x, of(f64::tanh).leaving(after), Engine::Rgsw),
        (server, &x, of(step), Engine::Rgsw),
        (server, &low, of(|v| 0.5 * v), Engine::Poly),
        // An operand that is bootstrapped before its table is read.
        (&automatic, &short, of(step), Engine::Rgsw),
    ] {
        let plan = server.map_plan(x, &request).unwrap();
        assert_eq!(plan.chosen, Some(chosen), "{plan}");
        let y = server.map_with(x, &request).unwrap();
        let reached = plan.prediction().unwrap();
        assert_eq!(y.level(), reached.output_level, "{plan}");
        let f = |v: f64| request.value(v);
        assert!(worst(&party, &y, &values, f).log2() <= reached.log2_error, "{plan}");
        let json = serde_json::to_string(&plan).unwrap();
        for plan in [plan, serde_json::from_str(&json).unwrap()] {
            assert_eq!(server.map_with(x, &request.clone().planned(&plan)).unwrap(), y, "{plan}");
        }
    }
    // A level that nothing leaves.
    let above = of(f64::tanh).leaving(client.params().levels() + 1);
    assert_eq!(server.map_plan(&x, &above).unwrap().chosen, None);
    let refused = server.map_with(&x, &above);
    assert!(refusal(&refused).is(&ErrorKind::Accuracy { log2_reached: None }, "no engine"));
}

/// Plans from before prices had names are read.
#[test]
fn plans_without_prices_are_read() {
    let params = crate::common::params_of(Preset::Insecure(Toy::Functions));
    let plan = params.map_plan(&MapRequest::of(Known::Tanh).over(-4.0..=4.0)).unwrap();
    let mut json = serde_json::to_value(&plan).unwrap();
    let fields = json.as_object_mut().unwrap();
    assert!(fields.remove("prices").is_some() && fields.remove("faster").is_some());
    let read: MapPlan = serde_json::from_value(json).unwrap();
    assert_eq!((read.prices, read.faster, read.chosen), (PriceOrigin::Server, None, plan.chosen));
}
