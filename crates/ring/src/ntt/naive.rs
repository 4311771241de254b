//! The definitions in quadratic time: the reference of the tests of every fast kernel.

use crate::modulus::Modulus;

/// `sum_j a_j root^(e j)`: the evaluation of the polynomial at `root^e`.
pub(crate) fn evaluate(q: &Modulus, a: &[u64], root: u64, exponent: u64) -> u64 {
    let point = q.pow(root, exponent);
    a.iter().rev().fold(0, |value, &coefficient| q.mul_add(value, point, coefficient))
}

/// The product of two polynomials modulo `X^N + 1` by the schoolbook method.
pub(crate) fn negacyclic_product(q: &Modulus, a: &[u64], b: &[u64]) -> Vec<u64> {
    let n = a.len();
    let mut product = vec![0; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let term = q.mul(x, y);
            if i + j < n {
                product[i + j] = q.add(product[i + j], term);
            } else {
                product[i + j - n] = q.sub(product[i + j - n], term);
            }
        }
    }
    product
}
