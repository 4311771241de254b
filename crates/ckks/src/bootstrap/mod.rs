//! Refreshing: a ciphertext that has used up its levels gets new ones, without the secret key.
//!
//! ```text
//!  slots, low level --S2C--> coefficients mod q_0 --switch--> under a sparse secret
//!        --raise--> m + q_0 I mod Q --switch--> under the secret --C2S--> slots --F_mod--> slots
//! ```
//!
//! The steps are those of Cheon, Han, Kim, Kim and Song (eprint 2018/153) with the slots moved to
//! the coefficients FIRST, at the lowest levels, and not last: the value in a slot then stands in
//! one coefficient. That is cheap, since few primes are left there, and it is exact where it
//! matters: an error of the reduction modulo 1 shows in one slot as it is, while a decoding matrix
//! behind the reduction would add up `N` of them, half of `log2 N` bits. It also makes all vectors
//! alike: a coefficient is never larger than the largest slot, be the vector random or constant.
//!
//! | step | where | what it costs |
//! | --- | --- | --- |
//! | S2C ([`dft`](crate::dft)) | the lowest levels | as many levels as it has matrices |
//! | encapsulation, raising ([`RaiseKey`](bellerophon_mlwe::RaiseKey)) | `q_0`, then all primes | two key switches of one digit |
//! | trace, for vectors of few slots | all primes | a rotation for each halving of the slots |
//! | C2S ([`dft`](crate::dft)) | the highest levels | a level for each matrix |
//! | F_mod ([`mod1`](crate::mod1)), once for real vectors, twice for complex ones | below | its depth |
//!
//! **The secret.** How far the multiples `I` of `q_0` reach depends on the weight of the secret
//! under which the ciphertext is read modulo `Q`. It is a sparse one that stands under no modulus
//! but `q_0` times a special prime of its own (sparse-secret encapsulation, Bossuat,
//! Troncoso-Pastoriza and Hubaux, eprint 2022/024), where a weight of 32 is safe.
//!
//! **Failure.** The reduction covers all `I` but for a stated probability for the whole vector
//! ([`BootstrapSpec::log2_failure`]); a value beyond comes back as garbage.
//!
//! **Noise.** Let `V` be one rounding, `(|s|^2 + 1) / 12`, `S` the scale in the reduction, `w` its
//! width ([`Mod1::width`](crate::mod1::Mod1::width)) and `2^g` the gap, by which `q_0` exceeds the
//! largest message. The real part of a slot behind C2S carries `2 sqrt(n V) / S` of noise, in units
//! of `w`; the steps of the reduction add their roundings ([`Mod1::mean_sensitivity`]); both count
//! `2^g` times in units of the largest message. The variance that a refreshed ciphertext carries
//! says all that ([`Ciphertext::noise`](crate::Ciphertext::noise)); the error of the approximations
//! comes on top ([`Bootstrapper::approximation_error`]); [`Ciphertext::excess`](crate::Ciphertext::excess),
//! which decides whether a vector may be refreshed again, counts it.
//!
//! All of that is known before there is a key: [`Bootstrapper::refreshed`] says what becomes of one
//! vector, a [`Shadow`](crate::shadow::Shadow::with_refresh) what becomes of a program, and
//! [`Requirements::bootstraps`](crate::choose::Requirements::bootstraps) chooses a set by it.
//!
//! **By itself.** An evaluator that [refreshes by itself](crate::Evaluator::refreshing_by_itself) asks
//! for an operand's levels before each operation, and refreshes what would come out too low for a
//! refresh. Functions that fit between two refreshes get one in front.
//!
//! More precision than one refresh gives is had by repetition: what the first one is off by is
//! refreshed again, enlarged ([`Evaluator::refresh_precisely`](crate::Evaluator::refresh_precisely);
//! "meta" bootstrapping, Bae, Cheon, Cho, Kim and Kim, eprint 2022/1167).
//!
//! [`Mod1::mean_sensitivity`]: crate::mod1::Mod1::mean_sensitivity

pub(crate) mod automatic;
pub(crate) mod course;
mod keys;
pub(crate) mod precise;
mod refresh;
mod spec;

pub use keys::BootstrapKeys;
pub(crate) use refresh::Refresher;
pub use spec::{BootstrapSpec, Bootstrapper};
