//! The pointwise products, for any [`Arithmetic`].

use super::{
    QuotientTerms,
    simd::{Arithmetic, Line, Wide},
};

/// A slice as whole lines. Degrees are multiples of eight.
#[inline(always)]
pub(super) fn lines(a: &[u64]) -> &[Line] {
    a.as_chunks().0
}

#[inline(always)]
pub(super) fn lines_mut(a: &mut [u64]) -> &mut [Line] {
    a.as_chunks_mut().0
}

#[inline(always)]
pub(super) fn mul_assign<A: Arithmetic>(f: A, a: &mut [u64], b: &[u64]) {
    let w = f.wide();
    for (x, y) in lines_mut(a).iter_mut().zip(lines(b)) {
        w.store(f.mul(w.load(x), w.load(y)), x);
    }
}

#[inline(always)]
pub(super) fn mul_add_assign<A: Arithmetic>(f: A, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let w = f.wide();
    for ((x, a), b) in lines_mut(acc).iter_mut().zip(lines(a)).zip(lines(b)) {
        w.store(f.add(w.load(x), f.mul(w.load(a), w.load(b))), x);
    }
}

#[inline(always)]
pub(super) fn mul_constant<A: Arithmetic>(f: A, a: &mut [u64], factor: u64) {
    let w = f.wide();
    // Shoup's method: the companion is computed once per call.
    let factor = f.root(f.companion(factor));
    for x in lines_mut(a) {
        w.store(f.mul_root(w.load(x), factor), x);
    }
}

#[inline(always)]
pub(super) fn sub_mul_constant<A: Arithmetic>(f: A, a: &mut [u64], b: &[u64], factor: u64) {
    let w = f.wide();
    let factor = f.root(f.companion(factor));
    for (x, y) in lines_mut(a).iter_mut().zip(lines(b)) {
        w.store(f.mul_root(f.sub(w.load(x), w.load(y)), factor), x);
    }
}

#[inline(always)]
pub(super) fn add_multiple<A: Arithmetic>(f: A, acc: &mut [u64], a: &[u64], factor: u64) {
    let w = f.wide();
    let factor = f.root(f.companion(factor));
    for (x, y) in lines_mut(acc).iter_mut().zip(lines(a)) {
        w.store(f.add(w.load(x), f.mul_root(w.load(y), factor)), x);
    }
}

#[inline(always)]
pub(super) fn quotient<A: Arithmetic>(
    f: A,
    out: &mut [u64],
    terms: QuotientTerms,
    factors: [u64; 2],
) {
    let w = f.wide();
    let (factor, multiple) = (f.root(f.companion(factors[0])), f.root(f.companion(factors[1])));
    let QuotientTerms { dividend, remainder, addend } = terms;
    let terms = lines(dividend).iter().zip(lines(remainder));
    // Without an addend one product per word suffices.
    match addend {
        None => {
            for (out, (a, r)) in lines_mut(out).iter_mut().zip(terms) {
                w.store(f.mul_root(f.sub_lazy(w.load(a), w.load(r)), factor), out);
            }
        }
        Some(d) => {
            for ((out, (a, r)), d) in lines_mut(out).iter_mut().zip(terms).zip(lines(d)) {
                let difference = f.sub_lazy(w.load(a), w.load(r));
                w.store(f.mul_two_roots(difference, factor, w.load(d), multiple), out);
            }
        }
    }
}
