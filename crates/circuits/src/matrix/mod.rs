//! Products of matrices and vectors, either of them encrypted.
//!
//! | product | item | levels |
//! | --- | --- | --- |
//! | plain matrix, encrypted vector | [`MatrixVector`] | 1 |
//! | encrypted matrix, encrypted vector | [`Packing`], by rows and by columns | 2 and 1 |
//! | encrypted matrices | [`MatrixProduct`] | 3 |
//! | plain matrix, encrypted matrix | [`Matrix::times_left`], [`Matrix::times_right`] | 1 |
//! | transpose of an encrypted matrix | [`transpose`] | 1 |
//!
//! A matrix of `r` rows and `c` columns is packed into slots row by row (row `i`, column `j` in
//! slot `i c' + j`) or column by column (slot `j r' + i`), where `r'`, `c'` are the next powers of
//! two; the other slots are zero. The last three items use [`Diagonals`] for
//! [`LinearTransform`](crate::lintrans::LinearTransform). Each product lists its keys.

mod encrypted;
mod plain;
mod square;

use bellerophon_ckks::Result;
use bellerophon_ring::NttTable;
pub use encrypted::Packing;
pub use plain::{Matrix, MatrixVector};
pub use square::{MatrixProduct, transpose};

use crate::{diagonals::Diagonals, error};

/// `log2` of the slots of the largest ring.
const MAX_LOG_SLOTS: u32 = *NttTable::LOG_DEGREES.end() - 1;

/// The slots of `rows` rows and `columns` columns, each rounded up to a power of two.
pub(crate) fn area(rows: usize, columns: usize) -> Result<usize> {
    let counted = rows.checked_next_power_of_two().zip(columns.checked_next_power_of_two());
    let counted = counted.and_then(|(rows, columns)| rows.checked_mul(columns));
    counted.filter(|&slots| slots <= 1 << MAX_LOG_SLOTS).ok_or_else(|| {
        let reason = format!("{rows} by {columns}: at most 2^{MAX_LOG_SLOTS} slots in any ring");
        error::shape(reason)
    })
}

/// The matrix over `slots` slots with the given entries: row, column, value.
fn from_entries(
    slots: usize,
    entries: impl Iterator<Item = (usize, usize, bellerophon_ckks::Complex64)>,
) -> Diagonals {
    let mut diagonals = std::collections::BTreeMap::new();
    for (row, column, value) in entries {
        let diagonal = diagonals
            .entry((column + slots - row) % slots)
            .or_insert_with(|| vec![bellerophon_ckks::Complex64::ZERO; slots]);
        diagonal[row] += value;
    }
    let mut matrix = Diagonals::zero(slots);
    for (index, values) in diagonals {
        if values.iter().any(|z| z.norm_sqr() != 0.0) {
            matrix.add_diagonal(index, values);
        }
    }
    if matrix.is_empty() {
        // The zero matrix still has a diagonal, so that it can be applied.
        matrix.add_diagonal(0, vec![bellerophon_ckks::Complex64::ZERO]);
    }
    matrix
}
