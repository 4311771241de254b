//! Clients who mean harm, disks that fail, and starts that come to nothing.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

use bellerophon::ckks::{self, LevelGroup, ModulusChain};
use bellerophon::mlwe::Security;
use bellerophon::prelude::*;
use tokio::io::AsyncWrite;

use super::limited::{Setting, setting};
use super::processes::{Scratch, Server, program, until};
use super::protocol::{Code, Hex, State};
use super::requests::{job_id, read_answer};
use super::store::{Store, Ticket};
use super::stream::{Prompt, listen};

/// Puts a job where a server that was killed after its answer would have left it.
fn leave_job(data: &Path, ours: &Setting, salt: &str, number: u64) {
    let (store, _) = Store::open(data).expect("the folder of the server");
    let mut spool = store.spool().unwrap();
    spool.write(&ours.input).unwrap();
    let (digest, bytes) = (spool.hash(), ours.input.len() as u64);
    let (program, keys) = ("mean".to_string(), ours.keys.parse().unwrap());
    let ticket = Ticket { id: job_id(salt), program, keys, number, digest, bytes };
    store.keep_job(ours.peer.name(), spool, &ticket).unwrap();
}

fn place(salt: &str) -> String {
    format!("/v1/jobs/{}", job_id(salt))
}

#[test]
fn keys_stay_while_a_job_for_them_arrives() {
    let scratch = Scratch::new("keys-stay");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let path = ours.path("a", "mean");
    let mut stream = ours.peer.begin("PUT", &path, Some(ours.input.len() as u64)).unwrap();
    let (first, rest) = ours.input.split_at(1000);
    stream.write_all(first).unwrap();
    let keys = format!("/v1/keys/{}", ours.keys);
    until("it arrives", || fs::read_dir(data.join("incoming")).unwrap().count() > 0);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "too_many_requests");
    assert_eq!(ours.peer.send("DELETE", &keys, b"").refused(), "in_use");
    stream.write_all(rest).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 202);
    assert_eq!(ours.wait("a").state, State::Done);
    assert_eq!(ours.peer.send("DELETE", &keys, b"").status, 204);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202, "known without its keys");
}

#[test]
fn what_the_disk_has_lost_ends_its_job_alone() {
    let scratch = Scratch::new("lost");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    let (ours, theirs) =
        (setting(&scratch.path("ours"), &server), setting(&scratch.path("theirs"), &server));
    let address = server.kill();
    for (number, salt) in ["a", "b", "c"].into_iter().enumerate() {
        leave_job(&data, &ours, salt, number as u64);
    }
    leave_job(&data, &theirs, "d", 9);
    let files = ours.peer.folder(&data);
    fs::remove_file(files.join("keys").join(&ours.keys)).unwrap();
    // A damaged file, and a foreign one.
    let request = files.join("jobs").join(format!("{}.request", job_id("c")));
    fs::write(&request, b"no head").unwrap();
    fs::write(files.join("keys").join("backup~"), b"?").unwrap();
    // What a disk has by itself, and what cannot be read, in every place.
    let strange = ["incoming", "clients"].map(|folder| data.join(folder).join("lost+found"));
    strange.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    for (folder, name) in
        [("keys", "7".repeat(64)), ("jobs", format!("{}.outcome", "7".repeat(32)))]
    {
        fs::create_dir(files.join(folder).join(".snapshot")).unwrap();
        fs::create_dir(files.join(folder).join(name)).unwrap();
    }
    // A ciphertext that is there in part: its client has sent all of it.
    leave_job(&data, &theirs, "e", 10);
    let cut = theirs.peer.folder(&data).join("jobs").join(format!("{}.request", job_id("e")));
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 100]).unwrap();
    // More jobs without keys than there are workers.
    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(server.recovered, 4);
    for salt in ["a", "b"] {
        assert_eq!(ours.wait(salt).refusal.unwrap().code, Code::UnknownKeys);
    }
    assert_eq!(ours.peer.send("GET", &place("c"), b"").refused(), "unknown_job");
    assert_eq!(theirs.wait("d").state, State::Done);
    assert_eq!(theirs.wait("e").refusal.unwrap().code, Code::Lost);
}

#[test]
fn a_disk_that_refuses_for_a_while_costs_no_job() {
    let scratch = Scratch::new("refusing");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    let (ours, theirs) =
        (setting(&scratch.path("ours"), &server), setting(&scratch.path("theirs"), &server));
    let address = server.kill();
    let jobs = ours.peer.folder(&data).join("jobs");
    fs::create_dir_all(&jobs).unwrap();
    let bad = |salt, what| jobs.join(format!("{}.{what}", job_id(salt)));
    for (number, salt) in ["a", "b", "c"].into_iter().enumerate() {
        leave_job(&data, &ours, salt, number as u64);
    }
    // Files that cannot be opened for writing; and a job that would run alone, whose result cannot
    // be stored.
    fs::create_dir(bad("a", "tries")).unwrap();
    fs::create_dir(bad("b", "tries")).unwrap();
    fs::write(bad("c", "tries"), b"++").unwrap();
    leave_job(&data, &theirs, "d", 9);
    fs::create_dir(bad("c", "outcome")).unwrap();
    let _server = Server::start(&data, Some(&address), &[]);
    // More of them than there are workers, and the job of another client runs all the same.
    assert_eq!(theirs.wait("d").state, State::Done);
    until("all were tried", || fs::read(bad("c", "tries")).is_ok_and(|tries| tries == b"+++"));
    // A fault that is taken for an outcome would be one by now.
    std::thread::sleep(Duration::from_millis(200));
    for salt in ["a", "b", "c"] {
        let state = ours.peer.send("GET", &place(salt), b"").json["state"].to_string();
        assert!(state.contains("accepted") || state.contains("running"), "{salt}: {state}");
    }
    // A job whose files cannot be removed stays deleted and its name reserved, until they can.
    assert_eq!(ours.peer.send("DELETE", &place("b"), b"").status, 202);
    let again = ours.peer.send("PUT", &ours.path("b", "mean"), &ours.input);
    assert_eq!(again.refused(), "too_many_requests");
    for (salt, what) in [("a", "tries"), ("b", "tries"), ("c", "outcome")] {
        fs::remove_dir(bad(salt, what)).unwrap();
    }
    assert_eq!(ours.wait("a").state, State::Done);
    until("it is gone", || ours.peer.send("GET", &place("b"), b"").status == 404);
    assert_eq!(ours.wait("c").state, State::Done);
    assert!(!bad("b", "request").exists() && !bad("c", "tries").exists());
}

#[test]
fn a_server_that_cannot_listen_begins_with_no_job() {
    let scratch = Scratch::new("no-port");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let address = server.kill();
    leave_job(&data, &ours, "a", 0);
    let taken = TcpListener::bind(&address).unwrap();
    let failed = program("exchange_server")
        .args(["--accept-insecure", "--listen", &address, "--data"])
        .arg(&data)
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(2));
    let jobs = fs::read_dir(ours.peer.folder(&data).join("jobs")).unwrap();
    let left: Vec<_> = jobs.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, [format!("{}.request", job_id("a")).as_str()]);
    drop(taken);
    let _server = Server::start(&data, Some(&address), &[]);
    assert_eq!(ours.wait("a").state, State::Done);
}

#[test]
fn uploads_are_exactly_what_they_say_and_come_at_a_pace() {
    let scratch = Scratch::new("uploads");
    let server = Server::start(&scratch.path("data"), None, &["--body-seconds", "5"]);
    let ours = setting(&scratch.path("ours"), &server);
    let mut keys = fs::read(scratch.path("ours").join("shared").join("keys")).unwrap();
    keys.push(0);
    let path = format!("/v1/keys/{}", ours.keys);
    assert_eq!(ours.peer.send("DELETE", &path, b"").status, 204);
    assert_eq!(
        ours.peer.send("PUT", &path, &keys).refused(),
        "malformed",
        "a byte behind the keys"
    );

    // A gigabyte announced, a byte now and then: hours, if every byte gave more time.
    let path = format!("/v1/keys/{}", Hex::<64>::of(&[7; 32]));
    let mut stream = ours.peer.begin("PUT", &path, Some(1 << 30)).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let answered = |stream: &mut TcpStream| stream.peek(&mut [0]).is_ok_and(|bytes| bytes > 0);
    for _ in 0..300 {
        if stream.write_all(&[0]).is_err() || answered(&mut stream) {
            break;
        }
    }
    assert_eq!(read_answer(&mut stream).unwrap().refused(), "too_slow");
}

#[test]
fn a_request_counts_until_its_check_has_ended_also_when_its_client_is_gone() {
    let scratch = Scratch::new("gone");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &["--client-requests", "1"]);
    let ours = setting(&scratch.path("ours"), &server);
    let keys = fs::read(scratch.path("ours").join("shared").join("keys")).unwrap();
    let path = format!("/v1/keys/{}", ours.keys);
    assert_eq!(ours.peer.send("DELETE", &path, b"").status, 204);
    let known = || ours.peer.send("GET", &path, b"").status;
    let arriving = || fs::read_dir(data.join("incoming")).unwrap().count() > 0;
    // A client that disconnects early is forgotten; its check, once begun, continues.
    for attempt in 0..100 {
        let mut stream = ours.peer.begin("PUT", &path, Some(keys.len() as u64)).unwrap();
        stream.write_all(&keys).unwrap();
        until("it arrives", || arriving() || known() != 429);
        std::thread::sleep(Duration::from_millis(2 * attempt));
        drop(stream);
        let mut status = 429;
        until("its place is free", || {
            status = known();
            status != 429
        });
        if status == 200 {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(known(), 404, "the check went on, and no request was under way");
    }
    panic!("no upload was ever checked");
}

#[test]
fn parameters_that_expand_are_refused_before_their_keys_are_read() {
    let scratch = Scratch::new("rank");
    let server = Server::start(&scratch.path("data"), None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let levels = vec![LevelGroup::single(45, 2)];
    let chain = ModulusChain { degree: 1 << 10, first_bits: 50, levels, special: (50, 1) };
    let mut slots = ckks::ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    slots.lattice.rank = 16;
    let spec = bellerophon::ParamsSpec::arithmetic("wide", slots);
    let params = Params::new(spec).unwrap().to_bytes().unwrap();
    let path = format!("/v1/keys/{}", Hex::<64>::of(&[7; 32]));
    assert_eq!(ours.peer.send("PUT", &path, &params).refused(), "too_large");
    // Features that no program here uses: the matrices of bootstrapping, and a second ring.
    let params = Params::preset(Preset::ToyBootstrapping).unwrap().to_bytes().unwrap();
    let answer = ours.peer.send("PUT", &path, &params);
    assert!(
        answer.refused() == "too_large"
            && answer.json["reason"].to_string().contains("bootstrapping")
    );
    let params = Params::preset(Preset::ToyInsecure).unwrap();
    let client = ClientKey::generate(&params).unwrap();
    let keys = client.evaluation_keys(&Needs::new().multiply().rotate_any()).unwrap();
    let mut bytes = params.to_bytes().unwrap();
    let name = keys.write_to(&mut bytes).unwrap();
    let path = format!("/v1/keys/{}", Hex::<64>::of(&name.0));
    let answer = ours.peer.send("PUT", &path, &bytes);
    assert!(
        answer.refused() == "too_large" && answer.json["reason"].to_string().contains("hoisted")
    );
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

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn a_connection_that_does_not_take_its_answer_is_let_go() {
    runtime().block_on(async {
        let (mut stream, mut other) = connection(Duration::from_millis(50)).await;
        let (sent, outcome) = write(&mut stream, usize::MAX).await;
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::TimedOut);
        // What had gone has arrived; and one that takes everything is never late.
        other.read_exact(&mut vec![0; sent]).unwrap();
        let flushed = std::future::poll_fn(|context| Pin::new(&mut stream).poll_flush(context));
        flushed.await.unwrap();
        assert!(write(&mut stream, 1).await.1.is_ok());
    });
}

#[test]
fn a_connection_that_takes_its_answer_slowly_and_steadily_is_kept() {
    runtime().block_on(async {
        let span = Duration::from_secs(1);
        let (mut stream, mut other) = connection(span).await;
        let (start, all) = (Instant::now(), 4 << 20);
        let reader = std::thread::spawn(move || {
            let mut piece = vec![0; 1 << 15];
            // Some two megabytes a second.
            while matches!(other.read(&mut piece), Ok(1..)) {
                std::thread::sleep(Duration::from_millis(15));
            }
        });
        write(&mut stream, all).await.1.unwrap();
        assert!(start.elapsed() > span, "it was not slow");
        drop(stream);
        reader.join().unwrap();
    });
}
