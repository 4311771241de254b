//! `he_map`: any function of every value.

use std::sync::Arc;

use bellerophon::{
    Accuracy, CostModel, Engine, MapFunction, MapRequest, Prediction, Result,
    circuits::approx,
    ckks::{
        Bounds, CkksOps, Interval, Metadata,
        simulator::{SimCiphertext, Simulator},
    },
};

use crate::{Error, Hash, Node, node::Known};

/// Bits after the binary point of a result, unless a query says otherwise.
const BITS: f64 = 12.0;

/// Places at which the range of a function is measured.
const SAMPLES: usize = 1 << 10;

/// A call of `he_map`: its constant arguments, and the function that they name.
#[derive(Debug, Clone)]
pub(crate) struct MapCall {
    /// A name, the entries of a table or the name of an object with them, or an expression.
    function: String,
    lo: f64,
    hi: f64,
    bits: Option<f64>,
    mapped: Mapped,
}

/// The function of a call.
#[derive(Debug, Clone)]
enum Mapped {
    /// Looked up at the nearest of places that are spread evenly over the domain.
    Table(Arc<[f64]>),
    Named(Known),
}

impl MapCall {
    /// A call with these arguments.
    ///
    /// # Errors
    /// Unknown functions, malformed expressions, and tables that cannot be read.
    pub(crate) fn new(
        node: &Node,
        function: &str,
        (lo, hi): (f64, f64),
        bits: Option<f64>,
    ) -> crate::Result<Self> {
        let mapped = Mapped::of(node, function, [lo, hi])?;
        Ok(Self { function: function.into(), lo, hi, bits, mapped })
    }

    /// The constant arguments as a text, for caches.
    pub(crate) fn key(&self) -> String {
        let version = match &self.mapped {
            Mapped::Table(_) => 0,
            Mapped::Named(known) => known.version,
        };
        format!("{:?} {version} {:?} {:?} {:?}", self.function, self.lo, self.hi, self.bits)
    }

    /// Whether the domain contains a range.
    pub(crate) fn is_over(&self, range: &Interval) -> bool {
        self.lo <= range.lo() && range.hi() <= self.hi
    }

    /// Refuses values that may leave the domain, by what the engine of the plan does beyond it.
    pub(crate) fn check(&self, range: &Interval, engine: Option<Engine>) -> crate::Result<()> {
        let Self { lo, hi, .. } = *self;
        let slack = 1e-9 * (hi - lo);
        if range.is_real() && lo - slack <= range.lo() && range.hi() <= hi + slack {
            return Ok(());
        }
        let beyond = match engine {
            Some(Engine::Poly) => "the polynomial of its plan grows without a bound",
            Some(Engine::Fbt) => "the series of its plan repeats itself",
            _ => "the table of its plan wraps around",
        };
        let reason = format!(
            "the values may lie anywhere in [{}, {}], and {beyond} beyond the domain [{lo}, {hi}]: \
             widen the domain, declare a tighter range of the column, or promise one with \
             he_assume_range",
            range.lo(),
            range.hi()
        );
        Err(Error::plan("he_map", reason))
    }

    /// The request to the library's planner. Its prices and its threads are fixed: all executors
    /// take the same engine.
    pub(crate) fn request(&self) -> MapRequest<'static> {
        let domain = self.lo..=self.hi;
        let request = match self.mapped.clone() {
            // Without a number of bits as good as look-ups are, which alone have jumps everywhere.
            Mapped::Table(entries) => {
                let (lo, hi) = (self.lo, self.hi);
                let request = MapRequest::new(move |x| nearest(&entries, (lo, hi), x)).over(domain);
                match self.bits {
                    Some(bits) => request.error(Accuracy::bits(bits)),
                    None => request.engines([Engine::Rgsw, Engine::Ntru]),
                }
            }
            Mapped::Named(Known { function, .. }) => {
                let accuracy = Accuracy::bits(self.bits.unwrap_or(BITS));
                MapRequest::of(function).over(domain).error(accuracy)
            }
        };
        request.prices(&CostModel::SERVER).threads(1)
    }

    /// The simulated result by the prediction of the planner.
    pub(crate) fn result(
        &self,
        simulator: &Simulator,
        x: &Metadata,
        prediction: &Prediction,
    ) -> Result<SimCiphertext> {
        // Step 1: the range of the values; padding is arbitrary within it.
        let (lo, hi) = self.range();
        let error = prediction.log2_error.exp2();
        let range = Interval::real(lo - error, hi + error)?;
        // Step 2: a vector at the level of the result, whose error is the predicted bound.
        let fresh = simulator.encrypt(&vec![lo; x.meta.slots], range, prediction.output_level)?;
        let mut meta = fresh.metadata().meta.assume_noise(error)?;
        meta.len = x.meta.len;
        meta.bounds = Bounds::all(range);
        Ok(simulator.with_metadata(fresh, meta))
    }

    /// The range of the function over the domain.
    fn range(&self) -> (f64, f64) {
        let extremes = |values: &[f64]| {
            let ends = (f64::INFINITY, f64::NEG_INFINITY);
            values.iter().fold(ends, |(lo, hi), &y| (lo.min(y), hi.max(y)))
        };
        let function = match &self.mapped {
            Mapped::Table(entries) => return extremes(entries),
            Mapped::Named(known) => &known.function,
        };
        let step = (self.hi - self.lo) / SAMPLES as f64;
        let places = (0..=SAMPLES).map(|i| (self.lo + i as f64 * step).min(self.hi));
        let values: Vec<f64> = places.map(|x| function.value(x)).collect();
        let (lo, hi) = extremes(&values);
        // Between two places a function exceeds its values there by less than it changes elsewhere.
        let changes = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let margin = changes.fold(0.0, f64::max);
        (lo - margin, hi + margin)
    }
}

impl Mapped {
    /// The entries, the function of this name in the node, or that of the library.
    fn of(node: &Node, text: &str, domain: [f64; 2]) -> crate::Result<Self> {
        if let Ok(hash) = text.parse::<Hash>() {
            return Ok(Self::Table(node.keys().table(hash)?));
        }
        if let Some(entries) = entries(text) {
            return Ok(Self::Table(entries));
        }
        if let Some(known) = node.known(text, domain)? {
            return Ok(Self::Named(known));
        }
        let function: MapFunction = match text {
            "abs" => MapFunction::abs(),
            "relu" => MapFunction::relu(),
            "cos" => approx::Known::Cos.into(),
            "exp" => approx::Known::Exp.into(),
            "gelu" => approx::Known::Gelu.into(),
            "inverse" => approx::Known::Inverse.into(),
            "inverse_sqrt" => approx::Known::InverseSqrt.into(),
            "ln" => approx::Known::Ln.into(),
            "sigmoid" => approx::Known::Sigmoid.into(),
            "silu" => approx::Known::Silu.into(),
            "sin" => approx::Known::Sin.into(),
            "softplus" => approx::Known::Softplus.into(),
            "sqrt" => approx::Known::Sqrt.into(),
            "tanh" => approx::Known::Tanh.into(),
            _ => {
                let reason = "no function has this name: take abs, relu, cos, exp, gelu, inverse, \
                              inverse_sqrt, ln, sigmoid, silu, sin, softplus, sqrt, tanh, the \
                              entries of a table ('0;1;4') or its hash in the key store, an \
                              expression ('x -> 1 / (1 + exp(-x))'), or define one with \
                              `Node::define`";
                return Err(Error::plan("he_map", reason));
            }
        };
        Ok(Self::Named(Known { function, version: 0 }))
    }
}

/// The entry at the place next to `x`, of places that are spread evenly over the domain.
fn nearest(entries: &[f64], (lo, hi): (f64, f64), x: f64) -> f64 {
    let last = entries.len() - 1;
    let place = (x - lo) / (hi - lo) * last as f64;
    // A cast of a negative number gives 0.
    entries[(place.round() as usize).min(last)]
}

/// The entries of a table: two or more finite numbers with semicolons between them.
pub(crate) fn entries(text: &str) -> Option<Arc<[f64]>> {
    let number = |entry: &str| entry.trim().parse().ok().filter(|number: &f64| number.is_finite());
    let entries: Option<Arc<[f64]>> = text.split(';').map(number).collect();
    entries.filter(|entries| entries.len() > 1)
}
