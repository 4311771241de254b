//! Rows, their classes, and their preparation by the client before encryption.

use std::path::Path;

use common::data::{self, load_table};
use common::program::Failure;
use common::random;
use common::stats;

/// Standard deviations beyond which the client clips a feature: the domain of the tables, and the
/// declared range of features.
pub const REACH: f64 = 3.0;

const MOST_LABELS: usize = 16;

/// One in this many rows is for tests.
const TESTED: usize = 5;

/// A prepared table: standardised features, classes, and the split into training and tests.
pub struct Data {
    pub source: String,
    pub label: String,
    /// Standardised by the training rows, clipped to [`REACH`].
    pub features: Vec<Vec<f64>>,
    /// Indices among the labels.
    pub classes: Vec<usize>,
    /// The labels of the classes in the table, in ascending order.
    pub labels: Vec<f64>,
    pub training: Vec<usize>,
    pub testing: Vec<usize>,
}

impl Data {
    /// Reads a table with a column of labels. A seed draws a fifth of its rows for tests.
    pub fn load(path: Option<&Path>, label: &str, seed: u64) -> Result<Self, Failure> {
        let table = load_table(path, &[])?;
        let place = table.place(label)?;
        let fail = |why: String| Failure::input(format!("{}: {why}", table.source));
        if table.names.len() < 2 {
            return Err(fail(format!("there is no column beside '{label}' to classify by")));
        }
        if table.rows.len() < TESTED {
            return Err(fail(format!("{} rows: need at least {TESTED}", table.rows.len())));
        }
        let (mut features, column) = table.split(place);
        if let Some(row) = column.iter().position(|label| label.fract() != 0.0) {
            let row = row + 1;
            return Err(fail(format!("row {row}, column '{label}': the label is not an integer")));
        }
        let (labels, classes) = data::classes(&column);
        match labels.len() {
            1 => {
                let why = format!("column '{label}' has only one label: need at least two");
                return Err(fail(why));
            }
            2..=MOST_LABELS => {}
            _ => return Err(fail(format!("column '{label}' has more than {MOST_LABELS} labels"))),
        }
        let mut testing = random::shuffled(features.len(), &mut random::seeded(seed));
        let training = testing.split_off(features.len() / TESTED);
        let names = table.names.iter().filter(|name| *name != label);
        for (column, name) in names.enumerate() {
            let values: Vec<f64> = training.iter().map(|&row| features[row][column]).collect();
            let known = stats::standardise(&values).ok_or_else(|| {
                let why = "the values, or their differences, are too large or too small";
                fail(format!("column '{name}': {why}"))
            })?;
            for row in &mut features {
                let value = (row[column] - known.mean) / known.deviation;
                row[column] = value.clamp(-REACH, REACH);
            }
        }
        let (source, label) = (table.source, label.to_string());
        Ok(Self { source, label, features, classes, labels, training, testing })
    }

    pub fn rows(&self, places: &[usize]) -> (Vec<Vec<f64>>, Vec<usize>) {
        let features = places.iter().map(|&row| self.features[row].clone()).collect();
        (features, places.iter().map(|&row| self.classes[row]).collect())
    }
}
