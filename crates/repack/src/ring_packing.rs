//! Ring packing: many ring ciphertexts, or LWE values, become one ring ciphertext by automorphisms
//! (Bossuat and Izabachene, "Large Domain Homomorphic Evaluation for BFV-like schemes via Ring
//! Repacking", Algorithm 1).
//!
//! Input `i` encrypts `m_i(Y)`, `Y = X^(N/n)`, with arbitrary values in the coefficients that are
//! not powers of `Y`. The result encrypts `sum_i m_i(Y) X^i`, `0 <= i < N / n`. Stage `s` merges
//! the inputs `j` and `j + t`, `t = N / 2^(s+1)`, by one automorphism `phi` that changes the sign
//! of the odd powers of `X^t` and keeps the even ones:
//!
//! ```text
//! h_j <- (h_j + X^t h_(j+t)) + phi(h_j - X^t h_(j+t)).
//! ```
//!
//! The kept coefficients double in every stage. All inputs are divided by `N / n` first to
//! compensate, which is exact modulo an odd `q`. There is one stage of `N / 2^(s+1)` automorphisms
//! for each `s` from `log n` to `log N - 1`, so `N / n` inputs take `N / n - 1` automorphisms
//! (Lemma 4). An absent input counts as zero and is skipped; where both partners are absent, so is
//! the automorphism. Gaps are cheap if partners are absent together, that is, if indices are
//! spread: 1024 rows of `N = 4096` take 1025 automorphisms at the indices `4 i`, and 3071 at
//! `0, 1, .. 1023`; with `n = 4` they take 1023.
//!
//! Lemma 5 of the paper states the noise `V + (N / n - 1) V_ks`, which holds for magnitudes. A
//! variance quadruples where a magnitude doubles: [`row_packing_noise`].
//!
//! Coefficients of the result that carry no message are equations in the inputs and the secret.
//! Whoever publishes a decrypted result publishes them too.
//!
//! The free functions of the crate apply the algorithm to ciphertexts of the lattice layer.
//! [`Packing`] and [`pack_tree`] are its parts, for schemes with ciphertexts of their own.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::collections::BTreeMap;

use bellerophon_lwe as lwe;
use bellerophon_mlwe::{
    self as mlwe, Ciphertext, GaloisKeys, KeyId, Params, SecretKey, conjugation_exponent, noise,
    rotation_exponent,
};
use bellerophon_ring::{Ntt, Poly, Result, Ring, error::operation, join};
use rand::CryptoRng;

use crate::error;

/// The exponents of the automorphisms that the packing of `N / n` inputs needs, in the order of the
/// stages. Each needs one key, `log2(N / n)` in total.
///
/// # Errors
/// [`ErrorKind::Shape`] unless `n` is a power of two up to the degree.
pub fn row_packing_exponents(degree: usize, n: usize) -> Result<Vec<usize>> {
    input_count(degree, n)?;
    Ok(stages(degree, n).map(|stage| stage.exponent).collect())
}

/// The keys of [`pack_rows`] for inputs of up to `limbs` limbs.
pub fn row_packing_keys<R: CryptoRng + ?Sized>(
    secret: &SecretKey,
    n: usize,
    limbs: usize,
    rng: &mut R,
) -> Result<GaloisKeys> {
    let exponents = row_packing_exponents(secret.params().spec().degree, n)?;
    GaloisKeys::generate(secret, exponents, limbs, rng)
}

/// Algorithm 1: packs ciphertexts of `m_i(Y)`, `Y = X^(N/n)`, under one key into one ciphertext of
/// `sum_i m_i(Y) X^i`. Inputs are given by their indices `i < N / n`; absent ones count as zero.
///
/// The noise is [`row_packing_noise`]. The rows of a stage run on the active rayon pool.
///
/// # Errors
/// [`ErrorKind::Shape`] for an index of `N / n` or more; [`ErrorKind::Length`] for no rows. All
/// come before any work.
pub fn pack_rows(
    params: &Params,
    keys: &GaloisKeys,
    n: usize,
    rows: BTreeMap<usize, Ciphertext>,
) -> Result<Ciphertext> {
    operation("pack_rows", || {
        check_indices(input_count(params.spec().degree, n)?, rows.keys())?;
        one(pack_rows_in_batches(params, keys, n, rows)?)
    })
}

/// As [`pack_rows`] for any number of inputs: input `i` goes to position `i` modulo `N / n` of
/// result `i / (N / n)`. Results are returned by their indices; a result without inputs is absent.
pub(crate) fn pack_rows_in_batches(
    params: &Params,
    keys: &GaloisKeys,
    n: usize,
    rows: BTreeMap<usize, Ciphertext>,
) -> Result<BTreeMap<usize, Ciphertext>> {
    // Step 1: rows and keys belong together.
    let first = rows.values().next().ok_or_else(error::no_rows)?;
    for row in rows.values() {
        if row.ident().fingerprint != params.fingerprint() {
            let (found, needed) = (row.ident().fingerprint, params.fingerprint());
            return Err(mlwe::error::params_mismatch(found, needed));
        }
    }
    let (limbs, key) = (first.limbs(), first.ident().key);
    let packing = Packing::new(params, keys, n, limbs, key)?;
    for row in rows.values() {
        if row.ident().key != key {
            return Err(mlwe::error::key_mismatch(row.ident().key, key));
        }
        if row.limbs() != limbs {
            let (found, needed) = (row.limbs(), format!("{limbs}, as in the first"));
            return Err(error::shape("limbs of a row", found, needed));
        }
    }
    // Step 2: Algorithm 1 on rows divided by N / n.
    let inverses = packing.inverses();
    packing.pack_batches(rows, |mut row| {
        row.polys_mut().for_each(|poly| packing.ring.mul_residues_assign(poly, &inverses));
        Ok(row)
    })
}

/// [`pack_rows`] of LWE values of dimension `N` under the coefficients of the ring secret `key`,
/// each as the constant term of a ring ciphertext: value `i` becomes the coefficient of `X^i`.
///
/// With `n > 1` the coefficients `i + N / n`, `i + 2 N / n`, .. of the result carry no message, and
/// the stages that would clear them are skipped.
///
/// # Errors
/// Two values of one index are refused: [`ErrorKind::Shape`].
pub fn pack_values<'v>(
    params: &Params,
    keys: &GaloisKeys,
    key: KeyId,
    n: usize,
    values: impl IntoIterator<Item = (usize, &'v lwe::Ciphertext)>,
) -> Result<Ciphertext> {
    operation("pack_values", || {
        let values: Vec<_> = values.into_iter().collect();
        check_indices(input_count(params.spec().degree, n)?, values.iter().map(|(i, _)| i))?;
        one(pack_values_in_batches(params, keys, key, n, values)?)
    })
}

/// As [`pack_values`] for any number of values: value `i` goes to position `i` modulo `N / n` of
/// result `i / (N / n)`. Results are returned by their indices; a result without values is absent.
pub(crate) fn pack_values_in_batches<'v>(
    params: &Params,
    keys: &GaloisKeys,
    key: KeyId,
    n: usize,
    values: impl IntoIterator<Item = (usize, &'v lwe::Ciphertext)>,
) -> Result<BTreeMap<usize, Ciphertext>> {
    let packing = Packing::new(params, keys, n, 1, key)?;
    // Algorithm 1 on the values as constant terms, divided by N / n.
    let inverse = packing.inverses()[0];
    packing.pack_batches(values_by_index(&packing.ring, values)?, |value| {
        let (b, a) = constant_term(&packing.ring, value, inverse);
        Ciphertext::new(params, b, vec![a], key)
    })
}

/// Variance of the noise of a coefficient that holds a message, after packing with `n`. The inputs
/// have variance `input`, and every automorphism adds `automorphism`:
///
/// ```text
/// input + ((N / n)^2 - 1) / 3 automorphism.
/// ```
///
/// The noise that a stage adds doubles in each of the following stages: its variance quadruples.
pub fn row_packing_noise(degree: usize, n: usize, input: f64, automorphism: f64) -> Result<f64> {
    let count = input_count(degree, n)? as f64;
    Ok(input + (count * count - 1.0) / 3.0 * automorphism)
}

/// [`row_packing_noise`] of LWE values of variance `input`, with keys of these parameters.
pub fn packed_values_noise(params: &Params, n: usize, input: f64) -> Result<f64> {
    row_packing_noise(params.spec().degree, n, input, noise::automorphism(params, 1))
}

/// One stage: its number, the distance of partners, and the automorphism that joins them.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// Its number, from 0.
    pub index: usize,
    /// The distance `t` of partners.
    pub distance: usize,
    /// The exponent of its automorphism.
    pub exponent: usize,
}

/// The stages of Algorithm 1 (lines 8 to 12), for an `n` that divides the degree.
pub fn stages(degree: usize, n: usize) -> impl Iterator<Item = Stage> {
    let first = n.trailing_zeros();
    (first..degree.trailing_zeros()).map(move |i| Stage {
        index: (i - first) as usize,
        distance: degree >> (i + 1),
        exponent: match i {
            0 => conjugation_exponent(degree),
            _ => rotation_exponent(degree, 1 << (i - 1)),
        },
    })
}

/// `N / n`: the number of inputs of one packing.
///
/// # Errors
/// [`ErrorKind::Shape`] unless `n` is a power of two up to the degree.
pub fn input_count(degree: usize, n: usize) -> Result<usize> {
    if !degree.is_power_of_two() || !n.is_power_of_two() || n > degree {
        let needed = format!("a power of two up to the degree {degree}, itself one");
        return Err(error::shape("n", n, needed));
    }
    Ok(degree / n)
}

/// Algorithm 1 on ciphertexts of module-LWE of rank 1, with keys that have been checked.
#[derive(Debug)]
pub struct Packing<'a> {
    params: &'a Params,
    keys: &'a GaloisKeys,
    n: usize,
    /// `N / n`.
    count: usize,
    ring: Ring,
    /// `X^t` of every stage.
    monomials: Vec<Poly<Ntt>>,
}

impl<'a> Packing<'a> {
    /// Packing with `n` for ciphertexts of `limbs` limbs under `key`.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`] for a stage without Galois key, before any work.
    pub fn new(
        params: &'a Params,
        keys: &'a GaloisKeys,
        n: usize,
        limbs: usize,
        key: KeyId,
    ) -> Result<Self> {
        // Step 1: a key for every stage, from the secret of the rows to itself, with enough limbs.
        let count = input_count(params.spec().degree, n)?;
        for stage in stages(params.spec().degree, n) {
            let galois = keys.get(stage.exponent)?;
            let end = galois.key().shape().from;
            if end.fingerprint != params.fingerprint() {
                let (found, needed) = (end.fingerprint, params.fingerprint());
                return Err(mlwe::error::params_mismatch(found, needed));
            }
            if end.key != key {
                return Err(mlwe::error::key_mismatch(key, end.key));
            }
            if galois.key().shape().limbs < limbs {
                let needed =
                    format!("at most {}, the limbs of a Galois key,", galois.key().shape().limbs);
                return Err(mlwe::error::limbs(limbs, needed));
            }
        }
        // Step 2: the monomials X^t, one for each stage.
        let ring = params.q().at_limbs(limbs);
        let monomials =
            stages(params.spec().degree, n).map(|stage| monomial(&ring, stage.distance)).collect();
        Ok(Self { params, keys, n, count, ring, monomials })
    }

    /// `(N / n)^-1` modulo every prime.
    fn inverses(&self) -> Vec<u64> {
        let inverse = |q: &bellerophon_ring::Modulus| q.inv(q.reduce(self.count as u64));
        self.ring.moduli().map(|q| inverse(q).expect("the prime is odd")).collect()
    }

    /// Lines 7 to 16 of Algorithm 1 for each batch of inputs, which `leaf` converts to ciphertexts.
    fn pack_batches<L: Send>(
        &self,
        inputs: BTreeMap<usize, L>,
        leaf: impl Fn(L) -> Result<Ciphertext> + Sync,
    ) -> Result<BTreeMap<usize, Ciphertext>> {
        let none = || error::no_rows();
        if inputs.is_empty() {
            return Err(none());
        }
        let made = |input: Option<L>| input.map(&leaf).transpose();
        batches(self.count, inputs)
            .into_iter()
            .map(|(batch, leaves)| Ok((batch, self.pack_leaves(leaves, made)?.ok_or_else(none)?)))
            .collect()
    }

    /// As [`pack_rows`] for lazily made inputs: `leaf` returns the input of an entry, already
    /// divided by `N / n`. An input is made when it is needed and is dropped once it is merged.
    pub fn pack_leaves<L: Send>(
        &self,
        leaves: Vec<L>,
        leaf: impl Fn(L) -> Result<Option<Ciphertext>> + Sync,
    ) -> Result<Option<Ciphertext>> {
        let degree = self.params.spec().degree;
        pack_tree(degree, self.n, leaves, leaf, |stage, pair| self.merge(stage, pair))
    }

    /// Line 15 of Algorithm 1: one row from the two partners of a stage.
    fn merge(&self, stage: Stage, pair: Pair<Ciphertext>) -> Result<Ciphertext> {
        let params = self.params;
        let key = self.keys.get(stage.exponent)?;
        Ok(match pair {
            // x + phi(x)
            Pair::Even(x) => {
                let mut merged = key.apply(params, &x)?;
                merged.add_assign(params, &x)?;
                merged
            }
            // X^t y - phi(X^t y)
            Pair::Odd(mut y) => {
                y.mul_plain_assign(params, &self.monomials[stage.index])?;
                let rotated = key.apply(params, &y)?;
                y.sub_assign(params, &rotated)?;
                y
            }
            // (x + X^t y) + phi(x - X^t y)
            Pair::Both(mut x, mut y) => {
                y.mul_plain_assign(params, &self.monomials[stage.index])?;
                let mut sum = x.clone();
                sum.add_assign(params, &y)?;
                x.sub_assign(params, &y)?;
                sum.add_assign(params, &key.apply(params, &x)?)?;
                sum
            }
        })
    }
}

/// The partners of a stage, `h_j` and `h_(j+t)`. At least one is present.
#[derive(Debug)]
pub enum Pair<T> {
    /// `h_j` alone.
    Even(T),
    /// `h_(j+t)` alone.
    Odd(T),
    /// `h_j` and `h_(j+t)`.
    Both(T, T),
}

/// The loop of Algorithm 1 over any type of ciphertext, depth first: few rows are held at a time,
/// and those are in the cache. `leaf` makes the row of an entry, `merge` makes one row from the
/// partners of a stage. The result is `None` if all leaves are.
pub fn pack_tree<L: Send, T: Send>(
    degree: usize,
    n: usize,
    leaves: Vec<L>,
    leaf: impl Fn(L) -> Result<Option<T>> + Sync,
    merge: impl Fn(Stage, Pair<T>) -> Result<T> + Sync,
) -> Result<Option<T>> {
    let stages: Vec<Stage> = stages(degree, n).collect();
    // Bit-reversed order makes the entries of a subtree neighbours: the even ones first.
    let mut order: Vec<Option<L>> = leaves.into_iter().map(Some).collect();
    let bits = stages.len() as u32;
    for i in 0..order.len() {
        let j = i.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
        if i < j {
            order.swap(i, j);
        }
    }
    subtree(&stages, &mut order, &leaf, &merge)
}

/// The row into which the first stages pack these entries.
fn subtree<L: Send, T: Send, F, M>(
    stages: &[Stage],
    leaves: &mut [Option<L>],
    leaf: &F,
    merge: &M,
) -> Result<Option<T>>
where
    F: Fn(L) -> Result<Option<T>> + Sync,
    M: Fn(Stage, Pair<T>) -> Result<T> + Sync,
{
    let Some((&last, earlier)) = stages.split_last() else {
        return leaves[0].take().map_or(Ok(None), leaf);
    };
    // Both halves are independent: they run in parallel.
    let (even, odd) = leaves.split_at_mut(leaves.len() / 2);
    let (even, odd) =
        join(|| subtree(earlier, even, leaf, merge), || subtree(earlier, odd, leaf, merge));
    // Without either partner there is nothing to merge.
    let pair = match (even?, odd?) {
        (Some(x), Some(y)) => Pair::Both(x, y),
        (Some(x), None) => Pair::Even(x),
        (None, Some(y)) => Pair::Odd(y),
        (None, None) => return Ok(None),
    };
    merge(last, pair).map(Some)
}

/// `X^t` in NTT form.
pub fn monomial(ring: &Ring, t: usize) -> Poly<Ntt> {
    let mut coefficients = vec![0; ring.degree()];
    coefficients[t] = 1;
    ring.forward(ring.from_signed(&coefficients))
}

/// Splits inputs into batches of `count`: batch `index / count`, position `index % count`.
pub fn batches<T>(count: usize, inputs: BTreeMap<usize, T>) -> BTreeMap<usize, Vec<Option<T>>> {
    let mut batches = BTreeMap::new();
    for (index, input) in inputs {
        let batch = batches
            .entry(index / count)
            .or_insert_with(|| (0..count).map(|_| None).collect::<Vec<_>>());
        batch[index % count] = Some(input);
    }
    batches
}

/// The result of a packing whose indices are all below `N / n`.
fn one(mut packed: BTreeMap<usize, Ciphertext>) -> Result<Ciphertext> {
    packed.remove(&0).ok_or_else(error::no_rows)
}

fn check_indices<'i>(count: usize, indices: impl IntoIterator<Item = &'i usize>) -> Result<()> {
    let Some(&found) = indices.into_iter().find(|&&index| index >= count) else { return Ok(()) };
    let needed = format!("below N / n = {count}");
    Err(error::shape("index of a row", found, needed))
}

/// LWE values by their indices: one for each index, with the degree of the ring as its dimension
/// and the first prime as its modulus.
pub fn values_by_index<'v>(
    ring: &Ring,
    values: impl IntoIterator<Item = (usize, &'v lwe::Ciphertext)>,
) -> Result<BTreeMap<usize, &'v lwe::Ciphertext>> {
    let mut taken = BTreeMap::new();
    for (index, value) in values {
        if taken.insert(index, value).is_some() {
            let needed = "one value for each index".into();
            return Err(error::shape("index of two values", index, needed));
        }
        if value.a().len() != ring.degree() {
            let (found, needed) = (value.a().len(), format!("the degree {}", ring.degree()));
            return Err(error::shape("LWE dimension", found, needed));
        }
        if value.modulus() != ring.modulus(0) {
            let found = value.modulus().value().to_string();
            let needed = "the first prime of the ring";
            return Err(error::value("LWE modulus", found, needed));
        }
    }
    Ok(taken)
}

/// `factor` times an LWE value as a ring ciphertext `(b, a)` with the value as its constant
/// coefficient: `a = a_0 - sum_(i > 0) a_i X^(N - i)`, whose product with the secret has `<a, s>`
/// as its constant coefficient.
pub fn constant_term(ring: &Ring, value: &lwe::Ciphertext, factor: u64) -> (Poly<Ntt>, Poly<Ntt>) {
    // <a, s> is the constant coefficient of a s, since X^N = -1.
    let q = ring.modulus(0);
    let mut mask = ring.zero();
    let coefficients = mask.limb_mut(0);
    coefficients[0] = q.mul(value.a()[0], factor);
    let minus = q.neg(factor);
    for (x, &a) in coefficients[1..].iter_mut().rev().zip(&value.a()[1..]) {
        *x = q.mul(a, minus);
    }
    // The NTT of a constant is that constant everywhere.
    let mut body = ring.zero();
    body.limb_mut(0).fill(q.mul(value.b(), factor));
    (body, ring.forward(mask))
}

#[cfg(test)]
mod tests;
