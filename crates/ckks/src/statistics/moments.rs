//! Sums, means, variances and covariances of columns.

use super::Table;
use crate::{Bounds, Ciphertext, Evaluator, Interval, Result};

/// The deviations from the mean of every column, and the means, both divided by the root of the
/// divisor: their squares sum up to variances.
struct Deviations {
    /// `(x - m) / sqrt(d)` at the values, `-m / sqrt(d)` in padding rows.
    centred: Ciphertext,
    /// `m / sqrt(d)` in every slot.
    mean: Ciphertext,
}

impl Table {
    /// The sum of every column, in every slot of the column.
    ///
    /// # Errors
    /// [`Error::SlotCount`](crate::Error::SlotCount) for an operand of another shape,
    /// [`Error::OutOfLevels`](crate::Error::OutOfLevels),
    /// [`Error::MissingRotationKey`](crate::Error::MissingRotationKey) without the keys of
    /// [`keys`](Self::keys), and mismatches.
    pub fn sums(&self, eval: &Evaluator, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "sums of columns";
        self.check(op, x)?;
        let sums = match self.padding() {
            0 => self.over_rows(eval, x),
            _ => self.weighted(eval, x, 1.0).and_then(|x| self.over_rows(eval, &x)),
        };
        sums.map_err(|error| error.named(op))
    }

    /// The mean of every column, in every slot of the column. Takes one level: the division by the
    /// number of rows.
    ///
    /// # Errors
    /// As for [`sums`](Self::sums).
    pub fn means(&self, eval: &Evaluator, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "means of columns";
        self.check(op, x)?;
        self.means_times(eval, x, 1.0).map_err(|error| error.named(op))
    }

    /// The deviations `x - mean` of every value from the mean of its column. Padding is zero.
    /// Takes two levels.
    ///
    /// # Errors
    /// As for [`sums`](Self::sums).
    pub fn centred(&self, eval: &Evaluator, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "deviations from the mean";
        self.check(op, x)?;
        let centred = || self.weighted(eval, &eval.sub(x, &self.means_times(eval, x, 1.0)?)?, 1.0);
        centred().map_err(|error| error.named(op))
    }

    /// The variance of every column, in every slot of the column. Takes two levels.
    ///
    /// # Errors
    /// As for [`sums`](Self::sums), and [`Error::MissingKey`](crate::Error::MissingKey) without a
    /// relinearisation key.
    pub fn variances(&self, eval: &Evaluator, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "variances of columns";
        self.check(op, x)?;
        let variances = || {
            let range = self.second_moment(x, x, 0.0)?;
            Ok(self.variance(eval, &self.deviations(eval, x)?)?.assume_range(range))
        };
        variances().map_err(|error: crate::Error| error.named(op))
    }

    /// The covariance of every column of `x` with the same column of `y`, in every slot of the
    /// column. Takes two levels.
    ///
    /// # Errors
    /// As for [`variances`](Self::variances).
    pub fn covariances(
        &self,
        eval: &Evaluator,
        x: &Ciphertext,
        y: &Ciphertext,
    ) -> Result<Ciphertext> {
        let op = "covariances of columns";
        self.check(op, x)?;
        self.check(op, y)?;
        let covariances = || {
            let (u, v) = (self.deviations(eval, x)?, self.deviations(eval, y)?);
            self.covariance(eval, &u, &v)
        };
        let range = self.second_moment(x, y, -1.0)?;
        Ok(covariances().map_err(|error| error.named(op))?.assume_range(range))
    }

    /// The covariances of the columns of `x` among each other: slot `c` of entry `k` holds that of
    /// the columns `c` and `c + k`, for `c + k` below the number of columns; what stands in the slots
    /// of the other columns has no meaning. Entry 0 holds the variances.
    /// [`symmetric`](Self::symmetric) reads the matrix. Takes two levels.
    ///
    /// # Errors
    /// As for [`variances`](Self::variances).
    pub fn covariance_matrix(&self, eval: &Evaluator, x: &Ciphertext) -> Result<Vec<Ciphertext>> {
        let op = "covariances of columns";
        self.check(op, x)?;
        let range = self.second_moment(x, x, -1.0)?;
        let matrix = || {
            let u = self.deviations(eval, x)?;
            let steps: Vec<i64> = (1..self.columns() as i64).collect();
            let centred = eval.rotate_many(&u.centred, &steps)?;
            let means = eval.rotate_many(&u.mean, &steps)?;
            let variances = self.variance(eval, &u)?;
            let mut entries = vec![variances.assume_range(self.second_moment(x, x, 0.0)?)];
            for (centred, mean) in centred.into_iter().zip(means) {
                let entry = self.covariance(eval, &u, &Deviations { centred, mean })?;
                entries.push(entry.assume_range(range));
            }
            Ok(entries)
        };
        matrix().map_err(|error: crate::Error| error.named(op))
    }

    /// The symmetric matrix whose diagonals were decrypted: entry `c` of diagonal `k` belongs to
    /// the columns `c` and `c + k`.
    ///
    /// # Panics
    /// Unless there are as many diagonals as columns, of at least that length.
    pub fn symmetric(&self, diagonals: &[Vec<f64>]) -> Vec<Vec<f64>> {
        assert_eq!(diagonals.len(), self.columns(), "one diagonal for each column");
        let entry = |i: usize, j: usize| diagonals[i.abs_diff(j)][i.min(j)];
        let n = self.columns();
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    }

    /// `x` times `factor` at the values, times zero in the padding.
    fn weighted(&self, eval: &Evaluator, x: &Ciphertext, factor: f64) -> Result<Ciphertext> {
        eval.mul_values(x, &self.filled(factor))
    }

    fn over_rows(&self, eval: &Evaluator, x: &Ciphertext) -> Result<Ciphertext> {
        eval.inner_sum(x, self.rows().next_power_of_two(), self.stride() as i64)
    }

    /// The means times `factor`, from the divided values.
    fn means_times(&self, eval: &Evaluator, x: &Ciphertext, factor: f64) -> Result<Ciphertext> {
        let terms = self.weighted(eval, x, factor / self.rows() as f64)?;
        let mut means = self.over_rows(eval, &terms)?;
        // A mean is no larger than a value, wherever that is.
        let range = x.meta.bounds.slots.scale(factor).hull(&Interval::ZERO);
        means.meta.bounds = Bounds::all(range);
        Ok(means)
    }

    fn deviations(&self, eval: &Evaluator, x: &Ciphertext) -> Result<Deviations> {
        let factor = 1.0 / self.divisor().sqrt();
        let mean = self.means_times(eval, x, factor)?;
        let values = self.weighted(eval, x, factor)?;
        Ok(Deviations { centred: eval.sub(&values, &mean)?, mean })
    }

    fn variance(&self, eval: &Evaluator, u: &Deviations) -> Result<Ciphertext> {
        let sum = self.over_rows(eval, &eval.square(&u.centred)?)?;
        self.without_padding(eval, sum, || eval.square(&u.mean))
    }

    fn covariance(&self, eval: &Evaluator, u: &Deviations, v: &Deviations) -> Result<Ciphertext> {
        let sum = self.over_rows(eval, &eval.mul(&u.centred, &v.centred)?)?;
        self.without_padding(eval, sum, || eval.mul(&u.mean, &v.mean))
    }

    /// A sum of products of deviations without what the padding rows added: each the product of
    /// the two means.
    fn without_padding(
        &self,
        eval: &Evaluator,
        mut sum: Ciphertext,
        product: impl FnOnce() -> Result<Ciphertext>,
    ) -> Result<Ciphertext> {
        if self.padding() > 0 {
            let added = eval.mul_integer(&product()?, self.padding() as i64)?;
            eval.sub_assign(&mut sum, &added)?;
        }
        Ok(sum)
    }

    /// Where second moments of columns in these ranges lie: by the inequalities of Cauchy, Schwarz
    /// and Popoviciu at most a quarter of the product of the widths, times what a sample's divisor
    /// makes of it; at least `lowest` times that.
    fn second_moment(&self, x: &Ciphertext, y: &Ciphertext, lowest: f64) -> Result<Interval> {
        let width = |x: &Ciphertext| x.meta.bounds.slots.hi() - x.meta.bounds.slots.lo();
        let most = width(x) * width(y) / 4.0 * self.rows() as f64 / self.divisor();
        Interval::real(lowest * most, most)
    }
}
