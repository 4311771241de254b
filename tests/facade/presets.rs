//! Parameter sets: what the toy presets reach, and what is refused. The others are in
//! `full_size.rs`.

use std::collections::BTreeSet;

use crate::common;

use crate::common::{params_of, refusal, small_program};
use bellerophon::prelude::*;
use bellerophon::{
    Bridge, Dense, ErrorKind, ParamsSpec, ProgramBounds,
    mlwe::{
        SecretKind, Security,
        security::{Model, max_log2_modulus},
    },
};

/// The presets without security, in small rings.
fn toys() -> Vec<Preset> {
    Preset::ALL.into_iter().filter(|preset| preset.name().starts_with("toy")).collect()
}

/// Sets that are what their names and documentation say, all different, and come back from bytes.
pub fn are_what_they_state(presets: &[Preset]) {
    for &preset in presets {
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
        come_back(&params);
    }
    let sets: Vec<_> = presets.iter().copied().map(params_of).collect();
    assert!((1..sets.len()).all(|i| sets[..i].iter().all(|set| *set != sets[i])));
    let prints: BTreeSet<_> = sets.iter().map(|params| params.fingerprint()).collect();
    assert_eq!(prints.len(), presets.len());
}

fn come_back(params: &Params) {
    let security = params.ckks().lattice().spec().security;
    let bytes = params.to_bytes().unwrap();
    let back = Params::from_bytes(&bytes, security).unwrap();
    assert!(back == *params, "{params}");
    assert_eq!(back.to_bytes().unwrap(), bytes);
    assert_eq!((back.name(), back.fingerprint()), (params.name(), params.fingerprint()));
    assert_eq!(Params::from_bytes(&bytes, Security::Insecure).unwrap(), *params);
    if security == Security::Insecure {
        assert!(Params::from_bytes(&bytes, Security::Bits128).is_err());
    }
}

#[test]
fn toy_sets_reach_what_they_state() {
    are_what_they_state(&toys());
    assert!("fast".parse::<Preset>().unwrap_err().contains("functions-dense"));
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

/// The dense twins have the slots and the tables of what they are twins of, and no sparse secret.
#[test]
fn dense_twins_have_dense_secrets_alone() {
    for (preset, twin) in [
        (Preset::Functions, Preset::Dense(Dense::Functions)),
        (Preset::FunctionsFine, Preset::Dense(Dense::FunctionsFine)),
        (Preset::FunctionsPrecise, Preset::Dense(Dense::FunctionsPrecise)),
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

/// Small tables in a ring of degree 2^15: the secrets and moduli of docs/security/parameters.md.
/// The bound for the weight is that of the attack with rotations, less than that of the estimator.
#[test]
fn small_tables_have_documented_secrets_and_moduli() {
    let bound = |secret| max_log2_modulus(1 << 15, secret, Model::Bits128).unwrap();
    let (sparse, light) = (SecretKind::Sparse(512), SecretKind::Sparse(32));
    assert_eq!([sparse, SecretKind::Ternary, light].map(bound), [828.0, 868.0, 161.0]);
    for (preset, secret, modulus) in [
        (Preset::SmallTables(1), sparse, 713.0),
        (Preset::SmallTables(4), sparse, 827.0),
        (Preset::Dense(Dense::SmallTables(1)), SecretKind::Ternary, 753.0),
        (Preset::Dense(Dense::SmallTables(4)), SecretKind::Ternary, 861.0),
    ] {
        let params = params_of(preset);
        let (lattice, functional) = (params.ckks().lattice(), params.functional().unwrap());
        assert_eq!((lattice.spec().degree, lattice.spec().secret), (1 << 15, secret));
        assert_eq!(lattice.log2_modulus().round(), modulus);
        let spec = functional.spec();
        // The special prime of the sparse secret has eight bits more than the lowest prime.
        assert_eq!((spec.weight, spec.log2_failure), (32, -128.0));
        assert!(f64::from(2 * spec.q0_bits + 8) <= bound(light));
        assert!(params.security_bits() >= 128.0);
        // All primes are below 2^50, where the kernels are fastest.
        assert!(lattice.spec().q.iter().chain(&lattice.spec().p).all(|q| *q < 1 << 50));
        // Digits far below the special primes: a key switch adds little more than its rounding.
        let (gadget, limbs) = (lattice.gadget(), lattice.q().limbs());
        let digits = (0..gadget.digits(limbs)).map(|digit| gadget.log2_digit(digit, limbs));
        assert!(digits.fold(0.0, f64::max) < lattice.p().log2_modulus() - 10.0, "{params}");
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
        check(Preset::Insecure(Toy::Functions), &needs);
    }
    for needs in [Needs::new().bootstrap(), Needs::new().bootstrap().multiply().rotate([7])] {
        check(Preset::Insecure(Toy::Bootstrapping), &needs);
    }
}

/// Chosen sets bootstrap if that is requested, and match their report.
#[test]
fn a_chosen_set_bootstraps() {
    let security = Security::Bits128;
    let requirements = ProgramBounds {
        security,
        slots: 8,
        depth: 1,
        accuracy: Accuracy::bits(12.0),
        bootstraps: true,
    };
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
    let chosen = Params::choose(&small_program()).unwrap();
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
        let remedy = error.is(&ErrorKind::Unsupported, "' have no look-ups: take")
            && text.contains("Preset::Functions");
        assert!(remedy && text.contains("'chosen'"), "{text}");
    };
    let refused = server.map(&x, f64::abs).unwrap_err();
    assert!(
        refused
            .is(&ErrorKind::Accuracy { log2_reached: None }, "(`Params::map_plan` compares all)"),
        "{refused}"
    );
    assert!(refused.to_string().contains("Preset::Functions"), "{refused}");
    none(client.evaluation_keys(&Needs::new().map()).unwrap_err());
    none(chosen.evaluation_key_bytes(&Needs::new().map()).unwrap_err());
    let refused = client.evaluation_keys(&Needs::new().bootstrap()).unwrap_err();
    assert!(refused.is(&ErrorKind::Unsupported, "' have no bootstrapping: take"), "{refused}");
    assert!(refused.to_string().contains("Preset::Bootstrapping"), "{refused}");
    assert!(server.bootstrap(&x).is_err());
    let refused = server.with_auto_bootstrap().unwrap_err();
    assert!(refused.is(&ErrorKind::Unsupported, "' have no bootstrapping: take"), "{refused}");
}

#[test]
fn less_than_128_bits_is_refused_unless_named() {
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
    let spec = Preset::Insecure(Toy::Functions).spec().unwrap();
    let mut other = spec.clone();
    other.lookup.as_mut().unwrap().ring_modulus = spec.slots.lattice.q[1];
    assert!(refusal(&Params::new(other)).is(&ErrorKind::Parameters, "parameters"));
    let mut module = spec.clone();
    module.slots.lattice.rank = 2;
    assert!(refusal(&Params::new(module)).is(&ErrorKind::Parameters, "parameters"));
    for log2_failure in [f64::NAN, 0.0, 0.5, -1e9] {
        let senseless = ParamsSpec { log2_failure, ..spec.clone() };
        assert!(refusal(&Params::new(senseless)).is(&ErrorKind::Parameters, "parameters"));
    }
    let mut short = spec;
    short.slots.lattice.q.truncate(9);
    assert!(refusal(&Params::new(short)).is(&ErrorKind::Parameters, "parameters"));
}

/// Failures of a program are the sum of those of its parts.
#[test]
fn failures_of_a_program_add_up() {
    let look_ups = params_of(Preset::Insecure(Toy::Functions));
    let each = look_ups.log2_failure();
    let sum = look_ups.program_failure(1 << 20, 0).unwrap();
    assert!((sum.log2() - each - 20.0).abs() < 1e-9);
    assert!(sum.log2() < -39.0);
    assert_eq!(look_ups.program_failure(0, 0).unwrap().log2(), f64::NEG_INFINITY);
    assert!(
        refusal(&look_ups.program_failure(1, 1))
            .is(&ErrorKind::Unsupported, "' have no bootstrapping: take")
    );
    let bootstraps = params_of(Preset::Insecure(Toy::Bootstrapping));
    let sum = bootstraps.program_failure(0, 1 << 10).unwrap();
    assert!((sum.log2() - bootstraps.log2_failure() - 10.0).abs() < 1e-9);
    assert!(
        refusal(&bootstraps.program_failure(1, 0))
            .is(&ErrorKind::Unsupported, "' have no look-ups: take")
    );
}

/// What prints a key shows its public identity alone.
#[test]
fn debug_shows_no_secret_of_a_client() {
    let client = ClientKey::generate(&params_of(Preset::Insecure(Toy::Functions))).unwrap();
    let expected = format!("ClientKey({:?}, toy-insecure)", client.id());
    assert_eq!(format!("{client:?}"), expected);
    assert_eq!(format!("{client:#?}"), expected);
}
