//! Tests of what the programs share and of what they compute in the clear.

mod learning;
mod statistics;
mod support;
