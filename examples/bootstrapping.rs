//! Refreshing an encrypted vector that has run out of levels, at full size.
//!
//! The client encrypts as many complex numbers as the ring has slots, at the lowest level that a
//! refresh takes. The server, which never sees a value, gives the vector new levels. The client
//! decrypts and compares every slot with what it encrypted.

mod common;

use std::process::ExitCode;

use bellerophon::ckks::bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper};
use bellerophon::ckks::{
    self, Complex64, Encoder, EvaluationKeys, Evaluator, Interval, Params, ParamsSpec, SecretKey,
};
use clap::Parser;
use common::args::Common;
use common::console::{Console, Stages};
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use rand::{RngExt, SeedableRng, rngs::StdRng, rngs::SysRng};
use serde::Serialize;

/// The one preset.
const PRESET: &str = "bootstrapping";

/// Slots under `--small`: as secure, and the matrices have fewer diagonals.
const SMALL: usize = 1 << 8;

const KEY_GENERATION: &str = "key generation";
const REFRESH: &str = "refresh";

/// Encrypts a vector at the lowest level, refreshes it, compares with the truth
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Refresh real numbers, which takes one reduction instead of two
    #[arg(long)]
    real: bool,

    /// Rounds of refreshing: each refreshes again what the ones before are off by
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    rounds: u8,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    report: Report,
    slots: usize,
    /// Rescalings left for the user before the next refresh.
    levels_out: usize,
    /// Bits of one such level, the fewest.
    bits_per_level: f64,
    /// `-log2` of the largest error of a slot.
    error_bits_worst: f64,
    /// `-log2` of the mean error of a slot.
    error_bits_mean: f64,
    /// `-log2` of the predicted standard deviation of the error of a slot.
    error_bits_predicted: f64,
    log2_failure: f64,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages_s: &'a Stages,
}

fn main() -> ExitCode {
    program::run(Defaults { presets: &[PRESET], threads: Some(1) }, run)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { common, real, rounds } = arguments;
    let console = Console::new(common.json);
    let mut stages = Stages::default();
    let mut rng = StdRng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    let spec = ParamsSpec::bootstrapping().map_err(Failure::run)?;
    let params = stages.run("parameters", || Params::new(spec)).map_err(Failure::run)?;
    let slots = if common.small { SMALL } else { params.max_slots() };
    let bootstrapper = stages
        .run("matrices", || Bootstrapper::new(&params, BootstrapSpec::new(slots)))
        .map_err(Failure::run)?;
    let (secret, keys, own) = stages
        .run(KEY_GENERATION, || -> ckks::Result<_> {
            let secret = SecretKey::generate(params.lattice(), &mut rng)?;
            let own = BootstrapKeys::generate(&bootstrapper, &secret, &mut rng)?;
            let spec = bootstrapper.keys();
            Ok((secret.clone(), EvaluationKeys::generate(&params, &secret, &spec, &mut rng)?, own))
        })
        .map_err(Failure::run)?;
    let key_bytes = keys.byte_len() + own.byte_len();
    stages.made(key_bytes as u64);

    let values: Vec<Complex64> = (0..slots)
        .map(|_| {
            let radius = rng.random_range(0.0f64..1.0).sqrt();
            let z = Complex64::from_polar(radius, rng.random_range(0.0..std::f64::consts::TAU));
            if *real { Complex64::from(z.re) } else { z }
        })
        .collect();
    let level = bootstrapper.input_level();
    let low = encrypted(&params, &values, *real, level, &secret, &mut rng).map_err(Failure::run)?;
    let levels = bootstrapper.levels();
    let output = bootstrapper.output_level();
    let (security_bits, log2_failure) =
        (bootstrapper.security_bits(), bootstrapper.spec().log2_failure);
    let server = Evaluator::new(&params, &keys)
        .and_then(|server| server.with_refresh(bootstrapper, own))
        .map_err(Failure::run)?;
    let fresh = stages
        .run(REFRESH, || match rounds {
            1 => server.refresh(&low),
            more => server.refresh_precisely(&low, usize::from(*more)),
        })
        .map_err(Failure::run)?;

    let found: Vec<Complex64> =
        ckks::decrypt_values(&params, &fresh, &secret).map_err(Failure::run)?;
    let errors: Vec<f64> = found.iter().zip(&values).map(|(a, b)| (a - b).norm()).collect();
    let worst = errors.iter().fold(0.0, |m: f64, &e| m.max(e));
    let mean = errors.iter().sum::<f64>() / slots as f64;
    let bits = (level + 1..=output).map(|l| params.divisor(l).log2()).fold(f64::INFINITY, f64::min);
    let report = Report {
        n: slots,
        preset: PRESET.into(),
        security_bits,
        engine: "ckks bootstrapping".into(),
        keygen_s: stages.seconds(&[KEY_GENERATION]),
        eval_s: stages.seconds(&[REFRESH]),
        max_abs_err: worst,
        mean_abs_err: mean,
        eval_key_bytes: key_bytes as u64,
        ciphertext_bytes: low.lattice().byte_len(params.lattice()) as u64,
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    let lattice = params.lattice();
    console.say(format_args!(
        "{slots} {} numbers, N = {}, log2 QP = {:.0}, {:.0}-bit security, failure below 2^{:.0}",
        if *real { "real" } else { "complex" },
        params.degree(),
        lattice.log2_modulus(),
        security_bits.floor(),
        log2_failure,
    ));
    console.say(format_args!(
        "refreshed from level {level} to level {output} in {:.2} s on {} thread(s): {levels} levels \
         of at least {bits:.1} bits until the next refresh",
        report.eval_s, report.threads,
    ));
    console.say(format_args!(
        "precision: {:.1} bits in the worst slot, {:.1} in the mean (predicted deviation: {:.1})",
        -worst.log2(),
        -mean.log2(),
        -fresh.noise().log2(),
    ));
    let peak = report.peak_rss_bytes.map_or("unknown".into(), human);
    console.say(format_args!(
        "keys made in {:.1} s, {} as they travel; peak memory {peak}",
        report.keygen_s,
        human(report.eval_key_bytes),
    ));
    if common.json {
        output::print_json(&Json {
            report,
            slots,
            levels_out: levels,
            bits_per_level: bits,
            error_bits_worst: -worst.log2(),
            error_bits_mean: -mean.log2(),
            error_bits_predicted: -fresh.noise().log2(),
            log2_failure,
            stages_s: &stages,
        })?;
    }
    Ok(())
}

fn encrypted(
    params: &Params,
    values: &[Complex64],
    real: bool,
    level: usize,
    secret: &SecretKey,
    rng: &mut StdRng,
) -> ckks::Result<ckks::Ciphertext> {
    let encoder = Encoder::new(params);
    let (scale, limbs) = (params.scale(), params.limbs_at(level));
    let plain = if real {
        let values: Vec<f64> = values.iter().map(|z| z.re).collect();
        encoder.encode(&values, scale, limbs)?
    } else {
        encoder.encode(values, scale, limbs)?
    };
    let range = if real { Interval::real(-1.0, 1.0)? } else { Interval::complex(1.0)? };
    Ok(ckks::encrypt(params, &plain, secret, rng)?.assume_range(range))
}
