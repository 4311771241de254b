//! The requirements of a program, and the bounds that every search observes.

use std::cmp::Ordering;

use bellerophon_ckks::{Metadata, ModulusChain, Params, Result, cost::Work};
use bellerophon_mlwe::security::{self, Model};
use bellerophon_mlwe::{SecretKind, Security};

use crate::approx::Accuracy;

/// `log2` of the probability that the error of a result exceeds the guarantee.
pub const LOG2_FAILURE: f64 = -40.0;

/// An upper bound on levels: no secure modulus of any ring has room for more levels of the least
/// scale.
pub(super) const MOST_LEVELS: usize = 128;

/// The requirements of a program on its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgramBounds {
    /// The security of every key; not [`Security::Insecure`].
    pub security: Security,
    /// Numbers in one ciphertext, at least 1.
    pub slots: usize,
    /// Multiplicative depth: products in sequence.
    pub depth: usize,
    /// The accuracy of the result, in the worst slot.
    pub accuracy: Accuracy,
    /// Whether the program bootstraps: the set then bootstraps vectors of numbers of `[-1, 1]`, and
    /// `depth` and `accuracy` count from one bootstrap to the next.
    pub bootstraps: bool,
}

impl ProgramBounds {
    /// Correct bits after the binary point; NaN for an accuracy that is none.
    pub(super) fn bits(&self) -> f64 {
        self.accuracy.error().map_or(f64::NAN, |error| -error.log2())
    }
}

/// The largest `log2(Q P)` in a ring of this degree.
pub(super) fn bound(security: Security, degree: usize, secret: SecretKind) -> Option<f64> {
    let model = match security {
        Security::Bits128 => Model::Bits128,
        Security::Bits128Classical => Model::Bits128Classical,
        Security::Insecure => return None,
    };
    security::max_log2_modulus(degree, secret, model)
}

/// `log2(Q P)` by the nominal sizes of the primes.
pub(super) fn log2_size(chain: &ModulusChain) -> f64 {
    let levels: f64 = chain.levels.iter().map(|l| f64::from(l.bits) * l.count as f64).sum();
    f64::from(chain.first_bits) + levels + f64::from(chain.special.0) * chain.special.1 as f64
}

/// Compares chains by the predicted time of a product.
pub(super) fn by_product(x: &ModulusChain, y: &ModulusChain) -> Ordering {
    let [x, y] = [x, y].map(|chain| Work::of_product(chain).seconds());
    x.total_cmp(&y)
}

pub(super) fn squared(params: &Params, metadata: Metadata, depth: usize) -> Result<Metadata> {
    let rules = params.rules();
    (0..depth).try_fold(metadata, |metadata, _| {
        let square = rules.relinearized(&rules.square(&metadata))?;
        rules.rescaled(&square)
    })
}
