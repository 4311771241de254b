//! Sizes of primes on which both the choice of constants and the arithmetic depend.

/// Primes below `2^NARROW_BITS` leave four unused bits in a word.
pub(super) const NARROW_BITS: u32 = 60;

/// Primes below `2^IFMA_LAZY_BITS` have enough headroom for the lazy products of blind rotations
/// with 52-bit words.
#[cfg(target_arch = "x86_64")]
pub(super) const IFMA_LAZY_BITS: u32 = 46;
