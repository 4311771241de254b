//! Steps that several operations share: sums, products, rotations, powers.

use std::ptr;

use super::{SimCiphertext, Simulator};
use crate::{
    Complex64, Interval, Metadata, Result, SlotValue,
    bootstrap::auto_bootstrap,
    encode::check_values,
    lengths::check_len,
    metadata::alignment::Route,
    origins::Origins,
    polynomial::{Basis, Known, Plan, Power, PowerBasis},
    rotation_plan::RotationCost,
};

impl Simulator {
    /// A product with its relinearization.
    pub(super) fn relinearized(
        &self,
        product: &Metadata,
        values: Vec<Complex64>,
        origins: Origins,
    ) -> Result<SimCiphertext> {
        // Check the metadata before the key is recorded: a failed operation needs no key.
        let metadata = self.rules().relinearized(product)?;
        self.needs(1, |keys| keys.multiply(product.level));
        self.works(|count| count.relinearized(product.level, 1.0));
        Ok(self.vector(values, metadata, origins))
    }

    /// A product without rescaling.
    pub(super) fn product(&self, x: &SimCiphertext, y: &SimCiphertext) -> Result<SimCiphertext> {
        // As the evaluator does: a product of a vector with itself is a square, of less work and
        // noise.
        if ptr::eq(x, y) {
            return self.squared(x);
        }
        // Step 1: bootstrap operands if needed, and align their levels.
        let rules = self.rules();
        let (x, y) = auto_bootstrap::factors(self, x, y)?;
        let (x, y) = (&*x, &*y);
        let (to_x, to_y) = rules.align_factors(&x.metadata, &y.metadata);
        let (left, right) = (rules.follow(&x.metadata, &to_x)?, rules.follow(&y.metadata, &to_y)?);
        // Step 2: the tensor product and its relinearization.
        let (relation, origins) = x.joint_origins(y);
        let product = rules.product(&left, &right, relation)?;
        self.relinearized(&product, zip(x, y, |a, b| a * b), origins)
    }

    /// A square without rescaling.
    pub(super) fn squared(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        let x = &*auto_bootstrap::replenished(self, x, 1)?;
        let square = self.rules().square(&x.metadata);
        self.relinearized(&square, map(x, |a| a * a), x.origins.clone())
    }

    /// A square with its rescaling.
    pub(super) fn rescaled_square(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        let x = &*auto_bootstrap::replenished(self, x, 1)?;
        // Refuse a missing level first: no key is recorded for a square that fails.
        self.rules().check_levels(1, x.metadata.level)?;
        self.rescaled(&self.squared(x)?)
    }

    /// `x` after a rescaling.
    pub(super) fn rescaled(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        let metadata = self.rules().rescaled(&x.metadata)?;
        self.works(|count| count.rescaling(x.metadata.level));
        Ok(SimCiphertext { metadata, ..x.clone() })
    }

    /// A sum or difference, of which `range` is the interval rule and `f` the exact operation.
    pub(super) fn sum(
        &self,
        x: &SimCiphertext,
        y: &SimCiphertext,
        range: fn(&Interval, &Interval) -> Interval,
        f: fn(Complex64, Complex64) -> Complex64,
    ) -> Result<SimCiphertext> {
        // Align levels and scales as the evaluator does, with a bootstrap if needed.
        let rules = self.rules();
        let (x, y) = auto_bootstrap::aligned(self, x, y)?;
        let (x, y) = (&*x, &*y);
        let (to_x, to_y) = rules.align(&x.metadata, &y.metadata)?;
        let (left, right) = (rules.follow(&x.metadata, &to_x)?, rules.follow(&y.metadata, &to_y)?);
        let (relation, origins) = x.joint_origins(y);
        let metadata = rules.sum(&left, &right, relation, range)?;
        Ok(self.vector(zip(x, y, f), metadata, origins))
    }

    /// `x` times values, encoded such that the product has the given scale, or by default that of
    /// `x`.
    pub(super) fn times_values<T: SlotValue>(
        &self,
        x: &SimCiphertext,
        values: &[T],
        scale: Option<f64>,
    ) -> Result<SimCiphertext> {
        // Step 1: check the values before any level is spent.
        check_values(values, self.params.max_slots())?;
        check_len(x.metadata.meta.len, values.len())?;
        let x = &*auto_bootstrap::replenished(self, x, 1)?;
        let (rules, level) = (self.rules(), x.metadata.level);
        rules.check_levels(1, level)?;
        // Step 2: encode at the scale for which the rescaled product has the wanted scale.
        let scale = rules.factor_scale(&x.metadata, scale);
        let factor = self.constants(values, x.metadata.meta.slots, scale, level)?;
        self.times_plain(x, &factor)
    }

    /// `x` times an encoded vector, rescaled.
    pub(super) fn times_plain(
        &self,
        x: &SimCiphertext,
        factor: &SimCiphertext,
    ) -> Result<SimCiphertext> {
        let rules = self.rules();
        let (relation, origins) = x.joint_origins(factor);
        let metadata = rules.mul_plain(&x.metadata, &factor.metadata, relation)?;
        let metadata = rules.rescaled(&metadata)?;
        self.works(|count| {
            count.terms(x.metadata.level, 1.0);
            count.rescaling(x.metadata.level);
        });
        Ok(self.vector(zip(x, factor, |a, b| a * b), metadata, origins))
    }

    /// `x` rotated by the key of this step; step 0 takes no key.
    pub(super) fn rotated(&self, x: &SimCiphertext, step: i64) -> SimCiphertext {
        // Steps count modulo the slots; a negative step rotates to the right.
        let slots = x.values.len();
        let step = step.rem_euclid(slots as i64) as usize;
        if step == 0 {
            return x.clone();
        }
        let level = x.metadata.level;
        self.needs(1, |keys| keys.rotate([step as i64], level));
        self.works(|count| count.switch(level));
        let metadata = self.rules().rotated(&x.metadata, RotationCost::Keys(1));
        let mut values = x.values.clone();
        values.rotate_left(step);
        self.vector(values, metadata, x.origins.rotated(step as i64, slots))
    }

    /// `x` after an alignment of level and scale.
    pub(super) fn followed(&self, x: &SimCiphertext, route: &Route) -> Result<SimCiphertext> {
        let metadata = self.rules().follow(&x.metadata, route)?;
        Ok(SimCiphertext { metadata, ..x.clone() })
    }

    /// The power basis of `x`. The simulator keeps `x` alone and computes exact values when needed.
    pub(super) fn powers<'p>(
        &self,
        op: &'static str,
        x: &SimCiphertext,
        known: Result<Known>,
        plans: impl Iterator<Item = &'p Plan>,
    ) -> Result<PowerBasis<SimCiphertext>> {
        let powers = self.perform(op, [x], |_| {
            // An error of the prediction is reported as one of this operation.
            let known = known.as_ref().map_err(Clone::clone)?;
            let (count, metadata) = (known.computed(), known.argument);
            if count > 0 {
                self.needs(count, |keys| keys.multiply(metadata.level));
            }
            // Several polynomials share powers: count each power once.
            let mut powers: Vec<(&Power, Basis)> = plans
                .flat_map(|plan| plan.powers().iter().map(|power| (power, plan.basis())))
                .collect();
            powers.sort_by_key(|(power, _)| power.index());
            powers.dedup_by_key(|(power, _)| power.index());
            self.works(|count| {
                for (power, basis) in powers {
                    count.powers([power], basis, metadata.level);
                }
            });
            Ok(SimCiphertext { metadata, ..x.clone() })
        })?;
        Ok(PowerBasis { known: known?, origins: x.origins.clone(), powers })
    }

    /// Records the products of a plan over powers that exist already.
    pub(super) fn sums(&self, powers: &PowerBasis<SimCiphertext>, plan: &Plan) {
        // The powers were recorded when the basis was computed.
        let count = plan.relinearizations() - plan.powers().len();
        if count > 0 {
            self.needs(count, |keys| keys.multiply(powers.level()));
        }
        self.works(|count| count.node(plan.root(), powers.level()));
    }
}

/// Applies `f` slot by slot; the shorter vector repeats.
pub(super) fn zip(
    x: &SimCiphertext,
    y: &SimCiphertext,
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Vec<Complex64> {
    let slots = x.values.len().max(y.values.len());
    // Slot counts are powers of two, so the mask is the index modulo the slots.
    let at = |v: &SimCiphertext, i: usize| v.values[i & (v.values.len() - 1)];
    (0..slots).map(|i| f(at(x, i), at(y, i))).collect()
}

/// Applies `f` to every slot.
pub(super) fn map(x: &SimCiphertext, f: impl Fn(Complex64) -> Complex64) -> Vec<Complex64> {
    x.values.iter().map(|&a| f(a)).collect()
}
