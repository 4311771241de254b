//! Reduction modulo 1 (F_mod): removing the multiples of the modulus that a phase carries.
//!
//! A value decrypted inside CKKS is a phase `b + <a, s>` over the integers, that is `x = I + m` in
//! units of its modulus, with an unknown integer `I`. The sine forgets it:
//!
//! ```text
//! sin(2 pi x) = sin(2 pi m) = 2 pi m + O(m^3)
//! ```
//!
//! (PEGASUS Fig. 6, step 10; Cheon, Han, Kim, Kim and Song 2018). Evaluated here as
//!
//! ```text
//! sin(2 pi x) = cos(2 pi (x - 1/4)) = T_{2^r}( cos(2 pi (x - 1/4) / 2^r) ),
//! ```
//!
//! an even polynomial for the cosine of the divided angle and `r` double angles `2 c^2 - 1` (Han and
//! Ki 2020). How far `I` reaches depends on the weight of the secret, [`overflow_bound`]; interval,
//! `r` and degree follow from it, from the failure probability and from the error wanted
//! ([`Mod1::new`]).
//!
//! **Noise.** Every even function of `u` goes through `T_2(u) = 2 u^2 - 1`, and an error of that
//! shows in `cos(A u)` as `A sin(A u) / 4 u` times itself: up to `A^2 / 4` in the middle of the
//! interval, just where most `I` are. The symmetry that makes the polynomial even exists about every
//! integer plus 1/4, so the interval is centred on [`Mod1::offset`] `+ 1/4` instead of 1/4: a wider
//! interval (mostly at no level more) with the frequent values away from its middle. For a secret of
//! weight 192 this lowers the noise by 3.5 bits. [`Mod1::sensitivity`] follows every rescaling's error
//! to the result, [`Mod1::mean_sensitivity`] averages it, and [`Mod1::apply`] predicts its noise by it.
//!
//! That the result is a sine and not the identity is undone in the function before
//! (a look-up table can hold the arcsine for nothing), or by an odd polynomial after ([`Arcsine`]).

mod apply;
mod plan;

pub use apply::Mod1Output;
pub use plan::{Arcsine, Mod1, Mod1Spec, overflow_bound};
