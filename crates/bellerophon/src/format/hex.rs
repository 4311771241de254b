//! Bytes as hexadecimal digits.

use std::str::FromStr;

use bellerophon_ring::Result;

use super::ContentHash;
use crate::error;

/// Two digits for each byte.
pub(super) fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).collect()
}

/// The bytes of an even number of digits; none for any other text.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some(value(high)? << 4 | value(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

/// Parses 64 hexadecimal digits.
impl FromStr for ContentHash {
    type Err = bellerophon_ring::Error;

    fn from_str(digits: &str) -> Result<Self> {
        let bytes = decode(digits).and_then(|bytes| bytes.try_into().ok());
        let reason = || "need 64 hexadecimal digits".into();
        let malformed = || error::malformed("content hash", reason());
        Ok(Self(bytes.ok_or_else(malformed)?))
    }
}
