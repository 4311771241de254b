//! Double hoisting (Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, eprint 2020/1203, section 4):
//! sums of products of rotated ciphertexts with plaintexts modulo `P Q`, limb by limb. This is the
//! work of a linear transform whose rotations share their digits and their division by `P`.
//!
//! For each prime in order, the digits are converted once and every rotation is computed. The sums
//! are then computed a few cache lines at a time, all of them from lines in the first-level cache.
//! Only the sums are stored for all primes.

use std::ops::Range;

use crate::aligned::AlignedVec;
use crate::automorphism::Automorphism;
use crate::backend::{self, Column, Part};
use crate::gadget::{Digits, KeyRows};
use crate::ntt::NttTable;
use crate::par::{self, HEAVY};
use crate::poly::{Ntt, Poly};
use crate::weighted_sums::{Batches, Factor, LimbRange, PIECE, Weighted};

/// Words between rotated columns, so that their pieces do not map to the same cache sets.
const GAP: usize = PIECE;

/// One rotation of an operand, times `P`.
#[derive(Debug, Clone)]
pub enum Rotated<'a> {
    /// `map` of the inner product of the digits of an operand with `rows`, with `P body` added to
    /// column 0.
    Switched {
        /// The index of the operand.
        operand: usize,
        /// The rows of a key.
        rows: KeyRows<'a>,
        /// The polynomial of the operand that needs no switch, modulo `Q`.
        body: &'a Poly<Ntt>,
        /// The automorphism, applied last.
        map: &'a Automorphism,
    },
    /// The columns of an already rotated ciphertext modulo `Q`, still to be multiplied by `P`.
    Lifted(Vec<&'a Poly<Ntt>>),
}

/// The buffers for one limb.
struct Scratch {
    /// By operand, then limb of those computed together, then digit.
    digits: Vec<AlignedVec>,
    /// The columns of one rotation.
    sums: AlignedVec,
    /// By rotation, then column, each followed by a gap.
    rotated: AlignedVec,
    /// The written factors of a batch of sums.
    factors: AlignedVec,
}

impl Digits<'_> {
    /// `sum_t factor_t rotated_t` for every row of `sums`: the columns of each sum, over
    /// [`HybridGadget::ring`](crate::HybridGadget::ring)`(limbs)`. `operands` are the digits of
    /// polynomials of one level. `write(x, i, limb)` writes limb `i` of a factor that is not
    /// stored, or one line for each of its tiles.
    ///
    /// # Panics
    /// Without operands, or if they differ in level; if the rotations differ in their
    /// number of columns, if there are too few rows or they have too few limbs or belong to another
    /// ring, or if a polynomial does not have the limbs of the digits.
    pub fn transform<T: Sync>(
        operands: &[Self],
        rotated: &[Rotated],
        sums: &[Vec<Weighted<T>>],
        write: impl Fn(&T, usize, &mut [u64]) + Sync + Send,
    ) -> Vec<Vec<Poly<Ntt>>> {
        // Step 1: check all shapes.
        let columns = rotated.first().map_or(0, Rotated::columns);
        Self::check_transform(operands, rotated, sums);
        let first = &operands[0];
        let (ring, n) = (first.ring(), first.ring().degree());
        // Step 2: batches of sums whose written factors fit the buffer.
        let batches = Batches::new(sums, columns, n);
        let mut results: Vec<Poly<Ntt>> =
            (0..sums.len() * columns).map(|_| ring.uninit()).collect();
        let together = first.together(ring.limbs());
        par::each_with(
            par::grouped(par::by_limb(&mut results), together),
            n * sums.len() * columns * together,
            HEAVY,
            || Scratch {
                digits: operands
                    .iter()
                    .map(|operand| ring.scratch(operand.converted() * n * together))
                    .collect(),
                sums: ring.scratch(columns * n),
                rotated: ring.scratch(rotated.len() * columns * (n + GAP)),
                factors: ring.scratch(batches.buffer(n)),
            },
            |scratch, i, limbs| {
                let first = i * together;
                // Step 3: convert the digits to the primes of this group.
                for (k, (operand, digits)) in operands.iter().zip(&mut scratch.digits).enumerate() {
                    if rotated.iter().any(|x| x.operand() == Some(k)) {
                        operand.convert(first..first + limbs.len(), digits);
                    }
                }
                // Step 4: for each prime, compute every rotation.
                for (k, mut targets) in limbs.into_iter().enumerate() {
                    Self::rotate(operands, rotated, columns, first + k, k, scratch);
                    let Scratch { rotated, factors, .. } = scratch;
                    // Step 5: the sums.
                    let rows: Vec<&[u64]> = rotated.chunks(n + GAP).map(|row| &row[..n]).collect();
                    let (i, table) = (first + k, ring.table(first + k));
                    let write = |x: &T, _: usize, limb: &mut [u64]| write(x, i, limb);
                    batches.sum(
                        table,
                        LimbRange { limb: i, range: 0..n },
                        &rows,
                        &mut targets,
                        factors,
                        write,
                    );
                }
            },
        );
        let mut results = results.into_iter();
        sums.iter().map(|_| results.by_ref().take(columns).collect()).collect()
    }

    /// Panics unless operands, rotations and factors have the same shape, and every factor refers
    /// to a given rotation.
    fn check_transform<T>(operands: &[Self], rotated: &[Rotated], sums: &[Vec<Weighted<T>>]) {
        let columns = rotated.first().map_or(0, Rotated::columns);
        let first = &operands[0];
        for operand in operands {
            assert_eq!(operand.limbs(), first.limbs(), "all operands must have the same level");
        }
        for x in rotated {
            operands[x.operand().unwrap_or(0)].check_rotated(x, columns);
        }
        for factor in sums.iter().flatten() {
            assert!(factor.row < rotated.len(), "every factor must refer to a given rotation");
            if let Factor::Stored(poly) = factor.factor {
                first.ring().check(poly);
            }
        }
    }

    /// Converts the digits that are not ready at the given primes, limb by limb.
    fn convert(&self, limbs: Range<usize>, digits: &mut [u64]) {
        let n = self.ring().degree();
        let mut free: Vec<_> = digits.chunks_mut((self.converted() * n).max(1)).collect();
        for row in 0..self.count() * self.components() {
            let mut targets = Vec::with_capacity(limbs.len());
            for (i, free) in limbs.clone().zip(&mut free) {
                if self.ready(row, i).is_none() {
                    let (limb, rest) = std::mem::take(free).split_at_mut(n);
                    *free = rest;
                    targets.push((i, limb));
                }
            }
            self.write_limbs(row, &mut targets);
        }
    }

    /// The digits in order at limb `i`, the `k`-th limb of the group: those in memory and those
    /// converted.
    fn rows_of<'a>(&'a self, i: usize, k: usize, converted: &'a [u64]) -> Vec<&'a [u64]> {
        let n = self.ring().degree();
        let mut converted = converted.chunks(n).skip(k * self.converted());
        let digit = |row| match self.ready(row, i) {
            Some(limb) => limb,
            None => converted.next().expect("as many as are converted"),
        };
        (0..self.count() * self.components()).map(digit).collect()
    }

    /// Computes limb `i` of every rotation, where `i` is the `k`-th limb of the group.
    fn rotate(
        operands: &[Self],
        rotated: &[Rotated],
        columns: usize,
        i: usize,
        k: usize,
        scratch: &mut Scratch,
    ) {
        let first = &operands[0];
        let (ring, n) = (first.ring(), first.ring().degree());
        let table = ring.table(i);
        // Step 1: P modulo this prime. P body and P times a ciphertext are zero modulo the special
        // primes.
        let p = match i < first.limbs() {
            true => first.gadget().p_residue(i),
            false => 0,
        };
        let Scratch { digits, sums, rotated: out, .. } = scratch;
        // Step 2: the digits of each operand.
        let digits = operands.iter().zip(&*digits);
        let digits: Vec<_> = digits.map(|(of, converted)| of.rows_of(i, k, converted)).collect();
        // Step 3: each rotation into its padded columns.
        let padded = n + GAP;
        for (x, out) in rotated.iter().zip(out.chunks_mut((columns * padded).max(1))) {
            let out = out.chunks_mut(padded).map(|out| &mut out[..n]);
            match x {
                // Inner product, plus P body in column 0, then the automorphism.
                Rotated::Switched { operand, rows, body, map } => {
                    let stored = first.stored_limb(rows, i);
                    let digits = &digits[*operand];
                    let factors = rows.columns.iter().map(|column| {
                        column.iter().take(digits.len()).map(|row| row.limb(stored)).collect()
                    });
                    summed(table, digits, &factors.collect::<Vec<_>>(), sums);
                    for (column, (sum, out)) in sums.chunks_mut(n).zip(out).enumerate() {
                        if column == 0 && p != 0 {
                            backend::add_multiple(table, sum, body.limb(i), p);
                        }
                        backend::permute(table, out, sum, &map.ntt_map);
                    }
                }
                // P times each column.
                Rotated::Lifted(polys) => {
                    for (poly, out) in polys.iter().zip(out) {
                        out.fill(0);
                        if p != 0 {
                            backend::add_multiple(table, out, poly.limb(i), p);
                        }
                    }
                }
            }
        }
    }

    fn check_rotated(&self, x: &Rotated, columns: usize) {
        assert_eq!(x.columns(), columns, "all rotations must have the same number of columns");
        let polys = match x {
            Rotated::Switched { rows, body, .. } => {
                self.check_rows(rows);
                std::slice::from_ref(body)
            }
            Rotated::Lifted(polys) => polys,
        };
        for poly in polys {
            self.gadget().q().at_limbs(self.limbs()).check(poly);
        }
    }
}

impl Rotated<'_> {
    /// The index of the operand whose digits are switched.
    fn operand(&self) -> Option<usize> {
        match self {
            Self::Switched { operand, .. } => Some(*operand),
            Self::Lifted(_) => None,
        }
    }

    fn columns(&self) -> usize {
        match self {
            Self::Switched { rows, .. } => rows.columns.len(),
            Self::Lifted(polys) => polys.len(),
        }
    }
}

/// The sums of products of `rows` with the factors of each column, one after the other.
fn summed(table: &NttTable, rows: &[&[u64]], factors: &[Vec<&[u64]>], sums: &mut [u64]) {
    let all = rows.len();
    for first in (0..all).step_by(backend::MAX_PRODUCTS - 1) {
        let range = first..all.min(first + backend::MAX_PRODUCTS - 1);
        let columns = sums.chunks_mut(table.degree()).zip(factors);
        let mut columns: Vec<Column> = columns
            .map(|(out, factors)| Column { out, factors: &factors[range.clone()] })
            .collect();
        let part = Part { before: first, all };
        backend::columns_of_products(table, &rows[range], &mut columns, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modulus::Modulus;
    use crate::ntt::NttTable;
    use crate::packed_poly::PackedPoly;
    use crate::testing::{gadget, p_residues, packed, values};

    #[test]
    fn sums_of_more_rows_than_are_taken_at_once() {
        let table = NttTable::new(8, Modulus::new(97).unwrap()).unwrap();
        let rows: Vec<[u64; 8]> = (0..130).map(|i| [i % 97; 8]).collect();
        for count in [1, 62, 63, 124, 130] {
            let rows: Vec<&[u64]> = rows[..count].iter().map(|row| &row[..]).collect();
            let mut sums = [5; 16];
            let keys: Vec<_> = rows.iter().map(|row| packed(&table, row)).collect();
            let one = packed(&table, &[1; 8]);
            let keys = keys.iter().map(Vec::as_slice).collect();
            summed(&table, &rows, &[keys, vec![&one; count]], &mut sums);
            let plain = rows.iter().map(|row| row[0]);
            let squares = plain.clone().map(|x| x * x).sum::<u64>() % 97;
            assert_eq!(sums[..8], [squares; 8]);
            assert_eq!(sums[8..], [plain.sum::<u64>() % 97; 8]);
        }
    }

    /// Against rotations, products and sums made one after the other: with keys of a higher level,
    /// rows of more products than one reduction takes, one without any, and a rotation not used.
    fn check(degree: usize, limbs: usize, terms: usize) {
        let g = gadget(degree, &[(45, 5)], (50, 2));
        let (q, ring) = (g.q().at_limbs(limbs), g.ring(limbs));
        let (body, mask, other) = (values(&q, 1), values(&q, 2), values(&q, 3));
        let maps = [5, 25].map(|e| g.q().automorphism(e).unwrap());
        let keys: Vec<Vec<Vec<Poly<Ntt>>>> = (0..2)
            .map(|k| {
                let row = |c: usize, r: usize| values(g.ring(5), (9 + 100 * k + 10 * c + r) as u64);
                (0..2).map(|c| (0..g.digits(5)).map(|r| row(c, r)).collect()).collect()
            })
            .collect();
        let packed: Vec<Vec<Vec<PackedPoly>>> = keys
            .iter()
            .map(|key: &Vec<Vec<_>>| {
                let pack = |column: &Vec<_>| {
                    column.iter().map(|row| PackedPoly::new(g.ring(5), row)).collect()
                };
                key.iter().map(pack).collect()
            })
            .collect();
        let rows = |k: usize| KeyRows {
            columns: packed[k].iter().map(|column: &Vec<_>| column.iter().collect()).collect(),
            limbs: 5,
        };
        let switched =
            |k: usize| Rotated::Switched { operand: k, rows: rows(k), body: &body, map: &maps[k] };
        let rotated = [switched(0), Rotated::Lifted(vec![&body, &mask]), switched(1)];

        let operands = [g.digits_of(&[&mask]), g.digits_of(&[&other])];
        let lifted = |a: &Poly<Ntt>| {
            let mut out = ring.zero();
            out.data_mut()[..a.data().len()].copy_from_slice(a.data());
            ring.mul_residues_assign(&mut out, &p_residues(&g, limbs));
            out
        };
        let whole = |x: &Rotated| -> Vec<Poly<Ntt>> {
            match x {
                Rotated::Lifted(polys) => polys.iter().map(|a| lifted(a)).collect(),
                Rotated::Switched { operand, rows, body, map } => {
                    let mut columns = operands[*operand].product(rows);
                    ring.add_assign(&mut columns[0], &lifted(body));
                    columns.iter().map(|column| ring.apply_ntt(column, map)).collect()
                }
            }
        };
        let whole: Vec<_> = rotated.iter().map(whole).collect();

        // Every third factor is in a power of X: its tiles hold each value eight times.
        let by_tile = |t: usize| t % 3 == 2 && Factor::<()>::is_by_tile(degree, degree / 8);
        let plain = |t: usize| match by_tile(t) {
            true => {
                let word = |i: usize| if i.is_multiple_of(8) { (t * i) as i64 - 77 } else { 0 };
                ring.forward(ring.from_signed(&(0..degree).map(word).collect::<Vec<_>>()))
            }
            false => values(ring, 1000 + t as u64),
        };
        let plain: Vec<_> = (0..terms).map(plain).collect();
        let sum = |t: usize| Weighted {
            row: t % 2,
            factor: match t % 3 {
                0 => Factor::Written(t),
                2 if by_tile(t) => Factor::ByTile(t),
                _ => Factor::Stored(&plain[t]),
            },
        };
        let sums = [(0..terms).map(sum).collect(), vec![], vec![sum(0)]];
        let write = |t: &usize, i: usize, limb: &mut [u64]| {
            let values = plain[*t].limb(i);
            if limb.len() == degree {
                return limb.copy_from_slice(values);
            }
            for (line, tile) in limb.chunks_mut(8).zip(values.chunks(64)) {
                line.copy_from_slice(&tile[..8]);
            }
        };
        let found = Digits::transform(&operands, &rotated, &sums, write);
        let kept = operands.each_ref().map(Digits::store);
        let stored = kept.each_ref().map(|kept| g.stored_digits(kept));
        assert!(found == Digits::transform(&stored, &rotated, &sums, write));
        assert_eq!(found.len(), sums.len());
        for (terms, found) in sums.iter().zip(&found) {
            for (column, found) in found.iter().enumerate() {
                let mut expected = ring.zero();
                for term in terms {
                    let plain = match term.factor {
                        Factor::Stored(plain) => plain,
                        Factor::Written(t) | Factor::ByTile(t) => &plain[t],
                    };
                    ring.mul_add_assign(&mut expected, plain, &whole[term.row][column]);
                }
                assert!(*found == expected, "column {column}");
            }
        }
    }

    #[test]
    fn is_the_sum_of_products_of_whole_rotations() {
        check(64, 5, 7);
        check(64, 3, 4);
        check(16, 1, 150);
        check(1 << 13, 4, 5);
    }
}
