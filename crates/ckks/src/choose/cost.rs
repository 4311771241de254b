//! Predicted sizes and times.
//!
//! A key switch at `L` limbs with `k` special primes in `d` digits transforms the masks back (`L`),
//! every digit to the primes that it lacks (`d (L + k) - L`), and both sums to `Q` (`2 k` back, `2 L`
//! forth); a rescaling by `w` primes takes `2 w` back and `2 (L - w)` forth. Beside the transforms
//! stand multiplications of whole polynomials: `2 d (L + k)` with the key, about `L (L + k)` and
//! `2 k L` in the changes of basis, `4 L` in a tensor product.
//!
//! A transform costs `N log2 N` steps and a multiplication `N`, each at a constant price: that of
//! one thread of a server CPU with AVX-512 IFMA (Sapphire Rapids generation), the first from
//! `cargo run --release --example figures -- --only ring`, the second what is left of the product and
//! the rotation of `figures -- --only ckks`. Estimates, good to a factor of 1.5 there and to the
//! ratio of the CPUs elsewhere.

use super::FAST_BITS;
use crate::bootstrap::Bootstrapper;
use crate::linear::{Hoisting, LinearTransform};
use crate::{Chain, KeySizes, Params};

/// Seconds of one of the `N log2 N` steps of a transform modulo a prime below `2^50`: 60 us at
/// `N = 2^15`.
const STEP: f64 = 0.122e-9;

/// Seconds of one multiplication with its share of loads and stores: products of 27 ms and
/// rotations of 21 ms for 147 and 119 transforms of W1.
const MULTIPLICATION: f64 = 0.9e-9;

/// What a step modulo a larger prime costs in units of one below `2^50`.
const WIDE: f64 = 1.7;

/// Work of an operation, counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Ring degree.
    pub degree: usize,
    /// Transforms of one limb, either way.
    pub transforms: f64,
    /// Multiplications of one limb by another.
    pub multiplications: f64,
    /// What a transform costs on average over the primes, in units of one below `2^50`.
    pub width: f64,
}

impl Work {
    /// Of a product, relinearised and rescaled, at the top level of a chain, by nominal sizes.
    pub(super) fn of_product(chain: &Chain) -> Self {
        let (mut limbs, mut bits) = (vec![f64::from(chain.first_bits)], 0.0);
        let mut last = 1;
        for levels in &chain.levels {
            last = levels.primes;
            let each = f64::from(levels.bits) / levels.primes as f64;
            limbs.extend(std::iter::repeat_n(each, levels.primes * levels.count));
        }
        let special = f64::from(chain.special.0) * chain.special.1 as f64;
        // Greedy runs of primes whose product stays below that of the special primes.
        let mut digits = 1.0;
        for limb in &limbs {
            if bits + limb > special {
                (digits, bits) = (digits + 1.0, 0.0);
            }
            bits += limb;
        }
        let k = chain.special.1;
        let wide = limbs.iter().filter(|&&b| b > f64::from(FAST_BITS)).count()
            + if chain.special.0 > FAST_BITS { k } else { 0 };
        let switch = Self::of_switch(chain.degree, limbs.len(), k, digits, wide);
        switch.with_product(limbs.len(), last)
    }

    /// Of one key switch: a rotation.
    fn of_switch(degree: usize, limbs: usize, special: usize, digits: f64, wide: usize) -> Self {
        let (l, k) = (limbs as f64, special as f64);
        Self {
            degree,
            transforms: digits * (l + k) + 2.0 * k + 2.0 * l,
            multiplications: 2.0 * digits * (l + k) + l * (l + k) + 2.0 * k * l,
            width: 1.0 + (WIDE - 1.0) * wide as f64 / (l + k),
        }
    }

    /// With a tensor product before it and a rescaling by `primes` primes after it.
    fn with_product(self, limbs: usize, primes: usize) -> Self {
        let limbs = limbs as f64;
        Self {
            transforms: self.transforms + 2.0 * limbs.max(primes as f64),
            multiplications: self.multiplications + 4.0 * limbs + 2.0 * limbs * primes as f64,
            ..self
        }
    }

    /// Of a refresh: its transforms, the encapsulation and the reduction of one part or of two.
    pub(super) fn of_refresh(bootstrapper: &Bootstrapper, parts: usize) -> Self {
        let params = bootstrapper.params();
        let at = |limbs| Switch::at(params, limbs);
        let top = at(params.limbs());
        let mut sum =
            Self { degree: params.degree(), transforms: 0.0, multiplications: 0.0, width: 1.0 };
        for transform in bootstrapper.transforms() {
            sum.add(Switch::at(params, params.limbs_at(transform.level())).of_transform(transform));
        }
        // The masks of one limb raised, and divided by the special primes.
        let (l, k) = (top.limbs, top.special);
        sum.add((2.0 * (l + k) + 2.0 * (l + k), 4.0 * (l + k) + 2.0 * k * l));
        for _ in 0..bootstrapper.trace() {
            sum.add(top.whole());
        }
        let (from, reduction) = (bootstrapper.reduction_level(), bootstrapper.reduction());
        sum.add(at(params.limbs_at(from)).whole());
        // Products are spread about evenly over the levels.
        let (count, depth) = (reduction.relinearisations(), reduction.depth());
        for i in 0..parts * count {
            let level = from - (i / parts * depth) / count;
            let (limbs, below) = (params.limbs_at(level), params.limbs_at(level.max(1) - 1));
            let here = at(limbs);
            let work =
                Self::of_switch(params.degree(), limbs, here.special as usize, here.digits, 0)
                    .with_product(limbs, limbs - below);
            sum.add((work.transforms, work.multiplications));
        }
        sum
    }

    fn add(&mut self, (transforms, multiplications): (f64, f64)) {
        self.transforms += transforms;
        self.multiplications += multiplications;
    }

    /// Estimated time on one thread.
    pub fn seconds(&self) -> f64 {
        let n = self.degree as f64;
        let steps = self.transforms * n * n.log2() * self.width;
        steps * STEP + self.multiplications * n * MULTIPLICATION
    }
}

/// The parts of a key switch at `limbs` limbs, each as its transforms and multiplications.
struct Switch {
    limbs: f64,
    special: f64,
    digits: f64,
}

impl Switch {
    fn at(params: &Params, limbs: usize) -> Self {
        let lattice = params.lattice();
        let digits = lattice.gadget().digits(limbs) as f64;
        Self { limbs: limbs as f64, special: lattice.p().limbs() as f64, digits }
    }

    fn decomposition(&self) -> (f64, f64) {
        let all = self.limbs + self.special;
        (self.digits * all, self.limbs * all)
    }

    fn key(&self) -> (f64, f64) {
        (0.0, 2.0 * self.digits * (self.limbs + self.special))
    }

    /// The division of one polynomial by the special primes.
    fn division(&self) -> (f64, f64) {
        (self.special + self.limbs, self.special * self.limbs)
    }

    fn whole(&self) -> (f64, f64) {
        total([self.decomposition(), self.key(), self.division(), self.division()])
    }

    fn of_transform(&self, m: &LinearTransform) -> (f64, f64) {
        let (babies, giants, diagonals) = m.counts();
        let double = m.hoisting() == Hoisting::Double;
        let baby = match double {
            true => self.key(),
            false => total([self.key(), self.division(), self.division()]),
        };
        let giant = match double {
            true => total([self.decomposition(), self.key(), self.division()]),
            false => self.whole(),
        };
        let limbs = if double { self.limbs + self.special } else { self.limbs };
        let ends = if double { 2.0 } else { 0.0 };
        total([
            self.decomposition(),
            times(babies as f64, baby),
            times(giants as f64, giant),
            (0.0, 2.0 * limbs * diagonals as f64),
            times(ends, self.division()),
            (2.0 * self.limbs, 2.0 * self.limbs),
        ])
    }
}

fn times(n: f64, (x, y): (f64, f64)) -> (f64, f64) {
    (n * x, n * y)
}

fn total<const N: usize>(parts: [(f64, f64); N]) -> (f64, f64) {
    parts.into_iter().fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b))
}

/// What refreshing adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedRefresh {
    /// Bytes of all keys that a refresh takes.
    pub keys: KeySizes,
    /// Work of a refresh of a real vector.
    pub real: Work,
    /// Work of a refresh of a complex vector.
    pub complex: Work,
}

/// Sizes and times at the top level of a set: the largest and slowest there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// Bytes of a ciphertext in memory: two polynomials of 8-byte words.
    pub ciphertext_bytes: usize,
    /// Bytes of one switching key in memory: the relinearisation key, or that of one rotation.
    pub key_bytes: usize,
    /// Bytes of the same key as it travels: seeded, residues packed to their bits.
    pub key_bytes_seeded: usize,
    /// Digits of a key switch.
    pub digits: usize,
    /// Work of a product, relinearised and rescaled.
    pub product: Work,
    /// Work of a rotation.
    pub rotation: Work,
    /// What refreshing adds, for sets that have it.
    pub refresh: Option<PredictedRefresh>,
}

impl Predicted {
    /// For a checked set of rank one.
    pub(super) fn of(params: &Params, bootstrapper: Option<&Bootstrapper>) -> Self {
        let (lattice, limbs) = (params.lattice(), params.limbs());
        let (degree, special) = (params.degree(), lattice.p().limbs());
        let digits = lattice.gadget().digits(limbs);
        let moduli = || lattice.q().moduli().chain(lattice.p().moduli());
        let wide = moduli().filter(|q| q.bits() > FAST_BITS).count();
        let rotation = Work::of_switch(degree, limbs, special, digits as f64, wide);
        let top = params.max_level();
        let primes = if top == 0 { 1 } else { limbs - params.limbs_at(top - 1) };
        let key = KeySizes::of_rows(digits, 1, lattice.gadget().ring(limbs));
        Self {
            ciphertext_bytes: 2 * limbs * degree * 8,
            key_bytes: key.memory,
            key_bytes_seeded: key.transit,
            digits,
            product: rotation.with_product(limbs, primes),
            rotation,
            refresh: bootstrapper.map(|bootstrapper| PredictedRefresh {
                keys: bootstrapper.key_sizes(),
                real: Work::of_refresh(bootstrapper, 1),
                complex: Work::of_refresh(bootstrapper, 2),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamsSpec;

    #[test]
    fn the_transforms_of_w1_are_counted() {
        let predicted = Predicted::of(&Params::new(ParamsSpec::w1().unwrap()).unwrap(), None);
        assert_eq!((predicted.product.transforms, predicted.rotation.transforms), (147.0, 119.0));
        assert_eq!((predicted.digits, predicted.product.width), (5, 1.0));
        assert!(predicted.rotation.multiplications < predicted.product.multiplications);
        // By nominal sizes alone the same comes out.
        let chain = Chain {
            degree: 1 << 15,
            first_bits: 50,
            levels: vec![crate::Levels::single(45, 13)],
            special: (49, 3),
        };
        assert_eq!(Work::of_product(&chain), predicted.product);
    }
}
