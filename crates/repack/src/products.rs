//! The inner sums of Fig. 5, step 3: sums of products of encoded diagonals with the baby steps.
//!
//! A diagonal is used once, so nothing of it is kept: it is encoded, transformed modulo one prime
//! in as many values as it has (a small transform, see [`Params::small_transform`]), and spread to
//! the degree of the ring only while its products are formed, a few hundred positions at a time.
//! Several giant steps are computed together, so that each part of the key is read from memory once
//! for all of them.

use bellerophon_ckks::{Ciphertext, Complex64, Params};
use bellerophon_ring::{Modulus, Ntt, Poly, Ring};

use crate::{Error, Layout, Matrix, Result, Tiling, par};

/// Positions of the ring that are worked on at a time.
const TILE: usize = 512;

/// Pairs that one call of the ring's kernel takes.
const PAIRS: usize = 32;

/// Words of transformed diagonals that one thread holds, at most (8 MiB), unless one giant step
/// alone needs more.
const WORDS: usize = 1 << 20;

/// Coefficients of an encoding stay below this.
const LIMIT: f64 = (1u64 << 62) as f64;

/// The diagonals of a matrix and the ciphertexts that they multiply.
pub(crate) struct Products<'p, M: ?Sized> {
    pub params: &'p Params,
    pub rotations: &'p [Ciphertext],
    pub matrix: &'p M,
    pub layout: &'p Layout,
    pub tiling: Tiling,
    /// The ring of the products.
    pub ring: &'p Ring,
    /// Scale of the encoded diagonals.
    pub scale: f64,
}

/// The inner sum of one giant step.
pub(crate) struct InnerSum {
    /// Body and masks.
    pub polys: Vec<Poly<Ntt>>,
    /// For each baby step the mean square of the diagonal's entries.
    pub mean_squares: Vec<f64>,
}

/// A diagonal's encoding.
struct Encoded {
    coefficients: Vec<i64>,
    mean_square: f64,
}

impl<M: Matrix + ?Sized> Products<'_, M> {
    /// How many giant steps are computed together.
    pub(crate) fn batch(&self) -> usize {
        (WORDS / (self.tiling.baby_steps() * self.coefficients())).max(1)
    }

    /// The inner sums `sum_g Ecd(m_{bG+g} >> bG) c_g` of the giant steps `b` in `giants`.
    ///
    /// # Errors
    /// [`Error::Value`] when an entry of the matrix is not finite or too large to encode.
    pub(crate) fn inner_sums(&self, giants: std::ops::Range<usize>) -> Result<Vec<InnerSum>> {
        let baby = self.tiling.baby_steps();
        let diagonals: Vec<usize> = (giants.start * baby..giants.end * baby).collect();
        let encoded = par::map(&diagonals, |&j| self.encode(j / baby, j % baby))?;
        let parts = self.rotations[0].lattice().rank() + 1;
        let mut polys: Vec<Poly<Ntt>> =
            (0..giants.len() * parts).map(|_| self.ring.zero()).collect();
        // Limb by limb: the limb of every output.
        let mut limbs: Vec<Vec<&mut [u64]>> = (0..self.ring.limbs()).map(|_| vec![]).collect();
        for poly in &mut polys {
            let degree = poly.degree();
            let chunks = poly.data_mut().chunks_exact_mut(degree);
            limbs.iter_mut().zip(chunks).for_each(|(limb, chunk)| limb.push(chunk));
        }
        par::for_each(limbs, |i, outputs| self.multiply_limb(i, &encoded, outputs));
        let mut polys = polys.into_iter();
        let sums = encoded.chunks(baby).map(|diagonals| InnerSum {
            polys: polys.by_ref().take(parts).collect(),
            mean_squares: diagonals.iter().map(|d| d.mean_square).collect(),
        });
        Ok(sums.collect())
    }

    /// Coefficients of an encoding: two for each slot, at least as many as a transform takes.
    fn coefficients(&self) -> usize {
        (2 * self.tiling.length()).max(8)
    }

    /// One shifted diagonal, encoded ([`bellerophon_ckks::Encoder`] does the same).
    fn encode(&self, giant: usize, baby: usize) -> Result<Encoded> {
        let length = self.tiling.length();
        let mut diagonal = vec![0.0; length];
        self.tiling.write_diagonal(self.matrix, self.layout, giant, baby, &mut diagonal);
        let squares: f64 = diagonal.iter().map(|x| x * x).sum();
        let largest = diagonal.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        // A sum of squares tells of entries that are no numbers, a maximum does not.
        if !squares.is_finite() || largest * self.scale >= LIMIT {
            return Err(Error::Value {
                op: "encode a matrix",
                what: "an entry",
                found: if squares.is_finite() { largest } else { squares }.to_string(),
                needed: "finite numbers below 2^62 / q, q the prime that is divided out",
            });
        }
        let mut spectrum: Vec<Complex64> =
            diagonal.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        self.params.embedding().to_coefficients(&mut spectrum);
        let count = self.coefficients();
        let gap = count / (2 * length);
        let mut coefficients = vec![0; count];
        for (i, c) in spectrum.iter().enumerate() {
            coefficients[i * gap] = (c.re * self.scale).round_ties_even() as i64;
            coefficients[(i + length) * gap] = (c.im * self.scale).round_ties_even() as i64;
        }
        Ok(Encoded { coefficients, mean_square: squares / length as f64 })
    }

    /// Writes limb `i` of all outputs: for each giant step the body, then the masks.
    fn multiply_limb(&self, i: usize, encoded: &[Encoded], mut outputs: Vec<&mut [u64]>) {
        let (table, positions) = self.params.small_transform(self.coefficients(), i);
        let large = self.ring.table(i);
        let values: Vec<Vec<u64>> = encoded
            .iter()
            .map(|diagonal| {
                let q = table.modulus();
                let mut values = residues(q, &diagonal.coefficients);
                table.forward(&mut values);
                values
            })
            .collect();
        let (baby, degree) = (self.tiling.baby_steps(), large.degree());
        let parts = outputs.len() / (encoded.len() / baby);
        let tile = TILE.min(degree);
        let mut spread = vec![vec![0; tile]; PAIRS.min(baby)];
        let mut partial = vec![0; tile];
        for start in (0..degree).step_by(tile) {
            let range = start..start + tile;
            for (values, outputs) in values.chunks(baby).zip(outputs.chunks_mut(parts)) {
                for (first, values) in (0..baby).step_by(PAIRS).zip(values.chunks(PAIRS)) {
                    for (row, values) in spread.iter_mut().zip(values) {
                        match positions.get(range.clone()) {
                            Some(map) => gather(row, values, map),
                            None => row.copy_from_slice(&values[range.clone()]),
                        }
                    }
                    for (part, output) in outputs.iter_mut().enumerate() {
                        let pairs: Vec<(&[u64], &[u64])> = spread
                            .iter()
                            .zip(&self.rotations[first..])
                            .take(values.len())
                            .map(|(row, ct)| {
                                let ct = ct.lattice();
                                let poly = if part == 0 { ct.b() } else { ct.a(part - 1) };
                                (&row[..], &poly.limb(i)[range.clone()])
                            })
                            .collect();
                        let output = &mut output[range.clone()];
                        if first == 0 {
                            large.sum_of_partial_products(output, &pairs);
                        } else {
                            large.sum_of_partial_products(&mut partial, &pairs);
                            let q = large.modulus();
                            output.iter_mut().zip(&partial).for_each(|(x, &y)| *x = q.add(*x, y));
                        }
                    }
                }
            }
        }
    }
}

/// Coefficients modulo `q`: one conditional addition each where all are below it, as nearly always.
fn residues(q: &Modulus, coefficients: &[i64]) -> Vec<u64> {
    if coefficients.iter().fold(0, |m, c| m | c.unsigned_abs()) < q.value() {
        let lift = |&c: &i64| (c as u64).wrapping_add(q.value() & (c >> 63) as u64);
        coefficients.iter().map(lift).collect()
    } else {
        coefficients.iter().map(|&c| q.from_i64(c)).collect()
    }
}

fn gather(row: &mut [u64], values: &[u64], map: &[u32]) {
    for (x, &position) in row.iter_mut().zip(map) {
        *x = values[position as usize];
    }
}
