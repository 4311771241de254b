//! The permutation of the values of a polynomial in NTT form under an automorphism.
//!
//! An automorphism maps the 64 values of a tile to those of another tile, in the same way for every
//! tile. Each line of the image takes its lanes from eight lines. The bit-reversed index of the
//! source line is the bit-reversed index of the image line times an odd `stride`, plus an offset of
//! the lane.

/// A permutation of the positions of a polynomial.
#[derive(Debug, Clone)]
pub(crate) struct Permutation {
    map: Vec<u32>,
    /// The stride, if the permutation works tile by tile as above.
    stride: Option<usize>,
}

/// Bit reversal of three bits.
pub(super) const BACKWARDS: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];

impl Permutation {
    /// Position `i` of the image comes from position `map[i]`.
    ///
    /// # Panics
    /// Unless the length of the map is a power of two and every entry is below it.
    pub(crate) fn new(map: Vec<u32>) -> Self {
        assert!(map.len().is_power_of_two(), "the number of positions must be a power of two");
        assert!(
            map.iter().all(|&place| (place as usize) < map.len()),
            "every source must be a position of the polynomial"
        );
        let odd = |stride: &usize| stride % 2 == 1;
        // Check every tile against the pattern of its first line.
        let stride = map.first_chunk().map(stride).filter(odd).filter(|&stride| {
            let tiles = map.as_chunks::<64>().0;
            tiles.iter().all(|tile| *tile == tile_of(tile.first_chunk().expect("a line"), stride))
        });
        Self { map, stride }
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// The source of each position.
    pub(super) fn map(&self) -> &[u32] {
        &self.map
    }

    /// The stride of the tiles, if the permutation works tile by tile.
    #[cfg_attr(
        not(any(test, target_arch = "x86_64")),
        expect(dead_code, reason = "no kernel for tiles")
    )]
    pub(super) fn stride(&self) -> Option<usize> {
        self.stride
    }
}

/// The stride of a tile, from its first lane.
fn stride(tile: &[u32; 64]) -> usize {
    let row = |line: usize| BACKWARDS[(tile[8 * line] / 8 % 8) as usize];
    (row(BACKWARDS[1]) + 8 - row(0)) % 8
}

/// The sources of a tile, from those of its first line.
fn tile_of(line: &[u32; 8], stride: usize) -> [u32; 64] {
    std::array::from_fn(|i| {
        let place = line[i % 8] as usize;
        let row = BACKWARDS[place / 8 % 8] + stride * BACKWARDS[i / 8];
        (line[0] as usize / 64 * 64 + 8 * BACKWARDS[row % 8] + place % 8) as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ntt::roots;

    #[test]
    fn automorphisms_go_tile_by_tile() {
        for log in [7, 8, 12] {
            let degree = 1usize << log;
            let exponents: Vec<u32> = roots::exponents(degree, true).collect();
            for g in [1, 3, 5, 25, degree + 1, 2 * degree - 1, 2 * degree - 3] {
                let image = |e: u32| (e as usize * g % (2 * degree)) as u32;
                let place = |e: u32| exponents.iter().position(|&x| x == image(e)).unwrap() as u32;
                let places = Permutation::new(exponents.iter().map(|&e| place(e)).collect());
                assert!(places.stride().is_some_and(|stride| stride % 2 == 1), "{degree} {g}");
            }
        }
        let mut others: Vec<u32> = (0..128).collect();
        others.swap(70, 71);
        assert_eq!(Permutation::new(others).stride(), None);
        assert_eq!(Permutation::new((0..8).collect()).stride(), None);
    }
}
