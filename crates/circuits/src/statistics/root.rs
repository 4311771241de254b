//! Standard deviations, standardised columns and correlations.

use bellerophon_ckks::{CkksOps, Interval, Result, eval::statements::within};

use super::DataTable;
use crate::{approx::Approximation, circuit_ops::CircuitOps};

/// These functions take an [`Approximation`] of
/// [`Known::InverseSqrt`](crate::approx::Known::InverseSqrt) over a range that contains all
/// variances, as the caller states. Its error counts relative to the largest inverse root.
impl DataTable {
    /// Levels of [`standardised`](Self::standardised).
    pub fn standardised_levels(root: &Approximation) -> usize {
        2 + root.levels() + 1
    }

    /// Levels of [`correlations`](Self::correlations).
    pub fn correlation_levels(root: &Approximation) -> usize {
        2 + root.levels() + 2
    }

    /// The standard deviations from the [`variances`](Self::variances), `v / sqrt(v)`, in every
    /// slot of the column. The caller states that all variances are in the range of the root. Takes
    /// the levels of the root and one more.
    pub fn standard_deviations<A: CkksOps>(
        &self,
        eval: &A,
        variances: &A::Ciphertext,
        root: &Approximation,
    ) -> Result<A::Ciphertext> {
        eval.composed("standard deviations of columns", || {
            self.check(&eval.metadata(variances))?;
            let deviations = eval.mul(variances, &self.inverse(eval, variances, root)?)?;
            // `sqrt(v) +- error v`; the lower bound is concave in `v`, and 0 in columns of padding.
            let (largest, off) = (root.domain().hi().sqrt(), root.domain().hi() * root.error());
            let range = Interval::real((largest - off).min(0.0), largest + off)?;
            Ok(within(eval, deviations, range))
        })
    }

    /// The columns shifted and scaled to mean 0 and standard deviation 1; padding is zero. The
    /// caller states that all variances lie in the range of the root. Takes
    /// [`standardised_levels`](Self::standardised_levels).
    pub fn standardised<A: CkksOps>(
        &self,
        eval: &A,
        x: &A::Ciphertext,
        root: &Approximation,
    ) -> Result<A::Ciphertext> {
        eval.composed("standardise columns", || {
            // Deviation times inverse root: the division by the standard deviation without a
            // division.
            let inverse = self.inverse(eval, &self.variances(eval, x)?, root)?;
            eval.mul(&self.centred(eval, x)?, &inverse)
        })
    }

    /// The correlations of the columns among each other, laid out as by
    /// [`covariance_matrix`](Self::covariance_matrix); entry 0 is 1 up to the error. The caller
    /// states that all variances lie in the range of the root. Takes
    /// [`correlation_levels`](Self::correlation_levels).
    pub fn correlations<A: CkksOps>(
        &self,
        eval: &A,
        x: &A::Ciphertext,
        root: &Approximation,
    ) -> Result<Vec<A::Ciphertext>> {
        eval.composed("correlations of columns", || {
            // Columns with a partner have correlations up to 1; the others meet the next row. An
            // inverse root is too large by a factor of at most `1 + error sqrt(v)`.
            let off = (1.0 + root.error() * root.domain().hi().sqrt()).powi(2);
            let mixed = 1.0 + self.uncancelled(&eval.metadata(x)) / root.domain().lo();
            // Step 1: all covariances, the variances among them, and their inverse roots.
            let covariances = self.covariance_matrix(eval, x)?;
            let inverse = self.inverse(eval, &covariances[0], root)?;
            let steps: Vec<i64> = (0..self.columns as i64).collect();
            let others = eval.rotate_many(&inverse, &steps)?;
            // Step 2: each covariance times the inverse roots of its two columns.
            let terms = covariances.iter().zip(&others);
            let most = std::iter::once(1.0).chain(std::iter::repeat(mixed));
            terms
                .zip(most)
                .map(|((covariance, other), most)| {
                    let half = eval.mul(covariance, &inverse)?;
                    let range = Interval::real(-most * off, most * off)?;
                    Ok(within(eval, eval.mul(&half, other)?, range))
                })
                .collect()
        })
    }

    /// The inverse roots of variances; columns of padding are moved into the domain first.
    fn inverse<A: CkksOps>(
        &self,
        eval: &A,
        v: &A::Ciphertext,
        root: &Approximation,
    ) -> Result<A::Ciphertext> {
        let range = Interval::real(root.domain().lo(), root.domain().hi())?;
        // Slots that belong to no column hold 0, outside the domain of the root: move them to its
        // middle.
        let inside = 0.5 * (range.lo() + range.hi());
        let moved: Vec<f64> = (0..eval.metadata(v).meta.len)
            .map(|slot| if slot % self.stride() < self.columns { 0.0 } else { inside })
            .collect();
        let moved = match self.columns == self.stride() {
            true => v.clone(),
            false => eval.add_values(v, &moved)?,
        };
        eval.apply(&eval.assume_range_with_padding(moved, range), root)
    }
}
