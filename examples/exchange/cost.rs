//! Which parameters are served, and what they and their keys take in memory, known before any key is
//! read.

use bellerophon::mlwe;
use bellerophon::prelude::*;

use super::protocol::{Code, Refusal};

/// The largest ring, the longest chain and the highest rank that are served.
const LARGEST_DEGREE: usize = 1 << 16;
const MOST_LIMBS: usize = 64;
const HIGHEST_RANK: usize = 4;

/// Bytes of a ciphertext in memory, at most. In transit it may be half of one polynomial of `rank + 1`.
const LARGEST_CIPHERTEXT: u64 = 128 << 20;

/// Bytes of tables, at most.
const LARGEST_TABLES: u64 = 512 << 20;

/// Bytes of tables for each residue of a polynomial over all primes.
const TABLES: u64 = 40;

/// Bytes for what else belongs to a key set: plans, encoded functions.
const REST: u64 = 16 << 20;

/// Beside keys stand matrices that are encoded for them: a quarter of their size was seen.
const fn with_matrices(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 4)
}

/// Refuses parameters for which something small in transit could be large in memory.
pub fn check(params: &Params) -> Result<(), Refusal> {
    let lattice = params.arithmetic().lattice().spec();
    let (degree, limbs, rank) = (lattice.degree, lattice.q.len(), lattice.rank);
    let ciphertext = 8 * ((rank + 1) * degree * limbs) as u64;
    let fits = degree <= LARGEST_DEGREE
        && limbs <= MOST_LIMBS
        && rank <= HIGHEST_RANK
        && masks(params) <= 4 * HIGHEST_RANK
        && ciphertext <= LARGEST_CIPHERTEXT
        && built(params) <= LARGEST_TABLES;
    match fits {
        true => Ok(()),
        false => {
            let why = format!("degree {degree} with {limbs} primes at rank {rank} is not served");
            Err(Refusal::new(Code::TooLarge, why))
        }
    }
}

/// Bytes that keys of so many bytes take, with the tables of their parameters: a row travels as one
/// body, packed to the bits of its primes, and stands in memory with its masks, in words of 8 bytes.
pub fn keys(params: &Params, bytes: u64) -> u64 {
    let expanded = |masks: usize, prime: &u64| {
        let bits = u64::from(prime.ilog2() + 1);
        (bytes.saturating_mul(64) / bits).saturating_mul(1 + masks as u64)
    };
    let slots = lattices(params).map(|lattice| lattice.spec());
    let slots = slots.iter().flat_map(|spec| spec.q.iter().chain(&spec.p));
    let tables = params.lookups().ok().map(|lookups| lookups.lattice().spec());
    let tables = tables.iter().flat_map(|spec| [&spec.modulus, &spec.ring_modulus]);
    let rows = slots.map(|q| expanded(masks(params), q)).chain(tables.map(|q| expanded(1, q)));
    with_matrices(rows.max().unwrap_or(0)).saturating_add(built(params)).saturating_add(REST)
}

/// The sets that products and key switches pass through.
fn lattices(params: &Params) -> [&mlwe::Params; 3] {
    let slots = params.arithmetic();
    [slots.lattice(), slots.route().work(), slots.route().raised()]
}

/// Masks of a row, at most: hoisted rotations may double the rank.
fn masks(params: &Params) -> usize {
    let highest = lattices(params).map(|lattice| lattice.rank()).into_iter().max();
    2 * highest.unwrap_or(1)
}

/// Bytes of the tables of parameters.
fn built(params: &Params) -> u64 {
    let residues = |lattice: &mlwe::Params| {
        let spec = lattice.spec();
        spec.degree * (spec.q.len() + spec.p.len())
    };
    let mut sets = lattices(params).to_vec();
    sets.dedup_by_key(|lattice| lattice.fingerprint());
    let ring = params.lookups().map_or(0, |lookups| 2 * lookups.lattice().ring_degree());
    TABLES * (ring + sets.into_iter().map(residues).sum::<usize>()) as u64
}
