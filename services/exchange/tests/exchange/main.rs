//! The programs as processes: several clients against one server that is killed in between, what a
//! review found and must be gone, what it found to hold, files, and the operator's side.
//!
//! The parameters are those of `toy-insecure`, which protect nothing and are cheap: what is tested
//! is the exchange.

mod attacks;
mod crowd;
mod deceit;
mod disk;
mod files;
mod guests;
mod held;
mod operation;
mod parts;
mod processes;
mod recovery;
mod requests;
