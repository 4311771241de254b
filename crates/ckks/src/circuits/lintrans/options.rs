//! Options of a linear transform.

/// Keys of the giant steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Giants {
    /// One rotation and one key for each giant step.
    #[default]
    Direct,
    /// Horner's rule: from the largest step down, always by the same stride. One key for all, and
    /// one rotation for each multiple of the stride.
    Horner,
}

/// The work that the rotations of one operand share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hoisting {
    /// The decomposition of the operand. Diagonals have the limbs of the operand.
    #[default]
    Single,
    /// The decomposition and the mod-down: sums stay modulo `P Q` until the end, and diagonals are
    /// encoded modulo `P Q`. Faster when the operand has more limbs than `P`.
    Double,
}

/// Options of a [`LinearTransform`](super::LinearTransform).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearOptions {
    /// Level of the operand, at least 1. The result is one lower.
    pub level: usize,
    /// Encode all diagonals now and keep them (`limbs * N * 8` bytes each) instead of encoding a
    /// few at a time in every product.
    pub encode_ahead: bool,
    /// Keys of the giant steps.
    pub giants: Giants,
    /// Work that the rotations share.
    pub hoisting: Hoisting,
}

impl LinearOptions {
    /// Diagonals encoded during the product, direct giant steps, single hoisting.
    pub fn at_level(level: usize) -> Self {
        let (giants, hoisting) = (Giants::Direct, Hoisting::Single);
        Self { level, encode_ahead: false, giants, hoisting }
    }

    /// Sets [`encode_ahead`](Self::encode_ahead).
    #[must_use]
    pub fn encode_ahead(mut self, ahead: bool) -> Self {
        self.encode_ahead = ahead;
        self
    }

    /// Sets [`giants`](Self::giants).
    #[must_use]
    pub fn giants(mut self, giants: Giants) -> Self {
        self.giants = giants;
        self
    }

    /// Sets [`hoisting`](Self::hoisting).
    #[must_use]
    pub fn hoisting(mut self, hoisting: Hoisting) -> Self {
        self.hoisting = hoisting;
        self
    }
}
