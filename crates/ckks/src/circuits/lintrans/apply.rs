//! Linear transforms on ciphertexts: metadata ([`LinearTransform::meta`]) beside computation
//! ([`CkksOps::transform`]), in the same steps.
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

#[cfg(doc)]
use crate::ErrorKind;
use std::collections::BTreeMap;

use bellerophon_mlwe as mlwe;

use super::{Giants, Hoisting, LinearTransform, Row};
use crate::{
    Bounds, Ciphertext, CiphertextMeta, During, Evaluator, Interval, Metadata, Result,
    bootstrap::auto_bootstrap,
    error,
    metadata::alignment::same_scale,
    noise::{ENCODING, Noise, Operand, encoding, times},
    origins::{Origins, Relation, Relations},
    rotation_plan::RotationCost,
    sparse_slots::Coefficients,
};

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

/// The effect of a rotation by a step on the metadata of a vector; none for step 0.
pub(crate) type RotationCosts<'s> = &'s dyn Fn(&Metadata, usize) -> Result<RotationCost>;

impl LinearTransform {
    /// The metadata of `M x`.
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
        rules.check_prepared(self.level(), x.level)?;
        let dropped = rules.drop_to_level(x, self.level()).during("drop_to_level")?;
        let meta = dropped.meta.repeated(self.slots, self.params.max_slots())?;
        self.check_range(&meta)?;
        Ok(Metadata { meta, ..dropped })
    }
}

impl Evaluator {
    /// Computes [`CkksOps::transform`](crate::CkksOps::transform).
    pub(crate) fn transform(&self, x: &Ciphertext, m: &LinearTransform) -> Result<Ciphertext> {
        let op = "transform";
        self.check(x).during(op)?;
        self.params().check_chain(&m.params).during(op)?;
        m.check_slots(&x.metadata()).during(op)?;
        let x = &*auto_bootstrap::raised(self, x, m.level())?;
        let costs = |x: &Metadata, step| self.rotation_cost(x, step).during(op);
        let metadata = m.meta(&x.metadata(), m.mixing(&x.origins), &costs).during(op)?;
        let origins = m.origins(&x.origins);

        // Step 1: the operand at the level of the transform.
        let x = self.drop_to_level(x, m.level())?;
        if m.options.hoisting == Hoisting::Double {
            // Steps 2 to 4 modulo P Q, the mod-down, and step 5.
            let inner = self.divided(self.transform_extended(&x, m).during(op)?)?;
            return Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, origins));
        }

        // Step 2: the rotations by baby steps share one decomposition.
        let steps: Vec<i64> = m.babies.iter().map(|&step| step as i64).collect();
        let rotated = self.rotate_many(&x, &steps)?;
        let babies: BTreeMap<usize, &Ciphertext> = m.babies.iter().copied().zip(&rotated).collect();

        // Steps 3 to 5.
        let mut product = self.transform_rotated(&babies, m)?;
        (product.meta, product.origins) = (metadata.meta, origins);
        Ok(product)
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
        let (rules, level, lattice) = (self.params.rules(), self.level(), self.params.lattice());
        let divisor = self.params.divisor(level);
        let rounding = mlwe::noise::rounding(lattice);
        let double = self.options.hoisting == Hoisting::Double;
        let switched = |step: usize| {
            let cost = costs(step);
            let added = cost.noise(&self.params, self.params.limbs_at(level));
            match cost {
                // Under double hoisting a giant step divides the mask only: the mod-down at the end
                // rounds the body once for all steps.
                RotationCost::Keys(count) if double => added - count as f64 * ENCODING,
                // A temporary rank takes ciphertexts modulo Q: one mod-down more.
                RotationCost::Raised(_) if double => added + rounding,
                _ => added,
            }
        };

        // The mod-down of double hoisting.
        let mut sum = Noise::new(if double { rounding } else { 0.0 });
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
                let operand = Operand { noise: noise(term.baby), ..x.operand() };
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

    /// The range of `M x`.
    pub(super) fn range(&self, x: &CiphertextMeta) -> Interval {
        let bound = x.bounds.slots().bound() * self.norm;
        let range = Interval::between(-bound, bound);
        if self.real && x.bounds.slots().is_real() { range } else { range.as_complex() }
    }

    /// Refuses an operand whose product would wrap, before the work is done.
    fn check_range(&self, x: &CiphertextMeta) -> Result<()> {
        let limbs = self.params.limbs_at(self.level());
        self.params.check_range(self.range(x).bound(), x.scale, limbs)
    }
}

impl Evaluator {
    /// `M x` from existing rotations of `x`: `rotated[b]` is `x` rotated to the left by `b` slots,
    /// for every `b` of [`LinearTransform::baby_steps`]. All have the transform's level and slot
    /// count and one scale.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] when a rotation is missing or does not fit the others, and for a
    /// transform of [`Hoisting::Double`], which rotates the operand itself; otherwise as for
    /// [`transform`](Self::transform).
    pub(crate) fn transform_rotated(
        &self,
        rotated: &BTreeMap<usize, &Ciphertext>,
        m: &LinearTransform,
    ) -> Result<Ciphertext> {
        let op = "transform";
        self.params().check_chain(&m.params).during(op)?;
        if m.options.hoisting == Hoisting::Double {
            let reason = "a transform hoisted twice takes the operand alone: prepare it with \
                          Hoisting::Single, or call transform";
            return Err(error::linear(reason.into()).during(op));
        }
        let common = self.common_meta(rotated, m).during(op)?;
        let mut giants = BTreeMap::new();
        for step in m.giant_steps() {
            giants.insert(
                step,
                self.rotation_cost(&rotated[&m.babies[0]].metadata(), step).during(op)?,
            );
        }
        let noise = |baby: usize| rotated[&baby].meta.noise;
        let mut origins = Relations::default();
        rotated.values().for_each(|x| origins.join(&x.origins, m.slots));
        let origins = m.origins(&origins.sum);
        let mixing = Mixing::Rotations(Relation::Related);
        let metadata = m.product_meta(&common, mixing, noise, |step| giants[&step]).during(op)?;

        // Steps 3 and 4: sums of products, then giant steps.
        let scale = common.scale * self.params().divisor(m.level());
        let meta = CiphertextMeta { scale, ..metadata.meta };
        let sum = self.sum_rows(rotated, m, &meta)?;
        // Step 5: rescale.
        let inner = self.divided(sum.inner)?;
        Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, origins))
    }

    /// The common metadata of rotated operands: the hull of their ranges and their largest noise.
    /// Refuses operands that do not fit the transform or each other.
    fn common_meta(
        &self,
        rotated: &BTreeMap<usize, &Ciphertext>,
        m: &LinearTransform,
    ) -> Result<CiphertextMeta> {
        let misfit = |reason: String| error::linear(reason);
        let mut common: Option<CiphertextMeta> = None;
        for step in &m.babies {
            let x = rotated.get(step).ok_or_else(|| {
                misfit(format!("the operand rotated by {step} is needed and was not given"))
            })?;
            self.check(x)?;
            // The first operand fixes the scale.
            let first = *common.get_or_insert(x.meta);
            let fits = x.level() == m.level()
                && x.meta().slots == m.slots
                && same_scale(x.scale(), first.scale);
            if !fits {
                return Err(misfit(format!(
                    "the operand rotated by {step} has {} slots at {}: need {} slots at level {} \
                     and one scale for all, here 2^{:.9}",
                    x.meta().slots,
                    x.standing(),
                    m.slots,
                    m.level(),
                    first.scale.log2()
                )));
            }
            let hull = |bounds: &Bounds| bounds.zip(&x.meta.bounds, Interval::hull);
            common = Some(CiphertextMeta {
                bounds: hull(&first.bounds),
                noise: first.noise.max(x.meta.noise),
                ..first
            });
        }
        common.ok_or_else(error::no_values)
    }

    /// Steps 3 and 4. Rows are summed up from the largest giant step down, a few at a time.
    fn sum_rows(
        &self,
        rotated: &BTreeMap<usize, &Ciphertext>,
        m: &LinearTransform,
        meta: &CiphertextMeta,
    ) -> Result<Ciphertext> {
        let mut sum: Option<Ciphertext> = None;
        let mut at = m.rows.last().map_or(0, |row| row.step);
        let together = (TOGETHER / self.params().limbs_at(m.level())).max(1);
        for rows in m.rows.rchunks(together) {
            let sums = self.sums_of_products(rotated, m, rows, meta)?;
            for (row, inner) in rows.iter().zip(sums).rev() {
                let inner = match m.options.giants {
                    Giants::Direct => self.rotate(&inner, row.step as i64)?,
                    // Horner: the sum so far is rotated by the stride down to this row.
                    Giants::Horner => {
                        sum = self.rotated_down(sum, m, at - row.step)?;
                        at = row.step;
                        inner
                    }
                };
                sum = Some(self.accumulate(sum, inner)?);
            }
        }
        // Horner: the smallest giant step need not be 0.
        let sum = match m.options.giants {
            Giants::Direct => sum,
            Giants::Horner => self.rotated_down(sum, m, at)?,
        };
        Ok(sum.expect("a transform has rows"))
    }

    /// A sum rotated by a multiple of the stride, by the stride each time.
    fn rotated_down(
        &self,
        mut sum: Option<Ciphertext>,
        m: &LinearTransform,
        step: usize,
    ) -> Result<Option<Ciphertext>> {
        for _ in 0..step.checked_div(m.stride).unwrap_or(0) {
            sum = sum.map(|sum| self.rotate(&sum, m.stride as i64)).transpose()?;
        }
        Ok(sum)
    }

    /// `sum + next` of the phases only: the metadata of the whole is known already.
    fn accumulate(&self, sum: Option<Ciphertext>, next: Ciphertext) -> Result<Ciphertext> {
        let Some(mut sum) = sum else { return Ok(next) };
        sum.inner.add_assign(self.params().lattice(), &next.inner)?;
        Ok(sum)
    }

    /// Step 3 for some giant steps, not rescaled: `sum_b d_b . x_b` for each.
    fn sums_of_products(
        &self,
        rotated: &BTreeMap<usize, &Ciphertext>,
        m: &LinearTransform,
        rows: &[Row],
        meta: &CiphertextMeta,
    ) -> Result<Vec<Ciphertext>> {
        let (params, sparse) = (self.params(), self.params().sparse());
        let babies: Vec<&mlwe::Ciphertext> = m.babies.iter().map(|b| &rotated[b].inner).collect();
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
            let (masks, key) = (columns.collect(), babies[0].ident().key);
            let inner = mlwe::Ciphertext::new(params.lattice(), body, masks, key)?;
            Ok(Ciphertext::at_level(params, inner, *meta, Origins::UNKNOWN))
        };
        sums.into_iter().map(ciphertext).collect()
    }
}
