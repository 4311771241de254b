//! Routes of operands to one level and one scale.
//!
//! An operand of another scale is multiplied by an integer at a higher level and rescaled: the scale
//! absorbs the factor, and the message is unchanged.

use super::rules::MetadataRules;
use crate::{During, ErrorKind, LevelScale, Metadata, Result, encode::check_scale};

/// Scales with a smaller relative difference are equal.
const TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

/// Scales with a larger relative difference are never equal, however small they are.
const LOOSEST: f64 = 1.0 / (1u64 << 10) as f64;

/// The largest relative difference of equal scales: `2^-40`, or one unit of an encoded 1 for scales
/// below `2^40`, down to `2^10`.
fn tolerance(a: f64, b: f64) -> f64 {
    (1.0 / a.min(b)).clamp(TOLERANCE, LOOSEST)
}

/// Whether two scales are equal up to rounding.
pub(crate) fn same_scale(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() <= tolerance(a, b)
}

/// The route of an operand to a level, and to another scale if there is a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Route {
    /// The level that it is dropped to first.
    pub from: usize,
    /// An integer factor there: the scale absorbs it, the message is unchanged.
    pub factor: Option<i128>,
    /// The level after the rescales that follow; `from` without a factor.
    pub to: usize,
}

impl Route {
    /// Drops levels only.
    pub(crate) fn drop_to(level: usize) -> Self {
        Self { from: level, factor: None, to: level }
    }
}

impl MetadataRules<'_> {
    /// `x` at a level at most its own.
    pub(crate) fn drop_to_level(self, x: &Metadata, level: usize) -> Result<Metadata> {
        if level > x.level {
            return Err(ErrorKind::LevelTooHigh { wanted: level, highest: x.level }.into());
        }
        self.dropped(x, level)
    }

    pub(super) fn dropped(self, x: &Metadata, level: usize) -> Result<Metadata> {
        let dropped = Metadata { level, ..*x };
        // A smaller modulus may no longer hold the message. At the same level the range was checked
        // when the vector was made.
        if level != x.level {
            self.check_range(&dropped)?;
        }
        Ok(dropped)
    }

    /// The route of `x` to a scale at a level, or `None` with too few levels above it for a
    /// constant that matches the scale.
    fn adjusted(self, x: &Metadata, scale: f64, level: usize) -> Option<Route> {
        // From each level the constant is the quotient of the scales times all divisors down to
        // `level`; the first one that is large enough to be rounded is taken.
        let mut factor = scale / x.meta.scale;
        for from in level + 1..=x.level {
            factor *= self.params().divisor(from);
            // The constant must fit an i128.
            if factor >= 2f64.powi(120) {
                break;
            }
            // The rounded constant misses the scale by up to 1 / (2 factor), relatively; a
            // difference within the tolerance counts as the same scale.
            if 0.5 / factor <= tolerance(scale, x.meta.scale) {
                return Some(Route { from, factor: Some(factor.round() as i128), to: level });
            }
        }
        None
    }

    /// The route of `x` to a scale and a level at most its own.
    pub(crate) fn match_scale(self, x: &Metadata, scale: f64, level: usize) -> Result<Route> {
        check_scale(scale)?;
        if level > x.level {
            return Err(ErrorKind::LevelTooHigh { wanted: level, highest: x.level }.into());
        }
        // Equal scales need no constant: the vector drops to the level without work.
        if same_scale(x.meta.scale, scale) {
            return Ok(Route::drop_to(level));
        }
        self.adjusted(x, scale, level).ok_or_else(|| {
            ErrorKind::ScaleMismatch {
                left: x.standing(),
                right: LevelScale { level, log2_scale: scale.log2() },
            }
            .into()
        })
    }

    /// Routes of two operands to one level and one scale. Different scales cost a level of the
    /// operand with more levels, or of both if they are at one level.
    pub(crate) fn align(self, x: &Metadata, y: &Metadata) -> Result<(Route, Route)> {
        let level = x.level.min(y.level);
        if same_scale(x.meta.scale, y.meta.scale) {
            return Ok((Route::drop_to(level), Route::drop_to(level)));
        }
        // At the lower level if one operand has a spare level there, else one level further down.
        for level in (0..=level).rev().take(2) {
            if let Some(route) = self.adjusted(x, y.meta.scale, level) {
                return Ok((route, Route::drop_to(level)));
            }
            if let Some(route) = self.adjusted(y, x.meta.scale, level) {
                return Ok((Route::drop_to(level), route));
            }
        }
        Err(ErrorKind::ScaleMismatch { left: x.standing(), right: y.standing() }.into())
    }

    /// Routes of two factors to one level. Scales may differ. A factor with spare levels is matched
    /// to the scale of the other at the cost of a rescale, so that products at one level have one
    /// scale.
    pub(crate) fn align_factors(self, x: &Metadata, y: &Metadata) -> (Route, Route) {
        let level = x.level.min(y.level);
        let bring = |high: &Metadata, low: &Metadata| {
            // At the lower level a constant would take a level that the product needs: the scales
            // stay different there, and the product has their product.
            let matched = high.level == level || same_scale(high.meta.scale, low.meta.scale);
            let route = if matched { None } else { self.adjusted(high, low.meta.scale, level) };
            route.unwrap_or(Route::drop_to(level))
        };
        (bring(x, y), bring(y, x))
    }

    /// `x` at the end of a route.
    pub(crate) fn follow(self, x: &Metadata, route: &Route) -> Result<Metadata> {
        let mut at = self.dropped(x, route.from)?;
        if let Some(factor) = route.factor {
            // The constant multiplies phase, scale and noise alike; the message is unchanged.
            let factor = factor as f64;
            at.meta.scale *= factor;
            at.meta.noise = at.meta.noise * (factor * factor);
        }
        // One rescale a level: each adds its own rounding.
        while at.level > route.to {
            at = self.rescaled(&at).during("rescale")?;
        }
        Ok(at)
    }
}
