//! Sums of products of rotated ciphertexts with plaintexts, modulo `P Q`, limb by limb: the work of
//! a linear transform whose rotations share their digits and their division by `P` (double
//! hoisting: Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, eprint 2020/1203, section 4).
//!
//! For each prime in turn the digits are converted once and every rotation is made. Sums are then
//! taken a few lines at a time, all of them from lines that stand in the first-level cache. Only the
//! sums are ever stored as a whole.

use std::ops::Range;

use crate::{
    Automorphism, Digits, Ntt, NttTable, Poly, Rows,
    aligned::AlignedVec,
    backend::{self, Column, Part, Term},
    par::{self, HEAVY},
};

/// Words of the pieces in which products are summed up: those of sixteen rotated columns stay in
/// the first-level cache until all sums have read them.
const PIECE: usize = 1 << 8;

/// Words between rotated columns, so that their pieces do not compete for the same places there.
const GAP: usize = PIECE;

/// Words of the factors of one prime that are written before they are used, at most, but for the sum
/// that has most of them.
const WRITTEN: usize = 1 << 19;

/// One rotation of the operand, times `P`.
#[derive(Debug, Clone)]
pub enum Rotated<'a> {
    /// `map` of the inner product of the digits with `rows`, with `P body` added to column 0.
    Switched {
        /// The rows of a key.
        rows: Rows<'a>,
        /// The polynomial of the operand that needs no switch, modulo `Q`.
        body: &'a Poly<Ntt>,
        /// What is applied last.
        map: &'a Automorphism,
    },
    /// The columns of something that is rotated already, modulo `Q`, yet to be multiplied by `P`.
    Lifted(Vec<&'a Poly<Ntt>>),
}

/// One product of a sum: which rotation, and the polynomial modulo `P Q` that multiplies it.
#[derive(Debug, Clone)]
pub struct Weighted<'a, T> {
    /// Place among the rotations.
    pub rotated: usize,
    /// The other factor.
    pub factor: Factor<'a, T>,
}

/// A polynomial modulo `P Q` in NTT form.
#[derive(Debug, Clone)]
pub enum Factor<'a, T> {
    /// Read where it stands.
    Stored(&'a Poly<Ntt>),
    /// Written one limb at a time, when it is needed.
    Written(T),
    /// As `Written` for a polynomial with [few enough](Factor::is_by_tile) coefficients: one line of
    /// eight words for each tile of 64, since all eight lines are the same.
    ByTile(T),
}

impl<T> Factor<'_, T> {
    /// Whether a polynomial of this degree in the power `X^(degree / coefficients)` has the same
    /// values in all eight lines of each tile of 64 words.
    pub fn is_by_tile(degree: usize, coefficients: usize) -> bool {
        degree >= backend::MIN_WIDE_DEGREE && 8 * coefficients <= degree
    }

    /// Words of one limb that are written.
    fn written(&self, degree: usize) -> usize {
        match self {
            Self::Stored(_) => 0,
            Self::Written(_) => degree,
            Self::ByTile(_) => degree / 8,
        }
    }
}

/// Room for one limb of everything.
struct Scratch {
    /// By limb of those that are worked on together, then digit.
    digits: AlignedVec,
    /// Of one rotation, by column.
    sums: AlignedVec,
    /// By rotation, then column, each with a gap behind it.
    rotated: AlignedVec,
    /// The written factors of some sums.
    factors: AlignedVec,
}

impl Digits<'_> {
    /// `sum_t factor_t rotated_t` for every row of `sums`: for each of them the columns, over
    /// [`HybridGadget::ring`](crate::HybridGadget::ring)`(limbs)`. `write(x, i, limb)` fills in
    /// limb `i` of a factor that is not stored, or a line for each of its tiles.
    ///
    /// # Panics
    /// If rotations differ in their columns, rows are too few, have too few limbs or are of another ring than
    /// they should, or polynomials do not have the limbs of the digits.
    pub fn transform<T: Sync>(
        &self,
        rotated: &[Rotated],
        sums: &[Vec<Weighted<T>>],
        write: impl Fn(&T, usize, &mut [u64]) + Sync + Send,
    ) -> Vec<Vec<Poly<Ntt>>> {
        let columns = rotated.first().map_or(0, Rotated::columns);
        rotated.iter().for_each(|x| self.check_rotated(x, columns));
        for factor in sums.iter().flatten() {
            assert!(factor.rotated < rotated.len(), "a factor of a rotation");
            if let Factor::Stored(poly) = factor.factor {
                self.ring().check(poly);
            }
        }
        let (ring, n) = (self.ring(), self.ring().degree());
        let batches = batches(sums, n);
        let most = batches.iter().map(|batch| written(&sums[batch.clone()], n)).max().unwrap_or(0);
        let mut results: Vec<Poly<Ntt>> = (0..sums.len() * columns).map(|_| ring.unset()).collect();
        let together = self.together(ring.limbs());
        par::each_with(
            par::grouped(par::by_limb(&mut results), together),
            n * sums.len() * columns * together,
            HEAVY,
            || Scratch {
                digits: ring.scratch(self.converted() * n * together),
                sums: ring.scratch(columns * n),
                rotated: ring.scratch(rotated.len() * columns * (n + GAP)),
                factors: ring.scratch(most),
            },
            |scratch, i, limbs| {
                let first = i * together;
                if rotated.iter().any(|x| matches!(x, Rotated::Switched { .. })) {
                    self.convert(first..first + limbs.len(), &mut scratch.digits);
                }
                for (k, mut targets) in limbs.into_iter().enumerate() {
                    self.rotate(rotated, columns, (first + k, k), scratch);
                    let Scratch { rotated, factors, .. } = scratch;
                    for batch in &batches {
                        let targets = &mut targets[batch.start * columns..batch.end * columns];
                        let sums = &sums[batch.clone()];
                        let write = |x: &T, limb: &mut [u64]| write(x, first + k, limb);
                        let factors = write_factors(sums, (first + k, n), factors, write);
                        let terms = terms(sums, &factors, (rotated, columns, n));
                        for start in (0..n).step_by(PIECE) {
                            let at = start..n.min(start + PIECE);
                            for (target, terms) in targets.iter_mut().zip(&terms) {
                                let table = ring.table(first + k);
                                backend::sum_of_terms(table, &mut target[at.clone()], start, terms);
                            }
                        }
                    }
                }
            },
        );
        let mut results = results.into_iter();
        sums.iter().map(|_| results.by_ref().take(columns).collect()).collect()
    }

    /// The digits that are not ready at some primes, by limb.
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

    /// Limb `i` of every rotation, the `k`-th of those that are worked on together.
    fn rotate(
        &self,
        rotated: &[Rotated],
        columns: usize,
        (i, k): (usize, usize),
        scratch: &mut Scratch,
    ) {
        let (ring, n) = (self.ring(), self.ring().degree());
        let table = ring.table(i);
        let p = match i < self.limbs() {
            true => self.gadget().p_residue(i),
            false => 0,
        };
        let Scratch { digits, sums, rotated: out, .. } = scratch;
        let all = self.count() * self.components();
        let mut converted = digits.chunks(n).skip(k * self.converted());
        let digits: Vec<&[u64]> = (0..all)
            .map(|row| match self.ready(row, i) {
                Some(limb) => limb,
                None => converted.next().expect("as many as are converted"),
            })
            .collect();
        let padded = n + GAP;
        for (x, out) in rotated.iter().zip(out.chunks_mut((columns * padded).max(1))) {
            let out = out.chunks_mut(padded).map(|out| &mut out[..n]);
            match x {
                Rotated::Switched { rows, body, map } => {
                    let stored = self.stored_limb(rows, i);
                    let factors = rows.columns.iter().map(|column| {
                        column.iter().take(all).map(|row| row.limb(stored)).collect()
                    });
                    summed(table, &digits, &factors.collect::<Vec<_>>(), sums);
                    for (column, (sum, out)) in sums.chunks_mut(n).zip(out).enumerate() {
                        if column == 0 && p != 0 {
                            backend::add_multiple(table, sum, body.limb(i), p);
                        }
                        backend::permute(table, out, sum, &map.ntt_map);
                    }
                }
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
        assert_eq!(x.columns(), columns, "columns of a rotation");
        let polys = match x {
            Rotated::Switched { rows, body, .. } => {
                self.check_rows(rows);
                std::slice::from_ref(body)
            }
            Rotated::Lifted(polys) => polys,
        };
        for poly in polys {
            self.gadget().q().prefix(self.limbs()).check(poly);
        }
    }
}

impl Rotated<'_> {
    fn columns(&self) -> usize {
        match self {
            Self::Switched { rows, .. } => rows.columns.len(),
            Self::Lifted(polys) => polys.len(),
        }
    }
}

/// Words of one limb that are written for some sums.
fn written<T>(sums: &[Vec<Weighted<T>>], degree: usize) -> usize {
    sums.iter().flatten().map(|term| term.factor.written(degree)).sum()
}

/// Sums whose factors are written before all of them are taken.
fn batches<T>(sums: &[Vec<Weighted<T>>], degree: usize) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    for k in 0..sums.len() {
        match batches.last_mut() {
            Some(last) if written(&sums[last.start..=k], degree) <= WRITTEN => last.end = k + 1,
            _ => batches.push(k..k + 1),
        }
    }
    batches
}

/// Limb `i` of the factors of some sums, written into `free` where they do not stand elsewhere.
fn write_factors<'a, T>(
    sums: &'a [Vec<Weighted<T>>],
    (i, degree): (usize, usize),
    mut free: &'a mut [u64],
    write: impl Fn(&T, &mut [u64]),
) -> Vec<Vec<&'a [u64]>> {
    let mut factor = |term: &'a Weighted<T>| -> &'a [u64] {
        let words = term.factor.written(degree);
        let (limb, rest) = std::mem::take(&mut free).split_at_mut(words);
        free = rest;
        match &term.factor {
            Factor::Stored(poly) => return poly.limb(i),
            Factor::Written(x) | Factor::ByTile(x) => write(x, limb),
        }
        limb
    };
    sums.iter().map(|sum| sum.iter().map(&mut factor).collect()).collect()
}

/// The products of every sum and column.
fn terms<'a, T>(
    sums: &[Vec<Weighted<T>>],
    factors: &[Vec<&'a [u64]>],
    (rotated, columns, degree): (&'a [u64], usize, usize),
) -> Vec<Vec<Term<'a>>> {
    let places = sums.iter().zip(factors).flat_map(|sum| (0..columns).map(move |c| (sum, c)));
    let terms = places.map(|((sum, factors), column)| {
        let term = |(term, &factor): (&Weighted<T>, &&'a [u64])| {
            let from = (term.rotated * columns + column) * (degree + GAP);
            Term { factor, row: &rotated[from..from + degree] }
        };
        sum.iter().zip(factors).map(term).collect()
    });
    terms.collect()
}

/// The sums of products of some rows with the factors of each column, one after the other.
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
    use crate::testing::{gadget, p_residues, packed, values};
    use crate::{Modulus, NttTable, Row};

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
        let (q, ring) = (g.q().prefix(limbs), g.ring(limbs));
        let (body, mask) = (values(&q, 1), values(&q, 2));
        let maps = [5, 25].map(|e| g.q().automorphism(e).unwrap());
        let keys: Vec<Vec<Vec<Poly<Ntt>>>> = (0..2)
            .map(|k| {
                let row = |c: usize, r: usize| values(g.ring(5), (9 + 100 * k + 10 * c + r) as u64);
                (0..2).map(|c| (0..g.digits(5)).map(|r| row(c, r)).collect()).collect()
            })
            .collect();
        let packed: Vec<Vec<Vec<Row>>> = keys
            .iter()
            .map(|key: &Vec<Vec<_>>| {
                let pack =
                    |column: &Vec<_>| column.iter().map(|row| Row::new(g.ring(5), row)).collect();
                key.iter().map(pack).collect()
            })
            .collect();
        let rows = |k: usize| Rows {
            columns: packed[k].iter().map(|column: &Vec<_>| column.iter().collect()).collect(),
            limbs: 5,
        };
        let switched = |k: usize| Rotated::Switched { rows: rows(k), body: &body, map: &maps[k] };
        let rotated = [switched(0), Rotated::Lifted(vec![&body, &mask]), switched(1)];

        let inputs = [&mask];
        let digits = g.digits_of(&inputs);
        let lifted = |a: &Poly<Ntt>| {
            let mut out = ring.zero();
            out.data_mut()[..a.data().len()].copy_from_slice(a.data());
            ring.mul_residues_assign(&mut out, &p_residues(&g, limbs));
            out
        };
        let whole = |x: &Rotated| -> Vec<Poly<Ntt>> {
            match x {
                Rotated::Lifted(polys) => polys.iter().map(|a| lifted(a)).collect(),
                Rotated::Switched { rows, body, map } => {
                    let mut columns = digits.product(rows);
                    ring.add_assign(&mut columns[0], &lifted(body));
                    columns.iter().map(|column| ring.apply_ntt(column, map)).collect()
                }
            }
        };
        let whole: Vec<_> = rotated.iter().map(whole).collect();

        // Every third one in a power of X, of which tiles have the values eight times.
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
            rotated: t % 2,
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
        let found = digits.transform(&rotated, &sums, write);
        let kept = digits.store();
        assert!(found == g.stored_digits(&kept).transform(&rotated, &sums, write));
        assert_eq!(found.len(), sums.len());
        for (terms, found) in sums.iter().zip(&found) {
            for (column, found) in found.iter().enumerate() {
                let mut expected = ring.zero();
                for term in terms {
                    let plain = match term.factor {
                        Factor::Stored(plain) => plain,
                        Factor::Written(t) | Factor::ByTile(t) => &plain[t],
                    };
                    ring.mul_add_assign(&mut expected, plain, &whole[term.rotated][column]);
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
