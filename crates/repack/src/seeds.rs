//! Many seeds in one byte string.

use std::borrow::Cow;

use bellerophon_ring::{Result, error, sample::Seed};
use serde::{Deserialize, Serialize};

/// Bytes of a seed.
const LEN: usize = 32;

/// Seeds, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seeds<'a>(#[serde(borrow, with = "serde_bytes")] Cow<'a, [u8]>);

impl Seeds<'_> {
    /// One run of the bytes of these seeds.
    pub fn of<'s>(seeds: impl Iterator<Item = &'s Seed>) -> Seeds<'static> {
        Seeds(seeds.flat_map(|seed| seed.0).collect::<Vec<u8>>().into())
    }

    /// The number of seeds; a partial one counts.
    pub fn count(&self) -> usize {
        self.0.len().div_ceil(LEN)
    }

    /// The seeds.
    pub fn unpack(&self, count: usize) -> Result<impl Iterator<Item = Seed>> {
        let (found, needed) = (self.0.len(), count.saturating_mul(LEN));
        if found != needed {
            return Err(error::packed_length(found, needed));
        }
        Ok(self.0.chunks_exact(LEN).map(|seed| Seed(seed.try_into().expect("32 bytes"))))
    }
}
