//! Changes of rank and ring of encrypted vectors (DPad-HE sections 3.1.1 and 4.2): to a smaller rank
//! when enough levels are used up, and between rank `r` over a ring of degree `n` and RLWE over one of
//! degree `r n`.
//!
//! | file | what |
//! | --- | --- |
//! | `reducing` | circuits that go down in rank by themselves |
//! | `arithmetic` | that evaluator as an [`Arithmetic`](crate::Arithmetic) |
//! | `switch` | vectors of few slots to a smaller ring |
//! | `refresh` | vectors of rank `r` refreshed by way of RLWE |

mod arithmetic;
mod reducing;
mod refresh;
mod switch;

pub use reducing::{ReducingEvaluator, ReducingKeys};
pub use refresh::RankRefresh;
pub use switch::RingSwitch;

use bellerophon_mlwe::{self as mlwe, RankReduceKey, RingConversion, SecretKey};
use rand::CryptoRng;

use crate::{Ciphertext, Error, Meta, Params, Result};

/// The key that takes vectors to a smaller rank, to go on with at less cost.
///
/// [`rank_schedule`](bellerophon_mlwe::rank_schedule) says at which levels that is safe;
/// [`ReducingEvaluator`] does it by itself.
#[derive(Debug, Clone)]
pub struct RankReduction {
    from: Params,
    to: Params,
    key: RankReduceKey,
}

impl RankReduction {
    /// The key from `secret` to its first components, the secret of `to`, which is given too. `to`
    /// has the first primes of the chain, at a smaller rank: its highest level is the one from which
    /// on vectors can be reduced.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters, those of
    /// [`RankReduceKey::generate`] and [`SecretKey::truncate_rank`].
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &Params,
        secret: &SecretKey,
        to: &Params,
        rng: &mut R,
    ) -> Result<(Self, SecretKey)> {
        from.check("generate a rank reduction key", secret.fingerprint())?;
        let part = secret.truncate_rank(to.lattice(), rng)?;
        let key = RankReduceKey::generate(secret, &part, to.limbs(), rng)?;
        Ok((Self { from: from.clone(), to: to.clone(), key }, part))
    }

    /// The parameters of reduced vectors.
    pub fn to(&self) -> &Params {
        &self.to
    }

    /// The key.
    pub fn key(&self) -> &RankReduceKey {
        &self.key
    }

    /// The vector at the smaller rank, at the level that it has or the highest of the smaller set.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::Mlwe`] if the vector belongs to another set or key,
    /// [`Error::RangeOverflow`] if its values do not fit that level.
    pub fn apply(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "reduce the rank";
        self.from.check(op, x.lattice().fingerprint())?;
        let (mut inner, meta) = x.clone().into_parts();
        if inner.limbs() > self.to.limbs() {
            inner.truncate(self.to.limbs())?;
        }
        let (dropped, limbs) = (self.key.key().shape().from_rank, inner.limbs());
        let inner = self.key.reduce(self.to.lattice(), &inner)?;
        let added = mlwe::noise::key_switch(self.to.lattice(), dropped, limbs);
        let meta = Meta { noise: meta.noise + added, ..meta };
        Ciphertext::from_parts(&self.to, inner, meta)
    }
}

/// Vectors between rank `r` over the ring of degree `n` and RLWE over the ring of degree `r n`, or
/// more generally between two degrees. Vectors have up to `n / 2` slots in both.
#[derive(Debug, Clone)]
pub struct RankConversion {
    large: Params,
    small: Params,
    rings: RingConversion,
}

impl RankConversion {
    /// The conversion between two sets with the same chain of primes; `secret` is that of `large`.
    /// The secret of `small` is given too: it is the same one, seen as a module.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters, those of
    /// [`RingConversion::generate`].
    pub fn generate<R: CryptoRng + ?Sized>(
        large: &Params,
        secret: &SecretKey,
        small: &Params,
        rng: &mut R,
    ) -> Result<(Self, SecretKey)> {
        large.check("generate keys of a conversion", secret.fingerprint())?;
        let limbs = large.limbs().min(small.limbs());
        let rings = RingConversion::generate(secret, small.lattice(), limbs, rng)?;
        let module = rings.map().extract_secret(secret)?;
        Ok((Self { large: large.clone(), small: small.clone(), rings }, module))
    }

    /// The keys and maps underneath.
    pub fn rings(&self) -> &RingConversion {
        &self.rings
    }

    /// From the large ring to the rank: exact, without a key switch.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] if the vector is not of the large set, [`Error::SlotCount`] if it
    /// has more slots than the small ring.
    pub fn to_rank(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "convert to a module";
        self.large.check(op, x.lattice().fingerprint())?;
        let (found, most) = (x.slots(), self.small.max_slots());
        if found > most {
            return Err(Error::SlotCount { op, found, least: 1, most });
        }
        let inner = self.rings.to_rank(x.lattice())?;
        Ciphertext::from_parts(&self.small, inner, *x.meta())
    }

    /// From the rank to the large ring: an embedding and `log2(f)` automorphisms (Algorithm 5). The
    /// scale grows by the factor `f` between the degrees, the message does not.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] if the vector is not of the small set, [`Error::RangeOverflow`] if
    /// its level has no room for the factor.
    pub fn from_rank(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "convert from a module";
        self.small.check(op, x.lattice().fingerprint())?;
        let (factor, limbs, meta) = (self.rings.factor(), x.limbs(), x.meta());
        let scale = meta.scale * factor as f64;
        self.large.check_range(op, meta.bounds.slots().bound(), scale, limbs)?;
        let inner = self.rings.from_rank(x.lattice())?;
        let noise = meta.noise.map(|v| mlwe::noise::trace(self.large.lattice(), factor, limbs, v));
        Ciphertext::from_parts(&self.large, inner, Meta { scale, noise, ..*meta })
    }
}
