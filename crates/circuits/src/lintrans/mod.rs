//! Linear transforms: products of slot matrices with encrypted vectors, by diagonals.
//!
//! A matrix in diagonal form ([`Diagonals`]) is applied by baby steps and giant steps
//! (PEGASUS Fig. 5, steps 2 and 3):
//!
//! ```text
//! M v = sum_g RotL^g( sum_b RotR^g(d_{g+b}) . RotL^b(v) ).
//! ```
//!
//! | choice | options |
//! | --- | --- |
//! | baby steps ([`Hoisting`]) | share the decomposition, or the decomposition and the mod-down |
//! | their keys ([`LinearOptions::halved`]) | one key each, or half of them |
//! | giant steps ([`Giants`]) | one key each, or Horner's rule with one key for a common stride |
//! | diagonals ([`LinearOptions::encode_ahead`]) | encoded ahead, or during every product |
//!
//! The rescale comes last and divides the noise of the giant steps by the dropped prime. Diagonals
//! are encoded at the scale of that prime: the result has the scale of the operand.
//!
//! | module | contents |
//! | --- | --- |
//! | `baby_step_giant_step` | metadata and computation |
//! | `double` | double hoisting: sums modulo `P Q` |
//! | `options` | [`LinearOptions`] |
//! | `worst` | the worst-case noise bound |

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
mod baby_step_giant_step;
mod double;
mod options;
mod worst;

use std::collections::BTreeSet;

pub(crate) use baby_step_giant_step::Mixing;
use bellerophon_ckks::cost::{Count, Work};
use bellerophon_ckks::encode::check_values;
use bellerophon_ckks::origins::encoding;
use bellerophon_ckks::sparse_slots::Coefficients;
use bellerophon_ckks::{Complex64, Encoder, KeyLevels, Params, Plaintext, Result};
use bellerophon_ring::{Factor, Ntt, Poly, Weighted, map_items, try_map};
pub use options::{Giants, Hoisting, LinearOptions};

use crate::diagonals::{Diagonals, Schedule, largest, rms};
use crate::error;

/// A slot matrix prepared for one level.
#[derive(Clone)]
pub struct LinearTransform {
    pub(crate) params: Params,
    pub(crate) slots: usize,
    pub(crate) level: usize,
    options: LinearOptions,
    babies: Vec<usize>,
    /// In ascending order of their steps.
    rows: Vec<Row>,
    /// For [`Giants::Horner`]: all giant steps are multiples of it.
    stride: usize,
    /// Largest sum of moduli of a row.
    pub(crate) norm: f64,
    /// Largest sum of moduli of a column.
    columns: f64,
    /// Whether all entries are real.
    real: bool,
}

/// The work of linear transforms in sequence, at least one.
pub(crate) fn work(transforms: &[LinearTransform]) -> Work {
    let mut count = Count::new(&transforms[0].params);
    transforms.iter().for_each(|transform| transform.count(1.0, &mut count));
    count.work()
}

/// The rotation keys of linear transforms, each at the level of its use.
pub(crate) fn keys(transforms: &[LinearTransform]) -> KeyLevels {
    transforms.iter().fold(KeyLevels::default(), |keys, m| keys.and(&m.keys()))
}

/// One giant step, with the diagonals that are summed before it.
#[derive(Clone)]
struct Row {
    step: usize,
    terms: Vec<Term>,
}

/// A diagonal and the baby step that it multiplies.
#[derive(Clone)]
struct Term {
    baby: usize,
    diagonal: Diagonal,
    /// The largest modulus of its values.
    bound: f64,
    /// Root mean square of its values.
    rms: f64,
    /// Slots after which it repeats.
    period: usize,
    /// The same for equal diagonals.
    identity: u64,
}

/// A diagonal, encoded ahead or not.
#[derive(Clone)]
enum Diagonal {
    /// Modulo `Q`, for single hoisting.
    Encoded(Box<Plaintext>),
    /// Modulo `P Q`, for double hoisting.
    Extended { poly: Box<Poly<Ntt>>, values: Vec<Complex64> },
    /// Not encoded.
    Values(Vec<Complex64>),
}

/// Prints the shape only: entries and norms may be secret.
impl std::fmt::Debug for LinearTransform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinearTransform")
            .field("slots", &self.slots)
            .field("level", &self.level)
            .field("options", &self.options)
            .field("babies", &self.babies)
            .field("giants", &self.rows.len())
            .finish_non_exhaustive()
    }
}

impl LinearTransform {
    /// Prepares a matrix for operands at `level`, at least 1, with the steps of
    /// [`Diagonals::schedule`]. The result is one level lower.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a matrix without diagonals; [`ErrorKind::OutOfLevels`] for level 0;
    /// [`ErrorKind::Level`], [`ErrorKind::TooManyValues`], [`ErrorKind::NotFinite`],
    /// [`ErrorKind::Range`] where the matrix does not fit the parameters.
    pub fn new(
        params: &Params,
        matrix: &Diagonals,
        level: usize,
        options: LinearOptions,
    ) -> Result<Self> {
        Self::with_schedule(params, matrix, &matrix.schedule(), level, options)
    }

    /// Prepares a matrix with given steps: giant step `g` and baby step `b` serve the diagonal
    /// `k = (g + b) mod slots`.
    pub(crate) fn with_schedule(
        params: &Params,
        matrix: &Diagonals,
        schedule: &Schedule,
        level: usize,
        options: LinearOptions,
    ) -> Result<Self> {
        let slots = matrix.slots();
        if slots > params.max_slots() {
            return Err(error::too_many_values(slots, params.max_slots()));
        }
        params.check_level(level)?;
        if level == 0 {
            return Err(error::out_of_levels(1, 0));
        }
        let mut transform = Self {
            params: params.clone(),
            slots,
            level,
            options,
            babies: schedule.baby.clone(),
            rows: vec![],
            stride: 0,
            norm: matrix.norm(),
            columns: matrix.column_norm(),
            // A real matrix keeps real slots real, which halves the work of a bootstrap after it.
            real: matrix.iter().all(|(_, diagonal)| diagonal.iter().all(|z| z.im == 0.0)),
        };

        // Steps 1 and 2: the rows, which serve every diagonal.
        transform.rows = transform.rows(matrix, schedule)?;

        // The largest entry must survive the rounding of the diagonals.
        let largest = transform.rows.iter().flat_map(|row| &row.terms).map(|term| term.bound);
        let largest = largest.fold(0.0, f64::max);
        params.rules().check_constants(largest, params.divisor(level))?;

        // Step 3: the stride of Horner's rule divides all giant steps.
        transform.stride = transform.rows.iter().fold(0, |acc, row| gcd(acc, row.step));
        Ok(transform)
    }

    /// The rows of a matrix by a schedule, which must serve every diagonal once.
    fn rows(&self, matrix: &Diagonals, schedule: &Schedule) -> Result<Vec<Row>> {
        let slots = self.slots;
        // Step 1: one row for each giant step, one term for each diagonal under it.
        let (mut covered, mut rows) = (BTreeSet::new(), Vec::with_capacity(schedule.giant.len()));
        for giant in &schedule.giant {
            let step = giant.step;
            if giant.babies.is_empty() || step >= slots {
                let reason = format!("giant step {step}: need one below {slots} with a baby step");
                return Err(error::shape(reason));
            }
            let mut terms = Vec::with_capacity(giant.babies.len());
            for &baby in &giant.babies {
                let refused =
                    |what: &str| error::shape(format!("{what} (baby {baby}, giant {step})"));
                let index = step.wrapping_add(baby) % slots;
                let diagonal = matrix.diagonal(index).ok_or_else(|| {
                    refused("the schedule names a diagonal that the matrix does not have")
                })?;
                if schedule.baby.binary_search(&baby).is_err() {
                    return Err(refused("the baby step is not among those of the schedule"));
                }
                if !covered.insert(index) {
                    return Err(refused("the schedule names a diagonal twice"));
                }
                terms.push((baby, diagonal));
            }
            rows.push((step, terms));
        }

        // Step 2: the schedule must serve every diagonal.
        if covered.len() != matrix.len() || covered.is_empty() {
            let (found, covered) = (matrix.len(), covered.len());
            let reason = format!(
                "the schedule covers {covered} of {found} diagonals, need all of at least 1"
            );
            return Err(error::shape(reason));
        }
        rows.sort_by_key(|&(step, _)| step);

        // Step 3: the terms, all at once.
        let places =
            rows.iter().flat_map(|(step, terms)| terms.iter().map(move |term| (step, term)));
        let places: Vec<_> = places.collect();
        let terms =
            try_map(&places, |&(&step, &(baby, diagonal))| self.term(baby, step, diagonal))?;
        let mut terms = terms.into_iter();
        let row = |(step, row): &(usize, Vec<_>)| Row {
            step: *step,
            terms: terms.by_ref().take(row.len()).collect(),
        };
        Ok(rows.iter().map(row).collect())
    }

    /// A diagonal under a giant step. It must be finite, and fit the modulus at the scale of its
    /// prime.
    fn term(&self, baby: usize, giant: usize, diagonal: &[Complex64]) -> Result<Term> {
        check_values(diagonal, self.slots)?;
        let (params, bound) = (&self.params, largest(diagonal));
        let (scale, limbs) = (params.divisor(self.level), params.limbs_at(self.level));
        params.check_range(bound, scale, limbs)?;
        Ok(Term {
            baby,
            // RotR^g(d): the giant rotation comes after the product.
            diagonal: self.prepare(shifted_right(diagonal, giant))?,
            bound,
            rms: rms(diagonal),
            period: diagonal.len(),
            identity: encoding(diagonal, scale)[0],
        })
    }

    /// A diagonal in the form that the options ask for.
    fn prepare(&self, values: Vec<Complex64>) -> Result<Diagonal> {
        // A short period is encoded faster than its diagonal is read from memory.
        let degree = self.params.lattice().spec().degree;
        if !self.options.encode_ahead || Factor::<()>::is_by_tile(degree, 2 * values.len()) {
            return Ok(Diagonal::Values(values));
        }
        // Encoding ahead trades memory for time. Double hoisting multiplies modulo P Q and also
        // keeps the values, which the simulator needs.
        Ok(match self.options.hoisting {
            Hoisting::Single => {
                let encoder = Encoder::new(&self.params);
                let plain = encoder.constant_factor(&values, values.len(), self.level)?;
                Diagonal::Encoded(Box::new(plain))
            }
            Hoisting::Double => {
                // Values and range were checked when the matrix was prepared.
                let (scale, limbs) =
                    (self.params.divisor(self.level), self.params.limbs_at(self.level));
                let poly = Encoder::new(&self.params).encode_extended(&values, scale, limbs);
                Diagonal::Extended { poly: Box::new(poly), values }
            }
        })
    }

    /// The products that some rows sum up, by the index of the baby step. Diagonals that are not
    /// encoded enter as coefficients in the form that `prepare` returns.
    fn weighted<'m>(
        &'m self,
        rows: &'m [Row],
        prepare: impl Fn(Coefficients) -> Coefficients + Sync + Send,
    ) -> Vec<Vec<Weighted<'m, Coefficients>>> {
        let (encoder, scale) = (Encoder::new(&self.params), self.params.divisor(self.level));
        let degree = self.params.lattice().spec().degree;
        let term = |term: &'m Term| {
            let row = self.babies.binary_search(&term.baby).expect("rows use the baby steps");
            let factor = match &term.diagonal {
                Diagonal::Encoded(plain) => Factor::Stored(plain.poly()),
                Diagonal::Extended { poly, .. } => Factor::Stored(poly),
                Diagonal::Values(values) => {
                    let coefficients = prepare(encoder.factor_coefficients(values, scale));
                    match Factor::<()>::is_by_tile(degree, coefficients.len()) {
                        true => Factor::ByTile(coefficients),
                        false => Factor::Written(coefficients),
                    }
                }
            };
            Weighted { row, factor }
        };
        rows.iter().map(|row| map_items(row.terms.iter().collect(), |_, x| term(x))).collect()
    }

    /// The giant steps that need a rotation key.
    pub(crate) fn giant_steps(&self) -> Vec<usize> {
        match self.options.giants {
            Giants::Direct => self.rows.iter().map(|row| row.step).filter(|&s| s != 0).collect(),
            Giants::Horner if self.stride == 0 => vec![],
            Giants::Horner => vec![self.stride],
        }
    }

    /// The step from which on baby steps are rotations of the operand rotated by it: the largest
    /// power of two up to the largest of them. `None` unless it saves keys.
    pub(crate) fn far(&self) -> Option<usize> {
        let halved = self.options.halved && self.options.hoisting == Hoisting::Double;
        let largest = self.babies.last().filter(|_| halved)?;
        let far = 1 << largest.checked_ilog2()?;
        let rest = |&baby: &usize| if baby >= far { baby - far } else { baby };
        let rests: BTreeSet<usize> = self.babies.iter().map(rest).filter(|&r| r != 0).collect();
        let without = self.babies.iter().filter(|&&baby| baby != 0).count();
        (rests.len() + 1 < without).then_some(far)
    }

    /// A baby step as a far step, 0 or [`far`](Self::far), and a rest.
    fn split(&self, baby: usize) -> (usize, usize) {
        match self.far() {
            Some(far) if baby >= far => (far, baby - far),
            _ => (0, baby),
        }
    }

    /// All steps that need a rotation key, baby and giant.
    pub(crate) fn rotation_steps(&self) -> Vec<usize> {
        let mut steps = self.giant_steps();
        steps.extend(self.babies.iter().map(|&step| self.split(step).1));
        steps.extend(self.far());
        steps.retain(|&step| step != 0);
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// The rotations of a product, each at its level.
    pub fn keys(&self) -> KeyLevels {
        let steps = self.rotation_steps().into_iter().map(|step| step as i64);
        KeyLevels::default().rotate(steps, self.level)
    }

    /// Key switches of one product, when every step has its own key.
    pub(crate) fn rotations(&self) -> usize {
        let (babies, giants, _) = self.counts();
        babies + giants + self.far().iter().count()
    }

    /// Rotations by baby steps and by giant steps, without the far step, and diagonals.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let babies = self.babies.iter().filter(|&&step| self.split(step).1 != 0).count();
        let last = self.rows.last().map_or(0, |row| row.step);
        // Horner's rule rotates by the stride once for each step up to the last row, also past
        // empty rows.
        let giants = match self.options.giants {
            Giants::Direct => self.giant_steps().len(),
            Giants::Horner => last.checked_div(self.stride).unwrap_or(0),
        };
        (babies, giants, self.rows.iter().map(|row| row.terms.len()).sum())
    }

    /// The periods of the diagonals that every product encodes.
    pub(crate) fn encoded_anew(&self) -> impl Iterator<Item = usize> {
        let diagonals = self.rows.iter().flat_map(|row| &row.terms).map(|term| &term.diagonal);
        diagonals.filter_map(|diagonal| match diagonal {
            Diagonal::Values(values) => Some(values.len()),
            Diagonal::Encoded(_) | Diagonal::Extended { .. } => None,
        })
    }

    /// Reserves the working memory of one product: sums of all rows, or rotated operands.
    pub(crate) fn reserve(&self) {
        let (lattice, limbs) = (self.params.lattice(), self.params.limbs_at(self.level));
        let columns = lattice.spec().rank + 1;
        match self.options.hoisting {
            Hoisting::Double => {
                lattice.gadget().ring(limbs).reserve(columns * (self.rows.len() + 2));
            }
            Hoisting::Single => {
                lattice.q().at_limbs(limbs).reserve(columns * (self.babies.len() + 6));
            }
        }
    }

    pub(crate) fn apply(&self, v: &[Complex64]) -> Result<Vec<Complex64>> {
        let mask = self.slots - 1;
        let mut product = vec![Complex64::ZERO; self.slots];
        for row in &self.rows {
            for term in &row.terms {
                let values = match &term.diagonal {
                    Diagonal::Values(values) | Diagonal::Extended { values, .. } => values,
                    Diagonal::Encoded(plain) => &Encoder::new(&self.params).decode(plain)?,
                };
                // The diagonal is stored as RotR^g(d): its value for slot i is at i + g.
                for (i, x) in product.iter_mut().enumerate() {
                    let at = i + row.step;
                    *x += values[at & (values.len() - 1)] * v[(at + term.baby) & mask];
                }
            }
        }
        Ok(product)
    }
}

/// `d[(i - step) mod period]`.
fn shifted_right(diagonal: &[Complex64], step: usize) -> Vec<Complex64> {
    let mask = diagonal.len() - 1;
    (0..diagonal.len()).map(|i| diagonal[i.wrapping_sub(step) & mask]).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
