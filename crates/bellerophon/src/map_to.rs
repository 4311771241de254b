//! Look-ups to a requested accuracy.

use std::ops::RangeInclusive;

use bellerophon_ckks::Ciphertext;
use bellerophon_repack::lookup::Smooth;

#[cfg(doc)]
use crate::ErrorKind;
use crate::{During, Evaluator, MapPlan, Result};

impl Evaluator {
    /// Applies any function to every value, to a requested accuracy: with probability 95% the
    /// largest error of 1024 values uniform in the domain is below `2^-bits max(1, max |f|)`.
    ///
    /// A plain table ([`map_over`](Self::map_over)) serves if it is accurate enough. Otherwise
    /// tables of the identity and of the coefficients of local polynomials of `f` are read at one
    /// index, and [`MapPlan::order`] products remove the error of that index: smooth functions gain
    /// several bits. At a kink (ReLU, the absolute value) the error of a plain table remains, and
    /// the prediction includes it.
    ///
    /// The level of the result is [`MapPlan::levels`] below
    /// [`LutParams::level_after`](crate::LutParams::level_after); padding is zero. An operand below
    /// [`LutParams::level_to_correct`](crate::LutParams::level_to_correct) is packed beside its
    /// tables. Each of the `order + 2` tables (or one more) can fail as in [`map`](Self::map): a
    /// value fails with a probability of at most `2^`[`log2_failure`](crate::Params::log2_failure)
    /// `(order + 4) / 2`. `f` is called only on the carried range of `x`.
    ///
    /// The polynomials are fitted to `f`; derivatives are not needed.
    ///
    /// # Errors
    /// As for [`map_over`](Self::map_over); [`ErrorKind::MissingKeys`] without
    /// [`Needs::map_to`](crate::Needs::map_to), [`ErrorKind::Accuracy`] if no correction reaches
    /// the accuracy, [`ErrorKind::NoCorrection`] for parameters without corrected look-ups.
    pub fn map_to(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
    ) -> Result<Ciphertext> {
        self.map_to_with(x, domain, f, &[], bits)
    }

    /// As [`map_to`](Self::map_to), with the derivatives of `f`, the first one first. The
    /// polynomials are Taylor polynomials whose degree is at most the number of derivatives. This
    /// is for functions that are known to only a few digits more than the result, so that a fit to
    /// their differences fails, and for functions that are slow to compute: each derivative is
    /// called a few times per cell of a table, where a fit calls `f` some sixty times per cell and
    /// degree. Without derivatives the polynomials are fitted.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map_to())?)?;
    /// let x = client.encrypt(&[0.5, -1.25], -4.0..=4.0)?;
    /// let slope = |x: f64| 1.0 - x.tanh().powi(2);
    /// let bend = |x: f64| -2.0 * x.tanh() * slope(x);
    /// let y = server.map_to_with(&x, -4.0..=4.0, f64::tanh, &[&slope, &bend], 8.0)?;
    /// assert!((client.decrypt(&y)?[0] - 0.5f64.tanh()).abs() < 2f64.powi(-8));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`map_to`](Self::map_to); derivatives that are not finite where values can lie are
    /// refused as `f` is.
    pub fn map_to_with(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
    ) -> Result<Ciphertext> {
        let op = "map_to";
        Ok(self
            .lookup()
            .during(op)?
            .map_to(x, &domain, &Smooth::new(&f, derivatives), bits)
            .during(op)?)
    }

    /// The plan by which [`map_to_with`](Self::map_to_with) reaches the accuracy for the same
    /// arguments: [`Params::map_to_plan`](crate::Params::map_to_plan) with the engine of the keys,
    /// and with the carried range of `x` in place of the whole domain.
    ///
    /// # Errors
    /// As [`map_to_with`](Self::map_to_with), except those of the evaluation itself.
    pub fn map_to_plan(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
    ) -> Result<MapPlan> {
        let op = "map_to_plan";
        Ok(self
            .lookup()
            .during(op)?
            .map_to_plan(x, &domain, &Smooth::new(&f, derivatives), bits)
            .during(op)?)
    }
}
