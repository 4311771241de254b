//! Clients in memory: their keys, jobs, reserved names and storage, and whose turn it is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::limits::Limits;
use super::store::{Change, JobRecord, KeyRecord, OwnerRecord, job_change, key_change};
use crate::protocol::{ClientId, Code, Hash, JobId, KeyStatus, Refusal, State, Status};

/// The minimum cost of a file, which bounds the number of small ones.
pub const LEAST_COST: u64 = 4096;

/// All clients.
#[derive(Default)]
pub struct All {
    pub owners: HashMap<ClientId, Owner>,
    pub stored: u64,
    pub next_number: u64,
    /// Counts the jobs handed out, to serve the client that has waited longest.
    pub turn: u64,
    pub stopping: bool,
}

/// A client.
pub struct Owner {
    /// `None` as long as nothing is kept for it.
    pub record: Option<OwnerRecord>,
    pub keys: HashMap<Hash, KeyRecord>,
    pub jobs: HashMap<JobId, Job>,
    pub waiting: Vec<JobId>,
    pub running: usize,
    pub held: Vec<Hold>,
    pub requests: usize,
    pub stored: u64,
    /// When a job of it was taken last, as a turn; when it was seen last; when a job ended last.
    pub turn: u64,
    pub active: Instant,
    pub ended: Instant,
    /// Where it comes from, as long as it is no more than a guest.
    pub network: Option<IpAddr>,
}

/// A job with its progress.
pub struct Job {
    pub record: JobRecord,
    pub running: bool,
    pub stage: Option<String>,
    pub done: usize,
    pub total: usize,
    pub cancelled: Arc<AtomicBool>,
    pub faults: u32,
    /// Bytes of its answer that the disk has refused.
    pub room: u64,
    pub not_before: Option<Instant>,
}

/// The name of a job or of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    Keys(Hash),
    Job(JobId),
}

/// A reserved name: somebody is uploading it, or its files are being removed.
pub struct Hold {
    pub name: Name,
    /// The keys of a job that is being uploaded. They are kept as long.
    pub keys: Option<Hash>,
}

/// A job in the hands of a worker, or of the client that deletes it.
pub struct Taken {
    /// The client.
    pub client: ClientId,
    /// The job.
    pub record: JobRecord,
    /// `None` if the disk has lost them.
    pub keys: Option<KeyRecord>,
    /// Whether the client has deleted it.
    pub cancelled: Arc<AtomicBool>,
    /// Bytes of its answer that the disk has refused.
    pub room: u64,
}

/// The refusal of more than may be kept.
pub fn full(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::StorageFull, why)
}

impl KeyRecord {
    /// The record as the client sees it.
    pub fn status(&self) -> KeyStatus {
        KeyStatus { keys: self.keys, bytes: self.bytes, params: self.params.clone() }
    }
}

impl All {
    pub fn owner(&mut self, client: ClientId) -> &mut Owner {
        self.owners.entry(client).or_insert_with(|| Owner {
            record: None,
            keys: HashMap::new(),
            jobs: HashMap::new(),
            waiting: vec![],
            running: 0,
            held: vec![],
            requests: 0,
            stored: 0,
            turn: 0,
            active: Instant::now(),
            ended: Instant::now(),
            network: None,
        })
    }

    pub fn charge(&mut self, client: ClientId, cost: u64) {
        self.stored += cost;
        self.owner(client).stored += cost;
    }

    pub fn refund(&mut self, client: ClientId, cost: u64) {
        self.stored -= cost;
        self.owner(client).stored -= cost;
    }

    pub fn insert(&mut self, client: ClientId, record: JobRecord) {
        self.next_number = self.next_number.max(record.number + 1);
        self.charge(client, cost(&record));
        let owner = self.owner(client);
        owner.record.get_or_insert_default();
        if record.state == State::Accepted {
            owner.waiting.push(record.id);
        }
        let (stage, cancelled, not_before) = (None, Arc::default(), None);
        let (running, done, total, faults, room) = (false, 0, 0, 0, 0);
        let job = Job { record, running, stage, done, total, cancelled, faults, room, not_before };
        owner.jobs.insert(job.record.id, job);
    }

    /// Removes a job with its cost.
    pub fn remove(&mut self, client: ClientId, id: JobId) {
        if let Some(job) = self.owner(client).jobs.remove(&id) {
            self.refund(client, cost(&job.record));
        }
    }

    /// Refuses a size that exceeds the remaining storage: that of the client, of all, and of the
    /// guests, together and of one network.
    pub fn check_room(
        &self,
        limits: &Limits,
        guests: usize,
        client: ClientId,
        bytes: u64,
    ) -> Result<(), Refusal> {
        let Some(owner) = self.owners.get(&client) else { return Ok(()) };
        let record = owner.record.as_ref();
        let most = record.and_then(|record| record.quota).unwrap_or(limits.bounds.stored_bytes);
        if owner.stored.saturating_add(bytes) > most {
            let stored = owner.stored;
            return Err(full(format!(
                "{stored} bytes are stored, and {bytes} more would exceed {most}: fetch results \
                 and delete them"
            )));
        }
        // What is promised to others stays free.
        let free = record.is_none_or(|record| record.quota.is_none());
        let unused = |owner: &Owner, quota: u64| quota.saturating_sub(owner.stored);
        let kept = if free { self.promised(Some(client), unused) } else { 0 };
        let exceeds = |stored: u64, most| stored.saturating_add(bytes) > most;
        if exceeds(self.stored.saturating_add(kept), limits.storage) {
            return Err(full("the server's storage is full"));
        }
        if owner.is_guest() && free {
            let [most, share] = limits.guest_bytes(guests);
            let others = || self.owners.values().filter(|o| o.is_guest());
            let near = others().filter(|o| o.network == owner.network).map(|o| o.stored).sum();
            if exceeds(others().map(|o| o.stored).sum(), most) || exceeds(near, share) {
                return Err(full("the storage for clients without invitation is full"));
            }
        }
        Ok(())
    }

    /// The sum over a part of what is promised to all clients but one.
    pub fn promised(&self, except: Option<ClientId>, part: impl Fn(&Owner, u64) -> u64) -> u64 {
        let others = self.owners.iter().filter(|(client, _)| Some(**client) != except);
        let parts = others.filter_map(|(_, owner)| Some(part(owner, owner.promise()?)));
        parts.fold(0, u64::saturating_add)
    }

    /// Forgets a client of whom nothing is left.
    pub fn tidy(&mut self, client: ClientId) {
        let unused = |owner: &Owner| owner.record.is_none() && owner.is_empty();
        if self.owners.get(&client).is_some_and(unused) {
            self.owners.remove(&client);
        }
    }

    /// Forgets a client; returns the changes of its records.
    pub fn forget(&mut self, client: ClientId) -> Vec<Change> {
        let Some(owner) = self.owners.remove(&client) else { return vec![] };
        self.stored -= owner.stored;
        let keys = owner.keys.keys().map(|keys| key_change(client, *keys, None));
        keys.chain(owner.jobs.keys().map(|job| job_change(client, *job, None))).collect()
    }

    /// The next job for one of the workers, at most `cap` of a client. Guests leave a worker for
    /// those who are invited, if there are any. Jobs of revoked clients wait for their removal.
    pub fn take(&mut self, cap: usize, workers: usize) -> Option<Taken> {
        let now = Instant::now();
        let shared = workers > 1 && self.owners.values().any(Owner::is_invited);
        let guests = self.owners.values().filter(|owner| !owner.is_invited());
        let guests: usize = guests.map(|owner| owner.running).sum();
        let full = shared && guests + 1 >= workers;
        let due = |owner: &Owner| {
            let jobs = owner.waiting.iter().filter_map(|id| owner.jobs.get(id));
            let jobs = jobs.filter(|job| job.not_before.is_none_or(|t| t <= now));
            let first = jobs.min_by_key(|job| (job.record.work, job.record.number));
            first.map(|job| (job.record.id, job.record.number)).filter(|_| owner.running < cap)
        };
        let open = self.owners.iter().filter(|(_, owner)| !owner.is_revoked());
        let served = open.filter(|(_, owner)| !full || owner.is_invited());
        let ready = served.filter_map(|(client, owner)| {
            due(owner).map(|(id, number)| ((owner.running, owner.turn, number), *client, id))
        });
        let (_, client, id) = ready.min_by_key(|(key, ..)| *key)?;
        self.turn += 1;
        let turn = self.turn;
        let owner = self.owner(client);
        owner.turn = turn;
        owner.waiting.retain(|waiting| *waiting != id);
        self.hand_out(client, id)
    }

    /// Marks a job as taken.
    pub fn hand_out(&mut self, client: ClientId, id: JobId) -> Option<Taken> {
        let owner = self.owner(client);
        let job = owner.jobs.get_mut(&id)?;
        job.running = true;
        owner.running += 1;
        let (record, cancelled) = (job.record.clone(), job.cancelled.clone());
        let keys = owner.keys.get(&record.keys).cloned();
        Some(Taken { client, record, keys, cancelled, room: job.room })
    }
}

/// The storage cost of a job.
fn cost(record: &JobRecord) -> u64 {
    let bytes = match record.state {
        State::Accepted | State::Running => record.bytes,
        State::Done | State::Refused => record.answer.map_or(0, |(bytes, _)| bytes),
    };
    bytes.max(LEAST_COST)
}

impl Owner {
    pub fn status(&self, job: &Job) -> Status {
        let record = &job.record;
        let order = |id: &JobId| self.jobs.get(id).map(|job| (job.record.work, job.record.number));
        let own = Some((record.work, record.number));
        let before = self.waiting.iter().filter(|id| order(id) < own).count();
        let waits = record.state == State::Accepted && !job.running;
        Status {
            id: record.id,
            program: record.program.clone(),
            keys: record.keys,
            state: if job.running { State::Running } else { record.state },
            ahead: if waits { before + self.running } else { 0 },
            stage: job.stage.clone(),
            done: job.done,
            total: job.total,
            refusal: record.refusal.clone(),
            result_bytes: record.answer.map(|(bytes, _)| bytes),
        }
    }

    /// Whether the operator has invited it, and its token is not refused.
    fn is_invited(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.invited && !record.revoked)
    }

    /// Whether its token is refused.
    fn is_revoked(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.revoked)
    }

    /// The storage that stays free for it. Nothing is promised to those who are refused.
    pub fn promise(&self) -> Option<u64> {
        self.record.as_ref().filter(|record| !record.revoked)?.quota
    }

    /// Whether it has no invitation, and is not refused.
    pub fn is_guest(&self) -> bool {
        self.record.as_ref().is_none_or(OwnerRecord::is_guest)
    }

    pub fn is_empty(&self) -> bool {
        let nothing = self.keys.is_empty() && self.jobs.is_empty() && self.held.is_empty();
        nothing && self.requests == 0
    }

    /// Whether it is a guest with a place, without open jobs and requests.
    pub fn is_idle_guest(&self) -> bool {
        let busy = self.running + self.waiting.len() + self.requests + self.held.len() > 0;
        !busy && self.has_place()
    }

    /// Whether it has one of the places of guests.
    pub fn has_place(&self) -> bool {
        self.record.as_ref().is_some_and(OwnerRecord::is_guest)
    }
}
