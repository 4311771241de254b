//! Parameter sets: what the presets reach, and what is refused.

use crate::common;

use crate::common::{law, params_of, refusal, relu, sigmoid};
use bellerophon::ckks::{CkksOps, Interval, simulator::Simulator};
use bellerophon::prelude::*;
use bellerophon::repack;
use bellerophon::{
    Bridge, Engine, ErrorKind, LutEngine, ParamsSpec, ProgramBounds,
    mlwe::{
        RankHoistedKeys, SecretKind, Security,
        security::{self, Model},
    },
    ring::Backend,
};

#[test]
fn presets_reach_what_they_state() {
    for preset in Preset::ALL {
        let params = Params::preset(preset).unwrap();
        let secure = params.security_bits() >= 128.0;
        assert_eq!(secure, !preset.name().starts_with("toy"), "{params}");
        assert!(params.log2_failure() <= -60.0, "{params}");
        // Room for arithmetic between two look-ups.
        if let Ok(lookups) = params.lookups() {
            assert!(lookups.level_after() >= lookups.levels() + 2, "{params}");
        }
        // And between two bootstraps, whose values leave the range of the reduction no more often
        // than stated.
        if let Ok(bootstrapper) = params.bootstrapper() {
            let (spec, reduction) = (bootstrapper.spec(), bootstrapper.reduction());
            let tail = irwin_hall_tail(spec.weight + 1, reduction.bound());
            let exact = (tail * 2.0 * spec.slots as f64).log2();
            assert!(exact <= spec.log2_failure && exact > spec.log2_failure - 16.0, "{exact}");
            assert!(bootstrapper.levels() >= 3, "{params}");
            assert_eq!(params.levels(), bootstrapper.output_level());
        }
        let bootstraps = params.bootstrapper().is_ok() || params.functional().is_ok();
        assert!(params.lookups().is_ok() || bootstraps);
        assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        assert_eq!(params, params_of(preset));
        assert!(params.to_string().contains(preset.name()), "{params}");
    }
    assert!("fast".parse::<Preset>().unwrap_err().contains("functions-dense"));
    let sets: Vec<_> = Preset::ALL.map(params_of).into();
    assert!((1..sets.len()).all(|i| sets[..i].iter().all(|set| *set != sets[i])));
    assert!(sets[0].slots() >= 1 << 13);
}

fn come_back(presets: impl Iterator<Item = Preset>) {
    for preset in presets {
        let params = params_of(preset);
        let security = params.ckks().lattice().spec().security;
        let bytes = params.to_bytes().unwrap();
        let back = Params::from_bytes(&bytes, security).unwrap();
        assert!(back == params, "{preset:?}");
        assert_eq!(back.to_bytes().unwrap(), bytes);
        assert_eq!((back.name(), back.fingerprint()), (params.name(), params.fingerprint()));
        assert_eq!(Params::from_bytes(&bytes, Security::Insecure).unwrap(), params);
        if security == Security::Insecure {
            assert!(Params::from_bytes(&bytes, Security::Bits128).is_err());
        }
    }
}

#[test]
fn toy_sets_come_back_from_bytes() {
    come_back(Preset::ALL.into_iter().filter(|preset| preset.name().starts_with("toy")));
}

#[cfg(feature = "long-tests")]
#[test]
fn sets_of_full_size_come_back_from_bytes() {
    come_back(Preset::ALL.into_iter().filter(|preset| !preset.name().starts_with("toy")));
}

#[test]
fn fingerprints_tell_sets_apart() {
    let prints = Preset::ALL.map(|preset| params_of(preset).fingerprint());
    let distinct: std::collections::BTreeSet<_> = prints.into_iter().collect();
    assert_eq!(distinct.len(), prints.len());
}

/// `P(|S| > t)` for the sum `S` of `n` independent numbers uniform in `[-1/2, 1/2]`, exactly (the
/// distribution of Irwin and Hall): what a coefficient of `b + <a, s>` over its modulus is, for
/// `n - 1` nonzero coefficients `+-1` of the secret.
fn irwin_hall_tail(n: usize, t: f64) -> f64 {
    let y = 0.5 * n as f64 - t;
    let (mut sum, mut binomial) = (0.0, 1.0);
    for k in (0..=n).take_while(|&k| (k as f64) < y) {
        let term = binomial * (y - k as f64).powi(n as i32);
        sum += if k % 2 == 0 { term } else { -term };
        binomial *= (n - k) as f64 / (k + 1) as f64;
    }
    (1..=n).fold(2.0 * sum, |p, k| p / k as f64)
}

#[test]
fn the_tail_of_a_sum_of_uniform_numbers() {
    // One number, two numbers; and a normal variable of the variance n / 12 in the middle.
    assert!((irwin_hall_tail(1, 0.3) - 0.4).abs() < 1e-12);
    assert!((irwin_hall_tail(2, 0.5) - 0.25).abs() < 1e-12);
    assert!((irwin_hall_tail(33, (33.0f64 / 12.0).sqrt()) - 0.3173).abs() < 0.01);
}

/// The figures in the documentation of [`Preset`].
#[test]
fn predicted_accuracy_and_key_sizes_are_those_documented() {
    for (preset, bits) in [
        (Preset::Functions, [10.3, 9.2, 7.3]),
        (Preset::FunctionsFine, [11.2, 10.1, 8.2]),
        (Preset::Full, [10.3, 9.2, 7.2]),
        (Preset::FunctionsDense, [9.3, 8.3, 6.3]),
        (Preset::FunctionsFineDense, [10.3, 9.3, 7.3]),
        (Preset::FunctionsPreciseDense, [11.2, 10.1, 8.2]),
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
    let bytes = |preset, bridge, engine| {
        let needs = Needs::new().multiply().map_with([engine]).bridge(bridge);
        params_of(preset).evaluation_key_bytes(&needs).unwrap() / 1_000_000
    };
    let sizes = [
        bytes(Preset::Functions, Bridge::Auto, Engine::Rgsw),
        bytes(Preset::Functions, Bridge::Linear, Engine::Rgsw),
        bytes(Preset::Functions, Bridge::Auto, Engine::Ntru),
        bytes(Preset::Functions, Bridge::Linear, Engine::Ntru),
        bytes(Preset::FunctionsPrecise, Bridge::Auto, Engine::Rgsw),
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
        for lattice in [lookups.on(LutEngine::Auto), lookups.corrected_on(LutEngine::Auto)] {
            assert!(lattice.unwrap().rgsw().is_some(), "{params}");
        }
    }
    assert_eq!(LutEngine::default(), LutEngine::Auto);
    let dense = [Preset::FunctionsDense, Preset::FunctionsFineDense];
    for preset in [Preset::Functions, Preset::FunctionsFine].into_iter().chain(dense) {
        let params = params_of(preset);
        let lookups = params.lookups().unwrap();
        let [rgsw, ntru] = [LutEngine::Rgsw, LutEngine::Ntru].map(|e| lookups.on(e).unwrap());
        assert_eq!(lookups.on(LutEngine::Auto).unwrap().spec(), rgsw.spec());
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

/// The dense twins have the slots and the tables of what they are twins of, and no sparse secret.
#[test]
fn dense_twins_have_dense_secrets_alone() {
    for (preset, twin) in [
        (Preset::Functions, Preset::FunctionsDense),
        (Preset::FunctionsFine, Preset::FunctionsFineDense),
        (Preset::FunctionsPrecise, Preset::FunctionsPreciseDense),
    ] {
        let [sparse, dense] = [preset, twin].map(|preset| preset.spec().unwrap());
        assert_eq!(sparse.slots, dense.slots);
        let [sparse, lookup] = [sparse.lookup.unwrap(), dense.lookup.unwrap()];
        assert_eq!(sparse.secret, SecretKind::Sparse(192));
        assert_eq!((lookup.secret, lookup.ring_secret), (SecretKind::Ternary, SecretKind::Ternary));
        assert_eq!((dense.slots.lattice.secret, dense.ring_bridge), (SecretKind::Ternary, None));
        assert_eq!((sparse.ring_degree, sparse.engine), (lookup.ring_degree, lookup.engine));
        assert!(lookup.sigma >= 3.2);
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

#[test]
fn key_sizes_are_predicted_to_the_byte() {
    let check = |preset: Preset, needs: &Needs| {
        let client = common::party(preset, needs, 1).client;
        let predicted = client.params().evaluation_key_bytes(needs).unwrap();
        assert_eq!(client.evaluation_keys(needs).unwrap().byte_len(), predicted, "{needs:?}");
    };
    let needs = Needs::new().multiply().map().rotate([1, -3]).conjugate();
    let (ring, linear) =
        (Needs::new().map().bridge(Bridge::Ring), Needs::new().map().bridge(Bridge::Linear));
    let both = ring.clone().bridge(Bridge::Linear).map();
    for needs in [needs, Needs::new(), ring, linear, both, Needs::new().rotate([5])] {
        check(Preset::ToyInsecure, &needs);
    }
    for needs in [Needs::new().bootstrap(), Needs::new().bootstrap().multiply().rotate([7])] {
        check(Preset::ToyBootstrapping, &needs);
    }
}

/// The figures in the documentation of [`Preset::Bootstrapping`].
#[test]
fn bootstrapping_has_the_documented_levels_and_key_sizes() {
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
    let beyond = bellerophon::ckks::KeyLevels::default().multiply(99);
    assert!(params.evaluation_key_bytes(&Needs::new().keys(&beyond)).is_err());
    let is_about = |bytes: usize, documented: f64| (bytes as f64 / documented - 1.0).abs() < 0.03;
    assert!(is_about(transit, 0.95e9), "{transit}");
    let backend = params.ckks().lattice().q().table(0).backend();
    let documented = if backend == Backend::Ifma { 2.08e9 } else { 2.80e9 };
    assert!(is_about(memory, documented), "{memory} with {backend:?}");
}

/// The figures in SECURITY.md.
#[test]
fn secrets_and_moduli_of_bootstrapping_are_those_documented() {
    let bound = |secret| security::max_log2_modulus(1 << 16, secret, Model::Bits128).unwrap();
    for (preset, slots, degree) in
        [(Preset::Bootstrapping, 256, 1 << 16), (Preset::ToyBootstrapping, 64, 1 << 10)]
    {
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
    assert_eq!(bound(SecretKind::Sparse(256)), 1679.0);
    assert_eq!(bound(SecretKind::Sparse(32)), 362.0);
    assert_eq!(bound(SecretKind::Ternary), 1747.0);
    let (security, bootstraps) = (Security::Bits128, false);
    let requirements = ProgramBounds { security, slots: 100, depth: 1, bits: 10.0, bootstraps };
    let chosen = Params::choose(&requirements).unwrap();
    assert_eq!(chosen.ckks().lattice().spec().secret, SecretKind::Ternary);
}

/// What the dense secret of the twin costs, and what it gives.
#[test]
fn the_dense_twin_bootstraps_less_precisely_and_less_often() {
    let bits = |preset: Preset| {
        let params = params_of(preset);
        let bootstrapper = params.bootstrapper().unwrap();
        let shadow = Simulator::new(params.ckks());
        let unit = Interval::real(-1.0, 1.0).unwrap();
        let x = shadow.encrypt(&[1.0, -1.0], unit, bootstrapper.input_level()).unwrap();
        let refreshed =
            bootstrapper.bootstrapped(shadow.repeated(x, params.slots()).unwrap().metadata());
        let bits = refreshed.unwrap().estimate(params.ckks(), -20.0).bits();
        (bootstrapper.levels(), params.ckks().lattice().spec().secret, bits)
    };
    let (levels, secret, sparse) = bits(Preset::Bootstrapping);
    assert_eq!((levels, secret), (11, SecretKind::Sparse(256)));
    let (levels, secret, dense) = bits(Preset::BootstrappingDense);
    assert_eq!((levels, secret), (12, SecretKind::Ternary));
    assert!((sparse - dense - 3.6).abs() < 0.3, "{sparse} against {dense}");
}

/// Chosen sets bootstrap if that is requested, and match their report.
#[test]
fn a_chosen_set_bootstraps() {
    let security = Security::Bits128;
    let requirements = ProgramBounds { security, slots: 8, depth: 1, bits: 12.0, bootstraps: true };
    let chosen = Params::choose(&requirements).unwrap();
    let bootstrapper = chosen.bootstrapper().unwrap();
    assert_eq!((bootstrapper.levels(), chosen.levels()), (1, bootstrapper.output_level()));
    assert!(chosen.security_bits() >= 128.0 && chosen.log2_failure() <= -60.0);
    let choice = chosen.choice().unwrap();
    assert!(choice.to_string().contains("Bootstrapping: from level 2 to level 3"), "{choice}");
    let keys = choice.predicted().bootstrap.unwrap().keys.transit;
    assert_eq!(chosen.evaluation_key_bytes(&Needs::new().bootstrap()).unwrap(), keys);
}

/// Sets without look-ups or bootstrapping do everything else, and their errors name a remedy.
#[test]
fn what_a_set_does_not_have_is_refused_by_name() {
    let (security, bootstraps) = (Security::Bits128, false);
    let requirements = ProgramBounds { security, slots: 100, depth: 1, bits: 10.0, bootstraps };
    let chosen = Params::choose(&requirements).unwrap();
    let text = chosen.choice().unwrap().to_string();
    assert!(text.contains("asked: 10 bits"), "{text}");
    assert_eq!((chosen.levels(), chosen.log2_failure()), (1, f64::NEG_INFINITY));
    let client = ClientKey::generate(&chosen).unwrap();
    let server = Evaluator::new(client.evaluation_keys(&Needs::new().multiply()).unwrap()).unwrap();
    let x = client.encrypt(&[0.5, -1.0], -1.0..=1.0).unwrap();
    let squares = client.decrypt(&server.square(&x).unwrap()).unwrap();
    assert!(squares.iter().zip([0.25, 1.0]).all(|(found, y)| (found - y).abs() < 2f64.powi(-10)));

    let none = |error: bellerophon::Error| {
        let text = error.to_string();
        let remedy = matches!(error.kind(), ErrorKind::NoLookUps { .. })
            && text.contains("Preset::Functions");
        assert!(remedy && text.contains("'chosen'"), "{text}");
    };
    let refused = server.map(&x, f64::abs).unwrap_err();
    assert!(
        matches!(refused.kind(), ErrorKind::Repack(repack::ErrorKind::NoPlan { .. })),
        "{refused}"
    );
    assert!(refused.to_string().contains("Preset::Functions"), "{refused}");
    none(client.evaluation_keys(&Needs::new().map()).unwrap_err());
    none(chosen.evaluation_key_bytes(&Needs::new().map()).unwrap_err());
    let refused = client.evaluation_keys(&Needs::new().bootstrap()).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::NoBootstrap { .. }), "{refused}");
    assert!(refused.to_string().contains("Preset::Bootstrapping"), "{refused}");
    assert!(server.bootstrap(&x).is_err());
    let refused = server.with_auto_bootstrap().unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::NoBootstrap { .. }), "{refused}");
}

#[test]
fn less_than_128_bits_is_refused_unless_asked_for_by_name() {
    let spec = Preset::Functions.spec().unwrap();

    // One prime too many in the chain of the slots.
    let mut long = spec.clone();
    let extra = bellerophon::ring::prime::ntt_primes_below(1 << 15, 44, 40, &[]).unwrap();
    let extra = extra.iter().map(|q| q.value()).find(|q| !long.slots.lattice.q.contains(q));
    long.slots.lattice.q.push(extra.unwrap());
    refused(&long);
    long.slots.lattice.security = Security::Insecure;
    let params = Params::new(long).unwrap();
    assert!(params.security_bits() < 128.0, "{params}");

    // Less noise in the LWE keys, a sparser LWE secret, a sparse ring secret, a sparser secret of
    // the ring bridge.
    for change in [
        |s: &mut ParamsSpec| s.lookup.as_mut().unwrap().sigma = 3.2,
        |s: &mut ParamsSpec| s.lookup.as_mut().unwrap().secret = SecretKind::Sparse(64),
        |s: &mut ParamsSpec| s.slots.lattice.secret = SecretKind::Sparse(64),
        |s: &mut ParamsSpec| s.ring_bridge = Some(64),
        // q / sigma as before, with an error narrower than those of the tables.
        |s: &mut ParamsSpec| {
            let lookup = s.lookup.as_mut().unwrap();
            let small = bellerophon::ring::prime::ntt_primes_below(1 << 10, 20, 1, &[]).unwrap();
            (lookup.modulus, lookup.sigma) = (small[0].value(), 2.0);
            lookup.key_switch_digits = 10;
        },
    ] {
        let mut weak = spec.clone();
        change(&mut weak);
        refused(&weak);
    }
}

fn refused(spec: &ParamsSpec) {
    let error = Params::new(spec.clone()).unwrap_err().to_string();
    assert!(error.contains("128") || error.contains("3.2 or more"), "{error}");
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let spec = Preset::ToyInsecure.spec().unwrap();
    let mut other = spec.clone();
    other.lookup.as_mut().unwrap().ring_modulus = spec.slots.lattice.q[1];
    assert!(matches!(
        refusal(&Params::new(other)),
        ErrorKind::Repack(repack::ErrorKind::Bridge { .. })
    ));
    let mut module = spec.clone();
    module.slots.lattice.rank = 2;
    assert!(matches!(
        refusal(&Params::new(module)),
        ErrorKind::Repack(repack::ErrorKind::Bridge { .. })
    ));
    for log2_failure in [f64::NAN, 0.0, 0.5, -1e9] {
        let senseless = ParamsSpec { log2_failure, ..spec.clone() };
        assert!(matches!(
            refusal(&Params::new(senseless)),
            ErrorKind::Repack(repack::ErrorKind::Bridge { .. })
        ));
    }
    let mut short = spec;
    short.slots.lattice.q.truncate(9);
    assert!(matches!(
        refusal(&Params::new(short)),
        ErrorKind::Repack(repack::ErrorKind::Bridge { .. })
    ));
}

/// Failures of a program are the sum of those of its parts.
#[test]
fn failures_of_a_program_add_up() {
    let functions = params_of(Preset::Functions);
    let each = functions.log2_failure();
    let sum = functions.program_failure(1 << 20, 0).unwrap();
    assert!((sum.log2() - each - 20.0).abs() < 1e-9);
    assert!(sum.log2() < -39.0);
    assert_eq!(functions.program_failure(0, 0).unwrap().log2(), f64::NEG_INFINITY);
    assert!(matches!(refusal(&functions.program_failure(1, 1)), ErrorKind::NoBootstrap { .. }));
    let bootstrapping = params_of(Preset::Bootstrapping);
    let sum = bootstrapping.program_failure(0, 1 << 10).unwrap();
    assert!((sum.log2() - bootstrapping.log2_failure() - 10.0).abs() < 1e-9);
    assert!(matches!(refusal(&bootstrapping.program_failure(1, 0)), ErrorKind::NoLookUps { .. }));
}

/// What prints a key shows its public identity alone.
#[test]
fn debug_shows_no_secret_of_a_client() {
    let client = ClientKey::generate(&params_of(Preset::ToyInsecure)).unwrap();
    let expected = format!("ClientKey({:?}, toy-insecure)", client.id());
    assert_eq!(format!("{client:?}"), expected);
    assert_eq!(format!("{client:#?}"), expected);
}
