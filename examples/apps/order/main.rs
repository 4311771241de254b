//! Order statistics of whole encrypted vectors, at full size and with bootstrapping.
//!
//! The client encrypts real numbers of [-1, 1]. The server, which never sees a value, sorts 4096 of
//! them, finds the median of 32768 and the 16 largest of 4096, and counts 32768 into 16 bins. Every
//! comparison is a composite sign of a whole vector, and vectors without levels are bootstrapped.
//! The client decrypts each result and compares it with that on the plain numbers.

mod task;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use bellerophon::circuits::{approx::Sign, bootstrap::BootstrapSpec, ordering::Comparator};
use bellerophon::prelude::*;
use bellerophon::{FailureProbability, ParamsSpec};
use clap::ValueEnum;
use common::prelude::*;
use rand::RngExt;
use task::{Part, RANGE, Task};

const PRESETS: [&str; 2] = ["bootstrapping", "bootstrapping-dense"];

/// `log2` of the difference, relative to the range, that the comparator distinguishes, and the
/// degrees of the sign: 9 and 8 levels, each of which fits between two bootstraps, the second one
/// with the product after it.
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

fn main() -> ExitCode {
    program::report(Defaults::of(&PRESETS), run)
}

fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    let Arguments { common, only } = arguments;
    let parts = Part::value_variants().iter().filter(|&&part| only.is_none_or(|only| only == part));
    let (log2_margin, degrees) = if common.small { COARSE } else { FINE };
    let comparator = Comparator::of(Sign::of_degrees(1.0, log2_margin.exp2(), degrees)?)?;
    console.say(format_args!("{comparator}"));

    let preset = common.preset()?;
    let mut found = Findings::default();
    // Fewer slots take smaller matrices of the bootstrap: vectors of one length share a key set.
    let mut by_slots: BTreeMap<usize, Vec<Task>> = BTreeMap::new();
    for &part in parts {
        let task = Task::of(part, common.small);
        let slots = task.values.next_power_of_two().max(LEAST_SLOTS);
        by_slots.entry(slots).or_default().push(task);
    }
    for (slots, tasks) in by_slots {
        let parties = found.open(preset, slots, &tasks)?;
        for task in tasks {
            found.run(task, &comparator, &parties, console)?;
        }
        found.failures = found.failures.and(parties.1.failures().log2(), 1);
    }

    let max = found.errors.iter().map(|errors| errors.max).fold(0.0, f64::max);
    let sum_of_means: f64 = found.errors.iter().map(|errors| errors.mean).sum();
    let errors = Errors { max, mean: sum_of_means / found.errors.len() as f64 };
    let report = Report {
        security_bits: found.security_bits,
        engine: "ckks bootstrapping".into(),
        eval_s: found.eval_s,
        eval_key_bytes: found.key_bytes as u64,
        ciphertext_bytes: found.ciphertext_bytes as u64,
        ..Report::of(found.values, preset.name(), &found.stages, &errors)
    };
    Ok(Facts::of(report)
        .with("margin", comparator.margin())
        .and(found.facts)
        .with("log2_failure", found.failures.log2())
        .seconds("stages_s", &found.stages))
}

/// The results of all parts.
#[derive(Default)]
struct Findings {
    stages: Stages,
    /// Seconds, largest error and the bound on it, for each part.
    facts: Facts,
    /// The errors of each part, in its unit.
    errors: Vec<Errors>,
    values: usize,
    security_bits: f64,
    eval_s: f64,
    /// The largest key set and the largest operand.
    key_bytes: usize,
    ciphertext_bytes: usize,
    failures: FailureProbability,
}

impl Findings {
    /// Client and server for vectors with one number of slots.
    fn open(
        &mut self,
        preset: Preset,
        slots: usize,
        tasks: &[Task],
    ) -> Result<(ClientKey, Evaluator), Failure> {
        let spec = preset.spec()?;
        let bootstrap = spec.bootstrap.clone().map(|full| BootstrapSpec { slots, ..full });
        let stages = &self.stages;
        let params = stages.run("parameters", || Params::new(ParamsSpec { bootstrap, ..spec }))?;
        let level = params.levels();
        let keys = |needs: Needs, task: &Task| needs.keys(&task.keys(level));
        let needs = tasks.iter().fold(Needs::new().bootstrap(), keys);
        let (client, keys) = session::keys(&params, &needs, stages)?;
        self.key_bytes = self.key_bytes.max(keys.byte_len());
        self.security_bits = params.security_bits();
        let server = stages.run("matrices", || Evaluator::new(keys)?.with_auto_bootstrap())?;
        Ok((client, server))
    }

    /// A part, compared with the exact result.
    fn run(
        &mut self,
        task: Task,
        comparator: &Comparator,
        (client, server): &(ClientKey, Evaluator),
        console: &Console,
    ) -> Result<(), Failure> {
        let params = client.params();
        let mut rng = random::fresh()?;
        let values: Vec<f64> = (0..task.values).map(|_| rng.random_range(RANGE)).collect();
        let x = client.encrypt_with(&values, RANGE, params.levels(), &mut rng)?;
        let begin = Instant::now();
        let y = self.stages.run(task.name(), || task.evaluate(comparator, server, &x))?;
        let seconds = begin.elapsed().as_secs_f64();
        let got = client.decrypt(&server.publish(&y, task.declaration())?)?;
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
        self.facts = std::mem::take(&mut self.facts)
            .with(format!("{task}_s"), seconds)
            .with(format!("{task}_max_err"), worst)
            .with(format!("{task}_bound"), bound);
        self.errors.push(Errors { max: worst / task.unit(), mean: mean / task.unit() });
        self.values += task.values;
        self.eval_s += seconds;
        self.ciphertext_bytes = self.ciphertext_bytes.max(ciphertext_bytes);
        Ok(())
    }
}
