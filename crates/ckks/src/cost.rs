//! Work of operations, as counts of transforms and multiplications, and its predicted time.
//!
//! A [`Simulator`](crate::simulator::Simulator) counts the work of a program
//! ([`Report::work`](crate::simulator::Report::work)); [`Work::seconds_at`] converts it to time.
//!
//! # Counts
//! Let a vector of rank 1 have `L` limbs, and let there be `k` special primes and `d` digits. NTTs
//! of one limb:
//!
//! | operation | NTTs |
//! | --- | --- |
//! | key switch: masks to coefficients | `L` |
//! | key switch: every digit to the primes that it lacks | `d (L + k) - L` |
//! | key switch: mod-down of both sums | `2 k` inverse, `2 L` forward |
//! | rescaling by `w` primes | `2 w` inverse, `2 (L - w)` forward |
//!
//! Multiplications of one limb by another:
//!
//! | operation | multiplications |
//! | --- | --- |
//! | key switch: products with the key | `2 d (L + k)` |
//! | key switch: basis extensions | about `L (L + k)` and `2 k L` |
//! | tensor product | `4 L` |
//!
//! Two more counts do not enter the time: the residue polynomials that basis conversions write, and
//! the bytes of the keys that are read, once for every key switch.

mod switch;
mod work;

mod trace;

pub use switch::{MatrixSteps, Steps, Switch};
pub use trace::Trace;
pub use work::{Prices, Work};

use crate::modulus_chain::ModulusChain;
use crate::params::Params;

/// Largest size in bits of primes on the fastest kernels.
pub const FAST_BITS: u32 = 50;

/// Cost of a step modulo a larger prime, relative to a prime below `2^50`.
const WIDE: f64 = 1.7;

impl Work {
    /// Work of a product with relinearization and rescaling at the top level of a chain, by nominal
    /// prime sizes.
    pub fn of_product(chain: &ModulusChain) -> Self {
        // Step 1: the size of every limb.
        let (mut limbs, mut bits) = (vec![f64::from(chain.first_bits)], 0.0);
        let mut last = 1;
        for levels in &chain.levels {
            last = levels.primes;
            let each = f64::from(levels.bits) / levels.primes as f64;
            limbs.extend(std::iter::repeat_n(each, levels.primes * levels.count));
        }
        let special = f64::from(chain.special.0) * chain.special.1 as f64;
        // Step 2: the digits: greedy runs of primes whose product stays below that of the special
        // primes.
        let mut digits = 1.0;
        for limb in &limbs {
            if bits + limb > special {
                (digits, bits) = (digits + 1.0, 0.0);
            }
            bits += limb;
        }
        // Step 3: a key switch, a tensor product before it and a rescaling after it.
        let k = chain.special.1;
        let wide = limbs.iter().filter(|&&b| b > f64::from(FAST_BITS)).count()
            + if chain.special.0 > FAST_BITS { k } else { 0 };
        let switch = Self::of_switch(chain.degree, limbs.len(), k, digits, wide);
        switch.with_product(limbs.len(), last)
    }

    /// Work of one key switch, such as a rotation.
    pub fn of_switch(
        degree: usize,
        limbs: usize,
        special: usize,
        digits: f64,
        wide: usize,
    ) -> Self {
        // The table of the module page, with wide primes weighted by their number.
        let (l, k) = (limbs as f64, special as f64);
        Self {
            degree,
            transforms: digits * (l + k) + 2.0 * k + 2.0 * l,
            multiplications: 2.0 * digits * (l + k) + l * (l + k) + 2.0 * k * l,
            width: 1.0 + (WIDE - 1.0) * wide as f64 / (l + k),
        }
    }

    /// Adds a tensor product before the key switch and a rescaling by `primes` primes after it.
    pub fn with_product(self, limbs: usize, primes: usize) -> Self {
        let limbs = limbs as f64;
        Self {
            transforms: self.transforms + 2.0 * limbs.max(primes as f64),
            multiplications: self.multiplications + 4.0 * limbs + 2.0 * limbs * primes as f64,
            ..self
        }
    }

    /// Work of a linear transform at a level with double hoisting: every `babies`-th diagonal is at
    /// a giant step, and all diagonals have a period of `period` slots and are encoded on the fly.
    pub fn of_matrix(
        params: &Params,
        level: usize,
        diagonals: usize,
        babies: usize,
        period: usize,
    ) -> Self {
        let mut count = Count::new(params);
        // Baby step 0 and giant step 0 take no rotation.
        let (babies, giants) = (babies.min(diagonals), diagonals.div_ceil(babies));
        let steps = MatrixSteps {
            babies: babies.saturating_sub(1),
            giants: giants.saturating_sub(1),
            diagonals,
            double: true,
        };
        let at = count.at(level);
        count.add(at.of_matrix(steps));
        count.encodings(at.limbs + at.special, diagonals as f64, period);
        count.rescaling(level);
        count.work()
    }

    /// Work of `times` key switches at a level.
    pub fn of_switches(params: &Params, level: usize, times: usize) -> Self {
        let mut count = Count::new(params);
        (0..times).for_each(|_| count.switch(level));
        count.work()
    }
}

/// Counts the work of operations on vectors of one parameter set.
#[derive(Debug)]
pub struct Count<'p> {
    params: &'p Params,
    steps: Steps,
}

impl<'p> Count<'p> {
    /// Nothing counted yet.
    pub fn new(params: &'p Params) -> Self {
        Self { params, steps: Steps::default() }
    }

    /// The counted steps.
    pub fn steps(&self) -> Steps {
        self.steps
    }

    /// The counted work.
    pub fn work(self) -> Work {
        let lattice = self.params.lattice();
        let moduli = || lattice.q().moduli().chain(lattice.p().moduli());
        let wide = moduli().filter(|q| q.bits() > FAST_BITS).count();
        Work {
            degree: self.params.lattice().spec().degree,
            transforms: self.steps.transforms,
            multiplications: self.steps.multiplications,
            width: 1.0 + (WIDE - 1.0) * wide as f64 / moduli().count() as f64,
        }
    }

    /// Adds steps.
    pub fn add(&mut self, steps: Steps) {
        self.steps += steps;
    }

    /// The parts of a key switch at a level.
    pub fn at(&self, level: usize) -> Switch {
        Switch::at(self.params, self.params.limbs_at(level))
    }

    /// A key switch at a level.
    pub fn switch(&mut self, level: usize) {
        self.add(self.at(level).whole());
    }

    /// A rescaling of both polynomials at a level.
    pub fn rescaling(&mut self, level: usize) {
        let limbs = self.params.limbs_at(level);
        let primes = limbs - self.params.limbs_at(level.saturating_sub(1));
        let (limbs, primes) = (limbs as f64, primes as f64);
        self.add(Steps {
            conversions: 2.0 * (limbs - primes),
            ..Steps::new(2.0 * limbs.max(primes), 2.0 * limbs * primes)
        });
    }

    /// A sum of products at a level with one relinearization and no rescaling.
    pub fn relinearized(&mut self, level: usize, products: f64) {
        self.switch(level);
        self.add(Steps::new(0.0, 4.0 * products * self.params.limbs_at(level) as f64));
    }

    /// As [`relinearized`](Self::relinearized), then rescaled: mod-down and rescale are fused.
    pub fn product(&mut self, level: usize, products: f64) {
        self.relinearized(level, products);
        self.rescaling(level);
    }

    /// Products of vectors with constants or plaintexts at a level.
    pub fn terms(&mut self, level: usize, count: f64) {
        self.add(Steps::new(0.0, 2.0 * count * self.params.limbs_at(level) as f64));
    }

    /// Encodings of plain vectors with a period: an NTT of the length of the period, and its
    /// replication.
    pub fn encodings(&mut self, limbs: f64, count: f64, period: usize) {
        let share = period as f64 / self.params.max_slots() as f64;
        self.add(Steps::new(count * limbs * share, count * limbs));
    }
}
