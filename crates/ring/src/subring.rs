//! `R_N` as a module of rank `f = N / n` over `R_n` with `Y = X^f`, in NTT form (DPad-HE section
//! 4.1).
//!
//! | map | definition on coefficients |
//! | --- | --- |
//! | `pi` ([`SubringMap::split`]) | `a -> (a_0, ..., a_{f-1})` with `a(X) = sum_j X^j a_j(X^f)` |
//! | `pi^-1` ([`SubringMap::join`]) | its inverse |
//! | `epsilon` ([`SubringMap::constant_part`]) | `a -> a_0`, every `f`-th coefficient |
//! | `iota` ([`SubringMap::lift`]) | `b(Y) -> b(X^f)` |
//!
//! Method: at a root `y` of `Y^n + 1`, the values `a_j(y)` are the coefficients of `a` modulo
//! `X^f - y`. The transform of `a` holds the values of `a` at the `f` roots of `X^f - y`.
//!
//! - `pi` merges residues modulo `X^m - c` and `X^m + c` into residues modulo `X^2m - c^2` until
//!   `m = f`. `pi^-1` splits them again. These are the last `log2(f)` stages of a transform
//!   (theorems 4.1 and 4.2 of the paper, with the twist by `psi^(2k-n+1)` distributed over the
//!   stages).
//! - `epsilon` is one sum over those roots, `f^-1 sum a(x)`.
//! - `iota` copies values.

use std::sync::Arc;

use crate::backend::{self, SubringTask};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::ensure;
use crate::error::{self, Result};
use crate::modulus::Modulus;
use crate::ntt::NttTable;
use crate::par::{self, CHEAP};
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// The maps between two degrees, for the primes at the start of both rings.
#[derive(Debug, Clone)]
pub struct SubringMap {
    large: Ring,
    small: Ring,
    factor: usize,
    /// At `k * f + w`: the position in the large transform of root `w` above position `k` of the
    /// small transform, with roots in the order of the merging tree. Empty if all limbs have
    /// kernels.
    positions: Arc<[u32]>,
    limbs: Vec<LimbMap>,
}

/// Constants of one prime.
#[derive(Debug, Clone)]
struct LimbMap {
    /// `f^-1` with its Shoup companion.
    factor_inverse: [u64; 2],
    /// `None` if the back end has kernels.
    tree: Option<Tree>,
}

/// `f - 1` constants of each kind per position `k` of the small transform: stage by stage from
/// `m = 1`, each with its Shoup companion.
#[derive(Debug, Clone)]
struct Tree {
    split: Vec<[u64; 2]>,
    merge: Vec<[u64; 2]>,
}

impl SubringMap {
    /// Prepares the maps for all primes of the small ring.
    pub fn new(large: &Ring, small: &Ring) -> Result<Self> {
        let limbs = small.limbs();
        ensure(large.degree().is_multiple_of(small.degree()), || error::degree(small.degree()))?;
        // The small ring's primes must be the first primes of the large ring.
        let own = |i: usize| (i < large.limbs()).then(|| large.modulus(i).value());
        if let Some(limb) = (0..limbs).find(|&i| own(i) != Some(small.modulus(i).value())) {
            return Err(error::basis(format!(
                "prime {limb} of the small ring is not that of the large one"
            )));
        }
        // Limbs without a kernel use the general code, which needs positions and trees.
        let factor = large.degree() / small.degree();
        let general = |i: usize| !backend::subring_kernels(large.table(i), factor);
        let positions = match (0..limbs).any(general) {
            true => root_positions(large.table(0), small.table(0), factor).into(),
            false => Arc::default(),
        };
        let maps = (0..limbs).map(|i| {
            let table = large.table(i);
            let tree = general(i).then(|| Tree::new(table, &positions, factor));
            // f is a power of two and q is odd: 1 / 2 is (q + 1) / 2.
            let q = table.modulus();
            let inverse = q.pow(q.value().div_ceil(2), u64::from(factor.trailing_zeros()));
            LimbMap { factor_inverse: [inverse, q.shoup(inverse)], tree }
        });
        let limbs = maps.collect();
        let (large, small) = (large.clone(), small.clone());
        Ok(Self { large, small, factor, positions, limbs })
    }

    /// `f = N / n`.
    pub fn factor(&self) -> usize {
        self.factor
    }

    /// The largest number of limbs of an input.
    pub fn limbs(&self) -> usize {
        self.limbs.len()
    }

    /// `pi`: the `f` components of a polynomial.
    ///
    /// # Panics
    /// For another degree, or for more limbs than [`limbs`](Self::limbs).
    pub fn split(&self, a: &Poly<Ntt>) -> Vec<Poly<Ntt>> {
        self.check(a, &self.large);
        let small = self.small.at_limbs(a.limbs());
        let mut components: Vec<Poly<Ntt>> = (0..self.factor).map(|_| small.uninit()).collect();
        self.each_limb(par::by_limb(&mut components), |i, mut components| {
            let (table, map) = (self.large.table(i), &self.limbs[i]);
            let Some(tree) = &map.tree else {
                let task = SubringTask::Split(a.limb(i), &mut components, map.factor_inverse[0]);
                return backend::map_subring(table, self.factor, task);
            };
            let (q, from) = (table.modulus(), a.limb(i));
            // General code: gather the f values above each root, merge them, divide by f.
            let mut block = vec![0; self.factor];
            for (k, positions) in self.blocks().enumerate() {
                for (x, &position) in block.iter_mut().zip(positions) {
                    *x = from[position as usize];
                }
                tree.merge_block(q, k, &mut block);
                for (component, &x) in components.iter_mut().zip(&block) {
                    component[k] = q.mul_shoup(x, map.factor_inverse[0], map.factor_inverse[1]);
                }
            }
        });
        components
    }

    /// `pi^-1`: the polynomial with the given `f` components.
    ///
    /// # Panics
    /// Unless there are `f` components with the same number of limbs, at most
    /// [`limbs`](Self::limbs).
    pub fn join(&self, components: &[&Poly<Ntt>]) -> Poly<Ntt> {
        assert_eq!(components.len(), self.factor, "need as many components as the rank");
        let limbs = components[0].limbs();
        for component in components {
            self.check(component, &self.small);
            assert_eq!(component.limbs(), limbs, "all components must have the same level");
        }
        let mut a = [self.large.at_limbs(limbs).uninit()];
        self.each_limb(par::by_limb(&mut a), |i, mut out| {
            let (table, map, out) = (self.large.table(i), &self.limbs[i], &mut *out[0]);
            let from: Vec<&[u64]> = components.iter().map(|component| component.limb(i)).collect();
            let Some(tree) = &map.tree else {
                return backend::map_subring(table, self.factor, SubringTask::Join(&from, out));
            };
            // General code: split the f coefficients at each root into values, then scatter them.
            let mut block = vec![0; self.factor];
            for (k, positions) in self.blocks().enumerate() {
                for (x, from) in block.iter_mut().zip(&from) {
                    *x = from[k];
                }
                tree.split_block(table.modulus(), k, &mut block);
                for (&x, &position) in block.iter().zip(positions) {
                    out[position as usize] = x;
                }
            }
        });
        let [a] = a;
        a
    }

    /// `epsilon`: component 0 alone, one sum per value.
    pub fn constant_part(&self, a: &Poly<Ntt>) -> Poly<Ntt> {
        self.check(a, &self.large);
        let mut component = [self.small.at_limbs(a.limbs()).uninit()];
        self.each_limb(par::by_limb(&mut component), |i, mut out| {
            let (table, map, out) = (self.large.table(i), &self.limbs[i], &mut *out[0]);
            let [inverse, shoup] = map.factor_inverse;
            let from = a.limb(i);
            if map.tree.is_none() {
                let task = SubringTask::Constant(from, out, inverse);
                return backend::map_subring(table, self.factor, task);
            }
            // f^-1 times the sum over the roots of X^f - y_k.
            let q = table.modulus();
            for (x, positions) in out.iter_mut().zip(self.blocks()) {
                let sum = positions.iter().fold(0, |sum, &at| q.add(sum, from[at as usize]));
                *x = q.mul_shoup(sum, inverse, shoup);
            }
        });
        let [component] = component;
        component
    }

    /// `iota`: `b(X^f)`, a copy of the values.
    pub fn lift(&self, component: &Poly<Ntt>) -> Poly<Ntt> {
        self.check(component, &self.small);
        let mut a = [self.large.at_limbs(component.limbs()).uninit()];
        self.each_limb(par::by_limb(&mut a), |i, mut out| {
            let (table, from, out) = (self.large.table(i), component.limb(i), &mut *out[0]);
            if self.limbs[i].tree.is_none() {
                return backend::map_subring(table, self.factor, SubringTask::Lift(from, out));
            }
            // Each value appears at all f roots above it.
            for (&x, positions) in from.iter().zip(self.blocks()) {
                positions.iter().for_each(|&at| out[at as usize] = x);
            }
        });
        let [a] = a;
        a
    }

    /// For each position `k` of the small transform, the positions of the roots above it.
    fn blocks(&self) -> std::slice::ChunksExact<'_, u32> {
        self.positions.chunks_exact(self.factor)
    }

    fn each_limb<T: Send>(&self, limbs: Vec<T>, work: impl Fn(usize, T) + Sync + Send) {
        par::each_with(limbs, self.large.degree(), CHEAP, || (), |(), i, limb| work(i, limb));
    }

    fn check(&self, a: &Poly<Ntt>, ring: &Ring) {
        assert_eq!(a.degree(), ring.degree(), "the polynomial must have the degree of the ring");
        assert!(a.limbs() <= self.limbs(), "the polynomial has more limbs than the maps accept");
    }
}

/// `positions[k * f + w]`: the position in the large transform of the value at root `w` of
/// `X^f - y_k`.
///
/// Root `w` is `psi_N^(e_k + 2 n bitreverse(w))`. Neighbours thus differ by their sign, and
/// neighbouring pairs by the sign of their squares one stage up.
fn root_positions(large: &NttTable, small: &NttTable, factor: usize) -> Vec<u32> {
    // Positions by exponent in the large transform.
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

impl Tree {
    /// The constants of every stage and block.
    fn new(large: &NttTable, positions: &[u32], factor: usize) -> Self {
        let q = large.modulus();
        let order = 2 * large.degree();
        // All powers of psi once: each constant is one of them.
        let mut powers = vec![1; order];
        for i in 1..order {
            powers[i] = q.mul(powers[i - 1], large.root());
        }
        let pair = |w: u64| [w, q.shoup(w)];
        let (mut split, mut merge) = (Vec::new(), Vec::new());
        for block in positions.chunks_exact(factor) {
            let mut m = 1;
            while m < factor {
                // The left residue of a pair is modulo X^m - c, with c = x^m for its first root x.
                for first in (0..factor).step_by(2 * m) {
                    let e = large.exponents()[block[first] as usize] as usize * m % order;
                    split.push(pair(powers[e]));
                    merge.push(pair(powers[(order - e) % order]));
                }
                m *= 2;
            }
        }
        Self { split, merge }
    }

    /// Maps values at the roots above `y_k` to `f` times the coefficients modulo `X^f - y_k`.
    fn merge_block(&self, q: &Modulus, k: usize, block: &mut [u64]) {
        let f = block.len();
        let mut constants = self.merge[k * (f - 1)..].iter();
        let mut m = 1;
        // Inverse butterflies: the sum, and the difference times x^-m.
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
    }

    /// Maps coefficients modulo `X^f - y_k` to values at the roots above `y_k`.
    fn split_block(&self, q: &Modulus, k: usize, block: &mut [u64]) {
        let f = block.len();
        let constants = &self.split[k * (f - 1)..][..f - 1];
        let mut m = f / 2;
        while m >= 1 {
            // The constants of stage m follow the f/2 + f/4 + ... constants of the stages below.
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
    use crate::backend::Backend;
    use crate::error::{ErrorKind, refusal};
    use crate::poly::Coeff;
    use crate::{prime, sample};

    /// Rings of two degrees over 45-, 50- and 60-bit primes on one back end.
    fn rings(degree: usize, factor: usize, backend: Backend) -> Option<(Ring, Ring)> {
        let mut q = vec![];
        for bits in [45, 50, 60] {
            q.extend(prime::ntt_primes_below(degree, bits, 1, &q).unwrap());
        }
        // Back ends with a limit leave larger primes to others.
        let narrow = !matches!(backend, Backend::Scalar | Backend::Avx2 | Backend::Avx512);
        let usable = |q: &Modulus| match backend.check(q) {
            Ok(()) => Some(backend),
            Err(_) => (narrow && q.bits() > 50).then(|| Backend::fastest(q)),
        };
        let ring = |degree: usize| {
            let table = |&q: &Modulus| {
                let table = NttTable::with_backend(degree, q, usable(&q)?).ok()?;
                Some(Arc::new(table))
            };
            let tables = q.iter().map(table).collect::<Option<Vec<_>>>()?;
            Some(Ring::from_tables(degree, tables).unwrap())
        };
        Some((ring(degree)?, ring(degree / factor)?))
    }

    /// `pi` by its definition on coefficients.
    fn split_coefficients(small: &Ring, a: &Poly<Coeff>, factor: usize) -> Vec<Poly<Coeff>> {
        (0..factor)
            .map(|j| {
                let mut component = small.zero();
                for i in 0..small.limbs() {
                    let from = a.limb(i).iter().skip(j).step_by(factor);
                    component.limb_mut(i).iter_mut().zip(from).for_each(|(x, &y)| *x = y);
                }
                component
            })
            .collect()
    }

    #[test]
    fn maps_equal_their_definitions_on_every_back_end() {
        for backend in Backend::ALL {
            for (degree, factor) in [512, 1024, 2048]
                .into_iter()
                .flat_map(|degree| (0..=6).map(move |log| (degree, 1 << log)))
            {
                let Some((large, small)) = rings(degree, factor, backend) else { continue };
                let map = SubringMap::new(&large, &small.at_limbs(3)).unwrap();
                assert_eq!((map.factor(), map.limbs()), (factor, 3));
                for limbs in [1, 3] {
                    let (big, little) = (large.at_limbs(limbs), small.at_limbs(limbs));
                    let a = sample::uniform_from_seed(&big, &sample::Seed([factor as u8; 32]), 1);
                    let coefficients = big.inverse(a.clone());
                    let expected: Vec<_> = split_coefficients(&little, &coefficients, factor)
                        .into_iter()
                        .map(|component| little.forward(component))
                        .collect();
                    let components = map.split(&a);
                    assert!(components == expected, "pi: {backend:?}, {degree}, {factor}");
                    let refs: Vec<&Poly<Ntt>> = components.iter().collect();
                    assert!(map.join(&refs) == a, "pi^-1: {backend:?}, {degree}, {factor}");
                    let constant = map.constant_part(&a);
                    assert!(constant == components[0], "epsilon: {backend:?}, {degree}, {factor}");
                    // iota: every f-th coefficient, zeros between.
                    let lifted = big.inverse(map.lift(&constant));
                    let component = little.inverse(constant);
                    for i in 0..limbs {
                        for (at, &x) in lifted.limb(i).iter().enumerate() {
                            let own =
                                at.is_multiple_of(factor).then(|| component.limb(i)[at / factor]);
                            assert_eq!(x, own.unwrap_or(0), "iota: {backend:?}, {factor}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn residues_at_the_ends_of_their_range() {
        for backend in Backend::ALL {
            for factor in [2, 4, 8] {
                let Some((large, small)) = rings(1024, factor, backend) else { continue };
                let map = SubringMap::new(&large, &small).unwrap();
                let mut a = large.zero::<Ntt>();
                for i in 0..3 {
                    let q = large.modulus(i).value();
                    a.limb_mut(i).iter_mut().enumerate().for_each(|(k, x)| {
                        *x = if k * k % 7 < 4 { q - 1 } else { 0 };
                    });
                }
                let components = map.split(&a);
                for component in &components {
                    for i in 0..3 {
                        assert!(component.limb(i).iter().all(|&x| x < small.modulus(i).value()));
                    }
                }
                assert!(map.join(&components.iter().collect::<Vec<_>>()) == a, "{backend:?}");
            }
        }
    }

    #[test]
    fn rings_that_do_not_fit_are_refused() {
        let (large, small) = rings(512, 4, Backend::Scalar).unwrap();
        assert!(
            refusal(&SubringMap::new(&small, &large))
                .is(&ErrorKind::Parameters, "ring degree 512 is not supported: need a")
        );
        let refused = SubringMap::new(&large, &small.slice(1..3));
        assert!(matches!(refusal(&refused).kind(), ErrorKind::Shape));
        let refused = SubringMap::new(&large.at_limbs(2), &small);
        assert!(matches!(refusal(&refused).kind(), ErrorKind::Shape));
    }
}
