//! Functional bootstrapping at full size: any table and any smooth function of a whole vector.

use std::time::Instant;

use bellerophon::circuits::approx::{Function, Known};
use bellerophon::circuits::fbt::PeriodicFunction;
use bellerophon::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::measure::{Bench, Row};
use common::cpu::cpu_seconds;
use common::memory;
use common::program::Failure;
use common::session::params_for_vectors;

/// Values of a full vector: both parts of the slots.
const FULL: usize = 1 << 16;

/// The measured tables: bits of entries, preset, number of values. Fewer values than a full vector
/// have a set with as many slots.
const TABLES: [(u32, Preset, usize); 6] = [
    (1, Preset::Tables(1), FULL),
    (4, Preset::Tables(4), FULL),
    (8, Preset::Tables(8), FULL),
    (8, Preset::Tables(8), 1024),
    (12, Preset::Tables(12), FULL),
    (16, Preset::Tables(16), FULL),
];

/// Number of tables in a row, each of the results of the one before.
const CHAIN: usize = 8;

/// The smooth functions measured on `[-8, 8]`, with the requested bits of their series.
const SMOOTH: [(&str, f64); 2] = [("sigmoid", 26.0), ("gelu", 23.0)];

pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    for (bits, preset, count) in TABLES {
        // A short run leaves out the sets whose key generation alone takes too long.
        if !bench.is_small() || bits == 1 {
            tables(bench, bits, preset, count)?;
        }
    }
    if !bench.is_small() {
        smooth(bench)?;
    }
    Ok(())
}

/// A set ready for use.
struct Session {
    client: ClientKey,
    server: Evaluator,
    key_bytes: usize,
    setup_s: f64,
    rng: ChaCha20Rng,
}

impl Session {
    /// The set of a preset for `count` values.
    fn new(preset: Preset, count: usize) -> Result<Self, Failure> {
        memory::reset_peak();
        let begin = Instant::now();
        let params = params_for_vectors(preset, count)?;
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let client = ClientKey::generate_with(&params, &mut rng)?;
        let needs = Needs::new().functional();
        let keys = client.evaluation_keys_with(&needs, &mut rng)?;
        let key_bytes = keys.byte_len();
        let server = Evaluator::new(keys)?;
        Ok(Self { client, server, key_bytes, setup_s: begin.elapsed().as_secs_f64(), rng })
    }

    fn integers(&mut self, count: usize, p: usize) -> Vec<usize> {
        (0..count).map(|_| self.rng.random_range(0..p)).collect()
    }

    /// The fields of every row.
    fn describe(&self, row: &mut Row, values: usize) {
        row.extra.insert("values", values.into());
        row.extra.insert("key_bytes", self.key_bytes.into());
        row.extra.insert("setup_s", self.setup_s.into());
        row.extra.insert("peak_rss_bytes", memory::peak_rss_bytes().into());
    }
}

fn tables(bench: &mut Bench, bits: u32, preset: Preset, count: usize) -> Result<(), Failure> {
    let p = 1usize << bits;
    let mut session = Session::new(preset, count)?;
    let entries = session.integers(p, p);
    let table = IntTable::new(p, p, |k| entries[k])?;
    let x = session.integers(count, p);
    let ct = session.client.encrypt(&x, Modulo(p))?;
    let mut result = None;
    let row = bench.time(format!("fbt/{bits}to{bits}/{count}"), 1, || {
        result = Some(session.server.integers().tables(&ct, &[&table]));
    });
    let y = result.expect("it ran")?.remove(0);
    let found = session.client.decrypt_integers(&y)?;
    let wrong = found.iter().zip(&x).filter(|(y, x)| **y != entries[**x]).count();
    let reals = session.client.decrypt_paired(y.values())?;
    let off = reals.iter().zip(&x).map(|(y, &x)| (y - entries[x] as f64).abs());
    let worst = off.fold(0.0, f64::max);
    row.extra.insert("wrong", wrong.into());
    row.extra.insert("bits_worst", ((p - 1) as f64 / worst).log2().into());
    session.describe(row, count);
    if (bits, count) == (8, FULL) {
        several(bench, &mut session, (8, 3))?;
        // More entries on the same set, with no level left.
        several(bench, &mut session, (10, 1))?;
        several(bench, &mut session, (10, 3))?;
        chain(bench, &mut session, p)?;
    }
    Ok(())
}

/// Tables of the same integers: the cost of each additional table.
fn several(
    bench: &mut Bench,
    session: &mut Session,
    (bits, count): (u32, usize),
) -> Result<(), Failure> {
    let p = 1usize << bits;
    let tables: Result<Vec<IntTable>, _> =
        (0..count).map(|s| IntTable::new(p, p, move |k| (k * k + s * k) % p)).collect();
    let tables = tables?;
    let tables: Vec<&IntTable> = tables.iter().collect();
    let x = session.integers(FULL, p);
    let ct = session.client.encrypt(&x, Modulo(p))?;
    let mut result = None;
    let row = bench.time(format!("fbt/{bits}to{bits}/{FULL}/tables_{count}"), 1, || {
        result = Some(session.server.integers().tables(&ct, &tables));
    });
    let results = result.expect("it ran")?;
    let mut wrong = 0;
    for (s, y) in results.iter().enumerate() {
        let found = session.client.decrypt_integers(y)?;
        wrong += found.iter().zip(&x).filter(|(y, x)| **y != (*x * *x + s * *x) % p).count();
    }
    row.extra.insert("wrong", wrong.into());
    session.describe(row, FULL);
    Ok(())
}

/// Tables in a row: the time of all of them.
fn chain(bench: &mut Bench, session: &mut Session, p: usize) -> Result<(), Failure> {
    let step = |k: usize| (k * k + 91 * k + 13) % p;
    let x = session.integers(FULL, p);
    let mut ct = session.client.encrypt(&x, Modulo(p))?;
    let table = IntTable::new(p, p, step)?;
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    for _ in 0..CHAIN {
        ct = session.server.integers().tables(&ct, &[&table])?.remove(0);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let of_threads = cpu_seconds().zip(cpu).map(|(now, then)| now - then);
    let found = session.client.decrypt_integers(&ct)?;
    let wanted = x.iter().map(|&x| (0..CHAIN).fold(x, |x, _| step(x)));
    let wrong = found.iter().zip(wanted).filter(|(y, x)| **y != *x).count();
    let row = bench.record(format!("fbt/8to8/{FULL}/chain_of_{CHAIN}"), seconds * 1e3, 1);
    row.extra.insert("cpu_ms", of_threads.map(|s| s * 1e3).into());
    row.extra.insert("wrong", wrong.into());
    session.describe(row, FULL);
    Ok(())
}

fn smooth(bench: &mut Bench) -> Result<(), Failure> {
    let mut session = Session::new(Preset::Smooth, FULL)?;
    let functional = session.client.params().functional()?.clone();
    let input_level = functional.input_level();
    let x: Vec<f64> = (0..FULL).map(|_| session.rng.random_range(-8.0..8.0)).collect();
    let ct = session.client.encrypt(&x, Paired(-8.0..=8.0))?;
    for (name, bits) in SMOOTH {
        let f = match name {
            "sigmoid" => Function::from(Known::Sigmoid),
            _ => Function::from(Known::Gelu),
        };
        let accuracy = Accuracy::bits(bits);
        let prepared: PeriodicFunction = functional.real_function(&f, -8.0, 8.0, accuracy)?;
        let mut result = None;
        let row = bench.time(format!("fbt/{name}/{FULL}"), 1, || {
            result = Some(session.server.functions_of(&ct, &[&prepared]));
        });
        let y = result.expect("it ran")?.remove(0);
        let found = session.client.decrypt_paired(&y)?;
        let off = found.iter().zip(&x).map(|(y, &x)| (y - f.value(x)).abs());
        row.extra.insert("bits_worst", (-off.fold(0.0, f64::max).log2()).into());
        row.extra.insert("levels_left", (y.inner().level() - input_level).into());
        session.describe(row, FULL);
    }
    Ok(())
}
