//! What a program does, as far as keys depend on it.

use std::collections::BTreeSet;

/// The operations for which evaluation keys are made.
///
/// Additions, and products with numbers and plain vectors, need no keys. Each method adds a need:
/// ask for what the program uses and nothing else, since keys are large.
///
/// ```
/// use bellerophon::Needs;
/// let needs = Needs::new().multiply().map().rotate([1, -1]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    pub(crate) multiply: bool,
    pub(crate) conjugate: bool,
    pub(crate) map: bool,
    pub(crate) rotations: BTreeSet<i64>,
}

impl Needs {
    /// Nothing but additions and plain products.
    pub fn new() -> Self {
        Self::default()
    }

    /// Products and squares of encrypted vectors: one relinearisation key.
    pub fn multiply(mut self) -> Self {
        self.multiply = true;
        self
    }

    /// Look-ups of arbitrary functions: the keys of the bridge to LWE and back (and of products,
    /// which the way back takes).
    pub fn map(mut self) -> Self {
        self.map = true;
        self
    }

    /// Rotations by the given steps, positive to the left: one key each.
    pub fn rotate(mut self, steps: impl IntoIterator<Item = i64>) -> Self {
        self.rotations.extend(steps);
        self
    }

    /// Complex conjugation of the slots: one key.
    pub fn conjugate(mut self) -> Self {
        self.conjugate = true;
        self
    }
}
