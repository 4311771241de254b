//! Sums of products of the images of one polynomial with stored polynomials, limb by limb: the
//! inner product of a key switch whose rows belong to different automorphisms.

use crate::automorphism::Automorphism;
use crate::backend::{self, Column, Part};
use crate::packed_poly::{PackedPoly, Shape};
use crate::par::{self, HEAVY};
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// Images of one limb computed before the multiplication: more images mean fewer passes over the
/// sums, fewer images stay in the second-level cache.
const GROUP: usize = 4;

impl Ring {
    /// `sum_k map_k(a) row_k` for every column of rows: the column `c` has a row for each map.
    ///
    /// # Panics
    /// Without maps; if a polynomial or a row does not belong to the ring, or a column does not
    /// have as many rows as there are maps.
    pub fn sums_of_images(
        &self,
        a: &Poly<Ntt>,
        maps: &[&Automorphism],
        columns: &[Vec<&PackedPoly>],
    ) -> Vec<Poly<Ntt>> {
        // Step 1: check all shapes.
        self.check(a);
        assert!(!maps.is_empty(), "need at least one automorphism");
        let shape = Shape::of(self);
        for column in columns {
            assert_eq!(column.len(), maps.len(), "need a row for each automorphism");
            assert!(
                column.iter().all(|row| *row.shape() == shape),
                "the rows must be over the ring of the polynomial"
            );
        }
        let n = self.degree();
        let mut sums: Vec<Poly<Ntt>> = columns.iter().map(|_| self.uninit()).collect();
        par::each_with(
            par::by_limb(&mut sums),
            n * columns.len() * maps.len(),
            HEAVY,
            || self.scratch(GROUP.min(maps.len()) * n),
            |images, i, mut limbs| {
                let table = self.table(i);
                for before in (0..maps.len()).step_by(GROUP) {
                    let range = before..maps.len().min(before + GROUP);
                    // Step 2: the images of this limb by a group of automorphisms.
                    for (image, map) in images.chunks_mut(n).zip(&maps[range.clone()]) {
                        backend::permute(table, image, a.limb(i), &map.ntt_map);
                    }
                    let images: Vec<&[u64]> = images.chunks(n).take(range.len()).collect();
                    // Step 3: their products with the rows, added to the sums of all columns.
                    let factors: Vec<Vec<&[u64]>> = columns
                        .iter()
                        .map(|column| column[range.clone()].iter().map(|r| r.limb(i)).collect())
                        .collect();
                    let mut columns: Vec<Column> = limbs
                        .iter_mut()
                        .zip(&factors)
                        .map(|(out, factors)| Column { out, factors })
                        .collect();
                    let part = Part { before, all: maps.len() };
                    backend::columns_of_products(table, &images, &mut columns, part);
                }
            },
        );
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gadget, values};

    #[test]
    fn is_the_sum_of_products_of_images_made_one_by_one() {
        for (degree, count) in [(16, 1), (64, 4), (64, 9), (16, 70), (1 << 13, 5)] {
            let g = gadget(degree, &[(45, 2)], (50, 1));
            let ring = g.ring(2);
            let a: Poly<Ntt> = values(ring, 1);
            let maps: Vec<_> = (0..count).map(|k| ring.automorphism(4 * k + 1).unwrap()).collect();
            let rows: Vec<Vec<Poly<Ntt>>> = (0..2)
                .map(|c| (0..count).map(|k| values(ring, (100 * c + k + 2) as u64)).collect())
                .collect();
            let packed: Vec<Vec<PackedPoly>> = rows
                .iter()
                .map(|column| column.iter().map(|row| PackedPoly::new(ring, row)).collect())
                .collect();
            let columns: Vec<Vec<&PackedPoly>> =
                packed.iter().map(|column| column.iter().collect()).collect();
            let sums = ring.sums_of_images(&a, &maps.iter().collect::<Vec<_>>(), &columns);
            for (found, rows) in sums.iter().zip(&rows) {
                let mut expected = ring.zero();
                for (map, row) in maps.iter().zip(rows) {
                    ring.mul_add_assign(&mut expected, &ring.apply_ntt(&a, map), row);
                }
                assert!(*found == expected, "degree {degree}, {count} images");
            }
        }
    }
}
