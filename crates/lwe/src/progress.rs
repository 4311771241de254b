//! How far an operation of many look-ups has come, and a way to stop it.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{Error, Result};

/// Told the look-ups done and all those of the operation, at its beginning, after every batch and
/// at its end; `Break` stops it.
pub type Observer<'o> = dyn Fn(usize, usize) -> ControlFlow<()> + Sync + 'o;

/// One operation under way.
pub(crate) struct Work<'o> {
    op: &'static str,
    observer: Option<&'o Observer<'o>>,
    counter: Option<&'o AtomicU64>,
    done: usize,
    total: usize,
}

impl<'o> Work<'o> {
    /// Begins an operation of `total` look-ups.
    pub(crate) fn begin(
        op: &'static str,
        observer: Option<&'o Observer<'o>>,
        counter: Option<&'o AtomicU64>,
        total: usize,
    ) -> Result<Self> {
        let mut work = Self { op, observer, counter, done: 0, total };
        work.advance(0)?;
        Ok(work)
    }

    /// The operation's name.
    pub(crate) fn op(&self) -> &'static str {
        self.op
    }

    /// Reports that `count` more look-ups are done; an error if the caller wants to stop.
    pub(crate) fn advance(&mut self, count: usize) -> Result<()> {
        self.done += count;
        if let Some(counter) = self.counter {
            counter.fetch_add(count as u64, Ordering::Relaxed);
        }
        let (op, done, total) = (self.op, self.done, self.total);
        match self.observer.map(|observer| observer(done, total)) {
            None | Some(ControlFlow::Continue(())) => Ok(()),
            Some(ControlFlow::Break(())) => Err(Error::Cancelled { op, done, total }),
        }
    }
}
