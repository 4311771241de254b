//! Ring packing (Algorithm 1) of exact ciphertexts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bellerophon_lwe as lwe;
use bellerophon_mlwe as mlwe;
use bellerophon_repack::ring_packing::{
    Packing, Pair, Stage, batches, constant_term, input_count, pack_tree, values_by_index,
};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, Ring, error::operation};

use super::ciphertext::{check_key, check_limbs};
use super::keys::{DigitKey, Kind, Scratch};
use super::params::Switching;
use super::{Ciphertext, NoiseBound, PackingKeys, Params};
use crate::error;

/// Packs ciphertexts of `m_i(Y)`, `Y = X^(N/n)`, into one ciphertext of `sum_i m_i(Y) X^i`. Inputs
/// are given by their indices `i < N / n`; absent ones count as zero. All other coefficients of the
/// inputs are cleared. `n` is that of the keys.
///
/// All `N / n` inputs take `N / n - 1` automorphisms; where both partners of a stage are absent,
/// the automorphism is skipped ([`pack_rows`](bellerophon_repack::pack_rows) has the algorithm).
/// The noise is that of the noisiest input and of the key switches. Subtrees run on the active
/// rayon pool.
///
/// # Errors
/// Before any work: [`ErrorKind::Noise`] if a coefficient of the result could be wrong with a
/// probability above `2^-40`.
pub fn pack(keys: &PackingKeys, rows: BTreeMap<usize, Ciphertext>) -> Result<Ciphertext> {
    operation("pack", || {
        // One batch: no index may start a second one.
        let count = input_count(keys.params.degree(), keys.n)?;
        if let Some(&index) = rows.keys().find(|&&index| index >= count) {
            let needed = format!("below N / n = {count}");
            return Err(error::shape("index of a row", index, needed));
        }
        let mut packed = pack_in_batches(keys, rows)?;
        packed.remove(&0).ok_or_else(error::no_rows)
    })
}

/// As [`pack`] for any number of inputs: input `i` goes to position `i` modulo `N / n` of result
/// `i / (N / n)`. Results are returned by their indices; a result without inputs is absent.
pub(super) fn pack_in_batches(
    keys: &PackingKeys,
    rows: BTreeMap<usize, Ciphertext>,
) -> Result<BTreeMap<usize, Ciphertext>> {
    let params = &keys.params;
    // Step 1: all checks, before any work.
    let limbs = rows.values().next().ok_or_else(error::no_rows)?.limbs();
    for row in rows.values() {
        params.check(row.fingerprint)?;
        check_key(row.key, keys.key)?;
        check_limbs(row.limbs(), limbs)?;
        row.noise.packed(params, limbs, keys.n)?.check(params, limbs)?;
    }
    // Step 2: Algorithm 1 on every batch.
    pack_batches(keys, limbs, rows, |row| row)
}

/// Algorithm 1 on every batch of inputs, which `leaf` converts to ciphertexts.
fn pack_batches<L: Send>(
    keys: &PackingKeys,
    limbs: usize,
    inputs: BTreeMap<usize, L>,
    leaf: impl Fn(L) -> Ciphertext + Sync,
) -> Result<BTreeMap<usize, Ciphertext>> {
    batches(input_count(keys.params.degree(), keys.n)?, inputs)
        .into_iter()
        .map(|(batch, leaves)| {
            let packed = pack_leaves(keys, limbs, leaves, |input| Ok(input.map(&leaf)))?;
            Ok((batch, packed.ok_or_else(error::no_rows)?))
        })
        .collect()
}

/// As [`pack`] for any number of LWE encryptions of `round(q m / t)` modulo the first prime, of
/// dimension `N`, under the coefficients of the secret of the keys. Each becomes the constant term
/// of a ciphertext of one limb. Value `i` goes to position `i` modulo `N / n` of result
/// `i / (N / n)`; a result without values is absent. `variance` bounds the variance of their noise,
/// rounding errors included.
///
/// # Errors
/// Before any work, as [`pack`]; [`ErrorKind::Shape`] for two values of one index.
pub fn pack_values<'v>(
    keys: &PackingKeys,
    variance: f64,
    values: impl IntoIterator<Item = (usize, &'v lwe::Ciphertext)>,
) -> Result<BTreeMap<usize, Ciphertext>> {
    operation("pack_values", || {
        let params = &keys.params;
        if !(variance >= 0.0 && variance.is_finite()) {
            let (what, found) = ("variance", variance.to_string());
            return Err(error::value(what, found, "a finite number from 0 on"));
        }
        // Step 1: all checks, before any work.
        let (ring, noise) = (params.ring().at_limbs(1), NoiseBound::of(variance));
        noise.packed(params, 1, keys.n)?.check(params, 1)?;
        let values = values_by_index(&ring, values)?;
        if values.is_empty() {
            return Err(error::no_rows());
        }
        // Step 2: Algorithm 1 on ciphertexts with the values as constant terms.
        pack_batches(keys, 1, values, |value| {
            let (b, a) = constant_term(&ring, value, 1);
            Ciphertext { b, a, noise, fingerprint: params.fingerprint(), key: keys.key }
        })
    })
}

/// As [`pack`] for lazily made inputs: `leaf` makes the input of each of `N / n` entries when it is
/// needed. The noise is tracked and not checked.
pub(crate) fn pack_leaves<L: Send>(
    keys: &PackingKeys,
    limbs: usize,
    leaves: Vec<L>,
    leaf: impl Fn(L) -> Result<Option<Ciphertext>> + Sync,
) -> Result<Option<Ciphertext>> {
    let params = &keys.params;
    let (ring, count) = (params.ring().at_limbs(limbs), input_count(params.degree(), keys.n)?);
    // Packing multiplies by N / n, so every input is divided by it first.
    let inverses = ring.moduli().map(|q| q.inv(q.reduce(count as u64)));
    let inverses: Vec<u64> = inverses.collect::<bellerophon_ring::Result<_>>()?;
    let worst: Mutex<Option<NoiseBound>> = Mutex::default();
    let divided = |entry: L| -> Result<_> {
        // The noise of the result is that of the noisiest input.
        let mut row = leaf(entry)?;
        if let Some(row) = &row {
            let mut worst = worst.lock().unwrap_or_else(PoisonError::into_inner);
            *worst = Some(worst.map_or(row.noise, |worst| worst.worse(row.noise)));
        }
        let polys = row.iter_mut().flat_map(Ciphertext::polys_mut);
        polys.for_each(|poly| ring.mul_residues_assign(poly, &inverses));
        Ok(row)
    };
    let packed = match (&keys.kind, params.switching()) {
        (Kind::Special(galois), Switching::Special(lattice)) => {
            let packing = Packing::new(lattice, galois, keys.n, limbs, keys.key)?;
            let packed = packing.pack_leaves(leaves, |entry| {
                divided(entry)?.map(|row| to_lattice(lattice, row)).transpose()
            })?;
            packed.map(|row| from_lattice(params, row))
        }
        (Kind::Digits(_, stages), _) => {
            // Idle scratch memory, one for each thread at work.
            let idle: Mutex<Vec<Scratch>> = Mutex::default();
            let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
            pack_tree(params.degree(), keys.n, leaves, divided, |stage: Stage, pair| {
                let key = &stages[stage.index];
                let taken = lock().pop();
                let mut scratch = taken.unwrap_or_else(|| key.scratch(&ring));
                let merged = merge(&ring, key, pair, &mut scratch);
                lock().push(scratch);
                Ok(merged)
            })?
        }
        (Kind::Special(_), Switching::Digits(_)) => {
            unreachable!("keys have the kind of their parameters")
        }
    };
    let worst = worst.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (Some(packed), Some(worst)) = (packed, worst) else { return Ok(None) };
    Ok(Some(Ciphertext { noise: worst.packed(params, limbs, keys.n)?, ..packed }))
}

/// Line 15 of Algorithm 1 over one prime: one row from the two partners of a stage.
fn merge(ring: &Ring, key: &DigitKey, pair: Pair<Ciphertext>, scratch: &mut Scratch) -> Ciphertext {
    let shift = |y: &mut Ciphertext| {
        y.polys_mut().into_iter().for_each(|poly| ring.mul_assign(poly, &key.monomial));
    };
    let write = |scratch: &mut Scratch, x: &Ciphertext| {
        scratch.b.data_mut().copy_from_slice(x.b.data());
        scratch.a.data_mut().copy_from_slice(x.a.data());
    };
    match pair {
        // x + phi(x)
        Pair::Even(mut x) => {
            write(scratch, &x);
            key.apply(ring, scratch);
            ring.add_assign(&mut x.b, &scratch.b);
            ring.add_assign(&mut x.a, &scratch.a);
            x
        }
        // X^t y - phi(X^t y)
        Pair::Odd(mut y) => {
            shift(&mut y);
            write(scratch, &y);
            key.apply(ring, scratch);
            ring.sub_assign(&mut y.b, &scratch.b);
            ring.sub_assign(&mut y.a, &scratch.a);
            y
        }
        // (x + X^t y) + phi(x - X^t y)
        Pair::Both(mut x, mut y) => {
            shift(&mut y);
            write(scratch, &x);
            ring.sub_assign(&mut scratch.b, &y.b);
            ring.sub_assign(&mut scratch.a, &y.a);
            ring.add_assign(&mut x.b, &y.b);
            ring.add_assign(&mut x.a, &y.a);
            key.apply(ring, scratch);
            ring.add_assign(&mut x.b, &scratch.b);
            ring.add_assign(&mut x.a, &scratch.a);
            x
        }
    }
}

fn to_lattice(lattice: &mlwe::Params, row: Ciphertext) -> Result<mlwe::Ciphertext> {
    mlwe::Ciphertext::new(lattice, row.b, vec![row.a], row.key)
}

fn from_lattice(params: &Params, row: mlwe::Ciphertext) -> Ciphertext {
    let key = row.ident().key;
    let (b, mut masks) = row.into_parts();
    let noise = NoiseBound::fresh(params);
    Ciphertext { b, a: masks.swap_remove(0), noise, fingerprint: params.fingerprint(), key }
}
