//! Evaluation of local polynomials from the tables of their coefficients.

use bellerophon_ckks::vectors::Vectors;
use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, CkksOps,
    noise::{Noise, slot_std},
};
use bellerophon_lwe::LweVec;
use bellerophon_ring::Result;

use super::{
    correction::Correction,
    noise::{NoiseSum, PackedNoise},
};
use crate::{evaluator::LookupEvaluator, map::EntryEncoding, stage::Stage, table_packing::Blocks};

/// The smallest scale of the last factor, as a part of the scale of the distance. A smaller one
/// would cost precision.
const LEAST_FACTOR: f64 = 1.0 / 1024.0;

impl LookupEvaluator<'_> {
    /// Evaluates the local polynomials: the sum of the coefficients times powers of the distance.
    /// `read` are the table entries; `beside` is the operand as LWE values if it is packed with
    /// them. Distances stay below `reach`.
    pub(super) fn correct(
        &self,
        x: &Ciphertext,
        correction: &Correction,
        read: &[LweVec],
        beside: Option<&LweVec>,
        reach: f64,
    ) -> Result<Ciphertext> {
        let (ring, keys) = self.ring_bridge()?;
        let (level, params) = (self.lookups.level_after(), self.arithmetic.params());
        let Correction { cells, times, coefficients, .. } = correction;

        // Step 1: ring packing of all tables. The sines get at least about the scale of the
        // operand; small values get a larger one, in proportion to their noise.
        let finer = (1.0 / cells.gain).ceil();
        let near = beside.is_none().then(|| self.lowered_to_tables(x)).transpose()?;
        let scale = finer * near.as_ref().map_or(params.scale(), |near| near.meta().scale);
        let tables = read;
        let read: Vec<_> = read.iter().chain(beside).map(LweVec::items).collect();
        let blocks = Blocks::new(self.arithmetic, ring, x, read.len(), level);
        let (observer, total) = (self.observer(), x.len() * read.len());
        observer.tell(Stage::Repacking, 0, total)?;
        self.counts.packed(total);
        let scale = scale * cells.gain;
        let sines = blocks.lwe_to_slots(self.arithmetic, ring, keys, &read, level, scale)?;
        let mut sines = sines.into_iter();
        let mut next = |output: &EntryEncoding| -> Result<Ciphertext> {
            let sine = sines.next().expect("a vector for each table");
            let scaled = self.arithmetic.reinterpret_scale(sine, output.gain)?;
            self.arithmetic.add_scalar(&scaled, output.center)
        };
        // Step 2: the cells c, the coefficients T_j, and the distance d = x - c.
        let cells = next(cells)?;
        let terms = coefficients.iter().map(&mut next).collect::<Result<Vec<_>>>()?;
        let near = match near {
            Some(x) => {
                let x = blocks.whole(self.arithmetic, x)?;
                let enlarged = self.arithmetic.mul_integer(&x, finer as i64)?;
                self.arithmetic.reinterpret_scale(enlarged, 1.0 / finer)?
            }
            None => {
                let sine = sines.next().expect("the operand is the last");
                let sine = self.arithmetic.reinterpret_scale(sine, correction.cells.gain)?;
                self.arithmetic.mul_integer(&sine, *times)?
            }
        };
        let distance = self.arithmetic.sub(&near, &cells)?;
        let variances = self.noise_of_sum(correction, tables, &distance, &terms, reach)?;
        // Steps 3 and 4: the polynomial in d.
        let sum = self.horner(&blocks, &distance, terms)?;
        // Step 5: the result of the first block, spread over all slots.
        let all = blocks.spread(self.arithmetic, &sum)?;
        observer.tell(Stage::Repacking, total, total)?;

        // The tracked metadata counts noise of the other blocks, which the mask has cleared.
        let (lattice, meta) = all.into_parts();
        let noise = variances * (meta.scale.powi(2) / meta.slots as f64);
        Ciphertext::from_parts(params, lattice, CiphertextMeta { noise, ..meta })
    }

    /// The operand at the level of the tables, or below, with the scale of the parameters.
    fn lowered_to_tables(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let (level, scale) = (self.lookups.level_after(), self.arithmetic.params().scale());
        if x.level() > level {
            return self.arithmetic.match_scale(x, scale, level);
        }
        Ok(x.clone())
    }

    /// The noise of the sum in its slots, from that of the tables and of their packing.
    fn noise_of_sum(
        &self,
        correction: &Correction,
        tables: &[LweVec],
        distance: &Ciphertext,
        terms: &[Ciphertext],
        reach: f64,
    ) -> Result<Noise> {
        let table =
            |j: usize, output: &EntryEncoding| output.gain * tables[j].meta().noise.predicted;
        let of_distance = PackedNoise {
            table: table(0, &correction.cells),
            own: in_slots(distance) + correction.known.noise(),
        };
        let of_terms = terms.iter().zip(&correction.coefficients).enumerate();
        let of_terms = of_terms.map(|(j, (term, output))| PackedNoise {
            table: table(j + 1, output),
            own: in_slots(term),
        });
        let of_terms: Vec<PackedNoise> = of_terms.collect();
        let one_rotation = self.tables()?.rotations(2) == 1;
        Ok(variances(&of_terms, of_distance, &correction.coefficients, reach, one_rotation))
    }

    /// The sum of the terms `T_j` times powers of the distance, in the first block of each vector.
    fn horner(
        &self,
        blocks: &Blocks,
        distance: &Ciphertext,
        terms: Vec<Ciphertext>,
    ) -> Result<Ciphertext> {
        let (level, params) = (self.lookups.level_after(), self.arithmetic.params());
        // Step 3: Horner's rule, T_1 + d (T_2 + d (..)).
        let mut terms = terms.into_iter();
        let constant = terms.next().expect("there is a constant term");
        let mut sum = terms.next_back().expect("there is a power of the distance");
        for term in terms.rev() {
            let distance = self.arithmetic.drop_to_level(distance, sum.level())?;
            sum = self.arithmetic.add(&self.arithmetic.mul(&sum, &distance)?, &term)?;
        }
        // Step 4: T_0 + d (..). The mask that clears the other blocks is part of the last factor
        // and of T_0, and the factor's scale returns the product to the scale of the parameters.
        let mask = blocks.mask();
        let at = sum.level().min(level - 1);
        let divisor = params.divisor(at);
        let factor = params.scale() * divisor / sum.meta().scale;
        let factor = factor.max(LEAST_FACTOR * distance.meta().scale);
        let scale = factor * sum.meta().scale / divisor;
        let factor = self
            .arithmetic
            .drop_to_level(&self.arithmetic.mul_values_to(distance, &mask, factor)?, at)?;
        let product = self.arithmetic.mul(&self.arithmetic.drop_to_level(&sum, at)?, &factor)?;
        let constant = self.arithmetic.mul_values_to(&constant, &mask, scale)?;
        self.arithmetic.add(&product, &constant)
    }
}

/// The variances of the noise of a vector in its slots, which no stated range includes.
fn in_slots(x: &Ciphertext) -> Noise {
    let CiphertextMeta { noise, slots, scale, .. } = x.metadata().meta;
    Noise { excess: noise.peak, ..noise }.map(|v| slot_std(v, slots, scale, true).powi(2))
}

/// The variances of the noise of a sum of coefficients times powers of a distance below `reach`.
fn variances(
    terms: &[PackedNoise],
    distance: PackedNoise,
    coefficients: &[EntryEncoding],
    reach: f64,
    one_rotation: bool,
) -> Noise {
    let (mut sum, mut slope) = (NoiseSum::new(one_rotation), 0.0);
    for (j, (term, output)) in (0..).zip(terms.iter().zip(coefficients)) {
        sum.add(reach.powi(j), *term);
        let largest = output.lo.abs().max(output.hi.abs());
        slope += f64::from(j) * largest * reach.powi(j - 1);
    }
    sum.add(slope, distance);
    sum.variances()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by hand: tables of one rotation add deviations, others variances.
    #[test]
    fn tables_of_one_rotation_share_their_noise() {
        let output = |largest: f64| EntryEncoding::over(-largest, largest);
        let coefficients = [output(5.0), output(2.0)];
        let packed = |table, own| PackedNoise { table, own: Noise::varying(own, 4.0 * own) };
        let (terms, distance) = ([packed(3.0, 16.0), packed(8.0, 36.0)], packed(1.0, 9.0));
        // Factors 1 and 1/2 of the terms, 2 of the distance.
        let own = 16.0 + 9.0 + 36.0;
        for (one_rotation, tables) in [(true, 81.0), (false, 9.0 + 16.0 + 4.0)] {
            let found = variances(&terms, distance, &coefficients, 0.5, one_rotation);
            assert!((found.total - own - tables).abs() < 1e-12);
            assert!((found.peak - 4.0 * own - tables).abs() < 1e-12);
        }
    }
}
