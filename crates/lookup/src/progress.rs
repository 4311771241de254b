//! Progress callbacks of long operations, and cancellation by them.

use std::{fmt, ops::ControlFlow, sync::Arc};

use bellerophon_ring::{Error, ErrorKind, Result};

use crate::{
    error,
    stage::{Progress, Stage},
};

/// A progress callback.
type Callback = dyn Fn(Progress) -> ControlFlow<()> + Send + Sync;

/// The callback of the LWE evaluator below: look-ups done, look-ups in total.
type LookUpCallback = dyn Fn(usize, usize) -> ControlFlow<()> + Send + Sync;

/// The progress callback of an evaluator. A callback that returns [`ControlFlow::Break`] stops the
/// operation with [`ErrorKind::Cancelled`].
#[derive(Clone)]
pub struct Watch {
    callback: Arc<Callback>,
    pub(super) look_ups: Arc<LookUpCallback>,
}

impl Watch {
    /// Wraps a callback.
    pub fn new(callback: Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>) -> Self {
        let above = callback.clone();
        let look_ups = move |done, total| above(Progress { stage: Stage::LookUps, done, total });
        Self { callback, look_ups: Arc::new(look_ups) }
    }

    /// Calls the callback.
    fn tell(&self, progress: Progress) -> ControlFlow<()> {
        (self.callback)(progress)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// The progress of a generation of keys.
pub struct KeyProgress<'a> {
    observer: Observer<'a>,
    done: usize,
    total: usize,
}

impl<'a> KeyProgress<'a> {
    /// Reports the beginning of a generation of `total` keys.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] if the callback stops the generation.
    pub fn begin(watch: Option<&'a Watch>, total: usize) -> Result<Self> {
        let observer = Observer::new(watch);
        observer.tell(Stage::Keys, 0, total)?;
        Ok(Self { observer, done: 0, total })
    }

    /// Reports one more key.
    pub fn advance(&mut self) -> Result<()> {
        self.done += 1;
        self.observer.tell(Stage::Keys, self.done, self.total)
    }
}

/// The callback of one operation, if there is one.
pub(crate) struct Observer<'a> {
    watch: Option<&'a Watch>,
}

impl<'a> Observer<'a> {
    pub(super) fn new(watch: Option<&'a Watch>) -> Self {
        Self { watch }
    }

    /// Reports progress. An error if the callback stops the operation.
    pub(super) fn tell(&self, stage: Stage, done: usize, total: usize) -> Result<()> {
        match self.flow(stage, done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(error::cancelled(stage, done, total)),
        }
    }

    /// Reports progress. `Break` if the callback stops the operation.
    pub(super) fn flow(&self, stage: Stage, done: usize, total: usize) -> ControlFlow<()> {
        match self.watch {
            None => ControlFlow::Continue(()),
            Some(watch) => watch.tell(Progress { stage, done, total }),
        }
    }

    /// The error of the look-ups of a batch, after `before` of `total` values. A cancelled batch
    /// counts its own values only.
    pub(super) fn within(&self, error: Error, before: usize, total: usize) -> Error {
        match error.kind() {
            ErrorKind::Cancelled { done, .. } => {
                let stage = Stage::LookUps;
                error::cancelled(stage, before + done, total)
            }
            _ => error,
        }
    }
}
