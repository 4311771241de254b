//! PEGASUS Fig. 5, step 1: the shape of a product and its diagonals.
//!
//! For `M` of `l` rows and `n` columns, both powers of two, the figure defines `min(l, n)`
//! vectors of `max(l, n)` entries
//!
//! ```text
//! m_j[r] = M[r mod l, (r + j) mod n],
//! ```
//!
//! with which `u = sum_j m_j . RotL^j(z)` is `M z` for `l >= n`; for `l < n` it is a matrix of
//! `n / l` columns, stored one after the other, whose sum is `M z`. The sum over `j = b G + g`,
//! `g < G`, is evaluated with the rotations by `g` (baby steps) of `z` and by `b G` (giant steps)
//! of the partial sums, whose diagonals are therefore shifted to the right by `b G`:
//!
//! ```text
//! (m_{bG+g} >> bG)[r] = M[(r - bG) mod l, (r + g) mod n].
//! ```
//!
//! Two extensions go beyond the figure. `l` and `n` need not be powers of two: slots without a row
//! and columns past the last are zero. If the result has fewer than `G` slots, its rows are
//! repeated in `G` slots, so that every sum over columns rotates by a multiple of `G`.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use super::layout::Layout;
use crate::error;

/// A matrix of real numbers, entry by entry.
pub trait Matrix: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Number of columns.
    fn columns(&self) -> usize;
    /// The entry at a row and a column within the shape.
    fn entry(&self, row: usize, column: usize) -> f64;
}

/// A matrix of `f64` in row-major order.
#[derive(Clone, Copy)]
pub struct RowMajor<'a> {
    columns: usize,
    entries: &'a [f64],
}

/// Shape only: the entries may be secret.
impl std::fmt::Debug for RowMajor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowMajor({} x {})", self.rows(), self.columns)
    }
}

impl<'a> RowMajor<'a> {
    /// Reads `entries` as rows of `columns` numbers.
    #[cfg(test)]
    pub(crate) fn new(columns: usize, entries: &'a [f64]) -> Result<Self> {
        if columns == 0 || entries.is_empty() || !entries.len().is_multiple_of(columns) {
            return Err(error::shape(
                "number of entries",
                entries.len(),
                format!("a positive multiple of the {columns} columns"),
            ));
        }
        Ok(Self { columns, entries })
    }
}

impl Matrix for RowMajor<'_> {
    fn rows(&self) -> usize {
        self.entries.len() / self.columns
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn entry(&self, row: usize, column: usize) -> f64 {
        self.entries[row * self.columns + column]
    }
}

/// The shape of one product: number and length of the diagonals, rotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    period: usize,
    rows: usize,
    columns: usize,
    baby: usize,
}

impl Tiling {
    /// The shape for a result of `slots` slots from an input of `columns` slots, given in `baby`
    /// rotations, all powers of two.
    pub(crate) fn new(slots: usize, columns: usize, baby: usize) -> Result<Self> {
        for (what, found) in [("number of slots", slots), ("number of columns", columns)] {
            if !found.is_power_of_two() {
                return Err(error::shape(what, found, "a power of two".into()));
            }
        }
        check_baby(columns, baby)?;
        // Fewer slots than baby steps: the rows repeat with the period of the slots.
        Ok(Self { period: slots, rows: slots.max(baby), columns, baby })
    }

    /// Slots of the input: `n` rounded up to a power of two.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Baby steps `G`.
    pub(crate) fn baby_steps(&self) -> usize {
        self.baby
    }

    /// Giant steps: the number of diagonals divided by `G`. They take one rotation by `G` fewer.
    pub(crate) fn giant_steps(&self) -> usize {
        self.diagonals() / self.baby
    }

    /// Number of diagonals, `min(max(l, G), n)`.
    pub(crate) fn diagonals(&self) -> usize {
        self.rows.min(self.columns)
    }

    /// Entries of a diagonal, `max(l, n)`.
    pub(crate) fn length(&self) -> usize {
        self.rows.max(self.columns)
    }

    /// The rotations of step 7, in order: `l 2^(j-1)` for `j = 1, 2, .. log2(n / l)`. (The figure
    /// prints `l 2^j`, which leaves out the rotation by `l` and wraps around at the end.)
    pub(crate) fn column_sums(&self) -> impl Iterator<Item = usize> + use<> {
        let columns = self.columns;
        std::iter::successors(Some(self.rows), |step| Some(2 * step))
            .take_while(move |&step| step < columns)
    }

    /// Number of key switches: between giant steps and in column sums.
    #[cfg(test)]
    pub(crate) fn rotations(&self) -> usize {
        self.giant_steps() - 1 + self.column_sums().count()
    }

    /// Writes diagonal `j = giant * G + baby`, shifted to the right by `giant * G`.
    ///
    /// # Panics
    /// If the layout or the buffer does not belong to this shape, or the steps exceed it.
    pub(crate) fn write_diagonal<M: Matrix + ?Sized>(
        &self,
        matrix: &M,
        layout: &Layout,
        giant: usize,
        baby: usize,
        out: &mut [f64],
    ) {
        assert_eq!(layout.slots(), self.period, "a layout of the tiling's slots");
        assert_eq!(out.len(), self.length(), "a buffer of the diagonal's length");
        assert!(giant < self.giant_steps() && baby < self.baby, "a step of the tiling");
        // Entry r is M[(r - bG) mod l, (r + g) mod n].
        let shift = self.length() - giant * self.baby;
        let (columns, slot_mask) = (matrix.columns(), self.period - 1);
        for (r, x) in out.iter_mut().enumerate() {
            let column = (r + baby) & (self.columns - 1);
            *x = match layout.row_at((r + shift) & slot_mask) {
                Some(row) if column < columns => matrix.entry(row, column),
                _ => 0.0,
            };
        }
    }
}

/// Refuses a number of baby steps that is not a power of two up to the number of columns.
pub(crate) fn check_baby(columns: usize, baby: usize) -> Result<()> {
    if !baby.is_power_of_two() || baby > columns {
        return Err(error::shape(
            "number of baby steps",
            baby,
            format!("a power of two up to the {columns} columns"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{ErrorKind, refusal};
    use rand::{RngExt, SeedableRng, seq::SliceRandom};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// Entries that tell row and column.
    struct Labels(usize, usize);

    impl Matrix for Labels {
        fn rows(&self) -> usize {
            self.0
        }
        fn columns(&self) -> usize {
            self.1
        }
        fn entry(&self, row: usize, column: usize) -> f64 {
            assert!(row < self.0 && column < self.1);
            (row * 1000 + column + 1) as f64
        }
    }

    fn rotate(v: &[f64], step: usize) -> Vec<f64> {
        (0..v.len()).map(|i| v[(i + step) % v.len()]).collect()
    }

    fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(x, y)| x + y).collect()
    }

    /// Fig. 5 on a vector of `slots` clear slots, of which `z` is the period, by Horner's rule.
    fn clear_model<M: Matrix>(
        tiling: &Tiling,
        layout: &Layout,
        matrix: &M,
        z: &[f64],
        slots: usize,
    ) -> Vec<f64> {
        let mut input = z.to_vec();
        input.resize(tiling.columns(), 0.0);
        let input: Vec<f64> = (0..slots).map(|i| input[i % tiling.columns()]).collect();
        let mut sum = vec![0.0; slots];
        let mut diagonal = vec![f64::NAN; tiling.length()];
        for giant in (0..tiling.giant_steps()).rev() {
            sum = rotate(&sum, tiling.baby_steps());
            for baby in 0..tiling.baby_steps() {
                tiling.write_diagonal(matrix, layout, giant, baby, &mut diagonal);
                let c = rotate(&input, baby);
                for (r, x) in sum.iter_mut().enumerate() {
                    *x += diagonal[r % diagonal.len()] * c[r];
                }
            }
        }
        tiling.column_sums().fold(sum, |sum, step| add(&rotate(&sum, step), &sum))
    }

    fn check(layout: &Layout, columns: usize, baby: usize, rng: &mut ChaCha20Rng) {
        let rows = layout.rows();
        let padded = columns.next_power_of_two();
        let entries: Vec<f64> =
            (0..rows * columns).map(|_| rng.random_range(-50..=50) as f64).collect();
        let z: Vec<f64> = (0..columns).map(|_| rng.random_range(-3..=3) as f64).collect();
        let matrix = RowMajor::new(columns, &entries).unwrap();
        let product: Vec<f64> = entries
            .chunks(columns)
            .map(|row| row.iter().zip(&z).map(|(m, z)| m * z).sum())
            .collect();
        let expected = layout.place(&product);
        let tiling = Tiling::new(layout.slots(), padded, baby).unwrap();
        let slots = 2 * padded.max(layout.slots());
        let result = clear_model(&tiling, layout, &matrix, &z, slots);
        for (i, x) in result.iter().enumerate() {
            assert_eq!(
                *x,
                expected[i % expected.len()],
                "{rows} x {columns}, G = {baby}, slot {i}"
            );
        }
    }

    #[test]
    fn every_shape_gives_the_product_in_every_slot() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for columns in [1usize, 2, 3, 4, 7, 8, 16] {
            let padded: usize = columns.next_power_of_two();
            for log in 0..=padded.trailing_zeros() {
                for rows in 1..=4 * columns + 1 {
                    let layout = Layout::in_order(rows).unwrap();
                    check(&layout, columns, 1 << log, &mut rng);
                    let slots = layout.slots() << rng.random_range(0..3);
                    let mut positions: Vec<usize> = (0..slots).collect();
                    positions.shuffle(&mut rng);
                    positions.truncate(rows);
                    let layout = Layout::new(slots, &positions).unwrap();
                    check(&layout, columns, 1 << log, &mut rng);
                }
            }
        }
    }

    /// The figure's own formula, index by index, where it is defined: powers of two, `l >= G`.
    #[test]
    fn diagonals_are_those_of_the_figure() {
        for (l, n) in [(2, 4), (4, 4), (16, 4), (8, 32), (32, 8), (1, 8)] {
            let (matrix, layout) = (Labels(l, n), Layout::in_order(l).unwrap());
            for baby in [1, 2, 4].into_iter().filter(|&g| g <= l.min(n)) {
                let tiling = Tiling::new(l, n, baby).unwrap();
                assert_eq!(tiling.diagonals(), l.min(n));
                assert_eq!(tiling.length(), l.max(n));
                assert_eq!(tiling.giant_steps(), l.min(n) / baby);
                let mut shifted = vec![0.0; tiling.length()];
                for j in 0..tiling.diagonals() {
                    let (b, g) = (j / baby, j % baby);
                    tiling.write_diagonal(&matrix, &layout, b, g, &mut shifted);
                    let m: Vec<f64> =
                        (0..l.max(n)).map(|r| matrix.entry(r % l, (r + j) % n)).collect();
                    // Shifted to the right by b G, so rotating to the left gives it back.
                    assert_eq!(rotate(&shifted, b * baby), m, "{l} x {n}, G = {baby}, j = {j}");
                }
            }
        }
    }

    #[test]
    fn columns_are_summed_from_the_rotation_by_l() {
        let steps = |slots, columns, baby| -> Vec<usize> {
            Tiling::new(slots, columns, baby).unwrap().column_sums().collect()
        };
        assert_eq!(steps(2, 16, 1), [2, 4, 8]);
        assert_eq!(steps(2, 16, 4), [4, 8]);
        assert_eq!(steps(8, 16, 4), [8]);
        assert!(steps(16, 16, 4).is_empty() && steps(64, 16, 4).is_empty());
        assert_eq!(Tiling::new(1, 1024, 32).unwrap().rotations(), 5);
        assert_eq!(Tiling::new(256, 1024, 32).unwrap().rotations(), 7 + 2);
        assert_eq!(Tiling::new(1 << 14, 1024, 32).unwrap().rotations(), 31);
    }

    #[test]
    fn refuses_shapes_that_are_none() {
        for (slots, columns, baby) in
            [(3, 4, 2), (0, 4, 2), (4, 6, 2), (4, 0, 1), (4, 4, 3), (4, 4, 8), (4, 4, 0)]
        {
            assert!(refusal(&Tiling::new(slots, columns, baby)).is(&ErrorKind::Shape, "is needed"));
        }
        assert!(RowMajor::new(3, &[0.0; 4]).is_err());
        assert!(RowMajor::new(3, &[]).is_err());
        assert!(RowMajor::new(0, &[]).is_err());
    }

    #[test]
    fn debug_output_hides_entries() {
        let matrix = RowMajor::new(2, &[98765.0; 4]).unwrap();
        assert!(!format!("{matrix:?}").contains("98765"));
    }
}
