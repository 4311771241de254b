//! Bitonic networks on slots.

use bellerophon_ring::SortOrder;

/// 1 where the larger of two values comes first, -1 where the smaller one does.
fn weight(order: SortOrder) -> f64 {
    match order {
        SortOrder::Ascending => -1.0,
        SortOrder::Descending => 1.0,
    }
}

/// One stage: slot `i` with `i & distance == 0` is compared with slot `i + distance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stage {
    pub distance: usize,
    /// Pairs with `i & reversed != 0` are ordered the other way.
    reversed: usize,
    order: SortOrder,
}

impl Stage {
    /// What the first slot of each pair gets: 1 for the larger value, -1 for the smaller one.
    pub(crate) fn weights(self, wires: usize, slots: usize) -> Vec<f64> {
        let of_slot = |i: usize| match (i < wires && i & self.distance == 0, i & self.reversed) {
            (false, _) => 0.0,
            (true, 0) => weight(self.order),
            (true, _) => -weight(self.order),
        };
        (0..slots).map(of_slot).collect()
    }
}

/// Distances from `from / 2` down to 1.
fn halves(from: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(from / 2), |d| Some(d / 2)).take_while(|&d| d > 0)
}

/// Powers of two from `from` up to `to`.
fn doubles(from: usize, to: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(from), |d| Some(2 * d)).take_while(move |&d| d <= to)
}

/// Batcher's bitonic network on `wires`, a power of two: merges of 2, 4, .., `wires` values. Every
/// second merge sorts in reverse. Two adjacent blocks then form a bitonic sequence.
pub(super) fn sorting(wires: usize, order: SortOrder) -> Vec<Stage> {
    blocks(wires, wires, order)
}

/// As [`sorting`] as far as blocks of `block` wires, every other one of them reversed.
fn blocks(block: usize, wires: usize, order: SortOrder) -> Vec<Stage> {
    let stage = |size: usize, distance| Stage { distance, reversed: size & (wires - 1), order };
    doubles(2, block).flat_map(|size| halves(size).map(move |d| stage(size, d))).collect()
}

/// Brings the `kept` largest of `wires` values, both powers of two, to the first wires, largest
/// first.
///
/// Sorts blocks of `kept` wires. Then, as long as there are two blocks: the larger values of a
/// block and its neighbour, which is ordered the other way, are a bitonic sequence that contains
/// the largest of both; one stage selects them, and `log2(kept)` stages merge them.
pub(super) fn selection(kept: usize, wires: usize) -> Vec<Stage> {
    let order = SortOrder::Descending;
    let mut stages = blocks(kept, wires, order);
    for distance in doubles(kept, wires / 2) {
        stages.push(Stage { distance, reversed: 0, order });
        // The blocks that are left are twice as far apart.
        let reversed = (2 * distance) & (wires - 1);
        stages.extend(halves(kept).map(|distance| Stage { distance, reversed, order }));
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stages: &[Stage], values: &mut [u32]) {
        for stage in stages {
            for (i, weight) in stage.weights(values.len(), values.len()).into_iter().enumerate() {
                let j = i + stage.distance;
                if (weight > 0.0 && values[i] < values[j])
                    || (weight < 0.0 && values[i] > values[j])
                {
                    values.swap(i, j);
                }
            }
        }
    }

    /// Zeros and ones in every arrangement: a network that orders them orders everything.
    #[test]
    fn networks_sort_and_select() {
        for log in 0..=4 {
            let wires = 1usize << log;
            for bits in 0..1u32 << wires {
                let values: Vec<u32> = (0..wires).map(|i| bits >> i & 1).collect();
                let mut expected = values.clone();
                expected.sort_unstable();
                let mut found = values.clone();
                run(&sorting(wires, SortOrder::Ascending), &mut found);
                assert_eq!(found, expected);
                expected.reverse();
                let mut found = values.clone();
                run(&sorting(wires, SortOrder::Descending), &mut found);
                assert_eq!(found, expected);
                for kept in doubles(1, wires) {
                    let mut found = values.clone();
                    run(&selection(kept, wires), &mut found);
                    assert_eq!(found[..kept], expected[..kept], "{kept} of {values:?}");
                }
            }
        }
    }

    #[test]
    fn stages_are_as_many_as_stated() {
        assert_eq!(sorting(4096, SortOrder::Ascending).len(), 12 * 13 / 2);
        assert_eq!(selection(16, 4096).len(), 4 * 5 / 2 + 8 * 5);
        assert_eq!(selection(1, 4096).len(), 12);
        assert_eq!(selection(8, 8), sorting(8, SortOrder::Descending));
        assert!(sorting(1, SortOrder::Ascending).is_empty());
    }
}
