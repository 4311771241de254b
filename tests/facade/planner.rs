//! The planner of `map` on toy sets: its choices, its predictions, and its refusals.

use crate::common::{cases, encrypt, params_of, party, refusal, spread};
use bellerophon::circuits::approx::{Function, Known};
use bellerophon::prelude::*;
use bellerophon::{CostModel, Engine, ErrorKind, FasterEngine, MapPlan, PriceOrigin};

const MODEL: CostModel = CostModel::SERVER;

fn plan(params: &Params, request: &MapRequest<'_>) -> MapPlan {
    params.map_plan(request).unwrap()
}

fn sigmoid(log2_error: f64) -> MapRequest<'static> {
    MapRequest::of(Known::Sigmoid).over(-8.0..=8.0).error(Accuracy::bits(-log2_error))
}

#[test]
fn plans_are_deterministic_and_travel() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let request = sigmoid(-8.0).count(64).allow(Engine::Ntru);
    let first = plan(&params, &request);
    assert_eq!(first, plan(&params, &request));
    let json = serde_json::to_string(&first).unwrap();
    let mut back: MapPlan = serde_json::from_str(&json).unwrap();
    // JSON keeps numbers to their last digit but one.
    for (row, sent) in back.rows.iter_mut().zip(&first.rows) {
        let pair = row.prediction.as_mut().zip(sent.prediction.as_ref());
        if let Some((found, sent)) = pair {
            // Not part of the serialised form.
            assert_eq!((found.order, &found.accuracy), (None, &None));
            (found.order, found.accuracy) = (sent.order, sent.accuracy.clone());
            assert!((found.log2_error - sent.log2_error).abs() < 1e-12);
            assert!((found.seconds / sent.seconds - 1.0).abs() < 1e-12);
            (found.log2_error, found.seconds) = (sent.log2_error, sent.seconds);
        }
    }
    assert_eq!(back, first);
    let model = serde_json::to_string(&MODEL).unwrap();
    let model: CostModel = serde_json::from_str(&model).unwrap();
    assert!((model.step / MODEL.step - 1.0).abs() < 1e-12 && model.version == MODEL.version);
    assert!(params.map_plan(&request.prices(&model)).is_ok());
    let text = first.to_string();
    for engine in Engine::ALL {
        assert!(text.contains(engine.name()), "{text}");
        assert_eq!(engine.name().parse(), Ok(engine));
        assert_eq!(serde_json::to_string(&engine).unwrap(), format!("\"{engine}\""));
    }
    assert!("rsgw".parse::<Engine>().unwrap_err().contains("rgsw"));
}

/// More threads never take longer, and the choice is the fastest of what serves.
#[test]
fn times_follow_threads_and_the_fastest_is_chosen() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let request = sigmoid(-4.0).count(256).allow(Engine::Ntru);
    let seconds = |threads, engine| {
        let plan = params.map_plan(&request.clone().threads(threads)).unwrap();
        plan.row(engine).unwrap().prediction.as_ref().unwrap().seconds
    };
    for engine in [Engine::Poly, Engine::Rgsw, Engine::Ntru, Engine::Corrected] {
        let times: Vec<f64> = [1, 2, 4, 64].map(|threads| seconds(threads, engine)).into();
        assert!(times.windows(2).all(|pair| pair[1] < pair[0]), "{engine}: {times:?}");
    }
    let all = plan(&params, &request);
    let fastest = all.rows.iter().filter(|row| row.refusal.is_none()).min_by(|x, y| {
        let seconds = |row: &bellerophon::EngineRow| row.prediction.as_ref().unwrap().seconds;
        seconds(x).total_cmp(&seconds(y))
    });
    assert_eq!(all.chosen, fastest.map(|row| row.engine));
    // Twice as many values, about twice the time of tables, and the same for a polynomial.
    let of = |count: usize, engine| {
        let plan = plan(&params, &sigmoid(-4.0).count(count));
        plan.row(engine).unwrap().prediction.as_ref().unwrap().seconds
    };
    assert_eq!(of(256, Engine::Poly), of(512, Engine::Poly));
    let ratio = of(512, Engine::Rgsw) / of(256, Engine::Rgsw);
    assert!((1.3..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn ntru_is_never_taken_unless_it_is_named() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    for log2_error in [-1.0, -4.0, -20.0] {
        for count in [1, 64, 1024] {
            let plan = plan(&params, &sigmoid(log2_error).count(count));
            assert_ne!(plan.chosen, Some(Engine::Ntru));
            let row = plan.row(Engine::Ntru).unwrap();
            assert!(row.refusal.as_ref().unwrap().contains("named") && row.prediction.is_none());
        }
    }
    let tables = [Engine::Rgsw, Engine::Ntru];
    let named = plan(&params, &sigmoid(-2.0).count(8).engines(tables));
    assert_eq!(named.chosen, Some(Engine::Ntru), "{named}");
    // Keys that were made with NTRU do not name it for the program.
    let party = party(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Ntru]), 1);
    let x = encrypt(&party.client, &[0.5, -1.0], -8.0..=8.0);
    let plan = party.server.map_plan(&x, &sigmoid(-2.0).engines(Engine::DEFAULT)).unwrap();
    assert!(
        !matches!(plan.chosen, Some(Engine::Ntru | Engine::Rgsw | Engine::Corrected)),
        "{plan}"
    );
    let plan = party.server.map_plan(&x, &sigmoid(-2.0).engines([Engine::Ntru])).unwrap();
    assert_eq!(plan.chosen, Some(Engine::Ntru));
}

#[test]
fn keys_at_hand_restrict_the_engines() {
    for (engines, chosen) in [
        (vec![Engine::Poly], Some(Engine::Poly)),
        // The relinearization key of look-ups lies below the level of the operand.
        (vec![Engine::Rgsw], Some(Engine::Rgsw)),
        (vec![], None),
    ] {
        let party =
            party(Preset::Insecure(Toy::Functions), &Needs::new().map_with(engines.clone()), 2);
        let x = encrypt(&party.client, &[0.5, -1.0], -8.0..=8.0);
        let plan = party.server.map_plan(&x, &sigmoid(-3.0)).unwrap();
        assert_eq!(plan.chosen, chosen, "{engines:?}: {plan}");
        // What was chosen runs.
        if chosen.is_some() {
            let y = party.server.map_with(&x, &sigmoid(-3.0)).unwrap();
            assert!((party.client.decrypt(&y).unwrap()[0] - 0.6225).abs() < 0.125);
        }
        let tables = plan.row(Engine::Rgsw).unwrap().refusal.is_none();
        assert_eq!(tables, engines.contains(&Engine::Rgsw), "{plan}");
        let missing = plan.row(Engine::Fbt).unwrap().refusal.clone().unwrap();
        assert!(missing.contains("functional bootstrapping"), "{missing}");
        if chosen.is_none() {
            let refused = party.server.map_with(&x, &sigmoid(-3.0));
            let refused = refusal(&refused);
            assert!(refused.is(&ErrorKind::Accuracy { log2_reached: None }, "Needs::multiply"));
            assert!(refused.message().contains("Needs::map"), "{refused}");
        }
    }
}

/// A refusal has a line for every engine, also where the keys are missing.
#[test]
fn refusals_name_every_engine() {
    let party = party(
        Preset::Insecure(Toy::Functions),
        &Needs::new().map_with([Engine::Rgsw]).multiply(),
        2,
    );
    let x = encrypt(&party.client, &[0.5, -1.0], -8.0..=8.0);
    let low = party.server.drop_to_level(&x, 2).unwrap();
    let told = party.server.map_with(&low, &sigmoid(-18.0)).unwrap_err().to_string();
    for line in ["\npoly: ", "\nfbt: ", "\nrgsw: reaches 0.", "\ncorrected: "] {
        assert!(told.contains(line), "{told}");
    }
    assert!(!told.contains("ntru") && told.contains("levels"), "{told}");
}

#[test]
fn plans_name_their_prices() {
    let party = party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 2);
    let x = encrypt(&party.client, &[0.5, -1.0], -8.0..=8.0);
    let request = sigmoid(-3.0);
    for (plan, prices, name) in [
        (party.server.map_plan(&x, &request).unwrap(), PriceOrigin::Machine, "this machine"),
        (plan(party.client.params(), &request), PriceOrigin::Server, "the server model"),
        (
            party.server.map_plan(&x, &request.clone().prices(&MODEL)).unwrap(),
            PriceOrigin::Given,
            "the given model",
        ),
    ] {
        assert!(plan.prices == prices && plan.to_string().contains(name), "{plan}");
    }
}

/// A plan tells which keys would make it much faster.
#[test]
fn plans_tell_what_missing_keys_cost() {
    let needs = Needs::new().map_with([Engine::Rgsw]);
    let party = party(Preset::Insecure(Toy::Functions), &needs, 2);
    let slots = party.client.params().slots();
    let x = encrypt(&party.client, &spread(slots, -8.0, 8.0), -8.0..=8.0);
    let request = sigmoid(-2.0).prices(&MODEL);
    let found = party.server.map_plan(&x, &request).unwrap();
    let all = plan(party.client.params(), &request.threads(found.threads));
    let seconds =
        |plan: &MapPlan, engine| plan.row(engine).unwrap().prediction.as_ref().unwrap().seconds;
    assert_eq!((found.chosen, all.chosen), (Some(Engine::Rgsw), Some(Engine::Poly)), "{found}");
    assert_eq!(seconds(&found, Engine::Poly), seconds(&all, Engine::Poly));
    let FasterEngine { engine, factor } = found.faster.unwrap();
    assert_eq!(factor, seconds(&all, Engine::Rgsw) / seconds(&all, engine));
    let text = found.to_string();
    assert!(engine == Engine::Poly && factor > FasterEngine::LEAST, "{text}");
    assert!(text.contains("`Needs::map_with([Engine::Poly])`"), "{text}");
    assert_eq!(all.faster, None);
    // A table that was not asked for by name, too.
    let request = MapRequest::new(f64::tanh).over(-8.0..=8.0).prices(&MODEL);
    let table = party.server.map_plan(&x, &request).unwrap();
    assert_eq!((table.rows.len(), table.chosen), (5, Some(Engine::Rgsw)), "{table}");
    assert_eq!(table.faster.map(|found| found.engine), Some(Engine::Poly), "{table}");
    let named = party.server.map_plan(&x, &request.engines([Engine::Rgsw])).unwrap();
    assert_eq!(named.faster, None);
}

/// The worst error of many values relative to the predicted bound, and the level of the result.
fn error_of(
    preset: Preset,
    engine: Engine,
    request: &MapRequest<'_>,
    values: &[f64],
    seed: u64,
) -> (f64, f64) {
    let party = party(preset, &Needs::new().map_with([engine]), seed);
    let x = encrypt(&party.client, values, request.domain().unwrap().clone());
    let request = request.clone().engines([engine]);
    let planned = party.server.map_plan(&x, &request).unwrap();
    assert_eq!(planned.chosen, Some(engine));
    let predicted = planned.prediction().unwrap();
    let y = party.server.map_with(&x, &request.clone().planned(&planned)).unwrap();
    assert_eq!((y.level(), y.len()), (predicted.output_level, values.len()));
    assert!(predicted.seconds > 0.0);
    // The same before any key existed, up to what a ring needs for one value less.
    let before = plan(&party.client.params().clone(), &request.clone().count(values.len()));
    let before = before.prediction().unwrap();
    assert!((before.log2_error - predicted.log2_error).abs() < 0.2, "{before:?} {predicted:?}");
    let found = party.client.decrypt(&y).unwrap();
    let off = found.iter().zip(values).map(|(y, &x)| (y - request.value(x)).abs());
    let worst = off.fold(0.0, f64::max);
    let bound = predicted.log2_error.exp2();
    println!(
        "{preset:?} {engine} {}: worst 2^{:.1}, bound 2^{:.1}, {}",
        request.name(),
        worst.log2(),
        bound.log2(),
        predicted.detail
    );
    assert!(Some(predicted.log2_error) <= planned.log2_error);
    (worst, bound)
}

/// The bound holds, and is not far above what happens.
fn check(preset: Preset, engine: Engine, request: &MapRequest<'_>, values: &[f64], room_bits: f64) {
    let (worst, bound) = error_of(preset, engine, request, values, 3);
    assert!(worst <= bound, "{engine}: {worst:e} above {bound:e}");
    assert!(worst * room_bits.exp2() > bound, "{engine}: {worst:e} far below {bound:e}");
}

/// Numbers of an interval but for the neighbourhood of zero.
fn away_from_zero(count: usize, most: f64, gap: f64) -> Vec<f64> {
    let all = spread(count, -1.0, 1.0);
    all.into_iter().map(|x| x.signum() * (gap + (most - gap) * x.abs())).collect()
}

#[test]
fn bounds_hold_for_polynomials() {
    let (preset, poly) = (Preset::Insecure(Toy::Functions), Engine::Poly);
    let values = spread(500, -8.0, 8.0);
    check(preset, poly, &sigmoid(-10.0), &values, 4.0);
    check(preset, poly, &sigmoid(-18.0), &values, 6.0);
    let relu = MapRequest::of(MapFunction::relu()).over(-8.0..=8.0).error(Accuracy::bits(5.0));
    check(preset, poly, &relu, &values, 6.0);
    let sign = MapRequest::of(MapFunction::sign(1.0)).over(-8.0..=8.0).error(Accuracy::bits(8.0));
    check(preset, poly, &sign, &away_from_zero(200, 8.0, 1.0), 4.0);
    // Padding is zero, where 1/x is not defined: 200 values in 256 slots.
    let inverse = MapRequest::of(Known::Inverse).over(0.5..=10.0).error(Accuracy::bits(8.0));
    check(preset, poly, &inverse, &spread(200, 0.5, 10.0), 5.0);
    let closure = MapFunction::closure("bump", |x: f64| (-x * x).exp());
    let bump = MapRequest::of(closure).over(-2.0..=2.0).error(Accuracy::bits(8.0));
    check(preset, poly, &bump, &spread(200, -2.0, 2.0), 5.0);
}

#[test]
fn bounds_hold_for_functional_bootstrapping() {
    let (preset, fbt) = (Preset::Insecure(Toy::Smooth), Engine::Fbt);
    check(preset, fbt, &sigmoid(-14.0), &spread(500, -8.0, 8.0), 6.0);
    let relu = MapRequest::of(MapFunction::relu()).over(-8.0..=8.0).error(Accuracy::bits(4.0));
    check(preset, fbt, &relu, &spread(500, -8.0, 8.0), 5.0);
    let inverse = MapRequest::of(Known::Inverse).over(1.0..=10.0).error(Accuracy::bits(8.0));
    check(preset, fbt, &inverse, &spread(200, 1.0, 10.0), 6.0);
    let entries: Vec<f64> = (0..256).map(|k| f64::from(k * 77 % 256) / 256.0).collect();
    let integers: Vec<f64> = (0..256).map(f64::from).collect();
    check(
        Preset::Insecure(Toy::Tables),
        fbt,
        &MapRequest::table(entries).error(Accuracy::bits(8.0)),
        &integers,
        12.0,
    );
}

#[cfg(feature = "long-tests")]
#[test]
fn bounds_hold_for_tables() {
    let preset = Preset::Insecure(Toy::Functions);
    let values = spread(200, -8.0, 8.0);
    for engine in [Engine::Rgsw, Engine::Ntru] {
        check(preset, engine, &sigmoid(-2.0), &values, 3.0);
        let relu = MapRequest::of(MapFunction::relu()).over(-8.0..=8.0).error(Accuracy::bits(-0.5));
        check(preset, engine, &relu, &values, 3.0);
        let sign =
            MapRequest::of(MapFunction::sign(1.0)).over(-8.0..=8.0).error(Accuracy::bits(6.0));
        check(preset, engine, &sign, &away_from_zero(100, 8.0, 1.0), 12.0);
        let inverse = MapRequest::of(Known::Inverse).over(1.0..=9.0).error(Accuracy::bits(1.0));
        check(preset, engine, &inverse, &spread(100, 1.0, 9.0), 4.0);
        let table = MapRequest::table(vec![0.0, 3.0, 1.0, 2.0]).error(Accuracy::bits(5.0));
        let integers: Vec<f64> = (0..64).map(|i| f64::from(i % 4)).collect();
        check(preset, engine, &table, &integers, 12.0);
    }
    // The index is seldom off by as much as the bound allows, and its error counts squared: the
    // worst of 200 values was 3.1 to 5.4 bits below the bound for 40 keys, above 5 for 5 of them.
    let corrected = |seed| error_of(preset, Engine::Corrected, &sigmoid(-6.0), &values, seed);
    let ratios = (3..7).map(corrected).map(|(worst, bound)| worst / bound);
    let ratio = ratios.fold(0.0, f64::max);
    assert!(ratio <= 1.0 && ratio > (-5.0_f64).exp2(), "worst over bound: {ratio:e}");
}

/// A correction is planned over what the operand carries of the domain, and runs over that.
#[test]
fn corrections_run_as_they_are_planned() {
    let party =
        party(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Corrected]), 7);
    let request = |log2_error| sigmoid(log2_error).engines([Engine::Corrected]);
    for (lo, hi) in cases([(-8.0, 8.0), (-0.5, 0.25), (6.0, 8.0)], 1) {
        let values = spread(100, lo, hi);
        let x = encrypt(&party.client, &values, lo..=hi);
        for level in [x.level(), 2] {
            let x = party.server.drop_to_level(&x, level).unwrap();
            // As exact as it gets.
            let plan = party.server.map_plan(&x, &request(-30.0)).unwrap();
            let reached = plan.row(Engine::Corrected).unwrap().prediction.as_ref().unwrap();
            let request = request(reached.log2_error);
            let plan = party.server.map_plan(&x, &request).unwrap();
            assert_eq!(plan.prediction(), Some(reached));
            let y = party.server.map_with(&x, &request.planned(&plan)).unwrap();
            assert_eq!(y.level(), reached.output_level);
            let found = party.client.decrypt(&y).unwrap();
            let off = found.iter().zip(&values).map(|(y, x)| (y - 1.0 / (1.0 + (-x).exp())).abs());
            let worst = off.fold(0.0, f64::max).log2();
            println!("[{lo}, {hi}], level {level}: 2^{worst:.1}, {reached:?}");
            assert!(worst <= reached.log2_error, "{worst} {reached:?}");
        }
    }
}

/// Every number of a plan is one in JSON, too, whatever is asked for.
#[test]
fn predictions_are_finite() {
    let exact = MapFunction::lipschitz("zero", 0.0, |_| 0.0);
    let steep = MapFunction::lipschitz("steep", 1e9, |x| 1e9 * x);
    for preset in [
        Preset::Insecure(Toy::Functions),
        Preset::Insecure(Toy::Smooth),
        Preset::Insecure(Toy::Tables),
    ] {
        let params = params_of(preset);
        for function in [exact.clone(), steep.clone(), MapFunction::sign(0.0)] {
            let request =
                MapRequest::of(function).over(-8.0..=8.0).error(Accuracy::absolute(1.5)).count(16);
            let plan = plan(&params, &request.allow(Engine::Ntru));
            let json = serde_json::to_string(&plan).unwrap();
            assert!(serde_json::from_str::<MapPlan>(&json).is_ok(), "{json}");
            for prediction in plan.rows.iter().filter_map(|row| row.prediction.as_ref()) {
                assert!(prediction.seconds.is_finite() && prediction.log2_error.is_finite());
            }
        }
    }
}

#[test]
fn what_cannot_be_had_is_told() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    // Too exact for tables; the row keeps what they reach.
    let exact = plan(&params, &sigmoid(-18.0).count(64));
    let row = exact.row(Engine::Rgsw).unwrap();
    let reached = row.prediction.as_ref().unwrap().log2_error;
    assert!(reached > -18.0 && row.refusal.as_ref().unwrap().contains("reaches 0."), "{exact}");
    // Too few levels for a polynomial, enough for a table.
    let low = plan(&params, &sigmoid(-2.0).count(4).level(2));
    assert!(low.row(Engine::Poly).unwrap().refusal.as_ref().unwrap().contains("level"), "{low}");
    assert!(low.row(Engine::Rgsw).unwrap().refusal.is_none(), "{low}");
    let lowest = plan(
        &params,
        &MapRequest::of(Known::Exp).over(-0.25..=0.25).error(Accuracy::bits(2.0)).level(0),
    );
    assert_eq!(lowest.chosen, None, "{lowest}");
    // Levels for what comes after.
    let leaving = plan(&params, &sigmoid(-2.0).count(4).leaving(params.levels() - 1));
    assert!(leaving.chosen.is_none(), "{leaving}");
    // A jump, and a table of integers that tables of reals are too coarse for.
    let step = MapFunction::closure("step", |x| if x < 0.1 { 0.0 } else { 1.0 });
    let step =
        plan(&params, &MapRequest::of(step).over(-1.0..=1.0).error(Accuracy::bits(4.0)).count(4));
    assert!(step.row(Engine::Poly).unwrap().refusal.as_ref().unwrap().contains("jumps"), "{step}");
    assert_eq!(step.chosen, None, "{step}");
    let entries: Vec<f64> = (0..256).map(f64::from).collect();
    let table = plan(&params, &MapRequest::table(entries).error(Accuracy::bits(4.0)).count(4));
    assert_eq!(table.chosen, None, "{table}");
    // Requests that mean nothing.
    let refused = |request: &MapRequest<'_>| params.map_plan(request).unwrap_err();
    let backwards = MapRequest::of(Known::Exp).over(1.0..=-1.0).error(Accuracy::bits(4.0));
    assert!(refused(&backwards).is(&ErrorKind::Domain, "domain"));
    assert!(
        refused(&sigmoid(f64::NAN))
            .is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of")
    );
    let many = refused(&sigmoid(-4.0).count(1 << 20));
    assert!(matches!(many.kind(), ErrorKind::TooManyValues { .. }), "{many}");
    assert_eq!(*refused(&sigmoid(-4.0).count(0)).kind(), ErrorKind::Length);
    assert_eq!(*refused(&sigmoid(-4.0).level(99)).kind(), ErrorKind::Level);
    let other = CostModel { version: 7, ..MODEL };
    let error = params.map_plan(&sigmoid(-4.0).prices(&other)).unwrap_err();
    assert!(error.is(&ErrorKind::Argument, "a cost model of version 7: need version"), "{error}");
    let empty = MapRequest::table(vec![]).error(Accuracy::bits(4.0));
    assert!(refused(&empty).is(&ErrorKind::Domain, "domain"));
    // Values that may lie outside.
    let party = party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 5);
    let x = encrypt(&party.client, &[9.0], -9.0..=9.0);
    let outside = party.server.map_with(&x, &sigmoid(-4.0)).unwrap_err();
    assert!(
        outside.is(&ErrorKind::Domain, "and a table wraps around beyond its ends"),
        "{outside}"
    );
}

/// An error that reaches the spread of the function is refused, whoever asks for it.
#[test]
fn errors_above_the_spread_are_refused() {
    let (wrong, right) = (Accuracy::bits(-14.0), Accuracy::bits(4.0));
    let party = party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 5);
    let x = encrypt(&party.client, &[5.0], -8.0..=8.0);
    let sigmoid = || MapRequest::of(Known::Sigmoid).over(-8.0..=8.0);
    let f = Function::from(Known::Sigmoid);
    let smooth = params_of(Preset::Insecure(Toy::Smooth));
    let series = |accuracy| smooth.functional().unwrap().real_function(&f, -8.0, 8.0, accuracy);
    for refused in [
        party.server.map_with(&x, &sigmoid().error(wrong)).map(drop),
        party.server.map_with(&x, &MapRequest::new(f64::sin).error(wrong)).map(drop),
        party.server.map_plan(&x, &sigmoid().error(wrong)).map(drop),
        party.client.params().map_plan(&sigmoid().error(wrong)).map(drop),
        party.client.params().map_plan(&sigmoid().typical(wrong)).map(drop),
        party.server.function(&x, &f, wrong).map(drop),
        series(wrong).map(drop),
    ] {
        let error = refused.unwrap_err();
        let told = error.to_string();
        assert!(told.contains("16384") && told.contains("differ by less"), "{told}");
        assert!(
            error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"),
            "{error}"
        );
    }
    let y = party.server.map_with(&x, &sigmoid().error(right)).unwrap();
    assert!((party.client.decrypt(&y).unwrap()[0] - 0.9933).abs() < 0.0625);
    assert!(series(right).is_ok());
}

/// Requirements that do not fit together or do not fit the call, each with a remedy.
#[test]
fn requests_that_do_not_fit_are_told() {
    let party = party(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Rgsw]), 8);
    let (params, server) = (party.client.params(), &party.server);
    let x = encrypt(&party.client, &[0.5, -1.0], -2.0..=2.0);
    let told = |error: bellerophon::Error, remedy: &str| {
        assert!(matches!(error.kind(), ErrorKind::Request), "{error}");
        assert!(error.to_string().contains(remedy), "{error}");
    };
    let tanh = || MapRequest::new(f64::tanh);
    told(params.map_plan(&tanh()).unwrap_err(), "MapRequest::over");
    let both = MapRequest::many(&[&f64::tanh, &f64::exp]);
    told(server.map_with(&x, &both).unwrap_err(), "Evaluator::map_many");
    told(params.map_plan(&both.clone().over(-2.0..=2.0)).unwrap_err(), "Evaluator::map_many");
    told(
        server.map_many(&[&x], &both.typical(Accuracy::bits(5.0))).unwrap_err(),
        "Evaluator::map_with",
    );
    // A plan serves the request that it was made for.
    let plan = server.map_plan(&x, &tanh()).unwrap();
    assert_eq!(plan.chosen, Some(Engine::Rgsw));
    let planned = server.map_with(&x, &tanh().planned(&plan)).unwrap();
    assert_eq!(planned, server.map(&x, f64::tanh).unwrap());
    let wider = tanh().over(-3.0..=3.0).planned(&plan);
    told(server.map_with(&x, &wider).unwrap_err(), "plan this request");
    let known = MapRequest::of(Known::Tanh).planned(&plan);
    told(server.map_with(&x, &known).unwrap_err(), "plan this request");
    // A plan that was read from bytes names its engine.
    let json = serde_json::to_string(&plan).unwrap();
    let read: MapPlan = serde_json::from_str(&json).unwrap();
    assert_eq!(server.map_with(&x, &tanh().planned(&read)).unwrap(), planned);
    // An engine without keys, and a table of integers over more than its entries.
    let ntru = server.map_with(&x, &tanh().engines([Engine::Ntru])).unwrap_err();
    assert!(
        ntru.is(
            &ErrorKind::MissingKey { need: "map_with" },
            "call `Needs::map_with` where the client"
        ),
        "{ntru}"
    );
    let table = server.map_with(&x, &MapRequest::table(vec![1.0, 0.0]).over(-2.0..=2.0));
    assert!(refusal(&table).is(&ErrorKind::Domain, "and a table wraps around beyond its ends"));
}

/// The accuracy of tables is predicted for what the vector carries.
#[test]
fn plans_of_tables_have_one_row() {
    let party = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 9);
    let tanh = MapRequest::new(f64::tanh).over(-4.0..=4.0).engines([Engine::Rgsw]);
    let before = party.client.params().map_plan(&tanh).unwrap();
    assert_eq!((before.rows.len(), before.chosen), (1, Some(Engine::Rgsw)));
    assert_eq!(before.log2_error, None);
    let table = before.prediction().unwrap();
    assert_eq!((table.order, table.levels), (Some(0), 2));
    // Where the function is flat, a table errs less.
    let x = encrypt(&party.client, &[3.0, 3.5], 2.5..=4.0);
    let flat = party.server.map_plan(&x, &tanh).unwrap();
    assert!(flat.accuracy().unwrap().mean_abs < 0.2 * before.accuracy().unwrap().mean_abs);
    let y = party.client.decrypt(&party.server.map_with(&x, &tanh).unwrap()).unwrap();
    let worst = (y[0] - 3f64.tanh()).abs().max((y[1] - 3.5f64.tanh()).abs());
    assert!(worst <= flat.prediction().unwrap().log2_error.exp2(), "{worst}");
    // Several vectors: the results are ordered by function, then by vector.
    let z = encrypt(&party.client, &[-1.0], -2.0..=2.0);
    let all = MapRequest::many(&[&|v| v, &|v| v + 10.0]);
    let all = party.server.map_many(&[&x, &z], &all).unwrap();
    let means: Vec<f64> = all.iter().map(|y| party.client.decrypt(y).unwrap()[0]).collect();
    assert!(
        means.iter().zip([3.0, -1.0, 13.0, 9.0]).all(|(y, e)| (y - e).abs() < 0.5),
        "{means:?}"
    );
}

/// Parameters with functional bootstrapping only: `map` uses the planner.
#[test]
fn map_without_tables_is_planned() {
    let needs = Needs::new().map();
    let party = party(Preset::Insecure(Toy::Smooth), &needs, 6);
    let values = spread(300, -8.0, 8.0);
    let x = encrypt(&party.client, &values, -8.0..=8.0);
    let shift = 0.25;
    let y = party.server.map(&x, |x| (x + shift).tanh()).unwrap();
    let found = party.client.decrypt(&y).unwrap();
    let worst = found.iter().zip(&values).map(|(y, x)| (y - (x + shift).tanh()).abs());
    let worst = worst.fold(0.0, f64::max);
    assert!(worst <= 2f64.powi(-7), "{worst:e}");
    let refused = party.server.map(&x, |x| if x < 0.3 { 0.0 } else { 1.0 }).unwrap_err();
    assert!(
        refused
            .is(&ErrorKind::Accuracy { log2_reached: None }, "(`Params::map_plan` compares all)"),
        "{refused}"
    );
    assert!(refused.to_string().contains("jumps"), "{refused}");
    let infinite = party.server.map(&x, f64::ln).unwrap_err();
    assert!(infinite.to_string().contains("finite"), "{infinite}");
    // The sizes of the keys are as predicted.
    let params = party.client.params();
    assert_eq!(
        params.evaluation_key_bytes(&needs).unwrap(),
        params.evaluation_key_bytes(&Needs::new().multiply().functional()).unwrap()
    );
}

#[test]
fn keys_of_engines_are_sized_beforehand() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let of = |engine| params.evaluation_key_bytes(&Needs::new().map_with([engine])).ok();
    assert!(of(Engine::Poly).unwrap() < of(Engine::Ntru).unwrap());
    assert!(of(Engine::Ntru).unwrap() < of(Engine::Rgsw).unwrap());
    assert!(of(Engine::Rgsw).unwrap() < of(Engine::Corrected).unwrap());
    assert_eq!(of(Engine::Fbt), None);
    let needs = Needs::new().map_with([Engine::Rgsw]);
    let keys = ClientKey::generate(&params).unwrap().evaluation_keys(&needs).unwrap();
    assert_eq!(Some(keys.byte_len()), of(Engine::Rgsw));
}

#[test]
fn calibration_gives_a_model_that_plans() {
    let model = CostModel::calibrate().unwrap();
    let request = sigmoid(-4.0).count(8).prices(&model).threads(2);
    let plan = plan(&params_of(Preset::Insecure(Toy::Functions)), &request);
    assert!(plan.chosen.is_some(), "{plan}");
    // Any machine is within a factor of 1000 of the default model.
    let ratio = model.step / MODEL.step;
    assert!((1e-3..1e3).contains(&ratio), "{ratio}");
}
