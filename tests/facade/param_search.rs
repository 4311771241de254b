//! Parameters that are chosen for programs with bootstraps keep what they promise: precision from
//! both sides, sizes, security, and the cheapest EvalMod.

use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::EvaluatorExt;
use std::sync::LazyLock;

use crate::common::{errors, params_of};
use bellerophon::mlwe::{SecretKey, SecretKind, Security};
use bellerophon::{Accuracy, ProgramBounds, prelude::Preset};
use bellerophon::{
    circuits::{
        bootstrap::BootstrapKeys,
        eval_mod::overflow_bound,
        param_search::{ReductionChoice, SelectedParams},
    },
    ckks::{
        CkksOps, Encoder, ErrorKind, EvaluationKeys, Evaluator, Interval, Params, decrypt_values,
        encrypt,
    },
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

fn endless(slots: usize, depth: usize, bits: f64) -> ProgramBounds {
    ProgramBounds {
        security: Security::Bits128,
        slots,
        depth,
        accuracy: Accuracy::bits(bits),
        bootstraps: true,
    }
}

/// The choice for all slots, four products and 19 bits.
static PRECISE: LazyLock<SelectedParams> =
    LazyLock::new(|| endless(1 << 15, 4, 19.0).choose().unwrap());

/// A chosen set bootstraps, within what was promised and not far within, without end.
#[test]
fn a_set_that_bootstraps_keeps_its_promise() {
    let (slots, depth, bits) = (32, 2, 12.0);
    let choice = endless(slots, depth, bits).choose().unwrap();
    println!("{choice}\n");
    let (params, bootstrap) = (&choice.params, choice.bootstrap.as_ref().unwrap());
    assert_eq!(params.lattice().spec().security, Security::Bits128);
    assert!(params.lattice().spec().degree < 1 << 16 && choice.bits >= bits, "{choice}");
    assert!(bootstrap.bits >= choice.bits + depth as f64 - 0.5, "{choice}");
    let bootstrapper = &bootstrap.bootstrapper;
    assert!(bootstrapper.security_bits() >= 128.0 && bootstrapper.levels() == depth);
    let keys = bootstrapper.keys().multiply(bootstrapper.output_level());
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
    let keys = EvaluationKeys::generate(params, &secret, &keys, &mut rng).unwrap();
    let own = BootstrapKeys::generate(bootstrapper.raising(), &secret, &mut rng).unwrap();
    let sizes = choice.predicted().bootstrap.unwrap().keys;
    assert_eq!(sizes.transit, keys.byte_len() + own.byte_len());
    let eval = Evaluator::new(params, &keys).unwrap();
    let eval = eval.with_bootstrapping(bootstrapper.clone(), own).unwrap();
    let eval = eval.with_auto_bootstrap().unwrap();
    let error = |x: &_, expected: &[f64]| {
        let found: Vec<f64> = decrypt_values(params, x, &secret).unwrap();
        errors(&found, expected.iter().copied()).1.log2()
    };
    // From one bootstrap to the next, again and again.
    let mut expected: Vec<f64> =
        (0..slots).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
    let (unit, limbs) = (Interval::real(-1.0, 1.0), params.limbs_at(bootstrapper.input_level()));
    let plain = Encoder::new(params).encode(&expected, unit.unwrap(), params.scale(), limbs);
    let mut x = encrypt(params, &plain.unwrap(), &secret, &mut rng).unwrap();
    for round in 0..2 {
        x = eval.bootstrap(&x).unwrap();
        let log2_error = error(&x, &expected);
        assert!(log2_error < -bootstrap.bits, "{log2_error} in round {round}: {choice}");
        assert!(log2_error > -bootstrap.bits - 7.0, "{log2_error} in round {round}: {choice}");
        for _ in 0..depth {
            x = eval.square(&x).unwrap();
            expected.iter_mut().for_each(|x| *x *= *x);
        }
        let log2_error = error(&x, &expected);
        assert!(log2_error < -choice.bits, "{log2_error} in round {round}: {choice}");
        assert_eq!(x.level(), bootstrapper.input_level());
    }
}

#[test]
fn sets_that_bootstrap_are_chosen_by_what_binds() {
    // The size and precision of the preset, which is made by hand.
    let choice = endless(1 << 15, 9, 14.0).choose().unwrap();
    println!("{choice}\n");
    let (params, bootstrap) = (&choice.params, choice.bootstrap.as_ref().unwrap());
    assert_eq!((params.lattice().spec().degree, params.max_slots()), (1 << 16, 1 << 15));
    assert_eq!(bootstrap.bootstrapper.levels(), 9);
    assert_eq!(
        Params::new(choice.spec().unwrap()).unwrap().lattice().fingerprint(),
        params.lattice().fingerprint()
    );
    let text = choice.to_string();
    for part in
        ["a bootstrap and then 9 products", "Bootstrapping: from level 2 to level 11", "2^-60"]
    {
        assert!(text.contains(part), "{text}");
    }
    let predicted = choice.predicted().bootstrap.unwrap();
    assert!(predicted.complex.seconds() > 1.2 * predicted.real.seconds());
    assert!((1.0..20.0).contains(&predicted.complex.seconds()), "{text}");
    // The tables of the homomorphic encryption standard know dense secrets alone.
    let security = Security::Bits128Classical;
    let dense = ProgramBounds { security, ..endless(16, 2, 6.0) }.choose().unwrap();
    println!("{dense}\n");
    assert_eq!(dense.params.lattice().spec().secret, SecretKind::Ternary);
    assert!(dense.bootstrap.as_ref().unwrap().bootstrapper.security_bits() >= 120.0, "{dense}");
}

/// EvalMod is the cheapest of those that meet the requirements, and the report names the others.
#[test]
fn the_reduction_is_chosen_by_cost() {
    let mut before: Option<ReductionChoice> = None;
    let [coarse, medium] = [6.0, 12.0].map(|bits| endless(1 << 15, 4, bits).choose().unwrap());
    for (bits, choice) in [(6.0, &coarse), (12.0, &medium), (19.0, &*PRECISE)] {
        println!("{choice}\n");
        let bootstrap = choice.bootstrap.as_ref().unwrap();
        let [chosen, others @ ..] = &bootstrap.reductions[..] else { panic!("nothing chosen") };
        // The report is that of the bootstrapper.
        let (spec, mod1) = (bootstrap.bootstrapper.spec(), bootstrap.bootstrapper.reduction());
        assert_eq!((chosen.arcsine, chosen.log_gap), (spec.arcsine, spec.log_gap));
        assert_eq!((chosen.levels, chosen.bound), (mod1.depth(), mod1.bound()));
        assert_eq!(
            chosen.bound,
            overflow_bound(spec.weight, spec.log2_failure - (2.0 * spec.slots as f64).log2())
        );
        assert!(spec.log2_failure <= -60.0 && bootstrap.bootstrapper.security_bits() >= 128.0);
        assert_eq!(chosen.bits, choice.bits);
        let text = choice.to_string();
        assert!(text.contains(&format!("EvalMod: {chosen}")), "{text}");
        // Another arcsine meets the requirements as well, for more time.
        assert!(!others.is_empty(), "{choice}");
        for other in others {
            assert!(other.bits >= bits && other.seconds >= chosen.seconds, "{choice}");
            assert!(other.arcsine != chosen.arcsine && text.contains(&other.to_string()), "{text}");
        }
        // More precision takes more work, or more modulus.
        if let Some(before) = before {
            let more = chosen.seconds > before.seconds || chosen.modulus_bits > before.modulus_bits;
            assert!(more, "{before} {chosen}");
        }
        before = Some(*chosen);
    }
}

/// The full-size set has the EvalMod that the search takes for its slots and precision: 23.8 bits
/// after a bootstrap, in the worst slot except with probability 2^-40. The number of levels between
/// two bootstraps changes neither.
#[test]
fn the_full_set_has_the_reduction_of_the_search() {
    let preset = params_of(Preset::Bootstrapping);
    let bootstrapper = preset.bootstrapper().unwrap();
    let (spec, mod1) = (bootstrapper.spec(), bootstrapper.reduction());
    let choice = &*PRECISE;
    println!("{choice}\n");
    let bootstrap = choice.bootstrap.as_ref().unwrap();
    let (found, chosen) = (bootstrap.bootstrapper.spec(), &bootstrap.reductions[0]);
    assert!((23.5..24.0).contains(&bootstrap.bits), "{choice}");
    assert_eq!(
        (found.arcsine, found.log_gap, found.log_reduction),
        (spec.arcsine, spec.log_gap, spec.log_reduction),
        "{choice}"
    );
    assert_eq!(chosen.levels, mod1.depth(), "{choice}");
    assert_eq!(choice.params.scale(), preset.ckks().scale(), "{choice}");
}

#[test]
fn what_no_bootstrap_gives_names_the_nearest() {
    let base = endless(16, 3, 10.0);
    let error = |r: ProgramBounds| r.choose().unwrap_err();
    let refused = error(ProgramBounds { accuracy: Accuracy::bits(40.0), ..base });
    let ErrorKind::Accuracy { log2_reached: Some(reached) } = refused.kind() else {
        panic!("{refused}")
    };
    let of = |bits| ProgramBounds { accuracy: Accuracy::bits(bits), ..base }.choose();
    assert!(of(-reached).is_ok() && of(1.0 - reached).is_err(), "{reached}");
    let refused = error(ProgramBounds { depth: 60, ..base });
    let words = refused.message().split(" product(s)").nth(1).unwrap();
    let depth = words.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(ProgramBounds { depth, ..base }.choose().is_ok(), "{depth}");
    assert!(refused.to_string().contains("product(s) that follow a bootstrap"), "{refused}");
    // Rings beyond those for which the tables know a sparse secret.
    let wide = error(ProgramBounds { slots: 1 << 16, ..base });
    assert_eq!(*wide.kind(), ErrorKind::Accuracy { log2_reached: None }, "{wide}");
    assert!(wide.message().contains("no set reaches this precision at any depth"), "{wide}");
}
