//! The rows of a key in the two forms that an inner product accepts.

#[cfg(doc)]
use crate::gadget::KeyDecomposition;
use crate::packed_poly::PackedPoly;

/// The key rows that digits are multiplied with, each over
/// [`HybridGadget::ring`](crate::HybridGadget::ring)`(limbs)`: the primes `q_0 .. q_{limbs - 1}`,
/// then the special primes.
#[derive(Debug, Clone)]
pub struct KeyRows<'a> {
    /// By column of the result, then digit, then component: row `j` of component `i` of `n` is at
    /// `j n + i`. Rows of digits that the operand does not have are not read.
    pub columns: Vec<Vec<&'a PackedPoly>>,
    /// The number of primes of the chain in the rows.
    pub limbs: usize,
}

/// Key rows cut into digits, as [`KeyDecomposition::rows`] makes them: each digit in NTT form
/// modulo the auxiliary primes.
#[derive(Debug, Clone, PartialEq)]
pub struct DecomposedRows {
    /// By digit of the key, then column. The rows are those of [`KeyRows`].
    pub(super) columns: Vec<Vec<PackedPoly>>,
    /// The number of columns of the result.
    pub(super) count: usize,
}

impl DecomposedRows {
    /// The rows of the first digits of the key, as columns over the auxiliary primes.
    pub(super) fn key_rows(&self, digits: usize, primes: usize) -> KeyRows<'_> {
        let columns = self.columns[..digits * self.count].iter();
        KeyRows { columns: columns.map(|rows| rows.iter().collect()).collect(), limbs: primes }
    }

    /// Size in bytes in memory.
    pub fn memory_len(&self) -> usize {
        self.columns.iter().flatten().map(PackedPoly::byte_len).sum()
    }
}
