//! Statistics of the columns of an encrypted table (Full-RNS HEAAN, section 5.2).
//!
//! # Layout
//! Row by row: with `C` columns, rounded up to a power of two, slot `i C + c` holds column `c` of
//! row `i`; the rest is zero. One column is the vector itself. A sum over the rows is a sum over
//! all slots at distance `C`, which wraps around: every slot of the result holds the sum of its
//! column.
//!
//! The number of rows is public. Padding follows a table whose number of rows is not a power of
//! two. Its content does not affect the results: the product that divides by the number of rows
//! multiplies it by zero.
//!
//! # Levels
//! | result | levels |
//! | --- | --- |
//! | [`sums`](DataTable::sums) | 1 with padding, else none |
//! | [`means`](DataTable::means) | 1 |
//! | [`variances`](DataTable::variances), [`covariances`](DataTable::covariances) | 2 |
//! | [`standard_deviations`](DataTable::standard_deviations) of variances | 1, and those of an inverse root |
//! | [`standardised`](DataTable::standardised) | [`DataTable::standardised_levels`] |
//! | [`correlations`](DataTable::correlations) | [`DataTable::correlation_levels`] |
//!
//! Second moments are computed about the mean: the difference of the mean square and the square of
//! the mean would lose bits for a large mean. A variance is as small as the square of its values,
//! and the noise of a vector is not: map the declared range of a column onto [-1, 1] before
//! encryption, `(x - centre) / half`, and return after decryption. `half` is the unit of means and
//! standard deviations, its square that of variances.

mod moments;
mod root;
mod table;

pub use table::DataTable;
