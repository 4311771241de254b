//! A look-up to a requested accuracy: plain tables, or corrected ones.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::{cell::RefCell, collections::HashMap, f64::consts::TAU, ops::RangeInclusive};

use bellerophon_circuits::approx::Accuracy;
use bellerophon_ckks::{Bounds, Ciphertext, CiphertextMeta, Interval, noise::Noise};
use bellerophon_lwe::{EncodedFunction, Encoding, Headroom, LweVec, OutputEncoding};
use bellerophon_ring::Result;

use crate::{
    bridge_choice::Bridge,
    error,
    error_distribution::Grid,
    evaluator::LookupEvaluator,
    local_poly::{Coefficients, Smooth},
};

use super::{
    correction::Correction,
    known::{Known, RAISED},
    plan::{CorrectionPlan, Corrections},
};

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
        let (plan, planned) = corrections.to_accuracy(&smooth, accuracy)?;
        self.corrected(x, &corrections, &smooth, plan, planned)
    }

    /// As [`map_to_accuracy`](Self::map_to_accuracy), with a correction of a given order.
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
        let (plan, planned) = corrections.of_order(&smooth, order)?;
        self.corrected(x, &corrections, &smooth, plan, planned)
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
        plan: CorrectionPlan,
        planned: Option<Correction>,
    ) -> Result<Ciphertext> {
        let (map, range) = (corrections.map(), corrections.range());
        let Some(planned) = planned else {
            // A plain table: the plan is for the ring bridge.
            let domain = map.domain().clone();
            let over_ring = Self { bridge: Some(Bridge::Ring), ..*self };
            return over_ring.map(x, domain, &|x| f.value(x), None);
        };
        let order = plan.order();

        // Step 1: the operand for the distance d. If it has too few levels, it leaves the slots in
        // an encoding of its own, to be packed beside the tables.
        let (beside, correction) = match planned.known {
            Known::Itself => (None, planned),
            Known::Sine { .. } => {
                let (values, known) = self.raised(x, map.domain().clone())?;
                (Some(values), Correction::new(map, range, f, known, order)?)
            }
        };

        // Step 2: slots to LWE. The cells of the tables have the step of this encoding.
        let values = self.extract(&[x], map.domain().clone(), Headroom::TABLE, None)?.remove(0);
        let degree = map.lwe_params().spec().ring_degree;
        let step = values.meta().encoding.width() / (2 * degree) as f64;

        // Step 3: all tables, at one index.
        let read = self.read_polynomials(corrections, &correction, f, order, &values)?;

        // Step 4: ring packing and the polynomial in d, which stays below `reach` up to 9 standard
        // deviations of its noise.
        let known = correction.known.noise().peak;
        let of_cells = (read[0].meta().noise.predicted * correction.cells.gain).powi(2);
        let noise = 9.0 * (of_cells + known).sqrt();
        let reach = map.reach(step) + noise;
        let sum = self.correct(x, &correction, &read, beside.as_ref(), reach)?;
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

    /// The operand as LWE values in an encoding of its own, and what packing makes of it.
    fn raised(&self, x: &Ciphertext, domain: RangeInclusive<f64>) -> Result<(LweVec, Known)> {
        let (ring, _) = self.ring_bridge()?;
        let values = self.extract(&[x], domain, RAISED, None)?.remove(0);
        let deviation = values.meta().noise.predicted;
        let known = Known::raised(self.lookups, ring, &values.meta().encoding, deviation);
        Ok((values, known))
    }

    /// Reads the tables of `g` and of the coefficients of the local polynomials, all at one index.
    /// The polynomials are fitted for the noise of the index alone: the operand enters `d` with its
    /// own noise. Each is computed once for all its coefficients.
    fn read_polynomials(
        &self,
        corrections: &Corrections<'_>,
        correction: &Correction,
        f: &Smooth<'_>,
        order: usize,
        values: &LweVec,
    ) -> Result<Vec<LweVec>> {
        let (map, range) = (corrections.map(), corrections.range());
        let degree = map.lwe_params().spec().ring_degree;
        let step = values.meta().encoding.width() / (2 * degree) as f64;
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
        let encoding = OutputEncoding::Encoding(Encoding::new(0.0, TAU)?);
        let mut functions = vec![EncodedFunction::new(&identity, encoding)];
        functions.extend(angles.iter().map(|angle| EncodedFunction::new(angle, encoding)));
        self.tables()?.maps(values, &functions)
    }
}
