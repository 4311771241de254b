//! Inner products of the digits of a [`HybridGadget`] with the rows of a key, limb by limb: the
//! main work of a key switch.
//!
//! The primes to divide by come first, so that each limb of the result is divided as soon as it is
//! complete. `limb_sums` computes the limbs.

use super::limb_sums::{Buffers, LimbSums};
use crate::aligned::AlignedVec;
use crate::automorphism::Automorphism;
use crate::backend;
use crate::basis_extension::Division;
use crate::gadget::{Addend, Digits, Epilogue, GadgetKey, HybridGadget};
use crate::par::{self, HEAVY};
use crate::poly::{Ntt, Poly};

impl HybridGadget {
    /// Mod-down and rescale in one: divides a polynomial over [`ring`](Self::ring)`(limbs)` by `P`
    /// and by the last `primes` primes of the chain.
    ///
    /// # Panics
    /// Unless the polynomial has more than `primes` primes of the chain.
    pub(crate) fn divide(&self, a: Poly<Ntt>, primes: usize) -> Poly<Ntt> {
        let limbs = a.limbs() - self.p().limbs();
        self.ring(limbs).check(&a);
        self.division(limbs, primes).apply(a)
    }

    fn division(&self, limbs: usize, primes: usize) -> Division {
        assert!(primes < limbs, "need primes to divide by and primes to keep");
        // The primes are distinct, so the inverses exist.
        Division::new(self.ring(limbs), limbs - primes).expect("distinct primes")
    }
}

impl Digits<'_> {
    /// The inner product: one polynomial per column of the rows.
    ///
    /// # Panics
    /// If there are too few rows, or if they have too few limbs or belong to another ring.
    pub fn product<'k>(&self, key: impl Into<GadgetKey<'k>>) -> Vec<Poly<Ntt>> {
        self.each_sum(key.into(), None, |_, sum, target, _| target.copy_from_slice(sum))
    }

    /// The inner product, plus `body` in column 0, under an automorphism, plus `onto` if given: one
    /// polynomial per column.
    pub fn rotated_product<'k>(
        &self,
        key: impl Into<GadgetKey<'k>>,
        body: &Poly<Ntt>,
        map: &Automorphism,
        onto: Option<Vec<Poly<Ntt>>>,
    ) -> Vec<Poly<Ntt>> {
        self.ring().check(body);
        let add = onto.is_some();
        self.each_sum(key.into(), onto, |(i, column), sum, target, other| {
            let table = self.ring().table(i);
            if column == 0 {
                backend::add_assign(table, sum, body.limb(i));
            }
            if add {
                backend::permute(table, other, sum, &map.ntt_map);
                backend::add_assign(table, target, other);
            } else {
                backend::permute(table, target, sum, &map.ntt_map);
            }
        })
    }

    /// Calls `finish((limb, column), sum, target, other)` for each limb of the inner product. The
    /// target is a limb of `columns` if given, and uninitialized otherwise. `other` is a buffer of
    /// one limb.
    fn each_sum(
        &self,
        key: GadgetKey,
        columns: Option<Vec<Poly<Ntt>>>,
        finish: impl Fn((usize, usize), &mut [u64], &mut [u64], &mut [u64]) + Sync + Send,
    ) -> Vec<Poly<Ntt>> {
        let limb_sums = LimbSums::new(self, key);
        let (n, count) = (self.ring().degree(), limb_sums.columns());
        let uninit = || (0..count).map(|_| self.ring().uninit()).collect();
        let mut columns = columns.unwrap_or_else(uninit);
        assert_eq!(columns.len(), count, "need one polynomial per column");
        columns.iter().for_each(|column| self.ring().check(column));
        let together = limb_sums.together(self.ring().limbs());
        par::each_with(
            par::grouped(par::by_limb(&mut columns), together),
            n * count * together,
            HEAVY,
            || limb_sums.scratch(together),
            |scratch, i, limbs| {
                let first = i * together;
                limb_sums.write(first..first + limbs.len(), scratch);
                let Buffers { sums, other, .. } = scratch.buffers();
                let places = (first..).flat_map(|i| (0..count).map(move |column| (i, column)));
                let sums = sums.chunks_mut(n).zip(places);
                for (target, (sum, place)) in limbs.into_iter().flatten().zip(sums) {
                    finish(place, sum, target, other);
                }
            },
        );
        columns
    }

    /// The inner product with mod-down and epilogue. With addends `d` and the product `D` of the
    /// primes of the epilogue, the result is `round((x + P d) / (P D))`, up to the automorphism.
    ///
    /// # Panics
    /// If there are too few rows, or if they have too few limbs or belong to another ring. If there
    /// are more addends than columns, or an addend has more than 63 products or another level than
    /// the digits. If the automorphism has another degree. If no prime of the chain remains.
    pub fn divided_product<'k>(
        &self,
        key: impl Into<GadgetKey<'k>>,
        epilogue: &Epilogue,
    ) -> Vec<Poly<Ntt>> {
        let limb_sums = LimbSums::new(self, key.into());
        let (gadget, ring) = (self.gadget(), self.ring());
        let (n, count) = (ring.degree(), limb_sums.columns());
        let division = gadget.division(self.limbs(), epilogue.primes);
        let kept = division.kept();
        epilogue.check(&gadget.q().at_limbs(self.limbs()), count);

        // Step 1: the limbs to divide by, column by column.
        let dropped = ring.limbs() - kept;
        let rest = self.limbs_to_divide(&limb_sums, epilogue, kept);
        // Step 2: prepare these limbs for the conversion to the remaining primes.
        let rest: Vec<_> = rest.chunks(dropped * n).map(|limbs| division.prepare(limbs)).collect();

        // Step 3: each remaining limb of the inner product.
        let result = ring.at_limbs(kept);
        let mut columns: Vec<Poly<Ntt>> = (0..count).map(|_| result.uninit()).collect();
        let together = limb_sums.together(kept);
        par::each_with(
            par::grouped(par::by_limb(&mut columns), together),
            n * count * together,
            HEAVY,
            || limb_sums.scratch(together),
            |scratch, i, mut limbs| {
                let first = i * together;
                limb_sums.write(first..first + limbs.len(), scratch);
                let Buffers { sums, remainders, other, piece, .. } = scratch.buffers();
                let remainders = &mut remainders[..limbs.len() * n];
                for (column, blocks) in rest.iter().enumerate() {
                    // Step 4: subtract the remainder, divide by P D, add d and apply the
                    // automorphism. The factor of the addend is P / (P D) = 1 / D modulo q, or 1
                    // without further primes.
                    division.remainders(blocks, (first..).zip(remainders.chunks_mut(n)).collect());
                    let sums = sums.chunks(n).skip(column).step_by(count);
                    let remainders = (first..).zip(remainders.chunks_mut(n));
                    for ((targets, sum), (j, remainder)) in
                        limbs.iter_mut().zip(sums).zip(remainders)
                    {
                        let q = ring.modulus(j);
                        let factor = match epilogue.primes {
                            0 => 1,
                            _ => q.mul(division.inverse(j), gadget.p_residue(j)),
                        };
                        let addend =
                            epilogue.addend(column).map(|d| (d.limb(j, &mut *piece), factor));
                        let image = epilogue.map.map(|map| (&map.ntt_map, &mut *other));
                        let target = &mut *targets[column];
                        division.quotient(j, sum, addend, remainder, target, image);
                    }
                }
            },
        );
        columns
    }

    /// The limbs of the inner product above the first `kept`, column by column. An addend enters as
    /// `P d`; it is zero modulo the special primes.
    fn limbs_to_divide(
        &self,
        limb_sums: &LimbSums,
        epilogue: &Epilogue,
        kept: usize,
    ) -> AlignedVec {
        let (ring, count) = (self.ring(), limb_sums.columns());
        let (n, dropped) = (ring.degree(), ring.limbs() - kept);
        let mut rest = ring.scratch(count * dropped * n);
        let by_column = rest.chunks_mut(dropped * n).map(|column| column.chunks_mut(n)).collect();
        let together = limb_sums.together(dropped);
        par::each_with(
            par::grouped(par::transposed(by_column), together),
            n * count * together,
            HEAVY,
            || limb_sums.scratch(together),
            |scratch, i, limbs| {
                let first = kept + i * together;
                limb_sums.write(first..first + limbs.len(), scratch);
                let Buffers { sums, piece, .. } = scratch.buffers();
                let sums = sums.chunks(count * n);
                for ((limb, targets), sums) in (first..).zip(limbs).zip(sums) {
                    for (column, (target, sum)) in
                        targets.into_iter().zip(sums.chunks(n)).enumerate()
                    {
                        target.copy_from_slice(sum);
                        let addend = epilogue.addend(column).filter(|_| limb < self.limbs());
                        if let Some(addend) = addend {
                            self.add_lifted(addend, limb, target, piece);
                        }
                    }
                }
            },
        );
        rest
    }

    /// Adds `P` times limb `i` of an addend, piece by piece.
    fn add_lifted(&self, addend: &Addend, i: usize, target: &mut [u64], piece: &mut [u64]) {
        let (table, p) = (self.ring().table(i), self.gadget().p_residue(i));
        let words = piece.len();
        let mut limb = addend.limb(i, piece);
        for (k, target) in target.chunks_mut(words).enumerate() {
            let words = limb.piece(table, k * words..(k + 1) * words);
            backend::add_multiple(table, target, words, p);
        }
    }
}

#[cfg(test)]
mod tests;
