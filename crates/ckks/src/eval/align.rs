//! Bringing two operands to one level and one scale.

use std::borrow::Cow;

use super::Evaluator;
use crate::{Ciphertext, Result, books::Route, bootstrap::automatic};

impl Evaluator {
    /// Drops the ciphertext to `level`: the same message modulo fewer primes. Free of noise.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh) when the ciphertext is below that level
    /// already; [`Error::RangeOverflow`](crate::Error::RangeOverflow) when the message does not fit
    /// there.
    pub fn drop_to_level(&self, ct: &Ciphertext, level: usize) -> Result<Ciphertext> {
        let op = "drop levels";
        self.check(op, ct)?;
        self.books().drop_to_level(op, &ct.account(), level)?;
        Ok(self.dropped(op, ct, level)?.into_owned())
    }

    /// Brings the ciphertext to the given level and scale, by a multiplication with a constant and
    /// rescaling where the scales differ (which takes a level).
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh),
    /// [`Error::ScaleMismatch`](crate::Error::ScaleMismatch) when no level is to spare,
    /// [`Error::RangeOverflow`](crate::Error::RangeOverflow).
    pub fn match_scale(&self, ct: &Ciphertext, scale: f64, level: usize) -> Result<Ciphertext> {
        let op = "match a scale";
        self.check(op, ct)?;
        let route = self.books().match_scale(op, &ct.account(), scale, level);
        if automatic::is_stuck(self, ct.level(), level, &route) {
            return self.drop_to_level(&self.refresh_to(ct, scale)?, level);
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
    fn follow<'c>(
        &self,
        op: &'static str,
        ct: &'c Ciphertext,
        route: &Route,
    ) -> Result<Cow<'c, Ciphertext>> {
        let account = self.books().follow(op, &ct.account(), route)?;
        if *route == Route::drop_to(ct.level()) {
            return Ok(Cow::Borrowed(ct));
        }
        let (lattice, limbs) = (self.params().lattice(), self.params().limbs_at(route.from));
        let b = ct.inner.b().limb_range(0..limbs);
        let a = ct.inner.masks().iter().map(|mask| mask.limb_range(0..limbs)).collect();
        let mut inner = bellerophon_mlwe::Ciphertext::new(lattice, b, a, ct.key())?;
        if let Some(factor) = route.factor {
            self.mul_integer_assign(&mut inner, factor);
        }
        for _ in route.to..route.from {
            inner = self.divided(inner)?;
        }
        Ok(Cow::Owned(Ciphertext::at_level(self.params(), inner, account.meta)))
    }

    /// As [`follow`](Self::follow) for an operand that may have been refreshed.
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

    /// Two operands at one level and one scale. A difference of scales costs a level of the one
    /// that has more of them; of both, when they stand at one level.
    pub(super) fn align<'c>(
        &self,
        op: &'static str,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>)> {
        self.check(op, x)?;
        self.check(op, y)?;
        let (x, y) = automatic::aligned(self, op, x, y)?;
        let (to_x, to_y) = self.books().align(op, &x.account(), &y.account())?;
        Ok((self.followed(op, x, &to_x)?, self.followed(op, y, &to_y)?))
    }

    /// Two factors at one level, and at one scale where that costs nothing but a rescaling.
    pub(super) fn align_factors<'c>(
        &self,
        op: &'static str,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>)> {
        self.check(op, x)?;
        self.check(op, y)?;
        let (to_x, to_y) = self.books().align_factors(&x.account(), &y.account());
        Ok((self.follow(op, x, &to_x)?, self.follow(op, y, &to_y)?))
    }
}
