//! Who waits for what: the jobs and keys of all clients, and what each of them uses.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::limits::Limits;
use super::protocol::{ClientId, Code, Hash, JobId, KeyStatus, Refusal, State, Status};
use super::store::{Found, KeyRecord, Outcome, Ticket};

/// What a file costs at least, so that small ones are not without number.
const LEAST_COST: u64 = 4096;

/// The state of the server in memory; everything in it that matters is on disk as well.
pub struct Board {
    limits: Limits,
    state: Mutex<All>,
    /// Told when a job is there for a worker.
    work: Condvar,
    /// Told when a job has moved on.
    moved: watch::Sender<()>,
}

#[derive(Default)]
struct All {
    clients: HashMap<ClientId, Client>,
    /// Clients with jobs that wait, each once: they take turns.
    turns: VecDeque<ClientId>,
    stored: u64,
    next_number: u64,
}

#[derive(Default)]
struct Client {
    keys: HashMap<Hash, KeyRecord>,
    jobs: HashMap<JobId, Job>,
    waiting: VecDeque<JobId>,
    running: usize,
    /// Jobs and keys that are still arriving.
    arriving: HashSet<String>,
    arriving_jobs: usize,
    requests: usize,
    stored: u64,
}

struct Job {
    ticket: Ticket,
    state: State,
    stage: Option<String>,
    done: usize,
    total: usize,
    refusal: Option<Refusal>,
    result_bytes: Option<u64>,
    cancelled: Arc<AtomicBool>,
}

impl Job {
    fn new(ticket: Ticket, state: State) -> Self {
        let cancelled = Arc::default();
        let (done, total) = (0, 0);
        Self {
            ticket,
            state,
            stage: None,
            done,
            total,
            refusal: None,
            result_bytes: None,
            cancelled,
        }
    }

    fn ended(outcome: Outcome) -> Self {
        let state = if outcome.refusal.is_some() { State::Refused } else { State::Done };
        let result_bytes = outcome.refusal.is_none().then_some(outcome.bytes);
        Self { refusal: outcome.refusal, result_bytes, ..Self::new(outcome.ticket, state) }
    }

    /// What it costs of the storage.
    fn cost(&self) -> u64 {
        let bytes = match self.state {
            State::Accepted | State::Running => self.ticket.bytes,
            State::Done | State::Refused => self.result_bytes.unwrap_or(0),
        };
        bytes.max(LEAST_COST)
    }
}

/// A job that a worker has.
pub struct Taken {
    pub client: ClientId,
    pub ticket: Ticket,
    pub keys: KeyRecord,
    /// Whether the client does not want it any more.
    pub cancelled: Arc<AtomicBool>,
}

/// What deleting a job comes to.
pub enum Deleted {
    /// It is gone from the board: its files can go.
    Gone,
    /// A worker has it and will drop it.
    Soon,
}

impl Board {
    /// The board as an earlier server left it.
    pub fn new(limits: Limits, found: Found) -> Self {
        let mut all = All::default();
        for (client, record) in found.keys {
            all.charge(client, record.bytes.max(LEAST_COST));
            all.client(client).keys.insert(record.keys, record);
        }
        for (client, outcome) in found.ended {
            all.next_number = all.next_number.max(outcome.ticket.number + 1);
            all.insert(client, Job::ended(outcome));
        }
        for (client, ticket) in found.waiting {
            all.next_number = all.next_number.max(ticket.number + 1);
            all.enqueue(client, ticket);
        }
        let moved = watch::Sender::new(());
        Self { limits, state: Mutex::new(all), work: Condvar::new(), moved }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        // A panic elsewhere leaves whole entries: every change below is made in one piece.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells when some job has moved on.
    pub fn news(&self) -> watch::Receiver<()> {
        self.moved.subscribe()
    }

    /// Jobs that wait or run.
    pub fn open_jobs(&self) -> usize {
        self.all().clients.values().map(|c| c.waiting.len() + c.running).sum()
    }

    /// Counts a request of a client for as long as the guard lives.
    pub fn enter(self: &Arc<Self>, client: ClientId) -> Result<Request, Refusal> {
        let mut all = self.all();
        if !all.clients.contains_key(&client) && all.clients.len() >= self.limits.clients {
            let why = format!("the server keeps things for {} clients", self.limits.clients);
            return Err(Refusal::new(Code::TooManyClients, why));
        }
        let entry = all.client(client);
        if entry.requests >= self.limits.client_requests {
            let why = format!("{} requests are under way already", entry.requests);
            return Err(Refusal::new(Code::TooManyRequests, why));
        }
        entry.requests += 1;
        Ok(Request { board: self.clone(), client })
    }

    /// The record of keys.
    pub fn keys(&self, client: ClientId, keys: Hash) -> Result<KeyRecord, Refusal> {
        let all = self.all();
        let record = all.clients.get(&client).and_then(|c| c.keys.get(&keys)).cloned();
        record.ok_or_else(|| {
            Refusal::new(Code::UnknownKeys, format!("no keys {keys}: upload them first"))
        })
    }

    /// Room for keys that are about to arrive.
    pub fn reserve_keys(
        self: &Arc<Self>,
        client: ClientId,
        keys: Hash,
        bytes: u64,
    ) -> Result<Reservation, Refusal> {
        self.reserve(client, keys.to_string(), bytes, false)
    }

    /// Room for a job that is about to arrive, or what is known of it if it is there.
    pub fn reserve_job(
        self: &Arc<Self>,
        client: ClientId,
        job: JobId,
        bytes: u64,
    ) -> Result<Reservation, Refusal> {
        self.reserve(client, job.to_string(), bytes, true)
    }

    fn reserve(
        self: &Arc<Self>,
        client: ClientId,
        name: String,
        bytes: u64,
        job: bool,
    ) -> Result<Reservation, Refusal> {
        let cost = bytes.max(LEAST_COST);
        let mut all = self.all();
        if all.stored.saturating_add(cost) > self.limits.storage {
            return Err(Refusal::new(Code::StorageFull, "the server's storage is full"));
        }
        let entry = all.client(client);
        let queued = entry.waiting.len() + entry.running + entry.arriving_jobs;
        if job && queued >= self.limits.queued_jobs {
            let why = format!("{queued} jobs wait or run, which is the most");
            return Err(Refusal::new(Code::QueueFull, why));
        }
        if entry.stored.saturating_add(cost) > self.limits.client_storage {
            let (stored, most) = (entry.stored, self.limits.client_storage);
            let why = format!(
                "{stored} bytes are kept and {bytes} more would be above {most}: fetch results and \
                 delete them"
            );
            return Err(Refusal::new(Code::StorageFull, why));
        }
        if !entry.arriving.insert(name.clone()) {
            let why = format!("{name} is arriving in another request");
            return Err(Refusal::new(Code::TooManyRequests, why));
        }
        entry.arriving_jobs += usize::from(job);
        all.charge(client, cost);
        let number = all.next_number;
        all.next_number += 1;
        Ok(Reservation { board: self.clone(), client, name, cost, job, number })
    }

    /// Keys that are on disk now. The reservation goes after this.
    pub fn add_keys(&self, client: ClientId, record: KeyRecord) {
        let mut all = self.all();
        let cost = record.bytes.max(LEAST_COST);
        if all.client(client).keys.insert(record.keys, record).is_none() {
            all.charge(client, cost);
        }
    }

    /// A job that is on disk now. The reservation goes after this.
    pub fn add_job(&self, client: ClientId, ticket: Ticket) {
        self.all().enqueue(client, ticket);
        self.work.notify_one();
    }

    /// Forgets keys that no job waits for.
    pub fn remove_keys(&self, client: ClientId, keys: Hash) -> Result<(), Refusal> {
        let mut all = self.all();
        let entry = all.client(client);
        if entry.jobs.values().any(|job| job.ticket.keys == keys && !job.state.is_final()) {
            return Err(Refusal::new(Code::InUse, format!("jobs wait for the keys {keys}")));
        }
        match entry.keys.remove(&keys) {
            None => Err(Refusal::new(Code::UnknownKeys, format!("no keys {keys}"))),
            Some(record) => {
                all.refund(client, record.bytes.max(LEAST_COST));
                Ok(())
            }
        }
    }

    /// All keys of a client.
    pub fn key_list(&self, client: ClientId) -> Vec<KeyStatus> {
        let all = self.all();
        let keys = all.clients.get(&client).into_iter().flat_map(|c| c.keys.values());
        keys.map(|record| KeyStatus {
            keys: record.keys,
            bytes: record.bytes,
            params: record.params.clone(),
        })
        .collect()
    }

    /// What is known of a job.
    pub fn status(&self, client: ClientId, job: JobId) -> Result<Status, Refusal> {
        let all = self.all();
        let entry = all.clients.get(&client);
        let found = entry.and_then(|c| Some((c, c.jobs.get(&job)?)));
        found.map(|(client, job)| client.status(job)).ok_or_else(|| unknown(job))
    }

    /// All jobs of a client, in order of acceptance.
    pub fn job_list(&self, client: ClientId) -> Vec<Status> {
        let all = self.all();
        let Some(entry) = all.clients.get(&client) else { return vec![] };
        let mut jobs: Vec<&Job> = entry.jobs.values().collect();
        jobs.sort_by_key(|job| job.ticket.number);
        jobs.into_iter().map(|job| entry.status(job)).collect()
    }

    /// The ticket of a job that is there.
    pub fn ticket(&self, client: ClientId, job: JobId) -> Option<Ticket> {
        let all = self.all();
        all.clients.get(&client)?.jobs.get(&job).map(|job| job.ticket.clone())
    }

    /// Takes a job off the board.
    pub fn delete(&self, client: ClientId, id: JobId) -> Result<Deleted, Refusal> {
        let mut all = self.all();
        let entry = all.client(client);
        let Some(job) = entry.jobs.get(&id) else { return Err(unknown(id)) };
        if job.state == State::Running {
            job.cancelled.store(true, Ordering::Relaxed);
            return Ok(Deleted::Soon);
        }
        entry.waiting.retain(|waiting| *waiting != id);
        if entry.waiting.is_empty() {
            all.turns.retain(|turn| *turn != client);
        }
        all.drop_job(client, id);
        Ok(Deleted::Gone)
    }

    /// Waits for a job; clients take turns.
    pub fn take(&self) -> Taken {
        let mut all = self.all();
        loop {
            if let Some(taken) = all.take() {
                drop(all);
                let _ = self.moved.send(());
                return taken;
            }
            all = self.work.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How far a running job has come.
    pub fn report(&self, client: ClientId, job: JobId, stage: &str, done: usize, total: usize) {
        let mut all = self.all();
        if let Some(job) = all.client(client).jobs.get_mut(&job) {
            (job.stage, job.done, job.total) = (Some(stage.to_string()), done, total);
        }
    }

    /// A job whose outcome is on disk now, or that its client has deleted (`None`).
    pub fn end(&self, client: ClientId, id: JobId, outcome: Option<Outcome>) {
        let mut all = self.all();
        all.client(client).running -= 1;
        all.drop_job(client, id);
        if let Some(outcome) = outcome {
            all.insert(client, Job::ended(outcome));
        }
        drop(all);
        let _ = self.moved.send(());
    }
}

fn unknown(job: JobId) -> Refusal {
    Refusal::new(Code::UnknownJob, format!("no job {job}"))
}

impl All {
    fn client(&mut self, client: ClientId) -> &mut Client {
        self.clients.entry(client).or_default()
    }

    fn charge(&mut self, client: ClientId, cost: u64) {
        self.stored += cost;
        self.client(client).stored += cost;
    }

    fn refund(&mut self, client: ClientId, cost: u64) {
        self.stored -= cost;
        self.client(client).stored -= cost;
    }

    fn insert(&mut self, client: ClientId, job: Job) {
        self.charge(client, job.cost());
        self.client(client).jobs.insert(job.ticket.id, job);
    }

    fn enqueue(&mut self, client: ClientId, ticket: Ticket) {
        let id = ticket.id;
        self.insert(client, Job::new(ticket, State::Accepted));
        let entry = self.client(client);
        entry.waiting.push_back(id);
        if entry.waiting.len() == 1 {
            self.turns.push_back(client);
        }
    }

    fn drop_job(&mut self, client: ClientId, id: JobId) {
        if let Some(job) = self.client(client).jobs.remove(&id) {
            self.refund(client, job.cost());
        }
    }

    fn take(&mut self) -> Option<Taken> {
        while let Some(client) = self.turns.pop_front() {
            let entry = self.client(client);
            let Some(id) = entry.waiting.pop_front() else { continue };
            let again = !entry.waiting.is_empty();
            let job = entry.jobs.get_mut(&id).expect("what waits is on the board");
            job.state = State::Running;
            let (ticket, cancelled) = (job.ticket.clone(), job.cancelled.clone());
            let keys = entry.keys.get(&ticket.keys).cloned().expect("keys stay while jobs wait");
            entry.running += 1;
            if again {
                self.turns.push_back(client);
            }
            return Some(Taken { client, ticket, keys, cancelled });
        }
        None
    }
}

impl Client {
    fn status(&self, job: &Job) -> Status {
        let place = self.waiting.iter().position(|waiting| *waiting == job.ticket.id);
        Status {
            id: job.ticket.id,
            program: job.ticket.program.clone(),
            keys: job.ticket.keys,
            state: job.state,
            ahead: place.map_or(0, |place| place + self.running),
            stage: job.stage.clone(),
            done: job.done,
            total: job.total,
            refusal: job.refusal.clone(),
            result_bytes: job.result_bytes,
        }
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.jobs.is_empty() && self.arriving.is_empty()
    }
}

/// A request under way.
pub struct Request {
    board: Arc<Board>,
    client: ClientId,
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut all = self.board.all();
        let entry = all.client(self.client);
        entry.requests -= 1;
        if entry.requests == 0 && entry.is_empty() {
            all.clients.remove(&self.client);
        }
    }
}

/// Room that is held for what is arriving.
pub struct Reservation {
    board: Arc<Board>,
    client: ClientId,
    name: String,
    cost: u64,
    job: bool,
    /// The place of a job in the order of acceptance.
    pub number: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut all = self.board.all();
        all.refund(self.client, self.cost);
        let entry = all.client(self.client);
        entry.arriving.remove(&self.name);
        entry.arriving_jobs -= usize::from(self.job);
    }
}
