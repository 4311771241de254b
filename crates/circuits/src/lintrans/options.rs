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

/// How a [`LinearTransform`](super::LinearTransform) is computed. By default diagonals are encoded
/// during the product, giant steps are direct, and hoisting is single.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinearOptions {
    /// Encode the diagonals now and keep them (`limbs * N * 8` bytes each) instead of encoding a
    /// few at a time in every product. Diagonals with a period of at most `N / 16` slots are never
    /// kept: encoding them is faster than reading them from memory.
    pub encode_ahead: bool,
    /// Keys of the giant steps.
    pub giants: Giants,
    /// Work that the rotations share.
    pub hoisting: Hoisting,
    /// With [`Hoisting::Double`]: compute the baby steps from a power of two up to the largest of
    /// them from the operand rotated by it. Steps without gaps take about half the keys, and one
    /// rotation and one decomposition more. Without effect where it saves no key.
    pub halved: bool,
}
