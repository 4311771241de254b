//! Operations position by position on one residue polynomial.

mod common;

use std::hint::black_box;

use bellerophon_ring::{Ntt, Poly, Ring, prime, sample};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Products in the sums: the digits of a key switch.
const TERMS: usize = 5;

/// `{operation}/N={N}/bits={bits}/{back end}`.
fn operations(c: &mut Criterion) {
    let rng = &mut common::rng();
    for degree in [4096, 65536] {
        for bits in [45, 50, 60] {
            let primes = prime::ntt_primes_below(degree, bits, 1, &[]).unwrap();
            let ring = Ring::new(degree, &primes).unwrap();
            let backend = ring.table(0).backend().name();
            let id = |name: &str| format!("{name}/N={degree}/bits={bits}/{backend}");
            let mut a = sample::uniform(&ring, rng);
            let rows: Vec<Poly<Ntt>> =
                (0..2 * TERMS).map(|_| sample::uniform(&ring, rng)).collect();
            let pairs: Vec<_> = rows[..TERMS].iter().zip(&rows[TERMS..]).collect();
            let (x, y) = pairs[0];
            let rotation = ring.automorphism(5).unwrap();
            let coefficients = ring.inverse(a.clone());

            let mut group = c.benchmark_group("poly");
            group.throughput(Throughput::Elements(degree as u64));
            group.bench_function(id("add"), |b| b.iter(|| ring.add_assign(&mut a, x)));
            group.bench_function(id("mul"), |b| b.iter(|| ring.mul_assign(&mut a, x)));
            group.bench_function(id("mul_add"), |b| b.iter(|| ring.mul_add_assign(&mut a, x, y)));
            group.bench_function(id("mul_constant"), |b| {
                b.iter(|| ring.mul_residues_assign(&mut a, &[12345]));
            });
            group.bench_function(id("sum_of_5_products"), |b| {
                b.iter(|| black_box(ring.sum_of_products(&pairs)));
            });
            group.bench_function(id("automorphism_ntt"), |b| {
                b.iter(|| black_box(ring.apply_ntt(x, &rotation)));
            });
            group.bench_function(id("automorphism_coeff"), |b| {
                b.iter(|| black_box(ring.apply_coeff(&coefficients, &rotation)));
            });
            group.bench_function(id("monomial"), |b| {
                b.iter(|| black_box(ring.mul_monomial(&coefficients, 77)));
            });
        }
    }
}

criterion_group! { name = poly; config = common::quick(); targets = operations }
criterion_main!(poly);
