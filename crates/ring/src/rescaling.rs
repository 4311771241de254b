//! Rescaling: rounded division of a polynomial by the last primes of its ring.
//!
//! A product of two CKKS ciphertexts has the product of their scales. Division by a prime `q_l` of
//! the size of the scale restores it, and the prime leaves the modulus. The remainder modulo `q_l`
//! is converted to the other primes, subtracted, and the difference is multiplied by `q_l^-1`.

use crate::basis_extension::Division;
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// `round(a / D)` for the product `D` of the last `count` primes of the ring: rescaling (RS) of
/// Full-RNS HEAAN, section 4, by one or several primes at once. The result has `count` limbs fewer.
/// The rounding error of each coefficient is in `[-1/2, 1/2]`.
///
/// # Panics
/// Unless the ring has more than `count` primes and `count` is in
/// `1..=`[`BaseConverter::MAX_SOURCES`](crate::BaseConverter::MAX_SOURCES).
pub fn rescale(ring: &Ring, a: Poly<Ntt>, count: usize) -> Poly<Ntt> {
    ring.check(&a);
    assert!((1..ring.limbs()).contains(&count), "need primes to divide by and primes to keep");
    // The primes are distinct, so the inverses exist.
    Division::new(ring, ring.limbs() - count).expect("distinct primes").apply(a)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use proptest::prelude::*;

    use super::*;
    use crate::basis_extension::tests::{bases, residue};
    use crate::testing::values;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rescaling_rounds(seed: u64, count in 1usize..4) {
            let (q, _) = bases();
            let a = values(&q, seed);
            let values = q.centered(&a);
            let last = BigInt::from(q.slice(4 - count..4).big_modulus());
            let lower = q.at_limbs(4 - count);
            let quotients = lower.centered(&lower.inverse(rescale(&q, q.forward(a), count)));
            let modulus = BigInt::from(q.big_modulus());
            for (value, quotient) in values.iter().zip(quotients) {
                let d = residue(&(quotient * &last - value), &modulus);
                // The floating-point quotient may choose the other side of a tie but for 2^-45.
                let bound = &last + (&last >> 45) + 1;
                prop_assert!(&d * 2 < bound || (&modulus - &d) * 2 < bound);
            }
        }
    }
}
