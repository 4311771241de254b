//! Progress reports and cancellation of operations of many look-ups.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{ErrorKind, Result};

/// A callback with the number of completed look-ups and the total of the operation. It is called at
/// the beginning, after every batch and at the end. `Break` cancels the operation.
pub type Observer<'o> = dyn Fn(usize, usize) -> ControlFlow<()> + Sync + 'o;

/// The progress of one running operation.
pub(crate) struct LookupProgress<'o> {
    observer: Option<&'o Observer<'o>>,
    counter: Option<&'o AtomicU64>,
    done: usize,
    total: usize,
}

impl<'o> LookupProgress<'o> {
    /// Begins an operation of `total` look-ups.
    pub(crate) fn begin(
        observer: Option<&'o Observer<'o>>,
        counter: Option<&'o AtomicU64>,
        total: usize,
    ) -> Result<Self> {
        // The first report has 0 completed look-ups, so that the observer can cancel at once.
        let mut work = Self { observer, counter, done: 0, total };
        work.advance(0)?;
        Ok(work)
    }

    /// Reports `count` more completed look-ups. Fails if the observer cancels.
    pub(crate) fn advance(&mut self, count: usize) -> Result<()> {
        // Completed look-ups count even if the observer then cancels.
        self.done += count;
        if let Some(counter) = self.counter {
            counter.fetch_add(count as u64, Ordering::Relaxed);
        }
        let (done, total) = (self.done, self.total);
        match self.observer.map(|observer| observer(done, total)) {
            None | Some(ControlFlow::Continue(())) => Ok(()),
            Some(ControlFlow::Break(())) => Err(ErrorKind::Cancelled { done, total }.into()),
        }
    }
}
