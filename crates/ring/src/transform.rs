//! Sums of products of rotated ciphertexts with plaintexts, modulo `P Q`, limb by limb: the work of
//! a linear transform whose rotations share their digits and their division by `P` (double
//! hoisting: Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, eprint 2020/1203, section 4).
//!
//! For each prime in turn the digits are converted once, every rotation is made and multiplied into
//! the sums while it stands in cache. Only the sums are ever stored as a whole.

use crate::{
    Automorphism, Digits, Ntt, NttTable, Poly, Rows,
    aligned::AlignedVec,
    backend,
    par::{self, HEAVY},
};

/// Words of the pieces in which products are summed up: those of a row stay in cache between the
/// columns.
const PIECE: usize = 1 << 11;

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
}

/// Room for one limb of everything.
struct Scratch {
    digits: AlignedVec,
    sum: AlignedVec,
    /// By rotation, then column.
    rotated: AlignedVec,
    /// The written factors of one row.
    factors: AlignedVec,
}

impl Digits<'_> {
    /// `sum_t factor_t rotated_t` for every row of `sums`: for each of them the columns, over
    /// [`HybridGadget::ring`](crate::HybridGadget::ring)`(limbs)`. `write(x, i, limb)` fills in
    /// limb `i` of a factor that is not stored.
    ///
    /// # Panics
    /// If rotations differ in their columns, or polynomials do not have the limbs of the digits.
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
        let written = |sum: &Vec<Weighted<T>>| {
            sum.iter().filter(|term| matches!(term.factor, Factor::Written(_))).count()
        };
        let most = sums.iter().map(written).max().unwrap_or(0);
        let mut results: Vec<Poly<Ntt>> = (0..sums.len() * columns).map(|_| ring.unset()).collect();
        let targets = par::by_limb(&mut results);
        par::each_with(
            targets,
            n * sums.len() * columns,
            HEAVY,
            || Scratch {
                digits: ring.scratch(self.converted() * n),
                sum: ring.scratch(n),
                rotated: ring.scratch(rotated.len() * columns * n),
                factors: ring.scratch(most * n),
            },
            |scratch, i, mut targets| {
                let table = ring.table(i);
                self.rotate(rotated, columns, i, scratch);
                let Scratch { rotated, factors, .. } = scratch;
                for (sum, targets) in sums.iter().zip(targets.chunks_mut(columns.max(1))) {
                    let mut free = factors.chunks_mut(n);
                    let factors: Vec<&[u64]> = sum
                        .iter()
                        .map(|term| match &term.factor {
                            Factor::Stored(poly) => poly.limb(i),
                            Factor::Written(source) => {
                                let limb = free.next().expect("as many as a row has");
                                write(source, i, limb);
                                limb
                            }
                        })
                        .collect();
                    for start in (0..n).step_by(PIECE) {
                        let at = start..n.min(start + PIECE);
                        for (column, target) in targets.iter_mut().enumerate() {
                            let pairs = sum.iter().zip(&factors).map(|(term, factor)| {
                                let from = (term.rotated * columns + column) * n;
                                let limb = &rotated[from..from + n];
                                (&factor[at.clone()], &limb[at.clone()])
                            });
                            summed(table, &mut target[at.clone()], pairs);
                        }
                    }
                }
            },
        );
        let mut results = results.into_iter();
        sums.iter().map(|_| results.by_ref().take(columns).collect()).collect()
    }

    /// Limb `i` of every rotation.
    fn rotate(&self, rotated: &[Rotated], columns: usize, i: usize, scratch: &mut Scratch) {
        let (ring, n) = (self.ring(), self.ring().degree());
        let table = ring.table(i);
        let p = match i < self.limbs() {
            true => self.gadget().p_residue(i),
            false => 0,
        };
        let Scratch { digits, sum, rotated: out, .. } = scratch;
        let all = self.count() * self.components();
        if rotated.iter().any(|x| matches!(x, Rotated::Switched { .. })) {
            for (row, limb) in
                (0..all).filter(|&row| self.ready(row, i).is_none()).zip(digits.chunks_mut(n))
            {
                self.write_limb(row, i, limb);
            }
        }
        let mut converted = digits.chunks(n);
        let digits: Vec<&[u64]> = (0..all)
            .map(|row| match self.ready(row, i) {
                Some(limb) => limb,
                None => converted.next().expect("as many as are converted"),
            })
            .collect();
        for (x, out) in rotated.iter().zip(out.chunks_mut((columns * n).max(1))) {
            match x {
                Rotated::Switched { rows, body, map } => {
                    let stored = self.stored_limb(rows, i);
                    let columns = rows.columns.iter().zip(out.chunks_mut(n)).enumerate();
                    for (column, (rows, out)) in columns {
                        let rows = rows.iter().map(|row| row.limb(stored));
                        summed(table, sum, digits.iter().copied().zip(rows));
                        if column == 0 && p != 0 {
                            backend::add_multiple(table, sum, body.limb(i), p);
                        }
                        backend::permute(table, out, sum, &map.ntt_map);
                    }
                }
                Rotated::Lifted(polys) => {
                    for (poly, out) in polys.iter().zip(out.chunks_mut(n)) {
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

/// `out = sum_i a_i b_i`, 0 for no products.
fn summed<'a>(
    table: &NttTable,
    out: &mut [u64],
    products: impl Iterator<Item = (&'a [u64], &'a [u64])>,
) {
    let mut products = products.peekable();
    if products.peek().is_none() {
        out.fill(0);
    }
    let mut first = true;
    while products.peek().is_some() {
        let mut pairs = [(&[][..], &[][..]); backend::MAX_PRODUCTS];
        let mut count = 0;
        for (place, pair) in pairs.iter_mut().zip(products.by_ref()) {
            *place = pair;
            count += 1;
        }
        if first {
            backend::sum_of_products(table, out, &pairs[..count]);
        } else {
            let mut partial = vec![0; out.len()];
            backend::sum_of_products(table, &mut partial, &pairs[..count]);
            backend::add_assign(table, out, &partial);
        }
        first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gadget, p_residues, values};

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
        let rows = |k: usize| Rows {
            columns: keys[k].iter().map(|column: &Vec<_>| column.iter().collect()).collect(),
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

        let plain: Vec<_> = (0..terms).map(|t| values(ring, 1000 + t as u64)).collect();
        let sum = |t: usize| Weighted {
            rotated: t % 2,
            factor: if t.is_multiple_of(3) {
                Factor::Written(t)
            } else {
                Factor::Stored(&plain[t])
            },
        };
        let sums = [(0..terms).map(sum).collect(), vec![], vec![sum(0)]];
        let write = |t: &usize, i: usize, limb: &mut [u64]| limb.copy_from_slice(plain[*t].limb(i));
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
                        Factor::Written(t) => &plain[t],
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
