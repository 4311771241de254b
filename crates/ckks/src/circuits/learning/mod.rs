//! Logistic regression on encrypted data (Full-RNS HEAAN, section 5.3; Kim, Song, Kim, Lee and
//! Cheon, eprint 2018/254).
//!
//! [`LogisticRegression`] trains a model by Nesterov's accelerated gradient on ONE ciphertext that
//! holds the whole table, and applies encrypted models to encrypted rows. The logistic function is
//! replaced by its least-squares polynomial ([`LeastSquaresSigmoid`]).
//!
//! # Layout
//! Feature by feature: with `B` rows and `F` features (including the constant), both rounded up to
//! powers of two, slot `f B + i` holds feature `f` of row `i`; the rest is zero. The sum over the
//! features is a sum over ALL slots at distance `B`: it wraps around and needs no mask; only the
//! sum over the rows does. eprint 2018/254 packs row by row and masks the other sum.
//!
//! # Levels
//! The first iteration starts from zero, where the gradient is half the sum of the rows: one level.
//! Each further one takes one level for the scores, two (degree 3) or three (degrees 5 and 7) for
//! the sigmoid times the rows, and one for the mask, which carries the learning rate.
//!
//! # Example
//! ```
//! use bellerophon_ckks::learning::{LogisticRegression, LogisticSpec};
//! # use bellerophon_ckks::{
//! #     ModulusChain, Encoder, EvaluationKeys, Evaluator, Interval, LevelGroup, Params,
//! #     ParamsSpec, SecretKey, Security, decrypt_values, encrypt,
//! # };
//! # use rand::SeedableRng;
//! # fn main() -> bellerophon_ckks::Result<()> {
//! # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let spec = LogisticSpec { iterations: 2, ..LogisticSpec::new(4, 2) };
//! let regression = LogisticRegression::new(spec)?;
//! let level = regression.levels();
//! // A toy ring without security.
//! # let levels = vec![LevelGroup::single(40, level)];
//! # let chain = ModulusChain { degree: 1 << 9, first_bits: 50, levels, special: (50, 2) };
//! # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
//! # let secret = SecretKey::generate(params.lattice(), &mut rng)?;
//! let needs = regression.training_keys(level);
//! let keys = EvaluationKeys::generate(&params, &secret, &needs, &mut rng)?;
//!
//! let rows = [vec![0.5, -1.0], vec![-0.25, 0.75], vec![1.0, 0.0], vec![-1.0, 0.5]];
//! let labels = [true, false, true, false];
//! let packed = regression.pack_training(&rows, &labels)?;
//! let range = Interval::real(-1.0, 1.0)?; // declared: it is public
//! let plain = Encoder::new(&params).encode(&packed, range, params.scale(), params.limbs())?;
//! let table = encrypt(&params, &plain, &secret, &mut rng)?;
//!
//! let model = regression.train(&Evaluator::new(&params, &keys)?, &table, |_| {})?;
//!
//! let weights = regression.weights(&decrypt_values(&params, &model, &secret)?)?;
//! let expected = regression.train_clear(&rows, &labels)?;
//! assert!(weights.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4));
//! # Ok(())
//! # }
//! ```

mod logistic;
mod metrics;
mod sigmoid;

pub use logistic::{LogisticRegression, LogisticSpec};
pub use metrics::{accuracy, area_under_curve};
pub use sigmoid::LeastSquaresSigmoid;
