//! The functions of the programs, by name.

use clap::ValueEnum;

/// Intervals between the points at which a function is sampled.
const STEPS: u32 = 1024;

/// As [`Function::declared_results`] for any function.
pub fn declared_results([lo, hi]: [f64; 2], f: impl Fn(f64) -> f64) -> [f64; 2] {
    let steps = (0..=STEPS).map(|i| f(lo + (hi - lo) * f64::from(i) / f64::from(STEPS)));
    let (least, most) =
        steps.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)));
    let margin = 0.25 * (most - least + least.abs().max(most.abs()));
    [least - margin, most + margin]
}

/// A function of one real number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Function {
    /// 1 / (1 + e^-v)
    Sigmoid,
    /// Hyperbolic tangent
    Tanh,
    /// The larger of v and 0
    Relu,
    /// Square root of |v|
    Sqrt,
    /// 1 / v, for a range without 0
    Reciprocal,
    /// -1, 0 or 1
    Sign,
    /// e^v
    Exp,
    /// |v|
    Abs,
    /// The sine of v (in radians)
    Sin,
}

impl Function {
    pub fn value(self, v: f64) -> f64 {
        match self {
            Self::Sigmoid => 1.0 / (1.0 + (-v).exp()),
            Self::Tanh => v.tanh(),
            Self::Relu => v.max(0.0),
            Self::Sqrt => v.abs().sqrt(),
            Self::Reciprocal => 1.0 / v,
            Self::Sign if v == 0.0 => 0.0,
            Self::Sign => v.signum(),
            Self::Exp => v.exp(),
            Self::Abs => v.abs(),
            Self::Sin => v.sin(),
        }
    }

    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
    }

    /// The default domain: wide enough for |x| <= 4 under [`Self::default_quadratic`].
    pub fn default_range(self) -> [f64; 2] {
        match self {
            Self::Sqrt => [0.0, 16.0],
            Self::Reciprocal => [0.5, 16.5],
            _ => [-8.0, 8.0],
        }
    }

    /// The declared range of results on a domain, which depends on function and domain only: that
    /// of the values, with a margin of a quarter of their width and magnitude for approximation
    /// errors.
    pub fn declared_results(self, domain: [f64; 2]) -> [f64; 2] {
        declared_results(domain, |v| self.value(v))
    }

    /// The default `a, b, c` of `a x^2 + b x + c`. For functions of positive arguments the constant
    /// keeps the quadratic positive.
    pub fn default_quadratic(self) -> [f64; 3] {
        match self {
            Self::Sqrt => [0.25, 1.0, 1.0],
            Self::Reciprocal => [0.25, 1.0, 2.0],
            _ => [0.25, 1.0, -0.5],
        }
    }

    /// Refuses a range in which the function is not finite everywhere.
    pub fn check_range(self, [lo, hi]: [f64; 2]) -> Result<(), String> {
        let defined = match self {
            Self::Reciprocal => lo > 0.0 || hi < 0.0,
            _ => self.value(lo).is_finite() && self.value(hi).is_finite(),
        };
        if defined {
            Ok(())
        } else {
            Err(format!(
                "{} is not finite on all of [{lo:?}, {hi:?}]; give another --range",
                self.name()
            ))
        }
    }
}
