//! Objects as bytes, and the changes that hostile peers could make.

use bellerophon_ring::{Result, wire::Wire};
use bincode::serde::{borrow_decode_from_slice, encode_to_vec};

/// The encoding of all forms.
pub fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_fixed_int_encoding().with_little_endian()
}

/// The bytes of an object.
#[track_caller]
pub fn write<T: Wire>(params: &T::Params, object: &T) -> Vec<u8> {
    let Ok(form) = object.to_form(params) else { panic!("{} has no form", T::NAME) };
    encode_to_vec(form, config()).unwrap()
}

/// Reads an object. `None` unless the bytes are exactly one form of its type.
pub fn read<T: Wire>(params: &T::Params, bytes: &[u8]) -> Option<Result<T>> {
    let (form, used) = borrow_decode_from_slice(bytes, config()).ok()?;
    (used == bytes.len()).then(|| T::from_form(params, form))
}

/// The bytes with others from `place` on.
pub fn set(bytes: &[u8], place: usize, value: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[place..place + value.len()].copy_from_slice(value);
    changed
}

/// Truncated bytes are refused. Bytes that are changed at every `step`-th place of the head, around
/// the given places and at the end are refused, or written as they were read.
#[track_caller]
pub fn survives<T: Wire>(params: &T::Params, bytes: &[u8], step: usize, at: &[usize]) {
    // Step 1: truncated bytes.
    let cuts = (0..bytes.len()).step_by((bytes.len() * step / 500).max(1));
    for len in cuts.chain(bytes.len() - 9..bytes.len()) {
        let read = read::<T>(params, &bytes[..len]);
        assert!(read.is_none_or(|read| read.is_err()), "{} of {len} bytes", T::NAME);
    }
    // Step 2: single bytes and whole words.
    let check = |changed: Vec<u8>, place: usize| {
        if let Some(Ok(object)) = read::<T>(params, &changed) {
            assert!(write(params, &object) == changed, "{} changed at {place}", T::NAME);
        }
    };
    let head = (0..bytes.len().min(200)).step_by(step);
    let near = at.iter().flat_map(|&place| place.saturating_sub(8)..place + 16);
    for place in head.chain(near).chain(bytes.len() - 20..bytes.len()) {
        for change in [0x01, 0x10, 0x80, 0xff] {
            check(set(bytes, place, &[bytes[place] ^ change]), place);
        }
        for value in [u64::MAX, u64::from(u32::MAX), 1 << 63, 1 << 32, 0] {
            let len = (bytes.len() - place).min(8);
            check(set(bytes, place, &value.to_le_bytes()[..len]), place);
        }
    }
}

/// Reads what was written and writes the same bytes again. Truncated bytes are refused; with any of
/// the first `head` bytes changed, the bytes are refused or give another object.
#[track_caller]
pub fn comes_back<T: Wire>(params: &T::Params, object: &T, head: usize) -> T {
    let bytes = write(params, object);
    let back: T = read(params, &bytes).expect("a form").unwrap();
    assert!(write(params, &back) == bytes, "{}", T::NAME);
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        assert!(!matches!(read::<T>(params, &bytes[..cut]), Some(Ok(_))), "{} at {cut}", T::NAME);
    }
    for at in 0..bytes.len().min(head) {
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            if let Some(Ok(other)) = read::<T>(params, &changed) {
                assert!(write(params, &other) != bytes, "{} at {at}", T::NAME);
            }
        }
    }
    back
}
