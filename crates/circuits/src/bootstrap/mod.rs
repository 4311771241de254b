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
//! [`Raising`] has the levels and costs of the steps up to C2S, [`eval_mod`](crate::eval_mod) the
//! last one. EvalMod covers all `I` except with a stated probability for the whole vector
//! ([`BootstrapSpec::log2_failure`]); the result of a value outside is arbitrary.
//!
//! **Automatic bootstrapping** ([`EvaluatorExt::with_auto_bootstrap`]). Every operation bootstraps
//! an operand first if its result would have too few levels for a bootstrap.
//!
//! **Meta-BTS** ([`CircuitOps::bootstrap_iterated`](crate::CircuitOps::bootstrap_iterated)) gains
//! precision by repetition: it bootstraps the enlarged error of the first result (Bae, Cheon, Cho,
//! Kim and Kim, eprint 2022/1167).

mod attached;
mod evaluate;
mod first_matrix;
pub(crate) mod iterated;
mod key_generation;
mod keys;
mod progress;
pub(crate) mod raising;
mod spec;
mod stage_work;
pub(crate) mod worst;

pub(crate) use attached::Bootstrapping;
pub use attached::{EvaluatorExt, SimulatorExt};
#[cfg(test)]
pub(crate) use evaluate::BootstrapMeta;
pub(crate) use evaluate::bootstrapped;
pub use keys::BootstrapKeys;
pub use progress::BootstrapStage;
pub(crate) use progress::tell;
pub use raising::Raising;
pub use spec::{BootstrapSpec, Bootstrapper};
pub use stage_work::StageWork;
