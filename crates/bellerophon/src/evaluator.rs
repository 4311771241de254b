//! The server: arithmetic on slots and functions by look-up, with public keys only.

use std::{ops::ControlFlow, sync::Arc};

use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_circuits::dft::SlotsToCoeffs;
use bellerophon_ckks as ckks;
use bellerophon_lookup::{Counts, Engine, LookupEvaluator, LookupServer, Progress, Watch};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};

use crate::keys::EvaluationKeys;
use crate::params::Params;

/// Computes on encrypted vectors of one client.
///
/// Operations on slots are methods of three traits of the [`prelude`](crate::prelude), which list
/// them with levels and errors; a program over these traits also runs on the simulator and on the
/// debugger:
///
/// | trait | methods |
/// | --- | --- |
/// | [`CkksOps`](ckks::CkksOps) | `add`, `sub`, `mul`, `square`, `mul_scalar`, `rotate`, `conjugate`, .. |
/// | [`ComposedOps`](ckks::ComposedOps) | `dot`, `sum_slots`, `replicate`, `mask`, `assume_range`, .. |
/// | [`CircuitOps`](crate::circuits::CircuitOps) | `polynomial`, `function`, `sign`, `max`, `transform`, `bootstrap`, .. |
///
/// Its own methods leave the slots ([`map`](Self::map), [`within`](Self::within)), exchange vectors
/// ([`publish`](Self::publish), [`admit`](Self::admit)), and change the evaluator. Operations in
/// place and of encoded plaintexts are those of [`arithmetic`](Self::arithmetic).
///
/// Levels and scales of operands are aligned automatically. Operands have one length; nothing is
/// repeated or filled up unless asked for. `docs/guide.md` states the rule for every operation. All
/// methods take `&self`; one evaluator serves many threads.
#[derive(Debug, Clone)]
pub struct Evaluator {
    pub(crate) keys: EvaluationKeys,
    pub(crate) arithmetic: ckks::Evaluator,
    /// The encoded SlotsToCoeffs matrices of a look-up; none without look-up keys.
    pub(crate) slots_to_coeffs: Option<Arc<SlotsToCoeffs>>,
    pub(crate) watch: Option<Watch>,
    /// Operations that can fail, counted over all clones of this evaluator.
    pub(crate) counts: Arc<Counts>,
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
    /// Creates an evaluator with the keys of a client. Keys were checked when they were made or
    /// read, so this does not fail for them; an operation without its key does.
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
        Ok(Self { keys, arithmetic, slots_to_coeffs, watch: None, counts })
    }

    /// Returns this evaluator with a progress callback.
    ///
    /// Look-ups report every 16 values, bootstraps every stage ([`Progress`]). A callback that
    /// returns [`ControlFlow::Break`] stops the operation with [`ErrorKind::Cancelled`].
    ///
    /// ```
    /// use std::{ops::ControlFlow, sync::{Arc, atomic::{AtomicBool, Ordering}}};
    /// use bellerophon::{ErrorKind, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let cancel = Arc::new(AtomicBool::new(false));
    /// let flag = cancel.clone();
    /// let server = server.with_progress(move |_| match flag.load(Ordering::Relaxed) {
    ///     true => ControlFlow::Break(()),
    ///     false => ControlFlow::Continue(()),
    /// });
    /// cancel.store(true, Ordering::Relaxed); // by any thread, at any time
    /// let x = client.encrypt(&[0.5; 200], -2.0..=2.0)?;
    /// let refused = server.map(&x, f64::abs).unwrap_err();
    /// assert!(matches!(refused.kind(), ErrorKind::Cancelled { .. }));
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

    /// The evaluator of the slots: operations in place and of encoded plaintexts.
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
}
