//! Queries over encrypted columns, with toy parameters.

mod admissions;
mod counts;
mod errors;
mod iterations;
mod keys;
mod lookups;
mod missing;
mod plans;
mod providers;
mod published;
mod queries;
mod refusals;
mod stores;
mod tables;
mod values;
mod world;
