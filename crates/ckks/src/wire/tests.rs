use bellerophon_mlwe::{PublicKey, RelinStrategy, SecretKey, Security};
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::refusal;
use bellerophon_testing::bytes::{read, write};
use num_complex::Complex64;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::ciphertext::Ciphertext;
use crate::encode::Encoder;
use crate::encrypt::{SeededCiphertext, encrypt, encrypt_seeded};
use crate::interval::Interval;
use crate::modulus_chain::{LevelGroup, ModulusChain};
use crate::params::{Params, ParamsSpec};
use crate::provided::Provided;

pub(super) fn params(rank: usize) -> Params {
    // Primes that serve the ring of the whole module, too.
    let chain = ModulusChain {
        degree: 64 * rank,
        first_bits: 55,
        levels: vec![LevelGroup::single(45, 3)],
        special: (50, 2),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    (spec.lattice.degree, spec.lattice.rank) = (64, rank);
    Params::new(spec).unwrap()
}

pub(super) fn real(lo: f64, hi: f64) -> Interval {
    Interval::real(lo, hi).unwrap()
}

#[test]
fn encrypted_vectors_come_back() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for rank in [1, 2] {
        let params = params(rank);
        let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
        let encoder = Encoder::new(&params);
        let disc = Interval::complex(2.0).unwrap();
        let real = encoder.encode(&[0.5, -0.25, 3.0], real(-1.0, 4.0), params.scale(), 3).unwrap();
        let complex = encoder.encode(&[Complex64::new(0.5, 1.0)], disc, params.scale(), 2).unwrap();
        for plaintext in [real, complex] {
            let ct = encrypt(&params, &plaintext, &secret, &mut rng).unwrap();
            let bytes = write(&params, &ct);
            assert_eq!(read::<Ciphertext>(&params, &bytes).unwrap().unwrap(), ct);
            let fresh = encrypt_seeded(&params, &plaintext, &secret, &mut rng).unwrap();
            let bytes = write(&params, &fresh);
            let back: SeededCiphertext = read(&params, &bytes).unwrap().unwrap();
            assert_eq!(back, fresh);
            assert_eq!(back.expand(&params).unwrap(), fresh.expand(&params).unwrap());
        }
    }
}

#[test]
fn statements_that_cannot_hold_are_refused() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let params = params(1);
    let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
    let plaintext = Encoder::new(&params)
        .encode(&[0.5, 1.0, -2.0], real(-2.0, 2.0), params.scale(), 3)
        .unwrap();
    let ct = encrypt(&params, &plaintext, &secret, &mut rng).unwrap();
    let bytes = write(&params, &ct);
    // Scale, slots, length, ranges of values and of padding, each with its variant, variances of
    // the noise: against the exact program, and beyond the ranges.
    let (scale, slots, len, values, padding, total, excess) = (0, 8, 12, 16, 36, 56, 80);
    let set = |at: usize, new: &[u8]| {
        let mut changed = bytes.clone();
        changed[at..at + new.len()].copy_from_slice(new);
        read::<Ciphertext>(&params, &changed).unwrap().map(|_| ())
    };
    set(scale, &params.scale().to_le_bytes()).unwrap();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            refusal(&set(scale, &bad.to_le_bytes()))
                .is(&ErrorKind::Scale, "need a finite number above zero; the")
        );
    }
    for bad in [0u32, 3, 64, u32::MAX] {
        assert!(
            refusal(&set(slots, &bad.to_le_bytes())).is(&ErrorKind::Shape, "slots: need"),
            "{bad}"
        );
    }
    assert!(
        refusal(&set(len, &0u32.to_le_bytes()))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    assert!(matches!(
        refusal(&set(len, &5u32.to_le_bytes())).kind(),
        ErrorKind::TooManyValues { .. }
    ));
    for at in [values + 4, padding + 4, values + 12, padding + 12] {
        for bad in [f64::NAN, f64::INFINITY, -f64::INFINITY] {
            assert!(refusal(&set(at, &bad.to_le_bytes())).is(&ErrorKind::Domain, "interval ["));
        }
    }
    // Values and padding that do not fit the modulus.
    for at in [values, padding] {
        assert!(
            refusal(&set(at + 12, &1e300f64.to_le_bytes()))
                .is(&ErrorKind::Range, "may reach at most")
        );
    }
    // Mean, peak and bound of the error, and the excess.
    for variance in (total..=excess).step_by(8) {
        for bad in [-1.0, f64::NAN, -f64::INFINITY] {
            assert!(
                refusal(&set(variance, &bad.to_le_bytes()))
                    .is(&ErrorKind::Argument, "need a finite number of at least 0; state")
            );
        }
        set(variance, &0f64.to_le_bytes()).unwrap();
    }
    set(total, &f64::INFINITY.to_le_bytes()).unwrap();
    assert!(
        refusal(&set(excess, &f64::INFINITY.to_le_bytes()))
            .is(&ErrorKind::Argument, "need a finite number of at least 0; state")
    );
}

/// What a provider states: scale, slots, length, range. Each is checked against the parameters.
#[test]
fn provided_vectors_state_what_parameters_allow() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    for rank in [1, 2] {
        let params = params(rank);
        let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
        let public = PublicKey::generate(&secret, &mut rng);
        let plaintext = Encoder::new(&params)
            .encode(&[0.5, 1.0, -2.0], real(-2.0, 2.0), params.scale(), 3)
            .unwrap();
        let provided = Provided::encrypt(&params, &plaintext, &public, &mut rng).unwrap();
        let bytes = write(&params, &provided);
        assert_eq!(read::<Provided>(&params, &bytes).unwrap().unwrap(), provided);
        let (scale, slots, len, range) = (0, 8, 12, 16);
        let set = |at: usize, new: &[u8]| {
            let mut changed = bytes.clone();
            changed[at..at + new.len()].copy_from_slice(new);
            read::<Provided>(&params, &changed).unwrap().map(|_| ())
        };
        for bad in [0.0, f64::NAN, 2.0 * params.scale()] {
            let refused = set(scale, &bad.to_le_bytes());
            assert!(
                refusal(&refused).is(&ErrorKind::Scale, "has another scale than the one needed ("),
                "{bad} {refused:?}"
            );
        }
        for bad in [0u32, 2, 3, 64, u32::MAX] {
            let refused = set(slots, &bad.to_le_bytes());
            assert!(refusal(&refused).is(&ErrorKind::Shape, "slots: need"), "{bad} {refused:?}");
        }
        assert!(
            refusal(&set(len, &0u32.to_le_bytes()))
                .is(&ErrorKind::Length, "no operands or values: need at least one")
        );
        assert!(refusal(&set(len, &5u32.to_le_bytes())).is(&ErrorKind::Shape, "slots: need"));
        let refused = set(range + 12, &f64::NAN.to_le_bytes());
        assert!(refusal(&refused).is(&ErrorKind::Domain, "interval ["));
        let refused = set(range + 12, &1e300f64.to_le_bytes());
        assert!(refusal(&refused).is(&ErrorKind::Range, "may reach at most"));
    }
}

#[test]
fn parameters_come_back_with_their_route() {
    for params in [params(1), params(2)] {
        let ring =
            RelinStrategy::new(params.lattice(), params.lattice().spec().rank, None).unwrap();
        for route in
            [params.relin_strategy().clone(), RelinStrategy::direct(params.lattice()), ring]
        {
            let params = params.clone().relinearizing(route).unwrap();
            let bytes = write(&Security::Insecure, &params);
            let back: Params = read(&Security::Insecure, &bytes).unwrap().unwrap();
            assert!(back == params);
            assert_eq!(back.relin_strategy(), params.relin_strategy());
            assert!(write(&Security::Insecure, &back) == bytes);
            assert!(read::<Params>(&Security::Bits128, &bytes).unwrap().is_err());
        }
    }
}
