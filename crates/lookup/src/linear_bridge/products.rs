//! The inner sums of Fig. 5, step 3: sums of products of encoded diagonals with the baby steps.
//!
//! A diagonal is used once, so it is not stored. It is encoded, and transformed modulo one prime by
//! an NTT of its own length
//! ([`transform`](bellerophon_ckks::sparse_slots::SparseTransforms::transform)). It is spread to
//! the degree of the ring only while its products are computed, a tile of positions at a time.
//! Several giant steps are computed together, so that each part of the key is read from memory once
//! for all of them.

use bellerophon_ckks::{Ciphertext, Complex64, Params};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Modulus, Ntt, Poly, Result, Ring, each_item, try_map};

use super::{
    layout::Layout,
    tall_diagonals::{Matrix, Tiling},
};
use crate::error;

/// Positions of a tile.
const TILE: usize = 128;

/// Pairs of factors per call of the kernel.
const PAIRS: usize = 32;

/// Limit on the words of transformed diagonals that one thread holds (8 MiB), unless one giant step
/// alone needs more.
const WORDS: usize = 1 << 20;

/// Limit on the magnitude of the coefficients of an encoding.
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

/// An encoded diagonal.
struct Encoded {
    coefficients: Vec<i64>,
    /// An upper bound on the magnitudes of the coefficients.
    largest: u64,
    mean_square: f64,
}

impl<'r, M: Matrix + ?Sized> Products<'r, M> {
    /// The number of giant steps that are computed together.
    pub(crate) fn batch(&self) -> usize {
        (WORDS / (self.tiling.baby_steps() * self.coefficients())).max(1)
    }

    /// The inner sums `sum_g Ecd(m_{bG+g} >> bG) c_g` of the giant steps `b` in `giants`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if an entry of the matrix is not finite or too large to encode.
    pub(crate) fn inner_sums(&self, giants: std::ops::Range<usize>) -> Result<Vec<InnerSum>> {
        // Step 1: encode the diagonals of these giant steps.
        let baby = self.tiling.baby_steps();
        let diagonals: Vec<usize> = (giants.start * baby..giants.end * baby).collect();
        let encoded = try_map(&diagonals, |&j| self.encode(j / baby, j % baby))?;
        let parts = self.rotations[0].lattice().rank() + 1;
        let mut polys: Vec<Poly<Ntt>> =
            (0..giants.len() * parts).map(|_| self.ring.zero()).collect();
        // Step 2: multiply and sum, one limb of all outputs at a time.
        let mut limbs: Vec<Vec<&mut [u64]>> = (0..self.ring.limbs()).map(|_| vec![]).collect();
        for poly in &mut polys {
            let degree = poly.degree();
            let chunks = poly.data_mut().chunks_exact_mut(degree);
            limbs.iter_mut().zip(chunks).for_each(|(limb, chunk)| limb.push(chunk));
        }
        each_item(limbs, |i, outputs| self.multiply_limb(i, &encoded, outputs));
        let mut polys = polys.into_iter();
        let sums = encoded.chunks(baby).map(|diagonals| InnerSum {
            polys: polys.by_ref().take(parts).collect(),
            mean_squares: diagonals.iter().map(|d| d.mean_square).collect(),
        });
        Ok(sums.collect())
    }

    /// Coefficients of an encoding: two for each slot, and at least the smallest size of a
    /// transform.
    fn coefficients(&self) -> usize {
        (2 * self.tiling.length()).max(8)
    }

    /// Encodes one shifted diagonal, like [`bellerophon_ckks::Encoder`].
    fn encode(&self, giant: usize, baby: usize) -> Result<Encoded> {
        // Step 1: the diagonal, with entries that can be encoded.
        let length = self.tiling.length();
        let mut diagonal = vec![0.0; length];
        self.tiling.write_diagonal(self.matrix, self.layout, giant, baby, &mut diagonal);
        let squares: f64 = diagonal.iter().map(|x| x * x).sum();
        let largest = diagonal.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        // A sum of squares propagates NaN, a maximum does not.
        if !squares.is_finite() || largest * self.scale >= LIMIT {
            // Without the entry, which may be secret.
            let found = if squares.is_finite() { "a larger one" } else { "not finite" };
            let needed = "finite numbers below 2^62 / q, q the prime that is divided out";
            return Err(error::value("an entry", found.into(), needed));
        }
        // Step 2: the inverse embedding.
        let mut spectrum: Vec<Complex64> =
            diagonal.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        self.params.embedding().to_coefficients(&mut spectrum);
        // Step 3: coefficients at the scale, rounded.
        let count = self.coefficients();
        let gap = count / (2 * length);
        let mut coefficients = vec![0; count];
        for (i, c) in spectrum.iter().enumerate() {
            coefficients[i * gap] = (c.re * self.scale).round_ties_even() as i64;
            coefficients[(i + length) * gap] = (c.im * self.scale).round_ties_even() as i64;
        }
        // The union of the bits of all magnitudes is at least their maximum.
        let largest = coefficients.iter().fold(0, |m, c: &i64| m | c.unsigned_abs());
        Ok(Encoded { coefficients, largest, mean_square: squares / length as f64 })
    }

    /// Writes limb `i` of all outputs: for each giant step the body, then the masks.
    fn multiply_limb(&self, i: usize, encoded: &[Encoded], mut outputs: Vec<&mut [u64]>) {
        // Step 1: the small transforms of all diagonals.
        let (table, positions) = self.params.sparse().transform(self.coefficients(), i);
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
        // Step 2: tile by tile, so that a part of the key stays in the cache for all giant steps.
        let mut spread = vec![vec![0; tile]; PAIRS.min(baby)];
        let mut partial = vec![0; tile];
        for start in (0..degree).step_by(tile) {
            let range = start..start + tile;
            for (values, outputs) in values.chunks(baby).zip(outputs.chunks_mut(parts)) {
                for (first, values) in (0..baby).step_by(PAIRS).zip(values.chunks(PAIRS)) {
                    // Step 3: a group of diagonals, spread to the positions of the tile.
                    let rows: Vec<&[u64]> = match positions.get(range.clone()) {
                        Some(map) => spread
                            .iter_mut()
                            .zip(values)
                            .map(|(row, values)| gather(row, values, map))
                            .collect(),
                        None => values.iter().map(|values| &values[range.clone()]).collect(),
                    };
                    // Step 4: their products with body and masks of the baby steps, added to the
                    // output.
                    for (part, output) in outputs.iter_mut().enumerate() {
                        let factor = |ct: &'r Ciphertext| {
                            let ct = ct.lattice();
                            let poly = if part == 0 { ct.b() } else { &ct.masks()[part - 1] };
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
    /// The coefficients modulo `q`: a conditional addition if all magnitudes are below `q`, which
    /// is the common case.
    fn residues(&self, q: &Modulus) -> Vec<u64> {
        if self.largest < q.value() {
            let lift = |&c: &i64| (c as u64).wrapping_add(q.value() & (c >> 63) as u64);
            self.coefficients.iter().map(lift).collect()
        } else {
            self.coefficients.iter().map(|&c| q.from_i64(c)).collect()
        }
    }
}

/// The values at the positions of one tile of the large transform.
fn gather<'r>(row: &'r mut [u64], values: &[u64], map: &[u32]) -> &'r [u64] {
    let lines = row.as_chunks_mut::<8>().0;
    let mut last: Option<(&[u32; 8], [u64; 8])> = None;
    for (line, map) in lines.iter_mut().zip(map.as_chunks::<8>().0) {
        *line = match last {
            // Values repeat, mostly in equal lines: reuse the last one.
            Some((same, line)) if same == map => line,
            _ => map.map(|position| values[position as usize]),
        };
        last = Some((map, *line));
    }
    row
}
