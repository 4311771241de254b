//! Bootstrapping of vectors of rank `r` through RLWE (DPad-HE, section 6.2).

use std::sync::Arc;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::vectors::Vectors;
use bellerophon_ckks::{Ciphertext, CiphertextMeta, EvaluationKeys, Evaluator, Params, Result};
use bellerophon_mlwe::{self as mlwe, GaloisKeys, ModuleMap, RingConversion, SecretKey};
use rand::CryptoRng;

use crate::bootstrap::{BootstrapKeys, Bootstrapper, Bootstrapping, EvaluatorExt};
use crate::circuit_ops::CircuitOps;
use crate::error;

/// Bootstraps vectors of rank `r` over a ring of degree `n`: embeds them into the ring of degree
/// `r n`, bootstraps them there, where a key switch has one component, and extracts them again,
/// which is exact and takes no key. Only level, scale and noise of the vector change.
///
/// Direct bootstrapping works at every rank too ([`Evaluator::with_bootstrapping`] with a
/// [`Bootstrapper`] of rank `r`). Its keys take `(r + 1) / 2` times the memory. At dimension
/// `2^12`, where both take about 0.1 s on one thread, it was slower by 1% at rank 2 and by 7% at
/// rank 4.
#[derive(Debug, Clone)]
pub struct RankBootstrap {
    small: Params,
    rings: RingConversion,
    evaluator: Evaluator,
}

impl RankBootstrap {
    /// Generates all keys (of the conversion, the bootstrap and its rotations) for vectors of
    /// `params` under `secret`. The parameters of the bootstrapper are RLWE (or of smaller rank)
    /// over the larger ring, with the same chain of primes and special primes.
    ///
    /// # Errors
    /// [`mlwe::ErrorKind::ParamsMismatch`] for a secret of other parameters, or if the two sets
    /// differ in scale or in a level up to [`Bootstrapper::output_level`]; [`ErrorKind::Shape`]
    /// if the bootstrapper has more slots than the small ring; those of [`ModuleMap::new`],
    /// [`ModuleMap::embed_secret`] and of key generation.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: &SecretKey,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
        rng: &mut R,
    ) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        // Step 1: both sets must agree in slots, scale and levels.
        params.check(secret.params().fingerprint())?;
        check_sets(params, &bootstrapper)?;

        // Step 2: the secret as an element of the larger ring, and the keys of the conversion.
        let (small, large) = (params.lattice(), bootstrapper.params());
        let map = ModuleMap::new(large.lattice(), small, params.limbs().min(large.limbs()))?;
        let embedded = map.embed_secret(secret)?;
        let limbs = large.limbs_at(bootstrapper.input_level());
        let exponents = mlwe::trace_exponents(large.lattice().spec().degree, small.spec().degree);
        let galois = GaloisKeys::generate(&embedded, exponents, limbs, rng)?;
        let rings = RingConversion::from_parts(large.lattice(), small, map, galois)?;

        // Step 3: all keys of the bootstrap over the larger ring.
        let keys = EvaluationKeys::generate(large, &embedded, &bootstrapper.keys(), rng)?;
        let own = BootstrapKeys::generate(bootstrapper.raising(), &embedded, rng)?;
        Self::from_parts(params, bootstrapper, rings, &keys, own)
    }

    /// Assembles the keys of the conversion and of the bootstrap with its rotations and products.
    pub(crate) fn from_parts(
        params: &Params,
        bootstrapper: Arc<Bootstrapper>,
        rings: RingConversion,
        keys: &EvaluationKeys,
        own: BootstrapKeys,
    ) -> Result<Self> {
        check_sets(params, &bootstrapper)?;
        // The trace leaves vectors under the secret of the bootstrap.
        let needed = keys.secret_id();
        let ids = rings.galois().iter().map(|key| key.key().shape().to.key);
        if let Some(found) = ids.into_iter().find(|&found| found != needed) {
            return Err(mlwe::error::key_mismatch(found, needed));
        }
        let evaluator = Evaluator::new(bootstrapper.params(), keys)?;
        let evaluator = evaluator.with_bootstrapping(bootstrapper, own)?;
        Ok(Self { small: params.clone(), rings, evaluator })
    }

    /// The conversion, and the keys of the bootstrap over the larger ring.
    pub(crate) fn parts(&self) -> (&RingConversion, &EvaluationKeys, &BootstrapKeys) {
        let own = self.evaluator.attached::<Bootstrapping>();
        let own = &own.expect("it was assembled with bootstrapping").keys;
        (&self.rings, self.evaluator.keys(), own)
    }

    /// The same vector at [`Bootstrapper::output_level`] and the default scale. The operand needs
    /// at least [`Bootstrapper::input_level`]; levels above are dropped.
    ///
    /// The embedding adds noise of variance [`mlwe::noise::trace`] of zero, the bootstrap adds its
    /// own.
    pub fn bootstrap(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let large = self.evaluator.params();
        self.small.check(x.lattice().ident().fingerprint)?;
        // Step 1: drop to the input level.
        let level = self.evaluator.bootstrapper().map_or(0, |b| b.input_level());
        let (mut inner, meta) = x.clone().into_parts();
        if x.level() > level {
            inner.truncate(large.limbs_at(level))?;
        }

        // Step 2: embed into the larger ring. The division keeps the scale.
        let limbs = inner.limbs();
        let embedded = self.rings.from_rank_divided(&inner)?;
        let added = mlwe::noise::trace(large.lattice(), self.rings.map().factor(), limbs, 0.0);
        let meta = CiphertextMeta { noise: meta.noise + added, ..meta };
        let embedded = Ciphertext::from_parts(large, embedded, meta)?.of(x.origins().clone());

        // Step 3: bootstrap there and extract.
        let bootstrapped = self.evaluator.bootstrap(&embedded)?;
        let inner = self.rings.to_rank(bootstrapped.lattice())?;
        let whole = Ciphertext::from_parts(&self.small, inner, *bootstrapped.meta())?;
        Ok(whole.of(x.origins().clone()))
    }
}

/// Refuses sets that differ in slots, scale or levels up to that of the result.
fn check_sets(params: &Params, bootstrapper: &Bootstrapper) -> Result<()> {
    let large = bootstrapper.params();
    let (found, most) = (bootstrapper.spec().slots, params.max_slots());
    if found > most {
        return Err(error::slot_count(found, 1, most));
    }
    let level = bootstrapper.output_level();
    let reaches = level <= params.max_level() && params.scale() == large.scale();
    if !reaches || (0..=level).any(|l| params.limbs_at(l) != large.limbs_at(l)) {
        let (needed, found) = (params.lattice().fingerprint(), large.lattice().fingerprint());
        return Err(mlwe::error::params_mismatch(found, needed));
    }
    Ok(())
}
