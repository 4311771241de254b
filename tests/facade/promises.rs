//! What a parameter set says of itself when it is printed is what a program finds: arithmetic and
//! look-ups in toy dimensions, and with the feature `long-tests` every combination of the parts,
//! every preset and a set with everything at full size. Combinations that cannot work are refused
//! by `Params::new`, needs that a set does not serve when keys are asked for.

use std::ops::RangeInclusive;

use crate::common::{Party, errors, law, params_of, refusal, sigmoid, spread};
use crate::parts::{Parts, generator, party, serve};
use bellerophon::circuits::bootstrap::BootstrapSpec;
use bellerophon::ckks::{self, LevelGroup, ModulusChain};
use bellerophon::mlwe::Security;
use bellerophon::prelude::*;
use bellerophon::{Bridge, Engine, ErrorKind, ParamsSpec};

/// Standard deviations that no error of a vector exceeds: errors of products have heavier tails
/// than normal ones.
const WORST: f64 = 12.0;

fn encrypt(
    client: &ClientKey,
    values: &[f64],
    range: RangeInclusive<f64>,
    level: usize,
) -> Ciphertext {
    client.encrypt_with(values, range, level, &mut generator()).unwrap()
}

/// Compares the errors of a vector with its tracked noise, from both sides.
fn check(client: &ClientKey, x: &Ciphertext, expected: &[f64], what: &str) {
    let found = client.decrypt(x).unwrap();
    let (_, worst) = errors(&found, expected.iter().copied());
    let squares: f64 = found.iter().zip(expected).map(|(f, e)| (f - e).powi(2)).sum();
    let rms = (squares / found.len() as f64).sqrt();
    let noise = x.metadata().noise();
    assert!(worst < WORST * noise, "{what}: {worst:e} where {noise:e} is predicted");
    // Few values may all be right by chance.
    let least = if found.len() >= 64 { 0.2 } else { 0.0 };
    assert!(rms >= least * noise, "{what}: {rms:e}, suspiciously below {noise:e}");
}

/// The line that a set prints has what is tried here.
fn check_printed(params: &Params) {
    let shown = params.to_string();
    let has = |text: String| assert!(shown.contains(&text), "no {text:?} in {shown}");
    let bits = params.security_bits().floor();
    has(format!("{} slots, {} levels, {bits:.0}-bit security", params.slots(), params.levels()));
    if let Ok(lookups) = params.lookups() {
        let (after, levels) = (lookups.level_after(), lookups.levels());
        has(format!("look-ups: {after} levels after one, which takes {levels}"));
        has(format!("failure probability 2^{:.0} per value", lookups.spec().log2_failure));
        assert_eq!(lookups.ring().is_some(), shown.contains("ring bridge"));
    }
    if let Ok(bootstrapper) = params.bootstrapper() {
        let (levels, from) = (bootstrapper.levels(), bootstrapper.input_level());
        has(format!("bootstrapping: {levels} levels between two bootstraps, from level {from}"));
        has(format!("failure probability 2^{:.0} per vector", bootstrapper.spec().log2_failure));
    }
}

/// No part is weaker than what is printed.
fn check_security(params: &Params) {
    let bits = params.security_bits();
    let mut parts = vec![
        params.ckks().lattice().security_bits(),
        params.ckks().relin_strategy().raised().security_bits(),
    ];
    if let Ok(lookups) = params.lookups() {
        for engine in [Engine::Rgsw, Engine::Corrected, Engine::Ntru] {
            parts.extend(lookups.on(engine).map(|tables| tables.security_bits()));
        }
        parts.extend(lookups.ring().map(|ring| ring.security_bits()));
    }
    parts.extend(params.bootstrapper().map(|bootstrapper| bootstrapper.security_bits()));
    parts.extend(params.functional().map(|functional| functional.security_bits()));
    assert!(parts.iter().all(|&part| part >= bits), "{params}: {parts:?}");
    assert!(parts.contains(&bits), "{params}: {parts:?}");
}

/// As many values as there are slots, as many products in a row as there are levels, and neither
/// one more. The levels below the input of a functional bootstrap are for its transforms.
fn check_arithmetic(params: &Params, Party { client, server }: &Party) {
    let (slots, levels) = (params.slots(), params.levels());
    let lowest = params.functional().map_or(0, |functional| functional.input_level());
    let range = -0.99..=0.99;
    let values = spread(slots, -0.99, 0.99);
    let x = client.encrypt(&values, range.clone()).unwrap();
    assert_eq!((x.len(), x.level()), (slots, levels));
    let refused = client.encrypt(&vec![0.0; slots + 1], range).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::TooManyValues { .. }), "{refused}");
    check(client, &x, &values, "a fresh vector");

    // Products with numbers near 1 keep their size. Every factor is a fresh one, whose errors are
    // its own.
    let near: Vec<f64> = values.iter().map(|v| v.signum() * (0.99 - 0.01 * v.abs())).collect();
    let mut rng = generator();
    let mut factor =
        |level: usize| client.encrypt_with(&near, -0.99..=0.99, level, &mut rng).unwrap();
    let (mut product, mut expected) = (factor(levels), near.clone());
    for done in 1..=levels - lowest {
        product = server.mul(&product, &factor(product.level())).unwrap();
        expected.iter_mut().zip(&near).for_each(|(e, n)| *e *= n);
        assert_eq!(product.level(), levels - done);
    }
    check(client, &product, &expected, &format!("products down to level {lowest}"));
    if lowest == 0 {
        let refused = server.square(&product).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::OutOfLevels { .. }), "{refused}");
    }
}

/// A bootstrap from the printed level to the highest level for programs, twice.
fn check_bootstrapping(params: &Params, Party { client, server }: &Party) {
    let bootstrapper = params.bootstrapper().unwrap();
    let (from, to) = (bootstrapper.input_level(), params.levels());
    assert_eq!((bootstrapper.levels(), bootstrapper.output_level()), (to - from, to));
    let values = spread(bootstrapper.spec().slots.min(params.slots()), -1.0, 1.0);
    let mut x = encrypt(client, &values, -1.0..=1.0, from);
    let mut expected = values;
    // The bound on the worst slot that the library states, with a chance of 2^-20.
    let bound = |x: &Ciphertext| x.metadata().worst(-20.0);
    for _ in 0..2 {
        x = server.bootstrap(&x).unwrap();
        assert_eq!(x.level(), to);
        let (_, worst) = errors(&client.decrypt(&x).unwrap(), expected.iter().copied());
        assert!(worst < bound(&x), "{worst:e} beyond {:e}", bound(&x));
        for _ in 0..bootstrapper.levels() {
            x = server.square(&x).unwrap();
            expected.iter_mut().for_each(|x| *x *= *x);
        }
        assert_eq!(x.level(), from);
        let (_, worst) = errors(&client.decrypt(&x).unwrap(), expected.iter().copied());
        assert!(worst < bound(&x), "{worst:e} beyond {:e}", bound(&x));
        x = server.assume_range(&x, -1.0..=1.0).unwrap();
    }
    let low = server.drop_to_level(&x, from - 1).unwrap();
    let refused = server.bootstrap(&low).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::OutOfLevels { .. }), "{refused}");
}

/// This file makes a few dozen checks of the largest error of some look-ups. The 95 % quantile for
/// so many times the values of one check is exceeded in any of them with a chance below 1 %.
const ALL: usize = 1000;

/// A look-up from the level that it takes to the one that it leaves, products between, and another.
fn check_look_ups(params: &Params, party: &Party, bridge: Bridge, count: usize) {
    let Party { client, server } = party;
    let lookups = params.lookups().unwrap();
    let (needed, after) = (lookups.levels(), lookups.level_after());
    let domain = -2.0..=2.0;
    let values = spread(count, -2.0, 2.0);
    let engine = server.engine().unwrap();
    let request = MapRequest::new(sigmoid).over(domain.clone()).bridge(bridge).engines([engine]);
    let law = law(params, &request);
    let mut found = vec![];
    for level in [params.levels(), needed] {
        let x = encrypt(client, &values, domain.clone(), level);
        let y = server.map_with(&x, &request).unwrap();
        assert_eq!((y.level(), y.len()), (after, count), "{bridge:?}");
        let decrypted = client.decrypt(&y).unwrap();
        let (mean, worst) = errors(&decrypted, values.iter().map(|&v| sigmoid(v)));
        assert!(
            worst < law.max_abs(ALL * count),
            "{bridge:?}: {worst:e}, {:e}",
            law.max_abs(count)
        );
        let ratio = mean / law.mean_abs;
        assert!(count < 100 || (0.5..1.6).contains(&ratio), "{bridge:?}: {ratio}");
        found.push((y, decrypted));
    }
    let low = server.drop_to_level(&encrypt(client, &values, domain.clone(), needed), needed - 1);
    let refused = server.map_with(&low.unwrap(), &request).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::OutOfLevels { .. }), "{refused}");

    // All levels that are left between two look-ups.
    let (mut y, mut expected) = found.swap_remove(0);
    while y.level() > needed {
        y = server.square(&y).unwrap();
        expected.iter_mut().for_each(|y| *y *= *y);
    }
    let request = MapRequest::new(|v| 1.0 - v).over(-1.5..=1.5).bridge(bridge).engines([engine]);
    let z = server.map_with(&y, &request).unwrap();
    let law = crate::common::law(params, &request);
    let (mean, worst) = errors(&client.decrypt(&z).unwrap(), expected.iter().map(|v| 1.0 - v));
    assert!(worst < law.max_abs(ALL * count), "{bridge:?}, the second: {worst:e}");
    // Most of these values are near 0: the mean over the domain is no measure from below.
    let ratio = mean / law.mean_abs;
    assert!(count < 100 || ratio < 1.6, "{bridge:?}, the second: {ratio}");
}

/// A plan of a corrected look-up, kept: bits, order, levels.
fn check_corrected(params: &Params, party: &Party, (count, bits): (usize, f64)) {
    let Party { client, server } = party;
    let domain = -2.0..=2.0;
    let values = spread(count, -2.0, 2.0);
    let engine = server.engine().unwrap();
    for level in [params.levels(), params.lookups().unwrap().levels()] {
        let tanh = MapRequest::new(f64::tanh)
            .over(domain.clone())
            .typical(Accuracy::bits(bits))
            .engines([engine]);
        let plan = params.map_plan(&tanh.clone().level(level)).unwrap();
        let planned = plan.prediction().unwrap();
        let x = encrypt(client, &values, domain.clone(), level);
        let y = server.map_with(&x, &tanh).unwrap();
        assert_eq!(y.level(), planned.output_level);
        let (mean, worst) = errors(&client.decrypt(&y).unwrap(), values.iter().map(|v| v.tanh()));
        assert!(
            planned.order > Some(0) && worst < 2f64.powf(-bits),
            "from level {level}: {worst:e}"
        );
        let ratio = mean / plan.accuracy().unwrap().mean_abs;
        assert!(count < 100 || (0.4..1.6).contains(&ratio), "from level {level}: {ratio}");
    }
}

/// Values go out of the slots and back without a table, to the level that is said.
fn check_packing(Party { client, server }: &Party, count: usize) {
    let values = spread(count, -1.0, 1.0);
    let x = encrypt(client, &values, -1.0..=1.0, 2);
    let room = bellerophon::lwe::Headroom { terms: 2, levels: 0 };
    let out = server.extract_for(&x, -1.0..=1.0, room).unwrap();
    let highest = server.pack_level().unwrap();
    let layout = bellerophon::lookup::Layout::in_order(count).unwrap();
    // The levels below it are served too, whatever their sizes.
    for level in [highest, highest - 1, 1] {
        let back = server.pack_in(&out, &layout, level).unwrap();
        assert_eq!(back.level(), level);
        let (_, worst) = errors(&client.decrypt(&back).unwrap(), values.iter().copied());
        assert!(worst < 2f64.powi(-9), "packed at level {level}: {worst:e}");
    }
    let refused = server.pack_in(&out, &layout, highest + 1).unwrap_err();
    assert_eq!(*refused.kind(), ErrorKind::Level, "{refused}");
}

/// What the set says of failures is what the evaluator adds up.
fn check_failures(params: &Params, Party { client, server }: &Party) {
    let server = server.clone().reset_failures();
    let range = -1.0..=1.0;
    let x = encrypt(client, &[0.5, -0.25, 1.0], range.clone(), 2);
    let looked_up = if params.lookups().is_ok() { 3 } else { 0 };
    let refreshed = u64::from(params.bootstrapper().is_ok());
    if looked_up > 0 {
        let table = MapRequest::new(f64::abs).over(range).engines([Engine::Rgsw]);
        server.map_with(&x, &table).unwrap();
    }
    if refreshed > 0 {
        server.bootstrap(&x).unwrap();
    }
    let foretold = params.program_failure(looked_up, refreshed).unwrap();
    assert!(
        (server.failures().log2() - foretold.log2()).abs() < 1e-9 || looked_up + refreshed == 0
    );
    assert!(foretold.log2() <= params.log2_failure() + 2.0);
}

/// Every promise of a set; `count` values are looked up at once.
fn keep(params: &Params, count: usize, bits: f64) {
    eprintln!("{params}");
    check_printed(params);
    check_security(params);
    let (refreshes, looks_up) = (params.bootstrapper().is_ok(), params.lookups().ok());
    let mut needs = Needs::new().multiply();
    if refreshes {
        needs = needs.bootstrap();
    }
    let Some(lookups) = looks_up else {
        let party = party(params, &needs);
        check_arithmetic(params, &party);
        if refreshes {
            check_bootstrapping(params, &party);
        }
        return check_failures(params, &party);
    };
    let ring = lookups.ring().is_some();
    let mut bridges = vec![Bridge::Linear];
    bridges.extend(ring.then_some(Bridge::Ring));
    let all = bridges.iter().fold(needs.map(), |needs, &bridge| needs.bridge(bridge));
    let with = party(params, &all);
    check_arithmetic(params, &with);
    if refreshes {
        check_bootstrapping(params, &with);
    }
    for bridge in bridges {
        check_look_ups(params, &with, bridge, count);
    }
    if ring {
        check_packing(&with, count);
    }
    check_failures(params, &with);
    drop(with);
    if ring && lookups.on(Engine::Corrected).is_ok() {
        let needs = Needs::new().multiply().map_with([Engine::Corrected]);
        check_corrected(params, &party(params, &needs), (count, bits));
    }
}

#[test]
fn arithmetic_keeps_its_promises_at_every_rank() {
    for rank in [1, 2] {
        for bootstrap in [false, true] {
            let parts = Parts { rank, bootstrap, ..Parts::ARITHMETIC };
            keep(&Params::new(parts.spec()).unwrap(), 0, 0.0);
        }
    }
    keep(&params_of(Preset::Insecure(Toy::Bootstrapping)), 0, 0.0);
}

fn keep_look_ups(ring: Option<usize>, ntru: bool) {
    let parts = Parts { lookup: true, ring, ntru, ..Parts::ARITHMETIC };
    keep(&Params::new(parts.spec()).unwrap(), 128, 9.0);
}

#[test]
fn look_ups_keep_their_promises() {
    keep_look_ups(Some(16), false);
}

/// Over the linear bridge, and on NTRU over the ring.
#[cfg(feature = "long-tests")]
#[test]
fn linear_and_ntru_look_ups_keep_their_promises() {
    keep_look_ups(None, false);
    keep_look_ups(Some(16), true);
}

/// Look-ups on a set that bootstraps.
#[cfg(feature = "long-tests")]
fn keep_beside_bootstraps(ring: Option<usize>, ntru: bool) {
    let parts = Parts { lookup: true, ring, bootstrap: true, ntru, ..Parts::ARITHMETIC };
    let params = Params::new(parts.spec()).unwrap();
    // Results of tables have the levels of programs, not those of the bootstrap.
    assert!(params.lookups().unwrap().level_after() <= params.levels());
    keep(&params, 128, 9.0);
}

#[cfg(feature = "long-tests")]
#[test]
fn look_ups_with_bootstrapping_keep_their_promises() {
    for (ring, ntru) in [(None, false), (Some(16), false), (Some(16), true)] {
        keep_beside_bootstraps(ring, ntru);
    }
}

/// A program without end: a look-up, products until the levels are used up, a bootstrap, and again;
/// with automatic bootstrapping.
#[test]
fn look_ups_and_refreshes_take_turns() {
    let parts = Parts { lookup: true, ring: Some(16), bootstrap: true, ..Parts::ARITHMETIC };
    let params = Params::new(parts.spec()).unwrap();
    let needs = Needs::new().multiply().map().bootstrap();
    let Party { client, server } = party(&params, &needs);
    let server = server.with_auto_bootstrap().unwrap();
    let values = spread(64, -1.0, 1.0);
    let mut x = client.encrypt(&values, -1.0..=1.0).unwrap();
    let mut expected = values;
    for _ in 0..3 {
        for _ in 0..4 {
            x = server.mul_values(&server.square(&x).unwrap(), &[0.5; 64]).unwrap();
            x = server.assume_range(&x, -1.0..=1.0).unwrap();
            expected.iter_mut().for_each(|v| *v = 0.5 * v.powi(2));
        }
        let cos = MapRequest::new(f64::cos).over(-1.0..=1.0).engines([Engine::Rgsw]);
        x = server.map_with(&x, &cos).unwrap();
        x = server.assume_range(&x, -1.25..=1.25).unwrap();
        x = server.mul_scalar(&x, 0.75).unwrap();
        expected.iter_mut().for_each(|v| *v = 0.75 * v.cos());
        // The table has an error; the program is compared from its result on.
        let found = client.decrypt(&x).unwrap();
        let (_, worst) = errors(&found, expected.iter().copied());
        assert!(worst < 0.1, "{worst}");
        expected = found;
        x = server.assume_range(&x, -1.0..=1.0).unwrap();
    }
    assert!(server.failures().log2() <= -50.0);
}

/// Sets whose promises could not be kept are refused, and the reason is said.
#[test]
fn what_cannot_work_is_refused_before_it_is_tried() {
    let refused = |spec: ParamsSpec, text: &str| {
        let error = Params::new(spec).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    let all = Parts { lookup: true, ring: Some(16), bootstrap: true, ..Parts::ARITHMETIC };
    let lookup = Parts { bootstrap: false, ..all };
    // A module has no path from slots to LWE.
    refused(Parts { rank: 2, ..all }.spec(), "the path from slots to LWE needs rank 1");
    refused(Parts { rank: 2, ..lookup }.spec(), "the path from slots to LWE needs rank 1");
    // The bootstrap takes the levels that look-ups would need.
    let mut short = all.spec();
    let bootstrap = BootstrapSpec { s2c_levels: 1, ..BootstrapSpec::new(1 << 7) };
    let chain = bootstrap.chain(1 << 8, 42, 1, (49, 6)).unwrap();
    short.slots = ckks::ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
    short.bootstrap = Some(BootstrapSpec { s2c_levels: 2, ..bootstrap });
    refused(short, "need more than their sum");
    // Levels far below the scale: products lose everything; far above: they do not fit.
    for (bits, text) in [(50, "bits after the binary point"), (30, "in a row fails")] {
        let mut odd = Parts::ARITHMETIC.spec();
        let levels = vec![LevelGroup::single(bits, 12)];
        let chain = ModulusChain { degree: 1 << 11, first_bits: 50, levels, special: (50, 2) };
        odd.slots = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
        refused(odd, text);
    }
    // With levels of mixed sizes there is no level at which the reduction could run.
    let mut mixed = lookup.spec();
    let levels =
        (0..8).flat_map(|_| [LevelGroup::single(44, 1), LevelGroup::single(58, 1)]).collect();
    let chain = ModulusChain { degree: 1 << 11, first_bits: 45, levels, special: (50, 3) };
    mixed.slots = ckks::ParamsSpec::from_chain(&chain, 44, Security::Insecure).unwrap();
    mixed.lookup.as_mut().unwrap().ring_modulus = mixed.slots.lattice.q[0];
    refused(mixed, "has no such levels");
    // An LWE secret that the slots do not hold, and no other bridge.
    let mut long = Parts { ring: None, ..lookup }.spec();
    let modulus = bellerophon::ring::prime::ntt_primes_below(1 << 11, 28, 1, &[]).unwrap()[0];
    let secret = long.lookup.as_mut().unwrap();
    (secret.dimension, secret.modulus) = (1 << 11, modulus.value());
    refused(long.clone(), "does not fit the 1024 slots");
    // With the ring bridge that set works, and says so when the other one is asked for.
    long.ring_bridge = Some(16);
    let params = Params::new(long).unwrap();
    let refused =
        params.evaluation_key_bytes(&Needs::new().map().bridge(Bridge::Linear)).unwrap_err();
    assert!(
        refused.is(&ErrorKind::Unsupported, "because the 2048 coordinates of the LWE"),
        "{refused}"
    );
    serve(&params, "map", &Needs::new().map());
    // Nothing to multiply with.
    let chain = ModulusChain { degree: 1 << 11, first_bits: 50, levels: vec![], special: (50, 1) };
    let flat = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    let flat = Params::new(ParamsSpec::arithmetic("flat", flat)).unwrap();
    let refused = ClientKey::generate(&flat).unwrap().evaluation_keys(&Needs::new().multiply());
    assert!(
        refusal(&refused).is(&ErrorKind::Unsupported, "' cannot serve `Needs::multiply`"),
        "{refused:?}"
    );
}

/// One set after the other: each takes several GiB. The set with everything has more values. The
/// sets with larger tables are looked up in `tests/long.rs`.
#[cfg(feature = "long-tests")]
#[test]
fn presets_keep_their_promises_at_full_size() {
    use bellerophon::Dense;

    let larger = [
        Preset::FunctionsFine,
        Preset::FunctionsPrecise,
        Preset::Dense(Dense::FunctionsFine),
        Preset::Dense(Dense::FunctionsPrecise),
    ];
    for preset in Preset::ALL {
        let params = params_of(preset);
        if larger.contains(&preset) {
            check_printed(&params);
            check_security(&params);
            continue;
        }
        let count = if preset == Preset::Full { 100 } else { 16 };
        keep(&params, count, if params.security_bits() >= 128.0 { 12.0 } else { 9.0 });
    }
}

/// The secret of the slots may be dense or sparse, with or without the sparse one of the ring
/// bridge.
#[cfg(feature = "long-tests")]
#[test]
fn sparse_secrets_keep_their_promises() {
    let parts = Parts { lookup: true, ring: Some(16), bootstrap: true, ..Parts::ARITHMETIC };
    let mut spec = parts.spec();
    spec.slots.lattice.secret = bellerophon::mlwe::SecretKind::Sparse(64);
    keep(&Params::new(spec).unwrap(), 128, 9.0);
}
