//! Laws that hold for all keys, messages, ranks and levels, tried on toy rings with random ones.
//!
//! Noise is compared with eight standard deviations, which no coefficient of these tests exceeds.

use bellerophon_ring::{Ntt, Poly};
use proptest::prelude::*;
use rand::Rng;
use rand_distr::{Distribution, Normal};

use crate::ciphertext::Ciphertext;
use crate::encrypt::PublicKey;
use crate::galois::GaloisKeys;
use crate::keyswitch::KeySwitchKey;
use crate::noise::{self, measured};
use crate::params::{Params, ParamsSpec};
use crate::rank_reduction::{RankReduceKey, pad_rank};
use crate::secret::SecretKey;
use crate::testing::{params, rng};

const DEGREE: usize = 64;

/// A message of Gaussian coefficients with standard deviation `2^30`.
fn gaussian_message(params: &Params, limbs: usize, rng: &mut impl Rng) -> Poly<Ntt> {
    let normal = Normal::new(0.0, f64::from(1 << 30)).unwrap();
    let coefficients: Vec<i64> =
        (0..params.degree()).map(|_| normal.sample(rng).round() as i64).collect();
    let ring = params.q().at_limbs(limbs);
    ring.forward(ring.from_signed(&coefficients))
}

/// The largest error of a phase, in standard deviations.
fn deviations(secret: &SecretKey, ct: &Ciphertext, expected: &Poly<Ntt>, variance: f64) -> f64 {
    measured::noise(secret, ct, expected).unwrap().max / variance.sqrt()
}

/// `c x + y`.
fn combined(params: &Params, x: &Ciphertext, c: i64, y: &Ciphertext) -> Ciphertext {
    let mut sum = x.clone();
    sum.mul_signed_assign(params, c).unwrap();
    sum.add_assign(params, y).unwrap();
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn decryption_gives_the_message_and_fresh_noise(
        seed: u64,
        rank in 1usize..=3,
        limbs in 1usize..=3,
    ) {
        let params = params(DEGREE, rank, 3, 2);
        let rng = &mut rng(seed);
        let secret = SecretKey::generate(&params, rng).unwrap();
        let m = gaussian_message(&params, limbs, rng);
        let ct = secret.encrypt(&m, rng).unwrap();
        let found = deviations(&secret, &ct, &m, noise::fresh_secret(&params));
        prop_assert!((1.0..8.0).contains(&found), "under the secret: {found}");
        let public = PublicKey::generate(&secret, rng);
        let ct = public.encrypt(&params, &m, rng).unwrap();
        let found = deviations(&secret, &ct, &m, noise::fresh_public(&params));
        prop_assert!((1.0..8.0).contains(&found), "under the public key: {found}");
    }

    #[test]
    fn key_switching_is_linear_up_to_its_noise(
        seed: u64,
        from_rank in 1usize..=3,
        to_rank in 1usize..=3,
        limbs in 1usize..=3,
        c in -9i64..=9,
    ) {
        let of_rank = |rank| params(DEGREE, rank, 3, 2);
        let (from_params, to_params) = (of_rank(from_rank), of_rank(to_rank));
        let rng = &mut rng(seed);
        let from = SecretKey::generate(&from_params, rng).unwrap();
        let to = SecretKey::generate(&to_params, rng).unwrap();
        let key = KeySwitchKey::between(&from, &to, 3, rng).unwrap();
        let [x, y] = [(); 2].map(|()| {
            let m = gaussian_message(&from_params, limbs, rng);
            from.encrypt(&m, rng).unwrap()
        });
        let switch = |ct: &Ciphertext| key.switch(&to_params, ct).unwrap();
        let each = noise::key_switch(&to_params, from_rank, limbs);
        // The switched sum has the sum of the phases, and so has the sum of switched terms.
        let sum = combined(&from_params, &x, c, &y);
        let ring = x.ring(&from_params);
        let [mut phase, addend] = [&x, &y].map(|ct| ct.phase(&from).unwrap());
        ring.mul_signed_assign(&mut phase, c);
        ring.add_assign(&mut phase, &addend);
        let found = deviations(&to, &switch(&sum), &phase, each);
        prop_assert!(found < 8.0, "the switched sum: {found}");
        let terms = combined(&to_params, &switch(&x), c, &switch(&y));
        let found = deviations(&to, &terms, &phase, (c * c + 1) as f64 * each);
        prop_assert!(found < 8.0, "the sum of switched terms: {found}");
    }

    #[test]
    fn automorphisms_compose(
        seed: u64,
        rank in 1usize..=2,
        limbs in 1usize..=3,
        halves in [1usize..DEGREE, 1..DEGREE],
    ) {
        let [g, h] = halves.map(|half| 2 * half + 1);
        let both = g * h % (2 * DEGREE);
        prop_assume!(both != 1);
        let params = params(DEGREE, rank, 3, 2);
        let rng = &mut rng(seed);
        let secret = SecretKey::generate(&params, rng).unwrap();
        let keys = GaloisKeys::generate(&secret, [g, h, both], 3, rng).unwrap();
        let m = gaussian_message(&params, limbs, rng);
        let ct = secret.encrypt(&m, rng).unwrap();
        let ring = ct.ring(&params);
        let image = |poly: &Poly<Ntt>, g| ring.apply_ntt(poly, &ring.automorphism(g).unwrap());
        let expected = image(&m, both);
        prop_assert_eq!(&image(&image(&m, g), h), &expected);
        let apply = |ct: &Ciphertext, g| keys.get(g).unwrap().apply(&params, ct).unwrap();
        let (fresh, each) = (noise::fresh_secret(&params), noise::automorphism(&params, limbs));
        for (applied, variance) in
            [(apply(&ct, both), fresh + each), (apply(&apply(&ct, g), h), fresh + 2.0 * each)]
        {
            let found = deviations(&secret, &applied, &expected, variance);
            prop_assert!(found < 8.0, "{g} then {h}: {found}");
        }
    }

    #[test]
    fn ranks_go_down_and_up_again(
        seed: u64,
        (rank, kept) in (2usize..=4).prop_flat_map(|rank| (Just(rank), 1..rank)),
        limbs in 1usize..=2,
    ) {
        let whole = params(DEGREE, rank, 3, 2);
        let q = whole.spec().q[..2].to_vec();
        let part = Params::new(ParamsSpec { rank: kept, q, ..whole.spec().clone() }).unwrap();
        let rng = &mut rng(seed);
        let secret = SecretKey::generate(&whole, rng).unwrap();
        let first = secret.truncate_rank(&part, rng).unwrap();
        let key = RankReduceKey::generate(&secret, &first, 2, rng).unwrap();
        let m = gaussian_message(&whole, limbs, rng);
        let ct = secret.encrypt(&m, rng).unwrap();
        let reduced = key.reduce(&part, &ct).unwrap();
        let variance =
            noise::fresh_secret(&whole) + noise::key_switch(&part, rank - kept, limbs);
        let found = deviations(&first, &reduced, &m, variance);
        prop_assert!(found < 8.0, "down: {found}");
        // Up is exact, and down again meets no mask that it would have to switch.
        let raised = pad_rank(&part, &reduced, &whole, secret.id()).unwrap();
        prop_assert_eq!(raised.phase(&secret).unwrap(), reduced.phase(&first).unwrap());
        prop_assert_eq!(key.reduce(&part, &raised).unwrap(), reduced);
    }
}
