//! Worst-case noise of polynomial plans: a bound for arbitrarily correlated errors.
//!
//! Lengths are `|e|_2 / sqrt(N)`, divided by the scale of the value. A product of values with the
//! errors `d_x` and `d_y` has the error `x d_y + y d_x + d_x d_y`, where the last term has at most
//! the length `N |d_x| |d_y|` (no slot of `d` is larger than `N |d|`).
//!
//! **Algorithm.** A plan is a sequence of steps. Each adds an error of its own: a key switch, a
//! rounding, constants rounded to integers.
//! 1. Evaluate every basis polynomial and every node of the plan at points of the argument's range:
//!    Chebyshev nodes of an interval, or a circle about zero.
//! 2. Forward: for every value, a bound `D` on its whole error and a bound `R` on the part of
//!    second order in the errors of the steps and of the argument,
//!    `D = |x| D_y + |y| D_x + N D_x D_y + s` with the error `s` of the step itself, and
//!    `R = |x| R_y + |y| R_x + N D_x D_y`.
//! 3. Backward: the derivatives `a_i` of the result by the value of every step, polynomials in the
//!    argument.
//! 4. The error of the result is at most `sum_i max |a_i| s_i + max |a_1| D_1 + R`.
//!
//! To first order this is one triangle inequality over the steps: derivatives along different paths
//! keep their signs. A polynomial of degree `d` whose modulus is at most `m` at `K` points is at
//! most `m / cos(pi d / 2K)` in between (Ehlich and Zeller, "Schwankung von Polynomen zwischen
//! Gitterpunkten", 1964), also on a circle, where it has as many frequencies.

use std::collections::BTreeMap;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

use bellerophon_ckks::metadata::rules::MetadataRules;
use bellerophon_ckks::noise::{Noise, times};
use bellerophon_ckks::{Complex64, Interval, Metadata, Result};

use super::scales::power_scales;
use super::{Basis, Node, Plan, power_depth};

/// Points per degree: a maximum between them is at most 2% larger.
const POINTS: usize = 8;

/// The largest rounding error of a complex constant rounded to a Gaussian integer.
const ROUNDED: f64 = FRAC_1_SQRT_2;

/// Values at the points.
type Values = Vec<Complex64>;

/// Bounds on the error of a value: `D` and `R` of the algorithm.
#[derive(Clone, Copy)]
struct Error {
    whole: f64,
    second: f64,
}

/// A plan with its values at the points of one argument.
struct Bounded<'p> {
    rules: MetadataRules<'p>,
    plan: &'p Plan,
    /// Level of the argument.
    level: usize,
    degree: usize,
    count: usize,
    powers: BTreeMap<usize, Power>,
}

struct Power {
    values: Values,
    scale: f64,
    /// The length of the error of its step; 0 for the argument.
    step: f64,
}

struct Tree<'p> {
    node: &'p Node,
    degree: usize,
    values: Values,
    scale: f64,
    step: f64,
    /// The trees of the quotients.
    products: Vec<Tree<'p>>,
}

/// The worst-case noise of the result of a plan of at least one level at a scale. `u` is the
/// metadata of the argument, already mapped onto `[-1, 1]` for a Chebyshev plan.
pub(crate) fn bounded_plan(
    rules: MetadataRules<'_>,
    plan: &Plan,
    u: &Metadata,
    scale: f64,
) -> Result<Noise> {
    // 1: the values at the points.
    let bounded = Bounded::new(rules, plan, u)?;
    let root = bounded.tree(&plan.root, scale)?;
    // 3: the first order, by backpropagation.
    let (argument, steps) = bounded.first_order(&root);
    let lengths = u.meta.noise.map(|square| square.sqrt() / u.meta.scale);
    bounded.check_range(&root, lengths.excess)?;
    // 2 and 4: the second order, and the sum.
    let noise = lengths.map(|length| {
        let second = bounded.errors(&root, length, |_, _| ()).second;
        times(argument, length) + steps + second
    });
    Ok(noise.map(|length| (length * scale).powi(2)))
}

/// The length of the error of one step, divided by the scale of its result: a relinearization
/// if there are products, rounded constants times values of the magnitude `constants` (scale
/// included), the division by the primes of `level`, and a rounded constant added after it.
pub(crate) fn step(
    rules: MetadataRules<'_>,
    level: usize,
    products: bool,
    constants: f64,
    scale: f64,
) -> Result<f64> {
    let (params, errors) = (rules.params(), rules.errors());
    let mut noise = Noise::NONE;
    if products {
        noise = errors
            .with(noise, rules.source(params.relin_strategy().noise(params.limbs_at(level))?));
    }
    let degree = params.lattice().spec().degree;
    noise = errors.with(noise, errors.mismatch(degree, ROUNDED * constants));
    noise = rules.divided(level, noise);
    noise = errors.with(noise, errors.mismatch(degree, ROUNDED));
    Ok(noise.total.sqrt() / scale)
}

impl<'p> Bounded<'p> {
    fn new(rules: MetadataRules<'p>, plan: &'p Plan, u: &Metadata) -> Result<Self> {
        let degree = formal_degree(&plan.root);
        let count = POINTS * (degree + 1);
        let argument = points(&u.meta.bounds.slots(), count);
        let first = Power { values: argument, scale: u.meta.scale, step: 0.0 };
        let powers = BTreeMap::from([(1, first)]);
        let mut bounded = Self { rules, plan, level: u.level, degree, count, powers };
        bounded.fill_powers(u)?;
        Ok(bounded)
    }

    /// A bound on a polynomial of this degree from its values at the points (Ehlich and Zeller).
    fn most(&self, degree: usize, values: &[Complex64]) -> f64 {
        // Between the points a polynomial of this degree exceeds its largest sample by at most this
        // factor (Ehlich and Zeller, for Chebyshev points).
        let most = values.iter().map(|z| z.norm()).fold(0.0, f64::max);
        most / (PI * degree as f64 / (2 * self.count) as f64).cos()
    }

    fn size(&self, index: usize) -> f64 {
        self.most(index, &self.powers[&index].values)
    }

    /// The factor of the product in the recurrence of the basis.
    fn factor(&self) -> f64 {
        if self.plan.basis == Basis::Chebyshev { 2.0 } else { 1.0 }
    }

    /// The index of the subtracted basis polynomial, unless that is a constant.
    fn subtracted(&self, p: &super::Power) -> Option<usize> {
        (self.plan.basis == Basis::Chebyshev && p.difference() > 0).then(|| p.difference())
    }

    /// Values, scales and step errors of the powers, by the recurrence of the basis.
    fn fill_powers(&mut self, u: &Metadata) -> Result<()> {
        let scales = power_scales(self.rules.params(), self.plan, u.level, u.meta.scale);
        for p in &self.plan.powers {
            let [a, b] = [p.a, p.b].map(|i| &self.powers[&i].values);
            let mut values: Values = a.iter().zip(b).map(|(a, b)| a * b * self.factor()).collect();
            // The rounded constant of T_{|a-b|} is off by up to 1/2 in each part; its effect is in
            // proportion to that polynomial.
            let mut constants = 0.0;
            if let Some(c) = self.subtracted(p) {
                constants = self.size(c) * self.powers[&c].scale;
                let c = &self.powers[&c].values;
                values.iter_mut().zip(c).for_each(|(x, c)| *x -= c);
            } else if self.plan.basis == Basis::Chebyshev {
                values.iter_mut().for_each(|x| *x -= 1.0);
            }
            let (level, scale) = (u.level + 1 - power_depth(p.index()), scales[&p.index()]);
            let step = super::worst::step(self.rules, level, true, constants, scale)?;
            self.powers.insert(p.index(), Power { values, scale, step });
        }
        Ok(())
    }

    /// A node at a scale, with all nodes below it.
    fn tree(&self, node: &'p Node, scale: f64) -> Result<Tree<'p>> {
        let mut values = vec![Complex64::from(node.constant); self.count];
        let level = self.level + 1 - node.depth;
        let target = scale * self.rules.params().divisor(level);
        let mut products = Vec::with_capacity(node.products.len());
        for (quotient, m) in &node.products {
            let power = &self.powers[m];
            // The quotient is wanted at the scale at which its product meets the others.
            let quotient = self.tree(quotient, target / power.scale)?;
            let pairs = quotient.values.iter().zip(&power.values);
            values.iter_mut().zip(pairs).for_each(|(sum, (q, t))| *sum += q * t);
            products.push(quotient);
        }
        let mut constants = 0.0;
        for &(i, c) in &node.terms {
            let power = &self.powers[&i];
            constants += self.size(i) * power.scale;
            let c = Complex64::from(c);
            values.iter_mut().zip(&power.values).for_each(|(sum, t)| *sum += c * t);
        }
        let step = super::worst::step(self.rules, level, !products.is_empty(), constants, scale)?;
        Ok(Tree { node, degree: formal_degree(node), values, scale, step, products })
    }

    /// 2: the error of the root, for an error of the argument of a length. `visit` sees level and
    /// scale of every value, and a bound on its slots with their error.
    fn errors(
        &self,
        root: &Tree<'_>,
        argument: f64,
        mut visit: impl FnMut((usize, f64), f64),
    ) -> Error {
        let degree = self.rules.params().lattice().spec().degree as f64;
        let product = |x: (f64, Error), y: (f64, Error)| {
            // The product of two errors: coefficients of a product of polynomials of length N add
            // up N terms in each coefficient.
            let both = degree * times(x.1.whole, y.1.whole);
            let sum = |of: fn(Error) -> f64| times(x.0, of(y.1)) + times(y.0, of(x.1)) + both;
            Error { whole: sum(|e| e.whole), second: sum(|e| e.second) }
        };
        // Step 1: the argument brings its whole error, of first order by definition.
        let first = Error { whole: argument, second: 0.0 };
        let mut errors = BTreeMap::from([(1, (self.size(1), first))]);
        // Step 2: every power from its two factors.
        for p in &self.plan.powers {
            let (power, size) = (&self.powers[&p.index()], self.size(p.index()));
            let Error { whole, second } = product(errors[&p.a], errors[&p.b]);
            let mut error = Error { whole: self.factor() * whole, second: self.factor() * second };
            if let Some(c) = self.subtracted(p) {
                let level = self.level + 1 - power_depth(p.index());
                let target = power.scale * self.rules.params().divisor(level);
                add_term(&mut error, 1.0, ROUNDED * self.powers[&c].scale / target, errors[&c].1);
            }
            // The rounding of this step is an error of first order: `second` stays.
            error.whole += power.step;
            let level = self.level - power_depth(p.index());
            visit((level, power.scale), size + degree.sqrt() * error.whole);
            errors.insert(p.index(), (size, error));
        }
        // Step 3: the nodes, from the quotients to the root.
        self.node_errors(root, &errors, &product, &mut visit)
    }

    /// The error of a node, quotients first.
    fn node_errors(
        &self,
        tree: &Tree<'_>,
        powers: &BTreeMap<usize, (f64, Error)>,
        product: &impl Fn((f64, Error), (f64, Error)) -> Error,
        visit: &mut impl FnMut((usize, f64), f64),
    ) -> Error {
        // Terms first, then the products, as in the sum of the node.
        let mut sum = Error { whole: tree.step, second: 0.0 };
        let level = self.level - tree.node.depth;
        let target = tree.scale * self.rules.params().divisor(level + 1);
        for &(i, c) in &tree.node.terms {
            let rounded = ROUNDED * self.powers[&i].scale / target;
            add_term(&mut sum, Complex64::from(c).norm(), rounded, powers[&i].1);
        }
        for (quotient, (_, m)) in tree.products.iter().zip(&tree.node.products) {
            let of_quotient = self.node_errors(quotient, powers, product, visit);
            let size = self.most(quotient.degree, &quotient.values);
            let Error { whole, second } = product((size, of_quotient), powers[m]);
            sum.whole += whole;
            sum.second += second;
        }
        let size = self.most(tree.degree, &tree.values);
        let degree = self.rules.params().lattice().spec().degree as f64;
        visit((level, tree.scale), size + degree.sqrt() * sum.whole);
        sum
    }

    /// Refuses intermediate values that may wrap around with their error.
    fn check_range(&self, root: &Tree<'_>, excess: f64) -> Result<()> {
        let params = self.rules.params();
        let mut fits = Ok(());
        self.errors(root, excess, |(level, scale), most| {
            if let Err(error) = params.check_range(most, scale, params.limbs_at(level)) {
                fits = Err(error);
            }
        });
        fits
    }

    /// 3: the largest derivative by the argument, and the errors of the steps, to first order.
    fn first_order(&self, root: &Tree<'_>) -> (f64, f64) {
        let zeros = vec![Complex64::ZERO; self.count];
        let mut adjoints: BTreeMap<usize, Values> =
            self.powers.keys().map(|&i| (i, zeros.clone())).collect();
        let mut steps = 0.0;
        let ones = vec![Complex64::ONE; self.count];
        self.backward(root, ones, &mut adjoints, &mut steps);
        for p in self.plan.powers.iter().rev() {
            let adjoint = std::mem::take(adjoints.entry(p.index()).or_default());
            // The derivative of the result by this power has the degree that is left.
            let most = self.most(self.degree.saturating_sub(p.index()), &adjoint);
            steps += most * self.powers[&p.index()].step;
            for (to, other) in [(p.a, p.b), (p.b, p.a)] {
                let other = &self.powers[&other].values;
                let to = adjoints.entry(to).or_default();
                let pairs = adjoint.iter().zip(other);
                to.iter_mut().zip(pairs).for_each(|(x, (a, t))| *x += a * t * self.factor());
            }
            if let Some(c) = self.subtracted(p) {
                let to = adjoints.entry(c).or_default();
                to.iter_mut().zip(&adjoint).for_each(|(x, a)| *x -= a);
            }
        }
        (self.most(self.degree.saturating_sub(1), &adjoints[&1]), steps)
    }

    /// Backpropagates the derivative by a node, and adds the errors of the steps.
    fn backward(
        &self,
        tree: &Tree<'_>,
        adjoint: Values,
        adjoints: &mut BTreeMap<usize, Values>,
        steps: &mut f64,
    ) {
        // The rounding of a node reaches the result through its adjoint, a polynomial of the
        // remaining degree.
        *steps += self.most(self.degree - tree.degree, &adjoint) * tree.step;
        for &(i, c) in &tree.node.terms {
            let c = Complex64::from(c);
            let to = adjoints.entry(i).or_default();
            to.iter_mut().zip(&adjoint).for_each(|(x, a)| *x += c * a);
        }
        for (quotient, (_, m)) in tree.products.iter().zip(&tree.node.products) {
            let to = adjoints.entry(*m).or_default();
            let pairs = adjoint.iter().zip(&quotient.values);
            to.iter_mut().zip(pairs).for_each(|(x, (a, q))| *x += a * q);
            let below = adjoint.iter().zip(&self.powers[m].values).map(|(a, t)| a * t).collect();
            self.backward(quotient, below, adjoints, steps);
        }
    }
}

/// Adds the error of a term `c x` with a rounding error of at most `rounded` in `c`.
fn add_term(sum: &mut Error, c: f64, rounded: f64, x: Error) {
    sum.whole += times(c + rounded, x.whole);
    sum.second += times(c, x.second) + times(rounded, x.whole);
}

/// The degree of a node if nothing cancels.
pub(super) fn formal_degree(node: &Node) -> usize {
    let terms = node.terms.iter().map(|&(i, _)| i);
    let products = node.products.iter().map(|(q, m)| formal_degree(q) + m);
    terms.chain(products).max().unwrap_or(0)
}

/// The sample points of a range: Chebyshev nodes of an interval, or a circle about zero.
fn points(range: &Interval, count: usize) -> Values {
    let (middle, radius) = (0.5 * (range.lo() + range.hi()), 0.5 * (range.hi() - range.lo()));
    let angle = |i: usize| PI * (i as f64 + 0.5) / count as f64;
    // Chebyshev points of an interval; equally spaced points of a circle, where a polynomial has
    // its maximum (maximum principle).
    match range.is_real() {
        true => (0..count).map(|i| (middle + radius * angle(i).cos()).into()).collect(),
        false => (0..count).map(|i| Complex64::from_polar(range.bound(), 2.0 * angle(i))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ckks::noise_model::NoiseModel;
    use bellerophon_ckks::{
        Bounds, CiphertextMeta, LevelGroup, ModulusChain, Params, ParamsSpec, Security,
    };
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::chebyshev::Chebyshev;

    fn params() -> Params {
        let levels = vec![LevelGroup::single(45, 6)];
        let chain = ModulusChain { degree: 1 << 9, first_bits: 55, levels, special: (50, 2) };
        Params::new(ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap()).unwrap()
    }

    fn argument(params: &Params, range: Interval) -> Metadata {
        let (scale, bounds) = (params.scale(), Bounds::all(range));
        let meta = CiphertextMeta { scale, slots: 256, len: 256, bounds, noise: Noise::new(100.0) };
        Metadata { level: 6, meta }
    }

    fn plans() -> Vec<Plan> {
        let c = |k: usize| (1.7 * k as f64 + 0.3).sin() / (1 + k) as f64;
        let dense = |degree: usize| (0..=degree).map(c).collect::<Vec<_>>();
        let even = Chebyshev::cosine(14.0, 30).0;
        let monomial =
            |c: &[f64]| Plan::monomial(&c.iter().map(|&c| Complex64::from(c)).collect::<Vec<_>>());
        let mut plans = vec![Plan::new(&even), monomial(&dense(13)), monomial(&[0.0, 1.0])];
        plans.extend([1, 4, 7, 18, 31].map(|d| Plan::new(&Chebyshev::new(-1.0, 1.0, dense(d)))));
        plans
    }

    /// Derivatives are those of the plan at their largest, and steps no less than the root of the
    /// sum of squares that the average has of them.
    #[test]
    fn first_orders_are_those_of_the_plan() {
        let params = params();
        let rules = params.rules().with_errors(NoiseModel::Worst);
        for (lo, hi) in [(-1.0, 1.0), (0.25, 0.75)] {
            let u = argument(&params, Interval::real(lo, hi).unwrap());
            for plan in plans() {
                let (bounded, root) = with_steps(rules, &plan, &u, 1.0);
                let (slope, steps) = bounded.first_order(&root);
                let mut largest: (f64, f64) = (0.0, 0.0);
                for i in 0..=4000 {
                    let found = plan.sensitivity(lo + (hi - lo) * i as f64 / 4000.0);
                    largest.0 = largest.0.max(found.input.abs());
                    largest.1 = largest.1.max(found.steps);
                }
                assert!(slope >= largest.0 * (1.0 - 1e-9) && slope < 1.021 * largest.0 + 1e-12);
                let count = plan.relinearizations.max(1) as f64 + plan.depth() as f64;
                assert!(steps >= largest.1 * (1.0 - 1e-9), "{steps} {largest:?}");
                assert!(
                    steps < 1.021 * count.sqrt() * 2.0 * largest.1,
                    "{steps} {largest:?} {count}"
                );
            }
        }
    }

    /// A plan on numbers, with errors in every step, departs no further than the bound says,
    /// however large the errors; and as far, but for a small factor, where they are small.
    #[test]
    fn errors_on_numbers_stay_within() {
        let params = params();
        let rules = params.rules().with_errors(NoiseModel::Worst);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let u = argument(&params, Interval::real(-1.0, 1.0).unwrap());
        for plan in plans() {
            for size in [1e-9, 1e-4, 1e-2] {
                let (bounded, root) = with_steps(rules, &plan, &u, size);
                let (slope, steps) = bounded.first_order(&root);
                let second = bounded.errors(&root, size, |_, _| ()).second;
                let bound = slope * size + steps + second;
                let mut largest: f64 = 0.0;
                for i in 0..400 {
                    let x = (0.1 * f64::from(i)).cos();
                    let exact = bounded.departed(x, || 0.0);
                    let mut error = || if rng.random() { size } else { -size };
                    largest = largest.max((bounded.departed(x, &mut error) - exact).abs());
                }
                assert!(largest <= bound + 1e-14, "{plan:?}: {largest:e} {bound:e}");
                assert!(size > 1e-9 || 16.0 * largest > bound, "{plan:?}: {largest:e} {bound:e}");
            }
        }
    }

    /// A plan for an argument, where every step adds an error of this length.
    fn with_steps<'p>(
        rules: MetadataRules<'p>,
        plan: &'p Plan,
        u: &Metadata,
        step: f64,
    ) -> (Bounded<'p>, Tree<'p>) {
        fn all(tree: &mut Tree<'_>, step: f64) {
            tree.step = step;
            tree.products.iter_mut().for_each(|tree| all(tree, step));
        }
        let mut bounded = Bounded::new(rules, plan, u).unwrap();
        let mut root = bounded.tree(&plan.root, u.meta.scale).unwrap();
        all(&mut root, step);
        bounded.powers.iter_mut().filter(|(i, _)| **i > 1).for_each(|(_, p)| p.step = step);
        (bounded, root)
    }

    fn node_value(
        node: &Node,
        powers: &BTreeMap<usize, f64>,
        error: &mut impl FnMut() -> f64,
    ) -> f64 {
        let mut sum = Complex64::from(node.constant).re + error();
        sum += node.terms.iter().map(|&(i, c)| Complex64::from(c).re * powers[&i]).sum::<f64>();
        for (quotient, m) in &node.products {
            sum += node_value(quotient, powers, error) * powers[m];
        }
        sum
    }

    impl Bounded<'_> {
        /// The value at `x` where the argument and every step has an error.
        fn departed(&self, x: f64, mut error: impl FnMut() -> f64) -> f64 {
            let mut powers = BTreeMap::from([(1, x + error())]);
            for p in &self.plan.powers {
                let mut value = self.factor() * powers[&p.a] * powers[&p.b] + error();
                if self.plan.basis == Basis::Chebyshev {
                    value -= self.subtracted(p).map_or(1.0, |c| powers[&c]);
                }
                powers.insert(p.index(), value);
            }
            node_value(&self.plan.root, &powers, &mut error)
        }
    }
}
