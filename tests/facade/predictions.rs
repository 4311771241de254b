//! The stated noise of results of look-ups against measurements, in toy dimensions: for values
//! spread over the range, and for values at the worst point.

use std::ops::RangeInclusive;

use crate::common::{Party, encrypt, law, party, spread};
use bellerophon::ckks::{self, Interval, Metadata, simulator::Simulator};
use bellerophon::lwe::{self, Headroom, SortOrder};
use bellerophon::prelude::*;
use bellerophon::{Bridge, DecryptionBudget, Engine, lookup};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// A request for a plain table.
fn table<'f>(f: impl Fn(f64) -> f64 + 'f) -> MapRequest<'f> {
    MapRequest::new(f).engines([Engine::Rgsw])
}

type Function<'f> = &'f dyn Fn(f64) -> f64;

/// Encrypts from a generator of its own, so that the errors are independent of those of the same
/// values under [`encrypt`] and under other seeds.
fn encrypt_other(
    client: &ClientKey,
    seed: u64,
    values: &[f64],
    range: RangeInclusive<f64>,
) -> Ciphertext {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    client.encrypt_with(values, range, client.params().levels(), &mut rng).unwrap()
}

fn rms(found: &[f64], expected: impl IntoIterator<Item = f64>) -> f64 {
    let squares = found.iter().zip(expected).map(|(found, exact)| (found - exact).powi(2));
    (squares.sum::<f64>() / found.len() as f64).sqrt()
}

/// The measured error in units of the prediction.
fn ratio(client: &ClientKey, y: &Ciphertext, expected: impl IntoIterator<Item = f64>) -> f64 {
    rms(&client.decrypt(y).unwrap(), expected) / y.metadata().noise()
}

/// A prediction is an upper estimate, not far above the error of values spread over the range.
#[track_caller]
fn check(name: &str, ratio: f64) {
    eprintln!("{name}: {ratio:.3}");
    assert!((0.05..1.2).contains(&ratio), "{name}: measured / predicted = {ratio}");
}

/// At the worst point it is the error itself.
#[track_caller]
fn check_worst(name: &str, ratio: f64) {
    eprintln!("{name}, worst place: {ratio:.3}");
    assert!((0.7..1.25).contains(&ratio), "{name}: measured / predicted = {ratio}");
}

/// A function on a range, with its worst point.
type Case = (&'static str, RangeInclusive<f64>, fn(f64) -> f64, f64);

fn functions() -> [Case; 4] {
    [
        ("tanh 4x", -4.0..=4.0, |v| (4.0 * v).tanh(), 0.0),
        ("exp", -2.0..=2.0, f64::exp, 1.98),
        ("reciprocal", 0.125..=4.0, |v| 1.0 / v, 0.13),
        ("sign", -1.0..=1.0, f64::signum, 0.0),
    ]
}

#[test]
fn look_ups_over_both_bridges() {
    let needs = Needs::new().map().bridge(Bridge::Ring).bridge(Bridge::Linear);
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 31);
    for bridge in [Bridge::Ring, Bridge::Linear] {
        for (name, range, f, worst) in functions() {
            for (values, count) in
                [(spread(400, *range.start(), *range.end()), 400), (vec![worst; 300], 300)]
            {
                let x = encrypt(&client, &values, range.clone());
                let y = server.map_with(&x, &table(f).bridge(bridge)).unwrap();
                let ratio = ratio(&client, &y, values.iter().map(|&v| f(v)));
                let name = format!("map {name} over {bridge:?}");
                match (count, name.contains("sign")) {
                    (300, _) => check_worst(&name, ratio),
                    (_, false) => check(&name, ratio),
                    // There may be no value near the jump.
                    (_, true) => assert!(ratio < 1.2, "{name}: {ratio}"),
                }
            }
        }
        // Of a constant the prediction has what a table of its size leaves.
        let x = encrypt(&client, &spread(400, -1.0, 1.0), -1.0..=1.0);
        let y = server.map_with(&x, &table(|_| 3.0).bridge(bridge)).unwrap();
        assert!(ratio(&client, &y, vec![3.0; 400]) < 1.2 && y.metadata().noise() < 1e-2);
    }
}

/// The error of an operand passes through the function of the next look-up.
#[test]
fn look_ups_of_look_ups() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 32);
    let values = spread(500, -1.0, 1.0);
    let x = encrypt(&client, &values, -1.0..=1.0);
    let (f, g) = (|v: f64| (3.0 * v).tanh(), |v: f64| v * v * v);
    let once = server.map_with(&x, &table(f)).unwrap();
    let twice = server.map_with(&once, &table(g)).unwrap();
    check("map of map", ratio(&client, &twice, values.iter().map(|&v| g(f(v)))));
    let x = encrypt(&client, &[0.0; 400], -1.0..=1.0);
    let once = server.map_with(&x, &table(|v| -v)).unwrap();
    let twice = server.map_with(&once, &table(|v| -v)).unwrap();
    assert!((twice.metadata().noise() / once.metadata().noise() / 2f64.sqrt() - 1.0).abs() < 0.05);
    check_worst("map of map", ratio(&client, &twice, [0.0; 400]));
    // A sign next to its jump is half of the time the other one, and the next look-up knows.
    let sign = server.map_with(&x, &table(|v| if v < 0.0 { -1.0 } else { 1.0 })).unwrap();
    let half = server.map_with(&sign, &table(|v| 0.5 * v)).unwrap();
    check_worst("map of sign", ratio(&client, &half, [0.5; 400]));
}

#[test]
fn several_functions() {
    for (needs, seed) in
        [(Needs::new().map(), 33), (Needs::new().map_with([Engine::Corrected]), 34)]
    {
        let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, seed);
        let functions: [Function<'_>; 3] = [&f64::exp, &|v| (4.0 * v).tanh(), &f64::signum];
        let (domain, worst) = (-2.0..=2.0, [1.98, 0.0, 0.0]);
        let values = spread(300, -2.0, 2.0);
        let x = encrypt(&client, &values, domain.clone());
        let all =
            server.map_many(&[&x], &MapRequest::many(&functions).over(domain.clone())).unwrap();
        for (i, (y, f)) in all.iter().zip(&functions).enumerate() {
            let ratio = ratio(&client, y, values.iter().map(|&v| f(v)));
            // There may be no value near the jump of the last.
            if i < 2 { check(&format!("maps {i}"), ratio) } else { assert!(ratio < 1.2, "{ratio}") }
        }
        for (i, place) in worst.into_iter().enumerate() {
            let x = encrypt(&client, &[place; 250], domain.clone());
            let y = &server
                .map_many(&[&x], &MapRequest::many(&functions).over(domain.clone()))
                .unwrap()[i];
            check_worst(&format!("maps {i}"), ratio(&client, y, [functions[i](place); 250]));
        }
        let two = &functions[..2];
        let x = encrypt(&client, &[1.98; 250], domain.clone());
        let y = server
            .map_many(&[&x], &MapRequest::many(two).over(domain.clone()).packed())
            .unwrap()
            .remove(0);
        let found = client.decrypt(&y).unwrap();
        let ratio = rms(&found[..250], [1.98f64.exp(); 250]) / y.metadata().noise();
        check_worst("maps packed", ratio);
        let ratio = rms(&found[250..], [(4.0 * 1.98f64).tanh(); 250]) / y.metadata().noise();
        assert!(ratio < 1.0, "{ratio}");
    }
}

#[test]
fn corrected_look_ups() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Corrected]), 35);
    let domain = -4.0..=4.0;
    // Twenty places, of 25 values each.
    let values: Vec<f64> = (0..500).map(|i| -3.8 + 0.4 * f64::from(i / 25)).collect();
    let x = encrypt(&client, &values, domain.clone());
    let low = server.drop_to_level(&x, server.params().lookups().unwrap().levels()).unwrap();
    for (x, bits) in [(&x, 9.0), (&low, 8.5)] {
        let tanh = MapRequest::new(f64::tanh).over(domain.clone()).typical(Accuracy::bits(bits));
        let plan = server.map_plan(x, &tanh).unwrap();
        assert!(plan.prediction().unwrap().order > Some(0));
        let y = server.map_with(x, &tanh).unwrap();
        let found = client.decrypt(&y).unwrap();
        let exact: Vec<f64> = values.iter().map(|v| v.tanh()).collect();
        assert!(rms(&found, exact.iter().copied()) < 1.2 * y.metadata().noise());
        let places = found.chunks(25).zip(exact.chunks(25));
        let worst = places.map(|(found, exact)| rms(found, exact.iter().copied()));
        // The worst of twenty places, of 25 values each.
        let worst = worst.fold(0.0, f64::max) / y.metadata().noise();
        assert!((0.3..1.5).contains(&worst), "map to, worst place: {worst}");
    }
    // What an operand brings is not corrected.
    let sine = server.map_with(&x, &table(f64::sin).over(domain.clone())).unwrap();
    let y = server
        .map_with(
            &sine,
            &MapRequest::new(f64::tanh).over(domain.clone()).typical(Accuracy::bits(9.0)),
        )
        .unwrap();
    assert!(y.metadata().noise() > 0.3 * sine.metadata().noise());
    check("map to of map", ratio(&client, &y, values.iter().map(|v| v.sin().tanh())));
    // Where a plain table is as exact.
    let y = server
        .map_with(&x, &MapRequest::new(f64::tanh).over(domain).typical(Accuracy::bits(3.0)))
        .unwrap();
    check("map to, plain", ratio(&client, &y, values.iter().map(|v| v.tanh())));
}

#[test]
fn flooded_look_ups() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 36);
    let x = encrypt(&client, &[1.98; 300], -2.0..=2.0);
    let simulator = Simulator::new(server.params().ckks()).worst_case();
    let range = Interval::real(-2.0, 2.0).unwrap();
    let any = simulator.encrypt(&[0.0; 300], range, x.level()).unwrap();
    let bound = simulator.noise_bound(&any).unwrap();
    let mut budget = DecryptionBudget::new(x.lattice().ident().key, 4, 30.0).unwrap();
    budget.reserve(2).unwrap();
    let exp = MapRequest::new(f64::exp).flooded(&bound, budget.flooding());
    let y = server.map_flooded(&x, &exp, &mut budget).unwrap();
    check_worst("map flooded", ratio(&client, &y, [1.98f64.exp(); 300]));
    let values =
        server.extract_flooded(&x, -2.0..=2.0, Headroom::TABLE, &bound, &mut budget).unwrap();
    let found = client.decrypt_lwe(&values).unwrap();
    check_worst("extract flooded", rms(&found, [1.98; 300]) / values.variance().sqrt());
}

/// LWE values between slots and slots: as they are, after tables, after sums of tables.
#[test]
fn values_outside_the_slots() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 37);
    let tables = server.tables().unwrap();
    let numbers = spread(500, -1.0, 1.0);
    let x = encrypt(&client, &numbers, -1.0..=1.0);
    let values = server.extract(&x, -1.0..=1.0).unwrap();
    let of = |values: &lwe::LweVec, expected: &dyn Fn(f64) -> f64, numbers: &[f64]| {
        let found = client.decrypt_lwe(values).unwrap();
        rms(&found, numbers.iter().map(|&v| expected(v))) / values.variance().sqrt()
    };
    check("extract", of(&values, &|v| v, &numbers));
    // Noise of an earlier look-up comes along.
    let once = server.map_with(&x, &table(|v| -v)).unwrap();
    let noisy = server.extract(&once, -1.0..=1.0).unwrap();
    check_worst("extract of map", of(&noisy, &|v| -v, &numbers));
    let sign =
        server.map_with(&encrypt(&client, &[0.0; 300], -1.0..=1.0), &table(f64::signum)).unwrap();
    let signs = server.extract(&sign, -1.0..=1.0).unwrap();
    assert!(signs.meta().index.predicted > 10.0 * signs.meta().noise.predicted);
    check_worst("extract of sign", of(&signs, &f64::signum, &[0.0; 300]));
    let room = lwe::OutputEncoding::Fit(Headroom { terms: 2, levels: 0 });
    let sigmoid = |v: f64| (4.0 * v).tanh();
    let read = tables.map(&values, sigmoid, room).unwrap();
    check("table", of(&read, &sigmoid, &numbers));
    check(
        "pack",
        ratio(&client, &server.pack(&read).unwrap(), numbers.iter().map(|&v| sigmoid(v))),
    );
    let steepest = [0.0; 300];
    let x = encrypt(&client, &steepest, -1.0..=1.0);
    let values = server.extract(&x, -1.0..=1.0).unwrap();
    let read = tables.map(&values, sigmoid, room).unwrap();
    check_worst("table", of(&read, &sigmoid, &steepest));
    check_worst("pack", ratio(&client, &server.pack(&read).unwrap(), steepest));
    let layout = lookup::Layout::new(512, &(0..300).map(|i| i + 100).collect::<Vec<_>>()).unwrap();
    let packed = server.pack_in(&read, &layout, 1).unwrap();
    let found = client.decrypt(&packed).unwrap();
    check_worst("pack in", rms(&found[100..400], steepest) / packed.metadata().noise());
    // Only slots to LWE and LWE to slots.
    let x = encrypt(&client, &numbers, -1.0..=1.0);
    let there = server.extract_for(&x, -1.0..=1.0, Headroom { terms: 2, levels: 0 }).unwrap();
    let back = server.pack(&there).unwrap();
    check("extract and pack", ratio(&client, &back, numbers.iter().copied()));
    let above = |v: f64| f64::from(u8::from(v > 0.0));
    let bits = tables.map(&values, above, lwe::OutputEncoding::Fit(Headroom::TABLE)).unwrap();
    let level = server.params().lookups().unwrap().level_after();
    check_worst("pack ends", ratio(&client, &server.pack_ends(&bits, level).unwrap(), steepest));
}

/// The bound of a packed vector holds for errors of any correlation: of a value that was added to
/// itself, and of slots whose noise was stated.
#[test]
fn bounds_of_packed_values() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 37);
    let tables = server.tables().unwrap();
    let bound = |y: &Ciphertext| {
        let meta = y.metadata().meta;
        ckks::noise::slot_std(meta.noise.bound, meta.slots, meta.scale, true)
    };
    let zeros = encrypt(&client, &[0.0; 300], -1.0..=1.0);
    let values = server.extract(&zeros, -1.0..=1.0).unwrap();
    let room = lwe::OutputEncoding::Fit(Headroom { terms: 256, levels: 0 });
    let mut sum = tables.map(&values, f64::signum, room).unwrap();
    for _ in 0..6 {
        sum = sum.add(&sum).unwrap();
    }
    let y = server.pack(&sum).unwrap();
    let error = rms(&client.decrypt(&y).unwrap(), [64.0; 300]);
    check_worst("pack of 64 equal errors", error / y.metadata().noise());
    assert!(error < 1.1 * bound(&y) && bound(&y) < 2.0 * error, "{error} {}", bound(&y));
    // No statement lowers the bound, nor does the way through LWE values.
    let stated = zeros.assume_noise(0.05).unwrap().assume_noise(1e-6).unwrap();
    let room = Headroom { terms: 4, levels: 0 };
    let values = server.extract_for(&stated, -1.0..=1.0, room).unwrap();
    assert!(values.variance().sqrt() < 0.01);
    let found = bound(&server.pack_in(&values, &in_order(300), 1).unwrap());
    assert!((0.049..0.08).contains(&found), "{found}");
    // A published vector has the width of its range.
    let published = values.publish(-1.0..=1.0, 1e-3).unwrap();
    let found = bound(&server.pack_in(published.as_ref(), &in_order(300), 1).unwrap());
    assert!((2.0..2.1).contains(&found), "{found}");
}

fn in_order(count: usize) -> lookup::Layout {
    lookup::Layout::in_order(count).unwrap()
}

/// Functions of several values: spread, and all equal.
#[test]
fn functions_of_several_values() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 38);
    let within = server.within(-1.0..=1.0);
    let vector = |values: &[f64]| encrypt(&client, values, -1.0..=1.0);
    for (name, values) in [("spread", spread(24, -1.0, 1.0)), ("ties", vec![0.25; 24])] {
        let mut up = values.clone();
        up.sort_by(f64::total_cmp);
        let down = || up.iter().rev().copied();
        let x = vector(&values);
        let results = [
            ("sort", within.sort(&x, SortOrder::Ascending).unwrap(), up.clone()),
            ("largest", within.largest(&x, 5).unwrap(), down().take(5).collect()),
            ("smallest", within.smallest(&x, 5).unwrap(), up[..5].to_vec()),
        ];
        for (op, y, expected) in results {
            check(&format!("{op} of {name}"), ratio(&client, &y, expected));
        }
    }
    let (a, b) = (spread(200, -1.0, 1.0), spread(200, 1.0, -1.0));
    for (name, a, b) in [("spread", a.clone(), b), ("ties", a.clone(), a.clone())] {
        // Masks of their own: equal ones cancel in the difference.
        let (x, y) = (vector(&a), encrypt_other(&client, 1, &b, -1.0..=1.0));
        let pairs = || a.iter().copied().zip(b.iter().copied());
        let max: Vec<f64> = pairs().map(|(a, b)| a.max(b)).collect();
        let min: Vec<f64> = pairs().map(|(a, b)| a.min(b)).collect();
        let results = [
            ("max", within.max(&[&x, &y]).unwrap(), max),
            ("min", within.min(&[&x, &y]).unwrap(), min),
            ("abs", within.abs(&x).unwrap(), a.iter().map(|v| v.abs()).collect()),
        ];
        for (op, y, expected) in results {
            check(&format!("{op} of {name}"), ratio(&client, &y, expected));
        }
    }
    let (x, y) = (vector(&a), vector(&spread(200, 1.0, -1.0)));
    let room = Headroom { terms: 4, levels: 0 };
    let half = within.apply(&[&x, &y], room, |_, v| v[0].sub(&v[1])?.scale(0.5)).unwrap();
    let exact = a.iter().zip(spread(200, 1.0, -1.0)).map(|(a, b)| (a - b) / 2.0);
    check("apply", ratio(&client, &half, exact));
    let image = spread(64, -1.0, 1.0);
    let patch = |i: usize| [0, 1, 8, 9].map(|j| image[16 * (i / 4) + 2 * (i % 4) + j]);
    let pooled = within.max_pool(&vector(&image), 8, 2).unwrap();
    let expected = (0..16).map(|i| patch(i).into_iter().fold(f64::MIN, f64::max));
    check("max pool", ratio(&client, &pooled, expected));
}

/// Decisions are wrong near ties, and say so; far from them they are right.
#[test]
fn decisions() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 39);
    let within = server.within(-1.0..=1.0);
    let vector = |values: &[f64]| encrypt(&client, values, -1.0..=1.0);
    let tie = vector(&[0.25; 200]);
    // Masks of its own: equal ones cancel in the difference.
    let other = encrypt_other(&client, 2, &[0.25; 200], -1.0..=1.0);
    let lanes = [&tie, &other];
    let results = [
        ("greater", within.greater(&tie, &other).unwrap()),
        ("arg max", within.arg_max(&lanes).unwrap()),
        ("arg min", within.arg_min(&lanes).unwrap()),
    ];
    for (op, y) in results {
        check_worst(op, ratio(&client, &y, [0.0; 200]));
    }
    let few = vector(&[0.25; 16]);
    // Which of 16 equal values is marked is a matter of chance: the first one in one of 16.
    let mut first = [0.0; 16];
    first[0] = 1.0;
    let marks: Vec<f64> = (0..4)
        .flat_map(|seed| {
            let few = encrypt_other(&client, seed, &[0.25; 16], -1.0..=1.0);
            [within.argmax_one_hot(&few).unwrap(), within.argmin_one_hot(&few).unwrap()]
        })
        .map(|y| ratio(&client, &y, first))
        .collect();
    check("marks", rms(&marks, [0.0; 8]));
    for y in [within.argmax_index(&few).unwrap(), within.argmin_index(&few).unwrap()] {
        let found = client.decrypt(&y).unwrap()[0];
        let farthest = if found < 7.5 { 15.0 } else { 0.0 };
        check("place", ratio(&client, &y, [farthest]));
    }
    let (far, level) = (vector(&[-0.5; 200]), server.params().lookups().unwrap().level_after());
    let sure = within.greater(&tie, &far).unwrap();
    assert_eq!(sure.level(), level);
    assert!(ratio(&client, &sure, [1.0; 200]) < 0.01);
}

/// Tables of integers and functions of reals by functional bootstrapping: values spread over the
/// domain.
#[test]
fn functional_bootstraps() {
    let functional = Needs::new().functional();
    let of_both = |found: &[f64], expected: &[f64], y: &PairedVec| {
        let parts = if y.is_both() { 2f64.sqrt() } else { 1.0 };
        rms(found, expected.iter().copied()) * parts / y.inner().metadata().noise()
    };
    let Party { client, server } = party(Preset::Insecure(Toy::Tables), &functional, 41);
    let on = server.integers();
    for count in [1000, 400] {
        let numbers: Vec<usize> = (0..count).map(|i| i * 77 % 256).collect();
        let x = client.encrypt(&numbers, Modulo(256)).unwrap();
        let root = IntTable::real(256, |k| (k as f64).sqrt()).unwrap();
        let y = &on.real_tables(&x, &[&root]).unwrap()[0];
        let exact: Vec<f64> = numbers.iter().map(|&k| (k as f64).sqrt()).collect();
        check("real table", of_both(&client.decrypt_paired(y).unwrap(), &exact, y));
        let y = on.table(&x, |k| (k * k + 3) % 256).unwrap();
        let exact: Vec<f64> = numbers.iter().map(|k| ((k * k + 3) % 256) as f64).collect();
        let found = client.decrypt_paired(y.values()).unwrap();
        check("table of integers", of_both(&found, &exact, y.values()));
    }
    let Party { client, server } = party(Preset::Insecure(Toy::Smooth), &functional, 42);
    let smooth = client.params().functional().unwrap();
    let tanh = smooth
        .real_function(
            &bellerophon::circuits::approx::Function::from(
                bellerophon::circuits::approx::Known::Tanh,
            ),
            -4.0,
            4.0,
            Accuracy::bits(20.0),
        )
        .unwrap();
    for count in [1000, 400] {
        let values = spread(count, -4.0, 4.0);
        let x = client.encrypt(&values, Paired(-4.0..=4.0)).unwrap();
        let y = &server.functions_of(&x, &[&tanh]).unwrap()[0];
        let exact: Vec<f64> = values.iter().map(|&v| tanh.eval(v)).collect();
        check("function", of_both(&client.decrypt_paired(y).unwrap(), &exact, y));
    }
}

/// A stated noise is that of the metadata.
#[test]
fn the_account_has_the_noise() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 40);
    let x = encrypt(&client, &spread(100, -1.0, 1.0), -1.0..=1.0);
    let y = server.map_with(&x, &table(|v| -v)).unwrap();
    let Metadata { meta, .. } = y.metadata();
    let slot = (meta.noise.total * meta.slots as f64).sqrt() / meta.scale;
    assert!((y.metadata().noise() / slot - 1.0).abs() < 1e-9);
    let law = law(client.params(), &MapRequest::new(|v| -v).over(-1.0..=1.0));
    assert!(
        (y.metadata().noise() / law.worst_rms - 1.0).abs() < 0.05,
        "{} {}",
        y.metadata().noise(),
        law.worst_rms
    );
}
