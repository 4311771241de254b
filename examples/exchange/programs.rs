//! The programs that the server offers by name, and the parameters for them.
#![allow(dead_code, reason = "client and server use their own parts of this module")]

use std::ops::{ControlFlow, RangeInclusive};
use std::str::FromStr;

use bellerophon::ckks::{self, polynomial::Monomial, shadow::Shadow};
use bellerophon::{Progress, Requirements, mlwe::Security, prelude::*};

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `x^2 + x`.
    SquarePlus,
    /// A polynomial of degree 5.
    Polynomial,
    /// The mean of all values, in every place.
    Mean,
    /// The logistic function, by look-up.
    Sigmoid,
}

/// Coefficients of [`Program::Polynomial`], the constant first.
const POLYNOMIAL: [f64; 6] = [0.25, -0.5, 0.125, 0.75, 0.0, -0.375];

/// Values that the arithmetic programs take.
const UNIT: RangeInclusive<f64> = -1.0..=1.0;

/// The domain of the look-up.
const WIDE: RangeInclusive<f64> = -8.0..=8.0;

impl Program {
    /// All programs.
    pub const ALL: [Self; 4] = [Self::SquarePlus, Self::Polynomial, Self::Mean, Self::Sigmoid];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SquarePlus => "square-plus",
            Self::Polynomial => "polynomial",
            Self::Mean => "mean",
            Self::Sigmoid => "sigmoid",
        }
    }

    /// What it computes, in words.
    pub const fn computes(self) -> &'static str {
        match self {
            Self::SquarePlus => "x^2 + x of values in [-1, 1]",
            Self::Polynomial => "1/4 - x/2 + x^2/8 + 3 x^3/4 - 3 x^5/8 of values in [-1, 1]",
            Self::Mean => "the mean of all values in [-1, 1], in every place",
            Self::Sigmoid => "1 / (1 + exp(-x)) of values in [-8, 8], by look-up",
        }
    }

    /// The values that it takes.
    pub fn domain(self) -> RangeInclusive<f64> {
        match self {
            Self::Sigmoid => WIDE,
            _ => UNIT,
        }
    }

    /// What is asked of keys for it, for vectors of up to so many values.
    pub fn add_needs(
        self,
        needs: Needs,
        params: &Params,
        count: usize,
    ) -> bellerophon::Result<Needs> {
        if self == Self::Sigmoid {
            params.lookups()?;
            return Ok(needs.map());
        }
        let shadow = Shadow::new(params.arithmetic());
        // Sums over other lengths may take other rotations.
        for log in 0..=count.next_power_of_two().ilog2() {
            let x = shadow.encrypt(&vec![0.0; 1 << log], params.levels())?;
            self.arithmetic(&shadow, &x)?;
        }
        Ok(needs.program(&shadow.report()))
    }

    /// Runs it, asking `watch` now and then whether to go on.
    pub fn run(
        self,
        server: &Evaluator,
        x: &Ciphertext,
        watch: impl Fn(&str, usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> bellerophon::Result<Ciphertext> {
        match self {
            Self::Sigmoid => {
                let watch = move |Progress { stage, done, total }| watch(stage.name(), done, total);
                server.clone().with_progress(watch).map(x, WIDE, sigmoid)
            }
            _ => {
                // A single step of at most a second or so: there is nothing to stop within.
                let _ = watch("arithmetic", 0, 1);
                Ok(self.arithmetic(&**server, x)?)
            }
        }
    }

    fn arithmetic<A: Arithmetic>(self, a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
        match self {
            Self::SquarePlus => a.add(&a.square(x)?, x),
            Self::Polynomial => a.monomial(x, &Monomial::new(&POLYNOMIAL)?, None),
            Self::Mean => mean(a, x),
            Self::Sigmoid => unreachable!("a look-up, not arithmetic"),
        }
    }
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// The mean, in every slot.
fn mean<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    let count = a.account(x).meta.len as f64;
    a.mul_scalar(&a.total(x)?, 1.0 / count)
}

impl FromStr for Program {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|p| p.name()).collect();
            format!("no program '{name}': there are {}", names.join(", "))
        })
    }
}

/// The parameters that a client can ask for: the smallest secure set for the arithmetic programs,
/// or a preset of the library.
pub fn parameters(name: &str) -> Result<Params, String> {
    if name == ARITHMETIC {
        let (security, bootstraps) = (Security::Bits128, false);
        let needs = Requirements { security, slots: 4096, depth: 4, bits: 20.0, bootstraps };
        return Params::choose(&needs).map_err(|e| e.to_string());
    }
    let preset: Preset = name.parse()?;
    Params::preset(preset).map_err(|e| e.to_string())
}

/// The set without look-ups.
pub const ARITHMETIC: &str = "arithmetic";

/// The names that [`parameters`] takes, the usual one first.
pub const PARAMETERS: [&str; 6] = [
    ARITHMETIC,
    Preset::Functions.name(),
    Preset::FunctionsFine.name(),
    Preset::FunctionsPrecise.name(),
    Preset::FunctionsDense.name(),
    Preset::ToyInsecure.name(),
];
