//! The names that a program starts with: `use bellerophon::prelude::*;`.

pub use crate::{Ciphertext, ClientKey, EvaluationKeys, Evaluator, Needs, Params, Preset};
