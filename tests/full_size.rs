//! The preset for functions at its full size, against the accuracy that the project claims.

mod common;

use bellerophon::{lwe, prelude::*};
use common::{check_map, encrypt, errors, party, relu, sigmoid, spread};

#[test]
fn preset_functions_keeps_its_promises() {
    let party = party(Preset::Functions, &Needs::new().multiply().map(), 1);
    assert!(party.client.params().security_bits() >= 128.0);
    assert!(party.client.params().slots() >= 1 << 13);
    for count in [1, 3] {
        check_map(&party, count, sigmoid, 7.5, 5.0);
    }
    check_map(&party, 150, sigmoid, 7.5, 5.0);
    check_map(&party, 150, f64::tanh, 6.0, 2.75);
    check_map(&party, 150, relu, 6.0, 2.75);

    // Two ciphertexts of the small ring full of values, out of the slots and back without a table:
    // right to 12 bits of the width, 15 in the mean.
    let values = spread(4096, -8.0, 8.0);
    let x = encrypt(&party.client, &values, -8.0..=8.0);
    let room = lwe::Room { terms: 2, levels: 0 };
    let out = party.server.extract_for(&x, -8.0..=8.0, room).unwrap();
    let back = party.server.pack(&out).unwrap();
    assert_eq!(back.level(), party.server.pack_level().unwrap());
    let found = party.client.decrypt(&back).unwrap();
    let (mean, max) = errors(&found, values.iter().copied());
    eprintln!("4096 values out and back: mean 2^{:.2}, max 2^{:.2}", mean.log2(), max.log2());
    assert!(max < 16.0 * 2f64.powi(-12) && mean < 16.0 * 2f64.powi(-15), "{mean:e} {max:e}");

    // A function of a function, with two multiplications between.
    let (client, server) = (&party.client, &party.server);
    let values = spread(3, -4.0, 4.0);
    let x = encrypt(client, &values, -4.0..=4.0);
    let y = server.map_over(&x, -4.0..=4.0, f64::tanh).unwrap();
    let y4 = server.square(&server.square(&y).unwrap()).unwrap();
    let z = server.map_over(&y4, -0.25..=1.25, |v| v.abs().sqrt()).unwrap();
    let found = client.decrypt(&z).unwrap();
    let (_, max) = errors(&found, values.iter().map(|v| v.tanh().powi(2)));
    assert!(max < 0.1, "{max}");
}
