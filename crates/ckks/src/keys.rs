//! The public keys that an evaluator computes with.

use std::{collections::BTreeMap, fmt, ops::Add, sync::Arc};

use bellerophon_mlwe::{
    GaloisKey, GaloisKeys, GaloisSource, KeyId, RankHoistedKeys, RelinKeys, SecretKey,
};
use bellerophon_ring::{
    Ring, Row,
    wire::{Fingerprint, Packed},
};
use rand::CryptoRng;

use crate::{Error, Params, Result};

/// Bytes of the seed that stands for the masks of a key.
const SEED_BYTES: usize = 32;

/// Which keys a program needs, and up to which level each.
///
/// A key serves its own level and all below; it costs space and time in proportion to the square of
/// its level, so a rotation that happens only low down should say so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySpec {
    relinearisation: Option<usize>,
    conjugation: Option<usize>,
    rotations: BTreeMap<i64, usize>,
    hoisted: Option<usize>,
}

impl KeySpec {
    /// No keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Products of ciphertexts up to `level`.
    #[must_use]
    pub fn multiply(mut self, level: usize) -> Self {
        self.relinearisation = self.relinearisation.max(Some(level));
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

    /// Rotations by plus and minus every power of two, from which every other step is composed in
    /// at most about a third of `log2(slots)` rotations on average (non-adjacent form).
    #[must_use]
    pub fn rotate_any(self, params: &Params, level: usize) -> Self {
        let powers =
            (0..params.max_slots().trailing_zeros()).flat_map(|k| [1i64 << k, -(1i64 << k)]);
        self.rotate(powers, level)
    }

    /// Rotations by every step up to `level`, at a temporary rank (DPad-HE, Algorithm 2): keys for
    /// plus and minus the powers of two at the larger rank, where a key switch has few digits, and one
    /// key that leads back after the last of them. A step that has a key of its own
    /// ([`rotate`](Self::rotate)) is done by that.
    ///
    /// The rank is [`RankHoistedKeys::choose`]'s. At rank 1 it is 2.
    #[must_use]
    pub fn rotate_hoisted(mut self, level: usize) -> Self {
        self.hoisted = self.hoisted.max(Some(level));
        self
    }

    /// The keys of both.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.relinearisation = self.relinearisation.max(other.relinearisation);
        self.conjugation = self.conjugation.max(other.conjugation);
        self.hoisted = self.hoisted.max(other.hoisted);
        for (&step, &level) in &other.rotations {
            self = self.rotate([step], level);
        }
        self
    }

    /// The same keys, none of them above `level`.
    #[must_use]
    pub fn up_to(mut self, level: usize) -> Self {
        let all = [&mut self.relinearisation, &mut self.conjugation, &mut self.hoisted];
        let all = all.into_iter().flatten().chain(self.rotations.values_mut());
        all.for_each(|present| *present = level.min(*present));
        self
    }

    /// The highest level of products, if there are any.
    pub fn relinearisation(&self) -> Option<usize> {
        self.relinearisation
    }

    /// The highest level of conjugations, if there are any.
    pub fn conjugation(&self) -> Option<usize> {
        self.conjugation
    }

    /// The highest level of rotations by every step at a temporary rank, if there are any.
    pub fn hoisted(&self) -> Option<usize> {
        self.hoisted
    }

    /// Steps of the rotations as asked for, with the highest level of each.
    pub fn rotations(&self) -> impl Iterator<Item = (i64, usize)> {
        self.rotations.iter().map(|(&step, &level)| (step, level))
    }

    /// Exponents of the automorphisms, with the highest level of each.
    pub fn automorphisms(&self, params: &Params) -> BTreeMap<usize, usize> {
        let mut exponents = BTreeMap::new();
        let mut add = |exponent: usize, level: usize| {
            let present = exponents.entry(exponent).or_insert(level);
            *present = level.max(*present);
        };
        for (&step, &level) in &self.rotations {
            if step.rem_euclid(params.max_slots() as i64) != 0 {
                add(params.rotation_exponent(step), level);
            }
        }
        if let Some(level) = self.conjugation {
            add(params.conjugation_exponent(), level);
        }
        exponents
    }

    /// Sizes of the keys; the first is that of [`EvaluationKeys::byte_len`].
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh) for keys above the levels of `params`;
    /// those of [`RankHoistedKeys::choose`].
    pub fn sizes(&self, params: &Params) -> Result<KeySizes> {
        let (lattice, degree) = (params.lattice(), params.degree());
        let (gadget, rank) = (lattice.gadget(), lattice.rank());
        let one = |components: usize, level: usize| {
            let limbs = params.limbs_at(level);
            let rows = gadget.digits(limbs) * components;
            KeySizes::of_rows(rows, rank, gadget.ring(limbs))
        };
        let automorphisms = self.automorphisms(params);
        let levels = automorphisms.values().chain(&self.relinearisation).chain(&self.hoisted);
        levels.into_iter().try_for_each(|&level| params.check_level("sizes of keys", level))?;
        let products = match self.relinearisation {
            None => KeySizes::default(),
            Some(level) => {
                let (route, limbs) = (params.route(), params.limbs_at(level));
                let (transit, memory) = (route.seeded_byte_len(limbs)?, route.memory_len(limbs)?);
                KeySizes { transit, memory }
            }
        };
        let hoisted = match self.hoisted {
            None => KeySizes::default(),
            Some(level) => {
                let limbs = params.limbs_at(level);
                let raised = RankHoistedKeys::choose(lattice, limbs)?;
                let (rank, ring) = (raised.rank(), raised.gadget().ring(limbs));
                let rows = raised.gadget().digits(limbs) * rank;
                let key = KeySizes::of_rows(rows, rank, ring);
                let count = RankHoistedKeys::exponents(degree).len();
                let down = one(rank - lattice.rank(), level);
                let all = |size: fn(&KeySizes) -> usize| count * size(&key) + size(&down);
                KeySizes { transit: all(|size| size.transit), memory: all(|size| size.memory) }
            }
        };
        let own = automorphisms.into_values().map(|level| one(rank, level));
        Ok(own.fold(products + hoisted, Add::add))
    }
}

/// Bytes of keys, known before they are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeySizes {
    /// As they travel: masks as seeds, residues packed to the bits of their primes.
    pub transit: usize,
    /// In the memory of this machine: masks expanded, residues in whole bytes where its instructions read
    /// them so, otherwise in words of 8.
    pub memory: usize,
}

impl KeySizes {
    /// Of `rows` rows of one body and `masks` masks each over a ring, with one seed.
    pub(crate) fn of_rows(rows: usize, masks: usize, ring: &Ring) -> Self {
        Self {
            transit: SEED_BYTES + rows * Packed::polys_len(ring, 1),
            memory: rows * (1 + masks) * Row::bytes_over(ring),
        }
    }
}

impl Add for KeySizes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { transit: self.transit + other.transit, memory: self.memory + other.memory }
    }
}

/// Relinearisation and Galois keys of one secret key. Cheap to clone: the keys are shared.
#[derive(Clone)]
pub struct EvaluationKeys {
    params: Params,
    secret: KeyId,
    relinearisation: Option<Arc<RelinKeys>>,
    galois: GaloisKeys,
    hoisted: Option<Arc<RankHoistedKeys>>,
    /// Rotation step in `[0, N/2)` to exponent.
    steps: BTreeMap<usize, usize>,
}

impl EvaluationKeys {
    /// No keys at all: enough to add, and to multiply by plaintexts.
    pub fn none(params: &Params, secret: KeyId) -> Self {
        Self {
            params: params.clone(),
            secret,
            relinearisation: None,
            galois: GaloisKeys::new(),
            hoisted: None,
            steps: BTreeMap::new(),
        }
    }

    /// Generates what the specification asks for.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] when the secret belongs to other parameters,
    /// [`Error::LevelTooHigh`] for a level that they do not have, those of
    /// [`RankHoistedKeys::choose`].
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: &SecretKey,
        spec: &KeySpec,
        rng: &mut R,
    ) -> Result<Self> {
        let op = "generate evaluation keys";
        params.check(op, secret.fingerprint())?;
        let mut keys = Self::none(params, secret.id());
        // Refused, if at all, before any key is made.
        let hoisted = spec.hoisted().map(|level| {
            params.check_level(op, level)?;
            let limbs = params.limbs_at(level);
            Ok::<_, Error>((limbs, RankHoistedKeys::choose(params.lattice(), limbs)?))
        });
        let hoisted = hoisted.transpose()?;
        if let Some(level) = spec.relinearisation() {
            params.check_level(op, level)?;
            let limbs = params.limbs_at(level);
            keys.insert_relinearisation(RelinKeys::generate(params.route(), secret, limbs, rng)?)?;
        }
        for (exponent, level) in spec.automorphisms(params) {
            params.check_level(op, level)?;
            let limbs = params.limbs_at(level);
            keys.insert_galois(GaloisKey::generate(secret, exponent, limbs, rng)?)?;
        }
        if let Some((limbs, raised)) = hoisted {
            let raised = secret.extend_rank(&raised, rng)?;
            keys.insert_hoisted(RankHoistedKeys::generate(secret, &raised, limbs, rng)?)?;
        }
        Ok(keys)
    }

    /// Adds relinearisation keys; of two the ones with more limbs stay.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], and [`Error::RouteMismatch`] for keys of
    /// another route than [`Params::route`].
    pub fn insert_relinearisation(&mut self, key: impl Into<Arc<RelinKeys>>) -> Result<()> {
        let (op, key) = ("add relinearisation keys", key.into());
        let from = key.cross().shape().from;
        self.params.check(op, from.fingerprint)?;
        if from.key != self.secret {
            return Err(Error::KeyMismatch { op, left: self.secret, right: from.key });
        }
        self.params.check_route(op, key.route())?;
        if self.relinearisation.as_ref().is_none_or(|present| present.limbs() < key.limbs()) {
            self.relinearisation = Some(key);
        }
        Ok(())
    }

    /// Adds the key of an automorphism; of two for one exponent the one with more limbs stays.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`].
    pub fn insert_galois(&mut self, key: impl Into<Arc<GaloisKey>>) -> Result<()> {
        let key = key.into();
        self.check(key.key().shape())?;
        self.insert_step(key.exponent());
        self.galois.insert(key);
        Ok(())
    }

    /// Adds the key of an automorphism `X -> X^exponent`, `exponent` in `[1, 2N)`, that waits
    /// elsewhere until it is needed, for ciphertexts of up to `limbs` limbs. The source vouches that
    /// it is one of these parameters and of this secret key.
    ///
    /// # Errors
    /// For limbs that the parameters do not have.
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

    fn insert_step(&mut self, exponent: usize) {
        if let Some(step) = self.params.rotation_step(exponent) {
            self.steps.insert(step, exponent);
        }
    }

    /// Adds keys of rotations at a temporary rank, by every power of two; of two sets the one with more
    /// limbs stays. Any rank and special primes will do, chosen by hand or by
    /// [`RankHoistedKeys::choose`].
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], and [`Error::MissingKey`] unless every power
    /// of two has its key.
    pub fn insert_hoisted(&mut self, keys: impl Into<Arc<RankHoistedKeys>>) -> Result<()> {
        let (op, keys) = ("add keys of hoisted rotations", keys.into());
        let to = keys.down().key().shape().to;
        self.params.check(op, to.fingerprint)?;
        if to.key != self.secret {
            return Err(Error::KeyMismatch { op, left: self.secret, right: to.key });
        }
        let limbs = keys.limbs();
        let exponents = RankHoistedKeys::exponents(self.params.degree());
        if !exponents.into_iter().all(|exponent| keys.galois().covers(exponent, limbs)) {
            let level = self.params.level_at(limbs);
            return Err(Error::MissingKey { op, key: "key of every power of two", level });
        }
        if self.hoisted.as_ref().is_none_or(|present| present.limbs() < limbs) {
            self.hoisted = Some(keys);
        }
        Ok(())
    }

    fn check(&self, shape: &bellerophon_mlwe::KeyShape) -> Result<()> {
        let op = "add an evaluation key";
        self.params.check(op, shape.to.fingerprint)?;
        for key in [shape.from.key, shape.to.key] {
            if key != self.secret {
                return Err(Error::KeyMismatch { op, left: self.secret, right: key });
            }
        }
        Ok(())
    }

    /// Public id of the secret key that these keys belong to.
    pub fn secret_id(&self) -> KeyId {
        self.secret
    }

    /// Fingerprint of the parameters.
    pub fn fingerprint(&self) -> Fingerprint {
        self.params.fingerprint()
    }

    /// The relinearisation keys, if there are any.
    pub fn relinearisation_keys(&self) -> Option<&RelinKeys> {
        self.relinearisation.as_deref()
    }

    /// All Galois keys.
    pub fn galois_keys(&self) -> &GaloisKeys {
        &self.galois
    }

    /// The keys of rotations at a temporary rank, if there are any.
    pub fn hoisted_keys(&self) -> Option<&RankHoistedKeys> {
        self.hoisted.as_deref()
    }

    /// Bytes of all keys in seeded, packed form.
    pub fn byte_len(&self) -> usize {
        let lattice = self.params.lattice();
        let relin = self.relinearisation.as_ref().map_or(0, |k| k.seeded_byte_len());
        let hoisted = self.hoisted.as_ref().map_or(0, |keys| keys.seeded_byte_len());
        relin + hoisted + self.galois.byte_len(lattice)
    }

    /// The relinearisation keys for products of `limbs` limbs.
    pub(crate) fn relinearisation(&self, op: &'static str, limbs: usize) -> Result<&RelinKeys> {
        let level = self.params.level_at(limbs);
        self.relinearisation
            .as_deref()
            .filter(|key| key.limbs() >= limbs)
            .ok_or(Error::MissingKey { op, key: "relinearisation key", level })
    }

    /// The key of the conjugation.
    pub(crate) fn conjugation(&self, op: &'static str, limbs: usize) -> Result<Arc<GaloisKey>> {
        let exponent = self.params.conjugation_exponent();
        if !self.galois.covers(exponent, limbs) {
            let level = self.params.level_at(limbs);
            return Err(Error::MissingKey { op, key: "conjugation key", level });
        }
        Ok(self.galois.get(op, exponent)?)
    }

    /// The rotations of a vector of `slots` slots that there are keys for at this level: step in
    /// `[1, slots)` and exponent.
    pub(crate) fn rotations(&self, slots: usize, limbs: usize) -> BTreeMap<usize, usize> {
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
            .field("relinearisation_limbs", &self.relinearisation.as_ref().map(|key| key.limbs()))
            .field("steps", &steps)
            .field("hoisted_limbs", &self.hoisted.as_ref().map(|keys| keys.limbs()))
            .finish_non_exhaustive()
    }
}
