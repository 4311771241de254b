//! Transforms of one residue polynomial on every back end that this CPU has: one prime again and
//! again. `figures --only ring` has those of 20 primes in turn.

use std::hint::black_box;

use bellerophon_criterion::quick;
use bellerophon_ring::{Backend, NttTable, aligned::AlignedVec, prime};
use criterion::{Criterion, criterion_group, criterion_main};

/// `{fwd|inv}_hot/N={N}/bits={bits}/{back end}`.
fn transforms(c: &mut Criterion) {
    let forward = NttTable::forward as fn(&NttTable, &mut [u64]);
    for (direction, transform) in [("fwd", forward), ("inv", NttTable::inverse)] {
        let mut group = c.benchmark_group(format!("{direction}_hot"));
        for degree in [4096, 32768, 65536] {
            for bits in [45, 50, 60] {
                let q = prime::ntt_primes_below(degree, bits, 1, &[]).unwrap()[0];
                let mut values = AlignedVec::zeroed(degree);
                for (i, x) in (0u64..).zip(values.iter_mut()) {
                    *x = q.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                }
                for backend in Backend::ALL {
                    let Ok(table) = NttTable::with_backend(degree, q, backend) else { continue };
                    let id = format!("N={degree}/bits={bits}/{}", backend.name());
                    group.bench_function(id, |b| b.iter(|| transform(&table, &mut values)));
                }
            }
        }
    }
}

/// Building a table: the cost of a new modulus.
fn tables(c: &mut Criterion) {
    for degree in [4096, 32768] {
        let q = prime::ntt_primes_below(degree, 50, 1, &[]).unwrap()[0];
        let id = format!("table/N={degree}/bits=50/{}", Backend::fastest(&q).name());
        c.bench_function(&id, |b| b.iter(|| black_box(NttTable::new(degree, q).unwrap())));
    }
}

criterion_group! { name = ntt; config = quick(); targets = transforms, tables }
criterion_main!(ntt);
