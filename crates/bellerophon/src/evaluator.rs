//! The server: arithmetic on slots and functions by look-up, from public keys alone.

use std::{
    ops::{ControlFlow, RangeInclusive},
    sync::Arc,
};

use bellerophon_ckks::{
    self as ckks, Bounds, Ciphertext, Interval,
    bootstrap::{BootstrapSpec, Bootstrapper},
    dft::SlotsToCoeffs,
};

use crate::{
    Error, EvaluationKeys, Params, Progress, Result, Stage, bridge::Bridge, lookups,
    progress::Observer,
};

/// Computes on encrypted vectors of one client.
///
/// It dereferences to the arithmetic on slots ([`ckks::Evaluator`]: `add`, `sub`, `mul`, `square`,
/// `add_scalar`, `mul_values`, `rotate`, ..), and adds what leaves that scheme. Levels and scales
/// of operands are aligned by themselves; what cannot be aligned, could wrap around, or lacks a
/// key is an error. All methods take `&self`; one evaluator serves many threads.
///
/// A vector whose length is no power of two is padded with zeros to the next one, and these slots
/// repeat themselves over the ring. That shows in two places: rotations go around the padded
/// vector (`[1, 2, 3]` by one step is `[2, 3, 0]`), and under a longer operand the padded vector
/// repeats itself (`[1]` adds 1 to every value, `[1, 2, 3]` adds `1, 2, 3, 0, 1, 2, 3, 0, ..`).
/// Give operands one length where neither is meant.
#[derive(Debug, Clone)]
pub struct Evaluator {
    keys: EvaluationKeys,
    arithmetic: ckks::Evaluator,
    /// The decoding matrices of the way down, encoded; only with the keys of a look-up.
    lowering: Option<Arc<SlotsToCoeffs>>,
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
        let lowering = match keys.bridge {
            Some(_) => Some(Arc::new(lookups::lowering(keys.params.arithmetic(), true)?)),
            None => None,
        };
        Ok(Self { keys, arithmetic, lowering })
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

    /// Applies any function to every value (PEGASUS, Fig. 6): `domain` is what the table covers.
    /// `f` is called only where the carried range of `x` says that values can lie; the rest of the
    /// table continues it by its value at the nearer end of that range.
    ///
    /// The values are brought out of their slots into LWE ciphertexts, each selects the entry of
    /// a table of `f`, and the entries are packed into slots again. The result is not exact: a
    /// value is read from the table a few cells beside its place, so the error is about
    /// `f'(x)` times a few cells of `domain`'s width over the table's degree.
    /// [`Params::map_accuracy`] predicts it. A narrow domain makes small cells.
    ///
    /// Takes [`Lookups::levels`](crate::Lookups::levels) levels of the operand; the result stands at
    /// [`Lookups::level_after`](crate::Lookups::level_after). The time is that of one look-up for
    /// each value, plus a bridge that hardly depends on their number.
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] when the carried range does not lie in the domain, [`Error::Domain`]
    /// for an empty or infinite one, [`Error::DomainScale`] for one too wide or too narrow,
    /// [`Error::NoLookUps`] for parameters without look-ups, [`Error::MissingKeys`] without
    /// `Needs::map`, an error that names the argument when `f` is not finite where values can lie,
    /// and those of the arithmetic, too few levels among them.
    pub fn map(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64 + Sync,
    ) -> Result<Ciphertext> {
        self.map_with(x, domain, f, |_| ControlFlow::Continue(()))
    }

    /// As [`map`](Self::map), reporting how far it has come; the callback stops it by returning
    /// [`ControlFlow::Break`].
    ///
    /// # Errors
    /// As [`map`](Self::map), and [`Error::Cancelled`].
    pub fn map_with(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64 + Sync,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Ciphertext> {
        let op = "map";
        let lookups = self.keys.params.lookups_for(op)?;
        let (Some(keys), Some(lowering)) = (self.keys.bridge.as_deref(), &self.lowering) else {
            return Err(Error::MissingKeys { op, need: "map" });
        };
        let bridge = Bridge::new(&self.keys.params, lookups, &domain)?;
        check_domain(op, x.range(), &domain)?;
        let needed = lookups.levels();
        let refreshed = match self.arithmetic.refreshes_by_itself() && x.level() < needed {
            true => Some(self.arithmetic.refresh(x)?),
            false => None,
        };
        let x = refreshed.as_ref().unwrap_or(x);
        let left = x.level();
        if left < needed {
            return Err(ckks::Error::OutOfLevels { op, needed, left }.into());
        }
        let lo = x.range().lo().max(*domain.start());
        let hi = x.range().hi().min(*domain.end()).max(lo);
        let f = |t: f64| f(t.clamp(lo, hi));
        let table = bridge.output(&f)?;
        let len = x.len();
        let mut observer = Observer { op, callback: &mut progress };
        observer.tell(Stage::SlotsToCoefficients, 0, len)?;
        let lowered = bridge.lower(&self.arithmetic, lowering, x).map_err(|e| e.named(op))?;
        observer.tell(Stage::SlotsToCoefficients, len, len)?;
        let values = bridge.look_up(keys, &lowered, &table, &f, &mut observer)?;
        observer.tell(Stage::Repacking, 0, len)?;
        let result = bridge.raise(&self.arithmetic, keys, &values, &table);
        let result = result.map_err(|e| e.named(op))?;
        observer.tell(Stage::Repacking, len, len)?;
        Ok(result)
    }

    /// States that the values lie in a range, which interval arithmetic could not see: the range
    /// of a polynomial, of a sum that cancels, of data that the caller knows.
    ///
    /// This is a promise: a value outside makes later checks, and results, worthless. It says
    /// nothing of padding, the slots behind the values, which keeps the range that it has and
    /// becomes values by rotation ([`Ciphertext::assume_range`] speaks of all slots).
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
        let (lattice, mut meta) = x.clone().into_parts();
        let padded = meta.len < meta.slots;
        let slots = if padded { meta.bounds.slots.hull(&stated) } else { stated };
        meta.bounds = Bounds { values: stated, slots };
        Ok(Ciphertext::from_parts(self.arithmetic.params(), lattice, meta)?)
    }
}

/// Refuses values that the table would wrap.
fn check_domain(op: &'static str, range: &Interval, domain: &RangeInclusive<f64>) -> Result<()> {
    if !range.is_real() {
        return Err(Error::Complex { op });
    }
    // Interval arithmetic rounds: an end may stand out by that much.
    let slack = 1e-9 * (domain.end() - domain.start());
    if range.lo() < domain.start() - slack || range.hi() > domain.end() + slack {
        let range = range.lo()..=range.hi();
        return Err(Error::OutsideDomain { op, range, domain: domain.clone() });
    }
    Ok(())
}
