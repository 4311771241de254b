//! Refreshing vectors of rank `r` by way of RLWE and back (DPad-HE, section 6.2).

use std::sync::Arc;

use bellerophon_mlwe::{self as mlwe, GaloisKeys, ModuleMap, RingConversion, SecretKey};
use rand::CryptoRng;

use crate::{
    Ciphertext, Error, EvaluationKeys, Evaluator, Meta, Params, Result,
    bootstrap::{BootstrapKeys, Bootstrapper},
};

/// Refreshes vectors of rank `r` over a ring of degree `n`: embeds them into the ring of degree `r n`,
/// refreshes them there, where a key switch has one component, and extracts them again, which is exact
/// and takes no key. Of the vector nothing changes but its level, scale and noise.
///
/// Bootstrapping itself serves every rank too ([`Evaluator::with_refresh`] at a [`Bootstrapper`] of rank
/// `r`). Its keys take `(r + 1) / 2` times the memory; at dimension `2^12`, where both take about 0.1 s on
/// one thread, it was 1% slower at rank 2 and 7% at rank 4.
#[derive(Debug, Clone)]
pub struct RankRefresh {
    small: Params,
    rings: RingConversion,
    evaluator: Evaluator,
}

impl RankRefresh {
    /// All keys, of the conversion, the bootstrapping and its rotations, for vectors of `params` under
    /// `secret`. The bootstrapper's set is RLWE (or of smaller rank) over the larger ring, with the same
    /// chain of primes and special primes.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters, and unless the two sets have the same
    /// scale and the same levels up to [`Bootstrapper::output_level`]; [`Error::SlotCount`] if the
    /// bootstrapper takes more slots than the small ring has; those of [`ModuleMap::new`],
    /// [`ModuleMap::embed_secret`] and of key generation.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: &SecretKey,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
        rng: &mut R,
    ) -> Result<Self> {
        let (op, bootstrapper) = ("generate keys to refresh a rank", bootstrapper.into());
        params.check(op, secret.fingerprint())?;
        let (small, large) = (params.lattice(), bootstrapper.params());
        let (found, most) = (bootstrapper.spec().slots, params.max_slots());
        if found > most {
            return Err(Error::SlotCount { op, found, least: 1, most });
        }
        let level = bootstrapper.output_level();
        let reaches = level <= params.max_level() && params.scale() == large.scale();
        if !reaches || (0..=level).any(|l| params.limbs_at(l) != large.limbs_at(l)) {
            let (left, right) = (params.fingerprint(), large.fingerprint());
            return Err(Error::ParamsMismatch { op, left, right });
        }
        let map = ModuleMap::new(large.lattice(), small, params.limbs().min(large.limbs()))?;
        let embedded = map.embed_secret(secret)?;
        let limbs = large.limbs_at(bootstrapper.input_level());
        let exponents = mlwe::trace_exponents(large.degree(), small.degree());
        let galois = GaloisKeys::generate(&embedded, exponents, limbs, rng)?;
        let rings = RingConversion::from_parts(large.lattice(), small, map, galois)?;
        let keys = EvaluationKeys::generate(large, &embedded, &bootstrapper.keys(), rng)?;
        let own = BootstrapKeys::generate(&bootstrapper, &embedded, rng)?;
        let evaluator = Evaluator::new(large, &keys)?.with_refresh(bootstrapper, own)?;
        Ok(Self { small: params.clone(), rings, evaluator })
    }

    /// The evaluator over the larger ring.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The conversion between the rings.
    pub fn rings(&self) -> &RingConversion {
        &self.rings
    }

    /// The same vector with new levels: [`Bootstrapper::output_level`], at the default scale. The operand
    /// needs no more than [`Bootstrapper::input_level`] levels; those above are given up.
    ///
    /// Noise: the embedding adds [`mlwe::noise::trace`] of nothing, the refresh what the bootstrapper says.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a vector of another set, and those of [`Evaluator::refresh`].
    pub fn refresh(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let (op, large) = ("refresh a rank", self.evaluator.params());
        self.small.check(op, x.lattice().fingerprint())?;
        let level = self.evaluator.bootstrapper().map_or(0, |b| b.input_level());
        let (mut inner, meta) = x.clone().into_parts();
        if x.level() > level {
            inner.truncate(large.limbs_at(level))?;
        }
        let limbs = inner.limbs();
        let embedded = self.rings.from_rank_divided(&inner)?;
        let added = mlwe::noise::trace(large.lattice(), self.rings.factor(), limbs, 0.0);
        let meta = Meta { noise: meta.noise + added, ..meta };
        let embedded = Ciphertext::from_parts(large, embedded, meta)?;
        let refreshed = self.evaluator.refresh(&embedded).map_err(|error| error.named(op))?;
        let inner = self.rings.to_rank(refreshed.lattice())?;
        Ciphertext::from_parts(&self.small, inner, *refreshed.meta())
    }
}
