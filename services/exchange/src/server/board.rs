//! The scheduler: clients with their jobs and keys, and what each of them may have.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::limits::Limits;
pub use super::owners::Taken;
use super::owners::{All, Hold, Job, LEAST_COST, Name, Owner, full};
use super::store::{Change, Found, JobRecord, KeyRecord, OwnerRecord};
use crate::protocol::{ClientId, Code, Hash, JOBS_PAGE, JobId, KeyStatus, Refusal, State, Status};

/// The delay before a job is retried that the disk has refused. It doubles each time, this often.
const PAUSE: Duration = Duration::from_secs(2);
const LONGER: u32 = 2;

/// The time between two looks at delayed jobs.
const LOOK: Duration = Duration::from_millis(200);

/// The state of the server in memory. Everything essential is on disk as well.
pub struct Board {
    limits: Limits,
    /// The largest number of running jobs of a client, of clients without an invitation, and of
    /// running jobs altogether.
    cap: usize,
    guests: usize,
    workers: usize,
    state: Mutex<All>,
    /// Notified when a job is ready for a worker, or the server stops.
    work: Condvar,
    /// Notified when a job has changed.
    moved: watch::Sender<()>,
}

/// The state of a job that a client is about to upload.
pub enum Brought {
    /// Unknown: a place is reserved for it, and its keys are present and kept.
    New(Held, KeyRecord),
    /// Uploaded before.
    Again(JobRecord),
}

/// A job that is marked as deleted.
pub enum Deleted {
    /// The caller has it, and removes its files.
    Taken(Box<Taken>),
    /// Somebody else has the job of this number, and removes its files.
    Running(u64),
}

/// What a client is to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is kept for it.
    Unknown,
    /// Something is kept, without an invitation.
    Guest,
    /// The operator has invited it.
    Invited,
}

/// A client that was forgotten, with the changes of its records.
pub type Forgotten = (ClientId, Vec<Change>);

/// The counts of `/metrics`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Clients for whom something is kept.
    pub clients: usize,
    /// Jobs by state: waiting, running, ended.
    pub jobs: [usize; 3],
    /// Bytes that are kept.
    pub stored: u64,
}

/// A client, for its operator.
#[derive(Debug, serde::Serialize)]
pub struct OwnerStatus {
    client: ClientId,
    #[serde(flatten)]
    record: OwnerRecord,
    keys: usize,
    jobs: usize,
    stored_bytes: u64,
    idle_seconds: u64,
}

fn too_many(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::TooManyRequests, why)
}

fn unauthorised() -> Refusal {
    let why = "the server does not know this token: ask its operator for an invitation";
    Refusal::new(Code::Unauthorised, why)
}

fn unknown(job: JobId) -> Refusal {
    Refusal::new(Code::UnknownJob, format!("no job {job}"))
}

fn unknown_keys(keys: Hash) -> Refusal {
    Refusal::new(Code::UnknownKeys, format!("no keys {keys}: upload them first"))
}

impl Board {
    /// The scheduler with the state that an earlier server left.
    pub fn new(limits: Limits, workers: usize, guests: usize, found: Found) -> Self {
        let mut all = All::default();
        for (client, record) in found.owners {
            let owner = all.owner(client);
            (owner.network, owner.record) = (record.network, Some(record));
        }
        for (client, record) in found.keys {
            all.charge(client, record.bytes.max(LEAST_COST));
            let owner = all.owner(client);
            owner.record.get_or_insert_default();
            owner.keys.insert(record.keys, record);
        }
        for (client, record) in found.jobs {
            all.insert(client, record);
        }
        let cap = limits.running_jobs.unwrap_or(workers.saturating_sub(1)).max(1);
        let moved = watch::Sender::new(());
        let (state, work) = (Mutex::new(all), Condvar::new());
        Self { limits, cap, guests, workers, state, work, moved }
    }

    /// Notifies when any job has changed.
    pub fn news(&self) -> watch::Receiver<()> {
        self.moved.subscribe()
    }

    /// The counts at this time.
    pub fn counts(&self) -> Counts {
        let all = self.state.lock();
        let mut counts = Counts { stored: all.stored, ..Counts::default() };
        for owner in all.owners.values() {
            counts.clients += usize::from(owner.record.is_some());
            counts.jobs[0] += owner.waiting.len();
            counts.jobs[1] += owner.running;
            counts.jobs[2] += owner.jobs.len() - owner.waiting.len() - owner.running;
        }
        counts
    }

    /// Counts a request of a client from this network for the lifetime of the guard.
    pub fn enter(
        self: &Arc<Self>,
        client: ClientId,
        network: Option<IpAddr>,
    ) -> Result<(UnderWay, Standing), Refusal> {
        let mut all = self.state.lock();
        let record = all.owners.get(&client).and_then(|owner| owner.record.as_ref());
        let standing = match record {
            Some(record) if record.invited => Standing::Invited,
            Some(_) => Standing::Guest,
            None => Standing::Unknown,
        };
        let revoked = record.is_some_and(|record| record.revoked);
        if revoked || standing == Standing::Unknown && self.guests == 0 {
            return Err(unauthorised());
        }
        let owner = all.owner(client);
        if owner.requests >= self.limits.bounds.requests {
            return Err(too_many(format!("{} requests are in progress already", owner.requests)));
        }
        owner.requests += 1;
        owner.active = Instant::now();
        if standing == Standing::Unknown {
            owner.network = network;
        }
        Ok((UnderWay { board: self.clone(), client }, standing))
    }

    /// The record of keys.
    pub fn keys(&self, client: ClientId, keys: Hash) -> Result<KeyRecord, Refusal> {
        let all = self.state.lock();
        let owner = all.owners.get(&client);
        owner.and_then(|c| c.keys.get(&keys)).cloned().ok_or_else(|| unknown_keys(keys))
    }

    /// The record of a client, unless its token is refused by now.
    pub fn owner(&self, client: ClientId) -> Result<OwnerRecord, Refusal> {
        let all = self.state.lock();
        let record = all.owners.get(&client).and_then(|owner| owner.record.clone());
        record.filter(|record| !record.revoked).ok_or_else(unauthorised)
    }

    /// Whether a new client has a place. If another one must make room, it is returned with the
    /// changes of its records, and is forgotten here: a guest of the same address or of one with
    /// more guests, whose jobs have ended some time ago. The address with the most guests comes
    /// first, there those without jobs, then the one that was seen longest ago.
    pub fn admit(&self, client: ClientId) -> Result<Option<Forgotten>, Refusal> {
        let mut all = self.state.lock();
        let owner = all.owner(client);
        let network = owner.network;
        if owner.record.is_some() {
            return Ok(None);
        }
        let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for owner in all.owners.values().filter(|owner| owner.has_place()) {
            *counts.entry(owner.network).or_default() += 1;
        }
        let of = |network| counts.get(&network).copied().unwrap_or(0);
        let (own, taken) = (of(network), counts.values().sum::<usize>());
        let near = own >= self.limits.address_guests(self.guests);
        let mut gone = None;
        if near || taken >= self.guests {
            let grace = Duration::from_secs(self.limits.guest_seconds);
            let may_go = |owner: &Owner| {
                owner.is_idle_guest()
                    && (owner.jobs.is_empty() || owner.ended.elapsed() >= grace)
                    && (owner.network == network || !near && of(owner.network) > own)
            };
            let idle = all.owners.iter().filter(|(_, owner)| may_go(owner));
            let first = idle.min_by_key(|(_, owner)| {
                (Reverse(of(owner.network)), !owner.jobs.is_empty(), owner.active)
            });
            let Some((&first, _)) = first else {
                let why = format!(
                    "the server already serves {taken} clients without invitation, {own} of them \
                     from this address"
                );
                return Err(Refusal::new(Code::TooManyClients, why));
            };
            gone = Some((first, all.forget(first)));
        }
        all.owner(client).record = Some(OwnerRecord { network, ..OwnerRecord::default() });
        Ok(gone)
    }

    /// Clients without an invitation that were not seen for a long time; they are forgotten here.
    pub fn expire(&self) -> Vec<Forgotten> {
        let mut all = self.state.lock();
        let unused = all.owners.iter().filter(|(_, owner)| {
            let Limits { unused_seconds, answer_seconds, .. } = self.limits;
            let after = if owner.jobs.is_empty() { unused_seconds } else { answer_seconds };
            let seen = owner.active.max(owner.ended);
            owner.is_idle_guest() && seen.elapsed() >= Duration::from_secs(after)
        });
        let unused: Vec<ClientId> = unused.map(|(client, _)| *client).collect();
        unused.into_iter().map(|client| (client, all.forget(client))).collect()
    }

    /// Reserves a place for keys that are about to be uploaded, one set of a client at a time;
    /// `None` if they are there.
    pub fn expect_keys(
        self: &Arc<Self>,
        client: ClientId,
        keys: Hash,
        bytes: u64,
    ) -> Result<Option<Held>, Refusal> {
        let mut all = self.state.lock();
        let owner = all.owner(client);
        if owner.keys.contains_key(&keys) {
            return Ok(None);
        }
        if owner.held.iter().any(|held| matches!(held.name, Name::Keys(_))) {
            return Err(too_many("another request is uploading or removing keys"));
        }
        let kept = owner.keys.len();
        if kept >= self.limits.bounds.kept_keys {
            return Err(full(format!("{kept} key sets are stored, the most allowed: delete some")));
        }
        all.check_room(&self.limits, self.guests, client, bytes.max(LEAST_COST))?;
        let hold = Hold { name: Name::Keys(keys), keys: None };
        Ok(Some(self.hold(&mut all, client, hold, LEAST_COST)))
    }

    /// Reserves a place for a job that is about to be uploaded, or returns its record.
    pub fn expect_job(
        self: &Arc<Self>,
        client: ClientId,
        job: JobId,
        keys: Hash,
        bytes: u64,
    ) -> Result<Brought, Refusal> {
        let mut all = self.state.lock();
        let owner = all.owner(client);
        let busy = || too_many("another request is uploading or removing it");
        if let Some(known) = owner.jobs.get(&job) {
            return match known.cancelled.load(Ordering::Relaxed) {
                true => Err(busy()),
                false => Ok(Brought::Again(known.record.clone())),
            };
        }
        let record = owner.keys.get(&keys).cloned().ok_or_else(|| unknown_keys(keys))?;
        if owner.held.iter().any(|held| held.name == Name::Job(job)) {
            return Err(busy());
        }
        let arriving = owner.held.iter().filter(|held| held.keys.is_some()).count();
        let queued = owner.waiting.len() + owner.running + arriving;
        if queued >= self.limits.bounds.queued_jobs {
            let why = format!("{queued} jobs wait or run, the largest number allowed");
            return Err(Refusal::new(Code::QueueFull, why));
        }
        let kept = owner.jobs.len() + arriving;
        if kept >= self.limits.bounds.kept_jobs {
            return Err(full(format!("{kept} jobs are stored, the most allowed: delete some")));
        }
        all.check_room(&self.limits, self.guests, client, bytes.max(LEAST_COST))?;
        let hold = Hold { name: Name::Job(job), keys: Some(keys) };
        Ok(Brought::New(self.hold(&mut all, client, hold, LEAST_COST), record))
    }

    fn hold(self: &Arc<Self>, all: &mut All, client: ClientId, hold: Hold, cost: u64) -> Held {
        let (name, number) = (hold.name, all.next_number);
        all.next_number += 1;
        all.owner(client).held.push(hold);
        all.charge(client, cost);
        Held { board: self.clone(), client, name, cost, number }
    }

    /// Adds keys that are on disk now. The guard of their name is dropped after this.
    pub fn add_keys(&self, client: ClientId, record: KeyRecord) {
        let mut all = self.state.lock();
        let cost = record.bytes.max(LEAST_COST);
        if all.owner(client).keys.insert(record.keys, record).is_none() {
            all.charge(client, cost);
        }
    }

    /// Adds a job that is on disk now. The guard of its name is dropped after this.
    pub fn add_job(&self, client: ClientId, record: JobRecord) {
        self.state.lock().insert(client, record);
        self.work.notify_one();
    }

    /// Forgets keys that no job needs. Their name stays reserved until their file is removed, too.
    pub fn remove_keys(self: &Arc<Self>, client: ClientId, keys: Hash) -> Result<Held, Refusal> {
        let mut all = self.state.lock();
        let owner = all.owner(client);
        let open = owner.jobs.values().filter(|job| job.record.state == State::Accepted);
        let arriving = owner.held.iter().filter_map(|held| held.keys);
        if open.map(|job| job.record.keys).chain(arriving).any(|used| used == keys) {
            return Err(Refusal::new(Code::InUse, format!("jobs wait for the keys {keys}")));
        }
        let record = owner.keys.remove(&keys).ok_or_else(|| unknown_keys(keys))?;
        let cost = record.bytes.max(LEAST_COST);
        all.refund(client, cost);
        Ok(self.hold(&mut all, client, Hold { name: Name::Keys(keys), keys: None }, cost))
    }

    /// All keys of a client.
    pub fn key_list(&self, client: ClientId) -> Vec<KeyStatus> {
        let all = self.state.lock();
        let keys = all.owners.get(&client).into_iter().flat_map(|owner| owner.keys.values());
        keys.map(KeyRecord::status).collect()
    }

    /// The state of a job.
    pub fn status(&self, client: ClientId, job: JobId) -> Result<Status, Refusal> {
        let all = self.state.lock();
        let owner = all.owners.get(&client);
        let found = owner.and_then(|owner| Some((owner, owner.jobs.get(&job)?)));
        found.map(|(owner, job)| owner.status(job)).ok_or_else(|| unknown(job))
    }

    /// A page of the jobs of a client, in order of acceptance, after the named job.
    pub fn job_list(&self, client: ClientId, after: Option<JobId>) -> Result<Vec<Status>, Refusal> {
        let all = self.state.lock();
        let Some(owner) = all.owners.get(&client) else { return Ok(vec![]) };
        let number = |job: JobId| {
            owner.jobs.get(&job).map(|job| job.record.number).ok_or_else(|| unknown(job))
        };
        let after = after.map(number).transpose()?;
        let mut jobs: Vec<&Job> = owner.jobs.values().collect();
        jobs.retain(|job| Some(job.record.number) > after);
        jobs.sort_by_key(|job| job.record.number);
        Ok(jobs.into_iter().take(JOBS_PAGE).map(|job| owner.status(job)).collect())
    }

    /// Marks a job as deleted. Its name stays reserved until its files are removed.
    pub fn delete(&self, client: ClientId, id: JobId) -> Result<Deleted, Refusal> {
        let mut all = self.state.lock();
        let owner = all.owner(client);
        let job = owner.jobs.get_mut(&id).ok_or_else(|| unknown(id))?;
        job.cancelled.store(true, Ordering::Relaxed);
        if job.running {
            return Ok(Deleted::Running(job.record.number));
        }
        owner.waiting.retain(|waiting| *waiting != id);
        let taken = all.hand_out(client, id).map(|taken| Deleted::Taken(taken.into()));
        taken.ok_or_else(|| unknown(id))
    }

    /// Waits for a job; `None` when the server stops. The client with the fewest running jobs comes
    /// first, then the one that has waited longest; its cheapest job is taken.
    pub fn take(&self) -> Option<Taken> {
        let mut all = self.state.lock();
        loop {
            if all.stopping {
                return None;
            }
            if let Some(taken) = all.take(self.cap, self.workers) {
                drop(all);
                self.moved.send_replace(());
                return Some(taken);
            }
            self.work.wait_for(&mut all, LOOK);
        }
    }

    /// Hands out no more jobs.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.work.notify_all();
    }

    /// Delays a job that the disk has refused.
    pub fn put_back(&self, taken: Taken) {
        let (client, id) = (taken.client, taken.record.id);
        let mut all = self.state.lock();
        let owner = all.owner(client);
        owner.running -= 1;
        if let Some(job) = owner.jobs.get_mut(&id) {
            let pause = PAUSE * (1 << job.faults.min(LONGER));
            (job.running, job.stage, job.record) = (false, None, taken.record);
            (job.room, job.faults) = (taken.room, job.faults + 1);
            job.not_before = Some(Instant::now() + pause);
            owner.waiting.push(id);
        }
        drop(all);
        self.work.notify_one();
        self.moved.send_replace(());
    }

    /// Records the progress of a running job.
    pub fn report(&self, client: ClientId, job: JobId, stage: &str, done: usize, total: usize) {
        let mut all = self.state.lock();
        if let Some(job) = all.owner(client).jobs.get_mut(&job) {
            (job.stage, job.done, job.total) = (Some(stage.to_string()), done, total);
        }
    }

    /// Records a job whose outcome is on disk now. Returns `false` without a change if its client
    /// has deleted it meanwhile.
    pub fn end(&self, client: ClientId, record: JobRecord) -> bool {
        let (mut all, id) = (self.state.lock(), record.id);
        let owner = all.owner(client);
        if owner.jobs.get(&id).is_some_and(|job| job.cancelled.load(Ordering::Relaxed)) {
            return false;
        }
        owner.running -= 1;
        owner.ended = Instant::now();
        all.remove(client, id);
        all.insert(client, record);
        drop(all);
        self.work.notify_all();
        self.moved.send_replace(());
        true
    }

    /// Forgets a deleted job whose files are removed now.
    pub fn gone(&self, taken: &Taken) {
        let mut all = self.state.lock();
        all.owner(taken.client).running -= 1;
        all.remove(taken.client, taken.record.id);
        all.tidy(taken.client);
        drop(all);
        self.work.notify_all();
        self.moved.send_replace(());
    }

    /// All clients, for the operator.
    pub fn owners(&self) -> Vec<OwnerStatus> {
        let all = self.state.lock();
        let known = all.owners.iter().filter_map(|(client, owner)| {
            let (record, keys, jobs) = (owner.record.clone()?, owner.keys.len(), owner.jobs.len());
            let idle_seconds = owner.active.elapsed().as_secs();
            Some(OwnerStatus {
                client: *client,
                record,
                keys,
                jobs,
                stored_bytes: owner.stored,
                idle_seconds,
            })
        });
        let mut known: Vec<_> = known.collect();
        known.sort_by_key(|status| status.client);
        known
    }

    /// What is left of the storage beside the promises to clients; `None` if these exceed it.
    pub fn unpromised(&self) -> Option<u64> {
        let promised = self.state.lock().promised(None, |_, quota| quota);
        self.limits.storage.checked_sub(promised)
    }

    /// The storage that is neither promised to clients nor taken by what they store, all but one.
    pub fn left_beside(&self, except: Option<ClientId>) -> u64 {
        let all = self.state.lock();
        let others = all.owners.iter().filter(|(client, _)| Some(**client) != except);
        let parts = others.map(|(_, owner)| owner.promise().unwrap_or(0).max(owner.stored));
        self.limits.storage.saturating_sub(parts.fold(0, u64::saturating_add))
    }

    /// What is promised to a client.
    pub fn promise(&self, client: ClientId) -> Option<u64> {
        self.state.lock().owners.get(&client)?.promise()
    }

    /// Changes the record of a client; `None` if there is no such client.
    pub fn change_owner(
        &self,
        client: ClientId,
        invite: bool,
        change: impl FnOnce(&mut OwnerRecord),
    ) -> Option<OwnerRecord> {
        let mut all = self.state.lock();
        if !invite && all.owners.get(&client)?.record.is_none() {
            return None;
        }
        let record = all.owner(client).record.get_or_insert_default();
        change(record);
        Some(record.clone())
    }

    /// Forgets the keys and jobs of a client, unless it is busy: its jobs run or a request is in
    /// progress. The caller removes them from the disk.
    pub fn purge(&self, client: ClientId) -> Option<(Vec<Change>, bool)> {
        let mut all = self.state.lock();
        let owner = all.owners.get(&client)?;
        if owner.running > 0 || owner.requests > 0 || !owner.held.is_empty() {
            return None;
        }
        let record = owner.record.clone().filter(|record| record.invited || record.revoked);
        let (changes, stays) = (all.forget(client), record.is_some());
        if record.is_some() {
            all.owner(client).record = record;
        }
        Some((changes, stays))
    }
}

/// A request in progress.
pub struct UnderWay {
    board: Arc<Board>,
    client: ClientId,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut all = self.board.state.lock();
        all.owner(self.client).requests -= 1;
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
            let mut all = self.board.state.lock();
            all.check_room(&self.board.limits, self.board.guests, self.client, more)?;
            all.charge(self.client, more);
            self.cost += more;
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.board.state.lock();
        all.refund(self.client, self.cost);
        let held = &mut all.owner(self.client).held;
        if let Some(place) = held.iter().position(|hold| hold.name == self.name) {
            held.swap_remove(place);
        }
        all.tidy(self.client);
    }
}
