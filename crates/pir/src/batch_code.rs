//! A probabilistic batch code: every entry of a table is in three buckets, and any few points can
//! be assigned to distinct buckets (Angel, Chen, Laine and Setty, IEEE S&P 2018, section 5, with
//! keyed permutations in place of hash functions).
//!
//! The buckets are three groups of `B`. Each group has a permutation `pi_g` of the domain, drawn
//! from a public seed. It puts point `x` into bucket `pi_g(x) mod B` of group `g`, at position
//! `floor(pi_g(x) / B)`. All buckets have the same size, and both sides compute the position of a
//! point without a table of positions. The client assigns its distinct points to distinct buckets
//! by augmenting paths.
//!
//! # Failure
//! No assignment exists if some `k` points have fewer than `k` buckets among them. A smallest such
//! set has `k - 1` buckets, each of which contains at least two of its points. For random functions
//! the probability of such a set is below the sum over `k >= 4` ([`log2_placement_failure`]) of the
//! smaller of
//!
//! ```text
//! C(p, k) C(3 B, k - 1) ((k - 1) / 3 B)^(3 k),
//! C(p, k) C(3 B, k - 1) k!^3 (e^z - 1 - z)^(k - 1) / (z B)^(3 k)     for any z > 0:
//! ```
//!
//! The first counts all maps of `k` points into `k - 1` buckets, the second those that hit every
//! bucket at least twice. The smallest obstruction is four points in the same three buckets. A
//! query takes enough buckets for a bound below `2^-40`, and at least 1.5 for each point.
//!
//! # What a retry reveals
//! A seed that fails is discarded before anything is sent. The others are equally likely for all
//! sets of points up to a factor `1 / (1 - p)`, where `p` is the probability of failure: the views
//! of the server are within a statistical distance of `2 p`. The time of the search depends on the
//! points.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::sample::{Seed, fill_uniform_from_seed};
use bellerophon_ring::{Modulus, Result};
use zeroize::{DefaultIsZeroes, Zeroizing};

use crate::error;

/// Groups of buckets.
pub const GROUPS: usize = 3;

/// `log2` of the probability of failure that a query allows.
const LOG2_FAILURE: f64 = -40.0;

/// Rounds of a permutation.
const ROUNDS: usize = 6;

/// Coefficients of a round function.
const COEFFICIENTS: usize = 4;

/// Number of seeds to try. All of them fail with a probability of `2^-640`.
const TRIES: usize = 16;

/// The prime `2^61 - 1`: round functions are polynomials modulo it.
const FIELD: u64 = (1 << 61) - 1;

/// Buckets per group for `points` points, at most `2^16`: the smallest number, from `points / 2`
/// on, that brings [`log2_placement_failure`] to at most -40.
pub(crate) fn buckets_for(points: usize) -> usize {
    let enough = |&buckets: &usize| log2_placement_failure(points, buckets) <= LOG2_FAILURE;
    let least = points.div_ceil(2).max(1);
    // The bound decreases with the number of buckets: double until it holds, then bisect.
    let mut high = least;
    while !enough(&high) {
        high *= 2;
    }
    let mut low = least.max(high / 2);
    while low < high {
        let middle = (low + high) / 2;
        if enough(&middle) { high = middle } else { low = middle + 1 }
    }
    high
}

/// The largest number of buckets per group with a bound.
const MOST_BUCKETS: usize = 1 << 22;

/// `log2` of the bound on the probability that `points` distinct points cannot be assigned to
/// `3 buckets` buckets. It is 0 where the bound is void, as for more than `2^22` buckets per group.
pub fn log2_placement_failure(points: usize, buckets: usize) -> f64 {
    if points < 4 {
        return f64::NEG_INFINITY;
    }
    if points.div_ceil(GROUPS) > buckets || buckets > MOST_BUCKETS {
        return 0.0;
    }
    // log2(i!) for all i.
    let factorials: Vec<f64> = std::iter::once(0.0)
        .chain((1..=points.max(GROUPS * buckets)).scan(0.0, |sum, i| {
            *sum += (i as f64).log2();
            Some(*sum)
        }))
        .collect();
    let choose = |n: usize, k: usize| factorials[n] - factorials[k] - factorials[n - k];
    let all = GROUPS * buckets;
    // The sum over k of the smaller of the two bounds of the module page.
    let terms = (4..=points).map(|k| {
        let (k_, filled) = (k as f64, (k - 1) as f64);
        let any = 3.0 * k_ * (filled / all as f64).log2();
        // Near the minimum of (e^z - 1 - z)^(k - 1) / z^(3 k).
        let z = 2.149 + 1.44 * (3.0 * k_ / filled - 3.0);
        let twice = 3.0 * factorials[k] + filled * (z.exp_m1() - z).log2()
            - 3.0 * k_ * (z * buckets as f64).log2();
        choose(points, k) + choose(all, k - 1) + any.min(twice)
    });
    terms.map(f64::exp2).sum::<f64>().log2().min(0.0)
}

/// A public divisor of secret numbers: division by multiplication, since the time of a division
/// instruction depends on its operands.
#[derive(Debug, Clone, Copy)]
struct Divisor {
    value: u64,
    /// `floor(2^64 / value)`.
    reciprocal: u128,
}

impl Divisor {
    fn new(value: usize) -> Self {
        let value = value as u64;
        Self { value, reciprocal: (1 << 64) / u128::from(value) }
    }

    /// Quotient and remainder.
    fn div_rem(self, x: u64) -> (u64, u64) {
        // The reciprocal is less than 1 too small, so this quotient is at most 1 too small.
        let quotient = ((u128::from(x) * self.reciprocal) >> 64) as u64;
        let rest = x - quotient * self.value;
        let more = u64::from(rest >= self.value);
        (quotient + more, rest - (self.value & 0u64.wrapping_sub(more)))
    }
}

/// A permutation of `[0, rows * columns)` with `rows * columns >= domain`: six rounds of an
/// unbalanced Feistel network whose round functions are random cubic polynomials modulo `2^61 - 1`.
#[derive(Debug, Clone)]
struct Permutation {
    rows: u64,
    columns: Divisor,
    rounds: [[u64; COEFFICIENTS]; ROUNDS],
}

impl Permutation {
    fn new(domain: usize, seed: &Seed, group: usize) -> Self {
        // A nearly square rectangle that covers the domain.
        let rows = (domain as f64).sqrt().ceil().max(1.0) as usize;
        let mut words = [0; ROUNDS * COEFFICIENTS];
        let field = Modulus::new(FIELD).expect("2^61 - 1 is a prime");
        fill_uniform_from_seed(&field, &mut words, seed, group as u64);
        let mut rounds = [[0; COEFFICIENTS]; ROUNDS];
        for (round, words) in rounds.iter_mut().zip(words.chunks_exact(COEFFICIENTS)) {
            round.copy_from_slice(words);
        }
        Self { rows: rows as u64, columns: Divisor::new(domain.div_ceil(rows)), rounds }
    }

    /// The number of positions.
    fn len(&self) -> usize {
        (self.rows * self.columns.value) as usize
    }

    /// Round function `i` of one half of a number: a value below `range` to add to the other half.
    fn round(&self, i: usize, x: u64, range: u64) -> u64 {
        // Horner's rule modulo 2^61 - 1; a reduction folds the high bits onto the low ones.
        let step = |sum: u64, &c: &u64| {
            let product = u128::from(sum) * u128::from(x) + u128::from(c);
            let folded = (product & u128::from(FIELD)) as u64 + (product >> 61) as u64;
            folded - (FIELD & 0u64.wrapping_sub(u64::from(folded >= FIELD)))
        };
        let value = self.rounds[i].iter().fold(0, step);
        ((u128::from(value) * u128::from(range)) >> 61) as u64
    }

    /// The image of `x`, without branches, table accesses or divisions: `x` may be secret.
    fn apply(&self, x: usize) -> usize {
        let (mut high, mut low) = self.columns.div_rem(x as u64);
        let columns = self.columns.value;
        let add = |a: u64, b: u64, range: u64| {
            let sum = a + b;
            sum - (range & 0u64.wrapping_sub(u64::from(sum >= range)))
        };
        // Two rounds at a time: each half gains a function of the other.
        for i in 0..ROUNDS / 2 {
            high = add(high, self.round(2 * i, low, self.rows), self.rows);
            low = add(low, self.round(2 * i + 1, high, columns), columns);
        }
        (high * columns + low) as usize
    }

    /// The images of all points below `domain`, in order. Round functions are tabulated.
    fn images(&self, domain: usize) -> impl Iterator<Item = usize> {
        // Tables of all round functions: each half has about the square root of the domain.
        let values = |i: usize, inputs: u64, range: u64| -> Vec<u32> {
            (0..inputs).map(|x| self.round(i, x, range) as u32).collect()
        };
        let (rows, columns) = (self.rows, self.columns.value);
        let rounds: Vec<[Vec<u32>; 2]> = (0..ROUNDS / 2)
            .map(|i| [values(2 * i, columns, rows), values(2 * i + 1, rows, columns)])
            .collect();
        let (rows, columns) = (rows as u32, columns as u32);
        // All points of the domain are computed, so branches and table accesses reveal nothing.
        let wrap = |sum: u32, range: u32| if sum >= range { sum - range } else { sum };
        (0..rows).flat_map(move |x| (0..columns).map(move |y| (x, y))).take(domain).map(
            move |(mut high, mut low)| {
                for [to_high, to_low] in &rounds {
                    high = wrap(high + to_high[low as usize], rows);
                    low = wrap(low + to_low[high as usize], columns);
                }
                (high * columns + low) as usize
            },
        )
    }
}

/// The positions of the points of one domain, for one seed.
#[derive(Debug, Clone)]
pub(crate) struct BatchCode {
    domain: usize,
    buckets: Divisor,
    permutations: [Permutation; GROUPS],
}

/// The bucket of a point, counted over all groups, and its position there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) bucket: usize,
    pub(crate) place: usize,
}

impl DefaultIsZeroes for Place {}

impl BatchCode {
    /// The code with `buckets` buckets per group.
    pub(crate) fn new(domain: usize, buckets: usize, seed: &Seed) -> Self {
        let permutations = std::array::from_fn(|group| Permutation::new(domain, seed, group));
        Self { domain, buckets: Divisor::new(buckets), permutations }
    }

    /// Entries per bucket.
    pub(crate) fn bucket_len(domain: usize, buckets: usize) -> usize {
        let rows = (domain as f64).sqrt().ceil().max(1.0) as usize;
        (rows * domain.div_ceil(rows)).div_ceil(buckets)
    }

    fn place(&self, group: usize, image: usize) -> Place {
        let (place, bucket) = self.buckets.div_rem(image as u64);
        Place {
            bucket: group * self.buckets.value as usize + bucket as usize,
            place: place as usize,
        }
    }

    /// The three positions of a point.
    pub(crate) fn places(&self, point: usize) -> [Place; GROUPS] {
        std::array::from_fn(|group| self.place(group, self.permutations[group].apply(point)))
    }

    /// Calls `f(point, place)` for every point of the domain and each of its positions.
    pub(crate) fn for_each(&self, mut f: impl FnMut(usize, Place)) {
        for (group, permutation) in self.permutations.iter().enumerate() {
            debug_assert!(permutation.len() >= self.domain);
            let images = permutation.images(self.domain).enumerate();
            images.for_each(|(point, image)| f(point, self.place(group, image)));
        }
    }

    /// Assigns a bucket of its own to each of these distinct points: maximum bipartite matching by
    /// augmenting paths. `None` if no assignment exists. All buffers are as secret as the points.
    /// They have a fixed size, so they are wiped and never moved.
    pub(crate) fn assign(&self, points: &[usize]) -> Option<Zeroizing<Vec<Place>>> {
        let places: Zeroizing<Vec<[Place; GROUPS]>> =
            Zeroizing::new(points.iter().map(|&x| self.places(x)).collect());
        // Step 1: for each point, a breadth-first search through the owners of taken buckets for a
        // free bucket.
        let mut owners: Zeroizing<Vec<Option<usize>>> =
            Zeroizing::new(vec![None; GROUPS * self.buckets.value as usize]);
        let mut owned: Zeroizing<Vec<Option<usize>>> = Zeroizing::new(vec![None; points.len()]);
        let mut reached = Zeroizing::new(vec![(usize::MAX, usize::MAX); owners.len()]);
        // A point enters at most once: when the bucket that it owns is reached.
        let mut queue = Zeroizing::new(Vec::with_capacity(points.len() + 1));
        for point in 0..points.len() {
            queue.clear();
            queue.push(point);
            let (mut next, mut free) = (0, None);
            while free.is_none() && next < queue.len() {
                let from = queue[next];
                next += 1;
                for Place { bucket, .. } in places[from] {
                    // A mark holds the point of the current search and the predecessor.
                    if reached[bucket].0 == point {
                        continue;
                    }
                    reached[bucket] = (point, from);
                    match owners[bucket] {
                        Some(owner) => queue.push(owner),
                        None => {
                            free = Some(bucket);
                            break;
                        }
                    }
                }
            }
            // Step 2: back along the augmenting path, every owner moves to the bucket that it
            // reached.
            let mut path = Some(free?);
            while let Some(bucket) = path {
                let from = reached[bucket].1;
                owners[bucket] = Some(from);
                path = owned[from].replace(bucket);
            }
        }
        // Step 3: the positions of the points in their buckets.
        let mut assigned = Zeroizing::new(Vec::with_capacity(points.len()));
        for (places, &bucket) in places.iter().zip(owned.iter()) {
            assigned.push(*places.iter().find(|place| Some(place.bucket) == bucket)?);
        }
        Some(assigned)
    }
}

/// Draws seeds until the distinct `points` can be placed; returns the seed and the positions.
///
/// # Errors
/// [`ErrorKind::Request`] if sixteen seeds fail.
pub(crate) fn place<R: rand::CryptoRng + ?Sized>(
    domain: usize,
    buckets: usize,
    points: &[usize],
    rng: &mut R,
) -> Result<(Seed, Zeroizing<Vec<Place>>)> {
    for _ in 0..TRIES {
        let seed = Seed::random(rng);
        if let Some(places) = BatchCode::new(domain, buckets, &seed).assign(points) {
            return Ok((seed, places));
        }
    }
    Err(error::placement(points.len(), GROUPS * buckets, TRIES))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{RngExt, SeedableRng, seq::SliceRandom};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[test]
    fn quotients_are_those_of_a_division() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        for value in [1, 2, 3, 7, 64, 725, 1024, (1 << 32) - 1, 1 << 32, (1 << 61) - 1, 1 << 63] {
            let divisor = Divisor::new(value as usize);
            let multiple = value * (u64::MAX / value);
            let edges = [0, 1, value - 1, value, value + 1, multiple - 1, multiple, u64::MAX];
            for x in edges.into_iter().chain((0..1000).map(|i| rng.random::<u64>() >> (i % 64))) {
                assert_eq!(divisor.div_rem(x), (x / value, x % value), "{x} / {value}");
            }
        }
    }

    #[test]
    fn permutations_permute() {
        for domain in [1, 2, 3, 7, 64, 100, 1000, 4096] {
            for group in 0..3 {
                let permutation = Permutation::new(domain, &Seed([domain as u8; 32]), group);
                let all: Vec<usize> = permutation.images(permutation.len()).collect();
                let seen: HashSet<usize> = all.iter().copied().collect();
                assert!(
                    permutation.len() >= domain && permutation.len() < domain + domain.isqrt() + 2
                );
                assert_eq!(seen.len(), permutation.len());
                assert!(seen.iter().all(|&y| y < permutation.len()));
                assert!((0..domain).all(|x| permutation.apply(x) == all[x]), "{domain}");
            }
        }
    }

    /// Distinct buckets, each one of the point's own three, where there is room and at its limit.
    #[test]
    fn assignments_are_assignments() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (domain, buckets) = (1 << 12, 64);
        let mut all: Vec<usize> = (0..domain).collect();
        let mut failures = 0;
        for count in [1, 60, 128, 150, 170, 185] {
            for seed in 0..20 {
                all.shuffle(&mut rng);
                let points = &all[..count];
                let code = BatchCode::new(domain, buckets, &Seed([seed; 32]));
                let Some(places) = code.assign(points) else {
                    failures += 1;
                    continue;
                };
                let taken: HashSet<usize> = places.iter().map(|place| place.bucket).collect();
                assert_eq!(taken.len(), count);
                assert!(
                    points
                        .iter()
                        .zip(places.iter())
                        .all(|(&x, place)| code.places(x).contains(place))
                );
                let length = BatchCode::bucket_len(domain, buckets);
                assert!(places.iter().all(|place| place.place < length));
            }
        }
        // 185 points in 192 buckets are beyond the threshold of 0.918.
        assert!((20..30).contains(&failures), "{failures}");
    }

    /// The batch of the paper's tables, two thirds full, and one beyond what three buckets a point
    /// bear.
    #[test]
    fn full_batches_find_their_places() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let points: Vec<usize> = (0..2048).map(|i| 31 * i).collect();
        let mut failures = [0; 2];
        for _ in 0..500 {
            let seed = Seed::random(&mut rng);
            for (failures, buckets) in failures.iter_mut().zip([1024, 725]) {
                let code = BatchCode::new(1 << 16, buckets, &seed);
                *failures += u32::from(code.assign(&points).is_none());
            }
        }
        assert_eq!(failures[0], 0);
        assert!(failures[1] > 490, "{failures:?}");
    }

    #[test]
    fn entries_are_laid_out_where_points_are_looked_for() {
        let (domain, buckets) = (1000, 17);
        let code = BatchCode::new(domain, buckets, &Seed([5; 32]));
        let mut seen = HashSet::new();
        code.for_each(|point, place| {
            assert!(code.places(point).contains(&place));
            assert!(place.place < BatchCode::bucket_len(domain, buckets));
            assert!(seen.insert((place.bucket, place.place)));
        });
        assert_eq!(seen.len(), 3 * domain);
    }

    #[test]
    fn bounds_are_those_of_the_sum() {
        // Four points in three buckets: the first term alone.
        let exact = (1.0 * 20.0 * 0.5f64.powi(12)).log2();
        assert!((log2_placement_failure(4, 2) - exact).abs() < 1e-9);
        assert_eq!(log2_placement_failure(3, 1), f64::NEG_INFINITY);
        assert_eq!(log2_placement_failure(100, 33), 0.0);
        for (points, buckets) in [(usize::MAX, 1), (4, 1 << 60), (usize::MAX, usize::MAX)] {
            assert_eq!(log2_placement_failure(points, buckets), 0.0);
        }
        assert_eq!(buckets_for(2048), 1024);
        let bound = log2_placement_failure(2048, 1024);
        assert!((-49.0..-48.0).contains(&bound), "{bound}");
        for points in [1, 4, 16, 100, 500, 5000] {
            let buckets = buckets_for(points);
            assert!(log2_placement_failure(points, buckets) <= -40.0);
            let fewer = buckets - 1;
            let least = buckets == points.div_ceil(2);
            assert!(least || log2_placement_failure(points, fewer) > -40.0, "{points}");
        }
    }

    /// Failures are as frequent as for random functions, also for points in a row or a column of
    /// the permutations' inputs.
    #[test]
    fn failures_are_as_frequent_as_for_random_functions() {
        let (domain, buckets, count) = (1 << 16, 3, 6);
        let trials = 20_000u32;
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let mut failures = [0u32; 3];
        for _ in 0..trials {
            let code = BatchCode::new(domain, buckets, &Seed::random(&mut rng));
            let row: Vec<usize> = (0..count).collect();
            let column: Vec<usize> = (0..count).map(|i| i << 8).collect();
            // The same by random functions.
            let mut random = || Seed::random(&mut rng).0[0] as usize % buckets;
            let places: Vec<[usize; 3]> =
                (0..count).map(|_| std::array::from_fn(|g| g * buckets + random())).collect();
            failures[0] += u32::from(code.assign(&row).is_none());
            failures[1] += u32::from(code.assign(&column).is_none());
            failures[2] += u32::from(!assignable(&places));
        }
        let [row, column, ideal] = failures.map(|f| f64::from(f) / f64::from(trials));
        let bound = log2_placement_failure(count, buckets).exp2();
        assert!(ideal > 1e-3 && ideal < bound, "{ideal}, bound {bound}");
        for found in [row, column] {
            assert!(found / ideal < 1.5 && ideal / found < 1.5, "{found} {ideal}");
        }
    }

    /// By trying all assignments.
    fn assignable(places: &[[usize; 3]]) -> bool {
        fn rest(places: &[[usize; 3]], taken: u64) -> bool {
            let Some((first, others)) = places.split_first() else { return true };
            first.iter().any(|&b| taken >> b & 1 == 0 && rest(others, taken | 1 << b))
        }
        rest(places, 0)
    }
}
