//! Counts for the operator, as Prometheus text.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use super::board::Counts;

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Requests, and those that were refused.
    requests: AtomicU64,
    refusals: AtomicU64,
    /// Jobs that ended with an answer, and those that were refused.
    done: AtomicU64,
    refused: AtomicU64,
    /// Connections that were accepted, and those that were closed to make room.
    pub connections: AtomicU64,
    /// Connections that were closed, or not accepted, for others.
    pub displaced: AtomicU64,
    /// Bytes of uploads.
    pub received: AtomicU64,
}

impl Metrics {
    /// Counts a request with its status.
    pub fn answered(&self, refused: bool) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.refusals.fetch_add(refused.into(), Ordering::Relaxed);
    }

    /// Counts a job that has ended.
    pub fn ended(&self, refused: bool) {
        let count = if refused { &self.refused } else { &self.done };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// All of them as text.
    pub fn text(&self, now: Counts) -> String {
        let mut text = String::new();
        let counters = [
            ("requests", &self.requests),
            ("requests_refused", &self.refusals),
            ("jobs_done", &self.done),
            ("jobs_refused", &self.refused),
            ("connections", &self.connections),
            ("connections_displaced", &self.displaced),
            ("received_bytes", &self.received),
        ];
        for (name, count) in counters {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(text, "# TYPE exchange_{name}_total counter");
            let _ = writeln!(text, "exchange_{name}_total {count}");
        }
        let [waiting, running, ended] = now.jobs;
        let gauges = [
            ("clients", now.clients as u64),
            ("jobs_waiting", waiting as u64),
            ("jobs_running", running as u64),
            ("jobs_ended", ended as u64),
            ("stored_bytes", now.stored),
            ("resident_bytes", crate::cli::memory(std::process::id(), "VmRSS").unwrap_or(0)),
        ];
        for (name, value) in gauges {
            let _ = writeln!(text, "# TYPE exchange_{name} gauge\nexchange_{name} {value}");
        }
        text
    }
}
