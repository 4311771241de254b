//! Decryption of answers.

use std::path::PathBuf;

use bellerophon::prelude::*;
use serde::Serialize;
use serde_json::json;

use super::home::{Home, Job};
use super::remote::Remote;
use super::{Passphrase, Place};
use crate::cli::{self, Failure, Stages, tell};
use crate::files::{self, about};
use crate::programs::Program;
use crate::protocol::{AnswerHead, ClientId, JobId, Refusal};
use crate::wire;
use crate::words::line;

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

    /// Flood the values with noise that hides the key: for values that others will see. A few bits
    /// are lost, look-ups are refused, and a number of results is reserved for the key
    #[arg(long)]
    share: bool,

    /// With --share, also values that were computed from vectors of providers, who may have crafted
    /// them to learn the secret key from the answer: only for providers that you trust with it
    #[arg(long, requires = "share")]
    share_provided: bool,

    #[command(flatten)]
    passphrase: Passphrase,
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

/// What `decrypt` knows of its client.
pub struct Reader {
    client: ClientKey,
    owner: ClientId,
}

impl Reader {
    /// The published result in an answer to this job of this client, with as many values as were
    /// sent.
    pub fn open(&self, id: JobId, job: &Job, bytes: &[u8]) -> Result<Published, String> {
        let result = AnswerHead::open(id, self.owner, bytes)?;
        let result = wire::published(self.client.params(), result).map_err(|e| e.to_string())?;
        let (key, found) = (result.as_ref().lattice().ident().key, result.as_ref().len());
        if key != self.client.id() {
            return Err("a result under the key of another client".to_string());
        }
        match found == job.count {
            true => Ok(result),
            false => Err(format!("{found} values, where {} were sent", job.count)),
        }
    }

    /// The largest answer.
    pub fn largest(&self) -> u64 {
        wire::largest_result(self.client.params()) + AnswerHead::LONGEST as u64
    }
}

/// Fetches the answers if there is a server, and decrypts them.
pub fn run(place: &Place, arguments: &Arguments) -> Result<(), Failure> {
    let home = Home::at(&place.dir);
    if let Some(folder) = arguments.table.as_ref().and_then(|path| path.parent())
        && !folder.as_os_str().is_empty()
        && !folder.is_dir()
    {
        return Err(about(folder, "no folder for --table"));
    }
    let client = home.client(arguments.passphrase.read()?.as_ref())?;
    let reader = Reader { client, owner: home.token()?.client() };
    let mut jobs = home.open_jobs()?;
    if let Some(id) = arguments.jobs.iter().find(|id| !jobs.iter().any(|(job, _)| job == *id)) {
        return Err(Failure::input(format!("no job {id} in {}", place.dir.display())));
    }
    jobs.retain(|(id, _)| arguments.jobs.is_empty() || arguments.jobs.contains(id));
    let mut stages = Stages::default();
    let remote = place.server.is_some().then(|| Remote::open(place, &home, true)).transpose()?;
    let mut troubles = match &remote {
        None => vec![],
        Some(remote) => {
            stages.run("waiting and fetching", || remote.fetch_all(&jobs, &home.shared, &reader))
        }
    };

    tell("warning: nothing proves that a server computed what it was asked: values that it chose");
    tell("  may reveal the secret key to whoever sees them. Show them to nobody (--share).");
    let answers: Vec<Answer> = stages.run("decryption", || {
        let answers = jobs.iter().map(|(id, job)| {
            let program = job.program.clone();
            let (id, values, refusal, trouble) = (*id, None, None, None);
            let mut answer = Answer { id, program, values, refusal, trouble };
            let known = troubles.iter().position(|(job, _)| *job == id);
            answer.trouble = known.map(|place| troubles.swap_remove(place).1);
            if answer.trouble.is_none() {
                let found = answer.find(&home, &reader, job, arguments);
                answer.trouble = found.err().map(|why| why.to_string());
            }
            answer
        });
        answers.collect()
    });
    if let Some(path) = &arguments.table {
        files::write(path, table(&answers).as_bytes())?;
    }
    for Answer { id, program, values, refusal, trouble } in &answers {
        match (values, refusal, trouble) {
            // The report has them.
            (Some(_), ..) if place.json => {}
            (Some(values), ..) => {
                cli::print(format_args!("job {id}, {}: {values:?}", line(program)))?;
            }
            (_, Some(refusal), _) if place.json => {
                tell(format_args!("job {id} refused: {refusal}"));
            }
            (_, Some(refusal), _) => cli::print(format_args!("job {id} refused: {refusal}"))?,
            (.., Some(why)) => tell(format_args!("job {id} has no answer: {why}")),
            (None, None, None) => {}
        }
    }
    let n: usize = answers.iter().flat_map(|answer| &answer.values).map(Vec::len).sum();
    cli::report(place.json, &json!({"n": n, "answers": answers, "stages": stages}))?;
    let (without, with): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.trouble.is_some());
    if !arguments.keep {
        let mut done: Vec<JobId> = with.iter().map(|answer| answer.id).collect();
        // At the server first: what stays there is deleted by the next call.
        for (id, why) in remote.map_or(vec![], |remote| remote.forget(&done)) {
            tell(format_args!("job {id} is kept, since it stays at the server: {why}"));
            done.retain(|job| *job != id);
        }
        done.into_iter().for_each(|id| home.forget_job(id));
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
    /// Reads the answer from the folder.
    fn find(
        &mut self,
        home: &Home,
        reader: &Reader,
        job: &Job,
        arguments: &Arguments,
    ) -> Result<(), Failure> {
        let refused = home.shared.part(self.id, "refused");
        if refused.exists() {
            self.refusal = Some(files::read_json(&refused)?);
            return Ok(());
        }
        let path = home.shared.part(self.id, "result");
        let bytes = files::read(&path, reader.largest())?;
        let result = reader.open(self.id, job, &bytes).map_err(|e| about(&path, e))?;
        let client = &reader.client;
        if arguments.share && job.provided && !arguments.share_provided {
            return Err(Failure::input(
                "--share: computed from a provider's vector, which may be crafted so that the \
                 answer shows the secret key: add --share-provided if you trust the provider",
            ));
        }
        self.values = Some(match arguments.share {
            false => client.decrypt(&result).map_err(|e| about(&path, e))?,
            true => {
                let program: Program = job.program.parse().map_err(Failure::input)?;
                let bound = program.noise_bound(client.params(), job.count, job.provided);
                let bound = bound.map_err(|e| Failure::input(format!("--share: {e}")))?;
                // A published result states what its program declares, and its sender may have
                // written anything: what counts is the client's own simulation.
                let noise = bound.metadata().noise() / 2.0;
                let result = Ciphertext::from(result)
                    .assume_range_with_padding(bound.metadata().meta.bounds.values);
                let result = result.assume_noise(noise);
                let result = result.map_err(|e| about(&path, e))?;
                let mut budget = home.reserve(client)?;
                let flooded = client.decrypt_flooded(&result, &bound, &mut budget);
                flooded.map_err(|e| about(&path, e))?.values
            }
        });
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
