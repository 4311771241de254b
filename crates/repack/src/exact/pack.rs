//! Algorithm 1 on exact ciphertexts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bellerophon_mlwe as mlwe;
use bellerophon_ring::Ring;

use super::ciphertext::{check_key, check_limbs};
use super::keys::{DigitKey, Kind, Scratch};
use super::params::Switching;
use super::{Ciphertext, PackingKeys, Params};
use crate::rows::{Pair, Stage, Task, check_n, merge};
use crate::{Error, Result};

/// One ciphertext of `sum_i m_i(Y) X^i` from ciphertexts of `m_i(Y)`, `Y = X^(N/n)`, given by their
/// indices `i < N / n`; what stands in other coefficients of the inputs is cleared, absent ones count
/// as zero. `n` is that of the keys.
///
/// `N / n - 1` automorphisms where all inputs are there; fewer where both partners of a stage are
/// absent ([`pack_rows`](crate::pack_rows) has the algorithm). Noise:
/// [`noise::packed`](super::noise::packed). Subtrees run on the active rayon pool.
///
/// # Errors
/// [`Error::NoRows`] for none; [`Error::Shape`] for an index from `N / n` on; those of the lattice
/// layer for inputs of other parameters, keys or limbs.
pub fn pack(keys: &PackingKeys, rows: BTreeMap<usize, Ciphertext>) -> Result<Ciphertext> {
    let op = "pack";
    let params = &keys.params;
    let count = check_n(op, params.degree(), keys.n)?;
    let limbs = rows.values().next().ok_or(Error::NoRows { op })?.limbs();
    let mut leaves = vec![None; count];
    for (index, row) in rows {
        if index >= count {
            let needed = format!("below N / n = {count}");
            return Err(Error::Shape { op, what: "index of a row", found: index, needed });
        }
        params.check(op, row.fingerprint)?;
        check_key(op, row.key, keys.key)?;
        check_limbs(op, row.limbs(), limbs)?;
        leaves[index] = Some(row);
    }
    pack_leaves(keys, limbs, leaves, Ok)?.ok_or(Error::NoRows { op })
}

/// As [`pack`] for what `leaf` makes of each of `N / n` entries: the rows need not be held at once.
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
    let divided = |entry: L| {
        let mut row = leaf(entry)?;
        let polys = row.iter_mut().flat_map(Ciphertext::polys_mut);
        polys.for_each(|poly| ring.mul_residues_assign(poly, &inverses));
        Ok(row)
    };
    match (&keys.kind, params.switching()) {
        (Kind::Special(galois), Switching::Special(lattice)) => {
            let task = Task::new("pack", lattice, galois, keys.n, limbs, keys.key)?;
            let packed = task.pack_leaves(leaves, |entry| {
                divided(entry)?.map(|row| to_lattice(lattice, row)).transpose()
            })?;
            Ok(packed.map(|row| from_lattice(params, row)))
        }
        (Kind::Digits(stages), _) => {
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
            })
        }
        (Kind::Special(_), Switching::Digits(_)) => {
            unreachable!("keys have the kind of their parameters")
        }
    }
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
    Ciphertext { b, a: masks.swap_remove(0), fingerprint: params.fingerprint(), key }
}
