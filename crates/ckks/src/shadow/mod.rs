//! A program on plain vectors first: where it would fail, which keys it needs, how exact it will be.
//!
//! A [`Shadow`] is an [`Arithmetic`](crate::Arithmetic) whose "ciphertexts" are [`Vector`]s: the
//! plain values with the very [`Account`] that a ciphertext would have at that point. A program
//! written for any [`Arithmetic`](crate::Arithmetic) runs on it before a key exists, meets the errors
//! that it would meet on ciphertexts, and leaves a [`Report`] of the keys that it took.
//! [`least_level`] tries how many levels it needs. Programs that refresh run on a shadow
//! [with refreshing](Shadow::with_refresh).
//!
//! ```
//! use bellerophon_ckks::{
//!     Arithmetic, Chain, Encoder, Error, EvaluationKeys, Evaluator, Interval, Levels, Params, ParamsSpec, Result,
//!     SecretKey, Security, decrypt_values, encrypt, shadow::{self, Shadow},
//! };
//! use rand::SeedableRng;
//!
//! // The program, for ciphertexts and plain vectors alike.
//! fn program<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
//!     let y = a.square(&a.add_scalar(x, -0.5)?)?;
//!     a.mul(&y, &a.rotate(&y, 1)?)
//! }
//!
//! # fn main() -> Result<()> {
//! // A toy ring; `ParamsSpec::w1()` is a set of 128 bits.
//! let chain = Chain {
//!     degree: 1 << 10,
//!     first_bits: 50,
//!     levels: vec![Levels::single(40, 2)],
//!     special: (50, 1),
//! };
//! let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
//! let values = [0.5, -1.5, 2.0, 0.25];
//! let range = Interval::real(-2.0, 2.0)?; // declared: it is public
//!
//! // Before any key: one level is not enough, and operation 4 is the one that finds out.
//! let shadow = Shadow::new(&params);
//! let refused = program(&shadow, &shadow.encrypt(&values, range, 1)?);
//! assert!(matches!(refused, Err(Error::OutOfLevels { .. })));
//! assert_eq!(shadow.report().failure.unwrap().operation, 4);
//! let least = shadow::least_level(&params, |shadow, level| {
//!     program(shadow, &shadow.encrypt(&values, range, level)?)
//! })?;
//! assert_eq!(least, 2);
//!
//! // Two are: which keys it takes, and how exact the result will be.
//! let shadow = Shadow::new(&params);
//! let expected = program(&shadow, &shadow.encrypt(&values, range, 2)?)?;
//! let keys = shadow.report().keys;
//! assert!(expected.account().estimate(&params, -20.0).bits() > 20.0);
//!
//! // The same program on ciphertexts, with just those keys.
//! let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let secret = SecretKey::generate(params.lattice(), &mut rng)?;
//! let evaluator =
//!     Evaluator::new(&params, &EvaluationKeys::generate(&params, &secret, &keys, &mut rng)?)?;
//! let plain = Encoder::new(&params).encode(&values, range, params.scale(), 3)?;
//! let y = program(&evaluator, &encrypt(&params, &plain, &secret, &mut rng)?)?;
//! assert_eq!(y.account(), *expected.account());
//! let found: Vec<f64> = decrypt_values(&params, &y, &secret)?;
//! let close = |(a, b): (&f64, f64)| (a - b).abs() < 2f64.powi(-20);
//! assert!(found.iter().zip(expected.reals()).all(close));
//! # Ok(())
//! # }
//! ```

mod arithmetic;
mod least;
mod report;

use std::{
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use least::least_level;
pub use report::{Failure, Report};

use crate::{
    Account, Complex64, Error, Interval, KeySpec, Meta, Params, Result, SlotValue,
    books::{Books, Route},
    bootstrap::{Bootstrapper, automatic},
    encode::{check_values, constants_range},
    errors::Errors,
    lengths::check_len,
    polynomial::{Known, Plan, PowerBasis},
    sharing::NoiseBound,
    turn::Turn,
};

/// Runs programs on plain vectors, with the books of ciphertexts, and keeps a [`Report`].
#[derive(Debug)]
pub struct Shadow {
    params: Params,
    bootstrapper: Option<Arc<Bootstrapper>>,
    automatic: bool,
    errors: Errors,
    report: Mutex<Report>,
}

/// Plain values in the place of a ciphertext, with the account that the ciphertext would have. It belongs to
/// shadows of the kind that made it: of these parameters, and that follow noise in the same way.
#[derive(Clone, PartialEq)]
pub struct Vector {
    /// Every slot of one period.
    values: Vec<Complex64>,
    account: Account,
    params: Params,
    errors: Errors,
}

/// The account only: the values are plaintext.
impl std::fmt::Debug for Vector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vector").field("account", &self.account).finish_non_exhaustive()
    }
}

impl Vector {
    /// What would be known of the ciphertext.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The values that exact arithmetic has, without the noise that the account predicts.
    pub fn values(&self) -> &[Complex64] {
        &self.values[..self.account.meta.len]
    }

    /// The real parts of [`values`](Self::values).
    pub fn reals(&self) -> Vec<f64> {
        self.values().iter().map(|z| z.re).collect()
    }

    fn with(&self, meta: Meta) -> Self {
        Self { account: Account { meta, ..self.account }, ..self.clone() }
    }
}

impl Shadow {
    /// A shadow of evaluators with these parameters.
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            bootstrapper: None,
            automatic: false,
            errors: Errors::default(),
            report: Mutex::default(),
        }
    }

    /// The same shadow, keeping a bound on the noise in the place of its average: the variance of its
    /// accounts is the square of a bound on the length of the noise polynomial over `sqrt(N)`. It holds
    /// however errors hang together, as long as no single one (of an encryption, a rounding, a key
    /// switch) is longer than all but `2^-64` of its kind, as long as the ranges hold that accounts
    /// carry, and for evaluators that have a key of its own for every rotation
    /// ([`Report::keys`]). [`noise_bound`](Self::noise_bound) gives it away.
    ///
    /// Vectors of a shadow that keeps averages are refused, and so are such of this one there: inputs and
    /// all operations of a program are those of one worst case.
    ///
    /// Where operations know their errors on average alone (polynomials at once, transforms,
    /// refreshing), it refuses them: [`Error::NoWorstCase`].
    pub fn worst_case(mut self) -> Self {
        self.errors = Errors::WorstCase;
        self
    }

    /// The bound on the noise of a vector, for
    /// [`decrypt_flooded`](crate::sharing::decrypt_flooded).
    ///
    /// # Errors
    /// [`Error::NoWorstCase`] for a shadow that does not keep one, and for vectors of one;
    /// [`Error::ParamsMismatch`] and [`Error::RouteMismatch`] for vectors of other parameters;
    /// [`Error::Variance`] for a vector whose error has no bound.
    pub fn noise_bound(&self, x: &Vector) -> Result<NoiseBound> {
        let op = "bound the noise";
        if self.errors != Errors::WorstCase {
            return Err(Error::NoWorstCase { op });
        }
        self.check(op, x)?;
        let found = x.account.meta.noise.total;
        if !found.is_finite() {
            return Err(Error::Variance { op, found });
        }
        Ok(NoiseBound::new(&self.params, x.account))
    }

    /// Refuses vectors of shadows of another kind.
    fn check(&self, op: &'static str, x: &Vector) -> Result<()> {
        self.params.check_same(op, &x.params)?;
        if x.errors != self.errors {
            return Err(Error::NoWorstCase { op });
        }
        Ok(())
    }

    fn vector(&self, values: Vec<Complex64>, account: Account) -> Vector {
        Vector { values, account, params: self.params.clone(), errors: self.errors }
    }

    fn books(&self) -> Books<'_> {
        self.params.books().with_errors(self.errors)
    }

    /// The same shadow, able to refresh, as [`Evaluator::with_refresh`](crate::Evaluator::with_refresh).
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for another chain, [`Error::RouteMismatch`] for another route of
    /// relinearisation.
    pub fn with_refresh(mut self, bootstrapper: impl Into<Arc<Bootstrapper>>) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        let op = "add refreshing to a shadow";
        self.params.check_chain(op, bootstrapper.params())?;
        self.params.check_route(op, bootstrapper.params().route())?;
        self.bootstrapper = Some(bootstrapper);
        Ok(self)
    }

    /// The same shadow, refreshing by itself, as
    /// [`Evaluator::refreshing_by_itself`](crate::Evaluator::refreshing_by_itself).
    ///
    /// # Errors
    /// [`Error::MissingKey`] for a shadow without [`with_refresh`](Self::with_refresh).
    pub fn refreshing_by_itself(mut self) -> Result<Self> {
        self.prepared("refresh automatically")?;
        self.automatic = true;
        Ok(self)
    }

    /// What it refreshes with.
    fn prepared(&self, op: &'static str) -> Result<&Arc<Bootstrapper>> {
        let level = self.params.max_level();
        self.bootstrapper.as_ref().ok_or(Error::MissingKey { op, key: "bootstrapping key", level })
    }

    /// `x` with new levels.
    fn refreshed(&self, x: &Vector, scale: f64) -> Result<Vector> {
        let op = "refresh";
        self.errors.check_bounded(op)?;
        let bootstrapper = self.prepared(op)?;
        let account = bootstrapper.course(op, &x.account, scale, &one_key)?.result;
        let count = bootstrapper.key_switches(x.account.meta.bounds.slots().is_real());
        self.needs(count, |keys| keys.and(&bootstrapper.keys()));
        let mut report = self.lock();
        report.refreshes += 1;
        report.failures = report.failures.and(bootstrapper.spec().log2_failure, 1);
        drop(report);
        Ok(Vector { account, ..x.clone() })
    }

    /// What became of the program so far.
    pub fn report(&self) -> Report {
        self.lock().clone()
    }

    /// What [`encrypt`](crate::encrypt()) would make of these values of a declared range, encoded at the
    /// default scale for `level`. Nothing but [`values`](Vector::values) depends on the values.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`](crate::Encoder::encode).
    pub fn encrypt<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<Vector> {
        let plain = self.encoded(values, range, level)?;
        let account = self.books().encrypted_secret(&plain.account);
        Ok(Vector { account, ..plain })
    }

    /// What [`encrypt_public`](crate::encrypt_public) would make of these values of a declared range,
    /// encoded at the default scale for `level`.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`](crate::Encoder::encode).
    pub fn encrypt_public<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<Vector> {
        let plain = self.encoded(values, range, level)?;
        let account = self.books().encrypted_public(&plain.account);
        Ok(Vector { account, ..plain })
    }

    fn encoded<T: SlotValue>(&self, values: &[T], range: Interval, level: usize) -> Result<Vector> {
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
    ) -> Result<Vector> {
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
    ) -> Result<Vector> {
        check_values(op, values, self.params.max_slots())?;
        let slots = values.len().next_power_of_two().max(slots);
        let account = self.books().encoded(op, (values, range), slots, scale, level)?;
        let mut padded: Vec<Complex64> = values.iter().map(|v| v.to_complex()).collect();
        padded.resize(slots, Complex64::ZERO);
        Ok(self.vector(padded, account))
    }

    fn lock(&self) -> MutexGuard<'_, Report> {
        // The report is whole after every statement, so a panic elsewhere leaves it usable.
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs one operation on vectors of this kind of shadow and writes it down.
    fn perform<'v>(
        &self,
        op: &'static str,
        operands: impl IntoIterator<Item = &'v Vector>,
        operation: impl FnOnce(Books<'_>) -> Result<Vector>,
    ) -> Result<Vector> {
        let checked = operands.into_iter().try_for_each(|x| self.check(op, x));
        let result = checked.and_then(|()| operation(self.books()));
        let mut report = self.lock();
        report.operations += 1;
        match &result {
            Ok(vector) => {
                let level = vector.account.level;
                report.lowest_level = Some(report.lowest_level.map_or(level, |l| l.min(level)));
            }
            Err(error) if report.failure.is_none() => {
                let (operation, error) = (report.operations, error.clone());
                report.failure = Some(Failure { operation, error });
            }
            Err(_) => {}
        }
        result
    }

    /// Writes down the keys of an operation.
    fn needs(&self, key_switches: usize, keys: impl FnOnce(KeySpec) -> KeySpec) {
        let mut report = self.lock();
        report.key_switches += key_switches;
        report.keys = keys(std::mem::take(&mut report.keys));
    }

    /// A product with its relinearisation.
    fn relinearised(
        &self,
        op: &'static str,
        product: &Account,
        values: Vec<Complex64>,
    ) -> Result<Vector> {
        let account = self.books().relinearised(op, product)?;
        self.needs(1, |keys| keys.multiply(product.level));
        Ok(self.vector(values, account))
    }

    fn product(&self, op: &'static str, x: &Vector, y: &Vector) -> Result<Vector> {
        if ptr::eq(x, y) {
            return self.squared(op, x);
        }
        let books = self.books();
        let (x, y) = automatic::factors(self, x, y)?;
        let (x, y) = (&*x, &*y);
        let (to_x, to_y) = books.align_factors(&x.account, &y.account);
        let (left, right) =
            (books.follow(op, &x.account, &to_x)?, books.follow(op, &y.account, &to_y)?);
        self.relinearised(op, &books.product(op, &left, &right)?, zip(x, y, |a, b| a * b))
    }

    fn squared(&self, op: &'static str, x: &Vector) -> Result<Vector> {
        let x = &*automatic::replenished(self, x, 1)?;
        let square = self.books().square(&x.account);
        self.relinearised(op, &square, map(x, |a| a * a))
    }

    fn rescaled_square(&self, op: &'static str, x: &Vector) -> Result<Vector> {
        let x = &*automatic::replenished(self, x, 1)?;
        self.books().check_levels(op, 1, x.account.level)?;
        self.rescaled(op, &self.squared(op, x)?)
    }

    fn rescaled(&self, op: &'static str, x: &Vector) -> Result<Vector> {
        let account = self.books().rescaled(op, &x.account)?;
        Ok(Vector { account, ..x.clone() })
    }

    fn sum(
        &self,
        op: &'static str,
        x: &Vector,
        y: &Vector,
        range: fn(&Interval, &Interval) -> Interval,
        f: fn(Complex64, Complex64) -> Complex64,
    ) -> Result<Vector> {
        let books = self.books();
        let (x, y) = automatic::aligned(self, op, x, y)?;
        let (x, y) = (&*x, &*y);
        let (to_x, to_y) = books.align(op, &x.account, &y.account)?;
        let (left, right) =
            (books.follow(op, &x.account, &to_x)?, books.follow(op, &y.account, &to_y)?);
        let account = books.sum(op, &left, &right, range)?;
        Ok(self.vector(zip(x, y, f), account))
    }

    /// `x` times values that are encoded so that the product has the given scale, or that of `x`.
    fn times_values<T: SlotValue>(
        &self,
        op: &'static str,
        x: &Vector,
        values: &[T],
        scale: Option<f64>,
    ) -> Result<Vector> {
        check_values(op, values, self.params.max_slots())?;
        check_len(op, x.account.meta.len, values.len())?;
        let x = &*automatic::replenished(self, x, 1)?;
        let (books, level) = (self.books(), x.account.level);
        books.check_levels(op, 1, level)?;
        let scale = books.factor_scale(&x.account, scale);
        let factor = self.constants("encode", values, x.account.meta.slots, scale, level)?;
        self.times_plain(x, &factor)
    }

    fn times_plain(&self, x: &Vector, factor: &Vector) -> Result<Vector> {
        let books = self.books();
        let op = "multiply by a plaintext";
        let account = books.mul_plain(op, &x.account, &factor.account)?;
        let account = books.rescaled(op, &account)?;
        Ok(self.vector(zip(x, factor, |a, b| a * b), account))
    }

    /// `x` rotated by a key of its own, unless the step is 0.
    fn rotated(&self, x: &Vector, step: i64) -> Vector {
        let slots = x.values.len();
        let step = step.rem_euclid(slots as i64) as usize;
        if step == 0 {
            return x.clone();
        }
        let level = x.account.level;
        self.needs(1, |keys| keys.rotate([step as i64], level));
        let account = self.books().rotated(&x.account, Turn::Keys(1));
        let mut values = x.values.clone();
        values.rotate_left(step);
        self.vector(values, account)
    }

    /// Powers of `x`, of which the vector itself is kept.
    fn powers(
        &self,
        op: &'static str,
        x: &Vector,
        known: Result<Known>,
    ) -> Result<PowerBasis<Vector>> {
        let powers = self.perform(op, [x], |_| {
            let known = known.as_ref().map_err(Clone::clone)?;
            let (count, account) = (known.computed(), known.argument);
            if count > 0 {
                self.needs(count, |keys| keys.multiply(account.level));
            }
            Ok(Vector { account, ..x.clone() })
        })?;
        Ok(PowerBasis { known: known?, powers })
    }

    /// The products of a plan whose powers are there.
    fn sums(&self, powers: &PowerBasis<Vector>, plan: &Plan) {
        let count = plan.relinearisations() - plan.powers().len();
        if count > 0 {
            self.needs(count, |keys| keys.multiply(powers.level()));
        }
    }

    fn followed(&self, op: &'static str, x: &Vector, route: &Route) -> Result<Vector> {
        let account = self.books().follow(op, &x.account, route)?;
        Ok(Vector { account, ..x.clone() })
    }
}

/// Slot by slot; the shorter vector repeats itself.
fn zip(x: &Vector, y: &Vector, f: impl Fn(Complex64, Complex64) -> Complex64) -> Vec<Complex64> {
    let slots = x.values.len().max(y.values.len());
    let at = |v: &Vector, i: usize| v.values[i & (v.values.len() - 1)];
    (0..slots).map(|i| f(at(x, i), at(y, i))).collect()
}

fn map(x: &Vector, f: impl Fn(Complex64) -> Complex64) -> Vec<Complex64> {
    x.values.iter().map(|&a| f(a)).collect()
}

/// A key of its own for every rotation.
fn one_key(_: &Account, step: usize) -> Result<Turn> {
    Ok(Turn::one_key(step))
}
