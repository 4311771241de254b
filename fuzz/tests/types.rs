//! Every type of the format is attacked, and every target is complete. A program of its own: tests
//! of the library measure the heap.

use std::{collections::BTreeSet, fs, path::Path};

use bellerophon_fuzz::{Shape, TARGETS, TINY, envelope, target};

fn names(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).expect("a folder").map(|entry| entry.unwrap());
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_target_has_golden_files() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|t| t.name.to_string()).collect();
    assert_eq!(targets.len(), TARGETS.len(), "names are unique");
    // Each type has a folder there, beside the page on them.
    let mut vectors = names("../tests/vectors");
    assert!(vectors.remove("README.md"));
    assert_eq!(vectors, targets);
}

#[test]
fn a_target_is_found_by_its_name_alone() {
    for wanted in TARGETS {
        assert_eq!(target(wanted.name).map(|found| found.name), Ok(wanted.name));
    }
    let refused = target("vectors").err().expect("no target has this name");
    assert!(TARGETS.iter().all(|target| refused.contains(target.name)), "{refused}");
}

/// The types in the table of the format are those of the samples, alone or within a key set.
#[test]
fn every_type_of_the_format_has_a_target() {
    let rows = include_str!("../../docs/FORMAT.md").lines();
    let rows =
        rows.filter_map(|line| u16::from_str_radix(line.strip_prefix("| `0x")?.get(..4)?, 16).ok());
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
