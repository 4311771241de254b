//! The frame of both programs.

use std::{error::Error as StdError, process::ExitCode};

use bellerophon_datafusion::Result;
use datafusion::common::DataFusionError;
use tracing_subscriber::EnvFilter;

/// Runs a program to its end. Logs go to standard error, as `RUST_LOG` says (`warn` without it); an
/// error is its last line.
pub fn run(program: impl Future<Output = Result<()>>) -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    // A caller may have a logger of its own.
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init().ok();
    let finished = tokio::runtime::Runtime::new()
        .map_err(|error| DataFusionError::from(error).into())
        .and_then(|runtime| runtime.block_on(program));
    match finished {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An error of the engine outside a query.
pub(crate) fn engine(error: impl StdError + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
