//! Publication of results: a result leaves a server with a declared range and noise.
//!
//! The metadata of a ciphertext follow every operation, with constants of the server among the
//! operands: the range of `w x + b` for a known `x` reveals `w` and `b`, and so may level and
//! scale. A [`Published`] result carries instead what the program declares ([`Declaration`]) before
//! it sees any data. [`Evaluator::publish`] refuses a result that may exceed its declaration. Slots
//! and number of values follow from public lengths; a declaration may state them as well.
//!
//! # Inputs
//!
//! Whether an operation is refused depends on the constants of the server, too. A client that
//! chooses the range, noise, level or length of its inputs and sees which of them are refused
//! learns about these constants. A server with secret constants therefore fixes the metadata of
//! inputs: [`Evaluator::admit`] holds each input to a declaration of the server, before any
//! constant is used. All admitted inputs of one declaration are then refused alike, or not at all.

#[cfg(doc)]
use crate::ErrorKind;
use std::ops::RangeInclusive;

use bellerophon_mlwe::{
    self as mlwe,
    noise::{DECLARED_LOG2, declared_log2},
};
use bellerophon_ring::Result;
use bellerophon_ring::error::operation;
use serde::{Deserialize, Serialize};

use crate::ciphertext::{Ciphertext, CiphertextMeta};
use crate::encode::{check_scale, magnitude};
use crate::error;
use crate::eval::Evaluator;
use crate::interval::{Bounds, Interval};
use crate::metadata::Metadata;
use crate::metadata::route::Route;
use crate::noise::{self, Noise};
use crate::params::Params;
use crate::provided::VectorStatement;
use crate::simulator::SimCiphertext;
use crate::stated::{ByServer, Payload, Stated};
use crate::wire::kind;

/// The remedy in [`ErrorKind::Declaration`] for ranges.
const RANGE: &str = "a range that contains every value that the operations allow, or state a \
    tighter range that the program is known to keep (`assume_range`) before it publishes";

/// The remedy in [`ErrorKind::Declaration`] for levels.
const LEVEL: &str = "a level that the result has left (`Declaration::with_level`; the default is \
    the lowest that holds range and noise), or start the program higher";

/// The remedy in [`ErrorKind::Declaration`] for scales.
const SCALE: &str = "the scale of the program (`Declaration::with_scale`, or `Declaration::from` a \
    simulated result), or leave the program a level above the declared one: a new scale takes it";

/// The remedy in [`ErrorKind::Declaration`] for noise.
pub const NOISE: &str =
    "at least the predicted noise, from 2^-300 to 2^300 (`Declaration::with_noise`)";

/// Most that the standard deviation of the error of the worst slot may be above the declared one.
const LARGEST: f64 = 64.0;
/// The remedy in [`ErrorKind::Declaration`] for numbers of values and slots.
const SHAPE: &str = "the number that it has (`Declaration::with_len`, \
    `Declaration::with_slots`), or give the vector the declared one (`with_len`, `repeated`)";

/// `-log2` of the default noise of a declared range, relative to its largest magnitude.
const UNSTATED_BITS: i32 = 4;

/// A program's declaration of a result: the range of its values, the standard deviation of a slot's
/// error, rounded up to a power of two (the variance: to a power of four), level and scale. If the
/// statements of the program are true, the standard deviation predicted for the worst slot is at
/// most 64 times as large, and no larger than the range unless the declared one is: a result used
/// as an input again counts with it.
///
/// It follows from the source of the program, or from a
/// [`Simulator`](crate::simulator::Simulator) that runs it on the declared ranges of its inputs
/// (`Declaration::from(&vector)`), without secret constants of the server.
///
/// ```
/// use bellerophon_ckks::Declaration;
///
/// let declared = Declaration::from(-8.0..=8.0); // noise of 2^-4 of the largest magnitude: 0.5
/// assert_eq!(declared.noise(), 0.5);
/// assert_eq!(declared.with_noise(1e-3).noise(), 2f64.powi(-9));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declaration {
    lo: f64,
    hi: f64,
    complex: bool,
    /// `None` for an invalid noise, which is refused on use.
    log2_noise: Option<i32>,
    /// `None` for the lowest level that holds range and noise.
    level: Option<usize>,
    /// `None` for the default scale of the parameters.
    scale: Option<f64>,
    /// `None` for those of the vector.
    slots: Option<usize>,
    len: Option<usize>,
}

impl Declaration {
    /// Values in the disc `|z| <= bound`, with noise of `2^-4` of the bound.
    pub fn complex(bound: f64) -> Self {
        Self { complex: true, ..Self::from(-bound..=bound) }
    }

    /// The same with a stated noise: the standard deviation of a slot's error in units of the
    /// message, of the real part for real messages and of the absolute value for complex ones.
    #[must_use]
    pub fn with_noise(self, noise: f64) -> Self {
        Self { log2_noise: declared_log2(noise), ..self }
    }

    /// The same with a stated level instead of the lowest that holds range and noise: for inputs of
    /// further programs, and for flooding, whose noise takes room.
    #[must_use]
    pub fn with_level(self, level: usize) -> Self {
        Self { level: Some(level), ..self }
    }

    /// The same with a stated scale instead of the default one ([`Params::scale`]).
    #[must_use]
    pub fn with_scale(self, scale: f64) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// The same with a stated number of values: a vector of another number is refused.
    #[must_use]
    pub fn with_len(self, len: usize) -> Self {
        Self { len: Some(len), ..self }
    }

    /// The same with a stated number of slots: a vector of another number is refused.
    #[must_use]
    pub fn with_slots(self, slots: usize) -> Self {
        Self { slots: Some(slots), ..self }
    }

    /// Standard deviation of a slot's error, a power of two; NaN if the stated noise was invalid.
    pub fn noise(&self) -> f64 {
        self.log2_noise.map_or(f64::NAN, |log2| f64::from(log2).exp2())
    }

    /// Standard deviation of the error of the worst slot since the range was last stated, for
    /// errors of any correlation; NaN if the stated noise was invalid.
    pub fn largest_noise(&self) -> f64 {
        largest_deviation(self.noise(), self.bound())
    }

    /// The largest magnitude of the values.
    fn bound(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// The range of the values.
    pub fn range(&self) -> Result<Interval> {
        if self.complex { Interval::complex(self.hi) } else { Interval::real(self.lo, self.hi) }
    }
}

/// A real range, with noise of `2^-4` of its largest magnitude, rounded up to a power of two. The
/// range `[0, 0]` has no such noise: state one ([`Declaration::with_noise`]).
impl From<RangeInclusive<f64>> for Declaration {
    fn from(range: RangeInclusive<f64>) -> Self {
        let (lo, hi) = range.into_inner();
        let bound = lo.abs().max(hi.abs());
        let log2_noise = declared_log2(bound * f64::from(-UNSTATED_BITS).exp2());
        let (level, scale, slots, len) = (None, None, None, None);
        Self { lo, hi, complex: false, log2_noise, level, scale, slots, len }
    }
}

/// Range, noise, level and scale that a simulator predicts for a result of declared inputs.
impl From<&SimCiphertext> for Declaration {
    fn from(foreseen: &SimCiphertext) -> Self {
        let metadata = foreseen.metadata();
        let range = metadata.meta.bounds.values;
        let (lo, hi, complex) = (range.lo(), range.hi(), !range.is_real());
        let (level, scale) = (Some(metadata.level), Some(metadata.meta.scale));
        let log2_noise = declared_log2(metadata.noise());
        Self { lo, hi, complex, log2_noise, level, scale, slots: None, len: None }
    }
}

/// A result that may leave its server: a vector with the declared range, noise, level and scale
/// instead of the computed ones.
///
/// It converts into the vector, which may be an input again.
pub type Published<T = Ciphertext> = Stated<T, ByServer>;

/// What a server states of a result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ResultStatement {
    /// Scale, shape and declared range.
    pub vector: VectorStatement,
    /// `log2` of the declared standard deviation of the error of a slot, or of a value of paired
    /// vectors.
    pub log2_noise: i32,
}

impl ResultStatement {
    /// The metadata of a vector of the stated shape, with `len` values in its slots, before the
    /// declared noise.
    pub fn noiseless(&self, params: &Params, limbs: usize, len: usize) -> Result<CiphertextMeta> {
        let VectorStatement { scale, slots, range, .. } = self.vector;
        let (slots, bounds) = (slots as usize, Bounds::all(range.try_into()?));
        let meta = CiphertextMeta { scale, slots, len, bounds, noise: Noise::NONE };
        meta.check(params, limbs)?;
        match DECLARED_LOG2.contains(&self.log2_noise) {
            true => Ok(meta),
            false => Err(error::declaration("noise", NOISE)),
        }
    }
}

impl<T: Payload<ByServer, Statement = ResultStatement>> Stated<T, ByServer> {
    /// `log2` of the declared standard deviation of the error of a slot, or of a value of paired
    /// vectors.
    pub fn log2_noise(&self) -> i32 {
        self.statement().log2_noise
    }
}

impl Payload<ByServer> for Ciphertext {
    const KIND: u16 = kind::PUBLISHED;
    const NAME: &'static str = "published encrypted vector";
    type Statement = ResultStatement;

    fn from_statement(
        params: &Params,
        lattice: mlwe::Ciphertext,
        statement: &ResultStatement,
    ) -> Result<Self> {
        let len = statement.vector.len as usize;
        let meta = statement.noiseless(params, lattice.limbs(), len)?;
        let meta = stated(meta, meta.bounds.values, statement.log2_noise)?;
        Self::from_parts(params, lattice, meta)
    }

    fn ciphertext(&self) -> &Ciphertext {
        self
    }
}

/// What a declaration is for.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// A result that leaves the server.
    Published,
    /// An input that enters it.
    Admitted,
}

/// The metadata of a vector that states a declared range and noise.
fn stated(meta: CiphertextMeta, range: Interval, log2_noise: i32) -> Result<CiphertextMeta> {
    // The range of the padding must follow from declared range and shape alone.
    let bound = range.bound();
    let all = if range.is_real() { Interval::real(-bound, bound)? } else { range };
    let padding = if meta.len < meta.slots { all } else { range };
    let bounds = Bounds { values: range, padding };
    Ok(with_bounds(meta, bounds, f64::from(log2_noise).exp2(), range.is_real()))
}

/// The metadata with new bounds and a new standard deviation of a slot's error: that of one part if
/// `of_part`, else that of the absolute value. Keeps scale, slots and number of values.
pub fn with_bounds(
    meta: CiphertextMeta,
    bounds: Bounds,
    deviation: f64,
    of_part: bool,
) -> CiphertextMeta {
    // The inverse of `slot_std`: from the deviation of a slot to the variance of a coefficient.
    let unit = noise::slot_std(1.0, meta.slots, meta.scale, of_part);
    let variance = |deviation: f64| (deviation / unit).powi(2);
    let bound = bounds.slots().bound();
    let largest = largest_deviation(deviation, bound);
    let noise = Noise::varying(variance(deviation), variance(largest));
    // An error of any correlation: that within the range, up to its width, and the departure from
    // it.
    let noise = Noise { bound: variance(2.0 * bound + largest), ..noise };
    CiphertextMeta { bounds, noise, ..meta }
}

impl AsRef<Ciphertext> for Ciphertext {
    fn as_ref(&self) -> &Ciphertext {
        self
    }
}

impl Evaluator {
    /// The result `x` in the form that may leave the server: with the range (`lo..=hi`) or
    /// [`Declaration`] of the program, at the declared level and scale. A scale other than that of
    /// `x` takes a level.
    ///
    /// The declared noise covers the predicted one: that of the mean slot
    /// ([`Noise::total`](crate::noise::Noise)), and a 64th of those of the worst slot (`peak`) and
    /// of the departure from the range (`excess`). These are no bounds for errors of any
    /// correlation (`bound`); integers are published only within that bound. A wrong statement of
    /// the program (`assume_noise`, `assume_range`) makes them wrong, and equal values of several
    /// encryptions share roundings that they count as independent.
    ///
    /// ```
    /// # use bellerophon_ckks::{Ciphertext, CkksOps, Declaration, Evaluator, Published, Result};
    /// # fn f(evaluator: &Evaluator, x: &Ciphertext) -> Result<Published> {
    /// // The constants are secrets of the server.
    /// let score = evaluator.add_scalar(&evaluator.mul_scalar(x, 0.37)?, -0.2)?;
    /// evaluator.publish(&score, Declaration::from(-1.0..=1.0).with_noise(1e-6))
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Declaration`] if values, padding or noise may exceed the declared ones, or if
    /// the result cannot reach the declared level or scale; the error does not say by how much.
    pub fn publish(
        &self,
        x: &Ciphertext,
        declaration: impl Into<Declaration>,
    ) -> Result<Published> {
        operation("publish", || {
            let (vector, log2_noise) = self.declared(x, &declaration.into(), Use::Published)?;
            let statement =
                ResultStatement { vector: VectorStatement::of(vector.meta()), log2_noise };
            Ok(Stated { vector, statement })
        })
    }

    /// An input of a client with the declared metadata, whatever the client stated within them; the
    /// [module page](self) says why. State the noise: the default of a range is far larger than
    /// that of an encryption.
    ///
    /// Exact tables read an admitted vector if its [`bound`](Noise::bound) is within the declared
    /// noise: encryptions, but no published vectors.
    ///
    /// ```
    /// # use bellerophon_ckks::{Ciphertext, CkksOps, Declaration, Evaluator, Interval, Result};
    /// # use bellerophon_ckks::simulator::Simulator;
    /// # fn f(evaluator: &Evaluator, received: &Ciphertext) -> Result<Ciphertext> {
    /// // Eight values of [-1, 1], encrypted at level 2.
    /// let simulator = Simulator::new(evaluator.params());
    /// let fresh = simulator.encrypt(&[0.0; 8], Interval::real(-1.0, 1.0)?, 2)?;
    /// let expected = Declaration::from(&fresh).with_len(8).with_slots(8);
    /// let x = evaluator.admit(received, expected)?;
    /// // From here on secret constants may enter.
    /// evaluator.mul_scalar(&x, 0.37)
    /// # }
    /// ```
    pub fn admit(&self, x: &Ciphertext, declaration: impl Into<Declaration>) -> Result<Ciphertext> {
        operation("admit", || Ok(self.declared(x, &declaration.into(), Use::Admitted)?.0))
    }

    /// The vector with the declared metadata, and `log2` of the declared noise.
    fn declared(
        &self,
        x: &Ciphertext,
        declaration: &Declaration,
        of: Use,
    ) -> Result<(Ciphertext, i32)> {
        self.check(x)?;
        let (to, route, log2_noise) = declaration.covered(self.params(), &x.metadata(), of)?;
        let (lattice, _) = self.follow(x, &route)?.into_owned().into_parts();
        Ok((Ciphertext::from_parts(self.params(), lattice, to.meta)?, log2_noise))
    }

    /// The vector at the level of a declaration, and `log2` of the noise that is declared there.
    pub fn at_declared(
        &self,
        x: &Ciphertext,
        declaration: &Declaration,
        bound: f64,
        of_part: bool,
    ) -> Result<(Ciphertext, i32)> {
        let (at, route, log2_noise) =
            declaration.reached(self.params(), &x.metadata(), bound, of_part)?;
        let (lattice, _) = self.follow(x, &route)?.into_owned().into_parts();
        Ok((Ciphertext::from_parts(self.params(), lattice, at.meta)?, log2_noise))
    }
}

/// The lowest level that holds slots up to `bound` with noise of a variance; the highest level if
/// none does.
pub fn lowest_level(params: &Params, bound: f64, scale: f64, variance: f64) -> usize {
    let largest = magnitude(bound * scale, variance) / scale;
    let fits = |&level: &usize| params.check_range(largest, scale, params.limbs_at(level)).is_ok();
    (0..=params.max_level()).find(fits).unwrap_or(params.max_level())
}

impl Declaration {
    /// The metadata with which [`Evaluator::publish`] publishes a vector of these: for plans.
    pub fn published(&self, params: &Params, x: &Metadata) -> Result<Metadata> {
        let (published, ..) = self.covered(params, x, Use::Published)?;
        Ok(published)
    }

    /// The published metadata of a vector that the declaration covers, the route to its level and
    /// scale, and `log2` of the declared noise.
    fn covered(&self, params: &Params, x: &Metadata, of: Use) -> Result<(Metadata, Route, i32)> {
        // Refuse what the declaration does not cover, then forget the computed metadata.
        let range = self.range()?;
        self.admits(&range, &x.meta.bounds)?;
        let (at, route, log2_noise) = self.reached(params, x, range.bound(), range.is_real())?;
        let mut meta = stated(at.meta, range, log2_noise)?;
        // Nothing that the server computed may show in a published bound.
        if of == Use::Admitted && at.meta.noise.bound <= meta.noise.peak {
            meta.noise.bound = meta.noise.peak;
        }
        Ok((Metadata { meta, ..at }, route, log2_noise))
    }

    /// The metadata of `x` at the declared level and scale, the route to them, and `log2` of the
    /// declared noise, which covers that of the result: of a part of a slot (`of_part`) or of its
    /// absolute value. Slots reach `bound`.
    fn reached(
        &self,
        params: &Params,
        x: &Metadata,
        bound: f64,
        of_part: bool,
    ) -> Result<(Metadata, Route, i32)> {
        let rules = params.rules();
        self.admits_shape(&x.meta)?;
        self.admits_noise(of_part, &x.meta)?;
        // Step 1: the target, from the declaration and the number of slots alone.
        let scale = self.scale.unwrap_or(params.scale());
        check_scale(scale)?;
        let level = self.level.unwrap_or_else(|| {
            let unit = noise::slot_std(1.0, x.meta.slots, scale, of_part);
            let largest = largest_deviation(self.noise(), bound);
            lowest_level(params, bound, scale, (largest / unit).powi(2))
        });
        let refused = |what, needed| Err(error::declaration(what, needed));
        if level > x.level {
            return refused("level", LEVEL);
        }

        // Step 2: drop to the level, with a constant and a rescale for another scale.
        let Ok(route) = rules.match_scale(x, scale, level) else {
            return refused("scale", SCALE);
        };
        let at = rules.follow(x, &route)?;

        // Step 3: the declared scale. The rounded constant misses it by the tolerance of equal
        // scales, which counts as noise.
        let meta = CiphertextMeta { scale, noise: rules.taken_for(&at, scale), ..at.meta };
        let log2_noise = self.admits_noise(of_part, &meta)?;
        Ok((Metadata { meta, ..at }, route, log2_noise))
    }

    /// Refuses values and padding that may exceed the declaration.
    fn admits(&self, range: &Interval, &Bounds { values, padding }: &Bounds) -> Result<()> {
        // Step 1: the values.
        self.admits_range(range, &values)?;
        // Step 2: the padding, by its magnitude and by whether it is real.
        let wide = widened(range);
        let refused = |needed| Err(error::declaration("range", needed));
        if padding.bound() > wide.bound() {
            return refused("at least the magnitude of the padding, or clear it (`clear_padding`)");
        }
        if range.is_real() && !padding.is_real() {
            return refused(
                "complex numbers, which the padding may hold, or clear it (`clear_padding`)",
            );
        }
        Ok(())
    }

    /// Refuses values that may leave the declared range.
    pub fn admits_range(&self, range: &Interval, values: &Interval) -> Result<()> {
        if widened(range).contains(values) {
            return Ok(());
        }
        Err(error::declaration("range", RANGE))
    }

    /// Refuses another number of values or slots than a declared one.
    fn admits_shape(&self, x: &CiphertextMeta) -> Result<()> {
        let refused = |what| Err(error::declaration(what, SHAPE));
        match (self.len, self.slots) {
            (Some(len), _) if len != x.len => refused("number of values"),
            (_, Some(slots)) if slots != x.slots => refused("number of slots"),
            _ => Ok(()),
        }
    }

    /// Refuses noise above the declared one, of a part of a slot or of its absolute value. Returns
    /// `log2` of the declared noise.
    fn admits_noise(&self, of_part: bool, x: &CiphertextMeta) -> Result<i32> {
        // The declared noise is that of the mean slot; peak and excess of a later input follow from
        // it.
        let CiphertextMeta { noise, slots, scale, .. } = *x;
        let deviation = |variance: f64| noise::slot_std(variance, slots, scale, of_part);
        let (found, largest) = (deviation(noise.total), deviation(noise.peak.max(noise.excess)));
        // NaN fails the comparisons and is refused.
        let covers = |declared: f64| {
            found <= declared && largest <= largest_deviation(declared, self.bound())
        };
        let declared = self.log2_noise.ok_or_else(error::declared_noise)?;
        match covers(f64::from(declared).exp2()) {
            true => Ok(declared),
            false => Err(error::declaration("noise", NOISE)),
        }
    }
}

/// The standard deviation of the error of the worst slot that goes with a declared one, for values
/// of a magnitude.
fn largest_deviation(declared: f64, bound: f64) -> f64 {
    (LARGEST * declared).min(bound.max(declared))
}

/// A range widened by the roundings of interval arithmetic.
pub fn widened(range: &Interval) -> Interval {
    let slack = 1e-9 * range.bound();
    let wide = Interval::between(range.lo() - slack, range.hi() + slack);
    if range.is_real() { wide } else { wide.as_complex() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_rounded_up_to_powers_of_two() {
        let unit = Declaration::from(-1.0..=1.0);
        for (noise, rounded) in [(1.0, 1.0), (1.0 + 1e-12, 2.0), (0.3, 0.5), (1e-3, 2f64.powi(-9))]
        {
            assert_eq!(unit.with_noise(noise).noise(), rounded);
        }
        for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e200, 1e-200] {
            assert!(unit.with_noise(bad).noise().is_nan());
        }
        assert_eq!(Declaration::from(-3.0..=1.0).noise(), 0.25);
        assert_eq!(Declaration::complex(1.0).noise(), 0.0625);
        assert!(Declaration::from(2.0..=1.0).range().is_err());
        assert!(Declaration::complex(f64::NAN).range().is_err());
    }
}
