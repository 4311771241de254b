//! Queries over encrypted columns, with toy parameters.

mod errors;
mod iterations;
mod keys;
mod plans;
mod queries;
mod world;
