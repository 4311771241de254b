//! One bootstrap: its metadata ([`Bootstrapper::meta`]) beside its computation ([`Bootstrap`]), in
//! the same steps.
//!
//! **Noise.** Let `V` be one rounding, `(|s|^2 + 1) / 12`, `S` the scale in EvalMod, `w` its width
//! ([`Mod1::width`](crate::eval_mod::Mod1::width)) and `2^g` the gap, the ratio of `q_0` to the
//! largest message. The real part of a slot after C2S has the noise `2 sqrt(n V) / S`, in units of
//! `w`; the roundings of the diagonals, which are multiplied by the root mean square of a
//! coefficient, `q_0 sqrt((h + 1) / 12)` for a sparse secret of weight `h`, are below that. The
//! steps of EvalMod add their roundings, each at its own scale ([`eval_mod`](crate::eval_mod)).
//! Both are multiplied by `2^g` in units of the largest message. The noise of a bootstrapped
//! ciphertext includes all that ([`Metadata::noise`]) but not the approximation error
//! ([`Bootstrapper::approximation_error`]). [`Metadata::excess`], which decides whether a vector
//! may be bootstrapped again, includes it.

use std::f64::consts::TAU;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bellerophon_ckks::cost::Trace;
use bellerophon_ckks::error::rounded_up;
use bellerophon_ckks::hook::{Refresh, Span};
use bellerophon_ckks::noise_model::NoiseModel;
use bellerophon_ckks::origins::Relation;
use bellerophon_ckks::rotation_plan::RotationCosts;
use bellerophon_ckks::simulator::one_key;
use bellerophon_ckks::vectors::{Fused, Planned, Scope, State, Vectors};
use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, Evaluator, Interval, Metadata, Result, noise,
};
use bellerophon_mlwe as mlwe;

use super::{
    BootstrapStage, Bootstrapper, attached::Bootstrapping, progress::tell, raising::RaisingMeta,
};
use crate::{error, eval_mod::Mod1Output};

/// Largest integer by which a small message is enlarged.
const MAX_ENLARGEMENT: f64 = (1u64 << 40) as f64;

/// Noise and a drifted scale may take a message beyond the gap by this factor. The inverse sine, of
/// degree 7 or more, then has less than twice the stated error; nothing wraps below a factor of
/// `2^(gap - 1)`.
pub(super) const NOISE_SLACK: f64 = 1.0 + 1.0 / 16.0;

/// The metadata of one bootstrap. See the [module](super) for the steps.
#[derive(Debug)]
pub(crate) struct BootstrapMeta {
    /// The integer by which the message is enlarged at the lowest levels.
    pub factor: i64,
    /// From S2C to the parts of the slots.
    pub raising: RaisingMeta,
    /// Amplitude and scale of EvalMod.
    pub output: Mod1Output,
    /// The part of the variances that is the approximation error.
    pub approximation: f64,
    /// The bootstrapped vector.
    pub result: Metadata,
}

impl Bootstrapper {
    /// The metadata of a bootstrapped vector at the default scale. The noise includes the
    /// approximation error ([`approximation_error`](Self::approximation_error)).
    ///
    /// ```
    /// use bellerophon_circuits::bootstrap::{BootstrapSpec, Bootstrapper};
    /// use bellerophon_ckks::{Interval, Params, ParamsSpec, Security, simulator::Simulator};
    ///
    /// # fn main() -> bellerophon_ckks::Result<()> {
    /// // A toy ring; `BootstrapSpec::full_size()` is a set of 128 bits.
    /// let spec = BootstrapSpec::new(1 << 9);
    /// let chain = spec.chain(1 << 10, 42, 3, (49, 6))?;
    /// let params = Params::new(ParamsSpec::from_chain(&chain, 42, Security::Insecure)?)?;
    /// let bootstrapper = Bootstrapper::new(&params, spec)?;
    /// let unit = Interval::real(-1.0, 1.0)?;
    /// let x = Simulator::new(&params).encrypt(&[0.5, -1.0], unit, bootstrapper.input_level())?;
    /// let bootstrapped = bootstrapper.bootstrapped(x.metadata())?;
    /// assert_eq!(bootstrapped.level, bootstrapper.output_level());
    /// assert!(bootstrapped.estimate(&params, -20.0).bits() > 20.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn bootstrapped(&self, x: &Metadata) -> Result<Metadata> {
        Ok(self.meta(x, self.params().scale(), &one_key)?.result)
    }

    /// The metadata of [`CircuitOps::bootstrap_to`], in its steps.
    pub(crate) fn meta(
        &self,
        x: &Metadata,
        scale: f64,
        costs: RotationCosts<'_>,
    ) -> Result<BootstrapMeta> {
        let rules = self.params().rules();
        self.raising.check_level(x)?;
        self.raising.check_slots(x)?;
        // SlotsToCoeffs clears padding that may be nonzero.
        let after = x.meta.with_zero_padding();

        // Step 1: the lowest level; small messages are enlarged to the bound.
        let low = rules.drop_to_level(x, self.input_level())?;
        let (factor, per_value) = self.enlargement(&low)?;
        let enlarged = rules.mul_integer(&low, factor)?;

        // Steps 2 to 4: SlotsToCoeffs, mod raise, CoeffsToSlots.
        let raising = self.raising.meta(&enlarged, costs)?;

        // Step 5: EvalMod. A value of 1 is `message` in the coefficients modulo q_0.
        let message = per_value * factor as f64;
        let output = Mod1Output { amplitude: self.params().divisor(0) / (message * TAU), scale };
        let mut result = self.mod1.meta(self.params(), &raising.part, output)?.result;

        // Step 6: both parts of complex vectors.
        if !after.bounds.slots().is_real() {
            result =
                rules.sum(&result, &rules.mul_i(&result), Relation::Independent, Interval::add)?;
        }
        result.meta = CiphertextMeta { scale, noise: result.meta.noise, ..after };

        // The approximation error, as a variance that it does not exceed in any slot.
        let off = output.amplitude * self.mod1.approximation_error() * scale;
        let approximation = off * off / result.meta.slots as f64;
        result.meta.noise += approximation;
        rules.check_range(&result)?;
        Ok(BootstrapMeta { factor, raising, output, approximation, result })
    }

    /// The metadata of the argument of EvalMod in a bootstrap of `x`.
    pub(crate) fn argument(&self, x: &Metadata) -> Result<Metadata> {
        Ok(self.meta(x, self.params().scale(), &one_key)?.raising.part)
    }

    /// The copies of a vector in all slots: their errors are larger than that of their mean.
    pub(super) fn in_all_slots(&self, x: &Metadata) -> Metadata {
        Metadata { meta: CiphertextMeta { slots: self.spec.slots, ..x.meta }, ..*x }
    }

    /// The largest integer factor within the gap, and the coefficient of a value of 1 without it.
    pub(super) fn enlargement(&self, x: &Metadata) -> Result<(i64, f64)> {
        let bound = x.meta.bounds.values.bound();
        let per_value = x.meta.scale * (self.raising.s2c_scale() / self.params().scale());
        let largest = self.params().divisor(0) * (-self.spec.log_gap).exp2();
        // Rounding in f64 does not make a message too large.
        let headroom = largest / (bound * per_value) * (1.0 + 1e-9);
        // Scales drift slightly from product to product, and the noise outside the range is
        // enlarged with the message, in all copies of a vector of few slots.
        let worst = noise::sure_factor(self.spec.slots, self.spec.log2_failure);
        let reach = bound + worst * self.in_all_slots(x).excess();
        // A message far below its noise is enlarged as far as the noise allows.
        let noise = largest * NOISE_SLACK / (reach * per_value);
        let factor = headroom.min(noise).floor().clamp(1.0, MAX_ENLARGEMENT);
        if reach * per_value * factor > largest * NOISE_SLACK {
            return Err(error::bootstrap_range(rounded_up(reach), largest / per_value));
        }
        Ok((factor as i64, per_value))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Bootstrap<'b> {
    pub bootstrapper: &'b Bootstrapper,
    pub scale: f64,
}

impl Fused for Bootstrap<'_> {
    /// The metadata of the steps; none in the worst case, which predicts the result alone.
    type Plan = Option<BootstrapMeta>;

    fn name(&self) -> &'static str {
        "bootstrap"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Self::Plan>> {
        let (rules, State { metadata, origins }) = (scope.rules(), &x[0]);
        let (plan, result) = match rules.errors() {
            NoiseModel::Average => {
                let meta = self.bootstrapper.meta(metadata, self.scale, scope.costs())?;
                let result = meta.result;
                (Some(meta), result)
            }
            NoiseModel::Worst => {
                (None, self.bootstrapper.bounded(rules, metadata, self.scale)?.result)
            }
        };
        Ok(Planned::one(plan, result, origins.clone()))
    }

    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        plan: &Self::Plan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        let (bootstrapper, x) = (self.bootstrapper, x[0]);
        let Bootstrapping { keys, begun, .. } = e.attached().ok_or_else(error::no_bootstrapping)?;
        let meta = plan.as_ref().expect("an evaluator computes averages");
        begun.fetch_add(1, Ordering::Relaxed);

        // Step 1: the lowest level; small messages are enlarged to the bound.
        let low = e.drop_to_level(x, bootstrapper.input_level())?;
        let enlarged = e.mul_integer(&low, meta.factor)?;

        // Steps 2 to 4: SlotsToCoeffs, mod raise, CoeffsToSlots. Each slot of the parts holds
        // (m + q0 I) / (width q0).
        let real = x.meta().bounds.values.is_real();
        let (re, im) = bootstrapper.raising.apply(e, keys, &enlarged, &meta.raising, real)?;

        // Step 5: EvalMod removes q0 I.
        let count = if im.is_some() { 2 } else { 1 };
        let reduced = |part, done| {
            let reduced = bootstrapper.mod1.apply(e, part, meta.output)?;
            tell(e, BootstrapStage::EvalMod, done, count)?;
            Ok::<_, bellerophon_ckks::Error>(reduced)
        };
        let mut result = reduced(&re, 1)?;

        // Step 6: both parts of complex vectors.
        if let Some(imaginary) = &im {
            result = e.add(&result, &e.mul_i(&reduced(imaginary, 2)?)?)?;
        }
        Ok(vec![result.into_parts().0])
    }

    /// The same values, with the padding cleared.
    fn exact(&self, x: &[&[Complex64]], results: &[State]) -> Result<Vec<Vec<Complex64>>> {
        let mut values = x[0].to_vec();
        values[results[0].metadata.meta.len..].fill(Complex64::ZERO);
        Ok(vec![values])
    }

    /// Complex slots take EvalMod twice.
    fn trace(&self, x: &[State], _: &Self::Plan, trace: &mut Trace<'_>) {
        let real = x[0].metadata.meta.bounds.values.is_real();
        let b = self.bootstrapper;
        trace.needs(b.key_switches(real), |keys| keys.and(&b.keys()));
        b.count(if real { 1 } else { 2 }, &mut trace.count);
        trace.bootstraps += 1;
        trace.failures = trace.failures.and(b.spec().log2_failure, 1);
    }
}

/// `x` bootstrapped to a scale, by the bootstrapper of an evaluator or a simulator.
pub(crate) fn bootstrapped<A: Vectors>(
    a: &A,
    x: &A::Ciphertext,
    scale: f64,
) -> Result<A::Ciphertext> {
    let bootstrapper = a.attached::<Arc<Bootstrapper>>().ok_or_else(error::no_bootstrapping)?;
    a.single(&Bootstrap { bootstrapper, scale }, &[x])
}

/// Bootstraps of operands whose levels run out.
impl<A: Vectors> Refresh<A, A::Ciphertext> for Bootstrapper {
    fn span(&self) -> Span {
        Span { least: self.input_level(), fresh: self.output_level() }
    }

    fn refreshed(&self, a: &A, x: &A::Ciphertext, scale: f64) -> Result<A::Ciphertext> {
        bootstrapped(a, x, scale)
    }
}
