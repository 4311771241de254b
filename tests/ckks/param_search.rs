//! Chosen parameters keep what they promise: precision from both sides, sizes, security.

use crate::common::{World, max_error, span};
use bellerophon_circuits::{approx::Accuracy, param_search::ProgramBounds};
use bellerophon_ckks::paper::FullRnsHeaan;
use bellerophon_ckks::{
    CkksOps, Encoder, ErrorKind, KeyLevels, Params, PublicKey, Security, encrypt_public,
};

fn requirements(slots: usize, depth: usize, bits: f64) -> ProgramBounds {
    ProgramBounds {
        security: Security::Bits128,
        slots,
        depth,
        accuracy: Accuracy::bits(bits),
        bootstraps: false,
    }
}

/// Squares and products `depth` deep of public-key encryptions keep the promised bits in the worst
/// slot, and not many more.
fn keeps_its_promise(slots: usize, depth: usize, bits: f64) {
    let choice = requirements(slots, depth, bits).choose().unwrap();
    println!("{choice}\n");
    assert!(choice.bits >= bits, "{choice}");
    let params = &choice.params;
    // No more than asked for, above the least scale.
    assert!(choice.bits < bits + 3.0 || params.scale() == 2f64.powi(30), "{choice}");
    assert_eq!((params.max_level(), params.lattice().spec().security), (depth, Security::Bits128));
    assert!(params.lattice().security_bits() >= 128.0 && params.max_slots() >= slots);

    let world = World::of(params.clone(), KeyLevels::default().multiply(depth), 7);
    let eval = world.evaluator();
    let public = PublicKey::generate(&world.secret, &mut *world.rng.borrow_mut());
    let encrypt = |values: &[f64]| {
        let plain = Encoder::new(params)
            .encode(values, span(values), params.scale(), params.limbs())
            .unwrap();
        encrypt_public(params, &plain, &public, &mut *world.rng.borrow_mut()).unwrap()
    };
    // Where the bounds of the messages are attained: the worst case of squaring.
    let signs: Vec<f64> = world.reals(slots).into_iter().map(f64::signum).collect();
    let mut square = encrypt(&signs);
    let mut expected = signs;
    for _ in 0..depth {
        square = eval.square(&square).unwrap();
        expected.iter_mut().for_each(|x| *x *= *x);
    }
    let log2_error = max_error(&world.decrypt(&square), &expected).log2();
    assert!(log2_error < -bits && log2_error < -choice.bits, "{log2_error}: {choice}");
    // The bound leaves 2^-40 of a chance, about 3 bits above the worst of many slots there are; a
    // few slots may be luckier.
    assert!(slots < 64 || log2_error > -choice.bits - 5.0, "{log2_error}: {choice}");

    // Any other program of that depth: products with fresh numbers.
    let mut expected = world.reals(slots);
    let mut product = encrypt(&expected);
    for _ in 0..depth {
        let y = world.reals(slots);
        product = eval.mul(&product, &encrypt(&y)).unwrap();
        expected.iter_mut().zip(&y).for_each(|(x, y)| *x *= y);
    }
    let log2_error = max_error(&world.decrypt(&product), &expected).log2();
    assert!(log2_error < -choice.bits, "{log2_error}: {choice}");

    // Sizes are those of the things themselves.
    let predicted = choice.predicted();
    let words = 2 * params.limbs() * params.lattice().spec().degree;
    assert_eq!(predicted.ciphertext_bytes, 8 * words);
    if let Some(keys) = world.keys.relinearization_keys() {
        assert_eq!(predicted.key_bytes, keys.memory_len());
        assert_eq!(predicted.key_bytes_seeded, keys.seeded_byte_len());
    }
    assert_eq!(predicted.digits, params.lattice().gadget().digits(params.limbs()));
}

#[test]
fn small_sets_keep_their_promise() {
    for (slots, depth, bits) in [
        (1, 0, 10.0),
        (8, 1, 8.0),
        (1000, 2, 20.0),
        (1024, 3, 16.0),
        (64, 2, 36.0),
        (2000, 5, 24.0),
    ] {
        keeps_its_promise(slots, depth, bits);
    }
}

#[test]
fn a_full_size_set_keeps_its_promise() {
    keeps_its_promise(1 << 14, 11, 20.0);
}

#[test]
fn the_choice_is_the_smallest_ring_and_says_why() {
    // What binds is named.
    let slots = requirements(8192, 1, 10.0).choose().unwrap();
    assert_eq!(slots.params.lattice().spec().degree, 1 << 14);
    assert!(slots.to_string().contains("The slots bind"), "{slots}");
    let modulus = requirements(16, 6, 15.0).choose().unwrap();
    let less = requirements(16, 5, 15.0).choose().unwrap();
    assert!(modulus.to_string().contains("The modulus binds"), "{modulus}");
    assert!(less.params.lattice().spec().degree <= modulus.params.lattice().spec().degree);
    for word in ["log2 QP", "digits", "MiB", "ms", "asked: 15 bits"] {
        assert!(modulus.to_string().contains(word), "{modulus}");
    }
    // The specification rebuilds the set.
    let again = Params::new(modulus.spec().unwrap()).unwrap();
    assert_eq!(again.lattice().fingerprint(), modulus.params.lattice().fingerprint());
    // The model in which other libraries count leaves more room.
    let classical = ProgramBounds { security: Security::Bits128Classical, ..modulus.requirements };
    assert!(
        classical.choose().unwrap().params.lattice().spec().degree
            <= modulus.params.lattice().spec().degree
    );
}

#[test]
fn what_cannot_be_had_names_the_nearest() {
    let error = |r: ProgramBounds| r.choose().unwrap_err();
    let base = requirements(100, 2, 20.0);
    let refused = error(ProgramBounds { slots: 1 << 17, ..base });
    assert!(matches!(refused.kind(), ErrorKind::TooManyValues { most: 65536, .. }), "{refused}");
    // Too precise for any scale: the nearest precision can be had.
    let refused = error(ProgramBounds { accuracy: Accuracy::bits(60.0), ..base });
    let nearest = |error: &bellerophon_ckks::Error| match *error.kind() {
        ErrorKind::Accuracy { log2_reached } => log2_reached,
        _ => panic!("{error}"),
    };
    let bits = -nearest(&refused).unwrap();
    assert!(ProgramBounds { accuracy: Accuracy::bits(bits), ..base }.choose().is_ok(), "{bits}");
    let more = error(ProgramBounds { accuracy: Accuracy::bits(bits + 1.0), ..base });
    assert_eq!(nearest(&more), Some(-bits), "{more}");
    // Too deep for any precision: the nearest depth can be had.
    let deep = ProgramBounds { depth: 100, accuracy: Accuracy::bits(4.0), ..base };
    let refused = error(deep);
    assert_eq!(nearest(&refused), None, "{refused}");
    let words = refused.message().split(" product(s)").nth(1).unwrap();
    let depth = words.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(ProgramBounds { depth, ..deep }.choose().is_ok());
    let deeper = error(ProgramBounds { depth: usize::MAX, ..deep });
    assert_eq!(nearest(&deeper), None, "{deeper}");
    assert!(error(deep).to_string().contains(&format!("allows {depth} product(s)")));
    for senseless in [
        ProgramBounds { slots: 0, ..base },
        ProgramBounds { accuracy: Accuracy::bits(0.0), ..base },
        ProgramBounds { accuracy: Accuracy::bits(f64::NAN), ..base },
        ProgramBounds { security: Security::Insecure, ..base },
    ] {
        assert!(matches!(error(senseless).kind(), ErrorKind::Parameters | ErrorKind::Length));
    }
}

#[test]
fn the_sets_of_the_paper() {
    for (set, log2_q, log2_qp) in [
        (FullRnsHeaan::Depth5, 336.0, 696.0),
        (FullRnsHeaan::Depth10, 611.0, 1271.0),
        (FullRnsHeaan::Depth15, 886.0, 1846.0),
    ] {
        let spec = set.spec().unwrap();
        assert_eq!(spec.lattice.security, Security::Insecure);
        let secure =
            bellerophon_mlwe::ParamsSpec { security: Security::Bits128, ..spec.lattice.clone() };
        assert!(matches!(
            bellerophon_mlwe::Params::new(secure),
            Err(e) if e.is(&ErrorKind::Insecure, "bits; take fewer or smaller primes, a")
        ));
        let log2 = |primes: &[u64]| primes.iter().map(|&q| (q as f64).log2()).sum::<f64>();
        assert!((log2(&spec.lattice.q) - log2_q).abs() < 0.01);
        assert!((log2(&spec.lattice.q) + log2(&spec.lattice.p) - log2_qp).abs() < 0.01);
        let lattice = bellerophon_mlwe::Params::new(spec.lattice).unwrap();
        assert_eq!(lattice.gadget().digits(set.depth() + 1), 1);
        assert_eq!(lattice.security_bits().floor() as u32, set.security_bits());
        assert!(set.to_string().contains("insecure"));
    }
}
