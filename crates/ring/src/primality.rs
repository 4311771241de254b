//! The test whether a number is prime.

/// Whether `n` is prime: Miller-Rabin with the first twelve primes as bases, which is deterministic
/// for every `n < 2^64` (Sorenson and Webster, 2015).
pub(crate) fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    // Step 1: trial division by the bases.
    for p in BASES {
        if n.is_multiple_of(p) {
            return n == p;
        }
    }
    let mul = |a: u64, b: u64| (a as u128 * b as u128 % n as u128) as u64;
    let pow = |mut a: u64, mut e: u64| {
        let mut r = 1;
        while e > 0 {
            if e & 1 == 1 {
                r = mul(r, a);
            }
            a = mul(a, a);
            e >>= 1;
        }
        r
    };
    // Step 2: n - 1 = odd 2^twos. For a prime n, a^odd is 1, or one of its first squares is -1.
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    BASES.iter().all(|&a| {
        let mut x = pow(a, odd);
        if x == 1 || x == n - 1 {
            return true;
        }
        for _ in 1..twos {
            x = mul(x, x);
            if x == n - 1 {
                return true;
            }
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primality_against_trial_division() {
        let naive =
            |n: u64| n >= 2 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        for n in 0..5000 {
            assert_eq!(is_prime(n), naive(n), "{n}");
        }
        // Strong pseudoprimes to small sets of bases.
        for n in [3_215_031_751, 3_474_749_660_383, 341_550_071_728_321, 3_825_123_056_546_413_051]
        {
            assert!(!is_prime(n));
        }
        assert!(is_prime((1 << 61) - 1));
    }
}
