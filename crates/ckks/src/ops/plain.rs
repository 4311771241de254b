//! Sums and products with plain vectors, which are encoded to fit.

use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;
use num_complex::Complex64;

use crate::ciphertext::Ciphertext;
use crate::cost::Trace;
use crate::encode::{check_number, check_values, constants_range};
use crate::eval::Evaluator;
use crate::interval::Interval;
use crate::lengths::check_len;
use crate::metadata::Metadata;
use crate::metadata::route::Route;
use crate::metadata::rules::MetadataRules;
use crate::origins::{Origins, Relations, identity};
use crate::params::Params;
use crate::slot_value::SlotValue;
use crate::vectors::{Fused, Operands, Phases, Planned, Scope, State, Vectors, zip};
use crate::{error, refresh};

/// Refuses lists of different lengths.
pub fn check_lengths(left: usize, right: usize) -> Result<()> {
    ensure(left == right, || error::lengths(left, right))
}

/// Refuses values that are no numbers, or not as many as the vector has.
fn check_fit<T: SlotValue>(params: &Params, x: &Metadata, values: &[T]) -> Result<()> {
    check_values(values, params.max_slots())?;
    check_len(x.meta.len, values.len())
}

/// Values as numbers of all slots.
fn padded<T: SlotValue>(values: &[T], slots: usize) -> Vec<Complex64> {
    let mut padded: Vec<Complex64> = values.iter().map(|v| v.to_complex()).collect();
    padded.resize(slots, Complex64::ZERO);
    padded
}

/// What is known of constants encoded in at least `slots` slots.
fn encoded<T: SlotValue>(
    scope: &Scope<'_>,
    values: &[T],
    slots: usize,
    scale: f64,
    level: usize,
) -> Result<State> {
    let rules = scope.rules();
    let range = constants_range(values, rules.params().max_slots())?;
    let slots = values.len().next_power_of_two().max(slots);
    let metadata = rules.encoded(values, range, slots, scale, level)?;
    Ok(State { metadata, origins: Origins::plain(identity(values, slots, scale)) })
}

/// The level of the products of vectors and encoded factors, and their sum after the rescale.
pub fn dot(rules: MetadataRules<'_>, pairs: &[[State; 2]]) -> Result<(usize, State)> {
    let terms: Vec<_> = pairs.iter().map(|[x, p]| (x.metadata, p.metadata)).collect();
    let factors: Vec<_> = pairs.iter().map(|pair| pair.each_ref().map(State::periodic)).collect();
    let relations = Relations::new(&factors, &[]);
    let (level, metadata) = rules.dot_plain(&terms, &relations)?;
    Ok((level, State { metadata, origins: relations.sum }))
}

/// `x + v`, the values encoded at the scale and the level of the vector.
#[derive(Debug, Clone, Copy)]
pub struct AddValues<'v, T> {
    /// The values, one for each slot.
    pub values: &'v [T],
}

impl<T: SlotValue> Fused for AddValues<'_, T> {
    type Plan = ();

    fn name(&self) -> &'static str {
        "add_values"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        let Metadata { level, meta } = x[0].metadata;
        check_fit(scope.rules().params(), &x[0].metadata, self.values)?;
        let plain = encoded(scope, self.values, meta.slots, meta.scale, level)?;
        let (relation, origins) = x[0].joint_origins(&plain);
        let rules = scope.rules();
        let sum = rules.sum(&x[0].metadata, &plain.metadata, relation, Interval::add)?;
        Ok(Planned::one((), sum, origins))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], _: &Self::Plan) -> Result<Phases> {
        let (meta, limbs) = (x[0].meta, x[0].inner.limbs());
        let plain = e.encoder().encode_constants(self.values, meta.slots, meta.scale, limbs)?;
        let mut sum = x[0].inner.clone();
        sum.add_plain_assign(e.params().lattice(), &plain.poly)?;
        Ok(vec![sum])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![zip(x[0], &padded(self.values, x[0].len()), |a, b| a + b)])
    }
}

/// `x v`, rescaled.
#[derive(Debug, Clone, Copy)]
pub struct MulValues<'v, T> {
    /// The name of the operation in errors.
    pub name: &'static str,
    /// The values, one for each slot.
    pub values: &'v [T],
    /// Whether a single value is that of every slot: encoded in one slot, it is the same polynomial
    /// `a + b X^{N/2}` for any number of slots.
    pub constant: bool,
    /// The scale of the result; by default that of the vector.
    pub scale: Option<f64>,
}

impl<T: SlotValue> MulValues<'_, T> {
    /// The slots of the encoded values, for a vector of `slots` slots.
    fn slots(&self, slots: usize) -> usize {
        if self.constant { 1 } else { slots }
    }
}

impl<T: SlotValue> Fused for MulValues<'_, T> {
    /// The scale of the factor.
    type Plan = f64;

    fn name(&self) -> &'static str {
        self.name
    }

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        // Refuse the values before any level is spent.
        match self.constant {
            true => check_number("the constant", self.values[0])?,
            false => check_fit(a.params(), &a.metadata(x[0]), self.values)?,
        }
        Ok(vec![refresh::replenished(a, x[0], 1)?])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<f64>> {
        let (rules, Metadata { level, meta }) = (scope.rules(), x[0].metadata);
        rules.check_levels(1, level)?;
        // The scale for which the rescale gives the wanted scale.
        let scale = rules.factor_scale(&x[0].metadata, self.scale);
        let mut factor = encoded(scope, self.values, self.slots(meta.slots), scale, level)?;
        (factor.metadata.meta.slots, factor.metadata.meta.len) = (meta.slots, meta.len);
        let (relation, origins) = x[0].joint_origins(&factor);
        let product = rules.mul_plain(&x[0].metadata, &factor.metadata, relation)?;
        Ok(Planned::one(scale, rules.rescaled(&product)?, origins))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], scale: &f64) -> Result<Phases> {
        let (slots, limbs) = (self.slots(x[0].meta.slots), x[0].inner.limbs());
        let factor = e.encoder().encode_constants(self.values, slots, *scale, limbs)?;
        let mut product = x[0].inner.clone();
        product.mul_plain_assign(e.params().lattice(), &factor.poly)?;
        Ok(vec![e.divided(product)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        let values = padded(self.values, self.slots(x[0].len()));
        Ok(vec![zip(x[0], &values, |a, b| a * b)])
    }

    fn trace(&self, x: &[State], _: &f64, trace: &mut Trace<'_>) {
        trace.count.terms(x[0].metadata.level, 1.0);
        trace.count.rescaling(x[0].metadata.level);
    }
}

/// `sum_i x_i v_i` with one rescale.
#[derive(Debug, Clone, Copy)]
pub struct DotValues<'v, T> {
    /// The values `v_i`, one vector for each operand.
    pub values: &'v [Vec<T>],
}

/// The level of the products, and the scale of each factor.
#[derive(Debug, Clone)]
pub struct DotPlan {
    level: usize,
    scales: Vec<f64>,
}

impl<T: SlotValue> Fused for DotValues<'_, T> {
    type Plan = DotPlan;

    fn name(&self) -> &'static str {
        "dot_values"
    }

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        check_lengths(x.len(), self.values.len())?;
        for (x, values) in x.iter().zip(self.values) {
            check_len(a.metadata(x).meta.len, values.len())?;
        }
        refresh::alike(a, x)
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<DotPlan>> {
        // The plain vectors at one level, at the scales for which all products agree in scale.
        let operands: Vec<_> = x.iter().map(|x| x.metadata).collect();
        let (level, scales) = scope.rules().dot_factors(&operands)?;
        let plain = operands
            .iter()
            .zip(self.values)
            .zip(&scales)
            .map(|((x, values), &scale)| encoded(scope, values, x.meta.slots, scale, level));
        let plain = plain.collect::<Result<Vec<_>>>()?;
        let pairs: Vec<_> = x.iter().cloned().zip(plain).map(<[State; 2]>::from).collect();
        let (_, State { metadata, origins }) = dot(scope.rules(), &pairs)?;
        Ok(Planned::one(DotPlan { level, scales }, metadata, origins))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], plan: &DotPlan) -> Result<Phases> {
        let limbs = e.params().limbs_at(plan.level);
        let terms = x.iter().zip(self.values).zip(&plan.scales).map(|((x, values), &scale)| {
            let factor = e.encoder().encode_constants(values, x.meta.slots, scale, limbs)?;
            Ok((e.routed(x, &Route::drop_to(plan.level))?, factor.poly_at(limbs)))
        });
        Ok(vec![e.sum_of_plain_products(plan.level, &terms.collect::<Result<Vec<_>>>()?)?])
    }

    fn exact(&self, x: &[&[Complex64]], results: &[State]) -> Result<Vec<Vec<Complex64>>> {
        let mut sum = vec![Complex64::ZERO; results[0].metadata.meta.slots];
        for (x, values) in x.iter().zip(self.values) {
            let product = zip(x, &padded(values, x.len()), |a, b| a * b);
            sum.iter_mut().zip(product.iter().cycle()).for_each(|(sum, a)| *sum += a);
        }
        Ok(vec![sum])
    }

    fn trace(&self, x: &[State], plan: &DotPlan, trace: &mut Trace<'_>) {
        trace.count.terms(plan.level, x.len() as f64);
        trace.count.rescaling(plan.level);
    }
}
