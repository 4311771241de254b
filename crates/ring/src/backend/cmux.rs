//! The inner loop of blind rotation, for any [`Rotation`].

use super::{
    integers::Rotation,
    pointwise::{lines, lines_mut},
    simd::{Line, V, Wide},
};
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;

/// [`MonomialTable::ternary_product`] for `N >= 128`, with one to four rows of digits and one or
/// two columns.
#[inline(always)]
pub(super) fn ternary_product<A: Rotation>(
    f: A,
    table: &NttTable,
    monomials: &MonomialTable,
    k: usize,
    digits: &[u64],
    key: &[u64],
    out: &mut [u64],
) {
    let n = table.degree();
    match (digits.len() / n, out.len() / n) {
        (1, 1) => product::<A, 1, 1, 2>(f, table, monomials, k, digits, key, out),
        (2, 1) => product::<A, 2, 1, 2>(f, table, monomials, k, digits, key, out),
        (3, 1) => product::<A, 3, 1, 2>(f, table, monomials, k, digits, key, out),
        (4, 1) => product::<A, 4, 1, 2>(f, table, monomials, k, digits, key, out),
        (1, _) => product::<A, 1, 2, 4>(f, table, monomials, k, digits, key, out),
        (2, _) => product::<A, 2, 2, 4>(f, table, monomials, k, digits, key, out),
        (3, _) => product::<A, 3, 2, 4>(f, table, monomials, k, digits, key, out),
        _ => product::<A, 4, 2, 4>(f, table, monomials, k, digits, key, out),
    }
}

/// The product for `R` rows of digits, `C` columns and `S = 2 C` sums.
///
/// The lanes of a line differ in three bits of the order of the transform. `X^k` on a line is
/// therefore its value at lane 0 times one vector for the whole polynomial. The key is stored in
/// the order in which this loop reads it.
#[inline(always)]
fn product<A: Rotation, const R: usize, const C: usize, const S: usize>(
    f: A,
    table: &NttTable,
    monomials: &MonomialTable,
    k: usize,
    digits: &[u64],
    key: &[u64],
    out: &mut [u64],
) {
    let (w, count) = (f.wide(), table.degree() / 8);
    // The ratios of the lanes of X^k and X^-k are the same on every line.
    let [plus, minus] = monomials.lanes(k);
    let lanes = [f.lane_root(&plus), f.lane_root(&minus)];
    let one = w.splat(monomials.one());
    let digits: [_; R] = std::array::from_fn(|r| &lines(digits)[r * count..][..count]);
    let key: &[[[Line; S]; R]] = lines(key).as_chunks::<S>().0.as_chunks().0;
    let mut rest = lines_mut(out);
    let mut outs: [&mut [Line]; C] = std::array::from_fn(|_| {
        let (column, others) = std::mem::take(&mut rest).split_at_mut(count);
        rest = others;
        column
    });
    let starts = lines_of(table.exponents());
    for (i, (key, exponents)) in key.iter().zip(starts).enumerate().take(count) {
        // Step 1: X^k - 1 and X^-k - 1 on this line.
        let powers = monomials.powers((exponents[0] as usize).wrapping_mul(k));
        let plus = f.monomial(powers[0], lanes[0], one);
        let minus = f.monomial(powers[1], lanes[1], one);
        // Step 2: the sums of digits times key, for both signs.
        let mut sums = [f.nothing(); S];
        for r in 0..R {
            let digit = f.digit(w.load(&digits[r][i]));
            for c in 0..S {
                sums[c] = f.add_digit(sums[c], digit, w.load(&key[r][c]));
            }
        }
        // Step 3: (X^k - 1) sum_+ + (X^-k - 1) sum_-.
        for (c, out) in outs.iter_mut().enumerate() {
            w.store(combine(f, plus, sums[c], minus, sums[C + c]), &mut out[i]);
        }
    }
}

/// `plus x + minus y`.
#[inline(always)]
fn combine<A: Rotation>(
    f: A,
    plus: A::Factor,
    x: A::Partial,
    minus: A::Factor,
    y: A::Partial,
) -> V<A> {
    let sum = f.add_monomial(f.nothing(), plus, f.reduce_digits(x));
    f.reduce_monomials(f.add_monomial(sum, minus, f.reduce_digits(y)))
}

#[inline(always)]
fn lines_of(words: &[u32]) -> &[[u32; 8]] {
    words.as_chunks().0
}
