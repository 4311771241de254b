//! The parts of the server alone: storage, queues, the cache.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bellerophon::prelude::*;
use clap::Parser;

use super::board::{Board, Brought, Held};
use super::cache::Cache;
use super::cost;
use super::limits::Limits;
use super::processes::Scratch;
use super::protocol::{ClientId, Code, Hash, Hex, JobId, Refusal, State};
use super::store::{KeyRecord, Outcome, Store, Ticket};

fn client(n: u8) -> ClientId {
    Hex::of(&[n; 16])
}

fn job(n: u8) -> JobId {
    Hex::of(&[n; 16])
}

fn keys(n: u8) -> Hash {
    Hex::of(&[n; 32])
}

fn record(n: u8, bytes: u64) -> KeyRecord {
    let (params, secret) = ("toy".to_string(), Hex::of(&[9; 16]));
    KeyRecord { keys: keys(n), params, secret, params_bytes: 3, bytes }
}

fn ticket(n: u8, bytes: u64, number: u64) -> Ticket {
    let (program, digest) = ("mean".to_string(), Hex::of(&[8; 32]));
    Ticket { id: job(n), program, keys: keys(1), number, digest, bytes }
}

fn keep(store: &Store, n: u8, number: u64, content: &[u8]) -> Ticket {
    let mut spool = store.spool().unwrap();
    spool.write(content).unwrap();
    let ticket = ticket(n, spool.written(), number);
    store.keep_job(client(1), spool, &ticket).unwrap();
    ticket
}

#[test]
fn names_are_hexadecimal_and_nothing_else() {
    let name: Hash = keys(0xa5);
    assert_eq!(name.to_string(), "a5".repeat(32));
    assert_eq!(name.to_string().parse(), Ok(name));
    let upper = "A5".repeat(32);
    for bad in
        ["", "a5", "../../../../etc/passwd", upper.as_str(), &"a".repeat(65), &"é".repeat(32)]
    {
        assert!(bad.parse::<Hash>().is_err(), "{bad}");
    }
}

#[test]
fn words_of_others_are_one_line_that_no_terminal_obeys() {
    let refusal: Refusal =
        serde_json::from_str("{\"code\": \"internal\", \"reason\": \"a\\u001b[2J\\nb \\u0007 c\"}")
            .unwrap();
    assert_eq!(refusal, Refusal { code: Code::Internal, reason: "a[2J b  c".to_string() });
    let long = Refusal::new(Code::Internal, "a".repeat(5000));
    assert_eq!(long.reason.len(), 1000);
    let token: super::protocol::Token = "7".repeat(64).parse().unwrap();
    assert!(!format!("{token:?}").contains('7'), "tokens are not printed");
}

#[test]
fn what_is_kept_is_found_again_in_every_state_that_a_crash_leaves() {
    let scratch = Scratch::new("store");
    let root = scratch.path("data");
    let (store, found) = Store::open(&root).unwrap();
    assert!(found.keys.is_empty() && found.waiting.is_empty() && found.ended.is_empty());
    assert!(Store::open(&root).is_err(), "two servers in one folder");

    let mut spool = store.spool().unwrap();
    spool.write(b"keys").unwrap();
    store.keep_keys(client(1), spool, &record(1, 4)).unwrap();
    let late = keep(&store, 1, 7, b"late");
    let early = keep(&store, 2, 3, b"early");
    let done = keep(&store, 3, 1, b"done");
    let both = keep(&store, 4, 2, b"both");
    let outcome = |ticket: &Ticket, bytes| Outcome { ticket: ticket.clone(), refusal: None, bytes };
    store.keep_outcome(client(1), &outcome(&done, 6), b"result").unwrap();
    // A crash between the outcome and the removal of the request; one while something arrives; one
    // after a worker has begun.
    let jobs = root.join("clients").join(client(1).as_str()).join("jobs");
    let request = jobs.join(format!("{}.request", both.id));
    let kept = fs::read(&request).unwrap();
    store.keep_outcome(client(1), &outcome(&both, 6), b"result").unwrap();
    fs::write(&request, kept).unwrap();
    let mut unfinished = store.spool().unwrap();
    unfinished.write(b"half of").unwrap();
    std::mem::forget(unfinished);
    assert_eq!(store.tries(client(1), late.id).unwrap(), 0);
    store.note_try(client(1), late.id).unwrap();
    drop(store);

    let (store, found) = Store::open(&root).unwrap();
    assert_eq!(found.keys.len(), 1);
    let waiting: Vec<_> = found.waiting.iter().map(|(_, ticket)| ticket.clone()).collect();
    assert_eq!(waiting, [early.clone(), late.clone()], "in the order of acceptance");
    let mut ended: Vec<_> = found.ended.iter().map(|(_, o)| o.ticket.number).collect();
    ended.sort();
    assert_eq!(ended, [1, 2]);
    assert!(!request.exists());
    assert_eq!(fs::read_dir(root.join("incoming")).unwrap().count(), 0);
    assert_eq!(store.request(client(1), late.id).unwrap(), b"late");
    assert_eq!(store.tries(client(1), late.id).unwrap(), 1);
    let mut result = vec![];
    std::io::copy(&mut store.result(client(1), done.id).unwrap(), &mut result).unwrap();
    assert_eq!(result, b"result");
    store.forget_job(client(1), done.id).unwrap();
    store.forget_job(client(1), late.id).unwrap();
    store.forget_keys(client(1), keys(1)).unwrap();
    drop(store);
    let (_, found) = Store::open(&root).unwrap();
    assert_eq!((found.keys.len(), found.waiting.len(), found.ended.len()), (0, 1, 1));
}

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    limits: Limits,
}

fn board(flags: &[&str]) -> (Scratch, Store, Arc<Board>) {
    let scratch = Scratch::new("board");
    let (store, found) = Store::open(&scratch.path("data")).unwrap();
    let flags = std::iter::once(&"board").chain(flags);
    let board = Board::new(Flags::parse_from(flags).limits, found);
    (scratch, store, Arc::new(board))
}

#[test]
fn sizes_are_read_with_their_units() {
    let bounds = |flags: &[&str]| {
        let flags = std::iter::once(&"board").chain(flags);
        Flags::try_parse_from(flags).ok().map(|flags| flags.limits.bounds())
    };
    for (text, bytes) in [("0", 0), ("5", 5), ("3K", 3 << 10), ("2M", 2 << 20), ("1G", 1 << 30)] {
        assert_eq!(bounds(&["--job-bytes", text]).unwrap().job_bytes, bytes);
    }
    for bad in ["", "K", "1k", "-1", "1.5M", "99999999999G"] {
        assert!(bounds(&[&format!("--job-bytes={bad}")]).is_none(), "{bad}");
    }
    // Nothing that would overflow later, and no server that never answers.
    let endless = u64::MAX.to_string();
    for flag in ["--job-seconds", "--head-seconds", "--body-seconds", "--connection-seconds"] {
        assert!(bounds(&[flag, &endless]).is_none(), "{flag}");
    }
    assert!(
        bounds(&["--connections", "0"]).is_none() && bounds(&["--connections", &endless]).is_none()
    );
}

#[test]
fn clients_take_turns() {
    let (_scratch, _store, board) = board(&[]);
    for n in 1..=2 {
        board.add_keys(client(n), record(1, 10));
    }
    // Three jobs of the first client, then one of the second.
    for n in 1..=3 {
        board.add_job(client(1), ticket(n, 10, n.into()));
    }
    board.add_job(client(2), ticket(9, 10, 9));
    assert_eq!(board.open_jobs(), 4);
    let ahead = |n| board.status(client(1), job(n)).unwrap().ahead;
    assert_eq!([ahead(1), ahead(2), ahead(3)], [0, 1, 2]);
    let order: Vec<JobId> = (0..4).map(|_| board.take().ticket.id).collect();
    assert_eq!(order, [job(1), job(9), job(2), job(3)]);
    assert_eq!(board.status(client(1), job(3)).unwrap().state, State::Running);
    // A client whose jobs are all deleted has no turn.
    for n in 4..=5 {
        board.add_job(client(1), ticket(n, 10, n.into()));
        delete(&board, n);
    }
    board.add_job(client(2), ticket(8, 10, 8));
    assert_eq!(board.take().ticket.id, job(8));
}

fn code<T>(outcome: Result<T, Refusal>) -> Option<Code> {
    outcome.err().map(|refusal| refusal.code)
}

/// Deletes a job of the first client that no worker has.
fn delete(board: &Board, n: u8) {
    let Ok(Some(taken)) = board.delete(client(1), job(n)) else { panic!("it waits") };
    board.gone(&taken);
}

/// A place for a job that is not there.
fn place(board: &Arc<Board>, of: u8, n: u8, bytes: u64) -> Result<Held, Refusal> {
    match board.expect_job(client(of), job(n), keys(1), bytes)? {
        Brought::New(held, _) => Ok(held),
        Brought::Again(_) => panic!("the job is there"),
    }
}

#[test]
fn limits_of_a_client_are_its_own() {
    let flags = ["--queued-jobs", "2", "--client-storage", "100K", "--client-requests", "1"];
    let (_scratch, _store, board) = board(&[&flags[..], &["--clients", "2"]].concat());
    let entered = board.enter(client(1)).unwrap();
    assert_eq!(code(board.enter(client(1))), Some(Code::TooManyRequests));
    let second = board.enter(client(2)).unwrap();
    assert_eq!(code(board.enter(client(3))), Some(Code::TooManyClients));
    // A client without jobs and keys takes no place.
    drop(second);
    drop(board.enter(client(3)).unwrap());

    assert_eq!(code(place(&board, 1, 1, 10)), Some(Code::UnknownKeys));
    board.add_keys(client(1), record(1, 10));
    board.add_keys(client(2), record(1, 10));
    let first = place(&board, 1, 1, 10).unwrap();
    assert_eq!(code(place(&board, 1, 1, 10)), Some(Code::TooManyRequests));
    board.add_job(client(1), ticket(1, 10, first.number));
    drop(first);
    let second = place(&board, 1, 2, 10).unwrap();
    assert_eq!(code(place(&board, 1, 3, 10)), Some(Code::QueueFull));
    assert!(place(&board, 2, 3, 10).is_ok(), "another client");
    drop(second);
    assert_eq!(code(place(&board, 1, 2, 95 << 10)), Some(Code::StorageFull), "beside the rest");
    assert_eq!(code(board.remove_keys(client(1), keys(1))), Some(Code::InUse));

    // Ended, deleted: everything is given back.
    let taken = board.take();
    let outcome = Outcome { ticket: taken.ticket, refusal: None, bytes: 50 };
    assert!(board.end(client(1), outcome));
    let status = board.status(client(1), job(1)).unwrap();
    assert_eq!((status.state, status.result_bytes), (State::Done, Some(50)));
    delete(&board, 1);
    drop(board.remove_keys(client(1), keys(1)).unwrap());
    drop(board.expect_keys(client(1), keys(1), 100 << 10).unwrap());
    drop(entered);
}

#[test]
fn storage_is_taken_as_bytes_arrive() {
    let (_scratch, _store, board) = board(&["--client-storage", "100K", "--storage", "150K"]);
    // Announced alone, nothing is taken; what has arrived counts for all.
    let mut first = board.expect_keys(client(1), keys(1), 80 << 10).unwrap();
    let mut second = board.expect_keys(client(1), keys(2), 80 << 10).unwrap();
    first.grow(80 << 10).unwrap();
    second.grow(10 << 10).unwrap();
    assert_eq!(code(second.grow(30 << 10)), Some(Code::StorageFull));
    let mut third = board.expect_keys(client(2), keys(1), 40 << 10).unwrap();
    third.grow(40 << 10).unwrap();
    assert_eq!(code(third.grow(70 << 10)), Some(Code::StorageFull), "of all clients");
    drop(first);
    second.grow(80 << 10).unwrap();
    drop((second, third));
    drop(board.expect_keys(client(1), keys(1), 100 << 10).unwrap());
}

#[test]
fn kept_jobs_and_keys_are_limited_also_when_they_have_ended() {
    let (_scratch, _store, board) = board(&["--kept-jobs", "3", "--kept-keys", "2"]);
    board.add_keys(client(1), record(1, 10));
    for n in 1..=2 {
        board.add_job(client(1), ticket(n, 10, n.into()));
        let ticket = board.take().ticket;
        assert!(board.end(client(1), Outcome { ticket, refusal: None, bytes: 5 }));
    }
    let third = place(&board, 1, 3, 10).unwrap();
    assert_eq!(code(place(&board, 1, 4, 10)), Some(Code::StorageFull));
    drop(third);
    drop(place(&board, 1, 4, 10).unwrap());
    let second = board.expect_keys(client(1), keys(2), 10).unwrap();
    assert_eq!(code(board.expect_keys(client(1), keys(3), 10)), Some(Code::StorageFull));
    drop(second);
    drop(board.expect_keys(client(1), keys(3), 10).unwrap());
}

#[test]
fn keys_stay_while_a_job_for_them_arrives_and_a_job_without_keys_stops_nobody() {
    let (_scratch, _store, board) = board(&[]);
    board.add_keys(client(1), record(1, 10));
    let held = place(&board, 1, 1, 10).unwrap();
    assert_eq!(code(board.remove_keys(client(1), keys(1))), Some(Code::InUse));
    board.add_job(client(1), ticket(1, 10, held.number));
    drop(held);
    assert_eq!(code(board.remove_keys(client(1), keys(1))), Some(Code::InUse));
    let taken = board.take();
    assert!(taken.keys.is_some());
    board.gone(&taken);
    drop(board.remove_keys(client(1), keys(1)).unwrap());

    // A disk may lose what it likes: the job gets to a worker, which refuses it, and the next one
    // runs.
    board.add_job(client(1), ticket(2, 10, 2));
    board.add_keys(client(2), record(1, 10));
    board.add_job(client(2), ticket(3, 10, 3));
    let (lost, next) = (board.take(), board.take());
    assert_eq!((lost.ticket.id, lost.keys.is_none()), (job(2), true));
    assert_eq!((next.ticket.id, next.keys.is_some()), (job(3), true));
}

#[test]
fn a_name_comes_back_only_when_its_files_are_gone() {
    let (_scratch, _store, board) = board(&[]);
    board.add_keys(client(1), record(1, 10));
    board.add_keys(client(1), record(2, 10));
    let held = board.remove_keys(client(1), keys(2)).unwrap();
    assert_eq!(code(board.expect_keys(client(1), keys(2), 10)), Some(Code::TooManyRequests));
    drop(held);
    drop(board.expect_keys(client(1), keys(2), 10).unwrap());

    board.add_job(client(1), ticket(1, 10, 1));
    let Ok(Some(taken)) = board.delete(client(1), job(1)) else { panic!("it waits") };
    assert_eq!(code(place(&board, 1, 1, 10)), Some(Code::TooManyRequests));
    board.gone(&taken);
    // The same where a worker has the job.
    board.add_job(client(1), ticket(1, 10, 1));
    let taken = board.take();
    assert!(matches!(board.delete(client(1), job(1)), Ok(None)));
    // Deleted while its outcome was written: it is not kept.
    let ticket = taken.ticket.clone();
    assert!(!board.end(client(1), Outcome { ticket, refusal: None, bytes: 5 }));
    assert_eq!(code(place(&board, 1, 1, 10)), Some(Code::TooManyRequests));
    board.gone(&taken);
    assert!(board.status(client(1), job(1)).is_err());
    drop(place(&board, 1, 1, 10).unwrap());
}

#[test]
fn what_the_disk_has_refused_waits_and_holds_up_nobody() {
    let (_scratch, _store, board) = board(&[]);
    board.add_keys(client(1), record(1, 10));
    for n in 1..=2 {
        board.add_job(client(1), ticket(n, 10, n.into()));
    }
    let mut taken = board.take();
    taken.tries = Some(3);
    let before = Instant::now();
    board.put_back(taken);
    assert_eq!(board.status(client(1), job(1)).unwrap().state, State::Accepted);
    assert_eq!(board.take().ticket.id, job(2), "which came later");
    let again = board.take();
    assert_eq!((again.ticket.id, again.tries), (job(1), Some(3)), "begun once, and counted once");
    assert!(before.elapsed() >= Duration::from_secs(2));
    assert_eq!(board.open_jobs(), 2);
}

#[test]
fn a_client_of_whom_nothing_is_left_takes_no_place() {
    let (_scratch, _store, board) = board(&["--clients", "1"]);
    let request = board.enter(client(1)).unwrap();
    let held = board.expect_keys(client(1), keys(1), 10).unwrap();
    // The order in which a connection that breaks off lets go.
    drop(request);
    assert_eq!(code(board.enter(client(2))), Some(Code::TooManyClients));
    drop(held);
    drop(board.enter(client(2)).unwrap());
}

#[test]
fn a_job_that_is_sent_again_is_known() {
    let (_scratch, _store, board) = board(&["--queued-jobs", "1"]);
    board.add_keys(client(1), record(1, 10));
    board.add_job(client(1), ticket(1, 10, 1));
    let Ok(Brought::Again(known)) = board.expect_job(client(1), job(1), keys(1), 10) else {
        panic!("also where the queue is full");
    };
    assert_eq!(known, ticket(1, 10, 1));
    let taken = board.take().ticket;
    assert!(board.end(client(1), Outcome { ticket: taken, refusal: None, bytes: 5 }));
    drop(board.remove_keys(client(1), keys(1)).unwrap());
    let again = board.expect_job(client(1), job(1), keys(1), 10);
    assert!(matches!(again, Ok(Brought::Again(_))), "also where its keys are gone");
}

#[test]
fn lists_of_jobs_come_in_pages() {
    let (_scratch, _store, board) = board(&[]);
    for n in 0..=255 {
        board.add_job(client(1), ticket(n, 10, 1000 - u64::from(n)));
    }
    let mut extra = ticket(0, 10, 2000);
    extra.id = Hex::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    board.add_job(client(1), extra.clone());
    let page = board.job_list(client(1), None).unwrap();
    let order: Vec<JobId> = page.iter().map(|status| status.id).collect();
    assert_eq!(order, (0..=255).rev().map(job).collect::<Vec<_>>());
    let page = board.job_list(client(1), order.last().copied()).unwrap();
    assert_eq!(page.iter().map(|status| status.id).collect::<Vec<_>>(), [extra.id]);
    assert!(board.job_list(client(1), Some(extra.id)).unwrap().is_empty());
    assert!(board.job_list(client(2), None).unwrap().is_empty());
    let gone = Hex::of(&[3, 2, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8]);
    assert_eq!(code(board.job_list(client(1), Some(gone))), Some(Code::UnknownJob));
}

#[test]
fn a_running_job_is_cancelled_not_forgotten() {
    let (_scratch, _store, board) = board(&[]);
    board.add_keys(client(1), record(1, 10));
    board.add_job(client(1), ticket(1, 10, 0));
    let taken = board.take();
    assert!(matches!(board.delete(client(1), job(1)), Ok(None)));
    assert!(taken.cancelled.load(Ordering::Relaxed));
    assert_eq!(board.open_jobs(), 1);
    board.gone(&taken);
    assert_eq!(board.open_jobs(), 0);
    assert!(board.status(client(1), job(1)).is_err());
}

#[test]
fn the_cache_keeps_what_was_used_last_within_its_budget() {
    let cache: Cache<u8, u8> = Cache::new(10);
    let loads = AtomicUsize::new(0);
    let get = |name: u8, cost: u64| {
        let lease = cache.get(name, cost, || {
            loads.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(name)
        });
        lease.map(|lease| *lease)
    };
    let loaded = |count| assert_eq!(loads.load(Ordering::Relaxed), count);
    assert_eq!((get(1, 4), get(2, 4), get(1, 4)), (Ok(1), Ok(2), Ok(1)));
    loaded(2);
    // The second is evicted, the least recently used one.
    assert_eq!((get(3, 4), get(1, 4)), (Ok(3), Ok(1)));
    loaded(3);
    assert_eq!(get(2, 4), Ok(2));
    loaded(4);
    // What fails to load, or panics, leaves no trace.
    assert!(cache.get(7, 10, || Err::<u8, _>("no")).is_err());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        cache.get(7, 10, || -> Result<u8, ()> { panic!("as it should") }).is_ok()
    }));
    assert!(panicked.is_err());
    assert_eq!(get(7, 10), Ok(7));
    loaded(5);
    cache.forget(7);
    assert_eq!((get(7, 10), get(7, 10)), (Ok(7), Ok(7)));
    loaded(6);
}

#[test]
fn who_has_to_wait_takes_nothing_from_others() {
    let cache: Cache<u8, u8> = Cache::new(10);
    let loads = AtomicUsize::new(0);
    let get = |name: u8, cost: u64| {
        let lease = cache.get(name, cost, || {
            loads.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(name)
        });
        lease.unwrap()
    };
    let used = get(1, 4);
    drop(get(2, 3));
    thread::scope(|scope| {
        // Seven more do not fit beside the values in use, whatever is evicted.
        let large = scope.spawn(|| drop(get(3, 7)));
        thread::sleep(Duration::from_millis(50));
        drop(get(2, 3));
        assert_eq!(loads.load(Ordering::Relaxed), 2, "the second is still there");
        drop(used);
        large.join().unwrap();
    });
    assert_eq!(loads.load(Ordering::Relaxed), 3);
}

#[test]
fn what_is_used_is_waited_for() {
    let cache: Cache<u8, u8> = Cache::new(10);
    let (now, uses) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for n in 0..8u8 {
            let (cache, now, uses) = (&cache, &now, &uses);
            scope.spawn(move || {
                // Two names of cost 6: never both at a time.
                for _ in 0..20 {
                    let lease = cache.get(n % 2, 6, || Ok::<_, ()>(n % 2)).unwrap();
                    assert_eq!(*lease, n % 2);
                    let weight = if n.is_multiple_of(2) { 1 } else { 100 };
                    let sum = now.fetch_add(weight, Ordering::SeqCst) + weight;
                    assert!(sum < 100 || sum.is_multiple_of(100), "both are in use: {sum}");
                    uses.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_micros(50));
                    now.fetch_sub(weight, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(uses.load(Ordering::SeqCst), 8 * 20, "everybody gets a turn");
}

#[test]
fn the_presets_are_served_within_the_memory_for_keys() {
    let memory = Flags::parse_from(["board"]).limits.key_memory;
    for preset in [Preset::ToyInsecure, Preset::Functions, Preset::FunctionsPrecise] {
        let params = Params::preset(preset).unwrap();
        cost::check(&params.to_bytes().unwrap()).unwrap();
        let bytes = params.evaluation_key_bytes(&Needs::new().map()).unwrap() as u64;
        let cost = cost::keys(&params, bytes);
        // Bodies of 60 bits at most, and as many masks.
        assert!(2 * bytes < cost && cost < memory, "{preset:?}: {bytes} in transit, {cost}");
    }
}

#[test]
fn parameters_that_expand_are_refused_before_anything_is_built() {
    let params = Params::preset(Preset::ToyInsecure).unwrap();
    let bytes = params.to_bytes().unwrap();
    // The name, then degree and rank, then the primes.
    let degree = bellerophon::format::Header::LEN + 8 + params.name().len();
    let with = |at: usize, value: u32| {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        code(cost::check(&bytes))
    };
    assert_eq!(with(degree, params.ckks().degree() as u32), None, "as it was");
    assert_eq!(with(degree, 1 << 17), Some(Code::TooLarge));
    assert_eq!(with(degree + 4, 5), Some(Code::TooLarge));
    assert_eq!(with(degree + 4, u32::MAX), Some(Code::TooLarge));
    assert_eq!(with(degree + 8, u32::MAX), Some(Code::Malformed), "more primes than bytes");
    // Cut anywhere, it is refused as long as its sizes are not all there.
    let whole = (0..bytes.len()).find(|&len| cost::check(&bytes[..len]).is_ok()).unwrap();
    assert!(whole > degree + 8 + 8 * params.ckks().limbs());
    // The look-up part, found by its modulus; and the last bytes before the hash, which say whether
    // there are bootstrapping and functional bootstrapping.
    let modulus = params.lookups().unwrap().lattice().modulus().value().to_le_bytes();
    let dimension = bytes.windows(8).position(|window| window == modulus).unwrap() - 4;
    assert_eq!(with(dimension, 64), None, "as it was");
    assert_eq!(with(dimension, 1 << 17), Some(Code::TooLarge));
    for last in [33, 34] {
        let mut bootstraps = bytes.clone();
        bootstraps[bytes.len() - last] = 1;
        assert_eq!(code(cost::check(&bootstraps)), Some(Code::TooLarge));
    }
    // Many primes take many bytes, and still too much is built of them.
    let mut many = bytes[..degree + 8].to_vec();
    for _ in 0..2 {
        many.extend(100u64.to_le_bytes());
        many.extend([0; 800]);
    }
    many.extend([0; 200]);
    assert_eq!(code(cost::check(&many)), Some(Code::TooLarge));
}
