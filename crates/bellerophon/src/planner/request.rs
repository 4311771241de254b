//! Requests to the planner.

use std::{collections::BTreeSet, ops::RangeInclusive};

use super::{Engine, MapFunction};

/// A function to apply to every value of a vector, with its requirements.
///
/// ```
/// use bellerophon::{Engine, MapRequest, ckks::approx::Function};
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

    /// Sets the number of values; the default is the number of slots. A given vector has its own.
    #[must_use]
    pub fn count(self, values: usize) -> Self {
        Self { count: Some(values), ..self }
    }

    /// Sets the level of the operand; the default is the highest level for programs. A given vector
    /// has its own.
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
}
