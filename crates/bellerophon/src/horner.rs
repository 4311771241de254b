//! Local polynomials of encrypted values, from the tables of their coefficients.

use bellerophon_ckks::{self as ckks, Ciphertext, Meta};
use bellerophon_lwe::Values;

use crate::{Evaluator, Result, Stage, blocks::Blocks, corrected::Correction, map::Output};

/// Scales of the last factor below this part of that of the operand would cost it precision.
const LEAST_FACTOR: f64 = 1.0 / 1024.0;

/// Standard deviations of a value that came up from a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// That of the table.
    pub(crate) table: f64,
    /// That of the way up, and of all else that is the value's own.
    pub(crate) way: f64,
}

/// The noise of a sum of multiples of values from several tables of one index. Tables of one rotation
/// share its noise: how, depends on the functions, so their deviations add up. On NTRU, with a rotation
/// each, variances do.
pub(crate) struct NoiseSum {
    one_rotation: bool,
    shared: f64,
    variance: f64,
}

impl NoiseSum {
    pub(crate) fn new(one_rotation: bool) -> Self {
        Self { one_rotation, shared: 0.0, variance: 0.0 }
    }

    pub(crate) fn add(&mut self, factor: f64, noise: Noise) {
        self.variance += (factor * noise.way).powi(2);
        match self.one_rotation {
            true => self.shared += (factor * noise.table).abs(),
            false => self.variance += (factor * noise.table).powi(2),
        }
    }

    pub(crate) fn std(&self) -> f64 {
        (self.shared * self.shared + self.variance).sqrt()
    }
}

impl Evaluator {
    /// The sum of the coefficients times powers of the distance, from what was read of the tables and, if
    /// it is not to be taken as it is, from the operand as LWE values. Distances stay below `reach`.
    pub(crate) fn correct(
        &self,
        op: &'static str,
        x: &Ciphertext,
        correction: &Correction,
        (read, beside): (&[Values], Option<&Values>),
        reach: f64,
    ) -> Result<Ciphertext> {
        let (lookups, ring, keys) = self.ring_bridge(op)?;
        let (level, params) = (lookups.level_after(), self.arithmetic.params());
        let Correction { cells, times, coefficients, .. } = correction;
        // Sines come up at about the scale of the operand, or more: at that of their own noise.
        let finer = (1.0 / cells.gain).ceil();
        let near = match beside {
            Some(_) => None,
            None if x.level() > level => Some(self.match_scale(x, params.scale(), level)?),
            None => Some(x.clone()),
        };
        let scale = finer * near.as_ref().map_or(params.scale(), Ciphertext::scale);
        let tables = read;
        let read: Vec<_> = read.iter().chain(beside).map(Values::items).collect();
        let blocks = Blocks::new(&self.arithmetic, ring, x, read.len(), level);
        let (observer, total) = (self.observer(op), x.len() * read.len());
        observer.tell(Stage::Repacking, 0, total)?;
        self.counts.packed(total);
        let at = (level, scale * cells.gain);
        let mut sines = blocks.raise(&self.arithmetic, (ring, keys), &read, at)?.into_iter();
        let mut next = |output: &Output| -> Result<Ciphertext> {
            let sine = sines.next().expect("a vector for each table");
            Ok(self.add_scalar(&sine.times_free(output.gain)?, output.center)?)
        };
        let cells = next(cells)?;
        let mut terms = coefficients.iter().map(&mut next).collect::<Result<Vec<_>>>()?.into_iter();
        let near = match near {
            Some(x) => {
                let x = blocks.whole(x)?;
                self.mul_integer(&x, finer as i64)?.times_free(1.0 / finer)?
            }
            None => {
                let sine = sines.next().expect("the operand is the last");
                self.mul_integer(&sine.times_free(correction.cells.gain)?, *times)?
            }
        };
        let distance = self.sub(&near, &cells)?;
        let table = |j: usize, output: &Output| output.gain * tables[j].noise_variance().sqrt();
        let of_distance = Noise {
            table: table(0, &correction.cells),
            way: distance.noise().hypot(correction.known_std()),
        };
        let of_terms = terms.as_slice().iter().zip(coefficients).enumerate();
        let of_terms = of_terms
            .map(|(j, (term, output))| Noise { table: table(j + 1, output), way: term.noise() });
        let of_terms: Vec<Noise> = of_terms.collect();
        let one_rotation = self.tables()?.rotations(2) == 1;
        let deviation = deviation(&of_terms, of_distance, coefficients, reach, one_rotation);

        let constant = terms.next().expect("there is a constant term");
        let mut sum = terms.next_back().expect("there is a power of the distance");
        for term in terms.rev() {
            let distance = self.drop_to_level(&distance, sum.level())?;
            sum = self.add(&self.mul(&sum, &distance)?, &term)?;
        }
        // The last factor is masked, and brings the scale back to that of others.
        let mask = blocks.mask();
        let at = sum.level().min(level - 1);
        let divisor = params.divisor(at);
        let factor = params.scale() * divisor / sum.scale();
        let factor = factor.max(LEAST_FACTOR * distance.scale());
        let scale = factor * sum.scale() / divisor;
        let factor = self.drop_to_level(&self.mul_values_to(&distance, &mask, factor)?, at)?;
        let product = self.mul(&self.drop_to_level(&sum, at)?, &factor)?;
        let sum = self.add(&product, &self.mul_values_to(&constant, &mask, scale)?)?;
        let all = blocks.spread(&self.arithmetic, &sum)?;
        observer.tell(Stage::Repacking, total, total)?;

        // The account has what other blocks held, which is gone.
        let (lattice, meta) = all.into_parts();
        let variance = (deviation * meta.scale).powi(2) / meta.slots as f64;
        let noise = ckks::noise::Noise::new(variance);
        Ok(Ciphertext::from_parts(params, lattice, Meta { noise, ..meta })?)
    }
}

/// The deviation of the noise of a sum of coefficients times powers of a distance below `reach`.
fn deviation(
    terms: &[Noise],
    distance: Noise,
    coefficients: &[Output],
    reach: f64,
    one_rotation: bool,
) -> f64 {
    let (mut sum, mut slope) = (NoiseSum::new(one_rotation), 0.0);
    for (j, (term, output)) in (0..).zip(terms.iter().zip(coefficients)) {
        sum.add(reach.powi(j), *term);
        let largest = output.lo.abs().max(output.hi.abs());
        slope += f64::from(j) * largest * reach.powi(j - 1);
    }
    sum.add(slope, distance);
    sum.std()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: tables of one rotation add deviations, others variances.
    #[test]
    fn tables_of_one_rotation_share_their_noise() {
        let output = |largest: f64| Output::over(-largest, largest);
        let coefficients = [output(5.0), output(2.0)];
        let terms = [Noise { table: 3.0, way: 4.0 }, Noise { table: 8.0, way: 6.0 }];
        let distance = Noise { table: 1.0, way: 3.0 };
        // Factors 1 and 1/2 of the terms, 2 of the distance.
        let way = 16.0 + 9.0 + 36.0;
        let shared = deviation(&terms, distance, &coefficients, 0.5, true);
        assert!((shared - (way + 81.0f64).sqrt()).abs() < 1e-12);
        let apart = deviation(&terms, distance, &coefficients, 0.5, false);
        assert!((apart - (way + 9.0 + 16.0 + 4.0f64).sqrt()).abs() < 1e-12);
    }
}
