//! Public methods of clients and evaluators, used wrongly: nothing panics, everything is refused,
//! and each message names the function that was called, or the argument, by names that exist.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bellerophon::ckks::{
    CkksOps, Interval, PublicKey as LatticeKey, chebyshev::Chebyshev, polynomial::Polynomial,
    statistics::Table,
};
use bellerophon::lwe::{Headroom, Order};
use bellerophon::prelude::*;
use bellerophon::{Bridge, DecryptionBudget, Engine};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::common::{Party, party};

mod names;

/// What messages begin with that are about an argument, whatever function it is given to.
const ARGUMENTS: [&str; 3] = ["interval [", "domain ", "the function is not finite at "];

/// Calls that were refused, and what is wrong with the others.
#[derive(Default)]
struct Record {
    refused: usize,
    faults: Vec<String>,
}

impl Record {
    /// Makes a call that must be refused.
    fn call<T, E: ToString>(&mut self, what: &str, call: impl FnOnce() -> Result<T, E>) {
        let outcome =
            catch_unwind(AssertUnwindSafe(|| call().map(drop).map_err(|e| e.to_string())));
        match outcome {
            Err(_) => self.faults.push(format!("{what}: a panic")),
            Ok(Ok(())) => self.faults.push(format!("{what}: not refused")),
            Ok(Err(message)) => {
                self.refused += 1;
                for name in names::unknown(&message) {
                    self.faults.push(format!("{what}: no `{name}` exists: {message}"));
                }
                let argument = ARGUMENTS.iter().any(|argument| message.starts_with(argument));
                if !argument && !names::names_an_item(&message) {
                    self.faults.push(format!("{what}: names no function: {message}"));
                }
            }
        }
    }

    /// Fails with all faults.
    fn end(self, least: usize) {
        assert!(self.faults.is_empty(), "{}", self.faults.join("\n"));
        assert!(self.refused >= least, "{} calls", self.refused);
    }
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(1)
}

fn toy(needs: &Needs) -> Party {
    party(Preset::ToyInsecure, needs, 1)
}

const BAD: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

#[test]
fn what_clients_refuse() {
    let Party { client, .. } = toy(&Needs::new());
    let exact = party(Preset::ToyTables, &Needs::new(), 2).client;
    let public = client.public_key_with(&mut rng()).unwrap();
    let (slots, top) = (client.params().slots(), client.params().ckks().max_level());
    let long = vec![0.0; slots + 1];
    let mut record = Record::default();
    let mut vectors: Vec<(String, Vec<f64>)> = vec![
        ("empty".into(), vec![]),
        ("too long".into(), long.clone()),
        ("out of range".into(), vec![0.0, 2.5]),
    ];
    vectors.extend(BAD.map(|bad| (format!("{bad}"), vec![0.5, bad])));
    for (what, values) in &vectors {
        let unit = || -1.0..=1.0;
        record.call(&format!("encrypt, {what}"), || client.encrypt(values, unit()));
        record.call(&format!("encrypt_seeded, {what}"), || client.encrypt_seeded(values, unit()));
        record.call(&format!("PublicKey::encrypt, {what}"), || public.encrypt(values, unit()));
        let integers = vec![1; values.len()];
        record.call(&format!("PublicKey::encrypt_integers, {what}"), || {
            public.encrypt_integers(&integers, 4)
        });
        if values.len() <= slots {
            record
                .call(&format!("encrypt_paired, {what}"), || client.encrypt_paired(values, unit()));
        }
    }
    for (lo, hi) in [(1.0, -1.0), (f64::NAN, 1.0), (-1.0, f64::INFINITY), (-1e300, 1e300)] {
        let range = || lo..=hi;
        record.call(&format!("encrypt in {lo}..={hi}"), || client.encrypt(&[0.5], range()));
        record.call(&format!("provide in {lo}..={hi}"), || public.encrypt(&[0.5], range()));
        record.call(&format!("paired in {lo}..={hi}"), || client.encrypt_paired(&[0.5], range()));
    }
    for level in [top + 1, usize::MAX] {
        let unit = || -1.0..=1.0;
        record
            .call("encrypt_with, level", || client.encrypt_with(&[0.5], unit(), level, &mut rng()));
        record.call("encrypt_seeded_with, level", || {
            client.encrypt_seeded_with(&[0.5], unit(), level, &mut rng())
        });
        record.call("PublicKey::encrypt_with, level", || {
            public.encrypt_with(&[0.5], unit(), level, &mut rng())
        });
        record.call("encrypt_paired_with, level", || {
            client.encrypt_paired_with(&[0.5], unit(), level, &mut rng())
        });
    }
    let above = exact.params().ckks().max_level() + 1;
    for level in [above, usize::MAX] {
        record.call("encrypt_integers_with, level", || {
            exact.encrypt_integers_with(&[1], 4, level, &mut rng())
        });
    }
    for (integers, modulus) in
        [(vec![], 4), (vec![4], 4), (vec![0], 0), (vec![0], 1), (vec![0; 4096], 4)]
    {
        record.call(&format!("{} integers modulo {modulus}", integers.len()), || {
            exact.encrypt_integers(&integers, modulus)
        });
    }
    // What these parameters do not have.
    let refused =
        [("bootstrap", Needs::new().bootstrap()), ("functional", Needs::new().functional())];
    for (what, needs) in refused {
        record.call(what, || client.evaluation_keys(&needs));
    }
    let other = ClientKey::generate(&Params::preset(Preset::ToyBootstrapping).unwrap()).unwrap();
    for needs in [
        Needs::new().map(),
        Needs::new().map_with([Engine::Corrected]),
        Needs::new().map().bridge(Bridge::Linear),
    ] {
        record.call("look-ups without tables", || other.evaluation_keys(&needs));
    }
    // Ciphertexts of a stranger, and of other parameters.
    let stranger = ClientKey::generate_with(client.params(), &mut ChaCha20Rng::seed_from_u64(2));
    for foreign in [stranger.unwrap(), other] {
        let x = foreign.encrypt(&[0.5], -1.0..=1.0).unwrap();
        record.call("decrypt", || client.decrypt(&x));
        let pair = foreign.encrypt_paired(&[0.5], -1.0..=1.0).unwrap();
        record.call("decrypt_paired", || client.decrypt_paired(&pair));
    }
    let foreign = party(Preset::ToyTables, &Needs::new(), 3).client;
    let integers = foreign.encrypt_integers(&[1], 4).unwrap();
    record.call("decrypt_integers of a stranger", || exact.decrypt_integers(&integers));
    record.call("decrypt_integers without them", || client.decrypt_integers(&integers));
    record.call("encrypt_integers without them", || client.encrypt_integers(&[1], 4));
    record.call("budget without bits", || DecryptionBudget::new(client.id(), 4, f64::NAN));
    record.call("budget of none", || DecryptionBudget::new(client.id(), 0, 40.0));
    let mut budget = DecryptionBudget::new(client.id(), 4, 40.0).unwrap();
    record.call("reserve, too many", || budget.reserve(5));
    record.end(60);
}

/// What the evaluator is given.
struct Operands {
    x: Ciphertext,
    short: Ciphertext,
    spent: Ciphertext,
    foreign: Ciphertext,
}

fn operands(client: &ClientKey, stranger: &ClientKey) -> Operands {
    let encrypt = |client: &ClientKey, values: &[f64]| {
        let level = client.params().levels();
        client.encrypt_with(values, -1.0..=1.0, level, &mut rng()).unwrap()
    };
    // The lowest prime has room for values up to 1/2.
    let spent = client.encrypt_with(&[0.1, -0.25, 0.25], -0.25..=0.25, 0, &mut rng()).unwrap();
    Operands {
        x: encrypt(client, &[0.5, -0.25, 1.0]),
        short: encrypt(client, &[0.5, -0.25]),
        spent,
        foreign: encrypt(stranger, &[0.5, -0.25, 1.0]),
    }
}

#[test]
fn what_evaluators_refuse_of_arithmetic() {
    let Party { client, server } = toy(&Needs::new().multiply().rotate([1]).conjugate());
    let bare = toy(&Needs::new()).server;
    let stranger =
        ClientKey::generate_with(client.params(), &mut ChaCha20Rng::seed_from_u64(2)).unwrap();
    let Operands { x, short, spent, foreign } = &operands(&client, &stranger);
    let mut record = Record::default();

    // A foreign key, and unequal lengths.
    for (what, y) in [("foreign", foreign), ("short", short)] {
        record.call(&format!("add, {what}"), || server.add(x, y));
        record.call(&format!("sub, {what}"), || server.sub(y, x));
        record.call(&format!("mul, {what}"), || server.mul(x, y));
        record.call(&format!("mul_no_rescale, {what}"), || server.mul_no_rescale(x, y));
        record.call(&format!("add_many, {what}"), || server.add_many(&[x, y]));
        record.call(&format!("dot, {what}"), || server.dot(&[x, x], &[x, y]));
    }
    record.call("neg, foreign", || server.neg(foreign));
    record.call("square, foreign", || server.square(foreign));
    record.call("add_scalar, foreign", || server.add_scalar(foreign, 1.0));
    record.call("mul_scalar, foreign", || server.mul_scalar(foreign, 0.5));
    record.call("mul_integer, foreign", || server.mul_integer(foreign, 3));
    record.call("rotate, foreign", || server.rotate(foreign, 1));
    record.call("conjugate, foreign", || server.conjugate(foreign));
    record.call("sum_slots, foreign", || server.sum_slots(foreign));
    record.call("mask, foreign", || server.mask(foreign, 0..1));
    record.call("rescale, foreign", || server.rescale(foreign));
    record.call("publish, foreign", || server.publish(foreign, -1.0..=1.0));

    // Missing keys.
    record.call("mul without keys", || bare.mul(x, x));
    record.call("square without keys", || bare.square(x));
    record.call("rotate without keys", || bare.rotate(x, 1));
    record.call("rotate_many without keys", || bare.rotate_many(x, &[1, 2]));
    record.call("conjugate without keys", || bare.conjugate(x));
    record.call("sum_slots without keys", || bare.sum_slots(x));
    record.call("replicate_slot without keys", || bare.replicate_slot(x, 0));
    record.call("bootstrap without keys", || bare.bootstrap(x));
    record.call("bootstrap_iterated without keys", || bare.bootstrap_iterated(x, 2));
    record.call("with_auto_bootstrap without keys", || bare.clone().with_auto_bootstrap());
    let p = Polynomial::new(Chebyshev::interpolate(|x| x * x * x, -1.0, 1.0, 3));
    record.call("polynomial without keys", || bare.polynomial(x, &p, None));

    // No levels left.
    record.call("mul, no levels", || server.mul(spent, spent));
    record.call("square, no levels", || server.square(spent));
    record.call("mul_scalar, no levels", || server.mul_scalar(spent, 0.3));
    record.call("mul_values, no levels", || server.mul_values(spent, &[0.5; 3]));
    record.call("rescale, no levels", || server.rescale(spent));
    record.call("mask, no levels", || server.mask(spent, 0..1));
    record.call("polynomial, no levels", || server.polynomial(spent, &p, None));
    record.call("drop_to_level, above", || server.drop_to_level(spent, 3));

    // Numbers that are none, and numbers that are too large.
    for bad in BAD {
        record.call("add_scalar", || server.add_scalar(x, bad));
        record.call("mul_scalar", || server.mul_scalar(x, bad));
        record.call("add_values", || server.add_values(x, &[0.5, bad, 0.5]));
        record.call("mul_values", || server.mul_values(x, &[0.5, bad, 0.5]));
        record.call("linear_combination", || server.linear_combination(&[(x, bad)], 0.0, None));
        record.call("publish with noise", || {
            server.publish(x, Declaration::from(-1.0..=1.0).with_noise(bad))
        });
    }
    record.call("mul_scalar, too large", || server.mul_scalar(x, 1e300));
    record.call("add_scalar, too large", || server.add_scalar(x, 1e300));
    record.call("mul_integer, too large", || server.mul_integer(spent, i64::MAX));
    record.call("mul_integer, too negative", || server.mul_integer(spent, i64::MIN));

    // Lengths.
    for values in [&[][..], &[0.5], &[0.5; 4], &[0.5; 5000]] {
        record.call(&format!("add {} values", values.len()), || server.add_values(x, values));
        record.call(&format!("mul by {} values", values.len()), || server.mul_values(x, values));
    }
    record.call("add_many of none", || server.add_many::<Ciphertext>(&[]));
    record.call("dot of none", || server.dot(&[], &[]));
    record.call("dot of unequal counts", || server.dot(&[x], &[x, x]));
    record.call("linear_combination of none", || server.linear_combination(&[], 0.0, None));
    record.call("with_len of none", || server.with_len(x.clone(), 0));
    record.call("with_len of too many", || server.with_len(x.clone(), 5));
    record.call("broadcast, too short", || server.broadcast(short.clone(), 1));
    record.call("broadcast, too long", || server.broadcast(short.clone(), usize::MAX));
    record.call("repeated, no power of two", || server.repeated(x.clone(), 5));
    record.call("replicate_slot, out of range", || server.replicate_slot(x, 9));
    record.call("mask, out of range", || server.mask(x, 2..9));
    record.call("mask_slots, out of range", || server.mask_slots(x, &[usize::MAX]));
    record.call("inner_sum of none", || server.inner_sum(x, 0, 1));

    // Ranges.
    record.call("publish, too narrow", || server.publish(x, -0.5..=0.5));
    record.call("assume_range, elsewhere", || server.assume_range(x, 3.0..=4.0));
    record.call("assume_range, no number", || server.assume_range(x, f64::NAN..=4.0));
    record.call("reinterpret_scale", || server.reinterpret_scale(x.clone(), 0.0));
    let table = Table::new(64, 64).unwrap();
    record.call("statistics of another shape", || table.means(&*server, x));
    record.end(90);
}

#[test]
fn what_evaluators_refuse_of_functions() {
    let Party { client, server } = toy(&Needs::new().multiply().map());
    let bare = toy(&Needs::new().multiply()).server;
    let other = party(Preset::ToyBootstrapping, &Needs::new().multiply().bootstrap(), 1);
    let stranger =
        ClientKey::generate_with(client.params(), &mut ChaCha20Rng::seed_from_u64(2)).unwrap();
    let Operands { x, short, spent, foreign } = &operands(&client, &stranger);
    let own = other.client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    let wide = other.client.encrypt(&[0.5], -2.0..=2.0).unwrap();
    let mut record = Record::default();

    record.call("map without keys", || bare.map(x, f64::abs));
    record.call("map of a foreign vector", || server.map(foreign, f64::abs));
    record.call("map without levels", || server.map(spent, f64::abs));
    record.call("map to no number", || server.map(x, |_| f64::NAN));
    record.call("map to infinity", || server.map(x, |x| 1.0 / (x - x)));
    record.call("extract without keys", || bare.extract(x, -1.0..=1.0));
    record.call("extract of a foreign vector", || server.extract(foreign, -1.0..=1.0));
    record.call("extract without levels", || server.extract(spent, -1.0..=1.0));
    record.call("extract, too narrow", || server.extract(x, -0.5..=0.5));
    record.call("extract, no number", || server.extract(x, f64::NAN..=1.0));
    record.call("extract_all of none", || server.extract_all(&[], -1.0..=1.0, Headroom::TABLE));
    record.call("tables without keys", || bare.tables());
    record.call("pack_level without tables", || other.server.pack_level());
    let values = server.extract(x, -1.0..=1.0).unwrap();
    record.call("pack without keys", || bare.pack(&values));
    record.call("decrypt_values of a stranger", || stranger.decrypt_values(&values));

    let within = server.within(-1.0..=1.0);
    let without = bare.within(-1.0..=1.0);
    record.call("sort without keys", || without.sort(x, Order::Ascending));
    record.call("sort of a foreign vector", || within.sort(foreign, Order::Ascending));
    record.call("sort without levels", || within.sort(spent, Order::Ascending));
    record.call("max without keys", || without.max(&[x, x]));
    record.call("max of none", || within.max(&[]));
    record.call("max of unequal lengths", || within.max(&[x, short]));
    record.call("max of a foreign vector", || within.max(&[x, foreign]));
    record.call("min of none", || within.min(&[]));
    record.call("arg_max of none", || within.arg_max(&[]));
    record.call("largest of none", || within.largest(x, 0));
    record.call("largest of too many", || within.largest(x, 4));
    record.call("sort, too narrow", || server.within(-0.5..=0.5).sort(x, Order::Ascending));

    record.call("bootstrap without levels", || {
        other.server.bootstrap(&other.server.drop_to_level(&own, 0)?)
    });
    record.call("bootstrap, out of range", || other.server.bootstrap(&wide));
    record.call("bootstrap of other parameters", || other.server.bootstrap(x));
    record.call("add of other parameters", || server.add(x, &own));
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let lattice = client.params().ckks();
    let encoder = bellerophon::ckks::Encoder::new(lattice);
    let plain = encoder.encode(&[0.5], unit, lattice.scale() / 2.0, lattice.limbs()).unwrap();
    let secret = bellerophon::mlwe::SecretKey::generate(lattice.lattice(), &mut rng()).unwrap();
    let key = LatticeKey::generate(&secret, &mut rng());
    record
        .call("Provided::encrypt, scale", || Provided::encrypt(lattice, &plain, &key, &mut rng()));
    record.end(30);
}
