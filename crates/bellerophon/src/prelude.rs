//! The names that most programs need: `use bellerophon::prelude::*;`.

pub use crate::circuits::{CircuitOps, bootstrap::SimulatorExt};
pub use crate::ckks::{CkksOps, ComposedOps, Vectors};
pub use crate::{
    Accuracy, Ciphertext, ClientKey, Declaration, Disc, EvaluationKeys, Evaluator, IntTable,
    IntVec, MapFunction, MapRequest, Modulo, Needs, Paired, PairedVec, Params, Preset, Provided,
    PublicKey, Published, Toy,
};
