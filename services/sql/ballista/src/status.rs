//! Counters of a process as a file.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::Value;

/// Replaces a file by the counters of the process five times a second. Faults are not reported: the
/// file serves observers only.
pub(crate) fn write(path: PathBuf, counters: impl Fn() -> Value + Send + 'static) {
    tokio::spawn(async move {
        let partial = path.with_extension("partial");
        let mut clock = tokio::time::interval(Duration::from_millis(200));
        loop {
            clock.tick().await;
            let written = fs::write(&partial, counters().to_string());
            written.and_then(|()| fs::rename(&partial, &path)).ok();
        }
    });
}
