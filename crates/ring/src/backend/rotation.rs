//! The inner loop of blind rotation, for any [`Arithmetic`].

use super::{
    pointwise::{lines, lines_mut},
    wide::{Arithmetic, V, Wide},
};
use crate::{MonomialTable, NttTable};

/// [`MonomialTable::ternary_product`] for `N >= 128` and one to four rows of digits.
#[inline(always)]
pub(super) fn ternary_product<A: Arithmetic>(
    f: A,
    table: &NttTable,
    monomials: &MonomialTable,
    k: usize,
    digits: &[u64],
    key: &[u64],
    out: (&mut [u64], &mut [u64]),
) {
    match digits.len() / table.degree() {
        1 => product::<A, 1>(f, table, monomials, k, digits, key, out),
        2 => product::<A, 2>(f, table, monomials, k, digits, key, out),
        3 => product::<A, 3>(f, table, monomials, k, digits, key, out),
        _ => product::<A, 4>(f, table, monomials, k, digits, key, out),
    }
}

/// The lanes of a line differ in three bits of the transform's order, so that `X^k` at a line is
/// its value at lane 0 times one vector for the whole polynomial.
#[inline(always)]
fn product<A: Arithmetic, const R: usize>(
    f: A,
    table: &NttTable,
    monomials: &MonomialTable,
    k: usize,
    digits: &[u64],
    key: &[u64],
    (out_b, out_a): (&mut [u64], &mut [u64]),
) {
    let (w, count) = (f.wide(), table.degree() / 8);
    let [plus, minus] = monomials.lanes(k);
    let lanes = [f.lane_root(&plus), f.lane_root(&minus)];
    let one = w.splat(monomials.one());
    let digits: [_; R] = std::array::from_fn(|r| &lines(digits)[r * count..][..count]);
    let key: [[_; 4]; R] = std::array::from_fn(|r| {
        std::array::from_fn(|c| &lines(key)[(4 * r + c) * count..][..count])
    });
    let outs = lines_mut(out_b).iter_mut().zip(lines_mut(out_a));
    let starts = lines_of(table.exponents());
    for (i, ((out_b, out_a), exponents)) in outs.zip(starts).enumerate().take(count) {
        let powers = monomials.powers((exponents[0] as usize).wrapping_mul(k));
        let plus = factor(f, powers[0], lanes[0], one);
        let minus = factor(f, powers[1], lanes[1], one);
        let mut sums = [f.no_products(); 4];
        for r in 0..R {
            let digit = w.load(&digits[r][i]);
            for c in 0..4 {
                sums[c] = f.accumulate(sums[c], digit, w.load(&key[r][c][i]));
            }
        }
        w.store(combine(f, plus, sums[0], minus, sums[2]), out_b);
        w.store(combine(f, plus, sums[1], minus, sums[3]), out_a);
    }
}

/// A monomial less 1, from its value in the first lane, times the factor that the two reductions
/// of [`combine`] divide out.
#[inline(always)]
fn factor<A: Arithmetic>(f: A, power: u64, lanes: A::Root, one: V<A>) -> V<A> {
    f.sub(f.mul_root(f.wide().splat(power), lanes), one)
}

/// `plus x + minus y`.
#[inline(always)]
fn combine<A: Arithmetic>(f: A, plus: V<A>, x: A::Sum, minus: V<A>, y: A::Sum) -> V<A> {
    let sum = f.accumulate(f.no_products(), plus, f.reduce_scaled(x));
    let sum = f.accumulate(sum, minus, f.reduce_scaled(y));
    f.finish_scaled(f.reduce_scaled(sum))
}

#[inline(always)]
fn lines_of(words: &[u32]) -> &[[u32; 8]] {
    words.as_chunks().0
}
