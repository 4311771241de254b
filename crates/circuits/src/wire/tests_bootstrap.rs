//! Keys of bootstraps as bytes.

use std::sync::Arc;

use bellerophon_ckks::{
    Ciphertext, Encoder, ErrorKind, EvaluationKeys, Interval, Params, ParamsSpec, SecretKey,
    Security, encrypt,
};
use bellerophon_ring::error::refusal;
use bellerophon_testing::bytes::{comes_back, read, write};
use bincode::serde::{borrow_decode_from_slice, encode_to_vec};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper};
use crate::rank_bootstrap::RankBootstrap;

fn encrypted(params: &Params, secret: &SecretKey, limbs: usize) -> Ciphertext {
    let plain = Encoder::new(params)
        .encode(&[0.5, -0.25, 1.0], Interval::real(-1.0, 1.0).unwrap(), params.scale(), limbs)
        .unwrap();
    encrypt(params, &plain, secret, &mut ChaCha20Rng::seed_from_u64(9)).unwrap()
}

#[test]
fn bootstrapping_keys_come_back() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let spec = BootstrapSpec::new(32);
    let chain = spec.chain(64, 40, 2, (50, 2)).unwrap();
    let params = ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    let params = Params::new(params).unwrap();
    let bytes = encode_to_vec(&spec, bincode::config::legacy()).unwrap();
    let again: BootstrapSpec =
        borrow_decode_from_slice(&bytes, bincode::config::legacy()).unwrap().0;
    assert_eq!(again, BootstrapSpec { encode_ahead: false, ..spec });
    let bootstrapper = Bootstrapper::new(&params, again).unwrap();
    let [first, second] = [1, 2].map(|_| SecretKey::generate(params.lattice(), &mut rng).unwrap());
    let [keys, others] = [&first, &second]
        .map(|secret| BootstrapKeys::generate(bootstrapper.raising(), secret, &mut rng).unwrap());
    let bytes = write(bootstrapper.raising(), &keys);
    let back: BootstrapKeys = read(bootstrapper.raising(), &bytes).unwrap().unwrap();
    assert!(write(bootstrapper.raising(), &back) == bytes);
    assert_eq!((back.secret_id(), back.byte_len()), (keys.secret_id(), keys.byte_len()));
    // A part of one set and the rest of another.
    let raising = bootstrapper.raising();
    let set = |s2c: &BootstrapKeys, sparse: &BootstrapKeys, raise: &BootstrapKeys| {
        let (sparse, raise) = (sparse.to_sparse().clone(), raise.raise().clone());
        BootstrapKeys::from_parts(raising, s2c.s2c().clone(), sparse, raise)
    };
    set(&keys, &keys, &keys).unwrap();
    for mixed in
        [set(&others, &keys, &keys), set(&keys, &others, &keys), set(&keys, &keys, &others)]
    {
        assert!(
            refusal(&mixed)
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
    }
    // Rotations of S2C at another level, one too few, and one too many.
    let (lowest, steps) = (&raising.s2c.params, raising.s2c.keys());
    let lowered = first.under(lowest.lattice()).unwrap();
    let low = steps.clone().up_to(1);
    let more = steps.clone().conjugate(1);
    let mut fewer = steps.clone();
    fewer.rotations.pop_first();
    for request in [low, more, fewer] {
        let s2c = EvaluationKeys::generate(lowest, &lowered, &request, &mut rng).unwrap();
        let (sparse, raise) = (keys.to_sparse().clone(), keys.raise().clone());
        let refused = BootstrapKeys::from_parts(raising, s2c, sparse, raise);
        assert!(
            refusal(&refused).is(&ErrorKind::Bytes, "take the keys or the bytes that this"),
            "{request:?}"
        );
    }
}

#[test]
fn keys_to_bootstrap_a_rank_come_back() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let spec = BootstrapSpec::new(8);
    let chain = spec.chain(64, 40, 2, (50, 2)).unwrap();
    let large = ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    let mut small = large.clone();
    (small.lattice.degree, small.lattice.rank) = (32, 2);
    let (large, small) = (Params::new(large).unwrap(), Params::new(small).unwrap());
    let bootstrapper = Arc::new(Bootstrapper::new(&large, spec).unwrap());
    let secret = SecretKey::generate(small.lattice(), &mut rng).unwrap();
    let keys = RankBootstrap::generate(&small, &secret, bootstrapper.clone(), &mut rng).unwrap();
    let both = (small.clone(), bootstrapper.clone());
    let back = comes_back(&both, &keys, 8);
    let x = encrypted(&small, &secret, small.limbs_at(bootstrapper.input_level()));
    assert_eq!(back.bootstrap(&x).unwrap(), keys.bootstrap(&x).unwrap());

    // Keys of two secrets.
    let other = SecretKey::generate(small.lattice(), &mut rng).unwrap();
    let other = RankBootstrap::generate(&small, &other, bootstrapper.clone(), &mut rng).unwrap();
    let ((rings, ..), (_, evaluation, own)) = (keys.parts(), other.parts());
    let mixed =
        RankBootstrap::from_parts(&small, bootstrapper, rings.clone(), evaluation, own.clone());
    assert!(
        refusal(&mixed).is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
}
