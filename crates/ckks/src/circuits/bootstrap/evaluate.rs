//! One bootstrap: its metadata ([`Bootstrapper::meta`]) beside its computation
//! ([`CkksOps::bootstrap_to`]), in the same steps.

#[cfg(doc)]
use crate::ErrorKind;
use std::f64::consts::TAU;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::raising::RaisingMeta;
use super::{BootstrapKeys, BootstrapStage, Bootstrapper};
#[cfg(doc)]
use crate::CkksOps;
use crate::error::rounded_up;
use crate::eval_mod::Mod1Output;
use crate::fbt::Functional;
use crate::lintrans::RotationCosts;
use crate::{
    Ciphertext, CiphertextMeta, During, Evaluator, FailureProbability, Interval, Metadata, Result,
    error, noise, origins::Relation, rotation_plan::RotationCost,
};

/// Largest integer by which a small message is enlarged.
const MAX_ENLARGEMENT: f64 = (1u64 << 40) as f64;

/// Noise and a drifted scale may take a message beyond the gap by this factor. The inverse sine, of
/// degree 7 or more, then has less than twice the stated error; nothing wraps below a factor of
/// `2^(gap - 1)`.
pub(super) const NOISE_SLACK: f64 = 1.0 + 1.0 / 16.0;

/// The metadata of one bootstrap. See the [module](super) for the steps.
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

/// The bootstrapper and the keys of an evaluator.
#[derive(Debug, Clone)]
pub(crate) struct Bootstrapping {
    pub bootstrapper: Arc<Bootstrapper>,
    pub keys: BootstrapKeys,
    /// Whether operands are bootstrapped when their levels run out.
    pub automatic: bool,
    /// Bootstraps begun, by all evaluators that share this count.
    begun: Arc<AtomicU64>,
}

impl Evaluator {
    /// Adds bootstrapping to the evaluator. Reserves its working memory now.
    ///
    /// # Errors
    /// `mlwe::ErrorKind::ParamsMismatch`, [`ErrorKind::ParamsMismatch`], [`ErrorKind::Bytes`] or
    /// `mlwe::ErrorKind::KeyMismatch` when the parts do not belong together, also for keys of a
    /// sparse secret of another weight.
    pub fn with_bootstrapping(
        mut self,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
        keys: BootstrapKeys,
    ) -> Result<Self> {
        let op = "add bootstrapping to an evaluator";
        let bootstrapper = bootstrapper.into();
        bootstrapper.raising.check_keys(&self, &keys).during(op)?;
        bootstrapper.reserve();
        self.bootstrapping =
            Some(Bootstrapping { bootstrapper, keys, automatic: false, begun: Arc::default() });
        Ok(self)
    }

    /// Computes [`CkksOps::bootstrapper`](crate::CkksOps::bootstrapper).
    pub(crate) fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        self.bootstrapping.as_ref().map(|bootstrapping| &bootstrapping.bootstrapper)
    }

    /// A bound on the probability that any value of any bootstrapped vector is wrong: the sum of
    /// [`BootstrapSpec::log2_failure`](super::BootstrapSpec::log2_failure) over all bootstraps so
    /// far, including those of [`with_auto_bootstrap`](Self::with_auto_bootstrap). Copies of an
    /// evaluator share one sum; [`reset_failures`](Self::reset_failures) starts a new one. Nothing
    /// else can fail.
    pub fn failures(&self) -> FailureProbability {
        let mut failures = FailureProbability::NONE;
        if let Some(Bootstrapping { bootstrapper, begun, .. }) = &self.bootstrapping {
            let each = bootstrapper.spec().log2_failure;
            failures = failures.and(each, begun.load(Ordering::Relaxed));
        }
        if let Some(Functional { bootstrapper, begun, .. }) = &self.functional {
            let each = bootstrapper.spec().log2_failure;
            failures = failures.and(each, begun.load(Ordering::Relaxed));
        }
        failures
    }

    /// Starts a new sum of [`failures`](Self::failures), for one program of several.
    pub fn reset_failures(mut self) -> Self {
        if let Some(bootstrapping) = &mut self.bootstrapping {
            bootstrapping.begun = Arc::default();
        }
        if let Some(functional) = &mut self.functional {
            functional.begun = Arc::default();
        }
        self
    }

    /// Enables automatic bootstrapping: an operation that takes levels bootstraps its operands
    /// first if it would otherwise leave fewer levels than a bootstrap needs
    /// ([`Bootstrapper::input_level`]). Operands already below that level are used as they are.
    ///
    /// This covers products (also without a rescale, which will follow), constants, plaintexts,
    /// sums of products, polynomials and powers, transforms, matched scales, and everything
    /// composed of them. Functions and comparisons that take more levels than there are between two
    /// bootstraps ([`Bootstrapper::levels`]) bootstrap in between; a single polynomial cannot.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`] for an evaluator without
    /// [`with_bootstrapping`](Self::with_bootstrapping).
    pub fn with_auto_bootstrap(mut self) -> Result<Self> {
        let op = "bootstrap automatically";
        let missing = error::missing_key("bootstrapping key", None).during(op);
        self.bootstrapping.as_mut().ok_or(missing)?.automatic = true;
        Ok(self)
    }

    /// Computes [`CkksOps::auto_bootstraps`](crate::CkksOps::auto_bootstraps).
    pub(crate) fn auto_bootstraps(&self) -> bool {
        self.bootstrapping.as_ref().is_some_and(|bootstrapping| bootstrapping.automatic)
    }
}

impl Bootstrapper {
    /// The metadata of a bootstrapped vector at the default scale. The noise includes the
    /// approximation error ([`approximation_error`](Self::approximation_error)).
    ///
    /// ```
    /// use bellerophon_ckks::bootstrap::{BootstrapSpec, Bootstrapper};
    /// use bellerophon_ckks::{Interval, Params, ParamsSpec, Security, simulator::Simulator};
    ///
    /// # fn main() -> bellerophon_ckks::Result<()> {
    /// // A toy ring; `ParamsSpec::bootstrapping()` is a set of 128 bits.
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
    ///
    /// # Errors
    /// Those of [`CkksOps::bootstrap`](crate::CkksOps::bootstrap), except missing keys.
    pub fn bootstrapped(&self, x: &Metadata) -> Result<Metadata> {
        let one_key = |_: &Metadata, step| Ok(RotationCost::one_key(step));
        Ok(self.meta(x, self.params().scale(), &one_key).during("bootstrap")?.result)
    }

    /// The metadata of [`Evaluator::bootstrap_to`], in its steps.
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
        let one_key = |_: &Metadata, step| Ok(RotationCost::one_key(step));
        Ok(self.meta(x, self.params().scale(), &one_key)?.raising.part)
    }

    /// A vector of few slots as its copies in all slots of the bootstrap: their errors differ, and
    /// are larger than that of their mean.
    pub(super) fn in_all_slots(&self, x: &Metadata) -> Metadata {
        Metadata { meta: CiphertextMeta { slots: self.spec.slots, ..x.meta }, ..*x }
    }

    /// The largest integer factor of a message within the gap, and the coefficient modulo `q_0` of
    /// a value of 1 without that factor.
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

impl Evaluator {
    /// Computes [`CkksOps::bootstrap_to`](crate::CkksOps::bootstrap_to).
    pub(crate) fn bootstrap_to(&self, x: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        let op = "bootstrap";
        let missing = error::missing_key("bootstrapping key", None).during(op);
        let Bootstrapping { bootstrapper, keys, begun, .. } =
            self.bootstrapping.as_ref().ok_or(missing)?;
        self.check(x).during(op)?;
        let costs = |x: &Metadata, step| self.rotation_cost(x, step).during(op);
        let meta = bootstrapper.meta(&x.metadata(), scale, &costs).during(op)?;
        begun.fetch_add(1, Ordering::Relaxed);

        // Step 1: the lowest level; small messages are enlarged to the bound.
        let low = self.drop_to_level(x, bootstrapper.input_level())?;
        let enlarged = self.mul_integer(&low, meta.factor)?;

        // Steps 2 to 4: SlotsToCoeffs, mod raise, CoeffsToSlots. Each slot of the parts holds
        // (m + q0 I) / (width q0).
        let real = x.meta().bounds.values.is_real();
        let parts =
            bootstrapper.raising.apply(self, keys, &enlarged, (&meta.raising, real)).during(op)?;

        // Step 5: EvalMod removes q0 I.
        let count = if parts.1.is_some() { 2 } else { 1 };
        let reduced = |part, done| {
            let reduced = bootstrapper.mod1.apply(self, part, meta.output)?;
            self.watch.tell(BootstrapStage::EvalMod, done, count).during(op)?;
            Ok::<_, crate::Error>(reduced)
        };
        let mut result = reduced(&parts.0, 1)?;

        // Step 6: both parts of complex vectors.
        if let Some(imaginary) = &parts.1 {
            result = self.add(&result, &self.mul_i(&reduced(imaginary, 2)?)?)?;
        }
        (result.meta, result.origins) = (meta.result.meta, x.origins.clone());
        Ok(result)
    }
}
