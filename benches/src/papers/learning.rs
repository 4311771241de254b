//! Table 4: logistic regression, from the reports of the program that trains.

use std::path::Path;

use serde::Deserialize;

use super::page::{HEAAN, Table};

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

/// The paper's rows: part of the file's name, features and rows, iterations, bits of security aimed
/// at, seconds, accuracy in percent, AUC.
const PAPER: [(&str, &str); 2] = [
    ("lbw", "9 | 189 | 5 | 80 aimed at | 109 | 69.73 |  | 0.62 | "),
    ("uis", "8 | 575 | 5 | 80 aimed at | 110 | 74.43 |  | 0.59 | "),
];

/// The reports beside the paper's rows.
pub fn table(reports: &[Report]) -> Table {
    let mut all = Vec::new();
    for report in reports {
        let Report { features, rows, iterations, train_s, auc, auc_clear, .. } = report;
        let name = Path::new(&report.source).file_stem().unwrap_or_default().to_string_lossy();
        if let Some((_, paper)) = PAPER.into_iter().find(|row| name.contains(row.0)) {
            all.push(format!("{name} | paper | {paper}"));
        }
        let [accuracy, clear] = [report.accuracy, report.accuracy_clear].map(|x| 100.0 * x);
        let bits = report.security_bits;
        all.push(format!(
            "{name} | this library | {features} | {rows} | {iterations} | {bits:.0} | \
             {train_s:.1} | {accuracy:.2} | {clear:.2} | {auc:.3} | {auc_clear:.3}"
        ));
    }
    Table::new(
        HEAAN,
        "table4",
        "Table 4: training a logistic regression on one packed ciphertext",
        "data |  | features | rows | iterations | bits of security | seconds | accuracy, % | in \
         the clear, % | AUC | in the clear",
        all,
    )
}
