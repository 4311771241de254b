//! Tests of parameter sets, and the small sets that other tests use.

use bellerophon_ring::ErrorKind;
use bellerophon_ring::prime::{ntt_primes_around, ntt_primes_below};

use super::*;
use crate::engine::NtruSpec;

/// Small dimensions without any security, with primes of realistic sizes.
pub(crate) fn insecure(dimension: usize, ring_degree: usize, digits: bool) -> ParamsSpec {
    let q0 = ntt_primes_around(ring_degree, 45, 1, &[]).unwrap()[0];
    let special = ntt_primes_below(ring_degree, 50, 1, &[q0]).unwrap()[0].value();
    ParamsSpec {
        dimension,
        modulus: ntt_primes_below(dimension, 28, 1, &[]).unwrap()[0].value(),
        secret: SecretKind::Ternary,
        sigma: 3.2,
        key_switch_base_log: 2,
        key_switch_digits: 14,
        ring_degree,
        ring_modulus: q0.value(),
        engine: Engine::Rgsw(if digits {
            RgswGadget::Digits { base_log: 16, count: 2 }
        } else {
            RgswGadget::SpecialModulus { modulus: special }
        }),
        ring_secret: SecretKind::Ternary,
        ring_sigma: 3.2,
        security: Security::Insecure,
    }
}

/// As [`insecure`], with an NTRU engine of 44 bits and two digits.
pub(crate) fn insecure_ntru(
    dimension: usize,
    ring_degree: usize,
    rotation: NtruRotation,
) -> ParamsSpec {
    let modulus = ntt_primes_below(ring_degree, 44, 1, &[]).unwrap()[0].value();
    let engine = Engine::Ntru(NtruSpec {
        modulus,
        base_log: 15,
        count: 2,
        rotation,
        switch_base_log: 12,
        switch_count: 3,
    });
    ParamsSpec { engine, ..insecure(dimension, ring_degree, false) }
}

/// As [`insecure_ntru`], with digits that drop 16 bits, which cause most of the noise of a
/// product.
pub(crate) fn insecure_ntru_that_drops(
    dimension: usize,
    ring_degree: usize,
    rotation: NtruRotation,
) -> ParamsSpec {
    let mut spec = insecure_ntru(dimension, ring_degree, rotation);
    if let Engine::Ntru(ntru) = &mut spec.engine {
        ntru.base_log = 14;
    }
    spec
}

/// The numbers of the preset for functions: n = 1024 with weight 192, degree 4096.
pub(crate) fn real(digits: bool) -> ParamsSpec {
    ParamsSpec {
        secret: SecretKind::Sparse(192),
        sigma: 56.0,
        security: Security::Bits128,
        ..insecure(1024, 4096, digits)
    }
}

#[test]
fn the_real_set_is_secure_and_says_so() {
    let params = Params::new(real(false)).unwrap();
    assert!(params.security_bits() >= 128.0);
    assert_eq!(params.rgsw().unwrap().ring().limbs(), 2);
    assert_eq!(params.spec().dimension, 1024);
    let params = Params::new(real(true)).unwrap();
    assert!(params.security_bits() >= 128.0);
    assert_eq!(params.rgsw().unwrap().ring().limbs(), 1);
}

/// Computed by hand: six and eight transforms for each coordinate for RGSW. For NTRU with two
/// digits three for each coordinate and for the initial accumulator, and five for the ring key
/// switch.
#[test]
fn work_is_counted() {
    let count = |spec| {
        let params = Params::new(spec).unwrap();
        (params.transforms(), params.products(), params.multiplications())
    };
    let butterflies = |transforms: f64| transforms * 32.0 * 6.0;
    let digits = count(insecure(8, 64, true));
    assert_eq!(digits, (48.0, 64.0, butterflies(48.0) + 64.0 * (2.0 * 64.0 + 32.0)));
    let special = count(insecure(8, 64, false));
    assert_eq!(special, (64.0, 64.0, butterflies(64.0) + 64.0 * (2.0 * 64.0 + 64.0)));
    let ternary = count(insecure_ntru(8, 64, NtruRotation::Ternary));
    assert_eq!(ternary, (32.0, 24.0, butterflies(32.0) + 64.0 * (2.0 * 24.0 + 16.0)));
    let (transforms, products, _) = count(insecure_ntru(8, 64, NtruRotation::Any { window: 31 }));
    let external = 1.0 + 9.0 + expected_automorphisms(8, 64, 31);
    assert_eq!((transforms, products), (3.0 * external + 5.0, 2.0 * external + 6.0));
}

#[test]
fn insecure_sets_are_refused_by_the_name_of_their_key() {
    let weak_lwe = ParamsSpec { sigma: 28.0, ..real(false) };
    let error = Params::new(weak_lwe.clone()).unwrap_err();
    assert!(error.is(&ErrorKind::Insecure, "LWE key-switching key ("), "{error}");
    let weak_ring = ParamsSpec { ring_secret: SecretKind::Sparse(64), ..real(false) };
    let error = Params::new(weak_ring).unwrap_err();
    assert!(error.is(&ErrorKind::Insecure, "blind-rotation key ("), "{error}");
    let small = ParamsSpec { security: Security::Bits128, ..insecure(64, 64, false) };
    let error = Params::new(small).unwrap_err();
    assert!(error.to_string().contains("a case in the tables"), "{error}");
    let weak = ParamsSpec { security: Security::Insecure, ..weak_lwe };
    assert!(Params::new(weak).unwrap().security_bits() < 128.0);
}

/// `n = 1024`, `q` below `2^24`, `sigma = 0.5`: within the bound on `q / sigma`, and 125.5 bits
/// by usvp.
#[test]
fn errors_narrower_than_tabulated_are_refused() {
    let modulus = ntt_primes_below(1024, 24, 1, &[]).unwrap()[0].value();
    let spec = |sigma: f64| ParamsSpec {
        modulus,
        secret: SecretKind::Ternary,
        sigma,
        key_switch_base_log: 2,
        key_switch_digits: 12,
        ..real(true)
    };
    let ratio = (modulus as f64).log2() - 0.5f64.log2();
    assert!(ratio <= lwe_max_log2_q_over_sigma(1024, SecretKind::Ternary).unwrap());
    for security in [Security::Bits128, Security::Bits128Classical] {
        for sigma in [0.5, 3.0, 3.199] {
            let error = Params::new(ParamsSpec { security, ..spec(sigma) }).unwrap_err();
            assert!(error.is(&ErrorKind::Parameters, "parameter sigma ="), "{error}");
            assert!(error.to_string().contains("3.2"), "{error}");
            let narrow = ParamsSpec { security, ring_sigma: sigma, ..spec(3.2) };
            let error = Params::new(narrow).unwrap_err();
            assert!(error.is(&ErrorKind::Parameters, "is not supported: need"), "{error}");
        }
    }
    assert!(Params::new(spec(3.2)).unwrap().security_bits() >= 128.0);
    let insecure = Params::new(ParamsSpec { security: Security::Insecure, ..spec(0.5) });
    assert_eq!(insecure.unwrap().security_bits(), 0.0, "nothing is known of it");
}

/// A wide LWE secret has the bound of a ternary one: at n = 1024 log2(q / sigma) = 25.
#[test]
fn wide_secrets_are_as_secure_as_ternary_ones() {
    let of = |secret, sigma| {
        let mut any = crate::presets::NtruSet::N4096.spec().unwrap();
        if let Engine::Ntru(ntru) = &mut any.engine {
            ntru.rotation = NtruRotation::Any { window: 16 };
        }
        Params::new(ParamsSpec { secret, sigma, ..any })
    };
    let wide = SecretKind::Bounded(4);
    assert_eq!(of(wide, 12.0).unwrap().security_bits(), {
        of(SecretKind::Ternary, 12.0).unwrap().security_bits()
    });
    let error = of(wide, 7.0).unwrap_err();
    let what = "LWE key-switching key (uniform from -4 to 4";
    assert!(error.is(&ErrorKind::Insecure, what), "{error}");
}

#[test]
fn bad_fields_are_named() {
    let good = insecure(64, 64, false);
    let [ternary, any] = [NtruRotation::Ternary, NtruRotation::Any { window: 16 }]
        .map(|rotation| insecure_ntru(64, 64, rotation));
    let cases = [
        (ParamsSpec { dimension: 48, ..good.clone() }, "dimension"),
        (ParamsSpec { sigma: 0.1, ..good.clone() }, "sigma"),
        (ParamsSpec { ring_sigma: f64::NAN, ..good.clone() }, "ring_sigma"),
        (ParamsSpec { secret: SecretKind::Sparse(65), ..good.clone() }, "secret"),
        (ParamsSpec { ring_secret: SecretKind::Sparse(0), ..good.clone() }, "ring_secret"),
        (ParamsSpec { secret: SecretKind::Bounded(4), ..good.clone() }, "secret"),
        (ParamsSpec { secret: SecretKind::Bounded(4), ..insecure(64, 64, true) }, "secret"),
        (ParamsSpec { secret: SecretKind::Bounded(4), ..ternary }, "secret"),
        (ParamsSpec { secret: SecretKind::Bounded(0), ..any.clone() }, "secret"),
        (ParamsSpec { secret: SecretKind::Bounded(1 << 16), ..any.clone() }, "secret"),
        (ParamsSpec { ring_secret: SecretKind::Bounded(2), ..any }, "ring_secret"),
    ];
    for (spec, name) in cases {
        let error = Params::new(spec).unwrap_err();
        assert!(error.is(&ErrorKind::Parameters, &format!("parameter {name} = ")), "{error}");
    }
    assert!(Params::new(ParamsSpec { modulus: 1 << 20, ..good.clone() }).is_err());
    assert!(Params::new(ParamsSpec { ring_modulus: 97, ..good }).is_err());
}
