//! The server's parts together, and what every job and upload goes through.

use std::fmt::Display;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bellerophon::mlwe::{KeyId, Security};
use bellerophon::prelude::*;
use tokio::sync::Semaphore;

use super::board::{Board, Taken};
use super::cache::{Cache, Lease};
use super::cost;
use super::limits::Limits;
use super::programs::{Program, Stopped};
use super::protocol::{ClientId, Code, Hash, Hex, Refusal};
use super::store::{self, KeyRecord, Outcome, Spool, Store};
use super::wire;

/// Ciphertexts, and key sets, that are checked at the same time: what bounds the memory for it. Keys may
/// wait for room in memory; ciphertexts do not wait behind them.
const CIPHERTEXTS: usize = 2;
const KEY_SETS: usize = 1;

/// Parameter sets kept in memory for the checks of what arrives.
const PARAMETER_SETS: u64 = 4;

/// Times that a worker begins with a job, at most: a job that ends the server every time must not end
/// it for ever.
const TRIES: u64 = 5;

/// A job with which workers began so often without an end runs alone: if it ends the server, no other
/// job is counted with it.
const SUSPECT: u64 = 2;

/// Between two attempts at what the disk refuses.
const DISK_PAUSE: Duration = Duration::from_secs(2);

/// Everything that the server has.
pub struct Exchange {
    pub limits: Limits,
    pub store: Store,
    pub board: Arc<Board>,
    pub ciphertexts: Arc<Semaphore>,
    pub key_sets: Arc<Semaphore>,
    /// Read by jobs that run side by side, written by one that runs alone.
    alone: RwLock<()>,
    security: Security,
    params: Cache<Hash, Params>,
    keys: Cache<(ClientId, Hash), Loaded>,
}

/// Keys in memory.
pub struct Loaded {
    server: Evaluator,
    /// Whose they are.
    secret: KeyId,
}

/// Why a job has no result.
enum Stop {
    /// It never will.
    Refused(Refusal),
    /// The server could not do it this time.
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

/// What became of a job for which the disk does not give what it should hold.
fn unread(error: io::Error) -> Stop {
    match store::passes(&error) {
        true => Stop::Later(error),
        false => Stop::Refused(Refusal::new(Code::Lost, "the server's disk has lost a part of it")),
    }
}

/// The public identity of a secret key, as a name.
fn secret_name(id: KeyId) -> Hex<32> {
    Hex::of(&id.0.to_be_bytes())
}

/// A fault of the disk, told as it concerns the client.
pub fn disk(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            eprintln!("fault: {error}");
            Refusal::new(Code::StorageFull, "the server's disk is full")
        }
        _ => fault(error),
    }
}

/// A fault of the server, told to its operator in full and to the client in short.
pub fn fault(what: impl Display) -> Refusal {
    eprintln!("fault: {what}");
    Refusal::new(Code::Internal, "the server could not do it; its operator has been told")
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
            wire::parameters(&bytes, self.security)
        };
        let params = (*self.params.get(name, 1, load)?).clone();
        Ok((params, bytes.len() as u64))
    }

    /// What keys of so many bytes take in memory, if that is not more than there is for all keys.
    fn check_memory(&self, params: &Params, bytes: u64) -> Result<u64, Refusal> {
        let (cost, most) = (cost::keys(params, bytes), self.keys.budget());
        if cost > most {
            let why = format!("keys that take {cost} bytes in memory, where there are {most}");
            return Err(Refusal::new(Code::TooLarge, why));
        }
        Ok(cost)
    }

    /// Keys in memory, read from `reader`, which stands behind their parameters, if they are not there.
    fn evaluator(
        &self,
        name: (ClientId, Hash),
        params: &Params,
        bytes: u64,
        reader: impl Read,
    ) -> Result<Lease<'_, (ClientId, Hash), Loaded>, Refusal> {
        let cost = self.check_memory(params, bytes)?;
        self.keys.get(name, cost, || {
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

    /// Checks keys that have arrived, by loading them as a job would, and keeps them.
    pub fn accept_keys(&self, client: ClientId, keys: Hash, spool: Spool) -> Result<(), Refusal> {
        let bytes = spool.written();
        let mut content = io::BufReader::new(spool.content().map_err(disk)?);
        let (params, params_bytes) = self.read_params(&mut content)?;
        // Keys of this name may be in memory that were deleted on disk: these are read all the same.
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

    /// Checks a ciphertext that has arrived: its bytes, its parameters, its key.
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
                "the ciphertext is under the secret key {found}, the keys {} are of {}",
                keys.keys, keys.secret
            );
            return Err(Refusal::new(Code::WrongKey, why));
        }
        Ok(())
    }

    /// A worker: takes jobs for as long as the server runs.
    pub fn work(&self) -> ! {
        loop {
            if catch_unwind(AssertUnwindSafe(|| self.step())).is_err() {
                // The job stays on disk; the next start finds it there.
                eprintln!("fault: a worker panicked and goes on with another job");
            }
        }
    }

    fn step(&self) {
        let job = self.board.take();
        let (client, id) = (job.client, job.ticket.id);
        let outcome = self.outcome(&job);
        if let Some(_held) = self.board.end(client, id, outcome)
            && let Err(e) = self.store.forget_job(client, id)
        {
            eprintln!("job {id}: {e}");
        }
    }

    /// What becomes of a job, once it is on the disk; nothing if its client has deleted it meanwhile.
    fn outcome(&self, job: &Taken) -> Option<Outcome> {
        let Taken { client, ticket, .. } = job;
        let tries = self.insist(job, || self.store.tries(*client, ticket.id))?;
        let computed = match tries {
            TRIES.. => {
                let why = format!("the server has ended {tries} times while it ran this job");
                Err(Refusal::new(Code::Crashed, why))
            }
            SUSPECT.. => {
                let _alone = self.alone.write().unwrap_or_else(PoisonError::into_inner);
                self.run(job)?
            }
            _ => {
                let _beside_others = self.alone.read().unwrap_or_else(PoisonError::into_inner);
                self.run(job)?
            }
        };
        let (result, refusal) = match computed {
            Ok(result) => (result, None),
            Err(refusal) => (vec![], Some(refusal)),
        };
        let outcome = Outcome { ticket: ticket.clone(), refusal, bytes: result.len() as u64 };
        self.insist(job, || self.store.keep_outcome(*client, &outcome, &result))?;
        Some(outcome)
    }

    /// Does what may fail for a while, as often as it takes: an accepted job is never dropped. Nothing
    /// once its client has deleted it.
    fn insist<T>(&self, job: &Taken, mut work: impl FnMut() -> io::Result<T>) -> Option<T> {
        while !job.cancelled.load(Ordering::Relaxed) {
            match work() {
                Ok(done) => return Some(done),
                Err(e) => {
                    eprintln!("job {}: {e}; trying again", job.ticket.id);
                    std::thread::sleep(DISK_PAUSE);
                }
            }
        }
        None
    }

    /// Runs a job, which is counted as begun once.
    fn run(&self, job: &Taken) -> Option<Result<Vec<u8>, Refusal>> {
        self.insist(job, || self.store.note_try(job.client, job.ticket.id))?;
        self.insist(job, || match catch_unwind(AssertUnwindSafe(|| self.compute(job))) {
            Ok(Ok(result)) => Ok(Ok(result)),
            Ok(Err(Stop::Refused(refusal))) => Ok(Err(refusal)),
            Ok(Err(Stop::Later(error))) => Err(error),
            Err(_) => {
                Ok(Err(Refusal::new(Code::Crashed, "the server failed while it ran this job")))
            }
        })
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
        let params = self.read_params(&mut (&mut file).take(keys.params_bytes))?.0;
        let loaded = self.evaluator((client, keys.keys), &params, keys.bytes, file)?;
        let bytes = self.store.request(client, id).map_err(unread)?;
        let x = wire::ciphertext(&params, &bytes)?;
        let y = program.run(&loaded.server, &x, watch).map_err(|why| match why {
            Stopped::Asked => {
                Refusal::new(Code::TimeLimit, format!("a job may take {most} s, with its keys"))
            }
            Stopped::Failed(e) => Refusal::new(Code::NotComputable, e),
        })?;
        Ok(wire::bytes(&params, &y).map_err(|e| Refusal::new(Code::NotComputable, e))?)
    }
}
