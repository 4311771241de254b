#![doc = include_str!("../../docs/cluster.md")]
#![forbid(unsafe_code)]

mod client;
mod executor;
mod program;
mod results;
mod roots;
mod scheduler;
mod settings;
mod stage;
mod status;
mod store;
mod tls;

pub use client::{ClientOptions, connect};
pub use executor::ExecutorOptions;
pub use program::run;
pub use scheduler::SchedulerOptions;
pub use store::open;
pub use tls::{Tls, TlsOptions};
