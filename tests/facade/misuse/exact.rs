//! Integers, tables of them, and functions of whole vectors.

use bellerophon::{
    ClientKey, Evaluator, IntTable, Modulo, Needs, Paired, PairedVec, PeriodicFunction, Preset,
    PublicKey, Toy,
    circuits::fbt::{FbtInput, Integers},
    ckks::CkksOps,
};
use bellerophon_circuits::CircuitOps;

use super::{Record, rng, stranger};
use crate::common::{Party, party};

pub fn refused_integers(record: &mut Record) {
    let Party { client, server } =
        &party(Preset::Insecure(Toy::Tables), &Needs::new().functional(), 1);
    let bare = Evaluator::new(client.evaluation_keys(&Needs::new()).unwrap()).unwrap();
    of_clients(record, client);
    of_tables(record);
    of_integers(record, client, server, &bare);
    of_functions(record, client, server, &bare);
}

fn of_clients(record: &mut Record, client: &ClientKey) {
    let public = &client.public_key_with(&mut rng()).unwrap();
    let (top, rng) = (client.params().levels(), &mut rng());
    for (integers, modulus) in [
        (vec![], 4),
        (vec![4], 4),
        (vec![0], 0),
        (vec![0], 1),
        (vec![0], 1 << 20),
        (vec![0; 4096], 4),
    ] {
        let v = &integers;
        let why = format!("{} integers modulo {modulus}", v.len());
        refused!(record, why, ClientKey::encrypt(client, v, Modulo(modulus)));
        refused!(record, why, ClientKey::encrypt_with(client, v, Modulo(modulus), top, rng));
        refused!(record, why, ClientKey::encrypt_seeded(client, v, Modulo(modulus)));
        refused!(record, why, ClientKey::encrypt_seeded_with(client, v, Modulo(modulus), top, rng));
        refused!(record, why, PublicKey::encrypt(public, v, Modulo(modulus)));
    }
    for level in [client.params().ckks().max_level() + 1, usize::MAX] {
        let why = "a level above all";
        refused!(record, why, ClientKey::encrypt_with(client, &[1], Modulo(4), level, rng));
        refused!(record, why, ClientKey::encrypt_seeded_with(client, &[1], Modulo(4), level, rng));
    }
    // Another key, and parameters without tables of integers.
    let x = stranger(client.params()).encrypt(&[1], Modulo(4)).unwrap();
    refused!(record, "a stranger's integers", ClientKey::decrypt_integers(client, &x));
    let without = &party(Preset::Insecure(Toy::Functions), &Needs::new(), 1).client;
    let why = "parameters without tables";
    refused!(record, why, ClientKey::decrypt_integers(without, &x));
    refused!(record, why, ClientKey::encrypt(without, &[1], Modulo(4)));
    refused!(record, why, ClientKey::encrypt_seeded(without, &[1], Modulo(4)));
    let public = &without.public_key_with(rng).unwrap();
    refused!(record, why, PublicKey::encrypt(public, &[1], Modulo(4)));
}

fn of_tables(record: &mut Record) {
    for (from, to) in [(0, 4), (1, 4), (4, 0), (4, 1), (1 << 20, 4), (4, 1 << 20)] {
        refused!(record, format!("{from} to {to}"), IntTable::new(from, to, |_| 0));
    }
    refused!(record, "an entry above the modulus", IntTable::new(4, 4, |_| 4));
    refused!(record, "no entries", IntTable::real(0, |k| k as f64));
    refused!(record, "no number", IntTable::real(4, |_| f64::NAN));
}

fn of_integers(record: &mut Record, client: &ClientKey, server: &Evaluator, bare: &Evaluator) {
    let encrypt = |integers: &[usize], modulus| client.encrypt(integers, Modulo(modulus)).unwrap();
    let x = &encrypt(&[1, 2, 3], 16);
    let foreign = &stranger(client.params()).encrypt(&[1, 2, 3], Modulo(16)).unwrap();
    let spent = &client.encrypt_with(&[1, 2, 3], Modulo(16), 1, &mut rng()).unwrap();
    let (on, without) = (&server.integers(), &bare.integers());
    for (why, y) in [("another key", foreign), ("another length", &encrypt(&[1, 2], 16))] {
        refused!(record, why, Integers::add(on, x, y));
        refused!(record, why, Integers::sub(on, x, y));
        refused!(record, why, Integers::beside(on, x, y));
        refused!(record, why, Integers::table_of_two(on, x, y, 4, |_, _| 0));
    }
    let other = &encrypt(&[1, 2, 3], 4);
    refused!(record, "another modulus", Integers::add(on, x, other));
    refused!(record, "another modulus", Integers::sub(on, x, other));
    let large = &encrypt(&[1, 2, 3], 1 << 14);
    refused!(record, "a large product", Integers::beside(on, x, large));
    let why = "another key";
    refused!(record, why, Integers::neg(on, foreign));
    refused!(record, why, Integers::add_constant(on, foreign, 1));
    refused!(record, why, Integers::mul_constant(on, foreign, 3));
    refused!(record, why, Integers::table(on, foreign, |k| k));
    refused!(record, why, Integers::digits(on, foreign, 4));
    refused!(record, why, Evaluator::publish_integers(server, foreign));
    // Sums that are not reduced.
    let sum = &on.add(x, x).unwrap();
    let why = "integers that are not reduced";
    refused!(record, why, Integers::beside(on, sum, x));
    refused!(record, why, Integers::digits(on, sum, 4));
    refused!(record, why, Evaluator::publish_integers(server, sum));
    refused!(record, "another divisor", Integers::modulo(on, x, 3));
    refused!(record, "divisor 0", Integers::modulo(on, x, 0));
    refused!(record, "base 0", Integers::digits(on, x, 0));
    refused!(record, "base 1", Integers::digits(on, x, 1));
    refused!(record, "base 3", Integers::digits(on, x, 3));
    // Tables that do not fit, no keys, no levels.
    let table = |from, to| IntTable::new(from, to, |_| 0).unwrap();
    let real = IntTable::real(16, |k| k as f64).unwrap();
    refused!(record, "entries of 4", Integers::apply(on, x, &table(4, 4)));
    refused!(record, "reals", Integers::apply(on, x, &real));
    refused!(record, "entries of 4", Integers::tables(on, x, &[&table(16, 4), &table(4, 4)]));
    refused!(record, "no table", Integers::tables(on, x, &[]));
    refused!(record, "no table", Integers::real_tables(on, x, &[]));
    refused!(record, "entries of 4", Integers::real_tables(on, x, &[&table(4, 4)]));
    refused!(record, "an entry above", Integers::table(on, x, |_| 16));
    refused!(record, "an entry above", Integers::table_of_two(on, x, x, 4, |_, _| 4));
    for (why, on, x) in [("no keys", without, x), ("no levels", on, spent)] {
        refused!(record, why, Integers::table(on, x, |k| k));
        refused!(record, why, Integers::apply(on, x, &table(16, 4)));
        refused!(record, why, Integers::tables(on, x, &[&table(16, 4)]));
        refused!(record, why, Integers::real_tables(on, x, &[&real]));
        refused!(record, why, Integers::table_of_two(on, x, x, 4, |_, _| 0));
        refused!(record, why, Integers::digits(on, x, 4));
    }
    // Twice as many integers as slots take a conjugation to separate.
    let both = &encrypt(&vec![1; client.params().slots() + 1], 16);
    refused!(record, "no keys", Integers::to_reals(without, both));
    let reals = &client.encrypt(&[1.0, 2.0], 0.0..=3.0).unwrap();
    refused!(record, "modulus 1", Integers::from_reals(on, reals, 1));
    let complex = &server.mul_i(reals).unwrap();
    refused!(record, "complex values", Integers::from_reals(on, complex, 4));
    let params = party(Preset::Insecure(Toy::Functions), &Needs::new(), 1);
    refused!(record, "no tables", Evaluator::publish_integers(&params.server, x));
    refused!(record, "modulus 4", Evaluator::admit_integers(server, x, 4, 0.0..=15.0));
}

fn of_functions(record: &mut Record, client: &ClientKey, server: &Evaluator, bare: &Evaluator) {
    let ops = (server, bare);
    let table = IntTable::real(16, |k| k as f64).unwrap();
    let (f, scale) = (table.function(), client.params().ckks().scale());
    let other = IntTable::real(4, |k| k as f64).unwrap();
    let of = |client: &ClientKey, level| {
        client.encrypt_with(&[1.0, 2.0], Paired(0.0..=3.0), level, &mut rng()).unwrap()
    };
    let top = client.params().levels();
    let (x, foreign, spent) =
        (&of(client, top), &of(&stranger(client.params()), top), &of(client, 1));
    let input = |x: &PairedVec| FbtInput { range: *x.range(), both: x.is_both() };
    let calls: [(&str, &Evaluator, &PairedVec, &[&PeriodicFunction]); 5] = [
        ("another key", ops.0, foreign, &[f]),
        ("no keys", ops.1, x, &[f]),
        ("no levels", ops.0, spent, &[f]),
        ("no function", ops.0, x, &[]),
        ("different periods", ops.0, x, &[f, other.function()]),
    ];
    for (why, on, x, functions) in calls {
        refused!(record, why, CircuitOps::functions_of(on, x, functions));
        let scaled: Vec<_> = functions.iter().map(|&f| (f, scale)).collect();
        let inner = x.inner();
        refused!(record, why, CircuitOps::functional_bootstrap(on, inner, input(x), &scaled));
    }
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let (why, f) = (format!("the scale {bad}"), &[(f, bad)]);
        refused!(record, why, CircuitOps::functional_bootstrap(ops.0, x.inner(), input(x), f));
    }
}
