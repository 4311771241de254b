//! Predictions for plain look-ups, before any key exists.

use std::ops::RangeInclusive;

use bellerophon_ckks::noise_flooding::{Flooding, NoiseBound};
use bellerophon_lwe as lwe;

use super::{
    bridge_choice::BridgePath, domain::center, error_distribution::ErrorDistribution, flooding,
    map::Map, params::LutParams,
};
use crate::Result;

impl LutParams {
    /// The predicted distribution of the error of a look-up for values uniform in the domain, by
    /// tables with the parameters `tables` over a bridge.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`](crate::ErrorKind::Domain) and
    /// [`ErrorKind::DomainScale`](crate::ErrorKind::DomainScale) for domains that no look-up takes;
    /// an error that names the argument at which `f` is not finite.
    pub fn accuracy(
        &self,
        tables: &lwe::Params,
        path: BridgePath,
        domain: &RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<ErrorDistribution> {
        Map::new(self, tables, path, domain)?.accuracy(domain, f)
    }

    /// As [`accuracy`](Self::accuracy), with noise flooding on given terms for vectors with a given
    /// noise bound.
    ///
    /// # Errors
    /// As [`accuracy`](Self::accuracy), and an error of the tables if the noise would fill them.
    pub fn accuracy_flooded(
        &self,
        tables: &lwe::Params,
        path: BridgePath,
        domain: &RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        (terms, bound): (&Flooding, &NoiseBound),
    ) -> Result<ErrorDistribution> {
        let s2c = self.flooded_to_coefficients()?;
        let deviation = flooding::deviation(terms, bound, s2c, center(domain))?;
        Map::planned(self, tables, path, domain, Some(deviation))?.accuracy(domain, f)
    }

    /// Checks that tables of these parameters take the whole domain with this bridge.
    ///
    /// # Errors
    /// As [`accuracy`](Self::accuracy).
    pub fn check_covers(
        &self,
        tables: &lwe::Params,
        path: BridgePath,
        domain: &RangeInclusive<f64>,
    ) -> Result<()> {
        Map::new(self, tables, path, domain).map(drop)
    }
}
