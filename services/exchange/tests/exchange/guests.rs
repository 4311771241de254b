//! Clients without an invitation: what they may have together and by address, and who gives way.

use std::fs;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bellerophon_exchange::protocol::{ClientId, Code, Hex, Refusal, State};
use bellerophon_exchange::server::board::{Board, Held};
use bellerophon_exchange::server::checks::{Checks, Party, Upload};
use bellerophon_exchange::server::places::{Busy, Connection, Places};
use bellerophon_exchange::server::store::{Found, JobRecord};

use super::parts::{board, client, code, keys, limits, record};
use super::requests::{Peer, serving};

fn address(n: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, n])
}

/// A board with places for four guests.
fn four(flags: &[&str]) -> Arc<Board> {
    Arc::new(Board::new(limits(flags), 2, 4, Found::default()))
}

/// Admits a guest from an address; returns who makes room.
fn admit(board: &Arc<Board>, n: u8, from: u8) -> Result<Option<ClientId>, Code> {
    let _entered = board.enter(client(n), Some(address(from))).map_err(|refusal| refusal.code)?;
    let gone = board.admit(client(n)).map_err(|refusal| refusal.code)?;
    Ok(gone.map(|(gone, _)| gone))
}

fn ended(n: u8) -> JobRecord {
    JobRecord { state: State::Done, ..record(n, 1) }
}

/// Guests with one finished job each filled all places for a week.
#[test]
fn found_1_guests_with_ended_jobs_give_way_by_address() {
    let board = four(&["--guest-seconds", "0"]);
    assert_eq!([admit(&board, 1, 1), admit(&board, 2, 1)], [Ok(None), Ok(None)]);
    board.add_job(client(1), ended(1));
    // Half of the places is for one address: its own make room, those without jobs first.
    assert_eq!(admit(&board, 3, 1), Ok(Some(client(2))));
    assert_eq!([admit(&board, 4, 2), admit(&board, 5, 3)], [Ok(None), Ok(None)]);
    // All are taken: the address with the most guests makes room, and then nobody for one that
    // has as many.
    board.add_job(client(3), ended(3));
    assert_eq!(admit(&board, 6, 4), Ok(Some(client(1))), "seen longest ago");
    assert_eq!(admit(&board, 7, 2), Ok(Some(client(4))), "its own");
    // Open jobs keep a place.
    [3, 5, 6, 7].iter().for_each(|n| board.add_job(client(*n), record(20 + n, 1)));
    assert_eq!(admit(&board, 8, 5), Err(Code::TooManyClients));
    // Those who have just ended do not give way.
    let board = four(&[]);
    (1..=4).for_each(|n| assert_eq!(admit(&board, n, n), Ok(None)));
    (1..=4).for_each(|n| board.add_job(client(n), ended(n)));
    assert_eq!(admit(&board, 5, 5), Err(Code::TooManyClients));
}

#[test]
fn the_invited_and_the_revoked_keep_what_they_have() {
    let board = four(&["--guest-seconds", "0", "--unused-seconds", "0", "--answer-seconds", "9"]);
    board.change_owner(client(9), true, |record| record.invited = true);
    (1..=4).for_each(|n| assert_eq!(admit(&board, n, n), Ok(None)));
    board.change_owner(client(1), false, |record| record.revoked = true);
    // Its place is free, and its token stays refused.
    assert_eq!(admit(&board, 5, 5), Ok(None));
    assert_eq!(admit(&board, 1, 1), Err(Code::Unauthorised));
    board.add_job(client(2), ended(2));
    let mut gone: Vec<ClientId> = board.expire().into_iter().map(|(client, _)| client).collect();
    gone.sort();
    assert_eq!(gone, [client(3), client(4), client(5)], "without an answer to fetch");
    assert_eq!(board.counts().clients, 3);
}

/// Waiting jobs of a revoked client ran, and held up its removal.
#[test]
fn waiting_jobs_of_the_revoked_do_not_run() {
    let board = board(2, &[]);
    (1..=2).for_each(|n| board.add_job(client(n), record(n, n.into())));
    board.change_owner(client(1), false, |record| record.revoked = true);
    assert_eq!(board.take().unwrap().client, client(2));
    let late = board.clone();
    let waiting = std::thread::spawn(move || late.take().map(|taken| taken.client));
    std::thread::sleep(Duration::from_millis(500));
    assert!(!waiting.is_finished());
    assert!(board.purge(client(1)).is_some());
    board.stop();
    assert_eq!(waiting.join().unwrap(), None);
}

/// Guests had no limit together, and what was promised to revoked clients was nobody's.
#[test]
fn guests_and_addresses_have_shares_of_the_storage() {
    let flags = ["--storage", "1M", "--guest-storage", "80K"];
    let board = board(2, &flags);
    let upload = |n: u8, from: u8, bytes: u64| -> Result<Held, Refusal> {
        let _entered = board.enter(client(n), Some(address(from)))?;
        let mut held = board.expect_keys(client(n), keys(n), bytes)?.unwrap();
        held.grow(bytes)?;
        Ok(held)
    };
    let full = Some(Code::StorageFull);
    let first = upload(1, 1, 30 << 10).unwrap();
    assert_eq!(code(upload(2, 1, 11 << 10)), full, "an address has half");
    let second = upload(2, 2, 40 << 10).unwrap();
    assert_eq!(code(upload(3, 3, 11 << 10)), full, "all guests together");
    // Not so the invited, to whom the rest is promised until they are revoked.
    board.change_owner(client(9), true, |record| {
        (record.invited, record.quota) = (true, Some(1 << 20));
    });
    drop(upload(9, 1, 500 << 10).unwrap());
    assert_eq!(code(upload(3, 3, 9 << 10)), full, "promised");
    board.change_owner(client(9), false, |record| record.revoked = true);
    drop(upload(3, 3, 9 << 10).unwrap());
    drop((first, second));
}

/// Checks were fair to connections: a client with many of them had as many turns.
#[test]
fn checks_are_fair_to_clients_and_to_networks() {
    use tokio::time::timeout;
    const SOON: Duration = Duration::from_secs(10);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap().block_on(async {
        let checks = Arc::new(Checks::default());
        let begin = |party| {
            let checks = checks.clone();
            async move { checks.begin(party, Upload::Ciphertext).await.unwrap() }
        };
        // Somebody with many uploads: a client, or one address with many tokens.
        for many in [Party::Client(client(1)), Party::Network(Some(address(1)))] {
            let first = begin(many).await;
            let mut waiting = tokio::task::JoinSet::new();
            (0..20).for_each(|_| drop(waiting.spawn(begin(many))));
            // The second place is for the others.
            for n in 2..=4 {
                let other = timeout(SOON, begin(Party::Client(client(n)))).await;
                drop(other.expect("its turn comes"));
            }
            assert!(waiting.try_join_next().is_none());
            drop(first);
            // One after the other, in whatever order they asked.
            for _ in 0..20 {
                let next = timeout(SOON, waiting.join_next()).await;
                drop(next.expect("one after the other").expect("there are twenty").unwrap());
            }
        }
    });
}

/// The first upload of somebody was displaced by age, whoever had more connections.
#[test]
fn first_uploads_outlast_busier_addresses() {
    let places = Places::new(4, 3, 2);
    let (upload, _) = places.admit(address(1)).unwrap();
    let _busy = Busy::begin(upload.clone());
    let others: Vec<_> = (0..3).map(|_| places.admit(address(2)).unwrap().0).collect();
    let _busy: Vec<_> = others.iter().map(|other| Busy::begin(other.clone())).collect();
    (3..5).for_each(|n| assert!(places.admit(address(n)).unwrap().1));
    assert!(!is_ended(&upload) && is_ended(&others[0]) && is_ended(&others[1]));
}

/// Whether a connection was told to end: a permit is there.
fn is_ended(connection: &Arc<Connection>) -> bool {
    let mut end = std::pin::pin!(connection.end.notified());
    end.as_mut().enable()
}

/// The same with a server: the answer that a guest left behind was its place for a week.
#[test]
fn found_1_a_guest_with_an_old_answer_makes_room() {
    let (_scratch, data, server, ours) =
        serving("old-answer", &["--clients", "1", "--guest-seconds", "0"]);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    let keys = fs::read(ours.folder.join("shared").join("keys")).unwrap();
    let path = format!("/v1/keys/{}", ours.keys);
    let stranger = Peer::new(server.address(), Hex::<64>::of(&[7; 32]).as_str());
    assert_eq!(stranger.send("PUT", &path, &keys).status, 201);
    assert_eq!(ours.peer.send("GET", &path, b"").refused(), "unknown_keys");
    assert!(!ours.peer.folder(&data).exists() && stranger.folder(&data).exists());
}

/// Guests with keys held all places of their address, and of the server.
#[test]
fn guests_make_room_and_invited_keep_connections() {
    let places = Places::new(4, 2, 2);
    let admit = |n| places.admit(address(n));
    let [(invited, _), (guest, _), (busy, _)] = [1, 1, 2].map(|n| admit(n).unwrap());
    assert!(places.know(&invited, client(1), true));
    assert!(places.know(&guest, client(2), false) && places.know(&busy, client(2), false));
    let _request = Busy::begin(busy.clone());
    // The share of the address is full, then all places are.
    let (stranger, displaces) = admit(1).unwrap();
    assert!(displaces && is_ended(&guest));
    let (other, displaces) = admit(3).unwrap();
    assert!(!displaces && places.know(&other, client(3), false));
    assert!(admit(4).unwrap().1 && is_ended(&stranger), "nobody known goes first");
    let (last, _) = admit(5).unwrap();
    assert!(places.know(&last, client(4), false) && !is_ended(&other));
    assert!(admit(6).unwrap().1 && is_ended(&other), "then who is silent");
    assert!(!is_ended(&invited));
    // An address of IPv6 is a network.
    let places = Places::new(9, 1, 1);
    let of = |text: &str| places.admit(text.parse().unwrap()).unwrap().1;
    assert!(!of("2001:db8:0:1::1") && of("2001:db8:0:1:ffff::2") && !of("2001:db8:0:2::1"));
    assert!(!of("127.0.0.1") && of("::ffff:127.0.0.1"));
}

/// Guests together held all workers, and the invited waited.
#[test]
fn guests_leave_a_worker_for_the_invited() {
    let jobs = |board: &Board| {
        (1..=3).for_each(|n| board.add_job(client(n), record(n, 5)));
    };
    let alone = board(2, &[]);
    jobs(&alone);
    (0..2).for_each(|_| drop(alone.take().unwrap()));
    let board = board(2, &[]);
    board.change_owner(client(9), true, |record| record.invited = true);
    jobs(&board);
    assert_eq!(board.take().unwrap().client, client(1));
    let late = board.clone();
    let waiting = std::thread::spawn(move || late.take().unwrap().client);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!waiting.is_finished(), "the last worker is for the invited");
    board.add_job(client(9), record(9, 1000));
    assert_eq!(waiting.join().unwrap(), client(9));
}
