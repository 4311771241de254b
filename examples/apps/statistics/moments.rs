//! The statistics: of encrypted columns, of plain ones, and in the units of the data.

use bellerophon::{
    circuits::{approx::Approximation, statistics::DataTable},
    ckks::{self, CkksOps},
};

use super::columns::Columns;

/// Means and second moments of plain columns.
pub struct Truth {
    means: Vec<f64>,
    covariances: Vec<Vec<f64>>,
}

impl Truth {
    /// Those of scaled columns, where no digits are lost to a large mean.
    pub fn of(rows: &[Vec<f64>]) -> Self {
        let n = rows.len() as f64;
        let width = rows[0].len();
        let means: Vec<f64> =
            (0..width).map(|c| rows.iter().map(|row| row[c]).sum::<f64>() / n).collect();
        let covariance = |i: usize, j: usize| {
            rows.iter().map(|row| (row[i] - means[i]) * (row[j] - means[j])).sum::<f64>() / n
        };
        let covariances =
            (0..width).map(|i| (0..width).map(|j| covariance(i, j)).collect()).collect();
        Self { means, covariances }
    }

    pub fn variances(&self) -> Vec<f64> {
        (0..self.means.len()).map(|c| self.covariances[c][c]).collect()
    }
}

/// The statistics, in the order of computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    Sum,
    Mean,
    Variance,
    StandardDeviation,
    Covariance,
    Correlation,
    Standardised,
}

impl Statistic {
    pub const ALL: [Self; 7] = [
        Self::Sum,
        Self::Mean,
        Self::Variance,
        Self::StandardDeviation,
        Self::Covariance,
        Self::Correlation,
        Self::Standardised,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Variance => "variance",
            Self::StandardDeviation => "standard deviation",
            Self::Covariance => "covariance",
            Self::Correlation => "correlation",
            Self::Standardised => "standardised",
        }
    }

    /// The operand: the table, or its variances, which are computed before.
    pub fn operand<'c, C>(self, table: &'c C, variances: &'c [C]) -> &'c C {
        match self {
            Self::StandardDeviation => &variances[0],
            _ => table,
        }
    }

    /// Computes the statistic of its [operand](Self::operand). All slots of each result repeat it.
    pub fn of<A: CkksOps>(
        self,
        a: &A,
        table: &DataTable,
        x: &A::Ciphertext,
        root: &Approximation,
    ) -> ckks::Result<Vec<A::Ciphertext>> {
        let results = match self {
            Self::Sum => vec![table.sums(a, x)?],
            Self::Mean => vec![table.means(a, x)?],
            Self::Variance => vec![table.variances(a, x)?],
            Self::StandardDeviation => vec![table.standard_deviations(a, x, root)?],
            Self::Covariance => table.covariance_matrix(a, x)?,
            Self::Correlation => table.correlations(a, x, root)?,
            Self::Standardised => vec![table.standardised(a, x, root)?],
        };
        let slots = |y: A::Ciphertext| {
            let slots = a.metadata(&y).meta.slots;
            a.with_len(y, slots)
        };
        results.into_iter().map(slots).collect()
    }

    /// The results for scaled columns, from the slots of all results.
    pub fn read(
        self,
        table: &DataTable,
        width: usize,
        slots: &[Vec<f64>],
    ) -> ckks::Result<Vec<f64>> {
        match self {
            Self::Sum | Self::Mean | Self::Variance | Self::StandardDeviation => {
                Ok(slots[0][..width].to_vec())
            }
            Self::Covariance | Self::Correlation => Ok(table.symmetric(slots)?.concat()),
            Self::Standardised => Ok(table.unpack(&slots[0])?.concat()),
        }
    }

    /// The same in the clear.
    pub fn expected(self, rows: &[Vec<f64>], truth: &Truth) -> Vec<f64> {
        let Truth { means, covariances } = truth;
        let deviations: Vec<f64> = truth.variances().iter().map(|v| v.sqrt()).collect();
        match self {
            Self::Sum => means.iter().map(|mean| mean * rows.len() as f64).collect(),
            Self::Mean => means.clone(),
            Self::Variance => truth.variances(),
            Self::StandardDeviation => deviations,
            Self::Covariance => covariances.concat(),
            Self::Correlation => {
                let of = |(row, a): (&Vec<f64>, &f64)| -> Vec<f64> {
                    row.iter()
                        .zip(&deviations)
                        .map(|(covariance, b)| covariance / (a * b))
                        .collect()
                };
                covariances.iter().zip(&deviations).flat_map(of).collect()
            }
            Self::Standardised => {
                let of = |row: &Vec<f64>| -> Vec<f64> {
                    (0..means.len()).map(|c| (row[c] - means[c]) / deviations[c]).collect()
                };
                rows.iter().flat_map(of).collect()
            }
        }
    }

    /// The unit of errors: for sums, the number of rows.
    pub fn error_unit(self, rows: usize) -> f64 {
        if self == Self::Sum { rows as f64 } else { 1.0 }
    }

    /// Results for scaled columns in the units of the data.
    pub fn in_units(self, columns: &Columns, scaled: &[f64]) -> Vec<f64> {
        let (width, rows) = (columns.names.len(), columns.rows.len() as f64);
        let unit = |(i, &value): (usize, &f64)| {
            let own = columns.unit(i % width);
            match self {
                Self::Sum => rows * own.centre + own.half * value,
                Self::Mean => own.leave(value),
                Self::Variance => own.half * own.half * value,
                Self::StandardDeviation => own.half * value,
                Self::Covariance => own.half * columns.unit(i / width).half * value,
                Self::Correlation | Self::Standardised => value,
            }
        };
        scaled.iter().enumerate().map(unit).collect()
    }
}
