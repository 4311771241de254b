//! The whole path, from slots through tables and back, in toy dimensions.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use crate::common::{
    Party, cases, check_map, encrypt, errors, law, params_of, party, refusal, sigmoid, spread,
};
use bellerophon::prelude::*;
use bellerophon::{Bridge, Engine, ErrorKind, Progress, Stage, ckks, lookup, lwe};
use bellerophon_testing::silence::{SECRETS, refused, silent};

#[test]
fn functions_of_vectors_of_any_length() {
    let party = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 1);
    for count in cases([1, 33, 1024, 2, 3, 31, 32, 64, 65, 150, 1023], 3) {
        check_map(&party, count, sigmoid, 8.0, 5.0);
    }
}

/// Both bridges around the slots of the small ring (degree 1024), with the same results at the same
/// level, each within what is predicted of it.
#[cfg(feature = "long-tests")]
#[test]
fn both_bridges_agree() {
    let needs = Needs::new().map().bridge(Bridge::Ring).bridge(Bridge::Linear);
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 11);
    for count in [1, 511, 512, 513, 700, 1024] {
        let values = spread(count, -4.0, 4.0);
        let x = encrypt(&client, &values, -4.0..=4.0);
        let over = |bridge| {
            let tanh = MapRequest::new(f64::tanh).over(-4.0..=4.0);
            let tanh = Option::<Bridge>::into_iter(bridge).fold(tanh, MapRequest::bridge);
            let y = server.map_with(&x, &tanh).unwrap();
            assert_eq!(
                (y.level(), y.len()),
                (client.params().lookups().unwrap().level_after(), count)
            );
            let (mean, max) = errors(&client.decrypt(&y).unwrap(), values.iter().map(|v| v.tanh()));
            let law = law(client.params(), &tanh);
            assert!(
                max < 1.6 * law.max_abs(count),
                "{bridge:?} {count}: {max} {}",
                law.max_abs(count)
            );
            if count > 500 {
                let ratio = mean / law.mean_abs;
                assert!(ratio > 0.8 && ratio < 1.25, "{bridge:?} {count}: {ratio}");
            }
        };
        over(Some(Bridge::Ring));
        over(Some(Bridge::Linear));
        over(None);
    }
}

/// Tables on either engine, over either bridge: each within what is predicted of it; keys say their
/// engine, and what a set does not have is refused.
#[test]
fn both_engines_agree() {
    for engine in [Engine::Rgsw, Engine::Ntru] {
        let needs = Needs::new().map_with([engine]);
        let needs = needs.bridge(Bridge::Ring).bridge(Bridge::Linear);
        let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 21);
        assert_eq!(server.engine(), Some(engine));
        let values = spread(600, -4.0, 4.0);
        let x = encrypt(&client, &values, -4.0..=4.0);
        for bridge in [Bridge::Ring, Bridge::Linear] {
            let tanh = MapRequest::new(f64::tanh).over(-4.0..=4.0).bridge(bridge);
            let y = server.map_with(&x, &tanh).unwrap();
            let found = client.decrypt(&y).unwrap();
            let (mean, _) = errors(&found, values.iter().map(|v| v.tanh()));
            let ratio = mean / law(client.params(), &tanh.engines([engine])).mean_abs;
            assert!((0.8..1.25).contains(&ratio), "{engine:?} {bridge:?}: {ratio}");
        }
    }
    let Party { server, .. } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 22);
    assert_eq!(server.engine(), Some(Engine::Rgsw), "what rests on LWE alone, unless named");
}

/// Slots to LWE values and back: exact to 12 bits of the domain, any layout, any level.
#[test]
fn values_leave_the_slots_and_come_back() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 12);
    let room = lwe::Headroom { terms: 2, levels: 0 };
    for count in [1, 100, 512, 1000] {
        let numbers = spread(count, -3.0, 5.0);
        let x = encrypt(&client, &numbers, -3.0..=5.0);
        let values = server.extract_for(&x, -3.0..=5.0, room).unwrap();
        assert_eq!((values.len(), values.meta().lo, values.meta().hi), (count, -3.0, 5.0));
        let exact = client.decrypt_lwe(&values).unwrap();
        let square: f64 = exact.iter().zip(&numbers).map(|(a, b)| (a - b).powi(2)).sum();
        let ratio = (square / count as f64 / values.variance()).sqrt();
        let least = if count < 32 { 0.0 } else { 0.5 };
        assert!((least..2.0).contains(&ratio), "{count}: {ratio}");
        let back = server.pack(&values).unwrap();
        assert_eq!((back.level(), back.len()), (server.pack_level().unwrap(), count));
        let (_, max) = errors(&client.decrypt(&back).unwrap(), numbers.iter().copied());
        assert!(max < 8.0 * 2f64.powi(-12), "{count}: {max:e}");
    }
    // Two vectors with different ranges, added and joined as LWE values, into every second slot.
    let (a, b) = (spread(60, 0.0, 1.0), spread(60, -0.5, 0.5));
    let down = |v: &[f64]| {
        let x = encrypt(&client, v, -1.0..=1.0);
        server.extract_for(&x, -1.0..=1.0, lwe::Headroom { terms: 4, levels: 0 }).unwrap()
    };
    let (x, y) = (down(&a), down(&b));
    let all = lwe::LweVec::concat(&[x.add(&y).unwrap(), y]).unwrap();
    let positions: Vec<usize> = (0..120).map(|i| 2 * i + 1).collect();
    let layout = lookup::Layout::new(256, &positions).unwrap();
    let packed = server.pack_in(&all, &layout, 1).unwrap();
    assert_eq!((packed.level(), packed.meta().slots), (1, 256));
    let found = client.decrypt(&packed).unwrap();
    let expected = a.iter().zip(&b).map(|(x, y)| x + y).chain(b.iter().copied());
    let found: Vec<f64> = positions.iter().map(|&i| found[i]).collect();
    let (_, max) = errors(&found, expected);
    assert!(max < 8.0 * 2f64.powi(-12), "{max:e}");
}

/// Results of comparisons: sent as they are, and in slots as high as those of a look-up.
#[test]
fn comparisons_leave_as_values_and_come_up_high() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 14);
    let numbers: Vec<f64> = (0..100).map(|i| if i % 3 == 0 { 1.5 } else { -1.0 }).collect();
    let x = encrypt(&client, &numbers, -2.0..=2.0);
    let values = server.extract(&x, -2.0..=2.0).unwrap();
    let sign = |v: f64| f64::from(u8::from(v > 0.0));
    let expected = || numbers.iter().map(|&v| sign(v));
    for terms in [1, 3] {
        let output = lwe::OutputEncoding::Fit(lwe::Headroom { terms, levels: 0 });
        let bits = server.tables().unwrap().map(&values, sign, output).unwrap();
        let (_, max) = errors(&client.decrypt_lwe(&bits).unwrap(), expected());
        assert!(max < 2f64.powi(-10), "{max:e}");
        let level = client.params().lookups().unwrap().level_after();
        let packed = server.pack_ends(&bits, level).unwrap();
        assert_eq!((packed.level(), packed.len()), (level, 100));
        let (_, max) = errors(&client.decrypt(&packed).unwrap(), expected());
        assert!(max < 2f64.powi(-9), "{terms}: {max:e}");
        assert_eq!((packed.range().lo(), packed.range().hi()), (0.0, 1.0));
        let other = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 15);
        assert!(other.client.decrypt_lwe(&bits).is_err());
        assert!(other.server.tables().unwrap().map(&values, sign, output).is_err());
        assert!(other.server.pack_ends(&bits, level).is_err());
        assert!(server.pack_ends(&bits, level + 9).is_err());
    }
}

/// Tables one after the other, without the slots in between.
#[test]
fn tables_one_after_the_other() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 13);
    let numbers = spread(50, -2.0, 2.0);
    let x = encrypt(&client, &numbers, -2.0..=2.0);
    let tables = server.tables().unwrap();
    let values = server.extract(&x, -2.0..=2.0).unwrap();
    let squares =
        tables.map(&values, |v| v * v, lwe::OutputEncoding::Fit(lwe::Headroom::TABLE)).unwrap();
    let room = lwe::OutputEncoding::Fit(lwe::Headroom { terms: 2, levels: 0 });
    let roots = tables.map(&squares, |v| v.max(0.0).sqrt(), room).unwrap();
    let found = client.decrypt(&server.pack(&roots).unwrap()).unwrap();
    let (mean, max) = errors(&found, numbers.iter().map(|v| v.abs()));
    assert!(mean < 0.05 && max < 0.4, "{mean} {max}");
    assert!(mean > 1e-4, "suspiciously exact: {mean}");
    // A table's whole range leaves no room for the sine to be undone.
    let wide = server.pack(&squares).unwrap_err();
    assert!(wide.is(&ErrorKind::Range, "let the preceding table leave headroom"), "{wide}");
}

#[test]
fn bridges_that_are_not_there_are_named() {
    let over = |bridge, seed| {
        let Party { client, server } =
            party(Preset::Insecure(Toy::Functions), &Needs::new().map().bridge(bridge), seed);
        let x = client.encrypt(&[0.5], -1.0..=1.0).unwrap();
        let other = if bridge == Bridge::Ring { Bridge::Linear } else { Bridge::Ring };
        let refused = server
            .map_with(&x, &MapRequest::new(f64::abs).over(-1.0..=1.0).bridge(other))
            .unwrap_err();
        assert!(
            refused.is(
                &ErrorKind::MissingKey { need: "bridge" },
                "call `Needs::bridge` where the client"
            ),
            "{refused}"
        );
        server.map_with(&x, &MapRequest::new(f64::abs).over(-1.0..=1.0)).unwrap();
        server.extract(&x, -1.0..=1.0).map(|_| ())
    };
    over(Bridge::Ring, 14).unwrap();
    let refused = over(Bridge::Linear, 15).unwrap_err();
    let missing = refused
        .is(&ErrorKind::MissingKey { need: "bridge" }, "call `Needs::bridge` where the client");
    assert!(missing, "{refused}");

    // A set without the sparse secret has the linear bridge alone.
    let mut spec = Preset::Insecure(Toy::Functions).spec().unwrap();
    spec.ring_bridge = None;
    let params = bellerophon::Params::new(spec).unwrap();
    let client = ClientKey::generate(&params).unwrap();
    let server = Evaluator::new(client.evaluation_keys(&Needs::new().map()).unwrap()).unwrap();
    let x = client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    server.map_with(&x, &MapRequest::new(f64::abs).over(-1.0..=1.0)).unwrap();
    let refused = server.extract(&x, -1.0..=1.0).unwrap_err();
    assert!(
        refused.is(&ErrorKind::Unsupported, "these parameters have no ring bridge: take"),
        "{refused}"
    );
    let refused = client.evaluation_keys(&Needs::new().map().bridge(Bridge::Ring)).unwrap_err();
    assert!(
        refused.is(&ErrorKind::Unsupported, "these parameters have no ring bridge: take"),
        "{refused}"
    );
}

#[test]
fn a_function_of_a_function_with_arithmetic_between() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map(), 2);
    let values = spread(100, -2.0, 2.0);
    let x = encrypt(&client, &values, -2.0..=2.0);
    let table = |f: fn(f64) -> f64| MapRequest::new(f).engines([Engine::Rgsw]);
    let y = server.map_with(&x, &table(f64::exp)).unwrap();
    let z = server.add_scalar(&server.square(&y).unwrap(), 1.0).unwrap();
    let w = server.map_with(&z, &table(f64::sqrt).over(0.0..=60.0)).unwrap();
    let found = client.decrypt(&w).unwrap();
    // The error of exp is about 0.05 times its derivative, up to 7.4; the root multiplies it
    // by exp(x) / sqrt(exp(2x) + 1).
    let (mean, max) = errors(&found, values.iter().map(|v| ((2.0 * v).exp() + 1.0).sqrt()));
    assert!(mean < 0.06 && max < 0.4, "{mean} {max}");
    assert!(mean > 0.0006, "suspiciously exact: {mean}");
}

#[test]
fn constants_steps_and_wide_or_narrow_domains() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 3);
    for (lo, hi) in [(-0.01, 0.01), (0.0, 1.0), (-1000.0, 3000.0)] {
        let values = spread(40, lo, hi);
        let x = encrypt(&client, &values, lo..=hi);
        let same = client
            .decrypt(&server.map_with(&x, &MapRequest::new(|v| v).over(lo..=hi)).unwrap())
            .unwrap();
        let (_, max) = errors(&same, values.iter().copied());
        assert!(max < 0.03 * (hi - lo), "{lo}..{hi}: {max}");
        let seven = client
            .decrypt(&server.map_with(&x, &MapRequest::new(|_| 7.0).over(lo..=hi)).unwrap())
            .unwrap();
        let (_, max) = errors(&seven, values.iter().map(|_| 7.0));
        assert!(max < 0.05, "{lo}..{hi}: {max}");
    }
    let values = [-8.0, -7.99, -0.5, 0.5, 7.99, 8.0];
    let x = encrypt(&client, &values, -8.0..=8.0);
    let signs = client
        .decrypt(&server.map_with(&x, &MapRequest::new(f64::signum).over(-8.0..=8.0)).unwrap())
        .unwrap();
    let (_, max) = errors(&signs, values.iter().map(|v| v.signum()));
    assert!(max < 0.05, "the ends of the domain do not wrap: {signs:?}");
}

#[test]
fn functions_are_called_where_values_can_lie_only() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map(), 6);
    let values = [-1.5, 0.25, 3.0];
    let x = client.encrypt(&values, -3.0..=3.0).unwrap();
    // A product of a ciphertext with itself is known not to be negative.
    let y = server.mul(&x, &x).unwrap();
    let z = server.map_with(&y, &MapRequest::new(f64::sqrt).over(-1.0..=10.0)).unwrap();
    let (_, max) = errors(&client.decrypt(&z).unwrap(), values.iter().map(|v| v.abs()));
    assert!(max < 0.3, "{max}");
    assert!(
        server
            .map_with(&x, &MapRequest::new(f64::sqrt).over(-4.0..=4.0))
            .unwrap_err()
            .to_string()
            .contains("not finite")
    );
}

#[test]
fn progress_is_reported_and_can_stop_a_map() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 7);
    let x = client.encrypt(&spread(200, 0.0, 1.0), 0.0..=1.0).unwrap();
    let reports: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let to = reports.clone();
    let watched = server.clone().with_progress(move |report| {
        to.lock().unwrap().push(report);
        ControlFlow::Continue(())
    });
    watched.map_with(&x, &MapRequest::new(f64::abs).over(-1.0..=1.0)).unwrap();
    let all = std::mem::take(&mut *reports.lock().unwrap());
    for stage in [Stage::SlotsToCoefficients, Stage::LookUps, Stage::Repacking] {
        let of_stage: Vec<_> = all.iter().filter(|r| r.stage == stage).collect();
        assert_eq!((of_stage[0].done, of_stage[0].total), (0, 200));
        assert!(of_stage.is_sorted_by_key(|r| r.done));
        assert_eq!(of_stage.last().unwrap().done, 200);
    }
    let values = watched.extract(&x, -1.0..=1.0).unwrap();
    let room = lwe::OutputEncoding::Fit(lwe::Headroom::comparators(1));
    watched.pack(&watched.tables().unwrap().map(&values, f64::abs, room).unwrap()).unwrap();
    let stages: Vec<_> = reports.lock().unwrap().iter().map(|r| r.stage).collect();
    assert!(stages.is_sorted_by_key(|stage| all.iter().position(|r| r.stage == *stage)));
    let stopping = server.with_progress(|report| match report {
        Progress { stage: Stage::LookUps, done: 1.., .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let stopped = stopping.map_with(&x, &MapRequest::new(f64::abs).over(-1.0..=1.0));
    assert!(matches!(refusal(&stopped).kind(), ErrorKind::Cancelled { total: 200, .. }));
    let stopped = stopping.tables().unwrap().map(&values, f64::abs, room);
    assert!(matches!(
        &stopped,
        Err(e) if matches!(e.kind(), lwe::ErrorKind::Cancelled { total: 200, .. })
    ));
}

/// Behind the values of a length that is no power of two nothing counts, whatever a table leaves
/// there.
#[test]
fn sums_of_mapped_vectors_are_those_of_their_values() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let level = params.lookups().unwrap().level_after();
    let keys = ckks::KeyLevels::default().sum_slots(8, level).sum_slots(128, level);
    let needs = Needs::new().map().keys(&keys);
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 13);
    for count in [5, 100] {
        let values = spread(count, -2.0, 2.0);
        let x = encrypt(&client, &values, -2.0..=2.0);
        let y = server.map_with(&x, &MapRequest::new(f64::exp).over(-2.0..=2.0)).unwrap();
        let sum: f64 = client.decrypt(&y).unwrap().iter().sum();
        for found in client.decrypt(&server.sum_slots(&y).unwrap()).unwrap() {
            assert!((found - sum).abs() < 0.01, "{count}: {found} instead of {sum}");
        }
        let exact: f64 = values.iter().map(|v| v.exp()).sum();
        assert!((sum - exact).abs() < 0.1 * count as f64, "{count}: {sum} instead of {exact}");
    }
}

#[test]
fn stated_ranges_say_nothing_of_the_padding() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().map().rotate([1]), 7);
    let x = client.encrypt(&[5.0, 6.0, 5.5], -8.0..=8.0).unwrap();
    let x = server.assume_range(&x, 5.0..=6.0).unwrap();
    assert_eq!((x.range().lo(), x.range().hi()), (5.0, 6.0));
    let same = client
        .decrypt(&server.map_with(&x, &MapRequest::new(|v| v).over(5.0..=6.0)).unwrap())
        .unwrap();
    assert!(errors(&same, [5.0, 6.0, 5.5].into_iter()).1 < 0.05, "{same:?}");
    // The fourth slot holds a zero, which a rotation makes a value.
    let rotated = server.rotate(&x, 1).unwrap();
    assert!(rotated.range().lo() <= 0.0, "{:?}", rotated.range());
    let outside = server.map_with(&rotated, &MapRequest::new(|v| v).over(5.0..=6.0));
    assert!(
        refusal(&outside).is(&ErrorKind::Domain, "and a table wraps around beyond its ends"),
        "{outside:?}"
    );
}

#[test]
fn refusals_say_why() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 4);
    let x = client.encrypt(&[1.0, 9.0], -10.0..=10.0).unwrap();
    let outside = server.map_with(&x, &MapRequest::new(f64::abs).over(-8.0..=8.0));
    assert!(refusal(&outside).is(&ErrorKind::Domain, "and a table wraps around beyond its ends"));
    let low = server.drop_to_level(&x, 1).unwrap();
    let levels = server.map_with(&low, &MapRequest::new(f64::abs).over(-10.0..=10.0));
    assert!(refusal(&levels).is(
        &ErrorKind::OutOfLevels { needed: 2, left: 1 },
        "needs 2 level(s), 1 left: encrypt at a"
    ));
    assert!(
        refusal(&server.map_with(&x, &MapRequest::new(f64::abs).over(3.0..=3.0)))
            .is(&ErrorKind::Domain, "domain")
    );
    assert!(
        refusal(&server.map_with(&x, &MapRequest::new(f64::abs).over(0.0..=f64::INFINITY)))
            .is(&ErrorKind::Domain, "domain")
    );
    let not_finite =
        server.map_with(&x, &MapRequest::new(f64::sqrt).over(-10.0..=10.0)).unwrap_err();
    assert!(not_finite.to_string().contains("not finite"), "{not_finite}");
    let narrow = client.encrypt(&[0.0], 0.0..=0.0).unwrap();
    assert!(
        refusal(&server.map_with(&narrow, &MapRequest::new(f64::abs).over(0.0..=1e-9)))
            .is(&ErrorKind::Domain, "wide: multiply the values by a constant")
    );
    for domain in [-1e6..=1e6, 0.0..=1e-9] {
        let table = MapRequest::new(f64::abs).over(domain).engines([Engine::Rgsw]);
        let unusable = client.params().map_plan(&table);
        assert!(
            refusal(&unusable).is(&ErrorKind::Domain, "wide: multiply the values by a constant"),
            "{unusable:?}"
        );
    }

    // Keys that were not requested, and keys and ciphertexts of another client.
    let other = party(Preset::Insecure(Toy::Functions), &Needs::new(), 5);
    let y = other.client.encrypt(&[1.0], -1.0..=1.0).unwrap();
    let needs = other.server.map_with(&y, &MapRequest::new(f64::abs).over(-8.0..=8.0));
    assert!(
        refusal(&needs)
            .is(&ErrorKind::MissingKey { need: "map" }, "call `Needs::map` where the client makes")
    );
    let product = other.server.mul(&y, &y);
    assert!(refusal(&product).is(
        &ErrorKind::MissingKey { need: "multiply" },
        "call `Needs::multiply` where the client"
    ));
    let rotation = other.server.rotate(&other.client.encrypt(&[1.0, 2.0], 0.0..=2.0).unwrap(), 1);
    assert!(refusal(&rotation).is(
        &ErrorKind::MissingKey { need: "rotate" },
        "rotation of 2 slots by 1: the evaluation keys have no rotations"
    ));
    assert!(
        refusal(&server.map_with(&y, &MapRequest::new(f64::abs).over(-8.0..=8.0)))
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    assert!(
        refusal(&server.add(&x, &y))
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    assert!(client.decrypt(&y).is_err());

    // Input that cannot be encrypted.
    assert!(
        refusal(&client.encrypt(&[], -1.0..=1.0))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    for bad in [f64::NAN, f64::INFINITY] {
        let refused = client.encrypt(&[1.0, bad], -1.0..=1.0);
        assert!(refusal(&refused).is(&ErrorKind::NotFinite, "at position 1 of"), "{refused:?}");
        assert!(client.encrypt(&[bad], -1.0..=1.0).is_err());
    }
    let many = vec![0.0; client.params().slots() + 1];
    assert!(refusal(&client.encrypt(&many, -1.0..=1.0)).is(
        &ErrorKind::TooManyValues { found: 1025, most: 1024 },
        "1025 values, but there are 1024 slots"
    ));
    let outside = client.encrypt(&[0.5, 1234.5], 0.0..=1.0).unwrap_err();
    assert!(outside.is(&ErrorKind::Range, "the value at position 1 of"));
    let told = format!("{outside} {outside:?}");
    assert!(!told.contains("1234") && told.contains("encrypt"), "{told}");
    let contradiction = server.assume_range(&x, 20.0..=30.0);
    assert!(
        refusal(&contradiction)
            .is(&ErrorKind::Declaration, "declare a range that overlaps the known one")
    );
}

/// Neither errors nor `Debug` repeat a value.
#[test]
fn errors_and_debug_repeat_no_value() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 12);
    let x = client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    for secret in SECRETS {
        refused(client.encrypt(&[0.0, secret], -1.0..=1.0));
        refused(client.encrypt(&[secret, f64::NAN], -1e6..=1e6));
        refused(client.encrypt(&[secret; 1025], -1e6..=1e6));
        refused(client.encrypt(&[secret * 1e9], -1e30..=1e30));
        let no_number = move |v: f64| if v < 0.5 { secret } else { f64::NAN };
        refused(server.map_with(&x, &MapRequest::new(no_number).over(-1.0..=1.0)));
        silent(&client);
        let shared = bellerophon::FloodedValues { values: vec![secret], bits: 20.0, noise: 1e-9 };
        silent(&shared);
    }
}

/// A program longer than its chain: bootstrapped on request, and automatically.
#[test]
fn programs_without_end() {
    let needs = Needs::new().multiply().bootstrap();
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs, 9);
    let bootstrapper = client.params().bootstrapper().unwrap();
    let values = spread(100, -1.0, 1.0);
    let x = encrypt(&client, &values, -1.0..=1.0);
    assert_eq!(x.level(), client.params().levels());
    let low = server.drop_to_level(&x, bootstrapper.input_level()).unwrap();
    let fresh = server.bootstrap(&low).unwrap();
    assert_eq!(fresh.level(), bootstrapper.output_level());
    let (_, off) = errors(&client.decrypt(&fresh).unwrap(), values.iter().copied());
    assert!(off < 7.0 * fresh.metadata().noise() + bootstrapper.approximation_error(), "{off:e}");

    let server = server.with_auto_bootstrap().unwrap();
    let mut power = x;
    for _ in 0..5 {
        power = server.square(&power).unwrap();
    }
    assert!(power.level() >= bootstrapper.input_level());
    let (_, off) = errors(&client.decrypt(&power).unwrap(), values.iter().map(|v| v.powi(32)));
    assert!(off < 2f64.powi(-18), "{off:e}");
}
