//! Which bridge a vector takes between its slots and the tables.

use crate::{Error, Lookups, Result};

/// A way between slots and LWE values, down and up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Bridge {
    /// The cheaper one, by measured costs.
    #[default]
    Auto,
    /// Over the small ring of the tables: one key switch down, packing by automorphisms and half a
    /// bootstrapping up ([`crate::repack::RingBridge`]). The only one that values can leave or enter
    /// without a table ([`Evaluator::extract`](crate::Evaluator::extract)).
    Ring,
    /// PEGASUS, Fig. 6: a key switch for each value down, a linear transform by the LWE secret up.
    Linear,
}

impl Bridge {
    /// A word for tables and command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ring => "ring",
            Self::Linear => "linear",
        }
    }
}

/// One of the two, decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Ring,
    Linear,
}

/// Milliseconds that a bridge takes down and up, on one thread, at the sizes of
/// [`Preset::Functions`](crate::Preset::Functions): only their ratio matters.
struct Cost {
    fixed: f64,
    per_value: f64,
}

/// Measured: up 0.8 to 1.0 s for 1 to 1024 values.
const RING: Cost = Cost { fixed: 900.0, per_value: 0.2 };

/// Measured: 0.9 ms down for each value, up 0.35 s for one and 1.3 s for 1024.
const LINEAR: Cost = Cost { fixed: 340.0, per_value: 1.9 };

impl Cost {
    fn of(&self, count: usize) -> f64 {
        self.fixed + self.per_value * count as f64
    }
}

/// The cheapest way for so many values among those at hand.
pub(crate) fn cheapest(count: usize, ring: bool, linear: bool) -> Option<Way> {
    match (ring, linear) {
        (true, true) if RING.of(count) <= LINEAR.of(count) => Some(Way::Ring),
        (_, true) => Some(Way::Linear),
        (true, false) => Some(Way::Ring),
        (false, false) => None,
    }
}

impl Lookups {
    /// What a bridge stands for with these parameters, for as many values as the small ring takes at
    /// once.
    ///
    /// # Errors
    /// [`Error::NoRingBridge`] and [`Error::NoLinearBridge`] when it is asked for and the parameters have
    /// none.
    pub(crate) fn way(&self, op: &'static str, bridge: Bridge) -> Result<Way> {
        match (bridge, self.ring()) {
            (Bridge::Linear, _) if !self.linear() => {
                Err(Error::NoLinearBridge { op, dimension: self.lattice().dimension() })
            }
            (Bridge::Linear, _) => Ok(Way::Linear),
            (Bridge::Ring, None) => Err(Error::NoRingBridge { op }),
            (Bridge::Ring, Some(_)) => Ok(Way::Ring),
            (Bridge::Auto, ring) => {
                let count = self.lattice().ring_degree() / 2;
                Ok(cheapest(count, ring.is_some(), self.linear()).unwrap_or(Way::Linear))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_go_over_the_linear_bridge_and_many_over_the_ring() {
        assert_eq!(cheapest(16, true, true), Some(Way::Linear));
        assert_eq!(cheapest(1024, true, true), Some(Way::Ring));
        assert_eq!(cheapest(16, true, false), Some(Way::Ring));
        assert_eq!(cheapest(1024, false, true), Some(Way::Linear));
        assert_eq!(cheapest(1, false, false), None);
    }
}
