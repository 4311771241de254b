//! The names that a program starts with: `use bellerophon::prelude::*;`.

pub use crate::ckks::Arithmetic;
pub use crate::{Ciphertext, ClientKey, EvaluationKeys, Evaluator, Needs, Params, Preset};
