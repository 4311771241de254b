//! What is read, how, and what it may take.

use bellerophon::{
    Result,
    format::{self, Context, Header},
    mlwe::Security,
    ring::wire::Wire,
};

use crate::{World, envelope};

/// One type of object.
pub struct Target {
    /// Its name on command lines, and of its folder in the corpus.
    pub name: &'static str,
    /// Objects as they should be, the same in every run.
    pub samples: fn(&'static World) -> Vec<Vec<u8>>,
    /// Reads an object.
    pub read: fn(&'static World, &[u8]) -> Result<Read>,
    /// How its bytes are built.
    pub shape: Shape,
    /// The memory that reading may take.
    pub memory: Memory,
}

/// What was read.
pub struct Read {
    /// Drops the object when called, and returns its bytes.
    pub write: Box<dyn FnOnce() -> Vec<u8>>,
    /// How many bytes it was read from: the first so many.
    pub used: usize,
}

/// How bytes are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One envelope.
    Single,
    /// Envelopes one after the other, and the hash of their hashes.
    Set,
}

/// Memory that reading may take: so many bytes for each byte read, so many more, and
/// [`ROOM`](crate::ROOM).
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Bytes for each byte read.
    pub factor: usize,
    /// Bytes besides.
    pub more: usize,
}

impl Memory {
    /// Of objects that are made of what is read.
    pub const DEFAULT: Self = Self { factor: 4, more: 0 };

    /// Bytes for an input of this length.
    pub fn limit(self, len: usize) -> usize {
        self.factor * len + self.more + crate::ROOM
    }
}

impl Target {
    /// Bytes whose envelope, or envelopes, are right whatever they hold; type and fingerprint are
    /// those of a sample.
    ///
    /// # Panics
    /// If the sample is none.
    pub fn seal(&self, sample: &[u8], bytes: &[u8]) -> Vec<u8> {
        match self.shape {
            Shape::Single => {
                let header = Header::parse(sample).expect("samples have headers");
                envelope::seal(header.kind, *header.fingerprint.as_bytes(), bytes)
            }
            Shape::Set => envelope::repair_set(bytes),
        }
    }
}

/// Parameters of any security are read, as those here have none.
pub static ANY: Security = Security::Insecure;

/// Reads an object of the crates below from an envelope.
pub fn object<T, P>(params: &'static P, bytes: &[u8]) -> Result<Read>
where
    T: Wire + 'static,
    P: Context<T::Params>,
{
    let object: T = format::from_bytes(params, bytes)?;
    let write = move || format::to_bytes(params, &object).expect("what was read can be written");
    Ok(Read { write: Box::new(write), used: bytes.len() })
}

/// The same from a reader.
pub fn streamed<T, P>(params: &'static P, mut bytes: &[u8]) -> Result<Read>
where
    T: Wire + 'static,
    P: Context<T::Params>,
{
    let len = bytes.len();
    let object: T = format::read_from(params, &mut bytes, 1 << 20)?;
    let used = len - bytes.len();
    let write = move || format::to_bytes(params, &object).expect("what was read can be written");
    Ok(Read { write: Box::new(write), used })
}

/// The bytes of an object that is as it should be.
pub fn sample<T, P>(params: &P, object: &T) -> Vec<u8>
where
    T: Wire,
    P: Context<T::Params>,
{
    format::to_bytes(params, object).expect("samples can be written")
}
