//! Encryption of jobs.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use bellerophon::{format, prelude::*};
use serde_json::json;

use super::home::{Home, Job, unsent};
use super::remote::Remote;
use super::{Passphrase, Place};
use crate::cli::{self, Failure, Stages, say};
use crate::files::{self, Asked, about};
use crate::programs::Program;
use crate::protocol::{Hex, JobId};
use crate::wire;

/// The longest standard input and the largest table.
const MOST_INPUT: u64 = 16 << 20;
const LARGEST_TABLE: u64 = 1 << 30;

/// Encrypt vectors, each as a job of its own
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Program to run on the vectors
    #[arg(long, value_name = "NAME")]
    program: Program,

    #[command(flatten)]
    data: Data,

    /// A vector that a provider encrypted (`provide`), as a job of its own; repeat the flag for
    /// more
    #[arg(long, value_name = "FILE")]
    provided: Vec<PathBuf>,

    #[command(flatten)]
    passphrase: Passphrase,
}

/// The values to encrypt.
#[derive(Debug, clap::Args)]
pub struct Data {
    /// A vector: numbers with commas between, or `-` for one vector a line on standard input, which
    /// other users of the machine do not see; repeat the flag for more jobs. The declared range is
    /// that of the program, whatever the numbers
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, conflicts_with = "csv")]
    values: Vec<String>,

    /// Table to read a vector from (comma separated, first line = column names)
    #[arg(long, value_name = "FILE", requires = "column")]
    csv: Option<PathBuf>,

    /// Column to read
    #[arg(long, value_name = "NAME", requires = "csv")]
    column: Option<String>,
}

/// Numbers, in words that name a place and not the text: error messages of parsers would repeat it.
fn vector<'t>(parts: impl IntoIterator<Item = &'t str>, what: &str) -> Result<Vec<f64>, Failure> {
    let numbers = parts.into_iter().enumerate().map(|(place, part)| {
        let number = part.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        let why = || Failure::input(format!("{what}: number {} is not a finite number", place + 1));
        number.ok_or_else(why)
    });
    numbers.collect()
}

/// What separates the cells of a first line instead of commas. Separators in quotes do not count.
fn separators(line: &[u8]) -> Option<&'static str> {
    let unquoted = || line.split(|&byte| byte == b'"').step_by(2).flatten();
    let count = |sought: u8| unquoted().filter(|&&byte| byte == sought).count();
    [(b';', "semicolons"), (b'\t', "tabs")]
        .into_iter()
        .find(|&(separator, _)| count(separator) > count(b','))
        .map(|(_, name)| name)
}

/// Encrypts every vector, and sends the ciphertexts if there is a server, with everything else that
/// the server lacks.
pub fn run(place: &Place, arguments: &Arguments) -> Result<(), Failure> {
    let (home, program) = (Home::at(&place.dir), arguments.program);
    let profile = home.profile()?;
    let vectors = arguments.data.vectors()?;
    for values in &vectors {
        check(values, program, Some(profile.count))?;
    }
    if vectors.len() + arguments.provided.len() == 0 {
        return Err(Failure::input("--values, --csv or --provided: there is nothing to encrypt"));
    }
    if !profile.programs.iter().any(|name| name == program.name()) {
        let why = format!("the keys were made for {} only", profile.programs.join(", "));
        return Err(Failure::input(why));
    }

    let mut stages = Stages::default();
    let client = home.client(arguments.passphrase.read()?.as_ref())?;
    let owner = home.token()?.client();
    let (mut jobs, mut bytes, mut n) = (vec![], 0, 0);
    let mut number = home.open_jobs()?.last().map_or(0, |(_, job)| job.number + 1);
    stages.run("encryption", || {
        let encrypted = vectors.iter().map(|values| {
            Ok((wire::encrypt(&client, values, program.domain())?, values.len(), false))
        });
        let provided = arguments.provided.iter().map(|path| {
            let (bytes, count) = provided(&client, path, program, profile.count)?;
            Ok((bytes, count, true))
        });
        for made in encrypted.chain(provided) {
            let (ciphertext, count, provided) = made?;
            let id: JobId = Hex::of(&rand::random::<[u8; 16]>());
            n += count;
            bytes += ciphertext.len() as u64;
            files::write(&home.shared.part(id, "input"), &ciphertext)?;
            let name = program.name().to_string();
            home.keep_job(id, &Job { program: name.clone(), count, provided, number })?;
            let asked = Asked { program: name, keys: profile.keys, owner };
            files::write_json(&home.shared.part(id, "request"), &asked)?;
            jobs.push(id);
            number += 1;
        }
        Ok::<_, Failure>(())
    })?;
    // The jobs are stored, even if sending fails.
    for id in &jobs {
        say(place.json, format_args!("job {id}"));
    }
    let sent = place.server.is_some();
    let mut sent_again = 0;
    if sent {
        let remote = Remote::open(place, &home, false);
        let send = |remote: Remote| remote.send_open(&home, &jobs);
        sent_again = stages.run("sending", || remote.and_then(send)).map_err(unsent)?;
    }
    // `sent_again` counts earlier jobs that the server lacked.
    let report = json!({"jobs": jobs, "n": n, "program": program.name(), "ciphertext_bytes": bytes,
        "sent": sent, "sent_again": sent_again, "stages": stages});
    cli::report(place.json, &report)
}

/// A ciphertext of a provider, with its number of values, if it is one for this client.
fn provided(
    client: &ClientKey,
    path: &Path,
    program: Program,
    most: usize,
) -> Result<(Vec<u8>, usize), Failure> {
    let params = client.params();
    let bytes = files::read(path, wire::largest_result(params))?;
    let x: Provided = format::from_bytes(params, &bytes).map_err(|e| about(path, e))?;
    if x.lattice().ident().key != client.id() {
        return Err(about(path, "encrypted under the public key of another client"));
    }
    if x.len() > most {
        return Err(about(path, format_args!("{} values: the keys have {most}", x.len())));
    }
    let expected = program.operand(params, x.len(), true).map_err(|e| about(path, e))?;
    match expected == x.metadata() {
        true => Ok((bytes, x.len())),
        false => {
            let (name, (lo, hi)) = (program.name(), program.domain().into_inner());
            let why = format!(
                "it declares another range or level than {name} takes, [{lo:?}, {hi:?}] at level \
                 {}: the provider needs `provide --program {name}`",
                params.levels()
            );
            Err(about(path, why))
        }
    }
}

impl Data {
    /// The vectors of the flags.
    pub fn vectors(&self) -> Result<Vec<Vec<f64>>, Failure> {
        if let (Some(path), Some(column)) = (&self.csv, &self.column) {
            let mut rest = BufReader::new(files::open(path, LARGEST_TABLE)?);
            let mut first = vec![];
            rest.read_until(b'\n', &mut first).map_err(|e| about(path, e))?;
            if let Some(separators) = separators(&first) {
                let why = format!(
                    "the cells are separated by {separators}; save the file with commas between \
                     cells and points in numbers"
                );
                return Err(about(path, why));
            }
            let mut table = csv::Reader::from_reader(first.as_slice().chain(rest));
            let names = table.headers().map_err(|e| about(path, e))?;
            let place = names.iter().position(|name| name.trim() == column);
            let place = place.ok_or_else(|| about(path, format_args!("no column {column}")))?;
            let rows: Result<Vec<_>, _> = table.records().collect();
            // The error of a row names its line and no value.
            let mut rows = rows.map_err(|e| about(path, e))?;
            // Spreadsheets end files with rows of empty cells.
            while rows.last().is_some_and(|row| row.iter().all(|cell| cell.trim().is_empty())) {
                rows.pop();
            }
            let values = rows.iter().map(|row| row.get(place).unwrap_or_default());
            return Ok(vec![vector(values, &path.display().to_string())?]);
        }
        let mut vectors = vec![];
        for text in &self.values {
            if text != "-" {
                vectors.push(vector(text.split(','), "--values")?);
                continue;
            }
            let before = vectors.len();
            let (mut text, about) = (String::new(), |why| format!("--values -: {why}"));
            let read = std::io::stdin().lock().take(MOST_INPUT + 1).read_to_string(&mut text);
            read.map_err(|e| Failure::input(about(e.to_string())))?;
            if text.len() as u64 > MOST_INPUT {
                let why = format!("more than {MOST_INPUT} bytes: take several calls, or --csv");
                return Err(Failure::input(about(why)));
            }
            for line in text.lines() {
                if !line.trim().is_empty() {
                    vectors.push(vector(line.split(','), "--values -")?);
                }
            }
            if vectors.len() == before {
                return Err(Failure::input("--values -: standard input has no values"));
            }
        }
        Ok(vectors)
    }
}

/// Refuses vectors that do not fit the program or the keys.
pub fn check(values: &[f64], program: Program, most: Option<usize>) -> Result<(), Failure> {
    if let Some(most) = most.filter(|most| values.len() > *most) {
        let why = format!("{} values: the keys were made for {most} (--count)", values.len());
        return Err(Failure::input(why));
    }
    let domain = program.domain();
    match values.iter().position(|v| !domain.contains(v)) {
        None => Ok(()),
        Some(place) => {
            let (lo, hi) = domain.into_inner();
            let (name, count) = (program.name(), values.len());
            let why = format!(
                "the value at position {place} of {count} lies outside [{lo:?}, {hi:?}], which \
                 {name} takes"
            );
            Err(Failure::input(why))
        }
    }
}
