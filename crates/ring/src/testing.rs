//! Gadgets and values for the tests of this crate.

use crate::gadget::HybridGadget;
use crate::ntt::NttTable;
use crate::poly::{Domain, Poly};
use crate::ring::Ring;
use crate::{packed_poly, prime};

/// The largest prime that is at most `most`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) fn prime_up_to(most: u64) -> crate::modulus::Modulus {
    (0..).find_map(|k| crate::modulus::Modulus::new(most - k).ok()).unwrap()
}

/// A chain of primes around powers of two, given by `(bits, count)`, with `special` primes below a
/// power of two.
pub(crate) fn gadget(degree: usize, sizes: &[(u32, usize)], special: (u32, usize)) -> HybridGadget {
    let mut q = vec![];
    for &(bits, count) in sizes {
        q.extend(prime::ntt_primes_around(degree, bits, count, &q).unwrap());
    }
    let p = prime::ntt_primes_below(degree, special.0, special.1, &q).unwrap();
    HybridGadget::new(&Ring::new(degree, &q).unwrap(), &Ring::new(degree, &p).unwrap()).unwrap()
}

/// The residues of `P` modulo the primes of a level, then modulo the primes of `P`.
pub(crate) fn p_residues(gadget: &HybridGadget, limbs: usize) -> Vec<u64> {
    let p = gadget.p().big_modulus();
    let residue = |m: u64| u64::try_from(&p % m).unwrap();
    gadget.ring(limbs).moduli().map(|m| residue(m.value())).collect()
}

/// Residues that depend only on the seed: [`words`] below each prime.
pub(crate) fn values<D: Domain>(ring: &Ring, seed: u64) -> Poly<D> {
    let mut a = ring.zero();
    for i in 0..ring.limbs() {
        let limb = words(ring.degree(), ring.modulus(i).value(), seed.wrapping_add(i as u64));
        a.limb_mut(i).copy_from_slice(&limb);
    }
    a
}

/// Words below `bound`, many of them at the ends and in the middle of the range.
pub(crate) fn words(len: usize, bound: u64, seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 1
    };
    (0..len)
        .map(|_| match next() >> 59 {
            0 => 0,
            1 | 2 => bound - 1,
            3 => bound / 2,
            4 => bound / 2 + 1,
            _ => (next() ^ next() << 31) % bound,
        })
        .collect()
}

/// A limb, packed as in a key row.
pub(crate) fn packed(table: &NttTable, limb: &[u64]) -> Vec<u64> {
    let mut packed = vec![0; limb.len() / 8 * table.packed_bytes()];
    packed_poly::pack(limb, &mut packed);
    packed
}
