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

use common::prelude::*;
use contender::Contender;

use crate::measure::Rows;

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

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &[PRESET], threads: Some(1) };

pub fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    let count = if arguments.common.small { SMALL } else { BATCH };
    let contenders = contenders(arguments)?.into_iter();
    let mut rng = random::fresh()?;
    let rows = contenders.map(|contender| {
        console.say(format_args!("{} ...", contender.name));
        row::measure(&contender, count, &mut rng)
    });
    let rows = rows.collect::<bellerophon::Result<Vec<Facts>>>()?;
    let rows = Rows(rows);
    let mean = rows.sum("mean_abs_err") / rows.0.len() as f64;
    let errors = Errors { max: rows.largest("max_abs_err"), mean };
    let report = Report {
        engine: "rgsw, ntru".into(),
        eval_s: rows.sum("batch_ms") * count as f64 * 1e-3,
        ..Report::of(count * rows.0.len(), PRESET, &Stages::default(), &errors)
    };
    Ok(rows.report(report))
}

/// The requested contenders.
fn contenders(arguments: &Arguments) -> Result<Vec<Contender>, Failure> {
    let all = Contender::all()?;
    if arguments.set.is_empty() {
        let small = arguments.common.small;
        return Ok(all.into_iter().filter(|c| !small || c.degree() <= 4096).collect());
    }
    let found = |name: &String| {
        all.iter().find(|c| c.name == name).cloned().ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|c| c.name).collect();
            Failure::input(format!("--set {name}: there are {}", names.join(", ")))
        })
    };
    arguments.set.iter().map(found).collect()
}

/// The function that is looked up.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
