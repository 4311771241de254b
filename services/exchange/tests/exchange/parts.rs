//! The parts of the server alone: the scheduler, places for connections, streams, names.

use std::io::{self, Read};
use std::net::{IpAddr, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bellerophon::format::{self, Header};
use bellerophon::prelude::*;
use bellerophon::ring::wire::Wire;
use bellerophon_exchange::cost;
use bellerophon_exchange::protocol::{
    AnswerHead, ClientId, Code, Hash, Hex, JobId, Refusal, State, Token,
};
use bellerophon_exchange::scanner::Scanner;
use bellerophon_exchange::server::board::{Board, Brought, Deleted};
use bellerophon_exchange::server::cache::Cache;
use bellerophon_exchange::server::limits::Limits;
use bellerophon_exchange::server::places::Places;
use bellerophon_exchange::server::store::{Found, JobRecord, KeyRecord, Store};
use bellerophon_exchange::server::stream::{Prompt, listen};
use bellerophon_exchange::wire;
use bellerophon_exchange::words::line;
use clap::Parser;
use tokio::io::AsyncWrite;

use super::processes::Scratch;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    limits: Limits,
}

pub fn limits(flags: &[&str]) -> Limits {
    Flags::parse_from(std::iter::once(&"board").chain(flags)).limits
}

pub fn client(n: u8) -> ClientId {
    Hex::of(&[n; 16])
}

pub fn job(n: u8) -> JobId {
    Hex::of(&[n; 16])
}

pub fn keys(n: u8) -> Hash {
    Hex::of(&[n; 32])
}

pub fn key_record(n: u8) -> KeyRecord {
    let (params, secret) = ("toy".to_string(), Hex::of(&[9; 16]));
    KeyRecord { keys: keys(n), params, secret, params_bytes: 3, bytes: 10 }
}

pub fn record(n: u8, work: u64) -> JobRecord {
    JobRecord {
        id: job(n),
        program: "mean".to_string(),
        keys: keys(1),
        number: n.into(),
        digest: keys(8),
        bytes: 10,
        work,
        tries: 0,
        state: State::Accepted,
        refusal: None,
        answer: None,
    }
}

pub fn board(workers: usize, flags: &[&str]) -> Arc<Board> {
    Arc::new(Board::new(limits(flags), workers, 10, Found::default()))
}

/// Found 4: four jobs of one client held all workers.
#[test]
fn found_4_no_client_holds_all_workers() {
    let board = board(4, &[]);
    (1..=8).for_each(|n| board.add_job(client(1), record(n, 5)));
    let taken: Vec<_> = (0..3).map(|_| board.take().unwrap().record.id).collect();
    assert_eq!(taken, [job(1), job(2), job(3)]);
    // The fourth worker waits, also while more of that client waits, for somebody else.
    let late = board.clone();
    let waiting = std::thread::spawn(move || late.take().unwrap().client);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!waiting.is_finished(), "the last worker is for others");
    board.add_job(client(2), record(9, 1000));
    assert_eq!(waiting.join().unwrap(), client(2));
}

/// Found 4: fair shares by client, and cheap jobs first within a share.
#[test]
fn found_4_clients_share_and_cheap_jobs_come_first() {
    let board = board(1, &["--running-jobs", "9"]);
    for (n, work) in [(1, 500), (2, 5), (3, 50)] {
        board.add_job(client(1), record(n, work));
    }
    let ahead = |n| board.status(client(1), job(n)).unwrap().ahead;
    assert_eq!([ahead(1), ahead(2), ahead(3)], [2, 0, 1]);
    board.add_job(client(2), record(9, 9999));
    let order: Vec<JobId> = (0..4).map(|_| board.take().unwrap().record.id).collect();
    // One each, although the other has cheaper ones.
    assert_eq!(order[0], job(2));
    assert_eq!(order, [job(2), job(9), job(3), job(1)]);
    board.stop();
    assert!(board.take().is_none());
}

#[test]
fn the_predicted_work_follows_the_parameters() {
    use bellerophon_exchange::programs::Program;
    let params = |preset| Params::preset(preset).unwrap();
    let (toy, full) = (params(Preset::Insecure(Toy::Functions)), params(Preset::Functions));
    for program in Program::ALL {
        assert!(program.work(&toy, 8) < program.work(&full, 8), "{program:?}");
    }
    assert!(Program::SquarePlus.work(&full, 8) < Program::Mean.work(&full, 8));
    assert!(Program::Mean.work(&full, 8) < Program::Sigmoid.work(&full, 8));
    assert!(Program::Sigmoid.work(&full, 8) < Program::Sigmoid.work(&full, 800));
}

#[test]
fn provided_vectors_have_public_key_noise() {
    use bellerophon_exchange::programs::Program;
    let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
    let owner = ClientKey::generate(&params).unwrap();
    for program in [Program::SquarePlus, Program::Mean] {
        let noise =
            |provided| program.noise_bound(&params, 8, provided).unwrap().metadata().noise();
        assert!(noise(true) > noise(false), "{program:?}");
        let x = owner.public_key().unwrap().encrypt(&[0.5; 8], program.domain()).unwrap();
        assert_eq!(program.operand(&params, 8, true).unwrap(), x.metadata());
        let narrow = owner.public_key().unwrap().encrypt(&[0.5; 8], 0.0..=0.5).unwrap();
        assert_ne!(program.operand(&params, 8, true).unwrap(), narrow.metadata());
    }
}

pub fn code<T>(outcome: Result<T, Refusal>) -> Option<Code> {
    outcome.err().map(|refusal| refusal.code)
}

#[test]
fn limits_of_a_client_are_its_own() {
    let board = board(2, &["--queued-jobs", "2", "--client-requests", "1", "--kept-keys", "1"]);
    let entered = board.enter(client(1), None).unwrap();
    assert_eq!(code(board.enter(client(1), None)), Some(Code::TooManyRequests));
    drop(board.enter(client(2), None).unwrap());
    let place = |of: u8, n| match board.expect_job(client(of), job(n), keys(1), 10)? {
        Brought::New(held, _) => Ok::<_, Refusal>(held),
        Brought::Again(_) => panic!("the job is there"),
    };
    assert_eq!(code(place(1, 1)), Some(Code::UnknownKeys));
    (1..=2).for_each(|n| board.add_keys(client(n), key_record(1)));
    let first = place(1, 1).unwrap();
    assert_eq!(code(place(1, 1)), Some(Code::TooManyRequests));
    assert_eq!(code(board.remove_keys(client(1), keys(1))), Some(Code::InUse));
    let second = place(1, 2).unwrap();
    assert_eq!(code(place(1, 3)), Some(Code::QueueFull));
    assert!(place(2, 3).is_ok(), "another client");
    drop((first, second));
    assert_eq!(code(board.expect_keys(client(1), keys(2), 10)), Some(Code::StorageFull));
    let there = board.expect_keys(client(1), keys(1), 10).unwrap();
    assert!(there.is_none(), "what is there is not uploaded again, also beyond the limit");
    drop(board.remove_keys(client(1), keys(1)).unwrap());
    // One set at a time.
    let held = board.expect_keys(client(1), keys(2), 10).unwrap();
    assert_eq!(code(board.expect_keys(client(1), keys(3), 10)), Some(Code::TooManyRequests));
    drop((held, entered));
}

#[test]
fn storage_is_taken_as_bytes_arrive() {
    let all = ["--storage", "150K", "--guest-storage", "150K", "--address-clients", "10"];
    let board = board(2, &[&["--client-storage", "100K"], &all[..]].concat());
    let mut first = board.expect_keys(client(1), keys(1), 80 << 10).unwrap().unwrap();
    first.grow(80 << 10).unwrap();
    assert_eq!(code(first.grow(110 << 10)), Some(Code::StorageFull));
    let mut second = board.expect_keys(client(2), keys(1), 60 << 10).unwrap().unwrap();
    second.grow(60 << 10).unwrap();
    assert_eq!(code(second.grow(80 << 10)), Some(Code::StorageFull), "of all clients");
    drop(first);
    second.grow(80 << 10).unwrap();
    drop(second);
    assert_eq!(board.counts().stored, 0);
}

#[test]
fn a_name_comes_back_only_when_its_files_are_gone() {
    let board = board(2, &[]);
    board.add_keys(client(1), key_record(1));
    board.add_job(client(1), record(1, 1));
    let taken = board.take().unwrap();
    let deleted = board.delete(client(1), job(1));
    assert!(matches!(deleted, Ok(Deleted::Running(1))), "a worker has it");
    // Deleted while its outcome was written: it is not kept.
    assert!(!board.end(client(1), JobRecord { state: State::Done, ..record(1, 1) }));
    let again = || code(board.expect_job(client(1), job(1), keys(1), 10).map(drop));
    assert_eq!(again(), Some(Code::TooManyRequests));
    board.gone(&taken);
    assert_eq!(again(), None);
    assert!(board.status(client(1), job(1)).is_err());
}

#[test]
fn jobs_refused_by_the_disk_wait_and_delay_nobody() {
    let board = board(2, &[]);
    (1..=2).for_each(|n| board.add_job(client(1), record(n, 1)));
    let taken = board.take().unwrap();
    let before = Instant::now();
    board.put_back(taken);
    let second = board.take().unwrap();
    assert_eq!(second.record.id, job(2), "which came later");
    board.put_back(second);
    let again = board.take().unwrap();
    assert_eq!(again.record.id, job(1));
    assert!(before.elapsed() >= Duration::from_secs(2));
}

#[test]
fn lists_of_jobs_come_in_pages() {
    let board = board(2, &[]);
    (0..=255).for_each(|n| board.add_job(client(1), record(n, 1)));
    let extra: JobId = Hex::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    board.add_job(client(1), JobRecord { id: extra, number: 2000, ..record(0, 1) });
    let page = |after| -> Vec<JobId> {
        let page = board.job_list(client(1), after).unwrap();
        page.iter().map(|status| status.id).collect()
    };
    assert_eq!(page(None), (0..=255).map(job).collect::<Vec<_>>());
    assert_eq!(page(Some(job(255))), [extra]);
    assert!(page(Some(extra)).is_empty());
    assert!(board.job_list(client(2), None).unwrap().is_empty());
    assert_eq!(
        code(board.job_list(client(1), Some("0123".repeat(8).parse().unwrap()))),
        Some(Code::UnknownJob)
    );
}

/// Found 2: places are shared by address, and nobody unknown keeps one from others.
#[test]
fn found_2_places_for_connections_are_shared() {
    let address = |n: u8| IpAddr::from([127, 0, 0, n]);
    let places = Places::new(4, 3, 1);
    let (first, displaced) = places.admit(address(1)).unwrap();
    assert!(!displaced && places.know(&first, client(1), true));
    let (second, _) = places.admit(address(1)).unwrap();
    assert!(!places.know(&second, client(1), true), "its share of connections is one");
    assert!(!places.admit(address(1)).unwrap().1);
    // The fourth of an address takes the place of one of its own.
    assert!(places.admit(address(1)).unwrap().1);
    assert!(!places.admit(address(2)).unwrap().1);
    // All taken: others make room, known clients do not.
    for n in 3..20 {
        assert!(places.admit(address(n)).unwrap().1);
    }
    let all = Places::new(1, 1, 1);
    let (only, _) = all.admit(address(1)).unwrap();
    assert!(all.know(&only, client(1), true) && all.admit(address(2)).is_none());
}

/// The check of an upload waited without an end for memory that jobs held.
#[test]
fn waits_for_memory_end_with_the_callers_patience() {
    let cache: Cache<u8, u8> = Cache::new(10);
    let get = |name, patient: bool| {
        cache.get(name, 6, || patient, || Ok::<_, Refusal>(name)).map_err(|refusal| refusal.code)
    };
    let lease = get(1, true).unwrap();
    assert_eq!(get(1, false).map(|own| *own), Ok(1), "it is there");
    assert_eq!(get(2, false).map(|own| *own), Err(Code::TooManyRequests));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| get(2, true).map(|own| *own));
        std::thread::sleep(Duration::from_millis(300));
        drop(lease);
        assert_eq!(waiting.join().unwrap(), Ok(2));
    });
}

/// Before a refused answer is computed again.
#[test]
fn room_on_the_disk_is_tried_and_given_back() {
    let scratch = Scratch::new("room");
    let (store, _) = Store::open(&scratch.path("data")).unwrap();
    let incoming = scratch.path("data").join("incoming");
    store.try_room(1 << 20).unwrap();
    assert_eq!(std::fs::read_dir(&incoming).unwrap().count(), 0);
    std::fs::remove_dir(&incoming).unwrap();
    assert!(store.try_room(1).is_err());
}

#[test]
fn a_folder_is_locked_as_long_as_its_store_lives() {
    let scratch = Scratch::new("lock");
    let open = || Store::open(&scratch.path("data"));
    let (store, _) = open().unwrap();
    // Also where the database is not open.
    let lock = std::fs::File::open(scratch.path("data").join("lock")).unwrap();
    assert!(lock.try_lock().is_err());
    assert_eq!(open().err().map(|e| e.kind()), Some(io::ErrorKind::AddrInUse));
    drop(store);
    assert!(open().is_ok());
}

#[test]
fn names_are_hexadecimal_and_words_are_one_line() {
    assert_eq!(keys(0xa5).to_string().parse(), Ok(keys(0xa5)));
    let upper = "A5".repeat(32);
    for bad in ["", "a5", "../../../../etc/passwd", &upper, &"a".repeat(65), &"é".repeat(32)] {
        assert!(bad.parse::<Hash>().is_err(), "{bad}");
    }
    assert_eq!(line("a\u{1b}[2J\nb \u{7} c\u{202e}"), "a\\u{1b}[2J b \\u{7} c\\u{202e}");
    assert_eq!(line("größer, 大きい"), "größer, 大きい", "words of people stay");
    for hidden in
        ['\u{34f}', '\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{fe0f}', '\u{e0101}']
    {
        assert_eq!(line(&format!("a{hidden}b")), format!("a{}b", hidden.escape_unicode()));
    }
    assert_eq!(line(&"a".repeat(5000)).len(), 1000);
    let token: Token = "7".repeat(64).parse().unwrap();
    assert!(!format!("{token:?}").contains('7'), "tokens are not printed");
}

#[test]
fn an_answer_belongs_to_its_job_and_its_client() {
    let answer = AnswerHead::seal(job(1), client(1), b"result");
    assert_eq!(AnswerHead::open(job(1), client(1), &answer), Ok(&b"result"[..]));
    assert!(AnswerHead::open(job(2), client(1), &answer).is_err());
    assert!(AnswerHead::open(job(1), client(2), &answer).is_err());
    for place in 0..answer.len() {
        let mut damaged = answer.clone();
        damaged[place] ^= 1;
        assert!(AnswerHead::open(job(1), client(1), &damaged).is_err(), "{place}");
        assert!(AnswerHead::open(job(1), client(1), &answer[..place]).is_err(), "{place}");
    }
}

#[test]
fn the_presets_are_served_within_the_memory_for_keys() {
    let memory = limits(&[]).key_memory;
    for preset in [Preset::Insecure(Toy::Functions), Preset::Functions, Preset::FunctionsPrecise] {
        let params = Params::preset(preset).unwrap();
        cost::check(&params.to_bytes().unwrap()).unwrap();
        let bytes = params.evaluation_key_bytes(&Needs::new().map()).unwrap() as u64;
        let cost = cost::keys(&params, bytes);
        // Bodies of 60 bits at most, and as many masks.
        assert!(2 * bytes < cost && cost < memory, "{preset:?}: {bytes} in transit, {cost}");
    }
}

/// An envelope of some type with this contents.
fn envelope(kind: u16, contents: &[u8]) -> Vec<u8> {
    let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap().to_bytes().unwrap();
    let mut bytes = params[..Header::LEN].to_vec();
    bytes[10..12].copy_from_slice(&kind.to_le_bytes());
    bytes[48..].copy_from_slice(&(contents.len() as u64).to_le_bytes());
    bytes.extend(contents);
    bytes.extend(blake3::hash(&bytes).as_bytes());
    bytes
}

/// Found 3: the number of keys in an upload had no bound, and damage was found after the memory
/// was reserved.
#[test]
fn found_3_keys_are_counted_and_hashed_as_they_arrive() {
    let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap().to_bytes().unwrap();
    let key = envelope(bellerophon::mlwe::RelinKeys::KIND, &[7; 2000]);
    let list = envelope(format::kind::KEY_LIST, b"list");
    let begun = || {
        let mut scanner = Scanner::default();
        // In pieces of any size.
        [&params, &list].iter().for_each(|bytes| {
            bytes.chunks(7).for_each(|piece| scanner.take(piece).unwrap());
        });
        scanner
    };
    let mut scanner = begun();
    assert_eq!(scanner.parameters, params);
    let refused = (1..3000).find(|_| scanner.take(&key).is_err());
    assert_eq!(refused, Some(1025));
    // The name of a set is the hash of the hashes, and stands behind it.
    let name = |keys: &[&[u8]]| {
        let mut hasher = blake3::Hasher::new();
        for key in keys {
            hasher.update(&key[key.len() - 32..]);
        }
        hasher.finalize()
    };
    let (one, none) = (name(&[&list, &key]), name(&[&list]));
    let finish = |bytes: &[u8], name: blake3::Hash| {
        let mut scanner = begun();
        scanner.take(bytes).and_then(|()| scanner.finish(Hex::of(name.as_bytes())))
    };
    let whole = [&key[..], one.as_bytes()].concat();
    assert_eq!(finish(&whole, one), Ok(()));
    assert_eq!(code(finish(&whole, none)), Some(Code::HashMismatch));
    assert_eq!(code(finish(none.as_bytes(), none)), Some(Code::Malformed), "no key");
    for place in [10, 60, key.len() - 1, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        assert!(finish(&damaged, one).is_err(), "{place}");
        assert_eq!(code(finish(&whole[..place], one)), Some(Code::Malformed), "{place}");
    }
}

/// Writes up to a number of bytes, or until a failure.
async fn write(stream: &mut Prompt<tokio::net::TcpStream>, most: usize) -> (usize, io::Result<()>) {
    let (piece, mut sent) = (vec![0; 1 << 16], 0);
    while sent < most {
        let written =
            std::future::poll_fn(|context| Pin::new(&mut *stream).poll_write(context, &piece));
        match written.await {
            Ok(bytes) => sent += bytes,
            Err(e) => return (sent, Err(e)),
        }
    }
    (sent, Ok(()))
}

/// A stream to which it takes some time to write, and its other side.
async fn connection(span: Duration) -> (Prompt<tokio::net::TcpStream>, TcpStream) {
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1 << 16).unwrap();
    let other = socket.connect(listener.local_addr().unwrap()).await.unwrap().into_std().unwrap();
    other.set_nonblocking(false).unwrap();
    (Prompt::new(listener.accept().await.unwrap().0, span), other)
}

/// Stalled: the other side does not take its answer.
#[test]
fn stalled_connections_end_and_slow_ones_are_kept() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap().block_on(async {
        let (mut stream, _other) = connection(Duration::from_millis(50)).await;
        let (_, outcome) = write(&mut stream, usize::MAX).await;
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let span = Duration::from_secs(1);
        let (mut stream, mut other) = connection(span).await;
        let start = Instant::now();
        let reader = std::thread::spawn(move || {
            let mut piece = vec![0; 1 << 15];
            // Some two megabytes a second.
            while matches!(other.read(&mut piece), Ok(1..)) {
                std::thread::sleep(Duration::from_millis(15));
            }
        });
        write(&mut stream, 4 << 20).await.1.unwrap();
        assert!(start.elapsed() > span, "it was not slow");
        drop(stream);
        reader.join().unwrap();
    });
}

#[test]
fn fresh_vectors_state_the_noise_of_an_encryption() {
    let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
    let client = ClientKey::generate(&params).unwrap();
    let fresh = client.encrypt_seeded(&[0.5, 0.25, 0.0], -1.0..=1.0).unwrap();
    let read = |x: &bellerophon::ckks::SeededCiphertext| {
        wire::ciphertext(&params, &format::to_bytes(&params, x).unwrap())
    };
    read(&fresh).unwrap();
    for factor in [1e-3, 0.25, 4.0] {
        let mut other = fresh.clone();
        other.meta.noise = fresh.meta.noise.map(|variance| factor * variance);
        assert_eq!(read(&other).unwrap_err().code, Code::Malformed, "{factor}");
    }
}
