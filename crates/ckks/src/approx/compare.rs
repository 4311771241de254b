//! Sign, comparison, maximum, minimum, magnitude.

use super::sign::{Kind, Sign};
use crate::polynomial::check_domain;
use crate::{Bounds, Ciphertext, Evaluator, Interval, Result};
use bellerophon_mlwe as mlwe;

impl Evaluator {
    /// The sign of every slot: within [`Sign::error`] of -1 or 1 where `margin <= |x|`, between
    /// them where `x` is nearer to zero. Takes [`Sign::levels`] levels.
    ///
    /// # Errors
    /// [`OutsideDomain`](crate::Error::OutsideDomain) when the carried range leaves the radius
    /// ([`Sign::within`] takes a larger one, [`Ciphertext::assume_range`] states a smaller range),
    /// [`OutOfLevels`](crate::Error::OutOfLevels), [`MissingKey`](crate::Error::MissingKey) without
    /// a relinearisation key, and mismatches.
    pub fn sign(&self, x: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.signed("sign", x, sign, Kind::Sign, self.params().scale())
    }

    /// 1 where `x >= margin`, 0 where `x <= -margin`, within half of [`Sign::error`]; at the price of
    /// [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    pub fn step(&self, x: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.signed("step", x, sign, Kind::Step, self.params().scale())
    }

    /// 1 where `x > y`, 0 where `x < y`, within half of [`Sign::error`] wherever the two differ by at
    /// least the margin: the [`step`](Self::step) of `x - y`, whose range must be within the radius
    /// (1 serves for numbers of `[0, 1]`).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    pub fn greater(&self, x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.step(&self.sub(x, y)?, sign)
    }

    /// The larger of the two, slot by slot, as `y + (x - y) step(x - y)`, within half of
    /// [`Sign::magnitude_error`] for any `x` and `y` that differ by no more than the radius. Takes a
    /// level more than [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    pub fn max(&self, x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        let difference = self.sub(x, y)?;
        let mut larger = self.stepped("maximum", &difference, Some(y), sign)?;
        let of =
            |x: &Interval, y: &Interval| Interval::between(x.lo().max(y.lo()), x.hi().max(y.hi()));
        larger.meta.bounds = widened(x.meta.bounds.zip(&y.meta.bounds, of), sign);
        Ok(larger)
    }

    /// The smaller of the two, slot by slot, as `-max(-x, -y)`; see [`max`](Self::max).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    pub fn min(&self, x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        let smaller = self.max(&self.neg(x)?, &self.neg(y)?, sign)?;
        self.neg(&smaller)
    }

    /// `|x|` as `x sign(x)`, within [`Sign::magnitude_error`] everywhere. Takes a level more than
    /// [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    pub fn abs(&self, x: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        let op = "absolute value";
        let (scale, _) = self.factor_scale(op, x, sign)?;
        let s = self.signed(op, x, sign, Kind::Sign, scale)?;
        let mut magnitude = self.mul(&self.drop_to_level(x, s.level())?, &s)?;
        let of = |x: &Interval| {
            let least =
                if x.lo() <= 0.0 && x.hi() >= 0.0 { 0.0 } else { x.lo().abs().min(x.hi().abs()) };
            Interval::between(least, x.bound())
        };
        magnitude.meta.scale = self.params().scale();
        magnitude.meta.bounds = widened(x.meta.bounds.map(of), sign);
        Ok(magnitude)
    }

    /// `max(x, 0)` as `x step(x)`, within half of [`Sign::magnitude_error`] everywhere. Takes a
    /// level more than [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    pub fn relu(&self, x: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        let mut positive = self.stepped("rectifier", x, None, sign)?;
        let of = |x: &Interval| Interval::between(x.lo().max(0.0), x.hi().max(0.0));
        positive.meta.bounds = widened(x.meta.bounds.map(of), sign);
        Ok(positive)
    }

    /// `base + d step(d)` at the default scale; the range is the caller's.
    fn stepped(
        &self,
        op: &'static str,
        d: &Ciphertext,
        base: Option<&Ciphertext>,
        sign: &Sign,
    ) -> Result<Ciphertext> {
        let (scale, level) = self.factor_scale(op, d, sign)?;
        let step = self.signed(op, d, sign, Kind::Step, scale)?;
        let d = self.drop_to_level(d, level)?;
        let terms: Vec<_> = base.into_iter().map(|base| (base, 1.0)).collect();
        self.combination(&[(&d, &step)], &terms, 0.0, Some(self.params().scale()))
    }

    /// The scale at which the sign of `x` makes its product with `x` come out at the default scale,
    /// and the level of that product.
    fn factor_scale(&self, op: &'static str, x: &Ciphertext, sign: &Sign) -> Result<(f64, usize)> {
        let first = sign.polynomials(Kind::Sign).next().expect("at least one polynomial");
        let levels =
            sign.levels() - first.levels() + self.books().polynomial_levels(&x.account(), first);
        self.check_levels(op, levels + 1, x.level())?;
        let level = x.level() - levels;
        Ok((self.params().scale() * self.params().divisor(level) / x.scale(), level))
    }

    /// The polynomials one after the other, the last one to the given scale.
    fn signed(
        &self,
        op: &'static str,
        x: &Ciphertext,
        sign: &Sign,
        kind: Kind,
        scale: f64,
    ) -> Result<Ciphertext> {
        self.check(op, x)?;
        check_domain(op, &x.meta().bounds, -sign.radius(), sign.radius())?;
        self.check_levels(op, sign.levels(), x.level())?;
        let unit = Interval::real(-1.0, 1.0)?;
        let mut y = x.clone();
        let count = sign.degrees().len();
        for (i, p) in sign.polynomials(kind).enumerate() {
            let last = i + 1 == count;
            y = self.polynomial(&y, p, last.then_some(scale))?;
            y.meta.bounds = Bounds::all(unit);
        }
        let largest = 1.0 + sign.error();
        let (half, range) = match kind {
            Kind::Sign => (1.0, Interval::real(-largest, largest)?),
            Kind::Step => (0.5, Interval::real(0.5 - 0.5 * largest, 0.5 + 0.5 * largest)?),
        };
        // What the polynomials predict one by one averages over arguments that do not occur.
        let noise = x.meta.variance / x.scale().powi(2);
        let rounding =
            mlwe::noise::rounding(self.params().lattice()) / self.params().scale().powi(2);
        y.meta.variance = sign.sensitivity().variance(noise, rounding) * (half * scale).powi(2);
        y.meta.bounds = Bounds::all(range);
        Ok(y)
    }
}

/// A range, and the error that an approximate magnitude adds to it.
fn widened(bounds: Bounds, sign: &Sign) -> Bounds {
    let error = sign.magnitude_error();
    bounds.map(|range| Interval::between(range.lo() - error, range.hi() + error))
}
