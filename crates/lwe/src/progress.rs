//! Progress reports and cancellation of operations of many look-ups.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bellerophon_ring::Result;

use crate::error;

/// A callback with the number of completed look-ups and the total of the operation. It is called at
/// the beginning and after every group of at most 16 look-ups, the last one included. `Break`
/// cancels the operation. Groups run on several threads, but one report is made at a time and the
/// numbers increase.
pub type Observer<'o> = dyn Fn(usize, usize) -> ControlFlow<()> + Sync + 'o;

/// The progress of one running operation.
pub(crate) struct LookupProgress<'o> {
    observer: Option<&'o Observer<'o>>,
    counter: Option<&'o AtomicU64>,
    total: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Look-ups that the observer knows of.
    done: usize,
    /// Sizes of completed groups that the observer does not know of yet.
    waiting: VecDeque<usize>,
    /// A thread is reporting, and takes what waits.
    reporting: bool,
    /// The observer asked to stop.
    cancelled: bool,
}

impl<'o> LookupProgress<'o> {
    /// Begins an operation of `total` look-ups.
    pub(crate) fn begin(
        observer: Option<&'o Observer<'o>>,
        counter: Option<&'o AtomicU64>,
        total: usize,
    ) -> Result<Self> {
        let work = Self { observer, counter, total, state: Mutex::default() };
        // The first report has 0 completed look-ups, so that the observer can cancel at once.
        work.advance(0)?;
        Ok(work)
    }

    /// Reports `count` more completed look-ups. Fails if the observer cancels, or has cancelled.
    pub(crate) fn advance(&self, count: usize) -> Result<()> {
        // Completed look-ups count even if the observer then cancels.
        if let Some(counter) = self.counter {
            counter.fetch_add(count as u64, Ordering::Relaxed);
        }
        let Some(observer) = self.observer else { return Ok(()) };
        let lock = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock();
        state.waiting.push_back(count);
        // One thread reports at a time. The lock is free during the call, so that an observer that
        // computes on the same pool waits for nobody.
        if !state.reporting {
            state.reporting = true;
            while let Some(count) = state.waiting.pop_front().filter(|_| !state.cancelled) {
                state.done += count;
                let done = state.done;
                drop(state);
                let flow = observer(done, self.total);
                state = lock();
                state.cancelled = flow.is_break();
            }
            state.reporting = false;
        }
        match state.cancelled {
            false => Ok(()),
            true => Err(error::cancelled(state.done, self.total)),
        }
    }
}
