//! Integers and paired vectors as they leave a server.
//!
//! The rule is that of [`Published`](crate::Published): nothing is said of a result but what its
//! program declares, and what follows from its operations, which are public.
//!
//! Of reduced integers the modulus is a declaration of the range. That of the noise is a constant
//! of the number of integers and of a failure probability that the parameters state: the largest
//! standard deviation at which all integers decrypt exactly but for that probability. So two
//! vectors of one shape say the same, whatever tables a server applied.

#[cfg(doc)]
use crate::ErrorKind;
use std::ops::RangeInclusive;

use bellerophon_mlwe::{self as mlwe, noise::DECLARED_LOG2};

use super::bootstrapper::fitting_factor;
use super::int_vec::reduced;
use super::paired::slot_range;
use super::spec::LOG_ENLARGEMENT;
use super::{IntVec, PairedVec};
use crate::noise::{Noise, slot_std, sure_factor};
use crate::publish::{NOISE, lowest_level, widened, with_metadata};
use crate::simulator::SimCiphertext;
use crate::{
    Bounds, Ciphertext, CiphertextMeta, Declaration, During, Evaluator, Interval, Metadata, Params,
    Result, error,
};

const PUBLISH_INTEGERS: &str = "publish_integers";

const PUBLISH_PAIRED: &str = "publish_paired";

/// `log2` of failure probabilities that integers are published for.
const LOG2_FAILURE: RangeInclusive<f64> = -256.0..=-1.0;

/// Bound on the slots of reduced integers, padding included, in moduli, for either part.
const LARGEST: f64 = 2.0;

/// Integers for the client: their metadata are the modulus, the number of integers, and exact
/// decryption except with the failure probability of the parameters.
///
/// They are at the least level that holds them, and declare the largest noise at which they
/// decrypt, so that no table accepts them. A server keeps an unpublished copy for further
/// computation.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedIntegers {
    integers: IntVec,
    /// The scale is that of the circle over this times the modulus.
    factor: u32,
    log2_failure: f64,
}

impl PublishedIntegers {
    /// `log2` of the probability that some integer decrypts to another one, by the declared noise.
    pub fn log2_failure(&self) -> f64 {
        self.log2_failure
    }

    /// The integer that brings the scale to that of a functional bootstrap.
    pub(crate) fn factor(&self) -> u32 {
        self.factor
    }

    /// The declared metadata of `len` integers modulo `p` in `slots` slots.
    fn meta(
        params: &Params,
        slots: usize,
        (modulus, len): (usize, usize),
        factor: u32,
        log2_failure: f64,
    ) -> Result<CiphertextMeta> {
        if factor == 0 || !LOG2_FAILURE.contains(&log2_failure) {
            let reason = format!(
                "factor {factor} of the scale, log2 of the failure probability {log2_failure}: \
                 need a positive factor and {LOG2_FAILURE:?}"
            );
            return Err(error::shape(reason).during(PUBLISH_INTEGERS));
        }
        let (range, both) = (reduced(modulus)?, len > params.max_slots());
        let most = LARGEST * modulus as f64;
        let all = slot_range(&Interval::real(-most, most)?, both)?;
        let bounds = match both {
            true => Bounds::all(all),
            false => Bounds { values: range, padding: if len < slots { all } else { range } },
        };
        let scale = unit(params) / (modulus as f64 * f64::from(factor));
        let deviation = 0.5 / sure_factor(len, log2_failure);
        let noise = Noise::new((deviation / slot_std(1.0, slots, scale, true)).powi(2));
        Ok(CiphertextMeta { scale, slots, len: len.min(params.max_slots()), bounds, noise })
    }

    /// A lattice ciphertext whose message is as declared.
    pub(crate) fn of(
        params: &Params,
        lattice: mlwe::Ciphertext,
        slots: usize,
        (modulus, len): (usize, usize),
        (factor, log2_failure): (u32, f64),
    ) -> Result<Self> {
        let meta = Self::meta(params, slots, (modulus, len), factor, log2_failure)?;
        let ciphertext = Ciphertext::from_parts(params, lattice, meta)?;
        let values = PairedVec::new(ciphertext, reduced(modulus)?, len)?;
        Ok(Self { integers: IntVec::of_values(values, modulus, false)?, factor, log2_failure })
    }
}

/// The integers, with the declared range and noise.
impl From<PublishedIntegers> for IntVec {
    fn from(x: PublishedIntegers) -> Self {
        x.integers
    }
}

impl AsRef<IntVec> for PublishedIntegers {
    fn as_ref(&self) -> &IntVec {
        &self.integers
    }
}

/// A paired vector that may leave its server: of which no more is said than its program declares.
///
/// Servers can use it as an input again: it converts into a [`PairedVec`].
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedPaired {
    values: PairedVec,
    log2_noise: i32,
}

impl PublishedPaired {
    /// `log2` of the declared standard deviation of the error of a value.
    pub fn log2_noise(&self) -> i32 {
        self.log2_noise
    }

    /// A ciphertext whose message is as declared.
    pub(crate) fn of(
        params: &Params,
        ciphertext: Ciphertext,
        range: Interval,
        len: usize,
        log2_noise: i32,
    ) -> Result<Self> {
        if !DECLARED_LOG2.contains(&log2_noise) {
            return Err(error::declaration("noise", NOISE).during(PUBLISH_PAIRED));
        }
        let bound = range.bound();
        let all = slot_range(&Interval::real(-bound, bound)?, len > params.max_slots())?;
        let bounds = match (all.is_real(), ciphertext.len() < ciphertext.meta().slots) {
            (true, true) => Bounds { values: range, padding: all },
            (true, false) => Bounds::all(range),
            (false, _) => Bounds::all(all),
        };
        let noise = (f64::from(log2_noise).exp2(), true);
        let ciphertext = with_metadata(params, ciphertext, bounds, noise)?;
        Ok(Self { values: PairedVec::new(ciphertext, range, len)?, log2_noise })
    }
}

/// The vector, with the declared range and noise.
impl From<PublishedPaired> for PairedVec {
    fn from(x: PublishedPaired) -> Self {
        x.values
    }
}

impl AsRef<PairedVec> for PublishedPaired {
    fn as_ref(&self) -> &PairedVec {
        &self.values
    }
}

/// Range, noise, level and scale that the simulator predicts for a result of declared inputs.
impl From<&PairedVec<SimCiphertext>> for Declaration {
    fn from(foreseen: &PairedVec<SimCiphertext>) -> Self {
        let range = foreseen.range();
        let Metadata { level, meta } = *foreseen.inner().metadata();
        let CiphertextMeta { noise, slots, scale, .. } = meta;
        let noise = slot_std(noise.total, slots, scale, true);
        Self::from(range.lo()..=range.hi()).with_noise(noise).with_level(level).with_scale(scale)
    }
}

impl Evaluator {
    /// Integers as they may leave the server, exact but for a probability of `2^log2_failure`: what
    /// is said of them is their modulus and their number. Takes no level.
    ///
    /// The result has the least level that holds such integers, since the level at which a table
    /// leaves them depends on its entries. The number of slots and the integer by which the scale
    /// comes to that of a functional bootstrap follow from the operations of the program, which are
    /// public.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] for integers that are not reduced (their range before it within
    /// `0 ..= p - 1`), that come from reals without a table, whose noise may be above the one at
    /// which they decrypt exactly but for that probability, or at a scale that takes a functional
    /// bootstrap a level; it does not say by how much. [`ErrorKind::Shape`] for a `log2_failure`
    /// that is not in `-256..=-1`, and mismatches.
    pub fn publish_integers(&self, x: &IntVec, log2_failure: f64) -> Result<PublishedIntegers> {
        let op = PUBLISH_INTEGERS;
        let (inner, modulus) = (x.values().inner(), x.modulus());
        self.check(inner).during(op)?;
        if !LOG2_FAILURE.contains(&log2_failure) {
            let reason = format!("log2 of the failure probability outside {LOG2_FAILURE:?}");
            return Err(error::shape(reason).during(op));
        }
        let refused = |what, needed| Err(error::unreduced(what, needed).during(op));

        x.check_source().during(op)?;

        // Step 1: the range, which the modulus declares, and the padding.
        let range = reduced(modulus)?;
        let both = slot_range(&range, x.values().is_both())?;
        let slots = inner.metadata().meta.bounds.slots().bound();
        let most = slot_range(&Interval::real(0.0, LARGEST * modulus as f64)?, !both.is_real())?;
        if !range.contains(x.values().range()) || slots > most.bound() {
            return refused("the range", "0 to p - 1");
        }

        // Step 2: the noise of one integer.
        let CiphertextMeta { noise, slots, scale, .. } = *inner.meta();
        let found = slot_std(noise.bound.max(noise.excess), slots, scale, true);
        let most = 0.5 / sure_factor(x.len(), log2_failure);
        if found.is_nan() || found > most {
            return refused("the noise", "one that the failure probability allows");
        }

        // Step 3: the scale, written as the integer that follows from the operations.
        let Some(factor) = scale_factor(self.params(), modulus, scale) else {
            return refused("the scale", "one that a functional bootstrap takes without a level");
        };

        // Step 4: the level, the least that holds such integers: those above tell of the table.
        let shape = (modulus, x.len());
        let meta = PublishedIntegers::meta(self.params(), slots, shape, factor, log2_failure)?;
        let bound = meta.bounds.slots().bound();
        let level = lowest_level(self.params(), bound, meta.scale, meta.noise.excess);
        let (lattice, _) = self.drop_to_level(inner, level)?.into_parts();
        PublishedIntegers::of(self.params(), lattice, slots, shape, (factor, log2_failure))
    }

    /// A paired vector as it may leave the server: what is said of it is what the program declares,
    /// a range of its values (`lo..=hi`) or a [`Declaration`] with the standard deviation of the
    /// error of a value. Level and scale are the declared ones, as for [`publish`](Self::publish).
    ///
    /// # Errors
    /// Those of [`publish`](Self::publish); [`ErrorKind::Declaration`] for complex numbers, too.
    pub fn publish_paired(
        &self,
        x: &PairedVec,
        declaration: impl Into<Declaration>,
    ) -> Result<PublishedPaired> {
        self.declared_paired(x, &declaration.into()).during(PUBLISH_PAIRED)
    }

    /// A paired vector of a client with the declared metadata, as [`admit`](Self::admit).
    ///
    /// # Errors
    /// As [`publish_paired`](Self::publish_paired), for an input that exceeds the declaration.
    pub fn admit_paired(
        &self,
        x: &PairedVec,
        declaration: impl Into<Declaration>,
    ) -> Result<PairedVec> {
        self.admitted_paired(x, &declaration.into()).during("admit_paired")
    }

    /// Integers of a client with the declared metadata, as [`admit`](Self::admit): modulus, range,
    /// noise, level and scale are those that the server expects, such as those of the simulated
    /// encryption (`Declaration::from` its [`values`](IntVec::values)).
    ///
    /// # Errors
    /// As [`publish_paired`](Self::publish_paired), for integers that exceed the declaration, also
    /// by the bound on their noise; [`ErrorKind::Declaration`] for another modulus;
    /// [`ErrorKind::Noise`] for integers that come from reals without a table.
    pub fn admit_integers(
        &self,
        x: &IntVec,
        modulus: usize,
        declaration: impl Into<Declaration>,
    ) -> Result<IntVec> {
        let (op, declaration) = ("admit_integers", declaration.into());
        x.check_source().during(op)?;
        let refused = |what, needed| Err(error::declaration(what, needed).during(op));
        if x.modulus() != modulus {
            return refused("modulus", "that of the integers");
        }
        // What is exact is decided by the bound on the noise.
        let CiphertextMeta { noise, slots, scale, .. } = *x.values().inner().meta();
        let found = slot_std(noise.bound, slots, scale, true);
        if found.is_nan() || found > declaration.largest_noise() {
            return refused("noise", NOISE);
        }
        let values = self.admitted_paired(x.values(), &declaration).during(op)?;
        IntVec::of_values(values, modulus, false).during(op)
    }

    /// A paired vector with the declared metadata. The declared noise bounds errors of any
    /// correlation if it covers the own [`bound`](crate::noise::Noise::bound) of the input.
    fn admitted_paired(&self, x: &PairedVec, declaration: &Declaration) -> Result<PairedVec> {
        let admitted = PairedVec::from(self.declared_paired(x, declaration)?);
        let deviation = |x: &PairedVec, of: fn(&Noise) -> f64| {
            let CiphertextMeta { noise, slots, scale, .. } = *x.inner().meta();
            slot_std(of(&noise), slots, scale, true)
        };
        if deviation(x, |noise| noise.bound) > deviation(&admitted, |noise| noise.peak) {
            return Ok(admitted);
        }
        let range = *admitted.range();
        let (lattice, meta) = admitted.inner().clone().into_parts();
        let noise = Noise { bound: meta.noise.peak, ..meta.noise };
        let inner =
            Ciphertext::from_parts(self.params(), lattice, CiphertextMeta { noise, ..meta })?;
        Ok(admitted.with(inner, range))
    }

    /// A paired vector with the declared metadata.
    fn declared_paired(&self, x: &PairedVec, declaration: &Declaration) -> Result<PublishedPaired> {
        self.check(x.inner())?;
        let range = declaration.range()?;
        let refused = |needed| Err(error::declaration("range", needed));
        if !range.is_real() {
            return refused("a real range, of the values in either part of the slots");
        }
        declaration.admits_range(&range, x.range())?;
        let bound = range.bound();
        let all = slot_range(&Interval::real(-bound, bound)?, x.is_both())?;
        if x.inner().meta().bounds.slots().bound() > widened(&all).bound() {
            return refused("a magnitude that holds every slot, padding included");
        }
        let slots = (all.bound(), true);
        let (inner, log2_noise) = self.at_declared(x.inner(), declaration, slots)?;
        PublishedPaired::of(self.params(), inner, range, x.len(), log2_noise)
    }
}

/// The scale per revolution of which the scales of published integers are integer parts, whatever
/// the entries that the parameters are for.
pub(super) fn unit(params: &Params) -> f64 {
    params.scale() * f64::from(LOG_ENLARGEMENT).exp2()
}

/// The integer for which a scale of integers modulo `modulus` is that part of the [`unit`].
pub(super) fn scale_factor(params: &Params, modulus: usize, scale: f64) -> Option<u32> {
    let factor = fitting_factor(unit(params), modulus as f64, scale);
    factor.and_then(|factor| u32::try_from(factor).ok())
}
