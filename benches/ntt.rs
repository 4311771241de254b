//! Transforms of one residue polynomial on every back end that this CPU has: one prime again and
//! again ("hot"), and 20 primes in turn, each with its own table and polynomial ("cold").

mod shared;

use std::hint::black_box;

use bellerophon_ring::{Backend, NttTable, aligned::AlignedVec, prime};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Primes that take turns in the cold rows.
const COLD_PRIMES: usize = 20;

/// `{fwd|inv}_{hot|cold}/N={N}/bits={bits}/{back end}`, the time of one transform or of 20.
fn transforms(c: &mut Criterion) {
    let forward = NttTable::forward as fn(&NttTable, &mut [u64]);
    for (direction, transform) in [("fwd", forward), ("inv", NttTable::inverse)] {
        for degree in [4096, 32768, 65536] {
            for bits in [45, 50, 60] {
                for backend in Backend::ALL {
                    let mut limbs = limbs(degree, bits, backend);
                    let Some((table, values)) = limbs.first_mut() else { continue };
                    let id = format!("N={degree}/bits={bits}/{}", backend.name());
                    let mut group = c.benchmark_group(format!("{direction}_hot"));
                    group.bench_function(&id, |b| b.iter(|| transform(table, values)));
                    group.finish();
                    if backend == Backend::fastest(table.modulus()) {
                        let mut group = c.benchmark_group(format!("{direction}_cold"));
                        group.throughput(Throughput::Elements(COLD_PRIMES as u64));
                        group.bench_function(&id, |b| {
                            b.iter(|| limbs.iter_mut().for_each(|(t, a)| transform(t, a)));
                        });
                    }
                }
            }
        }
    }
}

/// Different primes below `2^bits`, each with a polynomial; none if the back end cannot run.
fn limbs(degree: usize, bits: u32, backend: Backend) -> Vec<(NttTable, AlignedVec)> {
    let primes = prime::ntt_primes_below(degree, bits, COLD_PRIMES, &[]).unwrap();
    let tables = primes.iter().map_while(|&q| NttTable::with_backend(degree, q, backend).ok());
    tables
        .map(|table| {
            let mut values = AlignedVec::zeroed(degree);
            for (i, x) in (0u64..).zip(values.iter_mut()) {
                *x = table.modulus().reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
            (table, values)
        })
        .collect()
}

/// Building a table: the cost of a new modulus.
fn tables(c: &mut Criterion) {
    for degree in [4096, 32768] {
        let q = prime::ntt_primes_below(degree, 50, 1, &[]).unwrap()[0];
        let id = format!("table/N={degree}/bits=50/{}", Backend::fastest(&q).name());
        c.bench_function(&id, |b| b.iter(|| black_box(NttTable::new(degree, q).unwrap())));
    }
}

criterion_group! { name = ntt; config = shared::quick(); targets = transforms, tables }
criterion_main!(ntt);
