//! One iteration of K-means on encrypted points (PEGASUS, section V-C).
//!
//! Points fill blocks of slots, one block per coordinate: coordinate `t` of point `i` is in slot
//! `t block + i`. A vector of `block` slots repeats in all blocks. An iteration goes from the level
//! at which indicators return (5) to that of SlotsToCoeffs (2):
//!
//! | level | what |
//! | --- | --- |
//! | 5 | `B_j`: 1 where centre `j` is nearest |
//! | 4 | `X B_j`, summed over each block into its first slot |
//! | 3 | times `1 / count` in the first slot of each block and 0 elsewhere; spread over the block |
//! | 2 | `C_j (C_j - 2 X)`, summed over the blocks: distances, less `x^2`, which all share |

use bellerophon::ckks::KeyLevels;
use bellerophon::lwe::Headroom;
use bellerophon::prelude::*;
use common::lloyd::Point;
use common::program::Failure;

/// Clusters below this part of the mean size count as that large in the table of the reciprocal, so
/// that it does not spend its precision on them.
const SMALLEST: f64 = 1.0 / 16.0;

/// Levels from indicators to distances.
const ITERATION: usize = 3;

/// The layout of points and centres in the slots.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    pub points: usize,
    pub clusters: usize,
    pub dimension: usize,
    /// Slots of a coordinate: the points, rounded up to a power of two.
    pub block: usize,
    /// Coordinates in one ciphertext, a power of two.
    pub blocks: usize,
    /// The level at which indicators return, and of the encryption of points.
    pub level: usize,
}

impl Layout {
    /// The layout for some parameters. Refuses coordinates that do not fit a ciphertext, and
    /// parameters with too few levels for an iteration.
    pub fn new(
        params: &Params,
        points: usize,
        clusters: usize,
        dimension: usize,
    ) -> Result<Self, Failure> {
        let (slots, name) = (params.slots(), params.name());
        let block = points.max(clusters).next_power_of_two();
        let blocks = (slots / block).min(dimension.next_power_of_two());
        if blocks == 0 {
            return Err(Failure::input(format!(
                "{points} points, but one ciphertext of the preset {name} holds {slots}"
            )));
        }
        let lookups = params.lookups()?;
        let level = lookups.level_after();
        if level < ITERATION + lookups.levels() {
            let why = format!("the preset {name} has too few levels for an iteration");
            return Err(Failure::input(why));
        }
        Ok(Self { points, clusters, dimension, block, blocks, level })
    }

    fn slots(&self) -> usize {
        self.block * self.blocks
    }

    fn parts(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let ends = |first: usize| first..(first + self.blocks).min(self.dimension);
        (0..self.dimension).step_by(self.blocks).map(ends)
    }

    /// The slots of all ciphertexts for points.
    pub fn spread(&self, points: &[Point]) -> Vec<Vec<f64>> {
        let part = |coordinates: std::ops::Range<usize>| {
            let mut slots = vec![0.0; self.slots()];
            for (block, t) in coordinates.enumerate() {
                for (i, point) in points.iter().enumerate() {
                    slots[block * self.block + i] = point[t];
                }
            }
            slots
        };
        self.parts().map(part).collect()
    }

    /// The slots of all ciphertexts for one centre, whose coordinates fill their blocks.
    pub fn fill(&self, centre: &[f64]) -> Vec<Vec<f64>> {
        let all: Vec<Point> = vec![centre.to_vec(); self.block];
        self.spread(&all)
    }

    pub fn centre(&self, slots: &[Vec<f64>]) -> Point {
        let of = |(k, coordinates): (usize, std::ops::Range<usize>)| {
            let part = &slots[k];
            (0..coordinates.len()).map(move |block| part[block * self.block])
        };
        self.parts().enumerate().flat_map(of).collect()
    }

    /// The rotations of an iteration.
    pub fn keys(&self) -> KeyLevels {
        let Self { block, blocks, level, .. } = *self;
        KeyLevels::default()
            .multiply(level)
            .inner_sum(block, 1, level)
            .replicate(block, 1, self.centre_level())
            .inner_sum(blocks, block as i64, self.centre_level() - 1)
            .rotate((1..self.clusters).map(|j| j as i64), level)
    }

    pub fn centre_level(&self) -> usize {
        self.level - 2
    }
}

/// The data of the server.
pub struct Server<'a> {
    pub layout: &'a Layout,
    /// The points, part by part.
    pub points: &'a [Ciphertext],
    /// Bound on every coordinate.
    pub largest: f64,
}

pub type Centre = Vec<Ciphertext>;

impl Server<'_> {
    /// The distances of every point to each centre, less their mean over the centres. `reach`
    /// bounds them.
    pub fn distances(
        &self,
        evaluator: &Evaluator,
        centres: &[Centre],
        reach: f64,
    ) -> bellerophon::Result<Vec<Ciphertext>> {
        let distances = centres.iter().map(|centre| self.distance(evaluator, centre));
        let distances = distances.collect::<bellerophon::Result<Vec<_>>>()?;
        let total = evaluator.add_many(&distances)?;
        // K times the difference to the mean; the factor K goes into the scale.
        let count = distances.len();
        let beside = |distance: &Ciphertext| {
            let many = evaluator.mul_integer(distance, count as i64)?;
            let beside = evaluator.sub(&many, &total)?;
            let beside = evaluator.reinterpret_scale(beside, 1.0 / count as f64)?;
            let beside = evaluator.with_len(beside, self.layout.points)?;
            evaluator.assume_range(&beside, -reach..=reach)
        };
        distances.iter().map(beside).collect()
    }

    /// For every centre the indicator of the points that are nearest to it.
    pub fn nearest(
        &self,
        evaluator: &Evaluator,
        distances: &[Ciphertext],
        reach: f64,
    ) -> bellerophon::Result<Vec<Ciphertext>> {
        let room = Headroom::comparators(distances.len().next_power_of_two().ilog2());
        let lanes = distances.iter().map(|d| evaluator.extract_for(d, -reach..=reach, room));
        let lanes = lanes.collect::<bellerophon::Result<Vec<_>>>()?;
        let indicators = evaluator.tables()?.arg_min(&lanes, Headroom::TABLE)?;
        drop(lanes);
        // The worst case of a decision is a tie, and either cluster is then right. So only the
        // noise of the indicators counts.
        let packed = indicators.iter().map(|bits| {
            let packed = evaluator.pack_ends(bits, self.layout.level)?;
            packed.assume_noise(bits.meta().noise.predicted)
        });
        packed.collect()
    }

    /// The squared distances of all points to a centre, less the squares of the points.
    fn distance(&self, evaluator: &Evaluator, centre: &Centre) -> bellerophon::Result<Ciphertext> {
        let parts = centre.iter().zip(self.points).map(|(c, x)| {
            let moved = evaluator.sub(c, &evaluator.mul_integer(x, 2)?)?;
            evaluator.mul(c, &moved)
        });
        let sum = evaluator.add_many(&parts.collect::<bellerophon::Result<Vec<_>>>()?)?;
        let (blocks, block) = (self.layout.blocks, self.layout.block as i64);
        evaluator.inner_sum(&sum, blocks, block)
    }

    /// The reciprocal of the number of points of each cluster, cluster `j` in slot `j`.
    pub fn reciprocals(
        &self,
        evaluator: &Evaluator,
        indicators: &[Ciphertext],
    ) -> bellerophon::Result<Ciphertext> {
        let Layout { points, clusters, block, .. } = *self.layout;
        let period = clusters.next_power_of_two();
        let counts = indicators.iter().enumerate().map(|(j, bits)| {
            let mask: Vec<f64> = (0..block).map(|i| f64::from(u8::from(i % period == j))).collect();
            // Only of the points: slots without one are padding.
            let total = evaluator.with_len(evaluator.sum_slots(bits)?, block)?;
            evaluator.mul_values(&total, &mask)
        });
        let counts = evaluator.add_many(&counts.collect::<bellerophon::Result<Vec<_>>>()?)?;
        let counts = evaluator.with_len(counts, clusters)?;
        let most = points as f64;
        let margin = 0.01 * most;
        let domain = -margin..=most + margin;
        let counts = evaluator.assume_range(&counts, domain.clone())?;
        let smallest = smallest_size(most, clusters as f64);
        // The next iteration begins at the level of look-ups.
        let reciprocal = MapRequest::new(|count| 1.0 / count.max(smallest)).over(domain);
        evaluator.map_with(&counts, &reciprocal.leaving(self.layout.level))
    }

    /// The means of the points of each cluster.
    pub fn means(
        &self,
        evaluator: &Evaluator,
        indicators: &[Ciphertext],
        reciprocals: &Ciphertext,
    ) -> bellerophon::Result<Vec<Centre>> {
        let block = self.layout.block;
        let slots = self.layout.slots();
        let first: Vec<f64> =
            (0..slots).map(|slot| f64::from(u8::from(slot % block == 0))).collect();
        let noise = self.centre_noise(indicators, reciprocals);
        // Every slot counts as a value.
        let whole = |x| evaluator.with_len(evaluator.repeated(x, slots)?, slots);
        let centre = |(j, bits): (usize, &Ciphertext)| {
            let turned = evaluator.rotate(reciprocals, j as i64)?;
            let weight = evaluator.mul_values(&whole(turned)?, &first)?;
            // The values of slots without a point are multiplied by zeros.
            let bits = whole(bits.clone())?;
            let part = |x: &Ciphertext| {
                let sums = evaluator.inner_sum(&evaluator.mul(x, &bits)?, block, 1)?;
                let means = evaluator.mul(&sums, &weight)?;
                let spread = evaluator.replicate(&means, block, 1)?;
                let known = spread.assume_noise(noise)?;
                evaluator.assume_range(&known, -self.largest..=self.largest)
            };
            self.points.iter().map(part).collect()
        };
        indicators.iter().enumerate().map(centre).collect()
    }

    /// The noise of a mean: that of the indicators, over the points of a small cluster, and that of
    /// the reciprocal, relative to the smallest size. It is largest there: the noise falls with the
    /// square of the size, while sums grow with the size. The tracked noise of a ciphertext is
    /// larger: it does not know that a mask has cleared all slots but the first of a block, nor
    /// that sums are divided by the number of their terms.
    fn centre_noise(&self, indicators: &[Ciphertext], reciprocals: &Ciphertext) -> f64 {
        let (points, clusters) = (self.layout.points as f64, self.layout.clusters as f64);
        let bit = indicators.iter().map(|x: &Ciphertext| x.metadata().noise()).fold(0.0, f64::max);
        let smallest = smallest_size(points, clusters);
        self.largest * (points.sqrt() * bit / smallest + smallest * reciprocals.metadata().noise())
    }
}

/// The size below which clusters count as that large.
fn smallest_size(points: f64, clusters: f64) -> f64 {
    (SMALLEST * points / clusters).max(1.0)
}
