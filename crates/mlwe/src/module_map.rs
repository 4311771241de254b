//! One lattice as modules over rings of different degree: `R_N` is a module of rank `f = N / n`
//! over `R_n`, with `Y = X^f`.
//!
//! The maps of DPad-HE section 4.1, all in NTT form:
//!
//! | map | definition on coefficients |
//! | --- | --- |
//! | `pi` ([`ModuleMap::split`]) | `a -> (a_0, ..., a_{f-1})` with `a(X) = sum_j X^j a_j(X^f)` |
//! | `pi^-1` ([`ModuleMap::join`]) | its inverse |
//! | `epsilon` ([`ModuleMap::constant_part`]) | `a -> a_0`, every `f`-th coefficient |
//! | `iota` ([`ModuleMap::lift`]) | `b(Y) -> b(X^f)` |
//!
//! How: at a root `y` of `Y^n + 1` the values `a_j(y)` are the coefficients of `a` modulo `X^f - y`,
//! and the values of `a` at the `f` roots of `X^f - y` are what its transform holds. So `pi` merges
//! residues modulo `X^m - c` and `X^m + c` into residues modulo `X^2m - c^2` until `m = f`, and
//! `pi^-1` splits them again: the last `log2(f)` stages of a transform and no more (theorems 4.1
//! and 4.2 of the paper, with the twist by `psi^(2k-n+1)` spread over the stages). `epsilon` needs
//! one sum over those roots, `f^-1 sum a(x)`; `iota` copies.

use bellerophon_ring::{Modulus, Ntt, NttTable, Poly};
use zeroize::Zeroizing;

use crate::keyswitch::check_primes;
use crate::{Ciphertext, Error, Params, Result, SecretKey};

/// The maps between two degrees, for the first `limbs` primes that both parameter sets share.
///
/// Ciphertexts of rank `R` over the large ring become ciphertexts of rank `R f` over the small one
/// and back; [`embed_subring`](Self::embed_subring) keeps the rank.
#[derive(Debug, Clone)]
pub struct ModuleMap {
    large: Params,
    small: Params,
    factor: usize,
    /// Position in the large transform of root `w` above position `k` of the small one, at
    /// `k * f + w`; roots in the order of the merging tree.
    positions: Vec<u32>,
    limbs: Vec<LimbMap>,
}

/// Constants of one prime; `f - 1` of each kind per position `k` of the small transform, stage
/// after stage from `m = 1`, each with its Shoup companion.
#[derive(Debug, Clone)]
struct LimbMap {
    split: Vec<[u64; 2]>,
    merge: Vec<[u64; 2]>,
    factor_inverse: [u64; 2],
}

impl ModuleMap {
    /// Prepares the maps for up to `limbs` limbs.
    ///
    /// # Errors
    /// [`Error::Degree`] unless the small degree divides the large one, [`Error::Limbs`] or
    /// [`Error::Moduli`] unless both chains begin with the same `limbs` primes.
    pub fn new(large: &Params, small: &Params, limbs: usize) -> Result<Self> {
        let op = "prepare a change of degree";
        let (large_degree, small_degree) = (large.degree(), small.degree());
        if !large_degree.is_multiple_of(small_degree) {
            return Err(Error::Degree { op, found: small_degree, needed: large_degree });
        }
        check_primes(op, small, large, limbs)?;
        let factor = large_degree / small_degree;
        let positions = root_positions(large.q().table(0), small.q().table(0), factor);
        let limbs =
            (0..limbs).map(|i| LimbMap::new(large.q().table(i), &positions, factor)).collect();
        Ok(Self { large: large.clone(), small: small.clone(), factor, positions, limbs })
    }

    /// `f = N / n`.
    pub fn factor(&self) -> usize {
        self.factor
    }

    /// The most limbs that the maps take.
    pub fn limbs(&self) -> usize {
        self.limbs.len()
    }

    /// `pi`: the `f` components of a polynomial.
    pub fn split(&self, poly: &Poly<Ntt>) -> Result<Vec<Poly<Ntt>>> {
        self.check("split a polynomial", poly, &self.large)?;
        let f = self.factor;
        let mut parts = vec![Poly::zero(self.small.degree(), poly.limbs()); f];
        let mut block = vec![0; f];
        for (i, map) in self.limbs.iter().enumerate().take(poly.limbs()) {
            let q = self.large.q().modulus(i);
            let (from, mut out): (_, Vec<&mut [u64]>) =
                (poly.limb(i), parts.iter_mut().map(|part| part.limb_mut(i)).collect());
            for (k, positions) in self.positions.chunks_exact(f).enumerate() {
                for (x, &position) in block.iter_mut().zip(positions) {
                    *x = from[position as usize];
                }
                map.merge_block(q, k, &mut block);
                for (out, &x) in out.iter_mut().zip(&block) {
                    out[k] = x;
                }
            }
        }
        Ok(parts)
    }

    /// `pi^-1`: the polynomial with the given `f` components.
    pub fn join(&self, parts: &[Poly<Ntt>]) -> Result<Poly<Ntt>> {
        let op = "join polynomials";
        let f = self.factor;
        if parts.len() != f {
            return Err(Error::Rank { op, found: parts.len(), needed: f });
        }
        for part in parts {
            self.check(op, part, &self.small)?;
            if part.limbs() != parts[0].limbs() {
                let needed = parts[0].limbs().to_string();
                return Err(Error::Limbs { op, found: part.limbs(), needed });
            }
        }
        let mut poly = Poly::zero(self.large.degree(), parts[0].limbs());
        let mut block = vec![0; f];
        for (i, map) in self.limbs.iter().enumerate().take(poly.limbs()) {
            let q = self.large.q().modulus(i);
            let from: Vec<&[u64]> = parts.iter().map(|part| part.limb(i)).collect();
            let out = poly.limb_mut(i);
            for (k, positions) in self.positions.chunks_exact(f).enumerate() {
                for (x, from) in block.iter_mut().zip(&from) {
                    *x = from[k];
                }
                map.split_block(q, k, &mut block);
                for (&x, &position) in block.iter().zip(positions) {
                    out[position as usize] = x;
                }
            }
        }
        Ok(poly)
    }

    /// `epsilon`: component 0 alone, by one sum per value.
    pub fn constant_part(&self, poly: &Poly<Ntt>) -> Result<Poly<Ntt>> {
        self.check("take the constant part", poly, &self.large)?;
        let mut part = Poly::zero(self.small.degree(), poly.limbs());
        for (i, map) in self.limbs.iter().enumerate().take(poly.limbs()) {
            let q = self.large.q().modulus(i);
            let [inverse, shoup] = map.factor_inverse;
            let from = poly.limb(i);
            let blocks = self.positions.chunks_exact(self.factor);
            for (x, positions) in part.limb_mut(i).iter_mut().zip(blocks) {
                let sum = positions.iter().fold(0, |sum, &at| q.add(sum, from[at as usize]));
                *x = q.mul_shoup(sum, inverse, shoup);
            }
        }
        Ok(part)
    }

    /// `iota`: `b(X^f)`, by copying values.
    pub fn lift(&self, poly: &Poly<Ntt>) -> Result<Poly<Ntt>> {
        self.check("lift a polynomial", poly, &self.small)?;
        let mut lifted = Poly::zero(self.large.degree(), poly.limbs());
        for i in 0..poly.limbs() {
            let out = lifted.limb_mut(i);
            for (&x, positions) in poly.limb(i).iter().zip(self.positions.chunks_exact(self.factor))
            {
                positions.iter().for_each(|&at| out[at as usize] = x);
            }
        }
        Ok(lifted)
    }

    /// Extract: a ciphertext over the large ring with phase `m` becomes one of rank `R f` over the
    /// small ring with phase `epsilon(m)`, every `f`-th coefficient, without noise. Its secret is
    /// [`extract_secret`](Self::extract_secret).
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] unless the ciphertext belongs to the large parameters,
    /// [`Error::Rank`] unless the rank of the small ones is `R f`, [`Error::Limbs`] for more limbs
    /// than were prepared.
    pub fn extract(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        let op = "extract a module ciphertext";
        self.large.check(op, ct.fingerprint)?;
        self.check_module_rank(op)?;
        let b = self.constant_part(&ct.b)?;
        let mut a = Vec::with_capacity(self.small.rank());
        for mask in &ct.a {
            a.extend(self.split(mask)?);
        }
        Ciphertext::new(&self.small, b, a, ct.key)
    }

    /// Embed: a ciphertext of rank `R f` over the small ring with phase `m` becomes one of rank `R`
    /// over the large ring whose phase has `m` at every `f`-th coefficient (`epsilon` of the phase
    /// is `m`) and values without meaning at the others. Its secret is
    /// [`embed_secret`](Self::embed_secret).
    ///
    /// # Errors
    /// As for [`extract`](Self::extract), with the roles exchanged.
    pub fn embed(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        let op = "embed a module ciphertext";
        self.small.check(op, ct.fingerprint)?;
        self.check_module_rank(op)?;
        let b = self.lift(&ct.b)?;
        let masks = ct.a.chunks_exact(self.factor).map(|parts| self.join(parts));
        Ciphertext::new(&self.large, b, masks.collect::<Result<_>>()?, ct.key)
    }

    /// The subring embedding `Y -> X^f`: a ciphertext over the small ring becomes one of the same
    /// rank over the large ring with phase `m(X^f)`, without noise. Its secret is
    /// [`subring_secret`](Self::subring_secret).
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] unless the ciphertext belongs to the small parameters,
    /// [`Error::Rank`] unless both parameter sets have one rank.
    pub fn embed_subring(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        let op = "embed a ciphertext into a larger ring";
        self.small.check(op, ct.fingerprint)?;
        self.check_equal_rank(op)?;
        let a = ct.a.iter().map(|mask| self.lift(mask)).collect::<Result<_>>()?;
        Ciphertext::new(&self.large, self.lift(&ct.b)?, a, ct.key)
    }

    /// The secret of extracted ciphertexts, `rho^-1 (pi(s))` of section 4.1:
    /// `(s_0, Y s_{f-1}, ..., Y s_1)` for each component. It keeps the identity of the key.
    pub fn extract_secret(&self, secret: &SecretKey) -> Result<SecretKey> {
        let op = "extract a secret";
        self.large.check(op, secret.fingerprint())?;
        self.check_module_rank(op)?;
        let (f, n) = (self.factor, self.small.degree());
        let mut out = Zeroizing::new(Vec::with_capacity(self.small.dimension()));
        for component in 0..self.large.rank() {
            let s = secret.coefficients(component);
            out.extend((0..n).map(|i| s[i * f]));
            for j in 1..f {
                // Y s_{f-j}: its top coefficient comes round with the other sign.
                out.push(-s[n * f - j]);
                out.extend((1..n).map(|i| s[i * f - j]));
            }
        }
        SecretKey::restore(&self.small, &out, secret.id())
    }

    /// The secret of embedded ciphertexts, inverse to [`extract_secret`](Self::extract_secret). It
    /// keeps the identity of the key.
    pub fn embed_secret(&self, secret: &SecretKey) -> Result<SecretKey> {
        let op = "embed a secret";
        self.small.check(op, secret.fingerprint())?;
        self.check_module_rank(op)?;
        let (f, n) = (self.factor, self.small.degree());
        let mut out = Zeroizing::new(vec![0; self.large.dimension()]);
        for (component, s) in out.chunks_exact_mut(n * f).enumerate() {
            for (i, &x) in secret.coefficients(component * f).iter().enumerate() {
                s[i * f] = x;
            }
            for j in 1..f {
                let t = secret.coefficients(component * f + j);
                s[n * f - j] = -t[0];
                (1..n).for_each(|i| s[i * f - j] = t[i]);
            }
        }
        SecretKey::restore(&self.large, &out, secret.id())
    }

    /// `s(X^f)`, the secret of ciphertexts embedded into the larger ring. It keeps the identity of
    /// the key.
    ///
    /// It has the security of the small ring: never publish anything under it modulo more than the
    /// small ring allows.
    pub fn subring_secret(&self, secret: &SecretKey) -> Result<SecretKey> {
        let op = "embed a secret into a larger ring";
        self.small.check(op, secret.fingerprint())?;
        self.check_equal_rank(op)?;
        let mut out = Zeroizing::new(vec![0; self.large.dimension()]);
        let coefficients = secret.all_coefficients();
        out.iter_mut().step_by(self.factor).zip(coefficients).for_each(|(x, &s)| *x = s);
        SecretKey::restore(&self.large, &out, secret.id())
    }

    fn check(&self, op: &'static str, poly: &Poly<Ntt>, params: &Params) -> Result<()> {
        params.check_poly(op, poly)?;
        if poly.limbs() > self.limbs() {
            let needed = format!("at most {}, as prepared,", self.limbs());
            return Err(Error::Limbs { op, found: poly.limbs(), needed });
        }
        Ok(())
    }

    fn check_module_rank(&self, op: &'static str) -> Result<()> {
        let needed = self.large.rank() * self.factor;
        if self.small.rank() != needed {
            return Err(Error::Rank { op, found: self.small.rank(), needed });
        }
        Ok(())
    }

    fn check_equal_rank(&self, op: &'static str) -> Result<()> {
        if self.small.rank() != self.large.rank() {
            let (found, needed) = (self.small.rank(), self.large.rank());
            return Err(Error::Rank { op, found, needed });
        }
        Ok(())
    }
}

/// `positions[k * f + w]`: where the large transform holds the value at root `w` of `X^f - y_k`.
///
/// Root `w` is `psi_N^(e_k + 2 n bitreverse(w))`, so that neighbours differ by their sign and, one
/// stage up, neighbouring pairs by the sign of their squares.
fn root_positions(large: &NttTable, small: &NttTable, factor: usize) -> Vec<u32> {
    let order = 2 * large.degree();
    let mut position = vec![0u32; order];
    for (i, &e) in large.exponents().iter().enumerate() {
        position[e as usize] = i as u32;
    }
    let bits = factor.trailing_zeros();
    let root = |w: usize| 2 * small.degree() * reverse(w, bits);
    let above = |&e: &u32| (0..factor).map(move |w| (e as usize + root(w)) % order);
    small.exponents().iter().flat_map(above).map(|e| position[e]).collect()
}

fn reverse(w: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { w.reverse_bits() >> (usize::BITS - bits) }
}

impl LimbMap {
    fn new(large: &NttTable, positions: &[u32], factor: usize) -> Self {
        let q = large.modulus();
        let order = 2 * large.degree();
        let mut powers = vec![1; order];
        for i in 1..order {
            powers[i] = q.mul(powers[i - 1], large.root());
        }
        let pair = |w: u64| [w, q.shoup(w)];
        let (mut split, mut merge) = (Vec::new(), Vec::new());
        for block in positions.chunks_exact(factor) {
            let mut m = 1;
            while m < factor {
                // The left one of two residues is modulo X^m - c, c = x^m for its first root x.
                for first in (0..factor).step_by(2 * m) {
                    let e = large.exponents()[block[first] as usize] as usize * m % order;
                    split.push(pair(powers[e]));
                    merge.push(pair(powers[(order - e) % order]));
                }
                m *= 2;
            }
        }
        // The inverse of a power of two: q is odd, so halving is multiplying by (q + 1) / 2.
        let inverse = q.pow(q.value().div_ceil(2), u64::from(factor.trailing_zeros()));
        Self { split, merge, factor_inverse: pair(inverse) }
    }

    /// Values at the roots above `y_k` to coefficients modulo `X^f - y_k`.
    fn merge_block(&self, q: &Modulus, k: usize, block: &mut [u64]) {
        let f = block.len();
        let mut constants = self.merge[k * (f - 1)..].iter();
        let mut m = 1;
        while m < f {
            for (pair, &[w, shoup]) in block.chunks_exact_mut(2 * m).zip(constants.by_ref()) {
                let (left, right) = pair.split_at_mut(m);
                for (l, r) in left.iter_mut().zip(right) {
                    let (sum, difference) = (q.add(*l, *r), q.sub(*l, *r));
                    (*l, *r) = (sum, q.mul_shoup(difference, w, shoup));
                }
            }
            m *= 2;
        }
        let [w, shoup] = self.factor_inverse;
        block.iter_mut().for_each(|x| *x = q.mul_shoup(*x, w, shoup));
    }

    /// Coefficients modulo `X^f - y_k` to values at the roots above `y_k`.
    fn split_block(&self, q: &Modulus, k: usize, block: &mut [u64]) {
        let f = block.len();
        let constants = &self.split[k * (f - 1)..][..f - 1];
        let mut m = f / 2;
        while m >= 1 {
            // The stage of m starts behind f/2 + f/4 + ... constants of the stages below.
            let stage = &constants[f - f / m..][..f / (2 * m)];
            for (pair, &[w, shoup]) in block.chunks_exact_mut(2 * m).zip(stage) {
                let (left, right) = pair.split_at_mut(m);
                for (l, r) in left.iter_mut().zip(right) {
                    let twisted = q.mul_shoup(*r, w, shoup);
                    (*l, *r) = (q.add(*l, twisted), q.sub(*l, twisted));
                }
            }
            m /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, message, params, rng, spec};
    use crate::{KeySwitchKey, ParamsSpec, measure, noise};
    use bellerophon_ring::sample::{Seed, uniform_from_seed};
    use bellerophon_ring::{Coeff, Ring};

    const LARGE: usize = 512;

    fn factors() -> impl Iterator<Item = usize> {
        (0..=6).map(|log| 1 << log)
    }

    /// `pi` by its definition on coefficients.
    fn split_coefficients(small: &Ring, a: &Poly<Coeff>, factor: usize) -> Vec<Poly<Coeff>> {
        (0..factor)
            .map(|j| {
                let mut part = small.zero();
                for i in 0..small.limbs() {
                    let from = a.limb(i).iter().skip(j).step_by(factor);
                    part.limb_mut(i).iter_mut().zip(from).for_each(|(x, &y)| *x = y);
                }
                part
            })
            .collect()
    }

    #[test]
    fn maps_equal_their_definitions_on_coefficients() {
        let large = params(LARGE, 1, 3, 1);
        for factor in factors() {
            let small = large.module_view(factor).unwrap();
            let map = ModuleMap::new(&large, &small, 2).unwrap();
            assert_eq!((map.factor(), map.limbs()), (factor, 2));
            for limbs in 1..=2 {
                let (big, little) = (large.q().prefix(limbs), small.q().prefix(limbs));
                let a = uniform_from_seed(&big, &Seed([factor as u8; 32]), 1);
                let coefficients = big.inverse(a.clone());
                let expected: Vec<_> = split_coefficients(&little, &coefficients, factor)
                    .into_iter()
                    .map(|part| little.forward(part))
                    .collect();
                let parts = map.split(&a).unwrap();
                assert_eq!(parts, expected, "pi at factor {factor}");
                assert_eq!(map.join(&parts).unwrap(), a, "pi^-1 at factor {factor}");
                assert_eq!(map.constant_part(&a).unwrap(), parts[0], "epsilon");
                // iota: every f-th coefficient, zeros between.
                let lifted = big.inverse(map.lift(&parts[0]).unwrap());
                let part = little.inverse(parts[0].clone());
                for i in 0..limbs {
                    for (at, &x) in lifted.limb(i).iter().enumerate() {
                        let own = if at % factor == 0 { part.limb(i)[at / factor] } else { 0 };
                        assert_eq!(x, own, "iota at factor {factor}");
                    }
                }
            }
        }
    }

    #[test]
    fn extraction_keeps_every_f_th_coefficient_and_the_noise() {
        for rank in [1, 2] {
            let large = params(LARGE, rank, 3, 1);
            let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
            let m = message(&large, 2, 5);
            let ct = secret.encrypt(&m, &mut rng(2)).unwrap();
            for factor in factors() {
                let small = large.module_view(factor).unwrap();
                let map = ModuleMap::new(&large, &small, 3).unwrap();
                let extracted_secret = map.extract_secret(&secret).unwrap();
                assert_eq!(extracted_secret.id(), secret.id());
                let extracted = map.extract(&ct).unwrap();
                assert_eq!(extracted.rank(), rank * factor);
                let expected = map.constant_part(&m).unwrap();
                let stats = measure::noise(&extracted_secret, &extracted, &expected).unwrap();
                assert!(stats.max < 6.0 * 3.2, "{}", stats.max);
                // And back: the embedded phase has the message at every f-th coefficient.
                let embedded_secret = map.embed_secret(&extracted_secret).unwrap();
                assert_eq!(embedded_secret.all_coefficients(), secret.all_coefficients());
                let embedded = map.embed(&extracted).unwrap();
                let phase = embedded.phase(&embedded_secret).unwrap();
                let again = map.constant_part(&phase).unwrap();
                assert_eq!(again, *extracted.phase(&extracted_secret).unwrap());
                assert_eq!(map.extract(&embedded).unwrap(), extracted);
            }
        }
    }

    #[test]
    fn subring_embedding_substitutes_a_power() {
        let large = params(512, 1, 2, 1);
        // Primes for the large degree serve the small one.
        let small = Params::new(ParamsSpec { degree: 64, ..large.spec().clone() }).unwrap();
        let map = ModuleMap::new(&large, &small, 2).unwrap();
        let secret = SecretKey::generate(&small, &mut rng(1)).unwrap();
        let m = message(&small, 2, 5);
        let ct = secret.encrypt(&m, &mut rng(2)).unwrap();
        let phase = ct.phase(&secret).unwrap();
        let embedded = map.embed_subring(&ct).unwrap();
        let subring = map.subring_secret(&secret).unwrap();
        assert_eq!(*embedded.phase(&subring).unwrap(), map.lift(&phase).unwrap());
    }

    #[test]
    fn extract_and_rank_reduction_switch_to_a_smaller_ring() {
        // RLWE of degree 512 at one limb to RLWE of degree 64 with special primes of its own.
        let large = params(512, 1, 3, 2);
        let view = large.module_view(8).unwrap();
        let small = Params::new(ParamsSpec {
            q: large.spec().q[..1].to_vec(),
            p: large.spec().p[1..].to_vec(),
            ..spec(64, 1, 1, 1)
        })
        .unwrap();
        let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
        let target = SecretKey::generate(&small, &mut rng(2)).unwrap();
        let map = ModuleMap::new(&large, &view, 1).unwrap();
        let extracted_secret = map.extract_secret(&secret).unwrap();
        let key = KeySwitchKey::between(&extracted_secret, &target, 1, &mut rng(3)).unwrap();
        let m = message(&large, 1, 5);
        let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
        let switched = key.switch(&small, &map.extract(&ct).unwrap()).unwrap();
        let expected = map.constant_part(&m).unwrap();
        let stats = measure::noise(&target, &switched, &expected).unwrap();
        let predicted = noise::fresh_secret(&large) + noise::key_switch(&small, 8, 1);
        assert_close(stats.variance, predicted, 2.0);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let large = params(512, 1, 3, 1);
        let small = large.module_view(4).unwrap();
        let map = ModuleMap::new(&large, &small, 2).unwrap();
        let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
        let ct = secret.encrypt(&message(&large, 3, 1), &mut rng(1)).unwrap();
        assert!(matches!(map.extract(&ct), Err(Error::Limbs { found: 3, .. })));
        assert!(matches!(map.embed(&ct), Err(Error::ParamsMismatch { .. })));
        assert!(matches!(map.join(&[]), Err(Error::Rank { found: 0, needed: 4, .. })));
        let other = params(128, 1, 3, 1);
        assert!(matches!(ModuleMap::new(&large, &other, 1), Err(Error::Moduli { .. })));
        assert!(matches!(ModuleMap::new(&small, &large, 1), Err(Error::Degree { .. })));
        assert!(matches!(ModuleMap::new(&large, &small, 4), Err(Error::Limbs { .. })));
        assert!(large.module_view(3).is_err() && large.module_view(512).is_err());
        // A module of the wrong rank has the maps on polynomials but neither way for ciphertexts.
        let wrong = Params::new(ParamsSpec { rank: 3, ..small.spec().clone() }).unwrap();
        let map = ModuleMap::new(&large, &wrong, 3).unwrap();
        assert!(matches!(map.extract(&ct), Err(Error::Rank { found: 3, needed: 4, .. })));
        let three = SecretKey::generate(&wrong, &mut rng(1)).unwrap();
        let three = three.encrypt(&message(&wrong, 1, 1), &mut rng(1)).unwrap();
        assert!(matches!(map.embed_subring(&three), Err(Error::Rank { .. })));
    }
}
