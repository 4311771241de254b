//! Bootstrapping of an encrypted vector without levels, at full size.
//!
//! The client encrypts two real vectors that fill the slots, at the lowest level that a bootstrap
//! takes. The server, which never sees a value, joins them as the real and imaginary parts of one
//! vector and bootstraps it. The client decrypts both parts and compares every slot with its input.

use std::time::Instant;

use bellerophon::ckks::{Complex64, Interval, bootstrap::BootstrapSpec, cost::StageWork};
use bellerophon::prelude::*;
use bellerophon::{ParamsSpec, Result as Computed};
use clap::Parser;
use common::args::Common;
use common::console::{Console, Stages};
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{Defaults, Failure};
use rand::{RngExt, SeedableRng, rngs::StdRng, rngs::SysRng};
use serde::Serialize;

/// The values of `--preset`: the sets with bootstrapping.
const PRESETS: [&str; 2] = ["bootstrapping", "bootstrapping-dense"];

/// Slots with `--small`: the security is the same, and the matrices have fewer diagonals.
const SMALL: usize = 1 << 8;

/// `log2` of the probability that the worst slot exceeds its predicted bound.
const LOG2_FAILURE: f64 = -20.0;

const KEY_GENERATION: &str = "key generation";

/// Encrypts a vector at the lowest level, bootstraps it, compares with the input
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Bootstrap real numbers, which takes one EvalMod instead of two
    #[arg(long)]
    real: bool,

    /// Iterations: each bootstraps the remaining error of the previous ones (Meta-BTS)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    rounds: u8,
}

/// The report of `--json`.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    report: Report,
    slots: usize,
    /// Levels for the user until the next bootstrap.
    levels_out: usize,
    /// Bits of the smallest such level.
    bits_per_level: f64,
    /// Bits of all of them: of the modulus between the two levels.
    usable_bits_out: f64,
    /// `-log2` of the largest error of a slot.
    error_bits_worst: f64,
    /// `-log2` of the mean error of a slot.
    error_bits_mean: f64,
    /// `-log2` of the predicted standard deviation of the error of a slot.
    error_bits_predicted: f64,
    /// `-log2` of the predicted bound on the error of the worst slot, after one iteration.
    error_bits_worst_predicted: f64,
    log2_failure: f64,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages_s: &'a Stages,
    /// The stages of one bootstrap.
    stages: &'a [StageRow],
}

/// The counts of one stage of a bootstrap, and its time.
#[derive(Serialize)]
struct StageRow {
    stage: &'static str,
    /// NTTs of one residue polynomial.
    transforms: f64,
    /// Bytes of keys, once for every key switch.
    key_bytes: f64,
    /// Words that basis conversions write.
    conversion_words: f64,
    /// Measured, of all iterations together.
    seconds: f64,
    /// Predicted seconds of the transforms, of the products and of reading the keys.
    transforms_s: f64,
    products_s: f64,
    keys_s: f64,
    /// The largest of these three.
    bound: &'static str,
}

impl StageRow {
    fn new(work: &StageWork, degree: usize, stages: &Stages) -> Self {
        let stage = work.stage.name();
        let parts = work.parts();
        let [transforms_s, products_s, keys_s] = parts.map(|(_, seconds)| seconds);
        let longest = parts.into_iter().max_by(|x, y| x.1.total_cmp(&y.1));
        Self {
            stage,
            transforms: work.work.transforms.round(),
            key_bytes: work.key_bytes,
            conversion_words: work.conversions * degree as f64,
            seconds: stages.seconds(&[stage]),
            transforms_s,
            products_s,
            keys_s,
            bound: longest.map_or("", |(name, _)| name),
        }
    }

    fn say(&self, console: &Console) {
        console.say(format_args!(
            "{:24} {:>7.2} s {:>8.0} {:>10} {:>9.1} M  {}",
            self.stage,
            self.seconds,
            self.transforms,
            human(self.key_bytes as u64),
            self.conversion_words / 1e6,
            self.bound,
        ));
    }
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &PRESETS, threads: Some(1) };

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { common, real, rounds } = arguments;
    let console = Console::new(common.json);
    let mut stages = Stages::default();
    let mut rng = StdRng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    // Step 1: parameters and keys; fewer slots with `--small`.
    let preset = common.preset()?;
    let spec = preset.spec().map_err(Failure::run)?;
    let bootstrap = spec.bootstrap.clone().map(|full| match common.small {
        true => BootstrapSpec { slots: full.slots.min(SMALL), ..full },
        false => full,
    });
    let params = stages
        .run("parameters", || Params::new(ParamsSpec { bootstrap, ..spec }))
        .map_err(Failure::run)?;
    let (client, keys) = stages
        .run(KEY_GENERATION, || -> Computed<_> {
            let client = ClientKey::generate(&params)?;
            let keys = client.evaluation_keys(&Needs::new().bootstrap())?;
            Ok((client, keys))
        })
        .map_err(Failure::run)?;
    let key_bytes = keys.byte_len();
    stages.made(key_bytes as u64);
    let server = stages.run("matrices", || Evaluator::new(keys)).map_err(Failure::run)?;

    // Step 2: random numbers of the unit disc, encrypted at the input level.
    let bootstrapper = params.bootstrapper().map_err(Failure::run)?;
    let slots = bootstrapper.spec().slots;
    let values: Vec<Complex64> = (0..slots)
        .map(|_| {
            let radius = rng.random_range(0.0f64..1.0).sqrt();
            let z = Complex64::from_polar(radius, rng.random_range(0.0..std::f64::consts::TAU));
            if *real { Complex64::from(z.re) } else { z }
        })
        .collect();
    let (level, output) = (bootstrapper.input_level(), bootstrapper.output_level());
    let low = encrypted(&client, &server, &values, *real, level, &mut rng).map_err(Failure::run)?;
    // Step 3: the bootstrap.
    let begin = Instant::now();
    let fresh = stages
        .follow(|callback| {
            let server = server.clone().with_progress(callback);
            match rounds {
                1 => server.bootstrap(&low),
                more => server.bootstrap_iterated(&low, usize::from(*more)),
            }
        })
        .map_err(Failure::run)?;
    let seconds = begin.elapsed().as_secs_f64();

    // Step 4: decryption, errors and report.
    let found = decrypted(&client, &server, &fresh, *real).map_err(Failure::run)?;
    let errors: Vec<f64> = found.iter().zip(&values).map(|(a, b)| (a - b).norm()).collect();
    let worst = errors.iter().fold(0.0, |m: f64, &e| m.max(e));
    let mean = errors.iter().sum::<f64>() / slots as f64;
    let arithmetic = params.ckks();
    let bits_of_levels = (level + 1..=output).map(|l| arithmetic.divisor(l).log2());
    let bits = bits_of_levels.clone().fold(f64::INFINITY, f64::min);
    let usable: f64 = bits_of_levels.sum();
    let report = Report {
        n: slots,
        preset: preset.name().into(),
        security_bits: params.security_bits(),
        engine: "ckks bootstrapping".into(),
        keygen_s: stages.seconds(&[KEY_GENERATION]),
        eval_s: seconds,
        max_abs_err: worst,
        mean_abs_err: mean,
        eval_key_bytes: key_bytes as u64,
        ciphertext_bytes: low.lattice().byte_len(arithmetic.lattice()) as u64,
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    let (levels, log2_failure) = (bootstrapper.levels(), params.log2_failure());
    let once = bootstrapper.bootstrapped(&low.metadata()).map_err(Failure::run)?;
    let bound = once.worst(LOG2_FAILURE);
    console.say(format_args!(
        "{slots} {} numbers, N = {}, log2 QP = {:.0}, {:.0}-bit security, failure below 2^{:.0}",
        if *real { "real" } else { "complex" },
        arithmetic.lattice().spec().degree,
        arithmetic.lattice().log2_modulus(),
        params.security_bits().floor(),
        log2_failure,
    ));
    console.say(format_args!(
        "bootstrapped from level {level} to level {output} in {:.2} s on {} thread(s): {levels} \
         levels of at least {bits:.1} bits until the next bootstrap",
        report.eval_s, report.threads,
    ));
    console.say(format_args!(
        "precision: {:.1} bits in the worst slot, {:.1} in the mean (predicted deviation: {:.1}; \
         worst slot of one iteration: {:.1}, but for a chance of 2^{LOG2_FAILURE})",
        -worst.log2(),
        -mean.log2(),
        -fresh.metadata().noise().log2(),
        -bound.log2(),
    ));
    let parts = if *real { 1 } else { 2 };
    let rows: Vec<StageRow> = StageWork::of_bootstrap(bootstrapper, parts)
        .iter()
        .map(|work| StageRow::new(work, arithmetic.lattice().spec().degree, &stages))
        .collect();
    console.say(format_args!(
        "{:24} {:>9} {:>8} {:>10} {:>11}  bound",
        "stage", "time", "NTTs", "keys", "converted"
    ));
    rows.iter().for_each(|row| row.say(&console));
    let peak = report.peak_rss_bytes.map_or("unknown".into(), human);
    console.say(format_args!(
        "keys generated in {:.1} s, {} in transit; peak memory {peak}",
        report.keygen_s,
        human(report.eval_key_bytes),
    ));
    if common.json {
        output::print_json(&Json {
            report,
            slots,
            levels_out: levels,
            bits_per_level: bits,
            usable_bits_out: usable,
            error_bits_worst: -worst.log2(),
            error_bits_mean: -mean.log2(),
            error_bits_predicted: -fresh.metadata().noise().log2(),
            error_bits_worst_predicted: -bound.log2(),
            log2_failure,
            stages_s: &stages,
            stages: &rows,
        })?;
    }
    Ok(())
}

/// One vector of the numbers: encryptions of the real and imaginary parts, joined by the server.
fn encrypted(
    client: &ClientKey,
    server: &Evaluator,
    values: &[Complex64],
    real: bool,
    level: usize,
    rng: &mut StdRng,
) -> Computed<Ciphertext> {
    let mut part = |of: fn(&Complex64) -> f64| {
        let values: Vec<f64> = values.iter().map(of).collect();
        client.encrypt_with(&values, -1.0..=1.0, level, rng)
    };
    let re = part(|z| z.re)?;
    if real {
        return Ok(re);
    }
    let both = server.add(&re, &server.mul_i(&part(|z| z.im)?)?)?;
    // The ranges of the parts alone do not imply that the numbers lie in the unit disc.
    Ok(both.assume_range_with_padding(Interval::complex(1.0)?))
}

/// Numbers of the unit disc, and the errors of the bootstrap.
const PUBLISHED: f64 = 1.25;

/// The numbers from the published vector.
fn decrypted(
    client: &ClientKey,
    server: &Evaluator,
    z: &Ciphertext,
    real: bool,
) -> Computed<Vec<Complex64>> {
    let declared = match real {
        true => Declaration::from(-PUBLISHED..=PUBLISHED),
        false => Declaration::complex(PUBLISHED),
    };
    client.decrypt_complex(&server.publish(z, declared)?)
}
