//! Row packing: many ring ciphertexts, or LWE values, become one ring ciphertext by automorphisms
//! (Bossuat and Izabachene, "Large Domain Homomorphic Evaluation for BFV-like schemes via Ring
//! Repacking", Algorithm 1).
//!
//! Input `i` encrypts `m_i(Y)`, `Y = X^(N/n)`, with anything at all in the coefficients that are no
//! power of `Y`. The result encrypts `sum_i m_i(Y) X^i`, `0 <= i < N / n`. Stage `s` joins the inputs
//! `j` and `j + t`, `t = N / 2^(s+1)`, by one automorphism `phi` that changes the sign of the odd
//! multiples of `X^t` and keeps the even ones:
//!
//! ```text
//! h_j <- (h_j + X^t h_(j+t)) + phi(h_j - X^t h_(j+t)).
//! ```
//!
//! What is kept doubles, which the division of all inputs by `N / n` makes up for: modulo an odd `q`
//! it is exact. One stage of `N / 2^(s+1)` automorphisms for each `s` from `log n` to `log N - 1`
//! makes `N / n - 1` where all inputs are there (Lemma 4). An input that is absent counts as zero
//! and is left out; where both partners are, so is the automorphism.

use std::collections::BTreeMap;

use bellerophon_lwe as lwe;
use bellerophon_mlwe::{
    Ciphertext, GaloisKeys, KeyId, Params, SecretKey, conjugation_exponent, noise,
    rotation_exponent,
};
use bellerophon_ring::{Ntt, Poly, Ring};
use rand::CryptoRng;

use crate::{Error, Result, par};

/// The automorphisms that the packing of `N / n` inputs takes, in the order of the stages: one key
/// each, `log2(N / n)` in all.
///
/// # Panics
/// Unless `degree` and `n` are powers of two and `n` divides the degree.
pub fn row_packing_exponents(degree: usize, n: usize) -> Vec<usize> {
    stages(degree, n).map(|stage| stage.exponent).collect()
}

/// The keys of [`pack_rows`] for inputs of up to `limbs` limbs.
///
/// # Errors
/// [`Error::Shape`] unless `n` is a power of two up to the degree; those of the lattice layer.
pub fn row_packing_keys<R: CryptoRng + ?Sized>(
    secret: &SecretKey,
    n: usize,
    limbs: usize,
    rng: &mut R,
) -> Result<GaloisKeys> {
    let degree = secret.params().degree();
    check_n("generate row packing keys", degree, n)?;
    Ok(GaloisKeys::generate(secret, row_packing_exponents(degree, n), limbs, rng)?)
}

/// Algorithm 1: one ciphertext of `sum_i m_i(Y) X^i` from ciphertexts of `m_i(Y)`, `Y = X^(N/n)`,
/// under one key, given by their indices `i < N / n`; absent ones count as zero.
///
/// Noise: [`row_packing_noise`]. The stages run on the active rayon pool.
///
/// # Errors
/// [`Error::NoRows`] for none; [`Error::Shape`] for an index beyond `N / n` or an `n` that does not
/// divide `N`; missing Galois keys ([`row_packing_exponents`]); ciphertexts of other parameters,
/// another key or different limbs.
pub fn pack_rows(
    params: &Params,
    keys: &GaloisKeys,
    n: usize,
    mut rows: BTreeMap<usize, Ciphertext>,
) -> Result<Ciphertext> {
    let op = "pack rows";
    let count = check_n(op, params.degree(), n)?;
    let limbs = rows.values().next().ok_or(Error::NoRows { op })?.limbs();
    let inverses = inverses(&params.q().prefix(limbs), count);
    for row in rows.values_mut() {
        if row.limbs() != limbs {
            let (found, needed) = (row.limbs(), format!("{limbs}, as in the first"));
            return Err(Error::Shape { op, what: "limbs of a row", found, needed });
        }
        let ring = row.ring(params);
        row.polys_mut().for_each(|poly| ring.mul_residues_assign(poly, &inverses));
    }
    pack_divided(params, keys, n, rows)
}

/// [`pack_rows`] of LWE values of dimension `N` under the coefficients of the ring secret `key`,
/// each as the constant term of a ring ciphertext: value `i` becomes the coefficient of `X^i`.
///
/// With `n > 1` what stands in the coefficients `i + N / n`, `i + 2 N / n`, .. of the result means
/// nothing, and half as many automorphisms make it for each doubling of `n`.
///
/// # Errors
/// As for [`pack_rows`], and [`Error::Shape`] or [`Error::Value`] for a value of another dimension
/// or modulus than the parameters' first prime.
pub fn pack_values<'v>(
    params: &Params,
    keys: &GaloisKeys,
    key: KeyId,
    n: usize,
    values: impl IntoIterator<Item = (usize, &'v lwe::Ciphertext)>,
) -> Result<Ciphertext> {
    let op = "pack LWE values";
    let count = check_n(op, params.degree(), n)?;
    let ring = params.q().prefix(1);
    let inverse = inverses(&ring, count)[0];
    let values: Vec<_> = values.into_iter().collect();
    let row = |&(i, value): &(usize, &lwe::Ciphertext)| {
        Ok((i, constant_term(params, key, value, inverse)?))
    };
    let rows: BTreeMap<_, _> = par::map(&values, row)?.into_iter().collect();
    if rows.len() != values.len() {
        let needed = format!("{} different ones", values.len());
        return Err(Error::Shape { op, what: "number of indices", found: rows.len(), needed });
    }
    pack_divided(params, keys, n, rows)
}

/// Variance of the noise of a coefficient that holds a message, after packing with `n`, where the
/// inputs have `input` and every automorphism adds `automorphism`:
///
/// ```text
/// input + ((N / n)^2 - 1) / 3 automorphism.
/// ```
///
/// What a stage adds doubles in each of the following ones, that is, its variance quadruples.
/// (Lemma 5 has `input + (N / n - 1) automorphism`: this is right for magnitudes, of which it is the
/// worst case, not for variances.)
pub fn row_packing_noise(degree: usize, n: usize, input: f64, automorphism: f64) -> f64 {
    let count = (degree / n) as f64;
    input + (count * count - 1.0) / 3.0 * automorphism
}

/// [`row_packing_noise`] of LWE values of variance `input`, with keys of these parameters.
pub fn packed_values_noise(params: &Params, n: usize, input: f64) -> f64 {
    row_packing_noise(params.degree(), n, input, noise::automorphism(params, 1))
}

/// One stage: the distance of partners, and the automorphism that joins them.
#[derive(Debug, Clone, Copy)]
struct Stage {
    distance: usize,
    exponent: usize,
}

/// Line 8 to 12 of Algorithm 1.
fn stages(degree: usize, n: usize) -> impl Iterator<Item = Stage> {
    assert!(degree.is_power_of_two() && n.is_power_of_two() && n <= degree, "{n} of {degree}");
    (n.trailing_zeros()..degree.trailing_zeros()).map(move |i| Stage {
        distance: degree >> (i + 1),
        exponent: match i {
            0 => conjugation_exponent(degree),
            _ => rotation_exponent(degree, 1 << (i - 1)),
        },
    })
}

fn check_n(op: &'static str, degree: usize, n: usize) -> Result<usize> {
    if !n.is_power_of_two() || n > degree {
        let needed = format!("a power of two up to the degree {degree}");
        return Err(Error::Shape { op, what: "n", found: n, needed });
    }
    Ok(degree / n)
}

/// `count^-1` modulo every prime.
fn inverses(ring: &Ring, count: usize) -> Vec<u64> {
    ring.moduli().map(|q| q.inv(q.reduce(count as u64)).expect("the prime is odd")).collect()
}

/// Lines 7 to 16 of Algorithm 1.
fn pack_divided(
    params: &Params,
    keys: &GaloisKeys,
    n: usize,
    rows: BTreeMap<usize, Ciphertext>,
) -> Result<Ciphertext> {
    let op = "pack rows";
    let count = params.degree() / n;
    let Some(first) = rows.values().next() else { return Err(Error::NoRows { op }) };
    let ring = first.ring(params);
    if let Some((&found, _)) = rows.range(count..).next() {
        let needed = format!("below N / n = {count}");
        return Err(Error::Shape { op, what: "index of a row", found, needed });
    }
    let mut h: Vec<Option<Ciphertext>> = Vec::new();
    h.resize_with(count, || None);
    rows.into_iter().for_each(|(i, row)| h[i] = Some(row));
    merge(params.degree(), n, h, |stage, pair| {
        let Stage { distance, exponent } = stage;
        let key = keys.get(op, exponent)?;
        let monomial = monomial(&ring, distance);
        par::map_into(pair, |pair| {
            let (sum, difference) = join(params, &monomial, pair)?;
            let mut joined = key.apply(params, &difference)?;
            joined.add_assign(params, &sum)?;
            Ok(joined)
        })
    })
}

/// The partners `h_j`, `h_(j+t)` of a stage: at least one is there.
type Pair<T> = (Option<T>, Option<T>);

/// The loop: `join` turns all pairs of a stage of which one is there into one each.
fn merge<T>(
    degree: usize,
    n: usize,
    mut h: Vec<Option<T>>,
    mut join: impl FnMut(Stage, Vec<Pair<T>>) -> Result<Vec<T>>,
) -> Result<T> {
    for stage in stages(degree, n) {
        let odd = h.split_off(stage.distance);
        let present: Vec<usize> =
            (0..stage.distance).filter(|&j| h[j].is_some() || odd[j].is_some()).collect();
        let pairs = h.into_iter().zip(odd).filter(|(x, y)| x.is_some() || y.is_some()).collect();
        h = Vec::new();
        h.resize_with(stage.distance, || None);
        for (j, joined) in present.into_iter().zip(join(stage, pairs)?) {
            h[j] = Some(joined);
        }
    }
    let first = h.into_iter().next().flatten();
    first.ok_or(Error::NoRows { op: "pack rows" })
}

/// `X^t` in NTT form.
fn monomial(ring: &Ring, t: usize) -> Poly<Ntt> {
    let mut coefficients = vec![0; ring.degree()];
    coefficients[t] = 1;
    ring.forward(ring.from_signed(&coefficients))
}

/// `x + X^t y` and `x - X^t y`.
fn join(
    params: &Params,
    monomial: &Poly<Ntt>,
    pair: Pair<Ciphertext>,
) -> Result<(Ciphertext, Ciphertext)> {
    Ok(match pair {
        (Some(x), None) => (x.clone(), x),
        (x, Some(mut y)) => {
            y.mul_plain_assign(params, monomial)?;
            let Some(mut x) = x else {
                let sum = y.clone();
                y.neg_assign(params)?;
                return Ok((sum, y));
            };
            let mut sum = x.clone();
            sum.add_assign(params, &y)?;
            x.sub_assign(params, &y)?;
            (sum, x)
        }
        (None, None) => unreachable!("a pair has one that is there"),
    })
}

/// `factor` times an LWE value as a ring ciphertext: `b` and `a_0 - sum_(i > 0) a_i X^(N - i)`,
/// whose product with the secret has `<a, s>` as its constant coefficient.
fn constant_term(
    params: &Params,
    key: KeyId,
    value: &lwe::Ciphertext,
    factor: u64,
) -> Result<Ciphertext> {
    let op = "pack LWE values";
    let (ring, degree) = (params.q().prefix(1), params.degree());
    let q = ring.modulus(0);
    if value.dimension() != degree {
        let (found, needed) = (value.dimension(), format!("the degree {degree}"));
        return Err(Error::Shape { op, what: "LWE dimension", found, needed });
    }
    if value.modulus() != q {
        let found = value.modulus().value().to_string();
        let needed = "the first prime of the ring";
        return Err(Error::Value { op, what: "LWE modulus", found, needed });
    }
    let mut mask = ring.zero();
    let coefficients = mask.limb_mut(0);
    coefficients[0] = q.mul(value.a()[0], factor);
    let minus = q.neg(factor);
    for (x, &a) in coefficients[1..].iter_mut().rev().zip(&value.a()[1..]) {
        *x = q.mul(a, minus);
    }
    // A constant has one value everywhere.
    let mut body = ring.zero();
    body.limb_mut(0).fill(q.mul(value.b(), factor));
    Ok(Ciphertext::new(params, body, vec![ring.forward(mask)], key)?)
}

#[cfg(test)]
mod tests;
