//! Key generation.

use std::path::PathBuf;

use bellerophon::prelude::*;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::home::{Home, Profile, read_token, unsent};
use super::remote::Remote;
use super::{Passphrase, Place};
use crate::cli::{self, Failure, Stages, say};
use crate::files;
use crate::programs::{PARAMETERS, Program, params};
use crate::protocol::Token;
use crate::wire;

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

    /// File with the invitation of the server's operator, as `exchange_admin invite` prints it or
    /// its digits alone, which become the token [default: a token drawn at random]
    #[arg(long, value_name = "FILE")]
    invitation: Option<PathBuf>,

    #[command(flatten)]
    passphrase: Passphrase,
}

/// Generates the keys, stores the secret key, and sends the others if there is a server.
pub fn run(place: &Place, arguments: &Arguments) -> Result<(), Failure> {
    let params = params(&arguments.preset).map_err(Failure::input)?;
    if arguments.count == 0 || arguments.count > params.slots() {
        let why = format!("--count: from 1 to the {} slots of these parameters", params.slots());
        return Err(Failure::input(why));
    }
    let token = match &arguments.invitation {
        None => Token::new(&rand::random()),
        Some(path) => read_token(&files::read(path, 1024)?).map_err(|e| files::about(path, e))?,
    };
    let allowed = |p: &Program| *p != Program::Sigmoid || params.lookups().is_ok();
    let programs = match arguments.programs.is_empty() {
        false => arguments.programs.clone(),
        true => Program::ALL.into_iter().filter(allowed).collect(),
    };
    let needs = programs.iter().try_fold(Needs::new(), |needs, program| {
        program.add_needs(needs, &params, arguments.count)
    });
    let needs = needs.map_err(Failure::input)?;
    let passphrase = arguments.passphrase.read()?;
    let home = Home::at(&place.dir);
    home.make()?;

    let mut stages = Stages::default();
    let made = stages.run("key generation", || {
        let client = ClientKey::generate(&params)?;
        let keys = client.evaluation_keys(&needs)?;
        let public = client.public_key()?;
        Ok::<_, bellerophon::Error>((client, keys, public))
    });
    let (client, keys, public) = made.map_err(Failure::run)?;
    let (name, bytes) = stages.run("writing", || wire::write_keys(&keys, &home.shared.keys()))?;
    wire::write_public(&public, &home.shared.public())?;
    let profile = Profile {
        parameters: arguments.preset.clone(),
        programs: programs.iter().map(|p| p.name().to_string()).collect(),
        count: arguments.count,
        keys: name,
    };
    home.keep_profile(&profile)?;
    home.keep_secret(&token, &client, passphrase.as_ref())?;
    let sent = place.server.is_some();
    if sent {
        let remote = Remote::open(place, &home, false);
        let upload = |remote: Remote| remote.send_keys(name, &home.shared.keys());
        stages.run("upload", || remote.and_then(upload)).map_err(unsent)?;
    }
    say(place.json, format_args!("{params}"));
    let (names, mib) = (profile.programs.join(", "), bytes as f64 / f64::from(1 << 20));
    say(place.json, format_args!("keys {name} for {names}: {mib:.1} MiB"));
    let mut report = json!(profile);
    report["security_bits"] = params.security_bits().into();
    report["eval_key_bytes"] = bytes.into();
    report["sent"] = sent.into();
    report["stages"] = json!(stages);
    cli::report(place.json, &report)
}
