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
    let rows = contenders.map(|contender| {
        console.say(format_args!("{} ...", contender.name));
        row::measure(&contender, count)
    });
    let rows = rows.collect::<bellerophon::Result<Vec<Facts>>>()?;
    let all = |name: &'static str| rows.iter().filter_map(move |row| row.number(name));
    let (sum, largest) = (|name| all(name).sum::<f64>(), |name| all(name).fold(0.0, f64::max));
    let errors =
        Errors { max: largest("max_abs_err"), mean: sum("mean_abs_err") / rows.len() as f64 };
    let report = Report {
        security_bits: all("security_bits").fold(f64::INFINITY, f64::min),
        engine: "rgsw, ntru".into(),
        keygen_s: sum("keygen_s"),
        eval_s: sum("batch_ms") * count as f64 * 1e-3,
        eval_key_bytes: largest("key_bytes") as u64,
        ciphertext_bytes: largest("ciphertext_bytes") as u64,
        ..Report::of(count * rows.len(), PRESET, &Stages::default(), &errors)
    };
    Ok(Facts::of(report).rows("rows", rows))
}

/// The requested contenders.
fn contenders(arguments: &Arguments) -> Result<Vec<Contender>, Failure> {
    let all = Contender::all()?;
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
