//! Parameter sets: what the presets reach, and what is refused.

mod common;

use bellerophon::prelude::*;
use bellerophon::{
    Error, ParamsSpec,
    mlwe::{SecretKind, Security},
};
use common::{relu, sigmoid};

#[test]
fn presets_reach_what_they_state() {
    for preset in Preset::ALL {
        let params = Params::preset(preset).unwrap();
        let secure = params.security_bits() >= 128.0;
        assert_eq!(secure, preset != Preset::ToyInsecure, "{params}");
        assert!(params.log2_failure() <= -60.0, "{params}");
        // Room for arithmetic between two look-ups.
        assert!(params.level_after_map() >= params.map_levels() + 2, "{params}");
        assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        assert_eq!(params, Params::preset(preset).unwrap());
        assert!(params.to_string().contains(preset.name()), "{params}");
    }
    assert!("fast".parse::<Preset>().unwrap_err().contains("functions-dense"));
    let sets: Vec<_> = Preset::ALL.map(|p| Params::preset(p).unwrap()).into();
    assert!(sets[0] != sets[1] && sets[1] != sets[2]);
    assert!(sets[0].slots() >= 1 << 13);
}

/// The figures in the documentation of [`Preset`].
#[test]
fn predicted_accuracy_and_key_sizes_are_those_documented() {
    for (preset, bits) in
        [(Preset::Functions, [10.1, 9.0, 7.1]), (Preset::FunctionsDense, [9.3, 8.3, 6.3])]
    {
        let params = Params::preset(preset).unwrap();
        for (f, bits) in [sigmoid, f64::tanh, relu].into_iter().zip(bits) {
            let law = params.map_accuracy(-8.0..=8.0, f).unwrap();
            assert!((law.mean_bits() - bits).abs() < 0.1, "{params}: {}", law.mean_bits());
        }
    }
    let params = Params::preset(Preset::Functions).unwrap();
    let bytes = params.evaluation_key_bytes(&Needs::new().multiply().map()).unwrap();
    assert_eq!(bytes / 1_000_000, 469);
}

#[test]
fn key_sizes_are_predicted_to_the_byte() {
    let needs = Needs::new().multiply().map().rotate([1, -3]).conjugate();
    for needs in [needs, Needs::new(), Needs::new().map(), Needs::new().rotate([5])] {
        let party = common::party(Preset::ToyInsecure, &needs, 1);
        let keys = party.client.evaluation_keys(&needs).unwrap();
        let predicted = party.client.params().evaluation_key_bytes(&needs).unwrap();
        assert_eq!(keys.byte_len(), predicted, "{needs:?}");
    }
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

    // Less noise in the LWE keys, a sparser LWE secret, a sparse ring secret.
    for change in [
        |s: &mut ParamsSpec| s.lookup.sigma = 3.2,
        |s: &mut ParamsSpec| s.lookup.secret = SecretKind::Sparse(64),
        |s: &mut ParamsSpec| s.slots.lattice.secret = SecretKind::Sparse(64),
    ] {
        let mut weak = spec.clone();
        change(&mut weak);
        refused(&weak);
    }
}

fn refused(spec: &ParamsSpec) {
    let error = Params::new(spec.clone()).unwrap_err().to_string();
    assert!(error.contains("128"), "{error}");
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let spec = Preset::ToyInsecure.spec().unwrap();
    let mut other = spec.clone();
    other.lookup.ring_modulus = spec.slots.lattice.q[1];
    assert!(matches!(Params::new(other), Err(Error::Bridge { .. })));
    let mut module = spec.clone();
    module.slots.lattice.rank = 2;
    assert!(matches!(Params::new(module), Err(Error::Bridge { .. })));
    for log2_failure in [f64::NAN, 0.0, 0.5, -1e9] {
        let senseless = ParamsSpec { log2_failure, ..spec.clone() };
        assert!(matches!(Params::new(senseless), Err(Error::Bridge { .. })));
    }
    let mut short = spec;
    short.slots.lattice.q.truncate(9);
    assert!(matches!(Params::new(short), Err(Error::Bridge { .. })));
}
