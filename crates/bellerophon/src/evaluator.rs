//! The server: arithmetic on slots and functions by look-up, with public keys only.

use std::{ops::ControlFlow, sync::Arc};

use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_circuits::dft::SlotsToCoeffs;
use bellerophon_ckks as ckks;
use bellerophon_ckks::{Ciphertext, Interval};
use bellerophon_lookup::{Counts, Engine, LookupEvaluator, LookupServer, Progress, Watch};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};

use crate::keys::EvaluationKeys;
use crate::params::Params;

/// Computes on encrypted vectors of one client.
///
/// Its methods are the operations on slots (`add`, `mul`, `rotate`, `sum_slots`, `bootstrap`, ..),
/// and the functions that leave the slots (`map`, `within`, ..). Levels and scales of operands are
/// aligned automatically. Operands that cannot be aligned, results that could wrap around, and
/// missing keys are errors. All methods take `&self`; one evaluator serves many threads.
///
/// Circuits over the trait [`CkksOps`](ckks::CkksOps) take it as `&server`. Operations in place, of
/// encoded plaintexts and without a rescale are those of [`arithmetic`](Self::arithmetic).
///
/// Operands have one length; nothing is repeated or filled up unless asked for. `docs/guide.md`
/// states the rule for every operation.
#[derive(Debug, Clone)]
pub struct Evaluator {
    pub(crate) keys: EvaluationKeys,
    pub(crate) arithmetic: ckks::Evaluator,
    /// The encoded SlotsToCoeffs matrices of a look-up; none without look-up keys.
    slots_to_coeffs: Option<Arc<SlotsToCoeffs>>,
    pub(crate) watch: Option<Watch>,
    /// Operations that can fail, counted over all clones of this evaluator.
    pub(crate) counts: Arc<Counts>,
    /// The range in which the results of its operations on slots are stated to lie.
    pub(crate) kept: Option<Interval>,
}

impl LookupServer for Evaluator {
    fn lookup(&self) -> Result<LookupEvaluator<'_>> {
        Ok(LookupEvaluator {
            arithmetic: &self.arithmetic,
            lookups: self.keys.params.lookups()?,
            keys: &self.keys.lookups,
            slots_to_coeffs: self.slots_to_coeffs.as_deref(),
            bridge: None,
            watch: self.watch.as_ref(),
            counts: &self.counts,
        })
    }
}

impl Evaluator {
    /// Creates an evaluator with the keys of a client.
    ///
    /// With bootstrapping keys, it encodes the matrices of the bootstrap and allocates its memory
    /// here. That memory belongs to the parameters: clones of one [`Params`](crate::Params) share
    /// it.
    pub fn new(keys: EvaluationKeys) -> Result<Self> {
        // Step 1: the evaluator of the slots, with the keys of products and rotations.
        let mut arithmetic = ckks::Evaluator::new(keys.params.ckks(), &keys.arithmetic)?;
        // Step 2: the parameters hold plans only: the server encodes the matrices once, ahead of
        // use.
        if let Some(bootstrap) = &keys.bootstrap {
            let bootstrapper = keys.params.bootstrapper()?.encoded()?;
            arithmetic = arithmetic.with_bootstrapping(bootstrapper, bootstrap.clone())?;
        }
        if let Some(functional) = &keys.functional {
            let bootstrapper = keys.params.functional()?.encoded()?;
            arithmetic = arithmetic.with_functional(bootstrapper, functional.clone())?;
        }
        // Step 3: SlotsToCoeffs of the look-ups, encoded ahead as well.
        let slots_to_coeffs = match keys.lookups.tables {
            Some(_) => Some(Arc::new(keys.params.lookups()?.encoded_to_coefficients()?)),
            None => None,
        };
        // Clones share the counts of what may fail.
        let counts = Arc::default();
        Ok(Self { keys, arithmetic, slots_to_coeffs, watch: None, counts, kept: None })
    }

    /// Returns this evaluator with a progress callback.
    ///
    /// Look-ups report every 16 values, bootstraps every stage ([`Progress`]). A callback that
    /// returns [`ControlFlow::Break`] stops the operation with [`ErrorKind::Cancelled`].
    ///
    /// ```
    /// use std::{ops::ControlFlow, sync::{Arc, atomic::{AtomicBool, Ordering}}, thread};
    /// use bellerophon::{ErrorKind, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let x = client.encrypt(&[0.5; 200], -2.0..=2.0)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let cancel = Arc::new(AtomicBool::new(false));
    /// let flag = cancel.clone();
    /// let server = server.with_progress(move |_| match flag.load(Ordering::Relaxed) {
    ///     true => ControlFlow::Break(()),
    ///     false => ControlFlow::Continue(()),
    /// });
    /// let work = thread::spawn(move || server.map(&x, f64::abs));
    /// cancel.store(true, Ordering::Relaxed); // by any thread, at any time
    /// match work.join().expect("the thread does not panic") {
    ///     Ok(_) => {} // it was faster
    ///     Err(error) => match error.kind() {
    ///         ErrorKind::Cancelled { done, total, .. } => println!("{done} of {total}"),
    ///         _ => return Err(error),
    ///     },
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_progress(
        mut self,
        callback: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        // Bootstraps of both kinds report through the CKKS evaluator, look-ups through `watch`.
        let callback = Arc::new(callback);
        let above = callback.clone();
        self.arithmetic = self.arithmetic.watching(move |stage, done, total| {
            above(Progress { stage: stage.into(), done, total })
        });
        self.watch = Some(Watch::new(callback));
        self
    }

    /// Returns this evaluator with automatic bootstrapping of operands whose levels are used up
    /// ([`ckks::Evaluator::with_auto_bootstrap`]). Values must lie in `[-1, 1]`, or in the range
    /// for which the parameters' bootstrap is specified.
    pub fn with_auto_bootstrap(mut self) -> Result<Self> {
        operation("with_auto_bootstrap", || {
            self.params().bootstrapper()?;
            self.arithmetic = self.arithmetic.with_auto_bootstrap()?;
            Ok(self)
        })
    }

    /// The evaluator of the slots: operations in place, of encoded plaintexts and without a
    /// rescale.
    pub fn arithmetic(&self) -> &ckks::Evaluator {
        &self.arithmetic
    }

    /// The parameters of the client.
    pub fn params(&self) -> &Params {
        &self.keys.params
    }

    /// The engine of the look-up keys, if there are any.
    pub fn engine(&self) -> Option<Engine> {
        self.keys.lookups.tables.as_ref().map(|tables| Engine::of(&tables.lwe_params))
    }

    /// Declares the standard deviation of a slot's error against the exact program, where the
    /// caller knows more than the prediction, which adds up all steps of a program.
    ///
    /// In a loop, [`Metadata::noise`](ckks::Metadata::noise) grows with every step, also where the
    /// loop forgets its errors: an iteration that contracts, a filter, an average. A declaration in
    /// every step bounds it. Functions that decide by the predicted noise then keep working:
    /// look-ups to an accuracy ([`MapRequest::typical`](crate::MapRequest::typical)), sorting and
    /// comparing ([`circuits::ordering`](crate::circuits::ordering)), publishing. To bound the
    /// range as well, see [`assume_range`](Self::assume_range).
    ///
    /// The declaration is a promise, and must not depend on encrypted values.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, insecure.
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Bootstrapping))?)?;
    /// let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap())?;
    /// let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
    /// let mut x = client.encrypt(&[0.9, 0.2], -1.0..=1.0)?;
    /// for _ in 0..8 {
    ///     // x <- x^2 / 2: an error shrinks at every step, for |x| <= 1.
    ///     x = server.mul_scalar(&server.square(&x)?, 0.5)?;
    ///     x = server.assume_range(&x, -1.0..=1.0)?;
    ///     x = server.assume_noise(&x, 1e-6)?;
    /// }
    /// assert!(x.metadata().noise() <= 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    pub fn assume_noise(&self, x: &Ciphertext, deviation: f64) -> Result<Ciphertext> {
        x.clone().assume_noise(deviation)
    }
}
