//! Bounds that random residues stay far away from.

use super::*;
use crate::{
    backend::{
        Backend, Column, Part,
        tests::{compare_forward_stages, compare_inverse_stages},
    },
    primality,
    testing::{packed, prime_up_to, words},
};

/// As many stages as the longest transform has. Each moves a residue down and up by the largest
/// step found among many factors, in the largest prime with headroom for it.
#[test]
fn lazy_residues_stay_nonnegative_and_bounded() {
    let stages = *NttTable::LOG_DEGREES.end();
    let most = (1u64 << 52) / (4 + OFFSET + u64::from(stages));
    let q = prime_up_to(most);
    if Backend::Ifma.is_detected() {
        // SAFETY: the CPU has the instructions.
        unsafe { move_as_far_as_possible(q, stages) };
    }
}

/// Among many lanes and factors, those with the largest product as stages compute it: nearly `2q`.
fn largest_product(q: &Modulus, seed: u64) -> (u64, u64, u64) {
    let (lanes, roots) = (words(1 << 14, 1 << 52, seed), words(1 << 14, q.value(), seed + 100));
    let product = |(y, root): (u64, u64)| {
        let quotient = (y as u128 * companion(q, root) as u128) >> 52;
        (y, root, (y as u128 * root as u128 - quotient * q.value() as u128) as u64)
    };
    lanes.into_iter().zip(roots).map(product).max_by_key(|&(.., product)| product).unwrap()
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
fn move_as_far_as_possible(q: Modulus, stages: u32) {
    // SAFETY: this function has the target features.
    let f = unsafe { Ifma::<NEVER>::new(&q) };
    let value = q.value();
    let products: Vec<_> = (0..stages).map(|stage| largest_product(&q, stage.into())).collect();
    // Nearly `2q` per stage; otherwise the test shows nothing.
    let total: u64 = products.iter().map(|&(.., product)| product).sum();
    assert!(total > 2 * u64::from(stages - 1) * value);
    let starts = [0, 4 * value - 1];
    let rows = starts.map(|x| f.start_forward(f.wide().splat(x)));
    compare_forward_stages(f, &q, rows, [0, value - 1], &products);
}

/// The largest results of [`Arithmetic::continue_forward`], moved as far as three stages can move
/// them, in the largest primes with headroom for it on both sides of `2^49`.
#[test]
fn three_stages_neither_become_negative_nor_too_large() {
    for most in [THREE_STAGES, 1 << 49, (1 << 48) + (1 << 20)] {
        let q = prime_up_to(most);
        if Backend::Ifma.is_detected() {
            // SAFETY: the CPU has the instructions.
            unsafe { move_three_times(q) };
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
fn move_three_times(q: Modulus) {
    // SAFETY: this function has the target features.
    let f = unsafe { Ifma::<3>::new(&q) };
    let value = q.value();
    let products = [0, 1, 2].map(|stage| largest_product(&q, stage));
    assert!(products.iter().all(|&(.., product)| product > 2 * value - value / 10));
    // The least reduced values are just below a step of the quotient.
    let factor = (1 << 52) / value;
    let before = (1..=factor).map(|k| (k << 52).div_ceil(factor) - 1);
    for x in before.chain([0, value]) {
        let row = f.continue_forward(f.wide().splat(x));
        compare_forward_stages(f, &q, [row; 2], [q.reduce(x); 2], &products);
    }
}

/// The largest rows that inverse stages can get, in the largest primes of each class.
#[test]
fn inverse_stages_stay_nonnegative_and_bounded() {
    if Backend::Ifma.is_detected() {
        for most in [(1 << 52) / 33, 1 << 46, 1 << 40] {
            // SAFETY: the CPU has the instructions.
            unsafe { compare_inverse::<NEVER>(prime_up_to(most), 400) };
        }
        for most in [THREE_STAGES, 1 << 49, 1 << 48] {
            // SAFETY: as above.
            unsafe { compare_inverse::<3>(prime_up_to(most), 199) };
        }
        // SAFETY: as above.
        unsafe { compare_inverse::<1>(prime_up_to(1 << 50), 200) };
    }
}

/// Rows up to the given number of hundredths of the prime.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
fn compare_inverse<const EVERY: u32>(q: Modulus, hundredths: u64) {
    // SAFETY: this function has the target features.
    let f = unsafe { Ifma::<EVERY>::new(&q) };
    let top = hundredths * (q.value() / 100);
    compare_inverse_stages(f, &q, top, (1 << 52) - 1, |x| f.finish_forward(x));
}

/// The smallest degrees have the headroom that inverse transforms need.
#[test]
fn short_transforms_leave_headroom_for_inverse_ones() {
    let order = 256;
    let most = (1u64 << 52) / 33;
    for (steps, lazy) in [(0..1 << 20, true), (-(1 << 20)..0, false)] {
        let start = (most - 1) / order * order + 1;
        let mut all = steps.map(|k: i64| start.wrapping_add_signed(-k * order as i64));
        let found = if lazy {
            all.find(|&q| primality::is_prime(q))
        } else {
            all.rfind(|&q| primality::is_prime(q))
        };
        let q = Modulus::new(found.unwrap()).unwrap();
        assert_eq!(q.value() <= most, lazy);
        if let Ok(table) = NttTable::with_backend(128, q, Backend::Ifma) {
            assert_eq!(is_lazy(&table), lazy);
        }
    }
}

/// Rows of arbitrary lanes with the largest factors, in parts of all sizes.
#[test]
fn parts_of_sums_take_every_lane() {
    for most in [1 << 30, 1 << 40, 1 << 45, 1 << 46, (1 << 52) / 33] {
        let q =
            (0..).map(|k| (most & !255) + 1 - 256 * k).find(|&q| primality::is_prime(q)).unwrap();
        let q = Modulus::new(q).unwrap();
        let Ok(table) = NttTable::with_backend(128, q, Backend::Ifma) else { continue };
        assert!(is_lazy(&table));
        let (row, key) = (vec![u64::MAX; 128], packed(&table, &[q.value() - 1; 128]));
        let lane = q.reduce((1 << 52) - 1);
        for all in [1, 2, 3, 5, 16, 31, 62] {
            for size in [1, 2, 3, 15, 16, 62] {
                let mut out = vec![u64::MAX; 128];
                for first in (0..all).step_by(size) {
                    let count = size.min(all - first);
                    let part = Part { before: first, all };
                    let (rows, factors) = (vec![&row[..]; count], vec![&key[..]; count]);
                    let mut columns = [Column { out: &mut out, factors: &factors }];
                    crate::backend::columns_of_products(&table, &rows, &mut columns, part);
                }
                let expected = q.mul(q.reduce(all as u64), q.mul(lane, q.value() - 1));
                assert_eq!(out, vec![expected; 128], "{most}: {all} products by {size}");
            }
        }
    }
}
