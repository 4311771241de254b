//! Requests to the planner.

use std::{collections::BTreeSet, ops::RangeInclusive};

use super::{engine::Engine, function::MapFunction};
use crate::Result;

/// Bits, relative to the spread of a closure, of a request for a closure alone.
const CLOSURE_BITS: f64 = 8.0;

/// A function to apply to every value of a vector, with its requirements.
///
/// ```
/// use bellerophon_ckks::approx::Function;
/// use bellerophon_repack::planner::{Engine, MapRequest};
/// // 256 values of [-8, 8], an error of at most 2^-10; the vector has 6 levels left.
/// let request =
///     MapRequest::new(Function::sigmoid(), -8.0..=8.0, -10.0).count(256).level(6).allow(Engine::Ntru);
/// ```
#[derive(Debug, Clone)]
pub struct MapRequest {
    pub(crate) function: MapFunction,
    pub(crate) domain: RangeInclusive<f64>,
    pub(crate) log2_error: f64,
    pub(crate) count: Option<usize>,
    pub(crate) level: Option<usize>,
    pub(crate) leaving: usize,
    pub(crate) engines: BTreeSet<Engine>,
}

impl MapRequest {
    /// A request for `function` over a domain with an absolute error of at most `2^log2_error` in
    /// the worst value. All engines except NTRU are allowed.
    pub fn new(
        function: impl Into<MapFunction>,
        domain: RangeInclusive<f64>,
        log2_error: f64,
    ) -> Self {
        Self {
            function: function.into(),
            domain,
            log2_error,
            count: None,
            level: None,
            leaving: 0,
            engines: Engine::DEFAULT.into(),
        }
    }

    /// A request for a table of the integers below the number `p` of its entries. The domain is
    /// `0..=p - 1`.
    pub fn table(entries: Vec<f64>, log2_error: f64) -> Self {
        let last = entries.len().saturating_sub(1) as f64;
        Self::new(MapFunction::table(entries), 0.0..=last, log2_error)
    }

    /// A request for a closure of which nothing else is known, with an error of at most `2^-8` of its
    /// spread. The closure is sampled at 65537 points of the domain and interpolated by cubics.
    ///
    /// # Errors
    /// An error that names the argument at which the closure is not finite.
    pub fn of_closure(f: &dyn Fn(f64) -> f64, domain: RangeInclusive<f64>) -> Result<Self> {
        // Sampling the closure once makes it `Send` and `'static`.
        let function = MapFunction::read(f, *domain.start(), *domain.end())?;
        let request = Self::new(function, domain, 0.0);
        let log2_error = request.spread().log2() - CLOSURE_BITS;
        Ok(Self { log2_error, ..request })
    }

    /// Sets the number of values; the default is the number of slots. Ignored if the
    /// plan is for a given vector.
    #[must_use]
    pub fn count(self, values: usize) -> Self {
        Self { count: Some(values), ..self }
    }

    /// Sets the level of the operand; the default is the highest level for programs. Ignored
    /// if the plan is for a given vector.
    #[must_use]
    pub fn level(self, level: usize) -> Self {
        Self { level: Some(level), ..self }
    }

    /// Sets the lowest acceptable level of the result; the default is 0.
    #[must_use]
    pub fn leaving(self, level: usize) -> Self {
        Self { leaving: level, ..self }
    }

    /// Allows another engine, such as NTRU, which is allowed only if it is named.
    #[must_use]
    pub fn allow(mut self, engine: Engine) -> Self {
        self.engines.insert(engine);
        self
    }

    /// Allows only these engines.
    #[must_use]
    pub fn engines(self, engines: impl IntoIterator<Item = Engine>) -> Self {
        Self { engines: engines.into_iter().collect(), ..self }
    }

    /// Allows only one engine. A program that runs on several machines plans once and pins the
    /// choice for all: the engine then does not depend on a cost model or a number of threads.
    #[must_use]
    pub fn pin(self, engine: Engine) -> Self {
        self.engines([engine])
    }

    /// `log2` of the requested error.
    pub fn log2_error(&self) -> f64 {
        self.log2_error
    }

    /// The domain.
    pub fn domain(&self) -> &RangeInclusive<f64> {
        &self.domain
    }

    /// The function.
    pub fn function(&self) -> &MapFunction {
        &self.function
    }

    /// The largest difference of two values of the function at 1025 points of the domain, or 1 for
    /// a constant.
    fn spread(&self) -> f64 {
        let (lo, hi) = (*self.domain.start(), *self.domain.end());
        let values =
            (0..=1024).map(|i| self.function.value(lo + (hi - lo) * f64::from(i) / 1024.0));
        let ends =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)));
        if ends.1 > ends.0 { ends.1 - ends.0 } else { 1.0 }
    }
}
