//! Words packed to the bits of their limit, least significant bit first.

use crate::error::ensure;
use crate::error::{self, Result};
use crate::modulus::Modulus;

/// An exclusive upper bound of packed words, and the bits per word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    value: u64,
    pub(super) bits: u32,
}

impl Limit {
    /// Words below `value`, which must be in `1..=2^61`. Each word takes at least one bit.
    pub const fn below(value: u64) -> Self {
        Self { value, bits: 64 - (value.saturating_sub(1) | 1).leading_zeros() }
    }
}

impl From<&Modulus> for Limit {
    fn from(q: &Modulus) -> Self {
        // A prime is odd, so its largest residue has as many bits as the prime.
        Self { value: q.value(), bits: q.bits() }
    }
}

/// Writes words of `bits` bits each. `out` has exactly as many bytes as they take.
pub(crate) fn pack(words: &[u64], bits: u32, out: &mut [u8]) {
    let (mut pending, mut filled, mut at) = (0u64, 0u32, 0);
    // Fill a 64-bit word from below and write it when it is full.
    for &word in words {
        pending |= word << filled;
        filled += bits;
        if filled >= 64 {
            out[at..at + 8].copy_from_slice(&pending.to_le_bytes());
            at += 8;
            filled -= 64;
            // Keep the upper `filled` bits of the word, which did not fit; possibly none.
            pending = word.checked_shr(bits - filled).unwrap_or(0);
        }
    }
    let rest = &mut out[at..];
    rest.copy_from_slice(&pending.to_le_bytes()[..rest.len()]);
}

/// Reads words below a limit. `bytes` has exactly as many bytes as they take.
pub(crate) fn unpack(bytes: &[u8], limit: Limit, out: &mut [u64]) -> Result<()> {
    /// Any word of up to 64 bits lies within this many bytes.
    const WINDOW: usize = 9;
    let bits = limit.bits as usize;
    let mask = u64::MAX >> (64 - bits);
    let word = |bytes: &[u8], bit: usize| {
        let (window, shift) = (&bytes[bit / 8..bit / 8 + WINDOW], bit % 8);
        let low = u64::from_le_bytes(window[..8].try_into().expect("eight bytes"));
        // Two shifts, since a shift by 64 is not defined.
        (low >> shift | u64::from(window[8]) << 1 << (63 - shift)) & mask
    };
    // Step 1: words whose window lies within the bytes. The largest word decides
    // whether all are below the limit.
    let whole = bytes.len().checked_sub(WINDOW).map_or(0, |last| 8 * last / bits + 1);
    let whole = whole.min(out.len());
    let (head, tail) = out.split_at_mut(whole);
    let mut largest = 0;
    for (i, out) in head.iter_mut().enumerate() {
        *out = word(bytes, i * bits);
        largest = largest.max(*out);
    }
    // Step 2: the last words, from a copy with padding.
    let first = whole * bits;
    let mut end = bytes[first / 8..].to_vec();
    end.resize(end.len() + WINDOW, 0);
    for (i, out) in tail.iter_mut().enumerate() {
        *out = word(&end, first % 8 + i * bits);
        largest = largest.max(*out);
    }
    // Step 3: range and padding.
    ensure(largest < limit.value, || error::residue(largest, limit.value))?;
    let used = out.len() * bits % 8;
    match bytes.last() {
        Some(last) if used != 0 && last >> used != 0 => Err(error::padding(*last)),
        _ => Ok(()),
    }
}
