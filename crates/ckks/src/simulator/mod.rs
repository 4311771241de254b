//! Dry runs on plain vectors: where a program fails, which keys it needs, and how exact its result
//! is.
//!
//! A [`Simulator`] is a [`CkksOps`](crate::CkksOps) whose ciphertexts are [`SimCiphertext`]s: plain
//! values with exactly the [`Metadata`] that a ciphertext would have at that point. A program
//! written for any [`CkksOps`](crate::CkksOps) runs on it before a key exists, meets the errors
//! that it would meet on ciphertexts, and leaves a [`Report`] with the keys that it used.
//! [`min_level`] finds the number of levels that a program needs. A program that bootstraps runs
//! on a simulator [with bootstrapping](Simulator::with_bootstrapping).
//!
//! ```
//! use bellerophon_ckks::{
//!     CkksOps, Encoder, Error, EvaluationKeys, Evaluator, Interval, LevelGroup, ModulusChain,
//!     Params, ParamsSpec, Result, SecretKey, Security, decrypt_values, encrypt,
//!     simulator::{self, Simulator},
//! };
//! use rand::SeedableRng;
//!
//! // The program, for ciphertexts and plain vectors alike.
//! fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
//!     let y = a.square(&a.add_scalar(x, -0.5)?)?;
//!     a.mul(&y, &a.rotate(&y, 1)?)
//! }
//!
//! # fn main() -> Result<()> {
//! // A toy ring without security; `ParamsSpec::w1()` is a set of 128 bits.
//! let chain = ModulusChain {
//!     degree: 1 << 10,
//!     first_bits: 50,
//!     levels: vec![LevelGroup::single(40, 2)],
//!     special: (50, 1),
//! };
//! let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
//! let values = [0.5, -1.5, 2.0, 0.25];
//! let range = Interval::real(-2.0, 2.0)?; // declared, and public
//!
//! // Before any key exists: one level is not enough, operation 4 fails.
//! let simulator = Simulator::new(&params);
//! let refused = program(&simulator, &simulator.encrypt(&values, range, 1)?);
//! assert!(matches!(refused, Err(Error::OutOfLevels { .. })));
//! assert_eq!(simulator.report().failure.unwrap().operation, 4);
//! let least = simulator::min_level(&params, |simulator, level| {
//!     program(simulator, &simulator.encrypt(&values, range, level)?)
//! })?;
//! assert_eq!(least, 2);
//!
//! // Two levels are enough: the keys that the program needs, and the precision of its result.
//! let simulator = Simulator::new(&params);
//! let expected = program(&simulator, &simulator.encrypt(&values, range, 2)?)?;
//! let keys = simulator.report().keys;
//! assert!(expected.metadata().estimate(&params, -20.0).bits() > 20.0);
//!
//! // The same program on ciphertexts, with exactly these keys.
//! let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let secret = SecretKey::generate(params.lattice(), &mut rng)?;
//! let evaluator =
//!     Evaluator::new(&params, &EvaluationKeys::generate(&params, &secret, &keys, &mut rng)?)?;
//! let plain = Encoder::new(&params).encode(&values, range, params.scale(), 3)?;
//! let y = program(&evaluator, &encrypt(&params, &plain, &secret, &mut rng)?)?;
//! assert_eq!(y.metadata(), *expected.metadata());
//! let found: Vec<f64> = decrypt_values(&params, &y, &secret)?;
//! let close = |(a, b): (&f64, f64)| (a - b).abs() < 2f64.powi(-20);
//! assert!(found.iter().zip(expected.reals()).all(close));
//! # Ok(())
//! # }
//! ```

mod ckks_ops;
mod min_level;
mod report;
mod worst;

use std::{
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use min_level::min_level;
pub use report::{Failure, Report};

use crate::{
    CiphertextMeta, Complex64, Error, Interval, KeyLevels, Metadata, Params, Result, SlotValue,
    bootstrap::{Bootstrapper, auto_bootstrap},
    cost::{Count, Work},
    encode::{check_values, constants_range},
    fbt::{FbtInput, FunctionalBootstrapper, IntVec, PeriodicFunction},
    lengths::check_len,
    metadata::rules::{MetadataRules, Route},
    noise_flooding::NoiseBound,
    noise_model::NoiseModel,
    polynomial::{Basis, Known, Plan, Power, PowerBasis},
    rotation_plan::RotationCost,
};

/// Runs programs on plain vectors with the metadata of ciphertexts, and keeps a [`Report`].
#[derive(Debug)]
pub struct Simulator {
    params: Params,
    bootstrapper: Option<Arc<Bootstrapper>>,
    functional: Option<Arc<FunctionalBootstrapper>>,
    auto_bootstrap: bool,
    noise_model: NoiseModel,
    report: Mutex<Report>,
}

/// Plain values with the metadata that the ciphertext would have. It belongs to simulators with the
/// same parameters and the same noise model.
#[derive(Clone, PartialEq)]
pub struct SimCiphertext {
    /// Every slot of one period.
    values: Vec<Complex64>,
    metadata: Metadata,
    params: Params,
    noise_model: NoiseModel,
}

/// Prints the metadata only: the values are plaintext.
impl std::fmt::Debug for SimCiphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimCiphertext").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl SimCiphertext {
    /// The metadata of the ciphertext.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The values of exact arithmetic, without the predicted noise.
    pub fn values(&self) -> &[Complex64] {
        &self.values[..self.metadata.meta.len]
    }

    /// The real parts of [`values`](Self::values).
    pub fn reals(&self) -> Vec<f64> {
        self.values().iter().map(|z| z.re).collect()
    }

    fn with(&self, meta: CiphertextMeta) -> Self {
        Self { metadata: Metadata { meta, ..self.metadata }, ..self.clone() }
    }
}

impl Simulator {
    /// A simulator of evaluators with these parameters.
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            bootstrapper: None,
            functional: None,
            auto_bootstrap: false,
            noise_model: NoiseModel::default(),
            report: Mutex::default(),
        }
    }

    /// The same simulator with a worst-case bound on noise instead of an average. The "variances"
    /// of its metadata are squares of bounds on the length of the noise polynomial divided by
    /// `sqrt(N)`. [`noise_bound`](Self::noise_bound) returns the bound of a result.
    ///
    /// The bound holds for any correlation of errors, under three conditions:
    /// - no single error (of an encryption, a rounding, a key switch) is longer than its own bound,
    ///   which fails with probability `2^-64` each;
    /// - the ranges that the metadata carries hold;
    /// - the evaluator has a key of its own for every rotation ([`Report::keys`]).
    ///
    /// Polynomials, linear transforms and bootstraps are covered like sums, products and rotations.
    /// A bootstrap adds its approximation error in every slot, and its bound fails if the bootstrap
    /// fails, with the probability in the [report](Report::failures). An [iterated
    /// bootstrap](crate::CkksOps::bootstrap_iterated) states the range of the remainder after
    /// each round from the average noise, and its bound holds as long as that range does.
    ///
    /// Average and worst case do not mix: all inputs and operations of a program must use one
    /// worst-case simulator ([`Error::NoWorstCase`]). A statement may lower the excess of a vector
    /// ([`CkksOps::assume_range`](crate::CkksOps::assume_range)), never the bound on its error.
    pub fn worst_case(mut self) -> Self {
        self.noise_model = NoiseModel::Worst;
        self
    }

    /// The bound on the noise of a vector, for
    /// [`decrypt_flooded`](crate::noise_flooding::decrypt_flooded).
    ///
    /// # Errors
    /// [`Error::NoWorstCase`] for a simulator that is not [`worst_case`](Self::worst_case), and for
    /// its vectors; [`Error::ParamsMismatch`] and [`Error::RouteMismatch`] for vectors of other
    /// parameters; [`Error::Variance`] for a vector whose error is unbounded.
    pub fn noise_bound(&self, x: &SimCiphertext) -> Result<NoiseBound> {
        let op = "bound the noise";
        if self.noise_model != NoiseModel::Worst {
            return Err(Error::NoWorstCase { op });
        }
        self.check(op, x)?;
        // The prediction of a long loop may have grown to infinity, which bounds nothing.
        let found = x.metadata.meta.noise.total;
        if !found.is_finite() {
            return Err(Error::Variance { op, found });
        }
        Ok(NoiseBound::new(&self.params, x.metadata))
    }

    /// Refuses vectors of other parameters or of another noise model.
    fn check(&self, op: &'static str, x: &SimCiphertext) -> Result<()> {
        self.params.check_same(op, &x.params)?;
        if x.noise_model != self.noise_model {
            return Err(Error::NoWorstCase { op });
        }
        Ok(())
    }

    /// A vector of this simulator.
    fn vector(&self, values: Vec<Complex64>, metadata: Metadata) -> SimCiphertext {
        SimCiphertext {
            values,
            metadata,
            params: self.params.clone(),
            noise_model: self.noise_model,
        }
    }

    /// The metadata rules of the evaluator, with the noise model of this simulator.
    fn rules(&self) -> MetadataRules<'_> {
        self.params.rules().with_errors(self.noise_model)
    }

    /// The same simulator with bootstrapping, as
    /// [`Evaluator::with_bootstrapping`](crate::Evaluator::with_bootstrapping).
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for another chain, [`Error::RouteMismatch`] for another
    /// relinearization strategy.
    pub fn with_bootstrapping(
        mut self,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
    ) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        let op = "add bootstrapping to a simulator";
        self.params.check_chain(op, bootstrapper.params())?;
        self.params.check_relin_strategy(op, bootstrapper.params().relin_strategy())?;
        self.bootstrapper = Some(bootstrapper);
        Ok(self)
    }

    /// The same simulator with automatic bootstrapping, as
    /// [`Evaluator::with_auto_bootstrap`](crate::Evaluator::with_auto_bootstrap).
    ///
    /// # Errors
    /// [`Error::MissingKey`] without [`with_bootstrapping`](Self::with_bootstrapping).
    pub fn with_auto_bootstrap(mut self) -> Result<Self> {
        self.prepared("bootstrap automatically")?;
        self.auto_bootstrap = true;
        Ok(self)
    }

    /// The bootstrapper; an error if there is none.
    fn prepared(&self, op: &'static str) -> Result<&Arc<Bootstrapper>> {
        let level = self.params.max_level();
        self.bootstrapper.as_ref().ok_or(Error::MissingKey { op, key: "bootstrapping key", level })
    }

    /// `x` after a bootstrap to `scale`.
    fn bootstrapped(&self, x: &SimCiphertext, scale: f64) -> Result<SimCiphertext> {
        let op = "bootstrap";
        // Step 1: the metadata of the result.
        let bootstrapper = self.prepared(op)?;
        let metadata = match self.noise_model {
            NoiseModel::Average => bootstrapper.meta(op, &x.metadata, scale, &one_key)?.result,
            NoiseModel::Worst => bootstrapper.bounded(self.rules(), op, &x.metadata, scale)?.result,
        };
        // Step 2: keys, work and failure probability. Complex slots take EvalMod twice.
        let count = bootstrapper.key_switches(x.metadata.meta.bounds.slots().is_real());
        self.needs(count, |keys| keys.and(&bootstrapper.keys()));
        let parts = if x.metadata.meta.bounds.slots().is_real() { 1 } else { 2 };
        let work = Work::of_bootstrap(bootstrapper, parts);
        let mut report = self.lock();
        report.work += work;
        report.bootstraps += 1;
        report.failures = report.failures.and(bootstrapper.spec().log2_failure, 1);
        drop(report);
        Ok(SimCiphertext { metadata, ..x.clone() })
    }

    /// The same simulator with functional bootstrapping, as
    /// [`Evaluator::with_functional`](crate::Evaluator::with_functional).
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for another chain, [`Error::RouteMismatch`] for another
    /// relinearization strategy.
    pub fn with_functional(
        mut self,
        bootstrapper: impl Into<Arc<FunctionalBootstrapper>>,
    ) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        self.params
            .check_same("add functional bootstrapping to a simulator", bootstrapper.params())?;
        self.functional = Some(bootstrapper);
        Ok(self)
    }

    /// Functions of the values by functional bootstrapping.
    fn functions(
        &self,
        x: &SimCiphertext,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<SimCiphertext>> {
        let op = "bootstrap functionally";
        let level = self.params.max_level();
        let missing = Error::MissingKey { op, key: "functional bootstrapping key", level };
        let bootstrapper = self.functional.as_ref().ok_or(missing)?;
        // Step 1: the metadata of every result.
        let metadata = match self.noise_model {
            NoiseModel::Average => {
                bootstrapper.meta(op, &x.metadata, input, functions, &one_key)?.results
            }
            NoiseModel::Worst => {
                bootstrapper.bounded(self.rules(), op, &x.metadata, input, functions)?
            }
        };

        // Step 2: keys, work and failure probability.
        let prepared: Vec<&PeriodicFunction> = functions.iter().map(|&(f, _)| f).collect();
        let count = bootstrapper.key_switches(&prepared, input.both);
        self.needs(count, |keys| keys.and(&bootstrapper.keys()));
        let work = Work::of_functional(bootstrapper, &prepared, input.both);
        let mut report = self.lock();
        report.work += work;
        report.functional += 1;
        let each = bootstrapper.spec().log2_failure;
        report.failures = report.failures.and(each, functions.len() as u64);
        drop(report);

        // Step 3: the exact values.
        let results = functions.iter().zip(metadata).map(|(&(f, _), metadata)| {
            let part = |v: f64| f.eval(v);
            let value = |z: &Complex64| match input.both {
                true => Complex64::new(part(z.re), part(z.im)),
                false => part(z.re).into(),
            };
            self.vector(x.values.iter().map(value).collect(), metadata)
        });
        Ok(results.collect())
    }

    /// The report of the program so far.
    pub fn report(&self) -> Report {
        self.lock().clone()
    }

    /// Simulates [`encrypt`](crate::encrypt()) of values of a declared range, encoded at the
    /// default scale for `level`. Only [`SimCiphertext::values`] depends on the values.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`](crate::Encoder::encode).
    pub fn encrypt<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<SimCiphertext> {
        let plain = self.encoded(values, range, level)?;
        let metadata = self.rules().encrypted_secret(&plain.metadata);
        Ok(SimCiphertext { metadata, ..plain })
    }

    /// Simulates [`encrypt_public`](crate::encrypt_public) of values of a declared range, encoded
    /// at the default scale for `level`.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`](crate::Encoder::encode).
    pub fn encrypt_public<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<SimCiphertext> {
        let plain = self.encoded(values, range, level)?;
        let metadata = self.rules().encrypted_public(&plain.metadata);
        Ok(SimCiphertext { metadata, ..plain })
    }

    /// Simulates [`Encoder::encode_integers`](crate::Encoder::encode_integers) and
    /// [`encrypt`](crate::encrypt()) of integers of `0 .. p`.
    ///
    /// # Errors
    /// Those of [`Encoder::encode_integers`](crate::Encoder::encode_integers),
    /// [`Error::MissingKey`] without [`with_functional`](Self::with_functional).
    pub fn encrypt_integers(
        &self,
        integers: &[usize],
        modulus: usize,
        level: usize,
    ) -> Result<IntVec<SimCiphertext>> {
        let op = "encode integers";
        let key = "functional bootstrapping key";
        let bootstrapper = self.functional.as_ref().ok_or(Error::MissingKey { op, key, level })?;
        // The scale of integers depends on their modulus and differs from the default scale.
        let scale = bootstrapper.integer_scale(modulus);
        IntVec::assembled(integers, modulus, self.params.max_slots(), |slots, range| {
            let reals: Vec<f64> = slots.iter().map(|z| z.re).collect();
            let plain = match range.is_real() {
                true => self.plain(op, (&reals, range), 1, scale, level)?,
                false => self.plain(op, (slots, range), 1, scale, level)?,
            };
            let metadata = self.rules().encrypted_secret(&plain.metadata);
            Ok(SimCiphertext { metadata, ..plain })
        })
    }

    fn encoded<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<SimCiphertext> {
        let op = "encode";
        self.params.check_level(op, level)?;
        self.plain(op, (values, range), 1, self.params.scale(), level)
    }

    /// Constants encoded in at least `slots` slots.
    fn constants<T: SlotValue>(
        &self,
        op: &'static str,
        constants: &[T],
        slots: usize,
        scale: f64,
        level: usize,
    ) -> Result<SimCiphertext> {
        let range = constants_range(op, constants, self.params.max_slots())?;
        self.plain(op, (constants, range), slots, scale, level)
    }

    /// Values of a range encoded in at least `slots` slots.
    fn plain<T: SlotValue>(
        &self,
        op: &'static str,
        (values, range): (&[T], Interval),
        slots: usize,
        scale: f64,
        level: usize,
    ) -> Result<SimCiphertext> {
        // As the encoder does: check, then pad with zeros to a power of two.
        check_values(op, values, self.params.max_slots())?;
        let slots = values.len().next_power_of_two().max(slots);
        let metadata = self.rules().encoded(op, (values, range), slots, scale, level)?;
        let mut padded: Vec<Complex64> = values.iter().map(|v| v.to_complex()).collect();
        padded.resize(slots, Complex64::ZERO);
        Ok(self.vector(padded, metadata))
    }

    fn lock(&self) -> MutexGuard<'_, Report> {
        // The report is whole after every statement, so a panic elsewhere leaves it usable.
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs one operation and records it in the report.
    fn perform<'v>(
        &self,
        op: &'static str,
        operands: impl IntoIterator<Item = &'v SimCiphertext>,
        operation: impl FnOnce(MetadataRules<'_>) -> Result<SimCiphertext>,
    ) -> Result<SimCiphertext> {
        let one = |rules: MetadataRules<'_>| operation(rules).map(|vector| vec![vector]);
        Ok(self.perform_all(op, operands, one)?.pop().expect("one result"))
    }

    /// As [`perform`](Self::perform) for an operation with several results.
    fn perform_all<'v>(
        &self,
        op: &'static str,
        operands: impl IntoIterator<Item = &'v SimCiphertext>,
        operation: impl FnOnce(MetadataRules<'_>) -> Result<Vec<SimCiphertext>>,
    ) -> Result<Vec<SimCiphertext>> {
        // Step 1: check the operands and run the operation, without the lock: it may record keys
        // and work.
        let checked = operands.into_iter().try_for_each(|x| self.check(op, x));
        let result = checked.and_then(|()| operation(self.rules()));

        // Step 2: count it, and record the lowest level or the first failure.
        let mut report = self.lock();
        report.operations += 1;
        match &result {
            Ok(vectors) => {
                let levels = vectors.iter().map(|vector| vector.metadata.level);
                report.lowest_level = levels.chain(report.lowest_level).min();
            }
            Err(error) if report.failure.is_none() => {
                let (operation, error) = (report.operations, error.clone());
                report.failure = Some(Failure { operation, error });
            }
            Err(_) => {}
        }
        result
    }

    /// Records the key switches and keys of an operation.
    fn needs(&self, key_switches: usize, keys: impl FnOnce(KeyLevels) -> KeyLevels) {
        let mut report = self.lock();
        report.key_switches += key_switches;
        report.keys = keys(std::mem::take(&mut report.keys));
    }

    /// Records the work of an operation.
    fn works(&self, count: impl FnOnce(&mut Count<'_>)) {
        // Count without the lock, then add.
        let mut work = Count::new(&self.params);
        count(&mut work);
        self.lock().work += work.work();
    }

    /// A product with its relinearization.
    fn relinearized(
        &self,
        op: &'static str,
        product: &Metadata,
        values: Vec<Complex64>,
    ) -> Result<SimCiphertext> {
        // Check the metadata before the key is recorded: a failed operation needs no key.
        let metadata = self.rules().relinearized(op, product)?;
        self.needs(1, |keys| keys.multiply(product.level));
        self.works(|count| count.relinearized(product.level, 1.0));
        Ok(self.vector(values, metadata))
    }

    /// A product without rescaling.
    fn product(
        &self,
        op: &'static str,
        x: &SimCiphertext,
        y: &SimCiphertext,
    ) -> Result<SimCiphertext> {
        // As the evaluator does: a product of a vector with itself is a square, of less work and
        // noise.
        if ptr::eq(x, y) {
            return self.squared(op, x);
        }
        // Step 1: bootstrap operands if needed, and align their levels.
        let rules = self.rules();
        let (x, y) = auto_bootstrap::factors(self, x, y)?;
        let (x, y) = (&*x, &*y);
        let (to_x, to_y) = rules.align_factors(&x.metadata, &y.metadata);
        let (left, right) =
            (rules.follow(op, &x.metadata, &to_x)?, rules.follow(op, &y.metadata, &to_y)?);
        // Step 2: the tensor product and its relinearization.
        self.relinearized(op, &rules.product(op, &left, &right)?, zip(x, y, |a, b| a * b))
    }

    /// A square without rescaling.
    fn squared(&self, op: &'static str, x: &SimCiphertext) -> Result<SimCiphertext> {
        let x = &*auto_bootstrap::replenished(self, x, 1)?;
        let square = self.rules().square(&x.metadata);
        self.relinearized(op, &square, map(x, |a| a * a))
    }

    /// A square with its rescaling.
    fn rescaled_square(&self, op: &'static str, x: &SimCiphertext) -> Result<SimCiphertext> {
        let x = &*auto_bootstrap::replenished(self, x, 1)?;
        // Refuse a missing level first: no key is recorded for a square that fails.
        self.rules().check_levels(op, 1, x.metadata.level)?;
        self.rescaled(op, &self.squared(op, x)?)
    }

    /// `x` after a rescaling.
    fn rescaled(&self, op: &'static str, x: &SimCiphertext) -> Result<SimCiphertext> {
        let metadata = self.rules().rescaled(op, &x.metadata)?;
        self.works(|count| count.rescaling(x.metadata.level));
        Ok(SimCiphertext { metadata, ..x.clone() })
    }

    /// A sum or difference, of which `range` is the interval rule and `f` the exact operation.
    fn sum(
        &self,
        op: &'static str,
        x: &SimCiphertext,
        y: &SimCiphertext,
        range: fn(&Interval, &Interval) -> Interval,
        f: fn(Complex64, Complex64) -> Complex64,
    ) -> Result<SimCiphertext> {
        // Align levels and scales as the evaluator does, with a bootstrap if needed.
        let rules = self.rules();
        let (x, y) = auto_bootstrap::aligned(self, op, x, y)?;
        let (x, y) = (&*x, &*y);
        let (to_x, to_y) = rules.align(op, &x.metadata, &y.metadata)?;
        let (left, right) =
            (rules.follow(op, &x.metadata, &to_x)?, rules.follow(op, &y.metadata, &to_y)?);
        let metadata = rules.sum(op, &left, &right, range)?;
        Ok(self.vector(zip(x, y, f), metadata))
    }

    /// `x` times values, encoded such that the product has the given scale, or by default that of
    /// `x`.
    fn times_values<T: SlotValue>(
        &self,
        op: &'static str,
        x: &SimCiphertext,
        values: &[T],
        scale: Option<f64>,
    ) -> Result<SimCiphertext> {
        // Step 1: check the values before any level is spent.
        check_values(op, values, self.params.max_slots())?;
        check_len(op, x.metadata.meta.len, values.len())?;
        let x = &*auto_bootstrap::replenished(self, x, 1)?;
        let (rules, level) = (self.rules(), x.metadata.level);
        rules.check_levels(op, 1, level)?;
        // Step 2: encode at the scale for which the rescaled product has the wanted scale.
        let scale = rules.factor_scale(&x.metadata, scale);
        let factor = self.constants("encode", values, x.metadata.meta.slots, scale, level)?;
        self.times_plain(x, &factor)
    }

    /// `x` times an encoded vector, rescaled.
    fn times_plain(&self, x: &SimCiphertext, factor: &SimCiphertext) -> Result<SimCiphertext> {
        let rules = self.rules();
        let op = "multiply by a plaintext";
        let metadata = rules.mul_plain(op, &x.metadata, &factor.metadata)?;
        let metadata = rules.rescaled(op, &metadata)?;
        self.works(|count| {
            count.terms(x.metadata.level, 1.0);
            count.rescaling(x.metadata.level);
        });
        Ok(self.vector(zip(x, factor, |a, b| a * b), metadata))
    }

    /// `x` rotated by the key of this step; step 0 takes no key.
    fn rotated(&self, x: &SimCiphertext, step: i64) -> SimCiphertext {
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
        self.vector(values, metadata)
    }

    /// The power basis of `x`. The simulator keeps `x` alone and computes exact values when needed.
    fn powers<'p>(
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
        Ok(PowerBasis { known: known?, powers })
    }

    /// Records the products of a plan over powers that exist already.
    fn sums(&self, powers: &PowerBasis<SimCiphertext>, plan: &Plan) {
        // The powers were recorded when the basis was computed.
        let count = plan.relinearizations() - plan.powers().len();
        if count > 0 {
            self.needs(count, |keys| keys.multiply(powers.level()));
        }
        self.works(|count| count.node(plan.root(), powers.level()));
    }

    /// `x` after an alignment of level and scale.
    fn followed(
        &self,
        op: &'static str,
        x: &SimCiphertext,
        route: &Route,
    ) -> Result<SimCiphertext> {
        let metadata = self.rules().follow(op, &x.metadata, route)?;
        Ok(SimCiphertext { metadata, ..x.clone() })
    }
}

/// Applies `f` slot by slot; the shorter vector repeats.
fn zip(
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
fn map(x: &SimCiphertext, f: impl Fn(Complex64) -> Complex64) -> Vec<Complex64> {
    x.values.iter().map(|&a| f(a)).collect()
}

/// The cost of a rotation if every step has a key of its own.
pub(crate) fn one_key(_: &Metadata, step: usize) -> Result<RotationCost> {
    Ok(RotationCost::one_key(step))
}
