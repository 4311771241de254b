//! Functions of several values on slots, and several functions of one value, in toy dimensions.

use std::ops::ControlFlow;

use crate::common::{Party, cases, encrypt, errors, law, party, refusal, spread};
use bellerophon::lwe::{self, Headroom, SortOrder};
use bellerophon::prelude::*;
use bellerophon::{Bridge, Engine, ErrorKind, Stage};

/// The error bound of comparators in a number of layers on [-1, 1], at six standard deviations.
fn tolerance(layers: usize) -> f64 {
    0.04 * (layers as f64).sqrt()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[track_caller]
fn check(client: &ClientKey, y: &Ciphertext, expected: &[f64], tolerance: f64) {
    let found = client.decrypt(y).unwrap();
    assert_eq!(found.len(), expected.len());
    let (_, max) = errors(&found, expected.iter().copied());
    assert!(max < tolerance, "{max}: {found:?} {expected:?}");
    // The range is that of the exact values.
    let range = y.range();
    let range = range.lo() - tolerance..=range.hi() + tolerance;
    assert!(found.iter().all(|v| range.contains(v)), "{range:?} {found:?}");
}

/// In any order, all equal, equal at the ends of the domain, one.
#[cfg(feature = "long-tests")]
#[test]
fn vectors_are_sorted_and_their_best_few_found() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 21);
    let within = server.within(-1.0..=1.0);
    let vectors = [
        spread(13, -1.0, 1.0),
        (0..8).rev().map(|i| f64::from(i) / 4.0 - 1.0).collect(),
        vec![1.0; 6],
        vec![-1.0, 1.0, -1.0, 1.0, 0.5],
        vec![0.25],
    ];
    for values in vectors {
        let (x, up, len) = (encrypt(&client, &values, -1.0..=1.0), sorted(&values), values.len());
        let down: Vec<f64> = up.iter().copied().rev().collect();
        let tolerance = tolerance(lwe::Network::odd_even(len).unwrap().depth() + 1);
        let y = within.sort(&x, SortOrder::Ascending).unwrap();
        assert_eq!(y.level(), server.pack_level().unwrap());
        check(&client, &y, &up, tolerance);
        check(&client, &within.sort(&x, SortOrder::Descending).unwrap(), &down, tolerance);
        for count in [1, len.div_ceil(3), len] {
            check(&client, &within.largest(&x, count).unwrap(), &down[..count], tolerance);
            check(&client, &within.smallest(&x, count).unwrap(), &up[..count], tolerance);
        }
        for count in [0, len + 1] {
            let refused = within.largest(&x, count).unwrap_err();
            assert!(
                refused.op() == "largest"
                    && refused.is(&ErrorKind::Argument, "value(s): request from 1 to")
            );
            assert!(within.smallest(&x, count).is_err());
        }
    }
}

/// Exactly one value wins, and it is one of the best: with two rotations per match on NTRU and on
/// RGSW, and with one.
#[test]
fn places_of_the_best() {
    let ntru = Needs::new().map_with([Engine::Ntru]);
    for needs in cases([Needs::new().map(), ntru, Needs::new().map_with([Engine::Corrected])], 1) {
        best_places(&needs);
    }
}

fn best_places(needs: &Needs) {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), needs, 22);
    let within = server.within(-1.0..=1.0);
    for values in [spread(11, -1.0, 1.0), vec![0.5, -1.0, 0.5, -1.0, 0.0], vec![0.0; 3], vec![0.7]]
    {
        let x = encrypt(&client, &values, -1.0..=1.0);
        let up = sorted(&values);
        let (most, least) = (up[up.len() - 1], up[0]);
        let cases = [
            (within.argmax_index(&x), within.argmax_one_hot(&x), most),
            (within.argmin_index(&x), within.argmin_one_hot(&x), least),
        ];
        for (place, marks, best) in cases {
            let place = client.decrypt(&place.unwrap()).unwrap();
            assert_eq!(place.len(), 1);
            assert!((place[0] - place[0].round()).abs() < 0.1, "{place:?}");
            assert_eq!(values[place[0].round() as usize], best, "{place:?} {values:?}");
            let marks = marks.unwrap();
            let level = client.params().lookups().unwrap().level_after();
            assert_eq!((marks.level(), marks.len()), (level, values.len()));
            let bits: Vec<f64> = values.iter().map(|&v| f64::from(u8::from(v == best))).collect();
            if bits.iter().sum::<f64>() == 1.0 {
                check(&client, &marks, &bits, 0.02);
            }
            let found = client.decrypt(&marks).unwrap();
            let winners: Vec<usize> = (0..found.len()).filter(|&i| found[i] > 0.5).collect();
            assert_eq!(winners.len(), 1, "{found:?}");
            assert_eq!(bits[winners[0]], 1.0, "{found:?} {values:?}");
            assert!(found.iter().all(|v| v.abs().min((v - 1.0).abs()) < 0.02), "{found:?}");
        }
    }
}

/// Slotwise: ties, different ranges, a padded length, one vector and several.
#[test]
fn vectors_are_compared_place_by_place() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 23);
    let within = server.within(-1.0..=1.0);
    let rows = [
        vec![-1.0, 0.5, 0.0, 1.0, 0.25],
        vec![1.0, 0.5, -0.5, 1.0, -0.25],
        vec![0.0, 0.0, 0.5, 0.75, -1.0],
    ];
    let x = rows.each_ref().map(|row| encrypt(&client, row, -1.0..=1.0));
    for count in 1..=3 {
        let operands: Vec<_> = x[..count].iter().collect();
        let column = |i: usize| rows[..count].iter().map(move |row| row[i]);
        let fold = |f: fn(f64, f64) -> f64| -> Vec<f64> {
            (0..5).map(|i| column(i).reduce(f).unwrap()).collect()
        };
        let (most, least) = (fold(f64::max), fold(f64::min));
        check(&client, &within.max(&operands).unwrap(), &most, tolerance(3));
        check(&client, &within.min(&operands).unwrap(), &least, tolerance(3));
        let named = [(within.arg_max(&operands), most), (within.arg_min(&operands), least)];
        for (number, best) in named {
            for (i, number) in client.decrypt(&number.unwrap()).unwrap().into_iter().enumerate() {
                assert!((number - number.round()).abs() < 0.1, "{number}");
                assert_eq!(rows[number.round() as usize][i], best[i]);
            }
        }
    }
    let greater = within.greater(&x[0], &x[1]).unwrap();
    let level = client.params().lookups().unwrap().level_after();
    assert_eq!(greater.level(), level);
    let found = client.decrypt(&greater).unwrap();
    for ((found, a), b) in found.iter().zip(&rows[0]).zip(&rows[1]) {
        // Equal values may give either result.
        let expected = if a == b { found.round() } else { f64::from(u8::from(a > b)) };
        assert!(
            (found - expected).abs() < 0.02 && (0.0..=1.0).contains(&expected),
            "{a} {b} {found}"
        );
    }
    check(&client, &within.abs(&x[0]).unwrap(), &[1.0, 0.5, 0.0, 1.0, 0.25], tolerance(1));
}

/// Values that are known to span a tenth of the domain, about 0 and at either end.
#[test]
fn magnitudes_of_a_narrow_range_are_packed() {
    for engine in [Engine::Ntru, Engine::Rgsw] {
        let needs = Needs::new().map_with([engine]);
        let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 30);
        let within = server.within(-1.0..=1.0);
        for (lo, hi) in [(-0.1, 0.1), (0.8, 1.0), (-1.0, -0.8)] {
            let values = spread(16, lo, hi);
            let x = encrypt(&client, &values, lo..=hi);
            let expected: Vec<f64> = values.iter().map(|v| v.abs()).collect();
            check(&client, &within.abs(&x).unwrap(), &expected, tolerance(1));
        }
    }
}

/// More indices than can be distinguished are refused before any work, with the largest number.
#[test]
fn too_many_places_are_refused() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 31);
    let server = server.with_progress(|report| panic!("{report:?}"));
    let within = server.within(-1.0..=1.0);
    let x = encrypt(&client, &[0.5], -1.0..=1.0);
    let many = vec![&x; 5000];
    for refused in [within.arg_max(&many), within.arg_min(&many)] {
        let refused = refused.unwrap_err();
        assert!(refused.is(&ErrorKind::Noise, "among 5000 values"), "{refused}");
        let most = refused.message().split("at most ").nth(1).unwrap();
        let most: usize = most.split(' ').next().unwrap().parse().unwrap();
        assert!((400..500).contains(&most), "{most}");
    }
}

/// Operands of different levels, scales and noise, and of a narrower range than the domain.
#[test]
fn operands_with_a_past_are_compared() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map(), 24);
    let values = spread(32, -1.0, 1.0);
    let x = encrypt(&client, &values, -1.0..=1.0);
    let square = server.square(&x).unwrap();
    let eighth = server.square(&server.square(&square).unwrap()).unwrap();
    assert_ne!(x.meta().scale, eighth.meta().scale);
    let y = server.within(-1.0..=1.0).max(&[&x, &square, &eighth]).unwrap();
    let expected: Vec<f64> = values.iter().map(|&v| v.max(v * v)).collect();
    check(&client, &y, &expected, tolerance(3));
    // Out and back by themselves, in one encoding.
    let room = Headroom { terms: 2, levels: 0 };
    let out = server.extract_all(&[&x, &eighth], -1.0..=1.0, room).unwrap();
    assert_eq!(&out[0].meta().encoding, &out[1].meta().encoding);
    assert_eq!((out[0].meta().lo, out[1].meta().lo), (-1.0, 0.0));
    // A scale of its own.
    let tilted = server.reinterpret_scale(x.clone(), 0.75).unwrap();
    let y = server.within(-1.0..=1.0).max(&[&square, &tilted]).unwrap();
    let larger: Vec<f64> = values.iter().map(|&v| (v * v).max(0.75 * v)).collect();
    check(&client, &y, &larger, tolerance(3));
    let odd = server.reinterpret_scale(x.clone(), 0.77).unwrap();
    let watched = server.clone().with_progress(|report| panic!("{report:?}"));
    let refused = watched.extract_all(&[&x, &odd], -1000.0..=1000.0, room).unwrap_err();
    assert!(refused.is(&ErrorKind::Scale, "the scale of the vector at position 1 of"), "{refused}");
    let back = server.pack(&lwe::LweVec::concat(&out).unwrap()).unwrap();
    let expected: Vec<f64> =
        values.iter().copied().chain(values.iter().map(|v| v.powi(8))).collect();
    check(&client, &back, &expected, 2f64.powi(-11));
}

#[test]
fn images_are_pooled_and_any_function_comes_back() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 25);
    let within = server.within(0.0..=1.0);
    let (rows, columns) = (8, 8);
    let image = spread(rows * columns, 0.0, 1.0);
    let x = encrypt(&client, &image, 0.0..=1.0);
    for window in [2, 4] {
        let pooled: Vec<f64> = (0..64 / (window * window))
            .map(|patch| {
                let across = columns / window;
                let corner = (patch / across * columns + patch % across) * window;
                let inside = (0..window * window).map(|k| k / window * columns + k % window);
                inside.map(|k| image[corner + k]).fold(0.0, f64::max)
            })
            .collect();
        let y = within.max_pool(&x, columns, window).unwrap();
        check(&client, &y, &pooled, tolerance(4) / 2.0);
    }
    for (columns, window) in [(8, 0), (0, 2), (8, 3), (7, 2), (8, 1 << 63), (1 << 63, 4)] {
        let refused = within.max_pool(&x, columns, window).unwrap_err();
        assert!(
            refused.is(&ErrorKind::Shape, "the numbers of rows and columns must be"),
            "{refused}"
        );
    }
    // The sum of the two halves.
    let y = within.apply(&[&x], Headroom { terms: 4, levels: 0 }, |_, values| {
        let half = |from: usize| values[0].select(&(from..from + 32).collect::<Vec<_>>());
        half(0)?.scale(0.5)?.add(&half(32)?.scale(0.5)?)
    });
    let expected: Vec<f64> = (0..32).map(|i| 0.5 * (image[i] + image[32 + i])).collect();
    check(&client, &y.unwrap(), &expected, 2f64.powi(-11));
}

#[test]
fn refusals_name_the_function() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 26);
    let within = server.within(-1.0..=1.0);
    let x = encrypt(&client, &[0.5, -0.5, 1.0], -1.0..=1.0);
    let short = encrypt(&client, &[0.5], -1.0..=1.0);
    for refused in [within.max(&[&x, &short]), within.arg_min(&[&x, &short])] {
        let refused = refused.unwrap_err();
        assert!(
            refused.is(&ErrorKind::Length, "need equally many; repeat the shorter"),
            "{refused}"
        );
    }
    assert!(
        refusal(&within.greater(&x, &short))
            .is(&ErrorKind::Length, "need equally many; repeat the shorter")
    );
    for refused in [within.max(&[]), within.arg_max(&[])] {
        assert!(refusal(&refused).is(&ErrorKind::Length, "no values; need at least one"));
    }
    let wide = encrypt(&client, &[0.5], -2.0..=2.0);
    let refused = within.sort(&wide, SortOrder::Ascending).unwrap_err();
    assert!(
        refused.op() == "sort"
            && refused.is(&ErrorKind::Domain, "and a table wraps around beyond its ends"),
        "{refused}"
    );
    for domain in [1.0..=1.0, 2.0..=-2.0, f64::NAN..=1.0] {
        let refused = server.within(domain).abs(&x).unwrap_err();
        assert!(refused.is(&ErrorKind::Domain, "domain"), "{refused}");
    }
    let low = server.drop_to_level(&x, 1).unwrap();
    let watched = server.clone().with_progress(|report| panic!("{report:?}"));
    let refused = watched.within(-1.0..=1.0).max(&[&x, &low]).unwrap_err();
    let levels = refused.op() == "max"
        && refused.is(
            &ErrorKind::OutOfLevels { needed: 2, left: 1 },
            "needs 2 level(s), 1 left: encrypt at a",
        );
    assert!(levels, "{refused}");
    // Somebody else's vectors and keys; keys that were not asked for.
    let other =
        party(Preset::Insecure(Toy::Functions), &Needs::new().map().bridge(Bridge::Linear), 27);
    let y = encrypt(&other.client, &[0.5, -0.5, 1.0], -1.0..=1.0);
    assert!(
        refusal(&within.max(&[&x, &y]))
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    let refused = other.server.within(-1.0..=1.0).max(&[&y]).unwrap_err();
    let missing = refused
        .is(&ErrorKind::MissingKey { need: "bridge" }, "call `Needs::bridge` where the client");
    assert!(missing, "{refused}");
    let stopping = server.clone().with_progress(|report| match report.stage {
        Stage::LookUps if report.done > 0 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let stopped = stopping.within(-1.0..=1.0).abs(&x).unwrap_err();
    let cancelled = stopped.op() == "abs" && matches!(stopped.kind(), ErrorKind::Cancelled { .. });
    assert!(cancelled, "{stopped}");
}

/// Several functions: as precise as a single one, each in its vector or all in one, from one
/// rotation or several.
#[test]
fn several_functions_of_the_same_values() {
    type Function<'f> = &'f dyn Fn(f64) -> f64;
    let functions: [Function<'_>; 4] = [&f64::exp, &f64::tanh, &|v| 100.0 + v, &|_| 1e3];
    let sets = [(Needs::new().map(), 28), (Needs::new().map_with([Engine::Corrected]), 29)];
    for (needs, seed) in cases(sets, 1) {
        let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, seed);
        let (domain, level) = (-2.0..=2.0, client.params().lookups().unwrap().level_after());
        let many = MapRequest::many(&functions).over(domain.clone());
        for count in [3, 150] {
            let values = spread(count, -2.0, 2.0);
            let x = encrypt(&client, &values, domain.clone());
            let all = server.map_many(&[&x], &many).unwrap();
            assert_eq!(all.len(), functions.len());
            let y = encrypt(&client, &values[..2], domain.clone());
            let packed = server.map_many(&[&x, &y], &many.clone().packed()).unwrap().remove(0);
            assert_eq!((packed.level(), packed.len()), (level, 4 * (count + 2)));
            let packed = (packed.range(), client.decrypt(&packed).unwrap());
            for (i, (f, y)) in functions.iter().zip(&all).enumerate() {
                let found = client.decrypt(y).unwrap();
                assert_eq!((y.level(), y.len()), (level, count));
                let one = MapRequest::new(f).over(domain.clone()).bridge(Bridge::Ring);
                let law = law(client.params(), &one);
                // Tables of several functions from one rotation have a little more noise.
                let expected = || values.iter().map(|&v| f(v));
                let (mean, max) = errors(&found, expected());
                assert!(max < 2.0 * law.max_abs(count) + 1e-3, "{i} {count}: {max}");
                let ratio = mean / law.mean_abs;
                assert!(count < 100 || i == 3 || (0.7..1.4).contains(&ratio), "{i}: {ratio}");
                let range = y.range().lo() - 1e-2..=y.range().hi() + 1e-2;
                assert!(found.iter().all(|v| range.contains(v)), "{i} {count}: {range:?}");
                let part = &packed.1[i * (count + 2)..(i + 1) * (count + 2)];
                let expected = expected().chain(values[..2].iter().map(|&v| f(v)));
                let (_, max) = errors(part, expected);
                assert!(max < 2.0 * law.max_abs(count) + 1e-2, "{i} {count} packed: {max}");
                let range = packed.0.lo() - 1e-2..=packed.0.hi() + 1e-2;
                assert!(part.iter().all(|v| range.contains(v)), "{i} {count}: {range:?}");
            }
        }
        let x = encrypt(&client, &spread(600, -2.0, 2.0), domain.clone());
        let refused = server.map_many(&[&x], &many.clone().packed()).unwrap_err();
        let too_many = refused.is(
            &ErrorKind::TooManyValues { found: 2400, most: 1024 },
            "2400 values, but there are 1024 slots",
        );
        assert!(too_many, "{refused}");
        let none = MapRequest::many(&[]).over(domain.clone());
        assert!(server.map_many(&[&x], &none).is_err());
        assert!(server.map_many(&[&x], &none.packed()).is_err());
        assert!(server.map_many(&[], &many.clone().packed()).is_err());
        let refused = server.map_many(&[&x], &many.clone().over(-1.0..=1.0)).unwrap_err();
        assert!(
            refused.is(&ErrorKind::Domain, "and a table wraps around beyond its ends"),
            "{refused}"
        );
        let roots = MapRequest::many(&[&f64::tanh, &f64::sqrt]);
        let refused = server.map_many(&[&x], &roots).unwrap_err();
        assert!(refused.to_string().contains("not finite"), "{refused}");
    }
}
