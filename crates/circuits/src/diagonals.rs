//! Matrices over the slots, held by their nonzero diagonals.
//!
//! The generalised diagonal `k` of an `n x n` matrix `M` is the vector `d_k` with
//! `d_k[i] = M[i][(i + k) mod n]`, so that
//!
//! ```text
//! (M v)[i] = sum_k d_k[i] v[(i + k) mod n],       M v = sum_k d_k . RotL^k(v),
//! ```
//!
//! which is what a ciphertext can do. With `k = g + b` the baby steps `RotL^b` are shared:
//!
//! ```text
//! M v = sum_g RotL^g( sum_b RotR^g(d_{g+b}) . RotL^b(v) )
//! ```
//!
//! (PEGASUS Fig. 5, steps 2 and 3). [`Diagonals::schedule`] chooses the two sets of steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use num_complex::Complex64;

/// Time of a rotation by a giant step, in units of a hoisted rotation (a baby step): the giant
/// step decomposes its own input, the baby steps share one decomposition.
const GIANT_COST: f64 = 2.5;

/// A square matrix over `slots` slots, given by its nonzero generalised diagonals.
///
/// A diagonal of period `p` (a power of two dividing `slots`) is stored as `p` numbers.
#[derive(Clone, PartialEq)]
pub struct Diagonals {
    slots: usize,
    diagonals: BTreeMap<usize, Vec<Complex64>>,
}

/// Shape only: the entries may be secret.
impl fmt::Debug for Diagonals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diagonals")
            .field("slots", &self.slots)
            .field("diagonals", &self.diagonals.len())
            .finish_non_exhaustive()
    }
}

/// The steps by which a matrix is applied: which input rotations (baby steps), which output
/// rotations (giant steps), and which diagonal each pair of them serves.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Steps of the input rotations in ascending order; 0 (no rotation) included where used.
    pub baby: Vec<usize>,
    /// One entry per output rotation.
    pub giant: Vec<GiantStep>,
}

/// One output rotation of a [`Schedule`].
#[derive(Clone, Debug, PartialEq)]
pub struct GiantStep {
    /// The rotation to the left; 0 is none.
    pub step: usize,
    /// Baby steps used under it; each serves the diagonal `(step + baby) mod slots`.
    pub babies: Vec<usize>,
}

impl Schedule {
    /// Every step other than 0 for which a rotation key is needed, in ascending order.
    #[cfg(test)]
    pub(crate) fn rotation_steps(&self) -> Vec<usize> {
        let giants = self.giant.iter().map(|g| g.step);
        let steps: BTreeSet<usize> =
            self.baby.iter().copied().chain(giants).filter(|&step| step != 0).collect();
        steps.into_iter().collect()
    }
}

impl Diagonals {
    /// The zero matrix.
    ///
    /// # Panics
    /// When `slots` is not a power of two.
    pub fn zero(slots: usize) -> Self {
        assert!(slots.is_power_of_two(), "slots: found {slots}, need a power of two");
        Self { slots, diagonals: BTreeMap::new() }
    }

    /// The identity.
    pub(crate) fn identity(slots: usize) -> Self {
        let mut m = Self::zero(slots);
        m.add_diagonal(0, vec![Complex64::ONE]);
        m
    }

    /// The rotation of vectors by `step` to the left.
    pub(crate) fn rotation(slots: usize, step: usize) -> Self {
        let mut m = Self::zero(slots);
        m.add_diagonal(step, vec![Complex64::ONE]);
        m
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// The nonzero diagonals: index in `0..slots`, and one period of the values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[Complex64])> {
        self.diagonals.iter().map(|(&k, d)| (k, d.as_slice()))
    }

    pub(crate) fn len(&self) -> usize {
        self.diagonals.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.diagonals.is_empty()
    }

    /// One period of diagonal `k`, if it is nonzero.
    pub(crate) fn diagonal(&self, k: usize) -> Option<&[Complex64]> {
        self.diagonals.get(&k).map(Vec::as_slice)
    }

    /// Adds `values`, repeated to `slots` of them, to diagonal `k mod slots`.
    ///
    /// # Panics
    /// When the length is not a power of two up to `slots`.
    pub fn add_diagonal(&mut self, k: usize, values: Vec<Complex64>) {
        assert!(
            values.len().is_power_of_two() && values.len() <= self.slots,
            "diagonal of {} values: need a power of two up to {}",
            values.len(),
            self.slots
        );
        let entry = self.diagonals.entry(k % self.slots).or_default();
        // A short diagonal is periodic: it repeats along the longer one.
        let (mut long, short) = if entry.len() >= values.len() {
            (std::mem::take(entry), values)
        } else {
            (values, std::mem::take(entry))
        };
        if !short.is_empty() {
            let mask = short.len() - 1;
            for (i, x) in long.iter_mut().enumerate() {
                *x += short[i & mask];
            }
        }
        *entry = long;
    }

    /// The product `self * first`: applies `first`, then `self`.
    pub(crate) fn compose(&self, first: &Self) -> Self {
        assert_eq!(self.slots, first.slots, "matrices over different slot counts");
        let mut product = Self::zero(self.slots);
        for (k, a) in self.iter() {
            for (l, b) in first.iter() {
                // (A B)[i][i + k + l] gets a_k[i] b_l[i + k]; the product has the longer of both
                // periods.
                let period = a.len().max(b.len());
                let (a_mask, b_mask) = (a.len() - 1, b.len() - 1);
                let d = (0..period).map(|i| a[i & a_mask] * b[(i + k) & b_mask]).collect();
                product.add_diagonal(k + l, d);
            }
        }
        product
    }

    #[must_use]
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        for x in self.diagonals.values_mut().flatten() {
            *x = x.scale(factor);
        }
        self
    }

    /// The product with the mask of the first `len` slots of each `period`.
    #[must_use]
    pub(crate) fn reading(&self, period: usize, len: usize) -> Self {
        let mut m = Self::zero(self.slots);
        for (k, d) in self.iter() {
            let mask = d.len() - 1;
            let kept = |i: usize| match (i + k) % period < len {
                true => d[i & mask],
                false => Complex64::ZERO,
            };
            m.add_diagonal(k, (0..d.len().max(period)).map(kept).collect());
        }
        m
    }

    /// The conjugate transpose.
    #[must_use]
    pub(crate) fn adjoint(&self) -> Self {
        let mut m = Self::zero(self.slots);
        for (k, d) in self.iter() {
            // M*[i][i - k] = conj(M[i - k][i]) = conj(d_k[i - k]).
            let mask = d.len() - 1;
            let shifted = (0..d.len()).map(|i| d[i.wrapping_sub(k) & mask].conj()).collect();
            m.add_diagonal(self.slots - k, shifted);
        }
        m
    }

    /// The product with a vector.
    #[cfg(test)]
    pub(crate) fn apply(&self, v: &[Complex64]) -> Vec<Complex64> {
        assert_eq!(v.len(), self.slots, "vector length and slot count differ");
        let mask = self.slots - 1;
        let mut out = vec![Complex64::ZERO; self.slots];
        for (k, d) in self.iter() {
            let period = d.len() - 1;
            for (i, x) in out.iter_mut().enumerate() {
                *x += d[i & period] * v[(i + k) & mask];
            }
        }
        out
    }

    /// Largest sum of moduli over a row: no slot of `M v` exceeds this times the largest of `v`.
    pub(crate) fn norm(&self) -> f64 {
        // All diagonals repeat with the longest period, so the row sums of one period are those of
        // all rows.
        let mut sums = vec![0.0; self.diagonals.values().map(Vec::len).max().unwrap_or(1)];
        for (_, d) in self.iter() {
            let mask = d.len() - 1;
            for (i, s) in sums.iter_mut().enumerate() {
                *s += d[i & mask].norm_sqr().sqrt();
            }
        }
        sums.into_iter().fold(0.0, f64::max)
    }

    /// Largest sum of moduli over a column, `|M|_1`.
    pub(crate) fn column_norm(&self) -> f64 {
        let mut sums = vec![0.0; self.diagonals.values().map(Vec::len).max().unwrap_or(1)];
        for (k, d) in self.iter() {
            // M[j - k][j] = d_k[j - k].
            let mask = d.len() - 1;
            for (j, s) in sums.iter_mut().enumerate() {
                *s += d[j.wrapping_sub(k) & mask].norm_sqr().sqrt();
            }
        }
        sums.into_iter().fold(0.0, f64::max)
    }

    /// The largest power of two that divides every diagonal's index, at most `slots`.
    pub(crate) fn stride(&self) -> usize {
        // The largest power of two that divides all indices. Baby steps between its multiples have
        // no diagonal.
        let all = self.diagonals.keys().fold(0, |acc, &k| acc | k);
        if all == 0 { self.slots } else { 1 << all.trailing_zeros() }
    }

    /// Baby and giant steps of least estimated time.
    ///
    /// With `stride` the largest power of two dividing every diagonal's index, the baby steps are
    /// multiples of it below `2^b stride`, the giant steps multiples of `2^b stride`.
    pub fn schedule(&self) -> Schedule {
        let stride = self.stride();
        let mut best: Option<(f64, Schedule)> = None;
        let mut window = stride;
        // Baby-step giant-step (Halevi and Shoup): with windows of w slots there are about
        // w / stride baby steps and slots / w giant steps. A giant step costs more than a hoisted
        // baby step, so every power of two is tried.
        while window <= self.slots {
            let schedule = self.schedule_with(window);
            let moving = |step: &&usize| **step != 0;
            let babies = schedule.baby.iter().filter(moving).count() as f64;
            let giants = schedule.giant.iter().map(|g| &g.step).filter(moving).count() as f64;
            let cost = babies + GIANT_COST * giants;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, schedule));
            }
            window *= 2;
        }
        best.map(|(_, schedule)| schedule).unwrap_or(Schedule { baby: vec![], giant: vec![] })
    }

    /// As [`schedule`](Self::schedule) with a power of two of baby steps: fewer take fewer keys.
    pub(crate) fn schedule_with_babies(&self, babies: usize) -> Schedule {
        assert!(babies.is_power_of_two(), "baby steps: found {babies}, need a power of two");
        self.schedule_with(self.stride().saturating_mul(babies).min(self.slots))
    }

    fn schedule_with(&self, window: usize) -> Schedule {
        let mut giant: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut baby = BTreeSet::new();
        for &k in self.diagonals.keys() {
            // Diagonal k = giant + baby.
            let b = k % window;
            baby.insert(b);
            giant.entry(k - b).or_default().push(b);
        }
        Schedule {
            baby: baby.into_iter().collect(),
            giant: giant.into_iter().map(|(step, babies)| GiantStep { step, babies }).collect(),
        }
    }
}

/// The largest modulus of the values of a diagonal.
pub(crate) fn largest(diagonal: &[Complex64]) -> f64 {
    diagonal.iter().map(|z| z.norm_sqr()).fold(0.0, f64::max).sqrt()
}

/// The root mean square of the values of a diagonal.
pub(crate) fn rms(diagonal: &[Complex64]) -> f64 {
    let squares: f64 = diagonal.iter().map(|z| z.norm_sqr()).sum();
    (squares / diagonal.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    fn vector(n: usize, rng: &mut ChaCha20Rng) -> Vec<Complex64> {
        (0..n)
            .map(|_| Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
            .collect()
    }

    fn matrix(n: usize, rng: &mut ChaCha20Rng) -> Diagonals {
        let mut m = Diagonals::zero(n);
        for k in 0..n {
            if rng.random_bool(0.6) {
                let period = 1 << rng.random_range(0..=n.trailing_zeros());
                m.add_diagonal(k, vector(period, rng));
            }
        }
        m
    }

    fn dense(m: &Diagonals) -> Vec<Vec<Complex64>> {
        let n = m.slots();
        let mut rows = vec![vec![Complex64::ZERO; n]; n];
        for (k, d) in m.iter() {
            for i in 0..n {
                rows[i][(i + k) % n] += d[i % d.len()];
            }
        }
        rows
    }

    fn close(a: &[Complex64], b: &[Complex64]) -> bool {
        a.iter().zip(b).all(|(x, y)| (x - y).norm() < 1e-12)
    }

    #[test]
    fn apply_compose_adjoint_agree_with_dense_matrices() {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        for log in 0..5 {
            let n = 1 << log;
            let (a, b) = (matrix(n, &mut rng), matrix(n, &mut rng));
            let v = vector(n, &mut rng);
            let rows = dense(&a);
            let expected: Vec<Complex64> =
                rows.iter().map(|row| row.iter().zip(&v).map(|(x, y)| x * y).sum()).collect();
            assert!(close(&a.apply(&v), &expected));
            assert!(close(&a.compose(&b).apply(&v), &a.apply(&b.apply(&v))));
            let adjoint = dense(&a.adjoint());
            for i in 0..n {
                for j in 0..n {
                    assert!((adjoint[i][j] - rows[j][i].conj()).norm() < 1e-15);
                }
            }
            let largest = rows
                .iter()
                .map(|row| row.iter().map(|x| x.norm()).sum::<f64>())
                .fold(0.0, f64::max);
            assert!((a.norm() - largest).abs() < 1e-12);
            assert!((a.column_norm() - a.adjoint().norm()).abs() < 1e-12);
        }
    }

    /// Carries out a schedule on a clear vector, rotation by rotation.
    fn by_steps(m: &Diagonals, schedule: &Schedule, v: &[Complex64]) -> Vec<Complex64> {
        let n = m.slots();
        let mut out = vec![Complex64::ZERO; n];
        for giant in &schedule.giant {
            let mut inner = vec![Complex64::ZERO; n];
            for &b in &giant.babies {
                let d = m.diagonal((giant.step + b) % n).unwrap();
                for (i, x) in inner.iter_mut().enumerate() {
                    *x += d[(i + n - giant.step) % d.len()] * v[(i + b) % n];
                }
            }
            for (i, x) in out.iter_mut().enumerate() {
                *x += inner[(i + giant.step) % n];
            }
        }
        out
    }

    #[test]
    fn schedules_compute_the_product_with_few_rotations() {
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        for log in 0..6 {
            let m = matrix(1 << log, &mut rng);
            let v = vector(1 << log, &mut rng);
            assert!(close(&by_steps(&m, &m.schedule(), &v), &m.apply(&v)));
        }
        let mut full = Diagonals::zero(1 << 10);
        for k in 0..1 << 10 {
            full.add_diagonal(k, vec![Complex64::ONE]);
        }
        assert!(full.schedule().rotation_steps().len() <= 63 + 15);
        assert!(Diagonals::zero(8).schedule().rotation_steps().is_empty());
        assert!(Diagonals::identity(8).schedule().rotation_steps().is_empty());
    }
}
