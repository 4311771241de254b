//! One test suite for every engine: rotations against the definition of the table.

use bellerophon_ring::{ErrorKind, prime};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::ciphertext::Ciphertext;
use crate::encrypt::encrypt;
use crate::engine::{NtruRotation, NtruSpec, RgswGadget};
use crate::error::refusal;
use crate::external_product::tests::phases;
use crate::noise;
use crate::params::ParamsSpec;
use crate::params::tests::{insecure, insecure_ntru};
use crate::test_polynomial::TableDomain;

struct Setup {
    name: &'static str,
    params: Params,
    lwe: SecretKey,
    ring: SecretKey,
    key: BlindRotationKey,
    rng: ChaCha20Rng,
}

/// A window that most gaps exceed at these sizes, and one that few do.
const WINDOWS: [usize; 2] = [2, 16];

/// One parameter set for each engine and variant, without security.
pub(crate) fn specs(dimension: usize, degree: usize) -> [(&'static str, ParamsSpec); 6] {
    let ntru = |rotation| insecure_ntru(dimension, degree, rotation);
    let mut four = ntru(NtruRotation::Ternary);
    if let Engine::Ntru(spec) = &mut four.engine {
        *spec = NtruSpec { base_log: 10, count: 4, ..*spec };
    }
    [
        ("special modulus", insecure(dimension, degree, false)),
        ("digits", insecure(dimension, degree, true)),
        ("NTRU, ternary", ntru(NtruRotation::Ternary)),
        ("NTRU, ternary, four digits", four),
        ("NTRU, any, narrow", ntru(NtruRotation::Any { window: WINDOWS[0] })),
        ("NTRU, any, wide", ntru(NtruRotation::Any { window: WINDOWS[1] })),
    ]
}

fn setup(name: &'static str, spec: ParamsSpec) -> Setup {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let params = Params::new(spec).unwrap();
    let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
    let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
    let key = SeededBlindRotationKey::generate(&params, &lwe, &ring, &mut rng).unwrap();
    let key = key.expand(&params).unwrap();
    Setup { name, params, lwe, ring, key, rng }
}

/// A table whose entries differ everywhere, far above the noise.
fn ramp(params: &Params) -> TestPolynomial {
    let domain = TableDomain::fit(-1.0, 1.0, params.spec().ring_degree, 0).unwrap();
    let encode = |y: f64| (y * (1u64 << 43) as f64).round() as i64;
    TestPolynomial::new(*params.ring_modulus(), domain, |x| x, encode).unwrap()
}

/// Seven standard deviations of the noise of a rotation.
fn max_noise(s: &Setup) -> f64 {
    7.0 * noise::blind_rotation(&s.params, s.lwe.norm2(), s.ring.norm2()).sqrt()
}

fn index(value: &Mod2NCiphertext, secret: &[i64]) -> i64 {
    let mask = value.a().iter().zip(secret);
    let index = value.b() as i64 + mask.map(|(&a, &s)| a as i64 * s).sum::<i64>();
    let half = value.order() as i64 / 2;
    (index + half).rem_euclid(2 * half) - half
}

/// All coefficients of an accumulator against the table, rotated by the index.
fn check(s: &Setup, table: &TestPolynomial, index: i64, accumulator: &Accumulator) {
    let (n, bound) = (table.degree() as i64, max_noise(s));
    assert!(bound < (1u64 << 36) as f64, "{}: steps of the table are 2^37", s.name);
    for (i, phase) in phases(accumulator, &s.ring).into_iter().enumerate() {
        let error = phase - table.entry((index - i as i64 + n).rem_euclid(2 * n) - n);
        assert!((error as f64).abs() < bound, "{}: {index} {i}: {error} of {bound}", s.name);
    }
}

#[test]
fn rotates_by_every_index_and_returns_its_entry() {
    for (name, spec) in specs(8, 64) {
        let mut s = setup(name, spec);
        let table = ramp(&s.params);
        let q = s.params.modulus();
        // The expected indices include the rounding of the mask, so they follow from the exponents.
        let values: Vec<_> = (-64..64)
            .map(|k| {
                let phase = k * q.value() as i64 / 128;
                let value = encrypt(q, &s.lwe, phase, 1.0, &mut s.rng).unwrap();
                s.params.exponents(&value).unwrap()
            })
            .collect();
        let out = blind_rotate_batch(&s.params, &values, &[&table], &s.key).unwrap();
        for (value, accumulator) in values.iter().zip(&out) {
            check(&s, &table, index(value, s.lwe.coefficients()), accumulator);
        }
    }
}

/// All exponents, one coordinate at a time, so that signs, wraps, empty and full gaps between
/// logarithms all occur; and masks of zeros and of the largest exponents.
#[test]
fn every_exponent_of_every_sign_turns_as_it_says() {
    for (name, spec) in specs(8, 64) {
        let s = setup(name, spec);
        let table = ramp(&s.params);
        let q = s.params.modulus();
        let step = if s.params.even_exponents() { 2 } else { 1 };
        let raw = |b: i64, a: Vec<i64>| {
            // The middle of the residues that round to an exponent.
            let residue = |e: i64| (e.rem_euclid(128) * q.value() as i64 / 128) as u64;
            let value = Ciphertext::new(*q, residue(b), a.into_iter().map(residue).collect());
            s.params.exponents(&value.unwrap()).unwrap()
        };
        let one = |j: usize, e: i64| (0..8).map(|i| if i == j { e } else { 0 }).collect();
        let mut values: Vec<_> = (0..8)
            .flat_map(|j| (0..128).step_by(step).map(move |e| (j, e)))
            .map(|(j, e)| raw(3, one(j, e)))
            .collect();
        for e in [0, 2, 62, 64, 66, 126] {
            values.extend([raw(127, vec![e; 8]), raw(64, (0..8).map(|i| e * (i + 1)).collect())]);
        }
        let out = blind_rotate_batch(&s.params, &values, &[&table], &s.key).unwrap();
        for (value, accumulator) in values.iter().zip(&out) {
            check(&s, &table, index(value, s.lwe.coefficients()), accumulator);
        }
    }
}

/// Every border between two cells of a small table, from both sides, with phases in clear, so that
/// only the rounding of `b` decides.
#[test]
fn cell_borders_round_to_the_nearest_index() {
    for (name, spec) in specs(8, 64) {
        let s = setup(name, spec);
        let table = ramp(&s.params);
        let q = s.params.modulus();
        let mut values = Vec::new();
        let mut expected = Vec::new();
        for k in -64..64i64 {
            let border = (2 * k as i128 + 1) * q.value() as i128;
            let below = border.div_euclid(256) as i64;
            for (phase, index) in [(below, k), (below + 1, k + 1)] {
                let value = Ciphertext::trivial(*q, 8, phase);
                values.push(s.params.exponents(&value).unwrap());
                expected.push(if index == 64 { -64 } else { index });
            }
        }
        let out = blind_rotate_batch(&s.params, &values, &[&table], &s.key).unwrap();
        for (accumulator, index) in out.iter().zip(expected) {
            check(&s, &table, index, accumulator);
        }
        // The signs and the wrap explicitly: the top of the table, then minus the bottom.
        let value = |k| table.domain().argument(k) * (1u64 << 43) as f64;
        assert_eq!(table.entry(31) as f64, value(31).round());
        assert_eq!(table.entry(32) as f64, -value(-32).round());
        assert_eq!(table.entry(-32) as f64, value(-32).round());
        assert_eq!(table.entry(-33) as f64, -value(31).round());
    }
}

#[test]
fn a_batch_is_its_values_and_tables_may_differ() {
    for (name, spec) in specs(8, 64) {
        let mut s = setup(name, spec);
        let (up, down) = (ramp(&s.params), {
            let domain = TableDomain::fit(-1.0, 1.0, 64, 0).unwrap();
            let encode = |y: f64| (y * -1e12) as i64;
            TestPolynomial::new(*s.params.ring_modulus(), domain, |x| x, encode).unwrap()
        });
        let values: Vec<_> = (0..37)
            .map(|i| {
                let value = encrypt(s.params.modulus(), &s.lwe, i << 20, 1.0, &mut s.rng).unwrap();
                s.params.exponents(&value).unwrap()
            })
            .collect();
        let tables: Vec<_> = (0..37).map(|i| if i % 2 == 0 { &up } else { &down }).collect();
        let batch = blind_rotate_batch(&s.params, &values, &tables, &s.key).unwrap();
        for ((value, table), expected) in values.into_iter().zip(tables).zip(&batch) {
            let alone = blind_rotate_batch(&s.params, &[value], &[table], &s.key).unwrap();
            assert_eq!(&alone[0], expected);
        }
    }
}

/// The general rotation accepts any secret, with coordinates of any size and sign. The others
/// reject it.
#[test]
fn secrets_need_not_be_ternary() {
    let secret = [5, -3, 0, 1, -1, 64, 127, -1000];
    let wide = SecretKey::from_coefficients(zeroize::Zeroizing::new(secret.to_vec())).unwrap();
    let generate = |s: &mut Setup, lwe: &SecretKey, ring: &SecretKey| {
        SeededBlindRotationKey::generate(&s.params, lwe, ring, &mut s.rng)
    };
    for (name, spec) in specs(8, 64) {
        let mut s = setup(name, spec);
        let (lwe, ring) = (s.lwe.clone(), s.ring.clone());
        let takes = generate(&mut s, &wide, &ring).is_ok();
        assert_eq!(takes, s.params.even_exponents(), "{}", s.name);
        let coefficients = vec![2; 64].into();
        let ring = SecretKey::from_coefficients(coefficients).unwrap();
        let error = generate(&mut s, &lwe, &ring).unwrap_err();
        assert!(error.is(&ErrorKind::Shape, "secret key"), "{error}");
    }
    let mut s = setup("NTRU, any", insecure_ntru(8, 64, NtruRotation::Any { window: 4 }));
    let ring = s.ring.clone();
    s.key = generate(&mut s, &wide, &ring).unwrap().expand(&s.params).unwrap();
    let table = ramp(&s.params);
    let values: Vec<_> = (0..64)
        .map(|i| {
            let value = encrypt(s.params.modulus(), &s.lwe, i << 22, 1.0, &mut s.rng).unwrap();
            s.params.exponents(&value).unwrap()
        })
        .collect();
    let out = blind_rotate_batch(&s.params, &values, &[&table], &s.key).unwrap();
    for (value, accumulator) in values.iter().zip(&out) {
        check(&s, &table, index(value, &secret), accumulator);
    }
}

#[test]
fn wrong_operands_are_refused() {
    for (name, spec) in specs(8, 64) {
        let s = setup(name, spec);
        let table = ramp(&s.params);
        let value = Ciphertext::trivial(*s.params.modulus(), 8, 0);
        let good = s.params.exponents(&value).unwrap();
        let run =
            |values: &[Mod2NCiphertext], tables: &[&TestPolynomial], key: &BlindRotationKey| {
                blind_rotate_batch(&s.params, values, tables, key).unwrap_err()
            };
        let error = run(std::slice::from_ref(&good), &[&table, &table], &s.key);
        assert_eq!(error, error::table_count(2, 1));
        let coarse = Mod2NCiphertext::on_grid(&value, 32, 1).unwrap();
        assert!(run(&[coarse], &[&table], &s.key).is(&ErrorKind::Shape, "dimension 32 where"));
        let long = Ciphertext::trivial(*s.params.modulus(), 16, 0);
        let long = Mod2NCiphertext::on_grid(&long, 64, 1).unwrap();
        assert!(run(&[long], &[&table], &s.key).is(&ErrorKind::Shape, "dimension 16 where"));
        for (name, other) in specs(16, 64) {
            let other = setup(name, other);
            let error = run(std::slice::from_ref(&good), &[&table], &other.key);
            assert!(error.is(&ErrorKind::Shape, "dimension 16 where 8 is needed"));
        }
        for (name, other) in specs(8, 64) {
            let (same, key) = (other == *s.params.spec(), setup(name, other).key);
            let result =
                blind_rotate_batch(&s.params, std::slice::from_ref(&good), &[&table], &key);
            assert_eq!(result.is_ok(), same, "a key of another engine");
        }
        let wide = ramp(&Params::new(insecure(8, 128, false)).unwrap());
        assert!(
            run(std::slice::from_ref(&good), &[&wide], &s.key).is(&ErrorKind::Shape, "is needed")
        );
        let domain = *table.domain();
        let foreign = TestPolynomial::new(*s.params.modulus(), domain, |x| x, |_| 0).unwrap();
        assert!(
            run(&[good], &[&foreign], &s.key)
                .is(&ErrorKind::ParamsMismatch, "is needed; switch the modulus first")
        );
        assert!(blind_rotate_batch(&s.params, &[], &[&table], &s.key).unwrap().is_empty());
        let odd = Ciphertext::new(*s.params.modulus(), 0, vec![1 << 21; 8]).unwrap();
        let odd = Mod2NCiphertext::on_grid(&odd, 64, 1).unwrap();
        let result = blind_rotate_batch(&s.params, &[odd], &[&table], &s.key);
        assert_eq!(result.is_ok(), !s.params.even_exponents(), "{}", s.name);
    }
}

/// Keys of equal length and of other parameters are rejected: other primes of both kinds, digits of
/// other widths, and other digit counts of product and ring key switch with the same sum.
#[test]
fn keys_of_other_gadgets_and_moduli_are_refused() {
    let rotation = NtruRotation::Any { window: 1 };
    let base = insecure_ntru(8, 64, rotation);
    let ntru = |change: &dyn Fn(&mut NtruSpec)| {
        let mut engine = *base.engine.ntru().unwrap();
        change(&mut engine);
        ParamsSpec { engine: Engine::Ntru(engine), ..base.clone() }
    };
    let primes = |bits| {
        let primes = prime::ntt_primes_below(64, bits, 2, &[]).unwrap();
        [0, 1].map(|i| primes[i].value())
    };
    let ternary = |count, switch_count| {
        ntru(&|spec| {
            *spec = NtruSpec { count, switch_count, rotation: NtruRotation::Ternary, ..*spec }
        })
    };
    let counts = |count, switch_count| {
        ntru(&|spec| *spec = NtruSpec { base_log: 10, count, switch_count, ..*spec })
    };
    let of_q0 = |spec: &ParamsSpec| {
        primes(45).map(|ring_modulus| ParamsSpec { ring_modulus, ..spec.clone() })
    };
    let gadgets = |gadgets: [RgswGadget; 2]| {
        gadgets.map(|gadget| ParamsSpec { engine: Engine::Rgsw(gadget), ..insecure(8, 64, false) })
    };
    let digits = |base_log| RgswGadget::Digits { base_log, count: 2 };
    let pairs = [
        [14, 15].map(|base_log| ntru(&|spec| spec.base_log = base_log)),
        [11, 12].map(|base_log| ntru(&|spec| spec.switch_base_log = base_log)),
        primes(44).map(|modulus| ntru(&|spec| spec.modulus = modulus)),
        of_q0(&base),
        // (1 + 8 + 2 + 1) 3 + 2 = (1 + 8 + 2 + 1) 2 + 14, and for the ternary form
        // 17 + 40 = 51 + 6.
        [counts(3, 1), counts(2, 7)],
        [ternary(1, 20), ternary(3, 3)],
        gadgets([15, 16].map(digits)),
        gadgets(primes(50).map(|modulus| RgswGadget::SpecialModulus { modulus })),
        of_q0(&insecure(8, 64, false)),
        of_q0(&insecure(8, 64, true)),
    ];
    for pair in pairs {
        let [mut own, other] = pair.map(|spec| setup("one of a pair", spec));
        assert_eq!(own.key.memory_bytes(), other.key.memory_bytes());
        let seeded =
            SeededBlindRotationKey::generate(&own.params, &own.lwe, &own.ring, &mut own.rng);
        let expanded = seeded.unwrap().expand(&other.params);
        assert!(refusal(&expanded).is(&ErrorKind::Parameters, "parameter engine ="));
        for (s, key, fits) in [
            (&own, &own.key, true),
            (&own, &other.key, false),
            (&other, &own.key, false),
            (&other, &other.key, true),
        ] {
            let value = Ciphertext::trivial(*s.params.modulus(), 8, 0);
            let exponents = s.params.exponents(&value).unwrap();
            let out = blind_rotate_batch(&s.params, &[exponents], &[&ramp(&s.params)], key);
            let engine =
                |e: &bellerophon_ring::Error| e.is(&ErrorKind::Parameters, "parameter engine =");
            let refused = out.as_ref().is_err_and(engine);
            assert_eq!((out.is_ok(), refused), (fits, !fits), "{:?}", s.params.spec());
        }
    }
}

#[test]
fn seeded_keys_expand_alike_and_know_their_size() {
    for (name, spec) in specs(8, 64) {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let params = Params::new(spec).unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
        let seeded = SeededBlindRotationKey::generate(&params, &lwe, &ring, &mut rng).unwrap();
        let key = seeded.expand(&params).unwrap();
        assert!(key == seeded.expand(&params).unwrap());
        let q0 = params.ring_modulus().bits() as usize;
        // Coordinates, words in memory of each, serialized bits of each coefficient. For NTRU also
        // NTRU' of 1 / f, other ciphertexts, and the ring key switch with 3 digits of q0.
        let (words, bits) = match name {
            "special modulus" => (8 * 2 * 2 * 2 * 2, 8 * 2 * 2 * (q0 + 50)),
            "digits" => (8 * 2 * 4 * 2, 8 * 2 * 4 * q0),
            "NTRU, ternary" => ((1 + 16) * 2 + 6, 17 * 2 * 44 + 3 * q0),
            "NTRU, ternary, four digits" => ((1 + 16) * 4 + 6, 17 * 4 * 44 + 3 * q0),
            "NTRU, any, narrow" => ((1 + 8 + 4) * 2 + 6, 13 * 2 * 44 + 3 * q0),
            _ => ((1 + 8 + 18) * 2 + 6, 27 * 2 * 44 + 3 * q0),
        };
        assert_eq!(key.memory_bytes(), words * 64 * 8, "{name}");
        assert_eq!(SeededBlindRotationKey::byte_len(&params), 32 + bits * 64 / 8, "{name}");
        let wrong = SeededBlindRotationKey::generate(&params, &ring, &ring, &mut rng);
        assert!(refusal(&wrong).is(&ErrorKind::Shape, "is needed"));
    }
}

/// The tail of the normal distribution beyond `t`, by Simpson's rule over twelve deviations.
fn normal_tail(t: f64) -> f64 {
    let (steps, width) = (2400, 12.0 / 2400.0);
    let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { [2.0, 4.0][i as usize % 2] };
    (0..=steps).map(|i| weight(i) * density(t + f64::from(i) * width)).sum::<f64>() * width / 3.0
}

/// Forty thousand look-ups of a value near the end of its table. The number of wraps agrees
/// with the estimate, [`noise::guard`] is conservative, and all returned entries are correct.
#[test]
fn values_leave_their_table_as_often_as_estimated() {
    let mut spec = insecure_ntru(32, 128, NtruRotation::Ternary);
    // One digit suffices, because the index is tested.
    if let Engine::Ntru(ntru) = &mut spec.engine {
        *ntru = NtruSpec { base_log: 21, count: 1, ..*ntru };
    }
    let mut s = setup("NTRU, one digit", spec);
    let (q, total) = (s.params.modulus(), 40_000);
    let variance = noise::index_error(&s.params, s.lwe.norm2(), 1.0);
    let guard = (2.5 * variance.sqrt()).round() as i64;
    let domain = TableDomain::fit(-1.0, 1.0, 128, 0).unwrap();
    let eighth = s.params.ring_modulus().value() as i64 / 8;
    let ones = TestPolynomial::new(*s.params.ring_modulus(), domain, |_| 1.0, |_| eighth).unwrap();
    let phase = (64 - guard) * q.value() as i64 / 256;
    let mut wrapped = 0;
    for _ in 0..total / 1000 {
        let values: Vec<_> = (0..1000)
            .map(|_| {
                let value = encrypt(q, &s.lwe, phase, 1.0, &mut s.rng).unwrap();
                s.params.exponents(&value).unwrap()
            })
            .collect();
        let out = blind_rotate_batch(&s.params, &values, &[&ones], &s.key).unwrap();
        for (value, accumulator) in values.iter().zip(&out) {
            let found =
                crate::encrypt::phase(&accumulator.sample_extract(0).unwrap(), &s.ring).unwrap();
            let inside = (-64..64).contains(&index(value, s.lwe.coefficients()));
            assert!((found.abs() - eighth).abs() < eighth / 2, "{found}");
            assert_eq!(found > 0, inside);
            wrapped += usize::from(!inside);
        }
    }
    // Indices from 64 on are outside.
    let estimate = normal_tail((guard as f64 - 0.5) / variance.sqrt()) * f64::from(total);
    let ratio = wrapped as f64 / estimate;
    assert!((0.7..1.4).contains(&ratio), "{wrapped} of {estimate}");
    let bits = (2.0 * wrapped as f64 / f64::from(total)).log2();
    assert!(noise::guard(variance, bits) >= guard as usize, "{bits}");
}
