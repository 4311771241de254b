//! Search for NTT-friendly primes `q = 1 mod 2N`.

use crate::error::ensure;
use crate::error::{self, Result};
use crate::modulus::Modulus;

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
    ensure(found.len() >= wanted, || error::primes_exhausted(found.len(), wanted, order, bits))?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, refusal};

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
        assert!(
            refusal(&ntt_primes_below(1 << 10, 12, 5, &[]))
                .is(&ErrorKind::Parameters, "of 5 primes q = 1 mod")
        );
    }

    #[test]
    fn sizes_at_and_beyond_the_limit() {
        // All of them below, where moduli end.
        let primes = ntt_primes_around(1 << 15, 61, 3, &[]).unwrap();
        assert_eq!(primes, ntt_primes_below(1 << 15, 61, 3, &[]).unwrap());
        for (degree, bits) in [(8, 62), (8, 63), (8, 64), (8, u32::MAX), (0, 30), (1 << 63, 30)] {
            for search in [ntt_primes_around, ntt_primes_below] {
                let found = search(degree, bits, 1, &[]);
                assert!(refusal(&found).is(&ErrorKind::Parameters, "found 0 of"), "{bits}");
            }
        }
    }
}
