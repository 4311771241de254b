//! Ways to relinearise.
//!
//! A product of two ciphertexts of rank `r` has `r (r + 1) / 2` polynomials under `s (x) s`. A route
//! says in which ring they are switched, and to which rank:
//!
//! | strategy | ring | rank of the first switch | then |
//! | --- | --- | --- | --- |
//! | [`Strategy::Direct`] (ModHE) | `R_n` | `r`, modulo `Q P` | |
//! | [`Strategy::DPad`] (Algorithm 1) | `R_n` | `r^ > r`, modulo `Q P^` | rank-down modulo `Q P` |
//! | [`Strategy::ViaRing`] (section 3.2.1) | `R_{nf}` | `r / f`, modulo `Q P` | extraction |
//!
//! Direct takes `d r (r + 1) / 2` digits, each multiplied with `r + 1` polynomials of the key. DPad
//! has special primes `P^` that are larger, so that the chain is cut into few digits `mu < d`, and
//! makes up for the larger modulus by a larger dimension, `r^ n`; only the `r^ - r` masks that must
//! go again are cut into `d` digits. Via a ring, `f` of the polynomials are packed into one of degree
//! `n f` without noise and without a transform ([`ModuleMap`]), whose rows are shorter: `f = r` is
//! RLWE. Packing and a temporary rank go together, too: at `f = r` that is RLWE relinearised by way
//! of rank 2.
//!
//! # Security
//! Two facts are checked against the tables, each by the constructor of its parameter set: what is
//! published under `s` (dimension `r n`) stands modulo `Q P`, what is published under `(s || s')`
//! (dimension `r^ n`) modulo `Q P^`. `P^` is above what dimension `r n` allows, so the cross
//! key is safe because of `s'`: whoever learns `s'` reads it as samples of `s` modulo `Q P^`. `s'` is
//! therefore drawn for this purpose, and nothing is published about it but the rank-down key, which
//! encrypts it under `s` modulo `Q P`, and keys under `(s || s')` modulo `Q P^` at dimension `r^ n`
//! ([`RankHoistedKeys`](crate::RankHoistedKeys) may share it). As for every relinearisation key the messages of these
//! keys depend on the secrets themselves (`s (x) s` under `(s || s')`, `s'` under `s`): circular
//! security is assumed.

use std::fmt;

use bellerophon_ring::{Ntt, Poly, Row};

use crate::ciphertext::packed_len;
use crate::encrypt::SEED_BYTES;
use crate::security::SecretKind;
use crate::{Ciphertext, Error, ModuleMap, Params, ParamsSpec, Result, Tensor, noise};

/// How products are relinearised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// One key switch of `r (r + 1) / 2` components to rank `r`.
    Direct,
    /// By way of a temporary rank.
    DPad,
    /// Packed into a ring of larger degree.
    ViaRing,
}

/// A way to relinearise products of one parameter set. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RelinRoute {
    base: Params,
    /// Degree `n f`, rank `r / f`, modulo `Q P`.
    work: Params,
    /// Degree `n f`, the rank of the first switch; `work` where that is `r / f`.
    raised: Params,
    /// Between `work` and `base`, unless `f = 1`.
    map: Option<ModuleMap>,
}

/// Routes are equal if they pass through the same parameter sets.
impl PartialEq for RelinRoute {
    fn eq(&self, other: &Self) -> bool {
        (&self.base, &self.work, &self.raised) == (&other.base, &other.work, &other.raised)
    }
}

impl fmt::Display for RelinRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// What a product is made of before the first switch.
pub(crate) struct Packed {
    pub(crate) stay: Ciphertext,
    pub(crate) quadratic: Vec<Poly<Ntt>>,
}

impl RelinRoute {
    /// One key switch, of `d r (r + 1) / 2` digits.
    pub fn direct(params: &Params) -> Self {
        Self { base: params.clone(), work: params.clone(), raised: params.clone(), map: None }
    }

    /// By way of the rank `rank` with the special primes `special` (Algorithm 1). Their product says
    /// how many digits `mu` the chain has.
    ///
    /// # Errors
    /// [`Error::Rank`] unless the rank is larger; those of [`Params::new`]: the security of the
    /// parameters is asked of `Q P^` at the dimension `rank * n` too.
    pub fn through_rank(params: &Params, rank: usize, special: Vec<u64>) -> Result<Self> {
        Self::new(params, 1, Some((rank, special)))
    }

    /// By way of the ring of degree `n factor` at rank `r / factor`; `factor = r` is RLWE.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the factor is a power of two that divides the rank, ring errors
    /// if the primes do not serve the larger degree.
    pub fn through_ring(params: &Params, factor: usize) -> Result<Self> {
        Self::new(params, factor, None)
    }

    /// The general form: by way of the ring of degree `n factor` and, there, of a temporary rank
    /// with special primes of its own.
    ///
    /// # Errors
    /// As for [`through_rank`](Self::through_rank) and [`through_ring`](Self::through_ring).
    pub fn new(
        params: &Params,
        factor: usize,
        temporary: Option<(usize, Vec<u64>)>,
    ) -> Result<Self> {
        let base = params.clone();
        let (work, map) = match factor {
            1 => (base.clone(), None),
            _ => {
                let work = join_view(&base, factor)?;
                let map = ModuleMap::new(&work, &base, base.limbs())?;
                (work, Some(map))
            }
        };
        let raised = match temporary {
            None => work.clone(),
            Some((rank, p)) => temporary_params(&work, rank, p)?,
        };
        Ok(Self { base, work, raised, map })
    }

    /// Which of the three strategies this is: [`Strategy::DPad`] whenever there is a temporary rank.
    pub fn strategy(&self) -> Strategy {
        // Not by comparing parameters: what somebody sent may have any fingerprint.
        if self.raised.rank() != self.work.rank() {
            Strategy::DPad
        } else if self.map.is_some() {
            Strategy::ViaRing
        } else {
            Strategy::Direct
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
    /// those of [`work`](Self::work).
    pub fn raised(&self) -> &Params {
        &self.raised
    }

    /// `f`: how many polynomials one of the larger ring holds.
    pub fn factor(&self) -> usize {
        self.map.as_ref().map_or(1, ModuleMap::factor)
    }

    /// Whether a rank-down key is needed.
    pub fn is_raised(&self) -> bool {
        self.strategy() == Strategy::DPad
    }

    /// Number of digits of the first switch at this level: `mu`, or `d` without a temporary rank.
    ///
    /// # Errors
    /// [`Error::Limbs`] for none or more than the chain has.
    pub fn digits(&self, limbs: usize) -> Result<usize> {
        self.base.check_limbs("count digits", limbs)?;
        Ok(self.raised.gadget().digits(limbs))
    }

    /// Number of polynomials that the first switch takes: `r (r + 1) / 2`, packed.
    pub fn components(&self) -> usize {
        let rank = self.base.rank();
        (rank * (rank + 1) / 2).div_ceil(self.factor())
    }

    /// Bytes of the keys in seeded form when residues are packed to the bits of their primes, for
    /// products of up to `limbs` limbs, before any key is made.
    ///
    /// # Errors
    /// [`Error::Limbs`] for none or more than the chain has.
    pub fn seeded_byte_len(&self, limbs: usize) -> Result<usize> {
        self.base.check_limbs("size keys", limbs)?;
        let key = |params: &Params, components: usize| {
            let gadget = params.gadget();
            SEED_BYTES + gadget.digits(limbs) * components * packed_len(gadget.ring(limbs))
        };
        let down = match self.is_raised() {
            true => key(&self.work, self.raised.rank() - self.work.rank()),
            false => 0,
        };
        Ok(key(&self.raised, self.components()) + down)
    }

    /// Bytes of the expanded keys in the memory of this machine, before any key is made.
    ///
    /// # Errors
    /// [`Error::Limbs`] for none or more than the chain has.
    pub fn memory_len(&self, limbs: usize) -> Result<usize> {
        self.base.check_limbs("size keys", limbs)?;
        let key = |params: &Params, components: usize| {
            let gadget = params.gadget();
            let row = Row::bytes_over(gadget.ring(limbs));
            row * gadget.digits(limbs) * components * (params.rank() + 1)
        };
        let down = match self.is_raised() {
            true => key(&self.work, self.raised.rank() - self.work.rank()),
            false => 0,
        };
        Ok(key(&self.raised, self.components()) + down)
    }

    /// What the relinearisation adds to the noise of a product:
    /// [`noise::dpad_relinearise`], or [`noise::relinearise`] without a temporary rank.
    ///
    /// # Errors
    /// [`Error::Limbs`] for none or more than the chain has.
    pub fn noise(&self, limbs: usize) -> Result<f64> {
        self.base.check_limbs("predict noise", limbs)?;
        Ok(match self.is_raised() {
            true => noise::dpad_relinearise(&self.work, &self.raised, self.products(), limbs),
            false => noise::relinearise(&self.base, limbs),
        })
    }

    /// What becomes of a product of noise `variance` that is relinearised and rescaled by the last
    /// `primes` primes in one division.
    ///
    /// # Errors
    /// [`Error::Limbs`] unless a limb is left.
    pub fn noise_rescaled(&self, limbs: usize, primes: usize, variance: f64) -> Result<f64> {
        let op = "predict noise";
        self.base.check_limbs(op, limbs)?;
        if primes >= limbs {
            let needed = format!("more than the {primes} to divide by");
            return Err(Error::Limbs { op, found: limbs, needed });
        }
        Ok(match self.is_raised() {
            true => noise::dpad_relinearise_rescale(
                &self.work,
                &self.raised,
                self.products(),
                (limbs, primes),
                variance,
            ),
            false => noise::relinearise_rescale(&self.base, limbs, primes, variance),
        })
    }

    /// Components of the first switch in polynomials of the larger ring: a packed polynomial that is
    /// not full counts by its share.
    fn products(&self) -> f64 {
        let rank = self.base.rank();
        (rank * (rank + 1) / 2) as f64 / self.factor() as f64
    }

    pub(crate) fn map(&self) -> Option<&ModuleMap> {
        self.map.as_ref()
    }

    /// The polynomials of a product in the larger ring.
    pub(crate) fn pack(&self, tensor: Tensor) -> Result<Packed> {
        let Tensor { constant, linear, quadratic, fingerprint, key } = tensor;
        let stay = Ciphertext { b: constant, a: linear, fingerprint, key };
        let Some(map) = &self.map else { return Ok(Packed { stay, quadratic }) };
        let ring = self.base.q().prefix(stay.limbs());
        let packed = quadratic.chunks(map.factor()).map(|chunk| {
            let mut parts = chunk.to_vec();
            parts.resize_with(map.factor(), || ring.zero());
            map.join(&parts)
        });
        Ok(Packed { quadratic: packed.collect::<Result<_>>()?, stay: map.embed(&stay)? })
    }

    /// A ciphertext of [`work`](Self::work) as one of the base.
    pub(crate) fn unpack(&self, ct: Ciphertext) -> Result<Ciphertext> {
        match &self.map {
            None => Ok(ct),
            Some(map) => map.extract(&ct),
        }
    }
}

/// The same lattice over the ring of degree `n factor`.
fn join_view(base: &Params, factor: usize) -> Result<Params> {
    if factor == 0 || !factor.is_power_of_two() || !base.rank().is_multiple_of(factor) {
        return Err(Error::Parameter {
            field: "factor",
            found: factor.to_string(),
            needed: format!("a power of two that divides the rank {}", base.rank()),
        });
    }
    Params::new(ParamsSpec {
        degree: base.degree() * factor,
        rank: base.rank() / factor,
        ..base.spec().clone()
    })
}

/// The chain of `base` at a temporary rank with special primes of its own, as secure as `base` is
/// asked to be.
fn temporary_params(base: &Params, rank: usize, p: Vec<u64>) -> Result<Params> {
    if rank <= base.rank() {
        let op = "raise the rank";
        return Err(Error::Rank { op, found: rank, needed: base.rank() + 1 });
    }
    let secret = raised_secret(base.secret_kind(), base.rank(), rank);
    Params::new(ParamsSpec { rank, p, secret, ..base.spec().clone() })
}

/// The kind of a secret of larger rank and of no smaller density.
pub(crate) fn raised_secret(kind: SecretKind, from: usize, to: usize) -> SecretKind {
    match kind {
        SecretKind::Ternary | SecretKind::Bounded(_) => kind,
        SecretKind::Sparse(weight) => SecretKind::Sparse((weight * to).div_ceil(from)),
    }
}
