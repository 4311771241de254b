//! The prediction of look-ups.

use std::{collections::VecDeque, ops::RangeInclusive};

use bellerophon_ckks::{Metadata, cost::Work};
use bellerophon_lwe::{self as lwe, noise as lwe_noise};
use bellerophon_ring::Result;

use super::{cost_model::CostModel, goal::LOG2_FAILURE, request::MapRequest};
use crate::{
    bridge_choice::Bridge, error_distribution::Grid, map::Map, params::LutParams,
    ring_bridge::reduction::Reduction,
};

/// The tables of a parameter set with one bridge.
pub(crate) struct Tables<'a> {
    pub(crate) lookups: &'a LutParams,
    pub(crate) lwe_params: &'a lwe::Params,
    pub(crate) bridge: Bridge,
}

impl Tables<'_> {
    /// A bound on the error of a plain table, for values in the domain of `map`.
    pub(crate) fn error(
        &self,
        map: &Map<'_>,
        f: &MapRequest<'_>,
        range: &RangeInclusive<f64>,
        shifted: &Metadata,
    ) -> Result<f64> {
        let (lo, hi) = (*range.start(), *range.end());
        let inside = |x: f64| f.value(x.clamp(lo, hi));
        let (output, count) = (map.entry_encoding(&inside)?, shifted.meta.len);
        let log2_failure = LOG2_FAILURE;
        let grid = map.grid(shifted)?;
        // Step 1: the largest index error in cells: the rounding to a cell, the noise of the
        // look-up, and the error of the operand, whose tail is longer than that of the index.
        let deviations = lwe_noise::deviations(log2_failure - (count as f64).log2());
        let operand = shifted.worst(log2_failure) / grid.step;
        let reach = 1.0 + deviations * grid.index_std + operand;
        // Step 2: the largest change of the function over that distance, and the noise of the
        // result.
        let reach = reach.ceil().min(grid.degree as f64) as usize;
        let change = largest_change(&grid, f, lo, hi, reach);
        Ok(change + map.predicted_noise(&output, count).worst(count, log2_failure))
    }

    /// The time of a look-up of `count` values, corrected by a polynomial of degree `order`:
    /// SlotsToCoeffs, blind rotations, ring packing and correction.
    pub(crate) fn seconds(
        &self,
        model: &CostModel,
        count: usize,
        order: usize,
        threads: usize,
    ) -> Result<f64> {
        let Self { lookups, lwe_params, bridge } = self;
        let slots = lookups.slots();
        let level = lookups.level_after();
        let tables = if order == 0 { 1 } else { order + 2 };
        // Step 1: SlotsToCoeffs.
        let mut vectors = lookups.to_coefficients().work();
        // Step 2: blind rotations. One per value serves all tables on RGSW; NTRU takes one per
        // table.
        let rotations = if lwe_params.one_rotation_for_several() { 1 } else { tables };
        let source = match bridge {
            Bridge::Ring => lwe_params.spec().ring_degree,
            Bridge::Linear => slots.lattice().spec().degree + lwe_params.spec().ring_degree,
        };
        let mut seconds = model.rotations(lwe_params, source, count * rotations, threads);
        // Step 3: ring packing and reduction.
        match (bridge, lookups.ring()) {
            (Bridge::Ring, Some(ring)) => {
                let period = count.next_power_of_two() * tables.next_power_of_two();
                let packed = ring.packing_work(count * tables);
                seconds += model.vectors(&packed, threads);
                let period = period.min(slots.max_slots());
                vectors += ring.work(period, Reduction::Sine, level)?;
            }
            _ => {
                let (top, dimension) = (slots.max_level(), lwe_params.spec().dimension);
                let diagonals = count.next_power_of_two().min(dimension);
                vectors += Work::of_matrix(slots, top, diagonals, 1, slots.max_slots());
                vectors += lookups.reduction().work(slots, top - 1);
            }
        }
        // Step 4: rotations of the tables to one block, products by the distance, and the spread of
        // the result.
        if order > 0 {
            vectors += Work::of_switches(slots, level, 2 * tables + order);
        }
        Ok(seconds + model.vectors(&vectors, threads))
    }
}

/// The largest `|f(y) - f(x)|` for a cell `x` at which values may lie and any cell `y` within
/// `reach` cells.
fn largest_change(grid: &Grid, f: &MapRequest<'_>, lo: f64, hi: f64, reach: usize) -> f64 {
    let half = grid.degree as i64 / 2;
    let argument = |k: usize| grid.center + (k as i64 - half) as f64 * grid.step;
    let entries: Vec<f64> = (0..grid.degree).map(|k| f.value(argument(k).clamp(lo, hi))).collect();
    // The extremes of the function within reach of every cell.
    let least = sliding(&entries, reach, |new, old| new <= old);
    let most = sliding(&entries, reach, |new, old| new >= old);
    // Only cells at which a value may lie count.
    let admitted = (0..grid.degree).filter(|&k| {
        let x = argument(k);
        (lo - grid.step..=hi + grid.step).contains(&x) && f.admits(x, grid.step)
    });
    admitted.map(|k| (most[k] - entries[k]).max(entries[k] - least[k])).fold(0.0, f64::max)
}

/// The extreme of the window of `reach` entries on either side of every entry, by a monotonic
/// queue.
fn sliding(entries: &[f64], reach: usize, replaces: impl Fn(f64, f64) -> bool) -> Vec<f64> {
    let mut candidates: VecDeque<usize> = VecDeque::new();
    let mut next = 0;
    let extremes = (0..entries.len()).map(|k| {
        while next < entries.len() && next <= k.saturating_add(reach) {
            // An older entry that the new one replaces can never be the extreme again.
            while candidates.back().is_some_and(|&old| replaces(entries[next], entries[old])) {
                candidates.pop_back();
            }
            candidates.push_back(next);
            next += 1;
        }
        // Entries that lie before the window leave the queue.
        while candidates.front().is_some_and(|&first| first.saturating_add(reach) < k) {
            candidates.pop_front();
        }
        entries[candidates[0]]
    });
    extremes.collect()
}

#[cfg(test)]
mod tests {
    use bellerophon_ckks::{CiphertextMeta, Interval, noise::Noise, simulator::Simulator};

    use super::*;
    use crate::{planner::function::MapFunction, testing};

    #[test]
    fn windows_hold_their_extremes() {
        let entries: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 23)).collect();
        for reach in [0, 1, 4, 60] {
            let most = sliding(&entries, reach, |new, old| new >= old);
            for (k, found) in most.iter().enumerate() {
                let window = &entries[k.saturating_sub(reach)..(k + reach + 1).min(50)];
                assert_eq!(*found, window.iter().copied().fold(f64::MIN, f64::max));
            }
        }
    }

    #[test]
    fn changes_are_those_of_the_steepest_reached_place() {
        let grid =
            Grid { center: 0.0, step: 0.01, degree: 1024, index_std: 0.0, operand: Noise::NONE };
        let linear = MapRequest::of(MapFunction::lipschitz("3x", 3.0, |x| 3.0 * x));
        let found = largest_change(&grid, &linear, -2.0, 2.0, 7);
        assert!((found - 0.21).abs() < 1e-9, "{found}");
        // A jump counts only where values come near it.
        let sign = MapRequest::of(MapFunction::sign(0.1));
        assert_eq!(largest_change(&grid, &sign, -2.0, 2.0, 9), 0.0);
        assert_eq!(largest_change(&grid, &sign, -2.0, 2.0, 11), 2.0);
        let table = MapRequest::table(vec![0.0, 5.0, 1.0]);
        assert_eq!(largest_change(&grid, &table, 0.0, 2.0, 40), 0.0);
        assert_eq!(largest_change(&grid, &table, 0.0, 2.0, 60), 5.0);
    }

    /// The reduction enlarges roundings most in slots of rare multiples of the modulus: the bound
    /// of a constant, which no index error changes, is that of the worst of them.
    #[test]
    fn constants_have_the_error_of_the_worst_multiple() {
        let lookups = &testing::toy();
        let (lwe_params, bridge) = (lookups.lwe_params(), Bridge::Ring);
        let map = Map::new(lookups, lwe_params, bridge, &(-1.0..=1.0)).unwrap();
        let tables = Tables { lookups, lwe_params, bridge };
        let constant = MapRequest::of(MapFunction::lipschitz("1", 1.0, |_| 1.0));
        let simulator = Simulator::new(lookups.slots());
        let (count, level) = (1024, lookups.slots().max_level());
        let unit = Interval::real(-1.0, 1.0).unwrap();
        let x = simulator.encrypt(&vec![0.0; count], unit, level).unwrap();
        let found = tables.error(&map, &constant, &(-1.0..=1.0), x.metadata()).unwrap();
        let noise = map.predicted_noise(&map.entry_encoding(&|_| 1.0).unwrap(), count);
        assert!(noise.peak > noise.total);
        let of = |noise: Noise| noise.worst(count, LOG2_FAILURE);
        assert!(found > of(Noise::new(noise.total)), "{found} {noise:?}");
        assert!((found / of(noise) - 1.0).abs() < 1e-12, "{found} {noise:?}");
    }

    /// A vector after a bootstrap has slots with much larger errors than others, and a stated range
    /// includes them: the identity still has at least the error of its operand.
    #[test]
    fn stated_ranges_have_the_errors_of_the_worst_slot() {
        let lookups = &testing::toy();
        let (lwe_params, bridge) = (lookups.lwe_params(), Bridge::Ring);
        let map = Map::new(lookups, lwe_params, bridge, &(-1.0..=1.0)).unwrap();
        let tables = Tables { lookups, lwe_params, bridge };
        let identity = MapRequest::of(MapFunction::lipschitz("x", 1.0, |x| x));
        let simulator = Simulator::new(lookups.slots());
        let unit = Interval::real(-1.0, 1.0).unwrap();
        let level = lookups.slots().max_level();
        let x = simulator.encrypt(&vec![0.0; 1024], unit, level).unwrap();
        let error = |noise: Noise| {
            let meta = CiphertextMeta { noise, ..x.metadata().meta };
            let shifted = Metadata { meta, ..*x.metadata() };
            let found = tables.error(&map, &identity, &(-1.0..=1.0), &shifted).unwrap();
            (found, shifted.worst(LOG2_FAILURE))
        };
        let quiet = error(Noise::NONE).0;
        // Deviations in the message of 2^-16 on average and of 2^-6 at most.
        let unit = x.metadata().meta.scale.powi(2) / 1024.0;
        let mixed = Noise::varying(2f64.powi(-32) * unit, 2f64.powi(-12) * unit);
        let (found, own) = error(Noise { excess: 0.0, ..mixed });
        assert!(own < found && found < 1.2 * (own + quiet), "{found} {own} {quiet}");
        // What may leave the range is in the index as well.
        let (found, own) = error(mixed);
        assert!(own < found && found < 2.5 * (own + quiet), "{found} {own} {quiet}");
    }
}
