//! The names that a program starts with: `use bellerophon::prelude::*;`.

pub use crate::ckks::Arithmetic;
pub use crate::{
    Ciphertext, ClientKey, Declaration, EvaluationKeys, Evaluator, Needs, Params, Preset, Published,
};
