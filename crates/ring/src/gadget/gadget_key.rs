//! A key as inner products accept it: whole rows, or rows cut into digits.

use crate::gadget::{DecomposedRows, KeyDecomposition, KeyRows};

/// A key in one of the forms that inner products accept. Both give the same result bit for bit.
#[derive(Debug, Clone, Copy)]
pub enum GadgetKey<'a> {
    /// Rows modulo `P Q`.
    Rows(&'a KeyRows<'a>),
    /// Rows that are cut into digits themselves.
    Decomposed(&'a KeyDecomposition, &'a DecomposedRows),
}

impl<'a> From<&'a KeyRows<'a>> for GadgetKey<'a> {
    fn from(rows: &'a KeyRows<'a>) -> Self {
        Self::Rows(rows)
    }
}
