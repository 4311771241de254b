//! Columns of numbers: from a CSV file, or from the iris table that the programs carry.

use std::io::Read;
use std::path::Path;

use super::args::Data;
use super::program::Failure;

/// Fisher's iris measurements; see `examples/data/README.md`.
const IRIS: &str = include_str!("../data/iris.csv");

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Where the table comes from.
    pub source: String,
    /// The column's name.
    pub name: String,
    /// Its values, one a row, all finite; never empty.
    pub values: Vec<f64>,
}

/// Reads the column that the flags ask for; without `--csv` a column of the iris table.
pub fn load(flags: &Data, default_column: &str) -> Result<Column, Failure> {
    let column = flags.column.as_deref();
    match &flags.csv {
        Some(path) => read_file(path, column.unwrap_or(default_column)),
        None => read_column(
            IRIS.as_bytes(),
            "iris (Fisher 1936, R datasets)",
            column.unwrap_or(default_column),
        ),
    }
}

fn read_file(path: &Path, column: &str) -> Result<Column, Failure> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|e| Failure::input(format!("{name}: {e}")))?;
    read_column(file, &name, column)
}

/// A table of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Where the table comes from.
    pub source: String,
    /// The names of the columns, each once.
    pub names: Vec<String>,
    /// Its rows, as long as there are names, all finite; never empty.
    pub rows: Vec<Vec<f64>>,
}

impl Table {
    /// The place of a column.
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

/// The iris table, all five columns.
pub fn iris() -> Result<Table, Failure> {
    read_table(IRIS.as_bytes(), "iris (Fisher 1936, R datasets)")
}

/// Reads a whole numeric table from a file.
pub fn load_table(path: &Path) -> Result<Table, Failure> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|e| Failure::input(format!("{name}: {e}")))?;
    read_table(file, &name)
}

/// Reads a whole table of numbers with a header line.
pub fn read_table(reader: impl Read, source: &str) -> Result<Table, Failure> {
    let fail = |why: String| Failure::input(format!("{source}: {why}"));
    let mut table = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader);
    let header = table.headers().map_err(|e| fail(describe(&e)))?.clone();
    let names: Vec<String> = header.iter().map(str::to_string).collect();
    if names.is_empty() {
        return Err(fail("the file is empty; its first line must name the columns".to_string()));
    }
    if let Some(name) =
        names.iter().enumerate().find_map(|(i, n)| names[..i].contains(n).then_some(n))
    {
        return Err(fail(format!("the column '{name}' appears more than once")));
    }
    let mut rows = Vec::new();
    for (index, record) in table.records().enumerate() {
        let row = index + 1;
        let record = record.map_err(|e| fail(format!("row {row}: {}", describe(&e))))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells = record.iter().zip(&names).map(|(cell, name)| {
            number(cell)
                .map_err(|why| fail(format!("row {row} (line {line}), column '{name}': {why}")))
        });
        rows.push(cells.collect::<Result<Vec<f64>, Failure>>()?);
    }
    if rows.is_empty() {
        return Err(fail("there are no rows below the header".to_string()));
    }
    Ok(Table { source: source.to_string(), names, rows })
}

/// The finite number in a cell.
fn number(cell: &str) -> Result<f64, String> {
    let why = match cell.parse::<f64>() {
        Ok(x) if x.is_finite() => return Ok(x),
        Ok(_) => "is not finite",
        Err(_) if cell.is_empty() => "is empty",
        Err(_) => "is not a number",
    };
    let shown: String = cell.chars().take(40).collect();
    Err(format!("'{shown}' {why}"))
}

/// Reads one column of a table with a header line. `source` names the table in errors; rows count
/// from 1 below the header.
pub fn read_column(reader: impl Read, source: &str, column: &str) -> Result<Column, Failure> {
    let fail = |why: String| Failure::input(format!("{source}: {why}"));
    let mut table = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader);
    let header = table.headers().map_err(|e| fail(describe(&e)))?.clone();
    if header.is_empty() {
        return Err(fail("the file is empty; its first line must name the columns".to_string()));
    }
    let places: Vec<usize> =
        header.iter().enumerate().filter(|(_, name)| *name == column).map(|(i, _)| i).collect();
    let place = match places[..] {
        [place] => place,
        [] => {
            let known: Vec<&str> = header.iter().collect();
            return Err(fail(format!(
                "there is no column '{column}'; the columns are: {}",
                known.join(", ")
            )));
        }
        _ => return Err(fail(format!("the column '{column}' appears {} times", places.len()))),
    };
    let mut values = Vec::new();
    for (index, record) in table.records().enumerate() {
        let row = index + 1;
        let record = record.map_err(|e| fail(format!("row {row}: {}", describe(&e))))?;
        let line = record.position().map_or(0, csv::Position::line);
        let value = number(&record[place]);
        values.push(
            value.map_err(|why| {
                fail(format!("row {row} (line {line}), column '{column}': {why}"))
            })?,
        );
    }
    if values.is_empty() {
        return Err(fail(format!("column '{column}' has no rows")));
    }
    Ok(Column { source: source.to_string(), name: column.to_string(), values })
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
