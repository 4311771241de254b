//! What circuits keep with an evaluator or a simulator: one value of each type.

use std::{any::Any, fmt, sync::Arc};

/// Values by their type.
#[derive(Clone, Default)]
pub struct Attachments(Vec<Arc<dyn Any + Send + Sync>>);

impl Attachments {
    /// The value of a type, if there is one.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|value| value.downcast_ref())
    }

    /// Keeps a value in place of that of the same type.
    pub fn set<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.retain(|other| !other.is::<T>());
        self.0.push(Arc::new(value));
    }
}

/// The number of values: some are keys.
impl fmt::Debug for Attachments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attachments", self.0.len())
    }
}
