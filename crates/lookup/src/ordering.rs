//! Functions of several values on slots: maximum, argmax, comparison, sorting, pooling.
//!
//! The values move from slots to LWE in an encoding with the headroom that the function needs, pass
//! the tables of [`lwe::Evaluator`], and are packed into slots again.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::ops::RangeInclusive;

use bellerophon_ckks::{self as ckks, Ciphertext};
use bellerophon_lwe::{
    self as lwe, Encoding, Headroom, LweVec, Network, OutputEncoding, SortOrder, noise,
};
use bellerophon_ring::{Result, error::operation};

#[cfg(doc)]
use crate::params::LutParams;
use crate::{
    error, evaluator::LookupEvaluator, linear_bridge::layout::Layout,
    ring_bridge::reduction::Reduction,
};

/// The headroom that packing needs, and nothing more.
pub(super) const PACKED: Headroom = Headroom { terms: 2, levels: 0 };

/// The error of packing, as a part of the width that the values reach.
const PACKING_ERROR: f64 = 1.0 / (1u64 << 13) as f64;

/// A server with look-ups.
pub trait LookupServer {
    /// Its look-ups.
    fn lookup(&self) -> Result<LookupEvaluator<'_>>;
}

/// Functions of the values of one vector, or slotwise functions of several vectors, on a domain:
/// from `Evaluator::within`.
///
/// Each takes [`LutParams::levels`] levels of its operands, whose carried ranges must lie in the
/// domain. Values return at `Evaluator::pack_level`, decisions (0 or 1) at
/// [`LutParams::level_after`]. A comparator is one look-up. Its decision is right if the two values
/// differ by more than the index error. If they differ by less, either value is right to that
/// accuracy ([`lwe`] gives the distributions). Each layer of comparators adds one such error.
///
/// The range of a result is that of its exact values: sorted values, maxima and minima of values of
/// a range lie in it. Noise may move them out by two fifths of half its width; the guard bands of
/// the next tables absorb that. If it may be more, the range is wider. Padding is zero.
///
/// The [noise](bellerophon_ckks::Metadata::noise) of a result is that of the worst case. For values
/// it covers ties and any correlation of their errors. Decisions are wrong for ties: their noise is
/// the probability of a wrong decision, about 1/2 for two values, times the square of the
/// difference between the outcomes.
///
/// `Params::order_accuracy` predicts the error before any key exists. All functions take the ring
/// bridge: `Needs::map` asks for its keys where it is cheaper, `Needs::bridge` always.
///
/// Take these functions for few values, since each comparison is a look-up, and for indices,
/// one-hot results and pooling. [`lwe::Evaluator`] (`Evaluator::tables`) orders values between
/// tables without packing them. [`Comparator`](bellerophon_circuits::ordering::Comparator) compares
/// all pairs of a vector at once on the slots, at the cost of levels; it has ranks, quantiles,
/// counts and histograms.
///
/// # Errors
/// [`ErrorKind::Domain`] if a carried range does not lie in the domain. Tables can be too small for
/// a network of comparators of that depth.
#[derive(Debug, Clone)]
pub struct OrderOps<'a, S> {
    server: &'a S,
    domain: RangeInclusive<f64>,
}

impl<'a, S: LookupServer> OrderOps<'a, S> {
    /// Functions on a domain, with the look-ups of a server.
    pub fn new(server: &'a S, domain: RangeInclusive<f64>) -> Self {
        Self { server, domain }
    }

    /// Any function of the values of several vectors, by tables on LWE values. `headroom` is that
    /// of the encoding of the operands. The values that `f` returns must leave headroom for packing
    /// (`Evaluator::pack`); values that do not are refused only after `f` has run.
    pub fn apply(
        &self,
        operands: &[&Ciphertext],
        headroom: Headroom,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> Result<LweVec>,
    ) -> Result<Ciphertext> {
        self.run("apply", |lookup| self.values(lookup, operands, headroom, f))
    }

    /// The slotwise maximum of several vectors of one length. A slot takes one comparator less than
    /// there are vectors.
    pub fn max(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        self.extreme("max", operands, |tables, values| tables.max(values))
    }

    /// The slotwise minimum; otherwise as [`max`](Self::max).
    pub fn min(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        self.extreme("min", operands, |tables, values| tables.min(values))
    }

    /// The slotwise argmax of several vectors of one length: the index, from 0, of the vector with
    /// the largest value. Ties give the index of one of them. Takes two to three look-ups per slot
    /// and vector ([`lwe::Evaluator::arg_max_label`]).
    pub fn arg_max(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        self.index("arg_max", operands, operands.len(), |tables, values, labels| {
            tables.arg_max_label(values, labels, OutputEncoding::Fit(PACKED))
        })
    }

    /// The slotwise argmin; otherwise as [`arg_max`](Self::arg_max).
    pub fn arg_min(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        self.index("arg_min", operands, operands.len(), |tables, values, labels| {
            tables.arg_min_label(values, labels, OutputEncoding::Fit(PACKED))
        })
    }

    /// The slotwise comparison: 1 where `x > y` and 0 elsewhere. One look-up per slot.
    pub fn greater(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.run("greater", |lookup| {
            same_length(&[x, y])?;
            self.decisions(lookup, &[x, y], Headroom::comparators(1), |tables, values| {
                tables.greater(&values[0], &values[1], OutputEncoding::Fit(Headroom::TABLE))
            })
        })
    }

    /// The magnitude of every value. One look-up per value.
    pub fn abs(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.run("abs", |lookup| {
            self.values(lookup, &[x], Headroom::TABLE, |tables, values| {
                tables.abs(&values[0], OutputEncoding::Fit(PACKED))
            })
        })
    }

    /// Sorts the values of a vector: one look-up for each comparator of [`Network::odd_even`], in
    /// `r (r + 1) / 2` layers for up to `2^r` values. The headroom for the errors of all layers
    /// makes the cells coarser. With very many values the order is imprecise, and no error says so:
    /// `Params::order_accuracy` tells beforehand.
    pub fn sort(&self, x: &Ciphertext, order: SortOrder) -> Result<Ciphertext> {
        self.run("sort", |lookup| {
            let network = Network::odd_even(x.len())?;
            self.values(lookup, &[x], depth(&network), |tables, values| {
                tables.sort_through(&values[0], &network, order)
            })
        })
    }

    /// The `count` largest values of a vector, the largest first. Two values that differ by less
    /// than [`OrderAccuracy::order_gap`](crate::order_accuracy::OrderAccuracy::order_gap) may come
    /// back in reverse order.
    pub fn largest(&self, x: &Ciphertext, count: usize) -> Result<Ciphertext> {
        self.run("largest", |lookup| {
            let headroom = few(x.len(), count, (0..x.len()).rev())?;
            self.values(lookup, &[x], headroom, |tables, values| tables.largest(&values[0], count))
        })
    }

    /// The `count` smallest values of a vector, the smallest first.
    pub fn smallest(&self, x: &Ciphertext, count: usize) -> Result<Ciphertext> {
        self.run("smallest", |lookup| {
            let headroom = few(x.len(), count, 0..x.len())?;
            self.values(lookup, &[x], headroom, |tables, values| tables.smallest(&values[0], count))
        })
    }

    /// The argmax of a vector: the index of its largest value, from 0, as a vector of one number to
    /// be rounded. An index among `k` values carries the noise of `k / 2` look-ups whose entries
    /// span `4 k`, and the error of packing, up to `2^-13 k`. Its error is below 1/2 except with
    /// probability `2^log2_failure` for up to this number of values; more are refused:
    ///
    /// | parameters | NTRU | RGSW | RGSW, keys of `Engine::Corrected` |
    /// |---|---|---|---|
    /// | `Functions` | 460 | 118 | 4096 |
    /// | `FunctionsFine` | 642 | 95 | 4095 |
    /// | `FunctionsPrecise` | | 76 | 4095 |
    ///
    /// # Errors
    /// [`ErrorKind::Noise`], before any work, for more values than an index can tell apart.
    pub fn argmax_index(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.index("argmax_index", &[x], x.len(), |tables, values, labels| {
            tables.arg_max_label(&values[0].singles(), labels, OutputEncoding::Fit(PACKED))
        })
    }

    /// The argmin of a vector; otherwise as [`argmax_index`](Self::argmax_index).
    pub fn argmin_index(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.index("argmin_index", &[x], x.len(), |tables, values, labels| {
            tables.arg_min_label(&values[0].singles(), labels, OutputEncoding::Fit(PACKED))
        })
    }

    /// The argmax of a vector in one-hot form: 1 at the largest value, 0 elsewhere. Ties give
    /// exactly one 1.
    pub fn argmax_one_hot(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.one_hot("argmax_one_hot", x, |tables, lanes| tables.arg_max(lanes, Headroom::TABLE))
    }

    /// The argmin in one-hot form; otherwise as [`argmax_one_hot`](Self::argmax_one_hot).
    pub fn argmin_one_hot(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.one_hot("argmin_one_hot", x, |tables, lanes| tables.arg_min(lanes, Headroom::TABLE))
    }

    /// Max pooling: the largest value of every `window` by `window` patch of an image, which is
    /// given row by row with `columns` values per row. The patches come row by row
    /// ([`lwe::Evaluator::max_pool`]).
    pub fn max_pool(
        &self,
        image: &Ciphertext,
        columns: usize,
        window: usize,
    ) -> Result<Ciphertext> {
        self.run("max_pool", |lookup| {
            lwe::check_pooling(image.len(), columns, window)?;
            let headroom = tournament(window * window);
            self.values(lookup, &[image], headroom, |tables, values| {
                tables.max_pool(&values[0], columns, window)
            })
        })
    }

    /// A function with the look-ups of the server. Its errors carry the name of the method.
    fn run(
        &self,
        method: &'static str,
        f: impl FnOnce(&LookupEvaluator<'_>) -> Result<Ciphertext>,
    ) -> Result<Ciphertext> {
        operation(method, || f(&self.server.lookup()?))
    }

    /// The maximum or the minimum of several vectors.
    fn extreme(
        &self,
        method: &'static str,
        operands: &[&Ciphertext],
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> Result<LweVec>,
    ) -> Result<Ciphertext> {
        self.run(method, |lookup| {
            same_length(operands)?;
            self.values(lookup, operands, tournament(operands.len()), f)
        })
    }

    /// The index of the winner of a tournament of `count` values, whose labels `f` receives.
    fn index(
        &self,
        method: &'static str,
        operands: &[&Ciphertext],
        count: usize,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec], &[f64]) -> Result<LweVec>,
    ) -> Result<Ciphertext> {
        self.run(method, |lookup| {
            let (headroom, labels) = (lookup.tournament(count)?, lookup.labels(count)?);
            same_length(operands)?;
            self.values(lookup, operands, headroom, |tables, values| f(tables, values, &labels))
        })
    }

    /// The winner among the values of a vector, in one-hot form.
    fn one_hot(
        &self,
        method: &'static str,
        x: &Ciphertext,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> Result<Vec<LweVec>>,
    ) -> Result<Ciphertext> {
        self.run(method, |lookup| {
            let headroom = lookup.tournament(x.len())?;
            self.decisions(lookup, &[x], headroom, |tables, values| {
                LweVec::concat(&f(tables, &values[0].singles())?)
            })
        })
    }

    /// A function whose results are values.
    fn values(
        &self,
        lookup: &LookupEvaluator<'_>,
        operands: &[&Ciphertext],
        headroom: Headroom,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> Result<LweVec>,
    ) -> Result<Ciphertext> {
        lookup.via_lwe(operands, &self.domain, headroom, Reduction::Identity, f)
    }

    /// A function whose results are decisions.
    fn decisions(
        &self,
        lookup: &LookupEvaluator<'_>,
        operands: &[&Ciphertext],
        headroom: Headroom,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> Result<LweVec>,
    ) -> Result<Ciphertext> {
        lookup.via_lwe(operands, &self.domain, headroom, Reduction::Sine, f)
    }
}

impl LookupEvaluator<'_> {
    /// Any function of the values of several vectors, by tables on LWE values. Step 1: slots to
    /// LWE, with `headroom`. Step 2: `f`. Step 3: LWE to slots, at the highest level that the
    /// reduction leaves. [`Reduction::Sine`] is for decisions, whose values are the two ends of
    /// their range.
    fn via_lwe(
        &self,
        operands: &[&Ciphertext],
        domain: &RangeInclusive<f64>,
        headroom: Headroom,
        reduction: Reduction,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> Result<LweVec>,
    ) -> Result<Ciphertext> {
        // Step 1: slots to LWE, in one encoding with the headroom of the function.
        let tables = self.tables()?;
        let values = self.extract(operands, domain.clone(), headroom, None)?;
        // Step 2: the function, by tables on LWE values.
        let found = f(&tables, &values)?;
        // Step 3: LWE to slots. Decisions lie at both ends of their range, where the sine needs no
        // inversion and leaves more levels.
        let level = match reduction {
            Reduction::Identity => self.pack_level()?,
            Reduction::Sine => self.lookups.level_after(),
        };
        let layout = Layout::in_order(found.len())?;
        self.pack(&found, &layout, level, reduction)
    }

    /// The headroom of a tournament that tracks its winner.
    fn tournament(&self, count: usize) -> Result<Headroom> {
        self.tables()?.check_tournament(count)?;
        Ok(tournament(count))
    }

    /// The labels 0, 1, .., `count - 1`.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] if packing does not keep them distinguishable.
    fn labels(&self, count: usize) -> Result<Vec<f64>> {
        let failure = self.lookups.log2_table_failure();
        let lwe_params = &self.table_keys()?.lwe_params;
        if !distinguishable(lwe_params, failure, count) {
            let most = most_indices(lwe_params, failure, count);
            return Err(error::too_many_places(count, most));
        }
        Ok((0..count).map(|i| i as f64).collect())
    }
}

/// The headroom of a tournament of `count` values.
pub(super) fn tournament(count: usize) -> Headroom {
    Headroom::comparators(count.max(1).next_power_of_two().ilog2())
}

/// The headroom of a network of comparators.
pub(super) fn depth(network: &Network) -> Headroom {
    Headroom::comparators(network.depth() as u32)
}

/// The headroom for the first `count` of `places` of the sorted values.
pub(super) fn few(
    len: usize,
    count: usize,
    places: impl Iterator<Item = usize>,
) -> Result<Headroom> {
    if count == 0 || count > len {
        return Err(lwe::error::count(count, len));
    }
    let places: Vec<usize> = places.take(count).collect();
    Ok(depth(&Network::odd_even(len)?.keep(&places)?))
}

/// Fails unless all vectors have as many values as the first.
fn same_length(operands: &[&Ciphertext]) -> Result<()> {
    let lengths = || operands.iter().map(|x| x.len());
    match lengths().find(|&len| Some(len) != lengths().next()) {
        Some(right) => Err(ckks::error::length_mismatch(operands[0].len(), right)),
        None => Ok(()),
    }
}

/// Whether labels below `count` return with errors below 1/2, except with probability
/// `2^log2_failure`. The error is that of [`noise::deviations`] standard deviations of a label in
/// its encoding, plus that of packing.
pub fn distinguishable(lwe_params: &lwe::Params, log2_failure: f64, count: usize) -> bool {
    // The encoding of the labels 0 to `last`, with the noise of a label.
    let (last, variance) = (count.saturating_sub(1) as f64, noise::label(lwe_params, count));
    let Ok(encoding) = Encoding::fit(lwe_params, 0.0, last, variance, PACKED, log2_failure) else {
        return false;
    };
    let unit = encoding.width() / lwe_params.ring_modulus().value() as f64;
    // The largest error of a label: its noise in units of the labels, and the error of packing.
    let reach = noise::deviations(log2_failure) * variance.sqrt() * unit;
    reach + PACKING_ERROR * last < 0.5
}

/// The largest number of labels, below `beyond`, that are [`distinguishable`], by bisection: the
/// error of a label grows with their number.
pub fn most_indices(lwe_params: &lwe::Params, log2_failure: f64, beyond: usize) -> usize {
    let (mut most, mut beyond) = (1, beyond);
    while beyond - most > 1 {
        let middle = most + (beyond - most) / 2;
        match distinguishable(lwe_params, log2_failure, middle) {
            true => most = middle,
            false => beyond = middle,
        }
    }
    most
}
