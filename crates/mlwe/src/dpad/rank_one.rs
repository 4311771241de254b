//! Tests: rank 1 of the module code equals RLWE written out on two polynomials, bit by bit.

use bellerophon_ring::{ModDown, Ntt, Poly, rescale};

use super::*;
use crate::ciphertext::Ciphertext;
use crate::encrypt::restrict_extended;
use crate::galois::{GaloisKey, rotation_exponent};
use crate::keyswitch::KeySwitchKey;
use crate::module_map::ModuleMap;
use crate::params::Params;
use crate::rank_reduction::pad_rank;
use crate::relinearize::RelinKeys;
use crate::secret::SecretKey;
use crate::tensor::Tensor;
use crate::testing::{message, params, rng};

/// An RLWE ciphertext as in Full-RNS HEAAN: body and mask.
type Pair = (Poly<Ntt>, Poly<Ntt>);

fn pair(ct: &Ciphertext) -> Pair {
    assert_eq!(ct.rank(), 1);
    (ct.b().clone(), ct.masks()[0].clone())
}

/// `sum_j digit_j (b_j, a_j)` divided by `P`: one digit after the other, without fused kernels.
fn switched(params: &Params, key: &KeySwitchKey, a: &Poly<Ntt>) -> Pair {
    let limbs = a.limbs();
    let (ring, all) = (params.gadget().ring(limbs), key.limbs());
    let mut sums = (ring.zero::<Ntt>(), ring.zero::<Ntt>());
    for (j, digit) in params.gadget().decompose(a).iter().enumerate() {
        let (b, masks) = key.row(j, 0);
        ring.mul_add_assign(&mut sums.0, digit, &restrict_extended(&b.unpack(), limbs, all));
        ring.mul_add_assign(&mut sums.1, digit, &restrict_extended(&masks[0].unpack(), limbs, all));
    }
    let down = ModDown::new(&params.q().at_limbs(limbs), params.p()).unwrap();
    (down.apply(sums.0), down.apply(sums.1))
}

#[test]
fn products_and_rotations_are_those_of_rlwe() {
    for special in [1, 2, 3] {
        let params = params(256, 1, 4, special);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let strategies = [
            RelinStrategy::direct(&params),
            RelinStrategy::new(&params, 1, None).unwrap(),
            RelinStrategy::new(&params, 1, None).unwrap(),
        ];
        assert!(strategies.iter().all(|strategy| *strategy == strategies[0]));
        let keys = RelinKeys::generate(&strategies[0], &secret, 4, &mut rng(2)).unwrap();
        let galois =
            GaloisKey::generate(&secret, rotation_exponent(256, 3), 4, &mut rng(3)).unwrap();
        for limbs in [2, 4] {
            let ring = params.q().at_limbs(limbs);
            let x = secret.encrypt(&message(&params, limbs, 7), &mut rng(4)).unwrap();
            let y = secret.encrypt(&message(&params, limbs, 8), &mut rng(5)).unwrap();
            let ((b, a), (c, d)) = (pair(&x), pair(&y));
            let times = |x: &Poly<Ntt>, y: &Poly<Ntt>| {
                let mut product = x.clone();
                ring.mul_assign(&mut product, y);
                product
            };
            let plus = |mut x: Poly<Ntt>, y: &Poly<Ntt>| {
                ring.add_assign(&mut x, y);
                x
            };
            // Product and relinearization.
            let linear = plus(times(&b, &d), &times(&a, &c));
            let (body, mask) = switched(&params, keys.cross(), &times(&a, &d));
            let product = (plus(body, &times(&b, &c)), plus(mask, &linear));
            let found = keys.multiply(&x, &y, 0).unwrap();
            assert!(pair(&found) == product, "{special} special primes, {limbs} limbs");
            // Rescaling.
            let scaled = (rescale(&ring, product.0, 1), rescale(&ring, product.1, 1));
            assert!(pair(&found.rescale(&params, 1).unwrap()) == scaled);
            // Rotation.
            let map = ring.automorphism(galois.exponent()).unwrap();
            let (body, mask) = switched(&params, galois.key(), &a);
            let turned = (ring.apply_ntt(&plus(body, &b), &map), ring.apply_ntt(&mask, &map));
            assert!(pair(&galois.apply(&params, &x).unwrap()) == turned);
        }
        // The tensor of rank 1 has the three polynomials of RLWE: one for each power of the secret.
        let x = secret.encrypt(&message(&params, 2, 7), &mut rng(4)).unwrap();
        let tensor = Tensor::square(&params, &x).unwrap();
        assert_eq!((tensor.linear.len(), tensor.quadratic.len()), (1, 1));
    }
}

#[test]
fn changes_of_rank_by_nothing_change_nothing() {
    let params = params(256, 1, 3, 2);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let ct = secret.encrypt(&message(&params, 2, 7), &mut rng(2)).unwrap();
    assert_eq!(params.module_view(1).unwrap(), params);
    let map = ModuleMap::new(&params, &params, 3).unwrap();
    assert_eq!(map.extract(&ct).unwrap(), ct);
    assert_eq!(map.embed(&ct).unwrap(), ct);
    let same = map.extract_secret(&secret).unwrap();
    assert_eq!(same.all_coefficients(), secret.all_coefficients());
    assert_eq!(pad_rank(&params, &ct, &params, secret.id()).unwrap(), ct);
    let conversion = RingConversion::generate(&secret, &params, 3, &mut rng(3)).unwrap();
    assert_eq!((conversion.map().factor(), conversion.galois().exponents().len()), (1, 0));
    assert_eq!(conversion.to_rank(&ct).unwrap(), ct);
    assert_eq!(conversion.from_rank(&ct).unwrap(), ct);
    assert_eq!(conversion.from_rank_divided(&ct).unwrap(), ct);
}
