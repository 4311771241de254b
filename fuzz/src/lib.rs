//! Hostile bytes for every type that Bellerophon reads.
//!
//! A [`Target`] reads one type of object and writes again what it read; a [`trial`](trial::trial)
//! gives it bytes and judges what happens. Everything is a fault but two outcomes: the bytes are
//! refused, or they are those of an object, which is then written as the very same bytes. A fault is
//!
//! * a panic,
//! * more than a second, three times in a row,
//! * more memory than [`Target::memory`] allows, at the peak, beyond what stood before: by default
//!   four bytes for each byte read and [`ROOM`] bytes, with the object in it, ready to use,
//! * an object that is written as other bytes than those that were read: then something of them was
//!   silently ignored, or accepted in two spellings.
//!
//! The parameters are tiny ([`World`]), so that a trial takes microseconds; they keep all buffers below
//! the size from which the ring maps them or keeps them for later, so that the heap is everything.
//!
//! Two drivers share this: `replay`, on stable Rust, and one program for cargo-fuzz for each target in
//! `fuzz_targets/`. `docs/FUZZING.md` says how they are run.
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
/// # Panics
/// If there is none.
pub fn target(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target {name:?}"))
}

/// What a target of cargo-fuzz does: the bytes as they are, and in an envelope that is right. A process
/// has one target.
///
/// # Panics
/// For every fault.
pub fn run(name: &str, data: &[u8]) {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    let target = target(name);
    let sample = SAMPLE.get_or_init(|| (target.samples)(&TINY).swap_remove(0));
    for bytes in [data.to_vec(), target.seal(sample, data)] {
        if let Err(fault) = trial::trial(target, &TINY, &bytes) {
            panic!("{name}: {fault}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn names(folder: &str, extension: &str) -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let paths = fs::read_dir(&folder).expect("a folder").map(|entry| entry.unwrap().path());
        let names = paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_string());
        names.filter_map(|name| Some(name.strip_suffix(extension)?.to_string())).collect()
    }

    #[test]
    fn every_target_has_a_program_golden_files_and_a_result() {
        let targets: BTreeSet<String> = TARGETS.iter().map(|t| t.name.to_string()).collect();
        assert_eq!(targets.len(), TARGETS.len(), "names are unique");
        assert_eq!(names("fuzz_targets", ".rs"), targets);
        assert_eq!(names("../tests/vectors/v3", ""), targets);
        let (manifest, page) =
            (include_str!("../Cargo.toml"), include_str!("../../docs/FUZZING.md"));
        for name in targets {
            assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
            assert!(page.contains(&format!("\n| `{name}` |")), "{name}");
        }
    }

    /// The types in the table of the format are those of the samples, alone or within a key set.
    #[test]
    fn every_type_of_the_format_has_a_target() {
        let rows = include_str!("../../docs/FORMAT.md").lines();
        let rows = rows
            .filter_map(|line| u16::from_str_radix(line.strip_prefix("| `0x")?.get(..4)?, 16).ok());
        let rows: Vec<u16> = rows.collect();
        assert!(rows.is_sorted(), "{rows:x?}");
        let mut found = BTreeSet::new();
        for target in TARGETS {
            for sample in (target.samples)(&TINY) {
                let envelopes = match target.shape {
                    Shape::Single => vec![&sample[..]],
                    Shape::Set => envelope::split_set(&sample),
                };
                found.extend(envelopes.iter().map(|e| u16::from_le_bytes([e[10], e[11]])));
            }
        }
        assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), found);
    }
}
