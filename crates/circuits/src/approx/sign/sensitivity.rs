//! Sensitivities of a sign to errors of its argument and to the roundings of its polynomials.
//!
//! **Bounds.** The arguments `[0, 1]` of every polynomial are split into parts: in equal angles,
//! and in equal ratios near zero. A part has a bound on the sensitivity of the result to errors
//! there: that of its polynomial over the part, and of the polynomials after it over the parts
//! which the values meet. Parts of the last polynomial come first, those of `x` last.

use std::f64::consts::FRAC_PI_2;

use super::{Kind, Sign};
use crate::polynomial::{Cell, Sensitivity};

/// Sample points for average noise.
const SAMPLES: usize = 512;

/// Parts in equal angles.
const ANGLES: usize = 2048;

/// Parts in a ratio of 2 of arguments.
const PARTS_PER_OCTAVE: i32 = 64;

/// The share of the margin that is one part from zero on.
const FIRST: f64 = 0.125;

const NONE: Sensitivity = Sensitivity { input: 0.0, steps: 0.0 };

/// Bounds on the sensitivity of the result to errors of the argument of a polynomial, by parts in
/// rising order; no parts after the last polynomial.
#[derive(Default)]
pub(super) struct Profile(Vec<([f64; 2], Sensitivity)>);

impl Profile {
    fn over(&self, [lo, hi]: [f64; 2]) -> Sensitivity {
        if self.0.is_empty() {
            return Sensitivity::IDENTITY;
        }
        let first = self.0.partition_point(|(part, _)| part[1] < lo);
        let met = self.0[first..].iter().take_while(|(part, _)| part[0] <= hi);
        met.map(|&(_, here)| here).fold(NONE, Sensitivity::max)
    }

    /// A bound over `from <= u <= 1`, times factors that do not fall with `u`.
    pub(super) fn largest(&self, from: f64, factors: impl Fn(f64) -> [f64; 2]) -> Sensitivity {
        let times = |&([_, u], here): &([f64; 2], Sensitivity)| {
            let [input, steps] = factors(u);
            Sensitivity { input: input * here.input, steps: steps * here.steps }
        };
        let parts = self.0.iter().filter(|(part, _)| part[1] > from);
        parts.map(times).fold(NONE, Sensitivity::max)
    }
}

/// The parts of `[0, 1]`; `least` is an end.
fn parts(least: f64) -> Vec<[f64; 2]> {
    let angles = (0..=ANGLES).map(|i| (FRAC_PI_2 * i as f64 / ANGLES as f64).cos());
    let ratios = (1..).map(|i| (-f64::from(i) / f64::from(PARTS_PER_OCTAVE)).exp2());
    let mut ends: Vec<f64> = angles.chain(ratios.take_while(|u| *u > FIRST * least)).collect();
    ends.extend([0.0, least]);
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    ends.windows(2).map(|pair| [pair[0], pair[1]]).collect()
}

impl Sign {
    pub(crate) fn sensitivity(&self, kind: Kind) -> Sensitivity {
        self.sensitivity[kind as usize]
    }

    pub(crate) fn peak(&self, kind: Kind) -> Sensitivity {
        self.peak[kind as usize]
    }

    /// Bounds for arguments in units of the radius. The values of the polynomials before that of
    /// index `i` are at least `margins[i]` outside the margin.
    pub(super) fn profile(&self, kind: Kind, margins: &[f64]) -> Profile {
        let polynomials: Vec<_> = self.polynomials(kind).zip(margins).enumerate().collect();
        polynomials.into_iter().rev().fold(Profile::default(), |after, (i, (p, &least))| {
            let bound = |part: [f64; 2]| {
                let ([lo, hi], here) = p.over(&Cell::new(part[0], part[1]));
                // An even function of the argument; outside the margin values start at the next
                // one.
                let next = if part[0] >= least { margins.get(i + 1) } else { None };
                let least = next.copied().unwrap_or(0.0);
                let values = [lo.clamp(least, 1.0), hi.max(-lo).max(least)];
                (part, here.then(after.over(values)))
            };
            Profile(parts(least).into_iter().map(bound).collect())
        })
    }

    /// Root mean square of the sensitivity outside the margin.
    pub(super) fn mean_sensitivity(&self, kind: Kind) -> Sensitivity {
        let at = |i: usize| {
            let share = i as f64 / SAMPLES as f64;
            self.sensitivity_at(kind, self.margin + (self.radius - self.margin) * share)
        };
        Sensitivity::mean((0..SAMPLES + 1).map(at))
    }

    /// The sensitivity of the composition at `x`, by the chain rule.
    pub(crate) fn sensitivity_at(&self, kind: Kind, mut x: f64) -> Sensitivity {
        let mut chain = Sensitivity { input: 1.0 / self.radius, steps: 0.0 };
        for p in self.polynomials(kind) {
            let u = p.chebyshev.to_unit(x);
            chain = chain.then(p.plan.sensitivity(u));
            x = p.plan.eval(u).re;
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approx::Accuracy;

    fn signs() -> Vec<Sign> {
        let parts = [(-4.0, 20.0, 1.0), (-8.0, 8.0, 3.0), (-10.0, 12.0, 1.0), (-16.0, 10.0, 1.0)];
        let chosen = parts.map(|(margin, bits, radius)| {
            Sign::new(radius, f64::exp2(margin), Accuracy::bits(bits)).unwrap()
        });
        let degrees: [(f64, &[usize]); 4] =
            [(0.4, &[5]), (0.25, &[7]), (0.0625, &[7, 27]), (2e-4, &[15, 31, 15, 15])];
        let given = degrees.map(|(margin, d)| Sign::of_degrees(1.0, margin, d).unwrap());
        chosen.into_iter().chain(given).collect()
    }

    /// Arguments from `from` to the radius in equal distances and in equal ratios.
    fn points(sign: &Sign, from: f64) -> Vec<f64> {
        let (count, least) = (20_000, from.max(1e-3 * sign.threshold()));
        let ratio = sign.radius / least;
        let share = |i: i32| f64::from(i) / f64::from(count);
        let both = |i| [from + (sign.radius - from) * share(i), least * f64::powf(ratio, share(i))];
        (0..=count).flat_map(both).chain([from]).collect()
    }

    #[track_caller]
    fn check(what: &str, sign: &Sign, found: Sensitivity, bound: Sensitivity) {
        for (found, bound) in [(found.input, bound.input), (found.steps, bound.steps)] {
            assert!(found <= bound && bound <= 2.5 * found, "{what}, {sign}: {found:e} {bound:e}");
        }
    }

    /// No argument exceeds the bounds, which are near.
    #[test]
    fn largest_sensitivities_are_bounds() {
        let none = Sensitivity { input: 0.0, steps: 0.0 };
        for sign in signs() {
            let at = |kind: Kind, x: f64| sign.sensitivity_at(kind, x);
            for kind in [Kind::Sign, Kind::Step] {
                let seen = points(&sign, sign.threshold());
                let found = seen.into_iter().map(|x| at(kind, x)).fold(none, Sensitivity::max);
                check("outside the margin", &sign, found, sign.peak(kind));
                let (peak, mean) = (sign.peak(kind), sign.sensitivity(kind));
                assert!(peak.input >= mean.input && peak.steps >= mean.steps, "{sign}");
            }
            let all = points(&sign, 0.0);
            let slopes = all.iter().map(|&x| Sensitivity { steps: 0.0, ..at(Kind::Sign, x) });
            let slope = Sensitivity { input: sign.slope, steps: 0.0 };
            check("slope", &sign, slopes.fold(none, Sensitivity::max), slope);
            let product = |x: f64| {
                let here = at(Kind::Sign, x);
                Sensitivity { input: x * here.input, steps: x * here.steps }
            };
            let found = all.iter().map(|&x| product(x)).fold(none, Sensitivity::max);
            check("product", &sign, found, sign.product);
        }
    }
}
