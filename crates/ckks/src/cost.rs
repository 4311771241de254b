//! Work of operations, as counts of transforms and multiplications, and its predicted time.
//!
//! A [`Simulator`](crate::simulator::Simulator) counts the work of a program
//! ([`Report::work`](crate::simulator::Report::work)); [`Work::seconds_at`] converts it to time.
//!
//! # Counts
//! Let a vector have `L` limbs, and let there be `k` special primes and `d` digits. NTTs of one
//! limb:
//!
//! | operation | NTTs |
//! | --- | --- |
//! | key switch: masks to coefficients | `L` |
//! | key switch: every digit to the primes that it lacks | `d (L + k) - L` |
//! | key switch: mod-down of both sums | `2 k` inverse, `2 L` forward |
//! | rescaling by `w` primes | `2 w` inverse, `2 (L - w)` forward |
//!
//! Multiplications of one limb by another:
//!
//! | operation | multiplications |
//! | --- | --- |
//! | key switch: products with the key | `2 d (L + k)` |
//! | key switch: basis extensions | about `L (L + k)` and `2 k L` |
//! | tensor product | `4 L` |
//!
//! Two more counts do not enter the time: the residue polynomials that basis conversions write
//! (`d (L + k) - L` for the digits of a key switch, `2 L` for its mod-down), and the bytes of the
//! keys that are read, once for every key switch. [`StageWork`] has them for each stage of a
//! bootstrap.
//!
//! # Time
//! An NTT costs `N log2 N` steps and a multiplication `N`, each at a constant price on one thread
//! of a server CPU with AVX-512 IFMA (Sapphire Rapids generation). The price of a step comes from
//! `cargo run --release -p bellerophon-benches -- figures --only ring`, that of a multiplication
//! from the rest of the product and the rotation of `figures --only ckks`. Estimates are good to a
//! factor of 1.5 on that CPU, and to the ratio of the CPUs elsewhere. Counts are for rank 1.

mod switch;
mod work;

use crate::bootstrap::{BootstrapStage, Bootstrapper, Raising};
use crate::eval_mod::Mod1;
use crate::fbt::{FunctionalBootstrapper, PeriodicFunction};
use crate::lintrans::{Hoisting, LinearTransform};
use crate::polynomial::{Basis, Node, Plan, Power, power_depth};
use crate::{ModulusChain, Params};
use switch::{Steps, Switch};
pub use work::{Prices, Work};

/// Largest size in bits of primes on the fastest kernels.
pub(crate) const FAST_BITS: u32 = 50;

/// Bytes that one thread reads from memory in a second: an assumption, for comparison with the
/// times of transforms and products only. No prediction of time counts it.
const READ: f64 = 42e9;

/// Cost of a step modulo a larger prime, relative to a prime below `2^50`.
const WIDE: f64 = 1.7;

impl Work {
    /// Work of a product with relinearization and rescaling at the top level of a chain, by nominal
    /// prime sizes.
    pub(crate) fn of_product(chain: &ModulusChain) -> Self {
        // Step 1: the size of every limb.
        let (mut limbs, mut bits) = (vec![f64::from(chain.first_bits)], 0.0);
        let mut last = 1;
        for levels in &chain.levels {
            last = levels.primes;
            let each = f64::from(levels.bits) / levels.primes as f64;
            limbs.extend(std::iter::repeat_n(each, levels.primes * levels.count));
        }
        let special = f64::from(chain.special.0) * chain.special.1 as f64;
        // Step 2: the digits: greedy runs of primes whose product stays below that of the special
        // primes.
        let mut digits = 1.0;
        for limb in &limbs {
            if bits + limb > special {
                (digits, bits) = (digits + 1.0, 0.0);
            }
            bits += limb;
        }
        // Step 3: a key switch, a tensor product before it and a rescaling after it.
        let k = chain.special.1;
        let wide = limbs.iter().filter(|&&b| b > f64::from(FAST_BITS)).count()
            + if chain.special.0 > FAST_BITS { k } else { 0 };
        let switch = Self::of_switch(chain.degree, limbs.len(), k, digits, wide);
        switch.with_product(limbs.len(), last)
    }

    /// Work of one key switch, such as a rotation.
    pub(crate) fn of_switch(
        degree: usize,
        limbs: usize,
        special: usize,
        digits: f64,
        wide: usize,
    ) -> Self {
        // The table of the module page, with wide primes weighted by their number.
        let (l, k) = (limbs as f64, special as f64);
        Self {
            degree,
            transforms: digits * (l + k) + 2.0 * k + 2.0 * l,
            multiplications: 2.0 * digits * (l + k) + l * (l + k) + 2.0 * k * l,
            width: 1.0 + (WIDE - 1.0) * wide as f64 / (l + k),
        }
    }

    /// Adds a tensor product before the key switch and a rescaling by `primes` primes after it.
    pub(crate) fn with_product(self, limbs: usize, primes: usize) -> Self {
        let limbs = limbs as f64;
        Self {
            transforms: self.transforms + 2.0 * limbs.max(primes as f64),
            multiplications: self.multiplications + 4.0 * limbs + 2.0 * limbs * primes as f64,
            ..self
        }
    }

    /// Work of a bootstrap: S2C, encapsulation, mod raise, C2S, and EvalMod of one part (real
    /// slots) or two (complex slots).
    pub(crate) fn of_bootstrap(bootstrapper: &Bootstrapper, parts: usize) -> Self {
        let mut sum = Self::default();
        StageWork::of_bootstrap(bootstrapper, parts).into_iter().for_each(|s| sum += s.work);
        sum
    }

    /// Work of several functions of one vector by functional bootstrapping, with values in both
    /// parts of the slots (`both`) or only in the real parts.
    pub fn of_functional(
        bootstrapper: &FunctionalBootstrapper,
        functions: &[&PeriodicFunction],
        both: bool,
    ) -> Self {
        let mut count = Count::new(bootstrapper.params());
        // Step 1: from S2C to C2S.
        count.raising(bootstrapper.raising());
        let (top, exponential) =
            (bootstrapper.raising().output_level(), bootstrapper.exponential());
        let level = bootstrapper.series_level();
        for _ in 0..if both { 2 } else { 1 } {
            // Step 2: the exponential, for each part: a polynomial, squarings, normalisation.
            count.plan(exponential.plan(), top);
            let mut here = top - exponential.plan().depth();
            for _ in 0..exponential.squarings() {
                count.product(here, 1.0);
                here -= 1;
            }
            if exponential.is_normalised() {
                count.switch(here);
                (0..2).for_each(|_| count.product(here, 1.0));
                count.product(here - 1, 1.0);
            }
            // Step 3: powers of the exponential, each once, and the power series of every function.
            let mut powers: Vec<&Power> =
                functions.iter().flat_map(|f| f.plan().powers()).collect();
            powers.sort_by_key(|power| power.index());
            powers.dedup_by_key(|power| power.index());
            count.powers(powers, Basis::Monomial, level);
            functions.iter().for_each(|f| count.node(f.plan().root(), level));
        }
        // Step 4: the real parts, one conjugation for each function.
        functions.iter().for_each(|f| count.switch(level - f.levels()));
        count.work()
    }

    /// Work of linear transforms in sequence.
    pub(crate) fn of_transforms<'m>(
        params: &Params,
        transforms: impl IntoIterator<Item = &'m LinearTransform>,
    ) -> Self {
        let mut count = Count::new(params);
        transforms.into_iter().for_each(|transform| count.transform(transform, 1.0));
        count.work()
    }

    /// Work of a linear transform at a level with double hoisting: every `babies`-th diagonal is at
    /// a giant step, and all diagonals have a period of `period` slots and are encoded on the fly.
    pub fn of_matrix(
        params: &Params,
        level: usize,
        diagonals: usize,
        babies: usize,
        period: usize,
    ) -> Self {
        let mut count = Count::new(params);
        // Baby step 0 and giant step 0 take no rotation.
        let (babies, giants) = (babies.min(diagonals), diagonals.div_ceil(babies));
        let steps = (babies.saturating_sub(1), giants.saturating_sub(1), diagonals);
        let at = count.at(level);
        count.add(at.of_matrix(steps, Hoisting::Double));
        count.encodings(at.limbs + at.special, diagonals as f64, period);
        count.rescaling(level);
        count.work()
    }

    /// Work of an EvalMod of a vector at a level.
    pub fn of_mod1(params: &Params, mod1: &Mod1, level: usize) -> Self {
        let mut count = Count::new(params);
        count.mod1(mod1, level);
        count.work()
    }

    /// Work of `times` key switches at a level.
    pub fn of_switches(params: &Params, level: usize, times: usize) -> Self {
        let mut count = Count::new(params);
        (0..times).for_each(|_| count.switch(level));
        count.work()
    }
}

/// The counted work of one stage of a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageWork {
    /// The stage.
    pub stage: BootstrapStage,
    /// Transforms and multiplications.
    pub work: Work,
    /// Residue polynomials that basis conversions write.
    pub conversions: f64,
    /// Bytes of the keys in memory that are read, once for every key switch.
    pub key_bytes: f64,
}

impl StageWork {
    /// Seconds on one thread at [`Prices::SERVER`] of the transforms, of the multiplications with
    /// their loads and stores, and of one reading of the keys from memory.
    pub fn parts(&self) -> [(&'static str, f64); 3] {
        let Prices { step, multiplication } = Prices::SERVER;
        let transforms = self.work.seconds_at(&Prices { step, multiplication: 0.0 });
        let products = self.work.seconds_at(&Prices { step: 0.0, multiplication });
        [("transforms", transforms), ("products", products), ("keys", self.key_bytes / READ)]
    }

    /// The stages of a bootstrap of real numbers (one part of the slots) or complex numbers (two).
    pub fn of_bootstrap(bootstrapper: &Bootstrapper, parts: usize) -> Vec<Self> {
        let (raising, mod1) = (bootstrapper.raising(), bootstrapper.reduction());
        let stage = |stage, counted: &dyn Fn(&mut Count<'_>)| {
            let mut count = Count::new(bootstrapper.params());
            counted(&mut count);
            let Steps { conversions, key_bytes, .. } = count.steps;
            Self { stage, conversions, key_bytes, work: count.work() }
        };
        let eval_mod = |count: &mut Count<'_>| {
            (0..parts).for_each(|_| count.mod1(mod1, bootstrapper.reduction_level()));
        };
        vec![
            stage(BootstrapStage::SlotsToCoefficients, &|count| count.slots_to_coeffs(raising)),
            stage(BootstrapStage::Raise, &|count| count.raise(raising)),
            stage(BootstrapStage::CoefficientsToSlots, &|count| count.coeffs_to_slots(raising)),
            stage(BootstrapStage::EvalMod, &eval_mod),
        ]
    }
}

/// Counts the work of operations on vectors of one parameter set.
pub(crate) struct Count<'p> {
    params: &'p Params,
    steps: Steps,
}

impl<'p> Count<'p> {
    pub(crate) fn new(params: &'p Params) -> Self {
        Self { params, steps: Steps::default() }
    }

    /// The counted work.
    pub(crate) fn work(self) -> Work {
        let lattice = self.params.lattice();
        let moduli = || lattice.q().moduli().chain(lattice.p().moduli());
        let wide = moduli().filter(|q| q.bits() > FAST_BITS).count();
        Work {
            degree: self.params.lattice().spec().degree,
            transforms: self.steps.transforms,
            multiplications: self.steps.multiplications,
            width: 1.0 + (WIDE - 1.0) * wide as f64 / moduli().count() as f64,
        }
    }

    fn add(&mut self, steps: Steps) {
        self.steps += steps;
    }

    fn at(&self, level: usize) -> Switch {
        Switch::at(self.params, self.params.limbs_at(level))
    }

    /// A key switch at a level.
    pub(crate) fn switch(&mut self, level: usize) {
        self.add(self.at(level).whole());
    }

    /// A rescaling of both polynomials at a level.
    pub(crate) fn rescaling(&mut self, level: usize) {
        let limbs = self.params.limbs_at(level);
        let primes = limbs - self.params.limbs_at(level.saturating_sub(1));
        let (limbs, primes) = (limbs as f64, primes as f64);
        self.add(Steps {
            conversions: 2.0 * (limbs - primes),
            ..Steps::new(2.0 * limbs.max(primes), 2.0 * limbs * primes)
        });
    }

    /// A sum of products at a level with one relinearization and no rescaling.
    pub(crate) fn relinearized(&mut self, level: usize, products: f64) {
        self.switch(level);
        self.add(Steps::new(0.0, 4.0 * products * self.params.limbs_at(level) as f64));
    }

    /// As [`relinearized`](Self::relinearized), then rescaled: mod-down and rescale are fused.
    pub(crate) fn product(&mut self, level: usize, products: f64) {
        self.relinearized(level, products);
        self.rescaling(level);
    }

    /// Products of vectors with constants or plaintexts at a level.
    pub(crate) fn terms(&mut self, level: usize, count: f64) {
        self.add(Steps::new(0.0, 2.0 * count * self.params.limbs_at(level) as f64));
    }

    /// A linear transform. `part` is the fraction of the diagonals without a period that is encoded
    /// on the fly.
    pub(crate) fn transform(&mut self, m: &LinearTransform, part: f64) {
        // Step 1: baby steps, giant steps and products with the diagonals. The matrix may have
        // special primes of its own.
        let at = Switch::at(m.params(), m.params().limbs_at(m.level()));
        self.add(at.of_matrix(m.counts(), m.hoisting()));
        // The far step is a rotation, and its result has a decomposition of its own.
        if m.far().is_some() {
            self.add(at.whole());
            self.add(at.decomposition());
        }
        let limbs = match m.hoisting() {
            Hoisting::Double => at.limbs + at.special,
            Hoisting::Single => at.limbs,
        };
        // Step 2: the encodings; a diagonal with a period is always encoded on the fly.
        for period in m.encoded_anew() {
            let part = if period == self.params.max_slots() { part } else { 1.0 };
            self.encodings(limbs, part, period);
        }
        self.rescaling(m.level());
    }

    /// Encodings of plain vectors with a period: an NTT of the length of the period, and its
    /// replication.
    fn encodings(&mut self, limbs: f64, count: f64, period: usize) {
        let share = period as f64 / self.params.max_slots() as f64;
        self.add(Steps::new(count * limbs * share, count * limbs));
    }

    /// From S2C to C2S.
    fn raising(&mut self, raising: &Raising) {
        self.slots_to_coeffs(raising);
        self.raise(raising);
        self.coeffs_to_slots(raising);
    }

    /// S2C. Servers keep the diagonals without a period encoded.
    fn slots_to_coeffs(&mut self, raising: &Raising) {
        raising.s2c().transforms().iter().for_each(|m| self.transform(m, 0.0));
    }

    /// C2S, and the conjugation that separates the parts of the slots.
    fn coeffs_to_slots(&mut self, raising: &Raising) {
        raising.c2s.transforms().iter().for_each(|m| self.transform(m, 0.0));
        self.switch(raising.output_level());
    }

    /// Encapsulation, mod raise with the first matrix of C2S, and trace.
    fn raise(&mut self, raising: &Raising) {
        let top = self.at(self.params.max_level());
        // Mod raise with the first matrix: a mask and a body are raised to all primes, multiplied
        // by the rows of the key, and divided by the few special primes of the rows.
        let first = raising.first().transform();
        let (all, l, rows) = (first.ring().limbs() as f64, top.limbs, first.terms() as f64);
        self.add(Steps {
            conversions: all + 2.0 * l,
            key_bytes: raising.raise_key_sizes().memory as f64,
            ..Steps::new(2.0 * all + 2.0 * all, 2.0 * rows * all + 2.0 * (all - l) * l)
        });
        // The trace to the subring of sparse slots.
        (0..raising.trace()).for_each(|_| self.add(top.whole()));
    }

    /// EvalMod: the cosine, its double-angle steps, and the arcsine.
    fn mod1(&mut self, mod1: &Mod1, level: usize) {
        self.plan(mod1.cosine(), level);
        let mut here = level - mod1.cosine().depth();
        for _ in 0..mod1.doublings() {
            self.product(here, 1.0);
            here -= 1;
        }
        if let Some(arcsine) = mod1.arcsine() {
            self.plan(arcsine, here);
        }
    }

    /// A polynomial of a vector at a level.
    pub(crate) fn plan(&mut self, plan: &Plan, level: usize) {
        self.powers(plan.powers(), plan.basis(), level);
        self.node(plan.root(), level);
    }

    /// Basis polynomials of a vector at a level.
    pub(crate) fn powers<'a>(
        &mut self,
        powers: impl IntoIterator<Item = &'a Power>,
        basis: Basis,
        level: usize,
    ) {
        for power in powers {
            // A power of depth d is computed at d - 1 levels below the vector.
            let here = level + 1 - power_depth(power.index());
            self.product(here, 1.0);
            if basis == Basis::Chebyshev {
                self.terms(here, 1.0);
            }
        }
    }

    /// The node of a Paterson-Stockmeyer plan over powers of a vector at a level, with its
    /// children.
    pub(crate) fn node(&mut self, node: &Node, level: usize) {
        if node.depth == 0 {
            return;
        }
        let here = level + 1 - node.depth;
        self.terms(here, node.terms.len() as f64);
        // All products of a node share one relinearization and one rescaling.
        match node.products.len() {
            0 => self.rescaling(here),
            products => self.product(here, products as f64),
        }
        node.products.iter().for_each(|(quotient, _)| self.node(quotient, level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approx::{Accuracy, Approximation, Function, Known};
    use crate::bootstrap::BootstrapSpec;
    use crate::fbt::FbtSpec;
    use crate::param_search::ProgramBounds;
    use crate::simulator::Simulator;
    use crate::{CkksOps, ComposedOps, Interval, ParamsSpec, Security};

    /// A product and a rotation on the simulator are counted as those of the choice of parameters.
    #[test]
    fn the_simulator_counts_what_is_predicted_of_a_set() {
        let security = Security::Bits128;
        let needs = ProgramBounds {
            security,
            slots: 1000,
            depth: 2,
            accuracy: Accuracy::bits(20.0),
            bootstraps: false,
        };
        let choice = needs.choose().unwrap();
        let (params, predicted) = (&choice.params, choice.predicted());
        let shadow = Simulator::new(params);
        let range = Interval::real(-1.0, 1.0).unwrap();
        let x = shadow.encrypt(&[0.5, 1.0], range, params.max_level()).unwrap();
        shadow.mul(&x, &x).unwrap();
        let product = shadow.report().work;
        assert_eq!(product.transforms, predicted.product.transforms);
        assert_eq!(product.multiplications, predicted.product.multiplications);
        shadow.rotate(&x, 1).unwrap();
        let both = shadow.report().work;
        assert_eq!(both.transforms - product.transforms, predicted.rotation.transforms);
        assert!(
            (both.seconds() - predicted.product.seconds() - predicted.rotation.seconds()).abs()
                < 1e-9
        );
        assert_eq!(Simulator::new(params).report().work.seconds(), 0.0);
    }

    /// A polynomial takes at least its relinearizations at the lowest level, at most at the
    /// highest.
    #[test]
    fn polynomials_are_counted_level_by_level() {
        let chain = crate::ModulusChain {
            degree: 1 << 10,
            first_bits: 55,
            levels: vec![crate::LevelGroup::single(45, 8)],
            special: (50, 2),
        };
        let params =
            Params::new(ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap()).unwrap();
        let f =
            Approximation::new(&Function::from(Known::Sigmoid), -8.0, 8.0, Accuracy::bits(16.0))
                .unwrap();
        let range = Interval::real(-8.0, 8.0).unwrap();
        let mut before = f64::INFINITY;
        for level in [8, 7, 6] {
            let shadow = Simulator::new(&params);
            let x = shadow.encrypt(&[0.5], range, level).unwrap();
            let y = shadow.apply(&x, &f).unwrap();
            let seconds = shadow.report().work.seconds();
            let at = |level| {
                let mut count = Count::new(&params);
                (0..f.relinearizations()).for_each(|_| count.product(level, 1.0));
                count.work().seconds()
            };
            let (least, most) = (at(y.metadata().level + 1), at(level));
            assert!(seconds > least && seconds < 1.3 * most, "{least} {seconds} {most}");
            assert!(seconds < before);
            before = seconds;
        }
    }

    /// A second function of the same vector costs its sums, and the second part of the slots no
    /// raise.
    #[test]
    fn functional_bootstraps_share_what_they_share() {
        let spec = FbtSpec::reals(1 << 9, 63);
        let chain = spec.chain(1 << 10, 45, 2, (50, 6));
        let set = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
        let params = Params::new(set).unwrap();
        let bootstrapper = FunctionalBootstrapper::new(&params, spec).unwrap();
        let f = bootstrapper
            .real_function(&Function::from(Known::Sigmoid), -8.0, 8.0, Accuracy::bits(20.0))
            .unwrap();
        let g = bootstrapper
            .real_function(&Function::from(Known::Gelu), -8.0, 8.0, Accuracy::bits(18.0))
            .unwrap();
        let seconds = |functions: &[&PeriodicFunction], both| {
            Work::of_functional(&bootstrapper, functions, both).seconds()
        };
        let one = seconds(&[&f], false);
        assert!(seconds(&[&f, &g], false) < 1.5 * one && seconds(&[&f, &g], false) > 1.05 * one);
        assert!(seconds(&[&f], true) < 2.0 * one && seconds(&[&f], true) > 1.2 * one);
    }

    /// The stages add up to a bootstrap, and read about as many bytes of keys as its key switches.
    #[test]
    fn stages_add_up_to_a_bootstrap() {
        let params = Params::new(ParamsSpec::bootstrapping().unwrap()).unwrap();
        let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(1 << 15) };
        let bootstrapper = Bootstrapper::new(&params, spec).unwrap();
        let [real, complex] = [1, 2].map(|parts| StageWork::of_bootstrap(&bootstrapper, parts));
        let sum =
            |stages: &[StageWork], of: fn(&StageWork) -> f64| stages.iter().map(of).sum::<f64>();
        let whole = Work::of_bootstrap(&bootstrapper, 2);
        assert_eq!(sum(&complex, |s| s.work.transforms), whole.transforms);
        assert_eq!(complex[..3], real[..3]);
        assert_eq!(complex[3].key_bytes, 2.0 * real[3].key_bytes);
        // The rows of the first matrix count once, every other key switch at its level.
        let own = bootstrapper.raising().raise_key_sizes().memory as f64;
        let largest = Switch::at(&params, params.limbs()).key;
        let switches = bootstrapper.key_switches(false) as f64;
        let others = sum(&complex, |s| s.key_bytes) - own;
        assert!(others < switches * largest && others > 0.1 * switches * largest, "{others}");
        assert!(
            complex.iter().all(|s| s.conversions > 0.0 && s.conversions < 2.0 * s.work.transforms)
        );
    }
}
