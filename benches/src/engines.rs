//! The engines of look-ups side by side: RGSW against NTRU, at the sizes of the presets.
//!
//! For each engine and size the client generates secrets and keys and encrypts values. The server
//! looks up the sigmoid of each in a table on [-8, 8]: key switch to the LWE secret, modulus
//! switch, blind rotation, extraction. The report has the security of the weakest key, the bytes of
//! the blind-rotation key and of the key switches, the multiplications of a rotation, the time of a
//! single look-up and of each of a batch, and the predicted and measured error. `docs/ntru.md` is
//! made from it.

mod contender;
mod row;

use clap::Parser;
use common::args::Common;
use common::console::Console;
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{Defaults, Failure};
use contender::Contender;
use row::Row;
use serde::Serialize;

/// The one preset: all engines.
const PRESET: &str = "engines";

/// Values of a batch, and with `--small`.
const BATCH: usize = 64;
const SMALL: usize = 4;

/// Measures look-ups with every engine at every size
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Measure these sets, with commas between [default: all, or those of degree 4096 at most under
    /// --small]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    set: Vec<String>,
}

#[derive(Serialize)]
struct Engines<'a> {
    #[serde(flatten)]
    report: Report,
    rows: &'a [Row],
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &[PRESET], threads: Some(1) };

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (small, console) = (arguments.common.small, Console::new(arguments.common.json));
    let count = if small { SMALL } else { BATCH };
    let mut rows = Vec::new();
    for contender in contenders(arguments)? {
        let row = row::measure(&contender, count)?;
        describe(&console, &row);
        rows.push(row);
    }
    let sum = |part: fn(&Row) -> f64| rows.iter().map(part).sum::<f64>();
    let report = Report {
        n: count * rows.len(),
        preset: PRESET.into(),
        security_bits: rows.iter().map(|row| row.security_bits).fold(f64::INFINITY, f64::min),
        engine: "rgsw, ntru".into(),
        keygen_s: sum(|row| row.keygen_s),
        eval_s: sum(|row| row.batch_ms) * count as f64 * 1e-3,
        max_abs_err: rows.iter().map(|row| row.max_abs_err).fold(0.0, f64::max),
        mean_abs_err: sum(|row| row.mean_abs_err) / rows.len() as f64,
        eval_key_bytes: rows.iter().map(|row| row.key_bytes).max().unwrap_or(0) as u64,
        ciphertext_bytes: rows.iter().map(|row| row.ciphertext_bytes).max().unwrap_or(0) as u64,
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    if arguments.common.json {
        output::print_json(&Engines { report, rows: &rows })
    } else {
        Ok(())
    }
}

/// The requested contenders.
fn contenders(arguments: &Arguments) -> Result<Vec<Contender>, Failure> {
    let all = Contender::all().map_err(Failure::run)?;
    if arguments.set.is_empty() {
        let small = arguments.common.small;
        return Ok(all.into_iter().filter(|c| !small || c.degree() <= 4096).collect());
    }
    let mut chosen = Vec::new();
    for name in &arguments.set {
        let Some(found) = all.iter().find(|c| c.name == name) else {
            let names: Vec<_> = all.iter().map(|c| c.name).collect();
            let names = names.join(", ");
            return Err(Failure::input(format!("--set {name}: there are {names}")));
        };
        chosen.push(found.clone());
    }
    Ok(chosen)
}

fn describe(console: &Console, row: &Row) {
    let secure = if row.secure { "" } else { ", INSECURE by the tables' margin" };
    console.say(format_args!(
        "{}: degree {}, {} digits of 2^{}, {:.1} bits of security{secure}",
        row.set, row.degree, row.digits, row.base_log, row.security_bits
    ));
    console.say(format_args!(
        "  keys {} for the blind rotation and {} for the key switches in transit, {} in memory",
        human(row.rotation_key_bytes as u64),
        human(row.switch_key_bytes as u64),
        human(row.key_memory_bytes as u64)
    ));
    console.say(format_args!(
        "  {:.0} transforms, {:.2e} multiplications; {:.2} ms for a single look-up, {:.2} ms for \
         each of {}",
        row.transforms, row.multiplications, row.single_ms, row.batch_ms, row.n
    ));
    console.say(format_args!(
        "  error 2^-{:.2} in the mean, 2^-{:.2} predicted; noise 2^-{:.1} of the encoding width, \
         2^-{:.1} predicted",
        row.error_bits_mean,
        row.predicted_error_bits_mean,
        row.noise_bits,
        row.predicted_noise_bits
    ));
}
