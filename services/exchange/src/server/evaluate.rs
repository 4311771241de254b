//! The server on files: runs the jobs in a folder, one after the other.

use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bellerophon::format;
use bellerophon::mlwe::Security;
use bellerophon::prelude::*;
use serde_json::json;

use crate::cli::{self, Failure, parse_bytes, parse_threads};
use crate::files::{self, Asked, Shared, about};
use crate::programs::Program;
use crate::protocol::{AnswerHead, Code, JobId, Refusal};
use crate::wire::{self, Loaded};

/// Run the jobs in a folder, and write the results there
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder with keys and jobs: `shared` in the folder of the client
    #[arg(long, value_name = "FOLDER")]
    dir: PathBuf,

    /// Run this program instead of the one that each job names
    #[arg(long, value_name = "NAME")]
    program: Option<Program>,

    /// Largest ciphertext and largest file of keys
    #[arg(long, value_name = "BYTES", default_value = "4G",
          value_parser = parse_bytes)]
    most: u64,

    /// Accept insecure parameters, for tests
    #[arg(long)]
    accept_insecure: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,

    /// Print exactly one JSON object on standard output, everything else on standard error
    #[arg(long)]
    json: bool,
}

/// Runs all jobs without an answer.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    cli::use_threads(arguments.threads)?;
    let folder = Shared(arguments.dir.clone());
    let jobs = folder.open_jobs().map_err(|e| about(&folder.0, e))?;
    let begin = Instant::now();
    let loaded = load(arguments, &folder.keys())?;
    let load_s = begin.elapsed().as_secs_f64();
    let (mut first, mut done, mut refused, mut unwritten, mut eval_s) = (None, 0, 0, 0, 0.0);
    for (i, job) in jobs.iter().enumerate() {
        let begin = Instant::now();
        let (written, count) = match one(arguments, &folder, *job, &loaded) {
            Ok(bytes) => (files::write(&folder.part(*job, "result"), &bytes), &mut done),
            Err(refusal) => {
                cli::say(arguments.json, format_args!("job {job} refused: {refusal}"));
                let path = folder.part(*job, "refused");
                (files::write_json(&path, &refusal), &mut refused)
            }
        };
        match written {
            Ok(()) => *count += 1,
            Err(why) => {
                cli::tell(format_args!("the answer to job {job} is not written: {why}"));
                unwritten += 1;
                first = first.or(Some(why));
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        eval_s += seconds;
        cli::say(
            arguments.json,
            format_args!("job {job}, {} of {}: {seconds:.2} s", i + 1, jobs.len()),
        );
    }
    let peak_rss_bytes = cli::memory(std::process::id(), "VmHWM");
    let report = json!({"jobs": jobs.len(), "done": done, "refused": refused,
        "unwritten": unwritten, "preset": loaded.params.name(),
        "security_bits": loaded.params.security_bits(), "key_bytes": loaded.bytes,
        "load_s": load_s, "eval_s": eval_s, "peak_rss_bytes": peak_rss_bytes,
        "threads": rayon::current_num_threads()});
    cli::report(arguments.json, &report)?;
    first.map_or(Ok(()), |why| {
        let all = jobs.len();
        Err(Failure::input(format!("{unwritten} of {all} answers are not written: {why}")))
    })
}

/// The parameters and keys of the folder.
struct Folder {
    params: Params,
    keys: Loaded,
    bytes: u64,
}

fn load(arguments: &Arguments, path: &Path) -> Result<Folder, Failure> {
    let file = files::open(path, arguments.most)?;
    let bytes = file.metadata().map_err(|e| about(path, e))?.len();
    let security = match arguments.accept_insecure {
        true => Security::Insecure,
        false => Security::Bits128,
    };
    let mut file = BufReader::new(file);
    let mut read = || {
        let params = wire::params(&wire::read_params(&mut file)?, security)?;
        let keys = wire::keys(&params, &mut file, bytes)?;
        Ok(Folder { params, keys, bytes })
    };
    read().map_err(|refusal: Refusal| about(path, refusal))
}

/// Runs one job: its result, or the refusal. Faults of its files affect this job only.
fn one(
    arguments: &Arguments,
    folder: &Shared,
    job: JobId,
    loaded: &Folder,
) -> Result<Vec<u8>, Refusal> {
    let unread = |why: Failure| Refusal::new(Code::Malformed, why);
    let asked: Asked = files::read_json(&folder.part(job, "request")).map_err(unread)?;
    let Folder { params, keys: Loaded { server, name, secret }, .. } = loaded;
    if asked.keys != *name {
        let why = format!("the job is for the keys {}, here are {name}", asked.keys);
        return Err(Refusal::new(Code::UnknownKeys, why));
    }
    let named = || asked.program.parse().map_err(|e| Refusal::new(Code::UnknownProgram, e));
    let program: Program = arguments.program.map_or_else(named, Ok)?;
    let bytes = files::read(&folder.part(job, "input"), arguments.most).map_err(unread)?;
    let x = wire::ciphertext(params, &bytes)?;
    if x.lattice().ident().key != *secret {
        return Err(Refusal::new(Code::WrongKey, "the ciphertext is under another secret key"));
    }
    let y = program.run(server, &x, |_, _, _| ControlFlow::Continue(()));
    let y = y.map_err(|why| Refusal::new(Code::NotComputable, why))?;
    let result = format::to_bytes(params, &y);
    let result = result.map_err(|e| Refusal::new(Code::NotComputable, e))?;
    Ok(AnswerHead::seal(job, asked.owner, &result))
}
