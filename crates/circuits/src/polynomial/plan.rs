//! The plan of an evaluation: its products and sums, fixed before any ciphertext is used.
//!
//! The Chebyshev basis multiplies by
//!
//! ```text
//! T_{a+b} = 2 T_a T_b - T_{|a-b|},
//! ```
//!
//! so `T_i` takes `ceil(log2 i)` levels. A polynomial of degree between `m` and `2m - 1` splits as
//! `p = q T_m + r` (Paterson and Stockmeyer 1973; in this basis Chen, Chillotti and Song 2019): for
//! `k > m` the term `c_k T_k` adds `2 c_k T_{k-m}` to `q` and `-c_k T_{2m-k}` to `r`. In the
//! monomial basis the same holds with `x^{a+b} = x^a x^b` and plain division by `x^m`. Splitting
//! stops below a degree `2^l` ("baby" powers `T_1 .. T_{2^l - 1}`) if the remaining terms still
//! have a level for their constants. The leading quotients are therefore split down to linear ones,
//! and the whole takes `ceil(log2(d + 1))` levels. `l` is the cheapest.
//!
//! All products of one [`Node`] and all its terms are summed before one relinearization and one
//! rescale: another product in the same node costs no key switch.

use std::{collections::BTreeSet, fmt};

use bellerophon_ckks::Complex64;
use bellerophon_ckks::noise::{Noise, times};

use crate::chebyshev::Chebyshev;

/// Cost of a product inside a node, in units of a relinearization with rescale.
const PRODUCT_COST: f64 = 0.15;

/// Cost of a term `c T_i` of a node, in the same units.
const TERM_COST: f64 = 0.02;

/// The basis of a polynomial.
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
    /// The factors of `T_index`: the largest power of two below `index`, and the rest.
    fn of(index: usize) -> Self {
        debug_assert!(index >= 2);
        let a = if index.is_power_of_two() { index / 2 } else { 1 << index.ilog2() };
        Self { a, b: index - a }
    }

    pub(crate) fn index(&self) -> usize {
        self.a + self.b
    }

    /// The index `a - b` of the polynomial subtracted; 0 stands for the constant 1.
    pub(crate) fn difference(&self) -> usize {
        self.a - self.b
    }
}

/// Levels of `T_index`, `ceil(log2 index)`; `index >= 1`.
pub(crate) fn power_depth(index: usize) -> usize {
    index.next_power_of_two().trailing_zeros() as usize
}

/// A sum `constant + sum c_i T_i + sum q_j T_j`, rescaled once at the end.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// Levels from the input to the result.
    pub depth: usize,
    /// The constant.
    pub constant: Complex64,
    /// Indices `i >= 1` of basis polynomials and their constants.
    pub terms: Vec<(usize, Complex64)>,
    /// Quotients, each with the index of the basis polynomial that it is multiplied by.
    pub products: Vec<(Node, usize)>,
}

/// Prints depth and indices only: the constants may be secret.
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
    /// The node of at most `2^depth` coefficients, with baby powers below `baby`.
    fn build(basis: Basis, coefficients: &[Complex64], depth: usize, baby: usize) -> Self {
        const ZERO: Complex64 = Complex64::ZERO;
        let mut rest = coefficients.to_vec();
        let mut node = Self { depth, constant: ZERO, terms: vec![], products: vec![] };
        loop {
            // Step 1: stop if the rest has baby powers only and all its terms have a level for
            // their constants.
            while rest.last() == Some(&ZERO) {
                rest.pop();
            }
            let Some(degree) = rest.len().checked_sub(1).filter(|&d| d > 0) else { break };
            let in_time =
                |(i, c): (usize, &Complex64)| i == 0 || *c == ZERO || power_depth(i) < depth;
            if degree < baby && rest.iter().enumerate().all(in_time) {
                break;
            }
            // Step 2: divide by T_m, with the largest power of two m up to the degree.
            let m = 1 << degree.ilog2();
            let mut quotient = rest[m..].to_vec();
            if basis == Basis::Chebyshev {
                for k in m + 1..=degree {
                    quotient[k - m] *= 2.0;
                    let reflected = rest[k];
                    rest[2 * m - k] -= reflected;
                }
            }
            rest.truncate(m);
            // Step 3: a constant quotient is a term; any other is a node of its own.
            if quotient.iter().skip(1).all(|&c| c == ZERO) {
                node.terms.push((m, quotient[0]));
            } else {
                node.products.push((Self::build(basis, &quotient, depth - 1, baby), m));
            }
        }
        node.constant = rest.first().copied().unwrap_or(ZERO);
        node.terms.extend(rest.into_iter().enumerate().skip(1).filter(|&(_, c)| c != ZERO));
        node
    }

    /// The value for the values `powers` of the basis polynomials.
    fn eval(&self, powers: &[Complex64]) -> Complex64 {
        let terms: Complex64 = self.terms.iter().map(|&(i, c)| c * powers[i]).sum();
        let products: Complex64 =
            self.products.iter().map(|(q, m)| q.eval(powers) * powers[*m]).sum();
        self.constant + terms + products
    }

    /// Backpropagates the derivative of the whole by this node's value to its terms and quotients.
    /// `visit` sees the squared moduli of the derivatives by the nodes' values, this node's first.
    fn backward(
        &self,
        adjoint: Complex64,
        powers: &[Complex64],
        adjoints: &mut [Complex64],
        visit: &mut impl FnMut(f64),
    ) {
        // Reverse differentiation: the adjoint of a node is the derivative of the result by its
        // value, and thus the factor of a rounding error made there.
        visit(adjoint.norm_sqr());
        for &(i, c) in &self.terms {
            adjoints[i] += adjoint * c;
        }
        for (q, m) in &self.products {
            adjoints[*m] += adjoint * q.eval(powers);
            q.backward(adjoint * powers[*m], powers, adjoints, visit);
        }
    }

    /// A bound on the value in the monomial basis for arguments of magnitude at most `bound`, from
    /// the magnitudes of all terms. `visit` sees the bound of every node.
    pub(crate) fn magnitude(&self, bound: f64, visit: &mut impl FnMut(&Self, f64)) -> f64 {
        let power = |i: usize| bound.powi(i as i32);
        let terms: f64 = self.terms.iter().map(|&(i, c)| c.norm() * power(i)).sum();
        let products: f64 =
            self.products.iter().map(|(q, m)| q.magnitude(bound, visit) * power(*m)).sum();
        let whole = self.constant.norm() + terms + products;
        visit(self, whole);
        whole
    }

    /// Counts nodes with products, products and terms, and collects the indices.
    fn tally(&self, counts: &mut [usize; 3], used: &mut BTreeSet<usize>) {
        // All products of a node share one relinearization.
        counts[0] += usize::from(!self.products.is_empty());
        counts[1] += self.products.len();
        counts[2] += self.terms.len();
        used.extend(self.terms.iter().map(|&(i, _)| i));
        for (q, m) in &self.products {
            used.insert(*m);
            q.tally(counts, used);
        }
    }
}

/// The evaluation of a polynomial in the Chebyshev basis on `[-1, 1]` or in the monomial basis.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) basis: Basis,
    /// The basis polynomials to compute, each from earlier ones and `T_1`, the input.
    pub(crate) powers: Vec<Power>,
    /// The root of the tree of sums over the powers.
    pub(crate) root: Node,
    /// Products of two ciphertexts.
    pub(crate) products: usize,
    /// Relinearizations: products of one node share one.
    pub(crate) relinearizations: usize,
}

impl Plan {
    /// The plan of least cost at the least depth, for an argument in `[-1, 1]`.
    pub(crate) fn new(polynomial: &Chebyshev) -> Self {
        let coefficients: Vec<Complex64> =
            polynomial.coefficients.iter().map(|&c| c.into()).collect();
        Self::chebyshev(&coefficients)
    }

    /// As [`new`](Self::new) for `sum_i coefficients[i] T_i(u)` with complex coefficients.
    pub(crate) fn chebyshev(coefficients: &[Complex64]) -> Self {
        Self::best(Basis::Chebyshev, coefficients)
    }

    /// As [`new`](Self::new) for `sum_i coefficients[i] x^i`.
    pub(crate) fn monomial(coefficients: &[Complex64]) -> Self {
        let last = coefficients.iter().rposition(|&c| c != Complex64::ZERO).unwrap_or(0);
        Self::best(Basis::Monomial, &coefficients[..coefficients.len().min(last + 1)])
    }

    /// The cheapest plan over all numbers of baby powers.
    fn best(basis: Basis, coefficients: &[Complex64]) -> Self {
        // The depth is optimal for every number of baby steps; only the work differs. With 2^l of
        // them there are about 2^(depth - l) giant steps.
        let depth = power_depth(coefficients.len().max(1));
        (0..=depth)
            .map(|l| Self::with_baby(basis, coefficients, depth, 1 << l))
            .min_by(|x, y| x.cost().total_cmp(&y.cost()))
            .expect("at least one candidate")
    }

    /// The plan with the baby powers below `baby`.
    fn with_baby(basis: Basis, coefficients: &[Complex64], depth: usize, baby: usize) -> Self {
        let root = Node::build(basis, coefficients, depth, baby);
        let mut counts = [0; 3];
        let mut needed = BTreeSet::new();
        root.tally(&mut counts, &mut needed);
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
        let relinearizations = powers.len() + counts[0];
        Self { basis, products: powers.len() + counts[1], relinearizations, powers, root }
    }

    /// Estimated work, in units of a relinearization with rescale.
    pub(crate) fn cost(&self) -> f64 {
        let mut counts = [0; 3];
        self.root.tally(&mut counts, &mut BTreeSet::new());
        self.relinearizations as f64
            + PRODUCT_COST * counts[1] as f64
            + TERM_COST * counts[2] as f64
    }

    /// Levels of the evaluation, `ceil(log2(degree + 1))`.
    pub(crate) fn depth(&self) -> usize {
        self.root.depth
    }

    /// The value at a number, of `[-1, 1]` for the Chebyshev basis.
    pub(crate) fn eval(&self, u: impl Into<Complex64>) -> Complex64 {
        self.root.eval(&self.power_values(u.into()))
    }

    /// The sensitivity at a real `u` to errors of the steps, for real coefficients.
    pub(crate) fn sensitivity(&self, u: f64) -> Sensitivity {
        let (input, steps) = self.derivatives(u);
        Sensitivity { input: input.re, steps }
    }

    /// The derivative of the result by the input at `u`, and the root of the sum of the squared
    /// moduli of its derivatives by each intermediate result and the result.
    pub(crate) fn derivatives(&self, u: impl Into<Complex64>) -> (Complex64, f64) {
        let mut squares = 0.0;
        let input = self.backward(u.into(), |_, square| squares += square);
        (input, squares.sqrt())
    }

    /// The derivative of the result by the input at `u`, by backpropagation. `visit` sees the
    /// squared moduli of the derivatives by the intermediate results: of the nodes, a node before
    /// its quotients, then of the powers, the last one first.
    pub(crate) fn backward(
        &self,
        u: Complex64,
        mut visit: impl FnMut(Intermediate, f64),
    ) -> Complex64 {
        // Forward: the values of the powers.
        let powers = self.power_values(u);
        // Backward: through the nodes, then through the recurrence of the powers.
        let mut adjoints = vec![Complex64::ZERO; powers.len()];
        let node = &mut |square| visit(Intermediate::Node, square);
        self.root.backward(Complex64::ONE, &powers, &mut adjoints, node);
        for p in self.powers.iter().rev() {
            // T_{a+b} = 2 T_a T_b - T_{|a-b|}: the product rule, and the subtracted term. The order
            // is reversed, so the adjoint of this power is complete.
            let adjoint = adjoints[p.index()];
            visit(Intermediate::Power(p.index()), adjoint.norm_sqr());
            let (factor, subtracted) = match self.basis {
                Basis::Chebyshev => (2.0, adjoint),
                Basis::Monomial => (1.0, Complex64::ZERO),
            };
            adjoints[p.a] += adjoint * powers[p.b] * factor;
            adjoints[p.b] += adjoint * powers[p.a] * factor;
            adjoints[p.difference()] -= subtracted;
        }
        adjoints[1]
    }

    /// The values of the basis polynomials at `u`, by index.
    fn power_values(&self, u: Complex64) -> Vec<Complex64> {
        let last = self.powers.last().map_or(1, Power::index);
        let mut powers = vec![Complex64::new(f64::NAN, f64::NAN); last + 1];
        (powers[0], powers[1]) = (Complex64::ONE, u);
        for p in &self.powers {
            let product = powers[p.a] * powers[p.b];
            powers[p.index()] = match self.basis {
                Basis::Chebyshev => product * 2.0 - powers[p.difference()],
                Basis::Monomial => product,
            };
        }
        powers
    }
}

/// An intermediate result of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intermediate {
    Node,
    /// The basis polynomial of an index.
    Power(usize),
}

/// The sensitivity of a result to errors of its evaluation: an input error `e` becomes `input e`,
/// and independent errors of standard deviation `s` in every rescaled intermediate result become an
/// error of standard deviation `steps s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// The derivative of the result by the input.
    pub input: f64,
    /// Root of the sum of the squared derivatives by each intermediate result and the result.
    pub steps: f64,
}

impl Sensitivity {
    /// The sensitivity of the identity.
    pub const IDENTITY: Self = Self { input: 1.0, steps: 0.0 };

    /// The sensitivity of the evaluation `next` after this one.
    #[must_use]
    pub(crate) fn then(self, next: Self) -> Self {
        Self { input: self.input * next.input, steps: (self.steps * next.input).hypot(next.steps) }
    }

    /// The variance of the error of the result.
    pub(crate) fn variance(&self, input_variance: f64, step_variance: f64) -> f64 {
        times(self.input.powi(2), input_variance) + self.steps * self.steps * step_variance
    }

    /// The root mean square.
    pub(crate) fn mean(all: impl ExactSizeIterator<Item = Self>) -> Self {
        let count = all.len() as f64;
        let (mut input, mut steps) = (0.0, 0.0);
        for s in all {
            input += s.input * s.input / count;
            steps += s.steps * s.steps / count;
        }
        Self { input: input.sqrt(), steps: steps.sqrt() }
    }

    /// The larger derivatives.
    pub(crate) fn max(self, other: Self) -> Self {
        let (input, steps) = (self.input.abs().max(other.input.abs()), self.steps.max(other.steps));
        Self { input, steps }
    }
}

/// The response of the result of an evaluation to the noise of its operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Response {
    /// Of the error, averaged over the values.
    pub total: Sensitivity,
    /// Of the error where it is largest.
    pub peak: Sensitivity,
    /// A bound on the latter.
    pub bound: Sensitivity,
    /// Of the excess over the range. Values leave the range at its ends, and the result leaves its
    /// range at their images; a rounding may leave it anywhere.
    pub excess: Sensitivity,
}

impl Response {
    /// The noise of the result; `step_variance` is the variance of every rescale.
    pub(crate) fn noise(&self, input: Noise, step_variance: f64) -> Noise {
        Noise {
            total: self.total.variance(input.total, step_variance),
            peak: self.peak.variance(input.peak, step_variance),
            bound: self.bound.variance(input.bound, step_variance),
            excess: self.excess.variance(input.excess, step_variance),
            plain: self.total.variance(input.plain, 0.0),
            constant: self.total.variance(input.constant, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        for p in &plan.powers {
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
            check_depths(&plan.root);
            check_powers(&plan);
            for i in -10..=10 {
                let u = 0.1 * i as f64;
                assert!((plan.eval(u) - p.eval(u)).norm() < 1e-11, "degree {degree} at {u}");
            }
        }
    }

    #[test]
    fn products_are_few() {
        // About 2 sqrt(d): the table of a degree, products and relinearizations allowed.
        for (degree, products, relinearizations) in
            [(1, 0, 0), (2, 1, 1), (3, 2, 2), (7, 5, 4), (15, 8, 7), (31, 13, 10), (63, 18, 15)]
        {
            let plan = Plan::new(&dense(degree));
            let found = (plan.products, plan.relinearizations);
            assert!(
                found.0 <= products && found.1 <= relinearizations,
                "degree {degree}: {found:?} products and relinearizations"
            );
        }
    }

    #[test]
    fn parity_saves_products() {
        let even = Chebyshev::cosine(29.5, 50).0;
        let odd = Chebyshev::interpolate(f64::asin, -0.9, 0.9, 15);
        let (full, half) = (Plan::new(&dense(50)), Plan::new(&even));
        assert!(half.relinearizations < full.relinearizations);
        assert!(half.powers.iter().all(|p| p.index() % 2 == 0));
        assert!(Plan::new(&odd).products <= Plan::new(&dense(15)).products);
        for i in -10..=10 {
            let u = 0.1 * i as f64;
            assert!((half.eval(u) - even.eval(u)).norm() < 1e-12);
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
        // 3 T_2 + T_1 = 3 (2 T_1^2 - 1) + T_1: the error of T_2 counts thrice, that of the sum
        // once.
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
            let c = dense(degree).coefficients.to_vec();
            let complex: Vec<Complex64> = c.iter().map(|&c| c.into()).collect();
            let plan = Plan::monomial(&complex);
            let chebyshev = Plan::new(&dense(degree));
            assert_eq!((plan.basis, plan.depth()), (Basis::Monomial, chebyshev.depth()));
            assert!(plan.products <= chebyshev.products, "degree {degree}");
            check_depths(&plan.root);
            for x in [-1.3f64, -0.4, 0.0, 0.9] {
                let value = |x: f64| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
                let size = c.iter().rev().fold(0.0, |sum, c| sum * x.abs() + c.abs());
                assert!((plan.eval(x) - value(x)).norm() < 1e-13 * size, "degree {degree} at {x}");
                let mut whole = 0.0;
                plan.root.magnitude(x.abs(), &mut |_, most| whole = most);
                assert!((whole - size).abs() <= 1e-12 * size, "{whole} {size}");
                let slope = (value(x + 1e-6) - value(x - 1e-6)) / 2e-6;
                let found = plan.sensitivity(x).input;
                assert!((found - slope).abs() < 1e-6 * (1.0 + size) * (1 + degree).pow(3) as f64);
            }
        }
    }

    #[test]
    fn complex_coefficients_take_one_plan() {
        let c: Vec<Complex64> =
            (0..256).map(|k| Complex64::cis(0.7 * (k * k) as f64) / (1 + k) as f64).collect();
        let plan = Plan::monomial(&c);
        // The relinearizations of a real polynomial of the degree.
        assert_eq!((plan.depth(), plan.relinearizations), (8, 29));
        let chebyshev = Plan::chebyshev(&c[..32]);
        for x in [Complex64::cis(0.3), Complex64::new(-0.2, 0.4)] {
            let value = |x: Complex64| c.iter().rev().fold(Complex64::ZERO, |sum, c| sum * x + c);
            assert!((plan.eval(x) - value(x)).norm() < 1e-12);
            let h = 1e-6;
            let slope = (value(x + h) - value(x - h)) / (2.0 * h);
            assert!((plan.derivatives(x).0 - slope).norm() < 1e-6 * (1.0 + slope.norm()));
            let theta = x.re.acos();
            let sum: Complex64 = (0..32).map(|k| c[k] * (theta * k as f64).cos()).sum();
            assert!((chebyshev.eval(x.re) - sum).norm() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn any_polynomial_with_holes(c in prop::collection::vec(
            prop_oneof![Just(0.0), -1.0f64..1.0], 1..80), u in -1.0f64..1.0)
        {
            let p = Chebyshev::new(-1.0, 1.0, c);
            let plan = Plan::new(&p);
            check_depths(&plan.root);
            check_powers(&plan);
            prop_assert!((plan.eval(u) - p.eval(u)).norm() < 1e-10);
        }
    }
}
