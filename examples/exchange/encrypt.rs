//! Encryption of jobs.

use std::path::PathBuf;

use serde::Serialize;

use super::Place;
use super::common::args::Data;
use super::common::console::{Console, Stages};
use super::common::data;
use super::common::output;
use super::common::program::Failure;
use super::home::{Home, Job, random};
use super::programs::Program;
use super::protocol::{Hex, JobId};
use super::remote::Remote;
use super::shared::{self, Asked};
use super::wire;

/// Encrypt vectors, each as a job of its own
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Program to run on the vectors
    #[arg(long, value_name = "NAME")]
    program: Program,

    /// A vector: numbers with commas between; repeat the flag for more jobs. The declared range is
    /// that of the program, whatever the numbers
    #[arg(
        long,
        value_name = "NUMBERS",
        allow_hyphen_values = true,
        conflicts_with = "csv",
        required_unless_present = "csv"
    )]
    values: Vec<String>,

    /// Table to read a vector from (comma separated, first line = column names)
    #[arg(long, value_name = "FILE", requires = "column")]
    csv: Option<PathBuf>,

    /// Column to read
    #[arg(long, value_name = "NAME", requires = "csv")]
    column: Option<String>,
}

/// A vector of the command line. Errors name the position and not the text: error messages of
/// parsers would repeat it.
fn vector(text: &str) -> Result<Vec<f64>, Failure> {
    let numbers =
        text.split(',').enumerate().map(|(place, part)| match part.trim().parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err(Failure::input(format!(
                "--values: number {} is not a finite number",
                place + 1
            ))),
        });
    numbers.collect()
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    jobs: Vec<JobId>,
    n: usize,
    program: &'a str,
    ciphertext_bytes: u64,
    sent: bool,
    /// Earlier jobs that the server lacked.
    sent_again: usize,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages: &'a Stages,
}

/// Encrypts every vector, and sends the ciphertexts if there is a server, with everything else that
/// the server lacks.
pub fn run(place: &Place, arguments: &Arguments) -> Result<(), Failure> {
    let console = Console::new(place.json);
    let (home, program) = (Home::at(&place.dir), arguments.program);
    let profile = home.profile()?;
    let vectors = vectors(arguments)?;
    for values in &vectors {
        check(values, program, profile.count)?;
    }
    if !profile.programs.iter().any(|name| name == program.name()) {
        let why = format!("the keys were made for {} only", profile.programs.join(", "));
        return Err(Failure::input(why));
    }

    let mut stages = Stages::default();
    let client = home.client()?;
    let (mut jobs, mut bytes) = (vec![], 0);
    let mut number = home.open_jobs()?.last().map_or(0, |(_, job)| job.number + 1);
    stages.run("encryption", || {
        for values in &vectors {
            let id: JobId = Hex::of(&random::<16>()?);
            let ciphertext = wire::encrypt(&client, values, program.domain())?;
            bytes += ciphertext.len() as u64;
            shared::write(&home.shared.part(id, "input"), &ciphertext)?;
            let (name, count) = (program.name().to_string(), values.len());
            home.keep_job(id, &Job { program: name.clone(), count, number })?;
            let asked = Asked { program: name, keys: profile.keys };
            shared::write_json(&home.shared.part(id, "request"), &asked)?;
            jobs.push(id);
            number += 1;
        }
        Ok::<_, Failure>(())
    })?;
    // The jobs are stored, even if sending fails.
    for id in &jobs {
        console.say(format_args!("job {id}"));
    }
    let mut sent_again = 0;
    if place.server.is_some() {
        let remote = Remote::open(place, &home)?;
        sent_again = stages.run("sending", || remote.send_open(&home, &jobs))?;
    }
    let report = Report {
        n: vectors.iter().map(Vec::len).sum(),
        program: program.name(),
        ciphertext_bytes: bytes,
        sent: place.server.is_some(),
        sent_again,
        jobs,
        stages: &stages,
    };
    if place.json { output::print_json(&report) } else { Ok(()) }
}

/// The vectors of the flags.
fn vectors(arguments: &Arguments) -> Result<Vec<Vec<f64>>, Failure> {
    match (&arguments.csv, &arguments.column) {
        (Some(csv), Some(column)) => {
            let (csv, column, out) = (Some(csv.clone()), Some(column.clone()), None);
            let column = data::load(&Data { csv, column, out }, "")?;
            Ok(vec![column.values])
        }
        _ => arguments.values.iter().map(|text| vector(text)).collect(),
    }
}

/// Refuses vectors that do not fit the program or the keys.
fn check(values: &[f64], program: Program, most: usize) -> Result<(), Failure> {
    if values.len() > most {
        let why = format!("{} values: the keys were made for {most} (--count)", values.len());
        return Err(Failure::input(why));
    }
    let domain = program.domain();
    match values.iter().position(|v| !domain.contains(v)) {
        None => Ok(()),
        Some(place) => {
            let (lo, hi) = domain.into_inner();
            let (name, place) = (program.name(), place + 1);
            let why = format!("value {place} lies outside [{lo:?}, {hi:?}], which {name} takes");
            Err(Failure::input(why))
        }
    }
}
