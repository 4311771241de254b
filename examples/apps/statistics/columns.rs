//! The columns of a table, in the units in which the client encrypts them.

use common::data::{self, Table};
use common::program::Failure;
use common::unit::{self, Unit};

/// The largest number of columns shown and of columns with covariances.
const MOST_COLUMNS: usize = 64;
/// Units of columns: their squares stay within `f64`.
const UNITS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;
/// The largest distance of a column from zero.
const FARTHEST: f64 = 1e100;

/// The range from which the unit of a column follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `--range`, the same for all columns.
    Declared,
    /// The ranges that are published with the iris table.
    Documented,
    /// The least and the largest value of each column. The client owns the values as well as the
    /// results, and keeps these ranges as it keeps the values: what it publishes is [-1, 1].
    Own,
}

impl Origin {
    /// What reports say of the ranges.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared by --range",
            Self::Documented => "documented with the table",
            Self::Own => "the least and the largest value, which stay with the client",
        }
    }
}

/// A table whose columns are scaled to [-1, 1].
pub struct Columns {
    pub source: String,
    pub names: Vec<String>,
    pub rows: Vec<Vec<f64>>,
    pub origin: Origin,
    /// The range of each column, which its unit maps onto [-1, 1].
    pub ranges: Vec<[f64; 2]>,
    pub scaled: Vec<Vec<f64>>,
}

impl Columns {
    /// Checks a table and scales its columns, by a declared range or by the ranges of its origin.
    pub fn of(table: Table, origin: Origin, declared: Option<[f64; 2]>) -> Result<Self, Failure> {
        let fail = |why: String| Failure::input(format!("{}: {why}", table.source));
        if table.names.len() > MOST_COLUMNS {
            let found = table.names.len();
            return Err(fail(format!(
                "{found} columns, at most {MOST_COLUMNS} at a time; choose some by --column"
            )));
        }
        if table.rows.len() < 2 {
            return Err(fail("at least two rows are needed".to_string()));
        }
        let mut ranges = vec![];
        for (c, name) in table.names.iter().enumerate() {
            let column = table.column(c);
            let own @ [lo, hi] = unit::ends(column.values.iter().copied());
            if lo == hi {
                return Err(fail(format!(
                    "column '{name}' has one value only, and so no standard deviation to divide \
                     by; choose the other columns by --column"
                )));
            }
            let documented = data::documented(None, name).filter(|_| origin == Origin::Documented);
            let range = declared.or(documented).unwrap_or(own);
            column.check_within(range)?;
            let unit = Unit::of(range);
            if !UNITS.contains(&unit.half) || unit.centre.abs() > FARTHEST {
                return Err(fail(format!(
                    "column '{name}': half the width of its range must lie between {:e} and {:e}, \
                     and its middle within {FARTHEST:e} of zero",
                    UNITS.start(),
                    UNITS.end()
                )));
            }
            ranges.push(range);
        }
        let scale =
            |row: &Vec<f64>| row.iter().zip(&ranges).map(|(&x, &r)| Unit::of(r).enter(x)).collect();
        let scaled = table.rows.iter().map(scale).collect();
        let Table { source, names, rows } = table;
        Ok(Self { source, names, rows, origin, ranges, scaled })
    }

    pub fn unit(&self, column: usize) -> Unit {
        Unit::of(self.ranges[column])
    }
}
