//! Keys by what a program does: sums and statistics without a rotation spelled.

use bellerophon::{
    Bridge, Engine, ErrorKind, circuits::statistics::DataTable, ckks::KeyLevels, prelude::*,
};

use crate::common::{Party, cases, encrypt, errors, params_of, spread};
use crate::parts::{Parts, serve};

/// One request serves vectors of every length up to the stated one.
#[test]
fn sums_take_vectors_of_every_length() {
    let Party { client, server } =
        crate::common::party(Preset::Insecure(Toy::Functions), &Needs::new().sums(100), 61);
    for count in [1, 2, 3, 7, 8, 31, 64, 100, 128] {
        let values = spread(count, -1.0, 1.0);
        let x = encrypt(&client, &values, -1.0..=1.0);
        let sum: f64 = values.iter().sum();
        let found = client.decrypt(&server.sum_slots(&x).unwrap()).unwrap();
        assert!(errors(&found, std::iter::repeat_n(sum, count)).1 < 1e-3, "{count}: {found:?}");
        let copied = client.decrypt(&server.replicate_slot(&x, count - 1).unwrap()).unwrap();
        assert!(errors(&copied, std::iter::repeat_n(values[count - 1], count)).1 < 1e-3);
    }
}

/// All statistics, of fewer rows too, with the keys of one request.
#[test]
fn statistics_take_tables_of_fewer_rows() {
    let needs = Needs::new().statistics(50, 1).statistics(10, 3);
    let Party { client, server } =
        crate::common::party(Preset::Insecure(Toy::Functions), &needs, 62);
    for (rows, columns) in [(50, 1), (20, 1), (2, 1), (10, 3), (4, 3)] {
        let table = DataTable::new(rows, columns).unwrap();
        let all = spread(rows * columns, 0.0, 1.0);
        let rows: Vec<Vec<f64>> = all.chunks(columns).map(<[f64]>::to_vec).collect();
        let x = encrypt(&client, &table.pack(&rows).unwrap(), 0.0..=1.0);
        let means = client.decrypt(&table.means(&server, &x).unwrap()).unwrap();
        let variances = client.decrypt(&table.variances(&server, &x).unwrap()).unwrap();
        let covariances = table.covariance_matrix(&server, &x).unwrap();
        let diagonal = client.decrypt(&covariances[0]).unwrap();
        for c in 0..columns {
            let column: Vec<f64> = rows.iter().map(|row| row[c]).collect();
            let n = column.len() as f64;
            let mean = column.iter().sum::<f64>() / n;
            let variance = column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            assert!((means[c] - mean).abs() < 1e-3, "{columns}: {} {mean}", means[c]);
            for found in [variances[c], diagonal[c]] {
                assert!((found - variance).abs() < 1e-3, "{found} {variance}");
            }
        }
    }
}

/// The sizes are predicted, and what the parameters cannot hold is refused with the limit.
#[test]
fn requests_beyond_the_slots_are_refused() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let client = ClientKey::generate(&params).unwrap();
    let slots = params.slots();
    let needs = Needs::new().sums(slots).statistics(slots, 1);
    let bytes = params.evaluation_key_bytes(&needs).unwrap();
    assert_eq!(client.evaluation_keys(&needs).unwrap().byte_len(), bytes);
    let too_many = slots + 1;
    for (needs, words) in [
        (Needs::new().sums(0), ["Needs::sums", "from 1 to"]),
        (Needs::new().sums(too_many), ["Needs::sums", &slots.to_string()]),
        (Needs::new().statistics(too_many, 1), ["Needs::statistics", &slots.to_string()]),
        (Needs::new().statistics(slots / 2, 3), ["Needs::statistics", &slots.to_string()]),
        (Needs::new().statistics(0, 1), ["Needs::statistics", "at least one"]),
    ] {
        let message = client.evaluation_keys(&needs).unwrap_err().to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}

/// A named NTRU engine stays, in whatever order the engines are named.
#[test]
fn the_order_of_engines_does_not_matter() {
    let named = |engines: &[Engine]| Needs::new().map_with(engines.iter().copied());
    let ntru = named(&[Engine::Ntru]);
    assert_eq!(named(&[Engine::Rgsw, Engine::Ntru]), ntru);
    assert_eq!(named(&[Engine::Ntru, Engine::Rgsw]), ntru);
    assert_eq!(named(&[Engine::Rgsw]), Needs::new().map_with([Engine::Rgsw]));
    assert_ne!(named(&[Engine::Rgsw]), ntru);
}

/// Whatever one asks for: the keys are as large as foretold, and what they are for works.
#[test]
fn every_need_is_served_or_refused() {
    let parts = Parts { lookup: true, ring: Some(16), bootstrap: true, ..Parts::ARITHMETIC };
    let both = Params::new(parts.spec()).unwrap();
    let linear = Params::new(Parts { ring: None, ..parts }.spec()).unwrap();
    let plain = Params::new(Parts::ARITHMETIC.spec()).unwrap();
    let module = Params::new(Parts { rank: 2, ..Parts::ARITHMETIC }.spec()).unwrap();
    let needs = [
        ("multiply", Needs::new().multiply()),
        ("rotate", Needs::new().rotate([1, -3, 0, 5000])),
        ("rotate_any", Needs::new().rotate_any()),
        ("conjugate", Needs::new().conjugate()),
        ("map", Needs::new().map()),
        ("map over ring", Needs::new().map().bridge(Bridge::Ring)),
        ("map over linear", Needs::new().map().bridge(Bridge::Linear)),
        ("map on rgsw", Needs::new().map_with([Engine::Rgsw])),
        ("map on ntru", Needs::new().map_with([Engine::Ntru])),
        ("map corrected", Needs::new().map_with([Engine::Corrected])),
        (
            "map corrected over both",
            Needs::new().map_with([Engine::Corrected]).bridge(Bridge::Linear),
        ),
        ("refresh", Needs::new().bootstrap()),
        ("keys", Needs::new().keys(&KeyLevels::default().multiply(1).rotate([2], 1))),
    ];
    for params in cases([&linear, &plain, &module, &both], 3) {
        let (looks_up, refreshes) = (params.lookups().is_ok(), params.bootstrapper().is_ok());
        let ring = params.lookups().is_ok_and(|lookups| lookups.ring().is_some());
        for (name, needs) in &needs {
            let served = match *name {
                "map corrected" | "map corrected over both" | "map over ring" => ring,
                name if name.starts_with("map") => looks_up,
                "refresh" => refreshes,
                _ => true,
            };
            let what = format!("{name} of {}", params.name());
            if served {
                serve(params, name, needs);
                continue;
            }
            let client = ClientKey::generate(params).unwrap();
            let refused = client.evaluation_keys(needs).unwrap_err();
            let foretold = params.evaluation_key_bytes(needs).unwrap_err();
            assert_eq!(refused.message(), foretold.message(), "{what}");
            assert_eq!(*refused.kind(), ErrorKind::Unsupported, "{what}: {refused}");
        }
    }
}
