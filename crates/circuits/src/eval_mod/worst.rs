//! Worst-case noise of EvalMod: a bound for arbitrarily correlated errors.
//!
//! **Noise.** Lengths over the scale, as in the worst case of polynomials:
//! 1. The cosine of the divided angle is a polynomial of `t` over its whole interval.
//! 2. A double angle `2 c^2 - 1` enlarges an error `d` of `c` to `4 |c| d + 2 N d^2`, where `|c|`
//!    is at most 1 plus the approximation error.
//! 3. The arcsine is a polynomial of a sine of at most `sin(2 pi distance)`, for the largest
//!    distance of a value from an integer: its slope is near 1 there.

use std::f64::consts::TAU;

use bellerophon_ckks::metadata::rules::MetadataRules;
use bellerophon_ckks::noise::{Noise, times};
use bellerophon_ckks::{Bounds, CiphertextMeta, Interval, Metadata, Result};

use super::{Mod1, Mod1Output};
use crate::polynomial::worst::{bounded_plan, step};

const SAMPLES: usize = 1 << 16;

impl Mod1 {
    /// The worst case of [`meta`](Self::meta), for values at most `distance`, below 1/4, from an
    /// integer. The approximation error, [`certified_error`](Self::certified_error), is not
    /// included.
    pub(crate) fn bounded(
        &self,
        rules: MetadataRules<'_>,
        t: &Metadata,
        output: Mod1Output,
        distance: f64,
    ) -> Result<Metadata> {
        let params = rules.params();
        let silent = Metadata { meta: CiphertextMeta { noise: Noise::NONE, ..t.meta }, ..*t };
        let meta = self.meta(params, &silent, output)?;
        let mut scales = meta.scales;

        // Steps 1 and 2: the cosine of the divided angle.
        let first = scales.pop().expect("it starts with one");
        let (mut c, _) = rules.add_scalar(t, -self.shift())?;
        let reach = self.bound() / self.width();
        let domain = Interval::real(-reach - self.shift(), reach - self.shift())?;
        c.meta.bounds = Bounds::all(domain);
        c.meta.noise = bounded_plan(rules, &self.cosine, &c, first)?;
        (c.level, c.meta.scale) = (c.level - self.cosine.depth(), first);

        // Step 3: double angles.
        let degree = params.lattice().spec().degree as f64;
        let largest = 1.0 + self.rounded_sine_error();
        while let Some(scale) = scales.pop() {
            let step = step(rules, c.level, true, 0.0, scale)?;
            c.meta.noise = c.meta.noise.map(|square| {
                let off = square.sqrt() / c.meta.scale;
                let off = times(4.0 * largest, off) + 2.0 * degree * times(off, off) + step;
                (off * scale).powi(2)
            });
            (c.level, c.meta.scale) = (c.level - 1, scale);
        }

        // Step 4: the arcsine.
        let sine = (TAU * distance).sin() + self.rounded_sine_error();
        c.meta.bounds = Bounds::all(Interval::real(-sine, sine)?);
        let noise = match self.arcsine() {
            Some(plan) => bounded_plan(rules, plan, &c, output.scale * output.amplitude)?,
            None => c.meta.noise,
        };
        let result = Metadata { meta: CiphertextMeta { noise, ..meta.result.meta }, ..meta.result };
        rules.check_range(&result)?;
        Ok(result)
    }

    /// [`sine_error`](Self::sine_error) plus the rounding of the coefficients, `2^-52` of each, and
    /// with double angles of cosines that slightly exceed 1.
    fn rounded_sine_error(&self) -> f64 {
        let rounding = (self.degree() + 1) as f64 * f64::EPSILON;
        1.01 * (self.sine_error() + rounding * 4f64.powi(self.doublings as i32))
    }

    /// A proven bound on the difference of the result, at amplitude 1, from `2 pi` times the
    /// distance of a value from an integer, for distances up to `distance`, below 1/4.
    ///
    /// Let `g(a) = p(sin a) - a` for the arcsine `p`. Between samples at the spacing `h`, `|g|`
    /// exceeds the samples by at most `h^2 / 8 max |g''|` (an extreme has slope 0), and
    /// `|g''| <= sum |c_k| (k^2 (k^2 - 1) / 3 + k^2)` by Markov's inequality. An error of the sine
    /// is multiplied by at most `max |p'| <= sum |c_k| k^2`. Without an arcsine the difference of
    /// the sine is `a^3 / 6`.
    pub(crate) fn certified_error(&self, distance: f64) -> f64 {
        let (angle, sine) = (TAU * distance, self.rounded_sine_error());
        let Some(p) = self.arcsine_polynomial() else { return sine + angle.powi(3) / 6.0 };
        let (mut slope, mut curvature) = (0.0, 0.0);
        for (k, c) in p.coefficients.iter().enumerate() {
            let square = (k * k) as f64;
            slope += c.abs() * square;
            curvature += c.abs() * square * (square - 1.0) / 3.0;
        }
        let spacing = angle / SAMPLES as f64;
        let sampled = (0..=SAMPLES)
            .map(|i| spacing * i as f64)
            .map(|a| (p.eval(a.sin()) - a).abs())
            .fold(0.0, f64::max);
        slope * sine + sampled + spacing * spacing / 8.0 * (curvature + slope)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arcsine, Mod1Spec};
    use super::*;
    use crate::tests::common::mod1_spec;

    /// The bound is one, also beyond what the arcsine was made for, and not far from what is
    /// stated.
    #[test]
    fn certified_errors_are_bounds() {
        for (degree, message) in [(3, 0.02), (7, 0.033), (15, 0.1)] {
            let arcsine = Some(Arcsine { degree, message });
            let spec = Mod1Spec { log2_error: -34.0, arcsine, spare: 1, ..mod1_spec(32) };
            let plan = Mod1::new(&spec).unwrap();
            for distance in [message, 1.0625 * message] {
                let bound = plan.certified_error(distance);
                let found = (-500..=500)
                    .map(|i| (distance * i as f64 / 500.0, f64::from(i % 7)))
                    .map(|(x, integer)| (plan.eval(x + integer) - TAU * x).abs())
                    .fold(0.0, f64::max);
                assert!(found <= bound, "{degree} at {distance}: {found:e} {bound:e}");
                assert!(
                    distance > message || bound < 8.0 * plan.approximation_error(),
                    "{bound:e}"
                );
            }
        }
    }
}
