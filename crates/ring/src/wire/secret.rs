//! Serialized secrets, for storage by their owner.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, de::DeserializeOwned};
use zeroize::Zeroizing;

use super::Fingerprinted;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::ensure;
use crate::error::{self, Result};

/// A secret that its owner can store.
///
/// It deliberately has no [`Wire`](super::Wire) form, so that it cannot be written among objects to
/// send. Its numbers are in [`SecretWords`], which are overwritten on drop.
pub trait SecretWire: Sized {
    /// The type number of this kind of object, in the numbering of
    /// [`Wire::KIND`](super::Wire::KIND).
    const KIND: u16;
    /// The name of the type in error messages.
    const NAME: &'static str;
    /// The parameters that a reader needs to check the secret.
    type Params: Fingerprinted;
    /// The serialized form.
    type Form: Serialize + DeserializeOwned;

    /// The serialized form of the secret.
    fn to_secret_form(&self, params: &Self::Params) -> Result<Self::Form>;

    /// Reads the secret and checks it against the parameters.
    fn from_secret_form(params: &Self::Params, form: Self::Form) -> Result<Self>;
}

/// Secret numbers as little-endian bytes. Overwritten on drop, never printed.
#[derive(Clone)]
pub struct SecretWords(Zeroizing<Vec<u8>>);

impl SecretWords {
    /// The coefficients of a secret, two bytes each.
    pub fn of_coefficients(coefficients: &[i64]) -> Result<Self> {
        Self::of(coefficients.iter().map(|&c| ((c as i16).to_le_bytes(), c as i16 as i64 == c)))
    }

    /// Indices, four bytes each.
    pub fn of_indices(indices: &[usize]) -> Result<Self> {
        Self::of(indices.iter().map(|&i| ((i as u32).to_le_bytes(), i as u32 as usize == i)))
    }

    /// From each word, and whether the number fits it. All are read before the result is decided.
    fn of<const N: usize>(words: impl ExactSizeIterator<Item = ([u8; N], bool)>) -> Result<Self> {
        // Full capacity from the start: a growing vector would leave copies in memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(N * words.len()));
        let mut whole = true;
        for (word, fits) in words {
            bytes.extend_from_slice(&word);
            whole &= fits;
        }
        if whole { Ok(Self(bytes)) } else { Err(error::secret_number(N)) }
    }

    /// Reads `count` coefficients of a secret.
    pub fn coefficients(&self, count: usize) -> Result<Zeroizing<Vec<i64>>> {
        self.read(count, |word| i64::from(i16::from_le_bytes(word)))
    }

    /// Reads `count` indices.
    pub fn indices(&self, count: usize) -> Result<Zeroizing<Vec<usize>>> {
        self.read(count, |word| u32::from_le_bytes(word) as usize)
    }

    fn read<T, const N: usize>(
        &self,
        count: usize,
        word: impl Fn([u8; N]) -> T,
    ) -> Result<Zeroizing<Vec<T>>>
    where
        Vec<T>: zeroize::Zeroize,
    {
        let (found, needed) = (self.0.len(), count.saturating_mul(N));
        // The length is public; it is checked before memory is allocated.
        ensure(found == needed, || error::packed_length(found, needed))?;
        let mut numbers = Zeroizing::new(Vec::with_capacity(count));
        let words = self.0.chunks_exact(N).map(|bytes| word(bytes.try_into().expect("N bytes")));
        numbers.extend(words);
        Ok(numbers)
    }
}

impl fmt::Debug for SecretWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretWords({} bytes)", self.0.len())
    }
}

impl Serialize for SecretWords {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for SecretWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Visitor that copies a byte string into a buffer that is wiped on drop.
struct Bytes;

impl de::Visitor<'_> for Bytes {
    type Value = SecretWords;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a byte string")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> std::result::Result<SecretWords, E> {
        Ok(SecretWords(Zeroizing::new(bytes.to_vec())))
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> std::result::Result<SecretWords, E> {
        Ok(SecretWords(Zeroizing::new(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, refusal};

    #[test]
    fn numbers_come_back_and_nothing_is_cut_off() {
        let edges = [i64::from(i16::MIN), -1, 0, 1, i64::from(i16::MAX)];
        let words = SecretWords::of_coefficients(&edges).unwrap();
        assert_eq!(*words.coefficients(5).unwrap(), edges);
        assert_eq!((words.0.len(), words.0.capacity()), (10, 10));
        assert_eq!(format!("{words:?}"), "SecretWords(10 bytes)");
        for count in [0, 4, 6, usize::MAX] {
            let refused = words.coefficients(count);
            assert!(
                refusal(&refused)
                    .is(&ErrorKind::Bytes, "10 bytes of packed residues where the shape"),
                "{count}"
            );
        }
        for bad in [1 << 15, -(1 << 15) - 1, i64::MAX, i64::MIN] {
            let refused = SecretWords::of_coefficients(&[0, bad, 1]);
            assert!(refusal(&refused).is(&ErrorKind::Bytes, "more than 2 bytes"), "{bad}");
        }
        let indices = [0, 7, u32::MAX as usize];
        let words = SecretWords::of_indices(&indices).unwrap();
        assert_eq!(*words.indices(3).unwrap(), indices);
        assert!(words.indices(2).is_err());
        assert!(SecretWords::of_indices(&[1 << 32]).is_err());
    }
}
