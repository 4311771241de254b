//! Relinearization strategies.
//!
//! A product of two ciphertexts of rank `r` has `r (r + 1) / 2` polynomials under `s (x) s`. A
//! strategy determines the ring in which they are switched, and the rank they are switched to:
//!
//! | strategy | ring | rank of the first switch | last step |
//! | --- | --- | --- | --- |
//! | [`RelinKind::Direct`] (ModHE) | `R_n` | `r`, modulo `Q P` | |
//! | [`RelinKind::DPad`] (Algorithm 1) | `R_n` | `r^ > r`, modulo `Q P^` | rank-down modulo `Q P` |
//! | [`RelinKind::ViaRing`] (section 3.2.1) | `R_{nf}` | `r / f`, modulo `Q P` | extraction |
//!
//! - Direct: `d r (r + 1) / 2` digits, each multiplied by `r + 1` polynomials of the key.
//! - DPad: larger special primes `P^` cut the chain into few digits `mu < d`. A larger dimension
//!   `r^ n` compensates for the larger modulus. Only the `r^ - r` additional masks are cut into `d`
//!   digits.
//! - Via a ring: `f` of the polynomials are packed into one polynomial of degree `n f`, without
//!   noise and without a transform ([`ModuleMap`]). The key rows are shorter. `f = r` is RLWE.
//!
//! Both can be combined: with `f = r`, RLWE is relinearized through rank 2.
//!
//! # Security
//! Each parameter set is checked against the tables: samples under `s` (dimension `r n`) modulo
//! `Q P`, and samples under `(s || s')` (dimension `r^ n`) modulo `Q P^`.
//!
//! `P^` exceeds the bound for dimension `r n`. The cross-relinearization key is secure because of
//! `s'`: with `s'` known, it consists of samples of `s` modulo `Q P^`. `s'` is therefore drawn for
//! this purpose only. Only the rank-down key, which encrypts `s'` under `s` modulo `Q P`, and keys
//! under `(s || s')` modulo `Q P^` depend on it ([`RankHoistedKeys`](crate::RankHoistedKeys) may
//! share it). The messages of these keys depend on the secrets themselves: circular security is
//! assumed, as for every relinearization key.

use std::fmt;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{Ntt, PackedPoly, Poly, Result};

use crate::ciphertext::{Ciphertext, packed_len};
use crate::encrypt::SEED_BYTES;
use crate::module_map::ModuleMap;
use crate::params::{Params, ParamsSpec};
use crate::security::SecretKind;
use crate::tensor::Tensor;
use crate::{error, noise};

/// The kind of a relinearization strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelinKind {
    /// One key switch of `r (r + 1) / 2` components to rank `r`.
    Direct,
    /// Through a temporary rank.
    DPad,
    /// Packed into a ring of larger degree.
    ViaRing,
}

/// A relinearization strategy for the products of one parameter set. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RelinStrategy {
    base: Params,
    /// Degree `n f`, rank `r / f`, modulo `Q P`.
    work: Params,
    /// Degree `n f`, the rank of the first switch. Equal to `work` if that rank is `r / f`.
    raised: Params,
    /// The map between `work` and `base`; `None` for `f = 1`.
    map: Option<ModuleMap>,
}

/// Strategies are equal if they use the same parameter sets.
impl PartialEq for RelinStrategy {
    fn eq(&self, other: &Self) -> bool {
        (&self.base, &self.work, &self.raised) == (&other.base, &other.work, &other.raised)
    }
}

impl fmt::Display for RelinStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ring first, then rank; neither for the direct strategy.
        match (self.factor(), self.is_raised()) {
            (1, false) => return f.write_str("direct"),
            (1, true) => {}
            (_, raised) => {
                write!(f, "in the ring of degree {}", self.work.degree())?;
                f.write_str(if raised { ", " } else { "" })?;
            }
        }
        if self.is_raised() {
            let (rank, p) = (self.raised.rank(), self.raised.p());
            write!(f, "by way of rank {rank} with {:.0} bits of special primes", p.log2_modulus())?;
        }
        Ok(())
    }
}

/// A product before the first switch, in the ring of the strategy.
pub(crate) struct Packed {
    pub(crate) stay: Ciphertext,
    pub(crate) quadratic: Vec<Poly<Ntt>>,
}

impl RelinStrategy {
    /// The direct strategy: one key switch with `d r (r + 1) / 2` digits.
    pub fn direct(params: &Params) -> Self {
        Self { base: params.clone(), work: params.clone(), raised: params.clone(), map: None }
    }

    /// Through the ring of degree `n factor` at rank `r / factor`, where `factor = r` is RLWE and
    /// `factor = 1` is the ring itself; there through a temporary rank with special primes of its
    /// own, if one is given (Algorithm 1). The product of the special primes determines the number
    /// of digits `mu` of the chain.
    ///
    /// # Errors
    /// [`ErrorKind::Insecure`] if `Q P^` at dimension `rank * n` lacks the security of the
    /// parameters.
    pub fn new(
        params: &Params,
        factor: usize,
        temporary: Option<(usize, Vec<u64>)>,
    ) -> Result<Self> {
        // Step 1: the ring of the switches, with the map from the base ring.
        let base = params.clone();
        let (work, map) = match factor {
            1 => (base.clone(), None),
            _ => {
                let work = join_view(&base, factor)?;
                let map = ModuleMap::new(&work, &base, base.limbs())?;
                (work, Some(map))
            }
        };
        // Step 2: the temporary rank over that ring.
        let raised = match temporary {
            None => work.clone(),
            Some((rank, p)) => temporary_params(&work, rank, p)?,
        };
        Ok(Self { base, work, raised, map })
    }

    /// The kind of this strategy: [`RelinKind::DPad`] whenever there is a temporary rank.
    pub fn kind(&self) -> RelinKind {
        // Compares ranks, not fingerprints: received parameters can state any fingerprint.
        if self.raised.rank() != self.work.rank() {
            RelinKind::DPad
        } else if self.map.is_some() {
            RelinKind::ViaRing
        } else {
            RelinKind::Direct
        }
    }

    /// The parameters of the ciphertexts.
    pub fn params(&self) -> &Params {
        &self.base
    }

    /// The parameters of the ring in which polynomials are switched: degree `n f`, rank `r / f`.
    pub fn work(&self) -> &Params {
        &self.work
    }

    /// The parameters of the first switch: rank `r^` and special primes `P^` under DPad, otherwise
    /// the parameters of [`work`](Self::work).
    pub fn raised(&self) -> &Params {
        &self.raised
    }

    /// `f`: the number of polynomials packed into one polynomial of the larger ring.
    pub fn factor(&self) -> usize {
        self.map.as_ref().map_or(1, ModuleMap::factor)
    }

    /// Whether the strategy has a temporary rank and thus a rank-down key.
    pub fn is_raised(&self) -> bool {
        self.kind() == RelinKind::DPad
    }

    /// Number of digits of the first switch at this level: `mu`, or `d` without a temporary rank.
    pub fn digits(&self, limbs: usize) -> Result<usize> {
        self.base.check_limbs(limbs)?;
        Ok(self.raised.gadget().digits(limbs))
    }

    /// Number of polynomials of the first switch: `r (r + 1) / 2`, packed.
    pub fn components(&self) -> usize {
        // f products per packed polynomial; the last one may be partly filled.
        let rank = self.base.rank();
        (rank * (rank + 1) / 2).div_ceil(self.factor())
    }

    /// Size in bytes of the keys in seeded, bit-packed form, for products of up to `limbs` limbs.
    /// No key is generated.
    pub fn seeded_byte_len(&self, limbs: usize) -> Result<usize> {
        // One body per digit and component, and one seed per key.
        self.sum_over_keys(limbs, |params, components| {
            let gadget = params.gadget();
            SEED_BYTES + gadget.digits(limbs) * components * packed_len(gadget.ring(limbs))
        })
    }

    /// Size in bytes of the expanded keys in the memory of this machine. No key is generated.
    pub fn memory_len(&self, limbs: usize) -> Result<usize> {
        // Bodies and masks: rank + 1 packed polynomials per digit and component.
        self.sum_over_keys(limbs, |params, components| {
            let gadget = params.gadget();
            let row = PackedPoly::bytes_over(gadget.ring(limbs));
            row * gadget.digits(limbs) * components * (params.rank() + 1)
        })
    }

    /// The sum of a size of both keys, by the parameters and the components of each.
    fn sum_over_keys(&self, limbs: usize, size: impl Fn(&Params, usize) -> usize) -> Result<usize> {
        self.base.check_limbs(limbs)?;
        let down = match self.is_raised() {
            true => size(&self.work, self.raised.rank() - self.work.rank()),
            false => 0,
        };
        Ok(size(&self.raised, self.components()) + down)
    }

    /// Noise variance that the relinearization adds to a product: that of both key switches, or
    /// that of one key switch without a temporary rank.
    pub fn noise(&self, limbs: usize) -> Result<f64> {
        self.base.check_limbs(limbs)?;
        Ok(match self.is_raised() {
            true => noise::dpad_relinearize(&self.work, &self.raised, self.products(), limbs),
            false => noise::relinearize(&self.base, limbs),
        })
    }

    /// Noise variance after a product with noise `variance` is relinearized and rescaled by the
    /// last `primes` primes in one division.
    pub fn noise_rescaled(&self, limbs: usize, primes: usize, variance: f64) -> Result<f64> {
        self.base.check_limbs(limbs)?;
        if primes >= limbs {
            let needed = format!("more than the {primes} to divide by");
            return Err(error::limbs(limbs, needed));
        }
        Ok(match self.is_raised() {
            true => noise::dpad_relinearize_rescale(
                &self.work,
                &self.raised,
                self.products(),
                limbs,
                primes,
                variance,
            ),
            false => noise::relinearize_rescale(&self.base, limbs, primes, variance),
        })
    }

    /// Components of the first switch in polynomials of the larger ring. A partly filled polynomial
    /// counts as a fraction.
    fn products(&self) -> f64 {
        let rank = self.base.rank();
        (rank * (rank + 1) / 2) as f64 / self.factor() as f64
    }

    pub(crate) fn map(&self) -> Option<&ModuleMap> {
        self.map.as_ref()
    }

    /// Packs a product into the ring of the strategy.
    pub(crate) fn pack(&self, tensor: Tensor) -> Result<Packed> {
        let Tensor { constant, linear, quadratic, ident } = tensor;
        // Constant and linear terms form a ciphertext that needs no switch.
        let stay = Ciphertext { b: constant, a: linear, ident };
        let Some(map) = &self.map else { return Ok(Packed { stay, quadratic }) };
        let ring = self.base.q().at_limbs(stay.limbs());
        // Join f quadratic terms into one polynomial; zeros fill the last chunk.
        let packed = quadratic.chunks(map.factor()).map(|chunk| {
            let mut parts = chunk.to_vec();
            parts.resize_with(map.factor(), || ring.zero());
            map.join(&parts)
        });
        Ok(Packed { quadratic: packed.collect::<Result<_>>()?, stay: map.embed(&stay)? })
    }

    /// Extracts a ciphertext of [`work`](Self::work) to the base parameters.
    pub(crate) fn unpack(&self, ct: Ciphertext) -> Result<Ciphertext> {
        match &self.map {
            None => Ok(ct),
            Some(map) => map.extract(&ct),
        }
    }
}

/// The same lattice over the ring of degree `n factor`: the inverse of [`Params::module_view`].
fn join_view(base: &Params, factor: usize) -> Result<Params> {
    if factor == 0 || !factor.is_power_of_two() || !base.rank().is_multiple_of(factor) {
        return Err(error::parameter(
            "factor",
            factor.to_string(),
            format!("a power of two that divides the rank {}", base.rank()),
        ));
    }
    Params::new(ParamsSpec {
        degree: base.degree() * factor,
        rank: base.rank() / factor,
        ..base.spec().clone()
    })
}

/// The chain of `base` at a temporary rank with its own special primes, with the security level of
/// `base`.
fn temporary_params(base: &Params, rank: usize, p: Vec<u64>) -> Result<Params> {
    ensure(rank > base.rank(), || error::rank(rank, base.rank() + 1))?;
    // The secret keeps its density, so a sparse one gets a larger weight.
    let secret = raised_secret(base.spec().secret, base.rank(), rank);
    Params::new(ParamsSpec { rank, p, secret, ..base.spec().clone() })
}

/// The kind of a secret of larger rank and at least the same density.
pub(crate) fn raised_secret(kind: SecretKind, from: usize, to: usize) -> SecretKind {
    match kind {
        SecretKind::Ternary | SecretKind::Bounded(_) => kind,
        SecretKind::Sparse(weight) => SecretKind::Sparse((weight * to).div_ceil(from)),
    }
}
