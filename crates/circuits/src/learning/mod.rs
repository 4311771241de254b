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

mod logistic;
mod metrics;
mod sigmoid;

pub use logistic::{LogisticRegression, LogisticSpec};
pub use metrics::{accuracy, area_under_curve};
pub use sigmoid::LeastSquaresSigmoid;
