//! Search for NTT-friendly primes `q = 1 mod 2N`.

use crate::{ErrorKind, Modulus, Result};

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

/// The `count` primes `q = 1 mod 2 * degree` nearest to `2^bits`, alternately above and below,
/// excluding `exclude`.
///
/// This is the approximate basis of Full-RNS HEAAN, section 3.1 and appendix B: the ratios
/// `q / 2^bits` scatter around 1, so that scales stay near `2^bits` at every level.
pub fn ntt_primes_around(
    degree: usize,
    bits: u32,
    count: usize,
    exclude: &[Modulus],
) -> Result<Vec<Modulus>> {
    let Some((order, center)) = order_and_center(degree, bits) else {
        return complete(vec![], count, (degree as u64).wrapping_mul(2), bits);
    };
    // Stay within a factor of 1 +- 1/8 of the target and below 2^61.
    let reach = (center / 8 / order).max(1);
    let above = (0..reach).map(|k| center + 1 + k * order).take_while(|&q| q < 1 << 61);
    let below = (1..reach).map(|k| center + 1 - k * order);
    let mut sides = [candidates(above, exclude), candidates(below, exclude)];
    let mut found = vec![];
    // Alternate between both sides until both are exhausted.
    let mut side = 0;
    let mut dry = 0;
    while found.len() < count && dry < 2 {
        match sides[side].next() {
            Some(q) => {
                found.push(q);
                dry = 0;
            }
            None => dry += 1,
        }
        side = 1 - side;
    }
    complete(found, count, order, bits)
}

/// The `count` largest primes `q = 1 mod 2 * degree` below `2^bits`, excluding `exclude`.
///
/// For special primes, and for moduli below a bound such as the `2^50` of the 52-bit kernels.
pub fn ntt_primes_below(
    degree: usize,
    bits: u32,
    count: usize,
    exclude: &[Modulus],
) -> Result<Vec<Modulus>> {
    let Some((order, center)) = order_and_center(degree, bits) else {
        return complete(vec![], count, (degree as u64).wrapping_mul(2), bits);
    };
    let below = (1..(center / 2 / order).max(1)).map(|k| center + 1 - k * order);
    let found = candidates(below, exclude).take(count).collect();
    complete(found, count, order, bits)
}

/// `2 N` and `2^bits`. `None` for degrees or sizes that no modulus has.
fn order_and_center(degree: usize, bits: u32) -> Option<(u64, u64)> {
    ((1..=1 << 60).contains(&degree) && bits <= 61).then(|| (2 * degree as u64, 1 << bits))
}

/// The primes among `values` that are not excluded.
fn candidates<'a>(
    values: impl Iterator<Item = u64> + 'a,
    exclude: &'a [Modulus],
) -> Box<dyn Iterator<Item = Modulus> + 'a> {
    Box::new(
        values
            .filter(move |&q| exclude.iter().all(|m| m.value() != q))
            .filter_map(|q| Modulus::new(q).ok()),
    )
}

/// `Err` unless enough primes were found.
fn complete(found: Vec<Modulus>, wanted: usize, order: u64, bits: u32) -> Result<Vec<Modulus>> {
    // Fewer primes than wanted would silently shorten a chain.
    if found.len() < wanted {
        return Err(ErrorKind::PrimesExhausted { found: found.len(), wanted, order, bits }.into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::refusal;

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

    /// Full-RNS HEAAN, appendix B, lists primes near 2^55 for N up to 2^16 in this order.
    #[test]
    fn finds_the_basis_of_the_paper() {
        let primes = ntt_primes_around(1 << 15, 55, 15, &[]).unwrap();
        for q in &primes {
            assert_eq!(q.value() % (1 << 16), 1);
            let eta = (q.value() as f64 / 2f64.powi(55) - 1.0).abs();
            assert!(eta < 2f64.powi(-25), "{q:?}");
        }
        // From the paper's list 2^55 + 0x80001, + 0x130001, - 0x16ffff, the nearest above and below
        // come first.
        assert!(primes[0].value() > 1 << 55 && primes[1].value() < 1 << 55);
        assert_eq!(primes[0].value(), 0x80_0000_0008_0001);
    }

    #[test]
    fn excludes_and_exhausts() {
        let first = ntt_primes_around(8, 20, 3, &[]).unwrap();
        let next = ntt_primes_around(8, 20, 3, &first).unwrap();
        assert!(first.iter().all(|q| !next.contains(q)));
        assert!(ntt_primes_below(8, 20, 3, &[]).unwrap().iter().all(|q| q.value() < 1 << 20));
        assert!(matches!(
            refusal(&ntt_primes_below(1 << 10, 12, 5, &[])),
            ErrorKind::PrimesExhausted { wanted: 5, .. }
        ));
    }

    #[test]
    fn sizes_at_and_beyond_the_limit() {
        // All of them below, where moduli end.
        let primes = ntt_primes_around(1 << 15, 61, 3, &[]).unwrap();
        assert_eq!(primes, ntt_primes_below(1 << 15, 61, 3, &[]).unwrap());
        for (degree, bits) in [(8, 62), (8, 63), (8, 64), (8, u32::MAX), (0, 30), (1 << 63, 30)] {
            for search in [ntt_primes_around, ntt_primes_below] {
                let found = search(degree, bits, 1, &[]);
                assert!(
                    matches!(refusal(&found), ErrorKind::PrimesExhausted { found: 0, .. }),
                    "{bits}"
                );
            }
        }
    }
}
