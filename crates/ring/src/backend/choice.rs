//! The instruction sets, and the choice between them.

#[cfg(target_arch = "x86_64")]
use super::prime_sizes::IFMA_LAZY_BITS;
use super::prime_sizes::NARROW_BITS;
use crate::error::{self, Result};
use crate::modulus::Modulus;

/// Transforms of smaller degrees run on the scalar back end.
pub(crate) const MIN_WIDE_DEGREE: usize = 128;

/// An instruction set with kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Portable Rust on 64-bit words; every modulus.
    Scalar,
    /// aarch64 with NEON, products in floating point; moduli below `2^50`.
    Neon,
    /// x86-64 with AVX2; every modulus.
    Avx2,
    /// x86-64 with AVX2 and FMA, products in floating point; moduli below `2^50`.
    Avx2Fma,
    /// x86-64 with AVX-512 F and DQ; every modulus.
    Avx512,
    /// x86-64 with AVX-512 F and DQ, products in floating point; moduli below `2^50`.
    Avx512Fma,
    /// x86-64 with AVX-512 F, DQ, IFMA and VBMI; moduli below `2^50`.
    Ifma,
}

impl Backend {
    /// All back ends, slowest first.
    pub const ALL: [Backend; 7] = [
        Backend::Scalar,
        Backend::Neon,
        Backend::Avx2,
        Backend::Avx2Fma,
        Backend::Avx512,
        Backend::Avx512Fma,
        Backend::Ifma,
    ];

    /// The fastest back end that this CPU supports for `modulus`, up to the one named by the
    /// environment variable `BELLEROPHON_BACKEND` (`scalar`, `neon`, `avx2`, `avx2fma`, `avx512`,
    /// `avx512fma`, `ifma`; other values are ignored). The variable is for tests and measurements
    /// of whole programs. Results are the same on every back end.
    pub fn fastest(modulus: &Modulus) -> Self {
        Self::allowed(named().as_deref())
            .find(|b| b.check(modulus).is_ok())
            .unwrap_or(Backend::Scalar)
    }

    /// The fastest back end that this CPU supports, for kernels without a modulus; see
    /// [`fastest`](Self::fastest).
    pub(crate) fn detected() -> Self {
        Self::allowed(named().as_deref()).find(|b| b.is_detected()).unwrap_or(Backend::Scalar)
    }

    /// The back ends up to the named one, fastest first.
    pub(super) fn allowed(named: Option<&str>) -> impl Iterator<Item = Self> {
        let limit = Self::ALL.iter().position(|b| named == Some(b.name()));
        Self::ALL.into_iter().take(limit.map_or(Self::ALL.len(), |i| i + 1)).rev()
    }

    /// `Err` unless this CPU supports the back end and the back end supports the modulus.
    pub(crate) fn check(self, modulus: &Modulus) -> Result<()> {
        let refuse = |reason| Err(error::backend(self.name(), reason));
        match self {
            Backend::Ifma if modulus.bits() > 50 => {
                return refuse("52-bit products need a modulus below 2^50");
            }
            Backend::Neon | Backend::Avx2Fma | Backend::Avx512Fma if modulus.bits() > 50 => {
                return refuse("floating-point products need a modulus below 2^50");
            }
            _ => {}
        }
        if !self.is_detected() {
            return refuse("this CPU lacks the instructions");
        }
        Ok(())
    }

    /// A short name for tables, benchmark ids and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Scalar => "scalar",
            Backend::Neon => "neon",
            Backend::Avx2 => "avx2",
            Backend::Avx2Fma => "avx2fma",
            Backend::Avx512 => "avx512",
            Backend::Avx512Fma => "avx512fma",
            Backend::Ifma => "ifma",
        }
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn is_detected(self) -> bool {
        let avx512 = || is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
        match self {
            Backend::Scalar => true,
            Backend::Neon => false,
            Backend::Avx2 => is_x86_feature_detected!("avx2"),
            Backend::Avx2Fma => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Backend::Avx512 | Backend::Avx512Fma => avx512(),
            Backend::Ifma => {
                let vbmi = || is_x86_feature_detected!("avx512vbmi");
                avx512() && is_x86_feature_detected!("avx512ifma") && vbmi()
            }
        }
    }

    #[cfg(target_arch = "aarch64")]
    pub(super) fn is_detected(self) -> bool {
        match self {
            Backend::Scalar => true,
            Backend::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            _ => false,
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn is_detected(self) -> bool {
        self == Backend::Scalar
    }

    /// Bytes per residue in a [`PackedPoly`](crate::PackedPoly).
    pub(crate) fn packed_bytes(self, q: &Modulus) -> usize {
        let bytes = q.bits().div_ceil(8) as usize;
        match self {
            Backend::Ifma => bytes,
            // Two words make up half a register.
            Backend::Avx2Fma | Backend::Avx512Fma => bytes.max(4),
            _ => 8,
        }
    }

    /// `b` such that each reduction of a blind rotation modulo `q` leaves a factor `2^-b`.
    pub(crate) fn radix(self, _q: &Modulus) -> u32 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Backend::Ifma if _q.bits() > IFMA_LAZY_BITS => 52,
            _ => 0,
        }
    }

    /// The companion of a constant factor `w` is `floor(w 2^b / q)` with this `b`.
    pub(crate) fn companion_bits(self) -> u32 {
        if self == Backend::Ifma { 52 } else { 64 }
    }

    /// The companion of a factor of a transform: the same with one bit less for some primes, or the
    /// factor as a number in floating point.
    pub(crate) fn transform_companion(self, q: &Modulus, w: u64) -> u64 {
        let bits = match self {
            Backend::Neon | Backend::Avx2Fma | Backend::Avx512Fma => {
                return double_companion(q, w);
            }
            Backend::Avx2 | Backend::Avx512 if q.bits() <= NARROW_BITS => 63,
            _ => self.companion_bits(),
        };
        ((u128::from(w) << bits) / u128::from(q.value())) as u64
    }

    /// Whether transforms read only the companions of the factors of their last stages.
    pub(crate) fn companions_suffice(self) -> bool {
        !matches!(self, Backend::Scalar | Backend::Avx2 | Backend::Avx512)
    }
}

/// The bits of the factor `w` in `[0, q)`, centred, as a number in floating point.
pub(super) fn double_companion(modulus: &Modulus, w: u64) -> u64 {
    (modulus.center(w) as f64).to_bits()
}

/// The back end named by the environment.
fn named() -> Option<String> {
    std::env::var("BELLEROPHON_BACKEND").ok()
}

/// The back end of the transforms of a table.
pub(crate) fn of_transform(backend: Backend, degree: usize) -> Backend {
    if degree < MIN_WIDE_DEGREE { Backend::Scalar } else { backend }
}
