//! Tables and functions of whole vectors through the facade, on toy sets.

use crate::common::{params_of, refusal};
use bellerophon::circuits::approx::{Function, Known};
use bellerophon::circuits::lintrans::{LinearOptions, LinearTransform};
use bellerophon::circuits::matrix::Matrix;
use bellerophon::prelude::*;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use bellerophon::{ErrorKind, ParamsSpec, SeededIntVec, SeededPairedVec, Stage, format, lwe};
use bellerophon::{
    circuits::fbt::FbtSpec,
    ckks::{self, Declaration},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

fn integers(count: usize, p: usize) -> Vec<usize> {
    let mut rng = ChaCha20Rng::seed_from_u64(count as u64);
    (0..count).map(|_| rng.random_range(0..p)).collect()
}

#[test]
fn tables_over_stored_keys() {
    let params = params_of(Preset::Insecure(Toy::Tables));
    let client = ClientKey::generate(&params).unwrap();
    let needs = Needs::new().functional();
    let keys = client.evaluation_keys(&needs).unwrap();
    let predicted = params.evaluation_key_bytes(&needs).unwrap();
    assert_eq!(keys.byte_len(), predicted);
    let mut bytes = Vec::new();
    keys.write_to(&mut bytes).unwrap();
    // The parameters and the keys, from bytes.
    let security = format::from_bytes::<Params>(
        &bellerophon::mlwe::Security::Insecure,
        &params.to_bytes().unwrap(),
    );
    let params = security.unwrap();
    let keys = EvaluationKeys::read_from(&params, &mut &bytes[..], 1 << 30).unwrap();
    let server = Evaluator::new(keys).unwrap();
    let x = integers(1000, 256);
    let ct = client.encrypt(&x, Modulo(256)).unwrap();
    let y = server.integers().table(&ct, |k| (k * 77 + 5) % 256).unwrap();
    let wanted: Vec<usize> = x.iter().map(|k| (k * 77 + 5) % 256).collect();
    assert_eq!(client.decrypt_integers(&y).unwrap(), wanted);
    assert!((server.failures().log2() + 128.0).abs() < 1e-9);
}

/// A layer of a network of integers: a matrix of blocks, a bias, a table, and a second matrix of
/// the results.
#[test]
fn matrices_of_integers_are_exact_between_tables() {
    let params = params_of(Preset::Insecure(Toy::Tables));
    let (blocks, count) = (8, 16);
    let weight = |i: usize, j: usize| ((5 * i + 3 * j) % 15) as i64 - 7;
    let row = |i| (0..blocks).map(|j| weight(i, j) as f64).collect();
    let rows: Vec<Vec<f64>> = (0..blocks).map(row).collect();
    let matrix = Matrix::from_rows(&rows).unwrap().times_left(count).unwrap();
    let level = params.functional().unwrap().input_level() + 1;
    let transform = LinearTransform::new(params.ckks(), &matrix, level, LinearOptions::default());
    let transform = transform.unwrap();
    let client = ClientKey::generate(&params).unwrap();
    let needs = Needs::new().functional().keys(&transform.keys());
    let server = Evaluator::new(client.evaluation_keys(&needs).unwrap()).unwrap();
    let integers = server.integers();
    let bias: Vec<f64> = (0..blocks * count).map(|i| (i / count) as f64 - 3.0).collect();
    let relu = |k: usize| if k < 128 { k / 8 } else { 0 };

    let x: Vec<usize> = (0..blocks * count).map(|i| (i * i + 3 * i) % 16).collect();
    let mut ct =
        client.encrypt_with(&x, Modulo(16), level, &mut ChaCha20Rng::seed_from_u64(8)).unwrap();
    let mut clear: Vec<i64> = x.iter().map(|&k| k as i64).collect();
    for last in [false, true] {
        let real = integers.to_reals(&ct).unwrap().pop().unwrap();
        let sums = server.add_values(&server.transform(&real, &transform).unwrap(), &bias).unwrap();
        let sum = |i: usize| {
            let (block, k) = (i / count, i % count);
            let terms = (0..blocks).map(|j| weight(block, j) * clear[j * count + k]);
            terms.sum::<i64>() + block as i64 - 3
        };
        clear = (0..clear.len()).map(sum).collect();
        let modulus = if last { 1 << 16 } else { 256 };
        ct = integers.from_reals(&sums, modulus).unwrap();
        assert!(integers.log2_failure(&ct) < -128.0);
        let wanted: Vec<usize> =
            clear.iter().map(|s| s.rem_euclid(modulus as i64) as usize).collect();
        // No table has reduced them: they are not decrypted as integers, but by their owner.
        let refused = client.decrypt_integers(&ct).unwrap_err().to_string();
        assert!(refused.contains("identity table"), "{refused}");
        let reals = client.decrypt(&integers.to_reals(&ct).unwrap()[0]).unwrap();
        let rounded = reals.iter().map(|v| v.round().rem_euclid(modulus as f64) as usize);
        assert_eq!(rounded.collect::<Vec<_>>(), wanted);
        if !last {
            ct = integers.table(&ct, relu).unwrap();
            clear = wanted.iter().map(|&k| relu(k) as i64).collect();
            assert!(clear.iter().any(|&k| k > 0));
        }
    }
}

#[test]
fn smooth_functions_of_both_parts() {
    let params = params_of(Preset::Insecure(Toy::Smooth));
    let client = ClientKey::generate(&params).unwrap();
    let server =
        Evaluator::new(client.evaluation_keys(&Needs::new().functional()).unwrap()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let functional = params.functional().unwrap();
    let sigmoid = functional
        .real_function(&Function::from(Known::Sigmoid), -8.0, 8.0, Accuracy::bits(25.0))
        .unwrap();
    let gelu = functional
        .real_function(&Function::from(Known::Gelu), -8.0, 8.0, Accuracy::bits(22.0))
        .unwrap();
    for count in [1024, 700, 512, 3] {
        let x: Vec<f64> = (0..count).map(|_| rng.random_range(-8.0..8.0)).collect();
        let ct = client.encrypt(&x, Paired(-8.0..=8.0)).unwrap();
        let results = server.functions_of(&ct, &[&sigmoid, &gelu]).unwrap();
        for (y, f) in results.iter().zip([&sigmoid, &gelu]) {
            let found = client.decrypt_paired(y).unwrap();
            let off: Vec<f64> = found.iter().zip(&x).map(|(y, &x)| y - f.eval(x)).collect();
            let rms = (off.iter().map(|e| e * e).sum::<f64>() / count as f64).sqrt();
            let worst = off.iter().fold(0.0f64, |m, e| m.max(e.abs()));
            let predicted =
                y.inner().metadata().noise() / if y.is_both() { 2f64.sqrt() } else { 1.0 };
            let [a, b, c] = [rms, worst, predicted].map(f64::log2);
            println!("{count} values: rms 2^{a:.1}, worst 2^{b:.1}, predicted 2^{c:.1}");
            assert!(rms < 1.6 * predicted || count < 100, "{rms:e} {predicted:e}");
            assert!(4.0 * rms > predicted || count < 100, "{rms:e} {predicted:e}");
            assert!(worst < 12.0 * predicted);
        }
    }
    // A domain that is not centred at zero.
    let inverse = functional
        .real_function(&Function::from(Known::Inverse), 0.5, 4.0, Accuracy::bits(16.0))
        .unwrap();
    for count in [900, 200] {
        let x: Vec<f64> = (0..count).map(|_| rng.random_range(0.5..4.0)).collect();
        let ct = client.encrypt(&x, Paired(0.5..=4.0)).unwrap();
        let y = server.functions_of(&ct, &[&inverse]).unwrap().remove(0);
        let found = client.decrypt_paired(&y).unwrap();
        let off = found.iter().zip(&x).map(|(y, x)| (y - 1.0 / x).abs()).fold(0.0, f64::max);
        assert!(off < 2f64.powi(-15), "{count} values: {off:e}");
    }
    // Beyond the domain the series has nothing to do with the function.
    let wide = client.encrypt(&[0.0], Paired(-9.0..=9.0)).unwrap();
    assert!(server.functions_of(&wide, &[&sigmoid]).is_err());
}

#[test]
fn what_the_parameters_do_not_serve_is_refused() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    assert!(
        refusal(&params.functional())
            .is(&ErrorKind::Unsupported, "' have no functional bootstrapping: take a")
    );
    let client = ClientKey::generate(&params).unwrap();
    let refused = client.evaluation_keys(&Needs::new().functional());
    assert!(
        refusal(&refused).is(&ErrorKind::Unsupported, "' have no functional bootstrapping: take a")
    );
    assert!(
        refusal(&client.encrypt(&[1], Modulo(4)))
            .is(&ErrorKind::Unsupported, "' have no functional bootstrapping: take a")
    );
}

/// A client and a server that have nothing of each other but bytes.
#[test]
fn integers_travel_and_are_published() {
    let params = params_of(Preset::Insecure(Toy::Tables));
    let client = ClientKey::generate(&params).unwrap();
    let server =
        Evaluator::new(client.evaluation_keys(&Needs::new().functional()).unwrap()).unwrap();
    let on = server.integers();
    for count in [1000, 300] {
        let x = integers(count, 256);
        let sent = client.encrypt_seeded(&x, Modulo(256)).unwrap();
        let sent = format::to_bytes(&params, &sent).unwrap();
        let whole = format::to_bytes(&params, &client.encrypt(&x, Modulo(256)).unwrap()).unwrap();
        assert!(2 * sent.len() < whole.len() + 400, "{} {}", sent.len(), whole.len());
        let fresh: SeededIntVec = format::from_bytes(&params, &sent).unwrap();
        let fresh = fresh.expand(params.ckks()).unwrap();
        let more = on.add_constant(&on.mul_constant(&fresh, 3).unwrap(), 1).unwrap();
        // A server keeps what it has, and publishes what is reduced.
        let kept = format::to_bytes(&params, &more).unwrap();
        let kept: IntVec = format::from_bytes(&params, &kept).unwrap();
        assert_eq!(kept, more);
        let refused = server.publish_integers(&kept);
        let unreduced =
            refusal(&refused).is(&ErrorKind::Noise, "of these integers is not that of reduced");
        assert!(unreduced, "{refused:?}");
        let wanted: Vec<usize> = x.iter().map(|k| (3 * k + 1) % 256).collect();
        // A constant takes fewer levels than another table: not even that shows.
        let results = [on.table(&kept, |k| k).unwrap(), on.table(&kept, |_| 77).unwrap()];
        assert_ne!(results[0].values().inner().level(), results[1].values().inner().level());
        let published = results.map(|y| server.publish_integers(&y).unwrap());
        let metas = published.each_ref().map(|y| *y.as_ref().values().inner().meta());
        assert_eq!(metas[0], metas[1]);
        let levels = published.each_ref().map(|y| y.as_ref().values().inner().level());
        assert_eq!(levels, [1, 1]);
        assert_eq!(published[0].statement().log2_failure, -128.0);
        let answer = format::to_bytes(&params, &published[0]).unwrap();
        let answer: Published<IntVec> = format::from_bytes(&params, &answer).unwrap();
        assert_eq!(client.decrypt_integers(&answer).unwrap(), wanted);
        // Neither its level nor the noise that it declares are those of an input: it is for the
        // owner.
        let again = answer.into_inner();
        let refused = on.table(&again, |k| k);
        assert!(
            matches!(
                &refused,
                Err(e) if matches!(e.kind(), ckks::ErrorKind::OutOfLevels { .. })
            ),
            "{refused:?}"
        );
        assert_eq!(client.decrypt_integers(&again).unwrap(), wanted);
        // The last of several digits, whose scale is another one.
        let digits = on.digits(&fresh, 16).unwrap();
        for (digit, base) in digits.iter().zip([1, 16]) {
            let digit = server.publish_integers(digit).unwrap();
            let wanted: Vec<usize> = x.iter().map(|k| k / base % 16).collect();
            assert_eq!(client.decrypt_integers(&digit).unwrap(), wanted);
        }
    }
    // What is not published is not taken for it.
    let whole = client.encrypt(&[1], Modulo(256)).unwrap();
    let refused = client.encrypt(&[4], Modulo(4)).map(|_| ()).unwrap_err();
    assert_eq!(refused.op(), "encrypt");
    let bytes = format::to_bytes(&params, &whole).unwrap();
    assert!(format::from_bytes::<Published<IntVec>>(&params, &bytes).is_err());
}

#[test]
fn paired_vectors_travel_and_are_published() {
    let params = params_of(Preset::Insecure(Toy::Smooth));
    let client = ClientKey::generate(&params).unwrap();
    let server =
        Evaluator::new(client.evaluation_keys(&Needs::new().functional()).unwrap()).unwrap();
    let functional = params.functional().unwrap();
    let sigmoid = functional
        .real_function(&Function::from(Known::Sigmoid), -8.0, 8.0, Accuracy::bits(25.0))
        .unwrap();
    for count in [1000, 300] {
        let x: Vec<f64> = (0..count).map(|i| 16.0 * i as f64 / count as f64 - 8.0).collect();
        let sent = client.encrypt_seeded(&x, Paired(-8.0..=8.0)).unwrap();
        let sent = format::to_bytes(&params, &sent).unwrap();
        let fresh: SeededPairedVec = format::from_bytes(&params, &sent).unwrap();
        let fresh = fresh.expand(params.ckks()).unwrap();
        let y = server.functions_of(&fresh, &[&sigmoid]).unwrap().remove(0);
        let kept = format::to_bytes(&params, &y).unwrap();
        assert_eq!(format::from_bytes::<PairedVec>(&params, &kept).unwrap(), y);
        // The levels stay, for another function of the result.
        let (level, scale) = (y.inner().level(), y.inner().meta().scale);
        let declared = Declaration::from(-0.5..=1.5).with_noise(2e-6);
        let declared = declared.with_level(level).with_scale(scale);
        let answer = server.publish_paired(&y, declared).unwrap();
        assert!(server.publish_paired(&y, 0.25..=0.75).is_err());
        let answer = format::to_bytes(&params, &answer).unwrap();
        let answer: Published<PairedVec> = format::from_bytes(&params, &answer).unwrap();
        let range = answer.as_ref().range();
        assert_eq!((range.lo(), range.hi(), answer.log2_noise()), (-0.5, 1.5, -18));
        let found = client.decrypt_paired(&answer).unwrap();
        assert_eq!(found.len(), count);
        assert!(found.iter().zip(&x).all(|(y, x)| (y - 1.0 / (1.0 + (-x).exp())).abs() < 1e-4));
        // Published vectors are inputs again.
        let wide = functional
            .real_function(&Function::from(Known::Sigmoid), -2.0, 2.0, Accuracy::bits(20.0))
            .unwrap();
        assert!(server.functions_of(answer.as_ref(), &[&wide]).is_ok());
    }
}

#[test]
fn functional_bootstraps_report_and_can_be_cancelled() {
    let params = params_of(Preset::Insecure(Toy::Tables));
    let client = ClientKey::generate(&params).unwrap();
    let keys = client.evaluation_keys(&Needs::new().functional()).unwrap();
    let x = client.encrypt(&[1, 2, 3], Modulo(4)).unwrap();
    let told = Arc::new(Mutex::new(vec![]));
    let heard = told.clone();
    let server = Evaluator::new(keys).unwrap().with_progress(move |progress| {
        let mut told = heard.lock().unwrap();
        told.push((progress.stage, progress.done, progress.total));
        match told.len() == 7 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let table = |server: &Evaluator| -> bellerophon::Result<IntVec> {
        server.integers().table(&x, |k| 3 - k)
    };
    assert_eq!(client.decrypt_integers(&table(&server).unwrap()).unwrap(), [2, 1, 0]);
    let all = [
        (Stage::SlotsToCoefficients, 1, 1),
        (Stage::Raise, 1, 1),
        (Stage::CoefficientsToSlots, 1, 1),
        (Stage::Exponential, 1, 1),
        (Stage::Functions, 1, 1),
    ];
    assert_eq!(*told.lock().unwrap(), all);
    let stopped = table(&server);
    assert!(matches!(refusal(&stopped).kind(), ErrorKind::Cancelled { .. }), "{stopped:?}");
}

/// Integers as LWE values through a table, and back as integers through a table of the vector, with
/// one set of keys for both. The error of an LWE value is far larger than that of a slot, so the
/// test takes few integers and a stated failure probability.
#[test]
fn integers_become_single_values_and_come_back() {
    let spec = Preset::Insecure(Toy::Tables).spec().unwrap();
    let ParamsSpec { lookup, ring_bridge, .. } = Preset::Insecure(Toy::Functions).spec().unwrap();
    let ring_modulus = spec.slots.lattice.q[0];
    let functional = FbtSpec { log2_failure: -8.0, ..spec.functional.clone().unwrap() };
    let spec = ParamsSpec {
        lookup: lookup.map(|lookup| lwe::ParamsSpec { ring_modulus, ..lookup }),
        ring_bridge,
        functional: Some(functional),
        ..spec
    };
    let client = ClientKey::generate(&Params::new(spec).unwrap()).unwrap();
    let needs = Needs::new().functional().map();
    let server = Evaluator::new(client.evaluation_keys(&needs).unwrap()).unwrap();
    let on = server.integers();
    let x = integers(12, 3);
    let y = on.table(&client.encrypt(&x, Modulo(3)).unwrap(), |k| (k + 1) % 3).unwrap();
    // Out of the vector, through a table of single values, and back.
    let reals = on.to_reals(&y).unwrap().remove(0);
    let values = server.extract(&reals, -0.5..=2.5).unwrap();
    let room = lwe::OutputEncoding::Fit(lwe::Headroom { terms: 2, levels: 0 });
    let tables = server.tables().unwrap();
    let turned = tables.map(&values, |v| 2.0 - v, room).unwrap();
    let packed = server.pack(&turned).unwrap();
    let back = on.from_reals(&packed, 3).unwrap();
    let z = on.table(&back, |k| 2 * k % 3).unwrap();
    let wanted: Vec<usize> = x.iter().map(|k| 2 * (2 - (k + 1) % 3) % 3).collect();
    assert_eq!(client.decrypt_integers(&z).unwrap(), wanted);
}

/// At full size the simulator takes a fresh vector through a table of as many entries as the set is
/// for, and through another one of its results but for the largest.
#[cfg(feature = "long-tests")]
#[test]
fn full_size_sets_take_the_tables_that_they_are_for() {
    use bellerophon::circuits::{bootstrap::SimulatorExt, fbt::*};
    use ckks::{Params, simulator::Simulator};
    for (entries, scale, levels, special, again) in [
        (2, 42, 4, (50, 10), true),
        (16, 42, 3, (50, 11), true),
        (256, 42, 3, (50, 9), true),
        (1024, 42, 1, (50, 9), true),
        (4096, 40, 3, (50, 7), false),
        (65536, 42, 1, (51, 4), false),
    ] {
        let spec = FbtSpec { encode_ahead: false, ..FbtSpec::table(1 << 15, entries).unwrap() };
        let set = spec.full_size(scale, levels, special).unwrap();
        let params = Params::new(set).unwrap();
        let bootstrapper = FunctionalBootstrapper::new(&params, spec).unwrap();
        let level = bootstrapper.input_level();
        let simulator = Simulator::new(&params).with_functional(bootstrapper).unwrap();
        let x = simulator.encrypt_integers(&vec![1; 1 << 16], entries, level).unwrap();
        let on = simulator.integers();
        let table = IntTable::new(entries, entries, |k| (k * k + 1) % entries).unwrap();
        let y = on.tables(&x, &[&table]).unwrap_or_else(|error| panic!("{entries}: {error}"));
        assert!(on.log2_failure(&y[0]) < -128.0, "{entries}: {}", on.log2_failure(&y[0]));
        let next = on.tables(&y[0], &[&table]);
        assert_eq!(next.is_ok(), again, "{entries}: {:?}", next.err());
    }
}

/// On the simulator, tables of every size and shape that the sets for small tables are for follow
/// each other: their failure probability does not grow. A table of 256 entries is refused.
#[cfg(feature = "long-tests")]
#[test]
fn small_tables_follow_each_other_without_end() {
    use bellerophon::Dense;
    use bellerophon::circuits::{bootstrap::SimulatorExt, fbt::*};
    use bellerophon::ckks::simulator::Simulator;
    for (bits, preset) in [1, 4]
        .into_iter()
        .flat_map(|n| [(n, Preset::SmallTables(n)), (n, Preset::Dense(Dense::SmallTables(n)))])
    {
        let params = params_of(preset);
        let functional = params.functional().unwrap();
        let simulator = Simulator::new(params.ckks()).with_functional(functional.clone()).unwrap();
        let on = simulator.integers();
        for p in 2..=1usize << bits {
            let shapes: [fn(usize, usize) -> usize; 3] = [
                |k, p| k % 2 * (p - 1),
                |k, p| if 2 * k < p { 0 } else { p - 1 },
                |k, p| if k == p / 3 { p - 1 } else { 0 },
            ];
            for shape in shapes {
                let table = IntTable::new(p, p, |k| shape(k, p)).unwrap();
                let level = functional.input_level();
                let mut x = simulator.encrypt_integers(&vec![1; 1 << 15], p, level).unwrap();
                let mut failures = vec![];
                for _ in 0..24 {
                    x = on.tables(&x, &[&table]).unwrap_or_else(|e| panic!("{p}: {e}")).remove(0);
                    failures.push(on.log2_failure(&x));
                }
                let [before, last] = [failures[22], failures[23]];
                assert!(last < -128.0 && (last / before - 1.0).abs() < 1e-3, "{p}: {failures:?}");
            }
        }
        let larger = IntTable::new(256, 256, |k| k).unwrap();
        let x = simulator.encrypt_integers(&[1], 256, params.levels()).unwrap();
        let refused = on.tables(&x, &[&larger]).unwrap_err().to_string();
        assert!(refused.contains("fewer entries"), "{refused}");
    }
}
