//! The shape of a table in slots.

use std::ops::Range;

use crate::{error, matrix::area};
use bellerophon_ckks::{KeyLevels, Metadata, Result};

/// A table of encrypted rows and columns, row by row in the slots of one ciphertext; see the
/// [module](super) for the layout.
///
/// ```
/// use bellerophon_circuits::statistics::DataTable;
/// # use bellerophon_ckks::{Interval, LevelGroup, ModulusChain, Params, ParamsSpec, Security};
/// # use bellerophon_ckks::simulator::Simulator;
///
/// # fn main() -> bellerophon_ckks::Result<()> {
/// # let levels = vec![LevelGroup::single(40, 2)];
/// # let chain = ModulusChain { degree: 1 << 9, first_bits: 50, levels, special: (50, 2) };
/// # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
/// # let simulator = Simulator::new(&params);
/// // Three rows of two columns; variances of a sample divide by two.
/// let table = DataTable::new(3, 2)?.sample()?;
/// let packed = table.pack(&[vec![1.0, 5.0], vec![2.0, 5.5], vec![6.0, 6.0]])?;
/// let range = Interval::real(0.0, 8.0)?; // declared: it is public
/// let x = simulator.encrypt(&packed, range, 2)?;
/// let found = table.variances(&simulator, &x)?.reals();
/// assert!((found[0] - 7.0).abs() < 1e-4 && (found[1] - 0.25).abs() < 1e-4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataTable {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Subtracted from the rows where second moments divide by them: 0 or 1.
    lost: usize,
}

impl DataTable {
    /// A table that is a whole population: second moments divide by the number of rows.
    pub fn new(rows: usize, columns: usize) -> Result<Self> {
        if rows == 0 || columns == 0 {
            let reason = format!("{rows} rows and {columns} columns: need at least one of each");
            return Err(error::shape(reason));
        }
        area(rows, columns)?;
        Ok(Self { rows, columns, lost: 0 })
    }

    /// The table as a sample of a population: second moments divide by one less than the rows.
    pub fn sample(mut self) -> Result<Self> {
        if self.rows == 1 {
            return Err(error::shape("1 row: the variance of a sample needs two".to_string()));
        }
        self.lost = 1;
        Ok(self)
    }

    /// What second moments divide by.
    pub(crate) fn divisor(&self) -> f64 {
        (self.rows - self.lost) as f64
    }

    /// Slots from one row to the next.
    pub(crate) fn stride(&self) -> usize {
        self.columns.next_power_of_two()
    }

    /// Slots that the table takes: a power of two.
    pub fn slots(&self) -> usize {
        self.rows.next_power_of_two() * self.stride()
    }

    pub(super) fn padding(&self) -> usize {
        self.rows.next_power_of_two() - self.rows
    }

    /// The keys for all statistics of tables encrypted at `level`.
    pub fn keys(&self, level: usize) -> KeyLevels {
        let shifts = (1..self.columns).map(|shift| shift as i64);
        KeyLevels::default()
            .multiply(level.saturating_sub(1))
            .inner_sum(self.rows.next_power_of_two(), self.stride() as i64, level)
            .rotate(shifts, level.saturating_sub(1))
    }

    /// The values in the order of the slots, with values of the table in the padding: every slot
    /// lies in the range of the values.
    pub fn pack(&self, rows: &[Vec<f64>]) -> Result<Vec<f64>> {
        if rows.len() != self.rows {
            return Err(error::shape(format!("{} rows: need {}", rows.len(), self.rows)));
        }
        if let Some(i) = rows.iter().position(|row| row.len() != self.columns) {
            let (found, needed) = (rows[i].len(), self.columns);
            let reason = format!(
                "the row at position {i} of {} has {found} columns: need {needed}",
                rows.len()
            );
            return Err(error::shape(reason));
        }
        let slots = (0..self.slots()).map(|slot| {
            let (row, column) = (slot / self.stride(), slot % self.stride());
            rows[row.min(self.rows - 1)][column.min(self.columns - 1)]
        });
        Ok(slots.collect())
    }

    /// The rows of a decrypted table.
    pub fn unpack(&self, slots: &[f64]) -> Result<Vec<Vec<f64>>> {
        if slots.len() != self.slots() {
            return Err(error::shape(format!("{} values: need {}", slots.len(), self.slots())));
        }
        let row = |i: usize| slots[i * self.stride()..][..self.columns].to_vec();
        Ok((0..self.rows).map(row).collect())
    }

    /// The slots of the values of one row.
    pub(super) fn row(&self, i: usize) -> Range<usize> {
        i * self.stride()..i * self.stride() + self.columns
    }

    /// A vector with `value` where the table has values, and zeros in the padding.
    pub(super) fn filled(&self, value: f64) -> Vec<f64> {
        let mut slots = vec![0.0; self.slots()];
        (0..self.rows).for_each(|i| slots[self.row(i)].fill(value));
        slots
    }

    /// Refuses operands that are no such table, or whose slots may be complex.
    pub(super) fn check(&self, x: &Metadata) -> Result<()> {
        error::check_slots(&x.meta, self.slots())?;
        let end = self.row(self.rows - 1).end;
        if x.meta.len < end {
            return Err(error::length_mismatch(x.meta.len, end));
        }
        if !x.meta.bounds.slots().is_real() {
            let reason = "the slots may be complex: take the real parts first".to_string();
            return Err(error::shape(reason));
        }
        Ok(())
    }
}
