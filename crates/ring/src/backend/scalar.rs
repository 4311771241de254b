//! Portable kernels: Harvey's lazy butterflies with Shoup products on 64-bit words.
//!
//! D. Harvey, "Faster arithmetic for number-theoretic transforms", J. Symb. Comp. 60 (2014):
//! values stay in `[0, 4q)` on the way forward and in `[0, 2q)` on the way back.

use crate::{Modulus, NttTable};

/// Decimation in time: `log2(N)` stages of `(x, y) -> (x + w y, x - w y)`.
pub(super) fn forward_ntt(table: &NttTable, a: &mut [u64]) {
    let q = table.modulus();
    let two_q = 2 * q.value();
    let mut half = a.len() / 2;
    let mut blocks = 1;
    while half > 0 {
        for (block, chunk) in a.chunks_exact_mut(2 * half).enumerate() {
            let w = table.forward_roots[blocks + block];
            let w_shoup = table.forward_shoup[blocks + block];
            let (low, high) = chunk.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                let u = subtract_if_large(*x, two_q);
                let v = q.mul_shoup_lazy(*y, w, w_shoup);
                *x = u + v;
                *y = u + two_q - v;
            }
        }
        blocks *= 2;
        half /= 2;
    }
    for x in a {
        *x = subtract_if_large(subtract_if_large(*x, two_q), q.value());
    }
}

/// Decimation in frequency: `log2(N)` stages of `(x, y) -> (x + y, (x - y) w)`, then `1 / N`.
pub(super) fn inverse_ntt(table: &NttTable, a: &mut [u64]) {
    let q = table.modulus();
    let two_q = 2 * q.value();
    let mut half = 1;
    let mut blocks = a.len() / 2;
    while blocks > 0 {
        for (block, chunk) in a.chunks_exact_mut(2 * half).enumerate() {
            let w = table.inverse_roots[blocks + block];
            let w_shoup = table.inverse_shoup[blocks + block];
            let (low, high) = chunk.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                let (u, v) = (*x, *y);
                *x = subtract_if_large(u + v, two_q);
                *y = q.mul_shoup_lazy(u + two_q - v, w, w_shoup);
            }
        }
        blocks /= 2;
        half *= 2;
    }
    for x in a {
        *x = q.mul_shoup(*x, table.degree_inverse, table.degree_inverse_shoup);
    }
}

pub(super) fn add_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    let q = table.modulus();
    for (x, &y) in a.iter_mut().zip(b) {
        *x = q.add(*x, y);
    }
}

pub(super) fn sub_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    let q = table.modulus();
    for (x, &y) in a.iter_mut().zip(b) {
        *x = q.sub(*x, y);
    }
}

pub(super) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    let q = table.modulus();
    for (x, &y) in a.iter_mut().zip(b) {
        *x = q.mul(*x, y);
    }
}

pub(super) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let q = table.modulus();
    for ((x, &a), &b) in acc.iter_mut().zip(a).zip(b) {
        *x = q.mul_add(a, b, *x);
    }
}

pub(super) fn sum_of_products(table: &NttTable, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
    let q = table.modulus();
    for (i, x) in out.iter_mut().enumerate() {
        let sum: u128 = pairs.iter().map(|(a, b)| a[i] as u128 * b[i] as u128).sum();
        *x = q.reduce_u128(sum);
    }
}

pub(super) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
    let q = table.modulus();
    let w_shoup = q.shoup(w);
    for x in a {
        *x = q.mul_shoup(*x, w, w_shoup);
    }
}

pub(super) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
    let q = table.modulus();
    let w_shoup = q.shoup(w);
    for (x, &y) in a.iter_mut().zip(b) {
        *x = q.mul_shoup(*x + q.value() - y, w, w_shoup);
    }
}

pub(super) fn weighted_sum(table: &NttTable, out: &mut [u64], rows: &[&[u64]], weights: &[u64]) {
    let q = table.modulus();
    for (i, x) in out.iter_mut().enumerate() {
        let sum: u128 = rows.iter().zip(weights).map(|(r, &w)| r[i] as u128 * w as u128).sum();
        *x = q.reduce_u128(sum);
    }
}

pub(super) fn reduce_centered(table: &NttTable, out: &mut [u64], a: &[u64], p: &Modulus) {
    let q = table.modulus();
    for (x, &y) in out.iter_mut().zip(a) {
        *x = q.from_i64(p.center(y));
    }
}

pub(super) fn permute(out: &mut [u64], a: &[u64], map: &[u32]) {
    for (x, &i) in out.iter_mut().zip(map) {
        *x = a[i as usize];
    }
}

/// `x` or `x - bound`, whichever is smaller and not negative; `[0, 2 bound) -> [0, bound)`.
#[inline(always)]
fn subtract_if_large(x: u64, bound: u64) -> u64 {
    x.min(x.wrapping_sub(bound))
}
