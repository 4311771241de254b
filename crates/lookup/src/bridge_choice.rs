//! The bridges between slots and LWE ciphertexts, and the choice between them.

use serde::{Deserialize, Serialize};

/// A path from slots to LWE ciphertexts and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Bridge {
    /// The bridge that is cheaper for the number of values, by fixed costs that were measured once.
    #[default]
    Auto,
    /// Through the ring of the tables: one key switch from slots to LWE; ring packing by
    /// automorphisms and half a bootstrap from LWE to slots. Corrected look-ups
    /// (`MapRequest::bits`), several functions at once (`Evaluator::map_many`), and extraction and
    /// packing without a table (`Evaluator::extract`, `Evaluator::pack`) need this bridge.
    Ring,
    /// PEGASUS, Fig. 6: a key switch per value from slots to LWE; a linear transform with the
    /// encrypted LWE secret from LWE to slots.
    Linear,
}

impl Bridge {
    /// The name in tables and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ring => "ring",
            Self::Linear => "linear",
        }
    }
}

/// A bridge that has been chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BridgePath {
    /// Through the ring of the tables.
    Ring,
    /// PEGASUS, Fig. 6.
    Linear,
}

/// Milliseconds of a bridge in both directions, on one thread, at `N = 2^15`, tables of degree
/// 4096 and an LWE secret of dimension 1024. Only their ratio matters.
struct Cost {
    fixed: f64,
    per_value: f64,
}

/// Measured: 0.8 to 1.0 s from LWE to slots for 1 to 1024 values.
const RING: Cost = Cost { fixed: 900.0, per_value: 0.2 };

/// Measured: 0.9 ms per value from slots to LWE; back, 0.35 s for one value and 1.3 s for 1024.
const LINEAR: Cost = Cost { fixed: 340.0, per_value: 1.9 };

impl Cost {
    fn of(&self, count: usize) -> f64 {
        self.fixed + self.per_value * count as f64
    }
}

/// The cheaper of the available bridges for `count` values.
pub(crate) fn cheapest(count: usize, ring: bool, linear: bool) -> Option<BridgePath> {
    match (ring, linear) {
        (true, true) if RING.of(count) <= LINEAR.of(count) => Some(BridgePath::Ring),
        (_, true) => Some(BridgePath::Linear),
        (true, false) => Some(BridgePath::Ring),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_bridge_serves_few_values_and_ring_many() {
        assert_eq!(cheapest(16, true, true), Some(BridgePath::Linear));
        assert_eq!(cheapest(1024, true, true), Some(BridgePath::Ring));
        assert_eq!(cheapest(16, true, false), Some(BridgePath::Ring));
        assert_eq!(cheapest(1024, false, true), Some(BridgePath::Linear));
        assert_eq!(cheapest(1, false, false), None);
    }
}
