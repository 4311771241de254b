//! Slots to coefficients: the decoding matrix as a short product of sparse matrices.
//!
//! [`crate::embedding`] writes decoding as `U = S_{log n} .. S_2 S_1 R`, `R` the bit reversal and
//! `S_k` the butterfly stage of block length `2^k`, with at most three nonzero diagonals (`0` and
//! `+-2^{k-1}`). Leaving `R` out, the slots `S_{log n} .. S_1 v` belong to the polynomial whose
//! complex coefficients are `t = R v`:
//!
//! ```text
//! coefficient place(i) of the plaintext = scale * v_i,   place(i) = bitreverse(i) * N / 2n.
//! ```
//!
//! For real `v` the upper half of the coefficients is zero; the imaginary part of `v_i`, if there
//! is one, stands at `place(i) + N/2`. Consecutive stages are multiplied out into one or two
//! matrices, each of which costs a level: with 14 stages in two groups of 6 and 8 there are
//! 127 and 256 diagonals. Stages of long blocks wrap around modulo `n`, hence 256 and not 511.
//!
//! PEGASUS section II calls this S2C (Fig. 6, step 1); the grouping is that of Chen, Chillotti
//! and Song, "Improved bootstrapping for approximate homomorphic encryption", 2019.

mod s2c;

pub use s2c::{Coefficients, S2cOptions, SlotsToCoeffs};

use num_complex::Complex64;

use crate::diagonals::Diagonals;
use crate::embedding::{Embedding, reversed};

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

/// The matrices whose product is the decoding matrix without bit reversal, in the order in which
/// they are applied: one when `levels` is 1, otherwise two (of which the first has shorter blocks).
///
/// Slot counts up to 4 have no more than two stages; 1 slot has none, and its one matrix is the
/// identity.
///
/// # Panics
/// When `slots` is not a power of two within the embedding, or `levels` is neither 1 nor 2.
pub fn decoding_factors(embedding: &Embedding, slots: usize, levels: usize) -> Vec<Diagonals> {
    assert!(slots.is_power_of_two() && slots <= embedding.max_slots(), "slots: found {slots}");
    assert!((1..=2).contains(&levels), "levels: found {levels}, need 1 or 2");
    let stages = slots.trailing_zeros();
    if levels == 1 {
        return vec![group(embedding, slots, 0, stages)];
    }
    // The first group runs on one limb more and does not wrap around: it gets fewer stages.
    let middle = stages.saturating_sub(1) / 2;
    vec![group(embedding, slots, 0, middle), group(embedding, slots, middle, stages)]
}

/// The matrices that undo [`decoding_factors`], in the order in which they are applied: slots
/// hold the complex coefficients `t` in bit-reversed order afterwards.
///
/// # Panics
/// As [`decoding_factors`].
pub fn encoding_factors(embedding: &Embedding, slots: usize, levels: usize) -> Vec<Diagonals> {
    // Every stage is sqrt(2) times a unitary matrix.
    let inverse = |m: Diagonals| {
        let squared: f64 = m.iter().map(|(_, d)| d[0].norm_sqr()).sum();
        m.adjoint().scaled(1.0 / squared)
    };
    decoding_factors(embedding, slots, levels).into_iter().rev().map(inverse).collect()
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
    use super::*;
    use crate::embedding::bit_reverse;

    fn sample(n: usize) -> Vec<Complex64> {
        (0..n).map(|i| Complex64::new((1.3 * i as f64).sin(), (0.7 * i as f64).cos())).collect()
    }

    fn distance(a: &[Complex64], b: &[Complex64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
    }

    #[test]
    fn factors_multiply_to_the_decoding_matrix_for_every_slot_count() {
        let embedding = Embedding::new(1 << 10);
        for log in 0..=10 {
            for levels in 1..=2 {
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
    fn real_slots_become_coefficients_in_bit_reversed_places() {
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
    fn full_size_has_the_stated_diagonals_and_few_rotations() {
        let embedding = Embedding::new(1 << 14);
        let factors = decoding_factors(&embedding, 1 << 14, 2);
        assert_eq!((factors[0].len(), factors[1].len()), (127, 256));
        // Blocks of 64 make diagonals of period 64.
        assert!(factors[0].iter().all(|(_, d)| d.len() <= 64));
        let steps: Vec<usize> =
            factors.iter().map(|m| m.schedule().rotation_steps().len()).collect();
        assert!(steps[0] <= 34 && steps[1] <= 38, "{steps:?}");
    }
}
