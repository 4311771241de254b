//! Exactness, work and noise, from both sides; misfits.

use std::collections::BTreeMap;

use bellerophon_lwe as lwe;
use bellerophon_mlwe::Security;
use bellerophon_ring::{ErrorKind, prime};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::{pack::pack_in_batches, *};
use crate::error::refusal;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Toy parameters over one prime in digits.
pub(crate) fn digits(degree: usize, plain: u64, base_log: u32, count: usize) -> Params {
    let q = prime::ntt_primes_below(degree, 50, 1, &[]).unwrap();
    let gadget = KeyGadget::Digits { base_log, count };
    let q = vec![q[0].value()];
    let security = Security::Insecure;
    Params::new(ParamsSpec { degree, q, plain, gadget, sigma: 3.2, security }).unwrap()
}

/// Toy parameters over several primes and a special one.
pub(crate) fn special(degree: usize, plain: u64, limbs: usize) -> Params {
    let primes = prime::ntt_primes_below(degree, 50, limbs + 1, &[]).unwrap();
    let value = |i: usize| primes[i].value();
    let q = (1..=limbs).map(value).collect();
    let gadget = KeyGadget::Special(vec![value(0)]);
    let security = Security::Insecure;
    Params::new(ParamsSpec { degree, q, plain, gadget, sigma: 3.2, security }).unwrap()
}

/// The coefficients of `X^k`.
fn monomial(degree: usize, k: usize) -> Vec<u64> {
    let mut coefficients = vec![0; degree];
    coefficients[k] = 1;
    coefficients
}

/// Variance of `phase - round(Q m / t)` modulo the first prime, given the places that hold
/// something.
fn variance(secret: &SecretKey, ct: &Ciphertext, expected: &[u64], places: &[usize]) -> f64 {
    let params = secret.params();
    let ct = ct.clone().to_one_limb(params).unwrap();
    let ring = params.ring().at_limbs(1);
    let mut phase = ct.b.clone();
    ring.mul_add_assign(&mut phase, &ct.a, &secret.ntt().limb_range(0..1));
    let phase = ring.inverse(phase);
    let q = ring.modulus(0);
    let error = |&i: &usize| {
        let (m, t) = (i128::from(params.center(expected[i])), i128::from(params.plain()));
        let exact = q.from_i128((m * i128::from(q.value())).div_euclid(t));
        (q.center(q.sub(phase.limb(0)[i], exact)) as f64).powi(2)
    };
    places.iter().map(error).sum::<f64>() / places.len() as f64
}

#[track_caller]
fn assert_close(measured: f64, predicted: f64, factor: f64) {
    let ratio = measured / predicted;
    assert!(ratio < factor && ratio > 1.0 / factor, "measured {measured}, predicted {predicted}");
}

/// `x y` modulo `t` and `X^N + 1`.
fn product(x: &[u64], y: &[u64], t: u64) -> Vec<u64> {
    let n = x.len();
    let mut out = vec![0; n];
    for (i, &x) in x.iter().enumerate() {
        for (j, &y) in y.iter().enumerate() {
            let term = (u128::from(x) * u128::from(y) % u128::from(t)) as u64;
            let place = &mut out[(i + j) % n];
            *place = (*place + if i + j < n { term } else { t - term }) % t;
        }
    }
    out
}

#[test]
fn plaintexts_are_exact_modulo_any_t() {
    // Even, prime, tiny, large.
    let sets = [2, 256, 65537, 1 << 20]
        .into_iter()
        .flat_map(|plain| [digits(64, plain, 12, 3), special(64, plain, 1), special(64, plain, 3)]);
    for params in sets.chain([special(64, 1 << 32, 3)]) {
        let plain = params.plain();
        let mut random = rng(plain);
        let secret = SecretKey::generate(&params, &mut random).unwrap();
        let mut draw = |below: u64| -> Vec<u64> {
            let mut m: Vec<u64> = (0..64).map(|_| random.random_range(0..below)).collect();
            m[..3].copy_from_slice(&[0, below - 1, below / 2]);
            m
        };
        let (x, y) = (draw(plain), draw(plain));
        let ct = secret.encrypt(&x, &mut rng(1)).unwrap();
        assert_eq!(*secret.decrypt(&ct).unwrap(), x);
        let mut sum = ct.clone();
        sum.add_assign(&params, &secret.encrypt(&y, &mut rng(2)).unwrap()).unwrap();
        let expected: Vec<u64> = x.iter().zip(&y).map(|(x, y)| (x + y) % plain).collect();
        assert_eq!(*secret.decrypt(&sum).unwrap(), expected);
        // A monomial as a message and as a factor.
        let mut moved = secret.encrypt(&monomial(64, 5), &mut rng(3)).unwrap();
        moved.mul_monomial_assign(&params, 60).unwrap();
        let mut expected = vec![0; 64];
        expected[1] = plain - 1;
        assert_eq!(*secret.decrypt(&moved).unwrap(), expected);
        // Products with any factor, of a monomial and of any polynomial.
        let factor = Plaintext::new(&params, &y).unwrap();
        let monomial = monomial(64, 63);
        let mut chosen = secret.encrypt(&monomial, &mut rng(4)).unwrap();
        chosen.mul_plain_assign(&params, &factor).unwrap();
        let expected = product(&monomial, &y, plain);
        assert_eq!(*secret.decrypt(&chosen).unwrap(), expected, "{plain}");
        let mut any = ct;
        any.mul_plain_assign(&params, &factor).unwrap();
        assert_eq!(*secret.decrypt(&any).unwrap(), product(&x, &y, plain), "{plain}");
    }
}

/// A factor whose norms everybody may know.
fn known(params: &Params, coefficients: &[u64]) -> Plaintext {
    let sum = |f: fn(f64) -> f64| coefficients.iter().map(|&m| f(params.center(m) as f64)).sum();
    let norms = Norms { sum: sum(f64::abs), squares: sum(|c| c * c) };
    Plaintext::declared(params, coefficients, norms).unwrap()
}

/// Noise of products follows from what is declared of a factor and not from the factor.
#[test]
fn factors_do_not_show_in_the_noise() {
    let params = digits(64, 257, 9, 4);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let ct = secret.encrypt(&[1; 64], &mut rng(2)).unwrap();
    let times = |factor: &Plaintext| {
        let mut ct = ct.clone();
        ct.mul_plain_assign(&params, factor).unwrap();
        ct.noise()
    };
    let (zero, half) = ([0; 64], [128; 64]);
    let any = |m: &[u64]| times(&Plaintext::new(&params, m).unwrap());
    assert_eq!(any(&zero), any(&half));
    let norms = Norms { sum: 64.0, squares: 64.0 };
    let small = |m: &[u64]| Plaintext::declared(&params, m, norms);
    let ones: Vec<u64> = (0..64).map(|i| if i % 2 == 0 { 1 } else { 256 }).collect();
    assert_eq!(times(&small(&zero).unwrap()), times(&small(&ones).unwrap()));
    assert!(times(&small(&zero).unwrap()).variance() < any(&zero).variance());
    let refused = small(&half).unwrap_err();
    assert!(
        refused.is(&ErrorKind::Argument, "is not supported: need")
            && !refused.to_string().contains("128")
    );
}

/// What is encrypted is off by half at most, over one prime and over several.
#[test]
fn plaintexts_are_scaled_and_rounded() {
    for (bits, limbs) in [(1, 1), (16, 1), (23, 1), (32, 3)] {
        for plain in [1u64 << bits, (1 << bits) - 1, 3 << (bits - 1) >> 1] {
            let plain = plain.max(2);
            let params = special(8, plain, limbs);
            let (ring, scale) = (params.ring(), params.scale());
            let random = (0..100u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % plain);
            for m in random.chain([0, 1, plain / 2, plain - 1]) {
                let exact = (ring.big_modulus() * m + plain / 2) / plain;
                for (limb, q) in ring.moduli().enumerate() {
                    let found = scale.apply(limb, q, m);
                    assert_eq!(&exact % q.value(), found.into(), "{plain} {m} {limb}");
                }
            }
        }
    }
}

/// At the named set, every coefficient of messages and factors at the bound where `floor(Q / t) m`
/// fails.
#[test]
fn products_of_any_polynomials_are_right_at_full_size() {
    for plain in [65521, 65537, 1 << 17] {
        let params = Params::new(ParamsSpec::lookup(plain).unwrap()).unwrap();
        let mut random = rng(plain);
        let secret = SecretKey::generate(&params, &mut random).unwrap();
        let mut draw = || (0..2048).map(|_| random.random_range(0..plain)).collect();
        let (x, y): (Vec<u64>, Vec<u64>) = (draw(), draw());
        let factor = Plaintext::new(&params, &y).unwrap();
        let mut ct = secret.encrypt(&x, &mut rng(1)).unwrap();
        ct.mul_plain_assign(&params, &factor).unwrap();
        assert!(ct.noise().log2_failure(&params, 1) < -40.0);
        assert_eq!(*secret.decrypt(&ct).unwrap(), product(&x, &y, plain), "{plain}");
    }
    // Here no fresh ciphertext has the room.
    let params = Params::new(ParamsSpec::lookup(1 << 20).unwrap()).unwrap();
    let secret = SecretKey::generate(&params, &mut rng(2)).unwrap();
    let mut ct = secret.encrypt(&[1; 2048], &mut rng(3)).unwrap();
    let factor = Plaintext::new(&params, &[1 << 19; 2048]).unwrap();
    let refused = ct.mul_plain_assign(&params, &factor).unwrap_err();
    assert!(refused.is(&ErrorKind::Noise, "use a smaller t or domain, or parameters"), "{refused}");
}

#[test]
fn rounding_is_that_of_the_rational_number() {
    for plain in [2, 3, 65537, 1 << 23] {
        let params = digits(8, plain, 12, 3);
        let q = params.ring().modulus(0).value();
        let rounding = super::encrypt::Rounding::new(&params);
        let cells = (0..200u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q);
        let borders = [0, 1, plain / 2, plain - 1].into_iter().flat_map(|m| {
            let border = ((2 * u128::from(m) + 1) * u128::from(q) / (2 * u128::from(plain))) as u64;
            [border - 1, border, (border + 1) % q]
        });
        for x in cells.chain(borders).chain([0, 1, q / 2, q - 1]) {
            let exact = (u128::from(x) * u128::from(plain) + u128::from(q / 2)) / u128::from(q);
            assert_eq!(rounding.round(x), (exact % u128::from(plain)) as u64, "{plain} {x}");
        }
    }
}

#[test]
fn fresh_products_and_zeros_have_the_predicted_noise() {
    for params in [digits(512, 65537, 12, 3), special(512, 65537, 2)] {
        let mut random = rng(1);
        let secret = SecretKey::generate(&params, &mut random).unwrap();
        let all: Vec<usize> = (0..512).collect();
        let one = |variance| noise::to_one_limb(&params, params.limbs(), variance);
        let message = monomial(512, 9);
        let ct = secret.encrypt(&message, &mut random).unwrap();
        let measured = variance(&secret, &ct, &message, &all);
        assert_close(measured, one(noise::fresh(&params)), 1.3);
        let mut factor: Vec<u64> = (0..512).map(|_| random.random_range(0..65537)).collect();
        factor[0] = 32768;
        let norm2 = factor.iter().map(|&m| (params.center(m) as f64).powi(2)).sum();
        let mut chosen = ct;
        chosen.mul_plain_assign(&params, &known(&params, &factor)).unwrap();
        // Coefficients of one product share the factor: several of them.
        let expected = product(&message, &factor, 65537);
        let measured = variance(&secret, &chosen, &expected, &all);
        let predicted = noise::product(noise::fresh(&params), norm2);
        // What the rounding leaves is below t / 4, which counts where the noise is small.
        assert_close(measured, one(predicted), 1.35);
        let public = PublicKey::generate(&secret, &mut random);
        let zero = public.zero(&params, &mut random).unwrap();
        let measured = variance(&secret, &zero, &vec![0; 512], &all);
        assert_close(measured, one(noise::public_zero(&params)), 1.5);
    }
}

/// What a ciphertext says of its noise is so, and no more than that: sums of one and the same, a
/// product, a product of a product, one limb of several, packed.
#[test]
fn ciphertexts_know_their_noise() {
    for params in [digits(512, 257, 12, 4), special(512, 257, 2)] {
        let mut random = rng(11);
        let secret = SecretKey::generate(&params, &mut random).unwrap();
        let all: Vec<usize> = (0..512).collect();
        let measured = |ct: &Ciphertext, m: &[u64]| variance(&secret, ct, m, &all);
        let bound = |ct: &Ciphertext| {
            let one = ct.clone().to_one_limb(&params).unwrap().noise();
            one.variance() + one.rounding().powi(2)
        };
        let message: Vec<u64> = (0..512).map(|_| random.random_range(0..257)).collect();
        let mut ct = secret.encrypt(&message, &mut random).unwrap();
        // 2^12 times the same: noise that adds up in magnitude.
        let mut doubled = message.clone();
        for _ in 0..12 {
            let same = ct.clone();
            ct.add_assign(&params, &same).unwrap();
            doubled.iter_mut().for_each(|m| *m = 2 * *m % 257);
        }
        assert_close(measured(&ct, &doubled), bound(&ct), 1.35);
        let mut factor = || -> Vec<u64> { (0..512).map(|_| random.random_range(0..257)).collect() };
        let (u, v) = (factor(), factor());
        let mut ct = secret.encrypt(&message, &mut rng(12)).unwrap();
        ct.mul_plain_assign(&params, &known(&params, &u)).unwrap();
        let chosen = product(&message, &u, 257);
        assert!(measured(&ct, &chosen) < 1.35 * bound(&ct));
        let norm2: f64 = u.iter().map(|&m| (params.center(m) as f64).powi(2)).sum();
        assert_eq!(ct.noise().variance(), noise::product(noise::fresh(&params), norm2));
        // The second factor meets coefficients that depend on one another: a bound, and far from
        // equality.
        ct.mul_plain_assign(&params, &known(&params, &v)).unwrap();
        let chosen = product(&chosen, &v, 257);
        assert!(measured(&ct, &chosen) < bound(&ct));
        assert_eq!(*secret.decrypt(&ct).unwrap(), chosen);
        // The worse of two that are packed.
        let keys = SeededPackingKeys::generate(&secret, 256, &mut rng(13)).unwrap();
        let keys = keys.expand(&params).unwrap();
        let worse = ct.noise();
        let fresh = secret.encrypt(&message, &mut rng(14)).unwrap();
        let packed = pack(&keys, BTreeMap::from([(0, fresh), (1, ct)])).unwrap();
        let limbs = params.limbs();
        let predicted = noise::packed(&params, limbs, 256, worse.variance()).unwrap();
        assert_eq!(packed.noise().variance(), predicted);
        assert_eq!(packed.noise().rounding(), worse.rounding());
    }
}

/// The second of two products would be wrong, and is not made.
#[test]
fn what_could_be_wrong_is_refused() {
    let params = digits(64, 65537, 10, 5);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let mut random = rng(2);
    let mut draw = || -> Vec<u64> { (0..64).map(|_| random.random_range(0..65537)).collect() };
    let (x, u, v) = (draw(), draw(), draw());
    let factor = known(&params, &v);
    let mut ct = secret.encrypt(&x, &mut rng(3)).unwrap();
    ct.mul_plain_assign(&params, &known(&params, &u)).unwrap();
    let (before, once) = (ct.clone(), product(&x, &u, 65537));
    let refused = ct.mul_plain_assign(&params, &factor).unwrap_err();
    assert!(
        refused.op() == "mul_plain_assign"
            && refused.is(&ErrorKind::Noise, "use a smaller t or domain, or parameters"),
        "{refused}"
    );
    assert_eq!(ct, before);
    // So it would have been.
    params.ring().mul_assign(&mut ct.b, &factor.poly);
    params.ring().mul_assign(&mut ct.a, &factor.poly);
    assert_ne!(*secret.decrypt(&ct).unwrap(), product(&once, &v, 65537));
    // Doubled until there is no room; right until then.
    let (mut ct, mut expected) = (before, once);
    let mut doublings = 0;
    let refused = loop {
        assert_eq!(*secret.decrypt(&ct).unwrap(), expected);
        let same = ct.clone();
        match ct.add_assign(&params, &same) {
            Ok(()) => expected.iter_mut().for_each(|m| *m = 2 * *m % 65537),
            Err(error) => break error,
        }
        doublings += 1;
    };
    assert!(refused.is(&ErrorKind::Noise, "use a smaller t or domain, or parameters"), "{refused}");
    assert!((5..20).contains(&doublings), "{doublings}");
    // Nor is packed what has room before and none after: digits of 20 bits.
    let params = digits(64, 65537, 20, 2);
    let secret = SecretKey::generate(&params, &mut rng(4)).unwrap();
    let keys = SeededPackingKeys::generate(&secret, 1, &mut rng(5)).unwrap();
    let keys = keys.expand(&params).unwrap();
    let tight = NoiseBound::of((noise::threshold(&params) / 7.5).powi(2));
    assert!(tight.log2_failure(&params, 1) < -40.0);
    let row = secret.encrypt(&[1; 64], &mut rng(6)).unwrap();
    let refused = pack(&keys, BTreeMap::from([(0, Ciphertext { noise: tight, ..row.clone() })]));
    assert!(matches!(
        &refused,
        Err(e) if e.op() == "pack" && e.is(&ErrorKind::Noise, "use a smaller t or domain, or")
    ));
    assert!(pack(&keys, BTreeMap::from([(0, row)])).is_ok());
}

/// More than `N / n` rows, some of them absent, and batches of which all are.
#[test]
fn any_number_of_rows_packs_in_batches() {
    for params in [digits(32, 257, 10, 5), special(32, 257, 2)] {
        let mut random = rng(6);
        let secret = SecretKey::generate(&params, &mut random).unwrap();
        for n in [1, 4, 32] {
            let count = 32 / n;
            let keys = SeededPackingKeys::generate(&secret, n, &mut random).unwrap();
            let keys = keys.expand(&params).unwrap();
            let (mut rows, mut expected) = (BTreeMap::new(), BTreeMap::new());
            // Batches 0, 1 and 5, the last with one row.
            for i in (0..2 * count).filter(|i| i % 3 != 1).chain([5 * count + count - 1]) {
                let row: Vec<u64> = (0..32).map(|_| random.random_range(0..257)).collect();
                let batch = expected.entry(i / count).or_insert_with(|| vec![0; 32]);
                (0..n).for_each(|k| batch[i % count + k * count] = row[k * count]);
                rows.insert(i, secret.encrypt(&row, &mut random).unwrap());
            }
            let packed = pack_in_batches(&keys, rows.clone()).unwrap();
            let found: BTreeMap<usize, Vec<u64>> =
                packed.iter().map(|(&i, ct)| (i, secret.decrypt(ct).unwrap().to_vec())).collect();
            assert_eq!(found, expected, "n = {n}");
            let far = pack(&keys, rows).unwrap_err();
            assert!(far.is(&ErrorKind::Shape, "index of a row is"), "{far}");
        }
    }
}

/// LWE values over digits and over special primes, in batches, with the noise that is said.
#[test]
fn lwe_values_pack_over_either_gadget() {
    for params in [digits(256, 257, 8, 3), special(256, 257, 1), special(256, 257, 2)] {
        let mut random = rng(7);
        let secret = SecretKey::generate(&params, &mut random).unwrap();
        let q = *params.ring().modulus(0);
        let own = secret.coefficients().to_vec().into();
        let own = lwe::SecretKey::from_coefficients(own).unwrap();
        for (n, sigma) in [(1, 3.2), (4, 1e6)] {
            let count = 256 / n;
            let keys = SeededPackingKeys::generate(&secret, n, &mut random).unwrap();
            let keys = keys.expand(&params).unwrap();
            let mut expected = BTreeMap::new();
            let values: Vec<_> = (0..3 * count)
                .filter(|i| *i < count || i % 5 == 0)
                .map(|i| {
                    let m = random.random_range(0..257u64);
                    expected.entry(i / count).or_insert_with(|| vec![0; 256])[i % count] = m;
                    let scaled = (u128::from(m) * u128::from(q.value()) / 257) as u64;
                    let phase = q.center(scaled);
                    (i, lwe::encrypt(&q, &own, phase, sigma, &mut random).unwrap())
                })
                .collect();
            let lent = || values.iter().map(|(i, value)| (*i, value));
            let packed = pack_values(&keys, sigma * sigma + 1.0, lent()).unwrap();
            assert!(packed.keys().eq(expected.keys()));
            let places: Vec<usize> = (0..count).collect();
            for (batch, ct) in &packed {
                let found = secret.decrypt(ct).unwrap();
                assert_eq!(found[..count], expected[batch][..count], "{batch}");
            }
            let measured = variance(&secret, &packed[&0], &expected[&0], &places);
            assert_close(measured, packed[&0].noise().variance(), 1.5);
        }
        let keys = SeededPackingKeys::generate(&secret, 1, &mut random).unwrap();
        let keys = keys.expand(&params).unwrap();
        let one = |value, variance| pack_values(&keys, variance, [(0, &value)]);
        let value = lwe::Ciphertext::trivial(q, 256, 0);
        let twice = pack_values(&keys, 1.0, [(3, &value), (3, &value)]);
        assert!(refusal(&twice).is(&ErrorKind::Shape, "index of two values is"));
        assert!(
            refusal(&pack_values(&keys, 1.0, []))
                .is(&ErrorKind::Length, "no rows: at least one is needed")
        );
        assert!(
            refusal(&one(value.clone(), 1e30))
                .is(&ErrorKind::Noise, "use a smaller t or domain, or parameters")
        );
        assert!(refusal(&one(value.clone(), -1.0)).is(&ErrorKind::Argument, "variance ="));
        assert!(refusal(&one(value, f64::NAN)).is(&ErrorKind::Argument, "variance ="));
        let short = lwe::Ciphertext::trivial(q, 128, 0);
        assert!(refusal(&one(short, 1.0)).is(&ErrorKind::Shape, "LWE dimension is"));
        let other = prime::ntt_primes_below(256, 40, 1, &[]).unwrap()[0];
        let other = lwe::Ciphertext::trivial(other, 256, 0);
        assert!(refusal(&one(other, 1.0)).is(&ErrorKind::Argument, "LWE modulus ="));
    }
}

/// Every `n`, absent entries; what is said to be cleared is.
#[test]
fn rows_pack_side_by_side() {
    for params in [digits(32, 257, 10, 5), special(32, 257, 1), special(32, 257, 2)] {
        let mut random = rng(2);
        let secret = SecretKey::generate(&params, &mut random).unwrap();
        for n in [1, 2, 8, 32] {
            let count: usize = 32 / n;
            let seeded = SeededPackingKeys::generate(&secret, n, &mut random).unwrap();
            assert_eq!(seeded.len(), count.trailing_zeros() as usize);
            let keys = seeded.expand(&params).unwrap();
            for present in [
                (0..count).collect(),
                vec![count - 1],
                vec![0],
                (0..count).step_by(3).collect::<Vec<_>>(),
            ] {
                let (mut rows, mut expected) = (BTreeMap::new(), vec![0; 32]);
                for &i in &present {
                    let row: Vec<u64> = (0..32).map(|_| random.random_range(0..257)).collect();
                    (0..n).for_each(|k| expected[i + k * count] = row[k * count]);
                    rows.insert(i, secret.encrypt(&row, &mut random).unwrap());
                }
                let packed = pack(&keys, rows).unwrap();
                assert_eq!(*secret.decrypt(&packed).unwrap(), expected, "n = {n}, {present:?}");
            }
        }
    }
}

/// Lemma 5, in variances.
#[test]
fn packing_has_the_predicted_noise() {
    // Exact digits, dropped bits, special primes.
    let sets = [digits(256, 257, 10, 5), digits(256, 257, 8, 3), special(256, 257, 1)];
    for params in sets.into_iter().chain([special(256, 257, 2)]) {
        for n in [1, 4] {
            let mut random = rng(3);
            let secret = SecretKey::generate(&params, &mut random).unwrap();
            let keys = SeededPackingKeys::generate(&secret, n, &mut random).unwrap();
            let keys = keys.expand(&params).unwrap();
            let zero = vec![0; 256];
            let all: Vec<usize> = (0..256).collect();
            let mut squares = 0.0;
            for _ in 0..8 {
                let rows = (0..256 / n).map(|i| (i, secret.encrypt(&zero, &mut random).unwrap()));
                let packed = pack(&keys, rows.collect()).unwrap();
                squares += variance(&secret, &packed, &zero, &all) / 8.0;
            }
            let limbs = params.limbs();
            let predicted = noise::packed(&params, limbs, n, noise::fresh(&params)).unwrap();
            assert_close(squares, noise::to_one_limb(&params, limbs, predicted), 1.4);
        }
    }
}

#[test]
fn named_sets_are_as_secure_as_they_say() {
    for t in [2, 65537] {
        let lookup = Params::new(ParamsSpec::lookup(t).unwrap()).unwrap();
        assert!(lookup.security_bits() >= 128.0 && lookup.limbs() == 1);
        let flooding = Params::new(ParamsSpec::flooding(t).unwrap()).unwrap();
        assert!(flooding.security_bits() >= 128.0 && flooding.limbs() == 2);
        let paper = Params::new(ParamsSpec::paper(t).unwrap()).unwrap();
        assert!((120.0..128.0).contains(&paper.security_bits()), "{}", paper.security_bits());
        let strict = ParamsSpec { security: Security::Bits128, ..ParamsSpec::paper(t).unwrap() };
        let refused = Params::new(strict).unwrap_err();
        assert!(
            refused.is(&ErrorKind::Insecure, "bits; take fewer or smaller primes, a"),
            "{refused}"
        );
    }
}

#[test]
fn misfits_are_refused() {
    let params = digits(16, 257, 10, 5);
    let mut random = rng(5);
    let secret = SecretKey::generate(&params, &mut random).unwrap();
    let stranger = SecretKey::generate(&params, &mut random).unwrap();
    let keys = SeededPackingKeys::generate(&secret, 2, &mut random).unwrap();
    let other = digits(16, 263, 10, 5);
    assert!(
        refusal(&keys.expand(&other))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let keys = keys.expand(&params).unwrap();
    let row = |secret: &SecretKey| secret.encrypt(&[1; 16], &mut rng(1)).unwrap();
    assert!(
        refusal(&pack(&keys, BTreeMap::new()))
            .is(&ErrorKind::Length, "no rows: at least one is needed")
    );
    let far = pack(&keys, BTreeMap::from([(8, row(&secret))]));
    assert!(matches!(refusal(&far).kind(), ErrorKind::Shape));
    let foreign = pack(&keys, BTreeMap::from([(0, row(&secret)), (1, row(&stranger))]));
    assert!(
        refusal(&foreign)
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    assert_eq!(*refusal(&secret.decrypt(&row(&stranger))).kind(), ErrorKind::KeyMismatch);
    let mut mixed = row(&secret);
    assert!(mixed.add_assign(&params, &row(&stranger)).is_err());
    assert!(mixed.add_assign(&other, &row(&secret)).is_err());
    assert!(mixed.mul_plain_assign(&other, &Plaintext::new(&other, &[0; 16]).unwrap()).is_err());
    assert!(refusal(&Plaintext::new(&params, &[0; 15])).is(&ErrorKind::Shape, "is 15"));
    let mut large = [0; 16];
    large[3] = 257;
    let refused = secret.encrypt(&large, &mut rng(1)).unwrap_err();
    assert!(refused.is(&ErrorKind::Range, "not below t = 257: reduce it, or use"), "{refused}");
    for n in [0, 3, 32] {
        assert!(SeededPackingKeys::generate(&secret, n, &mut rng(1)).is_err());
    }
    let spec = params.spec().clone();
    for plain in [0, 1, 1 << 24, (1 << 32) + 1] {
        let refused = Params::new(ParamsSpec { plain, ..spec.clone() });
        assert!(refusal(&refused).is(&ErrorKind::Argument, "is not supported: need"));
    }
    // One prime of several that is too small for t.
    let wide = special(16, 257, 2).spec().clone();
    let short = prime::ntt_primes_below(16, 20, 1, &[]).unwrap()[0].value();
    let uneven = ParamsSpec { q: vec![wide.q[0], short], plain: 1 << 30, ..wide };
    assert!(refusal(&Params::new(uneven)).is(&ErrorKind::Argument, "is not supported: need"));
    // Sizes and noise of numbers of limbs that there are not.
    for limbs in [0, 9] {
        assert!(noise::to_one_limb(&params, limbs, 1.0) >= 1.0);
    }
    let two = ParamsSpec { q: special(16, 257, 2).spec().q.clone(), ..spec.clone() };
    assert!(matches!(refusal(&Params::new(two)).kind(), ErrorKind::Shape));
    assert!(Params::new(ParamsSpec { q: vec![], ..spec }).is_err());
    assert!(format!("{secret:?}").starts_with("SecretKey { id: "));
    let plain = Plaintext::new(&params, &vec![3; params.degree()]).unwrap();
    let shown = format!("Plaintext of degree {} (redacted)", params.degree());
    assert_eq!(format!("{plain:?}"), shown);
}

/// Frozen: files hold them. The known value is that of another implementation of BLAKE3 over the
/// fields as `docs/FORMAT.md` lists them.
#[test]
fn fingerprints_tell_every_field_but_the_security() {
    let base = digits(64, 257, 9, 4);
    let known = "f6206008912e94ab83d75d97e4563167ab116b80fa33878cb1c978352db74a9c";
    assert_eq!(format!("{:?}", base.fingerprint()), known);
    let wider = ParamsSpec { sigma: 3.3, ..base.spec().clone() };
    let others = [
        digits(32, 257, 9, 4),
        digits(64, 259, 9, 4),
        digits(64, 257, 8, 4),
        digits(64, 257, 9, 3),
        Params::new(wider).unwrap(),
        special(64, 257, 1),
        special(64, 257, 2),
    ];
    let mut prints: Vec<_> = others.iter().map(Params::fingerprint).collect();
    prints.push(base.fingerprint());
    let distinct: std::collections::BTreeSet<_> = prints.iter().collect();
    assert_eq!(distinct.len(), prints.len());
    assert_eq!(digits(64, 257, 9, 4).fingerprint(), base.fingerprint());
}
