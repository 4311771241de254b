//! The scalar functions by their names, and their parameters.

use Parameter::{Integers, Number, Text, Vector};

use crate::shape::PACK;

/// The function that every query calls on the encrypted columns of tables.
pub(crate) const ADMIT: &str = "he_admit";

/// A function by its name in SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Function {
    Add,
    Sub,
    Mul,
    Dot,
    Scale,
    Rotate,
    Polynomial,
    SumSlots,
    Refresh,
    Divide,
    Map,
    AssumeRange,
    AssumeError,
    Publish,
    Count,
    Object,
    Pack,
    Mean,
    Admit,
}

/// A parameter of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    Vector,
    /// A literal number.
    Number,
    /// A literal text.
    Text,
    /// An integer for each row.
    Integers,
}

impl Function {
    pub(crate) const ALL: [Self; 19] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Dot,
        Self::Scale,
        Self::Rotate,
        Self::Polynomial,
        Self::SumSlots,
        Self::Refresh,
        Self::Divide,
        Self::Map,
        Self::AssumeRange,
        Self::AssumeError,
        Self::Publish,
        Self::Count,
        Self::Object,
        Self::Pack,
        Self::Mean,
        Self::Admit,
    ];

    /// The name in SQL and the parameters.
    pub(crate) const fn signature(self) -> (&'static str, &'static [Parameter]) {
        match self {
            Self::Add => ("he_add", &[Vector, Vector]),
            Self::Sub => ("he_sub", &[Vector, Vector]),
            Self::Mul => ("he_mul", &[Vector, Vector]),
            Self::Dot => ("he_dot", &[Vector, Vector]),
            Self::Scale => ("he_scale", &[Vector, Number]),
            Self::Rotate => ("he_rotate", &[Vector, Number]),
            Self::Polynomial => ("he_polynomial", &[Vector, Text]),
            Self::SumSlots => ("he_sum_slots", &[Vector]),
            Self::Refresh => ("he_refresh", &[Vector]),
            Self::Divide => ("he_divide", &[Vector, Integers]),
            Self::Map => ("he_map", &[Vector, Text, Number, Number, Number]),
            Self::AssumeRange => ("he_assume_range", &[Vector, Number, Number]),
            Self::AssumeError => ("he_assume_error", &[Vector, Number]),
            Self::Publish => ("he_publish", &[Vector, Number, Number, Number]),
            Self::Count => ("he_count", &[Vector]),
            Self::Object => ("he_object", &[Text]),
            Self::Pack => (PACK, &[Vector]),
            // The sum of all values, divided by their number.
            Self::Mean => ("he_mean_of", &[Vector, Integers]),
            // The vectors of a table, if their column describes them; with a range, those of
            // anybody in the declaration of the query.
            Self::Admit => (ADMIT, &[Vector, Number, Number]),
        }
    }

    /// Arguments at the end that may be left out.
    const fn optional(self) -> usize {
        match self {
            Self::Map | Self::Publish => 1,
            Self::Admit => 2,
            _ => 0,
        }
    }

    /// Arguments that a call has at least.
    pub(crate) const fn least(self) -> usize {
        self.signature().1.len() - self.optional()
    }

    /// Whether the function takes evaluation keys.
    pub(crate) const fn needs_keys(self) -> bool {
        use Function::*;
        matches!(self, Mul | Dot | Rotate | Polynomial | SumSlots | Refresh | Map | Pack)
    }
}
