//! The server's components together, and the path of every job and upload.

pub mod admin;
pub mod board;
pub mod cache;
pub mod checks;
pub mod evaluate;
pub mod limits;
pub mod listen;
mod metrics;
mod owners;
pub mod places;
pub mod program;
mod routes;
pub mod store;
pub mod stream;
mod uploads;

use std::fmt::Display;
use std::io;
use std::io::Read;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bellerophon::format;
use bellerophon::mlwe::{KeyId, Security};
use bellerophon::prelude::*;
use parking_lot::RwLock;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tracing::{error, info, warn};

use crate::cli::Failure;
use crate::cost;
use crate::files;
use crate::programs::{Program, Stopped};
use crate::protocol::{AnswerHead, ClientId, Code, Hash, Hex, JobId, Refusal};
use crate::wire::{self, Loaded};
use board::{Board, Taken};
use cache::{Cache, Lease};
use checks::Checks;
use limits::Limits;
use metrics::Metrics;
use store::{Change, JobRecord, KeyRecord, Spool, Store, lost};

/// The longest time that the check of keys waits for memory while jobs hold it. Others wait for the
/// check meanwhile.
const MEMORY_WAIT: Duration = Duration::from_secs(20);

/// Parameter sets that are cached for the checks of uploads.
const PARAMETER_SETS: u64 = 4;

/// The largest number of attempts at a job: a job that crashes the server every time must not do so
/// for ever.
const TRIES: u32 = 5;

/// A job with this many unfinished attempts runs alone: if it crashes the server, no other job is
/// blamed.
const SUSPECT: u32 = 2;

/// The state of the server.
pub struct Exchange {
    limits: Limits,
    store: Store,
    /// The scheduler.
    pub board: Arc<Board>,
    checks: Checks,
    metrics: Metrics,
    /// Read by jobs that run in parallel, written by one that runs alone.
    alone: RwLock<()>,
    /// Read while files of clients are stored, written while the operator changes a client, or one
    /// is forgotten with its files: what it brings meanwhile stays, and no change is lost.
    forgetting: RwLock<()>,
    /// Set when running jobs must end.
    ending: Arc<AtomicBool>,
    security: Security,
    params: Cache<Hash, Params>,
    keys: Cache<(ClientId, Hash), Loaded>,
}

/// The reason why a job has no result.
enum Stop {
    /// It never will have one.
    Refused(Refusal),
    /// The server could not run it this time.
    Later(io::Error),
    /// The server stops.
    Ending,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A fault of data that was intact when it was accepted: the disk has lost a part of it.
fn spoilt(refusal: Refusal) -> Stop {
    warn!(%refusal, "a file of an accepted job");
    Stop::Refused(match refusal.code {
        Code::TooLarge => refusal,
        _ => lost(),
    })
}

/// A file that cannot be read: lost, or only for now.
fn unread(e: io::Error) -> Stop {
    use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    match e.kind() {
        NotFound | InvalidData | UnexpectedEof => Stop::Refused(lost()),
        _ => Stop::Later(e),
    }
}

/// The public identity of a secret key, as a name.
fn secret_name(id: KeyId) -> Hex<32> {
    Hex::of(&id.0.to_be_bytes())
}

/// A fault of the disk, as the client sees it.
fn disk(e: io::Error) -> Refusal {
    match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            error!(%e, "the disk is full");
            Refusal::new(Code::StorageFull, "the server's disk is full")
        }
        _ => fault(e),
    }
}

/// A fault of the server, in full for its operator and in short for the client.
fn fault(what: impl Display) -> Refusal {
    error!(%what, "fault");
    Refusal::new(Code::Internal, "the server failed; its operator has been notified")
}

/// The encryption of connections with a certificate.
///
/// # Errors
/// For files that hold no certificate or key.
pub fn tls(certificates: &Path, key: &Path) -> Result<tokio_rustls::TlsAcceptor, Failure> {
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| files::about(certificates, e))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| files::about(key, e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|e| files::about(certificates, e))?;
    Ok(Arc::new(config).into())
}

impl Exchange {
    /// Opens the folder of the server.
    ///
    /// # Errors
    /// If the folder is unusable, or another server uses it.
    pub fn open(
        folder: &Path,
        limits: Limits,
        workers: usize,
        guests: usize,
        security: Security,
    ) -> io::Result<Self> {
        let (store, found) = Store::open(folder)?;
        Ok(Self {
            store,
            board: Arc::new(Board::new(limits.clone(), workers, guests, found)),
            checks: Checks::default(),
            metrics: Metrics::default(),
            alone: RwLock::default(),
            forgetting: RwLock::default(),
            ending: Arc::default(),
            security,
            params: Cache::new(PARAMETER_SETS),
            keys: Cache::new(limits.key_memory),
            limits,
        })
    }

    /// The parameters at the front of an upload or of stored keys.
    fn read_params(&self, bytes: &[u8]) -> Result<Params, Refusal> {
        let load = || wire::params(bytes, self.security);
        // Nobody keeps one for long.
        Ok((*self.params.get(Hash::hash(bytes), 1, || true, load)?).clone())
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

    /// The keys in memory; if missing, read from `reader` behind their parameters. Waits for memory
    /// as long as `patient`.
    fn evaluator(
        &self,
        name: (ClientId, Hash),
        params: &Params,
        bytes: u64,
        reader: impl Read,
        patient: impl Fn() -> bool,
    ) -> Result<Lease<'_, (ClientId, Hash), Loaded>, Refusal> {
        let cost = self.check_memory(params, bytes)?;
        self.keys.get(name, cost, patient, || {
            let loaded = wire::keys(params, reader, bytes)?;
            match loaded.name == name.1 {
                true => Ok(loaded),
                false => {
                    let why = format!("these are the keys {}", loaded.name);
                    Err(Refusal::new(Code::HashMismatch, why))
                }
            }
        })
    }

    /// Checks uploaded keys by loading them as a job would, and stores them. Their types, number
    /// and hashes were checked as they arrived, before any memory is reserved.
    fn accept_keys(
        &self,
        client: ClientId,
        keys: Hash,
        params_bytes: &[u8],
        spool: Spool,
    ) -> Result<(), Refusal> {
        let (bytes, start) = (spool.written, params_bytes.len() as u64);
        let params = self.read_params(params_bytes)?;
        let mut content = io::BufReader::new(spool.content().map_err(disk)?);
        io::copy(&mut (&mut content).take(start), &mut io::sink()).map_err(disk)?;
        // Keys of this name may still be cached although they were deleted on disk, so these are
        // read anew.
        self.keys.forget((client, keys));
        let begin = Instant::now();
        let patient = || begin.elapsed() < MEMORY_WAIT;
        let secret = self.evaluator((client, keys), &params, bytes, content, patient)?.secret;
        let (secret, params) = (secret_name(secret), params.name().to_string());
        let record = KeyRecord { keys, params, secret, params_bytes: start, bytes };
        {
            let _forgetting = self.forgetting.write();
            if let Some((idlest, changes)) = self.board.admit(client)? {
                info!(client = %idlest, "makes room for another client");
                self.purge(idlest, changes, false);
            }
        }
        let _storing = self.forgetting.read();
        // As it is now: the operator may have changed it meanwhile, and waits from here on.
        let owner = self.board.owner(client)?;
        if owner.is_guest() {
            // It may never bring a job: its keys displace none of others before.
            self.keys.forget((client, keys));
        }
        self.store.keep_keys(client, &owner, spool, &record).map_err(disk)?;
        self.board.add_keys(client, record);
        info!(%client, %keys, bytes, "keys accepted");
        Ok(())
    }

    /// Removes what is kept for a client that the scheduler has forgotten.
    fn purge(&self, client: ClientId, changes: Vec<Change>, stays: bool) {
        if let Err(e) = self.store.purge(client, changes, stays) {
            error!(%client, %e, "its files stay: the next start moves them aside");
        }
    }

    /// Removes clients without an invitation that were not seen for a long time.
    fn expire(&self) {
        let _forgetting = self.forgetting.write();
        for (client, changes) in self.board.expire() {
            info!(%client, "not seen for a long time: forgotten");
            self.purge(client, changes, false);
        }
    }

    /// The file of stored keys behind their parameters, and the parameters.
    fn stored_keys(&self, client: ClientId, keys: &KeyRecord) -> Result<(Params, impl Read), Stop> {
        let file = files::open_regular(&self.store.keys(client, keys.keys)).map_err(unread)?;
        let (mut file, mut bytes) = (io::BufReader::new(file), vec![]);
        (&mut file).take(keys.params_bytes).read_to_end(&mut bytes).map_err(unread)?;
        Ok((self.read_params(&bytes).map_err(spoilt)?, file))
    }

    /// Checks an uploaded ciphertext: its bytes, its parameters, its key. Returns the predicted
    /// work of the job.
    fn check_ciphertext(
        &self,
        client: ClientId,
        keys: &KeyRecord,
        program: Program,
        spool: &Spool,
    ) -> Result<u64, Refusal> {
        let (params, _) = self.stored_keys(client, keys).map_err(|stop| match stop {
            Stop::Refused(refusal) => refusal,
            Stop::Later(e) => disk(e),
            Stop::Ending => fault("no job"),
        })?;
        self.check_memory(&params, keys.bytes)?;
        let mut bytes = vec![];
        spool.content().and_then(|mut file| file.read_to_end(&mut bytes)).map_err(disk)?;
        let x = wire::ciphertext(&params, &bytes)?;
        let found = secret_name(x.lattice().ident().key);
        if found != keys.secret {
            let why = format!(
                "the ciphertext is under the secret key {found}, but the keys {} belong to {}",
                keys.keys, keys.secret
            );
            return Err(Refusal::new(Code::WrongKey, why));
        }
        Ok(program.work(&params, x.len()))
    }

    /// Stores a checked job. Once this returns, no crash loses it.
    fn accept_job(&self, client: ClientId, spool: Spool, record: JobRecord) -> Result<(), Refusal> {
        let _storing = self.forgetting.read();
        // Its token may be refused by now.
        self.board.owner(client)?;
        self.store.keep_job(client, spool, &record).map_err(disk)?;
        self.board.add_job(client, record);
        Ok(())
    }

    /// A worker: takes jobs as long as the server runs.
    pub fn work(&self) {
        while let Some(mut job) = self.board.take() {
            let id = job.record.id;
            match catch_unwind(AssertUnwindSafe(|| self.step(&mut job))) {
                Ok(Ok(())) => continue,
                Ok(Err(e)) => warn!(job = %id, %e, "it waits"),
                Err(_) => {
                    error!(job = %id, "a worker panicked; it waits");
                    job.record.tries += 1;
                }
            }
            // An accepted job is never dropped: a failure may be temporary.
            self.board.put_back(job);
        }
    }

    /// Tells running jobs to stop before their next step; they wait for the next start.
    pub fn end_jobs(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// Completes a job, or removes it if its client has deleted it.
    fn step(&self, job: &mut Taken) -> io::Result<()> {
        if !job.cancelled.load(Ordering::Relaxed) {
            let outcome = self.run(job)?;
            let record = self.keep_outcome(job, outcome)?;
            let refusal = record.refusal.clone();
            if self.board.end(job.client, record) {
                self.metrics.ended(refusal.is_some());
                let refused = refusal.map(|refusal| refusal.to_string());
                info!(client = %job.client, job = %job.record.id, refused, "job ended");
                return Ok(());
            }
        }
        self.forget(job)
    }

    /// Puts the outcome of a job on the disk, with the record that names it.
    fn keep_outcome(
        &self,
        job: &mut Taken,
        outcome: Result<Vec<u8>, Refusal>,
    ) -> io::Result<JobRecord> {
        let answer = outcome.map(|result| AnswerHead::seal(job.record.id, job.client, &result));
        job.room = answer.as_ref().map_or(0, |answer| answer.len() as u64);
        let mut record = JobRecord { tries: 0, ..job.record.clone() };
        self.store.keep_outcome(job.client, &mut record, answer)?;
        Ok(record)
    }

    /// Removes a job that its client has deleted.
    fn forget(&self, job: &Taken) -> io::Result<()> {
        self.store.forget_job(job.client, job.record.id, job.record.number)?;
        self.board.gone(job);
        Ok(())
    }

    /// Runs a job, and marks the attempt as long as it lasts: a crash leaves the mark.
    fn run(&self, job: &Taken) -> io::Result<Result<Vec<u8>, Refusal>> {
        let tries = job.record.tries;
        if tries >= TRIES {
            let why = format!("the server has crashed {tries} times while it ran this job");
            return Ok(Err(Refusal::new(Code::Crashed, why)));
        }
        // An answer that the disk has refused is not computed again for nothing.
        if job.room > 0 {
            self.store.try_room(job.room)?;
        }
        let _attempt = self.store.attempt(job.client, job.record.id, tries + 1)?;
        let compute = || catch_unwind(AssertUnwindSafe(|| self.compute(job)));
        let computed = match tries >= SUSPECT {
            true => {
                let _alone = self.alone.write();
                compute()
            }
            false => {
                let _others = self.alone.read();
                compute()
            }
        };
        let panicked = |_| Err(Refusal::new(Code::Crashed, "a panic").into());
        match computed.unwrap_or_else(panicked) {
            Ok(result) => Ok(Ok(result)),
            Err(Stop::Refused(refusal)) => Ok(Err(refusal)),
            Err(Stop::Later(e)) => Err(e),
            Err(Stop::Ending) => Err(io::Error::other("the server stops")),
        }
    }

    /// Computes the bytes of a result.
    fn compute(&self, job: &Taken) -> Result<Vec<u8>, Stop> {
        let most = self.limits.bounds.job_seconds;
        let (client, id): (_, JobId) = (job.client, job.record.id);
        let program: Program =
            job.record.program.parse().map_err(|e| Refusal::new(Code::UnknownProgram, e))?;
        let keys = job.keys.as_ref().ok_or_else(|| {
            Refusal::new(Code::UnknownKeys, format!("the keys {} are gone", job.record.keys))
        })?;
        let (params, file) = self.stored_keys(client, keys)?;
        let (cancelled, ending) = (job.cancelled.clone(), self.ending.clone());
        let stop = move || cancelled.load(Ordering::Relaxed) || ending.load(Ordering::Relaxed);
        let loaded = self.evaluator((client, keys.keys), &params, keys.bytes, file, || !stop());
        let loaded = loaded.map_err(|refusal| match self.ending.load(Ordering::Relaxed) {
            true => Stop::Ending,
            false => spoilt(refusal),
        })?;
        // Others may hold the memory for long, which is no fault of the job.
        let (start, longest) = (Instant::now(), Duration::from_secs(most));
        let mut bytes = vec![];
        let request = files::open_regular(&self.store.job(client, id, "request"));
        request.and_then(|mut file| file.read_to_end(&mut bytes)).map_err(unread)?;
        let x = wire::ciphertext(&params, &bytes).map_err(spoilt)?;
        let board = self.board.clone();
        let watch = move |stage: &str, done, total| {
            board.report(client, id, stage, done, total);
            match stop() || start.elapsed() > longest {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let y = program.run(&loaded.server, &x, watch).map_err(|why| match why {
            Stopped::Asked if self.ending.load(Ordering::Relaxed) => Stop::Ending,
            Stopped::Asked => {
                let why = format!("a job may take {most} s once its keys are loaded");
                Refusal::new(Code::TimeLimit, why).into()
            }
            Stopped::Failed(e) => Refusal::new(Code::NotComputable, e).into(),
        })?;
        let bytes = format::to_bytes(&params, &y);
        Ok(bytes.map_err(|e| Refusal::new(Code::NotComputable, e))?)
    }
}
