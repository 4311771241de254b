//! Counted work, and the time that it takes.

use std::ops::AddAssign;

/// Prices of the counted steps on one thread.
///
/// An NTT costs `N log2 N` steps and a multiplication `N`, each at a constant price:
/// [`SERVER`](Self::SERVER) for a server CPU with AVX-512 IFMA (Sapphire Rapids generation). There
/// the price of a step comes from `cargo run --release -p bellerophon-benches -- figures --only
/// ring`, that of a multiplication from the rest of the product and the rotation of `figures --only
/// ckks`. On other CPUs estimates are good to the ratio of the CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Seconds per step of an NTT of `N log2 N` steps modulo a prime below `2^50`.
    pub step: f64,
    /// Seconds per modular multiplication, with its share of loads and stores.
    pub multiplication: f64,
}

impl Prices {
    /// Those of a server CPU with AVX-512 IFMA.
    pub const SERVER: Self = Self { step: 0.122e-9, multiplication: 0.9e-9 };
}

/// Counted work of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Ring degree.
    pub degree: usize,
    /// NTTs of one limb, forward and inverse.
    pub transforms: f64,
    /// Multiplications of one limb by another.
    pub multiplications: f64,
    /// Average cost of an NTT over the primes, relative to a prime below `2^50`.
    pub width: f64,
}

/// No work, in a ring of degree 1.
impl Default for Work {
    fn default() -> Self {
        Self { degree: 1, transforms: 0.0, multiplications: 0.0, width: 1.0 }
    }
}

impl Work {
    /// Estimated time on one thread at [`Prices::SERVER`].
    pub fn seconds(&self) -> f64 {
        self.seconds_at(&Prices::SERVER)
    }

    /// Estimated time on one thread.
    pub fn seconds_at(&self, prices: &Prices) -> f64 {
        let n = self.degree as f64;
        let steps = self.transforms * n * n.log2() * self.width;
        steps * prices.step + self.multiplications * n * prices.multiplication
    }
}

/// Work of operations in sequence in one ring. No work has no ring: the degree is then that of the
/// other operand.
impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        let transforms = self.transforms + other.transforms;
        // The average cost of an NTT, weighted by the number of NTTs.
        if transforms > 0.0 {
            let wide = self.width * self.transforms + other.width * other.transforms;
            self.width = wide / transforms;
        }
        self.transforms = transforms;
        self.multiplications += other.multiplications;
        self.degree = self.degree.max(other.degree);
    }
}
