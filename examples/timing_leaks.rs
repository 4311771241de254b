//! Timing leaks: do the times of operations on secrets depend on the secrets? A statistical test in
//! the manner of dudect (Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?", DATE
//! 2017).
//!
//! Each case runs on two classes of secrets in random order. Welch's t-test compares all times, and
//! the times below several percentiles, which excludes interruptions. A value beyond 4.5 is a
//! noticeable difference, beyond 10 a certain one. The classes of a control cannot differ, or
//! certainly do: a control shows the sensitivity of machine and test. The operands are made anew
//! for every measurement, in the same way for both classes, so that neither has addresses of its
//! own.
//!
//! For each case the program prints the smallest difference that it would have detected: 4.5
//! standard errors. The exit status is 1 if classes differ with certainty although they must not,
//! or if those of a control do not although they must. Runs with --small are too short for a
//! verdict and only report. The report is no proof: it covers this machine, this build and these
//! classes, and no smaller differences.

use std::{convert::Infallible, hint::black_box, process::ExitCode, time::Instant};

use bellerophon::Flooding;
use bellerophon::ckks::{
    self, Encoder, Interval, noise_flooding::decrypt_flooded, simulator::Simulator,
};
use bellerophon::mlwe::SecretKey;
use bellerophon::prelude::*;
use bellerophon::ring::sample::{self, Gaussian};
use clap::Parser;
use common::args::{Common, WITH_LOOKUPS};
use common::console::{Console, Stages};
use common::memory::peak_rss_bytes;
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use common::random;
use rand::{Rng, RngExt, SeedableRng, TryCryptoRng, TryRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

/// The seed of classes and random data.
const SEED: u64 = 2017;

/// Samples per measurement of a sampler.
const DRAWS: usize = 1024;

/// Standard deviation of flooding noise, as for shared results.
const WIDE: f64 = (1u64 << 40) as f64;

/// Percentiles below which times are compared.
const KEPT: [f64; 6] = [1.0, 0.99, 0.95, 0.9, 0.75, 0.5];

/// The threshold of a noticeable difference.
const NOTICEABLE: f64 = 4.5;

/// The threshold of a certain difference.
const SURE: f64 = 10.0;

const KEY_GENERATION: &str = "key generation";
const MEASUREMENT: &str = "measurement";

/// Compares the times of operations on two classes of secrets
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Number of measurements per case [default: 20000, 1000 under --small]
    #[arg(long, value_name = "N")]
    count: Option<usize>,
}

/// The required outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Wanted {
    /// No difference.
    Same,
    /// A difference: a control.
    Different,
    /// Nothing is promised.
    Either,
}

/// A measured case.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    classes: [&'static str; 2],
    wanted: Wanted,
    count: usize,
    /// Median time of each class.
    median_ns: [f64; 2],
    /// Welch's statistic of all times.
    t: f64,
    /// The largest magnitude below any of the percentiles.
    worst_t: f64,
    /// The smallest difference that would have been detected, at the percentile with the least
    /// noise.
    least_ns: f64,
    verdict: &'static str,
}

impl Row {
    /// The fault, if there is one.
    fn complaint(&self) -> Option<String> {
        let Self { name, worst_t, .. } = self;
        match self.wanted {
            Wanted::Same if *worst_t > SURE => {
                Some(format!("{name}: the classes differ (t = {worst_t:.1})"))
            }
            Wanted::Different if *worst_t <= SURE => Some(format!(
                "{name}: the classes must differ, but the test does not distinguish them (t = \
                 {worst_t:.1})"
            )),
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct Leaks {
    #[serde(flatten)]
    report: Report,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    program::run(Defaults { presets: &WITH_LOOKUPS, threads: Some(1) }, run)
}

/// A generator that replays prepared words.
struct Replay {
    words: Vec<u64>,
    at: usize,
}

impl TryRng for Replay {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u64() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let word = self.words[self.at % self.words.len()];
        self.at += 1;
        Ok(word)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Replay {}

/// Measures cases, each `count` times.
struct Test {
    count: usize,
    rng: ChaCha20Rng,
    rows: Vec<Row>,
}

impl Test {
    /// Times `work` on what `prepare` makes for a class; only `work` is timed.
    fn case<T, U>(
        &mut self,
        (name, wanted): (&'static str, Wanted),
        classes: [&'static str; 2],
        mut prepare: impl FnMut(usize, &mut ChaCha20Rng) -> T,
        mut work: impl FnMut(&mut T) -> U,
    ) {
        let mut times = [Vec::new(), Vec::new()];
        // The first tenth warms up caches and clocks.
        let warm = self.count / 10;
        for i in 0..warm + self.count {
            let class = usize::from(self.rng.random::<bool>());
            // The operand of the last measurement is freed by now, so this one takes the same
            // memory.
            let mut secret = prepare(class, &mut self.rng);
            let begin = Instant::now();
            black_box(work(black_box(&mut secret)));
            let taken = begin.elapsed().as_nanos() as f64;
            if i >= warm {
                times[class].push(taken);
            }
        }
        let mut all: Vec<f64> = times.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let below = |part: f64| {
            let most = all[((all.len() as f64 * part) as usize).clamp(1, all.len()) - 1];
            let kept = |of: &[f64]| of.iter().copied().filter(|&t| t <= most).collect::<Vec<_>>();
            Welch::new(&kept(&times[0]), &kept(&times[1]))
        };
        let t = below(1.0).t();
        let tests = KEPT.map(below);
        let worst_t = tests.iter().map(|test| test.t().abs()).fold(0.0, f64::max);
        let errors = tests.iter().map(|test| test.error).filter(|&error| error > 0.0);
        let least_ns = NOTICEABLE * errors.fold(f64::INFINITY, f64::min);
        let verdict = match worst_t {
            t if t > SURE => "differs",
            t if t > NOTICEABLE => "may differ",
            _ => "no difference found",
        };
        let (median_ns, count) = (times.map(median), self.count);
        self.rows.push(Row {
            name,
            classes,
            wanted,
            count,
            median_ns,
            t,
            worst_t,
            least_ns,
            verdict,
        });
    }

    /// A sampler of [`DRAWS`] numbers, each of which takes up to `words` words, on constant words
    /// and on random ones.
    fn sampler<U>(
        &mut self,
        name: &'static str,
        each: usize,
        mut sampler: impl FnMut(&mut Replay) -> U,
    ) {
        let fixed = vec![self.rng.next_u64(); each * DRAWS];
        let prepare = |class: usize, rng: &mut ChaCha20Rng| {
            let mut words: Vec<u64> = fixed.iter().map(|_| rng.next_u64()).collect();
            // Both classes write every word.
            let random = 0u64.wrapping_sub(class as u64);
            words.iter_mut().zip(&fixed).for_each(|(w, f)| *w = (*w & random) | (f & !random));
            Replay { words, at: 0 }
        };
        let case = (name, Wanted::Same);
        self.case(case, ["fixed", "random"], prepare, |replay| sampler(replay));
    }
}

/// The difference of two means, and its standard error.
struct Welch {
    difference: f64,
    error: f64,
}

impl Welch {
    fn new(a: &[f64], b: &[f64]) -> Self {
        let moments = |x: &[f64]| {
            let n = x.len() as f64;
            let mean = x.iter().sum::<f64>() / n;
            let variance = x.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (n - 1.0);
            (mean, variance / n)
        };
        if a.len() < 2 || b.len() < 2 {
            return Self { difference: 0.0, error: 0.0 };
        }
        let ((of_a, error_a), (of_b, error_b)) = (moments(a), moments(b));
        Self { difference: of_a - of_b, error: (error_a + error_b).sqrt() }
    }

    fn t(&self) -> f64 {
        if self.error > 0.0 { self.difference / self.error } else { 0.0 }
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Common { json, small, preset, .. } = &arguments.common;
    let console = Console::new(*json);
    let count = arguments.count.unwrap_or(if *small { 1000 } else { 20_000 });
    if count < 100 {
        return Err(Failure::input(format!("--count {count}: need at least 100 measurements")));
    }
    let params = Params::preset(arguments.common.preset()?).map_err(Failure::run)?;
    let slots = params.ckks();
    let lattice = slots.lattice();
    let mut clock = Stages::default();
    let mut rng = random::seeded(SEED);

    // Step 1: two keys of one identity: all coefficients 1, and random ones; and another key.
    let keys = clock.run(KEY_GENERATION, || -> bellerophon::mlwe::Result<_> {
        Ok([SecretKey::generate(lattice, &mut rng)?, SecretKey::generate(lattice, &mut rng)?])
    });
    let [drawn, other] = keys.map_err(Failure::run)?;
    let ones = vec![1; lattice.dimension()];
    let restored = |coefficients: &[i64], of: &SecretKey| {
        SecretKey::restore(lattice, coefficients, of.id()).expect("the coefficients are of a key")
    };
    let ones_or_drawn = |class: usize| restored([&ones, drawn.all_coefficients()][class], &drawn);
    // Step 2: the operands: a vector under either key, and samplers of narrow and of wide noise.
    let encoder = Encoder::new(slots);
    let limbs = slots.limbs_at(0);
    let length = slots.max_slots().min(DRAWS);
    let values: Vec<f64> = (0..length).map(|_| rng.random_range(-1.0..1.0)).collect();
    let unit = Interval::real(-1.0, 1.0).map_err(Failure::run)?;
    let encoded = |values: &[f64]| encoder.encode(values, unit, slots.scale() / 64.0, limbs);
    let plain = encoded(&values).map_err(Failure::run)?;
    let encrypted = |key: &SecretKey, rng: &mut ChaCha20Rng| ckks::encrypt(slots, &plain, key, rng);
    let vector = encrypted(&drawn, &mut rng).map_err(Failure::run)?;
    let of_other = encrypted(&other, &mut rng).map_err(Failure::run)?;
    let narrow = Gaussian::new(lattice.spec().sigma).map_err(Failure::run)?;
    let wide = Gaussian::new(WIDE).map_err(Failure::run)?;
    // Step 3: a result to be shared, and the bound on its noise.
    let level = slots.max_level().min(1);
    let fresh = encoder.encode(&values, unit, slots.scale(), slots.limbs_at(level));
    let fresh = fresh.and_then(|plain| ckks::encrypt(slots, &plain, &drawn, &mut rng));
    let fresh = fresh.map_err(Failure::run)?;
    let simulator = Simulator::new(slots).worst_case();
    let bound =
        simulator.encrypt(&values, unit, level).and_then(|shown| simulator.noise_bound(&shown));
    let bound = bound.map_err(Failure::run)?;
    let terms = Flooding::new(1, 30.0).map_err(Failure::run)?;

    // Step 4: the cases.
    let mut test = Test { count, rng: random::seeded(SEED ^ 1), rows: Vec::new() };
    clock.run(MEASUREMENT, || {
        use Wanted::{Different, Either, Same};
        test.sampler("Gaussian", 2, |rng| narrow.sample(DRAWS, rng));
        test.sampler("Gaussian that floods", 32, |rng| wide.sample(DRAWS, rng));
        test.sampler("ternary", 2, |rng| sample::ternary(DRAWS, rng));
        test.sampler("ternary of weight 192", 2, |rng| {
            sample::ternary_fixed_weight(DRAWS, 192, rng).is_ok()
        });
        test.sampler("ternary, half zeros", 2, |rng| sample::zo(DRAWS, rng));
        let keys = ["key of ones", "key drawn"];
        let phase = |key: &mut SecretKey| vector.lattice().phase(key).is_ok();
        test.case(("phase", Same), keys, |class, _| ones_or_drawn(class), phase);
        let copies = |_: usize, _: &mut ChaCha20Rng| restored(drawn.all_coefficients(), &drawn);
        test.case(("phase, control", Same), ["key drawn", "its copy"], copies, phase);
        let with_rng = |class: usize, rng: &mut ChaCha20Rng| {
            (ones_or_drawn(class), ChaCha20Rng::seed_from_u64(rng.next_u64()))
        };
        test.case(("encryption", Same), keys, with_rng, |(key, rng)| {
            ckks::encrypt(slots, &plain, key, rng).is_ok()
        });
        let zeros_or = |class: usize, rng: &mut ChaCha20Rng| -> Vec<f64> {
            let random: Vec<f64> = (0..length).map(|_| rng.random_range(-1.0..1.0)).collect();
            random.iter().map(|x| x * class as f64).collect()
        };
        let messages = ["zeros", "random"];
        let message = |class: usize, rng: &mut ChaCha20Rng| {
            let plain = encoded(&zeros_or(class, rng)).expect("as the first vector");
            (plain, ChaCha20Rng::seed_from_u64(rng.next_u64()))
        };
        test.case(("encryption of a message", Same), messages, message, |(plain, rng)| {
            ckks::encrypt(slots, plain, &drawn, rng).is_ok()
        });
        test.case(("flooded decryption", Same), keys, with_rng, |(key, rng)| {
            decrypt_flooded(slots, &fresh, key, &bound, &terms, rng).is_ok()
        });
        let pairs = [(&vector, &drawn), (&of_other, &other)];
        let pair = |class: usize, _: &mut ChaCha20Rng| {
            let (ciphertext, key) = pairs[class];
            (ciphertext.clone(), restored(key.all_coefficients(), key))
        };
        let classes = ["first key", "second key"];
        test.case(("decryption and decoding", Same), classes, pair, |(ct, key)| {
            ckks::decrypt_values::<f64>(slots, ct, key).is_ok()
        });
        let encode =
            |values: &mut Vec<f64>| encoder.encode(values, unit, slots.scale(), limbs).is_ok();
        test.case(("encoding", Either), messages, zeros_or, encode);
        // A comparison that stops at the first difference.
        let tags = |class: usize, _: &mut ChaCha20Rng| {
            let mut tag = vec![7u8; 4096];
            tag[[0, 4095][class]] = 8;
            tag
        };
        let classes = ["first byte", "last byte"];
        test.case(("early exit, control", Different), classes, tags, |tag| {
            tag.iter().position(|&byte| black_box(byte) != 7)
        });
    });

    console.say(format_args!(
        "{:26} {:26} {:>12} {:>12} {:>9} {:>8} {:>8}  verdict",
        "case", "classes", "median ns", "median ns", "least ns", "t", "worst t"
    ));
    for row in &test.rows {
        let Row { name, classes: [a, b], median_ns: [first, second], t, worst_t, .. } = row;
        console.say(format_args!(
            "{name:26} {:26} {first:>12.0} {second:>12.0} {:>9.1} {t:>8.2} {worst_t:>8.2}  {}",
            format!("{a} / {b}"),
            row.least_ns,
            row.verdict
        ));
    }
    console.say(
        "a report, no proof: \"least ns\" is the smallest difference that would have been \
         detected; encoding is not promised to take constant time, and controls show the \
         sensitivity of this machine",
    );
    let complaints: Vec<String> = test.rows.iter().filter_map(Row::complaint).collect();
    console.stages(&clock);
    let leaks = Leaks {
        report: Report {
            n: count * test.rows.len(),
            preset: preset.clone(),
            security_bits: params.security_bits(),
            engine: "none".into(),
            keygen_s: clock.seconds(&[KEY_GENERATION]),
            eval_s: clock.seconds(&[MEASUREMENT]),
            max_abs_err: 0.0,
            mean_abs_err: 0.0,
            eval_key_bytes: 0,
            ciphertext_bytes: vector.lattice().byte_len(lattice) as u64,
            peak_rss_bytes: peak_rss_bytes(),
            threads: rayon::current_num_threads(),
        },
        rows: test.rows,
    };
    if *json {
        output::print_json(&leaks)?;
    }
    match complaints.is_empty() || *small {
        true => Ok(()),
        false => Err(Failure::run(complaints.join("; "))),
    }
}
