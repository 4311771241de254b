//! Uploads of keys, looked at while they arrive.

use bellerophon::format::{Header, kind};
use bellerophon::ring::wire::Wire;
use bellerophon::{lookup, lwe, mlwe};

use crate::cost;
use crate::protocol::{Code, Hash, Refusal};

/// The types of keys that programs use. Others are refused by type: keys of hoisted rotations, for
/// example, bring parameters that the estimate of [`cost::keys`] does not cover.
const KEYS: [u16; 6] = [
    mlwe::GaloisKey::KIND,
    mlwe::RelinKeys::KIND,
    lwe::wire::kind::KEY_SWITCH_KEY,
    lwe::wire::kind::ROTATION_PART,
    lookup::wire::kind::REPACK_KEY,
    lookup::wire::kind::RING_BRIDGE_KEYS,
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
                        cost::check(&self.parameters)?;
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
                let why = format!("keys of type {kind:#06x}");
                return Err(Refusal::new(Code::NotServed, why));
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
