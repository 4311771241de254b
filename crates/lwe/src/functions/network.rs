//! Sorting networks: which places are compared, in which order, whatever the values are.

use crate::{Error, Result};

/// The most wires of a network: the comparators of one take some 100 MB then.
const MOST_WIRES: usize = 1 << 16;

/// Comparators in layers; those of one layer touch every wire at most once.
///
/// A comparator `(i, j)` leaves the smaller value at `i` and the larger one at `j`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    wires: usize,
    layers: Vec<Vec<(usize, usize)>>,
}

impl Network {
    /// Batcher's odd-even merge exchange (Knuth, The Art of Computer Programming 5.2.2,
    /// Algorithm M): sorts any number of wires upwards, as deep as the bitonic network and with a
    /// fifth fewer comparators (543 for 64 wires).
    ///
    /// # Errors
    /// [`Error::Number`] for more than 65536 wires.
    pub fn odd_even(wires: usize) -> Result<Self> {
        check_wires(wires)?;
        let mut network = Self { wires, layers: Vec::new() };
        let top = wires.next_power_of_two() / 2;
        let mut p = top;
        while p > 0 {
            let (mut q, mut r, mut d) = (top, 0, p);
            loop {
                let pairs = (0..wires - d).filter(|i| i & p == r).map(|i| (i, i + d));
                network.layers.push(pairs.collect());
                if q == p {
                    break;
                }
                (d, q, r) = (q - p, q / 2, p);
            }
            p /= 2;
        }
        network.layers.retain(|layer| !layer.is_empty());
        Ok(network)
    }

    /// Batcher's bitonic network, the one that PEGASUS counts (section V.A): sorts any number of
    /// wires upwards (672 comparators for 64).
    ///
    /// # Errors
    /// As [`odd_even`](Self::odd_even).
    pub fn bitonic(wires: usize) -> Result<Self> {
        check_wires(wires)?;
        let mut comparators = Vec::new();
        bitonic_sort(0, wires, true, &mut comparators);
        // As early as the wires allow.
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

    /// Without the comparators on which the given places do not depend, and the layers that they
    /// leave empty.
    ///
    /// # Errors
    /// [`Error::Place`] if there is no such place.
    pub fn keep(mut self, places: &[usize]) -> Result<Self> {
        if let Some(&place) = places.iter().find(|&&place| place >= self.wires) {
            return Err(Error::Place { place, len: self.wires });
        }
        let mut needed = vec![false; self.wires];
        places.iter().for_each(|&place| needed[place] = true);
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

    /// The number of values that it takes.
    pub fn wires(&self) -> usize {
        self.wires
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Vec<(usize, usize)>] {
        &self.layers
    }

    /// The number of layers: batches of look-ups, and [`Room::levels`](crate::Room::levels).
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// The number of comparators: look-ups.
    pub fn comparators(&self) -> usize {
        self.layers.iter().map(Vec::len).sum()
    }
}

fn check_wires(wires: usize) -> Result<()> {
    if wires > MOST_WIRES {
        let found = wires as f64;
        return Err(Error::Number { what: "wires of a network", found, needed: "at most 65536" });
    }
    Ok(())
}

/// Sorts `count` wires from `start` on, upwards or downwards.
fn bitonic_sort(start: usize, count: usize, up: bool, out: &mut Vec<(usize, usize)>) {
    if count > 1 {
        let half = count / 2;
        bitonic_sort(start, half, !up, out);
        bitonic_sort(start + half, count - half, up, out);
        bitonic_merge(start, count, up, out);
    }
}

/// Sorts wires of which the first go against the direction and the others with it.
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
    use super::*;

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

    /// By the principle of zeros and ones, a network that sorts all of them sorts everything.
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
                assert!(matches!(network, Err(Error::Number { what: "wires of a network", .. })));
            }
        }
        let error = Network::odd_even(4).unwrap().keep(&[1, 4]).unwrap_err();
        assert_eq!(error, Error::Place { place: 4, len: 4 });
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
                let places: Vec<usize> = (wires - kept..wires).collect();
                let network = sorting.clone().keep(&places).unwrap();
                for bits in 0u32..1 << wires {
                    let mut values: Vec<u32> = (0..wires).map(|i| bits >> i & 1).collect();
                    let zeros = values.iter().filter(|&&v| v == 0).count();
                    run(&network, &mut values);
                    for &place in &places {
                        assert_eq!(values[place], u32::from(place >= zeros), "{wires} {bits:b}");
                    }
                }
            }
        }
    }
}
