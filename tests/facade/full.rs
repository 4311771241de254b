//! `Preset::Full` and its toy twin: every operation from one key set, and loops without end.

use bellerophon::circuits::approx::Known;
use bellerophon::{Engine, EvaluationKeys, prelude::*};

use crate::common::{Party, errors, params_of, party, spread};

fn everything() -> Needs {
    Needs::new().multiply().map().bootstrap().functional()
}

fn sigmoid<'f>() -> MapRequest<'f> {
    MapRequest::of(Known::Sigmoid).over(-8.0..=8.0).error(Accuracy::bits(18.0))
}

/// A set with both: functional bootstraps take no keys of their own, and reach 18 bits.
pub fn functional_bootstraps_take_no_keys(params: &Params) {
    let without = Needs::new().multiply().map().bootstrap();
    let bytes = |needs: &Needs| params.evaluation_key_bytes(needs).unwrap();
    assert_eq!(bytes(&without), bytes(&everything()));
    let plan = params.map_plan(&sigmoid()).unwrap();
    let row = plan.rows.iter().find(|row| row.engine == Engine::Fbt).unwrap();
    let prediction = row.prediction.as_ref().unwrap();
    assert!(row.refusal.is_none() && prediction.log2_error < -18.0, "{plan}");
    assert!(prediction.output_level >= 9 && prediction.levels == 2, "{plan}");
}

/// Functional bootstraps take the keys of bootstraps: they cost no bytes in a set with both, and
/// travel once.
#[test]
fn functional_bootstraps_take_the_keys_of_bootstraps() {
    let without = Needs::new().multiply().map().bootstrap();
    functional_bootstraps_take_no_keys(&params_of(Preset::Insecure(Toy::Full)));
    let client = ClientKey::generate(&params_of(Preset::Insecure(Toy::Full))).unwrap();
    let stored = |needs: &Needs| {
        let (mut bytes, keys) = (vec![], client.evaluation_keys(needs).unwrap());
        keys.write_to(&mut bytes).unwrap();
        assert_eq!(keys.byte_len(), client.params().evaluation_key_bytes(needs).unwrap());
        bytes
    };
    let (short, long) = (stored(&without), stored(&everything()));
    assert!(long.len() > short.len() && long.len() - short.len() < 64);
    // Keys that were read serve both kinds; a set that does not list one does not have it.
    let x = client.encrypt(&[0.5, -0.25], -1.0..=1.0).unwrap();
    let k = client.encrypt(&[1, 2], Modulo(4)).unwrap();
    for (bytes, functional) in [(short, false), (long, true)] {
        let limit = bytes.len() as u64;
        let keys = EvaluationKeys::read_from(client.params(), &mut &bytes[..], limit).unwrap();
        let server = Evaluator::new(keys).unwrap();
        assert!(server.bootstrap(&x).is_ok());
        let table = server.integers().table(&k, |k| 3 - k);
        assert_eq!(table.is_ok(), functional);
        if let Ok(table) = table {
            assert_eq!(client.decrypt_integers(&table).unwrap(), [2, 1]);
        }
    }
}

/// Functions of the whole vector, products, look-ups and bootstraps in turns, as long as one likes.
#[test]
fn all_engines_and_bootstraps_take_turns_without_end() {
    let Party { client, server } = party(Preset::Insecure(Toy::Full), &everything(), 91);
    let server = server.with_auto_bootstrap().unwrap();
    let mut clear = spread(200, -1.0, 1.0);
    let mut x = client.encrypt(&clear, -1.0..=1.0).unwrap();
    for round in 0..4 {
        // A function of the whole vector.
        let wave = |x: f64| (2.0 * x).sin();
        let request = MapRequest::new(wave)
            .over(-1.0..=1.0)
            .error(Accuracy::bits(13.0))
            .engines([Engine::Fbt]);
        let y = server.map_with(&x, &request).unwrap();
        let exact: Vec<f64> = client.decrypt(&x).unwrap().iter().map(|v| (2.0 * v).sin()).collect();
        let (_, largest) = errors(&client.decrypt(&y).unwrap(), exact.into_iter());
        assert!(largest < 2f64.powi(-13), "round {round}: {largest:e}");
        assert!(y.level() >= 8);
        clear.iter_mut().for_each(|v| *v = (2.0 * *v).sin());
        // Products until the levels are used up and further.
        let mut y = server.assume_range(&y, -1.0..=1.0).unwrap();
        for _ in 0..9 {
            y = server.mul_scalar(&y, 0.96).unwrap();
            clear.iter_mut().for_each(|v| *v *= 0.96);
        }
        x = server.bootstrap(&y).unwrap();
        assert_eq!(x.level(), client.params().levels());
        // The predicted error that counts against the range starts anew, so the loop has no end.
        x = server.assume_range(&x, -1.0..=1.0).unwrap();
        // The next round counts its error against the values as they are.
        x = server.assume_noise(x, 2f64.powi(-21)).unwrap();
    }
    let (_, largest) = errors(&client.decrypt(&x).unwrap(), clear.iter().copied());
    // Each round doubles the error and adds at most the requested one.
    assert!(largest < 15.0 * 2f64.powi(-13), "{largest:e}");
    // A look-up of each value, in the same loop.
    let y = server.map_with(&x, &MapRequest::new(f64::abs).engines([Engine::Rgsw])).unwrap();
    let (_, largest) = errors(&client.decrypt(&y).unwrap(), clear.iter().map(|v| v.abs()));
    assert!(largest < 0.3 && y.level() == client.params().levels(), "{largest}");
}

/// Tables of 256 entries follow each other, on both parts of the slots.
#[test]
fn exact_tables_follow_each_other() {
    let Party { client, server } = party(Preset::Insecure(Toy::Full), &everything(), 92);
    let mut clear: Vec<usize> = (0..2 * client.params().slots()).map(|i| i * 77 % 256).collect();
    let mut x = client.encrypt(&clear, Modulo(256)).unwrap();
    for _ in 0..3 {
        x = server.integers().table(&x, |k| (k * k + 3 * k + 1) % 256).unwrap();
        clear.iter_mut().for_each(|k| *k = (*k * *k + 3 * *k + 1) % 256);
        assert_eq!(client.decrypt_integers(&x).unwrap(), clear);
    }
}
