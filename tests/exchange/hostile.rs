//! Clients who mean harm, disks that fail, and starts that come to nothing.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use bellerophon::ckks::{self, Chain, Levels};
use bellerophon::mlwe::Security;
use bellerophon::prelude::*;
use tokio::io::AsyncWrite;

use super::limited::{Setting, setting};
use super::processes::{Scratch, Server, program};
use super::protocol::{Code, Hex, State};
use super::requests::{job_id, read_answer};
use super::store::{Store, Ticket};
use super::stream::Prompt;

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
    // Once it arrives.
    while fs::read_dir(data.join("incoming")).unwrap().count() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
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
    // A damaged file, and one of somebody else.
    let request = files.join("jobs").join(format!("{}.request", job_id("c")));
    fs::write(&request, b"no head").unwrap();
    fs::write(files.join("keys").join("backup~"), b"?").unwrap();
    // More jobs without keys than there are workers.
    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(server.recovered, 3);
    for salt in ["a", "b"] {
        assert_eq!(ours.wait(salt).refusal.unwrap().code, Code::UnknownKeys);
    }
    assert_eq!(ours.peer.send("GET", &place("c"), b"").refused(), "unknown_job");
    assert_eq!(theirs.wait("d").state, State::Done);
}

#[test]
fn a_disk_that_refuses_for_a_while_costs_no_job() {
    let scratch = Scratch::new("refusing");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let address = server.kill();
    let jobs = ours.peer.folder(&data).join("jobs");
    fs::create_dir_all(&jobs).unwrap();
    for (number, salt) in ["a", "b"].into_iter().enumerate() {
        leave_job(&data, &ours, salt, number as u64);
        // What cannot be opened to be written.
        fs::create_dir(jobs.join(format!("{}.tries", job_id(salt)))).unwrap();
    }
    let _server = Server::start(&data, Some(&address), &[]);
    let running = |salt| ours.peer.send("GET", &place(salt), b"").json["state"] == "running";
    while !(running("a") && running("b")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // A fault that is taken for an outcome would be one by now; and a job can be deleted all the same.
    std::thread::sleep(Duration::from_millis(200));
    assert!(running("a") && running("b"));
    assert_eq!(ours.peer.send("DELETE", &place("b"), b"").status, 202);
    fs::remove_dir(jobs.join(format!("{}.tries", job_id("a")))).unwrap();
    assert_eq!(ours.wait("a").state, State::Done);
    while ours.peer.send("GET", &place("b"), b"").status != 404 {
        std::thread::sleep(Duration::from_millis(5));
    }
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
    let server = Server::start(&scratch.path("data"), None, &["--body-seconds", "1"]);
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
    // Who breaks off early is only forgotten; a little later the check has begun and goes on.
    for attempt in 0..100 {
        let mut stream = ours.peer.begin("PUT", &path, Some(keys.len() as u64)).unwrap();
        stream.write_all(&keys).unwrap();
        while !arriving() && known() == 429 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(2 * attempt));
        drop(stream);
        let status = loop {
            match known() {
                429 => std::thread::sleep(Duration::from_millis(1)),
                status => break status,
            }
        };
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
    let levels = vec![Levels::single(45, 2)];
    let chain = Chain { degree: 1 << 10, first_bits: 50, levels, special: (50, 1) };
    let mut slots = ckks::ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    slots.lattice.rank = 16;
    let (name, lookup, refresh) = ("wide".to_string(), None, None);
    let spec = bellerophon::ParamsSpec {
        name,
        slots,
        lookup,
        log2_failure: 0.0,
        ring_bridge: None,
        refresh,
    };
    let params = Params::new(spec).unwrap().to_bytes().unwrap();
    let path = format!("/v1/keys/{}", Hex::<64>::of(&[7; 32]));
    assert_eq!(ours.peer.send("PUT", &path, &params).refused(), "too_large");
}

#[test]
fn a_connection_that_does_not_take_its_answer_is_let_go() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = Prompt::new(stream, Duration::from_millis(50));
        let piece = vec![0; 1 << 16];
        let mut sent = 0;
        let error = loop {
            let written =
                std::future::poll_fn(|context| Pin::new(&mut stream).poll_write(context, &piece));
            match written.await {
                Ok(bytes) => sent += bytes,
                Err(e) => break e,
            }
        };
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        // What had gone has arrived; and one that takes everything is never late.
        other.read_exact(&mut vec![0; sent]).unwrap();
        let flushed = std::future::poll_fn(|context| Pin::new(&mut stream).poll_flush(context));
        flushed.await.unwrap();
        let again =
            std::future::poll_fn(|context| Pin::new(&mut stream).poll_write(context, &piece));
        assert!(again.await.is_ok());
    });
}
