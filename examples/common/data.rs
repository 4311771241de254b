//! Columns of numbers: from a CSV file, or from the embedded iris table.

use std::io::Read;
use std::path::Path;

use bellerophon::Params;
use rand::RngExt;

use super::args::Data;
use super::program::Failure;
use super::random;

/// Fisher's iris measurements; see `examples/data/README.md`.
const IRIS: &str = include_str!("../data/iris.csv");

/// The declared ranges of the columns of the iris table: of the measured quantities, in cm, and of
/// the species. They are public, and documented in `examples/data/README.md`.
const IRIS_RANGES: [(&str, [f64; 2]); 5] = [
    ("sepal_length", [0.0, 8.0]),
    ("sepal_width", [0.0, 8.0]),
    ("petal_length", [0.0, 8.0]),
    ("petal_width", [0.0, 8.0]),
    ("species", [0.0, 2.0]),
];

/// One column of a table.
#[derive(Clone, PartialEq)]
pub struct Column {
    /// Where the table comes from.
    pub source: String,
    /// The column's name.
    pub name: String,
    /// Its values, one per row, all finite; never empty.
    pub values: Vec<f64>,
    /// The documented range of the column; none for the user's own table.
    pub documented: Option<[f64; 2]>,
}

/// Does not show the values, which are the user's data.
impl std::fmt::Debug for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Column '{}' of {}: {} values", self.name, self.source, self.values.len())
    }
}

impl Column {
    /// The declared range of the column: the requested one, or else the documented one. It is
    /// public and does not depend on the values, all of which must lie in it.
    pub fn declared(&self, asked: Option<[f64; 2]>) -> Result<[f64; 2], Failure> {
        let range = asked.or(self.documented).ok_or_else(|| {
            Failure::input(format!(
                "{}: no range is known for column '{}'; give --range LO,HI, which becomes public \
                 and must not depend on the values",
                self.source, self.name
            ))
        })?;
        self.check_within(range)?;
        Ok(range)
    }

    /// Refuses values outside a range, without repeating them.
    pub fn check_within(&self, [lo, hi]: [f64; 2]) -> Result<(), Failure> {
        let Some(row) = self.values.iter().position(|v| !(lo..=hi).contains(v)) else {
            return Ok(());
        };
        Err(Failure::input(format!(
            "{}: row {}, column '{}': the value lies outside [{lo:?}, {hi:?}]; give another \
             --range",
            self.source,
            row + 1,
            self.name
        )))
    }

    /// The values as integers of `0 .. p`. Errors name the row of other values, without repeating
    /// them.
    pub fn integers_below(&self, p: usize) -> Result<Vec<usize>, Failure> {
        let integer = |(row, &v): (usize, &f64)| {
            let whole = v.fract() == 0.0 && v >= 0.0 && v < p as f64;
            whole.then_some(v as usize).ok_or_else(|| {
                Failure::input(format!(
                    "{}: row {}, column '{}': need a whole number from 0 to {}",
                    self.source,
                    row + 1,
                    self.name,
                    p - 1
                ))
            })
        };
        self.values.iter().enumerate().map(integer).collect()
    }

    /// Refuses more values than one ciphertext holds.
    pub fn check_fits(&self, params: &Params) -> Result<(), Failure> {
        let (count, most) = (self.values.len(), params.slots());
        if count <= most {
            return Ok(());
        }
        Err(Failure::input(format!(
            "{}: {count} values, but one ciphertext of the preset {} holds {most}",
            self.source,
            params.name()
        )))
    }
}

/// Values uniform in a range, which is also their documented range.
pub fn generated([lo, hi]: [f64; 2], count: usize, seed: u64) -> Column {
    let mut rng = random::seeded(seed);
    let values = (0..count).map(|_| rng.random_range(lo..=hi)).collect();
    let (source, name) = ("generated from a fixed seed".to_string(), "v".to_string());
    Column { source, name, values, documented: Some([lo, hi]) }
}

/// Reads the column of the flags; without `--csv` a column of the iris table.
pub fn load(flags: &Data, default_column: &str) -> Result<Column, Failure> {
    let name = flags.column.as_deref().unwrap_or(default_column).to_string();
    let table = load_table(flags.csv.as_deref(), std::slice::from_ref(&name))?;
    let ranges = if flags.csv.is_none() { &IRIS_RANGES[..] } else { &[] };
    let documented = ranges.iter().find(|(column, _)| *column == name).map(|(_, range)| *range);
    Ok(Column { source: table.source, name, values: table.rows.concat(), documented })
}

/// A table of numbers.
#[derive(Clone, PartialEq)]
pub struct Table {
    /// Where the table comes from.
    pub source: String,
    /// The names of the columns.
    pub names: Vec<String>,
    /// Its rows, one value per name, all finite; never empty.
    pub rows: Vec<Vec<f64>>,
}

/// Does not show the values, which are the user's data.
impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table {} ({}): {} rows", self.source, self.names.join(", "), self.rows.len())
    }
}

impl Table {
    /// The index of a column.
    pub fn place(&self, column: &str) -> Result<usize, Failure> {
        self.names.iter().position(|name| name == column).ok_or_else(|| {
            let known = self.names.join(", ");
            let source = &self.source;
            Failure::input(format!(
                "{source}: there is no column '{column}'; the columns are: {known}"
            ))
        })
    }
}

/// Reads columns of a file, or of the iris table; see [`read_table`].
pub fn load_table(path: Option<&Path>, columns: &[String]) -> Result<Table, Failure> {
    let Some(path) = path else {
        return read_table(IRIS.as_bytes(), "iris (Fisher 1936, R datasets)", columns);
    };
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|e| Failure::input(format!("{name}: {e}")))?;
    read_table(file, &name, columns)
}

/// Reads columns of a table with a header line, in the requested order, or all columns if none is
/// requested. Other columns may hold anything. `source` names the table in errors; rows count from
/// 1 below the header.
pub fn read_table(reader: impl Read, source: &str, columns: &[String]) -> Result<Table, Failure> {
    let fail = |why: String| Failure::input(format!("{source}: {why}"));
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader);
    let header = reader.headers().map_err(|e| fail(describe(&e)))?;
    let header: Vec<String> = header.iter().map(str::to_string).collect();
    if header.is_empty() {
        return Err(fail("the file is empty; its first line must name the columns".to_string()));
    }
    let names = if columns.is_empty() { header.clone() } else { columns.to_vec() };
    if let Some(name) = names.iter().find(|&name| header.iter().filter(|n| *n == name).count() > 1)
    {
        return Err(fail(format!("the column '{name}' appears more than once")));
    }
    let all = Table { source: source.to_string(), names: header, rows: vec![] };
    let places = names.iter().map(|name| all.place(name)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let row = index + 1;
        let record = record.map_err(|e| fail(format!("row {row}: {}", describe(&e))))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells = places.iter().zip(&names).map(|(&place, name)| {
            number(&record[place])
                .map_err(|why| fail(format!("row {row} (line {line}), column '{name}': {why}")))
        });
        rows.push(cells.collect::<Result<Vec<f64>, Failure>>()?);
    }
    if rows.is_empty() {
        return Err(fail("there are no rows below the header".to_string()));
    }
    Ok(Table { names, rows, ..all })
}

/// The finite number in a cell, or the reason why there is none, without repeating the cell.
fn number(cell: &str) -> Result<f64, &'static str> {
    match cell.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        Ok(_) => Err("the cell is not finite"),
        Err(_) if cell.is_empty() => Err("the cell is empty"),
        Err(_) => Err("the cell is not a number"),
    }
}

fn describe(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("found {len} cells where the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { err, .. } => format!("not UTF-8: {err}"),
        _ => error.to_string(),
    }
}
