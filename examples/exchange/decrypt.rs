//! Answers.

use std::path::PathBuf;

use bellerophon::prelude::*;
use serde::Serialize;

use super::Place;
use super::common::console::{Console, Stages};
use super::common::output;
use super::common::program::Failure;
use super::home::{Home, Job};
use super::protocol::{JobId, Refusal};
use super::remote::{LARGEST_RESULT, Remote};
use super::shared::{self, about};
use super::wire;

/// Decrypt the results of the jobs, once they are there
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Jobs to decrypt [default: all that are not decrypted yet]
    jobs: Vec<JobId>,

    /// Write a table of job, place and value, one line per value
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Keep jobs and results, here and at the server
    #[arg(long)]
    keep: bool,
}

/// A decrypted answer.
#[derive(Debug, Serialize)]
struct Answer {
    id: JobId,
    program: String,
    values: Option<Vec<f64>>,
    refusal: Option<Refusal>,
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    n: usize,
    answers: Vec<Answer>,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages: &'a Stages,
}

/// Fetches the answers if there is a server, and decrypts them.
pub fn run(place: &Place, arguments: &Arguments) -> Result<(), Failure> {
    let console = Console::new(place.json);
    output::check_out(arguments.table.as_deref(), None)?;
    let home = Home::at(&place.dir);
    let client = home.client()?;
    let mut jobs = home.open_jobs()?;
    if let Some(id) = arguments.jobs.iter().find(|id| !jobs.iter().any(|(job, _)| job == *id)) {
        return Err(Failure::input(format!("no job {id} in {}", place.dir.display())));
    }
    jobs.retain(|(id, _)| arguments.jobs.is_empty() || arguments.jobs.contains(id));
    let remote = place.server.as_ref().map(|_| Remote::open(place, &home)).transpose()?;
    let mut stages = Stages::default();
    if let Some(remote) = &remote {
        stages.run("waiting and fetching", || {
            jobs.iter().try_for_each(|(id, _)| remote.fetch(*id, &home.shared))
        })?;
    }

    let answers = stages.run("decryption", || {
        let answers = jobs.iter().map(|(id, job)| answer(&home, &client, *id, job));
        answers.collect::<Result<Vec<_>, _>>()
    })?;
    if let Some(path) = &arguments.table {
        shared::write(path, table(&answers).as_bytes())?;
    }
    for Answer { id, program, values, refusal } in &answers {
        match (values, refusal) {
            (Some(values), _) => console.say(format_args!("job {id}, {program}: {values:?}")),
            (_, Some(refusal)) => console.say(format_args!("job {id} refused: {refusal}")),
            _ => {}
        }
    }
    let n = answers.iter().flat_map(|answer| &answer.values).map(Vec::len).sum();
    let report = Report { n, answers, stages: &stages };
    if place.json {
        output::print_json(&report)?;
    }
    if !arguments.keep {
        for (id, _) in &jobs {
            remote.iter().try_for_each(|remote| remote.delete_job(*id))?;
            home.forget_job(*id);
        }
    }
    Ok(())
}

/// One answer. It must be a ciphertext under this client's parameters and key, of as many values as
/// were sent.
fn answer(home: &Home, client: &ClientKey, id: JobId, job: &Job) -> Result<Answer, Failure> {
    let mut answer = Answer { id, program: job.program.clone(), values: None, refusal: None };
    let refused = home.shared.part(id, "refused");
    if refused.exists() {
        answer.refusal = Some(shared::read_json(&refused)?);
        return Ok(answer);
    }
    let path = home.shared.part(id, "result");
    let bytes = shared::read(&path, LARGEST_RESULT)?;
    let result = wire::ciphertext(client.params(), &bytes).map_err(|e| about(&path, e))?;
    if result.len() != job.count {
        let why = format!("{} values, where {} were sent", result.len(), job.count);
        return Err(about(&path, why));
    }
    answer.values = Some(client.decrypt(&result).map_err(|e| about(&path, e))?);
    Ok(answer)
}

fn table(answers: &[Answer]) -> String {
    let mut text = String::from("job,program,place,value\n");
    for Answer { id, program, values, .. } in answers {
        for (place, value) in values.iter().flatten().enumerate() {
            text.push_str(&format!("{id},{program},{place},{value}\n"));
        }
    }
    text
}
