//! Bootstraps of an evaluator or a simulator: what they keep, and how it is added.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::hook::Refresh;
use bellerophon_ckks::simulator::{SimCiphertext, Simulator};
use bellerophon_ckks::vectors::Vectors;
use bellerophon_ckks::{Evaluator, FailureProbability, Result};
#[cfg(doc)]
use bellerophon_mlwe as mlwe;
use bellerophon_ring::error::operation;

use super::progress::Watch;
use super::{BootstrapKeys, BootstrapStage, Bootstrapper};
use crate::error;
use crate::fbt::{Functional, FunctionalBootstrapper, IntVec};

/// The bootstrapping keys of an evaluator.
#[derive(Debug, Clone)]
pub(crate) struct Bootstrapping {
    pub bootstrapper: Arc<Bootstrapper>,
    pub keys: BootstrapKeys,
    /// Bootstraps begun, by all evaluators that share this count.
    pub begun: Arc<AtomicU64>,
}

/// Bootstrapping for an [`Evaluator`].
pub trait EvaluatorExt: Sized {
    /// Adds bootstrapping to the evaluator. Reserves its working memory now. Bootstraps are
    /// automatic only from [`with_auto_bootstrap`](Self::with_auto_bootstrap) on.
    fn with_bootstrapping(
        self,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
        keys: BootstrapKeys,
    ) -> Result<Self>;

    /// Enables automatic bootstrapping: an operation that takes levels bootstraps its operands
    /// first if it would otherwise leave fewer levels than a bootstrap needs
    /// ([`Bootstrapper::input_level`]). Operands already below that level are used as they are.
    ///
    /// This covers products (also without a rescale, which will follow), constants, plaintexts,
    /// sums of products, polynomials and powers, transforms, matched scales, and everything
    /// composed of them. Functions and comparisons that take more levels than there are between two
    /// bootstraps ([`Bootstrapper::levels`]) bootstrap in between; a single polynomial cannot.
    fn with_auto_bootstrap(self) -> Result<Self>;

    /// Adds functional bootstrapping to the evaluator. Reserves its working memory now.
    fn with_functional(
        self,
        bootstrapper: impl Into<Arc<FunctionalBootstrapper>>,
        keys: BootstrapKeys,
    ) -> Result<Self>;

    /// The same evaluator, whose bootstraps report their progress to `callback`: plain ones, those
    /// that [`with_auto_bootstrap`](Self::with_auto_bootstrap) inserts, and functional ones, tables
    /// of integers among them. A report is made at the end of S2C, of the raise and of C2S, after
    /// EvalMod or the exponential of each part of the slots, and after each function of a part,
    /// with what is finished of the stage and all of it. A callback that returns
    /// [`ControlFlow::Break`] stops the operation there ([`ErrorKind::Cancelled`]). Reports depend
    /// on the shape of the operands alone.
    fn watching(
        self,
        callback: impl Fn(BootstrapStage, usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self;

    /// A bound on the probability that any value of any bootstrapped vector is wrong: the sum of
    /// [`BootstrapSpec::log2_failure`](super::BootstrapSpec::log2_failure) over all bootstraps so
    /// far, including those of [`with_auto_bootstrap`](Self::with_auto_bootstrap). Copies of an
    /// evaluator share one sum; [`reset_failures`](Self::reset_failures) starts a new one. Nothing
    /// else can fail.
    fn failures(&self) -> FailureProbability;

    /// Starts a new sum of [`failures`](Self::failures), for one program of several.
    fn reset_failures(self) -> Self;
}

impl EvaluatorExt for Evaluator {
    fn with_bootstrapping(
        self,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
        keys: BootstrapKeys,
    ) -> Result<Self> {
        operation("with_bootstrapping", || {
            let bootstrapper = bootstrapper.into();
            bootstrapper.raising.check_keys(&self, &keys)?;
            bootstrapper.reserve();
            let begun = Arc::default();
            let own = Bootstrapping { bootstrapper: bootstrapper.clone(), keys, begun };
            Ok(self.refreshing(None).attaching(bootstrapper).attaching(own))
        })
    }

    fn with_auto_bootstrap(self) -> Result<Self> {
        let bootstrapper = self.attached::<Arc<Bootstrapper>>().cloned();
        let bootstrapper = bootstrapper.ok_or_else(error::no_bootstrapping)?;
        // A debugger bootstraps plain values beside the ciphertexts.
        let of_values: Arc<dyn Refresh<Simulator, SimCiphertext>> = bootstrapper.clone();
        Ok(self.refreshing(Some(bootstrapper)).attaching(of_values))
    }

    fn with_functional(
        self,
        bootstrapper: impl Into<Arc<FunctionalBootstrapper>>,
        keys: BootstrapKeys,
    ) -> Result<Self> {
        operation("with_functional", || {
            let bootstrapper = bootstrapper.into();
            bootstrapper.raising().check_keys(&self, &keys)?;
            bootstrapper.reserve();
            let begun = Arc::default();
            let own = Functional { bootstrapper: bootstrapper.clone(), keys, begun };
            Ok(self.attaching(bootstrapper).attaching(own))
        })
    }

    fn watching(
        self,
        callback: impl Fn(BootstrapStage, usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.attaching(Watch::new(callback))
    }

    fn failures(&self) -> FailureProbability {
        let mut failures = FailureProbability::NONE;
        if let Some(Bootstrapping { bootstrapper, begun, .. }) = self.attached() {
            let each = bootstrapper.spec().log2_failure;
            failures = failures.and(each, begun.load(Ordering::Relaxed));
        }
        if let Some(Functional { bootstrapper, begun, .. }) = self.attached() {
            let each = bootstrapper.spec().log2_failure;
            failures = failures.and(each, begun.load(Ordering::Relaxed));
        }
        failures
    }

    fn reset_failures(mut self) -> Self {
        if let Some(own) = self.attached::<Bootstrapping>().cloned() {
            self = self.attaching(Bootstrapping { begun: Arc::default(), ..own });
        }
        if let Some(own) = self.attached::<Functional>().cloned() {
            self = self.attaching(Functional { begun: Arc::default(), ..own });
        }
        self
    }
}

/// Bootstrapping for a [`Simulator`], as by [`EvaluatorExt`].
pub trait SimulatorExt: Sized {
    /// The same simulator with bootstrapping.
    fn with_bootstrapping(self, bootstrapper: impl Into<Arc<Bootstrapper>>) -> Result<Self>;

    /// The same simulator with automatic bootstrapping.
    fn with_auto_bootstrap(self) -> Result<Self>;

    /// The same simulator with functional bootstrapping.
    fn with_functional(self, bootstrapper: impl Into<Arc<FunctionalBootstrapper>>) -> Result<Self>;

    /// Simulates [`encode_integers`](crate::fbt::EncoderExt::encode_integers) and an encryption of
    /// integers of `0 .. p`.
    fn encrypt_integers(
        &self,
        integers: &[usize],
        modulus: usize,
        level: usize,
    ) -> Result<IntVec<SimCiphertext>>;
}

impl SimulatorExt for Simulator {
    fn with_bootstrapping(self, bootstrapper: impl Into<Arc<Bootstrapper>>) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        let params = bootstrapper.params();
        self.params().check_chain(params)?;
        self.params().check_relin_strategy(params.relin_strategy())?;
        Ok(self.refreshing(None).attaching(bootstrapper))
    }

    fn with_auto_bootstrap(self) -> Result<Self> {
        let bootstrapper = self.attached::<Arc<Bootstrapper>>().cloned();
        Ok(self.refreshing(Some(bootstrapper.ok_or_else(error::no_bootstrapping)?)))
    }

    fn with_functional(self, bootstrapper: impl Into<Arc<FunctionalBootstrapper>>) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        self.params().check_same(bootstrapper.params())?;
        Ok(self.attaching(bootstrapper))
    }

    fn encrypt_integers(
        &self,
        integers: &[usize],
        modulus: usize,
        level: usize,
    ) -> Result<IntVec<SimCiphertext>> {
        let missing = || error::missing_key("functional bootstrapping key", false);
        let bootstrapper = self.attached::<Arc<FunctionalBootstrapper>>().ok_or_else(missing)?;
        // The scale of integers depends on their modulus and differs from the default scale.
        let scale = bootstrapper.integer_scale(modulus);
        IntVec::assembled(integers, modulus, self.params().max_slots(), |slots, range| {
            let reals: Vec<f64> = slots.iter().map(|z| z.re).collect();
            match range.is_real() {
                true => self.encrypt_at(&reals, range, scale, level),
                false => self.encrypt_at(slots, range, scale, level),
            }
        })
    }
}
