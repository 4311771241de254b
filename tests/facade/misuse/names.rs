//! The names that messages may use: those of the library's own sources.

use std::{collections::BTreeSet, fs, path::Path, sync::LazyLock};

/// Functions, types, variants, fields, modules.
static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut names = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in
        ["bellerophon", "circuits", "ckks", "lookup", "lwe", "mlwe", "pir", "repack", "ring"]
    {
        collect(&root.join(folder).join("src"), &mut names);
    }
    names
});

fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            fs::read_to_string(path).unwrap().lines().for_each(|line| declared(line, names));
        }
    }
}

/// Adds what a line declares.
fn declared(line: &str, names: &mut BTreeSet<String>) {
    let line = line.trim();
    let words: Vec<&str> = line
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|w| !w.is_empty())
        .collect();
    for pair in words.windows(2) {
        if ["fn", "struct", "enum", "trait", "mod", "type", "const", "pub"].contains(&pair[0]) {
            names.insert(pair[1].into());
        }
    }
    // A variant of an enum.
    if let Some(first) = words.first().filter(|word| word.starts_with(char::is_uppercase))
        && line.starts_with(*first)
        && line[first.len()..].trim_start().starts_with([',', '{', '(', '='])
    {
        names.insert((*first).into());
    }
}

/// The parts of a message in backticks.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

/// The last segment of a path, without arguments.
fn last(path: &str) -> &str {
    path.split('(').next().unwrap_or(path).rsplit("::").next().unwrap_or(path)
}

fn exists(name: &str) -> bool {
    NAMES.contains(name)
}

/// The quoted names of a message that nothing in the library has.
pub fn unknown(message: &str) -> Vec<&str> {
    quoted(message).filter(|path| !exists(last(path))).collect()
}
