//! Numbers of specifications as words of 32 bits.

use bellerophon_ring::wire::List;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(number: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    (*number as u32).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    Ok(u32::deserialize(deserializer)? as usize)
}

/// Reads the sizes of at most `MOST` levels.
pub(crate) fn levels<'de, D: Deserializer<'de>, const MOST: usize>(
    deserializer: D,
) -> Result<Vec<u32>, D::Error> {
    Ok(List::<u32, MOST>::deserialize(deserializer)?.0)
}
