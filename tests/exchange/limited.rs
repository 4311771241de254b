//! Requests that break a limit or the protocol, one server for all of them.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use super::processes::{PATIENCE, Scratch, Server, program, report, until};
use super::protocol::{Hex, State, Status};
use super::requests::{Peer, job_id, read_answer};
use super::store::{Store, Ticket};

/// A client with keys at the server and a ciphertext.
pub struct Setting {
    pub peer: Peer,
    pub keys: String,
    pub input: Vec<u8>,
}

pub fn setting(folder: &Path, server: &Server) -> Setting {
    let made = report(
        program("exchange_client")
            .args(["keygen", "--preset", "toy-insecure", "--programs", "square-plus,mean"])
            .args(["--count", "8", "--server", &server.url(), "--dir"])
            .arg(folder),
    );
    let sent = report(
        program("exchange_client")
            .args(["encrypt", "--program", "mean", "--values", "0.5,0.25", "--dir"])
            .arg(folder),
    );
    let id = sent["jobs"][0].as_str().expect("a name");
    let input = std::fs::read(folder.join("shared").join(format!("{id}.input")));
    Setting {
        peer: Peer::of(server.address(), folder),
        keys: made["keys"].as_str().expect("a name").to_string(),
        input: input.expect("a ciphertext"),
    }
}

impl Setting {
    pub fn path(&self, salt: &str, program: &str) -> String {
        format!("/v1/jobs/{}?program={program}&keys={}", job_id(salt), self.keys)
    }

    pub fn wait(&self, salt: &str) -> Status {
        let end = Instant::now() + PATIENCE;
        loop {
            let path = format!("/v1/jobs/{}?wait=10", job_id(salt));
            let status: Status =
                serde_json::from_value(self.peer.send("GET", &path, b"").json).expect("a status");
            if status.state.is_final() {
                return status;
            }
            assert!(Instant::now() < end, "the job {salt:?} does not end: {status:?}");
        }
    }
}

#[test]
fn the_protocol_is_kept() {
    let scratch = Scratch::new("protocol");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &["--job-bytes", "1M"]);
    let ours = setting(&scratch.path("ours"), &server);
    let theirs = setting(&scratch.path("theirs"), &server);

    let info = ours.peer.send("GET", "/v1", b"");
    assert_eq!((info.status, &info.json["protocol"]), (200, &"v1".into()));
    let nobody = Peer::new(server.address(), "none");
    assert_eq!(nobody.send("GET", "/v1/jobs", b"").refused(), "unauthorised");
    for (method, path, code) in [
        ("GET", "/v1/nothing", "unknown_path"),
        ("GET", "/", "unknown_path"),
        ("POST", "/v1/jobs", "method"),
        ("POST", "/v1", "method"),
        ("GET", "/v1/jobs/../../secret", "unknown_path"),
        ("GET", "/v1/jobs/..", "bad_request"),
        ("GET", "/v1/jobs/ABCDEF", "bad_request"),
        ("DELETE", "/v1/keys/00", "bad_request"),
    ] {
        assert_eq!(ours.peer.send(method, path, b"").refused(), code, "{method} {path}");
    }

    // A job, sent twice: one job. Another one under its name is refused.
    let path = ours.path("a", "mean");
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202);
    let other = ours.path("a", "square-plus");
    assert_eq!(ours.peer.send("PUT", &other, &ours.input).refused(), "job_exists");
    assert_eq!(ours.wait("a").state, State::Done);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202, "known after it has ended");
    let listed = ours.peer.send("GET", "/v1/jobs", b"").json;
    assert_eq!(listed.as_array().map(Vec::len), Some(1));

    // Others see nothing of it, and cannot use the keys.
    let place = format!("/v1/jobs/{}", job_id("a"));
    assert_eq!(theirs.peer.send("GET", &place, b"").refused(), "unknown_job");
    assert_eq!(theirs.peer.send("DELETE", &place, b"").refused(), "unknown_job");
    assert_eq!(theirs.peer.send("PUT", &path, &ours.input).refused(), "unknown_keys");
    assert_eq!(ours.peer.send("GET", &format!("{place}/result"), b"").status, 200);

    // Deleted, it is gone, here and on disk.
    assert_eq!(ours.peer.send("DELETE", &place, b"").status, 204);
    assert_eq!(ours.peer.send("GET", &place, b"").refused(), "unknown_job");
    let jobs = ours.peer.folder(&data).join("jobs");
    assert_eq!(std::fs::read_dir(jobs).unwrap().count(), 0);

    // What is named must be there.
    let absent = Hex::<64>::of(&[7; 32]);
    let path = format!("/v1/jobs/{}?program=mean&keys={absent}", job_id("b"));
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "unknown_keys");
    let path = ours.path("b", "nothing");
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "unknown_program");
    let path = format!("/v1/jobs/{}", job_id("b"));
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "bad_request");
    // A program for which the keys were not made ends as refused.
    assert_eq!(ours.peer.send("PUT", &ours.path("c", "sigmoid"), &ours.input).status, 202);
    let status = ours.wait("c");
    let refusal = status.refusal.expect("why");
    assert_eq!((status.state, refusal.code.to_string()), (State::Refused, "not_computable".into()));
    let path = format!("/v1/jobs/{}/result", job_id("c"));
    assert_eq!(ours.peer.send("GET", &path, b"").refused(), "not_computable");

    // Keys: under another name, damaged, and in the place of keys a ciphertext.
    let mut keys = std::fs::read(scratch.path("ours").join("shared").join("keys")).unwrap();
    let path = format!("/v1/keys/{absent}");
    assert_eq!(theirs.peer.send("PUT", &path, &keys).refused(), "hash_mismatch");
    let middle = keys.len() / 2;
    keys[middle] ^= 16;
    let damaged = format!("/v1/keys/{}", ours.keys);
    assert_eq!(theirs.peer.send("PUT", &damaged, &keys).refused(), "malformed");
    assert_eq!(theirs.peer.send("PUT", &damaged, &ours.input).refused(), "malformed");
    assert_eq!(theirs.peer.send("GET", &damaged, b"").refused(), "unknown_keys");
    assert_eq!(ours.peer.send("DELETE", &damaged, b"").status, 204);
    assert_eq!(ours.peer.send("PUT", &damaged, &keys).refused(), "malformed", "not from memory");
    assert_eq!(ours.peer.send("DELETE", &damaged, b"").refused(), "unknown_keys");
}

#[test]
fn limits_hold() {
    let scratch = Scratch::new("limits");
    let flags = ["--job-bytes", "1M", "--queued-jobs", "2", "--job-seconds", "600"];
    let more = ["--head-seconds", "1", "--body-seconds", "1", "--client-requests", "3"];
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[&flags[..], &more].concat());
    let ours = setting(&scratch.path("ours"), &server);
    let begin = |path: &str, announced| ours.peer.begin("PUT", path, announced).unwrap();

    // Too large, before a single byte of it is sent; and of no stated length.
    let mut stream = begin(&ours.path("large", "mean"), Some(1 << 40));
    assert_eq!(read_answer(&mut stream).unwrap().refused(), "too_large");
    let mut stream = begin(&ours.path("endless", "mean"), None);
    assert_eq!(read_answer(&mut stream).unwrap().refused(), "length_required");

    // Two jobs that never arrive hold both places; they are let go when their time is up.
    let length = Some(ours.input.len() as u64);
    let start = Instant::now();
    let mut slow = [begin(&ours.path("s", "mean"), length), begin(&ours.path("t", "mean"), length)];
    slow.iter_mut().for_each(|stream| stream.write_all(&ours.input[..100]).unwrap());
    std::thread::sleep(Duration::from_millis(200));
    let path = ours.path("u", "mean");
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "queue_full");
    for stream in &mut slow {
        assert_eq!(read_answer(stream).unwrap().refused(), "too_slow");
    }
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202);
    assert_eq!(ours.wait("u").state, State::Done);

    // A head that never ends: the connection is closed, with or without a word.
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(b"GET /v1 HTTP/1.1\r\nHost: x\r\n").unwrap();
    let start = Instant::now();
    let answer = read_answer(&mut stream);
    assert!(answer.is_none_or(|answer| answer.status == 408));
    assert!(start.elapsed() < Duration::from_secs(20), "it was let go");

    // A transfer that breaks off leaves nothing: no file, and both places are free again.
    let arriving = || std::fs::read_dir(data.join("incoming")).unwrap().count();
    let mut stream = begin(&ours.path("broken", "mean"), length);
    stream.write_all(&ours.input[..1000]).unwrap();
    until("it arrives", || arriving() > 0);
    drop(stream);
    until("it is forgotten", || arriving() == 0);
    let place = format!("/v1/jobs/{}", job_id("broken"));
    assert_eq!(ours.peer.send("GET", &place, b"").refused(), "unknown_job");
    for stream in
        &mut [begin(&ours.path("v", "mean"), length), begin(&ours.path("w", "mean"), length)]
    {
        assert_eq!(read_answer(stream).unwrap().refused(), "too_slow", "and not without a place");
    }
}

#[test]
fn places_are_limited() {
    let scratch = Scratch::new("places");
    let data = scratch.path("data");
    let flags = ["--client-requests", "2", "--clients", "1", "--connections", "3"];
    let server = Server::start(&data, None, &[&flags[..], &["--body-seconds", "600"]].concat());
    let ours = setting(&scratch.path("ours"), &server);
    let length = Some(ours.input.len() as u64);
    let begin = |salt| ours.peer.begin("PUT", &ours.path(salt, "mean"), length).unwrap();
    let stranger = Peer::new(server.address(), &"7".repeat(64));
    assert_eq!(stranger.send("GET", "/v1/keys", b"").refused(), "too_many_clients");

    // Two stalled requests, and the third of the same client.
    let mut slow = [begin("a"), begin("b")];
    slow.iter_mut().for_each(|stream| stream.write_all(&ours.input[..100]).unwrap());
    let third = || ours.peer.send("GET", "/v1/keys", b"");
    until("both have begun", || third().status == 429);
    assert_eq!(third().refused(), "too_many_requests");
    // Three connections, and the fourth is answered once there is room for it.
    let idle = std::net::TcpStream::connect(server.address()).unwrap();
    let mut fourth = ours.peer.begin("GET", "/v1", None).unwrap();
    fourth.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(fourth.peek(&mut [0]).is_err(), "nobody listens");
    drop((slow, idle));
    fourth.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(read_answer(&mut fourth).unwrap().status, 200);
}

#[test]
fn parameters_that_protect_nothing_are_refused() {
    let scratch = Scratch::new("insecure");
    let server = Server::start_strict(&scratch.path("data"), None, &[]);
    let why = program("exchange_client")
        .args(["keygen", "--preset", "toy-insecure", "--programs", "mean", "--count", "2"])
        .args(["--server", &server.url(), "--dir"])
        .arg(scratch.path("ours"))
        .output()
        .unwrap();
    let why = String::from_utf8(why.stderr).unwrap();
    assert!(why.contains("refused: insecure"), "{why}");
}

#[test]
fn memory_for_keys_is_bounded() {
    let scratch = Scratch::new("memory");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    setting(&scratch.path("ours"), &server);
    let keys = std::fs::read(scratch.path("ours").join("shared").join("keys")).unwrap();
    let profile = std::fs::read(scratch.path("ours").join("client.json")).unwrap();
    let profile: serde_json::Value = serde_json::from_slice(&profile).unwrap();
    let path = format!("/v1/keys/{}", profile["keys"].as_str().unwrap());
    drop(server);
    // The same keys are other keys for each client. There is room for four by the estimate.
    let memory = (30 * keys.len() as u64 + (80 << 20)).to_string();
    let server = Server::start(&data, None, &["--key-memory", &memory]);
    let upload = |n: u8| {
        let peer = Peer::new(server.address(), Hex::<64>::of(&[n; 32]).as_str());
        assert_eq!(peer.send("PUT", &path, &keys).status, 201);
    };
    (0..8).for_each(upload);
    let few = server.peak_rss_bytes();
    (8..32).for_each(upload);
    let many = server.peak_rss_bytes();
    if cfg!(target_os = "linux") {
        let grown = many.unwrap() - few.unwrap();
        // Kept all, 24 more sets would take more than twice their bytes.
        assert!(grown < 24 * keys.len() as u64, "{grown} bytes for sets of {}", keys.len());
    }
}

#[test]
fn storage_and_memory_are_limited() {
    let scratch = Scratch::new("storage");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let keys = std::fs::metadata(scratch.path("ours").join("shared").join("keys")).unwrap().len();
    let address = server.kill();

    // Room for the keys that are there, and for less than a job beside them.
    let storage = (keys + 1000).to_string();
    let server = Server::start(&data, Some(&address), &["--client-storage", &storage]);
    let path = ours.path("a", "mean");
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "storage_full");
    let address = server.kill();

    // No room for the keys in memory.
    let _server = Server::start(&data, Some(&address), &["--key-memory", "1M"]);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "too_large");
}

#[test]
fn jobs_on_disk_are_run_after_a_restart_but_not_for_ever() {
    let scratch = Scratch::new("restart");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let address = server.kill();

    // What a server leaves that is killed between the acknowledgement and the run, and one that
    // ends each time that it runs the job.
    let (store, _) = Store::open(&data).expect("the folder of the server");
    let client = ours.peer.name();
    for (number, salt) in ["once", "always"].into_iter().enumerate() {
        let mut spool = store.spool().unwrap();
        spool.write(&ours.input).unwrap();
        let (digest, bytes) = (spool.hash(), spool.written());
        let (program, keys) = ("mean".to_string(), ours.keys.parse().unwrap());
        let id = job_id(salt);
        let ticket = Ticket { id, program, keys, number: number as u64, digest, bytes };
        store.keep_job(client, spool, &ticket).unwrap();
        let tries = if salt == "once" { 1 } else { 5 };
        (0..tries).for_each(|_| store.note_try(client, id).unwrap());
    }
    drop(store);
    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(server.recovered, 2);
    assert_eq!(ours.wait("once").state, State::Done);
    let refusal = ours.wait("always").refusal.expect("why");
    assert_eq!(refusal.code.to_string(), "crashed");
    // What was refused stays refused.
    let address = server.kill();
    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(server.recovered, 0);
    assert_eq!(ours.wait("once").state, State::Done);
    assert_eq!(ours.wait("always").state, State::Refused);
    let place = format!("/v1/jobs/{}/result", job_id("once"));
    assert_eq!(ours.peer.send("GET", &place, b"").status, 200);
}

#[test]
fn look_ups_travel_too_and_every_program_is_stopped_when_its_time_is_up() {
    let scratch = Scratch::new("look-ups");
    let (data, home) = (scratch.path("data"), scratch.path("client"));
    let mut server = Server::start(&data, None, &["--job-seconds", "0"]);
    let url = server.url();
    let client = |command: &str, flags: &[&str]| {
        let mut call = program("exchange_client");
        call.arg(command).args(flags).arg("--dir").arg(&home);
        report(call.args(["--server", &url]))
    };
    client("keygen", &["--preset", "toy-insecure", "--programs", "sigmoid,square-plus"]);
    let values = "--values=-8,-1.5,0,0.25,3";
    client("encrypt", &["--program", "sigmoid", values]);
    client("encrypt", &["--program", "square-plus", "--values=0.5"]);
    let late = client("decrypt", &[]);
    for answer in 0..2 {
        assert_eq!(late["answers"][answer]["refusal"]["code"], "time_limit", "{late}");
    }

    server.restart(&data, &[]);
    client("encrypt", &["--program", "sigmoid", values]);
    let got = client("decrypt", &[]);
    let found: Vec<f64> = serde_json::from_value(got["answers"][0]["values"].clone()).unwrap();
    assert_eq!(found.len(), 5);
    for (found, x) in found.iter().zip([-8.0, -1.5, 0.0, 0.25, 3.0f64]) {
        // Tables of degree 1024 over [-8, 8]: a value is read a few cells beside its own.
        assert!((found - 1.0 / (1.0 + (-x).exp())).abs() < 0.1, "{found} at {x}");
    }
}
