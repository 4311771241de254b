//! Key switches between ranks, levels and sizes of primes, against the predicted noise.

use bellerophon_ring::{ErrorKind, Modulus, prime};

use super::*;
use crate::error::refusal;
use crate::testing::{assert_close, message, params, rng};
use crate::{noise, noise::measured};

#[test]
fn switches_between_all_ranks_at_all_levels() {
    for (special, from_rank, to_rank) in
        [(1, 1, 1), (2, 1, 1), (3, 1, 2), (2, 2, 1), (2, 3, 2), (1, 2, 3)]
    {
        let from_params = params(1024, from_rank, 5, special);
        let to_params = params(1024, to_rank, 5, special);
        let from = SecretKey::generate(&from_params, &mut rng(1)).unwrap();
        let to = SecretKey::generate(&to_params, &mut rng(2)).unwrap();
        for key_limbs in [3, 5] {
            let key = KeySwitchKey::between(&from, &to, key_limbs, &mut rng(3)).unwrap();
            assert_eq!(key.compress().expand(&to_params).unwrap(), key);
            for limbs in [1, 2, key_limbs] {
                let m = message(&from_params, limbs, 7);
                let ct = from.encrypt(&m, &mut rng(4)).unwrap();
                let switched = key.switch(&to_params, &ct).unwrap();
                assert_eq!((switched.rank(), switched.limbs()), (to_rank, limbs));
                let stats = measured::noise(&to, &switched, &m).unwrap();
                let predicted = noise::fresh_secret(&from_params)
                    + noise::key_switch(&to_params, from_rank, limbs);
                assert_close(stats.variance, predicted, 1.3);
            }
        }
    }
}

#[test]
fn digits_set_the_switching_noise_when_p_is_small() {
    // Digits of two 45-bit primes under one 50-bit special prime would drown the message; one
    // 40-bit special prime under one-prime digits shows the digits' part of the formula.
    let mut spec = crate::testing::spec(1024, 1, 4, 1);
    let chosen: Vec<_> = spec.q.iter().map(|&q| Modulus::new(q).unwrap()).collect();
    spec.p =
        prime::ntt_primes_below(1024, 40, 1, &chosen).unwrap().iter().map(|p| p.value()).collect();
    let params = Params::new(spec).unwrap();
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let other = SecretKey::generate(&params, &mut rng(2)).unwrap();
    let key = KeySwitchKey::between(&secret, &other, 4, &mut rng(3)).unwrap();
    for limbs in 1..=4 {
        let m = message(&params, limbs, 7);
        let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
        let stats = measured::noise(&other, &key.switch(&params, &ct).unwrap(), &m).unwrap();
        assert_close(stats.variance, noise::key_switch(&params, 1, limbs), 1.25);
        let bound = noise::canonical::key_switch(&params, 1, limbs);
        assert!(stats.max < bound && noise::key_switch(&params, 1, limbs).sqrt() < bound);
    }
}

#[test]
fn primes_of_mixed_sizes_share_digits() {
    // 29-bit primes go three to a digit under two special primes; the noise is that of the
    // sizes that digits have, whole or cut.
    let degree = 512;
    let mut q = prime::ntt_primes_below(degree, 50, 1, &[]).unwrap();
    q.extend(prime::ntt_primes_around(degree, 29, 6, &q).unwrap());
    q.extend(prime::ntt_primes_around(degree, 49, 2, &q).unwrap());
    let p = prime::ntt_primes_below(degree, 49, 2, &q).unwrap();
    let values = |primes: &[Modulus]| primes.iter().map(Modulus::value).collect();
    let spec = crate::params::ParamsSpec {
        q: values(&q),
        p: values(&p),
        ..crate::testing::spec(degree, 2, 1, 1)
    };
    let params = Params::new(spec).unwrap();
    let digits: Vec<_> = (0..4).map(|j| params.gadget().primes(j, 9)).collect();
    assert_eq!(digits, [0..2, 2..5, 5..7, 7..9]);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let other = SecretKey::generate(&params, &mut rng(2)).unwrap();
    let key = KeySwitchKey::between(&secret, &other, 9, &mut rng(3)).unwrap();
    for limbs in [1, 2, 4, 5, 7, 8, 9] {
        let m = message(&params, limbs, 7);
        let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
        let stats = measured::noise(&other, &key.switch(&params, &ct).unwrap(), &m).unwrap();
        let predicted = noise::fresh_secret(&params) + noise::key_switch(&params, 2, limbs);
        assert_close(stats.variance, predicted, 1.3);
    }
}

#[test]
fn rows_encrypt_the_gadget_with_fresh_noise() {
    let params = params(256, 2, 4, 2);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let key = KeySwitchKey::between(&secret, &secret, 3, &mut rng(3)).unwrap();
    let ring = params.gadget().ring(3);
    for digit in 0..2 {
        for component in 0..2 {
            let (b, a) = key.row(digit, component);
            let mut phase = b.unpack();
            for (i, mask) in a.iter().enumerate() {
                let s = restrict_extended(secret.ntt(i), 3, 4);
                ring.mul_add_assign(&mut phase, &mask.unpack(), &s);
            }
            let mut expected = restrict_extended(secret.ntt(component), 3, 4);
            ring.mul_residues_assign(&mut expected, &params.gadget().factor(digit, 3));
            ring.sub_assign(&mut phase, &expected);
            let values = measured::centered_f64(ring, &ring.inverse(phase));
            let stats = measured::NoiseStats::of(values);
            assert_close(stats.variance, 3.2 * 3.2, 1.4);
        }
    }
}

#[test]
fn sizes_count_packed_residues() {
    let params = params(64, 1, 4, 2);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let key = KeySwitchKey::between(&secret, &secret, 4, &mut rng(3)).unwrap();
    // Two digits of six limbs.
    let ring = params.gadget().ring(4);
    let bits: u32 = ring.moduli().map(|q| q.bits()).sum();
    assert_eq!(key.seeded_byte_len(&params), 32 + 2 * 8 * bits as usize);
    assert_eq!(key.compress().byte_len(&params), key.seeded_byte_len(&params));
    assert_eq!(key.memory_len(), 2 * 2 * PackedPoly::bytes_over(ring));
}

#[test]
fn prepared_keys_give_the_same_ciphertexts() {
    // Digits of one prime under one special prime: the case for key decomposition.
    let params = params(1024, 1, 48, 1);
    let from = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let to = SecretKey::generate(&params, &mut rng(2)).unwrap();
    let key = KeySwitchKey::between(&from, &to, 48, &mut rng(3)).unwrap();
    let prepared = key.clone();
    prepared.prepare(&params).unwrap();
    prepared.prepare(&params).unwrap();
    assert_eq!(key, prepared);
    // At most a quarter more words; a word may take one byte more.
    let grown = prepared.memory_len() as f64 / key.memory_len() as f64;
    assert!(grown > 1.8 && grown < 1.0 + 1.25 * 7.0 / 6.0, "{grown}");
    let pays = &prepared.decomposed.get().unwrap().as_ref().unwrap().pays;
    assert!(pays[47] && !pays[0] && pays.len() == 48);
    for limbs in [1, 2, 20, 47, 48] {
        let ct = from.encrypt(&message(&params, limbs, 7), &mut rng(4)).unwrap();
        let expected = key.switch(&params, &ct).unwrap();
        assert_eq!(prepared.switch(&params, &ct).unwrap(), expected, "{limbs} limbs");
        // Digits that are stored use the other rows.
        let digits = HoistedDigits::new(&params, ct.masks()).unwrap();
        assert_eq!(
            key_switch_decomposed(&params, &digits, &prepared).unwrap(),
            key_switch(&params, ct.masks(), &prepared).unwrap()
        );
    }
}

/// Preparation leaves them as they are.
#[test]
fn keys_of_few_digits_or_several_components_are_kept() {
    let (few, several) = (params(256, 1, 42, 6), params(1024, 2, 48, 1));
    for params in [&few, &several] {
        let secret = SecretKey::generate(params, &mut rng(1)).unwrap();
        let key = KeySwitchKey::between(&secret, &secret, params.limbs(), &mut rng(3)).unwrap();
        let before = key.memory_len();
        key.prepare(params).unwrap();
        assert_eq!(key.memory_len(), before);
    }
    let secret = SecretKey::generate(&few, &mut rng(1)).unwrap();
    let key = KeySwitchKey::between(&secret, &secret, 2, &mut rng(3)).unwrap();
    let other = crate::testing::params(256, 1, 3, 1);
    assert!(
        refusal(&key.prepare(&other))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
}

#[test]
fn refuses_what_does_not_fit() {
    let params = params(64, 1, 3, 1);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let key = KeySwitchKey::between(&secret, &secret, 2, &mut rng(3)).unwrap();
    let ct = secret.encrypt(&message(&params, 3, 1), &mut rng(1)).unwrap();
    assert!(refusal(&key.switch(&params, &ct)).is(&ErrorKind::Level, "3 limbs where"));
    let other = SecretKey::generate(&params, &mut rng(2)).unwrap();
    let ct = other.encrypt(&message(&params, 1, 1), &mut rng(1)).unwrap();
    assert!(
        refusal(&key.switch(&params, &ct))
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    assert!(refusal(&key_switch(&params, &[], &key)).is(&ErrorKind::Shape, "where rank"));
    let none = KeySwitchKey::between(&secret, &secret, 0, &mut rng(3));
    assert!(refusal(&none).is(&ErrorKind::Level, "limbs where"));
    let wider = SecretKey::generate(&crate::testing::params(128, 1, 3, 1), &mut rng(1)).unwrap();
    let refused = KeySwitchKey::between(&wider, &secret, 1, &mut rng(1));
    assert!(refusal(&refused).is(&ErrorKind::Shape, "a polynomial of degree bound"));
    let empty = KeySwitchKey::generate(&[], (&secret).into(), &secret, 1, &mut rng(1));
    assert!(refusal(&empty).is(&ErrorKind::Length, "no operands; give at least one"));
}
#[test]
fn stored_parts_are_checked() {
    let params = params(64, 1, 3, 1);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let wire = KeySwitchKey::between(&secret, &secret, 2, &mut rng(3)).unwrap().compress();
    let rebuild = |shape: SwitchKeyInfo, b: Vec<Poly<Ntt>>| {
        SeededKeySwitchKey::from_parts(&params, shape, *wire.seed(), b)
    };
    let (shape, b) = (*wire.shape(), wire.bodies().to_vec());
    assert_eq!(rebuild(shape, b.clone()).unwrap(), wire);
    let refused = rebuild(SwitchKeyInfo { limbs: 3, ..shape }, b.clone());
    assert!(refusal(&refused).is(&ErrorKind::Shape, "rank 2 where rank 3 is needed"));
    let refused = rebuild(SwitchKeyInfo { from_rank: usize::MAX, ..shape }, b.clone());
    assert!(refusal(&refused).is(&ErrorKind::Shape, "where rank"));
    let refused = rebuild(SwitchKeyInfo { to_rank: 2, ..shape }, b.clone());
    assert!(refusal(&refused).is(&ErrorKind::Shape, "where rank"));
    let refused = rebuild(SwitchKeyInfo { limbs: 4, ..shape }, b.clone());
    assert!(refusal(&refused).is(&ErrorKind::Level, "limbs where"));
    let mut damaged = b.clone();
    damaged[1].limb_mut(2)[5] = u64::MAX;
    let refused = rebuild(shape, damaged);
    assert!(refusal(&refused).is(&ErrorKind::Bytes, &format!("{} in limb 2", u64::MAX)));
    let mut short = b;
    short[0].truncate(2);
    assert!(refusal(&rebuild(shape, short)).is(&ErrorKind::Level, "limbs where"));
}

#[test]
fn digits_of_other_parameters_are_refused() {
    let (params, other) = (params(64, 1, 3, 1), params(128, 1, 3, 1));
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let key = KeySwitchKey::between(&secret, &secret, 2, &mut rng(3)).unwrap();
    let digits = HoistedDigits::new(&other, &[message(&other, 1, 1)]).unwrap();
    let refused = key_switch_decomposed(&params, &digits, &key);
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
}
