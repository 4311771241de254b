//! The server: arithmetic on slots and functions by look-up, with public keys only.

use std::{
    borrow::Cow,
    ops::{ControlFlow, RangeInclusive},
    sync::Arc,
};

use bellerophon_ckks::{
    self as ckks, Ciphertext, Interval,
    bootstrap::{BootstrapSpec, Bootstrapper},
    dft::SlotsToCoeffs,
    fbt::{FbtSpec, FunctionalBootstrapper},
};

use crate::{
    Bridge, CostModel, Error, EvaluationKeys, LutEngine, LutParams, Params, Progress, Result,
    Stage,
    failure::Counts,
    flooding::Flood,
    keys::TableKeys,
    lut_params,
    map::{self, Crossing, Deviations, Map},
    plan::{self, BridgePath},
    progress::{Observer, Watch},
};

/// Computes on encrypted vectors of one client.
///
/// It dereferences to the CKKS evaluator ([`ckks::Evaluator`]: `add`, `sub`, `mul`, `square`,
/// `add_scalar`, `mul_values`, `rotate`, ..), and adds the operations that leave CKKS. Levels and
/// scales of operands are aligned automatically. Operands that cannot be aligned, results that
/// could wrap around, and missing keys are errors. All methods take `&self`; one evaluator serves
/// many threads.
///
/// # Lengths and padding
/// The rule is that of [`ckks`], "Lengths and padding":
/// - A vector of `n` values occupies the next power of two of slots. The slots behind the values
///   are padding. Padding is zero after encryption. Slotwise operations act on it, too (`x + 1`
///   makes it 1), and rotations move it: `[1, 2, 3]` rotated by one step is `[2, 3, 0]`.
/// - Reductions ignore padding: [`sum_slots`](ckks::CkksOps::sum_slots),
///   [`inner_sum`](ckks::CkksOps::inner_sum), [`replicate_slot`](ckks::CkksOps::replicate_slot),
///   statistics and matrix products. Padding that may not be zero is cleared first, which takes one
///   level.
/// - Operands of different lengths are an error, [`ckks::Error::LengthMismatch`]. Only
///   [`broadcast`](ckks::Ciphertext::broadcast) repeats a vector to the length of another;
///   `add_scalar` and `mul_scalar` apply one number to all values.
///
/// # Circuits
/// The circuits of [`ckks`] work on whole vectors: [`statistics`](ckks::statistics),
/// [`matrix`](ckks::matrix), [`learning`](ckks::learning), and [`ordering`](ckks::ordering), which
/// sorts, selects and counts thousands of values ([`within`](Self::within) orders few values).
///
/// ```
/// use bellerophon::ckks::{approx::Sign, ordering::{Comparator, Order}};
/// use bellerophon::prelude::*;
/// # fn main() -> bellerophon::Result<()> {
/// // Toy dimensions, insecure, with 3 levels between two bootstraps.
/// let params = Params::preset(Preset::ToyBootstrapping)?;
/// let client = ClientKey::generate(&params)?;
/// let keys = Comparator::sort_keys(3, params.levels());
/// let keys = client.evaluation_keys(&Needs::new().bootstrap().keys(&keys))?;
/// let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
///
/// // The comparator distinguishes numbers that differ by 1/8 of the declared range.
/// let comparator = Comparator::of(Sign::of_degrees(1.0, 1.0 / 8.0, &[7, 7])?)?;
/// let x = client.encrypt(&[0.5, -0.75, 0.125], -1.0..=1.0)?;
/// let sorted = client.decrypt(&comparator.sort(&*server, &x, Order::Ascending)?)?;
/// let bound = 2.0 * comparator.sort_error(3); // the range has width 2
/// assert!(sorted.iter().zip([-0.75, 0.125, 0.5]).all(|(a, b)| (a - b).abs() < bound));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator {
    pub(crate) keys: EvaluationKeys,
    pub(crate) arithmetic: ckks::Evaluator,
    /// The encoded SlotsToCoeffs matrices of a look-up; none without look-up keys.
    slots_to_coeffs: Option<Arc<SlotsToCoeffs>>,
    bridge: Bridge,
    pub(crate) watch: Option<Watch>,
    /// Operations that can fail, counted over all clones of this evaluator.
    pub(crate) counts: Arc<Counts>,
    /// The prices with which the planner compares engines.
    pub(crate) costs: CostModel,
}

impl std::ops::Deref for Evaluator {
    type Target = ckks::Evaluator;

    fn deref(&self) -> &ckks::Evaluator {
        &self.arithmetic
    }
}

impl Evaluator {
    /// Creates an evaluator with the keys of a client.
    ///
    /// With bootstrapping keys, it encodes the matrices of the bootstrap and allocates its memory
    /// here (0.8 GiB at `N = 2^16`). That memory, up to 1 GiB, belongs to the parameters: clones of
    /// one [`Params`](crate::Params) share it.
    ///
    /// # Errors
    /// None for keys made by [`ClientKey::evaluation_keys`](crate::ClientKey).
    pub fn new(keys: EvaluationKeys) -> Result<Self> {
        let mut arithmetic = ckks::Evaluator::new(keys.params.ckks(), &keys.arithmetic)?;
        // The parameters hold plans only: the server encodes the matrices once, ahead of use.
        if let Some(bootstrap) = &keys.bootstrap {
            let spec = keys.params.bootstrapper()?.spec().clone();
            let spec = BootstrapSpec { encode_ahead: true, ..spec };
            let bootstrapper = Bootstrapper::new(keys.params.ckks(), spec)?;
            arithmetic = arithmetic.with_bootstrapping(bootstrapper, bootstrap.clone())?;
        }
        if let Some(functional) = &keys.functional {
            let spec = keys.params.functional()?.spec().clone();
            let spec = FbtSpec { encode_ahead: true, ..spec };
            let bootstrapper = FunctionalBootstrapper::new(keys.params.ckks(), spec)?;
            arithmetic = arithmetic.with_functional(bootstrapper, functional.clone())?;
        }
        let slots_to_coeffs = match keys.tables {
            Some(_) => Some(Arc::new(lut_params::slots_to_coeffs(keys.params.ckks(), true)?)),
            None => None,
        };
        // Clones share the counts of what may fail.
        let counts = Arc::default();
        let (bridge, costs) = (Bridge::Auto, CostModel::SERVER);
        Ok(Self { keys, arithmetic, slots_to_coeffs, bridge, watch: None, counts, costs })
    }

    /// Returns this evaluator with a progress callback.
    ///
    /// These operations report to it: [`map`](Self::map), [`map_to`](Self::map_to),
    /// [`extract`](Self::extract), [`pack`](Self::pack), operations on [`tables`](Self::tables),
    /// and functional bootstraps ([`integers`](Self::integers),
    /// [`functions_of`](ckks::CkksOps::functions_of)). A callback that returns
    /// [`ControlFlow::Break`] stops the operation with [`Error::Cancelled`]; a functional bootstrap
    /// returns [`ckks::Error::Cancelled`], which converts to it. Cheap: keys are shared.
    pub fn with_progress(
        mut self,
        callback: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        // The CKKS evaluator reports the stages of functional bootstraps, the facade all others.
        let callback = Arc::new(callback);
        let above = callback.clone();
        self.arithmetic = self.arithmetic.watching(move |stage, done, total| {
            above(Progress { stage: Stage::functional(stage), done, total })
        });
        self.watch = Some(Watch::new(callback));
        self
    }

    /// Returns this evaluator with a given bridge for [`map`](Self::map). By default it takes the
    /// cheaper bridge for the number of values among those whose keys are present.
    pub fn with_bridge(mut self, bridge: Bridge) -> Self {
        self.bridge = bridge;
        self
    }

    /// Returns this evaluator with automatic bootstrapping of operands whose levels are used up
    /// ([`ckks::Evaluator::with_auto_bootstrap`]). Values must lie in `[-1, 1]`, or in the range
    /// for which the parameters' bootstrap is specified.
    ///
    /// # Errors
    /// [`Error::MissingKeys`] without [`Needs::bootstrap`](crate::Needs::bootstrap).
    pub fn with_auto_bootstrap(mut self) -> Result<Self> {
        if self.keys.bootstrap.is_none() {
            let op = "with_auto_bootstrap";
            return Err(Error::MissingKeys { op, need: "bootstrap" });
        }
        self.arithmetic = self.arithmetic.with_auto_bootstrap()?;
        Ok(self)
    }

    /// The parameters of the client.
    pub fn params(&self) -> &Params {
        &self.keys.params
    }

    /// The engine of the look-up keys, if there are any.
    pub fn engine(&self) -> Option<LutEngine> {
        self.keys.tables.as_ref().map(|tables| LutEngine::of(&tables.lattice))
    }

    /// Applies any function to every value (PEGASUS, Fig. 6). The domain of the table is the range
    /// that `x` carries; [`map_over`](Self::map_over) takes another. A range that is a single point
    /// (to one part in `1e9`) is widened, so that constants map to constants.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, insecure.
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
    /// For parameters without look-ups, and with keys for products, the planner picks the engine
    /// ([`map_planned`](Self::map_planned)) for an error of at most `2^-8` of the spread of `f`. It
    /// samples the closure at 65537 points of the carried range and interpolates by cubics, so the
    /// approximation error is measured, not certified.
    ///
    /// # Errors
    /// As [`map_over`](Self::map_over): [`Error::DomainScale`] where the carried range is too wide
    /// or too narrow; [`assume_range`](Self::assume_range) or a multiplication by a constant
    /// changes it. Without look-ups, [`Error::NoPlan`] where no engine reaches the error.
    pub fn map(&self, x: &Ciphertext, f: impl Fn(f64) -> f64) -> Result<Ciphertext> {
        let multiplies = self.arithmetic.keys().relinearization_keys().is_some();
        if self.keys.params.optional_lookups().is_none() && multiplies {
            return self.map_closure(x, &f);
        }
        self.map_by("map", x, carried_domain(x.range()), &f, None)
    }

    /// Applies any function to every value by a table over `domain` (PEGASUS, Fig. 6).
    ///
    /// `f` is called only on the carried range of `x`. Outside that range the table continues `f`
    /// by its value at the nearer end.
    ///
    /// The values move from the slots to LWE ciphertexts. Each selects an entry of a table of `f`,
    /// and ring packing returns the entries to the slots. The result is not exact: the index of a
    /// value is off by a few cells, so the error is about `f'(x)` times a few cells. A cell is the
    /// width of `domain` over the degree of the table, so a narrow domain is more precise.
    /// [`Params::map_accuracy`] predicts the distribution of the error for values uniform in the
    /// domain.
    ///
    /// The [noise](Ciphertext::noise) of the result is an upper estimate for any values of the
    /// range: the standard deviation of the error against `f` of the exact value at the worst
    /// argument, `sqrt(max E[(f(x + e) - f(x))^2] + s^2)`. Here `e` is the error of the index with
    /// the noise of `x`, and `s` the noise of blind rotation and ring packing. At the jump of a
    /// discontinuous function the first term is about half the square of the jump, although values
    /// far from the jump are right.
    ///
    /// The range of the result is that of `f` over the carried range; padding is zero. Guard bands
    /// at both ends of the table absorb the noise of `x`, up to a fifth of the domain's width. The
    /// index error of an earlier look-up does not move values out of their range: it counts in the
    /// prediction only.
    ///
    /// A look-up takes [`LutParams::levels`](crate::LutParams::levels) levels of the operand; the
    /// level of the result is [`LutParams::level_after`](crate::LutParams::level_after). The time
    /// is that of one blind rotation per value, plus a bridge that hardly depends on the number of
    /// values.
    ///
    /// [`with_bridge`](Self::with_bridge) selects the bridge, and
    /// [`with_progress`](Self::with_progress) a callback for progress.
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] if the carried range does not lie in the domain; [`Error::Domain`]
    /// for an empty or infinite domain, [`Error::DomainScale`] for one too wide or too narrow;
    /// [`Error::NoLookUps`] for parameters without look-ups; [`Error::MissingKeys`] without
    /// [`Needs::map`](crate::Needs::map) for the bridge; an error that names the argument if `f` is
    /// not finite on the carried range; [`Error::Cancelled`]; and errors of the arithmetic, among
    /// them too few levels.
    pub fn map_over(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<Ciphertext> {
        self.map_by("map", x, domain, &f, None)
    }

    /// A look-up, with noise flooding before the switch to LWE if `flood` is given.
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
        let (tables, s2c) = (self.table_keys(op)?, self.slots_to_coeffs(op, flood.is_some())?);
        let (path, crossing) = self.crossing(op, lookups, x.len())?;

        // Step 1: the layout of the domain in the table. All refusals happen here, before any work.
        map::check_domain(&domain)?;
        let deviation = match &flood {
            Some(flood) => {
                flood.check(op, params.ckks(), x)?;
                Some(flood.deviation(s2c, map::center(&domain))?)
            }
            None => None,
        };
        let map = Map::planned(params, lookups, &tables.lattice, path, &domain, deviation)?;
        let range = range_within(op, x.range(), &domain)?;
        let x = &*self.entering(op, x, lookups.levels(), flood.is_some())?;
        let flood = flood.zip(deviation);
        let inside = |t: f64| f(t.clamp(*range.start(), *range.end()));
        let table = map.output(&inside)?;
        // Step 2: SlotsToCoeffs, so that the domain fills the table (Fig. 6, step 1).
        let (len, observer) = (x.len(), self.observer(op));
        observer.tell(Stage::SlotsToCoefficients, 0, len)?;
        let coeffs = map.slots_to_coeffs(&self.arithmetic, s2c, x, flood);
        let coeffs = coeffs.map_err(|e| e.named(op))?;
        observer.tell(Stage::SlotsToCoefficients, len, len)?;
        // Step 3: extraction, key switch and blind rotation of every value (Fig. 6, steps 2 to 7).
        self.counts.looked_up(len);
        let values = map.look_up(tables, &crossing, &coeffs, &table, &inside, &observer)?;
        // Step 4: ring packing and reduction modulo q0 (Fig. 6, steps 8 to 10).
        observer.tell(Stage::Repacking, 0, len)?;
        self.counts.packed(len);
        let index = coeffs.grid().error(&range, f).sqrt();
        let error = Deviations { noise: map.output_std(&table, len), index };
        let result = map.lwe_to_slots(&self.arithmetic, &crossing, &values, &table, error);
        let result = result.map_err(|e| e.named(op))?;
        observer.tell(Stage::Repacking, len, len)?;
        Ok(result)
    }

    /// The bridge for `count` values, and its keys.
    pub(crate) fn crossing<'a>(
        &'a self,
        op: &'static str,
        lookups: &'a LutParams,
        count: usize,
    ) -> Result<(BridgePath, Crossing<'a>)> {
        // Only bridges whose keys are present.
        let ring = lookups.ring().zip(self.keys.ring.as_deref());
        let linear = self.keys.linear.as_deref();
        // A bridge that was asked for is not replaced by another one.
        let path = match self.bridge {
            Bridge::Auto => plan::cheapest(count, ring.is_some(), linear.is_some()),
            asked => Some(lookups.path(op, asked)?),
        };
        match (path, ring, linear) {
            (Some(BridgePath::Ring), Some((ring, keys)), _) => {
                Ok((BridgePath::Ring, Crossing::Ring(ring, keys)))
            }
            (Some(BridgePath::Linear), _, Some(keys)) => {
                Ok((BridgePath::Linear, Crossing::Linear(keys)))
            }
            (None, ..) => Err(Error::MissingKeys { op, need: "map" }),
            _ => Err(Error::MissingKeys { op, need: "map_over" }),
        }
    }

    /// The operand with the levels that SlotsToCoeffs needs, bootstrapped if the evaluator does so
    /// automatically. An operand to be flooded is never bootstrapped: its noise bound holds for its
    /// own level.
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
        if self.arithmetic.auto_bootstraps() && !flooded {
            return Ok(Cow::Owned(ckks::CkksOps::bootstrap(&self.arithmetic, x)?));
        }
        Err(ckks::Error::OutOfLevels { op, needed, left }.into())
    }

    pub(crate) fn table_keys(&self, op: &'static str) -> Result<&TableKeys> {
        self.keys.tables.as_deref().ok_or(Error::MissingKeys { op, need: "map" })
    }

    /// The SlotsToCoeffs transform of a look-up, at a larger output scale for flooded values.
    pub(crate) fn slots_to_coeffs(
        &self,
        op: &'static str,
        flooded: bool,
    ) -> Result<&SlotsToCoeffs> {
        let plain =
            self.slots_to_coeffs.as_deref().ok_or(Error::MissingKeys { op, need: "map" })?;
        let params = &self.keys.params;
        match flooded {
            true => params.lookups_for(op)?.flooded_to_coefficients(params.ckks()),
            false => Ok(plain),
        }
    }

    pub(crate) fn observer(&self, op: &'static str) -> Observer<'_> {
        Observer { op, callback: self.watch.as_ref().map(|watch| &*watch.callback) }
    }

    /// Declares a range of the values that interval arithmetic cannot derive: the range of a
    /// polynomial, of a sum that cancels, of data that the caller knows.
    ///
    /// The declaration is a promise: a value outside the range invalidates later checks and
    /// results. It includes the error: the range must hold for the values of the exact program and
    /// for those that decryption would return. A loop that declares a range in every step can
    /// therefore run indefinitely, and [`Ciphertext::noise`] accumulates the error of all its
    /// steps.
    ///
    /// The declaration does not cover padding, the slots behind the values. Padding keeps its range
    /// (widened by its error once that exceeds `2^-10` of the range), and rotations turn it into
    /// values. [`Ciphertext::assume_range_with_padding`] covers all slots.
    ///
    /// # Errors
    /// [`Error::Contradiction`] if the range has no value in common with the carried range; errors
    /// of the arithmetic if it is no interval or does not fit the modulus.
    pub fn assume_range(&self, x: &Ciphertext, range: RangeInclusive<f64>) -> Result<Ciphertext> {
        let stated = Interval::real(*range.start(), *range.end())?;
        let known = x.range();
        if stated.hi() < known.lo() || stated.lo() > known.hi() {
            let known = known.lo()..=known.hi();
            return Err(Error::Contradiction { known, stated: range });
        }
        // Only the metadata change. `from_parts` checks that the range fits the modulus.
        let (lattice, meta) = x.clone().into_parts();
        let meta = meta.assume_range(stated);
        Ok(Ciphertext::from_parts(self.arithmetic.params(), lattice, meta)?)
    }
}

/// The domain of a look-up for a carried range: that range, or an interval around it if it is a
/// single point.
pub(crate) fn carried_domain(range: &Interval) -> RangeInclusive<f64> {
    // A point up to rounding has no width for a table.
    let (lo, hi) = (range.lo(), range.hi());
    if hi - lo > 1e-9 * range.bound() {
        return lo..=hi;
    }
    let (middle, half) = (f64::midpoint(lo, hi), (hi - lo).max(0.5));
    middle - half..=middle + half
}

/// The intersection of a domain and a carried range. Refuses ranges outside the domain, whose
/// values would wrap around the table.
pub(crate) fn range_within(
    op: &'static str,
    range: &Interval,
    domain: &RangeInclusive<f64>,
) -> Result<RangeInclusive<f64>> {
    if !range.is_real() {
        return Err(Error::Complex { op });
    }
    // Interval arithmetic rounds: an end of the range may lie outside the domain by the slack.
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
        // Single points within the slack.
        let (low, high) = (-1.0 - 1e-9, 1.0 + 1e-9);
        assert_eq!(within(low, low).unwrap(), -1.0..=-1.0);
        assert_eq!(within(high, high).unwrap(), 1.0..=1.0);
        for (lo, hi) in [(-1.1, 0.0), (0.0, 1.1), (2.0, 2.0)] {
            assert!(matches!(within(lo, hi), Err(Error::OutsideDomain { .. })));
        }
    }
}
