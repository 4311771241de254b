//! Every type of the format is attacked, and every target is complete. A program of its own: tests of
//! the library measure the heap.

use std::{collections::BTreeSet, fs, path::Path};

use bellerophon_fuzz::{Shape, TARGETS, TINY, envelope};

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
    // Each type has a folder there, beside the page on them.
    let mut vectors = names("../tests/vectors", "");
    assert!(vectors.remove("README.md"));
    assert_eq!(vectors, targets);
    let (manifest, page) = (include_str!("../Cargo.toml"), include_str!("../../docs/FUZZING.md"));
    for name in targets {
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
        assert!(page.contains(&format!("\n| `{name}` |")), "{name}");
    }
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
