//! The server's components together, and the path of every job and upload.

use std::fmt::Display;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bellerophon::mlwe::{KeyId, Security};
use bellerophon::prelude::*;
use tokio::sync::Semaphore;

use super::board::Board;
use super::cache::{Cache, Lease};
use super::cost;
use super::job::Taken;
use super::limits::Limits;
use super::programs::{Program, Stopped};
use super::protocol::{ClientId, Code, Hash, Hex, Refusal};
use super::store::{self, KeyRecord, Outcome, Spool, Store};
use super::tell::tell;
use super::wire;

/// Ciphertexts, and key sets, that are checked at the same time, which bounds their memory. Keys
/// may wait for memory; ciphertexts do not wait behind them.
const CIPHERTEXTS: usize = 2;
const KEY_SETS: usize = 1;

/// Parameter sets that are cached for the checks of uploads.
const PARAMETER_SETS: u64 = 4;

/// The largest number of attempts at a job: a job that crashes the server every time must not do so
/// for ever.
const TRIES: u64 = 5;

/// A job with this many unfinished attempts runs alone: if it crashes the server, no other job is
/// blamed.
const SUSPECT: u64 = 2;

/// The state of the server.
pub struct Exchange {
    pub limits: Limits,
    pub store: Store,
    pub board: Arc<Board>,
    pub ciphertexts: Arc<Semaphore>,
    pub key_sets: Arc<Semaphore>,
    /// Read by jobs that run in parallel, written by one that runs alone.
    alone: RwLock<()>,
    security: Security,
    params: Cache<Hash, Params>,
    keys: Cache<(ClientId, Hash), Loaded>,
}

/// Keys in memory.
pub struct Loaded {
    server: Evaluator,
    /// The client of the keys.
    secret: KeyId,
}

/// The reason why a job has no result.
enum Stop {
    /// It never will have one.
    Refused(Refusal),
    /// The server could not run it this time.
    Later(io::Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        match refusal.code {
            Code::Internal => Self::Later(io::Error::other(refusal.reason)),
            _ => Self::Refused(refusal),
        }
    }
}

/// As [`From`], for data that was intact when it was accepted: a fault now is a fault of the disk.
fn spoilt(refusal: Refusal) -> Stop {
    match refusal.code {
        Code::Malformed | Code::HashMismatch | Code::WrongParameters => {
            tell(format_args!("fault: a file of an accepted job: {}", refusal.reason));
            Stop::Refused(lost())
        }
        _ => refusal.into(),
    }
}

fn lost() -> Refusal {
    Refusal::new(Code::Lost, "the server's disk has lost a part of it")
}

/// The outcome of a job whose data the disk has lost.
fn unread(error: io::Error) -> Stop {
    match store::passes(&error) {
        true => Stop::Later(error),
        false => Stop::Refused(lost()),
    }
}

/// The public identity of a secret key, as a name.
fn secret_name(id: KeyId) -> Hex<32> {
    Hex::of(&id.0.to_be_bytes())
}

/// A fault of the disk, as the client sees it.
pub fn disk(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            tell(format_args!("fault: {error}"));
            Refusal::new(Code::StorageFull, "the server's disk is full")
        }
        _ => fault(error),
    }
}

/// A fault of the server, in full for its operator and in short for the client.
pub fn fault(what: impl Display) -> Refusal {
    tell(format_args!("fault: {what}"));
    Refusal::new(Code::Internal, "the server failed; its operator has been notified")
}

impl Exchange {
    /// Opens the folder of the server.
    pub fn open(folder: &Path, limits: Limits, security: Security) -> io::Result<Self> {
        let (store, found) = Store::open(folder)?;
        Ok(Self {
            store,
            board: Arc::new(Board::new(limits.clone(), found)),
            ciphertexts: Arc::new(Semaphore::new(CIPHERTEXTS)),
            key_sets: Arc::new(Semaphore::new(KEY_SETS)),
            alone: RwLock::default(),
            security,
            params: Cache::new(PARAMETER_SETS),
            keys: Cache::new(limits.key_memory),
            limits,
        })
    }

    /// The parameters at the front of an upload or of stored keys.
    fn read_params(&self, reader: &mut impl Read) -> Result<(Params, u64), Refusal> {
        let bytes = wire::read_parameters(reader)?;
        let name = Hex::of(blake3::hash(&bytes).as_bytes());
        let load = || {
            cost::check(&bytes)?;
            wire::params(&bytes, self.security)
        };
        let params = (*self.params.get(name, 1, load)?).clone();
        Ok((params, bytes.len() as u64))
    }

    /// The memory of keys of `bytes` bytes, if the budget for all keys allows it.
    fn check_memory(&self, params: &Params, bytes: u64) -> Result<u64, Refusal> {
        let (cost, most) = (cost::keys(params, bytes), self.keys.budget());
        if cost > most {
            let why =
                format!("the keys take {cost} bytes in memory, but the server has only {most}");
            return Err(Refusal::new(Code::TooLarge, why));
        }
        Ok(cost)
    }

    /// The keys in memory; if missing, read from `reader`, which is positioned behind their
    /// parameters.
    fn evaluator(
        &self,
        name: (ClientId, Hash),
        params: &Params,
        bytes: u64,
        mut reader: impl Read + Seek,
    ) -> Result<Lease<'_, (ClientId, Hash), Loaded>, Refusal> {
        let cost = self.check_memory(params, bytes)?;
        self.keys.get(name, cost, || {
            cost::check_keys(&mut reader).map_err(fault)??;
            let (keys, found) = wire::keys(params, reader, bytes)?;
            if found != name.1 {
                let why = format!("these are the keys {found}");
                return Err(Refusal::new(Code::HashMismatch, why));
            }
            let secret = keys.id();
            let server = Evaluator::new(keys).map_err(|e| Refusal::new(Code::Malformed, e))?;
            Ok(Loaded { server, secret })
        })
    }

    /// Checks uploaded keys by loading them as a job would, and stores them.
    pub fn accept_keys(&self, client: ClientId, keys: Hash, spool: Spool) -> Result<(), Refusal> {
        let bytes = spool.written();
        let mut content = io::BufReader::new(spool.content().map_err(disk)?);
        let (params, params_bytes) = self.read_params(&mut content)?;
        // Keys of this name may still be cached although they were deleted on disk, so these are
        // read anew.
        self.keys.forget((client, keys));
        let loaded = self.evaluator((client, keys), &params, bytes, content)?;
        let record = KeyRecord {
            keys,
            params: params.name().to_string(),
            secret: secret_name(loaded.secret),
            params_bytes,
            bytes,
        };
        drop(loaded);
        self.store.keep_keys(client, spool, &record).map_err(disk)?;
        self.board.add_keys(client, record);
        Ok(())
    }

    /// The parameters of stored keys.
    fn params_of(&self, client: ClientId, keys: &KeyRecord) -> Result<Params, Refusal> {
        let file = self.store.keys(client, keys.keys).map_err(fault)?;
        Ok(self.read_params(&mut file.take(keys.params_bytes))?.0)
    }

    /// Checks an uploaded ciphertext: its bytes, its parameters, its key.
    pub fn check_ciphertext(
        &self,
        client: ClientId,
        keys: &KeyRecord,
        spool: &Spool,
    ) -> Result<(), Refusal> {
        let params = self.params_of(client, keys)?;
        self.check_memory(&params, keys.bytes)?;
        let mut bytes = vec![];
        spool.content().and_then(|mut file| file.read_to_end(&mut bytes)).map_err(fault)?;
        let x = wire::ciphertext(&params, &bytes)?;
        let found = secret_name(x.key());
        if found != keys.secret {
            let why = format!(
                "the ciphertext is under the secret key {found}, but the keys {} belong to {}",
                keys.keys, keys.secret
            );
            return Err(Refusal::new(Code::WrongKey, why));
        }
        Ok(())
    }

    /// A worker: takes jobs as long as the server runs.
    pub fn work(&self) -> ! {
        loop {
            let mut job = self.board.take();
            match catch_unwind(AssertUnwindSafe(|| self.step(&mut job))) {
                Ok(Ok(())) => continue,
                Ok(Err(e)) => tell(format_args!("job {}: {e}; it waits", job.ticket.id)),
                Err(_) => tell(format_args!("job {}: a worker panicked; it waits", job.ticket.id)),
            }
            // An accepted job is never dropped: a failure may be temporary.
            self.board.put_back(job);
        }
    }

    /// Completes a job, or removes it if its client has deleted it.
    fn step(&self, job: &mut Taken) -> io::Result<()> {
        if !job.cancelled.load(Ordering::Relaxed) {
            let outcome = self.outcome(job)?;
            if self.board.end(job.client, outcome) {
                return Ok(());
            }
        }
        self.forget(job)
    }

    /// Removes a job that its client has deleted.
    pub fn forget(&self, job: &Taken) -> io::Result<()> {
        self.store.forget_job(job.client, job.ticket.id)?;
        self.board.gone(job);
        Ok(())
    }

    /// The outcome of a job, once it is on disk.
    fn outcome(&self, job: &mut Taken) -> io::Result<Outcome> {
        let (client, ticket) = (job.client, job.ticket.clone());
        let tries = match job.tries {
            Some(before) => before,
            None => self.store.tries(client, ticket.id)?,
        };
        let computed = match tries {
            TRIES.. => {
                let why = format!("the server has crashed {tries} times while it ran this job");
                Err(Refusal::new(Code::Crashed, why))
            }
            SUSPECT.. => {
                let _alone = self.alone.write().unwrap_or_else(PoisonError::into_inner);
                self.run(job, tries)?
            }
            _ => {
                let _beside_others = self.alone.read().unwrap_or_else(PoisonError::into_inner);
                self.run(job, tries)?
            }
        };
        let (result, refusal) = match computed {
            Ok(result) => (result, None),
            Err(refusal) => (vec![], Some(refusal)),
        };
        let outcome = Outcome { ticket, refusal, bytes: result.len() as u64 };
        self.store.keep_outcome(client, &outcome, &result)?;
        Ok(outcome)
    }

    /// Runs a job, and records the attempt once per server.
    fn run(&self, job: &mut Taken, tries: u64) -> io::Result<Result<Vec<u8>, Refusal>> {
        if job.tries.is_none() {
            self.store.note_try(job.client, job.ticket.id)?;
            job.tries = Some(tries);
        }
        match catch_unwind(AssertUnwindSafe(|| self.compute(job))) {
            Ok(Ok(result)) => Ok(Ok(result)),
            Ok(Err(Stop::Refused(refusal))) => Ok(Err(refusal)),
            Ok(Err(Stop::Later(error))) => Err(error),
            Err(_) => {
                Ok(Err(Refusal::new(Code::Crashed, "the server failed while it ran this job")))
            }
        }
    }

    /// Computes the bytes of a result.
    fn compute(&self, job: &Taken) -> Result<Vec<u8>, Stop> {
        let most = self.limits.job_seconds;
        let (start, longest) = (Instant::now(), Duration::from_secs(most));
        let (client, id) = (job.client, job.ticket.id);
        let (board, cancelled) = (self.board.clone(), job.cancelled.clone());
        let watch = move |stage: &str, done, total| {
            board.report(client, id, stage, done, total);
            let stop = cancelled.load(Ordering::Relaxed) || start.elapsed() > longest;
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let program: Program =
            job.ticket.program.parse().map_err(|e| Refusal::new(Code::UnknownProgram, e))?;
        let keys = job.keys.as_ref().ok_or_else(|| {
            Refusal::new(Code::UnknownKeys, format!("the keys {} are gone", job.ticket.keys))
        })?;
        let mut file = self.store.keys(client, keys.keys).map_err(unread)?;
        let params = self.read_params(&mut (&mut file).take(keys.params_bytes));
        let params = params.map_err(spoilt)?.0;
        let loaded = self.evaluator((client, keys.keys), &params, keys.bytes, file);
        let loaded = loaded.map_err(spoilt)?;
        let bytes = self.store.request(client, id).map_err(unread)?;
        let x = wire::ciphertext(&params, &bytes).map_err(spoilt)?;
        let y = program.run(&loaded.server, &x, watch).map_err(|why| match why {
            Stopped::Asked => Refusal::new(
                Code::TimeLimit,
                format!("a job may take {most} s, including the loading of its keys"),
            ),
            Stopped::Failed(e) => Refusal::new(Code::NotComputable, e),
        })?;
        Ok(wire::bytes(&params, &y).map_err(|e| Refusal::new(Code::NotComputable, e))?)
    }
}
