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
//! removes the error up to the degree of `p_c` ([`local_poly`](super::local_poly)). All tables come
//! from one blind rotation ([`lwe::Evaluator::maps`]), on NTRU from one per table at the same
//! index, and return to the slots in one ring packing ([`table_packing`](super::table_packing)).
//! Packing leaves them at one amplitude; the differences between the tables go into the scales. A
//! correction takes a level for each power of `d`. The mask that separates the tables multiplies
//! the last factor and `T_0`; it takes a level of its own only if there is a single power.
//!
//! If `x` has too few levels left, it is packed beside the tables, in an encoding that spans a
//! thirty-second of the phases. Packing then returns `g(x)`, a sine so flat that it is monotonic,
//! and the table of the identity becomes a table of `g`.

mod correction;
mod eval;
mod known;
mod noise;
mod plan;

#[cfg(doc)]
use crate::ErrorKind;
use std::{cell::RefCell, collections::HashMap, f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Interval, approx::Accuracy, noise::Noise,
};
use bellerophon_lwe::{self as lwe, Encoding, Headroom, Table};

use super::{
    bridge_choice::Bridge,
    error_distribution::Grid,
    evaluator::LookupEvaluator,
    local_poly::{Coefficients, Smooth},
};
use crate::{Result, error};

pub(crate) use plan::{CorrectionPlan, Corrections};

use correction::Correction;
use known::{Known, RAISED};

/// The method of the facade's needs that asks for the keys of corrected look-ups.
pub(crate) const KEYS: &str = "map_with([Engine::Corrected])";

impl<'a> LookupEvaluator<'a> {
    /// Applies a function to every value, to a requested accuracy, which holds with probability 95%
    /// for all of 1024 values uniform in the domain.
    ///
    /// A plain table serves if it is accurate enough. Otherwise tables of the identity and of the
    /// coefficients of local polynomials of `f` are read at one index, and as many products as the
    /// [order](CorrectionPlan::order) remove the error of that index. With derivatives the
    /// polynomials are Taylor polynomials; without, they are fitted to `f`.
    ///
    /// # Errors
    /// As [`map`](Self::map); [`ErrorKind::MissingKey`] if the keys are for plain tables only;
    /// [`ErrorKind::Accuracy`] if no correction reaches the accuracy.
    pub(crate) fn map_to_accuracy(
        &self,
        x: &Ciphertext,
        domain: &RangeInclusive<f64>,
        f: &Smooth<'_>,
        accuracy: Accuracy,
    ) -> Result<Ciphertext> {
        let corrections = self.corrections(x, domain)?;
        let inside = corrections.inside(|x| f.value(x));
        let smooth = f.of(&inside);
        let planned = corrections.to_accuracy(&smooth, accuracy)?;
        self.corrected(x, &corrections, &smooth, planned)
    }

    /// As [`map_to_accuracy`](Self::map_to_accuracy), with a correction of a given order.
    ///
    /// # Errors
    /// As [`map_to_accuracy`](Self::map_to_accuracy).
    pub(crate) fn map_of_order(
        &self,
        x: &Ciphertext,
        domain: &RangeInclusive<f64>,
        f: &Smooth<'_>,
        order: usize,
    ) -> Result<Ciphertext> {
        let corrections = self.corrections(x, domain)?;
        let inside = corrections.inside(|x| f.value(x));
        let smooth = f.of(&inside);
        let planned = corrections.of_order(&smooth, order)?;
        self.corrected(x, &corrections, &smooth, planned)
    }

    /// The possible corrections of a vector with the keys of this evaluator.
    fn corrections(&self, x: &Ciphertext, domain: &RangeInclusive<f64>) -> Result<Corrections<'a>> {
        let lwe_params = &self.table_keys()?.lwe_params;
        if !self.lookups.corrects(lwe_params) {
            return Err(error::missing_keys(KEYS));
        }
        Corrections::new(self.lookups, lwe_params, domain, x.range(), x.level())
    }

    /// Reads the tables and corrects the error of their index. A plan without a correction is a
    /// plain table.
    fn corrected(
        &self,
        x: &Ciphertext,
        corrections: &Corrections<'_>,
        f: &Smooth<'_>,
        (plan, planned): (CorrectionPlan, Option<Correction>),
    ) -> Result<Ciphertext> {
        let (map, range) = (corrections.map(), corrections.range());
        let Some(planned) = planned else {
            // A plain table: the plan is for the ring bridge.
            let domain = map.domain().clone();
            let over_ring = Self { bridge: Bridge::Ring, ..*self };
            return over_ring.map(x, domain, &|x| f.value(x), None);
        };
        let (ring, _) = self.ring_bridge()?;
        let (tables, order) = (self.tables()?, plan.order());

        // Step 1: the operand for the distance d. If it has too few levels, it leaves the slots in
        // an encoding of its own, to be packed beside the tables.
        let (beside, correction) = match planned.known {
            Known::Itself => (None, planned),
            Known::Sine { .. } => {
                let values = self.extract(&[x], map.domain().clone(), RAISED, None)?.remove(0);
                let deviation = values.meta().noise.predicted;
                let known = Known::raised(self.lookups, ring, &values.meta().encoding, deviation);
                (Some(values), Correction::new(map, range, f, known, order)?)
            }
        };

        // Step 2: slots to LWE. The cells of the tables have the step of this encoding.
        let values = self.extract(&[x], map.domain().clone(), Headroom::TABLE, None)?.remove(0);
        let degree = map.lwe_params().spec().ring_degree;
        let step = values.meta().encoding.width() / (2 * degree) as f64;

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
        let known = correction.known.noise().peak;
        let of_cells = (read[0].meta().noise.predicted * correction.cells.gain).powi(2);
        let noise = 9.0 * (of_cells + known).sqrt();
        let reach = map.reach(step) + noise;
        let sum = self.correct(x, &correction, (&read, beside.as_ref()), reach)?;
        let plain = map.entry_encoding(&|x| f.value(x))?;

        // Step 5: the metadata: the error of the correction, and what the noise of the operand does
        // to the function.
        let center = values.centred().meta().encoding.center();
        let grid = Grid { center, step, degree, index_std: 0.0, operand: Noise::NONE };
        let carried = grid.with_error_of(&x.metadata()).operand_error(range, |x| f.value(x));
        let noise = carried + plan.accuracy().worst();
        let origins = x.origins().clone();
        let (lattice, meta) = sum.into_parts();
        let padded = meta.len < meta.slots;
        // A result may leave the range of the function by the error of the correction, and by noise
        // that moves the operand out of its range.
        let range = Interval::real(plain.lo, plain.hi)?;
        let noise = noise * (meta.scale.powi(2) / meta.slots as f64);
        let meta = CiphertextMeta { bounds: Bounds::padded(range, padded), noise, ..meta };
        Ok(Ciphertext::from_parts(self.arithmetic.params(), lattice, meta)?.of(origins))
    }
}
