//! Common parts of the programs in `examples/` and `benches/src/`: arguments, tables, progress,
//! errors and reports.
#![allow(dead_code, reason = "every program uses its own part of this module")]

pub mod args;
pub mod console;
pub mod cpu;
pub mod data;
pub mod facts;
pub mod function;
pub mod lloyd;
pub mod lookup;
pub mod memory;
pub mod network;
pub mod numbers;
pub mod output;
pub mod prelude;
pub mod program;
pub mod random;
pub mod session;
pub mod stats;
pub mod text;
pub mod unit;
