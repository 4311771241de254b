//! The encoding of wire forms, by bincode. No other module uses bincode.
//!
//! Integers have their full width, little-endian. Floating-point numbers are IEEE 754. Sequences
//! and byte strings follow their length in 8 bytes, an enumeration its variant number in 4 bytes,
//! an option a byte. Byte strings are borrowed, not copied.

use bellerophon_ring::{Error, Result};
use bincode::{
    config::Configuration,
    enc::write::SizeWriter,
    error::{DecodeError, EncodeError},
};
use serde::{Deserialize, Serialize};

use crate::error;

type Fixed = Configuration<bincode::config::LittleEndian, bincode::config::Fixint>;

fn config() -> Fixed {
    bincode::config::standard().with_little_endian().with_fixed_int_encoding()
}

fn unwritable(error: EncodeError) -> Error {
    error::malformed("the object to be written", error.to_string())
}

/// The encoded length of a form in bytes.
pub(super) fn size(form: &impl Serialize) -> Result<usize> {
    let mut size = SizeWriter::default();
    bincode::serde::encode_into_writer(form, &mut size, config()).map_err(unwritable)?;
    Ok(size.bytes_written)
}

/// Appends an encoded form.
pub(super) fn encode(form: &impl Serialize, bytes: &mut Vec<u8>) -> Result<()> {
    bincode::serde::encode_into_std_write(form, bytes, config()).map_err(unwritable)?;
    Ok(())
}

/// Decodes a form, which must use all bytes.
pub(super) fn decode<'a, F: Deserialize<'a>>(name: &'static str, bytes: &'a [u8]) -> Result<F> {
    let malformed = |error: DecodeError| {
        let reason = match error {
            DecodeError::UnexpectedEnd { .. } => "it ends too early".into(),
            error => error.to_string(),
        };
        error::malformed(name, reason)
    };
    let decoded = bincode::serde::borrow_decode_from_slice(bytes, config());
    let (form, read) = decoded.map_err(malformed)?;
    if read != bytes.len() {
        let reason = format!("{} bytes are left over", bytes.len() - read);
        return Err(error::malformed(name, reason));
    }
    Ok(form)
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::wire::List;

    use super::*;

    #[test]
    fn lists_that_nobody_would_read_are_not_written() {
        let mut bytes = Vec::new();
        encode(&List::<u16, 2>(vec![7, 8]), &mut bytes).unwrap();
        assert_eq!(decode::<List<u16, 2>>("a list", &bytes).unwrap().0, [7, 8]);
        let longer = List::<u16, 2>(vec![7; 3]);
        assert!(size(&longer).is_err() && encode(&longer, &mut bytes).is_err());
    }
}
