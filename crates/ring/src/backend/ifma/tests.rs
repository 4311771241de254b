//! Bounds that random residues stay far away from.

use super::*;
use crate::{backend::Backend, prime, testing::words};

/// As many stages as the longest transform has, each of which moves a residue by as much as some of many
/// factors does, down and up, in the largest prime that has room for it.
#[test]
fn lazy_residues_neither_become_negative_nor_too_large() {
    let stages = *NttTable::LOG_DEGREES.end();
    let most = (1u64 << 52) / (4 + OFFSET + 2 * u64::from(stages));
    let q = (0..).map(|k| most - k).find(|&q| prime::is_prime(q)).unwrap();
    if Backend::Ifma.is_detected() {
        // SAFETY: the CPU has the instructions.
        unsafe { move_as_far_as_possible(Modulus::new(q).unwrap(), stages) };
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn move_as_far_as_possible(q: Modulus, stages: u32) {
    // SAFETY: this function has the target features.
    let f = unsafe { Ifma::<true>::new(&q) };
    let (w, value) = (f.wide(), q.value());
    let mut low = f.start_forward(w.splat(0));
    let mut high = f.start_forward(w.splat(4 * value - 1));
    let (mut moved, mut total) = (0, 0);
    for stage in 0..stages {
        let ys = words(1 << 10, 1 << 52, u64::from(stage));
        let roots = words(1 << 10, value, u64::from(stage) + 100);
        let product = |&(y, root): &(u64, u64)| {
            let quotient = (y as u128 * companion(&q, root) as u128) >> 52;
            (y as u128 * root as u128 - quotient * value as u128) as u64
        };
        let (y, root) = ys.into_iter().zip(roots).max_by_key(product).unwrap();
        total += product(&(y, root));
        moved = q.add(moved, q.mul(q.reduce(y), root));
        let root = f.root(f.companion(root));
        let (mut y, mut other) = (w.splat(y), w.splat(y));
        f.forward_butterfly(&mut low, &mut y, root);
        low = y;
        f.forward_butterfly(&mut high, &mut other, root);
    }
    // Nearly `2q` a stage: otherwise this shows nothing.
    assert!(total > 2 * u64::from(stages - 1) * value);
    for (x, expected) in [(low, q.neg(moved)), (high, q.sub(moved, 1))] {
        let mut line = [0; 8];
        w.store(f.finish_forward(x), &mut line);
        assert_eq!(line, [expected; 8]);
    }
}
