//! A job in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::protocol::{ClientId, Refusal, State};
use super::store::{KeyRecord, Outcome, Ticket};

/// The minimum cost of a file, which bounds the number of small ones.
pub const LEAST_COST: u64 = 4096;

/// The scheduler's record of a job.
pub struct Job {
    pub ticket: Ticket,
    pub state: State,
    pub stage: Option<String>,
    pub done: usize,
    pub total: usize,
    pub refusal: Option<Refusal>,
    pub result_bytes: Option<u64>,
    pub cancelled: Arc<AtomicBool>,
    /// How often the disk has refused it, and the time of the next attempt.
    pub faults: u32,
    pub not_before: Option<Instant>,
    /// As in [`Taken`].
    pub tries: Option<u64>,
}

impl Job {
    /// A job without any progress.
    pub fn new(ticket: Ticket, state: State) -> Self {
        let cancelled = Arc::default();
        let (done, total) = (0, 0);
        Self {
            ticket,
            state,
            stage: None,
            done,
            total,
            refusal: None,
            result_bytes: None,
            cancelled,
            faults: 0,
            not_before: None,
            tries: None,
        }
    }

    /// A job that has ended.
    pub fn ended(outcome: Outcome) -> Self {
        let state = if outcome.refusal.is_some() { State::Refused } else { State::Done };
        let result_bytes = outcome.refusal.is_none().then_some(outcome.bytes);
        Self { refusal: outcome.refusal, result_bytes, ..Self::new(outcome.ticket, state) }
    }

    /// Its storage cost.
    pub fn cost(&self) -> u64 {
        let bytes = match self.state {
            State::Accepted | State::Running => self.ticket.bytes,
            State::Done | State::Refused => self.result_bytes.unwrap_or(0),
        };
        bytes.max(LEAST_COST)
    }

    /// Whether its client has deleted it.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// A job in the hands of a worker, or of the client that deletes it.
pub struct Taken {
    pub client: ClientId,
    pub ticket: Ticket,
    /// `None` if the disk has lost them.
    pub keys: Option<KeyRecord>,
    /// Whether the client has deleted it.
    pub cancelled: Arc<AtomicBool>,
    /// The number of earlier attempts when this server first took it; `None` before that.
    pub tries: Option<u64>,
}
