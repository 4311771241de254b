//! The error of functions of several values, predicted before any key exists.

use std::ops::RangeInclusive;

use bellerophon_lookup::{OrderAccuracy, OrderFunction};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};

#[cfg(doc)]
use crate::ordering::OrderOps;
use crate::params::Params;

impl Params {
    /// Predicts the error of a function of [`OrderOps`] on a domain, for operands fresh from the
    /// client and keys of [`Needs::map`](crate::Needs::map).
    ///
    /// Every comparator in a row adds one error, so sorting many values is less precise than the
    /// maximum of two. Values closer than [`OrderAccuracy::order_gap`] may come back in either
    /// order.
    ///
    /// ```
    /// use bellerophon::{OrderFunction, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let params = Params::preset(Preset::Functions)?;
    /// let max = params.order_accuracy(0.0..=1.0, OrderFunction::Max { vectors: 2 })?;
    /// let sort = params.order_accuracy(0.0..=1.0, OrderFunction::Sort { values: 64 })?;
    /// assert!(max.rms < 0.01 && sort.rms > 4.0 * max.rms);
    /// println!("errors up to {:.3}, in order beyond {:.3}", sort.max_abs(64), sort.order_gap());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] without a ring bridge, and an error for networks deeper than the
    /// tables allow.
    pub fn order_accuracy(
        &self,
        domain: RangeInclusive<f64>,
        function: OrderFunction,
    ) -> Result<OrderAccuracy> {
        operation("order_accuracy", || self.lookups()?.order_accuracy(&domain, function))
    }
}
