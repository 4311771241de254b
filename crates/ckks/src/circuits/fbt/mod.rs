//! Functional bootstrapping (FBT): a function of every slot at the price of one bootstrap.
//!
//! ```text
//!  slots, low level --S2C--> coefficients mod q_0 --raise--> m + q_0 I mod Q --C2S--> slots
//!        --E = exp(2 pi i (m + q_0 I) / q_0)--> the circle --power series--> f(slots)
//! ```
//!
//! The mod raise adds an unknown integer multiple `q_0 I` to every coefficient `m`. Bootstrapping
//! removes it with a sine. `E` depends on `m / q_0` only: a power series of `E` whose real part is
//! a function of the angle gives that function of every slot, at a high level (Alexandru, Kim and
//! Polyakov, eprint 2024/1623; Bae, Kim, Stehle and Suvanto, Asiacrypt 2024). Real and imaginary
//! parts of the slots are two vectors: up to `N` values in a ring of degree `N`.
//!
//! | item | contents |
//! | --- | --- |
//! | [`Series`] | a complex polynomial of `E` whose real part is the function |
//! | [`Table`] | the series of a table over `Z_p` that removes noise of its input, with its error bound |
//! | [`RealSeries`] | the series of a real function over a share of the circle, with its error |
//! | [`detect_breaks`] | apparent kinks and jumps of a function |
//! | [`PeriodicFunction`] | a series with period, domain and plan, ready for evaluation |
//! | [`IntVec`], [`Integers`] | encrypted integers modulo `p`: exact sums, multiples and tables |
//! | [`PairedVec`] | up to `N` reals, two in each slot |
//! | [`SeededIntVec`], [`SeededPairedVec`] | fresh encryptions with a seed for the mask |
//! | [`ProvidedIntegers`] | integers of others, under the public key of an owner |
//! | [`PublishedIntegers`], [`PublishedPaired`] | results for the client, with declared metadata |
//! | [`BootstrapStage`](crate::bootstrap::BootstrapStage) | progress of a bootstrap; a callback can stop it |
//! | [`Exponential`] | the plan for `E` |
//! | [`FbtSpec`] | the specification of a functional bootstrap, and its modulus chains |
//! | [`FunctionalBootstrapper`] | the matrices and the exponential, prepared for a parameter set |
//!
//! **Steps**: see `evaluate.rs`
//! ([`CkksOps::functional_bootstrap`](crate::CkksOps::functional_bootstrap)). S2C comes first,
//! at the lowest levels. The secret during the mod raise is sparse; its only modulus is `q_0` times
//! a special prime of its own.
//!
//! **Failure.** With `h` nonzero coefficients of the sparse secret, a coefficient after the mod
//! raise is at most `(h + 1) / 2` times `q_0`, for all masks. The interval of the exponential has
//! that width: overflow cannot cause a failure. Noise can: it may move an integer beyond the
//! tolerance of the table. That has at most the probability [`FbtSpec::log2_failure`] for a whole
//! vector; otherwise the operation is refused
//! ([`ErrorKind::Noise`](crate::ErrorKind::Noise)).
//!
//! **Noise.** An error of `E` along the circle is an error of the angle. An error across it is one
//! of the modulus, and the series is made for modulus 1. Table entries `y_k` have zero derivatives
//! along the circle only; an error of `E` across it is multiplied by `Re sum_j j a_j E^j`, up to
//! `p / 4` times the spread of the entries. Tables of many entries therefore take a normalised
//! exponential.

mod bootstrapper;
mod evaluate;
mod exponential;
mod extension;
mod fourier;
mod function;
mod int_vec;
mod integers;
pub(crate) mod paired;
mod provided;
mod publish;
mod roundings;
mod series;
mod spec;
mod table;
mod worst;

pub use bootstrapper::{FbtInput, FunctionalBootstrapper};
pub(crate) use evaluate::Functional;
pub use exponential::Exponential;
pub use extension::{ErrorBound, RealSeries, detect_breaks};
pub use function::PeriodicFunction;
pub use int_vec::{IntVec, SeededIntVec};
pub use integers::{IntTable, Integers};
pub use paired::{PairedVec, SeededPairedVec};
pub use provided::ProvidedIntegers;
pub use publish::{PublishedIntegers, PublishedPaired};
pub use series::Series;
pub use spec::FbtSpec;
pub use table::Table;
