//! Values at their places, noise from both sides, work by hand.

use bellerophon_mlwe::{ParamsSpec, SecretKind, Security, noise::measured};
use bellerophon_ring::{ErrorKind, PackedPoly, prime};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::*;
use bellerophon_ring::refusal;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Rank `N / d` over degree `d`, for every `d` with the same primes.
fn params(degree: usize, small: usize, special: u32) -> Params {
    let q = prime::ntt_primes_around(degree, 45, 1, &[]).unwrap();
    let p = prime::ntt_primes_below(degree, special, 1, &q).unwrap();
    Params::new(ParamsSpec {
        degree: small,
        rank: degree / small,
        q: vec![q[0].value()],
        p: vec![p[0].value()],
        secret: SecretKind::Ternary,
        sigma: 3.2,
        security: Security::Insecure,
    })
    .unwrap()
}

struct World {
    secret: SecretKey,
    values: lwe::SecretKey,
    packing: ModulePacking,
    keys: ModulePackingKeys,
    random: ChaCha20Rng,
}

fn world(degree: usize, small: usize, special: u32) -> World {
    let large = params(degree, degree, special);
    let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
    let packing = ModulePacking::new(&large, &params(degree, small, special)).unwrap();
    let keys = packing.keys(&secret, &mut rng(2)).unwrap().expand(&packing).unwrap();
    assert_eq!(keys.second.shape().to.key, secret.id());
    let values = secret.coefficients(0).to_vec().into();
    let values = lwe::SecretKey::from_coefficients(values).unwrap();
    World { secret, values, packing, keys, random: rng(3) }
}

/// Errors of packed values at all places; absent ones are zero.
fn errors(w: &mut World, indices: &[usize], sigma: f64) -> Vec<f64> {
    let params = w.secret.params();
    let mut expected = vec![0; params.spec().degree];
    let values: Vec<_> = indices
        .iter()
        .map(|&i| {
            expected[i] = w.random.random_range(-(1i64 << 42)..1 << 42);
            let q = params.q().modulus(0);
            (i, lwe::encrypt(q, &w.values, expected[i], sigma, &mut w.random).unwrap())
        })
        .collect();
    let packed = w.packing.pack(&w.keys, values.iter().map(|(i, value)| (*i, value))).unwrap();
    let ring = packed.ring(params);
    let mut phase = packed.phase(&w.secret).unwrap().clone();
    ring.sub_assign(&mut phase, &ring.forward(ring.from_signed(&expected)));
    measured::centered_f64(&ring, &ring.inverse((*phase).clone()))
}

#[test]
fn values_land_at_their_indices_through_every_rank() {
    for small in [8, 16, 64] {
        let mut w = world(64, small, 50);
        for indices in [(0..64).collect::<Vec<_>>(), vec![63], vec![0, 1, 17, 40]] {
            let largest = errors(&mut w, &indices, 3.2).iter().fold(0.0f64, |m, e| m.max(e.abs()));
            assert!(largest < 1024.0, "{small}, {indices:?}: {largest}");
        }
    }
}

#[test]
fn noise_is_that_of_two_key_switches() {
    // A small special prime, under which both switches show.
    for (small, special, sigma) in [(16, 50, 3.2), (64, 36, 3.2), (256, 36, 3.2), (16, 50, 1e6)] {
        let mut w = world(256, small, special);
        let all: Vec<usize> = (0..256).collect();
        let errors: Vec<f64> = (0..8).flat_map(|_| errors(&mut w, &all, sigma)).collect();
        let measured = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        let ratio = measured / w.packing.noise(sigma * sigma);
        assert!((1.0 / 1.35..1.35).contains(&ratio), "{small} {special} {sigma}: {ratio}");
    }
}

/// By hand, for `N = 64` through degree 8: butterflies of degree 8 are 12, of degree 64 are 192.
#[test]
fn work_and_keys_are_counted() {
    let w = world(64, 8, 50);
    let gather = (65 + 64 * 2 + 9 * 2) * 12 + 64 * 9 * 2 * 8;
    let join = 9 * 32 * 3 + (8 * 2 + 2 * 2) * 192 + 8 * 2 * 2 * 64;
    assert_eq!(w.packing.multiplications(3), f64::from(3 * gather + join));
    let seeded = w.packing.keys(&w.secret, &mut rng(4)).unwrap();
    let bits = |params: &Params| params.q().modulus(0).bits() + params.p().modulus(0).bits();
    let words = 64 * 8 + 8 * 64;
    let bytes = words * bits(w.secret.params()) as usize / 8;
    assert_eq!(seeded.byte_len(&w.packing), bytes + 2 * 32);
    let row = |params: &Params| PackedPoly::bytes_over(params.gadget().ring(1));
    let rows = 64 * 9 * row(w.packing.map.small()) + 8 * 2 * row(w.secret.params());
    assert_eq!(w.keys.memory_len(), rows);
}

#[test]
fn misfits_are_refused() {
    let w = world(64, 8, 50);
    let large = w.secret.params();
    let refused = ModulePacking::new(&params(64, 32, 50), &params(64, 8, 50));
    assert!(refusal(&refused).is(&ErrorKind::Shape, "rank of the ring is"));
    let refused = ModulePacking::new(large, &params(32, 8, 50));
    assert!(refused.is_err(), "another prime or rank");
    let stranger = SecretKey::generate(&params(64, 64, 49), &mut rng(1)).unwrap();
    let refused = w.packing.keys(&stranger, &mut rng(1));
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let q = *large.q().modulus(0);
    let zero = |dimension| lwe::Ciphertext::trivial(q, dimension, 0);
    let pack = |values: &[(usize, lwe::Ciphertext)]| {
        w.packing.pack(&w.keys, values.iter().map(|(i, value)| (*i, value)))
    };
    assert!(pack(&[(63, zero(64))]).is_ok());
    assert!(refusal(&pack(&[])).is(&ErrorKind::Length, "no rows: at least one is needed"));
    for (values, name) in [
        (vec![(64, zero(64))], "index of a value"),
        (vec![(3, zero(64)), (3, zero(64))], "index of two values"),
        (vec![(3, zero(32))], "LWE dimension"),
    ] {
        let error = pack(&values).unwrap_err();
        assert!(error.is(&ErrorKind::Shape, name), "{error}");
    }
    let other = lwe::Ciphertext::trivial(*large.p().modulus(0), 64, 0);
    assert!(refusal(&pack(&[(0, other)])).is(&ErrorKind::Argument, "is not supported: need"));
    let foreign = world(64, 16, 50);
    assert!(w.packing.pack(&foreign.keys, [(0, &zero(64))]).is_err());
}
