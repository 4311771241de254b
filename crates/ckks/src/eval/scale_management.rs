//! Scale management: two operands at one level and one scale.

use std::borrow::Cow;

use super::Evaluator;
use crate::{Ciphertext, Result, bootstrap::auto_bootstrap, metadata::rules::Route};

impl Evaluator {
    /// Drops the ciphertext to `level`: the same message modulo fewer primes, without noise.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh) when the ciphertext is below that level;
    /// [`Error::RangeOverflow`](crate::Error::RangeOverflow) when the message does not fit its
    /// modulus.
    pub fn drop_to_level(&self, ct: &Ciphertext, level: usize) -> Result<Ciphertext> {
        let op = "drop_to_level";
        self.check(op, ct)?;
        self.rules().drop_to_level(op, &ct.metadata(), level)?;
        Ok(self.dropped(op, ct, level)?.into_owned())
    }

    /// The ciphertext at the given level and scale. If the scales differ, a product with a constant
    /// and a rescale match them, which takes a level.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh),
    /// [`Error::ScaleMismatch`](crate::Error::ScaleMismatch) without a spare level,
    /// [`Error::RangeOverflow`](crate::Error::RangeOverflow).
    pub fn match_scale(&self, ct: &Ciphertext, scale: f64, level: usize) -> Result<Ciphertext> {
        let op = "match_scale";
        self.check(op, ct)?;
        let route = self.rules().match_scale(op, &ct.metadata(), scale, level);
        // Too few levels for the constant: a bootstrap gives the scale directly.
        if auto_bootstrap::is_stuck(self, ct.level(), level, &route) {
            return self.drop_to_level(&self.bootstrap_to(ct, scale)?, level);
        }
        let route = route?;
        Ok(self.follow(op, ct, &route)?.into_owned())
    }

    /// The ciphertext at `level`, at most its own.
    pub(super) fn dropped<'c>(
        &self,
        op: &'static str,
        ct: &'c Ciphertext,
        level: usize,
    ) -> Result<Cow<'c, Ciphertext>> {
        self.follow(op, ct, &Route::drop_to(level))
    }

    /// The ciphertext at the end of a route.
    pub(crate) fn follow<'c>(
        &self,
        op: &'static str,
        ct: &'c Ciphertext,
        route: &Route,
    ) -> Result<Cow<'c, Ciphertext>> {
        let metadata = self.rules().follow(op, &ct.metadata(), route)?;
        // The common case of aligned operands copies nothing.
        if *route == Route::drop_to(ct.level()) {
            return Ok(Cow::Borrowed(ct));
        }
        // Drop to the first level of the route.
        let (lattice, limbs) = (self.params().lattice(), self.params().limbs_at(route.from));
        let b = ct.inner.b().limb_range(0..limbs);
        let a = ct.inner.masks().iter().map(|mask| mask.limb_range(0..limbs)).collect();
        let mut inner = bellerophon_mlwe::Ciphertext::new(lattice, b, a, ct.key())?;
        // Multiply by the constant and rescale to the last level.
        if let Some(factor) = route.factor {
            self.mul_integer_assign(&mut inner, factor);
        }
        for _ in route.to..route.from {
            inner = self.divided(inner)?;
        }
        Ok(Cow::Owned(Ciphertext::at_level(self.params(), inner, metadata.meta)))
    }

    /// As [`follow`](Self::follow) for an operand that may have been bootstrapped.
    fn followed<'c>(
        &self,
        op: &'static str,
        ct: Cow<'c, Ciphertext>,
        route: &Route,
    ) -> Result<Cow<'c, Ciphertext>> {
        match ct {
            Cow::Borrowed(ct) => self.follow(op, ct, route),
            Cow::Owned(ct) => Ok(Cow::Owned(self.follow(op, &ct, route)?.into_owned())),
        }
    }

    /// Two operands at one level and one scale. Different scales cost a level of the operand with
    /// more levels, or of both if they are at one level.
    pub(super) fn align<'c>(
        &self,
        op: &'static str,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>)> {
        self.check(op, x)?;
        self.check(op, y)?;
        // A bootstrap changes level and scale, so it comes before the routes are planned.
        let (x, y) = auto_bootstrap::aligned(self, op, x, y)?;
        let (to_x, to_y) = self.rules().align(op, &x.metadata(), &y.metadata())?;
        Ok((self.followed(op, x, &to_x)?, self.followed(op, y, &to_y)?))
    }

    /// Two factors at one level, and at one scale if that costs a rescale only.
    pub(super) fn align_factors<'c>(
        &self,
        op: &'static str,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>)> {
        self.check(op, x)?;
        self.check(op, y)?;
        let (to_x, to_y) = self.rules().align_factors(&x.metadata(), &y.metadata());
        Ok((self.follow(op, x, &to_x)?, self.follow(op, y, &to_y)?))
    }
}
