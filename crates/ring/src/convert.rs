//! Changing the RNS basis: Conv, ModUp, ModDown and rescaling.
//!
//! Full-RNS HEAAN (Cheon, Han, Kim, Kim, Song, SAC 2018), section 2.3 and Algorithms 1 and 2,
//! each also in an exact variant: the multiple of `Q` that fast conversion leaves over is the
//! rounded sum of `y_i / q_i`, computed in floating point (Halevi, Polyakov, Shoup, 2018/117).

use crate::{
    Coeff, Error, Modulus, Ntt, Poly, Result, Ring, backend,
    par::{self, CHEAP, HEAVY},
};

/// Conversion of coefficients modulo `Q = q_0 .. q_{l-1}` to residues modulo other primes.
#[derive(Debug, Clone)]
pub struct BaseConverter {
    from: Ring,
    to: Ring,
    /// `[(Q / q_i)^-1]_{q_i}`.
    hat_inverses: Vec<u64>,
    /// For each target prime `p`: `[Q / q_i]_p` for all `i`, then `[-Q]_p`.
    weights: Vec<Vec<u64>>,
}

/// `y_i = [a_i (Q / q_i)^-1]_{q_i}`, and the multiple of `Q` to be taken off.
pub(crate) struct Prepared {
    rows: Poly<Coeff>,
    /// One word per coefficient, or none for the approximate conversion.
    quotients: Vec<u64>,
}

impl BaseConverter {
    /// Precomputes the constants. At most 62 source primes; no prime may stand in both bases.
    pub fn new(from: &Ring, to: &Ring) -> Result<Self> {
        from.join(to)?;
        Self::overlapping(from, to)
    }

    /// As [`new`](Self::new), where the target may contain source primes (whose limbs the caller
    /// copies instead of converting).
    pub(crate) fn overlapping(from: &Ring, to: &Ring) -> Result<Self> {
        let l = from.limbs();
        if l >= backend::MAX_PRODUCTS {
            let reason = format!("{l} source primes; at most {}", backend::MAX_PRODUCTS - 1);
            return Err(Error::Basis { op: "base conversion", reason });
        }
        let hat_inverses: Result<Vec<u64>> = (0..l)
            .map(|i| {
                let q = from.modulus(i);
                let others = from.moduli().enumerate().filter(|&(j, _)| j != i);
                q.inv(others.fold(1, |hat, (_, p)| q.mul(hat, q.reduce(p.value()))))
            })
            .collect();
        let weights = to
            .moduli()
            .map(|p| {
                let residues: Vec<u64> = from.moduli().map(|q| p.reduce(q.value())).collect();
                let product = |skip: usize| {
                    let factors = residues.iter().enumerate().filter(|&(j, _)| j != skip);
                    factors.fold(p.reduce(1), |hat, (_, &r)| p.mul(hat, r))
                };
                (0..l).map(product).chain([p.neg(product(l))]).collect()
            })
            .collect();
        Ok(Self { from: from.clone(), to: to.clone(), hat_inverses: hat_inverses?, weights })
    }

    /// `Conv` of section 2.3: the residues of `a + e Q` for an integer `e` in `[0, l)` that varies
    /// from coefficient to coefficient, where `a` in `[0, Q)` is the input.
    pub fn convert(&self, a: &Poly<Coeff>) -> Poly<Coeff> {
        self.finish(&self.prepare(a.clone(), false))
    }

    /// The residues of the representative of `a` in `[-Q/2, Q/2)`.
    ///
    /// Within about `l 2^-52 Q` of `Q/2` the floating-point quotient may choose the other
    /// representative, which is as good for every use in this library.
    pub fn convert_centered(&self, a: &Poly<Coeff>) -> Poly<Coeff> {
        self.finish(&self.prepare(a.clone(), true))
    }

    /// Algorithm 1, approximate modulus raising: `a` followed by [`convert`](Self::convert).
    pub fn mod_up(&self, a: &Poly<Coeff>) -> Poly<Coeff> {
        concat(a, &self.convert(a))
    }

    /// Exact modulus raising of the centred representative.
    pub fn mod_up_centered(&self, a: &Poly<Coeff>) -> Poly<Coeff> {
        concat(a, &self.convert_centered(a))
    }

    pub(crate) fn prepare(&self, mut rows: Poly<Coeff>, centered: bool) -> Prepared {
        self.from.each(&mut rows, CHEAP, |table, i, limb| {
            backend::mul_constant(table, limb, self.hat_inverses[i]);
        });
        let mut quotients = Vec::new();
        if centered {
            quotients.resize(rows.degree(), 0);
            let reciprocals: Vec<f64> =
                self.from.moduli().map(|q| 1.0 / q.value() as f64).collect();
            let limbs: Vec<&[u64]> = (0..rows.limbs()).map(|i| rows.limb(i)).collect();
            backend::quotients(self.from.table(0), &mut quotients, &limbs, &reciprocals);
        }
        Prepared { rows, quotients }
    }

    /// The residues modulo the `target`-th prime of the target basis.
    pub(crate) fn write_limb(&self, prepared: &Prepared, target: usize, out: &mut [u64]) {
        let rows: Vec<&[u64]> = (0..prepared.rows.limbs())
            .map(|i| prepared.rows.limb(i))
            .chain((!prepared.quotients.is_empty()).then_some(&prepared.quotients[..]))
            .collect();
        let weights = &self.weights[target][..rows.len()];
        let row_bits = self.from.moduli().map(Modulus::bits).max().unwrap_or(0);
        backend::weighted_sum(self.to.table(target), out, &rows, row_bits.max(6), weights);
    }

    fn finish(&self, prepared: &Prepared) -> Poly<Coeff> {
        let mut out = self.to.zero();
        self.to.each(&mut out, HEAVY, |_, i, limb| self.write_limb(prepared, i, limb));
        out
    }
}

fn concat(a: &Poly<Coeff>, b: &Poly<Coeff>) -> Poly<Coeff> {
    let mut out = Poly::zero(a.degree(), a.limbs() + b.limbs());
    out.data_mut()[..a.data().len()].copy_from_slice(a.data());
    out.data_mut()[a.data().len()..].copy_from_slice(b.data());
    out
}

/// Division by the product `P` of special primes: from `R_{QP}` to `R_Q`.
#[derive(Debug, Clone)]
pub struct ModDown {
    q: Ring,
    p: Ring,
    converter: BaseConverter,
    /// `[P^-1]_{q_j}`.
    inverses: Vec<u64>,
}

impl ModDown {
    /// Precomputes the constants for the bases `q` and `p`, which must be disjoint.
    pub fn new(q: &Ring, p: &Ring) -> Result<Self> {
        let converter = BaseConverter::new(p, q)?;
        let inverses: Result<Vec<u64>> = q
            .moduli()
            .map(|m| m.inv(p.moduli().fold(1, |acc, s| m.mul(acc, m.reduce(s.value())))))
            .collect();
        Ok(Self { q: q.clone(), p: p.clone(), converter, inverses: inverses? })
    }

    /// `round(a / P)`, exactly rounded: `a` has the limbs of `q` followed by those of `p`, the
    /// result those of `q`. The rounding error of each coefficient lies in `[-1/2, 1/2]`.
    pub fn apply(&self, a: Poly<Ntt>) -> Poly<Ntt> {
        self.divide(a, self.q.limbs(), true)
    }

    /// Algorithm 2: `(a - Conv([a]_P)) / P`, off from `a / P` by up to `k`, the number of primes
    /// of `P`.
    pub fn apply_approximate(&self, a: Poly<Ntt>) -> Poly<Ntt> {
        self.divide(a, self.q.limbs(), false)
    }

    /// Division at a lower level: `a` has the first `limbs` limbs of `q`, then those of `p`.
    pub(crate) fn divide(&self, mut a: Poly<Ntt>, limbs: usize, centered: bool) -> Poly<Ntt> {
        let special = a.limb_range(limbs..limbs + self.p.limbs());
        a.truncate(limbs);
        let prepared = self.converter.prepare(self.p.inverse(special), centered);
        let degree = a.degree();
        par::each_limb(a.data_mut(), degree, HEAVY, |j, limb| {
            let table = self.q.table(j);
            let mut remainder = vec![0; degree];
            self.converter.write_limb(&prepared, j, &mut remainder);
            table.forward(&mut remainder);
            backend::sub_mul_constant(table, limb, &remainder, self.inverses[j]);
        });
        a
    }
}

/// `round(a / q_l)` by the last prime `q_l` of the ring: the rescaling RS of section 4, one limb
/// fewer. The rounding error of each coefficient lies in `[-1/2, 1/2]`.
///
/// # Panics
/// If the ring has only one prime.
pub fn rescale(ring: &Ring, mut a: Poly<Ntt>) -> Poly<Ntt> {
    ring.check(&a);
    let rest = ring.limbs() - 1;
    assert!(rest > 0, "a ring of one prime has none to divide by");
    let last_table = ring.table(rest);
    let mut last = a.limb(rest).to_vec();
    a.truncate(rest);
    last_table.inverse(&mut last);
    let p = last_table.modulus();
    let degree = a.degree();
    par::each_limb(a.data_mut(), degree, HEAVY, |j, limb| {
        let table = ring.table(j);
        let q = table.modulus();
        let mut remainder = vec![0; degree];
        backend::reduce_centered(table, &mut remainder, &last, p);
        table.forward(&mut remainder);
        // Distinct primes: the inverse exists.
        let inverse = q.pow(q.reduce(p.value()), q.value() - 2);
        backend::sub_mul_constant(table, limb, &remainder, inverse);
    });
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    const N: usize = 16;

    fn bases() -> (Ring, Ring) {
        let q = prime::ntt_primes_around(N, 45, 4, &[]).unwrap();
        let p = prime::ntt_primes_below(N, 50, 3, &q).unwrap();
        (Ring::new(N, &q).unwrap(), Ring::new(N, &p).unwrap())
    }

    /// Residues at the ends of their ranges and in between.
    fn poly(ring: &Ring, seed: u64) -> Poly<Coeff> {
        let mut state = seed;
        let mut a = ring.zero();
        for i in 0..ring.limbs() {
            let q = ring.modulus(i).value();
            for x in a.limb_mut(i) {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *x = match state >> 61 {
                    0 => 0,
                    1 => q - 1,
                    2 => q / 2,
                    _ => (state >> 3) % q,
                };
            }
        }
        a
    }

    fn residue(x: &BigInt, m: &BigInt) -> BigInt {
        ((x % m) + m) % m
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn conversion_against_big_integers(seed: u64) {
            let (q, p) = bases();
            let big = BigInt::from(q.big_modulus());
            let a = poly(&q, seed);
            let converter = BaseConverter::new(&q, &p).unwrap();
            let values = q.centered(&a);
            let (fast, exact) = (converter.convert(&a), converter.convert_centered(&a));
            for (j, value) in values.iter().enumerate() {
                let stands_for = |poly: &Poly<Coeff>, value: &BigInt| (0..p.limbs()).all(|i| {
                    let m = p.modulus(i).value();
                    BigInt::from(poly.limb(i)[j]) == residue(value, &m.into())
                });
                // At Q/2 itself either representative may come out.
                let near_half = (&big - BigInt::from(value.magnitude() * 2u32)) << 45 < big;
                let other = if value > &BigInt::ZERO { value - &big } else { value + &big };
                let either = near_half && stands_for(&exact, &other);
                prop_assert!(stands_for(&exact, value) || either);
                // Fast conversion may add e Q with e in [0, l), counted from [0, Q).
                let least = residue(value, &big);
                prop_assert!((0..q.limbs()).any(|e| stands_for(&fast, &(&least + &big * e))));
            }
            prop_assert_eq!(converter.mod_up_centered(&a).limb_range(4..7), exact);
            let up = converter.mod_up(&a);
            prop_assert_eq!(up.limb_range(0..4), a);
            prop_assert_eq!(up.limb_range(4..7), fast);
        }

        #[test]
        fn division_against_big_integers(seed: u64) {
            let (q, p) = bases();
            let qp = q.join(&p).unwrap();
            let down = ModDown::new(&q, &p).unwrap();
            let special = BigInt::from(p.big_modulus());
            let a = poly(&qp, seed);
            let values = qp.centered(&a);
            let exact = q.centered(&q.inverse(down.apply(qp.forward(a.clone()))));
            let fast = q.centered(&q.inverse(down.apply_approximate(qp.forward(a))));
            let q_big = BigInt::from(q.big_modulus());
            for j in 0..N {
                // |P b - a| <= P/2 modulo P Q; the quotient may wrap at the very end of the range.
                let modulus = &special * &q_big;
                let distance = |b: &BigInt| {
                    let d = residue(&(b * &special - &values[j]), &modulus);
                    let other = &modulus - &d;
                    if d < other { d } else { other }
                };
                prop_assert!(distance(&exact[j]) * 2 <= special.clone() + 2);
                prop_assert!(distance(&fast[j]) <= &special * p.limbs());
            }
        }

        #[test]
        fn rescaling_rounds(seed: u64) {
            let (q, _) = bases();
            let a = poly(&q, seed);
            let values = q.centered(&a);
            let last = BigInt::from(q.modulus(3).value());
            let lower = q.prefix(3);
            let quotients = lower.centered(&lower.inverse(rescale(&q, q.forward(a))));
            let modulus = BigInt::from(q.big_modulus());
            for (value, quotient) in values.iter().zip(quotients) {
                let d = residue(&(quotient * &last - value), &modulus);
                prop_assert!(&d * 2 < last || (&modulus - &d) * 2 < last);
            }
        }
    }

    #[test]
    fn refuses_bases_that_meet() {
        let (q, p) = bases();
        assert!(BaseConverter::new(&q, &q.prefix(1)).is_err());
        assert!(ModDown::new(&p, &p).is_err());
    }
}
