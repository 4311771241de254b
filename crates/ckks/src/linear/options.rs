//! How a transform is prepared.

/// How the giant rotations are performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Giants {
    /// One rotation and one key for each giant step.
    #[default]
    Direct,
    /// From the largest step down, always rotating by the same stride: as many rotations as there
    /// are multiples of the stride, but one key.
    Horner,
}

/// What the rotations of one operand share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hoisting {
    /// The decomposition of the operand. Diagonals have the limbs of the operand.
    #[default]
    Single,
    /// The decomposition and the division by `P`: sums stay modulo `P Q` until the end, and
    /// diagonals have the special primes as well. Pays where the operand has more limbs than `P`.
    Double,
}

/// How to prepare a [`LinearTransform`](super::LinearTransform).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearOptions {
    /// Level of the ciphertexts that it is applied to; at least 1. The result is one lower.
    pub level: usize,
    /// Encode all diagonals now and keep them (`limbs * N * 8` bytes each) instead of encoding a
    /// few at a time in every product.
    pub encode_ahead: bool,
    /// How the giant rotations are performed.
    pub giants: Giants,
    /// What the rotations share.
    pub hoisting: Hoisting,
}

impl LinearOptions {
    /// Encoded during the product, direct giant steps, one decomposition shared.
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
