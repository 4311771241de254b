//! Whose upload is checked next: few at a time, and one of each kind at a time of a client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::protocol::ClientId;

/// Uploads that are checked at the same time: ciphertexts, keys of clients for whom something is
/// kept already, keys of others.
const PLACES: [usize; 3] = [2, 2, 1];

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Upload {
    /// The ciphertext of a job.
    Ciphertext,
    /// Keys of a client for whom something is kept already.
    KnownKeys,
    /// Keys of others, who do not delay those who are known.
    NewKeys,
}

/// Somebody with one check of each kind at a time: an invited client, or all others of a network,
/// who may be one with many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// Whoever has this token.
    Client(ClientId),
    /// Whoever comes from there.
    Network(Option<IpAddr>),
}

/// The places for checks. Parties take turns: each waits in the line of a place with one upload
/// alone, whatever number of them it has sent.
pub struct Checks {
    places: [Arc<Semaphore>; 3],
    turns: Mutex<HashMap<(Party, Upload), Arc<Semaphore>>>,
}

/// A check in progress.
pub struct Check {
    _turn: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Default for Checks {
    fn default() -> Self {
        Self { places: PLACES.map(|n| Arc::new(Semaphore::new(n))), turns: Mutex::default() }
    }
}

impl Checks {
    /// Waits for the turn of a party, then for a place.
    ///
    /// # Errors
    /// None: the places are never closed.
    pub async fn begin(&self, party: Party, upload: Upload) -> Result<Check, AcquireError> {
        let turn = {
            let mut turns = self.turns.lock();
            // Those of whom nothing is checked and nothing waits.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            turns.entry((party, upload)).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
        };
        let turn = turn.acquire_owned().await?;
        let place = self.places[upload as usize].clone().acquire_owned().await?;
        Ok(Check { _turn: turn, _place: place })
    }
}
