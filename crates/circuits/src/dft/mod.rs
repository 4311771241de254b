//! SlotsToCoeffs (S2C) and CoeffsToSlots (C2S): the decoding matrix as a short product of sparse
//! matrices.
//!
//! [`bellerophon_ckks::embedding`] writes decoding as `U = S_{log n} .. S_2 S_1 R`, with the bit
//! reversal `R` and the butterfly stage `S_k` of block length `2^k`, which has at most three
//! nonzero diagonals (`0` and `+-2^{k-1}`). Without `R`, the slots `S_{log n} .. S_1 v` belong to
//! the polynomial with the complex coefficients `t = R v`:
//!
//! ```text
//! coefficient place(i) of the plaintext = scale * v_i,   place(i) = bitreverse(i) * N / 2n.
//! ```
//!
//! For real `v` the upper half of the coefficients is zero; an imaginary part of `v_i` is the
//! coefficient `place(i) + N/2`. Consecutive stages are multiplied out into a few matrices, each of
//! which costs a level: 14 stages in two groups of 7 make 255 and 128 diagonals. Stages of long
//! blocks wrap around modulo `n`, hence 128 and not 255. [`SlotsToCoeffs`] applies these matrices,
//! [`CoeffsToSlots`] the inverse stages in the opposite order.
//!
//! A group whose blocks do not wrap has diagonals on both sides of the main one. A rotation brings
//! them all to one side. Its inverse moves into the neighbouring group, whose diagonals are
//! multiples of a larger step, and from group to group into the one that wraps, where it changes
//! nothing. Baby and giant steps then count from zero, and one key serves all giant steps of a
//! group ([`Giants::Horner`](crate::lintrans::Giants::Horner)).
//!
//! S2C is PEGASUS Fig. 6, step 1; the grouping is that of Chen, Chillotti and Song, "Improved
//! bootstrapping for approximate homomorphic encryption", 2019.

mod coeffs_to_slots;
mod slots_to_coeffs;
mod worst;

use bellerophon_ckks::embedding::{Embedding, reversed};
use bellerophon_ckks::vectors::Vectors;
use bellerophon_ckks::{Ciphertext, Evaluator, Metadata, Result};
pub use coeffs_to_slots::{C2sSpec, CoeffsToSlots};
use num_complex::Complex64;
pub use slots_to_coeffs::{Coefficients, S2cSpec, SlotsToCoeffs};

use crate::{diagonals::Diagonals, lintrans::LinearTransform};

/// The metadata of S2C or C2S of one operand.
pub(crate) struct DftMeta {
    /// The operand of each matrix. Its range is tighter than the generic rule for the matrix
    /// before.
    operands: Vec<Metadata>,
    /// The result.
    pub result: Metadata,
}

fn apply_all<'m>(
    evaluator: &Evaluator,
    transforms: impl IntoIterator<Item = &'m LinearTransform>,
    meta: &DftMeta,
    mut x: Ciphertext,
) -> Result<Ciphertext> {
    for (transform, operand) in transforms.into_iter().zip(&meta.operands) {
        let operand = x.changed(operand.meta).repeated(transform.slots)?;
        x = evaluator.single(transform, &[&operand])?;
    }
    Ok(x)
}

/// The matrix of one butterfly stage (block length `len`) over `slots` slots.
fn stage(embedding: &Embedding, slots: usize, len: usize) -> Diagonals {
    let half = len / 2;
    let roots = embedding.stage_roots(len);
    let zeros = || std::iter::repeat_n(Complex64::ZERO, half);
    let ones = || std::iter::repeat_n(Complex64::ONE, half);
    let mut m = Diagonals::zero(slots);
    m.add_diagonal(0, ones().chain(roots.iter().map(|w| -w)).collect());
    m.add_diagonal(half, roots.iter().copied().chain(zeros()).collect());
    m.add_diagonal(slots - half, zeros().chain(ones()).collect());
    m
}

/// The product of the stages `first + 1 ..= last` (block lengths `2^{first + 1} .. 2^last`).
fn group(embedding: &Embedding, slots: usize, first: u32, last: u32) -> Diagonals {
    (first + 1..=last).fold(Diagonals::identity(slots), |product, k| {
        stage(embedding, slots, 1 << k).compose(&product)
    })
}

/// The matrices whose product is decoding without bit reversal, from short to long blocks. Stages
/// are spread evenly over them; matrices beyond the number of stages are the identity.
pub(crate) fn decoding_factors(
    embedding: &Embedding,
    slots: usize,
    levels: usize,
) -> Vec<Diagonals> {
    let mut factors = groups(embedding, slots, &even_borders(slots, levels));
    // Rotate the rows of each group so that no diagonal is below the main one; the next group
    // undoes it.
    for i in 1..factors.len() {
        let shift = shift_to_one_side(&factors[i - 1], &factors[i]);
        factors[i - 1] = Diagonals::rotation(slots, shift).compose(&factors[i - 1]);
        factors[i] = factors[i].compose(&Diagonals::rotation(slots, slots - shift));
    }
    factors
}

/// The matrices that undo [`decoding_factors`], from long to short blocks.
#[cfg(test)]
pub(crate) fn encoding_factors(
    embedding: &Embedding,
    slots: usize,
    levels: usize,
) -> Vec<Diagonals> {
    encoding_groups(embedding, slots, &even_borders(slots, levels))
}

/// As [`encoding_factors`] with the stages `borders[i] + 1 ..= borders[i + 1]` in one matrix each.
fn encoding_groups(embedding: &Embedding, slots: usize, borders: &[u32]) -> Vec<Diagonals> {
    // Every stage is sqrt(2) times a unitary matrix.
    let inverse = |m: Diagonals| {
        let squared: f64 = m.iter().map(|(_, d)| d[0].norm_sqr()).sum();
        m.adjoint().scaled(1.0 / squared)
    };
    let mut factors: Vec<_> =
        groups(embedding, slots, borders).into_iter().rev().map(inverse).collect();
    // As in `decoding_factors`, from the last group to the first.
    for i in (1..factors.len()).rev() {
        let shift = shift_to_one_side(&factors[i], &factors[i - 1]);
        factors[i] = factors[i].compose(&Diagonals::rotation(slots, shift));
        factors[i - 1] = Diagonals::rotation(slots, slots - shift).compose(&factors[i - 1]);
    }
    factors
}

/// Borders between `levels` groups of stages of nearly equal size. Groups of short blocks are the
/// larger ones: their diagonals have periods, which take little memory.
fn even_borders(slots: usize, levels: usize) -> Vec<u32> {
    assert!(levels > 0, "levels: need at least one");
    let stages = slots.trailing_zeros() as usize;
    (0..=levels).map(|i| (i * stages).div_ceil(levels) as u32).collect()
}

fn groups(embedding: &Embedding, slots: usize, borders: &[u32]) -> Vec<Diagonals> {
    assert!(slots.is_power_of_two() && slots <= embedding.max_slots(), "slots: found {slots}");
    borders.windows(2).map(|ends| group(embedding, slots, ends[0], ends[1])).collect()
}

/// The shift, in `[0, slots)`, that brings all diagonals of `m` onto or above the main one: a
/// multiple of the stride of `neighbour`.
fn shift_to_one_side(m: &Diagonals, neighbour: &Diagonals) -> usize {
    let slots = m.slots();
    let below = m.iter().map(|(k, _)| if 2 * k > slots { slots - k } else { 0 }).max();
    below.unwrap_or(0).next_multiple_of(neighbour.stride()) % slots
}

/// Coefficient of a polynomial of degree below `degree` at which S2C leaves the value of slot `i`.
///
/// # Panics
/// When `slots` is not a power of two below `degree`, or `i >= slots`.
pub fn place(degree: usize, slots: usize, i: usize) -> usize {
    assert!(slots.is_power_of_two() && slots < degree && i < slots, "slot {i} of {slots}");
    reversed(i, slots) * (degree / (2 * slots))
}

#[cfg(test)]
mod tests {
    use bellerophon_ckks::embedding::bit_reverse;

    use super::*;

    fn sample(n: usize) -> Vec<Complex64> {
        (0..n).map(|i| Complex64::new((1.3 * i as f64).sin(), (0.7 * i as f64).cos())).collect()
    }

    fn distance(a: &[Complex64], b: &[Complex64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
    }

    /// For every number of slots, in one to four factors.
    #[test]
    fn factors_multiply_to_the_decoding_matrix() {
        let embedding = Embedding::new(1 << 10);
        for log in 0..=10 {
            for levels in 1..=4 {
                let slots = 1 << log;
                let v = sample(slots);
                let mut expected = v.clone();
                bit_reverse(&mut expected);
                embedding.to_slots(&mut expected);
                let factors = decoding_factors(&embedding, slots, levels);
                assert_eq!(factors.len(), levels);
                let found = factors.iter().fold(v.clone(), |v, m| m.apply(&v));
                assert!(distance(&found, &expected) < 1e-10, "2^{log} slots, {levels} levels");
                let back = encoding_factors(&embedding, slots, levels);
                let back = back.iter().fold(found, |v, m| m.apply(&v));
                assert!(distance(&back, &v) < 1e-12, "2^{log} slots, {levels} levels");
            }
        }
    }

    #[test]
    fn real_slots_become_bit_reversed_coefficients() {
        let (degree, slots) = (64, 8);
        let embedding = Embedding::new(32);
        let v: Vec<Complex64> = (0..slots).map(|i| Complex64::from(i as f64 + 1.0)).collect();
        let factors = decoding_factors(&embedding, slots, 2);
        let z = factors.iter().fold(v, |v, m| m.apply(&v));
        // The 32 slots of the ring repeat the 8.
        let mut t: Vec<Complex64> = (0..degree / 2).map(|i| z[i % slots]).collect();
        embedding.to_coefficients(&mut t);
        let mut expected = vec![Complex64::ZERO; degree / 2];
        for i in 0..slots {
            expected[place(degree, slots, i)] = Complex64::from(i as f64 + 1.0);
        }
        assert!(distance(&t, &expected) < 1e-13);
    }

    #[test]
    fn full_size_has_stated_diagonals_and_few_rotations() {
        let embedding = Embedding::new(1 << 14);
        let factors = decoding_factors(&embedding, 1 << 14, 2);
        assert_eq!((factors[0].len(), factors[1].len()), (255, 128));
        // Blocks of 128 make diagonals of period 128.
        assert!(factors[0].iter().all(|(_, d)| d.len() <= 128));
        let steps: Vec<usize> =
            factors.iter().map(|m| m.schedule().rotation_steps().len()).collect();
        assert!(steps[0] <= 38 && steps[1] <= 26, "{steps:?}");
    }

    #[test]
    fn diagonals_lie_on_one_side() {
        let (slots, levels) = (1 << 9, 3);
        let embedding = Embedding::new(slots);
        for factors in [
            decoding_factors(&embedding, slots, levels),
            encoding_factors(&embedding, slots, levels).into_iter().rev().collect(),
        ] {
            // Three stages each: 15 diagonals, 15, and 8 that wrap.
            for (i, m) in factors.iter().enumerate() {
                let stride = 8usize.pow(i as u32);
                assert_eq!(m.len(), if i == 2 { 8 } else { 15 });
                assert!(m.iter().all(|(k, _)| k % stride == 0 && k < 16 * stride), "group {i}");
            }
        }
    }
}
