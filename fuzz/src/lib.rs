//! Hostile bytes for every type that Bellerophon reads.
//!
//! A [`Target`] reads one type of object and writes again what it read; a [`trial`](trial::trial)
//! gives it bytes and judges what happens. Everything is a fault but two outcomes: the bytes are
//! refused, or they are those of an object, which is then written as the very same bytes. A fault
//! is
//!
//! * a panic,
//! * more than a second, three times in a row,
//! * more memory than [`Target::memory`] allows, at the peak, beyond what stood before: by default
//!   four bytes for each byte read and [`ROOM`] bytes, with the object in it, ready to use,
//! * an object that is written as other bytes than those that were read: then something of them was
//!   silently ignored, or accepted in two spellings.
//!
//! The parameters are tiny ([`World`]), so that a trial takes microseconds; they keep all buffers
//! below the size from which the ring maps them or keeps them for later, so that the heap is
//! everything.
//!
//! Two programs share the list [`TARGETS`]: `replay`, on stable Rust, and `libfuzzer`, for
//! cargo-fuzz. `docs/FUZZING.md` says how they are run.
#![forbid(unsafe_code)]

mod bfv;
pub mod envelope;
mod integers;
mod lookups;
pub mod mutate;
mod ranks;
mod target;
mod targets;
pub mod trial;
mod world;

use std::sync::{LazyLock, OnceLock};

pub use target::{Memory, Read, Shape, Target};
pub use targets::TARGETS;
pub use trial::ROOM;
pub use world::{World, rng};

/// Counts what is taken from the heap; the programs that read this crate all use it.
#[global_allocator]
pub static HEAP: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// The smallest parameters of every kind.
pub static TINY: LazyLock<World> = LazyLock::new(|| World::new(16));

/// Parameters for objects of tens of kilobytes, beside which [`ROOM`] is nothing.
pub static WIDE: LazyLock<World> = LazyLock::new(|| World::new(1024));

/// The target of a name.
///
/// # Errors
/// All names, if there is none.
pub fn target(name: &str) -> Result<&'static Target, String> {
    TARGETS.iter().find(|target| target.name == name).ok_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        format!("no target {name:?}; there are {}", names.join(", "))
    })
}

/// What a target of cargo-fuzz does: the bytes as they are, and in an envelope that is right. A
/// process has one target.
///
/// # Panics
/// For every fault.
pub fn run(target: &Target, data: &[u8]) {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    let sample = SAMPLE.get_or_init(|| (target.samples)(&TINY).swap_remove(0));
    for bytes in [data.to_vec(), target.seal(sample, data)] {
        if let Err(fault) = trial::trial(target, &TINY, &bytes) {
            panic!("{}: {fault}", target.name);
        }
    }
}
