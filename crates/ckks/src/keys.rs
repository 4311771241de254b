//! Evaluation keys: which keys a program requests, and the keys themselves.

use std::{collections::BTreeMap, fmt, ops::Add, sync::Arc};

use bellerophon_mlwe::{
    GaloisKey, GaloisKeys, GaloisSource, KeyId, RankHoistedKeys, RelinKeys, SecretKey,
};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{
    Error, PackedPoly, Result, Ring,
    wire::{Fingerprint, Packed},
};
use rand::CryptoRng;

use crate::error;
use crate::params::Params;

/// Bytes of the seed from which the masks of a key are expanded.
const SEED_BYTES: usize = 32;

/// A request for evaluation keys: which keys, and up to which level each.
///
/// A key serves its own level and all levels below. Its size and the time of a key switch grow with
/// the square of the level, so request a rotation that occurs only at low levels at a low level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyLevels {
    /// The highest level of products, if there are any.
    pub relinearization: Option<usize>,
    /// The highest level of conjugation, if there is any.
    pub conjugation: Option<usize>,
    /// The rotation steps, with the highest level of each; negative steps rotate to the right.
    pub rotations: BTreeMap<i64, usize>,
    /// The highest level of rotations by every step at a temporary rank, if there are any.
    pub hoisted: Option<usize>,
}

impl KeyLevels {
    /// Products of ciphertexts up to `level`.
    #[must_use]
    pub fn multiply(mut self, level: usize) -> Self {
        self.relinearization = self.relinearization.max(Some(level));
        self
    }

    /// Conjugation up to `level`.
    #[must_use]
    pub fn conjugate(mut self, level: usize) -> Self {
        self.conjugation = self.conjugation.max(Some(level));
        self
    }

    /// Rotations by these steps up to `level`; negative steps rotate to the right.
    #[must_use]
    pub fn rotate(mut self, steps: impl IntoIterator<Item = i64>, level: usize) -> Self {
        for step in steps {
            let present = self.rotations.entry(step).or_insert(level);
            *present = level.max(*present);
        }
        self
    }

    /// Rotations by plus and minus every power of two. Every other step is composed of about
    /// `log2(slots) / 3` of these rotations on average (non-adjacent form).
    #[must_use]
    pub fn rotate_by_powers_of_two(self, params: &Params, level: usize) -> Self {
        let powers =
            (0..params.max_slots().trailing_zeros()).flat_map(|k| [1i64 << k, -(1i64 << k)]);
        self.rotate(powers, level)
    }

    /// Rotations by every step up to `level`, at a temporary rank (DPad-HE, Algorithm 2): keys for
    /// plus and minus the powers of two at the larger rank, where a key switch has few digits, and
    /// one key back to the original rank after the last rotation. A step with a key of its own
    /// ([`rotate`](Self::rotate)) uses that key.
    ///
    /// [`RankHoistedKeys::choose`] selects the temporary rank. For parameters of rank 1 it is 2.
    #[must_use]
    pub fn rotate_hoisted(mut self, level: usize) -> Self {
        self.hoisted = self.hoisted.max(Some(level));
        self
    }

    /// The union of both requests, each key at the higher of its two levels.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.relinearization = self.relinearization.max(other.relinearization);
        self.conjugation = self.conjugation.max(other.conjugation);
        self.hoisted = self.hoisted.max(other.hoisted);
        for (&step, &level) in &other.rotations {
            self = self.rotate([step], level);
        }
        self
    }

    /// The same keys with levels lowered to at most `level`.
    #[must_use]
    pub fn up_to(mut self, level: usize) -> Self {
        let all = [&mut self.relinearization, &mut self.conjugation, &mut self.hoisted];
        let all = all.into_iter().flatten().chain(self.rotations.values_mut());
        all.for_each(|present| *present = level.min(*present));
        self
    }

    /// `Err` for a level that the parameters do not have.
    pub fn check(&self, params: &Params) -> Result<()> {
        let all = [self.relinearization, self.conjugation, self.hoisted];
        let mut levels = all.into_iter().flatten().chain(self.rotations.values().copied());
        levels.try_for_each(|level| params.check_level(level))
    }

    /// Exponents of the automorphisms, with the highest level of each.
    pub fn automorphisms(&self, params: &Params) -> BTreeMap<usize, usize> {
        // Different steps may give one automorphism, modulo the slots: keep the highest level.
        let mut exponents = BTreeMap::new();
        let mut add = |exponent: usize, level: usize| {
            let present = exponents.entry(exponent).or_insert(level);
            *present = level.max(*present);
        };
        for (&step, &level) in &self.rotations {
            // A rotation by a multiple of the slots is the identity and takes no key.
            if step.rem_euclid(params.max_slots() as i64) != 0 {
                add(params.rotation_exponent(step), level);
            }
        }
        if let Some(level) = self.conjugation {
            add(params.conjugation_exponent(), level);
        }
        exponents
    }

    /// The number of keys: one for products, one for each automorphism, and one for all rotations
    /// at a temporary rank.
    pub fn count(&self, params: &Params) -> usize {
        let several = [self.relinearization, self.hoisted];
        self.automorphisms(params).len() + several.iter().flatten().count()
    }

    /// Sizes of the keys. [`KeySizes::transit`] is [`EvaluationKeys::byte_len`] of the generated
    /// keys.
    pub fn sizes(&self, params: &Params) -> Result<KeySizes> {
        // A switching key has a row for each digit and each component of the secret.
        let (lattice, degree) = (params.lattice(), params.lattice().spec().degree);
        let (gadget, rank) = (lattice.gadget(), lattice.spec().rank);
        let one = |components: usize, level: usize| {
            let limbs = params.limbs_at(level);
            let rows = gadget.digits(limbs) * components;
            KeySizes::of_rows(rows, rank, gadget.ring(limbs))
        };
        self.check(params)?;

        // Step 1: the relinearization keys.
        let products = match self.relinearization {
            None => KeySizes::default(),
            Some(level) => {
                let (strategy, limbs) = (params.relin_strategy(), params.limbs_at(level));
                let transit = strategy.seeded_byte_len(limbs)?;
                let memory = strategy.memory_len(limbs)?;
                KeySizes { transit, memory }
            }
        };

        // Step 2: keys of all powers of two at the temporary rank, and one key back.
        let hoisted = match self.hoisted {
            None => KeySizes::default(),
            Some(level) => {
                let limbs = params.limbs_at(level);
                let raised = RankHoistedKeys::choose(lattice, limbs)?;
                let (rank, ring) = (raised.spec().rank, raised.gadget().ring(limbs));
                let rows = raised.gadget().digits(limbs) * rank;
                let key = KeySizes::of_rows(rows, rank, ring);
                let count = RankHoistedKeys::exponents(degree).len();
                let down = one(rank - lattice.spec().rank, level);
                let all = |size: fn(&KeySizes) -> usize| count * size(&key) + size(&down);
                KeySizes { transit: all(|size| size.transit), memory: all(|size| size.memory) }
            }
        };

        // Step 3: one Galois key for each automorphism.
        let own = self.automorphisms(params).into_values().map(|level| one(rank, level));
        Ok(own.fold(products + hoisted, Add::add))
    }
}

/// Sizes of keys in bytes, known before the keys exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeySizes {
    /// Bytes in serialized form: masks as seeds, residues packed to the bits of their primes.
    pub transit: usize,
    /// Bytes in memory on this machine: masks expanded, `ceil(bits / 8)` bytes per residue if the
    /// CPU has instructions to read them, otherwise 8 bytes.
    pub memory: usize,
}

impl KeySizes {
    /// The size of `rows` rows over a ring, each with one body and `masks` masks, with one seed.
    pub fn of_rows(rows: usize, masks: usize, ring: &Ring) -> Self {
        Self {
            transit: SEED_BYTES + rows * Packed::polys_len(ring, 1),
            memory: rows * (1 + masks) * PackedPoly::bytes_over(ring),
        }
    }
}

impl Add for KeySizes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { transit: self.transit + other.transit, memory: self.memory + other.memory }
    }
}

/// Relinearization and Galois keys of one secret key. Cheap to clone: the keys are shared.
#[derive(Clone)]
pub struct EvaluationKeys {
    params: Params,
    secret: KeyId,
    relinearization: Option<Arc<RelinKeys>>,
    galois: GaloisKeys,
    hoisted: Option<Arc<RankHoistedKeys>>,
    /// Rotation step in `[0, N/2)` to exponent.
    steps: BTreeMap<usize, usize>,
}

impl EvaluationKeys {
    /// No keys: enough for additions and products with plaintexts.
    pub fn none(params: &Params, secret: KeyId) -> Self {
        Self {
            params: params.clone(),
            secret,
            relinearization: None,
            galois: GaloisKeys::default(),
            hoisted: None,
            steps: BTreeMap::new(),
        }
    }

    /// Generates the requested keys.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: &SecretKey,
        spec: &KeyLevels,
        rng: &mut R,
    ) -> Result<Self> {
        Self::generate_observed(params, secret, spec, rng, || Ok(()))
    }

    /// As [`generate`](Self::generate), calling `made` after each of the
    /// [`KeyLevels::count`] keys. An error that it returns ends the generation.
    pub fn generate_observed<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: &SecretKey,
        spec: &KeyLevels,
        rng: &mut R,
        mut made: impl FnMut() -> Result<()>,
    ) -> Result<Self> {
        params.check(secret.params().fingerprint())?;
        let mut keys = Self::none(params, secret.id());

        // Step 1: choose the temporary rank, so that an error is returned before any key
        // generation.
        let hoisted = spec.hoisted.map(|level| {
            params.check_level(level)?;
            let limbs = params.limbs_at(level);
            Ok::<_, Error>((limbs, RankHoistedKeys::choose(params.lattice(), limbs)?))
        });
        let hoisted = hoisted.transpose()?;

        // Step 2: the relinearization keys.
        if let Some(level) = spec.relinearization {
            params.check_level(level)?;
            let limbs = params.limbs_at(level);
            let key = RelinKeys::generate(params.relin_strategy(), secret, limbs, rng);
            keys.insert_relinearization(key?)?;
            made()?;
        }

        // Step 3: a Galois key for each rotation step and for the conjugation.
        for (exponent, level) in spec.automorphisms(params) {
            params.check_level(level)?;
            let limbs = params.limbs_at(level);
            let key = GaloisKey::generate(secret, exponent, limbs, rng);
            keys.insert_galois(key?)?;
            made()?;
        }

        // Step 4: the keys of rotations at the temporary rank, under an extension of the secret.
        if let Some((limbs, raised)) = hoisted {
            let raised = secret.extend_rank(&raised, rng)?;
            let hoisted = RankHoistedKeys::generate(secret, &raised, limbs, rng);
            keys.insert_hoisted(hoisted?)?;
            made()?;
        }
        Ok(keys)
    }

    /// Adds relinearization keys. If keys are present already, those with more limbs are kept.
    pub fn insert_relinearization(&mut self, key: impl Into<Arc<RelinKeys>>) -> Result<()> {
        let key = key.into();
        // The secret that products are switched to must be that of this set.
        let from = key.cross().shape().from;
        self.params.check(from.fingerprint)?;
        if from.key != self.secret {
            return Err(bellerophon_mlwe::error::key_mismatch(from.key, self.secret));
        }
        self.params.check_relin_strategy(key.strategy())?;
        if self
            .relinearization
            .as_ref()
            .is_none_or(|present| present.cross().shape().limbs < key.cross().shape().limbs)
        {
            self.relinearization = Some(key);
        }
        Ok(())
    }

    /// Adds the key of an automorphism. Of two keys for one exponent, the one with more limbs is
    /// kept.
    pub fn insert_galois(&mut self, key: impl Into<Arc<GaloisKey>>) -> Result<()> {
        let key = key.into();
        // A Galois key starts and ends at the same secret.
        self.check(key.key().shape())?;
        self.insert_step(key.exponent());
        self.galois.insert(key);
        Ok(())
    }

    /// Adds the key of `X -> X^exponent`, `exponent` in `[1, 2N)`, for up to `limbs` limbs. The
    /// source loads it on first use, and guarantees that it belongs to these parameters and this
    /// secret.
    pub fn insert_stored(
        &mut self,
        exponent: usize,
        limbs: usize,
        source: Arc<dyn GaloisSource>,
    ) -> Result<()> {
        self.galois.insert_stored(self.params.lattice(), exponent, limbs, source)?;
        self.insert_step(exponent);
        Ok(())
    }

    /// Indexes the key of a rotation by its step; a conjugation has none.
    fn insert_step(&mut self, exponent: usize) {
        if let Some(step) = self.params.rotation_step(exponent) {
            self.steps.insert(step, exponent);
        }
    }

    /// Adds keys of rotations by every power of two at a temporary rank. Of two sets, the one with
    /// more limbs is kept.
    ///
    /// # Errors
    /// `mlwe::ErrorKind::ParamsMismatch`, `mlwe::ErrorKind::KeyMismatch`, and
    /// [`ErrorKind::MissingKey`] unless every power of two has its key.
    pub fn insert_hoisted(&mut self, keys: impl Into<Arc<RankHoistedKeys>>) -> Result<()> {
        let keys = keys.into();
        let to = keys.down().key().shape().to;
        self.params.check(to.fingerprint)?;
        if to.key != self.secret {
            return Err(bellerophon_mlwe::error::key_mismatch(to.key, self.secret));
        }
        // A rotation may need any of the powers of two.
        let limbs = keys.down().key().shape().limbs;
        let exponents = RankHoistedKeys::exponents(self.params.lattice().spec().degree);
        if !exponents.into_iter().all(|exponent| keys.galois().covers(exponent, limbs)) {
            return Err(error::missing_key("complete set of power-of-two rotation keys", true));
        }
        if self.hoisted.as_ref().is_none_or(|present| present.down().key().shape().limbs < limbs) {
            self.hoisted = Some(keys);
        }
        Ok(())
    }

    fn check(&self, shape: &bellerophon_mlwe::SwitchKeyInfo) -> Result<()> {
        self.params.check(shape.to.fingerprint)?;
        for key in [shape.from.key, shape.to.key] {
            ensure(key == self.secret, || bellerophon_mlwe::error::key_mismatch(key, self.secret))?;
        }
        Ok(())
    }

    /// Public id of the secret key of these keys.
    pub fn secret_id(&self) -> KeyId {
        self.secret
    }

    /// Fingerprint of the parameters.
    pub fn fingerprint(&self) -> Fingerprint {
        self.params.lattice().fingerprint()
    }

    /// The relinearization keys, if there are any.
    pub fn relinearization_keys(&self) -> Option<&RelinKeys> {
        self.relinearization.as_deref()
    }

    /// All Galois keys.
    pub fn galois_keys(&self) -> &GaloisKeys {
        &self.galois
    }

    /// The keys of rotations at a temporary rank, if there are any.
    pub fn hoisted_keys(&self) -> Option<&RankHoistedKeys> {
        self.hoisted.as_deref()
    }

    /// Bytes of all keys in serialized form, seeded and packed.
    pub fn byte_len(&self) -> usize {
        let lattice = self.params.lattice();
        let relin = self.relinearization.as_ref().map_or(0, |k| k.seeded_byte_len());
        let hoisted = self.hoisted.as_ref().map_or(0, |keys| keys.seeded_byte_len());
        relin + hoisted + self.galois.byte_len(lattice)
    }

    /// Whether a program that needs these keys runs on them: a key serves its own level and all
    /// levels below. Rotations without a key of their own are composed of others, or refused when
    /// the program runs.
    pub fn serves(&self, needed: &KeyLevels) -> bool {
        let limbs = |level: Option<usize>| level.map(|level| self.params.limbs_at(level));
        limbs(needed.relinearization).is_none_or(|limbs| self.relinearization(limbs).is_ok())
            && limbs(needed.conjugation).is_none_or(|limbs| self.conjugation(limbs).is_ok())
    }

    /// The relinearization keys for products of `limbs` limbs.
    pub fn relinearization(&self, limbs: usize) -> Result<&RelinKeys> {
        // A key serves its own level and all levels below.
        self.relinearization
            .as_deref()
            .filter(|key| key.cross().shape().limbs >= limbs)
            .ok_or_else(|| error::missing_key("relinearization key", true))
    }

    /// The key of the conjugation.
    pub fn conjugation(&self, limbs: usize) -> Result<Arc<GaloisKey>> {
        let exponent = self.params.conjugation_exponent();
        if !self.galois.covers(exponent, limbs) {
            return Err(error::missing_key("conjugation key", true));
        }
        self.galois.get(exponent)
    }

    /// The rotations of a vector of `slots` slots for which there are keys at this level: step in
    /// `[1, slots)` to exponent.
    pub fn rotations(&self, slots: usize, limbs: usize) -> BTreeMap<usize, usize> {
        // A vector of fewer slots repeats itself: steps that agree modulo `slots` are the same.
        let usable = self
            .steps
            .iter()
            .filter(|&(&step, &exponent)| step % slots != 0 && self.galois.covers(exponent, limbs));
        usable.map(|(&step, &exponent)| (step % slots, exponent)).collect()
    }
}

impl fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<_> = self.steps.keys().collect();
        f.debug_struct("EvaluationKeys")
            .field("secret", &self.secret)
            .field(
                "relinearization_limbs",
                &self.relinearization.as_ref().map(|key| key.cross().shape().limbs),
            )
            .field("steps", &steps)
            .field(
                "hoisted_limbs",
                &self.hoisted.as_ref().map(|keys| keys.down().key().shape().limbs),
            )
            .finish_non_exhaustive()
    }
}
