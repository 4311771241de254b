//! Changes to bytes: what a peer might send instead.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{Shape, envelope};

/// Numbers at which readers go wrong, as they stand in 8 bytes; fewer bytes take the lower ones.
const EDGES: [u64; 20] = [
    0,
    1,
    2,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 62,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// The same for floating-point numbers.
const REALS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN_POSITIVE,
    5e-324,
    f64::MAX,
    f64::MIN,
    1e18,
    1e-18,
];

/// Where the fields of an object stand that are not residues, more or less.
const HEAD: usize = 160;

/// The longest input.
const LONGEST: usize = 1 << 20;

/// A source of changes; the same seed makes the same.
pub struct Mutator {
    rng: ChaCha8Rng,
}

impl Mutator {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// An index below `len`, which is not zero.
    pub fn below(&mut self, len: usize) -> usize {
        self.rng.random_range(0..len)
    }

    /// An object that differs from the first in some places and may have parts of the second.
    pub fn object(&mut self, object: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = object.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, other);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    /// The same for whole sets of envelopes: the changes are within some envelopes, and in their
    /// order.
    pub fn set(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut parts: Vec<Vec<u8>> =
            envelope::split_set(bytes).into_iter().map(<[u8]>::to_vec).collect();
        let others = envelope::split_set(other);
        for _ in 0..=self.below(3) {
            if parts.is_empty() {
                break;
            }
            // The list of what comes stands first.
            let count = parts.len();
            let at = if self.rng.random_bool(0.5) { 0 } else { self.below(count) };
            match self.below(12) {
                0 => drop(parts.remove(at)),
                1 => {
                    let (part, to) = (parts[at].clone(), self.below(count + 1));
                    parts.insert(to, part);
                }
                2 => {
                    let to = self.below(count);
                    parts.swap(at, to);
                }
                3 if !others.is_empty() => parts[at] = others[self.below(others.len())].to_vec(),
                4 => self.overwrite(&mut parts[at][..envelope::HEADER]),
                _ => {
                    let changed = self.object(envelope::object(&parts[at]), &[]);
                    let header = &parts[at][..envelope::HEADER];
                    parts[at] = [header, &changed, &[0; envelope::HASH]].concat();
                }
            }
        }
        envelope::seal_set(parts.iter().map(Vec::as_slice))
    }

    /// Changes that leave the envelopes right.
    pub fn sealed(&mut self, shape: Shape, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        match shape {
            Shape::Single => self.object(envelope::object(bytes), envelope::object(other)),
            Shape::Set => self.set(bytes, other),
        }
    }

    /// One change.
    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        if bytes.is_empty() {
            let len = self.below(64);
            bytes.resize(len, 0);
            self.rng.fill_bytes(bytes);
            return;
        }
        let at = self.place(bytes.len());
        let block = 1 + self.below(16).min(bytes.len() - at - 1);
        match self.below(12) {
            0 => {
                for _ in 0..=self.below(8) {
                    let at = self.place(bytes.len());
                    bytes[at] ^= 1 << self.below(8);
                }
            }
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..at + block)),
            3 => {
                let copy = bytes[at..at + block].to_vec();
                let to = self.place(bytes.len());
                bytes.splice(to..to, copy);
            }
            4 => {
                let mut fresh = vec![0; block];
                self.rng.fill_bytes(&mut fresh);
                bytes.splice(at..at, fresh);
            }
            5 if !other.is_empty() => {
                let from = self.below(other.len());
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
            6 if !other.is_empty() => {
                let from = self.below(other.len());
                for (byte, new) in bytes[at..].iter_mut().zip(&other[from..]).take(block) {
                    *byte = *new;
                }
            }
            7 => {
                // Numbers close to what they were.
                let width = [1, 2, 4, 8][self.below(4)].min(bytes.len() - at);
                let mut word = [0; 8];
                word[..width].copy_from_slice(&bytes[at..at + width]);
                let step = 1 + self.below(4) as u64;
                let word = u64::from_le_bytes(word);
                let word = if self.rng.random() {
                    word.wrapping_add(step)
                } else {
                    word.wrapping_sub(step)
                };
                bytes[at..at + width].copy_from_slice(&word.to_le_bytes()[..width]);
            }
            8 => {
                let to = self.below(bytes.len() - block + 1);
                bytes.copy_within(at..at + block, to);
            }
            _ => self.overwrite(&mut bytes[at..]),
        }
    }

    /// Sets the number at the beginning to one of the edges, or to a random one.
    fn overwrite(&mut self, bytes: &mut [u8]) {
        let word = match self.below(4) {
            0 => REALS[self.below(REALS.len())].to_bits(),
            1 => self.rng.random(),
            _ => EDGES[self.below(EDGES.len())],
        };
        let width = [1, 2, 4, 8, 8][self.below(5)].min(bytes.len());
        bytes[..width].copy_from_slice(&word.to_le_bytes()[..width]);
    }

    /// A place below `len`: mostly near the beginning, often where numbers begin.
    fn place(&mut self, len: usize) -> usize {
        let at = match self.below(8) {
            0 => self.below(len),
            1 => len - 1 - self.below(len.min(64)),
            _ => self.below(len.min(HEAD)),
        };
        if self.rng.random_bool(0.5) { at / 4 * 4 } else { at }
    }
}
