//! The table of a transform: its prime, its back end and the powers of its root.

use std::{ops::RangeInclusive, sync::Arc};

use super::roots::{self, Roots};
use crate::backend::Backend;
use crate::backend::choice::{MIN_WIDE_DEGREE, of_transform};
use crate::error::{self, Result};
use crate::modulus::Modulus;

/// The NTT of degree `N` modulo one prime `q = 1 mod 2N`, with its precomputed roots.
#[derive(Debug, Clone)]
pub struct NttTable {
    degree: usize,
    modulus: Modulus,
    backend: Backend,
    root: u64,
    exponents: Arc<[u32]>,
    pub(crate) forward_roots: Roots,
    pub(crate) inverse_roots: Roots,
    /// `1 / N`, and the factor of the last inverse stage times `1 / N`, each with its companion.
    pub(crate) last_factors: [[u64; 2]; 2],
}

impl NttTable {
    /// Smallest and largest supported `log2(N)`.
    pub const LOG_DEGREES: RangeInclusive<u32> = 3..=17;

    /// Builds the table with the fastest back end for this CPU and modulus.
    pub fn new(degree: usize, modulus: Modulus) -> Result<Self> {
        Self::with_backend(degree, modulus, Backend::fastest(&modulus))
    }

    /// Builds the table with a given back end. Fails if the back end cannot run here.
    pub fn with_backend(degree: usize, modulus: Modulus, backend: Backend) -> Result<Self> {
        if !degree.is_power_of_two() || !Self::LOG_DEGREES.contains(&degree.trailing_zeros()) {
            return Err(error::degree(degree));
        }
        backend.check(&modulus)?;
        // Step 1: psi and its inverse.
        let root = roots::primitive_root(&modulus, 2 * degree as u64, degree)?;
        let tiled = degree >= MIN_WIDE_DEGREE;
        let of_transform = of_transform(backend, degree);
        // Step 2: the powers of both in the order of the stages, with companions.
        let inverse_root = modulus.inv(root)?;
        let inverse_roots = Roots::new(&modulus, inverse_root, degree, of_transform, tiled);
        // Step 3: the last inverse stage multiplies by 1 / N too.
        let scale = modulus.inv(degree as u64)?;
        let last = modulus.mul(inverse_roots.head[1][0], scale);
        let with_companion = |w| [w, of_transform.transform_companion(&modulus, w)];
        Ok(Self {
            degree,
            modulus,
            backend,
            root,
            exponents: roots::exponents(degree, tiled).collect(),
            forward_roots: Roots::new(&modulus, root, degree, of_transform, tiled),
            inverse_roots,
            last_factors: [scale, last].map(with_companion),
        })
    }

    /// The degree `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The prime `q`.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// The back end of this table.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// [`Backend::packed_bytes`] of the prime.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.backend.packed_bytes(&self.modulus)
    }

    /// A factor of the transform with its companion.
    pub(crate) fn factor(&self, w: u64) -> [u64; 2] {
        let backend = of_transform(self.backend, self.degree);
        [w, backend.transform_companion(&self.modulus, w)]
    }

    /// The primitive `2N`-th root of unity `psi`. Roots of one prime are consistent: the root of
    /// degree `N / 2` is `psi^2`.
    pub fn root(&self) -> u64 {
        self.root
    }

    /// `e_i`: position `i` of a transformed polynomial holds its value at `psi^e_i`.
    pub fn exponents(&self) -> &[u32] {
        &self.exponents
    }
}
