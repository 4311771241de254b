//! Columns of numbers: from a CSV file, or from the embedded iris table.

use std::path::Path;

use bellerophon::Params;
use rand::RngExt;

use super::args::Data;
use super::facts::Facts;
use super::program::Failure;
use super::{random, text};

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

    /// Adds the source and the name to a report.
    pub fn named(&self, facts: Facts) -> Facts {
        facts.with("source", &self.source).with("column", &self.name)
    }

    /// Refuses values outside a range, without repeating them.
    pub fn check_within(&self, [lo, hi]: [f64; 2]) -> Result<(), Failure> {
        let Self { source, name, values, .. } = self;
        let outside = values.iter().position(|v| !(lo..=hi).contains(v));
        let Some(row) = outside.map(|row| row + 1) else { return Ok(()) };
        Err(Failure::input(format!(
            "{source}: row {row}, column '{name}': the value lies outside [{lo:?}, {hi:?}]; give \
             another --range"
        )))
    }

    /// The values as integers of `0 .. p`. Errors name the row of other values, without repeating
    /// them.
    pub fn integers_below(&self, p: usize) -> Result<Vec<usize>, Failure> {
        let (whole, Self { source, name, values, .. }) = (0.0..p as f64, self);
        match values.iter().position(|v| v.fract() != 0.0 || !whole.contains(v)) {
            None => Ok(values.iter().map(|&v| v as usize).collect()),
            Some(row) => Err(Failure::input(format!(
                "{source}: row {}, column '{name}': need a whole number from 0 to {}",
                row + 1,
                p - 1
            ))),
        }
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
    Ok(Column { documented: documented(flags.csv.as_deref(), &name), ..table.column(0) })
}

/// The largest number of generated values.
const MOST_VALUES: usize = 1 << 24;

/// The column of the flags, or as many of its first values as `most`; if no column is read, `count`
/// values of the program's own.
pub fn load_or(
    flags: &Data,
    most: Option<usize>,
    count: usize,
    own: impl FnOnce(usize) -> Column,
) -> Result<Column, Failure> {
    if flags.csv.is_some() || flags.column.is_some() {
        let mut column = load(flags, "")?;
        column.values.truncate(most.unwrap_or(usize::MAX));
        return Ok(column);
    }
    if !(1..=MOST_VALUES).contains(&count) {
        return Err(Failure::input(format!("--count {count}: need 1 to {MOST_VALUES} values")));
    }
    Ok(own(count))
}

/// The documented range of a column of the iris table; none for a table of the user.
pub fn documented(path: Option<&Path>, name: &str) -> Option<[f64; 2]> {
    let ranges = if path.is_none() { &IRIS_RANGES[..] } else { &[] };
    ranges.iter().find(|(column, _)| *column == name).map(|(_, range)| *range)
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

    /// A column by its index.
    pub fn column(&self, place: usize) -> Column {
        let values = self.rows.iter().map(|row| row[place]).collect();
        let (source, name) = (self.source.clone(), self.names[place].clone());
        Column { source, name, values, documented: None }
    }

    /// The rows without a column, and the column.
    pub fn split(&self, place: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
        let others = |row: &Vec<f64>| [&row[..place], &row[place + 1..]].concat();
        (self.rows.iter().map(others).collect(), self.column(place).values)
    }

    /// The labels in a column, 0 or 1, and both of them.
    pub fn labels(&self, place: usize) -> Result<Vec<bool>, Failure> {
        let Column { source, name, values, .. } = self.column(place);
        if let Some(row) = values.iter().position(|&label| label != 0.0 && label != 1.0) {
            return Err(Failure::input(format!(
                "{source}: row {}, column '{name}': the value is not a label: need 0 or 1 (--label \
                 NAME)",
                row + 1
            )));
        }
        if values.iter().all(|&label| label == values[0]) {
            return Err(Failure::input(format!(
                "{source}: column '{name}' has only one label: need rows of both, 0 and 1"
            )));
        }
        Ok(values.iter().map(|&label| label == 1.0).collect())
    }
}

/// The distinct labels in ascending order, and the index of every row's label among them.
pub fn classes(labels: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let mut known = labels.to_vec();
    known.sort_by(f64::total_cmp);
    known.dedup();
    let class = |&label: &f64| known.partition_point(|&other| other < label);
    let classes = labels.iter().map(class).collect();
    (known, classes)
}

/// Reads columns of a file, or of the iris table; see [`read_table`].
pub fn load_table(path: Option<&Path>, columns: &[String]) -> Result<Table, Failure> {
    match path {
        None => read_table(IRIS, "iris (Fisher 1936, R datasets)", columns),
        Some(path) => read_table(&text::read(path)?, &path.display().to_string(), columns),
    }
}

/// Reads columns of a table with a header line, in the requested order, or all columns if none is
/// requested. Other columns may hold anything, and blank lines at the end do not count. `source`
/// names the table in errors; rows count from 1 below the header.
///
/// A first line of numbers is refused, since it may be data, unless all columns are requested by
/// such names.
pub fn read_table(text: &str, source: &str, columns: &[String]) -> Result<Table, Failure> {
    let fail = |why: String| Failure::input(format!("{source}: {why}"));
    let text = text.trim_end();
    if let Some(separators) = text.trim_start().lines().next().and_then(separators) {
        return Err(fail(format!(
            "the cells are separated by {separators}; save the file with commas between cells \
             and points in numbers"
        )));
    }
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| fail(describe(&e)))?;
    let header: Vec<String> = header.iter().map(str::to_string).collect();
    if header.is_empty() {
        return Err(fail("the file is empty; its first line must name the columns".to_string()));
    }
    let requested = !columns.is_empty() && columns.iter().all(|name| header.contains(name));
    if nameless(&header) && !requested {
        return Err(fail(
            "the first line holds numbers, and must name the columns; put a line of names above \
             it (columns that have numbers as names can only be chosen by --column)"
                .to_string(),
        ));
    }
    let names = if columns.is_empty() { header.clone() } else { columns.to_vec() };
    if let Some(name) = names.iter().find(|&name| header.iter().filter(|n| *n == name).count() > 1)
    {
        return Err(fail(format!("the column '{name}' appears more than once")));
    }
    let all = Table { source: source.to_string(), names: header, rows: vec![] };
    let places = names.iter().map(|name| all.place(name)).collect::<Result<Vec<_>, _>>()?;
    let record = |(index, record): (usize, csv::Result<csv::StringRecord>)| {
        record.map_err(|e| fail(format!("row {}: {}", index + 1, describe(&e))))
    };
    let records = reader.records().enumerate().map(record).collect::<Result<Vec<_>, _>>()?;
    let filled = records.iter().rposition(|record| record.iter().any(|cell| !cell.is_empty()));
    let Some(last) = filled else {
        return Err(fail("there are no rows below the header".to_string()));
    };
    let mut rows = Vec::with_capacity(last + 1);
    for (index, record) in records[..=last].iter().enumerate() {
        let (row, line) = (index + 1, record.position().map_or(0, csv::Position::line));
        let cells = places.iter().zip(&names).map(|(&place, name)| {
            number(&record[place])
                .map_err(|why| fail(format!("row {row} (line {line}), column '{name}': {why}")))
        });
        rows.push(cells.collect::<Result<Vec<f64>, Failure>>()?);
    }
    Ok(Table { names, rows, ..all })
}

/// What separates the cells of a header instead of commas. Separators in quotes do not count.
fn separators(line: &str) -> Option<&'static str> {
    let count = |c: char| line.split('"').step_by(2).map(|part| part.matches(c).count()).sum();
    let commas: usize = count(',');
    [(';', "semicolons"), ('\t', "tabs")]
        .into_iter()
        .find(|&(separator, _)| count(separator) > commas)
        .map(|(_, name)| name)
}

/// Whether a header has numbers, or numbers and empty cells, in place of names.
fn nameless(header: &[String]) -> bool {
    let number = |cell: &String| cell.parse::<f64>().is_ok();
    header.iter().any(number) && header.iter().all(|cell| cell.is_empty() || number(cell))
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
        _ => error.to_string(),
    }
}
