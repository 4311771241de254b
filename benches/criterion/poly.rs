//! Operations position by position on one residue polynomial.

use std::hint::black_box;

use bellerophon_criterion::{quick, rng};
use bellerophon_ring::{Ntt, Poly, Ring, prime, sample};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Products in the sums: the digits of a key switch.
const TERMS: usize = 5;

/// `{operation}/N={N}/bits={bits}/{back end}`.
fn operations(c: &mut Criterion) {
    let rng = &mut rng();
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

/// Samplers: `{sampler}/N={N}/..`; bytes are those of the residues.
fn samplers(c: &mut Criterion) {
    let degree = 65536;
    let rng = &mut rng();
    let mut group = c.benchmark_group("sample");
    group.throughput(Throughput::Bytes(8 * degree as u64));
    for bits in [45, 50, 60] {
        let ring = Ring::new(degree, &prime::ntt_primes_below(degree, bits, 1, &[]).unwrap());
        let (ring, seed) = (ring.unwrap(), sample::Seed([1; 32]));
        let q = ring.modulus(0);
        let mut out: Poly<Ntt> = ring.zero();
        let id = |name: &str| format!("{name}/N={degree}/bits={bits}");
        group.bench_function(id("expand_seed"), |b| {
            b.iter(|| sample::fill_uniform_from_seed(q, out.limb_mut(0), &seed, 7));
        });
        group.bench_function(id("uniform"), |b| {
            b.iter(|| sample::fill_uniform(q, out.limb_mut(0), rng));
        });
    }
    for sigma in [3.2, 1024.0] {
        let gaussian = sample::Gaussian::new(sigma).unwrap();
        let mut out = vec![0; degree];
        let id = format!("gaussian/N={degree}/sigma={sigma}");
        group.bench_function(id, |b| b.iter(|| gaussian.fill(&mut out, rng)));
    }
    group.bench_function(format!("ternary/N={degree}"), |b| {
        b.iter(|| black_box(sample::ternary(degree, rng)));
    });
    group.bench_function(format!("ternary_fixed_weight/N={degree}"), |b| {
        b.iter(|| black_box(sample::ternary_fixed_weight(degree, 192, rng)));
    });
}

criterion_group! { name = poly; config = quick(); targets = operations, samplers }
criterion_main!(poly);
