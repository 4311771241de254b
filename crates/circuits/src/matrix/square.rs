//! Products of encrypted square matrices (Jiang, Kim, Lauter and Song, eprint 2018/1041).

use bellerophon_ckks::eval::mask::whole;
use bellerophon_ckks::eval::statements::within;
use bellerophon_ckks::{CkksOps, Complex64, ComposedOps, KeyLevels, Params, Result};

use super::{area, from_entries};
use crate::circuit_ops::CircuitOps;
use crate::diagonals::Diagonals;
use crate::error;
use crate::lintrans::{LinearOptions, LinearTransform};

/// The product of two encrypted `d x d` matrices, each in the `d^2` slots of one ciphertext, row by
/// row (eprint 2018/1041, section 3):
///
/// ```text
/// A B = sum_{k < d} phi^k(sigma(A)) . psi^k(tau(B)),
/// sigma(A)[i][j] = A[i][i + j],  tau(B)[i][j] = B[i + j][j],
/// phi(A)[i][j] = A[i][j + 1],    psi(B)[i][j] = B[i + 1][j],
/// ```
///
/// indices modulo `d`. `sigma` and `tau` take one level, the two masks of `phi^k` another, and the
/// `d` products, with one relinearization and one rescale, the third; `psi^k` is a rotation.
/// Smaller and rectangular matrices are padded with zeros.
#[derive(Debug, Clone)]
pub struct MatrixProduct {
    dimension: usize,
    sigma: LinearTransform,
    tau: LinearTransform,
}

impl MatrixProduct {
    /// Levels of a product.
    pub const LEVELS: usize = 3;

    /// Prepares products of matrices of dimension `d`, a power of two, at `level`.
    pub fn new(params: &Params, dimension: usize, level: usize) -> Result<Self> {
        let d = check_dimension(dimension)?;
        if level < Self::LEVELS {
            return Err(error::out_of_levels(Self::LEVELS, level));
        }
        let slots = d * d;
        if slots > params.max_slots() {
            let most = params.max_slots();
            return Err(error::too_many_values(slots, most));
        }
        let permutation = |source: &dyn Fn(usize, usize) -> (usize, usize)| {
            // Exactly one nonzero entry in each row of the transform.
            let entries = (0..slots).map(|slot| {
                let (i, j) = source(slot / d, slot % d);
                (slot, i % d * d + j % d, Complex64::ONE)
            });
            LinearTransform::new(
                params,
                &from_entries(slots, entries),
                level,
                LinearOptions::default(),
            )
        };
        Ok(Self {
            dimension,
            sigma: permutation(&|i, j| (i, i + j))?,
            tau: permutation(&|i, j| (i + j, j))?,
        })
    }

    /// The keys of the product.
    pub fn keys(&self) -> KeyLevels {
        let d = self.dimension as i64;
        let below = self.sigma.level - 1;
        KeyLevels::default()
            .multiply(below - 1)
            .and(&self.sigma.keys())
            .and(&self.tau.keys())
            .rotate((1..d).flat_map(|k| [k, k - d, d * k]), below)
    }

    /// `A B`. Takes three levels from the prepared one.
    pub fn apply<A: CkksOps>(
        &self,
        eval: &A,
        a: &A::Ciphertext,
        b: &A::Ciphertext,
    ) -> Result<A::Ciphertext> {
        eval.composed("multiply matrices", || {
            for x in [a, b] {
                error::check_slots(&eval.metadata(x).meta, self.dimension * self.dimension)?;
            }
            let related = eval.origins(a).mixes_with(&eval.origins(b));
            let (a, b) = (whole(eval, a)?, whole(eval, b)?);
            self.product(eval, &a, &b, related)
        })
    }

    fn product<A: CkksOps>(
        &self,
        eval: &A,
        a: &A::Ciphertext,
        b: &A::Ciphertext,
        related: bool,
    ) -> Result<A::Ciphertext> {
        let d = self.dimension;
        // A permutation of the slots keeps their range.
        let permuted = |x: &A::Ciphertext, by: &LinearTransform| -> Result<A::Ciphertext> {
            Ok(within(eval, eval.transform(x, by)?, eval.metadata(x).meta.bounds.slots()))
        };
        // Step 1: sigma(A) and tau(B), the permuted operands of eprint 2018/1041.
        let (left, right) = (permuted(a, &self.sigma)?, permuted(b, &self.tau)?);
        let steps = |f: fn(i64, i64) -> i64| -> Vec<i64> {
            (1..d as i64).map(|k| f(k, d as i64)).collect()
        };
        // Step 2: phi^k and psi^k for every k. Columns that wrap around take a second rotation, so
        // phi^k is a sum of two masked ones; psi^k rotates whole rows and needs no mask.
        let near = eval.rotate_many(&left, &steps(|k, _| k))?;
        let far = eval.rotate_many(&left, &steps(|k, d| k - d))?;
        let mut rights = eval.rotate_many(&right, &steps(|k, d| d * k))?;
        let known = eval.metadata(&left);
        // The errors of permuted entries are those of other entries in every slot, which are
        // independent unless the errors of the operands are `related`.
        let labelled = |x: A::Ciphertext, label: usize| {
            let origins = eval.origins(&x).labelled(label);
            eval.with_origins(x, origins)
        };
        let mut lefts = Vec::with_capacity(d);
        for (k, (near, far)) in (1..d).zip(near.iter().zip(&far)) {
            // phi^k: the columns that stay in their row, and those that wrap around.
            let mask = |stays: bool| {
                let inside = |slot: usize| (slot % d < d - k) == stays;
                (0..d * d).map(|slot| f64::from(u8::from(inside(slot)))).collect::<Vec<_>>()
            };
            let [near, far] = [(near, 1), (far, 2)].map(|(x, label)| labelled(x.clone(), label));
            let shifted = eval.dot_values(&[&near, &far], &[mask(true), mask(false)])?;
            let shifted = eval.with_origins(shifted, eval.origins(&left));
            lefts.push(within(eval, shifted, known.meta.bounds.slots()));
        }
        // phi^0 needs no mask, but its product must have the level and scale of the others.
        lefts.push(eval.drop_to_level(&left, known.level - 1)?);
        rights.push(right);
        // Step 3: the sum of the products phi^k(sigma(A)) psi^k(tau(B)), with one relinearization.
        // Every slot of a product comes from another pair of entries: their errors are independent.
        let each = |x: Vec<A::Ciphertext>| -> Vec<A::Ciphertext> {
            let label = |(k, x)| if related { x } else { labelled(x, k) };
            x.into_iter().enumerate().map(label).collect()
        };
        let (lefts, rights) = (each(lefts), each(rights));
        let lefts: Vec<&A::Ciphertext> = lefts.iter().collect();
        let product = eval.dot(&lefts, &rights.iter().collect::<Vec<_>>())?;
        let origins = eval.origins(a).mixed_with(&eval.origins(b));
        Ok(eval.with_origins(product, origins))
    }
}

/// The transpose of a `d x d` matrix in `d^2` slots, row by row or column by column: `2 d - 1`
/// diagonals, at distance `d - 1`.
pub fn transpose(dimension: usize) -> Result<Diagonals> {
    let d = check_dimension(dimension)?;
    let entries = (0..d * d).map(|slot| (slot, slot % d * d + slot / d, Complex64::ONE));
    Ok(from_entries(d * d, entries))
}

fn check_dimension(dimension: usize) -> Result<usize> {
    if !dimension.is_power_of_two() {
        return Err(error::shape(format!("dimension {dimension}: need a power of two")));
    }
    area(dimension, dimension)?;
    Ok(dimension)
}
