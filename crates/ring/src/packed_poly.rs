//! Packed key rows: polynomials that are only multiplied with, in few bytes per residue.
//!
//! A key switch reads all rows of its key, which exceed every cache. With IFMA, or with products in
//! floating point on x86-64, a residue takes `ceil(bits / 8)` bytes, where `bits` are those of its
//! prime: 6 of 8 bytes for a prime of 45 bits. Byte permutations expand a line of them to words.
//! The other back ends read whole words.

use std::ops::Range;

use crate::aligned::AlignedVec;
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;
use crate::wire::bits::{self, Limit};

/// A polynomial in NTT form as [`KeyRows`](crate::KeyRows) hold it, packed for the back ends of a
/// [`Ring`].
///
/// Eight residues of a prime with `w` bytes per residue take `w` words. For `w < 8` they form a
/// little-endian stream of bytes; only little-endian machines have `w < 8`.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedPoly {
    words: AlignedVec,
    shape: Shape,
}

/// The layout of the residues of a packed polynomial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    degree: usize,
    /// The end of each limb, in words.
    ends: Vec<usize>,
}

impl Shape {
    /// The layout of packed polynomials over a ring.
    pub(crate) fn of(ring: &Ring) -> Self {
        let mut end = 0;
        // Eight residues take as many words as a residue takes bytes.
        let ends = (0..ring.limbs()).map(|i| {
            end += ring.degree() / 8 * ring.table(i).packed_bytes();
            end
        });
        Self { degree: ring.degree(), ends: ends.collect() }
    }

    fn words(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn limb(&self, i: usize) -> Range<usize> {
        i.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[i]
    }
}

impl PackedPoly {
    /// Packs a polynomial with residues in `[0, q)`.
    ///
    /// # Panics
    /// If the polynomial does not belong to the ring.
    pub fn new(ring: &Ring, poly: &Poly<Ntt>) -> Self {
        ring.check(poly);
        let shape = Shape::of(ring);
        // Not from the pool of the ring: its buffers may be twice as large, and keys live long.
        let mut words = AlignedVec::zeroed(shape.words());
        // Each limb has the width of its prime.
        for i in 0..ring.limbs() {
            debug_assert!(poly.limb(i).iter().all(|&x| x < ring.modulus(i).value()));
            pack(poly.limb(i), &mut words[shape.limb(i)]);
        }
        Self { words, shape }
    }

    /// Unpacks the polynomial.
    pub fn unpack(&self) -> Poly<Ntt> {
        let mut poly = Poly::zero(self.shape.degree, self.limbs());
        for i in 0..self.limbs() {
            self.unpack_limb(i, poly.limb_mut(i));
        }
        poly
    }

    /// Unpacks one limb.
    pub(crate) fn unpack_limb(&self, i: usize, out: &mut [u64]) {
        unpack(self.limb(i), out);
    }

    /// The number of limbs.
    pub(crate) fn limbs(&self) -> usize {
        self.shape.ends.len()
    }

    /// Size in bytes in memory.
    pub fn byte_len(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// [`byte_len`](Self::byte_len) of packed polynomials over a ring, without one at hand.
    pub fn bytes_over(ring: &Ring) -> usize {
        size_of::<u64>() * Shape::of(ring).words()
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The packed residues of a limb.
    pub(crate) fn limb(&self, i: usize) -> &[u64] {
        &self.words[self.shape.limb(i)]
    }
}

/// Prints the shape only.
impl std::fmt::Debug for PackedPoly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "PackedPoly({} limbs x {}, {} bytes)",
            self.limbs(),
            self.shape.degree,
            self.byte_len()
        )
    }
}

/// Packs residues. The ratio of the lengths determines the bytes per residue.
pub(crate) fn pack(residues: &[u64], out: &mut [u64]) {
    // Eight bytes are whole words; fewer are a stream of bytes.
    match 8 * out.len() / residues.len() {
        8 => out.copy_from_slice(residues),
        bytes => bits::pack(residues, 8 * bytes as u32, bytemuck::cast_slice_mut(out)),
    }
}

/// The inverse of [`pack`].
fn unpack(packed: &[u64], residues: &mut [u64]) {
    match 8 * packed.len() / residues.len() {
        8 => residues.copy_from_slice(packed),
        bytes => {
            // The limit is the width itself, so no word is out of range.
            let limit = Limit::below(1 << (8 * bytes));
            bits::unpack(bytemuck::cast_slice(packed), limit, residues)
                .expect("any bits are such words");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend::Backend;
    use crate::ntt::NttTable;
    use crate::testing::{gadget, values};

    proptest! {
        #[cfg(target_endian = "little")]
        #[test]
        fn packed_residues_stand_byte_after_byte(
            bytes in 1usize..9,
            lines in 1usize..4,
            seed: u64,
        ) {
            let residues: Vec<u64> = (0..8 * lines as u64)
                .map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 8 * bytes))
                .collect();
            let mut packed = vec![u64::MAX; bytes * lines];
            pack(&residues, &mut packed);
            let expected: Vec<u8> =
                residues.iter().flat_map(|x| x.to_le_bytes()[..bytes].to_vec()).collect();
            let found: Vec<u8> = packed.iter().flat_map(|word| word.to_le_bytes()).collect();
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
            let row = PackedPoly::new(ring, &poly);
            assert!(row.unpack() == poly && row == PackedPoly::new(ring, &poly));
            assert_eq!((row.limbs(), row.byte_len()), (7, PackedPoly::bytes_over(ring)));
            // Around a power of two primes have its bits, or one more.
            let bytes = |i: usize| match ring.table(i).backend() {
                Backend::Scalar | Backend::Neon | Backend::Avx2 | Backend::Avx512 => 8,
                _ => ring.modulus(i).bits().div_ceil(8) as usize,
            };
            assert_eq!(row.byte_len(), degree * (0..7).map(bytes).sum::<usize>());
        }
    }

    #[test]
    fn shapes_tell_rings_and_back_ends_apart() {
        let g = gadget(16, &[(45, 3)], (49, 1));
        let row = PackedPoly::new(g.ring(3), &values(g.ring(3), 1));
        assert!(*row.shape() == Shape::of(g.ring(3)) && *row.shape() != Shape::of(g.ring(2)));
        assert!(*row.shape() != Shape::of(gadget(32, &[(45, 3)], (49, 1)).ring(3)));
        let plain = g.ring(3).moduli().map(|&q| {
            NttTable::with_backend(16, q, Backend::Scalar).map(std::sync::Arc::new).unwrap()
        });
        let plain = Ring::from_tables(16, plain.collect()).unwrap();
        let packed = g.ring(3).table(0).packed_bytes() < 8;
        assert_eq!(*row.shape() != Shape::of(&plain), packed);
        assert_eq!(PackedPoly::bytes_over(&plain), 4 * 16 * 8);
    }
}
