//! Reports of other programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use bellerophon::mlwe::paper::DPad;
use common::program::Failure;
use common::text;

/// Reads the report that an option names.
pub fn read<T: DeserializeOwned>(option: &str, path: &Path) -> Result<T, Failure> {
    parse(option, path, &text::read(path)?, |text| serde_json::from_str(text))
}

/// A part of the report that an option names.
pub fn part<T: DeserializeOwned>(option: &str, path: &Path, value: Value) -> Result<T, Failure> {
    parse(option, path, value, T::deserialize)
}

fn parse<S, T>(
    option: &str,
    path: &Path,
    source: S,
    parse: impl FnOnce(S) -> serde_json::Result<T>,
) -> Result<T, Failure> {
    parse(source).map_err(|e| Failure::input(format!("{option} {}: {e}", path.display())))
}

/// A row of `figures --only mlwe --json`.
#[derive(Debug, Clone, Default, Deserialize)]
struct Timed {
    name: String,
    median_ms: f64,
    key_bytes: Option<u64>,
    #[serde(default)]
    key_shared: bool,
}

/// A row of `module_rank --json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Chain {
    pub set: String,
    pub strategy: String,
    pub rank_reduction: bool,
    pub ranks: Vec<(usize, usize)>,
    pub seconds_total: f64,
    pub seconds_per_multiplication: f64,
    pub seconds_reducing: f64,
    pub key_bytes: u64,
    pub multiplication_bits_l2: f64,
    pub error_bits_worst: f64,
}

/// The product of a set by one strategy, as far as it is measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Product {
    pub ms: Option<f64>,
    /// Bytes of the keys, seeded and packed.
    pub key: Option<f64>,
    /// Whether one key replaced all, so that only the time counts.
    pub key_shared: bool,
}

/// All measurements of DPad-HE.
#[derive(Debug, Default)]
pub struct Measured {
    timed: BTreeMap<String, Timed>,
    pub chains: Vec<Chain>,
}

impl Measured {
    /// Reads reports.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Report {
            rows: Vec<Value>,
        }
        let (mut measured, option) = (Self::default(), "--measured");
        for path in paths {
            for row in read::<Report>(option, path)?.rows {
                if row.get("strategy").is_some() {
                    measured.chains.push(part(option, path, row)?);
                } else {
                    let row: Timed = part(option, path, row)?;
                    measured.timed.insert(row.name.clone(), row);
                }
            }
        }
        Ok(measured)
    }

    /// Milliseconds of a row of `figures`.
    pub fn ms(&self, name: &str) -> Option<f64> {
        Some(self.timed.get(name)?.median_ms)
    }

    /// The product of a set by a strategy.
    pub fn product(&self, set: DPad, strategy: &str) -> Product {
        match self.timed.get(&format!("mlwe/{}/{strategy}", set.name())) {
            Some(&Timed { median_ms, key_bytes, key_shared, .. }) => Product {
                ms: Some(median_ms),
                key: key_bytes.map(|bytes| bytes as f64),
                key_shared,
            },
            None => Product::default(),
        }
    }
}
