//! Monomials `X^k` in NTT form.

use crate::backend::choice::of_transform;
use crate::ntt::NttTable;
use crate::ntt::roots::{Line, bit_reverse};

/// The powers of the `2N`-th root `psi` of an [`NttTable`]. They give the values of every `X^k`:
/// position `i` of the transform of `X^k` is `psi^(e_i k)`.
#[derive(Debug, Clone)]
pub struct MonomialTable {
    /// `psi^j scale`, `2N` words. The scale compensates for the factors that the two reductions of
    /// a product leave on the back end of the table.
    powers: Vec<u64>,
    /// `psi^(j N / 32)` with companions: the ratios between the lanes of a line. Empty for degrees
    /// without vector transforms.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "read by wide kernels"))]
    lanes: Vec<[u64; 2]>,
}

impl MonomialTable {
    /// The powers of `table.root()`: `2N` words.
    pub fn new(table: &NttTable) -> Self {
        let (q, n) = (table.modulus(), table.degree());
        let backend = of_transform(table.backend(), n);
        // Two reductions of 2^-b each are compensated by 2^(2b).
        let scale = q.pow(q.reduce(2), 2 * backend.radix(q) as u64);
        let powers: Vec<u64> =
            std::iter::successors(Some(1), |&x| Some(q.mul(x, table.root()))).take(2 * n).collect();
        let bits = backend.companion_bits();
        let companion = |w: u64| (((w as u128) << bits) / q.value() as u128) as u64;
        let lanes = match n / 32 {
            // Degrees below 128 have no vector transform.
            0..4 => Vec::new(),
            step => powers.iter().step_by(step).map(|&w| [w, companion(w)]).collect(),
        };
        Self { powers: powers.into_iter().map(|x| q.mul(x, scale)).collect(), lanes }
    }

    /// The degree `N`.
    pub(crate) fn degree(&self) -> usize {
        self.powers.len() / 2
    }

    /// `psi^e` and `psi^-e` times the scale, with `e` modulo `2N`.
    #[inline(always)]
    pub(crate) fn powers(&self, e: usize) -> [u64; 2] {
        // The order of psi is 2N, a power of two.
        let mask = self.powers.len() - 1;
        [self.powers[e & mask], self.powers[e.wrapping_neg() & mask]]
    }

    /// The scale, which is `psi^0` times the scale.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "read by wide kernels"))]
    #[inline(always)]
    pub(crate) fn one(&self) -> u64 {
        self.powers[0]
    }

    /// The ratios of `X^k` and `X^-k` at the eight lanes of a line to their values at lane 0:
    /// values and companions. Lane `c` is bits 3 to 5 of the order before the transposition of
    /// tiles, so its exponent differs by `N / 32 bit_reverse(c)`.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "read by wide kernels"))]
    pub(crate) fn lanes(&self, k: usize) -> [[Line; 2]; 2] {
        [k, k.wrapping_neg()].map(|k| {
            // Exponents of the lanes are multiples of N / 32, so there are 64 of them modulo 2N.
            let root = |lane| self.lanes[k.wrapping_mul(bit_reverse(lane, 3)) & 63];
            [0, 1].map(|part| std::array::from_fn(|lane| root(lane)[part]))
        })
    }
}
