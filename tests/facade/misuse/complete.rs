//! Every public method that can fail is among those that the tests use wrongly.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Types and traits: name, sources, and the first line of each block with methods.
const OWNERS: [(&str, &str, &str); 9] = [
    ("ClientKey", "bellerophon", "impl ClientKey {"),
    ("PublicKey", "bellerophon", "impl PublicKey {"),
    ("Evaluator", "bellerophon", "impl Evaluator {"),
    ("OrderOps", "lookup", "impl<'a, S: LookupServer> OrderOps<'a, S> {"),
    ("Integers", "circuits", "impl<A: CkksOps> Integers<'_, A> {"),
    ("Vectors", "ckks", "pub trait Vectors: Sized {"),
    ("CkksOps", "ckks", "pub trait CkksOps: Vectors {"),
    ("ComposedOps", "ckks", "pub trait ComposedOps: CkksOps {"),
    ("CircuitOps", "circuits", "pub trait CircuitOps: CkksOps {"),
];

/// Methods that return a `Result` and fail for no argument.
const CANNOT_FAIL: [(&str, &str); 12] = [
    // Parameters are checked when they are made.
    ("ClientKey", "generate"),
    ("ClientKey", "generate_with"),
    ("ClientKey", "from_seed"),
    ("ClientKey", "public_key"),
    ("ClientKey", "public_key_with"),
    // Keys are written under their own parameters.
    ("ClientKey", "to_secret_bytes"),
    ("PublicKey", "to_bytes"),
    // Keys are checked when they are made or read, and hold their parameters.
    ("Evaluator", "new"),
    // They fail as the closure or the operation does that they are given.
    ("Vectors", "composed"),
    ("Vectors", "fused"),
    // The name of its errors is that of the reading: `repeated`, `broadcast`.
    ("Vectors", "read_as"),
    ("Vectors", "single"),
];

/// Methods that can fail and were not called, and exceptions that are none.
pub fn never_called(called: &BTreeSet<(&str, &str)>) -> Vec<String> {
    let mut faults = vec![];
    for (owner, _, _) in OWNERS {
        let methods = methods_of(owner);
        for method in &methods {
            let excepted = CANNOT_FAIL.contains(&(owner, method));
            match called.contains(&(owner, method)) {
                false if !excepted => faults.push(format!("{owner}::{method}: never called")),
                true if excepted => faults.push(format!("{owner}::{method}: can fail")),
                _ => {}
            }
        }
        let excepted = CANNOT_FAIL.iter().filter(|exception| exception.0 == owner);
        let gone = excepted.filter(|exception| !methods.contains(exception.1));
        faults.extend(gone.map(|(_, method)| format!("{owner}::{method}: no such method")));
    }
    faults
}

/// The methods of a type or trait that return a `Result`: of its name above.
pub fn methods_of(owner: &str) -> BTreeSet<String> {
    signatures_of(owner).into_keys().collect()
}

/// Those of them that take several vectors: two, or a slice of any number.
pub fn methods_of_several(owner: &str) -> BTreeSet<String> {
    let several = |signature: &str| {
        let operands = signature.split("->").next().unwrap_or_default().replace("Self::", "");
        let slices = ["[&Ciphertext", "[(&Ciphertext", "Borrow<Ciphertext>"];
        operands.matches("Ciphertext").count() > 1 || slices.iter().any(|s| operands.contains(s))
    };
    let all = signatures_of(owner).into_iter();
    all.filter(|(_, signature)| several(signature)).map(|(name, _)| name).collect()
}

/// The methods by name, each with its signature.
fn signatures_of(owner: &str) -> BTreeMap<String, String> {
    let (_, folder, head) = OWNERS.into_iter().find(|of| of.0 == owner).expect("an owner");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut methods = BTreeMap::new();
    collect(&crates.join(folder).join("src"), head, &mut methods);
    assert!(methods.len() > 1, "no methods behind {head:?}");
    methods
}

/// Adds the methods of all blocks with that first line.
fn collect(folder: &Path, head: &str, methods: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, head, methods);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(path).unwrap();
            for block in source.split(&format!("\n{head}\n")).skip(1) {
                fallible(block.split("\n}\n").next().unwrap(), head, methods);
            }
        }
    }
}

/// Adds the public functions of a block that return a `Result`.
fn fallible(block: &str, head: &str, methods: &mut BTreeMap<String, String>) {
    let is_trait = head.starts_with("pub trait");
    for (at, _) in block.match_indices("fn ") {
        let before = block[..at].rsplit('\n').next().unwrap_or_default().trim_start();
        let text = &block[at + 3..];
        // Arrays have a semicolon, too, but not at the end of a line.
        let ends = [";\n", " {\n"].map(|end| text.find(end).unwrap_or(text.len()));
        let signature = &text[..ends[0].min(ends[1])];
        let result = signature.contains("-> Result<");
        let fallible = match before {
            "" if is_trait => result,
            _ => before == "pub " && result,
        };
        if fallible {
            let name = signature.split(['(', '<']).next().unwrap_or_default();
            methods.insert(name.trim().into(), signature.into());
        }
    }
}
