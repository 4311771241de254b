//! Algorithm 1 on exact ciphertexts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bellerophon_lwe as lwe;
use bellerophon_mlwe as mlwe;
use bellerophon_ring::Ring;

use super::ciphertext::{check_key, check_limbs};
use super::keys::{DigitKey, Kind, Scratch};
use super::params::Switching;
use super::{Ciphertext, NoiseBound, PackingKeys, Params};
use crate::rows::{Pair, Stage, Task, batches, check_n, check_value, constant_term, merge};
use crate::{Error, Result};

const OP: &str = "pack";

/// One ciphertext of `sum_i m_i(Y) X^i` from ciphertexts of `m_i(Y)`, `Y = X^(N/n)`, given by their
/// indices `i < N / n`; what stands in other coefficients of the inputs is cleared, absent ones count
/// as zero. `n` is that of the keys.
///
/// `N / n - 1` automorphisms where all inputs are there; fewer where both partners of a stage are
/// absent ([`pack_rows`](crate::pack_rows) has the algorithm). Noise:
/// [`noise::packed`](super::noise::packed) of the worst of the inputs. Subtrees run on the active rayon pool.
///
/// # Errors
/// Before any work: [`Error::NoRows`] for none; [`Error::Shape`] for an index from `N / n` on;
/// [`Error::Noise`] where a coefficient of the result could be wrong with a probability above `2^-40`; those of
/// the lattice layer for inputs of other parameters, keys or limbs.
pub fn pack(keys: &PackingKeys, rows: BTreeMap<usize, Ciphertext>) -> Result<Ciphertext> {
    let count = check_n(OP, keys.params.degree(), keys.n)?;
    if let Some(&index) = rows.keys().find(|&&index| index >= count) {
        let needed = format!("below N / n = {count}");
        return Err(Error::Shape { op: OP, what: "index of a row", found: index, needed });
    }
    let mut packed = pack_in_batches(keys, rows)?;
    packed.remove(&0).ok_or(Error::NoRows { op: OP })
}

/// As [`pack`] for any number of inputs: input `i` goes to place `i` modulo `N / n` of result
/// `i / (N / n)`, results by their indices. Those without inputs are absent.
///
/// # Errors
/// As [`pack`], but for the indices.
pub fn pack_in_batches(
    keys: &PackingKeys,
    rows: BTreeMap<usize, Ciphertext>,
) -> Result<BTreeMap<usize, Ciphertext>> {
    let params = &keys.params;
    let limbs = rows.values().next().ok_or(Error::NoRows { op: OP })?.limbs();
    for row in rows.values() {
        params.check(OP, row.fingerprint)?;
        check_key(OP, row.key, keys.key)?;
        check_limbs(OP, row.limbs(), limbs)?;
        row.noise.packed(params, limbs, keys.n)?.check(params, limbs, OP)?;
    }
    let count = check_n(OP, params.degree(), keys.n)?;
    batches(count, rows)
        .into_iter()
        .map(|(batch, leaves)| {
            let packed = pack_leaves(keys, limbs, leaves, Ok)?;
            Ok((batch, packed.ok_or(Error::NoRows { op: OP })?))
        })
        .collect()
}

/// As [`pack_in_batches`] for LWE values of `round(q m / t)` modulo the first prime, of dimension `N` under
/// the coefficients of the secret of the keys: each becomes the constant term of a ciphertext of one limb.
/// `variance` bounds that of their noise, rounding and all.
///
/// # Errors
/// As [`pack_in_batches`]; [`Error::Shape`] for a value of another dimension or two of one index,
/// [`Error::Value`] for another modulus, or a variance that is none.
pub fn pack_values<'v>(
    keys: &PackingKeys,
    variance: f64,
    values: impl IntoIterator<Item = (usize, &'v lwe::Ciphertext)>,
) -> Result<BTreeMap<usize, Ciphertext>> {
    let (op, params) = ("pack LWE values", &keys.params);
    if !(variance >= 0.0 && variance.is_finite()) {
        let (what, found) = ("variance", variance.to_string());
        return Err(Error::Value { op, what, found, needed: "a finite number from 0 on" });
    }
    let (ring, noise) = (params.ring().prefix(1), NoiseBound::of(variance));
    noise.packed(params, 1, keys.n)?.check(params, 1, op)?;
    let mut taken = BTreeMap::new();
    for (index, value) in values {
        check_value(op, &ring, value)?;
        if taken.insert(index, value).is_some() {
            let needed = "one value for each index".into();
            return Err(Error::Shape { op, what: "index of two values", found: index, needed });
        }
    }
    if taken.is_empty() {
        return Err(Error::NoRows { op });
    }
    let count = check_n(op, params.degree(), keys.n)?;
    let row = |value: &lwe::Ciphertext| {
        let (b, a) = constant_term(&ring, value, 1);
        Ciphertext { b, a, noise, fingerprint: params.fingerprint(), key: keys.key }
    };
    batches(count, taken)
        .into_iter()
        .map(|(batch, leaves)| {
            let packed = pack_leaves(keys, 1, leaves, |value| Ok(value.map(row)))?;
            Ok((batch, packed.ok_or(Error::NoRows { op })?))
        })
        .collect()
}

/// As [`pack`] for what `leaf` makes of each of `N / n` entries: the rows need not be held at once. Noise is
/// accounted for and not checked.
pub(crate) fn pack_leaves<L: Send>(
    keys: &PackingKeys,
    limbs: usize,
    leaves: Vec<L>,
    leaf: impl Fn(L) -> Result<Option<Ciphertext>> + Sync,
) -> Result<Option<Ciphertext>> {
    let params = &keys.params;
    let (ring, count) = (params.ring().prefix(limbs), check_n("pack", params.degree(), keys.n)?);
    let inverses = ring.moduli().map(|q| q.inv(q.reduce(count as u64)));
    let inverses: Vec<u64> = inverses.collect::<bellerophon_ring::Result<_>>()?;
    let worst: Mutex<Option<NoiseBound>> = Mutex::default();
    let divided = |entry: L| {
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
            let task = Task::new("pack", lattice, galois, keys.n, limbs, keys.key)?;
            let packed = task.pack_leaves(leaves, |entry| {
                divided(entry)?.map(|row| to_lattice(lattice, row)).transpose()
            })?;
            packed.map(|row| from_lattice(params, row))
        }
        (Kind::Digits(_, stages), _) => {
            // As many as there are threads at work.
            let idle: Mutex<Vec<Scratch>> = Mutex::default();
            let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
            merge(params.degree(), keys.n, leaves, &divided, &|stage: Stage, pair| {
                let key = &stages[stage.index];
                let taken = lock().pop();
                let mut scratch = taken.unwrap_or_else(|| key.scratch(&ring));
                let joined = join(&ring, key, pair, &mut scratch);
                lock().push(scratch);
                Ok(joined)
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

/// Line 15 of Algorithm 1 over one prime.
fn join(ring: &Ring, key: &DigitKey, pair: Pair<Ciphertext>, scratch: &mut Scratch) -> Ciphertext {
    let turn = |y: &mut Ciphertext| {
        y.polys_mut().into_iter().for_each(|poly| ring.mul_assign(poly, &key.monomial));
    };
    let write = |scratch: &mut Scratch, x: &Ciphertext| {
        scratch.b.data_mut().copy_from_slice(x.b.data());
        scratch.a.data_mut().copy_from_slice(x.a.data());
    };
    match pair {
        Pair::Even(mut x) => {
            write(scratch, &x);
            key.apply(ring, scratch);
            ring.add_assign(&mut x.b, &scratch.b);
            ring.add_assign(&mut x.a, &scratch.a);
            x
        }
        Pair::Odd(mut y) => {
            turn(&mut y);
            write(scratch, &y);
            key.apply(ring, scratch);
            ring.sub_assign(&mut y.b, &scratch.b);
            ring.sub_assign(&mut y.a, &scratch.a);
            y
        }
        Pair::Both(mut x, mut y) => {
            turn(&mut y);
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
    Ok(mlwe::Ciphertext::new(lattice, row.b, vec![row.a], row.key)?)
}

fn from_lattice(params: &Params, row: mlwe::Ciphertext) -> Ciphertext {
    let key = row.key();
    let (b, mut masks) = row.into_parts();
    let noise = NoiseBound::fresh(params);
    Ciphertext { b, a: masks.swap_remove(0), noise, fingerprint: params.fingerprint(), key }
}
