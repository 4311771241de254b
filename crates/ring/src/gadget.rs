//! Gadget decompositions: writing a polynomial as a short sum of small digits times constants.

use crate::{
    Automorphism, BaseConverter, Error, ModDown, Modulus, Ntt, Poly, Result, Ring,
    convert::Prepared,
    par::{self, HEAVY},
};

/// The hybrid RNS gadget of `k` special primes (DPad-HE, section 3.1.1).
///
/// The primes `q_0 .. q_{l}` of a level are cut into `d = ceil((l + 1) / k)` digits
/// `Q'_j = q_{jk} .. q_{jk + k - 1}`; digit `j` of `a` is the centred representative of
/// `[a]_{Q'_j}`, of magnitude at most `Q'_j / 2`, given modulo `P Q_l`. With
/// `g_j = (Q / Q'_j) [(Q / Q'_j)^-1]_{Q'_j}` (that is 1 modulo the primes of digit `j` and 0
/// modulo the others) `sum_j digit_j g_j = a` modulo `Q_l`.
///
/// Digits are centred and converted exactly, so that a uniform `a` gives digits of variance
/// `Q'_j^2 / 12`.
#[derive(Debug, Clone)]
pub struct HybridGadget {
    q: Ring,
    p: Ring,
    /// `rings[l - 1]`: the first `l` primes of `q`, then those of `p`.
    rings: Vec<Ring>,
    /// `converters[j][s - 1]`: from the first `s` primes of digit `j` to all primes of `q` and `p`.
    converters: Vec<Vec<BaseConverter>>,
    down: ModDown,
}

impl HybridGadget {
    /// Precomputes the constants for all levels of `q` with special primes `p`.
    pub fn new(q: &Ring, p: &Ring) -> Result<Self> {
        let full = q.join(p)?;
        let k = p.limbs();
        let rings: Result<Vec<_>> = (1..=q.limbs()).map(|l| q.prefix(l).join(p)).collect();
        let converters: Result<Vec<Vec<_>>> = (0..q.limbs())
            .step_by(k)
            .map(|start| {
                (start + 1..=q.limbs().min(start + k))
                    .map(|end| BaseConverter::overlapping(&q.slice(start..end), &full))
                    .collect()
            })
            .collect();
        Ok(Self {
            q: q.clone(),
            p: p.clone(),
            rings: rings?,
            converters: converters?,
            down: ModDown::new(q, p)?,
        })
    }

    /// The ring modulo all `q`.
    pub fn q(&self) -> &Ring {
        &self.q
    }

    /// The ring modulo the special primes.
    pub fn p(&self) -> &Ring {
        &self.p
    }

    /// The ring modulo the first `limbs` primes of `q` followed by the special primes.
    pub fn ring(&self, limbs: usize) -> &Ring {
        &self.rings[limbs - 1]
    }

    /// The number of digits of a polynomial with `limbs` limbs.
    pub fn digits(&self, limbs: usize) -> usize {
        limbs.div_ceil(self.p.limbs())
    }

    /// `log2(Q'_j)` at a level with `limbs` limbs.
    pub fn log2_digit(&self, digit: usize, limbs: usize) -> f64 {
        let k = self.p.limbs();
        self.q.slice(digit * k..limbs.min((digit + 1) * k)).log2_modulus()
    }

    /// The digits of `a`, each in NTT form over [`ring`](Self::ring)`(a.limbs())`.
    pub fn decompose(&self, a: &Poly<Ntt>) -> Vec<Poly<Ntt>> {
        let limbs = a.limbs();
        let (k, ring) = (self.p.limbs(), self.ring(limbs));
        (0..self.digits(limbs))
            .map(|j| {
                let own = j * k..limbs.min((j + 1) * k);
                let converter = &self.converters[j][own.len() - 1];
                let coefficients = self.q.slice(own.clone()).inverse(a.limb_range(own.clone()));
                let prepared = converter.prepare(coefficients, true);
                let mut digit = ring.zero();
                let degree = digit.degree();
                par::each_limb(digit.data_mut(), degree, HEAVY, |i, limb| {
                    if own.contains(&i) {
                        // A digit is congruent to `a` modulo its own primes.
                        limb.copy_from_slice(a.limb(i));
                    } else {
                        self.convert_limb(converter, &prepared, i, limbs, limb);
                    }
                });
                digit
            })
            .collect()
    }

    fn convert_limb(
        &self,
        converter: &BaseConverter,
        prepared: &Prepared,
        i: usize,
        limbs: usize,
        out: &mut [u64],
    ) {
        let target = if i < limbs { i } else { self.q.limbs() + i - limbs };
        converter.write_limb(prepared, target, out);
        self.ring(limbs).table(i).forward(out);
    }

    /// The residues of `P g_j` modulo the first `limbs` primes of `q`, then modulo those of `p`.
    pub fn factor(&self, digit: usize, limbs: usize) -> Vec<u64> {
        let k = self.p.limbs();
        let own = digit * k..(digit + 1) * k;
        let product =
            |q: &Modulus| self.p.moduli().fold(1, |product, s| q.mul(product, q.reduce(s.value())));
        let chain = self.q.moduli().take(limbs).enumerate();
        chain
            .map(|(i, q)| if own.contains(&i) { product(q) } else { 0 })
            .chain(std::iter::repeat_n(0, k))
            .collect()
    }

    /// `round(a / P)`: from [`ring`](Self::ring)`(limbs)` back to the first `limbs` primes of `q`.
    pub fn mod_down(&self, a: Poly<Ntt>) -> Poly<Ntt> {
        let limbs = a.limbs() - self.p.limbs();
        self.down.divide(a, limbs, true)
    }

    /// Applies an automorphism to every digit: the digits of the image, up to their signs'
    /// placement, without decomposing again (hoisting).
    pub fn apply(&self, digits: &[Poly<Ntt>], map: &Automorphism) -> Vec<Poly<Ntt>> {
        digits.iter().map(|d| self.ring(d.limbs() - self.p.limbs()).apply_ntt(d, map)).collect()
    }
}

/// The signed base-`2^w` gadget of one prime: `a = sum_j digit_j g_j + e` with
/// `g_j = 2^(drop + w j)` and `|e| <= 2^drop / 2`.
///
/// With `w * digits >= bits(q)` nothing is dropped and the decomposition is exact; with fewer
/// digits the lowest `drop = bits(q) - w * digits` bits are rounded away. Digits lie in
/// `[-2^(w-1), 2^(w-1))`, the last one in `[-2^(w-1), 2^(w-1)]`; uniform input gives digits of
/// mean square `2^(2w) / 12 + 1/6` (signed digits cost a quarter of the noise of unsigned ones).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigitGadget {
    modulus: Modulus,
    base_log: u32,
    digits: usize,
    drop: u32,
}

impl DigitGadget {
    /// A gadget of `digits >= 1` digits of `base_log` bits, `1 <= base_log <= 32`.
    pub fn new(modulus: Modulus, base_log: u32, digits: usize) -> Result<Self> {
        let refuse = |what, value: String, need| Error::Distribution { what, value, need };
        if !(1..=32).contains(&base_log) {
            return Err(refuse("gadget base_log", base_log.to_string(), "1 to 32 bits"));
        }
        if digits == 0 || digits > 64 {
            return Err(refuse("gadget digits", digits.to_string(), "1 to 64"));
        }
        let drop = modulus.bits().saturating_sub(base_log * digits as u32);
        Ok(Self { modulus, base_log, digits, drop })
    }

    /// The gadget that drops nothing.
    pub fn exact(modulus: Modulus, base_log: u32) -> Result<Self> {
        Self::new(modulus, base_log, modulus.bits().div_ceil(base_log.max(1)) as usize)
    }

    /// The number of digits.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// `w`: digits are signed and in base `2^w`.
    pub fn base_log(&self) -> u32 {
        self.base_log
    }

    /// The prime.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// How many low bits are rounded away.
    pub fn dropped_bits(&self) -> u32 {
        self.drop
    }

    /// `g_j` modulo `q`.
    pub fn factors(&self) -> Vec<u64> {
        (0..self.digits)
            .map(|j| self.modulus.pow(2, (self.drop + self.base_log * j as u32) as u64))
            .collect()
    }

    /// Writes the digits of `coefficients`, as residues modulo `q`, one digit of `N` words after
    /// the other. Constant time.
    ///
    /// # Panics
    /// If `out` does not hold `digits * coefficients.len()` words.
    pub fn decompose(&self, coefficients: &[u64], out: &mut [u64]) {
        let n = coefficients.len();
        assert_eq!(out.len(), n * self.digits, "one row of words per digit");
        let half = 1i64 << (self.base_log - 1);
        let mask = (1i64 << self.base_log) - 1;
        let round = (1i64 << self.drop) >> 1;
        let q = self.modulus.value() as i64;
        // Lifts a small signed number to [0, q): digits are below q in magnitude.
        let lift = |d: i64| (d + (q & (d >> 63))) as u64;
        for (i, &x) in coefficients.iter().enumerate() {
            let mut rest = (self.modulus.center(x) + round) >> self.drop;
            for j in 0..self.digits - 1 {
                let digit = ((rest + half) & mask) - half;
                out[j * n + i] = lift(digit);
                rest = (rest - digit) >> self.base_log;
            }
            out[(self.digits - 1) * n + i] = lift(rest);
        }
    }

    /// `sum_j digit_j g_j` modulo `q`: what the digits stand for.
    pub fn recompose(&self, digits: &[u64]) -> Vec<u64> {
        let q = &self.modulus;
        let factors = self.factors();
        let n = digits.len() / self.digits;
        (0..n)
            .map(|i| {
                (0..self.digits).fold(0, |sum, j| q.mul_add(digits[j * n + i], factors[j], sum))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    const N: usize = 16;

    fn gadget(primes: usize, special: usize) -> HybridGadget {
        let q = prime::ntt_primes_around(N, 45, primes, &[]).unwrap();
        let p = prime::ntt_primes_below(N, 50, special, &q).unwrap();
        HybridGadget::new(&Ring::new(N, &q).unwrap(), &Ring::new(N, &p).unwrap()).unwrap()
    }

    fn values(ring: &Ring, seed: u64) -> Poly<Ntt> {
        let mut state = seed;
        let mut a = ring.zero();
        for i in 0..ring.limbs() {
            for x in a.limb_mut(i) {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *x = (state >> 2) % ring.modulus(i).value();
            }
        }
        a
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn hybrid_digits_recompose(seed: u64, special in 1usize..4, limbs in 1usize..8) {
            let g = gadget(7, special);
            let q = g.q().prefix(limbs);
            let a = values(&q, seed);
            let digits = g.decompose(&a);
            prop_assert_eq!(digits.len(), limbs.div_ceil(special));
            let ring = g.ring(limbs);
            let mut sum = ring.zero();
            for (j, digit) in digits.iter().enumerate() {
                // Centred: at most half of the product of the digit's primes.
                let own = q.slice(j * special..limbs.min((j + 1) * special));
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

        #[test]
        fn signed_digits_recompose(seed: u64, base_log in 1u32..24, digits in 1usize..12) {
            let q = prime::ntt_primes_below(N, 45, 1, &[]).unwrap()[0];
            let edges = [0, 1, q.value() / 2, q.value() / 2 + 1, q.value() - 1];
            let a: Vec<u64> = edges.into_iter().chain((0..11).map(|i| q.reduce(seed.rotate_left(i * 5)))).collect();
            let g = DigitGadget::new(q, base_log, digits).unwrap();
            let mut out = vec![0; N * digits];
            g.decompose(&a, &mut out);
            let back = g.recompose(&out);
            for (&x, &y) in a.iter().zip(&back) {
                let error = q.center(q.sub(x, y)).unsigned_abs();
                prop_assert!(error <= (1u64 << g.dropped_bits()) >> 1);
            }
            let half = 1i64 << (base_log - 1);
            for (j, row) in out.chunks(N).enumerate() {
                let inside = |d: i64| -half <= d && (d < half || j == digits - 1 && d <= half);
                prop_assert!(row.iter().all(|&d| inside(q.center(d))));
            }
        }
    }

    #[test]
    fn hoisted_digits_stand_for_the_image() {
        let g = gadget(4, 2);
        let a = values(g.q(), 3);
        let map = g.q().automorphism(5).unwrap();
        let ring = g.ring(4);
        let mut sum = ring.zero();
        for (j, mut digit) in g.apply(&g.decompose(&a), &map).into_iter().enumerate() {
            ring.mul_residues_assign(&mut digit, &g.factor(j, 4));
            ring.add_assign(&mut sum, &digit);
        }
        assert_eq!(g.mod_down(sum), g.q().apply_ntt(&a, &map));
    }

    #[test]
    fn digits_of_uniform_values_have_the_stated_variance() {
        let q = prime::ntt_primes_below(N, 45, 1, &[]).unwrap()[0];
        let g = DigitGadget::exact(q, 5).unwrap();
        let a: Vec<u64> =
            (0..1u64 << 16).map(|i| q.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let mut out = vec![0; a.len() * g.digits()];
        g.decompose(&a, &mut out);
        let row = &out[a.len()..2 * a.len()];
        let mean_square =
            row.iter().map(|&d| (q.center(d) as f64).powi(2)).sum::<f64>() / a.len() as f64;
        let expected = 1024.0 / 12.0 + 1.0 / 6.0;
        assert!((mean_square / expected - 1.0).abs() < 0.02, "{mean_square} against {expected}");
    }

    #[test]
    fn refuses_gadgets_without_digits() {
        let q = Modulus::new(97).unwrap();
        assert!(DigitGadget::new(q, 0, 3).is_err());
        assert!(DigitGadget::new(q, 33, 3).is_err());
        assert!(DigitGadget::new(q, 4, 0).is_err());
    }
}
