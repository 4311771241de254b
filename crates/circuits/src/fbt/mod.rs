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
//! | [`Table`] | the series of a table over `Z_p` that removes noise of its input, with its error |
//! | [`RealSeries`] | the series of a real function over a share of the circle, with its error |
//! | [`PeriodicFunction`] | a series with period, domain and plan, ready for evaluation |
//! | [`IntVec`], [`Integers`] | encrypted integers modulo `p`: exact sums, multiples and tables |
//! | [`PairedVec`] | up to `N` reals, two in each slot |
//! | [`Exponential`] | the plan for `E` |
//! | [`FbtSpec`] | the specification of a functional bootstrap, and its modulus chains |
//! | [`FunctionalBootstrapper`] | matrices and exponential, prepared for a parameter set |
//!
//! [`CircuitOps::functional_bootstrap`](crate::CircuitOps::functional_bootstrap) evaluates it; the
//! steps are those of `evaluate.rs`. S2C comes first, at the lowest levels. The secret during the
//! mod raise is sparse; its only modulus is `q_0` times a special prime of its own.

mod bootstrapper;
mod encode;
pub(crate) mod evaluate;
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
pub use encode::EncoderExt;
pub(crate) use evaluate::Functional;
pub use exponential::Exponential;
pub use extension::{ErrorBound, RealSeries, detect_breaks};
pub use function::PeriodicFunction;
pub use int_vec::{IntVec, SeededIntVec};
pub use integers::{IntTable, IntVecOf, Integers};
pub use paired::{PairedVec, SeededPairedVec};
pub use publish::{IntegerResultStatement, IntegersStatement, PublishExt};
pub use series::Series;
pub use spec::FbtSpec;
pub use table::Table;
