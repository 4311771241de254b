//! The ring bridge: from the slots to LWE values under a small ring, and back, without a key switch
//! per value and without a product per coordinate.
//!
//! ```text
//! slots to LWE:  SlotsToCoeffs -> coefficients modulo q0 -> module of rank N/n' over the small
//!                ring -> rank 1 -> one LWE value per coefficient
//! LWE to slots:  ring packing -> sparse secret -> Y = X^(N/n') in the large ring -> mod raise
//!                -> CoeffsToSlots -> EvalMod -> slots
//! ```
//!
//! The secrets, where `q0` is the prime that all rings share:
//!
//! | secret | ring | largest modulus of a key under it |
//! | --- | --- | --- |
//! | `s`, of the slots | `N` | `Q P`, the whole chain |
//! | `z`, of the tables | `n'` | `q0` and a special prime of 50 bits |
//! | `z'`, sparse, drawn with the keys and dropped | `n'` | `q0` and a special prime of 39 bits |
//!
//! A phase modulo `q0` under a secret of weight `h`, read over the integers, has an overflow: a
//! multiple of `q0` with a standard deviation of `sqrt((h + 1) / 12)`. This is 15 under a dense `z`
//! of degree 4096 and 3.3 under `z'` of weight 128. The mod raise therefore happens under `z'`. The
//! key switch to `z'` happens in the small ring: in the large ring it would leave the subring of
//! `Y`, and projecting back takes rotations at the highest level. `z'(X^(N/n'))` has the security
//! of the small ring, since no key under it has a larger modulus than there: in the mod raise it is
//! the message of a key under `s` ([`ModRaiseKey`]).

pub(crate) mod bridge;
pub(crate) mod keys;
mod lwe_to_slots;
pub(crate) mod reduction;
mod slots_to_lwe;

#[cfg(doc)]
use bellerophon_mlwe::ModRaiseKey;
pub use bridge::{RingBridge, RingBridgeSpec};
pub use keys::RingBridgeKeys;
pub use reduction::Reduction;

#[cfg(test)]
mod tests;
