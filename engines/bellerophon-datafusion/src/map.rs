//! `he_map`: any function of every value.

use std::sync::Arc;

use bellerophon::{
    ErrorKind, MapFunction, MapRequest, Prediction, Result,
    ckks::{
        Bounds, CkksOps, Interval, Metadata,
        approx::Function,
        simulator::{SimCiphertext, Simulator},
    },
    repack,
};

use crate::{Node, expression::is_expression};

/// Bits after the binary point of a result, unless a query says otherwise.
const BITS: f64 = 12.0;

/// Places at which the range of a function is measured.
const SAMPLES: usize = 1 << 10;

/// The constant arguments of `he_map`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MapCall {
    /// A name, the entries of a table, or an expression that the node knows.
    pub(crate) function: String,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    pub(crate) bits: Option<f64>,
}

/// The function of a call.
enum Mapped {
    /// Looked up at the nearest of places that are spread evenly over the domain.
    Table(Arc<[f64]>),
    Named(MapFunction),
}

impl MapCall {
    /// The request to the library's planner.
    pub(crate) fn request(&self, node: &Node) -> Result<MapRequest<'static>> {
        let (call, domain) = (self.clone(), self.lo..=self.hi);
        Ok(match self.mapped(node)? {
            // Without a number of bits as good as look-ups are: no other engine has jumps.
            Mapped::Table(entries) => {
                let request = MapRequest::new(move |x| call.nearest(&entries, x)).over(domain);
                match self.bits {
                    Some(bits) => request.error(-bits),
                    None => request,
                }
            }
            // The planner samples a closure once: expressions are slow.
            Mapped::Named(function) if is_expression(&self.function) => {
                let error = -self.bits.unwrap_or(BITS);
                MapRequest::new(move |x| function.value(x)).over(domain).error(error)
            }
            Mapped::Named(function) => {
                MapRequest::of(function).over(domain).error(-self.bits.unwrap_or(BITS))
            }
        })
    }

    /// The simulated result by the prediction of the planner.
    pub(crate) fn result(
        &self,
        node: &Node,
        simulator: &Simulator,
        x: &Metadata,
        prediction: &Prediction,
    ) -> Result<SimCiphertext> {
        // Step 1: the range of the values; padding is arbitrary within it.
        let mapped = self.mapped(node)?;
        let step = (self.hi - self.lo) / SAMPLES as f64;
        let places = (0..=SAMPLES).map(|i| (self.lo + i as f64 * step).min(self.hi));
        let values = places.map(|x| match &mapped {
            Mapped::Table(entries) => self.nearest(entries, x),
            Mapped::Named(function) => function.value(x),
        });
        let (lo, hi) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), y| (lo.min(y), hi.max(y)));
        let error = prediction.log2_error.exp2();
        let range = Interval::real(lo - error, hi + error)?;
        // Step 2: a vector at the level of the result, whose error is the predicted bound.
        let fresh = simulator.encrypt(&vec![lo; x.meta.slots], range, prediction.output_level)?;
        let mut meta = fresh.metadata().meta.assume_noise(error)?;
        meta.len = x.meta.len;
        meta.bounds = Bounds::all(range);
        Ok(simulator.with_metadata(fresh, meta))
    }

    fn nearest(&self, entries: &[f64], x: f64) -> f64 {
        let last = entries.len() - 1;
        let place = (x - self.lo) / (self.hi - self.lo) * last as f64;
        // A cast of a negative number gives 0.
        entries[(place.round() as usize).min(last)]
    }

    /// The entries, the function of this name in the node, or that of the library.
    fn mapped(&self, node: &Node) -> Result<Mapped> {
        let entries: Option<Arc<[f64]>> =
            self.function.split(';').map(|entry| entry.trim().parse().ok()).collect();
        if let Some(entries) = entries.filter(|entries| entries.len() > 1) {
            return Ok(Mapped::Table(entries));
        }
        if let Some(function) = node.defined(&self.function) {
            return Ok(Mapped::Named(function));
        }
        let function = match self.function.as_str() {
            "abs" => return Ok(Mapped::Named(MapFunction::abs())),
            "relu" => return Ok(Mapped::Named(MapFunction::relu())),
            "cos" => Function::cos(),
            "exp" => Function::exp(),
            "gelu" => Function::gelu(),
            "inverse" => Function::inverse(),
            "inverse_sqrt" => Function::inverse_sqrt(),
            "ln" => Function::ln(),
            "sigmoid" => Function::sigmoid(),
            "silu" => Function::silu(),
            "sin" => Function::sin(),
            "softplus" => Function::softplus(),
            "sqrt" => Function::sqrt(),
            "tanh" => Function::tanh(),
            _ => {
                let reason = "no function has this name: take abs, relu, cos, exp, gelu, inverse, \
                              inverse_sqrt, ln, sigmoid, silu, sin, softplus, sqrt, tanh, the \
                              entries of a table ('0;1;4'), an expression \
                              ('x -> 1 / (1 + exp(-x))'), or define one with `Node::define`";
                return Err(ErrorKind::Repack(repack::ErrorKind::Request { reason }).into());
            }
        };
        Ok(Mapped::Named(function.into()))
    }
}
