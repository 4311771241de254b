//! A correction: its tables, and the error that remains.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_lwe::noise as lwe_noise;
use bellerophon_ring::Result;

use super::{
    known::Known,
    noise::{NoiseSum, PackedNoise},
};
use crate::{
    error_distribution::ErrorDistribution,
    local_poly::{self, LocalPolynomials, Smooth},
    map::{EntryEncoding, Map, reduction_noise},
    params::LutParams,
    ring_bridge::{bridge::RingBridge, reduction::Reduction},
};

/// The smallest amplitude of the constant coefficient: smaller functions are packed at this one.
const SMALLEST: f64 = 1.0 / 1024.0;

/// A function as local polynomials, with the output encodings of their tables.
pub(crate) struct Correction {
    polynomials: LocalPolynomials,
    pub(super) known: Known,
    /// The encoding of the identity, or of `g` in its place.
    pub(crate) cells: EntryEncoding,
    /// The factor that brings the packed operand to the amplitude of `cells`.
    pub(crate) times: i64,
    /// The encodings of the coefficients, that of `d^0` first.
    pub(crate) coefficients: Vec<EntryEncoding>,
}

impl Correction {
    pub(super) fn new(
        map: &Map<'_>,
        range: &RangeInclusive<f64>,
        f: &Smooth<'_>,
        known: Known,
        order: usize,
    ) -> Result<Self> {
        // Step 1: a polynomial for each cell.
        let table = map.planned_table();
        let polynomials =
            LocalPolynomials::fit(f, &|x| known.of(x), table, range, map.index_std(), order)?;
        // Step 2: the output encoding of each coefficient, from its range over all cells.
        let ranges = (0..=order).map(|j| {
            let values = polynomials.cells().iter().map(|p| p[j]);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), y| (lo.min(y), hi.max(y)))
        });
        let ranges: Vec<(f64, f64)> = ranges.collect();
        let largest = ranges[0].0.abs().max(ranges[0].1.abs()).max(1.0);
        let reach = map.reach(table.step());
        let coefficients = ranges.iter().enumerate().map(|(j, &(lo, hi))| {
            // The noise of a term at the largest distance need not be below that of the largest
            // value; a smaller gain would lose its precision in the scale.
            let least = if j == 0 { SMALLEST } else { reach.powi(-(j as i32)) };
            let output = EntryEncoding::over(lo, hi);
            EntryEncoding { gain: output.gain.max(least * largest), ..output }
        });
        let coefficients = coefficients.collect();
        // Step 3: the encoding of the identity.
        let (cells, times) = known.cells(range);
        Ok(Self { polynomials, known, cells, times, coefficients })
    }

    /// For every table the sum of the squared differences of neighbouring entries, modulo `q0`.
    /// `cells` are the values of the first table, before their encoding.
    fn squared_steps(&self, cells: &[f64], q0: f64) -> Vec<f64> {
        let steps2 = |j: usize| {
            let angles: Vec<f64> = match j {
                0 => cells.iter().map(|&c| self.cells.angle(c)).collect(),
                _ => {
                    let output = &self.coefficients[j - 1];
                    self.polynomials.cells().iter().map(|p| output.angle(p[j - 1])).collect()
                }
            };
            let steps = angles.windows(2).map(|pair| (pair[1] - pair[0]) * q0 / TAU);
            steps.map(|step| step * step).sum()
        };
        (0..=self.coefficients.len()).map(steps2).collect()
    }

    /// The distribution of the error: that of the polynomials, and the noise of every table.
    pub(super) fn accuracy(
        &self,
        lookups: &LutParams,
        ring: &RingBridge,
        map: &Map<'_>,
        range: &RangeInclusive<f64>,
        f: &Smooth<'_>,
    ) -> Result<ErrorDistribution> {
        let (table, lwe_params) = (map.planned_table(), map.lwe_params());
        let half = table.degree() as i64 / 2;
        let q0 = lwe_params.ring_modulus().value() as f64;
        let (lo, hi) = (*range.start(), *range.end());
        let cell = |k| self.known.of(table.argument(k).clamp(lo, hi));
        let cells: Vec<f64> = (-half..half).map(cell).collect();
        // Step 1: the unit of the common blind rotation. `lwe::Evaluator::maps` takes the unit of
        // the steepest table for all.
        let steps2 = self.squared_steps(&cells, q0);
        let steepest = steps2.iter().copied().fold(0.0, f64::max);
        let unit = lwe_noise::multi_value_unit(lwe_params, steepest).max(1.0);
        // Step 2: the noise of every table and of its packing.
        let reduction = reduction_noise(lookups.slots(), ring.reduction(Reduction::Sine));
        let one_rotation = lwe_params.one_rotation_for_several();
        let noise = |output: &EntryEncoding, steps2: f64| {
            let table = match one_rotation {
                true => lwe_noise::multi_value(lwe_params, steps2 / (unit * unit), unit),
                false => lwe_noise::look_up(lwe_params),
            };
            let raised2 = ring.raising_noise(ring.repeats(1)) / (q0 * q0);
            PackedNoise {
                table: output.gain * TAU * table.sqrt() / q0,
                own: (reduction + TAU * TAU * raised2) * output.gain.powi(2),
            }
        };
        let of_distance = noise(&self.cells, steps2[0]);
        let own = of_distance.own + self.known.noise();
        let of_distance = PackedNoise { own, ..of_distance };
        let of_coefficients: Vec<PackedNoise> =
            self.coefficients.iter().zip(&steps2[1..]).map(|(o, &s)| noise(o, s)).collect();
        // Step 3: the error of a value that is read from cell k: that of the polynomial, with the
        // noise of the distance times the slope, and of the coefficients times powers of the
        // distance.
        let index_std = map.index_std();
        let (cells, of_coefficients) = (&cells, &of_coefficients);
        Ok(ErrorDistribution::law(range, table, index_std, |x| {
            let (exact, known) = (f.value(x), self.known.of(x));
            move |k| {
                let p = self.polynomials.at(k);
                let d = known - cells[(k + half) as usize];
                let mut sum = NoiseSum::new(one_rotation);
                sum.add(local_poly::slope(p, d), of_distance);
                for (j, noise) in (0..).zip(of_coefficients) {
                    sum.add(d.powi(j), *noise);
                }
                (local_poly::evaluate(p, d) - exact, sum.variances())
            }
        }))
    }
}
