//! Blind rotation: multiplying accumulators by `X^(b + <a, s>)` with `s` encrypted (PEGASUS,
//! Fig. 2, lines 3 to 6).

mod cggi;

pub use cggi::{BlindRotationKey, SeededBlindRotationKey};

use crate::{Error, Exponents, LookupTable, Params, Result, par, rgsw::Accumulator};

/// How many accumulators walk the key together on one thread: with the key element (half a
/// megabyte at degree 4096 and two primes) they stay within a cache of two megabytes.
const GROUP: usize = 16;

/// How many look-ups an operation starts together: a few groups for each thread, so that it can
/// report, and be stopped, every few seconds.
pub(crate) fn batch() -> usize {
    64.max(GROUP * par::threads())
}

/// Rotates one table, or one for each value, by the exponents of each value.
///
/// The accumulators of a group walk the key together, one key element after the other; groups
/// run on the threads of the active pool. Coefficient 0 of an accumulator that comes out has the
/// phase of the table's entry at the index of its value.
///
/// # Errors
/// If exponents or tables are not of this parameter set, or there are neither one nor as many
/// tables as values.
pub fn blind_rotate_batch(
    params: &Params,
    values: &[Exponents],
    tables: &[&LookupTable],
    key: &BlindRotationKey,
) -> Result<Vec<Accumulator>> {
    if tables.len() != 1 && tables.len() != values.len() {
        return Err(Error::TableCount { tables: tables.len(), values: values.len() });
    }
    let n = params.ring_degree();
    let op = "blind rotation";
    let dimension = |found, needed, remedy| Err(Error::Dimension { op, found, needed, remedy });
    if key.dimension() != params.dimension() || key.words() != BlindRotationKey::size(params) {
        let remedy = "use the key of these parameters";
        return dimension(key.dimension(), params.dimension(), remedy);
    }
    for table in tables {
        if table.degree() != n {
            return dimension(table.degree(), n, "lay the table for the degree of the parameters");
        }
        if table.modulus() != params.ring_modulus() {
            let (found, needed) = (table.modulus().value(), params.ring_modulus().value());
            return Err(Error::Modulus { op, found, needed });
        }
    }
    for value in values {
        if value.a().len() != params.dimension() {
            return dimension(value.a().len(), params.dimension(), "switch the key first");
        }
        if value.order() != 2 * n {
            return dimension(value.order() / 2, n, "round to the degree of the tables");
        }
    }
    let starts: Vec<(Accumulator, &Exponents)> = values
        .iter()
        .enumerate()
        .map(|(i, value)| {
            // Line 3: AC = (f X^b, 0).
            let table = tables[if tables.len() == 1 { 0 } else { i }];
            let b = table.rotated(value.b() as usize);
            (Accumulator::new(*params.ring_modulus(), &b, &vec![0; n]), value)
        })
        .collect();
    let group = values.len().div_ceil(par::threads()).clamp(1, GROUP);
    let groups: Vec<_> = starts.chunks(group).collect();
    let rotated = par::try_map(&groups, |group| {
        let (mut accumulators, exponents): (Vec<_>, Vec<_>) = group.iter().cloned().unzip();
        key.rotate(params, &mut accumulators, &exponents);
        Ok(accumulators)
    })?;
    Ok(rotated.into_iter().flatten().collect())
}
