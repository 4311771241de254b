//! Parameter sets as they travel: lattice, levels, scale, and the route of relinearisation.

use bellerophon_mlwe::{self as mlwe, MOST_PRIMES, RelinRoute, Security};
use bellerophon_ring::wire::{List, Wire};
use serde::{Deserialize, Serialize};

use crate::{Error, Params, Result};

/// The plain form of a parameter set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParamsForm {
    lattice: mlwe::wire::ParamsForm,
    /// Primes of level `1, 2, ..`.
    widths: List<u32, MOST_PRIMES>,
    log_scale: u32,
    route: RouteForm,
}

/// The choice of a route may change from one version to the next: it travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RouteForm {
    /// How many polynomials one of the larger ring holds.
    factor: u32,
    /// A temporary rank with its special primes.
    temporary: Option<(u32, List<u64, MOST_PRIMES>)>,
}

/// Read for the security that the sender must have checked; [`Security::Insecure`] takes any set.
impl Wire for Params {
    const KIND: u16 = super::kind::PARAMS;
    const NAME: &'static str = "parameters of arithmetic";
    type Params = Security;
    type Form<'a> = ParamsForm;
    type Error = Error;

    fn to_form(&self, _: &Security) -> Result<ParamsForm> {
        let route = self.route();
        let special = || List(route.raised().spec().p.clone());
        let widths = (1..=self.max_level()).map(|l| self.limbs_at(l) - self.limbs_at(l - 1));
        Ok(ParamsForm {
            lattice: self.lattice().spec().into(),
            widths: List(widths.map(|width| width as u32).collect()),
            log_scale: self.scale().log2().round() as u32,
            route: RouteForm {
                factor: route.factor() as u32,
                temporary: route.is_raised().then(|| (route.raised().rank() as u32, special())),
            },
        })
    }

    fn from_form(wanted: &Security, form: ParamsForm) -> Result<Self> {
        let ParamsForm { lattice, widths, log_scale, route } = form;
        let lattice = mlwe::Params::new(lattice.into_spec(*wanted)?)?;
        let levels = lattice.limbs() - 1;
        if widths.0.is_empty() && levels > 0 {
            let reason = format!("no primes for any of up to {levels} levels above the lowest");
            return Err(Error::Params { reason });
        }
        let widths: Vec<usize> = widths.0.into_iter().map(|width| width as usize).collect();
        let temporary = route.temporary.map(|(rank, primes)| (rank as usize, primes.0));
        let route = RelinRoute::new(&lattice, route.factor as usize, temporary)?;
        Self::along(route, &widths, log_scale)
    }
}
