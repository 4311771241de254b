//! Columns with missing values. A vector has a number in every slot: zero where a value is missing,
//! and a second column, the mask, has 1 where there is a value and 0 where there is none. Sums are
//! right while gaps hold zeros.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, function::Function};

/// What the slots of missing values hold, with the mask that makes zeros of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum Gaps {
    /// No value is missing.
    #[default]
    None,
    Zeros(String),
    /// Other numbers, such as the values of a function at zero.
    Filled(String),
}

use Gaps::{Filled, Zeros};

impl Gaps {
    /// The mask of a column with gaps.
    pub(crate) fn mask(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Zeros(mask) | Filled(mask) => Some(mask),
        }
    }

    /// The gaps of the result of a function of these operands. Sums over slots have none.
    ///
    /// # Errors
    /// [`Error::Plan`] for sums of gaps that are filled.
    pub(crate) fn of(function: Function, operands: &[&Self]) -> Result<Self> {
        let (name, _) = function.signature();
        Ok(match (function, operands) {
            (Function::Dot, [x, y]) => {
                x.product(y).summed(name)?;
                Self::None
            }
            (Function::SumSlots, [x]) => {
                x.summed(name)?;
                Self::None
            }
            (Function::Mul, [x, y]) => x.product(y),
            (Function::Add | Function::Sub, [x, y]) => x.sum(y),
            (Function::Map | Function::Polynomial, [x]) => match x.mask() {
                Some(mask) => Filled(mask.into()),
                None => Self::None,
            },
            (Function::Rotate, [x]) => match x {
                Zeros(mask) => Zeros(format!("{mask}, rotated")),
                Filled(mask) => Filled(format!("{mask}, rotated")),
                Self::None => Self::None,
            },
            (_, [x, ..]) => (*x).clone(),
            _ => Self::None,
        })
    }

    /// Refuses a sum over gaps that hold other numbers than zero.
    pub(crate) fn summed(&self, name: &'static str) -> Result<()> {
        let Filled(mask) = self else { return Ok(()) };
        let reason = format!(
            "missing values hold other numbers than zero here: multiply by the mask first, \
             he_mul(x, {mask})"
        );
        Err(Error::plan(name, reason))
    }

    /// A product is zero where a factor is.
    fn product(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::None, x) | (x, Self::None) => x.clone(),
            (Filled(x), Filled(y)) => Filled(both(x, y)),
            (Filled(x), Zeros(y)) | (Zeros(y), Filled(x)) if x != y => Filled(x.clone()),
            (Zeros(x), Zeros(y)) | (Zeros(x), Filled(y)) | (Filled(y), Zeros(x)) => {
                Zeros(both(x, y))
            }
        }
    }

    /// A sum is zero where both terms are.
    fn sum(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::None, Self::None) => Self::None,
            (Zeros(x), Zeros(y)) if x == y => Zeros(x.clone()),
            (Self::None, Zeros(x) | Filled(x)) | (Zeros(x) | Filled(x), Self::None) => {
                Filled(x.clone())
            }
            (Zeros(x) | Filled(x), Zeros(y) | Filled(y)) => Filled(both(x, y)),
        }
    }
}

/// The mask of the rows that two masks have.
fn both(x: &str, y: &str) -> String {
    match x == y {
        true => x.into(),
        false => format!("he_mul({x}, {y})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_take_gaps_of_zeros_alone() {
        let (x, y) = (Zeros("m".into()), Zeros("n".into()));
        let of = |function, operands: &[&Gaps]| Gaps::of(function, operands).unwrap();
        // Products keep zeros, functions and sums with other columns fill them.
        assert_eq!(of(Function::Mul, &[&x, &Gaps::None]), x);
        assert_eq!(of(Function::Mul, &[&x, &y]), Zeros("he_mul(m, n)".into()));
        let filled = of(Function::Map, &[&x]);
        assert_eq!(filled, Filled("m".into()));
        assert_eq!(of(Function::Sub, &[&x, &Gaps::None]), filled);
        assert_eq!(of(Function::Add, &[&x, &x]), x);
        assert_eq!(of(Function::Add, &[&x, &y]), Filled("he_mul(m, n)".into()));
        // The mask of the same column makes zeros again, that of another one does not.
        assert_eq!(of(Function::Mul, &[&filled, &x]), x);
        assert_eq!(of(Function::Mul, &[&y, &filled]), filled);
        assert_eq!(of(Function::SumSlots, &[&x]), Gaps::None);
        for (function, operands) in
            [(Function::SumSlots, &[&filled][..]), (Function::Dot, &[&filled, &y])]
        {
            let refused = Gaps::of(function, operands).unwrap_err().to_string();
            assert!(refused.contains("he_mul(x, m)"), "{refused}");
        }
    }
}
