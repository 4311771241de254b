//! Products of plain matrices with encrypted vectors and matrices.

use bellerophon_ckks::eval::statements::{mixed, separate_unless};
use bellerophon_ckks::lengths::check_len;
use bellerophon_ckks::{CkksOps, Complex64, ComposedOps, KeyLevels, Params, Result, SlotValue};

use super::{area, from_entries};
use crate::circuit_ops::CircuitOps;
use crate::diagonals::Diagonals;
use crate::error;
use crate::lintrans::{LinearOptions, LinearTransform};

/// A matrix of numbers of any shape.
#[derive(Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    /// Row by row.
    entries: Vec<Complex64>,
}

/// Prints the shape only: the entries may be secret.
impl std::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Matrix({} x {})", self.rows, self.columns)
    }
}

impl Matrix {
    /// The matrix with these rows.
    pub fn from_rows<T: SlotValue>(rows: &[Vec<T>]) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        if let Some(i) = rows.iter().position(|row| row.len() != columns) {
            let (found, count) = (rows[i].len(), rows.len());
            let reason = format!(
                "the row at position {i} of {count} has {found} entries, the first row has \
                 {columns}: need equally many"
            );
            return Err(error::shape(reason));
        }
        let entries: Vec<Complex64> = rows.iter().flatten().map(|x| x.to_complex()).collect();
        bellerophon_ckks::encode::check_values(&entries, entries.len())?;
        Ok(Self { rows: rows.len(), columns, entries })
    }

    /// The entry in row `i` and column `j`.
    pub(crate) fn at(&self, i: usize, j: usize) -> Complex64 {
        assert!(i < self.rows && j < self.columns, "no entry ({i}, {j})");
        self.entries[i * self.columns + j]
    }

    fn iter(&self) -> impl Iterator<Item = (usize, usize, Complex64)> + Clone {
        let columns = self.columns;
        self.entries.iter().enumerate().map(move |(k, &x)| (k / columns, k % columns, x))
    }

    /// `M X` for encrypted matrices `X` of `columns` columns and as many rows as `M` has columns,
    /// row by row: a transform over the slots of the taller of `X` and `M X`. As many diagonals as
    /// that has rows.
    pub fn times_left(&self, columns: usize) -> Result<Diagonals> {
        let slots = area(self.rows.max(self.columns), columns)?;
        let stride = columns.next_power_of_two();
        let entries = self
            .iter()
            // Slot (i, j) of the result is the sum of x (i, l) times slot (l, j): the same x for
            // every j.
            .flat_map(|(i, l, x)| (0..columns).map(move |j| (i * stride + j, l * stride + j, x)));
        Ok(from_entries(slots, entries))
    }

    /// `X M` for encrypted matrices `X` of `rows` rows and as many columns as `M` has rows, row by
    /// row at the stride of the wider of `X` and `X M`. Up to `2 d - 1` diagonals for that width
    /// `d`.
    pub fn times_right(&self, rows: usize) -> Result<Diagonals> {
        let slots = area(rows, self.rows.max(self.columns))?;
        let stride = self.rows.max(self.columns).next_power_of_two();
        let entries = self
            .iter()
            // Slot (i, j) of the result is the sum of slot (i, l) times x (l, j): the same x for
            // every i.
            .flat_map(|(l, j, x)| (0..rows).map(move |i| (i * stride + j, i * stride + l, x)));
        Ok(from_entries(slots, entries))
    }
}

/// A plain matrix of any shape prepared for products with encrypted vectors.
///
/// A flat matrix of `r'` rows has `r'` diagonals across all columns, and a sum over the slots joins
/// their parts (Juvekar, Vaikuntanathan and Chandrakasan, eprint 2018/073, section 4.3). A tall
/// matrix has `c'` diagonals, and the vector is repeated.
///
/// ```
/// use bellerophon_circuits::{lintrans::LinearOptions, matrix::{Matrix, MatrixVector}};
/// # use bellerophon_ckks::{Encoder, EvaluationKeys, Evaluator, Interval, LevelGroup};
/// # use bellerophon_ckks::{ModulusChain, Params, ParamsSpec, SecretKey, Security, encrypt};
/// # use rand::SeedableRng;
/// # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// # let levels = vec![LevelGroup::single(40, 1)];
/// # let chain = ModulusChain { degree: 1 << 9, first_bits: 50, levels, special: (50, 2) };
/// # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
/// # let secret = SecretKey::generate(params.lattice(), &mut rng)?;
/// # let range = Interval::real(0.0, 4.0)?;
/// # let plain = Encoder::new(&params).encode(&[1.0, 2.0, 3.0], range, params.scale(), 2)?;
/// # let x = encrypt(&params, &plain, &secret, &mut rng)?;
/// let matrix = Matrix::from_rows(&[vec![1.0, 0.5, -1.0], vec![0.0, 2.0, 1.0]])?;
/// let matrix = MatrixVector::new(&params, &matrix, 1, LinearOptions::default())?;
/// let keys = EvaluationKeys::generate(&params, &secret, &matrix.keys(), &mut rng)?;
/// let y = matrix.apply(&Evaluator::new(&params, &keys)?, &x)?; // x holds 1, 2 and 3
/// let y: Vec<f64> = bellerophon_ckks::decrypt_values(&params, &y, &secret)?;
/// assert!((y[0] + 1.0).abs() < 1e-4 && (y[1] - 7.0).abs() < 1e-4);
/// # Ok::<(), bellerophon_ckks::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MatrixVector {
    transform: LinearTransform,
    rows: usize,
    columns: usize,
    /// Slots of operands.
    width: usize,
    /// Number of parts in the sum, at distance `stride`.
    parts: usize,
    stride: usize,
}

impl MatrixVector {
    /// Prepares the product for vectors at `level`.
    pub fn new(params: &Params, m: &Matrix, level: usize, options: LinearOptions) -> Result<Self> {
        let (tall, wide) = (m.rows.next_power_of_two(), m.columns.next_power_of_two());
        let slots = tall.max(wide);
        let mut diagonals = Diagonals::zero(slots);
        // Extended diagonals (GAZELLE, the hybrid method): as many as the shorter side, each as
        // long as the longer one. A wide matrix then leaves partial sums, one in each part.
        for k in 0..tall.min(wide) {
            let entry = |i: usize| {
                let (row, column) = (i % tall, (i + k) % wide);
                if row < m.rows && column < m.columns { m.at(row, column) } else { Complex64::ZERO }
            };
            let values: Vec<Complex64> = (0..slots).map(entry).collect();
            // A zero diagonal costs a rotation and adds nothing. One diagonal stays, also for the
            // zero matrix.
            if k == 0 || values.iter().any(|z| z.norm_sqr() != 0.0) {
                diagonals.add_diagonal(k, values);
            }
        }
        Ok(Self {
            transform: LinearTransform::new(params, &diagonals, level, options)?,
            rows: m.rows,
            columns: m.columns,
            width: wide,
            parts: slots / tall,
            stride: tall,
        })
    }

    /// The keys of the product.
    pub fn keys(&self) -> KeyLevels {
        let below = self.transform.level - 1;
        self.transform.keys().inner_sum(self.parts, self.stride as i64, below)
    }

    /// `M x`, for a vector with one value per column of `M`, or with those rounded up to a power of
    /// two, where the last values are ignored like padding. Takes one level from
    /// the level of the transform.
    ///
    /// The result has one value per row of `M`; with fewer rows than columns it is repeated over
    /// the slots.
    pub fn apply<A: CkksOps>(&self, eval: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        eval.composed("multiply a vector by a matrix", || {
            let metadata = eval.metadata(x);
            error::check_slots(&metadata.meta, self.width)?;
            if metadata.meta.len != self.width {
                check_len(metadata.meta.len, self.columns)?;
            }
            // Slots after the columns are multiplied by zero, in every repetition under a tall
            // matrix.
            let related = eval.origins(x).is_mixed();
            let x = eval.repeated(x.clone(), self.transform.slots)?;
            let x = eval.with_len(x, self.transform.slots)?;
            // A row takes each entry from one of the repetitions.
            let x = separate_unless(eval, x, related);
            let product = eval.transform(&x, &self.transform)?;
            // Partial sums of one row stand at the distance of the rows.
            // The parts of a row come from different entries.
            let product = separate_unless(eval, product, related);
            let sums = mixed(eval, eval.inner_sum(&product, self.parts, self.stride as i64)?);
            eval.with_len(sums, self.rows)
        })
    }
}
