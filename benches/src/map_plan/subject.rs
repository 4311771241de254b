//! The functions that are planned and measured.

use std::fmt;

use bellerophon::circuits::approx::{Function, Known};
use bellerophon::prelude::*;
use clap::ValueEnum;
use rand::RngExt;

use common::random::seeded;

/// The distance of the values from zero for the sign.
const GAP: f64 = 0.25;

/// The number of entries of the table.
const ENTRIES: usize = 256;

/// The seed of the entries and the values.
const SEED: u64 = 1624;

/// A function by name.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    ValueEnum,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// 1 / (1 + e^-x)
    Sigmoid,
    /// Hyperbolic tangent
    Tanh,
    /// The larger of x and 0
    Relu,
    /// |x|
    Abs,
    /// -1 or 1, for values at least 1/4 away from zero
    Sign,
    /// 1 / x
    Reciprocal,
    /// e^x
    Exp,
    /// 256 random entries of [0, 1), for whole numbers
    Table,
}

/// The name on the command line.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}

impl Subject {
    /// The measured functions.
    pub const MEASURED: [Self; 5] =
        [Self::Sigmoid, Self::Relu, Self::Sign, Self::Reciprocal, Self::Table];

    /// The request for errors of at most `2^-bits` over a domain or its own.
    pub fn request(self, range: Option<[f64; 2]>, bits: f64) -> MapRequest<'static> {
        let [lo, hi] = range.unwrap_or(match self {
            Self::Reciprocal => [0.5, 100.0],
            Self::Table => [0.0, (ENTRIES - 1) as f64],
            _ => [-8.0, 8.0],
        });
        let function = match self {
            Self::Sigmoid => Function::from(Known::Sigmoid).into(),
            Self::Tanh => Function::from(Known::Tanh).into(),
            Self::Relu => MapFunction::relu(),
            Self::Abs => MapFunction::abs(),
            Self::Sign => MapFunction::sign(GAP),
            Self::Reciprocal => Function::from(Known::Inverse).into(),
            Self::Exp => Function::from(Known::Exp).into(),
            Self::Table => {
                let mut rng = seeded(SEED);
                let entries: Vec<f64> = (0..ENTRIES).map(|_| rng.random_range(0.0..1.0)).collect();
                MapFunction::table(entries)
            }
        };
        MapRequest::of(function).over(lo..=hi).error(Accuracy::bits(bits))
    }

    /// Values for the function, spread over its own domain; a shorter list is a prefix of a longer
    /// one.
    pub fn values(self, count: usize) -> Vec<f64> {
        let mut rng = seeded(SEED);
        let mut value = || match self {
            Self::Reciprocal => rng.random_range(0.5..=100.0),
            Self::Table => rng.random_range(0..ENTRIES) as f64,
            Self::Sign => {
                let x: f64 = rng.random_range(-1.0..1.0);
                x.signum() * (GAP + (8.0 - GAP) * x.abs())
            }
            _ => rng.random_range(-8.0..=8.0),
        };
        (0..count).map(|_| value()).collect()
    }
}
