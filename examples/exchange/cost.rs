//! Which parameters are served, and what they and their keys take in memory, known before any key is
//! read.

use bellerophon::format::Header;
use bellerophon::mlwe;
use bellerophon::prelude::*;

use super::protocol::{Code, Refusal};

/// The largest ring, the most primes of a kind, and the highest rank that are served; a product may pass
/// through twice the rank.
const LARGEST_DEGREE: u64 = 1 << 16;
const MOST_PRIMES: u64 = 64;
const HIGHEST_RANK: u64 = 4;

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

/// Refuses parameters for which something small in transit could be large in memory, by their bytes
/// (`docs/FORMAT.md`) and before anything is built of them. What is wrong with them otherwise is for the
/// library to say.
pub fn check(envelope: &[u8]) -> Result<(), Refusal> {
    let object = envelope.get(Header::LEN..).unwrap_or_default();
    let Some(shape) = Shape::read(object) else {
        return Err(Refusal::new(Code::Malformed, "a parameter set that breaks off"));
    };
    match shape.is_served() {
        true => Ok(()),
        false => Err(Refusal::new(Code::TooLarge, format!("{shape:?} is not served"))),
    }
}

/// The sizes in a parameter set.
#[derive(Debug)]
struct Shape {
    degree: u64,
    rank: u64,
    primes: u64,
    special: u64,
    /// How many polynomials one of the ring holds through which products pass.
    factor: u64,
    /// The rank and the special primes of a temporary rank.
    temporary: (u64, u64),
}

impl Shape {
    fn read(mut object: &[u8]) -> Option<Self> {
        let from = &mut object;
        let name = long(from)?;
        skip(from, name)?;
        let (degree, rank) = (short(from)?, short(from)?);
        let (primes, special) = (list(from, 8)?, list(from, 8)?);
        // The secret, of which only a ternary one has no number; sigma; the security.
        let secret = short(from)?;
        skip(from, if secret == 0 { 12 } else { 16 })?;
        // The widths of the levels, and the scale.
        list(from, 4)?;
        short(from)?;
        let factor = short(from)?;
        let temporary = match skip(from, 1)? {
            [0] => (0, 0),
            _ => (short(from)?, list(from, 8)?),
        };
        Some(Self { degree, rank, primes, special, factor, temporary })
    }

    fn is_served(&self) -> bool {
        let Self { degree, rank, primes, special, factor, temporary } = *self;
        let counts = [primes, special, temporary.1];
        // Before the products below, which then fit.
        degree <= LARGEST_DEGREE
            && rank <= HIGHEST_RANK
            && factor <= HIGHEST_RANK
            && temporary.0 <= 2 * HIGHEST_RANK
            && counts.iter().all(|&count| count <= MOST_PRIMES)
            && 8 * (rank + 1) * degree * primes <= LARGEST_CIPHERTEXT
            && TABLES * degree * ((1 + factor) * (primes + special) + factor * temporary.1)
                <= LARGEST_TABLES
    }
}

fn skip<'b>(from: &mut &'b [u8], bytes: u64) -> Option<&'b [u8]> {
    let (head, rest) = from.split_at_checked(usize::try_from(bytes).ok()?)?;
    *from = rest;
    Some(head)
}

fn short(from: &mut &[u8]) -> Option<u64> {
    let bytes = skip(from, 4)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes).into())
}

fn long(from: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*skip(from, 8)?.first_chunk()?))
}

/// Passes over a list: how many items it has.
fn list(from: &mut &[u8], item: u64) -> Option<u64> {
    let count = long(from)?;
    skip(from, count.checked_mul(item)?)?;
    Some(count)
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
