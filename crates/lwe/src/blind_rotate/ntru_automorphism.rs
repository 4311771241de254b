//! NTRU blind rotation of Xiang et al. (CRYPTO 2023) for LWE secrets of any distribution
//! (`pegasus-ntru`, section 3.2), in an order that needs few automorphisms.
//!
//! Let `w_i = a_i + 1`, which is odd. For each coordinate `i` the accumulator is multiplied by
//! `evk_i`, NTRU' of `X^(s_i)`, and then substituted by `X -> X^(w_i / w_j)`, where `j` is the
//! next coordinate. The exponent is `sum_i w_i s_i` after the last coordinate. The product with
//! `evk_n`, NTRU' of `X^(-sum s_i)`, subtracts `sum_i s_i` and leaves `sum_i a_i s_i`.
//!
//! *Odd exponents.* `w_i` must be odd, so `a_i` must be even. The mask is rounded to even exponents
//! (the paper's `q <= N`), and the index error of a look-up is twice that of the ternary variant.
//! The body is rounded as usual.
//!
//! *Automorphism keys.* The paper visits the coordinates in their given order and has a key for
//! each of the `N` odd exponents. This implementation visits them in the order of the discrete
//! logarithms `l_i` of `w_i = +-5^(l_i)`: the largest first, negative signs before positive ones
//! (Lee et al., EUROCRYPT 2023). Each substitution is then `5^k` for a small `k`. Keys exist for
//! `k` up to a window and for -1; a wider gap takes several substitutions. At `N = 4096` and
//! `n = 1024` a window of 16 needs 923 substitutions on average and 17 keys instead of 4096. A
//! window of 4096 would need 906 substitutions.
//!
//! The order differs from value to value, so values read the key one by one. A step costs
//! `2 (d + 1)` transforms, which hide the memory latency.

use bellerophon_ring::{Coeff, Poly, Result, aligned::AlignedVec, each_chunk};
use zeroize::Zeroizing;

use super::ntru_parts::{Streams, initial_accumulator};
use crate::modulus_switching::Mod2NCiphertext;
use crate::ntru::{
    NtruAutomorphismKey, NtruContext, NtruGadgetCiphertext, NtruSecret, row, secret_monomial,
};
use crate::test_polynomial::TestPolynomial;

/// The evaluation and automorphism keys of the rotation.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct AutomorphismRotation {
    /// `evk_0, .., evk_(n-1)`, row after row.
    coordinates: AlignedVec,
    /// `evk_n`: NTRU' of `X^(-sum s_i)`.
    last: NtruGadgetCiphertext,
    /// `X -> 1 / X`, then `X -> X^(5^k)` for `k = 1` to the window.
    automorphisms: Vec<NtruAutomorphismKey>,
    logarithms: Logarithms,
}

impl AutomorphismRotation {
    /// Encrypts coordinates of any size.
    pub(super) fn generate(
        context: &NtruContext,
        secret: &NtruSecret,
        lwe: &[i64],
        window: usize,
        streams: &Streams,
    ) -> Result<Self> {
        // Step 1: evk_i = NTRU'(X^(s_i)) for each coordinate.
        let n = context.degree();
        let monomial = |s: i64| Zeroizing::new(context.forward(&secret_monomial(n, s)));
        let mut coordinates = AlignedVec::zeroed(lwe.len() * context.digit_words());
        each_chunk(&mut coordinates, context.digit_words(), |j, out| {
            let (mut rng, message) = (streams.of(j), monomial(lwe[j]));
            for (t, out) in out.chunks_exact_mut(n).enumerate() {
                out.copy_from_slice(row(context, secret, t, &message, &mut rng).limb(0));
            }
        });
        // Step 2: evk_n = NTRU'(X^(-sum s_i)), from the stream after those of the coordinates.
        let mut rng = streams.of(lwe.len());
        let sum = lwe.iter().fold(0i64, |sum, &s| sum.wrapping_add(s));
        let message = monomial(sum.wrapping_neg());
        let last = NtruGadgetCiphertext::of_values(context, secret, &message, &mut rng);
        // Step 3: the automorphism keys.
        let automorphisms = exponents(n, window)
            .map(|g| NtruAutomorphismKey::generate(context, secret, g, &mut rng))
            .collect::<Result<_>>()?;
        Ok(Self { coordinates, last, automorphisms, logarithms: Logarithms::new(n) })
    }

    /// The key of the rows of the coordinates, and of `evk_n` with the automorphisms (`rest`). The
    /// caller has checked that they belong to the context.
    pub(super) fn of_rows(
        context: &NtruContext,
        window: usize,
        coordinates: AlignedVec,
        rest: &[u64],
    ) -> Result<Self> {
        let (last, automorphisms) = rest.split_at(context.digit_words());
        let rows = automorphisms.chunks_exact(context.digit_words());
        let automorphisms = exponents(context.degree(), window)
            .zip(rows)
            .map(|(g, rows)| NtruAutomorphismKey::of_rows(context, g, rows))
            .collect::<Result<_>>()?;
        let last = NtruGadgetCiphertext::of_rows(context, last);
        let logarithms = Logarithms::new(context.degree());
        Ok(Self { coordinates, last, automorphisms, logarithms })
    }

    /// The rows of all coordinates.
    pub(super) fn coordinates(&self) -> &[u64] {
        &self.coordinates
    }

    /// The rows of `evk_n` and of the automorphism keys.
    pub(super) fn rest(&self) -> impl Iterator<Item = &[u64]> {
        std::iter::once(self.last.rows())
            .chain(self.automorphisms.iter().map(NtruAutomorphismKey::rows))
    }

    /// The largest `k` for which `X -> X^(5^k)` has a key.
    fn window(&self) -> usize {
        self.automorphisms.len() - 1
    }

    /// Words in memory.
    pub(super) fn words(&self) -> usize {
        self.coordinates.len() + self.rest().map(<[u64]>::len).sum::<usize>()
    }

    /// Rotates the test polynomial of one value by its exponents, modulo `Q` under `f`.
    pub(super) fn rotate(
        &self,
        context: &NtruContext,
        entry: &NtruGadgetCiphertext,
        table: &TestPolynomial,
        value: &Mod2NCiphertext,
    ) -> Poly<Coeff> {
        let mut digits = AlignedVec::zeroed(context.digit_words());
        let order = 2 * context.degree();
        // Step 1: sort the coordinates by the logarithms of w_i = a_i + 1, the largest first.
        let mut visits: Vec<(Logarithm, usize)> =
            value.a().iter().enumerate().map(|(i, &a)| (self.logarithms.of(a + 1), i)).collect();
        visits.sort_unstable_by(|x, y| y.cmp(x));
        // Step 2: the initial accumulator. The product of all later substitutions is the w of the
        // first coordinate, so the test polynomial is first substituted by its inverse.
        let first = visits.first().map_or(1, |&(_, i)| value.a()[i] as usize + 1);
        let first_inverse = inverse(first, order);
        let start = substituted(&table.rotated(value.b() as usize), first_inverse, context);
        let mut x = initial_accumulator(context, entry, &start, &mut digits);
        // Step 3: for each coordinate, multiply by evk_i and substitute X -> X^(w_i / w_j), where
        // j is the next coordinate and w_j = 1 after the last.
        for (at, &(log, i)) in visits.iter().enumerate() {
            let key = &self.coordinates[i * digits.len()..][..digits.len()];
            context.multiply(x.limb_mut(0), key, &mut digits);
            let next = visits.get(at + 1).map_or(Logarithm::ONE, |&(next, _)| next);
            self.substitute(context, &mut x, log, next, &mut digits);
        }
        // Step 4: evk_n subtracts sum_i s_i, the excess of sum_i w_i s_i over sum_i a_i s_i.
        context.multiply(x.limb_mut(0), self.last.rows(), &mut digits);
        x
    }

    /// Substitutes `X -> X^(w / v)`, given the logarithms of `w` and `v`, in as few automorphisms
    /// as the keys allow.
    fn substitute(
        &self,
        context: &NtruContext,
        x: &mut Poly<Coeff>,
        w: Logarithm,
        v: Logarithm,
        digits: &mut [u64],
    ) {
        // Step 1: the sign, by X -> 1 / X.
        if w.negative != v.negative {
            self.automorphisms[0].apply_in_place(context, x, digits);
        }
        // Step 2: the power of 5, in steps of at most the window. 5 has order N / 2 modulo 2N.
        let cycle = context.degree() / 2;
        let mut distance = (w.power + cycle - v.power) % cycle;
        while distance > 0 {
            let step = distance.min(self.window());
            self.automorphisms[step].apply_in_place(context, x, digits);
            distance -= step;
        }
    }
}

/// The exponents of the automorphisms: `-1`, then `5^k` for `k = 1` to the window.
fn exponents(degree: usize, window: usize) -> impl Iterator<Item = usize> {
    let powers = std::iter::successors(Some(5), move |g| Some(g * 5 % (2 * degree)));
    std::iter::once(2 * degree - 1).chain(powers.take(window))
}

/// The logarithm of `w = +-5^power` modulo `2N`. In the derived order negative signs are larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Logarithm {
    negative: bool,
    power: usize,
}

impl Logarithm {
    const ONE: Self = Self { negative: false, power: 0 };
}

/// The logarithms of all odd `w` modulo `2N`, at the position `w / 2`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Logarithms(Vec<Logarithm>);

impl Logarithms {
    fn new(degree: usize) -> Self {
        let order = 2 * degree;
        let mut logarithms = vec![Logarithm::ONE; degree];
        let mut w = 1;
        for power in 0..degree / 2 {
            logarithms[w / 2] = Logarithm { negative: false, power };
            logarithms[(order - w) / 2] = Logarithm { negative: true, power };
            w = w * 5 % order;
        }
        Self(logarithms)
    }

    fn of(&self, w: u32) -> Logarithm {
        self.0[w as usize / 2]
    }
}

/// The inverse of an odd `g` modulo a power of two, by Newton's iteration. The start value `g` is
/// correct to three bits, and each of the five steps doubles them.
fn inverse(g: usize, order: usize) -> usize {
    let step = |x: usize| x.wrapping_mul(2usize.wrapping_sub(g.wrapping_mul(x)));
    step(step(step(step(step(g))))) & (order - 1)
}

/// The coefficients of `f(X^g)` modulo `q0`.
fn substituted(coefficients: &[u64], g: usize, context: &NtruContext) -> Vec<u64> {
    let (n, q) = (coefficients.len(), context.table_ring().modulus(0));
    let mut out = vec![0; n];
    for (i, &x) in coefficients.iter().enumerate() {
        // X^(i g) modulo X^N + 1: the sign changes for exponents from N on.
        let exponent = (i * g) & (2 * n - 1);
        out[exponent & (n - 1)] = if exponent < n { x } else { q.neg(x) };
    }
    out
}

/// Size only: the contents are public, but take many megabytes.
impl std::fmt::Debug for AutomorphismRotation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AutomorphismRotation of {} words", self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_and_inverses_hold_for_all_odd_numbers() {
        for degree in [8, 64, 4096] {
            let order = 2 * degree;
            let logarithms = Logarithms::new(degree);
            for w in (1..order).step_by(2) {
                let log = logarithms.of(w as u32);
                let power = (0..log.power).fold(1, |x, _| x * 5 % order);
                assert_eq!(w, if log.negative { order - power } else { power });
                assert_eq!(w * inverse(w, order) % order, 1);
            }
        }
    }
}
