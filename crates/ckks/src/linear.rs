//! Products of slot matrices with encrypted vectors, by diagonals.
//!
//! A matrix in diagonal form ([`Diagonals`]) is applied by baby steps and giant steps
//! (PEGASUS Fig. 5, steps 2 and 3):
//!
//! ```text
//! M v = sum_g RotL^g( sum_b RotR^g(d_{g+b}) . RotL^b(v) ).
//! ```
//!
//! The baby rotations share one decomposition. The giant ones either have a key each, or are done
//! in the manner of Horner with ONE key for a common stride. Rescaling comes last, so the noise of
//! the giant rotations is divided by the dropped prime. Diagonals are encoded at the scale of that
//! prime: the scale of the result is that of the operand. Where there are many primes, sums may be
//! kept modulo `P Q` and divided by `P` once ([`Hoisting::Double`]).

mod account;
mod double;
mod options;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

pub(crate) use account::Turns;
use bellerophon_mlwe as mlwe;
use bellerophon_ring::{Ntt, Poly};
pub use options::{Giants, Hoisting, LinearOptions};

use crate::{
    Bounds, Ciphertext, Complex64, Error, Evaluator, Interval, Meta, Params, Plaintext, Result,
    books::same_scale,
    bootstrap::automatic,
    diagonals::{Diagonals, Schedule},
};

/// Diagonals encoded at a time when they are encoded during the product: bounds the memory.
const BATCH: usize = 16;

/// A slot matrix prepared for one level.
#[derive(Clone)]
pub struct LinearTransform {
    params: Params,
    slots: usize,
    options: LinearOptions,
    babies: Vec<usize>,
    /// In ascending order of their steps.
    rows: Vec<Row>,
    /// For [`Giants::Horner`]: all giant steps are multiples of it.
    stride: usize,
    norm: f64,
    real: bool,
}

/// One giant step: the diagonals summed before it, each with its baby step.
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
    /// Root of the mean square of its values.
    rms: f64,
}

#[derive(Clone)]
enum Diagonal {
    Encoded(Box<Plaintext>),
    /// Modulo the special primes as well.
    Extended {
        poly: Box<Poly<Ntt>>,
        values: Vec<Complex64>,
    },
    Values(Vec<Complex64>),
}

/// Shape only: entries and norms may be secret.
impl std::fmt::Debug for LinearTransform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinearTransform")
            .field("slots", &self.slots)
            .field("options", &self.options)
            .field("babies", &self.babies)
            .field("giants", &self.rows.len())
            .finish_non_exhaustive()
    }
}

impl LinearTransform {
    /// Prepares a matrix, with the baby and giant steps that its diagonals suggest.
    ///
    /// # Errors
    /// As for [`with_schedule`](Self::with_schedule).
    pub fn new(params: &Params, matrix: &Diagonals, options: LinearOptions) -> Result<Self> {
        Self::with_schedule(params, matrix, &matrix.schedule(), options)
    }

    /// Prepares a matrix with given steps: each diagonal `k` that a giant step `g` lists under the
    /// baby step `b` has `k = (g + b) mod slots`.
    ///
    /// # Errors
    /// [`Error::Linear`] for a matrix without diagonals or a schedule that misses one;
    /// [`Error::OutOfLevels`] for level 0; [`Error::LevelTooHigh`], [`Error::TooManyValues`],
    /// [`Error::NonFinite`], [`Error::RangeOverflow`] where the matrix does not fit the parameters.
    pub fn with_schedule(
        params: &Params,
        matrix: &Diagonals,
        schedule: &Schedule,
        options: LinearOptions,
    ) -> Result<Self> {
        let op = "prepare a linear transform";
        let slots = matrix.slots();
        if slots > params.max_slots() {
            return Err(Error::TooManyValues { op, found: slots, slots: params.max_slots() });
        }
        params.check_level(op, options.level)?;
        if options.level == 0 {
            return Err(Error::OutOfLevels { op, needed: 1, left: 0 });
        }
        let mut transform = Self {
            params: params.clone(),
            slots,
            options,
            babies: schedule.baby.clone(),
            rows: Vec::with_capacity(schedule.giant.len()),
            stride: 0,
            norm: matrix.norm(),
            real: true,
        };
        let mut covered = BTreeSet::new();
        for giant in &schedule.giant {
            if giant.babies.is_empty() || giant.step >= slots {
                let reason =
                    format!("giant step {}: need one below {slots} with a baby step", giant.step);
                return Err(Error::Linear { op, reason });
            }
            let mut terms = Vec::with_capacity(giant.babies.len());
            for &baby in &giant.babies {
                let index = giant.step.wrapping_add(baby) % slots;
                let reason = |what: &str| format!("{what} (baby {baby}, giant {})", giant.step);
                let diagonal = matrix.diagonal(index).ok_or_else(|| Error::Linear {
                    op,
                    reason: reason("the schedule names a diagonal that the matrix does not have"),
                })?;
                if schedule.baby.binary_search(&baby).is_err() {
                    let reason = reason("the baby step is not among those of the schedule");
                    return Err(Error::Linear { op, reason });
                }
                crate::encode::check_values(op, diagonal, slots)?;
                let bound = diagonal.iter().map(|z| z.norm()).fold(0.0, f64::max);
                let (scale, limbs) =
                    (params.divisor(options.level), params.limbs_at(options.level));
                params.check_range(op, bound, scale, limbs)?;
                transform.real &= diagonal.iter().all(|z| z.im == 0.0);
                let squares: f64 = diagonal.iter().map(|z| z.norm_sqr()).sum();
                let rms = (squares / diagonal.len() as f64).sqrt();
                let shifted = shifted_right(diagonal, giant.step);
                terms.push(Term { baby, diagonal: transform.prepare(shifted)?, bound, rms });
                if !covered.insert(index) {
                    let reason = reason("the schedule names a diagonal twice");
                    return Err(Error::Linear { op, reason });
                }
            }
            transform.rows.push(Row { step: giant.step, terms });
        }
        if covered.len() != matrix.len() || covered.is_empty() {
            let (found, covered) = (matrix.len(), covered.len());
            let reason = format!(
                "the schedule covers {covered} of {found} diagonals, need all of at least 1"
            );
            return Err(Error::Linear { op, reason });
        }
        transform.rows.sort_by_key(|row| row.step);
        transform.stride = transform.rows.iter().fold(0, |acc, row| gcd(acc, row.step));
        Ok(transform)
    }

    fn prepare(&self, values: Vec<Complex64>) -> Result<Diagonal> {
        Ok(match (self.options.encode_ahead, self.options.hoisting) {
            (false, _) => Diagonal::Values(values),
            (true, Hoisting::Single) => Diagonal::Encoded(Box::new(self.encode(&values)?)),
            (true, Hoisting::Double) => {
                Diagonal::Extended { poly: Box::new(self.encode_extended(&values)), values }
            }
        })
    }

    /// As [`encode`](Self::encode), modulo the special primes as well. Values and range were
    /// checked when the matrix was prepared.
    fn encode_extended(&self, values: &[Complex64]) -> Poly<Ntt> {
        let encoder = crate::Encoder::new(&self.params);
        let limbs = self.params.limbs_at(self.level());
        encoder.encode_extended(values, self.params.divisor(self.level()), limbs)
    }

    fn encode(&self, values: &[Complex64]) -> Result<Plaintext> {
        let encoder = crate::Encoder::new(&self.params);
        encoder.constant_factor("encode a diagonal", values, values.len(), self.options.level)
    }

    /// The plaintext of a diagonal, encoded now unless it was ahead.
    fn encoded<'d>(&self, diagonal: &'d Diagonal) -> Result<Cow<'d, Plaintext>> {
        match diagonal {
            Diagonal::Encoded(plain) => Ok(Cow::Borrowed(plain)),
            Diagonal::Values(values) => self.encode(values).map(Cow::Owned),
            Diagonal::Extended { .. } => unreachable!("made for double hoisting only"),
        }
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Level that operands are brought to.
    pub fn level(&self) -> usize {
        self.options.level
    }

    /// The rotations of the operand that it takes, 0 included where used: what
    /// [`Evaluator::transform_rotated`] must be given.
    pub fn baby_steps(&self) -> &[usize] {
        &self.babies
    }

    /// The rotations of the sums that it takes keys for.
    pub fn giant_steps(&self) -> Vec<usize> {
        match self.options.giants {
            Giants::Direct => self.rows.iter().map(|row| row.step).filter(|&s| s != 0).collect(),
            Giants::Horner if self.stride == 0 => vec![],
            Giants::Horner => vec![self.stride],
        }
    }

    /// All rotations that it takes keys for, babies and giants.
    pub fn rotation_steps(&self) -> Vec<usize> {
        let mut steps = self.giant_steps();
        steps.extend(self.babies.iter().filter(|&&step| step != 0));
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Largest sum of moduli of a row: by how much the transform may enlarge the largest slot.
    pub fn norm(&self) -> f64 {
        self.norm
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Key switches of one product, where every step has a key of its own.
    pub fn rotations(&self) -> usize {
        let (babies, giants, _) = self.counts();
        babies + giants
    }

    /// Rotations by baby steps and by giant steps, and diagonals.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let babies = self.babies.iter().filter(|&&step| step != 0).count();
        let last = self.rows.last().map_or(0, |row| row.step);
        let giants = match self.options.giants {
            Giants::Direct => self.giant_steps().len(),
            Giants::Horner => last.checked_div(self.stride).unwrap_or(0),
        };
        (babies, giants, self.rows.iter().map(|row| row.terms.len()).sum())
    }

    pub(crate) fn hoisting(&self) -> Hoisting {
        self.options.hoisting
    }

    /// Has the memory at hand in which it is applied: sums of all rows, or rotated operands.
    pub(crate) fn reserve(&self) {
        let (lattice, limbs) = (self.params.lattice(), self.params.limbs_at(self.level()));
        let columns = lattice.rank() + 1;
        match self.options.hoisting {
            Hoisting::Double => {
                lattice.gadget().ring(limbs).reserve(columns * (self.rows.len() + 2));
            }
            Hoisting::Single => {
                lattice.q().prefix(limbs).reserve(columns * (self.babies.len() + 6));
            }
        }
    }

    /// The product with a plain vector of as many entries as there are slots.
    pub(crate) fn apply(&self, v: &[Complex64]) -> Result<Vec<Complex64>> {
        let mask = self.slots - 1;
        let mut product = vec![Complex64::ZERO; self.slots];
        for row in &self.rows {
            for term in &row.terms {
                let values = match &term.diagonal {
                    Diagonal::Values(values) | Diagonal::Extended { values, .. } => values,
                    Diagonal::Encoded(plain) => &crate::Encoder::new(&self.params).decode(plain)?,
                };
                for (i, x) in product.iter_mut().enumerate() {
                    let at = i + row.step;
                    *x += values[at & (values.len() - 1)] * v[(at + term.baby) & mask];
                }
            }
        }
        Ok(product)
    }
}

impl Evaluator {
    /// `M x`. Takes one level from the transform's own.
    ///
    /// The matrix acts on all slots: padding is multiplied by its columns as any value is. The result
    /// has as many values as `x`.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] when the operand is below the transform's level,
    /// [`Error::LengthMismatch`] when it has fewer slots than the matrix (see
    /// [`Ciphertext::broadcast`] and [`Ciphertext::repeated`]), [`Error::SlotCount`] when it has more,
    /// [`Error::MissingRotationKey`],
    /// [`Error::RangeOverflow`] and mismatches.
    pub fn transform(&self, x: &Ciphertext, m: &LinearTransform) -> Result<Ciphertext> {
        let op = "linear transform";
        self.check(op, x)?;
        self.params().check_chain(op, &m.params)?;
        m.check_slots(op, &x.account())?;
        let x = &*automatic::raised(self, x, m.level())?;
        let account = m.account(op, &x.account(), &|x, step| self.turn(op, x, step))?;
        let x = self.drop_to_level(x, m.level())?;
        if m.options.hoisting == Hoisting::Double {
            let inner = self.divided(self.transform_extended(op, &x, m)?)?;
            return Ok(Ciphertext::at_level(self.params(), inner, account.meta));
        }
        let steps: Vec<i64> = m.babies.iter().map(|&step| step as i64).collect();
        let rotated = self.rotate_many(&x, &steps)?;
        let babies: BTreeMap<usize, &Ciphertext> = m.babies.iter().copied().zip(&rotated).collect();
        let mut product = self.transform_rotated(&babies, m)?;
        product.meta = account.meta;
        Ok(product)
    }

    /// `M x` from rotations of `x` that exist already: `rotated[b]` holds `x` rotated to the left by
    /// `b` slots, for every `b` of [`LinearTransform::baby_steps`], all at the transform's level, of
    /// its slot count and of one scale.
    ///
    /// # Errors
    /// [`Error::Linear`] when a rotation is missing or does not fit the others, and for a transform of
    /// [`Hoisting::Double`], which makes its rotations itself; otherwise as for
    /// [`transform`](Self::transform).
    pub fn transform_rotated(
        &self,
        rotated: &BTreeMap<usize, &Ciphertext>,
        m: &LinearTransform,
    ) -> Result<Ciphertext> {
        let op = "linear transform";
        self.params().check_chain(op, &m.params)?;
        let misfit = |reason: String| Error::Linear { op, reason };
        if m.options.hoisting == Hoisting::Double {
            return Err(misfit(
                "a transform hoisted twice takes the operand alone: prepare it with \
                 Hoisting::Single, or call transform"
                    .into(),
            ));
        }
        let mut common: Option<Meta> = None;
        for step in &m.babies {
            let x = rotated.get(step).ok_or_else(|| {
                misfit(format!("the operand rotated by {step} is needed and was not given"))
            })?;
            self.check(op, x)?;
            let first = *common.get_or_insert(x.meta);
            let fits = x.level() == m.level()
                && x.slots() == m.slots
                && same_scale(x.scale(), first.scale);
            if !fits {
                return Err(misfit(format!(
                    "the operand rotated by {step} has {} slots at {}: need {} slots at level {} \
                     and one scale for all, here 2^{:.9}",
                    x.slots(),
                    x.standing(),
                    m.slots,
                    m.level(),
                    first.scale.log2()
                )));
            }
            let hull = |bounds: &Bounds| bounds.zip(&x.meta.bounds, Interval::hull);
            common = Some(Meta {
                bounds: hull(&first.bounds),
                noise: first.noise.max(x.meta.noise),
                ..first
            });
        }
        let common = common.ok_or(Error::NoValues { op })?;
        let mut turns = BTreeMap::new();
        for step in m.giant_steps() {
            turns.insert(step, self.turn(op, &rotated[&m.babies[0]].account(), step)?);
        }
        let noise = |baby: usize| rotated[&baby].meta.noise;
        let account = m.product(op, &common, noise, |step| turns[&step])?;
        let scale = common.scale * self.params().divisor(m.level());
        let meta = Meta { scale, ..account.meta };
        let sum = match m.options.giants {
            Giants::Direct => self.sum_direct(rotated, m, &meta)?,
            Giants::Horner => self.sum_horner(rotated, m, &meta)?,
        };
        Ok(Ciphertext::at_level(self.params(), self.divided(sum.inner)?, account.meta))
    }

    fn sum_direct(
        &self,
        rotated: &BTreeMap<usize, &Ciphertext>,
        m: &LinearTransform,
        meta: &Meta,
    ) -> Result<Ciphertext> {
        let mut sum: Option<Ciphertext> = None;
        for row in &m.rows {
            let inner = self.row_sum(rotated, m, row, meta)?;
            let inner = self.rotate(&inner, row.step as i64)?;
            sum = Some(self.accumulate(sum, inner)?);
        }
        Ok(sum.expect("a transform has rows"))
    }

    fn sum_horner(
        &self,
        rotated: &BTreeMap<usize, &Ciphertext>,
        m: &LinearTransform,
        meta: &Meta,
    ) -> Result<Ciphertext> {
        let mut sum: Option<Ciphertext> = None;
        let mut at = m.rows.last().map_or(0, |row| row.step);
        for row in m.rows.iter().rev() {
            while let Some(s) = sum.take() {
                if at == row.step {
                    sum = Some(s);
                    break;
                }
                sum = Some(self.rotate(&s, m.stride as i64)?);
                at -= m.stride;
            }
            let inner = self.row_sum(rotated, m, row, meta)?;
            sum = Some(self.accumulate(sum, inner)?);
        }
        let mut sum = sum.expect("a transform has rows");
        while at > 0 {
            sum = self.rotate(&sum, m.stride as i64)?;
            at -= m.stride;
        }
        Ok(sum)
    }

    /// `sum + next`, of which only the phase counts: the account of the whole is known.
    fn accumulate(&self, sum: Option<Ciphertext>, next: Ciphertext) -> Result<Ciphertext> {
        let Some(mut sum) = sum else { return Ok(next) };
        sum.inner.add_assign(self.params().lattice(), &next.inner)?;
        Ok(sum)
    }

    /// `sum_b d_b . x_b` of one giant step, unscaled.
    fn row_sum(
        &self,
        rotated: &BTreeMap<usize, &Ciphertext>,
        m: &LinearTransform,
        row: &Row,
        meta: &Meta,
    ) -> Result<Ciphertext> {
        let lattice = self.params().lattice();
        let mut total: Option<mlwe::Ciphertext> = None;
        for batch in row.terms.chunks(BATCH) {
            let encoded = each(batch, |term| m.encoded(&term.diagonal))?;
            let factors: Vec<(&Plaintext, &Ciphertext)> = batch
                .iter()
                .zip(&encoded)
                .map(|(term, plain)| (&**plain, rotated[&term.baby]))
                .collect();
            let partial = self.inner_product(&factors)?;
            total = Some(match total {
                None => partial,
                Some(mut total) => {
                    total.add_assign(lattice, &partial)?;
                    total
                }
            });
        }
        let inner = total.expect("a row has terms");
        Ok(Ciphertext::at_level(self.params(), inner, *meta))
    }

    fn inner_product(&self, factors: &[(&Plaintext, &Ciphertext)]) -> Result<mlwe::Ciphertext> {
        let (_, first) = factors[0];
        let ring = self.params().ring(first.limbs());
        let body: Vec<_> = factors.iter().map(|(p, x)| (&p.poly, x.inner.b())).collect();
        let masks = (0..first.inner.rank())
            .map(|i| {
                let pairs: Vec<_> = factors.iter().map(|(p, x)| (&p.poly, x.inner.a(i))).collect();
                ring.sum_of_products(&pairs)
            })
            .collect();
        let body = ring.sum_of_products(&body);
        Ok(mlwe::Ciphertext::new(self.params().lattice(), body, masks, first.key())?)
    }
}

/// `f` of every term of a batch, on several threads where there are any.
fn each<'t, T: Send>(
    batch: &'t [Term],
    f: impl Fn(&'t Term) -> Result<T> + Sync + Send,
) -> Result<Vec<T>> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        batch.par_iter().map(f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    batch.iter().map(f).collect()
}

/// `d[(i - step) mod period]`.
fn shifted_right(diagonal: &[Complex64], step: usize) -> Vec<Complex64> {
    let mask = diagonal.len() - 1;
    (0..diagonal.len()).map(|i| diagonal[i.wrapping_sub(step) & mask]).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
