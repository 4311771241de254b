//! The results of automatic bootstraps, which are steps of a report.

use std::sync::{Arc, Mutex, PoisonError};

/// The results of the automatic bootstraps of an evaluator or a simulator, where a debugger asks
/// for them.
#[derive(Debug, Clone)]
pub struct Automatic<T>(Option<Arc<Mutex<Vec<T>>>>);

impl<T: Clone> Automatic<T> {
    /// Keeps nothing.
    pub fn unseen() -> Self {
        Self(None)
    }

    /// Keeps all results from now on.
    pub fn seen() -> Self {
        Self(Some(Arc::default()))
    }

    /// Keeps a result, if results are kept.
    pub fn add(&self, x: &T) {
        if let Some(kept) = &self.0 {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(x.clone());
        }
    }

    /// The results, in their order; they are no longer kept.
    pub fn take(&self) -> Vec<T> {
        let Some(kept) = &self.0 else { return vec![] };
        std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
