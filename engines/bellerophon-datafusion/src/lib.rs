#![doc = include_str!("../../README.md")]
#![forbid(unsafe_code)]

mod author;
mod circuit;
mod comparison;
mod compose;
mod decrypt;
mod describe;
mod error;
mod explain;
mod expression;
mod function;
mod hash;
mod iteration;
mod lambda;
mod learning;
mod lookup;
mod map;
mod node;
mod retry;
mod scalar;
mod session;
mod settings;
mod shape;
mod store;
mod sum;
mod table;
mod values;
mod vector;

pub use compose::Functions;
pub use decrypt::{Values, decrypt, write_csv};
pub use describe::Describe;
pub use error::{Error, ObjectFault, Result};
pub use explain::{NodePrediction, Predictions};
pub use hash::Hash;
pub use iteration::{Iteration, State};
pub use lambda::sql;
pub use learning::{k_means, logistic_regression};
pub use lookup::{Lookup, read_lookup};
pub use node::{Node, NodeOptions};
pub use session::{SessionOptions, session, state};
pub use settings::{KEYS, MOST_VECTORS, Settings, check_settings};
pub use store::{KeyStore, KeyStoreOptions};
pub use table::{CSV_ROWS, EncryptedColumn, TableOptions, TableProgress, TableWriter};
pub use values::values_column;
