//! The server: look-ups on encrypted features, by a plan that only the server knows.

use bellerophon::lwe::{self, Encoding, Evaluator, Headroom, LweVec, OutputEncoding, noise};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use super::plan::{Digit, Plan};

/// `log2` of the probability that a table misreads the sum of a block.
const MISREAD: f64 = -40.0;

/// `log2` of the probability that the sum leaves the table: below the bound of the tables.
const LEAVES: f64 = -64.0;

/// The largest number of look-ups in a sum, for its noise.
const TERMS: f64 = 16.0;

/// The share of the distance between neighbouring classes that hides the noise of the tables, on
/// either side of the class; the rest is for the noise.
const DROWNED: f64 = 0.375;

/// Standard deviations that normal noise exceeds with a probability below `2^-64`.
const DEVIATIONS: f64 = 9.5;

/// `log2` of the smallest stated distance: the tail of the noise beyond its deviations counts as
/// much.
pub const LEAST_DISTANCE: f64 = -64.0;

/// The function of a table, from whole numbers or features to whole numbers, and its largest value;
/// the smallest is 0.
struct Function<'a> {
    value: Box<dyn Fn(f64) -> f64 + 'a>,
    most: usize,
}

impl<'a> Function<'a> {
    fn new(most: usize, value: impl Fn(f64) -> usize + 'a) -> Self {
        Self { value: Box::new(move |v| value(v) as f64), most }
    }
}

pub struct Server<'a> {
    pub params: &'a lwe::Params,
    pub plan: &'a Plan,
    /// The number of classes.
    pub classes: usize,
}

/// The index error of a value in cells, and the distance that the sums of a block must have for it.
fn index_room(params: &lwe::Params) -> (f64, usize) {
    let index = noise::largest_index_error(params, noise::look_up(params));
    (index.sqrt(), noise::guard(index, MISREAD))
}

/// The number of sums that a table distinguishes.
pub fn capacity(params: &lwe::Params) -> usize {
    let (_, room) = index_room(params);
    let index = noise::largest_index_error(params, TERMS * noise::look_up(params));
    let usable = params.spec().ring_degree - 2 * noise::guard(index, LEAVES);
    usable / (2 * room + 1)
}

/// The standard deviation with which tables read a value of a domain of this width.
pub fn reading_noise(params: &lwe::Params, width: f64) -> f64 {
    let (index, room) = index_room(params);
    index * width / (params.spec().ring_degree - 2 * room) as f64
}

/// `log2` of a bound on the statistical distance of the body of one [drowned](Server::drowned)
/// class, given its mask, from a body without the noise of the tables. Uniform noise on `[-w, w]`
/// that is shifted by `e` has a distance of `|e| / 2w`.
pub fn row_log2_distance(classes: &LweVec) -> f64 {
    let noise = DEVIATIONS * classes.variance().sqrt();
    (noise / (2.0 * DROWNED)).log2().clamp(LEAST_DISTANCE, 0.0)
}

impl Server<'_> {
    /// The class of every row, as one value each. `features` holds the first feature of all rows,
    /// then the second, and so on. All independent look-ups run in one batch.
    pub fn classify(
        &self,
        tables: &Evaluator<'_>,
        features: &LweVec,
        rows: usize,
    ) -> lwe::Result<LweVec> {
        let mut sums = self.sums(tables, features, rows)?;
        let mut class: Option<LweVec> = None;
        let mut blocks = vec![0];
        loop {
            let (read, functions) = self.tasks(&blocks);
            blocks.clear();
            if read.is_empty() {
                break;
            }
            let from: Vec<LweVec> = read.iter().map(|(block, _)| sums[*block].clone()).collect();
            let results = self.look_up(tables, &LweVec::concat(&from)?, &functions, rows)?;
            for ((_, child), result) in read.into_iter().zip(results) {
                if let Some(child) = child {
                    sums[child] = sums[child].add_independent(&result)?;
                    blocks.push(child);
                } else {
                    class = Some(match class {
                        None => result,
                        // All but one of the terms are 0, which their ranges do not show.
                        Some(class) => class
                            .add_independent(&result)?
                            .within(0.0..=(self.classes - 1) as f64)?,
                    });
                }
            }
        }
        // A tree with the same class for all rows takes a look-up, too, so that the answer is
        // masked and encoded like those of other trees.
        class.map_or_else(
            || {
                let first = features.select(&(0..rows).collect::<Vec<_>>())?;
                Ok(self.look_up(tables, &first, &[Function::new(0, |_| 0)], rows)?.remove(0))
            },
            Ok,
        )
    }

    /// The sum of the digits of every block.
    fn sums(
        &self,
        tables: &Evaluator<'_>,
        features: &LweVec,
        rows: usize,
    ) -> lwe::Result<Vec<LweVec>> {
        let place = |feature: usize| (0..rows).map(move |row| feature * rows + row);
        let digits: Vec<&Digit> = self.plan.blocks.iter().flat_map(|block| &block.digits).collect();
        if digits.is_empty() {
            return Ok(vec![features.select(&place(0).collect::<Vec<_>>())?]);
        }
        let most = |digit: &Digit| digit.weight * digit.thresholds.len();
        let functions: Vec<Function<'_>> =
            digits.iter().map(|&digit| Function::new(most(digit), |x| digit.value(x))).collect();
        let places: Vec<usize> = digits.iter().flat_map(|digit| place(digit.feature)).collect();
        let parts = self.look_up(tables, &features.select(&places)?, &functions, rows)?;
        let mut parts = parts.into_iter();
        // Each term is a look-up of its own, and so is the term that a parent adds later.
        let sum = |count: usize| {
            let mut parts = parts.by_ref().take(count);
            let first = parts.next().expect("a block tests a feature");
            parts.try_fold(first, |sum, part| sum.add_independent(&part))
        };
        self.plan.blocks.iter().map(|block| block.digits.len()).map(sum).collect()
    }

    /// The tables that read the sums of some blocks: each with its block, and the block below to
    /// whose sums it adds, or none for the class.
    fn tasks(&self, blocks: &[usize]) -> (Vec<(usize, Option<usize>)>, Vec<Function<'_>>) {
        let rounded = |v: f64| v.round().max(0.0) as usize;
        let (mut read, mut functions) = (vec![], vec![]);
        for &place in blocks {
            let block = &self.plan.blocks[place];
            if block.tells() {
                let class = move |v: f64| block.class(rounded(v));
                read.push((place, None));
                functions.push(Function::new(self.classes - 1, class));
            }
            for &child in &block.children {
                let size = self.plan.blocks[child].size();
                let away = move |v: f64| if block.goes_to(rounded(v), child) { 0 } else { size };
                read.push((place, Some(child)));
                functions.push(Function::new(size, away));
            }
        }
        (read, functions)
    }

    /// A function for as many consecutive values as there are rows: the results of each function.
    fn look_up(
        &self,
        tables: &Evaluator<'_>,
        values: &LweVec,
        functions: &[Function<'_>],
        rows: usize,
    ) -> lwe::Result<Vec<LweVec>> {
        let each: Vec<&dyn Fn(f64) -> f64> =
            functions.iter().flat_map(|f| std::iter::repeat_n(&*f.value, rows)).collect();
        let results = tables.map_each(values, &each, OutputEncoding::Encoding(self.encoding()?))?;
        let of = |(k, function): (usize, &Function<'_>)| {
            let places: Vec<usize> = (k * rows..(k + 1) * rows).collect();
            results.select(&places)?.within(0.0..=function.most as f64)
        };
        functions.iter().enumerate().map(of).collect()
    }

    /// The encoding of all sums and classes: whole numbers below the capacity.
    fn encoding(&self) -> lwe::Result<Encoding> {
        let most = capacity(self.params).max(self.classes) - 1;
        let variance = TERMS * noise::look_up(self.params);
        Encoding::fit(self.params, 0.0, most as f64, variance, Headroom::TABLE, LEAVES)
    }

    /// Noise flooding: uniform noise of the server's own hides the noise of the tables, which
    /// depends on the tree.
    pub fn drowned(&self, classes: &LweVec, rng: &mut ChaCha20Rng) -> lwe::Result<LweVec> {
        let q0 = self.params.ring_modulus().value() as f64;
        let most = (DROWNED / classes.meta().encoding.width() * q0) as i64;
        let mut items = classes.items().to_vec();
        items.iter_mut().for_each(|item| item.add_constant(rng.random_range(-most..=most)));
        let meta = classes.meta();
        let variance = meta.noise.bound.powi(2) + DROWNED * DROWNED / 3.0;
        LweVec::new(self.params, items, meta.encoding, meta.lo..=meta.hi, variance, meta.key)
    }
}
