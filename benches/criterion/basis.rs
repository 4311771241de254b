//! Changes of the RNS basis at N = 2^15: 14 primes with 3 special ones, digits of 5. Throughput
//! counts every residue that comes in and goes out once. `copy_17` is a plain copy of 17 limbs into
//! a new polynomial: its throughput is the bandwidth that the others could reach.

use std::hint::black_box;

use bellerophon_criterion::{quick, rng};
use bellerophon_ring::{BaseConverter, ModDown, Ring, prime, rescale, sample};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const DEGREE: usize = 1 << 15;
const LIMBS: usize = 14;
const SPECIAL: usize = 3;
const DIGIT: usize = 5;

/// `{operation}/N={N}/bits={bits}/{back end}`.
fn conversions(c: &mut Criterion) {
    let rng = &mut rng();
    for bits in [45, 50, 60] {
        let primes = prime::ntt_primes_below(DEGREE, bits, LIMBS + SPECIAL, &[]).unwrap();
        let all = Ring::new(DEGREE, &primes).unwrap();
        let (q, p) = (all.at_limbs(LIMBS), all.slice(LIMBS..LIMBS + SPECIAL));
        let digit = q.at_limbs(DIGIT);
        let others = q.slice(DIGIT..LIMBS).join(&p).unwrap();
        let backend = q.table(0).backend().name();
        let id = |name: &str| format!("{name}/N={DEGREE}/bits={bits}/{backend}");
        let bytes = |limbs: usize| Throughput::Bytes((8 * DEGREE * limbs) as u64);

        let converter = BaseConverter::new(&digit, &others).unwrap();
        let source = digit.inverse(sample::uniform(&digit, rng));
        let mut group = c.benchmark_group("basis");
        group.throughput(bytes(DIGIT + others.limbs()));
        group.bench_function(id("convert_5_to_12"), |b| {
            b.iter(|| black_box(converter.convert(&source)));
        });
        group.bench_function(id("convert_centered_5_to_12"), |b| {
            b.iter(|| black_box(converter.convert_centered(&source)));
        });
        group.throughput(bytes(2 * all.limbs()));
        group.bench_function(id("copy_17"), |b| {
            let source = sample::uniform(&all, rng);
            b.iter(|| black_box(source.clone()));
        });

        let mod_down = ModDown::new(&q, &p).unwrap();
        let wide = sample::uniform(&all, rng);
        group.throughput(bytes(2 * LIMBS + SPECIAL));
        group.bench_function(id("mod_down_3_over_14"), |b| {
            b.iter_batched(|| wide.clone(), |a| mod_down.apply(a), BatchSize::LargeInput);
        });
        let values = sample::uniform(&q, rng);
        group.throughput(bytes(2 * LIMBS - 1));
        group.bench_function(id("rescale_14"), |b| {
            b.iter_batched(|| values.clone(), |a| rescale(&q, a, 1), BatchSize::LargeInput);
        });
    }
}

criterion_group! { name = basis; config = quick(); targets = conversions }
criterion_main!(basis);
