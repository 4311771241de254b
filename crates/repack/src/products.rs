//! The inner sums of Fig. 5, step 3: sums of products of encoded diagonals with the baby steps.
//!
//! A diagonal is used once, so nothing of it is kept: it is encoded, transformed modulo one prime
//! in as many values as it has (a small transform, see [`Params::small_transform`]), and spread to
//! the degree of the ring only while its products are formed, a hundred positions at a time.
//! Several giant steps are computed together, so that each part of the key is read from memory once
//! for all of them.

use bellerophon_ckks::{Ciphertext, Complex64, Params};
use bellerophon_ring::{Modulus, Ntt, Poly, Ring};

use crate::{Error, Layout, Matrix, Result, Tiling, par};

/// Positions of the ring that are worked on at a time.
const TILE: usize = 128;

/// Pairs that one call of the ring's kernel takes.
const PAIRS: usize = 32;

/// Words of transformed diagonals that one thread holds, at most (8 MiB), unless one giant step
/// alone needs more.
const WORDS: usize = 1 << 20;

/// Coefficients of an encoding stay below this.
const LIMIT: f64 = (1u64 << 62) as f64;

/// The diagonals of a matrix and the ciphertexts that they multiply.
pub(crate) struct Products<'r, M: ?Sized> {
    pub params: &'r Params,
    pub rotations: &'r [Ciphertext],
    pub matrix: &'r M,
    pub layout: &'r Layout,
    pub tiling: Tiling,
    /// The ring of the products.
    pub ring: &'r Ring,
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
    /// No magnitude of a coefficient is larger.
    largest: u64,
    mean_square: f64,
}

impl<'r, M: Matrix + ?Sized> Products<'r, M> {
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
                // Which of the two alone: the entry may be secret.
                found: if squares.is_finite() { "a larger one" } else { "not finite" }.into(),
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
        let largest = coefficients.iter().fold(0, |m, c: &i64| m | c.unsigned_abs());
        Ok(Encoded { coefficients, largest, mean_square: squares / length as f64 })
    }

    /// Writes limb `i` of all outputs: for each giant step the body, then the masks.
    fn multiply_limb(&self, i: usize, encoded: &[Encoded], mut outputs: Vec<&mut [u64]>) {
        let (table, positions) = self.params.small_transform(self.coefficients(), i);
        let large = self.ring.table(i);
        let values: Vec<Vec<u64>> = encoded
            .iter()
            .map(|diagonal| {
                let q = table.modulus();
                let mut values = diagonal.residues(q);
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
                    let rows: Vec<&[u64]> = match positions.get(range.clone()) {
                        Some(map) => spread
                            .iter_mut()
                            .zip(values)
                            .map(|(row, values)| gather(row, values, map))
                            .collect(),
                        None => values.iter().map(|values| &values[range.clone()]).collect(),
                    };
                    for (part, output) in outputs.iter_mut().enumerate() {
                        let factor = |ct: &'r Ciphertext| {
                            let ct = ct.lattice();
                            let poly = if part == 0 { ct.b() } else { ct.a(part - 1) };
                            &poly.limb(i)[range.clone()]
                        };
                        let factors = self.rotations[first..].iter().map(factor);
                        let pairs: Vec<_> = rows.iter().copied().zip(factors).collect();
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

impl Encoded {
    /// The coefficients modulo `q`: a conditional addition where all are below it, as nearly
    /// always.
    fn residues(&self, q: &Modulus) -> Vec<u64> {
        if self.largest < q.value() {
            let lift = |&c: &i64| (c as u64).wrapping_add(q.value() & (c >> 63) as u64);
            self.coefficients.iter().map(lift).collect()
        } else {
            self.coefficients.iter().map(|&c| q.from_i64(c)).collect()
        }
    }
}

/// The values that stand at the positions of a part of the large transform.
fn gather<'r>(row: &'r mut [u64], values: &[u64], map: &[u32]) -> &'r [u64] {
    let lines = row.as_chunks_mut::<8>().0;
    let mut last: Option<(&[u32; 8], [u64; 8])> = None;
    for (line, map) in lines.iter_mut().zip(map.as_chunks::<8>().0) {
        *line = match last {
            // Values stand several times, mostly in equal lines.
            Some((same, line)) if same == map => line,
            _ => map.map(|position| values[position as usize]),
        };
        last = Some((map, *line));
    }
    row
}
