//! Exact sums, multiples and tables of encrypted integers modulo `p`.

use super::evaluate::shifted;
use super::int_vec::{check_modulus, check_reduced, log2_failure};
use super::{IntVec, PairedVec, PeriodicFunction, Table};
use crate::error;
#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{CkksOps, Interval, Result, vectors::Vectors};

/// A table from the integers modulo `p` to those modulo `q`, or to reals, prepared once for many
/// vectors.
#[derive(Clone, Debug)]
pub struct IntTable {
    function: PeriodicFunction,
    /// The modulus of the results, if they are integers.
    to: Option<usize>,
}

impl IntTable {
    /// `f(k)` modulo `to` for `k` in `0 .. from`, at order 1: an input error of `e` times the
    /// distance of two integers becomes an output error proportional to `e^2`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for moduli that are not in `2..=65536`, or a value of `f` that is not
    /// below `to`.
    pub fn new(from: usize, to: usize, f: impl Fn(usize) -> usize) -> Result<Self> {
        Self::of_order(from, to, 1, f)
    }

    /// As [`new`](Self::new) with an output error proportional to `e^(order + 1)`.
    pub(crate) fn of_order(
        from: usize,
        to: usize,
        order: usize,
        f: impl Fn(usize) -> usize,
    ) -> Result<Self> {
        check_modulus(from)?;
        check_modulus(to)?;
        let entries: Vec<usize> = (0..from).map(f).collect();
        if let Some(index) = entries.iter().position(|&y| y >= to) {
            let reason = format!(
                "the entry at position {index} of {from} is not below {to}: reduce entries modulo \
                 {to}"
            );
            return Err(error::shape(reason));
        }
        let entries: Vec<f64> = entries.into_iter().map(|y| y as f64).collect();
        Ok(Self { function: PeriodicFunction::table(Table::new(&entries, order)?), to: Some(to) })
    }

    /// Real entries `f(k)` for `k` in `0 .. from`.
    pub fn real(from: usize, f: impl Fn(usize) -> f64) -> Result<Self> {
        check_modulus(from)?;
        let entries: Vec<f64> = (0..from).map(f).collect();
        Ok(Self { function: PeriodicFunction::table(Table::new(&entries, 1)?), to: None })
    }

    /// The function that is evaluated.
    pub fn function(&self) -> &PeriodicFunction {
        &self.function
    }
}

/// The vectors of integers of an evaluator or a simulator.
pub type IntVecOf<A> = IntVec<<A as Vectors>::Ciphertext>;

/// Arithmetic and tables on [`IntVec`]s, from
/// [`CircuitOps::integers`](crate::CircuitOps::integers): on ciphertexts, or on the simulator.
#[derive(Debug)]
pub struct Integers<'a, A>(pub(crate) &'a A);

impl<A: CkksOps> Integers<'_, A> {
    /// `x + y`. Takes no level.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for different moduli, [`ErrorKind::Length`], and those of
    /// [`CkksOps::add`]: [`ErrorKind::Range`] once the integers before their reduction
    /// might wrap around the modulus of the ciphertext, which an identity table prevents.
    pub fn add(&self, x: &IntVecOf<A>, y: &IntVecOf<A>) -> Result<IntVecOf<A>> {
        self.0.composed("add", || {
            self.check_pair(x, y)?;
            let sum = self.0.add(x.values.inner(), y.values.inner())?;
            let of_reals = x.of_reals || y.of_reals;
            let range = x.values.range().add(y.values.range());
            Ok(IntVec { of_reals, ..x.with(sum, range) })
        })
    }

    /// `x - y`. Takes no level.
    pub fn sub(&self, x: &IntVecOf<A>, y: &IntVecOf<A>) -> Result<IntVecOf<A>> {
        self.0.composed("sub", || {
            self.check_pair(x, y)?;
            let difference = self.0.sub(x.values.inner(), y.values.inner())?;
            let of_reals = x.of_reals || y.of_reals;
            let range = x.values.range().sub(y.values.range());
            Ok(IntVec { of_reals, ..x.with(difference, range) })
        })
    }

    /// `-x`. Takes no level.
    pub fn neg(&self, x: &IntVecOf<A>) -> Result<IntVecOf<A>> {
        Ok(x.with(self.0.neg(x.values.inner())?, x.values.range().neg()))
    }

    /// `x + k` for one integer. Takes no level.
    pub fn add_constant(&self, x: &IntVecOf<A>, k: i64) -> Result<IntVecOf<A>> {
        let k = (k.rem_euclid(x.modulus as i64)) as f64;
        self.0.composed("add_constant", || {
            let sum = shifted(self.0, x.values.inner(), k, x.values.is_both())?;
            Ok(x.with(sum, x.values.range().shift(k)))
        })
    }

    /// `k x` for one integer, by its residue nearest to zero. Takes no level; noise grows by its
    /// magnitude.
    pub fn mul_constant(&self, x: &IntVecOf<A>, k: i64) -> Result<IntVecOf<A>> {
        let p = x.modulus as i64;
        let residue = k.rem_euclid(p);
        // The residue nearest to zero: the smallest growth of noise and range.
        let k = if 2 * residue > p { residue - p } else { residue };
        self.0.composed("mul_constant", || {
            let product = self.0.mul_integer(x.values.inner(), k)?;
            Ok(x.with(product, x.values.range().scale(k as f64)))
        })
    }

    /// `f(x)` modulo the same `p`, bootstrapped: exact except with the failure probability of the
    /// parameters.
    pub fn table(&self, x: &IntVecOf<A>, f: impl Fn(usize) -> usize) -> Result<IntVecOf<A>> {
        self.0.composed("table", || self.apply(x, &IntTable::new(x.modulus, x.modulus, f)?))
    }

    /// One table that was made before, from the modulus of `x` to any other. The result is
    /// bootstrapped.
    pub fn apply(&self, x: &IntVecOf<A>, table: &IntTable) -> Result<IntVecOf<A>> {
        let mut results = self.0.composed("apply", || self.tables(x, &[table]))?;
        Ok(results.pop().expect("one table"))
    }

    /// Several tables of the same integers, at little more than the cost of one. Results are
    /// bootstrapped integers modulo the second modulus of [`IntTable::new`].
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a table from another modulus or to reals, [`ErrorKind::Length`]
    /// without tables, [`ErrorKind::Noise`], [`ErrorKind::OutOfLevels`] for tables of more
    /// entries than the parameters have levels for, and those of
    /// [`CircuitOps::functional_bootstrap`](crate::CircuitOps::functional_bootstrap).
    pub fn tables(&self, x: &IntVecOf<A>, tables: &[&IntTable]) -> Result<Vec<IntVecOf<A>>> {
        self.0.composed("tables", || {
            let moduli = tables.iter().map(|table| {
                let reason = "the entries of a table are reals: apply it by `real_tables`";
                table.to.ok_or_else(|| error::shape(reason.into()))
            });
            let moduli = moduli.collect::<Result<Vec<_>>>()?;
            // The scale follows from the modulus of the results, not from that of the operand.
            let bootstrapper = super::evaluate::attached(self.0)?;
            let scales = moduli.iter().map(|&p| bootstrapper.integer_scale(p)).collect::<Vec<_>>();
            let results = self.evaluate(x, tables, &scales)?;
            let results = results.into_iter().zip(moduli).map(|(values, modulus)| {
                // The range of the entries, without noise.
                let range = Interval::between(0.0, (modulus - 1) as f64);
                let values = values.with(values.inner().clone(), range);
                IntVec { values, modulus, of_reals: false }
            });
            Ok(results.collect())
        })
    }

    /// Tables of reals of the same integers, at the default scale.
    pub fn real_tables(
        &self,
        x: &IntVecOf<A>,
        tables: &[&IntTable],
    ) -> Result<Vec<PairedVec<A::Ciphertext>>> {
        self.0.composed("real_tables", || {
            let scales = vec![self.0.params().scale(); tables.len()];
            self.evaluate(x, tables, &scales)
        })
    }

    /// A function of two vectors, entry by entry: `f(a, b)` by one table of `P` entries, for the
    /// product `P` of their moduli. `x` must be reduced (its [`values`](IntVec::values) within
    /// `0 .. p`).
    pub fn table_of_two(
        &self,
        x: &IntVecOf<A>,
        y: &IntVecOf<A>,
        to: usize,
        f: impl Fn(usize, usize) -> usize,
    ) -> Result<IntVecOf<A>> {
        // k = a + p b runs over all pairs: one table of p q entries.
        self.0.composed("table_of_two", || {
            let both = self.beside(x, y)?;
            let p = x.modulus;
            self.apply(&both, &IntTable::new(both.modulus, to, |k| f(k % p, k / p))?)
        })
    }

    /// Two vectors as the digits of one: `x + p y` modulo `p q` for `x` modulo `p` and `y` modulo
    /// `q`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a product of the moduli above 65536 or an `x` that is not reduced
    /// (an identity table reduces it), and those of [`CkksOps::match_scale`] where the product is
    /// not a power of two.
    pub fn beside(&self, x: &IntVecOf<A>, y: &IntVecOf<A>) -> Result<IntVecOf<A>> {
        self.0.composed("beside", || {
            x.values.check_shape(&y.values)?;
            let (p, modulus) = (x.modulus, x.modulus.saturating_mul(y.modulus));
            check_modulus(modulus)?;
            check_reduced(x)?;
            let shifted = self.0.mul_integer(y.values.inner(), p as i64)?;
            let sum = self.0.add(x.values.inner(), &shifted)?;
            let range = x.values.range().add(&y.values.range().scale(p as f64));
            let of_reals = x.of_reals || y.of_reals;
            Ok(IntVec { values: x.values.with(sum, range), modulus, of_reals })
        })
    }

    /// The same integers modulo a divisor of their modulus, at no cost; a table then reads them so.
    pub fn modulo(&self, x: &IntVecOf<A>, modulus: usize) -> Result<IntVecOf<A>> {
        check_modulus(modulus)?;
        if !x.modulus.is_multiple_of(modulus) {
            return Err(error::shape(format!(
                "modulus {modulus}: need a divisor of {}",
                x.modulus
            )));
        }
        // Only the reading changes: the ciphertext holds integers before their reduction.
        Ok(IntVec { modulus, ..x.clone() })
    }

    /// The digits of reduced integers to a base that divides their modulus, the lowest one first,
    /// each modulo the base except the last one. Takes one identity table for each digit but the
    /// last.
    pub fn digits(&self, x: &IntVecOf<A>, base: usize) -> Result<Vec<IntVecOf<A>>> {
        self.0.composed("digits", || {
            check_modulus(base)?;
            check_reduced(x)?;
            let (mut digits, mut rest) = (vec![], x.clone());
            // Step by step from the lowest digit: an identity table modulo the base reads it, and
            // the rest is divided.
            while rest.modulus > base {
                let low = self.table(&self.modulo(&rest, base)?, |k| k)?;
                // rest - low is a multiple of the base: divide it through the scale.
                let difference = self.0.sub(rest.values.inner(), low.values.inner())?;
                let divided = self.0.reinterpret_scale(difference, 1.0 / base as f64)?;
                let modulus = rest.modulus / base;
                let range = Interval::between(0.0, (modulus - 1) as f64);
                rest = IntVec { values: rest.values.with(divided, range), modulus, ..rest };
                digits.push(low);
            }
            digits.push(rest);
            Ok(digits)
        })
    }

    /// The integers before their reduction as reals: one vector of up to `N / 2` values, or two if
    /// both parts of the slots hold values. Takes no level.
    pub fn to_reals(&self, x: &IntVecOf<A>) -> Result<Vec<A::Ciphertext>> {
        let z = x.values.inner();
        let range = *x.values.range();
        if !x.values.is_both() {
            return Ok(vec![z.clone()]);
        }
        self.0.composed("to_reals", || {
            // Re z = (z + conj z) / 2 and Im z = i (conj z - z) / 2, halved through the scale.
            let conjugate = self.0.conjugate(z)?;
            let re = self.0.reinterpret_scale(self.0.add(z, &conjugate)?, 0.5)?;
            let im = self.0.mul_i(&self.0.sub(&conjugate, z)?)?;
            let im = self.0.reinterpret_scale(im, 0.5)?;
            let slots = self.0.params().max_slots();
            let part = |part: A::Ciphertext| {
                let mut meta = self.0.metadata(&part).meta;
                meta.bounds = bellerophon_ckks::Bounds::all(range);
                self.0.with_metadata(part, meta)
            };
            let im = self.0.with_len(part(im), x.len() - slots)?;
            Ok(vec![part(re), im])
        })
    }

    /// Reals that the program knows to be integers up to noise, as integers modulo `p`.
    ///
    /// A table reads them if the bound on their noise admits it, and its results are exact. Until
    /// then they are neither decrypted nor published ([`IntVec`]).
    pub fn from_reals(&self, x: &A::Ciphertext, modulus: usize) -> Result<IntVecOf<A>> {
        check_modulus(modulus)?;
        let meta = self.0.metadata(x).meta;
        let range = meta.bounds.values;
        if !meta.bounds.slots().is_real() {
            let reason = "complex values or padding: need integers in the real parts".into();
            return Err(error::shape(reason));
        }
        let slots = self.0.params().max_slots();
        let values = PairedVec::from_parts(x.clone(), range, meta.len, slots);
        Ok(IntVec { values, modulus, of_reals: true })
    }

    /// `log2` of a bound on the probability that some integer of a vector decrypts to another one,
    /// from its predicted noise: at most 0.
    pub fn log2_failure(&self, x: &IntVecOf<A>) -> f64 {
        log2_failure(&self.0.metadata(x.values.inner()), &x.values)
    }

    fn evaluate(
        &self,
        x: &IntVecOf<A>,
        tables: &[&IntTable],
        scales: &[f64],
    ) -> Result<Vec<PairedVec<A::Ciphertext>>> {
        if let Some(other) = tables.iter().find(|t| t.function.period() != x.modulus as f64) {
            let (from, p) = (other.function.period(), x.modulus);
            let reason =
                format!("a table of {from} entries on integers modulo {p}: need {p} entries");
            return Err(error::shape(reason));
        }
        let functions: Vec<_> =
            tables.iter().zip(scales).map(|(table, &scale)| (&table.function, scale)).collect();
        let input = x.values.input();
        let results = super::evaluate::functions(self.0, x.values.inner(), input, &functions)?;
        let whole = |(result, table): (A::Ciphertext, &&IntTable)| {
            x.values.with(result, table.function.range())
        };
        Ok(results.into_iter().zip(tables).map(whole).collect())
    }

    fn check_pair(&self, x: &IntVecOf<A>, y: &IntVecOf<A>) -> Result<()> {
        x.values.check_shape(&y.values)?;
        if x.modulus != y.modulus {
            let reason =
                format!("integers modulo {} and {}: need one modulus", x.modulus, y.modulus);
            return Err(error::shape(reason));
        }
        Ok(())
    }
}
