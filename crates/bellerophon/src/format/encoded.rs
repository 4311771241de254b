//! Objects as fields of structs that `serde` writes and reads.

use std::{fmt, marker::PhantomData};

use bellerophon_ring::Result;
use bellerophon_ring::wire::Wire;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
};

use super::{Context, from_bytes, hex, to_bytes};

/// An object as the bytes of its envelope, for structs that derive `Serialize` and `Deserialize`.
///
/// `serde` knows no parameters, and so it cannot check what it reads. It reads bytes, and only
/// [`decode`](Self::decode) makes an object of them, with all checks of
/// [`format::from_bytes`](super::from_bytes). Text formats hold the bytes as hexadecimal digits.
///
/// ```
/// use bellerophon::{format::Encoded, prelude::*};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Request {
///     user: String,
///     salaries: Encoded<Ciphertext>,
/// }
///
/// # fn main() -> bellerophon::Result<()> {
/// let params = Params::preset(Preset::Insecure(Toy::Functions))?;
/// let client = ClientKey::generate(&params)?;
/// let salaries = client.encrypt(&[41.0, 52.5], 0.0..=100.0)?;
/// let request = Request { user: "anne".into(), salaries: Encoded::new(&params, &salaries)? };
/// let sent = serde_json::to_string(&request).unwrap();
///
/// let received: Request = serde_json::from_str(&sent).unwrap();
/// let salaries = received.salaries.decode(&params)?; // checked here, not before
/// assert!((client.decrypt(&salaries)?[1] - 52.5).abs() < 1e-3);
/// # Ok(())
/// # }
/// ```
pub struct Encoded<T> {
    bytes: Vec<u8>,
    object: PhantomData<fn() -> T>,
}

impl<T: Wire> Encoded<T> {
    /// Writes an object.
    pub fn new(params: &impl Context<T::Params>, object: &T) -> Result<Self> {
        Ok(Self::from(to_bytes(params, object)?))
    }

    /// Checks the bytes and reads the object.
    pub fn decode(&self, params: &impl Context<T::Params>) -> Result<T> {
        from_bytes(params, &self.bytes)
    }
}

/// Bytes that claim to be such an object: nothing is checked.
impl<T> From<Vec<u8>> for Encoded<T> {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, object: PhantomData }
    }
}

/// The bytes, which may come from anywhere.
impl<T> AsRef<[u8]> for Encoded<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes, which may come from anywhere.
impl<T> From<Encoded<T>> for Vec<u8> {
    fn from(encoded: Encoded<T>) -> Self {
        encoded.bytes
    }
}

impl<T> Clone for Encoded<T> {
    fn clone(&self) -> Self {
        Self::from(self.bytes.clone())
    }
}

/// Two are equal if their bytes are.
impl<T> PartialEq for Encoded<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<T> Eq for Encoded<T> {}

impl<T> fmt::Debug for Encoded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoded({} bytes)", self.bytes.len())
    }
}

impl<T> Serialize for Encoded<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.bytes);
        }
        serializer.serialize_str(&hex::encode(&self.bytes))
    }
}

impl<'de, T> Deserialize<'de> for Encoded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let bytes = match deserializer.is_human_readable() {
            true => deserializer.deserialize_str(Digits)?,
            false => deserializer.deserialize_byte_buf(Bytes)?,
        };
        Ok(Self::from(bytes))
    }
}

/// Reads hexadecimal digits.
struct Digits;

impl Visitor<'_> for Digits {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an even number of hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Vec<u8>, E> {
        // The text itself is not repeated in the message.
        let malformed = || E::custom("expected an even number of hexadecimal digits");
        hex::decode(text).ok_or_else(malformed)
    }
}

/// Reads bytes, or a sequence of them.
struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> std::result::Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> std::result::Result<Vec<u8>, E> {
        Ok(bytes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Vec<u8>, A::Error> {
        // A stated length is not believed: memory grows with what arrives.
        let mut bytes = vec![];
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes)
    }
}
