//! Measurements of other programs: `figures --only mlwe --json`, `module_rank --json` and the
//! estimates of criterion.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use common::program::Failure;
use common::text;

/// A row of `figures --only mlwe --json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Timed {
    name: String,
    pub median_ms: f64,
    /// Bytes of the keys, seeded and packed.
    pub key_bytes: Option<u64>,
    /// Whether one key replaced all, so that only the time counts.
    #[serde(default)]
    pub key_shared: bool,
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

/// All measurements.
#[derive(Debug, Default)]
pub struct Measured {
    timed: BTreeMap<String, Timed>,
    pub chains: Vec<Chain>,
    /// Medians of criterion in milliseconds, by benchmark id.
    benches: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Report {
    rows: Vec<Value>,
}

#[derive(Deserialize)]
struct Identity {
    full_id: String,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    /// Nanoseconds.
    point_estimate: f64,
}

impl Measured {
    /// Reads reports, and the folder of criterion's results if there is one.
    pub fn read(reports: &[PathBuf], criterion: Option<&Path>) -> Result<Self, Failure> {
        let mut measured = Self::default();
        for path in reports {
            let failure = |e| Failure::input(format!("--measured {}: {e}", path.display()));
            for row in read::<Report>(path)?.rows {
                if row.get("strategy").is_some() {
                    measured.chains.push(serde_json::from_value(row).map_err(failure)?);
                } else {
                    let row: Timed = serde_json::from_value(row).map_err(failure)?;
                    measured.timed.insert(row.name.clone(), row);
                }
            }
        }
        let Some(criterion) = criterion else { return Ok(measured) };
        let failure = |e| Failure::input(format!("--criterion {}: {e}", criterion.display()));
        for entry in std::fs::read_dir(criterion).map_err(failure)? {
            let latest = entry.map_err(failure)?.path().join("new");
            if latest.join("estimates.json").exists() {
                let identity: Identity = read(&latest.join("benchmark.json"))?;
                let estimates: Estimates = read(&latest.join("estimates.json"))?;
                measured.benches.insert(identity.full_id, estimates.median.point_estimate / 1e6);
            }
        }
        Ok(measured)
    }

    /// A row of `figures`.
    pub fn timed(&self, name: &str) -> Option<&Timed> {
        self.timed.get(name)
    }

    /// The median of the benchmark whose id begins with `name`, in milliseconds.
    pub fn bench(&self, name: &str) -> Option<f64> {
        let name = format!("{name}/");
        self.benches.iter().find(|(id, _)| id.starts_with(&name)).map(|(_, &ms)| ms)
    }
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, Failure> {
    let failure = |why: String| Failure::input(format!("{}: {why}", path.display()));
    serde_json::from_str(&text::read(path)?).map_err(|e| failure(e.to_string()))
}
