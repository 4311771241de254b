//! Strategies of every kind, at every rank, against exact products and the predicted noise.

use bellerophon_ring::{ErrorKind, Modulus, prime};

use super::*;
use crate::dpad::RelinKind;
use crate::error::refusal;
use crate::module_map::ModuleMap;
use crate::noise::{self, measured};
use crate::params::ParamsSpec;
use crate::security::Security;
use crate::testing::{assert_close, canonical_norm, message, rng, spec};

/// A chain of 45-bit primes for degrees up to `degree * 4` under special primes of 50 bits.
fn base(degree: usize, rank: usize, limbs: usize, special: usize) -> Params {
    Params::new(ParamsSpec { degree, rank, ..spec(4 * degree, 1, limbs, special) }).unwrap()
}

/// Special primes for digits of `primes` primes of that chain.
fn special(params: &Params, primes: usize) -> Vec<u64> {
    let q: Vec<Modulus> = params.q().moduli().cloned().collect();
    let p = prime::ntt_primes_below(4 * params.degree(), 50, primes, &q).unwrap();
    p.iter().map(Modulus::value).collect()
}

/// Every kind of strategy from the rank of the parameters.
fn strategies(params: &Params) -> Vec<RelinStrategy> {
    let rank = params.rank();
    let mut strategies = vec![RelinStrategy::direct(params)];
    for (raised, digit) in [(rank + 1, 2), (rank + 1, 5), (2 * rank, 3)] {
        strategies
            .push(RelinStrategy::new(params, 1, Some((raised, special(params, digit)))).unwrap());
    }
    for factor in [2, 4] {
        if rank.is_multiple_of(factor) {
            strategies.push(RelinStrategy::new(params, factor, None).unwrap());
            let temporary = Some((rank / factor + 1, special(params, 3)));
            strategies.push(RelinStrategy::new(params, factor, temporary).unwrap());
        }
    }
    strategies
}

#[test]
fn every_route_relinearizes_at_every_rank() {
    let limbs = 5;
    for (rank, primes) in [(1, 1), (2, 1), (3, 2), (4, 1)] {
        let params = base(128, rank, limbs, primes);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        for strategy in strategies(&params) {
            let keys = RelinKeys::generate(&strategy, &secret, limbs, &mut rng(2)).unwrap();
            for limbs in [2, limbs] {
                let (x, y) = (message(&params, limbs, 7), message(&params, limbs, 8));
                let (x, y) = (secret.encrypt(&x, &mut rng(3)), secret.encrypt(&y, &mut rng(4)));
                let (x, y) = (x.unwrap(), y.unwrap());
                let ring = params.q().at_limbs(limbs);
                let mut expected = (*x.phase(&secret).unwrap()).clone();
                ring.mul_assign(&mut expected, &y.phase(&secret).unwrap());
                let product = keys.multiply(&x, &y, 0).unwrap();
                assert_eq!((product.rank(), product.limbs()), (rank, limbs));
                let stats = measured::noise(&secret, &product, &expected).unwrap();
                let predicted = strategy.noise(limbs).unwrap();
                assert_close(stats.variance, predicted, 1.7);
                // The phase follows the messages, not only the noise.
                let square = keys.multiply(&x, &x, 0).unwrap();
                let tensor = Tensor::square(&params, &x).unwrap();
                assert_eq!(square, keys.relinearize(tensor, 0).unwrap());
                let tensor = Tensor::product(&params, &x, &y).unwrap();
                assert_eq!(product, keys.relinearize(tensor, 0).unwrap());
                for primes in 1..limbs.min(3) {
                    let tensor = Tensor::product(&params, &x, &y).unwrap();
                    let fused = keys.relinearize(tensor, primes).unwrap();
                    assert_eq!(fused.limbs(), limbs - primes);
                    assert_eq!(fused, keys.multiply(&x, &y, primes).unwrap());
                    let divided = bellerophon_ring::rescale(&ring, expected.clone(), primes);
                    let stats = measured::noise(&secret, &fused, &divided).unwrap();
                    // The quotient that it is compared with is rounded too.
                    let predicted =
                        strategy.noise_rescaled(limbs, primes, 0.0).unwrap() + 1.0 / 12.0;
                    assert_close(stats.variance, predicted, 1.7);
                }
            }
        }
    }
}

#[test]
fn digit_noise_shows_when_special_primes_are_small() {
    // 40-bit special primes under digits of one 45-bit prime each, in the first or in the second
    // switch.
    let small = |count| {
        let q: Vec<Modulus> = base(512, 2, 4, 1).q().moduli().cloned().collect();
        let p = prime::ntt_primes_below(2048, 40, count, &q).unwrap();
        p.iter().map(Modulus::value).collect::<Vec<_>>()
    };
    let wide = base(512, 2, 4, 1);
    let narrow = Params::new(ParamsSpec { p: small(1), ..wide.spec().clone() }).unwrap();
    for (params, p) in [(&wide, small(1)), (&narrow, special(&wide, 2)), (&narrow, small(1))] {
        let strategy = RelinStrategy::new(params, 1, Some((3, p))).unwrap();
        let secret = SecretKey::generate(params, &mut rng(1)).unwrap();
        let keys = RelinKeys::generate(&strategy, &secret, 4, &mut rng(2)).unwrap();
        let x = secret.encrypt(&message(params, 4, 7), &mut rng(3)).unwrap();
        let mut expected = (*x.phase(&secret).unwrap()).clone();
        let copy = expected.clone();
        params.q().mul_assign(&mut expected, &copy);
        let stats =
            measured::noise(&secret, &keys.multiply(&x, &x, 0).unwrap(), &expected).unwrap();
        assert!(stats.variance > 1e6, "{stats:?}");
        assert_close(stats.variance, strategy.noise(4).unwrap(), 1.35);
    }
}

#[test]
fn lemma_3_2_bounds_the_noise_and_is_not_idle() {
    for rank in [2, 4] {
        let params = base(256, rank, 5, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let strategy =
            RelinStrategy::new(&params, 1, Some((rank + 1, special(&params, 3)))).unwrap();
        let keys = RelinKeys::generate(&strategy, &secret, 5, &mut rng(2)).unwrap();
        let x = secret.encrypt(&message(&params, 5, 7), &mut rng(3)).unwrap();
        let mut expected = (*x.phase(&secret).unwrap()).clone();
        let copy = expected.clone();
        params.q().mul_assign(&mut expected, &copy);
        let mut noise = (*keys.multiply(&x, &x, 0).unwrap().phase(&secret).unwrap()).clone();
        params.q().sub_assign(&mut noise, &expected);
        let noise = measured::centered_f64(params.q(), &params.q().inverse(noise));
        let measured = canonical_norm(&noise);
        let bound = noise::canonical::dpad_relinearize(&params, strategy.raised(), 5);
        assert!(measured < bound && bound < 100.0 * measured, "{measured} of {bound}");
    }
}

#[test]
fn a_route_says_what_it_passes_through() {
    let params = base(64, 4, 6, 1);
    let dpad = RelinStrategy::new(&params, 1, Some((5, special(&params, 3)))).unwrap();
    assert_eq!((dpad.kind(), dpad.is_raised(), dpad.factor()), (RelinKind::DPad, true, 1));
    assert_eq!((dpad.components(), dpad.digits(6).unwrap(), dpad.digits(1).unwrap()), (10, 2, 1));
    assert_eq!((dpad.raised().rank(), dpad.raised().dimension()), (5, 320));
    assert_eq!(dpad.work(), &params);
    let ring = RelinStrategy::new(&params, 4, None).unwrap();
    assert_eq!((ring.kind(), ring.is_raised(), ring.factor()), (RelinKind::ViaRing, false, 4));
    // Ten polynomials, four to one; no more than five of six digits' primes each.
    assert_eq!((ring.components(), ring.digits(6).unwrap()), (3, 6));
    assert_eq!((ring.work().rank(), ring.work().degree()), (1, 256));
    let both = RelinStrategy::new(&params, 2, Some((3, special(&params, 6)))).unwrap();
    assert_eq!((both.kind(), both.components(), both.factor()), (RelinKind::DPad, 5, 2));
    assert_eq!((both.work().rank(), both.raised().rank(), both.digits(6).unwrap()), (2, 3, 1));
    let names = [RelinStrategy::direct(&params), dpad.clone(), ring.clone(), both.clone()];
    let names: Vec<String> = names.iter().map(RelinStrategy::to_string).collect();
    assert_eq!(
        names,
        [
            "direct",
            "by way of rank 5 with 150 bits of special primes",
            "in the ring of degree 256",
            "in the ring of degree 128, by way of rank 3 with 300 bits of special primes",
        ]
    );
    assert!(dpad == RelinStrategy::new(&params, 1, Some((5, special(&params, 3)))).unwrap());
    assert!(dpad != ring && ring != both && dpad != RelinStrategy::direct(&params));
    // What does not fit.
    assert!(refusal(&dpad.digits(7)).is(&ErrorKind::Level, "7 limbs where"));
    assert!(refusal(&dpad.noise(0)).is(&ErrorKind::Level, "0 limbs where"));
    assert!(refusal(&dpad.noise_rescaled(3, 3, 0.0)).is(&ErrorKind::Level, "3 limbs where"));
    let same = RelinStrategy::new(&params, 1, Some((4, special(&params, 3))));
    assert!(refusal(&same).is(&ErrorKind::Shape, "rank 4 where rank 5 is needed"));
    for factor in [0, 3, 8] {
        let refused = RelinStrategy::new(&params, factor, None);
        assert!(refusal(&refused).is(&ErrorKind::Parameters, "parameter factor ="));
    }
    // Primes that are 1 modulo 128 and not modulo 512.
    let unfit = prime::ntt_primes_below(64, 40, 40, &[]).unwrap();
    let unfit = unfit.iter().map(Modulus::value).filter(|q| q % 512 != 1).take(2).collect();
    let unfit = Params::new(ParamsSpec { q: unfit, ..params.spec().clone() }).unwrap();
    assert!(matches!(refusal(&RelinStrategy::new(&unfit, 4, None)).kind(), ErrorKind::Parameters));
}

#[test]
fn both_ranks_meet_the_table() {
    // Dimension 4096: 45 + 50 of 106 bits; a temporary rank 5 has 128 bits for 45 + 80.
    let set =
        ParamsSpec { degree: 1024, rank: 4, security: Security::Bits128, ..spec(1024, 4, 1, 1) };
    let params = Params::new(set).unwrap();
    let p = |bits, count| -> Vec<u64> {
        let q: Vec<Modulus> = params.q().moduli().cloned().collect();
        prime::ntt_primes_below(1024, bits, count, &q).unwrap().iter().map(Modulus::value).collect()
    };
    let strategy = RelinStrategy::new(&params, 1, Some((5, p(40, 2)))).unwrap();
    assert!(strategy.raised().security_bits() >= 128.0);
    let error = RelinStrategy::new(&params, 1, Some((5, p(50, 2)))).unwrap_err();
    assert!(error.is(&ErrorKind::Insecure, "a secret of dimension 5120"), "{error}");
    assert!(error.message().contains("the largest modulus has 133.0 bits"), "{error}");
}

#[test]
fn secrets_at_both_ranks_belong_together() {
    let params = base(64, 2, 3, 1);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let other = SecretKey::generate(&params, &mut rng(2)).unwrap();
    let strategy = RelinStrategy::new(&params, 1, Some((3, special(&params, 3)))).unwrap();
    let raised = secret.extend_rank(strategy.raised(), &mut rng(3)).unwrap();
    let keys = RelinKeys::generate_under(&strategy, &secret, &raised, 3, &mut rng(4)).unwrap();
    assert_eq!((keys.cross().shape().to.key, keys.cross().shape().limbs), (raised.id(), 3));
    let x = secret.encrypt(&message(&params, 3, 7), &mut rng(5)).unwrap();
    let mut expected = (*x.phase(&secret).unwrap()).clone();
    let copy = expected.clone();
    params.q().mul_assign(&mut expected, &copy);
    let stats = measured::noise(&secret, &keys.multiply(&x, &x, 0).unwrap(), &expected).unwrap();
    assert!(stats.variance < 2.0 * strategy.noise(3).unwrap(), "{stats:?}");
    // Another secret, its extension, and an extension under other parameters.
    let foreign = other.extend_rank(strategy.raised(), &mut rng(3)).unwrap();
    let under = |raised| RelinKeys::generate_under(&strategy, &secret, raised, 3, &mut rng(4));
    assert!(refusal(&under(&foreign)).is(&ErrorKind::Shape, "secret key"));
    assert!(
        refusal(&under(&secret))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let elsewhere =
        RelinKeys::generate(&RelinStrategy::direct(strategy.raised()), &secret, 3, &mut rng(1));
    assert!(
        refusal(&elsewhere)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    // Through a larger ring it is the embedded secret that is extended.
    let strategy = RelinStrategy::new(&params, 2, Some((2, special(&params, 3)))).unwrap();
    let map = ModuleMap::new(strategy.work(), &params, 3).unwrap();
    let embedded = map.embed_secret(&secret).unwrap();
    let raised = embedded.extend_rank(strategy.raised(), &mut rng(3)).unwrap();
    let keys = RelinKeys::generate_under(&strategy, &secret, &raised, 3, &mut rng(4)).unwrap();
    let stats = measured::noise(&secret, &keys.multiply(&x, &x, 0).unwrap(), &expected).unwrap();
    assert!(stats.variance < 2.0 * strategy.noise(3).unwrap(), "{stats:?}");
}

#[test]
fn keys_travel_and_what_does_not_fit_is_named() {
    let params = base(64, 2, 4, 1);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let x = secret.encrypt(&message(&params, 3, 7), &mut rng(3)).unwrap();
    for strategy in strategies(&params) {
        let keys = RelinKeys::generate(&strategy, &secret, 3, &mut rng(2)).unwrap();
        assert_eq!(strategy.seeded_byte_len(3).unwrap(), keys.seeded_byte_len());
        assert_eq!(strategy.memory_len(3).unwrap(), keys.memory_len());
        assert!(keys.memory_len() > 2 * keys.seeded_byte_len());
        let cross = keys.cross().compress().expand(strategy.raised()).unwrap();
        let down = keys.down().map(|down| down.key().compress().expand(strategy.work()).unwrap());
        let again = RelinKeys::from_parts(&strategy, cross.clone(), down.map(Into::into)).unwrap();
        assert_eq!(again.multiply(&x, &x, 0).unwrap(), keys.multiply(&x, &x, 0).unwrap());
        // Without the rank-down key.
        let alone = RelinKeys::from_parts(&strategy, cross, None);
        match strategy.is_raised() {
            false => assert!(alone.is_ok()),
            true => {
                let error = alone.unwrap_err();
                assert!(
                    error.is(
                        &ErrorKind::MissingKey { need: "" },
                        "generate it with the others, from the"
                    ),
                    "{error}"
                );
                assert!(error.to_string().contains("rank-down key"), "{error}");
            }
        }
        // Wrong levels, wrong keys.
        let high = secret.encrypt(&message(&params, 4, 7), &mut rng(3)).unwrap();
        assert!(refusal(&keys.multiply(&high, &high, 0)).is(&ErrorKind::Level, "4 limbs where"));
        let tensor = Tensor::square(&params, &x).unwrap();
        let refused = keys.relinearize(tensor, 3);
        assert!(refusal(&refused).is(&ErrorKind::Level, "3 limbs where"));
        let other = SecretKey::generate(&params, &mut rng(9)).unwrap();
        let foreign = other.encrypt(&message(&params, 3, 7), &mut rng(3)).unwrap();
        assert!(
            refusal(&keys.multiply(&foreign, &foreign, 0))
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
    }
    // Keys of one strategy do not serve another, nor those of other secrets and fewer levels.
    let all = strategies(&params);
    let (direct, dpad) = (&all[0], &all[1]);
    let parts = |strategy, limbs, seed| {
        let keys = RelinKeys::generate(strategy, &secret, limbs, &mut rng(seed)).unwrap();
        (keys.cross().clone(), keys.down().cloned())
    };
    let (cross, down) = parts(dpad, 3, 2);
    let refused = RelinKeys::from_parts(direct, cross.clone(), None);
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let refused = RelinKeys::from_parts(dpad, parts(direct, 3, 2).0, down);
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let refused = RelinKeys::from_parts(dpad, cross.clone(), parts(dpad, 3, 5).1);
    assert!(
        refusal(&refused)
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    let refused = RelinKeys::from_parts(dpad, cross, parts(dpad, 2, 2).1);
    assert!(matches!(refusal(&refused).kind(), ErrorKind::KeyMismatch | ErrorKind::Level));
    let galois = crate::galois::GaloisKey::generate(&secret, 5, 3, &mut rng(2)).unwrap();
    let refused = RelinKeys::from_parts(direct, galois.key().clone(), None);
    assert!(refusal(&refused).is(&ErrorKind::Shape, "rank 2 where rank 3 is needed"));
}
