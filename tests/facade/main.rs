//! The tests of the facade, in one program: what they share is built and linked once.

#[path = "../common/mod.rs"]
mod common;
mod corrected_lut;
mod debugger;
mod domains;
mod engine_choice;
mod full;
#[cfg(feature = "long-tests")]
mod full_size;
mod functional;
mod leaks;
mod levels;
#[cfg(feature = "long-tests")]
mod lwe_sizes;
mod messages;
mod misuse;
mod needs;
mod noise_flooding;
#[cfg(feature = "long-tests")]
mod order_accuracy;
mod ordering;
mod origins;
mod padding;
#[cfg(feature = "long-tests")]
mod param_search;
mod parts;
mod pipeline;
mod planner;
#[cfg(feature = "long-tests")]
mod predictions;
mod presets;
mod progress;
mod promises;
mod public_key;
mod ranks;
mod roundings;
mod small_values;
mod vectors;
