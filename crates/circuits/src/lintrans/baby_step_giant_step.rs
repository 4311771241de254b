//! A linear transform as a [`Fused`] operation.
//!
//! ```text
//! Step 1:  bring the operand x to the level and slot count of the transform
//! Step 2:  x_b = RotL^b(x)                       for every baby step b, with one decomposition
//! Step 3:  s_g = sum_b RotR^g(d_{g+b}) . x_b     for every giant step g
//! Step 4:  y   = sum_g RotL^g(s_g)               one key for each g, or Horner with one stride
//! Step 5:  rescale y
//! ```
//!
//! With [`Hoisting::Double`], steps 2 to 4 stay modulo `P Q`, and one mod-down follows step 4. The
//! operand of [`LinearOptions::halved`](super::LinearOptions::halved) has a rotation of its own.

use std::collections::BTreeMap;

use bellerophon_ckks::cost::{Count, MatrixSteps, Switch, Trace};
use bellerophon_ckks::metadata::route::Route;
use bellerophon_ckks::noise::{self, ENCODING, Noise, encoding, times};
use bellerophon_ckks::noise_model::NoiseModel;
use bellerophon_ckks::origins::{Origins, Relation};
use bellerophon_ckks::rotation_plan::{RotationCost, RotationCosts};
use bellerophon_ckks::sparse_slots::Coefficients;
use bellerophon_ckks::vectors::{Fused, Operand, Planned, Scope, State, Vectors};
use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Complex64, Error, Evaluator, Interval, Metadata,
    Params, Result, refresh,
};
use bellerophon_mlwe as mlwe;

use super::{Giants, Hoisting, LinearTransform, Row, double::transform_extended};
use crate::error;

/// Limbs of the sums that are computed at a time, by column: more of them read the rotated operands
/// less often, and take more memory.
const TOGETHER: usize = 32;

/// How the errors of the rotations of one operand add up in the slots of a transform.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mixing {
    /// As variances, whatever their correlation: the matrix is a multiple of a unitary one, so the
    /// mean over the slots is exact, and the last of several such matrices returns each error to
    /// one coefficient or slot.
    Unitary,
    /// As the rotations of a vector whose slots have independent or related errors.
    Rotations(Relation),
}

/// Sums of errors, as variances and as amplitudes.
#[derive(Debug, Default)]
struct SumOfErrors {
    /// With factors by their root mean squares.
    variances: Noise,
    /// The roots of the variances, with factors by their bounds.
    amplitudes: Noise,
    /// With factors by their bounds.
    largest: Noise,
}

impl SumOfErrors {
    /// Adds an error times a factor of this size and bound.
    fn add(&mut self, noise: Noise, size: f64, bound: f64) {
        let plus = |x: f64, y: f64| x + y;
        self.variances = self.variances.zip(noise * size.powi(2), plus);
        self.largest = self.largest.zip(noise * bound.powi(2), plus);
        self.amplitudes = self.amplitudes.zip(noise, |sum, v| sum + times(v.sqrt(), bound));
    }

    /// The variances of the sum.
    fn total(&self, mixing: Mixing) -> Noise {
        let related = self.amplitudes.map(|sum| sum * sum);
        match mixing {
            Mixing::Unitary => self.variances,
            Mixing::Rotations(Relation::Related) => related,
            Mixing::Rotations(relation) => {
                // The roundings of constants are equal in all slots, those of plaintexts if the
                // slots of the operand share them.
                let Noise { bound, excess, constant, .. } = related;
                let plain = match relation {
                    Relation::Rounded => related.plain,
                    _ => self.variances.plain,
                };
                let Noise { total, plain: of_plain, constant: of_constant, .. } = self.variances;
                let shared = (plain - of_plain).max(0.0) + (constant - of_constant).max(0.0);
                let peak = self.largest.peak + shared;
                Noise { total: total + shared, peak, bound, excess, plain, constant }
            }
        }
    }
}

impl LinearTransform {
    pub(crate) fn meta(
        &self,
        x: &Metadata,
        mixing: Mixing,
        costs: RotationCosts<'_>,
    ) -> Result<Metadata> {
        // Step 1: the operand at the level and slot count of the transform.
        let operand = self.operand(x)?;
        let rules = self.params.rules();
        let double = self.options.hoisting == Hoisting::Double;
        let rounding = mlwe::noise::rounding(self.params.lattice());

        // Step 2: the rotations by baby steps.
        let mut babies = BTreeMap::new();
        for &step in &self.babies {
            let (far, near) = self.split(step);
            let operand = match far {
                0 => operand,
                far => rules.rotated(&operand, costs(&operand, far)?),
            };
            let cost = costs(&operand, near)?;
            let mut meta = rules.rotated(&operand, cost).meta;
            // Double hoisting leaves a rotation by one key modulo P Q: its mod-down does not round.
            // Rotations by several keys are computed before, with their mod-downs.
            if double && cost == RotationCost::Keys(1) {
                meta.noise += -rounding;
            }
            babies.insert(step, meta);
        }

        // Steps 3 to 5: products with diagonals, giant steps, rescale.
        let mut giants = BTreeMap::new();
        for step in self.giant_steps() {
            giants.insert(step, costs(&operand, step)?);
        }
        let mut common = operand.meta;
        if self.options.hoisting == Hoisting::Single {
            let bounds = babies.values().map(|meta| meta.bounds);
            let hull = bounds.reduce(|x, y| x.zip(&y, Interval::hull));
            common.bounds = hull.unwrap_or(common.bounds);
        }
        let mut product =
            self.product_meta(&common, mixing, |step| babies[&step].noise, |step| giants[&step])?;
        product.meta.len = x.meta.len;
        Ok(product)
    }

    /// Refuses vectors of fewer slots than the matrix: they would have to be repeated first.
    pub(crate) fn check_slots(&self, x: &Metadata) -> Result<()> {
        let (left, right) = (x.meta.slots, self.slots);
        if left < right {
            return Err(error::length_mismatch(left, right));
        }
        Ok(())
    }

    /// Step 1: the metadata of an operand at the level and slot count of the transform.
    pub(super) fn operand(&self, x: &Metadata) -> Result<Metadata> {
        let rules = self.params.rules();
        rules.check_prepared(self.level, x.level)?;
        let dropped = rules.drop_to_level(x, self.level)?;
        let meta = dropped.meta.repeated(self.slots, self.params.max_slots())?;
        self.check_range(&meta)?;
        Ok(Metadata { meta, ..dropped })
    }
}

impl Fused for LinearTransform {
    type Plan = ();

    fn name(&self) -> &'static str {
        "transform"
    }

    fn prepared_for(&self) -> Option<&Params> {
        Some(&self.params)
    }

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        // Whatever is refused is refused before a bootstrap.
        a.params().check_chain(&self.params)?;
        self.check_slots(&a.metadata(x[0]))?;
        Ok(vec![refresh::raised(a, x[0], self.level)?])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        let (rules, State { metadata, origins }) = (scope.rules(), &x[0]);
        rules.params().check_chain(&self.params)?;
        self.check_slots(metadata)?;
        let metadata = match rules.errors() {
            NoiseModel::Average => self.meta(metadata, self.mixing(origins), scope.costs())?,
            NoiseModel::Worst => self.bounded(rules, metadata)?,
        };
        Ok(Planned::one((), metadata, self.origins(origins)))
    }

    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        _: &Self::Plan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        // Step 1: the operand at the level of the transform.
        let x = e.follow(x[0], &Route::drop_to(self.level))?;
        let sum = match self.options.hoisting {
            // Steps 2 to 4 modulo P Q, and the mod-down.
            Hoisting::Double => transform_extended(e, &x, self)?,
            Hoisting::Single => {
                // Step 2: the rotations by baby steps share one decomposition.
                let steps: Vec<i64> = self.babies.iter().map(|&step| step as i64).collect();
                let rotated = e.rotate_many(&x, &steps)?;
                let babies = self.babies.iter().copied().zip(&rotated).collect();
                // Steps 3 and 4: sums of products, then giant steps.
                sum_rows(e, &babies, self)?
            }
        };
        // Step 5: rescale.
        Ok(vec![e.divided(sum)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![self.apply(x[0])?])
    }

    fn trace(&self, _: &[State], _: &Self::Plan, trace: &mut Trace<'_>) {
        let steps = self.rotation_steps().into_iter().map(|step| step as i64);
        trace.needs(self.rotations(), |keys| keys.rotate(steps, self.level));
        self.count(1.0, &mut trace.count);
    }
}

impl LinearTransform {
    /// Counts the work of a product. `part` is the fraction of the diagonals without a period that
    /// is encoded on the fly.
    pub(crate) fn count(&self, part: f64, count: &mut Count<'_>) {
        // Step 1: baby steps, giant steps and products with the diagonals. The matrix may have
        // special primes of its own.
        let at = Switch::at(&self.params, self.params.limbs_at(self.level));
        let (babies, giants, diagonals) = self.counts();
        let double = self.options.hoisting == Hoisting::Double;
        count.add(at.of_matrix(MatrixSteps { babies, giants, diagonals, double }));
        // The far step is a rotation, and its result has a decomposition of its own.
        if self.far().is_some() {
            count.add(at.whole());
            count.add(at.decomposition());
        }
        let limbs = if double { at.limbs + at.special } else { at.limbs };
        // Step 2: the encodings; a diagonal with a period is always encoded on the fly.
        for period in self.encoded_anew() {
            let part = if period == self.params.max_slots() { part } else { 1.0 };
            count.encodings(limbs, part, period);
        }
        count.rescaling(self.level);
    }
}

impl LinearTransform {
    /// The metadata of steps 3 to 5. `x` is the common part of the metadata of the rotated
    /// operands, `noise` the noise of the operand rotated by a baby step (without the rounding of
    /// the mod-down under double hoisting), `costs` the effect of a giant step.
    pub(super) fn product_meta(
        &self,
        x: &CiphertextMeta,
        mixing: Mixing,
        noise: impl Fn(usize) -> Noise,
        costs: impl Fn(usize) -> RotationCost,
    ) -> Result<Metadata> {
        self.check_range(x)?;
        let (rules, level, lattice) = (self.params.rules(), self.level, self.params.lattice());
        let divisor = self.params.divisor(level);
        let double = self.options.hoisting == Hoisting::Double;
        let switched = |step: usize| self.giant_noise(costs(step));

        // The mod-down of double hoisting.
        let mut sum = Noise::new(if double { mlwe::noise::rounding(lattice) } else { 0.0 });
        // The errors of the rotated operands, times their diagonals.
        let mut operands = SumOfErrors::default();
        // The roundings of the diagonals; equal diagonals have equal ones, also those of other
        // giant steps, whose rotations come after the products.
        let mut roundings = BTreeMap::<u64, Noise>::new();
        let degree = self.params.lattice().spec().degree;
        for row in &self.rows {
            // Step 3: products with the diagonals of one giant step.
            for term in &row.terms {
                let size = if double { term.rms } else { term.bound };
                let operand = noise::Operand { noise: noise(term.baby), ..x.operand() };
                let rounding = encoding(degree, operand, self.encoding(term.period));
                let same = roundings.entry(term.identity).or_insert(Noise::NONE);
                *same = same.sum(rounding, Relation::Related);
                operands.add(operand.noise, size * divisor, term.bound * divisor);
            }
            // Step 4, direct: one key switch for each giant step.
            if self.options.giants == Giants::Direct && row.step != 0 {
                sum += switched(row.step);
            }
        }
        // Step 4 by Horner: one key switch for each multiple of the stride.
        if self.options.giants == Giants::Horner && self.stride != 0 {
            let last = self.rows.last().map_or(0, |row| row.step);
            sum += (last / self.stride) as f64 * switched(self.stride);
        }

        // Step 5: rescale.
        roundings.into_values().for_each(|of_diagonal| sum += of_diagonal);
        sum += operands.total(mixing);
        let bounds = Bounds::all(self.range(x));
        let scale = x.scale * divisor;
        let meta = CiphertextMeta { scale, len: self.slots, bounds, noise: sum, ..*x };
        rules.rescaled(&Metadata { level, meta })
    }

    /// The noise of a giant step of this cost.
    fn giant_noise(&self, cost: RotationCost) -> f64 {
        let added = cost.noise(&self.params, self.params.limbs_at(self.level));
        let double = self.options.hoisting == Hoisting::Double;
        match cost {
            // Under double hoisting a giant step divides the mask only: the mod-down at the end
            // rounds the body once for all steps.
            RotationCost::Keys(count) if double => added - count as f64 * ENCODING,
            // A temporary rank takes ciphertexts modulo Q: one mod-down more.
            RotationCost::Raised(_) if double => {
                added + mlwe::noise::rounding(self.params.lattice())
            }
            _ => added,
        }
    }

    /// The rounding of a diagonal of this period: only every `N / 2 p`-th coefficient is not zero.
    fn encoding(&self, period: usize) -> f64 {
        ENCODING * period as f64 / self.params.max_slots() as f64
    }

    /// How the errors of an operand of these origins add up.
    pub(crate) fn mixing(&self, x: &Origins) -> Mixing {
        // Rotations by different steps have independent errors in each slot, unless several slots
        // of the operand share theirs.
        Mixing::Rotations(x.within())
    }

    /// The origins of the product with a vector of these origins: in all slots, with the roundings
    /// of the matrix.
    pub(crate) fn origins(&self, x: &Origins) -> Origins {
        let terms = self.rows.iter().flat_map(|row| &row.terms);
        let identity = terms.fold(0u64, |all, term| all.rotate_left(1) ^ term.identity);
        x.mixed_with(&Origins::plain([identity, 0]))
    }

    pub(super) fn range(&self, x: &CiphertextMeta) -> Interval {
        let bound = x.bounds.slots().bound() * self.norm;
        let range = Interval::between(-bound, bound);
        if self.real && x.bounds.slots().is_real() { range } else { range.as_complex() }
    }

    /// Refuses an operand whose product would wrap, before the work is done.
    fn check_range(&self, x: &CiphertextMeta) -> Result<()> {
        let limbs = self.params.limbs_at(self.level);
        self.params.check_range(self.range(x).bound(), x.scale, limbs)
    }
}

/// Rotations of one operand by their baby steps.
type Babies<'x> = BTreeMap<usize, &'x Ciphertext>;

/// Steps 3 and 4. Rows are summed up from the largest giant step down, a few at a time.
fn sum_rows(e: &Evaluator, rotated: &Babies<'_>, m: &LinearTransform) -> Result<mlwe::Ciphertext> {
    let (params, lattice) = (e.params(), e.params().lattice());
    let like = rotated.values().next().ok_or_else(error::no_values)?.metadata();
    let turned = |sum: &mlwe::Ciphertext, step: usize| {
        let rotated = e.rotation_path(&like, step)?.apply(params, sum)?;
        Ok::<_, Error>(rotated.into_owned())
    };
    // Horner: a sum rotated by a multiple of the stride, by the stride each time.
    let down = |mut sum: Option<mlwe::Ciphertext>, step: usize| {
        for _ in 0..step.checked_div(m.stride).unwrap_or(0) {
            sum = sum.map(|sum| turned(&sum, m.stride)).transpose()?;
        }
        Ok::<_, Error>(sum)
    };
    let mut sum: Option<mlwe::Ciphertext> = None;
    let mut at = m.rows.last().map_or(0, |row| row.step);
    let together = (TOGETHER / params.limbs_at(m.level)).max(1);
    for rows in m.rows.rchunks(together) {
        let sums = sums_of_products(e, rotated, m, rows)?;
        for (row, mut next) in rows.iter().zip(sums).rev() {
            match m.options.giants {
                Giants::Direct => next = turned(&next, row.step)?,
                // The sum so far is rotated down to this row.
                Giants::Horner => {
                    sum = down(sum, at - row.step)?;
                    at = row.step;
                }
            }
            match &mut sum {
                Some(sum) => sum.add_assign(lattice, &next)?,
                None => sum = Some(next),
            }
        }
    }
    // Horner: the smallest giant step need not be 0.
    if m.options.giants == Giants::Horner {
        sum = down(sum, at)?;
    }
    Ok(sum.expect("a transform has rows"))
}

/// Step 3 for some giant steps, not rescaled: `sum_b d_b . x_b` for each.
fn sums_of_products(
    e: &Evaluator,
    rotated: &Babies<'_>,
    m: &LinearTransform,
    rows: &[Row],
) -> Result<Vec<mlwe::Ciphertext>> {
    let (params, sparse) = (e.params(), e.params().sparse());
    let babies: Vec<&mlwe::Ciphertext> = m.babies.iter().map(|b| rotated[b].lattice()).collect();
    let columns = babies.iter().map(|x| std::iter::once(x.b()).chain(x.masks()).collect());
    let columns: Vec<Vec<_>> = columns.collect();
    let sums = m.weighted(rows, |coefficients| sparse.prepared(coefficients));
    let sums = params.ring(babies[0].limbs()).weighted_sums(
        &columns,
        &sums,
        |coefficients: &Coefficients, i, first, words| {
            sparse.write(coefficients, i, first, words);
        },
    );
    let ciphertext = |columns: Vec<_>| {
        let mut columns = columns.into_iter();
        let body = columns.next().expect("a ciphertext has a body");
        mlwe::Ciphertext::new(params.lattice(), body, columns.collect(), babies[0].ident().key)
    };
    sums.into_iter().map(ciphertext).collect()
}
