//! Tests of the CKKS and circuits crates through their public interface, in one program that needs
//! no optimisation. What they share serves their unit tests as well.

mod approx;
mod auto_bootstrap;
mod c2s;
mod circuits_agree;
mod common;
mod fbt;
mod hoisted;
mod integers;
mod learning;
mod matrix;
mod noise_flooding;
mod ordering;
mod param_search;
mod predictions;
mod publish;
mod ranks;
mod s2c;
mod silence;
mod simulator;
