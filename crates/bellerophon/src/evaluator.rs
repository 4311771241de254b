//! The server: arithmetic on slots and functions by look-up, from public keys alone.

use std::{
    borrow::Cow,
    ops::{ControlFlow, RangeInclusive},
    sync::Arc,
};

use bellerophon_ckks::{
    self as ckks, Ciphertext, Interval,
    bootstrap::{BootstrapSpec, Bootstrapper},
    dft::SlotsToCoeffs,
};

use crate::{
    Bridge, Error, EvaluationKeys, Lookups, MapEngine, Params, Progress, Result, Stage,
    failure::Counts,
    flooding::Flood,
    keys::TableKeys,
    lookups,
    map::{self, Crossing, Deviations, Map},
    plan::{self, Way},
    progress::{Observer, Watch},
};

/// Computes on encrypted vectors of one client.
///
/// It dereferences to the arithmetic on slots ([`ckks::Evaluator`]: `add`, `sub`, `mul`, `square`,
/// `add_scalar`, `mul_values`, `rotate`, ..), and adds what leaves that scheme. Levels and scales
/// of operands are aligned by themselves; what cannot be aligned, could wrap around, or lacks a
/// key is an error. All methods take `&self`; one evaluator serves many threads.
///
/// # Lengths and padding
/// One rule ([`ckks`], "Lengths and padding"):
/// - A vector of `n` values has the next power of two of slots. The slots behind the values are
///   padding, zero after encryption; slotwise operations act on it, too (`x + 1` makes it 1), and
///   rotations move it: `[1, 2, 3]` rotated by one step is `[2, 3, 0]`.
/// - Padding never counts in a reduction: [`total`](ckks::Arithmetic::total),
///   [`inner_sum`](ckks::Arithmetic::inner_sum), [`replicate_slot`](ckks::Arithmetic::replicate_slot),
///   statistics and products of matrices give what the values give. Padding that may not be zero is
///   cleared first, which takes one level.
/// - Operands of unequal length are an error, [`ckks::Error::LengthMismatch`]. One vector repeats under
///   another only by [`broadcast`](ckks::Ciphertext::broadcast); one number for all values is
///   `add_scalar` or `mul_scalar`.
#[derive(Debug, Clone)]
pub struct Evaluator {
    pub(crate) keys: EvaluationKeys,
    pub(crate) arithmetic: ckks::Evaluator,
    /// The decoding matrices of the way down, encoded; only with the keys of a look-up.
    lowering: Option<Arc<SlotsToCoeffs>>,
    bridge: Bridge,
    pub(crate) watch: Option<Watch>,
    /// What may fail, of all copies together.
    pub(crate) counts: Arc<Counts>,
}

impl std::ops::Deref for Evaluator {
    type Target = ckks::Evaluator;

    fn deref(&self) -> &ckks::Evaluator {
        &self.arithmetic
    }
}

impl Evaluator {
    /// An evaluator with the keys of a client.
    ///
    /// One that refreshes prepares its matrices and fetches the memory of a refresh here (0.8 GiB at
    /// `N = 2^16`); that memory, up to 1 GiB, stays with the parameters, so clones of one
    /// [`Params`](crate::Params) share it.
    ///
    /// # Errors
    /// None for keys that came from [`ClientKey::evaluation_keys`](crate::ClientKey).
    pub fn new(keys: EvaluationKeys) -> Result<Self> {
        let mut arithmetic = ckks::Evaluator::new(keys.params.arithmetic(), &keys.arithmetic)?;
        if let Some(refresh) = &keys.refresh {
            let spec = keys.params.bootstrapper()?.spec().clone();
            let spec = BootstrapSpec { encode_ahead: true, ..spec };
            let bootstrapper = Bootstrapper::new(keys.params.arithmetic(), spec)?;
            arithmetic = arithmetic.with_refresh(bootstrapper, refresh.clone())?;
        }
        let lowering = match keys.tables {
            Some(_) => Some(Arc::new(lookups::lowering(keys.params.arithmetic(), true)?)),
            None => None,
        };
        let counts = Arc::default();
        Ok(Self { keys, arithmetic, lowering, bridge: Bridge::Auto, watch: None, counts })
    }

    /// The same evaluator, telling somebody how far [`map`](Self::map), [`map_to`](Self::map_to),
    /// [`extract`](Self::extract),
    /// [`pack`](Self::pack) and what is done with [`tables`](Self::tables) have come, who stops them by
    /// returning [`ControlFlow::Break`] ([`Error::Cancelled`]). Cheap: keys are shared.
    pub fn with_progress(
        mut self,
        callback: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.watch = Some(Watch::new(Arc::new(callback)));
        self
    }

    /// The same evaluator, its [`map`](Self::map) over a given bridge: by default the cheaper one for
    /// the number of values, of those whose keys are there.
    pub fn over(mut self, bridge: Bridge) -> Self {
        self.bridge = bridge;
        self
    }

    /// The same evaluator, refreshing operands by itself when their levels run out
    /// ([`ckks::Evaluator::refreshing_by_itself`]). Values must stay within [-1, 1], or what else
    /// the parameters' refreshing takes.
    ///
    /// # Errors
    /// [`Error::MissingKeys`] without `Needs::refresh`.
    pub fn refreshing_by_itself(mut self) -> Result<Self> {
        if self.keys.refresh.is_none() {
            let op = "refresh automatically";
            return Err(Error::MissingKeys { op, need: "refresh" });
        }
        self.arithmetic = self.arithmetic.refreshing_by_itself()?;
        Ok(self)
    }

    /// The parameters of the client.
    pub fn parameters(&self) -> &Params {
        &self.keys.params
    }

    /// What reads the tables, if the keys have any.
    pub fn engine(&self) -> Option<MapEngine> {
        self.keys.tables.as_ref().map(|tables| MapEngine::of(&tables.lattice))
    }

    /// Applies any function to every value (PEGASUS, Fig. 6), over the range that `x` carries:
    /// [`map_over`](Self::map_over) with that range as its domain. A range that is a single point, up
    /// to one part in `1e9`, is widened, so that constants map to constants.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().multiply().map())?)?;
    /// let x = client.encrypt(&[0.5, -1.5, 2.0], -2.0..=2.0)?;
    /// let y = server.map(&server.square(&x)?, f64::sqrt)?; // squares lie in [0, 4]
    /// # let found = client.decrypt(&y)?;
    /// # assert!((found[1] - 1.5).abs() < 0.2, "{found:?}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`map_over`](Self::map_over): [`Error::DomainScale`] where the carried range is too wide or too
    /// narrow, which [`assume_range`](Self::assume_range) or a multiplication by a constant mends.
    pub fn map(&self, x: &Ciphertext, f: impl Fn(f64) -> f64) -> Result<Ciphertext> {
        self.map_by("map", x, carried_domain(x.range()), &f, None)
    }

    /// Applies any function to every value (PEGASUS, Fig. 6): `domain` is what the table covers.
    /// `f` is called only where the carried range of `x` says that values can lie; the rest of the
    /// table continues it by its value at the nearer end of that range.
    ///
    /// The values are brought out of their slots into LWE ciphertexts, each selects the entry of
    /// a table of `f`, and the entries are packed into slots again. The result is not exact: a
    /// value is read from the table a few cells beside its place, so the error is about
    /// `f'(x)` times a few cells of `domain`'s width over the table's degree.
    /// [`Params::map_accuracy`] predicts its law for values spread over the domain. A narrow domain
    /// makes small cells.
    ///
    /// The [noise](Ciphertext::noise) of the result is an upper estimate for any values of the range:
    /// the standard deviation of the error against `f` of the exact value at the worst place,
    /// `sqrt(max E[(f(x + e) - f(x))^2] + s^2)`. Here `e` is the error of the index with the noise of
    /// `x`, and `s` the noise of rotation and repacking. At the jump of a discontinuous function the
    /// first term is about half the square of the jump, although values far from it are right.
    ///
    /// The range of the result is that of `f` over the carried range; padding is zero. Guard bands at
    /// both ends of the table have room for the noise of `x`, up to a fifth of the domain's width:
    /// noise of an earlier look-up does not move values out of their range, and counts in the
    /// prediction alone.
    ///
    /// Takes [`Lookups::levels`](crate::Lookups::levels) levels of the operand; the result stands at
    /// [`Lookups::level_after`](crate::Lookups::level_after). The time is that of one look-up for
    /// each value, plus a bridge that hardly depends on their number.
    ///
    /// Goes over the bridge of [`over`](Self::over), and reports to the callback of
    /// [`with_progress`](Self::with_progress).
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] when the carried range does not lie in the domain, [`Error::Domain`]
    /// for an empty or infinite one, [`Error::DomainScale`] for one too wide or too narrow,
    /// [`Error::NoLookUps`] for parameters without look-ups, [`Error::MissingKeys`] without
    /// `Needs::map` for the bridge, an error that names the argument when `f` is not finite where values
    /// can lie, [`Error::Cancelled`], and those of the arithmetic, too few levels among them.
    pub fn map_over(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<Ciphertext> {
        self.map_by("map", x, domain, &f, None)
    }

    /// A look-up, with flooding noise on the way down if that is asked for.
    pub(crate) fn map_by(
        &self,
        op: &'static str,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: &dyn Fn(f64) -> f64,
        flood: Option<Flood<'_>>,
    ) -> Result<Ciphertext> {
        let params = &self.keys.params;
        let lookups = params.lookups_for(op)?;
        let (tables, lowering) = (self.table_keys(op)?, self.lowering(op, flood.is_some())?);
        let (way, crossing) = self.crossing(op, lookups, x.len())?;
        map::check_domain(&domain)?;
        let deviation = match &flood {
            Some(flood) => {
                flood.check(op, params.arithmetic(), x)?;
                Some(flood.deviation(lowering, map::center(&domain))?)
            }
            None => None,
        };
        let map = Map::planned(params, lookups, &tables.lattice, way, &domain, deviation)?;
        let range = range_within(op, x.range(), &domain)?;
        let x = &*self.entering(op, x, lookups.levels(), flood.is_some())?;
        let flood = flood.zip(deviation);
        let inside = |t: f64| f(t.clamp(*range.start(), *range.end()));
        let table = map.output(&inside)?;
        let (len, observer) = (x.len(), self.observer(op));
        observer.tell(Stage::SlotsToCoefficients, 0, len)?;
        let lowered = map.lower(&self.arithmetic, lowering, x, flood).map_err(|e| e.named(op))?;
        observer.tell(Stage::SlotsToCoefficients, len, len)?;
        self.counts.looked_up(len);
        let values = map.look_up(tables, &crossing, &lowered, &table, &inside, &observer)?;
        observer.tell(Stage::Repacking, 0, len)?;
        self.counts.packed(len);
        let index = lowered.grid().error(&range, f).sqrt();
        let error = Deviations { noise: map.output_std(&table, len), index };
        let result = map.raise(&self.arithmetic, &crossing, &values, &table, error);
        let result = result.map_err(|e| e.named(op))?;
        observer.tell(Stage::Repacking, len, len)?;
        Ok(result)
    }

    /// The bridge for so many values, and its keys.
    fn crossing<'a>(
        &'a self,
        op: &'static str,
        lookups: &'a Lookups,
        count: usize,
    ) -> Result<(Way, Crossing<'a>)> {
        let ring = lookups.ring().zip(self.keys.ring.as_deref());
        let linear = self.keys.linear.as_deref();
        let way = match self.bridge {
            Bridge::Auto => plan::cheapest(count, ring.is_some(), linear.is_some()),
            asked => Some(lookups.way(op, asked)?),
        };
        match (way, ring, linear) {
            (Some(Way::Ring), Some((ring, keys)), _) => Ok((Way::Ring, Crossing::Ring(ring, keys))),
            (Some(Way::Linear), _, Some(keys)) => Ok((Way::Linear, Crossing::Linear(keys))),
            (None, ..) => Err(Error::MissingKeys { op, need: "map" }),
            _ => Err(Error::MissingKeys { op, need: "map_over" }),
        }
    }

    /// The operand at the level of the way down, refreshed if the evaluator does that by itself; never if it
    /// is to be flooded, for which it must stand where its bound says.
    pub(crate) fn entering<'x>(
        &self,
        op: &'static str,
        x: &'x Ciphertext,
        needed: usize,
        flooded: bool,
    ) -> Result<Cow<'x, Ciphertext>> {
        let left = x.level();
        if left >= needed {
            return Ok(Cow::Borrowed(x));
        }
        if self.arithmetic.refreshes_by_itself() && !flooded {
            return Ok(Cow::Owned(self.arithmetic.refresh(x)?));
        }
        Err(ckks::Error::OutOfLevels { op, needed, left }.into())
    }

    pub(crate) fn table_keys(&self, op: &'static str) -> Result<&TableKeys> {
        self.keys.tables.as_deref().ok_or(Error::MissingKeys { op, need: "map" })
    }

    pub(crate) fn lowering(&self, op: &'static str, flooded: bool) -> Result<&SlotsToCoeffs> {
        let plain = self.lowering.as_deref().ok_or(Error::MissingKeys { op, need: "map" })?;
        let params = &self.keys.params;
        match flooded {
            true => params.lookups_for(op)?.flooded_to_coefficients(params.arithmetic()),
            false => Ok(plain),
        }
    }

    pub(crate) fn observer(&self, op: &'static str) -> Observer<'_> {
        Observer { op, callback: self.watch.as_ref().map(|watch| &*watch.callback) }
    }

    /// States that the values lie in a range, which interval arithmetic could not see: the range
    /// of a polynomial, of a sum that cancels, of data that the caller knows.
    ///
    /// This is a promise: a value outside makes later checks, and results, worthless. It includes the
    /// error: the range holds for the values of the exact program and for those that decryption
    /// would show. A loop that states a range in every step therefore runs without end, and
    /// [`Ciphertext::noise`] counts the error of all its steps.
    ///
    /// It says nothing of padding, the slots behind the values, which keeps the range that it has (wider
    /// by its error once that is above `2^-10` of the range) and becomes values by rotation
    /// ([`Ciphertext::assume_range`] speaks of all slots).
    ///
    /// # Errors
    /// [`Error::Contradiction`] when nothing of the range is possible; those of the arithmetic when
    /// it is no interval or does not fit the modulus.
    pub fn assume_range(&self, x: &Ciphertext, range: RangeInclusive<f64>) -> Result<Ciphertext> {
        let stated = Interval::real(*range.start(), *range.end())?;
        let known = x.range();
        if stated.hi() < known.lo() || stated.lo() > known.hi() {
            let known = known.lo()..=known.hi();
            return Err(Error::Contradiction { known, stated: range });
        }
        let (lattice, meta) = x.clone().into_parts();
        let meta = meta.assume_range(stated);
        Ok(Ciphertext::from_parts(self.arithmetic.params(), lattice, meta)?)
    }
}

/// The domain of a look-up over a carried range: that range, or an interval about it if it is a point.
fn carried_domain(range: &Interval) -> RangeInclusive<f64> {
    let (lo, hi) = (range.lo(), range.hi());
    if hi - lo > 1e-9 * range.bound() {
        return lo..=hi;
    }
    let (middle, half) = (f64::midpoint(lo, hi), (hi - lo).max(0.5));
    middle - half..=middle + half
}

/// The part of a domain in which values of a carried range can lie; refuses values that the table would
/// wrap.
pub(crate) fn range_within(
    op: &'static str,
    range: &Interval,
    domain: &RangeInclusive<f64>,
) -> Result<RangeInclusive<f64>> {
    if !range.is_real() {
        return Err(Error::Complex { op });
    }
    // Interval arithmetic rounds: an end, or a range without an inside, may stand out by that much.
    let (lo, hi) = (*domain.start(), *domain.end());
    let slack = 1e-9 * (hi - lo);
    if range.lo() < lo - slack || range.hi() > hi + slack {
        let range = range.lo()..=range.hi();
        return Err(Error::OutsideDomain { op, range, domain: domain.clone() });
    }
    Ok(range.lo().clamp(lo, hi)..=range.hi().clamp(lo, hi))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_stay_within_the_domain() {
        let within = |lo, hi| range_within("", &Interval::real(lo, hi).unwrap(), &(-1.0..=1.0));
        assert_eq!(within(-0.5, 0.25).unwrap(), -0.5..=0.25);
        assert_eq!(within(-1.0 - 1e-9, 1.0 + 1e-9).unwrap(), -1.0..=1.0);
        // Points in the slack.
        let (low, high) = (-1.0 - 1e-9, 1.0 + 1e-9);
        assert_eq!(within(low, low).unwrap(), -1.0..=-1.0);
        assert_eq!(within(high, high).unwrap(), 1.0..=1.0);
        for (lo, hi) in [(-1.1, 0.0), (0.0, 1.1), (2.0, 2.0)] {
            assert!(matches!(within(lo, hi), Err(Error::OutsideDomain { .. })));
        }
    }
}
