//! Faults of a store that may pass.

use std::time::{Duration, Instant};

use datafusion::object_store;

use crate::{Error, Result};

/// Attempts of one operation.
const ATTEMPTS: u32 = 5;

/// The wait before the second attempt; every further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// No attempt begins later than this after the first one: clients of remote stores repeat requests
/// themselves, for minutes.
const LATEST: Duration = Duration::from_secs(60);

/// Repeats an operation of a store while it fails with a fault that may pass.
///
/// # Errors
/// That of the last attempt.
pub(crate) async fn attempts<T>(mut operation: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let (begin, mut wait) = (Instant::now(), FIRST_WAIT);
    for _ in 1..ATTEMPTS {
        match operation().await {
            Err(error) if may_pass(&error) && begin.elapsed() < LATEST => {
                tokio::time::sleep(wait).await;
                wait *= 2;
            }
            result => return result,
        }
    }
    operation().await
}

/// Whether another attempt can succeed. Stores report faults of networks, servers and disks as
/// generic ones; an object that is missing, refused or damaged is the same a second time.
fn may_pass(error: &Error) -> bool {
    matches!(error, Error::Store(object_store::Error::Generic { .. }))
}
