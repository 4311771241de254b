//! Integers and paired vectors as they leave a server.
//!
//! The rule is that of [`Published`](bellerophon_ckks::Published): nothing is said of a result but
//! what its program declares, and what follows from its operations, which are public.
//!
//! Of reduced integers the modulus is a declaration of the range. That of the noise is a constant
//! of the number of integers and of a failure probability that the parameters state: the largest
//! standard deviation at which all integers decrypt exactly but for that probability. So two
//! vectors of one shape say the same, whatever tables a server applied.

use std::borrow::Borrow;
use std::ops::RangeInclusive;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::noise::{Noise, slot_std, sure_factor};
use bellerophon_ckks::publish::{NOISE, lowest_level, widened, with_bounds};
use bellerophon_ckks::simulator::SimCiphertext;
use bellerophon_ckks::{
    Bounds, ByServer, Ciphertext, CiphertextMeta, CkksOps, Declaration, Evaluator, Interval,
    Metadata, Params, Payload, Published, Result, ResultStatement, VectorStatement,
};
use bellerophon_mlwe as mlwe;
use bellerophon_ring::error::operation;
use serde::{Deserialize, Serialize};

use super::{
    IntVec, PairedVec, bootstrapper::fitting_factor, int_vec::reduced, paired::slot_range,
    spec::LOG_ENLARGEMENT,
};
use crate::{error, wire::kind};

/// `log2` of failure probabilities that integers are published for.
const LOG2_FAILURE: RangeInclusive<f64> = -256.0..=-1.0;

/// Bound on the slots of reduced integers, padding included, in moduli, for either part.
const LARGEST: f64 = 2.0;

/// What a sender states of integers. Range and scale follow from it and from the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IntegersStatement {
    /// The modulus.
    pub modulus: u32,
    /// Slots of one period.
    pub slots: u32,
    /// Number of integers.
    pub len: u32,
    /// The scale is the default scale times `2^16`, divided by the product of this factor and the
    /// modulus.
    pub factor: u32,
}

impl IntegersStatement {
    /// The scale; infinite for the factor 0.
    pub(super) fn scale(&self, params: &Params) -> f64 {
        unit(params) / (f64::from(self.modulus) * f64::from(self.factor))
    }

    /// The integers that a ciphertext holds.
    pub(super) fn of(&self, inner: Ciphertext) -> Result<IntVec> {
        let modulus = self.modulus as usize;
        let values = PairedVec::new(inner, reduced(modulus)?, self.len as usize)?;
        IntVec::of_values(values, modulus, false)
    }
}

/// What a server states of integers: their metadata are the modulus, the number of integers, and
/// exact decryption except with the failure probability of the parameters.
///
/// Published integers are at the least level that holds them, and declare the largest noise at
/// which they decrypt, so that no table accepts them. A server keeps an unpublished copy for
/// further computation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IntegerResultStatement {
    /// Modulus, shape and scale.
    pub integers: IntegersStatement,
    /// `log2` of the probability that some integer decrypts to another one, by the declared noise.
    pub log2_failure: f64,
}

impl IntegerResultStatement {
    fn meta(&self, params: &Params) -> Result<CiphertextMeta> {
        let Self { integers, log2_failure } = *self;
        let IntegersStatement { modulus, slots, len, factor } = integers;
        let (modulus, slots, len) = (modulus as usize, slots as usize, len as usize);
        if factor == 0 || !LOG2_FAILURE.contains(&log2_failure) {
            let reason = format!(
                "factor {factor} of the scale, log2 of the failure probability {log2_failure}: \
                 need a positive factor and {LOG2_FAILURE:?}"
            );
            return Err(error::shape(reason));
        }
        let (range, both) = (reduced(modulus)?, len > params.max_slots());
        let most = LARGEST * modulus as f64;
        let all = slot_range(&Interval::real(-most, most)?, both)?;
        let bounds = match both {
            true => Bounds::all(all),
            false => Bounds { values: range, padding: if len < slots { all } else { range } },
        };
        let scale = integers.scale(params);
        let deviation = 0.5 / sure_factor(len, log2_failure);
        let noise = Noise::new((deviation / slot_std(1.0, slots, scale, true)).powi(2));
        Ok(CiphertextMeta { scale, slots, len: len.min(params.max_slots()), bounds, noise })
    }
}

impl Payload<ByServer> for IntVec {
    const KIND: u16 = kind::PUBLISHED_INTEGERS;
    const NAME: &'static str = "published encrypted integers";
    type Statement = IntegerResultStatement;

    fn from_statement(
        params: &Params,
        lattice: mlwe::Ciphertext,
        statement: &IntegerResultStatement,
    ) -> Result<Self> {
        let inner = Ciphertext::from_parts(params, lattice, statement.meta(params)?)?;
        statement.integers.of(inner)
    }

    fn ciphertext(&self) -> &Ciphertext {
        self.values().inner()
    }
}

/// A result of which no more is said than its program declares.
impl Payload<ByServer> for PairedVec {
    const KIND: u16 = kind::PUBLISHED_PAIRED;
    const NAME: &'static str = "published paired vector";
    type Statement = ResultStatement;

    fn from_statement(
        params: &Params,
        lattice: mlwe::Ciphertext,
        statement: &ResultStatement,
    ) -> Result<Self> {
        let (len, most) = (statement.vector.len as usize, params.max_slots());
        let meta = statement.noiseless(params, lattice.limbs(), len.min(most))?;
        let (range, bound) = (meta.bounds.values, meta.bounds.values.bound());
        let all = slot_range(&Interval::real(-bound, bound)?, len > most)?;
        let bounds = match (all.is_real(), meta.len < meta.slots) {
            (true, true) => Bounds { values: range, padding: all },
            (true, false) => Bounds::all(range),
            (false, _) => Bounds::all(all),
        };
        let deviation = f64::from(statement.log2_noise).exp2();
        let meta = with_bounds(meta, bounds, deviation, true);
        let inner = Ciphertext::from_parts(params, lattice, meta)?;
        Self::new(inner, range, len)
    }

    fn ciphertext(&self) -> &Ciphertext {
        self.inner()
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

/// What leaves or enters a server of functional bootstraps, by its [`Evaluator`].
pub trait PublishExt: Borrow<Evaluator> {
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
    fn publish_integers(&self, x: &IntVec, log2_failure: f64) -> Result<Published<IntVec>> {
        operation("publish_integers", || published_integers(self.borrow(), x, log2_failure))
    }

    /// A paired vector as it may leave the server: what is said of it is what the program declares,
    /// a range of its values (`lo..=hi`) or a [`Declaration`] with the standard deviation of the
    /// error of a value. Level and scale are the declared ones, as for
    /// [`publish`](Evaluator::publish).
    fn publish_paired(
        &self,
        x: &PairedVec,
        declaration: impl Into<Declaration>,
    ) -> Result<Published<PairedVec>> {
        operation("publish_paired", || declared_paired(self.borrow(), x, &declaration.into()))
    }

    /// A paired vector of a client with the declared metadata, as [`admit`](Evaluator::admit).
    fn admit_paired(
        &self,
        x: &PairedVec,
        declaration: impl Into<Declaration>,
    ) -> Result<PairedVec> {
        operation("admit_paired", || admitted_paired(self.borrow(), x, &declaration.into()))
    }

    /// Integers of a client with the declared metadata, as [`admit`](Evaluator::admit): modulus,
    /// range, noise, level and scale are those that the server expects, such as those of the
    /// simulated encryption (`Declaration::from` its [`values`](IntVec::values)).
    ///
    /// # Errors
    /// As [`publish_paired`](Self::publish_paired), for integers that exceed the declaration, also
    /// by the bound on their noise; [`ErrorKind::Declaration`] for another modulus;
    /// [`ErrorKind::Noise`] for integers that come from reals without a table.
    fn admit_integers(
        &self,
        x: &IntVec,
        modulus: usize,
        declaration: impl Into<Declaration>,
    ) -> Result<IntVec> {
        operation("admit_integers", || {
            admitted_integers(self.borrow(), x, modulus, &declaration.into())
        })
    }
}

impl PublishExt for Evaluator {}

/// Integers as they may leave a server.
fn published_integers(e: &Evaluator, x: &IntVec, log2_failure: f64) -> Result<Published<IntVec>> {
    let (inner, modulus) = (x.values().inner(), x.modulus());
    e.check(inner)?;
    if !LOG2_FAILURE.contains(&log2_failure) {
        let reason = format!("log2 of the failure probability outside {LOG2_FAILURE:?}");
        return Err(error::shape(reason));
    }
    let refused = |what, needed| Err(error::unreduced(what, needed));

    x.check_source()?;

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
    let Some(factor) = scale_factor(e.params(), modulus, scale) else {
        return refused("the scale", "one that a functional bootstrap takes without a level");
    };

    // Step 4: the level, the least that holds such integers: those above tell of the table.
    let (modulus, slots, len) = (modulus as u32, slots as u32, x.len() as u32);
    let integers = IntegersStatement { modulus, slots, len, factor };
    let statement = IntegerResultStatement { integers, log2_failure };
    let meta = statement.meta(e.params())?;
    let bound = meta.bounds.slots().bound();
    let level = lowest_level(e.params(), bound, meta.scale, meta.noise.excess);
    let (lattice, _) = e.drop_to_level(inner, level)?.into_parts();
    Published::of(e.params(), lattice, statement)
}

fn admitted_integers(
    e: &Evaluator,
    x: &IntVec,
    modulus: usize,
    declaration: &Declaration,
) -> Result<IntVec> {
    x.check_source()?;
    let refused = |what, needed| Err(error::declaration(what, needed));
    if x.modulus() != modulus {
        return refused("modulus", "that of the integers");
    }
    // What is exact is decided by the bound on the noise.
    let CiphertextMeta { noise, slots, scale, .. } = *x.values().inner().meta();
    let found = slot_std(noise.bound, slots, scale, true);
    if found.is_nan() || found > declaration.largest_noise() {
        return refused("noise", NOISE);
    }
    let values = admitted_paired(e, x.values(), declaration)?;
    IntVec::of_values(values, modulus, false)
}

/// A paired vector with the declared metadata; the declared noise is its bound if it covers that.
fn admitted_paired(e: &Evaluator, x: &PairedVec, declaration: &Declaration) -> Result<PairedVec> {
    let admitted = declared_paired(e, x, declaration)?.into_inner();
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
    let inner = Ciphertext::from_parts(e.params(), lattice, CiphertextMeta { noise, ..meta })?;
    Ok(admitted.with(inner, range))
}

/// A paired vector with the declared metadata.
fn declared_paired(
    e: &Evaluator,
    x: &PairedVec,
    declaration: &Declaration,
) -> Result<Published<PairedVec>> {
    e.check(x.inner())?;
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
    let (inner, log2_noise) = e.at_declared(x.inner(), declaration, all.bound(), true)?;
    let (lattice, CiphertextMeta { scale, slots, .. }) = inner.into_parts();
    let (slots, len, range) = (slots as u32, x.len() as u32, (&range).into());
    let vector = VectorStatement { scale, slots, len, range };
    Published::of(e.params(), lattice, ResultStatement { vector, log2_noise })
}

/// The scale per revolution that published scales divide, whatever the parameters are for.
fn unit(params: &Params) -> f64 {
    params.scale() * f64::from(LOG_ENLARGEMENT).exp2()
}

/// The integer for which a scale of integers modulo `modulus` is that part of the [`unit`].
pub(super) fn scale_factor(params: &Params, modulus: usize, scale: f64) -> Option<u32> {
    let factor = fitting_factor(unit(params), modulus as f64, scale);
    factor.and_then(|factor| u32::try_from(factor).ok())
}
