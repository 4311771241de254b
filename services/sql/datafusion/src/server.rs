//! The evaluator of a batch, with keys or without.

use std::sync::Arc;

use bellerophon::{
    Ciphertext, Declaration, ErrorKind, Evaluator,
    ckks::{self, CkksOps, Vectors},
    lwe::LweVec,
};

use crate::{Error, Hash, Node, Result, map::MapCall};

/// The evaluator of a batch.
pub(crate) enum Server {
    /// With the keys of this name.
    Keys(Hash, Arc<Evaluator>),
    NoKeys(ckks::Evaluator),
}

impl Server {
    pub(crate) fn slots(&self) -> &ckks::Evaluator {
        match self {
            Self::Keys(_, evaluator) => evaluator.arithmetic(),
            Self::NoKeys(evaluator) => evaluator,
        }
    }

    /// Packs LWE values into slots.
    pub(crate) fn pack(&self, values: &LweVec) -> bellerophon::Result<Ciphertext> {
        match self {
            Self::Keys(_, evaluator) => evaluator.pack(values),
            Self::NoKeys(_) => Err(bellerophon::error::missing_keys("map")),
        }
    }

    /// Applies a function, planned once for vectors of one level, range and noise, and keys: the
    /// engines that a plan takes are those of the keys.
    pub(crate) fn map(
        &self,
        node: &Node,
        call: &MapCall,
        x: &Ciphertext,
    ) -> bellerophon::Result<Ciphertext> {
        let Self::Keys(keys, evaluator) = self else {
            return Err(bellerophon::error::missing_keys("multiply"));
        };
        // The last vector of a group takes the plan of a full one, if the domain has its padding.
        let (owner, all) = (x.lattice().ident().key, x.meta().bounds.slots());
        let (len, range) = match call.is_over(&all) {
            true => (x.meta().slots, all),
            false => (x.len(), *x.range()),
        };
        let (slots, scale, noise) = (x.meta().slots, x.meta().scale, x.meta().noise);
        let shape = format!("{} {slots} {len} {scale:?} {range:?} {noise:?}", x.level());
        let place = format!("{keys} {owner:?} {shape}");
        let (key, request) = (format!("{} {place}", call.key()), call.request());
        let plan = node.map_plan(&key, || {
            evaluator.map_plan(&evaluator.with_len(x.clone(), len)?, &request)
        })?;
        let mapped = evaluator.map_with(x, &request.planned(&plan))?;
        // A look-up of few values returns few slots: sums need as many as other vectors have.
        evaluator.repeated(mapped, x.meta().slots)
    }
}

/// The metadata of a published vector. What the declaration does not cover is refused.
pub(crate) fn published(
    name: &'static str,
    params: &ckks::Params,
    x: &ckks::Metadata,
    declaration: &Declaration,
) -> Result<ckks::Metadata> {
    let refused = |error: ckks::Error| {
        let declared = error.message().strip_prefix("the declared ");
        let Some(what) = declared.filter(|_| *error.kind() == ErrorKind::Declaration) else {
            return Error::plan(name, error);
        };
        let ckks::Bounds { values, padding } = x.meta.bounds;
        let reason = match what.split(" does not").next() {
            Some("range") => format!(
                "its values may lie anywhere in [{}, {}], and padding in [{}, {}]: the declared \
                 range must contain the values, and have the magnitude of the padding: declare a \
                 wider one, or promise a tighter one (he_assume_range)",
                values.lo(),
                values.hi(),
                padding.lo(),
                padding.hi()
            ),
            Some("noise") => format!(
                "its error has a deviation of {:.3e}, and of {:.3e} in the worst slot. The \
                 declaration allows {:.3e} and {:.3e}: declare a wider range, or compute with less \
                 error",
                x.noise(),
                x.excess(),
                declaration.noise(),
                declaration.largest_noise()
            ),
            Some("level" | "scale") => format!(
                "it has level {}: need the level that is declared, or that holds the declared \
                 range, and one above it, which brings the declared scale: declare a lower level, \
                 or compute with fewer",
                x.level
            ),
            _ => return Error::plan(name, error),
        };
        Error::plan(name, reason)
    };
    declaration.published(params, x).map_err(refused)
}
