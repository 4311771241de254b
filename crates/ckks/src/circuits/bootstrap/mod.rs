//! CKKS bootstrapping: new levels for a ciphertext that has used up its own, without the secret
//! key.
//!
//! ```text
//!  slots, low level --S2C--> coefficients mod q_0 --switch--> under a sparse secret
//!        --raise and first matrix--> m + q_0 I mod Q, under the secret
//!        --C2S--> slots --EvalMod--> slots
//! ```
//!
//! The steps are those of Cheon, Han, Kim, Kim and Song (eprint 2018/153), with SlotsToCoeffs
//! FIRST, at the lowest levels, and not last. The value of a slot is then one coefficient.
//! - It is cheap: few primes are left at those levels.
//! - An error of EvalMod affects one slot. A decoding matrix after EvalMod would add up `N` of
//!   them, half of `log2 N` bits.
//! - A coefficient is never larger than the largest slot, whether the vector is random or constant.
//!
//! | step | levels | cost |
//! | --- | --- | --- |
//! | S2C ([`dft`](crate::dft)), with keys for these levels alone | the lowest | one level for each matrix |
//! | encapsulation | `q_0` | a key switch of one digit |
//! | mod raise with the first matrix of C2S and the trace for vectors of few slots ([`RaiseTransform`](bellerophon_mlwe::RaiseTransform)) | from `q_0` to all primes | one row of a key for each diagonal, without digits |
//! | what the trace exceeds | all primes | a rotation for each halving of the slots |
//! | C2S ([`dft`](crate::dft)) | the highest | one level for each further matrix |
//! | EvalMod ([`eval_mod`](crate::eval_mod)), once for real vectors, twice for complex ones | below | its depth |
//!
//! **The lowest levels.** S2C works under parameters of its own: the primes of its levels, with as
//! few special primes as its key switches need
//! ([`mlwe::Params::lowest`](bellerophon_mlwe::Params::lowest)). At full size, with three of nine,
//! its keys are half as large as keys for the same levels under all special primes, and it takes
//! half the transforms.
//!
//! **The first matrix.** After the mod raise the coefficients are integers of the size of `q_0`:
//! the matrix needs no prime of the chain to round its entries, and its products with the key need
//! no digits. The switch from the sparse secret, the rotations and the matrix are rows of one key
//! (level-conserving rescaling and aggregated key switch, eprint 2025/1403).
//!
//! **The secret.** The largest multiple `I` of `q_0` depends on the weight of the secret during the
//! mod raise. That secret is sparse, and its only modulus is `q_0` times a special prime of its own
//! (sparse-secret encapsulation, Bossuat, Troncoso-Pastoriza and Hubaux, eprint 2022/024), where a
//! weight of 32 is safe.
//!
//! **Failure.** EvalMod covers all `I` except with a stated probability for the whole vector
//! ([`BootstrapSpec::log2_failure`]); the result of a value outside is arbitrary.
//!
//! **Noise.** Let `V` be one rounding, `(|s|^2 + 1) / 12`, `S` the scale in EvalMod, `w` its width
//! ([`Mod1::width`](crate::eval_mod::Mod1::width)) and `2^g` the gap, the ratio of `q_0` to the
//! largest message. The real part of a slot after C2S has the noise `2 sqrt(n V) / S`, in units of
//! `w`; the roundings of the diagonals, which are multiplied by the root mean square of a
//! coefficient, `q_0 sqrt((h + 1) / 12)` for a sparse secret of weight `h`, are below that. The
//! steps of EvalMod add their roundings, each at its own scale ([`eval_mod`](crate::eval_mod)).
//! Both are multiplied by `2^g` in units of the largest message. The noise of a bootstrapped
//! ciphertext includes all that ([`Metadata::noise`](crate::Metadata::noise)) but not the
//! approximation error ([`Bootstrapper::approximation_error`]).
//! [`Metadata::excess`](crate::Metadata::excess), which decides whether a vector may be
//! bootstrapped again, includes it.
//!
//! **Prediction.** All of that is known without a key: [`Bootstrapper::bootstrapped`] predicts one
//! vector, a [`Simulator`](crate::simulator::Simulator::with_bootstrapping) a program, and
//! [`ProgramBounds::bootstraps`](crate::param_search::ProgramBounds::bootstraps) selects parameters
//! by it.
//!
//! **Automatic bootstrapping.** With
//! [`Evaluator::with_auto_bootstrap`](crate::Evaluator::with_auto_bootstrap), every operation
//! bootstraps an operand first if its result would have too few levels for a bootstrap. A function
//! that fits between two bootstraps is preceded by one.
//!
//! **Meta-BTS.** [`CkksOps::bootstrap_iterated`](crate::CkksOps::bootstrap_iterated) gains
//! precision by repetition: it bootstraps the enlarged error of the first result (Bae, Cheon, Cho,
//! Kim and Kim, eprint 2022/1167).
//!
//! | module | contents |
//! | --- | --- |
//! | `spec` | [`BootstrapSpec`], [`Bootstrapper`]: options and preparation |
//! | `raising` | [`Raising`]: S2C, mod raise, C2S |
//! | `first_matrix` | the first matrix of C2S, which the mod raise applies |
//! | `evaluate` | one bootstrap: metadata and computation |
//! | `iterated` | Meta-BTS |
//! | `progress` | [`BootstrapStage`]: reports to a callback that can stop a bootstrap |
//! | `auto_bootstrap` | operands bootstrapped automatically |
//! | `keys`, `key_generation` | [`BootstrapKeys`]: of S2C, to the sparse secret and back; their generation from a secret |
//! | `worst` | the worst-case noise bound |

pub(crate) mod auto_bootstrap;
mod evaluate;
mod first_matrix;
pub(crate) mod iterated;
mod key_generation;
mod keys;
mod progress;
pub(crate) mod raising;
mod spec;
pub(crate) mod worst;

#[cfg(test)]
pub(crate) use evaluate::BootstrapMeta;
pub(crate) use evaluate::Bootstrapping;
pub use keys::BootstrapKeys;
pub use progress::BootstrapStage;
pub(crate) use progress::Watch;
pub use raising::Raising;
pub use spec::{BootstrapSpec, Bootstrapper};
