//! Sums, means, variances and covariances of columns.

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::eval::statements::{mixed, separate_unless, within};
use bellerophon_ckks::{CkksOps, ComposedOps, Interval, Metadata, Result};

use super::DataTable;
use crate::error;

/// The deviations from the mean of every column, and the means, both divided by the root of the
/// divisor: their squares sum up to variances.
struct Deviations<C> {
    /// `(x - m) / sqrt(d)` at the values, `-m / sqrt(d)` in padding rows.
    centred: C,
    /// `m / sqrt(d)` in every slot.
    mean: C,
    /// Whether the errors of several slots of the caller's tables may be related.
    related: bool,
}

impl DataTable {
    /// The sum of every column, in every slot of the column.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`](bellerophon_ckks::ErrorKind::Shape) for an operand of another shape,
    /// [`ErrorKind::Length`](bellerophon_ckks::ErrorKind::Length) for one of fewer values,
    /// [`ErrorKind::OutOfLevels`](bellerophon_ckks::ErrorKind::OutOfLevels),
    /// [`ErrorKind::MissingKey`](bellerophon_ckks::ErrorKind::MissingKey) without the keys of
    /// [`keys`](Self::keys), and mismatches.
    pub fn sums<A: CkksOps>(&self, eval: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        eval.composed("DataTable::sums", || {
            self.check(&eval.metadata(x))?;
            // Rows of padding may hold anything. A table without them needs no mask, and no level.
            let related = eval.origins(x).is_mixed();
            match self.padding() {
                0 => self.over_rows(eval, x, related),
                _ => self.over_rows(eval, &self.weighted(eval, x, 1.0)?, related),
            }
        })
    }

    /// The mean of every column, in every slot of the column. Takes one level: the division by the
    /// number of rows.
    pub fn means<A: CkksOps>(&self, eval: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        eval.composed("DataTable::means", || {
            self.check(&eval.metadata(x))?;
            self.means_times(eval, x, 1.0)
        })
    }

    /// The deviations from the mean of the column; padding is zero. Takes two levels.
    pub(crate) fn centred<A: CkksOps>(&self, eval: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        eval.composed("DataTable::centred", || {
            self.check(&eval.metadata(x))?;
            // The mean is in padding rows too: the weights clear it there.
            self.weighted(eval, &eval.sub(x, &self.means_times(eval, x, 1.0)?)?, 1.0)
        })
    }

    /// The variance of every column, in every slot of the column. Takes two levels.
    pub fn variances<A: CkksOps>(&self, eval: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        eval.composed("DataTable::variances", || {
            let metadata = eval.metadata(x);
            self.check(&metadata)?;
            // A variance is not negative, which interval arithmetic on a sum of squares after a
            // subtraction cannot tell.
            let range = self.second_moment(&metadata, &metadata, 0.0)?;
            let related = eval.origins(x).is_mixed();
            let variance = self.variance(eval, &self.deviations(eval, x, related)?)?;
            eval.with_len(within(eval, variance, range), metadata.meta.len)
        })
    }

    /// The covariance of every column of `x` with the same column of `y`, in every slot of the
    /// column. Takes two levels.
    pub fn covariances<A: CkksOps>(
        &self,
        eval: &A,
        x: &A::Ciphertext,
        y: &A::Ciphertext,
    ) -> Result<A::Ciphertext> {
        eval.composed("DataTable::covariances", || {
            let (left, right) = (eval.metadata(x), eval.metadata(y));
            self.check(&left)?;
            self.check(&right)?;
            let related = eval.origins(x).mixes_with(&eval.origins(y));
            let (u, v) = (self.deviations(eval, x, related)?, self.deviations(eval, y, related)?);
            let range = self.second_moment(&left, &right, -1.0)?;
            let covariance = self.covariance(eval, &u, &v)?;
            eval.with_len(within(eval, covariance, range), left.meta.len)
        })
    }

    /// The covariances of the columns of `x`: slot `c` of entry `k` holds that of the columns `c`
    /// and `c + k`, for `c + k` below the number of columns; the slots of the other columns have no
    /// meaning. Entry 0 holds the variances. [`symmetric`](Self::symmetric) reads the matrix. Takes
    /// two levels.
    pub fn covariance_matrix<A: CkksOps>(
        &self,
        eval: &A,
        x: &A::Ciphertext,
    ) -> Result<Vec<A::Ciphertext>> {
        eval.composed("DataTable::covariance_matrix", || {
            let metadata = eval.metadata(x);
            self.check(&metadata)?;
            let range = self.mixed_moment(&metadata)?;
            let positive = self.second_moment(&metadata, &metadata, 0.0)?;
            let u = self.deviations(eval, x, eval.origins(x).is_mixed())?;
            let steps: Vec<i64> = (1..self.columns as i64).collect();
            // Diagonal k of the matrix pairs column j with column j + k: one rotation by k of the
            // deviations and of the means, hoisted.
            let centred = eval.rotate_many(&u.centred, &steps)?;
            let means = eval.rotate_many(&u.mean, &steps)?;
            let mut entries = vec![within(eval, self.variance(eval, &u)?, positive)];
            for (centred, mean) in centred.into_iter().zip(means) {
                let other = Deviations { centred, mean, related: u.related };
                let entry = self.covariance(eval, &u, &other)?;
                entries.push(within(eval, entry, range));
            }
            entries.into_iter().map(|entry| eval.with_len(entry, metadata.meta.len)).collect()
        })
    }

    /// The symmetric matrix whose diagonals were decrypted: entry `c` of diagonal `k` belongs to
    /// the columns `c` and `c + k`.
    pub fn symmetric(&self, diagonals: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        let n = self.columns;
        if diagonals.len() != n || diagonals.iter().any(|diagonal| diagonal.len() < n) {
            let shortest = diagonals.iter().map(Vec::len).min().unwrap_or(0);
            let found = diagonals.len();
            let reason = format!("{found} diagonals of {shortest} values or more: need {n} of {n}");
            return Err(error::shape(reason));
        }
        let entry = |i: usize, j: usize| diagonals[i.abs_diff(j)][i.min(j)];
        Ok((0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect())
    }

    /// `x` times `factor` at the values, times zero in the padding.
    fn weighted<A: CkksOps>(
        &self,
        eval: &A,
        x: &A::Ciphertext,
        factor: f64,
    ) -> Result<A::Ciphertext> {
        eval.mul_values(x, &self.filled(factor)[..eval.metadata(x).meta.len])
    }

    /// The sums over the rows. Unless the errors of several slots of the caller's table are
    /// `related`, the rows have errors of their own; that of a mean, which they share, is small
    /// beside them.
    fn over_rows<A: CkksOps>(
        &self,
        eval: &A,
        x: &A::Ciphertext,
        related: bool,
    ) -> Result<A::Ciphertext> {
        let x = separate_unless(eval, x.clone(), related);
        let sums = eval.inner_sum(&x, self.rows.next_power_of_two(), self.stride() as i64)?;
        Ok(mixed(eval, sums))
    }

    /// The means times `factor`, from the divided values.
    fn means_times<A: CkksOps>(
        &self,
        eval: &A,
        x: &A::Ciphertext,
        factor: f64,
    ) -> Result<A::Ciphertext> {
        // The factor joins the weights: a mean takes one level whatever it is multiplied by.
        let terms = self.weighted(eval, x, factor / self.rows as f64)?;
        let means = self.over_rows(eval, &terms, eval.origins(x).is_mixed())?;
        // A mean is no larger than a value, wherever that is.
        let range = eval.metadata(x).meta.bounds.slots().scale(factor).hull(&Interval::ZERO);
        Ok(within(eval, means, range))
    }

    fn deviations<A: CkksOps>(
        &self,
        eval: &A,
        x: &A::Ciphertext,
        related: bool,
    ) -> Result<Deviations<A::Ciphertext>> {
        // The root of the divisor in both factors: their products need no division, and stay within
        // the range of the values.
        let factor = 1.0 / self.divisor().sqrt();
        let mean = self.means_times(eval, x, factor)?;
        let values = self.weighted(eval, x, factor)?;
        // What is taken from padding rows is known, and added again to the sums: all slots are
        // values.
        let whole = |x| eval.with_len(x, self.slots());
        let centred = whole(eval.sub(&values, &mean)?)?;
        Ok(Deviations { centred, mean: whole(mean)?, related })
    }

    fn variance<A: CkksOps>(
        &self,
        eval: &A,
        u: &Deviations<A::Ciphertext>,
    ) -> Result<A::Ciphertext> {
        let sum = self.over_rows(eval, &eval.square(&u.centred)?, u.related)?;
        self.without_padding(eval, sum, || eval.square(&u.mean))
    }

    fn covariance<A: CkksOps>(
        &self,
        eval: &A,
        u: &Deviations<A::Ciphertext>,
        v: &Deviations<A::Ciphertext>,
    ) -> Result<A::Ciphertext> {
        let sum = self.over_rows(eval, &eval.mul(&u.centred, &v.centred)?, u.related)?;
        self.without_padding(eval, sum, || eval.mul(&u.mean, &v.mean))
    }

    /// A sum without the products of means that the padding rows have added.
    fn without_padding<A: CkksOps>(
        &self,
        eval: &A,
        sum: A::Ciphertext,
        product: impl FnOnce() -> Result<A::Ciphertext>,
    ) -> Result<A::Ciphertext> {
        // Each padding row has the deviation -mean, so it has added the product of both means.
        if self.padding() == 0 {
            return Ok(sum);
        }
        eval.sub(&sum, &eval.mul_integer(&product()?, self.padding() as i64)?)
    }

    /// The range of ALL slots of the covariances of different columns. Columns without a partner
    /// are multiplied by the next ROW, and the products of means in the `p` padding rows do not
    /// cancel. With the largest variance `V` and the square of a mean `M^2 <= B^2 / d`, both over
    /// the divisor `d`, such a slot is at most `(V + p M^2) + p M^2` (Cauchy and Schwarz).
    fn mixed_moment(&self, x: &Metadata) -> Result<Interval> {
        let most = self.second_moment(x, x, 0.0)?.hi() + self.uncancelled(x);
        Interval::real(-most, most)
    }

    /// `2 p M^2`: the bound on the part of padding rows where a row is multiplied by the next one.
    pub(super) fn uncancelled(&self, x: &Metadata) -> f64 {
        2.0 * self.padding() as f64 * x.meta.bounds.slots().bound().powi(2) / self.divisor()
    }

    /// The range of second moments of columns in these ranges: by the inequalities of Cauchy,
    /// Schwarz and Popoviciu at most a quarter of the product of the widths, times rows over
    /// divisor; at least `lowest` times that.
    fn second_moment(&self, x: &Metadata, y: &Metadata, lowest: f64) -> Result<Interval> {
        // Popoviciu: the variance of values in an interval is at most a quarter of the square of
        // its width; Cauchy-Schwarz for two columns.
        let width = |x: &Metadata| x.meta.bounds.slots().hi() - x.meta.bounds.slots().lo();
        let most = width(x) * width(y) / 4.0 * self.rows as f64 / self.divisor();
        Interval::real(lowest * most, most)
    }
}
