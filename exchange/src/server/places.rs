//! Places for connections: who gets one, and who makes room.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use crate::protocol::ClientId;

/// A connection.
pub struct Connection {
    /// The other side.
    pub address: IpAddr,
    since: Instant,
    /// Requests in progress.
    busy: AtomicUsize,
    /// The client, once it is one for whom something is kept.
    known: Mutex<Option<ClientId>>,
    /// Notified when it must make room for others.
    pub end: Notify,
}

impl Connection {
    fn known(&self) -> Option<ClientId> {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The places for connections. When they are taken, a connection of nobody known makes room: the
/// one without a request that has been silent longest, then the oldest one. Clients for whom
/// something is kept keep theirs, a few each.
pub struct Places {
    total: usize,
    per_address: usize,
    per_client: usize,
    taken: Mutex<Vec<Arc<Connection>>>,
}

impl Places {
    /// Places for so many connections: in total, of an address, and of a known client.
    pub fn new(total: usize, per_address: usize, per_client: usize) -> Self {
        Self { total, per_address, per_client, taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.taken().is_empty()
    }

    /// A place for a new connection, and whether another one was closed for it; `None` if all are
    /// taken by known clients.
    pub fn admit(&self, address: IpAddr) -> Option<(Arc<Connection>, bool)> {
        let mut taken = self.taken();
        let same = taken.iter().filter(|c| c.address == address).count() >= self.per_address;
        let displaces = same || taken.len() >= self.total;
        if displaces {
            let candidates = taken
                .iter()
                .enumerate()
                .filter(|(_, c)| c.known().is_none() && (!same || c.address == address));
            let order =
                |(_, c): &(usize, &Arc<Connection>)| (c.busy.load(Ordering::Relaxed) > 0, c.since);
            let (place, _) = candidates.min_by_key(order)?;
            taken.swap_remove(place).end.notify_one();
        }
        let (since, busy) = (Instant::now(), AtomicUsize::new(0));
        let (known, end) = (Mutex::new(None), Notify::new());
        let connection = Arc::new(Connection { address, since, busy, known, end });
        taken.push(connection.clone());
        Some((connection, displaces))
    }

    /// Records the client of a connection. Returns `false` if it has its share of connections.
    pub fn know(&self, connection: &Connection, client: ClientId) -> bool {
        let taken = self.taken();
        let own = taken.iter().filter(|c| c.known() == Some(client)).count();
        let mut known = connection.known.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != Some(client) {
            *known = (own < self.per_client).then_some(client);
        }
        known.is_some()
    }

    /// Gives the place of a connection back.
    pub fn leave(&self, connection: &Arc<Connection>) {
        self.taken().retain(|c| !Arc::ptr_eq(c, connection));
    }
}

/// A request in progress on a connection.
pub struct Busy(Arc<Connection>);

impl Busy {
    /// Counts a request until it is dropped.
    pub fn begin(connection: Arc<Connection>) -> Self {
        connection.busy.fetch_add(1, Ordering::Relaxed);
        Self(connection)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
