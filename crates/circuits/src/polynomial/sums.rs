//! Sums of multiples of powers, the linear parts of the nodes of a plan, several at a time.
//!
//! A polynomial of high degree has hundreds of nodes. Each has a sum over the same baby powers,
//! which together exceed every cache. Several sums in one pass over the powers cost little more
//! than one.

use std::collections::{BTreeMap, VecDeque};

use bellerophon_ckks::{Complex64, Evaluator, Params, Result, metadata::rules::scaled_integer};
use bellerophon_mlwe as mlwe;
use bellerophon_ring::{Gaussian, Ntt, Poly, Ring};

use super::Node;

/// Sums computed in one pass over the powers.
const BATCH: usize = 16;

/// Basis polynomials by index, each with its scale.
pub type Powers = BTreeMap<usize, (mlwe::Ciphertext, f64)>;

/// The sums of an evaluation by their number of limbs, in the order in which it uses them.
pub(super) struct LinearSums<'p>(BTreeMap<usize, Pending<'p>>);

/// The sums of one number of limbs.
#[derive(Default)]
struct Pending<'p> {
    /// Terms and scale before the rescale of sums not computed yet.
    waiting: VecDeque<(&'p [(usize, Complex64)], f64)>,
    ready: VecDeque<mlwe::Ciphertext>,
}

/// Limbs and scale of the sum of a node before its rescale.
pub(super) struct SumShape {
    /// Limbs of the sum.
    pub limbs: usize,
    /// Its scale.
    pub target: f64,
}

impl SumShape {
    /// For a node whose value has the scale `scale`, of an argument at `level`.
    pub(crate) fn of(params: &Params, level: usize, node: &Node, scale: f64) -> Self {
        let here = level + 1 - node.depth;
        Self { limbs: params.limbs_at(here), target: scale * params.divisor(here) }
    }
}

impl<'p> LinearSums<'p> {
    /// The sums of `root` and all nodes below it.
    pub(crate) fn new(
        params: &Params,
        level: usize,
        powers: &Powers,
        root: &'p Node,
        scale: f64,
    ) -> Self {
        let mut sums = Self(BTreeMap::new());
        sums.collect(params, level, powers, root, scale);
        sums
    }

    /// Queues the sums in the order of the evaluation: quotients first.
    fn collect(
        &mut self,
        params: &Params,
        level: usize,
        powers: &Powers,
        node: &'p Node,
        scale: f64,
    ) {
        let SumShape { limbs, target } = SumShape::of(params, level, node, scale);
        for (quotient, m) in &node.products {
            self.collect(params, level, powers, quotient, target / powers[m].1);
        }
        if !node.terms.is_empty() {
            self.0.entry(limbs).or_default().waiting.push_back((&node.terms, target));
        }
    }

    /// The next sum of `limbs` limbs.
    pub(crate) fn next(
        &mut self,
        evaluator: &Evaluator,
        limbs: usize,
        powers: &Powers,
    ) -> Result<mlwe::Ciphertext> {
        let pending = self.0.entry(limbs).or_default();
        if pending.ready.is_empty() {
            let count = BATCH.min(pending.waiting.len());
            let batch: Vec<_> = pending.waiting.drain(..count).collect();
            pending.ready = weighted_batch(evaluator, limbs, powers, &batch)?.into();
        }
        Ok(pending.ready.pop_front().expect("as many sums as nodes with terms"))
    }
}

/// `sum_i round(c_i target / scale_i) x_i` over powers, for each list of terms and target.
fn weighted_batch(
    e: &Evaluator,
    limbs: usize,
    powers: &Powers,
    sums: &[(&[(usize, Complex64)], f64)],
) -> Result<Vec<mlwe::Ciphertext>> {
    // Powers by their position among the rows, constants in units of the power's scale.
    let positions: BTreeMap<usize, usize> =
        powers.keys().enumerate().map(|(position, &index)| (index, position)).collect();
    let rows: Vec<&mlwe::Ciphertext> = powers.values().map(|(power, _)| power).collect();
    let sums: Vec<Vec<(usize, Complex64)>> = sums
        .iter()
        .map(|(terms, target)| {
            let term = |&(index, c): &(usize, Complex64)| {
                (positions[&index], c * (target / powers[&index].1))
            };
            terms.iter().map(term).collect()
        })
        .collect();
    weighted_sums(e, limbs, &rows, &sums)
}

/// `sum_i round(factor_i) x_i` modulo the first `limbs` primes, for each list of positions
/// among `rows` and factors. A row with fewer limbs takes part in no sum.
pub(super) fn weighted_sums(
    e: &Evaluator,
    limbs: usize,
    rows: &[&mlwe::Ciphertext],
    sums: &[Vec<(usize, Complex64)>],
) -> Result<Vec<mlwe::Ciphertext>> {
    let ring = e.params().ring(limbs);
    // Step 1: the rows with enough limbs. Deeper powers have fewer and take no part.
    let used: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].limbs() >= limbs).collect();
    let position = |row: usize| used.binary_search(&row).expect("terms have the limbs");

    // Step 2: the factors, rounded to Gaussian integers.
    let sums: Vec<Vec<(usize, Gaussian)>> = sums
        .iter()
        .map(|terms| {
            let term =
                |&(row, factor): &(usize, Complex64)| Ok((position(row), gaussian(ring, factor)?));
            terms.iter().map(term).collect::<Result<_>>()
        })
        .collect::<Result<_>>()?;

    // Step 3: one pass for the bodies, and one for each mask.
    let column = |poly: fn(&mlwe::Ciphertext, usize) -> &Poly<Ntt>, i: usize| {
        let rows: Vec<&Poly<Ntt>> = used.iter().map(|&row| poly(rows[row], i)).collect();
        ring.gaussian_sums(&rows, &sums)
    };
    let rank = e.params().lattice().spec().rank;
    let mut masks: Vec<_> =
        (0..rank).map(|i| column(|x, i| &x.masks()[i], i).into_iter()).collect();
    let bodies = column(|x, _| x.b(), 0);
    let key = e.keys().secret_id();
    bodies
        .into_iter()
        .map(|b| {
            let a = masks.iter_mut().filter_map(Iterator::next).collect();
            mlwe::Ciphertext::new(e.params().lattice(), b, a, key)
        })
        .collect()
}

/// `sum += round(value)` in every slot.
pub(crate) fn add_constant(
    e: &Evaluator,
    sum: &mut mlwe::Ciphertext,
    value: impl Into<Complex64>,
) -> Result<()> {
    let ring = e.params().ring(sum.limbs());
    let constant = gaussian(ring, value.into())?;
    let body = sum.polys_mut().next().expect("a ciphertext has a body");
    ring.add_gaussian_assign(body, &constant);
    Ok(())
}

fn gaussian(ring: &Ring, value: Complex64) -> Result<Gaussian> {
    let part = |x: f64| scaled_integer(x, 1.0);
    Ok(ring.gaussian(part(value.re)?, part(value.im)?))
}
