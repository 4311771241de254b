//! Order statistics of whole encrypted vectors, at full size and with bootstrapping.
//!
//! The client encrypts real numbers of [-1, 1]. The server, which never sees a value, sorts 4096 of
//! them, finds the median of 32768 and the 16 largest of 4096, and counts 32768 into 16 bins. Every
//! comparison is a composite sign of a whole vector, and vectors without levels are bootstrapped.
//! The client decrypts each result and compares it with that on the plain numbers.

#[path = "order/task.rs"]
mod task;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use bellerophon::ckks::{approx::Sign, bootstrap::BootstrapSpec, ordering::Comparator};
use bellerophon::prelude::*;
use bellerophon::{FailureProbability, ParamsSpec, Result as Computed};
use clap::Parser;
use common::args::Common;
use common::console::{Console, Stages};
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use common::stats::Errors;
use rand::{RngExt, SeedableRng, rngs::StdRng, rngs::SysRng};
use serde::Serialize;
use task::{Part, RANGE, Task};

/// The values of `--preset`: the sets with bootstrapping.
const PRESETS: [&str; 2] = ["bootstrapping", "bootstrapping-dense"];

const KEY_GENERATION: &str = "key generation";

/// `log2` of the difference, relative to the range, that the comparator distinguishes, and the
/// degrees of the sign: 9 and 8 levels, each of which fits between two bootstraps, the second one with
/// the product after it.
const FINE: (f64, &[usize]) = (-12.0, &[15, 31, 15, 15]);

/// The same with `--small`: one polynomial of 3 levels.
const COARSE: (f64, &[usize]) = (-2.0, &[7]);

/// The smallest number of slots of a bootstrap.
const LEAST_SLOTS: usize = 1 << 8;

/// Sorts, selects and counts encrypted vectors, compares with exact results
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Run only one of the parts
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    report: Report,
    margin: f64,
    /// Seconds, largest error and the bound on it, for each part.
    #[serde(flatten)]
    parts: &'a BTreeMap<String, f64>,
    log2_failure: f64,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages_s: &'a Stages,
}

fn main() -> ExitCode {
    program::run(Defaults { presets: &PRESETS, threads: None }, run)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { common, only } = arguments;
    let console = Console::new(common.json);
    let all = [Part::Sort, Part::Median, Part::Top, Part::Histogram];
    let parts = all.into_iter().filter(|part| only.is_none_or(|only| only == *part));
    let tasks: Vec<Task> = parts.map(|part| part.task(common.small)).collect();
    let (log2_margin, degrees) = if common.small { COARSE } else { FINE };
    let comparator = Sign::of_degrees(1.0, log2_margin.exp2(), degrees)
        .and_then(Comparator::of)
        .map_err(Failure::run)?;
    console.say(format_args!("{comparator}"));

    let preset = common.preset()?;
    let mut found = Findings::default();
    // Fewer slots take smaller matrices of the bootstrap: vectors of one length share a key set.
    let mut by_slots: BTreeMap<usize, Vec<Task>> = BTreeMap::new();
    for task in tasks {
        let slots = task.values().next_power_of_two().max(LEAST_SLOTS);
        by_slots.entry(slots).or_default().push(task);
    }
    for (slots, tasks) in by_slots {
        let server = Session::open(preset, slots, &tasks, &mut found)?;
        for task in tasks {
            server.run(task, &comparator, &mut found, &console)?;
        }
        found.failures = found.failures.and(server.server.failures().log2(), 1);
    }

    let report = Report {
        n: found.values,
        preset: preset.name().into(),
        security_bits: found.security_bits,
        engine: "ckks bootstrapping".into(),
        keygen_s: found.stages.seconds(&[KEY_GENERATION]),
        eval_s: found.eval_s,
        max_abs_err: found.max,
        mean_abs_err: found.sum_of_means / (found.parts.len() / 3) as f64,
        eval_key_bytes: found.key_bytes as u64,
        ciphertext_bytes: found.ciphertext_bytes as u64,
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    let log2_failure = found.failures.log2();
    let peak = report.peak_rss_bytes.map_or("unknown".into(), human);
    console.say(format_args!(
        "{:.0}-bit security, {} thread(s); keys generated in {:.1} s, up to {} in transit; peak \
         memory {peak}; some bootstrap fails with probability 2^{log2_failure:.0}",
        report.security_bits.floor(),
        report.threads,
        report.keygen_s,
        human(report.eval_key_bytes),
    ));
    if common.json {
        let margin = comparator.margin();
        let Findings { parts, stages, .. } = &found;
        output::print_json(&Json { report, margin, parts, log2_failure, stages_s: stages })?;
    }
    Ok(())
}

/// The results of all parts.
#[derive(Default)]
struct Findings {
    stages: Stages,
    parts: BTreeMap<String, f64>,
    values: usize,
    security_bits: f64,
    eval_s: f64,
    /// The largest error, and the sum of the mean errors of the parts.
    max: f64,
    sum_of_means: f64,
    /// The largest key set and the largest operand.
    key_bytes: usize,
    ciphertext_bytes: usize,
    failures: FailureProbability,
}

/// Client and server for vectors with one number of slots.
struct Session {
    client: ClientKey,
    server: Evaluator,
}

impl Session {
    fn open(
        preset: Preset,
        slots: usize,
        tasks: &[Task],
        found: &mut Findings,
    ) -> Result<Self, Failure> {
        let spec = preset.spec().map_err(Failure::run)?;
        let bootstrap = spec.bootstrap.clone().map(|full| BootstrapSpec { slots, ..full });
        let stages = &mut found.stages;
        let params = stages
            .run("parameters", || Params::new(ParamsSpec { bootstrap, ..spec }))
            .map_err(Failure::run)?;
        let level = params.levels();
        let keys = |needs: Needs, task: &Task| needs.keys(&task.keys(level));
        let needs = tasks.iter().fold(Needs::new().bootstrap(), keys);
        let (client, keys) = stages
            .run(KEY_GENERATION, || -> Computed<_> {
                let client = ClientKey::generate(&params)?;
                let keys = client.evaluation_keys(&needs)?;
                Ok((client, keys))
            })
            .map_err(Failure::run)?;
        let key_bytes = keys.byte_len();
        stages.made(key_bytes as u64);
        let server = stages
            .run("matrices", || Evaluator::new(keys)?.with_auto_bootstrap())
            .map_err(Failure::run)?;
        found.key_bytes = found.key_bytes.max(key_bytes);
        found.security_bits = params.security_bits();
        Ok(Self { client, server })
    }

    /// A part, compared with the exact result.
    fn run(
        &self,
        task: Task,
        comparator: &Comparator,
        found: &mut Findings,
        console: &Console,
    ) -> Result<(), Failure> {
        let Self { client, server } = self;
        let params = client.params();
        let mut rng = StdRng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
        let values: Vec<f64> = (0..task.values()).map(|_| rng.random_range(RANGE)).collect();
        let x =
            client.encrypt_with(&values, RANGE, params.levels(), &mut rng).map_err(Failure::run)?;
        let begin = Instant::now();
        let evaluated = found.stages.run(task.name(), || task.evaluate(comparator, server, &x));
        let y = evaluated.map_err(Failure::run)?;
        let seconds = begin.elapsed().as_secs_f64();
        let published = server.publish(&y, task.declaration()).map_err(Failure::run)?;
        let got = client.decrypt(&published).map_err(Failure::run)?;
        let expected = task.expected(&values);
        if got.len() != expected.len() {
            let (got, expected) = (got.len(), expected.len());
            return Err(Failure::run(format!("{task}: {got} results, expected {expected}")));
        }
        let Errors { max: worst, mean } = Errors::between(&expected, &got);
        let bound = task.bound(comparator, &values);
        console.say(format_args!(
            "{task:16} {seconds:>8.1} s   largest error {worst:.3e}, bound {bound:.3e}"
        ));
        if worst > bound {
            return Err(Failure::run(format!("{task}: an error of {worst:e} above {bound:e}")));
        }
        let ciphertext_bytes = x.lattice().byte_len(params.ckks().lattice());
        found.parts.insert(format!("{task}_s"), seconds);
        found.parts.insert(format!("{task}_max_err"), worst);
        found.parts.insert(format!("{task}_bound"), bound);
        found.values += task.values();
        found.eval_s += seconds;
        found.max = found.max.max(worst / task.unit());
        found.sum_of_means += mean / task.unit();
        found.ciphertext_bytes = found.ciphertext_bytes.max(ciphertext_bytes);
        Ok(())
    }
}
