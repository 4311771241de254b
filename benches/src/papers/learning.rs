//! Table 4: logistic regression, from the reports of the program that trains.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::page::{HEAAN, Table, columns};
use common::program::Failure;
use common::text;

/// A report of `logistic_regression --json`.
#[derive(Debug, Deserialize)]
pub struct Report {
    source: String,
    features: usize,
    rows: usize,
    iterations: usize,
    train_s: f64,
    accuracy: f64,
    accuracy_clear: f64,
    auc: f64,
    auc_clear: f64,
    security_bits: f64,
}

/// The paper's rows: part of the file's name, features, rows, minutes, accuracy in percent, AUC.
const PAPER: [(&str, usize, usize, f64, f64, f64); 2] =
    [("lbw", 9, 189, 1.82, 69.73, 0.62), ("uis", 8, 575, 1.83, 74.43, 0.59)];

/// Reads reports from their files.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Report>, Failure> {
    let read = |path: &PathBuf| {
        let failure = |why: String| Failure::input(format!("--logistic {}: {why}", path.display()));
        serde_json::from_str(&text::read(path)?).map_err(|e| failure(e.to_string()))
    };
    paths.iter().map(read).collect()
}

/// The reports beside the paper's rows.
pub fn table(reports: &[Report]) -> Table {
    let mut rows = Vec::new();
    for report in reports {
        let name = Path::new(&report.source).file_stem().unwrap_or_default().to_string_lossy();
        if let Some((_, features, samples, minutes, accuracy, auc)) =
            PAPER.into_iter().find(|row| name.contains(row.0))
        {
            rows.push(vec![
                name.to_string(),
                "paper".to_string(),
                features.to_string(),
                samples.to_string(),
                "5".to_string(),
                "80 aimed at".to_string(),
                format!("{:.0}", 60.0 * minutes),
                format!("{accuracy:.2}"),
                "".to_string(),
                format!("{auc:.2}"),
                "".to_string(),
            ]);
        }
        let percent = |x: f64| format!("{:.2}", 100.0 * x);
        rows.push(vec![
            name.to_string(),
            "this library".to_string(),
            report.features.to_string(),
            report.rows.to_string(),
            report.iterations.to_string(),
            format!("{:.0}", report.security_bits),
            format!("{:.1}", report.train_s),
            percent(report.accuracy),
            percent(report.accuracy_clear),
            format!("{:.3}", report.auc),
            format!("{:.3}", report.auc_clear),
        ]);
    }
    Table {
        page: HEAAN,
        name: "table4",
        title: "Table 4: training a logistic regression on one packed ciphertext",
        columns: columns(
            "data |  | features | rows | iterations | bits of security | seconds \
             | accuracy, % | in the clear, % | AUC | in the clear",
        ),
        rows,
    }
}
