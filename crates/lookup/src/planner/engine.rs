//! The engines and their names.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::engine::LutEngine;

/// A method to apply a function to every value of a vector. The engine of the blind rotation inside
/// a look-up is a [`LutEngine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Engine {
    /// A polynomial: Chebyshev series, minimax, iterations, and compositions for sign, ReLU and
    /// magnitude. Takes levels of the operand, and products.
    Poly,
    /// Functional bootstrapping of the whole vector: results have fresh levels.
    Fbt,
    /// A look-up table for each value by blind rotation with RGSW keys.
    Rgsw,
    /// Several look-up tables for each value, which correct the error of their common index: a
    /// table of the identity and tables of local polynomials of the function.
    Corrected,
    /// A look-up table for each value by blind rotation with NTRU keys. Its security needs more
    /// assumptions than LWE ([`LutEngine::Ntru`]), so it is used
    /// only if it is named.
    Ntru,
}

impl Engine {
    /// All engines.
    pub const ALL: [Self; 5] = [Self::Poly, Self::Fbt, Self::Rgsw, Self::Corrected, Self::Ntru];

    /// The engines whose security rests on LWE alone. They are allowed by default.
    pub const DEFAULT: [Self; 4] = [Self::Poly, Self::Fbt, Self::Rgsw, Self::Corrected];

    /// The name on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poly => "poly",
            Self::Fbt => "fbt",
            Self::Rgsw => "rgsw",
            Self::Corrected => "corrected",
            Self::Ntru => "ntru",
        }
    }
}

/// A look-up table for each value by blind rotation on an engine.
impl From<LutEngine> for Engine {
    fn from(engine: LutEngine) -> Self {
        match engine {
            LutEngine::Ntru => Self::Ntru,
            LutEngine::Auto | LutEngine::Rgsw => Self::Rgsw,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|engine| engine.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no engine {name:?}: take one of {names}")
        })
    }
}
