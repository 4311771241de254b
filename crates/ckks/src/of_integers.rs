//! The mark of encryptions of integers.

/// The modulus, if a vector is an encryption of
/// [`encode_integers`](crate::Encoder::encode_integers) that no operation and no statement has
/// changed.
#[derive(Debug, Clone, Copy)]
pub struct OfIntegers(pub Option<usize>);

/// Vectors of equal contents are equal: bytes do not carry the mark.
impl PartialEq for OfIntegers {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
