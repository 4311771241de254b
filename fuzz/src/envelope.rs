//! Envelopes around bytes of any kind, made here from `docs/FORMAT.md` and not by the library.
//!
//! The hash at the end of an envelope keeps nearly all damage away from what stands behind it. A
//! peer who means harm computes the hash; so does this module.

/// Bytes of a header.
pub const HEADER: usize = 56;

/// Bytes of a hash.
pub const HASH: usize = 32;

const MAGIC: &[u8; 8] = b"BELLEROP";

/// An object of a type in an envelope, with header and hash.
pub fn seal(kind: u16, fingerprint: [u8; 32], object: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + object.len() + HASH);
    bytes.extend(MAGIC);
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(fingerprint);
    bytes.extend((object.len() as u64).to_le_bytes());
    bytes.extend(object);
    bytes.extend(blake3::hash(&bytes).as_bytes());
    bytes
}

/// The object of an envelope, by its place.
pub fn object(sealed: &[u8]) -> &[u8] {
    let end = sealed.len().saturating_sub(HASH);
    sealed.get(HEADER..end).unwrap_or(&[])
}

/// Type and fingerprint that a header states.
fn stated(header: &[u8]) -> (u16, [u8; 32]) {
    let kind = u16::from_le_bytes([header[10], header[11]]);
    (kind, header[16..48].try_into().expect("32 bytes"))
}

/// Envelopes one after the other, each with the object and the stated type and fingerprint, and the
/// hash of the hashes behind the last.
pub fn seal_set<'a>(envelopes: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let (mut bytes, mut hashes) = (Vec::new(), blake3::Hasher::new());
    for envelope in envelopes {
        let mut header = [0; HEADER];
        let known = envelope.len().min(HEADER);
        header[..known].copy_from_slice(&envelope[..known]);
        let (kind, fingerprint) = stated(&header);
        let sealed = seal(kind, fingerprint, object(envelope));
        hashes.update(&sealed[sealed.len() - HASH..]);
        bytes.extend(sealed);
    }
    bytes.extend(hashes.finalize().as_bytes());
    bytes
}

/// The envelopes of a set, as long as they say, or as there are bytes; without the hash at the end.
pub fn split_set(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut envelopes) = (&bytes[..bytes.len().saturating_sub(HASH)], Vec::new());
    while rest.len() >= HEADER + HASH {
        let stated = u64::from_le_bytes(rest[48..56].try_into().expect("eight bytes"));
        let most = rest.len() - HEADER - HASH;
        let len = usize::try_from(stated).map_or(most, |len| len.min(most));
        let (envelope, after) = rest.split_at(HEADER + len + HASH);
        envelopes.push(envelope);
        rest = after;
    }
    envelopes
}

/// A set whose envelopes and hashes are right.
pub fn repair_set(bytes: &[u8]) -> Vec<u8> {
    seal_set(split_set(bytes))
}

/// Numbers of the parts of a list of keys: bytes of their fields, envelopes of each. Those of
/// tables are as many as they say, and one.
const PARTS: [(usize, usize); 9] =
    [(0, 1), (8, 1), (0, 1), (4, 1), (0, 1), (36, 0), (0, 1), (0, 2), (0, 1)];

/// The number of the first part that is no rotation.
const SPECIAL: u32 = 4;

/// A set of keys without its rotations, which are long: of bootstrapping, tables, bridges and
/// functional bootstrapping only those that nothing else takes, which come last.
///
/// # Panics
/// If the set is none.
pub fn special_keys(set: &[u8]) -> Vec<u8> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
    let envelopes = split_set(set);
    let (client, mut parts) = object(envelopes[0]).split_at(16);
    parts = &parts[8..];
    while word(parts) < SPECIAL {
        parts = &parts[4 + PARTS[word(parts) as usize].0..];
    }
    let (mut rest, mut count, mut last) = (parts, 0u64, 0);
    while !rest.is_empty() {
        let number = word(rest) as usize;
        let (fields, keys) = PARTS[number];
        last += if number == 5 { word(&rest[36..]) as usize + 1 } else { keys };
        (rest, count) = (&rest[4 + fields..], count + 1);
    }
    let header = &envelopes[0][..HEADER];
    let list = [header, client, &count.to_le_bytes(), parts, &[0; HASH]].concat();
    let keys = envelopes[envelopes.len() - last..].iter().copied();
    seal_set(std::iter::once(&list[..]).chain(keys))
}
