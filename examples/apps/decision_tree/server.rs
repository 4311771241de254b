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
    value: Box<dyn Fn(f64) -> usize + 'a>,
    most: usize,
}

impl<'a> Function<'a> {
    fn new(most: usize, value: impl Fn(f64) -> usize + 'a) -> Self {
        Self { value: Box::new(value), most }
    }
}

/// What follows from a sum of digits.
enum Next {
    Class,
    Block(usize),
}

/// A server with its tree.
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

impl<'a> Server<'a> {
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
        while !blocks.is_empty() {
            let tasks = self.tasks(&blocks);
            blocks.clear();
            if tasks.is_empty() {
                break;
            }
            let from: Vec<LweVec> = tasks.iter().map(|(block, ..)| sums[*block].clone()).collect();
            let functions = tasks.iter().map(|(.., function)| function).collect::<Vec<_>>();
            let results = self.look_up(tables, &LweVec::concat(&from)?, &functions, rows)?;
            for ((_, next, _), result) in tasks.iter().zip(results) {
                match next {
                    Next::Block(child) => {
                        sums[*child] = sums[*child].add_independent(&result)?;
                        blocks.push(*child);
                    }
                    Next::Class => {
                        class = Some(match class {
                            None => result,
                            Some(class) => self.one_of(class.add_independent(&result)?)?,
                        });
                    }
                }
            }
        }
        match class {
            Some(class) => Ok(class),
            // A tree with the same class for all rows takes a look-up, too, so that the answer is
            // masked and encoded like those of other trees.
            None => {
                let places: Vec<usize> = (0..rows).collect();
                let first = Function::new(0, |_| 0);
                let classes = self.look_up(tables, &features.select(&places)?, &[&first], rows)?;
                Ok(classes.into_iter().next().expect("one function has one result"))
            }
        }
    }

    /// The sum of the digits of every block.
    fn sums(
        &self,
        tables: &Evaluator<'_>,
        features: &LweVec,
        rows: usize,
    ) -> lwe::Result<Vec<LweVec>> {
        let digits = self.plan.blocks.iter().flat_map(|block| &block.digits);
        let digits: Vec<_> = digits.collect();
        let place = |feature: usize| (0..rows).map(move |row| feature * rows + row);
        let function = |digit: &'a Digit| {
            let most = digit.weight * digit.thresholds.len();
            Function::new(most, move |x| digit.value(x))
        };
        let functions: Vec<Function<'_>> = digits.iter().copied().map(function).collect();
        if digits.is_empty() {
            let all: Vec<usize> = place(0).collect();
            return Ok(vec![features.select(&all)?]);
        }
        let places: Vec<usize> = digits.iter().flat_map(|digit| place(digit.feature)).collect();
        let functions: Vec<&Function<'_>> = functions.iter().collect();
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

    /// The tables that read the sums of some blocks.
    fn tasks(&self, blocks: &[usize]) -> Vec<(usize, Next, Function<'_>)> {
        let rounded = |v: f64| v.round().max(0.0) as usize;
        let mut tasks: Vec<(usize, Next, Function<'_>)> = vec![];
        for &place in blocks {
            let block = &self.plan.blocks[place];
            if block.tells() {
                let class = move |v: f64| block.class(rounded(v));
                tasks.push((place, Next::Class, Function::new(self.classes - 1, class)));
            }
            for &child in &block.children {
                let size = self.plan.blocks[child].size();
                let away = move |v: f64| if block.goes_to(rounded(v), child) { 0 } else { size };
                tasks.push((place, Next::Block(child), Function::new(size, away)));
            }
        }
        tasks
    }

    /// A function for as many consecutive values as there are rows: the results of each function.
    fn look_up(
        &self,
        tables: &Evaluator<'_>,
        values: &LweVec,
        functions: &[&Function<'_>],
        rows: usize,
    ) -> lwe::Result<Vec<LweVec>> {
        let reals: Vec<_> =
            functions.iter().map(|function| |v: f64| (function.value)(v) as f64).collect();
        let each: Vec<&dyn Fn(f64) -> f64> =
            reals.iter().flat_map(|f| vec![f as &dyn Fn(f64) -> f64; rows]).collect();
        let results = tables.map_each(values, &each, OutputEncoding::Encoding(self.encoding()?))?;
        let of = |(k, function): (usize, &&Function<'_>)| {
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

    /// All but one of the terms of a sum of classes are 0, which their ranges do not show.
    fn one_of(&self, sum: LweVec) -> lwe::Result<LweVec> {
        sum.within(0.0..=(self.classes - 1) as f64)
    }

    /// Noise flooding: uniform noise of the server's own hides the noise of the tables, which
    /// depends on the tree.
    pub fn drowned(&self, classes: &LweVec, rng: &mut ChaCha20Rng) -> lwe::Result<LweVec> {
        let q0 = self.params.ring_modulus().value() as f64;
        let most = (DROWNED / classes.meta().encoding.width() * q0) as i64;
        let mut items = classes.items().to_vec();
        items.iter_mut().for_each(|item| item.add_constant(rng.random_range(-most..=most)));
        let variance = classes.meta().noise.bound.powi(2) + DROWNED * DROWNED / 3.0;
        let range = classes.meta().lo..=classes.meta().hi;
        LweVec::new(
            self.params,
            items,
            classes.meta().encoding,
            range,
            variance,
            classes.meta().key,
        )
    }
}
