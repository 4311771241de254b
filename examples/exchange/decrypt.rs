//! Decryption of answers.

use std::collections::HashMap;
use std::io::Write;
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
use super::tell::tell;
use super::wire;

/// Decrypt the results of the jobs that are ready
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Jobs to decrypt [default: all that are not decrypted yet]
    jobs: Vec<JobId>,

    /// Write a table of job, index and value, one line per value
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Keep jobs and results, locally and on the server
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
    /// The reason why there is neither of them; the job is kept.
    trouble: Option<String>,
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    n: usize,
    answers: &'a [Answer],
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
    let mut refusals = HashMap::new();
    if let Some(remote) = &remote {
        stages.run("waiting and fetching", || {
            for (id, _) in &jobs {
                refusals.extend(remote.fetch(*id, &home.shared)?.map(|refusal| (*id, refusal)));
            }
            Ok::<_, Failure>(())
        })?;
    }

    let answers = stages.run("decryption", || {
        let answers = jobs.iter().map(|(id, job)| {
            let mut answer = Answer::new(*id, job);
            let found = match refusals.remove(id) {
                Some(refusal) => Err(Failure::input(format!("the server refused: {refusal}"))),
                None => answer.find(&home, &client, job),
            };
            if let Err(Failure::Input(why) | Failure::Run(why)) = found {
                answer.trouble = Some(why);
            }
            answer
        });
        answers.collect::<Vec<_>>()
    });
    if let Some(path) = &arguments.table {
        let table = table(&answers);
        shared::write_with(path, true, |file| file.write_all(table.as_bytes()))?;
    }
    for Answer { id, program, values, refusal, trouble } in &answers {
        match (values, refusal, trouble) {
            (Some(values), ..) => console.say(format_args!("job {id}, {program}: {values:?}")),
            (_, Some(refusal), _) => console.say(format_args!("job {id} refused: {refusal}")),
            (.., Some(why)) => tell(format_args!("job {id} has no answer: {why}")),
            (None, None, None) => {}
        }
    }
    let n = answers.iter().flat_map(|answer| &answer.values).map(Vec::len).sum();
    let report = Report { n, answers: &answers, stages: &stages };
    if place.json {
        output::print_json(&report)?;
    }
    let (without, with): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.trouble.is_some());
    if !arguments.keep {
        for answer in with {
            remote.iter().try_for_each(|remote| remote.delete_job(answer.id))?;
            home.forget_job(answer.id);
        }
    }
    if remote.is_some() {
        // A later download may be complete.
        for answer in &without {
            let _ = std::fs::remove_file(home.shared.part(answer.id, "result"));
        }
    }
    match without.first() {
        None => Ok(()),
        Some(Answer { id, trouble, .. }) => {
            let (few, all) = (without.len(), answers.len());
            let why = trouble.as_deref().unwrap_or_default();
            Err(Failure::input(format!("{few} of {all} jobs without an answer: {id}: {why}")))
        }
    }
}

impl Answer {
    fn new(id: JobId, job: &Job) -> Self {
        Self { id, program: job.program.clone(), values: None, refusal: None, trouble: None }
    }

    /// Reads the answer, which must be a published result under this client's parameters and key,
    /// with as many values as were sent.
    fn find(&mut self, home: &Home, client: &ClientKey, job: &Job) -> Result<(), Failure> {
        let refused = home.shared.part(self.id, "refused");
        if refused.exists() {
            self.refusal = Some(shared::read_json(&refused)?);
            return Ok(());
        }
        let path = home.shared.part(self.id, "result");
        let bytes = shared::read(&path, LARGEST_RESULT)?;
        let result = wire::published(client.params(), &bytes).map_err(|e| about(&path, e))?;
        let found = result.as_ref().len();
        if found != job.count {
            let why = format!("{found} values, where {} were sent", job.count);
            return Err(about(&path, why));
        }
        self.values = Some(client.decrypt(&result).map_err(|e| about(&path, e))?);
        Ok(())
    }
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
