//! The plan of an evaluation: which products of what, decided before any ciphertext is touched.
//!
//! The Chebyshev basis multiplies by
//!
//! ```text
//! T_{a+b} = 2 T_a T_b - T_{|a-b|},
//! ```
//!
//! so `T_i` takes `ceil(log2 i)` levels. A polynomial of degree between `m` and `2m - 1` splits as
//! `p = q T_m + r` (Paterson and Stockmeyer 1973; in this basis Chen, Chillotti and Song 2019),
//! where for `k > m` the term `c_k T_k` gives `2 c_k T_{k-m}` to `q` and `-c_k T_{2m-k}` to `r`.
//! In the monomial basis the same holds with `x^{a+b} = x^a x^b` and plain division by `x^m`.
//! Splitting stops below a degree `2^l` ("baby" powers `T_1 .. T_{2^l - 1}`), but only where the
//! terms left can still be multiplied by their constants in time: constants cost a level too. So the
//! leading quotients are split further, down to linear ones, and the whole takes
//! `ceil(log2(d + 1))` levels and not one more. `l` is the one that costs least.
//!
//! All products of one [`Node`] and all its terms are added up before one relinearisation and one
//! rescaling: a product more in the same node costs no key switch.

use std::{collections::BTreeSet, fmt};

use crate::{
    chebyshev::Chebyshev,
    noise::{Noise, times},
};

/// Cost of a product inside a node, in units of a relinearisation with rescaling.
const PRODUCT_COST: f64 = 0.15;

/// Cost of a term `c T_i` of a node, in the same units.
const TERM_COST: f64 = 0.02;

/// What a polynomial is a sum of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Chebyshev's polynomials `T_i` of an argument in `[-1, 1]`.
    Chebyshev,
    /// The powers `x^i` of any argument.
    Monomial,
}

/// A step `T_{a+b} = 2 T_a T_b - T_{a-b}`, or `x^{a+b} = x^a x^b`; a squaring when `a = b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Power {
    /// The larger factor's index.
    pub a: usize,
    /// The smaller factor's index.
    pub b: usize,
}

impl Power {
    /// How `T_index` is computed: from the largest power of two below `index` and the rest.
    fn of(index: usize) -> Self {
        debug_assert!(index >= 2);
        let a = if index.is_power_of_two() { index / 2 } else { 1 << index.ilog2() };
        Self { a, b: index - a }
    }

    /// The index `a + b` of the result.
    pub fn index(&self) -> usize {
        self.a + self.b
    }

    /// The index `a - b` of the polynomial subtracted; 0 stands for the constant 1.
    pub fn difference(&self) -> usize {
        self.a - self.b
    }
}

/// Levels below the input at which `T_index` is had, `ceil(log2 index)`; `index >= 1`.
pub fn power_depth(index: usize) -> usize {
    index.next_power_of_two().trailing_zeros() as usize
}

/// A sum `constant + sum c_i T_i + sum q_j T_j`, rescaled once at the end.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// Levels below the input at which the result stands.
    pub depth: usize,
    /// The constant.
    pub constant: f64,
    /// Indices `i >= 1` of basis polynomials and their constants.
    pub terms: Vec<(usize, f64)>,
    /// Quotients, each with the index of the basis polynomial that it is multiplied by.
    pub products: Vec<(Node, usize)>,
}

/// Depth and indices only: the constants may be secret.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<usize> = self.terms.iter().map(|&(index, _)| index).collect();
        f.debug_struct("Node")
            .field("depth", &self.depth)
            .field("terms", &terms)
            .field("products", &self.products)
            .finish_non_exhaustive()
    }
}

impl Node {
    /// The node of `coefficients` that may use `depth` levels (`2^depth` coefficients at most) and
    /// takes terms of index below `baby` as they are.
    fn build(basis: Basis, coefficients: &[f64], depth: usize, baby: usize) -> Self {
        let mut rest = coefficients.to_vec();
        let mut node = Self { depth, constant: 0.0, terms: vec![], products: vec![] };
        loop {
            while rest.last() == Some(&0.0) {
                rest.pop();
            }
            let Some(degree) = rest.len().checked_sub(1).filter(|&d| d > 0) else { break };
            let in_time = |(i, c): (usize, &f64)| i == 0 || *c == 0.0 || power_depth(i) < depth;
            if degree < baby && rest.iter().enumerate().all(in_time) {
                break;
            }
            let m = 1 << degree.ilog2();
            let mut quotient = rest[m..].to_vec();
            if basis == Basis::Chebyshev {
                for k in m + 1..=degree {
                    quotient[k - m] *= 2.0;
                    rest[2 * m - k] -= rest[k];
                }
            }
            rest.truncate(m);
            if quotient.iter().skip(1).all(|&c| c == 0.0) {
                node.terms.push((m, quotient[0]));
            } else {
                node.products.push((Self::build(basis, &quotient, depth - 1, baby), m));
            }
        }
        node.constant = rest.first().copied().unwrap_or(0.0);
        node.terms.extend(rest.into_iter().enumerate().skip(1).filter(|&(_, c)| c != 0.0));
        node
    }

    /// The value where the basis polynomials have the values `powers`.
    fn eval(&self, powers: &[f64]) -> f64 {
        let terms: f64 = self.terms.iter().map(|&(i, c)| c * powers[i]).sum();
        let products: f64 = self.products.iter().map(|(q, m)| q.eval(powers) * powers[*m]).sum();
        self.constant + terms + products
    }

    /// Passes the derivative of the whole by this node's value on to what it is made of; adds up the
    /// squares of the derivatives by the nodes' values.
    fn backward(&self, adjoint: f64, powers: &[f64], adjoints: &mut [f64], squares: &mut f64) {
        *squares += adjoint * adjoint;
        for &(i, c) in &self.terms {
            adjoints[i] += adjoint * c;
        }
        for (q, m) in &self.products {
            adjoints[*m] += adjoint * q.eval(powers);
            q.backward(adjoint * powers[*m], powers, adjoints, squares);
        }
    }

    /// A bound on the value where the argument is at most `bound` in magnitude and the basis is that
    /// of monomials, by the magnitudes of all terms; `visit` sees that of every node.
    pub(crate) fn magnitude(&self, bound: f64, visit: &mut impl FnMut(&Self, f64)) -> f64 {
        let power = |i: usize| bound.powi(i as i32);
        let terms: f64 = self.terms.iter().map(|&(i, c)| c.abs() * power(i)).sum();
        let products: f64 =
            self.products.iter().map(|(q, m)| q.magnitude(bound, visit) * power(*m)).sum();
        let whole = self.constant.abs() + terms + products;
        visit(self, whole);
        whole
    }

    /// Adds up `[nodes with products, products, terms]` and notes the indices used.
    fn count(&self, counts: &mut [usize; 3], used: &mut BTreeSet<usize>) {
        counts[0] += usize::from(!self.products.is_empty());
        counts[1] += self.products.len();
        counts[2] += self.terms.len();
        used.extend(self.terms.iter().map(|&(i, _)| i));
        for (q, m) in &self.products {
            used.insert(*m);
            q.count(counts, used);
        }
    }
}

/// How to evaluate a polynomial given in the Chebyshev basis on `[-1, 1]`, or by its coefficients.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    basis: Basis,
    powers: Vec<Power>,
    root: Node,
    products: usize,
    relinearisations: usize,
}

impl Plan {
    /// The plan of least cost among those of least depth. Only the coefficients count: the domain
    /// is the caller's matter.
    pub fn new(polynomial: &Chebyshev) -> Self {
        Self::best(Basis::Chebyshev, polynomial.coefficients())
    }

    /// As [`new`](Self::new) for `sum_i coefficients[i] x^i`.
    pub fn monomial(coefficients: &[f64]) -> Self {
        let last = coefficients.iter().rposition(|&c| c != 0.0).unwrap_or(0);
        Self::best(Basis::Monomial, &coefficients[..coefficients.len().min(last + 1)])
    }

    fn best(basis: Basis, coefficients: &[f64]) -> Self {
        let depth = power_depth(coefficients.len().max(1));
        (0..=depth)
            .map(|l| Self::with_baby(basis, coefficients, depth, 1 << l))
            .min_by(|x, y| x.cost().total_cmp(&y.cost()))
            .expect("at least one candidate")
    }

    fn with_baby(basis: Basis, coefficients: &[f64], depth: usize, baby: usize) -> Self {
        let root = Node::build(basis, coefficients, depth, baby);
        let mut counts = [0; 3];
        let mut needed = BTreeSet::new();
        root.count(&mut counts, &mut needed);
        // Close the set under the recurrence, from the largest index down.
        let mut powers = vec![];
        while let Some(index) = needed.pop_last().filter(|&i| i > 1) {
            let power = Power::of(index);
            needed.extend([power.a, power.b]);
            if basis == Basis::Chebyshev {
                needed.insert(power.difference());
            }
            powers.push(power);
        }
        powers.reverse();
        let relinearisations = powers.len() + counts[0];
        Self { basis, products: powers.len() + counts[1], relinearisations, powers, root }
    }

    /// Estimated work, in units of a relinearisation with rescaling.
    pub fn cost(&self) -> f64 {
        let mut counts = [0; 3];
        self.root.count(&mut counts, &mut BTreeSet::new());
        self.relinearisations as f64
            + PRODUCT_COST * counts[1] as f64
            + TERM_COST * counts[2] as f64
    }

    /// What the polynomial is a sum of.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// Levels that the evaluation takes, `ceil(log2(degree + 1))`.
    pub fn depth(&self) -> usize {
        self.root.depth
    }

    /// Products of two ciphertexts.
    pub fn products(&self) -> usize {
        self.products
    }

    /// Relinearisations: products of one node share one.
    pub fn relinearisations(&self) -> usize {
        self.relinearisations
    }

    /// The basis polynomials to compute, each from earlier ones and `T_1`, the input.
    pub fn powers(&self) -> &[Power] {
        &self.powers
    }

    /// The sum to evaluate once the powers are there.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Carries out the plan on a number, of `[-1, 1]` for the Chebyshev basis.
    pub fn eval(&self, u: f64) -> f64 {
        self.root.eval(&self.power_values(u))
    }

    /// How errors on the way show in the result at `u`, to first order.
    pub fn sensitivity(&self, u: f64) -> Sensitivity {
        let powers = self.power_values(u);
        let mut adjoints = vec![0.0; powers.len()];
        let mut squares = 0.0;
        self.root.backward(1.0, &powers, &mut adjoints, &mut squares);
        for p in self.powers.iter().rev() {
            let adjoint = adjoints[p.index()];
            squares += adjoint * adjoint;
            let (factor, subtracted) = match self.basis {
                Basis::Chebyshev => (2.0, adjoint),
                Basis::Monomial => (1.0, 0.0),
            };
            adjoints[p.a] += factor * adjoint * powers[p.b];
            adjoints[p.b] += factor * adjoint * powers[p.a];
            adjoints[p.difference()] -= subtracted;
        }
        Sensitivity { input: adjoints[1], steps: squares.sqrt() }
    }

    fn power_values(&self, u: f64) -> Vec<f64> {
        let last = self.powers.last().map_or(1, Power::index);
        let mut powers = vec![f64::NAN; last + 1];
        (powers[0], powers[1]) = (1.0, u);
        for p in &self.powers {
            let product = powers[p.a] * powers[p.b];
            powers[p.index()] = match self.basis {
                Basis::Chebyshev => 2.0 * product - powers[p.difference()],
                Basis::Monomial => product,
            };
        }
        powers
    }
}

/// How errors of an evaluation show in its result: an input error `e` as `input e`, and
/// independent errors of standard deviation `s` in every rescaled intermediate result as an error
/// of standard deviation `steps s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// The derivative of the result by the input.
    pub input: f64,
    /// Root of the sum of the squared derivatives by each intermediate result and the result.
    pub steps: f64,
}

impl Sensitivity {
    /// Of an evaluation without steps.
    pub const IDENTITY: Self = Self { input: 1.0, steps: 0.0 };

    /// Of the evaluation `next` made on the result of this one.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self { input: self.input * next.input, steps: (self.steps * next.input).hypot(next.steps) }
    }

    /// Variance of the error of the result: `input_variance` that of the input, `step_variance`
    /// that of every rescaling.
    pub fn variance(&self, input_variance: f64, step_variance: f64) -> f64 {
        times(self.input.powi(2), input_variance) + self.steps * self.steps * step_variance
    }

    /// The larger derivatives.
    pub(crate) fn max(self, other: Self) -> Self {
        let (input, steps) = (self.input.abs().max(other.input.abs()), self.steps.max(other.steps));
        Self { input, steps }
    }
}

/// How the noise of a vector shows in the result of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Response {
    /// Of the error: on average over the values.
    pub total: Sensitivity,
    /// Of the departure from the range: values leave it at its ends, and the range of the result where
    /// the ends are mapped to; a rounding may do so anywhere.
    pub excess: Sensitivity,
}

impl Response {
    /// Noise of the result: `step_variance` is that of every rescaling.
    pub fn noise(&self, input: Noise, step_variance: f64) -> Noise {
        Noise {
            total: self.total.variance(input.total, step_variance),
            excess: self.excess.variance(input.excess, step_variance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every operand must stand at or above the level of the sum that it enters.
    fn check_depths(node: &Node) {
        for &(i, _) in &node.terms {
            assert!(power_depth(i) < node.depth);
        }
        for (q, m) in &node.products {
            assert!(power_depth(*m) < node.depth && q.depth < node.depth);
            check_depths(q);
        }
    }

    fn check_powers(plan: &Plan) {
        let mut have = BTreeSet::from([0, 1]);
        for p in plan.powers() {
            assert!(have.contains(&p.a) && have.contains(&p.b) && have.contains(&p.difference()));
            assert_eq!(power_depth(p.index()), 1 + power_depth(p.a).max(power_depth(p.b)));
            assert!(have.insert(p.index()));
        }
    }

    fn dense(degree: usize) -> Chebyshev {
        let c = (0..=degree).map(|k| (1.7 * k as f64 + 0.3).sin() / (1 + k) as f64).collect();
        Chebyshev::new(-1.0, 1.0, c)
    }

    #[test]
    fn every_degree_at_optimal_depth() {
        for degree in 0..=130 {
            let p = dense(degree);
            let plan = Plan::new(&p);
            assert_eq!(plan.depth(), ((degree + 1) as f64).log2().ceil() as usize);
            check_depths(plan.root());
            check_powers(&plan);
            for i in -10..=10 {
                let u = 0.1 * i as f64;
                assert!((plan.eval(u) - p.eval(u)).abs() < 1e-11, "degree {degree} at {u}");
            }
        }
    }

    #[test]
    fn products_are_few() {
        // About 2 sqrt(d): the table of a degree, products and relinearisations allowed.
        for (degree, products, relinearisations) in
            [(1, 0, 0), (2, 1, 1), (3, 2, 2), (7, 5, 4), (15, 8, 7), (31, 13, 10), (63, 18, 15)]
        {
            let plan = Plan::new(&dense(degree));
            let found = (plan.products(), plan.relinearisations());
            assert!(
                found.0 <= products && found.1 <= relinearisations,
                "degree {degree}: {found:?} products and relinearisations"
            );
        }
    }

    #[test]
    fn parity_saves_products() {
        let even = Chebyshev::cosine(29.5, 50).0;
        let odd = Chebyshev::interpolate(f64::asin, -0.9, 0.9, 15);
        let (full, half) = (Plan::new(&dense(50)), Plan::new(&even));
        assert!(half.relinearisations() < full.relinearisations());
        assert!(half.powers().iter().all(|p| p.index() % 2 == 0));
        assert!(Plan::new(&odd).products() <= Plan::new(&dense(15)).products());
        for i in -10..=10 {
            let u = 0.1 * i as f64;
            assert!((half.eval(u) - even.eval(u)).abs() < 1e-12);
        }
    }

    #[test]
    fn sensitivity_is_the_derivative_and_counts_steps() {
        let p = dense(45);
        let plan = Plan::new(&p);
        for i in -9..=9 {
            let (u, h) = (0.1 * i as f64, 1e-6);
            let slope = (p.eval(u + h) - p.eval(u - h)) / (2.0 * h);
            assert!((plan.sensitivity(u).input - slope).abs() < 1e-5 * (1.0 + slope.abs()));
        }
        // 3 T_2 + T_1 = 3 (2 T_1^2 - 1) + T_1: the error of T_2 counts thrice, that of the sum once.
        let plan = Plan::new(&Chebyshev::new(-1.0, 1.0, vec![0.0, 1.0, 3.0]));
        let found = plan.sensitivity(0.25);
        assert_eq!(found, Sensitivity { input: 12.0 * 0.25 + 1.0, steps: f64::sqrt(10.0) });
        let twice = found.then(found);
        assert_eq!(twice.input, 16.0);
        assert!((twice.steps - f64::sqrt(16.0 * 10.0 + 10.0)).abs() < 1e-12);
    }

    #[test]
    fn monomials_at_optimal_depth() {
        for degree in 0..=70 {
            let c = dense(degree).coefficients().to_vec();
            let plan = Plan::monomial(&c);
            let chebyshev = Plan::new(&dense(degree));
            assert_eq!((plan.basis(), plan.depth()), (Basis::Monomial, chebyshev.depth()));
            assert!(plan.products() <= chebyshev.products(), "degree {degree}");
            check_depths(plan.root());
            for x in [-1.3f64, -0.4, 0.0, 0.9] {
                let value = |x: f64| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
                let size = c.iter().rev().fold(0.0, |sum, c| sum * x.abs() + c.abs());
                assert!((plan.eval(x) - value(x)).abs() < 1e-13 * size, "degree {degree} at {x}");
                let mut whole = 0.0;
                plan.root().magnitude(x.abs(), &mut |_, most| whole = most);
                assert!((whole - size).abs() <= 1e-12 * size, "{whole} {size}");
                let slope = (value(x + 1e-6) - value(x - 1e-6)) / 2e-6;
                let found = plan.sensitivity(x).input;
                assert!((found - slope).abs() < 1e-6 * (1.0 + size) * (1 + degree).pow(3) as f64);
            }
        }
    }

    proptest! {
        #[test]
        fn any_polynomial_with_holes(c in prop::collection::vec(
            prop_oneof![Just(0.0), -1.0f64..1.0], 1..80), u in -1.0f64..1.0)
        {
            let p = Chebyshev::new(-1.0, 1.0, c);
            let plan = Plan::new(&p);
            check_depths(plan.root());
            check_powers(&plan);
            prop_assert!((plan.eval(u) - p.eval(u)).abs() < 1e-10);
        }
    }
}
