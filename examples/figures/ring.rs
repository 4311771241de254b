//! Group `ring`: transforms and products of residue polynomials.
//!
//! "hot" repeats one prime on one polynomial; "cold" takes 20 primes in turn, each with its own
//! table and its own polynomial, as an RNS ciphertext does. Times are per residue polynomial.

use bellerophon_ring::{Modulus, NttTable, prime};

use super::common::program::Failure;
use super::measure::Bench;

/// Primes that take turns in the cold rows.
const COLD_PRIMES: usize = 20;

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    for degree in [4096, 32768, 65536] {
        for bits in [50, 60] {
            let mut limbs = limbs(degree, bits)?;
            let backend = limbs[0].0.backend().name();
            for (direction, transform) in [
                ("ntt_fwd", NttTable::forward as fn(&NttTable, &mut [u64])),
                ("ntt_inv", NttTable::inverse),
            ] {
                let (table, polynomial) = &mut limbs[0];
                let name = format!("ring/{direction}/{degree}/{bits}/hot");
                let row = bench.time(name, 1, || transform(table, polynomial));
                row.extra.insert("backend", backend.into());

                let name = format!("ring/{direction}/{degree}/{bits}/cold");
                let row = bench.time(name, COLD_PRIMES, || {
                    for (table, polynomial) in &mut limbs {
                        transform(table, polynomial);
                    }
                });
                row.extra.insert("backend", backend.into());
            }
        }
    }
    Ok(())
}

/// Tables of different primes below `2^bits`, each with a polynomial of arbitrary residues.
fn limbs(degree: usize, bits: u32) -> Result<Vec<(NttTable, Vec<u64>)>, Failure> {
    let primes = prime::ntt_primes_below(degree, bits, COLD_PRIMES, &[]).map_err(Failure::run)?;
    primes
        .into_iter()
        .map(|q| {
            let table = NttTable::new(degree, q).map_err(Failure::run)?;
            Ok((table, residues(&q, degree)))
        })
        .collect()
}

/// Residues without a pattern (multiples of an odd constant); speed does not depend on them.
fn residues(q: &Modulus, degree: usize) -> Vec<u64> {
    (0..degree as u64).map(|i| q.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}
