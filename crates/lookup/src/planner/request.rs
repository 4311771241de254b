//! Requests to the planner.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::{collections::BTreeSet, fmt, ops::RangeInclusive, rc::Rc};

use bellerophon_circuits::approx::Accuracy;
use bellerophon_ckks::noise_flooding::{Flooding, NoiseBound};
use bellerophon_ring::Result;

use super::{
    cost_model::CostModel, function::MapFunction, goal::Goal, plan::MapPlan, prepared::Ready,
};
use crate::{bridge_choice::Bridge, engine::Engine, error};

/// Bits, relative to the spread of the function, that engines without tables must reach where no
/// accuracy is stated.
const DEFAULT_BITS: f64 = 8.0;

/// A function to apply to every value of a vector, with everything that a caller may ask of it.
///
/// The same request is planned before any key exists, planned for a vector and the keys of a
/// server, and evaluated. Each method adds a requirement; what is left out has a default:
///
/// | requirement | default |
/// | --- | --- |
/// | [`over`](Self::over): the domain | the range that the vector carries |
/// | [`error`](Self::error), [`typical`](Self::typical): the accuracy | that of a plain table |
/// | [`engines`](Self::engines), [`allow`](Self::allow), [`planned`](Self::planned) | no NTRU |
/// | [`bridge`](Self::bridge) | the cheaper one |
/// | [`derivatives`](Self::derivatives) | fits to the function |
/// | [`count`](Self::count), [`level`](Self::level) | full slots, the highest level for programs |
/// | [`leaving`](Self::leaving): the lowest level of the result | 0 |
/// | [`prices`](Self::prices), [`threads`](Self::threads) | those of the machine that plans |
///
/// Without a stated accuracy a plain table may serve, whatever its error. An engine without tables
/// takes its place where it is faster, and has an error of at most that of the table and at most
/// `2^-8` of the spread of the function.
///
/// ```
/// use bellerophon_circuits::approx::{Function, Known};
/// use bellerophon_lookup::Engine;
/// use bellerophon_lookup::planner::{Accuracy, MapRequest};
/// // A closure, by tables with a typical error below 2^-9.
/// let tanh = MapRequest::new(f64::tanh).over(-4.0..=4.0).typical(Accuracy::bits(9.0));
/// // The fastest engine with an error of at most 2^-10 for 256 values at level 6.
/// let sigmoid = MapRequest::of(Known::Sigmoid).over(-8.0..=8.0).error(Accuracy::bits(10.0));
/// let sigmoid = sigmoid.count(256).level(6).allow(Engine::Ntru);
/// ```
#[derive(Clone)]
pub struct MapRequest<'f> {
    functions: Vec<Subject<'f>>,
    pub(crate) derivatives: Vec<&'f dyn Fn(f64) -> f64>,
    pub(crate) domain: Option<RangeInclusive<f64>>,
    pub(crate) accuracy: Wanted,
    /// None if the request names no engine.
    pub(crate) engines: Option<BTreeSet<Engine>>,
    pub(crate) bridge: Option<Bridge>,
    pub(crate) count: Option<usize>,
    pub(crate) level: Option<usize>,
    pub(crate) leaving: usize,
    pub(crate) flooding: Option<(&'f NoiseBound, Flooding)>,
    pub(crate) packed: bool,
    pub(crate) model: Option<CostModel>,
    pub(crate) threads: Option<usize>,
    pub(crate) ready: Option<Ready>,
}

/// The function of a request.
#[derive(Clone)]
enum Subject<'f> {
    Closure(Rc<dyn Fn(f64) -> f64 + 'f>),
    Known(MapFunction),
}

/// The requested accuracy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    /// That of a plain table; of other engines also `2^-8` of the spread of the function.
    Any,
    /// [`MapRequest::typical`].
    Typical(Accuracy),
    /// [`MapRequest::error`].
    Error(Accuracy),
}

impl<'f> MapRequest<'f> {
    /// A request for a closure of which nothing else is known. Tables call it only on the range
    /// that the values can have. For polynomials and series it is sampled at 65537 points of the
    /// domain and interpolated by cubics, so their approximation error is measured, not certified.
    pub fn new(f: impl Fn(f64) -> f64 + 'f) -> Self {
        Self::with(vec![Subject::Closure(Rc::new(f))])
    }

    /// A request for a function with known properties, whose approximation errors are certified.
    pub fn of(function: impl Into<MapFunction>) -> Self {
        Self::with(vec![Subject::Known(function.into())])
    }

    /// A request for a table of the integers below the number `p` of its entries. The domain is
    /// `0..=p - 1`.
    pub fn table(entries: Vec<f64>) -> Self {
        let last = entries.len().saturating_sub(1) as f64;
        Self::of(MapFunction::table(entries)).over(0.0..=last)
    }

    /// A request for several functions of the same values: only for `Evaluator::map_many`, which
    /// takes a domain and [`packed`](Self::packed), and refuses accuracy, derivatives, engines, the
    /// linear bridge and flooding.
    pub fn many(functions: &[&'f dyn Fn(f64) -> f64]) -> Self {
        let subject = |&f: &&'f dyn Fn(f64) -> f64| Subject::Closure(Rc::new(f));
        Self::with(functions.iter().map(subject).collect())
    }

    fn with(functions: Vec<Subject<'f>>) -> Self {
        Self {
            functions,
            derivatives: vec![],
            domain: None,
            accuracy: Wanted::Any,
            engines: None,
            bridge: None,
            count: None,
            level: None,
            leaving: 0,
            flooding: None,
            packed: false,
            model: None,
            threads: None,
            ready: None,
        }
    }

    /// Sets the domain. It must contain the range that the vector carries.
    #[must_use]
    pub fn over(self, domain: RangeInclusive<f64>) -> Self {
        Self { domain: Some(domain), ..self }
    }

    /// Requests an accuracy of look-ups: with probability 95% it holds for all of 1024 values
    /// uniform in the domain. Tables correct the error of their index where one table is not
    /// accurate enough. Parameters without look-ups take it as [`error`](Self::error).
    #[must_use]
    pub fn typical(self, accuracy: Accuracy) -> Self {
        Self { accuracy: Wanted::Typical(accuracy), ..self }
    }

    /// Requests an accuracy of the worst value, by the fastest engine that reaches it. An error
    /// that reaches the spread of the function is refused.
    #[must_use]
    pub fn error(self, accuracy: Accuracy) -> Self {
        Self { accuracy: Wanted::Error(accuracy), ..self }
    }

    /// States the derivatives of the function, the first one first, for the corrections of tables.
    /// Their polynomials are then Taylor polynomials, whose degree is at most the number of
    /// derivatives. This is for functions that are known to only a few digits more than the result,
    /// so that a fit to their differences fails, and for functions that are slow to compute: each
    /// derivative is called a few times per cell of a table, where a fit calls the function some
    /// sixty times per cell and degree.
    #[must_use]
    pub fn derivatives(self, derivatives: &[&'f dyn Fn(f64) -> f64]) -> Self {
        Self { derivatives: derivatives.to_vec(), ..self }
    }

    /// Allows another engine beside the default ones, such as NTRU, which is allowed only if it is
    /// named.
    #[must_use]
    pub fn allow(mut self, engine: Engine) -> Self {
        self.engines.get_or_insert_with(|| Engine::DEFAULT.into()).insert(engine);
        self
    }

    /// Allows only these engines. Tables alone are not compared with each other: without a
    /// requested [`error`](Self::error) a server takes those of its keys, and
    /// [`typical`](Self::typical) alone decides whether they are corrected.
    ///
    /// A program that runs on several machines plans once and names one engine for all: the engine
    /// then does not depend on a cost model or a number of threads. A program that reads the law of
    /// the error of a table, or calls a function that is slow to compute, names the tables.
    #[must_use]
    pub fn engines(self, engines: impl IntoIterator<Item = Engine>) -> Self {
        Self { engines: Some(engines.into_iter().collect()), ..self }
    }

    /// Takes the engine that a plan for this request chose (`Evaluator::map_plan`), with the
    /// polynomial, series or correction that the plan has prepared. A plan that was read from bytes
    /// has prepared nothing: only its engine and the error that it had to reach are taken.
    #[must_use]
    pub fn planned(self, plan: &MapPlan) -> Self {
        let accuracy = match (self.accuracy, plan.chosen, plan.log2_error) {
            (Wanted::Any, Some(Engine::Poly | Engine::Fbt), Some(log2_error)) => {
                Wanted::Error(Accuracy::bits(-log2_error))
            }
            (stated, ..) => stated,
        };
        Self { ready: Some(plan.ready.clone()), accuracy, ..self.engines(plan.chosen) }
    }

    /// Selects the bridge between slots and LWE values. By default it is the cheaper one for the
    /// number of values, among those whose keys are present.
    #[must_use]
    pub fn bridge(self, bridge: Bridge) -> Self {
        Self { bridge: Some(bridge), ..self }
    }

    /// Sets the number of values for a plan without a vector; the default is the number of slots.
    #[must_use]
    pub fn count(self, values: usize) -> Self {
        Self { count: Some(values), ..self }
    }

    /// Sets the level of the operand for a plan without a vector; the default is the highest level
    /// for programs.
    #[must_use]
    pub fn level(self, level: usize) -> Self {
        Self { level: Some(level), ..self }
    }

    /// Sets the lowest acceptable level of the result where the planner compares engines; the
    /// default is 0. Polynomials take levels of the operand; tables and functional bootstrapping
    /// return a level of their own.
    #[must_use]
    pub fn leaving(self, level: usize) -> Self {
        Self { leaving: level, ..self }
    }

    /// Requests noise flooding before the switch from slots to LWE values, on given terms
    /// (`DecryptionBudget::flooding`). `bound` is the worst-case noise of the program that made the
    /// vector. Only for plain tables, and for `Evaluator::map_flooded`, which spends the budget.
    #[must_use]
    pub fn flooded(self, bound: &'f NoiseBound, terms: &Flooding) -> Self {
        Self { flooding: Some((bound, *terms)), ..self }
    }

    /// Packs the results of [several functions](Self::many), of all vectors, into one vector.
    #[must_use]
    pub fn packed(self) -> Self {
        Self { packed: true, ..self }
    }

    /// Sets the prices with which the planner compares engines. The default for the vector of a
    /// server are those of [this machine](CostModel::this_machine), and for a plan without a vector
    /// [`CostModel::SERVER`]. Machines that must take the same engine set the same prices.
    #[must_use]
    pub fn prices(self, model: &CostModel) -> Self {
        Self { model: Some(*model), ..self }
    }

    /// Sets the number of threads that the planner assumes; the default is one, and for the vector
    /// of a server the number of threads of the active pool.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// The domain, if it is set.
    pub fn domain(&self) -> Option<&RangeInclusive<f64>> {
        self.domain.as_ref()
    }

    /// The value of the function, the first one if there are several; NaN if there is none.
    pub fn value(&self, x: f64) -> f64 {
        self.functions.first().map_or(f64::NAN, |f| f.value(x))
    }

    /// The name of the function.
    pub fn name(&self) -> &str {
        match self.functions.first() {
            Some(Subject::Known(function)) => function.name(),
            _ => MapFunction::CLOSURE,
        }
    }

    /// The bound on the noise of the vector to be flooded.
    ///
    /// # Errors
    /// [`ErrorKind::Request`] if the request has none, or states other terms than `terms`.
    pub fn noise_bound(&self, terms: &Flooding) -> Result<&'f NoiseBound> {
        match &self.flooding {
            Some((bound, stated)) if stated == terms => Ok(bound),
            Some(_) => refused(
                "the request states other terms of flooding than the budget: pass those of \
                 `DecryptionBudget::flooding` to `MapRequest::flooded`",
            ),
            None => refused(
                "the request states no bound on the noise of the vector: call \
                 `MapRequest::flooded`",
            ),
        }
    }

    /// The functions.
    pub(crate) fn functions(&self) -> Vec<Box<dyn Fn(f64) -> f64 + '_>> {
        let boxed = self.functions.iter().map(|f| Box::new(move |x| f.value(x)) as Box<_>);
        boxed.collect()
    }

    /// Refuses several functions where one is evaluated.
    pub(crate) fn check_single(&self) -> Result<()> {
        if self.functions.len() == 1 && !self.packed {
            return Ok(());
        }
        refused("the request is for several functions: call `Evaluator::map_many`")
    }

    /// Refuses requirements that several functions at once do not take.
    pub(crate) fn check_many(&self) -> Result<()> {
        let plain = self.accuracy == Wanted::Any && self.flooding.is_none();
        let bridge = self.bridge != Some(Bridge::Linear);
        let any_engine = self.engines.is_none() && self.derivatives.is_empty();
        if plain && bridge && any_engine {
            return Ok(());
        }
        refused(
            "several functions take plain tables over the ring bridge with the engine of the keys: \
             leave out accuracy, derivatives, engines, bridge and flooding, or call \
             `Evaluator::map_with` for each function",
        )
    }

    /// Refuses noise flooding of anything but plain tables.
    pub(crate) fn check_flooding(&self) -> Result<()> {
        let plain = self.accuracy == Wanted::Any && !self.compares();
        match plain || self.flooding.is_none() {
            true => Ok(()),
            false => refused(
                "noise flooding is for plain tables: leave out the accuracy, and engines without \
                 tables",
            ),
        }
    }

    /// Refuses corrected look-ups over the linear bridge, which adds too much noise.
    pub(crate) fn check_corrected(&self) -> Result<()> {
        match self.bridge {
            Some(Bridge::Linear) => refused(
                "corrected look-ups take the ring bridge: leave out `MapRequest::bridge`, or \
                 `MapRequest::typical`",
            ),
            _ => Ok(()),
        }
    }

    /// Refuses an accuracy that is no positive number, or that reaches the spread of the function.
    /// A closure is called for values only, which lie within the domain.
    pub(crate) fn check_accuracy(
        &self,
        domain: &RangeInclusive<f64>,
        values: &RangeInclusive<f64>,
    ) -> Result<()> {
        let (Wanted::Typical(accuracy) | Wanted::Error(accuracy)) = self.accuracy else {
            return Ok(());
        };
        let part = match self.functions.first() {
            Some(Subject::Known(_)) => domain,
            _ => values,
        };
        let f = |x: f64| self.value(x);
        accuracy.within_spread(self.name(), f, *part.start(), *part.end())?;
        Ok(())
    }

    /// Refuses what is not known of a single known function over a domain.
    pub(crate) fn check_function(&self, domain: &RangeInclusive<f64>) -> Result<()> {
        match self.functions.first() {
            Some(Subject::Known(function)) => function.check(domain),
            _ => Ok(()),
        }
    }

    /// Whether a value may lie at `x`, on a grid with cells of width `step`.
    pub(crate) fn admits(&self, x: f64, step: f64) -> bool {
        match self.functions.first() {
            Some(Subject::Known(function)) => function.admits(x, step),
            _ => true,
        }
    }

    /// Whether the values at the cells of a table bound the function between them.
    pub(crate) fn is_certified_by_cells(&self) -> bool {
        match self.functions.first() {
            Some(Subject::Known(function)) => function.is_certified_by_cells(),
            _ => false,
        }
    }

    /// Whether the engine may be taken.
    pub(crate) fn allows(&self, engine: Engine) -> bool {
        match &self.engines {
            Some(named) => named.contains(&engine),
            None => Engine::DEFAULT.contains(&engine),
        }
    }

    /// Whether the request names engines, and all of them are tables.
    pub(crate) fn names_tables(&self) -> bool {
        let tables = [Engine::Rgsw, Engine::Corrected, Engine::Ntru];
        let all = |named: &BTreeSet<Engine>| named.iter().all(|engine| tables.contains(engine));
        self.engines.as_ref().is_some_and(|named| !named.is_empty() && all(named))
    }

    /// Whether the planner compares engines wherever there are look-ups: an error is requested, or
    /// an engine without tables is named.
    pub(crate) fn compares(&self) -> bool {
        let others = self.engines.is_some() && !self.names_tables();
        others || matches!(self.accuracy, Wanted::Error(_))
    }

    /// Whether a plain table may serve whatever its error: no accuracy is stated, and the request
    /// allows one.
    pub(crate) fn takes_any_table(&self) -> bool {
        self.accuracy == Wanted::Any && (self.allows(Engine::Rgsw) || self.allows(Engine::Ntru))
    }

    /// The goal of the planner for values within a part of the domain.
    pub(crate) fn goal(
        &self,
        domain: &RangeInclusive<f64>,
        values: &RangeInclusive<f64>,
    ) -> Result<Goal> {
        let (lo, hi) = (*domain.start(), *domain.end());
        // Step 1: sampling a closure once makes it `Send` and `'static`.
        let function = match self.functions.first() {
            Some(Subject::Known(function)) => function.clone(),
            _ => {
                // A closure is called on the carried range only.
                let inside = |x: f64| self.value(x.clamp(*values.start(), *values.end()));
                MapFunction::read(&inside, lo, hi)?
            }
        };
        // Step 2: the accuracy as an absolute error.
        let accuracy = match self.accuracy {
            Wanted::Error(accuracy) | Wanted::Typical(accuracy) => accuracy,
            Wanted::Any => Accuracy::bits_of_spread(DEFAULT_BITS, |x| function.value(x), lo, hi),
        };
        let log2_error = accuracy.error()?.log2();
        // Step 3: the engines; NTRU only if the request names it.
        let engines = self.engines.clone().unwrap_or_else(|| Engine::DEFAULT.into());
        Ok(Goal { function, domain: domain.clone(), log2_error, engines })
    }
}

/// The refusal of a request.
pub(crate) fn refused<T>(reason: &'static str) -> Result<T> {
    Err(error::request(reason))
}

impl Subject<'_> {
    fn value(&self, x: f64) -> f64 {
        match self {
            Self::Closure(f) => f(x),
            Self::Known(function) => function.value(x),
        }
    }
}

impl fmt::Debug for MapRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapRequest")
            .field("function", &self.name())
            .field("domain", &self.domain)
            .field("accuracy", &self.accuracy)
            .field("engines", &self.engines)
            .finish_non_exhaustive()
    }
}
