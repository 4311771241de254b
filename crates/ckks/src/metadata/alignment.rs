//! Routes of operands to one level and one scale.
//!
//! An operand of another scale is multiplied by an integer at a higher level and rescaled: the
//! scale absorbs the factor, and the message is unchanged.

use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use super::route::{AlignedProducts, Route, same_scale, tolerance};
use super::rules::{LEAST_FACTOR, MetadataRules};
use crate::encode::check_scale;
use crate::error::{self, LevelScale};
use crate::metadata::Metadata;

impl MetadataRules<'_> {
    /// `x` at a level at most its own.
    pub fn drop_to_level(self, x: &Metadata, level: usize) -> Result<Metadata> {
        ensure(level <= x.level, || error::level_too_high(level, x.level))?;
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

    /// The route of `x` to a scale at a level, without work if it has that scale already.
    fn reached(self, x: &Metadata, scale: f64, level: usize) -> Option<Route> {
        match same_scale(x.meta.scale, scale) {
            true => Some(Route::drop_to(level)),
            false => self.adjusted(x, scale, level),
        }
    }

    /// The route of `x` to a scale and a level at most its own.
    pub fn match_scale(self, x: &Metadata, scale: f64, level: usize) -> Result<Route> {
        check_scale(scale)?;
        ensure(level <= x.level, || error::level_too_high(level, x.level))?;
        self.reached(x, scale, level).ok_or_else(|| {
            error::other_scale(
                "the vector",
                x.level_scale(),
                LevelScale::new(level, scale),
                "another scale takes a level above the requested one",
            )
        })
    }

    /// Routes of two operands to one level and one scale. Different scales cost a level of the
    /// operand with more levels, or of both if they are at one level.
    pub fn align(self, x: &Metadata, y: &Metadata) -> Result<(Route, Route)> {
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
        Err(error::scale_mismatch(x.level_scale(), y.level_scale()))
    }

    /// Routes of two factors to one level. Scales may differ. A factor with spare levels is matched
    /// to the scale of the other at the cost of a rescale, so that products at one level have one
    /// scale.
    pub fn align_factors(self, x: &Metadata, y: &Metadata) -> (Route, Route) {
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

    /// Routes of the vectors of a sum to one level and one scale: the scale of the lowest vector if
    /// the others reach it, else that of another one, each at the lowest level or one further down.
    pub fn align_all(self, x: &[Metadata]) -> Result<Vec<Route>> {
        let lowest = x.iter().min_by_key(|x| x.level).ok_or_else(error::no_values)?;
        let scale = lowest.meta.scale;
        let mut scales = vec![scale];
        for x in x {
            if !scales.iter().any(|&known| same_scale(known, x.meta.scale)) {
                scales.push(x.meta.scale);
            }
        }
        for level in (0..=lowest.level).rev().take(2) {
            for &scale in &scales {
                if let Some(routes) = x.iter().map(|x| self.reached(x, scale, level)).collect() {
                    return Ok(routes);
                }
            }
        }
        let other = x.iter().find(|x| !same_scale(x.meta.scale, scale)).unwrap_or(lowest);
        Err(error::scale_mismatch(lowest.level_scale(), other.level_scale()))
    }

    /// The vectors of a sum at the ends of their [routes](Self::align_all).
    pub fn aligned(self, mut x: Vec<Metadata>) -> Result<(Vec<Route>, Vec<Metadata>)> {
        let routes = self.align_all(&x)?;
        for (x, to) in x.iter_mut().zip(&routes) {
            *x = self.follow(x, to)?;
        }
        Ok((routes, x))
    }

    /// Routes of the factors of a sum of products to `level`, that of the lowest operand, or one
    /// level further down if a product has no spare level there. After the rescale the sum has
    /// `scale`; without one, the scale of the product with the fewest spare levels, and without
    /// products the default scale.
    pub fn align_products(
        self,
        products: &[(Metadata, Metadata)],
        level: usize,
        scale: Option<f64>,
    ) -> Result<AlignedProducts> {
        self.check_levels(1, level)?;
        let of = |(x, y): &(Metadata, Metadata)| x.meta.scale * y.meta.scale;
        let fixed = products.iter().min_by_key(|(x, y)| x.level.max(y.level)).map(of);
        let target = |level: usize| match (scale, fixed) {
            (None, Some(product)) => product,
            _ => scale.unwrap_or(self.params().scale()) * self.params().divisor(level),
        };
        // The rescale needs the last level.
        for level in (1..=level).rev().take(2) {
            let scale = target(level);
            check_scale(scale)?;
            let routes = products.iter().map(|(x, y)| self.product_routes(x, y, scale, level));
            if let Some(routes) = routes.collect() {
                return Ok(AlignedProducts { level, scale, routes });
            }
        }
        let needed = target(level);
        let found = products.iter().map(of).find(|&found| !same_scale(found, needed));
        let [left, right] = [found.unwrap_or(needed), needed].map(|s| LevelScale::new(level, s));
        Err(error::scale_mismatch(left, right))
    }

    /// Routes of two factors to a level where their product has a scale; one factor takes it on.
    fn product_routes(
        self,
        x: &Metadata,
        y: &Metadata,
        scale: f64,
        level: usize,
    ) -> Option<(Route, Route)> {
        let still = Route::drop_to(level);
        if same_scale(x.meta.scale * y.meta.scale, scale) {
            return Some((still, still));
        }
        let to_x = self.adjusted(x, scale / y.meta.scale, level).map(|to_x| (to_x, still));
        to_x.or_else(|| Some((still, self.adjusted(y, scale / x.meta.scale, level)?)))
    }

    /// The level of a sum of products of `x` with plain vectors before its rescale, and the scale
    /// of each plain vector there: after the rescale the sum has the scale of the first of `x`.
    pub fn dot_factors(self, x: &[Metadata]) -> Result<(usize, Vec<f64>)> {
        let level = x.iter().map(|x| x.level).min().ok_or_else(error::no_values)?;
        self.check_levels(1, level)?;
        let scale = x[0].meta.scale;
        let factors = x.iter().map(|x| {
            let factor = self.params().divisor(level) * (scale / x.meta.scale);
            self.check_factor(x, factor, LevelScale::new(level, scale))
        });
        Ok((level, factors.collect::<Result<_>>()?))
    }

    /// The scale of the constants that bring `x` to the scale needed; refuses scales of few bits.
    pub(super) fn check_factor(self, x: &Metadata, factor: f64, needed: LevelScale) -> Result<f64> {
        // Constants of a few bits would be rounded too coarsely: the operand was not rescaled.
        if factor < LEAST_FACTOR {
            return Err(error::other_scale(
                "a vector",
                x.level_scale(),
                needed,
                "it was not rescaled, `rescale` it first",
            ));
        }
        Ok(factor)
    }

    /// `x` at the end of a route.
    pub fn follow(self, x: &Metadata, route: &Route) -> Result<Metadata> {
        let mut at = self.dropped(x, route.from)?;
        if let Some(factor) = route.factor {
            // The constant multiplies phase, scale and noise alike; the message is unchanged.
            let factor = factor as f64;
            at.meta.scale *= factor;
            at.meta.noise = at.meta.noise * (factor * factor);
        }
        // One rescale a level: each adds its own rounding.
        while at.level > route.to {
            at = self.rescaled(&at)?;
        }
        Ok(at)
    }
}
