//! Computation on ciphertexts: the [`Evaluator`].
//!
//! Every operation checks that its operands belong together, aligns them in level and scale where
//! needed, follows scale, ranges and predicted noise exactly, and refuses results that could wrap.
//!
//! | file | operations |
//! | --- | --- |
//! | `align.rs` | levels and scales of two operands brought together, level drops |
//! | `add.rs` | add, subtract, negate; with ciphertexts, plaintexts, constants |
//! | `mul.rs` | multiply, square; by plaintexts, constants; linear combinations |
//! | `rescale.rs` | division by the primes of a level |
//! | `rotate.rs` | rotations, conjugation, many rotations of one ciphertext |
//! | `sum.rs` | sums over slots, copies, dot products of many ciphertexts |
//! | `mask.rs` | slots kept, the others zero |
//! | `assign.rs` | operations in place |
//! | `arithmetic.rs` | the evaluator as an [`Arithmetic`](crate::Arithmetic) |

mod add;
mod align;
mod arithmetic;
mod assign;
pub(crate) mod mask;
mod mul;
mod rescale;
mod rotate;
pub(crate) mod sum;

use bellerophon_mlwe as mlwe;

use crate::bootstrap::Refresher;
use crate::{Ciphertext, Encoder, Error, EvaluationKeys, Params, Plaintext, Result, books::Books};

/// Evaluates operations on ciphertexts of one secret key.
///
/// Shares the keys, holds nothing that changes but a count of its refreshes, and costs nothing to make: one
/// per thread, or one shared by all.
#[derive(Debug, Clone)]
pub struct Evaluator {
    params: Params,
    encoder: Encoder,
    keys: EvaluationKeys,
    pub(crate) refresher: Option<Refresher>,
}

impl Evaluator {
    /// An evaluator with the given keys.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] when the keys belong to other parameters,
    /// [`Error::RouteMismatch`] when they relinearise another way than the parameters say.
    pub fn new(params: &Params, keys: &EvaluationKeys) -> Result<Self> {
        let op = "make an evaluator";
        params.check(op, keys.fingerprint())?;
        if let Some(relinearisation) = keys.relinearisation_keys() {
            params.check_route(op, relinearisation.route())?;
        }
        Ok(Self {
            params: params.clone(),
            encoder: Encoder::new(params),
            keys: keys.clone(),
            refresher: None,
        })
    }

    /// The rules by which levels, scales, ranges and noise of results follow from the operands'.
    pub(crate) fn books(&self) -> Books<'_> {
        self.params.books()
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// An encoder for the same parameters.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The keys.
    pub fn keys(&self) -> &EvaluationKeys {
        &self.keys
    }

    /// An encryption without noise or secrecy: `(m, 0)`, at the plaintext's level and scale.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    pub fn trivial(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        self.check_plain("trivial encryption", plaintext)?;
        let lattice = self.params.lattice();
        let inner =
            mlwe::Ciphertext::trivial(lattice, plaintext.poly.clone(), self.keys.secret_id())?;
        Ok(Ciphertext::at_level(&self.params, inner, plaintext.account().meta))
    }

    /// Refuses ciphertexts of other parameters or another key.
    pub(crate) fn check(&self, op: &'static str, ct: &Ciphertext) -> Result<()> {
        self.params.check(op, ct.inner.fingerprint())?;
        self.params.check_level_of(op, ct.limbs(), ct.level())?;
        if ct.key() != self.keys.secret_id() {
            let (left, right) = (self.keys.secret_id(), ct.key());
            return Err(Error::KeyMismatch { op, left, right });
        }
        Ok(())
    }

    /// Refuses plaintexts of other parameters.
    pub(crate) fn check_plain(&self, op: &'static str, p: &Plaintext) -> Result<()> {
        self.params.check(op, p.fingerprint)?;
        self.params.check_level_of(op, p.limbs(), p.level())
    }

    /// Refuses ciphertexts with fewer than `needed` levels left.
    pub(crate) fn check_levels(&self, op: &'static str, needed: usize, left: usize) -> Result<()> {
        self.books().check_levels(op, needed, left)
    }
}

impl Plaintext {
    /// The first `limbs` limbs of the polynomial.
    pub(crate) fn poly_at(&self, limbs: usize) -> bellerophon_ring::Poly<bellerophon_ring::Ntt> {
        self.poly.limb_range(0..limbs)
    }
}
