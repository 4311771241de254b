//! Functions of ciphertexts by polynomials of certified error.
//!
//! | item | contents |
//! | --- | --- |
//! | [`Function`] | a real function with a bound in the complex plane |
//! | [`Accuracy`] | the requested error of a result |
//! | [`Approximation`] | a function over a domain, prepared: error, levels and work are known |
//! | [`Sign`] | sign, comparison, maximum and magnitude by composite minimax polynomials |
//! | [`remez()`] | minimax approximation over unions of intervals |
//!
//! An approximation is prepared once; its cost and its error are known before anything is
//! encrypted. [`CircuitOps::apply`](crate::CircuitOps::apply) evaluates it.
//! [`CircuitOps::function`](crate::CircuitOps::function) prepares and evaluates at once, over the
//! carried range of the ciphertext:
//!
//! ```no_run
//! # use bellerophon_circuits::{CircuitOps, approx::{Accuracy, Function, Known}};
//! # use bellerophon_ckks::{Ciphertext, Evaluator, Interval, Result};
//! # fn f(evaluator: &Evaluator, x: Ciphertext) -> Result<()> {
//! let x = x.assume_range_with_padding(Interval::real(0.5, 2.0)?); // known of all slots
//! let y = evaluator.function(&x, &Function::from(Known::Ln), Accuracy::bits(20.0))?;
//! # Ok(())
//! # }
//! ```
//!
//! **Certificates.** Every stated error is a bound over the whole domain, not only at sample
//! points: see `certify.rs`. It does not include the noise of the scheme, which
//! [`Metadata::noise`](bellerophon_ckks::Metadata::noise) predicts.

mod accuracy;
pub(crate) mod apply;
pub(crate) mod certify;
pub(crate) mod compare;
mod fit;
mod function;
mod iterate;
mod prepare;
mod remez;
mod sign;

pub use accuracy::Accuracy;
pub use function::{Ellipse, Function, Known};
pub use prepare::Approximation;
pub(crate) use prepare::{check_domain, without_values};
pub(crate) use remez::solve;
pub use remez::{Minimax, Parity, remez};
pub(crate) use sign::Kind;
pub use sign::Sign;
