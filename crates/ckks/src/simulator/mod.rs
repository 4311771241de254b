//! Dry runs on plain vectors: where a program fails, which keys it needs, and how exact its result
//! is.
//!
//! A [`Simulator`] is a [`CkksOps`](crate::CkksOps) whose ciphertexts are [`SimCiphertext`]s: plain
//! values with exactly the [`Metadata`] of a ciphertext. A program written for any `CkksOps` runs
//! on it before a key exists, meets the same errors, and leaves a [`Report`] with the keys that it
//! used. [`min_level`] finds the number of levels that a program needs. Bootstraps need
//! `SimulatorExt` of `bellerophon_circuits`.

mod ckks_ops;
mod encrypt;
mod min_level;
mod record;
mod report;

use std::{
    any::Any,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;
use num_complex::Complex64;

pub use min_level::min_level;
pub use report::{Failure, Report};

use crate::attachments::Attachments;
use crate::ciphertext::CiphertextMeta;
use crate::debugging::Automatic;
use crate::error;
use crate::hook::Refresh;
use crate::metadata::Metadata;
use crate::metadata::rules::MetadataRules;
use crate::noise_flooding::NoiseBound;
use crate::noise_model::NoiseModel;
use crate::origins::Origins;
use crate::params::Params;
use crate::rotation_plan::RotationCost;

/// Runs programs on plain vectors with the metadata of ciphertexts, and keeps a [`Report`].
///
/// ```
/// use bellerophon_ckks::{CkksOps, ErrorKind, Interval, Result, simulator::Simulator};
/// # use bellerophon_ckks::{LevelGroup, ModulusChain, Params, ParamsSpec, Security};
///
/// // The program, for ciphertexts and plain vectors alike.
/// fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
///     let y = a.square(&a.add_scalar(x, -0.5)?)?;
///     a.mul(&y, &a.rotate(&y, 1)?)
/// }
/// # let levels = vec![LevelGroup::single(40, 2)];
/// # let chain = ModulusChain { degree: 1 << 10, first_bits: 50, levels, special: (50, 1) };
/// # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
/// let (values, range) = ([0.5, -1.5, 2.0, 0.25], Interval::real(-2.0, 2.0)?); // a public range
/// // One level is not enough: operation 4 fails.
/// let simulator = Simulator::new(&params);
/// let refused = program(&simulator, &simulator.encrypt(&values, range, 1)?).unwrap_err();
/// assert!(matches!(refused.kind(), ErrorKind::OutOfLevels { .. }));
/// assert_eq!(simulator.report().failure.unwrap().operation, 4);
/// // Two are enough: the precision of the result, and the keys to generate for an evaluator.
/// let simulator = Simulator::new(&params);
/// let y = program(&simulator, &simulator.encrypt(&values, range, 2)?)?;
/// assert!(y.metadata().estimate(&params, -20.0).bits() > 20.0);
/// let keys = simulator.report().keys;
/// # Ok::<(), bellerophon_ckks::Error>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    params: Params,
    /// What it bootstraps operands with when their levels run out.
    refresh: Option<Arc<dyn Refresh<Self, SimCiphertext>>>,
    attachments: Attachments,
    noise_model: NoiseModel,
    /// The identity of the next encryption.
    next: AtomicU64,
    report: Mutex<Report>,
    /// What it bootstraps automatically, for a debugger.
    automatic: Automatic<SimCiphertext>,
}

/// Plain values with the metadata that the ciphertext would have. It belongs to simulators with the
/// same parameters and the same noise model.
#[derive(Clone, PartialEq)]
pub struct SimCiphertext {
    /// Every slot of one period.
    values: Vec<Complex64>,
    metadata: Metadata,
    origins: Origins,
    params: Params,
    noise_model: NoiseModel,
}

/// Prints the metadata only: the values are plaintext.
impl std::fmt::Debug for SimCiphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimCiphertext").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl SimCiphertext {
    /// The metadata of the ciphertext.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The values of exact arithmetic, without the predicted noise.
    pub fn values(&self) -> &[Complex64] {
        &self.values[..self.metadata.meta.len]
    }

    /// The real parts of [`values`](Self::values).
    pub fn reals(&self) -> Vec<f64> {
        self.values().iter().map(|z| z.re).collect()
    }

    /// The exact values of all slots, padding included.
    pub fn slots(&self) -> &[Complex64] {
        &self.values
    }

    /// The same values with the metadata and the origins of a ciphertext.
    pub fn with_state(self, metadata: Metadata, origins: Origins) -> Self {
        Self { metadata, origins, ..self }
    }

    fn with(&self, meta: CiphertextMeta) -> Self {
        Self { metadata: Metadata { meta, ..self.metadata }, ..self.clone() }
    }
}

impl Simulator {
    /// A simulator of evaluators with these parameters.
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            refresh: None,
            attachments: Attachments::default(),
            noise_model: NoiseModel::default(),
            next: AtomicU64::default(),
            report: Mutex::default(),
            automatic: Automatic::unseen(),
        }
    }

    /// A simulator of the same kind that keeps what it bootstraps automatically.
    pub fn seen(&self) -> (Self, Automatic<SimCiphertext>) {
        let automatic = Automatic::seen();
        let simulator = Self {
            refresh: self.refresh.clone(),
            attachments: self.attachments.clone(),
            noise_model: self.noise_model,
            automatic: automatic.clone(),
            ..Self::new(&self.params)
        };
        (simulator, automatic)
    }

    /// The same simulator, which bootstraps operands when their levels run out.
    pub fn refreshing(self, refresh: Option<Arc<dyn Refresh<Self, SimCiphertext>>>) -> Self {
        Self { refresh, ..self }
    }

    /// The same simulator with a value that a circuit keeps with it.
    pub fn attaching<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.attachments.set(value);
        self
    }

    /// The same simulator with all that circuits keep with an evaluator.
    pub(crate) fn with_attachments(self, attachments: Attachments) -> Self {
        Self { attachments, ..self }
    }

    /// The same simulator with a worst-case bound on noise instead of an average. The "variances"
    /// of its metadata are squares of bounds on the length of the noise polynomial divided by
    /// `sqrt(N)`. [`noise_bound`](Self::noise_bound) returns the bound of a result.
    ///
    /// The bound holds for any correlation of errors, under three conditions:
    /// - no single error (of an encryption, a rounding, a key switch) is longer than its own bound,
    ///   which fails with probability `2^-64` each;
    /// - the ranges that the metadata carries hold;
    /// - the evaluator has a key of its own for every rotation ([`Report::keys`]).
    ///
    /// Circuits are covered as well. The bound fails if a bootstrap fails, with the probability in
    /// the [report](Report::failures). An iterated bootstrap states the range of the remainder
    /// after each round from the average noise, and its bound holds as long as that range does.
    ///
    /// Average and worst case do not mix: all inputs and operations of a program must use one
    /// worst-case simulator ([`ErrorKind::Request`]). A statement may lower the excess of a
    /// vector ([`assume_range`](crate::ComposedOps::assume_range)), never the bound on its error.
    pub fn worst_case(mut self) -> Self {
        self.noise_model = NoiseModel::Worst;
        self
    }

    /// The bound on the noise of a vector, for
    /// [`decrypt_flooded`](crate::noise_flooding::decrypt_flooded).
    ///
    /// # Errors
    /// [`ErrorKind::Request`] for a simulator that is not [`worst_case`](Self::worst_case), and for
    /// its vectors; [`ErrorKind::Argument`] for a vector whose error is unbounded.
    pub fn noise_bound(&self, x: &SimCiphertext) -> Result<NoiseBound> {
        ensure(self.noise_model == NoiseModel::Worst, error::no_worst_case)?;
        self.check(x)?;
        // The prediction of a long loop may have grown to infinity, which bounds nothing.
        let found = x.metadata.meta.noise.total;
        ensure(found.is_finite(), || error::variance(found))?;
        Ok(NoiseBound::new(&self.params, x.metadata))
    }

    /// Refuses vectors of other parameters or of another noise model.
    fn check(&self, x: &SimCiphertext) -> Result<()> {
        self.params.check_same(&x.params)?;
        ensure(x.noise_model == self.noise_model, error::no_worst_case)
    }

    /// A vector of this simulator.
    pub fn vector(
        &self,
        values: Vec<Complex64>,
        metadata: Metadata,
        origins: Origins,
    ) -> SimCiphertext {
        SimCiphertext {
            values,
            metadata,
            origins,
            params: self.params.clone(),
            noise_model: self.noise_model,
        }
    }

    /// The origins of a new encryption.
    pub fn encryption(&self) -> Origins {
        Origins::one(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The metadata rules of the evaluator, with the noise model of this simulator.
    pub fn rules(&self) -> MetadataRules<'_> {
        self.params.rules().with_errors(self.noise_model)
    }
}

/// The cost of a rotation if every step has a key of its own.
pub fn one_key(_: &Metadata, step: usize) -> Result<RotationCost> {
    Ok(RotationCost::one_key(step))
}
