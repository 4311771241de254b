//! The parameters that are served, and the memory of their keys, known before any key is read.

use bellerophon::format::Header;
use bellerophon::mlwe;
use bellerophon::prelude::*;

use crate::protocol::{Code, Refusal};

/// The largest ring, the largest number of primes of a kind, and the highest rank that are served;
/// a product may take twice the rank.
const LARGEST_DEGREE: u64 = 1 << 16;
const MOST_PRIMES: u64 = 64;
const HIGHEST_RANK: u64 = 4;

/// The largest ciphertext in memory. In transit it may be half of one polynomial of `rank + 1`.
const LARGEST_CIPHERTEXT: u64 = 128 << 20;

/// The largest memory of the tables and matrices of look-ups.
const LARGEST_TABLES: u64 = 512 << 20;

/// Bytes of tables for each residue of a polynomial over all primes.
const TABLES: u64 = 40;

/// Bytes for the rest of a key set: plans, encoded functions.
const REST: u64 = 16 << 20;

/// Levels of SlotsToCoeffs before look-ups, with a matrix for each.
const LOWERING: usize = 2;

/// Bytes of a slot of a matrix.
const SLOT: u64 = 16;

/// The largest number of diagonals of these matrices: half of the stages each.
fn diagonals(degree: u64) -> u64 {
    let stages = (degree / 2).max(1).ilog2();
    (2 << (stages / 2)) + (2 << stages.div_ceil(2))
}

/// Refuses parameters that are small in transit but large in memory, by their bytes
/// (`docs/FORMAT.md`) and before anything is computed from them. The library reports all other
/// faults.
///
/// # Errors
/// For parameters that are not served, and for truncated ones.
pub fn check(envelope: &[u8]) -> Result<(), Refusal> {
    let object = envelope.get(Header::LEN..).unwrap_or_default();
    let Some(shape) = Shape::read(object) else {
        return Err(Refusal::new(Code::Malformed, "a truncated parameter set"));
    };
    if shape.bootstraps {
        let why = "parameters with bootstrapping or functional bootstrapping";
        return Err(Refusal::new(Code::NotServed, why));
    }
    match shape.is_served() {
        true => Ok(()),
        false => Err(Refusal::new(Code::TooLarge, format_args!("{shape:?}"))),
    }
}

/// The sizes in a parameter set.
#[derive(Debug)]
struct Shape {
    degree: u64,
    rank: u64,
    primes: u64,
    special: u64,
    /// The number of polynomials of the ring in which products are computed.
    factor: u64,
    /// The rank and the special primes of a temporary rank.
    temporary: (u64, u64),
    /// The dimension and the degree of look-ups, if there are any.
    lookups: Option<(u64, u64)>,
    /// Whether there are bootstrapping or functional bootstrapping.
    bootstraps: bool,
}

impl Shape {
    fn read(mut object: &[u8]) -> Option<Self> {
        let from = &mut object;
        let name = long(from)?;
        skip(from, name)?;
        let (degree, rank) = (short(from)?, short(from)?);
        let (primes, special) = (list(from, 8)?, list(from, 8)?);
        secret(from)?;
        // Sigma; the security.
        skip(from, 12)?;
        // The widths of the levels, and the scale.
        list(from, 4)?;
        short(from)?;
        let factor = short(from)?;
        let temporary = match is_there(from)? {
            false => (0, 0),
            true => (short(from)?, list(from, 8)?),
        };
        let lookups = match is_there(from)? {
            false => None,
            true => Some(lookups(from)?),
        };
        let bootstraps = is_there(from)? || is_there(from)?;
        Some(Self { degree, rank, primes, special, factor, temporary, lookups, bootstraps })
    }

    fn is_served(&self) -> bool {
        let Self { degree, rank, primes, special, factor, temporary, lookups, .. } = *self;
        let counts = [primes, special, temporary.1];
        let (dimension, tables) = lookups.unwrap_or_default();
        // Before the products below, which then fit.
        [degree, dimension, tables].iter().all(|&degree| degree <= LARGEST_DEGREE)
            && rank <= HIGHEST_RANK
            && factor <= HIGHEST_RANK
            && temporary.0 <= 2 * HIGHEST_RANK
            && counts.iter().all(|&count| count <= MOST_PRIMES)
            && 8 * (rank + 1) * degree * primes <= LARGEST_CIPHERTEXT
            && TABLES * degree * ((1 + factor) * (primes + special) + factor * temporary.1)
                + lookups.map_or(0, |_| diagonals(degree) * degree / 2 * SLOT)
                <= LARGEST_TABLES
    }
}

/// Skips the look-up part of a set; returns dimension and degree of the tables.
fn lookups(from: &mut &[u8]) -> Option<(u64, u64)> {
    let dimension = short(from)?;
    skip(from, 8)?;
    secret(from)?;
    // Sigma; bits and number of the digits.
    skip(from, 16)?;
    let degree = short(from)?;
    skip(from, 8)?;
    // The engine: special prime, digits, or NTRU.
    match short(from)? {
        0 | 1 => drop(skip(from, 8)?),
        _ => {
            skip(from, 16)?;
            let window = is_there(from)?;
            skip(from, if window { 12 } else { 8 })?;
        }
    }
    secret(from)?;
    // Sigma; the security; the failures.
    skip(from, 20)?;
    if is_there(from)? {
        skip(from, 4)?;
    }
    Some((dimension, degree))
}

/// Skips the kind of a secret; all kinds except ternary have a number.
fn secret(from: &mut &[u8]) -> Option<()> {
    let kind = short(from)?;
    skip(from, if kind == 0 { 0 } else { 4 }).map(drop)
}

/// Whether an optional part follows.
fn is_there(from: &mut &[u8]) -> Option<bool> {
    Some(skip(from, 1)? != [0])
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

/// Skips the length of a list and returns it.
fn list(from: &mut &[u8], item: u64) -> Option<u64> {
    let count = long(from)?;
    skip(from, count.checked_mul(item)?)?;
    Some(count)
}

/// The memory of keys of `bytes` bytes, with the tables of their parameters. A row is sent as one
/// body, packed to the bits of its primes; in memory it has its masks, too, in words of at most 8
/// bytes. The encoded matrices of SlotsToCoeffs come on top.
pub fn keys(params: &Params, bytes: u64) -> u64 {
    let expanded = |masks: usize, prime: &u64| {
        let bits = u64::from(prime.ilog2() + 1);
        (bytes.saturating_mul(64) / bits).saturating_mul(1 + masks as u64)
    };
    let slots = lattices(params).map(|lattice| lattice.spec());
    let slots = slots.iter().flat_map(|spec| spec.q.iter().chain(&spec.p));
    let tables = params.lookups().ok().map(|lookups| lookups.lwe_params().spec());
    let tables = tables.iter().flat_map(|spec| [&spec.modulus, &spec.ring_modulus]);
    let rows = slots.map(|q| expanded(masks(params), q)).chain(tables.map(|q| expanded(1, q)));
    rows.max().unwrap_or(0).saturating_add(built(params) + slots_to_coeffs_bytes(params) + REST)
}

/// The parameter sets of products and key switches.
fn lattices(params: &Params) -> [&mlwe::Params; 3] {
    let slots = params.ckks();
    [slots.lattice(), slots.relin_strategy().work(), slots.relin_strategy().raised()]
}

/// The largest number of masks of a row.
fn masks(params: &Params) -> usize {
    lattices(params).map(|lattice| lattice.spec().rank).into_iter().max().unwrap_or(1)
}

/// Bytes of the matrices of SlotsToCoeffs: as values with the parameters, and encoded with the
/// keys.
fn slots_to_coeffs_bytes(params: &Params) -> u64 {
    if params.lookups().is_err() {
        return 0;
    }
    let slots = params.ckks();
    let (degree, limbs) = (slots.lattice().spec().degree as u64, slots.limbs_at(LOWERING) as u64);
    diagonals(degree) * (degree / 2 * SLOT + limbs * degree * 8)
}

/// Bytes of the tables of parameters.
fn built(params: &Params) -> u64 {
    let residues = |lattice: &mlwe::Params| {
        let spec = lattice.spec();
        spec.degree * (spec.q.len() + spec.p.len())
    };
    let mut sets = lattices(params).to_vec();
    sets.dedup_by_key(|lattice| lattice.fingerprint());
    let ring = params.lookups().map_or(0, |lookups| 2 * lookups.lwe_params().spec().ring_degree);
    TABLES * (ring + sets.into_iter().map(residues).sum::<usize>()) as u64
}
