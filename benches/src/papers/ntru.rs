//! The tables of PEGASUS with NTRU from the reports of `engines --json` and `functions --json`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::page::{Table, ms};
use super::reports;
use common::program::Failure;

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
        let mut all = Self::default();
        let option = "--measured";
        for path in paths {
            let mut report: Value = reports::read(option, path)?;
            match report.get_mut("rows") {
                Some(rows) => {
                    let rows: Vec<Engine> = reports::part(option, path, rows.take())?;
                    all.engines.extend(rows);
                }
                None => all.functions.push(reports::part(option, path, report)?),
            }
        }
        Ok(all)
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
            let Engine { set, degree, log2_modulus, digits, base_log, .. } = e;
            let bits = e.rotation_security_bits.floor();
            let secure = if e.secure { "" } else { ", within the margin" };
            let noise = format!("{:.1}; {:.1}", e.predicted_noise_bits, e.noise_bits);
            let error = format!("{:.2}; {:.2}", e.predicted_error_bits_mean, e.error_bits_mean);
            format!(
                "`{set}` | {degree} | {log2_modulus:.1} | {digits} x {base_log} | \
                 {bits:.0}{secure} | {noise} | {error}"
            )
        };
        Table::new(
            PAGE,
            "ntru-sets",
            "The sets of NTRU",
            "set | N | log2 Q | digits | bits of security of the rotation's key | noise of an \
             entry, -log2 as a fraction of the modulus: predicted; found | mean error of the \
             sigmoid on [-8, 8], -log2: predicted; found",
            self.engines.iter().filter(|e| e.engine == "ntru").map(row),
        )
    }

    fn keys(&self) -> Table {
        let row = |e: &Engine| {
            let Engine { set, schoolbook_multiplications, multiplications, .. } = e;
            let mib = |bytes: usize| significant(bytes as f64 / MIB);
            let (whole, switch) = (mib(e.unseeded_key_bytes), mib(e.switch_key_bytes));
            let (sent, memory) = (mib(e.rotation_key_bytes), mib(e.key_memory_bytes));
            format!(
                "`{set}` | {whole} | {sent}; {memory} | {switch} | \
                 {schoolbook_multiplications:.2e} | {multiplications:.2e}"
            )
        };
        let paper = [
            "paper: PEGASUS | 420 |  |  | 1.37e11 | ",
            "paper: PEGASUS+NTRU | 18.75 |  | 222.7 | 5.37e9 | ",
        ];
        Table::new(
            PAGE,
            "ntru-table1",
            "Table 1: keys and multiplications",
            " | rotation's key as the paper counts, MiB | the same in transit; in memory, MiB | \
             key switches in transit, MiB | multiplications of N^2 a product | modular \
             multiplications with transforms",
            paper.map(String::from).into_iter().chain(self.engines.iter().map(row)),
        )
    }

    fn times(&self) -> Table {
        let row = |e: &Engine| {
            let Engine { set, degree, transforms, batch_cpu_ms, .. } = e;
            let base = self.engines.iter().find(|o| o.set == format!("rgsw-{degree}"));
            let base = base.filter(|base| base.set != *set).and_then(|base| base.batch_cpu_ms);
            let ratio = base.zip(*batch_cpu_ms).map(|(base, ms)| format!("{:.2}", base / ms));
            let (time, ratio) = (batch_cpu_ms.map_or("-".into(), ms), ratio.unwrap_or_default());
            format!("`{set}` | {time} | {ratio} | {transforms:.0} of degree {degree}")
        };
        let paper = [
            "paper: external products of PEGASUS | 67030 |  | ",
            "paper: external products of PEGASUS+NTRU | 43280 | 1.55 | ",
        ];
        Table::new(
            PAGE,
            "ntru-table2",
            "Table 2: CPU time of each of 64 look-ups",
            " | CPU time of a look-up, ms | against RGSW of two digits at this degree | transforms",
            paper.map(String::from).into_iter().chain(self.engines.iter().map(row)),
        )
    }

    fn functions(&self) -> Table {
        let row = |f: &Function| {
            let Function { op, preset, count, mean_err_bits, max_err_bits, .. } = f;
            let degree = f.degree.map_or("-".into(), |degree| degree.to_string());
            let how = match (f.bits, f.order) {
                (Some(bits), Some(order)) => format!("`--bits {bits}`: corrected to order {order}"),
                _ => "plain".to_string(),
            };
            format!(
                "{op} | {preset} | {degree} | {how} | {count} | {mean_err_bits:.1} | \
                 {max_err_bits:.1}"
            )
        };
        Table::new(
            PAGE,
            "ntru-functions",
            "Functions from slots to slots on NTRU",
            "function | preset | degree | table | values | mean error, -log2 | largest, -log2",
            self.functions.iter().map(row),
        )
    }
}

/// Two or three significant figures.
fn significant(x: f64) -> String {
    if x >= 10.0 { format!("{x:.0}") } else { format!("{x:.1}") }
}
