//! EvalMod: the homomorphic reduction modulo 1, which removes the multiples of the modulus from a
//! phase (F_mod in PEGASUS).
//!
//! A value decrypted inside CKKS is a phase `b + <a, s>` over the integers, that is `x = I + m` in
//! units of its modulus, with an unknown integer `I`. The sine removes `I`:
//!
//! ```text
//! sin(2 pi x) = sin(2 pi m) = 2 pi m + O(m^3)
//! ```
//!
//! (PEGASUS Fig. 6, step 10; Cheon, Han, Kim, Kim and Song 2018). It is evaluated as
//!
//! ```text
//! sin(2 pi x) = cos(2 pi (x - 1/4)) = T_{2^r}( cos(2 pi (x - 1/4) / 2^r) ),
//! ```
//!
//! an even polynomial for the cosine of the divided angle and `r` double angles `2 c^2 - 1` (Han
//! and Ki 2020). The largest `I` depends on the weight of the secret ([`overflow_bound`]).
//! Interval, `r` and degree follow from it, from the failure probability and from the wanted error
//! ([`Mod1::new`]). [`Mod1`] says how errors grow.
//!
//! The result is a sine and not the identity. A look-up table before it can hold the arcsine at no
//! cost; otherwise an odd polynomial follows ([`Arcsine`]).

mod apply;
mod largest;
mod plan;
mod worst;

pub use apply::Mod1Output;
#[cfg(test)]
pub(crate) use apply::Part;
pub use plan::{Arcsine, Mod1, Mod1Spec, overflow_bound};
