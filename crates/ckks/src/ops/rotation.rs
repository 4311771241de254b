//! Rotations, sums of rotations and conjugation.

use bellerophon_mlwe::{self as mlwe, CiphertextQP, HoistedDigits};
use bellerophon_ring::{Result, try_map};
use num_complex::Complex64;

use crate::ciphertext::Ciphertext;
use crate::cost::Trace;
use crate::eval::Evaluator;
use crate::metadata::route::Route;
use crate::origins::Relations;
use crate::rotation_plan::RotationPath;
use crate::vectors::{Fused, Operands, Phases, Planned, Scope, State, Vectors, map};
use crate::{error, refresh};

/// A step modulo the slots.
pub fn normal(step: i64, slots: usize) -> usize {
    step.rem_euclid(slots as i64) as usize
}

/// `x` rotated to the left.
fn rotated(x: &[Complex64], step: i64) -> Vec<Complex64> {
    let mut values = x.to_vec();
    values.rotate_left(normal(step, x.len()));
    values
}

/// The key of each step other than 0, at a level.
fn trace_steps(steps: &[i64], slots: usize, level: usize, trace: &mut Trace<'_>) {
    for step in steps.iter().map(|&step| normal(step, slots)).filter(|&step| step != 0) {
        trace.needs(1, |keys| keys.rotate([step as i64], level));
        trace.count.switch(level);
    }
}

/// Rotations of one vector, in the order of the steps.
#[derive(Debug, Clone, Copy)]
pub struct Rotations<'s> {
    /// The name of the operation in errors.
    pub name: &'static str,
    /// The steps, in slots.
    pub steps: &'s [i64],
}

impl Fused for Rotations<'_> {
    type Plan = ();

    fn name(&self) -> &'static str {
        self.name
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        let State { metadata, origins } = &x[0];
        let slots = metadata.meta.slots;
        let one = |&step: &i64| {
            let cost = scope.cost(metadata, normal(step, slots))?;
            let metadata = scope.rules().rotated(metadata, cost);
            Ok(State { metadata, origins: origins.rotated(step, slots) })
        };
        Ok(Planned { plan: (), results: self.steps.iter().map(one).collect::<Result<_>>()? })
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], _: &Self::Plan) -> Result<Phases> {
        let (params, x) = (e.params(), x[0]);
        let (lattice, slots, metadata) = (params.lattice(), x.meta.slots, x.metadata());
        let path = |step: i64| e.rotation_path(&metadata, normal(step, slots));
        // Without a key of its own a rotation is composed, and not hoisted.
        let composed = |step: i64| Ok(path(step)?.apply(params, &x.inner)?.into_owned());
        if let [step] = self.steps {
            return Ok(vec![composed(*step)?]);
        }
        // Step 1: the digits that the rotations by keys of their own share.
        let exponents = e.keys().rotations(slots, x.inner.limbs());
        let exponent = |step: i64| exponents.get(&normal(step, slots)).copied();
        let digits = match self.steps.iter().any(|&step| exponent(step).is_some()) {
            true => Some(HoistedDigits::new(lattice, x.inner.masks())?),
            false => None,
        };
        // Step 2: the rotations, which are independent.
        try_map(self.steps, |&step| {
            let (Some(exponent), Some(digits)) = (exponent(step), &digits) else {
                return composed(step);
            };
            e.keys().galois_keys().get(exponent)?.apply_decomposed(lattice, &x.inner, digits)
        })
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(self.steps.iter().map(|&step| rotated(x[0], step)).collect())
    }

    fn trace(&self, x: &[State], _: &Self::Plan, trace: &mut Trace<'_>) {
        let metadata = &x[0].metadata;
        trace_steps(self.steps, metadata.meta.slots, metadata.level, trace);
    }
}

/// The sum of several rotations of several vectors: one list of steps for each operand.
#[derive(Debug, Clone, Copy)]
pub struct SumOfRotations<'s> {
    /// The steps of each operand, in slots.
    pub steps: &'s [&'s [i64]],
}

impl Fused for SumOfRotations<'_> {
    /// The routes of the vectors to one level and one scale.
    type Plan = Vec<Route>;

    fn name(&self) -> &'static str {
        "sum_of_rotations"
    }

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        refresh::all_aligned(a, x)
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Self::Plan>> {
        let rules = scope.rules();
        let (routes, aligned) = rules.aligned(x.iter().map(|x| x.metadata).collect())?;
        let terms: Vec<_> = aligned.into_iter().zip(self.steps.iter().copied()).collect();
        let first = terms.first().ok_or_else(error::no_values)?.0;
        let mut relations = Relations::default();
        for (x, steps) in x.iter().zip(self.steps) {
            for &step in *steps {
                let slots = first.meta.slots;
                relations.join(&x.origins.rotated(step, slots), slots);
            }
        }
        let cost = |step| scope.cost(&first, step);
        let metadata = rules.sum_of_rotations(&terms, &relations.summands, cost)?;
        Ok(Planned::one(routes, metadata, relations.sum))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], routes: &Self::Plan) -> Result<Phases> {
        let (params, lattice) = (e.params(), e.params().lattice());
        // Two sums: of finished rotations modulo Q, and of rotations by one key modulo P Q.
        let mut sum: Option<mlwe::Ciphertext> = None;
        let mut late: Option<CiphertextQP> = None;
        let mut add = |ct: mlwe::Ciphertext| -> Result<()> {
            match &mut sum {
                Some(sum) => sum.add_assign(lattice, &ct)?,
                None => sum = Some(ct),
            }
            Ok(())
        };
        for ((x, to), steps) in x.iter().zip(routes).zip(self.steps) {
            let aligned = e.routed(x, to)?;
            let metadata = e.rules().follow(&x.metadata(), to)?;
            let mut digits = None;
            for &step in *steps {
                let path = e.rotation_path(&metadata, normal(step, x.meta.slots))?;
                // By one key: waits for the common mod-down. Anything else is finished here.
                let key = match &path {
                    RotationPath::Keys(keys, exponents) if exponents.len() == 1 => {
                        keys.get(exponents[0])?
                    }
                    _ => {
                        add(path.apply(params, &aligned)?.into_owned())?;
                        continue;
                    }
                };
                // Hoisting: one decomposition for all rotations of x.
                let digits = match &digits {
                    Some(digits) => digits,
                    None => digits.insert(HoistedDigits::new(lattice, aligned.masks())?),
                };
                let rotated = key.apply_extended(lattice, &aligned, digits)?;
                match &mut late {
                    Some(late) => late.add_assign(lattice, &rotated)?,
                    None => late = Some(rotated),
                }
            }
        }
        // One mod-down for all rotations by one key.
        if let Some(late) = late {
            add(late.mod_down(lattice)?)?;
        }
        Ok(vec![sum.ok_or_else(error::no_values)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        let mut sum = vec![Complex64::ZERO; x[0].len()];
        for (x, steps) in x.iter().zip(self.steps) {
            for &step in *steps {
                let (wrapped, first) = x.split_at(normal(step, x.len()));
                let rotated = first.iter().chain(wrapped);
                sum.iter_mut().zip(rotated).for_each(|(sum, a)| *sum += a);
            }
        }
        Ok(vec![sum])
    }

    fn trace(&self, x: &[State], routes: &Self::Plan, trace: &mut Trace<'_>) {
        for ((x, to), steps) in x.iter().zip(routes).zip(self.steps) {
            trace_steps(steps, x.metadata.meta.slots, to.to, trace);
        }
    }
}

/// The conjugates of the slots.
#[derive(Debug, Clone, Copy)]
pub struct Conjugate;

impl Fused for Conjugate {
    type Plan = ();

    fn name(&self) -> &'static str {
        "conjugate"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<()>> {
        Ok(Planned::one((), scope.rules().conjugated(&x[0].metadata), x[0].origins.clone()))
    }

    /// Slots follow powers of 5: the automorphism `X -> X^-1` conjugates them.
    fn run(&self, e: &Evaluator, x: &[&Ciphertext], _: &Self::Plan) -> Result<Phases> {
        let key = e.keys().conjugation(x[0].inner.limbs())?;
        Ok(vec![key.apply(e.params().lattice(), &x[0].inner)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![map(x[0], |a| a.conj())])
    }

    fn trace(&self, x: &[State], _: &Self::Plan, trace: &mut Trace<'_>) {
        let level = x[0].metadata.level;
        trace.needs(1, |keys| keys.conjugate(level));
        trace.count.switch(level);
    }
}
