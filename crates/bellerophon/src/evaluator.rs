//! The server: arithmetic on slots and functions by look-up, with public keys only.

use std::{ops::ControlFlow, sync::Arc};

use bellerophon_ckks::{self as ckks, Ciphertext, Interval, dft::SlotsToCoeffs};
use bellerophon_repack::lookup::{Counts, LookupEvaluator, LookupServer, Watch};

#[cfg(doc)]
use crate::ErrorKind;
use crate::{Bridge, During, EvaluationKeys, LutEngine, Params, Progress, Result};

/// Computes on encrypted vectors of one client.
///
/// Its methods are the operations on slots (`add`, `mul`, `rotate`, `sum_slots`, `bootstrap`, ..),
/// and the functions that leave the slots (`map`, `within`, ..). Levels and scales of operands are
/// aligned automatically. Operands that cannot be aligned, results that could wrap around, and
/// missing keys are errors. All methods take `&self`; one evaluator serves many threads.
///
/// It dereferences to the CKKS evaluator ([`ckks::Evaluator`]), which has operations in place, of
/// encoded plaintexts and without a rescale. Circuits over the trait
/// [`CkksOps`](ckks::CkksOps) take it as `&*server`.
///
/// # Lengths and padding
/// Operands have one length; nothing is repeated or filled up unless asked for. The page
/// [`lengths`](mod@crate::lengths) states the rule for every operation.
///
/// # Circuits
/// The circuits of [`ckks`] work on whole vectors: [`statistics`](ckks::statistics),
/// [`matrix`](ckks::matrix), [`learning`](ckks::learning), and [`ordering`](ckks::ordering), which
/// sorts, selects and counts thousands of values ([`within`](Self::within) orders few values).
///
/// ```
/// use bellerophon::ckks::{approx::Sign, ordering::{Comparator, Order, OrderTask}};
/// use bellerophon::prelude::*;
/// # fn main() -> bellerophon::Result<()> {
/// // Toy dimensions, insecure, with 3 levels between two bootstraps.
/// let params = Params::preset(Preset::ToyBootstrapping)?;
/// let client = ClientKey::generate(&params)?;
/// let keys = OrderTask::Sort { len: 3 }.keys(params.levels());
/// let keys = client.evaluation_keys(&Needs::new().bootstrap().keys(&keys))?;
/// let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
///
/// // The comparator distinguishes numbers that differ by 1/8 of the declared range.
/// let comparator = Comparator::of(Sign::of_degrees(1.0, 1.0 / 8.0, &[7, 7])?)?;
/// let x = client.encrypt(&[0.5, -0.75, 0.125], -1.0..=1.0)?;
/// let sorted = client.decrypt(&comparator.sort(&*server, &x, Order::Ascending)?)?;
/// let bound = 2.0 * comparator.error(OrderTask::Sort { len: 3 }); // the range has width 2
/// assert!(sorted.iter().zip([-0.75, 0.125, 0.5]).all(|(a, b)| (a - b).abs() < bound));
/// # Ok(())
/// # }
/// ```
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

impl std::ops::Deref for Evaluator {
    type Target = ckks::Evaluator;

    fn deref(&self) -> &ckks::Evaluator {
        &self.arithmetic
    }
}

impl LookupServer for Evaluator {
    fn lookup(&self) -> Result<LookupEvaluator<'_>> {
        Ok(LookupEvaluator {
            arithmetic: &self.arithmetic,
            lookups: self.keys.params.lookups()?,
            keys: &self.keys.lookups,
            slots_to_coeffs: self.slots_to_coeffs.as_deref(),
            bridge: Bridge::Auto,
            watch: self.watch.as_ref(),
            counts: &self.counts,
        })
    }
}

impl Evaluator {
    /// Creates an evaluator with the keys of a client.
    ///
    /// With bootstrapping keys, it encodes the matrices of the bootstrap and allocates its memory
    /// here (0.8 GiB at `N = 2^16`). That memory, up to 1 GiB, belongs to the parameters: clones of
    /// one [`Params`](crate::Params) share it.
    ///
    /// # Errors
    /// None for keys made by [`ClientKey::evaluation_keys`](crate::ClientKey).
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
    /// These operations report to it: [`map_with`](Self::map_with), [`map_many`](Self::map_many),
    /// [`map_flooded`](Self::map_flooded),
    /// [`extract`](Self::extract), [`pack`](Self::pack), operations on [`tables`](Self::tables),
    /// bootstraps, automatic ones too, and functional bootstraps ([`integers`](Self::integers),
    /// [`functions_of`](ckks::CkksOps::functions_of)). [`Progress`] says what is counted: look-ups
    /// report every 16 values, bootstraps every stage. The operation waits for the callback, which
    /// may be called on any thread of the pool, one call of an operation at a time.
    ///
    /// A callback that returns [`ControlFlow::Break`] stops the operation with
    /// [`ErrorKind::Cancelled`], which says how far it came; operations of the CKKS evaluator
    /// return [`ckks::ErrorKind::Cancelled`], which converts to it. Operands, keys and evaluator
    /// are as before, and the operation can be called again. Cheap: keys are shared.
    /// [`ClientKey::with_progress`](crate::ClientKey::with_progress) takes the same callback.
    ///
    /// ```
    /// use std::{ops::ControlFlow, sync::{Arc, atomic::{AtomicBool, Ordering}}, thread};
    /// use bellerophon::{ErrorKind, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, insecure.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let x = client.encrypt(&[0.5; 200], -2.0..=2.0)?;
    /// let cancel = Arc::new(AtomicBool::new(false));
    /// let flag = cancel.clone();
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let server = server.with_progress(move |_| match flag.load(Ordering::Relaxed) {
    ///     true => ControlFlow::Break(()),
    ///     false => ControlFlow::Continue(()),
    /// });
    /// let work = thread::spawn(move || server.map(&x, f64::abs));
    /// cancel.store(true, Ordering::Relaxed); // by any thread, at any time
    /// match work.join().expect("the thread does not panic") {
    ///     Ok(_) => println!("it was faster"),
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
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for parameters without bootstrapping, and
    /// [`ErrorKind::MissingKey`] for keys without [`Needs::bootstrap`](crate::Needs::bootstrap).
    pub fn with_auto_bootstrap(mut self) -> Result<Self> {
        let op = "with_auto_bootstrap";
        self.params().bootstrapper().during(op)?;
        self.arithmetic = self.arithmetic.with_auto_bootstrap().during(op)?;
        Ok(self)
    }

    /// The parameters of the client.
    pub fn params(&self) -> &Params {
        &self.keys.params
    }

    /// The engine of the look-up keys, if there are any.
    pub fn engine(&self) -> Option<LutEngine> {
        self.keys.lookups.tables.as_ref().map(|tables| LutEngine::of(&tables.lwe_params))
    }

    /// Declares the standard deviation of a slot's error against the exact program, where the
    /// caller knows more than the prediction, which adds up all steps of a program.
    ///
    /// In a loop, [`Metadata::noise`](ckks::Metadata::noise) grows with every step, also where the
    /// loop forgets its errors: an iteration that contracts, a filter, an average. A declaration in
    /// every step bounds it. Functions that decide by the predicted noise then keep working:
    /// look-ups to an accuracy ([`MapRequest::typical`](crate::MapRequest::typical)), sorting and
    /// comparing ([`ckks::ordering`]), publishing. To bound the range as well, see
    /// [`assume_range`](Self::assume_range).
    ///
    /// The declaration is a promise, and must not depend on encrypted values.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, insecure.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyBootstrapping)?)?;
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
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] unless the deviation is finite and not negative.
    pub fn assume_noise(&self, x: &Ciphertext, deviation: f64) -> Result<Ciphertext> {
        x.clone().assume_noise(deviation)
    }
}
