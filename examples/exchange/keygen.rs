//! Key generation.

use bellerophon::prelude::*;
use clap::builder::PossibleValuesParser;
use serde::Serialize;

use super::Place;
use super::common::console::{Console, Stages};
use super::common::memory::human;
use super::common::output;
use super::common::program::Failure;
use super::home::{Home, Profile};
use super::programs::{PARAMETERS, Program, params};
use super::remote::Remote;
use super::wire;

/// Make a secret key and the public keys for some programs
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Parameters: the smallest secure set for arithmetic, or a preset
    #[arg(long, value_name = "NAME", default_value = PARAMETERS[0],
          value_parser = PossibleValuesParser::new(PARAMETERS))]
    preset: String,

    /// Programs that the keys support, with commas between [default: all that the parameters allow]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    programs: Vec<Program>,

    /// Number of values in the longest vector
    #[arg(long, value_name = "N", default_value_t = 64)]
    count: usize,
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    profile: Profile,
    security_bits: f64,
    eval_key_bytes: u64,
    sent: bool,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages: &'a Stages,
}

/// Generates the keys, stores the secret key, and sends the others if there is a server.
pub fn run(place: &Place, arguments: &Arguments) -> Result<(), Failure> {
    let console = Console::new(place.json);
    let params = params(&arguments.preset).map_err(Failure::input)?;
    if arguments.count == 0 || arguments.count > params.slots() {
        let why = format!("--count: from 1 to the {} slots of these parameters", params.slots());
        return Err(Failure::input(why));
    }
    let programs = match arguments.programs.is_empty() {
        false => arguments.programs.clone(),
        true => {
            let allowed = |p: &Program| *p != Program::Sigmoid || params.lookups().is_ok();
            Program::ALL.into_iter().filter(allowed).collect()
        }
    };
    let needs = programs.iter().try_fold(Needs::new(), |needs, program| {
        program.add_needs(needs, &params, arguments.count)
    });
    let needs = needs.map_err(Failure::input)?;
    let home = Home::at(&place.dir);
    home.make()?;

    let mut stages = Stages::default();
    let made = stages.run("key generation", || {
        let client = ClientKey::generate(&params)?;
        let keys = client.evaluation_keys(&needs)?;
        Ok::<_, bellerophon::Error>((client, keys))
    });
    let (client, keys) = made.map_err(Failure::run)?;
    let (name, bytes) = stages.run("writing", || wire::write_keys(&keys, &home.shared.keys()))?;
    let profile = Profile {
        parameters: arguments.preset.clone(),
        programs: programs.iter().map(|p| p.name().to_string()).collect(),
        count: arguments.count,
        keys: name,
    };
    home.keep_profile(&profile)?;
    home.keep_secret(client.to_secret_bytes().map_err(Failure::run)?.expose())?;
    if place.server.is_some() {
        let remote = Remote::open(place, &home)?;
        stages.run("upload", || remote.send_keys(name, &home.shared.keys()))?;
    }
    let sent = place.server.is_some();
    console.say(format_args!("{params}"));
    console.say(format_args!("keys {name} for {}: {}", profile.programs.join(", "), human(bytes)));
    console.stages(&stages);
    let security_bits = params.security_bits();
    let report = Report { profile, security_bits, eval_key_bytes: bytes, sent, stages: &stages };
    if place.json { output::print_json(&report) } else { Ok(()) }
}
