//! Specifications of parameter sets.

use bellerophon_circuits::{bootstrap::BootstrapSpec, fbt::FbtSpec};
use bellerophon_ckks as ckks;
use bellerophon_lwe as lwe;

/// The specification of a parameter set; [`Params::new`](crate::Params::new) checks it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamsSpec {
    /// A name for reports.
    pub name: String,
    /// Arithmetic on slots: ring, modulus chain, scale.
    pub slots: ckks::ParamsSpec,
    /// Look-ups, optional: the LWE secret, its key switches, the ring of the tables. The ring
    /// modulus must be the first prime of the modulus chain of the slots.
    pub lookup: Option<lwe::ParamsSpec>,
    /// `log2` of the probability that the look-up of one value fails and returns garbage.
    pub log2_failure: f64,
    /// Hamming weight of the sparse secret of the ring bridge
    /// ([`lookup::RingBridge`](crate::lookup::RingBridge)). This secret lives in the ring of the
    /// tables and is used only under the lowest prime and a special prime of 39 bits. Without it,
    /// look-ups take the linear bridge.
    pub ring_bridge: Option<usize>,
    /// Bootstrapping, optional. It has its own [failure probability](BootstrapSpec::log2_failure),
    /// for a whole vector.
    pub bootstrap: Option<BootstrapSpec>,
    /// Functional bootstrapping of whole vectors, optional. It has its own
    /// [failure probability](FbtSpec::log2_failure), for a whole vector.
    pub functional: Option<FbtSpec>,
}

impl ParamsSpec {
    /// Arithmetic only: no look-ups, no bootstrapping.
    pub fn arithmetic(name: impl Into<String>, slots: ckks::ParamsSpec) -> Self {
        Self {
            name: name.into(),
            slots,
            lookup: None,
            log2_failure: -60.0,
            ring_bridge: None,
            bootstrap: None,
            functional: None,
        }
    }
}
