//! The server's parts together, and what every job and upload goes through.

use std::fmt::Display;
use std::io::Read;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bellerophon::mlwe::{KeyId, Security};
use bellerophon::prelude::*;
use tokio::sync::Semaphore;

use super::board::{Board, Taken};
use super::cache::{Cache, Lease};
use super::limits::Limits;
use super::programs::Program;
use super::protocol::{ClientId, Code, Hash, Hex, Refusal};
use super::store::{KeyRecord, Outcome, Spool, Store, Ticket};
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

/// Between two attempts to bring an outcome to a disk that refuses it.
const DISK_PAUSE: Duration = Duration::from_secs(2);

/// Keys in memory stand expanded, in words of 8 bytes, with encoded matrices beside them: with jobs that
/// run, up to 4.5 times their bytes in transit were seen. The tables of their parameters are apart.
const EXPANSION: u64 = 5;
const TABLES: u64 = 64 << 20;

/// The largest ring and the longest chain that are served.
const LARGEST_DEGREE: usize = 1 << 16;
const MOST_LIMBS: usize = 64;

/// Everything that the server has.
pub struct Exchange {
    pub limits: Limits,
    pub store: Store,
    pub board: Arc<Board>,
    pub ciphertexts: Semaphore,
    pub key_sets: Semaphore,
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

/// The public identity of a secret key, as a name.
fn secret_name(id: KeyId) -> Hex<32> {
    Hex::of(&id.0.to_be_bytes())
}

/// A fault of the server, told to its operator in full and to the client in short.
pub fn fault(what: impl Display) -> Refusal {
    eprintln!("fault: {what}");
    Refusal::new(Code::Internal, "the server could not do it; its operator has been told")
}

impl Exchange {
    /// Opens the folder of the server.
    pub fn open(folder: &Path, limits: Limits, security: Security) -> std::io::Result<Self> {
        let (store, found) = Store::open(folder)?;
        Ok(Self {
            store,
            board: Arc::new(Board::new(limits.clone(), found)),
            ciphertexts: Semaphore::new(CIPHERTEXTS),
            key_sets: Semaphore::new(KEY_SETS),
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
            let params = wire::parameters(&bytes, self.security)?;
            let (degree, limbs) = (params.arithmetic().degree(), params.arithmetic().limbs());
            if degree > LARGEST_DEGREE || limbs > MOST_LIMBS {
                let why = format!("a ring of degree {degree} with {limbs} primes is not served");
                return Err(Refusal::new(Code::TooLarge, why));
            }
            Ok(params)
        };
        let params = (*self.params.get(name, 1, load)?).clone();
        Ok((params, bytes.len() as u64))
    }

    /// Keys in memory, read from `reader`, which stands behind their parameters, if they are not there.
    fn evaluator(
        &self,
        name: (ClientId, Hash),
        params: &Params,
        bytes: u64,
        reader: impl Read,
    ) -> Result<Lease<'_, (ClientId, Hash), Loaded>, Refusal> {
        let cost = bytes.saturating_mul(EXPANSION).saturating_add(TABLES);
        if cost > self.keys.budget() {
            let why = format!("keys of {bytes} bytes do not fit the server's memory for keys");
            return Err(Refusal::new(Code::TooLarge, why));
        }
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
        let mut content = std::io::BufReader::new(spool.content().map_err(fault)?);
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
        self.store.keep_keys(client, spool, &record).map_err(fault)?;
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
            let job = self.board.take();
            let (client, id) = (job.client, job.ticket.id);
            let computed = match self.store.note_try(client, id) {
                Ok(tries) if tries > TRIES => {
                    let why = format!("the server has ended {TRIES} times while it ran this job");
                    Err(Refusal::new(Code::Crashed, why))
                }
                Ok(_) => catch_unwind(AssertUnwindSafe(|| self.compute(&job)))
                    .unwrap_or_else(|_| Err(fault("a job panicked"))),
                Err(e) => Err(fault(e)),
            };
            let wanted = !job.cancelled.load(Ordering::Relaxed);
            let outcome = wanted.then(|| self.keep(client, &job.ticket, computed));
            if outcome.is_none()
                && let Err(e) = self.store.forget_job(client, id)
            {
                eprintln!("job {id}: {e}");
            }
            self.board.end(client, id, outcome);
        }
    }

    /// Brings an outcome to the disk, as often as it takes: an accepted job is never dropped.
    fn keep(
        &self,
        client: ClientId,
        ticket: &Ticket,
        computed: Result<Vec<u8>, Refusal>,
    ) -> Outcome {
        let (result, refusal) = match computed {
            Ok(result) => (result, None),
            Err(refusal) => (vec![], Some(refusal)),
        };
        let outcome = Outcome { ticket: ticket.clone(), refusal, bytes: result.len() as u64 };
        while let Err(e) = self.store.keep_outcome(client, &outcome, &result) {
            eprintln!("outcome of {}: {e}; trying again", ticket.id);
            std::thread::sleep(DISK_PAUSE);
        }
        outcome
    }

    /// Runs a job: the bytes of its result.
    fn compute(&self, job: &Taken) -> Result<Vec<u8>, Refusal> {
        let Taken { client, ticket, keys, cancelled } = job;
        let program: Program =
            ticket.program.parse().map_err(|e| Refusal::new(Code::UnknownProgram, e))?;
        let mut file = self.store.keys(*client, keys.keys).map_err(fault)?;
        let params = self.read_params(&mut (&mut file).take(keys.params_bytes))?.0;
        let loaded = self.evaluator((*client, keys.keys), &params, keys.bytes, file)?;
        let bytes = self.store.request(*client, ticket.id).map_err(fault)?;
        let x = wire::ciphertext(&params, &bytes)?;
        let deadline = Instant::now() + Duration::from_secs(self.limits.job_seconds);
        let (board, cancelled) = (self.board.clone(), cancelled.clone());
        let (client, id) = (*client, ticket.id);
        let watch = move |stage: &str, done, total| {
            board.report(client, id, stage, done, total);
            let stop = cancelled.load(Ordering::Relaxed) || Instant::now() > deadline;
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let late = |e: bellerophon::Error| match e {
            bellerophon::Error::Cancelled { .. } => {
                let most = self.limits.job_seconds;
                Refusal::new(Code::TimeLimit, format!("{e}: a job may take {most} s"))
            }
            _ => Refusal::new(Code::NotComputable, e),
        };
        let y = program.run(&loaded.server, &x, watch).map_err(late)?;
        wire::bytes(&params, &y).map_err(fault)
    }
}
