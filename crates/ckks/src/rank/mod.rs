//! Changes of module rank and of ring (DPad-HE, sections 3.1.1 and 4.2): reduction to a smaller
//! rank once enough levels are used up, and conversion between rank `r` over a ring of degree `n`
//! and RLWE over a ring of degree `r n`.
//!
//! | module | contents |
//! | --- | --- |
//! | `reducing` | an evaluator with automatic rank reduction |
//! | `ckks_ops` | the implementation of [`CkksOps`](crate::CkksOps) for that evaluator |
//! | `switch` | ring switching: vectors of few slots to a smaller ring |

mod ckks_ops;
mod reducing;
mod switch;

use bellerophon_mlwe::{self as mlwe, RankReduceKey, RingConversion, SecretKey};
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;
use rand::CryptoRng;

pub use reducing::{ReducingEvaluator, ReducingKeys};
pub use switch::RingSwitch;

use crate::ciphertext::{Ciphertext, CiphertextMeta};
use crate::error;
use crate::params::Params;

/// The key that switches vectors to a smaller rank, where operations cost less.
///
/// [`rank_schedule`](bellerophon_mlwe::rank_schedule) gives the levels at which this is secure.
/// [`ReducingEvaluator`] reduces ranks automatically.
#[derive(Debug, Clone)]
pub struct RankReduction {
    from: Params,
    to: Params,
    key: RankReduceKey,
}

impl RankReduction {
    /// Generates the key from `secret` to its first components, and returns those components as the
    /// secret of `to`. The set `to` has the first primes of the chain at a smaller rank. Its
    /// highest level is the highest level of reduced vectors.
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &Params,
        secret: &SecretKey,
        to: &Params,
        rng: &mut R,
    ) -> Result<(Self, SecretKey)> {
        from.check(secret.params().fingerprint())?;
        // The first components of the secret: the masks of the others are switched to them.
        let part = secret.truncate_rank(to.lattice(), rng)?;
        let key = RankReduceKey::generate(secret, &part, to.limbs(), rng)?;
        Ok((Self::from_parts(from, to, key)?, part))
    }

    /// Assembles a key that leads from one set to another.
    pub fn from_parts(from: &Params, to: &Params, key: RankReduceKey) -> Result<Self> {
        let shape = *key.key().shape();
        // The key must lead from one set to the other, and drop the components in between.
        from.check(shape.from.fingerprint)?;
        to.check(shape.to.fingerprint)?;
        let needed = from.lattice().spec().rank.saturating_sub(to.lattice().spec().rank);
        if needed == 0 || shape.from_rank != needed {
            let found = shape.from_rank;
            return Err(mlwe::error::rank(found, needed));
        }
        if shape.limbs != to.limbs() {
            let (found, needed) = (shape.limbs, format!("{} of the smaller rank", to.limbs()));
            return Err(mlwe::error::limbs(found, needed));
        }
        Ok(Self { from: from.clone(), to: to.clone(), key })
    }

    /// `Err` unless the key leads from one of these sets to the other.
    pub fn check_params(&self, from: &Params, to: &Params) -> Result<()> {
        from.check(self.from.lattice().fingerprint())?;
        to.check(self.to.lattice().fingerprint())
    }

    /// The parameters of reduced vectors.
    pub fn to(&self) -> &Params {
        &self.to
    }

    /// The key.
    pub fn key(&self) -> &RankReduceKey {
        &self.key
    }

    /// The vector at the smaller rank, at its level or the highest level of the smaller set,
    /// whichever is lower.
    pub fn apply(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.from.check(x.lattice().ident().fingerprint)?;
        // Step 1: drop the limbs that the smaller set does not have.
        let (mut inner, meta) = x.clone().into_parts();
        if inner.limbs() > self.to.limbs() {
            inner.truncate(self.to.limbs())?;
        }
        // Step 2: switch the masks of the dropped components to the remaining ones.
        let (dropped, limbs) = (self.key.key().shape().from_rank, inner.limbs());
        let inner = self.key.reduce(self.to.lattice(), &inner)?;
        let added = mlwe::noise::key_switch(self.to.lattice(), dropped, limbs);
        let meta = CiphertextMeta { noise: meta.noise + added, ..meta };
        Ok(Ciphertext::from_parts(&self.to, inner, meta)?.of(x.origins.clone()))
    }
}

/// Conversion between rank `r` over the ring of degree `n` and RLWE over the ring of degree `r n`,
/// or more generally between two ring degrees. Vectors have up to `n / 2` slots in both.
#[derive(Debug, Clone)]
pub struct RankConversion {
    large: Params,
    small: Params,
    rings: RingConversion,
}

impl RankConversion {
    /// Generates the keys of a conversion between two sets with the same chain of primes, where
    /// `secret` belongs to `large`. Also returns the secret of `small`: the same secret in module
    /// form.
    pub fn generate<R: CryptoRng + ?Sized>(
        large: &Params,
        secret: &SecretKey,
        small: &Params,
        rng: &mut R,
    ) -> Result<(Self, SecretKey)> {
        large.check(secret.params().fingerprint())?;
        let limbs = large.limbs().min(small.limbs());
        let rings = RingConversion::generate(secret, small.lattice(), limbs, rng)?;
        let module = rings.map().extract_secret(secret)?;
        Ok((Self::from_parts(large, small, rings), module))
    }

    /// Assembles the conversion of two sets, between whose lattices `rings` converts.
    pub fn from_parts(large: &Params, small: &Params, rings: RingConversion) -> Self {
        Self { large: large.clone(), small: small.clone(), rings }
    }

    /// The conversion of the lattices.
    pub fn rings(&self) -> &RingConversion {
        &self.rings
    }

    /// Converts from the large ring to the module: exact, without a key switch.
    pub fn to_rank(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.large.check(x.lattice().ident().fingerprint)?;
        let (found, most) = (x.meta().slots, self.small.max_slots());
        ensure(found <= most, || error::slot_count(found, 1, most))?;
        // Coefficients are regrouped: the message, its scale and its noise are unchanged.
        let inner = self.rings.to_rank(x.lattice())?;
        Ok(Ciphertext::from_parts(&self.small, inner, *x.meta())?.of(x.origins.clone()))
    }

    /// Converts from the module to the large ring: an embedding and `log2(f)` automorphisms
    /// (Algorithm 5), where `f` is the quotient of the degrees. The scale grows by `f`, and the
    /// message is unchanged.
    pub fn from_rank(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.small.check(x.lattice().ident().fingerprint)?;
        // The trace multiplies the phase by the factor, which goes into the scale.
        let (factor, limbs, meta) = (self.rings.map().factor(), x.lattice().limbs(), x.meta());
        let scale = meta.scale * factor as f64;
        self.large.check_range(meta.bounds.slots().bound(), scale, limbs)?;
        let inner = self.rings.from_rank(x.lattice())?;
        let noise = meta.noise.map(|v| mlwe::noise::trace(self.large.lattice(), factor, limbs, v));
        let meta = CiphertextMeta { scale, noise, ..*meta };
        Ok(Ciphertext::from_parts(&self.large, inner, meta)?.of(x.origins.clone()))
    }
}
