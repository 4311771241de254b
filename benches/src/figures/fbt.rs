//! Functional bootstrapping at full size: any table and any smooth function of a whole vector.

use std::time::Instant;

use bellerophon::circuits::approx::{Function, Known};
use bellerophon::prelude::*;
use common::facts::Facts;
use common::memory;
use common::prelude::Session;
use common::program::Failure;
use common::random::seeded;
use common::session::params_for_vectors;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use crate::measure::{Bench, Timed, row, timed};

/// Values of a full vector: both parts of the slots.
const FULL: usize = 1 << 16;

/// The measured tables: bits of entries, preset, number of values. Fewer values than a full vector
/// have a set with as many slots.
const TABLES: [(u32, Preset, usize); 8] = [
    (1, Preset::Tables(1), FULL),
    (1, Preset::SmallTables(1), FULL / 2),
    (4, Preset::Tables(4), FULL),
    (4, Preset::SmallTables(4), FULL / 2),
    (8, Preset::Tables(8), FULL),
    (8, Preset::Tables(8), 1024),
    (12, Preset::Tables(12), FULL),
    (16, Preset::Tables(16), FULL),
];

/// Number of tables in a row, each of the results of the one before.
const CHAIN: usize = 8;

/// The smooth functions measured on `[-8, 8]`, with the requested bits of their series.
const SMOOTH: [(&str, Known, f64); 2] =
    [("sigmoid", Known::Sigmoid, 26.0), ("gelu", Known::Gelu, 23.0)];

pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    for (bits, preset, count) in TABLES {
        // A short run leaves out the sets whose key generation alone takes too long.
        if !bench.small || bits == 1 {
            let mut set = Set::new(preset, count)?;
            set.table(bench, bits)?;
            if (bits, count) == (8, FULL) {
                set.several(bench, 8, 3)?;
                // More entries on the same set, with no level left.
                set.several(bench, 10, 1)?;
                set.several(bench, 10, 3)?;
                set.chain(bench)?;
            }
        }
    }
    if bench.small { Ok(()) } else { Set::new(Preset::Smooth, FULL)?.smooth(bench) }
}

/// A set ready for use.
struct Set {
    session: Session,
    count: usize,
    setup_s: f64,
    rng: ChaCha20Rng,
}

impl Set {
    /// The set of a preset for `count` values.
    fn new(preset: Preset, count: usize) -> Result<Self, Failure> {
        memory::reset_peak();
        let begin = Instant::now();
        let params = params_for_vectors(preset, count)?;
        let session = Session::open(params, &Needs::new().functional())?;
        Ok(Self { session, count, setup_s: begin.elapsed().as_secs_f64(), rng: seeded(1) })
    }

    /// Random integers of `0 .. p`, and their encryption.
    fn integers(&mut self, p: usize) -> Result<(Vec<usize>, IntVec), Failure> {
        let x: Vec<usize> = (0..self.count).map(|_| self.rng.random_range(0..p)).collect();
        let ct = self.session.client.encrypt(&x, Modulo(p))?;
        Ok((x, ct))
    }

    /// The number of results that are not those of the function.
    fn wrong(
        &self,
        y: &IntVec,
        x: &[usize],
        function: impl Fn(usize) -> usize,
    ) -> Result<usize, Failure> {
        let found = self.session.client.decrypt_integers(y)?;
        Ok(found.iter().zip(x).filter(|(y, x)| **y != function(**x)).count())
    }

    /// Adds a row with the facts of every row.
    fn push(&self, bench: &mut Bench, row: Facts) {
        bench.rows.push(
            row.with("values", self.count)
                .with("key_bytes", self.session.key_bytes)
                .with("setup_s", self.setup_s)
                .with("peak_rss_bytes", memory::peak_rss_bytes()),
        );
    }

    /// A table of random entries.
    fn table(&mut self, bench: &mut Bench, bits: u32) -> Result<(), Failure> {
        let p = 1usize << bits;
        let entries: Vec<usize> = (0..p).map(|_| self.rng.random_range(0..p)).collect();
        let name = format!("fbt/{bits}to{bits}/{}", self.count);
        let (x, timed) = self.tables(bench, name, p, 1, |_, k| entries[k])?;
        let reals = self.session.client.decrypt_paired(timed.last[0].values())?;
        let off = reals.iter().zip(&x).map(|(y, &x)| (y - entries[x] as f64).abs());
        let worst = off.fold(0.0, f64::max);
        self.push(bench, timed.row.with("bits_worst", ((p - 1) as f64 / worst).log2()));
        Ok(())
    }

    /// Tables of the same integers: the cost of each additional table.
    fn several(&mut self, bench: &mut Bench, bits: u32, count: usize) -> Result<(), Failure> {
        let p = 1usize << bits;
        let name = format!("fbt/{bits}to{bits}/{FULL}/tables_{count}");
        let (_, timed) = self.tables(bench, name, p, count, |s, k| (k * k + s * k) % p)?;
        self.push(bench, timed.row);
        Ok(())
    }

    /// Times some tables of the same random integers of `0 .. p`, and counts wrong results;
    /// `entry(s, k)` is entry `k` of table `s`.
    fn tables(
        &mut self,
        bench: &Bench,
        name: String,
        p: usize,
        count: usize,
        entry: impl Fn(usize, usize) -> usize,
    ) -> Result<(Vec<usize>, Timed<Vec<IntVec>>), Failure> {
        let tables = (0..count).map(|s| IntTable::new(p, p, |k| entry(s, k)));
        let tables = tables.collect::<Result<Vec<IntTable>, _>>()?;
        let tables: Vec<&IntTable> = tables.iter().collect();
        let (x, ct) = self.integers(p)?;
        let integers = self.session.server.integers();
        let mut timed = bench.time(name, 1, || integers.tables(&ct, &tables))?;
        let wrong = timed.last.iter().enumerate().map(|(s, y)| self.wrong(y, &x, |k| entry(s, k)));
        timed.row = timed.row.with("wrong", wrong.sum::<Result<usize, Failure>>()?);
        Ok((x, timed))
    }

    /// Tables of 8 bits in a row: the time of all of them.
    fn chain(&mut self, bench: &mut Bench) -> Result<(), Failure> {
        let p = 256;
        let step = |k: usize| (k * k + 91 * k + 13) % p;
        let table = IntTable::new(p, p, step)?;
        let (x, ct) = self.integers(p)?;
        let integers = self.session.server.integers();
        let (y, seconds) = timed(|| {
            (0..CHAIN).try_fold(ct, |ct, _| Ok(integers.tables(&ct, &[&table])?.remove(0)))
        });
        let y = y.map_err(|error: bellerophon::Error| Failure::run(error))?;
        let row = row(format!("fbt/8to8/{FULL}/chain_of_{CHAIN}"), seconds.wall * 1e3, 1);
        let wrong = self.wrong(&y, &x, |x| (0..CHAIN).fold(x, |x, _| step(x)))?;
        let cpu_ms = seconds.cpu.map(|seconds| seconds * 1e3);
        self.push(bench, row.with("cpu_ms", cpu_ms).with("wrong", wrong));
        Ok(())
    }

    fn smooth(&mut self, bench: &mut Bench) -> Result<(), Failure> {
        let functional = self.session.params.functional()?.clone();
        let x: Vec<f64> = (0..FULL).map(|_| self.rng.random_range(-8.0..8.0)).collect();
        let ct = self.session.client.encrypt(&x, Paired(-8.0..=8.0))?;
        for (name, known, bits) in SMOOTH {
            let f = Function::from(known);
            let prepared = functional.real_function(&f, -8.0, 8.0, Accuracy::bits(bits))?;
            let server = &self.session.server;
            let timed = bench
                .time(format!("fbt/{name}/{FULL}"), 1, || server.functions_of(&ct, &[&prepared]))?;
            let y = &timed.last[0];
            let found = self.session.client.decrypt_paired(y)?;
            let off = found.iter().zip(&x).map(|(y, &x)| (y - f.value(x)).abs());
            let row = timed
                .row
                .with("bits_worst", -off.fold(0.0, f64::max).log2())
                .with("levels_left", y.inner().level() - functional.input_level());
            self.push(bench, row);
        }
        Ok(())
    }
}
