//! What the documentation says of the sets of full size. Building them all takes longer than the
//! tests themselves.

use crate::common::{Party, law, params_of, party, relu, sigmoid, small_program};
use crate::{full, presets};
use bellerophon::{
    Bridge, Dense, Engine, ErrorKind, Flooding, OrderFunction,
    ckks::{self, CkksOps, Interval, simulator::Simulator},
    mlwe::{
        RankHoistedKeys, SecretKind,
        security::{self, Model},
    },
    prelude::*,
    ring::Backend,
};
use bellerophon_circuits::bootstrap::SimulatorExt;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

#[test]
fn presets_reach_what_they_state() {
    presets::are_what_they_state(&Preset::ALL);
    assert!(params_of(Preset::Functions).slots() >= 1 << 13);
}

/// The figures in the documentation of [`Preset`].
#[test]
fn predicted_accuracy_and_key_sizes_are_as_documented() {
    for (preset, bits) in [
        (Preset::Functions, [10.3, 9.2, 7.3]),
        (Preset::FunctionsFine, [11.2, 10.1, 8.2]),
        (Preset::Full, [10.3, 9.2, 7.2]),
        (Preset::Dense(Dense::Functions), [9.3, 8.3, 6.3]),
        (Preset::Dense(Dense::FunctionsFine), [10.3, 9.3, 7.3]),
        (Preset::Dense(Dense::FunctionsPrecise), [11.2, 10.1, 8.2]),
    ] {
        let params = params_of(preset);
        for (f, bits) in [sigmoid, f64::tanh, relu].into_iter().zip(bits) {
            let law = law(&params, &MapRequest::new(f).over(-8.0..=8.0));
            assert!((law.mean_bits() - bits).abs() < 0.1, "{params}: {}", law.mean_bits());
        }
    }
    let precise = params_of(Preset::FunctionsPrecise);
    for f in [f64::tanh, relu] {
        let law = law(&precise, &MapRequest::new(f).over(-8.0..=8.0));
        assert!(law.max_abs(1024) < 2f64.powf(-5.5), "2^{}", law.max_abs(1024).log2());
    }
    let bytes = |preset, bridge: Option<Bridge>, engine| {
        let needs =
            bridge.into_iter().fold(Needs::new().multiply().map_with([engine]), Needs::bridge);
        params_of(preset).evaluation_key_bytes(&needs).unwrap() / 1_000_000
    };
    let sizes = [
        bytes(Preset::Functions, None, Engine::Rgsw),
        bytes(Preset::Functions, Some(Bridge::Linear), Engine::Rgsw),
        bytes(Preset::Functions, None, Engine::Ntru),
        bytes(Preset::Functions, Some(Bridge::Linear), Engine::Ntru),
        bytes(Preset::FunctionsPrecise, None, Engine::Rgsw),
    ];
    assert_eq!(sizes, [574, 460, 478, 363, 1144]);
    let full = params_of(Preset::Full);
    let needs = Needs::new().multiply().map().bootstrap().functional();
    assert_eq!(full.evaluation_key_bytes(&needs).unwrap() / 1_000_000, 1565);
    assert!(
        full.evaluation_key_bytes(&needs.map_with([Engine::Corrected])).unwrap() < 1_666_000_000
    );
}

/// The defaults rest on LWE alone. NTRU is faster, no less precise, and secure by the estimate of
/// the dense sublattice attack.
#[test]
fn the_default_engine_rests_on_lwe_alone() {
    for preset in Preset::ALL {
        let params = params_of(preset);
        let Ok(lookups) = params.lookups() else { continue };
        for lattice in [lookups.on(Engine::Rgsw), lookups.on(Engine::Corrected)] {
            assert!(lattice.unwrap().rgsw().is_some(), "{params}");
        }
    }
    assert!(!Engine::DEFAULT.contains(&Engine::Ntru));
    let dense = [Preset::Dense(Dense::Functions), Preset::Dense(Dense::FunctionsFine)];
    for preset in [Preset::Functions, Preset::FunctionsFine].into_iter().chain(dense) {
        let params = params_of(preset);
        let lookups = params.lookups().unwrap();
        let [rgsw, ntru] = [Engine::Rgsw, Engine::Ntru].map(|e| lookups.on(e).unwrap());
        assert!(ntru.transforms() < 0.51 * rgsw.transforms());
        assert!(ntru.security_bits() >= 128.0 && rgsw.security_bits() >= 128.0);
        for f in [sigmoid, f64::tanh, relu] {
            let bits = |engine| {
                law(&params, &MapRequest::new(f).over(-8.0..=8.0).engines([engine])).mean_bits()
            };
            assert!(bits(Engine::Ntru) >= bits(Engine::Rgsw));
        }
    }
}

/// Keys at the temporary rank of rotations by any step count, and are no weaker than what a set
/// says.
#[test]
fn temporary_ranks_of_presets_are_counted() {
    for preset in Preset::ALL {
        let params = params_of(preset);
        let slots = params.ckks();
        assert!(params.security_bits() <= slots.security_bits());
        // A sparse secret of degree 2^16, and a dense one that fills its table, have no room above.
        let limbs = slots.limbs_at(params.levels());
        match RankHoistedKeys::choose(slots.lattice(), limbs) {
            Ok(raised) => assert!(raised.security_bits() >= params.security_bits(), "{params}"),
            Err(refused) => {
                let sparse = [Preset::Bootstrapping, Preset::Full].contains(&preset)
                    || params.functional().is_ok();
                assert!(sparse && params.ckks().lattice().spec().degree == 1 << 16, "{refused}");
            }
        }
    }
}

/// The figures in the documentation of [`Preset::Bootstrapping`].
#[test]
fn bootstrapping_has_documented_levels_and_key_sizes() {
    let params = params_of(Preset::Bootstrapping);
    let bootstrapper = params.bootstrapper().unwrap();
    assert_eq!((params.slots(), bootstrapper.levels()), (1 << 15, 11));
    assert_eq!((params.log2_failure(), bootstrapper.spec().bound), (-60.0, 1.0));
    let keys = bootstrapper.keys().multiply(params.levels());
    let sizes = keys.sizes(params.ckks()).unwrap();
    let memory = sizes.memory + bootstrapper.own_key_sizes().memory;
    let needs = Needs::new().multiply().bootstrap();
    let transit = params.evaluation_key_bytes(&needs).unwrap();
    assert_eq!(transit, sizes.transit + bootstrapper.own_key_sizes().transit);
    let beyond = ckks::KeyLevels::default().multiply(99);
    assert!(params.evaluation_key_bytes(&Needs::new().keys(&beyond)).is_err());
    let is_about = |bytes: usize, documented: f64| (bytes as f64 / documented - 1.0).abs() < 0.03;
    assert!(is_about(transit, 0.95e9), "{transit}");
    let backend = params.ckks().lattice().q().table(0).backend();
    let words =
        matches!(backend, Backend::Scalar | Backend::Neon | Backend::Avx2 | Backend::Avx512);
    let documented = if words { 2.80e9 } else { 2.08e9 };
    assert!(is_about(memory, documented), "{memory} with {backend:?}");
}

/// The figures in docs/security/parameters.md.
#[test]
fn bootstrapping_has_documented_secrets_and_moduli() {
    let bound = |secret| security::max_log2_modulus(1 << 16, secret, Model::Bits128).unwrap();
    for (preset, slots, degree) in [
        (Preset::Bootstrapping, 1024, 1 << 16),
        (Preset::Insecure(Toy::Bootstrapping), 64, 1 << 10),
    ] {
        let params = params_of(preset);
        let (lattice, raising) = (params.ckks().lattice(), params.bootstrapper().unwrap());
        assert_eq!(
            (lattice.spec().degree, lattice.spec().secret),
            (degree, SecretKind::Sparse(slots))
        );
        assert_eq!(raising.spec().weight, 32);
    }
    let params = params_of(Preset::Bootstrapping);
    let lattice = params.ckks().lattice();
    assert_eq!(lattice.log2_modulus().round(), 1675.0);
    assert_eq!(bound(SecretKind::Sparse(1024)), 1679.0);
    assert_eq!(bound(SecretKind::Sparse(32)), 344.0);
    assert_eq!(bound(SecretKind::Ternary), 1747.0);
    let chosen = Params::choose(&small_program()).unwrap();
    assert_eq!(chosen.ckks().lattice().spec().secret, SecretKind::Ternary);
}

/// What the dense secret of the twin costs, and what it gives.
#[test]
fn dense_twin_bootstraps_less_precisely_less_often() {
    let bits = |preset: Preset| {
        let params = params_of(preset);
        let bootstrapper = params.bootstrapper().unwrap();
        let simulator = Simulator::new(params.ckks());
        let unit = Interval::real(-1.0, 1.0).unwrap();
        let x = simulator.encrypt(&[1.0, -1.0], unit, bootstrapper.input_level()).unwrap();
        let refreshed =
            bootstrapper.bootstrapped(simulator.repeated(x, params.slots()).unwrap().metadata());
        let bits = refreshed.unwrap().estimate(params.ckks(), -20.0).bits();
        (bootstrapper.levels(), params.ckks().lattice().spec().secret, bits)
    };
    let (levels, secret, sparse) = bits(Preset::Bootstrapping);
    assert_eq!((levels, secret), (11, SecretKind::Sparse(1024)));
    let (levels, secret, dense) = bits(Preset::Dense(Dense::Bootstrapping));
    assert_eq!((levels, secret), (12, SecretKind::Ternary));
    assert!((sparse - dense - 2.7).abs() < 0.3, "{sparse} against {dense}");
}

/// The sets that bootstrap, at full size, as simulators. None makes a key.
fn bootstrapping_sets() -> impl Iterator<Item = (Params, Simulator)> {
    let sets = Preset::ALL.map(params_of).into_iter();
    sets.filter_map(|params| {
        let bootstrapper = params.bootstrapper().ok()?.clone();
        let simulator = Simulator::new(params.ckks()).with_bootstrapping(bootstrapper).unwrap();
        Some((params, simulator))
    })
}

/// Few values of every small range pass through a bootstrap.
#[test]
fn bootstraps_of_every_set_take_small_values() {
    let (small, tiny) = (2f64.powi(-34), 2f64.powi(-60));
    let mut sets = 0;
    for (params, simulator) in bootstrapping_sets() {
        let level = params.bootstrapper().unwrap().input_level();
        for len in [1, 3, 64] {
            for (lo, hi) in [(-small, small), (-tiny, tiny), (0.0, 1e-12)] {
                let range = Interval::real(lo, hi).unwrap();
                let x = simulator.encrypt(&vec![0.0; len], range, level).unwrap();
                let refreshed = simulator.bootstrap(&x);
                assert!(refreshed.is_ok(), "{params}, {len} of [{lo:e}, {hi:e}]: {refreshed:?}");
            }
        }
        sets += 1;
    }
    assert!(sets >= 4, "{sets}");
}

/// An iteration that converges to zero, and a loop that keeps its range.
#[test]
fn loops_of_any_length_run_at_full_size() {
    let params = params_of(Preset::Bootstrapping);
    let bootstrapper = params.bootstrapper().unwrap().clone();
    let simulator = Simulator::new(params.ckks()).with_bootstrapping(bootstrapper).unwrap();
    let simulator = simulator.with_auto_bootstrap().unwrap();
    let start = |values: &[f64], reach: f64| {
        simulator.encrypt(values, Interval::real(-reach, reach).unwrap(), params.levels()).unwrap()
    };
    let x = start(&[0.5, -0.5, 0.5], 0.5);
    let mut y = x.clone();
    for i in 0..61 {
        y = simulator.mul(&y, &x).unwrap_or_else(|e| panic!("product {i}: {e}"));
    }
    assert!(y.metadata().meta.bounds.values.bound() <= 2f64.powi(-61));
    let (x, unit) = (start(&[1.0, -1.0, 0.999], 1.0), Interval::real(-1.0, 1.0).unwrap());
    let mut y = x.clone();
    for i in 0..500 {
        let product = simulator.mul(&y, &x).unwrap_or_else(|e| panic!("product {i}: {e}"));
        y = simulator.keep_within(&product, -1.0..=1.0).unwrap();
    }
    assert_eq!(y.metadata().meta.bounds.values, unit);
    assert!(simulator.report().bootstraps > 40);
}

/// Rotations by every step take a larger rank, for which the largest rings leave no room: what the
/// presets say of that before keys are made.
#[test]
fn presets_serve_or_refuse_rotations_by_every_step() {
    let mut refused = vec![];
    for preset in Preset::ALL {
        let params = params_of(preset);
        match params.evaluation_key_bytes(&Needs::new().rotate_any()) {
            Ok(bytes) => assert!(bytes > 0),
            Err(error) => {
                assert!(
                    error.is(&ErrorKind::Unsupported, "' cannot serve `Needs::rotate_any`"),
                    "{error}"
                );
                refused.push(preset);
            }
        }
    }
    let tables = [
        Preset::Tables(1),
        Preset::Tables(4),
        Preset::Tables(8),
        Preset::Tables(12),
        Preset::Tables(16),
    ];
    let functional = tables.into_iter().chain([Preset::Smooth]);
    let expected: Vec<Preset> =
        [Preset::Bootstrapping, Preset::Full].into_iter().chain(functional).collect();
    assert_eq!(refused, expected);
}

/// What the toy twin refuses, it refuses with the words of the real set.
#[test]
fn the_toy_twin_refuses_as_the_real_set_does() {
    let messages = [Preset::Full, Preset::Insecure(Toy::Full)].map(|preset| {
        let Party { client, server } = party(preset, &Needs::new(), 93);
        let x = client.encrypt(&[0.5, 0.25], -1.0..=1.0).unwrap();
        let low = server.drop_to_level(&x, 1).unwrap();
        let k = client.encrypt(&[1, 2], Modulo(4)).unwrap();
        let refused = [
            server.map(&x, f64::abs).map(drop).unwrap_err().to_string(),
            server.bootstrap(&x).map(drop).unwrap_err().to_string(),
            server.bootstrap(&low).map(drop).unwrap_err().to_string(),
            server.clone().with_auto_bootstrap().map(drop).unwrap_err().to_string(),
            server.mul(&x, &x).map(drop).unwrap_err().to_string(),
            server.rotate(&x, 1).map(drop).unwrap_err().to_string(),
            server.sum_slots(&x).map(drop).unwrap_err().to_string(),
            server.conjugate(&x).map(drop).unwrap_err().to_string(),
            server.tables().map(drop).unwrap_err().to_string(),
            server.integers().table(&k, |k| 3 - k).unwrap_err().to_string(),
            client.encrypt(&[2.0], -1.0..=1.0).map(drop).unwrap_err().to_string(),
            client.encrypt(&[4], Modulo(4)).map(drop).unwrap_err().to_string(),
        ];
        refused.map(|message| message.replace("toy-full", "full"))
    });
    let [real, toy] = &messages;
    assert_eq!(real, toy);
}

/// Keys of bootstraps include rotations, which serve the program's own, at real sets as at toys.
#[test]
fn rotations_of_bootstraps_serve_programs_alike() {
    for preset in [
        Preset::Bootstrapping,
        Preset::Dense(Dense::Bootstrapping),
        Preset::Full,
        Preset::Insecure(Toy::Bootstrapping),
        Preset::Insecure(Toy::Full),
    ] {
        let params = params_of(preset);
        let keys = params.bootstrapper().unwrap().keys();
        let high: Vec<i64> = keys
            .rotations
            .into_iter()
            .filter(|&(_, level)| level >= params.levels())
            .map(|(step, _)| step)
            .collect();
        // A step by one key, or by two.
        let served = |step: i64| {
            high.contains(&step) || high.iter().any(|first| high.contains(&(step - first)))
        };
        assert!((1..=4).all(|step| high.contains(&step)), "{params}: {high:?}");
        assert!((5..=7).all(served), "{params}: {high:?}");
    }
}

/// More comparators, a wider domain and smaller tables are less precise.
#[test]
fn predictions_are_in_the_order_that_they_must_be() {
    use OrderFunction::{Largest, Max, MaxPool, Sort};
    let params = params_of(Preset::Functions);
    let of = |domain, function| params.order_accuracy(domain, function).unwrap();
    let max = of(0.0..=1.0, Max { vectors: 2 });
    let (few, all) =
        (of(0.0..=1.0, Largest { values: 64, count: 5 }), of(0.0..=1.0, Sort { values: 64 }));
    assert!(max.rms < few.rms && max.rms < all.rms);
    assert_eq!((max.comparators, all.comparators), (1, 21));
    assert!((4..=21).contains(&few.comparators));
    assert_eq!(of(0.0..=1.0, MaxPool { window: 4 }).comparators, 4);
    let wide = of(0.0..=8.0, Max { vectors: 2 });
    assert!((6.0..10.0).contains(&(wide.rms / max.rms)));
    let fine = params_of(Preset::FunctionsFine);
    assert!(fine.order_accuracy(0.0..=1.0, Max { vectors: 2 }).unwrap().rms < 0.7 * max.rms);
    // A single vector, or a single value, has no comparator, and still an error.
    let none = of(0.0..=1.0, Max { vectors: 1 });
    assert!(none.comparators == 0 && none.rms > 0.0 && none.rms < max.rms);
}

/// What docs/security/sharing.md says of a product of two fresh vectors with values up to 1.
#[test]
fn what_sharing_leaves_of_a_product_at_full_size() {
    let params = params_of(Preset::Functions);
    let simulator = Simulator::new(params.ckks()).worst_case();
    for (count, expected) in [(1 << 14, 3.1), (16, 8.3)] {
        let fresh = || {
            simulator
                .encrypt(&vec![0.0; count], Interval::real(-1.0, 1.0).unwrap(), params.levels())
                .unwrap()
        };
        let [x, y] = [fresh(), fresh()];
        let bound = simulator.noise_bound(&simulator.mul(&x, &y).unwrap()).unwrap();
        let terms = Flooding::new(1, 30.0).unwrap();
        let bits = -ckks::noise_flooding::Predicted::new(&bound, &terms).worst(-20.0).log2();
        assert!((bits - expected).abs() < 0.1, "{count}: {bits}");
    }
}

/// Functional bootstraps take the keys of bootstraps in the set with both, and reach 18 bits.
#[test]
fn functional_bootstraps_of_the_full_set_cost_no_keys() {
    full::functional_bootstraps_take_no_keys(&params_of(Preset::Full));
}

#[test]
fn a_set_without_ntru_tables_names_the_engine() {
    let precise = params_of(Preset::FunctionsPrecise);
    let needs = Needs::new().map_with([Engine::Ntru]);
    let refused = precise.evaluation_key_bytes(&needs).unwrap_err();
    assert!(
        refused.is(&ErrorKind::Unsupported, "the parameters have no engine ntru: NTRU"),
        "{refused}"
    );
}

/// Slots of rare multiples of the modulus have a larger error; with few values each copy of a slot
/// counts.
#[test]
fn bootstraps_of_few_values_have_the_stated_noise() {
    let Party { client, server } =
        party(Preset::Bootstrapping, &Needs::new().multiply().bootstrap(), 44);
    let mut rng = ChaCha20Rng::seed_from_u64(45);
    for (len, draws) in [(1, 8), (16, 2), (128, 1)] {
        let values: Vec<f64> = (0..len).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let (mut squares, mut noise, mut worst): (f64, f64, f64) = (0.0, 0.0, 0.0);
        for _ in 0..draws {
            let x = client.encrypt_with(&values, -1.0..=1.0, client.params().levels(), &mut rng);
            let y = server.bootstrap(&x.unwrap()).unwrap();
            for (found, exact) in client.decrypt(&y).unwrap().iter().zip(&values) {
                squares += (found - exact).powi(2);
                worst = worst.max((found - exact).abs());
            }
            noise = y.metadata().noise();
            assert!(worst <= y.metadata().worst(-20.0), "{len}: {worst:e}");
            let declared = Declaration::from(-1.0..=1.0).with_noise(noise);
            let published = server.publish(&y, declared);
            published.unwrap_or_else(|e| panic!("{len}: {e}"));
        }
        let rms = (squares / (draws * len) as f64).sqrt();
        println!("{len} values: {rms:e} measured, {noise:e} stated, {worst:e} at most");
        assert!(rms <= 1.5 * noise, "{len}: {rms:e}, {noise:e}");
        assert!(len < 128 || noise <= 4.0 * rms, "{len}: {rms:e}, {noise:e}");
    }
}
