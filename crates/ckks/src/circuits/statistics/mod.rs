//! Statistics of the columns of an encrypted table (Full-RNS HEAAN, section 5.2).
//!
//! # Layout
//! Row by row: with `C` columns, rounded up to a power of two, slot `i C + c` holds column `c` of
//! row `i`; the rest is zero. One column is the vector itself. A sum over the rows is a sum over
//! all slots at distance `C`, which wraps around: every slot of the result holds the sum of its
//! column.
//!
//! # Padding
//! The number of rows is public. A table whose number of rows is not a power of two is followed by
//! padding. Its content does not affect the results: the product that divides by the number of rows
//! multiplies the padding by zero.
//!
//! # Levels
//! | result | levels |
//! | --- | --- |
//! | [`sums`](Table::sums) | 1 with padding, else none |
//! | [`means`](Table::means) | 1 |
//! | [`variances`](Table::variances), [`covariances`](Table::covariances) | 2 |
//! | [`standard_deviations`](Table::standard_deviations) of variances | 1, and those of an inverse root |
//! | [`standardised`](Table::standardised) | [`Table::standardised_levels`] |
//! | [`correlations`](Table::correlations) | [`Table::correlation_levels`] |
//!
//! Second moments are computed about the mean, not as the difference of the mean square and the
//! square of the mean, which would lose bits for a large mean.
//!
//! # Units
//! A variance is as small as the square of its values, and the noise of a vector is not: columns of
//! small values, or of values close to each other and far from zero, lose theirs in the noise. Map
//! the declared range of a column onto [-1, 1] before encryption, `(x - centre) / half`, and return
//! after decryption: `half` is the unit of means and standard deviations, its square that of
//! variances. The program `statistics` does so.
//!
//! # Example
//! ```
//! use bellerophon_ckks::statistics::Table;
//! # use bellerophon_ckks::{
//! #     ModulusChain, Encoder, EvaluationKeys, Evaluator, Interval, LevelGroup, Params,
//! #     ParamsSpec, SecretKey, Security, decrypt_values, encrypt,
//! # };
//! # use rand::SeedableRng;
//! # fn main() -> bellerophon_ckks::Result<()> {
//! # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! # let levels = vec![LevelGroup::single(40, 2)];
//! # let chain = ModulusChain { degree: 1 << 9, first_bits: 50, levels, special: (50, 2) };
//! # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
//! # let secret = SecretKey::generate(params.lattice(), &mut rng)?;
//! // Three rows of two columns; variances of a sample divide by two.
//! let table = Table::new(3, 2)?.sample()?;
//! let keys = EvaluationKeys::generate(&params, &secret, &table.keys(2), &mut rng)?;
//! let packed = table.pack(&[vec![1.0, 5.0], vec![2.0, 5.5], vec![6.0, 6.0]])?;
//! let range = Interval::real(0.0, 8.0)?; // declared: it is public
//! let plain = Encoder::new(&params).encode(&packed, range, params.scale(), params.limbs())?;
//! let x = encrypt(&params, &plain, &secret, &mut rng)?;
//!
//! let variances = table.variances(&Evaluator::new(&params, &keys)?, &x)?;
//!
//! let found: Vec<f64> = decrypt_values(&params, &variances, &secret)?;
//! assert!((found[0] - 7.0).abs() < 1e-4 && (found[1] - 0.25).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```

mod moments;
mod root;
mod table;

pub use table::Table;
