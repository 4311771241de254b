//! Transforms, products and changes of base at N = 2^12 and 2^15, with the primes of the preset
//! `functions`: a chain of 16 and three special ones.

mod common;

use bellerophon_ring::{
    BaseConverter, Coeff, HybridGadget, ModDown, Modulus, Ntt, Poly, Ring, prime, rescale, sample,
};
use common::{id, rng, slow};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const LIMBS: usize = 16;
const SPECIAL: usize = 3;

fn rings(degree: usize) -> (Ring, Ring) {
    let chain = prime::ntt_primes_below(degree, 44, LIMBS, &[]).unwrap();
    let special = prime::ntt_primes_below(degree, 50, SPECIAL, &chain).unwrap();
    let ring = |primes: &[Modulus]| Ring::new(degree, primes).unwrap();
    (ring(&chain), ring(&special))
}

fn transforms(c: &mut Criterion) {
    for degree in [1 << 12, 1 << 15] {
        let ring = rings(degree).0.prefix(1);
        let mut values: Poly<Ntt> = sample::uniform(&ring, &mut rng());
        let other = values.clone();
        let table = ring.table(0);
        c.bench_function(&id("ntt/forward", &ring, 1), |b| {
            b.iter(|| table.forward(values.limb_mut(0)))
        });
        c.bench_function(&id("ntt/inverse", &ring, 1), |b| {
            b.iter(|| table.inverse(values.limb_mut(0)))
        });
        c.bench_function(&id("ring/mul", &ring, 1), |b| {
            b.iter(|| ring.mul_assign(&mut values, &other))
        });
    }
}

fn conversions(c: &mut Criterion) {
    for degree in [1 << 12, 1 << 15] {
        let (q, p) = rings(degree);
        let full = q.join(&p).unwrap();
        let gadget = HybridGadget::new(&q, &p).unwrap();
        let down = ModDown::new(&q, &p).unwrap();
        let digit = q.prefix(SPECIAL);
        let converter = BaseConverter::new(&digit, &full.slice(SPECIAL..full.limbs())).unwrap();
        let x: Poly<Ntt> = sample::uniform(&q, &mut rng());
        let wide: Poly<Ntt> = sample::uniform(&full, &mut rng());
        let small: Poly<Coeff> = digit.inverse(sample::uniform(&digit, &mut rng()));

        let name = |operation: &str| id(operation, &q, LIMBS);
        c.bench_function(&name("base/convert"), |b| b.iter(|| converter.convert(&small)));
        c.bench_function(&name("base/convert_centered"), |b| {
            b.iter(|| converter.convert_centered(&small))
        });
        c.bench_function(&name("base/mod_up_all_digits"), |b| b.iter(|| gadget.decompose(&x)));
        c.bench_function(&name("base/mod_down"), |b| {
            b.iter_batched(|| wide.clone(), |wide| down.apply(wide), BatchSize::LargeInput)
        });
        c.bench_function(&name("base/rescale"), |b| {
            b.iter_batched(|| x.clone(), |x| rescale(&q, x), BatchSize::LargeInput)
        });
    }
}

criterion_group! { name = benches; config = slow(); targets = transforms, conversions }
criterion_main!(benches);
