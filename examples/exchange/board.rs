//! The scheduler: the jobs and keys of all clients, and the resources of each client.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::job::{Job, LEAST_COST, Taken};
use super::limits::Limits;
use super::protocol::{ClientId, Code, Hash, JobId, KeyStatus, Refusal, State, Status};
use super::store::{Found, KeyRecord, Outcome, Ticket};

/// The largest number of jobs in a list.
const PAGE: usize = 256;

/// The delay before a job is retried that the disk has refused. It doubles each time, this often.
const PAUSE: Duration = Duration::from_secs(2);
const LONGER: u32 = 5;

/// The time between two checks of delayed jobs.
const LOOK: Duration = Duration::from_millis(200);

/// The state of the server in memory. Everything essential is on disk as well.
pub struct Board {
    limits: Limits,
    state: Mutex<All>,
    /// Notified when a job is ready for a worker.
    work: Condvar,
    /// Notified when a job has changed.
    moved: watch::Sender<()>,
}

#[derive(Default)]
struct All {
    clients: HashMap<ClientId, Client>,
    /// Clients with waiting jobs, each once: they take turns.
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
    held: Vec<Hold>,
    requests: usize,
    stored: u64,
}

/// The name of a job or of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Keys(Hash),
    Job(JobId),
}

/// A reserved name: somebody is uploading it, or its files are being removed.
struct Hold {
    name: Name,
    /// The keys of a job that is being uploaded. They are kept as long.
    keys: Option<Hash>,
}

/// The state of a job that a client is about to upload.
pub enum Brought {
    /// Unknown: a place is reserved for it, and its keys are present and kept.
    New(Held, KeyRecord),
    /// Uploaded before.
    Again(Ticket),
}

impl Board {
    /// The scheduler with the state that an earlier server left.
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
        // A panic elsewhere leaves entries intact: every change below is atomic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies when any job has changed.
    pub fn news(&self) -> watch::Receiver<()> {
        self.moved.subscribe()
    }

    /// The number of jobs that wait or run.
    pub fn open_jobs(&self) -> usize {
        self.all().clients.values().map(|c| c.waiting.len() + c.running).sum()
    }

    /// Counts a request of a client for the lifetime of the guard.
    pub fn enter(self: &Arc<Self>, client: ClientId) -> Result<UnderWay, Refusal> {
        let mut all = self.all();
        if !all.clients.contains_key(&client) && all.clients.len() >= self.limits.clients {
            let why = format!("the server already serves {} clients", self.limits.clients);
            return Err(Refusal::new(Code::TooManyClients, why));
        }
        let entry = all.client(client);
        if entry.requests >= self.limits.client_requests {
            let why = format!("{} requests are in progress already", entry.requests);
            return Err(Refusal::new(Code::TooManyRequests, why));
        }
        entry.requests += 1;
        Ok(UnderWay { board: self.clone(), client })
    }

    /// The record of keys.
    pub fn keys(&self, client: ClientId, keys: Hash) -> Result<KeyRecord, Refusal> {
        let all = self.all();
        let entry = all.clients.get(&client);
        entry.and_then(|c| c.keys.get(&keys)).cloned().ok_or_else(|| unknown_keys(keys))
    }

    /// Reserves a place for keys that are about to be uploaded.
    pub fn expect_keys(
        self: &Arc<Self>,
        client: ClientId,
        keys: Hash,
        bytes: u64,
    ) -> Result<Held, Refusal> {
        let mut all = self.all();
        let entry = all.client(client);
        entry.check_free(Name::Keys(keys))?;
        let arriving = entry.held.iter().filter(|held| matches!(held.name, Name::Keys(_))).count();
        let kept = entry.keys.len() + arriving;
        if kept >= self.limits.kept_keys {
            let why =
                format!("{kept} key sets are stored, the largest number allowed: delete some");
            return Err(Refusal::new(Code::StorageFull, why));
        }
        all.check_room(&self.limits, client, bytes.max(LEAST_COST))?;
        Ok(self.hold(&mut all, client, Hold { name: Name::Keys(keys), keys: None }, LEAST_COST))
    }

    /// Reserves a place for a job that is about to be uploaded, or returns its state.
    pub fn expect_job(
        self: &Arc<Self>,
        client: ClientId,
        job: JobId,
        keys: Hash,
        bytes: u64,
    ) -> Result<Brought, Refusal> {
        let mut all = self.all();
        let entry = all.client(client);
        if let Some(known) = entry.jobs.get(&job) {
            return match known.is_cancelled() {
                true => Err(being_removed()),
                false => Ok(Brought::Again(known.ticket.clone())),
            };
        }
        let record = entry.keys.get(&keys).cloned().ok_or_else(|| unknown_keys(keys))?;
        entry.check_free(Name::Job(job))?;
        entry.check_places(&self.limits)?;
        all.check_room(&self.limits, client, bytes.max(LEAST_COST))?;
        let hold = Hold { name: Name::Job(job), keys: Some(keys) };
        Ok(Brought::New(self.hold(&mut all, client, hold, LEAST_COST), record))
    }

    fn hold(self: &Arc<Self>, all: &mut All, client: ClientId, hold: Hold, cost: u64) -> Held {
        let (name, number) = (hold.name, all.next_number);
        all.next_number += 1;
        all.client(client).held.push(hold);
        all.charge(client, cost);
        Held { board: self.clone(), client, name, cost, number }
    }

    /// Adds keys that are on disk now. The guard of their name is dropped after this.
    pub fn add_keys(&self, client: ClientId, record: KeyRecord) {
        let mut all = self.all();
        let cost = record.bytes.max(LEAST_COST);
        if all.client(client).keys.insert(record.keys, record).is_none() {
            all.charge(client, cost);
        }
    }

    /// Adds a job that is on disk now. The guard of its name is dropped after this.
    pub fn add_job(&self, client: ClientId, ticket: Ticket) {
        self.all().enqueue(client, ticket);
        self.work.notify_one();
    }

    /// Forgets keys that no job needs. Their name stays reserved until their file is removed, too.
    pub fn remove_keys(self: &Arc<Self>, client: ClientId, keys: Hash) -> Result<Held, Refusal> {
        let mut all = self.all();
        let entry = all.client(client);
        let open = entry.jobs.values().filter(|job| !job.state.is_final());
        let arriving = entry.held.iter().filter_map(|held| held.keys);
        if open.map(|job| job.ticket.keys).chain(arriving).any(|used| used == keys) {
            return Err(Refusal::new(Code::InUse, format!("jobs wait for the keys {keys}")));
        }
        let record = entry.keys.remove(&keys).ok_or_else(|| unknown_keys(keys))?;
        let cost = record.bytes.max(LEAST_COST);
        all.refund(client, cost);
        Ok(self.hold(&mut all, client, Hold { name: Name::Keys(keys), keys: None }, cost))
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

    /// The state of a job.
    pub fn status(&self, client: ClientId, job: JobId) -> Result<Status, Refusal> {
        let all = self.all();
        let entry = all.clients.get(&client);
        let found = entry.and_then(|c| Some((c, c.jobs.get(&job)?)));
        found.map(|(client, job)| client.status(job)).ok_or_else(|| unknown(job))
    }

    /// A page of the jobs of a client, in order of acceptance, after the named job.
    pub fn job_list(&self, client: ClientId, after: Option<JobId>) -> Result<Vec<Status>, Refusal> {
        let all = self.all();
        let Some(entry) = all.clients.get(&client) else { return Ok(vec![]) };
        let after = match after {
            Some(job) => Some(entry.jobs.get(&job).ok_or_else(|| unknown(job))?.ticket.number),
            None => None,
        };
        let mut jobs: Vec<&Job> = entry.jobs.values().collect();
        jobs.retain(|job| Some(job.ticket.number) > after);
        jobs.sort_by_key(|job| job.ticket.number);
        Ok(jobs.into_iter().take(PAGE).map(|job| entry.status(job)).collect())
    }

    /// Marks a job as deleted. Its name stays reserved until its files are removed. The caller gets
    /// the job to remove them; if a worker has the job, the caller gets nothing and the worker
    /// removes them.
    pub fn delete(&self, client: ClientId, id: JobId) -> Result<Option<Taken>, Refusal> {
        let mut all = self.all();
        let entry = all.client(client);
        let Some(job) = entry.jobs.get(&id) else { return Err(unknown(id)) };
        job.cancelled.store(true, Ordering::Relaxed);
        if job.state == State::Running {
            return Ok(None);
        }
        entry.waiting.retain(|waiting| *waiting != id);
        if entry.waiting.is_empty() {
            all.turns.retain(|turn| *turn != client);
        }
        Ok(all.hand_out(client, id))
    }

    /// Waits for a job. Clients take turns.
    pub fn take(&self) -> Taken {
        let mut all = self.all();
        loop {
            if let Some(taken) = all.take(Instant::now()) {
                drop(all);
                let _ = self.moved.send(());
                return taken;
            }
            all = match all.turns.is_empty() {
                true => self.work.wait(all).unwrap_or_else(PoisonError::into_inner),
                false => {
                    let waited = self.work.wait_timeout(all, LOOK);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Delays a job that the disk has refused, behind the other jobs of its client.
    pub fn put_back(&self, taken: Taken) {
        let (client, id) = (taken.client, taken.ticket.id);
        let mut all = self.all();
        let entry = all.client(client);
        entry.running -= 1;
        if let Some(job) = entry.jobs.get_mut(&id) {
            let pause = PAUSE * (1 << job.faults.min(LONGER));
            (job.state, job.stage, job.tries) = (State::Accepted, None, taken.tries);
            (job.faults, job.not_before) = (job.faults + 1, Some(Instant::now() + pause));
            all.line_up(client, id);
        }
        drop(all);
        self.work.notify_one();
        let _ = self.moved.send(());
    }

    /// Records the progress of a running job.
    pub fn report(&self, client: ClientId, job: JobId, stage: &str, done: usize, total: usize) {
        let mut all = self.all();
        if let Some(job) = all.client(client).jobs.get_mut(&job) {
            (job.stage, job.done, job.total) = (Some(stage.to_string()), done, total);
        }
    }

    /// Records a job whose outcome is on disk now. Returns `false` without a change if its client
    /// has deleted it meanwhile.
    pub fn end(&self, client: ClientId, outcome: Outcome) -> bool {
        let (mut all, id) = (self.all(), outcome.ticket.id);
        let entry = all.client(client);
        if entry.jobs.get(&id).is_some_and(Job::is_cancelled) {
            return false;
        }
        entry.running -= 1;
        all.remove(client, id);
        all.insert(client, Job::ended(outcome));
        drop(all);
        let _ = self.moved.send(());
        true
    }

    /// Forgets a deleted job whose files are removed now.
    pub fn gone(&self, taken: &Taken) {
        let mut all = self.all();
        all.client(taken.client).running -= 1;
        all.remove(taken.client, taken.ticket.id);
        all.tidy(taken.client);
        drop(all);
        let _ = self.moved.send(());
    }
}

fn being_removed() -> Refusal {
    Refusal::new(Code::TooManyRequests, "another request is uploading or removing it")
}

fn unknown(job: JobId) -> Refusal {
    Refusal::new(Code::UnknownJob, format!("no job {job}"))
}

fn unknown_keys(keys: Hash) -> Refusal {
    Refusal::new(Code::UnknownKeys, format!("no keys {keys}: upload them first"))
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
        self.line_up(client, id);
    }

    /// Queues a job behind the others of its client.
    fn line_up(&mut self, client: ClientId, id: JobId) {
        let entry = self.client(client);
        entry.waiting.push_back(id);
        if entry.waiting.len() == 1 {
            self.turns.push_back(client);
        }
    }

    /// Removes a job with its cost.
    fn remove(&mut self, client: ClientId, id: JobId) -> Option<Job> {
        let job = self.client(client).jobs.remove(&id)?;
        self.refund(client, job.cost());
        Some(job)
    }

    /// Refuses a size that exceeds the remaining storage.
    fn check_room(&self, limits: &Limits, client: ClientId, bytes: u64) -> Result<(), Refusal> {
        if self.stored.saturating_add(bytes) > limits.storage {
            return Err(Refusal::new(Code::StorageFull, "the server's storage is full"));
        }
        let stored = self.clients.get(&client).map_or(0, |entry| entry.stored);
        if stored.saturating_add(bytes) > limits.client_storage {
            let most = limits.client_storage;
            let why = format!(
                "{stored} bytes are stored, and {bytes} more would exceed {most}: fetch results \
                 and delete them"
            );
            return Err(Refusal::new(Code::StorageFull, why));
        }
        Ok(())
    }

    /// Forgets a client without jobs and keys.
    fn tidy(&mut self, client: ClientId) {
        if self.clients.get(&client).is_some_and(Client::is_empty) {
            self.clients.remove(&client);
        }
    }

    /// The first due job of the client whose turn it is, or of the next client that has one.
    fn take(&mut self, now: Instant) -> Option<Taken> {
        for _ in 0..self.turns.len() {
            let client = self.turns.pop_front()?;
            let Client { waiting, jobs, .. } = self.client(client);
            let ready = |id: &JobId| {
                jobs.get(id).is_some_and(|job| job.not_before.is_none_or(|t| t <= now))
            };
            let id = waiting.iter().position(ready).and_then(|place| waiting.remove(place));
            if !waiting.is_empty() {
                self.turns.push_back(client);
            }
            if let Some(taken) = id.and_then(|id| self.hand_out(client, id)) {
                return Some(taken);
            }
        }
        None
    }

    /// Takes a job out of the queue.
    fn hand_out(&mut self, client: ClientId, id: JobId) -> Option<Taken> {
        // Its cost may change.
        let before = self.remove(client, id)?;
        let job = Job { state: State::Running, refusal: None, result_bytes: None, ..before };
        let (ticket, cancelled, tries) = (job.ticket.clone(), job.cancelled.clone(), job.tries);
        self.insert(client, job);
        let entry = self.client(client);
        entry.running += 1;
        let keys = entry.keys.get(&ticket.keys).cloned();
        Some(Taken { client, ticket, keys, cancelled, tries })
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

    /// Refuses a reserved name.
    fn check_free(&self, name: Name) -> Result<(), Refusal> {
        if self.held.iter().any(|held| held.name == name) {
            return Err(being_removed());
        }
        Ok(())
    }

    /// Refuses a job beyond the limits.
    fn check_places(&self, limits: &Limits) -> Result<(), Refusal> {
        let arriving = self.held.iter().filter(|held| held.keys.is_some()).count();
        let queued = self.waiting.len() + self.running + arriving;
        if queued >= limits.queued_jobs {
            let why = format!("{queued} jobs wait or run, the largest number allowed");
            return Err(Refusal::new(Code::QueueFull, why));
        }
        let kept = self.jobs.len() + arriving;
        if kept >= limits.kept_jobs {
            let why = format!(
                "{kept} jobs are stored, the largest number allowed: fetch and delete some"
            );
            return Err(Refusal::new(Code::StorageFull, why));
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        let nothing = self.keys.is_empty() && self.jobs.is_empty() && self.held.is_empty();
        nothing && self.requests == 0
    }
}

/// A request in progress.
pub struct UnderWay {
    board: Arc<Board>,
    pub client: ClientId,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut all = self.board.all();
        all.client(self.client).requests -= 1;
        all.tidy(self.client);
    }
}

/// A reserved name, with the storage cost of its files.
pub struct Held {
    board: Arc<Board>,
    client: ClientId,
    name: Name,
    cost: u64,
    /// The position of a job in the order of acceptance.
    pub number: u64,
}

impl Held {
    /// Counts the storage of the bytes received so far.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Refusal> {
        let more = bytes.saturating_sub(self.cost);
        if more > 0 {
            let mut all = self.board.all();
            all.check_room(&self.board.limits, self.client, more)?;
            all.charge(self.client, more);
            self.cost += more;
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.board.all();
        all.refund(self.client, self.cost);
        let held = &mut all.client(self.client).held;
        if let Some(place) = held.iter().position(|hold| hold.name == self.name) {
            held.swap_remove(place);
        }
        all.tidy(self.client);
    }
}
