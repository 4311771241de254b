//! Statistics of the columns of an encrypted table (Full-RNS HEAAN, section 5.2).
//!
//! # Layout
//! Row by row: with `C` the columns rounded up to a power of two, slot `i C + c` holds column `c`
//! of row `i`; the rest is zero. One column is the vector itself. A sum over the rows is a sum over
//! all slots at distance `C`, which goes around, so every slot of the result holds the sum of its
//! column.
//!
//! # Padding
//! The number of rows is public. A table whose rows are no power of two is followed by padding; what
//! is done to it is exact whatever a computation left there, since the product that divides by the
//! number of rows multiplies the padding by zero.
//!
//! # Levels
//! | result | levels |
//! | --- | --- |
//! | [`sums`](Table::sums) | 1 with padding, else none |
//! | [`means`](Table::means) | 1 |
//! | [`variances`](Table::variances), [`covariances`](Table::covariances) | 2 |
//!
//! Second moments are taken about the mean, not as the difference of the mean square and the
//! square of the mean, which would lose bits where the mean is large.

mod moments;
mod table;

pub use table::Table;
