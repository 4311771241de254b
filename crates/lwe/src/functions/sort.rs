//! Sorting and top-k by sorting networks.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{During, Result, SortOrder, error::operation};

use super::{Network, compare::Pick};
use crate::error;
use crate::lwe_vec::LweVec;
use crate::pbs::Evaluator;

impl Evaluator<'_> {
    /// Sorts the values, with one look-up for each comparator of [`Network::odd_even`]. The
    /// comparators of a layer run in one batch. The encoding needs
    /// [`Headroom::comparators`](crate::Headroom::comparators) of the network's depth.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for more than 65536 values.
    pub fn sort(&self, values: &LweVec, order: SortOrder) -> Result<LweVec> {
        operation("sort", || self.sort_through(values, &Network::odd_even(values.len())?, order))
    }

    /// Sorts the values by a given network, which must sort in ascending order.
    pub fn sort_through(
        &self,
        values: &LweVec,
        network: &Network,
        order: SortOrder,
    ) -> Result<LweVec> {
        // The network sorts in ascending order. Descending order is a permutation of the results.
        let sorted = self.run(values, network)?;
        let mut positions: Vec<usize> = (0..values.len()).collect();
        if order == SortOrder::Descending {
            positions.reverse();
        }
        sorted.select(&positions)
    }

    /// The `count` largest values (top-k), the largest first. One value takes a tree of
    /// comparators. Several take the comparators of a sorting network on which they depend.
    pub fn largest(&self, values: &LweVec, count: usize) -> Result<LweVec> {
        let positions: Vec<usize> = (0..values.len()).rev().take(count).collect();
        self.ranked(values, count, &positions, Pick::Largest).during("largest")
    }

    /// The `count` smallest values, the smallest first, as [`largest`](Self::largest).
    pub fn smallest(&self, values: &LweVec, count: usize) -> Result<LweVec> {
        let positions: Vec<usize> = (0..values.len()).take(count).collect();
        self.ranked(values, count, &positions, Pick::Smallest).during("smallest")
    }

    /// The values at these positions of the sorted order.
    fn ranked(
        &self,
        values: &LweVec,
        count: usize,
        positions: &[usize],
        pick: Pick,
    ) -> Result<LweVec> {
        if count == 0 || count > values.len() {
            return Err(error::count(count, values.len()));
        }
        // A tree of comparators suffices for a single value.
        if count == 1 {
            return self.tournament(&values.singles(), pick);
        }
        let network = Network::odd_even(values.len())?.keep(positions)?;
        self.run(values, &network)?.select(positions)
    }

    /// Runs a network on the values, layer by layer.
    fn run(&self, values: &LweVec, network: &Network) -> Result<LweVec> {
        if network.wires() != values.len() {
            return Err(error::lengths(values.len(), network.wires()));
        }
        let mut work = self.begin(network.comparators())?;
        let mut wires = values.clone();
        for layer in network.layers() {
            // All comparators of a layer in one batch: minima to the first wires, maxima to the
            // second.
            let (low, high): (Vec<_>, Vec<_>) = layer.iter().copied().unzip();
            let (a, b) = (wires.select(&low)?, wires.select(&high)?);
            let (min, max) = self.min_max_in(&mut work, &a, &b)?;
            wires.replace(&low, &min);
            wires.replace(&high, &max);
        }
        Ok(wires)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::encoding::Headroom;
    use crate::engine::NtruRotation;
    use crate::error::refusal;
    use crate::params::tests::*;
    use crate::testing::{Count, Setup};

    fn shuffled(count: usize) -> Vec<f64> {
        let value = |i: usize| (i as u32).wrapping_mul(2654435761) >> 16;
        (0..count).map(|i| f64::from(value(i)) / 65536.0).collect()
    }

    #[test]
    fn any_count_sorts_both_ways_with_predicted_error() {
        let [ternary, any] = [NtruRotation::Ternary, NtruRotation::Any { window: 16 }]
            .map(|rotation| insecure_ntru(32, 1024, rotation));
        for spec in [insecure(32, 1024, false), ternary, any] {
            let mut s = Setup::new(spec);
            for count in [1, 2, 5, 8, 13] {
                let network = Network::odd_even(count).unwrap();
                let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(network.depth() as u32));
                let mut input = shuffled(count);
                let x = s.encrypt(&input, 0.0..=1.0, encoding);
                input.sort_by(f64::total_cmp);
                let evaluator = s.evaluator();
                let up = evaluator.sort(&x, SortOrder::Ascending).unwrap();
                let down = evaluator.sort_through(
                    &x,
                    &Network::bitonic(count).unwrap(),
                    SortOrder::Descending,
                );
                let bound = 6.0 * up.variance().sqrt();
                assert_eq!((up.meta().lo, up.meta().hi), (0.0, 1.0));
                for (got, expected) in up.decrypt(&s.ring).unwrap().iter().zip(&input) {
                    assert!((got - expected).abs() < bound, "{count}: {got} {expected}");
                }
                let down = down.unwrap().decrypt(&s.ring).unwrap();
                for (got, expected) in down.iter().zip(input.iter().rev()) {
                    assert!((got - expected).abs() < bound, "{count}: {got} {expected}");
                }
            }
        }
    }

    /// Errors add up along the network: the results for values that differ by more than the errors
    /// have the predicted deviation, bounded from both sides.
    #[test]
    fn errors_add_up_as_predicted() {
        let mut s = Setup::new(insecure(64, 1024, false));
        let network = Network::odd_even(16).unwrap();
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(network.depth() as u32));
        let evaluator_runs = 6;
        let (mut squares, mut predicted) = (0.0, 0.0);
        for run in 0..evaluator_runs {
            let mut input = shuffled(16);
            input.rotate_left(run);
            let x = s.encrypt(&input, 0.0..=1.0, encoding);
            input.sort_by(f64::total_cmp);
            let sorted = s.evaluator().sort(&x, SortOrder::Ascending).unwrap();
            predicted = sorted.variance();
            for (got, expected) in sorted.decrypt(&s.ring).unwrap().iter().zip(&input) {
                squares += (got - expected).powi(2) / (16 * evaluator_runs) as f64;
            }
        }
        let ratio = squares / predicted;
        // A comparator adds no error to a value if it decides against it, about half of the time,
        // and some layers have no comparator for it.
        assert!((0.15..1.2).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_few_largest_cost_less_than_all() {
        let mut s = Setup::new(insecure(32, 1024, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(10));
        let mut input = shuffled(11);
        let x = s.encrypt(&input, 0.0..=1.0, encoding);
        input.sort_by(f64::total_cmp);
        let told = Count::default();
        let watch = |done, total| told.tell(done, total);
        let evaluator = s.evaluator().observed(&watch);
        let largest = evaluator.largest(&x, 3).unwrap();
        assert!(told.told().1 < Network::odd_even(11).unwrap().comparators());
        let bound = 6.0 * largest.variance().sqrt();
        for (got, expected) in largest.decrypt(&s.ring).unwrap().iter().zip(input.iter().rev()) {
            assert!((got - expected).abs() < bound, "{got} {expected}");
        }
        let smallest = evaluator.smallest(&x, 1).unwrap();
        assert_eq!(told.told(), (10, 10));
        assert!((smallest.decrypt(&s.ring).unwrap()[0] - input[0]).abs() < bound);
        assert!(
            refusal(&evaluator.largest(&x, 12))
                .is(&ErrorKind::Argument, "12 results were requested of 11 value(s)")
        );
        let none = evaluator.largest(&x, 0);
        assert!(refusal(&none).is(&ErrorKind::Argument, "0 results were requested of 11 value(s)"));
        let network = Network::odd_even(12).unwrap();
        let error = evaluator.sort_through(&x, &network, SortOrder::Ascending).unwrap_err();
        assert!(error.is(
            &ErrorKind::Length,
            "one operand has 11 value(s) and another one 12: take operands of one"
        ));
    }

    #[test]
    fn a_sort_can_be_stopped_between_its_layers() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(6));
        let x = s.encrypt(&shuffled(8), 0.0..=1.0, encoding);
        let stop = |done: usize, _: usize| {
            if done >= 8 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let error = s.evaluator().observed(&stop).sort(&x, SortOrder::Ascending).unwrap_err();
        assert_eq!(error, error::cancelled(8, 19).during("sort"));
    }
}
