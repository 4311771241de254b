//! Look-ups to a requested accuracy: tables of local polynomials correct the error of the index.
//!
//! The error of a look-up is dominated by that of its index: a few cells, mostly from rounding. It
//! depends on the rounded ciphertext alone, so several tables that are read at the same index share
//! it. One of them, the identity, returns the cell `c` that was read. The slots then hold
//! `d = x - c`, and
//!
//! ```text
//! f(x) = p_c(d) = T_0 + d (T_1 + d (T_2 + ..)),      T_j: table of coefficient j of p_c,
//! ```
//!
//! removes the error up to the degree of `p_c` ([`local_poly`](crate::local_poly)). All tables come
//! from one blind rotation ([`lwe::Evaluator::maps`]), on NTRU from one per table at the same
//! index, and return to the slots in one ring packing ([`table_packing`](crate::table_packing)).
//! Packing leaves them at one amplitude; the differences between the tables go into the scales. A
//! correction takes a level for each power of `d`. The mask that separates the tables multiplies
//! the last factor and `T_0`; it takes a level of its own only if there is a single power.
//!
//! If `x` has too few levels left, it is packed beside the tables, in an encoding that spans a
//! thirty-second of the phases. Packing then returns `g(x)`, a sine so flat that it is monotonic,
//! and the table of the identity becomes a table of `g`.

mod correction;
mod known;
mod plan;

use std::{cell::RefCell, collections::HashMap, f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{self as ckks, Bounds, Ciphertext, CiphertextMeta, Interval};
use bellerophon_lwe::{self as lwe, Encoding, Table};

use crate::{
    Bridge, Error, Evaluator, Result,
    error_distribution::Grid,
    local_poly::{Coefficients, Smooth},
};

pub(crate) use correction::Correction;
pub(crate) use plan::Corrections;
pub use plan::MapPlan;

use known::{Known, RAISED};

impl Evaluator {
    /// Applies any function to every value, to a requested accuracy: with probability 95% the
    /// largest error of 1024 values uniform in the domain is below `2^-bits max(1, max |f|)`.
    ///
    /// A plain table ([`map_over`](Self::map_over)) serves if it is accurate enough. Otherwise
    /// tables of the identity and of the coefficients of local polynomials of `f` are read at one
    /// index, and [`MapPlan::order`] products remove the error of that index: smooth functions gain
    /// several bits. At a kink (ReLU, the absolute value) the error of a plain table remains, and
    /// the prediction includes it.
    ///
    /// The level of the result is [`MapPlan::levels`] below
    /// [`LutParams::level_after`](crate::LutParams::level_after); padding is zero. An operand below
    /// [`LutParams::level_to_correct`](crate::LutParams::level_to_correct) is packed beside its
    /// tables. Each of the `order + 2` tables (or one more) can fail as in [`map`](Self::map): a
    /// value fails with a probability of at most `2^`[`log2_failure`](crate::Params::log2_failure)
    /// `(order + 4) / 2`. `f` is called only on the carried range of `x`.
    ///
    /// The polynomials are fitted to `f`; derivatives are not needed.
    ///
    /// # Errors
    /// As for [`map_over`](Self::map_over); [`Error::MissingKeys`] without
    /// [`Needs::map_to`](crate::Needs::map_to), [`Error::Accuracy`] if no correction reaches the
    /// accuracy, [`Error::NoCorrection`] for parameters without corrected look-ups.
    pub fn map_to(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
    ) -> Result<Ciphertext> {
        self.map_to_with(x, domain, f, &[], bits)
    }

    /// As [`map_to`](Self::map_to), with the derivatives of `f`, the first one first. The
    /// polynomials are Taylor polynomials whose degree is at most the number of derivatives. This
    /// is for functions that are known to only a few digits more than the result, so that a fit to
    /// their differences fails, and for functions that are slow to compute: each derivative is
    /// called a few times per cell of a table, where a fit calls `f` some sixty times per cell and
    /// degree. Without derivatives the polynomials are fitted.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map_to())?)?;
    /// let x = client.encrypt(&[0.5, -1.25], -4.0..=4.0)?;
    /// let slope = |x: f64| 1.0 - x.tanh().powi(2);
    /// let bend = |x: f64| -2.0 * x.tanh() * slope(x);
    /// let y = server.map_to_with(&x, -4.0..=4.0, f64::tanh, &[&slope, &bend], 8.0)?;
    /// assert!((client.decrypt(&y)?[0] - 0.5f64.tanh()).abs() < 2f64.powi(-8));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`map_to`](Self::map_to); derivatives that are not finite where values can lie are
    /// refused as `f` is.
    pub fn map_to_with(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
    ) -> Result<Ciphertext> {
        let op = "map_to";
        let corrections = self.corrections(op, x, &domain)?;
        let inside = corrections.inside(&f);
        let smooth = Smooth::new(&inside, derivatives);
        let planned = corrections.to_bits(op, &smooth, bits)?;
        self.corrected(op, x, &corrections, &smooth, planned).map_err(|error| error.named(op))
    }

    /// As [`map_to`](Self::map_to), with a correction of a given order.
    pub(crate) fn map_of_order(
        &self,
        x: &Ciphertext,
        domain: &RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        order: usize,
    ) -> Result<Ciphertext> {
        let op = "map_to";
        let corrections = self.corrections(op, x, domain)?;
        let inside = corrections.inside(f);
        let smooth = Smooth::new(&inside, &[]);
        let planned = corrections.of_order(op, &smooth, order)?;
        self.corrected(op, x, &corrections, &smooth, planned).map_err(|error| error.named(op))
    }

    /// The plan by which [`map_to_with`](Self::map_to_with) reaches the accuracy for the same
    /// arguments: [`Params::map_to_plan`](crate::Params::map_to_plan) with the engine of the keys,
    /// and with the carried range of `x` in place of the whole domain.
    ///
    /// # Errors
    /// As [`map_to_with`](Self::map_to_with), except those of the evaluation itself.
    pub fn map_to_plan(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
    ) -> Result<MapPlan> {
        let op = "map_to_plan";
        let corrections = self.corrections(op, x, &domain)?;
        let inside = corrections.inside(&f);
        Ok(corrections.to_bits(op, &Smooth::new(&inside, derivatives), bits)?.0)
    }

    /// The possible corrections of a vector with the keys of this evaluator.
    fn corrections(
        &self,
        op: &'static str,
        x: &Ciphertext,
        domain: &RangeInclusive<f64>,
    ) -> Result<Corrections<'_>> {
        let params = self.params();
        let lattice = &self.table_keys(op)?.lattice;
        if !params.lookups_for(op)?.corrects(lattice) {
            return Err(Error::MissingKeys { op, need: "map_to" });
        }
        Corrections::new(op, params, lattice, domain, x.range(), x.level())
    }

    /// Reads the tables and corrects the error of their index. A plan without a correction is a
    /// plain table.
    fn corrected(
        &self,
        op: &'static str,
        x: &Ciphertext,
        corrections: &Corrections<'_>,
        f: &Smooth<'_>,
        (plan, planned): (MapPlan, Option<Correction>),
    ) -> Result<Ciphertext> {
        let (map, range) = (corrections.map(), corrections.range());
        let Some(planned) = planned else {
            // A plain table: the plan is for the ring bridge.
            let domain = map.domain().clone();
            return self.clone().with_bridge(Bridge::Ring).map_over(x, domain, |x| f.value(x));
        };
        let (_, ring, _) = self.ring_bridge(op)?;
        let (tables, order) = (self.tables()?, plan.order());

        // Step 1: the operand for the distance d. If it has too few levels, it leaves the slots in
        // an encoding of its own, to be packed beside the tables.
        let (beside, correction) = match planned.known {
            Known::Itself => (None, planned),
            Known::Sine { .. } => {
                let values = self.extract_for(x, map.domain().clone(), RAISED)?;
                let deviation = values.noise_variance().sqrt();
                let known = Known::raised(self.params(), ring, values.encoding(), deviation);
                (Some(values), Correction::new(map, range, f, known, order)?)
            }
        };

        // Step 2: slots to LWE. The cells of the tables have the step of this encoding.
        let values = self.extract(x, map.domain().clone())?;
        let degree = map.lattice().ring_degree();
        let step = values.encoding().width() / (2 * degree) as f64;

        // Step 3: the tables of g and of the coefficients of the local polynomials, all at one
        // index. The polynomials are fitted for the noise of the index alone: the operand enters d
        // with its own noise. Each is computed once for all its coefficients.
        let deviation = map.index_std() * step;
        let memo = RefCell::new(HashMap::<u64, Coefficients>::new());
        let polynomial = |c: f64| {
            let known = |x| correction.known.of(x);
            let fit = || f.polynomial(&known, c, range, deviation, order);
            *memo.borrow_mut().entry(c.to_bits()).or_insert_with(fit)
        };
        let polynomial = &polynomial;
        let identity = |c: f64| correction.cells.angle(correction.known.of(c));
        let angles: Vec<_> = correction
            .coefficients
            .iter()
            .enumerate()
            .map(|(j, output)| move |c: f64| output.angle(polynomial(c)[j]))
            .collect();
        let encoding = lwe::OutputEncoding::Encoding(Encoding::new(0.0, TAU)?);
        let mut functions: Vec<Table<'_>> = vec![(&identity, encoding)];
        functions.extend(angles.iter().map(|angle| -> Table<'_> { (angle, encoding) }));
        let read = tables.maps(&values, &functions)?;

        // Step 4: ring packing and the polynomial in d, which stays below `reach` up to 9 standard
        // deviations of its noise.
        let noise = 9.0
            * (read[0].noise_variance().sqrt() * correction.cells.gain)
                .hypot(correction.known.std());
        let reach = map.reach(step) + noise;
        let sum = self.correct(op, x, &correction, (&read, beside.as_ref()), reach)?;
        let plain = map.output(&|x| f.value(x))?;

        // Step 5: the metadata: the error of the correction, and what the noise of the operand does
        // to the function.
        let center = values.centred().encoding().center();
        let error = |operand: f64| {
            let error_std = operand / step;
            let carried = Grid { center, step, degree, index_std: 0.0, error_std };
            let carried = carried.operand_error(range, |x| f.value(x)).sqrt();
            plan.accuracy().worst_rms().hypot(carried)
        };
        let (total, excess) = (error(x.noise()), error(x.excess()));
        let (lattice, meta) = sum.into_parts();
        let padded = meta.len < meta.slots;
        // A result may leave the range of the function by the error of the correction, and by noise
        // that moves the operand out of its range.
        let range = Interval::real(plain.lo, plain.hi)?;
        let variance = |error: f64| (error * meta.scale).powi(2) / meta.slots as f64;
        let noise = ckks::noise::Noise { total: variance(total), excess: variance(excess) };
        let meta = CiphertextMeta { bounds: Bounds::padded(range, padded), noise, ..meta };
        Ok(Ciphertext::from_parts(self.arithmetic.params(), lattice, meta)?)
    }
}
