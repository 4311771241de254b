//! Counted steps, and those of a key switch by its parts.

use std::ops::AddAssign;

use crate::keys::KeySizes;
use crate::params::Params;

/// Counted steps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Steps {
    /// Transforms of one limb.
    pub transforms: f64,
    /// Multiplications of one limb by another.
    pub multiplications: f64,
    /// Residue polynomials that basis conversions write.
    pub conversions: f64,
    /// Bytes of keys that are read.
    pub key_bytes: f64,
}

impl Steps {
    /// Transforms and multiplications alone.
    pub fn new(transforms: f64, multiplications: f64) -> Self {
        Self { transforms, multiplications, ..Self::default() }
    }

    /// The steps of `n` repetitions.
    pub fn times(self, n: f64) -> Self {
        Self {
            transforms: n * self.transforms,
            multiplications: n * self.multiplications,
            conversions: n * self.conversions,
            key_bytes: n * self.key_bytes,
        }
    }
}

impl AddAssign for Steps {
    fn add_assign(&mut self, other: Self) {
        self.transforms += other.transforms;
        self.multiplications += other.multiplications;
        self.conversions += other.conversions;
        self.key_bytes += other.key_bytes;
    }
}

/// What a linear transform consists of.
#[derive(Debug, Clone, Copy)]
pub struct MatrixSteps {
    /// Rotations by baby steps.
    pub babies: usize,
    /// Rotations by giant steps.
    pub giants: usize,
    /// Products with diagonals.
    pub diagonals: usize,
    /// Whether the sums stay modulo `P Q` (double hoisting).
    pub double: bool,
}

/// The parts of a key switch at `limbs` limbs.
#[derive(Debug, Clone, Copy)]
pub struct Switch {
    /// Limbs of the vector.
    pub limbs: f64,
    /// Special primes.
    pub special: f64,
    digits: f64,
    /// Bytes of a key in memory.
    pub key: f64,
}

impl Switch {
    /// At `limbs` limbs of a vector of a set.
    pub fn at(params: &Params, limbs: usize) -> Self {
        let lattice = params.lattice();
        let (gadget, rank) = (lattice.gadget(), lattice.spec().rank);
        let digits = gadget.digits(limbs);
        let key = KeySizes::of_rows(digits, rank, gadget.ring(limbs)).memory as f64;
        let (limbs, special) = (limbs as f64, lattice.p().limbs() as f64);
        Self { limbs, special, digits: digits as f64, key }
    }

    /// The gadget decomposition and basis extension of the digits.
    pub fn decomposition(&self) -> Steps {
        let all = self.limbs + self.special;
        Steps {
            conversions: self.digits * all - self.limbs,
            ..Steps::new(self.digits * all, self.limbs * all)
        }
    }

    /// The products of the digits with the key.
    fn key(&self) -> Steps {
        Steps {
            key_bytes: self.key,
            ..Steps::new(0.0, 2.0 * self.digits * (self.limbs + self.special))
        }
    }

    /// The mod-down of one polynomial: its division by the special primes.
    fn division(&self) -> Steps {
        Steps {
            conversions: self.limbs,
            ..Steps::new(self.special + self.limbs, self.special * self.limbs)
        }
    }

    /// A whole key switch, with the mod-down of both polynomials.
    pub fn whole(&self) -> Steps {
        total([self.decomposition(), self.key(), self.division(), self.division()])
    }

    /// The rotations and products of a linear transform.
    pub fn of_matrix(&self, matrix: MatrixSteps) -> Steps {
        let MatrixSteps { babies, giants, diagonals, double } = matrix;
        // Hoisting: baby steps share one decomposition. Double hoisting also defers their mod-down,
        // and giant steps divide the mask alone before their decomposition.
        let baby = match double {
            true => self.key(),
            false => total([self.key(), self.division(), self.division()]),
        };
        let giant = match double {
            true => total([self.decomposition(), self.key(), self.division()]),
            false => self.whole(),
        };
        let limbs = if double { self.limbs + self.special } else { self.limbs };
        // Double hoisting ends with one mod-down of both polynomials.
        let ends = if double { 2.0 } else { 0.0 };
        total([
            self.decomposition(),
            baby.times(babies as f64),
            giant.times(giants as f64),
            Steps::new(0.0, 2.0 * limbs * diagonals as f64),
            self.division().times(ends),
        ])
    }
}

fn total<const N: usize>(parts: [Steps; N]) -> Steps {
    let mut sum = Steps::default();
    parts.into_iter().for_each(|part| sum += part);
    sum
}
