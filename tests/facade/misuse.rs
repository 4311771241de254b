//! Public methods of clients and evaluators, used wrongly: nothing panics, everything is refused,
//! an error that names an operation names the method that was called, and the names in its message
//! exist.
//!
//! The list is complete: a method that can fail is called here ([`complete`]).

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use bellerophon::{Result, prelude::*};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::common::{Party, party};

/// Makes a call that must be refused, and says what is wrong with it: the method by its type.
macro_rules! refused {
    ($record:expr, $why:expr, $type:ident::$name:ident $(::<$T:ty>)? ($($arg:expr),* $(,)?)) => {
        $record.call((stringify!($type), stringify!($name)), &$why.to_string(), Box::new(|| {
            $type::$name $(::<$T>)? ($($arg),*).map(drop)
        }))
    };
}

mod clients;
pub mod complete;
mod exact;
mod flooding;
mod names;
mod ordering;
mod polynomials;
mod slots;
mod tables;

/// Calls that were refused, and what is wrong with the others.
#[derive(Default)]
struct Record {
    refused: usize,
    called: BTreeSet<(&'static str, &'static str)>,
    faults: Vec<String>,
}

impl Record {
    /// Makes a call that must be refused. The call is a trait object: this is compiled once, and
    /// not for every call.
    fn call(
        &mut self,
        (owner, name): (&'static str, &'static str),
        why: &str,
        call: Box<dyn FnOnce() -> Result<()> + '_>,
    ) {
        self.called.insert((owner, name));
        let outcome = catch_unwind(AssertUnwindSafe(call));
        let what = format!("{owner}::{name}, {why}");
        match outcome {
            Err(_) => self.faults.push(format!("{what}: a panic")),
            Ok(Ok(())) => self.faults.push(format!("{what}: not refused")),
            Ok(Err(error)) => {
                self.refused += 1;
                let message = error.message();
                for name in names::unknown(message) {
                    self.faults.push(format!("{what}: no `{name}` exists: {message}"));
                }
                for unseen in ["KeyLevels", "Interval::complex", "reaches level"] {
                    if message.contains(unseen) {
                        self.faults.push(format!("{what}: names `{unseen}`: {message}"));
                    }
                }
                // `map_with` is `map` with more arguments.
                let family = name.strip_suffix("_with").unwrap_or(name);
                let path = format!("{owner}::{name}");
                if !["", name, family, &path].contains(&error.op()) {
                    self.faults.push(format!("{what}: names another operation: {error}"));
                }
            }
        }
    }

    /// Takes over the calls of another record.
    fn join(&mut self, other: Self) {
        self.refused += other.refused;
        self.called.extend(other.called);
        self.faults.extend(other.faults);
    }
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(1)
}

/// Another client of the same parameters.
fn stranger(params: &Params) -> ClientKey {
    ClientKey::generate_with(params, &mut ChaCha20Rng::seed_from_u64(2)).unwrap()
}

const BAD: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// A client with vectors, a server with many keys and one without any.
struct World {
    client: ClientKey,
    server: Evaluator,
    bare: Evaluator,
    x: Ciphertext,
    short: Ciphertext,
    /// At level 0.
    spent: Ciphertext,
    /// Of another key.
    foreign: Ciphertext,
}

fn world(needs: &Needs) -> World {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), needs, 1);
    let bare = Evaluator::new(client.evaluation_keys(&Needs::new()).unwrap()).unwrap();
    let encrypt = |client: &ClientKey, values: &[f64]| {
        let level = client.params().levels();
        client.encrypt_with(values, -1.0..=1.0, level, &mut rng()).unwrap()
    };
    World {
        x: encrypt(&client, &[0.5, -0.25, 1.0]),
        short: encrypt(&client, &[0.5, -0.25]),
        // The lowest prime has room for values up to 1/2.
        spent: client.encrypt_with(&[0.1, -0.25, 0.25], -0.25..=0.25, 0, &mut rng()).unwrap(),
        foreign: encrypt(&stranger(client.params()), &[0.5, -0.25, 1.0]),
        client,
        server,
        bare,
    }
}

/// Every method that can fail, used wrongly in each way that applies.
#[test]
fn misuse_is_refused_by_name() {
    let parts: [fn(&mut Record); 10] = [
        clients::of_vectors,
        clients::of_keys,
        slots::arithmetic,
        slots::rotations,
        slots::levels,
        polynomials::refused_functions,
        tables::refused_tables,
        flooding::refused_results,
        ordering::refused_orders,
        exact::refused_integers,
    ];
    let records = std::thread::scope(|scope| {
        let run = |part: fn(&mut Record)| {
            let mut record = Record::default();
            part(&mut record);
            record
        };
        let threads = parts.map(|part| scope.spawn(move || run(part)));
        threads.map(|thread| thread.join().unwrap())
    });
    let mut record = Record::default();
    records.into_iter().for_each(|part| record.join(part));
    record.faults.extend(complete::never_called(&record.called));
    assert!(record.faults.is_empty(), "{}", record.faults.join("\n"));
    assert!(record.refused >= 500, "{} calls", record.refused);
}
