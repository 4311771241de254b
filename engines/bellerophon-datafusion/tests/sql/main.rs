//! Queries over encrypted columns, with toy parameters.

mod errors;
mod iterations;
mod keys;
mod lookups;
mod plans;
mod providers;
mod queries;
mod refusals;
mod stores;
mod tables;
mod values;
mod world;
