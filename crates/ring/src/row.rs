//! The rows of a key: polynomials that are only multiplied with, in as few bytes as their residues have.
//!
//! A key switch reads all rows of its key from memory and waits for them more than it computes with
//! them. With IFMA a residue takes the whole bytes that its prime has bits for, 6 of 8 for a prime of 45
//! bits, and one permutation of bytes makes words of a line of them. The other back ends read words.

use crate::{
    Ntt, Poly, Ring,
    aligned::AlignedVec,
    wire::{self, Limit},
};

/// A polynomial in NTT form as [`Rows`](crate::Rows) have it, packed for the back ends of a [`Ring`].
///
/// Eight residues of a prime that takes `w` bytes stand in `w` words; below eight of them only on
/// machines whose words are little-endian.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    words: AlignedVec,
    degree: usize,
    /// Where each limb ends.
    ends: Vec<usize>,
}

impl Row {
    /// Packs a polynomial with residues in `[0, q)`.
    ///
    /// # Panics
    /// If the polynomial is not of the ring.
    pub fn new(ring: &Ring, poly: &Poly<Ntt>) -> Self {
        ring.check(poly);
        let ends = ends(ring);
        let mut words = AlignedVec::zeroed(*ends.last().unwrap_or(&0));
        let mut start = 0;
        for (i, &end) in ends.iter().enumerate() {
            pack(poly.limb(i), ring.table(i).packed_bytes(), &mut words[start..end]);
            start = end;
        }
        Self { words, degree: ring.degree(), ends }
    }

    /// The polynomial.
    pub fn unpack(&self) -> Poly<Ntt> {
        let mut poly = Poly::zero(self.degree, self.limbs());
        for i in 0..self.limbs() {
            unpack(self.limb(i), poly.limb_mut(i));
        }
        poly
    }

    /// The number of limbs.
    pub fn limbs(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that the row takes in memory.
    pub fn byte_len(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// [`byte_len`](Self::byte_len) of the rows over a ring, before any is made.
    pub fn bytes_over(ring: &Ring) -> usize {
        size_of::<u64>() * ends(ring).last().unwrap_or(&0)
    }

    /// The packed residues of a limb.
    pub(crate) fn limb(&self, i: usize) -> &[u64] {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.words[start..self.ends[i]]
    }

    /// Whether the row has the degree and the limbs of a ring and is packed for its back ends.
    pub(crate) fn fits(&self, ring: &Ring) -> bool {
        self.degree == ring.degree() && self.ends == ends(ring)
    }
}

/// Where the limbs of a row end.
fn ends(ring: &Ring) -> Vec<usize> {
    let words = |i| ring.degree() / 8 * ring.table(i).packed_bytes();
    (0..ring.limbs())
        .scan(0, |end, i| {
            *end += words(i);
            Some(*end)
        })
        .collect()
}

/// Shape only.
impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Row({} limbs x {}, {} bytes)", self.limbs(), self.degree, self.byte_len())
    }
}

/// Packs residues of so many bytes.
pub(crate) fn pack(residues: &[u64], bytes: usize, out: &mut [u64]) {
    match bytes {
        8 => out.copy_from_slice(residues),
        _ => wire::pack(residues, 8 * bytes as u32, bytemuck::cast_slice_mut(out)),
    }
}

/// Undoes [`pack`].
fn unpack(packed: &[u64], residues: &mut [u64]) {
    match 8 * packed.len() / residues.len() {
        8 => residues.copy_from_slice(packed),
        bytes => {
            wire::unpack(bytemuck::cast_slice(packed), Limit::below(1 << (8 * bytes)), residues)
                .expect("any bits are such words")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gadget, values};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_residues_stand_byte_after_byte(bytes in 1usize..9, lines in 1usize..4, seed: u64) {
            let residues: Vec<u64> = (0..8 * lines as u64)
                .map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 8 * bytes))
                .collect();
            let mut packed = vec![u64::MAX; bytes * lines];
            pack(&residues, bytes, &mut packed);
            let expected: Vec<u8> =
                residues.iter().flat_map(|x| x.to_ne_bytes()[..bytes].to_vec()).collect();
            let found: Vec<u8> = packed.iter().flat_map(|word| word.to_ne_bytes()).collect();
            prop_assert_eq!(found, expected);
            let mut again = vec![1; residues.len()];
            unpack(&packed, &mut again);
            prop_assert_eq!(again, residues);
        }
    }

    #[test]
    fn rows_are_polynomials_in_fewer_bytes() {
        for degree in [8, 256] {
            let g = gadget(degree, &[(60, 1), (29, 2), (40, 2), (45, 1)], (50, 1));
            let ring = g.ring(6);
            let poly = values(ring, 1);
            let row = Row::new(ring, &poly);
            assert!(row.unpack() == poly && row == Row::new(ring, &poly));
            assert_eq!(row.limbs(), 7);
            assert_eq!(row.byte_len(), Row::bytes_over(ring));
            let most = [8, 4, 4, 6, 6, 6, 7];
            let bytes: usize = (0..7).map(|i| ring.table(i).packed_bytes()).sum();
            assert_eq!(row.byte_len(), degree * bytes);
            assert!(
                (0..7).all(|i| [8, most[i], most[i] - 1].contains(&ring.table(i).packed_bytes()))
            );
            assert!(!row.fits(g.ring(5)) && !row.fits(&ring.slice(1..7)));
        }
    }
}
