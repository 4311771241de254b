//! The tables of PEGASUS with NTRU from the reports of `engines --json` and `functions --json`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::page::{Table, columns, ms};
use common::program::Failure;
use common::text;

/// Its page inside the folder of documents.
pub const PAGE: &str = "ntru.md";

const MIB: f64 = (1 << 20) as f64;

/// A row of `engines --json`.
#[derive(Debug, Clone, Deserialize)]
struct Engine {
    set: String,
    engine: String,
    degree: usize,
    log2_modulus: f64,
    digits: usize,
    base_log: u32,
    rotation_security_bits: f64,
    secure: bool,
    rotation_key_bytes: usize,
    switch_key_bytes: usize,
    unseeded_key_bytes: usize,
    key_memory_bytes: usize,
    transforms: f64,
    multiplications: f64,
    schoolbook_multiplications: f64,
    batch_cpu_ms: Option<f64>,
    error_bits_mean: f64,
    predicted_error_bits_mean: f64,
    noise_bits: f64,
    predicted_noise_bits: f64,
}

/// A report of `functions --json`.
#[derive(Debug, Clone, Deserialize)]
struct Function {
    op: String,
    preset: String,
    count: usize,
    degree: Option<usize>,
    order: Option<usize>,
    bits: Option<f64>,
    mean_err_bits: f64,
    max_err_bits: f64,
}

/// All reports.
#[derive(Debug, Default)]
pub struct Reports {
    engines: Vec<Engine>,
    functions: Vec<Function>,
}

impl Reports {
    /// Reads reports of either program.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut reports = Self::default();
        for path in paths {
            let failure = |why: &dyn std::fmt::Display| fail(path, why);
            let report: Value =
                serde_json::from_str(&text::read(path)?).map_err(|e| failure(&e))?;
            match report.get("rows") {
                Some(rows) => {
                    let rows = Vec::<Engine>::deserialize(rows).map_err(|e| failure(&e))?;
                    reports.engines.extend(rows);
                }
                None => {
                    let one = Function::deserialize(report).map_err(|e| failure(&e))?;
                    reports.functions.push(one);
                }
            }
        }
        Ok(reports)
    }

    /// The tables for which there are reports.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = vec![];
        if !self.engines.is_empty() {
            tables.extend([self.sets(), self.keys(), self.times()]);
        }
        if !self.functions.is_empty() {
            tables.push(self.functions());
        }
        tables
    }

    fn sets(&self) -> Table {
        let row = |e: &Engine| {
            let secure = if e.secure { "" } else { ", within the margin" };
            vec![
                format!("`{}`", e.set),
                e.degree.to_string(),
                format!("{:.1}", e.log2_modulus),
                format!("{} x {}", e.digits, e.base_log),
                format!("{:.0}{secure}", e.rotation_security_bits.floor()),
                format!("{:.1}; {:.1}", e.predicted_noise_bits, e.noise_bits),
                format!("{:.2}; {:.2}", e.predicted_error_bits_mean, e.error_bits_mean),
            ]
        };
        Table {
            page: PAGE,
            name: "ntru-sets",
            title: "The sets of NTRU",
            columns: columns(
                "set | N | log2 Q | digits | bits of security of the rotation's \
                 key | noise of an entry, -log2 of the encoding width: predicted; found | mean \
                 error of the sigmoid on [-8, 8], -log2: predicted; found",
            ),
            rows: self.engines.iter().filter(|e| e.engine == "ntru").map(row).collect(),
        }
    }

    fn keys(&self) -> Table {
        let mib = |bytes: usize| significant(bytes as f64 / MIB);
        let row = |e: &Engine| {
            vec![
                format!("`{}`", e.set),
                mib(e.unseeded_key_bytes),
                format!("{}; {}", mib(e.rotation_key_bytes), mib(e.key_memory_bytes)),
                mib(e.switch_key_bytes),
                format!("{:.2e}", e.schoolbook_multiplications),
                format!("{:.2e}", e.multiplications),
            ]
        };
        let paper = |cells: [&str; 6]| cells.map(str::to_string).to_vec();
        let mut rows = vec![
            paper(["paper: PEGASUS", "420", "", "", "1.37e11", ""]),
            paper(["paper: PEGASUS+NTRU", "18.75", "", "222.7", "5.37e9", ""]),
        ];
        rows.extend(self.engines.iter().map(row));
        Table {
            page: PAGE,
            name: "ntru-table1",
            title: "Table 1: keys and multiplications",
            columns: columns(
                " | rotation's key as the paper counts, MiB | the same in \
                 transit; in memory, MiB | key switches in transit, MiB | multiplications of N^2 \
                 a product | modular multiplications with transforms",
            ),
            rows,
        }
    }

    fn times(&self) -> Table {
        let row = |e: &Engine| {
            let base = self.engines.iter().find(|o| o.set == format!("rgsw-{}", e.degree));
            let ratio = base
                .filter(|base| base.set != e.set)
                .and_then(|base| Some(format!("{:.2}", base.batch_cpu_ms? / e.batch_cpu_ms?)));
            vec![
                format!("`{}`", e.set),
                e.batch_cpu_ms.map_or_else(|| "-".to_string(), ms),
                ratio.unwrap_or_default(),
                format!("{:.0} of degree {}", e.transforms, e.degree),
            ]
        };
        let paper = |cells: [&str; 4]| cells.map(str::to_string).to_vec();
        let mut rows = vec![
            paper(["paper: external products of PEGASUS", "67030", "", ""]),
            paper(["paper: external products of PEGASUS+NTRU", "43280", "1.55", ""]),
        ];
        rows.extend(self.engines.iter().map(row));
        Table {
            page: PAGE,
            name: "ntru-table2",
            title: "Table 2: CPU time of each of 64 look-ups",
            columns: columns(
                " | CPU time of a look-up, ms | against RGSW of two digits at \
                 this degree | transforms",
            ),
            rows,
        }
    }

    fn functions(&self) -> Table {
        let row = |f: &Function| {
            let how = match (f.bits, f.order) {
                (Some(bits), Some(order)) => format!("`--bits {bits}`: corrected to order {order}"),
                _ => "plain".to_string(),
            };
            vec![
                f.op.clone(),
                f.preset.clone(),
                f.degree.map_or_else(|| "-".to_string(), |degree| degree.to_string()),
                how,
                f.count.to_string(),
                format!("{:.1}", f.mean_err_bits),
                format!("{:.1}", f.max_err_bits),
            ]
        };
        Table {
            page: PAGE,
            name: "ntru-functions",
            title: "Functions from slots to slots on NTRU",
            columns: columns(
                "function | preset | degree | table | values | mean error, -log2 \
                 | largest, -log2",
            ),
            rows: self.functions.iter().map(row).collect(),
        }
    }
}

fn fail(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("--measured {}: {why}", path.display()))
}

/// Two or three significant figures.
fn significant(x: f64) -> String {
    if x >= 10.0 { format!("{x:.0}") } else { format!("{x:.1}") }
}
