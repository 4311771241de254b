//! Places for connections: who gets one, and who makes room.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::protocol::ClientId;

/// A connection.
pub struct Connection {
    since: Instant,
    /// Requests in progress.
    busy: AtomicUsize,
    /// What counts as one address.
    pub network: IpAddr,
    /// The client, once it is one for whom something is kept, and whether it is invited.
    known: Mutex<Option<(ClientId, bool)>>,
    /// Notified when it must make room for others.
    pub end: Notify,
}

impl Connection {
    fn known(&self) -> Option<(ClientId, bool)> {
        *self.known.lock()
    }
}

/// What counts as one address: of IPv6 the first 64 bits, since whoever has one address there has
/// the others of its network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

/// The places for connections. When they are taken, in total or by an address, a connection of
/// somebody without an invitation makes room: those of nobody known first, of them those of the
/// address with the most connections, then those without a request, then the oldest one. So the
/// first upload of somebody with one connection outlasts many connections of others. Invited
/// clients keep theirs, a few each.
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

    /// A place for a new connection, and whether another one was closed for it; `None` if all are
    /// taken by invited clients.
    pub fn admit(&self, address: IpAddr) -> Option<(Arc<Connection>, bool)> {
        let mut taken = self.taken.lock();
        let network = network(address);
        let same = taken.iter().filter(|c| c.network == network).count() >= self.per_address;
        let displaces = same || taken.len() >= self.total;
        if displaces {
            let mut counts: HashMap<IpAddr, usize> = HashMap::new();
            taken.iter().for_each(|c| *counts.entry(c.network).or_default() += 1);
            let near = taken.iter().enumerate().filter(|(_, c)| !same || c.network == network);
            let candidates = near.filter_map(|(place, c)| {
                let known = c.known();
                let busy = c.busy.load(Ordering::Relaxed) > 0;
                let invited = known.is_some_and(|(_, invited)| invited);
                let key = (known.is_some(), Reverse(counts[&c.network]), busy, c.since);
                (!invited).then_some((key, place))
            });
            let (_, place) = candidates.min()?;
            taken.swap_remove(place).end.notify_one();
        }
        let (since, busy) = (Instant::now(), AtomicUsize::new(0));
        let (known, end) = (Mutex::new(None), Notify::new());
        let connection = Arc::new(Connection { network, since, busy, known, end });
        taken.push(connection.clone());
        Some((connection, displaces))
    }

    /// Records the client of a connection. Returns `false` if it has its share of connections.
    pub fn know(&self, connection: &Connection, client: ClientId, invited: bool) -> bool {
        let taken = self.taken.lock();
        let is_own = |known: Option<(ClientId, bool)>| known.is_some_and(|(of, _)| of == client);
        let own = taken.iter().filter(|c| is_own(c.known())).count();
        let mut known = connection.known.lock();
        if is_own(*known) || own < self.per_client {
            *known = Some((client, invited));
        } else {
            *known = None;
        }
        known.is_some()
    }
}

/// A place that is given back on drop, whatever ends the connection.
pub struct Place(pub Arc<Places>, pub Arc<Connection>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.lock().retain(|c| !Arc::ptr_eq(c, &self.1));
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
