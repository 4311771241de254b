//! Group `ring`: transforms and products of residue polynomials.
//!
//! "hot" repeats one prime on one polynomial; "cold" takes 20 primes in turn, each with its own
//! table and its own polynomial, as an RNS ciphertext does. Times are per residue polynomial.

use bellerophon::ring::{Ntt, NttTable, Poly, Ring, prime};
use common::program::Failure;

use crate::measure::Bench;

/// Primes that take turns in the cold rows.
const COLD_PRIMES: usize = 20;

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    for degree in [4096, 32768, 65536] {
        for bits in [50, 60] {
            of_size(bench, degree, bits)?;
        }
    }
    Ok(())
}

fn of_size(bench: &mut Bench, degree: usize, bits: u32) -> Result<(), Failure> {
    let mut limbs = limbs(degree, bits)?;
    let backend = limbs[0].ring.table(0).backend().name();
    let forward = NttTable::forward as fn(&NttTable, &mut [u64]);
    for (direction, transform) in [("ntt_fwd", forward), ("ntt_inv", NttTable::inverse)] {
        for (which, units) in [("hot", 1), ("cold", COLD_PRIMES)] {
            let name = format!("ring/{direction}/{degree}/{bits}/{which}");
            let timed = bench.time(name, units, || {
                for Limb { ring, values } in &mut limbs[..units] {
                    transform(ring.table(0), values.limb_mut(0));
                }
                Ok(())
            })?;
            bench.rows.push(timed.row.with("backend", backend));
        }
    }
    if degree == 65536 {
        let Limb { ring, values } = &limbs[0];
        let (name, mut product) = (format!("ring/mul/{degree}/{bits}"), values.clone());
        let timed = bench.time(name, 1, || {
            ring.mul_assign(&mut product, values);
            Ok(())
        })?;
        bench.rows.push(timed.row.with("backend", backend));
    }
    Ok(())
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
    let limb = |q| {
        let ring = Ring::new(degree, &[q])?;
        let mut values = ring.zero();
        for (i, x) in values.limb_mut(0).iter_mut().enumerate() {
            *x = q.reduce((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        Ok(Limb { ring, values })
    };
    primes.into_iter().map(limb).collect()
}
