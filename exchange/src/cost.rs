//! The parameters that are served, and the memory of their keys, known before any key is read.

use bellerophon::format::{Header, kind};
use bellerophon::prelude::*;
use bellerophon::ring::wire::Wire;
use bellerophon::{lwe, mlwe, repack};

use crate::protocol::{Code, Hash, Refusal};

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
        let why = "parameters with bootstrapping or functional bootstrapping are not served: no program here uses them";
        return Err(Refusal::new(Code::TooLarge, why));
    }
    match shape.is_served() {
        true => Ok(()),
        false => Err(Refusal::new(Code::TooLarge, format!("{shape:?} is not served"))),
    }
}

/// The types of keys that programs use. Others are refused by type: keys of hoisted rotations, for
/// example, bring parameters that the estimate of [`keys`] does not cover.
const KEYS: [u16; 6] = [
    mlwe::GaloisKey::KIND,
    mlwe::RelinKeys::KIND,
    lwe::wire::kind::KEY_SWITCH_KEY,
    lwe::wire::kind::ROTATION_PART,
    repack::wire::kind::REPACK_KEY,
    repack::wire::kind::RING_BRIDGE_KEYS,
];

/// The largest number of keys of a set: ten times what the programs use.
const MOST_KEYS: u64 = 1024;

/// The largest parameter set and list of keys in transit, and the smallest key.
const LONGEST_LIST: u64 = 1 << 20;
const SMALLEST_KEY: u64 = 1 << 10;

/// Bytes of the hash at the end of an envelope.
const HASH: u64 = 32;

/// Looks at the envelopes of an upload while it arrives: parameters, the list of the keys, keys.
/// Types and number are refused at once, whatever length was declared and before anything is
/// computed or reserved.
#[derive(Debug)]
pub struct Scanner {
    /// The envelope that arrives: its bytes as far as they are kept, and the bytes that are left.
    kept: Vec<u8>,
    left: u64,
    /// Whether `kept` becomes the header of an envelope, and not its contents.
    header: bool,
    envelopes: u64,
    /// The hash of the envelope so far, and the hash at its end.
    hasher: blake3::Hasher,
    tail: Vec<u8>,
    /// The hash of the hashes of list and keys, which is the name of the set.
    hashes: blake3::Hasher,
    /// The bytes of the parameters.
    pub parameters: Vec<u8>,
}

impl Default for Scanner {
    fn default() -> Self {
        let left = Header::LEN as u64;
        let [hasher, hashes] = [blake3::Hasher::new(), blake3::Hasher::new()];
        let (kept, tail, parameters) = (vec![], vec![], vec![]);
        Self { kept, left, header: true, envelopes: 0, hasher, tail, hashes, parameters }
    }
}

impl Scanner {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// For parameters that are not served, for another object than a key, for too many keys and
    /// for damaged ones.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), Refusal> {
        while !bytes.is_empty() {
            let next = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            if self.header || self.envelopes == 1 {
                self.kept.extend_from_slice(&bytes[..next]);
            }
            // The hash at the end of an envelope covers everything before it.
            let before = self.left.saturating_sub(if self.header { 0 } else { HASH });
            let (covered, hash) = bytes[..next].split_at(next.min(before as usize));
            self.hasher.update(covered);
            self.tail.extend_from_slice(hash);
            bytes = &bytes[next..];
            self.left -= next as u64;
            if self.left > 0 {
                break;
            }
            match self.header {
                true => self.left = self.begin()?,
                false => {
                    if self.hasher.finalize().as_bytes()[..] != self.tail[..] {
                        return Err(Refusal::new(Code::Malformed, "damaged: a hash does not fit"));
                    }
                    if self.envelopes > 1 {
                        self.hashes.update(&self.tail);
                    }
                    self.hasher.reset();
                    self.tail.clear();
                    if self.envelopes == 1 {
                        self.parameters = std::mem::take(&mut self.kept);
                        check(&self.parameters)?;
                    }
                    self.kept.clear();
                    self.left = Header::LEN as u64;
                }
            }
            self.header = !self.header;
        }
        Ok(())
    }

    /// Judges a header; returns the bytes behind it.
    fn begin(&mut self) -> Result<u64, Refusal> {
        let malformed = |why: String| Refusal::new(Code::Malformed, why);
        let header = Header::parse(&self.kept).map_err(|e| malformed(e.to_string()))?;
        let (kind, total) = (header.kind, header.total());
        match self.envelopes {
            0 if kind == kind::PARAMS && total <= LONGEST_LIST => {}
            1 if kind == kind::KEY_LIST && total <= LONGEST_LIST => {}
            0 | 1 => {
                let what = ["parameters", "the list of the keys"][self.envelopes as usize];
                return Err(malformed(format!("an object of type {kind:#06x}, need {what}")));
            }
            _ if !KEYS.contains(&kind) => {
                let why = format!("keys of type {kind:#06x} are not served: no program uses them");
                return Err(Refusal::new(Code::TooLarge, why));
            }
            n if n >= MOST_KEYS + 2 => {
                return Err(Refusal::new(Code::TooLarge, format!("more than {MOST_KEYS} keys")));
            }
            _ if total < SMALLEST_KEY => return Err(malformed(format!("a key of {total} bytes"))),
            _ => {}
        }
        self.envelopes += 1;
        if self.envelopes > 1 {
            self.kept.clear();
        }
        Ok(total - Header::LEN as u64)
    }

    /// Whether parameters, a list and at least one key are complete, and have this name.
    ///
    /// # Errors
    /// If the bytes break off, if there is no key, or if these are other keys.
    pub fn finish(&self, name: Hash) -> Result<(), Refusal> {
        // Behind the last key is the hash of the set.
        let (end, found) = (self.header && self.envelopes >= 3, self.hashes.finalize());
        if !end || self.kept[..] != found.as_bytes()[..] {
            return Err(Refusal::new(Code::Malformed, "truncated, damaged, or no key at all"));
        }
        let found = Hash::of(found.as_bytes());
        match found == name {
            true => Ok(()),
            false => Err(Refusal::new(Code::HashMismatch, format!("these are the keys {found}"))),
        }
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
    let tables = params.lookups().ok().map(|lookups| lookups.lattice().spec());
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
    lattices(params).map(|lattice| lattice.rank()).into_iter().max().unwrap_or(1)
}

/// Bytes of the matrices of SlotsToCoeffs: as values with the parameters, and encoded with the
/// keys.
fn slots_to_coeffs_bytes(params: &Params) -> u64 {
    if params.lookups().is_err() {
        return 0;
    }
    let slots = params.ckks();
    let (degree, limbs) = (slots.degree() as u64, slots.limbs_at(LOWERING) as u64);
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
    let ring = params.lookups().map_or(0, |lookups| 2 * lookups.lattice().ring_degree());
    TABLES * (ring + sets.into_iter().map(residues).sum::<usize>()) as u64
}
