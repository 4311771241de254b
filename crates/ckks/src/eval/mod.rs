//! Computation on ciphertexts: the [`Evaluator`].
//!
//! Every operation works in the same order:
//!
//! 1. check that the operands belong to the parameters and to one key;
//! 2. bootstrap operands automatically, if enabled, and align their levels and scales;
//! 3. derive the metadata of the result ([`MetadataRules`]), and refuse results that could wrap;
//! 4. compute the phase.
//!
//! | module | contents |
//! | --- | --- |
//! | `scale_management` | aligned levels and scales of two operands, level drops |
//! | `add` | addition, subtraction, negation; with ciphertexts, plaintexts, constants |
//! | `mul` | products, squares; by plaintexts, constants; linear combinations |
//! | `statements` | what composed operations know better than the rules |
//! | `rescale` | the rescale |
//! | `rotate` | rotations, conjugation, hoisted rotations |
//! | `sum` | sums over slots, copies, dot products |
//! | `mask` | masks: some slots stay, the others become zero |
//! | `padding` | padding that is moved into a domain, or cleared |
//! | `ckks_ops` | [`CkksOps`](crate::CkksOps) for the evaluator |

mod add;
mod ckks_ops;
pub(crate) mod mask;
mod mul;
pub(crate) mod padding;
mod rescale;
pub(crate) mod rotate;
mod scale_management;
pub(crate) mod statements;
pub(crate) mod sum;

pub(crate) use ckks_ops::metadata_operations;

use bellerophon_mlwe as mlwe;

#[cfg(doc)]
use crate::ErrorKind;
use crate::bootstrap::{Bootstrapping, Watch};
use crate::debugging::Automatic;
use crate::fbt::Functional;
use crate::{
    Ciphertext, During, Encoder, EvaluationKeys, Params, Plaintext, Result,
    metadata::rules::MetadataRules,
};

/// Evaluates operations on ciphertexts under one secret key.
///
/// It shares the keys; its only mutable state is a count of bootstraps. It is cheap to create: use
/// one per thread, or one for all.
#[derive(Debug, Clone)]
pub struct Evaluator {
    params: Params,
    encoder: Encoder,
    keys: EvaluationKeys,
    pub(crate) bootstrapping: Option<Bootstrapping>,
    pub(crate) functional: Option<Functional>,
    /// The progress callback of bootstraps.
    pub(crate) watch: Watch,
    /// What it bootstraps automatically, for a debugger.
    pub(crate) automatic: Automatic<Ciphertext>,
}

impl Evaluator {
    /// An evaluator with the given keys.
    ///
    /// # Errors
    /// [`mlwe::ErrorKind::ParamsMismatch`] for keys of other parameters,
    /// [`ErrorKind::ParamsMismatch`] for keys of another relinearization strategy.
    pub fn new(params: &Params, keys: &EvaluationKeys) -> Result<Self> {
        let op = "make an evaluator";
        params.check(keys.fingerprint()).during(op)?;
        if let Some(relinearization) = keys.relinearization_keys() {
            params.check_relin_strategy(relinearization.strategy()).during(op)?;
            relinearization.prepare().during(op)?;
        }
        Ok(Self {
            params: params.clone(),
            encoder: Encoder::new(params),
            keys: keys.clone(),
            bootstrapping: None,
            functional: None,
            watch: Watch::default(),
            automatic: Automatic::unseen(),
        })
    }

    /// The same evaluator, which keeps what it bootstraps automatically.
    pub(crate) fn seen(&self) -> (Self, Automatic<Ciphertext>) {
        let automatic = Automatic::seen();
        (Self { automatic: automatic.clone(), ..self.clone() }, automatic)
    }

    /// The rules that derive the metadata of results from those of the operands.
    pub(crate) fn rules(&self) -> MetadataRules<'_> {
        self.params.rules()
    }

    /// Computes [`CkksOps::params`](crate::CkksOps::params).
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// An encoder for the same parameters.
    pub(crate) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The keys.
    pub fn keys(&self) -> &EvaluationKeys {
        &self.keys
    }

    /// An encryption without noise or secrecy: `(m, 0)`, at the plaintext's level and scale.
    ///
    /// # Errors
    /// [`mlwe::ErrorKind::ParamsMismatch`].
    pub(crate) fn trivial(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        self.check_plain(plaintext).during("trivial encryption")?;
        let lattice = self.params.lattice();
        let inner =
            mlwe::Ciphertext::trivial(lattice, plaintext.poly.clone(), self.keys.secret_id())?;
        let meta = plaintext.metadata().meta;
        Ok(Ciphertext::at_level(&self.params, inner, meta, plaintext.origins()))
    }

    /// Refuses ciphertexts under other parameters or another key.
    pub(crate) fn check(&self, ct: &Ciphertext) -> Result<()> {
        self.params.check(ct.inner.ident().fingerprint)?;
        self.params.check_level_of(ct.lattice().limbs(), ct.level())?;
        if ct.lattice().ident().key != self.keys.secret_id() {
            let (needed, found) = (self.keys.secret_id(), ct.lattice().ident().key);
            return Err(mlwe::error::key_mismatch(found, needed));
        }
        Ok(())
    }

    /// Refuses plaintexts of other parameters.
    pub(crate) fn check_plain(&self, p: &Plaintext) -> Result<()> {
        self.params.check(p.fingerprint)?;
        self.params.check_level_of(p.limbs(), p.level())
    }

    /// Refuses ciphertexts with fewer than `needed` levels left.
    pub(crate) fn check_levels(&self, needed: usize, left: usize) -> Result<()> {
        self.rules().check_levels(needed, left)
    }
}

impl Plaintext {
    /// The first `limbs` limbs of the polynomial.
    pub(crate) fn poly_at(&self, limbs: usize) -> bellerophon_ring::Poly<bellerophon_ring::Ntt> {
        self.poly.limb_range(0..limbs)
    }
}
