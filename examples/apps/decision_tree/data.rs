//! Rows, their classes, and their preparation by the client before encryption.

use std::path::Path;

use common::data::{Table, load_table};
use common::program::Failure;
use common::random;
use common::stats;

/// Standard deviations beyond which the client clips a feature: the domain of the tables, and the
/// declared range of features.
pub const REACH: f64 = 3.0;

/// The largest number of distinct labels.
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
        let (labels, classes) = classes(&table, place)?;
        let mut order = random::shuffled(table.rows.len(), &mut random::seeded(seed));
        let training = order.split_off(table.rows.len() / TESTED);
        let mut features = vec![vec![]; table.rows.len()];
        for column in (0..table.names.len()).filter(|&column| column != place) {
            let values: Vec<f64> = training.iter().map(|&row| table.rows[row][column]).collect();
            let known = stats::standardise(&values).ok_or_else(|| {
                let why = "the values, or their differences, are too large or too small";
                fail(format!("column '{}': {why}", table.names[column]))
            })?;
            for (features, row) in features.iter_mut().zip(&table.rows) {
                let value = (row[column] - known.mean) / known.deviation;
                features.push(value.clamp(-REACH, REACH));
            }
        }
        let (source, label) = (table.source, label.to_string());
        Ok(Self { source, label, features, classes, labels, training, testing: order })
    }

    /// The features and classes of some of the rows.
    pub fn rows(&self, places: &[usize]) -> (Vec<Vec<f64>>, Vec<usize>) {
        let features = places.iter().map(|&row| self.features[row].clone()).collect();
        (features, places.iter().map(|&row| self.classes[row]).collect())
    }
}

/// The distinct labels, and the index of every row's label among them.
fn classes(table: &Table, place: usize) -> Result<(Vec<f64>, Vec<usize>), Failure> {
    let name = &table.names[place];
    let fail = |why: String| Failure::input(format!("{}: {why}", table.source));
    let mut labels: Vec<f64> = vec![];
    for (i, row) in table.rows.iter().enumerate() {
        let label = row[place];
        if label.fract() != 0.0 {
            return Err(fail(format!(
                "row {}, column '{name}': the label is not an integer",
                i + 1
            )));
        }
        if !labels.contains(&label) {
            labels.push(label);
        }
        if labels.len() > MOST_LABELS {
            return Err(fail(format!("column '{name}' has more than {MOST_LABELS} labels")));
        }
    }
    if labels.len() < 2 {
        return Err(fail(format!("column '{name}' has only one label: need at least two")));
    }
    labels.sort_by(f64::total_cmp);
    let class = |row: &Vec<f64>| labels.partition_point(|&label| label < row[place]);
    let classes = table.rows.iter().map(class).collect();
    Ok((labels, classes))
}
