//! Sorting networks: sequences of comparators that do not depend on the values.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use crate::error;

/// Maximum number of wires of a network. Its comparators then take about 100 MB.
const MOST_WIRES: usize = 1 << 16;

/// Comparators in layers. The comparators of one layer use every wire at most once.
///
/// A comparator `(i, j)` moves the smaller value to `i` and the larger one to `j`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    wires: usize,
    layers: Vec<Vec<(usize, usize)>>,
}

impl Network {
    /// Batcher's odd-even merge exchange (Knuth, The Art of Computer Programming 5.2.2,
    /// Algorithm M). It sorts any number of wires in ascending order. It is as deep as the bitonic
    /// network and has a fifth fewer comparators (543 for 64 wires).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for more than 65536 wires.
    pub fn odd_even(wires: usize) -> Result<Self> {
        check_wires(wires)?;
        let mut network = Self { wires, layers: Vec::new() };
        // Step M1 of Algorithm M: p = 2^(t-1).
        let top = wires.next_power_of_two() / 2;
        let mut p = top;
        while p > 0 {
            // Step M2: q = 2^(t-1), r = 0, d = p.
            let (mut q, mut r, mut d) = (top, 0, p);
            loop {
                // Steps M3 and M4: one layer of comparators (i, i + d) for all i with i & p = r.
                let pairs = (0..wires - d).filter(|i| i & p == r).map(|i| (i, i + d));
                network.layers.push(pairs.collect());
                if q == p {
                    break;
                }
                // Step M5: the next q, until q = p.
                (d, q, r) = (q - p, q / 2, p);
            }
            // Step M6: the next p, until p = 0.
            p /= 2;
        }
        network.layers.retain(|layer| !layer.is_empty());
        Ok(network)
    }

    /// Batcher's bitonic network, whose comparators PEGASUS counts (section V.A). It sorts any
    /// number of wires in ascending order (672 comparators for 64 wires).
    pub fn bitonic(wires: usize) -> Result<Self> {
        check_wires(wires)?;
        // Step 1: the comparators in the order of the recursion.
        let mut comparators = Vec::new();
        bitonic_sort(0, wires, true, &mut comparators);
        // Step 2: assign each comparator to the earliest layer in which both wires are free.
        let mut free = vec![0; wires];
        let mut layers: Vec<Vec<_>> = Vec::new();
        for (i, j) in comparators {
            let layer: usize = free[i].max(free[j]);
            layers.resize_with(layers.len().max(layer + 1), Vec::new);
            layers[layer].push((i, j));
            (free[i], free[j]) = (layer + 1, layer + 1);
        }
        Ok(Self { wires, layers })
    }

    /// Removes the comparators on which the given positions do not depend, and layers that become
    /// empty.
    pub fn keep(mut self, positions: &[usize]) -> Result<Self> {
        if let Some(&place) = positions.iter().find(|&&place| place >= self.wires) {
            return Err(error::place(place, self.wires));
        }
        // From the last layer to the first: a comparator with a needed output needs both inputs.
        let mut needed = vec![false; self.wires];
        positions.iter().for_each(|&place| needed[place] = true);
        for layer in self.layers.iter_mut().rev() {
            layer.retain(|&(i, j)| {
                let live = needed[i] || needed[j];
                (needed[i], needed[j]) = (live, live);
                live
            });
        }
        self.layers.retain(|layer| !layer.is_empty());
        Ok(self)
    }

    /// The number of values that the network sorts.
    pub(crate) fn wires(&self) -> usize {
        self.wires
    }

    /// The layers, from first to last.
    pub(crate) fn layers(&self) -> &[Vec<(usize, usize)>] {
        &self.layers
    }

    /// The number of layers. It is the number of batches of look-ups, and the value for
    /// [`Headroom::levels`](crate::Headroom::levels).
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// The number of comparators, which is the number of look-ups.
    pub fn comparators(&self) -> usize {
        self.layers.iter().map(Vec::len).sum()
    }
}

/// Fails for more wires than a network may have.
fn check_wires(wires: usize) -> Result<()> {
    if wires > MOST_WIRES {
        let found = wires as f64;
        return Err(error::number("wires of a network", found, "at most 65536"));
    }
    Ok(())
}

/// Sorts `count` wires from `start` on, in ascending order if `up`.
fn bitonic_sort(start: usize, count: usize, up: bool, out: &mut Vec<(usize, usize)>) {
    if count > 1 {
        let half = count / 2;
        bitonic_sort(start, half, !up, out);
        bitonic_sort(start + half, count - half, up, out);
        bitonic_merge(start, count, up, out);
    }
}

/// Merges a bitonic sequence: wires of which a first part is sorted in the opposite direction and
/// the rest in the direction `up`.
fn bitonic_merge(start: usize, count: usize, up: bool, out: &mut Vec<(usize, usize)>) {
    if count > 1 {
        let half = count.next_power_of_two() / 2;
        for i in start..start + count - half {
            out.push(if up { (i, i + half) } else { (i + half, i) });
        }
        bitonic_merge(start, half, up, out);
        bitonic_merge(start + half, count - half, up, out);
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;

    fn both(wires: usize) -> [Network; 2] {
        [Network::odd_even(wires).unwrap(), Network::bitonic(wires).unwrap()]
    }

    fn run(network: &Network, values: &mut [u32]) {
        for layer in network.layers() {
            let mut seen = vec![false; values.len()];
            for &(i, j) in layer {
                assert!(!seen[i] && !seen[j] && i != j);
                (seen[i], seen[j]) = (true, true);
                if values[i] > values[j] {
                    values.swap(i, j);
                }
            }
        }
    }

    /// By the zero-one principle, a network that sorts all sequences of zeros and ones sorts
    /// everything.
    #[test]
    fn networks_sort() {
        for wires in 1..=12 {
            for network in both(wires) {
                for bits in 0u32..1 << wires {
                    let mut values: Vec<u32> = (0..wires).map(|i| bits >> i & 1).collect();
                    run(&network, &mut values);
                    assert!(values.is_sorted(), "{wires} {bits:b}");
                }
            }
        }
        for wires in [63, 64, 100] {
            for network in both(wires) {
                for seed in 0..50u32 {
                    let value = |i: usize| (i as u32 + seed).wrapping_mul(2654435761) >> 7;
                    let mut values: Vec<u32> = (0..wires).map(value).collect();
                    run(&network, &mut values);
                    assert!(values.is_sorted(), "{wires}");
                }
            }
        }
    }

    #[test]
    fn comparators_are_counted() {
        let counts = |wires| both(wires).map(|network| (network.comparators(), network.depth()));
        assert_eq!(counts(64), [(543, 21), (672, 21)]);
        assert_eq!(counts(1), [(0, 0), (0, 0)]);
        assert_eq!(counts(0), [(0, 0), (0, 0)]);
    }

    #[test]
    fn networks_that_cannot_be_are_refused() {
        for wires in [MOST_WIRES + 1, usize::MAX] {
            for network in [Network::odd_even(wires), Network::bitonic(wires)] {
                assert!(refusal(&network).is(&ErrorKind::Argument, "wires of a network"));
            }
        }
        let error = Network::odd_even(4).unwrap().keep(&[1, 4]).unwrap_err();
        assert_eq!(error, error::place(4, 4));
    }

    #[test]
    fn pruned_networks_keep_their_places() {
        for wires in 2..=10 {
            let sorting = Network::odd_even(wires).unwrap();
            let largest = sorting.clone().keep(&[wires - 1]).unwrap();
            let all = sorting.comparators();
            assert!((wires - 1..=all).contains(&largest.comparators()), "{wires}");
            assert!(!wires.is_power_of_two() || largest.comparators() == wires - 1, "{wires}");
            for kept in 1..wires {
                let positions: Vec<usize> = (wires - kept..wires).collect();
                let network = sorting.clone().keep(&positions).unwrap();
                for bits in 0u32..1 << wires {
                    let mut values: Vec<u32> = (0..wires).map(|i| bits >> i & 1).collect();
                    let zeros = values.iter().filter(|&&v| v == 0).count();
                    run(&network, &mut values);
                    for &place in &positions {
                        assert_eq!(values[place], u32::from(place >= zeros), "{wires} {bits:b}");
                    }
                }
            }
        }
    }
}
