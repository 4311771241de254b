//! Products of encrypted matrices with encrypted vectors.

use bellerophon_ckks::eval::mask::whole;
use bellerophon_ckks::eval::statements::{mixed, separate, separate_unless, within};
use bellerophon_ckks::{CkksOps, ComposedOps, KeyLevels, Result, SlotValue, refresh};

use super::area;
use crate::error;

/// The packing of an encrypted matrix and of its vectors into slots.
///
/// Products by rows take a plain vector and return a *spread* one, where each entry fills a block.
/// Products by columns take a spread vector and return a plain one. A chain of matrices alternates
/// between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    rows: usize,
    columns: usize,
}

impl Packing {
    /// The packing of matrices of this shape.
    pub fn new(rows: usize, columns: usize) -> Result<Self> {
        if rows == 0 || columns == 0 {
            let reason = format!("{rows} rows and {columns} columns: need at least one of each");
            return Err(error::shape(reason));
        }
        area(rows, columns)?;
        Ok(Self { rows, columns })
    }

    /// Rows and columns as powers of two.
    fn padded(&self) -> (usize, usize) {
        (self.rows.next_power_of_two(), self.columns.next_power_of_two())
    }

    pub(crate) fn slots(&self) -> usize {
        let (rows, columns) = self.padded();
        rows * columns
    }

    /// The entries row by row.
    pub fn by_rows<T: SlotValue + Default>(&self, matrix: &[Vec<T>]) -> Result<Vec<T>> {
        let stride = self.padded().1;
        self.pack(matrix, |i, j| i * stride + j)
    }

    /// The entries column by column.
    pub fn by_columns<T: SlotValue + Default>(&self, matrix: &[Vec<T>]) -> Result<Vec<T>> {
        let stride = self.padded().0;
        self.pack(matrix, |i, j| j * stride + i)
    }

    fn pack<T: SlotValue + Default>(
        &self,
        matrix: &[Vec<T>],
        slot: impl Fn(usize, usize) -> usize,
    ) -> Result<Vec<T>> {
        let fits = matrix.len() == self.rows && matrix.iter().all(|row| row.len() == self.columns);
        if !fits {
            let (rows, columns) = (self.rows, self.columns);
            let found = matrix.iter().map(Vec::len).max().unwrap_or(0);
            let reason =
                format!("{} rows of up to {found} entries: need {rows} of {columns}", matrix.len());
            return Err(error::shape(reason));
        }
        let mut slots = vec![T::default(); self.slots()];
        for (i, row) in matrix.iter().enumerate() {
            row.iter().enumerate().for_each(|(j, &x)| slots[slot(i, j)] = x);
        }
        Ok(slots)
    }

    /// A vector of `columns` entries, spread for a product by columns: entry `j` in every slot of
    /// block `j`.
    pub fn spread<T: SlotValue + Default>(&self, vector: &[T]) -> Result<Vec<T>> {
        if vector.len() != self.columns {
            return Err(error::shape(format!("{} entries: need {}", vector.len(), self.columns)));
        }
        let (rows, columns) = self.padded();
        let entry = |j: usize| vector.get(j).copied().unwrap_or_default();
        Ok((0..columns).flat_map(|j| std::iter::repeat_n(entry(j), rows)).collect())
    }

    /// The keys of [`times_by_rows`](Self::times_by_rows) for operands up to `level`.
    pub fn keys_by_rows(&self, level: usize) -> KeyLevels {
        let columns = self.padded().1;
        // The product takes a level and the mask another one: the copies start two levels down.
        KeyLevels::default()
            .multiply(level)
            .inner_sum(columns, 1, level.saturating_sub(1))
            .replicate(columns, 1, level.saturating_sub(2))
    }

    /// The keys of [`times_by_columns`](Self::times_by_columns) for operands up to `level`.
    pub fn keys_by_columns(&self, level: usize) -> KeyLevels {
        let (rows, columns) = self.padded();
        KeyLevels::default().multiply(level).inner_sum(
            columns,
            rows as i64,
            level.saturating_sub(1),
        )
    }

    /// `A v` for a matrix [row by row](Self::by_rows) and a vector in as many slots as a row: entry
    /// `i` of the product in every slot of block `i`, blocks of a row's slots. Takes two levels.
    pub fn times_by_rows<A: CkksOps>(
        &self,
        eval: &A,
        a: &A::Ciphertext,
        v: &A::Ciphertext,
    ) -> Result<A::Ciphertext> {
        let (rows, columns) = self.padded();
        eval.composed("multiply a vector by rows", || {
            let (matrix, vector) = (eval.metadata(a), eval.metadata(v));
            error::check_slots(&matrix.meta, self.slots())?;
            error::check_slots(&vector.meta, columns)?;
            refresh::check_levels(eval, 2, matrix.level.min(vector.level))?;
            // Step 1: the vector beside every row, then the products of all entries. Padding of the
            // matrix becomes zeros, which the sums need.
            let related = eval.origins(a).mixes_with(&eval.origins(v));
            let (a, v) = (whole(eval, a)?, self.beside(eval, v)?);
            // Step 2: the sum of each row, which is valid in the first slot of the row. The windows
            // of the other slots reach into the next row.
            let products = separate_unless(eval, eval.mul(&a, &v)?, related);
            let sums = eval.inner_sum(&products, columns, 1)?;
            // Step 3: only these first slots stay, and each is copied over its row. The others keep
            // the errors of the mask and of the rescale alone.
            let heads: Vec<usize> = (0..rows).map(|i| i * columns).collect();
            let heads = eval.mask_slots(&sums, &heads)?;
            let filled = mixed(eval, eval.replicate(&separate(eval, heads.clone()), columns, 1)?);
            // One slot of each block is nonzero.
            let range = eval.metadata(&heads).meta.bounds.slots();
            eval.with_len(within(eval, filled, range), self.rows * columns)
        })
    }

    /// `A v` for a matrix [column by column](Self::by_columns) and a [spread](Self::spread) vector:
    /// the product in slot order, repeated over the blocks. Takes one level.
    pub fn times_by_columns<A: CkksOps>(
        &self,
        eval: &A,
        a: &A::Ciphertext,
        v: &A::Ciphertext,
    ) -> Result<A::Ciphertext> {
        let (rows, columns) = self.padded();
        eval.composed("multiply a vector by columns", || {
            error::check_slots(&eval.metadata(a).meta, self.slots())?;
            error::check_slots(&eval.metadata(v).meta, self.slots())?;
            // The sum over the columns goes around all slots, so every slot of a column has its row
            // sum: no mask and no copies.
            let related = eval.origins(a).mixes_with(&eval.origins(v));
            let (a, v) = (whole(eval, a)?, self.beside(eval, v)?);
            let products = separate_unless(eval, eval.mul(&a, &v)?, related);
            let sums = mixed(eval, eval.inner_sum(&products, columns, rows as i64)?);
            eval.with_len(sums, self.rows)
        })
    }

    /// A vector repeated over all slots of the matrix; its padding is multiplied by zeros.
    fn beside<A: CkksOps>(&self, eval: &A, v: &A::Ciphertext) -> Result<A::Ciphertext> {
        eval.with_len(eval.repeated(v.clone(), self.slots())?, self.slots())
    }
}
