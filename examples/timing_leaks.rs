//! Do secrets show in the time that work on them takes? A statistical report in the manner of dudect
//! (Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?", DATE 2017).
//!
//! Each case runs on two classes of secrets, in random order, and Welch's t-test compares the times: for
//! all of them, and for those below some percentiles, which leaves out what the machine does in between.
//! Beyond 4.5 the classes differ noticeably, beyond 10 surely. A case called a control has classes that
//! cannot differ, or surely do: it shows what the machine and the test can tell. A report and no proof:
//! it sees this machine, this build, these classes, and no differences smaller than its noise.

mod common;

use std::{convert::Infallible, hint::black_box, process::ExitCode, time::Instant};

use bellerophon::ckks::{self, Encoder};
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
use rand::{Rng, RngExt, TryCryptoRng, TryRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

/// Of classes and of what is drawn.
const SEED: u64 = 2017;

/// Draws of one measurement of a sampler.
const DRAWS: usize = 1024;

/// Deviation of noise that floods, as for sharing results.
const WIDE: f64 = (1u64 << 40) as f64;

/// Percentiles below which times are compared.
const KEPT: [f64; 6] = [1.0, 0.99, 0.95, 0.9, 0.75, 0.5];

/// Beyond this, the classes differ noticeably.
const NOTICEABLE: f64 = 4.5;

/// Beyond this, they surely do.
const SURE: f64 = 10.0;

const KEY_GENERATION: &str = "key generation";
const MEASUREMENT: &str = "measurement";

/// Compares the times that work takes on two classes of secrets
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Measurements of each case [default: 20000, 1000 under --small]
    #[arg(long, value_name = "N")]
    count: Option<usize>,
}

/// One case, measured.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    classes: [&'static str; 2],
    count: usize,
    /// Median time of each class.
    median_ns: [f64; 2],
    /// Welch's statistic of all times.
    t: f64,
    /// The largest magnitude below any of the percentiles.
    worst_t: f64,
    verdict: &'static str,
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

/// Returns words that were prepared, from the first on.
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

/// Measures cases, so many times each.
struct Test {
    count: usize,
    rng: ChaCha20Rng,
    rows: Vec<Row>,
}

impl Test {
    /// Times `work` on what `prepare` makes for a class; only `work` is timed.
    fn case<T, U>(
        &mut self,
        name: &'static str,
        classes: [&'static str; 2],
        mut prepare: impl FnMut(usize, &mut ChaCha20Rng) -> T,
        mut work: impl FnMut(&mut T) -> U,
    ) {
        let mut times = [Vec::new(), Vec::new()];
        // The first tenth warms up caches and clocks.
        let warm = self.count / 10;
        for i in 0..warm + self.count {
            let class = usize::from(self.rng.random::<bool>());
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
            welch(&kept(&times[0]), &kept(&times[1]))
        };
        let worst_t = KEPT.iter().map(|&part| below(part).abs()).fold(0.0, f64::max);
        let verdict = match worst_t {
            t if t > SURE => "differs",
            t if t > NOTICEABLE => "may differ",
            _ => "no difference found",
        };
        let t = below(1.0);
        let median_ns = times.map(median);
        self.rows.push(Row { name, classes, count: self.count, median_ns, t, worst_t, verdict });
    }

    /// A sampler of [`DRAWS`] numbers, which takes up to so many words each, on words that are all the
    /// same and on random ones.
    fn sampler<U>(
        &mut self,
        name: &'static str,
        each: usize,
        mut sampler: impl FnMut(&mut Replay) -> U,
    ) {
        let fixed = vec![self.rng.next_u64(); each * DRAWS];
        let mut random = fixed.clone();
        let prepare = |class: usize, rng: &mut ChaCha20Rng| {
            random.iter_mut().for_each(|word| *word = rng.next_u64());
            Replay { words: [&fixed, &random][class].clone(), at: 0 }
        };
        self.case(name, ["fixed", "random"], prepare, |replay| sampler(replay));
    }
}

/// The difference of two means in its standard deviations.
fn welch(a: &[f64], b: &[f64]) -> f64 {
    let moments = |x: &[f64]| {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    };
    if a.len() < 2 || b.len() < 2 {
        return 0.0;
    }
    let ((of_a, error_a), (of_b, error_b)) = (moments(a), moments(b));
    let error = (error_a + error_b).sqrt();
    if error > 0.0 { (of_a - of_b) / error } else { 0.0 }
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
    let slots = params.arithmetic();
    let lattice = slots.lattice();
    let mut clock = Stages::default();
    let mut rng = random::seeded(SEED);

    // Two keys of one identity: all coefficients 1, and as they are drawn.
    let keys = clock.run(KEY_GENERATION, || -> bellerophon::mlwe::Result<_> {
        let drawn = SecretKey::generate(lattice, &mut rng)?;
        let ones = vec![1; lattice.dimension()];
        let ones = SecretKey::restore(lattice, &ones, drawn.id())?;
        let copy = SecretKey::restore(lattice, drawn.all_coefficients(), drawn.id())?;
        Ok([ones, drawn, copy])
    });
    let [ones, drawn, copy] = keys.map_err(Failure::run)?;
    let encoder = Encoder::new(slots);
    let limbs = slots.limbs_at(0);
    let length = slots.max_slots().min(DRAWS);
    let values: Vec<f64> = (0..length).map(|_| rng.random_range(-1.0..1.0)).collect();
    let encrypted = |key: &SecretKey, rng: &mut ChaCha20Rng| {
        let plain = encoder.encode(&values, slots.scale() / 64.0, limbs)?;
        ckks::encrypt(slots, &plain, key, rng)
    };
    let vector = encrypted(&drawn, &mut rng).map_err(Failure::run)?;
    let other = SecretKey::generate(lattice, &mut rng).map_err(Failure::run)?;
    let of_other = encrypted(&other, &mut rng).map_err(Failure::run)?;
    let narrow = Gaussian::new(lattice.sigma()).map_err(Failure::run)?;
    let wide = Gaussian::new(WIDE).map_err(Failure::run)?;

    let mut test = Test { count, rng: random::seeded(SEED ^ 1), rows: Vec::new() };
    clock.run(MEASUREMENT, || {
        test.sampler("Gaussian", 2, |rng| narrow.sample(DRAWS, rng));
        test.sampler("Gaussian that floods", 32, |rng| wide.sample(DRAWS, rng));
        test.sampler("ternary", 2, |rng| sample::ternary(DRAWS, rng));
        test.sampler("ternary of weight 192", 2, |rng| {
            sample::ternary_fixed_weight(DRAWS, 192, rng).is_ok()
        });
        test.sampler("ternary, half zeros", 2, |rng| sample::zo(DRAWS, rng));
        let phase = |key: &mut &SecretKey| vector.lattice().phase(key).is_ok();
        test.case("phase", ["key of ones", "key drawn"], |class, _| [&ones, &drawn][class], phase);
        let classes = ["key drawn", "its copy"];
        test.case("phase, control", classes, |class, _| [&drawn, &copy][class], phase);
        let pairs = [(&vector, &drawn), (&of_other, &other)];
        test.case(
            "decryption and decoding",
            ["first key", "second key"],
            |class, _| pairs[class],
            |(ct, key)| ckks::decrypt_values::<f64>(slots, ct, key).is_ok(),
        );
        let encode = |values: &mut Vec<f64>| encoder.encode(values, slots.scale(), limbs).is_ok();
        let zeros_or = |class: usize, rng: &mut ChaCha20Rng| -> Vec<f64> {
            let random: Vec<f64> = (0..length).map(|_| rng.random_range(-1.0..1.0)).collect();
            random.iter().map(|x| x * class as f64).collect()
        };
        test.case("encoding", ["zeros", "random"], zeros_or, encode);
        // A comparison that stops at the first difference.
        let tags = |class: usize, _: &mut ChaCha20Rng| {
            let mut tag = vec![7u8; 4096];
            tag[[0, 4095][class]] = 8;
            tag
        };
        test.case("early exit, control", ["first byte", "last byte"], tags, |tag| {
            tag.iter().position(|&byte| black_box(byte) != 7)
        });
    });

    console.say(format_args!(
        "{:26} {:26} {:>12} {:>12} {:>8} {:>8}  verdict",
        "case", "classes", "median ns", "median ns", "t", "worst t"
    ));
    for Row { name, classes: [a, b], median_ns: [first, second], t, worst_t, verdict, .. } in
        &test.rows
    {
        console.say(format_args!(
            "{name:26} {:26} {first:>12.0} {second:>12.0} {t:>8.2} {worst_t:>8.2}  {verdict}",
            format!("{a} / {b}")
        ));
    }
    console.say(
        "a report, no proof: encoding and decoding are not promised to take constant time, and \
         controls show what this machine can tell",
    );
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
    if *json { output::print_json(&leaks) } else { Ok(()) }
}
