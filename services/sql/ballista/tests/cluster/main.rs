//! Queries on clusters, with toy parameters: in the process of the test, and in processes that die.

mod deaths;
mod faults;
mod queries;
mod tls;
mod world;
