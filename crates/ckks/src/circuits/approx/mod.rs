//! Functions of ciphertexts by polynomials of certified error.
//!
//! | item | contents |
//! | --- | --- |
//! | [`Function`] | a real function with a bound in the complex plane |
//! | [`Accuracy`] | the requested error of a result |
//! | [`Approximation`] | a function over a domain, prepared: error, levels and work are known |
//! | [`Sign`] | sign, step, comparison, maximum, minimum and magnitude by composite minimax polynomials |
//! | [`remez`] | minimax approximation over unions of intervals |
//!
//! An approximation is prepared once; its cost and its error are known before anything is
//! encrypted. [`ComposedOps::apply`](crate::ComposedOps::apply) evaluates it.
//! [`ComposedOps::function`](crate::ComposedOps::function) prepares and evaluates at once, over the
//! carried range of the ciphertext:
//!
//! ```no_run
//! # use bellerophon_ckks::approx::{Accuracy, Function, Known};
//! # use bellerophon_ckks::{Ciphertext, ComposedOps, Evaluator, Interval, Result};
//! # fn f(evaluator: &Evaluator, x: Ciphertext) -> Result<()> {
//! let x = x.assume_range_with_padding(Interval::real(0.5, 2.0)?); // known of all slots
//! let y = evaluator.function(&x, &Function::from(Known::Ln), Accuracy::bits(20.0))?;
//! # Ok(())
//! # }
//! ```
//!
//! A prepared function:
//!
//! ```
//! use bellerophon_ckks::ComposedOps;
//! use bellerophon_ckks::approx::{Accuracy, Approximation, Function, Known};
//! # use bellerophon_ckks::{
//! #     ModulusChain, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, LevelGroup, Params,
//! #     ParamsSpec, SecretKey, Security, decrypt_values, encrypt,
//! # };
//! # use rand::SeedableRng;
//! # fn main() -> bellerophon_ckks::Result<()> {
//! # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! # let levels = vec![LevelGroup::single(45, 6)];
//! # let chain = ModulusChain { degree: 1 << 10, first_bits: 55, levels, special: (50, 2) };
//! # let params = Params::new(ParamsSpec::from_chain(&chain, 45, Security::Insecure)?)?;
//! # let secret = SecretKey::generate(params.lattice(), &mut rng)?;
//! # let levels = KeyLevels::default().multiply(6);
//! # let keys = EvaluationKeys::generate(&params, &secret, &levels, &mut rng)?;
//! # let evaluator = Evaluator::new(&params, &keys)?;
//! # let range = bellerophon_ckks::Interval::real(-8.0, 8.0)?;
//! # let plain = Encoder::new(&params).encode(&[-5.0, -1.0, 0.5, 8.0], range, params.scale(), 7)?;
//! # let x = encrypt(&params, &plain, &secret, &mut rng)?;
//! let f = Function::from(Known::Sigmoid);
//! let sigmoid = Approximation::new(&f, -8.0, 8.0, Accuracy::bits(16.0))?;
//! println!("{sigmoid}"); // sigmoid(x) on [-8, 8]: degree 27, error 2^-16.2, 6 levels, ..
//! assert!(sigmoid.error() <= 2f64.powi(-16) && sigmoid.levels() == 6);
//!
//! let y = evaluator.apply(&x, &sigmoid)?; // x holds -5, -1, 0.5 and 8
//! # let found: Vec<f64> = decrypt_values(&params, &y, &secret)?;
//! for (x, y) in [-5.0f64, -1.0, 0.5, 8.0].into_iter().zip(found) {
//!     assert!((y - 1.0 / (1.0 + (-x).exp())).abs() < sigmoid.error() + 1e-6);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **Certificates.** Every stated error is a bound over the whole domain, not only at sample
//! points: see `certify.rs`. It does not include the noise of the scheme, which
//! [`Metadata::noise`](crate::Metadata::noise) predicts.

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
pub use remez::{Minimax, Parity, remez};
pub(crate) use sign::Kind;
pub use sign::Sign;
