//! Full-size runs that take minutes: `cargo test --release -p bellerophon --features long-tests`.
#![cfg(feature = "long-tests")]

mod common;

use bellerophon::prelude::*;
use common::{check_map, party, relu, sigmoid};

#[test]
fn a_thousand_values_and_a_full_vector() {
    let party = party(Preset::Functions, &Needs::new().map(), 2);
    check_map(&party, 1024, f64::tanh, 6.0, 2.75);
    check_map(&party, party.client.params().slots(), sigmoid, 7.5, 4.5);
}

#[test]
fn the_dense_twin_keeps_its_promises() {
    let party = party(Preset::FunctionsDense, &Needs::new().map(), 3);
    check_map(&party, 150, sigmoid, 7.5, 5.0);
    check_map(&party, 150, f64::tanh, 6.0, 2.75);
    check_map(&party, 150, relu, 6.0, 2.75);
}
