//! Sums over slots, and sums of many products. Metadata (`impl MetadataRules`) beside computation
//! (`impl Evaluator`).
//!
//! A sum of `n` rotations doubles or quadruples a window in stages: with
//! `W_m[j] = x[j] + .. + x[j + m - 1]`
//!
//! ```text
//! W_{r m + t} = sum_{i < r} RotL^{i m}(W_m) + sum_{i < t} RotL^{r m + i}(x).
//! ```
//!
//! The rotations of one window share its decomposition, and one mod-down ends each stage (Full-RNS
//! HEAAN, section 5.2, uses the plain doublings of HEAAN's algorithm 2). A stage of radix 4 takes
//! three keys and about three quarters of the time of two doublings; without its keys, doublings
//! replace it.

#[cfg(doc)]
use crate::ErrorKind;
use bellerophon_mlwe::{self as mlwe, CiphertextQP, HoistedDigits};

use super::Evaluator;
#[cfg(doc)]
use crate::ComposedOps;
use crate::noise::Noise;
use crate::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, During, Interval, KeyLevels, Metadata, Plaintext,
    Result, SlotValue,
    bootstrap::auto_bootstrap,
    error,
    error::LevelScale,
    eval::mask::cleared,
    lengths::check_len,
    metadata::{alignment::same_scale, rules::MetadataRules},
    origins::{Origins, Relation, Relations},
    rotation_plan::{RotationCost, RotationPath},
};

/// One stage: `radix` windows of length `window`, and `tail` single slots after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stage {
    window: usize,
    radix: usize,
    tail: usize,
}

impl Stage {
    /// The last stage towards `count`, by quarters or by halves.
    fn last(count: usize, radix: usize) -> Self {
        if count < radix {
            return Self { window: 1, radix: count, tail: 0 };
        }
        Self { window: count / radix, radix, tail: count % radix }
    }

    /// Distances of the rotations of the window, and of the operand itself.
    fn distances(
        self,
    ) -> (impl Iterator<Item = usize> + Clone, impl Iterator<Item = usize> + Clone) {
        let Self { window, radix, tail } = self;
        ((1..radix).map(move |i| i * window), (0..tail).map(move |i| radix * window + i))
    }
}

/// The stages of a sum of `count` terms in the order of application. `usable` tells whether a stage
/// of radix 4 has its keys.
fn stages(mut count: usize, usable: impl Fn(Stage) -> bool) -> Vec<Stage> {
    let mut stages = Vec::new();
    while count > 1 {
        let stage = Some(Stage::last(count, 4)).filter(|&stage| usable(stage));
        let stage = stage.unwrap_or_else(|| Stage::last(count, 2));
        count = stage.window;
        stages.push(stage);
    }
    stages.reverse();
    stages
}

impl KeyLevels {
    /// The rotations of [`ComposedOps::inner_sum`] up to `level`.
    #[must_use]
    pub fn inner_sum(mut self, count: usize, stride: i64, level: usize) -> Self {
        for stage in stages(count, |_| true) {
            let (window, single) = stage.distances();
            // The slots are a power of two: steps may wrap around.
            self =
                self.rotate(window.chain(single).map(|d| (d as i64).wrapping_mul(stride)), level);
        }
        self
    }

    /// The rotations of [`ComposedOps::sum_slots`] for vectors of `slots` slots, up to `level`.
    #[must_use]
    pub fn sum_slots(self, slots: usize, level: usize) -> Self {
        self.inner_sum(slots, 1, level)
    }

    /// The rotations of [`ComposedOps::replicate`] up to `level`.
    #[must_use]
    pub fn replicate(self, count: usize, stride: i64, level: usize) -> Self {
        self.inner_sum(count, stride.wrapping_neg(), level)
    }
}

/// The sum of `count` slots at distance `stride`; see [`ComposedOps::inner_sum`].
pub(crate) fn inner_sum<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    count: usize,
    stride: i64,
) -> Result<A::Ciphertext> {
    let slots = a.metadata(x).meta.slots;
    if count == 0 || count > slots {
        let what = "slots or blocks to add up";
        return Err(error::count_out_of_range(what, count, 1, slots));
    }
    // Step 1: padding that may not be zero is cleared.
    let x = &*cleared(a, x)?;
    let metadata = a.metadata(x);
    let CiphertextMeta { len, bounds, .. } = metadata.meta;
    // Step 2: the range of the sum is known in advance, tighter than that of the stages added up.
    let bounds = match count {
        1 => bounds,
        // An odd distance reaches all slots; the padding is zero.
        _ if count == slots && stride % 2 != 0 => Bounds::all(bounds.values.scale(len as f64)),
        _ => Bounds::all(bounds.slots().scale(count as f64)),
    };
    let meta = CiphertextMeta { bounds, ..metadata.meta };
    a.params().rules().check_range(&Metadata { meta, ..metadata })?;
    // Step 3: the stages as rotations, radix 4 only where each rotation has a key of its own.
    let step = |distance: usize| {
        (distance as i64 * stride.rem_euclid(slots as i64)).rem_euclid(slots as i64)
    };
    // A stage of radix 4 takes three keys; with a composed rotation it would be slower than two
    // doublings.
    let usable = |stage: Stage| {
        let (window, single) = stage.distances();
        window.chain(single).map(step).all(|step| a.rotates_by(x, step))
    };
    // Step 4: every stage: windows of the sum so far, and single slots of the operand.
    let mut sum = x.clone();
    for stage in stages(count, usable) {
        let (window, single) = stage.distances();
        let window: Vec<i64> = std::iter::once(0).chain(window).map(step).collect();
        let single: Vec<i64> = single.map(step).collect();
        sum = a.sum_of_rotations(&[(&sum, &window), (x, &single)])?;
    }
    // Step 5: the range known in advance replaces that of the stages.
    let meta = CiphertextMeta { bounds, ..a.metadata(&sum).meta };
    Ok(a.with_metadata(sum, meta))
}

/// A step modulo the slots.
fn normal(step: i64, slots: usize) -> usize {
    step.rem_euclid(slots as i64) as usize
}

/// The relations of a sum of rotations of vectors of a period of `slots` slots.
pub(crate) fn rotated_origins<'a>(
    terms: impl IntoIterator<Item = (&'a Origins, &'a [i64])>,
    slots: usize,
) -> Relations {
    let mut relations = Relations::default();
    for (x, steps) in terms {
        steps.iter().for_each(|&step| relations.join(&x.rotated(step, slots), slots));
    }
    relations
}

impl MetadataRules<'_> {
    /// The metadata of [`Evaluator::sum_of_rotations`] of aligned vectors; `summands` are the
    /// relations of its terms, rotation by rotation, and `cost` is the effect of a rotation by a
    /// step.
    pub(crate) fn sum_of_rotations(
        self,
        terms: &[(Metadata, &[i64])],
        summands: &[Relation],
        mut cost: impl FnMut(usize) -> Result<RotationCost>,
    ) -> Result<Metadata> {
        let op = "sum_of_rotations";
        let (first, _) = terms.first().ok_or_else(error::no_values).during(op)?;
        let slots = first.meta.slots;
        // Step 1: one slot count and length for all, as one level and scale; the range of the sum.
        let mut bounds: Option<Bounds> = None;
        for (x, steps) in terms {
            let found = x.meta.slots;
            if found != slots {
                return Err(error::slot_count(found, slots, slots).during(op));
            }
            check_len(first.meta.len, x.meta.len).during(op)?;
            for &step in *steps {
                let moved = normal(step, slots) != 0;
                let term = if moved { x.meta.bounds.mixed() } else { x.meta.bounds };
                bounds = Some(bounds.map_or(term, |sum| sum.zip(&term, Interval::add)));
            }
        }
        let bounds = bounds.ok_or_else(error::no_values).during(op)?;
        let mut sum = Metadata { meta: CiphertextMeta { bounds, ..first.meta }, ..*first };
        self.check_range(&sum).during(op)?;

        // Step 2: the noise. Rotations by one key share one mod-down, and its rounding.
        let limbs = self.params().limbs_at(first.level);
        let rounding = mlwe::noise::rounding(self.params().lattice());
        let (errors, mut noise, mut late) = (self.errors(), Noise::NONE, 0.0);
        let mut summands = summands.iter();
        for (x, steps) in terms {
            for &step in *steps {
                let relation = *summands.next().unwrap_or(&Relation::Related);
                noise = errors.sum(noise, self.taken_for(x, first.meta.scale), relation);
                let cost = cost(normal(step, slots))?;
                let mut added = cost.noise(self.params(), limbs);
                if cost == RotationCost::Keys(1) {
                    added -= rounding;
                    late = rounding;
                }
                noise = errors.with(noise, self.source(added));
            }
        }
        sum.meta.noise = errors.with(noise, self.source(late));
        Ok(sum)
    }

    /// The metadata of [`Evaluator::dot_plain`] for products of these relations, and the level of
    /// the products.
    pub(crate) fn dot_plain(
        self,
        terms: &[(Metadata, Metadata)],
        relations: &Relations,
    ) -> Result<(usize, Metadata)> {
        let level = terms.iter().map(|(x, p)| x.level.min(p.level)).min();
        let level = level.ok_or_else(error::no_values)?;
        self.check_levels(1, level)?;
        // One rescale for all products, so they must agree in scale before it.
        let target = terms[0].0.meta.scale * terms[0].1.meta.scale;
        let largest = terms.iter().map(|(_, p)| p.meta.bounds.slots().bound()).fold(0.0, f64::max);
        self.check_constants(largest, terms[0].1.meta.scale)?;
        let mut sum: Option<Metadata> = None;
        let relations = relations.factors.iter().zip(&relations.summands);
        for ((x, p), (&factors, &relation)) in terms.iter().zip(relations) {
            let scale = x.meta.scale * p.meta.scale;
            if !same_scale(scale, target) {
                let standing = |scale: f64| LevelScale { level, log2_scale: scale.log2() };
                return Err(error::other_scale(
                    "a product",
                    standing(scale),
                    standing(target),
                    "encode the factors for one level (`encode_factor`)",
                ));
            }
            let term = self.plain_term(&self.drop_to_level(x, level)?, p, factors)?;
            sum = Some(match sum {
                None => term,
                Some(sum) => self.sum(&sum, &term, relation, Interval::add)?,
            });
        }
        let sum = sum.ok_or_else(error::no_values)?;
        Ok((level, self.rescaled(&sum)?))
    }
}

impl Evaluator {
    /// Computes [`CkksOps::sum_of_rotations`](crate::CkksOps::sum_of_rotations).
    pub(crate) fn sum_of_rotations(&self, terms: &[(&Ciphertext, &[i64])]) -> Result<Ciphertext> {
        let op = "sum_of_rotations";
        // Step 1: all vectors at one level and one scale.
        terms.iter().try_for_each(|(x, _)| self.check(x).during(op))?;
        let given: Vec<_> = terms.iter().map(|&(x, _)| x).collect();
        let given = auto_bootstrap::all_aligned(self, &given)?;
        let metadata: Vec<_> = given.iter().map(|x| x.metadata()).collect();
        let routes = self.rules().align_all(&metadata).during(op)?;
        let aligned = given.iter().zip(&routes).map(|(x, to)| self.follow(x, to).during(op));
        let aligned = aligned.collect::<Result<Vec<_>>>()?;
        let terms: Vec<_> =
            aligned.iter().zip(terms).map(|(x, &(_, steps))| (&**x, steps)).collect();
        // Step 2: the metadata of the sum, or an error before the rotations.
        let operands: Vec<_> = terms.iter().map(|&(x, steps)| (x.metadata(), steps)).collect();
        let first = terms.first().ok_or_else(error::no_values).during(op)?.0;
        let relations =
            rotated_origins(terms.iter().map(|&(x, steps)| (&x.origins, steps)), first.meta.slots);
        let metadata = self.rules().sum_of_rotations(&operands, &relations.summands, |step| {
            self.rotation_cost(&first.metadata(), step).during(op)
        })?;
        let lattice = self.params().lattice();
        // Step 3: two sums: of finished rotations modulo Q, and of rotations by one key modulo P Q.
        let mut sum: Option<mlwe::Ciphertext> = None;
        let mut late: Option<CiphertextQP> = None;
        let mut add = |ct: mlwe::Ciphertext| -> Result<()> {
            match &mut sum {
                Some(sum) => sum.add_assign(lattice, &ct)?,
                None => sum = Some(ct),
            }
            Ok(())
        };
        for &(x, steps) in &terms {
            let mut digits = None;
            for &step in steps {
                let path =
                    self.rotation_path(&x.metadata(), normal(step, x.meta().slots)).during(op)?;
                // By one key: waits for the common mod-down. Anything else is finished here.
                let key = match &path {
                    RotationPath::Keys(keys, exponents) if exponents.len() == 1 => {
                        keys.get(exponents[0]).during(op)?
                    }
                    _ => {
                        add(path.apply(self.params(), &x.inner)?.into_owned())?;
                        continue;
                    }
                };
                // Hoisting: one decomposition for all rotations of x.
                let digits = match &digits {
                    Some(digits) => digits,
                    None => digits.insert(HoistedDigits::new(lattice, x.inner.masks())?),
                };
                let rotated = key.apply_extended(lattice, &x.inner, digits)?;
                match &mut late {
                    Some(late) => late.add_assign(lattice, &rotated)?,
                    None => late = Some(rotated),
                }
            }
        }
        // Step 4: one mod-down for all rotations by one key.
        if let Some(late) = late {
            add(late.mod_down(lattice)?)?;
        }
        let inner = sum.ok_or_else(error::no_values).during(op)?;
        Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, relations.sum))
    }

    /// Computes [`CkksOps::rotates_by`](crate::CkksOps::rotates_by).
    pub(crate) fn rotates_by(&self, x: &Ciphertext, step: i64) -> bool {
        let step = normal(step, x.meta().slots);
        let keys = self.keys().rotations(x.meta().slots, x.lattice().limbs());
        step == 0 || keys.contains_key(&step)
    }

    /// `sum_i x_i p_i` of ciphertexts and encoded vectors with one rescale. Takes one level from
    /// the lowest operand.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless there are as many plaintexts as ciphertexts,
    /// [`ErrorKind::Length`] for none, [`ErrorKind::Length`] unless all have as many
    /// values, [`ErrorKind::Scale`] unless all products agree in scale, and those of
    /// [`mul_plain`](Self::mul_plain).
    pub fn dot_plain(&self, x: &[&Ciphertext], p: &[&Plaintext]) -> Result<Ciphertext> {
        let op = "dot product with plaintexts";
        check_lengths(x.len(), p.len()).during(op)?;
        x.iter().try_for_each(|x| self.check(x).during(op))?;
        p.iter().try_for_each(|p| self.check_plain(p).during(op))?;
        // Step 1: bootstrap operands that are short of levels; encode their factors again.
        let x = auto_bootstrap::alike(self, x)?;
        let x: Vec<&Ciphertext> = x.iter().map(|x| &**x).collect();
        let p = x.iter().zip(p).map(|(x, p)| self.lifted(x, p)).collect::<Result<Vec<_>>>()?;
        self.plain_products(&x, &p.iter().map(|p| &**p).collect::<Vec<_>>()).during(op)
    }

    /// `sum_i x_i p_i` of vectors that have the levels.
    fn plain_products(&self, x: &[&Ciphertext], p: &[&Plaintext]) -> Result<Ciphertext> {
        // Step 1: the metadata, and all operands at the level of the products.
        let terms: Vec<_> = x.iter().zip(p).map(|(x, p)| (x.metadata(), p.metadata())).collect();
        let origins: Vec<_> = p.iter().map(|p| p.origins()).collect();
        let of_p = origins.iter().zip(p).map(|(origins, p)| (origins, p.slots));
        let pairs = x.iter().zip(of_p).map(|(x, of_p)| [x.periodic(), of_p]);
        let relations = Relations::new(&pairs.collect::<Vec<_>>(), &[]);
        let (level, metadata) = self.rules().dot_plain(&terms, &relations)?;
        let terms = x.iter().zip(p).map(|(x, p)| {
            let x = self.dropped(x, level)?;
            let factor = p.poly_at(x.lattice().limbs());
            Ok((x, factor))
        });
        let terms = terms.collect::<Result<Vec<_>>>()?;
        // Step 2: the sums of products, one pass for each polynomial; rescale.
        let ring = self.params().ring(self.params().limbs_at(level));
        let body: Vec<_> = terms.iter().map(|(x, p)| (p, x.inner.b())).collect();
        let masks = (0..terms[0].0.inner.rank())
            .map(|i| {
                let pairs: Vec<_> = terms.iter().map(|(x, p)| (p, &x.inner.masks()[i])).collect();
                ring.sum_of_products(&pairs)
            })
            .collect();
        let (body, key) = (ring.sum_of_products(&body), terms[0].0.lattice().ident().key);
        let inner = mlwe::Ciphertext::new(self.params().lattice(), body, masks, key)?;
        let inner = self.divided(inner)?;
        Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, relations.sum))
    }

    /// Computes [`CkksOps::dot_values`](crate::CkksOps::dot_values).
    pub(crate) fn dot_values<T: SlotValue>(
        &self,
        x: &[&Ciphertext],
        values: &[Vec<T>],
    ) -> Result<Ciphertext> {
        let op = "dot_values";
        check_lengths(x.len(), values.len()).during(op)?;
        for (x, values) in x.iter().zip(values) {
            check_len(x.len(), values.len()).during(op)?;
        }
        x.iter().try_for_each(|x| self.check(x).during(op))?;
        let x = auto_bootstrap::alike(self, x)?;
        let x: Vec<&Ciphertext> = x.iter().map(|x| &**x).collect();
        // Factors at one level, at the scales for which all products agree in scale.
        let operands: Vec<_> = x.iter().map(|x| x.metadata()).collect();
        let (level, scales) = self.rules().dot_factors(&operands).during(op)?;
        let (encoder, limbs) = (self.encoder(), self.params().limbs_at(level));
        let encode = |((x, values), &scale): ((&&Ciphertext, &Vec<T>), &f64)| {
            encoder.encode_constants(values, x.meta().slots, scale, limbs).during(op)
        };
        let plain = x.iter().zip(values).zip(&scales).map(encode).collect::<Result<Vec<_>>>()?;
        self.plain_products(&x, &plain.iter().collect::<Vec<_>>()).during(op)
    }
}

pub(crate) fn check_lengths(left: usize, right: usize) -> Result<()> {
    if left != right {
        return Err(error::lengths(left, right));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_cover_every_term_once() {
        for usable in [true, false] {
            for count in 1..200 {
                let mut window = vec![0usize];
                for stage in stages(count, |_| usable) {
                    assert_eq!(stage.window, window.len());
                    let (by_window, single) = stage.distances();
                    let first = window.clone();
                    for d in by_window {
                        window.extend(first.iter().map(|t| t + d));
                    }
                    window.extend(single);
                }
                assert_eq!(window, (0..count).collect::<Vec<_>>());
            }
        }
        let steps =
            |count| -> usize { stages(count, |_| true).iter().map(|s| s.radix - 1 + s.tail).sum() };
        assert_eq!((steps(1), steps(2), steps(256), steps(512)), (0, 1, 12, 13));
    }
}
