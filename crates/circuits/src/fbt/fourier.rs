//! The discrete Fourier transform of any length.

use bellerophon_ckks::embedding::{bit_reverse, unit_root};
use num_complex::Complex64;

/// Replaces `x` by `X_k = sum_j x_j exp(2 pi i j k / n)`, `n` the number of values, in
/// `O(n log n)` operations.
///
/// Lengths that are no power of two take Bluestein's algorithm ("A linear filtering approach to the
/// computation of discrete Fourier transform", 1970): `j k = (j^2 + k^2 - (k - j)^2) / 2` makes the
/// transform a convolution, which transforms of a power of two carry out.
pub(crate) fn transform(values: &mut [Complex64]) {
    let n = values.len();
    if n < 2 {
        return;
    }
    if n.is_power_of_two() {
        return radix2(values);
    }
    // Step 1: the chirp exp(pi i j^2 / n), its exponent reduced in integers.
    let chirp: Vec<Complex64> = (0..n).map(|j| unit_root(8 * (j * j % (2 * n)), 16 * n)).collect();
    // Step 2: the two factors, padded so that the cyclic convolution does not wrap around.
    let padded = (2 * n - 1).next_power_of_two();
    let mut a = vec![Complex64::ZERO; padded];
    let mut b = a.clone();
    for j in 0..n {
        a[j] = values[j] * chirp[j];
        b[j] = chirp[j].conj();
        b[(padded - j) % padded] = b[j];
    }
    // Step 3: their convolution; the inverse transform is the conjugate one divided by its length.
    radix2(&mut a);
    radix2(&mut b);
    for (a, b) in a.iter_mut().zip(b) {
        *a = (*a * b).conj();
    }
    radix2(&mut a);
    // Step 4: the chirp again.
    for ((value, a), chirp) in values.iter_mut().zip(a).zip(chirp) {
        *value = a.conj() * chirp / padded as f64;
    }
}

/// Cooley and Tukey's algorithm, decimation in time, for a power of two of at least two values.
fn radix2(values: &mut [Complex64]) {
    let n = values.len();
    let roots: Vec<Complex64> = (0..n / 2).map(|k| unit_root(8 * k, 8 * n)).collect();
    bit_reverse(values);
    let mut half = 1;
    while half < n {
        let stride = n / (2 * half);
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for ((u, v), root) in low.iter_mut().zip(high).zip(roots.iter().step_by(stride)) {
                let product = *v * root;
                (*u, *v) = (*u + product, *u - product);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    fn random(n: usize) -> Vec<Complex64> {
        let mut rng = ChaCha20Rng::seed_from_u64(n as u64);
        (0..n)
            .map(|_| Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
            .collect()
    }

    fn direct(x: &[Complex64], k: usize) -> Complex64 {
        let n = x.len();
        let root = |j: usize| unit_root(8 * (j * k % n), 8 * n);
        x.iter().enumerate().map(|(j, x)| x * root(j)).sum()
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        for n in (0..40).chain([64, 100, 127, 243, 256, 1000]) {
            let x = random(n);
            let mut found = x.clone();
            transform(&mut found);
            for (k, found) in found.iter().enumerate() {
                assert!((found - direct(&x, k)).norm() < 1e-15 * (8 + 4 * n) as f64, "{n}: {k}");
            }
        }
    }

    #[test]
    fn long_transforms_are_precise() {
        for n in [65_536, 65_535, 65_521] {
            let x = random(n);
            let mut found = x.clone();
            transform(&mut found);
            for k in [0, 1, 12_345, n / 2, n - 1] {
                assert!((found[k] - direct(&x, k)).norm() < 1e-11, "{n}: {k}");
            }
        }
    }
}
