//! Functions of several values on slots: maximum, argmax, comparison, sorting, pooling.
//!
//! The values move from slots to LWE in an encoding with the headroom that the function needs, pass
//! the tables of [`lwe::Evaluator`], and are packed into slots again.

use std::ops::RangeInclusive;

use bellerophon_ckks::Ciphertext;
use bellerophon_lwe::{self as lwe, Headroom, LweVec, Network, Order, OutputEncoding};
use bellerophon_repack::{
    Reduction,
    lookup::ordering::{PACKED, depth, few, same_length, tournament},
};

use crate::{During, Evaluator, Result};

/// Functions of the values of one vector, or slotwise functions of several vectors, on a domain:
/// from [`Evaluator::within`].
///
/// Each takes [`LutParams::levels`](crate::LutParams::levels) levels of its operands, whose carried
/// ranges must lie in the domain. Values return at [`Evaluator::pack_level`], decisions (0 or 1) at
/// [`LutParams::level_after`](crate::LutParams::level_after). A comparator is one look-up. Its
/// decision is right if the two values differ by more than the index error, a few thousandths of
/// the domain's width with tables of degree 4096. If they differ by less, either value is right to
/// that accuracy ([`lwe`] gives the distributions). Each layer of comparators adds one such error.
///
/// The range of a result is that of its exact values: sorted values, maxima and minima of values of
/// a range lie in it. Noise may move them out by two fifths of half its width; the guard bands of
/// the next tables absorb that. If it may be more, the range is wider. Padding is zero.
///
/// The [noise](Ciphertext::noise) of a result is that of the worst case. For values it covers ties
/// and any correlation of their errors. Decisions are wrong for ties: their noise is the
/// probability of a wrong decision, about 1/2 for two values, times the square of the difference
/// between the outcomes.
///
/// [`Params::order_accuracy`](crate::Params::order_accuracy) predicts the error before any key
/// exists.
///
/// All functions take the ring bridge. [`Needs::map`](crate::Needs::map) asks for its keys where it
/// is the cheaper bridge, `Needs::bridge(Bridge::Ring)` always. All report to the callback of
/// [`Evaluator::with_progress`].
///
/// ```
/// use bellerophon::{lwe::Order, prelude::*};
/// # fn main() -> bellerophon::Result<()> {
/// // Toy dimensions, which protect nothing.
/// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
/// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
/// let within = server.within(-1.0..=1.0);
///
/// let x = client.encrypt(&[0.5, -0.75, 0.0, 0.875], -1.0..=1.0)?;
/// let sorted = client.decrypt(&within.sort(&x, Order::Ascending)?)?;
/// # for (found, expected) in sorted.iter().zip([-0.75, 0.0, 0.5, 0.875]) {
/// #     assert!((found - expected).abs() < 0.1, "{sorted:?}");
/// # }
/// let y = client.encrypt(&[0.0, 0.5, 0.5, -0.5], -1.0..=1.0)?;
/// let larger = client.decrypt(&within.max(&[&x, &y])?)?; // 0.5, 0.5, 0.5, 0.875
/// # for (found, expected) in larger.iter().zip([0.5, 0.5, 0.5, 0.875]) {
/// #     assert!((found - expected).abs() < 0.1, "{larger:?}");
/// # }
/// # Ok(())
/// # }
/// ```
///
/// # Which family to take
/// Three families order values. They differ in what a comparison costs and in what it needs.
///
/// | | these functions ([`Evaluator::within`]) | [`lwe::Evaluator`] of [`Evaluator::tables`] | [`Comparator`](bellerophon_ckks::ordering::Comparator) on slots |
/// | --- | --- | --- | --- |
/// | take it for | few values: the time grows with each comparison | chains of tables: no packing in between | whole vectors: a step compares all pairs at once |
/// | operands | vectors | [`LweVec`], from [`Evaluator::extract`] | vectors |
/// | parameters | with look-ups | with look-ups | with enough levels, or bootstrapping |
/// | keys | [`Needs::map`](crate::Needs::map) | [`Needs::map`](crate::Needs::map) | `Comparator::sort_keys` and its kin, [`Needs::bootstrap`](crate::Needs::bootstrap) |
/// | levels | those of one look-up | none | those of a comparison for each step |
/// | close values | either, to the index error of a table | either, to the index error of a table | results off by at most `Comparator::sort_error` and its kin |
/// | only there | indices, one-hot results, pooling | functions between the comparisons | ranks, quantiles, counts, histograms |
///
/// # Errors
/// All functions return: [`OutsideDomain`](crate::repack::ErrorKind::OutsideDomain) if a carried
/// range does not lie in the domain; [`Domain`](crate::repack::ErrorKind::Domain) and
/// [`DomainScale`](crate::repack::ErrorKind::DomainScale) for domains that no table takes;
/// [`ErrorKind::NoLookUps`](crate::ErrorKind::NoLookUps) and
/// [`NoRingBridge`](crate::repack::ErrorKind::NoRingBridge) for parameters without them;
/// [`ErrorKind::MissingKeys`](crate::ErrorKind::MissingKeys),
/// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled); errors for keys of another client, too
/// few levels and vectors of different lengths; [`Scales`](crate::repack::ErrorKind::Scales) as
/// for [`Evaluator::extract_all`]; and errors of [`lwe::Evaluator`], among them tables too small
/// for a network of that depth.
#[derive(Debug, Clone)]
pub struct OrderOps<'a> {
    evaluator: &'a Evaluator,
    domain: RangeInclusive<f64>,
}

impl Evaluator {
    /// Functions of several values that lie in a domain: maximum and minimum, argmax, comparison,
    /// sorting, pooling.
    pub fn within(&self, domain: RangeInclusive<f64>) -> OrderOps<'_> {
        OrderOps { evaluator: self, domain }
    }
}

impl OrderOps<'_> {
    /// Any function of the values of several vectors, by tables on LWE values. `headroom` is that
    /// of the encoding of the operands. The values that `f` returns must leave headroom for packing
    /// ([`Evaluator::pack`]); values that do not are refused only after `f` has run.
    pub fn apply(
        &self,
        operands: &[&Ciphertext],
        headroom: Headroom,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> lwe::Result<LweVec>,
    ) -> Result<Ciphertext> {
        self.via_lwe(operands, headroom, Reduction::Identity, f).during("apply")
    }

    /// The slotwise maximum of several vectors of one length. A slot takes one comparator less than
    /// there are vectors.
    pub fn max(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        same_length(operands).during("max")?;
        let headroom = tournament(operands.len());
        let max = |tables: &lwe::Evaluator<'_>, values: &[LweVec]| tables.max_of(values);
        self.via_lwe(operands, headroom, Reduction::Identity, max).during("max")
    }

    /// The slotwise minimum; otherwise as [`max`](Self::max).
    pub fn min(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        same_length(operands).during("min")?;
        let headroom = tournament(operands.len());
        let min = |tables: &lwe::Evaluator<'_>, values: &[LweVec]| tables.min_of(values);
        self.via_lwe(operands, headroom, Reduction::Identity, min).during("min")
    }

    /// The slotwise argmax of several vectors of one length: the index, from 0, of the vector with
    /// the largest value. Ties give the index of one of them. Takes two to three look-ups per slot
    /// and vector ([`lwe::Evaluator::arg_max_label`]).
    ///
    /// # Errors
    /// Those of all functions ([`OrderOps`]), and
    /// [`TooManyPlaces`](crate::repack::ErrorKind::TooManyPlaces) as for
    /// [`argmax_index`](Self::argmax_index).
    pub fn arg_max(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        let op = "arg_max";
        let (headroom, labels) =
            (self.tournament(operands.len()).during(op)?, self.labels(operands.len()).during(op)?);
        same_length(operands).during(op)?;
        self.via_lwe(operands, headroom, Reduction::Identity, |tables, values| {
            tables.arg_max_label(values, &labels, OutputEncoding::Fit(PACKED))
        })
        .during(op)
    }

    /// The slotwise argmin; otherwise as [`arg_max`](Self::arg_max).
    ///
    /// # Errors
    /// As [`arg_max`](Self::arg_max).
    pub fn arg_min(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        let op = "arg_min";
        let (headroom, labels) =
            (self.tournament(operands.len()).during(op)?, self.labels(operands.len()).during(op)?);
        same_length(operands).during(op)?;
        self.via_lwe(operands, headroom, Reduction::Identity, |tables, values| {
            tables.arg_min_label(values, &labels, OutputEncoding::Fit(PACKED))
        })
        .during(op)
    }

    /// The slotwise comparison: 1 where `x > y` and 0 elsewhere. One look-up per slot.
    pub fn greater(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        same_length(&[x, y]).during("greater")?;
        let headroom = Headroom::comparators(1);
        self.via_lwe(&[x, y], headroom, Reduction::Sine, |tables, values| {
            tables.greater(&values[0], &values[1], OutputEncoding::Fit(Headroom::TABLE))
        })
        .during("greater")
    }

    /// The magnitude of every value. One look-up per value.
    pub fn abs(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.via_lwe(&[x], Headroom::TABLE, Reduction::Identity, |tables, values| {
            tables.abs(&values[0], OutputEncoding::Fit(PACKED))
        })
        .during("abs")
    }

    /// Sorts the values of a vector: one look-up for each comparator of [`Network::odd_even`], in
    /// `r (r + 1) / 2` layers for up to `2^r` values. The headroom for the errors of all layers
    /// makes the cells coarser. With very many values the order is imprecise, and no error says so:
    /// for 16384 values, 105 layers, the error of one comparator is 1.5% of the domain.
    /// [`Params::order_accuracy`](crate::Params::order_accuracy) tells beforehand.
    pub fn sort(&self, x: &Ciphertext, order: Order) -> Result<Ciphertext> {
        let network = Network::odd_even(x.len()).during("sort")?;
        let headroom = depth(&network);
        self.via_lwe(&[x], headroom, Reduction::Identity, |tables, values| {
            tables.sort_through(&values[0], &network, order)
        })
        .during("sort")
    }

    /// The `count` largest values of a vector, the largest first. Two values that differ by less
    /// than [`OrderAccuracy::order_gap`](crate::OrderAccuracy::order_gap) may come back in reverse
    /// order.
    ///
    /// # Errors
    /// Those of all functions ([`OrderOps`]), and if `count` is 0 or above the number of values.
    pub fn largest(&self, x: &Ciphertext, count: usize) -> Result<Ciphertext> {
        let op = "largest";
        let headroom = few(x.len(), count, (0..x.len()).rev()).during(op)?;
        self.via_lwe(&[x], headroom, Reduction::Identity, |tables, values| {
            tables.largest(&values[0], count)
        })
        .during(op)
    }

    /// The `count` smallest values of a vector, the smallest first.
    ///
    /// # Errors
    /// As [`largest`](Self::largest).
    pub fn smallest(&self, x: &Ciphertext, count: usize) -> Result<Ciphertext> {
        let op = "smallest";
        let headroom = few(x.len(), count, 0..x.len()).during(op)?;
        self.via_lwe(&[x], headroom, Reduction::Identity, |tables, values| {
            tables.smallest(&values[0], count)
        })
        .during(op)
    }

    /// The argmax of a vector: the index of its largest value, from 0, as a vector of one number to
    /// be rounded. An index among `k` values carries the noise of `k / 2` look-ups whose entries
    /// span `4 k`, and the error of packing, up to `2^-13 k`. Its error is below 1/2 except with
    /// probability `2^`[`log2_failure`](crate::Params::log2_failure) for up to this number of
    /// values; more are refused:
    ///
    /// | parameters | NTRU | RGSW | RGSW, keys of [`Engine::Corrected`](crate::Engine::Corrected) |
    /// |---|---|---|---|
    /// | [`Functions`](crate::Preset::Functions) | 460 | 118 | 4096 |
    /// | [`FunctionsFine`](crate::Preset::FunctionsFine) | 642 | 95 | 4095 |
    /// | [`FunctionsPrecise`](crate::Preset::FunctionsPrecise) | | 76 | 4095 |
    ///
    /// # Errors
    /// Those of all functions ([`OrderOps`]), and before any work
    /// [`TooManyPlaces`](crate::repack::ErrorKind::TooManyPlaces), which names the largest
    /// number.
    pub fn argmax_index(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "argmax_index";
        let (headroom, labels) =
            (self.tournament(x.len()).during(op)?, self.labels(x.len()).during(op)?);
        self.via_lwe(&[x], headroom, Reduction::Identity, |tables, values| {
            tables.arg_max_label(&values[0].singles(), &labels, OutputEncoding::Fit(PACKED))
        })
        .during(op)
    }

    /// The argmin of a vector; otherwise as [`argmax_index`](Self::argmax_index).
    ///
    /// # Errors
    /// As [`argmax_index`](Self::argmax_index).
    pub fn argmin_index(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "argmin_index";
        let (headroom, labels) =
            (self.tournament(x.len()).during(op)?, self.labels(x.len()).during(op)?);
        self.via_lwe(&[x], headroom, Reduction::Identity, |tables, values| {
            tables.arg_min_label(&values[0].singles(), &labels, OutputEncoding::Fit(PACKED))
        })
        .during(op)
    }

    /// The argmax of a vector in one-hot form: 1 at the largest value, 0 elsewhere. Ties give
    /// exactly one 1.
    pub fn argmax_one_hot(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "argmax_one_hot";
        let headroom = self.tournament(x.len()).during(op)?;
        self.via_lwe(&[x], headroom, Reduction::Sine, |tables, values| {
            LweVec::concat(&tables.arg_max(&values[0].singles(), Headroom::TABLE)?)
        })
        .during(op)
    }

    /// The argmin in one-hot form; otherwise as [`argmax_one_hot`](Self::argmax_one_hot).
    pub fn argmin_one_hot(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "argmin_one_hot";
        let headroom = self.tournament(x.len()).during(op)?;
        self.via_lwe(&[x], headroom, Reduction::Sine, |tables, values| {
            LweVec::concat(&tables.arg_min(&values[0].singles(), Headroom::TABLE)?)
        })
        .during(op)
    }

    /// Max pooling: the largest value of every `window` by `window` patch of an image, which is
    /// given row by row with `columns` values per row. The patches come row by row
    /// ([`lwe::Evaluator::max_pool`]).
    ///
    /// # Errors
    /// Those of all functions ([`OrderOps`]), and [`lwe::ErrorKind::Image`] if the patches do not
    /// tile the image.
    pub fn max_pool(
        &self,
        image: &Ciphertext,
        columns: usize,
        window: usize,
    ) -> Result<Ciphertext> {
        lwe::check_pooling(image.len(), columns, window).during("max_pool")?;
        let headroom = tournament(window * window);
        self.via_lwe(&[image], headroom, Reduction::Identity, |tables, values| {
            tables.max_pool(&values[0], columns, window)
        })
        .during("max_pool")
    }

    /// The headroom of a tournament that tracks its winner, if the tables support it.
    fn tournament(&self, count: usize) -> Result<Headroom> {
        Ok(self.evaluator.lookup()?.tournament(count)?)
    }

    /// The labels 0, 1, .., `count - 1`, if packing keeps them distinguishable.
    fn labels(&self, count: usize) -> Result<Vec<f64>> {
        Ok(self.evaluator.lookup()?.labels(count)?)
    }

    /// Slots to LWE, `f`, and LWE to slots, at the highest level that the reduction leaves.
    fn via_lwe(
        &self,
        operands: &[&Ciphertext],
        headroom: Headroom,
        reduction: Reduction,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> lwe::Result<LweVec>,
    ) -> Result<Ciphertext> {
        let lookup = self.evaluator.lookup()?;
        Ok(lookup.via_lwe(operands, &self.domain, (headroom, reduction), f)?)
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_repack::lookup::ordering::{distinguishable, most_indices};

    use crate::{LutEngine, Params, Preset};

    /// The table in the documentation of [`OrderOps::argmax_index`].
    #[test]
    fn the_most_places_are_those_of_the_table() {
        use Preset::{Functions, FunctionsFine, FunctionsPrecise, ToyInsecure};
        let expected = [
            (Functions, [Some(460), Some(118), Some(4096)]),
            (FunctionsFine, [Some(642), Some(95), Some(4095)]),
            (FunctionsPrecise, [None, Some(76), Some(4095)]),
            (ToyInsecure, [Some(1426), Some(446), Some(4096)]),
        ];
        for (preset, expected) in expected {
            let params = Params::preset(preset).unwrap();
            let lookups = params.lookups().unwrap();
            let failure = lookups.log2_table_failure();
            let sets = [
                lookups.on(LutEngine::Ntru),
                lookups.on(LutEngine::Rgsw),
                lookups.corrected_on(LutEngine::Rgsw),
            ];
            let most = sets.map(|set| set.map(|set| most_indices(set, failure, 1 << 16)));
            assert_eq!(most, expected, "{preset:?}");
            for set in sets.into_iter().flatten() {
                assert!(
                    distinguishable(set, failure, 1) && !distinguishable(set, failure, 1 << 13)
                );
            }
        }
    }
}
