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
//! ([`Mod1::new`]).
//!
//! **Noise.** Every even function of `u` goes through `T_2(u) = 2 u^2 - 1`. An error of `T_2` is
//! multiplied by `A sin(A u) / 4 u` in `cos(A u)`: by up to `A^2 / 4` in the middle of the
//! interval, where most `I` are. The symmetry that makes the polynomial even exists about every
//! integer plus 1/4. The interval is therefore centred on an integer `+ 1/4` instead of 1/4:
//! it is wider (mostly at no extra level), with the frequent values away from its middle. For a
//! secret of weight 192 this lowers the noise by 3.5 bits. Levels of different sizes achieve more,
//! for the rare `I` as well: with larger scales of `T_2` and of `T_4`, whose error is multiplied by
//! up to `A^2 / 16` ([`Mod1Spec::early_bits`]). [`Mod1::mean_sensitivity`] averages the effect of
//! the error of every rescale over the expected `x`, and [`Mod1::apply`] predicts its noise in the
//! same way, with the scale of every rescale.
//!
//! The result is a sine and not the identity. A look-up table before it can hold the arcsine at no
//! cost; otherwise an odd polynomial follows ([`Arcsine`]).
//!
//! | module | contents |
//! | --- | --- |
//! | `plan` | [`Mod1`]: interval, degree and double angles for a secret |
//! | `apply` | metadata and computation |
//! | `largest` | the largest effect of errors |
//! | `worst` | the worst-case noise bound |

mod apply;
mod largest;
mod plan;
mod worst;

pub use apply::Mod1Output;
#[cfg(test)]
pub(crate) use apply::Part;
pub use plan::{Arcsine, Mod1, Mod1Spec, overflow_bound};
