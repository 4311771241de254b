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
//! | `ckks_ops` | [`Vectors`](crate::vectors::Vectors) for the evaluator: these steps, once for all operations |
//! | `kernels` | steps on phases that operations share |
//! | `plain` | sums and products with vectors that the caller encoded |
//! | `sum` | sums over slots, copies |
//! | `mask` | masks: some slots stay, the others become zero |
//! | `padding` | padding that is moved into a domain, or cleared |
//! | `range` | ranges that a program promises |
//! | `statements` | what composed operations know better than the rules |

mod ckks_ops;
mod kernels;
pub mod mask;
pub mod padding;
mod plain;
pub mod range;
pub mod statements;
pub mod sum;

use std::{any::Any, sync::Arc};

use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;

use crate::attachments::Attachments;
use crate::ciphertext::Ciphertext;
use crate::debugging::Automatic;
use crate::encode::{Encoder, Plaintext};
use crate::hook::Refresh;
use crate::keys::EvaluationKeys;
use crate::metadata::Metadata;
use crate::metadata::rules::MetadataRules;
#[cfg(doc)]
use crate::ops::CkksOps;
use crate::params::Params;
use crate::rotation_plan::{RotationCost, RotationPath};

/// Evaluates operations on ciphertexts under one secret key.
///
/// It shares the keys; its only mutable state is a count of bootstraps. It is cheap to create: use
/// one per thread, or one for all.
///
/// ```
/// use bellerophon_ckks::{CkksOps, Encoder, EvaluationKeys, Evaluator, KeyLevels, SecretKey};
/// use bellerophon_ckks::{Interval, decrypt_values, encrypt};
/// # use bellerophon_ckks::{LevelGroup, ModulusChain, Params, ParamsSpec, Security};
/// # use rand::SeedableRng;
/// # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// # let levels = vec![LevelGroup::single(40, 2)];
/// # let chain = ModulusChain { degree: 1 << 10, first_bits: 50, levels, special: (50, 1) };
/// # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
/// let secret = SecretKey::generate(params.lattice(), &mut rng)?;
/// let spec = KeyLevels::default().multiply(2).rotate([1], 1);
/// let keys = EvaluationKeys::generate(&params, &secret, &spec, &mut rng)?;
/// let range = Interval::real(-2.0, 2.0)?; // declared, and public
/// let plain = Encoder::new(&params).encode(&[0.5, -1.5, 2.0, 0.25], range, params.scale(), 3)?;
/// let x = encrypt(&params, &plain, &secret, &mut rng)?;
/// let eval = Evaluator::new(&params, &keys)?;
/// let y = eval.add_scalar(&eval.square(&x)?, -1.0)?;
/// let z = eval.mul(&y, &eval.rotate(&y, 1)?)?;
/// let found: Vec<f64> = decrypt_values(&params, &z, &secret)?;
/// let expected = [-0.75 * 1.25, 1.25 * 3.0, 3.0 * -0.9375, -0.9375 * -0.75];
/// assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
/// # Ok::<(), bellerophon_ckks::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator {
    /// The parameters.
    pub params: Params,
    encoder: Encoder,
    keys: EvaluationKeys,
    /// What it bootstraps operands with when their levels run out.
    pub refresh: Option<Arc<dyn Refresh<Self, Ciphertext>>>,
    /// What further crates keep with the evaluator.
    pub attachments: Attachments,
    /// What it bootstraps automatically, for a debugger.
    pub automatic: Automatic<Ciphertext>,
}

impl Evaluator {
    /// An evaluator with the given keys.
    pub fn new(params: &Params, keys: &EvaluationKeys) -> Result<Self> {
        params.check(keys.fingerprint())?;
        if let Some(relinearization) = keys.relinearization_keys() {
            params.check_relin_strategy(relinearization.strategy())?;
            relinearization.prepare()?;
        }
        Ok(Self {
            params: params.clone(),
            encoder: Encoder::new(params),
            keys: keys.clone(),
            refresh: None,
            attachments: Attachments::default(),
            automatic: Automatic::unseen(),
        })
    }

    /// The same evaluator, which bootstraps operands when their levels run out.
    pub fn refreshing(self, refresh: Option<Arc<dyn Refresh<Self, Ciphertext>>>) -> Self {
        Self { refresh, ..self }
    }

    /// The same evaluator with a value that a circuit keeps with it, such as its keys.
    pub fn attaching<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.attachments.set(value);
        self
    }

    /// The same evaluator, which keeps what it bootstraps automatically.
    pub fn seen(&self) -> (Self, Automatic<Ciphertext>) {
        let automatic = Automatic::seen();
        (Self { automatic: automatic.clone(), ..self.clone() }, automatic)
    }

    /// The rules that derive the metadata of results from those of the operands.
    pub fn rules(&self) -> MetadataRules<'_> {
        self.params.rules()
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
    pub fn trivial(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        self.check_plain(plaintext)?;
        let lattice = self.params.lattice();
        let inner =
            mlwe::Ciphertext::trivial(lattice, plaintext.poly.clone(), self.keys.secret_id())?;
        let meta = plaintext.metadata().meta;
        Ok(Ciphertext::at_level(&self.params, inner, meta, plaintext.origins()))
    }

    /// Refuses ciphertexts under other parameters or another key.
    pub fn check(&self, ct: &Ciphertext) -> Result<()> {
        self.params.check(ct.inner.ident().fingerprint)?;
        self.params.check_level_of(ct.lattice().limbs(), ct.level())?;
        if ct.lattice().ident().key != self.keys.secret_id() {
            let (needed, found) = (self.keys.secret_id(), ct.lattice().ident().key);
            return Err(mlwe::error::key_mismatch(found, needed));
        }
        Ok(())
    }

    /// Refuses plaintexts of other parameters.
    pub fn check_plain(&self, p: &Plaintext) -> Result<()> {
        self.params.check(p.fingerprint)?;
        self.params.check_level_of(p.limbs(), p.level())
    }

    /// The rotation of a vector with this metadata by `step` in `[0, slots)`.
    pub fn rotation_path(&self, x: &Metadata, step: usize) -> Result<RotationPath<'_>> {
        self.keys().rotation_path(self.params(), x, step)
    }

    /// The effect of a rotation by `step` on the metadata of a vector.
    pub fn rotation_cost(&self, x: &Metadata, step: usize) -> Result<RotationCost> {
        Ok(self.rotation_path(x, step)?.cost(self.params(), self.params().limbs_at(x.level)))
    }
}

impl Plaintext {
    /// The first `limbs` limbs of the polynomial.
    pub fn poly_at(&self, limbs: usize) -> bellerophon_ring::Poly<bellerophon_ring::Ntt> {
        self.poly.limb_range(0..limbs)
    }
}
