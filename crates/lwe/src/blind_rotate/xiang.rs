//! NTRU blind rotation of Xiang et al. (CRYPTO 2023) for LWE secrets of any distribution
//! (`pegasus-ntru`, section 3.2), in an order that needs few automorphisms.
//!
//! With `w_i = a_i + 1` odd, multiplying the accumulator by `evk_i`, NTRU' of `X^(s_i)`, and then
//! substituting `X -> X^(w_i / w_j)` for the coordinate `j` that comes next makes the exponent
//! `sum_i w_i s_i` in the end; `evk_n`, NTRU' of `X^(-sum s_i)`, takes the ones back out.
//!
//! *Odd exponents.* `w_i` must be odd, so `a_i` even: the mask is rounded to even exponents
//! (the paper's `q <= N`), and the index error of a look-up is twice that of the ternary form.
//! The body is rounded as everywhere.
//!
//! *Automorphism keys.* The paper takes the coordinates as they come and has a key for each of
//! the `N` odd exponents. Here they are taken in the order of the discrete logarithms of `w_i`,
//! `w_i = +-5^(l_i)`, the largest first, those with minus before those with plus (Lee et al.,
//! EUROCRYPT 2023): each substitution is `5^k` for a small `k`. Keys for `k` up to a window and
//! one for -1 serve, a wider gap takes several. At `N = 4096`, `n = 1024` a window of 16 leaves
//! 923 substitutions to the expected value and 17 keys instead of 4096; one of 4096 would leave 906.
//!
//! The order is another for each value, so values walk the key one by one; a step has
//! `2 (d + 1)` transforms, which hide the reading.

use bellerophon_ring::{Coeff, Poly, aligned::AlignedVec};
use zeroize::Zeroizing;

use super::ntru::{Streams, enter};
use crate::{
    Exponents, LookupTable, Result,
    ntru::{
        NtruAutomorphismKey, NtruContext, NtruGadgetCiphertext, NtruSecret, row, secret_monomial,
    },
    par,
};

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Xiang {
    /// `evk_0, .., evk_(n-1)`, row after row.
    coordinates: AlignedVec,
    /// `evk_n`: NTRU' of `X^(-sum s_i)`.
    last: NtruGadgetCiphertext,
    /// `X -> 1 / X`, then `X -> X^(5^k)` for `k = 1` to the window.
    automorphisms: Vec<NtruAutomorphismKey>,
    logarithms: Logarithms,
}

impl Xiang {
    /// Encrypts coordinates of any size.
    pub(super) fn generate(
        context: &NtruContext,
        secret: &NtruSecret,
        lwe: &[i64],
        window: usize,
        streams: &Streams,
    ) -> Result<Self> {
        let n = context.degree();
        let monomial = |s: i64| Zeroizing::new(context.forward(&secret_monomial(n, s)));
        let mut coordinates = AlignedVec::zeroed(lwe.len() * context.digit_words());
        par::each_chunk(&mut coordinates, context.digit_words(), |j, out| {
            let (mut rng, message) = (streams.of(j), monomial(lwe[j]));
            for (t, out) in out.chunks_exact_mut(n).enumerate() {
                out.copy_from_slice(row(context, secret, t, &message, &mut rng).limb(0));
            }
        });
        let mut rng = streams.of(lwe.len());
        let sum = lwe.iter().fold(0i64, |sum, &s| sum.wrapping_add(s));
        let message = monomial(sum.wrapping_neg());
        let last = NtruGadgetCiphertext::of_values(context, secret, &message, &mut rng);
        let automorphisms = exponents(n, window)
            .map(|g| NtruAutomorphismKey::generate(context, secret, g, &mut rng))
            .collect::<Result<_>>()?;
        Ok(Self { coordinates, last, automorphisms, logarithms: Logarithms::new(n) })
    }

    /// The key of rows that are of the context: those of the coordinates, the last one and the
    /// automorphisms.
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

    /// The rows of the last one and of the automorphisms.
    pub(super) fn rest(&self) -> impl Iterator<Item = &[u64]> {
        std::iter::once(self.last.rows())
            .chain(self.automorphisms.iter().map(NtruAutomorphismKey::rows))
    }

    /// The largest power of 5 that has a key.
    fn window(&self) -> usize {
        self.automorphisms.len() - 1
    }

    pub(super) fn words(&self) -> usize {
        self.coordinates.len() + self.rest().map(<[u64]>::len).sum::<usize>()
    }

    pub(super) fn rotate(
        &self,
        context: &NtruContext,
        entry: &NtruGadgetCiphertext,
        table: &LookupTable,
        value: &Exponents,
    ) -> Poly<Coeff> {
        let mut digits = AlignedVec::zeroed(context.digit_words());
        let order = 2 * context.degree();
        let mut visits: Vec<(Logarithm, usize)> =
            value.a().iter().enumerate().map(|(i, &a)| (self.logarithms.of(a + 1), i)).collect();
        visits.sort_unstable_by(|x, y| y.cmp(x));
        // The substitutions multiply up to w of the first coordinate: the table starts at its inverse.
        let first = visits.first().map_or(1, |&(_, i)| value.a()[i] as usize + 1);
        let back = inverse(first, order);
        let start = substituted(&table.rotated(value.b() as usize), back, context);
        let mut x = enter(context, entry, &start, &mut digits);
        for (at, &(log, i)) in visits.iter().enumerate() {
            let key = &self.coordinates[i * digits.len()..][..digits.len()];
            context.multiply(x.limb_mut(0), key, &mut digits);
            let next = visits.get(at + 1).map_or(Logarithm::ONE, |&(next, _)| next);
            self.turn(context, &mut x, log, next, &mut digits);
        }
        context.multiply(x.limb_mut(0), self.last.rows(), &mut digits);
        x
    }

    /// `X -> X^(w / v)` for the logarithms of `w` and `v`, in as few substitutions as the keys
    /// allow.
    fn turn(
        &self,
        context: &NtruContext,
        x: &mut Poly<Coeff>,
        w: Logarithm,
        v: Logarithm,
        digits: &mut [u64],
    ) {
        if w.negative != v.negative {
            self.automorphisms[0].turn(context, x, digits);
        }
        let cycle = context.degree() / 2;
        let mut distance = (w.power + cycle - v.power) % cycle;
        while distance > 0 {
            let step = distance.min(self.window());
            self.automorphisms[step].turn(context, x, digits);
            distance -= step;
        }
    }
}

/// The exponents of the automorphisms: `-1`, then `5^k` for `k = 1` to the window.
fn exponents(degree: usize, window: usize) -> impl Iterator<Item = usize> {
    let powers = std::iter::successors(Some(5), move |g| Some(g * 5 % (2 * degree)));
    std::iter::once(2 * degree - 1).chain(powers.take(window))
}

/// `w = +-5^power` modulo `2N`; minus is the larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Logarithm {
    negative: bool,
    power: usize,
}

impl Logarithm {
    const ONE: Self = Self { negative: false, power: 0 };
}

/// The logarithms of the odd numbers modulo `2N`.
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

/// The inverse of an odd number modulo a power of two: Newton's iteration, `g` itself inverts three
/// bits.
fn inverse(g: usize, order: usize) -> usize {
    let step = |x: usize| x.wrapping_mul(2usize.wrapping_sub(g.wrapping_mul(x)));
    step(step(step(step(step(g))))) & (order - 1)
}

/// The coefficients of `f(X^g)` modulo `q0`.
fn substituted(coefficients: &[u64], g: usize, context: &NtruContext) -> Vec<u64> {
    let (n, q) = (coefficients.len(), context.table_ring().modulus(0));
    let mut out = vec![0; n];
    for (i, &x) in coefficients.iter().enumerate() {
        let place = (i * g) & (2 * n - 1);
        out[place & (n - 1)] = if place < n { x } else { q.neg(x) };
    }
    out
}

/// Size only: the contents are public, but many megabytes long.
impl std::fmt::Debug for Xiang {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Xiang of {} words", self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_and_inverses_are_those_of_every_odd_number() {
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
