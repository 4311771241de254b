//! The bridges between slots and LWE ciphertexts, and the choice between them.

/// A bridge from slots to LWE ciphertexts and back. Where none is named, the cheaper one for the
/// number of values serves, by fixed costs that were measured once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Bridge {
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
            Self::Ring => "ring",
            Self::Linear => "linear",
        }
    }
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
pub(crate) fn cheapest(count: usize, ring: bool, linear: bool) -> Option<Bridge> {
    match (ring, linear) {
        (true, true) if RING.of(count) <= LINEAR.of(count) => Some(Bridge::Ring),
        (_, true) => Some(Bridge::Linear),
        (true, false) => Some(Bridge::Ring),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_bridge_serves_few_values_and_ring_many() {
        assert_eq!(cheapest(16, true, true), Some(Bridge::Linear));
        assert_eq!(cheapest(1024, true, true), Some(Bridge::Ring));
        assert_eq!(cheapest(16, true, false), Some(Bridge::Ring));
        assert_eq!(cheapest(1024, false, true), Some(Bridge::Linear));
        assert_eq!(cheapest(1, false, false), None);
    }
}
