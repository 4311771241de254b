//! The hybrid RNS gadget: digits of several primes each, and special primes that absorb their size.

use std::ops::Range;

use crate::basis_extension::{BaseConverter, residue};
use crate::error::ensure;
use crate::error::{self, Result};
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// A digit may exceed `P` by this many bits, so that primes on both sides of a power of two count
/// as equal: `k` special primes below `2^b` allow digits of `k` primes around `2^b`.
const SLACK_BITS: f64 = 1.0 / 1024.0;

/// The hybrid RNS gadget (DPad-HE, section 3.1.1) with digits cut by size.
///
/// The chain `q_0 .. q_L` is cut once, from `q_0` on, into digits: maximal runs of consecutive
/// primes with a product `Q'_j` of at most `P`. A prime above `P` is a digit on its own. Several
/// small primes thus share a digit, while a large prime has its own. A level with fewer limbs has a
/// prefix of the digits, the last one shortened.
///
/// Digit `j` of `a` is the centred representative of `[a]_{Q'_j}`, of magnitude at most `Q'_j / 2`,
/// given modulo `P Q_l`. With `g_j = (Q / Q'_j) [(Q / Q'_j)^-1]_{Q'_j}` (1 modulo the primes of
/// digit `j`, 0 modulo the others), `sum_j digit_j g_j = a` modulo `Q_l`.
///
/// Digits are centred and converted exactly, so a uniform `a` has digits of variance `Q'_j^2 / 12`.
#[derive(Debug, Clone)]
pub struct HybridGadget {
    q: Ring,
    p: Ring,
    /// `[P]_{q_i}`.
    p_residues: Vec<u64>,
    /// Digit `j` of the full chain consists of the primes `starts[j]..starts[j + 1]`.
    starts: Vec<usize>,
    /// `rings[l - 1]`: the first `l` primes of `q`, then the primes of `p`.
    rings: Vec<Ring>,
    /// `converters[j][s - 1]`: from the first `s` primes of digit `j` to all primes of `q` and `p`.
    converters: Vec<Vec<BaseConverter>>,
}

impl HybridGadget {
    /// Precomputes the constants for all levels of `q` with special primes `p`.
    pub fn new(q: &Ring, p: &Ring) -> Result<Self> {
        let (count, most) = (p.limbs(), BaseConverter::MAX_SOURCES);
        ensure(count <= most, || error::basis(format!("{count} special primes; at most {most}")))?;
        let full = q.join(p)?;
        // Step 1: cut the chain into digits.
        let starts = digit_starts(q, p.log2_modulus());
        // Step 2: the rings of all levels, with the special primes appended.
        let rings: Result<Vec<_>> = (1..=q.limbs()).map(|l| q.at_limbs(l).join(p)).collect();
        // Step 3: one converter per prefix of each digit, since levels shorten the last digit.
        let converters: Result<Vec<Vec<_>>> = starts
            .windows(2)
            .map(|run| {
                (run[0] + 1..=run[1])
                    .map(|end| BaseConverter::overlapping(&q.slice(run[0]..end), &full))
                    .collect()
            })
            .collect();
        let p_residues = q.moduli().map(|q| residue(p, q)).collect();
        Ok(Self {
            q: q.clone(),
            p: p.clone(),
            p_residues,
            starts,
            rings: rings?,
            converters: converters?,
        })
    }

    /// The ring modulo all `q`.
    pub(crate) fn q(&self) -> &Ring {
        &self.q
    }

    /// The ring modulo the special primes.
    pub(crate) fn p(&self) -> &Ring {
        &self.p
    }

    /// The ring modulo the first `limbs` primes of `q` followed by the special primes.
    pub fn ring(&self, limbs: usize) -> &Ring {
        &self.rings[limbs - 1]
    }

    /// The number of digits of a polynomial with `limbs` limbs.
    pub fn digits(&self, limbs: usize) -> usize {
        self.starts.partition_point(|&start| start < limbs)
    }

    /// The primes of a digit, by their index in the chain, at a level with `limbs` limbs.
    pub fn primes(&self, digit: usize, limbs: usize) -> Range<usize> {
        self.starts[digit]..self.starts[digit + 1].min(limbs)
    }

    /// `log2(Q'_j)` at a level with `limbs` limbs.
    pub fn log2_digit(&self, digit: usize, limbs: usize) -> f64 {
        self.q.slice(self.primes(digit, limbs)).log2_modulus()
    }

    /// The digits of `a`, each in NTT form over [`ring`](Self::ring)`(a.limbs())`.
    pub fn decompose(&self, a: &Poly<Ntt>) -> Vec<Poly<Ntt>> {
        self.digits_of(&[a]).store().swap_remove(0)
    }

    /// The converter from the primes of a digit at a level to all primes of `q` and `p`.
    pub(crate) fn converter(&self, digit: usize, limbs: usize) -> &BaseConverter {
        &self.converters[digit][self.primes(digit, limbs).len() - 1]
    }

    /// `[P]_{q_i}`.
    pub(crate) fn p_residue(&self, i: usize) -> u64 {
        self.p_residues[i]
    }

    /// The residues of `P g_j` modulo the first `limbs` primes of `q`, then modulo the primes of
    /// `p`.
    pub fn factor(&self, digit: usize, limbs: usize) -> Vec<u64> {
        let mut factor = vec![0; limbs + self.p.limbs()];
        for i in self.primes(digit, limbs) {
            // P g_j is P modulo the primes of digit j and zero modulo all others.
            factor[i] = self.p_residue(i);
        }
        factor
    }

    /// Mod-down: `round(a / P)`, from [`ring`](Self::ring)`(limbs)` to the first `limbs` primes of
    /// `q`.
    pub fn mod_down(&self, a: Poly<Ntt>) -> Poly<Ntt> {
        self.divide(a, 0)
    }
}

/// The first prime of each digit, then the end of the chain.
pub(super) fn digit_starts(q: &Ring, log2_p: f64) -> Vec<usize> {
    let mut starts = vec![0];
    let mut bits = 0.0;
    for (i, prime) in q.moduli().enumerate() {
        bits += prime.log2();
        // This prime exceeds P together with the digit: it starts a new one.
        if bits > log2_p + SLACK_BITS && *starts.last().expect("starts with 0") < i {
            starts.push(i);
            bits = prime.log2();
        }
    }
    starts.push(q.limbs());
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gadget, values};
    use num_bigint::BigInt;
    use proptest::prelude::*;

    /// With special primes of 50 bits.
    fn mixed(sizes: &[(u32, usize)], special: usize) -> HybridGadget {
        gadget(16, sizes, (50, special))
    }

    #[test]
    fn digits_are_cut_by_size() {
        let runs = |g: &HybridGadget, limbs: usize| -> Vec<Range<usize>> {
            (0..g.digits(limbs)).map(|j| g.primes(j, limbs)).collect()
        };
        // 150 bits: 50 + 29 + 29 + 29, five times 29, what is left.
        let g = mixed(&[(50, 1), (29, 9)], 3);
        assert_eq!(runs(&g, 10), [0..4, 4..9, 9..10]);
        // A level has a prefix of them.
        assert_eq!(runs(&g, 9), [0..4, 4..9]);
        assert_eq!(runs(&g, 6), [0..4, 4..6]);
        assert_eq!((g.digits(1), g.primes(0, 1)), (1, 0..1));
        // Primes around 2^50 are no larger than special primes below it; larger ones stand alone.
        assert_eq!(runs(&mixed(&[(50, 4)], 2), 4), [0..2, 2..4]);
        assert_eq!(runs(&mixed(&[(55, 2), (25, 3)], 1), 5), [0..1, 1..2, 2..4, 4..5]);
        // No digit is larger than P, none could take the prime after it.
        for special in 1..4 {
            let g = mixed(&[(50, 2), (33, 3), (45, 2), (29, 6)], special);
            let p = g.p().log2_modulus();
            for (j, run) in runs(&g, 13).into_iter().enumerate() {
                assert!(g.log2_digit(j, 13) <= p + SLACK_BITS);
                assert!(run.end == 13 || g.q().slice(run.start..run.end + 1).log2_modulus() > p);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn hybrid_digits_recompose(
            seed: u64, special in 1usize..4, limbs in 1usize..8, small in 0usize..4,
        ) {
            let g = mixed(&[(45, 3), (29, small), (45, 4)], special);
            let q = g.q().at_limbs(limbs);
            let a = values(&q, seed);
            let digits = g.decompose(&a);
            prop_assert_eq!(digits.len(), g.digits(limbs));
            let ring = g.ring(limbs);
            let mut sum = ring.zero();
            for (j, digit) in digits.iter().enumerate() {
                // Centred: at most half of the product of the digit's primes.
                let own = q.slice(g.primes(j, limbs));
                let bound = BigInt::from(own.big_modulus() >> 1);
                for c in ring.centered(&ring.inverse(digit.clone())) {
                    prop_assert!(c <= bound && -c <= bound);
                }
                let mut term = digit.clone();
                ring.mul_residues_assign(&mut term, &g.factor(j, limbs));
                ring.add_assign(&mut sum, &term);
            }
            // The digits recompose to P a modulo Q P, so dividing by P gives a back exactly.
            prop_assert_eq!(g.mod_down(sum), a);
        }
    }

    #[test]
    fn hoisted_digits_stand_for_the_image() {
        let g = mixed(&[(45, 4)], 2);
        let a = values(g.q(), 3);
        let map = g.q().automorphism(5).unwrap();
        let ring = g.ring(4);
        let mut sum = ring.zero();
        for (j, digit) in g.decompose(&a).iter().enumerate() {
            let mut digit = ring.apply_ntt(digit, &map);
            ring.mul_residues_assign(&mut digit, &g.factor(j, 4));
            ring.add_assign(&mut sum, &digit);
        }
        assert_eq!(g.mod_down(sum), g.q().apply_ntt(&a, &map));
    }
}
