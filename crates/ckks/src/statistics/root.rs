//! What is divided by standard deviations.

use super::Table;
use crate::{Ciphertext, Error, Evaluator, Interval, Result, approx::Approximation};

/// Everything here takes an [`Approximation`] of
/// [`Function::inverse_sqrt`](crate::approx::Function::inverse_sqrt) over a range in which the caller
/// states all variances to lie. Its error enters relative to the largest inverse root.
impl Table {
    /// Levels that [`standardised`](Self::standardised) takes.
    pub fn standardised_levels(root: &Approximation) -> usize {
        2 + root.levels() + 1
    }

    /// Levels that [`correlations`](Self::correlations) takes.
    pub fn correlation_levels(root: &Approximation) -> usize {
        2 + root.levels() + 2
    }

    /// The standard deviations from the [`variances`](Self::variances), all of which the caller
    /// states to lie in the range of the root: `v / sqrt(v)`, in every slot of the column. Takes
    /// the levels of the root and one more.
    ///
    /// # Errors
    /// As for [`variances`](Self::variances).
    pub fn standard_deviations(
        &self,
        eval: &Evaluator,
        variances: &Ciphertext,
        root: &Approximation,
    ) -> Result<Ciphertext> {
        let op = "standard deviations of columns";
        self.check(op, variances)?;
        let deviations = || eval.mul(variances, &self.inverse(eval, variances, root)?);
        let most = root.hi().sqrt() + root.hi() * root.error();
        Ok(deviations().map_err(|error| error.named(op))?.assume_range(Interval::real(0.0, most)?))
    }

    /// The columns shifted and scaled to mean 0 and standard deviation 1; padding is zero. The caller
    /// states that all variances lie in the range of the root. Takes
    /// [`standardised_levels`](Self::standardised_levels).
    ///
    /// # Errors
    /// As for [`variances`](Self::variances).
    pub fn standardised(
        &self,
        eval: &Evaluator,
        x: &Ciphertext,
        root: &Approximation,
    ) -> Result<Ciphertext> {
        let op = "standardise columns";
        self.check(op, x)?;
        let standardised = || {
            let inverse = self.inverse(eval, &self.variances(eval, x)?, root)?;
            eval.mul(&self.centred(eval, x)?, &inverse)
        };
        standardised().map_err(|error: Error| error.named(op))
    }

    /// The correlations of the columns among each other, laid out as by
    /// [`covariance_matrix`](Self::covariance_matrix); entry 0 is 1 up to the error. The caller
    /// states that all variances lie in the range of the root. Takes
    /// [`correlation_levels`](Self::correlation_levels).
    ///
    /// # Errors
    /// As for [`variances`](Self::variances).
    pub fn correlations(
        &self,
        eval: &Evaluator,
        x: &Ciphertext,
        root: &Approximation,
    ) -> Result<Vec<Ciphertext>> {
        let op = "correlations of columns";
        self.check(op, x)?;
        let unit = Interval::real(-1.0, 1.0)?;
        let correlations = || {
            let covariances = self.covariance_matrix(eval, x)?;
            let inverse = self.inverse(eval, &covariances[0], root)?;
            let steps: Vec<i64> = (0..self.columns() as i64).collect();
            let others = eval.rotate_many(&inverse, &steps)?;
            let terms = covariances.iter().zip(&others);
            terms
                .map(|(covariance, other)| {
                    let half = eval.mul(covariance, &inverse)?;
                    Ok(eval.mul(&half, other)?.assume_range(unit))
                })
                .collect::<Result<Vec<_>>>()
        };
        correlations().map_err(|error: Error| error.named(op))
    }

    /// The inverse roots of variances. Columns of padding, whose variance is zero, are moved into
    /// the domain first.
    fn inverse(
        &self,
        eval: &Evaluator,
        v: &Ciphertext,
        root: &Approximation,
    ) -> Result<Ciphertext> {
        let range = Interval::real(root.lo(), root.hi())?;
        let inside = 0.5 * (range.lo() + range.hi());
        let period: Vec<f64> = (0..self.stride())
            .map(|column| if column < self.columns() { 0.0 } else { inside })
            .collect();
        let moved = match self.columns() == self.stride() {
            true => v.clone(),
            false => eval.add_values(v, &period)?,
        };
        eval.apply(&moved.assume_range(range), root)
    }
}
