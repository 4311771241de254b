//! Group `ring`: transforms and products of residue polynomials.
//!
//! "hot" repeats one prime on one polynomial; "cold" takes 20 primes in turn, each with its own
//! table and its own polynomial, as an RNS ciphertext does. Times are per residue polynomial.

use bellerophon_ring::{Ntt, NttTable, Poly, Ring, prime};

use super::measure::Bench;
use common::program::Failure;

/// Primes that take turns in the cold rows.
const COLD_PRIMES: usize = 20;

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    for degree in [4096, 32768, 65536] {
        for bits in [50, 60] {
            let mut limbs = limbs(degree, bits)?;
            transforms(bench, degree, bits, &mut limbs);
            if degree == 65536 {
                product(bench, degree, bits, &limbs);
            }
        }
    }
    Ok(())
}

fn transforms(bench: &mut Bench, degree: usize, bits: u32, limbs: &mut [Limb]) {
    let forward = NttTable::forward as fn(&NttTable, &mut [u64]);
    for (direction, transform) in [("ntt_fwd", forward), ("ntt_inv", NttTable::inverse)] {
        let Limb { ring, values } = &mut limbs[0];
        let backend = ring.table(0).backend().name();
        let name = format!("ring/{direction}/{degree}/{bits}/hot");
        let row = bench.time(name, 1, || transform(ring.table(0), values.limb_mut(0)));
        row.extra.insert("backend", backend.into());

        let name = format!("ring/{direction}/{degree}/{bits}/cold");
        let row = bench.time(name, COLD_PRIMES, || {
            for Limb { ring, values } in limbs.iter_mut() {
                transform(ring.table(0), values.limb_mut(0));
            }
        });
        row.extra.insert("backend", backend.into());
    }
}

fn product(bench: &mut Bench, degree: usize, bits: u32, limbs: &[Limb]) {
    let Limb { ring, values } = &limbs[0];
    let mut product = values.clone();
    let name = format!("ring/mul/{degree}/{bits}");
    let row = bench.time(name, 1, || ring.mul_assign(&mut product, values));
    row.extra.insert("backend", ring.table(0).backend().name().into());
}

/// A prime with its table, and a polynomial modulo it.
struct Limb {
    ring: Ring,
    values: Poly<Ntt>,
}

/// Different primes below `2^bits`, each with a polynomial of arbitrary residues; speed does not
/// depend on them.
fn limbs(degree: usize, bits: u32) -> Result<Vec<Limb>, Failure> {
    let primes = prime::ntt_primes_below(degree, bits, COLD_PRIMES, &[])?;
    primes
        .into_iter()
        .map(|q| {
            let ring = Ring::new(degree, &[q])?;
            let mut values = ring.zero();
            for (i, x) in values.limb_mut(0).iter_mut().enumerate() {
                *x = q.reduce((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
            Ok(Limb { ring, values })
        })
        .collect()
}
