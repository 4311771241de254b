//! Scale management: two operands at one level and one scale.

use std::borrow::Cow;

use super::Evaluator;
use crate::{
    Ciphertext, CkksOps, During, Result, bootstrap::auto_bootstrap, encode::check_scale,
    metadata::alignment::Route,
};

impl Evaluator {
    /// Computes [`CkksOps::drop_to_level`](crate::CkksOps::drop_to_level).
    pub(crate) fn drop_to_level(&self, ct: &Ciphertext, level: usize) -> Result<Ciphertext> {
        let op = "drop_to_level";
        self.check(ct).during(op)?;
        self.rules().drop_to_level(&ct.metadata(), level).during(op)?;
        Ok(self.dropped(ct, level).during(op)?.into_owned())
    }

    /// Computes [`CkksOps::match_scale`](crate::CkksOps::match_scale).
    pub(crate) fn match_scale(
        &self,
        ct: &Ciphertext,
        scale: f64,
        level: usize,
    ) -> Result<Ciphertext> {
        let op = "match_scale";
        self.check(ct).during(op)?;
        check_scale(scale).during(op)?;
        let route = self.rules().match_scale(&ct.metadata(), scale, level).during(op);
        // Too few levels for the constant: a bootstrap gives the scale directly.
        if auto_bootstrap::is_stuck(self, ct.level(), level, &route) {
            return self.drop_to_level(&self.bootstrap_automatically(ct, scale)?, level);
        }
        let route = route?;
        Ok(self.follow(ct, &route).during(op)?.into_owned())
    }

    /// The ciphertext at `level`, at most its own.
    pub(super) fn dropped<'c>(
        &self,
        ct: &'c Ciphertext,
        level: usize,
    ) -> Result<Cow<'c, Ciphertext>> {
        self.follow(ct, &Route::drop_to(level))
    }

    /// The ciphertext at the end of a route.
    pub(crate) fn follow<'c>(
        &self,
        ct: &'c Ciphertext,
        route: &Route,
    ) -> Result<Cow<'c, Ciphertext>> {
        let metadata = self.rules().follow(&ct.metadata(), route)?;
        // The common case of aligned operands copies nothing.
        if *route == Route::drop_to(ct.level()) {
            return Ok(Cow::Borrowed(ct));
        }
        // Drop to the first level of the route.
        let (lattice, limbs) = (self.params().lattice(), self.params().limbs_at(route.from));
        let b = ct.inner.b().limb_range(0..limbs);
        let a = ct.inner.masks().iter().map(|mask| mask.limb_range(0..limbs)).collect();
        let mut inner = bellerophon_mlwe::Ciphertext::new(lattice, b, a, ct.lattice().ident().key)?;
        // Multiply by the constant and rescale to the last level.
        if let Some(factor) = route.factor {
            self.mul_integer_assign(&mut inner, factor);
        }
        for _ in route.to..route.from {
            inner = self.divided(inner)?;
        }
        let origins = ct.origins.clone();
        Ok(Cow::Owned(Ciphertext::at_level(self.params(), inner, metadata.meta, origins)))
    }

    /// As [`follow`](Self::follow) for an operand that may have been bootstrapped.
    fn followed<'c>(&self, ct: Cow<'c, Ciphertext>, route: &Route) -> Result<Cow<'c, Ciphertext>> {
        match ct {
            Cow::Borrowed(ct) => self.follow(ct, route),
            Cow::Owned(ct) => Ok(Cow::Owned(self.follow(&ct, route)?.into_owned())),
        }
    }

    /// Two operands at one level and one scale. Different scales cost a level of the operand with
    /// more levels, or of both if they are at one level.
    pub(super) fn align<'c>(
        &self,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>)> {
        self.check(x)?;
        self.check(y)?;
        // A bootstrap changes level and scale, so it comes before the routes are planned.
        let (x, y) = auto_bootstrap::aligned(self, x, y)?;
        let (to_x, to_y) = self.rules().align(&x.metadata(), &y.metadata())?;
        Ok((self.followed(x, &to_x)?, self.followed(y, &to_y)?))
    }

    /// Two factors at one level, and at one scale if that costs a rescale only.
    pub(super) fn align_factors<'c>(
        &self,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>)> {
        self.check(x)?;
        self.check(y)?;
        let (to_x, to_y) = self.rules().align_factors(&x.metadata(), &y.metadata());
        Ok((self.follow(x, &to_x)?, self.follow(y, &to_y)?))
    }
}
