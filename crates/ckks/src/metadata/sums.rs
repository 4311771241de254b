//! Metadata of sums: of rotations, and of products with plain vectors.

use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use super::{route::same_scale, rules::MetadataRules};
use crate::ciphertext::CiphertextMeta;
use crate::error::{self, LevelScale};
use crate::interval::{Bounds, Interval};
use crate::lengths::check_len;
use crate::metadata::Metadata;
use crate::noise::Noise;
use crate::ops::rotation::normal;
use crate::origins::{Relation, Relations};
use crate::rotation_plan::RotationCost;

impl MetadataRules<'_> {
    /// The metadata of [`CkksOps::sum_of_rotations`](crate::CkksOps::sum_of_rotations) of aligned
    /// vectors; `summands` are the relations of its terms, rotation by rotation, and `cost` is the
    /// effect of a rotation by a step.
    pub fn sum_of_rotations(
        self,
        terms: &[(Metadata, &[i64])],
        summands: &[Relation],
        mut cost: impl FnMut(usize) -> Result<RotationCost>,
    ) -> Result<Metadata> {
        let (first, _) = terms.first().ok_or_else(error::no_values)?;
        let slots = first.meta.slots;
        // Step 1: one slot count and length for all, as one level and scale; the range of the sum.
        let mut bounds: Option<Bounds> = None;
        for (x, steps) in terms {
            let found = x.meta.slots;
            ensure(found == slots, || error::slot_count(found, slots, slots))?;
            check_len(first.meta.len, x.meta.len)?;
            for &step in *steps {
                let moved = normal(step, slots) != 0;
                let term = if moved { x.meta.bounds.mixed() } else { x.meta.bounds };
                bounds = Some(bounds.map_or(term, |sum| sum.zip(&term, Interval::add)));
            }
        }
        let bounds = bounds.ok_or_else(error::no_values)?;
        let mut sum = Metadata { meta: CiphertextMeta { bounds, ..first.meta }, ..*first };
        self.check_range(&sum)?;

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

    /// The metadata of [`Evaluator::dot_plain`](crate::Evaluator::dot_plain) for products of these
    /// relations, and the level of the products.
    pub fn dot_plain(
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
                return Err(error::other_scale(
                    "a product",
                    LevelScale::new(level, scale),
                    LevelScale::new(level, target),
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
